"""Stores the content of fixtures with the library, the same bytes every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lmdb
import numpy as np
from scripts.golden.content import Block, Box, Collection, ForceField, Frame, Observable, Record, Run

import molrec as mr

__all__ = ["store_collection", "store_record", "to_frame", "to_schema"]

_MAP_SIZE = 2**20


def to_block(given: Block, *, precise: bool = True) -> mr.Block:
    """Return a block of the library's."""
    made = mr.Block(rows=given.rows)
    for name, column in given.columns.items():
        made[name] = column.values
        if column.mask is not None:
            made.set_validity(name, np.array(column.mask, dtype=np.bool_))
        if precise and column.precision is not None:
            made.set_precision(name, column.precision)
        made.column_attributes(name).update(column.attributes)
    for name, target in given.targets.items():
        made.set_target(name, target)
    if given.structural_shape is not None:
        made.structural_shape = tuple(given.structural_shape)
    made.attributes = dict(given.attributes)
    return made


def _to_box(box: Box) -> mr.Box:
    return mr.Box(box.vectors, box.origin, np.array(box.boundary), cell_defined=box.cell_defined)


def to_frame(given: Frame) -> mr.Frame:
    """Return a frame of the library's."""
    made = mr.Frame({name: to_block(block) for name, block in given.blocks.items()})
    for key, (tag, value) in given.meta.items():
        made.meta.set(key, value, tag=tag)
    made.box = None if given.box is None else _to_box(given.box)
    return made


def to_schema(declaration: dict[str, Any], frames: list[Frame] | None = None) -> mr.SequenceSchema:
    """Return a declaration of the library's, with the row counts of the frames as hints for extents."""
    schema = mr.SequenceSchema.from_document(declaration, "declaration")
    for frame in frames or []:
        for name, block in frame.blocks.items():
            schema.declare_block(name, rows=block.rows)
    return schema


def _to_section(forcefield: ForceField) -> mr.ForceFieldSection:
    return mr.ForceFieldSection(forcefield.document, {name: to_block(one) for name, one in forcefield.tables.items()})


def _to_observable(observable: Observable) -> mr.Observable:
    values = observable.values
    return mr.Observable(to_frame(values) if isinstance(values, Frame) else values.values, **observable.document)


def write_run(path: Path, run: Run, **options: Any) -> None:
    """Write a run into a new record folder."""
    with mr.TrajectoryWriter(path, to_schema(run.declaration, run.frames), **options) as writer:
        for ordinal, frame in enumerate(run.frames):
            time = None if run.times is None else run.times[ordinal]
            writer.append(to_frame(frame), step=run.steps[ordinal], time=time)


def store_record(record: Record, folder: Path, scratch: Path) -> Path:
    """Write a packed record and return its path."""
    system = None if record.system is None else to_frame(record.system)
    run = None
    if record.run is not None:
        write_run(scratch / "run.mrec", record.run, system=system)
        run = mr.open(scratch / "run.mrec").trajectory
    metrics = None
    if record.events is not None:
        with mr.MetricsWriter(scratch / "metrics.mrec", status={"state": "running"}) as writer:
            for key, value, step, wall_time, tags in record.events:
                writer.log(key, value, step, wall_time, tags)
        metrics = mr.open(scratch / "metrics.mrec").metrics
    observables = record.observables
    return mr.write(
        folder / f"{record.name}.mrec.zip",
        frame=None if record.frame is None else to_frame(record.frame),
        system=system,
        trajectory=run,
        forcefield=None if record.forcefield is None else _to_section(record.forcefield),
        observables=None if observables is None else {name: _to_observable(one) for name, one in observables.items()},
        status=record.status,
        method=record.method,
        metrics=metrics,
        meta=record.meta,
        overwrite=True,
        profile=record.profile,
    )


def store_collection(collection: Collection, folder: Path, scratch: Path) -> Path:
    """Write a collection and return its path."""
    written = scratch / "written.mrec.lmdb"
    section = None if collection.forcefield is None else _to_section(collection.forcefield)
    with mr.CollectionWriter(
        written,
        schema=to_schema(collection.declaration),
        forcefield=section,
        index={name: (lambda _: None) for name in collection.index_dtypes},
        meta=collection.meta,
    ) as writer:
        for record in collection.records:
            run = record.run
            writer.append(
                None if run is None else [to_frame(frame) for frame in run.frames],
                meta=record.meta,
                system=None if record.system is None else to_frame(record.system),
                step=None if run is None else run.steps,
                time=None if run is None else run.times,
                index=record.index,
            )
    return _settled(written, folder / f"{collection.name}.mrec.lmdb")


def _settled(written: Path, target: Path) -> Path:
    """Copy every key into a small file in one transaction: the same keys, the same bytes."""
    with lmdb.open(str(written), subdir=False, readonly=True, lock=False) as source, source.begin() as transaction:
        pairs = list(transaction.cursor())
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.unlink(missing_ok=True)
    with lmdb.open(str(temporary), subdir=False, lock=False, map_size=_MAP_SIZE, meminit=True) as file:
        with file.begin(write=True) as transaction, transaction.cursor() as cursor:
            cursor.putmulti(pairs, append=True)
        file.sync(True)
    return temporary.replace(target)
