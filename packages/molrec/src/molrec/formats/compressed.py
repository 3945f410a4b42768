"""Files that may be compressed: which suffix stands for which compression, and how such a file is opened.

One table serves the registry, which looks at the first bytes of a file, and the formats read by this library itself.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from molrec.errors import FormatError

__all__ = ["OPENERS", "damage", "open_binary", "reading", "replacing"]


def _open_zstandard(path: Path, mode: str) -> IO[bytes]:
    import zstandard

    return cast("IO[bytes]", zstandard.open(path, mode))


#: Suffix of a compression -> opens a file by path and binary mode.
OPENERS: dict[str, Callable[[Path, str], IO[bytes]]] = {
    ".gz": gzip.open,  # type: ignore[dict-item]
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zstandard,
}


def open_binary(path: Path, mode: str = "rb") -> IO[bytes]:
    """Open a file for bytes, through the compression its suffix stands for."""
    opener = OPENERS.get(path.suffix)
    if opener is None:
        return cast("IO[bytes]", path.open(mode))
    return opener(path, mode)


def damage() -> tuple[type[Exception], ...]:
    """Return the exceptions that damaged compressed data raises while it is read."""
    import zstandard

    return (gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError)


@contextmanager
def reading(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to read; damage of the compression is an error that names the file.

    Raises:
        FormatError: The file does not decompress (``reject-malformed-source``).
    """
    with open_binary(path) as file:
        if path.suffix not in OPENERS:
            yield file
            return
        try:
            yield file
        except damage() as error:
            raise FormatError(
                f"{path}: the file does not decompress ({error}); it is cut short or damaged, get it again",
                "reject-malformed-source",
            ) from error
        except OSError as error:
            # bz2 reports damage as an OSError that carries no errno; anything else is the system's
            if error.errno is not None:
                raise
            raise FormatError(
                f"{path}: the file does not decompress ({error}); it is cut short or damaged, get it again",
                "reject-malformed-source",
            ) from error


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write that is at `path`, compressed as its suffix says, once everything is written, or not at all."""
    # the suffix stays last, where it chooses the compression
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp{path.suffix}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open_binary(temporary, "wb") as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
