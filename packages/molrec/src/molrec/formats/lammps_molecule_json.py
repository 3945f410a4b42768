"""LAMMPS molecule files in their JSON form: the same content as the native one, under other names.

A section is ``{"format": [names], "data": [rows]}``. The sections of atoms and topology are handed to `lammps_molecule`
as rows of the native form, so that both forms give the same frames; anything else is kept in the meta as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from molrec import typedjson
from molrec.errors import FormatError
from molrec.formats.compressed import reading
from molrec.formats.lammps_header import UNIT_STYLES, Title
from molrec.formats.lammps_molecule import ATOM_SECTIONS, WHOLE, molecule_frame
from molrec.formats.lammps_names import MOLECULE_JSON, RELATION_SECTIONS, endpoints_of
from molrec.formats.lammps_sections import Header, Section, SectionedFile
from molrec.formats.lammps_table import MALFORMED, Place
from molrec.formats.notes import Notes
from molrec.model.frame import Frame

__all__ = ["JSON_COLUMNS", "JSON_WHOLE", "MoleculeJsonSource"]

#: Native section -> its name in JSON and the names of a row's values.
JSON_COLUMNS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{
        section: (section.lower(), ("atom-id", *columns))
        for section, columns in ATOM_SECTIONS.items()
        if section not in ("Types", "Molecules")
    },
    "Types": ("types", ("atom-id", "type")),
    "Molecules": ("molecules", ("atom-id", "molecule-id")),
    **{
        section: (block, (f"{kind}-type", *(f"atom{number + 1}" for number in range(len(endpoints_of(block))))))
        for section, (block, kind) in RELATION_SECTIONS.items()
    },
}
#: Native header keyword -> its name in JSON.
JSON_WHOLE = {keyword: "masstotal" if keyword == "mass" else keyword for keyword in WHOLE}
_FIXED = ("application", "format", "revision", "schema", "title", "units")


@dataclass(frozen=True, slots=True)
class _RowPlace(Place):
    """A section of a JSON file, where rows have no lines of their own."""

    def error(self, offset: int, why: str) -> FormatError:
        """Return the refusal of a row, counted from 0; a negative one is the section."""
        row = f", row {offset + 1}" if offset >= 0 else ""
        return FormatError(f"{self.path}: {self.what}{row}: {why}", MALFORMED)


class MoleculeJsonSource:
    """One molecule file in JSON form."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    @cached_property
    def _document(self) -> dict[str, Any]:
        with reading(self._path) as file:
            content = file.read()
        try:
            document = json.loads(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise Place(self.name, line, "file").error(0, "is not UTF-8") from error
        except json.JSONDecodeError as error:
            raise Place(self.name, error.lineno, "file").error(0, f"is not JSON ({error.msg}); is it whole?") from error
        if not isinstance(document, dict) or document.get("format") != "molecule":
            raise Place(self.name, 1, "file").error(0, "is no molecule of LAMMPS; its 'format' must be 'molecule'")
        return document

    @cached_property
    def units(self) -> Mapping[str, str] | None:
        """The unit style the file names, as a preset, or None."""
        units = self._document.get("units")
        if units is not None and units not in UNIT_STYLES:
            raise _RowPlace(self.name, 1, "'units'").error(
                -1, f"{units!r} is no unit style of LAMMPS ({', '.join(UNIT_STYLES)})"
            )
        return None if units is None else {"preset": units}

    def count(self) -> int | None:
        """Return 1, without reading the file."""
        return 1

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the one frame.

        Raises:
            FormatError: The file is damaged (``reject-malformed-source``).
            SchemaError: The notes are strict and the file holds something a frame does not.
        """
        document = self._document
        style = None if self.units is None else self.units["preset"]
        title = Title(str(document.get("title", "")), style, None)
        frame = molecule_frame(self._sections(document), title, notes)
        known = {*_FIXED, *JSON_WHOLE.values(), *(name for name, _ in JSON_COLUMNS.values())}
        others = {key: value for key, value in document.items() if key not in known}
        if others:
            frame.meta.set(MOLECULE_JSON, others, tag="json")
        yield frame

    def _sections(self, document: Mapping[str, Any]) -> SectionedFile:
        sections: dict[str, Section] = {}
        header: dict[str, Header] = {}
        natoms = 0
        for native, (name, columns) in JSON_COLUMNS.items():
            if name not in document:
                continue
            place = _RowPlace(self.name, 1, f"section {name!r}")
            rows = _rows(document[name], columns, place)
            if native in RELATION_SECTIONS:
                rows = [[number + 1, *row] for number, row in enumerate(rows)]
                header[name] = Header((str(len(rows)),), place)
            else:
                natoms = natoms or len(rows)
                if len(rows) != natoms:
                    raise place.error(-1, f"has {len(rows)} rows, another section {natoms}; each has one per atom")
            lines = [
                (" ".join(_token(value, place, at) for value in row) + "\n").encode() for at, row in enumerate(rows)
            ]
            sections[native] = Section(native, "", lines, place)
        place = _RowPlace(self.name, 1, "file")
        if not natoms:
            raise place.error(-1, "has no section 'coords' or 'types' with atoms")
        header["atoms"] = Header((str(natoms),), place)
        for keyword, name in JSON_WHOLE.items():
            if name in document:
                values = document[name] if isinstance(document[name], list) else [document[name]]
                header[keyword] = Header(tuple(_number(value, name, place) for value in values), place)
        return SectionedFile(self.name, b"", header, sections, 1)


def _rows(section: Any, columns: Sequence[str], place: Place) -> list[list[Any]]:
    """Return the rows of a section with their values in our order."""
    if not isinstance(section, dict) or not isinstance(section.get("data"), list):
        raise place.error(-1, "is no object with 'format' and 'data'")
    names = section.get("format")
    if not isinstance(names, list) or sorted(map(str, names)) != sorted(columns):
        raise place.error(-1, f"its 'format' names {list(columns)}, found {names!r}")
    order = [names.index(column) for column in columns]
    for at, row in enumerate(section["data"]):
        if not isinstance(row, list) or len(row) != len(columns):
            raise place.error(at, f"{row!r} does not hold {len(columns)} values")
    return [[row[position] for position in order] for row in section["data"]]


def _token(value: Any, place: Place, at: int) -> str:
    if isinstance(value, str) and value and not any(character.isspace() for character in value):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    raise place.error(at, f"{typedjson.dump_json(value)} is neither a number nor a label")


def _number(value: Any, name: str, place: Place) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise place.error(-1, f"{name!r} holds numbers, found {typedjson.dump_json(value)}")
    return repr(value)
