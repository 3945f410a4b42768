"""Full disks, other writers, folders that cannot be written, archives cut short, and a user who presses Ctrl-C."""

from __future__ import annotations

import gc
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Self

import numpy as np
import pytest

import molrec as mr

from .children import RUN
from .processes import Child, ForkServer
from .runs import content, small_extents, small_run
from .stores import check_with_zarr, leftovers
from .syscalls import FaultInjector, Mode

pytestmark = pytest.mark.exhaustive

SMALL = small_run(length=8)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    with ForkServer(tmp_path_factory.mktemp("server")) as server:
        yield server


def frames_of(path: Path) -> int:
    """Return the frames of a record, each of them exact."""
    with mr.open(path) as record:
        assert record.trajectory is not None
        RUN.check(record.trajectory, len(record.trajectory))
        return len(record.trajectory)


def wait_for(child: Child, lines: int) -> list[str]:
    """Wait until a child has printed some lines."""
    deadline = time.monotonic() + 60
    while len(found := child.lines()) < lines:
        assert time.monotonic() < deadline, child.errors()
        time.sleep(0.005)
    return found


# -- full disks -------------------------------------------------------------------------------------------------------


def check_after_a_full_disk(path: Path, lines: list[str]) -> None:
    """Assert a clear error, an unharmed store, and a run that goes on once there is room."""
    assert len(lines) == 2, "the disk was full in the middle of the run"
    assert lines[0] == "SchemaError reject-storage-failure" or lines[0].startswith("OSError ")
    committed = int(lines[1])
    assert committed < len(RUN)
    assert frames_of(path) in (committed, min(len(RUN), committed + 3))
    with mr.TrajectoryWriter.reopen(path) as writer:
        RUN.append_rest(writer)
    assert frames_of(path) == len(RUN)
    check_with_zarr(path, whole=False)
    assert leftovers(path) == []


@pytest.mark.parametrize("limit", [5_000, 9_000, 67_000, 68_000, 70_000, 75_000])
def test_files_that_may_not_grow(limit: int, server: ForkServer, tmp_path: Path) -> None:
    path = tmp_path / "a.mrec"
    child = server.start("fill_up", path=str(path), limit=limit, small=limit < 60_000)
    assert child.wait() == 0, child.errors()
    check_after_a_full_disk(path, child.lines())


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="mounting a small file system takes root")
@pytest.mark.parametrize("kilobytes", [600, 1000, 1400, 1800])
def test_file_system_that_is_full(kilobytes: int, server: ForkServer, tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(mounted)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this machine mounts no file system")
    try:
        child = server.start("fill_disk", path=str(mounted / "a.mrec"))
        assert child.wait() == 0, child.errors()
        shutil.copytree(mounted / "a.mrec", tmp_path / "a.mrec")
        lines = child.lines()
    finally:
        subprocess.run(["umount", str(mounted)], check=True)
    check_after_a_full_disk(tmp_path / "a.mrec", lines)


# -- a second writer --------------------------------------------------------------------------------------------------


def check_second_writer(path: Path) -> None:
    for attempt in (mr.TrajectoryWriter.reopen, mr.repair):
        with pytest.raises(mr.SchemaError, match=path.name) as caught:
            attempt(path)
        assert caught.value.rule == "reject-second-writer"
    with pytest.raises(mr.SchemaError) as caught:
        mr.pack(path)
    assert caught.value.rule == "reject-pack-open"
    assert not path.with_name("a.mrec.zip").exists()


@pytest.mark.parametrize("create", [True, False])
def test_second_writer_in_another_process(create: bool, server: ForkServer, tmp_path: Path) -> None:
    """It is refused while the first lives; a reader is not; the lock goes with its process, however that ends."""
    path = tmp_path / "a.mrec"
    if not create:
        with mr.TrajectoryWriter(path, RUN.schema) as writer:
            RUN.append(writer, 0)
    child = server.start("hold", path=str(path), create=create, heirs=0)
    committed = int(wait_for(child, 1)[0])
    check_second_writer(path)
    assert frames_of(path) == committed
    child.kill()
    assert child.wait() == -9
    with mr.TrajectoryWriter.reopen(path) as writer:
        RUN.append(writer, writer.nstep)


def test_second_writer_in_the_same_process(tmp_path: Path) -> None:
    path = tmp_path / "a.mrec"
    with mr.TrajectoryWriter(path, RUN.schema) as first:
        RUN.append(first, 0)
        check_second_writer(path)
        RUN.append(first, 1)
        first.flush()
        check_second_writer(path)
    with mr.TrajectoryWriter.reopen(path) as second:
        check_second_writer(path)
        RUN.append(second, 2)
        # The first is closed; closing it again frees nothing of the second.
        first.close()
        check_second_writer(path)
    assert frames_of(path) == 3


def test_a_refused_writer_frees_the_record(tmp_path: Path) -> None:
    """A reopening that fails holds no lock, and changes nothing."""
    path = tmp_path / "a.mrec"
    with mr.TrajectoryWriter(path, RUN.schema) as writer:
        RUN.append(writer, 0)
    metadata = path / "trajectory" / "atoms" / "x" / "zarr.json"
    whole = metadata.read_bytes()
    metadata.write_bytes(b"{}")
    for _ in range(2):
        with pytest.raises(mr.FormatError):
            mr.TrajectoryWriter.reopen(path)
    assert metadata.read_bytes() == b"{}"
    metadata.write_bytes(whole)
    mr.TrajectoryWriter.reopen(path).close()


def test_the_lock_does_not_live_on_in_other_processes(server: ForkServer, tmp_path: Path) -> None:
    """Workers forked by a simulation may outlive it; they are no writers and hold no lock."""
    path = tmp_path / "a.mrec"
    child = server.start("hold", path=str(path), create=True, heirs=1)
    heir, committed = (int(line) for line in wait_for(child, 2))
    try:
        child.kill()
        child.wait()
        with mr.TrajectoryWriter.reopen(path) as writer:
            assert writer.nstep == committed
    finally:
        os.kill(heir, 9)


# -- folders that cannot be written -----------------------------------------------------------------------------------


@pytest.fixture
def locked_folder() -> Iterator[Path]:
    """A record nobody may write to, in a folder that even `nobody` may enter."""
    folder = Path(tempfile.mkdtemp(prefix="molrec-locked-"))
    path = folder / "a.mrec"
    with mr.TrajectoryWriter(path, RUN.schema, flush_every=2) as writer:
        for ordinal in range(8):
            RUN.append(writer, ordinal)
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o555 if place.is_dir() else 0o444)
    yield folder
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o755 if place.is_dir() else 0o644)
    shutil.rmtree(folder)


@pytest.mark.parametrize("action", ["read", "create", "reopen", "pack", "repair"])
def test_read_only_folder(action: str, server: ForkServer, locked_folder: Path) -> None:
    """Reading works; everything else fails with an error, leaves no trace and changes nothing."""
    path = locked_folder / "a.mrec"
    before = snapshot(locked_folder)
    child = server.start("as_nobody", action=action, path=str(path if action != "create" else locked_folder))
    assert child.wait() == 0, child.errors()
    (line,) = child.lines()
    if action in ("read", "repair"):
        # A closed record has nothing to repair.
        assert line == "done"
    else:
        assert line.startswith(("PermissionError ", "OSError ")) or line == "SchemaError reject-storage-failure"
    assert snapshot(locked_folder) == before
    assert frames_of(path) == 8


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): b"" if stat.S_ISDIR(path.stat().st_mode) else path.read_bytes()
        for path in folder.rglob("*")
    }


# -- packed records ---------------------------------------------------------------------------------------------------


def test_zip_cut_at_every_length(tmp_path: Path) -> None:
    """A packed record that lost its end is refused, whatever its length; nothing hangs and nothing else is raised."""
    frames = [mr.Frame({"atoms": mr.Block({"x": np.arange(3.0) + i})}) for i in range(3)]
    packed = mr.write(tmp_path / "a.mrec.zip", trajectory=frames, meta={"who": "a"})
    whole = packed.read_bytes()
    assert len(whole) < 20_000
    cut = tmp_path / "cut.mrec.zip"
    for length in range(len(whole)):
        cut.write_bytes(whole[:length])
        with pytest.raises(mr.FormatError) as caught:
            mr.open(cut)
        assert caught.value.rule == "reject-malformed-zip", length
        assert str(cut) in str(caught.value)
        if length % 64 == 0:
            with pytest.raises(mr.FormatError):
                mr.unpack(cut)
    cut.unlink()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.mrec.zip"]


def test_pack_after_a_crash(server: ForkServer, tmp_path: Path) -> None:
    path = tmp_path / "a.mrec"
    child = server.start("hold", path=str(path), create=True, heirs=0)
    committed = int(wait_for(child, 1)[0])
    child.kill()
    child.wait()
    with pytest.raises(mr.SchemaError) as caught:
        mr.pack(path)
    assert caught.value.rule == "reject-pack-open"
    assert "repair" in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.mrec"]
    mr.repair(path)
    packed = Path(mr.pack(path))
    assert frames_of(packed) == frames_of(path) == committed


def test_appending_to_a_packed_record(tmp_path: Path) -> None:
    path = tmp_path / "a.mrec"
    with mr.TrajectoryWriter(path, RUN.schema) as writer:
        RUN.append(writer, 0)
    packed = Path(mr.pack(path))
    whole = packed.read_bytes()
    with pytest.raises(mr.SchemaError) as caught:
        mr.TrajectoryWriter.reopen(packed)
    assert caught.value.rule == "reject-append-not-a-directory"
    with pytest.raises(mr.SchemaError) as caught:
        mr.TrajectoryWriter(tmp_path / "new.mrec.zip", RUN.schema)
    assert caught.value.rule == "reject-append-not-a-directory"
    with pytest.raises(mr.SchemaError) as caught:
        mr.TrajectoryWriter(packed, RUN.schema)
    assert caught.value.rule in ("reject-append-not-a-directory", "reject-existing-path")
    assert packed.read_bytes() == whole
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.mrec", "a.mrec.zip"]


# -- Ctrl-C -----------------------------------------------------------------------------------------------------------


def check_interrupted(path: Path, allowed: range) -> int:
    """Assert that a store holds an allowed number of frames, each exact, is closed, and can go on."""
    with mr.open(path) as record:
        trajectory = record.trajectory
        assert trajectory is not None
        count = len(trajectory)
        assert count in allowed
        SMALL.check(trajectory, count)
    return count


@pytest.mark.parametrize("mode", ["interrupt", "interrupt-after"])
def test_ctrl_c_at_every_file_operation(mode: Mode, scratch: Path, tally: Counter[str]) -> None:
    """SIGINT around any call of the system: the store is readable, and closed where the writer was left properly."""
    with small_extents():
        with FaultInjector(scratch) as calls, mr.TrajectoryWriter(scratch / "a.mrec", SMALL.schema, flush_every=3) as w:
            begun = len(calls.made)
            SMALL.append_rest(w)
        shutil.rmtree(scratch / "a.mrec")
        for target in range(begun, len(calls.made), 7):
            path = scratch / str(target) / "a.mrec"
            path.parent.mkdir()
            with FaultInjector(path.parent, target, mode) as injector:
                with pytest.raises(KeyboardInterrupt), mr.TrajectoryWriter(path, SMALL.schema, flush_every=3) as writer:
                    SMALL.append_rest(writer)
                injector.close_all()
            tally["Ctrl-C at a file operation"] += 1
            check_interrupted(path, range(len(SMALL) + 1))
            with mr.TrajectoryWriter.reopen(path) as writer:
                SMALL.append_rest(writer)
            assert check_interrupted(path, range(len(SMALL), len(SMALL) + 1)) == len(SMALL)
            assert leftovers(path) == []
            shutil.rmtree(path.parent)


class InterruptingLines:
    """Raises KeyboardInterrupt at one line of the library, by number, as a signal between two statements does.

    Args:
        target: Number of the line to be interrupted, from 0; None counts only.
    """

    TOOL = 4

    def __init__(self, target: int | None) -> None:
        #: File and line of every one.
        self.seen: list[tuple[str, int]] = []
        self._target = target

    def __enter__(self) -> Self:
        # What is interrupted in a finalizer nobody hears of: none runs in here.
        gc.collect()
        gc.disable()
        monitoring = sys.monitoring
        monitoring.use_tool_id(self.TOOL, "interrupting lines")
        monitoring.register_callback(self.TOOL, monitoring.events.LINE, self._on_line)
        monitoring.set_events(self.TOOL, monitoring.events.LINE)
        return self

    def __exit__(self, *_: object) -> None:
        sys.monitoring.set_events(self.TOOL, 0)
        sys.monitoring.register_callback(self.TOOL, sys.monitoring.events.LINE, None)
        sys.monitoring.free_tool_id(self.TOOL)
        gc.enable()

    def _on_line(self, code: CodeType, line: int) -> object:
        if f"{os.sep}molrec{os.sep}" not in code.co_filename or f"{os.sep}tests{os.sep}" in code.co_filename:
            return sys.monitoring.DISABLE
        self.seen.append((code.co_filename, line))
        if len(self.seen) - 1 == self._target:
            raise KeyboardInterrupt
        return None


def interrupted_append(path: Path, target: int | None) -> tuple[mr.TrajectoryWriter, list[tuple[str, int]]]:
    """Append the frame that makes the run irregular and flush; return the writer and the lines that ran."""
    writer = mr.TrajectoryWriter(path, SMALL.schema, flush_every=2)
    for ordinal in range(5):
        SMALL.append(writer, ordinal)
    lines = InterruptingLines(target)
    try:
        with lines:
            SMALL.append(writer, 5)
            writer.flush()
    except KeyboardInterrupt:
        pass
    return writer, lines.seen


def go_home(writer: mr.TrajectoryWriter) -> None:
    """Leave as a ``with`` block does."""
    try:
        writer.close()
    except mr.MolrecError as error:
        if error.rule not in ("reject-storage-failure", "reject-writer-closed"):
            raise


def go_on(writer: mr.TrajectoryWriter) -> None:
    """Take no notice, as in a notebook: append what the writer has not taken yet."""
    try:
        SMALL.append_rest(writer)
    except mr.MolrecError as error:
        if error.rule not in ("reject-storage-failure", "reject-writer-closed"):
            raise
    go_home(writer)


def every_line(lines: list[tuple[str, int]], seed: int) -> list[int]:
    """Return for every line that ran one of the moments it did."""
    moments: dict[tuple[str, int], list[int]] = {}
    for moment, place in enumerate(lines):
        moments.setdefault(place, []).append(moment)
    rng = random.Random(seed)
    return [rng.choice(found) for found in moments.values()]


@pytest.mark.parametrize("share", range(4))
@pytest.mark.parametrize("leave", [go_home, go_on])
def test_ctrl_c_between_any_two_statements(
    leave: Callable[[mr.TrajectoryWriter], None], share: int, scratch: Path, tally: Counter[str]
) -> None:
    """An append or flush cut short anywhere leaves a store whose frames are exact, closed at once or gone on with."""
    with small_extents():
        writer, lines = interrupted_append(scratch / "a.mrec", None)
        writer.close()
        targets = every_line(lines, seed=leave is go_on)
        assert len(targets) > 300
        for target in targets[share::4]:
            path = scratch / f"{target}.mrec"
            writer, _ = interrupted_append(path, target)
            try:
                leave(writer)
                count = check_interrupted(path, range(4, len(SMALL) + 1))
                with mr.TrajectoryWriter.reopen(path) as writer:
                    assert writer.nstep == count
                    SMALL.append_rest(writer)
                check_interrupted(path, range(len(SMALL), len(SMALL) + 1))
            except BaseException as error:
                error.add_note(f"interrupted at moment {target}, {lines[target]}")
                raise
            tally["Ctrl-C between two statements"] += 1
            shutil.rmtree(path)


def test_ctrl_c_while_reading(scratch: Path) -> None:
    """A reader that was interrupted reads on right."""
    path = scratch / "a.mrec"
    with small_extents(), mr.TrajectoryWriter(path, SMALL.schema) as writer:
        SMALL.append_rest(writer)
    for target in range(0, 400, 7):
        with mr.open(path) as record:
            trajectory = record.trajectory
            assert trajectory is not None
            try:
                with InterruptingLines(target):
                    trajectory[6].meta  # noqa: B018 - read on purpose
            except KeyboardInterrupt:
                pass
            assert content(trajectory[6]) == SMALL.expected[6]
            SMALL.check(trajectory, len(SMALL))
