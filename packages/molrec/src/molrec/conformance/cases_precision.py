"""Cases of declared precision in frames (``docs/spec/frame.md``, declared precision)."""

from __future__ import annotations

import math

import numpy as np

from molrec.conformance import looks, tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.content import Column, Frame
from molrec.conformance.making import block, column, f64, frame, i64, strings
from molrec.conformance.values import edges

__all__ = ["CASES"]


def _atoms(**columns: Column) -> Frame:
    return frame({"atoms": block(columns)})


_PRECISE = _atoms(x=f64(0.0014, -0.0014, 1.0, 123.4567, precision=1e-3), y=f64(0.1, 0.2, 0.3, 0.4))
CASES: tuple[Case, ...] = (
    Case(
        "precision-rounds-on-write",
        "frame.md#declared-precision",
        "values of a declared precision are stored on the binary grid",
        (
            Example("", _PRECISE, looks=(looks.ArrayHolds("frame/atoms/x", np.array([2.0**-10, -(2.0**-10), 1.0])),)),
            Example("trailing axes", _atoms(v=column("f64", [[0.3, -0.3], [7.77, 1e9]], precision=0.25))),
        ),
    ),
    Case(
        "precision-declaration-survives",
        "frame.md#declared-precision",
        "a column says its precision, which is that declared and not its quantum",
        (
            Example(
                "",
                _PRECISE,
                looks=(
                    looks.AttributeIs("frame/atoms/x", "precision", 1e-3),
                    looks.NoAttribute("frame/atoms/y", "precision"),
                ),
            ),
        ),
    ),
    Case(
        "precision-edge-values",
        "frame.md#declared-precision",
        "NaN, infinities, -0.0 and 2^52 quanta stay; ties go to the even multiple; a zero keeps its sign",
        (
            Example(
                "",
                _atoms(
                    x=f64(
                        math.nan,
                        math.inf,
                        -math.inf,
                        0.0,
                        -0.0,
                        1.25,
                        1.75,
                        -1.25,
                        -1.75,
                        -0.2,
                        0.2,
                        0.25,
                        -0.25,
                        2.0**51 + 0.5,
                        2.0**51,
                        1e300,
                        5e-324,
                        0.75,
                        precision=0.5,
                    )
                ),
            ),
            Example(
                "bounds",
                _atoms(
                    x=f64(1.0, 0.0, -3.0, 1e300, precision=2.0**-1000),
                    y=f64(0.0, 1.0, 3e301, -1e301, precision=2.0**1000),
                ),
            ),
        ),
    ),
    Case(
        "precision-shuffle-zstd-decodes",
        "zarr.md#codecs",
        "no codec stands outside the must-decode set, and zarr-python decodes what is written",
        (
            Example(
                "",
                _atoms(x=column("f64", np.arange(3000) * 0.37, precision=1e-3), name=strings(*["CA"] * 3000)),
                looks=(
                    looks.Decodable("frame/atoms/x"),
                    looks.Decodable("frame/atoms/name"),
                    looks.ArrayHolds("frame/atoms/x", np.rint(np.arange(3000) * 0.37 * 1024) / 1024),
                ),
            ),
        ),
    ),
    Case(
        "reject-precision-on-non-f64",
        "frame.md#declared-precision",
        "only an f64 column declares a precision",
        (
            *(
                Example(dtype, _atoms(a=Column(dtype, edges(dtype, 2), None, 1e-3)), refused=True)
                for dtype in ("i64", "c128", "string")
            ),
            Example(
                "stored",
                _atoms(n=i64(1, 2)),
                edits=(tamper.attribute("frame/atoms/n", "precision", 1e-3),),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-precision-out-of-bounds",
        "frame.md#declared-precision",
        "a precision is finite and within 2^-1000 and 2^1000",
        (
            *(
                Example(repr(value), _atoms(x=f64(1.0, precision=value)), refused=True)
                for value in (0.0, -1.0, math.inf, math.nan, 2.0**-1001, 1.01 * 2.0**1000)
            ),
            *(
                Example(
                    f"stored {value!r}",
                    _PRECISE,
                    edits=(tamper.attribute("frame/atoms/x", "precision", value),),
                    refused=True,
                )
                for value in (0, -1.0, "Infinity", "0.001", True)
            ),
        ),
    ),
)
