"""What PDB and mmCIF have in common: units, residue numbers and cells.

Residue numbers are unsigned in a record. Where a chain of a file has negative ones, all its numbers are moved by one
constant, so that the smallest becomes 1; order and ``(chain, res_id, icode)`` stay as they were, and the file's own
numbers stay beside them in another column.

A cell of three ones or three zeros is what programs write where a file must have a cell and there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.errors import FormatError
from molrec.formats.gemmi_import import require_gemmi
from molrec.model.box import Box

__all__ = [
    "MALFORMED",
    "MODEL_KEY",
    "SPACE_GROUP_KEY",
    "TITLE_KEY",
    "UNITS",
    "Z_VALUE_KEY",
    "box_of_cell",
    "cell_of_box",
    "element_symbols",
    "first_duplicate",
    "in_standard_orientation",
    "malformed",
]

MALFORMED = "reject-malformed-source"
UNITS: Mapping[str, str] = {"length": "angstrom"}

#: Frame meta both formats have a place for.
MODEL_KEY, TITLE_KEY, SPACE_GROUP_KEY, Z_VALUE_KEY = "model", "title", "space_group", "z_value"

_LARGEST_DECIMALS = 15


# -- reading --------------------------------------------------------------------------------------------------------


def element_symbols(texts: Array) -> Array:
    """Return element symbols as they are written in chemistry: ``FE`` as ``Fe``."""
    names, inverse = np.unique(texts, return_inverse=True)
    return np.array([name.capitalize() for name in names.tolist()], dtype=STRING)[inverse]


def first_duplicate(identifiers: Array) -> tuple[int, int] | None:
    """Return the rows of the first identifier that occurs twice, or None."""
    if (identifiers[1:] > identifiers[:-1]).all():
        return None
    order = np.argsort(identifiers, kind="stable")
    ordered = identifiers[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not again.size:
        return None
    second = int(order[again + 1].min())
    return int(np.flatnonzero(identifiers == identifiers[second])[0]), second


def box_of_cell(parameters: npt.ArrayLike, fractional: npt.NDArray[np.float64] | None, tolerance: float) -> Box | None:
    """Return the box of a crystallographic cell, None where it stands for no cell at all.

    Args:
        parameters: ``a b c`` in angstrom, ``alpha beta gamma`` in degrees, float64 ``(6,)``.
        fractional: Matrix ``(3, 3)`` from Cartesian to fractional coordinates where the file gives one.
        tolerance: How far `fractional` may lie from that of the usual orientation (``a`` along x, ``b`` in the xy
            plane) and still mean it.

    Raises:
        ValueError: The numbers span no cell; the message says why.
    """
    require_gemmi()
    import gemmi

    numbers = np.asarray(parameters, dtype=np.float64)
    if (numbers[:3] == 1).all() or (numbers[:3] == 0).all():
        return None
    if not np.isfinite(numbers).all() or (numbers <= 0).any() or (numbers[3:] >= 180).any():
        raise ValueError(f"the cell {numbers.tolist()} has a length or an angle that none can have")
    cell = gemmi.UnitCell(*numbers.tolist())
    vectors = np.array(cell.orth.mat.tolist(), dtype=np.float64) + 0.0  # no negative zeros
    if not np.isfinite(vectors).all() or not np.linalg.det(vectors) > 0:
        raise ValueError(f"the cell {numbers.tolist()} has no volume")
    if fractional is not None and not np.array_equal(fractional, np.eye(3)):
        usual = np.array(cell.frac.mat.tolist(), dtype=np.float64)
        if np.abs(usual - fractional).max() > tolerance:
            vectors = np.linalg.inv(fractional)
    return Box(vectors)


def malformed(path: Path | str, line: int, why: str) -> FormatError:
    """Return the refusal of a damaged file at a line, counted from 1."""
    return FormatError(f"{path}:{line}: {why}", MALFORMED)


# -- writing --------------------------------------------------------------------------------------------------------


def cell_of_box(box: Box, decimals: tuple[int, int] | None = None) -> npt.NDArray[np.float64]:
    """Return lengths and angles of a box, float64 ``(6,)``, in its length unit and degrees.

    Args:
        box: A defined cell.
        decimals: To round lengths and angles to; where None, the fewest that bring the box back bit by bit.
    """
    lengths = np.linalg.norm(box.vectors, axis=0)
    unit = box.vectors / lengths
    cosines = np.array([unit[:, 1] @ unit[:, 2], unit[:, 0] @ unit[:, 2], unit[:, 0] @ unit[:, 1]])
    angles = np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
    if decimals is not None:
        return np.concatenate([lengths.round(decimals[0]), angles.round(decimals[1])])
    exact = np.concatenate([lengths, angles])
    for digits in range(_LARGEST_DECIMALS):
        rounded = exact.round(digits)
        if _spans(rounded, box):
            return rounded
    return exact


def _spans(parameters: npt.NDArray[np.float64], box: Box) -> bool:
    try:
        found = box_of_cell(parameters, None, 0.0)
    except ValueError:  # rounded to nothing
        return False
    return found is not None and np.array_equal(found.vectors, box.vectors)


def in_standard_orientation(box: Box) -> bool:
    """Tell whether ``a`` lies along x and ``b`` in the xy plane, as cells without a matrix are understood."""
    vectors = box.vectors
    return bool(
        (np.abs(vectors[[1, 2, 2], [0, 0, 1]]) <= 1e-9 * np.abs(vectors).max()).all() and (vectors.diagonal() > 0).all()
    )
