"""Every document a store holds, with the schema it is to be held against; read by zipfile, lmdb and json alone."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lmdb

__all__ = ["documents_of_collection", "documents_of_record"]

#: Schema, place in the store, document.
type Found = tuple[str, str, Any]

_LOG = "metrics/metrics.jsonl"


def documents_of_record(path: Path) -> Iterator[Found]:
    """Yield every document of a packed record or a record folder."""
    if path.is_dir():
        files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
        yield from _documents({name: file.read_bytes() for name, file in files.items()})
        return
    with zipfile.ZipFile(path) as archive:
        yield from _documents({name: archive.read(name) for name in archive.namelist()})


def _documents(files: dict[str, bytes]) -> Iterator[Found]:
    nodes = {
        name.removesuffix("zarr.json").rstrip("/"): json.loads(content)
        for name, content in files.items()
        if name.endswith("zarr.json")
    }
    declared = nodes.get("trajectory", {}).get("attributes", {}).get("sequence_schema", {})
    for path, node in nodes.items():
        attributes = node.get("attributes", {})
        for schema in _schemas(path.split("/"), node["node_type"], declared):
            inner = schema == "trajectory/sequence-schema"
            yield schema, path, attributes["sequence_schema"] if inner else attributes
    for number, line in enumerate(files.get(_LOG, b"").splitlines()):
        yield "metrics/event", f"{_LOG}:{number + 1}", json.loads(line)


def _schemas(path: list[str], kind: str, declared: dict[str, Any]) -> list[str]:
    """Return the schemas of a node's attributes; none for unknown content and for arrays of the layout."""
    match path, kind:
        case ["meta" | "status" | "method" | "forcefield" as name], "group":
            return [f"core/{name}"]
        case ["frame" | "system"] | ["observables", _], "group":
            return ["frame/section"] if path != ["observables", "meta"] else []
        case ["observables", "meta", _], "group":
            return ["observables/description"]
        case ["metrics"], "group":
            return ["metrics/catalog"]
        case ["trajectory"], "group":
            return ["trajectory/group", "trajectory/sequence-schema"]
        case ["trajectory", "box"], "group":
            return ["trajectory/box"]
        case ["trajectory", "meta", key], "array":
            return ["trajectory/per-step-key"] if key in declared["meta"] else []
        case ["trajectory", block], "group":
            return ["trajectory/block"] if block in declared["blocks"] else []
        case ["trajectory", *_], _:
            return []
        case ["frame" | "system", "box"] | ["observables", _, "box"], "group":
            return ["frame/box"]
        case ["frame" | "system" | "forcefield", _] | ["observables", _, _], "group":
            return ["frame/block"]
        case ["frame" | "system", block, _] | ["observables", _, block, _], "array":
            return ["frame/column"] if block != "box" else []
    return []


def documents_of_collection(path: Path) -> Iterator[Found]:
    """Yield every document of a collection, headers of frame bytes included."""
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as file, file.begin() as transaction:
        values = dict(transaction.cursor())
    for key, value in values.items():
        match key[:1], len(key):
            case b"r", 9:
                yield "collection/record", repr(key), json.loads(value)
            case b"s", 9:
                yield "collection/system", repr(key), _header(value)
            case b"f", 9:
                yield "collection/frame", repr(key), _header(value)
    whole = json.loads(values[b"meta"])
    yield "collection/file", "meta", whole
    yield "collection/meta", "meta", whole["collection"]
    yield "trajectory/sequence-schema", "meta", whole["sequence_schema"]
    yield "collection/index", "index", _header(values[b"index"])
    if b"ff" in values:
        yield "collection/forcefield", "ff", _header(values[b"ff"])
        yield "core/forcefield", "ff", _header(values[b"ff"])["meta"]


def _header(value: bytes) -> Any:
    (length,) = struct.unpack_from("<I", value, 4)
    return json.loads(value[8 : 8 + length])
