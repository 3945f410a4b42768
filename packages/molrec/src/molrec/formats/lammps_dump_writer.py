"""Writing LAMMPS dump files in text form, as ``dump custom`` does: one frame after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from molrec.dtypes import Array
from molrec.errors import SchemaError
from molrec.formats.compressed import replacing
from molrec.formats.images import Images
from molrec.formats.lammps_box import bounds_of, dump_bounds, is_restricted
from molrec.formats.lammps_header import unit_style_of
from molrec.formats.lammps_names import BOUNDARY, LAMMPS_OF, UNWRAPPED
from molrec.formats.lammps_table import rows_of_text
from molrec.formats.lammps_whole import filled, whole_frames
from molrec.formats.lammps_written_types import UNWRITABLE
from molrec.formats.notes import Notes
from molrec.formats.series import Progress
from molrec.formats.survey import STEP_KEYS
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame

__all__ = ["write_dump"]

#: Columns that come first, in this order; the others follow as the block has them.
_FIRST = ("id", "mol_id", "type_id", "type", "element", "mass", "charge", "x", "y", "z")
_META = frozenset(("units", "time", BOUNDARY)) | STEP_KEYS


def write_dump(path: Path, images: Images, notes: Notes, progress: Progress | None = None) -> None:
    """Write frames to a dump file; it is there complete or not at all.

    Args:
        path: The file; one that is there is replaced. A suffix of a compression compresses it.
        images: The frames.
        notes: Told about what a dump does not hold.
        progress: Called with frames done and frames in all.

    Raises:
        SchemaError: A frame has no atoms (``reject-foreign-write``), or the notes are strict.
    """
    with replacing(path) as file:
        for position, frame in enumerate(whole_frames(images)):
            for part in _frame_text(frame, position, notes):
                file.write(part.encode("ascii"))
            if progress is not None:
                progress(position + 1, len(images.frames))


def _frame_text(frame: Frame, position: int, notes: Notes) -> Iterator[str]:
    if "atoms" not in frame:
        raise SchemaError(f"frame {position} has no block 'atoms'; a dump is made of atoms", UNWRITABLE)
    atoms, meta = frame["atoms"], frame.meta
    for name, block in frame.items():
        if name != "atoms" and block.rows:
            notes.lost(f"block {name!r}", "is left out; a dump has atoms only")
    for key in meta:
        if key not in _META:
            notes.lost(f"meta {key!r}", "is left out; a dump has no place for it")
    units = unit_style_of(meta.get("units"), notes)
    if units is not None and position == 0:
        yield f"ITEM: UNITS\n{units}\n"
    if "time" in meta:
        yield f"ITEM: TIME\n{float(meta['time'])!r}\n"
    step = next((meta[key] for key in STEP_KEYS if isinstance(meta.get(key), int)), position)
    yield f"ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{atoms.rows}\n"
    yield _cell(frame.box, str(meta.get(BOUNDARY, "")), atoms, notes)
    columns = _columns(atoms, notes)
    yield f"ITEM: ATOMS {' '.join(columns)}\n"
    yield rows_of_text(list(columns.values()))


def _cell(box: Box | None, stated: str, atoms: Block, notes: Notes) -> str:
    if box is None or not box.cell_defined:
        notes.lost("cell", "there is none; bounds around the atoms are written")
        ends = [atoms[axis] if axis in atoms and atoms.rows else np.zeros(1) for axis in ("x", "y", "z")]
        rows = [f"{float(values.min()) - 1.0!r} {float(values.max()) + 1.0!r}" for values in ends]
        return "\n".join(["ITEM: BOX BOUNDS ss ss ss", *rows]) + "\n"
    # fixed, shrink-wrapped and so on are one thing in a box
    agrees = [flag == "pp" for flag in stated.split()] == box.boundary.tolist()
    flags = stated if agrees else " ".join("pp" if periodic else "ff" for periodic in box.boundary.tolist())
    if not is_restricted(box):
        rows = [
            f"{' '.join(map(repr, box.vectors[:, axis].tolist()))} {float(box.origin[axis])!r}" for axis in range(3)
        ]
        return "\n".join([f"ITEM: BOX BOUNDS abc origin {flags}", *rows]) + "\n"
    bounds = dump_bounds(bounds_of(box))
    tilts = ["", "", ""] if bounds.tilt is None else [f" {tilt!r}" for tilt in bounds.tilt]
    rows = [f"{low!r} {high!r}{tilt}" for low, high, tilt in zip(bounds.low, bounds.high, tilts, strict=True)]
    kind = "" if bounds.tilt is None else "xy xz yz "
    return "\n".join([f"ITEM: BOX BOUNDS {kind}{flags}", *rows]) + "\n"


def _columns(atoms: Block, notes: Notes) -> dict[str, Array]:
    """Return name in the dump to values, after notes about what cannot be there."""
    columns: dict[str, Array] = {}
    ordered = [*(name for name in _FIRST if name in atoms), *(name for name in atoms.columns if name not in _FIRST)]
    for name in ordered:
        subject = f"column {name!r}"
        unwrapped = atoms.column_attributes(name).get(UNWRAPPED)
        # scaled coordinates have become Cartesian ones
        shown = f"{name}u" if unwrapped else LAMMPS_OF.get(name, name)
        if shown in columns or any(character.isspace() for character in shown) or not shown.isascii():
            notes.lost(subject, f"is left out; a dump cannot have a column {shown!r} for it")
            continue
        values = filled(atoms, name, notes)
        if values.dtype.kind == "c":
            notes.lost(subject, "is left out; a dump has no complex numbers")
        elif values.dtype.kind == "T" and not _printable(values):
            notes.lost(subject, "is left out; it holds empty texts, blanks or characters beyond ASCII")
        elif values.ndim > 1:
            notes.changed(subject, "has several values per atom; each becomes a column of its own")
            flat = values.reshape(len(values), -1)
            columns |= {f"{shown}[{number + 1}]": flat[:, number] for number in range(flat.shape[1])}
        else:
            if values.dtype.kind == "b":
                notes.changed(subject, "holds flags; they are written as 0 and 1")
            columns[shown] = values
    if not columns:
        raise SchemaError("the atoms have no column a dump can hold", UNWRITABLE)
    return columns


def _printable(values: Array) -> bool:
    return all(
        text.isascii() and len(text.split()) == 1 and text.split()[0] == text for text in np.unique(values).tolist()
    )
