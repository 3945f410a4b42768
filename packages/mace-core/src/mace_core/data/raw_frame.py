"""One frame as ASE understands it, before any property has a name.

It knows where ASE keeps an entry or a column: with the atoms, or in the results of their calculator. It does not know
which key stands for which property.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ase.io.extxyz import per_config_properties

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DEFAULT_PROPERTIES", "GRAPH_RESULTS", "RESULTS_OF_ANY_TYPE", "RawFrame", "three_bools"]

DEFAULT_PROPERTIES = "species:S:1:pos:R:3"
"""The columns of a frame that does not describe them."""

GRAPH_RESULTS = frozenset(per_config_properties)
"""Names of comment-line entries that ASE keeps in the calculator."""

RESULTS_OF_ANY_TYPE = frozenset({"energy", "free_energy", "magmom"})
"""What ASE's calculator keeps as it is; it makes arrays of ``float64`` of everything else."""


@dataclass(slots=True, eq=False)
class RawFrame:
    """One frame, parsed. Every array and dictionary is the frame's own.

    Attributes:
        frame_number: Number of the frame in the file, from 0.
        comment: The comment line as it stands in the file.
        numbers: Atomic numbers, ``(n_atoms,)`` of ``int64``.
        positions: ``(n_atoms, 3)`` of ``float64``, in Ang.
        cell: ``(3, 3)`` of ``float64``, in Ang, rows are vectors.
        pbc: Whether each cell vector repeats.
        graph: Comment-line entries that ASE keeps with the atoms; perhaps only those that were asked for.
        graph_results: Comment-line entries that ASE keeps in the calculator.
        atom: Columns that ASE keeps with the atoms; perhaps only those that were asked for.
        atom_results: Columns that ASE keeps in the calculator.
        columns_finite: Whether no column has anything that is not finite; False also where nobody looked.
        move_mask: Which atoms, ``(n_atoms,)``, or coordinates, ``(n_atoms, 3)``, may move: the column of that name, of
            which ASE makes constraints; None where there is none.
    """

    frame_number: int
    comment: str
    numbers: NDArray[Any]
    positions: NDArray[Any]
    cell: NDArray[Any]
    pbc: tuple[bool, bool, bool]
    graph: dict[str, Any]
    graph_results: dict[str, Any]
    atom: dict[str, NDArray[Any]]
    atom_results: dict[str, Any]
    columns_finite: bool = False
    move_mask: NDArray[Any] | None = None


def three_bools(pbc: Iterable[Any]) -> tuple[bool, bool, bool]:
    """Return the three periodicities as plain truth values."""
    first, second, third = (bool(periodic) for periodic in pbc)
    return first, second, third
