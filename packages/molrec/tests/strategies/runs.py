"""Whole trajectories: what a run declares, what each frame presents, with which step and time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import molrec as mr

from .frames import boxes, structural_shapes, undefined_boxes
from .values import CANONICAL_NAMES, DTYPES, TAGS, content, masks, meta_values, names, precisions, trailings

_RESERVED_BLOCKS = frozenset({"step", "time", "meta", "box", ".journal"})
_RESERVED_COLUMNS = frozenset({"offset", "step_index", "_validity"})
_LAST_STEP = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """One declared column."""

    dtype: str
    trailing: tuple[int, ...]
    nullable: bool
    precision: float | None


@dataclass(frozen=True, slots=True)
class BlockShape:
    """One declared block; `growth` says how its row count moves: ``fixed``, ``growing`` or ``any``."""

    columns: dict[str, ColumnShape]
    structural_shape: tuple[int, ...] | None
    target: str | None
    growth: str
    rows: int


@dataclass(frozen=True, slots=True)
class RunShape:
    """What a run declares, and the habits of its frames."""

    blocks: dict[str, BlockShape]
    meta: dict[str, str]
    fills: dict[str, Any]
    cells: str
    steps: tuple[str, int, int]
    times: tuple[str, float, float]

    def schema(self) -> mr.SequenceSchema:
        """Return the declaration."""
        schema = mr.SequenceSchema()
        for name, block in self.blocks.items():
            schema.declare_block(name, rows=block.rows)
            for column, shape in block.columns.items():
                schema.declare_column(name, column, shape.dtype, shape.trailing, nullable=shape.nullable)
                if shape.precision is not None:
                    schema.declare_precision(name, column, shape.precision)
            if block.structural_shape is not None:
                schema.declare_structural_shape(name, block.structural_shape)
            if block.target is not None:
                schema.declare_target(name, block.target, name)
        for key, tag in self.meta.items():
            if key in self.fills:
                schema.declare_meta(key, tag, fill=self.fills[key])
            else:
                schema.declare_meta(key, tag)
        return schema


@dataclass(frozen=True, slots=True)
class Presentation:
    """One append."""

    frame: mr.Frame
    step: int | None
    time: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """A trajectory as it is handed to a writer."""

    shape: RunShape
    presented: list[Presentation] = field(default_factory=list)


@st.composite
def _columns(draw: st.DrawFn) -> dict[str, ColumnShape]:
    found = draw(st.lists(names(*CANONICAL_NAMES, reserved=_RESERVED_COLUMNS), max_size=3, unique=True))
    columns = {}
    for name in found:
        canonical = mr.CANONICAL_COLUMNS.get(name)
        dtype = canonical or draw(st.sampled_from((*DTYPES, "f64", "f64")))
        precision = draw(st.one_of(st.none(), precisions())) if dtype == "f64" else None
        trailing = () if canonical else draw(trailings())
        columns[name] = ColumnShape(dtype, trailing, draw(st.booleans()), precision)
    return columns


@st.composite
def _block_shapes(draw: st.DrawFn) -> BlockShape:
    columns = draw(_columns())
    rows = draw(st.sampled_from([1, 2, 3, 4, 6]))
    growth = draw(st.sampled_from(["fixed", "growing", "any"]))
    shape = draw(structural_shapes(rows)) if growth == "fixed" else None
    references = [
        name for name, column in columns.items() if column.dtype == "u64" and name not in mr.CANONICAL_COLUMNS
    ]
    target = draw(st.sampled_from([None, *references])) if references else None
    return BlockShape(columns, shape, target, growth, rows)


@st.composite
def run_shapes(draw: st.DrawFn) -> RunShape:
    """Return what a run may declare."""
    blocks = {
        name: draw(_block_shapes())
        for name in draw(st.lists(names("atoms", "bonds", reserved=_RESERVED_BLOCKS), max_size=3, unique=True))
    }
    meta: dict[str, str] = {}
    fills: dict[str, Any] = {}
    for key in draw(st.lists(names("pe", "step", "_validity"), max_size=2, unique=True)):
        tag = "f64" if key == "pe" else draw(st.sampled_from(TAGS))
        meta[key] = tag
        if draw(st.booleans()):
            fills[key] = draw(meta_values(tag))
    steps = (
        draw(st.sampled_from(["auto", "regular", "free"])),
        draw(st.sampled_from([0, 1, -7, 2**53, 2**53 + 1, -(2**63), 2**62])),
        draw(st.sampled_from([1, 10, 2**53, 2**53 + 1])),
    )
    times = draw(
        st.tuples(
            st.sampled_from(["none", "regular", "free"]),
            st.sampled_from([0.0, -0.0, 0.1, -5.0, 1e300]),
            st.sampled_from([0.1, 0.5, 0.0, -0.25, 1e-17, 1e300]),
        )
    )
    return RunShape(blocks, meta, fills, draw(st.sampled_from(["none", "fixed", "some", "undefined"])), steps, times)


@st.composite
def _presented_blocks(draw: st.DrawFn, name: str, shape: BlockShape, ordinal: int) -> mr.Block:
    rows = {"fixed": shape.rows, "growing": shape.rows + ordinal // 2}.get(shape.growth)
    if rows is None:
        rows = draw(st.sampled_from([shape.rows, 0, 1, shape.rows + 1]))
    block = mr.Block(rows=rows)
    variant = draw(st.integers(0, 2))
    states = draw(st.booleans())
    for place, (column, declared) in enumerate(shape.columns.items()):
        values = content(declared.dtype, (rows, *declared.trailing), variant and variant + 3 * place)
        if column == shape.target:
            values = values % np.uint64(max(1, rows))
        block[column] = values
        if declared.nullable:
            block.set_validity(column, draw(masks(rows)))
        if states and declared.precision is not None:
            block.set_precision(column, declared.precision)
    if states and shape.structural_shape is not None:
        block.structural_shape = shape.structural_shape
    if states and shape.target is not None:
        block.set_target(shape.target, name)
    return block


def _step(draw: st.DrawFn, shape: RunShape, ordinal: int, last: int | None) -> int | None:
    kind, start, stride = shape.steps
    if kind == "auto":
        return None
    regular = start + ordinal * stride
    if kind == "regular" and (last is None or last < regular <= _LAST_STEP - 1000):
        return regular
    if last is None:
        return start
    step = last + draw(st.one_of(st.integers(1, 3), st.integers(1, 2**62)))
    return step if step <= _LAST_STEP - 1000 else last + 1


def _time(draw: st.DrawFn, shape: RunShape, ordinal: int) -> float | None:
    kind, start, stride = shape.times
    if kind == "none":
        return None
    regular = start + float(ordinal) * stride
    return regular if kind == "regular" or draw(st.booleans()) else draw(st.floats())


@st.composite
def presentations(draw: st.DrawFn, shape: RunShape, ordinal: int, last_step: int | None) -> Presentation:
    """Return what frame `ordinal` of a run may present after a frame at `last_step`."""
    frame = mr.Frame()
    for name, block in shape.blocks.items():
        if draw(st.integers(0, 3)) < 3:
            frame[name] = draw(_presented_blocks(name, block, ordinal))
    for key, tag in shape.meta.items():
        if key not in shape.fills or draw(st.booleans()):
            frame.meta.set(key, draw(meta_values(tag)), tag=tag)
    if shape.cells == "fixed" or (shape.cells == "some" and draw(st.booleans())):
        frame.box = mr.Box(np.eye(3) * 10.0) if shape.cells == "fixed" else draw(boxes())
    elif shape.cells == "undefined" and draw(st.booleans()):
        frame.box = draw(undefined_boxes())
    return Presentation(frame, _step(draw, shape, ordinal, last_step), _time(draw, shape, ordinal))


@st.composite
def runs(draw: st.DrawFn, max_frames: int = 8) -> Run:
    """Return any trajectory: presence, emptiness, growth, cells, steps, times, fills and repeats at random."""
    run = Run(draw(run_shapes()))
    last: int | None = None
    for ordinal in range(draw(st.integers(0, max_frames))):
        presented = draw(presentations(run.shape, ordinal, last))
        run.presented.append(presented)
        last = presented.step if presented.step is not None else (0 if last is None else last + 1)
    return run
