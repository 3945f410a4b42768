"""Records that keep every rule, for tests to spoil: a run with one of everything, and a frame."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import molrec as mr


def declaration() -> mr.SequenceSchema:
    """Return a declaration with a nullable, a precise, a shaped and a referencing column, a grid, and meta keys."""
    schema = mr.SequenceSchema()
    schema.declare_column("atoms", "x", "f64").declare_precision("atoms", "x", 1e-3)
    schema.declare_column("atoms", "id", "u64").declare_column("atoms", "b_factor", "f64", nullable=True)
    schema.declare_column("bonds", "ref", "u64").declare_target("bonds", "ref", "atoms")
    schema.declare_column("bonds", "order", "i32", (2,))
    schema.declare_column("grid", "rho", "f64").declare_structural_shape("grid", (2, 2))
    schema.declare_block("counted")
    schema.declare_meta("pe", "f64").declare_meta("note", "json", fill=None).declare_meta(
        "dip", "f64x3", fill=(0, 0, 0)
    )
    return schema


def present(ordinal: int) -> mr.Frame:
    """Return a frame that keeps to the declaration; atoms and grid regular, bonds ragged."""
    atoms = mr.Block({"x": np.arange(3.0) + ordinal, "id": np.arange(3, dtype=np.uint64), "b_factor": [1.0, 2.0, 3.0]})
    atoms.set_validity("b_factor", [True, ordinal % 2 == 0, False])
    frame = mr.Frame({"atoms": atoms, "grid": mr.Block({"rho": np.full(4, float(ordinal))}, (2, 2))})
    if ordinal % 2 == 0:
        rows = 1 + ordinal
        frame["bonds"] = mr.Block({"ref": np.zeros(rows, np.uint64), "order": np.full((rows, 2), ordinal, np.int32)})
        frame["counted"] = mr.Block(rows=ordinal)
    frame.meta["pe"] = -1.5 * ordinal
    frame.box = mr.Box(np.eye(3) * (10.0 + ordinal))
    return frame


def write_run(path: Path, count: int = 4, *, regular: bool = False, cell: str = "changing") -> Path:
    """Write a closed run; steps and times are arrays unless `regular`."""
    with mr.TrajectoryWriter(path, declaration()) as writer:
        for ordinal in range(count):
            frame = present(ordinal)
            if cell != "changing":
                frame.box = mr.Box(np.eye(3) * 9.0) if cell == "fixed" else mr.Box(cell_defined=False)
            step = 10 * ordinal + (0 if regular else ordinal * ordinal)
            writer.append(frame, step=step, time=0.5 * step if regular else math.sqrt(step))
    return path


def write_frame(path: Path) -> Path:
    atoms = mr.Block(
        {"x": [0.1, 0.2, 0.3], "id": np.arange(3), "label": ["a", "b", "c"], "n": np.arange(3, dtype=np.int32)}
    )
    atoms.set_precision("x", 1e-3)
    atoms.set_validity("label", [True, False, True])
    bonds_block = mr.Block({"ref": np.array([0, 2], np.uint64)})
    bonds_block.set_target("ref", "atoms")
    frame = mr.Frame({"atoms": atoms, "bonds": bonds_block, "grid": mr.Block({"rho": np.zeros(6)}, (2, 3))})
    frame.meta.update({"n": np.int32(3), "t": 1.5, "doc": {"a": 1}})
    frame.box = mr.Box(np.eye(3) * 5.0, origin=[1.0, 0.0, 0.0], boundary=[True, True, False])
    return mr.write(path, frame=frame)
