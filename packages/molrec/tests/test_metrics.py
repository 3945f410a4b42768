"""Metrics (spec: metrics): a log that survives its writer, series that read the same before and after closing."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.model.metrics import MetricSeries
from molrec.storage.zarr import metrics_dense, metrics_log
from molrec.storage.zarr.metrics_dense import safe_name
from molrec.storage.zarr.record import open_source
from molrec.storage.zarr.repack import repack

from .refusals import refused, untouched
from .strategies import F64_EDGES, files, memory_store, scratch, texts

STATUS = {"state": "running"}
MOMENT = "2026-01-31T12:00:00Z"
type Plain = dict[str, tuple[str, list[Any], list[int] | None, list[str]]]


def log_path(record: Path) -> Path:
    return record / "metrics" / "metrics.jsonl"


def metrics_of(location: Any) -> Any:
    """Return the metrics of a record, which are there."""
    found = mr.open(location).metrics
    assert found is not None
    return found


def plain(location: Any) -> Plain:
    """Return every series by dtype-checked plain values; one NaN, floats by their bits."""
    series = {}
    for key, one in metrics_of(location).items():
        assert one.values.dtype == np.float64
        assert one.steps is None or one.steps.dtype == np.int64
        values = ["NaN" if math.isnan(value) else value.hex() for value in one.values.tolist()]
        steps = None if one.steps is None else one.steps.tolist()
        series[key] = (one.type, values, steps, one.wall_time.tolist())
    return series


def numbers(location: Any, key: str) -> tuple[list[float], list[int] | None]:
    one = metrics_of(location)[key]
    return one.values.tolist(), None if one.steps is None else one.steps.tolist()


def write_some(record: Path) -> Path:
    """Write a closed record with a series of every kind."""
    with mr.MetricsWriter(record) as writer:
        for step in range(4):
            writer.log("train/loss", 1.0 / (step + 1), step=step, wall_time=MOMENT, tags=["a", {"b": None}])
        writer.log("n", 3, wall_time=MOMENT, type="counter")
        writer.log("train/loss", math.inf, step=1, wall_time=MOMENT)
    return record


SOME: Plain = {
    "train/loss": ("scalar", [(1.0).hex(), "inf", (1 / 3).hex(), (0.25).hex()], [0, 1, 2, 3], [MOMENT] * 4),
    "n": ("counter", [(3.0).hex()], None, [MOMENT]),
}


# -- the log and the arrays -------------------------------------------------------------------------------------------


def test_the_log_is_one_compact_object_a_line(record: Path) -> None:
    writer = mr.MetricsWriter(record)
    writer.log("loss", 0.5, step=2**60, wall_time=MOMENT, tags={"split": "train"})
    writer.log("grad", math.nan, wall_time=MOMENT, type="norm")
    assert log_path(record).read_text() == (
        '{"t":"scalar","k":"loss","s":"1152921504606846976","w":"2026-01-31T12:00:00Z","v":0.5,'
        '"tags":{"split":"train"}}\n'
        '{"t":"norm","k":"grad","w":"2026-01-31T12:00:00Z","v":"NaN"}\n'
    )
    assert json.loads((record / "metrics" / "zarr.json").read_bytes())["attributes"] == {}
    assert numbers(record, "loss") == ([0.5], [2**60])
    assert not metrics_of(record).is_dense
    writer.close()


def test_closing_leaves_arrays_a_catalog_and_the_log(record: Path) -> None:
    write_some(record)
    group = zarr.open_group(record, path="metrics", mode="r")
    assert dict(group.attrs) == {
        "wal": {"lines": 6, "bytes": log_path(record).stat().st_size},
        "series": {
            "train/loss": {"type": "scalar", "count": 4, "latest_step": 3, "latest_timestamp": MOMENT},
            "n": {"type": "counter", "count": 1, "latest_step": None, "latest_timestamp": MOMENT},
        },
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Object at metrics.jsonl")  # zarr-python names what is no node
        arrays = {path: node for path, node in group.members(max_depth=None) if isinstance(node, zarr.Array)}
    assert set(arrays) == {
        "series/train%2Floss", "steps/train%2Floss", "wall_time/train%2Floss", "series/n", "wall_time/n",
    }  # fmt: skip
    assert np.asarray(arrays["series/train%2Floss"][...]).tolist() == [1.0, math.inf, 1 / 3, 0.25]
    assert np.asarray(arrays["steps/train%2Floss"][...]).tolist() == [0, 1, 2, 3]
    assert np.asarray(arrays["wall_time/n"][...]).tolist() == [MOMENT]
    assert [arrays[f"{part}/train%2Floss"].dtype.name for part in ("series", "steps")] == ["float64", "int64"]
    assert plain(record) == SOME
    assert metrics_of(record).is_dense
    assert mr.validate(record) == []


def test_a_section_reads_the_same_live_closed_packed_and_from_a_store(record: Path) -> None:
    writer = mr.MetricsWriter(record)
    for step in (3, 1, 2, 1, 5, 3):
        writer.log("a", step * 1.5, step=step, wall_time=MOMENT)
    writer.log("b", 1.0, wall_time=MOMENT)
    live = plain(record)
    assert numbers(record, "a") == ([4.5, 1.5, 3.0, 7.5], [3, 1, 2, 5])
    assert live == plain(memory_store(record))
    writer.close()
    assert live == plain(record) == plain(mr.pack(record)) == plain(memory_store(record))


def test_tags_and_replaced_events_stay_in_the_log(record: Path) -> None:
    write_some(record)
    events = list(metrics_of(record).events())
    assert [(event.key, event.step) for event in events] == [*(("train/loss", s) for s in range(4)), ("n", None),
                                                             ("train/loss", 1)]  # fmt: skip
    assert events[0].tags == ["a", {"b": None}]
    assert events[4].tags is None


def test_a_later_event_of_a_step_wins_across_closing(record: Path) -> None:
    with mr.MetricsWriter(record) as writer:
        for step in range(3):
            writer.log("a", float(step), step=step)
    with mr.MetricsWriter(record) as writer:
        assert numbers(record, "a") == ([0.0, 1.0, 2.0], [0, 1, 2])
        writer.log("a", 10.0, step=1)
        writer.log("a", 30.0, step=3)
        writer.log("b", 1.0)
        assert numbers(record, "a") == ([0.0, 10.0, 2.0, 30.0], [0, 1, 2, 3])
        assert [finding.rule for finding in mr.validate(record)] == ["open-metrics"]
    assert numbers(record, "a") == ([0.0, 10.0, 2.0, 30.0], [0, 1, 2, 3])
    assert mr.validate(record) == []


def test_a_writer_that_logs_nothing_changes_nothing(record: Path) -> None:
    write_some(record)
    with untouched(record):
        mr.MetricsWriter(record).close()
    empty = record.with_name("empty.mrec")
    mr.MetricsWriter(empty).close()
    assert len(metrics_of(empty)) == 0
    assert mr.open(record.with_name("empty.mrec")).sections == ("meta", "metrics", "status")


def test_values_of_every_kind_of_number(record: Path) -> None:
    with mr.MetricsWriter(record) as writer:
        given_values: list[Any] = [1, np.int32(2), np.float32(0.1), np.float64(-0.0), -math.inf]
        for value in given_values:
            writer.log("a", value)
    values, _ = numbers(record, "a")
    assert [value.hex() for value in values] == [float(value).hex() for value in given_values]


def test_the_wall_time_is_now_or_what_is_given(record: Path) -> None:
    before = datetime.now(UTC)
    with mr.MetricsWriter(record) as writer:
        writer.log("a", 1.0)
        writer.log("a", 1.0, wall_time=datetime(2026, 1, 31, 12, tzinfo=UTC))
    first, second = metrics_of(record)["a"].wall_time.tolist()
    assert before <= datetime.fromisoformat(first) <= datetime.now(UTC)
    assert second == "2026-01-31T12:00:00+00:00"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("loss", "loss"), ("A-z_0.9", "A-z_0.9"), ("a/b c", "a%2Fb%20c"), ("é", "%C3%A9"), ("%", "%25"), (".", "%2E"),
        ("..", "%2E."), ("__x", "%5F_x"), ("_x", "_x"), (".x", ".x"), ("a\0", "a%00"),
    ],
)  # fmt: skip
def test_safe_names(key: str, name: str, record: Path) -> None:
    assert safe_name(key) == name
    with mr.MetricsWriter(record) as writer:
        writer.log(key, 1.0)
    assert (record / "metrics" / "series" / name / "zarr.json").is_file()
    assert numbers(mr.pack(record), key) == ([1.0], None)


def test_metrics_beside_another_section(record: Path) -> None:
    mr.write(record, frame=mr.Frame({"a": mr.Block({"value": [1.0]})}))
    with mr.MetricsWriter(record) as writer:
        writer.log("a", 1.0)
    assert mr.open(record).sections == ("frame", "meta", "metrics")
    assert mr.validate(record) == []


def test_a_trajectory_and_its_metrics_are_written_side_by_side(record: Path) -> None:
    schema = mr.SequenceSchema().declare_column("a", "value", "f64")
    with mr.TrajectoryWriter(record, schema) as frames, mr.MetricsWriter(record) as metrics:
        for step in range(3):
            frames.append(mr.Frame({"a": mr.Block({"value": [float(step)]})}), step=step)
            metrics.log("a", step, step=step)
    with mr.open(record) as found:
        assert found.trajectory is not None
        assert len(found.trajectory) == 3
    assert numbers(record, "a") == ([0.0, 1.0, 2.0], [0, 1, 2])
    assert mr.validate(record) == []


# -- the status of a record that the writer made ----------------------------------------------------------------------


def test_a_record_made_for_metrics_says_how_it_went(record: Path) -> None:
    with mr.MetricsWriter(record, meta={"source": "here"}) as writer:
        writer.log("a", 1.0)
        assert mr.open(record).status["state"] == "running"  # type: ignore[index]
    status = mr.open(record).status
    assert status is not None
    assert (status["state"], status["started_at"] <= status["finished_at"]) == ("succeeded", True)
    assert mr.open(record).meta == {"molrec_version": 1, "source": "here"}
    other = record.with_name("other.mrec")
    with pytest.raises(ZeroDivisionError), mr.MetricsWriter(other) as writer:
        writer.log("a", 1 / 0)
    status = mr.open(other).status
    assert status is not None
    assert status["state"] == "failed"
    assert (status["error"]["type"], status["error"]["message"]) == ("ZeroDivisionError", "division by zero")
    assert mr.validate(other) == []


def test_a_status_of_the_callers_is_left_alone(record: Path) -> None:
    with mr.MetricsWriter(record, status={"state": "pending", "mine": None}):
        pass
    assert mr.open(record).status == {"state": "pending", "mine": None}
    with mr.MetricsWriter(record) as writer:
        writer.set_status({"state": "running", "epoch": 3})
        with refused("reject-status-counter", "status.epoch"):
            writer.set_status({"state": "running", "epoch": -3})
    assert mr.open(record).status == {"state": "running", "epoch": 3}
    with refused("reject-existing-path", "meta and status"):
        mr.MetricsWriter(record, meta={})
    with refused("reject-status-error", "status"):
        mr.MetricsWriter(record.with_name("b.mrec"), status={"state": "failed"})
    assert [path.name for path in record.parent.iterdir()] == ["run.mrec"]


# -- what a call refuses ----------------------------------------------------------------------------------------------

BAD_EVENTS: list[tuple[str, str, dict[str, Any]]] = [
    ("reject-bad-name", "''", {"key": ""}),
    ("reject-bad-name", "3", {"key": 3}),
    ("reject-bad-name", "zarr.json", {"key": "zarr.json"}),
    ("reject-bad-name", "...", {"key": "..."}),
    ("reject-bad-name", "255", {"key": "é" * 43}),
    ("reject-invalid-string", "key", {"key": "\ud800"}),
    ("reject-meta-tag-mismatch", "'b', value", {"value": "1.0"}),
    ("reject-meta-tag-mismatch", "'b', value", {"value": True}),
    ("reject-meta-tag-mismatch", "'b', value", {"value": None}),
    ("reject-meta-tag-mismatch", "'b', value", {"value": 2**53 + 1}),
    ("reject-meta-tag-mismatch", "'b', value", {"value": [1.0]}),
    ("reject-meta-tag-mismatch", "'b', step", {"step": 1.0}),
    ("reject-meta-out-of-range", "'b', step", {"step": 2**63}),
    ("reject-metrics-event", "wall_time", {"wall_time": "2026-01-31T12:00:00"}),
    ("reject-metrics-event", "wall_time", {"wall_time": datetime(2026, 1, 31)}),  # noqa: DTZ001
    ("reject-metrics-event", "wall_time", {"wall_time": 3.5}),
    ("reject-metrics-event", "tags", {"tags": "train"}),
    ("reject-json-meta-non-finite", "tags", {"tags": [math.nan]}),
    ("reject-metrics-event", "type", {"type": ""}),
    ("reject-metrics-event", "type 'other'", {"key": "a", "step": 1, "type": "other"}),
    ("reject-metrics-event", "without steps", {"key": "n", "step": 1}),
    ("reject-metrics-event", "with steps", {"key": "a"}),
]


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize(("rule", "place", "call"), BAD_EVENTS)
def test_an_inadmissible_event_is_refused_and_not_logged(
    rule: str, place: str, call: dict[str, Any], reopened: bool, record: Path
) -> None:
    writer = mr.MetricsWriter(record)
    writer.log("a", 1.0, step=0)
    writer.log("n", 1.0)
    if reopened:
        writer.close()
        writer = mr.MetricsWriter(record)
    with untouched(record), refused(rule, "metrics", place):
        writer.log(**{"key": "b", "value": 1.0, **call})
    writer.log("a", 2.0, step=1)
    writer.close()
    assert numbers(record, "a") == ([1.0, 2.0], [0, 1])
    assert list(metrics_of(record)) == ["a", "n"]


def test_a_closed_writer_refuses(record: Path) -> None:
    writer = mr.MetricsWriter(record)
    writer.close()
    writer.close()
    with untouched(record):
        with refused("reject-writer-closed", "run.mrec"):
            writer.log("a", 1.0)
        with refused("reject-writer-closed", "run.mrec"):
            writer.flush()
        with refused("reject-writer-closed", "run.mrec"):
            writer.set_status(STATUS)


def test_only_a_record_folder_takes_metrics(record: Path) -> None:
    packed = mr.pack(write_some(record))
    for target in (packed, record.with_name("new.mrec.zip")):
        with refused("reject-append-not-a-directory", target.name):
            mr.MetricsWriter(target)
    (record.parent / "folder").mkdir()
    with refused("reject-not-a-record", "folder", kind=mr.FormatError):
        mr.MetricsWriter(record.parent / "folder")


# -- one writer -------------------------------------------------------------------------------------------------------


def test_one_writer_at_a_time(record: Path) -> None:
    schema = mr.SequenceSchema().declare_column("a", "x", "f64")
    frames = mr.TrajectoryWriter(record, schema)
    writer = mr.MetricsWriter(record)
    with refused("reject-second-writer", "run.mrec"):
        mr.MetricsWriter(record)
    frames.close()
    with refused("reject-pack-open"):
        mr.pack(record)
    with refused("reject-second-writer"):
        mr.TrajectoryWriter.reopen(record)
    with refused("reject-second-writer"):
        mr.write(record, status=STATUS, overwrite=True)
    child = run_child("import molrec as mr, sys; mr.MetricsWriter(sys.argv[1])", record)
    _, told = child.communicate()
    assert child.returncode == 1
    assert b"reject-second-writer" in told
    writer.close()
    mr.pack(record)
    mr.MetricsWriter(record).close()
    mr.TrajectoryWriter.reopen(record).close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_does_not_log_and_holds_no_lock(record: Path) -> None:
    writer = mr.MetricsWriter(record)
    writer.log("a", 1.0)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            writer.log("a", 2.0)
        except mr.SchemaError as error:
            os.write(writing, error.rule.encode())
        finally:
            signal.pause()
    assert os.read(reading, 100) == b"reject-writer-closed"
    writer.close()
    mr.MetricsWriter(record).close()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert numbers(record, "a") == ([1.0], None)


def run_child(program: str, record: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), str(record)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


# -- crashes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("closed_before", [False, True])
def test_a_killed_writer_leaves_every_line_it_logged(closed_before: bool, record: Path) -> None:
    if closed_before:
        with mr.MetricsWriter(record) as writer:
            writer.log("a", -1.0, step=-1)
    program = """
        import itertools, os, sys
        import molrec as mr
        with mr.MetricsWriter(sys.argv[1]) as writer:
            for step in itertools.count():
                writer.log("a", step, step=step)
                os.write(1, b"%d\\n" % step)
    """
    child = run_child(program, record)
    assert child.stdout is not None
    seen = -1
    while seen < 500:
        seen = int(child.stdout.readline())
    child.send_signal(signal.SIGKILL)
    told = [int(line) for line in child.stdout.read().split(b"\n")[:-1]]
    child.wait()
    child.stdout.close()
    assert child.stderr is not None
    child.stderr.close()
    least = told[-1] if told else seen
    values, steps = numbers(record, "a")
    assert steps is not None
    assert steps == list(range(-1 if closed_before else 0, steps[-1] + 1))
    assert values == [float(step) for step in steps]
    assert steps[-1] in (least, least + 1)
    if not closed_before:
        assert mr.open(record).status["state"] == "running"  # type: ignore[index]
    assert plain(mr.pack(record)) == plain(record)
    with mr.MetricsWriter(record) as writer:
        writer.log("a", 0.5, step=steps[-1] + 1)
    assert numbers(record, "a") == ([*values, 0.5], [*steps, steps[-1] + 1])


def test_a_log_torn_at_any_byte_opens_at_its_last_whole_line(record: Path) -> None:
    writer = mr.MetricsWriter(record)
    for step in range(3):
        writer.log("é", step, step=step, wall_time=MOMENT)
    writer.close()
    shutil.rmtree(record / "metrics" / "series")
    (record / "metrics" / "zarr.json").write_text('{"zarr_format":3,"node_type":"group","attributes":{}}')
    whole = log_path(record).read_bytes()
    for cut in range(len(whole)):
        log_path(record).write_bytes(whole[:cut])
        lines = whole[:cut].count(b"\n")
        found = metrics_of(record)
        assert [float(step) for step in range(lines)] == (found["é"].values.tolist() if lines else [])
        with mr.MetricsWriter(record) as writer:
            assert log_path(record).read_bytes() == b"".join(whole.splitlines(keepends=True)[:lines])
            writer.log("é", 9.0, step=9)
        assert numbers(record, "é") == ([*map(float, range(lines)), 9.0], [*range(lines), 9])
        (record / "metrics" / "zarr.json").write_text('{"zarr_format":3,"node_type":"group","attributes":{}}')


@pytest.mark.parametrize("piece", [1, 7, 64])
def test_a_log_is_read_in_pieces_of_any_size(piece: int, record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_log, "_PIECE_BYTES", piece)
    write_some(record)
    with log_path(record).open("ab") as file:
        file.write(b'{"t":"counter","k":"n","w":"' + MOMENT.encode() + b'","v":4.0}\n{"torn')
    for target in (record, mr.pack(record), memory_store(record)):
        assert plain(target)["n"] == ("counter", [(3.0).hex(), (4.0).hex()], None, [MOMENT] * 2)
        assert plain(target)["train/loss"] == SOME["train/loss"]
    mr.MetricsWriter(record).close()
    assert metrics_of(record).catalog.mark.lines == 7


def test_a_log_that_cannot_be_mended_takes_nothing_more(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = mr.MetricsWriter(record)
    writer.log("a", 1.0, wall_time=MOMENT)

    def full(*_: Any) -> int:
        raise OSError(errno.EIO, "no device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        patch.setattr(os, "ftruncate", full)
        with pytest.raises(OSError, match="no device"):
            writer.log("a", 2.0)
    with refused("reject-writer-closed", "run.mrec"):
        writer.log("a", 3.0)
    writer.close()
    assert numbers(record, "a") == ([1.0], None)
    mr.MetricsWriter(record).close()


def test_a_torn_end_past_the_watermark_is_ignored_and_cut_off(record: Path) -> None:
    write_some(record)
    whole = log_path(record).read_bytes()
    with log_path(record).open("ab") as file:
        file.write(b'{"t":"scalar","k":"n","v":4.0}')
    assert plain(record) == SOME == plain(mr.pack(record))
    mr.MetricsWriter(record).close()
    assert log_path(record).read_bytes() == whole


@pytest.mark.parametrize("again", [False, True])
def test_a_failure_while_closing_at_any_point_loses_nothing(
    again: bool, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step of making the arrays fails once; the log stays, every series is whole, and the next try succeeds."""
    first = record
    if again:
        write_some(first)
    writer = mr.MetricsWriter(first)
    writer.log("train/loss", 9.0, step=2, wall_time=MOMENT)
    writer.log("new", 1.0, wall_time=MOMENT)
    expected = plain(first)
    writer._release()
    calls, failing = 0, 0
    operations = ("write_document", "write_fixed_array", "remove_array", "sync_tree", "sync_directory")
    for operation in operations:
        original: Callable[..., Any] = getattr(metrics_dense, operation)

        def counted(*arguments: Any, original: Callable[..., Any] = original, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == failing:
                raise OSError(errno.ENOSPC, "no space left")
            return original(*arguments, **more)

        monkeypatch.setattr(metrics_dense, operation, counted)
    for failing in range(1, 60):
        copy = record.with_name(f"copy{failing}.mrec")
        shutil.copytree(first, copy)
        calls, before = 0, log_path(copy).read_bytes()
        with suppress(OSError):
            mr.MetricsWriter(copy).close()
        assert plain(copy) == expected
        if calls < failing:  # it went through: every call there is has failed once
            break
        assert log_path(copy).read_bytes() == before
        calls = 1000
        mr.MetricsWriter(copy).close()
        assert plain(copy) == expected
        assert mr.validate(copy) == []
        shutil.rmtree(copy)
    assert 10 < failing < 59


def test_a_line_that_cannot_be_written_whole_is_taken_back(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = mr.MetricsWriter(record)
    writer.log("a", 1.0, wall_time=MOMENT)
    write = os.write
    failures = iter([5, None])

    def short(file: int, data: Any) -> int:
        allowed = next(failures)
        if allowed is None:
            raise OSError(errno.ENOSPC, "no space left")
        return write(file, bytes(data)[:allowed])

    with monkeypatch.context() as patch, untouched(record):
        patch.setattr(os, "write", short)
        with pytest.raises(OSError, match="no space"):
            writer.log("a", 2.0, wall_time=MOMENT)
    writer.log("a", 3.0, wall_time=MOMENT)
    writer.close()
    assert numbers(record, "a") == ([1.0, 3.0], None)


# -- what a reader refuses --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense", b"{", b"[]", b"3", b"null", b"{}", b'{"k":"a"}', b'{"v":1.0}', b'{"k":"","v":1.0}',
        b'{"k":3,"v":1.0}',
        b'{"k":"a","v":null}', b'{"k":"a","v":"1.0"}', b'{"k":"a","v":true}', b'{"k":"a","v":NaN}',
        b'{"k":"a","v":1e999}',
        b'{"k":"a","v":1.0,"s":1.0}', b'{"k":"a","v":1.0,"s":"1"}', b'{"k":"a","v":1.0,"s":9223372036854775808}',
        b'{"k":"a","v":1.0,"w":3}', b'{"k":"a","v":1.0,"t":3}', b'{"k":"a","v":1.0,"tags":"x"}',
        b'{"k":"a","v":1.0,"v":2}',
        b'\xff{"k":"a","v":1.0}', b'{"k":"a","v":1.0} {"k":"a","v":1.0}', b"\0\0\0\0",
    ],
)  # fmt: skip
def test_a_complete_line_that_is_no_event_is_refused(line: bytes, record: Path) -> None:
    write_some(record)
    with log_path(record).open("ab") as file:
        file.write(b"\n  \n" + line + b"\n")
    for target in (record, mr.pack(record)):
        with refused("reject-metrics-line", "metrics.jsonl, line 9", kind=mr.FormatError):
            repr(mr.open(target).metrics)
        assert [(finding.rule, finding.where) for finding in mr.validate(target)] == [
            ("reject-metrics-line", "metrics")
        ]
        assert mr.open(target).status is not None
    with untouched(record), refused("reject-metrics-line", "line 9", kind=mr.FormatError):
        mr.MetricsWriter(record)


def test_lines_other_writers_may_write(record: Path) -> None:
    write_some(record)
    with log_path(record).open("ab") as file:
        file.write(
            b'\n \t\r\n{"v":2,"k":"other","later":{"a":null}}\n'
            b'{"k":"other","v":"-Infinity","s":null,"tags":null,"w":null}\r\n'
        )
        file.write(
            b'{"k":"wide","s":9007199254740993,"v":1}\n{"k":"wide","s":"-9007199254740993","v":9007199254740993}\n'
        )
    for closed in (False, True):
        assert numbers(record, "other") == ([2.0, -math.inf], None)
        assert metrics_of(record)["other"].wall_time.tolist() == ["", ""]
        assert numbers(record, "wide") == ([1.0, 2.0**53], [2**53 + 1, -(2**53) - 1])
        if not closed:
            mr.MetricsWriter(record).close()
            with mr.MetricsWriter(record) as writer:
                writer.log("n", 4.0, type="counter")
    assert b'"later":{"a":null}' in log_path(record).read_bytes()


@pytest.mark.parametrize(
    ("line", "mention"),
    [(b'{"k":"train/loss","v":1.0}', "without steps"), (b'{"t":"other","k":"n","v":1.0}', "'other'")],
)
def test_an_event_unlike_its_series_is_refused(line: bytes, mention: str, record: Path) -> None:
    write_some(record)
    with log_path(record).open("ab") as file:
        file.write(line + b"\n")
    key = json.loads(line)["k"]
    with refused("reject-metrics-event", key, mention, kind=mr.FormatError):
        metrics_of(record)[key]
    assert "reject-metrics-event" in [finding.rule for finding in mr.validate(record)]
    fresh = record.with_name("fresh.mrec")
    mr.MetricsWriter(fresh).close()
    log_path(fresh).write_bytes(b'{"k":"train/loss","v":1.0,"s":1}\n{"t":"counter","k":"n","v":1}\n' + line + b"\n")
    with refused("reject-metrics-event", "line 3", kind=mr.FormatError):
        metrics_of(fresh)


def edit(record: Path, **attributes: Any) -> None:
    """Replace attributes of the section; None takes one away."""
    document = json.loads((record / "metrics" / "zarr.json").read_bytes())
    merged = document["attributes"] | attributes
    document["attributes"] = {key: value for key, value in merged.items() if value is not None}
    (record / "metrics" / "zarr.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    "attributes",
    [
        {"wal": None}, {"series": None}, {"wal": {"lines": 6}}, {"wal": {"lines": -1, "bytes": 0}},
        {"wal": {"lines": True, "bytes": 0}}, {"wal": 3}, {"series": []}, {"series": {"n": {}}}, {"series": {"n": 1}},
        {"series": {"n": {"count": -1}}}, {"series": {"n": {"count": 1, "type": 3}}}, {"wal": {"lines": 6, "bytes": 7}},
    ],
)  # fmt: skip
def test_a_malformed_catalog_is_refused(attributes: dict[str, Any], record: Path) -> None:
    write_some(record)
    edit(record, **attributes)
    with refused("reject-metrics-catalog", "metrics", kind=mr.FormatError):
        repr(mr.open(record).metrics)
    assert [finding.rule for finding in mr.validate(record)] == ["reject-metrics-catalog"]


@pytest.mark.parametrize("spoil", ["missing", "short", "dtype"])
def test_arrays_unlike_the_catalog_are_refused(spoil: str, record: Path) -> None:
    write_some(record)
    array = record / "metrics" / "series" / "n"
    if spoil == "missing":
        shutil.rmtree(array)
    elif spoil == "short":
        edit(record, series={"n": {"type": "counter", "count": 2}})
    else:
        shutil.rmtree(array)
        zarr.create_array(record, name="metrics/series/n", shape=(1,), dtype="int64")[...] = 1
    with refused("reject-metrics-catalog", "metrics/series/n", kind=mr.FormatError):
        metrics_of(record)["n"]
    refusals = [finding for finding in mr.validate(record) if finding.rule.startswith("reject-")]
    assert [(finding.rule, finding.where) for finding in refusals] == [("reject-metrics-catalog", "metrics, 'n'")]


def test_a_damaged_array_is_refused(record: Path) -> None:
    write_some(record)
    chunk = record / "metrics" / "series" / "n" / "c" / "0"
    chunk.write_bytes(bytes(byte ^ 1 for byte in chunk.read_bytes()))
    with refused("reject-corrupt-chunk", "metrics/series/n", kind=mr.FormatError):
        metrics_of(record)["n"]
    assert numbers(record, "train/loss")[1] == [0, 1, 2, 3]


# -- a log that is gone -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [None, 0, 100])
def test_arrays_are_in_force_where_the_log_is_gone(left: int | None, record: Path) -> None:
    write_some(record)
    if left is None:
        log_path(record).unlink()
    else:
        os.truncate(log_path(record), left)
    for target in (record, mr.pack(record)):
        assert plain(target) == SOME
        assert [(finding.rule, finding.severity) for finding in mr.validate(target)] == [
            ("metrics-log-short", "warning")
        ]
    with untouched(record), refused("reject-metrics-log-lost", "metrics.jsonl", "6 lines", "molrec.write"):
        mr.MetricsWriter(record)
    again = mr.write(record.with_name("again.mrec"), status=STATUS, metrics=metrics_of(record))
    assert plain(again) == SOME
    with mr.MetricsWriter(again) as writer:
        writer.log("n", 4.0, wall_time=MOMENT, type="counter")
    assert numbers(again, "n") == ([3.0, 4.0], None)


def test_the_validator_compares_log_and_arrays(record: Path) -> None:
    write_some(record)
    raw = log_path(record).read_bytes()
    log_path(record).write_bytes(raw.replace(b'"v":0.25', b'"v":0.35'))
    assert plain(record) == SOME
    assert [(finding.rule, finding.where) for finding in mr.validate(record)] == [
        ("metrics-log-disagrees", "metrics, 'train/loss'")
    ]
    log_path(record).write_bytes(raw.replace(b'"v":0.25', b'"v":nope'))
    assert [(finding.rule, finding.where) for finding in mr.validate(record)] == [
        ("metrics-log-disagrees", "metrics/metrics.jsonl")
    ]


def test_the_validator_advises_on_wall_times(record: Path) -> None:
    write_some(record)
    with log_path(record).open("ab") as file:
        file.write(b'{"k":"b","v":1.0,"w":"yesterday"}\n')
    assert metrics_of(record)["b"].wall_time.tolist() == ["yesterday"]
    found = [(finding.rule, finding.where, finding.severity) for finding in mr.validate(record)]
    assert found == [("metrics-wall-time", "metrics, 'b'", "warning"), ("open-metrics", "metrics", "info")]


# -- written whole, rewritten, unknown content ------------------------------------------------------------------------


def test_metrics_are_written_with_a_record_and_copied(record: Path) -> None:
    series = {
        "a/b": MetricSeries(np.array([1.0, -0.0, np.nan]), np.array([3, 4, 3])),
        "c": MetricSeries(np.array([1.5]), None, np.array([MOMENT], dtype=np.dtypes.StringDType()), "counter"),
    }
    mr.write(record, status=STATUS, metrics=series)
    assert numbers(record, "c") == ([1.5], None)
    assert plain(record)["a/b"] == ("scalar", ["NaN", (-0.0).hex()], [3, 4], ["", ""])
    assert mr.validate(record) == []
    copied = mr.write(record.with_name("b.mrec.zip"), status=STATUS, metrics=metrics_of(record))
    assert plain(copied) == plain(record)
    assert files(mr.unpack(copied, record.with_name("c.mrec"))) == files(record)
    with mr.MetricsWriter(record) as writer:
        writer.log("c", 2.5, type="counter")
    assert numbers(record, "c")[0] == [1.5, 2.5]


@pytest.mark.parametrize(
    ("rule", "key", "series"),
    [
        ("reject-metrics-event", "a", np.zeros(2)),
        ("reject-bad-name", "", MetricSeries(np.zeros(1))),
        ("reject-bad-name", "zarr.json", MetricSeries(np.zeros(1))),
    ],
)
def test_series_that_cannot_be_written_are_refused(rule: str, key: str, series: Any, record: Path) -> None:
    with refused(rule, "metrics"):
        mr.write(record, status=STATUS, metrics={key: series})
    assert not record.exists()


@pytest.mark.parametrize(
    "arguments", [([1],), (np.zeros((2, 2)),), (np.zeros(2), np.zeros(2)), (np.zeros(2), np.array([1]))]
)
def test_a_series_is_columns_of_one_length(arguments: Any) -> None:
    columns: list[Any] = [np.asarray(argument) for argument in arguments]
    with refused("reject-metrics-event", "series"):
        MetricSeries(*columns)


def test_unknown_content_is_carried_through(record: Path) -> None:
    write_some(record)
    edit(record, later={"deep": [None, -0.0]})
    entry = json.loads((record / "metrics" / "zarr.json").read_bytes())["attributes"]["series"]
    edit(record, series=entry | {"n": entry["n"] | {"unit": "1"}})
    zarr.open_array(record, path="metrics/series/n", mode="r+").attrs["mine"] = 1
    zarr.create_group(record, path="metrics/later").attrs["x"] = 1
    zarr.create_array(record, name="metrics/series/other", shape=(2,), dtype="float32")[...] = 1.5
    (record / "metrics" / "notes.txt").write_text("mine")
    before = files(record)
    assert files(mr.unpack(mr.pack(record), record.with_name("again.mrec"))) == before
    assert files(repack(open_source(record), record.with_name("repacked.mrec"))) == before
    with mr.MetricsWriter(record) as writer:
        writer.log("n", 5.0, type="counter")
    group = zarr.open_group(record, path="metrics", mode="r")
    assert group.attrs["later"] == {"deep": [None, -0.0]}
    assert group.attrs["series"]["n"]["unit"] == "1"  # type: ignore[index, call-overload]
    assert zarr.open_array(record, path="metrics/series/n", mode="r").attrs["mine"] == 1
    after = files(record)
    for name in ("metrics/later/zarr.json", "metrics/series/other/zarr.json", "metrics/notes.txt"):
        assert after[name] == before[name]


def test_a_log_without_a_group_is_read_all_the_same(record: Path) -> None:
    mr.write(record, status=STATUS)
    assert mr.open(record).metrics is None
    (record / "metrics").mkdir()
    log_path(record).write_bytes(b'{"k":"a","v":1.0}\n')
    assert numbers(record, "a") == ([1.0], None)


# -- driven by machine ------------------------------------------------------------------------------------------------

KEYS = st.one_of(st.sampled_from(["a", "a/b", ".", "..", "__a", "é", "a.b"]), texts(3)).filter(
    lambda key: bool(key) and (key in (".", "..") or bool(key.strip("."))) and key != "zarr.json"
)
VALUES = st.one_of(st.sampled_from(F64_EDGES.tolist()), st.floats())
ACTIONS = st.one_of(
    st.tuples(st.just("log"), KEYS, VALUES, st.integers(-3, 3)),
    st.tuples(st.just("log"), KEYS, VALUES, st.integers(-(2**63), 2**63 - 1)),
    st.just(("close",)),
    st.just(("crash",)),
    st.just(("flush",)),
)


@given(st.lists(ACTIONS, max_size=25), st.sets(st.sampled_from(["a", "a/b", "é"])))
def test_a_writer_closed_and_crashed_at_any_time_keeps_what_it_logged(actions: list[Any], stepless: set[str]) -> None:
    expected: dict[str, dict[Any, str]] = {}
    with scratch() as folder:
        record = folder / "a.mrec"
        writer = mr.MetricsWriter(record)
        for number, action in enumerate(actions):
            match action:
                case ("log", key, value, step):
                    writer.log(key, value, step=None if key in stepless else step, wall_time=MOMENT)
                    place = number if key in stepless else step
                    expected.setdefault(key, {})[place] = "NaN" if math.isnan(value) else value.hex()
                case ("flush",):
                    writer.flush()
                case ("close",):
                    writer.close()
                    writer = mr.MetricsWriter(record)
                case _:
                    writer._release()
                    with log_path(record).open("ab") as file:
                        file.write(b'{"k":"a"')
                    writer = mr.MetricsWriter(record)
        model = {
            key: ("scalar", list(entries.values()), None if key in stepless else list(entries), [MOMENT] * len(entries))
            for key, entries in expected.items()
        }
        assert plain(record) == model
        writer.close()
        assert plain(record) == model
        assert plain(mr.pack(record)) == model
        assert mr.validate(record) == []


# -- info and plot ----------------------------------------------------------------------------------------------------


def test_info_lists_metrics(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from molrec.cli.info import info
    from molrec.inspection import inspect_record

    write_some(record)
    facts = inspect_record(record)
    assert facts["metrics"] == {
        "closed": True,
        "series": {
            "train/loss": {
                "type": "scalar", "count": 4, "steps": {"least": 0, "most": 3}, "least": 0.25, "most": "Infinity",
                "latest": 0.25, "latest_timestamp": MOMENT,
            },
            "n": {"type": "counter", "count": 1, "least": 3.0, "most": 3.0, "latest": 3.0, "latest_timestamp": MOMENT},
        },
    }  # fmt: skip
    assert facts["status"]["state"] == "succeeded"
    info(str(record))
    shown = capsys.readouterr().out
    assert "train/loss  4 entries, steps 0 to 3" in shown
    assert 'state = "succeeded"' in shown


def test_plot_draws_metrics(record: Path) -> None:
    pytest.importorskip("matplotlib")
    from molrec.plotting import plot_series

    write_some(record)
    png = record.with_suffix(".png")
    assert plot_series(record, png) == ["metrics/train/loss", "metrics/n"]
    assert png.read_bytes().startswith(b"\x89PNG")
    assert plot_series(record, png, ["n"], overwrite=True) == ["n"]
    with refused("reject-undeclared", "loss", "metrics/train/loss"):
        plot_series(record, png, ["loss"], overwrite=True)
