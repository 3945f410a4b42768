"""The labelled structures of a collection, some thousand records at a time, as arrays over structures and atoms.

A structure is a frame. Its energy is the per-step key `pe`, its forces are the columns `fx fy fz` of `atoms`, its
elements `atomic_number` or `element`, of the trajectory or the system (``docs/spec/labelled-structures.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.datasets.stated_words import CONFIG_TYPE, HEAD, StatedWords
from molrec.dtypes import STRING, Array
from molrec.formats.elements import symbols_of
from molrec.model.schema import BlockSchema
from molrec.storage.lmdb.collection_reader import Collection, CollectionRecord

__all__ = ["ATOMS", "ENERGY", "FORCES", "NO_CELL", "Chunk", "count_present", "read_chunks"]

type Numbers = npt.NDArray[np.int64]
type Flags = npt.NDArray[np.bool_]
type Progress = Callable[[int, int], None]

ATOMS, ENERGY, FORCES = "atoms", "pe", ("fx", "fy", "fz")
#: What a structure without a cell, or with an undefined one, has in place of its periodic directions.
NO_CELL = "no cell"

_SPECIES = ("atomic_number", "element")
#: What a box states that is periodic in every direction; what it leaves out has this as its default.
_OF_PERIODIC_CELLS = {"vectors", "origin"}
#: Records read at once; fewer than the headers a reader remembers.
_AT_ONCE = 2048


@dataclass(slots=True)
class Chunk:
    """Some records, one after the other.

    Attributes:
        records: Their numbers.
        frames: Structures of each, int64 ``(records,)``.
        config_types: What each states, or None.
        heads: Likewise.
        sizes: Atoms of each structure, int64 ``(structures,)``.
        structure_of: The structure of each atom, int64 ``(atoms,)``.
        species: Symbol, empty where there is none, or atomic number of each atom ``(atoms,)``; None where the
            collection has no column for it.
        forces: Float64 ``(atoms, 3)``; None where the collection has no columns for it.
        has_force: Which atoms have a force, all components a number, bool ``(atoms,)``.
        meta: Per-step key to its values.
        cells: Periodic directions of each structure, such as ``abc``, ``none``, or ``no cell``.
    """

    records: list[int]
    frames: Numbers
    config_types: list[Any]
    heads: list[Any]
    sizes: Numbers
    structure_of: Numbers
    species: Array | None
    forces: npt.NDArray[np.float64] | None
    has_force: Flags
    meta: dict[str, Any]
    cells: list[str]


def read_chunks(collection: Collection, numbers: Numbers, progress: Progress | None = None) -> Iterator[Chunk]:
    """Yield the records of these numbers in order.

    Raises:
        FormatError: A value is refused.
        IndexError: No such record.
    """
    reader = _ChunkReader(collection)
    for start in range(0, numbers.size, _AT_ONCE):
        records = numbers[start : start + _AT_ONCE].tolist()
        yield reader.read(records)
        if progress is not None:
            progress(start + len(records), numbers.size)


class _ChunkReader:
    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        declared = collection.schema.blocks.get(ATOMS, BlockSchema()).columns
        self._keys = list(collection.schema.meta)
        self._species = next((name for name in _SPECIES if name in declared), None)
        wanted = [name for name in (*FORCES, self._species) if name in declared]
        #: Any column tells how many atoms there are.
        self._columns = [f"{ATOMS}/{name}" for name in wanted or list(declared)[:1]]
        self._config_types, self._heads = (StatedWords(key, collection.index) for key in (CONFIG_TYPE, HEAD))
        self._has_forces = all(name in declared for name in FORCES)

    def read(self, records: list[int]) -> Chunk:
        """Read some records."""
        batch = self._collection.batch(records, self._columns, self._keys)
        frames = np.diff(batch["/"])
        structures = int(batch["/"][-1])
        config_types, heads, cells = [], [], []
        system_species: list[Array] = []
        system_sizes: list[int] = []
        for number, count in zip(records, frames.tolist(), strict=True):
            record = self._collection[number]
            meta = record.meta
            config_types.append(self._config_types.of(number, meta))
            heads.append(self._heads.of(number, meta))
            cells += _cells(record, count)
            if self._species is None:
                species = _species_of(record)
                system_species += [species] * count
                system_sizes += [species.size] * count
        sizes = np.diff(batch[ATOMS]) if ATOMS in batch else np.array(system_sizes, dtype=np.int64)
        if self._species is not None:
            named: Array | None = batch[f"{ATOMS}/{self._species}"]
        else:
            named = _fitted(system_species, sizes.tolist())
        structure_of = np.repeat(np.arange(structures), sizes)
        forces, has_force = self._forces(batch, structure_of.size)
        meta_values = {key: batch[f"meta/{key}"] for key in self._keys}
        return Chunk(
            records, frames, config_types, heads, sizes, structure_of, named, forces, has_force, meta_values, cells
        )

    def _forces(self, batch: dict[str, Any], atoms: int) -> tuple[npt.NDArray[np.float64] | None, Flags]:
        if not self._has_forces:
            return None, np.zeros(atoms, dtype=np.bool_)
        forces = np.stack([batch[f"{ATOMS}/{name}"] for name in FORCES], axis=1)
        known: Flags = ~np.isnan(forces).any(axis=1)
        for name in FORCES:
            known &= batch.get(f"{ATOMS}/{name}/validity", True)
        return forces, known


def count_present(values: Any) -> int:
    """Return how many values of a per-step key are there: not null, and not NaN in any component.

    Args:
        values: As a batch has them, an array ``(frames, ...)`` or a list.
    """
    if isinstance(values, list):
        return sum(value is not None for value in values)
    if values.dtype.kind != "f" or not len(values):
        return len(values)
    return int(np.count_nonzero(~np.isnan(values).reshape(len(values), -1).any(axis=1)))


def _cells(record: CollectionRecord, frames: int) -> list[str]:
    """Return the periodic directions of each frame; a cell that is not stated again carries forward."""
    run, shown, found = record.trajectory, NO_CELL, []
    for ordinal in range(frames):
        assert run is not None
        update = run.update(ordinal)
        if isinstance(update.box, dict) and update.box.keys() <= _OF_PERIODIC_CELLS:
            shown = "abc"
        elif (cell := update.read_box()) is not None:
            periodic = "".join(axis for axis, flag in zip("abc", cell.boundary.tolist(), strict=True) if flag)
            shown = (periodic or "none") if cell.cell_defined else NO_CELL
        found.append(shown)
    return found


def _species_of(record: CollectionRecord) -> Array:
    """Return the symbols of a record's system, empty ones where its atoms state none."""
    atoms = record.system[ATOMS] if record.system is not None and ATOMS in record.system else None
    if atoms is None:
        return np.zeros(0, dtype=STRING)
    if "element" in atoms:
        return atoms["element"]
    if "atomic_number" in atoms:
        return symbols_of(atoms["atomic_number"].astype(np.int64))
    return np.full(atoms.rows, "", dtype=STRING)


def _fitted(species: list[Array], sizes: list[int]) -> Array | None:
    """Join the symbols of structures, empty ones for atoms no system tells of; None where no structure has any."""
    if not any(one.size and one[0] for one in species):
        return None
    pieces = [
        one if one.size == size else np.full(size, "", dtype=STRING) for one, size in zip(species, sizes, strict=True)
    ]
    joined: Array = np.concatenate([np.zeros(0, dtype=STRING), *pieces])
    return joined
