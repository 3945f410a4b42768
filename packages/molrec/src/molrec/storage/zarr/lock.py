"""One writer per record: an advisory lock on the root's ``zarr.json``, which no writer ever replaces."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self
from weakref import WeakSet

from molrec.errors import SchemaError

try:
    import fcntl
except ImportError:  # not a POSIX system: the format's live form asks for one, closed records do not
    fcntl = None  # type: ignore[assignment]

__all__ = ["WriterLock"]

#: Locks of this process. A forked child shares the open file and would keep the lock alive past its parent.
_held: WeakSet[WriterLock] = WeakSet()


def _let_go_in_child() -> None:
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)


class WriterLock:
    """Held from opening a writer until it closes or its process ends, however it ends.

    Raises:
        SchemaError: Another writer holds the record (``reject-second-writer``).
    """

    def __init__(self, root: Path) -> None:
        self._file: int | None = os.open(root / "zarr.json", os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        _held.add(self)
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            self._file = None
            raise SchemaError(
                f"{root} is being written by another writer; a record has one writer at a time "
                "(close it, or wait for that process to end)",
                "reject-second-writer",
            ) from error

    @classmethod
    def joining(cls, root: Path) -> Self:
        """Share the lock this process holds on a record, or take it; the last to release it gives the record free.

        Raises:
            SchemaError: Another process holds the record (``reject-second-writer``).
        """
        state = os.stat(root / "zarr.json")
        for lock in list(_held):
            if lock._file is not None and os.path.samestat(os.fstat(lock._file), state):
                joined = cls.__new__(cls)
                joined._file = os.dup(lock._file)  # one open file, which stays locked until every copy is closed
                _held.add(joined)
                return joined
        return cls(root)

    @property
    def is_held(self) -> bool:
        """Whether this lock was not released; in a forked child it was."""
        return self._file is not None

    def release(self) -> None:
        """Give the record free; safe to call twice."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
