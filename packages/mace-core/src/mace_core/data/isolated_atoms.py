"""The energies of isolated atoms.

An isolated atom is a configuration of exactly one atom whose config type is exactly ``IsolatedAtom``. Its energy is
the value of the property ``energy``. It does not know files, only what was read from one and where.
"""

from __future__ import annotations

import math
from logging import getLogger
from typing import Any

import numpy as np
from ase.data import chemical_symbols

from mace_core.data.configuration import Configuration
from mace_core.data.errors import DataError

__all__ = ["IsolatedAtoms", "is_isolated_atom"]

_LOG = getLogger(__name__)
_MARK = "IsolatedAtom"


def is_isolated_atom(configuration: Configuration) -> bool:
    """Whether a configuration is an isolated atom."""
    return configuration.config_type == _MARK and len(configuration.atomic_numbers) == 1


class IsolatedAtoms:
    """Collects the energy of each element.

    Args:
        path: The file, for messages.
        key: Key of the energy, for messages.
    """

    def __init__(self, path: str, key: str) -> None:
        self._path = path
        self._key = key
        self._first: dict[int, int] = {}
        self._without_energy: list[tuple[int, int]] = []
        self._energies: dict[int, tuple[float, int]] = {}

    def add(self, configuration: Configuration, frame: int) -> None:
        """Take the energy of an isolated atom.

        Args:
            configuration: The atom.
            frame: Number of its frame.

        Raises:
            DataError: Its energy is no number, or another one than an earlier atom of the element has.
        """
        number = int(configuration.atomic_numbers[0])
        self._first.setdefault(number, frame)
        value = configuration.properties.get("energy")
        if value is None:
            self._without_energy.append((number, frame))
            return
        energy = self._number(value, frame)
        earlier, earlier_frame = self._energies.setdefault(number, (energy, frame))
        if energy != earlier and not (math.isnan(energy) and math.isnan(earlier)):
            raise DataError(
                f"isolated atoms of {_symbol(number)} have different energies, {earlier!r} in frame {earlier_frame} "
                f"and {energy!r} in frame {frame}; keep the right one",
                self._path,
                frame,
                self._key,
            )

    def energies(self) -> dict[int, float]:
        """Return the energy of each element in eV, in file order; 0.0 with a warning where no atom of it has one."""
        for number, frame in self._without_energy:
            symbol = _symbol(number)
            if number in self._energies:
                energy, other = self._energies[number]
                fate = f"that of frame {other} is used ({energy!r} eV)"
            else:
                fate = f"nor has any other {symbol}: zero is used"
            _LOG.warning(
                "%s, frame %d: the atom marked IsolatedAtom (%s) has no energy under %r; %s",
                self._path,
                frame,
                symbol,
                self._key,
                fate,
            )
        return {number: self._energies[number][0] if number in self._energies else 0.0 for number in self._first}

    def _number(self, value: Any, frame: int) -> float:
        array = np.asarray(value)
        if array.ndim or array.dtype.kind not in "iuf":
            raise DataError(f"the energy of an isolated atom is a number, not {value!r}", self._path, frame, self._key)
        return float(array)


def _symbol(number: int) -> str:
    return str(chemical_symbols[number]) if 0 <= number < len(chemical_symbols) else f"atomic number {number}"
