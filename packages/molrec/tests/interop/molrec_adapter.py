"""What ``molrec`` reads, as neutral content; every public accessor of a frame and a run is exercised here."""

from __future__ import annotations

import numpy as np

import molrec as mr

from . import neutral


def record(source: mr.Record) -> neutral.Record:
    """Content of an open record, its force field left aside."""
    return neutral.Record(
        sections=sorted(source.sections),
        meta=neutral.plain_json(source.meta),
        frame=None if source.frame is None else frame(source.frame),
        system=None if source.system is None else frame(source.system),
        trajectory=None if source.trajectory is None else trajectory(source.trajectory),
    )


def trajectory(source: mr.TrajectoryReader) -> neutral.Trajectory:
    """Content of a run, frame by frame."""
    steps = source.steps.tolist()
    times = None if source.times is None else source.times.tolist()
    schema = neutral.schema_from_document(source.schema.to_document())
    frames = [
        neutral.Step(
            step=steps[ordinal],
            time=None if times is None else times[ordinal],
            frame=frame(source[ordinal]),
            updates=neutral.present({name: source.update_ordinal(name, ordinal) for name in schema.blocks}),
        )
        for ordinal in range(len(source))
    ]
    return neutral.Trajectory(steps, times, schema, frames)


def frame(source: mr.Frame) -> neutral.Frame:
    """Content of a frame."""
    return neutral.Frame(
        blocks={name: block(source[name]) for name in source.blocks},
        box=None if source.box is None else box(source.box),
        meta={key: neutral.meta_value(source.meta.tag(key), source.meta[key]) for key in source.meta},
    )


def block(source: mr.Block) -> neutral.Block:
    """Content of a block."""
    shape = source.structural_shape
    return neutral.Block(
        rows=len(source),
        structural_shape=None if shape is None else tuple(shape),
        columns={
            name: neutral.Column(
                dtype=source.dtype(name),
                values=np.asarray(source[name]),
                validity=neutral.mask_or_none(source.validity(name)),
                precision=source.precision(name),
            )
            for name in source.columns
        },
        targets=dict(source.targets),
    )


def box(source: mr.Box) -> neutral.Box:
    """Content of a cell."""
    a, b, c = (bool(flag) for flag in source.boundary)
    return neutral.Box(
        vectors=np.asarray(source.vectors),
        origin=np.asarray(source.origin),
        boundary=(a, b, c),
        cell_defined=source.cell_defined,
    )
