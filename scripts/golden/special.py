"""Fixtures the library does not write by itself: unknown content, an uncommitted tail, layouts of other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scripts.golden.content import Box, Column, Frame, Record, Run, block, column, declared, undefined_cell
from scripts.golden.neutral_json import record_document
from scripts.golden.plain_zarr import put_array, put_group, write_bare, write_layouts, zarr_root
from scripts.golden.storing import store_record, write_run

import molrec as mr

__all__ = ["special_records"]


def special_records(folder: Path, scratch: Path) -> list[dict[str, Any]]:
    """Write every such fixture and return its document."""
    makers = (_unknown_content, _uncommitted_tail, _layouts, _bare)
    documents = []
    for maker in makers:
        inner = scratch / maker.__name__
        inner.mkdir()
        documents.append(maker(folder, inner))
    return documents


def _unknown_content(folder: Path, scratch: Path) -> dict[str, Any]:
    atoms = block({"x": column("f64", [0.0, 1.0])})
    atoms.attributes = {"color_scheme": "element", "kept": None}
    atoms.columns["x"].attributes = {"long_name": "position", "kept": [1, None]}
    run = Run(
        {
            "blocks": {"atoms": {"columns": {"x": declared("f64", producer="kept")}, "producer": [1, None]}},
            "meta": {},
            "producer": {"kept": None},
        },
        [Frame({"atoms": block({"x": column("f64", [float(ordinal)])})}) for ordinal in range(2)],
        [0, 1],
    )
    record = Record(
        "unknown-content",
        "Sections, groups, arrays, attributes, keys of documents and a file that the format does not name: a reader "
        "ignores them, a program that rewrites the record carries them through.",
        ["unknown content"],
        meta={"producer": {"kept": None}},
        frame=Frame({"atoms": atoms}),
        run=run,
        status={"state": "queued by the producer", "kept": None},
    )
    packed = store_record(record, scratch, scratch)
    root = mr.unpack(packed, scratch / "record.mrec")
    values = np.array([1.5, -0.0])
    groups: dict[str, dict[str, Any]] = {
        "analysis": {"kept": None, "list": [1, 2.5]},
        "analysis/inner": {},
        "frame/atoms/notes": {"kept": True},
        "trajectory/unlisted": {"count": 3},
    }
    arrays = {"analysis/values": values, "frame/loose": values, "trajectory/unlisted/x": values}
    with zarr_root(root) as store:
        for path, attributes in groups.items():
            put_group(store, path, attributes)
        for path, content in arrays.items():
            put_array(store, path, content)
    notes = "a file that is no node\n"
    (root / "notes.txt").write_text(notes, encoding="utf-8")
    mr.pack(root, folder / "unknown-content.mrec.zip", overwrite=True)
    return record_document(
        record,
        {
            "sections": ["analysis"],
            "attributes": groups,
            "arrays": {path: {"dtype": "f64", "shape": [2], "values": [1.5, "-0.0"]} for path in arrays},
            "files": {"notes.txt": notes},
            "sequence_schema": run.declaration,
        },
    )


def _uncommitted_tail(folder: Path, scratch: Path) -> dict[str, Any]:
    declaration = {
        "blocks": {
            "atoms": {"columns": {"x": declared("f64")}},
            "labels": {"columns": {"n": declared("i32")}, "aligned_with": "atoms"},
        },
        "meta": {"temp": {"dtype": "f64"}},
    }
    frames = []
    for ordinal in range(7):
        blocks = {"atoms": block({"x": column("f64", [ordinal / 2, -ordinal / 4, 1.0])})}
        if ordinal % 2 == 0:
            blocks["labels"] = block({"n": column("i32", [ordinal, -ordinal, 1])})
        frames.append(Frame(blocks, {"temp": ("f64", 300.0 + ordinal)}))
    root = scratch / "record.mrec"
    run = Run(declaration, frames, [3 * ordinal for ordinal in range(7)])
    write_run(root, run, flush_every=2, compression="zstd", meta={"source": "killed before its last commit"})
    node = root / "trajectory" / "zarr.json"
    document = json.loads(node.read_text(encoding="utf-8"))
    assert document["attributes"]["nstep"] == len(frames)
    document["attributes"]["nstep"] = 6
    node.write_text(json.dumps(document), encoding="utf-8")
    mr.pack(root, folder / "uncommitted-tail.mrec.zip", overwrite=True)
    record = Record(
        "uncommitted-tail",
        "A run written in flushes of two frames at the reference extents, as a program leaves it that is killed before "
        "it commits its seventh frame: arrays hold more than nstep says, shards hold bytes that no index names.",
        ["nstep", "shards", "aligned blocks"],
        meta={"source": "killed before its last commit"},
        run=Run(declaration, frames[:6], run.steps[:6]),
    )
    return record_document(record)


def _layouts(folder: Path, scratch: Path) -> dict[str, Any]:
    values = [0.0, 1.5, -2.0, float("nan"), -0.0, 6.0, 7.0]
    sparse = [0, 0, 5, 0, 0, 0, 9]
    columns = {
        "gzip9_big_endian": column("f64", values),
        "shards_index_at_end": column("f64", values),
        "shards_index_at_start": column("i64", [2**62, 0, -1, 0, 0, 0, 3]),
        "transposed": Column("f64", np.arange(21.0).reshape(7, 3)),
        "shuffled": column("u16", [1, 256, 65535, 0, 4, 5, 6]),
        "missing_chunks": column("i32", sparse),
        "missing_is_seven": column("i32", [7, 7, 0, 1, 7, 7, 7]),
        "strings": column("string", ["", "é", "x", "", "", "", "end"]),
        "plain": column("bool", [True, False, False, True, False, False, False]),
    }
    frame = Frame({"layouts": block(columns)})
    declaration = {
        "blocks": {
            "atoms": {"columns": {"x": declared("f64"), "v": declared("f64", [2])}},
            "tags": {"columns": {"n": declared("u8")}},
        },
        "meta": {"pe": {"dtype": "f64"}},
    }

    def atoms(count: int, shift: float) -> Any:
        return block(
            {
                "x": column("f64", np.arange(count) + shift),
                "v": Column("f64", np.arange(2.0 * count).reshape(count, 2) - shift),
            }
        )

    cell = [[10.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 10.0]]
    frames = [
        Frame({"atoms": atoms(4, 0.0)}, {"pe": ("f64", -1.0)}, Box(cell)),
        Frame({"atoms": atoms(4, 0.5), "tags": block({"n": column("u8", [3])})}, {"pe": ("f64", -0.0)}),
        Frame({"atoms": atoms(2, 1.0)}, {"pe": ("f64", 2.5)}, Box([[11.0, 0.0, 0.0], *cell[1:]])),
        Frame({"tags": block({"n": column("u8", [4, 5])})}, {"pe": ("f64", float("inf"))}),
    ]
    run = Run(declaration, frames, [0, 1, 2, 3], [0.0, 0.25, 0.5, 1.0])
    root = scratch / "record.mrec"
    write_layouts(root, frame, run)
    mr.pack(root, folder / "layouts.mrec.zip", overwrite=True)
    return record_document(
        Record(
            "layouts",
            "Written with zarr-python alone: big-endian elements, a transposed array, shuffled bytes, shards with the "
            "index at the end, chunks that are not stored and stand for the fill value (which need not be zero), "
            "an array without checksum; a run without shards, whose steps are an array though they are a progression.",
            ["codecs", "chunks", "shards", "fill value", "ragged form"],
            meta={"source": "zarr-python"},
            frame=frame,
            run=run,
        )
    )


def _bare(folder: Path, scratch: Path) -> dict[str, Any]:
    root = scratch / "record.mrec"
    write_bare(root)
    mr.pack(root, folder / "bare.mrec.zip", overwrite=True)
    meta: dict[str, tuple[str, Any]] = {
        "flag": ("bool", True),
        "whole": ("i64", 5),
        "negative": ("i64", -(2**63)),
        "past_i64": ("u64", 2**63),
        "past_u64": ("f64", 2.0**64),
        "real": ("f64", 1.0),
        "exponent": ("f64", 1000.0),
        "text": ("string", "NaN"),
        "list": ("json", [1, 2]),
        "object": ("json", {"a": None}),
        "nothing": ("json", None),
        "tagged": ("i64", -(2**63) + 1),
        "wide_number": ("i64", 2**53 + 1),
        "whole_for_f64": ("f64", 3.0),
    }
    record = Record(
        "bare",
        "What a reader fills in: no meta section, meta values without tags (inferred) beside some with, a tag of a key "
        "that is gone, a box without origin and boundary, an undefined cell whose vectors mean nothing, a mask of "
        "nothing but true.",
        ["version", "typed meta", "inference", "box defaults", "validity"],
        frame=Frame(
            {"atoms": block({"x": column("f64", [0.5, 1.5])})},
            meta,
            Box([[9.0, 1.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]]),
        ),
        system=Frame({}, {}, undefined_cell()),
    )
    return record_document(record) | {"meta": {}, "sections": ["frame", "system"]}
