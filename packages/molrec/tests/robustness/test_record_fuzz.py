"""20,000 spoilt records: each is read, refused or found out, and none does any harm.

``MOLREC_FUZZ_SEED`` chooses other cases, ``MOLREC_FUZZ_CASES`` how many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import record_fuzz
from .fuzzing import cases_from_environment, run_batch, span_of
from .processes import ForkServer

pytestmark = pytest.mark.exhaustive

CASES = cases_from_environment(20_000)
BATCHES = 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    with ForkServer(tmp_path_factory.mktemp("server")) as server:
        yield server


def test_every_case_is_in_a_batch() -> None:
    assert sum(span_of(batch, BATCHES, CASES)[1] for batch in range(BATCHES)) == CASES


def test_the_records_are_sound_before_they_are_spoilt(scratch: Path) -> None:
    record_fuzz.write_bases(scratch)
    for path in scratch.iterdir():
        parts, refusals = record_fuzz.read_parts(path)
        assert parts
        assert not refusals


@pytest.mark.parametrize("batch", range(BATCHES))
def test_spoilt_records(batch: int, server: ForkServer, scratch: Path, tally: Counter[str]) -> None:
    (scratch / "bases").mkdir()
    record_fuzz.write_bases(scratch / "bases")
    first, count = span_of(batch, BATCHES, CASES)
    counts = run_batch(server, scratch, "fuzz_records", first, count)
    outcomes: Counter[str] = Counter()
    for name, times in counts.items():
        kind, _, outcome = name.partition(": ")
        if "unpack" not in outcome:
            tally[f"records spoilt ({kind.partition(', ')[0]})"] += times
            outcomes[outcome] += times
    # A fuzz in which nothing is refused, or nothing read, would show nothing.
    assert outcomes["refused"] > count // 4
    assert outcomes["read"] > count // 20
