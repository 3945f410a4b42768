"""The structures every collection stores: 9 to 30 atoms, their forces and an energy. Knows no formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BATCH", "NUMBERS", "SYMBOLS", "Arrays", "Structure", "check_batch", "check_single", "make"]

#: Structures of one shuffled batch.
BATCH = 64
SYMBOLS = ("H", "C", "N", "O")
NUMBERS = np.array([1, 6, 7, 8], dtype=np.uint64)
#: Numbers, positions, forces and energy: arrays ``(atoms,)``, ``(atoms, 3)`` twice and a float or ``(structures,)``.
#: A format that keeps x, y and z apart returns a tuple of the three for ``(atoms, 3)``.
type Arrays = tuple[Any, Any, Any, Any]


@dataclass(slots=True)
class Structure:
    """One labelled structure."""

    numbers: Any
    positions: Any
    forces: Any
    energy: float


def make(count: int) -> list[Structure]:
    """Return structures of 9 to 30 atoms, the same each time."""
    rng = np.random.default_rng(5)
    return [
        Structure(
            NUMBERS[rng.integers(0, len(NUMBERS), atoms)],
            rng.normal(scale=2.0, size=(atoms, 3)),
            rng.normal(size=(atoms, 3)),
            float(rng.normal()),
        )
        for atoms in rng.integers(9, 31, count).tolist()
    ]


def _rows(found: Any) -> Any:
    return np.stack(found, axis=1) if isinstance(found, tuple) else found


def check_single(found: Arrays, structure: Structure) -> None:
    """See that one structure came back bit for bit."""
    numbers, positions, forces, energy = found
    assert (np.asarray(numbers) == structure.numbers).all()
    assert (_rows(positions) == structure.positions).all()
    assert (_rows(forces) == structure.forces).all()
    assert energy == structure.energy


def check_batch(found: Arrays, structures: Sequence[Structure]) -> None:
    """See that several structures came back end to end, bit for bit."""
    numbers, positions, forces, energies = found
    assert (numbers == np.concatenate([one.numbers for one in structures])).all()
    assert (_rows(positions) == np.concatenate([one.positions for one in structures])).all()
    assert (_rows(forces) == np.concatenate([one.forces for one in structures])).all()
    assert (energies == np.array([one.energy for one in structures])).all()
