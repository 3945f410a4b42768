"""The sections of AMBER topologies: names, formats and values, read and written.

ParmEd reads the same sections, but its compiled parser brings the whole process down on a file that is cut short
(ParmEd 4.3.1), and it does not say on which line a file is wrong; so the sections are cut here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from molrec.formats.forcefield_source import SourceLine

__all__ = ["Section", "read_sections", "write_sections"]

_FORMAT = re.compile(r"%FORMAT\s*\(\s*(\d+)\s*([aAiIeEfFdD])\s*(\d+)(?:\.(\d+))?\s*\)")
_WIDEST = 1 << 16
_VERSION = "%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/00  00:00:00"


@dataclass(slots=True)
class Section:
    """One section.

    Attributes:
        name: Its name, behind ``%FLAG``.
        place: Where it begins.
        values: Texts without blanks around them, whole numbers, or reals, as its format says.
    """

    name: str
    place: SourceLine
    values: list[Any] = field(default_factory=list)


def read_sections(path: Path) -> dict[str, Section]:
    """Return the sections of a file by name.

    Raises:
        SchemaError: The file is no text, a section has no format, stands there twice, or has a value out of its format
            (``reject-ff-source-malformed``).
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError as error:
        raise SourceLine(str(path), 1).malformed("the file is no text in ASCII") from error
    sections: dict[str, Section] = {}
    current: Section | None = None
    layout: tuple[str, int] | None = None
    for number, line in enumerate(lines, 1):
        place = SourceLine(str(path), number)
        if line.startswith("%FLAG"):
            name = line[5:].strip()
            if name in sections:
                raise place.malformed(f"%FLAG {name} stands there twice")
            current, layout = sections.setdefault(name, Section(name, place)), None
        elif line.startswith("%FORMAT"):
            found = _FORMAT.match(line)
            # a format of several kinds belongs to sections nothing here needs; their lines are texts
            layout = ("A", max(len(line), _WIDEST)) if found is None else (found[2].upper(), int(found[3]))
        elif line.startswith("%") or current is None:
            if current is None and line.strip() and not line.startswith("%"):
                raise place.malformed("a prmtop begins with %VERSION and sections behind %FLAG")
        elif layout is None:
            raise place.malformed(f"%FLAG {current.name} has no %FORMAT before its values")
        else:
            current.values += _values(line, *layout, place)
    return sections


def _values(line: str, kind: str, width: int, place: SourceLine) -> list[Any]:
    """Return the values of one line of equal fields."""
    texts = [line[start : start + width] for start in range(0, len(line), width)]
    if kind == "A":
        return [text.strip() for text in texts]
    convert = int if kind == "I" else float
    found = []
    for text in texts:
        if not text.strip():
            continue
        if len(text) < width:
            raise place.malformed(f"{text.strip()!r} is cut short; a value has {width} characters")
        try:
            found.append(convert(text.replace("D", "E")) if kind != "I" else convert(text))
        except ValueError as error:
            wanted = "a whole number" if kind == "I" else "a number"
            raise place.malformed(f"{text.strip()!r} is not {wanted} of {width} characters") from error
    return found


def write_sections(path: Path, sections: Iterable[tuple[str, str, Sequence[Any]]]) -> None:
    """Write sections.

    Args:
        path: The file.
        sections: Name, format (such as ``10I8``) and values of each.
    """
    lines = [_VERSION]
    for name, form, values in sections:
        found = _FORMAT.match(f"%FORMAT({form})")
        assert found is not None
        per_line, kind, width = int(found[1]), found[2].upper(), int(found[3])
        lines += [f"%FLAG {name}", f"%FORMAT({form})"]
        if kind == "A":
            texts = [f"{value:<{width}}" for value in values]
        elif kind == "I":
            texts = [f"{value:{width}d}" for value in values]
        else:
            texts = [f"{value:{width}.{found[4]}E}" for value in values]
        lines += ["".join(texts[start : start + per_line]) for start in range(0, len(texts), per_line)] or [""]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
