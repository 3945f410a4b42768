"""LAMMPS molecule files, as the command ``molecule`` takes them: one frame without a cell.

Atoms are in the order of their ids, which are 1 to N. Types are numbers (``type_id``) or labels (``type``); the file
declares neither. Mass, center and inertia of the whole and the sections without a block of their own stay in the meta.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from molrec.dtypes import Array
from molrec.formats.lammps_header import TITLE, Title, read_title
from molrec.formats.lammps_ids import AtomIndex, TypeNames, as_unsigned
from molrec.formats.lammps_names import HEADER, MOLECULE, RELATION_SECTIONS, SECTIONS, endpoints_of
from molrec.formats.lammps_sections import Header, Section, SectionedFile, read_sections
from molrec.formats.lammps_table import Field, read_table
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.meta import Meta

__all__ = ["ATOM_SECTIONS", "MOLECULE_SECTIONS", "WHOLE", "MoleculeSource", "molecule_frame"]

#: Section of one row per atom -> its columns after the id.
ATOM_SECTIONS: dict[str, tuple[str, ...]] = {
    "Coords": ("x", "y", "z"),
    "Types": ("type_id",),
    "Molecules": ("mol_id",),
    "Charges": ("charge",),
    "Diameters": ("diameter",),
    "Dipoles": ("mux", "muy", "muz"),
    "Masses": ("mass",),
}
#: Sections of one row per atom that are kept as they are.
_KEPT_PER_ATOM = ("Special Bond Counts", "Special Bonds", "Shake Flags", "Shake Atoms", "Shake Bond Types")
#: Every section a molecule file can have.
MOLECULE_SECTIONS = frozenset(
    (*ATOM_SECTIONS, *_KEPT_PER_ATOM, *RELATION_SECTIONS, "Fragments", "Body Integers", "Body Doubles")
)
#: Header keywords about the molecule as a whole -> how many numbers precede them.
WHOLE = {"mass": 1, "com": 3, "inertia": 6}


class MoleculeSource:
    """One molecule file."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    @cached_property
    def _file(self) -> SectionedFile:
        return read_sections(self._path, _rows_of)

    @cached_property
    def _title(self) -> Title:
        return read_title(self._file.title, self._file.place(1, "first line"))

    @property
    def units(self) -> Mapping[str, str] | None:
        """The unit style the first line names, as a preset, or None."""
        return None if self._title.units is None else {"preset": self._title.units}

    def count(self) -> int | None:
        """Return 1, without reading the file."""
        return 1

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the one frame.

        Raises:
            FormatError: The file is damaged (``reject-malformed-source``).
            SchemaError: The notes are strict and the file holds something a frame does not.
        """
        yield molecule_frame(self._file, self._title, notes)


def _rows_of(section: str, header: Mapping[str, Header]) -> int | None:
    """Return how many rows a section has by the header; None where an empty line ends it."""
    if section in ATOM_SECTIONS or section in _KEPT_PER_ATOM:
        keyword = "atoms"
    elif section in RELATION_SECTIONS:
        keyword = RELATION_SECTIONS[section][0]
    elif section == "Fragments":
        keyword = "fragments"
    else:
        return None
    stated = header[keyword].values[0] if keyword in header else "0"
    return int(stated) if stated.isdecimal() else None


def molecule_frame(file: SectionedFile, title: Title, notes: Notes) -> Frame:
    """Return the frame of a molecule file's parts.

    Raises:
        FormatError: They do not fit together (``reject-malformed-source``).
    """
    natoms = file.count("atoms")
    if natoms is None:
        raise file.place(file.lines).error(
            0, "states no number of atoms ('3 atoms'); the file is cut short or is no molecule file"
        )
    atoms = Block({"id": np.arange(1, natoms + 1, dtype=np.uint64)})
    index = AtomIndex(np.arange(1, natoms + 1), file.place())
    blocks = {"atoms": atoms}
    kept: dict[str, Any] = {}
    for name, section in file.sections.items():
        if name in ATOM_SECTIONS:
            for column, values in _atom_columns(section, index, notes).items():
                atoms[column] = values
        elif name in RELATION_SECTIONS:
            block, kind = RELATION_SECTIONS[name]
            blocks[block] = _relation(section, block, kind, index, notes)
        elif name in MOLECULE_SECTIONS:
            kept[name] = {"style": section.hint, "rows": section.fields()}
        else:
            raise section.place.error(-2, "a molecule file has no such section")
    if natoms and not file.sections.keys() & ATOM_SECTIONS.keys():
        raise file.place(file.lines, "file").error(
            0, f"ends without a section about the {natoms} atoms of the header ({', '.join(ATOM_SECTIONS)})"
        )
    for section_name, (block, _) in RELATION_SECTIONS.items():
        if file.count(block) and block not in blocks:
            raise file.place(file.lines, "file").error(
                0, f"ends without a section {section_name!r}, but the header states {file.count(block)} {block}"
            )
    return Frame(blocks, meta=_meta(file, title, kept))


def _meta(file: SectionedFile, title: Title, kept: Mapping[str, Any]) -> Meta:
    meta = Meta()
    if title.text:
        meta[TITLE] = title.text
    if title.step is not None:
        meta["step"] = title.step
    whole: dict[str, Any] = {}
    for keyword, length in WHOLE.items():
        numbers = file.numbers(keyword, length)
        if numbers is not None:
            whole[keyword] = numbers[0] if length == 1 else numbers
    known = {"atoms", *(block for block, _ in RELATION_SECTIONS.values()), *WHOLE}
    header = {key: list(line.values) for key, line in file.header.items() if key not in known}
    for key, document in ((MOLECULE, whole), (SECTIONS, dict(kept)), (HEADER, header)):
        if document:
            meta.set(key, document, tag="json")
    return meta


def _atom_columns(section: Section, index: AtomIndex, notes: Notes) -> dict[str, Array]:
    """Return the columns of a section of one row per atom, in the order of the ids."""
    names = ATOM_SECTIONS[section.name]
    rows = section.table(notes)
    if section.name == "Types":
        fields = [_type_field(rows)]
    elif section.name == "Molecules":
        fields = [Field("mol_id", "integer")]
    else:
        fields = [Field(name, "real") for name in names]
    columns = read_table(rows, [Field("id", "integer"), *fields], section.place)
    AtomIndex(columns["id"], section.place)
    order = index.rows_of(columns.pop("id"), "the row", section.place)
    placed: dict[str, Array] = {}
    for name, values in columns.items():
        resolved = _resolved(name, values, section)
        for column, array in resolved.items():
            placed[column] = np.empty_like(array)
            placed[column][order] = array
    return placed


def _type_field(rows: list[bytes]) -> Field:
    """Return the field of a type: a number in every row, or text."""
    numeric = all(len(fields) < 2 or fields[1].isdigit() for row in rows if (fields := row.split()))
    return Field("type_id", "integer" if numeric else "text")


def _resolved(name: str, values: Array, section: Section) -> dict[str, Array]:
    if name == "type_id":
        if values.dtype.kind == "T":
            return {"type": values}
        return TypeNames("atom", None, {}).columns(values, section.place)
    if name == "mol_id":
        return {name: as_unsigned(values, name, section.place)}
    return {name: values}


def _relation(section: Section, block: str, kind: str, index: AtomIndex, notes: Notes) -> Block:
    endpoints = endpoints_of(block)
    rows = section.table(notes)
    fields = (Field("id", "integer"), _type_field(rows), *(Field(endpoint, "integer") for endpoint in endpoints))
    columns = read_table(rows, fields, section.place)
    relation = Block(rows=len(rows))
    for endpoint in endpoints:
        relation[endpoint] = index.rows_of(columns[endpoint], kind, section.place)
    types = columns["type_id"]
    if types.dtype.kind == "T":
        relation["type"] = types
    else:
        relation["type_id"] = TypeNames(kind, None, {}).columns(types, section.place)["type_id"]
    if not np.array_equal(columns["id"], np.arange(1, relation.rows + 1)):
        relation["id"] = as_unsigned(columns["id"], f"{kind} number", section.place)
    return relation
