"""What a collection holds, as one plain document: what ``molrec info`` prints of it and ``--json`` hands to scripts.

Every record's meta and every per-step value is read, and of the columns those that may have nulls; numbers are counted,
not estimated.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.datasets.chunks import ATOMS, count_present
from molrec.datasets.files import collection_files
from molrec.model.block import Block
from molrec.model.collection import INDEX_COLUMNS
from molrec.model.forcefield_section import ForceFieldSection
from molrec.model.frame import Frame
from molrec.model.schema import ColumnSchema, SequenceSchema
from molrec.storage.lmdb.collection_reader import Collection
from molrec.storage.lmdb.opening import open_collection

__all__ = ["inspect_collection"]

type Progress = Callable[[int, int], None]

_AT_ONCE = 4096


def inspect_collection(location: str | os.PathLike[str], progress: Progress | None = None) -> dict[str, Any]:
    """Return the facts about a collection as a finite JSON document.

    Keys: ``path``, ``form`` (collection or shards), ``files``, ``bytes``, ``records``, ``frames``, ``atoms`` (of all
    frames), ``bytes_per_atom``, ``meta``, ``units``, ``blocks`` (as declared), ``per_step``, ``index``, ``record_meta``
    (key to the records that have it), ``system`` (blocks of the first record's system, or None), ``forcefield`` (or
    None).

    Args:
        location: A collection, or a folder or pattern of shards.
        progress: Called with records read and records in all.

    Raises:
        FormatError: Not a collection, or one that is damaged where it is looked at.
    """
    files = collection_files(location)
    sizes = [path.stat().st_size if path.is_file() else 0 for path in files]
    with open_collection(location) as collection:
        schema = collection.schema
        scan = _Scan(collection, schema)
        for start in range(0, len(collection), _AT_ONCE):
            stop = min(len(collection), start + _AT_ONCE)
            scan.add(range(start, stop))
            if progress is not None:
                progress(stop, len(collection))
        system = collection[0].system if len(collection) else None
        return {
            "path": str(location),
            "form": "collection" if files == [collection.path] else "shards",
            "files": [{"path": str(path), "bytes": size} for path, size in zip(files, sizes, strict=True)],
            "bytes": sum(sizes),
            "records": len(collection),
            "frames": collection.n_frames,
            "atoms": scan.atoms,
            "bytes_per_atom": sum(sizes) / scan.atoms if scan.atoms else None,
            "meta": collection.meta,
            "units": collection.units,
            "blocks": {name: _declared_facts(name, schema, scan.nulls) for name in schema.blocks},
            "per_step": {key: scan.per_step(key) for key in schema.meta},
            "index": _index_facts(collection.index),
            "record_meta": dict(sorted(scan.record_keys.items(), key=lambda one: (-one[1], one[0]))),
            "system": None if system is None else _system_facts(system),
            "forcefield": _forcefield_facts(collection.forcefield_section),
        }


class _Scan:
    """What reading all records adds up to."""

    def __init__(self, collection: Collection, schema: SequenceSchema) -> None:
        self._collection = collection
        self._schema = schema
        nullable = [
            f"{name}/{column}"
            for name, block in schema.blocks.items()
            for column, declared in block.columns.items()
            if declared.nullable
        ]
        atoms = schema.blocks[ATOMS].columns if ATOMS in schema.blocks else {}
        # Any column of the atoms tells how many there are; a number is read quicker than a string.
        counted = sorted(atoms, key=lambda column: atoms[column].dtype == "string")[:1]
        self._columns = list(dict.fromkeys([*nullable, *(f"{ATOMS}/{column}" for column in counted)]))
        #: ``"block/column"`` of a nullable column to its null rows.
        self.nulls: dict[str, int] = dict.fromkeys(nullable, 0)
        self.atoms = 0
        self.record_keys: Counter[str] = Counter()
        self._present: Counter[str] = Counter()
        self._bounds: dict[str, tuple[Any, Any]] = {}

    def add(self, records: range) -> None:
        """Read some records."""
        batch = self._collection.batch(records, self._columns, list(self._schema.meta))
        if ATOMS in batch:
            self.atoms += int(batch[ATOMS][-1])
        else:
            counts = self._collection.index
            rows = slice(records.start, records.stop)
            self.atoms += int((counts["n_atoms"][rows] * counts["n_frames"][rows]).sum())
        for column in self.nulls:
            self.nulls[column] += int(np.count_nonzero(~batch[f"{column}/validity"]))
        for key in self._schema.meta:
            self._add_values(key, batch[f"meta/{key}"])
        for number in records:
            self.record_keys.update(self._collection[number].meta.keys())

    def _add_values(self, key: str, values: Any) -> None:
        self._present[key] += count_present(values)
        if isinstance(values, list) or values.ndim != 1 or values.dtype.kind not in "fiu":
            return
        given = values[~np.isnan(values)] if values.dtype.kind == "f" else values
        if given.size:
            least, most = self._bounds.get(key, (given[0], given[0]))
            self._bounds[key] = (min(least, given.min()), max(most, given.max()))

    def per_step(self, key: str) -> dict[str, Any]:
        """Return the facts of a per-step key: bounds of numbers, and the frames with and without a value."""
        tag, present = self._schema.meta[key].tag, self._present[key]
        facts: dict[str, Any] = {"tag": tag, "present": present, "absent": self._collection.n_frames - present}
        if key in self._bounds:
            least, most = self._bounds[key]
            facts |= {"least": typedjson.encode(tag, least.item()), "most": typedjson.encode(tag, most.item())}
        return facts


def _declared_facts(name: str, schema: SequenceSchema, nulls: Mapping[str, int]) -> dict[str, Any]:
    block = schema.blocks[name]
    return {
        "structural_shape": None if block.structural_shape is None else list(block.structural_shape),
        "targets": dict(block.targets),
        "aligned_with": block.aligned_with,
        "columns": {
            column: _column_facts(declared) | {"null_rows": nulls.get(f"{name}/{column}", 0)}
            for column, declared in block.columns.items()
        },
    }


def _column_facts(declared: ColumnSchema) -> dict[str, Any]:
    return {
        "dtype": declared.dtype,
        "trailing": list(declared.trailing),
        "nullable": declared.nullable,
        "precision": declared.precision,
    }


def _index_facts(index: Block) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, values in index.items():
        valid = index.validity(name)
        given = values if valid is None else values[valid]
        entry: dict[str, Any] = {"dtype": index.dtype(name), "nulls": index.rows - len(given)}
        if name not in INDEX_COLUMNS:
            entry["distinct"] = len(np.unique(given))
        facts[name] = entry
    return facts


def _system_facts(system: Frame) -> dict[str, Any]:
    return {
        "blocks": {
            name: {"rows": block.rows, "columns": {column: {"dtype": block.dtype(column)} for column in block.columns}}
            for name, block in system.items()
        }
    }


def _forcefield_facts(section: ForceFieldSection | None) -> dict[str, Any] | None:
    if section is None:
        return None
    return {
        "name": section.document.get("name"),
        "units": section.document.get("units"),
        "tables": {name: table.rows for name, table in section.tables.items()},
    }
