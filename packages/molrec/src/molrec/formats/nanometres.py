"""Frames of a record on their way to a file of GROMACS, whose lengths are in nm and times in ps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.errors import SchemaError
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.frame import Frame

__all__ = ["FORCES", "POSITIONS", "UNITS", "VELOCITIES", "Scale", "WholeAtoms", "stated_units"]

UNITS: dict[str, str] = {"length": "nm", "time": "ps"}
POSITIONS, VELOCITIES, FORCES = ("x", "y", "z"), ("vx", "vy", "vz"), ("fx", "fy", "fz")

#: LAMMPS' unit styles whose lengths and times have units of their own.
_PRESETS = {
    "real": {"length": "angstrom", "time": "fs"},
    "metal": {"length": "angstrom", "time": "ps"},
    "nano": {"length": "nm", "time": "ns"},
    "si": {"length": "m", "time": "s"},
}


class WholeAtoms:
    """The columns of the atoms of one frame and of the system; one whose every row is null is not there."""

    def __init__(self, system: Frame, frame: Frame) -> None:
        blocks = [part["atoms"] for part in (system, frame) if "atoms" in part]
        self._blocks: dict[str, Block] = {name: block for block in blocks for name in block.columns}
        self.rows = blocks[-1].rows if blocks else 0

    def precision(self, name: str) -> float | None:
        """Return the declared precision of a column."""
        return self._blocks[name].precision(name) if name in self._blocks else None

    def take(self, name: str) -> Array | None:
        """Return a column."""
        return self._blocks[name][name] if name in self._blocks and self._present(name).any() else None

    def _present(self, name: str) -> npt.NDArray[np.bool_]:
        block = self._blocks[name]
        mask = block.validity(name)
        return np.ones(max(block.rows, 1), dtype=np.bool_) if mask is None else mask

    def vector(self, names: tuple[str, ...]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None:
        """Return three columns, ``(atoms, 3)``, and which atoms have all of them; None unless all are there."""
        columns = [self.take(name) for name in names]
        parts = [column for column in columns if column is not None]
        if len(parts) < 3:
            return None
        present = np.logical_and.reduce([self._present(name)[: self.rows] for name in names])
        return np.column_stack(parts), present


class Scale:
    """Lengths and times of a record in nm and ps."""

    def __init__(self, units: Mapping[str, str], notes: Notes | None = None) -> None:
        preset = units.get("preset")
        if preset is not None and preset not in _PRESETS:
            raise SchemaError(
                f"the numbers are in the units of {preset!r}; state length and time units to write nm and ps",
                "reject-units-disagree",
            )
        known = {**_PRESETS.get(preset or "", {}), **units}
        self._length = _factor(known.get("length"), "nm")
        self._time = _factor(known.get("time"), "ps")
        self.plain = self._length == self._time == (1.0, 1.0)
        if not self.plain and notes is not None:
            notes.changed("numbers", f"are converted from {dict(units)} to {UNITS}")

    def length(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return lengths in nm."""
        return values if self.plain else values * self._length[0] / self._length[1]

    def length_of(self, value: float) -> float:
        """Return one length in nm."""
        return value * self._length[0] / self._length[1]

    def velocity(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return velocities in nm/ps."""
        if self.plain:
            return values
        return values * (self._length[0] * self._time[1]) / (self._length[1] * self._time[0])

    def time(self, value: float) -> float:
        """Return a time in ps."""
        return value * self._time[0] / self._time[1]


@cache
def _unit_registry() -> Any:
    import pint

    return pint.UnitRegistry()


@cache
def _factor(unit: str | None, target: str) -> tuple[float, float]:
    """Return the factor to a unit as numerator and denominator, so that powers of ten stay exact."""
    if unit is None or unit == target:
        return 1.0, 1.0
    import pint

    registry = _unit_registry()
    try:
        down = float(registry.Quantity(1.0, unit).to(target).magnitude)
        up = float(registry.Quantity(1.0, target).to(unit).magnitude)
    except (pint.UndefinedUnitError, pint.DimensionalityError) as error:
        raise SchemaError(
            f"the unit {unit!r} does not convert to {target} ({error})", "reject-units-disagree"
        ) from error
    return (1.0, float(round(up))) if down < 1 and abs(up - round(up)) < 1e-9 * up else (down, 1.0)


def stated_units(frame: Frame) -> Mapping[str, str]:
    """Return the ``units`` object of a frame or system; a string is the name of a preset, and none states nothing."""
    stated = frame.meta.get("units")
    if stated is None:
        return {}
    return stated if isinstance(stated, Mapping) else {"preset": str(stated)}
