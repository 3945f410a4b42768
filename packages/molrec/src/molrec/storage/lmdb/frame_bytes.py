"""Frame bytes: blocks, meta and box of one frame in one value (``docs/spec/lmdb.md``, frame bytes).

Here are the values that stand alone: a record's system, the index, the force field. Frames of trajectories, whose
declaration is the collection's, are the business of `update_bytes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec import typedjson
from molrec.dtypes import Array, dtype_name
from molrec.errors import FormatError
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.model.names import META_TYPES
from molrec.precision import quantize
from molrec.storage.lmdb.box_json import box_document, read_box
from molrec.storage.lmdb.layout import ALIGNMENT, MAGIC, PREFIX, HeaderReader

__all__ = [
    "PADS",
    "Payload",
    "as_list",
    "column_entry",
    "decode_blocks",
    "decode_frame",
    "encode_blocks",
    "encode_frame",
    "frame_value",
]

PADS = tuple(bytes(count) for count in range(ALIGNMENT))


# -- writing ----------------------------------------------------------------------------------------------------------


class Payload:
    """Buffers end to end, each on a multiple of 8."""

    def __init__(self, start: int = 0) -> None:
        self.end = start
        self.parts: list[Any] = []

    def add(self, values: Array) -> int:
        """Take one array and return its offset."""
        offset = self.end
        plain = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        pad = -plain.nbytes % ALIGNMENT
        self.parts += (plain.data, PADS[pad]) if plain.size else ()
        self.end += plain.nbytes + pad
        return offset


def frame_value(header: bytes, parts: Iterable[Any]) -> bytes:
    """Return a value put together from its header and the buffers of its payload."""
    pad = -(PREFIX.size + len(header)) % ALIGNMENT
    return b"".join((PREFIX.pack(MAGIC, len(header)), header, PADS[pad], *parts))


def encode_frame(frame: Frame) -> bytes:
    """Return a frame that stands alone, with everything it says: precisions, masks, references, typed meta, box."""
    meta = frame.meta.to_attributes()
    tags = meta.pop(META_TYPES, {})
    entries: dict[str, Any] = {"meta": meta, "meta_types": tags}
    if frame.box is not None:
        entries["box"] = box_document(frame.box)
    return _encode(frame, entries)


def encode_blocks(blocks: Mapping[str, Block], document: Mapping[str, Any]) -> bytes:
    """Return blocks beside a plain JSON document in the place of the meta."""
    return _encode(blocks, {"meta": dict(document)})


def _encode(blocks: Frame | Mapping[str, Block], entries: dict[str, Any]) -> bytes:
    payload = Payload()
    header = {"blocks": {name: _block_entry(block, payload) for name, block in blocks.items()}, **entries}
    return frame_value(typedjson.dump_json(header).encode(), payload.parts)


def _block_entry(block: Block, payload: Payload) -> dict[str, Any]:
    entry: dict[str, Any] = {"count": block.rows, "structural_shape": as_list(block.structural_shape)}
    if block.targets:
        entry["targets"] = block.targets
    if block.attributes:
        entry["attributes"] = typedjson.coerce("json", block.attributes, "block attributes")
    columns = entry["columns"] = {}
    for name, values in block.items():
        precision = block.precision(name)
        # The block rounded what it was given; its arrays may have been edited in place since.
        stored = values if precision is None else quantize(values, precision)
        stated = column_entry(stored, block.validity(name), payload)
        if precision is not None:
            stated["precision"] = precision
        attributes = block._column_attributes.get(name)
        if attributes:
            stated["attributes"] = typedjson.coerce("json", attributes, f"attributes of column {name!r}")
        columns[name] = stated
    return entry


def column_entry(values: Array, mask: npt.NDArray[np.bool_] | None, payload: Payload) -> dict[str, Any]:
    """Return a column's entry in the header, its buffers added to the payload."""
    entry: dict[str, Any] = {"dtype": dtype_name(values.dtype), "shape": list(values.shape)}
    if values.dtype.kind == "T":
        entry["values"] = values.ravel().tolist()
    else:
        entry["offset"] = payload.add(values)
    if mask is not None and not mask.all():
        entry["validity"] = payload.add(mask)
    return entry


def as_list(shape: tuple[int, ...] | None) -> list[int] | None:
    """Return a shape as JSON has it."""
    return None if shape is None else list(shape)


# -- reading ----------------------------------------------------------------------------------------------------------


def decode_frame(value: Any, where: str, headers: HeaderReader | None = None) -> Frame:
    """Return a frame that stands alone; its arrays are read-only views of `value`.

    Args:
        value: A read-only buffer aligned to 8 bytes, such as `bytes`.
        where: For messages.
        headers: Keeps layouts from value to value.

    Raises:
        FormatError: The value is refused (``docs/spec/lmdb.md``, refusals).
    """
    layout, rest, base = (headers or HeaderReader()).read(value, where)
    meta, tags = rest.get("meta", {}), rest.get("meta_types", {})
    if not isinstance(meta, dict) or META_TYPES in meta:
        raise FormatError(f"{where}: meta is an object of values, found {meta!r}", "reject-malformed-header")
    box = rest.get("box")
    return Frame._trusted(
        {name: block.read(value, base, where) for name, block in layout.blocks.items()},
        Meta.from_attributes({**meta, META_TYPES: tags}, where),
        None if box is None else read_box(box, where),
    )


def decode_blocks(value: Any, where: str) -> tuple[dict[str, Block], dict[str, Any]]:
    """Return blocks and the plain document beside them.

    Raises:
        FormatError: The value is refused (``docs/spec/lmdb.md``, refusals).
    """
    layout, rest, base = HeaderReader().read(value, where)
    document = rest.get("meta", {})
    if not isinstance(document, dict):
        raise FormatError(f"{where}: meta is an object, found {document!r}", "reject-malformed-header")
    return {name: block.read(value, base, where) for name, block in layout.blocks.items()}, document
