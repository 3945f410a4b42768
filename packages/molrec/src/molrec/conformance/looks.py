"""Looks at what an implementation wrote, by JSON, LMDB and zarr-python alone: each returns what is wrong, or None."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from molrec.conformance.comparison import Difference, first_difference
from molrec.conformance.content import AnyArray
from molrec.conformance.tamper import unpacked
from molrec.conformance.tamper_collection import values_of

__all__ = [
    "MUST_DECODE",
    "ArrayHolds",
    "AttributeIs",
    "Decodable",
    "HeaderHolds",
    "KeysAre",
    "Look",
    "NoAttribute",
    "NoNode",
    "PackedForm",
    "UpdatesAre",
    "ValueHolds",
]

#: The codecs every reader decodes and beside which no writer uses another (``docs/spec/zarr.md``, codecs).
MUST_DECODE = frozenset(
    {"bytes", "gzip", "zstd", "numcodecs.shuffle", "crc32c", "vlen-utf8", "sharding_indexed", "transpose"}
)


class Look(Protocol):
    """Looks at a store as it lies there, by other means than the library's."""

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong, None where nothing is."""


@dataclass(frozen=True, slots=True)
class AttributeIs:
    """A node has an attribute; ``a/b`` names the entry ``b`` of the attribute ``a``."""

    node: str
    name: str
    value: Any

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong."""
        document = _document(store, self.node)
        if document is None:
            return f"{self.node}: there is no such node"
        entries = {f"/{self.name}": self.value}
        return _entries_differ(document.get("attributes", {}), entries, f"{self.node}, attributes ")


@dataclass(frozen=True, slots=True)
class NoAttribute:
    """A node has not a certain attribute."""

    node: str
    name: str

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong."""
        document = _document(store, self.node)
        attributes = {} if document is None else document.get("attributes", {})
        return f"{self.node} has the attribute {self.name}" if self.name in attributes else None


@dataclass(frozen=True, slots=True)
class NoNode:
    """A node is not there."""

    node: str

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong."""
        return None if _document(store, self.node) is None else f"{self.node} is there"


@dataclass(frozen=True, slots=True)
class ArrayHolds:
    """zarr-python reads certain values, from the start of an array on."""

    node: str
    values: AnyArray

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong."""
        if _document(store, self.node) is None:
            return f"{self.node}: there is no such array"
        return _said(first_difference(self.values, _read(store, self.node)[: len(self.values)], self.node))


@dataclass(frozen=True, slots=True)
class Decodable:
    """An array uses no codec outside the must-decode set, and zarr-python decodes it."""

    node: str

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong."""
        document = _document(store, self.node)
        if document is None:
            return f"{self.node}: there is no such array"
        unknown = sorted(set(_codecs(document["codecs"])) - MUST_DECODE)
        if unknown:
            return f"{self.node} uses {', '.join(unknown)}, which no reader must know"
        _read(store, self.node)
        return None


@dataclass(frozen=True, slots=True)
class UpdatesAre:
    """A block of a trajectory has updates at certain ordinals, in either form."""

    block: str
    ordinals: tuple[int, ...]

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong."""
        found = _updates(store, self.block)
        return None if found == list(self.ordinals) else f"{self.block} has updates at {found}, not {self.ordinals}"


def _updates(store: Path, block: str) -> list[int] | None:
    node = f"trajectory/{block}"
    run, document = _document(store, "trajectory"), _document(store, node)
    if run is None or document is None:
        return None
    nstep = run["attributes"]["nstep"]
    if _document(store, f"{node}/step_index") is not None:
        return [int(ordinal) for ordinal in _read(store, f"{node}/step_index") if ordinal < nstep]
    rows = document["attributes"].get("uniform_rows")
    if rows is None:
        return []
    declared = run["attributes"]["sequence_schema"]["blocks"][block]["columns"]
    shortest = min(len(_read(store, f"{node}/{column}")) for column in declared)
    return list(range(min(shortest // rows, nstep)))


@dataclass(frozen=True, slots=True)
class PackedForm:
    """A packed record is a ZIP archive of stored entries with plain names; a folder has nothing to show."""

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong."""
        if store.is_dir():
            return None
        with zipfile.ZipFile(store) as archive:
            for entry in archive.infolist():
                name = entry.filename
                if entry.compress_type != zipfile.ZIP_STORED:
                    return f"entry {name} is compressed"
                if name.endswith("/") or name.startswith("/") or "\\" in name or ".." in name.split("/"):
                    return f"entry {name!r}: no directory, no absolute name, no backslash, no '..'"
        return None


# -- collections ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeysAre:
    """An LMDB file has exactly these keys."""

    names: tuple[bytes, ...]

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong."""
        return _said(first_difference(sorted(self.names), sorted(values_of(store)), "keys"))


@dataclass(frozen=True, slots=True)
class ValueHolds:
    """A JSON value of an LMDB file has entries, named by JSON pointer."""

    name: bytes
    entries: Mapping[str, Any]

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong."""
        return _entries_differ(json.loads(values_of(store).get(self.name, b"{}")), self.entries, repr(self.name))


@dataclass(frozen=True, slots=True)
class HeaderHolds:
    """The header of frame bytes has entries, named by JSON pointer; None stands for one that is absent."""

    name: bytes
    entries: Mapping[str, Any]

    def __call__(self, store: Path, /) -> str | None:
        """Return what is wrong."""
        value = values_of(store).get(self.name, b"")
        if value[:4] != b"MRF1":
            return f"{self.name!r} does not begin with MRF1"
        (length,) = struct.unpack_from("<I", value, 4)
        return _entries_differ(json.loads(value[8 : 8 + length]), self.entries, repr(self.name))


def _entries_differ(document: Any, entries: Mapping[str, Any], where: str) -> str | None:
    for pointer, value in entries.items():
        node = document
        for part in pointer.split("/")[1:]:
            node = node.get(part) if isinstance(node, dict) else None
        difference = first_difference(value, _like(value, node), f"{where}{pointer}")
        if difference is not None:
            return str(difference)
    return None


def _like(expected: Any, found: Any) -> Any:
    """Return a JSON value with integers as floats where floats are expected: JSON spells 5.0 as 5 as well."""
    if isinstance(expected, float) and type(found) is int:
        return float(found)
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [_like(one, other) for one, other in zip(expected, found, strict=True)]
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: _like(expected.get(key), value) for key, value in found.items()}
    return found


def _said(difference: Difference | None) -> str | None:
    return None if difference is None else str(difference)


# -- reading ----------------------------------------------------------------------------------------------------------


def _document(store: Path, node: str) -> dict[str, Any] | None:
    name = f"{node}/zarr.json" if node else "zarr.json"
    if store.is_dir():
        path = store / name
        content = path.read_bytes() if path.exists() else None
    else:
        with zipfile.ZipFile(store) as archive:
            content = archive.read(name) if name in archive.namelist() else None
    if content is None:
        return None
    document: dict[str, Any] = json.loads(content)
    return document


def _read(store: Path, node: str) -> AnyArray:
    import zarr

    if store.is_dir():
        return np.asarray(zarr.open_array(store / node, mode="r")[...])
    with unpacked(store) as folder:
        return np.asarray(zarr.open_array(Path(folder) / node, mode="r")[...])


def _codecs(pipeline: list[dict[str, Any]]) -> Iterator[str]:
    for codec in pipeline:
        yield codec["name"]
        inner = codec.get("configuration", {})
        for key in ("codecs", "index_codecs"):
            yield from _codecs(inner.get(key, []))
