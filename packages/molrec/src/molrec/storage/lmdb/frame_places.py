"""Frames remembered: where each lies in the map, how it is laid out, what its per-step values are.

A training loop asks for the same frames every epoch. The first time a frame is read as any other, header and all; from
then on some 30 bytes of it are kept, and a batch of such frames is gathered by numpy alone: their payloads end to end,
and one index for every column. A file in place never changes (``docs/spec/lmdb.md``, the file), so what is remembered
stays true; after a fork the map is another one, and only its address is looked up again.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from molrec import typedjson
from molrec.dtypes import STRING, Array, numpy_dtype
from molrec.errors import FormatError
from molrec.storage.lmdb import names
from molrec.storage.lmdb.environment import mapped_view
from molrec.storage.lmdb.layout import ALIGNMENT, Layout, PlainColumns, PlainLayout
from molrec.storage.lmdb.row_pointers import checked_flags, row_pointers
from molrec.storage.lmdb.stored_run import Declared

if TYPE_CHECKING:
    import lmdb

    from molrec.model.schema import ColumnSchema

__all__ = ["FramePlaces"]

type _Integers = npt.NDArray[np.int64]

_MOST_LAYOUTS, _MOST_REQUESTS = 1 << 16, 64
_UNKNOWN, _NOT_KEPT = -1, -2


class _Column:
    """One column asked for, as runs of words of 1, 2, 4 or 8 bytes.

    Attributes:
        place: Its number among the columns asked for.
        word: Bytes of a word.
        words_per_row: Words in a row.
    """

    __slots__ = ("block", "dtype", "is_flag", "key", "name", "nullable", "place", "trailing", "word", "words_per_row")

    def __init__(self, block: str, name: str, dtype: np.dtype[Any], pinned: ColumnSchema) -> None:
        self.place = 0
        self.block = block
        self.name = name
        self.key = f"{block}/{name}"
        self.dtype = dtype
        self.is_flag = dtype.kind == "b"
        self.trailing = pinned.trailing
        self.nullable = pinned.nullable
        self.word = min(dtype.itemsize, ALIGNMENT)
        self.words_per_row = math.prod(pinned.trailing) * dtype.itemsize // self.word


class _Tables(NamedTuple):
    """By layout: rows of each block, offset of each column, offset of each mask (-1: no nulls)."""

    rows: _Integers
    offsets: _Integers
    masks: _Integers


class _Window(NamedTuple):
    """The part of the map the known frames lie in, counted from the anchor."""

    handle: lmdb.Environment
    address: int
    low: int
    high: int


@dataclass(slots=True)
class _Request:
    """What a batch asks for, and where the layouts known so far have it."""

    blocks: dict[str, list[_Column]]
    #: By block: columns of one word and width, which go through one index.
    alike: dict[str, list[list[_Column]]]
    meta: list[str]
    tables: _Tables

    def know(self, layouts: Sequence[PlainLayout]) -> _Tables:
        """Look up what is asked for in layouts that are new, and return the tables of all."""
        known = len(self.tables.rows)
        if known < len(layouts):
            columns = [column for found in self.blocks.values() for column in found]
            more = [dict(layout) for layout in layouts[known:]]
            rows = [[layout[name][0] if name in layout else 0 for name in self.blocks] for layout in more]
            places = [[_place(layout, column) for column in columns] for layout in more]
            self.tables = _Tables(
                _grown(self.tables.rows, rows, len(self.blocks)),
                _grown(self.tables.offsets, [[offset for offset, _ in row] for row in places], len(columns)),
                _grown(self.tables.masks, [[mask for _, mask in row] for row in places], len(columns)),
            )
        return self.tables


def _place(layout: Mapping[str, tuple[int, PlainColumns]], column: _Column) -> tuple[int, int]:
    found = layout.get(column.block)
    if found is None:
        return 0, -1
    return next((offset, mask) for name, offset, mask in found[1] if name == column.name)


def _grown(table: _Integers, rows: list[list[int]], width: int) -> _Integers:
    more = np.array(rows, dtype=np.int64).reshape(len(rows), width)
    return np.concatenate([table.reshape(len(table), width), more])


class FramePlaces:
    """The frames of one file, as far as they were read.

    Args:
        declared: The declaration of the collection.
        n_frames: Frames of the file.
        where: The file, for messages.
    """

    def __init__(self, declared: Declared, n_frames: int, where: str) -> None:
        self._declared = declared
        self._where = where
        self._layout = np.full(n_frames, _UNKNOWN, np.int32)
        self._place = np.zeros(n_frames, np.int64)
        self._size = np.zeros(n_frames, np.int64)
        self._meta: dict[str, Array] = {}
        for key, tag in declared.tags.items():
            if tag not in ("json", "string"):
                dtype, trailing = typedjson.series_column(tag)
                self._meta[key] = np.zeros((n_frames, *trailing), numpy_dtype(dtype))
        self._layouts: list[PlainLayout] = []
        self._numbers: dict[PlainLayout, int] = {}
        self._requests: dict[tuple[Any, ...], _Request | None] = {}
        #: Places count from this frame's payload; the map, and where in it that payload is.
        self._anchor: int | None = None
        #: Held while anything here is found out; renewed where a fork may have left it held.
        self._lock = Lock()
        self._process = os.getpid()
        self._map: lmdb.Environment | None = None
        self._address = 0
        self._low = self._high = 0

    def batch(
        self,
        records: Sequence[int],
        frames: _Integers,
        columns: Sequence[str] | None,
        meta: Sequence[str] | None,
        handle: lmdb.Environment,
        transaction: lmdb.Transaction[memoryview],
    ) -> dict[str, Any] | None:
        """Return a batch of records of one frame each, as `Collection.batch` does; None where it is not for here.

        Args:
            records: Their numbers.
            frames: Global ordinals of their frames.
            columns: Names ``"block/column"``, or None.
            meta: Per-step keys, or None.
            handle: The open file.
            transaction: A transaction of it.

        Raises:
            FormatError: A frame is refused.
        """
        if self._process != os.getpid():
            self._lock, self._process = Lock(), os.getpid()
        with self._lock:
            request = self._request(columns, meta)
            if request is None or not self._know(records, frames, handle, transaction):
                return None
            tables = request.know(self._layouts)
            window = _Window(handle, self._address, self._low, self._high)
        return self._gathered(frames, request, tables, window)

    def _know(
        self,
        records: Sequence[int],
        frames: _Integers,
        handle: lmdb.Environment,
        transaction: lmdb.Transaction[memoryview],
    ) -> bool:
        """Find out about frames that are new, and return whether all of them are known now."""
        if self._map is not handle:
            self._find_anchor(handle, transaction)
        layouts = self._layout[frames]
        if layouts.min() >= 0:
            return True
        unknown = np.flatnonzero(layouts == _UNKNOWN)
        try:
            self._learn(frames[unknown].tolist(), repeat(""), transaction)
        except FormatError:
            # once more, with names for the message
            places = (f"{self._where}: record {records[place]}" for place in unknown.tolist())
            self._learn(frames[unknown].tolist(), places, transaction)
        return bool(self._layout[frames].min() >= 0)

    # -- what is asked for ------------------------------------------------------------------------------------------

    def _request(self, columns: Sequence[str] | None, meta: Sequence[str] | None) -> _Request | None:
        key = (
            None if columns is None else (columns,) if isinstance(columns, str) else tuple(columns),
            None if meta is None else tuple(meta),
        )
        if key not in self._requests:
            if len(self._requests) >= _MOST_REQUESTS:
                self._requests.clear()
            self._requests[key] = self._understood(*key)
        return self._requests[key]

    def _understood(self, columns: tuple[str, ...] | None, meta: tuple[str, ...] | None) -> _Request | None:
        """Return a request for columns of fixed size and numbers; None for anything else."""
        if sys.byteorder != "little":
            return None
        schema = self._declared.schema
        if columns is None:
            columns = tuple(f"{name}/{column}" for name, block in schema.blocks.items() for column in block.columns)
        blocks: dict[str, list[_Column]] = {}
        for place in dict.fromkeys(columns):
            name, _, column = place.partition("/")
            pinned = schema.blocks[name].columns.get(column) if name in schema.blocks else None
            if pinned is None or numpy_dtype(pinned.dtype) == STRING:
                return None
            found = _Column(name, column, numpy_dtype(pinned.dtype), pinned)
            if not found.words_per_row:
                return None
            blocks.setdefault(name, []).append(found)
        keys = list(self._declared.tags if meta is None else meta)
        if not all(key in self._meta for key in keys):
            return None
        # the columns of a block stand side by side in the tables
        for number, asked in enumerate(one for alike in blocks.values() for one in alike):
            asked.place = number
        empty = np.zeros((0, 0), np.int64)
        alike = {name: _alike(columns) for name, columns in blocks.items()}
        return _Request(blocks, alike, keys, _Tables(empty, empty, empty))

    # -- what is known ----------------------------------------------------------------------------------------------

    def _find_anchor(self, handle: lmdb.Environment, transaction: lmdb.Transaction[memoryview]) -> None:
        if self._anchor is not None:
            value = transaction.get(names.frame_key(self._anchor))
            assert value is not None
            self._address = _address(value)
        self._map = handle

    def _learn(self, frames: Sequence[int], names_of: Iterable[str], transaction: lmdb.Transaction[memoryview]) -> None:
        """Read the headers of frames and keep what they say; nothing is kept where one is refused."""
        decoder = self._declared.decoder
        layouts: list[int] = []
        places: list[int] = []
        sizes: list[int] = []
        values: dict[str, list[Any]] = {key: [] for key in self._meta}
        for number, where in zip(frames, names_of, strict=False):
            value = transaction.get(names.frame_key(number))
            if value is None:
                raise FormatError(f"{where}: frame 0 is not there", "reject-missing-key")
            layout, rest, base = decoder.layout(value, where)
            stated = decoder.meta(rest, where)
            size = layout.end + -layout.end % ALIGNMENT
            address = _address(value)
            if self._anchor is None:
                self._anchor, self._address = number, address
            layouts.append(self._number_of(layout) if base + size <= len(value) else _NOT_KEPT)
            places.append(address + base - self._address)
            sizes.append(size)
            for key, kept in values.items():
                kept.append(stated[key])
        self._place[frames], self._size[frames] = places, sizes
        for key, kept in values.items():
            self._meta[key][frames] = kept
        for place, size, layout_number in zip(places, sizes, layouts, strict=True):
            if layout_number >= 0:
                self._low, self._high = min(self._low, place), max(self._high, place + size)
        # last, since it says that the rest is there
        self._layout[frames] = layouts

    def _number_of(self, layout: Layout) -> int:
        """Return the number of a layout; layouts that differ in nothing but texts have one."""
        if layout.number is None:
            plain = layout.plain_places()
            number = self._numbers.get(plain)
            if number is None:
                if len(self._layouts) >= _MOST_LAYOUTS:
                    return _NOT_KEPT
                # In this order: a fork in between may forget a layout, and never gives its number to another.
                self._layouts.append(plain)
                number = self._numbers[plain] = len(self._layouts) - 1
            layout.number = number
        return layout.number

    # -- the batch --------------------------------------------------------------------------------------------------

    def _gathered(self, frames: _Integers, request: _Request, tables: _Tables, window: _Window) -> dict[str, Any]:
        layouts, sizes = self._layout[frames], self._size[frames]
        payload = _payload(window, self._place[frames], sizes)
        starts = np.cumsum(sizes) - sizes
        offsets = tables.offsets[layouts]
        batch: dict[str, Any] = {"/": np.arange(len(frames) + 1)}
        for place, (name, columns) in enumerate(request.blocks.items()):
            rows = tables.rows[layouts, place]
            batch[name] = pointers = row_pointers(rows)
            arrays: dict[str, Array] = {}
            for alike in request.alike[name]:
                arrays |= _columns(payload, starts, rows, pointers, offsets, alike)
            for column in columns:
                values = arrays[column.key]
                batch[column.key] = checked_flags(values, column.key, self._where) if column.is_flag else values
                if column.nullable:
                    mask = _mask(payload, starts, pointers, tables.masks[layouts, column.place])
                    batch[f"{column.key}/validity"] = checked_flags(mask, column.key, self._where)
        for key in request.meta:
            batch[f"meta/{key}"] = self._meta[key][frames]
        return batch


def _payload(window: _Window, places: _Integers, sizes: _Integers) -> npt.NDArray[np.uint8]:
    """Return the payloads of frames end to end; each begins at a multiple of 8."""
    view = memoryview(mapped_view(window.handle, window.address + window.low, window.high - window.low))
    begins = places - window.low
    ends = begins + sizes
    pieces = [view[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    return np.frombuffer(bytearray().join(pieces), np.uint8)


def _address(value: memoryview) -> int:
    address: int = np.frombuffer(value, np.uint8).__array_interface__["data"][0]
    return address


def _alike(columns: Sequence[_Column]) -> list[list[_Column]]:
    groups: dict[tuple[int, int], list[_Column]] = {}
    for column in columns:
        groups.setdefault((column.word, column.words_per_row), []).append(column)
    return list(groups.values())


def _columns(
    payload: npt.NDArray[np.uint8],
    starts: _Integers,
    rows: _Integers,
    pointers: _Integers,
    offsets: _Integers,
    columns: Sequence[_Column],
) -> dict[str, Array]:
    """Return columns of one block that are alike, gathered through one index."""
    word, per_row = columns[0].word, columns[0].words_per_row
    first = (starts[:, np.newaxis] + offsets[:, [column.place for column in columns]]) // word
    first -= (pointers[:-1] * per_row)[:, np.newaxis]
    index = np.repeat(first.T, rows * per_row, axis=1)
    index += np.arange(index.shape[1])
    found = payload.view(f"u{word}").take(index)
    return {
        column.key: words.view(column.dtype).reshape(-1, *column.trailing)
        for column, words in zip(columns, found, strict=True)
    }


def _mask(
    payload: npt.NDArray[np.uint8], starts: _Integers, pointers: _Integers, masks: _Integers
) -> npt.NDArray[np.bool_]:
    """Return a mask; most frames have none stored, as nothing of theirs is null."""
    mask = np.ones(int(pointers[-1]), np.bool_)
    for place in np.flatnonzero(masks >= 0).tolist():
        first, last = pointers[place], pointers[place + 1]
        begin = starts[place] + masks[place]
        mask[first:last] = payload[begin : begin + last - first].view(np.bool_)
    return mask
