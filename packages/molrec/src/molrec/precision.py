"""Declared precision: the one rounding rule of the format (``docs/spec/frame.md``, declared precision).

A column that declares a precision ``p`` stores multiples of the quantum ``q``, the largest power of two not above
``p``. Division and multiplication by a power of two are exact, so two writers store the same bits. This module knows
numbers only: no columns, no stores.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from molrec.errors import SchemaError

__all__ = ["PRECISION_MAX", "PRECISION_MIN", "check_precision", "on_grid", "quantize", "quantum"]

PRECISION_MIN: float = 2.0**-1000
PRECISION_MAX: float = 2.0**1000
#: At and beyond this many quanta a binary64 has no bits below the quantum left to round.
_LARGEST_ROUNDED = 2.0**52
#: Below this quantum no value that is rounded comes near the largest binary64.
_LARGEST_SAFE_QUANTUM = 2.0**900


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
    return _power_of_two_below(check_precision(precision))


@lru_cache(maxsize=256)
def _power_of_two_below(value: float) -> float:
    _, exponent = math.frexp(value)
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
    rounded: npt.NDArray[np.float64] = np.empty(given.shape)
    limit = _LARGEST_ROUNDED * grid
    plain = given.size and grid < _LARGEST_SAFE_QUANTUM
    if plain and np.minimum.reduce(given, axis=None) > -limit and np.maximum.reduce(given, axis=None) < limit:
        np.multiply(given, 1.0 / grid, out=rounded)
        np.rint(rounded, out=rounded)
        np.multiply(rounded, grid, out=rounded)
        return rounded
    # A NaN, an infinity or a value past the limit made a comparison false, or rounding up may overflow.
    with np.errstate(all="ignore"):
        np.multiply(np.rint(given * (1.0 / grid)), grid, out=rounded)
        exempt = ~(np.abs(given) < limit)
    rounded[exempt] = given[exempt]
    return rounded


def on_grid(values: npt.ArrayLike, precision: float) -> bool:
    """Tell whether every finite value is a multiple of ``quantum(precision)`` (for validators; readers never check).

    Args:
        values: Float64, of any shape.
        precision: Declared precision, in the unit of the values.

    Raises:
        SchemaError: A precision out of bounds (``reject-precision-out-of-bounds``).
    """
    given = np.asarray(values, dtype=np.float64)
    finite = given[np.isfinite(given)]
    return bool(np.array_equal(quantize(finite, precision), finite))
