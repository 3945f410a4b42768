"""A collection's writer killed at random moments: 100 times SIGKILL, and a whole collection stands, old or new."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import molrec as mr
from molrec.storage.lmdb import key_appender

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a writer to kill"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning"),
]

BATCHES = 10
KILLS_PER_BATCH = 10
RECORDS = 200
UNITS = {"length": "angstrom", "energy": "eV"}


def test_one_hundred_kills() -> None:
    assert BATCHES * KILLS_PER_BATCH == 100


def frame(generation: int, number: int) -> mr.Frame:
    """Return a frame that tells which collection it belongs to."""
    count = 1 + number % 60
    atoms = mr.Block({"x": np.arange(count) + 1000.0 * generation + number})
    return mr.Frame({"atoms": atoms}, meta={"generation": generation})


def write(path: Path, generation: int) -> None:
    """Write a whole collection in many small transactions."""
    system = mr.Frame({"atoms": mr.Block({"element": ["O"] * 3})})
    with mr.CollectionWriter(path, units=UNITS, overwrite=True, meta={"generation": generation}) as writer:
        for number in range(RECORDS):
            if number % 7:
                writer.append(frame(generation, number), meta={"number": number})
            else:
                writer.append([frame(generation, number + i) for i in range(3)], meta={"number": number})
        writer.append(None, system=system)


def check(path: Path) -> int:
    """Assert that a file is one whole collection and return its generation."""
    with mr.open_collection(path) as collection:
        generation = int(collection.meta["generation"])
        assert len(collection) == RECORDS + 1
        for number in range(RECORDS):
            count = 1 if number % 7 else 3
            assert collection.frames(number) == [frame(generation, number + i) for i in range(count)]
            assert collection[number].meta == {"number": number}
        assert collection[RECORDS].trajectory is None
        assert collection[RECORDS].system is not None
    return generation


def start(path: Path, generation: int) -> int:
    """Start a writer and return its process id."""
    child = os.fork()
    if not child:
        status = 1
        try:
            write(path, generation)
            status = 0
        finally:
            os._exit(status)
    return child


@pytest.mark.parametrize("batch", range(BATCHES))
def test_killed_writers(batch: int, scratch: Path, tally: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_appender, "_BATCH_BYTES", 4096)
    monkeypatch.setattr(key_appender, "_SPOOL_BYTES", 512)
    rng = random.Random(batch)
    path = scratch / "set.mrec.lmdb"
    partial = scratch / ".set.mrec.lmdb.partial"
    write(path, 0)
    begun = time.monotonic()
    write(path, 0)
    longest = 1.2 * (time.monotonic() - begun)
    stands = check(path)
    if batch % 2:
        path.unlink()
        stands = -1
    kills = generation = 0
    while kills < KILLS_PER_BATCH:
        generation += 1
        child = start(path, generation)
        # The end, where the pieces fall into place, gets half of the kills.
        share = rng.random() if rng.random() < 0.5 else 1 - 0.2 * rng.random() ** 2
        time.sleep(share * longest)
        os.kill(child, signal.SIGKILL)
        finished = os.WIFEXITED(os.waitpid(child, 0)[1])
        kills += not finished
        # It was quicker than the signal; the next one gets less time.
        longest *= 0.9 if finished else 1.02
        if path.exists():
            found = check(path)
            assert found in (stands, generation)
            assert found == generation or not finished
            stands = found
        else:
            assert stands == -1
            assert not finished
        assert {file.name for file in scratch.iterdir()} <= {path.name, partial.name}
        if partial.exists():
            # Whole, if the signal came just before it was put in its place.
            with suppress(mr.FormatError):
                assert check(partial) == generation
    write(path, generation + 1)
    assert check(path) == generation + 1
    assert [file.name for file in scratch.iterdir()] == [path.name]
    tally["writers of collections killed by SIGKILL at random moments"] += kills
