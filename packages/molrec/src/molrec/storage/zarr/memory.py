"""A bound on what metadata may ask for: a few bytes can claim an array larger than any machine.

Zarr reads a chunk that is not stored as its fill value, so that an array without a single chunk may have any size. An
array that would not fit into the memory of this machine is refused before it is made.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cache

import numpy as np

from molrec.dtypes import Array
from molrec.errors import FormatError

__all__ = ["new_array", "require_memory"]

#: Less than this is asked for without a look.
_LITTLE = 2**28
#: Where the system does not say how much there is: what an address can reach.
_UNKNOWN = 2**47


@cache
def _memory() -> int:
    """Return the bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN


def require_memory(size: int, where: str) -> None:
    """Refuse what would take more bytes than this machine has memory.

    Raises:
        FormatError: It would (``reject-array-too-large``).
    """
    if size > _LITTLE and size > _memory():
        raise FormatError(
            f"{where} would take {size} bytes, more than this machine has memory; read it in parts, or not at all if "
            "nobody meant it to be that large",
            "reject-array-too-large",
        )


def new_array(shape: Sequence[int], dtype: np.dtype[np.generic], where: str, *, zeros: bool = False) -> Array:
    """Return a new array.

    Args:
        shape: Its shape.
        dtype: Its dtype.
        where: What it is to hold, for messages.
        zeros: Whether to fill it with zeros.

    Raises:
        FormatError: It would not fit into memory (``reject-array-too-large``).
    """
    size = math.prod(shape) * dtype.itemsize
    require_memory(size, where)
    try:
        made: Array = np.zeros(shape, dtype) if zeros else np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        raise FormatError(
            f"{where} would take {size} bytes, which this process has not ({error})", "reject-array-too-large"
        ) from error
    return made
