"""Extended XYZ as text: where a frame begins and ends.

It knows the atom count, the comment line, the atom lines and the ``VEC`` lines that may follow them. It does not know
what they say. Both readers take their frames from here, so they agree on what a frame is and which number it has.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, cast

from mace_core.data.errors import DataError

__all__ = ["FrameText", "split_frames"]

_OPENERS: dict[str, Callable[..., IO[str]]] = {
    ".gz": cast("Callable[..., IO[str]]", gzip.open),
    ".bz2": cast("Callable[..., IO[str]]", bz2.open),
    ".xz": cast("Callable[..., IO[str]]", lzma.open),
}
_MOST_VECTORS = 3


class FrameText(NamedTuple):
    """The lines of one frame, with their line ends.

    Attributes:
        frame_number: Number of the frame in the file, from 0.
        line: Line number of the atom count in the file, from 1.
        natoms: The atom count.
        comment: The comment line.
        rows: One line for each atom.
        vectors: ``VEC`` lines: cell vectors written as atoms that the count leaves out; mostly none.
    """

    frame_number: int
    line: int
    natoms: int
    comment: str
    rows: list[str]
    vectors: list[str]

    def text(self) -> str:
        """The frame as it stands in the file."""
        return f"{self.natoms}\n{self.comment}{''.join(self.rows)}{''.join(self.vectors)}"


def split_frames(path: str) -> Iterator[FrameText]:
    """Yield the frames of a file one by one, holding one at a time.

    The file is UTF-8 text, plain or compressed (``.gz``, ``.bz2``, ``.xz``); all three kinds of line end will do.

    Args:
        path: The file.

    Raises:
        OSError: The file cannot be opened.
        DataError: It is no text, has no frame, a line that ought to be an atom count is none, it ends within a frame,
            or something follows a blank line (which would otherwise end the reading without a word).
    """
    opener = _OPENERS.get(Path(path).suffix, open)
    index = 0
    # bytes that are no UTF-8 pass as surrogates, so that the frame they are in can be named
    with opener(path, "rt", encoding="utf-8", errors="surrogateescape") as lines:
        try:
            line, header = 1, lines.readline()
            while header.strip():
                frame, header = _frame(path, lines, index, line, header)
                line += 2 + len(frame.rows) + len(frame.vectors)
                yield frame
                index += 1
            _expect_nothing(path, lines, index, line)
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            if opener is open:
                raise
            raise DataError(f"the compressed file is damaged: {error}", path, index) from error
    if index == 0:
        raise DataError("the file holds no frame", path)


def _frame(path: str, lines: IO[str], index: int, line: int, header: str) -> tuple[FrameText, str]:
    """Read the rest of a frame; return it and the line after it."""
    try:
        natoms = int(header)
    except ValueError:
        natoms = -1
    if natoms < 0:
        before = f"; does frame {index - 1} have more atoms than its count says?" if index else ""
        raise DataError(f"line {line} ought to be an atom count, not {header.strip()!r}{before}", path, index)
    comment = lines.readline()
    rows = list(islice(lines, min(natoms, sys.maxsize)))
    if len(rows) < natoms:
        raise DataError(f"the file ends after {len(rows)} of {natoms} atoms", path, index)
    if not (comment.isascii() and all(map(str.isascii, rows))):
        _expect_utf8(path, index, line, [comment, *rows])
    vectors: list[str] = []
    after = lines.readline()
    while after.lstrip().startswith("VEC"):
        vectors.append(after)
        if len(vectors) > _MOST_VECTORS:
            raise DataError(f"more than {_MOST_VECTORS} VEC lines follow the atoms", path, index)
        after = lines.readline()
    return FrameText(index, line, natoms, comment, rows, vectors), after


def _expect_utf8(path: str, index: int, line: int, lines: list[str]) -> None:
    for number, text in enumerate(lines, start=line + 1):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataError(f"line {number} is not UTF-8 text", path, index) from error


def _expect_nothing(path: str, lines: IO[str], index: int, line: int) -> None:
    """Refuse what follows the blank line that ended the frames."""
    for number, text in enumerate(lines, start=line + 1):
        if text.strip():
            raise DataError(
                f"line {line} is blank, yet line {number} has {text.strip()[:40]!r}; remove the blank line", path, index
            )
