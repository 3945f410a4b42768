"""AMBER topologies (``.prmtop``, ``.parm7``), CHARMM's force field in them included: atoms and what joins them.

| section | record |
|---|---|
| ``ATOM_NAME``, ``AMBER_ATOM_TYPE``, ``ATOM_TYPE_INDEX`` | ``name``, ``type``, ``type_id`` |
| ``MASS``; ``CHARGE``, divided by AMBER's 18.2223, or CHARMM's root of 332.0716 | ``mass``, ``charge`` |
| ``ATOMIC_NUMBER``, null where it is negative | ``atomic_number``, ``element`` |
| ``RESIDUE_LABEL`` and ``RESIDUE_POINTER``, counted from 1 | ``res_name``, ``res_id`` |
| ``RADII``, ``SCREEN`` | ``radius``, ``screen`` |
| ``BONDS...``, ``ANGLES...``, with the number of their type | ``bonds``, ``angles``, ``type_id`` |
| ``DIHEDRALS...`` | ``dihedrals``, or ``impropers`` where the fourth index is negative |
| a negative third index | ``exclude_14`` |
| ``EXCLUDED_ATOMS_LIST`` | ``exclusions`` |
| ``CHARMM_UREY_BRADLEY``, ``CHARMM_IMPROPERS`` | ``ureybradleys``, ``impropers`` |
| ``TITLE`` | meta ``title`` |

Every other section, the parameters of the force field above all, is left out, with a note.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.errors import FormatError
from molrec.formats.compressed import reading
from molrec.formats.elements import symbols_of
from molrec.formats.notes import Notes
from molrec.formats.registry import Format
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.relations import ENDPOINTS

__all__ = ["PRMTOP", "PrmtopFamily", "PrmtopSource"]

PRMTOP = "prmtop"

_MALFORMED = "reject-malformed-source"
_FORMAT = re.compile(rb"%FORMAT\s*\(\s*(\d+)\s*([aAiIeEfFgG])\s*(\d+)(?:\.\d+)?\s*\)")
#: An elementary charge in the file: the root of the Coulomb constant in kcal/mol and angstrom, AMBER's and CHARMM's.
_CHARGE, _CHARMM_CHARGE = 18.2223, math.sqrt(332.0716)
#: Places in the section POINTERS.
_ATOMS, _BONDS_H, _BONDS, _ANGLES_H, _ANGLES, _DIHEDRALS_H, _DIHEDRALS, _EXCLUDED, _RESIDUES = (
    0,
    2,
    3,
    4,
    5,
    6,
    7,
    10,
    11,
)
#: Sections that say no more than others do.
_REDUNDANT = frozenset(("POINTERS", "CTITLE", "TITLE", "NUMBER_EXCLUDED_ATOMS", "CHARMM_UREY_BRADLEY_COUNT"))


class PrmtopFamily:
    """The one format of this module."""

    def names(self) -> Sequence[str]:
        """Return its name."""
        return [PRMTOP]

    def get(self, name: str) -> Format | None:
        """Return the format by name, or None."""
        if name != PRMTOP:
            return None
        return Format(PRMTOP, "AMBER topology", PrmtopSource, None, single=True, topology=True)

    def by_content(self, head: bytes) -> str | None:
        """Tell a file by its version stamp and first flag."""
        return PRMTOP if head.startswith(b"%VERSION") and b"%FLAG" in head else None

    def by_name(self, path: Path) -> str | None:
        """Return the format of the suffixes ``.prmtop`` and ``.parm7``; ``.top`` is GROMACS' too."""
        return PRMTOP if path.suffix.lower() in {".prmtop", ".parm7"} else None

    def always_recognized(self, name: str) -> bool:
        """Say no: files from before AMBER 7 have no stamp."""
        del name
        return False


@dataclass(slots=True)
class _Section:
    """One section: the number of its flag's line, its format, and its lines."""

    name: str
    flag: int
    per_line: int = 0
    kind: str = ""
    width: int = 0
    first: int = 0
    rows: list[bytes] = field(default_factory=list)


class PrmtopSource:
    """One AMBER topology, possibly compressed."""

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
            FormatError: The file is cut short, joins atoms that are not there, or a line is not what its section's
                format asks for (``reject-malformed-source``).
        """
        file = _Sections(self.name, self._read())
        pointers = file.integers("POINTERS", None)
        if len(pointers) <= _RESIDUES or (pointers < 0).any():
            raise file.malformed("POINTERS", "it has the counts of the others, none of them negative")
        atoms = self._atoms(file, pointers)
        blocks = {"atoms": atoms, **_relations(file, pointers)}
        title = file.texts("TITLE" if "TITLE" in file else "CTITLE", None)
        left = sorted(file.unused() - _REDUNDANT)
        if left:
            notes.lost(self.name, f"the sections {', '.join(left)} are left out: force-field parameters and the like")
        yield Frame(blocks, meta={"title": "".join(title.tolist()).strip()})

    def _read(self) -> dict[str, _Section]:
        sections: dict[str, _Section] = {}
        current: _Section | None = None
        with reading(self._path) as file:
            for number, line in enumerate(file, 1):
                text = line.rstrip(b"\r\n")
                if not text.isascii() or b"\t" in text:
                    raise FormatError(
                        f"{self.name}:{number}: the columns are ASCII without tabs; replace other characters",
                        _MALFORMED,
                    )
                if text.startswith(b"%FLAG"):
                    name = text[5:].decode().strip()
                    current = sections[name] = _Section(name, number)
                elif text.startswith(b"%FORMAT") and current is not None:
                    found = _FORMAT.match(text)
                    if found is not None:
                        current.per_line, current.width = int(found[1]), int(found[3])
                        current.kind = found[2].decode().upper()
                    current.first = number + 1
                elif current is not None and not text.startswith(b"%"):
                    current.rows.append(text)
                elif not text.startswith(b"%"):
                    raise FormatError(f"{self.name}:{number}: a line that begins with % is expected", _MALFORMED)
        if not sections:
            raise FormatError(f"{self.name}:1: there is no %FLAG; the file is empty or no AMBER topology", _MALFORMED)
        return sections

    def _atoms(self, file: _Sections, pointers: npt.NDArray[np.int64]) -> Block:
        count, residues = int(pointers[_ATOMS]), int(pointers[_RESIDUES])
        atoms = Block(rows=count)
        atoms["name"] = file.texts("ATOM_NAME", count)
        if "AMBER_ATOM_TYPE" in file:
            atoms["type"] = file.texts("AMBER_ATOM_TYPE", count)
        atoms["type_id"] = file.unsigned("ATOM_TYPE_INDEX", count)
        atoms["mass"] = file.reals("MASS", count)
        # the title of a file with CHARMM's force field has a flag of its own
        atoms["charge"] = file.reals("CHARGE", count) / (_CHARMM_CHARGE if "CTITLE" in file else _CHARGE)
        if "ATOMIC_NUMBER" in file:
            numbers = file.integers("ATOMIC_NUMBER", count)
            atoms["atomic_number"] = np.maximum(numbers, 0).astype(np.uint64)
            atoms.set_validity("atomic_number", numbers >= 0)
            atoms["element"] = symbols_of(numbers)
        for section, column in (("RADII", "radius"), ("SCREEN", "screen")):
            if section in file:
                atoms[column] = file.reals(section, count)
        if "radius" in atoms:
            atoms.column_attributes("radius")["unit"] = "angstrom"
        starts = file.integers("RESIDUE_POINTER", residues) - 1
        lengths = np.diff(starts, append=count)
        if residues and (starts[0] != 0 or (lengths < 0).any()):
            raise file.malformed("RESIDUE_POINTER", f"the residues do not divide the {count} atoms in order")
        atoms["res_id"] = np.repeat(np.arange(1, residues + 1, dtype=np.uint64), lengths)
        atoms["res_name"] = np.repeat(file.texts("RESIDUE_LABEL", residues), lengths)
        return atoms


class _Sections:
    """The sections of one file; what was asked for is remembered."""

    def __init__(self, name: str, sections: dict[str, _Section]) -> None:
        self._name = name
        self._sections = sections
        self._used: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._sections

    def unused(self) -> set[str]:
        """Return the names of the sections that were not asked for and have content."""
        return {name for name, section in self._sections.items() if any(section.rows)} - self._used

    def malformed(self, name: str, what: str, line: int | None = None) -> FormatError:
        """Return the refusal that names a section and a line, its flag's unless said otherwise."""
        number = self._sections[name].flag if line is None else line
        return FormatError(f"{self._name}:{number}: %FLAG {name}: {what}", _MALFORMED)

    def _cut(self, name: str, count: int | None, kinds: str) -> Array:
        """Return the fields of a section as bytes ``(count,)``."""
        section = self._sections.get(name)
        if section is None:
            raise FormatError(
                f"{self._name}:1: the section %FLAG {name} is not there; the file is cut short", _MALFORMED
            )
        self._used.add(name)
        if not section.width or section.kind not in kinds:
            raise self.malformed(name, f"the line %FORMAT with a width and one of {kinds} does not follow it")
        full = section.per_line * section.width
        for place, row in enumerate(section.rows):
            if len(row.rstrip()) > full:
                raise self.malformed(
                    name, f"a line is longer than its format, {full} characters", section.first + place
                )
        together = b"".join(row.ljust(full)[:full] for row in section.rows)
        fields: Array = np.frombuffer(together, dtype=f"S{section.width}")
        filled = len(fields)
        if kinds != "A":
            present = np.strings.str_len(np.strings.strip(fields)) > 0
            filled = int(np.flatnonzero(present)[-1]) + 1 if present.any() else 0
        wanted = filled if count is None else count
        if (filled != wanted and kinds != "A") or filled < wanted:
            last = section.first + max(len(section.rows) - 1, 0)
            raise self.malformed(name, f"{filled} values are there, {wanted} by the counts in POINTERS", last)
        return fields[:wanted]

    def _numbers(self, name: str, count: int | None, kinds: str, dtype: type[np.generic]) -> Array:
        fields = self._cut(name, count, kinds)
        try:
            return fields.astype(dtype)
        except ValueError:
            section = self._sections[name]
            for place, text in enumerate(fields.tolist()):
                try:
                    np.array([text]).astype(dtype)
                except ValueError:
                    line = section.first + place // section.per_line
                    raise self.malformed(name, f"{text.decode()!r} is no number", line) from None
            raise

    def integers(self, name: str, count: int | None) -> npt.NDArray[np.int64]:
        """Return a section of integers, int64 ``(count,)``."""
        return self._numbers(name, count, "I", np.int64)

    def unsigned(self, name: str, count: int) -> npt.NDArray[np.uint64]:
        """Return a section of integers that are not negative."""
        values = self.integers(name, count)
        if values.size and values.min() < 0:
            raise self.malformed(name, f"{values.min()} is below zero")
        return values.astype(np.uint64)

    def reals(self, name: str, count: int | None) -> npt.NDArray[np.float64]:
        """Return a section of reals, float64 ``(count,)``."""
        return self._numbers(name, count, "EFG", np.float64)

    def texts(self, name: str, count: int | None) -> Array:
        """Return a section of text without the spaces around it; of unknown count, with them, and none if not there."""
        if count is None:
            return self._cut(name, None, "A").astype("U").astype(STRING) if name in self else np.array([], dtype=STRING)
        texts: Array = np.strings.strip(self._cut(name, count, "A")).astype("U").astype(STRING)
        return texts

    def members(self, name: str, count: int, width: int, atoms: int) -> npt.NDArray[np.int64]:
        """Return a section of atoms, times three and with signs, and types, int64 ``(count, width + 1)``.

        Raises:
            FormatError: An atom is not there.
        """
        rows = self.integers(name, count * (width + 1)).reshape(-1, width + 1)
        wrong = np.flatnonzero((np.abs(rows[:, :width]) // 3 >= atoms).any(axis=1))
        if len(wrong):
            section = self._sections[name]
            place = int(wrong[0]) * (width + 1)
            named = (np.abs(rows[wrong[0], :width]) // 3 + 1).tolist()
            raise self.malformed(
                name, f"joins the atoms {named}, and there are {atoms}", section.first + place // section.per_line
            )
        return rows


# -- relations ------------------------------------------------------------------------------------------------------


def _relations(file: _Sections, pointers: npt.NDArray[np.int64]) -> dict[str, Block]:
    atoms = int(pointers[_ATOMS])

    def both(kind: str, with_hydrogen: int, without: int, width: int) -> npt.NDArray[np.int64]:
        parts = (("INC", with_hydrogen), ("WITHOUT", without))
        return np.concatenate(
            [file.members(f"{kind}_{which}_HYDROGEN", int(pointers[place]), width, atoms) for which, place in parts]
        )

    blocks = {
        "bonds": _relation(both("BONDS", _BONDS_H, _BONDS, 2)),
        "angles": _relation(both("ANGLES", _ANGLES_H, _ANGLES, 3)),
    }
    torsions = both("DIHEDRALS", _DIHEDRALS_H, _DIHEDRALS, 4)
    improper = torsions[:, 3] < 0
    for name, rows in (("dihedrals", torsions[~improper]), ("impropers", torsions[improper])):
        blocks[name] = _relation(rows)
        blocks[name]["exclude_14"] = rows[:, 2] < 0
    _add_charmm(file, blocks, atoms)
    exclusions = _exclusions(file, int(pointers[_EXCLUDED]), atoms)
    if exclusions is not None:
        blocks["exclusions"] = exclusions
    return {name: block for name, block in blocks.items() if block.rows}


def _relation(rows: npt.NDArray[np.int64]) -> Block:
    """Return a relation of atoms times three, with their types last."""
    block = Block(rows=len(rows))
    for name, column in zip(ENDPOINTS, rows[:, :-1].T, strict=False):
        block[name] = (np.abs(column) // 3).astype(np.uint64)
    block["type_id"] = rows[:, -1].astype(np.uint64)
    return block


def _add_charmm(file: _Sections, blocks: dict[str, Block], atoms: int) -> None:
    """Add what CHARMM's force field has besides; its atoms are counted from 1, not times three."""
    for section, name, width in (("CHARMM_UREY_BRADLEY", "ureybradleys", 2), ("CHARMM_IMPROPERS", "impropers", 4)):
        if section not in file:
            continue
        numbers = file.integers(section, None)
        if len(numbers) % (width + 1):
            raise file.malformed(section, f"{len(numbers)} values are there, no multiple of {width + 1}")
        rows = numbers.reshape(-1, width + 1)
        if rows.size and not (rows[:, :width].min() >= 1 and rows[:, :width].max() <= atoms):
            raise file.malformed(section, f"joins an atom that is not there, of {atoms}")
        scaled = np.column_stack([(rows[:, :width] - 1) * 3, rows[:, width]])
        found = _relation(scaled)
        if name in blocks and blocks[name].rows:
            raise file.malformed(section, "stands beside AMBER's impropers, which it replaces")
        blocks[name] = found


def _exclusions(file: _Sections, count: int, atoms: int) -> Block | None:
    """Return the excluded pairs; an atom without any lists 0."""
    if "EXCLUDED_ATOMS_LIST" not in file:
        return None
    partners = file.integers("EXCLUDED_ATOMS_LIST", count)
    counts = file.integers("NUMBER_EXCLUDED_ATOMS", atoms)
    if (counts < 0).any() or counts.sum() != count or (partners < 0).any() or (partners > atoms).any():
        raise file.malformed("EXCLUDED_ATOMS_LIST", f"does not list {count} of {atoms} atoms as its counts say")
    first = np.repeat(np.arange(atoms), counts)
    kept = partners > 0
    return Block({"atomi": first[kept].astype(np.uint64), "atomj": (partners[kept] - 1).astype(np.uint64)})
