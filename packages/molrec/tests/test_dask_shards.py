"""Shards written here or by workers: deterministic, all or none, also where attempts fail and workers die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import molrec as mr
from molrec.interop import dask_shards
from molrec.interop.dask_shards import write_shards
from molrec.storage.lmdb.sharded_collection import ShardedCollection

from .collections_made import UNITS, frame
from .refusals import refused
from .strategies import files

distributed = pytest.importorskip("distributed")


@dataclass(frozen=True)
class Structures:
    """Writes some structures, a few more with every shard; `delay` in seconds lets the first ones finish last."""

    number: int
    inputs: Sequence[object] = ("one.xyz", "two.xyz")
    units: str = "eV"
    delay: float = 0.0

    def write(self, path: Path) -> int:
        time.sleep(self.delay)
        with mr.CollectionWriter(path, units={**UNITS, "energy": self.units}) as writer:
            for i in range(self.number + 1):
                writer.append(frame(3, i, pe=float(self.number)), meta={"shard": self.number, "i": i})
                self.between(path)
        return self.number + 1

    def between(self, path: Path) -> None:
        """Do what goes wrong while a shard is half written."""


@dataclass(frozen=True)
class Failing(Structures):
    """Fails as often as `times` says, whichever process runs it; `log` counts the attempts."""

    log: Path = Path()
    times: int = 1
    error: BaseException | None = None

    def between(self, path: Path) -> None:
        assert path.with_name(f".{path.name}.partial").exists()
        with self.log.open("a") as log:
            log.write(f"{os.getpid()}\n")
        if len(self.log.read_text().split()) <= self.times:
            self.stop()

    def stop(self) -> None:
        raise self.error or RuntimeError("no luck")


@dataclass(frozen=True)
class Dying(Failing):
    """Kills its process."""

    def stop(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class StubbornError(Exception):
    """Cannot be sent to another process."""

    def __init__(self, one: object, two: object) -> None:
        super().__init__(f"{one} {two}")


class FailingStubbornly(Failing):
    """Raises what cannot be sent."""

    def stop(self) -> None:
        raise StubbornError("never", "mind")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return where the shards are to be."""
    return tmp_path / "data"


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Run a scheduler with two worker processes."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


def check(folder: Path, shards: list[Path], count: int) -> None:
    """Check that shards are whole and in order, and nothing else is left."""
    assert [path.name for path in shards] == [f"shard-{n:05d}-of-{count:05d}.mrec.lmdb" for n in range(count)]
    assert sorted(folder.iterdir()) == shards
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".")] == []
    collection = mr.open_collection(folder)
    assert isinstance(collection, ShardedCollection)
    assert [record.meta for record in collection] == [{"shard": n, "i": i} for n in range(count) for i in range(n + 1)]


def check_nothing(folder: Path) -> None:
    """Check that nothing was made."""
    assert not folder.exists()
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".")] == []


# -- in this process --------------------------------------------------------------------------------------------------


def test_shards_are_written_here_without_dask(folder: Path) -> None:
    told: list[tuple[int, int]] = []
    tasks = [Structures(number) for number in (2, 0, 1)]
    shards = write_shards(tasks, str(folder), progress=lambda *done: told.append(done))
    check(folder, shards, 3)
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_nothing_is_in_sight_before_the_end(folder: Path) -> None:
    def look(done: int, total: int) -> None:
        assert not folder.exists()
        with refused("reject-not-a-collection", kind=mr.FormatError):
            mr.open_collection(folder)

    check(folder, write_shards([Structures(0), Structures(1)], folder, progress=look), 2)


def test_a_failed_attempt_is_made_again(folder: Path, tmp_path: Path) -> None:
    tasks = [Structures(0), Failing(1, log=tmp_path / "log", times=2), Structures(2)]
    check(folder, write_shards(tasks, folder, retries=2), 3)


def test_an_error_for_good_names_shard_and_inputs_and_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    inputs = [f"{n}.xyz" for n in range(8)]
    log = tmp_path / "log"
    tasks = [Structures(0), Failing(1, inputs, log=log, times=99), Structures(2)]
    with pytest.raises(RuntimeError, match=r"shard 1 of 3 \(0.xyz, .*4.xyz and 3 more\), the last of 3.*no luck") as e:
        write_shards(tasks, folder, retries=2)
    assert "between" in "".join(e.value.__notes__), "where it was raised is told, too"
    assert len(log.read_text().split()) == 3
    check_nothing(folder)


def test_what_a_task_refuses_is_refused_at_once(folder: Path, tmp_path: Path) -> None:
    error = mr.SchemaError("energies without a unit", "reject-no-units")
    with refused("reject-no-units", "shard 0 of 1 (one.xyz, two.xyz)", "energies without a unit"):
        write_shards([Failing(0, log=tmp_path / "log", times=99, error=error)], folder)
    assert len((tmp_path / "log").read_text().split()) == 1
    check_nothing(folder)


def test_what_the_system_refuses_stays_an_oserror(folder: Path, tmp_path: Path) -> None:
    error = OSError(28, "No space left on device", "somewhere")
    with pytest.raises(OSError, match=r"shard 0 of 1 .*No space left on device: 'somewhere'") as caught:
        write_shards([Failing(0, log=tmp_path / "log", times=99, error=error)], folder, retries=0)
    assert caught.value.errno == 28


def test_an_interrupt_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    tasks = [Structures(0), Failing(1, log=tmp_path / "log", error=KeyboardInterrupt())]
    with pytest.raises(KeyboardInterrupt):
        write_shards(tasks, folder)
    check_nothing(folder)


def test_shards_that_make_no_collection_are_not_shown(folder: Path) -> None:
    with refused("reject-shard-units", "shard-00000-of-00002", "shard-00001-of-00002", "eV", "kJ/mol"):
        write_shards([Structures(0), Structures(1, units="kJ/mol")], folder)
    check_nothing(folder)


@dataclass(frozen=True)
class Lying(Structures):
    """Tells of other records than it wrote, or writes nothing."""

    nothing: bool = False

    def write(self, path: Path) -> int:
        return 1 if self.nothing else super().write(path) + 1


def test_reject_shard_task(folder: Path) -> None:
    with refused("reject-shard-task", "shard 0", "1 records", "2"):
        write_shards([Lying(0)], folder)
    with refused("reject-shard-task", "shard 0", "no file"):
        write_shards([Lying(0, nothing=True)], folder)
    with refused("reject-shard-task", "[0, 0]"):
        write_shards([Structures(0), Structures(0)], folder)
    check_nothing(folder)


def test_tasks_and_schedulers_that_are_none(folder: Path) -> None:
    with refused("reject-no-shards"):
        write_shards([], folder)
    with refused("reject-scheduler", "locla"):
        write_shards([Structures(0)], folder, scheduler="locla")
    for scheduler, workers in ((None, 2), ("tcp://127.0.0.1:1", 2), ("local", 0)):
        with refused("reject-scheduler", "workers"):
            write_shards([Structures(0)], folder, scheduler=scheduler, workers=workers)
    check_nothing(folder)


def test_without_dask_the_message_names_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"molrec\[dask\]"):
        write_shards([Structures(0)], folder, scheduler="local")
    check_nothing(folder)


# -- the folder -------------------------------------------------------------------------------------------------------


def test_a_folder_of_shards_is_replaced_only_when_asked_and_whole(folder: Path, tmp_path: Path) -> None:
    write_shards([Structures(0)], folder)
    before = files(folder)
    with refused("reject-existing-path", str(folder)):
        write_shards([Structures(0), Structures(1)], folder)
    failing = Failing(0, log=tmp_path / "log", times=99)
    with pytest.raises(RuntimeError, match="no luck"):
        write_shards([failing], folder, retries=0, overwrite=True)
    assert files(folder) == before
    reader = mr.open_collection(folder)
    check(folder, write_shards([Structures(0), Structures(1)], folder, overwrite=True), 2)
    assert len(reader.frames(0)) == len(reader) == 1, "a reader keeps what it opened"


def test_a_folder_with_anything_else_in_it_is_not_replaced(folder: Path) -> None:
    write_shards([Structures(0)], folder)
    (folder / "thesis.tex").write_text("years of work")
    with refused("reject-existing-path", "thesis.tex"):
        write_shards([Structures(0)], folder, overwrite=True)
    file = folder.parent / "file"
    file.write_text("")
    with refused("reject-existing-path", "file"):
        write_shards([Structures(0)], file, overwrite=True)
    link = folder.parent / "link"
    link.symlink_to(folder.parent / "elsewhere", target_is_directory=True)
    with refused("reject-existing-path", "link"):
        write_shards([Structures(0)], link, overwrite=True)


def test_one_writer_at_a_time(folder: Path) -> None:
    def again(done: int, total: int) -> None:
        with refused("reject-second-writer", str(folder)):
            write_shards([Structures(0)], folder)

    check(folder, write_shards([Structures(0)], folder, progress=again), 1)


def kill_while_writing(folder: Path, overwrite: str) -> None:
    """Run a writer in another process that kills itself before its last shard."""
    program = (
        "import os, sys; from pathlib import Path; from packages.molrec.tests.test_dask_shards import *\n"
        "tasks = [Structures(0), Dying(1, log=Path(sys.argv[2]), times=9)]\n"
        "write_shards(tasks, sys.argv[1], overwrite=bool(sys.argv[3]))"
    )
    root = Path(__file__).resolve().parents[3]
    arguments = [sys.executable, "-c", program, str(folder), str(folder.parent / "log"), overwrite]
    assert subprocess.run(arguments, check=False, cwd=root).returncode == -signal.SIGKILL


def test_what_a_killed_writer_left_is_taken_away_by_the_next(folder: Path) -> None:
    kill_while_writing(folder, "")
    assert not folder.exists()
    assert (folder.parent / ".data.partial" / "shards" / "shard-00000-of-00002.mrec.lmdb").exists()
    check(folder, write_shards([Structures(0), Structures(1)], folder), 2)


def test_a_writer_killed_while_it_replaced_a_folder_loses_nothing(folder: Path) -> None:
    write_shards([Structures(0)], folder)
    before = files(folder)
    kill_while_writing(folder, "yes")
    assert files(folder) == before
    # As if it had been killed between its two last steps.
    folder.rename(folder.parent / ".data.replaced")
    with refused("reject-existing-path"):
        write_shards([Structures(0), Structures(1)], folder)
    assert files(folder) == before
    check(folder, write_shards([Structures(0), Structures(1)], folder, overwrite=True), 2)


# -- by workers -------------------------------------------------------------------------------------------------------


def test_workers_write_the_same_files_in_the_same_order(folder: Path, scheduler: str) -> None:
    tasks = [Structures(0, delay=0.5), *(Structures(number) for number in range(1, 5))]
    shards = write_shards(tasks, folder, scheduler=scheduler)
    check(folder, shards, 5)
    here = write_shards(tasks, folder.parent / "here")
    assert [path.read_bytes() for path in shards] == [path.read_bytes() for path in here]


def test_a_failed_attempt_is_made_again_by_another_worker(folder: Path, tmp_path: Path, scheduler: str) -> None:
    log = tmp_path / "log"
    check(folder, write_shards([Failing(0, log=log)], folder, scheduler=scheduler), 1)
    first, second = log.read_text().split()
    assert first != second


def test_a_shard_whose_worker_is_killed_is_written_again(folder: Path, tmp_path: Path, scheduler: str) -> None:
    log = tmp_path / "log"
    tasks = [Structures(0), Structures(1), Dying(2, log=log)]
    check(folder, write_shards(tasks, folder, scheduler=scheduler), 3)
    attempts = log.read_text().split()
    assert len(attempts) == 1 + 3
    assert attempts[0] not in attempts[1:]


def test_an_error_for_good_among_workers(folder: Path, tmp_path: Path, scheduler: str) -> None:
    log = tmp_path / "log"
    failing = FailingStubbornly(1, ["bad.xyz"], log=log, times=99)
    tasks = [Structures(0), failing, *(Structures(number, delay=0.2) for number in range(2, 40))]
    with pytest.raises(RuntimeError, match=r"shard 1 of 40 \(bad.xyz\), the last of 2 .*StubbornError: never mind"):
        write_shards(tasks, folder, scheduler=scheduler, retries=1)
    check_nothing(folder)
    with refused("reject-no-units", "shard 0 of 1", kind=mr.FormatError):
        error = mr.FormatError("energies without a unit", "reject-no-units")
        write_shards([Failing(0, log=log, times=99, error=error)], folder, scheduler=scheduler)


def test_an_interrupt_cancels_what_workers_do(folder: Path, scheduler: str) -> None:
    def interrupt(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    tasks = [Structures(number, delay=0.1 * (number > 0)) for number in range(20)]
    with pytest.raises(KeyboardInterrupt):
        write_shards(tasks, folder, scheduler=scheduler, progress=interrupt)
    check_nothing(folder)


def test_a_cluster_of_this_machine_comes_and_goes(folder: Path) -> None:
    shards = write_shards([Structures(0), Structures(1)], folder, scheduler="local", workers=1)
    check(folder, shards, 2)


def test_a_scheduler_that_is_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "100ms"}),
        pytest.raises(OSError, match=r"127\.0\.0\.1:1"),
    ):
        write_shards([Structures(0)], folder, scheduler="tcp://127.0.0.1:1")
    check_nothing(folder)


def test_a_folder_workers_do_not_see(tmp_path: Path) -> None:
    attempt = dask_shards._Attempt(Structures(0), 0, tmp_path / "nowhere", "shard")
    outcome = dask_shards._run(attempt, "tcp://far:1")
    assert isinstance(outcome.error, FileNotFoundError)
    assert "share one file system" in str(outcome.error)
