"""1,000 single bits flipped in data: 1,000 errors that say where, and never a wrong value."""

from __future__ import annotations

import dataclasses
import random
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr

from .runs import run_of_everything, small_extents
from .stores import ShardFile, shard_files

FLIPS = 1000
RUN = run_of_everything(length=55)


def write_run(path: Path, **options: Any) -> None:
    with mr.TrajectoryWriter(path, RUN.schema, flush_every=7, **options) as writer:
        RUN.append_rest(writer)


def write_small_shards(path: Path) -> None:
    with small_extents():
        write_run(path)


def write_in_sessions(path: Path) -> None:
    """Leave many superseded chunks behind, which are no data."""
    with mr.TrajectoryWriter(path, RUN.schema, flush_every=1) as writer:
        for ordinal in range(30):
            RUN.append(writer, ordinal)
    with mr.TrajectoryWriter.reopen(path, flush_every=2) as writer:
        RUN.append_rest(writer)


def write_frames(path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = 300_000
    big = mr.Block({"x": rng.normal(size=rows), "id": np.arange(rows, dtype=np.uint64), "vx": rng.normal(size=rows)})
    big.set_precision("x", 1e-3)
    small = mr.Block({"name": ["a", "bc", "", "é"], "level": np.arange(4, dtype=np.int8), "z": np.zeros(4)})
    small.set_validity("name", [True, False, True, True])
    frame = mr.Frame({"big": big, "small": small}, box=mr.Box(np.eye(3) * 9, [1.0, 0.0, 0.0], [True, False, True]))
    system = mr.Frame({"kinds": mr.Block({"weight": [1.0, 2.5], "flag": [True, False]})})
    mr.write(path, frame=frame, system=system)


RECORDS: dict[str, Callable[[Path], None]] = {
    "live": write_run,
    "archive": lambda path: write_run(path, profile="archive"),
    "gzip": lambda path: write_run(path, compression="gzip:6"),
    "zstd": lambda path: write_run(path, compression="zstd:5"),
    "small-shards": write_small_shards,
    "sessions": write_in_sessions,
    "frames": write_frames,
}


@dataclasses.dataclass(frozen=True)
class Target:
    """A record to damage: its file, or files, and where its data lies.

    Attributes:
        path: What is opened.
        parts: Array, file that holds a stored object of it, where that begins in the file, and its layout.
    """

    path: Path
    parts: list[tuple[str, Path, int, ShardFile]]


def folder_target(path: Path) -> Target:
    return Target(path, [(part.array, path / part.file, 0, part) for part in shard_files(path)])


def zip_target(folder: Path) -> Target:
    packed = Path(mr.pack(folder))
    with zipfile.ZipFile(packed) as archive:
        starts = {info.filename: info.header_offset + 30 + len(info.filename.encode()) for info in archive.infolist()}
        for info in archive.infolist():
            # The local header of a large entry carries an extra field, which none of these has.
            assert packed.read_bytes()[info.header_offset + 28 : info.header_offset + 30] == b"\0\0"
    return Target(packed, [(part.array, packed, starts[part.file], part) for part in shard_files(folder)])


def choose_bit(target: Target, rng: random.Random) -> tuple[str, Path, int, int]:
    """Choose a bit of data: any array, then a chunk or its index, then any byte of it."""
    array = rng.choice(sorted({array for array, *_ in target.parts}))
    _, file, start, part = rng.choice([entry for entry in target.parts if entry[0] == array])
    spans = [span for span in part.chunks if len(span)]
    span = part.index if part.index and (not spans or rng.random() < 0.3) else rng.choice(spans)
    return array, file, start + rng.choice(span), rng.randrange(8)


def read_everything(path: Path) -> None:
    with mr.open(path) as record:
        for section in (record.frame, record.system):
            if section is not None:
                dict(section.items())
        trajectory = record.trajectory
        if trajectory is not None:
            RUN.check(trajectory, len(RUN))


def flip(file: Path, place: int, bit: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(place)
        byte = opened.read(1)[0]
        opened.seek(place)
        opened.write(bytes([byte ^ (1 << bit)]))


def flips_of(name: str, form: str) -> int:
    """Deal the flips to the records, the remainder to the first."""
    combinations = [(record, kind) for record in RECORDS for kind in ("folder", "zip")]
    place = combinations.index((name, form))
    return FLIPS // len(combinations) + (place < FLIPS % len(combinations))


def test_one_thousand_flips() -> None:
    assert sum(flips_of(name, form) for name in RECORDS for form in ("folder", "zip")) == FLIPS


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("name", RECORDS)
def test_flipped_bits_are_refused(name: str, form: str, tmp_path: Path, tally: Counter[str]) -> None:
    folder = tmp_path / "a.mrec"
    RECORDS[name](folder)
    target = folder_target(folder) if form == "folder" else zip_target(folder)
    read_everything(target.path)
    rng = random.Random(f"{name} {form}")
    refused = 0
    for _ in range(flips_of(name, form)):
        array, file, place, bit = choose_bit(target, rng)
        flip(file, place, bit)
        with pytest.raises(mr.FormatError) as caught:
            read_everything(target.path)
        assert caught.value.rule in ("reject-corrupt-chunk", "reject-corrupt-index"), (array, place, bit)
        assert array in str(caught.value)
        refused += 1
        flip(file, place, bit)
    assert refused == flips_of(name, form)
    tally["bits flipped in data, each refused"] += refused
    read_everything(target.path)
    shutil.rmtree(folder)


def test_flips_in_dead_bytes_change_nothing(tmp_path: Path) -> None:
    """Superseded copies of chunks mean nothing; a flip there is seen by nobody."""
    path = tmp_path / "a.mrec"
    write_in_sessions(path)
    rng = random.Random(1)
    flipped = 0
    for part in shard_files(path):
        live = set(part.index)
        for span in part.chunks:
            live.update(span)
        dead = [place for place in range((path / part.file).stat().st_size) if place not in live]
        for place in rng.sample(dead, min(3, len(dead))):
            flip(path / part.file, place, rng.randrange(8))
            flipped += 1
    assert flipped > 30
    read_everything(path)


def test_bulk_reads_refuse_flipped_bits(tmp_path: Path) -> None:
    """Reading columns without frames checks the same."""
    path = tmp_path / "a.mrec"
    write_small_shards(path)
    target = folder_target(path)
    rng = random.Random(3)
    refused = 0
    for _ in range(60):
        array, file, place, bit = choose_bit(target, rng)
        parts = array.split("/")
        if parts[1] not in RUN.schema.blocks or parts[-1] not in RUN.schema.blocks[parts[1]].columns or len(parts) > 3:
            continue
        flip(file, place, bit)
        with mr.open(path) as record:
            assert record.trajectory is not None
            with pytest.raises(mr.FormatError, match=array):
                record.trajectory.read(parts[1], parts[2])
        refused += 1
        flip(file, place, bit)
    assert refused > 15
