"""`coarse_grain`: beads at centres of mass, that remember their atoms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr

from .refusals import refused


def chain(atoms: int) -> mr.Frame:
    rows = np.arange(atoms)
    block = mr.Block(
        {"x": rows * 1.5, "y": rows**2 / 3, "z": -rows / 7, "mass": 1.0 + rows % 3, "charge": (-1.0) ** rows / 4}
    )
    bonds = mr.Block({"atomi": rows[:-1], "atomj": rows[1:]})
    return mr.Frame({"atoms": block, "bonds": bonds}, meta={"units": {"preset": "real"}}, box=mr.Box(np.eye(3) * 9))


def test_beads_of_a_chain() -> None:
    frame = chain(6)
    before = frame.copy()
    coarse = mr.coarse_grain(frame, {"head": [0, 1], "middle": [2, 3], "tail": [4, 5]})
    beads = coarse["atoms"]
    assert beads["bead_type"].tolist() == ["head", "middle", "tail"]
    assert beads["mass"].tolist() == [3.0, 4.0, 5.0]
    assert beads["x"].tolist() == [(0 * 1 + 1.5 * 2) / 3, (3.0 * 3 + 4.5 * 1) / 4, (6.0 * 2 + 7.5 * 3) / 5]
    assert beads["charge"].tolist() == [0.0, 0.0, 0.0]
    assert coarse["bonds"]["atomi"].tolist() == [0, 1]
    assert coarse["bonds"]["atomj"].tolist() == [1, 2]
    members = coarse["members"]
    assert members["ibead"].tolist() == [0, 0, 1, 1, 2, 2]
    assert members["atom"].tolist() == [0, 1, 2, 3, 4, 5]
    assert members.targets == {"ibead": "atoms", "atom": "/frame/atoms"}
    assert coarse.box == frame.box
    assert coarse.units == {"preset": "real"}
    assert frame == before


def test_beads_may_share_an_atom_and_a_name() -> None:
    coarse = mr.coarse_grain(chain(5), [("A", [0, 1, 2]), ("A", [2, 3, 4])], target=None)
    assert coarse["atoms"]["bead_type"].tolist() == ["A", "A"]
    assert coarse["members"].targets == {"ibead": "atoms"}
    assert (coarse["bonds"]["atomi"].tolist(), coarse["bonds"]["atomj"].tolist()) == ([0], [1])


@given(st.integers(2, 9), st.data())
def test_beads_against_a_plain_loop(atoms: int, data: st.DataObject) -> None:
    frame = chain(atoms)
    groups = data.draw(
        st.lists(st.lists(st.integers(0, atoms - 1), min_size=1, max_size=atoms, unique=True), min_size=1, max_size=4)
    )
    coarse = mr.coarse_grain(frame, groups)
    mass = frame["atoms"]["mass"]
    for number, group in enumerate(groups):
        for axis in "xyz":
            centre = sum(mass[row] * frame["atoms"][axis][row] for row in group) / sum(mass[row] for row in group)
            assert coarse["atoms"][axis][number] == pytest.approx(centre, rel=1e-12, abs=1e-12)
    joined = {
        (min(one, other), max(one, other))
        for left, right in zip(frame["bonds"]["atomi"].tolist(), frame["bonds"]["atomj"].tolist(), strict=True)
        for one, group in enumerate(groups)
        for other, second in enumerate(groups)
        if left in group and right in second and one != other
    }
    bonds = coarse["bonds"]
    assert set(zip(bonds["atomi"].tolist(), bonds["atomj"].tolist(), strict=True)) == joined
    assert bonds.rows == len(joined)


def test_beads_are_stored_beside_their_atoms_and_renumbered(tmp_path: Path) -> None:
    atoms = chain(4)
    coarse = mr.coarse_grain(atoms, [[0, 1], [2, 3]], target="/system/atoms")
    mr.write(tmp_path / "a.mrec", frame=coarse, system=atoms)
    with mr.open(tmp_path / "a.mrec") as record:
        assert record.frame == coarse
    part = coarse.subset([1])
    assert part["members"]["ibead"].tolist() == [0, 0]
    assert part["members"]["atom"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("mapping", "mentions"),
    [
        ({"A": []}, "bead 0 ('A')"),
        ({"A": [0.5]}, "bead 0 ('A')"),
        ({"A": [0], "B": [6]}, "bead 1 ('B') atom 6"),
        ({"A": [0], "B": [-1]}, "bead 1 ('B') atom -1"),
        ({"A": [0, 3, 0]}, "bead 0 ('A') atom 0 twice"),
    ],
)
def test_a_mapping_that_is_none_is_refused(mapping: Any, mentions: str) -> None:
    with refused("reject-coarse-grain-mapping", *mentions.split()):
        mr.coarse_grain(chain(6), mapping)


def test_beads_need_positions_and_mass() -> None:
    with refused("reject-coarse-grain-mapping", "'atoms'", "y, z"):
        mr.coarse_grain(mr.Frame({"atoms": mr.Block({"x": [0.0]})}), [[0]])
    frame = chain(2)
    frame["atoms"]["mass"] = np.zeros(2)
    with refused("reject-coarse-grain-mapping", "bead 0", "0.0"):
        mr.coarse_grain(frame, [[0, 1]])
