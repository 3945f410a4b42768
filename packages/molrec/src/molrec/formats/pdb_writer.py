"""Frames as a PDB file: fixed columns, one MODEL per frame where there are several, CONECT at the end.

What does not fit its field is refused, naming the atom and the field; digits a field has no room for are noted. Names
are placed as the format says, one-letter elements in column 14; numbers too large are in hybrid-36. The chain and the
residue number are the authors' (``auth_asym_id``, ``auth_seq_id``) where a frame that came from mmCIF has them. CRYST1
and TITLE are written when they change; SCALE only where the box has another orientation than the usual one.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING
from molrec.errors import SchemaError
from molrec.formats import pdb_records as records
from molrec.formats.compressed import open_binary
from molrec.formats.gemmi_import import require_gemmi
from molrec.formats.images import Images
from molrec.formats.macromolecule import (
    MODEL_KEY,
    SPACE_GROUP_KEY,
    TITLE_KEY,
    Z_VALUE_KEY,
    box_of_cell,
    cell_of_box,
    in_standard_orientation,
)
from molrec.formats.macromolecule_frames import UNWRITABLE, WholeFrame, note_columns, note_meta, whole_frames
from molrec.formats.notes import Notes
from molrec.formats.pdb_atom_printer import AtomPrinter
from molrec.formats.pdb_bonds import print_connections
from molrec.formats.pdb_columns import Field, LinePrinter
from molrec.formats.series import Progress
from molrec.model.block import Block
from molrec.model.box import Box

__all__ = ["write_pdb"]

_TARGET = "PDB"
_HELD = frozenset(
    [
        "x",
        "y",
        "z",
        "id",
        "hetatm",
        "name",
        "altloc",
        "res_name",
        "chain",
        "res_id",
        "res_seq",
        "icode",
        "occupancy",
        "b_factor",
        "segment",
        "element",
        "formal_charge",
        "ter",
        "u_aniso",
    ]
)
_HELD_BONDS = frozenset(("atomi", "atomj", "bond_type"))
_HELD_META = frozenset((MODEL_KEY, TITLE_KEY, SPACE_GROUP_KEY, Z_VALUE_KEY, records.HEADER_KEY))
_HELD_WITHOUT_CELL = _HELD_META - {SPACE_GROUP_KEY, Z_VALUE_KEY}
_CELL_DECIMALS = (3, 2)
_TITLE_COLUMNS = 70
_TWICE, _THRICE = 2, 3


def write_pdb(path: Path, images: Images, notes: Notes, progress: Progress | None) -> None:
    """Write frames to a PDB file, one at a time; it is there complete or not at all.

    Args:
        path: The file; one that is there is replaced. A suffix such as ``.gz`` compresses it.
        images: The frames.
        notes: Told about what the format does not hold.
        progress: Called with frames done and frames in all.

    Raises:
        SchemaError: Something does not fit its field (``reject-foreign-write``), a frame has no atoms, or the numbers
            are not in angstrom.
        ImportError: gemmi is not installed.
    """
    require_gemmi()
    temporary = path.with_name(f".{uuid.uuid4().hex}.{path.name}")
    try:
        with open_binary(temporary, "wb") as file:
            writer = _Writer(file, len(images.frames), notes)
            for frame in whole_frames(images, notes, _TARGET):
                writer.write(frame)
                if progress is not None:
                    progress(frame.position + 1, len(images.frames))
            writer.finish()
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


class _Writer:
    """One file under way."""

    def __init__(self, file: IO[bytes], count: int, notes: Notes) -> None:
        self._file = file
        self._count = count
        self._notes = notes
        self._title: Any = None
        self._cell = b""
        self._bonds: npt.NDArray[np.int64] | None = None

    def write(self, frame: WholeFrame) -> None:
        note_columns(frame.atoms, self._held(frame.atoms), "the atoms", _TARGET, self._notes)
        note_meta(frame, _HELD_META if frame.box is not None else _HELD_WITHOUT_CELL, _TARGET, self._notes)
        self._write_header(frame)
        model = frame.meta.get(MODEL_KEY)
        if self._count > 1 or model is not None:
            number = frame.position + 1 if model is None else int(model)
            self._file.write(f"MODEL     {number:4d}\n".encode())
        serials = AtomPrinter(frame, self._notes).write(self._file)
        if self._count > 1 or model is not None:
            self._file.write(b"ENDMDL\n")
        self._add_bonds(frame, serials)

    def finish(self) -> None:
        """Write what stands behind the atoms."""
        if self._bonds is not None:
            self._file.write(print_connections(self._bonds[:, :2], self._bonds[:, 2]))
        self._file.write(b"END\n")

    def _held(self, atoms: Block) -> frozenset[str]:
        """Return the columns that are written, or that say again what is written."""
        held = _HELD | {"auth_asym_id", "auth_seq_id"}
        for author, own in (("auth_atom_id", "name"), ("auth_comp_id", "res_name")):
            if author in atoms and own in atoms and np.array_equal(atoms[author], atoms[own]):
                held |= {author}
        return held

    # -- before the atoms ---------------------------------------------------------------------------------------------

    def _write_header(self, frame: WholeFrame) -> None:
        header = frame.meta.get(records.HEADER_KEY, [])
        if not isinstance(header, list) or not all(isinstance(line, str) for line in header):
            raise SchemaError(f"frame {frame.position}: meta {records.HEADER_KEY!r} is no list of lines", UNWRITABLE)
        # HEADER, OBSLTE, TITLE: the format's order
        first = [line for line in header if line.startswith(("HEADER", "OBSLTE"))]
        self._write_lines(frame, first)
        title = frame.meta.get(TITLE_KEY)
        if title != self._title:
            self._write_lines(frame, _title_lines("" if title is None else str(title)))
            self._title = title
        self._write_lines(frame, header[len(first) :] if header[: len(first)] == first else _without(header, first))
        cell = b"" if frame.box is None else self._cell_lines(frame, frame.box)
        if cell != self._cell:
            self._file.write(cell or b"CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1\n")
            self._cell = cell

    def _write_lines(self, frame: WholeFrame, lines: list[str]) -> None:
        for line in lines:
            if not line.isascii() or {"\n", "\r", "\0"} & {*line}:
                raise SchemaError(
                    f"frame {frame.position}: a line of a PDB file is ASCII, {line!r} is none", UNWRITABLE
                )
            self._file.write(line.encode() + b"\n")

    def _cell_lines(self, frame: WholeFrame, box: Box) -> bytes:
        parameters = cell_of_box(box, _CELL_DECIMALS)
        where = f"frame {frame.position}"
        printer = LinePrinter(1, lambda _: f"{where}, CRYST1", b"CRYST1")
        for place, value in zip(records.CELL, parameters.tolist(), strict=True):
            printer.put_reals(place, np.array([value]))
        group, count = str(frame.meta.get(SPACE_GROUP_KEY, "")), frame.meta.get(Z_VALUE_KEY)
        printer.put_texts(
            Field("the space group", records.SPACE_GROUP.start, records.SPACE_GROUP.stop),
            np.array([group], dtype=STRING),
        )
        if count is not None:
            printer.put_integers(Field("Z", records.Z_VALUE.start, records.Z_VALUE.stop), np.array([int(count)]))
        lines = printer.text()
        if not in_standard_orientation(box):
            self._notes.lost("orientation of the cell", "is written to the six decimals of the SCALE records")
            return lines + _scale_lines(box)
        try:
            rebuilt = box_of_cell(parameters, None, 0.0)
        except ValueError as error:
            raise SchemaError(f"{where}: {error}, to the decimals PDB has", UNWRITABLE) from error
        if rebuilt is None:
            raise SchemaError(f"{where}: the cell is one of three ones, which PDB takes for no cell", UNWRITABLE)
        if not np.allclose(rebuilt.vectors, box.vectors, rtol=1e-12, atol=1e-12 * float(np.abs(box.vectors).max())):
            self._notes.lost("cell", "is written with 3 decimals for lengths and 2 for angles")
        return lines

    # -- behind the atoms ---------------------------------------------------------------------------------------------

    def _add_bonds(self, frame: WholeFrame, serials: npt.NDArray[np.int64]) -> None:
        """Collect the bonds by serial number, as CONECT says them for all models at once."""
        bonds = np.zeros((0, 3), dtype=np.int64)
        if frame.bonds is not None and frame.bonds.rows:
            note_columns(frame.bonds, _HELD_BONDS, "the bonds", _TARGET, self._notes)
            rows = np.column_stack([frame.bonds["atomi"], frame.bonds["atomj"]]).astype(np.int64)
            if rows.max() >= len(serials):
                raise SchemaError(
                    f"frame {frame.position}: a bond is to atom {rows.max()} of {len(serials)}",
                    "reject-dangling-reference",
                )
            pairs = np.sort(serials[rows], axis=1)
            bonds = np.unique(np.column_stack([pairs, self._orders(frame.bonds)]), axis=0)
        if self._bonds is None:
            self._bonds = bonds
            return
        among = np.isin(self._bonds[:, :2], serials).all(axis=1)
        if not np.array_equal(self._bonds[among], bonds):
            if len(bonds) < int(among.sum()) or np.isin(bonds[:, :2], self._bonds[:, :2]).all():
                self._notes.lost("bonds", "differ between frames; CONECT gives a model every bond of any")
            self._bonds = np.unique(np.concatenate([self._bonds, bonds]), axis=0)

    def _orders(self, bonds: Block) -> npt.NDArray[np.int64]:
        """Return how often CONECT names a partner."""
        if "bond_type" not in bonds:
            self._notes.changed("bonds", "state no bond_type; CONECT reads back as single bonds")
            return np.ones(bonds.rows, dtype=np.int64)
        kinds, known = bonds["bond_type"].astype(np.int64), bonds.validity("bond_type")
        if known is not None:
            kinds = np.where(known, kinds, 0)
        orders = np.where((kinds == _TWICE) | (kinds == _THRICE), kinds, 1)
        for kind in np.unique(kinds[(kinds != orders)]).tolist():
            self._notes.lost(f"bond_type {kind}", "is written as a single bond; CONECT says 1, 2 and 3 only")
        return orders


def _title_lines(title: str) -> list[str]:
    """Return TITLE records, cut before blanks only, so that the title reads back as it is."""
    parts, rest = [], title
    while len(rest) > _TITLE_COLUMNS:
        cut = len(rest[: rest.rfind(" ", 1, _TITLE_COLUMNS + 1) + 1].rstrip())
        if cut == 0:  # a word longer than the line, which then is longer too
            cut = rest.find(" ", _TITLE_COLUMNS)
        if cut < 0:
            break
        parts.append(rest[:cut])
        rest = rest[cut:]
    first, *others = [*parts, rest]
    return [f"TITLE     {first}", *(f"TITLE   {number:2d}{part}" for number, part in enumerate(others, 2))]


def _without(lines: list[str], others: list[str]) -> list[str]:
    return [line for line in lines if line not in others]


def _scale_lines(box: Box) -> bytes:
    fractional = np.linalg.inv(box.vectors)
    lines = []
    for row in range(3):
        numbers = "".join(f"{value + 0.0:10.6f}" for value in fractional[row])
        lines.append(f"SCALE{row + 1}    {numbers}     {0.0:10.5f}\n")
    return "".join(lines).encode()
