"""Bringing a trajectory back to a state that holds together, from its journal (``docs/spec/commit.md``, what survives).

After a crash of the process every committed frame is in order and there is little to do. After a power loss anything
written since the last durable commit may be missing in part; the journal's base line says what there was before it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from molrec import typedjson
from molrec.errors import FormatError
from molrec.model.schema import SequenceSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.codecs import CHECKSUM_BYTES, checksum
from molrec.storage.zarr.files import (
    open_shard,
    replace_file,
    sync_directory,
    sync_file,
    write_at,
    write_document,
)
from molrec.storage.zarr.journal import (
    JOURNAL_NAME,
    ShardState,
    encode_line,
    read_lines,
    recover_index,
    shard_states,
)
from molrec.storage.zarr.layout import read_array_layout
from molrec.storage.zarr.sources import DirectorySource, read_document
from molrec.storage.zarr.trajectory_reader import TrajectoryReader

__all__ = ["recover"]


def recover(root: Path) -> list[str]:
    """Restore damaged metadata, and go back to the last durable commit where newer frames cannot be read.

    The caller holds the writer's lock. A record without a journal is left alone.

    Returns:
        What was done, one line each.
    """
    source = DirectorySource(root)
    try:
        lines = read_lines(source.get(f"{names.TRAJECTORY}/{JOURNAL_NAME}"))
        if not lines or lines[0]["kind"] != "base":
            return []
        base = lines[0]
        done = _restore_documents(root, source, base["documents"])
        stated = _frames(source)
    finally:
        source.close()
    if stated > base["nstep"] and _arrived(root, lines, stated) and _readable(root, base["nstep"]):
        _settle_indexes(root, lines)
        return done
    _roll_back(root, base)
    if stated > base["nstep"]:
        done.append(f"rolled back from {stated} frames to {base['nstep']}, the last durable commit")
    return done


def _arrived(root: Path, lines: list[dict[str, Any]], nstep: int) -> bool:
    """Tell whether every document of the commits that led to a frame count is there in its new form.

    A power loss may keep the count and lose a length: what carries forward then would be shown in place of what came.
    """
    places = [number for number, line in enumerate(lines) if line["kind"] == "redo" and line["nstep"] == nstep]
    if not places:
        return False
    source = DirectorySource(root)
    try:
        rows: dict[str, int] = {}
        groups: dict[str, list[Any]] = {}
        for line in lines[1 : places[-1] + 1]:
            rows |= line["rows"]
            groups |= {path: [attributes] for path, attributes in line["groups"].items()}
        # A later commit that did not get through may have replaced a group already.
        for line in lines[places[-1] + 1 :]:
            for path, attributes in line["groups"].items():
                groups.setdefault(path, [_document(source, path).get("attributes")]).append(attributes)
        longer = all((_document(source, path).get("shape") or [0])[0] >= count for path, count in rows.items())
        return longer and all(_document(source, path).get("attributes") in found for path, found in groups.items())
    finally:
        source.close()


def _document(source: DirectorySource, path: str) -> dict[str, Any]:
    try:
        return read_document(source, path) or {}
    except FormatError:
        return {}


def _settle_indexes(root: Path, lines: list[dict[str, Any]]) -> None:
    """Put the newest proven index of every shard the journal names in place."""
    for path in {shard[0] for line in lines for shard in line["shards"]}:
        metadata = root / path.rpartition("/c/")[0] / "zarr.json"
        if not metadata.exists():
            continue  # an array a failed attempt was about to begin
        layout = read_array_layout(typedjson.parse_json(metadata.read_bytes(), str(metadata)), str(metadata))
        _put_index_back(root, path, shard_states(lines, path), layout.chunks_per_shard)


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
        if found is None or found.get("node_type") != document["node_type"]:
            write_document(root / path, document, durable=True)
            done.append(f"restored {path}/zarr.json from the journal")
    return done


def _frames(source: DirectorySource) -> int:
    document = read_document(source, names.TRAJECTORY) or {}
    stated = document.get("attributes", {}).get(names.NSTEP, 0)
    return stated if isinstance(stated, int) else 0


def _readable(root: Path, first: int) -> bool:
    """Tell whether every frame from `first` on can be read."""
    source = DirectorySource(root)
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


def _roll_back(root: Path, base: dict[str, Any]) -> None:
    """Return to the journal's base: its count, metadata and indexes in place, arrays it does not know gone."""
    documents = base["documents"]
    trajectory = root / names.TRAJECTORY
    schema = SequenceSchema.from_document(
        documents[names.TRAJECTORY]["attributes"][names.SEQUENCE_SCHEMA], names.TRAJECTORY
    )
    # The count first, then lengths, then indexes: no step leaves a length past its index or a count past a length.
    write_document(trajectory, documents[names.TRAJECTORY], durable=True)
    sync_directory(trajectory)
    for metadata in list(trajectory.rglob("zarr.json")):
        folder = metadata.parent
        node = folder.relative_to(root).as_posix()
        if node not in documents and names.is_layout_array(node, schema):
            shutil.rmtree(folder)
    source = DirectorySource(root)
    for path, document in documents.items():
        if path != names.TRAJECTORY and _document(source, path) != document:
            write_document(root / path, document, durable=True)
    source.close()
    for path in [shard[0] for shard in base["shards"]]:
        array = path.rpartition("/c/")[0]
        layout = read_array_layout(documents[array], array)
        _put_index_back(root, path, shard_states([base], path), layout.chunks_per_shard)
    # What was abandoned must not be restored by the next reader.
    states = [state for shard in base["shards"] for state in shard_states([base], shard[0])]
    replace_file(
        trajectory / JOURNAL_NAME, encode_line("base", base["nstep"], states, documents=documents), durable=True
    )
    sync_directory(trajectory)


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
