"""LAMMPS scripts as commands: comments, continued lines and quotes resolved, each command with its place.

Only what it takes to find force-field commands is read. A variable in a command that is used is refused by name; a
script is not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from molrec.formats.forcefield_source import SourceLine

__all__ = ["Command", "commands_of", "stated_units"]

_WORD = re.compile(r'"""(.*?)"""|"([^"]*)"|\'([^\']*)\'|(\S+)', re.DOTALL)
_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\(|\w)")
_VARIABLE_WORD = re.compile(r"v_(\w+)$")
_UNITS = re.compile(r"\bunits\s*=\s*(\w+)")


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        words: Its words, quotes removed.
        place: Where it begins.
    """

    words: tuple[str, ...]
    place: SourceLine

    @property
    def name(self) -> str:
        """The first word."""
        return self.words[0]

    def arguments(self, least: int = 0) -> tuple[str, ...]:
        """Return the words behind the first, for a command that is used.

        Args:
            least: How many there must be.

        Raises:
            SchemaError: There are fewer (``reject-ff-source-malformed``), or one names a variable
                (``reject-ff-source-unsupported``).
        """
        for word in self.words:
            found = _VARIABLE.search(word) or _VARIABLE_WORD.match(word)
            if found:
                name = next((group for group in found.groups() if group), word)
                raise self.place.unsupported(
                    f"{self.name!r} uses the variable {name if name != '(' else word!r}; scripts are read, not run: "
                    "write its value in its place"
                )
        if len(self.words) <= least:
            raise self.place.malformed(f"{self.name!r} needs {least} arguments or more, found {len(self.words) - 1}")
        return self.words[1:]


def commands_of(path: Path) -> Iterator[Command]:
    """Yield the commands of one script, without those of files it includes.

    Raises:
        SchemaError: The file is no text, or a quote or a continued line never ends (``reject-ff-source-malformed``).
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise SourceLine(str(path), 1).malformed("the file is no text in UTF-8") from error
    position = 0
    while position < len(lines):
        place = SourceLine(str(path), position + 1)
        text = lines[position]
        position += 1
        while _open_triple(text) or _bare(text).endswith("&"):
            if position == len(lines):
                raise place.malformed("the command goes on past the end of the file")
            text = text + "\n" + lines[position] if _open_triple(text) else _bare(text)[:-1] + " " + lines[position]
            position += 1
        words = tuple(_words(_without_comment(text), place))
        if words:
            yield Command(words, place)


def stated_units(path: Path) -> str | None:
    """Return the unit style a first comment line states as ``units = real``, or None."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    found = _UNITS.search(first) if first.startswith("#") else None
    return found[1] if found else None


def _open_triple(text: str) -> bool:
    return text.count('"""') % 2 == 1


def _bare(text: str) -> str:
    return _without_comment(text).rstrip()


def _without_comment(text: str) -> str:
    quote = ""
    position = 0
    while position < len(text):
        if text.startswith('"""', position) and quote in ("", '"""'):
            quote = "" if quote else '"""'
            position += 3
            continue
        character = text[position]
        if not quote and character == "#":
            return text[:position]
        if character in "\"'" and quote in ("", character):
            quote = "" if quote else character
        position += 1
    return text


def _words(text: str, place: SourceLine) -> Iterator[str]:
    for found in _WORD.finditer(text):
        word = next(group for group in found.groups() if group is not None)
        if found[4] is not None and word[0] in "\"'":
            raise place.malformed(f"the quote {word[0]} never ends")
        yield word
