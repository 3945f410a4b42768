"""Frames of a record put together for a writer of PDB or mmCIF, lengths in angstrom."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from molrec import typedjson
from molrec.errors import SchemaError
from molrec.formats.images import Images
from molrec.formats.macromolecule import UNITS
from molrec.formats.notes import Notes
from molrec.formats.survey import STEP_KEYS
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["UNWRITABLE", "WholeFrame", "missing_coordinates", "note_columns", "note_meta", "whole_frames"]

UNWRITABLE = "reject-foreign-write"

_SAME = (1.0, 1.0)
_ANGSTROM_PRESETS = ("real", "metal")
#: Columns to the power of length in them. ``u_aniso`` is in angstrom squared whatever the record's units are.
_LENGTH_POWERS = {"x": 1, "y": 1, "z": 1, "b_factor": 2}


@dataclass(frozen=True, slots=True)
class WholeFrame:
    """One frame to write, the system's part joined to it.

    Attributes:
        position: Which frame it is, from 0.
        atoms: Its atoms.
        bonds: Its bonds, or None.
        meta: Its meta without fills and without what belongs to the run.
        box: Its cell, or None; never an undefined one.
        converted: Whether its lengths were converted, which may change their last bits.
    """

    position: int
    atoms: Block
    bonds: Block | None
    meta: Mapping[str, Any]
    box: Box | None
    converted: bool


def whole_frames(images: Images, notes: Notes, target: str) -> Iterator[WholeFrame]:
    """Yield the frames of a run for a writer, one at a time, and note what neither format has a place for.

    Args:
        images: The frames.
        notes: Told about other blocks, steps, times, a conversion of lengths, and what a cell cannot say.
        target: What the file is called in notes, such as ``PDB``.

    Raises:
        SchemaError: The unit of length is none pint knows (``reject-units-disagree``) or a frame has no atoms with
            coordinates (``reject-not-atoms``).
    """
    system = Frame() if images.system is None else images.system
    if not images.numbered:
        notes.lost("steps", f"are left out; a {target} file numbers its models only")
    if images.times is not None:
        notes.lost("times", f"are left out; a {target} file has no place for them")
    fills = {key: meta.fill for key, meta in images.schema.meta.items() if meta.has_fill} if images.schema else {}
    for position, frame in enumerate(images.frames):
        factor = _factor(_length_unit(frame.meta.get("units", system.meta.get("units"))))
        for name in dict.fromkeys((*system, *frame)):
            if name not in ("atoms", "bonds"):
                notes.lost(f"block {name!r}", f"is left out; a {target} file has atoms and bonds only")
        atoms = _joined("atoms", system, frame)
        if atoms is None or not atoms.rows:
            raise SchemaError(f"frame {position} has no atoms; a {target} file holds nothing else", "reject-not-atoms")
        missing = missing_coordinates(atoms)
        if missing:
            raise SchemaError(
                f"frame {position}: the atoms have no {', '.join(missing)}; a {target} file needs x, y and z",
                "reject-not-atoms",
            )
        stamps = {*(STEP_KEYS if images.steps is not None else ()), *(("time",) if images.times is not None else ())}
        meta = _meta(system, frame, fills, {"units", *stamps})
        box = _box(system, frame, notes, target)
        if factor != _SAME:
            notes.changed("lengths", f"are converted to angstrom, the unit of {target}")
            atoms = _converted(atoms, factor)
            box = None if box is None else Box(_scaled(box.vectors, factor, 1), boundary=box.boundary)
        yield WholeFrame(position, atoms, _joined("bonds", system, frame), meta, box, factor != _SAME)


def missing_coordinates(atoms: Block) -> list[str]:
    """Return which of x, y, z some atom is without."""
    return [name for name in ("x", "y", "z") if name not in atoms or atoms.validity(name) is not None]


def note_columns(block: Block, held: Collection[str], what: str, target: str, notes: Notes) -> None:
    """Note columns a file has no field for."""
    for name in block.columns:
        if name not in held:
            notes.lost(f"column {name!r} of {what}", f"is left out; a {target} file has no field for it")


def note_meta(frame: WholeFrame, held: Collection[str], target: str, notes: Notes) -> None:
    """Note meta a file has no place for."""
    for key in frame.meta:
        if key not in held:
            notes.lost(f"meta {key!r}", f"is left out; a {target} file has no place for it")


def _joined(name: str, system: Frame, frame: Frame) -> Block | None:
    parts = [container[name] for container in (system, frame) if name in container]
    if len(parts) < 2:
        return parts[0] if parts else None
    joined = Block(rows=parts[1].rows)
    for part in parts:
        for column, values in part.items():
            joined[column] = values
            joined.set_validity(column, part.validity(column))
    return joined


def _meta(system: Frame, frame: Frame, fills: Mapping[str, Any], elsewhere: Collection[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for meta in (system.meta, frame.meta):
        for key, value in meta.items():
            is_fill = key in fills and _form(meta.tag(key), value) == _form(meta.tag(key), fills[key])
            if key not in elsewhere and value is not None and not is_fill:
                found[key] = value
    return found


def _form(tag: str, value: Any) -> str:
    return typedjson.dump_json(typedjson.encode(tag, value))


def _box(system: Frame, frame: Frame, notes: Notes, target: str) -> Box | None:
    box = system.box if frame.box is None else frame.box
    if box is None or not box.cell_defined:
        return None
    if box.origin.any():
        notes.lost("origin of the cell", f"is left out; a cell of a {target} file begins at zero")
    if not box.boundary.all():
        notes.lost("periodicity", f"is left out; a cell of a {target} file is periodic in all directions")
    return box


# -- units ------------------------------------------------------------------------------------------------------------


def _length_unit(units: Any) -> str:
    """Return the unit of length of what ``units`` says; a frame that says nothing is taken to be in angstrom.

    Raises:
        SchemaError: A preset this library does not know, without a length (``reject-units-disagree``).
    """
    given = units if isinstance(units, Mapping) else {} if units is None else {"preset": units}
    if given.get("length") is not None:
        return str(given["length"])
    if given.get("preset") in (None, *_ANGSTROM_PRESETS):
        return UNITS["length"]
    raise SchemaError(
        f"the numbers are in the units of {given['preset']!r}; state the unit of length to have it converted",
        "reject-units-disagree",
    )


@cache
def _factor(unit: str) -> tuple[float, float]:
    """Return the factor from a unit to angstrom as numerator and denominator, so that powers of ten are exact."""
    if unit == UNITS["length"]:
        return _SAME
    import pint

    registry: Any = pint.UnitRegistry()
    try:
        down = float(registry.Quantity(1.0, unit).to(UNITS["length"]).magnitude)
    except (pint.UndefinedUnitError, pint.DimensionalityError) as error:
        raise SchemaError(f"the unit {unit!r} is no length ({error})", "reject-units-disagree") from error
    for factor in ((float(round(down)), 1.0), (1.0, float(round(1 / down)))):
        if factor[0] and factor[1] and abs(factor[0] / factor[1] - down) < 1e-12 * down:
            return factor
    return down, 1.0


def _scaled(values: npt.NDArray[np.float64], factor: tuple[float, float], power: int) -> npt.NDArray[np.float64]:
    return values * factor[0] ** power / factor[1] ** power


def _converted(atoms: Block, factor: tuple[float, float]) -> Block:
    converted = Block(rows=atoms.rows)
    for name, values in atoms.items():
        power = _LENGTH_POWERS.get(name)
        converted[name] = values if power is None else _scaled(values, factor, power)
        converted.set_validity(name, atoms.validity(name))
    return converted
