"""Content and its exact comparison, as `molrec.conformance` has them, under one name for the exchange tests.

Three sides meet here: the fixture documents, ``molrec`` and foreign readers. Each is brought into content by its own
adapter, and `first_difference` or `record_difference` compares any two of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from molrec.conformance.comparison import Difference, digest_of, first_difference, meta_order_difference
from molrec.conformance.content import (
    NUMPY_DTYPES,
    STRING,
    AnyArray,
    Block,
    BlockDeclaration,
    BoolArray,
    Box,
    Column,
    ColumnDeclaration,
    Digest,
    Frame,
    MetaDeclaration,
    MetaValue,
    Presented,
    Record,
    Run,
    Schema,
    Step,
    Trajectory,
    dtype_name,
)
from molrec.conformance.documents import (
    array_of,
    decode_float,
    decode_meta,
    mask_or_none,
    meta_value,
    plain_json,
    schema_from_document,
)

__all__ = [
    "NUMPY_DTYPES",
    "STRING",
    "AnyArray",
    "Block",
    "BlockDeclaration",
    "BoolArray",
    "Box",
    "Column",
    "ColumnDeclaration",
    "Difference",
    "Digest",
    "Frame",
    "MetaDeclaration",
    "MetaValue",
    "Presented",
    "Record",
    "Run",
    "Schema",
    "Step",
    "Trajectory",
    "array_of",
    "decode_float",
    "decode_meta",
    "digest_of",
    "dtype_name",
    "first_difference",
    "mask_or_none",
    "meta_order_difference",
    "meta_value",
    "plain_json",
    "present",
    "record_difference",
    "schema_from_document",
]


def present(updates: Mapping[str, int | None]) -> dict[str, int]:
    """Return ``updates`` without the blocks that are absent."""
    return {name: update for name, update in updates.items() if update is not None}


def record_difference(expected: Record, found: Record) -> Difference | None:
    """Compare two records, and the order of meta keys, which this library keeps."""
    difference = first_difference(expected, found)
    for name, one, other in (("frame", expected.frame, found.frame), ("system", expected.system, found.system)):
        if difference is None and one is not None and other is not None:
            difference = meta_order_difference(one, other, name)
    return difference
