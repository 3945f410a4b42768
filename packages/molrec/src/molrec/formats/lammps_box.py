"""LAMMPS' three kinds of cells as a `Box` and back: orthogonal, tilted (restricted triclinic), general triclinic.

A tilted cell has edge vectors ``(lx, 0, 0)``, ``(xy, ly, 0)``, ``(xz, yz, lz)`` from the corner ``(xlo, ylo, zlo)``; a
general one has any three. Dump files give a tilted cell by the bounds of the box around it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from molrec.model.box import Box

__all__ = [
    "Bounds",
    "bounds_of",
    "cartesian",
    "dump_bounds",
    "general_box",
    "is_restricted",
    "tilted_box",
    "tilted_box_of_dump",
]

type Floats = npt.NDArray[np.float64]


class Bounds(NamedTuple):
    """An orthogonal or tilted cell as LAMMPS states it.

    Attributes:
        low: Corner, three numbers.
        high: Opposite ends of the edges along x, y and z.
        tilt: xy, xz, yz; None for an orthogonal cell.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    tilt: tuple[float, ...] | None


def tilted_box(low: Sequence[float], high: Sequence[float], tilt: Sequence[float], boundary: Sequence[bool]) -> Box:
    """Return the box between two corners, tilted by xy, xz, yz; tilts of zero make it orthogonal."""
    xy, xz, yz = tilt
    lx, ly, lz = (float(upper) - float(lower) for lower, upper in zip(low, high, strict=True))
    vectors = np.array([[lx, xy, xz], [0.0, ly, yz], [0.0, 0.0, lz]])
    return Box(vectors, origin=np.array(low, dtype=np.float64), boundary=np.array(boundary, dtype=np.bool_))


def general_box(edges: npt.ArrayLike, origin: Sequence[float], boundary: Sequence[bool]) -> Box:
    """Return the box of three edge vectors, the rows of `edges` ``(3, 3)``."""
    vectors = np.ascontiguousarray(np.asarray(edges, dtype=np.float64).T)
    return Box(vectors, origin=np.array(origin, dtype=np.float64), boundary=np.array(boundary, dtype=np.bool_))


def tilted_box_of_dump(
    low: Sequence[float], high: Sequence[float], tilt: Sequence[float], boundary: Sequence[bool]
) -> Box:
    """Return the box of a dump's bounds, which enclose a tilted cell."""
    margins = _margins(tilt)
    corners = [float(bound) - below for bound, (below, _) in zip(low, margins, strict=True)]
    ends = [float(bound) - above for bound, (_, above) in zip(high, margins, strict=True)]
    return tilted_box(corners, ends, tilt, boundary)


def dump_bounds(bounds: Bounds) -> Bounds:
    """Return the bounds a dump gives for a cell: those of the box around it."""
    if bounds.tilt is None:
        return bounds
    margins = _margins(bounds.tilt)
    return Bounds(
        tuple(value + below for value, (below, _) in zip(bounds.low, margins, strict=True)),
        tuple(value + above for value, (_, above) in zip(bounds.high, margins, strict=True)),
        bounds.tilt,
    )


def _margins(tilt: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return by how much a tilted cell reaches beyond its corner and its ends, for each axis."""
    xy, xz, yz = (float(value) for value in tilt)
    along_x = (0.0, xy, xz, xy + xz)
    return ((min(along_x), max(along_x)), (min(0.0, yz), max(0.0, yz)), (0.0, 0.0))


def is_restricted(box: Box) -> bool:
    """Tell whether a cell is orthogonal or tilted, so that bounds and tilts state it."""
    vectors = box.vectors
    return not np.tril(vectors, -1).any() and bool((np.diag(vectors) > 0).all())


def bounds_of(box: Box) -> Bounds:
    """Return the bounds of an orthogonal or tilted cell; reading them back gives the same vectors and origin."""
    low = tuple(float(value) for value in box.origin)
    high = tuple(_end(lower, float(length)) for lower, length in zip(low, np.diag(box.vectors).tolist(), strict=True))
    tilt = (float(box.vectors[0, 1]), float(box.vectors[0, 2]), float(box.vectors[1, 2]))
    return Bounds(low, high, tilt if any(tilt) else None)


def _end(low: float, length: float) -> float:
    """Return the number whose difference to `low` is `length` again, where there is one within a rounding."""
    total = low + length
    candidates = (total, math.nextafter(total, math.inf), math.nextafter(total, -math.inf))
    return next((candidate for candidate in candidates if candidate - low == length), total)


def cartesian(scaled: Sequence[Floats], box: Box) -> list[Floats]:
    """Return Cartesian coordinates of coordinates in units of the edge vectors, one array per axis."""
    vectors, origin = box.vectors, box.origin
    return [
        np.asarray(
            origin[axis] + vectors[axis, 0] * scaled[0] + vectors[axis, 1] * scaled[1] + vectors[axis, 2] * scaled[2]
        )
        for axis in range(3)
    ]
