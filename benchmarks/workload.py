"""The data every peer stores: a random walk in a cubic box. Knows sizes and positions, no formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

__all__ = ["REFERENCE_BOX", "SIZES", "Floats", "Size", "Walk", "density_box", "walk"]

type Floats = npt.NDArray[np.floating]

#: Edge in Angstrom of the reference system and the atoms in it; other sizes keep its density.
REFERENCE_BOX, _REFERENCE_ATOMS = 40.0, 3000
#: Standard deviation of one coordinate's displacement per frame, in Angstrom.
_STRIDE = 0.05
_SEED = 7


@dataclass(frozen=True, slots=True)
class Size:
    """Atoms by frames."""

    atoms: int
    frames: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``3000x400``.

        Raises:
            ValueError: Not two positive integers around an ``x``.
        """
        atoms, _, frames = text.strip().lower().partition("x")
        size = cls(int(atoms), int(frames))
        if size.atoms < 1 or size.frames < 1:
            raise ValueError(f"size {text!r}: atoms and frames are positive")
        return size

    def __str__(self) -> str:
        return f"{self.atoms}x{self.frames}"


SIZES = (Size(3000, 400), Size(100, 10000), Size(100000, 30))


def density_box(atoms: int) -> float:
    """Return the edge of the cube that holds `atoms` at the reference density, in Angstrom."""
    return REFERENCE_BOX * float(np.cbrt(atoms / _REFERENCE_ATOMS))


@dataclass(frozen=True, slots=True)
class Walk:
    """A run: `planar` is float64 ``(frames, 3, atoms)`` in Angstrom, unwrapped; `box` the cube's edge."""

    size: Size
    box: float
    planar: npt.NDArray[np.float64]

    def first(self, frames: int) -> Walk:
        """Return the run cut to at most `frames` frames."""
        kept = min(frames, self.size.frames)
        return Walk(Size(self.size.atoms, kept), self.box, self.planar[:kept])

    def interleaved(self, dtype: npt.DTypeLike = np.float64, unit: float = 1.0) -> Floats:
        """Return positions as C-order ``(frames, atoms, 3)``, in units of `unit` Angstrom."""
        swapped = self.planar.transpose(0, 2, 1)
        found: Floats = np.ascontiguousarray(swapped / unit if unit != 1.0 else swapped, dtype=dtype)
        return found


def walk(size: Size, box: float | None = None) -> Walk:
    """Place atoms uniformly in the box and let each coordinate take a Gaussian step of 0.05 Angstrom per frame."""
    generator = np.random.default_rng(_SEED)
    edge = density_box(size.atoms) if box is None else box
    planar = np.empty((size.frames, 3, size.atoms))
    planar[0] = generator.uniform(0.0, edge, (3, size.atoms))
    for frame in range(1, size.frames):
        planar[frame] = planar[frame - 1] + generator.normal(0.0, _STRIDE, (3, size.atoms))
    return Walk(size, edge, planar)
