"""Deterministic runs to write, and what a reader must return for them, worked out here by a few plain lines."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import molrec as mr
from molrec.storage.zarr import extents

type Content = dict[str, Any]
type Floats = npt.NDArray[np.float64]

STRING = np.dtypes.StringDType()


# -- exact content of frames ------------------------------------------------------------------------------------------


def content(frame: mr.Frame) -> Content:
    """Return all a frame says, to the bit, as plain comparable values."""
    found: Content = {
        "meta": {key: (frame.meta.tag(key), repr(frame.meta[key])) for key in sorted(frame.meta)},
        "box": None,
        "blocks": {name: _block_content(frame[name]) for name in sorted(frame.blocks)},
    }
    if frame.box is not None:
        found["box"] = (
            frame.box.vectors.tobytes(),
            frame.box.origin.tobytes(),
            frame.box.boundary.tolist(),
            frame.box.cell_defined,
        )
    return found


def _block_content(block: mr.Block) -> Content:
    columns = {}
    for name in sorted(block.columns):
        values, mask = block[name], block.validity(name)
        raw = values.tolist() if block.dtype(name) == "string" else values.tobytes()
        columns[name] = (block.dtype(name), values.shape, raw, None if mask is None else mask.tolist())
    return {"rows": block.rows, "shape": block.structural_shape, "columns": columns}


def _stored(values: Floats, precision: float) -> Floats:
    """Return values on the largest power-of-two grid not above the precision."""
    quantum = 2.0 ** math.floor(math.log2(precision))
    return np.copysign(np.rint(values / quantum) * quantum, values)


# -- runs -------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Run:
    """What is presented at each step, under which declaration."""

    schema: mr.SequenceSchema
    frames: list[mr.Frame]
    steps: list[int]
    times: list[float]

    def __len__(self) -> int:
        return len(self.frames)

    @functools.cached_property
    def expected(self) -> list[Content]:
        """The content of every frame: rounded, carried forward, fills filled in."""
        held: dict[str, mr.Block] = {}
        box: mr.Box | None = None
        resolved = []
        for frame in self.frames:
            for name, block in frame.items():
                held[name] = self._rounded(name, block)
            box = box if frame.box is None else frame.box
            whole = mr.Frame(dict(held), box=box)
            for key, declared in self.schema.meta.items():
                whole.meta.set(key, frame.meta.get(key, declared.fill), tag=declared.tag)
            resolved.append(content(whole))
        return resolved

    def _rounded(self, name: str, block: mr.Block) -> mr.Block:
        stored = mr.Block(rows=block.rows)
        for column, values in block.items():
            precision = self.schema.blocks[name].columns[column].precision
            stored[column] = values if precision is None else _stored(values, precision)
            stored.set_validity(column, block.validity(column))
        stored.structural_shape = self.schema.blocks[name].structural_shape
        return stored

    def append(self, writer: mr.TrajectoryWriter, ordinal: int) -> None:
        """Append one frame of the run."""
        writer.append(self.frames[ordinal], step=self.steps[ordinal], time=self.times[ordinal])

    def append_rest(self, writer: mr.TrajectoryWriter) -> None:
        """Append every frame the writer has not taken yet."""
        for ordinal in range(writer.nstep, len(self)):
            self.append(writer, ordinal)

    def check(self, trajectory: mr.TrajectoryReader | None, count: int) -> None:
        """Assert that a trajectory holds exactly the first `count` frames."""
        assert trajectory is not None
        assert len(trajectory) == count
        for ordinal in range(count):
            assert content(trajectory[ordinal]) == self.expected[ordinal], f"frame {ordinal} of {count}"
        assert trajectory.steps.tolist() == self.steps[:count]
        if count:
            assert trajectory.times is not None
            assert trajectory.times.tobytes() == np.array(self.times[:count]).tobytes()


def run_of_everything(length: int = 60, seed: int = 1) -> Run:
    """Return a run that leaves every compact form on its way: rows, cell, steps and times all turn irregular."""
    schema = mr.SequenceSchema()
    for name in ("x", "y", "z"):
        schema.declare_column("atoms", name, "f64").declare_precision("atoms", name, 1e-3)
    schema.declare_column("atoms", "vx", "f64").declare_column("atoms", "id", "u64")
    schema.declare_column("atoms", "element", "string").declare_column("atoms", "charge", "f64", nullable=True)
    schema.declare_block("atoms", rows=12)
    schema.declare_column("bonds", "atomi", "u64").declare_column("bonds", "kind", "string", nullable=True)
    schema.declare_column("bonds", "phase", "c128", (2,))
    schema.declare_column("grid", "rho", "f64", (2,)).declare_structural_shape("grid", (2, 3))
    schema.declare_column("late", "flag", "bool").declare_column("late", "level", "i8")
    schema.declare_meta("pe", "f64").declare_meta("note", "json", fill=None)
    schema.declare_meta("dipole", "f64x3").declare_meta("phase", "string", fill="prod")
    frames = [_frame_of_everything(i, np.random.default_rng([seed, i])) for i in range(length)]
    steps = [10 * i + max(0, i - 45) ** 2 for i in range(length)]
    times = [0.5 * i + (0.1 * (i - 50) if i > 50 else 0.0) for i in range(length)]
    return Run(schema, frames, steps, times)


def _frame_of_everything(i: int, rng: np.random.Generator) -> mr.Frame:
    blocks = {"grid": mr.Block({"rho": rng.normal(size=(6, 2))}, structural_shape=(2, 3))}
    rows = 12 if i < 24 else 12 + i % 3
    if i < 30 or i % 7 != 5:
        atoms = mr.Block({name: rng.normal(size=rows) for name in ("x", "y", "z", "vx", "charge")})
        atoms["id"] = rng.permutation(rows).astype(np.uint64)
        atoms["element"] = np.array([("C", "O", "", "é", "Xx")[n] for n in rng.integers(0, 5, rows)], dtype=STRING)
        atoms.set_validity("charge", rng.random(rows) < 0.8)
        blocks["atoms"] = atoms
    if i >= 3 and i % 4 == 3:
        count = (i // 4) % 5
        bonds = mr.Block({"atomi": rng.integers(0, 12, count).astype(np.uint64)})
        bonds["kind"] = np.array(["single" * int(n) for n in rng.integers(0, 3, count)], dtype=STRING)
        bonds["phase"] = rng.normal(size=(count, 2)) + 1j * rng.normal(size=(count, 2))
        bonds.set_validity("kind", rng.random(count) < 0.5)
        blocks["bonds"] = bonds
    if i >= 35 and i % 2:
        blocks["late"] = mr.Block({"flag": rng.random(4) < 0.5, "level": rng.integers(-9, 9, 4).astype(np.int8)})
    frame = mr.Frame(blocks, box=_cell(i // 10))
    frame.meta.set("pe", float(rng.normal()), tag="f64")
    frame.meta.set("dipole", tuple(rng.normal(size=3).tolist()), tag="f64x3")
    if i % 3 == 0:
        frame.meta.set("note", {"i": i, "list": [1, None, "x"]}, tag="json")
    if i % 5 == 0:
        frame.meta.set("phase", "warm" * (i % 4), tag="string")
    return frame


def _cell(epoch: int) -> mr.Box:
    """Return the cell of an epoch: bare at first, with an origin from the third on, then with open directions."""
    origin = [0.25 * epoch, 0.0, -1.0] if epoch >= 2 else None
    boundary = [True, True, epoch % 2 == 0] if epoch >= 3 else None
    return mr.Box(np.eye(3) * (10.0 + epoch), origin, boundary)


def small_run(length: int = 7, seed: int = 2) -> Run:
    """Return a short run that still leaves every compact form, and has a block that appears late.

    Rows change at frame 3; at 5 the cell, the times, and the block appears; at 6 the steps and the cell's origin.
    """
    schema = mr.SequenceSchema()
    schema.declare_column("atoms", "x", "f64").declare_precision("atoms", "x", 1e-3)
    schema.declare_column("atoms", "note", "string", nullable=True).declare_block("atoms", rows=3)
    schema.declare_column("field", "rho", "f64").declare_structural_shape("field", (2,))
    schema.declare_column("late", "level", "i16").declare_meta("tag", "json", fill=None)
    frames = []
    for i in range(length):
        rng = np.random.default_rng([seed, i])
        rows = 3 + (i % 2 if i >= 3 else 0)
        atoms = mr.Block({"x": rng.normal(size=rows), "note": np.array(["n" * (i % 3)] * rows, dtype=STRING)})
        atoms.set_validity("note", rng.random(rows) < 0.7)
        blocks = {"atoms": atoms, "field": mr.Block({"rho": rng.normal(size=2)}, structural_shape=(2,))}
        if i and i % 5 == 0:
            blocks["late"] = mr.Block({"level": rng.integers(0, 99, 3).astype(np.int16)})
        frame = mr.Frame(blocks, box=mr.Box(np.eye(3) * (9.0 if i < 5 else i), [0.0, 0.5, 0.0] if i >= 6 else None))
        if i % 2:
            frame.meta.set("tag", [i, float(rng.normal())], tag="json")
        frames.append(frame)
    steps = [i if i < 6 else i * i for i in range(length)]
    times = [0.1 * i if i < 5 else 0.1 * i + 0.03 for i in range(length)]
    return Run(schema, frames, steps, times)


# -- extents ----------------------------------------------------------------------------------------------------------


def shrink_extents(patch: pytest.MonkeyPatch) -> None:
    """Let chunks hold a few rows and shards three chunks, so that a short run fills many of both."""
    patch.setattr(extents, "_LEAST_CHUNK_BYTES", 64)
    patch.setattr(extents, "_MOST_CHUNKS_PER_SHARD", 3)
    patch.setattr(extents, "DENSE_CHUNK_ROWS", 2)
    patch.setattr(extents, "_DENSE_CHUNKS_PER_SHARD", 2)


@contextmanager
def small_extents(*, active: bool = True) -> Iterator[None]:
    """Create arrays with small extents inside the block, unless not `active`."""
    with pytest.MonkeyPatch.context() as patch:
        if active:
            shrink_extents(patch)
        yield
