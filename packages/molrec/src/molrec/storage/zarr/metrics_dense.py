"""Series of a closed ``metrics`` section as arrays, and the catalog that puts them in force (``docs/spec/metrics.md``).

The catalog is the attributes ``wal`` and ``series`` of the group. Without it arrays count for nothing; with it they are
what the log says up to the watermark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import STRING, Array
from molrec.errors import FormatError
from molrec.model.metrics import MetricSeries
from molrec.model.names import check_name
from molrec.storage.zarr.array_reader import open_array
from molrec.storage.zarr.files import remove_array, sync_directory, sync_tree, write_document
from molrec.storage.zarr.fixed_array import write_fixed_array
from molrec.storage.zarr.layout import group_document, read_array_layout
from molrec.storage.zarr.metrics_log import METRICS, Watermark
from molrec.storage.zarr.sources import Source, read_document

__all__ = ["Catalog", "catalog_of", "check_key", "read_catalog", "read_dense", "replace_dense", "safe_name"]

_CATALOG = "reject-metrics-catalog"
_WAL, _SERIES = "wal", "series"
_PARTS = ("series", "steps", "wall_time")
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def safe_name(key: str) -> str:
    """Return the name of a key's arrays: bytes outside ``A-Z a-z 0-9 . _ -`` as ``%XX``.

    The first byte is escaped as well where the key is ``.`` or ``..`` or starts with ``__``.
    """
    encoded = key.encode("utf-8")
    escape_first = key in (".", "..") or key.startswith("__")
    return "".join(
        chr(byte) if byte in _SAFE and not (escape_first and not place) else f"%{byte:02X}"
        for place, byte in enumerate(encoded)
    )


def check_key(key: str) -> None:
    """Refuse a key, valid Unicode, whose arrays could not be named.

    Raises:
        SchemaError: The name of its arrays is one the store keeps, or too long (``reject-bad-name``).
    """
    check_name(safe_name(key), f"metrics, the name of the arrays of {key!r}")


@dataclass(frozen=True, slots=True)
class Catalog:
    """What the arrays of a section hold.

    Attributes:
        mark: How much of the log they hold.
        series: ``type``, ``count``, ``latest_step`` and ``latest_timestamp`` of each key, and what else it states.
    """

    mark: Watermark = field(default_factory=Watermark)
    series: dict[str, dict[str, Any]] = field(default_factory=dict)

    def to_attributes(self) -> dict[str, Any]:
        """Return the attributes that state it."""
        return {_WAL: {"lines": self.mark.lines, "bytes": self.mark.size}, _SERIES: self.series}


def read_catalog(attributes: Mapping[str, Any], where: str) -> Catalog | None:
    """Return the catalog a group's attributes state, None where there is none.

    Raises:
        FormatError: It is malformed (``reject-metrics-catalog``).
    """
    if _WAL not in attributes and _SERIES not in attributes:
        return None
    wal, series = attributes.get(_WAL), attributes.get(_SERIES)
    marks = [wal.get(part) for part in ("lines", "bytes")] if isinstance(wal, dict) else [None]
    if not all(type(mark) is int and mark >= 0 for mark in marks) or not isinstance(series, dict):
        raise FormatError(
            f"{where}: a catalog states wal, an object of lines and bytes, and series, an object; found wal {wal!r} "
            f"and series of type {type(series).__name__}",
            _CATALOG,
        )
    for key, entry in series.items():
        kind = entry.get("type", "scalar") if isinstance(entry, dict) else None
        count = entry.get("count") if isinstance(entry, dict) else None
        if not key or not isinstance(kind, str) or type(count) is not int or count < 0:
            raise FormatError(
                f"{where}: the catalog states type, a word, and count, a number of entries, for {key!r}; "
                f"found {entry!r}",
                _CATALOG,
            )
    return Catalog(Watermark(*marks), dict(series))


def read_dense(source: Source, key: str, entry: Mapping[str, Any]) -> MetricSeries:
    """Return the series of a key as its arrays hold it.

    Raises:
        FormatError: An array is missing or unlike the catalog (``reject-metrics-catalog``), or damaged.
    """
    values = _part(source, "series", key, "f64", entry["count"])
    if values is None:
        raise FormatError(
            f"{source.name}: {METRICS}/series/{safe_name(key)} is missing, though the catalog lists {key!r}", _CATALOG
        )
    steps = _part(source, "steps", key, "i64", entry["count"])
    stated = _part(source, "wall_time", key, "string", entry["count"])
    wall_time = np.full(len(values), "", dtype=STRING) if stated is None else stated
    return MetricSeries(values, steps, wall_time, entry.get("type", "scalar"))


def _part(source: Source, part: str, key: str, dtype: str, count: int) -> Array | None:
    path = f"{METRICS}/{part}/{safe_name(key)}"
    array = open_array(source, path)
    if array is None:
        return None
    if array.layout.dtype != dtype or array.layout.shape != (count,):
        raise FormatError(
            f"{source.name}: {path} is {dtype} with shape [{count}] by the catalog, found {array.layout.dtype} with "
            f"{list(array.layout.shape)}",
            _CATALOG,
        )
    return array.read()


def catalog_of(series: Mapping[str, MetricSeries], mark: Watermark, known: Mapping[str, Any]) -> Catalog:
    """Return the catalog of series; what a known entry states beyond this format is kept."""
    entries: dict[str, dict[str, Any]] = {}
    for key, one in series.items():
        step = None if one.steps is None or not len(one) else int(one.steps[one.latest])
        moment = str(one.wall_time[one.latest]) if len(one) else ""
        entries[key] = {
            **known.get(key, {}),
            "type": one.type,
            "count": len(one),
            "latest_step": None if step is None else typedjson.encode("i64", step),
            "latest_timestamp": moment or None,
        }
    return Catalog(mark, entries)


def replace_dense(
    source: Source, folder: Path, attributes: Mapping[str, Any], series: Mapping[str, MetricSeries], mark: Watermark
) -> None:
    """Put series in force as arrays; at no instant does a reader find arrays that the catalog does not describe.

    Between withdrawing the old catalog and stating the new one the log alone is in force, so it holds every line.

    Args:
        source: The record, to see what its arrays carry beyond this format.
        folder: The section.
        attributes: Attributes of the section.
        series: Every series of the section.
        mark: How much of the log they hold.
    """
    kept = {key: value for key, value in attributes.items() if key not in (_WAL, _SERIES)}
    old = attributes.get(_SERIES, {})
    carried = {(part, key): _carried(source, f"{METRICS}/{part}/{safe_name(key)}") for part in _PARTS for key in series}
    if old or _WAL in attributes:
        write_document(folder, group_document(kept), durable=True)
        sync_directory(folder)
    for part in _PARTS:
        if not (folder / part / "zarr.json").exists():
            write_document(folder / part, group_document({}))
        for key in {**old, **series}:
            if (folder / part / safe_name(key)).is_dir():
                remove_array(folder / part / safe_name(key))
    for key, one in series.items():
        for part, values in zip(_PARTS, (one.values, one.steps, one.wall_time), strict=True):
            if values is not None:
                write_fixed_array(folder / part / safe_name(key), values, attributes=carried[part, key])
    sync_tree(folder)
    write_document(folder, group_document(kept | catalog_of(series, mark, old).to_attributes()), durable=True)
    sync_directory(folder)


def _carried(source: Source, path: str) -> dict[str, Any]:
    """Return the attributes a producer added to an array that is about to be replaced."""
    document = read_document(source, path)
    return {} if document is None else read_array_layout(document, f"{source.name}: {path}").free_attributes
