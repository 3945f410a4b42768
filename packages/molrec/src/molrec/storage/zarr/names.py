"""Paths and attribute keys of the Zarr binding, each spelled once (``docs/spec/trajectory.md``, layout)."""

from __future__ import annotations

from molrec.model.schema import SequenceSchema

TRAJECTORY = "trajectory"
STEP = f"{TRAJECTORY}/step"
TIME = f"{TRAJECTORY}/time"
SERIES_META = f"{TRAJECTORY}/meta"
BOX = f"{TRAJECTORY}/box"

SEQUENCE_SCHEMA = "sequence_schema"
NSTEP = "nstep"
META_DTYPE = "meta_dtype"
UNIFORM_ROWS = "uniform_rows"
DENSE_UPDATES = "dense_updates"
STRUCTURAL_SHAPE = "structural_shape"

STEP_INDEX = "step_index"
OFFSET = "offset"
VALIDITY = "_validity"


def column_path(block: str, column: str) -> str:
    """Return the path of a trajectory column."""
    return f"{TRAJECTORY}/{block}/{column}"


def mask_path(block: str, column: str) -> str:
    """Return the path of a trajectory column's validity mask."""
    return f"{TRAJECTORY}/{block}/{VALIDITY}/{column}"


def is_layout_array(path: str, schema: SequenceSchema) -> bool:
    """Tell whether the layout, and not a producer, decides what the array at a path below the trajectory is."""
    parts = path.split("/")[1:]
    match parts:
        case ["step"] | ["time"] | ["box", "vectors" | "origin" | "boundary" | "step_index"]:
            return True
        case ["meta", key]:
            return key in schema.meta
        case [block, "offset" | "step_index"]:
            return block in schema.blocks
        case [block, column] | [block, "_validity", column]:
            return block in schema.blocks and column in schema.blocks[block].columns
    return False
