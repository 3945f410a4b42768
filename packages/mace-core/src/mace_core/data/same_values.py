"""When two values are the same: bit for bit, with one allowance."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["same_value"]


def same_value(first: Any, second: Any) -> bool:
    """Whether two labels are the same in type, shape and every bit.

    A Python number, a NumPy scalar and an array without axes count the same, so do texts however an array holds them,
    and one not-a-number is as good as another.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(same_value(first[key], second[key]) for key in first)
    if any(value is None or isinstance(value, (str, dict)) for value in (first, second)):
        return type(first) is type(second) and bool(first == second)
    if isinstance(first, list) or isinstance(second, list):
        return type(first) is type(second) and len(first) == len(second) and all(map(same_value, first, second))
    before, after = np.asarray(first), np.asarray(second)
    if before.shape != after.shape:
        return False
    if before.dtype.kind in "OUT" or after.dtype.kind in "OUT":
        return bool(before.tolist() == after.tolist())
    if before.dtype != after.dtype:
        return False
    if before.dtype.kind == "f":
        missing = np.isnan(before)
        if not np.array_equal(missing, np.isnan(after)):
            return False
        before, after = before[~missing], after[~missing]
    return before.tobytes() == after.tobytes()
