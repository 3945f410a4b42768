"""What a record holds, as one plain document: what ``molrec info`` prints and ``--json`` hands to scripts.

Numbers are counted, not estimated: stored bytes are those of the objects below a node, shard indexes included. Nothing
is decoded but the small series (steps, times, per-step scalars, cells).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import row_bytes
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.schema import ColumnSchema
from molrec.section_facts import metrics_facts, observables_facts
from molrec.storage.zarr.array_reader import ArrayReader
from molrec.storage.zarr.block_reader import BlockReader
from molrec.storage.zarr.record import SECTIONS, Record, open_record
from molrec.storage.zarr.sources import DirectorySource, Source, ZipSource
from molrec.storage.zarr.trajectory_reader import TrajectoryReader

__all__ = ["inspect_record"]

_POSITIONS = ("x", "y", "z")


def inspect_record(location: Any) -> dict[str, Any]:
    """Return the facts about a record as a finite JSON document.

    Keys: ``path``, ``form`` (folder, packed or store), ``bytes``, ``meta``, ``sections``, ``unknown``, and, where they
    are there, ``system``, ``frame``, ``trajectory``, ``method``, ``status``, ``observables`` and ``metrics``. Sizes are
    None for a store that cannot be listed with sizes.

    Raises:
        FormatError: Not a record, or one that is damaged where it is looked at.
    """
    with open_record(location) as record:
        sizes = _Sizes(record.source)
        facts: dict[str, Any] = {
            "path": record.source.name,
            "form": _form(record.source),
            "bytes": sizes.below(""),
            "meta": record.meta,
            "sections": {name: {"bytes": sizes.below(name)} for name in _in_order(record.sections)},
            "unknown": [name for name in record.sections if name not in SECTIONS],
        }
        for name, frame in (("system", record.system), ("frame", record.frame)):
            if frame is not None:
                facts[name] = _frame_facts(name, frame, sizes)
        if record.trajectory is not None:
            facts["trajectory"] = _trajectory_facts(record, record.trajectory, sizes)
        documents = {"method": record.method, "status": record.status}
        facts |= {name: document for name, document in documents.items() if document is not None}
        if record.observables is not None:
            facts["observables"] = observables_facts(record.observables)
        if record.metrics is not None:
            facts["metrics"] = metrics_facts(record.metrics)
        return facts


def _form(source: Source) -> str:
    if isinstance(source, DirectorySource):
        return "folder"
    return "packed" if isinstance(source, ZipSource) else "store"


def _in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (SECTIONS.index(name) if name in SECTIONS else len(SECTIONS), name))


class _Sizes:
    """Sizes of the objects of a record."""

    def __init__(self, source: Source) -> None:
        self._sizes: Mapping[str, int] | None = None
        if isinstance(source, ZipSource):
            self._sizes = source.sizes()
        elif isinstance(source, DirectorySource):
            root: Path = source.root
            self._sizes = {
                file.relative_to(root).as_posix(): file.stat().st_size for file in root.rglob("*") if file.is_file()
            }

    def below(self, path: str) -> int | None:
        """Return the bytes of all objects below a node, or None."""
        if self._sizes is None:
            return None
        return sum(size for name, size in self._sizes.items() if not path or name.startswith(f"{path}/"))


# -- frame-shaped sections ------------------------------------------------------------------------------------------


def _frame_facts(section: str, frame: Frame, sizes: _Sizes) -> dict[str, Any]:
    return {
        "blocks": {name: _block_facts(f"{section}/{name}", block, sizes) for name, block in frame.items()},
        "meta": {
            key: {"tag": frame.meta.tag(key), "value": typedjson.encode(frame.meta.tag(key), value)}
            for key, value in frame.meta.items()
        },
        "cell": _cell_facts(frame.box),
    }


def _block_facts(path: str, block: Block, sizes: _Sizes) -> dict[str, Any]:
    columns = {}
    for name, values in block.items():
        declared = ColumnSchema(block.dtype(name), values.shape[1:], block.validity(name) is not None)
        declared.precision = block.precision(name)
        columns[name] = _column_facts(declared, sizes.below(f"{path}/{name}"), block.rows)
    return {
        "rows": block.rows,
        "structural_shape": None if block.structural_shape is None else list(block.structural_shape),
        "targets": block.targets,
        "columns": columns,
    }


def _column_facts(declared: ColumnSchema, stored: int | None, rows: int) -> dict[str, Any]:
    return {
        "dtype": declared.dtype,
        "trailing": list(declared.trailing),
        "nullable": declared.nullable,
        "precision": declared.precision,
        "bytes": stored,
        # a string has no size of its own
        "raw_bytes": None if declared.dtype == "string" else rows * row_bytes(declared.dtype, declared.trailing),
    }


def _cell_facts(box: Box | None) -> dict[str, Any] | None:
    if box is None:
        return None
    if not box.cell_defined:
        return {"defined": False}
    vectors = box.vectors.T
    lengths = np.linalg.norm(vectors, axis=1)
    pairs = ((1, 2), (0, 2), (0, 1))
    cosines = [float(vectors[i] @ vectors[j] / (lengths[i] * lengths[j])) for i, j in pairs] if lengths.all() else []
    return {
        "defined": True,
        "vectors": box.vectors.tolist(),
        "lengths": lengths.tolist(),
        "angles": [math.degrees(math.acos(min(1.0, max(-1.0, cosine)))) for cosine in cosines],
        "origin": [typedjson.encode("f64", value) for value in box.origin.tolist()],
        "boundary": box.boundary.tolist(),
    }


# -- the trajectory -------------------------------------------------------------------------------------------------


def _trajectory_facts(record: Record, trajectory: TrajectoryReader, sizes: _Sizes) -> dict[str, Any]:
    frames = len(trajectory)
    blocks = {name: _run_block_facts(trajectory.block_reader(name), frames, sizes) for name in trajectory.schema.blocks}
    facts: dict[str, Any] = {
        "frames": frames,
        "bytes": sizes.below("trajectory"),
        "steps": _range(trajectory.steps) if frames else None,
        "times": None if trajectory.times is None else _range(trajectory.times),
        "blocks": blocks,
        "meta": {
            key: {
                "tag": declared.tag,
                "bytes": sizes.below(f"trajectory/meta/{key}"),
                **_series_range(declared.tag, trajectory, key),
            }
            for key, declared in trajectory.schema.meta.items()
        },
        "cell": _cell_facts(trajectory.box_at(0)) if frames else None,
        "cells": trajectory.box_series.count if trajectory.box_series.fixed is None else 1,
    }
    atoms = record.system["atoms"].rows if record.system is not None and "atoms" in record.system else None
    facts |= _density(facts, blocks.get("atoms"), atoms)
    return facts


def _run_block_facts(reader: BlockReader, frames: int, sizes: _Sizes) -> dict[str, Any]:
    index = reader.index
    columns = {}
    for name, declared in reader.declared.columns.items():
        facts = _column_facts(declared, sizes.below(f"trajectory/{reader.name}/{name}"), index.rows)
        array = reader.columns.get(name)
        columns[name] = facts | ({} if array is None else _storage_facts(array))
    shown = index.updates_at(np.arange(frames, dtype=np.int64))
    starts, stops = index.spans(shown[shown >= 0])
    rows = stops - starts
    shape = reader.declared.structural_shape
    return {
        "rows": {"least": int(rows.min()), "most": int(rows.max())} if rows.size else {"least": 0, "most": 0},
        "shown_rows": int(rows.sum()),
        "updates": index.count,
        "structural_shape": None if shape is None else list(shape),
        "targets": dict(reader.declared.targets),
        "aligned_with": reader.declared.aligned_with,
        "bytes": sizes.below(f"trajectory/{reader.name}"),
        "columns": columns,
    }


def _storage_facts(array: ArrayReader) -> dict[str, Any]:
    layout = array.layout
    codecs = None if layout.pipeline is None else [_codec_text(codec) for codec in layout.pipeline.to_metadata()]
    return {"codecs": codecs, "chunk_rows": layout.chunk_rows, "chunks_per_shard": layout.chunks_per_shard}


def _codec_text(codec: Mapping[str, Any]) -> str:
    configuration = codec.get("configuration", {})
    name = str(codec["name"]).rpartition(".")[2]
    detail = configuration.get("level", configuration.get("elementsize"))
    return name if detail is None else f"{name}:{detail}"


def _range(values: Any) -> dict[str, Any]:
    """Return the first and last value and the stride, None where it varies."""
    tag = "f64" if values.dtype.kind == "f" else "i64"
    first, last = (typedjson.encode(tag, value) for value in (values[0].item(), values[-1].item()))
    strides = np.diff(values)
    even = strides.size > 0 and bool(np.isfinite(strides).all()) and bool(np.allclose(strides, strides[0], rtol=1e-9))
    return {"first": first, "last": last, "stride": strides[0].item() if even else None}


def _series_range(tag: str, trajectory: TrajectoryReader, key: str) -> dict[str, Any]:
    """Return the least and greatest value of a numeric per-step scalar and how often it has none (NaN)."""
    if tag not in ("f64", "i64", "i32", "u32", "u64") or not len(trajectory):
        return {}
    values = trajectory.meta[key]
    given = values[~np.isnan(values)] if tag == "f64" else values
    missing = {"missing": len(values) - len(given)} if len(given) < len(values) else {}
    if not len(given):
        return missing
    return {
        "least": typedjson.encode(tag, given.min().item()),
        "most": typedjson.encode(tag, given.max().item()),
        **missing,
    }


def _density(facts: Mapping[str, Any], block: Mapping[str, Any] | None, atoms: int | None) -> dict[str, Any]:
    """Return bytes per atom and frame, of everything and of the positions, and how the arrays shrank."""
    shown = 0 if block is None else block["shown_rows"]
    if not shown and atoms is not None:
        shown = atoms * facts["frames"]
    raw, stored = 0, 0
    for found in facts["blocks"].values():
        for column in found["columns"].values():
            if column["raw_bytes"] is not None and column["bytes"] is not None:
                raw, stored = raw + column["raw_bytes"], stored + column["bytes"]
    density: dict[str, Any] = {"compression": raw / stored if stored else None}
    if shown and facts["bytes"] is not None:
        density["bytes_per_atom_frame"] = facts["bytes"] / shown
        columns = {} if block is None else block["columns"]
        if all(name in columns for name in _POSITIONS):
            density["position_bytes_per_atom_frame"] = sum(columns[name]["bytes"] for name in _POSITIONS) / shown
    return density
