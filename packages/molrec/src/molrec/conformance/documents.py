"""Stored JSON documents to content, for adapters whose library hands documents out as they lie there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.conformance.content import (
    NUMPY_DTYPES,
    STRING,
    AnyArray,
    BlockDeclaration,
    BoolArray,
    ColumnDeclaration,
    MetaDeclaration,
    MetaValue,
    Schema,
)

__all__ = [
    "array_of",
    "decode_float",
    "decode_meta",
    "mask_or_none",
    "meta_value",
    "plain_json",
    "schema_from_document",
]

_INTEGER_TAGS = frozenset({"i32", "i64", "u32", "u64"})
_NON_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})


def mask_or_none(mask: npt.ArrayLike | None) -> BoolArray | None:
    """Return ``mask`` as a bool array, or None where it is None or states no null: two spellings of one value.

    Raises:
        TypeError: It is not bool.
    """
    if mask is None:
        return None
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise TypeError(f"a mask is bool, found {array.dtype}")
    return None if array.all() else array


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
            structural_shape=None if block.get("structural_shape") is None else tuple(block["structural_shape"]),
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
    if base in _INTEGER_TAGS:
        return int(value)
    if base == "f64":
        return decode_float(value)
    return value


def decode_float(value: float | str) -> float:
    """Decode a JSON number or one of the three non-finite spellings.

    Raises:
        ValueError: Another string.
    """
    if isinstance(value, str) and value not in _NON_FINITE:
        raise ValueError(f"{value!r} is no number")
    return float(value)


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
