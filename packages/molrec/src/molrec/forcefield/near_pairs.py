"""Pairs that do not interact like any two atoms: near ones in the bond graph, excluded ones, listed ones.

What weighs a pair, the later before the earlier: the shortest path between its atoms over the rows of ``bonds``, with
the special-bond weights of one, two and three bonds; ``exclude_14``, where every torsion that ends in the pair carries
it; the block ``exclusions``; and a row of ``pairs`` with ``is_14``, which is a 1-4 pair whatever the graph says. A pair
counts once, and through the nearest periodic image only (``docs/spec/forcefield.md``, near pairs).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.forms import Floats
from molrec.forcefield.relations import RelationRows
from molrec.forcefield.tables import Flags, Integers, block_of
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame

__all__ = ["NearPairs", "graph_distances", "near_pairs"]


@dataclass(frozen=True, slots=True)
class NearPairs:
    """Pairs with weights or parameters of their own.

    Attributes:
        atoms: Int64 ``(n, 2)``, the lower row first; no pair twice, sorted.
        weights: ``lj`` and ``coul`` to float64 ``(n,)``.
        is_14: Bool ``(n,)``: the pairs that ``pair14`` styles price.
        row: Int64 ``(n,)``: the row of ``pairs`` that lists the pair, or -1.
    """

    atoms: Integers
    weights: dict[str, Floats]
    is_14: Flags
    row: Integers

    def __len__(self) -> int:
        return len(self.atoms)


def graph_distances(bonds: Integers, count: int) -> tuple[Integers, Integers, Integers]:
    """Return the pairs one, two and three bonds apart by the shortest path.

    Args:
        bonds: Int64 ``(bonds, 2)``, rows of atoms.
        count: Number of atoms.

    Returns:
        Three sorted int64 arrays; a pair is the number ``low * count + high``.
    """
    ends = bonds[bonds[:, 0] != bonds[:, 1]]
    starts, stops = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
    order = np.argsort(starts, kind="stable")
    neighbours = stops[order]
    first = np.searchsorted(starts[order], np.arange(count + 1))
    one = np.unique(_code(ends[:, 0], ends[:, 1], count))
    heads, tails = _step(starts, stops, neighbours, first)
    two = _without(_codes_between(heads, tails, count), one)
    onward = heads != tails
    heads, tails = _step(heads[onward], tails[onward], neighbours, first)
    three = _without(_without(_codes_between(heads, tails, count), one), two)
    return one, two, three


def _without(codes: Integers, others: Integers) -> Integers:
    """Return the codes that are not among others; both are sorted."""
    if not len(others):
        return codes
    places = np.minimum(np.searchsorted(others, codes), len(others) - 1)
    others_too: Flags = others[places] == codes
    return codes[~others_too]


def _code(first: Integers, second: Integers, count: int) -> Integers:
    return np.minimum(first, second) * count + np.maximum(first, second)


def _codes_between(heads: Integers, tails: Integers, count: int) -> Integers:
    # every path is walked from both of its ends
    forward = heads < tails
    return np.unique(heads[forward] * count + tails[forward])


def _step(heads: Integers, tails: Integers, neighbours: Integers, first: Integers) -> tuple[Integers, Integers]:
    """Walk one bond further from the tail of every path."""
    degrees = first[tails + 1] - first[tails]
    within = np.arange(int(degrees.sum())) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    return np.repeat(heads, degrees), neighbours[np.repeat(first[tails], degrees) + within]


def near_pairs(frame: Frame, ff: ForceField, listed: RelationRows | None) -> NearPairs:
    """Return the pairs of a system that are not priced like any other.

    Args:
        frame: The system: ``bonds``, ``exclusions``, ``dihedrals`` and ``impropers`` with ``exclude_14``, ``pairs``.
        ff: Its special-bond weights.
        listed: The rows of the frame's ``pairs`` block, or None.

    Raises:
        SchemaError: Near pairs, and neither special bonds nor exclusions that say what becomes of them
            (``reject-ff-no-special-bonds``), or a pair that ``pairs`` lists twice (``reject-ff-pair-listed-twice``).
    """
    count = frame["atoms"].rows
    special = ff.special_bonds
    graph = graph_distances(_pairs_of(frame, "bonds", count), count)
    excluded = np.unique(_coded(_pairs_of(frame, "exclusions", count), count))
    if special is None and "exclusions" not in frame and any(len(pairs) for pairs in graph):
        raise SchemaError(
            f"force field {ff.name!r} states no special_bonds and the system lists no exclusions, but {len(graph[0])} "
            "pairs are bonded; state the weights of near pairs, such as "
            '{"lj": [0, 0, 0.5], "coul": [0, 0, 0.5]}, or give the block `exclusions`',
            "reject-ff-no-special-bonds",
        )
    rows, listed_codes, is_14 = _listed(frame, listed, count)
    codes = np.unique(np.concatenate([*(graph if special is not None else ()), excluded, listed_codes]))
    weights = {name: np.ones(len(codes)) for name in ("lj", "coul")}
    fourteen = np.zeros(len(codes), dtype=np.bool_)
    if special is not None:
        for bonds_apart, pairs in enumerate(graph):
            for name, values in weights.items():
                values[np.searchsorted(codes, pairs)] = special[name][bonds_apart]
        fourteen[np.searchsorted(codes, graph[2])] = True
    dropped = np.intersect1d(
        np.concatenate([np.setdiff1d(_suppressed(frame, count), np.concatenate(graph[:2])), excluded]), codes
    )
    places = np.searchsorted(codes, dropped)
    fourteen[places] = False
    for values in weights.values():
        values[places] = 0.0
    row = np.full(len(codes), -1, dtype=np.int64)
    row[np.searchsorted(codes, listed_codes)] = rows
    marked = np.searchsorted(codes, listed_codes[is_14])
    if len(marked):
        if special is None:
            raise SchemaError(
                f"the system lists {len(marked)} 1-4 pairs, but the force field {ff.name!r} states no special_bonds; "
                "state the weights they have",
                "reject-ff-no-special-bonds",
            )
        for name, values in weights.items():
            values[marked] = special[name][2]
    if listed is not None and "is_14" in frame["pairs"]:
        # 1-4 pairs are listed: the graph says nothing about which of them pair14 styles price
        fourteen[:] = False
    fourteen[marked] = True
    atoms = np.stack(np.divmod(codes, max(count, 1)), axis=1)
    return NearPairs(atoms, weights, fourteen, row)


def _pairs_of(frame: Frame, name: str, count: int) -> Integers:
    block = block_of(frame, name)
    return np.zeros((0, 2), dtype=np.int64) if block is None else RelationRows(name, block, count).atoms


def _coded(pairs: Integers, count: int) -> Integers:
    return _code(pairs[:, 0], pairs[:, 1], count)


def _listed(frame: Frame, listed: RelationRows | None, count: int) -> tuple[Integers, Integers, Flags]:
    """Return the rows of ``pairs``, the pairs they list, and which of them are 1-4 pairs."""
    if listed is None:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, np.zeros(0, dtype=np.bool_)
    block = frame["pairs"]
    codes = _coded(listed.atoms, count)
    distinct, times = np.unique(codes, return_counts=True)
    if (times > 1).any():
        low, high = divmod(int(distinct[times > 1][0]), count)
        raise SchemaError(
            f"block 'pairs' lists the atoms {low} and {high} twice; a pair has one row", "reject-ff-pair-listed-twice"
        )
    is_14 = np.zeros(len(codes), dtype=np.bool_)
    if "is_14" in block:
        mask = block.validity("is_14")
        is_14 = block["is_14"] if mask is None else block["is_14"] & mask
    return np.arange(len(codes)), codes, is_14


def _suppressed(frame: Frame, count: int) -> Integers:
    """Return the pairs whose 1-4 term every torsion that ends in them suppresses."""
    without: list[Integers] = []
    kept: list[Integers] = []
    for name in ("dihedrals", "impropers"):
        block = block_of(frame, name)
        if block is None:
            continue
        ends = _coded(RelationRows(name, block, count).atoms[:, [0, 3]], count)
        flags = np.zeros(len(ends), dtype=np.bool_)
        if "exclude_14" in block:
            mask = block.validity("exclude_14")
            flags = block["exclude_14"] if mask is None else block["exclude_14"] & mask
        without.append(ends[flags])
        if name == "dihedrals":
            kept.append(ends[~flags])
    if not without:
        return np.zeros(0, dtype=np.int64)
    return np.setdiff1d(np.concatenate(without), np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64))
