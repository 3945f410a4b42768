"""One commit of a trajectory, step by step in the order the specification demands (``docs/spec/commit.md``).

The order is the guarantee: chunks before the journal, the journal before any index, indexes before array metadata,
index arrays before columns, everything before the frame count. This module knows the order; what the arrays hold is
the writer's business.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from molrec.storage.zarr import names
from molrec.storage.zarr.files import append_bytes, replace_file, sync_directory, sync_file, sync_path, write_document
from molrec.storage.zarr.journal import JOURNAL_NAME, encode_line
from molrec.storage.zarr.layout import group_document
from molrec.storage.zarr.shard_appender import ShardAppender

__all__ = ["Committer"]

#: A journal past this is folded into a new base by a durable commit.
_LONG_JOURNAL_BYTES = 2**20


class Committer:
    """Lands appenders, groups and the frame count of one trajectory, and keeps its journal.

    Args:
        root: Folder of the record.
        attributes: Attributes of the trajectory group that never change: the pinned declaration and unknown ones.
        nstep: Committed frames, for a reopened run.
    """

    def __init__(self, root: Path, attributes: dict[str, Any], nstep: int = 0) -> None:
        self._folder = root / names.TRAJECTORY
        self._attributes = attributes
        self._nstep = nstep
        self._begun = nstep > 0
        self._progressions: dict[str, Any] = {}
        self._groups: dict[str, dict[str, Any]] = {}
        self._unsynced_groups: set[str] = set()
        self._appenders: dict[str, ShardAppender] = {}
        self._root = root
        #: Whether an interrupt fell between the arrays while they took the committed state over.
        self.unsound = False
        self._journal: int | None = None
        self._journal_bytes = 0
        self._journal_torn = False

    @property
    def nstep(self) -> int:
        """Frames committed."""
        return self._nstep

    @property
    def journal_is_long(self) -> bool:
        """Whether the next commit had better be durable, so that the journal starts afresh."""
        return self._journal_bytes > _LONG_JOURNAL_BYTES

    def create(self) -> None:
        """Write the trajectory group of a new run, without a frame, and begin the journal."""
        self._write_group(durable=True)
        self._begin_journal()

    def adopt(
        self, appenders: Sequence[ShardAppender], progressions: dict[str, Any], groups: dict[str, dict[str, Any]]
    ) -> None:
        """Take over the arrays of a reopened run, whose metadata is on disk, and begin a journal for their state."""
        self._appenders = {appender.path: appender for appender in appenders}
        self._progressions = progressions
        self._write_groups(groups, durable=True)
        self._begin_journal()

    def commit(
        self,
        nstep: int,
        progressions: dict[str, Any],
        first: Sequence[ShardAppender],
        groups: dict[str, dict[str, Any]],
        rest: Sequence[ShardAppender],
        *,
        durable: bool,
    ) -> None:
        """Land what waits and make `nstep` the frame count.

        Args:
            nstep: New frame count.
            progressions: Progression attributes of the trajectory group.
            first: Index and box arrays, whose metadata must precede the groups that give up their elided form, and
                that of the columns they index.
            groups: Path to attributes of every group below the trajectory; written when they changed.
            rest: All other arrays.
            durable: Whether the commit must survive a power loss.

        Raises:
            OSError: An operation failed; the last committed state is intact and the commit may be tried again.
        """
        if nstep and not self._begun:
            # Without a marker a reader counts the steps, which the first commit may not get past.
            self._begun = True
            self._write_group(durable=durable)
        staged_first = [appender for appender in first if appender.stage()]
        staged_rest = [appender for appender in rest if appender.stage()]
        staged = staged_first + staged_rest
        changed = {path: attributes for path, attributes in groups.items() if self._groups.get(path) != attributes}
        self._write_shards(nstep, staged, changed, durable=durable)
        for appender in staged_first:
            appender.write_metadata(durable=durable)
        self._write_groups(groups, durable=durable)
        for appender in staged_rest:
            appender.write_metadata(durable=durable)
        if durable:
            for appender in self._appenders.values():
                appender.sync_metadata()
        previous = (self._nstep, self._progressions)
        self.unsound = True
        self._nstep, self._progressions = nstep, progressions
        try:
            self._write_group(durable=durable)
        except BaseException:
            self._nstep, self._progressions = previous
            self.unsound = False
            raise
        for appender in staged:
            appender.settle()
            self._appenders[appender.path] = appender
        self.unsound = False
        if durable:
            sync_directory(self._folder)
            self._begin_journal()

    def _write_shards(
        self, nstep: int, staged: Sequence[ShardAppender], groups: dict[str, dict[str, Any]], *, durable: bool
    ) -> None:
        states = [state for appender in staged for state in appender.write_chunks()]
        if states or nstep != self._nstep:
            rows = {appender.path: appender.staged_rows for appender in staged}
            line = encode_line("redo", nstep, states, rows=rows, groups=groups)
            self._append_journal(line, durable=durable)
        for appender in staged:
            appender.write_index()
        if durable:
            # Also what automatic flushes wrote: this commit makes all of it safe.
            for appender in {**self._appenders, **{appender.path: appender for appender in staged}}.values():
                appender.sync()

    def _write_groups(self, groups: dict[str, dict[str, Any]], *, durable: bool) -> None:
        for path, attributes in groups.items():
            if self._groups.get(path) != attributes:
                write_document(self._root / path, group_document(attributes), durable=durable)
                self._groups[path] = attributes
                self._unsynced_groups.add(path)
            if durable:
                if path in self._unsynced_groups:
                    sync_path(self._root / path / "zarr.json")
                    self._unsynced_groups.discard(path)
                sync_directory(self._root / path)
                sync_directory((self._root / path).parent)

    def _write_group(self, *, durable: bool) -> None:
        write_document(self._folder, self._group_document(), durable=durable)
        if durable:
            sync_directory(self._folder)
            sync_directory(self._root)

    def _group_document(self) -> dict[str, Any]:
        # A run that has not begun has no marker and no arrays, which every reader takes for no frames.
        marker = {names.NSTEP: self._nstep} if self._begun else {}
        return group_document(self._attributes | marker | self._progressions)

    # -- the journal ------------------------------------------------------------------------------------------------

    def _begin_journal(self) -> None:
        """Replace the journal by one base line for the state just made durable."""
        states = [state for appender in self._appenders.values() if (state := appender.base_state()) is not None]
        documents = {appender.path: appender.layout.to_document() for appender in self._appenders.values()}
        documents |= {path: group_document(attributes) for path, attributes in self._groups.items()}
        documents[names.TRAJECTORY] = self._group_document()
        line = encode_line("base", self._nstep, states, documents=documents)
        replace_file(self._folder / JOURNAL_NAME, line, durable=True)
        # The open file is the old journal now, which nobody would find; whatever fails next, it must not be added to.
        self._close_journal()
        self._journal_torn = False
        sync_directory(self._folder)
        self._open_journal()

    def _open_journal(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        self._journal = os.open(self._folder / JOURNAL_NAME, flags)
        self._journal_bytes = os.fstat(self._journal).st_size

    def _append_journal(self, line: bytes, *, durable: bool) -> None:
        if self._journal is None:
            self._open_journal()
        assert self._journal is not None
        if self._journal_torn:
            # A line that did not get through would end the journal for every line behind it.
            os.ftruncate(self._journal, self._journal_bytes)
        self._journal_torn = True
        append_bytes(self._journal, line)
        if durable:
            sync_file(self._journal)
        self._journal_torn = False
        self._journal_bytes += len(line)

    def _close_journal(self) -> None:
        if self._journal is not None:
            file, self._journal = self._journal, None
            os.close(file)

    def finish(self) -> None:
        """Remove the journal: every index is durable and will not be rewritten by this writer."""
        self._close_journal()
        (self._folder / JOURNAL_NAME).unlink(missing_ok=True)
        sync_directory(self._folder)

    def close(self) -> None:
        """Close files; safe to call twice."""
        self._close_journal()
        for appender in self._appenders.values():
            appender.close()
