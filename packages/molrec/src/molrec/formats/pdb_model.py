"""One model of a PDB file as a frame."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from molrec.formats import pdb_records as records
from molrec.formats.macromolecule import (
    MALFORMED,
    MODEL_KEY,
    SPACE_GROUP_KEY,
    TITLE_KEY,
    Z_VALUE_KEY,
    box_of_cell,
    malformed,
)
from molrec.formats.notes import Notes
from molrec.formats.pdb_atoms import AtomReader, record_names
from molrec.formats.pdb_columns import WIDTH, LineFields, line_matrix
from molrec.formats.pdb_standing import Standing
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta

__all__ = ["Model"]

#: SCALE has six decimals, and programs that round the cell differ in the last but one.
_SCALE_TOLERANCE = 1e-5
_OF_ATOMS = (b"ANISOU", b"SIGATM", b"SIGUIJ", b"CONECT", b"TER   ")


class Model:
    """The lines of one model, parsed.

    Args:
        lines: All its lines.
        rows: Which of the lines are those of the atoms.
        number: The model's number where it states one.
        standing: What holds beyond it.
    """

    def __init__(self, lines: LineFields, rows: npt.NDArray[np.int64], number: int | None, standing: Standing) -> None:
        self._lines = lines
        self._rows = rows
        self._number = number
        self._standing = standing
        self._names = record_names(lines)

    @classmethod
    def parse(cls, segment: records.Segment, standing: Standing) -> Self | None:
        """Read the lines up to the end of a model; None where they have no atoms.

        Raises:
            FormatError: They are not ASCII, or a model is not closed or not opened.
        """
        text = segment.text.replace(b"\r\n", b"\n")
        _check_ascii(text, segment.line, standing.path)
        matrix, starts, stops = line_matrix(text)
        numbers = segment.line + np.arange(len(starts), dtype=np.int64)
        lines = LineFields(standing.path, matrix, numbers, MALFORMED)
        names = record_names(lines)
        is_atom = (names == records.ATOM_KINDS[0]) | (names == records.ATOM_KINDS[1])
        rows = np.flatnonzero(is_atom)
        _check_whole(lines, rows, starts, stops, text)
        _note_beyond(text, starts[rows], stops[rows], standing.notes)
        other = np.flatnonzero(~is_atom & ~np.isin(names, _OF_ATOMS))
        first_atom = int(rows[0]) if rows.size else len(lines)
        opened: list[int] = []
        closed = False
        standing.title = []
        for row in other.tolist():
            line = text[starts[row] : stops[row]].rstrip()
            record = line[:6].rstrip()
            if record == b"MODEL":
                opened.append(row)
            elif record in (b"ENDMDL", b"END"):
                closed = True
            elif record:
                standing.take(record, line, int(numbers[row]), before_atoms=row < first_atom)
        if standing.title:
            title = "".join(standing.title).strip()
            standing.meta.pop(TITLE_KEY, None)
            if title:
                standing.meta[TITLE_KEY] = title
        if len(opened) > 1 or (opened and not closed):
            raise lines.error(
                opened[0], "the MODEL record has no ENDMDL; the file is cut short, get it again or add the record"
            )
        if not rows.size:
            if opened:
                raise lines.error(opened[0], "the model has no atoms; the file is cut short or damaged")
            return None
        number = _model_number(lines, opened[0], text[starts[opened[0]] : stops[opened[0]]]) if opened else None
        return cls(lines, rows, number, standing)

    def frame(self) -> Frame:
        """Return the model as a frame.

        Raises:
            FormatError: A field is damaged, a serial number occurs twice, or the cell is none.
        """
        notes, connections = self._standing.notes, self._standing.connections
        atoms = AtomReader(self._lines, self._rows, self._standing).block()
        blocks = {"atoms": atoms}
        if len(connections) and "id" in atoms:
            blocks["bonds"] = connections.among(atoms["id"])
        elif len(connections):
            raise connections.refuse(
                "the CONECT record names atoms by serial numbers, which they do not have; remove it"
            )
        for record in (b"SIGATM", b"SIGUIJ"):
            if (self._names == record).any():
                notes.lost(f"{record.decode()} records", "are left out; a record has no place for standard deviations")
        box = self._box()
        meta = Meta(self._standing.meta)
        if box is None:
            for key in (SPACE_GROUP_KEY, Z_VALUE_KEY):
                meta.pop(key, None)  # those of the cell that stands for none
        if self._number is not None:
            meta.set(MODEL_KEY, self._number, tag="i64")
        if self._standing.header:
            meta.set(records.HEADER_KEY, self._standing.header, tag="json")
            self._standing.header = []
        return Frame(blocks, meta=meta, box=box)

    # -- cell -------------------------------------------------------------------------------------------------------

    def _box(self) -> Box | None:
        standing = self._standing
        if standing.cell is None:
            if standing.scale:
                standing.notes.lost("SCALE records", "are left out; there is no cell")
            return None
        number, line = standing.cell
        fields = LineFields(standing.path, line_matrix(line)[0], np.array([number]), MALFORMED)
        parameters = [float(fields.reals(place, required=True)[0][0]) for place in records.CELL]
        fractional = self._fractional()
        try:
            return box_of_cell(parameters, fractional, _SCALE_TOLERANCE)
        except ValueError as error:
            raise fields.error(0, f"CRYST1: {error}; correct or remove the record") from error

    def _fractional(self) -> npt.NDArray[np.float64] | None:
        standing = self._standing
        if len(standing.scale) < 3:
            if standing.scale:
                standing.notes.lost("SCALE records", "are left out; there are three of them or none")
            return None
        rows = []
        for name in (b"SCALE1", b"SCALE2", b"SCALE3"):
            number, line = standing.scale[name]
            try:
                numbers = [float(line[start : start + 10]) for start in (10, 20, 30, 45)]
            except ValueError as error:
                raise malformed(standing.path, number, f"{name.decode()} holds no four numbers ({error})") from error
            if numbers[3]:
                standing.notes.lost("SCALE records", "move the origin of the cell, which is left out")
            rows.append(numbers[:3])
        return np.array(rows)


def _check_ascii(text: bytes, line: int, path: str) -> None:
    if text.isascii() and b"\0" not in text:
        return
    codes = np.frombuffer(text, dtype=np.uint8)
    place = int(np.flatnonzero((codes > 127) | (codes == 0))[0])
    raise malformed(
        path,
        line + text.count(b"\n", 0, place),
        f"the byte 0x{codes[place]:02x} is not ASCII text; PDB files are, so the file is damaged or of another kind",
    )


def _check_whole(
    lines: LineFields,
    rows: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    text: bytes,
) -> None:
    """Refuse lines of atoms that are cut short or hold tabs, which mean no column."""
    end = records.COORDINATES[-1].stop
    short = np.flatnonzero(stops[rows] - starts[rows] < end)
    if short.size:
        row = int(rows[short[0]])
        raise lines.error(
            row,
            f"the line ends after {stops[row] - starts[row]} columns, within the coordinates (columns 31 to {end}); "
            "the file is cut short or damaged",
        )
    if b"\t" in text:
        tabs = (lines.matrix[rows] == ord("\t")).any(axis=1)
        if tabs.any():
            raise lines.error(int(rows[tabs.argmax()]), "the line holds a tab; PDB has columns, write blanks instead")


def _note_beyond(text: bytes, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64], notes: Notes) -> None:
    for row in np.flatnonzero(stops - starts > WIDTH).tolist():
        if text[starts[row] + WIDTH : stops[row]].strip():
            notes.lost("columns of atoms after 80", "are left out; PDB has none")
            return


def _model_number(lines: LineFields, row: int, line: bytes) -> int | None:
    number = line[6:].strip()
    if not number:
        return None
    if not number.isdigit():
        raise lines.error(row, f"the model number is {number.decode()!r}, where an integer is expected")
    return int(number)
