"""The OpenMM golden cases as frames: atoms of the PDB file, terms of ``assigned``, named by a force field's rows."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

import molrec as mr
from molrec.model.forcefield import ForceField, StyleRow

from . import forcefield_golden as golden

__all__ = ["case_frame"]

#: List of `assigned` -> block; the lists of one block follow one another.
_BLOCKS = {
    "bonds": "bonds",
    "angles": "angles",
    "dihedrals": "dihedrals",
    "rb": "dihedrals",
    "impropers": "impropers",
    "impropers_harmonic": "impropers",
}
_ENDS = ("atomi", "atomj", "atomk", "atoml")


def positions(path: Path) -> np.ndarray[Any, Any]:
    """Return the positions of a PDB file in nm."""
    rows = [line for line in path.read_text().splitlines() if line.startswith(("ATOM", "HETATM"))]
    return np.array([[float(row[column : column + 8]) for column in (30, 38, 46)] for row in rows]) / 10.0


def case_frame(case: str, forcefield: ForceField) -> mr.Frame:
    """Return the system of a case; bonds, angles and proper torsions are left to be found by their endpoints."""
    expected = golden.load(case)
    columns = expected["atoms"]["columns"]
    rows = [dict(zip(columns, row, strict=True)) for row in expected["atoms"]["rows"]]
    places = positions(golden.case(case) / expected["files"]["pdb"])
    atoms = mr.Block({axis: places[:, number].copy() for number, axis in enumerate("xyz")})
    atoms["type"] = [row["type"] for row in rows]
    atoms["charge"] = [float(row["charge"]) for row in rows]
    frame = mr.Frame({"atoms": atoms})
    found: dict[str, list[tuple[int, ...]]] = {}
    for name, block in _BLOCKS.items():
        found.setdefault(block, []).extend(tuple(one["atoms"]) for one in expected["assigned"].get(name, ()))
    for block, terms in found.items():
        if terms:
            frame[block] = relation(list(dict.fromkeys(terms)))
    if "impropers" in frame:
        name_impropers(frame, forcefield, [row["type"] for row in rows], [row["class"] for row in rows])
    if "urey_bradley" in expected["assigned"]:
        ends = {frozenset(one["atoms"]) for one in expected["assigned"]["urey_bradley"]}
        frame["urey_bradleys"] = relation([row for row in found["angles"] if frozenset((row[0], row[2])) in ends])
    return frame


def relation(terms: list[tuple[int, ...]]) -> mr.Block:
    """Return a relation block of atoms."""
    array = np.array(terms, dtype=np.uint64)
    return mr.Block({_ENDS[place]: array[:, place].copy() for place in range(array.shape[1])})


def name_impropers(frame: mr.Frame, forcefield: ForceField, types: list[str], classes: list[str]) -> None:
    """Name the row of each improper: the file has the centre first, and the outer atoms in some order."""
    block = frame["impropers"]
    atoms = np.stack([block[end] for end in _ENDS], axis=1).astype(int).tolist()
    names = []
    for quadruple in atoms:
        fitting = [
            (row.endpoints.count(""), place, row.name)
            for style in forcefield.of_category("improper")
            for place, row in enumerate(style)
            if fits(row, quadruple, types if style.endpoint_key == "type" else classes)
        ]
        names.append(min(fitting)[2])
    block["type"] = names


def fits(row: StyleRow, quadruple: list[int], labels: list[str]) -> bool:
    """Tell whether a row, its centre first, holds for atoms whose centre is the first or the third."""
    for centre in (0, 2):
        outer = [labels[atom] for place, atom in enumerate(quadruple) if place != centre]
        if row.endpoints[0] == labels[quadruple[centre]] and any(
            all(end in ("", label) for end, label in zip(row.endpoints[1:], order, strict=True))
            for order in itertools.permutations(outer)
        ):
            return True
    return False
