"""Chunk extents and codecs a writer chooses: one place for the numbers of ``docs/spec/zarr.md``.

Two profiles over the same must-decode codecs. ``live`` follows the reference extents: shallow chunks that random
access and a running job like. ``archive`` gathers many frames per chunk, where zstd finds the planes of earlier
frames, and sizes shards to what is there.
"""

from __future__ import annotations

import math
from typing import Literal

from molrec.dtypes import FLOAT_DTYPES, numpy_dtype, row_bytes
from molrec.errors import SchemaError
from molrec.model.schema import BlockSchema
from molrec.storage.zarr.codecs import Codec, Pipeline, compressor_codec
from molrec.storage.zarr.layout import ArrayLayout, codecs_for

__all__ = ["DENSE_CHUNK_ROWS", "Profile", "Storage", "block_chunk_rows", "check_profile", "fixed_layout"]

type Profile = Literal["live", "archive"]

_KIB, _MIB = 1024, 1024 * 1024
_LEAST_CHUNK_BYTES = 16 * _KIB
_SHARD_BYTES = 256 * _MIB
_MOST_CHUNKS_PER_SHARD = 4096
DENSE_CHUNK_ROWS = 1024
_DENSE_CHUNKS_PER_SHARD = 256
#: An aligned block is there to change rarely; the index of a full shard would outweigh what is in it.
_ALIGNED_CHUNKS_PER_SHARD = 128
_FIXED_CHUNK_BYTES = 512 * _KIB
_FIXED_CHUNKS_UNSHARDED = 4

#: The archive gathers at least this many frames per chunk, more while a chunk of the narrowest column stays below
#: these bytes, fewer where a chunk of the widest one would pass the last.
_ARCHIVE_FRAMES = 64
_ARCHIVE_LEAST_BYTES = 128 * _KIB
_ARCHIVE_MOST_BYTES = 16 * _MIB
_ARCHIVE_ZSTD_LEVEL = 9

_GZIP_1: Codec = ("gzip", {"level": 1})
_ZSTD_3: Codec = ("zstd", {"level": 3, "checksum": False})


def check_profile(profile: str) -> Profile:
    """Return a known profile name.

    Raises:
        SchemaError: Neither ``live`` nor ``archive`` (``reject-unknown-profile``).
    """
    if profile not in ("live", "archive"):
        raise SchemaError(f"profile {profile!r} is neither 'live' nor 'archive'", "reject-unknown-profile")
    return "archive" if profile == "archive" else "live"


def _shuffle(size: int) -> Codec:
    return ("numcodecs.shuffle", {"elementsize": size})


def block_chunk_rows(block: BlockSchema, frame_rows: int, profile: Profile) -> int:
    """Return the rows per chunk all columns of a block share.

    Live: the smallest multiple of `frame_rows` that makes a 16 KiB chunk of the narrowest column. Archive: 64 frames,
    more for small ones (128 KiB of the narrowest column), fewer for large ones (16 MiB of the widest).
    """
    widths = [max(1, row_bytes(column.dtype, column.trailing)) for column in block.columns.values()] or [8]
    narrowest, widest = min(widths), max(widths)
    least = max(1, _LEAST_CHUNK_BYTES // narrowest)
    if frame_rows == 0:
        return least
    frames = math.ceil(max(frame_rows, math.ceil(_LEAST_CHUNK_BYTES / narrowest)) / frame_rows)
    if profile == "archive":
        deep = max(_ARCHIVE_FRAMES, math.ceil(_ARCHIVE_LEAST_BYTES / (narrowest * frame_rows)))
        frames = max(frames, min(deep, _ARCHIVE_MOST_BYTES // (widest * frame_rows)))
    return frame_rows * frames


class Storage:
    """A profile with its compression knob: makes the layout of every array of a trajectory.

    Args:
        profile: ``live`` or ``archive``.
        compression: Compressor of float columns: None, ``gzip[:level]`` or ``zstd[:level]``.
    """

    def __init__(self, profile: str = "live", compression: str | None = None) -> None:
        self.profile: Profile = check_profile(profile)
        self._knob = compressor_codec(compression)

    def pipeline(self, dtype: str, *, dense: bool, precision: bool = False) -> Pipeline:
        """Return the chunk pipeline of a column (`dense` for step, time, meta, index and box arrays)."""
        if self.profile == "archive":
            return self._archive_pipeline(dtype)
        if dtype in FLOAT_DTYPES and not dense:
            if precision:
                return codecs_for(dtype, _shuffle(8), self._knob or _ZSTD_3)
            return codecs_for(dtype, self._knob)
        return codecs_for(dtype, _GZIP_1)

    def _archive_pipeline(self, dtype: str) -> Pipeline:
        compressor = self._knob or ("zstd", {"level": _ARCHIVE_ZSTD_LEVEL, "checksum": False})
        size = 1 if dtype == "string" else numpy_dtype(dtype).itemsize
        return codecs_for(dtype, _shuffle(size) if size > 1 else None, compressor)

    def column(
        self,
        dtype: str,
        trailing: tuple[int, ...],
        chunk_rows: int,
        *,
        precision: bool,
        known_rows: int | None,
        aligned: bool = False,
    ) -> ArrayLayout:
        """Return the layout of a column of a block, which may be `aligned` with another.

        `known_rows` is the final length when it is known, else None.
        """
        chunks = _chunks_per_shard(chunk_rows * max(1, row_bytes(dtype, trailing)))
        return self._sharded(
            dtype,
            trailing,
            chunk_rows,
            min(chunks, _ALIGNED_CHUNKS_PER_SHARD) if aligned else chunks,
            self.pipeline(dtype, dense=False, precision=precision),
            known_rows,
        )

    def dense(self, dtype: str, trailing: tuple[int, ...], *, known_rows: int | None) -> ArrayLayout:
        """Return the layout of a dense array: step, time, a meta series, an index or a box array."""
        pipeline = self.pipeline(dtype, dense=True)
        return self._sharded(dtype, trailing, DENSE_CHUNK_ROWS, _DENSE_CHUNKS_PER_SHARD, pipeline, known_rows)

    def _sharded(
        self,
        dtype: str,
        trailing: tuple[int, ...],
        chunk_rows: int,
        chunks: int,
        pipeline: Pipeline,
        known_rows: int | None,
    ) -> ArrayLayout:
        if known_rows is not None:
            chunk_rows = max(1, min(chunk_rows, known_rows))
            chunks = max(1, min(chunks, math.ceil(known_rows / chunk_rows)))
        return ArrayLayout(dtype, (0, *trailing), chunk_rows, chunks, pipeline)


def _chunks_per_shard(chunk_bytes: int) -> int:
    return max(1, min(_SHARD_BYTES // chunk_bytes, _MOST_CHUNKS_PER_SHARD))


def fixed_layout(dtype: str, shape: tuple[int, ...], *, precision: bool) -> ArrayLayout:
    """Return the layout of an array of final shape: a column of a frame, a mask, a box array."""
    pipeline = Storage().pipeline(dtype, dense=False, precision=precision)
    rows = shape[0] if shape else 1
    if dtype == "string" or not rows or not shape:
        return ArrayLayout(dtype, shape, max(1, rows), 0, pipeline)
    chunk_rows = min(rows, max(1, _FIXED_CHUNK_BYTES // max(1, row_bytes(dtype, shape[1:]))))
    chunks = math.ceil(rows / chunk_rows)
    if chunks <= _FIXED_CHUNKS_UNSHARDED:
        return ArrayLayout(dtype, shape, chunk_rows, 0, pipeline)
    return ArrayLayout(dtype, shape, chunk_rows, chunks, pipeline, index_at_start=False)
