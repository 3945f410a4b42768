"""Fixtures of the robustness tests, and the count of what they did to how many stores."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .stores import scratch_folder

_TALLY = "tally: "


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder whose fsync is quick, for tests that make thousands of stores."""
    with scratch_folder(tmp_path) as folder:
        yield folder


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Iterator[Counter[str]]:
    """Counts what a test did; the sums over all tests end the report."""
    counts: Counter[str] = Counter()
    yield counts
    for what, count in counts.items():
        record_property(_TALLY + what, count)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the sums of the tallies."""
    sums: Counter[str] = Counter()
    for report in terminalreporter.stats.get("", []):
        if report.when == "teardown":
            for name, count in report.user_properties:
                if name.startswith(_TALLY):
                    sums[name.removeprefix(_TALLY)] += count
    if sums:
        terminalreporter.section("done to stores, none of them harmed" if _all_passed(terminalreporter) else "done")
        for what, count in sorted(sums.items()):
            terminalreporter.write_line(f"{count:7,d}  {what}")


def _all_passed(reporter: pytest.TerminalReporter) -> bool:
    return not reporter.stats.get("failed") and not reporter.stats.get("error")


@pytest.fixture(autouse=True)
def interrupts_arrive() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
