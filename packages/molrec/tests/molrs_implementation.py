"""``molcrafts-molrs`` 0.19 as an implementation for the conformance suite: an adapter over its public doors.

In the root of the repository, ``molrec conformance packages.molrec.tests.molrs_implementation:molrs`` runs it. It reads
and writes record folders; it has no door to collections. The declaration of a run cannot be read through it, and its
strings end at U+0000 (they are fixed-width numpy arrays).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import molrs as library
import numpy as np
from molrs._native import Cell, MetaValue
from molrs.io import write_mrec
from molrs.io.mrec import ForceFieldSection, MrecFile, MrecReader, MrecWriter, SequenceSchema

from molrec.conformance import (
    ForceFieldAdapter,
    FrameAdapter,
    Implementation,
    RecordAdapter,
    TrajectoryAdapter,
    content,
)
from molrec.conformance.documents import mask_or_none, meta_value, plain_json

__all__ = ["molrs"]

# An OverflowError is how its Python door says that an integer does not fit its tag.
_REFUSALS = (ValueError, TypeError, OverflowError)


# -- content to objects -----------------------------------------------------------------------------------------------


def to_frame(source: content.Frame) -> library.Frame:
    """Return a frame."""
    frame = library.Frame()
    for name, block in source.blocks.items():
        frame[name] = to_block(block)
    if source.box is not None:
        frame.box = to_box(source.box)
    for key, value in source.meta.items():
        frame.meta[key] = MetaValue(value.tag, value.value)
    return frame


def to_block(source: content.Block) -> library.Block:
    """Return a block."""
    block = library.Block()
    for name, column in source.columns.items():
        assert not isinstance(column.validity, content.Digest)
        block.insert(name, _fixed_width(column), column.validity)
        if column.precision is not None:
            block.set_precision(name, column.precision)
    if not source.columns:
        block.resize(source.rows)
    for name, target in source.targets.items():
        block.set_target(name, target)
    if source.structural_shape is not None:
        block.set_shape(list(source.structural_shape))
    return block


def _fixed_width(column: content.Column) -> Any:
    """Return the values as an array the library takes: its strings are of fixed width."""
    assert isinstance(column.values, np.ndarray)
    if column.dtype != "string":
        return column.values
    width = max((len(text) for text in column.values.ravel().tolist()), default=1)
    return column.values.astype(f"<U{max(width, 1)}")


def to_box(source: content.Box) -> library.Box:
    """Return a cell."""
    cell = Cell.matrix(source.vectors) if source.cell_defined else Cell.undefined()
    return library.Box(cell, source.origin, np.array(source.boundary))


def to_schema(source: content.Schema) -> SequenceSchema:
    """Return a declaration; only a frame that carries a mask can state that a column is nullable."""
    schema = SequenceSchema.from_frames([_template(source)])
    for name, block in source.blocks.items():
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
    for name, block in source.blocks.items():
        if block.aligned_with is not None:
            schema.declare_aligned(name, block.aligned_with)
    for key, declared in source.meta.items():
        if declared.fill is None:
            schema.declare_meta(key, declared.tag)
        else:
            schema.declare_meta(key, declared.tag, declared.fill.value)
    return schema


def _template(schema: content.Schema) -> library.Frame:
    """Return a frame of one-row blocks that states the nullable columns and nothing else."""
    frame = library.Frame()
    for name, declared in schema.blocks.items():
        nullable = {column: entry for column, entry in declared.columns.items() if entry.nullable}
        if not nullable:
            continue
        block = library.Block()
        for column, entry in nullable.items():
            dtype = "<U1" if entry.dtype == "string" else content.NUMPY_DTYPES[entry.dtype]
            block.insert(column, np.zeros((1, *entry.trailing), dtype), np.zeros(1, np.bool_))
        frame[name] = block
    return frame


def to_section(source: content.ForceField) -> ForceFieldSection:
    """Return a force-field section."""
    return ForceFieldSection(source.document, {name: to_block(table) for name, table in source.tables.items()})


# -- objects to content -----------------------------------------------------------------------------------------------


def from_frame(source: library.Frame) -> content.Frame:
    """Return the content of a frame."""
    return content.Frame(
        blocks={name: from_block(source[name]) for name in list(source.keys())},
        box=None if source.box is None else from_box(source.box),
        meta={key: meta_value(value.dtype, value.value) for key, value in source.meta.typed().items()},
    )


def from_block(source: library.Block) -> content.Block:
    """Return the content of a block."""
    shape = source.structural_shape
    return content.Block(
        rows=source.n_rows,
        structural_shape=None if shape is None else tuple(shape),
        columns={name: _column(source, name) for name in list(source.keys())},
        targets=source.targets(),
    )


def _column(source: library.Block, name: str) -> content.Column:
    values = source[name]
    dtype = content.dtype_name(values)
    if dtype == "string":
        values = np.array(values.tolist(), content.STRING).reshape(values.shape)
    return content.Column(dtype, values, mask_or_none(source.validity(name)), source.precision(name))


def from_box(source: library.Box) -> content.Box:
    """Return the content of a cell."""
    a, b, c = (bool(flag) for flag in source.pbc)
    return content.Box(
        vectors=np.asarray(source.matrix),
        origin=np.asarray(source.origin),
        boundary=(a, b, c),
        cell_defined=source.is_cell_defined,
    )


def from_section(source: ForceFieldSection) -> content.ForceField:
    """Return the content of a force-field section."""
    return content.ForceField(
        plain_json(source.document), {name: from_block(table) for name, table in source.tables.items()}
    )


def read_run(path: Path) -> content.Trajectory:
    """Return the content of a run; where each block was written is worked out from its update numbers."""
    reader = MrecReader(path)
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
        frames.append(content.Step(steps[ordinal], time, from_frame(reader[ordinal]), updates))
    return content.Trajectory(steps, times, None, frames)


def read_record(path: Path, *, forcefield: bool = True) -> content.Record:
    """Return the content of a record, packed or a folder; its force field may be left aside."""
    source = MrecFile(path)
    sections = sorted(source.sections())
    frame = source.frame() if "frame" in sections else None
    system = source.system() if "system" in sections else None
    section = source.forcefield() if forcefield and "forcefield" in sections else None
    return content.Record(
        sections=sections,
        meta=plain_json(source.meta()),
        frame=None if frame is None else from_frame(frame),
        system=None if system is None else from_frame(system),
        trajectory=read_run(path) if "trajectory" in sections else None,
        forcefield=None if section is None else from_section(section),
    )


# -- adapters ---------------------------------------------------------------------------------------------------------


def write_run(
    path: Path,
    run: content.Run,
    *,
    meta: Mapping[str, Any] | None = None,
    compression: str | None = None,
    flush_every: int | None = None,
) -> None:
    """Write a run into a new record folder."""
    with MrecWriter(
        str(path), to_schema(run.schema), meta=dict(meta or {}), compression=compression, flush_every=flush_every
    ) as writer:
        _append(writer, run.frames)


def continue_run(path: Path, run: content.Run) -> None:
    """Append to a run that is there."""
    with MrecWriter.open(str(path)) as writer:
        _append(writer, run.frames)


def _append(writer: MrecWriter, frames: Sequence[content.Presented]) -> None:
    for presented in frames:
        writer.append(to_frame(presented.frame), step=presented.step, time=presented.time)


class Frames(FrameAdapter):
    """Frames in record folders."""

    refusals = _REFUSALS

    def write(self, path: Path, content: content.Frame) -> None:
        """Write the section ``frame``."""
        write_mrec(path, frame=to_frame(content))

    def read(self, path: Path) -> content.Frame:
        """Read the section ``frame``."""
        frame = MrecFile(path).frame()
        assert frame is not None
        return from_frame(frame)


class Trajectories(TrajectoryAdapter):
    """Runs in record folders."""

    refusals = _REFUSALS

    def write(self, path: Path, content: content.Run) -> None:
        """Write the section ``trajectory``."""
        write_run(path, content)

    def append(self, path: Path, content: content.Run) -> None:
        """Continue a run."""
        continue_run(path, content)

    def read(self, path: Path) -> content.Trajectory:
        """Read the section ``trajectory``."""
        return read_run(path)


class Records(RecordAdapter):
    """Record folders; a run beside other sections, and documents but ``meta``, have no door."""

    refusals = _REFUSALS

    def write(self, path: Path, content: content.Record) -> None:
        """Write every section that is there."""
        if content.status is not None or content.method is not None:
            raise NotImplementedError("no door writes status or method")
        if content.run is not None:
            raise NotImplementedError("no door writes a declared run beside other sections")
        write_mrec(
            path,
            meta=content.meta,
            frame=None if content.frame is None else to_frame(content.frame),
            system=None if content.system is None else to_frame(content.system),
            forcefield=None if content.forcefield is None else to_section(content.forcefield),
        )

    def read(self, path: Path) -> content.Record:
        """Read every section."""
        found = read_record(path)
        if {"status", "method"} & set(found.sections):
            raise NotImplementedError("no door reads status or method")
        return found


class ForceFields(ForceFieldAdapter):
    """Force fields in record folders."""

    refusals = _REFUSALS

    def write(self, path: Path, content: content.ForceField) -> None:
        """Write the section ``forcefield``."""
        write_mrec(path, forcefield=to_section(content))

    def read(self, path: Path) -> content.ForceField:
        """Read the section ``forcefield``."""
        section = MrecFile(path).forcefield()
        assert section is not None
        return from_section(section)


molrs = Implementation("molcrafts-molrs", library.__version__, Frames(), Records(), Trajectories(), ForceFields())
