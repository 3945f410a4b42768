"""Stores content with zarr-python and nothing of this library: layouts that are legal and that it does not write."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import zarr
from scripts.golden.resolving import resolve, rounded_block
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.codecs.numcodecs import Shuffle

if TYPE_CHECKING:
    from scripts.golden.content import Array, Block, Frame, Run

__all__ = ["STANDARD", "put_array", "put_group", "put_run", "write_bare", "zarr_root"]

#: One chunk, no compression.
STANDARD: dict[str, Any] = {}


@contextmanager
def zarr_root(folder: Path) -> Iterator[zarr.Group]:
    """Open a folder as a Zarr V3 root, zarr-python's warnings about codecs and strings aside.

    gzip writes into each chunk when that was compressed; here it is always the beginning of 1970.
    """
    with warnings.catch_warnings(), patch("time.time", return_value=0.0):
        warnings.simplefilter("ignore")
        yield zarr.open_group(folder, mode="a", zarr_format=3)


def put_array(group: zarr.Group, name: str, values: Array, **layout: Any) -> None:
    """Write an array in a given layout: chunks, shards, filters, serializer, compressors, fill_value, attributes.

    Every chunk ends in its crc32c, unless `checksum` is false.
    """
    attributes, checksum = layout.pop("attributes", None), layout.pop("checksum", True)
    strings = values.dtype.kind == "T"
    options: dict[str, Any] = {"chunks": tuple(max(1, extent) for extent in values.shape)}
    options["compressors"] = [*layout.pop("compressors", []), *([Crc32cCodec()] if checksum else [])]
    options |= {"attributes": attributes} if attributes else {}
    if strings:
        options["dtype"] = "str"
    else:
        options["dtype"] = values.dtype
    array = group.create_array(name, shape=values.shape, **(options | layout))
    if values.size:
        array[...] = values.astype(object) if strings else values


def put_group(group: zarr.Group, name: str, attributes: dict[str, Any]) -> zarr.Group:
    """Create a group with its attributes."""
    return group.create_group(name, attributes=attributes)


_LAYOUTS: dict[str, dict[str, Any]] = {
    "gzip9_big_endian": {
        "chunks": (3,),
        "serializer": BytesCodec(endian="big"),
        "compressors": [GzipCodec(level=9)],
    },
    "shards_index_at_end": {
        "chunks": (2,),
        "shards": {"shape": (6,), "index_location": "end"},
        "compressors": [ZstdCodec(level=19, checksum=True)],
    },
    "shards_index_at_start": {
        "chunks": (2,),
        "shards": {"shape": (4,), "index_location": "start"},
    },
    "transposed": {
        "chunks": (4, 3),
        "filters": [TransposeCodec(order=(1, 0))],
        "compressors": [ZstdCodec(level=1)],
    },
    "shuffled": {"chunks": (5,), "compressors": [Shuffle(elementsize=2), GzipCodec(level=1)]},
    "missing_chunks": {"chunks": (2,)},
    "missing_is_seven": {"chunks": (2,), "fill_value": 7},
    "strings": {"chunks": (2,), "compressors": [GzipCodec(level=5)]},
    "plain": {"chunks": (1,), "checksum": False},
}


def put_block(group: zarr.Group, name: str, given: Block) -> None:
    """Write a block of a frame-shaped section, each column in the layout its name stands for."""
    stored = rounded_block(given)
    inner = put_group(group, name, {"count": stored.rows})
    for column, one in stored.columns.items():
        put_array(inner, column, one.values, **_LAYOUTS.get(column, STANDARD))


def put_run(root: zarr.Group, run: Run) -> None:
    """Write a trajectory whose blocks are ragged, in chunks of three rows, without shards."""
    resolved = list(resolve(run))
    attributes = {"sequence_schema": run.declaration, "nstep": len(resolved)}
    group = put_group(root, "trajectory", attributes)
    put_array(group, "step", np.array(run.steps, dtype=np.int64), chunks=(2,))
    if run.times is not None:
        put_array(group, "time", np.array(run.times), chunks=(3,), serializer=BytesCodec(endian="big"))
    for name, declaration in run.declaration["blocks"].items():
        updates = [
            (ordinal, one.frame.blocks[name]) for ordinal, one in enumerate(resolved) if one.updates[name] == ordinal
        ]
        inner = put_group(group, name, {})
        ordinals = np.array([ordinal for ordinal, _ in updates], dtype=np.uint64)
        offsets = np.cumsum([0, *(block.rows for _, block in updates)], dtype=np.uint64)
        put_array(inner, "step_index", ordinals, chunks=(2,))
        put_array(inner, "offset", offsets, compressors=[GzipCodec(level=6)])
        for column in declaration["columns"]:
            values = np.concatenate([block.columns[column].values for _, block in updates])
            put_array(inner, column, values, chunks=(3, *values.shape[1:]), compressors=[ZstdCodec(level=3)])
    series = put_group(group, "meta", {})
    for key, entry in run.declaration["meta"].items():
        values = np.array([one.frame.meta[key][1] for one in resolved])
        put_array(series, key, values, attributes={"meta_dtype": entry["dtype"]})
    boxes = [(ordinal, frame.box) for ordinal, frame in enumerate(run.frames) if frame.box is not None]
    cell = put_group(group, "box", {})
    put_array(cell, "step_index", np.array([ordinal for ordinal, _ in boxes], dtype=np.uint64))
    put_array(cell, "vectors", np.array([box.vectors for _, box in boxes]), chunks=(1, 3, 3))


def write_layouts(folder: Path, frame: Frame, run: Run) -> None:
    """Write the record of layouts."""
    with zarr_root(folder) as root:
        put_group(root, "meta", {"molrec_version": 1, "source": "zarr-python"})
        section = put_group(root, "frame", {})
        for name, block in frame.blocks.items():
            put_block(section, name, block)
        put_run(root, run)


#: Attributes of the section `frame` as text, since 1e3 and 1000.0 are one number and two spellings.
_UNTYPED = """{
  "flag": true, "whole": 5, "negative": -9223372036854775808, "past_i64": 9223372036854775808,
  "past_u64": 18446744073709551616, "real": 1.0, "exponent": 1e3, "text": "NaN", "list": [1, 2], "object": {"a": null},
  "nothing": null, "tagged": "-9223372036854775807", "wide_number": 9007199254740993, "whole_for_f64": 3,
  "_meta_types": {"tagged": "i64", "wide_number": "i64", "whole_for_f64": "f64", "gone": "f64x3"}
}"""


def write_bare(folder: Path) -> None:
    """Write a record without a meta section whose reader has much to fill in (see the fixture `bare`)."""
    with zarr_root(folder) as root:
        frame = put_group(root, "frame", {})
        atoms = put_group(frame, "atoms", {"count": 2})
        put_array(atoms, "x", np.array([0.5, 1.5]), checksum=False)
        validity = put_group(atoms, "_validity", {})
        put_array(validity, "x", np.array([True, True]))
        box = put_group(frame, "box", {})
        put_array(box, "vectors", np.array([[9.0, 1.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]]))
        system = put_group(root, "system", {})
        box = put_group(system, "box", {"cell_defined": False})
        put_array(box, "vectors", np.diag([5.0, 5.0, 5.0]))
    node = folder / "frame" / "zarr.json"
    document = json.loads(node.read_text(encoding="utf-8"))
    document["attributes"] = "ATTRIBUTES"
    node.write_text(json.dumps(document, indent=2).replace('"ATTRIBUTES"', _UNTYPED), encoding="utf-8")
