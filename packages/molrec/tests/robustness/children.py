"""What forked children do; each function is called by name with JSON arguments (see `processes`)."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path

import numcodecs.blosc
import numcodecs.zstd

import molrec as mr

from . import collection_fuzz, record_fuzz
from .runs import Run, run_of_everything, small_extents

RUN = run_of_everything()
#: Loaded here, in the server, so that no child has to.
WARM = (
    numcodecs.blosc, numcodecs.zstd, mr.TrajectoryWriter, mr.open, mr.repair, mr.pack, mr.open_collection, mr.ForceField
)  # fmt: skip
fuzz_records = record_fuzz.run_cases
fuzz_collections = collection_fuzz.run_cases
read_unexamined = collection_fuzz.read_unexamined
#: Frames after which the streaming child flushes explicitly.
FLUSHED = frozenset(range(10, 60, 11))


def announce(text: object) -> None:
    """Print a line in one unbuffered write."""
    os.write(1, f"{text}\n".encode())


def commit_points(start: int, flush_every: int, run: Run = RUN) -> set[int]:
    """Return every count a run continued at `start` may be committed at."""
    points, committed = {start, len(run)}, start
    for ordinal in range(start, len(run)):
        if ordinal + 1 - committed >= flush_every or ordinal in FLUSHED:
            committed = ordinal + 1
            points.add(committed)
    return points


def stream(path: str, flush_every: int, small: bool) -> None:
    """Write the run to its end, from the start or from where an earlier child was killed."""
    with small_extents(active=small):
        if Path(path).exists():
            writer = mr.TrajectoryWriter.reopen(path, flush_every=flush_every)
        else:
            writer = mr.TrajectoryWriter(path, RUN.schema, flush_every=flush_every)
        announce(writer.committed)
        for ordinal in range(writer.nstep, len(RUN)):
            RUN.append(writer, ordinal)
            if ordinal in FLUSHED:
                writer.flush()
            if ordinal % 3 == 0:
                announce(writer.committed)
        writer.close()
        announce(writer.committed)


def hold(path: str, create: bool, heirs: int) -> None:
    """Keep a writer open until killed; `heirs` forked processes of its own live on."""
    writer = mr.TrajectoryWriter(path, RUN.schema, flush_every=2) if create else mr.TrajectoryWriter.reopen(path)
    for ordinal in range(writer.nstep, writer.nstep + 5):
        RUN.append(writer, ordinal)
    for _ in range(heirs):
        heir = os.fork()
        if not heir:
            time.sleep(60)
            os._exit(0)
        announce(heir)
    announce(writer.committed)
    time.sleep(60)


def fill_up(path: str, limit: int, small: bool) -> None:
    """Write with a bound on the size of any file, as a full disk has one; say how it ends and what is committed."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with small_extents(active=small):
        writer = mr.TrajectoryWriter(path, RUN.schema, flush_every=3)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        say_how_it_ends(writer)


def fill_disk(path: str) -> None:
    """Write to a small file system until it is full; say how it ends and what is committed."""
    say_how_it_ends(mr.TrajectoryWriter(path, RUN.schema, flush_every=3))


def say_how_it_ends(writer: mr.TrajectoryWriter) -> None:
    try:
        RUN.append_rest(writer)
        writer.close()
    except (OSError, mr.MolrecError) as error:
        announce(f"{type(error).__name__} {error.errno if isinstance(error, OSError) else error.rule}")
    announce(writer.committed)


def as_nobody(action: str, path: str) -> None:
    """Try something on a folder this process may not write to; say how it ends."""
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        if action == "create":
            mr.TrajectoryWriter(Path(path) / "new.mrec", RUN.schema)
        elif action == "reopen":
            mr.TrajectoryWriter.reopen(path)
        elif action == "pack":
            mr.pack(path)
        elif action == "repair":
            mr.repair(path)
        else:
            with mr.open(path) as record:
                assert record.trajectory is not None
                RUN.check(record.trajectory, len(record.trajectory))
        announce("done")
    except (OSError, mr.MolrecError) as error:
        announce(f"{type(error).__name__} {error.errno if isinstance(error, OSError) else error.rule}")
