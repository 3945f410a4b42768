"""Frame bytes of trajectories: what a frame changes, under its collection's declaration (``docs/spec/lmdb.md``)."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import Array, dtype_name
from molrec.errors import FormatError, SchemaError
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.presentation import Presentation
from molrec.model.record_run import FrameUpdate
from molrec.model.schema import BlockSchema, SequenceSchema
from molrec.storage.lmdb.box_json import box_document, read_box
from molrec.storage.lmdb.frame_bytes import PADS, Payload, as_list, column_entry, frame_value
from molrec.storage.lmdb.layout import ALIGNMENT, BlockLayout, HeaderReader, Layout

__all__ = ["StoredUpdate", "UpdateDecoder", "UpdateEncoder"]

_BIG_ENDIAN = sys.byteorder == "big"
_SAFE_INTEGER = 2**53
#: A JSON number that is no integer, and an integer that surely fits `i64`.
_REAL = rb"(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+))"
_INTEGER = rb"(-?(?:0|[1-9][0-9]{0,14}))"
_MOST_PLAIN_KEYS = 8


class UpdateEncoder:
    """Encodes the frames of trajectories; the text of blocks without strings is kept and used again.

    Args:
        schema: The declaration of the collection; one that grows is exchanged by `declare`.
    """

    def __init__(self, schema: SequenceSchema) -> None:
        self.declare(schema)

    def declare(self, schema: SequenceSchema) -> None:
        """Go on under another declaration."""
        self._schema = schema
        self._texts: dict[tuple[str, int, int, tuple[str, ...]], tuple[str, int]] = {}
        #: Keys as JSON, where every value is a plain number that JSON spells as Python does.
        self._plain_keys = (
            {key: typedjson.dump_json(key) for key in schema.meta}
            if all(declared.tag == "f64" for declared in schema.meta.values())
            else None
        )

    def encode(self, update: FrameUpdate) -> bytes:
        """Return the value of one frame."""
        payload = Payload()
        texts = [self._block_text(name, block, payload) for name, block in update.blocks.items()]
        header = f'{{"blocks":{{{",".join(texts)}}},{self._rest(update)}'
        return frame_value(header.encode(), payload.parts)

    def _rest(self, update: FrameUpdate) -> str:
        """Return the text of everything but the blocks, from the key `meta` to the closing brace."""
        keys = self._plain_keys
        plain = keys is not None and update.time is None and update.box is None and abs(update.step) <= _SAFE_INTEGER
        if keys is not None and plain and all(map(math.isfinite, update.meta.values())):
            meta = ",".join([f"{keys[key]}:{value!r}" for key, value in update.meta.items()])
            return f'"meta":{{{meta}}},"step":{update.step}}}'
        stated = {key: typedjson.encode(self._schema.meta[key].tag, value, key) for key, value in update.meta.items()}
        rest: dict[str, Any] = {"meta": stated, "step": typedjson.encode("i64", update.step)}
        if update.time is not None:
            rest["time"] = typedjson.encode("f64", update.time)
        if update.box is not None:
            rest["box"] = box_document(update.box)
        return typedjson.dump_json(rest)[1:]

    def _block_text(self, name: str, block: Presentation, payload: Payload) -> str:
        declared = self._schema.blocks[name]
        masked = tuple(column for column, mask in block.masks.items() if not mask.all())
        key = (name, block.rows, payload.end, masked)
        kept = self._texts.get(key)
        if kept is None:
            start = payload.end
            text = f"{typedjson.dump_json(name)}:{typedjson.dump_json(_update_entry(declared, block, payload))}"
            if not any(column.dtype == "string" for column in declared.columns.values()):
                self._texts[name, block.rows, start, masked] = (text, payload.end)
            return text
        text, end = kept
        parts = payload.parts
        for column, values in block.columns.items():
            plain = values if values.flags.c_contiguous and not _BIG_ENDIAN else _little(values)
            size = plain.nbytes
            if size:
                parts.append(plain.data)
                if size % ALIGNMENT:
                    parts.append(PADS[-size % ALIGNMENT])
            if column in masked:
                mask = block.masks[column]
                parts += (mask.tobytes(), PADS[-mask.size % ALIGNMENT])
        payload.end = end
        return text


def _little(values: Array) -> Array:
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<"))


def _update_entry(declared: BlockSchema, block: Presentation, payload: Payload) -> dict[str, Any]:
    entry: dict[str, Any] = {"count": block.rows, "structural_shape": as_list(declared.structural_shape)}
    if declared.targets:
        entry["targets"] = declared.targets
    entry["columns"] = {
        name: column_entry(values, block.masks.get(name), payload) for name, values in block.columns.items()
    }
    return entry


@dataclass(slots=True)
class StoredUpdate:
    """What one frame's value holds, its blocks not read yet."""

    layout: Layout
    meta: dict[str, Any]
    step: int
    time: float | None
    box: Any
    value: Any
    base: int
    where: str

    def block(self, name: str) -> Block:
        """Return a block it updates."""
        return self.layout.blocks[name].read(self.value, self.base, self.where)

    def blocks(self) -> dict[str, Block]:
        """Return every block it updates."""
        value, base, where = self.value, self.base, self.where
        return {name: block.read(value, base, where) for name, block in self.layout.blocks.items()}

    def read_box(self) -> Box | None:
        """Return its box, None where it does not change."""
        return None if self.box is None else read_box(self.box, self.where)


class UpdateDecoder:
    """Reads the frames of trajectories under the declaration of their collection."""

    def __init__(self, schema: SequenceSchema) -> None:
        self._schema = schema
        #: Tag of every per-step key.
        self.tags = {key: declared.tag for key, declared in schema.meta.items()}
        self._headers = HeaderReader(self._hold_against_schema, _plain_rest(self.tags))

    def read(self, value: Any, where: str) -> StoredUpdate:
        """Return a frame's value, checked but for the box.

        Raises:
            FormatError: The value is refused, or not what the collection declares.
        """
        layout, rest, base = self._headers.read(value, where)
        meta = self._meta(rest.get("meta"), where)
        step = rest.get("step")
        if type(step) is not int or not -(2**53) <= step <= 2**53:
            step = typedjson.decode("i64", step, f"{where}: step")
        time = rest.get("time")
        if time is not None and type(time) is not float:
            time = typedjson.decode("f64", time, f"{where}: time")
        return StoredUpdate(layout, meta, step, time, rest.get("box"), value, base, where)

    def layout(self, value: Any, where: str) -> tuple[Layout, dict[str, Any], int]:
        """Return the layout of a frame's value, the rest of its header, and where the payload begins."""
        return self._headers.read(value, where)

    def meta(self, rest: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the per-step values of what `layout` returned."""
        return self._meta(rest.get("meta"), where)

    def _meta(self, stated: Any, where: str) -> dict[str, Any]:
        if type(stated) is _Plain:
            return stated
        if not isinstance(stated, dict):
            raise FormatError(f"{where}: meta is an object, found {stated!r}", "reject-malformed-header")
        if len(stated) != len(self.tags) or stated.keys() != self.tags.keys():
            missing = sorted(self.tags.keys() - stated.keys())
            extra = sorted(stated.keys() - self.tags.keys())
            raise FormatError(
                f"{where}: per-step keys missing: {', '.join(missing) or 'none'}; undeclared: "
                f"{', '.join(extra) or 'none'}",
                "reject-missing-meta-key" if missing else "reject-undeclared",
            )
        # A float that the parser let pass is finite; every other form has its rules.
        return {
            key: form
            if tag == "f64" and type(form := stated[key]) is float
            else typedjson.decode(tag, stated[key], f"{where}: meta key {key!r}")
            for key, tag in self.tags.items()
        }

    def _hold_against_schema(self, layout: Layout) -> None:
        for name, block in layout.blocks.items():
            declared = self._schema.blocks.get(name)
            if declared is None:
                raise SchemaError(f"block {name!r} is not declared", "reject-undeclared")
            _hold_against(name, block, declared)
            block.targets = declared.targets
            block.structural_shape = declared.structural_shape
            for column in block.columns.values():
                column.precision = declared.columns[column.name].precision


class _Plain(dict[str, Any]):
    """Per-step values that were matched key by key and number by number: every declared one, each finite."""

    __slots__ = ()


def _plain_rest(tags: Mapping[str, str]) -> Callable[[bytes], dict[str, Any] | None] | None:
    """Return a reader of the commonest rest of a header: a few real numbers under the declared keys, and a step.

    It returns None for any other text. What it does read, JSON reads alike.
    """
    if len(tags) > _MOST_PLAIN_KEYS or any(tag != "f64" for tag in tags.values()):
        return None
    keys = tuple(tags)
    members = b",".join(re.escape(typedjson.dump_json(key).encode()) + b":" + _REAL for key in keys)
    match = re.compile(rb',"meta":\{' + members + rb'\},"step":' + _INTEGER + rb"\}").fullmatch

    def read(text: bytes) -> dict[str, Any] | None:
        found = match(text)
        if found is None:
            return None
        *numbers, step = found.groups()
        values = [float(number) for number in numbers]
        if not all(map(math.isfinite, values)):
            return None
        return {"meta": _Plain(zip(keys, values, strict=True)), "step": int(step)}

    return read


def _hold_against(name: str, block: BlockLayout, declared: BlockSchema) -> None:
    where = f"block {name!r}"
    found = block.columns.keys()
    if found != declared.columns.keys():
        missing = declared.columns.keys() - found
        raise SchemaError(
            f"{where} has the columns {', '.join(sorted(found)) or '(none)'}, declared are "
            f"{', '.join(declared.columns) or '(none)'}",
            "reject-missing-column" if missing else "reject-undeclared",
        )
    for column in block.columns.values():
        pinned = declared.columns[column.name]
        dtype = dtype_name(column.dtype)
        if (dtype, column.shape[1:]) != (pinned.dtype, pinned.trailing):
            raise SchemaError(
                f"{where}, column {column.name!r} is {dtype} with row shape {list(column.shape[1:])}, declared is "
                f"{pinned.dtype} with {list(pinned.trailing)}",
                "reject-column-disagrees",
            )
        if column.mask is not None and not pinned.nullable:
            raise SchemaError(
                f"{where}, column {column.name!r} has a mask and is not declared nullable", "reject-mask-not-declared"
            )
        if column.precision is not None and column.precision != pinned.precision:
            raise SchemaError(
                f"{where}, column {column.name!r} states precision {column.precision!r}, declared is "
                f"{pinned.precision!r}",
                "reject-frame-precision-disagrees",
            )
    if block.targets and block.targets != declared.targets:
        raise SchemaError(
            f"{where} references {block.targets}, declared is {declared.targets}", "reject-frame-target-disagrees"
        )
    grid = declared.structural_shape
    if block.structural_shape not in (None, grid) or (grid is not None and math.prod(grid) != block.rows):
        raise SchemaError(
            f"{where} has {block.rows} rows on {block.structural_shape}, declared is {grid}", "reject-structural-shape"
        )
