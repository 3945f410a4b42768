"""HDF5 as a careful user would lay a run down: one chunk per frame, byte shuffle, gzip, rounded float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import h5py
import numpy as np

from molrec import quantum
from peers.base import Peer, Positions, Reader
from workload import Walk

__all__ = ["PEERS"]

_NAME = "positions"


class _Reader(Reader):
    def __init__(self, path: Path) -> None:
        self._file: Any = h5py.File(path, "r")
        self._data: Any = self._file[_NAME]

    def __len__(self) -> int:
        return len(self._data)

    def frame(self, index: int) -> Positions:
        positions = self._data[index]
        return positions[:, 0], positions[:, 1], positions[:, 2]

    def bulk(self) -> Positions:
        positions = self._data[...]
        return positions[..., 0], positions[..., 1], positions[..., 2]

    def close(self) -> None:
        self._file.close()


class _Hdf5(Peer):
    filename: ClassVar[str] = "run.h5"
    distributions: ClassVar[tuple[str, ...]] = ("h5py",)

    key = "hdf5-1e-3"
    label = "HDF5, 1e-3"
    tolerance = 1e-3

    def writer(self, run: Walk) -> Callable[[Path], None]:
        positions = run.interleaved()
        grid = quantum(self.tolerance)

        def write(path: Path) -> None:
            with h5py.File(path, "w") as file:
                data = file.create_dataset(
                    _NAME,
                    shape=positions.shape,
                    dtype="f8",
                    chunks=(1, *positions.shape[1:]),
                    compression="gzip",
                    shuffle=True,
                )
                for ordinal, frame in enumerate(positions):
                    data[ordinal] = np.rint(frame / grid) * grid

        return write

    def open(self, path: Path) -> Reader:
        return _Reader(path)


PEERS: list[Peer] = [_Hdf5()]
