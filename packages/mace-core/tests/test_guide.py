"""The guide "From file to Configuration" against the code: its example runs, its tables are what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ase.calculators.calculator import all_properties

from mace_core.data import DefaultKeys, KeySpecification

_PAGE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "from-file-to-configuration.md"

if not _PAGE.is_file():
    pytest.skip("the documentation is not beside the package", allow_module_level=True)

_TEXT = _PAGE.read_text(encoding="utf-8")


def _part(name: str) -> str:
    return _TEXT.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]


def _rows(name: str) -> list[list[str]]:
    lines = [line for line in _part(name).splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = _TEXT.split("```python\n")[1].split("```")[0]
    assert "read_configurations" in program
    exec(compile(program, _PAGE.name, "exec"), {})


def test_the_table_of_keys_is_the_default_specification() -> None:
    spec = KeySpecification.from_defaults()
    expected = [
        [name, key, "atom" if name in spec.atom_keys else "graph", f"{name}_key"]
        for name, key in ((member.name.lower(), member.value) for member in DefaultKeys)
    ]
    assert _rows("default-keys") == expected
    assert {option: key for _, key, _, option in expected} == DefaultKeys.keydict()


def test_the_names_that_ase_takes_are_ases() -> None:
    assert re.findall(r"`(\w+)`", _part("calculator-names")) == all_properties


def test_every_difference_has_its_reason() -> None:
    fixed, kept = _rows("fixed"), _rows("kept")
    assert {len(row) for row in fixed} == {4}
    assert {len(row) for row in kept} == {3}
    assert all(all(row) for row in fixed + kept)
    assert len({row[0] for row in fixed}) == len(fixed)


def test_every_quirk_of_the_golden_cases_is_listed(golden_folder: Path) -> None:
    expected = json.loads((golden_folder / "expected.json").read_text(encoding="utf-8"))
    assert set(expected["quirks"]) <= {row[0] for row in _rows("fixed") + _rows("kept")}
