"""The variables of bonded terms and their gradients: distance, angle, dihedral, improper.

Every function takes the displacements between the atoms of each term, so that periodic images are settled before.
`phi` has the sign of the IUPAC dihedral: cis is 0, trans pi, positive when the far bond turns clockwise against the
near one, looking along the central bond. `chi` is its absolute value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from molrec.forcefield.forms import Floats
from molrec.forcefield.periodic import Periodicity

__all__ = ["Variable", "norms", "scatter", "variables"]

type Integers = npt.NDArray[np.int64]
#: Sine of an angle below which its atoms are on one line, as far as their positions can tell.
_STRAIGHT = 1e-12


class Variable(NamedTuple):
    """One variable of many terms.

    Attributes:
        values: Float64 ``(terms,)``.
        places: Places in the row of atoms the variable depends on.
        gradients: One float64 ``(terms, 3)`` for each place: the derivative by that atom's position.
    """

    values: Floats
    places: tuple[int, ...]
    gradients: tuple[Floats, ...]


def norms(vectors: Floats) -> Floats:
    """Return the lengths of vectors ``(n, 3)``."""
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return lengths


def _dot(first: Floats, second: Floats) -> Floats:
    product: Floats = np.einsum("ij,ij->i", first, second)
    return product


def _over(vectors: Floats, scale: Floats) -> Floats:
    """Divide vectors by lengths; where a length is zero there is no direction, and the result is zero."""
    return np.divide(vectors, scale[:, None], out=np.zeros_like(vectors), where=scale[:, None] != 0.0)


def variables(names: Iterable[str], positions: Floats, atoms: Integers, cell: Periodicity) -> dict[str, Variable]:
    """Return variables of terms.

    Args:
        names: ``r``, ``theta``, ``phi``, ``chi``; of terms with several bonds also ``r12``, ``r23``, ``r34``,
            ``theta123`` and ``theta234``, by the places of the atoms.
        positions: Float64 ``(atoms, 3)``.
        atoms: Int64 ``(terms, arity)``, rows of `positions`.
        cell: The periodic directions; each bond of a term takes its nearest image.
    """
    bonds = [
        cell.nearest(positions[atoms[:, place + 1]] - positions[atoms[:, place]]) for place in range(atoms.shape[1] - 1)
    ]
    made: dict[str, Variable] = {}
    for name in names:
        match name:
            case "r" | "r12":
                made[name] = _distance(bonds[0], (0, 1))
            case "r23":
                made[name] = _distance(bonds[1], (1, 2))
            case "r34":
                made[name] = _distance(bonds[2], (2, 3))
            case "theta" | "theta123":
                made[name] = _angle(-bonds[0], bonds[1], (0, 1, 2))
            case "theta234":
                made[name] = _angle(-bonds[1], bonds[2], (1, 2, 3))
            case "phi" | "chi":
                made[name] = _dihedral(bonds[0], bonds[1], bonds[2], unsigned=name == "chi")
            case _:
                raise ValueError(f"there is no variable {name!r}")
    return made


def _distance(bond: Floats, places: tuple[int, int]) -> Variable:
    lengths = norms(bond)
    away = _over(bond, lengths)
    return Variable(lengths, places, (-away, away))


def _angle(first: Floats, second: Floats, places: tuple[int, int, int]) -> Variable:
    """Angle at the vertex, from the displacements to its two ends."""
    normal = np.cross(first, second)
    area = norms(normal)
    values = np.arctan2(area, _dot(first, second))
    # Along a straight line no direction opens the angle: the gradient there is taken as zero.
    to_first = _over(np.cross(first, normal), area * _dot(first, first))
    to_second = _over(np.cross(normal, second), area * _dot(second, second))
    return Variable(values, places, (to_first, -to_first - to_second, to_second))


def _dihedral(first: Floats, central: Floats, last: Floats, *, unsigned: bool) -> Variable:
    near, far = np.cross(first, central), np.cross(central, last)
    length = norms(central)
    values = np.arctan2(length * _dot(first, far), _dot(near, far))
    # about three atoms on a line nothing turns, and there is no dihedral angle
    straight = norms(near) <= _STRAIGHT * norms(first) * length
    straight |= norms(far) <= _STRAIGHT * length * norms(last)
    values[straight] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        to_first = near * (-length / _dot(near, near))[:, None]
        to_last = far * (length / _dot(far, far))[:, None]
        along_first = (_dot(first, central) / length**2)[:, None]
        along_last = (_dot(last, central) / length**2)[:, None]
    shared = along_last * to_last - along_first * to_first
    to_second, to_third = shared - to_first, -shared - to_last
    if unsigned:
        turned = np.sign(values)[:, None]
        to_first, to_second, to_third, to_last = (
            turned * gradient for gradient in (to_first, to_second, to_third, to_last)
        )
        values = np.abs(values)
    return Variable(values, (0, 1, 2, 3), (to_first, to_second, to_third, to_last))


def scatter(forces: Floats, rows: Integers, contributions: Floats) -> None:
    """Add contributions ``(n, 3)`` to the rows of `forces` they belong to, in place; rows may repeat."""
    for axis in range(3):
        forces[:, axis] += np.bincount(rows, weights=contributions[:, axis], minlength=len(forces))
