"""Record content as plain numpy data, and its exact comparison.

Three sides meet here: the fixture documents, ``molrec`` and foreign readers. Each is brought into the dataclasses
of this module by its own adapter, and `first_difference` compares any two of them. Nothing here reads a store.

Exact means to the bit: -0.0 differs from 0.0, dtypes and Python types must agree, NaN equals NaN whatever its
payload. A mask that is true everywhere is the same value as no mask; `mask_or_none` brings it to the second spelling.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

type AnyArray = np.ndarray[Any, Any]
type BoolArray = npt.NDArray[np.bool_]

STRING = np.dtypes.StringDType()

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
"""Numpy dtype of each column dtype but ``string``, which is any variable-width string array."""

INTEGER_TAGS = frozenset({"i32", "i64", "u32", "u64"})


@dataclasses.dataclass(frozen=True, slots=True)
class Digest:
    """A large array known by the SHA-256 of its raw bytes.

    Attributes:
        sha256: Hex digest, as `digest_of` forms it.
        shape: Shape of the array.
        dtype: Column dtype name.
        sample: Flat indices and values to look at when the digest disagrees.
    """

    sha256: str
    shape: tuple[int, ...]
    dtype: str
    sample: tuple[tuple[int, Any], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """One column: values of shape ``(rows, *trailing)``, mask of shape ``(rows,)`` or None."""

    dtype: str
    values: AnyArray | Digest
    validity: BoolArray | Digest | None
    precision: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Named columns of one row count."""

    rows: int
    structural_shape: tuple[int, ...] | None
    columns: dict[str, Column]
    targets: dict[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    """A cell; lattice vectors are the columns of the 3x3 ``vectors``."""

    vectors: AnyArray
    origin: AnyArray
    boundary: tuple[bool, bool, bool]
    cell_defined: bool


@dataclasses.dataclass(frozen=True, slots=True)
class MetaValue:
    """A typed meta value; vectors are tuples, JSON arrays lists and JSON objects dicts."""

    tag: str
    value: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """Blocks, cell and typed meta."""

    blocks: dict[str, Block]
    box: Box | None
    meta: dict[str, MetaValue]


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One resolved frame of a run; ``updates`` maps each present block to the ordinal its content was written at."""

    step: int
    time: float | None
    frame: Frame
    updates: dict[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class ColumnDeclaration:
    """What a schema pins of a column."""

    dtype: str
    trailing: tuple[int, ...]
    nullable: bool
    precision: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class BlockDeclaration:
    """What a schema pins of a block."""

    columns: dict[str, ColumnDeclaration]
    targets: dict[str, str]
    aligned_with: str | None
    structural_shape: tuple[int, ...] | None


@dataclasses.dataclass(frozen=True, slots=True)
class MetaDeclaration:
    """What a schema pins of a per-step key; ``fill`` is None where none is declared."""

    tag: str
    fill: MetaValue | None


@dataclasses.dataclass(frozen=True, slots=True)
class Schema:
    """A sequence schema with every default spelled out."""

    blocks: dict[str, BlockDeclaration]
    meta: dict[str, MetaDeclaration]


@dataclasses.dataclass(frozen=True, slots=True)
class Trajectory:
    """A run as resolved frames; ``schema`` is None for a reader that cannot tell it."""

    steps: list[int]
    times: list[float] | None
    schema: Schema | None
    frames: list[Step]


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """The sections of a record this kit compares; ``sections`` is sorted."""

    sections: list[str]
    meta: dict[str, Any]
    frame: Frame | None
    system: Frame | None
    trajectory: Trajectory | None


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """Where two contents first part, and both values there."""

    path: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.path}: expected {_short(self.expected)}, found {_short(self.found)}"


def present(updates: Mapping[str, int | None]) -> dict[str, int]:
    """Return ``updates`` without the blocks that are absent."""
    return {name: update for name, update in updates.items() if update is not None}


def mask_or_none(mask: npt.ArrayLike | None) -> BoolArray | None:
    """Return ``mask`` as a bool array, or None where it is None or states no null."""
    if mask is None:
        return None
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise TypeError(f"a mask is bool, found {array.dtype}")
    return None if array.all() else array


def dtype_name(array: AnyArray) -> str:
    """Return the column dtype name of an array."""
    if array.dtype.kind in "UT":
        return "string"
    for name, dtype in NUMPY_DTYPES.items():
        if array.dtype == dtype:
            return name
    raise TypeError(f"{array.dtype} is no column dtype")


def digest_of(array: AnyArray) -> str:
    """Return the SHA-256 of an array: little-endian C order, strings joined by U+0000 as UTF-8."""
    name = dtype_name(array)
    if name == "string":
        raw = "\0".join(array.ravel().tolist()).encode()
    else:
        raw = np.ascontiguousarray(array, NUMPY_DTYPES[name]).tobytes()
    return hashlib.sha256(raw).hexdigest()


def plain_json(value: Any) -> Any:
    """Return a JSON value with mappings as dicts and sequences as lists, scalars untouched."""
    if isinstance(value, Mapping):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_json(item) for item in value]
    return value


def meta_value(tag: str, value: Any) -> MetaValue:
    """Return a meta value as a library hands it out, JSON containers brought to plain ones."""
    return MetaValue(tag, plain_json(value) if tag == "json" else value)


def schema_from_document(document: Mapping[str, Any]) -> Schema:
    """Bring a ``sequence_schema`` document, defaults omitted or not, into its full form."""
    blocks = {
        name: BlockDeclaration(
            columns={
                column: ColumnDeclaration(
                    dtype=entry["dtype"],
                    trailing=tuple(entry["trailing"]),
                    nullable=entry.get("nullable", False),
                    precision=entry.get("precision"),
                )
                for column, entry in block["columns"].items()
            },
            targets=dict(block.get("targets") or {}),
            aligned_with=block.get("aligned_with"),
            structural_shape=_optional_tuple(block.get("structural_shape")),
        )
        for name, block in document["blocks"].items()
    }
    meta = {
        key: MetaDeclaration(
            entry["dtype"],
            MetaValue(entry["dtype"], decode_meta(entry["dtype"], entry["fill"])) if "fill" in entry else None,
        )
        for key, entry in document["meta"].items()
    }
    return Schema(blocks, meta)


def decode_meta(tag: str, value: Any) -> Any:
    """Decode a typed JSON meta value leniently: wide integers as numbers or as decimal strings."""
    if tag == "json":
        return plain_json(value)
    base, _, width = tag.partition("x")
    if tag == "bool3":
        return tuple(value)
    if width:
        return tuple(decode_meta(base, item) for item in value)
    if base in INTEGER_TAGS:
        return int(value)
    if base == "f64":
        return decode_float(value)
    return value


def decode_float(value: float | str) -> float:
    """Decode a JSON number or one of the three non-finite spellings."""
    if isinstance(value, str) and value not in {"NaN", "Infinity", "-Infinity"}:
        raise ValueError(f"{value!r} is no number")
    return float(value)


def first_difference(expected: Any, found: Any, path: str = "") -> Difference | None:
    """Compare two contents exactly.

    Args:
        expected: Dataclass of this module, container, array or scalar. A `Digest` matches the array it digests.
        found: What to hold against it.
        path: Prefix of the reported path.

    Returns:
        The first difference, or None where both are the same content. Mappings are compared as sets of keys;
        where their order carries meaning (frame meta), compare the key lists beside.
    """
    if isinstance(expected, Digest) and isinstance(found, np.ndarray):
        return _digest_difference(expected, found, path)
    if isinstance(expected, np.ndarray) and isinstance(found, np.ndarray):
        return _array_difference(expected, found, path)
    if type(expected) is not type(found):
        return Difference(path, expected, found)
    if dataclasses.is_dataclass(expected):
        return _first(
            first_difference(getattr(expected, field.name), getattr(found, field.name), _join(path, field.name))
            for field in dataclasses.fields(expected)
        )
    if isinstance(expected, dict):
        return _mapping_difference(expected, found, path)
    if isinstance(expected, (list, tuple)):
        if len(expected) != len(found):
            return Difference(_join(path, "length"), len(expected), len(found))
        return _first(
            first_difference(one, other, f"{path}[{index}]")
            for index, (one, other) in enumerate(zip(expected, found, strict=True))
        )
    if isinstance(expected, float):
        return None if _same_float(expected, found) else Difference(path, expected, found)
    return None if expected == found else Difference(path, expected, found)


def meta_order_difference(expected: Frame, found: Frame, path: str = "") -> Difference | None:
    """Compare the order of meta keys, which a frame keeps."""
    return first_difference(list(expected.meta), list(found.meta), _join(path, "meta<order>"))


def record_difference(expected: Record, found: Record) -> Difference | None:
    """Compare two records; the schema is left out where one side does not know it."""
    runs = [record.trajectory for record in (expected, found) if record.trajectory is not None]
    if len(runs) == 2 and any(run.schema is None for run in runs):
        expected, found = _without_schema(expected), _without_schema(found)
    return first_difference(expected, found) or _first(
        meta_order_difference(one, other, name)
        for name, one, other in (
            ("frame", expected.frame, found.frame),
            ("system", expected.system, found.system),
        )
        if one is not None and other is not None
    )


def _without_schema(record: Record) -> Record:
    assert record.trajectory is not None
    return dataclasses.replace(record, trajectory=dataclasses.replace(record.trajectory, schema=None))


def _first(differences: Any) -> Difference | None:
    return next((difference for difference in differences if difference is not None), None)


def _mapping_difference(expected: dict[Any, Any], found: dict[Any, Any], path: str) -> Difference | None:
    for key in [*expected, *found]:
        if key not in expected:
            return Difference(_join(path, key), "(absent)", found[key])
        if key not in found:
            return Difference(_join(path, key), expected[key], "(absent)")
        difference = first_difference(expected[key], found[key], _join(path, key))
        if difference is not None:
            return difference
    return None


def _array_difference(expected: AnyArray, found: AnyArray, path: str) -> Difference | None:
    one, other = dtype_name(expected), dtype_name(found)
    if one != other:
        return Difference(_join(path, "dtype"), one, other)
    if expected.shape != found.shape:
        return Difference(_join(path, "shape"), expected.shape, found.shape)
    same = _same_elements(expected.reshape(-1), found.reshape(-1), one)
    if same.all():
        return None
    flat = int(np.argmin(same))
    index = tuple(int(i) for i in np.unravel_index(flat, expected.shape))
    return Difference(f"{path}{list(index)}", expected[index], found[index])


def _same_elements(one: AnyArray, other: AnyArray, name: str) -> BoolArray:
    if name == "string":
        return np.array([a == b for a, b in zip(one.tolist(), other.tolist(), strict=True)], np.bool_)
    if name in {"c64", "c128"}:
        part = "<f4" if name == "c64" else "<f8"
        pairs = _same_floats(np.ascontiguousarray(one).view(part), np.ascontiguousarray(other).view(part))
        return pairs.reshape(-1, 2).all(axis=1)
    if name == "f64":
        return _same_floats(np.ascontiguousarray(one), np.ascontiguousarray(other))
    return np.asarray(one == other)


def _same_floats(one: AnyArray, other: AnyArray) -> BoolArray:
    bits = f"<u{one.dtype.itemsize}"
    return np.asarray((one.view(bits) == other.view(bits)) | (np.isnan(one) & np.isnan(other)))


def _same_float(one: float, other: float) -> bool:
    return struct.pack("<d", one) == struct.pack("<d", other) or (math.isnan(one) and math.isnan(other))


def _digest_difference(expected: Digest, found: AnyArray, path: str) -> Difference | None:
    name = dtype_name(found)
    if name != expected.dtype:
        return Difference(_join(path, "dtype"), expected.dtype, name)
    if found.shape != expected.shape:
        return Difference(_join(path, "shape"), expected.shape, found.shape)
    flat = found.reshape(-1)
    for index, value in expected.sample:
        wanted = array_of(name, [value], (1,))
        if not _same_elements(wanted, flat[index : index + 1], name).all():
            return Difference(f"{path}<flat>[{index}]", value, flat[index])
    sha256 = digest_of(found)
    return None if sha256 == expected.sha256 else Difference(_join(path, "sha256"), expected.sha256, sha256)


def array_of(dtype: str, flat: Sequence[Any], shape: Sequence[int]) -> AnyArray:
    """Build a column array from flat values: numbers, non-finite spellings, ``[re, im]`` pairs or strings."""
    if dtype == "string":
        return np.array(list(flat), STRING).reshape(shape)
    if dtype == "f64":
        return np.array([decode_float(value) for value in flat], "<f8").reshape(shape)
    if dtype in {"c64", "c128"}:
        parts = np.array([decode_float(part) for pair in flat for part in pair], "<f8")
        half = "<f4" if dtype == "c64" else "<f8"
        return parts.astype(half).view(NUMPY_DTYPES[dtype]).reshape(shape)
    return np.array(list(flat), NUMPY_DTYPES[dtype]).reshape(shape)


def _optional_tuple(value: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if value is None else tuple(value)


def _join(path: str, name: object) -> str:
    return f"{path}/{name}" if path else str(name)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
