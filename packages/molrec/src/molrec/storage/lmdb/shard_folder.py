"""The folder shards are collected in until all are there: hidden, then renamed into place (``docs/spec/lmdb.md``).

Beside a folder ``data`` to come, ``.data.partial`` holds one folder for each attempt at a shard and one for the shards
that are whole. A writer that is late, or thought to be dead, disturbs nobody: its attempt is its own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from molrec.errors import FormatError, SchemaError
from molrec.storage.lmdb.collection_reader import Collection
from molrec.storage.lmdb.partial_file import HeldFile, sync_folder
from molrec.storage.lmdb.shard_names import SUFFIX, shard_name
from molrec.storage.lmdb.sharded_collection import ShardedCollection

__all__ = ["ShardFolder"]

_TASK = "reject-shard-task"


class ShardFolder:
    """Collects the shards of one collection; a context manager that leaves all of them in place, or none.

    Leaving the block without `finish` takes everything away again.

    Args:
        target: The folder to come.
        count: How many shards it will hold.
        overwrite: Whether it may take the place of a folder of shards.

    Raises:
        SchemaError: Something is there (``reject-existing-path``), or another writer is at work on it
            (``reject-second-writer``).
    """

    def __init__(self, target: Path, count: int, *, overwrite: bool) -> None:
        self.target = Path(os.path.abspath(target))
        self.count = count
        self._overwrite = overwrite
        self._partial = self._beside("partial")
        self._replaced = self._beside("replaced")
        self._whole = self._partial / "shards"
        #: Where each attempt makes a folder of its own.
        self.attempts = self._partial / "attempts"
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self._lock = HeldFile(self._beside("lock"), self.target)
        try:
            self._clear_leftovers()
            self._refuse_existing()
            for folder in (self._partial, self._whole, self.attempts):
                folder.mkdir()
        except BaseException:
            self._lock.discard()
            raise

    def _beside(self, what: str) -> Path:
        return self.target.with_name(f".{self.target.name}.{what}")

    def _clear_leftovers(self) -> None:
        """Take away what a killed writer has left; what it was about to replace is put back."""
        if self._partial.exists():
            shutil.rmtree(self._partial)
        self._put_back()
        if self._replaced.exists():
            shutil.rmtree(self._replaced)

    def _put_back(self) -> None:
        """Let the folder that was about to be replaced stand where it stood, unless the new one has come."""
        if self._replaced.exists() and not self.target.exists():
            os.rename(self._replaced, self.target)

    def _refuse_existing(self) -> None:
        if not os.path.lexists(self.target):
            return
        if not self._overwrite:
            raise SchemaError(
                f"{self.target} exists; nothing is overwritten unless asked (choose another path, or overwrite=True)",
                "reject-existing-path",
            )
        foreign = (
            [self.target.name]
            if self.target.is_symlink() or not self.target.is_dir()
            else [entry.name for entry in os.scandir(self.target) if not _is_shard(entry)]
        )
        if foreign:
            raise SchemaError(
                f"{self.target} is to be overwritten, and {min(foreign)!r} is no shard; only a folder that holds "
                f"nothing but *{SUFFIX} is (take the rest away, or choose another path)",
                "reject-existing-path",
            )

    # -- shards -----------------------------------------------------------------------------------------------------

    def name(self, number: int) -> str:
        """Return the file name of a shard."""
        return shard_name(number, self.count)

    def adopt(self, number: int, attempt: Path) -> None:
        """Take a shard that an attempt has finished, and what else the attempt has left away.

        Raises:
            SchemaError: There is no such file (``reject-shard-task``).
        """
        try:
            os.rename(attempt, self._whole / self.name(number))
        except FileNotFoundError as error:
            raise SchemaError(
                f"shard {number}: its task ended and left no file {attempt}; a task writes to the path it is given, on "
                "a file system all workers share",
                _TASK,
            ) from error
        shutil.rmtree(attempt.parent)

    def finish(self, records: Sequence[int]) -> list[Path]:
        """Put the folder in its place, durably, and return its shards in order.

        With `overwrite`, there is nothing at the target for a moment, while one folder goes and the other comes.

        Args:
            records: How many records each shard holds, by what its task said.

        Raises:
            SchemaError: The shards make no collection together (the rules of `ShardedCollection`), one has another
                number of records (``reject-shard-task``), or something has appeared at the target
                (``reject-existing-path``).
        """
        self._check(records)
        sync_folder(self._whole)
        self._refuse_existing()
        try:
            if os.path.lexists(self.target):
                os.rename(self.target, self._replaced)
            os.rename(self._whole, self.target)
        except BaseException:
            self._put_back()
            raise
        sync_folder(self.target.parent)
        if self._replaced.exists():
            shutil.rmtree(self._replaced)
        return [self.target / self.name(number) for number in range(self.count)]

    def _check(self, records: Sequence[int]) -> None:
        paths = [self._whole / self.name(number) for number in range(self.count)]
        try:
            for number, (path, count) in enumerate(zip(paths, records, strict=True)):
                with Collection(path) as shard:
                    found = len(shard)
                if found != count:
                    raise SchemaError(f"shard {number} holds {found} records, its task reported {count!r}", _TASK)
            ShardedCollection(self._whole, paths).close()
        except FormatError as error:
            raise SchemaError(f"the shards make no collection together: {error.message}", error.rule) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # A worker that is late may still be making files; the next writer takes away what it leaves.
        shutil.rmtree(self._partial, ignore_errors=True)
        self._lock.discard()


def _is_shard(entry: os.DirEntry[str]) -> bool:
    return entry.is_file() and entry.name.endswith(SUFFIX) and not entry.name.startswith(".")
