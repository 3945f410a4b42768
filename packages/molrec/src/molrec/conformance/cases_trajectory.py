"""Cases of trajectories: the three states, both stored forms, the declaration (``docs/spec/trajectory.md``)."""

from __future__ import annotations

import numpy as np

from molrec.conformance import looks, tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.making import block, column, declared, f64, frame, run, strings, u64
from molrec.conformance.sample_runs import (
    EMPTY,
    EVERY_DTYPE,
    FOUR,
    MOVED,
    NOTHING,
    NULLABLE,
    POINTING,
    THREE,
    atoms,
    moving,
    precise,
)

__all__ = ["CASES"]

_STATES = (
    Case(
        "three-states",
        "trajectory.md#three-states",
        "a block is absent until its first update, empty after one without rows, else present",
        (
            Example(
                "",
                run([NOTHING, THREE, EMPTY, NOTHING, NOTHING, FOUR, NOTHING], declared([THREE])),
                looks=(
                    looks.ArrayHolds("trajectory/atoms/step_index", np.array([1, 2, 5], np.uint64)),
                    looks.ArrayHolds("trajectory/atoms/offset", np.array([0, 3, 3, 7], np.uint64)),
                    looks.NoAttribute("trajectory/atoms", "uniform_rows"),
                ),
            ),
        ),
    ),
    Case(
        "block-never-given",
        "trajectory.md#finding-an-update",
        "a declared block without any update is absent everywhere, and its columns are there",
        (
            Example(
                "",
                run(
                    moving(2),
                    declared(
                        [*moving(1), frame({"never": block({"v": column("f64", np.zeros((1, 3))), "s": strings("")})})]
                    ),
                ),
                looks=(
                    looks.Decodable("trajectory/never/v"),
                    looks.Decodable("trajectory/never/s"),
                ),
            ),
        ),
    ),
    Case(
        "carry-forward",
        "trajectory.md#three-states",
        "what a frame omits stands as it was",
        (
            Example(
                "",
                run(
                    [
                        frame({**THREE.blocks, "bonds": block({"atomi": u64(0), "atomj": u64(1)})}),
                        MOVED,
                        NOTHING,
                        THREE,
                    ]
                ),
                looks=(
                    looks.UpdatesAre("bonds", (0,)),
                    looks.UpdatesAre(
                        "atoms",
                        (
                            0,
                            1,
                            3,
                        ),
                    ),
                ),
            ),
            Example(
                "updates stop",
                run([*moving(3), NOTHING, NOTHING]),
                looks=(
                    looks.UpdatesAre(
                        "atoms",
                        (
                            0,
                            1,
                            2,
                        ),
                    ),
                ),
            ),
        ),
    ),
    Case(
        "equal-update-not-stored",
        "trajectory.md#three-states",
        "a block equal to its previous update, to the bit, is no update; -0.0 for 0.0 is one, NaN for NaN is none",
        (
            Example(
                "",
                run([atoms(0.0, np.nan), atoms(0.0, np.nan), atoms(-0.0, np.nan), atoms(-0.0, np.nan)]),
                looks=(
                    looks.UpdatesAre(
                        "atoms",
                        (
                            0,
                            2,
                        ),
                    ),
                ),
            ),
            Example(
                "one column",
                run([atoms(0.0, s=strings("a")), atoms(0.0, s=strings("b")), atoms(0.0, s=strings("b"))]),
                looks=(
                    looks.UpdatesAre(
                        "atoms",
                        (
                            0,
                            1,
                        ),
                    ),
                ),
            ),
        ),
    ),
    Case(
        "regular-form",
        "trajectory.md#finding-an-update",
        "while every frame updates the same number of rows there are two attributes and no index",
        (
            Example(
                "",
                run(moving(5)),
                looks=(
                    looks.AttributeIs("trajectory/atoms", "uniform_rows", 3),
                    looks.AttributeIs("trajectory/atoms", "dense_updates", value=True),
                    looks.NoNode("trajectory/atoms/step_index"),
                    looks.NoNode("trajectory/atoms/offset"),
                    looks.AttributeIs("trajectory", "nstep", 5),
                ),
            ),
        ),
    ),
    Case(
        "ragged-growth",
        "trajectory.md#from-regular-to-ragged",
        "the first irregular update moves a block to index arrays, with its whole history, for good",
        (
            Example(
                "",
                run([*moving(3), atoms(*range(5)), atoms(), *moving(2)], continued_at=3),
                looks=(
                    looks.NoAttribute("trajectory/atoms", "uniform_rows"),
                    looks.NoAttribute("trajectory/atoms", "dense_updates"),
                    looks.ArrayHolds("trajectory/atoms/offset", np.array([0, 3, 6, 9, 14, 14, 17, 20], np.uint64)),
                ),
            ),
            Example("after a gap", run([*moving(2), NOTHING, FOUR, NOTHING, THREE])),
        ),
    ),
    Case(
        "run-columns",
        "trajectory.md#layout",
        "runs hold every dtype, trailing axes, masks that come and go, grids, and blocks without columns",
        (
            Example("dtypes", run(EVERY_DTYPE)),
            Example("masks", run(NULLABLE)),
            Example(
                "grid",
                run([frame({"grid": block({"rho": f64(*range(k, k + 6))}, shape=(1, 2, 3))}) for k in range(3)]),
            ),
            Example("bare", run([frame({"sites": block(rows=rows)}) for rows in (2, 2, 3, 0)])),
        ),
    ),
    Case(
        "zero-frames",
        "trajectory.md#nstep-and-logical-length",
        "a run may have no frame",
        (Example("", run([], declared([THREE]))),),
    ),
    Case(
        "unknown-content",
        "record.md#unknown-content",
        "what the declaration does not name is passed over",
        (
            Example(
                "",
                run(moving(2)),
                edits=(
                    tamper.group("trajectory/strange"),
                    tamper.array("trajectory/atoms/strange", "f4", [1.0]),
                    tamper.field("trajectory", "/attributes/sequence_schema/note", "kept"),
                ),
            ),
        ),
    ),
)


_DECLARATION = (
    Case(
        "precision-in-sequence-schema",
        "trajectory.md#the-sequence-schema",
        "the precision of a run's column stands in its declaration and nowhere else",
        (
            Example(
                "",
                run([precise(0.0014, 5.0), precise(1.0014, 5.0), precise(2.0014, 5.0)]),
                looks=(
                    looks.NoAttribute("trajectory/atoms/x", "precision"),
                    looks.AttributeIs("trajectory", "sequence_schema/blocks/atoms/columns/x/precision", 1e-3),
                    looks.Decodable("trajectory/atoms/x"),
                ),
            ),
        ),
    ),
    Case(
        "precision-sub-quantum-carries-forward",
        "trajectory.md#three-states",
        "a change that rounding takes away is no update",
        (
            Example(
                "",
                run(
                    [
                        precise(1.0, 2.0),
                        precise(1.0 + 2.0**-12, 2.0),
                        precise(1.0, 2.0 - 2.0**-12),
                        precise(1.5, 2.0),
                    ]
                ),
                looks=(
                    looks.UpdatesAre(
                        "atoms",
                        (
                            0,
                            3,
                        ),
                    ),
                ),
            ),
        ),
    ),
    Case(
        "targets-pinned",
        "trajectory.md#the-sequence-schema",
        "row references are declared once and point into the resolved frame",
        (
            Example(
                "",
                run(POINTING),
                looks=(looks.NoAttribute("trajectory/links", "targets"),),
            ),
        ),
    ),
)

CASES: tuple[Case, ...] = (*_STATES, *_DECLARATION)
