"""`Frame.subset`, `replicate` and `concat`: rows chosen, repeated and joined, every reference still to the same row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr

from .refusals import refused

molrs = pytest.importorskip("molrs")


def polymer(atoms: int = 6) -> mr.Frame:
    """A chain with bonds, a virtual site, a bead membership and an absolute reference."""
    rows = np.arange(atoms)
    chain = mr.Block(
        {
            "x": rows * 1.5,
            "name": [f"C{row}" for row in rows],
            "id": rows + 100,
            "b_factor": rows * 0.25,
        }
    )
    chain.set_precision("x", 1e-3)
    chain.set_validity("b_factor", rows % 2 == 0)
    bonds = mr.Block(
        {"atomi": rows[:-1].astype(np.uint64), "atomj": rows[1:].astype(np.uint64), "type": ["CC"] * (atoms - 1)}
    )
    sites = mr.Block(
        {
            name: np.array([value], dtype=np.uint64)
            for name, value in {"atomi": 2, "atomj": 1, "atomk": 3, "atoml": 77}.items()
        }
    )
    sites.set_validity("atoml", [False])
    members = mr.Block({"ibead": np.array([0, 0, 5], dtype=np.uint64), "atom": np.array([9, 8, 7], dtype=np.uint64)})
    members.set_target("ibead", "atoms")
    members.set_target("atom", "/system/atoms")
    angle_bonds = mr.Block({"first": np.array([0, 3], dtype=np.uint64), "second": np.array([1, 4], dtype=np.uint64)})
    angle_bonds.set_target("first", "bonds")
    angle_bonds.set_target("second", "bonds")
    grid = mr.Block({"rho": np.arange(8.0)}, structural_shape=(2, 2, 2))
    blocks = {
        "atoms": chain,
        "bonds": bonds,
        "virtual_sites": sites,
        "members": members,
        "cross": angle_bonds,
        "grid": grid,
    }
    return mr.Frame(blocks, meta={"smiles": "CCCCCC"}, box=mr.Box(np.eye(3) * 20))


def named_bonds(frame: mr.Frame) -> list[tuple[str, str]]:
    names = frame["atoms"]["name"].tolist()
    bonds = frame["bonds"]
    return [(names[i], names[j]) for i, j in zip(bonds["atomi"].tolist(), bonds["atomj"].tolist(), strict=True)]


# -- subset -----------------------------------------------------------------------------------------------------------


def test_a_subset_keeps_the_relations_within_it() -> None:
    frame = polymer()
    before = frame.copy()
    part = frame.subset([3, 2, 1, 0])
    assert part["atoms"]["name"].tolist() == ["C3", "C2", "C1", "C0"]
    assert named_bonds(part) == [("C0", "C1"), ("C1", "C2"), ("C2", "C3")]
    assert part["bonds"]["type"].tolist() == ["CC"] * 3
    assert part["atoms"].precision("x") == 1e-3
    assert part["atoms"].validity("b_factor").tolist() == [False, True, False, True]  # type: ignore[union-attr]
    assert part.meta["smiles"] == "CCCCCC"
    assert part.box == frame.box
    assert part["grid"] == frame["grid"]
    assert frame == before


def test_a_null_reference_neither_drops_nor_moves() -> None:
    part = polymer().subset(slice(1, 4))
    site = part["virtual_sites"]
    assert [site[name].tolist() for name in ("atomi", "atomj", "atomk")] == [[1], [0], [2]]
    assert site["atoml"].tolist() == [77]
    assert site.validity("atoml").tolist() == [False]  # type: ignore[union-attr]


def test_absolute_references_stay_as_they_are() -> None:
    part = polymer().subset([5, 0])
    assert part["members"]["ibead"].tolist() == [1, 1, 0]
    assert part["members"]["atom"].tolist() == [9, 8, 7]
    assert part["members"].targets == {"ibead": "atoms", "atom": "/system/atoms"}


def test_a_dropped_relation_takes_along_what_references_it() -> None:
    part = polymer().subset([0, 1, 2, 3])
    assert part["bonds"].rows == 3
    assert part["cross"]["first"].tolist() == [0]
    assert part["cross"]["second"].tolist() == [1]


def test_a_chosen_row_stays_when_what_it_references_goes() -> None:
    atoms = mr.Block({"x": np.zeros(3), "parent": np.array([0, 0, 1], dtype=np.uint64)})
    atoms.set_target("parent", "atoms")
    part = mr.Frame({"atoms": atoms}).subset([2, 0])
    assert part["atoms"]["parent"].tolist() == [0, 1]
    assert part["atoms"].validity("parent").tolist() == [False, True]  # type: ignore[union-attr]


def test_a_subset_of_another_block() -> None:
    part = polymer().subset([1, 3], block="bonds")
    assert named_bonds(part) == [("C1", "C2"), ("C3", "C4")]
    assert part["atoms"].rows == 6
    assert part["cross"].rows == 0


def test_aligned_blocks_are_cut_alike() -> None:
    frame = mr.Frame({"atoms": mr.Block({"x": np.arange(4.0)}), "atom_types": mr.Block({"type": list("abcd")})})
    part = frame.subset([3, 1], aligned=["atom_types"])
    assert part["atom_types"]["type"].tolist() == ["d", "b"]
    with refused("reject-aligned-count-mismatch", "'atom_types'", "4", "6"):
        mr.Frame({"atoms": mr.Block({"x": np.zeros(6)}), "atom_types": frame["atom_types"]}).subset(
            [0], aligned=["atom_types"]
        )


@pytest.mark.parametrize(
    ("rows", "mentions"),
    [
        ([6], "row 6"),
        ([-7], "row -7"),
        ([1, 1], "row 1"),
        ([0.5], "float64"),
        ([[0]], "(1, 1)"),
        ([True, False], "2 flags"),
    ],
)
def test_rows_that_cannot_be_chosen_are_refused(rows: Any, mentions: str) -> None:
    with refused("reject-subset-rows", "'atoms'", mentions):
        polymer().subset(rows)


def test_references_out_of_range_are_refused() -> None:
    frame = polymer()
    frame["bonds"]["atomj"] = np.array([1, 2, 3, 4, 6], dtype=np.uint64)
    calls: list[Callable[[], mr.Frame]] = [
        lambda: frame.subset([0]),
        lambda: frame.replicate(2),
        lambda: mr.Frame.concat([frame, frame]),
    ]
    for call in calls:
        with refused("reject-target-out-of-range", "'bonds'", "'atomj'", "row 4"):
            call()


# -- replicate and concat ---------------------------------------------------------------------------------------------


def test_replicas_have_their_own_relations() -> None:
    frame = polymer()
    twice = frame.replicate(2)
    assert named_bonds(twice) == 2 * named_bonds(frame)
    assert twice["bonds"]["atomi"].tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert twice["members"]["ibead"].tolist() == [0, 0, 5, 6, 6, 11]
    assert twice["members"]["atom"].tolist() == [9, 8, 7, 9, 8, 7]
    assert twice["virtual_sites"]["atoml"].tolist() == [77, 77]
    assert twice["cross"]["second"].tolist() == [1, 4, 6, 9]
    assert twice["grid"].structural_shape is None
    assert twice["atoms"]["id"].tolist() == 2 * frame["atoms"]["id"].tolist()
    assert frame.replicate(1) == frame
    assert all(block.rows == 0 for _, block in frame.replicate(0).items())


@pytest.mark.parametrize("count", [-1, 1.0, True])
def test_a_count_that_is_none_is_refused(count: Any) -> None:
    with refused("reject-replicate-count", repr(count)):
        polymer().replicate(count)


def test_joined_frames_keep_their_relations_apart() -> None:
    joined = mr.Frame.concat([polymer(6), polymer(7)])
    assert named_bonds(joined) == named_bonds(polymer(6)) + named_bonds(polymer(7))
    assert joined["bonds"]["atomi"].tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert joined["cross"]["second"].tolist() == [1, 4, 6, 9]
    assert joined["members"]["ibead"].tolist() == [0, 0, 5, 6, 6, 11]


def test_an_endpoint_without_atoms_beside_it_is_left_alone() -> None:
    bonds = mr.Frame({"bonds": mr.Block({"atomi": np.array([4, 5]), "atomj": np.array([5, 6])})})
    assert bonds.subset([1], block="bonds")["bonds"]["atomi"].tolist() == [5]
    assert bonds.replicate(2)["bonds"]["atomi"].tolist() == [4, 5, 4, 5]


def test_a_column_that_some_frames_lack_is_null_there() -> None:
    one = mr.Frame({"atoms": mr.Block({"x": [1.0], "charge": [0.5]})}, meta={"k": 1})
    two = mr.Frame(
        {"atoms": mr.Block({"x": [2.0, 3.0]}), "bonds": mr.Block({"atomi": np.array([1]), "atomj": np.array([0])})}
    )
    joined = mr.Frame.concat([one, two])
    assert joined["atoms"]["x"].tolist() == [1.0, 2.0, 3.0]
    assert joined["atoms"].validity("charge").tolist() == [True, False, False]  # type: ignore[union-attr]
    assert joined["bonds"]["atomi"].tolist() == [2]
    assert joined.meta == one.meta
    assert mr.Frame.concat([]) == mr.Frame()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda block: block.set_precision("x", 1e-2), "precision"),
        (lambda block: block.__setitem__("q", np.array([1.0])), "dtype"),
        (lambda block: block.__setitem__("q", np.zeros((1, 2), dtype=np.int64)), "row shape"),
        (lambda block: block.set_target("n", "bonds"), "target"),
    ],
)
def test_frames_that_disagree_are_not_joined(change: Callable[[mr.Block], None], what: str) -> None:
    def one() -> mr.Block:
        return mr.Block({"x": [1.0], "q": np.array([1]), "n": np.array([0], dtype=np.uint64)})

    other = one()
    change(other)
    bonds = mr.Block({"atomi": np.array([0]), "atomj": np.array([0])})
    with refused("reject-concat-disagrees", "'atoms'", what):
        mr.Frame.concat([mr.Frame({"atoms": one(), "bonds": bonds}), mr.Frame({"atoms": other, "bonds": bonds})])


# -- another implementation -------------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> mr.Frame:
    """Atoms with random bonds and angles."""
    atoms = draw(st.integers(1, 12))
    rows = st.integers(0, atoms - 1)
    blocks = {"atoms": mr.Block({"x": np.arange(atoms) / 7, "id": np.arange(atoms) + 5})}
    for name, width in (("bonds", 2), ("angles", 3)):
        count = draw(st.integers(0, 8))
        ends = draw(st.lists(rows, min_size=count * width, max_size=count * width))
        table = np.array(ends, dtype=np.uint64).reshape(count, width)
        columns = {f"atom{letter}": table[:, place].copy() for place, letter in enumerate("ijk"[:width])}
        blocks[name] = mr.Block({**columns, "type_id": np.arange(count)})
    return mr.Frame(blocks)


def to_molrs(frame: mr.Frame) -> Any:
    theirs = molrs.Frame()
    for name, block in frame.items():
        theirs[name] = molrs.Block({column: np.ascontiguousarray(values) for column, values in block.items()})
    return theirs


def content(frame: Any) -> dict[str, dict[str, list[Any]]]:
    return {name: {column: list(frame[name][column]) for column in frame[name].keys()} for name in frame.keys()}  # noqa: SIM118 - theirs iterates otherwise


@given(graphs(), st.data())
def test_molrs_cuts_repeats_and_joins_alike(frame: mr.Frame, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, frame["atoms"].rows - 1), unique=True))
    count = data.draw(st.integers(0, 3))
    theirs = to_molrs(frame)
    chosen = np.array(rows, dtype=np.int64)
    assert content(frame.subset(chosen)) == content(theirs.subset(chosen))
    assert content(frame.replicate(count)) == content(theirs.replicate(count))
    assert content(mr.Frame.concat([frame, frame.subset(chosen)])) == content(
        molrs.Frame.concat([theirs, theirs.subset(chosen)])
    )
