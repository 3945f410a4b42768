"""Collections for tests: frames and files made quickly, and files changed behind the back of the library."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import numpy as np

import molrec as mr
from molrec import typedjson
from molrec.storage.lmdb.collection_reader import CollectionRecord
from molrec.storage.lmdb.stored_run import StoredRun

__all__ = [
    "UNITS",
    "atoms",
    "document_changed",
    "forcefield",
    "frame",
    "key",
    "keys",
    "run_of",
    "system_of",
    "tampered",
    "write",
]

UNITS = {"length": "angstrom", "energy": "eV", "force": "eV/angstrom"}


def atoms(count: int, start: float = 0.0, **columns: Any) -> mr.Block:
    """Return atoms with positions."""
    return mr.Block({name: start + np.arange(count) + shift for shift, name in enumerate("xyz")} | columns)


def frame(count: int = 3, start: float = 0.0, **meta: Any) -> mr.Frame:
    return mr.Frame({"atoms": atoms(count, start)}, meta=meta)


def write(path: Path, *records: Any, **options: Any) -> mr.CollectionWriter:
    """Write a collection of frames, or of append's arguments."""
    with mr.CollectionWriter(path, units=UNITS, **options) as writer:
        for record in records:
            if isinstance(record, dict):
                writer.append(**record)
            else:
                writer.append(record)
    return writer


def tampered(path: Path, change: Callable[[Any], object]) -> Path:
    """Change keys of a collection behind its back; it becomes another file, since its readers may have it open."""
    copy = path.with_name("tampered")
    shutil.copy(path, copy)
    with lmdb.open(str(copy), subdir=False, lock=False, map_size=2**26) as file, file.begin(write=True) as transaction:
        change(transaction)
    copy.replace(path)
    return path


def keys(path: Path) -> dict[bytes, bytes]:
    """Return everything a file holds, read by LMDB alone."""
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    with lmdb.open(str(copy), subdir=False, lock=False, readonly=True) as file, file.begin() as transaction:
        return dict(transaction.cursor())


def system_of(record: CollectionRecord) -> mr.Frame:
    """Return the system of a record that has one."""
    assert record.system is not None
    return record.system


def run_of(record: CollectionRecord) -> StoredRun:
    """Return the trajectory of a record that has one."""
    assert record.trajectory is not None
    return record.trajectory


def document_changed(path: Path, **entries: Any) -> Path:
    """Change entries of the `meta` document; None takes one away."""

    def change(transaction: Any) -> None:
        document = typedjson.parse_json(transaction.get(b"meta"), "meta") | entries
        kept = {key: entry for key, entry in document.items() if entry is not None}
        transaction.put(b"meta", typedjson.dump_json(kept).encode())

    return tampered(path, change)


def key(letter: str, number: int) -> bytes:
    return letter.encode() + number.to_bytes(8, "big")


def forcefield() -> mr.ForceFieldSection:
    """Return a small force field."""
    style = {"category": "bond", "style": "harmonic"}
    document = {"name": "toy", "units": {"preset": "real"}, "styles": [style], "kept": [1, None]}
    table = mr.Block({"name": ["a-b"], "itom": ["a"], "jtom": ["b"], "k": [300.0], "r0": [1.5]})
    return mr.ForceFieldSection(document, {"bond.harmonic": table})
