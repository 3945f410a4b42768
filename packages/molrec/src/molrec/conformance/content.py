"""What a record *is*, as plain data: dataclasses of dicts, lists, numbers and numpy arrays.

An implementation is judged by content, so that its adapter needs no object of this library. Nothing here checks
anything: content may break every rule of the format, which is how the cases of refusals are stated.

Arrays are numpy arrays of the `NUMPY_DTYPES`, strings arrays of any variable- or fixed-width string dtype, bools of
Python are `bool`, integers `int`. In memory a vector tag holds a tuple, a JSON array a list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "NUMPY_DTYPES",
    "STRING",
    "AnyArray",
    "Block",
    "BlockDeclaration",
    "BoolArray",
    "Box",
    "Collection",
    "CollectionRecord",
    "Column",
    "ColumnDeclaration",
    "Content",
    "Digest",
    "ForceField",
    "Frame",
    "MetaDeclaration",
    "MetaValue",
    "Presented",
    "Record",
    "Run",
    "Schema",
    "Step",
    "Trajectory",
    "dtype_name",
]

type AnyArray = np.ndarray[Any, Any]
type BoolArray = npt.NDArray[np.bool_]

#: Numpy's variable-width strings: unlike fixed-width ones they keep a NUL at the end.
STRING = np.dtypes.StringDType()

#: Numpy dtype of each column dtype but ``string``, which is any string array.
NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
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
    "c64": np.dtype("<c8"),
    "c128": np.dtype("<c16"),
}


@dataclass(frozen=True, slots=True)
class Digest:
    """A large array known by the SHA-256 of its raw bytes.

    Attributes:
        sha256: Hex digest, as `molrec.conformance.comparison.digest_of` forms it.
        shape: Shape of the array.
        dtype: Column dtype name.
        sample: Flat indices and values to look at when the digest disagrees.
    """

    sha256: str
    shape: tuple[int, ...]
    dtype: str
    sample: tuple[tuple[int, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        dtype: One of the thirteen dtype names; it says what the array's numpy dtype says.
        values: Array ``(rows, *trailing)``.
        validity: Bool array ``(rows,)``, True for a value; None where every row has one.
        precision: Declared precision in the column's own unit, None without one.
    """

    dtype: str
    values: AnyArray | Digest
    validity: BoolArray | Digest | None = None
    precision: float | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Named columns of one row count; ``targets`` maps a column to the block its values are row indices of."""

    rows: int
    structural_shape: tuple[int, ...] | None = None
    columns: dict[str, Column] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Box:
    """A cell; the **columns** of the f64 ``(3, 3)`` ``vectors`` are the lattice vectors, ``origin`` is f64 ``(3,)``."""

    vectors: AnyArray
    origin: AnyArray
    boundary: tuple[bool, bool, bool]
    cell_defined: bool


@dataclass(frozen=True, slots=True)
class MetaValue:
    """A typed meta value: bool, int, float, str, a tuple of these for a vector tag, or a JSON document."""

    tag: str
    value: Any


@dataclass(frozen=True, slots=True)
class Frame:
    """Blocks by name, cell and typed meta."""

    blocks: dict[str, Block] = field(default_factory=dict)
    box: Box | None = None
    meta: dict[str, MetaValue] = field(default_factory=dict)


# -- runs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ColumnDeclaration:
    """What a schema pins of a column; ``trailing`` is the shape of one row."""

    dtype: str
    trailing: tuple[int, ...] = ()
    nullable: bool = False
    precision: float | None = None


@dataclass(frozen=True, slots=True)
class BlockDeclaration:
    """What a schema pins of a block."""

    columns: dict[str, ColumnDeclaration] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    aligned_with: str | None = None
    structural_shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class MetaDeclaration:
    """What a schema pins of a per-step key; ``fill`` is None where none is declared."""

    tag: str
    fill: MetaValue | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """A sequence schema with every default spelled out."""

    blocks: dict[str, BlockDeclaration] = field(default_factory=dict)
    meta: dict[str, MetaDeclaration] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Presented:
    """What a producer hands a writer for one frame: any subset of the declared blocks, each whole."""

    step: int
    time: float | None
    frame: Frame


@dataclass(frozen=True, slots=True)
class Run:
    """A trajectory as it is **written**: the declaration, and what each frame presents.

    Attributes:
        schema: The declaration, pinned when the trajectory is created.
        frames: What is appended, in order.
        continued_at: Number of frames after which the writer is closed and the run continued by another; None for a
            run written in one session.
    """

    schema: Schema
    frames: list[Presented]
    continued_at: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One resolved frame of a run.

    Attributes:
        step: Integration step.
        time: Time, None in a run without times.
        frame: What is there at this step: carried forward, rounded, filled.
        updates: Each present block to the ordinal its content was written at; None where a reader cannot tell.
    """

    step: int
    time: float | None
    frame: Frame
    updates: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A run as it is **read**: resolved frames; ``schema`` is None where a reader cannot tell it."""

    steps: list[int]
    times: list[float] | None
    schema: Schema | None
    frames: list[Step]


# -- containers -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ForceField:
    """A force field: the document, a JSON object, and the table of each style by block name."""

    document: dict[str, Any]
    tables: dict[str, Block] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """The sections of a record; one that is not there is None.

    Attributes:
        sections: Names of the nodes below the root, sorted; empty where a reader cannot tell.
        meta: The meta document; what a writer stamps of its own (`molrec_version`, `modules`) is not compared.
        frame: The section ``frame``.
        system: The section ``system``.
        trajectory: The section ``trajectory``, once read.
        run: The section ``trajectory``, to be written.
        forcefield: The section ``forcefield``.
        status: The document ``status``.
        method: The document ``method``.
    """

    sections: list[str] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)
    frame: Frame | None = None
    system: Frame | None = None
    trajectory: Trajectory | None = None
    run: Run | None = None
    forcefield: ForceField | None = None
    status: dict[str, Any] | None = None
    method: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """One record of a collection.

    Attributes:
        meta: Its meta document.
        system: What does not change.
        run: The trajectory, to be written.
        trajectory: The trajectory, once read (its ``schema`` None: the collection states it).
        index: Values of the collection's own index columns, by name; given to a writer only.
    """

    meta: dict[str, Any] = field(default_factory=dict)
    system: Frame | None = None
    run: Run | None = None
    trajectory: Trajectory | None = None
    index: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection.

    Attributes:
        units: Quantity to unit. Once read, with the defaults of mass and charge.
        records: The records, in order.
        schema: The declaration of all frames; None lets a writer derive it from the records' runs.
        forcefield: The force field of every record.
        index: The index, own columns included; once read only.
        meta: Further keys of the collection's meta document.
    """

    units: dict[str, str]
    records: list[CollectionRecord]
    schema: Schema | None = None
    forcefield: ForceField | None = None
    index: Block | None = None
    meta: dict[str, Any] = field(default_factory=dict)


type Content = Frame | Run | Trajectory | Record | ForceField | Collection


def dtype_name(array: AnyArray) -> str:
    """Return the column dtype name of an array.

    Raises:
        TypeError: Its dtype is none of the thirteen.
    """
    if array.dtype.kind in "UT":
        return "string"
    for name, dtype in NUMPY_DTYPES.items():
        if array.dtype == dtype:
            return name
    raise TypeError(f"{array.dtype} is no column dtype")
