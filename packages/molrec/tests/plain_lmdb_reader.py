"""A collection read with lmdb, json and ``docs/spec`` alone: nothing of this library takes part."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import lmdb
import numpy as np

from .fixture_documents import CollectionParts, CollectionRecord
from .interop import neutral


def read_collection(path: Path) -> CollectionParts:
    """Return the content of a collection."""
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as file, file.begin() as transaction:
        values = dict(transaction.cursor())
    stated = json.loads(values[b"meta"])
    assert (stated["layout"], stated["layout_version"]) == ("mrec-lmdb", 1)
    index = blocks_of(*split(values[b"index"]))["records"]
    counts = {name: _values(index, name) for name in ("first_frame", "n_frames", "has_trajectory")}
    records = []
    for number in range(stated["n_records"]):
        first, count, has = (int(counts[name][number]) for name in ("first_frame", "n_frames", "has_trajectory"))
        frames = [values[b"f" + struct.pack(">Q", first + ordinal)] for ordinal in range(count)]
        system = values.get(b"s" + struct.pack(">Q", number))
        records.append(
            CollectionRecord(
                json.loads(values[b"r" + struct.pack(">Q", number)]),
                None if system is None else system_of(system),
                _run(frames, stated["sequence_schema"]) if has else None,
            )
        )
    assert stated["n_frames"] == sum(counts["n_frames"])
    forcefield = None
    if b"ff" in values:
        header, payload = split(values[b"ff"])
        forcefield = (header["meta"], blocks_of(header, payload))
    return CollectionParts(
        stated["collection"], neutral.schema_from_document(stated["sequence_schema"]), index, forcefield, records
    )


def _values(block: neutral.Block, name: str) -> list[Any]:
    values = block.columns[name].values
    assert isinstance(values, np.ndarray)
    return list(values.tolist())


def split(value: bytes) -> tuple[dict[str, Any], bytes]:
    """Return header and payload of frame bytes."""
    assert value[:4] == b"MRF1"
    (length,) = struct.unpack_from("<I", value, 4)
    begin = 8 + length + -(8 + length) % 8
    return json.loads(value[8 : 8 + length]), value[begin:]


def blocks_of(header: dict[str, Any], payload: bytes) -> dict[str, neutral.Block]:
    """Return the blocks of frame bytes."""
    return {name: _block(entry, payload) for name, entry in header["blocks"].items()}


def system_of(value: bytes) -> neutral.Frame:
    """Return a system: a frame that stands alone."""
    header, payload = split(value)
    tags = header.get("meta_types", {})
    meta = {}
    for key, form in header.get("meta", {}).items():
        tag = tags.get(key, "i64")  # every other key of the fixtures has its tag
        meta[key] = neutral.MetaValue(tag, neutral.decode_meta(tag, form))
    return neutral.Frame(blocks_of(header, payload), _box(header.get("box")), meta)


def _block(entry: dict[str, Any], payload: bytes) -> neutral.Block:
    columns = {}
    rows = entry["count"]
    for name, stated in entry["columns"].items():
        shape = tuple(stated["shape"])
        if stated["dtype"] == "string":
            values: neutral.AnyArray = np.array(stated["values"], neutral.STRING).reshape(shape)
        else:
            dtype = neutral.NUMPY_DTYPES[stated["dtype"]]
            values = np.frombuffer(payload, dtype, int(np.prod(shape)), stated["offset"]).reshape(shape)
        mask = None
        if stated.get("validity") is not None:
            mask = np.frombuffer(payload, np.bool_, rows, stated["validity"])
        columns[name] = neutral.Column(stated["dtype"], values, neutral.mask_or_none(mask), stated.get("precision"))
    grid = entry.get("structural_shape")
    return neutral.Block(rows, None if grid is None else tuple(grid), columns, dict(entry.get("targets") or {}))


def _box(stated: dict[str, Any] | None) -> neutral.Box | None:
    if stated is None:
        return None
    defined = stated.get("cell_defined", True)
    vectors = np.array(stated["vectors"]) if defined else np.eye(3)
    a, b, c = stated.get("boundary", [defined] * 3)
    return neutral.Box(vectors, np.array(stated.get("origin", [0.0, 0.0, 0.0])), (a, b, c), defined)


def _run(values: list[bytes], schema: dict[str, Any]) -> list[neutral.Step]:
    frames = []
    latest: dict[str, neutral.Block] = {}
    updates: dict[str, int] = {}
    box = None
    for ordinal, value in enumerate(values):
        header, payload = split(value)
        for name, block in blocks_of(header, payload).items():
            declared = schema["blocks"][name]["columns"]
            columns = {
                column: neutral.Column(one.dtype, one.values, one.validity, declared[column].get("precision"))
                for column, one in block.columns.items()
            }
            latest[name] = neutral.Block(block.rows, block.structural_shape, columns, block.targets)
            updates[name] = ordinal
        box = _box(header.get("box")) or box
        meta = {
            key: neutral.MetaValue(entry["dtype"], neutral.decode_meta(entry["dtype"], header["meta"][key]))
            for key, entry in schema["meta"].items()
        }
        time = header.get("time")
        frame = neutral.Frame(dict(latest), box, meta)
        frames.append(neutral.Step(int(header["step"]), None if time is None else float(time), frame, dict(updates)))
    return frames
