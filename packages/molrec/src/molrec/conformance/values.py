"""Values that cases are made of: the limits of every dtype and every meta tag."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from molrec.conformance.content import NUMPY_DTYPES, STRING, AnyArray

__all__ = ["DTYPES", "META", "TEXTS", "edges"]

DTYPES: tuple[str, ...] = (*NUMPY_DTYPES, "string")

_FLOATS = (0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, -1e-300, 0.1, 2.0**52 + 0.5)
#: Strings that are lost where a string is trimmed, cut at NUL, or not UTF-8.
TEXTS: tuple[str, ...] = ("", "a", " two  words ", "é", "🧪", "line\nbreak", "tab\t", '"quoted\\"', "NaN", "nul\0")

#: Values of every meta tag: limits, non-finite numbers, integers past 2^53.
META: dict[str, Any] = {
    "bool": False,
    "i32": -(2**31),
    "i64": -(2**63),
    "u32": 2**32 - 1,
    "u64": 2**64 - 1,
    "f64": -0.0,
    "string": " é🧪\n",
    "json": {"a": [1, 2.5, None, True, "x"], "b": {}, "c": []},
    "bool3": (True, False, True),
    "i32x3": (1, -2, 2**31 - 1),
    "i64x3": (0, -(2**63), 2**63 - 1),
    "u32x3": (0, 1, 2**32 - 1),
    "u64x3": (0, 2**53 + 1, 2**64 - 1),
    "f64x3": (1.0, -0.0, 1e-300),
    "f64x6": (1.0, 2.0, 3.0, 4.5, 5.0, 6.0),
    "f64x9": tuple(i / 3 for i in range(9)),
}


def edges(dtype: str, rows: int, trailing: tuple[int, ...] = (), shift: int = 0) -> AnyArray:
    """Return ``(rows, *trailing)`` values of a dtype, its limits among them; `shift` begins elsewhere in the list."""
    size = rows * math.prod(trailing)
    shape = (rows, *trailing)
    chosen = [(index + shift) % 10 for index in range(size)]
    if dtype == "string":
        return np.array([TEXTS[index] for index in chosen], STRING).reshape(shape)
    kind = NUMPY_DTYPES[dtype]
    if dtype == "bool":
        return np.array([index % 3 == 0 for index in chosen], np.bool_).reshape(shape)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        few = (limits.min, limits.max, 0, 1, 2, 3, 5, 7, 100, limits.max - 1)
        return np.array([few[index] for index in chosen], kind).reshape(shape)
    floats = np.array([_FLOATS[index] for index in chosen])
    if kind.kind == "f":
        return floats.reshape(shape)
    with np.errstate(over="ignore", under="ignore"):
        part = np.dtype("<f4" if dtype == "c64" else "<f8")
        pairs = np.stack([floats.astype(part), floats[::-1].astype(part)], axis=-1)
    return np.ascontiguousarray(pairs).view(kind).reshape(shape)
