"""Hypothesis strategies for everything a record holds, and the means to compare two of them to the bit.

Import from here: `blocks`, `boxes`, `metas`, `frames` give containers; `run_shapes`, `presentations` and `runs` give
whole trajectories with steps and times; `names`, `contents`, `meta_values` and the rest give their parts. Values lean
towards what breaks storage: NaN payloads, negative zeros, limits, empty and single rows, names that are prefixes of
each other. `exact` turns any container into plain comparable values without asking the library whether they are equal.
"""

from __future__ import annotations

from .exact import Bits, exact, plain_block, plain_box, plain_frame, stored_array, stored_value
from .frames import blocks, boxes, frames, metas, undefined_boxes
from .runs import BlockShape, ColumnShape, Presentation, Run, RunShape, presentations, run_shapes, runs
from .stores import files, memory_store, scratch
from .values import (
    DTYPES,
    F64_EDGES,
    NUMPY_DTYPES,
    TAGS,
    TEXTS,
    content,
    contents,
    is_name,
    json_documents,
    masks,
    meta_values,
    names,
    precisions,
    texts,
    trailings,
)

__all__ = [
    "DTYPES",
    "F64_EDGES",
    "NUMPY_DTYPES",
    "TAGS",
    "TEXTS",
    "Bits",
    "BlockShape",
    "ColumnShape",
    "Presentation",
    "Run",
    "RunShape",
    "blocks",
    "boxes",
    "content",
    "contents",
    "exact",
    "files",
    "frames",
    "is_name",
    "json_documents",
    "masks",
    "memory_store",
    "meta_values",
    "metas",
    "names",
    "plain_block",
    "plain_box",
    "plain_frame",
    "precisions",
    "presentations",
    "run_shapes",
    "runs",
    "scratch",
    "stored_array",
    "stored_value",
    "texts",
    "trailings",
    "undefined_boxes",
]
