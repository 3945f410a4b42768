"""The layout of LAMMPS' data and molecule files: a first line, a header of numbers with keywords, named sections.

This module cuts a file into these parts and knows line numbers; what the parts mean is said by the modules of the two
formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from molrec.formats.compressed import reading
from molrec.formats.lammps_table import Place, plain_text, without_comments
from molrec.formats.notes import Notes

__all__ = ["Header", "Section", "SectionedFile", "read_sections"]

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")
_COUNT = re.compile(r"\d+$")

#: What the header of either file can count.
TOPOLOGY = ("bonds", "angles", "dihedrals", "impropers")


@dataclass(frozen=True, slots=True)
class Header:
    """One line of the header: the numbers as text, and where it stands."""

    values: tuple[str, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Attributes:
        name: Its name.
        hint: What stands behind the name as a comment, which is a style as a rule; empty for none.
        rows: Its lines, comments included.
        place: Where the first row stands.
    """

    name: str
    hint: str
    rows: list[bytes]
    place: Place

    def table(self, notes: Notes) -> list[bytes]:
        """Return the rows without comments, for `read_table`; a note says when there are any."""
        if not any(b"#" in row for row in self.rows):
            return self.rows
        bare = without_comments(self.rows)
        if bare != self.rows:
            notes.lost(f"section {self.name!r}", "has comments behind its rows, which are left out")
        return bare

    def fields(self) -> list[list[str]]:
        """Return the fields of each row as text; a comment is a row's last field.

        Raises:
            FormatError: A row holds a byte outside ASCII.
        """
        found = []
        for offset, (row, bare) in enumerate(zip(self.rows, without_comments(self.rows), strict=True)):
            fields = plain_text(bare, self.place, offset).split()
            comment = plain_text(row[len(bare.rstrip(b"\r\n")) :], self.place, offset)
            found.append([*fields, comment] if comment else fields)
        return found


@dataclass(frozen=True, slots=True)
class SectionedFile:
    """A whole file.

    Attributes:
        name: The file, as the user called it.
        title: The first line.
        header: Keyword to line.
        sections: Name to section.
        lines: Number of lines.
    """

    name: str
    title: bytes
    header: Mapping[str, Header]
    sections: Mapping[str, Section]
    lines: int

    def place(self, line: int = 1, what: str = "header") -> Place:
        """Return a place in this file."""
        return Place(self.name, line, what)

    def count(self, keyword: str) -> int | None:
        """Return what the header states under a keyword, None when it does not have it.

        Raises:
            FormatError: It is no count.
        """
        found = self.header.get(keyword)
        if found is None:
            return None
        if len(found.values) != 1 or not _COUNT.match(found.values[0]):
            raise found.place.error(0, f"{keyword!r} is preceded by one count, found {' '.join(found.values)!r}")
        return int(found.values[0])

    def numbers(self, keyword: str, length: int) -> list[float] | None:
        """Return the numbers the header states under a keyword, None when it does not have it.

        Raises:
            FormatError: There are more or fewer.
        """
        found = self.header.get(keyword)
        if found is None:
            return None
        if len(found.values) != length:
            raise found.place.error(
                0, f"{keyword!r} is preceded by {length} numbers, found {' '.join(found.values) or 'none'}"
            )
        return [float(value) for value in found.values]


def read_sections(path: Path, rows_of: Callable[[str, Mapping[str, Header]], int | None]) -> SectionedFile:
    """Cut a file into header and sections.

    Args:
        path: The file, compressed or not.
        rows_of: Returns how many rows a section has by the header, or None when an empty line ends it.

    Raises:
        FormatError: The file is empty, a section has more or fewer rows than it must, or stands there twice.
    """
    with reading(path) as file:
        lines = list(file)
    name = str(path)
    if not lines:
        raise Place(name, 1, "file").error(0, "is empty")
    header, position = _read_header(name, lines)
    sections: dict[str, Section] = {}
    while position < len(lines):
        if not _bare(lines[position]):
            position += 1
            continue
        section, position = _read_section(name, lines, position, lambda section: rows_of(section, header))
        if section.name in sections:
            raise section.place.error(-2, f"a section {section.name!r} has been there before")
        sections[section.name] = section
    return SectionedFile(name, lines[0], header, sections, len(lines))


def _bare(line: bytes) -> bytes:
    return without_comments([line])[0].strip()


def _read_header(name: str, lines: Sequence[bytes]) -> tuple[dict[str, Header], int]:
    """Return the header and the position of the first section."""
    header: dict[str, Header] = {}
    for position, line in enumerate(lines[1:], start=1):
        place = Place(name, position + 1, "header")
        words = plain_text(_bare(line), place).split()
        if not words:
            continue
        numbers = 0
        while numbers < len(words) and _NUMBER.match(words[numbers]):
            numbers += 1
        if not numbers:
            return header, position
        keyword = " ".join(words[numbers:])
        if not keyword:
            raise place.error(0, f"numbers without a keyword: {' '.join(words)!r}")
        if keyword in header:
            raise place.error(0, f"{keyword!r} has been stated before")
        header[keyword] = Header(tuple(words[:numbers]), place)
    return header, len(lines)


def _read_section(
    name: str, lines: Sequence[bytes], position: int, rows_of: Callable[[str], int | None]
) -> tuple[Section, int]:
    """Return the section whose name stands at a position, and the position behind it."""
    bare = _bare(lines[position])
    title = Place(name, position + 1, "sections")
    text = plain_text(bare, title)
    if _NUMBER.match(text.split()[0]):
        raise title.error(0, f"a section's name is expected, found {text!r}; a section before has too many rows")
    hint = plain_text(lines[position].strip()[len(bare) :], title).lstrip("# \t")
    what = f"section {text!r}"
    if position + 1 < len(lines) and _bare(lines[position + 1]):
        raise Place(name, position + 2, what).error(0, "an empty line must follow the name; LAMMPS skips that line")
    start = position + 2
    place = Place(name, start + 1, what)
    expected = rows_of(text)
    limit = len(lines) if expected is None else min(start + expected, len(lines))
    end = next((row for row in range(start, limit) if not lines[row].strip()), limit)
    if expected is not None and end - start < expected:
        raise place.error(
            max(end - start, 0), f"ends after {max(end - start, 0)} rows; by the header it has {expected} rows"
        )
    following = _bare(lines[end]).split() if end < len(lines) else []
    if expected is not None and following and _NUMBER.match(following[0].decode("ascii", "replace")):
        raise place.error(end - start, f"has more rows than the {expected} of the header")
    return Section(text, hint, list(lines[start:end]), place), end
