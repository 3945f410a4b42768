"""Energies of the elements that, summed over the atoms of structures, come closest to the structures' energies.

The least-squares fit of energies to compositions, by which training codes shift energies ("average" reference energies,
E0). Where compositions do not tell all elements apart, the solution of least norm is given and said not to be unique.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["ReferenceEnergies", "ReferenceEnergyFit"]

type Floats = npt.NDArray[np.float64]

#: Share of an element in what the fit leaves open, above which its energy counts as open.
_OPEN = 1e-8


@dataclass(frozen=True, slots=True)
class ReferenceEnergies:
    """A least-squares fit.

    Attributes:
        energies: Element to its energy, in the unit of energy.
        structures: Structures fitted.
        rank: Rank of their compositions; all elements have a unique energy where it is their number.
        undetermined: Elements whose energies the compositions leave open.
        rms_error: Root mean square of what the fit leaves of the energies of structures.
    """

    energies: dict[str, float]
    structures: int
    rank: int
    undetermined: list[str]
    rms_error: float

    @property
    def is_unique(self) -> bool:
        """Whether the compositions tell all elements apart."""
        return self.rank == len(self.energies)


class ReferenceEnergyFit:
    """Takes structures piece by piece and keeps one small triangle of them, which has the same least squares."""

    def __init__(self) -> None:
        # Columns: the energy, then the elements; rows: those of a triangular factor.
        self._factor: Floats = np.zeros((0, 1))
        self._structures = 0

    def add(self, composition: Floats, energies: Floats) -> None:
        """Take structures.

        Args:
            composition: Atoms of each element, ``(structures, elements)``; later pieces may have more elements.
            energies: Energy of each structure, ``(structures,)``.
        """
        finite = np.isfinite(energies)
        elements = max(composition.shape[1], self._factor.shape[1] - 1)
        rows = np.zeros((self._factor.shape[0] + int(finite.sum()), elements + 1))
        rows[: self._factor.shape[0], : self._factor.shape[1]] = self._factor
        rows[self._factor.shape[0] :, 0] = energies[finite]
        rows[self._factor.shape[0] :, 1 : composition.shape[1] + 1] = composition[finite]
        self._factor = np.linalg.qr(rows, mode="r") if rows.shape[0] > elements + 1 else rows
        self._structures += int(finite.sum())

    def result(self, elements: Sequence[str]) -> ReferenceEnergies | None:
        """Return the fit, None without structures.

        Args:
            elements: Names of the columns of compositions; those that are in no structure are left out.
        """
        target, matrix = self._factor[:, 0], self._factor[:, 1:]
        there = np.flatnonzero(np.abs(matrix).sum(axis=0))
        if not self._structures or not there.size:
            return None
        matrix = matrix[:, there]
        tolerance = float(np.finfo(np.float64).eps) * max(self._structures, there.size)
        solution, _, rank, _ = np.linalg.lstsq(matrix, target, rcond=tolerance)
        error = float(np.linalg.norm(target - matrix @ solution) / np.sqrt(self._structures))
        open_directions = np.linalg.svd(matrix)[2][int(rank) :]
        left_open = np.abs(open_directions).max(axis=0, initial=0.0) > _OPEN
        names = [elements[column] for column in there.tolist()]
        return ReferenceEnergies(
            dict(zip(names, solution.tolist(), strict=True)),
            self._structures,
            int(rank),
            [name for name, is_open in zip(names, left_open.tolist(), strict=True) if is_open],
            error,
        )
