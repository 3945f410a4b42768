"""Columns of many records end to end, copied from the map piece by piece; no frame is built (``docs/spec/lmdb.md``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import lmdb
import numpy as np

from molrec.dtypes import STRING, Array, numpy_dtype
from molrec.errors import FormatError, SchemaError
from molrec.model.beside_system import check_same_rows
from molrec.model.schema import SequenceSchema
from molrec.storage.lmdb import names
from molrec.storage.lmdb.environment import damaged
from molrec.storage.lmdb.layout import BlockLayout, ColumnLayout, HeaderReader, Layout
from molrec.storage.lmdb.row_pointers import checked_flags, row_pointers
from molrec.storage.lmdb.stored_run import Declared, series_array

__all__ = ["BatchReader", "Part"]

#: Where one record lies: what returns the values of its file, the file's name, the record's number and first frame
#: there, its frames.
type Part = tuple[Callable[[bytes], Any], str, int, int, int]
#: Block layout, value and payload start of the update a block resolves to.
type _Shown = tuple[BlockLayout, Any, int]
#: A layout, where in the payload each column begins and ends, and the rows of each block.
type _Plan = tuple[Layout, list[tuple[int, int]], list[int]]

_MOST_PLANS, _MOST_REQUESTS = 4096, 64


class _Column:
    """The pieces of one column so far."""

    def __init__(self, block: str, name: str, *, nullable: bool) -> None:
        self.block = block
        self.name = name
        self.key = f"{block}/{name}"
        self.dtype: np.dtype[Any] | None = None
        self.trailing: tuple[int, ...] = ()
        self.pieces: list[Any] = []
        self._masks: list[Any] | None = [] if nullable else None
        self._rows = 0

    @property
    def is_plain(self) -> bool:
        """Whether every piece of it is a buffer and nothing else."""
        return self._masks is None and self.dtype is not None and self.dtype.kind not in "Tb"

    def declare(self, dtype: np.dtype[Any], trailing: tuple[int, ...]) -> None:
        """Say what the column is, also where no piece comes."""
        self.dtype, self.trailing = dtype, trailing

    def add(self, found: ColumnLayout, value: Any, base: int, where: str) -> None:
        """Take one piece."""
        if found.dtype is not self.dtype or found.shape[1:] != self.trailing:
            self._check(found, where)
        if found.strings is None:
            start = base + found.offset
            self.pieces.append(value[start : start + found.size])
        else:
            self.pieces.append(found.strings)
        rows = found.shape[0]
        if found.mask is not None:
            if self._masks is None:
                self._masks = [b"\1" * self._rows]
            self._masks.append(value[base + found.mask : base + found.mask + rows])
        elif self._masks is not None:
            self._masks.append(b"\1" * rows)
        self._rows += rows

    def _check(self, found: ColumnLayout, where: str) -> None:
        if self.dtype is None:
            self.declare(found.dtype, found.shape[1:])
        elif (found.dtype, found.shape[1:]) != (self.dtype, self.trailing):
            raise FormatError(
                f"{where}: block {self.block!r}, column {self.name!r} is {found.dtype} with row shape "
                f"{list(found.shape[1:])}, in other records {self.dtype} with {list(self.trailing)}; read them apart",
                "reject-column-disagrees",
            )

    def hand_over(self, batch: dict[str, Any], rows: int, where: str) -> None:
        """Put the joined column, and its mask, into a batch."""
        shape = (rows, *self.trailing)
        if self.dtype is None:
            raise KeyError(f"no column {self.key!r} in these records")
        if self.dtype == STRING:
            empty: Array = np.empty((0, *self.trailing), STRING)
            batch[self.key] = np.concatenate([empty, *self.pieces])
        else:
            joined: Array = np.frombuffer(bytearray().join(self.pieces), self.dtype)
            batch[self.key] = checked_flags(joined, self.key, where) if self.dtype.kind == "b" else joined
            batch[self.key] = batch[self.key].reshape(shape)
        if self._masks is not None:
            mask = np.frombuffer(bytearray().join(self._masks), np.bool_)
            batch[f"{self.key}/validity"] = checked_flags(mask, self.key, where)


class BatchReader:
    """Gathers the columns of some records, once.

    Args:
        declared: Declaration of the collection.
        system_headers: Keeps the layouts of systems.
        columns: Names ``"block/column"``, or None for every declared one.
        meta: Per-step keys, or None for every declared one.
        where: The collection, for messages.

    Raises:
        KeyError: A name is no column or key.
    """

    def __init__(
        self,
        declared: Declared,
        system_headers: HeaderReader,
        columns: Sequence[str] | None,
        meta: Sequence[str] | None,
        where: str,
    ) -> None:
        self._where = where
        self._get: Callable[[bytes], Any]
        self._declared = declared
        self._decoder = declared.decoder
        self._system_headers = system_headers
        self._own, self._system = _chosen(declared.schema, columns)
        self._rows: dict[str, list[int]] = {name: [] for name in {**self._own, **self._system}}
        keys = list(declared.tags if meta is None else meta)
        for key in keys:
            if key not in declared.tags:
                raise KeyError(f"no per-step key {key!r}; declared are {', '.join(declared.tags) or '(none)'}")
        self._values: dict[str, list[Any]] = {key: [] for key in keys}
        self._plans = self._known_plans()
        self._appends = [column.pieces.append for found in self._own.values() for column in found]

    def read(self, parts: Iterable[Part]) -> dict[str, Any]:
        """Return the batch of some records, in the order given; see `Collection.batch`.

        Raises:
            FormatError: A value is refused, or LMDB cannot read its file (``reject-damaged-collection``).
        """
        frames: list[int] = []
        path = self._where
        try:
            for get, path, number, first, count in parts:
                self._get = get
                frames.append(count)
                where = f"{path}: record {number}"
                if self._plans is not None and count == 1:
                    self._take_plain(first, where, self._plans)
                elif count:
                    self._take_run(number, first, count, where)
        except lmdb.Error as error:
            raise damaged(path, error) from error
        batch: dict[str, Any] = {"/": row_pointers(frames)}
        for name, counts in self._rows.items():
            batch[name] = pointers = row_pointers(counts)
            for column in (*self._own.get(name, ()), *self._system.get(name, ())):
                column.hand_over(batch, int(pointers[-1]), self._where)
        for key, values in self._values.items():
            tag = self._declared.tags[key]
            batch[f"meta/{key}"] = values if tag == "json" else series_array(tag, values)
        return batch

    def _frame(self, number: int, ordinal: int, where: str) -> Any:
        value = self._get(names.frame_key(number))
        if value is None:
            raise FormatError(f"{where}: frame {ordinal} is not there", "reject-missing-key")
        return value

    def _take_meta(self, rest: dict[str, Any], where: str) -> None:
        if self._values:
            stated = self._decoder.meta(rest, where)
            for key, values in self._values.items():
                values.append(stated[key])

    def _take_plain(self, number: int, where: str, plans: dict[int, _Plan]) -> None:
        """Take a record of one frame, all of whose columns are buffers."""
        value = self._frame(number, 0, where)
        layout, rest, base = self._decoder.layout(value, where)
        _, spans, rows = plans.get(id(layout)) or _planned(layout, self._own, plans)
        for append, (start, stop) in zip(self._appends, spans, strict=True):
            append(value[base + start : base + stop])
        for counts, found in zip(self._rows.values(), rows, strict=True):
            counts.append(found)
        self._take_meta(rest, where)

    def _take_run(self, number: int, first: int, count: int, where: str) -> None:
        """Take every frame of a record, blocks carried forward."""
        beside = self._beside(number, where) if self._system else {}
        shown: dict[str, _Shown] = {}
        for ordinal in range(count):
            value = self._frame(first + ordinal, ordinal, where)
            layout, rest, base = self._decoder.layout(value, where)
            for name, block in layout.blocks.items():
                shown[name] = (block, value, base)
            for name, counts in self._rows.items():
                counts.append(_take(name, self._own.get(name), self._system.get(name), shown, beside, where))
            self._take_meta(rest, where)

    def _beside(self, number: int, where: str) -> dict[str, _Shown]:
        value = self._get(names.system_key(number))
        if value is None:
            return {}
        layout, _, base = self._system_headers.read(value, f"{where}, system")
        return {name: (block, value, base) for name, block in layout.blocks.items()}

    def _known_plans(self) -> dict[int, _Plan] | None:
        """Return what is known of layouts for these columns, None where a column is more than a buffer."""
        columns = [column for found in self._own.values() for column in found]
        if self._system or not all(column.is_plain for column in columns):
            return None
        kept = self._declared.batch_plans
        if len(kept) >= _MOST_REQUESTS:
            kept.clear()
        return kept.setdefault(tuple(column.key for column in columns), {})


def _chosen(
    schema: SequenceSchema, columns: Sequence[str] | None
) -> tuple[dict[str, list[_Column]], dict[str, list[_Column]]]:
    """Return the columns asked for of trajectory and system, by block."""
    own: dict[str, list[_Column]] = {}
    system: dict[str, list[_Column]] = {}
    if columns is None:
        columns = [f"{name}/{column}" for name, block in schema.blocks.items() for column in block.columns]
    for place in dict.fromkeys([columns] if isinstance(columns, str) else columns):
        name, slash, column = place.partition("/")
        if not slash or name == "meta":
            raise KeyError(f"a column is asked for as 'block/column', found {place!r}")
        declared = schema.blocks.get(name)
        pinned = None if declared is None else declared.columns.get(column)
        found = _Column(name, column, nullable=pinned is not None and pinned.nullable)
        if pinned is None:
            system.setdefault(name, []).append(found)
        else:
            found.declare(numpy_dtype(pinned.dtype), pinned.trailing)
            own.setdefault(name, []).append(found)
    return own, system


def _take(
    name: str,
    own: list[_Column] | None,
    system: list[_Column] | None,
    shown: dict[str, _Shown],
    beside: dict[str, _Shown],
    where: str,
) -> int:
    """Take a block of one frame and return its rows; it has none where a part of it is absent."""
    mine = shown.get(name)
    if own is not None and mine is None:
        return 0
    theirs = beside.get(name)
    if system is not None and theirs is None:
        raise KeyError(f"{where} has no system block {name!r} for {', '.join(column.key for column in system)}")
    if mine is not None and theirs is not None:
        try:
            check_same_rows(name, mine[0].rows, theirs[0].rows)
        except SchemaError as error:
            raise FormatError(f"{where}: {error.message}", error.rule) from error
    rows = 0
    for columns, source in ((own, mine), (system, theirs)):
        if columns is None or source is None:
            continue
        block, value, base = source
        rows = block.rows
        for column in columns:
            found = block.columns.get(column.name)
            if found is None:
                raise KeyError(f"{where} has no column {column.key!r}")
            column.add(found, value, base, where)
    return rows


def _planned(layout: Layout, own: dict[str, list[_Column]], plans: dict[int, _Plan]) -> _Plan:
    """Return where the columns of a record with one frame lie, and keep it; the layout is kept, so its id stays its."""
    spans: list[tuple[int, int]] = []
    rows: list[int] = []
    for name, columns in own.items():
        block = layout.blocks.get(name)
        rows.append(0 if block is None else block.rows)
        for column in columns:
            found = None if block is None else block.columns[column.name]
            spans.append((0, 0) if found is None else (found.offset, found.offset + found.size))
    if len(plans) >= _MOST_PLANS:
        plans.clear()
    plans[id(layout)] = plan = (layout, spans, rows)
    return plan
