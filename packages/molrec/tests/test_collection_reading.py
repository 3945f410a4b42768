"""Collections: batches, views, threads and processes."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import molrec as mr

from .collections_made import (
    frame,
    run_of,
    write,
)
from .strategies import Run, runs, scratch


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a test may write its collection."""
    return tmp_path / "set.mrec.lmdb"


# -- batches and views ------------------------------------------------------------------------------------------------


def test_a_batch_is_the_frames_end_to_end(path: Path) -> None:
    rng = np.random.default_rng(1)
    records = []
    for number in range(30):
        count = int(rng.integers(1, 6))
        run = [frame(count, float(rng.normal()), pe=float(rng.normal())) for _ in range(int(rng.integers(0, 4)))]
        elements = mr.Block({"element": rng.choice(["O", "H"], count).tolist(), "n": rng.integers(0, 9, count)})
        records.append({"record": run, "system": mr.Frame({"atoms": elements}), "meta": {"number": number}})
    write(path, *records)
    collection = mr.open_collection(path)
    order = [3, 3, -1, *rng.permutation(30).tolist()]
    batch = collection.batch(order, ["atoms/x", "atoms/z", "atoms/element", "atoms/n"], ["pe"])
    frames = [collection[i].joined(j) for i in order for j in range(len(collection.frames(i)))]
    assert batch["/"].tolist() == np.cumsum([0, *(len(collection.frames(i)) for i in order)]).tolist()
    assert batch["atoms"].tolist() == np.cumsum([0, *(f["atoms"].rows for f in frames)]).tolist()
    assert batch["atoms"].dtype == np.int64
    for name in ("x", "z", "element", "n"):
        wanted = np.concatenate([f["atoms"][name] for f in frames])
        assert batch[f"atoms/{name}"].dtype == wanted.dtype
        assert (batch[f"atoms/{name}"] == wanted).all()
    assert batch["meta/pe"].tolist() == [f.meta["pe"] for f in frames]
    batch["atoms/x"][:] = 0.0
    assert (collection.frames(order[0]) == collection.frames(order[0])) or not frames


@given(runs(max_frames=4))
def test_a_batch_resolves_as_frames_do(drawn: Run) -> None:
    with scratch() as folder:
        path = folder / "set.mrec.lmdb"
        frames = [presented.frame for presented in drawn.presented]
        write(path, frames, frames[:1], schema=drawn.shape.schema())
        collection = mr.open_collection(path)
        batch = collection.batch([1, 0])
        found = [*collection.frames(1), *collection.frames(0)]
        for name, shape in drawn.shape.blocks.items():
            present = [f[name] for f in found if name in f]
            if not shape.columns:
                assert name not in batch
                continue
            assert np.diff(batch[name]).tolist() == [f[name].rows if name in f else 0 for f in found]
            for column, declared in shape.columns.items():
                joined = batch[f"{name}/{column}"]
                assert joined.shape == (sum(block.rows for block in present), *declared.trailing)
                if declared.dtype == "string":
                    assert joined.ravel().tolist() == [t for block in present for t in block[column].ravel().tolist()]
                else:
                    assert joined.tobytes() == b"".join(block[column].tobytes() for block in present)
                if declared.nullable:
                    masks = [block.validity(column) for block in present]
                    assert batch[f"{name}/{column}/validity"].tolist() == [
                        flag
                        for block, mask in zip(present, masks, strict=True)
                        for flag in ([True] * block.rows if mask is None else mask.tolist())
                    ]
        for name, tag in drawn.shape.meta.items():
            assert len(batch[f"meta/{name}"]) == len(found)
            assert isinstance(batch[f"meta/{name}"], list) == (tag == "json")


def test_names_a_batch_does_not_find(path: Path) -> None:
    system = mr.Frame({"atoms": mr.Block({"n": np.array([1, 2])})})
    write(path, {"record": frame(2), "system": system}, frame(2))
    collection = mr.open_collection(path)
    for columns in (["x"], ["atoms/none"], ["none/x"], ["meta/pe"]):
        with pytest.raises(KeyError):
            collection.batch([0], columns)
    with pytest.raises(KeyError, match="record 1"):
        collection.batch([0, 1], ["atoms/n"])
    with pytest.raises(KeyError, match="pe"):
        collection.batch([0], ["atoms/x"], ["pe"])
    with pytest.raises(IndexError):
        collection.batch([2])


def test_a_view_copies_nothing_that_is_aligned(path: Path) -> None:
    large = frame(2000)
    write(path, large, frame(2))
    collection = mr.open_collection(path)
    with collection.view(0) as record:
        view = run_of(record)[0]["atoms"]["y"]
        assert (view == large["atoms"]["y"]).all()
        assert not view.flags.writeable
        assert view.flags.aligned
        base: Any = view
        while isinstance(base, np.ndarray):
            base = base.base
        assert type(base).__name__ == "_Mapped"
    with collection.view(1) as record:
        assert run_of(record)[0] == frame(2)
    collection.close()
    del collection, record
    assert (view == large["atoms"]["y"]).all(), "an array keeps the map it lies in"
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0


def test_a_file_on_read_only_media_is_read(path: Path) -> None:
    write(path, frame())
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert mr.open_collection(path).frames(0) == [frame()]
        assert [found.name for found in path.parent.iterdir()] == [path.name]
    finally:
        path.parent.chmod(0o755)


def test_one_file_is_opened_many_times_and_by_many_threads(path: Path) -> None:
    write(path, *[frame(5, i) for i in range(200)])
    readers = [mr.open_collection(path) for _ in range(4)]

    def read(start: int) -> bool:
        reader = readers[start % 4]
        return all(
            reader.frames(i) == [frame(5, i)] and reader.batch([i])["atoms/x"][0] == i for i in range(start, 200, 8)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(8)))


def total(collection: Any, start: int) -> float:
    """Sum what one worker reads."""
    return float(sum(collection.batch([i])["atoms/x"].sum() for i in range(start, len(collection), 3)))


@pytest.mark.parametrize(
    "method", ["spawn", pytest.param("fork", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"))]
)
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_other_processes_read_a_collection_handed_to_them(path: Path, method: str) -> None:
    write(path, *[frame(5, i) for i in range(30)])
    collection = mr.open_collection(path)
    expected = [total(collection, start) for start in range(3)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.starmap(total, [(collection, start) for start in range(3)]) == expected
    assert total(collection, 0) == expected[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_child_reads_what_its_parent_opened_views_included(path: Path) -> None:
    write(path, frame(2000), frame(3))
    collection = mr.open_collection(path)
    with collection.view(0) as record:
        view = run_of(record)[0]["atoms"]["x"]
        child = os.fork()
        if not child:
            good = collection.frames(1) == [frame(3)] and view[-1] == 1999.0
            del record, view
            good = good and collection.frames(1) == [frame(3)] and len(mr.open_collection(path)) == 2
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert collection.frames(1) == [frame(3)]


def test_a_record_and_a_collection_are_pickled(path: Path) -> None:
    write(path, frame(3))
    collection = mr.open_collection(path)
    assert pickle.loads(pickle.dumps(collection)).frames(0) == [frame(3)]
    assert pickle.loads(pickle.dumps(collection[0])).trajectory[0] == frame(3)
    assert pickle.loads(pickle.dumps(collection.frames(0))) == [frame(3)]


def test_a_frame_read_is_the_callers_to_change(path: Path) -> None:
    write(path, [frame(3, pe=1.0), frame(3, 1.0, pe=2.0)])
    collection = mr.open_collection(path)
    for changed in (collection[0].trajectory[0], collection.frames(0)[0]):  # type: ignore[index]
        changed.meta["mine"] = "new"
        del changed.meta["pe"]
        changed["atoms"]["x"] = np.zeros(3)
        changed["more"] = mr.Block()
    assert collection.frames(0) == [frame(3, pe=1.0), frame(3, 1.0, pe=2.0)]
    assert collection.schema.meta.keys() == {"pe"}
