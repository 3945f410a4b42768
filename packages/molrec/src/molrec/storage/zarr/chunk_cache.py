"""A small memory of decoded chunks, shared by the blocks of one reader and bounded in bytes."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress

from molrec.dtypes import Array

__all__ = ["ChunkCache"]

#: A small cache lets the allocator hand the same memory out again, which sequential reading feels; ...
_USUAL_BYTES = 2**20
#: ... deep chunks are worth keeping a few of, up to this much.
_MOST_BYTES = 64 * 2**20
_ENTRIES_OF_THE_LARGEST = 16


class ChunkCache:
    """Least recently used chunks go first; the newest always stays, however large."""

    __slots__ = ("_bytes", "_chunks", "_largest")

    def __init__(self) -> None:
        self._chunks: OrderedDict[tuple[int, int], list[Array]] = OrderedDict()
        self._bytes = 0
        self._largest = 0

    def get(self, key: tuple[int, int]) -> list[Array] | None:
        """Return what was kept under a key, or None."""
        found = self._chunks.get(key)
        if found is not None:
            with suppress(KeyError):  # another thread may have evicted it meanwhile; what was found is still right
                self._chunks.move_to_end(key)
        return found

    def put(self, key: tuple[int, int], chunks: list[Array]) -> None:
        """Keep chunks under a key, dropping old ones past the bound."""
        size = sum(chunk.nbytes for chunk in chunks)
        self._chunks[key] = chunks
        self._bytes += size
        self._largest = max(self._largest, size)
        most = min(_MOST_BYTES, max(_USUAL_BYTES, _ENTRIES_OF_THE_LARGEST * self._largest))
        while self._bytes > most and len(self._chunks) > 1:
            _, dropped = self._chunks.popitem(last=False)
            self._bytes -= sum(chunk.nbytes for chunk in dropped)
