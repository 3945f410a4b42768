"""Correction maps (CMAP) of GROMACS topologies: type rows and terms over five atoms, read and written.

A stored grid has the values at angles from 0 on, the first angle running fastest, as OpenMM has them; GROMACS begins at
-180 degrees and lets the second angle run fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from molrec.formats.forcefield_gromacs_lines import Row
from molrec.formats.forcefield_rows import define, free_name
from molrec.formats.forcefield_source import not_in_target
from molrec.model.forcefield import ForceField, Style

__all__ = ["CmapTypes", "cmap_type_lines"]

_ENDS = 5
_FUNCTION = 1

type Grid = npt.NDArray[np.float64]


class CmapTypes:
    """The rows of ``[ cmaptypes ]`` by the bonded types of their five atoms."""

    def __init__(self) -> None:
        self._grids: dict[tuple[str, ...], str] = {}
        self._names: dict[tuple[str, ...], str] = {}

    def add(self, row: Row) -> None:
        """Take a row.

        Raises:
            SchemaError: Another function, or another number of values than the grid has
                (``reject-ff-source-malformed``).
        """
        ends = row.words[:_ENDS]
        if len(row.words) < _ENDS + 3 or row.integer(_ENDS) != _FUNCTION:
            raise row.place.malformed("[ cmaptypes ] has five types, function 1, two sizes and the values")
        sizes = row.integer(_ENDS + 1), row.integer(_ENDS + 2)
        values = row.numbers(_ENDS + 3)
        if sizes[0] != sizes[1] or sizes[0] % 2 or len(values) != sizes[0] * sizes[1]:
            raise row.place.malformed(f"[ cmaptypes ] states a grid of {sizes} and has {len(values)} values")
        grid = _turned(np.array(values).reshape(sizes)).T
        self._grids[ends] = " ".join(map(repr, grid.ravel().tolist()))

    def find(self, row: Row, ends: tuple[str, ...]) -> str:
        """Return the name of the row five atoms of these bonded types have.

        Raises:
            SchemaError: There is none (``reject-ff-source-malformed``).
        """
        if ends not in self._names:
            raise row.place.malformed(f"[ cmap ] of the types {' '.join(ends)}, which no [ cmaptypes ] has")
        return self._names[ends]

    def add_to(self, forcefield: ForceField) -> None:
        """Add a row for each map."""
        for ends, grid in self._grids.items():
            style = define(forcefield, "cmap", "charmm")
            style.endpoint_key = "class"
            self._names[ends] = free_name(style, "-".join(ends))
            style.add(self._names[ends], ends[:4], mtom=ends[4], grid=grid)


def cmap_type_lines(style: Style) -> Iterator[str]:
    """Yield the section of the maps of a style.

    Raises:
        SchemaError: A grid is not square (``reject-ff-target``).
    """
    yield "[ cmaptypes ]"
    for row in style:
        values = np.array(str(row.get("grid", "")).split(), dtype=np.float64)
        size = math.isqrt(len(values))
        if not size or size * size != len(values) or size % 2 or "mtom" not in row:
            raise not_in_target("GROMACS", f"cmap row {row.name!r}", "it needs a square, even grid and a fifth type")
        grid = _turned(values.reshape(size, size)).T
        ends = " ".join((*row.endpoints, str(row["mtom"])))
        yield f"{ends} {_FUNCTION} {size} {size} {' '.join(map(repr, grid.ravel().tolist()))}"


def _turned(grid: Grid) -> Grid:
    """Return a grid that begins half a turn further on both axes."""
    return np.roll(grid, (grid.shape[0] // 2, grid.shape[1] // 2), axis=(0, 1))
