"""What a run says once per frame: steps, times, per-step meta. The writing side of ``docs/spec/trajectory.md``.

A track takes checked values, keeps the compact form while it holds (a progression) and hands rows to appenders when
it does not. It knows layouts, not commits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import numpy_dtype
from molrec.model.progression import StepProgression, TimeProgression
from molrec.storage.zarr.shard_appender import ShardAppender

__all__ = ["MetaTrack", "ProgressionTrack"]


class ProgressionTrack:
    """Steps or times: a progression while every value fits it, an array with the whole history afterwards."""

    def __init__(
        self,
        kind: type[StepProgression | TimeProgression],
        appender: ShardAppender,
        progression: StepProgression | TimeProgression | None = None,
        count: int = 0,
    ) -> None:
        self._kind = kind
        self._dtype = np.int64 if kind is StepProgression else np.float64
        self._progression = progression
        self._count = count
        self._values: list[Any] = []
        self.appender = appender

    @property
    def stored_as_array(self) -> bool:
        """Whether the values live in an array."""
        return self._count > 0 and self._progression is None

    def add(self, value: Any) -> None:
        """Take the next value."""
        if self._count == 0 and self._kind.admits_start(value):
            self._progression = self._kind(value)
        elif self._progression is not None and self._progression.admits(self._count, value):
            self._progression.learn(self._count, value)
        else:
            if self._progression is not None:
                self.appender.append(self._progression.values(self._count))
                self._progression = None
            self._values.append(value)
        self._count += 1

    def hand_over(self) -> ShardAppender | None:
        """Give the collected values to the appender; return it when the array is in use."""
        if self._values:
            self.appender.append(np.array(self._values, dtype=self._dtype))
            self._values = []
        return self.appender if self.stored_as_array else None

    def attributes(self) -> dict[str, Any]:
        """Return the progression attribute of the trajectory group, empty when there is none."""
        if self._progression is None or not self._count:
            return {}
        document = {"start": self._progression.start}
        if self._progression.stride is not None:
            document["stride"] = self._progression.stride
        return {self._kind.key: document}


class MetaTrack:
    """One per-step meta key: a value per frame, always an array."""

    def __init__(self, tag: str, appender: ShardAppender) -> None:
        self._tag = tag
        dtype, self._trailing = typedjson.series_column(tag)
        self._dtype = numpy_dtype(dtype)
        self._values: list[Any] = []
        self.appender = appender

    def add(self, value: Any) -> None:
        """Take the next frame's value, already coerced to the tag."""
        self._values.append(typedjson.dump_json(value) if self._tag == "json" else value)

    def hand_over(self) -> ShardAppender:
        """Give the collected values to the appender and return it."""
        if self._values:
            self.appender.append(np.array(self._values, dtype=self._dtype).reshape(-1, *self._trailing))
            self._values = []
        return self.appender
