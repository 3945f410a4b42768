"""The libAtoms C parser (`extxyz` on PyPI, optional), applied to text in memory.

It knows how to hand the C parser a text, and when a text holds something that the C parser reads differently from ASE.
Such a text is not given to it: Fortran exponents, hexadecimal numbers, a locale's decimal comma, unusual blanks.
Integers and truth values are taken from it as texts, since it wraps integers beyond 32 bits and knows other spellings
of true. What it refuses is no error here: ASE reads more, and says better what is wrong.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColumnParser", "Columns", "column_parser", "letters"]

Columns = dict[str, NDArray[Any]]

_NEVER = "\0\x0b\x0c\x1c\x1d\x1e\x1f,"
"""Characters that part words for only one of the two, end a text for C, or are a decimal point in some locales."""

_DIFFERENT_NUMBER = re.compile(r"[0-9.][dD]|0[xX]")
_TRUE = ("T", "True")


class ColumnParser:
    """Parses the columns of atom lines, with the values and types ASE would give them.

    Args:
        cextxyz: The module ``extxyz.cextxyz``.
        fmemopen: The C library's function that opens memory as a file.
    """

    def __init__(self, cextxyz: Any, fmemopen: Callable[[bytes, int, bytes], int | None]) -> None:
        self._cextxyz = cextxyz
        self._fmemopen = fmemopen

    def __call__(self, lines: str, natoms: int, columns: tuple[tuple[str, str, int], ...]) -> Columns | None:
        """Parse atom lines.

        Args:
            lines: The lines, each with its line end.
            natoms: How many there are, at least one.
            columns: Name, kind (``R``, ``I``, ``L`` or ``S``) and count of the columns.

        Returns:
            Array by column name: ``R`` as ``float64``, ``I`` as ``int32``, ``L`` as ``bool``, ``S`` as text, of shape
            ``(natoms,)`` or ``(natoms, count)``. None if the lines must be read by ASE.
        """
        if _read_differently(lines):
            return None
        description = ":".join(f"{name}:{'R' if kind == 'R' else 'S'}:{count}" for name, kind, count in columns)
        parsed = self._parse(b"%d\n\n%b" % (natoms, lines.encode("ascii")), description)
        if parsed is None:
            return None
        for name, kind, _ in columns:
            if kind == "L":
                parsed[name] = np.isin(parsed[name], _TRUE)
            elif kind == "I":
                integers = _integers(parsed[name])
                if integers is None:
                    return None
                parsed[name] = integers
        return parsed

    def _parse(self, frame: bytes, description: str) -> Columns | None:
        address = self._fmemopen(frame, len(frame), b"r")
        if not address:
            return None
        file = self._cextxyz.FILE_ptr(address)
        try:
            _, _, columns = self._cextxyz.read_frame_dicts(file, comment=f"Properties={description}", use_regex=False)
            read_whole = self._cextxyz.cftell(file) == len(frame)
        except (self._cextxyz.ExtXYZError, EOFError):
            return None
        finally:
            self._cextxyz.cfclose(file)
        return columns if read_whole else None


def _read_differently(text: str) -> bool:
    """Whether a text may hold something that ASE reads differently."""
    if not text.isascii() or any(character in text for character in _NEVER):
        return True
    return any(letter in text for letter in "dDxX") and _DIFFERENT_NUMBER.search(text) is not None


def letters(texts: NDArray[np.str_]) -> NDArray[np.uint32]:
    """Return the code points of texts, ``(n_texts, width)``, with zeros after the last letter of a text."""
    return np.ascontiguousarray(texts).view(np.uint32).reshape(texts.size, -1)


def _integers(texts: NDArray[np.str_]) -> NDArray[np.int32] | None:
    """Convert texts to integers as Python does; None if one of them is no integer of 32 bits."""
    codes = letters(texts)
    values = np.zeros(texts.size, dtype=np.int64)
    for column in codes[:, :9].T:
        if not column.any():
            return values.astype(np.int32).reshape(texts.shape)
        digits = column.astype(np.int64) - ord("0")
        used = column != 0
        if ((digits < 0) | (digits > 9))[used].any():
            break
        values = np.where(used, 10 * values + digits, values)
    try:
        return texts.astype(np.int32)
    except (ValueError, OverflowError):
        return None


@cache
def column_parser() -> ColumnParser | None:
    """Return the parser; None where `extxyz` is not installed, is too old, or cannot read memory (Windows)."""
    if sys.platform == "win32":
        return None
    try:
        from extxyz import cextxyz
    except (ImportError, OSError):
        return None
    try:
        fmemopen = ctypes.CDLL(None).fmemopen
    except AttributeError:
        return None
    fmemopen.restype = ctypes.c_void_p
    fmemopen.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    parser = ColumnParser(cextxyz, fmemopen)
    return parser if _works(parser) else None


def _works(parser: ColumnParser) -> bool:
    """Whether the installed version does what this module counts on."""
    description = (("species", "S", 1), ("pos", "R", 3), ("n", "I", 1))
    try:
        columns = parser("He 1 -2.5 3e-1 7\nH .5 0 1.25 -1\n", 2, description)
    except (AttributeError, TypeError):
        return False
    return (
        columns is not None
        and columns["species"].tolist() == ["He", "H"]
        and np.array_equal(columns["pos"], [[1, -2.5, 0.3], [0.5, 0, 1.25]])
        and columns["n"].tolist() == [7, -1]
    )
