"""The index of a collection being written: each record's counts, and own columns (``docs/spec/collection.md``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from molrec.dtypes import Array, dtype_name, numpy_dtype
from molrec.errors import SchemaError
from molrec.model.block import Block
from molrec.model.collection import INDEX_COLUMNS, check_index_name
from molrec.model.frame import Frame
from molrec.vocabulary import CANONICAL_COLUMNS

__all__ = ["IndexColumns", "IndexRow", "IndexSpec", "WrittenRecord"]

_RULE = "reject-index-column"
_AT_ONCE = 65536
_FILLERS: dict[str, Any] = {"string": "", "bool": False}


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """A record as functions of index columns see it.

    Attributes:
        meta: Its meta document.
        system: Its system, or None.
        frame: The first frame of its trajectory as it was given, or None.
        n_frames: Its frames.
        n_atoms: Its atoms: of the system, else of the first frame that shows some.
    """

    meta: Mapping[str, Any]
    system: Frame | None
    frame: Frame | None
    n_frames: int
    n_atoms: int


#: Names, or names with functions; a name alone is looked up in the record.
type IndexSpec = Iterable[str] | Mapping[str, Callable[[WrittenRecord], Any] | None]


@dataclass(slots=True)
class IndexRow:
    """One record's row, checked: the four counts, and the own columns' values (None for null) with their dtypes."""

    counts: tuple[int, int, int, bool]
    values: list[Any]
    dtypes: list[str | None]


class _Growing:
    """One column, packed as it grows."""

    def __init__(self, name: str, dtype: str | None = None) -> None:
        self.name = name
        self.dtype = dtype
        self._packed: list[Array] = []
        self._masks: list[Array] = []
        self._waiting: list[Any] = []

    def add(self, value: Any, dtype: str | None) -> None:
        self.dtype = dtype
        self._waiting.append(value)
        if len(self._waiting) >= _AT_ONCE and dtype is not None:
            self._pack(dtype)

    def _pack(self, dtype: str) -> None:
        valid = np.array([value is not None for value in self._waiting], dtype=np.bool_)
        filler = _FILLERS.get(dtype, 0)
        filled = [filler if value is None else value for value in self._waiting]
        self._packed.append(np.array(filled, dtype=numpy_dtype(dtype)))
        self._masks.append(valid)
        self._waiting = []

    def put_into(self, block: Block) -> None:
        """Add the column to a block; one without any value is a string column of nulls."""
        dtype = self.dtype or CANONICAL_COLUMNS.get(self.name, "string")
        self._pack(dtype)
        block[self.name] = np.concatenate(self._packed)
        block.set_validity(self.name, np.concatenate(self._masks))


class IndexColumns:
    """Collects the index row by row.

    Raises:
        SchemaError: A column has a name an index keeps for itself (``reject-reserved-name``).
    """

    def __init__(self, spec: IndexSpec | None) -> None:
        self._functions: dict[str, Callable[[WrittenRecord], Any] | None] = (
            dict(spec) if isinstance(spec, Mapping) else dict.fromkeys([spec] if isinstance(spec, str) else spec or ())
        )
        for name in self._functions:
            check_index_name(name)
        self._counts = [_Growing(name, dtype) for name, dtype in INDEX_COLUMNS.items()]
        self._own = [_Growing(name) for name in self._functions]

    def row(
        self, record: WrittenRecord, first_frame: int, has_trajectory: bool, given: Mapping[str, Any] | None
    ) -> IndexRow:
        """Return the row of a record, checked and not taken yet.

        Raises:
            SchemaError: A value is missing, of another kind than in earlier rows, or given for a column that is none
                (``reject-index-column``).
        """
        given = given or {}
        for name in given:
            if name not in self._functions:
                raise SchemaError(
                    f"index value {name!r} is for no column; the writer was made with "
                    f"{', '.join(self._functions) or 'none'}",
                    _RULE,
                )
        values, dtypes = [], []
        for column in self._own:
            value = _looked_up(column.name, self._functions[column.name], record, given)
            exact, dtype = _admit(column.name, value, column.dtype)
            values.append(exact)
            dtypes.append(dtype)
        return IndexRow((first_frame, record.n_frames, record.n_atoms, has_trajectory), values, dtypes)

    def add(self, row: IndexRow) -> None:
        """Take a row."""
        for counted, value in zip(self._counts, row.counts, strict=True):
            counted.add(value, counted.dtype)
        for column, value, dtype in zip(self._own, row.values, row.dtypes, strict=True):
            column.add(value, dtype)

    def block(self) -> Block:
        """Return the index."""
        block = Block()
        for column in (*self._counts, *self._own):
            column.put_into(block)
        return block


def _looked_up(
    name: str, function: Callable[[WrittenRecord], Any] | None, record: WrittenRecord, given: Mapping[str, Any]
) -> Any:
    if name in given:
        return given[name]
    if function is not None:
        return function(record)
    for place in (record.meta, record.system and record.system.meta, record.frame and record.frame.meta):
        if place is not None and name in place:
            return place[name]
    raise SchemaError(
        f"index column {name!r}: the record has no such key in its meta, its system's or its first frame's; give it to "
        "append(index=...), or a function for the column (None is a null)",
        _RULE,
    )


def _admit(name: str, value: Any, dtype: str | None) -> tuple[Any, str | None]:
    """Return a value exactly at the dtype of its column, and that dtype."""
    if value is None:
        return None, dtype
    wanted = dtype or CANONICAL_COLUMNS.get(name)
    found = _dtype_of(name, value)
    plain = value.item() if isinstance(value, np.generic) else value
    if wanted is None:
        return plain, "u64" if found == "i64" and plain > np.iinfo(np.int64).max else found
    if found == wanted:
        return plain, wanted
    whole = isinstance(plain, int) and not isinstance(plain, bool)
    if whole and wanted == "f64" and abs(plain) <= 2**53:
        return float(plain), wanted
    if whole and numpy_dtype(wanted).kind in "iu":
        limits = np.iinfo(numpy_dtype(wanted))
        if limits.min <= plain <= limits.max:
            return plain, wanted
    raise SchemaError(
        f"index column {name!r} is {wanted}, by its first value or its name; found {value!r} ({found})", _RULE
    )


def _dtype_of(name: str, value: Any) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, np.generic):
        return dtype_name(value.dtype, f"index column {name!r}")
    if isinstance(value, int) and not isinstance(value, bool):
        if -(2**63) <= value < 2**64:
            return "i64"
    else:
        for kind, dtype in ((bool, "bool"), (float, "f64"), (complex, "c128")):
            if isinstance(value, kind):
                return dtype
    raise SchemaError(f"index column {name!r} holds one value per record, found {value!r}", _RULE)
