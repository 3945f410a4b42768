"""Cells of foreign files: lattice vectors, or lengths and angles, to a `Box`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from molrec.formats.notes import Notes
from molrec.model.box import Box

__all__ = ["FlatCellError", "box_of_vectors", "vectors_of_lengths"]


class FlatCellError(ValueError):
    """Vectors that span no volume; whoever reads the file says where they stand."""


def box_of_vectors(vectors: npt.ArrayLike, notes: Notes) -> Box:
    """Return the box of a file that writes zeros for what it does not have.

    All zero is no cell. A direction of length zero is not periodic, and a unit vector stands there.

    Args:
        vectors: ``(3, 3)``, the columns are the lattice vectors.
        notes: Told about directions of length zero.

    Raises:
        FlatCellError: The vectors are not finite or lie in one plane.
    """
    matrix = np.array(vectors, dtype=np.float64)
    boundary = matrix.any(axis=0)
    if not boundary.any():
        return Box(cell_defined=False)
    if not boundary.all():
        notes.changed("box", "has directions of length zero; they are not periodic, and a unit vector stands there")
        matrix[:, ~boundary] = np.eye(3)[:, ~boundary]
    if not np.isfinite(matrix).all() or np.linalg.matrix_rank(matrix) < 3:
        raise FlatCellError(f"the cell {matrix.T.tolist()} spans no volume")
    return Box(matrix, boundary=boundary)


def vectors_of_lengths(lengths: npt.ArrayLike, cosines: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return lattice vectors, as columns, with the first along x and the second in the xy plane.

    Args:
        lengths: Lengths of the three vectors; zeros, for no cell, give zeros.
        cosines: Cosines of alpha (between the second and third), beta (first, third) and gamma (first, second).

    Raises:
        FlatCellError: The angles fit no cell.
    """
    a, b, c = np.array(lengths, dtype=np.float64).tolist()
    alpha, beta, gamma = np.array(cosines, dtype=np.float64).tolist()
    if not (a or b or c):
        return np.zeros((3, 3))
    sine = np.sqrt(max(1.0 - gamma**2, 0.0))
    if not sine:
        raise FlatCellError(f"a cell with the cosine {gamma} between its first two vectors spans no volume")
    y = (alpha - beta * gamma) / sine
    square = 1.0 - beta**2 - y**2
    if not square > 0:
        raise FlatCellError(f"no cell has the angles with the cosines {alpha}, {beta}, {gamma}")
    return np.array([[a, b * gamma, c * beta], [0.0, b * sine, c * y], [0.0, 0.0, c * np.sqrt(square)]])
