"""Fixed columns: lines as a matrix of bytes, and fields of many lines read or printed at once.

Integers too large for their field are in hybrid-36: after ``9999`` come ``A000`` to ``ZZZZ`` and ``a000`` to ``zzzz``,
and likewise in five columns. Fields count columns from 0, a stop behind the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.errors import FormatError, SchemaError

__all__ = ["WIDTH", "Field", "LineFields", "LinePrinter", "line_matrix", "print_integers"]

#: Columns of a line that mean something.
WIDTH = 80

_BLANK = ord(" ")
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BASE = len(_DIGITS)
_LETTERS = _BASE - 10

Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


def _byte_set(characters: str) -> Mask:
    flags = np.zeros(256, dtype=np.bool_)
    flags[np.frombuffer(characters.encode(), dtype=np.uint8)] = True
    return flags


_NUMERIC = _byte_set("+-.0123456789 ")
_INTEGER = _byte_set("+-0123456789 ")
_UPPER, _LOWER = _byte_set(_DIGITS[10:]), _byte_set(_DIGITS[10:].lower())
_UPPER_DIGIT, _LOWER_DIGIT = _byte_set(_DIGITS), _byte_set(_DIGITS.lower())
_VALUE = np.zeros(256, dtype=np.int64)
_VALUE[np.frombuffer(_DIGITS.encode(), dtype=np.uint8)] = np.arange(_BASE)
_VALUE[np.frombuffer(_DIGITS.lower().encode(), dtype=np.uint8)] = np.arange(_BASE)
_UPPER_TEXT = np.frombuffer(_DIGITS.encode(), dtype=np.uint8)
_LOWER_TEXT = np.frombuffer(_DIGITS.lower().encode(), dtype=np.uint8)


class Field(NamedTuple):
    """One field of a line.

    Attributes:
        name: What to call it in messages.
        start: Its first column, from 0.
        stop: The column behind its last.
        decimals: Decimals of a real number.
    """

    name: str
    start: int
    stop: int
    decimals: int = 0

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.stop - self.start


def line_matrix(text: bytes) -> tuple[Bytes, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the lines of a text, cut or filled with blanks to 80 columns.

    Args:
        text: Lines that end in newlines; the last one may not.

    Returns:
        The columns, uint8 ``(lines, 80)``, and where each line starts and stops in the text.
    """
    whole = np.frombuffer(text + b" " * WIDTH, dtype=np.uint8)
    stops = np.flatnonzero(whole[: len(text)] == ord("\n"))
    if text and not text.endswith(b"\n"):
        stops = np.append(stops, len(text))
    starts = np.concatenate([[0], stops[:-1] + 1]).astype(np.int64)[: len(stops)]
    matrix = np.lib.stride_tricks.sliding_window_view(whole, WIDTH)[starts].copy()
    matrix[np.arange(WIDTH) >= (stops - starts)[:, np.newaxis]] = _BLANK
    return matrix, starts, stops


class LineFields:
    """Lines of one kind, read field by field.

    Args:
        path: The file, for messages.
        matrix: The lines, uint8 ``(lines, 80)``.
        numbers: Line number of each, from 1.
        rule: Rule of the error a malformed field is.
        memory: String columns of the lines read before; one that is the same again is the same array, which then must
            not be changed.
    """

    def __init__(
        self,
        path: str,
        matrix: Bytes,
        numbers: npt.NDArray[np.int64],
        rule: str,
        memory: dict[Field, tuple[Bytes, Array]] | None = None,
    ) -> None:
        self.matrix = matrix
        self.numbers = numbers
        self._path = path
        self._rule = rule
        self._memory = {} if memory is None else memory

    def __len__(self) -> int:
        return len(self.numbers)

    def error(self, row: int, why: str) -> FormatError:
        """Return the refusal of one line."""
        return FormatError(f"{self._path}:{self.numbers[row]}: {why}", self._rule)

    def columns(self, field: Field) -> Bytes:
        """Return a field's columns, uint8 ``(lines, width)``."""
        return self.matrix[:, field.start : field.stop]

    def blank(self, field: Field) -> Mask:
        """Tell which lines leave a field empty."""
        blank: Mask = self.raw(field) == b" " * field.width
        return blank

    def raw(self, field: Field) -> Array:
        """Return a field as numpy bytes, blanks and all."""
        return np.ascontiguousarray(self.columns(field)).view(f"S{field.width}").reshape(-1)

    def texts(self, field: Field) -> Array:
        """Return a field as strings without the blanks around them."""
        columns = self.columns(field)
        known = self._memory.get(field)
        if known is None or not np.array_equal(known[0], columns):
            known = columns.copy(), np.strings.strip(self.raw(field)).astype(STRING)
            known[1].flags.writeable = False
            self._memory[field] = known
        return known[1]

    def reals(self, field: Field, *, required: bool = False) -> tuple[npt.NDArray[np.float64], Mask]:
        """Return a field as binary64, and which lines leave it empty (0 there).

        Raises:
            FormatError: It is no number, or empty where one is required.
        """
        blank = self.blank(field)
        if required and blank.any():
            row = int(blank.argmax())
            raise self.error(row, f"{self._where(field)} is empty; the line is cut short or damaged")
        columns = self.columns(field)
        values = _fixed_point(columns, blank, field.decimals)
        if values is None:
            self._check(field, _NUMERIC[columns].all(axis=1), "a number")
            values = self._converted(field, columns, blank, np.float64, "a number")
        return values, blank

    def integers(self, field: Field) -> tuple[npt.NDArray[np.int64], Mask]:
        """Return a field as integers, decimal or hybrid-36, and which lines leave it empty (0 there).

        Raises:
            FormatError: It is neither.
        """
        columns, blank = self.columns(field), self.blank(field)
        decimal = _fixed_point(columns, blank, 0)
        if decimal is not None:
            return decimal.astype(np.int64), blank
        upper = _UPPER[columns[:, 0]] & _UPPER_DIGIT[columns].all(axis=1)
        lower = _LOWER[columns[:, 0]] & _LOWER_DIGIT[columns].all(axis=1)
        hybrid = upper | lower
        self._check(field, _INTEGER[columns].all(axis=1) | hybrid, "an integer")
        values = self._converted(field, columns, blank | hybrid, np.int64, "an integer")
        if hybrid.any():
            top = _BASE ** (field.width - 1)
            powers = _BASE ** np.arange(field.width - 1, -1, -1)
            values[hybrid] = _VALUE[columns[hybrid]] @ powers - 10 * top + 10**field.width
            values[lower] += _LETTERS * top
        return values, blank

    def _converted(self, field: Field, columns: Bytes, empty: Mask, dtype: type[Any], what: str) -> npt.NDArray[Any]:
        columns = columns.copy()
        columns[empty] = _BLANK
        columns[empty, -1] = ord("0")
        texts = columns.view(f"S{field.width}").reshape(-1)
        try:
            return texts.astype(dtype)
        except ValueError:
            self._check(field, np.array([_converts(text, dtype) for text in texts.tolist()]), what)
            raise

    def _check(self, field: Field, good: Mask, what: str) -> None:
        if not good.all():
            row = int(good.argmin())
            found = self.columns(field)[row].tobytes().decode("ascii", "replace")
            raise self.error(
                row, f"{self._where(field)} holds {found!r}, where {what} is expected; the file is damaged"
            )

    @staticmethod
    def _where(field: Field) -> str:
        return f"{field.name} (columns {field.start + 1} to {field.stop})"


def _fixed_point(columns: Bytes, blank: Mask, decimals: int) -> npt.NDArray[np.float64] | None:
    """Return the numbers of a field that every line has in the same form, None where it does not.

    The form is blanks, at most one minus sign, digits, and a point with its decimals. Digits are added up as integers;
    one division then rounds as the decimal text itself would be.
    """
    filled = columns
    if blank.any():
        filled = columns.copy()
        filled[blank] = np.frombuffer(f"%{columns.shape[1]}.{decimals}f".encode() % 0.0, dtype=np.uint8)
    if decimals:
        point = columns.shape[1] - decimals - 1
        if not (filled[:, point] == ord(".")).all():
            return None
        filled = np.delete(filled, point, axis=1)
    filled = np.ascontiguousarray(filled.T)
    values = filled - np.uint8(ord("0"))
    digit, minus = values < 10, filled == ord("-")
    if not digit[-decimals - 1 :].all() or not (digit | minus | (filled == _BLANK)).all():
        return None
    if (digit[:-1] & ~digit[1:]).any() or (minus[:-1] & ~digit[1:]).any():
        return None
    magnitude = np.zeros(filled.shape[1], dtype=np.int64)
    for place in range(len(filled)):
        magnitude = magnitude * 10 + np.where(digit[place], values[place], 0)
    numbers = magnitude / 10.0**decimals
    return np.where(minus.any(axis=0), -numbers, numbers)


def _converts(text: bytes, dtype: type[Any]) -> bool:
    try:
        np.array([text]).astype(dtype)
    except ValueError:
        return False
    return True


# -- printing -------------------------------------------------------------------------------------------------------


def print_integers(values: npt.NDArray[np.int64], width: int) -> tuple[Bytes, Mask]:
    """Return integers in columns, decimal where they fit, else hybrid-36.

    Returns:
        The columns, uint8 ``(values, width)``, and which values fit.
    """
    lowest, decimal_stop, top = -(10 ** (width - 1)) + 1, 10**width, _BASE ** (width - 1)
    stop = decimal_stop + 2 * _LETTERS * top
    fits = (values >= lowest) & (values < stop)
    decimal = fits & (values < decimal_stop)
    shown = np.where(decimal, values, 0)
    text = (f"%{width}d" * len(shown) % tuple(shown.tolist())).encode()
    columns = np.frombuffer(text, dtype=np.uint8).reshape(-1, width).copy()
    hybrid = np.flatnonzero(fits & ~decimal)
    if hybrid.size:
        rest = values[hybrid] - decimal_stop
        lower = rest >= _LETTERS * top
        rest = rest - np.where(lower, _LETTERS * top, 0) + 10 * top
        digits = rest[:, np.newaxis] // _BASE ** np.arange(width - 1, -1, -1) % _BASE
        columns[hybrid] = np.where(lower[:, np.newaxis], _LOWER_TEXT[digits], _UPPER_TEXT[digits])
    return columns, fits


class LinePrinter:
    """Lines of one kind, filled field by field.

    Args:
        count: Number of lines.
        describe: Names a line in messages.
        record: What each line begins with.
    """

    def __init__(self, count: int, describe: Callable[[int], str], record: bytes = b"") -> None:
        self.matrix = np.full((count, WIDTH + 1), _BLANK, dtype=np.uint8)
        self.matrix[:, WIDTH] = ord("\n")
        self.matrix[:, : len(record)] = np.frombuffer(record, dtype=np.uint8)
        self._describe = describe

    def text(self) -> bytes:
        """Return the lines."""
        return self.matrix.tobytes()

    def put_texts(self, field: Field, texts: Array, *, align_left: bool = True) -> None:
        """Print strings.

        Raises:
            SchemaError: One is too long, or holds something but printable ASCII.
        """
        names, inverse = np.unique(texts, return_inverse=True)
        table = np.full((len(names), field.width), _BLANK, dtype=np.uint8)
        for position, name in enumerate(names.tolist()):
            good = len(name) <= field.width and name.isascii() and (name.isprintable() or not name)
            if not good or name != name.strip():
                self._refuse(field, inverse == position, repr(name), "printable ASCII without blanks around it")
            padded = name.ljust(field.width) if align_left else name.rjust(field.width)
            table[position] = np.frombuffer(padded.encode(), dtype=np.uint8)
        self.matrix[:, field.start : field.stop] = table[inverse]

    def put_integers(self, field: Field, values: npt.NDArray[np.int64], blank: Mask | None = None) -> None:
        """Print integers, in hybrid-36 where they are too large.

        Raises:
            SchemaError: One fits in neither form.
        """
        columns, fits = print_integers(values, field.width)
        if blank is not None:
            columns[blank] = _BLANK
            fits = fits | blank
        if not fits.all():
            self._refuse(field, ~fits, str(values[fits.argmin()]), "an integer that fits, hybrid-36 at most")
        self.matrix[:, field.start : field.stop] = columns

    def put_reals(
        self, field: Field, values: npt.NDArray[np.float64], blank: Mask | None = None, *, slack: int = 0
    ) -> bool:
        """Print real numbers.

        Args:
            field: Where to.
            values: One for each line.
            blank: Lines that leave the field empty.
            slack: Last bits a number may differ by when it is read back.

        Returns:
            Whether every number reads back as it is.

        Raises:
            SchemaError: One is not finite, or too large for the field.
        """
        given = values if blank is None else np.where(blank, 0.0, values)
        limit = 10.0 ** (field.width - field.decimals - 1)
        # a value just below the limit may still round up to it, so the printed width decides
        printed = f"%{field.width}.{field.decimals}f"
        good = np.isfinite(given) & (np.abs(given) < limit)
        text = printed * len(given) % tuple(np.where(good, given, 0.0).tolist())
        if not good.all() or len(text) != field.width * len(given):
            wide = np.array([len(printed % value) > field.width for value in given.tolist()]) | ~np.isfinite(given)
            self._refuse(field, wide, repr(float(given[wide.argmax()])), f"a number with {field.decimals} decimals")
        columns = np.frombuffer(text.encode(), dtype=np.uint8).reshape(-1, field.width).copy()
        printed_values = columns.view(f"S{field.width}").reshape(-1).astype(np.float64)
        exact = bool((np.abs(printed_values - given) <= slack * np.spacing(np.abs(given))).all())
        if blank is not None:
            columns[blank] = _BLANK
        self.matrix[:, field.start : field.stop] = columns
        return exact

    def _refuse(self, field: Field, rows: Mask, found: str, wanted: str) -> None:
        raise SchemaError(
            f"{self._describe(int(rows.argmax()))}: {field.name} is {found}; its field is {field.width} columns wide "
            f"and holds {wanted}",
            "reject-foreign-write",
        )
