"""One failing call at every place where a writer writes, renames, synchronizes, opens, creates or removes."""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import molrec as mr

from .runs import Run, small_extents, small_run
from .stores import check_with_zarr, leftovers
from .syscalls import Death, FaultInjector, Interposer, Mode, unpatched

pytestmark = pytest.mark.exhaustive

RUN = small_run()
#: After these frames the run is flushed explicitly; two frames make an automatic flush.
FLUSHED = (4,)
FLUSH_EVERY = 2
#: The calls are dealt to this many tests.
SHARES = 8
#: What a writer raises when a call fails. Its rule tells a refusal of ours from any other.
FAILURES = (OSError, mr.MolrecError)


def expect_failure(error: Exception) -> None:
    """A failing call is an `OSError`, a storage failure, or afterwards a writer that takes no more."""
    if isinstance(error, mr.MolrecError):
        assert error.rule in ("reject-storage-failure", "reject-writer-closed"), error


class Story:
    """One run written to one path, with what is known about its commits at each moment."""

    def __init__(self, path: Path, run: Run = RUN) -> None:
        self.path = path
        self.run = run
        self.writer: mr.TrajectoryWriter | None = None
        #: Commit counts a reader may find now.
        self.allowed = {0}

    def create(self) -> None:
        self.writer = mr.TrajectoryWriter(
            self.path,
            self.run.schema,
            meta={"who": "a"},
            system=mr.Frame({"box_of": mr.Block({"k": [1, 2]})}),
            flush_every=FLUSH_EVERY,
        )

    def step(self, action: Callable[[], None], pending: int) -> None:
        """Do what may commit `pending` frames; until it returns, either count is right."""
        assert self.writer is not None
        self.allowed = {self.writer.committed, pending}
        action()
        self.allowed = {self.writer.committed}

    def write(self) -> None:
        """Write the run from where the writer stands, to its end."""
        writer = self.writer
        assert writer is not None
        for ordinal in range(writer.nstep, len(self.run)):
            self.step(lambda ordinal=ordinal: self.run.append(writer, ordinal), ordinal + 1)  # type: ignore[misc]
            if ordinal in FLUSHED:
                self.step(writer.flush, ordinal + 1)
        self.step(writer.close, len(self.run))

    def find(self) -> int | None:
        """Assert that the store holds a committed state exactly; return its frames, None if it has no run yet."""
        if not self.path.exists():
            assert self.allowed == {0}
            return None
        with mr.open(self.path) as record:
            trajectory = record.trajectory
            if trajectory is None:
                assert self.allowed == {0}
                return None
            assert len(trajectory) in self.allowed
            self.run.check(trajectory, len(trajectory))
            return len(trajectory)

    def finish(self) -> None:
        """Reopen, or begin anew where there was no run yet, and write the rest."""
        if self.find() is None:
            shutil.rmtree(self.path, ignore_errors=True)
            self.create()
        else:
            self.writer = mr.TrajectoryWriter.reopen(self.path, flush_every=FLUSH_EVERY)
        self.write()
        self.check_closed()

    def check_closed(self) -> None:
        self.allowed = {len(self.run)}
        assert self.find() == len(self.run)
        assert leftovers(self.path) == []


def whole_story(path: Path) -> None:
    story = Story(path)
    story.create()
    story.write()


def calls_of(folder: Path, story: Callable[[Path], None]) -> FaultInjector:
    """Return the record of all damaging calls a story makes."""
    with FaultInjector(folder) as calls:
        story(folder / "a.mrec")
    shutil.rmtree(folder / "a.mrec")
    made = {name for name, _ in calls.made}
    assert made >= {"open", "write", "pwrite", "replace", "rename", "fsync", "unlink", "mkdir"}
    assert len(calls.made) > 400
    return calls


def targets_of(calls: FaultInjector, mode: str) -> list[int]:
    """Return the calls to fail: every one, every write, or every one before which the disk has just changed.

    The end of a process leaves the same state at a synchronization and at the call after it.
    """
    if mode == "half-written":
        return [number for number, (name, _) in enumerate(calls.made) if name in ("write", "pwrite")]
    return [number for number in range(len(calls.made)) if mode != "death" or not number or calls.changes[number - 1]]


@contextlib.contextmanager
def blame(calls: FaultInjector) -> Iterator[None]:
    """Say in an error which call had failed."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"after the failure of call {calls.struck}")
        raise


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("mode", ["error", "half-written", "death"])
def test_process_ends_at_a_failing_call(mode: str, share: int, scratch: Path, tally: Counter[str]) -> None:
    """The store opens at a committed count with every frame exact, and a new writer finishes the run.

    Every call is failed once by an error, once more with half the bytes written where it writes, and once by the end
    of the process, again after half the bytes where it writes.
    """
    with small_extents():
        for target in targets_of(calls_of(scratch, whole_story), mode)[share::SHARES]:
            folder = scratch / str(target)
            folder.mkdir()
            story = Story(folder / "a.mrec")
            how: Mode = "death" if mode == "death" else "error"
            with FaultInjector(folder, target, how, halves=mode != "error") as calls:
                try:
                    story.create()
                    story.write()
                except (*FAILURES, Death) as error:
                    if isinstance(error, Exception):
                        expect_failure(error)
                else:
                    pytest.fail(f"nobody noticed the failure of call {calls.struck}")
                calls.close_all()
            tally[f"calls failed once ({mode}), the process ends"] += 1
            with blame(calls):
                if target % 2 and story.find() is not None:
                    mr.repair(story.path)
                story.finish()
            shutil.rmtree(folder)


# -- the user goes on -------------------------------------------------------------------------------------------------


class PatientStory(Story):
    """A user who tries again whenever something fails, and reopens when the writer takes no more.

    Args:
        path: Record to write.
        again: What is tried after a failed commit: an explicit flush, or just the next frame.
    """

    def __init__(self, path: Path, again: str) -> None:
        super().__init__(path)
        self._again = again

    @property
    def _open_writer(self) -> mr.TrajectoryWriter:
        assert self.writer is not None
        return self.writer

    def create(self) -> None:
        try:
            super().create()
        except FAILURES as error:
            expect_failure(error)
            if self.find() is None:
                shutil.rmtree(self.path, ignore_errors=True)
                super().create()
            else:
                self.writer = mr.TrajectoryWriter.reopen(self.path, flush_every=FLUSH_EVERY)

    def write(self) -> None:
        while (ordinal := self._open_writer.nstep) < len(self.run):
            try:
                self._append(ordinal)
                if ordinal in FLUSHED:
                    self.step(self._open_writer.flush, ordinal + 1)
            except FAILURES as error:
                self._try_again(error)
        try:
            self.step(self._open_writer.close, len(self.run))
        except FAILURES as error:
            expect_failure(error)
            self.find()
            self._open_writer.close()
            if self.find() != len(self.run) or leftovers(self.path):
                self._take_over()
                self.run.append_rest(self._open_writer)
                self._open_writer.close()

    def _append(self, ordinal: int) -> None:
        self.step(lambda: self.run.append(self._open_writer, ordinal), ordinal + 1)

    def _try_again(self, error: Exception) -> None:
        expect_failure(error)
        self.find()
        taken = self._open_writer.nstep
        try:
            if self._again == "flush" or taken == len(self.run):
                self.step(self._open_writer.flush, taken)
            else:
                self._append(taken)
        except mr.MolrecError as second:
            # Only one call fails, so this is a writer that takes no more.
            expect_failure(second)
            self._take_over()

    def _take_over(self) -> None:
        with contextlib.suppress(*FAILURES):
            self._open_writer.close()
        self.allowed = self.allowed | {self._open_writer.nstep}
        self.writer = mr.TrajectoryWriter.reopen(self.path, flush_every=FLUSH_EVERY)


@pytest.mark.parametrize("share", range(SHARES))
def test_user_tries_again_after_a_failing_call(share: int, scratch: Path, tally: Counter[str]) -> None:
    """Trying again, or reopening, ends with the whole run; no state on the way is wrong."""
    with small_extents():
        for target in targets_of(calls_of(scratch, whole_story), "error")[share::SHARES]:
            folder = scratch / str(target)
            folder.mkdir()
            story = PatientStory(folder / "a.mrec", "flush" if target % 2 else "append")
            with FaultInjector(folder, target, halves=target % 4 < 2) as calls, blame(calls):
                story.create()
                story.write()
                story.check_closed()
            assert calls.struck is not None
            tally["calls failed once, the writer goes on"] += 1
            assert leftovers(folder) == []
            shutil.rmtree(folder)


# -- a writer that reopens --------------------------------------------------------------------------------------------


def crashed_store(path: Path, commit: int, last: str) -> None:
    """Write a run whose writer dies in one of its commits, counted from the end, at the last call of a name."""
    made = calls_of(path.parent, whole_story).made
    ends = [number for number, call in enumerate(made) if call == ("replace", "a.mrec/trajectory/zarr.json")]
    target = max(number for number in range(ends[commit] + 1) if made[number][0] == last)
    with FaultInjector(path.parent, target, "death") as calls:
        with pytest.raises(Death):
            whole_story(path)
        calls.close_all()


def take_up(path: Path, how: str) -> None:
    if how == "repair":
        mr.repair(path)
    else:
        mr.TrajectoryWriter.reopen(path, flush_every=FLUSH_EVERY).close()


@pytest.mark.parametrize(("commit", "last"), [(-4, "replace"), (-2, "pwrite"), (-2, "replace")])
@pytest.mark.parametrize("how", ["reopen", "repair"])
@pytest.mark.parametrize("mode", ["error", "death"])
def test_reopening_ends_at_a_failing_call(
    mode: Mode, how: str, commit: int, last: str, scratch: Path, tally: Counter[str]
) -> None:
    """Reopening and repairing a crashed store can themselves be cut short at any call."""
    origin = scratch / "crashed" / "a.mrec"
    origin.parent.mkdir()
    with small_extents():
        crashed_store(origin, commit, last)
        with mr.open(origin) as record:
            assert record.trajectory is not None
            committed = len(record.trajectory)
        assert 0 < committed < len(RUN)
        shutil.copytree(origin, scratch / "count" / "a.mrec")
        with FaultInjector(scratch / "count") as calls:
            take_up(scratch / "count" / "a.mrec", how)
        made = len(calls.made)
        assert made > 20
        # The four ways share the calls, which are many and alike, and so do the commits.
        for target in range(2 * (mode == "death") + (how == "repair"), made, 7):
            folder = scratch / str(target)
            shutil.copytree(origin, folder / "a.mrec")
            story = Story(folder / "a.mrec")
            story.allowed = {committed}
            with FaultInjector(folder, target, mode, halves=target % 4 < 2) as calls:
                try:
                    take_up(story.path, how)
                except (*FAILURES, Death) as error:
                    if isinstance(error, Exception):
                        expect_failure(error)
                calls.close_all()
            assert calls.struck is not None
            tally["calls failed while a crashed store is reopened or repaired"] += 1
            with blame(calls):
                assert story.find() == committed
                story.finish()
            shutil.rmtree(folder)


# -- short writes -----------------------------------------------------------------------------------------------------


class ShortWrites(Interposer):
    """Lets every write take only a few bytes at a time, as a system may."""

    def on_call(self, name: str, places: list[str], args: tuple[Any, ...], real: Callable[[], Any]) -> Any:
        if name in ("write", "pwrite"):
            return unpatched(name)(args[0], memoryview(args[1])[:7], *args[2:])
        return real()


def test_writes_that_take_a_part(scratch: Path) -> None:
    story = Story(scratch / "a.mrec")
    with small_extents(), ShortWrites(scratch):
        whole_story(story.path)
    story.check_closed()
    check_with_zarr(story.path)
