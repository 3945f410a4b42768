"""A frame-shaped section on Zarr: meta as attributes, a group per block, an array per column (``docs/spec/frame.md``).

One description of a block and a box serves every section that is laid out this way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import Array
from molrec.errors import FormatError, SchemaError
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.model.resolved import check_frame
from molrec.precision import quantize
from molrec.storage.zarr.array_reader import ArrayReader, open_array
from molrec.storage.zarr.files import write_document
from molrec.storage.zarr.fixed_array import write_fixed_array
from molrec.storage.zarr.layout import group_document, read_array_layout
from molrec.storage.zarr.sources import Source, read_document
from molrec.vocabulary import check_canonical_declaration

__all__ = [
    "read_block_group",
    "read_block_groups",
    "read_box_group",
    "read_frame_group",
    "write_block_groups",
    "write_frame_group",
]

_VALIDITY = "_validity"
_MOST_ROWS = 2**63
_GROUP_KEYS = frozenset({"zarr_format", "node_type", "attributes"})
_BLOCK_ATTRIBUTES = frozenset({"count", "structural_shape", "targets"})


# -- writing --------------------------------------------------------------------------------------------------------


def write_frame_group(folder: Path, frame: Frame) -> None:
    """Write a frame below a folder that does not exist yet; its own ``zarr.json`` comes last."""
    write_block_groups(folder, frame)
    if frame.box is not None:
        _write_box(folder / "box", frame.box)
    write_document(folder, group_document(frame.meta.to_attributes()))


def write_block_groups(folder: Path, blocks: Frame | Mapping[str, Block]) -> None:
    """Write every block as a group below a folder."""
    for name, block in blocks.items():
        _write_block(folder / name, block)


def _write_block(folder: Path, block: Block) -> None:
    free = {key: value for key, value in block.attributes.items() if key not in _BLOCK_ATTRIBUTES}
    attributes: dict[str, Any] = typedjson.coerce("json", free, f"attributes of block {folder.name!r}")
    attributes["count"] = block.rows
    if block.structural_shape is not None:
        attributes["structural_shape"] = list(block.structural_shape)
    if block.targets:
        attributes["targets"] = block.targets
    masked = {name: mask for name in block.columns if (mask := block.validity(name)) is not None}
    for name, values in block.items():
        kept = {key: value for key, value in block.column_attributes(name).items() if key != "precision"}
        stated = typedjson.coerce("json", kept, f"attributes of column {name!r}")
        precision = block.precision(name)
        # The block rounded what it was given; its arrays may have been edited in place since.
        stored = values if precision is None else quantize(values, precision)
        write_fixed_array(folder / name, stored, precision=precision, attributes=stated)
    for name, mask in masked.items():
        write_fixed_array(folder / _VALIDITY / name, mask)
    if masked:
        write_document(folder / _VALIDITY, group_document({}))
    write_document(folder, group_document(attributes))


def _write_box(folder: Path, box: Box) -> None:
    write_fixed_array(folder / "vectors", box.vectors)
    if not origin_is_default(box):
        write_fixed_array(folder / "origin", box.origin)
    if not boundary_is_default(box):
        write_fixed_array(folder / "boundary", box.boundary)
    write_document(folder, group_document({} if box.cell_defined else {"cell_defined": False}))


def origin_is_default(box: Box) -> bool:
    """Tell whether the origin is what an absent one means: +0.0 three times, to the bit."""
    return not box.origin.tobytes().strip(b"\0")


def boundary_is_default(box: Box) -> bool:
    """Tell whether the flags are what absent ones mean: all true for a defined cell.

    An undefined cell states its all-false flags, as the specification asks of writers.
    """
    return box.cell_defined and bool(box.boundary.all())


# -- reading --------------------------------------------------------------------------------------------------------


def read_frame_group(source: Source, path: str) -> Frame | None:
    """Read a frame-shaped section, or return None when it is not there.

    Raises:
        FormatError: The section breaks the format; the rule says how and the message where.
    """
    document = read_document(source, path)
    if document is None:
        return None
    where = f"{source.name}: {path}"
    attributes = group_attributes(document, where)
    blocks = read_block_groups(source, path, besides=("box",))
    child = _read_node(source, f"{path}/box")
    found = child is not None and child.get("node_type") == "group"
    box = read_box_group(source, f"{path}/box") if found else None
    frame = Frame._trusted(blocks, Meta.from_attributes(attributes, where), box)

    try:
        check_frame(frame, read_section_rows(source), where)
    except SchemaError as error:
        raise FormatError(error.message, error.rule) from error
    return frame


def read_block_groups(source: Source, path: str, besides: Sequence[str] = ()) -> dict[str, Block]:
    """Read every group below a path as a block, but for those of some names.

    Raises:
        FormatError: A block breaks the format, or has lost its metadata (``reject-node-without-metadata``).
    """
    blocks: dict[str, Block] = {}
    for name in source.children(path):
        child = _read_node(source, f"{path}/{name}") if name not in (*besides, "zarr.json") else None
        if child is not None and child.get("node_type") == "group":
            blocks[name] = read_block_group(source, f"{path}/{name}", child)
    return blocks


def read_row_counts(source: Source, path: str) -> dict[str, int]:
    """Return the row count of every block of a frame-shaped section; empty when it is not there.

    Raises:
        FormatError: A block states no row count (``reject-row-count``).
    """
    counts = {}
    for name in source.children(path):
        document = read_document(source, f"{path}/{name}") if name not in ("box", "zarr.json") else None
        if document is not None and document.get("node_type") == "group":
            where = f"{source.name}: {path}/{name}"
            counts[name] = _row_count(group_attributes(document, where), where)
    return counts


def read_section_rows(source: Source) -> dict[str, dict[str, int] | None]:
    """Return the row counts of the record's frame-shaped sections, None for one it lacks."""
    return {
        name: read_row_counts(source, name) if source.get(f"{name}/zarr.json") is not None else None
        for name in ("system", "frame")
    }


def _row_count(attributes: dict[str, Any], where: str) -> int:
    count = attributes.get("count")
    if type(count) is not int or not 0 <= count < _MOST_ROWS:
        raise FormatError(
            f"{where}: a block states its row count as the attribute count, found {count!r}", "reject-row-count"
        )
    return count


def group_attributes(document: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the attributes of a group's ``zarr.json``.

    Raises:
        FormatError: The node is not a Zarr V3 group, or has a field that must be understood and is not
            (``reject-malformed-metadata``).
    """
    attributes = document.get("attributes", {})
    for key, value in document.items():
        if key not in _GROUP_KEYS and not (isinstance(value, dict) and value.get("must_understand") is False):
            raise FormatError(
                f"{where}: metadata key {key!r} is not understood and not optional", "reject-malformed-metadata"
            )
    if document.get("zarr_format") != 3 or document.get("node_type") != "group" or not isinstance(attributes, dict):
        raise FormatError(f"{where} is not a Zarr V3 group", "reject-malformed-metadata")
    return attributes


def read_block_group(source: Source, path: str, document: dict[str, Any] | None = None) -> Block:
    """Read one block.

    Args:
        source: The record.
        path: Of the block's group.
        document: Its ``zarr.json``; read when None.

    Raises:
        FormatError: The block breaks the format.
    """
    where = f"{source.name}: {path}"
    attributes = group_attributes((read_document(source, path) if document is None else document) or {}, where)
    block = Block(rows=_row_count(attributes, where))
    try:
        for name, array in _arrays_below(source, path):
            _read_column(block, name, array)
        for name, mask in _arrays_below(source, f"{path}/{_VALIDITY}"):
            block.set_validity(name, mask.read())
        if "structural_shape" in attributes:
            block.structural_shape = attributes["structural_shape"]
        targets = attributes.get("targets", {})
        if not isinstance(targets, dict):
            raise SchemaError(f"targets is an object, found {targets!r}", "reject-target-malformed")
        for name, target in targets.items():
            block.set_target(name, target)
    except (SchemaError, TypeError) as error:
        rule = error.rule if isinstance(error, SchemaError) else "reject-malformed-metadata"
        raise FormatError(f"{where}: {getattr(error, 'message', error)}", rule) from error
    block.attributes = {key: value for key, value in attributes.items() if key not in _BLOCK_ATTRIBUTES}
    return block


def _arrays_below(source: Source, path: str) -> Iterator[tuple[str, ArrayReader]]:
    """Yield the arrays directly below a group; groups and foreign files are passed over.

    Raises:
        FormatError: An array has lost its metadata (``reject-node-without-metadata``).
    """
    for name in source.children(path):
        # Masks are found by themselves, whether or not the group they stand in has metadata.
        if name in (_VALIDITY, "zarr.json"):
            continue
        inner = f"{path}/{name}"
        document = _read_node(source, inner)
        if document is not None and document.get("node_type") == "array":
            yield name, ArrayReader(source, inner, read_array_layout(document, f"{source.name}: {inner}"))


def _read_node(source: Source, path: str) -> dict[str, Any] | None:
    """Return the ``zarr.json`` of a node, or None where there is no node.

    Raises:
        FormatError: A folder with content lacks its metadata (``reject-node-without-metadata``), so what it held
            would silently be missing.
    """
    document = read_document(source, path)
    if document is None and source.children(path):
        raise FormatError(
            f"{source.name}: {path} holds data but no zarr.json; the metadata of the block, column or mask is lost",
            "reject-node-without-metadata",
        )
    return document


def _read_column(block: Block, name: str, array: ArrayReader) -> None:
    layout = array.layout
    check_canonical_declaration(name, layout.dtype, layout.trailing, f"column {name!r}")
    if not layout.shape or layout.rows != block.rows:
        raise SchemaError(
            f"column {name!r} has shape {list(layout.shape)} but count is {block.rows}", "reject-row-count"
        )
    values: Array = array.read()
    precision = layout.attributes.get("precision")
    if precision is None:
        block[name] = values
    else:
        _restore_precision(block, name, values, precision)
    free = {key: value for key, value in layout.free_attributes.items() if key != "precision"}
    if free:
        block.column_attributes(name).update(free)


def _restore_precision(block: Block, name: str, values: Array, precision: Any) -> None:
    """Restore a declaration without rounding again: a reader returns what is stored."""
    block[name] = np.empty(values.shape, dtype=values.dtype)
    block.set_precision(name, precision)
    block._columns[name] = values


def read_box_group(source: Source, path: str) -> Box:
    """Read a box.

    Raises:
        FormatError: Its parts make no box.
    """
    attributes = group_attributes(read_document(source, path) or {}, f"{source.name}: {path}")
    arrays = {}
    for name, shape, dtype in (("vectors", (3, 3), "f64"), ("origin", (3,), "f64"), ("boundary", (3,), "bool")):
        array = open_array(source, f"{path}/{name}")
        if array is None:
            continue
        if array.layout.shape != shape or array.layout.dtype != dtype:
            raise FormatError(
                f"{source.name}: {path}/{name} is {dtype} with shape {list(shape)}, found {array.layout.dtype} with "
                f"{list(array.layout.shape)}",
                "reject-box-shape",
            )
        arrays[name] = array.read()
    return make_box(arrays, attributes, f"{source.name}: {path}")


def make_box(arrays: dict[str, Any], attributes: dict[str, Any], where: str) -> Box:
    """Build a box from its stored parts, defaults filled in.

    Raises:
        FormatError: ``vectors`` is missing from a defined cell, or the parts make no box.
    """
    defined = attributes.get("cell_defined", True)
    if not isinstance(defined, bool):
        raise FormatError(f"{where}: cell_defined is true or false, found {defined!r}", "reject-box-shape")
    if defined and "vectors" not in arrays:
        raise FormatError(f"{where}: a defined cell needs its vectors", "reject-array-missing")
    try:
        return Box(arrays.get("vectors"), arrays.get("origin"), arrays.get("boundary"), cell_defined=defined)
    except SchemaError as error:
        raise FormatError(f"{where}: {error.message}", error.rule) from error
