"""The family of LAMMPS' files: ``lammps-dump``, ``lammps-data``, ``lammps-molecule`` and ``lammps-molecule-json``.

A dump begins with ``ITEM:``. Data and molecule files both begin with any line and a header of counts; they are told
apart by what only one of them has: the bounds and types of a data file, the section Coords or Types of a molecule file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from molrec.formats.lammps_data import BOX_KEYWORDS, COUNTED, DataSource
from molrec.formats.lammps_data_writer import write_data
from molrec.formats.lammps_dump import DumpSource
from molrec.formats.lammps_dump_writer import write_dump
from molrec.formats.lammps_molecule import MOLECULE_SECTIONS, MoleculeSource
from molrec.formats.lammps_molecule_json import MoleculeJsonSource
from molrec.formats.lammps_molecule_writer import write_molecule, write_molecule_json
from molrec.formats.registry import Format

__all__ = ["DATA", "DUMP", "MOLECULE_FILE", "MOLECULE_FILE_JSON", "LammpsFamily"]

DATA, DUMP = "lammps-data", "lammps-dump"
MOLECULE_FILE, MOLECULE_FILE_JSON = "lammps-molecule", "lammps-molecule-json"

_FORMATS = {
    DUMP: Format(DUMP, "LAMMPS dump, text", DumpSource, write_dump),
    DATA: Format(DATA, "LAMMPS data file", DataSource, write_data, single=True, topology=True),
    MOLECULE_FILE: Format(MOLECULE_FILE, "LAMMPS molecule file", MoleculeSource, write_molecule, single=True),
    MOLECULE_FILE_JSON: Format(
        MOLECULE_FILE_JSON, "LAMMPS molecule file, JSON", MoleculeJsonSource, write_molecule_json, single=True
    ),
}
_SUFFIXES = {
    ".dump": DUMP,
    ".lammpstrj": DUMP,
    ".lammpsdump": DUMP,
    ".data": DATA,
    ".lmp": DATA,
    ".lammpsdata": DATA,
    ".lammpsmol": MOLECULE_FILE,
}
_FIRST_ITEMS = (b"ITEM: TIMESTEP", b"ITEM: UNITS", b"ITEM: TIME")
_JSON_MARKS = (re.compile(rb'"application"\s*:\s*"LAMMPS"'), re.compile(rb'"format"\s*:\s*"molecule"'))
_HEADER = re.compile(rb"\s*[-+.\deE]+(?:\s+[-+.\deE]+)*\s+([A-Za-z][A-Za-z ]*?)\s*$")
_OF_DATA = frozenset(
    keyword.encode() for keyword in (*BOX_KEYWORDS, *COUNTED) if " " in keyword or keyword.endswith("vec")
)


class LammpsFamily:
    """LAMMPS' formats, read and written by this library's own code."""

    def names(self) -> Sequence[str]:
        """Return the names of the formats."""
        return tuple(_FORMATS)

    def get(self, name: str) -> Format | None:
        """Return a format by name, or None."""
        return _FORMATS.get(name)

    def by_content(self, head: bytes) -> str | None:
        """Return the format of a file by its first bytes, or None."""
        if head.startswith(_FIRST_ITEMS):
            return DUMP
        if head.lstrip().startswith(b"{"):
            return MOLECULE_FILE_JSON if all(mark.search(head) for mark in _JSON_MARKS) else None
        return _sectioned(head)

    def by_name(self, path: Path) -> str | None:
        """Return the format a suffix stands for, or None."""
        # RuNNer's files are all called input.data
        return None if path.name.lower() == "input.data" else _SUFFIXES.get(path.suffix.lower())

    def always_recognized(self, name: str) -> bool:
        """Tell whether `by_content` recognizes every file of a format: a dump has one way to begin."""
        return name == DUMP


def _sectioned(head: bytes) -> str | None:
    """Return which of the two files with a header and sections begins like this, or None."""
    keywords: set[bytes] = set()
    for line in head.split(b"\n")[1:]:
        text = line.split(b"#")[0].strip()
        if not text:
            continue
        found = _HEADER.match(text)
        if found is None:
            if b"atoms" not in keywords:
                return None
            if keywords & _OF_DATA:
                return DATA
            return MOLECULE_FILE if text.decode("ascii", "replace") in MOLECULE_SECTIONS else None
        keywords.add(found[1])
    # the header alone fills the first bytes, or the file has nothing else
    return DATA if b"atoms" in keywords and keywords & _OF_DATA else None
