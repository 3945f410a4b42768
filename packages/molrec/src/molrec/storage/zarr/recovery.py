"""Bringing a trajectory back to a state that holds together, from its journal (``docs/spec/commit.md``).

After a crash of the process every committed frame is in order and there is little to do. After a power loss anything
written since the last durable commit may be missing in part. A state is first looked at as the store would be, and made
so only if all of it can be read; the journal's base line is the state that always can.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, override

from molrec import typedjson
from molrec.errors import FormatError
from molrec.model.schema import SequenceSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.array_reader import open_array
from molrec.storage.zarr.arrival import groups_made, rows_made
from molrec.storage.zarr.codecs import CHECKSUM_BYTES, Buffer, checksum
from molrec.storage.zarr.files import (
    open_shard,
    remove_array,
    replace_file,
    sync_directory,
    sync_file,
    write_at,
    write_document,
)
from molrec.storage.zarr.journal import (
    JOURNAL_NAME,
    ShardState,
    encode_lines,
    lines_up_to,
    read_lines,
    recover_index,
    shard_states,
)
from molrec.storage.zarr.layout import group_document, read_array_layout
from molrec.storage.zarr.sources import DirectorySource, read_document
from molrec.storage.zarr.trajectory_reader import TrajectoryReader

__all__ = ["recover"]

_JOURNAL = f"{names.TRAJECTORY}/{JOURNAL_NAME}"


def recover(root: Path) -> list[str]:
    """Put a trajectory into its committed state, or the last durable one where that was lost in part.

    The caller holds the writer's lock. A record without a journal is left alone.

    Returns:
        What was done, one line each.
    """
    source = DirectorySource(root)
    try:
        lines = read_lines(source.get(_JOURNAL))
        if not lines or lines[0]["kind"] != "base":
            return []
        durable = lines[0]["nstep"]
        found = _frames(source)
        done = [f"{path}/zarr.json was damaged" for path in lines[0]["documents"] if not _is_whole(source, path)]
        newest = _state(source, lines_up_to(lines, found)) if found > durable else None
    finally:
        source.close()
    if newest is not None and newest.holds_together():
        newest.make_so()
        return done
    state = _state(source, lines[:1])
    assert state is not None
    state.make_so()
    if found > durable:
        done.append(f"rolled back from {found} frames to {durable}, the last durable commit")
    return done


def _document(source: DirectorySource, path: str) -> dict[str, Any]:
    """Return a document, empty when it is missing or unreadable."""
    try:
        return read_document(source, path) or {}
    except FormatError:
        return {}


def _is_whole(source: DirectorySource, path: str) -> bool:
    document = _document(source, path)
    try:
        if document.get("node_type") == "array":
            read_array_layout(document, path)
    except FormatError:
        return False
    return bool(document)


def _frames(source: DirectorySource) -> int:
    stated = _document(source, names.TRAJECTORY).get("attributes", {}).get(names.NSTEP, 0)
    return stated if isinstance(stated, int) else 0


def _state(source: DirectorySource, lines: list[dict[str, Any]]) -> _State | None:
    """Return the state the lines of a journal lead to, or None when they do not tell all of it."""
    if not lines:
        return None
    documents = dict(lines[0]["documents"])
    documents |= {path: group_document(attributes) for path, attributes in groups_made(lines).items()}
    for path, count in rows_made(lines).items():
        document = documents.get(path) or _document(source, path)
        if not document.get("shape"):
            return None
        documents[path] = {**document, "shape": [count, *document["shape"][1:]]}
    if len(lines) > 1:
        documents[names.TRAJECTORY] = _document(source, names.TRAJECTORY)
    return _State(source.root, lines, documents)


class _State:
    """What a trajectory is when the lines of a journal are all that happened to it."""

    def __init__(self, root: Path, lines: list[dict[str, Any]], documents: dict[str, Any]) -> None:
        self._root = root
        self._lines = lines
        self._documents = documents
        attributes = documents[names.TRAJECTORY]["attributes"]
        self._schema = SequenceSchema.from_document(attributes[names.SEQUENCE_SCHEMA], names.TRAJECTORY)

    def holds_together(self) -> bool:
        """Tell whether everything written since the last durable commit is there, whole."""
        durable = self._lines[0]["documents"]
        source = _ProposedSource(self._root, self._documents, encode_lines(self._lines), self._schema)
        try:
            reader = TrajectoryReader(source)
            for name in reader.schema.blocks:
                reader.block_reader(name)
            for path, count in rows_made(self._lines).items():
                array = open_array(source, path)
                assert array is not None
                array.verify(min(count, durable[path]["shape"][0] if path in durable else 0), count)
        except FormatError:
            return False
        finally:
            source.close()
        return True

    def make_so(self) -> None:
        """Write what differs.

        The count first, then elided forms and lengths, then indexes, and last the journal: no step leaves a length past
        its index, a count past a length, or a block without either form of its index.
        """
        trajectory = self._root / names.TRAJECTORY
        self._write_documents()
        for path in {shard[0] for line in self._lines for shard in line["shards"]}:
            array = path.rpartition("/c/")[0]
            layout = read_array_layout(self._documents[array], array)
            _put_index_back(self._root, path, shard_states(self._lines, path), layout.chunks_per_shard)
        # What was given up must not be restored by the next reader.
        journal = encode_lines(self._lines)
        if (trajectory / JOURNAL_NAME).read_bytes() != journal:
            replace_file(trajectory / JOURNAL_NAME, journal, durable=True)
            sync_directory(trajectory)

    def _write_documents(self) -> None:
        source = DirectorySource(self._root)
        if _document(source, names.TRAJECTORY) != self._documents[names.TRAJECTORY]:
            write_document(self._root / names.TRAJECTORY, self._documents[names.TRAJECTORY], durable=True)
            sync_directory(self._root / names.TRAJECTORY)
        if names.BOX not in self._documents:
            (self._root / names.BOX / "zarr.json").unlink(missing_ok=True)  # without it nothing below is a cell
        # Groups before arrays: an elided form is in force again before the arrays it replaces are cut.
        for path in sorted(self._documents, key=lambda path: self._documents[path].get("node_type") == "array"):
            if _document(source, path) != self._documents[path]:
                write_document(self._root / path, self._documents[path], durable=True)
        source.close()
        self._remove_unknown_arrays()

    def _remove_unknown_arrays(self) -> None:
        folder = self._root / names.TRAJECTORY
        found = {path.parent.relative_to(self._root).as_posix() for path in folder.rglob("zarr.json")}
        unknown = [path for path in found - self._documents.keys() if names.is_layout_array(path, self._schema)]
        # Cells held as attributes are in force again once the step_index of the box is gone.
        for path in sorted(unknown, key=lambda path: not path.endswith(names.STEP_INDEX)):
            remove_array(self._root / path)


class _ProposedSource(DirectorySource):
    """A record as it would be in another state: its chunks, with other documents and another journal beside them."""

    def __init__(self, root: Path, documents: dict[str, Any], journal: bytes, schema: SequenceSchema) -> None:
        super().__init__(root)
        self._documents = documents
        self._journal = journal
        self._schema = schema

    @override
    def get(self, path: str) -> Buffer | None:
        if path == _JOURNAL:
            return self._journal
        node, _, name = path.rpartition("/")
        if name != "zarr.json":
            return super().get(path)
        if node in self._documents:
            return typedjson.dump_json(self._documents[node]).encode()
        return None if node == names.BOX or names.is_layout_array(node, self._schema) else super().get(path)


def _put_index_back(root: Path, path: str, states: list[ShardState], chunks: int) -> None:
    """Write the newest index of a shard these states prove; where there is none, reading will say so."""
    file = open_shard(root / path)
    try:
        in_place = os.pread(file, 16 * chunks + CHECKSUM_BYTES, 0)
        index = recover_index(in_place, chunks, states)
        if index is not None:
            raw = index.tobytes()
            whole = raw + checksum(raw).to_bytes(CHECKSUM_BYTES, "little")
            if whole != in_place:
                write_at(file, whole, 0)
                sync_file(file)
    finally:
        os.close(file)
