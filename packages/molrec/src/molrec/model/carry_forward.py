"""Carry-forward: which update of a block a frame resolves to (``docs/spec/trajectory.md``, three states).

At frame ordinal ``i`` a block is what its latest update at or before ``i`` says: present (rows), empty (a zero-row
update), or absent (no update yet). Updates lie one after another along the block's columns. Both storages, the
validator and the reader resolve through `UpdateIndex`; it knows ordinals and row spans, not where they are stored.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.errors import FormatError

__all__ = ["UpdateIndex"]

Ordinals = npt.NDArray[np.int64]


class UpdateIndex:
    """The updates of one block in ordinal order.

    A regular block (update ``j`` at ordinal ``j``, every update of the same positive row count) needs two numbers; any
    other block the ordinal of each update and the row where each begins.
    """

    __slots__ = ("_offsets", "_ordinals", "count", "uniform_rows")

    def __init__(self, count: int, uniform_rows: int, ordinals: Ordinals | None, offsets: Ordinals | None) -> None:
        #: Number of committed updates.
        self.count = count
        #: Rows of every update of a regular block, else 0.
        self.uniform_rows = uniform_rows
        self._ordinals = ordinals
        self._offsets = offsets

    @classmethod
    def regular(cls, uniform_rows: int, stored_rows: int, nstep: int) -> UpdateIndex:
        """Return the index of a regular block from its row count and the rows its shortest column holds."""
        return cls(min(stored_rows // uniform_rows, nstep), uniform_rows, None, None)

    @classmethod
    def from_arrays(cls, step_index: npt.NDArray[Any], offset: npt.NDArray[Any], nstep: int, where: str) -> UpdateIndex:
        """Return the index stored in `step_index` (u64) and `offset` (u64, one longer), bounded by `nstep`.

        The first update at an ordinal ``>= nstep`` begins an uncommitted tail, which is ignored.

        Raises:
            FormatError: `step_index` does not ascend strictly (``reject-step-index-not-ascending``), `offset` is
                shorter than the committed updates need (``reject-array-short``), does not begin at 0 or descends
                (``reject-offset-not-monotonic``).
        """
        past = np.flatnonzero(step_index >= np.uint64(nstep))
        committed = step_index[: int(past[0])] if past.size else step_index
        ordinals = committed.astype(np.int64)
        descents = np.flatnonzero(np.diff(ordinals) <= 0)
        if descents.size:
            place = int(descents[0]) + 1
            raise FormatError(
                f"{where}/step_index does not ascend: entry {place} is {ordinals[place]} after {ordinals[place - 1]}",
                "reject-step-index-not-ascending",
            )
        count = len(ordinals)
        if offset.size < count + 1 and (count or offset.size):
            raise FormatError(
                f"{where}/offset holds {offset.size} entries but {count} committed updates need {count + 1}",
                "reject-array-short",
            )
        starts = offset[: count + 1]
        if starts.size and (int(starts[0]) != 0 or int(starts.max()) >= 2**63):
            raise FormatError(
                f"{where}/offset begins at {starts[0]}, not at 0, or exceeds any row count",
                "reject-offset-not-monotonic",
            )
        bounds = starts.astype(np.int64)
        falls = np.flatnonzero(np.diff(bounds) < 0)
        if falls.size:
            place = int(falls[0]) + 1
            raise FormatError(
                f"{where}/offset descends: entry {place} is {bounds[place]} after {bounds[place - 1]}",
                "reject-offset-not-monotonic",
            )
        return cls(count, 0, ordinals, bounds if bounds.size else np.zeros(1, dtype=np.int64))

    @property
    def is_regular(self) -> bool:
        """Whether updates are implied by the row count alone."""
        return self._ordinals is None

    @property
    def rows(self) -> int:
        """Rows of all committed updates together: the logical length of the block's columns."""
        if self._offsets is None:
            return self.count * self.uniform_rows
        return int(self._offsets[self.count])

    @property
    def largest(self) -> int:
        """Rows of the largest update."""
        if self._offsets is None:
            return self.uniform_rows if self.count else 0
        return int(np.diff(self._offsets).max(initial=0))

    def update_at(self, ordinal: int) -> int:
        """Return the update the frame resolves to, or -1 while the block is absent."""
        if self._ordinals is None:
            return min(ordinal, self.count - 1)
        return bisect_right(self._ordinals, ordinal) - 1

    def updates_at(self, ordinals: Ordinals) -> Ordinals:
        """Return `update_at` for every ordinal, vectorized."""
        if self._ordinals is None:
            return np.minimum(ordinals, self.count - 1)
        return np.searchsorted(self._ordinals, ordinals, side="right").astype(np.int64) - 1

    def ordinal_of(self, update: int) -> int:
        """Return the frame ordinal at which an update was written."""
        return update if self._ordinals is None else int(self._ordinals[update])

    def span(self, update: int) -> tuple[int, int]:
        """Return the half-open row range of an update."""
        if self._offsets is None:
            return update * self.uniform_rows, (update + 1) * self.uniform_rows
        return int(self._offsets[update]), int(self._offsets[update + 1])

    def spans(self, updates: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Return the starts and stops of many updates; an absent one (-1) spans no rows."""
        present = np.maximum(updates, 0)
        if self._offsets is None:
            starts = present * self.uniform_rows
            stops = starts + self.uniform_rows
        elif self.count == 0:
            starts = stops = np.zeros_like(present)
        else:
            starts, stops = self._offsets[present], self._offsets[present + 1]
        return starts, np.where(updates < 0, starts, stops)

    def ordinals(self) -> Ordinals:
        """Return the ordinal of every update."""
        return np.arange(self.count, dtype=np.int64) if self._ordinals is None else self._ordinals

    def offsets(self) -> Ordinals:
        """Return the first row of every update, and the end of the last."""
        if self._offsets is None:
            return np.arange(self.count + 1, dtype=np.int64) * self.uniform_rows
        return self._offsets[: self.count + 1]
