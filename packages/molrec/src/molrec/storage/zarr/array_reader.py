"""Reading rows of one array: find the chunks, verify each, decode only those.

A chunk read here is always checksummed, shard indexes included. Layouts beyond rows along the first axis are left to
zarr-python, which verifies them as well.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from molrec.dtypes import STRING, Array
from molrec.errors import FormatError
from molrec.storage.zarr.codecs import CHECKSUM_BYTES, Buffer, checksum
from molrec.storage.zarr.journal import EMPTY_ENTRY, JOURNAL_NAME, read_lines, recover_index, shard_states
from molrec.storage.zarr.layout import ArrayLayout, read_array_layout
from molrec.storage.zarr.memory import new_array, require_memory
from molrec.storage.zarr.sources import Source, read_document

__all__ = ["ArrayReader", "open_array"]

_DAMAGED = "reject-corrupt-chunk"
#: Rows decoded in one call of a bulk read, in bytes.
_BATCH_BYTES = 4 * 2**20


def open_array(source: Source, path: str) -> ArrayReader | None:
    """Open an array by path, or return None when no such node is there.

    Raises:
        FormatError: The node is not an array of the format (see `read_array_layout`).
    """
    document = read_document(source, path)
    if document is None:
        return None
    return ArrayReader(source, path, read_array_layout(document, f"{source.name}: {path}"))


class ArrayReader:
    """Rows of one stored array, decoded chunk by chunk. Arrays it returns are read-only or fresh."""

    def __init__(self, source: Source, path: str, layout: ArrayLayout) -> None:
        self.source = source
        self.path = path
        self.layout = layout
        self._indexes: dict[int, Array] = {}
        self._shard_paths: dict[int, str] = {}
        self._kept: tuple[int, Array] | None = None
        self._where = f"{source.name}: {path}"

    # -- chunks -----------------------------------------------------------------------------------------------------

    def stored_chunk(self, number: int) -> Buffer | None:
        """Return the stored bytes of a chunk along the first axis, or None when the chunk is the fill value.

        Raises:
            FormatError: The chunk or its shard index is damaged, or missing from an array that stores every chunk.
        """
        layout = self.layout
        if not layout.chunks_per_shard:
            found = self.source.get(f"{self.path}/{layout.chunk_path(number)}")
        else:
            shard, slot = divmod(number, layout.chunks_per_shard)
            found = self._from_shard(shard, slot)
        if found is None and layout.every_chunk_written:
            raise FormatError(
                f"{self._where}, chunk {number} is missing, though this array stores every chunk", _DAMAGED
            )
        return found

    def _from_shard(self, shard: int, slot: int) -> Buffer | None:
        index = self._indexes.get(shard)
        if index is None:
            index = self.shard_index(shard)
        if slot >= len(index):
            return None
        offset, length = index[slot].tolist()
        if offset == EMPTY_ENTRY and length == EMPTY_ENTRY:
            return None
        path = self._shard_paths[shard]
        found = self.source.get_range(path, offset, length) if max(offset, length) < 2**62 else b""
        if found is None or len(found) != length:
            raise FormatError(
                f"{self._where}, shard {shard}, slot {slot}: the chunk lies past the end of the shard", _DAMAGED
            )
        return found

    def shard_index(self, shard: int) -> Array:
        """Return the verified (offset, length) table of a shard; an empty one when the shard is not there.

        Raises:
            FormatError: The index is damaged and no journal restores it (``reject-corrupt-index``).
        """
        index = self._indexes.get(shard)
        if index is None:
            index = self._indexes[shard] = self._read_index(shard)
        return index

    def _read_index(self, shard: int) -> Array:
        layout, chunks = self.layout, self.layout.chunks_per_shard
        size = 16 * chunks + CHECKSUM_BYTES
        path = self._shard_paths[shard] = f"{self.path}/{self.layout.chunk_path(shard)}"
        raw = self.source.get_range(path, 0, size) if self.layout.index_at_start else self.source.get_suffix(path, size)
        if raw is None:
            return np.empty((0, 2), dtype="<u8")
        body = bytes(raw[:-CHECKSUM_BYTES])
        proven = self._from_journal(path, raw) if layout.index_at_start else None
        if proven is not None:
            return proven
        if len(raw) == size and checksum(body) == int.from_bytes(raw[-CHECKSUM_BYTES:], "little"):
            return np.frombuffer(body, dtype="<u8").reshape(chunks, 2)
        raise FormatError(
            f"{self._where}, shard {shard}: the index does not match its crc32c, and no journal restores it",
            "reject-corrupt-index",
        )

    def _from_journal(self, path: str, raw: Buffer) -> Array | None:
        """Return the newest index a journal proves: in place it may be torn, or older than the frame count."""
        if not self.source.live:
            return None
        journal = self.source.get(f"{self.path.partition('/')[0]}/{JOURNAL_NAME}")
        states = shard_states(read_lines(journal), path) if journal is not None else []
        return recover_index(raw, self.layout.chunks_per_shard, states) if states else None

    def where(self, number: int) -> str:
        """Return how to call a chunk in a message."""
        return f"{self._where}, chunk {number}"

    def chunk(self, number: int) -> Array:
        """Return one decoded chunk, ``(chunk_rows, *trailing)``."""
        layout = self.layout
        assert layout.pipeline is not None
        stored = self.stored_chunk(number)
        if stored is None:
            return self._fill(layout.chunk_rows)
        decoded = layout.pipeline.decode(stored, layout.chunk_shape, layout.numpy, self.where(number))
        return self._trim(decoded)

    def verify(self, start: int, stop: int) -> None:
        """Check every chunk that holds rows ``start:stop``, decoding none that has a checksum.

        Raises:
            FormatError: A chunk is damaged or missing, or the array is shorter than `stop`.
        """
        layout = self.layout
        if not layout.simple or layout.pipeline is None or not layout.pipeline.is_checksummed or stop > layout.rows:
            self.read(start, stop)
            return
        for number in range(start // layout.chunk_rows, -(-stop // layout.chunk_rows)):
            stored = self.stored_chunk(number)
            if stored is not None:
                layout.pipeline.verify(stored, self.where(number))

    def _trim(self, decoded: Array) -> Array:
        # A zero-width row is stored in chunks of width one.
        if 0 not in self.layout.trailing:
            return decoded
        return decoded[(slice(None), *(slice(0, extent) for extent in self.layout.trailing))]

    def _fill(self, rows: int) -> Array:
        layout = self.layout
        shape = (rows, *layout.trailing) if layout.shape else ()
        filled = new_array(shape, layout.numpy, self._where, zeros=True)
        value = layout.fill_value
        if isinstance(value, list) and len(value) == 2:
            value = complex(float(value[0]), float(value[1]))
        elif value in ("NaN", "Infinity", "-Infinity") and layout.dtype != "string":
            value = float(value.replace("Infinity", "inf"))
        try:
            filled[...] = value
        except (TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"{self._where}: fill_value {value!r} ({error})", "reject-malformed-metadata") from error
        return filled

    # -- rows -------------------------------------------------------------------------------------------------------

    def read(self, start: int = 0, stop: int | None = None) -> Array:
        """Return rows ``start:stop`` as one array; every row up to the stated shape when `stop` is None.

        Raises:
            FormatError: A chunk is damaged, or the array is shorter than `stop` (``reject-array-short``).
        """
        layout = self.layout
        end = layout.rows if stop is None else stop
        if end > layout.rows:
            raise FormatError(
                f"{self._where} holds {layout.rows} rows but {end} are committed; the store is damaged",
                "reject-array-short",
            )
        if not layout.simple:
            return self._read_general(start, end)
        if not layout.shape:
            return self.chunk(0)
        first, last = start // layout.chunk_rows, max(start, end - 1) // layout.chunk_rows
        if end <= start:
            return np.empty((0, *layout.trailing), dtype=layout.numpy)
        if first == last:
            origin = first * layout.chunk_rows
            return self.chunk(first)[start - origin : end - origin]
        out = new_array((end - start, *layout.trailing), layout.numpy, self._where)
        self.read_into(out, start)
        return out

    def row(self, position: int) -> Array:
        """Return one row, ``trailing``; the chunk it lies in is kept for the next one."""
        if not self.layout.simple:
            only: Array = self.read(position, position + 1)[0]
            return only
        number, place = divmod(position, self.layout.chunk_rows)
        kept = self._kept
        if kept is None or kept[0] != number:
            kept = self._kept = (number, self.chunk(number))
        found: Array = kept[1][place]
        return found

    def read_into(self, out: Array, start: int) -> None:
        """Fill `out` with rows from `start` on, whole chunks decoded in place and in batches."""
        layout, stop = self.layout, start + len(out)
        assert layout.pipeline is not None
        rows = layout.chunk_rows
        whole_from, whole_to = -(-start // rows), stop // rows
        if layout.dtype == "string" or 0 in layout.trailing or whole_to <= whole_from:
            whole_from = whole_to = start // rows
        if start < whole_from * rows:
            head = min(stop, whole_from * rows)
            out[: head - start] = self.read(start, head)
        batch = max(1, _BATCH_BYTES // max(1, out[:1].nbytes * rows))
        for number in range(whole_from, whole_to, batch):
            numbers = range(number, min(whole_to, number + batch))
            place = number * rows - start
            region = out[place : place + len(numbers) * rows].reshape(len(numbers), rows, *layout.trailing)
            self._decode_batch(numbers, region)
        position = max(start, whole_to * rows)
        while position < stop:
            end = min(stop, (position // rows + 1) * rows)
            out[position - start : end - start] = self.read(position, end)
            position = end

    def _decode_batch(self, numbers: range, out: Array) -> None:
        layout = self.layout
        assert layout.pipeline is not None
        stored = [self.stored_chunk(number) for number in numbers]
        present = [chunk for chunk in stored if chunk is not None]
        if len(present) == len(stored):
            layout.pipeline.decode_into(present, out, lambda place: self.where(numbers[place]))
            return
        for place, number in enumerate(numbers):
            out[place] = self.chunk(number)

    def _read_general(self, start: int, stop: int) -> Array:
        """Read a chunking this reader does not know through zarr-python."""
        import zarr

        rows = stop - start if self.layout.shape else 1
        require_memory(rows * math.prod(self.layout.trailing) * self.layout.numpy.itemsize, self._where)
        try:
            array = zarr.open_array(self.source.zarr_store(), path=self.path, mode="r")
            values: Any = array[start:stop] if self.layout.shape else array[()]
        except Exception as error:
            raise FormatError(f"{self._where} is corrupt: {error}", _DAMAGED) from error
        dtype = STRING if self.layout.dtype == "string" else self.layout.numpy
        return np.asarray(values, dtype=dtype)
