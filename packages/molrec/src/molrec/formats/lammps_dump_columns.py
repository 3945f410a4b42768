"""The columns of a dump: what the names after ``ITEM: ATOMS`` become in a frame.

| dump | record |
|---|---|
| ``id mol type typelabel q`` | ``id mol_id type_id type charge``; a ``type`` that holds labels is ``type`` |
| ``x y z`` | the positions; any other form beside them keeps its own name |
| ``xs ys zs`` | made Cartesian, where there are no ``x y z`` |
| ``xu yu zu``, ``xsu ysu zsu`` | the positions where there is nothing else, marked as unwrapped |
| other canonical names | themselves |
| anything else | its own name: text, an integer where LAMMPS says so, else a real |

Image flags say where a wrapped position belongs. Beside unwrapped positions alone they would count twice; there the
positions are wrapped by them, and the unwrapped ones stay as columns of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from molrec.dtypes import Array
from molrec.formats.lammps_box import cartesian
from molrec.formats.lammps_ids import AtomIndex, as_unsigned
from molrec.formats.lammps_names import CANONICAL_OF, UNWRAPPED
from molrec.formats.lammps_table import Field, Kind, Place, read_table
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.vocabulary import CANONICAL_COLUMNS

__all__ = ["atoms_of_rows"]

_AXES = ("x", "y", "z")
_SCALED = ("xs", "ys", "zs")
_UNWRAPPED = ("xu", "yu", "zu")
_SCALED_UNWRAPPED = ("xsu", "ysu", "zsu")
_IMAGES = ("ix", "iy", "iz")
_COORDINATES = frozenset((*_AXES, *_SCALED, *_UNWRAPPED, *_SCALED_UNWRAPPED))
_KINDS: dict[str, Kind] = {"f64": "real", "string": "text"}
_INTEGERS = frozenset(("proc", "procp1"))
#: Custom per-atom integers of ``fix property/atom``.
_INTEGER_PREFIXES = ("i_", "i2_")


def atoms_of_rows(names: Sequence[str], lines: Sequence[bytes], box: Box, place: Place, notes: Notes) -> Block:
    """Return the atoms of a frame, by ascending id where they have ids.

    Args:
        names: The columns as the dump calls them.
        lines: One line per atom.
        box: The cell, which scaled positions are relative to.
        place: Where the first atom stands.
        notes: Told about positions that are kept in another form.

    Raises:
        FormatError: A row is malformed, or an id stands there twice.
    """
    first = lines[0].split() if lines else []
    fields = [Field(name, _kind(name, first[at] if at < len(first) else None)) for at, name in enumerate(names)]
    columns = read_table(lines, fields, place)
    text_type = any(field.name == "type" and field.kind == "text" for field in fields)
    renamed: dict[str, Array] = {}
    for name, values in columns.items():
        column = CANONICAL_OF.get(name, name)
        if name == "type" and not text_type:
            column = "type_id"
        if column in renamed:
            raise place.error(-1, f"the columns of {column!r} stand there twice, under two names")
        renamed[column] = _as_canonical(column, values, place)
    unwrapped = _place_positions(renamed, box, notes)
    order = _order(columns["id"], place) if "id" in columns else None
    atoms = Block(rows=len(lines))
    for name, values in renamed.items():
        atoms[name] = values if order is None else values[order]
    if unwrapped is not None:
        for axis, name in zip(_AXES, unwrapped, strict=True):
            atoms.column_attributes(axis)[UNWRAPPED] = name
    return atoms


def _kind(name: str, token: bytes | None) -> Kind:
    """Return what a column holds, by its name, and by the first atom's field where the name does not say."""
    canonical = CANONICAL_COLUMNS.get(CANONICAL_OF.get(name, name))
    if name == "type":
        # labels never begin like a number
        return "text" if token is not None and not token.lstrip(b"+-").isdigit() else "integer"
    if name in _COORDINATES:
        return "real"
    if canonical is not None:
        return _KINDS.get(canonical, "integer")
    if name in _INTEGERS or name.startswith(_INTEGER_PREFIXES):
        return "integer"
    return "real" if token is None or _is_number(token) else "text"


def _is_number(token: bytes) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def _as_canonical(name: str, values: Array, place: Place) -> Array:
    dtype = CANONICAL_COLUMNS.get(name)
    if dtype == "u64":
        return as_unsigned(values, name, place)
    if dtype in ("i32", "bool"):
        limits = (0, 1) if dtype == "bool" else (-(2**31), 2**31 - 1)
        outside = (values < limits[0]) | (values > limits[1])
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            raise place.error(row, f"column {name!r} holds {limits[0]} to {limits[1]}, found {int(values[row])}")
        return values.astype(np.bool_ if dtype == "bool" else np.int32)
    return values


def _order(ids: Array, place: Place) -> Array | None:
    """Return the rows by ascending id, None where they are in that order already."""
    if ids.size and int(ids[0]) >= 0 and bool((ids[1:] > ids[:-1]).all()):
        return None
    return AtomIndex(ids, place).order


def _place_positions(columns: dict[str, Array], box: Box, notes: Notes) -> tuple[str, ...] | None:
    """Put positions into x, y, z; return what the file calls them where they are unwrapped.

    Raises:
        SchemaError: The notes are strict and do not allow it.
    """

    def has(names: Sequence[str]) -> bool:
        return all(name in columns for name in names)

    if any(name in columns for name in _AXES):
        return None
    if has(_SCALED):
        notes.changed("columns xs ys zs", "are relative to the cell; they become the Cartesian x y z")
        columns |= dict(zip(_AXES, cartesian([columns.pop(name) for name in _SCALED], box), strict=True))
        return None
    names = next((names for names in (_UNWRAPPED, _SCALED_UNWRAPPED) if has(names)), None)
    if names is None:
        return None
    found = [columns[name] for name in names]
    positions = found if names == _UNWRAPPED else cartesian(found, box)
    listed = " ".join(names)
    if has(_IMAGES):
        notes.changed(f"columns {listed}", "are unwrapped; x y z are wrapped by the image flags, and these stay beside")
        shift = box.vectors @ np.stack([columns[name] for name in _IMAGES]).astype(np.float64)
        columns |= {axis: values - shift[at] for at, (axis, values) in enumerate(zip(_AXES, positions, strict=True))}
        return None
    notes.changed(f"columns {listed}", f"are unwrapped; they become x y z with the attribute {UNWRAPPED!r}")
    for name in names:
        del columns[name]
    columns |= dict(zip(_AXES, positions, strict=True))
    return names
