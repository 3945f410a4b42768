"""Exact comparison of content, with the first difference as a path and both values.

Exact means to the bit: -0.0 differs from 0.0, dtypes and Python types must agree, a NaN equals any NaN whatever its
payload. What a reader cannot tell (see `UNTOLD`) is not held against it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from molrec.conformance.content import (
    NUMPY_DTYPES,
    AnyArray,
    Block,
    BoolArray,
    Collection,
    Column,
    Digest,
    Frame,
    MetaValue,
    Presented,
    Record,
    Step,
    Trajectory,
    dtype_name,
)
from molrec.conformance.documents import array_of

__all__ = ["ABSENT", "UNTOLD", "Difference", "digest_of", "first_difference", "meta_order_difference"]

#: What a difference shows for something that is not there.
ABSENT = "(absent)"
#: Fields that are None, or an empty list, where a reader cannot tell them; they are then not compared.
UNTOLD: frozenset[tuple[type, str]] = frozenset(
    {(Record, "sections"), (Trajectory, "schema"), (Step, "updates"), (Collection, "schema"), (Collection, "index")}
)
#: Fields left out of a path: ``frames[3]/atoms/x[17]`` says as much as the whole.
_SILENT: frozenset[tuple[type, str]] = frozenset(
    {
        (Step, "frame"),
        (Presented, "frame"),
        (Frame, "blocks"),
        (Block, "columns"),
        (Column, "values"),
        (MetaValue, "value"),
    }
)
_LONGEST = 200


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """Where two contents first part, and both values there.

    Attributes:
        path: Such as ``trajectory/frames[3]/atoms/x[17]``.
        expected: What the specification asks for there.
        found: What is there.
    """

    path: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.path or 'content'}: expected {_short(self.expected)}, found {_short(self.found)}"


def first_difference(expected: Any, found: Any, path: str = "") -> Difference | None:
    """Compare two contents exactly.

    Args:
        expected: Content, container, array or scalar. A `Digest` matches the array it digests.
        found: What to hold against it.
        path: Prefix of the reported path.

    Returns:
        The first difference, or None where both are the same content. Mappings are compared as sets of keys.
    """
    if isinstance(found, np.ndarray) and isinstance(expected, (Digest, np.ndarray)):
        compare = _digest_difference if isinstance(expected, Digest) else _array_difference
        return compare(expected, found, path)  # type: ignore[arg-type]
    if type(expected) is not type(found):
        return Difference(path, expected, found)
    if dataclasses.is_dataclass(expected):
        return _first(
            first_difference(one, other, path if (type(expected), name) in _SILENT else _join(path, name))
            for name, one, other in _compared_fields(expected, found)
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
    """Compare the order of meta keys, which this library keeps and the format leaves free."""
    return first_difference(list(expected.meta), list(found.meta), _join(path, "meta<order>"))


def _compared_fields(expected: Any, found: Any) -> Iterable[tuple[str, Any, Any]]:
    for each in dataclasses.fields(expected):
        one, other = getattr(expected, each.name), getattr(found, each.name)
        if (type(expected), each.name) in UNTOLD and (_is_untold(one) or _is_untold(other)):
            continue
        yield each.name, one, other


def _is_untold(value: Any) -> bool:
    return value is None or (isinstance(value, list) and not value)


def _first(differences: Iterable[Difference | None]) -> Difference | None:
    return next((difference for difference in differences if difference is not None), None)


def _mapping_difference(expected: dict[Any, Any], found: dict[Any, Any], path: str) -> Difference | None:
    for key in [*expected, *found]:
        if key not in expected:
            return Difference(_join(path, key), ABSENT, found[key])
        if key not in found:
            return Difference(_join(path, key), expected[key], ABSENT)
        difference = first_difference(expected[key], found[key], _join(path, key))
        if difference is not None:
            return difference
    return None


def _array_difference(expected: AnyArray, found: AnyArray, path: str) -> Difference | None:
    one, other = dtype_name(expected), _any_dtype_name(found)
    if one != other:
        return Difference(_join(path, "dtype"), one, other)
    if expected.shape != found.shape:
        return Difference(_join(path, "shape"), expected.shape, found.shape)
    same = _same_elements(expected.reshape(-1), found.reshape(-1), one)
    if same.all():
        return None
    flat = int(np.argmin(same))
    index = tuple(int(i) for i in np.unravel_index(flat, expected.shape))
    place = ", ".join(map(str, index))
    return Difference(f"{path}[{place}]", expected.item(index), found.item(index))


def _any_dtype_name(array: AnyArray) -> str:
    try:
        return dtype_name(array)
    except TypeError:
        return str(array.dtype)


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


def digest_of(array: AnyArray) -> str:
    """Return the SHA-256 of an array: little-endian C order, strings joined by U+0000 as UTF-8."""
    name = dtype_name(array)
    if name == "string":
        raw = "\0".join(array.ravel().tolist()).encode()
    else:
        raw = np.ascontiguousarray(array, NUMPY_DTYPES[name]).tobytes()
    return hashlib.sha256(raw).hexdigest()


def _digest_difference(expected: Digest, found: AnyArray, path: str) -> Difference | None:
    name = _any_dtype_name(found)
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


def _join(path: str, name: object) -> str:
    return f"{path}/{name}" if path else str(name)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
