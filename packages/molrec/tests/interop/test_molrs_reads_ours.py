"""``molcrafts-molrs`` reads what ``molrec`` writes, and ``molrec`` reads what it writes, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import molrec as mr

from . import exchange_cases, molrec_adapter, neutral

pytest.importorskip("molrs.io.mrec", reason="molcrafts-molrs is not installed")

from . import molrs_adapter

VERSION = {"molrec_version": 1}

STORAGES: dict[str, dict[str, Any]] = {
    "live": {"profile": "live"},
    "archive": {"profile": "archive"},
    "gzip": {"compression": "gzip"},
    "gzip9": {"compression": "gzip:9"},
    "zstd": {"compression": "zstd:5"},
}


def write_entries(path: Path, run: exchange_cases.Run, entries: Sequence[exchange_cases.Entry], **options: Any) -> None:
    with mr.TrajectoryWriter(path, run.schema, flush_every=run.flush_every, **options) as writer:
        for step, time, frame in entries:
            writer.append(frame, step=step, time=time)


def write_run(path: Path, run: exchange_cases.Run, **options: Any) -> None:
    write_entries(path, run, run.entries(), **options)


def run_content(run: exchange_cases.Run, meta: dict[str, Any]) -> neutral.Record:
    return neutral.Record(["meta", "trajectory"], meta, None, None, run.content())


def frame_content(frame: mr.Frame, meta: dict[str, Any]) -> neutral.Record:
    return neutral.Record(
        ["frame", "meta", "system"], meta, molrec_adapter.frame(frame), molrec_adapter.frame(frame), None
    )


@pytest.mark.parametrize("name", exchange_cases.FRAMES)
def test_molrs_reads_our_frames(name: str, tmp_path: Path) -> None:
    frame = exchange_cases.FRAMES[name]()
    path = tmp_path / "a.mrec"
    mr.write(path, frame=frame, system=frame, meta={"who": ["us", 1, None]})
    expected = frame_content(frame, {"who": ["us", 1, None], **VERSION})
    assert neutral.record_difference(expected, molrs_adapter.record(path)) is None
    assert neutral.record_difference(expected, molrec_adapter.record(mr.open(path))) is None
    packed = Path(mr.pack(path))
    assert neutral.record_difference(expected, molrs_adapter.record(packed)) is None
    assert neutral.record_difference(expected, molrec_adapter.record(mr.open(packed))) is None


@pytest.mark.parametrize("name", exchange_cases.FRAMES)
def test_we_read_frames_molrs_writes(name: str, tmp_path: Path) -> None:
    frame = exchange_cases.FRAMES[name]()
    path = tmp_path / "a.mrec"
    molrs_adapter.write_record(path, frame=frame, system=frame, meta={"who": ["them", 1, None]})
    found = molrec_adapter.record(mr.open(path))
    assert neutral.record_difference(frame_content(frame, {"who": ["them", 1, None]}), found) is None


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", exchange_cases.RUNS)
def test_molrs_reads_our_runs(name: str, storage: str, tmp_path: Path) -> None:
    run = exchange_cases.RUNS[name]()
    path = tmp_path / "a.mrec"
    write_run(path, run, **STORAGES[storage])
    expected = run_content(run, VERSION)
    assert neutral.record_difference(expected, molrec_adapter.record(mr.open(path))) is None
    assert neutral.record_difference(expected, molrs_adapter.record(path)) is None


@pytest.mark.parametrize("name", exchange_cases.RUNS)
def test_molrs_reads_our_packed_runs(name: str, tmp_path: Path) -> None:
    run = exchange_cases.RUNS[name]()
    path = tmp_path / "a.mrec"
    write_run(path, run)
    packed = Path(mr.pack(path))
    expected = run_content(run, VERSION)
    assert neutral.record_difference(expected, molrec_adapter.record(mr.open(packed))) is None
    assert neutral.record_difference(expected, molrs_adapter.record(packed)) is None


@pytest.mark.parametrize("compression", [None, "gzip:2", "zstd:4"])
@pytest.mark.parametrize("name", exchange_cases.RUNS)
def test_we_read_runs_molrs_writes(name: str, compression: str | None, tmp_path: Path) -> None:
    run = exchange_cases.RUNS[name]()
    path = tmp_path / "a.mrec"
    molrs_adapter.write_run(path, run.entries(), run.schema, compression=compression, flush_every=run.flush_every)
    assert neutral.record_difference(run_content(run, {}), molrec_adapter.record(mr.open(path))) is None


@pytest.mark.parametrize("profile", ["live", "archive"])
@pytest.mark.parametrize("name", [name for name in exchange_cases.RUNS if name != "zero_frames"])
def test_molrs_reads_our_runs_written_in_two_sessions(name: str, profile: str, tmp_path: Path) -> None:
    run = exchange_cases.RUNS[name]()
    path = tmp_path / "a.mrec"
    entries = run.entries()
    half = len(entries) // 2
    write_entries(path, run, entries[:half], profile=profile)
    with mr.TrajectoryWriter.reopen(path) as writer:
        for step, time, frame in entries[half:]:
            writer.append(frame, step, time)
    expected = run_content(run, VERSION)
    assert neutral.record_difference(expected, molrec_adapter.record(mr.open(path))) is None
    assert neutral.record_difference(expected, molrs_adapter.record(path)) is None


@pytest.mark.parametrize("profile", ["live", "archive"])
@pytest.mark.parametrize("name", [name for name in exchange_cases.RUNS if name != "many_frames"])
def test_molrs_reads_a_run_that_is_being_written(name: str, profile: str, tmp_path: Path) -> None:
    """After every flush the run reads as what was appended so far, whatever the writer holds back."""
    run = exchange_cases.RUNS[name]()
    path = tmp_path / "a.mrec"
    with mr.TrajectoryWriter(path, run.schema, flush_every=1000, profile=profile) as writer:
        for count, (step, time, frame) in enumerate(run.entries(), start=1):
            writer.append(frame, step, time)
            if count % 3 == 1:
                writer.flush()
                expected = run_content(run.head(count), VERSION)
            else:
                expected = run_content(run.head(1 + 3 * ((count - 1) // 3)), VERSION)
            assert neutral.record_difference(expected, molrec_adapter.record(mr.open(path))) is None
            assert neutral.record_difference(expected, molrs_adapter.record(path)) is None


@pytest.mark.parametrize("name", exchange_cases.RUNS)
def test_we_continue_runs_molrs_began(name: str, tmp_path: Path) -> None:
    run = exchange_cases.RUNS[name]()
    path = tmp_path / "a.mrec"
    entries = run.entries()
    half = len(entries) // 2
    molrs_adapter.write_run(path, entries[:half], run.schema, flush_every=run.flush_every)
    with mr.TrajectoryWriter.reopen(path) as writer:
        for step, time, frame in entries[half:]:
            writer.append(frame, step, time)
    assert neutral.record_difference(run_content(run, {}), molrec_adapter.record(mr.open(path))) is None
    assert neutral.record_difference(run_content(run, {}), molrs_adapter.record(path)) is None


@pytest.mark.parametrize("profile", ["live", "archive"])
@pytest.mark.parametrize("name", exchange_cases.RUNS)
def test_molrs_continues_runs_we_began(name: str, profile: str, tmp_path: Path) -> None:
    run = exchange_cases.RUNS[name]()
    if any(column.nullable for block in run.schema.blocks.values() for column in block.columns.values()):
        pytest.skip("molrs 0.19 forgets the masks of the last update when it reopens a run, its own included")
    path = tmp_path / "a.mrec"
    entries = run.entries()
    half = len(entries) // 2
    write_entries(path, run, entries[:half], profile=profile)
    molrs_adapter.continue_run(path, entries[half:])
    assert neutral.record_difference(run_content(run, VERSION), molrec_adapter.record(mr.open(path))) is None
    assert neutral.record_difference(run_content(run, VERSION), molrs_adapter.record(path)) is None


def test_molrs_reads_a_record_with_all_sections(tmp_path: Path) -> None:
    frame = exchange_cases.FRAMES["targets"]()
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H", "H"] + ["C"] * 4})}, meta={"spin": 1})
    run = exchange_cases.RUNS["regular"]()
    path = tmp_path / "a.mrec"
    mr.write(path, frame=frame, trajectory=run.frames, meta={"title": "all"})
    found = molrs_adapter.record(path)
    assert found.sections == ["frame", "meta", "trajectory"]
    assert neutral.first_difference(molrec_adapter.frame(frame), found.frame) is None
    other = tmp_path / "b.mrec"
    with mr.TrajectoryWriter(other, run.schema, meta={"title": "run"}, system=system) as writer:
        for step, time, entry in run.entries():
            writer.append(entry, step, time)
    found = molrs_adapter.record(other)
    assert found.meta == {"title": "run", **VERSION}
    assert neutral.first_difference(molrec_adapter.frame(system), found.system) is None
