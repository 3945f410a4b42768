"""Any frame through a record and back, as a folder and packed, and in the eyes of zarr-python and plain JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import zarr
from hypothesis import given, settings

import molrec as mr

from .refusals import refused
from .strategies import (
    DTYPES,
    NUMPY_DTYPES,
    content,
    exact,
    files,
    frames,
    memory_store,
    plain_block,
    plain_box,
    plain_frame,
    scratch,
    stored_array,
)


def through(path: Path, frame: mr.Frame) -> mr.Frame:
    """Write a frame and read it back."""
    mr.write(path, frame=frame)
    found = mr.open(path).frame
    assert found is not None
    return found


def sorted_meta(told: dict[str, Any]) -> dict[str, Any]:
    return {**told, "meta": sorted(told["meta"], key=lambda entry: entry[0])}


def seen_by_zarr(folder: Path, path: str) -> npt.NDArray[Any]:
    """Return an array as zarr-python reads it."""
    array = zarr.open_array(folder, path=path, mode="r")
    values: npt.NDArray[Any] = np.asarray(array[...])
    return values.astype(NUMPY_DTYPES["string"]) if values.dtype.kind in "OT" else values


@given(frames())
def test_any_frame_comes_back_exactly(frame: mr.Frame) -> None:
    told = plain_frame(frame)
    with scratch() as folder:
        live = through(folder / "a.mrec", frame)
        packed = through(folder / "b.mrec.zip", frame)
        assert plain_frame(live) == told
        assert plain_frame(packed) == told
        assert live == packed == frame
        assert plain_frame(frame) == told


@given(frames())
@settings(max_examples=settings.default.max_examples // 2 if settings.default else 30)
def test_any_frame_comes_back_from_every_other_form(frame: mr.Frame) -> None:
    told = plain_frame(frame)
    with scratch() as folder:
        mr.write(folder / "a.mrec", system=frame, frame=frame)
        packed = mr.pack(folder / "a.mrec")
        again = mr.unpack(packed, folder / "again.mrec")
        assert files(again) == files(folder / "a.mrec")
        for place in (packed, again, memory_store(again)):
            with mr.open(place) as record:
                assert record.sections == ("frame", "meta", "system")
                assert record.system is not None
                assert record.frame is not None
                assert plain_frame(record.system) == told
                assert plain_frame(record.frame) == told


@given(frames())
@settings(max_examples=settings.default.max_examples // 2 if settings.default else 30)
def test_a_frame_read_is_written_again_to_the_same_bytes(frame: mr.Frame) -> None:
    with scratch() as folder:
        found = through(folder / "a.mrec", frame)
        again = through(folder / "b.mrec", found)
        assert plain_frame(again) == plain_frame(found)
        first, second = files(folder / "a.mrec"), files(folder / "b.mrec")
        assert first.keys() == second.keys()
        for name, content_of in first.items():
            if name.endswith("zarr.json"):
                assert json.loads(content_of) == json.loads(second[name])
            else:
                assert content_of == second[name]


@given(frames())
def test_zarr_and_plain_json_see_the_same_frame(frame: mr.Frame) -> None:
    with scratch() as folder:
        path = folder / "a.mrec"
        mr.write(path, frame=frame)
        root = zarr.open_group(path, mode="r")
        assert set(root.keys()) == {"frame", "meta"}
        for name in frame.blocks:
            block = frame[name]
            document = json.loads((path / "frame" / name / "zarr.json").read_bytes())
            assert (document["zarr_format"], document["node_type"]) == (3, "group")
            attributes = document["attributes"]
            assert attributes.pop("count") == len(block)
            assert attributes.pop("structural_shape", None) == (
                None if block.structural_shape is None else list(block.structural_shape)
            )
            assert attributes.pop("targets", {}) == block.targets
            assert exact(attributes) == exact(block.attributes)
            for column in block.columns:
                assert exact(seen_by_zarr(path, f"frame/{name}/{column}")) == exact(block[column])
                stated = json.loads((path / "frame" / name / column / "zarr.json").read_bytes())["attributes"]
                assert stated.get("precision") == block.precision(column)
                mask = block.validity(column)
                assert (path / "frame" / name / "_validity" / column).exists() is (mask is not None)
                if mask is not None:
                    assert exact(seen_by_zarr(path, f"frame/{name}/_validity/{column}")) == exact(mask)
        attributes = json.loads((path / "frame" / "zarr.json").read_bytes())["attributes"]
        assert attributes.pop("_meta_types", {}) == frame.meta.tags
        assert list(attributes) == list(frame.meta)
        if frame.box is not None:
            assert exact(seen_by_zarr(path, "frame/box/vectors")) == exact(np.asarray(frame.box.vectors))


# -- plain cases ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (3, 2, 2), (4, 0), (0, 3)])
def test_every_dtype_and_shape_comes_back(dtype: str, shape: tuple[int, ...], record: Path) -> None:
    values = content(dtype, shape, 5)
    found = through(record, mr.Frame({"b": mr.Block({"c": values})}))
    assert exact(np.asarray(found["b"]["c"])) == exact(values)
    assert exact(seen_by_zarr(record, "frame/b/c")) == exact(values)


@pytest.mark.parametrize(
    ("dtype", "trailing", "precision"),
    [
        ("f64", (), None),
        ("f64", (3,), None),
        ("f64", (3,), 1e-3),
        ("u8", (9,), None),
        ("c128", (), None),
        ("string", (), None),
    ],
)
def test_columns_of_many_chunks_come_back(
    dtype: str, trailing: tuple[int, ...], precision: float | None, record: Path
) -> None:
    rows = 20_000 if dtype == "string" else 330_000
    values = np.resize(content(dtype, (1000,), 3), (rows, *trailing))
    block = mr.Block({"c": values})
    block.set_validity("c", np.arange(rows) % 3 > 0)
    if precision is not None:
        block.set_precision("c", precision)
    before = plain_block(block)
    found = through(record, mr.Frame({"b": block}))
    assert plain_block(found["b"]) == before
    assert exact(seen_by_zarr(record, "frame/b/c")) == exact(block["c"])


def test_an_empty_frame_and_a_block_without_columns_come_back(record: Path) -> None:
    frame = mr.Frame({"none": mr.Block(), "five": mr.Block(rows=5)})
    found = through(record, frame)
    assert plain_frame(found) == plain_frame(frame)
    assert len(found["five"]) == 5
    empty = through(record.with_name("b.mrec"), mr.Frame())
    assert plain_frame(empty) == plain_frame(mr.Frame())
    assert "_meta_types" not in json.loads((record / "frame" / "zarr.json").read_bytes())["attributes"]


def test_an_all_true_mask_on_disk_reads_as_no_mask(record: Path) -> None:
    block = mr.Block({"x": [1.0, 2.0]})
    block.set_validity("x", [True, False])
    mr.write(record, frame=mr.Frame({"b": block}))
    zarr.open_array(record, path="frame/b/_validity/x", mode="r+")[...] = True
    found = mr.open(record).frame
    assert found is not None
    assert found["b"].validity("x") is None


def test_values_changed_in_place_are_rounded_when_they_are_stored(record: Path) -> None:
    block = mr.Block({"x": [0.5, 0.25]})
    block.set_precision("x", 1e-3)
    block["x"][0] = 0.12345
    found = through(record, mr.Frame({"b": block}))
    assert found["b"]["x"].tolist() == stored_array(np.array([0.12345, 0.25]), 1e-3).tolist()


def test_a_reader_returns_values_off_the_grid_as_they_are(record: Path) -> None:
    block = mr.Block({"x": [0.5, 0.25]})
    block.set_precision("x", 1e-3)
    mr.write(record, frame=mr.Frame({"b": block}))
    zarr.open_array(record, path="frame/b/x", mode="r+")[...] = np.array([0.12345, math.nan])
    found = mr.open(record).frame
    assert found is not None
    assert found["b"].precision("x") == 1e-3
    assert exact(np.asarray(found["b"]["x"])) == exact(np.array([0.12345, math.nan]))


@pytest.mark.parametrize("value", [math.nan, math.inf, [math.nan], {"a": -math.inf}, {1, 2}, b"a", np.zeros(2)])
@pytest.mark.parametrize("place", ["block", "column"])
def test_attributes_that_are_not_json_are_refused_and_nothing_is_left(value: Any, place: str, tmp_path: Path) -> None:
    block = mr.Block({"x": [1.0]})
    (block.attributes if place == "block" else block.column_attributes("x"))["note"] = value
    with refused("reject-json-meta-non-finite|reject-meta-tag-mismatch", "'b'" if place == "block" else "x"):
        mr.write(tmp_path / "a.mrec", frame=mr.Frame({"b": block}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0, 1e308])
@pytest.mark.parametrize("changing", [False, True])
def test_a_box_gives_back_any_origin_it_takes(value: float, changing: bool, tmp_path: Path) -> None:
    try:
        box = mr.Box(np.eye(3) * 5.0, origin=[value, 0.0, 0.0])
    except mr.SchemaError as error:
        assert not math.isfinite(value)
        assert error.rule in {"reject-box-not-finite", "reject-box-shape"}  # noqa: PT017 - or takes none that it cannot
        return
    found = through(tmp_path / "a.mrec", mr.Frame(box=box))
    assert plain_frame(found) == plain_frame(mr.Frame(box=box))
    with mr.TrajectoryWriter(tmp_path / "b.mrec", mr.SequenceSchema()) as writer:
        writer.append(mr.Frame(box=box))
        writer.append(mr.Frame(box=mr.Box(np.eye(3)) if changing else None))
    trajectory = mr.open(tmp_path / "b.mrec").trajectory
    assert trajectory is not None
    assert plain_box(trajectory.box_at(0)) == plain_box(box)
