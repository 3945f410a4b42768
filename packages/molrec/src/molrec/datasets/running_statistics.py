"""Spreads and histograms of numbers that come piece by piece. Knows nothing of structures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Histogram", "RunningHistogram", "Spread", "histogram", "spread"]

type Floats = npt.NDArray[np.float64]

_BINS = 64
#: Bins of a running histogram, a multiple of those it is shown in.
_FINE_BINS = 32 * _BINS


@dataclass(frozen=True, slots=True)
class Spread:
    """How many numbers there are, the least and greatest of them, their mean and standard deviation (of the whole)."""

    count: int
    least: float
    mean: float
    std: float
    most: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many numbers fall between edges.

    Attributes:
        edges: Ascending, float64 ``(bins + 1,)``; a number on an edge belongs above it, on the last below.
        counts: int64 ``(bins,)``.
    """

    edges: Floats
    counts: npt.NDArray[np.int64]


def spread(values: Floats) -> Spread | None:
    """Return the spread of numbers, None where there are none."""
    if not values.size:
        return None
    with np.errstate(invalid="ignore"):
        numbers = (values.min(), values.mean(), values.std(), values.max())
    return Spread(values.size, *(float(number) for number in numbers))


def histogram(values: Floats, *, whole: bool = False) -> Histogram | None:
    """Return the histogram of the finite ones of some numbers, None where there are none.

    Args:
        values: Numbers ``(n,)``.
        whole: They are integers: the bins are as wide as an integer, and the integers stand in their middle.
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    if whole:
        low, high = float(finite.min()), float(finite.max())
        width = max(1, math.ceil((high - low + 1) / _BINS))
        bins = math.ceil((high - low + 1) / width)
        counts, edges = np.histogram(finite, bins, range=(low - 0.5, low - 0.5 + width * bins))
    else:
        counts, edges = np.histogram(finite, _BINS)
    return Histogram(np.asarray(edges, dtype=np.float64), counts.astype(np.int64))


class RunningHistogram:
    """A histogram from 0 upward of numbers that are not kept; its bins double in width when a number lies beyond."""

    def __init__(self) -> None:
        self._width = 0.0
        self._counts = np.zeros(_FINE_BINS, dtype=np.int64)

    def add(self, values: Floats) -> None:
        """Take numbers, none negative; those that are not finite are left out."""
        finite = values[np.isfinite(values)]
        most = float(finite.max(initial=0.0))
        if not most:
            # Zeros fall into the first bin whatever its width.
            self._counts[0] += finite.size
            return
        if not self._width:
            self._width = most / (_FINE_BINS // 2)
        while most >= self._width * _FINE_BINS:
            self._counts = np.concatenate([self._counts.reshape(-1, 2).sum(axis=1), np.zeros_like(self._counts)])
            self._counts = self._counts[:_FINE_BINS]
            self._width *= 2
        places = np.minimum((finite / self._width).astype(np.int64), _FINE_BINS - 1)
        self._counts += np.bincount(places, minlength=_FINE_BINS)

    def result(self) -> Histogram | None:
        """Return the histogram in about 64 bins up to the greatest number, None where there were none."""
        filled = np.flatnonzero(self._counts)
        if not filled.size:
            return None
        together = math.ceil((int(filled[-1]) + 1) / _BINS)
        bins = math.ceil((int(filled[-1]) + 1) / together)
        counts = np.zeros(bins * together, dtype=np.int64)
        kept = min(counts.size, _FINE_BINS)
        counts[:kept] = self._counts[:kept]
        width = (self._width or 1.0) * together
        return Histogram(width * np.arange(bins + 1, dtype=np.float64), counts.reshape(bins, together).sum(axis=1))
