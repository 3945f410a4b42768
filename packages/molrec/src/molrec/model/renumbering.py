"""Choosing, repeating and joining rows, with every row reference kept true (``docs/spec/frame.md``, row references).

References into a block of the same frame are renumbered, those into another section of a record are not: that section
stays as it is. A relation whose endpoint is gone goes with it, and so does what references that relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.errors import SchemaError
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.model.references import check_rows
from molrec.model.relations import same_container_references

__all__ = ["concat", "replicate", "subset"]

type Rows = npt.NDArray[np.int64]


def subset(frame: Frame, rows: npt.ArrayLike | slice, block: str = "atoms", aligned: Sequence[str] = ()) -> Frame:
    """Return a new frame with some rows of a block and the relations among them (see `Frame.subset`)."""
    chosen = _chosen_rows(rows, frame[block].rows, block)
    selected = dict.fromkeys((block, *aligned), chosen)
    for name in aligned:
        if frame[name].rows != frame[block].rows:
            raise SchemaError(
                f"block {name!r} has {frame[name].rows} rows and {block!r} has {frame[block].rows}; "
                "aligned blocks have the same rows",
                "reject-aligned-count-mismatch",
            )
    references = _checked_references(frame)
    kept = _surviving(frame, references, selected)
    blocks = {}
    for name, found in frame.items():
        taken = _take(found, kept[name])
        for column, target in references[name].items():
            _renumber(taken, column, kept[target], frame[target].rows)
        blocks[name] = taken
    return Frame._trusted(blocks, Meta(frame.meta), frame.box)


def replicate(frame: Frame, count: int) -> Frame:
    """Return a new frame with `count` copies of every block's rows (see `Frame.replicate`)."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
        raise SchemaError(f"a frame is replicated a number of times, found {count!r}", "reject-replicate-count")
    references = _checked_references(frame)
    blocks = {}
    for name, found in frame.items():
        rows = np.tile(np.arange(found.rows), count)
        repeated = _take(found, rows, same_grid=count == 1)
        copies = np.repeat(np.arange(count, dtype=np.uint64), found.rows)
        moved = {column: copies * np.uint64(frame[target].rows) for column, target in references[name].items()}
        repeated = _shifted(repeated, moved)
        blocks[name] = repeated
    return Frame._trusted(blocks, Meta(frame.meta), frame.box)


def concat(frames: Sequence[Frame]) -> Frame:
    """Return a new frame with the rows of several, block by block (see `Frame.concat`)."""
    parts: dict[str, list[Block]] = {}
    before: dict[str, int] = {}
    for frame in frames:
        references = _checked_references(frame)
        for name, block in frame.items():
            moved = {column: before.get(target, 0) for column, target in references[name].items()}
            parts.setdefault(name, []).append(_shifted(block, moved))
        for name, block in frame.items():
            before[name] = before.get(name, 0) + block.rows
    first = frames[0] if frames else Frame()
    blocks = {name: _joined(found, name) for name, found in parts.items()}
    return Frame._trusted(blocks, Meta(first.meta), first.box)


# -- references -----------------------------------------------------------------------------------------------------


def _checked_references(frame: Frame) -> dict[str, dict[str, str]]:
    """Return every block's same-container references, each in range.

    Raises:
        SchemaError: A target is missing or a reference is out of range (see `check_rows`).
    """
    found: dict[str, dict[str, str]] = {}
    for name, block in frame.items():
        dtypes = {column: block.dtype(column) for column in block.columns}
        found[name] = same_container_references(dtypes, block.targets)
        for column, target in list(found[name].items()):
            declared = column in block.targets
            rows = frame[target].rows if target in frame else None
            if rows is not None or (declared and block.rows):
                check_rows(block[column], block.validity(column), target, rows, f"block {name!r}, column {column!r}")
            else:
                del found[name][column]  # an endpoint without atoms beside it, or no rows: nothing to renumber
    return found


def _surviving(
    frame: Frame, references: Mapping[str, Mapping[str, str]], selected: Mapping[str, Rows]
) -> dict[str, Rows]:
    """Return the rows of every block that stay: those chosen, and elsewhere those whose references all stay."""
    stays = {name: np.ones(block.rows, dtype=np.bool_) for name, block in frame.items()}
    for name, rows in selected.items():
        stays[name][:] = False
        stays[name][rows] = True
    changed = True
    while changed:
        changed = False
        for name, found in references.items():
            # The rows that were asked for stay; a reference among them to a row that is gone becomes null.
            if name in selected:
                continue
            for column, target in found.items():
                resolved = _resolves(frame[name], column, stays[target])
                if not resolved[stays[name]].all():
                    stays[name] &= resolved
                    changed = True
    return {name: selected[name] if name in selected else np.flatnonzero(flags) for name, flags in stays.items()}


def _resolves(block: Block, column: str, stays: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Tell for each row whether its reference, if it has a value, is to a row that stays."""
    values, mask = block[column], block.validity(column)
    if mask is None:
        return _every(stays[values])
    resolved = np.ones(block.rows, dtype=np.bool_)
    resolved[mask] = _every(stays[values[mask]])
    return resolved


def _every(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    return flags.reshape(len(flags), -1).all(axis=1) if flags.ndim > 1 else flags


def _renumber(block: Block, column: str, kept: Rows, rows: int) -> None:
    """Point a column at the places its targets have among the kept rows; null where they have none."""
    place = np.full(rows, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    values, mask = block[column], block.validity(column)
    valid = np.ones(block.rows, dtype=np.bool_) if mask is None else mask
    renumbered = values.copy()
    found = place[values[valid]]
    renumbered[valid] = np.maximum(found, 0).astype(np.uint64)
    gone = ~valid
    gone[valid] = _every(found < 0) if found.ndim == 1 else (found < 0).reshape(len(found), -1).any(axis=1)
    block[column] = renumbered
    block.set_validity(column, ~gone)


def _shifted(block: Block, shifts: Mapping[str, Any]) -> Block:
    """Return a block whose references are larger by a number, or by one for each row; nulls keep what they carry."""
    moved = _take(block, np.arange(block.rows)) if shifts else block
    for column, shift in shifts.items():
        values, mask = block[column], block.validity(column)
        step = np.broadcast_to(np.asarray(shift, dtype=np.uint64), block.rows)
        step = step if mask is None else np.where(mask, step, np.uint64(0))
        moved[column] = values + step.reshape(-1, *(1 for _ in values.shape[1:]))
    return moved


# -- rows -----------------------------------------------------------------------------------------------------------


def _chosen_rows(rows: npt.ArrayLike | slice, count: int, block: str) -> Rows:
    """Return a choice of rows as indices from 0.

    Raises:
        SchemaError: Neither a mask of every row nor a list of different rows (``reject-subset-rows``).
    """
    if isinstance(rows, slice):
        return np.arange(count)[rows]
    given = np.asarray(rows)
    if given.size == 0 and given.dtype != np.bool_:
        given = given.astype(np.int64)
    if given.ndim != 1 or given.dtype.kind not in "biu":
        raise SchemaError(
            f"rows of {block!r} are chosen by one bool for each or by their indices, found {given.dtype} of shape "
            f"{given.shape}",
            "reject-subset-rows",
        )
    if given.dtype == np.bool_:
        if len(given) != count:
            raise SchemaError(
                f"{len(given)} flags are given for the {count} rows of block {block!r}", "reject-subset-rows"
            )
        return np.flatnonzero(given)
    indices = given.astype(np.int64)
    beyond = (indices < -count) | (indices >= count)
    if beyond.any():
        raise SchemaError(
            f"row {int(indices[beyond][0])} is chosen, but block {block!r} has {count} rows", "reject-subset-rows"
        )
    indices = np.where(indices < 0, indices + count, indices)
    if len(np.unique(indices)) != len(indices):
        values, times = np.unique(indices, return_counts=True)
        raise SchemaError(
            f"row {int(values[times > 1][0])} of block {block!r} is chosen twice; replicate and concat repeat rows",
            "reject-subset-rows",
        )
    return indices


def _take(block: Block, rows: Rows, *, same_grid: bool = False) -> Block:
    """Return a new block of some rows; a grid survives only when all of its rows do, in order."""
    whole = same_grid or (len(rows) == block.rows and bool((rows == np.arange(block.rows)).all()))
    taken = Block._trusted(
        {name: values[rows] for name, values in block.items()},
        len(rows),
        {},
        {name: found for name in block.columns if (found := block.precision(name)) is not None},
        block.targets,
        block.structural_shape if whole else None,
    )
    for name in block.columns:
        mask = block.validity(name)
        taken.set_validity(name, None if mask is None else mask[rows])
        taken.column_attributes(name).update(block.column_attributes(name))
    taken.attributes = dict(block.attributes)
    return taken


def _joined(parts: list[Block], name: str) -> Block:
    """Return the rows of several blocks of one name; a column some of them lack is null there."""
    columns = dict.fromkeys(column for part in parts for column in part)
    rows = sum(part.rows for part in parts)
    joined = Block(rows=rows)
    for column in columns:
        having = [part for part in parts if column in part]
        _check_alike(having, name, column)
        sample = having[0][column]
        pieces: list[Array] = []
        masks = []
        for part in parts:
            if column not in part:
                pieces.append(np.zeros((part.rows, *sample.shape[1:]), dtype=sample.dtype))
                masks.append(np.zeros(part.rows, dtype=np.bool_))
                continue
            mask = part.validity(column)
            pieces.append(part[column])
            masks.append(np.ones(part.rows, dtype=np.bool_) if mask is None else mask)
        joined[column] = np.concatenate(pieces)
        joined.set_validity(column, np.concatenate(masks))
        joined.set_precision(column, having[0].precision(column))
        joined.set_target(column, having[0].targets.get(column))
        joined.column_attributes(column).update(having[0].column_attributes(column))
    joined.attributes = {key: value for part in reversed(parts) for key, value in part.attributes.items()}
    if len(parts) == 1:
        joined.structural_shape = parts[0].structural_shape
    return joined


def _check_alike(parts: list[Block], name: str, column: str) -> None:
    first = parts[0]
    for part in parts[1:]:
        for what, mine, theirs in (
            ("dtype", first.dtype(column), part.dtype(column)),
            ("row shape", first[column].shape[1:], part[column].shape[1:]),
            ("precision", first.precision(column), part.precision(column)),
            ("target", first.targets.get(column), part.targets.get(column)),
        ):
            if mine != theirs:
                raise SchemaError(
                    f"block {name!r}, column {column!r}: frames to be joined disagree about its {what}, {mine} and "
                    f"{theirs}; make them agree first",
                    "reject-concat-disagrees",
                )
