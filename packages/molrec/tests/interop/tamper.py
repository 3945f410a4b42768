"""Replays the edits of ``refusals.json`` on an unpacked record.

An edit is one JSON object with an ``op`` and a ``path`` relative to the record root; `apply` runs a list of them in
order. The edits go behind the back of every library under test: plain files, plain JSON, and ``zarr`` for arrays.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, GzipCodec, ZstdCodec

type Edit = Mapping[str, Any]


def apply(root: Path, edits: Sequence[Edit]) -> None:
    """Run ``edits`` on the record unpacked at ``root``."""
    for edit in edits:
        _EDITS[edit["op"]](root / edit["path"], edit)


def _json_set(path: Path, edit: Edit) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    parent, key = _resolve(document, edit["pointer"])
    parent[key] = edit["value"]
    path.write_text(json.dumps(document), encoding="utf-8")


def _json_remove(path: Path, edit: Edit) -> None:
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


def _delete(path: Path, _edit: Edit) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _flip(path: Path, edit: Edit) -> None:
    data = bytearray(path.read_bytes())
    data[edit["offset"]] ^= edit["mask"]
    path.write_bytes(data)


def _truncate(path: Path, edit: Edit) -> None:
    path.write_bytes(path.read_bytes()[: edit["bytes"]])


def _write_text(path: Path, edit: Edit) -> None:
    path.write_text(edit["text"], encoding="utf-8")


def _group(path: Path, _edit: Edit) -> None:
    path.mkdir(parents=True, exist_ok=True)
    (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}', encoding="utf-8")


def _array(path: Path, edit: Edit) -> None:
    """Replace or add an array; the codec name also says how it is chunked."""
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
    array = zarr.create_array(
        zarr.storage.LocalStore(path),
        shape=values.shape,
        dtype=dtype,
        attributes=dict(edit.get("attributes", {})),
        zarr_format=3,
        **options,
    )
    array[...] = values


_EDITS: dict[str, Callable[[Path, Edit], None]] = {
    "json_set": _json_set,
    "json_remove": _json_remove,
    "delete": _delete,
    "flip": _flip,
    "truncate": _truncate,
    "write_text": _write_text,
    "group": _group,
    "array": _array,
}
