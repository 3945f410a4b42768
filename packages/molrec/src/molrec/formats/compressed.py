"""Files that may be compressed: which suffix stands for which compression, and how such a file is opened.

One table serves the registry, which looks at the first bytes of a file, and the formats read by this library itself.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from molrec.errors import FormatError

__all__ = ["OPENERS", "damage", "open_binary", "reading", "replacing"]

#: Bytes read at a time.
_CHUNK = 1 << 17


def _open_gzip(path: Path, mode: str) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, mode))


def _open_bzip2(path: Path, mode: str) -> IO[bytes]:
    return cast("IO[bytes]", bz2.open(path, mode))


def _open_lzma(path: Path, mode: str) -> IO[bytes]:
    return cast("IO[bytes]", lzma.open(path, mode))


class _ZstandardReader(io.RawIOBase):
    """Decompresses one Zstandard frame after the other; zstandard's own reader does not tell a file cut short."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._file = file
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame: Any = None
        self._decoded = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as data is at hand; return how many bytes.

        Raises:
            EOFError: The file ends within a frame.
        """
        while not self._decoded:
            if self._frame is not None and self._frame.eof:
                compressed, self._frame = self._frame.unused_data, None
            else:
                compressed = b""
            compressed = compressed or self._file.read(_CHUNK)
            if not compressed:
                if self._frame is not None:
                    raise EOFError("the compressed data ends early")
                return 0
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            self._decoded = self._frame.decompress(compressed)
        count = min(len(buffer), len(self._decoded))
        buffer[:count], self._decoded = self._decoded[:count], self._decoded[count:]
        return count

    def close(self) -> None:
        """Close the file as well."""
        self._file.close()
        super().close()


def _open_zstandard(path: Path, mode: str) -> IO[bytes]:
    if mode == "rb":
        return io.BufferedReader(_ZstandardReader(path.open("rb")), _CHUNK)
    import zstandard

    return cast("IO[bytes]", zstandard.open(path, mode))


#: Suffix of a compression -> opens a file by path and binary mode.
OPENERS: dict[str, Callable[[Path, str], IO[bytes]]] = {
    ".gz": _open_gzip,
    ".bz2": _open_bzip2,
    ".xz": _open_lzma,
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

    return (OSError, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError)


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
            # damaged data has no error number; what has one is the system's
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise FormatError(
                f"{path}: the file does not decompress ({error}); it is cut short or damaged, get it again",
                "reject-malformed-source",
            ) from error


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write, compressed as its suffix says; it is at `path` once all is written, or not at all."""
    # the suffix stays last, where it chooses the compression
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp{path.suffix}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open_binary(temporary, "wb") as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
