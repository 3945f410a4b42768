"""Names, column contents, masks, precisions and meta values, leaning towards the edges of each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

type AnyArray = npt.NDArray[Any]

STRING = np.dtypes.StringDType()

NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "bool": np.dtype(np.bool_),
    "string": STRING,
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
DTYPES = tuple(NUMPY_DTYPES)

#: Bit patterns of binary64: zeros, subnormals, limits, ties, and NaNs with payloads, signalling and negative ones too.
F64_BITS = np.array(
    [
        0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000FFFFFFFFFFFFF,
        0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000,
        0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8DEADBEEF0001, 0x7FF0000000000001, 0xFFF4000000000007,
        0x3FE0000000000000, 0xBFE0000000000000, 0x3FF8000000000000, 0x4004000000000000, 0x400C000000000000,
        0x3F40624DD2F1A9FC, 0x3F50000000000000, 0x4330000000000000, 0x4340000000000001, 0x3FB999999999999A,
    ],
    dtype=np.uint64,
)  # fmt: skip
F64_EDGES: AnyArray = F64_BITS.view(np.float64)
_F32_BITS = np.array(
    [0, 0x80000000, 1, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC0BEEF, 0x7F800001, 0x3F000000, 0x3DCCCCCD],
    dtype=np.uint32,
)

TEXTS = (
    "", "a", "b", "O", "NaN", "null", "é", "e\u0301", "🧪🧪", "原子", "line\nbreak", "tab\t", '"\\', " edges ",
    "a\0", "\0", "a\0b", "x" * 300, "\u2028\x7f\uffff",
)  # fmt: skip

TAGS = (
    "bool", "i32", "i64", "u32", "u64", "f64", "string", "json",
    "bool3", "i32x3", "i64x3", "u32x3", "u64x3", "f64x3", "f64x6", "f64x9",
)  # fmt: skip

_INTEGERS: dict[str, tuple[int, int]] = {
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "u32": (0, 2**32 - 1),
    "u64": (0, 2**64 - 1),
}

# -- names ----------------------------------------------------------------------------------------------------------

#: Prefixes of each other, names the layout uses elsewhere, look-alikes, escapes, spaces, endings of temporary files.
COLLIDING_NAMES = (
    "a", "ab", "abc", "a b", " a", "a ", "A", "a.b", "a.", ".a", "a.tmp", ".a.tmp", "c", "c.0", "0", "1", "-", "_",
    "_a", "a_", "meta_", "step_", "steps", "time_", "boxes", "zarr", "zarr.json_", ".zarr.json", ".zgroup", "nstep",
    "a%2Fb", "%", "#?*", "~1", "'\"", "\n", "é", "e\u0301", "Å", "原子", "🧪", "x" * 255, "é" * 127,
)  # fmt: skip
#: Names of the vocabulary that may stand alone, beside those that may not.
CANONICAL_NAMES = ("x", "y", "charge", "id", "formal_charge", "free", "element", "type")


def is_name(text: str) -> bool:
    """Tell whether a text may name a block, a column or a per-step key."""
    return (
        0 < len(text.encode("utf-8")) <= 255
        and not text.startswith("__")
        and text.strip(".") != ""
        and text != "zarr.json"
        and not any(character in text for character in "/\\\0")
    )


def names(*more: str, reserved: frozenset[str] = frozenset()) -> st.SearchStrategy[str]:
    """Return names that collide: from the pool, from `more`, or any short text."""
    pool = [name for name in (*more, *COLLIDING_NAMES) if name not in reserved]
    free = texts(max_size=6).filter(lambda text: is_name(text) and text not in reserved)
    return st.one_of(st.sampled_from(pool), free)


def texts(max_size: int = 8) -> st.SearchStrategy[str]:
    """Return any valid Unicode, NUL included."""
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=max_size)


# -- columns --------------------------------------------------------------------------------------------------------


def content(dtype: str, shape: tuple[int, ...], variant: int) -> AnyArray:
    """Return an array of a dtype, the same for the same arguments; variant 0 is all zero."""
    size = math.prod(shape)
    if variant == 0:
        return np.zeros(shape, dtype=NUMPY_DTYPES[dtype])
    random = np.random.default_rng([variant, size, DTYPES.index(dtype)])
    if dtype == "string":
        return np.array([TEXTS[i] for i in random.integers(0, len(TEXTS), size)], dtype=STRING).reshape(shape)
    if dtype == "bool":
        return random.integers(0, 2, size).astype(np.bool_).reshape(shape)
    if dtype == "f64":
        return _floats(random, size).reshape(shape)
    if dtype == "c128":
        return _floats(random, 2 * size).view(np.complex128).reshape(shape)
    if dtype == "c64":
        return random.choice(_F32_BITS, 2 * size).view(np.complex64).reshape(shape)
    limits = np.iinfo(NUMPY_DTYPES[dtype])
    values = random.integers(limits.min, limits.max, size, dtype=NUMPY_DTYPES[dtype], endpoint=True)
    edges = np.array([limits.min, limits.max, 0, 1], dtype=NUMPY_DTYPES[dtype])
    return np.where(random.random(size) < 0.5, random.choice(edges, size), values).reshape(shape)


def _floats(random: np.random.Generator, size: int) -> AnyArray:
    bits = random.choice(F64_BITS, size)
    near = (random.normal(size=size) * 10.0).view(np.uint64)
    return np.where(random.random(size) < 0.5, bits, near).view(np.float64)


def contents(dtype: str, shape: tuple[int, ...]) -> st.SearchStrategy[AnyArray]:
    """Return arrays of a dtype and shape."""
    return st.integers(0, 12).map(lambda variant: content(dtype, shape, variant))


def trailings() -> st.SearchStrategy[tuple[int, ...]]:
    """Return shapes of a row, most often that of one value; an extent may be 0."""
    return st.sampled_from([(), (), (), (3,), (1,), (0,), (2, 2), (3, 3), (2, 0)])


def masks(rows: int) -> st.SearchStrategy[npt.NDArray[np.bool_] | None]:
    """Return validity masks, None and all-true ones among them."""
    some = st.integers(0, 255).map(lambda bits: np.array([bits >> (row % 8) & 1 == 1 for row in range(rows)], np.bool_))
    return st.one_of(st.none(), st.just(np.ones(rows, np.bool_)), some)


def precisions() -> st.SearchStrategy[float]:
    """Return admissible precisions, the bounds included."""
    usual = st.sampled_from([1e-3, 1e-2, 0.5, 1.0, 3.0, 2.0**-10, 2.0**-1000, 2.0**1000])
    return st.one_of(usual, st.floats(2.0**-1000, 2.0**1000))


# -- meta -----------------------------------------------------------------------------------------------------------


def json_documents() -> st.SearchStrategy[Any]:
    """Return JSON documents of finite numbers; integers may be beyond 2**64."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        texts(),
    )
    return st.recursive(
        leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts(4), inner, max_size=3))
    )


def _elements(element: str) -> st.SearchStrategy[Any]:
    if element == "bool":
        return st.booleans()
    if element == "f64":
        return st.one_of(st.sampled_from(F64_EDGES.tolist()), st.floats())
    if element == "string":
        return st.one_of(st.sampled_from(TEXTS), texts())
    if element == "json":
        return json_documents()
    low, high = _INTEGERS[element]
    edges = [edge for edge in (low, high, 0, 2**53, 2**53 + 1, -(2**53) - 1) if low <= edge <= high]
    return st.one_of(st.sampled_from(edges), st.integers(low, high))


def meta_values(tag: str) -> st.SearchStrategy[Any]:
    """Return exact values of a tag: bool, int, float, str, a tuple of these, or a document."""
    if tag == "bool3":
        return st.tuples(*[st.booleans()] * 3)
    element, _, width = tag.partition("x")
    return st.tuples(*[_elements(element)] * int(width)) if width else _elements(element)
