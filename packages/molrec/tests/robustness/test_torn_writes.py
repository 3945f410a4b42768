"""Writes that stop half way on the device: the index of a shard, chunks, metadata, the journal."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import molrec as mr

from .runs import Run, content, run_of_everything, small_extents, small_run
from .stores import array_documents, check_with_molrs, check_with_zarr, index_length, leftovers
from .syscalls import FaultInjector, Interposer

pytestmark = pytest.mark.exhaustive

SMALL = small_run(length=12)
LARGE = run_of_everything(length=16)
#: After these frames the run is flushed explicitly, which ends at these counts.
FLUSHED = (4, 9)
DURABLE = (5, 10)
FLUSH_EVERY = 2


def index_lengths(record: Path) -> dict[str, int]:
    return {array: index_length(document) for array, document in array_documents(record).items()}


type Look = Callable[[], None]


class IndexWatcher(Interposer):
    """Stops whenever an index has been rewritten in place, and tells its bytes before and after.

    Args:
        record: Record to watch.
        lengths: Array below the record to the bytes its index takes.
    """

    def __init__(self, record: Path, lengths: dict[str, int]) -> None:
        super().__init__(record)
        self._lengths = lengths
        self._before: dict[Path, bytes] = {}
        #: Indexes rewritten since it was last emptied: file, bytes before, bytes after.
        self.rewritten: list[tuple[Path, bytes, bytes]] = []
        self.on_index: Callable[[Path, bytes, bytes], None] = lambda *_: None
        self.on_chunk: Callable[[Path, int, bytes], None] = lambda *_: None
        self.on_document: Callable[[Path, bytes], None] = lambda *_: None

    def on_call(self, name: str, places: list[str], args: tuple[Any, ...], real: Callable[[], Any]) -> Any:
        file = Path(places[-1])
        if name == "write" and file.name.endswith(".zarr.json.tmp"):
            result = real()
            self.on_document(file, bytes(args[1]))
            return result
        if name != "pwrite":
            return real()
        length = self._lengths[file.relative_to(self.root).as_posix().partition("/c/")[0]]
        if args[2] >= length:
            self.on_chunk(file, args[2], bytes(args[1]))
            return real()
        before = self._before.setdefault(file, file.read_bytes()[:length].ljust(length, b"\0"))
        result = real()
        if args[2] + result == length:
            del self._before[file]
            after = file.read_bytes()[:length]
            self.rewritten.append((file, before, after))
            self.on_index(file, before, after)
        return result


def overwrite(file: Path, offset: int, data: bytes) -> None:
    """Write behind the watcher's back."""
    with file.open("r+b") as opened:
        opened.seek(offset)
        opened.write(data)


def tears(before: bytes, after: bytes, rng: random.Random) -> Iterator[bytes]:
    """Yield what a tear may leave: new bytes up to a place and old ones behind it, the reverse, and single sectors."""
    changed = [place for place in range(len(after)) if before[place] != after[place]]
    places = {changed[0] + 1, changed[-1], len(after) - 4, len(after) - 2}
    places |= {rng.choice(changed) for _ in range(4)} | {rng.randrange(len(after)) for _ in range(2)}
    places |= {512 * rng.randrange(1, len(after) // 512 + 1) for _ in range(len(after) // 8192)}
    for place in sorted(places):
        # The whole old index and the whole new one are no tears.
        if changed[0] < place <= changed[-1]:
            yield after[:place] + before[place:]
            yield before[:place] + after[place:]
    for _ in range(2):
        mixed = bytearray(before)
        for place in range(0, len(after), 16):
            if rng.random() < 0.5:
                mixed[place : place + 16] = after[place : place + 16]
        if mixed not in (before, after):
            yield bytes(mixed)


class Voyage:
    """A run written under an `IndexWatcher`."""

    def __init__(self, folder: Path, run: Run, *, small: bool) -> None:
        self.path = folder / "a.mrec"
        self.run = run
        self._small = small
        #: Frames a reader finds.
        self.committed = 0
        self.rng = random.Random(f"{len(run)} {small}")
        self.writer: mr.TrajectoryWriter | None = None
        with small_extents(active=small), mr.TrajectoryWriter(self.path, run.schema) as writer:
            run.append_rest(writer)
        self.watcher = IndexWatcher(self.path, index_lengths(self.path))
        shutil.rmtree(self.path)

    def sail(self, after_commit: Look) -> None:
        with small_extents(active=self._small), self.watcher:
            self.writer = mr.TrajectoryWriter(self.path, self.run.schema, flush_every=FLUSH_EVERY)
            self._write(self.writer, after_commit)

    def _write(self, writer: mr.TrajectoryWriter, after_commit: Look) -> None:
        for ordinal in range(len(self.run)):
            self.run.append(writer, ordinal)
            if writer.committed > self.committed:
                self.committed = writer.committed
                after_commit()
            if ordinal in FLUSHED:
                writer.flush()
                self.committed = writer.committed
                self.rewritten_so_far()
        writer.close()
        self.committed = writer.committed

    def rewritten_so_far(self) -> list[tuple[Path, bytes, bytes]]:
        """Return and forget the indexes rewritten since this was last asked."""
        rewritten, self.watcher.rewritten = self.watcher.rewritten, []
        return rewritten

    def look(self, path: Path | None = None) -> None:
        """Assert that a reader finds the committed frames at once, each exact."""
        with mr.open(path or self.path) as record:
            self.run.check(record.trajectory, self.committed)

    def copy(self, name: str) -> Path:
        target = self.path.with_name(name)
        return Path(shutil.copytree(self.path, target))


@pytest.mark.parametrize(("run", "small"), [(SMALL, True), (SMALL, False), (LARGE, True)], ids=["s", "s-wide", "l"])
def test_torn_index_is_read_at_once(run: Run, small: bool, scratch: Path, tally: Counter[str]) -> None:
    """Whatever part of an index rewrite arrived, a reader finds the committed frames; repair helps other readers."""
    voyage = Voyage(scratch, run, small=small)
    torn = repaired = first = later = 0

    def tear(file: Path, before: bytes, after: bytes) -> None:
        nonlocal torn, repaired, first, later
        if before.strip(b"\0"):
            later += 1
        else:
            first += 1
        cuts = list(tears(before, after, voyage.rng))
        for cut in voyage.rng.sample(cuts, min(len(cuts), 6 if run is SMALL else 2)):
            overwrite(file, 0, cut)
            voyage.look()
            torn += 1
        if (first + later) % 16 == 5:
            copy = voyage.copy("copy.mrec")
            mr.repair(copy)
            voyage.look(copy)
            check_with_zarr(copy)
            check_with_molrs(copy, run, voyage.committed)
            assert leftovers(copy) == []
            shutil.rmtree(copy)
            repaired += 1
        overwrite(file, 0, after)

    def tear_committed() -> None:
        """An automatic flush is not on the device yet when it is committed."""
        rewritten = voyage.rewritten_so_far()
        for file, before, after in voyage.rng.sample(rewritten, min(3, len(rewritten))):
            tear(file, before, after)

    voyage.watcher.on_index = tear
    voyage.sail(tear_committed)
    voyage.look()
    tally["rewrites of an index torn"] += torn
    assert torn > 300
    assert repaired > 1
    assert first > 10
    assert later > 10


def test_every_byte_of_a_tear(scratch: Path, tally: Counter[str]) -> None:
    """Both directions at every single byte, for the first index of a shard and for later ones."""
    voyage = Voyage(scratch, SMALL, small=True)
    seen: dict[str, int] = {}

    def tear(file: Path, before: bytes, after: bytes) -> None:
        name = file.relative_to(voyage.path).as_posix()
        if name.startswith(("trajectory/atoms/x", "trajectory/meta/tag")) and voyage.rng.random() < 0.4:
            seen[name] = seen.get(name, 0) + 1
            for place in range(len(after) + 1):
                for cut in (after[:place] + before[place:], before[:place] + after[place:]):
                    overwrite(file, 0, cut)
                    voyage.look()
                    tally["rewrites of an index torn"] += 1
            overwrite(file, 0, after)

    voyage.watcher.on_index = tear
    voyage.sail(lambda: None)
    assert len(seen) > 3
    assert max(seen.values()) > 1


def test_index_that_did_not_arrive(scratch: Path, tally: Counter[str]) -> None:
    """After an automatic flush the frame count may be on the device and an index not yet: no wrong value is shown."""
    voyage = Voyage(scratch, SMALL, small=True)
    stale = 0

    def forget() -> None:
        nonlocal stale
        rewritten = voyage.rewritten_so_far()
        for file, before, after in rewritten:
            overwrite(file, 0, before)
            with mr.open(voyage.path) as record:
                check_refused_or_exact(record, voyage.run)
            copy = voyage.copy("copy.mrec")
            with contextlib.suppress(mr.FormatError):
                mr.repair(copy)
                with mr.open(copy) as record:
                    voyage.run.check(record.trajectory, len(record.trajectory or ()))
            shutil.rmtree(copy)
            overwrite(file, 0, after)
            stale += 1

    voyage.sail(forget)
    tally["indexes that did not arrive"] += stale
    assert stale > 50


def check_refused_or_exact(record: mr.Record, run: Run) -> None:
    with contextlib.suppress(mr.FormatError):
        for ordinal, frame in enumerate(record.trajectory or ()):
            assert content(frame) == run.expected[ordinal], f"frame {ordinal} is wrong"


def test_torn_chunks_and_metadata(scratch: Path, tally: Counter[str]) -> None:
    """A chunk or a document that arrived in part is not in force yet; what lies there is passed over."""
    voyage = Voyage(scratch, SMALL, small=True)
    torn = {"chunk": 0, "document": 0}

    def tear_chunk(file: Path, offset: int, data: bytes) -> None:
        size = file.stat().st_size
        for place in {1, len(data) // 2, len(data) - 1} if voyage.rng.random() < 0.5 else set():
            for left in (data[:place], bytes(place) + data[place:], data[:place] + bytes(len(data) - place)):
                overwrite(file, offset, left)
                voyage.look()
                torn["chunk"] += 1
                with file.open("r+b") as opened:
                    opened.truncate(size)

    def tear_document(file: Path, data: bytes) -> None:
        if voyage.writer is None or voyage.rng.random() < 0.5:
            return
        for left in (b"", data[: len(data) // 2], bytes(len(data)), data[:-1]):
            file.write_bytes(left)
            voyage.look()
            torn["document"] += 1
        if voyage.rng.random() < 0.1:
            copy = voyage.copy("copy.mrec")
            mr.TrajectoryWriter.reopen(copy).close()
            voyage.look(copy)
            assert leftovers(copy) == []
            shutil.rmtree(copy)
        file.write_bytes(data)

    voyage.watcher.on_chunk = tear_chunk
    voyage.watcher.on_document = tear_document
    voyage.sail(lambda: None)
    voyage.look()
    tally["chunks torn"] += torn["chunk"]
    tally["documents torn"] += torn["document"]
    assert torn["chunk"] > 300
    assert torn["document"] > 150


def test_torn_journal(scratch: Path, tally: Counter[str]) -> None:
    """Cut anywhere, the journal still restores the state of a line before."""
    voyage = Voyage(scratch, SMALL, small=True)
    checked = 0

    def tear(file: Path, before: bytes, after: bytes) -> None:
        nonlocal checked
        if voyage.rng.random() < 0.8:
            return
        journal = voyage.path / "trajectory" / ".journal"
        whole = journal.read_bytes()
        last = whole.rstrip(b"\n").rfind(b"\n") + 1
        # A line goes to the file before the index does, so no tear of the index sees less than the lines before.
        middle = len(after) // 2
        for place in {last, last + 1, (last + len(whole)) // 2, len(whole) - 1}:
            journal.write_bytes(whole[:place])
            overwrite(file, 0, after[:middle] + before[middle:])
            voyage.look()
            checked += 1
        journal.write_bytes(whole)
        overwrite(file, 0, after)

    voyage.watcher.on_index = tear
    voyage.sail(lambda: None)
    tally["journals torn"] += checked
    assert checked > 30


# -- a journal after a failing call -----------------------------------------------------------------------------------


class FailingWatcher(IndexWatcher):
    """Fails one call in passing, and watches on."""

    def __init__(self, record: Path, lengths: dict[str, int], target: int, *, halves: bool) -> None:
        super().__init__(record, lengths)
        self.injector = FaultInjector(record, target, halves=halves)

    def on_call(self, name: str, places: list[str], args: tuple[Any, ...], real: Callable[[], Any]) -> Any:
        return self.injector.on_call(
            name, places, args, lambda: super(FailingWatcher, self).on_call(name, places, args, real)
        )


def go_on(path: Path, writer: mr.TrajectoryWriter) -> mr.TrajectoryWriter:
    """Append the next frame, flushing now and then; the writer is another one where this one takes no more."""
    ordinal = writer.nstep
    try:
        SMALL.append(writer, ordinal)
        if ordinal in FLUSHED:
            writer.flush()
    except OSError:
        return writer
    except mr.MolrecError as error:
        if error.rule == "reject-storage-failure":
            return writer
        if error.rule != "reject-writer-closed":
            raise
        with contextlib.suppress(OSError, mr.MolrecError):
            writer.close()
        return mr.TrajectoryWriter.reopen(path, flush_every=FLUSH_EVERY)
    return writer


@pytest.mark.parametrize("halves", [False, True])
def test_journal_restores_after_a_failing_call(halves: bool, scratch: Path, tally: Counter[str]) -> None:
    """A call on the journal fails and the user goes on; a torn index can still be restored."""
    path = scratch / "count.mrec"
    with small_extents(), FaultInjector(path) as calls:
        writer = mr.TrajectoryWriter(path, SMALL.schema, flush_every=FLUSH_EVERY)
        while writer.nstep < len(SMALL):
            writer = go_on(path, writer)
        writer.close()
    lengths = index_lengths(path)
    targets = [
        number
        for number, (name, file) in enumerate(calls.made)
        if ("journal" in file or file == "trajectory") and (name == "write" or not halves)
    ]
    rng = random.Random(halves)
    torn = 0
    for target in targets:
        path = scratch / f"{target}.mrec"
        with small_extents(), FailingWatcher(path, lengths, target, halves=halves) as watcher:
            try:
                writer = mr.TrajectoryWriter(path, SMALL.schema, flush_every=FLUSH_EVERY)
            except (OSError, mr.MolrecError):
                continue
            while writer.nstep < len(SMALL):
                before_it, watcher.rewritten = writer.committed, []
                writer = go_on(path, writer)
                if watcher.injector.struck is None or writer.committed in {before_it, *DURABLE}:
                    continue
                for file, before, after in rng.sample(watcher.rewritten, 1):
                    for cut in rng.sample(list(tears(before, after, rng)), 2):
                        overwrite(file, 0, cut)
                        with mr.open(path) as record, noted(f"after the failure of call {watcher.injector.struck}"):
                            SMALL.check(record.trajectory, writer.committed)
                        torn += 1
                    overwrite(file, 0, after)
            with contextlib.suppress(OSError, mr.MolrecError):
                writer.close()
        shutil.rmtree(path)
    tally["rewrites of an index torn"] += torn
    assert torn > 20


@contextlib.contextmanager
def noted(note: str) -> Iterator[None]:
    """Add a note to an error."""
    try:
        yield
    except BaseException as error:
        error.add_note(note)
        raise
