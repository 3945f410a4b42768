"""Cells of structures and boxes of frames: rows of one are columns of the other."""

from __future__ import annotations

import numpy as np

from molrec.dtypes import Array
from molrec.model.box import Box

__all__ = ["box_of_cell", "cell_of_box"]

type Periodicity = tuple[bool, bool, bool]


def cell_of_box(box: Box | None) -> tuple[Array, Periodicity]:
    """Return a cell, whose rows are the vectors, zeros where there is none, and which vectors repeat."""
    if box is None or not box.cell_defined:
        return np.zeros((3, 3)), (False, False, False)
    first, second, third = box.boundary.tolist()
    return np.ascontiguousarray(box.vectors.T), (first, second, third)


def box_of_cell(cell: Array, pbc: Periodicity) -> tuple[Box | None, bool]:
    """Return the box of a cell, and whether it says all the cell says.

    Missing vectors are completed by ASE's rule, unit vectors at right angles, and do not repeat; a cell that spans no
    volume has no box.
    """
    vectors = np.asarray(cell, dtype=np.float64)
    boundary = np.array(pbc, dtype=np.bool_)
    present = vectors.any(axis=1)
    if not present.any() and not boundary.any():
        return None, True
    if not np.isfinite(vectors).all() or np.linalg.matrix_rank(vectors) < present.sum() or not present.any():
        return None, False
    if present.all():
        return Box(vectors.T, boundary=boundary), True
    from ase.cell import Cell

    completed: Array = np.array(Cell(vectors).complete().array)
    if not np.isfinite(completed).all() or np.linalg.matrix_rank(completed) < 3:
        return None, False
    return Box(completed.T, boundary=boundary & present), False
