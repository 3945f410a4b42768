"""One plain array through zarr-python: a chunk per frame, shuffle and zstd, in shards; rounded float64.

A shard is written whole, since zarr-python rewrites all of it for every frame added.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec
from zarr.codecs.numcodecs import Shuffle

from molrec import quantum
from peers.base import Peer, Positions, Reader
from workload import Size, Walk

__all__ = ["PEERS"]

_SHARD_BYTES = 4 * 2**20
#: Its cost lies per frame, so fewer frames tell the same.
_MOST_FRAMES = 1000


class _Reader(Reader):
    def __init__(self, path: Path) -> None:
        self._array: Any = zarr.open_array(path, mode="r")

    def __len__(self) -> int:
        return int(self._array.shape[0])

    def frame(self, index: int) -> Positions:
        positions = self._array[index]
        return positions[:, 0], positions[:, 1], positions[:, 2]

    def bulk(self) -> Positions:
        positions = self._array[:]
        return positions[..., 0], positions[..., 1], positions[..., 2]

    def close(self) -> None:
        del self._array


class _Zarr(Peer):
    filename: ClassVar[str] = "run.zarr"
    distributions: ClassVar[tuple[str, ...]] = ("zarr",)
    key = "zarr-1e-3"
    label = "zarr-python, 1e-3"
    tolerance = 1e-3

    def frame_limit(self, size: Size) -> int:
        return min(size.frames, _MOST_FRAMES)

    def writer(self, run: Walk) -> Callable[[Path], None]:
        positions = run.interleaved()
        grid = quantum(self.tolerance)
        depth = max(1, min(len(positions), _SHARD_BYTES // positions[0].nbytes))

        def write(path: Path) -> None:
            array: Any = zarr.create_array(
                path,
                shape=positions.shape,
                dtype="f8",
                chunks=(1, *positions.shape[1:]),
                shards=(depth, *positions.shape[1:]),
                compressors=[Shuffle(elementsize=8), ZstdCodec(level=3), Crc32cCodec()],
            )
            for start in range(0, len(positions), depth):
                array[start : start + depth] = np.rint(positions[start : start + depth] / grid) * grid

        return write

    def open(self, path: Path) -> Reader:
        return _Reader(path)


PEERS: list[Peer] = [_Zarr()]
