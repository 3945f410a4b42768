"""Writing an array whose shape is final: a column of a frame, a mask, a box array (``docs/spec/zarr.md``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from molrec.dtypes import Array, dtype_name
from molrec.storage.zarr.codecs import checksum
from molrec.storage.zarr.extents import fixed_layout
from molrec.storage.zarr.files import write_document, write_new_file
from molrec.storage.zarr.layout import ArrayLayout

__all__ = ["write_fixed_array"]


def write_fixed_array(
    folder: Path, values: Array, *, precision: float | None = None, attributes: dict[str, Any] | None = None
) -> None:
    """Write a whole array below a folder that does not hold one yet; chunks first, metadata last."""
    layout = fixed_layout(dtype_name(values.dtype), values.shape, precision=precision is not None)
    layout.attributes = dict(attributes or {})
    if precision is not None:
        layout.attributes["precision"] = precision
    chunks = _encode_chunks(values, layout)
    if layout.chunks_per_shard:
        write_new_file(folder / layout.chunk_path(0), _shard(chunks))
    else:
        for number, encoded in enumerate(chunks):
            write_new_file(folder / layout.chunk_path(number), encoded)
    write_document(folder, layout.to_document())


def _encode_chunks(values: Array, layout: ArrayLayout) -> list[bytes]:
    assert layout.pipeline is not None
    if not layout.shape:
        return [layout.pipeline.encode(values.reshape(1))]  # a row of it: a single string would lose its array
    rows = layout.chunk_rows
    starts = range(0, layout.rows, rows)
    return [layout.pipeline.encode(pad_chunk(values[start : start + rows], layout)) for start in starts]


def pad_chunk(rows: Array, layout: ArrayLayout) -> Array:
    """Return a full chunk whose first rows are given; a Zarr chunk is stored whole."""
    if rows.shape == layout.chunk_shape:
        return rows
    chunk: Array = np.zeros(layout.chunk_shape, dtype=rows.dtype)
    chunk[tuple(slice(0, extent) for extent in rows.shape)] = rows
    return chunk


def _shard(chunks: list[bytes]) -> bytes:
    """Return one shard with its index at the end."""
    lengths = np.array([len(chunk) for chunk in chunks], dtype="<u8")
    offsets = np.cumsum(lengths, dtype=np.uint64) - lengths
    index = np.stack([offsets, lengths], axis=1).astype("<u8").tobytes()
    return b"".join((*chunks, index, checksum(index).to_bytes(4, "little")))
