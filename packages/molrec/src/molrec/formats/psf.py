"""Protein structure files (``.psf``) of CHARMM, NAMD and X-PLOR: what atoms are and what joins them; no positions.

| file | record |
|---|---|
| number, segment, residue number with insertion code | ``id``, ``chain``, ``res_id``, ``icode`` |
| residue and atom name, type, charge, mass | ``res_name``, ``name``, ``type``, ``charge``, ``mass`` |
| fixed-atom flag, where not all zero | ``imove`` |
| fluctuating charges or Drude parameters, where not all zero | ``ech eha`` or ``alpha thole`` |
| bonds, angles, dihedrals, impropers | ``bonds``, ``angles``, ``dihedrals``, ``impropers`` |
| excluded pairs | ``exclusions`` |
| cross terms, two dihedrals each | ``cmaps``, ``atomi`` to ``atomp`` |
| donors and acceptors, atom and hydrogen or antecedent | ``donors``, ``acceptors``; no second atom is null |
| groups | ``groups``: first atom, ``kind``, ``imove`` |
| numbers of molecules | ``mol_id`` |
| title | meta ``title`` |

Fields are told apart by spaces, as NAMD does, and one that is not there, the segment, by what stands in its place. Lone
pairs and sections of other names are left out, with a note. Force-field parameters are in other files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING
from molrec.errors import FormatError
from molrec.formats.compressed import reading
from molrec.formats.notes import Notes
from molrec.formats.registry import Format
from molrec.formats.residue_numbers import set_residue_numbers
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.relations import ENDPOINTS

__all__ = ["PSF", "PsfFamily", "PsfSource"]

PSF = "psf"

_MALFORMED = "reject-malformed-source"
_HEADER = re.compile(rb"\s*(\d+)(?:\s+\d+)?\s*!\s*(\w+)")
_RESIDUE = re.compile(r"(-?\d+)([A-Za-z]?)")
_MANY_ENDPOINTS = (*ENDPOINTS, "atomm", "atomn", "atomo", "atomp")
#: Section -> block, and how many atoms one of its rows joins.
_RELATIONS = {
    "NBOND": ("bonds", 2),
    "NTHETA": ("angles", 3),
    "NPHI": ("dihedrals", 4),
    "NIMPHI": ("impropers", 4),
    "NCRTERM": ("cmaps", 8),
    "NDON": ("donors", 2),
    "NACC": ("acceptors", 2),
}
#: Blocks whose second atom may be 0, for none.
_OPEN = frozenset(("donors", "acceptors"))


class PsfFamily:
    """The one format of this module."""

    def names(self) -> Sequence[str]:
        """Return its name."""
        return [PSF]

    def get(self, name: str) -> Format | None:
        """Return the format by name, or None."""
        if name != PSF:
            return None
        return Format(PSF, "CHARMM, NAMD or X-PLOR structure", PsfSource, None, single=True, topology=True)

    def by_content(self, head: bytes) -> str | None:
        """Tell a file by its first word."""
        return PSF if re.match(rb"PSF\b", head) else None

    def by_name(self, path: Path) -> str | None:
        """Return the format of the suffix ``.psf``."""
        return PSF if path.suffix.lower() == ".psf" else None

    def always_recognized(self, name: str) -> bool:
        """Say yes: every file begins with its name."""
        return name == PSF


class _Section(NamedTuple):
    """One section: its name, the count and the line number of its header, and its lines."""

    name: str
    size: int
    line: int
    rows: list[bytes]


class PsfSource:
    """One PSF file, possibly compressed."""

    units: Mapping[str, str] | None = {"mass": "amu", "charge": "e"}

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def count(self) -> int | None:
        """Return 1."""
        return 1

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the one frame.

        Raises:
            FormatError: The file is cut short, joins atoms that are not there, or a line is not what its place asks for
                (``reject-malformed-source``).
        """
        flags, sections = self._sections()
        if "NATOM" not in sections:
            raise self._malformed(1, "there is no section !NATOM; it is no PSF file, or cut short")
        atoms = self._atoms(sections.pop("NATOM"), flags, notes)
        blocks = {"atoms": atoms}
        title = sections.pop("NTITLE", None)
        for section in sections.values():
            self._put(blocks, section, notes)
        meta = {} if title is None else {"title": "\n".join(row.decode().strip() for row in title.rows).strip()}
        yield Frame(blocks, meta=meta)

    # -- lines ------------------------------------------------------------------------------------------------------

    def _malformed(self, line: int, what: str) -> FormatError:
        return FormatError(f"{self.name}:{line}: {what}", _MALFORMED)

    def _sections(self) -> tuple[frozenset[str], dict[str, _Section]]:
        """Return the words of the first line and the sections by name."""
        with reading(self._path) as file:
            lines = [line.rstrip(b"\r\n") for line in file]
        if not all(map(bytes.isascii, lines)):
            number = next(number for number, line in enumerate(lines, 1) if not line.isascii())
            raise self._malformed(number, "the file is ASCII; replace other characters")
        if not lines or not lines[0].startswith(b"PSF"):
            raise self._malformed(1, "the first line begins with PSF; it is no PSF file, or empty")
        flags = frozenset(lines[0].decode().split())
        sections: dict[str, _Section] = {}
        current: _Section | None = None
        for number, line in enumerate(lines[1:], 2):
            header = _HEADER.match(line)
            if header is not None:
                name = header[2].decode()
                current = _Section(name, int(header[1]), number, [])
                sections[name] = current
            elif current is not None:
                current.rows.append(line)
            elif line.strip():
                raise self._malformed(number, "the header of a section is expected, a count and !NAME")
        return flags, sections

    def _integers(self, section: _Section, needed: int) -> npt.NDArray[np.int64]:
        """Return the numbers of a section, int64 ``(needed,)``."""
        words = b" ".join(section.rows).split()
        try:
            numbers = np.array(words, dtype="S").astype(np.int64) if words else np.empty(0, dtype=np.int64)
        except ValueError:
            for number, row in enumerate(section.rows, section.line + 1):
                if any(not re.fullmatch(rb"-?\d+", word) for word in row.split()):
                    raise self._malformed(number, f"!{section.name} holds whole numbers, found {row[:60]!r}") from None
            raise
        if len(numbers) != needed:
            filled = [number for number, row in enumerate(section.rows, section.line + 1) if row.strip()]
            raise self._malformed(
                filled[-1] if filled else section.line,
                f"!{section.name} has {len(numbers)} numbers, and its header asks for {needed}; the file is cut short, "
                "or the count is wrong",
            )
        return numbers

    def _line_of(self, section: _Section, place: int) -> int:
        """Return the number of the line on which a number of a section stands."""
        ends = np.cumsum([len(row.split()) for row in section.rows])
        return section.line + 1 + int(np.searchsorted(ends, place, side="right"))

    # -- atoms ------------------------------------------------------------------------------------------------------

    def _atoms(self, section: _Section, flags: frozenset[str], notes: Notes) -> Block:
        rows = section.rows[: section.size]
        for number, row in enumerate(section.rows, section.line + 1):
            inside = number <= section.line + section.size
            if inside != bool(row.strip()):
                what = "an atom is expected" if inside else f"text after the {section.size} atoms"
                raise self._malformed(number, f"{what}, found {row[:60]!r}; the count of atoms is wrong")
        if len(rows) < section.size:
            raise self._malformed(
                section.line + len(rows), f"the file ends after {len(rows)} of {section.size} atoms; it was cut short"
            )
        parsed = [self._fields(row.decode(), number) for number, row in enumerate(rows, section.line + 1)]
        columns = list(zip(*parsed, strict=True)) if parsed else [()] * 10
        atoms = Block(rows=section.size)
        numbers = np.array(columns[0], dtype=np.int64)
        self._check_numbers(numbers, section)
        atoms["id"] = numbers.astype(np.uint64)
        for name, values in zip(
            ("chain", "icode", "res_name", "name", "type"), (columns[1], *columns[3:7]), strict=True
        ):
            if name not in {"chain", "icode"} or any(values):
                atoms[name] = np.array(values, dtype=STRING)
        residues = np.array(columns[2], dtype=np.int64)
        set_residue_numbers(atoms, residues, notes, np.array(columns[1], dtype=STRING))
        for name, values in zip(("charge", "mass"), columns[7:9], strict=True):
            atoms[name] = np.array(values, dtype=np.float64)
        self._put_rest(atoms, columns[9], flags)
        return atoms

    def _fields(self, row: str, number: int) -> tuple[int, str, int, str, str, str, str, float, float, list[str]]:
        """Return number, segment, residue number, insertion code, residue, name, type, charge, mass, and the rest."""
        words = row.split()
        if len(words) > 5 and _RESIDUE.fullmatch(words[1]) and "." in words[5]:
            words.insert(1, "")
        residue = _RESIDUE.fullmatch(words[2]) if len(words) >= 8 else None
        if residue is None:
            raise self._malformed(
                number, f"number, segment, residue, names, type, charge and mass are expected, found {row[:80]!r}"
            )
        try:
            charge, mass = float(words[6]), float(words[7])
            return int(words[0]), words[1], int(residue[1]), residue[2], *words[3:6], charge, mass, words[8:]  # type: ignore[return-value]
        except ValueError as error:
            raise self._malformed(number, f"{error} in {row[:80]!r}") from error

    def _check_numbers(self, numbers: npt.NDArray[np.int64], section: _Section) -> None:
        _, first = np.unique(numbers, return_index=True)
        again = np.setdiff1d(np.arange(len(numbers)), first)
        if len(again) or (numbers < 0).any():
            row = int(again[0]) if len(again) else int(np.flatnonzero(numbers < 0)[0])
            raise self._malformed(
                section.line + 1 + row, f"the atom number {numbers[row]} is there before, or is below zero"
            )

    @staticmethod
    def _put_rest(atoms: Block, rest: Sequence[list[str]], flags: frozenset[str]) -> None:
        """Add the columns after the mass where every atom has them and not all are zero."""
        names = ("imove", *(("alpha", "thole") if "DRUDE" in flags else ("ech", "eha")))
        width = min(map(len, rest), default=0)
        for place, name in enumerate(names[:width]):
            values = np.array([words[place] for words in rest]).astype(np.float64)
            if values.any():
                atoms[name] = values.astype(np.int64) if name == "imove" else values

    # -- the other sections -----------------------------------------------------------------------------------------

    def _put(self, blocks: dict[str, Block], section: _Section, notes: Notes) -> None:
        """Add what a section says to the blocks."""
        atoms = blocks["atoms"]
        if section.name in _RELATIONS:
            name, width = _RELATIONS[section.name]
            rows = self._integers(section, section.size * width).reshape(-1, width) - 1
            if len(rows):
                blocks[name] = self._relation(section, rows, atoms.rows, opened=name in _OPEN)
        elif section.name == "NNB":
            numbers = self._integers(section, section.size + atoms.rows)
            self._put_exclusions(blocks, section, numbers, atoms.rows)
        elif section.name == "NGRP":
            groups = self._integers(section, section.size * 3).reshape(-1, 3)
            if groups.any():
                blocks["groups"] = self._groups(section, groups, atoms.rows)
        elif section.name == "MOLNT":
            atoms["mol_id"] = self._integers(section, atoms.rows).astype(np.uint64)
        elif section.size:
            notes.lost(f"section !{section.name} of {self.name}", "is left out; it has no place in a record yet")

    def _relation(self, section: _Section, rows: npt.NDArray[np.int64], atoms: int, *, opened: bool) -> Block:
        lowest = np.zeros(rows.shape[1], dtype=np.int64)
        if opened:
            lowest[1] = -1
        wrong = np.flatnonzero(((rows < lowest) | (rows >= atoms)).reshape(-1))
        if len(wrong):
            members = (rows[wrong[0] // rows.shape[1]] + 1).tolist()
            raise self._malformed(
                self._line_of(section, int(wrong[0])),
                f"!{section.name} joins the atoms {members}, and there are {atoms}",
            )
        block = Block(rows=len(rows))
        for name, column, low in zip(_MANY_ENDPOINTS, rows.T, lowest.tolist(), strict=False):
            block[name] = np.maximum(column, 0).astype(np.uint64)
            if low < 0:
                block.set_validity(name, column >= 0)
            if name not in ENDPOINTS:
                block.set_target(name, "atoms")
        return block

    def _put_exclusions(
        self, blocks: dict[str, Block], section: _Section, numbers: npt.NDArray[np.int64], atoms: int
    ) -> None:
        """Add the excluded pairs: a list of partners, and for each atom where its own end."""
        partners, ends = numbers[: section.size], numbers[section.size :]
        counts = np.diff(ends, prepend=0)
        if not section.size:
            return
        if (counts < 0).any() or ends[-1] != section.size:
            raise self._malformed(section.line, "!NNB has pointers that do not ascend to the count of its partners")
        pairs = np.column_stack([np.repeat(np.arange(atoms), counts), partners - 1])
        wrong = np.flatnonzero((pairs[:, 1] < 0) | (pairs[:, 1] >= atoms))
        if len(wrong):
            raise self._malformed(
                self._line_of(section, int(wrong[0])), f"!NNB excludes atom {partners[wrong[0]]}, and there are {atoms}"
            )
        blocks["exclusions"] = self._relation(section, pairs, atoms, opened=False)

    def _groups(self, section: _Section, rows: npt.NDArray[np.int64], atoms: int) -> Block:
        if len(rows) and not (rows[:, 0].min() >= 0 and rows[:, 0].max() < max(atoms, 1)):
            raise self._malformed(section.line, f"!NGRP has a group that begins after the last of {atoms} atoms")
        block = Block({"first": rows[:, 0].astype(np.uint64), "kind": rows[:, 1], "imove": rows[:, 2]})
        block.set_target("first", "atoms")
        return block
