"""Shuffle and zstd together: the pair a column's bytes pass most often, both ways and for many chunks at once.

Encoding ends a zstd block at every byte plane the shuffle made. A plane of noise is then stored as it is, a plane of
zeros costs nothing, and the planes between get an entropy table of their own, which makes chunks about a tenth
smaller than one run of blocks over all planes. Any zstd decoder reads such a frame (``docs/design/002``).

Decoding goes through Blosc, which numcodecs ships: its vectorized byte shuffle and its zstd accept the very bytes of
the separate codecs inside a small container of its own. The container is put around stored chunks in memory, so that
one compiled call handles a batch; nothing of it reaches a store.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array

__all__ = ["decompress", "decompress_and_unshuffle", "shuffle_and_compress"]

_HEADER = struct.Struct("<BBBBIII")
_SIZE = struct.Struct("<i")
_ITEM = 8
#: Version 2, zstd stream format 1; flags: byte shuffle, blocks not split, codec zstd.
_VERSION, _ZSTD_VERSION, _FLAGS = 2, 1, 0x01 | 0x10 | (4 << 5)
#: Below this the container outweighs the vectorized shuffle, and above it 32-bit sizes overflow.
_SMALLEST, _LARGEST = 128, 2**30
#: A plane shorter than this does not repay a block of its own.
_SHORTEST_PLANE = 64
#: Declared level -> the level whose search is used on split planes. Within one plane there is little to search for:
#: level 1 finds it sooner than 3, and its blocks come out no larger and decode faster (docs/design/002).
_SPLIT_EFFORT = {3: 1}
#: At that effort, a shorter repetition within a plane costs more than the entropy table makes of it, in bytes and in
#: the time to decode it.
_SHORTEST_MATCH = 7
#: Less than this decodes sooner on one thread than several agree on who does it.
_THREADED_BYTES = 2**20
#: Bytes shuffled in one go, into memory that is used again: fresh pages cost more than the shuffle.
_BATCH_BYTES = 2**17


class _Own(threading.local):
    """The zstd coders of one thread, which must not share them; making one takes longer than using it."""

    def __init__(self) -> None:
        #: By level, chunk size, and whether planes are blocks of their own.
        self.compressors: dict[tuple[int, int, bool], Any] = {}
        self.decompressor: Any = None


_own = _Own()


def shuffle_and_compress(chunks: Array, element: int, level: int) -> list[bytes]:
    """Return zstd(shuffle(chunk)) of each chunk along the first axis, every chunk one zstd frame.

    Args:
        chunks: C-order array ``(chunks, *chunk_shape)``.
        element: Bytes the shuffle takes for one element, a divisor of the chunk's bytes.
        level: zstd level.
    """
    split = len(chunks) > 0 and chunks[0].nbytes // element >= _SHORTEST_PLANE
    key = (level, chunks[0].nbytes, split)
    compressor = _own.compressors.get(key)
    if compressor is None:
        compressor = _own.compressors[key] = _make_compressor(level, chunks[0].nbytes, split=split)
    batch = max(1, _BATCH_BYTES // max(1, chunks[0].nbytes))
    frames: list[bytes] = []
    scratch = np.empty((min(batch, len(chunks)), element, chunks[:1].nbytes // element), dtype=np.uint8)
    for first in range(0, len(chunks), batch):
        part = np.ascontiguousarray(chunks[first : first + batch])
        shuffled = scratch[: len(part)]
        shuffled[...] = part.reshape(-1).view(np.uint8).reshape(len(part), -1, element).transpose(0, 2, 1)
        frames += [_compress_planes(planes, compressor) for planes in shuffled]
    return frames


def _make_compressor(level: int, size: int, *, split: bool) -> Any:
    import zstandard

    effort = _SPLIT_EFFORT.get(level)
    if effort is None or not split:
        return zstandard.ZstdCompressor(level=level)
    parameters = zstandard.ZstdCompressionParameters.from_level(effort, source_size=size, min_match=_SHORTEST_MATCH)
    return zstandard.ZstdCompressor(compression_params=parameters)


def _compress_planes(planes: npt.NDArray[np.uint8], compressor: Any) -> bytes:
    from zstandard import COMPRESSOBJ_FLUSH_BLOCK

    count, length = planes.shape
    if length < _SHORTEST_PLANE:
        return bytes(compressor.compress(planes.data))
    stream = compressor.compressobj(size=planes.nbytes)
    pieces = []
    # The lower half of a wide element is all zeros on a declared grid, or else all noise: one block either way.
    first = count // 2 if count == _ITEM else 1
    for start, stop in ((0, first), *((number, number + 1) for number in range(first, count))):
        pieces.append(stream.compress(planes[start:stop].data))
        if stop < count:
            pieces.append(stream.flush(COMPRESSOBJ_FLUSH_BLOCK))
    pieces.append(stream.flush())
    return b"".join(pieces)


def decompress_and_unshuffle(bodies: Sequence[bytes], out: Array) -> None:
    """Decode zstd(shuffle(chunk)) bodies into ``out[i]``; `out` is C-order of an 8-byte dtype.

    Raises:
        Exception: A body is no zstd frame of the chunk's size; the type is the decoder's.
    """
    from numcodecs import blosc

    block = out[0].nbytes if len(out) else 0
    # Blosc takes a block as long as its content for stored bare; a frame that did not shrink is not for it.
    if not _SMALLEST <= block <= _LARGEST or any(len(body) == block for body in bodies):
        for body, chunk in zip(bodies, out, strict=True):
            _unshuffle_into(decompress(body, chunk.nbytes), chunk)
        return
    if out.nbytes < _THREADED_BYTES:
        # One decoder for all chunks saves its making; Blosc takes what it gives for blocks stored bare.
        for body in bodies:
            _check_frame_size(body, block)
        decompress_own = _decompressor().decompress
        planes = [decompress_own(body, max_output_size=block) for body in bodies]
        if any(len(shuffled) != block for shuffled in planes):
            raise ValueError(f"a chunk of {block} bytes decoded to another size")
        with _one_thread(blosc):
            blosc.decompress(_wrap(planes, block), out.reshape(-1))
        return
    batch = max(1, _LARGEST // block)
    for first in range(0, len(bodies), batch):
        part = bodies[first : first + batch]
        blosc.decompress(_wrap(part, block), out[first : first + batch].reshape(-1))


def decompress(body: bytes, most: int) -> bytes:
    """Return what a zstd frame holds, taking no more memory than it may.

    Raises:
        Exception: It holds more than `most` bytes, or is no zstd frame; the type is the decoder's.
    """
    from numcodecs import zstd

    if _check_frame_size(body, most) < 0:
        return bytes(_decompressor().decompress(body, max_output_size=most))
    return bytes(zstd.decompress(body))


def _check_frame_size(body: bytes, most: int) -> int:
    """Return the size a zstd frame states, -1 where it states none, and refuse too large a one."""
    from zstandard import frame_content_size

    size = int(frame_content_size(body))
    if size > most:
        raise ValueError(f"a zstd frame of {size} bytes, where at most {most} belong")
    return size


def _decompressor() -> Any:
    if _own.decompressor is None:
        import zstandard

        _own.decompressor = zstandard.ZstdDecompressor()
    return _own.decompressor


@contextmanager
def _one_thread(blosc: Any) -> Iterator[None]:
    """Keep Blosc from waking helper threads for a little work.

    Left to itself it uses them in the main thread and nowhere else, so only the main thread has anything to say here,
    and nobody else can notice.
    """
    if blosc.use_threads is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    blosc.use_threads = False
    try:
        yield
    finally:
        blosc.use_threads = None


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
