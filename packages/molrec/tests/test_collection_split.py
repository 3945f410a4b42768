"""Splitting a collection: the plain split, groups that stay together, isolated atoms, index files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import molrec as mr
from molrec.datasets.group_drawing import closest_draw
from molrec.datasets.split import Split, isolated_atoms, read_indices, split_collection, write_split
from molrec.storage.lmdb.collection_reader import Collection

from .collections_made import frame
from .labelled_structures import collection, isolated
from .refusals import refused

mace_data = pytest.importorskip("mace_core.data")


def of_molecules(folder: Path, molecules: Sequence[Any], name: str = "set.mrec.lmdb") -> Collection:
    """Return a collection with one record per entry, which is its index column `molecule` (None is a null)."""
    records = [(frame(2, number), {"molecule": molecule}) for number, molecule in enumerate(molecules)]
    return collection(folder / name, records, index=["molecule"])


def everything(split: Split) -> list[int]:
    return sorted(np.concatenate([*split.parts.values(), split.unused]).tolist())


# -- one by one -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fifty(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return of_molecules(tmp_path_factory.mktemp("fifty"), [f"m{number // 3}" for number in range(50)])


@settings(max_examples=60)
@given(fraction=st.floats(0.001, 0.999), seed=st.integers(0, 2**63))
def test_the_plain_split_is_that_of_mace_core(
    fifty: Collection, tmp_path_factory: pytest.TempPathFactory, fraction: float, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("split")
    train, valid = mace_data.random_train_valid_split(range(50), fraction, seed, folder, "there")
    split = split_collection(fifty, {"valid": fraction}, seed=seed)
    assert {name: records.tolist() for name, records in split.parts.items()} == {"train": train, "valid": valid}
    paths = write_split(split, folder, seed=seed, prefix="here")
    theirs = folder / f"there_valid_indices_{seed}.txt"
    if theirs.exists():
        assert paths["valid"].name == theirs.name.replace("there", "here")
        assert paths["valid"].read_bytes() == theirs.read_bytes()
    assert read_indices(paths["train"]).tolist() == train


def test_several_parts_take_turns_from_the_end_of_one_shuffle(fifty: Collection) -> None:
    order = np.arange(50)
    np.random.default_rng(3).shuffle(order)
    split = split_collection(fifty, {"train": 0.7, "valid": 0.1, "test": 0.2}, seed=3)
    assert {name: records.tolist() for name, records in split.parts.items()} == {
        "train": order[:35].tolist(), "valid": order[35:40].tolist(), "test": order[40:].tolist(),
    }  # fmt: skip
    assert split.groups is None
    assert not split.unused.size


@pytest.mark.parametrize("by", [None, "molecule"])
def test_fractions_below_one_leave_records_over(fifty: Collection, by: str | None) -> None:
    split = split_collection(fifty, {"train": 0.5, "valid": 0.1}, seed=1, by=by)
    assert everything(split) == list(range(50))
    assert abs(split.parts["train"].size - 25) <= 1
    assert 19 <= split.unused.size <= 21


def test_isolated_atoms_stay_in_train(tmp_path: Path) -> None:
    others = [(frame(3, number, pe=0.0), {"config_type": "bulk"}) for number in range(20)]
    atoms = [(frame(1, pe=-1.0), {"config_type": "IsolatedAtom"}), (frame(1, pe=0.0), {"config_type": "IsolatedAtom"})]
    # neither a pair that says so, nor an atom that does not
    near = [(frame(2, pe=0.0), {"config_type": "IsolatedAtom"}), (frame(1, pe=0.0), {})]
    opened = collection(tmp_path / "a.mrec.lmdb", [*others[:7], atoms[0], *near, *others[7:], atoms[1]])
    assert isolated_atoms(opened).tolist() == [7, 23]
    candidates = [number for number in range(24) if number not in (7, 23)]
    train, valid = mace_data.random_train_valid_split(candidates, 0.25, 5, tmp_path)
    split = split_collection(opened, {"valid": 0.25}, seed=5)
    assert split.parts["train"].tolist() == [7, 23, *train]
    assert split.parts["valid"].tolist() == valid
    for seed in range(5):
        grouped = split_collection(opened, {"valid": 0.5}, seed=seed, by="config_type")
        assert {7, 23} <= set(grouped.parts["train"].tolist())


# -- in groups --------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    molecules=st.lists(st.one_of(st.none(), st.sampled_from("abcdefgh")), min_size=8, max_size=40),
    fraction=st.floats(0.05, 0.9),
    seed=st.integers(0, 1000),
)
def test_no_group_straddles_and_sizes_are_as_close_as_whole_groups_allow(
    tmp_path_factory: pytest.TempPathFactory, molecules: list[str | None], fraction: float, seed: int
) -> None:
    groups: dict[Any, int] = {}
    for number, molecule in enumerate(molecules):
        key = number if molecule is None else molecule
        groups[key] = groups.get(key, 0) + 1
    opened = of_molecules(tmp_path_factory.mktemp("groups"), molecules)
    if len(groups) < 2:
        with refused("reject-split-empty", "groups by 'molecule'"):
            split_collection(opened, {"valid": fraction}, seed=seed, by="molecule")
        return
    split = split_collection(opened, {"valid": fraction}, seed=seed, by="molecule")
    assert everything(split) == list(range(len(molecules)))
    assert split.groups == len(groups)
    there = {name: {molecules[number] for number in records.tolist()} - {None} for name, records in split.parts.items()}
    assert not there["train"] & there["valid"]
    sums = {0}
    for size in groups.values():
        sums |= {total + size for total in sums}
    goal = fraction * len(molecules)
    best = min(abs(total - goal) for total in sums - {0, len(molecules)})
    assert abs(split.parts["valid"].size - goal) == pytest.approx(best)


def test_the_same_seed_gives_the_same_split_and_another_one_another(tmp_path: Path, fifty: Collection) -> None:
    shares = {"valid": 0.2, "test": 0.1}
    one, again, other = (split_collection(fifty, shares, seed=seed, by="molecule") for seed in (4, 4, 5))
    for name, records in one.parts.items():
        assert again.parts[name].tolist() == records.tolist()
    assert any(other.parts[name].tolist() != records.tolist() for name, records in one.parts.items())
    # the name of a molecule counts, not when it came first
    backwards = of_molecules(tmp_path, [f"m{number // 3}" for number in reversed(range(50))])
    mirrored = split_collection(backwards, shares, seed=4, by="molecule")
    for name, records in one.parts.items():
        assert {f"m{number // 3}" for number in records.tolist()} == {
            f"m{(49 - number) // 3}" for number in mirrored.parts[name].tolist()
        }


def test_three_parts_of_groups(fifty: Collection) -> None:
    for seed in range(20):
        split = split_collection(fifty, {"train": 0.8, "valid": 0.12, "test": 0.08}, seed=seed, by="molecule")
        molecules = [{number // 3 for number in records.tolist()} for records in split.parts.values()]
        assert all(not one & other for one, other in combinations(molecules, 2))
        # groups of 3 and one of 2: 6 of 6, and 3 or 5 of 4
        assert split.parts["valid"].size == 6
        assert split.parts["test"].size in (3, 5)


def test_every_part_gets_a_group_even_where_the_best_sum_would_take_all(tmp_path: Path) -> None:
    opened = of_molecules(tmp_path, ["a", "b", *"cccc"])
    for seed in range(10):
        split = split_collection(opened, {"valid": 0.34, "test": 0.4}, seed=seed, by="molecule")
        assert all(records.size for records in split.parts.values())


@pytest.mark.parametrize("by", ["key", "score"])
def test_keys_of_record_meta_and_numbers_group_too(tmp_path: Path, by: str) -> None:
    values = [{"b": 1, "a": [2]}, {"a": [2], "b": 1}, {"a": [2], "b": 2}, None, None, "x"]
    scores = [1.5, 1.5, 2.5, np.nan, np.nan, 3.5]
    records = [
        (frame(2, pe=0.0), {} if value is None and number == 4 else {"key": value})
        for number, value in enumerate(values)
    ]
    with mr.CollectionWriter(tmp_path / "a.mrec.lmdb", units={"length": "angstrom"}, index=["score"]) as writer:
        for (frames, meta), score in zip(records, scores, strict=True):
            writer.append(frames, meta=meta, index={"score": score})
    opened = mr.open_collection(tmp_path / "a.mrec.lmdb")
    read: list[tuple[int, int]] = []
    sides = []
    for seed in range(30):
        split = split_collection(opened, {"valid": 0.5}, seed=seed, by=by, progress=lambda *done: read.append(done))
        assert split.groups == 5
        sides.append(set(split.parts["valid"].tolist()))
    assert all((0 in side) == (1 in side) for side in sides)
    assert any((3 in side) != (4 in side) for side in sides)
    assert read == ([(6, 6)] * 30 if by == "key" else [])


def test_shards_split_as_the_whole_does(tmp_path: Path) -> None:
    molecules = [f"m{number % 6}" for number in range(30)]
    whole = of_molecules(tmp_path, molecules)
    (tmp_path / "shards").mkdir()
    for number in range(3):
        of_molecules(tmp_path / "shards", molecules[10 * number : 10 * number + 10], f"{number}.mrec.lmdb")
    shards = mr.open_collection(tmp_path / "shards")
    for by in (None, "molecule"):
        ours, theirs = (split_collection(opened, {"valid": 0.3}, seed=1, by=by) for opened in (whole, shards))
        assert {name: records.tolist() for name, records in ours.parts.items()} == {
            name: records.tolist() for name, records in theirs.parts.items()
        }


# -- drawing groups ---------------------------------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=9),
    share=st.floats(0.01, 1.0),
    keep=st.integers(0, 1),
)
def test_a_draw_sums_as_close_to_its_goal_as_it_can(sizes: list[int], share: float, keep: int) -> None:
    goal = share * sum(sizes)
    places = closest_draw(sizes, goal, keep=keep)
    assert len(set(places)) == len(places) > 0
    assert len(sizes) - len(places) >= keep
    draws = [chosen for count in range(1, len(sizes) + 1) for chosen in combinations(sizes, count)]
    best = min(abs(sum(chosen) - goal) for chosen in draws)
    found = abs(sum(sizes[place] for place in places) - goal)
    # Where the best of all would leave too few, it is one group.
    assert found == best or (keep == 1 and len(places) == 1)


def test_a_draw_from_many_groups_is_close_too() -> None:
    sizes = np.random.default_rng(0).integers(1, 40, 200_000).tolist()
    goal = 0.1 * sum(sizes)
    places = closest_draw(sizes, goal, keep=1)
    assert abs(sum(sizes[place] for place in places) - goal) <= 0.5
    assert max(places) < 60_000


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fractions", "mentions"),
    [
        ({}, "no fraction"),
        ({"train": 1.0}, "train=1"),
        ({"train": 0.5}, "at least one other part"),
        ({"valid": 1.0}, "something left"),
        ({"valid": 0.5, "test": 0.5}, "something left"),
        ({"valid": 0.0}, "greater than 0"),
        ({"valid": -0.1}, "greater than 0"),
        ({"valid": float("nan")}, "nan"),
        ({"train": 0.9, "valid": 0.2}, "sum to 1.1"),
        ({"../valid": 0.1}, "'../valid'"),
        ({"": 0.1}, "a part is named"),
    ],
)
def test_fractions_that_are_refused(fifty: Collection, fractions: dict[str, float], mentions: str) -> None:
    with refused("reject-split-fractions", mentions):
        split_collection(fifty, fractions, seed=0)


def test_fractions_that_sum_to_one_but_for_rounding(fifty: Collection) -> None:
    split = split_collection(fifty, {"train": 0.7, **dict.fromkeys("abc", 0.1)}, seed=0)
    assert not split.unused.size
    assert [records.size for records in split.parts.values()] == [35, 5, 5, 5]


def test_a_column_that_is_not_there(fifty: Collection) -> None:
    with refused("reject-split-column", "'smiles'", "n_atoms", "molecule"):
        split_collection(fifty, {"valid": 0.1}, seed=0, by="smiles")


def test_parts_that_would_be_empty(tmp_path: Path) -> None:
    with refused("reject-split-empty", "records besides isolated atoms: 1,"):
        split_collection(of_molecules(tmp_path, ["a"]), {"valid": 0.5}, seed=0)
    with refused("reject-split-empty", "isolated atoms: 0,"):
        split_collection(of_molecules(tmp_path, []), {"valid": 0.5}, seed=0)
    with refused("reject-split-empty", "groups by 'molecule': 2, too few for 3 parts"):
        split_collection(of_molecules(tmp_path, "aabb"), {"valid": 0.2, "test": 0.2}, seed=0, by="molecule")
    with refused("reject-split-empty", "valid 2, test 1, other 1", "train"):
        shares = {"valid": 0.7, "test": 0.01, "other": 0.01}
        split_collection(of_molecules(tmp_path, "abcd"), shares, seed=0)
    atoms = [isolated("H", -1.0), isolated("O", -2.0)]
    with refused("reject-split-empty", "besides isolated atoms"):
        split_collection(collection(tmp_path / "b.mrec.lmdb", atoms), {"valid": 0.5}, seed=0)


# -- index files ------------------------------------------------------------------------------------------------------


def test_index_files_are_not_replaced_unless_asked(tmp_path: Path, fifty: Collection) -> None:
    split = split_collection(fifty, {"valid": 0.1}, seed=7)
    folder = tmp_path / "new" / "folder"
    paths = write_split(split, folder, seed=7)
    assert [path.name for path in paths.values()] == ["train_indices_7.txt", "valid_indices_7.txt"]
    paths["train"].unlink()
    before = paths["valid"].read_bytes()
    with refused("reject-existing-path", "valid_indices_7.txt"):
        write_split(split, folder, seed=7)
    assert [path.name for path in folder.iterdir()] == ["valid_indices_7.txt"]
    assert paths["valid"].read_bytes() == before
    write_split(split, folder, seed=7, overwrite=True)
    assert read_indices(paths["train"], 50).tolist() == split.parts["train"].tolist()


@given(numbers=st.lists(st.integers(0, 10**18 - 1), min_size=1, unique=True))
def test_an_index_file_reads_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, numbers: list[int]) -> None:
    path = tmp_path_factory.mktemp("indices") / "a.txt"
    path.write_text("".join(f"{number}\n" for number in numbers))
    assert read_indices(path).tolist() == numbers
    assert read_indices(path).dtype == np.int64


@pytest.mark.parametrize(
    ("content", "mentions"),
    [
        (b"", "holds no number"),
        (b"1\n\n2\n", "line 2"),
        (b"1\nx\n", "line 2"),
        (b"1.0\n", "line 1"),
        (b"-1\n", "line 1"),
        (b"0\n1 2\n", "line 2"),
        (b"0\n5\n", "line 2: record 5 of a collection of 5"),
        (b"3\n1\n3\n", "line 3: record 3 is in line 1 already"),
        (b"9" * 40, "line 1"),
        ("\N{ARABIC-INDIC DIGIT ONE}\n".encode(), "line 1"),
        (b"\xff\xfe\x00", "no text file"),
    ],
)
def test_index_files_that_are_refused(tmp_path: Path, content: bytes, mentions: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with refused("reject-index-file", "a.txt", mentions, kind=mr.FormatError):
        read_indices(path, 5)
