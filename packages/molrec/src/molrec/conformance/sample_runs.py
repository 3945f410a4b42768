"""Frames that several modules of cases make runs of."""

from __future__ import annotations

import numpy as np

from molrec.conformance.content import Column, Frame
from molrec.conformance.making import block, f64, frame, u64
from molrec.conformance.values import DTYPES, edges

__all__ = [
    "EMPTY",
    "EVERY_DTYPE",
    "FOUR",
    "GROWING",
    "MOVED",
    "NOTHING",
    "NULLABLE",
    "POINTING",
    "SIX",
    "THREE",
    "atoms",
    "moving",
    "precise",
]


def atoms(*values: float, **columns: Column) -> Frame:
    """Return a frame of atoms at some places."""
    return frame({"atoms": block({"x": f64(*values), **columns})})


def moving(count: int, rows: int = 3) -> list[Frame]:
    """Return frames of atoms that are elsewhere in each."""
    return [atoms(*(ordinal + 0.25 * row for row in range(rows))) for ordinal in range(count)]


THREE = atoms(0.0, 1.0, 2.0)
FOUR = atoms(0.0, 1.0, 2.0, 3.0)
MOVED = atoms(0.5, 1.5, 2.5)
NOTHING = frame()
EMPTY = frame({"atoms": block({"x": f64()})})

NULLABLE = [
    frame(
        {
            "g": block(
                {f"c_{name}": Column(name, edges(name, 4, shift=ordinal // 2), mask) for name in DTYPES},
            )
        }
    )
    for ordinal, mask in enumerate([None, np.array([True, False, True, False]), None, np.zeros(4, np.bool_)])
]
EVERY_DTYPE = [
    frame(
        {
            "flat": block({f"c_{name}": Column(name, edges(name, 5, shift=ordinal)) for name in DTYPES}),
            "ranked": block(
                {f"c_{name}": Column(name, edges(name, 5, (2, 3), ordinal)) for name in DTYPES if name != "string"}
            ),
        }
    )
    for ordinal in range(3)
]


def precise(*values: float) -> Frame:
    """Return a frame of atoms whose places have a precision of 1e-3."""
    return frame({"atoms": block({"x": f64(*values, precision=1e-3)})})


POINTING = [
    frame({"atoms": block({"x": f64(*range(rows))}), "links": block({"to": u64(0, rows - 1)}, targets={"to": "atoms"})})
    for rows in (4, 5, 5, 3)
]


SIX = moving(6)
GROWING = [THREE, FOUR, THREE, FOUR, MOVED, FOUR]
