"""Near pairs, exclusions and 1-4 pairs; neighbour lists and nearest images beside plain searches."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import molrec as mr
from molrec.forcefield import link
from molrec.forcefield.near_pairs import NearPairs, graph_distances, near_pairs
from molrec.forcefield.neighbours import neighbours
from molrec.forcefield.periodic import Periodicity

from .refusals import refused

_SPECIAL = {"lj": [0.1, 0.2, 0.5], "coul": [0.3, 0.4, 0.8]}


def _relation(*atoms: tuple[int, ...], **columns: Any) -> mr.Block:
    ends = np.array(atoms, dtype=np.uint64)
    names = ("atomi", "atomj", "atomk", "atoml")
    return mr.Block({**{names[place]: ends[:, place] for place in range(ends.shape[1])}, **columns})


def _near(special: dict[str, list[float]] | None, count: int, **blocks: mr.Block) -> NearPairs:
    frame = mr.Frame({"atoms": mr.Block(rows=count), **blocks})
    field = mr.ForceField("test", "real", special)
    return near_pairs(frame, field, link(frame, field).explicit_pairs)


def _table(near: NearPairs) -> dict[tuple[int, int], tuple[float, float, bool]]:
    return {
        (int(low), int(high)): (float(lj), float(coul), bool(fourteen))
        for (low, high), lj, coul, fourteen in zip(
            near.atoms, near.weights["lj"], near.weights["coul"], near.is_14, strict=True
        )
    }


# -- the bond graph ---------------------------------------------------------------------------------------------------


@given(
    st.integers(1, 9).flatmap(
        lambda n: st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=14).map(lambda b: (n, b))
    )
)
def test_distances_are_shortest_paths(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, bonds = case
    beside: dict[int, set[int]] = defaultdict(set)
    for one, other in bonds:
        if one != other:
            beside[one].add(other)
            beside[other].add(one)
    wanted: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for start in range(count):
        reached = {start: 0}
        queue = [start]
        for atom in queue:
            for other in beside[atom]:
                if other not in reached:
                    reached[other] = reached[atom] + 1
                    queue.append(other)
        for other, apart in reached.items():
            if start < other:
                wanted[apart].add((start, other))
    found = graph_distances(np.array(bonds, dtype=np.int64).reshape(-1, 2), count)
    for apart, codes in enumerate(found, start=1):
        assert [divmod(int(code), count) for code in codes] == sorted(wanted[apart])


def test_a_chain_has_the_weights_of_its_distances_whatever_torsions_are_listed() -> None:
    near = _near(_SPECIAL, 5, bonds=_relation((0, 1), (1, 2), (2, 3), (3, 4)))
    assert _table(near) == {
        **dict.fromkeys([(0, 1), (1, 2), (2, 3), (3, 4)], (0.1, 0.3, False)),
        **dict.fromkeys([(0, 2), (1, 3), (2, 4)], (0.2, 0.4, False)),
        **dict.fromkeys([(0, 3), (1, 4)], (0.5, 0.8, True)),
    }


def test_a_pair_in_a_ring_takes_the_shortest_path_once() -> None:
    near = _near(_SPECIAL, 5, bonds=_relation((0, 1), (1, 2), (2, 3), (3, 4), (4, 0)))
    table = _table(near)
    assert len(table) == 10
    assert table[0, 3] == (0.2, 0.4, False)


# -- what the system says of its pairs --------------------------------------------------------------------------------


def test_exclusions_come_before_the_graph() -> None:
    near = _near(_SPECIAL, 5, bonds=_relation((0, 1), (1, 2), (2, 3)), exclusions=_relation((3, 0), (4, 0)))
    table = _table(near)
    assert table[0, 3] == (0.0, 0.0, False)
    assert table[0, 4] == (0.0, 0.0, False)


def test_a_listed_1_4_pair_is_one_even_where_it_is_excluded() -> None:
    near = _near(
        _SPECIAL,
        5,
        bonds=_relation((0, 1), (1, 2), (2, 3), (3, 4)),
        exclusions=_relation((0, 3)),
        pairs=_relation((3, 0), (0, 2), is_14=[True, False]),
    )
    table = _table(near)
    assert table[0, 3] == (0.5, 0.8, True)
    assert table[0, 2] == (0.2, 0.4, False)
    # the others of the graph keep their weight, but pair14 styles price listed ones
    assert table[1, 4] == (0.5, 0.8, False)
    assert near.row[near.is_14].tolist() == [0]


def test_a_torsion_may_suppress_its_1_4_pair_unless_another_does_not() -> None:
    bonds = _relation((0, 1), (1, 2), (2, 3), (3, 4))
    both = _relation((0, 1, 2, 3), (0, 1, 2, 3), (4, 3, 2, 1), exclude_14=[True, True, True])
    assert _table(_near(_SPECIAL, 5, bonds=bonds, dihedrals=both))[0, 3] == (0.0, 0.0, False)
    one = _relation((0, 1, 2, 3), (3, 2, 1, 0), (4, 3, 2, 1), exclude_14=[True, False, True])
    table = _table(_near(_SPECIAL, 5, bonds=bonds, dihedrals=one))
    assert table[0, 3] == (0.5, 0.8, True)
    assert table[1, 4] == (0.0, 0.0, False)


def test_a_suppressed_pair_that_is_nearer_keeps_its_weight() -> None:
    ring = _relation((0, 1), (1, 2), (2, 3), (3, 0))
    dihedrals = _relation((0, 1, 2, 3), exclude_14=[True])
    assert _table(_near(_SPECIAL, 4, bonds=ring, dihedrals=dihedrals))[0, 3] == (0.1, 0.3, False)


def test_near_pairs_nobody_says_anything_of_are_refused() -> None:
    with refused("reject-ff-no-special-bonds", "'test'", "1 pairs are bonded"):
        _near(None, 2, bonds=_relation((0, 1)))


def test_without_special_bonds_exclusions_say_all() -> None:
    assert _table(_near(None, 3, bonds=_relation((0, 1), (1, 2)), exclusions=_relation((0, 1)))) == {
        (0, 1): (0.0, 0.0, False)
    }
    assert len(_near(None, 3)) == 0


def test_listed_1_4_pairs_need_weights() -> None:
    with refused("reject-ff-no-special-bonds", "1 1-4 pairs"):
        _near(None, 3, pairs=_relation((0, 2), is_14=[True]))


def test_a_pair_listed_twice_is_refused() -> None:
    with refused("reject-ff-pair-listed-twice", "0 and 2"):
        _near(_SPECIAL, 3, pairs=_relation((0, 2), (2, 0), is_14=[True, True]))


# -- images and neighbours --------------------------------------------------------------------------------------------


def _cell(data: st.DataObject) -> mr.Box:
    lengths = [data.draw(st.floats(1.0, 3.0)) for _ in range(3)]
    tilts = [data.draw(st.floats(-2.5, 2.5)) for _ in range(3)]
    vectors = np.diag(lengths)
    vectors[0, 1], vectors[0, 2], vectors[1, 2] = tilts
    flags = np.array([data.draw(st.booleans()) for _ in range(3)])
    return mr.Box(vectors, boundary=flags)


def _images(box: mr.Box, reach: int) -> np.ndarray[Any, Any]:
    steps = [range(-reach, reach + 1) if flag else (0,) for flag in box.boundary]
    return np.array(list(itertools.product(*steps)), dtype=float) @ box.vectors.T


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_nearest_image_is_the_nearest_of_all(data: st.DataObject) -> None:
    box = _cell(data)
    displacement = np.array([[data.draw(st.floats(-2.0, 2.0)) for _ in range(3)]])
    nearest = Periodicity(box).nearest(displacement)
    every = displacement + _images(box, 9)
    lengths = np.linalg.norm(every, axis=1)
    assert np.linalg.norm(nearest) == pytest.approx(lengths.min(), abs=1e-9)
    assert np.linalg.norm(every - nearest, axis=1).min() < 1e-9


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_neighbours_are_those_of_a_plain_search_over_images(data: st.DataObject) -> None:
    box = _cell(data)
    seed = data.draw(st.integers(0, 1000))
    positions = np.random.default_rng(seed).uniform(-1.0, 2.0, (5, 3))
    cutoff = data.draw(st.floats(0.5, 1.8))
    wanted = []
    for shift in _images(box, 8):
        apart = np.linalg.norm(positions[None] + shift - positions[:, None], axis=2)
        # whether a pair just at the cutoff is in is for the last bit to say
        assume(np.abs(apart - cutoff).min() > 1e-6)
        own = (shift != 0.0).any()
        wanted += [apart[i, j] for i in range(5) for j in range(5) if apart[i, j] < cutoff and (own or i != j)]
    found = [np.sqrt(part.squared) for part in neighbours(positions, box, cutoff)]
    # the search meets every pair from both ends
    assert np.sort(np.concatenate([np.zeros(0), *found])) == pytest.approx(sorted(wanted)[::2], abs=1e-9)


def test_large_and_small_systems_have_the_same_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    positions = np.random.default_rng(3).normal(size=(700, 3)) * 5.0
    found = []
    for small in (10, 10_000):
        monkeypatch.setattr("molrec.forcefield.neighbours._SMALL", small)
        pairs = [
            set(zip(part.first.tolist(), part.second.tolist(), strict=True))
            for part in neighbours(positions, None, 3.0)
        ]
        found.append({tuple(sorted(pair)) for part in pairs for pair in part})
    assert found[0] == found[1]
    assert len(found[0]) > 1000


def test_every_pair_of_a_system_without_cutoff_comes_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("molrec.forcefield.neighbours._AT_ONCE", 100)
    positions = np.random.default_rng(3).normal(size=(60, 3))
    parts = list(neighbours(positions, None, np.inf))
    pairs = [pair for part in parts for pair in zip(part.first.tolist(), part.second.tolist(), strict=True)]
    assert len(parts) > 10
    assert sorted(pairs) == list(itertools.combinations(range(60), 2))
    for part in parts:
        assert np.allclose(part.displacements, positions[part.second] - positions[part.first])


def test_a_periodic_system_needs_a_cutoff() -> None:
    with refused("reject-ff-no-cutoff"):
        list(neighbours(np.zeros((2, 3)), mr.Box(np.eye(3)), np.inf))


def test_a_cell_without_volume_is_refused() -> None:
    box = mr.Box([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    with refused("reject-box-singular"):
        list(neighbours(np.zeros((2, 3)), box, 0.4))
