"""Collections side by side: labelled structures, read at random (``python benchmarks/collection.py [--structures N]``).

The same structures as a collection, as pickles in LMDB, and as extended XYZ read by ASE: writing, size, single random
reads, shuffled batches. The page cache is warm for everyone.
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lmdb
import numpy as np

import molrec as mr

_COLUMNS = ("x", "y", "z", "fx", "fy", "fz")
_SYMBOLS = np.array(["H", "C", "N", "O"])
_NUMBERS = np.array([1, 6, 7, 8], dtype=np.uint64)
_BATCH = 64


@dataclass(slots=True)
class Structure:
    """One labelled structure: species as places in a table, positions, forces, energy."""

    species: Any
    positions: Any
    forces: Any
    energy: float


@dataclass(slots=True)
class Result:
    """What one format took."""

    name: str
    size: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def measured(self, what: str, per: int = 1) -> Iterator[None]:
        """Time a block, per item of so many."""
        begun = time.perf_counter()
        yield
        self.seconds[what] = (time.perf_counter() - begun) / per


def make(count: int) -> list[Structure]:
    """Return structures of 9 to 30 atoms."""
    rng = np.random.default_rng(5)
    made = []
    for atoms in rng.integers(9, 31, count).tolist():
        positions = rng.normal(scale=2.0, size=(atoms, 3))
        made.append(Structure(rng.integers(0, 4, atoms), positions, rng.normal(size=(atoms, 3)), float(rng.normal())))
    return made


def measure_collection(structures: Sequence[Structure], order: Sequence[int], path: Path) -> Result:
    result = Result("molrec collection")
    frames = [_frame(structure) for structure in structures]
    units = {"length": "angstrom", "energy": "eV", "force": "eV/angstrom"}
    gc.freeze()
    mr.CollectionWriter(path, units=units).abort()  # pint is loaded once
    with result.measured("write", len(structures)), mr.CollectionWriter(path, units=units) as writer:
        for frame in frames:
            writer.append(frame)
    result.size = path.stat().st_size
    del frames
    with result.measured("open"):
        collection = mr.open_collection(path)
    _warm(collection.frames, order)
    with result.measured("single", len(order)):
        for i in order:
            frame = collection[i].trajectory[0]  # type: ignore[index]
            atoms = frame["atoms"]
            [atoms[name] for name in _COLUMNS]
            frame.meta["pe"]
    with result.measured("batch", len(order)):
        for start in range(0, len(order), _BATCH):
            collection.batch(order[start : start + _BATCH])
    _check(collection, structures, order[:200])
    return result


def _frame(structure: Structure) -> mr.Frame:
    atoms = mr.Block({"atomic_number": _NUMBERS[structure.species]})
    for place, name in enumerate(_COLUMNS):
        source = structure.positions if place < 3 else structure.forces
        atoms[name] = np.ascontiguousarray(source[:, place % 3])
    return mr.Frame({"atoms": atoms}, meta={"pe": structure.energy})


def _check(collection: Any, structures: Sequence[Structure], order: Sequence[int]) -> None:
    batch = collection.batch(order)
    for place, i in enumerate(order):
        rows = slice(*batch["atoms"][place : place + 2])
        assert (batch["atoms/fz"][rows] == structures[i].forces[:, 2]).all()
        assert batch["meta/pe"][place] == structures[i].energy


def measure_pickles(structures: Sequence[Structure], order: Sequence[int], path: Path) -> Result:
    result = Result("lmdb + pickle")
    environment = lmdb.open(str(path), subdir=False, map_size=2**34, lock=False, sync=False)
    with result.measured("write", len(structures)):
        for start in range(0, len(structures), 5000):
            with environment.begin(write=True) as transaction:
                for i, structure in enumerate(structures[start : start + 5000], start):
                    transaction.put(i.to_bytes(8, "big"), pickle.dumps(structure, protocol=5), append=True)
        environment.sync(True)
    environment.close()
    result.size = path.stat().st_size
    with result.measured("open"):
        environment = lmdb.open(str(path), subdir=False, readonly=True, lock=False)

    def read(i: int) -> Structure:
        with environment.begin(buffers=True) as transaction:
            found: Structure = pickle.loads(transaction.get(i.to_bytes(8, "big"), b""))
            return found

    _warm(read, order)
    with result.measured("single", len(order)):
        for i in order:
            read(i)
    with result.measured("batch", len(order)):
        for start in range(0, len(order), _BATCH):
            found = [read(i) for i in order[start : start + _BATCH]]
            np.concatenate([structure.positions for structure in found])
            np.concatenate([structure.forces for structure in found])
            np.concatenate([structure.species for structure in found])
            np.array([structure.energy for structure in found])
    environment.close()
    return result


def measure_extxyz(structures: Sequence[Structure], order: Sequence[int], path: Path) -> Result:
    """Text has to be parsed whole before the first structure is at hand; reads come from memory afterwards."""
    from ase.io import read

    result = Result("extended XYZ, ASE")
    with result.measured("write", len(structures)), path.open("w") as file:
        for structure in structures:
            file.write(
                f"{len(structure.species)}\nProperties=species:S:1:pos:R:3:forces:R:3 energy={structure.energy!r}\n"
            )
            table = np.hstack([structure.positions, structure.forces]).tolist()
            for symbol, row in zip(_SYMBOLS[structure.species].tolist(), table, strict=True):
                file.write(f"{symbol} {' '.join(map(repr, row))}\n")
    result.size = path.stat().st_size
    with result.measured("open"):
        atoms = read(path, index=":")
    with result.measured("single", len(order)):
        for i in order:
            atoms[i].get_positions(), atoms[i].get_forces(), atoms[i].get_potential_energy()
    with result.measured("batch", len(order)):
        for start in range(0, len(order), _BATCH):
            found = [atoms[i] for i in order[start : start + _BATCH]]
            np.concatenate([item.get_positions() for item in found])
            np.concatenate([item.get_forces() for item in found])
            np.concatenate([item.numbers for item in found])
            np.array([item.get_potential_energy() for item in found])
    return result


def _warm(read: Callable[[int], object], order: Sequence[int]) -> None:
    for i in order[:2000]:
        read(i)


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/collection.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--structures", type=int, default=100_000, metavar="N")
    parser.add_argument("--no-extxyz", action="store_true", help="leave out the slow one")
    arguments = parser.parse_args(given)
    structures = make(arguments.structures)
    gc.freeze()  # or every peer would be timed with the collector going over the structures
    atoms = sum(len(structure.species) for structure in structures)
    order = np.random.default_rng(1).permutation(len(structures))[:50_000].tolist()
    print(f"{len(structures)} structures, {atoms} atoms; {len(order)} random reads; {os.cpu_count()} cores")
    peers: list[tuple[str, Callable[..., Result]]] = [("a.mrec.lmdb", measure_collection), ("b.lmdb", measure_pickles)]
    peers += [] if arguments.no_extxyz else [("c.xyz", measure_extxyz)]
    print(f"{'':20}{'write/s':>10}{'B/atom':>8}{'open s':>9}{'single us':>11}{'batch us':>10}")
    for name, measure in peers:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(structures, order, Path(folder) / name)
        took = found.seconds
        print(
            f"{found.name:20}{1 / took['write']:10.0f}{found.size / atoms:8.1f}{took['open']:9.3f}"
            f"{took['single'] * 1e6:11.1f}{took['batch'] * 1e6:10.1f}"
        )


if __name__ == "__main__":
    main()
