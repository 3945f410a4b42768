"""Schemas of the documents in a collection on LMDB, the headers of its frame bytes included."""

from __future__ import annotations

from molrec.json_schemas.forms import (
    BOX_PARTS,
    COUNT,
    DTYPE,
    NUMBER,
    PRECISION,
    SHAPE,
    STEP,
    STRUCTURAL_SHAPE,
    TAG,
    TARGETS,
    Schema,
    column_definitions,
    columns,
    described,
    document,
    mapping,
    names,
    or_null,
    part,
    typed_form,
)
from molrec.json_schemas.record_documents import NO_CELL, meta_document, sequence_schema, series_definitions
from molrec.model.collection import INDEX_COLUMNS, QUANTITIES, UNITS
from molrec.model.names import FRAME_RESERVED_BLOCKS, RESERVED_COLUMNS
from molrec.storage.lmdb import names as layout
from molrec.storage.lmdb.layout import ALIGNMENT

__all__ = ["collection_documents"]

_OFFSET: Schema = {"type": "integer", "minimum": 0, "multipleOf": ALIGNMENT}


def collection_documents() -> dict[str, Schema]:
    """Return every schema of this module by its path, without suffix."""
    return {
        "collection/file": _file(),
        "collection/meta": _meta(),
        "collection/record": _record(),
        "collection/index": _index(),
        "collection/system": _system(),
        "collection/frame": _frame(),
        "collection/forcefield": _forcefield(),
    }


def _meta() -> Schema:
    schema = meta_document()
    schema["title"] = "Meta document of a collection"
    schema["description"] = "Units of every number of a collection, and what its producer likes to say."
    unit: Schema = {"type": "string", "minLength": 1}
    units = mapping(
        "Quantity to unit, as pint spells it; mass and charge are amu and e where they are not stated.",
        unit,
        {"minLength": 1},
        properties={quantity: described(f"Unit of {quantity}.", unit) for quantity in QUANTITIES},
        minProperties=1,
    )
    schema["properties"] = {UNITS: units, **schema["properties"]}
    schema["required"] = [UNITS]
    return schema


def _record() -> Schema:
    """Return the schema of a record's meta; units are stated once, by the collection."""
    schema = meta_document()
    schema["title"] = "Meta document of a record of a collection"
    schema["not"] = {"required": [UNITS]}
    return schema


def _file() -> Schema:
    inner = _meta()
    del inner["$schema"]
    return document(
        "What a collection's file is",
        "The value of the key meta, written last.",
        {
            layout.LAYOUT: {"const": layout.LAYOUT_NAME},
            layout.VERSION: {"const": layout.LAYOUT_VERSION},
            layout.COLLECTION: inner,
            layout.SEQUENCE_SCHEMA: sequence_schema(),
            layout.N_RECORDS: described("Number of records.", COUNT),
            layout.N_FRAMES: described("Number of frames of all records.", COUNT),
        },
        [layout.LAYOUT, layout.VERSION, layout.COLLECTION, layout.SEQUENCE_SCHEMA, layout.N_RECORDS, layout.N_FRAMES],
        **{"$defs": series_definitions()},
    )


# -- headers of frame bytes -------------------------------------------------------------------------------------------


def _column() -> Schema:
    return part(
        "One column: a buffer of the payload, or strings.",
        {
            "dtype": DTYPE,
            "shape": described("Its first extent is the row count.", {**SHAPE, "minItems": 1}),
            "offset": described("Where the buffer begins in the payload.", _OFFSET),
            "values": described("The strings, in C order.", {"type": "array", "items": {"type": "string"}}),
            "validity": described("Where the mask begins in the payload.", or_null(_OFFSET)),
            "precision": or_null(PRECISION),
            "attributes": described("Attributes a producer added.", {"type": ["object", "null"]}),
        },
        ["dtype", "shape"],
        **{
            "if": {"properties": {"dtype": {"const": "string"}}},
            "then": {"required": ["values"]},
            "else": {"required": ["offset"]},
        },
        allOf=[
            {
                "if": {"properties": {"precision": {"type": "number"}}, "required": ["precision"]},
                "then": {"properties": {"dtype": {"const": "f64"}}},
            }
        ],
    )


def _block() -> Schema:
    return part(
        "One block.",
        {
            "count": described("Number of rows.", COUNT),
            "structural_shape": or_null(STRUCTURAL_SHAPE),
            "targets": or_null(TARGETS),
            "attributes": described("Attributes a producer added.", {"type": ["object", "null"]}),
            "columns": columns(RESERVED_COLUMNS),
        },
        ["count"],
    )


def _header(title: str, description: str, properties: dict[str, Schema], required: list[str]) -> Schema:
    definitions = column_definitions(_column(), {"shape": {"maxItems": 1}})
    return document(title, description, properties, required, **{"$defs": definitions})


def _blocks() -> Schema:
    return mapping("Blocks by name.", _block(), names(FRAME_RESERVED_BLOCKS))


def _box() -> Schema:
    row = typed_form("f64x3")
    parts = {**BOX_PARTS, "origin": row}
    return part(
        "The cell; defaults are left out.",
        {name: schema if name == "cell_defined" else or_null(schema) for name, schema in parts.items()},
        ["vectors"],
        **NO_CELL,
    )


def _system() -> Schema:
    return _header(
        "Header of a system",
        "Header of a frame-bytes value that stands alone: a record's system. That each meta value has the form of its "
        "tag, and that buffers lie within the payload, a reader checks.",
        {
            "blocks": _blocks(),
            "meta": described("The meta document, in typed JSON.", {"type": "object"}),
            "meta_types": mapping("Tag of every key of meta.", TAG),
            "box": or_null(_box()),
        },
        ["blocks"],
    )


def _frame() -> Schema:
    return _header(
        "Header of a frame",
        "Header of a frame of a trajectory: the blocks it updates, and every declared per-step value, by the tags of "
        "the sequence_schema.",
        {
            "blocks": _blocks(),
            "meta": described("Per-step values in typed JSON.", {"type": "object"}),
            "step": described("Its step.", STEP),
            "time": described("Its time, where the run has times.", or_null(NUMBER)),
            "box": or_null(_box()),
        },
        ["blocks", "meta", "step"],
    )


def _forcefield() -> Schema:
    return _header(
        "Header of a force field",
        "Header of the value of the key ff: the document of the force field as meta (its schema is core/forcefield), "
        "its tables as blocks.",
        {"blocks": _blocks(), "meta": {"type": "object"}},
        ["blocks", "meta"],
    )


def _index() -> Schema:
    counts = {
        name: {"properties": {"dtype": {"const": dtype}, "shape": {"maxItems": 1}, "validity": {"type": "null"}}}
        for name, dtype in INDEX_COLUMNS.items()
    }
    table = _block()
    stated = table["properties"]["columns"]
    stated["allOf"].append({"properties": counts, "required": list(INDEX_COLUMNS)})
    table["required"] = ["count", "columns"]
    return _header(
        "Header of the index",
        "Header of the value of the key index: one row per record.",
        {"blocks": part("The block of the index.", {layout.INDEX_BLOCK: table}, [layout.INDEX_BLOCK])},
        ["blocks"],
    )
