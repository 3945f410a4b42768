"""Cases of what varies from step to step beside blocks: steps, times, per-step meta, the cell (``trajectory.md``)."""

from __future__ import annotations

import math

import numpy as np

from molrec.conformance import looks, making, tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.content import Box, Frame, MetaDeclaration, Run, Schema
from molrec.conformance.making import block, box, declared, f64, frame, meta, run
from molrec.conformance.values import META

__all__ = ["CASES"]

_TRICLINIC = [[10.0, 1.5, -2.25], [0.0, 9.0, 0.125], [0.0, 0.0, 11.0]]


def _frames(count: int) -> list[Frame]:
    return [frame({"atoms": block({"x": f64(ordinal, 0.5)})}) for ordinal in range(count)]


_STRIDE = (0.3 + 0.1) - 0.3

_LABELS = (
    Case(
        "steps-progression",
        "trajectory.md#progressions",
        "steps that follow a progression are an attribute and no array",
        (
            Example(
                "",
                run(_frames(5), steps=range(5, 55, 10)),
                looks=(
                    looks.AttributeIs("trajectory", "step_progression", {"start": 5, "stride": 10}),
                    looks.NoNode("trajectory/step"),
                    looks.NoNode("trajectory/time"),
                ),
            ),
            Example(
                "one frame",
                run(_frames(1), steps=[7], times=[0.25]),
                looks=(
                    looks.AttributeIs("trajectory", "step_progression", {"start": 7}),
                    looks.AttributeIs("trajectory", "time_progression", {"start": 0.25}),
                ),
            ),
        ),
    ),
    Case(
        "steps-array",
        "trajectory.md#progressions",
        "the first step off the progression writes the array, with the whole history, and ends the attribute",
        (
            Example(
                "",
                run(_frames(6), steps=[0, 10, 20, 30, 41, 50], continued_at=4),
                looks=(
                    looks.ArrayHolds("trajectory/step", np.array([0, 10, 20, 30, 41, 50])),
                    looks.NoAttribute("trajectory", "step_progression"),
                ),
            ),
            Example("limits", run(_frames(5), steps=[-(2**63), -5, 0, 2**53 + 1, 2**63 - 1])),
        ),
    ),
    Case(
        "times-progression",
        "trajectory.md#progressions",
        "times follow a progression of one product and one sum, each rounded, to the bit",
        (
            Example(
                "",
                run(_frames(4), times=[0.5 * i for i in range(4)]),
                looks=(
                    looks.AttributeIs("trajectory", "time_progression", {"start": 0.0, "stride": 0.5}),
                    looks.NoNode("trajectory/time"),
                ),
            ),
            Example(
                "rounded twice",
                run(_frames(40), times=[0.3 + float(i) * _STRIDE for i in range(40)]),
                looks=(looks.AttributeIs("trajectory", "time_progression", {"start": 0.3, "stride": _STRIDE}),),
            ),
        ),
    ),
    Case(
        "times-array",
        "trajectory.md#progressions",
        "times off the progression by a bit, or not finite, are an array",
        (
            Example(
                "by a bit",
                run(_frames(4), times=[0.0, 0.1, 0.2, 0.3]),
                looks=(
                    looks.ArrayHolds("trajectory/time", np.array([0.0, 0.1, 0.2, 0.3])),
                    looks.NoAttribute("trajectory", "time_progression"),
                ),
            ),
            Example("not finite", run(_frames(4), times=[math.nan, -math.inf, -0.0, math.nan])),
            Example("late", run(_frames(6), times=[0.0, 0.5, 1.0, 1.5, 9.0, 9.5], continued_at=3)),
        ),
    ),
    Case(
        "progression-governs",
        "trajectory.md#progressions",
        "while a progression is stated, an array of that name says nothing",
        (
            Example(
                "",
                run(_frames(3), times=[0.0, 0.5, 1.0]),
                edits=(
                    tamper.array("trajectory/step", "i8", [7, 8, 9]),
                    tamper.array("trajectory/time", "f8", [7.0, 8.0, 9.0]),
                ),
            ),
        ),
    ),
    Case(
        "reject-step-not-increasing",
        "trajectory.md#steps-and-times",
        "steps increase strictly",
        (
            Example("equal", run(_frames(2), steps=[3, 3]), refused=True),
            Example("smaller", run(_frames(2), steps=[3, 2]), refused=True),
            Example(
                "stored",
                run(_frames(3), steps=[0, 1, 5]),
                edits=(tamper.array("trajectory/step", "i8", [0, 5, 1]),),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-time-gained",
        "trajectory.md#steps-and-times",
        "a run that began without times gets none",
        (Example("", run(_frames(2), times=[None, 1.0]), refused=True),),
    ),
    Case(
        "reject-time-dropped",
        "trajectory.md#steps-and-times",
        "a run that began with times has one in every frame",
        (Example("", run(_frames(2), times=[0.0, None]), refused=True),),
    ),
    Case(
        "reject-malformed-progression",
        "trajectory.md#progressions",
        "a progression gives the steps of its run, in integers",
        tuple(
            Example(
                name,
                run(_frames(3)),
                edits=(tamper.attribute("trajectory", "step_progression", value),),
                refused=True,
            )
            for name, value in (
                ("no stride", {"start": 0}),
                ("stride 0", {"start": 0, "stride": 0}),
                ("real", {"start": 0.5, "stride": 1}),
                ("past i64", {"start": 2**63 - 2, "stride": 1}),
                ("no object", [0, 1]),
            )
        ),
    ),
    Case(
        "reject-progression-without-nstep",
        "trajectory.md#nstep-and-logical-length",
        "a progression without the commit marker is refused",
        (Example("", run(_frames(3)), edits=(tamper.drop("trajectory", "nstep"),), refused=True),),
    ),
    Case(
        "reject-no-steps",
        "trajectory.md#progressions",
        "frames without steps are refused",
        (Example("", run(_frames(3)), edits=(tamper.drop("trajectory", "step_progression"),), refused=True),),
    ),
)

_FILLS = {"pe": meta("f64", -0.0), "note": meta("json", None), "dip": meta("f64x3", (0.0, math.nan, 1.0))}


def _filled() -> Run:
    stated = {"pe": meta("f64", 2.5), "note": meta("json", {"a": [1]}), "dip": meta("f64x3", (1.0, 2.0, 3.0))}
    some = [{}, stated, {"pe": stated["pe"]}, {}]
    frames = [frame(one.blocks, meta=values) for one, values in zip(_frames(4), some, strict=True)]
    return run(frames, declared(_frames(1), **_FILLS))


_EVERY = {f"m_{tag}": meta(tag, value) for tag, value in META.items()}

_STEP_META = (
    Case(
        "per-step-meta-every-tag",
        "trajectory.md#per-step-meta",
        "every tag has its value at every step, and its array says the tag",
        (
            Example(
                "",
                run([frame(one.blocks, meta=_EVERY) for one in _frames(3)]),
                looks=(
                    *(looks.AttributeIs(f"trajectory/meta/m_{tag}", "meta_dtype", tag) for tag in META),
                    looks.ArrayHolds("trajectory/meta/m_u64", np.full(3, 2**64 - 1, np.uint64)),
                    looks.ArrayHolds("trajectory/meta/m_f64x3", np.array([[1.0, -0.0, 1e-300]] * 3)),
                ),
            ),
            Example(
                "integers past 2^53",
                run(
                    [
                        frame(one.blocks, meta={"n": meta("i64", 2**53 + 1 + k), "u": meta("u64", 2**64 - 1 - k)})
                        for k, one in enumerate(_frames(3))
                    ]
                ),
            ),
        ),
    ),
    Case(
        "per-step-fill",
        "trajectory.md#per-step-meta",
        "a key that a frame omits takes its fill, null of a json key among them",
        (
            Example(
                "",
                _filled(),
                looks=(looks.ArrayHolds("trajectory/meta/pe", np.array([-0.0, 2.5, 2.5, -0.0])),),
            ),
        ),
    ),
    Case(
        "reject-missing-meta-key",
        "trajectory.md#what-a-frame-presents",
        "a key without a fill is in every frame",
        (
            Example(
                "", run(_frames(1), Schema(declared(_frames(1)).blocks, {"pe": MetaDeclaration("f64")})), refused=True
            ),
        ),
    ),
)


def _celled(*cells: Box | None, continued_at: int | None = None) -> Run:
    frames = [Frame(one.blocks, cell, {}) for one, cell in zip(_frames(len(cells)), cells, strict=True)]
    return run(frames, continued_at=continued_at)


_FIVE = box(5.0)

_CELLS = (
    Case(
        "cell-fixed",
        "trajectory.md#cell",
        "a cell that never changes is held by attributes, defaults left out",
        (
            Example(
                "",
                _celled(_FIVE, _FIVE, _FIVE),
                looks=(
                    looks.AttributeIs("trajectory/box", "vectors", [[5.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 5.0]]),
                    looks.NoNode("trajectory/box/vectors"),
                ),
            ),
            Example("parts", _celled(*[box(_TRICLINIC, (1.0, 0.0, -0.0), (True, False, True))] * 2)),
            Example("carried", _celled(_FIVE, None, None)),
        ),
    ),
    Case(
        "cell-changes",
        "trajectory.md#cell",
        "a cell that changes is a series of its own, part by part; what is not given stands as it was",
        (
            Example(
                "",
                _celled(_FIVE, _FIVE, box(_TRICLINIC), None, box(_TRICLINIC, (0.5, 0.0, 0.0)), continued_at=2),
                looks=(
                    looks.ArrayHolds("trajectory/box/step_index", np.array([0, 2, 4], np.uint64)),
                    looks.NoAttribute("trajectory/box", "vectors"),
                ),
            ),
            Example(
                "flags", _celled(_FIVE, box(5.0, boundary=(False, True, True)), box(6.0, boundary=(False, True, True)))
            ),
            Example("begins late", _celled(None, None, _FIVE, None, box(6.0))),
        ),
    ),
    Case(
        "cell-undefined-in-run",
        "trajectory.md#cell",
        "a run without a cell may say so",
        (
            Example(
                "",
                _celled(*[making.undefined_box()] * 2),
                looks=(looks.AttributeIs("trajectory/box", "cell_defined", value=False),),
            ),
        ),
    ),
    Case(
        "reject-mixed-cells",
        "trajectory.md#cell",
        "a run has defined cells or undefined ones, not both",
        (
            Example("", _celled(_FIVE, making.undefined_box()), refused=True),
            Example("the other way", _celled(making.undefined_box(), _FIVE), refused=True),
        ),
    ),
)

CASES: tuple[Case, ...] = (*_LABELS, *_STEP_META, *_CELLS)
