"""The JSON that says what a fixture holds, readable without any library (``fixtures/README.md``, conventions)."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from scripts.golden.content import (
    Array,
    Block,
    Box,
    Collection,
    CollectionRecord,
    Column,
    ForceField,
    Frame,
    Observable,
    Record,
    Run,
)
from scripts.golden.resolving import resolve, rounded_block

__all__ = ["FORMAT", "collection_document", "frame_form", "record_document", "text_of"]

FORMAT = "molrec-fixture-1"
_SAFE_INTEGER = 2**53


def text_of(document: Any) -> str:
    """Return a document as text: two levels indented, what lies deeper on one line; always the same text."""
    return f"{_indented(document, '')}\n"


def _indented(value: Any, indent: str) -> str:
    if not isinstance(value, (dict, list)) or not value:
        return _compact(value)
    line = _compact(value)
    if len(indent) + len(line) <= 120 or (isinstance(value, list) and not any(map(_is_container, value))):
        return line
    deeper = f"{indent} "
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"{deeper}{_indented(item, deeper)}" for item in value) + f"\n{indent}]"
    members = (f"{deeper}{_compact(key)}: {_indented(item, deeper)}" for key, item in value.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


def _is_container(value: Any) -> bool:
    return isinstance(value, (dict, list))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# -- values -----------------------------------------------------------------------------------------------------------


def number_form(value: float) -> float | str:
    """Return a binary64 number: shortest digits that come back to its bits, or the word for it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "-0.0" if value == 0 and math.copysign(1.0, value) < 0 else float(value)


def integer_form(value: int) -> int | str:
    """Return an integer: a number up to 2^53, its decimal digits beyond."""
    return int(value) if abs(int(value)) <= _SAFE_INTEGER else str(int(value))


def values_form(values: Array, dtype: str) -> list[Any]:
    """Return an array's elements, flat, in C order."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if dtype == "f64":
        return [number_form(item) for item in flat.tolist()]
    if dtype in ("c64", "c128"):
        return [[number_form(item.real), number_form(item.imag)] for item in flat.tolist()]
    if dtype in ("bool", "string"):
        return list(flat.tolist())
    return [integer_form(item) for item in flat.tolist()]


def meta_form(tag: str, value: Any) -> Any:
    """Return a meta value in the form of its tag."""
    if tag == "json":
        return value
    if isinstance(value, (tuple, list)):
        return [meta_form("bool" if tag == "bool3" else tag.partition("x")[0], item) for item in value]
    if tag == "f64":
        return number_form(value)
    return value if tag in ("bool", "string") else integer_form(value)


# -- parts ------------------------------------------------------------------------------------------------------------


def column_form(column: Column, *, masked: bool = True) -> dict[str, Any]:
    """Return a COLUMN; a mask of nothing but true is no mask."""
    mask = column.mask if masked and column.mask is not None and not all(column.mask) else None
    form: dict[str, Any] = {
        "dtype": column.dtype,
        "shape": list(column.values.shape),
        "values": values_form(column.values, column.dtype),
        "validity": mask,
        "precision": column.precision,
    }
    return form | ({"attributes": column.attributes} if column.attributes else {})


def block_form(block: Block) -> dict[str, Any]:
    """Return a BLOCK, its columns rounded to the precisions they state."""
    stored = rounded_block(block)
    form: dict[str, Any] = {
        "rows": stored.rows,
        "structural_shape": stored.structural_shape,
        "columns": {name: column_form(one) for name, one in stored.columns.items()},
        "targets": stored.targets,
    }
    return form | ({"attributes": stored.attributes} if stored.attributes else {})


def box_form(box: Box | None) -> dict[str, Any] | None:
    """Return a BOX."""
    if box is None:
        return None
    return {
        "vectors": [[number_form(item) for item in row] for row in box.vectors],
        "origin": [number_form(item) for item in box.origin],
        "boundary": list(box.boundary),
        "cell_defined": box.cell_defined,
    }


def frame_form(frame: Frame) -> dict[str, Any]:
    """Return a FRAME."""
    return {
        "blocks": {name: block_form(block) for name, block in frame.blocks.items()},
        "box": box_form(frame.box),
        "meta": {key: [tag, meta_form(tag, value)] for key, (tag, value) in frame.meta.items()},
    }


def schema_form(declaration: dict[str, Any]) -> dict[str, Any]:
    """Return a ``sequence_schema`` with every default spelled out."""
    blocks = {}
    for name, entry in declaration["blocks"].items():
        columns = {
            column: {
                "dtype": stated["dtype"],
                "trailing": stated["trailing"],
                "nullable": stated.get("nullable", False),
                "precision": stated.get("precision"),
            }
            for column, stated in entry["columns"].items()
        }
        blocks[name] = {
            "columns": columns,
            "targets": entry.get("targets", {}),
            "aligned_with": entry.get("aligned_with"),
            "structural_shape": entry.get("structural_shape"),
        }
    return {"blocks": blocks, "meta": declaration["meta"]}


def frames_form(run: Run) -> list[dict[str, Any]]:
    """Return every frame of a run, resolved."""
    return [
        {
            "step": integer_form(one.step),
            "time": None if one.time is None else number_form(one.time),
            **frame_form(one.frame),
            "block_update_frame": one.updates,
        }
        for one in resolve(run)
    ]


def run_form(run: Run) -> dict[str, Any]:
    """Return a TRAJECTORY."""
    return {
        "nstep": len(run.frames),
        "steps": [integer_form(step) for step in run.steps],
        "times": None if run.times is None or not run.frames else [number_form(time) for time in run.times],
        "schema": schema_form(run.declaration),
        "frames": frames_form(run),
    }


def forcefield_form(forcefield: ForceField | None) -> dict[str, Any] | None:
    """Return a FORCEFIELD."""
    if forcefield is None:
        return None
    tables = {name: block_form(table) for name, table in forcefield.tables.items()}
    return {"document": forcefield.document, "tables": tables}


def _observable_form(observable: Observable) -> dict[str, Any]:
    values = observable.values
    stored = frame_form(values) if isinstance(values, Frame) else _array_form(values)
    return {"document": observable.document, "values": stored}


def _array_form(column: Column) -> dict[str, Any]:
    form = column_form(column)
    del form["validity"], form["precision"]
    return form


def _metrics_form(record: Record) -> dict[str, Any] | None:
    """Return every series: the later of two events of a step stands in the place of the earlier."""
    if record.events is None:
        return None
    series: dict[str, dict[Any, tuple[float, int | None, str]]] = {}
    for number, (key, value, step, wall_time, _) in enumerate(record.events):
        series.setdefault(key, {})[("event", number) if step is None else step] = (value, step, wall_time)
    return {
        key: {
            "type": "scalar",
            "values": [number_form(value) for value, _, _ in entries.values()],
            "steps": None
            if any(step is None for _, step, _ in entries.values())
            else [integer_form(step) for _, step, _ in entries.values() if step is not None],
            "wall_time": [wall_time for _, _, wall_time in entries.values()],
        }
        for key, entries in series.items()
    }


# -- wholes -----------------------------------------------------------------------------------------------------------


def record_document(record: Record, unknown: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what a record holds; `unknown` is its unknown content."""
    parts: dict[str, Any] = {
        "frame": None if record.frame is None else frame_form(record.frame),
        "system": None if record.system is None else frame_form(record.system),
        "trajectory": None if record.run is None else run_form(record.run),
        "forcefield": forcefield_form(record.forcefield),
        "observables": None
        if record.observables is None
        else {name: _observable_form(one) for name, one in record.observables.items()},
        "status": record.status,
        "method": record.method,
        "metrics": _metrics_form(record),
    }
    sections = ["meta", *(name for name, part in parts.items() if part is not None)]
    found = {} if unknown is None else {"unknown": unknown}
    return {
        "format": FORMAT,
        "name": record.name,
        "description": record.description,
        "covers": record.covers,
        "sections": sorted([*sections, *(unknown or {}).get("sections", [])]),
        "meta": {"molrec_version": 1, **record.meta},
        **parts,
        **found,
    }


def collection_document(collection: Collection) -> dict[str, Any]:
    """Return what a collection holds."""
    return {
        "format": FORMAT,
        "name": collection.name,
        "description": collection.description,
        "covers": collection.covers,
        "meta": {"molrec_version": 1, **collection.meta},
        "schema": schema_form(collection.declaration),
        "index": block_form(_index(collection)),
        "forcefield": forcefield_form(collection.forcefield),
        "records": [_record_form(record) for record in collection.records],
    }


def _record_form(record: CollectionRecord) -> dict[str, Any]:
    run = record.run
    return {
        "meta": record.meta,
        "system": None if record.system is None else frame_form(record.system),
        "trajectory": None if run is None else {"nstep": len(run.frames), "frames": frames_form(run)},
    }


def _index(collection: Collection) -> Block:
    """Return the index: counts, the first frame of each record, and the collection's own columns."""
    records = collection.records
    counts = [0 if record.run is None else len(record.run.frames) for record in records]
    whole = {
        "first_frame": ("u64", [sum(counts[:place]) for place in range(len(counts))]),
        "n_frames": ("u64", counts),
        "n_atoms": ("u64", [_atoms(record) for record in records]),
        "has_trajectory": ("bool", [record.run is not None for record in records]),
    }
    columns = {name: Column(dtype, np.array(values, dtype=_dtype(dtype))) for name, (dtype, values) in whole.items()}
    for name, dtype in collection.index_dtypes.items():
        has = [record.index.get(name) is not None for record in records]
        blank: Any = "" if dtype == "string" else 0
        values = [record.index[name] if there else blank for record, there in zip(records, has, strict=True)]
        columns[name] = Column(dtype, np.array(values, dtype=_dtype(dtype)), has)
    return Block(columns, len(records))


def _dtype(name: str) -> Any:
    from scripts.golden.content import NUMPY_DTYPES

    return NUMPY_DTYPES[name]


def _atoms(record: CollectionRecord) -> int:
    """Return the rows of atoms: the system's, else those of the first update, else none."""
    frames = [] if record.run is None else record.run.frames
    for frame in ([] if record.system is None else [record.system]) + frames:
        if "atoms" in frame.blocks:
            return frame.blocks["atoms"].rows
    return 0
