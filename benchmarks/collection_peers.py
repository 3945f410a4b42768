"""What stands beside a collection: each way to keep labelled structures, used as its own users use it.

A peer whose library is not installed is left out. All keep float64 and the same arrays, uncompressed where they let one
choose.
"""

from __future__ import annotations

import importlib.util
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import lmdb
import numpy as np

import collection_ase
import molrec as mr
from collection_workload import Arrays, Structure

__all__ = ["Peer", "Store", "load"]

_COLUMNS = ("x", "y", "z", "fx", "fy", "fz")
#: Structures handed to a library at a time, where it takes many.
_CHUNK = 5000


class Store(Protocol):
    """A file open for reading."""

    def single(self, index: int) -> Arrays:
        """Return one structure."""

    def batch(self, indices: Sequence[int]) -> Arrays:
        """Return several structures, end to end."""

    def close(self) -> None:
        """Let go of the file."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to keep structures.

    Args:
        label: As the table calls it.
        filename: Its file.
        prepare: Makes the objects that are written; not timed.
        write: Writes them all and sees that they are on their way to the disk.
        stores: Ways to read, by the label of the table's row; each opens the file.
        requires: What must be installed: module to the name pip knows.
        limit: The most structures it is given, None for all.
    """

    label: str
    filename: str
    prepare: Callable[[Iterable[Structure]], Any]
    write: Callable[[Path, Any], None]
    stores: dict[str, Callable[[Path], Store]]
    requires: dict[str, str] = field(default_factory=dict)
    limit: int | None = None


def load() -> tuple[list[Peer], list[str]]:
    """Return every peer that is installed, the collection first, and what to install for the others."""
    peers, missing = [], []
    for peer in _PEERS:
        absent = [name for module, name in peer.requires.items() if importlib.util.find_spec(module) is None]
        if absent:
            missing.append(f"{peer.label} (pip install {' '.join(absent)})")
        else:
            peers.append(peer)
    return peers, missing


# -- molrec -----------------------------------------------------------------------------------------------------------


def _frames(structures: Iterable[Structure]) -> list[mr.Frame]:
    frames = []
    for one in structures:
        atoms = mr.Block({"atomic_number": one.numbers})
        for place, name in enumerate(_COLUMNS):
            atoms[name] = np.ascontiguousarray((one.positions if place < 3 else one.forces)[:, place % 3])
        frames.append(mr.Frame({"atoms": atoms}, meta={"pe": one.energy}))
    return frames


def _write_collection(path: Path, frames: list[mr.Frame]) -> None:
    with mr.CollectionWriter(path, units={"length": "angstrom", "energy": "eV", "force": "eV/angstrom"}) as writer:
        for frame in frames:
            writer.append(frame)


class _Collection:
    def __init__(self, path: Path) -> None:
        self._collection = mr.open_collection(path)

    def single(self, index: int) -> Arrays:
        run = self._collection[index].trajectory
        assert run is not None
        frame = run[0]
        atoms = frame["atoms"]
        x, y, z, fx, fy, fz = [atoms[name] for name in _COLUMNS]
        return atoms["atomic_number"], (x, y, z), (fx, fy, fz), frame.meta["pe"]

    def batch(self, indices: Sequence[int]) -> Arrays:
        found = self._collection.batch(indices)
        x, y, z, fx, fy, fz = [found[f"atoms/{name}"] for name in _COLUMNS]
        return found["atoms/atomic_number"], (x, y, z), (fx, fy, fz), found["meta/pe"]

    def close(self) -> None:
        self._collection.close()


# -- structures of another library or of none, one at a time ----------------------------------------------------------


class _OneByOne:
    """Batches put together from single structures."""

    def single(self, index: int) -> Arrays:
        raise NotImplementedError

    def batch(self, indices: Sequence[int]) -> Arrays:
        numbers, positions, forces, energies = zip(*map(self.single, indices), strict=True)
        return np.concatenate(numbers), np.concatenate(positions), np.concatenate(forces), np.array(energies)

    def close(self) -> None:
        """Nothing to let go of."""


def _write_pickles(path: Path, structures: list[Structure]) -> None:
    with lmdb.open(str(path), subdir=False, map_size=2**34, lock=False) as environment:
        for start in range(0, len(structures), _CHUNK):
            with environment.begin(write=True) as transaction:
                for number, one in enumerate(structures[start : start + _CHUNK], start):
                    value = pickle.dumps((one.numbers, one.positions, one.forces, one.energy), protocol=5)
                    transaction.put(number.to_bytes(8, "big"), value, append=True)


class _Pickles(_OneByOne):
    def __init__(self, path: Path) -> None:
        self._environment = lmdb.open(str(path), subdir=False, readonly=True, lock=False)

    def single(self, index: int) -> Arrays:
        with self._environment.begin(buffers=True) as transaction:
            found: Arrays = pickle.loads(transaction.get(index.to_bytes(8, "big"), b""))
            return found

    def close(self) -> None:
        self._environment.close()


# -- HDF5 -------------------------------------------------------------------------------------------------------------

#: Rows of a chunk: some 50 structures, 24 KB of positions.
_CHUNK_ROWS = 1024
_CHUNK_CACHE = 64 * 2**20


def _concatenated(structures: Iterable[Structure]) -> dict[str, Any]:
    found = list(structures)
    return {
        "numbers": np.concatenate([one.numbers for one in found]).astype(np.uint8),
        "positions": np.concatenate([one.positions for one in found]),
        "forces": np.concatenate([one.forces for one in found]),
        "energy": np.array([one.energy for one in found]),
        "offsets": np.cumsum([0, *(len(one.numbers) for one in found)]),
    }


def _write_hdf5(path: Path, arrays: dict[str, Any]) -> None:
    import h5py

    with h5py.File(path, "w", libver="latest") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, chunks=(min(_CHUNK_ROWS, len(array)), *array.shape[1:]))


class _Hdf5:
    """Small arrays are read whole on opening; a batch reads its structures in the order they lie in."""

    def __init__(self, path: Path) -> None:
        import h5py

        self._file = h5py.File(path, "r", rdcc_nbytes=_CHUNK_CACHE, rdcc_nslots=100_003)
        self._rows = [self._file[name] for name in ("numbers", "positions", "forces")]
        self._energy = self._file["energy"][:]
        self._offsets = self._file["offsets"][:].tolist()

    def single(self, index: int) -> Arrays:
        rows = slice(self._offsets[index], self._offsets[index + 1])
        numbers, positions, forces = (dataset[rows] for dataset in self._rows)
        return numbers, positions, forces, self._energy[index]

    def batch(self, indices: Sequence[int]) -> Arrays:
        pieces = {index: self.single(index) for index in sorted(indices)}
        numbers, positions, forces, energies = zip(*(pieces[index] for index in indices), strict=True)
        return np.concatenate(numbers), np.concatenate(positions), np.concatenate(forces), np.array(energies)

    def close(self) -> None:
        self._file.close()


# -- atompack ---------------------------------------------------------------------------------------------------------


def _molecules(structures: Iterable[Structure]) -> list[Any]:
    import atompack

    return [
        atompack.Molecule(one.positions, one.numbers.astype(np.uint8), energy=one.energy, forces=one.forces)
        for one in structures
    ]


def _write_atompack(path: Path, molecules: list[Any]) -> None:
    import atompack

    database = atompack.Database(str(path), overwrite=True)
    for start in range(0, len(molecules), _CHUNK):
        database.add_molecules(molecules[start : start + _CHUNK])
    database.flush()


class _Atompack:
    """Read through the map, batches by `get_molecules_flat`, which uses all cores."""

    def __init__(self, path: Path) -> None:
        import atompack

        self._database = atompack.Database.open(str(path))

    def single(self, index: int) -> Arrays:
        found = self._database[index]
        return found.atomic_numbers, found.positions, found.forces, found.energy

    def batch(self, indices: Sequence[int]) -> Arrays:
        found = self._database.get_molecules_flat(list(indices))
        return found["atomic_numbers"], found["positions"], found["forces"], found["energy"]

    def close(self) -> None:
        del self._database


# -- ASE --------------------------------------------------------------------------------------------------------------


class _Aselmdb(_OneByOne):
    def __init__(self, path: Path) -> None:
        self._database = collection_ase.connect(path)

    def single(self, index: int) -> Arrays:
        return collection_ase.atoms_arrays(self._database.get_atoms(index + 1))

    def close(self) -> None:
        self._database.close()


class _AselmdbRows(_Aselmdb):
    """Rows of the database, no `Atoms` made of them."""

    def single(self, index: int) -> Arrays:
        row = self._database[index + 1]
        return row.numbers, row.positions, row.forces, row.energy


class _ExtendedXyz(_OneByOne):
    """Text has to be parsed whole before the first structure is at hand; reads come from memory afterwards."""

    def __init__(self, path: Path) -> None:
        self._structures = collection_ase.read_extxyz(path)

    def single(self, index: int) -> Arrays:
        return collection_ase.atoms_arrays(self._structures[index])


#: A database of 100,000 would take minutes to write: with each structure it looks through the list of all before.
_MOST_ASELMDB = 20_000
_PEERS = (
    Peer("molrec collection", "a.mrec.lmdb", _frames, _write_collection, {"molrec collection": _Collection}),
    Peer("atompack", "a.atp", _molecules, _write_atompack, {"atompack": _Atompack}, {"atompack": "atompack-db"}),
    Peer("pickles in LMDB", "a.lmdb", list, _write_pickles, {"pickles in LMDB": _Pickles}),
    Peer("HDF5", "a.h5", _concatenated, _write_hdf5, {"HDF5": _Hdf5}, {"h5py": "h5py"}),
    Peer(
        "aselmdb", "a.aselmdb", collection_ase.atoms_objects, collection_ase.write_aselmdb,
        {"aselmdb, get_atoms": _Aselmdb, "aselmdb, rows": _AselmdbRows},
        {"ase": "ase", "ase_db_backends": "ase-db-backends"}, _MOST_ASELMDB,
    ),
    Peer(
        "extended XYZ", "a.xyz", collection_ase.atoms_objects, collection_ase.write_extxyz,
        {"extended XYZ, ASE": _ExtendedXyz}, {"ase": "ase"},
    ),
)  # fmt: skip
