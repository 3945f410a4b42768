"""Parts that the schemas of several documents share, made of the tables the code itself goes by.

A schema says what JSON Schema can: kinds, words, bounds. Rules that relate a document to arrays, or keys to keys it
cannot name, stand in the specification alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import DTYPES, numpy_dtype
from molrec.model.names import LONGEST_NAME, STORE_NAMES
from molrec.model.references import TARGET_PATTERN
from molrec.precision import PRECISION_MAX, PRECISION_MIN
from molrec.vocabulary import CANONICAL_COLUMNS

__all__ = [
    "BOOLS",
    "BOX_PARTS",
    "COUNT",
    "DRAFT",
    "DTYPE",
    "NUMBER",
    "PRECISION",
    "SHAPE",
    "STEP",
    "STRUCTURAL_SHAPE",
    "TAG",
    "TARGETS",
    "Schema",
    "column_definitions",
    "columns",
    "described",
    "document",
    "mapping",
    "names",
    "or_null",
    "part",
    "typed_form",
]

type Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"


# -- building ---------------------------------------------------------------------------------------------------------


def part(description: str, properties: Mapping[str, Schema], required: Iterable[str] = (), **more: Any) -> Schema:
    """Return the schema of an object; keys it does not name are unknown content."""
    return {
        "description": description,
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        **more,
    }


def document(
    title: str, description: str, properties: Mapping[str, Schema], required: Iterable[str] = (), **more: Any
) -> Schema:
    """Return the schema of a whole document."""
    return {"$schema": DRAFT, "title": title, **part(description, properties, required, **more)}


def mapping(description: str, values: Schema, keys: Schema | None = None, **more: Any) -> Schema:
    """Return the schema of an object whose keys are names and whose values are alike."""
    named = {} if keys is None else {"propertyNames": keys}
    return {"description": description, "type": "object", "additionalProperties": values, **named, **more}


def or_null(schema: Schema) -> Schema:
    """Return a schema that also takes null."""
    return {"anyOf": [schema, {"type": "null"}]}


def described(description: str, schema: Schema) -> Schema:
    """Return a schema under a description."""
    return {"description": description, **schema}


# -- typed JSON -------------------------------------------------------------------------------------------------------

#: Number of digits from which an integer may be beyond 2**53.
_WIDE_DIGITS = len(str(2**53))


def typed_form(tag: str) -> Schema:
    """Return the forms a value has under a meta tag.

    A string of digits is held to their number alone: that it is beyond 2^53 and within the tag's range, only a reader
    can tell.
    """
    element, width = typedjson.element_and_width(tag)
    form = _element_form(element)
    return form if width is None else {"type": "array", "items": form, "minItems": width, "maxItems": width}


def _element_form(element: str) -> Schema:
    match element:
        case "json":
            return {}
        case "bool":
            return {"type": "boolean"}
        case "string":
            return {"type": "string"}
        case "f64":
            words = [typedjson.encode("f64", value) for value in (math.nan, math.inf, -math.inf)]
            return {"anyOf": [{"type": "number"}, {"enum": words}]}
    limits = np.iinfo(numpy_dtype(element))
    low, high = int(limits.min), int(limits.max)
    number = {"type": "integer", "minimum": low, "maximum": high}
    longest = len(str(high))
    if longest < _WIDE_DIGITS:
        return number
    sign = "-?" if low < 0 else ""
    digits = f"^{sign}[1-9][0-9]{{{_WIDE_DIGITS - 1},{longest - 1}}}$"
    return {"anyOf": [number, {"type": "string", "pattern": digits}]}


NUMBER: Schema = typed_form("f64")
STEP: Schema = typed_form("i64")
TAG: Schema = {"enum": list(typedjson.TAGS)}


# -- names ------------------------------------------------------------------------------------------------------------


def names(reserved: Iterable[str] = ()) -> Schema:
    """Return the schema of a name of a node that is none of the reserved ones."""
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_NAME,
        # "not followed by anything", since what $ means before a final newline differs between engines
        "pattern": r"^(?!__)(?!\.*(?![\s\S]))[^/\\\u0000]+$",
        "not": {"enum": sorted({*STORE_NAMES, *reserved})},
    }


def columns(reserved: Iterable[str]) -> Schema:
    """Return the schema of the columns of a block; a document that has it also has `column_definitions`."""
    canonical = {name: {"$ref": f"#/$defs/canonical_{dtype}"} for name, dtype in CANONICAL_COLUMNS.items()}
    return {
        **mapping("Columns by name.", {"$ref": "#/$defs/column"}, names(reserved)),
        "allOf": [{"description": "Canonical names have their dtype, and one value a row.", "properties": canonical}],
    }


def column_definitions(column: Schema, scalar: Schema) -> dict[str, Schema]:
    """Return what `columns` refers to.

    Args:
        column: What any column is.
        scalar: What says that a column has one value a row.
    """
    dtypes = dict.fromkeys(CANONICAL_COLUMNS.values())
    return {
        "column": column,
        **{f"canonical_{dtype}": {"properties": {"dtype": {"const": dtype}, **scalar}} for dtype in dtypes},
    }


# -- what blocks and columns state ------------------------------------------------------------------------------------

COUNT: Schema = {"type": "integer", "minimum": 0}
DTYPE: Schema = described("Type of the elements.", {"enum": list(DTYPES)})
SHAPE: Schema = {"type": "array", "items": COUNT}
STRUCTURAL_SHAPE: Schema = described(
    "The grid the rows lie on, in C order; its product is the row count.",
    {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
)
PRECISION: Schema = described(
    "Absolute tolerance of an f64 column, in its unit; values are multiples of the largest power of two not above it.",
    {"type": "number", "minimum": PRECISION_MIN, "maximum": PRECISION_MAX},
)
TARGETS: Schema = mapping(
    "Column to the block whose rows it refers to: '<block>' of the same frame, or '/<section>/<block>'.",
    {"type": "string", "pattern": f"^(?!/trajectory/)({TARGET_PATTERN})$"},
)

BOOLS: Schema = {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "maxItems": 3}
_ROW: Schema = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
#: Parts of a box as JSON has them.
BOX_PARTS: dict[str, Schema] = {
    "vectors": described(
        "Three rows of a matrix whose columns are the lattice vectors.",
        {"type": "array", "items": _ROW, "minItems": 3, "maxItems": 3},
    ),
    "origin": described("Zero where absent.", _ROW),
    "boundary": described("Whether each direction is periodic; true where absent, if there is a cell.", BOOLS),
    "cell_defined": described("False where there is no cell; true where absent.", {"type": "boolean"}),
}
