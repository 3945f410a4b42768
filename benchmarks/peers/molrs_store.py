"""The independent implementation of the same layout, as it comes: durable at flush and close."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
from molrs import Block, Frame
from molrs.io.mrec import MrecReader, MrecWriter, SequenceSchema

from peers.base import Peer, Positions, Reader
from workload import Walk

__all__ = ["PEERS"]


class _Reader(Reader):
    def __init__(self, path: Path) -> None:
        self._reader = MrecReader(path)

    def __len__(self) -> int:
        return len(self._reader)

    def frame(self, index: int) -> Positions:
        atoms = self._reader[index]["atoms"]
        return atoms["x"], atoms["y"], atoms["z"]

    def bulk(self) -> Positions:
        # Its `to_trajectory` makes every frame first and is slower than this loop.
        first = self.frame(0)[0]
        out = np.empty((3, len(self), len(first)))
        for index in range(len(self)):
            out[0, index], out[1, index], out[2, index] = self.frame(index)
        return out[0], out[1], out[2]

    def close(self) -> None:
        del self._reader


class _Molrs(Peer):
    filename: ClassVar[str] = "run.mrec"
    distributions: ClassVar[tuple[str, ...]] = ("molcrafts-molrs",)

    def __init__(self, precision: str) -> None:
        self.key = self.baseline = f"molrs-{precision}"
        self.label = f"molrs, {precision}"
        self.tolerance = float(precision)

    def writer(self, run: Walk) -> Callable[[Path], None]:
        frames = []
        for planes in run.planar:
            block = Block()
            for column, values in zip("xyz", planes, strict=True):
                block.insert(column, values)
            frame = Frame()
            frame["atoms"] = block
            frames.append(frame)
        schema = SequenceSchema.from_frames(frames[:1])
        for column in "xyz":
            schema.declare_precision("atoms", column, self.tolerance)

        def write(path: Path) -> None:
            writer = MrecWriter(str(path), schema)
            for ordinal, frame in enumerate(frames):
                writer.append(frame, step=10 * ordinal, time=0.5 * ordinal)
            writer.close()

        return write

    def open(self, path: Path) -> Reader:
        return _Reader(path)


PEERS: list[Peer] = [_Molrs("1e-3"), _Molrs("1e-2")]
