"""What both ways of making a batch do alike: row pointers, and a look at flags."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.errors import FormatError

__all__ = ["checked_flags", "row_pointers"]


def row_pointers(counts: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return where each of several runs of rows begins, and where the last one ends: int64 ``(runs + 1,)``."""
    pointers = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=pointers[1:])
    return pointers


def checked_flags(flags: Array, key: str, where: str) -> Array:
    """Return flags, each of which is 0 or 1.

    Raises:
        FormatError: One is neither (``reject-bool-byte``).
    """
    if flags.size and flags.view(np.uint8).max() > 1:
        raise FormatError(f"{where}: {key}: a flag is one byte, 0 or 1", "reject-bool-byte")
    return flags
