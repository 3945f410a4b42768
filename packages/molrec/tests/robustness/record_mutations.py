"""Ways to spoil a record that is held as a map from path to content; each is drawn from a random generator.

Chunks are damaged as bytes, which a checksum has to tell. Documents are damaged as bytes and as JSON: other types, keys
that go or come, huge numbers, deep nesting. Files change places, vanish, and appear under other names.
"""

from __future__ import annotations

import copy
import json
import random
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import google_crc32c
import zstandard

type Files = dict[str, bytes]

#: Values that stand where others are expected.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 0.5, -0.0, 1e308, 5e-324, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 1, 2**63,
    2**64, -(2**63), 10**12, 10**30, "", "x", "atoms", "/frame/atoms", "/trajectory/atoms", "/", "..", "f64", "f32",
    "float32", "float64", "int64", "string", "bool", "NaN", "-Infinity", "1", "12345678901234567890", "\u0000", "é",
    "a" * 300, [], {}, [0], [1], [3], [-1], [0.5], [1, 2], [2**40], [2**62, 2], [2**63], [[1.0, 0, 0]] * 3, ["x"],
    {"x": "atoms"}, {"dtype": "f64"}, {"dtype": "f64", "trailing": []}, {"start": 0}, {"start": 0, "stride": 1},
    {"start": 2**62, "stride": 2**62}, {"name": "gzip"}, {"name": "bytes", "configuration": {"endian": "big"}},
    {"name": "blosc", "configuration": {}}, {"name": "transpose", "configuration": {"order": [0]}},
    {"name": "numcodecs.shuffle", "configuration": {"elementsize": 0}}, {"must_understand": False},
)  # fmt: skip
_ODD_KEYS = (
    "count", "targets", "precision", "nullable", "aligned_with", "trailing", "dtype", "shape", "codecs", "", "nstep",
    "attributes", "structural_shape", "fill", "__proto__", "é\u0000", "uniform_rows", "_meta_types",
)  # fmt: skip
_ODD_NAMES = ("x", "box", "meta", "zarr.json", "_validity", "__x", "a b", "é", "\u202e", "c", "0", "%2F", "...", "CON",
    "step_index", "offset", "n" * 200)  # fmt: skip


def mutate(files: Files, rng: random.Random) -> tuple[str, Files]:
    """Return the kind of damage and the files that change, by path; an empty one stays, None takes one away."""
    kind, make = rng.choice(_KINDS)
    changed = dict(files)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        make(changed, rng)
    return kind, changed


def is_document(path: str) -> bool:
    """Tell whether a file is metadata, or a log, which no checksum covers."""
    return path.endswith(("zarr.json", ".journal", ".jsonl"))


# -- bytes ------------------------------------------------------------------------------------------------------------


def _chunk_of(files: Files, rng: random.Random) -> str | None:
    chunks = [path for path, content in files.items() if not is_document(path) and content]
    return rng.choice(chunks) if chunks else None


def damage_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return bytes with some bits flipped, a stretch cut, zeroed, repeated or replaced."""
    data = bytearray(content)
    place = rng.randrange(len(data))
    length = min(len(data) - place, rng.choice((1, 2, 4, 8, 16, 64, 512)))
    choice = rng.randrange(8)
    if choice < 3:
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif choice == 3:
        del data[place:]
    elif choice == 4:
        del data[place : place + length]
    elif choice == 5:
        data[place : place + length] = bytes(length)
    elif choice == 6:
        data[place : place + length] = rng.randbytes(length)
    else:
        data += rng.randbytes(length)
    return bytes(data)


def _flip_chunk(files: Files, rng: random.Random) -> None:
    path = _chunk_of(files, rng)
    if path is not None:
        files[path] = damage_bytes(files[path], rng)


def _flip_document(files: Files, rng: random.Random) -> None:
    path = rng.choice([path for path in files if is_document(path) and files[path]])
    files[path] = damage_bytes(files[path], rng)


# -- JSON -------------------------------------------------------------------------------------------------------------


def _documents(files: Files) -> list[str]:
    return [path for path in files if path.endswith("zarr.json") and files[path].startswith(b"{")]


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value below a JSON value."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [way for key, value in pairs for way in ((*path, key), *_places(value, (*path, key)))]


def _at(node: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        node = node[key]
    return node


def edit_json(files: Files, rng: random.Random) -> None:
    """Give a place of a document another value, or another key."""
    path = rng.choice(_documents(files))
    try:
        document = json.loads(files[path])
    except (ValueError, RecursionError):
        return
    for _ in range(rng.choice((1, 1, 2))):
        places = _places(document)
        if places:
            _edit_place(document, rng.choice(places), places, rng)
    files[path] = json.dumps(document).encode()


def _edit_place(document: Any, way: tuple[Any, ...], places: list[tuple[Any, ...]], rng: random.Random) -> None:
    parent, key = _at(document, way[:-1]), way[-1]
    choice = rng.randrange(8)
    if choice < 3:
        parent[key] = copy.deepcopy(rng.choice(ODD_VALUES))
    elif choice == 3:
        del parent[key]
    elif choice == 4 and isinstance(parent, dict):
        parent[rng.choice(_ODD_KEYS)] = copy.deepcopy(rng.choice(ODD_VALUES))
    elif choice == 5:
        other = rng.choice(places)
        parent[key] = copy.deepcopy(_at(document, other))
    elif choice == 6 and isinstance(parent, dict):
        parent[rng.choice(_ODD_KEYS)] = parent.pop(key)
    elif isinstance(parent[key], (int, float)):
        parent[key] = parent[key] + rng.choice((1, -1, 0.5, 2**31, 2**63))
    elif isinstance(parent[key], list):
        parent[key] = rng.choice((parent[key] * 2, parent[key][:-1], parent[key][::-1]))
    elif isinstance(parent[key], str):
        parent[key] += rng.choice(("x", "\u0000", "/", " "))


def write_text(files: Files, rng: random.Random) -> None:
    """Put what is no JSON, or hardly, in the place of a value."""
    path = rng.choice(_documents(files))
    text = files[path].decode(errors="replace")
    places = [place for place, character in enumerate(text) if character in ":,"]
    if not places:
        return
    place = rng.choice(places) + 1
    depth = rng.choice((50, 300, 900, 3000, 100_000))
    odd = rng.choice(
        ("NaN", "Infinity", "-Infinity", "1e999", "-0", "01", "1E400", "9" * 5000, '"\\ud800"', '"\\u0000"', "'x'",
         '{"a":1,"a":2}', "[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, '"' + "x" * 10_000 + '"', "")
    )  # fmt: skip
    end = text.find(",", place) if rng.random() < 0.7 else place
    files[path] = (text[:place] + odd + text[max(place, end) :]).encode(errors="replace")


def _swap_attributes(files: Files, rng: random.Random) -> None:
    one, other = rng.choice(_documents(files)), rng.choice(_documents(files))
    try:
        first, second = json.loads(files[one]), json.loads(files[other])
        first["attributes"], second["attributes"] = second.get("attributes"), first.get("attributes")
    except (ValueError, TypeError, AttributeError, RecursionError):
        return
    files[one], files[other] = json.dumps(first).encode(), json.dumps(second).encode()


# -- forgeries: what is wrong has a right checksum ---------------------------------------------------------------------


@cache
def _bombs() -> tuple[bytes, ...]:
    """Return chunks of some kilobytes that decompress to more than a hundred megabytes."""
    zeros = bytes(2**20)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    small = b"".join(packer.compress(zeros) for _ in range(128)) + packer.flush()
    bombs = [small]
    for size in (128 * len(zeros), -1):
        stream = zstandard.ZstdCompressor(level=1, write_content_size=size > 0).compressobj(size=size)
        bombs.append(b"".join(stream.compress(zeros) for _ in range(128)) + stream.flush())
    return tuple(_closed(bomb) for bomb in bombs)


def _closed(body: bytes) -> bytes:
    return body + int(google_crc32c.value(body)).to_bytes(4, "little")


def _forge_chunk(files: Files, rng: random.Random) -> None:
    """Put a bomb in the place of a chunk, under codecs that unpack it, or a chunk of another size."""
    plain = [path for path in files if path.endswith("/c/0") and f"{path[:-4]}/zarr.json" in files]
    if not plain:
        return
    path = rng.choice(plain)
    number = rng.randrange(4)
    if number == 3:
        files[path] = _closed(damage_bytes(files[path], rng))
        return
    files[path] = _bombs()[number]
    metadata = f"{path[:-4]}/zarr.json"
    name = "gzip" if number == 0 else "zstd"
    try:
        document = json.loads(files[metadata])
        first = document["codecs"][0]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return
    if isinstance(first, dict) and first.get("name") != "sharding_indexed":
        codec = {"name": name, "configuration": {"level": 1} | ({} if number == 0 else {"checksum": False})}
        document["codecs"] = [first, codec, {"name": "crc32c"}]
        files[metadata] = json.dumps(document).encode()


def _forge_journal(files: Files, rng: random.Random) -> None:
    """Edit a line of a journal, or give a record the journal of another."""
    path = "trajectory/.journal"
    lines = [line.partition(b" ")[2] for line in files.get(path, b"").splitlines()]
    if not lines:
        files[path] = rng.choice((b"", b"x\n", b"00000000 {}\n"))
        return
    place = rng.randrange(len(lines))
    try:
        document = json.loads(lines[place])
    except (ValueError, RecursionError):
        return
    places = _places(document)
    if places:
        _edit_place(document, rng.choice(places), places, rng)
    lines[place] = json.dumps(document).encode()
    files[path] = b"".join(b"%08x %s\n" % (google_crc32c.value(line), line) for line in lines)


# -- files ------------------------------------------------------------------------------------------------------------


def _swap_files(files: Files, rng: random.Random) -> None:
    one, other = rng.choice(list(files)), rng.choice(list(files))
    files[one], files[other] = files[other], files[one]


def _remove_chunk(files: Files, rng: random.Random) -> None:
    path = _chunk_of(files, rng)
    if path is not None:
        del files[path]


def _remove_files(files: Files, rng: random.Random) -> None:
    path = rng.choice(list(files))
    below = path if rng.random() < 0.5 else path.rpartition("/")[0]
    for name in [name for name in files if name == below or name.startswith(f"{below}/")]:
        if len(files) > 1:
            del files[name]


def _copy_node(files: Files, rng: random.Random) -> None:
    """Let a node, or a file, stand under another name as well."""
    node = rng.choice(list(files)).rpartition("/")[0]
    parent = node.rpartition("/")[0]
    target = f"{parent}/{rng.choice(_ODD_NAMES)}".lstrip("/")
    for name in [name for name in files if name.startswith(f"{node}/")]:
        place = f"{target}{name[len(node) :]}"
        if not _blocked(files, place):
            files[place] = files[name]


def _blocked(files: Files, place: str) -> bool:
    """Tell whether a place is taken by a folder, or lies below a file."""
    parts = place.split("/")
    above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
    return any(name in above or name.startswith(f"{place}/") for name in files)


def _foreign_file(files: Files, rng: random.Random) -> None:
    node = rng.choice(list(files)).rpartition("/")[0]
    place = f"{node}/{rng.choice(_ODD_NAMES)}/{rng.choice(_ODD_NAMES)}".lstrip("/")
    if not _blocked(files, place):
        files[place] = rng.choice((b"", b"{}", rng.randbytes(20), b'{"zarr_format":3,"node_type":"group"}'))


_KINDS: tuple[tuple[str, Callable[[Files, random.Random], None]], ...] = (
    ("chunk bytes", _flip_chunk),
    ("chunk bytes", _flip_chunk),
    ("chunk removed", _remove_chunk),
    ("document bytes", _flip_document),
    ("JSON values", edit_json),
    ("JSON values", edit_json),
    ("JSON values", edit_json),
    ("JSON text", write_text),
    ("attributes swapped", _swap_attributes),
    ("chunks forged", _forge_chunk),
    ("journals forged", _forge_journal),
    ("files swapped", _swap_files),
    ("files removed", _remove_files),
    ("nodes copied", _copy_node),
    ("foreign files", _foreign_file),
)
#: Kinds that change nothing but what checksums cover: whatever still reads reads as before.
COVERED = frozenset(("chunk bytes", "chunk removed"))
