"""What a reader must return for a run, worked out by the rules of the specification in a few plain lines.

Rounding is ``docs/spec/frame.md`` (declared precision), carrying forward ``docs/spec/trajectory.md`` (three states).
Nothing here comes from the library, so that its mistakes cannot hide in what is expected of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scripts.golden.content import Array, Block, Box, Column, Frame, Run

__all__ = ["ResolvedFrame", "resolve", "rounded_block", "stored_values"]


@dataclass(slots=True)
class ResolvedFrame:
    """One frame as a reader returns it; `updates` is the ordinal each present block was written at."""

    step: int
    time: float | None
    frame: Frame
    updates: dict[str, int | None]


def stored_values(values: Array, precision: float | None) -> Array:
    """Return what is stored of the values of an `f64` column that declares a precision."""
    if precision is None:
        return values
    _, exponent = math.frexp(precision)
    quantum = math.ldexp(1.0, exponent - 1)
    with np.errstate(all="ignore"):
        on_grid = np.rint(values / quantum) * quantum
        rounds = np.abs(values) < 2.0**52 * quantum  # false for NaN
    return np.where(rounds, on_grid, values)


def rounded_block(given: Block) -> Block:
    """Return a block whose columns are rounded to the precisions they state."""
    columns = {
        name: Column(one.dtype, stored_values(one.values, one.precision), one.mask, one.precision, one.attributes)
        for name, one in given.columns.items()
    }
    return Block(columns, given.rows, given.structural_shape, given.targets, given.attributes)


def resolve(run: Run) -> Iterator[ResolvedFrame]:
    """Yield every frame with what it carries forward."""
    blocks = run.declaration["blocks"]
    latest: dict[str, Block] = {}
    updates: dict[str, int | None] = dict.fromkeys(blocks)
    box: Box | None = None
    for ordinal, presented in enumerate(run.frames):
        for name, given in presented.blocks.items():
            stored = _as_declared(given, blocks[name])
            if name not in latest or _bits(latest[name]) != _bits(stored):
                latest[name], updates[name] = stored, ordinal
        box = box if presented.box is None else presented.box
        frame = Frame({name: latest[name] for name in blocks if name in latest}, _meta(run, presented), box)
        time = None if run.times is None else run.times[ordinal]
        yield ResolvedFrame(run.steps[ordinal], time, frame, dict(updates))


def _as_declared(given: Block, declaration: dict[str, Any]) -> Block:
    columns = {}
    for name, entry in declaration["columns"].items():
        one, precision = given.columns[name], entry.get("precision")
        columns[name] = Column(entry["dtype"], stored_values(one.values, precision), one.mask, precision)
    return Block(columns, given.rows, declaration.get("structural_shape"), dict(declaration.get("targets", {})))


def _bits(stored: Block) -> list[Any]:
    """Return what two updates are compared by: every bit of every column, and every flag."""
    parts: list[Any] = [stored.rows]
    for one in stored.columns.values():
        strings = one.dtype == "string"
        parts.append(one.values.ravel().tolist() if strings else np.ascontiguousarray(one.values).tobytes())
        parts.append([True] * stored.rows if one.mask is None else list(one.mask))
    return parts


def _meta(run: Run, presented: Frame) -> dict[str, tuple[str, Any]]:
    values: dict[str, tuple[str, Any]] = {}
    for key, entry in run.declaration["meta"].items():
        tag = entry["dtype"]
        values[key] = presented.meta[key] if key in presented.meta else (tag, _fill(tag, entry["fill"]))
    return values


def _fill(tag: str, form: Any) -> Any:
    """Return the value a fill stands for in its typed JSON form."""
    if tag == "json":
        return form
    if isinstance(form, list):
        return tuple(_fill(tag.partition("x")[0], item) for item in form)
    if isinstance(form, str) and tag != "string":
        return float(form) if tag == "f64" else int(form)
    return form
