"""Collections: the conformance cases, and records against a plain model and against Zarr."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec import typedjson
from molrec.storage.lmdb import key_appender

from .collections_made import (
    UNITS,
    atoms,
    document_changed,
    forcefield,
    frame,
    key,
    keys,
    run_of,
    system_of,
    tampered,
    write,
)
from .refusals import refused
from .strategies import Run, exact, plain_frame, runs, scratch


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a test may write its collection."""
    return tmp_path / "set.mrec.lmdb"


# -- what comes back --------------------------------------------------------------------------------------------------


def test_frames_come_back_with_units_and_index(path: Path) -> None:
    first, second = frame(3, pe=-1.5), frame(5, 0.25, pe=2.0)
    write(path, first, second, meta={"source": "test"}, index={"size": lambda record: record.n_atoms})
    with mr.open_collection(path) as collection:
        assert len(collection) == 2
        assert collection.units == {**UNITS, "mass": "amu", "charge": "e"}
        assert collection.meta == {"molrec_version": 1, "units": UNITS, "source": "test"}
        assert collection.frames(0) == [first]
        assert run_of(collection[-1])[0] == second
        assert collection[1].meta == {}
        assert collection[1].system is None
        assert collection.index["first_frame"].tolist() == [0, 1]
        assert collection.index["n_atoms"].tolist() == collection.index["size"].tolist() == [3, 5]
        assert collection.index["has_trajectory"].tolist() == [True, True]
        assert not collection.index["n_atoms"].flags.writeable
        assert collection.schema == mr.SequenceSchema.from_frames([first])
        assert collection.forcefield is None
        assert [record.number for record in collection] == [0, 1]
    with pytest.raises(ValueError, match="closed"):
        collection[0]


def test_an_empty_collection(path: Path) -> None:
    write(path)
    collection = mr.open_collection(path)
    assert len(collection) == collection.n_frames == 0
    assert collection.batch([])["/"].tolist() == [0]
    with pytest.raises(IndexError):
        collection[0]


def test_precision_in_collection(path: Path) -> None:
    given_frame = frame(3, 0.3)
    given_frame["atoms"]["x"] = np.array([0.3, 1.25, np.nan])
    schema = mr.SequenceSchema.from_frames([given_frame]).declare_precision("atoms", "x", 0.5)
    write(path, given_frame, schema=schema)
    collection = mr.open_collection(path)
    found = collection.frames(0)[0]["atoms"]
    assert found["x"].tobytes() == np.array([0.5, 1.0, np.nan]).tobytes()
    assert found.precision("x") == 0.5
    assert collection.schema.blocks["atoms"].columns["x"].precision == 0.5
    assert b'"precision"' not in keys(path)[key("f", 0)]


def test_precision_of_a_system_stands_in_its_header(path: Path) -> None:
    system = mr.Frame({"atoms": mr.Block({"charge": [0.3]})})
    system["atoms"].set_precision("charge", 0.25)
    write(path, {"record": None, "system": system})
    assert mr.open_collection(path)[0].system == system
    assert b'"precision":0.25' in keys(path)[key("s", 0)]


def test_collection_forcefield(path: Path) -> None:
    write(path, frame(), forcefield=forcefield())
    collection = mr.open_collection(path)
    assert collection.forcefield_section == forcefield()
    assert collection.forcefield_section.version == forcefield().version
    assert collection.forcefield == mr.ForceField.from_section(forcefield())


def test_system_typed_meta_lmdb(path: Path) -> None:
    meta = mr.Meta()
    for tag, stored in {
        "f64": float("nan"), "u64": 2**64 - 1, "i64": -(2**63), "i32": 7, "f64x3": (1.0, float("inf"), -0.0),
        "json": {"a": [1, None]}, "bool3": (True, False, True), "string": "µ",
    }.items():  # fmt: skip
        meta.set(tag, stored, tag=tag)
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H"]})}, meta=meta, box=mr.Box(np.eye(3) * 4))
    write(path, {"record": None, "system": system})
    assert plain_frame(system_of(mr.open_collection(path)[0])) == plain_frame(system)


def aligned_schema() -> mr.SequenceSchema:
    schema = mr.SequenceSchema()
    for axis in "xyz":
        schema.declare_column("atoms", axis, "f64")
    return schema.declare_column("types", "type", "string").declare_aligned("types", "atoms")


def typed(count: int, start: float = 0.0, kind: str = "a") -> mr.Frame:
    return mr.Frame({"atoms": atoms(count, start), "types": mr.Block({"type": [kind] * count})})


def test_aligned_in_collection(path: Path) -> None:
    run = [typed(3), frame(3, 1.0), frame(3, 2.0), typed(4, 3.0, "b"), frame(4, 4.0)]
    write(path, run, [frame(2), typed(2, 1.0)], frame(9), schema=aligned_schema())
    collection = mr.open_collection(path)
    assert [f["types"]["type"].tolist() for f in collection.frames(0)] == [["a"] * 3] * 3 + [["b"] * 4] * 2
    assert "types" not in collection.frames(1)[0]
    assert run_of(collection[1])[1]["types"].rows == 2
    assert run_of(collection[0]).update_ordinal("types", 2) == 0
    assert run_of(collection[0])[4] == collection.frames(0)[4]
    assert "types" not in collection.frames(2)[0], "nothing carries over from record to record"


@pytest.mark.parametrize(
    ("frames", "rule"),
    [
        ([typed(3), frame(4)], "reject-aligned-not-restated"),
        ([mr.Frame({"atoms": atoms(3), "types": mr.Block({"type": ["a"]})})], "reject-aligned-count-mismatch"),
        ([mr.Frame({"types": mr.Block({"type": ["a"]})})], "reject-aligned-target-absent"),
    ],
)
def test_a_broken_alignment_is_refused_by_writer_and_reader(
    path: Path, tmp_path: Path, frames: list[mr.Frame], rule: str
) -> None:
    with mr.CollectionWriter(path, units=UNITS, schema=aligned_schema()) as writer:
        with refused(rule, "record 0", "types"):
            writer.append(frames)
        writer.append(typed(1))
    loose = aligned_schema()
    loose.blocks["types"].aligned_with = None
    stored = tmp_path / "loose.mrec.lmdb"
    write(stored, frames, schema=loose)
    document_changed(stored, sequence_schema=aligned_schema().to_document())
    collection = mr.open_collection(stored)
    with refused(rule, "record 0", "types", kind=mr.FormatError):
        collection.frames(0)
    with refused(rule, "record 0", "types", kind=mr.FormatError):
        run_of(collection[0])[len(frames) - 1]


def test_reject_aligned_shares_system_name(path: Path) -> None:
    system = mr.Frame({"types": mr.Block({"element": ["O"]})})
    with mr.CollectionWriter(path, units=UNITS, schema=aligned_schema()) as writer:
        with refused("reject-aligned-shares-system-name", "types"):
            writer.append([typed(1)], system=system)
        assert len(writer) == 0


def test_no_system_no_trajectory_and_no_frames(path: Path) -> None:
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H"]})}, meta={"smiles": "O"})
    write(path, frame(4), {"record": None, "system": system}, {"record": [], "meta": {"a": 1}})
    collection = mr.open_collection(path)
    assert collection.index["has_trajectory"].tolist() == [True, False, True]
    assert collection.index["n_frames"].tolist() == [1, 0, 0]
    assert collection.index["first_frame"].tolist() == [0, 1, 1]
    assert collection.index["n_atoms"].tolist() == [4, 2, 0]
    assert collection[1].trajectory is None
    assert collection[1].system == system
    assert collection[1].joined() == system
    assert len(run_of(collection[2])) == 0
    assert run_of(collection[2]).times is None
    assert collection[2].meta == {"a": 1}
    assert collection.frames(1) == collection.frames(2) == []
    with pytest.raises(IndexError):
        run_of(collection[2])[0]


def test_subset_of_declaration(path: Path) -> None:
    bonds = mr.Block({"atomi": np.array([0], np.uint64), "atomj": np.array([1], np.uint64)})
    both = mr.Frame({"atoms": atoms(2), "bonds": bonds})
    write(path, frame(2), both, mr.Frame({"bonds": bonds}))
    collection = mr.open_collection(path)
    assert list(collection.schema.blocks) == ["atoms", "bonds"]
    assert [list(collection.frames(i)[0].keys()) for i in range(3)] == [["atoms"], ["atoms", "bonds"], ["bonds"]]


def test_system_and_trajectory_are_one_block(path: Path) -> None:
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H"]})}, meta={"smiles": "O"}, box=mr.Box(np.eye(3)))
    write(path, {"record": [frame(2, pe=1.0), frame(2, 3.0, pe=2.0)], "system": system})
    record = mr.open_collection(path)[0]
    joined = record.joined(1)
    assert joined["atoms"].columns == ("element", "x", "y", "z")
    assert joined["atoms"]["x"].tolist() == [3.0, 4.0]
    assert (joined.meta["smiles"], joined.meta["pe"]) == ("O", 2.0)
    assert joined.box == system.box
    assert run_of(record)[1].box is None


def test_steps_times_cells_and_series(path: Path) -> None:
    first, second = mr.Box(np.eye(3)), mr.Box(np.eye(3) * 2, origin=[0, 0, 1], boundary=[True, False, True])
    run = [mr.Frame(meta={"e": 0.5, "v": np.arange(3.0)}, box=box) for box in (None, first, first, second)]
    write(path, {"record": run, "step": [1, 5, 6, 2**62], "time": iter([0.0, float("nan"), -1.0, 2.0])})
    found = run_of(mr.open_collection(path)[0])
    assert found.steps.tolist() == [1, 5, 6, 2**62]
    assert found.times is not None
    assert str(found.times.tolist()) == "[0.0, nan, -1.0, 2.0]"
    assert [found.box_at(i) for i in range(4)] == [None, first, first, second]
    assert [f.box for f in found] == [None, first, first, second]
    assert [found[i].box for i in range(4)] == [None, first, first, second]
    assert found.meta["e"].tolist() == [0.5] * 4
    assert found.meta["v"].shape == (4, 3)
    assert b'"box"' not in keys(path)[key("f", 2)]


def test_targets_come_back_and_are_checked(path: Path) -> None:
    block = mr.Block({"ibead": np.array([0, 1, 1], np.uint64)})
    block.set_target("ibead", "atoms")
    good = mr.Frame({"atoms": atoms(2), "members": block})
    write(path, good)
    collection = mr.open_collection(path)
    assert collection.frames(0) == [good]
    tampered(
        path, lambda file: file.put(key("f", 0), keys(path)[key("f", 0)].replace(b"\1" + bytes(7), b"\2" + bytes(7)))
    )
    with refused("reject-target-out-of-range", "record 0", "members", kind=mr.FormatError):
        mr.open_collection(path).frames(0)


# -- against a plain model, and against Zarr --------------------------------------------------------------------------


def resolved(run: Run) -> list[tuple[dict[str, mr.Block], Any]]:
    """Return what every frame of a run shows, by a model that keeps everything."""
    shown: dict[str, mr.Block] = {}
    box = None
    frames = []
    for presented in run.presented:
        for name, block in presented.frame.items():
            shape = run.shape.blocks[name]
            kept = block.copy()
            for column, declared in shape.columns.items():
                kept.set_precision(column, declared.precision)
            kept.structural_shape = shape.structural_shape
            if shape.target is not None:
                kept.set_target(shape.target, name)
            shown = {**shown, name: kept}
        box = presented.frame.box or box
        frames.append((shown, box))
    return frames


@given(st.data())
def test_records_resolve_as_a_plain_model(data: st.DataObject) -> None:
    drawn = data.draw(runs())
    with scratch() as folder:
        path = folder / "set.mrec.lmdb"
        with mr.CollectionWriter(path, units=UNITS, schema=drawn.shape.schema()) as writer:
            for _ in range(2):
                steps: Any = [presented.step for presented in drawn.presented]
                times: Any = [presented.time for presented in drawn.presented]
                writer.append(
                    [presented.frame for presented in drawn.presented],
                    step=None if drawn.shape.steps[0] == "auto" else steps,
                    time=None if drawn.shape.times[0] == "none" else times,
                )
        collection = mr.open_collection(path)
        assert collection.schema == drawn.shape.schema()
        for record in collection:
            found = collection.frames(record.number)
            singly = [run_of(record)[i] for i in reversed(range(len(found)))][::-1]
            assert [plain_frame(f) for f in found] == [plain_frame(f) for f in singly]
            for ordinal, (frame_found, (blocks, box)) in enumerate(zip(found, resolved(drawn), strict=True)):
                assert plain_frame(mr.Frame(dict(frame_found.items()), box=frame_found.box)) == plain_frame(
                    mr.Frame(blocks, box=box)
                )
                given_meta = drawn.presented[ordinal].frame.meta
                for name, tag in drawn.shape.meta.items():
                    wanted = given_meta[name] if name in given_meta else drawn.shape.fills[name]
                    assert typedjson.dump_json(typedjson.encode(tag, frame_found.meta[name])) == typedjson.dump_json(
                        typedjson.encode(tag, wanted)
                    )
        del collection, record


@given(runs(max_frames=5))
def test_a_run_reads_alike_from_zarr_and_from_a_collection(drawn: Run) -> None:
    with scratch() as folder:
        live = folder / "run.mrec"
        with mr.TrajectoryWriter(live, drawn.shape.schema()) as run_writer:
            for presented in drawn.presented:
                run_writer.append(presented.frame, step=presented.step, time=presented.time)
        path = folder / "set.mrec.lmdb"
        with mr.open(live) as record:
            write(path, record)
            expected = record.trajectory
            assert expected is not None
            found = run_of(mr.open_collection(path)[0])
            assert [plain_frame(f) for f in found] == [plain_frame(f) for f in expected]
            assert found.steps.tolist() == expected.steps.tolist()
            assert (found.times is None) == (expected.times is None)
            if found.times is not None and expected.times is not None:
                # JSON has one NaN
                assert exact(found.times.tolist()) == exact(expected.times.tolist())
            for name in drawn.shape.blocks:
                for ordinal in range(len(found)):
                    assert found.update_ordinal(name, ordinal) == expected.update_ordinal(name, ordinal)
            assert found.schema == expected.schema
        again = folder / "again.mrec.lmdb"
        write(again, mr.open_collection(path)[0])
        assert [plain_frame(f) for f in mr.open_collection(again).frames(0)] == [plain_frame(f) for f in found]


def test_a_run_repeats_nothing(path: Path) -> None:
    still = mr.Block({"q": np.arange(100.0)})
    write(path, [mr.Frame({"still": still, "atoms": atoms(2, i)}) for i in range(3)])
    sizes = [len(keys(path)[key("f", i)]) for i in range(3)]
    assert sizes[0] > 800 > max(sizes[1:])


def test_frames_whose_arrays_are_used_again_are_kept_apart(path: Path) -> None:
    x = np.zeros(3)

    def growing() -> Any:
        for step in range(4):
            x[:] = step // 2
            yield mr.Frame({"atoms": mr.Block({"x": x})})

    write(path, growing())
    assert [f["atoms"]["x"][0] for f in mr.open_collection(path).frames(0)] == [0.0, 0.0, 1.0, 1.0]
    assert run_of(mr.open_collection(path)[0]).update_ordinal("atoms", 3) == 2


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 8]))
def test_records_of_any_kind_interleaved_come_back(seed: int, batch_bytes: int) -> None:
    rng = np.random.default_rng(seed)
    records = []
    for number in range(int(rng.integers(0, 12))):
        count = int(rng.integers(0, 4))
        run = [frame(count, float(rng.integers(3)), pe=float(rng.normal())) for _ in range(int(rng.integers(0, 4)))]
        system = (
            mr.Frame({"top": mr.Block({"n": np.arange(count)})}, meta={"i": number}) if rng.random() < 0.5 else None
        )
        given_run = None if system is not None and rng.random() < 0.3 else run
        records.append({"record": given_run, "system": system, "meta": {"number": number}})
    with scratch() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_appender, "_BATCH_BYTES", batch_bytes * 100)
        write(folder / "set.mrec.lmdb", *records)
        collection = mr.open_collection(folder / "set.mrec.lmdb")
        for number, record in enumerate(records):
            assert collection.frames(number) == (record["record"] or [])
            assert (collection[number].trajectory is None) == (record["record"] is None)
            assert collection[number].system == record["system"]
            assert collection[number].meta == record["meta"]
