"""The content of a fixture as plain numpy data, before any library has seen it.

Frames of a run stand here as they are presented to a writer; `scripts.golden.resolving` works out what a reader must
return. Knows no JSON and no files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

type Array = npt.NDArray[Any]

STRING = np.dtypes.StringDType()

NUMPY_DTYPES: dict[str, Any] = {
    "f64": np.dtype("<f8"),
    "i8": np.dtype("i1"),
    "i16": np.dtype("<i2"),
    "i32": np.dtype("<i4"),
    "i64": np.dtype("<i8"),
    "u8": np.dtype("u1"),
    "u16": np.dtype("<u2"),
    "u32": np.dtype("<u4"),
    "u64": np.dtype("<u8"),
    "bool": np.dtype("?"),
    "string": STRING,
    "c64": np.dtype("<c8"),
    "c128": np.dtype("<c16"),
}


@dataclass(slots=True)
class Column:
    """One column: values of shape ``(rows, *trailing)``, one flag per row or None, and a declared precision."""

    dtype: str
    values: Array
    mask: list[bool] | None = None
    precision: float | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Block:
    """Columns of one row count."""

    columns: dict[str, Column]
    rows: int
    structural_shape: list[int] | None = None
    targets: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Box:
    """A cell; the columns of `vectors` are the lattice vectors."""

    vectors: list[list[float]] = field(default_factory=lambda: np.eye(3).tolist())
    origin: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    boundary: list[bool] = field(default_factory=lambda: [True, True, True])
    cell_defined: bool = True


@dataclass(slots=True)
class Frame:
    """Blocks, meta values with their tags, and a cell."""

    blocks: dict[str, Block] = field(default_factory=dict)
    meta: dict[str, tuple[str, Any]] = field(default_factory=dict)
    box: Box | None = None


@dataclass(slots=True)
class Run:
    """Frames as they are presented, under the declaration as a ``sequence_schema`` document."""

    declaration: dict[str, Any]
    frames: list[Frame]
    steps: list[int]
    times: list[float] | None = None


@dataclass(slots=True)
class ForceField:
    """The document and the tables of a force field."""

    document: dict[str, Any]
    tables: dict[str, Block]


@dataclass(slots=True)
class Observable:
    """Values and their description."""

    values: Column | Frame
    document: dict[str, Any]


@dataclass(slots=True)
class Record:
    """Everything a record holds."""

    name: str
    description: str
    covers: list[str]
    meta: dict[str, Any] = field(default_factory=dict)
    frame: Frame | None = None
    system: Frame | None = None
    run: Run | None = None
    forcefield: ForceField | None = None
    observables: dict[str, Observable] | None = None
    status: dict[str, Any] | None = None
    method: dict[str, Any] | None = None
    #: Events in the order they are logged: key, value, step, wall time, tags.
    events: list[tuple[str, float, int | None, str, Any]] | None = None
    profile: str = "archive"


@dataclass(slots=True)
class CollectionRecord:
    """One record of a collection, with the values of its own index columns."""

    meta: dict[str, Any]
    system: Frame | None = None
    run: Run | None = None
    index: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Collection:
    """Records under one declaration; `index_dtypes` are those of its own index columns."""

    name: str
    description: str
    covers: list[str]
    meta: dict[str, Any]
    declaration: dict[str, Any]
    records: list[CollectionRecord]
    index_dtypes: dict[str, str] = field(default_factory=dict)
    forcefield: ForceField | None = None


def column(
    dtype: str,
    values: Any,
    shape: Sequence[int] | None = None,
    mask: list[bool] | None = None,
    precision: float | None = None,
) -> Column:
    """Return a column of values given in any nesting."""
    array = np.array(values, dtype=NUMPY_DTYPES[dtype])
    return Column(dtype, array if shape is None else array.reshape(shape), mask, precision)


def block(
    columns: Mapping[str, Column] | None = None, rows: int | None = None, targets: Mapping[str, str] | None = None
) -> Block:
    """Return a block whose row count is that of its columns, or `rows`."""
    given = dict(columns or {})
    count = rows if rows is not None else next(len(one.values) for one in given.values())
    return Block(given, count, targets=dict(targets or {}))


def undefined_cell() -> Box:
    """Return what an undefined cell means: identity vectors, nothing periodic."""
    return Box(boundary=[False, False, False], cell_defined=False)


def declared(dtype: str, trailing: Sequence[int] = (), **more: Any) -> dict[str, Any]:
    """Return a column's entry of a ``sequence_schema``."""
    return {"dtype": dtype, "trailing": list(trailing), **more}
