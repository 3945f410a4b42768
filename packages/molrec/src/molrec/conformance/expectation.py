"""What a reader must return for what was written, worked out by a few plain lines of its own.

Rounding, change detection, carry-forward, fills and the index are applied here to content, apart from the library, so
that its mistakes cannot hide in the expectation of the cases (``docs/spec/frame.md``, ``trajectory.md``,
``collection.md``).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from molrec.conformance.comparison import first_difference
from molrec.conformance.content import (
    STRING,
    AnyArray,
    Block,
    BlockDeclaration,
    Collection,
    CollectionRecord,
    Column,
    Content,
    Frame,
    MetaDeclaration,
    MetaValue,
    Record,
    Run,
    Schema,
    Step,
    Trajectory,
)

__all__ = ["expected_content", "resolved", "stored_block", "stored_frame", "stored_values", "without_stamps"]

#: What a writer states of its own in a meta document; held against it by the looks of cases, not by comparison.
_STAMPS = ("molrec_version", "modules")
_DEFAULT_UNITS = {"mass": "amu", "charge": "e"}


def expected_content(written: Content) -> Content:
    """Return what reading must give after content was written."""
    match written:
        case Frame():
            return stored_frame(written)
        case Run():
            return resolved(written)
        case Record():
            return _stored_record(written)
        case Collection():
            return _stored_collection(written)
        case _:
            return written


def stored_values(values: AnyArray, precision: float | None) -> AnyArray:
    """Return what is stored of an f64 array: values on the largest power-of-two grid not above the precision.

    Ties go to the even multiple; what is not finite, or 2^52 quanta and more, stays; a zero keeps its sign.
    """
    if precision is None:
        return values
    quantum = 2.0 ** (math.frexp(precision)[1] - 1)
    rounded = np.isfinite(values) & (np.abs(values) < 2.0**52 * quantum)
    stored = values.copy()
    stored[rounded] = np.copysign(np.rint(values[rounded] / quantum) * quantum, values[rounded])
    return stored


def stored_frame(frame: Frame) -> Frame:
    """Return a frame as it is stored."""
    return dataclasses.replace(frame, blocks={name: stored_block(block) for name, block in frame.blocks.items()})


def stored_block(block: Block, declaration: BlockDeclaration | None = None) -> Block:
    """Return a block as it is stored: rounded, an all-true mask gone, what a declaration pins filled in."""
    columns = {}
    for name, column in block.columns.items():
        assert isinstance(column.values, np.ndarray)
        precision = column.precision if declaration is None else declaration.columns[name].precision
        mask = column.validity
        columns[name] = Column(
            column.dtype,
            stored_values(column.values, precision),
            None if isinstance(mask, np.ndarray) and mask.all() else mask,
            precision,
        )
    if declaration is None:
        return dataclasses.replace(block, columns=columns)
    return Block(block.rows, declaration.structural_shape, columns, declaration.targets)


def resolved(run: Run, schema: Schema | None = None) -> Trajectory:
    """Return what is there at every step of a run.

    Args:
        run: What was presented.
        schema: The declaration it was written under, where that is not the run's own.
    """
    pinned = run.schema if schema is None else schema
    held: dict[str, Block] = {}
    updates: dict[str, int] = {}
    cell = None
    steps = []
    for ordinal, presented in enumerate(run.frames):
        for name, given in presented.frame.blocks.items():
            block = stored_block(given, pinned.blocks[name])
            if name not in held or first_difference(held[name], block) is not None:
                held[name] = block
                updates[name] = ordinal
        cell = cell if presented.frame.box is None else presented.frame.box
        values = {key: _value(key, entry, presented.frame.meta) for key, entry in pinned.meta.items()}
        steps.append(Step(presented.step, presented.time, Frame(dict(held), cell, values), dict(updates)))
    times = [presented.time for presented in run.frames if presented.time is not None]
    return Trajectory([step.step for step in steps], times or None, pinned, steps)


def _value(key: str, entry: MetaDeclaration, given: Mapping[str, MetaValue]) -> MetaValue:
    if key in given:
        return MetaValue(entry.tag, given[key].value)
    assert entry.fill is not None, f"{key} is neither given nor filled"
    return entry.fill


def _stored_record(record: Record) -> Record:
    run = record.run
    return dataclasses.replace(
        record,
        sections=[],
        frame=None if record.frame is None else stored_frame(record.frame),
        system=None if record.system is None else stored_frame(record.system),
        trajectory=record.trajectory if run is None else resolved(run),
        run=None,
    )


def without_stamps(document: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return a meta document without what its writer stamped and the content did not state."""
    return {key: value for key, value in document.items() if key in written or key not in _STAMPS}


# -- collections ------------------------------------------------------------------------------------------------------


def _stored_collection(collection: Collection) -> Collection:
    runs = [record.run for record in collection.records if record.run is not None]
    schema = collection.schema
    if schema is None:
        schema = _union([run.schema for run in runs])
    records = [_stored_collection_record(record, schema) for record in collection.records]
    return dataclasses.replace(
        collection,
        units={**_DEFAULT_UNITS, **collection.units},
        records=records,
        schema=schema,
        index=_index(collection.records, records),
    )


def _stored_collection_record(record: CollectionRecord, schema: Schema) -> CollectionRecord:
    trajectory = None
    if record.run is not None:
        trajectory = dataclasses.replace(resolved(record.run, schema), schema=None)
    system = None if record.system is None else stored_frame(record.system)
    return CollectionRecord(record.meta, system, trajectory=trajectory)


def _union(schemas: list[Schema]) -> Schema:
    blocks: dict[str, BlockDeclaration] = {}
    for schema in schemas:
        for name, entry in schema.blocks.items():
            known = blocks.get(name, entry)
            columns = {
                column: dataclasses.replace(held, nullable=held.nullable or entry.columns[column].nullable)
                for column, held in known.columns.items()
            }
            blocks[name] = dataclasses.replace(known, columns=columns)
    return Schema(blocks, dict(schemas[0].meta) if schemas else {})


def _index(written: list[CollectionRecord], stored: list[CollectionRecord]) -> Block:
    counts = [len(record.trajectory.frames) if record.trajectory is not None else 0 for record in stored]
    first = np.cumsum([0, *counts])[:-1]
    columns = {
        "first_frame": Column("u64", first.astype(np.uint64)),
        "n_frames": Column("u64", np.array(counts, np.uint64)),
        "n_atoms": Column("u64", np.array([_atoms(record) for record in stored], np.uint64)),
        "has_trajectory": Column("bool", np.array([record.trajectory is not None for record in stored], np.bool_)),
    }
    for name in dict.fromkeys(key for record in written for key in record.index):
        columns[name] = _own_column([record.index.get(name) for record in written])
    return Block(len(stored), None, columns, {})


def _atoms(record: CollectionRecord) -> int:
    if record.system is not None and "atoms" in record.system.blocks:
        return record.system.blocks["atoms"].rows
    for step in record.trajectory.frames if record.trajectory is not None else ():
        if "atoms" in step.frame.blocks:
            return step.frame.blocks["atoms"].rows
    return 0


def _own_column(values: list[Any]) -> Column:
    there = [value for value in values if value is not None]
    dtypes: dict[type, tuple[str, Any]] = {
        str: ("string", STRING),
        float: ("f64", np.float64),
        bool: ("bool", np.bool_),
        int: ("i64", np.int64),
    }
    kind = type(there[0])
    dtype, numpy_dtype = dtypes[kind]
    filled = np.array([kind() if value is None else value for value in values], numpy_dtype)
    mask = np.array([value is not None for value in values], np.bool_)
    return Column(dtype, filled, None if mask.all() else mask)
