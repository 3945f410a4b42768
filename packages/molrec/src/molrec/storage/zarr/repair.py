"""Bringing a record back after a crash: for readers that do not know the journal, and after a power loss.

`repair` restores damaged metadata from the journal, cuts back to frames that can be read, puts torn indexes in place
and closes the record. A record that was closed has no journal and nothing to repair.
"""

from __future__ import annotations

import os
from pathlib import Path

from molrec.storage.zarr import names
from molrec.storage.zarr.journal import JOURNAL_NAME
from molrec.storage.zarr.lock import WriterLock
from molrec.storage.zarr.recovery import recover
from molrec.storage.zarr.root import require_root
from molrec.storage.zarr.sources import DirectorySource
from molrec.storage.zarr.trajectory_writer import TrajectoryWriter

__all__ = ["repair"]


def repair(path: str | os.PathLike[str]) -> list[str]:
    """Repair a record folder in place and return what was done, one line each (empty: nothing was needed).

    Raises:
        SchemaError: Another writer has the record open (``reject-second-writer``).
        FormatError: Not a record, or what was durably committed is damaged beyond the journal.
    """
    root = Path(path)
    source = DirectorySource(root)
    try:
        require_root(source)
        journal = source.get(f"{names.TRAJECTORY}/{JOURNAL_NAME}")
    finally:
        source.close()
    if journal is None:
        return []
    with WriterLock(root):
        done = recover(root)
    writer = TrajectoryWriter.reopen(root)
    writer.close()
    done.append(f"put shard indexes in place and closed the record at {writer.nstep} frames")
    return done
