"""Every record written by ``molcrafts-molrs`` reads back as the content its JSON document states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import molrec as mr

from . import fixture_json, molrec_adapter, neutral, shared_fixtures, tamper

NAMES = shared_fixtures.names()
if not NAMES:
    pytest.skip("no interoperability fixtures: set MOLREC_SHARED", allow_module_level=True)

RUNS = [name for name in NAMES if fixture_json.load(shared_fixtures.document(name))["trajectory"] is not None]


HAND_STAMPED = "record_system_frame"
"""A record whose meta holds a ``molrec_version`` of the producer's own making, which is no version."""


def opened(name: str, folder: Path) -> mr.Record:
    """Open a fixture as a directory."""
    root = shared_fixtures.unpack(name, folder)
    if name == HAND_STAMPED:
        stamp = {"op": "json_remove", "path": "meta/zarr.json", "pointer": "/attributes/molrec_version"}
        tamper.apply(root, [stamp])
    return mr.open(root)


def expected(name: str) -> neutral.Record:
    """Content the document of a fixture states."""
    content = fixture_json.record(fixture_json.load(shared_fixtures.document(name)))
    if name == HAND_STAMPED:
        del content.meta["molrec_version"]
    return content


@pytest.mark.parametrize("name", [name for name in NAMES if name != HAND_STAMPED])
def test_packed_record_reads_as_documented(name: str) -> None:
    record = mr.open(shared_fixtures.packed(name))
    assert neutral.record_difference(expected(name), molrec_adapter.record(record)) is None


@pytest.mark.parametrize("name", NAMES)
def test_directory_record_reads_as_documented(name: str, tmp_path: Path) -> None:
    assert neutral.record_difference(expected(name), molrec_adapter.record(opened(name, tmp_path))) is None


def test_a_version_that_is_no_version_is_refused() -> None:
    with pytest.raises(mr.FormatError) as refusal:
        _ = mr.open(shared_fixtures.packed(HAND_STAMPED)).meta
    assert refusal.value.rule == "reject-molrec-version"


@pytest.mark.parametrize("name", RUNS)
def test_frames_do_not_depend_on_reading_order(name: str) -> None:
    """A frame is the same whichever frame was read before it, and however it is asked for."""
    run = expected(name).trajectory
    assert run is not None
    reader = mr.open(shared_fixtures.packed(name)).trajectory
    assert reader is not None
    assert len(reader) == len(run.frames)
    order = np.random.default_rng(0).permutation(len(run.frames))[:60].tolist()
    for ordinal in [*order, *reversed(order)]:
        found = molrec_adapter.frame(reader[ordinal])
        assert neutral.first_difference(run.frames[ordinal].frame, found, f"reader[{ordinal}]") is None
        negative = molrec_adapter.frame(reader[ordinal - len(run.frames)])
        assert neutral.first_difference(found, negative, f"reader[{ordinal - len(run.frames)}]") is None


@pytest.mark.parametrize("name", RUNS)
def test_cells_and_step_meta_agree_with_the_frames(name: str) -> None:
    """``box_at`` and the per-step series say what the frames say."""
    run = expected(name).trajectory
    assert run is not None
    reader = mr.open(shared_fixtures.packed(name)).trajectory
    assert reader is not None
    for ordinal, step in enumerate(run.frames):
        box = reader.box_at(ordinal)
        found = None if box is None else molrec_adapter.box(box)
        assert neutral.first_difference(step.frame.box, found, f"box_at({ordinal})") is None


@pytest.mark.parametrize("name", RUNS)
def test_iteration_and_slices_give_the_same_frames(name: str) -> None:
    run = expected(name).trajectory
    assert run is not None
    reader = mr.open(shared_fixtures.packed(name)).trajectory
    assert reader is not None
    iterated = [molrec_adapter.frame(frame) for frame in reader]
    assert neutral.first_difference([step.frame for step in run.frames], iterated) is None
    sliced = [molrec_adapter.frame(frame) for frame in reader[1::2]]
    assert neutral.first_difference([step.frame for step in run.frames[1::2]], sliced) is None


@pytest.mark.parametrize("name", RUNS)
def test_ordinals_outside_the_run_are_index_errors(name: str) -> None:
    reader = mr.open(shared_fixtures.packed(name)).trajectory
    assert reader is not None
    for ordinal in (len(reader), -len(reader) - 1):
        with pytest.raises(IndexError):
            reader[ordinal]


def test_the_comparison_sees_every_kind_of_change() -> None:
    """The comparison these tests rest on tells apart what the format tells apart."""
    column = neutral.Column("f64", np.array([0.0, np.nan]), None, None)
    assert neutral.first_difference(column, column) is None
    changed = [
        neutral.Column("f64", np.array([-0.0, np.nan]), None, None),
        neutral.Column("f64", np.array([0.0, 1.0]), None, None),
        neutral.Column("f64", np.array([0.0, np.nan, 0.0]), None, None),
        neutral.Column("f64", np.array([[0.0], [np.nan]]), None, None),
        neutral.Column("f64", np.array([0, 1], np.int64), None, None),
        neutral.Column("f64", np.array([0.0, np.nan]), np.array([True, False]), None),
        neutral.Column("f64", np.array([0.0, np.nan]), None, 0.5),
        neutral.Column("i64", np.array([0.0, np.nan]), None, None),
    ]
    for other in changed:
        difference = neutral.first_difference(column, other)
        assert difference is not None
        assert difference.path
    assert neutral.first_difference({"a": 1}, {"a": True}) is not None
    assert neutral.first_difference({"a": 1}, {"a": 1.0}) is not None
    assert neutral.first_difference({"a": None}, {}) is not None
    assert neutral.first_difference({}, {"a": None}) is not None
    assert neutral.first_difference((1, 2), [1, 2]) is not None
    assert neutral.first_difference(1.0, float("nan")) is not None
    strings = np.array(["a", ""], neutral.STRING)
    digest = neutral.Digest(neutral.digest_of(strings), (2,), "string", ((1, ""),))
    assert neutral.first_difference(digest, strings) is None
    assert neutral.first_difference(digest, np.array(["a", "b"], neutral.STRING)) is not None
