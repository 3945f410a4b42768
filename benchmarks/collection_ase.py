"""Structures as ASE's users keep them: `Atoms` with their results, in a database or as extended XYZ."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from collection_workload import Arrays, Structure

__all__ = ["atoms_arrays", "atoms_objects", "connect", "read_extxyz", "write_aselmdb", "write_extxyz"]


def atoms_objects(structures: Iterable[Structure]) -> list[Any]:
    """Return `Atoms` that know their energy and forces."""
    from ase import Atoms
    from ase.calculators.singlepoint import SinglePointCalculator

    found = []
    for one in structures:
        atoms = Atoms(numbers=one.numbers.astype(int), positions=one.positions)
        atoms.calc = SinglePointCalculator(atoms, energy=one.energy, forces=one.forces)
        found.append(atoms)
    return found


def atoms_arrays(atoms: Any) -> Arrays:
    """Return what is asked of a structure."""
    return atoms.numbers, atoms.positions, atoms.get_forces(), atoms.get_potential_energy()


def connect(path: Path) -> Any:
    """Open a database for reading."""
    from ase.db import connect as ase_connect

    return ase_connect(str(path), readonly=True, readahead=False, use_lock_file=False)


def write_aselmdb(path: Path, structures: list[Any]) -> None:
    """Write all structures in one transaction."""
    from ase.db import connect as ase_connect

    with ase_connect(str(path)) as database:
        for atoms in structures:
            database.write(atoms)


def write_extxyz(path: Path, structures: list[Any]) -> None:
    """Write text that gives back every float: ASE's own writer keeps eight decimals."""
    with path.open("w", encoding="utf-8") as file:
        for atoms in structures:
            energy = float(atoms.calc.results["energy"])
            file.write(f"{len(atoms)}\nProperties=species:S:1:pos:R:3:forces:R:3 energy={energy!r}\n")
            rows = zip(
                atoms.get_chemical_symbols(),
                atoms.positions.tolist(),
                atoms.calc.results["forces"].tolist(),
                strict=True,
            )
            file.writelines(f"{symbol} {' '.join(map(repr, xyz + force))}\n" for symbol, xyz, force in rows)


def read_extxyz(path: Path) -> list[Any]:
    """Parse the whole file."""
    from ase.io import read

    found: list[Any] = read(path, index=":", format="extxyz")
    return found
