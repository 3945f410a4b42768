"""20,000 spoilt collections: values put anew, and files damaged; each is read, refused or found out.

``MOLREC_FUZZ_SEED`` chooses other cases, ``MOLREC_FUZZ_CASES`` how many.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import molrec as mr
from molrec.storage.lmdb.page_check import check_pages

from . import collection_fuzz
from .fuzzing import SEED, cases_from_environment, run_batch, span_of
from .processes import ForkServer

pytestmark = pytest.mark.exhaustive

CASES = cases_from_environment(20_000)
BATCHES = 8
#: Damaged files read without any examination, each by a process that may end over it.
UNEXAMINED = 300
_BY_THE_FILE = {-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGFPE}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    with ForkServer(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def bases(scratch: Path) -> Path:
    (scratch / "bases").mkdir()
    collection_fuzz.write_bases(scratch / "bases")
    return scratch


def test_the_collections_are_sound_before_they_are_spoilt(bases: Path) -> None:
    for path in (bases / "bases").iterdir():
        parts, refusals = collection_fuzz.read_parts(path)
        assert parts
        assert not refusals
        check_pages(path)
        assert [finding for finding in mr.validate(path) if finding.severity == "error"] == []


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("what", ["values", "files"])
def test_spoilt_collections(what: str, batch: int, server: ForkServer, bases: Path, tally: Counter[str]) -> None:
    first, count = span_of(batch, BATCHES, CASES // 2)
    counts = run_batch(server, bases, "fuzz_collections", first, count, files=what == "files")
    tally[f"collections spoilt ({what})"] += counts.total()
    refused = sum(times for name, times in counts.items() if "refused" in name)
    read = sum(times for name, times in counts.items() if name.endswith(": read"))
    assert refused > count // 4
    assert read > count // 20


def test_a_process_ends_only_over_files_that_an_examination_refuses(
    server: ForkServer, bases: Path, tally: Counter[str]
) -> None:
    data = (bases / "bases" / "deep.mrec.lmdb").read_bytes()
    path = bases / "damaged.mrec.lmdb"
    for number in range(UNEXAMINED):
        _, spoilt = collection_fuzz.damage_file(data, random.Random(f"{SEED} unexamined {number}"))
        path.write_bytes(spoilt)
        child = server.start("read_unexamined", path=str(path))
        code = child.wait()
        tally["damaged collections read unexamined"] += 1
        if code:
            assert code in _BY_THE_FILE, (number, code, child.errors())
            tally["of these, the process ended"] += 1
            with pytest.raises(mr.FormatError):
                check_pages(path)
