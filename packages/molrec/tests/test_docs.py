"""The documentation against the code: examples run, generated tables are current, every rule is listed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from molrec import schema
from molrec.model.relations import RELATIONS
from molrec.vocabulary import VOCABULARY

_ROOT = Path(__file__).resolve().parents[3]
_DOCS = _ROOT / "docs"
_SOURCES = _ROOT / "packages" / "molrec" / "src"

if not _DOCS.is_dir():
    pytest.skip("the documentation is not beside the package", allow_module_level=True)


def _python_blocks(page: Path) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE))


def test_the_tutorial_runs_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = _python_blocks(_DOCS / "guide" / "tutorial.md")
    assert program.count("mr.") > 10
    exec(compile(program, "tutorial.md", "exec"), {"__name__": "tutorial"})
    assert (tmp_path / "melt-archive.mrec").is_dir()


def test_the_guide_to_training_runs_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mace_core")
    monkeypatch.chdir(tmp_path)
    exec(compile(_python_blocks(_DOCS / "guide" / "training.md"), "training.md", "exec"), {"__name__": "training"})
    assert (tmp_path / "again.mrec.lmdb").is_file()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the tour forks a child to kill")
def test_the_tour_of_the_readme_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = _ROOT / "README.md"
    program = tmp_path / "tour.py"
    program.write_text(_python_blocks(page))
    subprocess.run([sys.executable, str(program)], check=True)
    printed = "".join(re.findall(r"^```text\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE))
    assert capfd.readouterr().out == printed


def test_the_vocabulary_table_is_the_vocabulary() -> None:
    page = (_DOCS / "spec" / "vocabulary.md").read_text()
    table = page.split("<!-- vocabulary-table -->")[1].split("<!-- /vocabulary-table -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+?) \| (.+?) \|$", table, flags=re.MULTILINE)
    assert rows == [(name, column.dtype, column.dimension or "none", column.doc) for name, column in VOCABULARY.items()]


def test_the_relations_table_is_the_relations() -> None:
    page = (_DOCS / "spec" / "vocabulary.md").read_text()
    table = page.split("<!-- relations-table -->")[1].split("<!-- /relations-table -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", table, flags=re.MULTILINE)
    found = [
        (name, tuple(re.findall(r"`(\w+)`", endpoints)), tuple(re.findall(r"`(\w+)` \(nullable\)", endpoints)),
         tuple(re.findall(r"`(\w+)`", optional)), doc)
        for name, endpoints, optional, doc in rows
    ]  # fmt: skip
    assert found == [(name, *relation) for name, relation in RELATIONS.items()]


def test_the_exported_schemas_are_what_the_code_says() -> None:
    folder = _ROOT / "schema"
    stored = {path.relative_to(folder).as_posix(): json.loads(path.read_text()) for path in folder.rglob("*.json")}
    assert stored == schema.documents()


def test_every_rule_a_refusal_carries_is_listed() -> None:
    listed = set(re.findall(r"^\| `(reject-[\w-]+)`", (_DOCS / "spec" / "rules.md").read_text(), flags=re.MULTILINE))
    used = {rule for source in _SOURCES.rglob("*.py") for rule in re.findall(r'"(reject-[\w-]+)"', source.read_text())}
    assert used - listed == set()
    assert listed - used == set()
