"""Breaks in runs: states, updates, steps, times, fills, cells, what a crash leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from molrec.conformance.content import (
    STRING,
    Block,
    BlockDeclaration,
    Box,
    Column,
    ColumnDeclaration,
    MetaValue,
    Run,
    Trajectory,
)
from molrec.model.box import Box as ModelBox

from .conformance_breaking import Change, Mutation, Patch, always, each, frames
from .conformance_mutations_frame import rounding

replace = dataclasses.replace


def _state(change: Callable[[Any, Any, dict[str, Block]], dict[str, Block]]) -> Change:
    """Return a change of the blocks of resolved frames, given the run, the ordinal and the blocks."""

    def changed(run: Trajectory) -> Trajectory:
        steps = [
            replace(step, frame=replace(step.frame, blocks=change(run, ordinal, dict(step.frame.blocks))))
            for ordinal, step in enumerate(run.frames)
        ]
        return replace(run, frames=steps)

    return frames(changed)


def _empty_for_absent(run: Trajectory, _: int, blocks: dict[str, Block]) -> dict[str, Block]:
    assert run.schema is not None
    for name, entry in run.schema.blocks.items():
        columns = {
            column: Column(one.dtype, np.zeros((0, *one.trailing), STRING if one.dtype == "string" else "f8"))
            for column, one in entry.columns.items()
        }
        blocks.setdefault(name, Block(0, None, columns))
    return blocks


def _only_updates(run: Trajectory, ordinal: int, blocks: dict[str, Block]) -> dict[str, Block]:
    updates = run.frames[ordinal].updates or {}
    return {name: block for name, block in blocks.items() if updates.get(name) == ordinal}


def _boxes(change: Callable[[Box | None, Box | None], Box | None]) -> Change:
    """Return a change of the boxes of a run, given that of the frame before and its own."""

    def changed(run: Trajectory) -> Trajectory:
        before: Box | None = None
        steps = []
        for step in run.frames:
            own = step.frame.box
            steps.append(replace(step, frame=replace(step.frame, box=change(before, own))))
            before = own
        return replace(run, frames=steps)

    return frames(changed)


def _same_box(one: Box | None, other: Box | None) -> bool:
    return one is not None and other is not None and bool(np.array_equal(one.vectors, other.vectors))


def _steps(change: Callable[[int, int], int]) -> Change:
    def changed(run: Trajectory) -> Trajectory:
        steps = [change(ordinal, step) for ordinal, step in enumerate(run.steps)]
        return replace(run, steps=steps, frames=[replace(f, step=s) for f, s in zip(run.frames, steps, strict=True)])

    return frames(changed)


def _times(change: Callable[[float], float | None]) -> Change:
    def changed(run: Trajectory) -> Trajectory:
        if run.times is None:
            return run
        times = [change(time) for time in run.times]
        kept: Any = None if None in times else times
        return replace(run, times=kept, frames=[replace(f, time=t) for f, t in zip(run.frames, times, strict=True)])

    return frames(changed)


def _fused(original: Any) -> Any:
    def at(self: Any, count: int) -> Any:
        wide = np.longdouble(self.start) + np.arange(count).astype(np.longdouble) * np.longdouble(self.stride or 0.0)
        return wide.astype(np.float64)

    return at


def _unfilled(run: Run) -> Run:
    blanks: dict[str, Any] = {"f64": 0.0, "json": {}, "f64x3": (0.0, 0.0, 0.0)}
    missing = {
        key: MetaValue(entry.tag, blanks[entry.tag])
        for key, entry in run.schema.meta.items()
        if entry.fill is not None and entry.tag in blanks
    }
    return replace(
        run, frames=[replace(one, frame=replace(one.frame, meta=missing | one.frame.meta)) for one in run.frames]
    )


def _whole_array(original: Any) -> Any:
    def read(self: Any, where: str) -> Any:
        steps = self._source.get("trajectory/step/zarr.json")
        if steps is None:
            return original(self, where)
        import json

        return json.loads(bytes(steps))["shape"][0]

    return read


def _markers_win(original: Any) -> Any:
    def read(self: Any, nstep: int) -> Any:
        from molrec.model.carry_forward import UpdateIndex

        rows = self._read_markers()
        if rows is None:
            return original(self, nstep)
        return UpdateIndex.regular(rows, min(reader.layout.rows for reader in self.columns.values()), nstep)

    return read


def _by_number(original: Any) -> Any:
    def equals(self: Any, other: Any) -> bool:
        return self.rows == other.rows and all(
            np.array_equal(one, other.columns[name], equal_nan=one.dtype.kind in "fc")
            for name, one in self.columns.items()
        )

    return equals


def _differently_when_nan(original: Any) -> Any:
    def equals(self: Any, other: Any) -> bool:
        return original(self, other) and not any(
            one.dtype.kind == "f" and np.isnan(one).any() for one in self.columns.values()
        )

    return equals


def _elsewhere(run: Run) -> Run:
    """Restate a frame's blocks in the order of the frame before: only the first frame is told."""
    return replace(run, frames=[*run.frames[:1], *(replace(f, frame=run.frames[0].frame) for f in run.frames[1:])])


_EQUALS = "molrec.model.presentation:Presentation.equals"
TRAJECTORY = (
    Mutation("an absent block is read as empty", "three-states", returned=_state(_empty_for_absent)),
    Mutation(
        "an empty block is read as absent",
        "three-states",
        returned=_state(lambda _r, _i, blocks: {name: one for name, one in blocks.items() if one.rows}),
    ),
    Mutation("what a frame omits is gone", "carry-forward", returned=_state(_only_updates)),
    Mutation("only the first frame is kept", "carry-forward", written=each(Run, _elsewhere)),
    Mutation("equal updates are stored", "equal-update-not-stored", (Patch(_EQUALS, always(value=False)),)),
    Mutation("-0.0 for 0.0 is no update", "equal-update-not-stored", (Patch(_EQUALS, _by_number),)),
    Mutation("NaN is never equal to itself", "equal-update-not-stored", (Patch(_EQUALS, _differently_when_nan),)),
    Mutation(
        "changes are looked for before rounding",
        "precision-sub-quantum-carries-forward",
        rounding(lambda x, _: x),
    ),
    Mutation(
        "steps of a progression are off by one",
        "steps-progression",
        (
            Patch(
                "molrec.model.progression:StepProgression.values",
                lambda original: lambda self, count: original(self, count) + 1,
            ),
        ),
    ),
    Mutation("steps are i32", "steps-array", returned=_steps(lambda _, step: int(np.int64(step).astype(np.int32)))),
    Mutation(
        "times are multiplied and added in one rounding",
        "times-progression",
        (Patch("molrec.model.progression:TimeProgression.values", _fused),),
    ),
    Mutation("times are dropped", "times-progression", returned=_times(lambda _: None)),
    Mutation("times are f32", "times-array", returned=_times(lambda time: float(np.float32(time)))),
    Mutation("fills are blanks of the tag", "per-step-fill", written=each(Run, _unfilled)),
    Mutation(
        "a cell is not carried",
        "cell-fixed",
        returned=_boxes(lambda before, own: None if _same_box(before, own) else own),
    ),
    Mutation(
        "a change of flags is no change of the cell",
        "cell-changes",
        (
            Patch(
                "molrec.model.box:Box.__eq__",
                lambda original: (
                    lambda self, other: isinstance(other, ModelBox) and np.array_equal(self.vectors, other.vectors)
                ),
            ),
        ),
    ),
    Mutation(
        "a late cell is carried backwards",
        "cell-changes",
        returned=frames(
            lambda run: replace(
                run,
                frames=[
                    replace(
                        step,
                        frame=replace(
                            step.frame,
                            box=step.frame.box
                            or next((other.frame.box for other in run.frames if other.frame.box), None),
                        ),
                    )
                    for step in run.frames
                ],
            )
        ),
    ),
    Mutation(
        "frames are counted by the step array",
        "uncommitted-tail",
        (Patch("molrec.storage.zarr.trajectory_reader:TrajectoryReader._read_nstep", _whole_array),),
    ),
    Mutation(
        "markers count where arrays are",
        "half-way-to-ragged",
        (Patch("molrec.storage.zarr.block_reader:BlockReader._read_index", _markers_win),),
    ),
    Mutation(
        "alignment is not declared",
        "aligned-carries-forward",
        written=each(BlockDeclaration, lambda one: replace(one, aligned_with=None)),
    ),
    Mutation(
        "nullable is not declared",
        "run-columns",
        returned=each(ColumnDeclaration, lambda one: replace(one, nullable=False)),
    ),
    Mutation(
        "targets are not pinned", "targets-pinned", written=each(BlockDeclaration, lambda one: replace(one, targets={}))
    ),
)
