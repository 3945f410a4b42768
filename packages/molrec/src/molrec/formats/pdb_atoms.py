"""The atoms of one model of a PDB file as a block."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.formats import pdb_records as records
from molrec.formats.macromolecule import MALFORMED, element_symbols, first_duplicate
from molrec.formats.pdb_columns import LineFields
from molrec.formats.pdb_standing import Standing
from molrec.model.block import Block

__all__ = ["AtomReader", "record_names", "residues_counted_on", "serials_counted_on"]

_CHARGE = re.compile(rb"(\d)([+-])|([+-])(\d)|0")
_WRAP, _RESIDUE_WRAP = 100_000, 10_000
_NO_SERIAL = b"*****"


class AtomReader:
    """Reads the ATOM, HETATM, TER and ANISOU lines of a model.

    Args:
        lines: All lines of the model.
        rows: Which of them are those of atoms.
        standing: What holds beyond the model.
    """

    def __init__(self, lines: LineFields, rows: npt.NDArray[np.int64], standing: Standing) -> None:
        self._lines = lines
        self._rows = rows
        self._standing = standing
        self._names = record_names(lines)
        self._atoms = LineFields(standing.path, lines.matrix[rows], lines.numbers[rows], MALFORMED, standing.memory)

    def block(self) -> Block:
        """Return the atoms, a column for each field that is not empty everywhere.

        Raises:
            FormatError: A field is damaged, or a serial number occurs twice.
        """
        lines = self._atoms
        block = Block(
            {name: lines.reals(place, required=True)[0] for name, place in zip("xyz", records.COORDINATES, strict=True)}
        )
        self._add_ids(block)
        block["hetatm"] = lines.matrix[:, 0] == ord("H")
        block["name"] = lines.texts(records.NAME)
        block["altloc"] = lines.texts(records.ALTLOC)
        block["res_name"] = lines.texts(records.RESIDUE_NAME)
        block["chain"] = lines.texts(records.CHAIN)
        self._add_residues(block)
        for name, place in (("occupancy", records.OCCUPANCY), ("b_factor", records.B_FACTOR)):
            values, blank = lines.reals(place)
            _add(block, name, values, blank)
        if not lines.blank(records.SEGMENT).all():
            block["segment"] = lines.texts(records.SEGMENT)
        self._add_elements(block)
        self._add_ends(block)
        self._add_displacements(block)
        for place in records.UNUSED:
            if not lines.blank(place).all():
                self._standing.notes.lost(
                    f"{place.name} of the atoms", "hold text PDB has no field for; it is left out"
                )
        return block

    def _add_ids(self, block: Block) -> None:
        lines, notes = self._atoms, self._standing.notes
        if (lines.raw(records.SERIAL) == _NO_SERIAL).any():
            notes.lost("serial numbers", "are left out; some were too large for their field and are ***** in the file")
            return
        serials, blank = lines.integers(records.SERIAL)
        if blank.all():
            return
        if blank.any():
            raise lines.error(int(blank.argmax()), "the serial number is empty, others are not; number the atoms")
        if (serials < 0).any():
            raise lines.error(int((serials < 0).argmax()), "the serial number is negative; number the atoms from 1")
        counted = serials_counted_on(serials)
        if counted is not serials:
            if len(self._standing.connections):
                raise self._standing.connections.refuse(
                    "the CONECT record names atoms by serial numbers, but these start again after 99999, so it is not "
                    "clear which atoms it means; renumber the atoms, or remove the record"
                )
            serials = counted
            notes.changed("serial numbers", "start again after 99999 and are counted on")
        again = first_duplicate(serials)
        if again is not None:
            raise lines.error(
                again[1],
                f"the serial number {serials[again[1]]} occurs twice, first in line {lines.numbers[again[0]]}; number "
                "the atoms",
            )
        block["id"] = serials.astype(np.uint64)

    def _add_residues(self, block: Block) -> None:
        lines = self._atoms
        long = _is_digit(lines.columns(records.ICODE))[:, 0]
        numbers, blank = lines.integers(records.RESIDUE_NUMBER)
        if long.any():
            rows = np.flatnonzero(long)
            part = LineFields(self._standing.path, lines.matrix[rows], lines.numbers[rows], MALFORMED)
            numbers[rows] = part.integers(records.FIVE_DIGITS)[0]
            blank[rows] = False
        letters = lines.texts(records.ICODE)
        block["icode"] = np.where(long, np.array("", dtype=STRING), letters) if long.any() else letters
        if blank.all():
            return
        counted = residues_counted_on(numbers, block["chain"])
        if counted is not numbers:
            self._standing.notes.changed("residue numbers", "start again at 0 after 9999 and are counted on")
            numbers = counted
        if (numbers < 0).any():
            block["res_seq"] = numbers
        block["res_id"] = self._standing.residues.unsigned(block["chain"], numbers, self._standing.notes)
        for name in ("res_id", "res_seq"):
            if name in block:
                block.set_validity(name, ~blank)

    def _add_elements(self, block: Block) -> None:
        lines, notes = self._atoms, self._standing.notes
        blank = lines.blank(records.ELEMENT)
        charges = np.strings.strip(lines.raw(records.CHARGE))
        numbered = blank & np.strings.isdigit(charges) & (charges != b"0")
        if numbered.any() or _is_digit(lines.columns(records.ELEMENT)).any():
            notes.lost("columns 77 to 80", "hold neither elements nor charges (an old kind of PDB) and are left out")
            return
        _add(block, "element", element_symbols(lines.texts(records.ELEMENT)), blank)
        no_charge = lines.blank(records.CHARGE)
        if no_charge.all():
            return
        texts, inverse = np.unique(charges, return_inverse=True)
        values = np.zeros(len(texts), dtype=np.int64)
        for position, text in enumerate(texts.tolist()):
            found = _CHARGE.fullmatch(text) if text else None
            if text and found is None:
                row = int((inverse == position).argmax())
                raise lines.error(
                    row, f"the charge (columns 79 to 80) is {text.decode()!r}, where one like 2+ or 1- is expected"
                )
            values[position] = int(b"".join(reversed(found.groups(b"")[:2])) or found[0]) if found else 0
        _add(block, "formal_charge", values[inverse], no_charge)

    def _add_ends(self, block: Block) -> None:
        """Mark the atoms a TER follows."""
        lines = np.flatnonzero(self._names == b"TER   ")
        if not lines.size:
            return
        before = np.searchsorted(self._rows, lines) - 1
        ends = np.zeros(block.rows, dtype=np.bool_)
        ends[before[before >= 0]] = True
        block["ter"] = ends
        if int(ends.sum()) < lines.size:
            self._standing.notes.lost("TER records", "end no chain and are left out")

    def _add_displacements(self, block: Block) -> None:
        given = np.flatnonzero(self._names == b"ANISOU")
        if not given.size:
            return
        rows = np.searchsorted(self._rows, given) - 1
        lines = LineFields(self._standing.path, self._lines.matrix[given], self._lines.numbers[given], MALFORMED)
        same = (rows >= 0) & (lines.raw(records.IDENTITY) == self._atoms.raw(records.IDENTITY)[rows])
        if not same.all():
            raise lines.error(int(same.argmin()), "the ANISOU record is about another atom than the one before it")
        values = np.zeros((block.rows, len(records.ANISOTROPIC)))
        present = np.zeros(block.rows, dtype=np.bool_)
        for column, place in enumerate(records.ANISOTROPIC):
            numbers, blank = lines.integers(place)
            if blank.any():
                raise lines.error(int(blank.argmax()), f"{place.name} is empty; the line is cut short or damaged")
            values[rows, column] = numbers / records.ANISOTROPIC_SCALE
        present[rows] = True
        block["u_aniso"] = values
        block.set_validity("u_aniso", present)


def _add(block: Block, name: str, values: Array, blank: npt.NDArray[np.bool_]) -> None:
    """Add a column, null where its field is empty; none where it is empty everywhere."""
    if not blank.all():
        block[name] = values
        block.set_validity(name, ~blank)


def serials_counted_on(serials: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return serial numbers that go on where they start again at 0 or 1 after 99999; the same array where none do."""
    steps = np.diff(serials)
    wraps = (steps < 0) & (steps % _WRAP <= 2)  # a TER may have had the number between
    if not wraps.any():
        return serials
    counted: npt.NDArray[np.int64] = serials + _WRAP * np.concatenate([[0], np.cumsum(wraps)])
    return counted


def residues_counted_on(numbers: npt.NDArray[np.int64], chain: Array) -> npt.NDArray[np.int64]:
    """Return residue numbers that go on where they start again at 0 after 9999, until they fall or the chain ends."""
    wraps = np.concatenate([[False], (numbers[:-1] == _RESIDUE_WRAP - 1) & (numbers[1:] == 0)])
    other_chain = np.concatenate([[True], chain[1:] != chain[:-1]])
    wraps &= ~other_chain
    if not wraps.any():
        return numbers
    falls = np.concatenate([[False], numbers[1:] < numbers[:-1]]) & ~wraps
    times = np.cumsum(wraps)
    starts = np.flatnonzero(other_chain | falls)
    before = times[starts][np.cumsum(other_chain | falls) - 1]
    counted: npt.NDArray[np.int64] = numbers + _RESIDUE_WRAP * (times - before)
    return counted


def _is_digit(columns: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    digits: npt.NDArray[np.bool_] = (columns >= ord("0")) & (columns <= ord("9"))
    return digits


def record_names(lines: LineFields) -> Array:
    """Return the first six columns of each line."""
    return np.ascontiguousarray(lines.matrix[:, :6]).view("S6").reshape(-1)
