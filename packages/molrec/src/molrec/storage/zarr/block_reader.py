"""One block of a stored run: its update index, and the rows of its columns (``docs/spec/trajectory.md``).

Columns that share chunk extents and pipeline are decoded together, one call per chunk position.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.errors import FormatError
from molrec.model.carry_forward import UpdateIndex
from molrec.model.schema import BlockSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.array_reader import ArrayReader, open_array
from molrec.storage.zarr.chunk_cache import ChunkCache
from molrec.storage.zarr.frame_group import group_attributes
from molrec.storage.zarr.memory import new_array
from molrec.storage.zarr.sources import Source, read_document

__all__ = ["BlockReader", "check_ascending", "read_dense", "read_ordinals"]

_group_ids = count()


class _ColumnGroup:
    """Arrays whose chunks lie and decode alike; `fused` ones are decoded in one call."""

    def __init__(self, members: list[tuple[str, ArrayReader]]) -> None:
        self.members = members
        self.identity = next(_group_ids)
        self.chunk_rows = members[0][1].layout.chunk_rows
        self.simple = members[0][1].layout.simple

    def chunk(self, number: int) -> list[Array]:
        """Return the decoded chunk of every member."""
        if len(self.members) == 1:
            return [_read_only(self.members[0][1].chunk(number))]
        readers = [reader for _, reader in self.members]
        stored = [reader.stored_chunk(number) for reader in readers]
        present = [chunk for chunk in stored if chunk is not None]
        layout = readers[0].layout
        if len(present) < len(stored) or layout.pipeline is None:
            return [_read_only(reader.chunk(number)) for reader in readers]
        out = new_array((len(readers), *layout.chunk_shape), layout.numpy, readers[0].where(number))
        layout.pipeline.decode_into(present, out, lambda place: readers[place].where(number))
        out.flags.writeable = False
        return list(out)


def _read_only(values: Array) -> Array:
    values.flags.writeable = False
    return values


class BlockReader:
    """Reads one declared block; opened lazily by the trajectory reader.

    Raises:
        FormatError: The block's groups and arrays contradict each other or the declaration.
    """

    def __init__(self, source: Source, name: str, declared: BlockSchema, nstep: int, cache: ChunkCache) -> None:
        self.name = name
        self.declared = declared
        self._source = source
        self._cache = cache
        self._path = f"{names.TRAJECTORY}/{name}"
        self._where = f"{source.name}: {self._path}"
        # Before the first commit there is nothing but what an interrupted one may have left.
        document = read_document(source, self._path) if nstep else None
        if document is None and nstep:
            raise FormatError(f"{self._where} is declared but not there", "reject-array-missing")
        self.attributes = {} if document is None else group_attributes(document, self._where)
        self.columns: dict[str, ArrayReader] = {}
        self.masks: dict[str, ArrayReader] = {}
        if document is not None:
            self._open_columns()
        self.index = self._read_index(nstep) if nstep else UpdateIndex(0, 0, None, None)
        self._check_lengths()
        self.precision = declared.precisions
        self._groups = _group(self.columns)
        self._mask_groups = _group(self.masks)

    def _open_columns(self) -> None:
        for column, pinned in self.declared.columns.items():
            reader = self._open(names.column_path(self.name, column))
            if (reader.layout.dtype, reader.layout.trailing) != (pinned.dtype, pinned.trailing):
                raise FormatError(
                    f"{self._where}/{column} is stored as {reader.layout.dtype} with trailing shape "
                    f"{list(reader.layout.trailing)} but declared {pinned.dtype} with {list(pinned.trailing)}",
                    "reject-array-disagrees",
                )
            self.columns[column] = reader
            if pinned.nullable:
                mask = self._open(names.mask_path(self.name, column))
                if mask.layout.dtype != "bool" or mask.layout.trailing:
                    raise FormatError(
                        f"{self._where}/{names.VALIDITY}/{column} is a bool per row, found {mask.layout.dtype} with "
                        f"shape {list(mask.layout.shape)}",
                        "reject-validity-mask",
                    )
                self.masks[column] = mask
        for name in self._source.children(f"{self._path}/{names.VALIDITY}"):
            if name in self.columns and name not in self.masks:
                raise FormatError(
                    f"{self._where}/{names.VALIDITY}/{name} masks a column that is not declared nullable",
                    "reject-mask-not-declared",
                )

    def _open(self, path: str) -> ArrayReader:
        reader = open_array(self._source, path)
        if reader is None:
            raise FormatError(f"{self._source.name}: {path} is declared but not there", "reject-array-missing")
        return reader

    # -- the update index -------------------------------------------------------------------------------------------

    def _read_index(self, nstep: int) -> UpdateIndex:
        step_index = open_array(self._source, f"{self._path}/{names.STEP_INDEX}")
        offset = open_array(self._source, f"{self._path}/{names.OFFSET}")
        uniform_rows = self._read_markers()
        # A writer that dies while it gives up the elided form leaves both; the arrays then hold the whole history,
        # unless it died before it filled them.
        unfilled = uniform_rows is not None and step_index is not None and not step_index.layout.rows
        if step_index is not None and offset is not None and not unfilled:
            ordinals = self._read_ordinals(step_index, nstep)
            committed = int((ordinals < np.uint64(nstep)).sum())
            return UpdateIndex.from_arrays(ordinals, self._read_u64(offset, committed + 1), nstep, self._where)
        lengths = [reader.layout.rows for reader in self.columns.values()]
        stored = min(lengths, default=0)
        if uniform_rows is not None:
            # Rows past the last frame are an abandoned tail of any length; before it, updates are whole.
            if stored // uniform_rows < nstep and (stored % uniform_rows or max(lengths) > stored):
                raise FormatError(
                    f"{self._where}: uniform_rows is {uniform_rows} but the columns hold {stored} to {max(lengths)} "
                    f"rows, no whole number of updates before frame {nstep}",
                    "reject-uniform-rows",
                )
            return UpdateIndex.regular(uniform_rows, stored, nstep)
        # One array alone is what is left of a first update that was never committed.
        abandoned = step_index is None or not (self._read_ordinals(step_index, nstep) < np.uint64(nstep)).any()
        if stored or not abandoned:
            raise FormatError(
                f"{self._where} holds rows but neither elision markers nor both {names.STEP_INDEX} and {names.OFFSET}",
                "reject-index-missing",
            )
        return UpdateIndex(0, 0, None, None)

    def _read_ordinals(self, reader: ArrayReader, nstep: int) -> Array:
        """Return the entries of ``step_index`` up to the chunk in which an uncommitted tail begins."""
        self._check_u64(reader)
        return read_ordinals(reader, nstep)

    def _read_u64(self, reader: ArrayReader, most: int) -> Array:
        self._check_u64(reader)
        return reader.read(0, min(most, reader.layout.rows))

    def _check_u64(self, reader: ArrayReader) -> None:
        if reader.layout.dtype != "u64" or reader.layout.trailing:
            raise FormatError(
                f"{self._source.name}: {reader.path} is u64 with one value per entry, found {reader.layout.dtype} with "
                f"shape {list(reader.layout.shape)}",
                "reject-array-disagrees",
            )

    def _read_markers(self) -> int | None:
        """Return ``uniform_rows`` of an elided block, or None."""
        rows, dense = self.attributes.get(names.UNIFORM_ROWS), self.attributes.get(names.DENSE_UPDATES)
        if rows is None and dense is None:
            return None
        if rows is None or dense is None:
            raise FormatError(
                f"{self._where}: {names.UNIFORM_ROWS} and {names.DENSE_UPDATES} are a pair, found "
                f"{names.UNIFORM_ROWS if dense is None else names.DENSE_UPDATES} alone",
                "reject-elision-marker-alone",
            )
        if dense is not True:
            raise FormatError(
                f"{self._where}: {names.DENSE_UPDATES} is true or absent, found {dense!r}",
                "reject-elision-marker-alone",
            )
        if type(rows) is not int or not 1 <= rows < 2**63:
            raise FormatError(
                f"{self._where}: {names.UNIFORM_ROWS} is a positive integer, found {rows!r}", "reject-uniform-rows"
            )
        if not self.declared.columns:
            raise FormatError(
                f"{self._where}: a block without columns has no elided form", "reject-elision-without-columns"
            )
        return rows

    def _check_lengths(self) -> None:
        """Refuse columns shorter than the committed rows, and grids of another size."""
        rows = self.index.rows
        for reader in (*self.columns.values(), *self.masks.values()):
            if reader.layout.rows < rows:
                raise FormatError(
                    f"{self._source.name}: {reader.path} holds {reader.layout.rows} rows but {rows} are committed",
                    "reject-array-short",
                )
        shape = self.declared.structural_shape
        if shape is not None and self.index.count:
            counts, points = np.diff(self.index.offsets()), math.prod(shape)
            if (counts != points).any():
                raise FormatError(
                    f"{self._where}: every update of a grid of {list(shape)} has {points} rows, found "
                    f"{int(counts[counts != points][0])}",
                    "reject-structural-shape",
                )

    # -- rows -------------------------------------------------------------------------------------------------------

    def rows(self, start: int, stop: int) -> dict[str, Array]:
        """Return rows ``start:stop`` of every column, as read-only views of cached chunks where they can be."""
        found = self._read_groups(self._groups, start, stop)
        return {column: found[column] for column in self.columns} if len(self._groups) > 1 else found

    def valid(self, start: int, stop: int) -> dict[str, npt.NDArray[np.bool_]]:
        """Return the masks of rows ``start:stop`` that mark any null."""
        if not self.masks:
            return {}
        found = self._read_groups(self._mask_groups, start, stop)
        return {column: mask for column, mask in found.items() if not mask.all()}

    def _read_groups(self, groups: list[_ColumnGroup], start: int, stop: int) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for group in groups:
            first = start // group.chunk_rows
            if not group.simple or stop <= start or (stop - 1) // group.chunk_rows != first:
                for name, reader in group.members:
                    found[name] = _read_only(self._across(group, reader, start, stop))
                continue
            chunks = self._chunk(group, first)
            low, high = start - first * group.chunk_rows, stop - first * group.chunk_rows
            for (name, _), chunk in zip(group.members, chunks, strict=True):
                found[name] = chunk[low:high]
        return found

    def _chunk(self, group: _ColumnGroup, number: int) -> list[Array]:
        key = (group.identity, number)
        chunks = self._cache.get(key)
        if chunks is None:
            chunks = group.chunk(number)
            self._cache.put(key, chunks)
        return chunks

    def _across(self, group: _ColumnGroup, reader: ArrayReader, start: int, stop: int) -> Array:
        """Return rows that span chunks."""
        if stop <= start:
            return np.empty((0, *reader.layout.trailing), dtype=reader.layout.numpy)
        if not group.simple:
            return reader.read(start, stop)
        place = [member for _, member in group.members].index(reader)
        pieces = []
        for number in range(start // group.chunk_rows, (stop - 1) // group.chunk_rows + 1):
            origin = number * group.chunk_rows
            chunk = self._chunk(group, number)[place]
            pieces.append(chunk[max(0, start - origin) : stop - origin])
        return np.concatenate(pieces)

    def gather(self, reader: ArrayReader, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> Array:
        """Return ascending, non-overlapping row spans of one array end to end, each chunk decoded once.

        Neighbouring spans are read as one run, whole chunks straight into the result.
        """
        lengths = stops - starts
        out = new_array((int(lengths.sum()), *reader.layout.trailing), reader.layout.numpy, self._where)
        filled = lengths > 0
        begin, end = starts[filled], stops[filled]
        if not begin.size:
            return out
        breaks = np.flatnonzero(begin[1:] != end[:-1]) + 1
        run_starts = begin[np.concatenate([[0], breaks])]
        run_stops = end[np.concatenate([breaks - 1, [len(end) - 1]])]
        place = 0
        kept: tuple[int, Array] | None = None
        for start, stop in zip(run_starts.tolist(), run_stops.tolist(), strict=True):
            rows = stop - start
            number = start // reader.layout.chunk_rows
            if reader.layout.simple and (stop - 1) // reader.layout.chunk_rows == number:
                if kept is None or kept[0] != number:
                    kept = (number, reader.chunk(number))
                origin = number * reader.layout.chunk_rows
                out[place : place + rows] = kept[1][start - origin : stop - origin]
            elif reader.layout.simple:
                reader.read_into(out[place : place + rows], start)
            else:
                out[place : place + rows] = reader.read(start, stop)
            place += rows
        return out


def _group(readers: dict[str, ArrayReader]) -> list[_ColumnGroup]:
    """Gather arrays that decode in one call; every other array is a group of its own."""
    together: dict[Any, list[tuple[str, ArrayReader]]] = {}
    for name, reader in readers.items():
        layout = reader.layout
        fused = layout.simple and layout.pipeline is not None and layout.pipeline.decodes_together(layout.numpy)
        key: Any = (layout.pipeline, layout.dtype, layout.chunk_shape) if fused and 0 not in layout.trailing else name
        together.setdefault(repr(key), []).append((name, reader))
    return [_ColumnGroup(members) for members in together.values()]


def read_ordinals(reader: ArrayReader, nstep: int) -> Array:
    """Return the leading entries of a ``step_index``, up to the end of the chunk that holds the first ``>= nstep``.

    What lies behind it was never committed and need not even be readable. Reading ends as well where entries do not
    ascend, which no reader takes: the fill value of chunks that are not there would go on for as long as is claimed.
    """
    if not reader.layout.simple:
        return reader.read()
    pieces: list[Array] = [np.empty(0, dtype=np.uint64)]
    step = reader.layout.chunk_rows
    for start in range(0, reader.layout.rows, step):
        pieces.append(reader.read(start, min(start + step, reader.layout.rows)))
        if (pieces[-1] >= np.uint64(nstep)).any() or (pieces[-1][1:] <= pieces[-1][:-1]).any():
            break
    return np.concatenate(pieces)


def read_dense(source: Source, path: str, dtype: str, trailing: tuple[int, ...], least: int) -> ArrayReader | None:
    """Open a dense array (step, time, a meta series, a box array) and check it against what it must be.

    Raises:
        FormatError: Another dtype or row shape (``reject-array-disagrees``), or fewer than `least` entries
            (``reject-array-short``).
    """
    reader = open_array(source, path)
    if reader is None:
        return None
    layout = reader.layout
    if (layout.dtype, layout.trailing) != (dtype, trailing) or not layout.shape:
        raise FormatError(
            f"{source.name}: {path} is {dtype} with row shape {list(trailing)}, found {layout.dtype} with shape "
            f"{list(layout.shape)}",
            "reject-array-disagrees",
        )
    if layout.rows < least:
        raise FormatError(
            f"{source.name}: {path} holds {layout.rows} entries but {least} are committed", "reject-array-short"
        )
    return reader


def check_ascending(values: Iterable[int], where: str, rule: str) -> None:
    """Refuse integers that do not increase strictly."""
    array = np.asarray(values)
    bad = np.flatnonzero(array[1:] <= array[:-1])
    if bad.size:
        place = int(bad[0]) + 1
        raise FormatError(
            f"{where}: entry {place} is {array[place]} after {array[place - 1]}; entries increase strictly", rule
        )
