"""Molecule types of a GROMACS topology, and the system they make: one frame with its relations, without positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING
from molrec.formats.forcefield_source import SourceLine
from molrec.model.block import Block
from molrec.model.relations import ENDPOINTS

__all__ = ["MoleculeType", "Terms", "assembled"]

type Pair = tuple[int, int]


@dataclass(slots=True)
class Terms:
    """Rows of one relation of a molecule.

    Attributes:
        ends: Atoms of each row, from 0 within the molecule.
        types: The row of the force field each names; ``""`` for none.
        styles: The style each is of.
        params: Parameters each brings along.
    """

    ends: list[tuple[int, ...]] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    params: list[dict[str, float]] = field(default_factory=list)

    def add(self, ends: Sequence[int], type_name: str, style: str, params: Mapping[str, float]) -> None:
        """Add a row."""
        self.ends.append(tuple(ends))
        self.types.append(type_name)
        self.styles.append(style)
        self.params.append(dict(params))


@dataclass(slots=True)
class MoleculeType:
    """One molecule type.

    Attributes:
        name: Its name.
        excluded_bonds: Pairs up to this many bonds apart do not interact.
        place: Where it begins.
        atoms: Column to one value an atom.
        relations: Block name to its rows; ``pairs`` holds the 1-4 pairs.
        links: Chemical bonds, constraints and rigid molecules: what counts as a bond when pairs are excluded.
        exclusions: Pairs excluded one by one.
    """

    name: str
    excluded_bonds: int
    place: SourceLine
    atoms: dict[str, list[str | float | int]] = field(default_factory=dict)
    relations: dict[str, Terms] = field(default_factory=dict)
    links: list[Pair] = field(default_factory=list)
    exclusions: set[Pair] = field(default_factory=set)

    @property
    def count(self) -> int:
        """Number of atoms."""
        return len(next(iter(self.atoms.values()), ()))

    def terms(self, block: str) -> Terms:
        """Return the rows of a relation, made now if there are none yet."""
        return self.relations.setdefault(block, Terms())

    def apart(self, links: Iterable[Pair], most: int) -> dict[Pair, int]:
        """Return how many links pairs of atoms are apart, for those up to a number.

        Args:
            links: What counts as a link.
            most: The largest number asked for.
        """
        neighbours: list[set[int]] = [set() for _ in range(self.count)]
        for first, second in links:
            neighbours[first].add(second)
            neighbours[second].add(first)
        found: dict[Pair, int] = {}
        for start in range(self.count):
            seen, edge = {start}, {start}
            for distance in range(1, most + 1):
                edge = {other for one in edge for other in neighbours[one]} - seen
                seen |= edge
                found |= {(start, other): distance for other in edge if other > start}
        return found


def assembled(parts: Sequence[tuple[MoleculeType, int]]) -> dict[str, Block]:
    """Return the blocks of a system.

    Args:
        parts: Molecule types and how many of each follow one another.

    Returns:
        ``atoms`` and the relations some molecule has.
    """
    blocks = {"atoms": _atoms(parts)}
    names = dict.fromkeys(name for molecule, _ in parts for name in molecule.relations)
    starts = np.cumsum([0] + [molecule.count * times for molecule, times in parts])
    for name in names:
        segments = [
            (molecule.relations[name], molecule.count, times, int(start))
            for (molecule, times), start in zip(parts, starts, strict=False)
            if name in molecule.relations
        ]
        block = _relation(segments)
        if block.rows:
            if name == "pairs":
                block["is_14"] = np.ones(block.rows, dtype=np.bool_)
            blocks[name] = block
    return blocks


def _atoms(parts: Sequence[tuple[MoleculeType, int]]) -> Block:
    block = Block()
    columns: dict[str, Any] = dict.fromkeys(("type", "name", "res_name"), STRING)
    columns |= {"res_id": np.uint64, "charge": np.float64, "mass": np.float64, "charge_group": np.uint64}
    for column, dtype in columns.items():
        values = [np.tile(np.array(molecule.atoms[column], dtype=dtype), times) for molecule, times in parts]
        block[column] = np.concatenate(values) if values else np.zeros(0, dtype=dtype)
    sizes = [np.repeat(molecule.count, times) for molecule, times in parts]
    sizes_of = np.concatenate(sizes) if sizes else np.zeros(0, dtype=np.int64)
    block["mol_id"] = np.repeat(np.arange(1, len(sizes_of) + 1, dtype=np.uint64), sizes_of)
    return block


def _relation(segments: Sequence[tuple[Terms, int, int, int]]) -> Block:
    """Return one relation block of its rows in each molecule type, repeated."""
    ends: list[npt.NDArray[np.int64]] = []
    arity = max((len(row) for terms, *_ in segments for row in terms.ends), default=2)
    for terms, size, times, start in segments:
        own = np.full((len(terms.ends), arity), -1, dtype=np.int64)
        for place, row in enumerate(terms.ends):
            own[place, : len(row)] = row
        offsets = np.repeat(start + size * np.arange(times), len(own))[:, None]
        repeated = np.tile(own, (times, 1))
        ends.append(np.where(repeated >= 0, repeated + offsets, -1))
    every = np.concatenate(ends)
    block = Block(rows=len(every))
    for place in range(arity):
        column = ENDPOINTS[place] if place < len(ENDPOINTS) else "atomm"
        block[column] = np.where(every[:, place] >= 0, every[:, place], 0).astype(np.uint64)
        block.set_validity(column, every[:, place] >= 0)
        if column not in ENDPOINTS:
            block.set_target(column, "atoms")
    if any(any(terms.styles) for terms, *_ in segments):
        for name in ("type", "style"):
            texts = [
                np.tile(np.array(getattr(terms, f"{name}s"), dtype=STRING), times) for terms, _, times, _ in segments
            ]
            block[name] = np.concatenate(texts)
    for key in dict.fromkeys(key for terms, *_ in segments for row in terms.params for key in row):
        values = [
            np.tile(np.array([row.get(key, np.nan) for row in terms.params], dtype=np.float64), times)
            for terms, _, times, _ in segments
        ]
        column_values = np.concatenate(values)
        stated = ~np.isnan(column_values)
        block[key] = np.where(stated, column_values, 0.0)
        block.set_validity(key, stated)
    return block
