"""Labelled structures for tests of collections: frames with elements, energies and forces, and files of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import molrec as mr
from molrec.storage.lmdb.collection_reader import Collection

from .collections_made import UNITS

__all__ = ["NUMBERS", "collection", "isolated", "structure"]

NUMBERS = {"H": 1, "C": 6, "N": 7, "O": 8}


def structure(
    symbols: Sequence[str],
    energy: float = np.nan,
    forces: npt.ArrayLike | None = None,
    *,
    species: str | None = "atomic_number",
    box: mr.Box | None = None,
    **meta: Any,
) -> mr.Frame:
    """Return a frame of these atoms; without forces their columns are null."""
    count = len(symbols)
    known = forces is not None
    values = np.array(forces if known else np.zeros((count, 3)), dtype=np.float64)
    columns: dict[str, Any] = {name: np.arange(count) + shift for shift, name in enumerate("xyz")}
    columns |= {name: values[:, axis] for axis, name in enumerate(("fx", "fy", "fz"))}
    if species == "atomic_number":
        columns[species] = np.array([NUMBERS[symbol] for symbol in symbols], dtype=np.uint64)
    elif species is not None:
        columns[species] = list(symbols)
    block = mr.Block(columns)
    for name in ("fx", "fy", "fz") if not known else ():
        block.set_validity(name, np.zeros(count, dtype=np.bool_))
    return mr.Frame({"atoms": block}, meta={"pe": energy, **meta}, box=box)


def isolated(symbol: str, energy: float) -> tuple[mr.Frame, dict[str, Any]]:
    """Return an isolated atom and the meta of its record."""
    return structure([symbol], energy, np.zeros((1, 3))), {"config_type": "IsolatedAtom"}


def collection(
    path: Path, records: Sequence[tuple[mr.Frame | Sequence[mr.Frame], Mapping[str, Any]]], **options: Any
) -> Collection:
    """Write records, frames with their meta each, and open them."""
    with mr.CollectionWriter(path, units=UNITS, overwrite=True, **options) as writer:
        for frames, meta in records:
            writer.append(frames, meta=meta)
    return mr.open_collection(path)
