"""The conformance of ``molcrafts-molrs`` is what its page says, and each deviation is explained."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from .molrs_deviations import DEVIATIONS, VERSION

molrs = pytest.importorskip("molrs", reason="molcrafts-molrs is not installed")

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "conformance_report.py"
if not SCRIPT.is_file():
    pytest.skip("the scripts are not beside the package", allow_module_level=True)


@pytest.fixture(scope="module")
def script() -> Any:
    found = importlib.util.spec_from_file_location("conformance_report", SCRIPT)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def judged(script: Any) -> dict[str, Any]:
    if molrs.__version__ != VERSION:
        pytest.skip(f"molrs is {molrs.__version__}; the list of its deviations is of {VERSION}")
    report: dict[str, Any] = script.judged()
    return report


def test_every_failure_is_a_known_deviation_and_every_deviation_a_failure(script: Any, judged: dict[str, Any]) -> None:
    assert set(script.failures(judged)) == set(DEVIATIONS)


def test_what_it_does_is_far_more_than_what_it_does_not(judged: dict[str, Any]) -> None:
    """A report in which hardly anything passes would show a broken adapter, not a broken implementation."""
    assert judged["counts"]["passed"] > 350


def test_the_page_is_what_the_suite_finds(script: Any, judged: dict[str, Any]) -> None:
    assert script.PAGE.read_text(encoding="utf-8") == script.page(judged)
