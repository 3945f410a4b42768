"""Cases of stored runs: reopening, what a crash leaves, chunks and codecs (``docs/spec/commit.md``, ``zarr.md``)."""

from __future__ import annotations

import numpy as np

from molrec.conformance import looks, making, tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.making import block, declared, f64, frame, run
from molrec.conformance.sample_runs import (
    GROWING,
    MOVED,
    NOTHING,
    NULLABLE,
    SIX,
    THREE,
    moving,
)

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    Case(
        "reopen",
        "commit.md#reopening",
        "a run that is continued reads as one that was not",
        (
            Example("regular", run(SIX, steps=range(0, 60, 10), times=[0.5 * i for i in range(6)], continued_at=2)),
            Example(
                "ragged",
                run(GROWING, continued_at=3),
                looks=(
                    looks.UpdatesAre(
                        "atoms",
                        (
                            0,
                            1,
                            2,
                            3,
                            4,
                            5,
                        ),
                    ),
                ),
            ),
            Example(
                "equal update",
                run([THREE, MOVED, MOVED, THREE], continued_at=2),
                looks=(
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
            Example("masks", run(NULLABLE, continued_at=2)),
            Example(
                "equal update with masks",
                run([NULLABLE[0], NULLABLE[1], NULLABLE[1], NULLABLE[3]], declared(NULLABLE), continued_at=2),
                looks=(looks.UpdatesAre("g", (0, 1, 3)),),
            ),
            Example("not yet begun", run(SIX, continued_at=0)),
            Example(
                "all at once",
                run(
                    [
                        frame({"atoms": block({"x": f64(*range(rows), precision=0.25)})}, cell=making.box(5.0 + cell))
                        for rows, cell in ((3, 0), (3, 0), (4, 0), (4, 1), (4, 1), (2, 2))
                    ],
                    steps=[0, 1, 2, 5, 6, 9],
                    times=[0.0, 0.1, 0.2, 0.5, 0.6, 0.9],
                    continued_at=3,
                ),
            ),
        ),
    ),
    Case(
        "uncommitted-tail",
        "trajectory.md#nstep-and-logical-length",
        "what a killed writer left past the last commit is not read",
        (
            Example(
                "regular",
                run(SIX),
                expected=run(SIX[:4]),
                edits=(tamper.attribute("trajectory", "nstep", 4),),
            ),
            Example(
                "ragged",
                run(GROWING, steps=[0, 1, 5, 6, 7, 9], times=[0.0, 0.3, 0.4, 0.5, 0.6, 0.9]),
                expected=run(GROWING[:3], steps=[0, 1, 5], times=[0.0, 0.3, 0.4]),
                edits=(tamper.attribute("trajectory", "nstep", 3),),
            ),
            Example("long array", run(SIX), edits=(tamper.array("trajectory/step", "i8", range(100, 110)),)),
            Example(
                "no marker",
                run(GROWING[:3], steps=[0, 1, 5]),
                edits=(tamper.drop("trajectory", "nstep"),),
            ),
        ),
    ),
    Case(
        "half-way-to-ragged",
        "trajectory.md#from-regular-to-ragged",
        "a writer that was killed between the index arrays and the markers leaves both: the arrays count",
        (
            Example(
                "",
                run(GROWING),
                edits=(
                    tamper.attribute("trajectory/atoms", "uniform_rows", 3),
                    tamper.attribute("trajectory/atoms", "dense_updates", value=True),
                ),
            ),
            Example(
                "index alone, uncommitted",
                run(SIX),
                edits=(tamper.array("trajectory/atoms/step_index", "u8", range(6)),),
            ),
        ),
    ),
    Case(
        "reopen-after-crash",
        "commit.md#reopening",
        "a run is continued after its last committed frame, over whatever lies beyond",
        (
            Example(
                "regular",
                run([*SIX[:4], *moving(2)], steps=[0, 1, 2, 3, 7, 8], continued_at=4),
                expected=run([*SIX[:2], *moving(2)], steps=[0, 1, 7, 8]),
                edits=(tamper.attribute("trajectory", "nstep", 2),),
            ),
            Example(
                "ragged",
                run([*GROWING[:4], THREE, NOTHING], steps=[0, 1, 2, 3, 7, 8], continued_at=4),
                expected=run([*GROWING[:2], THREE, NOTHING], steps=[0, 1, 7, 8]),
                edits=(tamper.attribute("trajectory", "nstep", 2),),
            ),
        ),
    ),
    Case(
        "chunks-and-codecs",
        "zarr.md#codecs",
        "arrays of any chunking and any codec of the must-decode set are read",
        tuple(
            Example(
                codec,
                run(SIX),
                edits=(
                    tamper.array(
                        "trajectory/atoms/x",
                        "f8",
                        np.concatenate([np.asarray(each.blocks["atoms"].columns["x"].values) for each in SIX]),
                        codec=codec,
                    ),
                ),
            )
            for codec in ("zstd", "gzip", "none", "big", "chunks", "sharded")
        ),
    ),
)
