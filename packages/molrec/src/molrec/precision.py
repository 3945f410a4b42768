"""Declared precision: the one rounding rule of the format (``docs/spec/frame.md``, declared precision).

A column that declares a precision ``p`` stores multiples of the quantum ``q``, the largest power of two not above
``p``. Division and multiplication by a power of two are exact, so two writers store the same bits. This module knows
numbers only: no columns, no stores.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from molrec.errors import SchemaError

__all__ = ["PRECISION_MAX", "PRECISION_MIN", "check_precision", "on_grid", "quantize", "quantum"]

PRECISION_MIN: float = 2.0**-1000
PRECISION_MAX: float = 2.0**1000
#: At and beyond this many quanta a binary64 has no bits below the quantum left to round.
_LARGEST_ROUNDED = 2.0**52


def check_precision(precision: float, where: str = "precision") -> float:
    """Return `precision` as a float when it is admissible.

    Raises:
        SchemaError: Not a number, not finite, or outside ``[2**-1000, 2**1000]`` (``reject-precision-out-of-bounds``).
    """
    if isinstance(precision, bool) or not isinstance(precision, (int, float, np.integer, np.floating)):
        raise SchemaError(
            f"{where}: a precision is a number, found {precision!r}; give an absolute tolerance such as 1e-3",
            "reject-precision-out-of-bounds",
        )
    try:
        value = float(precision)
    except OverflowError:
        value = math.inf
    if not PRECISION_MIN <= value <= PRECISION_MAX:
        raise SchemaError(
            f"{where}: precision {precision!r} is outside [2**-1000, 2**1000]; give a positive finite tolerance",
            "reject-precision-out-of-bounds",
        )
    return value


def quantum(precision: float) -> float:
    """Return the grid spacing ``q = 2**(e-1)`` for ``precision = m * 2**e`` with ``0.5 <= m < 1``.

    Raises:
        SchemaError: The precision is out of bounds (``reject-precision-out-of-bounds``).
    """
    _, exponent = math.frexp(check_precision(precision))
    return math.ldexp(1.0, exponent - 1)


def quantize(values: npt.ArrayLike, precision: float) -> npt.NDArray[np.float64]:
    """Return ``stored(x)`` for every value, as a new C-order float64 array of the same shape.

    NaN (payload included), infinities and values of magnitude ``>= 2**52 * q`` come back unchanged; ties go to the
    even multiple and a value that rounds to zero keeps its sign. The input is never modified.

    Raises:
        SchemaError: The precision is out of bounds (``reject-precision-out-of-bounds``).
    """
    grid = quantum(precision)
    given = np.asarray(values, dtype=np.float64)
    with np.errstate(all="ignore"):
        rounded: npt.NDArray[np.float64] = np.empty(given.shape)
        np.multiply(given, 1.0 / grid, out=rounded)
        # Two reductions answer for all: a NaN, an infinity or a value past the limit makes a comparison false.
        within = rounded.min(initial=0.0) > -_LARGEST_ROUNDED and rounded.max(initial=0.0) < _LARGEST_ROUNDED
        exempt = None if within else ~(np.abs(rounded) < _LARGEST_ROUNDED)
        np.rint(rounded, out=rounded)
        rounded *= grid
    if exempt is not None:
        rounded[exempt] = given[exempt]
    return rounded


def on_grid(values: npt.ArrayLike, precision: float) -> bool:
    """Tell whether every finite value is a multiple of ``quantum(precision)`` (for validators; readers never check)."""
    given = np.asarray(values, dtype=np.float64)
    finite = given[np.isfinite(given)]
    return bool(np.array_equal(quantize(finite, precision), finite))
