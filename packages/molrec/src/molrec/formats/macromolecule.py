"""What PDB and mmCIF have in common: units, residue numbers, cells, and frames put together for writing.

Residue numbers are unsigned in a record. Where a chain of a file has negative ones, all its numbers are moved by one
constant, so that the smallest becomes 1; order and ``(chain, res_id, icode)`` stay as they were, and the file's own
numbers stay beside them in another column.

A cell of three ones or three zeros is what programs write where a file must have a cell and there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec import typedjson
from molrec.dtypes import STRING, Array
from molrec.errors import FormatError, SchemaError
from molrec.formats.gemmi_import import require_gemmi
from molrec.formats.images import Images
from molrec.formats.notes import Notes
from molrec.formats.survey import STEP_KEYS
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame

__all__ = [
    "MALFORMED",
    "MODEL_KEY",
    "SPACE_GROUP_KEY",
    "TITLE_KEY",
    "UNITS",
    "UNWRITABLE",
    "Z_VALUE_KEY",
    "ResidueNumbers",
    "WholeFrame",
    "box_of_cell",
    "cell_of_box",
    "element_symbols",
    "first_duplicate",
    "in_standard_orientation",
    "malformed",
    "missing_coordinates",
    "note_columns",
    "note_meta",
    "whole_frames",
]

MALFORMED = "reject-malformed-source"
UNWRITABLE = "reject-foreign-write"
UNITS: Mapping[str, str] = {"length": "angstrom"}

#: Frame meta both formats have a place for.
MODEL_KEY, TITLE_KEY, SPACE_GROUP_KEY, Z_VALUE_KEY = "model", "title", "space_group", "z_value"

_ANGSTROM_PRESETS = ("real", "metal")
_ANGSTROM_NAMES = ("angstrom", "angstroms", "ångström", "å", "a")
_LARGEST_DECIMALS = 15


# -- reading --------------------------------------------------------------------------------------------------------


class ResidueNumbers:
    """Residue numbers of one file, made unsigned chain by chain; a chain keeps its constant from frame to frame."""

    def __init__(self) -> None:
        self._moves: dict[str, int] = {}

    def unsigned(self, chain: Array, numbers: npt.NDArray[np.int64], notes: Notes) -> npt.NDArray[np.uint64]:
        """Return ``res_id`` of one frame's atoms.

        Args:
            chain: Chain of each atom, strings.
            numbers: The file's residue number of each atom.
            notes: Told which chains were renumbered.
        """
        moved = numbers.copy()
        negative = numbers < 0
        for name in {*np.unique(chain[negative]).tolist(), *self._moves} if negative.any() or self._moves else ():
            rows = np.flatnonzero(chain == name)
            if not rows.size:
                continue
            needed = 1 - int(numbers[rows].min())
            move = self._moves[name] if self._moves.get(name, -1) >= needed - 1 else needed
            self._moves[name] = move
            moved[rows] += move
            notes.changed(
                f"residue numbers of chain {name!r}",
                f"are moved by {move}, since some are negative; the file's own are kept beside them",
            )
        return moved.astype(np.uint64)


def element_symbols(texts: Array) -> Array:
    """Return element symbols as they are written in chemistry: ``FE`` as ``Fe``."""
    names, inverse = np.unique(texts, return_inverse=True)
    return np.array([name.capitalize() for name in names.tolist()], dtype=STRING)[inverse]


def first_duplicate(identifiers: Array) -> tuple[int, int] | None:
    """Return the rows of the first identifier that occurs twice, or None."""
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


@dataclass(frozen=True, slots=True)
class WholeFrame:
    """One frame to write, the system's part joined to it.

    Attributes:
        position: Which frame it is, from 0.
        atoms: Its atoms.
        bonds: Its bonds, or None.
        meta: Its meta without fills and without what belongs to the run.
        box: Its cell, or None; never an undefined one.
    """

    position: int
    atoms: Block
    bonds: Block | None
    meta: Mapping[str, Any]
    box: Box | None


def whole_frames(images: Images, notes: Notes, target: str) -> Iterator[WholeFrame]:
    """Yield the frames of a run for a writer, one at a time, and note what neither format has a place for.

    Args:
        images: The frames.
        notes: Told about other blocks, steps, times, and what a cell cannot say.
        target: What the file is called in notes, such as ``PDB``.

    Raises:
        SchemaError: The numbers are not in angstrom (``reject-units-disagree``) or a frame has no atoms with
            coordinates (``reject-not-atoms``).
    """
    system = Frame() if images.system is None else images.system
    _check_units(system.meta.get("units"), target)
    if not images.numbered:
        notes.lost("steps", f"are left out; a {target} file numbers its models only")
    if images.times is not None:
        notes.lost("times", f"are left out; a {target} file has no place for them")
    fills = {key: meta.fill for key, meta in images.schema.meta.items() if meta.has_fill} if images.schema else {}
    for position, frame in enumerate(images.frames):
        _check_units(frame.meta.get("units"), target)
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
        yield WholeFrame(position, atoms, _joined("bonds", system, frame), meta, _box(system, frame, notes, target))


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


def _check_units(units: Any, target: str) -> None:
    """Refuse lengths that are not in angstrom: nothing is converted."""
    if units is None:
        return
    given = units if isinstance(units, Mapping) else {"preset": units}
    preset, length = given.get("preset"), given.get("length")
    fits = str(length).lower() in _ANGSTROM_NAMES if length is not None else preset in (None, *_ANGSTROM_PRESETS)
    if not fits:
        raise SchemaError(
            f"the lengths are in {length or preset!r}, those of a {target} file in angstrom; convert them first, "
            "nothing is converted here",
            "reject-units-disagree",
        )


def malformed(path: Path | str, line: int, why: str) -> FormatError:
    """Return the refusal of a damaged file at a line, counted from 1."""
    return FormatError(f"{path}:{line}: {why}", MALFORMED)
