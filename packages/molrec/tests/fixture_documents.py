"""The JSON documents of ``fixtures/`` as neutral content, and the content `molrec` reads, side by side."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import molrec as mr
from molrec.storage.lmdb.collection_reader import Collection

from .interop import fixture_json, molrec_adapter, neutral

FOLDER = Path(__file__).resolve().parents[3] / "fixtures"
FORMAT, BYTES_FORMAT = "molrec-fixture-1", "molrec-frame-bytes-1"

_INTEGERS = frozenset({"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"})


@dataclass(frozen=True, slots=True)
class Series:
    """One series of metrics."""

    type: str
    values: list[float]
    steps: list[int] | None
    wall_time: list[str]


@dataclass(frozen=True, slots=True)
class Array:
    """Values of an observable that are an array."""

    dtype: str
    values: neutral.AnyArray


@dataclass(frozen=True, slots=True)
class Core:
    """The sections of a record that every reader compared here knows."""

    sections: list[str]
    meta: dict[str, Any]
    frame: neutral.Frame | None
    system: neutral.Frame | None
    trajectory: neutral.Trajectory | None


@dataclass(frozen=True, slots=True)
class Parts:
    """A record."""

    core: Core
    forcefield: tuple[dict[str, Any], dict[str, neutral.Block]] | None
    observables: dict[str, tuple[dict[str, Any], Array | neutral.Frame]] | None
    status: dict[str, Any] | None
    method: dict[str, Any] | None
    metrics: dict[str, Series] | None


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """One record of a collection; `frames` is None without a trajectory."""

    meta: dict[str, Any]
    system: neutral.Frame | None
    frames: list[neutral.Step] | None


@dataclass(frozen=True, slots=True)
class CollectionParts:
    """A collection."""

    meta: dict[str, Any]
    schema: neutral.Schema
    index: neutral.Block
    forcefield: tuple[dict[str, Any], dict[str, neutral.Block]] | None
    records: list[CollectionRecord]


def names(suffix: str) -> list[str]:
    """Return the names of the fixtures with a suffix."""
    return sorted(path.name.removesuffix(suffix) for path in FOLDER.glob(f"*{suffix}"))


def load(path: Path, tag: str = FORMAT) -> dict[str, Any]:
    """Read a document and check its format tag."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert document["format"] == tag
    assert document["name"] == path.stem
    return document


def difference(expected: Parts | CollectionParts, found: Parts | CollectionParts) -> str | None:
    """Return the first difference of two contents, or None."""
    first = neutral.first_difference(expected, found)
    if first is None and isinstance(expected, Parts) and isinstance(found, Parts):
        return core_difference(expected.core, found.core)
    return None if first is None else str(first)


def core_difference(expected: Core, found: Core) -> str | None:
    """Return the first difference, order of meta keys included; a schema the reader cannot tell is left out."""
    if expected.trajectory is not None and found.trajectory is not None and found.trajectory.schema is None:
        expected = dataclasses.replace(expected, trajectory=dataclasses.replace(expected.trajectory, schema=None))
    first = neutral.first_difference(expected, found)
    for name in ("frame", "system"):
        one, other = getattr(expected, name), getattr(found, name)
        if first is None and one is not None:
            first = neutral.meta_order_difference(one, other, name)
    return None if first is None else str(first)


def core_of(record: neutral.Record) -> Core:
    """Return the sections compared of what a reader found."""
    assert record.sections is not None
    return Core(list(record.sections), record.meta, record.frame, record.system, record.trajectory)


# -- documents --------------------------------------------------------------------------------------------------------


def record_of(document: Mapping[str, Any]) -> Parts:
    """Return the content the document of a record states."""
    observables, metrics, run = document["observables"], document["metrics"], _trajectory(document["trajectory"])
    core = Core(
        sorted(document["sections"]),
        dict(document["meta"]),
        None if document["frame"] is None else frame_of(document["frame"]),
        None if document["system"] is None else frame_of(document["system"]),
        None if run is None else fixture_json.trajectory(run),
    )
    return Parts(
        core,
        forcefield_of(document["forcefield"]),
        None
        if observables is None
        else {name: (one["document"], _values_of(one["values"])) for name, one in observables.items()},
        document["status"],
        document["method"],
        None if metrics is None else {key: _series(one) for key, one in metrics.items()},
    )


def collection_of(document: Mapping[str, Any]) -> CollectionParts:
    """Return the content the document of a collection states."""
    records = []
    for one in document["records"]:
        run = one["trajectory"]
        frames = None if run is None else _steps(run["frames"])
        assert frames is None or len(frames) == run["nstep"]
        system = None if one["system"] is None else frame_of(one["system"])
        records.append(CollectionRecord(one["meta"], system, frames))
    return CollectionParts(
        document["meta"],
        neutral.schema_from_document(document["schema"]),
        fixture_json.block(_block(document["index"])),
        forcefield_of(document["forcefield"]),
        records,
    )


def frame_of(entry: Mapping[str, Any]) -> neutral.Frame:
    """Return the content of a FRAME."""
    return fixture_json.frame(_frame(entry) or {})


def forcefield_of(entry: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, neutral.Block]] | None:
    """Return the content of a FORCEFIELD."""
    if entry is None:
        return None
    return entry["document"], {name: fixture_json.block(_block(one)) for name, one in entry["tables"].items()}


def _values_of(entry: Mapping[str, Any]) -> Array | neutral.Frame:
    if "blocks" in entry:
        return frame_of(entry)
    stated = _column(entry)
    return Array(entry["dtype"], neutral.array_of(entry["dtype"], stated["values"], entry["shape"]))


def _series(entry: Mapping[str, Any]) -> Series:
    steps = entry["steps"]
    values = [_number(value) for value in entry["values"]]
    return Series(entry["type"], values, None if steps is None else list(map(int, steps)), entry["wall_time"])


def _steps(entries: list[Any]) -> list[neutral.Step]:
    return [
        neutral.Step(
            int(one["step"]),
            None if one["time"] is None else _number(one["time"]),
            frame_of(one),
            neutral.present(one["block_update_frame"]),
        )
        for one in entries
    ]


def _trajectory(entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    frames = [
        {
            **one,
            **(_frame(one) or {}),
            "step": int(one["step"]),
            "time": None if one["time"] is None else _number(one["time"]),
        }
        for one in entry["frames"]
    ]
    times = entry["times"]
    return {
        **entry,
        "steps": [int(step) for step in entry["steps"]],
        "times": None if times is None else [_number(time) for time in times],
        "frames": frames,
    }


def _frame(entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a FRAME with plain numbers in the place of words and digit strings."""
    if entry is None:
        return None
    box = entry["box"]
    if box is not None:
        vectors = [[_number(value) for value in row] for row in box["vectors"]]
        box = {**box, "vectors": vectors, "origin": [_number(value) for value in box["origin"]]}
    return {
        "blocks": {name: _block(one) for name, one in entry["blocks"].items()},
        "box": box,
        "meta": {key: (tag, _meta(tag, value)) for key, (tag, value) in entry["meta"].items()},
    }


def _meta(tag: str, value: Any) -> Any:
    if tag.startswith("f64"):
        return [*map(_number, value)] if isinstance(value, list) else _number(value)
    return value


def _block(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "columns": {name: _column(one) for name, one in entry["columns"].items()}}


def _column(entry: Mapping[str, Any]) -> dict[str, Any]:
    values, dtype = entry["values"], entry["dtype"]
    if dtype in _INTEGERS:
        values = [int(value) for value in values]
    elif dtype == "f64":
        values = [_number(value) for value in values]
    elif dtype in ("c64", "c128"):
        values = [[_number(real), _number(imaginary)] for real, imaginary in values]
    return {**entry, "values": values}


def _number(form: float | str) -> float:
    if isinstance(form, str):
        assert form in {"NaN", "Infinity", "-Infinity", "-0.0"}
    return float(form)


# -- what the library reads -------------------------------------------------------------------------------------------


def read_record(record: mr.Record) -> Parts:
    """Return what the library reads of a record."""
    section = record.forcefield_section
    observables, metrics = record.observables, record.metrics
    return Parts(
        core_of(molrec_adapter.record(record)),
        None if section is None else (section.document, _tables(section)),
        None if observables is None else {name: _observable(one) for name, one in observables.items()},
        record.status,
        record.method,
        None
        if metrics is None
        else {
            key: Series(
                one.type, one.values.tolist(), None if one.steps is None else one.steps.tolist(), one.wall_time.tolist()
            )
            for key, one in metrics.items()
        },
    )


def _tables(section: mr.ForceFieldSection) -> dict[str, neutral.Block]:
    return {name: molrec_adapter.block(table) for name, table in section.tables.items()}


def _observable(one: mr.Observable) -> tuple[dict[str, Any], Array | neutral.Frame]:
    values = one.values
    if isinstance(values, mr.Frame):
        return one.to_document(), molrec_adapter.frame(values)
    return one.to_document(), Array(neutral.dtype_name(values), np.asarray(values))


def read_collection(collection: Collection) -> CollectionParts:
    """Return what the library reads of a collection."""
    section = collection.forcefield_section
    records = []
    for one in collection:
        run = one.trajectory
        frames = None
        if run is not None:
            steps, times = run.steps.tolist(), None if run.times is None else run.times.tolist()
            frames = [
                neutral.Step(
                    steps[ordinal],
                    None if times is None else times[ordinal],
                    molrec_adapter.frame(frame),
                    neutral.present({name: run.update_ordinal(name, ordinal) for name in run.schema.blocks}),
                )
                for ordinal, frame in enumerate(run)
            ]
        system = None if one.system is None else molrec_adapter.frame(one.system)
        records.append(CollectionRecord(one.meta, system, frames))
    return CollectionParts(
        collection.meta,
        neutral.schema_from_document(collection.schema.to_document()),
        molrec_adapter.block(collection.index),
        None if section is None else (section.document, _tables(section)),
        records,
    )
