"""A collection as a PyTorch dataset: every structure once, bit for bit, with workers of every start method."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr

from .collections_made import write
from .refusals import refused

torch = pytest.importorskip("torch")

from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, RandomSampler, Subset, random_split  # noqa: E402

from molrec.interop.torch import CollectionDataset, Selection, collate  # noqa: E402

pytestmark = [
    pytest.mark.engines,
    # PyTorch has threads; a DataLoader forks all the same
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning"),
]

STRUCTURES = 53
METHODS = ["fork", "spawn", "forkserver"] if hasattr(os, "fork") else ["spawn"]


def structure(rng: np.random.Generator, number: int) -> mr.Frame:
    """Return a labelled structure with a column of every kind."""
    count = int(rng.integers(1, 9))
    columns: dict[str, Any] = {name: rng.normal(size=count) for name in ("x", "y", "z", "fx", "fy", "fz")}
    columns["atomic_number"] = rng.integers(1, 9, count).astype(np.uint64)
    columns["element"] = rng.choice(["H", "O"], count).tolist()
    columns["fixed"] = rng.random(count) < 0.5
    columns["spin"] = rng.integers(0, 9, count).astype(np.uint32)
    columns["dipole"] = rng.normal(size=(count, 3))
    atoms = mr.Block(columns)
    atoms["b_factor"] = rng.normal(size=count)
    atoms.set_validity("b_factor", rng.random(count) < 0.5)
    bonds = mr.Block({"atomi": np.zeros(number % 3, np.uint64), "atomj": np.full(number % 3, count - 1, np.uint64)})
    bonds.set_target("atomi", "atoms")
    bonds.set_target("atomj", "atoms")
    meta = {"pe": float(rng.normal()), "number": number, "virial": rng.normal(size=6), "config": "ab"}
    return mr.Frame({"atoms": atoms, "bonds": bonds}, meta=meta)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a collection of small structures."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("torch") / "set.mrec.lmdb"
    write(path, *[structure(rng, number) for number in range(STRUCTURES)])
    return path


@pytest.fixture
def dataset(path: Path) -> CollectionDataset:
    return CollectionDataset(path)


def same(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Tell whether two batches are the same, bit for bit."""
    return found.keys() == wanted.keys() and all(
        found[key] == value
        if isinstance(value, list)
        else (found[key].dtype, found[key].shape) == (value.dtype, value.shape)
        and found[key].numpy().tobytes() == value.numpy().tobytes()
        for key, value in wanted.items()
    )


def numbers(batches: Iterator[dict[str, Any]]) -> list[int]:
    return [number for batch in batches for number in batch["meta/number"].tolist()]


# -- what a batch is --------------------------------------------------------------------------------------------------


def test_a_batch_is_what_the_collection_reads(path: Path, dataset: CollectionDataset) -> None:
    order = [7, 7, -1, 0, 30]
    wanted = mr.open_collection(path).batch(order)
    found = dataset.read(order)
    assert set(found) == {
        "positions", "forces", "atoms/atomic_number", "atoms/element", "atoms/fixed", "atoms/spin", "atoms/dipole",
        "atoms/b_factor", "atoms/b_factor/validity", "bonds/atomi", "bonds/atomj", "ptr", "batch", "bonds/ptr",
        "bonds/batch", "frame_ptr", "meta/pe", "meta/number", "meta/virial", "meta/config",
    }  # fmt: skip
    for name, columns in (("positions", "xyz"), ("forces", ("fx", "fy", "fz"))):
        assert found[name].dtype == torch.float64
        assert (found[name].numpy() == np.stack([wanted[f"atoms/{column}"] for column in columns], axis=1)).all()
    for key in ("atoms/fixed", "atoms/dipole", "atoms/b_factor", "atoms/b_factor/validity"):
        assert found[key].numpy().dtype == wanted[key].dtype
        assert (found[key].numpy() == wanted[key]).all()
    for key in ("atoms/atomic_number", "atoms/spin", "bonds/atomj"):
        assert found[key].dtype == torch.int64
        assert found[key].tolist() == wanted[key].tolist()
    assert found["atoms/element"] == wanted["atoms/element"].tolist()
    assert found["meta/config"] == ["ab"] * 5
    assert found["meta/pe"].shape == (5,)
    assert found["meta/virial"].shape == (5, 6)
    assert found["meta/virial"].tolist() == wanted["meta/virial"].tolist()
    assert found["meta/number"].tolist() == [7, 7, STRUCTURES - 1, 0, 30]


def test_pointers_and_members_agree(path: Path, dataset: CollectionDataset) -> None:
    found = dataset.read(range(STRUCTURES))
    frames = [frame for record in mr.open_collection(path) for frame in record.trajectory or ()]
    for block, pointers, members in (("atoms", "ptr", "batch"), ("bonds", "bonds/ptr", "bonds/batch")):
        assert found[pointers].dtype == found[members].dtype == torch.int64
        assert torch.diff(found[pointers]).tolist() == [frame[block].rows for frame in frames]
        assert found[members].tolist() == [
            place for place, frame in enumerate(frames) for _ in range(frame[block].rows)
        ]
    assert found["frame_ptr"].tolist() == list(range(STRUCTURES + 1))
    last_atoms = found["bonds/atomj"] + found["ptr"][found["bonds/batch"]]
    assert (found["batch"][last_atoms] == found["bonds/batch"]).all()
    assert (last_atoms + 1 == found["ptr"][found["bonds/batch"] + 1]).all()


def test_a_record_of_several_frames_is_one_item(tmp_path: Path) -> None:
    frame = mr.Frame({"atoms": mr.Block({"x": [0.0, 1.0]})}, meta={"pe": 1.0})
    write(tmp_path / "runs.mrec.lmdb", [frame, frame, frame], [], frame)
    dataset = CollectionDataset(tmp_path / "runs.mrec.lmdb")
    found = dataset.read([2, 1, 0])
    assert found["frame_ptr"].tolist() == [0, 1, 1, 4]
    assert found["ptr"].tolist() == [0, 2, 4, 6, 8]
    assert found["meta/pe"].tolist() == [1.0] * 4
    assert same(collate([dataset[2], dataset[1], dataset[0]]), found)


def test_one_item_is_a_batch_of_one(dataset: CollectionDataset) -> None:
    for index in (0, 17, -1):
        assert same(dataset[index], dataset.read([index]))
        assert same(dataset[index], collate(dataset.__getitems__([index])))
    assert dataset[0]["batch"].tolist() == [0] * int(dataset[0]["ptr"][1])


def test_samples_put_together_are_the_batch(dataset: CollectionDataset) -> None:
    order = [5, 1, 1, 40]
    assert same(collate([dataset[index] for index in order]), dataset.read(order))
    selection = dataset.__getitems__(order)
    assert isinstance(selection, Selection)
    assert len(selection) == 4
    assert same(collate(list(selection)), dataset.read(order))
    assert same(collate(selection[1:]), dataset.read(order[1:]))
    assert same(selection[3], dataset[40])


def test_tensors_share_the_memory_of_a_batch(path: Path) -> None:
    batch = mr.open_collection(path).batch([3, 4], ["atoms/x", "atoms/y", "atoms/atomic_number"])
    found = collate(batch)
    assert {"atoms/x", "atoms/y", "atoms/atomic_number", "ptr", "batch", "frame_ptr"} < found.keys()
    for key in ("atoms/x", "atoms/atomic_number", "meta/pe"):
        assert found[key].data_ptr() == batch[key].ctypes.data
    assert "positions" in collate(mr.open_collection(path).batch([3, 4]))
    assert same(collate(found), found)


def test_only_floats_are_cast_and_only_when_asked(path: Path) -> None:
    plain, cast = CollectionDataset(path).read([1, 2]), CollectionDataset(path, dtype=torch.float32).read([1, 2])
    for key, value in plain.items():
        if isinstance(value, list):
            assert cast[key] == value
        elif value.dtype == torch.float64:
            assert cast[key].dtype == torch.float32
            assert (cast[key] == value.to(torch.float32)).all()
        else:
            assert cast[key].dtype == value.dtype
            assert (cast[key] == value).all()
    half = CollectionDataset(path, dtype=torch.bfloat16)
    assert half[0]["positions"].dtype == half[0]["meta/pe"].dtype == torch.bfloat16


def test_columns_and_keys_are_chosen_and_stacked(path: Path) -> None:
    dataset = CollectionDataset(path, columns=["atoms/x", "atoms/y", "atoms/z", "atoms/spin"], meta=["pe"])
    assert dataset[0].keys() == {"positions", "atoms/spin", "ptr", "batch", "frame_ptr", "meta/pe"}
    bare = CollectionDataset(path, columns=["atoms/x", "atoms/y", "atoms/z"], meta=[], stack={})
    assert bare[0].keys() == {"atoms/x", "atoms/y", "atoms/z", "ptr", "batch", "frame_ptr"}
    pairs = CollectionDataset(
        path, columns=["bonds/atomi", "bonds/atomj"], meta=[], stack={"edges": ("bonds/atomi", "bonds/atomj")}
    )
    assert pairs[2].keys() == {"edges", "bonds/ptr", "bonds/batch", "frame_ptr"}
    assert pairs[2]["edges"].shape == (2, 2)
    assert pairs[2]["edges"].dtype == torch.int64
    one = CollectionDataset(path, columns="atoms/x", meta="pe")
    assert one[0].keys() == {"atoms/x", "ptr", "batch", "frame_ptr", "meta/pe"}


def test_columns_side_by_side_have_one_mask(tmp_path: Path) -> None:
    forces = mr.Block({name: np.arange(3.0) for name in ("x", "y", "z", "fx", "fy", "fz")})
    forces.set_validity("fx", np.array([True, False, True]))
    forces.set_validity("fz", np.array([True, True, False]))
    write(tmp_path / "set.mrec.lmdb", mr.Frame({"atoms": forces}))
    dataset = CollectionDataset(tmp_path / "set.mrec.lmdb")
    assert dataset[0].keys() == {"positions", "forces", "forces/validity", "ptr", "batch", "frame_ptr"}
    assert dataset[0]["forces/validity"].tolist() == [True, False, False]
    assert dataset.read([0, 0])["forces/validity"].tolist() == [True, False, False] * 2
    assert same(collate([dataset[0], dataset[0]]), dataset.read([0, 0]))


def test_a_column_of_the_system_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "system.mrec.lmdb"
    system = mr.Frame({"atoms": mr.Block({"atomic_number": np.array([8, 1], np.uint64)})})
    write(path, {"record": mr.Frame({"atoms": mr.Block({"x": [0.0, 1.0]})}), "system": system})
    found = CollectionDataset(path, columns=["atoms/x", "atoms/atomic_number"])[0]
    assert found["atoms/atomic_number"].tolist() == [8, 1]


def test_an_empty_dataset_and_an_empty_collection(path: Path, tmp_path: Path) -> None:
    assert len(CollectionDataset(path, indices=[])) == 0
    assert list(DataLoader(CollectionDataset(path, indices=[]), batch_size=4, collate_fn=collate)) == []
    write(tmp_path / "none.mrec.lmdb")
    assert len(CollectionDataset(tmp_path / "none.mrec.lmdb")) == 0


# -- in a DataLoader --------------------------------------------------------------------------------------------------


def shuffled(dataset: Any, workers: int, method: str | None = None, **options: Any) -> Any:
    """Return a loader whose order is the same each time it is made."""
    generator = torch.Generator().manual_seed(11)
    return DataLoader(
        dataset, batch_size=8, shuffle=True, num_workers=workers, generator=generator, collate_fn=collate,
        multiprocessing_context=method, **options,
    )  # fmt: skip


def test_a_shuffled_loader_equals_direct_reads(dataset: CollectionDataset) -> None:
    batches = list(shuffled(dataset, 0))
    seen = numbers(iter(batches))
    assert sorted(seen) == list(range(STRUCTURES))
    assert seen != sorted(seen)
    assert all(same(batch, dataset.read(batch["meta/number"].tolist())) for batch in batches)


@pytest.mark.parametrize("method", METHODS)
def test_two_workers_read_the_same(dataset: CollectionDataset, method: str) -> None:
    wanted = list(shuffled(dataset, 0))
    found = list(shuffled(dataset, 2, method))
    assert len(found) == len(wanted)
    assert all(same(mine, theirs) for mine, theirs in zip(found, wanted, strict=True))
    storages = {tensor.untyped_storage().data_ptr() for tensor in found[0].values() if torch.is_tensor(tensor)}
    assert len(storages) == 1, "a batch is handed over in one piece"
    assert same(dataset.read(wanted[0]["meta/number"].tolist()), wanted[0])


@pytest.mark.parametrize("method", METHODS[:1])
def test_every_structure_once_an_epoch_with_workers_that_stay(dataset: CollectionDataset, method: str) -> None:
    loader = shuffled(dataset, 2, method, persistent_workers=True, prefetch_factor=3)
    epochs = [numbers(iter(loader)) for _ in range(3)]
    assert all(sorted(seen) == list(range(STRUCTURES)) for seen in epochs)
    assert epochs[0] != epochs[1]
    del loader


def test_a_dataset_over_some_indices(path: Path) -> None:
    chosen = [4, 4, -1, 20]
    dataset = CollectionDataset(path, indices=chosen)
    assert len(dataset) == 4
    assert dataset.read([0, 1, 2, 3])["meta/number"].tolist() == [4, 4, STRUCTURES - 1, 20]
    assert sorted(numbers(iter(shuffled(dataset, 0)))) == [4, 4, 20, STRUCTURES - 1]
    assert CollectionDataset(path, indices=np.array([2, -2], np.int32))[-1]["meta/number"].tolist() == [STRUCTURES - 2]
    chosen[0] = 0
    assert dataset[0]["meta/number"].tolist() == [4]


def test_a_folder_of_shards_is_read_as_one_collection(dataset: CollectionDataset, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frames = [structure(rng, number) for number in range(STRUCTURES)]
    write(tmp_path / "a.mrec.lmdb", *frames[:20])
    write(tmp_path / "b.mrec.lmdb", *frames[20:])
    shards = CollectionDataset(tmp_path)
    assert len(shards) == STRUCTURES
    found, wanted = list(shuffled(shards, 2, "spawn")), list(shuffled(dataset, 0))
    assert all(same(mine, theirs) for mine, theirs in zip(found, wanted, strict=True))


def test_a_batch_sampler_chooses(dataset: CollectionDataset) -> None:
    sampler = BatchSampler(RandomSampler(dataset, generator=torch.Generator().manual_seed(1)), 10, drop_last=True)
    batches = list(DataLoader(dataset, batch_sampler=sampler, collate_fn=collate))
    assert [len(batch["meta/number"]) for batch in batches] == [10] * 5
    assert len(set(numbers(iter(batches)))) == 50
    whole = list(DataLoader(dataset, sampler=sampler, batch_size=None, collate_fn=collate))
    assert [len(batch["meta/number"]) for batch in whole] == [10] * 5
    assert all(same(batch, dataset.read(batch["meta/number"].tolist())) for batch in whole)


def test_parts_and_sums_of_datasets(path: Path, dataset: CollectionDataset) -> None:
    train, valid = random_split(dataset, [40, 13], generator=torch.Generator().manual_seed(2))
    seen = [numbers(iter(DataLoader(part, batch_size=7, collate_fn=collate))) for part in (train, valid)]
    assert sorted(seen[0] + seen[1]) == list(range(STRUCTURES))
    both = ConcatDataset([Subset(dataset, [1, 2]), CollectionDataset(path, indices=[3])])
    (batch,) = DataLoader(both, batch_size=3, collate_fn=collate)
    assert same(batch, dataset.read([1, 2, 3]))


def test_a_dataset_is_pickled_and_knows_when_another_collection_is_there(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.mrec.lmdb"
    copy.write_bytes(path.read_bytes())
    dataset = CollectionDataset(mr.open_collection(copy), indices=[5, 6], dtype=torch.float32)
    stored = pickle.dumps(dataset)
    assert same(pickle.loads(stored).read([0, 1]), dataset.read([0, 1]))
    write(copy, mr.Frame(), overwrite=True)
    with pytest.raises(RuntimeError, match="another has taken its place"):
        pickle.loads(stored)


# -- refusals, before any worker starts -------------------------------------------------------------------------------


def test_what_is_wrong_shows_when_the_dataset_is_made(path: Path, tmp_path: Path) -> None:
    with refused("reject-not-a-collection", "none.mrec.lmdb", kind=mr.FormatError):
        CollectionDataset(tmp_path / "none.mrec.lmdb")
    for options in ({"columns": ["atoms/none"]}, {"columns": ["atoms/x"], "meta": ["none"]}):
        with pytest.raises(KeyError, match="none"):
            CollectionDataset(path, **options)  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="record 53 of a collection of 53, at 1 of indices"):
        CollectionDataset(path, indices=[0, STRUCTURES])
    for indices in ([0.5], [True, False], [[1, 2]]):
        with pytest.raises(TypeError, match="integers in one row"):
            CollectionDataset(path, indices=indices)  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="item 2 of a dataset of 2"):
        CollectionDataset(path, indices=[4, 5])[2]


def test_a_dtype_no_float_can_have_is_refused(path: Path) -> None:
    for dtype in (torch.int64, "float32", np.float32):
        with pytest.raises(TypeError, match="floating-point dtype of PyTorch"):
            CollectionDataset(path, dtype=dtype)


@pytest.mark.parametrize(
    ("stack", "error", "says"),
    [
        ({"p": ("atoms/x", "atoms/none")}, KeyError, "atoms/none"),
        ({"p": ("atoms/x", "bonds/atomi")}, ValueError, "not of one block"),
        ({"p": ("atoms/x", "atoms/spin")}, TypeError, "atoms/spin torch.int64"),
        ({"p": ("atoms/x", "atoms/element")}, TypeError, "atoms/element strings"),
        ({"p": ("atoms/dipole",)}, TypeError, "plain numbers"),
        ({"p": ()}, ValueError, "no columns"),
        ({"ptr": ("atoms/x",)}, ValueError, "'ptr'"),
        ({"bonds": ("atoms/x",)}, ValueError, "'bonds' is a block"),
        ({"atoms/p": ("atoms/x",)}, ValueError, "'atoms/p'"),
    ],
)
def test_a_stack_that_cannot_be_is_refused(path: Path, stack: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        CollectionDataset(path, stack=stack)


def test_a_column_called_as_pointers_are_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "set.mrec.lmdb", mr.Frame({"bonds": mr.Block({"ptr": [1, 2]})}))
    with pytest.raises(ValueError, match="bonds/ptr"):
        CollectionDataset(tmp_path / "set.mrec.lmdb")


def test_an_integer_past_int64_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "set.mrec.lmdb"
    frames = [mr.Frame({"atoms": mr.Block({"hash": np.array([1, value], np.uint64)})}) for value in (2**63 - 1, 2**63)]
    write(path, *frames)
    dataset = CollectionDataset(path)
    assert dataset[0]["atoms/hash"].tolist() == [1, 2**63 - 1]
    with pytest.raises(OverflowError, match="atoms/hash: 9223372036854775808 is past int64"):
        dataset.read([0, 1])


def test_samples_of_different_names_are_not_put_together(path: Path, dataset: CollectionDataset) -> None:
    other = CollectionDataset(path, columns=["atoms/x"])
    with pytest.raises(ValueError, match=r"different names: .*atoms/spin"):
        collate([dataset[0], other[0]])
    with pytest.raises(ValueError, match="no samples"):
        collate([])


def test_without_pytorch_the_import_says_what_to_install() -> None:
    program = "import sys; sys.modules['torch'] = None\nimport molrec.interop.torch"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "pip install 'molrec[torch]'" in found.stderr
