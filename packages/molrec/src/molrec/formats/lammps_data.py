"""LAMMPS data files, as ``read_data`` takes them: one frame with its topology.

Rows keep the file's order. Masses by type become a column; types no atom has, coefficients and sections without a
block of their own stay in the meta (`lammps_names`), so that they can be written back. A data file says nothing of
periodicity: its directions count as periodic, which is LAMMPS' own default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from molrec.dtypes import Array
from molrec.formats.lammps_box import general_box, tilted_box
from molrec.formats.lammps_header import TITLE, Title, read_title
from molrec.formats.lammps_ids import AtomIndex, TypeNames, as_unsigned
from molrec.formats.lammps_names import (
    ATOM_STYLE,
    COEFFICIENTS,
    HEADER,
    KINDS,
    RELATION_SECTIONS,
    SECTIONS,
    TYPES,
    coefficient_kind,
    endpoints_of,
)
from molrec.formats.lammps_sections import Header, Section, SectionedFile, read_sections
from molrec.formats.lammps_styles import IMAGES, AtomStyle, Clues, style_of_section
from molrec.formats.lammps_table import Field, Place, read_table
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta

__all__ = ["BOX_KEYWORDS", "COUNTED", "DataSource"]

#: Header keywords of the cell -> how many numbers precede them.
BOX_KEYWORDS = {
    "xlo xhi": 2,
    "ylo yhi": 2,
    "zlo zhi": 2,
    "xy xz yz": 3,
    "avec": 3,
    "bvec": 3,
    "cvec": 3,
    "abc origin": 3,
}
_GENERAL = ("avec", "bvec", "cvec", "abc origin")
#: Header keywords that count what the blocks hold.
COUNTED = ("atoms", *(block for block, _ in RELATION_SECTIONS.values()), *(f"{kind} types" for kind in KINDS))
_ELLIPSOIDS = "ellipsoids"
_ELLIPSOID_FIELDS = (
    Field("id", "integer"),
    *(Field(name, "real") for name in ("shapex", "shapey", "shapez", "quatw", "quati", "quatj", "quatk")),
)
_LABELS = {f"{kind.capitalize()} Type Labels": kind for kind in KINDS}
_BY_SECTION_COUNT = {section: block for section, (block, _) in RELATION_SECTIONS.items()} | {
    "Atoms": "atoms",
    "Velocities": "atoms",
    "Masses": "atom types",
    "Ellipsoids": _ELLIPSOIDS,
} | {section: f"{kind} types" for section, kind in _LABELS.items()}  # fmt: skip


class DataSource:
    """One data file."""

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
            FormatError: The file is damaged or does not say its atom style (``reject-malformed-source``).
            SchemaError: The notes are strict and the file holds something a frame does not.
        """
        yield _DataReader(self._file, self._title, notes).frame()


def _rows_of(section: str, header: Mapping[str, Header]) -> int | None:
    """Return how many rows a section has by the header; None where an empty line ends it."""
    keyword = _BY_SECTION_COUNT.get(section)
    kind = coefficient_kind(section)
    if keyword is None and kind is not None:
        keyword = "atom types" if kind == "pair" else f"{kind} types"
    stated = None if keyword is None else header.get(keyword)
    if keyword is None:
        return None
    text = "0" if stated is None else stated.values[0]
    if not text.isdecimal():
        return None  # refused with its line when the count is used
    return int(text) * (int(text) + 1) // 2 if kind == "pair" else int(text)


class _DataReader:
    """Makes a frame of the parts of one file."""

    def __init__(self, file: SectionedFile, title: Title, notes: Notes) -> None:
        self._file = file
        self._title = title
        self._notes = notes
        self._types = {kind: self._type_names(kind) for kind in KINDS}
        self._natoms = self._required_count()
        self._index = AtomIndex(np.zeros(0, dtype=np.int64), file.place())

    def frame(self) -> Frame:
        """Return the frame.

        Raises:
            FormatError: The file is damaged.
        """
        self._check_header()
        meta = Meta()
        if self._title.text:
            meta[TITLE] = self._title.text
        if self._title.step is not None:
            meta["step"] = self._title.step
        atoms = Block(rows=self._natoms)
        masses, mass_comments = self._masses()
        if "Atoms" in self._file.sections:
            style = self._fill_atoms(atoms, masses)
            meta[ATOM_STYLE] = style.name
        elif self._natoms:
            raise self._missing("Atoms", self._natoms, "atoms")
        blocks = {"atoms": atoms}
        for section, (block, kind) in RELATION_SECTIONS.items():
            if section in self._file.sections:
                blocks[block] = self._relation(self._file.sections[section], block, self._types[kind])
            elif stated := self._file.count(block):
                raise self._missing(section, stated, block)
        self._add_documents(meta, masses, mass_comments)
        return Frame(blocks, meta=meta, box=self._box())

    # -- header -----------------------------------------------------------------------------------------------------

    def _required_count(self) -> int:
        count = self._file.count("atoms")
        if count is None:
            raise self._file.place(self._file.lines).error(
                0, "states no number of atoms ('100 atoms'); the file is cut short or is no data file"
            )
        return count

    def _check_header(self) -> None:
        for keyword in COUNTED:
            self._file.count(keyword)

    def _missing(self, section: str, count: int, keyword: str) -> Exception:
        return self._file.place(self._file.lines, "file").error(
            0, f"ends without a section {section!r}, but the header states {count} {keyword}"
        )

    def _box(self) -> Box:
        file = self._file
        stated = {keyword: file.numbers(keyword, length) for keyword, length in BOX_KEYWORDS.items()}
        general = [keyword for keyword in _GENERAL if stated[keyword] is not None]
        others = [keyword for keyword, values in stated.items() if values is not None and keyword not in _GENERAL]
        periodic = (True, True, True)
        if general:
            if others:
                raise file.header[others[0]].place.error(0, f"the cell is stated by {general[0]} and by {others[0]}")
            # LAMMPS' defaults, as read_data documents them
            edges = [stated["avec"] or [1, 0, 0], stated["bvec"] or [0, 1, 0], stated["cvec"] or [0, 0, 1]]
            if np.linalg.matrix_rank(np.array(edges, dtype=np.float64)) < 3:
                raise file.header[general[0]].place.error(0, f"the edge vectors {edges} span no volume")
            return general_box(edges, stated["abc origin"] or [0, 0, 0], periodic)
        ranges = [stated[keyword] or [-0.5, 0.5] for keyword in ("xlo xhi", "ylo yhi", "zlo zhi")]
        for keyword, (low, high) in zip(BOX_KEYWORDS, ranges, strict=False):
            if low >= high:
                raise file.header[keyword].place.error(0, f"{keyword} is {low} {high}; the first must be the smaller")
        lows, highs = zip(*ranges, strict=True)
        return tilted_box(lows, highs, stated["xy xz yz"] or [0, 0, 0], periodic)

    # -- types ------------------------------------------------------------------------------------------------------

    def _type_names(self, kind: str) -> TypeNames:
        count = self._file.count(f"{kind} types")
        section = self._file.sections.get(f"{kind.capitalize()} Type Labels")
        labels: dict[int, str] = {}
        if section is not None:
            fields = (Field("number", "integer"), Field("label", "text"))
            rows = read_table(section.table(self._notes), fields, section.place)
            seen: set[str] = set()
            for offset, (number, label) in enumerate(zip(rows["number"].tolist(), rows["label"].tolist(), strict=True)):
                if number in labels or label in seen or not 1 <= number <= (count or 0):
                    raise section.place.error(
                        offset,
                        f"{kind} type {number}, label {label!r}: one of them is used already, or there is no such type",
                    )
                labels[number] = label
                seen.add(label)
        return TypeNames(kind, count, labels)

    def _masses(self) -> tuple[dict[int, float], dict[int, str]]:
        """Return mass and comment of each atom type that has them."""
        section = self._file.sections.get("Masses")
        if section is None:
            return {}, {}
        names = self._types["atom"]
        texts = section.fields()
        comments = {row: fields.pop() for row, fields in enumerate(texts) if fields and fields[-1].startswith("#")}
        bare = [" ".join(fields).encode() + b"\n" for fields in texts]
        rows = read_table(bare, (names.field, Field("mass", "real")), section.place)
        numbers = names.columns(rows["type_id"], section.place)["type_id"].tolist()
        if len(set(numbers)) < len(numbers):
            row = next(row for row, number in enumerate(numbers) if number in numbers[:row])
            raise section.place.error(row, f"atom type {numbers[row]} has a mass already")
        masses = dict(zip(numbers, rows["mass"].tolist(), strict=True))
        return masses, {numbers[row]: comment for row, comment in comments.items()}

    # -- atoms ------------------------------------------------------------------------------------------------------

    def _fill_atoms(self, atoms: Block, masses: Mapping[int, float]) -> AtomStyle:
        section = self._file.sections["Atoms"]
        rows = section.table(self._notes)
        style, images = style_of_section(section, rows, self._clues())
        type_field = self._types["atom"].field
        fields = [type_field if field.name == "type_id" else field for field in style.fields]
        columns = read_table(rows, (*fields, *IMAGES) if images else fields, section.place)
        index = AtomIndex(columns["id"], section.place)
        for name, values in columns.items():
            if name == "type_id":
                for column, resolved in self._types["atom"].columns(values, section.place).items():
                    atoms[column] = resolved
            elif name in ("id", "mol_id"):
                atoms[name] = as_unsigned(values, name, section.place)
            elif name in ("ix", "iy", "iz"):
                atoms[name] = _image_flags(values, section.place)
            else:
                atoms[name] = values
        if masses and "mass" not in atoms:
            atoms["mass"] = _mass_column(atoms["type_id"], masses, section.place)
        self._index = index
        self._add_velocities(atoms, style)
        self._add_ellipsoids(atoms)
        return style

    def _clues(self) -> Clues:
        return Clues(
            topology=any(
                self._file.count(block) or self._file.count(f"{kind} types")
                for block, kind in RELATION_SECTIONS.values()
            ),
            masses="Masses" in self._file.sections,
            ellipsoids=bool(self._file.count(_ELLIPSOIDS)),
            labels=frozenset(self._types["atom"].labels.values()),
        )

    def _add_velocities(self, atoms: Block, style: AtomStyle) -> None:
        section = self._file.sections.get("Velocities")
        if section is None:
            return
        columns = read_table(section.table(self._notes), style.velocities, section.place)
        AtomIndex(columns["id"], section.place)
        rows = self._index.rows_of(columns.pop("id"), "the row", section.place)
        for name, values in columns.items():
            ordered = np.empty_like(values)
            ordered[rows] = values
            atoms[name] = ordered

    def _add_ellipsoids(self, atoms: Block) -> None:
        section = self._file.sections.get("Ellipsoids")
        present = np.zeros(atoms.rows, dtype=np.bool_)
        if section is not None:
            columns = read_table(section.table(self._notes), _ELLIPSOID_FIELDS, section.place)
            AtomIndex(columns["id"], section.place)
            rows = self._index.rows_of(columns.pop("id"), "the row", section.place)
            present[rows] = True
            for name, values in columns.items():
                spread = np.zeros(atoms.rows)
                spread[rows] = values
                atoms[name] = spread
                atoms.set_validity(name, present)
        elif stated := self._file.count(_ELLIPSOIDS):
            raise self._missing("Ellipsoids", stated, _ELLIPSOIDS)
        if "ellipsoidflag" in atoms and np.any((atoms["ellipsoidflag"] != 0) != present):
            row = int(np.flatnonzero((atoms["ellipsoidflag"] != 0) != present)[0])
            raise self._file.sections["Atoms"].place.error(
                row, "ellipsoidflag and section Ellipsoids disagree over whether this atom is an ellipsoid"
            )

    # -- the rest ---------------------------------------------------------------------------------------------------

    def _relation(self, section: Section, block: str, names: TypeNames) -> Block:
        endpoints = endpoints_of(block)
        fields = (Field("id", "integer"), names.field, *(Field(endpoint, "integer") for endpoint in endpoints))
        columns = read_table(section.table(self._notes), fields, section.place)
        relation = Block(rows=len(columns["id"]))
        for endpoint in endpoints:
            relation[endpoint] = self._index.rows_of(columns[endpoint], names.kind, section.place)
        for name, values in names.columns(columns["type_id"], section.place).items():
            relation[name] = values
        if not np.array_equal(columns["id"], np.arange(1, relation.rows + 1)):
            relation["id"] = as_unsigned(columns["id"], f"{names.kind} number", section.place)
        return relation

    def _add_documents(self, meta: Meta, masses: Mapping[int, float], comments: Mapping[int, str]) -> None:
        types: dict[str, Any] = {}
        for kind, names in self._types.items():
            if names.count:
                types[kind] = {"count": names.count}
                if names.labels:
                    types[kind]["labels"] = [names.labels.get(number, "") for number in range(1, names.count + 1)]
        if masses:
            types["atom"]["masses"] = [masses[number] for number in sorted(masses)]
        if comments:
            types["atom"]["comments"] = [comments.get(number, "") for number in sorted(masses)]
        coefficients: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for name, section in self._file.sections.items():
            if coefficient_kind(name) is not None:
                coefficients[name] = {"style": section.hint, "rows": section.fields()}
            elif name not in _BY_SECTION_COUNT:
                others[name] = {"style": section.hint, "rows": section.fields()}
        known = {*COUNTED, *BOX_KEYWORDS, _ELLIPSOIDS}
        header = {key: list(line.values) for key, line in self._file.header.items() if key not in known}
        for key, document in ((TYPES, types), (COEFFICIENTS, coefficients), (SECTIONS, others), (HEADER, header)):
            if document:
                meta.set(key, document, tag="json")


def _image_flags(values: Array, place: Place) -> Array:
    limits = np.iinfo(np.int32)
    outside = (values < limits.min) | (values > limits.max)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise place.error(row, f"image flag {int(values[row])} does not fit 32 bits")
    return values.astype(np.int32)


def _mass_column(types: Array, masses: Mapping[int, float], place: Place) -> Array:
    known, first, inverse = np.unique(types, return_index=True, return_inverse=True)
    for number, row in zip(known.tolist(), first.tolist(), strict=True):
        if number not in masses:
            raise place.error(row, f"atom type {number} has no mass in the section Masses")
    return np.array([masses[number] for number in known.tolist()], dtype=np.float64)[inverse]
