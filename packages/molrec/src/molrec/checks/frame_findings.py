"""What a validator finds in a frame-shaped section of a record: every block, column, key and the box by itself.

A reader stops at the first fault of a section; here each part is looked at. The clauses stand in
``docs/spec/frame.md`` and ``vocabulary.md``, the table of all findings in ``docs/spec/validation.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from molrec.checks.content_findings import (
    Found,
    image_findings,
    loose_endpoint_findings,
    off_grid_findings,
    off_grid_rows,
    quantities_of,
    unit_findings,
    unknown_unit_findings,
    word_findings,
)
from molrec.errors import FormatError, SchemaError
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.model.names import META_TYPES
from molrec.storage.zarr.array_reader import open_array
from molrec.storage.zarr.frame_group import (
    boundary_is_default,
    group_attributes,
    origin_is_default,
    read_block_group,
    read_box_group,
)
from molrec.storage.zarr.sources import Source, read_document

__all__ = [
    "Units",
    "broken_frame_findings",
    "composition_findings",
    "flat_cell_findings",
    "frame_findings",
    "read_or_find",
]

type Units = Mapping[str, str] | None

_BOX = "box"
#: Composition keys of a meta document and the tags that are integers.
_INTEGER_KEYS = ("total_charge", "spin")
_INTEGER_TAGS = ("i32", "i64", "u32", "u64")


def read_or_find[T](found: list[Found], where: str, read: Callable[[], T]) -> T | None:
    """Return what is read; a refusal becomes a finding instead."""
    try:
        return read()
    except (FormatError, SchemaError) as error:
        found.append((error.rule, where, "error", error.message))
        return None


def frame_findings(source: Source, section: str, frame: Frame, *, units: Units) -> Iterator[Found]:
    """Yield what is wrong with a frame-shaped section that a reader takes.

    Args:
        source: The record.
        section: Name of the section.
        frame: What was read of it.
        units: What the record states elsewhere, where the section states none of its own.
    """
    yield from _document_findings(source, section, frame, units=units)
    yield from loose_endpoint_findings(section, frame)
    for name, block in frame.items():
        yield from image_findings(f"{section}/{name}", block.columns)
        yield from word_findings(f"{section}/{name}", block)
        yield from _mask_findings(source, f"{section}/{name}", block)
        for column in block.columns:
            precision = block.precision(column)
            if precision is not None:
                rows = np.flatnonzero(off_grid_rows(block[column], precision, block.validity(column)))
                first = int(rows[0]) if rows.size else 0
                yield from off_grid_findings(f"{section}/{name}/{column}", precision, rows.size, first)
    if frame.box is not None:
        yield from flat_cell_findings(f"{section}/{_BOX}", [frame.box])
        yield from _box_findings(source, section, frame.box)


def _document_findings(source: Source, section: str, frame: Frame, *, units: Units) -> Iterator[Found]:
    attributes = group_attributes(read_document(source, section) or {}, section)
    tags = attributes.get(META_TYPES, {})
    untagged = [key for key in frame.meta if key not in tags]
    if untagged:
        message = f"{', '.join(map(repr, untagged[:6]))} state no tag in {META_TYPES}; the type is inferred"
        yield "untyped-meta", section, "error", message
    if META_TYPES in attributes and not frame.meta:
        yield "untyped-meta", section, "error", f"{META_TYPES} stands beside no key; it is omitted then"
    yield from composition_findings(section, frame.meta.tags)
    try:
        own = frame.units
    except SchemaError as error:
        yield error.rule, section, "error", error.message
        return
    yield from unknown_unit_findings(section, own)
    columns = dict.fromkeys(column for _, block in frame.items() for column in block.columns)
    yield from unit_findings(section, units if own is None else own, quantities_of(columns, frame.meta))


def composition_findings(where: str, tags: Mapping[str, str]) -> Iterator[Found]:
    """Yield ``composition-key`` for keys of a composition that are tagged as something other than an integer."""
    for key in _INTEGER_KEYS:
        if tags.get(key, _INTEGER_TAGS[0]) not in _INTEGER_TAGS:
            yield "composition-key", where, "warning", f"{key!r} is an integer, found {tags[key]}"


def _mask_findings(source: Source, path: str, block: Block) -> Iterator[Found]:
    """Yield masks that mark nothing, which a frame-shaped section leaves out."""
    masks = [name for name in source.children(f"{path}/_validity") if name in block and block.validity(name) is None]
    if masks:
        message = f"the masks of {', '.join(masks)} mark no null; a writer leaves them out"
        yield "default-written", path, "warning", message


def flat_cell_findings(where: str, cells: list[Box]) -> Iterator[Found]:
    """Yield ``singular-cell`` where a defined cell has no volume."""
    vectors = [cell.vectors for cell in cells if cell.cell_defined]
    if vectors and (np.linalg.det(np.stack(vectors)) == 0.0).any():
        message = "a cell without volume; other readers of the format may refuse it"
        yield "singular-cell", where, "warning", message


def _box_findings(source: Source, section: str, box: Box) -> Iterator[Found]:
    """Yield what a writer leaves out, or puts in, of a stored box."""
    path = f"{section}/{_BOX}"
    attributes = group_attributes(read_document(source, path) or {}, path)
    stated = {name for name in ("vectors", "origin", "boundary") if source.get(f"{path}/{name}/zarr.json") is not None}
    needless = [
        *(["origin"] if "origin" in stated and origin_is_default(box) else []),
        *(["boundary"] if "boundary" in stated and boundary_is_default(box) else []),
        *(["cell_defined"] if attributes.get("cell_defined") is True else []),
    ]
    if needless:
        yield "default-written", path, "warning", f"{', '.join(needless)} states the default; a writer leaves it out"
    if not box.cell_defined:
        vectors = open_array(source, f"{path}/vectors")
        if vectors is None or (vectors.read() != np.eye(3)).any() or "boundary" not in stated:
            message = "an undefined cell is stored with identity vectors and boundary flags that are all false"
            yield "undefined-cell-form", path, "error", message


# -- a section that is refused ----------------------------------------------------------------------------------------


def broken_frame_findings(source: Source, section: str, refusal: FormatError) -> Iterator[Found]:
    """Yield the faults of each part of a section that a reader refuses.

    Args:
        source: The record.
        section: Its name.
        refusal: What the reader said, told where no part by itself is at fault.
    """
    found: list[Found] = []
    document = read_or_find(found, section, lambda: read_document(source, section))
    attributes = read_or_find(found, section, lambda: group_attributes(document or {}, section))
    _meta_faults(found, section, attributes or {})
    for name in source.children(section):
        path = f"{section}/{name}"
        child = read_or_find(found, path, lambda path=path: read_document(source, path))  # type: ignore[misc]
        if child is None or child.get("node_type") != "group":
            continue
        if name == _BOX:
            read_or_find(found, path, lambda path=path: read_box_group(source, path))  # type: ignore[misc]
        else:
            _block_faults(found, source, path)
    if refusal.rule not in {rule for rule, _, _, _ in found}:
        found.append((refusal.rule, section, "error", refusal.message))
    yield from found


def _meta_faults(found: list[Found], section: str, attributes: dict[str, Any]) -> None:
    tags = attributes.get(META_TYPES, {})
    before = len(found)
    read_or_find(found, section, lambda: Meta.from_attributes({META_TYPES: tags}, section))
    for key, value in attributes.items() if len(found) == before else ():
        own = {key: value, META_TYPES: {key: tags[key]} if key in tags else {}}
        if key != META_TYPES:
            where = f"{section}, key {key!r}"
            read_or_find(found, where, lambda own=own: Meta.from_attributes(own, section))  # type: ignore[misc]


def _block_faults(found: list[Found], source: Source, path: str) -> None:
    """Look at a block, and, where it is refused, at each of its arrays."""
    own: list[Found] = []
    if read_or_find(own, path, lambda: read_block_group(source, path)) is not None:
        return
    arrays: list[Found] = []
    for folder in (path, f"{path}/_validity"):
        for name in source.children(folder):
            array = f"{folder}/{name}"

            def read(array: str = array) -> None:
                if (read_document(source, array) or {}).get("node_type") == "array":
                    reader = open_array(source, array)
                    assert reader is not None
                    reader.read()

            if name != "zarr.json":
                read_or_find(arrays, array, read)
    found += arrays
    if {rule for rule, _, _, _ in own} - {rule for rule, _, _, _ in arrays}:
        found += own
