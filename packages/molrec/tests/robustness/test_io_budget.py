"""How many bytes are read for a frame, and how much memory a writer holds."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import molrec as mr
from molrec.storage.zarr.record import Record
from molrec.storage.zarr.sources import DirectorySource

from .stores import array_documents, shard_files

ATOMS = 1000
FRAMES = 300
#: Reads of documents: they do not grow with the run.
DOCUMENT_BYTES = 64 * 1024


class CountingSource(DirectorySource):
    """Counts what is read of every object."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.reads: list[tuple[str, int]] = []

    def _count[T: bytes | memoryview | None](self, path: str, found: T) -> T:
        self.reads.append((path, 0 if found is None else len(found)))
        return found

    def get(self, path: str) -> bytes | memoryview | None:
        return self._count(path, super().get(path))

    def get_range(self, path: str, start: int, length: int) -> bytes | memoryview | None:
        return self._count(path, super().get_range(path, start, length))

    def get_suffix(self, path: str, length: int) -> bytes | memoryview | None:
        return self._count(path, super().get_suffix(path, length))

    def chunk_bytes(self) -> int:
        """Return the bytes read of anything but documents."""
        return sum(size for path, size in self.reads if not path.endswith("zarr.json"))

    def bytes_of(self, array: str) -> int:
        return sum(size for path, size in self.reads if path.startswith(f"{array}/c/"))


def schema() -> mr.SequenceSchema:
    schema = mr.SequenceSchema().declare_block("atoms", rows=ATOMS)
    for name in ("x", "y", "z"):
        schema.declare_column("atoms", name, "f64").declare_precision("atoms", name, 1e-3)
    schema.declare_column("atoms", "vx", "f64").declare_column("atoms", "id", "u64")
    return schema.declare_meta("pe", "f64").declare_meta("log", "string")


def frame(ordinal: int, *, ragged: bool = False, moving_cell: bool = False) -> mr.Frame:
    rng = np.random.default_rng(ordinal)
    rows = ATOMS - ordinal % 3 if ragged else ATOMS
    atoms = mr.Block({name: rng.normal(size=rows) for name in ("x", "y", "z", "vx")})
    atoms["id"] = rng.permutation(rows).astype(np.uint64)
    made = mr.Frame({"atoms": atoms}, box=mr.Box(np.eye(3) * (10 + ordinal * moving_cell)))
    made.meta.set("pe", float(ordinal), tag="f64")
    made.meta.set("log", f"line {ordinal} " * 5, tag="string")
    return made


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("big") / "a.mrec"
    with mr.TrajectoryWriter(path, schema()) as writer:
        for ordinal in range(FRAMES):
            writer.append(frame(ordinal))
    return path


@pytest.fixture(scope="module")
def big_ragged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ragged") / "a.mrec"
    with mr.TrajectoryWriter(path, schema()) as writer:
        for ordinal in range(FRAMES):
            writer.append(frame(ordinal, ragged=True, moving_cell=True), step=ordinal**2)
    return path


def one_frame_bytes(path: Path, column: str, rows: range) -> int:
    """Return the bytes of a column's index and of the chunks that hold some rows."""
    array = f"trajectory/atoms/{column}"
    inner = array_documents(path)[array]["codecs"][0]["configuration"]["chunk_shape"][0]
    (part,) = [part for part in shard_files(path) if part.array == array]
    chunks = range(rows.start // inner, (rows.stop - 1) // inner + 1)
    return len(part.index) + sum(len(part.chunks[chunk]) for chunk in chunks)


@pytest.mark.parametrize("ordinal", [0, 137, FRAMES - 1])
def test_a_frame_costs_its_chunks(big: Path, ordinal: int) -> None:
    """One frame of a closed record reads, per column, one index and the frame's chunks, each once."""
    source = CountingSource(big)
    trajectory = Record(source).trajectory
    assert trajectory is not None
    assert source.chunk_bytes() == 0, "opening a trajectory reads no chunk"
    found = trajectory[ordinal]
    assert len(found["atoms"]) == ATOMS
    rows = range(ordinal * ATOMS, (ordinal + 1) * ATOMS)
    expected = {column: one_frame_bytes(big, column, rows) for column in ("x", "y", "z", "vx", "id")}
    for column, size in expected.items():
        assert source.bytes_of(f"trajectory/atoms/{column}") == size
    assert source.chunk_bytes() == sum(expected.values()), "nothing else is read"
    before = source.chunk_bytes()
    assert trajectory[ordinal]["atoms"]["x"].tobytes() == found["atoms"]["x"].tobytes()
    assert source.chunk_bytes() == before, "a chunk just read is not read again"
    source.close()


@pytest.mark.parametrize("ordinal", [0, 137, FRAMES - 1])
def test_a_ragged_frame_costs_its_chunks_and_the_update_index(big_ragged: Path, ordinal: int) -> None:
    source = CountingSource(big_ragged)
    trajectory = Record(source).trajectory
    assert trajectory is not None
    assert source.chunk_bytes() == 0
    found = trajectory[ordinal]
    counts = [ATOMS - i % 3 for i in range(ordinal + 1)]
    assert len(found["atoms"]) == counts[-1]
    rows = range(sum(counts[:-1]), sum(counts))
    for column in ("x", "y", "z", "vx", "id"):
        assert source.bytes_of(f"trajectory/atoms/{column}") == one_frame_bytes(big_ragged, column, rows)
    source.close()


def test_a_frame_of_a_long_run_costs_no_history(tmp_path: Path) -> None:
    """Cell and per-step meta of one frame are one chunk each too, however long the run."""
    path = tmp_path / "a.mrec"
    long = mr.SequenceSchema().declare_column("atoms", "x", "f64").declare_meta("log", "string")
    frames = 6000
    rng = np.random.default_rng(1)
    with mr.TrajectoryWriter(path, long) as writer:
        for _ in range(frames):
            one = mr.Frame({"atoms": mr.Block({"x": rng.normal(size=4)})}, box=mr.Box(np.eye(3) * rng.uniform(9, 10)))
            one.meta.set("log", rng.bytes(40).hex(), tag="string")
            writer.append(one)
    source = CountingSource(path)
    trajectory = Record(source).trajectory
    assert trajectory is not None
    found = trajectory[frames // 2]
    assert found.box is not None
    assert len(found.meta["log"]) == 80
    parts = {part.array: part for part in shard_files(path)}
    for array in ("trajectory/box/vectors", "trajectory/meta/log"):
        part = parts[array]
        assert len(part.chunks) > 4
        assert source.bytes_of(array) <= len(part.index) + max(len(chunk) for chunk in part.chunks), array
    source.close()


def read_characters() -> int:
    """Return how many bytes this process has read through system calls."""
    with Path("/proc/self/io").open() as file:
        return int(re.findall(r"rchar: (\d+)", file.read())[0])


needs_proc = pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="/proc/self/io is not there")


@needs_proc
def test_the_system_counts_the_same_bytes(big: Path) -> None:
    """What the process really read for opening and for one frame, as the system counts it."""
    with mr.open(big) as record:
        assert record.trajectory is not None
        record.trajectory[0]  # loads modules
    calibration = read_characters()
    own = read_characters() - calibration
    begun = read_characters()
    with mr.open(big) as record:
        trajectory = record.trajectory
        assert trajectory is not None
        opened = read_characters()
        trajectory[200]
        done = read_characters()
    assert opened - begun - own < DOCUMENT_BYTES
    chunks = sum(
        one_frame_bytes(big, column, range(200 * ATOMS, 201 * ATOMS)) for column in ("x", "y", "z", "vx", "id")
    )
    assert chunks <= done - opened - own < chunks + DOCUMENT_BYTES


@needs_proc
def test_a_zip_is_mapped_and_not_loaded(tmp_path: Path) -> None:
    """A packed record is mapped; a frame touches the pages of its chunks."""
    values = np.random.default_rng(1).normal(size=(60, 50_000))
    frames = [mr.Frame({"atoms": mr.Block({"x": row})}) for row in values]
    packed = mr.write(tmp_path / "a.mrec.zip", trajectory=frames)
    size = packed.stat().st_size
    assert size > 20 * 2**20
    with mr.open(packed) as record:
        assert record.trajectory is not None
        record.trajectory[0]  # loads modules
    tracemalloc.start()
    try:
        begun = read_characters()
        with mr.open(packed) as record:
            trajectory = record.trajectory
            assert trajectory is not None
            found = trajectory[30]["atoms"]["x"]
            read = read_characters() - begun
            peak = tracemalloc.get_traced_memory()[1]
            resident = mapped_resident(packed)
    finally:
        tracemalloc.stop()
    assert found.tobytes() == values[30].tobytes()
    assert read < 2**18, "the directory at the end of the file"
    assert peak < size / 8
    # The system brings neighbouring pages along.
    assert resident is None or 0 < resident < size / 8


def mapped_resident(path: Path) -> int | None:
    """Return the bytes of a mapped file that are in this process's memory, None where the system does not say."""
    smaps = Path("/proc/self/smaps")
    if not smaps.exists():
        return None
    total, inside = 0, False
    for line in smaps.read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(str(path))
        elif inside and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


# -- writing ----------------------------------------------------------------------------------------------------------


def streaming_peak(path: Path, frames: int, flush_every: int | None) -> int:
    """Return the most memory, in bytes, a writer holds while it streams ragged frames with a moving cell."""
    with mr.TrajectoryWriter(path.with_name(f"warm-{path.name}"), schema(), flush_every=2) as writer:
        for ordinal in range(5):
            writer.append(frame(ordinal, ragged=True, moving_cell=True), step=ordinal**2, time=ordinal**1.5)
    tracemalloc.start()
    try:
        begun = tracemalloc.get_traced_memory()[0]
        with mr.TrajectoryWriter(path, schema(), flush_every=flush_every) as writer:
            for ordinal in range(frames):
                writer.append(frame(ordinal, ragged=True, moving_cell=True), step=ordinal**2, time=ordinal**1.5)
        return tracemalloc.get_traced_memory()[1] - begun
    finally:
        tracemalloc.stop()


FRAME_BYTES = ATOMS * 5 * 8


def test_writing_holds_a_few_flush_buffers(tmp_path: Path) -> None:
    """The peak is a few buffers, and that of a run four times as long is the same."""
    flush_every = 40
    short = streaming_peak(tmp_path / "short.mrec", 3 * flush_every, flush_every)
    long = streaming_peak(tmp_path / "long.mrec", 12 * flush_every, flush_every)
    buffer = flush_every * FRAME_BYTES
    assert short < 5 * buffer + 4 * 2**20
    assert long < short + buffer / 4


def test_the_automatic_interval_bounds_memory(tmp_path: Path) -> None:
    """Left to itself a writer flushes about every 4 MiB."""
    peak = streaming_peak(tmp_path / "a.mrec", 400, None)
    assert 400 * FRAME_BYTES > 15 * 2**20
    assert peak < 5 * 4 * 2**20


def test_the_journal_stays_short(tmp_path: Path) -> None:
    """A long run of automatic flushes does not grow the journal without end."""
    path = tmp_path / "a.mrec"
    tiny = mr.SequenceSchema().declare_column("atoms", "x", "f64").declare_meta("pe", "f64")
    longest = 0
    with mr.TrajectoryWriter(path, tiny, flush_every=1) as writer:
        for ordinal in range(2500):
            one = mr.Frame({"atoms": mr.Block({"x": [float(ordinal)]})})
            one.meta.set("pe", 1.0, tag="f64")
            writer.append(one)
            if ordinal % 50 == 0:
                longest = max(longest, (path / "trajectory" / ".journal").stat().st_size)
    assert longest < 2 * 2**20
    with mr.open(path) as record:
        assert record.trajectory is not None
        assert record.trajectory.read("atoms", "x")["x"].ravel().tolist() == [float(i) for i in range(2500)]
