"""The cell of a run being written: attributes while one cell holds from the start, arrays once it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from molrec.model.box import Box, check_cell_kind
from molrec.storage.zarr import names
from molrec.storage.zarr.frame_group import boundary_is_default, origin_is_default
from molrec.storage.zarr.shard_appender import ShardAppender

__all__ = ["BoxTrack"]

#: Makes the appender of a dense array: path, dtype name, trailing shape.
type MakeDense = Callable[[str, str, tuple[int, ...]], ShardAppender]


class BoxTrack:
    """The cells so far (``docs/spec/trajectory.md``, cells).

    Args:
        make_dense: Makes the appender of an array of the box group.
        fixed: The cell held as attributes, for a reopened run.
        latest: The last committed cell, for a reopened run.
        count: Committed cell updates in arrays, for a reopened run.
        present: Names of the box arrays a reopened run has.
        extra: Attributes of the box group a producer added, carried through.
    """

    def __init__(
        self,
        make_dense: MakeDense,
        fixed: Box | None = None,
        latest: Box | None = None,
        count: int = 0,
        present: tuple[str, ...] = (),
        extra: dict[str, Any] | None = None,
    ) -> None:
        self._make_dense = make_dense
        self._fixed = fixed
        self._latest = latest
        self._count = count
        self._extra = dict(extra or {})
        self._arrays: dict[str, ShardAppender] = {name: self._open(name) for name in present}

    def _open(self, name: str) -> ShardAppender:
        dtype, trailing = {
            "vectors": ("f64", (3, 3)),
            "origin": ("f64", (3,)),
            "boundary": ("bool", (3,)),
            names.STEP_INDEX: ("u64", ()),
        }[name]
        return self._make_dense(f"{names.BOX}/{name}", dtype, trailing)

    def check(self, box: Box | None) -> None:
        """Refuse a cell that mixes defined and undefined in one run.

        Raises:
            SchemaError: ``reject-mixed-cells``.
        """
        check_cell_kind(box, self._latest)

    def add(self, ordinal: int, box: Box | None) -> None:
        """Take the cell of frame `ordinal`; None, or the same cell again, carries the last one forward."""
        if box is None or box == self._latest:
            return
        # Attributes are JSON, which has no NaN or infinity.
        if self._latest is None and ordinal == 0 and np.isfinite(box.origin).all():
            self._fixed = box
        else:
            if self._fixed is not None:
                self._append(0, self._fixed)
                self._fixed = None
            self._append(ordinal, box)
        self._latest = box

    def _append(self, ordinal: int, box: Box) -> None:
        parts: dict[str, Any] = {"vectors": box.vectors}
        if "origin" in self._arrays or not origin_is_default(box):
            parts["origin"] = box.origin
        if "boundary" in self._arrays or not boundary_is_default(box):
            parts["boundary"] = box.boundary
        parts[names.STEP_INDEX] = np.uint64(ordinal)
        for name, value in parts.items():
            if name not in self._arrays:
                self._arrays[name] = self._open(name)
                if name in ("origin", "boundary") and self._count:
                    filler = (
                        np.zeros((self._count, 3)) if name == "origin" else np.ones((self._count, 3), dtype=np.bool_)
                    )
                    self._arrays[name].append(filler)
            self._arrays[name].append(np.array([value]))
        self._count += 1

    def appenders(self) -> list[ShardAppender]:
        """Return the arrays in use; ``step_index`` is in force only beside `vectors`, which come last."""
        return sorted(self._arrays.values(), key=lambda appender: appender.path.endswith("vectors"))

    def attributes(self) -> dict[str, Any] | None:
        """Return the box group's attributes, or None while no cell has been given."""
        if self._latest is None:
            return None
        attributes = self._extra | ({} if self._latest.cell_defined else {"cell_defined": False})
        if self._fixed is not None:
            attributes["vectors"] = self._fixed.vectors.tolist()
            if not origin_is_default(self._fixed):
                attributes["origin"] = self._fixed.origin.tolist()
            if not boundary_is_default(self._fixed):
                attributes["boundary"] = self._fixed.boundary.tolist()
        return attributes
