"""Batches of frames that were read before: the same as the first time, and as frames say."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import molrec as mr
from molrec.storage.lmdb.batch import BatchReader
from molrec.storage.lmdb.collection_reader import Collection

from .collections_made import UNITS, key, tampered, write
from .refusals import refused

_NUMPY_NAMES = {
    "f64": "f8",
    "i8": "i1",
    "u16": "u2",
    "i32": "i4",
    "u64": "u8",
    "bool": "u1",
    "c64": "c8",
    "c128": "c16",
}


@st.composite
def _sets(draw: st.DrawFn) -> list[mr.Frame]:
    """Draw frames of one declaration: any fixed-size columns, nulls, absent blocks, no rows."""
    columns = draw(
        st.dictionaries(
            st.sampled_from(["a", "b", "c"]),
            st.tuples(st.sampled_from(list(_NUMPY_NAMES)), st.sampled_from([(), (3,), (2, 2)]), st.booleans()),
            min_size=1,
        )
    )
    frames = []
    for _ in range(draw(st.integers(1, 6))):
        blocks = {}
        for name in draw(st.lists(st.sampled_from(["atoms", "beads"]), unique=True)):
            rows = draw(st.integers(0, 4))
            block = mr.Block(rows=rows)
            generator = np.random.default_rng(draw(st.integers(0, 99)))
            for column, (dtype, trailing, nullable) in columns.items():
                content = generator.bytes(rows * int(np.prod(trailing)) * 16)
                numpy_name = _NUMPY_NAMES[dtype]
                values = np.frombuffer(content, numpy_name)[: rows * int(np.prod(trailing))].reshape(rows, *trailing)
                block[column] = values % 2 == 1 if dtype == "bool" else values
                if nullable and rows:
                    block.set_validity(column, generator.integers(0, 2, rows) == 1)
            blocks[name] = block
        meta = mr.Meta({"pe": draw(st.floats()), "n": draw(st.integers(-5, 5))})
        meta.set("v", (draw(st.floats()), 1.0, 2.0), tag="f64x3")
        frames.append(mr.Frame(blocks, meta=meta))
    return frames


def read_slowly(collection: Collection, indices: list[int], **options: Any) -> dict[str, Any]:
    """Return a batch without what is remembered."""
    with ExitStack() as stack:
        parts = collection._parts(indices, stack)
        columns, meta = options.get("columns"), options.get("meta")
        return BatchReader(collection._declared, collection._system_headers, columns, meta, "here").read(parts)


def assert_same(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert list(first) == list(second)
    for name, values in first.items():
        assert values.dtype == second[name].dtype, name
        assert values.shape == second[name].shape, name
        assert values.tobytes() == second[name].tobytes(), name


@given(_sets(), st.data())
@settings(max_examples=60)
def test_a_batch_is_what_it_is_the_first_time(
    tmp_path_factory: pytest.TempPathFactory, frames: list[mr.Frame], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("set") / "set.mrec.lmdb"
    with mr.CollectionWriter(path, UNITS) as writer:
        for frame in frames:
            writer.append(frame)
    with mr.open_collection(path) as collection:
        names = [f"{block}/{column}" for block, found in collection.schema.blocks.items() for column in found.columns]
        for _ in range(3):
            indices = data.draw(st.lists(st.integers(0, len(frames) - 1), min_size=1, max_size=8))
            options: dict[str, Any] = {
                "columns": data.draw(st.none() | st.permutations(names)),
                "meta": data.draw(st.none() | st.sampled_from([["pe"], ["v", "n"], []])),
            }
            assert_same(collection.batch(indices, **options), read_slowly(collection, indices, **options))
            assert_same(collection.batch(indices, **options), read_slowly(collection, indices, **options))
            assert collection._places is not None
            assert (collection._places._layout[indices] >= 0).all()


def _frames(count: int) -> list[mr.Frame]:
    return [
        mr.Frame(
            {"atoms": mr.Block({"x": np.arange(1.0 + place), "k": np.full(1 + place, place % 256, np.uint8)})},
            {"pe": place / 3},
        )
        for place in range(count)
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "set.mrec.lmdb"
    write(path, *_frames(20))
    return path


def test_arrays_are_the_callers(path: Path) -> None:
    collection = mr.open_collection(path)
    collection.batch([3, 4])
    batch = collection.batch([3, 4])
    batch["atoms/x"][:] = 9.0
    batch["meta/pe"][:] = 9.0
    assert collection.batch([3])["atoms/x"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert collection.batch([3])["meta/pe"].tolist() == [1.0]


def test_arrays_outlive_the_collection(path: Path) -> None:
    collection = mr.open_collection(path)
    collection.batch(range(20))
    batch = collection.batch(range(20))
    collection.close()
    del collection
    assert batch["atoms/x"].sum() == sum(sum(range(place + 1)) for place in range(20))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_what_is_remembered_is_true_after_a_fork(path: Path) -> None:
    collection = mr.open_collection(path)
    expected = collection.batch(range(20))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            batch = collection.batch(range(20))
            same = all(batch[name].tobytes() == expected[name].tobytes() for name in expected)
            os.write(writing, b"1" if same and collection._places is not None else b"0")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1) == b"1"
    os.close(reading)
    os.close(writing)


def test_threads_may_learn_at_once(tmp_path: Path) -> None:
    path = tmp_path / "set.mrec.lmdb"
    write(path, *_frames(300))
    collection = mr.open_collection(path)
    found: list[bool] = []

    def read() -> None:
        for _ in range(20):
            order = np.random.default_rng().permutation(300)
            batch = collection.batch(order)
            found.append(bool((np.diff(batch["atoms"]) == order + 1).all() and (batch["meta/pe"] == order / 3).all()))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


def test_texts_beside_what_is_asked_for_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "set.mrec.lmdb"
    frames = [mr.Frame({"atoms": mr.Block({"x": [float(place)], "name": [f"n{place}"]})}) for place in range(50)]
    write(path, *frames)
    collection = mr.open_collection(path)
    for _ in range(2):
        assert collection.batch(range(50), columns=["atoms/x"])["atoms/x"].tolist() == list(range(50))
    assert collection._places is not None
    assert len(collection._places._layouts) == 1


def test_records_of_several_frames_and_texts_are_read_as_ever(path: Path) -> None:
    texts = mr.Frame({"atoms": mr.Block({"name": ["a", "b"]})}, {"note": "text"})
    write(path.with_name("texts.mrec.lmdb"), texts, [texts, texts])
    collection = mr.open_collection(path.with_name("texts.mrec.lmdb"))
    for _ in range(2):
        assert collection.batch([0])["atoms/name"].tolist() == ["a", "b"]
        assert collection.batch([1])["/"].tolist() == [0, 2]
        assert list(collection.batch([0], columns=[])["meta/note"]) == ["text"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_damaged_frame_is_refused_whenever_it_is_asked_for(path: Path, times: int) -> None:
    spoiled = tampered(path, lambda file: file.put(key("f", 7), b"MRF2" + bytes(40)))
    collection = mr.open_collection(spoiled)
    for _ in range(times):
        collection.batch([6, 8])
        with refused("reject-bad-magic", "record 7", kind=mr.FormatError):
            collection.batch([6, 7, 8])


def test_a_frame_that_is_gone_is_refused(path: Path) -> None:
    collection = mr.open_collection(tampered(path, lambda file: file.delete(key("f", 7))))
    with refused("reject-missing-key", "record 7", kind=mr.FormatError):
        collection.batch([6, 7, 8])
