"""Edits of a stored record behind the back of every library: plain files, plain JSON, and zarr-python for arrays.

An edit is one JSON-like mapping with an ``op`` and, for a record, a ``path`` relative to its root, so that lists of
edits can be stored and replayed. The functions below spell edits; `apply` makes them in a folder, `spoilt_copy` in a
copy of a store of any form.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from molrec.conformance.tamper_collection import COLLECTION_EDITS

__all__ = [
    "Edit",
    "apply",
    "array",
    "attribute",
    "delete",
    "drop",
    "field",
    "flip",
    "group",
    "put",
    "spoilt_copy",
    "text",
    "truncate",
    "unpacked",
]

type Edit = dict[str, Any]

_GROUP = '{"zarr_format": 3, "node_type": "group", "attributes": {}}'


# -- spelling edits ---------------------------------------------------------------------------------------------------


def put(path: str, pointer: str, value: Any) -> Edit:
    """Set a value in a JSON file, by JSON pointer; objects on the way are made."""
    return {"op": "json_set", "path": path, "pointer": pointer, "value": value}


def field(node: str, pointer: str, value: Any) -> Edit:
    """Set a value in the ``zarr.json`` of a node."""
    return put(f"{node}/zarr.json" if node else "zarr.json", pointer, value)


def attribute(node: str, name: str, value: Any) -> Edit:
    """Set an attribute of a node."""
    return field(node, f"/attributes/{name}", value)


def drop(node: str, name: str) -> Edit:
    """Remove an attribute of a node."""
    return {"op": "json_remove", "path": f"{node}/zarr.json", "pointer": f"/attributes/{name}"}


def delete(path: str) -> Edit:
    """Remove a file or a folder."""
    return {"op": "delete", "path": path}


def array(path: str, dtype: str, values: Any, attributes: dict[str, Any] | None = None, codec: str = "zstd") -> Edit:
    """Put another array in place of one, written by zarr-python.

    Args:
        path: Node of the array.
        dtype: Numpy dtype name, or ``string``.
        values: What it holds.
        attributes: Attributes of the array.
        codec: ``zstd``, ``gzip``, ``blosc`` (which no reader must know), ``none``, ``big`` (big-endian), ``chunks`` or
            ``sharded`` (how it is cut).
    """
    found = np.array(values, dtype=np.dtypes.StringDType() if dtype == "string" else dtype)
    edit = {"op": "array", "path": path, "dtype": dtype, "shape": list(found.shape), "values": found, "codec": codec}
    return {**edit, "attributes": attributes or {}}


def text(path: str, content: str) -> Edit:
    """Write a file."""
    return {"op": "write_text", "path": path, "text": content}


def truncate(path: str, length: int) -> Edit:
    """Cut a file to a length, or by a negative one."""
    return {"op": "truncate", "path": path, "bytes": length}


def flip(path: str, offset: int, mask: int = 0xFF) -> Edit:
    """Flip bits of one byte of a file; a negative offset counts from its end."""
    return {"op": "flip", "path": path, "offset": offset, "mask": mask}


def group(path: str) -> Edit:
    """Make a group without attributes."""
    return {"op": "group", "path": path}


# -- making them ------------------------------------------------------------------------------------------------------


def apply(root: Path, edits: Sequence[Mapping[str, Any]]) -> None:
    """Make ``edits`` in the record unpacked at ``root``."""
    for edit in edits:
        _EDITS[edit["op"]](root / edit["path"], edit)


def spoilt_copy(store: Path, target: Path, edits: Sequence[Edit]) -> None:
    """Copy a store (folder, packed record or collection) to ``target`` and make edits in the copy."""
    if store.is_dir():
        shutil.copytree(store, target)
        apply(target, edits)
    elif zipfile.is_zipfile(store):
        with unpacked(store) as folder:
            apply(Path(folder), edits)
            _pack(Path(folder), target)
    else:
        shutil.copyfile(store, target)
        for edit in edits:
            COLLECTION_EDITS[edit["op"]](target, edit)


def unpacked(store: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder, gone after its ``with`` block, that holds the files of a packed record."""
    folder = tempfile.TemporaryDirectory()
    with zipfile.ZipFile(store) as archive:
        archive.extractall(folder.name)
    return folder


def _pack(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.write(file, file.relative_to(folder).as_posix())


def _json_set(path: Path, edit: Mapping[str, Any]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    parent, key = _resolve(document, edit["pointer"])
    parent[key] = edit["value"]
    path.write_text(json.dumps(document), encoding="utf-8")


def _json_remove(path: Path, edit: Mapping[str, Any]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    parent, key = _resolve(document, edit["pointer"])
    del parent[key]
    path.write_text(json.dumps(document), encoding="utf-8")


def _resolve(document: Any, pointer: str) -> tuple[Any, Any]:
    """Return the container a JSON pointer ends in and the key or index there; absent objects on the way are made."""
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    node = document
    for part in parents:
        node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
    return node, int(last) if isinstance(node, list) else last


def _delete(path: Path, _edit: Mapping[str, Any]) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _flip(path: Path, edit: Mapping[str, Any]) -> None:
    data = bytearray(path.read_bytes())
    data[edit["offset"]] ^= edit["mask"]
    path.write_bytes(data)


def _truncate(path: Path, edit: Mapping[str, Any]) -> None:
    path.write_bytes(path.read_bytes()[: edit["bytes"]])


def _write_text(path: Path, edit: Mapping[str, Any]) -> None:
    path.write_text(edit["text"], encoding="utf-8")


def _group(path: Path, _edit: Mapping[str, Any]) -> None:
    path.mkdir(parents=True, exist_ok=True)
    (path / "zarr.json").write_text(_GROUP, encoding="utf-8")


def _array(path: Path, edit: Mapping[str, Any]) -> None:
    import zarr
    from zarr.codecs import BloscCodec, BytesCodec, GzipCodec, ZstdCodec

    dtype: Any = np.dtypes.StringDType() if edit["dtype"] == "string" else np.dtype(edit["dtype"])
    values = np.array(edit["values"], dtype).reshape(edit["shape"])
    rows = max(1, values.shape[0])
    chunks = {"sharded": (max(1, rows // 2), *values.shape[1:]), "chunks": (max(1, rows - 1), *values.shape[1:])}
    codec = edit.get("codec", "zstd")
    compressors: dict[str, Any] = {"gzip": GzipCodec(), "blosc": BloscCodec(), "big": None, "none": None}
    options: dict[str, Any] = {
        "chunks": chunks.get(codec, (rows, *values.shape[1:])),
        "compressors": compressors.get(codec, ZstdCodec()),
    }
    if codec == "sharded":
        options["shards"] = values.shape
    if codec == "big":
        options["serializer"] = BytesCodec(endian="big")
    if path.exists():
        shutil.rmtree(path)
    made = zarr.create_array(
        zarr.storage.LocalStore(path),
        shape=values.shape,
        dtype=dtype,
        attributes=dict(edit.get("attributes", {})),
        zarr_format=3,
        **options,
    )
    made[...] = values


_EDITS: dict[str, Callable[[Path, Mapping[str, Any]], None]] = {
    "json_set": _json_set,
    "json_remove": _json_remove,
    "delete": _delete,
    "flip": _flip,
    "truncate": _truncate,
    "write_text": _write_text,
    "group": _group,
    "array": _array,
}
