"""Content to this library's objects and back."""

from __future__ import annotations

from typing import Any

import numpy as np

import molrec as mr
from molrec.conformance import content as plain
from molrec.conformance.documents import mask_or_none, meta_value, plain_json, schema_from_document

__all__ = [
    "block_content",
    "box_content",
    "forcefield_content",
    "frame_content",
    "optional_frame",
    "record_content",
    "to_block",
    "to_box",
    "to_frame",
    "to_schema",
    "to_section",
    "trajectory_content",
]

# -- content to objects -----------------------------------------------------------------------------------------------


def to_block(source: plain.Block) -> mr.Block:
    """Return a block."""
    block = mr.Block(rows=source.rows)
    for name, column in source.columns.items():
        assert isinstance(column.values, np.ndarray)
        block[name] = column.values
        if column.validity is not None:
            assert isinstance(column.validity, np.ndarray)
            block.set_validity(name, column.validity)
        if column.precision is not None:
            block.set_precision(name, column.precision)
    for name, target in source.targets.items():
        block.set_target(name, target)
    if source.structural_shape is not None:
        block.structural_shape = source.structural_shape
    return block


def to_box(source: plain.Box) -> mr.Box:
    """Return a cell."""
    return mr.Box(source.vectors, source.origin, np.array(source.boundary), cell_defined=source.cell_defined)


def to_frame(source: plain.Frame) -> mr.Frame:
    """Return a frame."""
    frame = mr.Frame({name: to_block(block) for name, block in source.blocks.items()})
    if source.box is not None:
        frame.box = to_box(source.box)
    for key, value in source.meta.items():
        frame.meta.set(key, value.value, tag=value.tag)
    return frame


def to_schema(source: plain.Schema) -> mr.SequenceSchema:
    """Return a declaration."""
    schema = mr.SequenceSchema()
    for name, block in source.blocks.items():
        schema.declare_block(name)
        for column, entry in block.columns.items():
            schema.declare_column(name, column, entry.dtype, entry.trailing, nullable=entry.nullable)
            if entry.precision is not None:
                schema.declare_precision(name, column, entry.precision)
        for column, target in block.targets.items():
            schema.declare_target(name, column, target)
        if block.structural_shape is not None:
            schema.declare_structural_shape(name, block.structural_shape)
    for name, block in source.blocks.items():
        if block.aligned_with is not None:
            schema.declare_aligned(name, block.aligned_with)
    for key, declared in source.meta.items():
        if declared.fill is None:
            schema.declare_meta(key, declared.tag)
        else:
            schema.declare_meta(key, declared.tag, fill=declared.fill.value)
    return schema


def to_section(source: plain.ForceField) -> mr.ForceFieldSection:
    """Return a force-field section."""
    return mr.ForceFieldSection(source.document, {name: to_block(block) for name, block in source.tables.items()})


def optional_frame(source: plain.Frame | None) -> mr.Frame | None:
    """Return a frame, or None for None."""
    return None if source is None else to_frame(source)


# -- objects to content -----------------------------------------------------------------------------------------------


def block_content(source: mr.Block) -> plain.Block:
    """Return the content of a block."""
    shape = source.structural_shape
    return plain.Block(
        rows=len(source),
        structural_shape=None if shape is None else tuple(shape),
        columns={
            name: plain.Column(
                dtype=source.dtype(name),
                values=np.asarray(source[name]),
                validity=mask_or_none(source.validity(name)),
                precision=source.precision(name),
            )
            for name in source.columns
        },
        targets=dict(source.targets),
    )


def box_content(source: mr.Box) -> plain.Box:
    """Return the content of a cell."""
    a, b, c = (bool(flag) for flag in source.boundary)
    return plain.Box(
        vectors=np.asarray(source.vectors),
        origin=np.asarray(source.origin),
        boundary=(a, b, c),
        cell_defined=source.cell_defined,
    )


def frame_content(source: mr.Frame) -> plain.Frame:
    """Return the content of a frame."""
    return plain.Frame(
        blocks={name: block_content(source[name]) for name in source.blocks},
        box=None if source.box is None else box_content(source.box),
        meta={key: meta_value(source.meta.tag(key), source.meta[key]) for key in source.meta},
    )


def trajectory_content(source: Any) -> plain.Trajectory:
    """Return the content of a run, frame by frame, wherever it is stored."""
    steps = source.steps.tolist()
    times = None if source.times is None else source.times.tolist()
    schema = schema_from_document(source.schema.to_document())
    frames = []
    for ordinal in range(len(source)):
        updates = {name: source.update_ordinal(name, ordinal) for name in schema.blocks}
        frames.append(
            plain.Step(
                step=steps[ordinal],
                time=None if times is None else times[ordinal],
                frame=frame_content(source[ordinal]),
                updates={name: update for name, update in updates.items() if update is not None},
            )
        )
    return plain.Trajectory(steps, times, schema, frames)


def forcefield_content(source: mr.ForceFieldSection) -> plain.ForceField:
    """Return the content of a force-field section."""
    return plain.ForceField(
        plain_json(source.document), {name: block_content(table) for name, table in source.tables.items()}
    )


def record_content(source: mr.Record) -> plain.Record:
    """Return the content of an open record."""
    section = source.forcefield_section
    return plain.Record(
        sections=sorted(source.sections),
        meta=plain_json(source.meta),
        frame=None if source.frame is None else frame_content(source.frame),
        system=None if source.system is None else frame_content(source.system),
        trajectory=None if source.trajectory is None else trajectory_content(source.trajectory),
        forcefield=None if section is None else forcefield_content(section),
        status=source.status,
        method=source.method,
    )
