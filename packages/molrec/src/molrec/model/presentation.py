"""Holding a frame against a trajectory's declaration (``docs/spec/trajectory.md``, what a frame presents).

`FrameChecker` answers, before anything is taken, what of a frame would be stored: blocks checked and rounded, meta
values coerced and filled in, step and time in their place in the run. Every storage that takes frames asks it. It
reads frames and never changes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec import typedjson
from molrec.dtypes import Array, identical, numpy_dtype
from molrec.errors import SchemaError
from molrec.model.beside_system import check_same_rows
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.schema import BlockSchema, SequenceSchema
from molrec.precision import quantize

__all__ = ["FrameChecker", "Presentation", "as_presented", "next_step", "next_time", "present"]

_STEP_LIMITS = (-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class Presentation:
    """A block as one frame presents it, checked and rounded: columns by name, masks of the nullable ones."""

    rows: int
    columns: dict[str, Array]
    masks: dict[str, npt.NDArray[np.bool_]]

    def equals(self, other: Presentation) -> bool:
        """Tell whether two presentations are the same update: every bit, masks included."""
        return (
            self.rows == other.rows
            and all(identical(values, other.columns[name]) for name, values in self.columns.items())
            and all(identical(mask, other.masks[name]) for name, mask in self.masks.items())
        )


def as_presented(block: Block) -> Presentation:
    """Return a whole block as a presentation, arrays shared."""
    masks = {column: mask for column in block.columns if (mask := block.validity(column)) is not None}
    return Presentation(block.rows, dict(block.items()), masks)


def present(name: str, declared: BlockSchema, block: Block) -> Presentation:
    """Check a block against its declaration and return what would be stored.

    The block is read only. A column the rounding left untouched is still the caller's array.

    Raises:
        SchemaError: Columns, dtypes, shapes, masks, precisions, targets or grid differ from the declaration.
    """
    where = f"block {name!r}"
    _check_columns(where, declared, block)
    grid = declared.structural_shape
    if block.structural_shape not in (None, grid) or (grid is not None and block.rows != math.prod(grid)):
        raise SchemaError(
            f"{where}: the declared grid is {grid}, this frame has {block.rows} rows on {block.structural_shape}",
            "reject-structural-shape",
        )
    for column, target in block.targets.items():
        if declared.targets.get(column) != target:
            raise SchemaError(
                f"{where}, column {column!r} references {target!r} but the trajectory pins "
                f"{declared.targets.get(column)!r}",
                "reject-frame-target-disagrees",
            )
    rounded = _rounded(declared, block)
    columns: dict[str, Array] = {}
    masks: dict[str, npt.NDArray[np.bool_]] = {}
    for column, pinned in declared.columns.items():
        mask = block.validity(column)
        columns[column] = rounded[column] if column in rounded else block[column]
        if pinned.nullable:
            masks[column] = np.ones(block.rows, dtype=np.bool_) if mask is None else mask
        elif mask is not None:
            raise SchemaError(
                f"{where}, column {column!r} carries a validity mask but is not declared nullable; "
                "call declare_nullable before the run",
                "reject-mask-not-declared",
            )
    return Presentation(block.rows, columns, masks)


def _rounded(declared: BlockSchema, block: Block) -> dict[str, Array]:
    """Return the columns of declared precision on their grids; those that share one are rounded together."""
    alike: dict[tuple[float, tuple[int, ...]], list[str]] = {}
    for column, pinned in declared.columns.items():
        if pinned.precision is not None:
            alike.setdefault((pinned.precision, pinned.trailing), []).append(column)
    rounded: dict[str, Array] = {}
    for (precision, _), names in alike.items():
        if len(names) == 1:
            rounded[names[0]] = quantize(block[names[0]], precision)
        else:
            rounded |= zip(names, quantize([block[name] for name in names], precision), strict=True)
    return rounded


def _check_columns(where: str, declared: BlockSchema, block: Block) -> None:
    if block.keys() != declared.columns.keys():
        missing = sorted(declared.columns.keys() - block.keys())
        extra = sorted(block.keys() - declared.columns.keys())
        raise SchemaError(
            f"{where} presents other columns than declared"
            + (f"; missing {', '.join(missing)} (a block is presented whole)" if missing else "")
            + (f"; undeclared {', '.join(extra)} (declare every column before the run)" if extra else ""),
            "reject-missing-column" if missing else "reject-undeclared",
        )
    for column, pinned in declared.columns.items():
        values = block[column]
        if values.dtype != numpy_dtype(pinned.dtype) or values.shape[1:] != pinned.trailing:
            raise SchemaError(
                f"{where}, column {column!r} is declared {pinned.dtype} with trailing shape {list(pinned.trailing)}, "
                f"this frame has {block.dtype(column)} with {list(values.shape[1:])}",
                "reject-column-disagrees",
            )
        precision = block.precision(column)
        if precision is not None and precision != pinned.precision:
            raise SchemaError(
                f"{where}, column {column!r} declares precision {precision!r}, the trajectory pins "
                f"{pinned.precision!r}; a trajectory states a precision once",
                "reject-frame-precision-disagrees",
            )


class FrameChecker:
    """Checks frames against one declaration.

    Args:
        schema: The pinned declaration.
        system_rows: Row counts of the blocks of the ``system`` section; a trajectory block of the same name has them
            at every update.
        system_ids: The ``id`` columns of those blocks, where both sides have one; they agree row by row.
    """

    def __init__(
        self, schema: SequenceSchema, system_rows: Mapping[str, int], system_ids: Mapping[str, Array] | None = None
    ) -> None:
        self._schema = schema
        self._system_rows = system_rows
        self._system_ids = system_ids or {}

    def blocks(self, frame: Frame) -> dict[str, Presentation]:
        """Return what a frame presents, by block.

        Raises:
            SchemaError: A block is not declared (``reject-undeclared``), has another row count than its namesake in
                the system (``reject-system-row-count``) or other ids (``reject-system-id``), or differs from its
                declaration (see `present`).
        """
        presented = {}
        for name, block in frame.items():
            declared = self._schema.blocks.get(name)
            if declared is None:
                raise SchemaError(
                    f"block {name!r} is not declared (declared: {', '.join(self._schema.blocks) or 'none'}); "
                    "a schema is pinned when the trajectory is created",
                    "reject-undeclared",
                )
            check_same_rows(name, block.rows, self._system_rows.get(name, block.rows))
            presented[name] = present(name, declared, block)
            if name in self._system_ids and not identical(presented[name].columns["id"], self._system_ids[name]):
                raise SchemaError(
                    f"block {name!r}: the id values are not those of the system's block of that name, row by row",
                    "reject-system-id",
                )
        return presented

    def meta(self, frame: Frame) -> dict[str, Any]:
        """Return the value of every declared meta key, fills included.

        Raises:
            SchemaError: A key is not declared (``reject-undeclared``), lacks value and fill
                (``reject-missing-meta-key``), or does not fit its tag.
        """
        unknown = sorted(frame.meta.keys() - self._schema.meta.keys())
        if unknown:
            raise SchemaError(
                f"meta key {unknown[0]!r} is not declared (declared: {', '.join(self._schema.meta) or 'none'})",
                "reject-undeclared",
            )
        values = {}
        for key, declared in self._schema.meta.items():
            if key in frame.meta:
                values[key] = typedjson.coerce(declared.tag, frame.meta[key], f"meta key {key!r}")
            elif declared.has_fill:
                values[key] = declared.fill
            else:
                raise SchemaError(
                    f"meta key {key!r} is missing and declares no fill; give it in every frame",
                    "reject-missing-meta-key",
                )
        return values


def next_step(step: int | None, last: int | None) -> int:
    """Return the step of the next frame: the one given, or one more than the last (0 at first).

    Raises:
        SchemaError: Not above the last step (``reject-step-not-increasing``) or beyond i64
            (``reject-step-out-of-range``).
    """
    if step is None:
        stamp = 0 if last is None else last + 1
    elif isinstance(step, bool) or not isinstance(step, (int, np.integer)):
        raise SchemaError(f"step is an integer, found {step!r}", "reject-step-not-increasing")
    else:
        stamp = int(step)
    if not _STEP_LIMITS[0] <= stamp <= _STEP_LIMITS[1]:
        raise SchemaError(f"step {stamp} is beyond i64", "reject-step-out-of-range")
    if last is not None and stamp <= last:
        raise SchemaError(f"step {stamp} follows step {last}; steps increase strictly", "reject-step-not-increasing")
    return stamp


def next_time(time: float | None, has_times: bool | None) -> float | None:
    """Return the time of the next frame of a run that has times, has none, or has no frame yet (None).

    Raises:
        SchemaError: ``reject-time-gained``, ``reject-time-dropped``, or not a number (``reject-time-not-a-number``).
    """
    if time is not None and (isinstance(time, bool) or not isinstance(time, (int, float, np.integer, np.floating))):
        raise SchemaError(f"time is a number, found {time!r}", "reject-time-not-a-number")
    if has_times is not None and has_times != (time is not None):
        gained = time is not None
        raise SchemaError(
            f"this run started {'without' if gained else 'with'} times and this frame "
            f"{'brings' if gained else 'lacks'} one; times are given for every frame of a run or for none",
            "reject-time-gained" if gained else "reject-time-dropped",
        )
    return None if time is None else float(time)
