"""Columns of many frames at once: resolve vectorized, decode each chunk once, build no frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array, numpy_dtype
from molrec.errors import SchemaError
from molrec.storage.zarr.block_reader import BlockReader

__all__ = ["read_columns"]

Ordinals = npt.NDArray[np.int64]


def read_columns(reader: BlockReader, columns: Sequence[str], ordinals: Ordinals) -> dict[str, Array]:
    """Return columns over frames, stacked or end to end with offsets (see `TrajectoryReader.read`)."""
    updates = reader.index.updates_at(ordinals)
    distinct, place = np.unique(updates, return_inverse=True)
    present = distinct[distinct >= 0]
    starts, stops = reader.index.spans(present)
    counts = np.where(updates < 0, 0, 0)
    counts[updates >= 0] = (stops - starts)[place[updates >= 0] - (len(distinct) - len(present))]
    uniform = not len(counts) or bool((counts == counts[0]).all())
    found: dict[str, Array] = {}
    for column in columns:
        array = reader.columns.get(column)
        if array is None:
            found[column] = _nothing(reader, column, len(ordinals))
            continue
        rows = reader.gather(array, starts, stops)
        found[column] = _spread(rows, stops - starts, place - (len(distinct) - len(present)), counts, uniform)
    if not uniform:
        if "offsets" in found:
            raise SchemaError(
                "a column named 'offsets' cannot be read over frames of different row counts", "reject-duplicate-name"
            )
        found["offsets"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return found


def _nothing(reader: BlockReader, column: str, frames: int) -> Array:
    declared = reader.declared.columns[column]
    return np.empty((frames, 0, *declared.trailing), dtype=numpy_dtype(declared.dtype))


def _spread(rows: Array, lengths: Ordinals, place: Ordinals, counts: Ordinals, uniform: bool) -> Array:
    """Lay the rows of distinct updates out per frame; frames that share an update repeat its rows."""
    trailing = rows.shape[1:]
    in_order = len(place) == len(lengths) and bool((place == np.arange(len(place))).all())
    if uniform:
        per_frame = int(counts[0]) if len(counts) else 0
        if not per_frame:
            return np.empty((len(counts), 0, *trailing), dtype=rows.dtype)
        frames = rows.reshape(len(lengths), per_frame, *trailing)
        return frames if in_order else frames[place]
    if in_order:
        return rows
    begins = np.concatenate([[0], np.cumsum(lengths)])[np.maximum(place, 0)]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    source = np.arange(int(offsets[-1]), dtype=np.int64) + np.repeat(begins - offsets[:-1], counts)
    gathered: Array = rows[source]
    return gathered
