"""Pairs of atoms within a cutoff: every two of a small system without periodic directions, otherwise cell lists.

Cell lists are those of `vesin` (extra ``forcefield``), which knows skewed cells, cells narrower than the cutoff, and
cells that are periodic in some directions only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.forms import Floats
from molrec.forcefield.tables import Flags, Integers
from molrec.model.box import Box

__all__ = ["Neighbours", "neighbours"]

#: Up to here, listing every pair costs less than finding the near ones.
_SMALL = 1500
#: Pairs handed out at once, so that what is computed of them stays in the processor's cache.
_AT_ONCE = 2**17


class Neighbours(NamedTuple):
    """Pairs of atoms.

    Attributes:
        first: Int64 ``(n,)``.
        second: Int64 ``(n,)``.
        displacements: Float64 ``(n, 3)``, from the first to the second.
        squared: Float64 ``(n,)``, the squared distances.
    """

    first: Integers
    second: Integers
    displacements: Floats
    squared: Floats

    def chosen(self, rows: Flags) -> Neighbours:
        """Return some of the pairs."""
        return Neighbours(self.first[rows], self.second[rows], self.displacements[rows], self.squared[rows])


def neighbours(positions: Floats, box: Box | None, cutoff: float) -> Iterator[Neighbours]:
    """Give every pair of atoms closer than the cutoff, each pair and image once, in portions.

    Args:
        positions: Float64 ``(atoms, 3)``.
        box: The cell, or None.
        cutoff: In the unit of the positions; infinite for every pair.

    Raises:
        SchemaError: A periodic cell without a finite cutoff (``reject-ff-no-cutoff``), or one without volume
            (``reject-box-singular``).
    """
    periodic = box is not None and bool(box.boundary.any())
    if periodic and not math.isfinite(cutoff):
        raise SchemaError(
            "the system is periodic and a pair style states no cutoff, so that its pairs are without end; state one "
            "in the style's params",
            "reject-ff-no-cutoff",
        )
    if not periodic and (len(positions) <= _SMALL or not math.isfinite(cutoff)):
        yield from _every_pair(positions, cutoff)
    elif len(positions):
        yield from _listed(positions, box, cutoff)


def _every_pair(positions: Floats, cutoff: float) -> Iterator[Neighbours]:
    count = len(positions)
    start = 0
    while start < count - 1:
        stop = min(count - 1, start + max(1, _AT_ONCE // (count - start)))
        lengths = np.arange(count - 1 - start, count - 1 - stop, -1)
        first = np.repeat(np.arange(start, stop), lengths)
        second = np.arange(len(first)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + first + 1
        yield from _within(first, second, positions[second] - positions[first], cutoff)
        start = stop


def _listed(positions: Floats, box: Box | None, cutoff: float) -> Iterator[Neighbours]:
    flags = np.zeros(3, dtype=np.bool_) if box is None else box.boundary
    cell = np.eye(3) if box is None else _cell(box, flags)
    lists = _vesin().NeighborList(cutoff=cutoff, full_list=False)
    first, second, displacements = lists.compute(
        points=np.ascontiguousarray(positions), box=cell, periodic=flags, quantities="ijD"
    )
    portion = max(_AT_ONCE, len(positions))
    for start in range(0, len(first), portion):
        part = slice(start, start + portion)
        yield from _within(first[part].astype(np.int64), second[part].astype(np.int64), displacements[part], cutoff)


def _vesin() -> Any:
    try:
        import vesin
    except ImportError as error:
        raise ImportError(
            "neighbour lists need vesin, in the extra molrec[forcefield]: pip install 'molrec[forcefield]'"
        ) from error
    return vesin


def _cell(box: Box, flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Floats:
    """Return the lattice vectors as rows; those of directions without periodicity only need to be independent."""
    rows = box.vectors.T.copy()
    if not flags.all():
        # what is not periodic may be of any length, zero included: complete the periodic ones to a basis
        _, _, directions = np.linalg.svd(rows[flags])
        rows[~flags] = directions[int(flags.sum()) :]
    if abs(np.linalg.det(rows)) < 1e-12 * float(np.prod(np.linalg.norm(rows, axis=1))):
        raise SchemaError(f"box: the cell {box.vectors.tolist()} has no volume", "reject-box-singular")
    return np.ascontiguousarray(rows)


def _within(first: Integers, second: Integers, displacements: Floats, cutoff: float) -> Iterator[Neighbours]:
    squared = np.einsum("ij,ij->i", displacements, displacements)
    pairs = Neighbours(first, second, displacements, squared)
    if math.isfinite(cutoff) and not (inside := squared < cutoff**2).all():
        pairs = pairs.chosen(inside)
    if len(pairs.first):
        yield pairs
