"""Rewriting a closed record with other extents and codecs; every value, update and unknown node stays what it was."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from molrec.dtypes import row_bytes
from molrec.storage.zarr import names
from molrec.storage.zarr.array_reader import ArrayReader, open_array
from molrec.storage.zarr.extents import Storage, block_chunk_rows
from molrec.storage.zarr.files import TEMPORARY, sync_directory, write_new_file
from molrec.storage.zarr.journal import JOURNAL_NAME
from molrec.storage.zarr.layout import ArrayLayout
from molrec.storage.zarr.packing import pack
from molrec.storage.zarr.root import read_meta, refuse_existing, require_root
from molrec.storage.zarr.shard_appender import ShardAppender
from molrec.storage.zarr.sources import Source, read_document
from molrec.storage.zarr.trajectory_reader import TrajectoryReader

__all__ = ["repack"]

type Progress = Callable[[int, int], None]

_COPY_BYTES = 16 * 2**20


def repack(
    source: Source,
    destination: str | os.PathLike[str],
    *,
    profile: str = "archive",
    compression: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write a record again with the extents and codecs of a profile and return its path.

    Only the trajectory's arrays are encoded anew, at their committed length; everything else, known or not, is copied
    byte for byte.

    Args:
        source: The record to read.
        destination: Folder ``*.mrec``, or ``*.zip`` for a packed record.
        profile: ``archive`` or ``live``.
        compression: Compressor of float columns, as for `TrajectoryWriter`.
        overwrite: Whether an existing packed destination is replaced; a folder never is.
        progress: Called with bytes done and bytes in all.

    Raises:
        SchemaError: The destination exists (``reject-existing-path``).
        FormatError: The source is damaged.
    """
    target = Path(destination)
    packed = target.suffix == ".zip"
    if not (packed and overwrite):
        refuse_existing(target)
    require_root(source)
    read_meta(source)
    storage = Storage(profile, compression)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}{TEMPORARY}")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _copy_nodes(source, "", temporary)
        if read_document(source, names.TRAJECTORY) is not None:
            _TrajectoryRepacker(source, temporary, storage, progress).run()
        if packed:
            pack(temporary, target, overwrite=overwrite)
        else:
            refuse_existing(target)
            os.rename(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sync_directory(target.parent)
    return target


def _copy_nodes(source: Source, path: str, folder: Path) -> None:
    """Copy every object below a path, the trajectory's own arrays excepted."""
    for name in source.children(path):
        inner = f"{path}/{name}" if path else name
        if inner == names.TRAJECTORY:
            continue
        content = source.get(inner)
        if content is None:
            _copy_nodes(source, inner, folder)
        elif not _is_leftover(name):
            write_new_file(folder / inner, bytes(content))


def _is_leftover(name: str) -> bool:
    return name.startswith(".") and name.endswith(TEMPORARY)


class _TrajectoryRepacker:
    """Encodes the arrays of one trajectory anew."""

    def __init__(self, source: Source, folder: Path, storage: Storage, progress: Progress | None) -> None:
        self._source = source
        self._folder = folder
        self._storage = storage
        self._progress = progress
        self._reader = TrajectoryReader(source)
        self._arrays = dict(self._plan())
        self._total = sum(_size(reader, rows) for reader, rows, _ in self._arrays.values())
        self._done = 0

    def run(self) -> None:
        """Copy groups and unknown nodes, then every array."""
        self._copy_rest(names.TRAJECTORY)
        for path, (reader, rows, layout) in self._arrays.items():
            layout.attributes = reader.layout.free_attributes
            layout.extra = reader.layout.extra
            self._encode(path, reader, rows, layout)

    def _plan(self) -> Iterator[tuple[str, tuple[ArrayReader, int, ArrayLayout]]]:
        """Yield each array in force with its committed length and new layout."""
        nstep = len(self._reader)
        for name, declared in self._reader.schema.blocks.items() if nstep else ():
            block = self._reader.block_reader(name)
            index = block.index
            chunk_rows = block_chunk_rows(declared, index.largest, self._storage.profile)
            for path, array in (
                *((names.column_path(name, column), array) for column, array in block.columns.items()),
                *((names.mask_path(name, column), array) for column, array in block.masks.items()),
            ):
                layout = self._storage.column(
                    array.layout.dtype,
                    array.layout.trailing,
                    chunk_rows,
                    precision=path == names.column_path(name, path.rpartition("/")[2])
                    and path.rpartition("/")[2] in block.precision,
                    known_rows=index.rows,
                )
                yield path, (array, index.rows, layout)
            if not index.is_regular:
                yield from self._dense(f"{names.TRAJECTORY}/{name}/{names.STEP_INDEX}", index.count)
                yield from self._dense(f"{names.TRAJECTORY}/{name}/{names.OFFSET}", index.count + 1)
        for path in (names.STEP, names.TIME):
            if f"{path.rpartition('/')[2]}_progression" not in self._reader.attributes:
                yield from self._dense(path, nstep)
        for key in self._reader.schema.meta:
            yield from self._dense(f"{names.SERIES_META}/{key}", nstep)
        cells = self._reader.box_series
        for part in cells.arrays:
            yield from self._dense(f"{names.BOX}/{part}", cells.count)

    def _dense(self, path: str, rows: int) -> Iterator[tuple[str, tuple[ArrayReader, int, ArrayLayout]]]:
        array = open_array(self._source, path)
        if array is not None:
            layout = self._storage.dense(array.layout.dtype, array.layout.trailing, known_rows=rows)
            yield path, (array, rows, layout)

    def _copy_rest(self, path: str) -> None:
        for name in self._source.children(path):
            inner = f"{path}/{name}"
            if inner in self._arrays or name == JOURNAL_NAME:
                continue
            content = self._source.get(inner)
            if content is not None:
                if not _is_leftover(name):
                    write_new_file(self._folder / inner, bytes(content))
            elif not names.is_layout_array(inner, self._reader.schema):
                # An array of the layout that is not in the plan was left out of force by an interrupted commit.
                self._copy_rest(inner)

    def _encode(self, path: str, reader: ArrayReader, rows: int, layout: ArrayLayout) -> None:
        appender = ShardAppender(self._folder, path, layout)
        whole = layout.chunk_rows * max(1, _COPY_BYTES // max(1, _row_size(reader) * layout.chunk_rows))
        starts = range(0, rows, whole) if rows else range(1)
        for start in starts:
            stop = min(rows, start + whole)
            piece = reader.read(start, stop)
            appender.append(np.ascontiguousarray(piece))
            appender.stage()
            appender.write_chunks()
            appender.write_index()
            appender.write_metadata(durable=False)
            appender.settle()
            self._done += (stop - start) * _row_size(reader)
            if self._progress is not None:
                self._progress(self._done, self._total)
        appender.close()


def _row_size(reader: ArrayReader) -> int:
    return max(1, row_bytes(reader.layout.dtype, reader.layout.trailing))


def _size(reader: ArrayReader, rows: int) -> int:
    return rows * _row_size(reader)
