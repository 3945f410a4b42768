"""Shards opened as one collection: the same as the whole they were split from, or refused."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec import typedjson
from molrec.storage.lmdb.collection_reader import Collection
from molrec.storage.lmdb.shard_names import shard_name
from molrec.storage.lmdb.sharded_collection import ShardedCollection

from .collections_made import UNITS, forcefield, frame, run_of, tampered
from .refusals import refused
from .strategies import Run, exact, plain_block, plain_frame, presentations, run_shapes, scratch

type Appended = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for shards."""
    return tmp_path / "data"


def write_shard(path: Path, records: Sequence[Appended], **options: Any) -> Path:
    """Write one collection."""
    with mr.CollectionWriter(path, **{"units": UNITS, **options}) as writer:
        for record in records:
            writer.append(**record)
    return path


def two(folder: Path, first: dict[str, Any], second: dict[str, Any]) -> tuple[Path, Path]:
    """Write two shards of one frame each, with options of their own."""
    return tuple(
        write_shard(folder / f"{name}.mrec.lmdb", options.pop("records", [{"record": frame()}]), **options)
        for name, options in (("a", first), ("b", second))
    )  # type: ignore[return-value]


# -- the same as the whole --------------------------------------------------------------------------------------------


@st.composite
def split_collections(draw: st.DrawFn) -> tuple[list[Appended], dict[str, Any], list[int]]:
    """Return the records of a collection, the options of its writer, and the records of each shard."""
    shape = draw(run_shapes())
    records: list[Appended] = []
    for number in range(draw(st.integers(1, 6))):
        run = Run(shape)
        last: int | None = None
        for ordinal in range(draw(st.integers(0, 3))):
            presented = draw(presentations(shape, ordinal, last))
            last = presented.step if presented.step is not None else (0 if last is None else last + 1)
            run.presented.append(presented)
        system = mr.Frame({"inert": mr.Block({"kind": ["a"] * (number % 3)})}) if draw(st.booleans()) else None
        has_run = system is None or draw(st.booleans())
        steps = [presented.step for presented in run.presented]
        times = [presented.time for presented in run.presented]
        records.append({
            "record": [presented.frame for presented in run.presented] if has_run else None,
            "step": steps if has_run and steps and steps[0] is not None else None,
            "time": times if has_run and times and times[0] is not None else None,
            "system": system,
            "meta": {"number": number},
            "index": {"label": draw(st.sampled_from(["x", "yy", None])), "weight": draw(st.none() | st.floats())},
        })  # fmt: skip
    options = {"schema": shape.schema(), "index": ["label", "weight"], "meta": {"source": "test"}}
    if draw(st.booleans()):
        options["forcefield"] = forcefield()
    cuts = sorted(draw(st.lists(st.integers(0, len(records)), max_size=3)))
    return records, options, np.diff([0, *cuts, len(records)]).tolist()


@given(split_collections(), st.data())
def test_shards_are_the_collection_they_were_split_from(
    split: tuple[list[Appended], dict[str, Any], list[int]], data: st.DataObject
) -> None:
    records, options, sizes = split
    with scratch() as scratched:
        whole = mr.open_collection(write_shard(scratched / "whole.mrec.lmdb", records, **options))
        start = 0
        for number, size in enumerate(sizes):
            write_shard(scratched / "parts" / shard_name(number, len(sizes)), records[start : start + size], **options)
            start += size
        for place in (scratched / "parts", scratched / "p*" / "shard-*"):
            with mr.open_collection(place) as parts:
                assert isinstance(parts, ShardedCollection)
                assert len(parts.shards) == len(sizes)
                order = data.draw(st.lists(st.integers(-len(records), len(records) - 1), max_size=8))
                assert_same(whole, parts, order)


def assert_same(whole: Collection, parts: Collection, order: list[int]) -> None:
    """Compare everything two collections say, to the bit."""
    assert (len(parts), parts.n_frames, parts.meta, parts.units) == (
        len(whole), whole.n_frames, whole.meta, whole.units,
    )  # fmt: skip
    assert typedjson.dump_json(parts.schema.to_document()) == typedjson.dump_json(whole.schema.to_document())
    assert plain_block(parts.index) == plain_block(whole.index)
    assert not any(values.flags.writeable for _, values in parts.index.items())
    assert parts.forcefield_section == whole.forcefield_section
    assert parts.forcefield == whole.forcefield
    for mine, theirs in zip(parts, whole, strict=True):
        assert_same_record(mine, theirs)
    for index in order:
        assert_same_record(parts[index], whole[index])
        assert_same_record(pickle.loads(pickle.dumps(parts[index])), whole[index])
        assert [*map(plain_frame, parts.frames(index))] == [*map(plain_frame, whole.frames(index))]
        with parts.view(index) as mine, whole.view(index) as theirs:
            assert_same_record(mine, theirs)
    assert exact(parts.batch(order)) == exact(whole.batch(order))
    keys = list(whole.schema.meta)
    assert exact(parts.batch(order, [], keys[:1])) == exact(whole.batch(order, [], keys[:1]))
    assert exact(pickle.loads(pickle.dumps(parts)).batch(order)) == exact(whole.batch(order))


def assert_same_record(mine: Any, theirs: Any) -> None:
    """Compare two records, to the bit."""
    assert (mine.number, mine.meta) == (theirs.number, theirs.meta)
    assert (mine.system is None, mine.trajectory is None) == (theirs.system is None, theirs.trajectory is None)
    if theirs.system is not None:
        assert plain_frame(mine.system) == plain_frame(theirs.system)
    if theirs.trajectory is not None:
        assert exact(mine.trajectory.steps) == exact(theirs.trajectory.steps)
        assert exact(mine.trajectory.times) == exact(theirs.trajectory.times)
        assert exact(mine.trajectory.meta) == exact(theirs.trajectory.meta)
        assert [*map(plain_frame, mine.trajectory)] == [*map(plain_frame, theirs.trajectory)]
        assert mine.trajectory.schema == theirs.trajectory.schema


def test_a_batch_across_shards_has_strings_masks_and_system_columns(folder: Path) -> None:
    def record(number: int) -> Appended:
        atoms = mr.Block({"x": np.arange(number, number + 3.0), "label": ["a", "b", str(number)]})
        atoms.set_validity("label", np.array([True, number != 2, True]))
        system = mr.Block({"n": np.arange(3)})
        if number == 3:
            system.set_validity("n", np.array([True, True, False]))
        return {
            "record": mr.Frame({"atoms": atoms}, meta={"extra": {"n": number}, "pe": float(number)}),
            "system": mr.Frame({"atoms": system}),
        }

    records = [record(number) for number in range(5)]
    records = [r | {"record": typed(r["record"])} for r in records]
    for number, (start, stop) in enumerate([(0, 2), (2, 3), (3, 5)]):
        write_shard(folder / shard_name(number, 3), records[start:stop])
    whole = mr.open_collection(write_shard(folder.parent / "whole.mrec.lmdb", records))
    parts = mr.open_collection(folder)
    columns = ["atoms/label", "atoms/n", "atoms/x"]
    for order in ([4, 0, 2, 2, 1, 3], [0, 1], [2], []):
        batch = parts.batch(order, columns) if order else parts.batch(order)
        assert exact(batch) == exact(whole.batch(order, columns) if order else whole.batch(order))
    batch = parts.batch([4, 2, 0], columns)
    assert batch["atoms/label"].tolist() == ["a", "b", "4", "a", "b", "2", "a", "b", "0"]
    assert batch["atoms/label/validity"].tolist() == [True] * 4 + [False] + [True] * 4
    assert parts.batch([0, 3], ["atoms/n"])["atoms/n/validity"].tolist() == [True] * 5 + [False]
    assert batch["meta/extra"] == [{"n": 4}, {"n": 2}, {"n": 0}]
    assert parts.schema.blocks["atoms"].columns["label"].nullable
    assert run_of(parts[0]).schema == parts.schema


def typed(frame: mr.Frame) -> mr.Frame:
    """Tag a document in a frame's meta as one."""
    frame.meta.set("extra", frame.meta["extra"], tag="json")
    return frame


def test_a_column_of_nulls_in_one_shard_has_the_dtype_of_the_others(folder: Path) -> None:
    def records(*weights: float | None) -> list[Appended]:
        return [{"record": frame(), "index": {"weight": weight}} for weight in weights]

    options: Any = {"index": ["weight"]}
    two(folder, {"records": records(None, None), **options}, {"records": records(None, 0.5), **options})
    index = mr.open_collection(folder).index
    assert index.dtype("weight") == "f64"
    assert index["weight"].tolist()[3:] == [0.5]
    assert index.validity("weight").tolist() == [False, False, False, True]  # type: ignore[union-attr]
    assert index["first_frame"].tolist() == [0, 1, 2, 3]


def test_names_make_the_order_and_hidden_files_do_not_count(folder: Path) -> None:
    for number, name in enumerate(["b", "a", "B", ".c"]):
        write_shard(folder / f"{name}.mrec.lmdb", [{"record": frame(), "meta": {"number": number}}])
    (folder / "notes.txt").write_text("no shard")
    (folder / ".d.mrec.lmdb.partial").write_text("half a shard")
    assert [record.meta["number"] for record in mr.open_collection(folder)] == [2, 1, 0]
    assert [record.meta["number"] for record in mr.open_collection(str(folder / "[ab].*"))] == [1, 0]
    assert [record.meta["number"] for record in mr.open_collection(folder / "*.mrec.lmdb")] == [2, 1, 0]


def test_a_file_with_a_name_like_a_pattern_is_that_file(folder: Path) -> None:
    path = write_shard(folder / "set[1].mrec.lmdb", [{"record": frame()}])
    write_shard(folder / "set1.mrec.lmdb", [])
    assert len(mr.open_collection(path)) == 1
    assert repr(mr.open_collection(path)).startswith("<Collection ")


def test_meta_is_what_all_shards_say(folder: Path) -> None:
    two(
        folder,
        {"meta": {"source": "one", "level": [1, {"a": 2}], "only": 0}},
        {"meta": {"source": "two", "level": [1, {"a": 2}]}, "units": {**UNITS, "mass": "amu"}},
    )
    collection = mr.open_collection(folder)
    assert collection.meta == {"molrec_version": 1, "units": UNITS, "level": [1, {"a": 2}]}
    assert collection.units == {**UNITS, "mass": "amu", "charge": "e"}


def test_a_closed_one_is_closed_and_what_it_handed_out_is_good(folder: Path) -> None:
    two(folder, {}, {})
    with mr.open_collection(folder) as collection:
        assert repr(collection) == f"<ShardedCollection {folder}: 2 shards, 2 records, 2 frames>"
        record = collection[1]
        assert collection.path == folder
    assert run_of(record)[0] == frame()
    for ask in (
        lambda: collection[0],
        lambda: collection.batch([]),
        lambda: collection.view(0).__enter__(),
        lambda: collection.forcefield,
    ):
        with pytest.raises(ValueError, match=r"data: this collection is closed"):
            ask()
    for outside in (2, -3):
        with pytest.raises(IndexError):
            collection[outside]
    with pytest.raises(KeyError, match="none"):
        mr.open_collection(folder).batch([0, 1], ["atoms/none"])


def test_one_written_from_shards_is_the_same(folder: Path) -> None:
    records = [{"record": frame(3, i, pe=float(i)), "meta": {"number": i}} for i in range(4)]
    write_shard(folder / "a.mrec.lmdb", records[:3])
    write_shard(folder / "b.mrec.lmdb", records[3:])
    parts = mr.open_collection(folder)
    joined = write_shard(folder.parent / "one.mrec.lmdb", [{"record": record} for record in parts])
    assert_same(mr.open_collection(joined), parts, [3, 0])


def test_a_shard_that_appears_later_changes_nothing(folder: Path) -> None:
    two(folder, {}, {})
    collection = mr.open_collection(folder)
    sent = pickle.dumps(collection)
    write_shard(folder / "a1.mrec.lmdb", [{"record": frame()}])
    assert len(pickle.loads(sent)) == 2
    assert len(mr.open_collection(folder)) == 3


def test_a_damaged_value_is_named_by_its_shard(folder: Path) -> None:
    _, second = two(folder, {}, {})
    tampered(second, lambda file: file.put(b"f" + bytes(8), b"MRF2" + bytes(40)))
    collection = mr.open_collection(folder)
    with refused("reject-bad-magic", str(second), "record 0", kind=mr.FormatError):
        collection.batch([0, 1])
    with refused("reject-bad-magic", str(second), "record 0", kind=mr.FormatError):
        collection.frames(1)


def test_more_shards_than_files_may_be_open(folder: Path) -> None:
    resource = pytest.importorskip("resource")
    for number in range(40):
        write_shard(folder / shard_name(number, 40), [{"record": frame()}])
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len([*Path("/proc/self/fd").glob("*")]) or 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, limits[1]))
    try:
        with pytest.raises(OSError, match=r"ulimit.*shard-000"):
            mr.open_collection(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(mr.open_collection(folder)) == 40


# -- processes --------------------------------------------------------------------------------------------------------


def total(collection: Any, start: int) -> float:
    """Sum what one worker reads."""
    return float(sum(collection.batch([i, -1])["atoms/x"].sum() for i in range(start, len(collection), 2)))


@pytest.mark.parametrize(
    "method", ["spawn", pytest.param("fork", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"))]
)
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_workers_read_shards(folder: Path, method: str) -> None:
    for number in range(3):
        write_shard(folder / shard_name(number, 3), [{"record": frame(4, number + i)} for i in range(3)])
    collection = mr.open_collection(folder)
    expected = [total(collection, start) for start in range(2)]
    again = mr.open_collection(folder)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.starmap(total, [(collection, 0), (collection, 1)]) == expected
    assert total(again, 0) == expected[0]


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_reject_no_shards(folder: Path) -> None:
    folder.mkdir()
    with refused("reject-no-shards", str(folder), kind=mr.FormatError):
        mr.open_collection(folder)
    with refused("reject-no-shards", "*.mrec.lmdb", kind=mr.FormatError):
        mr.open_collection(folder / "*.mrec.lmdb")
    with refused("reject-no-shards", kind=mr.FormatError):
        ShardedCollection(folder, [])


def test_reject_missing_shard(folder: Path) -> None:
    for number in (0, 2):
        write_shard(folder / shard_name(number, 3), [{"record": frame()}])
    with refused("reject-missing-shard", "shard 1 of the 3", kind=mr.FormatError):
        mr.open_collection(folder)
    assert len(mr.open_collection(folder / "*.mrec.lmdb")) == 2


def test_reject_shard_units(folder: Path) -> None:
    first, second = two(folder, {}, {"units": {**UNITS, "energy": "kcal/mol"}})
    with refused("reject-shard-units", str(first), str(second), "energy", "kcal/mol", kind=mr.FormatError):
        mr.open_collection(folder)


@pytest.mark.parametrize(
    ("changed", "mention"),
    [
        (lambda schema: schema.declare_column("atoms", "charge", "f64"), "charge"),
        (lambda schema: schema.declare_column("bonds", "atomi", "u64"), "bonds"),
        (lambda schema: schema.declare_precision("atoms", "x", 0.5), "0.5"),
        (lambda schema: schema.declare_meta("pe", "f64", fill=-0.0), "-0.0"),
        (lambda schema: schema.declare_structural_shape("atoms", [3]), "structural_shape"),
        (lambda schema: schema.extra.update(other=1), "other"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_reject_schema_differs(folder: Path, changed: Any, mention: str, swapped: bool) -> None:
    plain = mr.SequenceSchema.from_frames([frame()]).declare_meta("stress", "f64", fill=0.0)
    other = plain.copy()
    changed(other)
    options = [{"schema": plain, "records": []}, {"schema": other, "records": []}]
    first, second = two(folder, *(reversed(options) if swapped else options))
    with refused("reject-schema-differs", str(first), str(second), mention, kind=mr.FormatError):
        mr.open_collection(folder)


def test_a_fill_of_minus_zero_is_another_declaration(folder: Path) -> None:
    schemas = [mr.SequenceSchema.from_frames([frame()]).declare_meta("pe", "f64", fill=fill) for fill in (0.0, -0.0)]
    two(folder, {"schema": schemas[0]}, {"schema": schemas[1]})
    with refused("reject-schema-differs", "-0.0", kind=mr.FormatError):
        mr.open_collection(folder)


def test_nulls_in_one_shard_are_declared_for_all(folder: Path) -> None:
    masked = frame()
    masked["atoms"].set_validity("x", np.array([True, False, True]))
    two(folder, {}, {"records": [{"record": masked}]})
    collection = mr.open_collection(folder)
    assert collection.schema.blocks["atoms"].columns["x"].nullable
    batch = collection.batch([1, 0])
    assert batch["atoms/x/validity"].tolist() == [True, False, True, True, True, True]
    assert collection.frames(0) == [frame()]
    assert collection.frames(1) == [masked]


def test_reject_shard_forcefield(folder: Path) -> None:
    first, second = two(folder, {"forcefield": forcefield()}, {})
    with refused("reject-shard-forcefield", str(first), str(second), "none", kind=mr.FormatError):
        mr.open_collection(folder)
    other = forcefield()
    other.tables["bond.harmonic"]["k"] = np.array([301.0])
    write_shard(second, [{"record": frame()}], forcefield=other, overwrite=True)
    with refused("reject-shard-forcefield", "differ from byte", kind=mr.FormatError):
        mr.open_collection(folder)
    versions: Any = {"modules": {"forcefield": {"version": [7, 0]}}}
    write_shard(second, [{"record": frame()}], forcefield=forcefield(), meta=versions, overwrite=True)
    with refused("reject-shard-forcefield", "(7, 0)", kind=mr.FormatError):
        mr.open_collection(folder)


def test_reject_shard_index(folder: Path) -> None:
    first, second = two(folder, {"index": {"size": lambda record: 3}}, {})
    with refused("reject-shard-index", str(first), str(second), "size", kind=mr.FormatError):
        mr.open_collection(folder)
    write_shard(second, [{"record": frame()}], index={"size": lambda record: 3.5}, overwrite=True)
    with refused("reject-shard-index", str(first), str(second), "size", "f64", "i64", kind=mr.FormatError):
        mr.open_collection(folder)


def test_a_shard_that_is_no_collection_is_named(folder: Path) -> None:
    _, second = two(folder, {}, {})
    second.write_text("hello")
    with refused("reject-not-a-collection", str(second), kind=mr.FormatError):
        mr.open_collection(folder)
    second.unlink()
    second.mkdir()
    with refused("reject-not-a-collection", str(second), kind=mr.FormatError):
        mr.open_collection(folder)
