"""Run the Python of docs/guide/tour.md and write what lies on disk into the page: ``python -m scripts.make_tour``.

The page's blocks run in order in an empty folder. After each of them stand places to fill, between
``<!-- KIND PATH -->`` and ``<!-- /KIND -->``:

* ``tree PATH``: the nodes of a record folder, or of a group in it, with their attributes;
* ``chunks PATH``: the same, and how each array is cut and encoded;
* ``text PATH``: a text file as it is;
* ``entries PATH``: the entries of a ZIP file;
* ``keys PATH``: the keys of an LMDB file and what each value is;
* ``bytes PATH KEY``: a value that is frame bytes, taken apart.

Files are looked at as plain JSON, ZIP and LMDB, never through molrec. Nothing that is shown depends on time or chance;
a test fails when the page is stale.
"""

from __future__ import annotations

import contextlib
import json
import re
import struct
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import lmdb

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "tour.md"

_WIDTH = 96
_PIECE = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^<!-- (?P<kind>[a-z]+) (?P<words>\S[^\n]*?) -->\n.*?^<!-- /(?P=kind) -->$",
    flags=re.DOTALL | re.MULTILINE,
)
#: A node's statement about its own storage (docs/spec/zarr.md, missing chunks), the same on every array here.
_LEFT_OUT = "_molrec"


def rendered(page: str, folder: Path) -> str:
    """Return the page with every place filled from what its code writes into a folder."""
    names: dict[str, Any] = {"__name__": "tour"}
    with contextlib.chdir(folder):
        return _PIECE.sub(lambda piece: _filled(piece, names), page)


def _filled(piece: re.Match[str], names: dict[str, Any]) -> str:
    if piece["code"] is not None:
        exec(compile(piece["code"], PAGE.name, "exec"), names)  # noqa: S102 - the page's own code is what is shown
        return piece[0]
    kind, words = piece["kind"], piece["words"].split()
    lines = "\n".join(_SHOWN[kind](*words))
    return f"<!-- {kind} {piece['words']} -->\n\n```text\n{lines}\n```\n\n<!-- /{kind} -->"


# -- a Zarr hierarchy --------------------------------------------------------------------------------------------------


def _tree(path: str, *, chunks: bool = False) -> Iterator[str]:
    yield f"{path}/"
    yield from _node(Path(path), "", chunks=chunks)


def _node(folder: Path, margin: str, *, chunks: bool) -> Iterator[str]:
    """Yield what stands below the line of a node: its facts, then its files and the nodes in it."""
    entries = sorted((entry for entry in folder.iterdir() if entry.name != "zarr.json"), key=_files_first)
    yield from _facts(folder, margin + ("│   " if entries else "    "), chunks=chunks)
    for number, entry in enumerate(entries, start=1):
        last = number == len(entries)
        branch = margin + ("└── " if last else "├── ")
        if entry.is_file():
            yield branch + entry.name
        elif entry.name == "c" and not (entry / "zarr.json").exists():
            yield branch + "  ".join(sorted(f.relative_to(folder).as_posix() for f in entry.rglob("*") if f.is_file()))
        else:
            yield f"{branch}{entry.name}/{_array(entry)}"
            yield from _node(entry, margin + ("    " if last else "│   "), chunks=chunks)


def _files_first(entry: Path) -> tuple[bool, bytes]:
    return (not entry.is_file() and entry.name != "c", entry.name.encode())


def _array(folder: Path) -> str:
    document = _document(folder)
    if document.get("node_type") != "array":
        return ""
    return f"  {document['data_type']} {document['shape']}"


def _facts(folder: Path, margin: str, *, chunks: bool) -> Iterator[str]:
    document = _document(folder)
    if chunks and document.get("node_type") == "array":
        shape, codecs = document["chunk_grid"]["configuration"]["chunk_shape"], document["codecs"]
        if codecs[0]["name"] == "sharding_indexed":
            shard = codecs[0]["configuration"]
            yield f"{margin}shards {shape}, index at the {shard['index_location']}"
            yield from _wrapped(f"index: {_codecs(shard['index_codecs'])}", f"{margin}  ")
            shape, codecs = shard["chunk_shape"], shard["codecs"]
        yield f"{margin}chunks {shape}"
        yield from _wrapped(_codecs(codecs), f"{margin}  ")
    for key, value in document.get("attributes", {}).items():
        if key != _LEFT_OUT:
            yield from _json_lines(value, margin, f"{json.dumps(key)}: ")


def _document(folder: Path) -> dict[str, Any]:
    path = folder / "zarr.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _codecs(codecs: list[dict[str, Any]]) -> str:
    return ", ".join(map(_codec, codecs))


def _wrapped(text: str, margin: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False)


def _codec(codec: dict[str, Any]) -> str:
    settings = ",".join(f"{key}={json.dumps(value)}" for key, value in codec.get("configuration", {}).items())
    return f"{codec['name']}({settings})" if settings else str(codec["name"])


def _json_lines(value: Any, margin: str, before: str = "", after: str = "") -> Iterator[str]:
    """Yield a JSON value on one line where it fits, else one line for each part."""
    line = f"{margin}{before}{json.dumps(value, ensure_ascii=False)}{after}"
    if len(line) <= _WIDTH or not value or not isinstance(value, (dict, list)):
        yield line
        return
    parts = (
        [(f"{json.dumps(key)}: ", part) for key, part in value.items()]
        if isinstance(value, dict)
        else [("", part) for part in value]
    )
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield f"{margin}{before}{opening}"
    for number, (key, part) in enumerate(parts, start=1):
        yield from _json_lines(part, margin + "  ", key, "," if number < len(parts) else "")
    yield f"{margin}{closing}{after}"


# -- other files -------------------------------------------------------------------------------------------------------


def _text(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()


def _entries(path: str) -> Iterator[str]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            yield f"{entry.filename}  {'stored' if entry.compress_type == zipfile.ZIP_STORED else 'compressed'}"


def _values(path: str) -> dict[bytes, bytes]:
    environment = lmdb.open(path, subdir=False, readonly=True, lock=False)
    try:
        with environment.begin() as transaction:
            return {bytes(key): bytes(value) for key, value in transaction.cursor()}
    finally:
        environment.close()


def _shown_key(key: bytes) -> str:
    """Return a key as text: a number in hexadecimal, the way it lies in the file."""
    if key.isalpha():
        return key.decode()
    return f"{chr(key[0])} {key[1:].hex()}"


def _keys(path: str) -> Iterator[str]:
    for key, value in _values(path).items():
        if value.startswith(b"MRF1"):
            blocks = _header(value)["blocks"]
            yield f"{_shown_key(key)}  frame bytes: {', '.join(blocks) or 'no block'}"
        else:
            yield from _json_lines(json.loads(value), "", f"{_shown_key(key)}  ")


def _header(value: bytes) -> dict[str, Any]:
    (length,) = struct.unpack_from("<I", value, 4)
    found: dict[str, Any] = json.loads(value[8 : 8 + length])
    return found


def _bytes(path: str, letter: str, number: str) -> Iterator[str]:
    value = _values(path)[letter.encode() + struct.pack(">Q", int(number))]
    (length,) = struct.unpack_from("<I", value, 4)
    start = -(-(8 + length) // 8) * 8
    yield "4d 52 46 31                 the letters MRF1"
    yield f"{value[4:8].hex(' ')}                 length of the header: {length}"
    yield from _json_lines(_header(value), "")
    yield f"{'00 ' * (start - 8 - length)}{' ' if start > 8 + length else ''}zeros up to a multiple of 8: {start}"
    for offset in range(start, len(value), 8):
        word = value[offset : offset + 8]
        note = f"   {struct.unpack('<d', word)[0]!r} as f64" if len(word) == 8 else ""
        yield f"{word.hex(' ')}     payload + {offset - start}{note}"


def _with_chunks(path: str) -> Iterator[str]:
    return _tree(path, chunks=True)


_SHOWN: dict[str, Callable[..., Iterable[str]]] = {
    "tree": _tree,
    "chunks": _with_chunks,
    "text": _text,
    "entries": _entries,
    "keys": _keys,
    "bytes": _bytes,
}


if __name__ == "__main__":
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    with tempfile.TemporaryDirectory() as made:
        page.write_text(rendered(page.read_text(encoding="utf-8"), Path(made)), encoding="utf-8")
