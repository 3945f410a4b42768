"""Bringing a record back after a crash: for readers that do not know the journal, and after a power loss.

`repair` restores damaged metadata from the journal, cuts back to frames that can be read, puts torn indexes in place
and closes the record. A record that was closed has no journal and nothing to repair.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from molrec.errors import FormatError
from molrec.model.schema import SequenceSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.files import sync_directory, write_document
from molrec.storage.zarr.journal import JOURNAL_NAME, read_lines
from molrec.storage.zarr.layout import read_array_layout
from molrec.storage.zarr.lock import WriterLock
from molrec.storage.zarr.root import require_root
from molrec.storage.zarr.sources import DirectorySource, read_document
from molrec.storage.zarr.trajectory_reader import TrajectoryReader
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
    require_root(source)
    lines = read_lines(source.get(f"{names.TRAJECTORY}/{JOURNAL_NAME}"))
    if not lines:
        if (root / names.TRAJECTORY / JOURNAL_NAME).exists():
            TrajectoryWriter.reopen(root).close()
            return ["removed an empty journal"]
        return []
    done: list[str] = []
    with WriterLock(root):
        base = lines[0]
        done += _restore_documents(root, source, base["documents"])
        stated = _frames(source)
        if stated > base["nstep"] and not _readable(DirectorySource(root), base["nstep"]):
            _roll_back(root, base["documents"])
            done.append(f"rolled back from {stated} frames to {base['nstep']}, the last durable commit")
    source.close()
    writer = TrajectoryWriter.reopen(root)
    writer.close()
    done.append(f"put shard indexes in place and closed the record at {writer.nstep} frames")
    return done


def _restore_documents(root: Path, source: DirectorySource, documents: dict[str, Any]) -> list[str]:
    """Rewrite each ``zarr.json`` that is missing or unreadable."""
    done = []
    for path, document in documents.items():
        try:
            found = read_document(source, path)
            if found is not None and document["node_type"] == "array":
                read_array_layout(found, path)
        except FormatError:
            found = None
        if found is None:
            write_document(root / path, document, durable=True)
            done.append(f"restored {path}/zarr.json from the journal")
    return done


def _frames(source: DirectorySource) -> int:
    document = read_document(source, names.TRAJECTORY) or {}
    stated = document.get("attributes", {}).get(names.NSTEP, 0)
    return stated if isinstance(stated, int) else 0


def _readable(source: DirectorySource, first: int) -> bool:
    """Tell whether every frame from `first` on can be read."""
    try:
        reader = TrajectoryReader(source)
        for ordinal in range(first, len(reader)):
            reader[ordinal].meta  # noqa: B018 - read for its checks
        reader.steps  # noqa: B018
        reader.times  # noqa: B018
    except FormatError:
        return False
    finally:
        source.close()
    return True


def _roll_back(root: Path, documents: dict[str, Any]) -> None:
    """Return to the journal's base: its metadata in place, arrays it does not know gone, the frame count last."""
    trajectory = root / names.TRAJECTORY
    schema = SequenceSchema.from_document(
        documents[names.TRAJECTORY]["attributes"][names.SEQUENCE_SCHEMA], names.TRAJECTORY
    )
    for metadata in list(trajectory.rglob("zarr.json")):
        folder = metadata.parent
        node = folder.relative_to(root).as_posix()
        if node not in documents and names.is_layout_array(node, schema):
            shutil.rmtree(folder)
    for path, document in documents.items():
        if path != names.TRAJECTORY:
            write_document(root / path, document, durable=True)
    write_document(trajectory, documents[names.TRAJECTORY], durable=True)
    sync_directory(trajectory)
