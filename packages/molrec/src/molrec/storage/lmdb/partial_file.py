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

__all__ = ["HeldFile", "PartialFile", "sync_folder"]

#: A forked child shares the open files and would keep the locks alive past its parent.
_held: WeakSet[HeldFile] = WeakSet()


def _let_go_in_child() -> None:
    for file in list(_held):
        file.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)


class HeldFile:
    """A file that is locked while this process lives and until it is let go; made where there is none.

    Args:
        path: The file.
        target: What its holder is writing, for the message.

    Raises:
        SchemaError: Another writer holds it (``reject-second-writer``).
    """

    def __init__(self, path: Path, target: Path) -> None:
        self.path = path
        self._file: int | None = self._lock(target)
        _held.add(self)

    def _lock(self, target: Path) -> int:
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(file)
                raise SchemaError(
                    f"{target} is being written by another writer (close it, or wait for that process to end)",
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

    @property
    def is_held(self) -> bool:
        """Whether it is still held."""
        return self._file is not None

    def sync(self) -> None:
        """Let what was written to it reach the disk."""
        assert self._file is not None
        os.fsync(self._file)

    def discard(self) -> None:
        """Take the file away and let it go; safe to call twice."""
        if self.is_held:
            self.path.unlink(missing_ok=True)
            self.let_go()

    def let_go(self) -> None:
        """Close the file, and with it the lock."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)


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
        self._file = HeldFile(self.path, target)

    def _refuse_existing(self) -> None:
        if os.path.lexists(self.target) and (not self._overwrite or not os.path.isfile(self.target)):
            raise SchemaError(
                f"{self.target} exists; nothing is overwritten unless asked (choose another path, or overwrite=True)",
                "reject-existing-path",
            )

    def finish(self) -> None:
        """Move the file to its place, durably.

        Raises:
            SchemaError: Something has appeared at the target meanwhile (``reject-existing-path``).
        """
        self._file.sync()
        self._refuse_existing()
        os.rename(self.path, self.target)
        self._file.let_go()
        sync_folder(self.target.parent)

    def discard(self) -> None:
        """Take the file away; safe to call twice."""
        self._file.discard()


def sync_folder(path: Path) -> None:
    """Let the names in a folder reach the disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
