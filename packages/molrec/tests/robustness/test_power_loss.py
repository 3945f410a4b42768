"""Power loss: what was synchronized is there, of the rest any subset of sectors and renames."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import molrec as mr

from .disk import DiskRecorder
from .runs import Run, content, run_of_everything, small_extents, small_run
from .stores import leftovers

pytestmark = pytest.mark.exhaustive

SHARES = 4
TRIALS = 25

SMALL = small_run(length=24)
LARGE = run_of_everything(length=32)


class Voyage:
    """A recorded run: automatic flushes, explicit ones, and a reopening half way.

    Args:
        recorder: Disk it is written to, entered.
        path: Record to write.
        run: Run to write.
        flush_every: Frames per automatic flush.
        flushed: Frames after which it is flushed explicitly.
    """

    def __init__(self, recorder: DiskRecorder, path: Path, run: Run, flush_every: int, flushed: set[int]) -> None:
        self._recorder = recorder
        self._path = path
        self._run = run
        self._flush_every = flush_every
        self._flushed = flushed
        #: From which operation on how many frames are safe.
        self.promises: list[tuple[int, int]] = []

    def create(self) -> None:
        self._writer = mr.TrajectoryWriter(
            self._path, self._run.schema, meta={"who": "a"}, system=system(), flush_every=self._flush_every
        )

    def write(self) -> None:
        half = len(self._run) // 2
        self._append(0, half)
        self._writer.close()
        self._promise(half)
        self._writer = mr.TrajectoryWriter.reopen(self._path, flush_every=self._flush_every)
        self._append(half, len(self._run))
        self._writer.close()
        self._promise(len(self._run))

    def _append(self, start: int, stop: int) -> None:
        for ordinal in range(start, stop):
            self._run.append(self._writer, ordinal)
            if ordinal in self._flushed:
                self._writer.flush()
                self._promise(ordinal + 1)

    def _promise(self, count: int) -> None:
        self.promises.append((len(self._recorder.log), count))

    def safe_at(self, moment: int) -> int:
        return max((count for since, count in self.promises if since <= moment), default=0)


def system() -> mr.Frame:
    return mr.Frame({"kinds": mr.Block({"name": ["a", "b"], "weight": [1.5, 2.5]})}, meta={"spin": 1})


def sail(folder: Path, run: Run, *, creation: bool = False) -> tuple[DiskRecorder, Voyage]:
    """Write a run; its creation is long ago, and safe, unless `creation` is what the test is about."""
    folder.mkdir()
    flushed = {4, 5, 9, 17} if len(run) < 30 else {6, 13, 24}
    with DiskRecorder(folder) as recorder:
        voyage = Voyage(recorder, folder / "a.mrec", run, 2 if len(run) < 30 else 3, flushed)
        voyage.create()
        if not creation:
            recorder.pause()
        voyage.write()
    return recorder, voyage


def check_without_repair(path: Path, run: Run) -> None:
    """Assert that a damaged store is refused or read right, frame by frame; nothing wrong is returned."""
    try:
        with mr.open(path) as record:
            trajectory = record.trajectory
            if trajectory is None:
                return
            for ordinal in range(len(trajectory)):
                try:
                    found = content(trajectory[ordinal])
                except mr.FormatError:
                    continue
                assert found == run.expected[ordinal], f"frame {ordinal} of {len(trajectory)} is wrong"
    except mr.FormatError:
        return


def check_after(path: Path, run: Run, safe: int) -> int:
    """Assert that at least the safe frames are there, and all that are there exact."""
    with mr.open(path) as record:
        trajectory = record.trajectory
        assert trajectory is not None
        assert len(trajectory) >= safe
        run.check(trajectory, len(trajectory))
        return len(trajectory)


@dataclasses.dataclass(frozen=True)
class Loss:
    """A store as a power loss leaves it."""

    path: Path
    #: Frames that were made safe before.
    safe: int
    note: str

    @contextlib.contextmanager
    def blamed(self) -> Iterator[None]:
        """Say in an error at which loss it came."""
        try:
            yield
        except BaseException as error:
            error.add_note(self.note)
            raise


def power_losses(folder: Path, run: Run, name: str, *, creation: bool = False) -> Iterator[Loss]:
    """Yield stores as power losses at random moments after the first explicit flush leave them."""
    with small_extents():
        recorder, voyage = sail(folder / "disk", run, creation=creation)
    end = voyage.promises[1][0] if creation else len(recorder.log)
    for trial in range(TRIALS):
        rng = random.Random(f"{name} {trial}")
        moment = rng.randrange(voyage.promises[0][0], end)
        after = folder / str(trial)
        recorder.lose_power(moment, after, rng)
        yield Loss(after / "a.mrec", voyage.safe_at(moment), f"trial {trial}: power lost after operation {moment}")
        shutil.rmtree(after)


RUNS = pytest.mark.parametrize("run", [SMALL, LARGE], ids=["small", "large"])


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("how", ["repair", "reopen"])
@RUNS
def test_safe_frames_survive(run: Run, how: str, share: int, scratch: Path, tally: Counter[str]) -> None:
    """After a repair, or reopening, at least the last explicit flush is there, and every frame is exact."""
    for loss in power_losses(scratch, run, f"{how} {share}"):
        tally["power losses, then repaired or reopened"] += 1
        with loss.blamed():
            if how == "repair":
                mr.repair(loss.path)
            else:
                mr.TrajectoryWriter.reopen(loss.path).close()
            found = check_after(loss.path, run, loss.safe)
            with mr.TrajectoryWriter.reopen(loss.path) as writer:
                assert writer.nstep == found
                run.append_rest(writer)
            assert check_after(loss.path, run, loss.safe) == len(run)
            assert leftovers(loss.path) == []


@pytest.mark.parametrize("share", range(SHARES))
@RUNS
def test_no_wrong_frame_is_shown(run: Run, share: int, scratch: Path, tally: Counter[str]) -> None:
    """Before any repair, a frame is read exactly or refused."""
    for loss in power_losses(scratch, run, f"look {share}"):
        tally["power losses, then read as they are"] += 1
        with loss.blamed():
            check_without_repair(loss.path, run)


def test_power_loss_soon_after_creation(scratch: Path) -> None:
    """The first explicit flush makes all of a new record safe: its root, its meta document, its other sections."""
    for loss in power_losses(scratch, SMALL, "creation", creation=True):
        with loss.blamed():
            mr.repair(loss.path)
            check_after(loss.path, SMALL, loss.safe)
            with mr.open(loss.path) as record:
                assert record.meta["who"] == "a"
                assert record.system == system()
