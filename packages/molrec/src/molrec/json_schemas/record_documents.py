"""Schemas of the documents in a record on Zarr: attributes of groups and arrays, and lines of the metrics log."""

from __future__ import annotations

from molrec import typedjson
from molrec.json_schemas.forms import (
    BOX_PARTS,
    COUNT,
    DRAFT,
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
from molrec.model.names import META_TYPES, SERIES_RESERVED_BLOCKS, SERIES_RESERVED_COLUMNS
from molrec.model.timestamps import TIMESTAMP_PATTERN
from molrec.model.versions import MOLREC_VERSION
from molrec.storage.zarr import names as layout

__all__ = ["NO_CELL", "frame_documents", "meta_document", "record_documents", "sequence_schema", "series_definitions"]

_TEXT: Schema = {"type": "string"}
_WORD: Schema = {"type": "string", "minLength": 1}
_MOMENT: Schema = {"type": "string", "pattern": f"^{TIMESTAMP_PATTERN}$"}

#: A box that says there is no cell is periodic in no direction.
NO_CELL: Schema = {
    "if": {"properties": {"cell_defined": {"const": False}}, "required": ["cell_defined"]},
    "then": {"properties": {"boundary": {"items": {"const": False}}}},
}


def record_documents() -> dict[str, Schema]:
    """Return every schema of this module by its path, without suffix."""
    return {
        "core/meta": meta_document(),
        **frame_documents(),
        "trajectory/group": _trajectory_group(),
        "trajectory/sequence-schema": {
            "$schema": DRAFT,
            "title": "Sequence schema",
            "$defs": series_definitions(),
            **sequence_schema(),
        },
        "trajectory/block": _trajectory_block(),
        "trajectory/box": _trajectory_box(),
        "trajectory/per-step-key": document(
            "Attributes of a per-step array",
            "Attributes of an array below trajectory/meta.",
            {layout.META_DTYPE: described("The tag of its values; a json value is stored as its text.", TAG)},
            [layout.META_DTYPE],
        ),
        "observables/description": _observable(),
        "metrics/event": _event(),
        "metrics/catalog": _catalog(),
    }


def meta_document() -> Schema:
    """Return the schema of a record's meta document; of its keys only the version binds a reader."""
    person = part("The person who made the record.", {"name": _TEXT, "email": _TEXT})
    program = part("The program that made the record.", {"name": _TEXT, "version": _TEXT})
    version = {"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2}
    return document(
        "Meta document",
        "Who made a record, when and from what. Keys are recommended; only molrec_version binds a reader.",
        {
            "molrec_version": described(
                "Version of the format.", {"type": "integer", "minimum": 1, "maximum": MOLREC_VERSION}
            ),
            "creator": program,
            "author": person,
            "created_at": described("RFC 3339, the offset from UTC included.", _MOMENT),
            "source": described("Where the data came from.", {"type": ["string", "object"]}),
            "record_id": described("Identifier chosen by the producer.", _TEXT),
            "content_hash": described("Hash of the content, with its algorithm.", _TEXT),
            "modules": mapping(
                "Conventions the record follows, by name.",
                part("A convention.", {"version": described("Major and minor.", version)}),
            ),
        },
    )


# -- frame-shaped sections --------------------------------------------------------------------------------------------


def frame_documents() -> dict[str, Schema]:
    """Return the schemas of a frame-shaped section: its group, blocks, columns and box."""
    return {
        "frame/section": document(
            "Attributes of a frame-shaped section",
            "The meta document of frame or system: values in typed JSON, and their tags beside them. That each value "
            "has the form of its tag, a reader checks.",
            {META_TYPES: mapping("Tag of every key.", TAG)},
        ),
        "frame/block": document(
            "Attributes of a block",
            "Attributes of a block's group in a frame-shaped section.",
            {
                "count": described("Number of rows.", COUNT),
                "structural_shape": STRUCTURAL_SHAPE,
                "targets": TARGETS,
            },
            ["count"],
        ),
        "frame/column": document(
            "Attributes of a column",
            "Attributes of a column's array in a frame-shaped section.",
            {"precision": PRECISION},
        ),
        "frame/box": document(
            "Attributes of a box",
            "Attributes of the group box in a frame-shaped section; its vectors, origin and boundary are arrays.",
            {"cell_defined": BOX_PARTS["cell_defined"]},
        ),
    }


# -- trajectory -------------------------------------------------------------------------------------------------------


def series_definitions() -> dict[str, Schema]:
    """Return what `sequence_schema` refers to."""
    column = part(
        "What a column is.",
        {
            "dtype": DTYPE,
            "trailing": described("Shape of one row.", SHAPE),
            "nullable": described("Whether the column may have nulls.", {"type": "boolean"}),
            "precision": PRECISION,
        },
        ["dtype"],
        **{
            "if": {"required": ["precision"]},
            "then": {"properties": {"dtype": {"const": "f64"}}},
        },
    )
    return column_definitions(column, {"trailing": {"maxItems": 0}})


def sequence_schema() -> Schema:
    """Return the schema of a ``sequence_schema``; its document has `series_definitions`."""
    block = part(
        "What a block is.",
        {
            "columns": columns(SERIES_RESERVED_COLUMNS),
            "structural_shape": STRUCTURAL_SHAPE,
            "targets": TARGETS,
            "aligned_with": described("Block whose rows are this one's rows, at every frame.", _WORD),
        },
        **{"not": {"required": ["structural_shape", "aligned_with"]}},
    )
    fills = [
        {"if": {"properties": {"dtype": {"const": tag}}}, "then": {"properties": {"fill": typed_form(tag)}}}
        for tag in typedjson.TAGS
        if tag != "json"
    ]
    key = part(
        "What a per-step value is.",
        {"dtype": described("Its tag.", TAG), "fill": {"description": "Stands in where a frame omits the key."}},
        ["dtype"],
        allOf=fills,
    )
    return part(
        "Everything a frame of a trajectory may hold.",
        {
            "blocks": mapping("Blocks by name.", block, names(SERIES_RESERVED_BLOCKS)),
            "meta": mapping("Per-step values by key.", key, names()),
        },
    )


def _trajectory_group() -> Schema:
    step = part("step[i] = start + i * stride, exact.", {"start": STEP, "stride": _at_least_one()}, ["start"])
    number: Schema = {"type": "number"}
    time = part("time[i] = start + i * stride, each operation rounded.", {"start": number, "stride": number}, ["start"])
    needs_marker = {key: [layout.NSTEP] for key in ("step_progression", "time_progression")}
    return document(
        "Attributes of a trajectory",
        "Attributes of the group trajectory.",
        {
            layout.SEQUENCE_SCHEMA: sequence_schema(),
            layout.NSTEP: described("Number of committed frames.", COUNT),
            "step_progression": step,
            "time_progression": time,
        },
        [layout.SEQUENCE_SCHEMA],
        dependentRequired=needs_marker,
        **{"$defs": series_definitions()},
    )


def _at_least_one() -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}


def _trajectory_block() -> Schema:
    pair = (layout.UNIFORM_ROWS, layout.DENSE_UPDATES)
    return document(
        "Attributes of a trajectory block",
        "Attributes of a block's group below trajectory; the two markers stand together, while the block is regular.",
        {
            layout.STRUCTURAL_SHAPE: STRUCTURAL_SHAPE,
            layout.UNIFORM_ROWS: described("Rows of every update.", {"type": "integer", "minimum": 1}),
            layout.DENSE_UPDATES: described("Update j stands at frame j.", {"const": True}),
        },
        dependentRequired={pair[0]: [pair[1]], pair[1]: [pair[0]]},
    )


def _trajectory_box() -> Schema:
    return document(
        "Attributes of the cell of a trajectory",
        "Attributes of the group trajectory/box: a cell that never changes, or none where the cell is held in arrays.",
        BOX_PARTS,
        **NO_CELL,
    )


# -- observables and metrics ------------------------------------------------------------------------------------------


def _observable() -> Schema:
    free: Schema = {"description": "JSON of the producer's."}
    return document(
        "Description of an observable",
        "Attributes of a group below observables/meta.",
        {
            "kind": described("What the values are, in one word: scalar, vector, or the producer's own.", _WORD),
            "description": described("What the values are, in words.", _TEXT),
            "time_dependent": described(
                "Whether the leading axis follows the frames of the trajectory.", {"type": "boolean"}
            ),
            "unit": described("Unit of the values.", {"type": ["string", "null"]}),
            "axes": described("What each axis is called.", or_null({"type": "array", "items": _TEXT})),
            "sampling": free,
            "domain": free,
            "target": free,
        },
        ["kind", "description", "time_dependent"],
    )


def _event() -> Schema:
    return document(
        "Event of a metrics log",
        "One line of metrics/metrics.jsonl.",
        {
            "k": described("Key of the series.", _WORD),
            "v": described("The number.", NUMBER),
            "s": described("Its step.", or_null(STEP)),
            "w": described("When it was logged; writers state RFC 3339 with the offset from UTC.", or_null(_WORD)),
            "t": described("What the numbers are, in one word; scalar where absent.", or_null(_WORD)),
            "tags": described("The producer's own.", {"type": ["array", "object", "null"]}),
        },
        ["k", "v"],
    )


def _catalog() -> Schema:
    wal = part(
        "How much of the log the arrays hold.",
        {"lines": described("Complete lines.", COUNT), "bytes": described("Their size.", COUNT)},
        ["lines", "bytes"],
    )
    entry = part(
        "One series.",
        {
            "type": described("What the numbers are, in one word.", _TEXT),
            "count": described("Number of entries.", COUNT),
            "latest_step": described("Step of the entry of the greatest step.", or_null(STEP)),
            "latest_timestamp": described("When that was logged.", {"type": ["string", "null"]}),
        },
        ["count"],
    )
    return document(
        "Catalog of metrics",
        "Attributes of the group metrics that put its arrays in force; both are there, or neither.",
        {"wal": wal, "series": mapping("Series by key.", entry, {"minLength": 1})},
        dependentRequired={"wal": ["series"], "series": ["wal"]},
    )
