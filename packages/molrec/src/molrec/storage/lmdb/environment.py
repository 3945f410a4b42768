"""A collection's file open for reading: one map per process and file, opened anew after a fork.

LMDB opens a file once in a process, so readers of one file share it. A file in place is never changed
(``docs/spec/lmdb.md``, the file), hence nothing is locked, and read-only media will do.
"""

from __future__ import annotations

import errno
import os
import weakref
from pathlib import Path
from threading import Lock
from typing import Any, Protocol
from weakref import WeakSet, WeakValueDictionary

import lmdb
import numpy as np
import numpy.typing as npt

from molrec.errors import FormatError
from molrec.storage.lmdb.layout import ALIGNMENT
from molrec.storage.lmdb.page_check import check_head

__all__ = ["CopiedValues", "Environment", "MappedValues", "Values", "damaged", "mapped_view", "open_environment"]

_NOT_ONE = "reject-not-a-collection"
#: What the system refuses without a fault of the file.
_SYSTEM_ERRORS = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES, errno.EPERM))


class Values(Protocol):
    """Where values come from."""

    def get(self, key: bytes) -> Any:
        """Return a value as a read-only buffer aligned to 8 bytes, or None where the key is not there."""


class Environment:
    """One file open for reading. The map stays while anything refers to it, arrays handed out included.

    Raises:
        FormatError: Not an LMDB file (``reject-not-a-collection``), or shorter than it says
            (``reject-truncated-collection``).
        OSError: The system refuses to open it: too many files are open, say.
    """

    def __init__(self, path: Path, identity: tuple[int, int]) -> None:
        self.path = path
        self.identity = identity
        self._lock = Lock()
        self._handle: lmdb.Environment | None = None
        self._inherited: weakref.ref[lmdb.Environment] | None = None
        self._handle = self._open()

    def _open(self) -> lmdb.Environment:
        # A view taken before a fork keeps its parent's map alive in the child; it is as good as a new one.
        inherited = None if self._inherited is None else self._inherited()
        if inherited is not None:
            return inherited
        try:
            # Reading past the end of a mapped file would end the process.
            check_head(self.path)
            return lmdb.open(
                str(self.path), subdir=False, readonly=True, lock=False, create=False, readahead=False, max_spare_txns=2
            )
        except OSError as error:
            raise _refused(error.errno or 0, self.path) from error
        except lmdb.Error as error:
            code = getattr(error, "code", 0)
            if code in _SYSTEM_ERRORS:
                raise _refused(code, self.path) from error
            raise FormatError(f"{self.path} is not a collection: {error}", _NOT_ONE) from error

    @property
    def handle(self) -> lmdb.Environment:
        """The open file, in this process."""
        if self._handle is None:
            with self._lock:
                if self._handle is None:
                    self._handle = self._open()
        return self._handle

    def let_go_in_child(self) -> None:
        """Forget the parent's map; this process opens its own."""
        if self._handle is not None:
            self._inherited = weakref.ref(self._handle)
        self._lock = Lock()
        self._handle = None

    def begin(self) -> lmdb.Transaction[memoryview]:
        """Begin a transaction whose values are views; the caller ends it.

        Raises:
            FormatError: The file is damaged (``reject-damaged-collection``).
        """
        try:
            return self.handle.begin(buffers=True)
        except lmdb.Error as error:
            raise damaged(self.path, error) from error


def _refused(code: int, path: Path) -> OSError:
    hint = " (each shard is a file that stays open: ulimit -n)" if code == errno.EMFILE else ""
    return OSError(code, f"{os.strerror(code)}{hint}", str(path))


def damaged(path: str | Path, error: lmdb.Error) -> FormatError:
    """Return the refusal of a file LMDB cannot read."""
    return FormatError(f"{path}: LMDB cannot read the file ({error})", "reject-damaged-collection")


_open_files: WeakValueDictionary[tuple[int, int], Environment] = WeakValueDictionary()
_environments: WeakSet[Environment] = WeakSet()
_opening = Lock()


def open_environment(path: Path) -> Environment:
    """Return the environment of a file, the one that is open where there is one.

    Raises:
        FormatError: No file there, or not an LMDB file (``reject-not-a-collection``).
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise FormatError(f"{path}: no such file", _NOT_ONE) from None
    if not os.path.isfile(path):
        raise FormatError(f"{path} is no file; a collection is one file *.mrec.lmdb", _NOT_ONE)
    identity = (found.st_dev, found.st_ino)
    with _opening:
        environment = _open_files.get(identity)
        if environment is None:
            environment = Environment(path, identity)
            _open_files[identity] = environment
            _environments.add(environment)
        return environment


def _after_fork() -> None:
    global _opening  # noqa: PLW0603 - another thread of the parent may have held it
    _opening = Lock()
    for environment in list(_environments):
        environment.let_go_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class CopiedValues:
    """Values as `bytes`: they stay good for as long as they are kept."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def get(self, key: bytes) -> bytes | None:
        """Return a copy of a value."""
        try:
            with self._environment.handle.begin() as transaction:
                return transaction.get(key)
        except lmdb.Error as error:
            raise damaged(self._environment.path, error) from error


class _Mapped:
    """A value in the map, as numpy takes it; keeps the map."""

    def __init__(self, handle: lmdb.Environment, address: int, size: int) -> None:
        self.handle = handle
        self.__array_interface__ = {"data": (address, True), "shape": (size,), "typestr": "|u1", "version": 3}


def mapped_view(handle: lmdb.Environment, address: int, size: int) -> npt.NDArray[np.uint8]:
    """Return bytes of a map as a read-only array that keeps the map."""
    return np.asarray(_Mapped(handle, address, size))


class MappedValues:
    """Values where they lie in the map; one that is not aligned to 8 bytes is copied."""

    def __init__(self, environment: Environment, transaction: lmdb.Transaction[memoryview]) -> None:
        self._environment = environment
        self._handle = environment.handle
        self._transaction = transaction

    def get(self, key: bytes) -> Any:
        """Return a view of a value."""
        try:
            found = self._transaction.get(key)
        except lmdb.Error as error:
            raise damaged(self._environment.path, error) from error
        if not found:
            return None if found is None else b""
        address = np.frombuffer(found, np.uint8).__array_interface__["data"][0]
        if address % ALIGNMENT:
            return bytes(found)
        return mapped_view(self._handle, address, len(found))
