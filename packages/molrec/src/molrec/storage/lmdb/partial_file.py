"""The file a collection grows in until it is whole: ``.<name>.partial``, moved into place by one rename.

It is locked while its writer lives. What a killed writer left is taken away by the next one.
"""

from __future__ import annotations

import os
from pathlib import Path
from weakref import WeakSet

from molrec.errors import SchemaError

try:
    import fcntl
except ImportError:  # not a POSIX system: writers are told apart by nothing
    fcntl = None  # type: ignore[assignment]

__all__ = ["PartialFile"]

#: A forked child shares the open files and would keep the locks alive past its parent.
_held: WeakSet[PartialFile] = WeakSet()


def _let_go_in_child() -> None:
    for file in list(_held):
        file.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)


class PartialFile:
    """A locked, empty file beside the one it will become.

    Args:
        target: The file it will become.
        overwrite: Whether it may take the place of one that is there.

    Raises:
        SchemaError: The target exists (``reject-existing-path``), or another writer is at work on it
            (``reject-second-writer``).
    """

    def __init__(self, target: Path, *, overwrite: bool) -> None:
        self.target = target
        self.path = target.with_name(f".{target.name}.partial")
        self._overwrite = overwrite
        self._refuse_existing()
        target.parent.mkdir(parents=True, exist_ok=True)
        self._file: int | None = self._lock()
        _held.add(self)

    def _refuse_existing(self) -> None:
        if os.path.lexists(self.target) and (not self._overwrite or not os.path.isfile(self.target)):
            raise SchemaError(
                f"{self.target} exists; nothing is overwritten unless asked (choose another path, or overwrite=True)",
                "reject-existing-path",
            )

    def _lock(self) -> int:
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(file)
                raise SchemaError(
                    f"{self.target} is being written by another writer (close it, or wait for that process to end)",
                    "reject-second-writer",
                ) from error
            # The file may have been finished or taken away between opening and locking it.
            try:
                same = os.path.samestat(os.fstat(file), os.stat(self.path))
            except FileNotFoundError:
                same = False
            if same:
                os.ftruncate(file, 0)
                return file
            os.close(file)

    def finish(self) -> None:
        """Move the file to its place, durably.

        Raises:
            SchemaError: Something has appeared at the target meanwhile (``reject-existing-path``).
        """
        assert self._file is not None
        os.fsync(self._file)
        self._refuse_existing()
        os.rename(self.path, self.target)
        self.let_go()
        folder = os.open(self.target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def discard(self) -> None:
        """Take the file away; safe to call twice."""
        if self._file is not None:
            self.path.unlink(missing_ok=True)
            self.let_go()

    def let_go(self) -> None:
        """Close the file, and with it the lock."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)
