"""GSD in HOOMD's schema: float32 positions, not compressed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import gsd.hoomd
import numpy as np

from peers.base import Peer, Positions, Reader
from workload import Walk

__all__ = ["PEERS"]


class _Reader(Reader):
    def __init__(self, path: Path) -> None:
        self._file: Any = gsd.hoomd.open(str(path), "r")

    def __len__(self) -> int:
        return len(self._file)

    def frame(self, index: int) -> Positions:
        positions = self._file[index].particles.position
        return positions[:, 0], positions[:, 1], positions[:, 2]

    def bulk(self) -> Positions:
        # The library has frames only.
        out = np.stack([self._file[index].particles.position for index in range(len(self))])
        return out[..., 0], out[..., 1], out[..., 2]

    def close(self) -> None:
        self._file.close()


class _Gsd(Peer):
    filename: ClassVar[str] = "run.gsd"
    distributions: ClassVar[tuple[str, ...]] = ("gsd",)
    key = "gsd"
    label = "GSD, float32"
    tolerance = 1e-4

    def writer(self, run: Walk) -> Callable[[Path], None]:
        frames = []
        for ordinal, positions in enumerate(run.interleaved(np.float32)):
            frame = gsd.hoomd.Frame()
            frame.configuration.step = 10 * ordinal
            frame.configuration.box = [run.box, run.box, run.box, 0, 0, 0]
            frame.particles.N = run.size.atoms
            frame.particles.position = positions
            frames.append(frame)

        def write(path: Path) -> None:
            with gsd.hoomd.open(str(path), "w") as file:
                for frame in frames:
                    file.append(frame)

        return write

    def open(self, path: Path) -> Reader:
        return _Reader(path)


PEERS: list[Peer] = [_Gsd()]
