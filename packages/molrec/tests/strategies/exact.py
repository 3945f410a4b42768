"""Containers as plain values that compare to the bit, and the rounding of declared precision in exact rationals.

Nothing here asks the library under test whether two things are equal: arrays become their bytes, floats their bits.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import molrec as mr

type AnyArray = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, repr=False)
class Bits:
    """An array by dtype, shape and bytes; strings by their texts."""

    dtype: str
    shape: tuple[int, ...]
    content: bytes | tuple[str, ...]

    def __repr__(self) -> str:
        values = self.content if isinstance(self.content, tuple) else np.frombuffer(self.content, self.dtype).tolist()
        return f"{self.dtype}{list(self.shape)}: {str(values)[:500]}"


def exact(value: Any) -> Any:
    """Return a value as plain comparable data: arrays as `Bits`, floats by bits (one NaN), types kept apart."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "T":
            return Bits("string", value.shape, tuple(value.ravel().tolist()))
        return Bits(value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes())
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"float {struct.pack('>d', value).hex()} ({value!r})"
    if isinstance(value, int):
        return f"int {value}"
    if isinstance(value, tuple):
        return ("tuple", *(exact(item) for item in value))
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, Mapping):
        return {key: exact(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} is no content of a record")


def plain_block(block: mr.Block) -> dict[str, Any]:
    """Return everything a block says; arrays are copied on the way."""
    return {
        "rows": len(block),
        "columns": {name: exact(np.asarray(block[name])) for name in block.columns},
        "validity": {name: exact(mask) for name in block.columns if (mask := block.validity(name)) is not None},
        "precision": {name: block.precision(name) for name in block.columns if block.precision(name) is not None},
        "targets": dict(block.targets),
        "structural_shape": block.structural_shape,
        "attributes": exact(block.attributes),
        "column attributes": {
            name: exact(block.column_attributes(name)) for name in block.columns if block.column_attributes(name)
        },
    }


def plain_box(box: mr.Box | None) -> dict[str, Any] | None:
    """Return everything a box says."""
    if box is None:
        return None
    return {
        "vectors": exact(np.asarray(box.vectors)),
        "origin": exact(np.asarray(box.origin)),
        "boundary": box.boundary.tolist(),
        "cell_defined": box.cell_defined,
    }


def plain_frame(frame: mr.Frame) -> dict[str, Any]:
    """Return everything a frame says; the order of meta keys counts, that of blocks and columns does not."""
    return {
        "blocks": {name: plain_block(frame[name]) for name in frame.blocks},
        "meta": [(key, frame.meta.tag(key), exact(frame.meta[key])) for key in frame.meta],
        "box": plain_box(frame.box),
    }


def stored_value(value: float, precision: float) -> float:
    """Return what a column of a precision stores for a value, by the formula, in exact rationals."""
    _, exponent = math.frexp(precision)
    grid = Fraction(2) ** (exponent - 1)
    if not math.isfinite(value) or abs(Fraction(value)) >= 2**52 * grid:
        return value
    multiple = round(Fraction(value) / grid) * grid  # rounds half to even
    try:
        return math.copysign(float(multiple), value)
    except OverflowError:
        return math.copysign(math.inf, value)


def stored_array(values: AnyArray, precision: float | None) -> AnyArray:
    """Return what a column stores for an array; NaN keeps its payload."""
    stored: AnyArray = values.copy()
    if precision is not None:
        flat = stored.reshape(-1)
        for place in np.flatnonzero(np.isfinite(flat)).tolist():
            flat[place] = stored_value(float(flat[place]), precision)
    return stored
