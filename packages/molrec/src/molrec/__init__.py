"""molrec: records of molecular simulations, exact to the bit.

The names below are the public API; each loads the module behind it on first use, so that ``import molrec`` stays
quick. ``docs/guide/tutorial.md`` shows them at work, ``docs/spec`` says what they write.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from molrec.checks.validation import Finding, validate
    from molrec.errors import FormatError, MolrecError, SchemaError
    from molrec.model.block import Block
    from molrec.model.box import Box
    from molrec.model.coarse_graining import coarse_grain
    from molrec.model.forcefield import ForceField
    from molrec.model.forcefield_document import parse_style_block_name, style_block_name
    from molrec.model.forcefield_section import ForceFieldSection
    from molrec.model.frame import Frame
    from molrec.model.meta import Meta
    from molrec.model.observable import Observable
    from molrec.model.schema import SequenceSchema
    from molrec.precision import on_grid, quantize, quantum
    from molrec.storage.lmdb.collection_writer import CollectionWriter
    from molrec.storage.lmdb.opening import open_collection
    from molrec.storage.zarr.metrics_writer import MetricsWriter
    from molrec.storage.zarr.packing import pack, unpack
    from molrec.storage.zarr.record import Record
    from molrec.storage.zarr.record import open_record as open  # noqa: A004 - as in tarfile and zipfile
    from molrec.storage.zarr.record import write_record as write
    from molrec.storage.zarr.repair import repair
    from molrec.storage.zarr.trajectory_reader import TrajectoryReader
    from molrec.storage.zarr.trajectory_writer import TrajectoryWriter
    from molrec.vocabulary import CANONICAL_COLUMNS

#: Public name -> (module, name in it).
_PUBLIC: dict[str, tuple[str, str]] = {
    "CANONICAL_COLUMNS": ("molrec.vocabulary", "CANONICAL_COLUMNS"),
    "Block": ("molrec.model.block", "Block"),
    "Box": ("molrec.model.box", "Box"),
    "CollectionWriter": ("molrec.storage.lmdb.collection_writer", "CollectionWriter"),
    "Finding": ("molrec.checks.validation", "Finding"),
    "ForceField": ("molrec.model.forcefield", "ForceField"),
    "ForceFieldSection": ("molrec.model.forcefield_section", "ForceFieldSection"),
    "FormatError": ("molrec.errors", "FormatError"),
    "Frame": ("molrec.model.frame", "Frame"),
    "Meta": ("molrec.model.meta", "Meta"),
    "MetricsWriter": ("molrec.storage.zarr.metrics_writer", "MetricsWriter"),
    "MolrecError": ("molrec.errors", "MolrecError"),
    "Observable": ("molrec.model.observable", "Observable"),
    "Record": ("molrec.storage.zarr.record", "Record"),
    "SchemaError": ("molrec.errors", "SchemaError"),
    "SequenceSchema": ("molrec.model.schema", "SequenceSchema"),
    "TrajectoryReader": ("molrec.storage.zarr.trajectory_reader", "TrajectoryReader"),
    "TrajectoryWriter": ("molrec.storage.zarr.trajectory_writer", "TrajectoryWriter"),
    "coarse_grain": ("molrec.model.coarse_graining", "coarse_grain"),
    "on_grid": ("molrec.precision", "on_grid"),
    "open": ("molrec.storage.zarr.record", "open_record"),
    "open_collection": ("molrec.storage.lmdb.opening", "open_collection"),
    "parse_style_block_name": ("molrec.model.forcefield_document", "parse_style_block_name"),
    "style_block_name": ("molrec.model.forcefield_document", "style_block_name"),
    "pack": ("molrec.storage.zarr.packing", "pack"),
    "quantize": ("molrec.precision", "quantize"),
    "quantum": ("molrec.precision", "quantum"),
    "repair": ("molrec.storage.zarr.repair", "repair"),
    "unpack": ("molrec.storage.zarr.packing", "unpack"),
    "validate": ("molrec.checks.validation", "validate"),
    "write": ("molrec.storage.zarr.record", "write_record"),
}

__all__ = [
    "CANONICAL_COLUMNS",
    "Block",
    "Box",
    "CollectionWriter",
    "Finding",
    "ForceField",
    "ForceFieldSection",
    "FormatError",
    "Frame",
    "Meta",
    "MetricsWriter",
    "MolrecError",
    "Observable",
    "Record",
    "SchemaError",
    "SequenceSchema",
    "TrajectoryReader",
    "TrajectoryWriter",
    "coarse_grain",
    "on_grid",
    "open",
    "open_collection",
    "pack",
    "parse_style_block_name",
    "quantize",
    "quantum",
    "repair",
    "style_block_name",
    "unpack",
    "validate",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'molrec' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
