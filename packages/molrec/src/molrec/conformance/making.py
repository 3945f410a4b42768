"""Short ways to say content, for the cases: columns, blocks, frames, declarations and runs from plain values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.conformance.content import (
    NUMPY_DTYPES,
    STRING,
    AnyArray,
    Block,
    BlockDeclaration,
    Box,
    Column,
    ColumnDeclaration,
    Frame,
    MetaDeclaration,
    MetaValue,
    Presented,
    Run,
    Schema,
)

__all__ = [
    "aligned",
    "block",
    "box",
    "column",
    "declared",
    "f64",
    "frame",
    "i64",
    "meta",
    "run",
    "strings",
    "u64",
    "undefined_box",
]


def column(
    dtype: str, values: Any, *, precision: float | None = None, validity: Sequence[bool] | None = None
) -> Column:
    """Return a column of one of the thirteen dtypes, or of a numpy dtype outside them."""
    numpy_dtype: Any = STRING if dtype == "string" else NUMPY_DTYPES.get(dtype, dtype)
    mask = None if validity is None else np.array(validity)
    return Column(dtype, np.array(values, numpy_dtype), mask, precision)


def f64(*values: float, precision: float | None = None, validity: Sequence[bool] | None = None) -> Column:
    """Return an ``f64`` column, one value a row."""
    return column("f64", values, precision=precision, validity=validity)


def u64(*values: int, validity: Sequence[bool] | None = None) -> Column:
    """Return a ``u64`` column, one value a row."""
    return column("u64", values, validity=validity)


def i64(*values: int) -> Column:
    """Return an ``i64`` column, one value a row."""
    return column("i64", values)


def strings(*values: str, validity: Sequence[bool] | None = None) -> Column:
    """Return a ``string`` column, one value a row."""
    return column("string", values, validity=validity)


def block(
    columns: Mapping[str, Column] | None = None,
    *,
    rows: int | None = None,
    shape: tuple[int, ...] | None = None,
    targets: Mapping[str, str] | None = None,
) -> Block:
    """Return a block; its row count is that of its first column where none is given."""
    held = dict(columns or {})
    counted = rows
    if counted is None:
        first = next(iter(held.values()), None)
        counted = 0 if first is None else int(np.shape(first.values)[0])
    return Block(counted, shape, held, dict(targets or {}))


def frame(
    blocks: Mapping[str, Block] | None = None, *, cell: Box | None = None, meta: Mapping[str, MetaValue] | None = None
) -> Frame:
    """Return a frame."""
    return Frame(dict(blocks or {}), cell, dict(meta or {}))


def meta(tag: str, value: Any) -> MetaValue:
    """Return a typed meta value."""
    return MetaValue(tag, value)


def box(
    vectors: npt.ArrayLike,
    origin: Sequence[float] = (0.0, 0.0, 0.0),
    boundary: tuple[bool, bool, bool] = (True, True, True),
) -> Box:
    """Return a defined cell; the columns of ``vectors`` are the lattice vectors, one number is a cube."""
    array: AnyArray = np.array(vectors, np.float64)
    matrix = np.eye(3) * float(array) if array.ndim == 0 else array
    return Box(matrix, np.array(origin, np.float64), boundary, cell_defined=True)


def undefined_box(origin: Sequence[float] = (0.0, 0.0, 0.0)) -> Box:
    """Return the box of a system without a cell."""
    return Box(np.eye(3), np.array(origin, np.float64), (False, False, False), cell_defined=False)


# -- declarations and runs --------------------------------------------------------------------------------------------


def declared(frames: Sequence[Frame], **fills: MetaValue) -> Schema:
    """Return the declaration of frames: the union of their blocks and per-step keys.

    A column is nullable where some frame has a mask; the keys named get the fills given.
    """
    blocks: dict[str, BlockDeclaration] = {}
    keys: dict[str, MetaDeclaration] = {}
    for each in frames:
        for name, one in each.blocks.items():
            known = blocks.get(name, BlockDeclaration())
            columns = {
                key: ColumnDeclaration(
                    held.dtype,
                    tuple(np.shape(held.values)[1:]),
                    held.validity is not None or (key in known.columns and known.columns[key].nullable),
                    held.precision,
                )
                for key, held in one.columns.items()
            }
            blocks[name] = BlockDeclaration(columns, dict(one.targets), None, one.structural_shape)
        for key, value in each.meta.items():
            keys[key] = MetaDeclaration(value.tag, fills.get(key))
    for key, fill in fills.items():
        keys.setdefault(key, MetaDeclaration(fill.tag, fill))
    return Schema(blocks, keys)


def aligned(schema: Schema, name: str, target: str) -> Schema:
    """Return a declaration in which one block is aligned with another, be that sense or not."""
    entry = schema.blocks.get(name, BlockDeclaration())
    return dataclasses.replace(schema, blocks={**schema.blocks, name: dataclasses.replace(entry, aligned_with=target)})


def run(
    frames: Sequence[Frame],
    schema: Schema | None = None,
    *,
    steps: Sequence[int] | None = None,
    times: Sequence[float | None] | None = None,
    continued_at: int | None = None,
) -> Run:
    """Return a run; steps count from 0, there are no times, and the declaration is that of the frames if not given."""
    numbers = range(len(frames)) if steps is None else steps
    moments = [None] * len(frames) if times is None else times
    presented = [Presented(*each) for each in zip(numbers, moments, frames, strict=True)]
    return Run(declared(frames) if schema is None else schema, presented, continued_at)
