"""The cells of a stored run, resolved by carry-forward (``docs/spec/trajectory.md``, cells)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np

from molrec.errors import FormatError
from molrec.model.box import Box
from molrec.storage.zarr import names
from molrec.storage.zarr.array_reader import ArrayReader
from molrec.storage.zarr.block_reader import check_ascending, read_dense, read_ordinals
from molrec.storage.zarr.frame_group import group_attributes, make_box
from molrec.storage.zarr.sources import Source, read_document

__all__ = ["BoxSeries"]

_PARTS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("vectors", "f64", (3, 3)),
    ("origin", "f64", (3,)),
    ("boundary", "bool", (3,)),
)


class BoxSeries:
    """The cell at any frame: one held as attributes, or updates in arrays.

    Raises:
        FormatError: The parts make no cell, the arrays are short, or ``step_index`` does not ascend.
    """

    def __init__(self, source: Source, nstep: int) -> None:
        self.fixed: Box | None = None
        self.arrays: tuple[str, ...] = ()
        self.attributes: dict[str, Any] = {}
        #: Committed cell updates held in arrays.
        self.count = 0
        self._parts: dict[str, ArrayReader] = {}
        self._ordinals: list[int] = []
        self._last: tuple[int, Box] | None = None
        self._where = f"{source.name}: {names.BOX}"
        document = read_document(source, names.BOX)
        if document is None or not nstep:
            return
        self.attributes = group_attributes(document, self._where)
        step_index = read_dense(source, f"{names.BOX}/{names.STEP_INDEX}", "u64", (), least=0)
        vectors = read_dense(source, f"{names.BOX}/vectors", "f64", (3, 3), least=0)
        if step_index is not None and (vectors is not None or self.attributes.get("cell_defined") is False):
            self._read_arrays(source, read_ordinals(step_index, nstep), nstep)
        elif "vectors" in self.attributes or self.attributes.get("cell_defined") is False:
            self.fixed = self._read_attributes()
        elif vectors is not None or (
            step_index is not None and (read_ordinals(step_index, nstep) < np.uint64(nstep)).any()
        ):
            raise FormatError(
                f"{self._where} holds {names.STEP_INDEX if vectors is None else 'vectors'} without "
                f"{'vectors' if vectors is None else names.STEP_INDEX}",
                "reject-index-missing",
            )

    def _read_arrays(self, source: Source, step_index: Any, nstep: int) -> None:
        below = np.flatnonzero(step_index >= nstep)
        count = int(below[0]) if below.size else len(step_index)
        committed = step_index[:count]
        check_ascending(committed, f"{self._where}/{names.STEP_INDEX}", "reject-step-index-not-ascending")
        self._ordinals = committed.astype(np.int64).tolist()
        for name, dtype, trailing in _PARTS:
            reader = read_dense(source, f"{names.BOX}/{name}", dtype, trailing, least=count)
            if reader is not None:
                self._parts[name] = reader
        self.arrays = (*self._parts, names.STEP_INDEX)
        self.count = count

    def _read_attributes(self) -> Box:
        parts: dict[str, Any] = {}
        for name, dtype, shape in _PARTS:
            if name not in self.attributes:
                continue
            parts[name] = self._read_attribute(name, dtype, shape)
        return make_box(parts, self.attributes, self._where)

    def _read_attribute(self, name: str, dtype: str, shape: tuple[int, ...]) -> Any:
        """Read a part of the fixed cell: a JSON array of numbers, or of truth values."""
        stated = self.attributes[name]
        kinds = (bool,) if dtype == "bool" else (int, float)
        rows = stated if len(shape) > 1 else [stated]
        regular = isinstance(rows, list) and all(isinstance(row, list) and len(row) == 3 for row in rows)
        if (
            not regular
            or len(rows) != (3 if len(shape) > 1 else 1)
            or any(type(value) not in kinds for row in rows for value in row)
        ):
            raise FormatError(
                f"{self._where}: attribute {name!r} is {dtype} with shape {list(shape)}, found {stated!r}",
                "reject-box-shape",
            )
        return np.array(stated, dtype=np.bool_ if dtype == "bool" else np.float64)

    def update(self, number: int) -> Box:
        """Return one cell update held in arrays; only its chunks are read."""
        parts = {name: np.array(reader.row(number)) for name, reader in self._parts.items()}
        return make_box(parts, self.attributes, f"{self._where}, update {number}")

    def __iter__(self) -> Iterator[Box]:
        """Yield every cell of the run, in order."""
        if self.fixed is not None:
            yield self.fixed
        for number in range(self.count):
            yield self.update(number)

    @property
    def latest(self) -> Box | None:
        """The last committed cell."""
        return self.update(self.count - 1) if self.count else self.fixed

    def at(self, ordinal: int) -> Box | None:
        """Return the cell a frame resolves to, or None before the first."""
        if not self._ordinals:
            return self.fixed
        update = bisect_right(self._ordinals, ordinal) - 1
        if update < 0:
            return None
        if self._last is None or self._last[0] != update:
            self._last = (update, self.update(update))
        return self._last[1]
