"""A writer killed at random moments: 200 times SIGKILL, and the run ends as if nothing had happened."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import molrec as mr

from .children import RUN, commit_points
from .processes import Child, ForkServer
from .stores import check_with_zarr, leftovers, scratch_folder

pytestmark = pytest.mark.exhaustive

BATCHES = 20
KILLS_PER_BATCH = 10
#: How long a child may live before it is killed, in seconds, before the first has shown how long a run takes.
FIRST_GUESS = 0.3


def test_two_hundred_kills() -> None:
    assert BATCHES * KILLS_PER_BATCH == 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    with scratch_folder(tmp_path_factory.mktemp("server")) as folder, ForkServer(folder) as server:
        yield server


class Chain:
    """One record, written by children that are killed one after another."""

    def __init__(self, server: ForkServer, path: Path, rng: random.Random) -> None:
        self.path = path
        self.small = rng.random() < 0.5
        self.flush_every = rng.choice((1, 2, 3, 5))
        self.start = 0
        self._server = server

    def child(self) -> Child:
        return self._server.start("stream", path=str(self.path), flush_every=self.flush_every, small=self.small)

    def check(self, child: Child) -> None:
        """Assert that what a child left behind is a committed state, at least the last it announced."""
        announced = [int(line) for line in child.lines()]
        trajectory = None
        if self.path.exists():
            with mr.open(self.path) as record:
                trajectory = record.trajectory
                if trajectory is not None:
                    found = len(trajectory)
                    assert found in commit_points(self.start, self.flush_every)
                    assert found >= max(announced, default=self.start)
                    RUN.check(trajectory, found)
                    self.start = found
        if trajectory is None:
            # Killed while the record was created: there is no run to continue yet.
            assert announced == []
            assert self.start == 0
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            self.check_with_zarr()

    def check_with_zarr(self) -> None:
        """Assert that zarr-python opens every array and reads on; at once, or repaired where an index was torn."""
        try:
            check_with_zarr(self.path, whole=False)
        except ValueError as error:
            if "checksum" not in str(error):
                raise
            copy = self.path.with_name("repaired.mrec")
            shutil.copytree(self.path, copy)
            mr.repair(copy)
            check_with_zarr(copy, whole=False)
            shutil.rmtree(copy)

    def finish(self) -> None:
        """Continue in this process to the end."""
        if self.path.exists():
            with mr.TrajectoryWriter.reopen(self.path) as writer:
                assert writer.nstep == self.start
                RUN.append_rest(writer)
        else:
            assert self._server.start("stream", path=str(self.path), flush_every=3, small=self.small).wait() == 0
        with mr.open(self.path) as record:
            RUN.check(record.trajectory, len(RUN))
        check_with_zarr(self.path, whole=not self.small)
        assert leftovers(self.path) == []


@pytest.mark.parametrize("batch", range(BATCHES))
def test_killed_writers(batch: int, server: ForkServer, scratch: Path, tally: Counter[str]) -> None:
    rng = random.Random(batch)
    longest = FIRST_GUESS
    kills = chains = 0
    while kills < KILLS_PER_BATCH:
        chains += 1
        chain = Chain(server, scratch / str(chains) / "run.mrec", rng)
        chain.path.parent.mkdir()
        while kills < KILLS_PER_BATCH and chain.start < len(RUN):
            begun = time.monotonic()
            child = chain.child()
            time.sleep(rng.random() * longest)
            child.kill()
            status = child.wait()
            if status == 0:
                # It was quicker than the signal; the next one gets less time.
                longest = min(longest, time.monotonic() - begun)
            else:
                assert status == -9, child.errors()
                kills += 1
            chain.check(child)
        chain.finish()
        shutil.rmtree(chain.path.parent)
    assert kills == KILLS_PER_BATCH
    tally["writers killed by SIGKILL at random moments"] += kills
