"""The libAtoms C parser (`extxyz` on PyPI, optional), applied to text in memory.

It knows how to hand the C parser a text and when the text holds something that it reads differently from ASE: Fortran
exponents, hexadecimal numbers, integers beyond 32 bits, some spellings of a truth value, unusual blanks. Such a text
is not given to it. What it refuses is no error here: ASE reads more, and says better what is wrong.
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

__all__ = ["ColumnParser", "column_parser"]

Columns = dict[str, NDArray[Any]]

# A first pass over a text only looks for characters that anything read differently must have.
_HARMLESS = b"0123456789+-.eE \t\nabcfghijklmnopqrstuvwyzABCFGHIJKLMNOPQRSTUVWYZ_:"
_DIFFERENT = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f,(]|[0-9.][dD]|0[xX]")
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_TEN_DIGITS = b"0" * 10
_LONG_INTEGER = re.compile(rb"(?<!\S)[+-]?[0-9]{10,}(?!\S)")
_DIFFERENT_TRUTHS = (b"true", b"TRUE")


class ColumnParser:
    """Parses the columns of atom lines.

    Args:
        cextxyz: The module ``extxyz.cextxyz``.
        fmemopen: The C library's function that opens memory as a file.
    """

    def __init__(self, cextxyz: Any, fmemopen: Callable[[bytes, int, bytes], int | None]) -> None:
        self._cextxyz = cextxyz
        self._fmemopen = fmemopen

    def __call__(self, lines: str, natoms: int, description: str, kinds: str) -> Columns | None:
        """Parse atom lines.

        Args:
            lines: The lines, each with its line end.
            natoms: How many there are, at least one.
            description: What the columns are, as ``Properties`` says it.
            kinds: The kinds of column among them, letters of ``RILS``.

        Returns:
            Array by column name: ``R`` as ``float64``, ``I`` as ``int32``, ``L`` as ``bool``, ``S`` as text, of shape
            ``(natoms,)`` or ``(natoms, n)``. None if the lines must be read by ASE.
        """
        if not lines.isascii():
            return None
        text = lines.encode("ascii")
        if _read_differently(text, kinds):
            return None
        buffer = b"%d\n\n%b" % (natoms, text)
        address = self._fmemopen(buffer, len(buffer), b"r")
        if not address:
            return None
        file = self._cextxyz.FILE_ptr(address)
        try:
            _, _, columns = self._cextxyz.read_frame_dicts(file, comment=f"Properties={description}", use_regex=False)
            read_whole = self._cextxyz.cftell(file) == len(buffer)
        except (self._cextxyz.ExtXYZError, EOFError):
            return None
        finally:
            self._cextxyz.cfclose(file)
        return columns if read_whole else None


def _read_differently(text: bytes, kinds: str) -> bool:
    """Whether a text may hold something that ASE reads differently."""
    if text.translate(None, _HARMLESS) and _DIFFERENT.search(text):
        return True
    if "I" in kinds and _TEN_DIGITS in text.translate(_DIGITS_TO_ZERO) and _LONG_INTEGER.search(text):
        return True
    return "L" in kinds and any(spelling in text for spelling in _DIFFERENT_TRUTHS)


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
    try:
        columns = parser("He 1 -2.5 3e-1 7\nH .5 0 1.25 -1\n", 2, "species:S:1:pos:R:3:n:I:1", "SRI")
    except (AttributeError, TypeError):
        return False
    return (
        columns is not None
        and columns["species"].tolist() == ["He", "H"]
        and np.array_equal(columns["pos"], [[1, -2.5, 0.3], [0.5, 0, 1.25]])
        and columns["n"].dtype == np.int32
        and columns["n"].tolist() == [7, -1]
    )
