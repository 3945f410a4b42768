"""Writes keys in their order into a new LMDB file: pages fill, memory stays bounded, the map grows as it must."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile

import lmdb

__all__ = ["KeyAppender", "Spool"]

_BATCH_BYTES = 8 * 2**20
_FIRST_MAP = 64 * 2**20
_SPOOL_BYTES = 8 * 2**20


class KeyAppender:
    """Collects keys and values and writes them in transactions of some megabytes, none of them synced.

    Args:
        path: An empty file.

    Raises:
        OSError: A transaction failed (a full disk, say); what was collected stays collected.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._map_size = _FIRST_MAP
        with _os_errors(path):
            self._environment = lmdb.open(
                str(path), map_size=self._map_size, subdir=False, lock=False, sync=False, metasync=False
            )
        self._waiting: list[tuple[bytes, bytes]] = []
        self._bytes = 0
        self._last = b""

    def append(self, key: bytes, value: bytes) -> None:
        """Take a key greater than every one before."""
        assert key > self._last
        self._last = key
        self._waiting.append((key, value))
        self._bytes += len(value)

    @property
    def is_full(self) -> bool:
        """Whether `flush` has enough to do."""
        return self._bytes >= _BATCH_BYTES

    def flush(self) -> None:
        """Write what was collected."""
        if self._waiting:
            self._write(self._waiting, append=True)
            self._waiting = []
            self._bytes = 0

    def put_last(self, key: bytes, value: bytes) -> None:
        """Write one more key, anywhere in the order, in a transaction of its own."""
        self.flush()
        self._write([(key, value)], append=False)

    def cut_back(self, key: bytes) -> None:
        """Take back every key from one on."""
        while self._waiting and self._waiting[-1][0] >= key:
            self._bytes -= len(self._waiting.pop()[1])
        self._last = b""

        def cut(cursor: lmdb.Cursor[bytes]) -> None:
            found = cursor.set_range(key)
            while found:
                found = cursor.delete()

        self._change(cut)

    def _write(self, pairs: list[tuple[bytes, bytes]], *, append: bool) -> None:
        self._change(lambda cursor: cursor.putmulti(pairs, append=append))

    def _change(self, change: Callable[[lmdb.Cursor[bytes]], object]) -> None:
        """Change the file in one transaction, again in a larger map where this one has no room."""
        with _os_errors(self._path):
            while True:
                try:
                    with self._environment.begin(write=True) as transaction, transaction.cursor() as cursor:
                        change(cursor)
                    return
                except lmdb.MapFullError:
                    self._map_size *= 2
                    self._environment.set_mapsize(self._map_size)

    def close(self, *, sync: bool) -> None:
        """Close the file, after everything written has reached the disk where asked."""
        with _os_errors(self._path):
            if sync:
                self.flush()
                self._environment.sync(True)
            self._environment.close()


class _os_errors:  # noqa: N801 - reads as a statement
    """Raises what the system refused LMDB as the `OSError` it is."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, lmdb.Error) and not isinstance(error, lmdb.MapFullError):
            code = getattr(error, "code", 0)
            code = code if code > 0 else errno.EIO
            hint = "; is the disk full?" if code == errno.EIO else ""  # LMDB's word for a write cut short
            raise OSError(code, f"{os.strerror(code)} ({error}{hint})", str(self._path)) from error


class Spool:
    """Numbered values kept aside until their keys are due; in memory while they are few.

    Args:
        folder: Where the rest goes, in a file without a name.
    """

    def __init__(self, folder: Path) -> None:
        self._file = SpooledTemporaryFile(_SPOOL_BYTES, "w+b", dir=str(folder))  # noqa: SIM115 - closed by `close`

    def add(self, number: int, value: bytes) -> None:
        """Take a value."""
        self._file.write(number.to_bytes(8, "little") + len(value).to_bytes(8, "little"))
        self._file.write(value)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        self._file.seek(0)
        while head := self._file.read(16):
            yield int.from_bytes(head[:8], "little"), self._file.read(int.from_bytes(head[8:], "little"))

    def close(self) -> None:
        """Let go of the values."""
        self._file.close()
