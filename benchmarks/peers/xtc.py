"""GROMACS' compressed trajectory through mdtraj: integers of 0.001 nm, so of 0.01 Angstrom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from mdtraj.formats import XTCTrajectoryFile

from peers.base import Peer, Positions, Reader
from workload import Walk

__all__ = ["PEERS"]

_ANGSTROM_PER_NM = 10.0


class _Reader(Reader):
    def __init__(self, path: Path) -> None:
        self._file: Any = XTCTrajectoryFile(str(path))

    def __len__(self) -> int:
        return len(self._file)

    def _next(self) -> Positions:
        positions = self._file.read(1)[0][0]
        return positions[:, 0], positions[:, 1], positions[:, 2]

    def frame(self, index: int) -> Positions:
        self._file.seek(index)
        return self._next()

    def frames(self) -> Iterator[Positions]:
        # In order, no seek is needed.
        for _ in range(len(self)):
            yield self._next()

    def bulk(self) -> Positions:
        positions = self._file.read()[0]
        return positions[..., 0], positions[..., 1], positions[..., 2]

    def close(self) -> None:
        self._file.close()


class _Xtc(Peer):
    filename: ClassVar[str] = "run.xtc"
    unit: ClassVar[float] = _ANGSTROM_PER_NM
    distributions: ClassVar[tuple[str, ...]] = ("mdtraj",)
    key = "xtc"
    label = "XTC, 0.01 Å"
    tolerance = 0.01
    baseline = "molrs-1e-2"

    def writer(self, run: Walk) -> Callable[[Path], None]:
        positions = run.interleaved(np.float32, self.unit)
        times = np.arange(run.size.frames, dtype=np.float32) * np.float32(0.5)
        steps = np.arange(run.size.frames, dtype=np.int32) * 10
        box = np.eye(3, dtype=np.float32)[None] * np.float32(run.box / self.unit)

        def write(path: Path) -> None:
            with XTCTrajectoryFile(str(path), "w") as file:
                for frame in range(run.size.frames):
                    one = slice(frame, frame + 1)
                    file.write(positions[one], time=times[one], step=steps[one], box=box)

        return write

    def open(self, path: Path) -> Reader:
        return _Reader(path)


PEERS: list[Peer] = [_Xtc()]
