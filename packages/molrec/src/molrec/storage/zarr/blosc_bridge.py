"""Shuffle and zstd of many equal chunks in one compiled call.

numcodecs ships Blosc, whose vectorized byte shuffle and zstd produce and accept the very bytes of the separate
``numcodecs.shuffle`` and ``zstd`` codecs, inside a small container of its own. This module puts that container around
stored chunks before decoding and takes it off after encoding, so that one call handles a batch on all cores. Nothing
of the container reaches a store (``docs/design/002``). A chunk it cannot represent goes through the plain codecs.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from molrec.dtypes import Array

__all__ = ["decompress_and_unshuffle", "shuffle_and_compress"]

_HEADER = struct.Struct("<BBBBIII")
_SIZE = struct.Struct("<i")
_ITEM = 8
#: version 2, zstd stream format 1; flags: byte shuffle, blocks not split, codec zstd.
_VERSION, _ZSTD_VERSION, _FLAGS = 2, 1, 0x01 | 0x10 | (4 << 5)
_MEMCPYED = 0x02
#: Below this a container overhead outweighs the vectorized shuffle, and above it 32-bit sizes overflow.
_SMALLEST, _LARGEST = 128, 2**30
#: zstd level -> the Blosc level that means it.
_BLOSC_LEVEL = {1: 1, 3: 2, 5: 3, 7: 4, 9: 5, 11: 6, 13: 7, 15: 8, 22: 9}


def decompress_and_unshuffle(bodies: Sequence[bytes], out: Array) -> None:
    """Decode zstd(shuffle(chunk)) bodies into ``out[i]``; `out` is C-order float64 or another 8-byte dtype."""
    from numcodecs import blosc, zstd

    block = out[0].nbytes if len(out) else 0
    # Blosc takes a block as long as its content for stored bare; a frame that did not shrink is not for it.
    if not _SMALLEST <= block <= _LARGEST or any(len(body) == block for body in bodies):
        for body, chunk in zip(bodies, out, strict=True):
            _unshuffle_into(zstd.decompress(body), chunk)
        return
    batch = max(1, _LARGEST // block)
    for first in range(0, len(bodies), batch):
        part = bodies[first : first + batch]
        blosc.decompress(_wrap(part, block), out[first : first + batch].reshape(-1))


def _wrap(bodies: Sequence[bytes], block: int) -> bytes:
    start = _HEADER.size + _SIZE.size * len(bodies)
    starts, parts = [], []
    for body in bodies:
        starts.append(start)
        parts.append(_SIZE.pack(len(body)))
        parts.append(body)
        start += _SIZE.size + len(body)
    header = _HEADER.pack(_VERSION, _ZSTD_VERSION, _FLAGS, _ITEM, block * len(bodies), block, start)
    return b"".join((header, np.array(starts, dtype="<i4").tobytes(), *parts))


def _unshuffle_into(data: Any, chunk: Array) -> None:
    planes = np.frombuffer(data, dtype=np.uint8)
    if planes.size != chunk.nbytes:
        raise ValueError(f"{planes.size} bytes decoded for a chunk of {chunk.nbytes}")
    chunk.reshape(-1).view(np.uint8).reshape(-1, _ITEM)[...] = planes.reshape(_ITEM, -1).T


def shuffle_and_compress(chunks: Array, level: int) -> list[bytes]:
    """Return zstd(shuffle(chunk)) of each chunk along the first axis, as plain zstd frames; items have 8 bytes."""
    from numcodecs import blosc

    block = chunks[0].nbytes
    if level not in _BLOSC_LEVEL or not _SMALLEST <= block <= _LARGEST:
        return [_compress_plain(chunk, level) for chunk in chunks]
    batch = max(1, _LARGEST // block)
    bodies: list[bytes] = []
    for first in range(0, len(chunks), batch):
        part = np.ascontiguousarray(chunks[first : first + batch])
        packed = blosc.compress(part.reshape(-1).view(np.uint64), b"zstd", _BLOSC_LEVEL[level], blosc.SHUFFLE, block)
        bodies += _unwrap(packed, part, block, level)
    return bodies


def _unwrap(packed: bytes, chunks: Array, block: int, level: int) -> list[bytes]:
    version, zstd_version, flags, item, total, blocksize, _ = _HEADER.unpack_from(packed)
    expected = (_VERSION, _ZSTD_VERSION, _FLAGS, _ITEM, block * len(chunks), block)
    if flags & _MEMCPYED or (version, zstd_version, flags, item, total, blocksize) != expected:
        return [_compress_plain(chunk, level) for chunk in chunks]
    bodies = []
    starts = np.frombuffer(packed, dtype="<i4", count=len(chunks), offset=_HEADER.size)
    for start, chunk in zip(starts.tolist(), chunks, strict=True):
        (size,) = _SIZE.unpack_from(packed, start)
        # A block that does not shrink is stored bare there; in a store it must still be a zstd frame.
        stored = packed[start + _SIZE.size : start + _SIZE.size + size]
        bodies.append(_compress_plain(chunk, level) if size >= block else stored)
    return bodies


def _compress_plain(chunk: Array, level: int) -> bytes:
    from numcodecs import zstd

    planes = np.ascontiguousarray(chunk).reshape(-1).view(np.uint8).reshape(-1, _ITEM).T
    return bytes(zstd.compress(planes.tobytes(), level))
