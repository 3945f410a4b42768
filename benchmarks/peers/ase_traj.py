"""ASE's own trajectory file: exact float64, not compressed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from ase import Atoms
from ase.io import trajectory

from peers.base import Peer, Positions, Reader
from workload import Floats, Size, Walk

__all__ = ["PEERS"]

#: Opens a file for reading or writing; the library has no annotations.
_open: Any = trajectory.Trajectory
#: Its cost lies per frame, so fewer frames tell the same.
_MOST_FRAMES = 1000


class _Reader(Reader):
    def __init__(self, path: Path) -> None:
        self._file: Any = _open(str(path))

    def __len__(self) -> int:
        return len(self._file)

    def _positions(self, index: int) -> Floats:
        found: Floats = self._file[index].positions
        return found

    def frame(self, index: int) -> Positions:
        positions = self._positions(index)
        return positions[:, 0], positions[:, 1], positions[:, 2]

    def bulk(self) -> Positions:
        # The library has frames only.
        out = np.stack([self._positions(index) for index in range(len(self))])
        return out[..., 0], out[..., 1], out[..., 2]

    def close(self) -> None:
        self._file.close()


class _Ase(Peer):
    filename: ClassVar[str] = "run.traj"
    distributions: ClassVar[tuple[str, ...]] = ("ase",)
    key = "ase"
    label = "ASE .traj, float64"
    tolerance = 0.0

    def frame_limit(self, size: Size) -> int:
        return min(size.frames, _MOST_FRAMES)

    def writer(self, run: Walk) -> Callable[[Path], None]:
        symbols = ["Ar"] * run.size.atoms
        frames = [Atoms(symbols, positions=positions, cell=[run.box] * 3, pbc=True) for positions in run.interleaved()]

        def write(path: Path) -> None:
            with _open(str(path), "w") as file:
                for frame in frames:
                    file.write(frame)

        return write

    def open(self, path: Path) -> Reader:
        return _Reader(path)


PEERS: list[Peer] = [_Ase()]
