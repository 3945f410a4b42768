"""Edits of a collection's LMDB file with LMDB alone: keys taken away, JSON values and frame bytes changed."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["COLLECTION_EDITS", "header", "key", "lose", "overwrite", "payload", "put_in", "take_from", "values_of"]

type Edit = dict[str, Any]

_ALIGNMENT = 8


def key(letter: str, number: int) -> bytes:
    """Return a numbered key: ``r`` of a record's meta, ``s`` of its system, ``f`` of a frame."""
    return letter.encode() + number.to_bytes(8, "big")


def put_in(name: bytes, pointer: str, value: Any) -> Edit:
    """Set a value in a JSON value, by JSON pointer."""
    return {"op": "lmdb_json_set", "key": name, "pointer": pointer, "value": value}


def take_from(name: bytes, pointer: str) -> Edit:
    """Remove an entry of a JSON value, by JSON pointer."""
    return {"op": "lmdb_json_remove", "key": name, "pointer": pointer}


def header(name: bytes, pointer: str, value: Any) -> Edit:
    """Set a value in the header of frame bytes, by JSON pointer; the payload stays as it is."""
    return {"op": "lmdb_header_set", "key": name, "pointer": pointer, "value": value}


def overwrite(name: bytes, offset: int, data: bytes) -> Edit:
    """Write bytes into a value; a negative offset counts from its end."""
    return {"op": "lmdb_overwrite", "key": name, "offset": offset, "data": data}


def payload(name: bytes, offset: int, data: bytes) -> Edit:
    """Write bytes into the payload of frame bytes."""
    return {"op": "lmdb_payload_set", "key": name, "offset": offset, "data": data}


def lose(name: bytes) -> Edit:
    """Take a key away."""
    return {"op": "lmdb_delete", "key": name}


def values_of(path: Path) -> dict[bytes, bytes]:
    """Return everything an LMDB file holds."""
    import lmdb

    with lmdb.open(str(path), subdir=False, lock=False, readonly=True) as file, file.begin() as transaction:
        return dict(transaction.cursor())


def _change(path: Path, name: bytes, change: Callable[[bytes], bytes | None]) -> None:
    import lmdb

    with lmdb.open(str(path), subdir=False, lock=False, map_size=2**26) as file, file.begin(write=True) as transaction:
        value = transaction.get(name)
        assert value is not None, f"there is no key {name!r} to edit"
        changed = change(value)
        if changed is None:
            transaction.delete(name)
        else:
            transaction.put(name, changed)


def _set(document: Any, pointer: str, value: Any) -> None:
    parent, last = _parent(document, pointer)
    parent[last] = value


def _parent(document: Any, pointer: str) -> tuple[Any, Any]:
    *parents, last = pointer.split("/")[1:]
    node = document
    for part in parents:
        node = node[int(part)] if isinstance(node, list) else node[part]
    return node, int(last) if isinstance(node, list) else last


def _json_set(path: Path, edit: Edit) -> None:
    def change(value: bytes) -> bytes:
        document = json.loads(value)
        _set(document, edit["pointer"], edit["value"])
        return json.dumps(document).encode()

    _change(path, edit["key"], change)


def _json_remove(path: Path, edit: Edit) -> None:
    def change(value: bytes) -> bytes:
        document = json.loads(value)
        parent, last = _parent(document, edit["pointer"])
        del parent[last]
        return json.dumps(document).encode()

    _change(path, edit["key"], change)


def _header_set(path: Path, edit: Edit) -> None:
    def change(value: bytes) -> bytes:
        (length,) = struct.unpack_from("<I", value, 4)
        document = json.loads(value[8 : 8 + length])
        payload = value[8 + length + -(8 + length) % _ALIGNMENT :]
        _set(document, edit["pointer"], edit["value"])
        text = json.dumps(document).encode()
        gap = b"\0" * (-(8 + len(text)) % _ALIGNMENT)
        return value[:4] + struct.pack("<I", len(text)) + text + gap + payload

    _change(path, edit["key"], change)


def _payload_set(path: Path, edit: Edit) -> None:
    def change(value: bytes) -> bytes:
        (length,) = struct.unpack_from("<I", value, 4)
        data = bytearray(value)
        start = 8 + length + -(8 + length) % _ALIGNMENT + edit["offset"]
        data[start : start + len(edit["data"])] = edit["data"]
        return bytes(data)

    _change(path, edit["key"], change)


def _overwrite(path: Path, edit: Edit) -> None:
    def change(value: bytes) -> bytes:
        data = bytearray(value)
        start = edit["offset"] % len(data)
        data[start : start + len(edit["data"])] = edit["data"]
        return bytes(data)

    _change(path, edit["key"], change)


def _delete(path: Path, edit: Edit) -> None:
    _change(path, edit["key"], lambda _: None)


COLLECTION_EDITS: dict[str, Callable[[Path, Edit], None]] = {
    "lmdb_json_set": _json_set,
    "lmdb_json_remove": _json_remove,
    "lmdb_header_set": _header_set,
    "lmdb_payload_set": _payload_set,
    "lmdb_overwrite": _overwrite,
    "lmdb_delete": _delete,
}
