"""The API reference: every public name is on a page, and what is said of it is complete and in form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import molrec as mr

if not (Path(__file__).resolve().parents[3] / "scripts" / "make_reference.py").is_file():
    pytest.skip("the scripts are not beside the package", allow_module_level=True)

from scripts.make_reference import PAGES, Page, make, places, things
from scripts.reference.sources import Documented, documented, public_names


def everything() -> Iterator[tuple[Page, Documented]]:
    for page in PAGES:
        for thing in things(page):
            yield page, thing
            for member in thing.members:
                yield page, member


def test_every_public_name_is_on_one_page() -> None:
    listed = [name for page in PAGES if page.module == "molrec" for name in page.names]
    assert sorted(listed) == sorted(mr.__all__)
    for module in ("molrec.conformance", "molrec.forcefield", "molrec.datasets.conversion", "mace_core.data"):
        assert all(f"{module}.{name}" in places() for name in public_names(module)), module


def test_everything_on_a_page_is_documented() -> None:
    assert [f"{page.name}: {thing.name}" for page, thing in everything() if not thing.doc] == []


def test_what_stands_under_args_are_the_parameters() -> None:
    wrong = []
    for page, thing in everything():
        section = re.search(r"^Args:\n((?:[ \t]+\S.*\n?|\n)*)", f"{thing.doc}\n", flags=re.MULTILINE)
        if section is not None:
            said = re.findall(r"^    (\*{0,2}\w+(?:, \*{0,2}\w+)*): ", section[1], flags=re.MULTILINE)
            names = [name.strip(" *") for entry in said for name in entry.split(",")]
            wrong += [f"{page.name}: {thing.name}({name})" for name in names if name not in thing.parameters]
    assert wrong == []


def test_the_pages_have_signatures_sections_and_links(tmp_path: Path) -> None:
    make(tmp_path)
    frames = (tmp_path / "frames.md").read_text(encoding="utf-8")
    assert "## `Box` { #molrec.Box }" in frames
    assert "set_precision(name: str, precision: float | None) -> None" in frames
    assert "* [`SchemaError`](errors.md#molrec.SchemaError): " in frames
    assert "[spec/frame](../spec/frame.md)" in frames
    assert "Args:" not in frames
    torch = (tmp_path / "interop-torch.md").read_text(encoding="utf-8")
    assert "```python\nfrom torch.utils.data import DataLoader" in torch


def test_the_pages_are_made_without_importing_what_they_document(tmp_path: Path) -> None:
    assert documented("molrec.interop.openmm", "to_openmm").module == "molrec.interop.openmm_system"
    make(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {page.name for page in PAGES}
