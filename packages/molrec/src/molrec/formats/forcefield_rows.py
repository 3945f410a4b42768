"""Helpers every force-field reader and writer needs: names of rows, degrees, torsion terms, unit presets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from molrec.errors import SchemaError
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField, Style, StyleRow
from molrec.model.forcefield_document import UNIT_PRESETS, ForceFieldUnits

__all__ = [
    "UREY_BRADLEY",
    "TorsionTerm",
    "define",
    "degrees_of",
    "free_name",
    "note_annotations",
    "number_text",
    "preset_of",
    "torsion_parameters",
    "torsion_terms",
    "whole",
]

#: Energy of a spring between the outer atoms of an angle, the style ``harmonic`` of category ``urey_bradley``.
UREY_BRADLEY = "0.5*k*(r-r0)^2"
#: How far apart, in units in the last place, degrees are looked for that give the same radians.
_REACH = 4


class TorsionTerm(NamedTuple):
    """One term ``k (1 + cos(periodicity phi - phase))`` of a torsion; the phase is in radians."""

    k: float
    periodicity: float
    phase: float


def define(forcefield: ForceField, category: str, style: str, expression: str | None = None) -> Style:
    """Return a style of a force field, defined now if it is not there yet."""
    for found in forcefield.of_category(category):
        if found.name == style:
            return found
    return forcefield.define_style(category, style, expression=expression)


def free_name(style: Style, wanted: str) -> str:
    """Return a name no row of the style has: the wanted one, or with ``#2``, ``#3`` ... behind it."""
    if wanted not in style:
        return wanted
    number = 2
    while f"{wanted}#{number}" in style:
        number += 1
    return f"{wanted}#{number}"


def torsion_parameters(terms: Sequence[TorsionTerm]) -> dict[str, float]:
    """Return the parameters of a periodic torsion: ``k periodicity phase``, numbered from 1 when there are several."""
    if len(terms) == 1:
        return terms[0]._asdict()
    return {f"{key}{number}": value for number, term in enumerate(terms, 1) for key, value in term._asdict().items()}


def torsion_terms(row: Mapping[str, float | str | int], what: str) -> list[TorsionTerm]:
    """Return the terms of a periodic torsion's row.

    Args:
        row: Parameters of the row.
        what: The row, for messages.

    Raises:
        SchemaError: A term lacks one of its three numbers (``reject-ff-target``).
    """
    suffixes = sorted({key.removeprefix("k") for key in row if key[:1] == "k" and (key[1:] or "0").isdecimal()})
    suffixes.sort(key=lambda suffix: int(suffix or 0))
    terms = []
    for suffix in suffixes:
        values = [row.get(f"{key}{suffix}") for key in TorsionTerm._fields]
        numbers = [float(value) for value in values if value is not None]
        if len(numbers) < len(TorsionTerm._fields):
            raise SchemaError(
                f"{what}: the term k{suffix} needs periodicity{suffix} and phase{suffix}", "reject-ff-target"
            )
        terms.append(TorsionTerm(*numbers))
    return terms


def degrees_of(radians: float) -> float:
    """Return degrees that become exactly these radians again, the shortest to write; the nearest where none do."""
    nearest = math.degrees(radians)
    for digits in range(8, 16):
        candidate = float(f"{nearest:.{digits}g}")
        if math.radians(candidate) == radians:
            return candidate
    below = above = nearest
    for _ in range(_REACH):
        for candidate in (below, above):
            if math.radians(candidate) == radians:
                return candidate
        below, above = float(np.nextafter(below, -math.inf)), float(np.nextafter(above, math.inf))
    return nearest


def number_text(value: float) -> str:
    """Return the shortest text that reads back as the same number."""
    return repr(float(value))


def whole(value: float, what: str) -> int:
    """Return a number that must be whole.

    Raises:
        SchemaError: It is not (``reject-ff-target``).
    """
    if not math.isfinite(value) or value != round(value):
        raise SchemaError(f"{what} must be a whole number, found {value!r}", "reject-ff-target")
    return round(value)


def preset_of(forcefield: ForceField, presets: Iterable[str] = UNIT_PRESETS) -> str | None:
    """Return the preset among some that means the force field's units, by name or quantity for quantity."""
    stated = ForceFieldUnits.model_validate(forcefield.units)
    if stated.preset is not None:
        return stated.preset if stated.preset in presets else None
    resolved = stated.resolved()
    if not {"length", "energy"} <= resolved.keys():
        return None
    # time decides no energy
    wanted = {quantity: unit for quantity, unit in resolved.items() if quantity != "time"}
    return next((name for name in presets if wanted.items() <= UNIT_PRESETS[name].items()), None)


def note_annotations(style: Style, row: StyleRow, written: Iterable[str], target: str, notes: Notes) -> None:
    """Note annotations of a row that a target has no place for.

    Args:
        style: The row's style.
        row: The row.
        written: Keys the target holds.
        target: What the target is called.
        notes: Told about the others.
    """
    for key in row:
        if key not in written:
            notes.lost(f"{style.category} {style.name!r}, {key!r}", f"is left out; {target} has no place for it")
