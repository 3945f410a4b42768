"""What a record holds beyond this specification is carried through every rewrite (spec: record, unknown content)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import molrec as mr
from molrec.storage.zarr.record import open_source
from molrec.storage.zarr.repack import repack

from .strategies import files

LATER: dict[str, Any] = {"null": None, "numbers": [1, 1.0, -0.0, 1e300], "text": "é", "deep": {"a": [{}]}}
FIELD = {"must_understand": False, "what": "later"}


def edit(node: Path, **members: Any) -> None:
    """Add attributes and, under other names, members to a node's document."""
    document = json.loads((node / "zarr.json").read_bytes())
    document["attributes"] |= members.pop("attributes", {})
    (node / "zarr.json").write_text(json.dumps(document | members))


def document(node: Path) -> Any:
    return json.loads((node / "zarr.json").read_bytes())


def declaration() -> mr.SequenceSchema:
    schema = mr.SequenceSchema().declare_column("atoms", "x", "f64", nullable=True).declare_meta("pe", "f64")
    return schema.declare_column("bonds", "k", "i64")


def present(ordinal: int) -> mr.Frame:
    atoms = mr.Block({"x": np.full(2, float(ordinal))})
    atoms.set_validity("x", [True, False])
    frame = mr.Frame({"atoms": atoms}, meta={"pe": float(ordinal)}, box=mr.Box(np.eye(3) * (1.0 + ordinal)))
    if ordinal != 1:
        frame["bonds"] = mr.Block({"k": np.arange(ordinal)})
    return frame


def write_run(path: Path) -> Path:
    """Write a run in which steps, times, cell and bonds have arrays of their own."""
    with mr.TrajectoryWriter(path, declaration(), meta={"source": "here"}) as writer:
        for ordinal in range(3):
            writer.append(present(ordinal), step=ordinal * ordinal * 3 + ordinal, time=ordinal**0.5)
    return path


GROUPS = ("trajectory", "trajectory/atoms", "trajectory/atoms/_validity", "trajectory/meta", "trajectory/box")
ARRAYS = (
    "trajectory/step",
    "trajectory/time",
    "trajectory/meta/pe",
    "trajectory/atoms/x",
    "trajectory/atoms/_validity/x",
    "trajectory/bonds/k",
    "trajectory/bonds/step_index",
    "trajectory/bonds/offset",
    "trajectory/box/vectors",
    "trajectory/box/step_index",
)


def add_unknown(root: Path) -> None:
    """Add unknown content of every kind."""
    for node in (*GROUPS, *ARRAYS):
        edit(root / node, attributes={"later": LATER})
    for node in ARRAYS:
        rank = len(document(root / node)["shape"])
        edit(root / node, dimension_names=["row", *[None] * (rank - 1)], later=FIELD)
    schema = document(root / "trajectory")
    schema["attributes"]["sequence_schema"]["later"] = LATER
    schema["attributes"]["sequence_schema"]["blocks"]["atoms"]["columns"]["x"]["unit"] = "nm"
    (root / "trajectory" / "zarr.json").write_text(json.dumps(schema))
    zarr.create_array(root, name="trajectory/undeclared", shape=(2,), dtype="float32")[...] = 1.5
    zarr.create_array(root, name="trajectory/atoms/undeclared", shape=(2,), dtype="float32")[...] = 1.5
    zarr.create_group(root, path="trajectory/more").attrs["later"] = LATER
    zarr.create_group(root, path="later/inner").attrs["later"] = LATER
    zarr.create_array(root, name="later/inner/values", shape=(2,), dtype="float32")[...] = 2.5
    (root / "notes.txt").write_text("mine")
    (root / "trajectory" / "notes.txt").write_text("mine too")


def check_unknown(root: Path, *, trajectory: bool = True) -> None:
    """Check that all of it is there."""
    inside = zarr.open_array(root, path="later/inner/values", mode="r")
    assert np.asarray(inside[...]).tolist() == [2.5, 2.5]
    assert document(root / "later" / "inner")["attributes"]["later"] == LATER
    assert (root / "notes.txt").read_text() == "mine"
    if not trajectory:
        return
    for node in (*GROUPS, *ARRAYS):
        assert document(root / node)["attributes"].get("later") == LATER, node
    for node in ARRAYS:
        assert document(root / node).get("dimension_names", [None])[0] == "row", node
        assert document(root / node).get("later") == FIELD, node
    schema = document(root / "trajectory")["attributes"]["sequence_schema"]
    assert schema["later"] == LATER
    assert schema["blocks"]["atoms"]["columns"]["x"]["unit"] == "nm"
    for path in ("trajectory/undeclared", "trajectory/atoms/undeclared"):
        assert np.asarray(zarr.open_array(root, path=path, mode="r")[...]).tolist() == [1.5, 1.5]
    assert document(root / "trajectory" / "more")["attributes"]["later"] == LATER
    assert (root / "trajectory" / "notes.txt").read_text() == "mine too"


def check_frames(path: Path, count: int) -> None:
    trajectory = mr.open(path).trajectory
    assert trajectory is not None
    assert len(trajectory) == count
    for ordinal in range(count):
        assert trajectory[ordinal]["atoms"] == present(ordinal)["atoms"]
        assert trajectory[ordinal].box == present(ordinal).box


def test_reopening_and_appending_keep_unknown_content(record: Path) -> None:
    add_unknown(write_run(record))
    writer = mr.TrajectoryWriter.reopen(record)
    for ordinal in (3, 4):
        writer.append(present(ordinal), step=100 + ordinal, time=5.0 + ordinal)
        writer.flush()
    writer.close()
    check_frames(record, 5)
    check_unknown(record)


@pytest.mark.parametrize("profile", ["archive", "live"])
def test_repacking_keeps_unknown_content(profile: str, record: Path) -> None:
    add_unknown(write_run(record))
    before = files(record)
    target = repack(open_source(record), record.with_name("other.mrec"), profile=profile)
    check_frames(target, 3)
    check_unknown(target)
    assert files(record) == before


def test_packing_and_unpacking_keep_every_byte(record: Path) -> None:
    add_unknown(write_run(record))
    packed = mr.pack(record)
    assert files(mr.unpack(packed, record.with_name("again.mrec"))) == files(record)


@pytest.mark.parametrize("packed", [False, True])
def test_overwriting_replaces_the_known_sections_and_nothing_else(packed: bool, record: Path) -> None:
    add_unknown(write_run(record))
    edit(record, attributes={"root": LATER})
    target = mr.pack(record) if packed else record
    mr.write(target, frame=present(1), meta={"source": "there"}, overwrite=True)
    found = mr.open(target)
    assert found.sections == ("frame", "later", "meta")
    assert found.meta == {"molrec_version": 1, "source": "there"}
    assert found.frame == present(1)
    assert found.trajectory is None
    folder = mr.unpack(target, record.with_name("again.mrec")) if packed else record
    check_unknown(folder, trajectory=False)
    assert document(folder)["attributes"]["root"] == LATER
    assert {path.name for path in record.parent.iterdir()} <= {"run.mrec", "run.mrec.zip", "again.mrec"}


def test_a_frame_keeps_the_attributes_a_producer_added(record: Path) -> None:
    mr.write(record, frame=present(2))
    edit(record / "frame" / "atoms", attributes={"later": LATER})
    edit(record / "frame" / "atoms" / "x", attributes={"later": LATER})
    frame = mr.open(record).frame
    assert frame is not None
    again = mr.write(record.with_name("again.mrec"), frame=frame)
    assert document(again / "frame" / "atoms")["attributes"]["later"] == LATER
    assert document(again / "frame" / "atoms" / "x")["attributes"]["later"] == LATER


def test_reopening_a_run_without_frames_keeps_what_is_not_its_own(record: Path) -> None:
    mr.TrajectoryWriter(record, declaration()).close()
    zarr.create_group(record, path="trajectory/more").attrs["later"] = LATER
    (record / "trajectory" / "mine").mkdir()
    (record / "trajectory" / "mine" / "notes.txt").write_text("mine")
    writer = mr.TrajectoryWriter.reopen(record)
    writer.append(present(0), time=0.0)
    writer.close()
    check_frames(record, 1)
    assert document(record / "trajectory" / "more")["attributes"]["later"] == LATER
    assert (record / "trajectory" / "mine" / "notes.txt").read_text() == "mine"


def test_a_run_that_has_not_begun_reads_as_empty_and_holds_no_arrays(record: Path) -> None:
    mr.TrajectoryWriter(record, declaration()).close()
    for place in (record, mr.pack(record)):
        trajectory = mr.open(place).trajectory
        assert trajectory is not None
        assert len(trajectory) == 0
        assert trajectory.read("atoms")["x"].shape == (0, 0)
        assert trajectory.meta["pe"].tolist() == []
    group = zarr.open_group(record, path="trajectory", mode="r")
    arrays = {path: node for path, node in group.members(max_depth=None) if isinstance(node, zarr.Array)}
    assert not arrays
