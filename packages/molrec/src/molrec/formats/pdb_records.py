"""The records of a PDB file: which columns hold what, and a file cut into the lines of one model after the other.

Coordinates follow the wwPDB's format 3.3, with what programs have added to it: residue names of four letters (one
column to the right), a segment name (columns 73 to 76), residue numbers of five digits (a digit where the insertion
code stands), and hybrid-36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, NamedTuple

from molrec.formats.pdb_columns import Field

__all__ = [
    "ALTLOC",
    "ANISOTROPIC",
    "ANISOTROPIC_SCALE",
    "ATOM_KINDS",
    "BONDED",
    "B_FACTOR",
    "CELL",
    "CHAIN",
    "CHARGE",
    "CONECT_END",
    "COORDINATES",
    "ELEMENT",
    "FIVE_DIGITS",
    "HEADER_KEY",
    "ICODE",
    "IDENTITY",
    "MASTER_ATOMS",
    "NAME",
    "OCCUPANCY",
    "RESIDUE_NAME",
    "RESIDUE_NUMBER",
    "SEGMENT",
    "SERIAL",
    "SPACE_GROUP",
    "UNUSED",
    "Z_VALUE",
    "Outline",
    "Segment",
    "looks_like_pdb",
    "outline",
    "segments",
]

#: Frame meta: the lines before a frame's atoms that have no other place.
HEADER_KEY = "pdb_header"

SERIAL = Field("the serial number", 6, 11)
NAME = Field("the atom name", 12, 16)
ALTLOC = Field("the alternate location", 16, 17)
RESIDUE_NAME = Field("the residue name", 17, 21)
CHAIN = Field("the chain", 21, 22)
RESIDUE_NUMBER = Field("the residue number", 22, 26)
ICODE = Field("the insertion code", 26, 27)
FIVE_DIGITS = Field("the residue number", 22, 27)
#: What is the same in an atom's line and the ANISOU line after it.
IDENTITY = Field("the atom", 6, 27)
COORDINATES = (Field("x", 30, 38, 3), Field("y", 38, 46, 3), Field("z", 46, 54, 3))
OCCUPANCY = Field("the occupancy", 54, 60, 2)
B_FACTOR = Field("the B factor", 60, 66, 2)
UNUSED = (Field("column 12", 11, 12), Field("columns 28 to 30", 27, 30), Field("columns 67 to 72", 66, 72))
SEGMENT = Field("the segment", 72, 76)
ELEMENT = Field("the element", 76, 78)
CHARGE = Field("the charge", 78, 80)
#: U11 U22 U33 U12 U13 U23 in 1/10,000 square angstrom.
ANISOTROPIC = tuple(
    Field(f"U({index})", start, start + 7)
    for index, start in zip(("1,1", "2,2", "3,3", "1,2", "1,3", "2,3"), range(28, 70, 7), strict=True)
)
ANISOTROPIC_SCALE = 1e4
CELL = tuple(
    Field(name, start, stop, decimals)
    for name, start, stop, decimals in (
        ("a", 6, 15, 3),
        ("b", 15, 24, 3),
        ("c", 24, 33, 3),
        ("alpha", 33, 40, 2),
        ("beta", 40, 47, 2),
        ("gamma", 47, 54, 2),
    )
)
SPACE_GROUP, Z_VALUE = slice(55, 66), slice(66, 70)
BONDED = tuple(Field("a serial number", start, start + 5) for start in range(6, 31, 5))
CONECT_END = 31
MASTER_ATOMS = slice(50, 55)

ATOM_KINDS = (b"ATOM  ", b"HETATM")
_NAMES = frozenset(
    b"HEADER OBSLTE TITLE SPLIT CAVEAT COMPND SOURCE KEYWDS EXPDTA NUMMDL MDLTYP AUTHOR REVDAT SPRSDE JRNL REMARK "
    b"DBREF DBREF1 DBREF2 SEQADV SEQRES MODRES HET HETNAM HETSYN FORMUL HELIX SHEET TURN SSBOND LINK CISPEP SITE "
    b"CRYST1 ORIGX1 ORIGX2 ORIGX3 SCALE1 SCALE2 SCALE3 MTRIX1 MTRIX2 MTRIX3 MODEL ATOM ANISOU TER HETATM ENDMDL CONECT "
    b"MASTER END SIGATM SIGUIJ USER".split()
)
_ATOM_LINE = re.compile(rb"(?:ATOM  |HETATM).{24}(?:[ \-\d]{3}\d\.\d{3}){3}")
_REAL_FIELD = re.compile(rb"\s*(?:[+-]?\d*\.?\d*)\s*$")
#: PDBQT has a partial charge where PDB has the segment.
_PARTIAL_CHARGE = re.compile(rb"\s*[+-]?\d+\.\d+\s*")
_DOCKING = re.compile(rb"^(?:ROOT|BRANCH|TORSDOF)", re.MULTILINE)
_MODEL_END = re.compile(rb"END(?:MDL)?(?=[ \t\r\n])[^\n]*\n")
_OUTLINED = re.compile(rb"\n((?:CONECT|MASTER|NUMMDL)[^\n]*)")
_CHUNK = 1 << 23


def looks_like_pdb(head: bytes) -> bool:
    """Tell whether a file begins as PDB: known records only, and coordinates in their columns.

    PQR and PDBQT begin alike; what they add stands where PDB has other fields.
    """
    lines = [line.rstrip(b"\r") for line in head.split(b"\n")[:-1]] or [head.rstrip(b"\r")]
    names = [line[:6].rstrip() for line in lines if line.strip()]
    if not names or names[0] not in _NAMES or _DOCKING.search(head):
        return False
    atom = next((line for line in lines if line[:6] in ATOM_KINDS), None)
    if atom is None:
        known = all(name in _NAMES for name in names)
        return known and any(name in (b"HEADER", b"CRYST1", b"SEQRES", b"COMPND") for name in names)
    if _PARTIAL_CHARGE.fullmatch(atom[B_FACTOR.stop : SEGMENT.stop]):
        return False
    fields = (atom[OCCUPANCY.start : OCCUPANCY.stop], atom[B_FACTOR.start : B_FACTOR.stop])
    return bool(_ATOM_LINE.match(atom)) and all(_REAL_FIELD.match(field) for field in fields)


class Segment(NamedTuple):
    """Lines of a file up to the end of one model.

    Attributes:
        line: Number of the first line, from 1.
        text: The lines.
    """

    line: int
    text: bytes


def segments(file: IO[bytes]) -> Iterator[Segment]:
    """Cut a file behind every ENDMDL and END; one segment is in memory at a time."""
    buffer = bytearray()
    line, searched = 1, 0
    while chunk := file.read(_CHUNK):
        buffer += chunk
        ends = [
            found.end()
            for found in _MODEL_END.finditer(buffer, searched)
            if not found.start() or buffer[found.start() - 1] == ord("\n")
        ]
        taken = 0
        for end in ends:
            text = bytes(buffer[taken:end])
            yield Segment(line, text)
            line += text.count(b"\n")
            taken = end
        searched = max(taken, buffer.rfind(b"\n") + 1) - taken
        del buffer[:taken]
    if buffer:
        yield Segment(line, bytes(buffer))


class Outline(NamedTuple):
    """The few records that say something of the whole file, by the record's name: line numbers and lines."""

    numbers: dict[bytes, list[int]]
    lines: dict[bytes, list[bytes]]


def outline(file: IO[bytes]) -> Outline:
    """Collect CONECT, MASTER and NUMMDL, which may stand behind the atoms they are about."""
    found = Outline({}, {})
    # every line is looked for with the newline before it, which is quick; the first one gets one here
    line, rest = 0, b"\n"
    while True:
        chunk = file.read(_CHUNK)
        text = rest + chunk
        whole = len(text) if not chunk else text.rfind(b"\n")
        counted = 0
        for record in _OUTLINED.finditer(text, 0, whole):
            line += text.count(b"\n", counted, record.start(1))
            counted = record.start(1)
            found.numbers.setdefault(record[1][:6], []).append(line)
            found.lines.setdefault(record[1][:6], []).append(record[1].rstrip(b"\r"))
        line += text.count(b"\n", counted, whole)
        rest = text[whole:]
        if not chunk:
            return found
