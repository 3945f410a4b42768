"""Time every peer on one size: operation by operation, peers taking turns within each repetition."""

from __future__ import annotations

import gc
import random
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from peers import Peer, Positions, Reader
from workload import REFERENCE_BOX, Size, Walk, walk

__all__ = [
    "OPERATIONS",
    "RANDOM_FRAMES",
    "Density",
    "Result",
    "SizeResult",
    "measure",
    "reference_density",
    "stored_bytes",
]

#: What is timed, in the order of a repetition. ``open`` is in seconds, the others in seconds per frame.
OPERATIONS = ("write", "open", "sequential", "random", "bulk")
RANDOM_FRAMES = 500
_OPENS = 5

type Tick = Callable[[str], None]


@dataclass(slots=True)
class Result:
    """What one peer did on one size: all repetitions, in their order; `cpu` is the time of all its threads."""

    key: str
    label: str
    baseline: str
    frames: int
    bytes_per_atom_frame: float = 0.0
    values: dict[str, list[float]] = field(default_factory=lambda: {operation: [] for operation in OPERATIONS})
    cpu: dict[str, list[float]] = field(default_factory=lambda: {operation: [] for operation in OPERATIONS})

    def median(self, operation: str) -> float:
        """Return the median over the repetitions."""
        return statistics.median(self.values[operation])


@dataclass(slots=True)
class SizeResult:
    """All peers on one size."""

    size: Size
    box: float
    repetitions: int
    results: dict[str, Result]

    def times_as_fast(self, key: str, operation: str, other: str, other_operation: str | None = None) -> float | None:
        """Return how many times as fast as `other` a peer was: the median of the repetitions' own ratios."""
        if key not in self.results or other not in self.results:
            return None
        mine = self.results[key].values[operation]
        theirs = self.results[other].values[other_operation or operation]
        return statistics.median(there / here for here, there in zip(mine, theirs, strict=True))


@dataclass(frozen=True, slots=True)
class Density:
    """Bytes per atom and frame of one run, and what each further frame adds to it."""

    key: str
    label: str
    whole: float
    marginal: float


def stored_bytes(path: Path) -> int:
    """Return the size of a file, or of all files below a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _timed(action: Callable[[], object]) -> tuple[float, float]:
    """Return wall and processor time of a call."""
    gc.collect()
    start, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - start, time.process_time() - cpu


class _Bench:
    """One peer with its run and its file."""

    def __init__(self, peer: Peer, run: Walk, folder: Path) -> None:
        self.peer = peer
        self.run = run.first(peer.frame_limit(run.size))
        self.path = folder / peer.key / peer.filename
        self.path.parent.mkdir(parents=True)
        self._write = peer.writer(self.run)
        self.result = Result(peer.key, peer.label, peer.baseline, self.run.size.frames)

    def warm_up(self) -> None:
        """Write once, note the size, and see that every way of reading returns the run."""
        self._write(self.path)
        self.result.bytes_per_atom_frame = stored_bytes(self.path) / (self.run.size.atoms * self.run.size.frames)
        reader = self.peer.open(self.path)
        assert len(reader) == self.run.size.frames, self.peer.key
        for index, frame in enumerate(reader.frames()):
            self._check(frame, index)
        for index in random.Random(0).sample(range(len(reader)), min(10, len(reader))):
            self._check(reader.frame(index), index)
        reader.close()
        reader = self.peer.open(self.path)
        x, y, z = reader.bulk()
        assert len(x) == self.run.size.frames, self.peer.key
        for index in range(len(x)):
            self._check((x[index], y[index], z[index]), index)
        reader.close()

    def _check(self, frame: Positions, index: int) -> None:
        for values, expected in zip(frame, self.run.planar[index], strict=True):
            error = float(np.abs(values * self.peer.unit - expected).max())
            assert error <= self.peer.tolerance, f"{self.peer.key}, frame {index}: off by {error} Angstrom"

    def time(self, operation: str, repetition: int) -> None:
        """Take one repetition of one operation into the result."""
        units = self.run.size.frames
        if operation == "write":
            _remove(self.path)
            found = _timed(lambda: self._write(self.path))
        elif operation == "open":
            units = 1
            found = sorted(_timed(self._open_and_count) for _ in range(_OPENS))[_OPENS // 2]
        elif operation == "random":
            order = random.Random(repetition).sample(range(units), min(RANDOM_FRAMES, units))
            units = len(order)
            found = _timed(lambda: self._read(order))
        elif operation == "sequential":
            found = _timed(self._read_in_order)
        else:
            found = _timed(self._read_whole)
        self.result.values[operation].append(found[0] / units)
        self.result.cpu[operation].append(found[1] / units)

    def _open_and_count(self) -> None:
        reader = self.peer.open(self.path)
        len(reader)
        reader.close()

    def _read(self, order: Sequence[int]) -> None:
        reader: Reader = self.peer.open(self.path)
        for index in order:
            reader.frame(index)
        reader.close()

    def _read_in_order(self) -> None:
        reader = self.peer.open(self.path)
        for _ in reader.frames():
            pass
        reader.close()

    def _read_whole(self) -> None:
        reader = self.peer.open(self.path)
        reader.bulk()
        reader.close()


def measure(peers: Sequence[Peer], size: Size, repetitions: int, folder: Path, tick: Tick) -> SizeResult:
    """Run all peers on one size.

    Args:
        peers: The formats.
        size: Atoms and frames.
        repetitions: Timed repetitions, after one that warms up and checks what is read.
        folder: Where files go; emptied of them afterwards.
        tick: Called with a line of progress; ``len(peers) * (1 + repetitions)`` times.
    """
    run = walk(size)
    benches = []
    for peer in peers:
        tick(f"{size}: {peer.label}")
        bench = _Bench(peer, run, folder)
        bench.warm_up()
        benches.append(bench)
    # What was prepared stays out of every later collection, so that no peer pays for another's frames.
    gc.collect()
    gc.freeze()
    for repetition in range(repetitions):
        order = list(benches)
        random.Random(repetition).shuffle(order)
        for operation in OPERATIONS:
            for bench in order:
                bench.time(operation, repetition)
        for _ in order:
            tick(f"{size}: repetition {repetition + 1} of {repetitions}")
    gc.unfreeze()
    for bench in benches:
        _remove(bench.path)
        bench.path.parent.rmdir()
    return SizeResult(size, run.box, repetitions, {bench.peer.key: bench.result for bench in benches})


def reference_density(peers: Sequence[Peer], size: Size, folder: Path, tick: Tick) -> list[Density]:
    """Return the density of a run and of one twice as long, in the reference box whatever the size."""
    long = walk(Size(size.atoms, 2 * size.frames), REFERENCE_BOX)
    found = []
    for peer in peers:
        tick(f"{size}: density, {peer.label}")
        frames = min(size.frames, peer.frame_limit(long.size) // 2)
        sizes = []
        for length in (frames, 2 * frames):
            path = folder / peer.filename
            peer.writer(long.first(length))(path)
            sizes.append(stored_bytes(path))
            _remove(path)
        rows = size.atoms * frames
        found.append(Density(peer.key, peer.label, sizes[0] / rows, (sizes[1] - sizes[0]) / rows))
    return found
