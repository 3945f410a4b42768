"""One block of a run being written: which presentations are updates, and how they lie (``docs/spec/trajectory.md``).

The track compares each presentation with the previous update, bit for bit after rounding, keeps the elided form while
updates are regular, and materializes ``offset`` and ``step_index`` with the whole history at the first violation. It
knows layouts and appenders, not commits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from molrec.dtypes import Array
from molrec.model.carry_forward import UpdateIndex
from molrec.model.presentation import Presentation
from molrec.model.schema import BlockSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.shard_appender import ShardAppender

__all__ = ["BlockTrack"]


class BlockTrack:
    """The updates of one block so far, and the appenders they go to.

    Args:
        name: Block name.
        declared: Its declaration.
        columns: Appender of every column.
        masks: Appender of every nullable column's mask.
        make_dense: Makes the appender of a u64 array at a path, for ``offset`` and ``step_index``.
        committed: Index of the committed updates, for a reopened run.
        latest: The last committed update, for a reopened run.
        extra: Attributes of the block group a producer added, carried through.
    """

    def __init__(
        self,
        name: str,
        declared: BlockSchema,
        columns: dict[str, ShardAppender],
        masks: dict[str, ShardAppender],
        make_dense: Callable[[str], ShardAppender],
        committed: UpdateIndex | None = None,
        latest: Presentation | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.declared = declared
        self.columns = columns
        self.masks = masks
        self._make_dense = make_dense
        #: The last update, committed or waiting.
        self.latest = latest
        self._extra = dict(extra or {})
        #: Rows of the largest update so far.
        self.largest = 0
        index = committed or UpdateIndex(0, 0, None, None)
        self._count = index.count
        self._uniform_rows = index.uniform_rows
        self._end = index.rows
        self._offset: ShardAppender | None = None
        self._step_index: ShardAppender | None = None
        if not index.is_regular:
            self._open_index()

    def _open_index(self) -> None:
        self._offset = self._make_dense(f"{names.TRAJECTORY}/{self.name}/{names.OFFSET}")
        self._step_index = self._make_dense(f"{names.TRAJECTORY}/{self.name}/{names.STEP_INDEX}")

    def add(self, ordinal: int, presentation: Presentation) -> bool:
        """Take what frame `ordinal` presents; return whether it is an update (False: it carries forward)."""
        if self.latest is not None and presentation.equals(self.latest):
            return False
        own = Presentation(
            presentation.rows,
            {
                name: _owned(values, self.declared.columns[name].precision)
                for name, values in presentation.columns.items()
            },
            {name: mask.copy() for name, mask in presentation.masks.items()},
        )
        self._index_update(ordinal, own.rows)
        self.largest = max(self.largest, own.rows)
        for name, values in own.columns.items():
            self.columns[name].append(values)
        for name, mask in own.masks.items():
            self.masks[name].append(mask)
        self.latest = own
        return True

    def _index_update(self, ordinal: int, rows: int) -> None:
        if self._offset is None:
            if not self._count and ordinal == 0 and rows and self.columns:
                self._uniform_rows = rows
            if ordinal != self._count or rows != self._uniform_rows or not rows:
                self._materialize()
        self._count += 1
        self._end += rows
        if self._offset is not None and self._step_index is not None:
            self._offset.append(np.array([self._end], dtype=np.uint64))
            self._step_index.append(np.array([ordinal], dtype=np.uint64))

    def _materialize(self) -> None:
        """Give up the elided form: the index arrays begin with the whole history."""
        self._open_index()
        assert self._offset is not None
        assert self._step_index is not None
        self._offset.append(np.arange(self._count + 1, dtype=np.uint64) * np.uint64(self._uniform_rows))
        self._step_index.append(np.arange(self._count, dtype=np.uint64))

    def index_appenders(self) -> list[ShardAppender]:
        """Return the index arrays in use; they are committed before the columns grow."""
        return [appender for appender in (self._step_index, self._offset) if appender is not None]

    def row_appenders(self) -> list[ShardAppender]:
        """Return the columns and masks."""
        return [*self.columns.values(), *self.masks.values()]

    def attributes(self) -> dict[str, Any]:
        """Return the block group's attributes: its grid, and the elision markers while regular."""
        attributes = dict(self._extra)
        if self.declared.structural_shape is not None:
            attributes[names.STRUCTURAL_SHAPE] = list(self.declared.structural_shape)
        if self._offset is None and self._count:
            attributes[names.UNIFORM_ROWS] = self._uniform_rows
            attributes[names.DENSE_UPDATES] = True
        return attributes


def _owned(values: Array, precision: float | None) -> Array:
    # Rounding made a fresh array already.
    return values if precision is not None else values.copy()
