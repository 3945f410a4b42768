"""Runs spoilt records through the library, in a process of its own: open, read everything, validate, unpack.

What a case may do is written in `judge`: end in a result or in a documented exception, within its time and memory, and
without a file outside its folder. A breach is a line of the child's output; so is the end, with the counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr
from molrec.storage.zarr import extents

from . import hostile_zips, record_mutations
from .record_mutations import Files
from .runs import content, small_extents, small_run

#: Seconds a case may take, far more than the slowest needs on a slow machine.
CASE_SECONDS = 30
#: Memory a case may add to what the process has at its start.
CASE_BYTES = 2**30
#: Frames read one by one; a run of a few bytes may rightly claim to carry forward forever.
_MOST_FRAMES = 20


class TooSlow(BaseException):
    """A case took longer than it may."""


class Outside(BaseException):
    """Something was about to be written outside the folder of the cases."""


# -- the records ------------------------------------------------------------------------------------------------------


def write_bases(folder: Path) -> None:
    """Write the sound records that are spoilt: runs closed and live, and one of every other section."""
    run = small_run()
    with small_extents(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(extents, "_ARCHIVE_LEAST_BYTES", 64)
        patch.setattr(extents, "_ARCHIVE_FRAMES", 3)
        for name, profile in (("run", "live"), ("archive", "archive")):
            with mr.TrajectoryWriter(folder / name, run.schema, flush_every=2, profile=profile) as writer:
                run.append_rest(writer)
        with mr.TrajectoryWriter(folder / "open", run.schema, flush_every=2) as writer:
            for ordinal in range(5):
                run.append(writer, ordinal)
            writer.flush()
            run.append(writer, 5)
            run.append(writer, 6)
            shutil.copytree(folder / "open", folder / "live")
        shutil.rmtree(folder / "open")
        _write_topology(folder / "topology")
    _write_sections(folder / "sections")


def _write_topology(path: Path) -> None:
    """Write a run with references, an aligned block, a system and no steps out of line."""
    schema = mr.SequenceSchema()
    schema.declare_column("atoms", "x", "f64").declare_precision("atoms", "x", 1e-3)
    schema.declare_column("kinds", "type", "string").declare_aligned("kinds", "atoms")
    schema.declare_column("bonds", "atomi", "u64").declare_column("bonds", "ref", "u64", nullable=True)
    schema.declare_target("bonds", "ref", "atoms").declare_meta("pe", "f64")
    system = mr.Frame({"beads": mr.Block({"mass": [1.0, 2.0]})}, meta={"units": {"length": "nm"}})
    with mr.TrajectoryWriter(path, schema, system=system, flush_every=2) as writer:
        for ordinal in range(5):
            frame = mr.Frame({"atoms": mr.Block({"x": np.arange(3.0) + ordinal})}, meta={"pe": -1.0})
            if ordinal in (0, 3):
                frame["kinds"] = mr.Block({"type": ["a", "b", str(ordinal)]})
                frame["bonds"] = mr.Block({"atomi": np.array([0, 1], np.uint64), "ref": np.array([2, 9], np.uint64)})
                frame["bonds"].set_validity("ref", [True, False])
            writer.append(frame, step=10 * ordinal, time=0.5 * ordinal)


def _write_sections(path: Path) -> None:
    atoms = mr.Block(
        {"x": [0.125, 0.25, 0.5], "id": np.arange(3), "type": ["a", "b", ""], "n": np.arange(3, dtype="i4")}
    )
    atoms.set_precision("x", 1e-3)
    atoms.set_validity("type", [True, True, False])
    bonds = mr.Block({"atomi": np.array([0], np.uint64), "atomj": np.array([1], np.uint64), "type": ["a-b"]})
    bonds.set_target("atomj", "/frame/atoms")
    frame = mr.Frame({"atoms": atoms, "bonds": bonds, "grid": mr.Block({"rho": np.zeros(6)}, (2, 3))})
    frame.meta.update({"n": np.int32(3), "t": float("nan"), "doc": {"a": [1, None]}, "big": 2**64 - 1})
    frame.box = mr.Box(np.eye(3) * 5.0, origin=[1.0, 0.0, 0.0], boundary=[True, True, False])
    forcefield = mr.ForceField("toy", {"preset": "real"})
    forcefield.define_style("atom", "full").add("a", mass=1.0, charge=0.5)
    forcefield.define_style("bond", "harmonic").add("a-b", ("a", "b"), k=300.0, r0=1.5)
    observables = {
        "rdf": mr.Observable(np.arange(4.0).reshape(2, 2), "vector", "a pair distribution", time_dependent=False),
        "label": mr.Observable(
            np.array(["a", "bc"], dtype=np.dtypes.StringDType()), "scalar", "names", time_dependent=False
        ),
    }
    mr.write(
        path,
        frame=frame,
        system=mr.Frame({"atoms": mr.Block({"mass": [1.0, 2.0, 3.0]})}),
        forcefield=forcefield,
        observables=observables,
        status={"state": "failed", "error": {"message": "x"}, "epoch": 3, "started_at": "2026-01-31T12:00:00Z"},
        method={"type": "ml", "description": "d", "engine": {"name": "e"}},
        meta={"creator": {"name": "n", "version": "1"}},
    )
    with mr.MetricsWriter(path) as writer:
        for step in range(3):
            writer.log("loss", 1.0 / (1 + step), step=step, wall_time="2026-01-31T12:00:00Z")
    (path / "notes").mkdir()
    (path / "notes" / "zarr.json").write_bytes(b'{"zarr_format":3,"node_type":"group","attributes":{"kept":null}}')


def files_below(folder: Path) -> Files:
    """Return every file below a folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


# -- one case ---------------------------------------------------------------------------------------------------------


def read_parts(location: Path) -> tuple[dict[str, Any], list[mr.MolrecError]]:
    """Read all a record holds, part by part; return what was read, exactly, and the refusals met."""
    parts: dict[str, Any] = {}
    refusals: list[mr.MolrecError] = []

    def attempt(part: str, read: Callable[[], Any]) -> Any:
        try:
            parts[part] = value = read()
        except mr.MolrecError as error:
            refusals.append(error)
            return None
        return value

    record = attempt("record", lambda: mr.open(location))
    parts.pop("record", None)
    if record is None:
        return parts, refusals
    with record:
        for name in ("meta", "sections", "status", "method"):
            attempt(name, lambda name=name: repr(getattr(record, name)))  # type: ignore[misc]
        for name in ("frame", "system"):
            attempt(name, lambda name=name: _frame(getattr(record, name)))  # type: ignore[misc]
        attempt("forcefield", lambda: None if record.forcefield is None else repr(record.forcefield.to_section()))
        for name in ("observables", "metrics"):
            mapping = _quiet(attempt, parts, name, lambda name=name: getattr(record, name))  # type: ignore[misc]
            for key in mapping or ():
                attempt(f"{name}/{key}", lambda mapping=mapping, key=key: _series(mapping[key]))  # type: ignore[misc]
        trajectory = _quiet(attempt, parts, "trajectory", lambda: record.trajectory)
        if trajectory is not None:
            _read_run(trajectory, attempt)
    return parts, refusals


def _quiet(attempt: Callable[..., Any], parts: dict[str, Any], name: str, read: Callable[[], Any]) -> Any:
    value = attempt(name, read)
    parts.pop(name, None)
    return value


def _read_run(trajectory: mr.TrajectoryReader, attempt: Callable[..., Any]) -> None:
    attempt("len", trajectory.__len__)
    attempt("steps", lambda: trajectory.steps.tobytes())  # noqa: PLW0108 - the steps are read in the call
    attempt("times", lambda: None if trajectory.times is None else trajectory.times.tobytes())
    for key in trajectory.meta:
        attempt(f"meta/{key}", lambda key=key: repr(trajectory.meta[key]))
    for ordinal in {*range(min(len(trajectory), _MOST_FRAMES)), *([len(trajectory) - 1] if len(trajectory) else [])}:
        attempt(f"frame {ordinal}", lambda ordinal=ordinal: _frame(trajectory[ordinal]))
    if len(trajectory) <= _MOST_FRAMES:
        for name in trajectory.schema.blocks:
            attempt(f"bulk {name}", lambda name=name: {c: _raw(v) for c, v in trajectory.read(name).items()})


def _frame(frame: mr.Frame | None) -> Any:
    return None if frame is None else content(frame)


def _raw(values: Any) -> Any:
    return values.tolist() if values.dtype.kind == "T" else (values.dtype.str, values.shape, values.tobytes())


def _series(found: Any) -> Any:
    if isinstance(found, mr.Observable):
        values = found.values
        return _frame(values) if isinstance(values, mr.Frame) else _raw(np.asarray(values))
    return (found.values.tobytes(), None if found.steps is None else found.steps.tobytes(), found.wall_time.tolist())


def judge(location: Path, sound: dict[str, Any] | None, target: Path | None) -> Counter[str]:
    """Run one case; raise where it does what it must not.

    Args:
        location: The spoilt record.
        sound: What the record read as before, where whatever still reads must read the same.
        target: Where to unpack an archive to.
    """
    outcome: Counter[str] = Counter()
    parts, refusals = read_parts(location)
    for error in refusals:
        assert error.rule, error
        str(error).encode()
    if sound is not None:
        for part, value in parts.items():
            assert sound.get(part, "(nothing)") == value, f"{part} reads as something else"
    findings = mr.validate(location)
    for finding in findings:
        f"{finding.where} {finding.message}".encode()
    errors = [finding for finding in findings if finding.severity == "error"]
    assert errors or not refusals, f"not found by validate: {refusals[0].rule} {refusals[0]}"
    outcome["refused" if refusals else "found by validate alone" if errors else "read"] += 1
    if target is not None:
        try:
            mr.unpack(location, target)
        except (mr.MolrecError, OSError):
            outcome["unpacking refused"] += 1
        else:
            outcome["unpacked"] += 1
            assert not [path for path in target.rglob("*") if path.is_symlink()], "a link was unpacked"
        finally:
            shutil.rmtree(target, ignore_errors=True)
        assert not list(target.parent.glob("*.tmp")), "unpacking left something"
    return outcome


# -- many cases -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def time_limit() -> Iterator[None]:
    """Raise `TooSlow` where the block takes too long."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, CASE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def guard_process(folder: Path) -> None:
    """Bound the memory of this process, and let it write below a folder only."""
    with Path("/proc/self/statm").open() as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + CASE_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    inside = str(folder.resolve()) + os.sep

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            if not writes and not (isinstance(mode, str) and set(mode) & set("wxa+")):
                return
            paths = [path]
        elif event in ("os.remove", "os.rmdir"):
            paths = [] if arguments[1] >= 0 else [arguments[0]]  # below a folder that was opened: shutil.rmtree
        elif event in ("os.mkdir", "os.truncate"):
            paths = [arguments[0]]
        elif event in ("os.rename", "os.link", "os.symlink"):
            paths = list(arguments[:2])
        else:
            return
        for path in paths:
            if isinstance(path, int):
                continue
            # A link in the last place is renamed or removed as such.
            place = Path(os.fsdecode(path)).absolute().parent.resolve()
            if not f"{place}{os.sep}".startswith(inside):
                raise Outside(f"{event} {path!r}")

    sys.addaudithook(watch)


def run_cases(folder: str, seed: int, first: int, count: int) -> None:
    """Run cases `first` and on; print breaches, where it is, and at last the counts.

    Args:
        folder: Holds ``bases``; everything else in it is this function's.
        seed: Chooses other cases.
        first: Number of the first case.
        count: How many.
    """
    root = Path(folder)
    bases = {path.name: files_below(path) for path in sorted((root / "bases").iterdir())}
    work = root / f"cases-{first}"
    work.mkdir()
    for name, files in bases.items():
        write_files(work / name, files)
    sound = {name: read_parts(work / name)[0] for name in bases}
    progress = os.open(work / "progress", os.O_WRONLY | os.O_CREAT)
    guard_process(work)
    counts: Counter[str] = Counter()
    for number in range(first, first + count):
        os.pwrite(progress, f"{number:9d}".encode(), 0)
        rng = random.Random(f"{seed} {number}")
        name = rng.choice(sorted(bases))
        label = f"case {number} of seed {seed} ({name})"
        try:
            with time_limit():
                kind, outcome = _case(work, name, bases[name], sound[name], rng)
        except BaseException as error:  # noqa: BLE001 - told, and the next case comes
            calls = traceback.extract_tb(error.__traceback__)[-8:]
            way = ", ".join(f"{Path(call.filename).name}:{call.lineno}" for call in reversed(calls))
            say(breach=f"{label}: {type(error).__name__}: {str(error)[:300]!r} at {way}")
            shutil.rmtree(work / name, ignore_errors=True)
            write_files(work / name, bases[name])
        else:
            counts.update({f"{kind}: {what}": times for what, times in outcome.items()})
            counts["cases"] += 1
    say(counts=counts)


def say(**content: Any) -> None:
    """Print one line of JSON."""
    os.write(1, json.dumps(content, default=dict).encode() + b"\n")


def write_files(folder: Path, files: Files) -> None:
    """Write files below a folder."""
    for name, data in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def _case(work: Path, name: str, files: Files, sound: dict[str, Any], rng: random.Random) -> tuple[str, Counter[str]]:
    """Spoil a record and judge what becomes of it: as a folder, packed, or as a hostile archive."""
    form = rng.random()
    archive = work / "a.mrec.zip"
    # A live record is never packed; read as an archive, its journal would go unheard.
    if form < 0.3 and name != "live":
        kind, packed = hostile_zips.hostile(files, rng)
        archive.write_bytes(packed)
        covered = kind in hostile_zips.COVERED
        return f"archives, {kind}", judge(archive, sound if covered else None, work / "unpacked")
    kind, changed = record_mutations.mutate(files, rng)
    covered = kind in record_mutations.COVERED
    if form < 0.5 and name != "live":
        archive.write_bytes(hostile_zips.pack_files(changed))
        return f"packed, {kind}", judge(archive, sound if covered else None, work / "unpacked")
    folder = work / name
    gone, new = files.keys() - changed.keys(), {path: data for path, data in changed.items() if files.get(path) != data}
    for path in gone:
        (folder / path).unlink()
    write_files(folder, new)
    outcome = judge(folder, sound if covered else None, None)
    if new.keys() - files.keys():
        shutil.rmtree(folder)
        write_files(folder, files)
    else:
        write_files(folder, {path: files[path] for path in gone | new.keys()})
    return f"folders, {kind}", outcome
