"""The documents of ``status`` and ``method`` (spec: status-and-method): what is kept, what is refused, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.model.timestamps import is_timestamp, now

from .refusals import refused, untouched
from .strategies import exact, json_documents, scratch, texts

RUNNING: dict[str, Any] = {
    "state": "running",
    "stage": "equilibration",
    "epoch": 0,
    "global_step": 2**60,
    "message": "é",
    "started_at": "2026-01-31T12:00:00Z",
    "updated_at": "2026-01-31T13:00:00.123456789+01:00",
    "finished_at": None,
    "progress": {"done": 0.5, "eta": None},
    "host": "node-7",
    "nothing": None,
}
FAILED: dict[str, Any] = {
    "state": "failed",
    "error": {"message": "", "type": "OSError", "traceback": "...", "errno": 28},
}
METHOD: dict[str, Any] = {
    "type": "classical",
    "description": "NVT",
    "engine": {"name": "lammps", "version": "2Aug2023", "build": {"gpu": True}},
    "order": 2,
    "thermostat": {"tau": 0.5, "seed": None},
}
WORKFLOW: dict[str, Any] = {
    "type": "workflow",
    "description": "relax, then run",
    "engine": {"name": "molexp"},
    "order": ["relax", "run"],
    "stages": {"run": {"type": "classical"}, "relax": {}},
}


def spoil(root: Path, section: str, document: dict[str, Any]) -> None:
    """Put a document in place that no writer here would."""
    node = json.loads((root / section / "zarr.json").read_bytes())
    node["attributes"] = document
    (root / section / "zarr.json").write_text(json.dumps(node))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("status", [RUNNING, FAILED, {"state": "my own word"}, {"state": "skipped", "error": None}])
@pytest.mark.parametrize("method", [METHOD, WORKFLOW, {**METHOD, "type": "my own"}])
def test_documents_come_back_with_every_key(
    status: dict[str, Any], method: dict[str, Any], packed: bool, record: Path
) -> None:
    target = record.with_suffix(".mrec.zip") if packed else record
    mr.write(target, status=status, method=method)
    with mr.open(target) as found:
        assert exact(found.status) == exact(status)
        assert exact(found.method) == exact(method)
        assert found.sections == ("meta", "method", "status")
    assert mr.validate(target) == []
    folder = mr.unpack(target, record) if packed else target
    assert dict(zarr.open_group(folder, path="status", mode="r").attrs) == status
    assert dict(zarr.open_group(folder, path="method", mode="r").attrs) == method


def test_a_run_shaped_record_is_a_status_beside_its_meta(record: Path) -> None:
    mr.write(record, status={"state": "pending"})
    assert mr.open(record).sections == ("meta", "status")
    assert mr.validate(record) == []
    with refused("reject-empty-record", "status"):
        mr.write(record.with_name("other.mrec"), method=METHOD)


@given(
    st.dictionaries(texts(4), json_documents(), max_size=3),
    st.sampled_from([{"state": "running"}, FAILED, RUNNING]),
    st.sampled_from([METHOD, WORKFLOW]),
)
def test_keys_nobody_knows_are_kept(extra: dict[str, Any], status: dict[str, Any], method: dict[str, Any]) -> None:
    with scratch() as folder:
        mr.write(folder / "a.mrec", status=extra | status, method=extra | method)
        found = mr.open(folder / "a.mrec")
        assert exact(found.status) == exact(extra | status)
        assert exact(found.method) == exact(extra | method)
        again = mr.write(folder / "b.mrec", status=found.status, method=found.method)
        for node in ("status", "method"):
            assert (again / node / "zarr.json").read_bytes() == (folder / "a.mrec" / node / "zarr.json").read_bytes()


BAD_STATUS: list[tuple[str, str, dict[str, Any]]] = [
    ("reject-status-state", "state", {}),
    ("reject-status-state", "state", {"state": ""}),
    ("reject-status-state", "state", {"state": None}),
    ("reject-status-state", "state", {"state": 3}),
    ("reject-status-counter", "epoch", {"epoch": -1}),
    ("reject-status-counter", "epoch", {"epoch": 1.0}),
    ("reject-status-counter", "global_step", {"global_step": True}),
    ("reject-status-counter", "global_step", {"global_step": "7"}),
    ("reject-status-timestamp", "started_at", {"started_at": "2026-01-31T12:00:00"}),
    ("reject-status-timestamp", "updated_at", {"updated_at": "31.1.2026"}),
    ("reject-status-timestamp", "finished_at", {"finished_at": 1769860800}),
    ("reject-status-error", "error", {"state": "failed"}),
    ("reject-status-error", "error", {"state": "failed", "error": None}),
    ("reject-status-error", "error", {"state": "failed", "error": "no memory"}),
    ("reject-status-error", "error.message", {"state": "failed", "error": {}}),
    ("reject-status-error", "error.type", {"error": {"message": "m", "type": 3}}),
    ("reject-status-malformed", "message", {"message": 3}),
    ("reject-status-malformed", "stage", {"stage": ["a"]}),
    ("reject-status-malformed", "progress", {"progress": 0.5}),
]
BAD_METHOD: list[tuple[str, str, dict[str, Any]]] = [
    ("reject-method-type", "type", {"type": None}),
    ("reject-method-type", "type", {"type": ""}),
    ("reject-method-description", "description", {"description": None}),
    ("reject-method-engine", "engine", {"engine": None}),
    ("reject-method-engine", "engine", {"engine": "lammps"}),
    ("reject-method-engine", "engine.name", {"engine": {}}),
    ("reject-method-engine", "engine.name", {"engine": {"name": ""}}),
    ("reject-method-engine", "engine.version", {"engine": {"name": "lammps", "version": 3}}),
    ("reject-method-workflow", "order", {"order": None}),
    ("reject-method-workflow", "order", {"order": {"relax": 1, "run": 2}}),
    ("reject-method-workflow", "stages", {"stages": None}),
    ("reject-method-workflow", "stages", {"stages": {"relax": {}, "run": 3}}),
    ("reject-method-workflow", "'run'", {"order": ["relax"]}),
    ("reject-method-workflow", "'run'", {"order": ["relax", "run", "run"]}),
    ("reject-method-workflow", "'more'", {"order": ["relax", "run", "more"]}),
]


def with_edits(good: dict[str, Any], edits: dict[str, Any], *, nulls: bool = False) -> dict[str, Any]:
    """Return a good document with keys replaced; None takes a key away."""
    return {key: value for key, value in {**good, **edits}.items() if value is not None or nulls}


@pytest.mark.parametrize(("rule", "place", "edits"), BAD_STATUS)
def test_a_status_that_breaks_a_rule_is_refused(rule: str, place: str, edits: dict[str, Any], record: Path) -> None:
    document = edits if not edits else {"state": "running", **edits}
    with refused(rule, place):
        mr.write(record, status=document)
    assert not record.exists()
    mr.write(record, status={"state": "running"})
    spoil(record, "status", document)
    for target in (record, mr.pack(record)):
        with refused(rule, "status", place, kind=mr.FormatError):
            repr(mr.open(target).status)
        assert [(finding.rule, finding.where) for finding in mr.validate(target)] == [(rule, "status")]
        assert mr.open(target).method is None


@pytest.mark.parametrize(("rule", "place", "edits"), BAD_METHOD)
def test_a_method_that_breaks_a_rule_is_refused(rule: str, place: str, edits: dict[str, Any], record: Path) -> None:
    document = with_edits(WORKFLOW, edits)
    with refused(rule, place):
        mr.write(record, status={"state": "running"}, method=document)
    assert not record.exists()
    mr.write(record, status={"state": "running"}, method=METHOD)
    spoil(record, "method", document)
    with refused(rule, "method", place, kind=mr.FormatError):
        repr(mr.open(record).method)
    assert [(finding.rule, finding.where) for finding in mr.validate(record)] == [(rule, "method")]


def test_a_refused_document_leaves_a_record_that_is_overwritten_alone(record: Path) -> None:
    mr.write(record, status=RUNNING)
    with untouched(record), refused("reject-status-counter", "status.epoch"):
        mr.write(record, status={"state": "running", "epoch": -3}, overwrite=True)


def test_a_message_says_what_was_found(record: Path) -> None:
    with refused("reject-status-counter", "status.epoch", "found -3", "greater than or equal to 0"):
        mr.write(record, status={"state": "running", "epoch": -3})


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T12:00:00Z", "2026-01-31t12:00:00z", "2026-01-31 12:00:00+00:00", "2026-12-31T23:59:60Z",
        "2024-02-29T00:00:00.000000001-23:59", "0001-01-01T00:00:00+01:00",
    ],
)  # fmt: skip
def test_a_point_in_time_with_its_offset(text: str) -> None:
    assert is_timestamp(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00Z", "2026-02-30T12:00:00Z", "2026-01-31T24:00:00Z",
        "2026-01-31T12:00:61Z", "2026-01-31T12:00:00+1:00", "2026-01-31T12:00:00+0100", "2026-01-31T12:00:00Z\n",
        "\uff12026-01-31T12:00:00Z", "2026-01-31T12:00:00 Z", None, 3,
    ],
)  # fmt: skip
def test_anything_else_is_no_point_in_time(text: Any) -> None:
    assert not is_timestamp(text)


def test_the_present_is_a_point_in_time() -> None:
    assert is_timestamp(now())
