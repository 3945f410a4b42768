"""Stores into which one document is laid behind the back of the library, and read: one way for each schema."""

from __future__ import annotations

import functools
import json
import shutil
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import molrec as mr

from .collections_made import UNITS, tampered
from .refusals import read_everything

__all__ = ["LAY"]

type Lay = Callable[[Path, Any], None]


def _frame() -> mr.Frame:
    """Return a frame whose atoms have a plain and a referring column."""
    atoms = mr.Block({"x": [0.5, 1.5], "ref": np.array([0, 1], dtype=np.uint64)})
    return mr.Frame({"atoms": atoms}, box=mr.Box(np.eye(3)))


def _run(count: int) -> list[mr.Frame]:
    return [mr.Frame({"atoms": mr.Block({"x": [float(n)]})}, meta={"pe": 0.5}) for n in range(count)]


_templates = tempfile.TemporaryDirectory()


def _template(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """Let a store be written once, and then copied into each folder it is asked for in."""

    @functools.cache
    def made() -> Path:
        return make(Path(tempfile.mkdtemp(dir=_templates.name)))

    def copied(folder: Path) -> Path:
        store = made()
        target = folder / store.name
        return Path(shutil.copytree(store, target) if store.is_dir() else shutil.copy(store, target))

    return copied


@_template
def _record(folder: Path) -> Path:
    """Write a record with one of everything but a run."""
    table = mr.Block({"name": ["a-b"], "itom": ["a"], "jtom": ["b"], "k": [300.0], "r0": [1.5]})
    style = {"category": "bond", "style": "harmonic"}
    document = {"name": "toy", "units": {"preset": "real"}, "styles": [style]}
    with mr.MetricsWriter(folder / "metrics.mrec") as writer:
        writer.log("a", 0.5, 3, "2026-01-31T12:00:00Z")
    with mr.open(folder / "metrics.mrec") as record:
        series = dict(record.metrics or {})
    return mr.write(
        folder / "a.mrec",
        frame=_frame(),
        system=_frame(),
        forcefield=mr.ForceFieldSection(document, {"bond.harmonic": table}),
        observables={"a": mr.Observable(np.array(0.5), "scalar", "a number", time_dependent=False)},
        status={"state": "running"},
        method={"type": "classical", "description": "", "engine": {"name": "program"}},
        metrics=series,
    )


def _in_record(node: str, folder: Path, document: Any) -> None:
    """Lay attributes into a node of a record, and read all of it."""
    root = _record(folder)
    _set_attributes(root / node, document)
    _read(root)


def _read(root: Path) -> None:
    with mr.open(root) as record:
        repr(record.forcefield_section)
        for one in (record.metrics or {}).values():
            repr(one)
    read_everything(root)


def _set_attributes(node: Path, attributes: Any) -> None:
    file = node / "zarr.json"
    document = json.loads(file.read_text())
    document["attributes"] = attributes
    file.write_text(json.dumps(document))


def _in_run(node: str, folder: Path, document: Any) -> None:
    """Lay attributes into a node of a run of two frames, and read all of it."""
    root = _run_of_two(folder)
    _set_attributes(root / node, document)
    _read(root)


@_template
def _run_of_two(folder: Path) -> Path:
    schema = mr.SequenceSchema().declare_column("atoms", "x", "f64").declare_meta("pe", "f64")
    frames = _run(2)
    frames[0].box = mr.Box(np.eye(3))
    with mr.TrajectoryWriter(folder / "a.mrec", schema, profile="archive") as writer:
        for frame in frames:
            writer.append(frame)
    return folder / "a.mrec"


def _as_declaration(folder: Path, document: Any) -> None:
    """Lay a declaration into a run without frames."""
    root = _run_of_none(folder)
    _set_attributes(root / "trajectory", {"sequence_schema": document})
    _read(root)


@_template
def _run_of_none(folder: Path) -> Path:
    with mr.TrajectoryWriter(folder / "a.mrec", mr.SequenceSchema()):
        return folder / "a.mrec"


def _as_line(folder: Path, document: Any) -> None:
    """Lay a line into a log."""
    root = mr.write(folder / "a.mrec", status={"state": "running"}, metrics={})
    _set_attributes(root / "metrics", {})
    (root / "metrics" / "metrics.jsonl").write_text(json.dumps(document) + "\n")
    _read(root)


# -- collections ------------------------------------------------------------------------------------------------------


def _in_collection(key: bytes, folder: Path, value: Callable[[bytes], bytes]) -> None:
    """Change one value of a collection and read all of it."""
    path = tampered(_collection(folder), lambda transaction: transaction.put(key, value(transaction.get(key))))
    with mr.open_collection(path) as collection:
        repr((collection.meta, collection.index, collection.schema, collection.forcefield_section))
        for record in collection:
            repr((record.meta, record.system))
            for frame in record.trajectory or ():
                repr((frame.meta, frame.box))


@_template
def _collection(folder: Path) -> Path:
    path = folder / "a.mrec.lmdb"
    table = mr.Block({"name": ["a-b"], "itom": ["a"], "jtom": ["b"], "k": [300.0], "r0": [1.5]})
    section = mr.ForceFieldSection({"name": "toy", "units": {"preset": "real"}}, {"bond.harmonic": table})
    schema = mr.SequenceSchema().declare_column("atoms", "x", "f64").declare_meta("pe", "f64")
    with mr.CollectionWriter(path, units=UNITS, schema=schema, forcefield=section) as writer:
        writer.append(_run(1)[0], system=mr.Frame({"others": mr.Block({"n": [1]})}))
    return path


def _as_json(key: bytes, folder: Path, document: Any) -> None:
    _in_collection(key, folder, lambda _: json.dumps(document).encode())


def _as_collection_meta(folder: Path, document: Any) -> None:
    def value(stored: bytes) -> bytes:
        return json.dumps(json.loads(stored) | {"collection": document}).encode()

    _in_collection(b"meta", folder, value)


def _as_record_meta(folder: Path, document: Any) -> None:
    """Give a record's meta to a writer; a reader takes it as it is."""
    with mr.CollectionWriter(folder / "a.mrec.lmdb", units=UNITS) as writer:
        writer.append(mr.Frame({"atoms": mr.Block({"x": [0.5]})}), meta=document)


def _as_header(key: bytes, folder: Path, document: Any) -> None:
    """Lay a header before the payload that is there; a system's and a frame's is zeros, enough of them."""

    def value(stored: bytes) -> bytes:
        header = json.dumps(document).encode()
        (length,) = struct.unpack_from("<I", stored, 4)
        begin = 8 + length + -(8 + length) % 8
        payload = stored[begin:] if key == b"index" else b""
        zeros = bytes(64)
        return b"MRF1" + struct.pack("<I", len(header)) + header + bytes(-(8 + len(header)) % 8) + payload + zeros

    _in_collection(key, folder, value)


_FIRST = bytes(8)

#: Schema, by its path without suffix, to what lays a document of it into a store, in an empty folder, and reads that.
LAY: dict[str, Lay] = {
    "core/meta": functools.partial(_in_record, "meta"),
    "core/status": functools.partial(_in_record, "status"),
    "core/method": functools.partial(_in_record, "method"),
    "core/forcefield": functools.partial(_in_record, "forcefield"),
    "frame/section": functools.partial(_in_record, "frame"),
    "frame/block": functools.partial(_in_record, "frame/atoms"),
    "frame/column": functools.partial(_in_record, "frame/atoms/x"),
    "frame/box": functools.partial(_in_record, "frame/box"),
    "trajectory/group": functools.partial(_in_run, "trajectory"),
    "trajectory/sequence-schema": _as_declaration,
    "trajectory/block": functools.partial(_in_run, "trajectory/atoms"),
    "trajectory/box": functools.partial(_in_run, "trajectory/box"),
    "trajectory/per-step-key": functools.partial(_in_run, "trajectory/meta/pe"),
    "observables/description": functools.partial(_in_record, "observables/meta/a"),
    "metrics/event": _as_line,
    "metrics/catalog": functools.partial(_in_record, "metrics"),
    "collection/file": functools.partial(_as_json, b"meta"),
    "collection/meta": _as_collection_meta,
    "collection/record": _as_record_meta,
    "collection/index": functools.partial(_as_header, b"index"),
    "collection/system": functools.partial(_as_header, b"s" + _FIRST),
    "collection/frame": functools.partial(_as_header, b"f" + _FIRST),
    "collection/forcefield": functools.partial(_as_header, b"ff"),
}
