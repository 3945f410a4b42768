"""This project's records: both profiles, two precisions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

import molrec
from peers.base import Peer, Positions, Reader
from workload import Walk

__all__ = ["PEERS"]


class _Reader(Reader):
    def __init__(self, path: Path) -> None:
        self._record = molrec.open(path)
        trajectory = self._record.trajectory
        assert trajectory is not None
        self._trajectory = trajectory

    def __len__(self) -> int:
        return len(self._trajectory)

    def frame(self, index: int) -> Positions:
        atoms = self._trajectory[index]["atoms"]
        return atoms["x"], atoms["y"], atoms["z"]

    def bulk(self) -> Positions:
        columns = self._trajectory.read("atoms")
        return columns["x"], columns["y"], columns["z"]

    def close(self) -> None:
        self._record.close()


class _Molrec(Peer):
    filename: ClassVar[str] = "run.mrec"
    distributions: ClassVar[tuple[str, ...]] = ("molrec", "numcodecs", "zstandard")

    def __init__(self, profile: Literal["live", "archive"], precision: str) -> None:
        self.key = f"molrec-{profile}-{precision}"
        self.label = f"molrec {profile}, {precision}"
        self.tolerance = float(precision)
        self.baseline = f"molrs-{precision}"
        self._profile = profile

    def writer(self, run: Walk) -> Callable[[Path], None]:
        schema = molrec.SequenceSchema()
        for column in "xyz":
            schema.declare_column("atoms", column, "f64").declare_precision("atoms", column, self.tolerance)
        schema.declare_block("atoms", rows=run.size.atoms)
        frames = [molrec.Frame({"atoms": molrec.Block({"x": x, "y": y, "z": z})}) for x, y, z in run.planar]

        def write(path: Path) -> None:
            with molrec.TrajectoryWriter(path, schema, profile=self._profile) as writer:
                for ordinal, frame in enumerate(frames):
                    writer.append(frame, step=10 * ordinal, time=0.5 * ordinal)

        return write

    def open(self, path: Path) -> Reader:
        return _Reader(path)


PEERS: list[Peer] = [
    _Molrec("live", "1e-3"),
    _Molrec("archive", "1e-3"),
    _Molrec("live", "1e-2"),
    _Molrec("archive", "1e-2"),
]
