"""The header of frame bytes, read once into a layout: which column lies where (``docs/spec/lmdb.md``, frame bytes).

Many values of a collection have headers that begin alike, since molecules of one size have one layout. A reader keeps
the layouts it has read by the very bytes that said so; such bytes mean the same wherever they stand again.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from molrec import typedjson
from molrec.dtypes import STRING, Array, numpy_dtype
from molrec.errors import FormatError, MolrecError, SchemaError
from molrec.model.block import Block, check_structural_shape
from molrec.model.names import FRAME_RESERVED_BLOCKS, RESERVED_COLUMNS, check_name, check_reserved
from molrec.model.references import check_target
from molrec.precision import check_precision
from molrec.vocabulary import check_canonical_declaration

__all__ = [
    "ALIGNMENT",
    "BLOCKS_FIRST",
    "MAGIC",
    "PREFIX",
    "BlockLayout",
    "ColumnLayout",
    "HeaderReader",
    "Layout",
    "PlainColumns",
    "PlainLayout",
]

MAGIC = b"MRF1"
#: Magic and header length.
PREFIX = struct.Struct("<4sI")
ALIGNMENT = 8
#: How a header of this library begins, and what follows its blocks.
BLOCKS_FIRST = b'{"blocks":'
_REST = b',"meta":'

_MALFORMED = "reject-malformed-header"
_MOST_LAYOUTS = 4096
#: What numpy can address, with room to spare.
_MOST_AXES, _MOST_VALUES = 32, 2**48
_LONGEST_KEPT = 16 * 1024


@dataclass(slots=True)
class ColumnLayout:
    """One column of a value: `offset` and `size` in bytes of the payload, or the strings themselves."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    size: int
    strings: Array | None
    mask: int | None
    precision: float | None
    attributes: dict[str, Any]


@dataclass(slots=True)
class BlockLayout:
    """One block of a value."""

    name: str
    rows: int
    columns: dict[str, ColumnLayout]
    targets: dict[str, str]
    structural_shape: tuple[int, ...] | None
    attributes: dict[str, Any]
    #: What is alike in most blocks, see `_plain_runs`; not looked at yet.
    _runs: list[_Run] | None = None
    _is_plain: bool | None = None

    def read(self, value: Any, base: int, where: str) -> Block:
        """Return the block with its columns as read-only views of a value.

        Args:
            value: The value, a read-only buffer whose byte 0 is aligned to 8.
            base: Where the payload begins in it; `HeaderReader.read` has checked that it holds every buffer.
            where: For messages.

        Raises:
            FormatError: A flag is neither 0 nor 1 (``reject-bool-byte``).
        """
        if self._is_plain is None:
            self._runs = _plain_runs(self)
            self._is_plain = self._runs is not None
        if self._runs is not None:
            return self._read_plain(value, base, self._runs)
        columns: dict[str, Array] = {}
        precision: dict[str, float] = {}
        masks: dict[str, npt.NDArray[np.bool_]] = {}
        for column in self.columns.values():
            name = column.name
            if column.strings is not None:
                columns[name] = column.strings
            else:
                columns[name] = np.ndarray(column.shape, column.dtype, value, base + column.offset)
                if column.dtype.kind == "b":
                    _check_flags(columns[name], f"{where}: block {self.name!r}, column {name!r}")
            if column.mask is not None:
                mask: npt.NDArray[np.bool_] = np.ndarray((self.rows,), np.bool_, value, base + column.mask)
                _check_flags(mask, f"{where}: block {self.name!r}, validity of {name!r}")
                if not mask.all():
                    masks[name] = mask
            if column.precision is not None:
                precision[name] = column.precision
        block = Block._trusted(columns, self.rows, masks, precision, self.targets, self.structural_shape)
        if self.attributes:
            block.attributes = typedjson.coerce("json", self.attributes)
        for column in self.columns.values():
            if column.attributes:
                block._column_attributes[column.name] = typedjson.coerce("json", column.attributes)
        return block

    def _read_plain(self, value: Any, base: int, runs: list[_Run]) -> Block:
        columns: dict[str, Array] = dict.fromkeys(self.columns, _NOTHING)
        for dtype, count, spans in runs:
            words = np.frombuffer(value, dtype, count, base)
            for name, start, stop in spans:
                columns[name] = words[start:stop]
        return Block._trusted(columns, self.rows, {}, _NO_PRECISION, self.targets, self.structural_shape)


#: Columns of one dtype: that dtype, its words up to the last one of theirs, and where each column begins and ends.
type _Run = tuple[np.dtype[Any], int, list[tuple[str, int, int]]]

_NOTHING: Array = np.zeros(0)
_NO_PRECISION: dict[str, float] = {}


def _plain_runs(block: BlockLayout) -> list[_Run] | None:
    """Return the columns of a block in runs of one dtype; None where a column is more than one number a row."""
    if block.attributes or not block.rows:
        return None
    spans: dict[np.dtype[Any], list[tuple[str, int, int]]] = {}
    for column in block.columns.values():
        size = column.dtype.itemsize
        special = column.strings is not None or column.dtype.kind == "b" or len(column.shape) > 1
        if special or column.mask is not None or column.precision is not None or column.attributes:
            return None
        if column.offset % size:
            return None
        start = column.offset // size
        spans.setdefault(column.dtype, []).append((column.name, start, start + column.shape[0]))
    return [(dtype, max(stop for _, _, stop in found), found) for dtype, found in spans.items()]


#: Name, offset and offset of the mask (-1: no nulls) of columns of fixed size.
type PlainColumns = tuple[tuple[str, int, int], ...]
#: Blocks by name, with their rows and columns of fixed size.
type PlainLayout = tuple[tuple[str, tuple[int, PlainColumns]], ...]


def _plain_columns(block: BlockLayout) -> PlainColumns:
    return tuple(
        (column.name, column.offset, -1 if column.mask is None else column.mask)
        for column in block.columns.values()
        if column.strings is None
    )


@dataclass(slots=True)
class Layout:
    """What a header says of its blocks, and the payload bytes they need."""

    blocks: dict[str, BlockLayout]
    end: int
    #: What whoever remembers frames of one file calls it.
    number: int | None = None

    def plain_places(self) -> PlainLayout:
        """Return where the columns of fixed size are: alike for all layouts that differ in nothing but texts."""
        return tuple((name, (block.rows, _plain_columns(block))) for name, block in self.blocks.items())


class HeaderReader:
    """Reads headers and keeps their layouts.

    Args:
        check: Holds every new layout against what it may be, raising `SchemaError` or `FormatError`.
        plain_rest: Reads what follows the blocks where it is as usual, or returns None.
    """

    def __init__(
        self,
        check: Callable[[Layout], None] | None = None,
        plain_rest: Callable[[bytes], dict[str, Any] | None] | None = None,
    ) -> None:
        self._check = check
        self._plain_rest = plain_rest
        self._known: dict[bytes, Layout] = {}

    def read(self, value: Any, where: str) -> tuple[Layout, dict[str, Any], int]:
        """Return the layout, the header's other entries, and where the payload begins.

        Raises:
            FormatError: The value is refused; the rule says how and the message where.
        """
        size = len(value)
        if size < PREFIX.size:
            _refuse(where, f"{size} bytes are no frame bytes", "reject-bad-magic")
        magic, length = PREFIX.unpack_from(value)
        if magic != MAGIC:
            _refuse(where, f"begins with {magic!r}, not {MAGIC!r}", "reject-bad-magic")
        end = PREFIX.size + length
        if end > size:
            _refuse(where, f"the header takes {length} bytes of a value of {size}", "reject-buffer-past-value")
        header = value[PREFIX.size : end]
        if type(header) is not bytes:
            header = bytes(header)
        base = end + -end % ALIGNMENT
        cut = header.find(_REST)
        layout = self._known.get(header[:cut])
        rest = None
        if layout is not None:
            text = header[cut:]
            if self._plain_rest is not None:
                rest = self._plain_rest(text)
            if rest is None:
                rest = _parsed_rest(text)
        if layout is None or rest is None:
            layout, rest = self._read_whole(header, cut, where)
        if layout.end and base + layout.end > size:
            _refuse(
                where,
                f"buffers end at byte {base + layout.end} of a value of {size} bytes",
                "reject-buffer-past-value",
            )
        return layout, rest, base

    def _read_whole(self, header: bytes, cut: int, where: str) -> tuple[Layout, dict[str, Any]]:
        document = typedjson.parse_json(header, where)
        if not isinstance(document, dict) or not isinstance(document.get("blocks"), dict):
            _refuse(where, "the header is an object with an object 'blocks'", _MALFORMED)
        try:
            layout = _read_layout(document.pop("blocks"))
            if self._check is not None:
                self._check(layout)
        except MolrecError as error:
            raise FormatError(f"{where}: {error.message}", error.rule) from error
        if cut > 0 and len(header) <= _LONGEST_KEPT and _is_whole_value(header[:cut]):
            if len(self._known) >= _MOST_LAYOUTS:
                self._known.clear()
            self._known[header[:cut]] = layout
        return layout, document


def _parsed_rest(text: bytes) -> dict[str, Any] | None:
    """Parse what follows the blocks; None where only the strict parser may say what it is."""
    if b"\\" in text:
        return None
    try:
        whole = "{" + text[1:].decode()
        document, end = _PLAIN.scan_once(whole, 0)  # type: ignore[attr-defined]
    except (ValueError, StopIteration, RecursionError):
        return None
    return document if end == len(whole) and "blocks" not in document else None


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError
    return document


_PLAIN = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)


def _is_whole_value(start: bytes) -> bool:
    """Tell whether the first bytes of a header are its opening, the key `blocks`, and all of its value."""
    if not start.startswith(BLOCKS_FIRST):
        return False
    text = start.decode()
    try:
        _, end = _PLAIN.raw_decode(text, len(BLOCKS_FIRST))
    except ValueError:
        return False
    return end == len(text)


# -- one header -------------------------------------------------------------------------------------------------------


def _read_layout(document: dict[str, Any]) -> Layout:
    blocks: dict[str, BlockLayout] = {}
    end = 0
    for name, entry in document.items():
        where = f"block {name!r}"
        check_name(name, where)
        check_reserved(name, FRAME_RESERVED_BLOCKS, where)
        blocks[name], needed = _read_block(name, _object(entry, where), where)
        end = max(end, needed)
    return Layout(blocks, end)


def _read_block(name: str, entry: dict[str, Any], where: str) -> tuple[BlockLayout, int]:
    rows = entry.get("count")
    if type(rows) is not int or not 0 <= rows < 2**63:
        raise SchemaError(f"{where}: count is a row count, found {rows!r}", "reject-row-count")
    shape = entry.get("structural_shape")
    if shape is not None:
        shape = check_structural_shape(shape if isinstance(shape, list) else (), where)
        if math.prod(shape) != rows:
            raise SchemaError(f"{where}: {rows} rows are no grid of {list(shape)}", "reject-structural-shape")
    columns: dict[str, ColumnLayout] = {}
    end = 0
    for column, stated in _object(entry.get("columns", {}), f"{where}, columns").items():
        place = f"{where}, column {column!r}"
        found = _read_column(column, _object(stated, place), rows, place)
        columns[column] = found
        end = max(end, found.offset + found.size, 0 if found.mask is None else found.mask + rows)
    targets = _optional_object(entry.get("targets"), f"{where}, targets")
    for column, target in targets.items():
        if column not in columns or columns[column].dtype != np.uint64:
            raise SchemaError(f"{where}, column {column!r}: a row reference is a u64 column", "reject-target-not-u64")
        check_target(target, f"{where}, column {column!r}")
    attributes = _optional_object(entry.get("attributes"), f"{where}, attributes")
    return BlockLayout(name, rows, columns, targets, shape, attributes), end


def _read_column(name: str, entry: dict[str, Any], rows: int, where: str) -> ColumnLayout:
    check_name(name, where)
    check_reserved(name, RESERVED_COLUMNS, where)
    stated: Any = entry.get("dtype")
    if stated in ("f16", "f32"):
        raise SchemaError(f"{where}: {stated} is never stored and never widened", "reject-narrow-float")
    dtype = numpy_dtype(stated, where)
    shape = entry.get("shape")
    if not isinstance(shape, list) or not shape or any(type(extent) is not int or extent < 0 for extent in shape):
        raise SchemaError(f"{where}: shape is a list of extents, found {shape!r}", _MALFORMED)
    if len(shape) > _MOST_AXES or math.prod(extent for extent in shape if extent) > _MOST_VALUES:
        raise SchemaError(f"{where}: no array has the shape {shape!r}", _MALFORMED)
    if shape[0] != rows:
        raise SchemaError(f"{where} has {shape[0]} rows but the block has {rows}", "reject-row-count")
    check_canonical_declaration(name, stated, tuple(shape[1:]), where)
    mask = entry.get("validity")
    if mask is not None:
        mask = _offset(mask, f"{where}, validity")
    precision = entry.get("precision")
    if precision is not None:
        if stated != "f64":
            raise SchemaError(f"{where} is {stated}; only f64 has a precision", "reject-precision-on-non-f64")
        precision = check_precision(precision, where)
    attributes = _optional_object(entry.get("attributes"), f"{where}, attributes")
    count = math.prod(shape)
    if stated == "string":
        strings = _strings(entry.get("values"), count, where).reshape(shape)
        strings.flags.writeable = False
        return ColumnLayout(name, STRING, tuple(shape), 0, 0, strings, mask, None, attributes)
    offset = _offset(entry.get("offset"), where)
    little = dtype if sys.byteorder == "little" else dtype.newbyteorder("<")
    return ColumnLayout(name, little, tuple(shape), offset, count * dtype.itemsize, None, mask, precision, attributes)


def _strings(values: Any, count: int, where: str) -> Array:
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise SchemaError(f"{where}: the values of a string column are a list of strings", _MALFORMED)
    if len(values) != count:
        raise SchemaError(f"{where}: {len(values)} strings for a shape of {count}", "reject-row-count")
    return np.array(values, dtype=STRING)


def _offset(value: Any, where: str) -> int:
    if type(value) is not int or value < 0:
        raise SchemaError(f"{where}: an offset is a byte count, found {value!r}", _MALFORMED)
    if value % ALIGNMENT:
        raise SchemaError(f"{where}: offset {value} is no multiple of {ALIGNMENT}", "reject-misaligned-offset")
    return value


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SchemaError(f"{where} is an object, found {value!r}", _MALFORMED)
    return value


def _optional_object(value: Any, where: str) -> dict[str, Any]:
    return {} if value is None else _object(value, where)


def _check_flags(flags: npt.NDArray[np.bool_], where: str) -> None:
    if flags.size and flags.view(np.uint8).max() > 1:
        raise FormatError(
            f"{where}: a flag is one byte, 0 or 1, found {flags.view(np.uint8).max()}", "reject-bool-byte"
        )


def _refuse(where: str, what: str, rule: str) -> NoReturn:
    raise FormatError(f"{where}: {what}", rule)
