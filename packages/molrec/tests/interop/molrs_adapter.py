"""Both directions of the exchange with ``molrs``: ``molrec`` objects handed to its writers, records read with it.

Importing this module needs the ``molcrafts-molrs`` wheel; tests reach it behind ``pytest.importorskip``.

Two things it cannot say are left out of the neutral content it returns: the schema of a run, and U+0000 at the end of
a string (its strings arrive as fixed-width numpy arrays).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import molrs
import numpy as np
from molrs._native import Cell, MetaValue
from molrs.io import write_mrec
from molrs.io.mrec import MrecFile, MrecReader, MrecWriter, SequenceSchema

import molrec as mr

from . import neutral
from .exchange_cases import Entry


def write_record(
    path: Path, *, frame: mr.Frame | None = None, system: mr.Frame | None = None, meta: dict[str, Any] | None = None
) -> None:
    """Write a directory record without a run."""
    write_mrec(
        path,
        meta=meta or {},
        frame=None if frame is None else to_frame(frame),
        system=None if system is None else to_frame(system),
    )


def write_run(
    path: Path,
    entries: Iterable[Entry],
    schema: mr.SequenceSchema,
    *,
    meta: dict[str, Any] | None = None,
    compression: str | None = None,
    flush_every: int | None = None,
) -> None:
    """Write a directory record that holds a run."""
    with MrecWriter(
        str(path), to_schema(schema), meta=meta or {}, compression=compression, flush_every=flush_every
    ) as writer:
        for step, time, frame in entries:
            writer.append(to_frame(frame), step=step, time=time)


def continue_run(path: Path, entries: Iterable[Entry]) -> None:
    """Append to a run that exists."""
    with MrecWriter.open(str(path)) as writer:
        for step, time, frame in entries:
            writer.append(to_frame(frame), step=step, time=time)


def to_frame(source: mr.Frame) -> molrs.Frame:
    """Convert a frame."""
    frame = molrs.Frame()
    for name in source.blocks:
        frame[name] = to_block(source[name])
    if source.box is not None:
        frame.box = to_box(source.box)
    for key in source.meta:
        tag = source.meta.tag(key)
        value = source.meta[key]
        frame.meta[key] = MetaValue(tag, neutral.plain_json(value) if tag == "json" else value)
    return frame


def to_block(source: mr.Block) -> molrs.Block:
    """Convert a block."""
    block = molrs.Block()
    for name in source.columns:
        block.insert(name, _to_values(np.asarray(source[name])), neutral.mask_or_none(source.validity(name)))
        if source.precision(name) is not None:
            block.set_precision(name, source.precision(name))
    if not source.columns:
        block.resize(len(source))
    for name, target in source.targets.items():
        block.set_target(name, target)
    if source.structural_shape is not None:
        block.set_shape(list(source.structural_shape))
    return block


def to_box(source: mr.Box) -> molrs.Box:
    """Convert a cell."""
    cell = Cell.matrix(np.asarray(source.vectors)) if source.cell_defined else Cell.undefined()
    return molrs.Box(cell, np.asarray(source.origin), np.asarray(source.boundary))


def to_schema(source: mr.SequenceSchema) -> SequenceSchema:
    """Convert a schema; nullable columns can only be stated by a frame that carries a mask."""
    content = neutral.schema_from_document(source.to_document())
    schema = SequenceSchema.from_frames([_template(content)])
    for name, block in content.blocks.items():
        schema.declare_block(name)
        for column, entry in block.columns.items():
            if not entry.nullable:
                schema.declare_column(name, column, entry.dtype, list(entry.trailing))
            if entry.precision is not None:
                schema.declare_precision(name, column, entry.precision)
        for column, target in block.targets.items():
            schema.declare_target(name, column, target)
        if block.structural_shape is not None:
            schema.declare_structural_shape(name, list(block.structural_shape))
    for name, block in content.blocks.items():
        if block.aligned_with is not None:
            schema.declare_aligned(name, block.aligned_with)
    for key, meta in content.meta.items():
        if meta.fill is None:
            schema.declare_meta(key, meta.tag)
        else:
            schema.declare_meta(key, meta.tag, meta.fill.value)
    return schema


def record(path: Path) -> neutral.Record:
    """Read a record, packed or a directory."""
    source = MrecFile(path)
    sections = sorted(source.sections())
    frame = source.frame() if "frame" in sections else None
    system = source.system() if "system" in sections else None
    return neutral.Record(
        sections=sections,
        meta=neutral.plain_json(source.meta()),
        frame=None if frame is None else from_frame(frame),
        system=None if system is None else from_frame(system),
        trajectory=_trajectory(MrecReader(path)) if "trajectory" in sections else None,
    )


def from_frame(source: molrs.Frame) -> neutral.Frame:
    """Content of a frame."""
    return neutral.Frame(
        blocks={name: from_block(source[name]) for name in list(source.keys())},
        box=None if source.box is None else from_box(source.box),
        meta={key: neutral.meta_value(value.dtype, value.value) for key, value in source.meta.typed().items()},
    )


def from_block(source: molrs.Block) -> neutral.Block:
    """Content of a block."""
    shape = source.structural_shape
    return neutral.Block(
        rows=source.n_rows,
        structural_shape=None if shape is None else tuple(shape),
        columns={name: _column(source, name) for name in list(source.keys())},
        targets=source.targets(),
    )


def from_box(source: molrs.Box) -> neutral.Box:
    """Content of a cell."""
    a, b, c = (bool(flag) for flag in source.pbc)
    return neutral.Box(
        vectors=np.asarray(source.matrix),
        origin=np.asarray(source.origin),
        boundary=(a, b, c),
        cell_defined=source.is_cell_defined,
    )


def _trajectory(reader: MrecReader) -> neutral.Trajectory:
    steps = list(reader.step)
    times = None if reader.time is None else list(reader.time)
    seen: dict[tuple[str, int], int] = {}
    frames = []
    for ordinal in range(len(reader)):
        updates: dict[str, int] = {}
        for name in reader.block_names():
            update = reader.block_update_at(name, ordinal)
            if update is not None:
                updates[name] = seen.setdefault((name, update), ordinal)
        time = times[ordinal] if times is not None and ordinal < len(times) else None
        frames.append(neutral.Step(steps[ordinal], time, from_frame(reader[ordinal]), updates))
    return neutral.Trajectory(steps, times, None, frames)


def _column(source: molrs.Block, name: str) -> neutral.Column:
    values = source[name]
    dtype = neutral.dtype_name(values)
    if dtype == "string":
        values = np.array(values.tolist(), neutral.STRING).reshape(values.shape)
    return neutral.Column(dtype, values, neutral.mask_or_none(source.validity(name)), source.precision(name))


def _to_values(values: neutral.AnyArray) -> neutral.AnyArray:
    """Return an array ``molrs`` takes: its strings are of fixed width."""
    if neutral.dtype_name(values) != "string":
        return values
    width = max((len(text) for text in values.tolist()), default=1)
    return values.astype(f"<U{max(width, 1)}")


def _template(schema: neutral.Schema) -> molrs.Frame:
    """Return a frame of one-row blocks that states the nullable columns of ``schema`` and nothing else."""
    frame = molrs.Frame()
    for name, block in schema.blocks.items():
        nullable = {column: entry for column, entry in block.columns.items() if entry.nullable}
        if not nullable:
            continue
        template = molrs.Block()
        for column, entry in nullable.items():
            shape = (1, *entry.trailing)
            values = np.zeros(shape, "<U1" if entry.dtype == "string" else neutral.NUMPY_DTYPES[entry.dtype])
            template.insert(column, values, np.zeros(1, np.bool_))
        frame[name] = template
    return frame
