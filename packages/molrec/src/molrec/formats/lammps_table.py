"""Rows of whitespace-separated fields in LAMMPS' text files: whole sections parsed at once, errors by line.

A section is parsed by numpy in one go. Only when that fails are its lines looked at one by one, to say which of them is
wrong and why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.errors import FormatError

__all__ = ["MALFORMED", "Field", "Place", "plain_text", "read_table", "rows_of_text", "without_comments"]

MALFORMED = "reject-malformed-source"

type Kind = Literal["integer", "real", "text"]

_COMMENT = re.compile(rb"(?:^|(?<=\s))#[^\n]*")
_NUMPY_KINDS: dict[str, type] = {"integer": np.int64, "real": np.float64}
_EXPECTED = {"integer": "an integer", "real": "a number", "text": "text"}


class Field(NamedTuple):
    """One field of a row: what it is called and what stands in it."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a file, for messages.

    Attributes:
        path: The file, as the user called it.
        line: Number of the part's first line, from 1.
        what: What the part is, such as ``section Atoms``.
    """

    path: str
    line: int
    what: str

    def error(self, offset: int, why: str) -> FormatError:
        """Return the refusal of the line `offset` lines below the first."""
        return FormatError(f"{self.path}:{self.line + offset}: {self.what}: {why}", MALFORMED)


def plain_text(line: bytes, place: Place, offset: int = 0) -> str:
    """Return one line as text without its end.

    Raises:
        FormatError: It holds a byte outside ASCII.
    """
    try:
        return line.decode("ascii").strip()
    except UnicodeDecodeError as error:
        raise place.error(offset, _not_ascii(line)) from error


def without_comments(lines: Sequence[bytes]) -> list[bytes]:
    """Return lines without comments: from a ``#`` after a blank, or at the line's start, to its end."""
    return [_COMMENT.sub(b"", line) if b"#" in line else line for line in lines]


def read_table(lines: Sequence[bytes], fields: Sequence[Field], place: Place) -> dict[str, Array]:
    """Parse rows of equal fields.

    Args:
        lines: One line per row, with line ends, without comments.
        fields: The fields of a row, in order.
        place: Where the first row stands.

    Returns:
        Field name to its values, one per row: int64, float64 or string.

    Raises:
        FormatError: A row has another number of fields, or a field holds something else than it must.
    """
    numeric = [position for position, field in enumerate(fields) if field.kind != "text"]
    columns: dict[str, Array] = {}
    if len(numeric) < len(fields):
        columns |= _read_text(lines, fields, place)
    if not lines:
        columns |= {fields[position].name: _empty(fields[position].kind) for position in numeric}
    elif numeric:
        columns |= _read_numbers(lines, fields, numeric, place)
    return {field.name: columns[field.name] for field in fields}


def _empty(kind: Kind) -> Array:
    return np.zeros(0, dtype=_NUMPY_KINDS[kind])


def _read_numbers(
    lines: Sequence[bytes], fields: Sequence[Field], numeric: Sequence[int], place: Place
) -> dict[str, Array]:
    dtype = np.dtype([(f"{position}", _NUMPY_KINDS[fields[position].kind]) for position in numeric])
    chosen = numeric if len(numeric) < len(fields) else None
    try:
        # a list of blank lines alone would make numpy warn
        rows = np.loadtxt(lines, dtype=dtype, comments=None, ndmin=1, usecols=chosen) if _has_text(lines) else None
    except ValueError as error:
        raise _diagnose(lines, fields, place, str(error)) from error
    if rows is None or len(rows) != len(lines):
        raise _diagnose(lines, fields, place, "a line is empty")
    return {fields[position].name: np.ascontiguousarray(rows[f"{position}"]) for position in numeric}


def _has_text(lines: Sequence[bytes]) -> bool:
    return any(line.strip() for line in lines)


def _read_text(lines: Sequence[bytes], fields: Sequence[Field], place: Place) -> dict[str, Array]:
    """Parse the fields that are text, by the positions of all fields in the joined lines."""
    text = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)
    if not text.isascii():
        raise _diagnose(lines, fields, place, "a byte is not ASCII")
    characters = np.frombuffer(b"\n" + text, dtype=np.uint8)
    blank = characters <= ord(" ")
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    line_ends = np.flatnonzero(characters == ord("\n"))
    if np.any(np.diff(np.searchsorted(starts, line_ends)) != len(fields)):
        raise _diagnose(lines, fields, place, "a line has another number of fields")
    return {
        field.name: _slices(characters, starts[position :: len(fields)], ends[position :: len(fields)])
        for position, field in enumerate(fields)
        if field.kind == "text"
    }


def _slices(characters: npt.NDArray[np.uint8], starts: Array, ends: Array) -> Array:
    """Return the strings between pairs of positions."""
    width = int((ends - starts).max(initial=1))
    index = starts[:, np.newaxis] + np.arange(width)
    inside = index < ends[:, np.newaxis]
    padded = np.where(inside, characters[np.where(inside, index, 0)], 0).astype(np.uint32)
    return np.ascontiguousarray(padded).view(f"<U{width}").reshape(-1).astype(STRING)


def _diagnose(lines: Sequence[bytes], fields: Sequence[Field], place: Place, reason: str) -> FormatError:
    """Return the error of the first bad row; `reason` is said when every row looks well by itself."""
    names = " ".join(field.name for field in fields)
    for offset, line in enumerate(lines):
        if not line.isascii():
            return place.error(offset, _not_ascii(line))
        found = line.split()
        if len(found) != len(fields):
            return place.error(offset, f"{len(found)} fields where {len(fields)} are expected ({names})")
        for token, field in zip(found, fields, strict=True):
            if not _fits(token, field.kind):
                return place.error(
                    offset, f"field {field.name!r} holds {_EXPECTED[field.kind]}, found {token.decode()!r}"
                )
    return place.error(0, f"not readable ({reason})")


def _fits(token: bytes, kind: Kind) -> bool:
    if kind == "text":
        return True
    try:
        value = int(token) if kind == "integer" else float(token)
    except ValueError:
        return False
    return b"_" not in token and (kind == "real" or -(2**63) <= value < 2**63)


def _not_ascii(line: bytes) -> str:
    found = next(byte for byte in line if byte > 127)
    return f"holds the byte 0x{found:02x}, which is not ASCII; write the line in plain characters"


def rows_of_text(columns: Sequence[Array]) -> str:
    """Return columns as lines of fields, each line with its end; reals with the digits that bring them back exactly."""
    rows = map(" ".join, zip(*map(_texts, columns), strict=True))
    text = "\n".join(rows)
    return text + "\n" if text else ""


def _texts(values: Array) -> Iterable[str]:
    items = (values.astype(np.int8) if values.dtype.kind == "b" else values).tolist()
    return items if values.dtype.kind == "T" else map(repr, items)
