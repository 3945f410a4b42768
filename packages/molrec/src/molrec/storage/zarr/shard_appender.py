"""Appending rows to one sharded array, in the steps of the commit protocol (``docs/spec/commit.md``).

An appender holds the rows that are not committed yet. `stage` encodes them into chunks, the writer then drives the
steps over all arrays at once (`write_chunks`, journal, `write_index`, `write_metadata`), and `settle` takes the new
state over after the commit. Until then nothing in memory has changed, so a failed commit can simply be tried again.
A chunk that is not full yet is written again, longer, at a new place: what a committed index points to is never
overwritten.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from molrec.dtypes import Array
from molrec.storage.zarr.codecs import CHECKSUM_BYTES, checksum
from molrec.storage.zarr.files import open_shard, sync_directory, sync_file, sync_path, write_at, write_document
from molrec.storage.zarr.fixed_array import pad_chunk
from molrec.storage.zarr.journal import EMPTY_ENTRY, ShardState
from molrec.storage.zarr.layout import ArrayLayout

__all__ = ["ShardAppender"]

#: Bytes encoded in one go; small enough for the allocator to hand the same memory out again.
_BATCH_BYTES = 2**17


@dataclass(slots=True)
class _ShardPlan:
    """What one commit does to one shard: the slots it fills and, once placed, the index that results."""

    number: int
    first_slot: int
    chunks: list[bytes]
    index: Array
    is_new: bool
    entries: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def used(self) -> int:
        return self.first_slot + len(self.chunks)


@dataclass(slots=True)
class _Plan:
    """What one commit does to one array."""

    rows: int
    tail: Array
    pending: int
    shards: list[_ShardPlan]


class ShardAppender:
    """The writing end of one array.

    Args:
        root: Folder of the record.
        path: Path of the array below it.
        layout: Its layout; the shape's first extent is ignored, `rows` counts.
        rows: Committed rows.
        tail: Rows of the last chunk when it is not full.
        index: Index of the shard being filled.
        on_disk: Whether the array's metadata has been written.
        stale: Slots whose entry in place differs from `index`, for a reopened array.
    """

    def __init__(
        self,
        root: Path,
        path: str,
        layout: ArrayLayout,
        rows: int = 0,
        tail: Array | None = None,
        index: Array | None = None,
        on_disk: bool = False,
        stale: tuple[int, ...] = (),
    ) -> None:
        self.path = path
        self.layout = layout
        self.rows = rows
        self.on_disk = on_disk
        self._folder = root / path
        self._tail: Array = np.empty((0, *layout.trailing), dtype=layout.numpy) if tail is None else tail
        self._index = self._empty_index() if index is None else index
        self._pending: list[Array] = []
        self._plan: _Plan | None = None
        self._stale = stale
        self._unsynced: set[int] = set()
        self._metadata_unsynced = False
        self._file: int | None = None
        self._file_number = -1

    def _empty_index(self) -> Array:
        return np.full((self.layout.chunks_per_shard, 2), EMPTY_ENTRY, dtype="<u8")

    def set_layout(self, layout: ArrayLayout) -> None:
        """Choose other extents, as long as the array is not on disk."""
        if not self.on_disk and not self.rows:
            self.layout = layout
            self._index = self._empty_index()

    @property
    def total_rows(self) -> int:
        """Rows committed and waiting."""
        return self.rows + sum(len(rows) for rows in self._pending)

    @property
    def staged_rows(self) -> int:
        """Rows there will be once the staged commit is settled."""
        return self.rows if self._plan is None else self._plan.rows

    def append(self, rows: Array) -> None:
        """Take rows for the next commit; the array is kept, so it must be the appender's own."""
        if len(rows):
            self._pending.append(rows)

    # -- the steps of a commit --------------------------------------------------------------------------------------

    def stage(self) -> bool:
        """Encode what waits; return whether this array takes part in the commit."""
        self._plan = None
        if not self._pending and self.on_disk:
            return False
        total = len(self._tail) + sum(len(rows) for rows in self._pending)
        encoded, tail = self._encode() if self._pending else ([], self._tail)
        self._plan = _Plan(
            rows=self.rows - len(self._tail) + total,
            tail=tail,
            pending=len(self._pending),
            shards=self._split(encoded),
        )
        return True

    def _encode(self) -> tuple[list[bytes], Array]:
        """Return the stored bytes of the chunks that tail and pending rows fill, and the rows of one that is not full.

        That one is among the chunks, padded.
        """
        layout = self.layout
        assert layout.pipeline is not None
        size = layout.chunk_rows
        batch = size * max(1, _BATCH_BYTES // max(1, self._tail[:1].itemsize * size * math.prod(layout.trailing)))
        encoded: list[bytes] = []
        left = self._tail[:0]
        for rows in _regrouped([self._tail, *self._pending], batch):
            whole = len(rows) // size
            if whole:
                chunks = rows[: whole * size].reshape(whole, size, *layout.trailing)
                encoded += layout.pipeline.encode_many(chunks if 0 not in layout.trailing else _widen(chunks, layout))
            left = rows[whole * size :]
        if len(left):
            encoded.append(layout.pipeline.encode(pad_chunk(left, layout)))
        return encoded, left.copy()

    def _split(self, encoded: list[bytes]) -> list[_ShardPlan]:
        """Deal encoded chunks to their shards."""
        per_shard = self.layout.chunks_per_shard
        number = (self.rows - len(self._tail)) // self.layout.chunk_rows
        shards: list[_ShardPlan] = []
        while encoded:
            shard, slot = divmod(number, per_shard)
            fits, encoded = encoded[: per_shard - slot], encoded[per_shard - slot :]
            started = slot > 0 or (not shards and len(self._tail) > 0)
            index = self._index.copy() if started else self._empty_index()
            shards.append(_ShardPlan(shard, slot, fits, index, is_new=not started))
            number += len(fits)
        return shards

    def write_chunks(self) -> list[ShardState]:
        """Write the staged chunks behind what each shard holds, and return the index states they lead to."""
        states = []
        for shard in self._plan.shards if self._plan else ():
            file = self._open(shard.number)
            self._unsynced.add(shard.number)
            place = max(self._index_bytes, os.fstat(file).st_size)
            slot = shard.first_slot
            for chunk in shard.chunks:
                shard.index[slot] = (place, len(chunk))
                shard.entries.append((slot, place, len(chunk)))
                place, slot = place + len(chunk), slot + 1
            write_at(file, b"".join(shard.chunks), shard.entries[0][1])
            crc = checksum(shard.index.tobytes())
            states.append(ShardState(self._shard_path(shard.number), shard.used, tuple(shard.entries), crc))
        return states

    def write_index(self) -> None:
        """Rewrite the index of each staged shard in place: the slots that changed, then the checksum."""
        for shard in self._plan.shards if self._plan else ():
            file = self._open(shard.number)
            raw = shard.index.tobytes()
            first, last = (0, len(raw)) if shard.is_new else (16 * shard.first_slot, 16 * shard.used)
            write_at(file, raw[first:last], first)
            write_at(file, checksum(raw).to_bytes(CHECKSUM_BYTES, "little"), len(raw))

    def sync(self) -> None:
        """Force every shard written since the last durable commit, and the folders it lies in, to the device."""
        for number in sorted(self._unsynced):
            sync_file(self._open(number))
            for folder in self._shard_folders(number):
                sync_directory(folder)
        self._unsynced.clear()

    def _shard_folders(self, number: int) -> list[Path]:
        folder = (self._folder / self.layout.chunk_path(number)).parent
        folders = [folder]
        while folder != self._folder:
            folder = folder.parent
            folders.append(folder)
        return folders

    def write_metadata(self, *, durable: bool) -> None:
        """Replace the array's ``zarr.json`` with the staged length."""
        if self._plan is not None:
            self.layout.shape = (self._plan.rows, *self.layout.trailing)
            self._metadata_unsynced = not durable
            write_document(self._folder, self.layout.to_document(), durable=durable)
            if durable:
                sync_directory(self._folder)
                sync_directory(self._folder.parent)

    def sync_metadata(self) -> None:
        """Force a ``zarr.json`` that earlier commits left to the system to the device."""
        if self._metadata_unsynced:
            sync_path(self._folder / "zarr.json")
            sync_directory(self._folder)
            sync_directory(self._folder.parent)
            self._metadata_unsynced = False

    def settle(self) -> None:
        """Take the committed state over."""
        plan = self._plan
        if plan is None:
            return
        self.rows, self._tail, self.on_disk = plan.rows, plan.tail, True
        self._stale = ()
        del self._pending[: plan.pending]
        if plan.shards:
            last = plan.shards[-1]
            self._index = last.index
        self._plan = None

    def base_state(self) -> ShardState | None:
        """Return the committed state of the shard being filled, for the journal's base line."""
        if not self.rows:
            return None
        chunks = -(-self.rows // self.layout.chunk_rows)
        number, last = divmod(chunks - 1, self.layout.chunks_per_shard)
        slots = sorted({last, *(slot for slot in self._stale if slot < last)})
        entries = tuple((slot, *self._index[slot].tolist()) for slot in slots)
        return ShardState(self._shard_path(number), last + 1, entries, checksum(self._index.tobytes()))

    def rewrite_index(self) -> None:
        """Put the committed index of a reopened array in place, durably; the journal must hold it already."""
        if not self._stale:
            return
        number = (-(-self.rows // self.layout.chunk_rows) - 1) // self.layout.chunks_per_shard
        raw = self._index.tobytes()
        file = self._open(number)
        write_at(file, raw + checksum(raw).to_bytes(CHECKSUM_BYTES, "little"), 0)
        sync_file(file)
        self._stale = ()

    # -- files ------------------------------------------------------------------------------------------------------

    @property
    def _index_bytes(self) -> int:
        return 16 * self.layout.chunks_per_shard + CHECKSUM_BYTES

    def _shard_path(self, number: int) -> str:
        return f"{self.path}/{self.layout.chunk_path(number)}"

    def _open(self, number: int) -> int:
        if self._file is None or self._file_number != number:
            self.close()
            self._file_number = number
            self._file = open_shard(self._folder / self.layout.chunk_path(number))
        return self._file

    def close(self) -> None:
        """Close the open shard; safe to call twice."""
        if self._file is not None:
            # Forgotten first: an interrupt between the two must not lead to closing somebody else's file.
            file, self._file = self._file, None
            os.close(file)


def _regrouped(pieces: list[Array], size: int) -> Iterator[Array]:
    """Yield the rows of all pieces in arrays of `size` rows, the last one shorter; only small pieces are copied."""
    waiting: list[Array] = []
    count = 0
    for piece in pieces:
        start = 0
        while start < len(piece):
            taken = piece[start : start + size - count]
            waiting.append(taken)
            count += len(taken)
            start += len(taken)
            if count == size:
                yield waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                waiting, count = [], 0
    if waiting:
        yield waiting[0] if len(waiting) == 1 else np.concatenate(waiting)


def _widen(chunks: Array, layout: ArrayLayout) -> Array:
    """Return chunks of zero-width rows at the width one they are stored with."""
    return np.stack([pad_chunk(chunk, layout) for chunk in chunks])
