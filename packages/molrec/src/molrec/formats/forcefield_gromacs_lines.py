"""GROMACS topologies as rows of sections: includes, conditions and macros resolved, each row with its place.

Only what is defined in the files, or given by the caller, counts as defined; nothing is taken from the environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from molrec.formats.forcefield_source import SourceLine

__all__ = ["Row", "rows_of"]

_SECTION = re.compile(r"\[\s*([\w-]+)\s*\]$")
_INCLUDE = re.compile(r"[\"<](.+)[\">]$")


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        section: The section it stands in; a row without words marks the section's beginning.
        words: Its words, macros replaced.
        text: The row as it stands, macros not replaced.
        place: Where it stands.
    """

    section: str
    words: tuple[str, ...]
    text: str
    place: SourceLine

    def numbers(self, first: int) -> list[float]:
        """Return the words from a position on as numbers.

        Raises:
            SchemaError: One is no number (``reject-ff-source-malformed``).
        """
        return self.place.numbers(self.words[first:], f"a row of [ {self.section} ]")

    def integer(self, position: int) -> int:
        """Return a word as a whole number.

        Raises:
            SchemaError: It is missing or none (``reject-ff-source-malformed``).
        """
        word = self.words[position] if position < len(self.words) else ""
        if not word.lstrip("-").isdecimal():
            raise self.place.malformed(f"[ {self.section} ] has a whole number as word {position + 1}, found {word!r}")
        return int(word)


class _Preprocessor:
    """Follows the lines of a topology through its included files."""

    def __init__(self, root: Path, defines: Sequence[str]) -> None:
        self._root = root
        self._macros: dict[str, tuple[str, ...]] = dict.fromkeys(defines, ())
        self._section = ""
        self._open: list[Path] = []

    def rows(self, path: Path) -> Iterator[Row]:
        """Yield the rows of a file and of those it includes."""
        self._open.append(path.resolve())
        conditions: list[bool] = []
        for number, line in _lines(path):
            place = SourceLine(str(path), number)
            if line.startswith("#"):
                yield from self._directive(line, conditions, place, path)
            elif all(conditions):
                yield self._row(line, place)
        if conditions:
            raise SourceLine(str(path), 1).malformed("an #ifdef or #ifndef has no #endif")
        self._open.pop()

    def _row(self, line: str, place: SourceLine) -> Row:
        if line.startswith("["):
            found = _SECTION.match(line)
            if found is None:
                raise place.malformed(f"{line!r} is no section's name")
            self._section = found[1].lower()
            return Row(self._section, (), line, place)
        if not self._section:
            raise place.malformed(f"{line!r} stands before the first section")
        return Row(self._section, tuple(self._expanded(line.split(), place)), line, place)

    def _expanded(self, words: Sequence[str], place: SourceLine, depth: int = 0) -> Iterator[str]:
        if depth > len(self._macros):
            raise place.malformed(f"the macro {words[0]!r} is defined by itself")
        for word in words:
            if word in self._macros:
                yield from self._expanded(self._macros[word], place, depth + 1)
            else:
                yield word

    def _directive(self, line: str, conditions: list[bool], place: SourceLine, path: Path) -> Iterator[Row]:
        name, _, rest = line[1:].strip().partition(" ")
        words = rest.split()
        if name in ("ifdef", "ifndef"):
            if len(words) != 1:
                raise place.malformed(f"#{name} takes one name, found {rest!r}")
            conditions.append((words[0] in self._macros) == (name == "ifdef"))
        elif name in ("else", "endif"):
            if not conditions:
                raise place.malformed(f"#{name} without #ifdef or #ifndef")
            last = conditions.pop()
            if name == "else":
                conditions.append(not last)
        elif not all(conditions):
            return
        elif name == "define" and words:
            self._macros[words[0]] = tuple(words[1:])
        elif name == "undef" and words:
            self._macros.pop(words[0], None)
        elif name == "include":
            yield from self._include(rest.strip(), place, path)
        else:
            raise place.malformed(f"the directive {line!r} is not known")

    def _include(self, stated: str, place: SourceLine, path: Path) -> Iterator[Row]:
        found = _INCLUDE.match(stated)
        if found is None:
            raise place.malformed(f"#include takes a name in quotes, found {stated!r}")
        candidates = [folder / found[1] for folder in (path.parent, self._root)]
        target = next((one for one in candidates if one.is_file()), None)
        if target is None:
            raise place.malformed(f"the included file {found[1]!r} is not in {candidates[0].parent}; put it there")
        if target.resolve() in self._open:
            raise place.malformed(f"{found[1]!r} includes itself")
        yield from self.rows(target)


def rows_of(path: Path, defines: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the rows of a topology, those of included files in their place.

    Args:
        path: The topology.
        defines: Names that count as defined, as with ``define = -DNAME`` of a run.

    Raises:
        SchemaError: A directive or a section is out of form, or an included file is missing
            (``reject-ff-source-malformed``).
    """
    yield from _Preprocessor(path.parent, defines).rows(path)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that says something, comments removed and continued ones joined."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise SourceLine(str(path), 1).malformed("the file is no text in UTF-8") from error
    position = 0
    while position < len(lines):
        number, text = position + 1, lines[position].partition(";")[0].rstrip()
        position += 1
        while text.endswith("\\") and position < len(lines):
            text = text[:-1] + " " + lines[position].partition(";")[0].rstrip()
            position += 1
        if text.strip():
            yield number, text.strip()
