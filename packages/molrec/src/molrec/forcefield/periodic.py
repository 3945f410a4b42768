"""The nearest periodic image of a displacement, in any cell (``docs/spec/forcefield.md``, energies)."""

from __future__ import annotations

import itertools

import numpy as np

from molrec.forcefield.forms import Floats
from molrec.model.box import Box

__all__ = ["Periodicity"]


class Periodicity:
    """The lattice of the periodic directions of a box; without any, displacements stay as they are.

    Args:
        box: The cell, or None for a system without one.
    """

    __slots__ = ("_basis", "_inverse", "_orthogonal", "_shortest")

    def __init__(self, box: Box | None) -> None:
        flags = np.zeros(3, dtype=np.bool_) if box is None else box.boundary
        lattice = np.zeros((0, 3)) if box is None else _reduced(box.vectors.T[flags])
        #: The shortest basis of the lattice, one vector a row.
        self._basis: Floats = lattice
        self._inverse: Floats = np.linalg.pinv(lattice) if len(lattice) else np.zeros((3, 0))
        products = lattice @ lattice.T
        self._orthogonal = bool(np.all(products[~np.eye(len(lattice), dtype=np.bool_)] == 0.0))
        self._shortest = float(np.sqrt(np.diag(products).min())) if len(lattice) else np.inf

    def __bool__(self) -> bool:
        return len(self._basis) > 0

    def nearest(self, displacements: Floats) -> Floats:
        """Return the shortest displacement that differs by lattice vectors only.

        Args:
            displacements: Float64 ``(n, 3)``.

        Returns:
            Float64 ``(n, 3)``; the input itself where nothing is periodic.
        """
        if not self:
            return displacements
        nearest = displacements - np.rint(displacements @ self._inverse) @ self._basis
        if self._orthogonal:
            return nearest
        # Rounding finds the nearest image only up to a neighbouring cell; half the shortest vector is safe.
        doubtful = np.flatnonzero(np.einsum("ij,ij->i", nearest, nearest) > (0.5 * self._shortest) ** 2)
        rounded = nearest[doubtful]
        best = rounded.copy()
        lengths = np.einsum("ij,ij->i", best, best)
        for steps in itertools.product((-1.0, 0.0, 1.0), repeat=len(self._basis)):
            candidate = rounded + np.array(steps) @ self._basis
            squared = np.einsum("ij,ij->i", candidate, candidate)
            closer = squared < lengths
            best[closer], lengths[closer] = candidate[closer], squared[closer]
        nearest[doubtful] = best
        return nearest


def _reduced(lattice: Floats) -> Floats:
    """Return a basis of the lattice whose vectors are as short as they can be (greedy reduction, up to three)."""
    basis = [np.array(vector) for vector in lattice]
    improved = True
    while improved:
        improved = False
        basis.sort(key=lambda vector: float(vector @ vector))
        for place in range(1, len(basis)):
            shorter = np.array(basis[:place])
            whole = np.rint(np.linalg.lstsq(shorter.T, basis[place], rcond=None)[0])
            candidates = (
                basis[place] - (whole + np.array(step)) @ shorter
                for step in itertools.product((-1.0, 0.0, 1.0), repeat=place)
            )
            best = min(candidates, key=lambda vector: float(vector @ vector))
            if best @ best < basis[place] @ basis[place] * (1.0 - 1e-12):
                basis[place] = best
                improved = True
                break
    return np.array(basis).reshape(-1, 3)
