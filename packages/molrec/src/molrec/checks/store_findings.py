"""What a validator finds in how a record is stored: checksums, chunk keys, archives, nodes nobody declared.

A reader copes with all of it. The clauses stand in ``docs/spec/zarr.md`` and ``record.md``, the table of all findings
in ``docs/spec/validation.md``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from molrec.checks.content_findings import Found
from molrec.errors import FormatError
from molrec.model.schema import SequenceSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.array_reader import ArrayReader
from molrec.storage.zarr.frame_group import group_attributes
from molrec.storage.zarr.layout import OWN_ATTRIBUTE
from molrec.storage.zarr.record import SECTIONS
from molrec.storage.zarr.sources import Source, ZipSource, read_document

__all__ = ["archive_findings", "array_findings", "row_spans", "unknown_findings"]

#: Bytes of a column looked at in one go.
_BYTES_AT_ONCE = 8 * 2**20
#: An array up to here is read whatever of it is stored.
_LITTLE = 2**30
_PIECE = 2**22


def array_findings(source: Source) -> Iterator[Found]:
    """Yield what is wrong with how the arrays of the known sections are stored.

    One finding stands for all arrays that have the same fault, since a writer has it in all.
    """
    faults: dict[str, list[str]] = {"array-without-checksum": [], "chunk-key-encoding": [], "chunks-not-vouched": []}
    schema = _declaration(source)
    for section in SECTIONS:
        for path, document in _arrays_below(source, section):
            if _is_known(path, schema):
                for rule in _faults_of(document):
                    faults[rule].append(path)
    texts = {
        "array-without-checksum": "end in no crc32c, so that damage to them cannot be told",
        "chunk-key-encoding": "name their chunks otherwise than the encoding 'default' with '/'",
        "chunks-not-vouched": "do not state that every chunk is stored, so that a lost one reads as the fill value",
    }
    for rule, paths in faults.items():
        if paths:
            named = paths[0] if len(paths) == 1 else f"{len(paths)} arrays, the first {paths[0]},"
            message = f"{named} {texts[rule]}" if len(paths) > 1 else f"the chunks {texts[rule]}"
            yield rule, paths[0], "warning" if rule == "chunks-not-vouched" else "error", message


def _declaration(source: Source) -> SequenceSchema | None:
    try:
        document = read_document(source, names.TRAJECTORY)
        attributes = group_attributes(document or {}, names.TRAJECTORY) if document is not None else {}
        return SequenceSchema.from_document(attributes.get(names.SEQUENCE_SCHEMA), names.TRAJECTORY)
    except FormatError:
        return None  # no trajectory, or reported with it


def _is_known(path: str, schema: SequenceSchema | None) -> bool:
    """Tell whether an array is one this format speaks of; what is unknown content may be stored in any way."""
    match path.split("/"):
        case [names.TRAJECTORY, *_]:
            return schema is not None and names.is_layout_array(path, schema)
        case ["metrics", part, _]:
            return part in ("series", "steps", "wall_time")
        case ["observables", _]:
            return True
        case ["observables", _, *inner] | ["system" | "frame" | "forcefield", *inner]:
            return _is_in_frame(inner)
    return False


def _is_in_frame(parts: list[str]) -> bool:
    match parts:
        case ["box", part]:
            return part in ("vectors", "origin", "boundary")
        case [_, names.VALIDITY, _]:
            return True
        case [_, _]:
            return True
    return False


def _arrays_below(source: Source, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        document = read_document(source, path)
    except FormatError:
        return  # reported with what it belongs to
    if document is None:
        children = source.children(path)  # masks may stand below a folder that is no node
    elif document.get("node_type") == "array":
        yield path, document
        return
    else:
        children = source.children(path)
    for name in children:
        if name != "zarr.json":
            yield from _arrays_below(source, f"{path}/{name}")


def _faults_of(document: dict[str, Any]) -> Iterator[str]:
    codecs = document.get("codecs")
    while isinstance(codecs, list) and codecs and _name_of(codecs[-1]) == "sharding_indexed":
        configuration = codecs[-1].get("configuration") if isinstance(codecs[-1], dict) else None
        codecs = configuration.get("codecs") if isinstance(configuration, dict) else None
    if isinstance(codecs, list) and codecs and _name_of(codecs[-1]) != "crc32c":
        yield "array-without-checksum"
    encoding = document.get("chunk_key_encoding")
    if isinstance(encoding, dict):
        configuration = encoding.get("configuration")
        separator = configuration.get("separator", "/") if isinstance(configuration, dict) else "/"
        if (encoding.get("name"), separator) != ("default", "/"):
            yield "chunk-key-encoding"
    attributes = document.get("attributes")
    own = attributes.get(OWN_ATTRIBUTE) if isinstance(attributes, dict) else None
    if not isinstance(own, dict) or own.get("every_chunk_written") is not True:
        yield "chunks-not-vouched"


def _name_of(codec: Any) -> Any:
    return codec.get("name") if isinstance(codec, dict) else codec


# -- archives ---------------------------------------------------------------------------------------------------------


def archive_findings(source: Source) -> Iterator[Found]:
    """Yield what is wrong with the archive of a packed record; every byte of it is read."""
    if not isinstance(source, ZipSource):
        return
    entries = source.entries()
    stored = [entry.filename for entry in entries]
    if stored != sorted(stored) or len({entry.date_time for entry in entries}) > 1:
        message = "entries are not sorted by name or have several dates, so that equal records pack to different bytes"
        yield "archive-order", "/", "warning", message
    for entry in entries:
        checksum = 0
        for start in range(0, entry.file_size, _PIECE):
            checksum = zlib.crc32(source.get_range(entry.filename, start, _PIECE) or b"", checksum)
        if checksum != entry.CRC:
            message = "the entry does not match its CRC-32; other programs will not unpack it"
            yield "archive-checksum", entry.filename, "error", message


# -- reading arrays ---------------------------------------------------------------------------------------------------


def row_spans(array: ArrayReader, rows: int) -> Iterator[tuple[int, int]]:
    """Yield the row spans in which to look at the first rows of an array, whole chunks each where that is possible.

    Of an array that claims much and does not vouch for its chunks, only what is stored is looked at.
    """
    layout = array.layout
    if not layout.simple or not layout.shape:
        yield 0, rows
        return
    row_bytes = max(1, layout.numpy.itemsize)
    for extent in layout.trailing:
        row_bytes *= max(1, extent)
    step = layout.chunk_rows * max(1, _BYTES_AT_ONCE // (row_bytes * layout.chunk_rows))
    if layout.every_chunk_written or rows * row_bytes <= _LITTLE:
        yield from ((start, min(rows, start + step)) for start in range(0, rows, step))
        return
    outer = layout.chunk_rows * max(1, layout.chunks_per_shard)
    for number in _stored_objects(array):
        end = min(rows, (number + 1) * outer)
        yield from ((start, min(end, start + step)) for start in range(number * outer, end, step))


def _stored_objects(array: ArrayReader) -> list[int]:
    """Return the numbers, along the first axis, of the objects stored for an array."""
    if array.layout.separator == "/":
        found = array.source.children(f"{array.path}/c")
    else:
        found = [name.split(".")[1] for name in array.source.children(array.path) if name.startswith("c.")]
    return sorted({int(name) for name in found if name.isdecimal() and name.isascii()})


# -- what nobody declared ---------------------------------------------------------------------------------------------


def unknown_findings(source: Source, path: str, known: set[str]) -> Iterator[Found]:
    """Yield ``unknown-node`` for the nodes below a path under other names."""
    for name in source.children(path):
        if name in known or name == "zarr.json":
            continue
        try:
            is_node = read_document(source, f"{path}/{name}") is not None
        except FormatError:
            is_node = True
        if is_node:
            yield "unknown-node", f"{path}/{name}", "info", "not declared; it is preserved and not read"
