"""The ``mrec-fixture-1`` documents beside packed records, read into neutral content.

The documents say what a reader must return for a record; their form is described in the README of the fixture
folder. Numbers are JSON numbers or the spellings of the non-finite ones, integers are exact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import neutral

FORMAT = "mrec-fixture-1"


def load(path: Path) -> dict[str, Any]:
    """Read a fixture document and check its format tag."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if document["format"] != FORMAT:
        raise ValueError(f"{path.name}: format {document['format']!r}, expected {FORMAT!r}")
    return document


def record(document: Mapping[str, Any]) -> neutral.Record:
    """Content of a whole document, its force field left aside."""
    return neutral.Record(
        sections=sorted(document["sections"]),
        meta=dict(document["meta"]),
        frame=None if document["frame"] is None else frame(document["frame"]),
        system=None if document["system"] is None else frame(document["system"]),
        trajectory=None if document["trajectory"] is None else trajectory(document["trajectory"]),
    )


def trajectory(document: Mapping[str, Any]) -> neutral.Trajectory:
    """Content of a TRAJECTORY entry."""
    frames = [
        neutral.Step(
            step=entry["step"],
            time=None if entry["time"] is None else neutral.decode_float(entry["time"]),
            frame=frame(entry),
            updates=neutral.present(entry["block_update_frame"]),
        )
        for entry in document["frames"]
    ]
    if len(frames) != document["nstep"]:
        raise ValueError(f"nstep is {document['nstep']}, {len(frames)} frames are listed")
    times = document["times"]
    return neutral.Trajectory(
        steps=list(document["steps"]),
        times=None if times is None else [neutral.decode_float(time) for time in times],
        schema=neutral.schema_from_document(document["schema"]),
        frames=frames,
    )


def frame(document: Mapping[str, Any]) -> neutral.Frame:
    """Content of a FRAME entry, or of the frame part of a step."""
    return neutral.Frame(
        blocks={name: block(entry) for name, entry in document["blocks"].items()},
        box=None if document["box"] is None else box(document["box"]),
        meta={
            key: neutral.MetaValue(tag, neutral.decode_meta(tag, value))
            for key, (tag, value) in document["meta"].items()
        },
    )


def block(document: Mapping[str, Any]) -> neutral.Block:
    """Content of a BLOCK entry."""
    shape = document["structural_shape"]
    return neutral.Block(
        rows=document["rows"],
        structural_shape=None if shape is None else tuple(shape),
        columns={name: column(entry) for name, entry in document["columns"].items()},
        targets=dict(document["targets"]),
    )


def column(document: Mapping[str, Any]) -> neutral.Column:
    """Content of a COLUMN entry; values and mask may be digests."""
    dtype: str = document["dtype"]
    shape = tuple(document["shape"])
    values: neutral.AnyArray | neutral.Digest
    if document["values"] is None:
        sample = document.get("sample", {"index": [], "values": []})
        pairs = tuple(zip(sample["index"], sample["values"], strict=True))
        values = neutral.Digest(document["sha256"], shape, dtype, pairs)
    else:
        values = neutral.array_of(dtype, document["values"], shape)
    mask = document["validity"]
    validity: neutral.BoolArray | neutral.Digest | None
    if isinstance(mask, Mapping):
        validity = neutral.Digest(mask["sha256"], shape[:1], "bool")
    else:
        validity = neutral.mask_or_none(mask)
    precision = document["precision"]
    return neutral.Column(dtype, values, validity, None if precision is None else float(precision))


def box(document: Mapping[str, Any]) -> neutral.Box:
    """Content of a BOX entry."""
    flat = [value for row in document["vectors"] for value in row]
    a, b, c = document["boundary"]
    return neutral.Box(
        vectors=neutral.array_of("f64", flat, (3, 3)),
        origin=neutral.array_of("f64", document["origin"], (3,)),
        boundary=(a, b, c),
        cell_defined=document["cell_defined"],
    )
