"""``molcrafts-molrs`` reads what ``molrec`` writes, and ``molrec`` reads what it writes, to the bit."""

from __future__ import annotations

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


def write_run(path: Path, run: exchange_cases.Run, **options: Any) -> None:
    with mr.TrajectoryWriter(path, run.schema, flush_every=run.flush_every, **options) as writer:
        for ordinal, frame in enumerate(run.frames):
            writer.append(
                frame,
                step=None if run.steps is None else run.steps[ordinal],
                time=None if run.times is None else run.times[ordinal],
            )


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
    molrs_adapter.write_run(
        path,
        run.frames,
        run.schema,
        steps=run.steps,
        times=run.times,
        compression=compression,
        flush_every=run.flush_every,
    )
    assert neutral.record_difference(run_content(run, {}), molrec_adapter.record(mr.open(path))) is None


@pytest.mark.parametrize("profile", ["live", "archive"])
@pytest.mark.parametrize("name", [name for name in exchange_cases.RUNS if name != "zero_frames"])
def test_molrs_reads_our_runs_written_in_two_sessions(name: str, profile: str, tmp_path: Path) -> None:
    run = exchange_cases.RUNS[name]()
    path = tmp_path / "a.mrec"
    half = len(run.frames) // 2
    steps = list(range(len(run.frames))) if run.steps is None else run.steps
    with mr.TrajectoryWriter(path, run.schema, flush_every=run.flush_every, profile=profile) as writer:
        for ordinal in range(half):
            writer.append(run.frames[ordinal], steps[ordinal], None if run.times is None else run.times[ordinal])
    with mr.TrajectoryWriter.reopen(path) as writer:
        for ordinal in range(half, len(run.frames)):
            writer.append(run.frames[ordinal], steps[ordinal], None if run.times is None else run.times[ordinal])
    expected = run_content(run, VERSION)
    assert neutral.record_difference(expected, molrec_adapter.record(mr.open(path))) is None
    assert neutral.record_difference(expected, molrs_adapter.record(path)) is None


@pytest.mark.parametrize("name", exchange_cases.RUNS)
def test_the_two_writers_take_turns(name: str, tmp_path: Path) -> None:
    """A run begun by ``molrs`` and carried on by ``molrec``, then the other way round."""
    run = exchange_cases.RUNS[name]()
    steps = list(range(len(run.frames))) if run.steps is None else run.steps
    half = len(run.frames) // 2
    rest = [
        (steps[i], run.frames[i], None if run.times is None else run.times[i]) for i in range(half, len(run.frames))
    ]

    begun_by_molrs = tmp_path / "theirs.mrec"
    molrs_adapter.write_run(
        begun_by_molrs, run.frames[:half], run.schema, steps=steps, times=run.times, flush_every=run.flush_every
    )
    with mr.TrajectoryWriter.reopen(begun_by_molrs) as writer:
        for step, frame, time in rest:
            writer.append(frame, step, time)
    assert neutral.record_difference(run_content(run, {}), molrec_adapter.record(mr.open(begun_by_molrs))) is None
    assert neutral.record_difference(run_content(run, {}), molrs_adapter.record(begun_by_molrs)) is None

    begun_by_us = tmp_path / "ours.mrec"
    with mr.TrajectoryWriter(begun_by_us, run.schema, flush_every=run.flush_every) as writer:
        for ordinal in range(half):
            writer.append(run.frames[ordinal], steps[ordinal], None if run.times is None else run.times[ordinal])
    molrs_adapter.continue_run(begun_by_us, rest)
    assert neutral.record_difference(run_content(run, VERSION), molrec_adapter.record(mr.open(begun_by_us))) is None
    assert neutral.record_difference(run_content(run, VERSION), molrs_adapter.record(begun_by_us)) is None


def test_molrs_reads_a_record_with_all_sections(tmp_path: Path) -> None:
    frame = exchange_cases.FRAMES["targets"]()
    system = exchange_cases.FRAMES["box_triclinic"]()
    run = exchange_cases.RUNS["regular"]()
    path = tmp_path / "a.mrec"
    mr.write(path, frame=frame, trajectory=run.frames, meta={"title": "all"})
    found = molrs_adapter.record(path)
    assert found.sections == ["frame", "meta", "trajectory"]
    assert neutral.first_difference(molrec_adapter.frame(frame), found.frame) is None
    other = tmp_path / "b.mrec"
    with mr.TrajectoryWriter(other, run.schema, meta={"title": "run"}, system=system) as writer:
        for ordinal, entry in enumerate(run.frames):
            writer.append(entry, ordinal)
    found = molrs_adapter.record(other)
    assert found.meta == {"title": "run", **VERSION}
    assert neutral.first_difference(molrec_adapter.frame(system), found.system) is None
