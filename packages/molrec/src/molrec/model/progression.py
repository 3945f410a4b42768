"""Arithmetic progressions of steps and times (``docs/spec/trajectory.md``, progressions).

A run whose steps (or times) follow ``start + i * stride`` stores two numbers instead of an array. Steps are exact
integers; a time is reproduced by two rounded binary64 operations and must match bit for bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec import typedjson
from molrec.errors import FormatError

__all__ = ["StepProgression", "TimeProgression", "read_progression"]


_LARGEST = 2**53


class StepProgression:
    """``step[i] = start + i * stride`` in exact integers; the stride is known from the second frame on."""

    key = "step_progression"
    tag = "i64"

    @staticmethod
    def admits_start(value: int) -> bool:
        """Tell whether a run may begin a progression here: the attribute stays a plain JSON number."""
        return abs(value) <= _LARGEST

    def __init__(self, start: int, stride: int | None = None) -> None:
        self.start = start
        self.stride = stride

    def admits(self, position: int, value: int) -> bool:
        """Tell whether the next value fits (learning the stride from position 1)."""
        if self.stride is None:
            return position == 1 and value - self.start <= _LARGEST
        return value == self.start + position * self.stride

    def learn(self, position: int, value: int) -> None:
        """Take a value that `admits` accepted."""
        if position == 1:
            self.stride = value - self.start

    def values(self, count: int) -> npt.NDArray[Any]:
        """Return the first `count` values as int64."""
        if count == 0:
            return np.empty(0, dtype=np.int64)
        return np.array(self.start, dtype=np.int64) + np.arange(count, dtype=np.int64) * np.int64(self.stride or 0)

    def check(self, count: int, where: str) -> None:
        """Refuse a stored progression that cannot give `count` strictly increasing i64 steps."""
        if count < 2:
            return
        if self.stride is None or self.stride < 1 or self.start + (count - 1) * self.stride >= 2**63:
            raise FormatError(
                f"{where}: step_progression start {self.start}, stride {self.stride} does not give {count} increasing "
                "steps",
                "reject-malformed-progression",
            )


class TimeProgression:
    """``time[i] = start + f64(i) * stride``, two rounded operations; never holds a non-finite number."""

    key = "time_progression"
    tag = "f64"

    @staticmethod
    def admits_start(value: float) -> bool:
        """Tell whether a run may begin a progression here: finite, and not -0.0, which the formula turns into 0.0."""
        return math.isfinite(value) and math.copysign(1.0, value + 0.0) == math.copysign(1.0, value)

    def __init__(self, start: float, stride: float | None = None) -> None:
        self.start = start
        self.stride = stride

    def admits(self, position: int, value: float) -> bool:
        """Tell whether the next value is reproduced bit for bit (learning the stride from position 1)."""
        stride = value - self.start if position == 1 else self.stride
        if stride is None or not math.isfinite(stride) or not math.isfinite(value):
            return False
        reproduced = self.start + float(position) * stride
        return reproduced == value and math.copysign(1.0, reproduced) == math.copysign(1.0, value)

    def learn(self, position: int, value: float) -> None:
        """Take a value that `admits` accepted."""
        if position == 1:
            self.stride = value - self.start

    def values(self, count: int) -> npt.NDArray[Any]:
        """Return the first `count` values as float64."""
        if count == 0:
            return np.empty(0)
        times: npt.NDArray[Any] = self.start + np.arange(count, dtype=np.float64) * (self.stride or 0.0)
        return times

    def check(self, count: int, where: str) -> None:
        """Refuse a stored progression without the stride `count` values need, or with a non-finite number."""
        finite = math.isfinite(self.start) and math.isfinite(self.stride or 0.0)
        if not finite or (count > 1 and self.stride is None):
            raise FormatError(
                f"{where}: time_progression start {self.start!r}, stride {self.stride!r} does not give {count} times",
                "reject-malformed-progression",
            )


def read_progression[P: StepProgression | TimeProgression](kind: type[P], document: Any, count: int, where: str) -> P:
    """Read a ``{start, stride?}`` attribute for a run of `count` frames.

    Raises:
        FormatError: Not such an object, or it cannot give that many values (``reject-malformed-progression``).
    """
    if not isinstance(document, dict) or "start" not in document:
        raise FormatError(
            f"{where}: {kind.key} is {{start, stride}}, found {document!r}", "reject-malformed-progression"
        )
    try:
        start = typedjson.decode(kind.tag, document["start"], kind.key)
        stride = typedjson.decode(kind.tag, document["stride"], kind.key) if "stride" in document else None
    except FormatError as error:
        raise FormatError(f"{where}: {error.message}", "reject-malformed-progression") from error
    progression = kind(start, stride)
    progression.check(count, where)
    return progression
