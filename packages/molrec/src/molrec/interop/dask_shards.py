"""Shards of one collection written by many workers: all are in place at the end, or none (``docs/spec/lmdb.md``).

What the records are and where they come from is the business of the `ShardTask`s. Here is what many writers add to it:
attempts that fail and are made again, workers that die, one folder that appears whole. Workers are processes of Dask
(the extra ``dask``), on this machine or wherever a scheduler has them; all need the file system the folder lies on.
"""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import signal
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from molrec.errors import MolrecError, SchemaError
from molrec.storage.lmdb.shard_folder import ShardFolder

__all__ = ["LOCAL", "ShardTask", "check_scheduler", "dask_client", "require_distributed", "write_shards"]

LOCAL = "local"
_MOST_INPUTS_NAMED = 5


class ShardTask(Protocol):
    """What writes one shard; it is pickled on its way to a worker, and may be run several times.

    Paths in it are absolute where workers have working folders of their own.
    """

    @property
    def number(self) -> int:
        """Number of the shard, from 0."""

    @property
    def inputs(self) -> Sequence[object]:
        """What the shard is made of, such as files, for messages."""

    def write(self, path: Path) -> int:
        """Write the collection `path`, where nothing is yet, and return how many records it holds."""


def write_shards(
    tasks: Sequence[ShardTask],
    folder: str | os.PathLike[str],
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    retries: int = 3,
    progress: Callable[[int, int], None] | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write a folder of shards, one for each task, and return them in order.

    Names and order are those of the tasks, whatever finishes first. The folder appears when the last shard is whole and
    all of them make one collection; until then, and after an error or an interrupt, there is what was there before.

    A task that fails is run again, by another worker where there is one, and so is one whose worker died. What a task
    refuses (a `MolrecError`) stays refused and is not tried again.

    Args:
        tasks: What writes the shards; their numbers are 0, 1, 2 and so on.
        folder: The folder to create.
        scheduler: Address of a Dask scheduler (``tcp://...``), ``local`` for worker processes on this machine, None to
            run the tasks here, one after the other and without Dask.
        workers: Number of worker processes of ``local``; one for each processor, but no more than tasks, when None.
        retries: How often a task may fail and be run again.
        progress: Called with the number of shards that are whole and of all shards, first with 0.
        overwrite: Take the place of a folder that holds shards and nothing else.

    Raises:
        SchemaError: No tasks (``reject-no-shards``), tasks that are not numbered from 0 on or a file that is not the
            one its task told of (``reject-shard-task``), a scheduler that is none (``reject-scheduler``), a folder that
            exists (``reject-existing-path``) or is being written (``reject-second-writer``), or shards that make no
            collection together.
        MolrecError: What a task refused, with its shard and inputs before it.
        OSError: What stopped a task for good, or the scheduler cannot be reached.
        RuntimeError: Anything else that stopped a task for good, as the cause of this.
        ImportError: Dask is asked for and not installed.
    """
    ordered = _ordered(tasks)
    count = len(ordered)
    check_scheduler(scheduler, workers)
    records = [0] * count
    failures: list[list[_Outcome]] = [[] for _ in ordered]
    done = 0
    with ShardFolder(Path(folder), count, overwrite=overwrite) as shards, _crew(scheduler, workers, count) as crew:

        def attempt(number: int) -> None:
            failed = failures[number]
            avoided = {outcome.worker for outcome in failed if outcome.worker}
            crew.submit(_Attempt(ordered[number], number, shards.attempts, shards.name(number)), len(failed), avoided)

        if progress is not None:
            progress(0, count)
        for number in range(count):
            attempt(number)
        for outcome in crew.outcomes():
            if outcome.error is None:
                shards.adopt(outcome.number, outcome.path)
                records[outcome.number] = outcome.records
                done += 1
                if progress is not None:
                    progress(done, count)
                continue
            failed = failures[outcome.number]
            failed.append(outcome)
            if isinstance(outcome.error, MolrecError) or len(failed) > retries:
                raise _failure(ordered[outcome.number], count, failed) from outcome.error
            attempt(outcome.number)
        crew.close()
        return shards.finish(records)


def _ordered(tasks: Sequence[ShardTask]) -> list[ShardTask]:
    ordered = sorted(tasks, key=lambda task: task.number)
    if not ordered:
        raise SchemaError("there are no tasks, and a collection has at least one shard", "reject-no-shards")
    numbers = [task.number for task in ordered]
    if numbers != list(range(len(ordered))):
        raise SchemaError(
            f"{len(ordered)} tasks are numbered 0 to {len(ordered) - 1}, each once, found {numbers}",
            "reject-shard-task",
        )
    return ordered


def check_scheduler(scheduler: str | None, workers: int | None) -> None:
    """Check who is to run tasks, and how many.

    Raises:
        SchemaError: No such scheduler, or a number of workers that means nothing (``reject-scheduler``).
    """
    if scheduler not in (None, LOCAL) and "://" not in scheduler:
        raise SchemaError(
            f"scheduler {scheduler!r} is no address such as tcp://127.0.0.1:8786; or say 'local', or None",
            "reject-scheduler",
        )
    if workers is not None and (scheduler != LOCAL or workers < 1):
        raise SchemaError(
            f"workers is the number of processes of scheduler='local', found {workers!r} for scheduler={scheduler!r}; "
            "a scheduler that is running has workers of its own",
            "reject-scheduler",
        )


def _failure(task: ShardTask, count: int, failed: Sequence[_Outcome]) -> Exception:
    """Return the error of a shard that cannot be written, of the class a caller handles the cause by."""
    last = failed[-1]
    error = last.error
    named = ", ".join(str(one) for one in task.inputs[:_MOST_INPUTS_NAMED])
    more = len(task.inputs) - _MOST_INPUTS_NAMED
    what = f"shard {task.number} of {count} ({named}{f' and {more} more' if more > 0 else ''})"
    tried = f", the last of {len(failed)} attempts" if len(failed) > 1 else ""
    if isinstance(error, MolrecError):
        stopped: Exception = type(error)(f"{what}: {error.message}", error.rule)
    elif isinstance(error, OSError) and error.errno is not None:
        stopped = OSError(error.errno, f"{what}{tried}: {error.strerror}", error.filename)
    else:
        stopped = RuntimeError(f"{what}{tried}: {type(error).__name__}: {error}")
    if last.trace:
        stopped.add_note(f"{last.worker or 'here'}:\n{last.trace}")
    return stopped


# -- one attempt ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A task to be run once, in a folder of its own below `attempts`."""

    task: ShardTask
    number: int
    attempts: Path
    name: str


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of an attempt: a file with its records, or an error with the text of its traceback."""

    number: int
    worker: str
    path: Path = Path()
    records: int = 0
    error: BaseException | None = None
    trace: str = ""


def _run(attempt: _Attempt, worker: str) -> _Outcome:
    place = attempt.attempts / uuid.uuid4().hex
    path = place / attempt.name
    try:
        if not attempt.attempts.is_dir():
            raise FileNotFoundError(
                errno.ENOENT, "a worker does not see this folder; all share one file system", str(attempt.attempts)
            )
        place.mkdir()
        return _Outcome(attempt.number, worker, path, attempt.task.write(path))
    except Exception as error:  # noqa: BLE001 - it travels to where the attempts are counted, and is raised there
        shutil.rmtree(place, ignore_errors=True)
        return _Outcome(attempt.number, worker, error=_that_travels(error), trace=traceback.format_exc())


def _run_on_worker(attempt: _Attempt) -> _Outcome:
    from distributed import get_worker

    return _run(attempt, get_worker().address)


def _that_travels(error: Exception) -> Exception:
    """Return an error that can be sent to another process, itself where it can."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - what was pickled here
    except Exception:  # noqa: BLE001 - an exception class may fail in any way
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


# -- who runs them ----------------------------------------------------------------------------------------------------


class _Crew(Protocol):
    """Runs attempts."""

    def submit(self, attempt: _Attempt, priority: int, avoided: AbstractSet[str]) -> None:
        """Take an attempt, to be run before those of less priority, and not by some workers if there are others."""

    def outcomes(self) -> Iterator[_Outcome]:
        """Yield outcomes as they come, until every attempt that was submitted has one."""

    def close(self) -> None:
        """Give up what has not begun, and part; safe to call twice."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def _crew(scheduler: str | None, workers: int | None, count: int) -> _Crew:
    if scheduler is None:
        return _ThisProcess()
    return _Workers(scheduler, min(count, os.cpu_count() or 1) if workers is None else workers)


class _ThisProcess:
    """One attempt after the other, here."""

    def __init__(self) -> None:
        self._waiting: deque[_Attempt] = deque()

    def submit(self, attempt: _Attempt, priority: int, avoided: AbstractSet[str]) -> None:
        del avoided
        if priority:
            self._waiting.appendleft(attempt)
        else:
            self._waiting.append(attempt)

    def outcomes(self) -> Iterator[_Outcome]:
        while self._waiting:
            yield _run(self._waiting.popleft(), "")

    def close(self) -> None:
        self._waiting.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Workers:
    """Workers of Dask."""

    def __init__(self, scheduler: str, workers: int) -> None:
        self._open = ExitStack()
        self._client = self._open.enter_context(dask_client(scheduler, workers))
        distributed = require_distributed()
        self._completed = distributed.as_completed(loop=self._client.loop)
        self._attempts: dict[Any, _Attempt] = {}

    def submit(self, attempt: _Attempt, priority: int, avoided: AbstractSet[str]) -> None:
        others = [address for address in self._client.nthreads() if address not in avoided] if avoided else []
        future = self._client.submit(
            _run_on_worker,
            attempt,
            key=f"{attempt.name}-{uuid.uuid4().hex}",
            pure=False,
            priority=priority,
            # A preference: the others may go away, too.
            workers=others or None,
            allow_other_workers=bool(others),
        )
        self._attempts[future] = attempt
        self._completed.add(future)

    def outcomes(self) -> Iterator[_Outcome]:
        for future in self._completed:
            attempt = self._attempts.pop(future)
            if future.status == "finished":
                yield future.result()
            elif future.status == "error":
                # No error of the task, which would be an outcome: its workers died, or it could not be sent.
                yield _Outcome(attempt.number, "", error=future.exception())
            else:
                lost = RuntimeError(f"the scheduler lost it ({future.status})")
                yield _Outcome(attempt.number, "", error=lost)

    def close(self) -> None:
        if self._attempts:
            self._client.cancel(list(self._attempts))
            self._attempts.clear()
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def dask_client(scheduler: str, workers: int) -> Iterator[Any]:
    """Yield a client of a scheduler, or of worker processes on this machine for ``local``, which end with it.

    Raises:
        ImportError: Dask is not installed.
        OSError: The scheduler cannot be reached.
    """
    distributed = require_distributed()
    local = scheduler == LOCAL
    with ExitStack() as stack:
        if local:
            scheduler = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    # A mapped file counts as memory of its process, and is no reason to end it.
                    memory_limit=0,
                    # No dashboard; the server it would be on has a port in any case.
                    scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                )
            )
        client = stack.enter_context(distributed.Client(scheduler, set_as_default=False))
        if local:
            client.register_plugin(_deaf_to_interrupts(distributed))
        yield client


def _deaf_to_interrupts(distributed: Any) -> Any:
    """Return what leaves Ctrl-C, which reaches every process of a terminal, to the one that ends the others."""

    class DeafToInterrupts(distributed.WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            del worker
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return DeafToInterrupts()


def require_distributed() -> Any:
    """Return the module ``distributed``.

    Raises:
        ImportError: It is not installed.
    """
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            "shards written by workers need Dask, the extra molrec[dask]: pip install 'molrec[dask]'"
        ) from error
    return distributed
