"""One category of an mmCIF file as columns, and the lines its rows stand in.

Values are taken as the file writes them: decimals become binary64 at once, and ``?`` and ``.`` are no value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.errors import FormatError
from molrec.formats.compressed import reading
from molrec.formats.macromolecule import malformed

if TYPE_CHECKING:
    import gemmi

__all__ = ["Category"]

_NULLS = ("?", ".")
_REAL, _INTEGER = frozenset("+-.0123456789eE"), frozenset("+-0123456789")
_TOKEN = re.compile(
    rb"(?m:^);[^\n]*\n(?:(?!;)[^\n]*\n)*;"
    rb"|'(?:[^'\n]|'(?=\S))*'|\"(?:[^\"\n]|\"(?=\S))*\"|\#[^\n]*|\S+"
)

Mask = npt.NDArray[np.bool_]


class Category:
    """The rows of a category in one data block.

    Args:
        path: The file, for messages.
        block: The data block.
        name: The category with its dot, such as ``_atom_site.``.
    """

    def __init__(self, path: Path, block: gemmi.cif.Block, name: str) -> None:
        self.name = name
        self._path = path
        table = block.find_mmcif_category(name)
        self._loop = table.loop
        self.tags: list[str] = [tag[len(name) :] for tag in table.tags]
        self._columns: Sequence[Sequence[str]]
        if self._loop is None:
            self._columns = [[value] for row in table for value in row]
        else:
            values, width = list(self._loop.values), len(self.tags)
            self._columns = [values[column::width] for column in range(width)]
        self._line = self._line_of(block)

    def _line_of(self, block: gemmi.cif.Block) -> int:
        for item in block:
            first = item.loop.tags[0] if item.loop is not None else item.pair[0] if item.pair is not None else ""
            if first.lower().startswith(self.name.lower()):
                return int(item.line_number)
        return 1

    def __len__(self) -> int:
        return len(self._columns[0]) if self._columns else 0

    def __contains__(self, tag: str) -> bool:
        return tag in self.tags

    def error(self, row: int, why: str) -> FormatError:
        """Return the refusal of one row."""
        return malformed(self._path, self._row_line(row), f"{self.name.rstrip('.')}: {why}")

    def _row_line(self, row: int) -> int:
        """Return the line a row begins in; the file is read again, since this is asked for when it is refused."""
        if self._loop is None:
            return self._line
        with reading(self._path) as file:
            text = file.read()
        start = 0
        for _ in range(self._line - 1):
            start = text.index(b"\n", start) + 1
        wanted = 1 + len(self.tags) * (row + 1)  # behind the word loop_ and the tags
        for found in _TOKEN.finditer(text, start):
            if found[0].startswith(b"#"):
                continue
            if not wanted:
                return self._line + text.count(b"\n", start, found.start())
            wanted -= 1
        return self._line

    def nulls(self, tag: str) -> Mask:
        """Tell which rows have no value."""
        raw = self._raw(tag)
        absent: Mask = (raw == _NULLS[0]) | (raw == _NULLS[1])
        return absent

    def texts(self, tag: str) -> tuple[Array, Mask]:
        """Return a column as strings, and which rows have no value; these hold ``?`` or ``.`` as the file does."""
        import gemmi

        values = self._raw(tag)
        absent = (values == _NULLS[0]) | (values == _NULLS[1])
        quoted = np.strings.startswith(values, "'") | np.strings.startswith(values, '"')
        for row in np.flatnonzero(quoted | np.strings.startswith(values, ";")).tolist():
            values[row] = gemmi.cif.as_string(values[row])
        return values, absent

    def labels(self, tag: str) -> Array:
        """Return a column as strings, "" where there is no value."""
        values, absent = self.texts(tag)
        values[absent] = ""
        return values

    def reals(self, tag: str) -> tuple[npt.NDArray[np.float64], Mask]:
        """Return a column as binary64, and which rows have no value (0 there).

        Raises:
            FormatError: A value is no number.
        """
        return self._numbers(tag, _REAL, np.float64, "a number")

    def integers(self, tag: str) -> tuple[npt.NDArray[np.int64], Mask]:
        """Return a column as integers, and which rows have no value (0 there).

        Raises:
            FormatError: A value is no integer.
        """
        return self._numbers(tag, _INTEGER, np.int64, "an integer")

    def _raw(self, tag: str) -> Array:
        return np.array(self._columns[self.tags.index(tag)], dtype=STRING)

    def _numbers(
        self, tag: str, characters: frozenset[str], dtype: type[Any], what: str
    ) -> tuple[npt.NDArray[Any], Mask]:
        given = self._columns[self.tags.index(tag)]
        values = self._raw(tag)
        absent = (values == _NULLS[0]) | (values == _NULLS[1])
        values[absent] = "0"
        try:
            if not characters.issuperset("".join(values.tolist())):
                raise ValueError  # numpy takes more for numbers than CIF does
            return values.astype(dtype), absent
        except ValueError as error:
            for row, value in enumerate(values.tolist()):
                if not (characters.issuperset(value) and _converts(value, dtype)):
                    raise self.error(
                        row, f"{tag} is {given[row]!r}, where {what} is expected; the file is damaged"
                    ) from error
            raise


def _converts(value: str, dtype: type[Any]) -> bool:
    try:
        np.array([value], dtype=STRING).astype(dtype)
    except ValueError:
        return False
    return True
