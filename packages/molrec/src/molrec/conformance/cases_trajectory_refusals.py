"""Cases of runs that are refused, frames as they are appended and stores as they are read (``trajectory.md``)."""

from __future__ import annotations

import dataclasses

from molrec.conformance import making, tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.content import BlockDeclaration, ColumnDeclaration, Frame, Schema
from molrec.conformance.making import block, column, declared, f64, frame, i64, run
from molrec.conformance.sample_runs import (
    GROWING,
    POINTING,
    SIX,
    THREE,
    atoms,
    moving,
    precise,
)

__all__ = ["CASES"]


def _pinned(name: str, entry: BlockDeclaration) -> Schema:
    base = declared([THREE])
    return dataclasses.replace(base, blocks={**base.blocks, name: entry})


def _bad(name: str, frames: list[Frame], schema: Schema | None = None) -> Example:
    return Example(name, run(frames, schema), refused=True)


_ONE_COLUMN = {"v": ColumnDeclaration("f64")}

CASES: tuple[Case, ...] = (
    Case(
        "reject-frame-precision-disagrees",
        "trajectory.md#what-a-frame-presents",
        "a frame states no precision but the one pinned",
        (
            _bad("", [frame({"atoms": block({"x": f64(1.0, precision=1e-2)})})], declared([precise(1.0)])),
            _bad("where none is pinned", [precise(1.0)], declared([THREE])),
        ),
    ),
    Case(
        "reject-frame-target-disagrees",
        "trajectory.md#what-a-frame-presents",
        "a frame states no row reference but the one pinned",
        (
            _bad(
                "",
                [POINTING[0]],
                dataclasses.replace(
                    declared(POINTING),
                    blocks={**declared(POINTING).blocks, "links": BlockDeclaration({"to": ColumnDeclaration("u64")})},
                ),
            ),
        ),
    ),
    Case(
        "reject-undeclared",
        "trajectory.md#what-a-frame-presents",
        "a frame presents nothing that is not declared",
        (
            _bad("block", [frame({"other": block({"v": f64(1.0)})})], declared([THREE])),
            _bad("column", [atoms(1.0, y=f64(1.0))], declared([THREE])),
            _bad("meta", [frame(THREE.blocks, meta={"pe": making.meta("f64", 1.0)})], declared([THREE])),
        ),
    ),
    Case(
        "reject-missing-column",
        "trajectory.md#what-a-frame-presents",
        "a presented block has all its columns",
        (_bad("", [THREE], declared([atoms(1.0, y=f64(1.0))])),),
    ),
    Case(
        "reject-column-disagrees",
        "trajectory.md#what-a-frame-presents",
        "a column has the dtype and row shape declared",
        (
            _bad(
                "dtype",
                [frame({"atoms": block({"n": column("i32", [1])})})],
                declared([frame({"atoms": block({"n": i64(1)})})]),
            ),
            _bad(
                "shape",
                [frame({"atoms": block({"v": column("f64", [[1.0]])})})],
                declared([frame({"atoms": block({"v": f64(1.0)})})]),
            ),
        ),
    ),
    Case(
        "reject-mask-not-declared",
        "trajectory.md#what-a-frame-presents",
        "only a column declared nullable has nulls",
        (
            _bad("", [frame({"atoms": block({"x": f64(1.0, 2.0, validity=[True, False])})})], declared([THREE])),
            Example(
                "stored",
                run(moving(2)),
                edits=(tamper.array("trajectory/atoms/_validity/x", "bool", [True, False, True] * 2),),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-reserved-name",
        "trajectory.md#reserved-names",
        "names the layout keeps are refused where they would be used",
        (
            *(
                _bad(f"block {name}", [], _pinned(name, BlockDeclaration(_ONE_COLUMN)))
                for name in ("step", "time", "meta", "box")
            ),
            *(
                _bad(f"column {name}", [], _pinned("b", BlockDeclaration({name: ColumnDeclaration("f64")})))
                for name in ("offset", "step_index", "_validity")
            ),
            Example("frame block box", frame({"box": block({"v": f64(1.0)})}), refused=True),
            Example("frame column _validity", frame({"b": block({"_validity": f64(1.0)})}), refused=True),
        ),
    ),
    Case(
        "reject-malformed-schema",
        "trajectory.md#the-sequence-schema",
        "a run without its declaration is refused",
        (Example("", run(SIX), edits=(tamper.drop("trajectory", "sequence_schema"),), refused=True),),
    ),
    Case(
        "reject-array-disagrees",
        "trajectory.md#the-sequence-schema",
        "stored arrays have the dtype and row shape declared",
        (
            Example(
                "dtype",
                run([frame({"atoms": block({"n": i64(1, 2)})})]),
                edits=(tamper.array("trajectory/atoms/n", "i4", [1, 2]),),
                refused=True,
            ),
            Example(
                "shape", run(moving(1)), edits=(tamper.array("trajectory/atoms/x", "f8", [[1.0]] * 3),), refused=True
            ),
        ),
    ),
    Case(
        "reject-array-missing",
        "trajectory.md#nstep-and-logical-length",
        "a declared column that is not there is refused",
        (Example("", run(SIX), edits=(tamper.delete("trajectory/atoms/x"),), refused=True),),
    ),
    Case(
        "reject-array-short",
        "trajectory.md#nstep-and-logical-length",
        "an array shorter than its logical length is refused",
        (
            Example("column", run(GROWING), edits=(tamper.array("trajectory/atoms/x", "f8", range(7)),), refused=True),
            Example(
                "steps",
                run(SIX, steps=[0, 1, 2, 4, 5, 9]),
                edits=(tamper.array("trajectory/step", "i8", [0, 1, 2]),),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-elision-marker-alone",
        "trajectory.md#finding-an-update",
        "the two markers of the regular form are a pair",
        (
            Example("uniform_rows", run(SIX), edits=(tamper.drop("trajectory/atoms", "dense_updates"),), refused=True),
            Example("dense_updates", run(SIX), edits=(tamper.drop("trajectory/atoms", "uniform_rows"),), refused=True),
            Example(
                "false",
                run(SIX),
                edits=(tamper.attribute("trajectory/atoms", "dense_updates", value=False),),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-uniform-rows",
        "trajectory.md#finding-an-update",
        "uniform_rows is a positive integer that fits the stored rows",
        tuple(
            Example(
                repr(value),
                run(SIX),
                edits=(tamper.attribute("trajectory/atoms", "uniform_rows", value),),
                refused=True,
            )
            for value in (0, -3, 3.0, True, 4)
        ),
    ),
    Case(
        "reject-index-missing",
        "trajectory.md#finding-an-update",
        "rows without the arrays that say where they belong are refused",
        (
            Example("offset", run(GROWING), edits=(tamper.delete("trajectory/atoms/offset"),), refused=True),
            Example("step_index", run(GROWING), edits=(tamper.delete("trajectory/atoms/step_index"),), refused=True),
        ),
    ),
    Case(
        "reject-step-index-not-ascending",
        "trajectory.md#finding-an-update",
        "update ordinals ascend strictly",
        tuple(
            Example(
                str(index),
                run(GROWING),
                edits=(tamper.array("trajectory/atoms/step_index", "u8", index),),
                refused=True,
            )
            for index in ([0, 2, 1, 3, 4, 5], [0, 1, 1, 3, 4, 5])
        ),
    ),
    Case(
        "reject-offset-not-monotonic",
        "trajectory.md#finding-an-update",
        "offsets begin at 0 and do not descend",
        tuple(
            Example(
                str(offset), run(GROWING), edits=(tamper.array("trajectory/atoms/offset", "u8", offset),), refused=True
            )
            for offset in ([0, 7, 3, 14, 17, 17, 21], [1, 3, 7, 10, 14, 17, 21])
        ),
    ),
    Case(
        "reject-malformed-nstep",
        "trajectory.md#nstep-and-logical-length",
        "nstep is a non-negative integer",
        tuple(
            Example(repr(value), run(SIX), edits=(tamper.attribute("trajectory", "nstep", value),), refused=True)
            for value in (-1, 2.5, "6", None, True)
        ),
    ),
)
