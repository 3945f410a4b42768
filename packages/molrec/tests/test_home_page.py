"""The home page: its example runs, and its numbers are those of the benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import molrec as mr

PAGE = Path(__file__).resolve().parents[3] / "docs" / "index.md"

if not PAGE.is_file():
    pytest.skip("the documentation is not beside the package", allow_module_level=True)


def test_the_example_of_the_home_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    exec(compile(program, "index.md", "exec"), {"__name__": "home"})
    trajectory = mr.open("run.mrec").trajectory
    assert trajectory is not None
    assert len(trajectory) == 100


def test_the_numbers_of_the_home_page_are_those_of_the_benchmarks() -> None:
    from scripts.measured_table import measured_table

    shown = PAGE.read_text(encoding="utf-8").split("<!-- measured -->")[1].split("<!-- /measured -->")[0]
    assert shown.strip() == measured_table(), "the page is stale: run python -m scripts.measured_table"
