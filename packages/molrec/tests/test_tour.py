"""The tour shows what its own code writes today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "tour.md"

if not PAGE.is_file():
    pytest.skip("the documentation is not beside the package", allow_module_level=True)


def test_the_tour_shows_what_its_code_writes(tmp_path: Path) -> None:
    from scripts.make_tour import rendered

    page = PAGE.read_text(encoding="utf-8")
    assert rendered(page, tmp_path) == page, "the page is stale: run python -m scripts.make_tour"
    assert len(re.findall(r"^<!-- /", page, flags=re.MULTILINE)) >= 12


def test_a_stale_tour_is_noticed_and_filled_anew(tmp_path: Path) -> None:
    from scripts.make_tour import rendered

    code = 'import molrec as mr\nmr.write("a.mrec", frame=mr.Frame(meta={"n": 1}))\n'
    stale = f"# Page\n\n```python\n{code}```\n\n<!-- tree a.mrec/frame -->\n\n```text\nold\n```\n\n<!-- /tree -->\n"
    tree = 'a.mrec/frame/\n    "n": 1\n    "_meta_types": {"n": "i64"}'
    assert rendered(stale, tmp_path) == stale.replace("old", tree)


def test_the_tour_shows_every_section_of_a_record_and_every_kind_of_key() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for section in ("meta/", "system/", "frame/", "trajectory/", "forcefield/", "observables/", "status/", "method/"):
        assert re.search(rf"^[├└]── {section}$", page, flags=re.MULTILINE), section
    for key in ("f 0000000000000000  ", "r 0000000000000000  ", "s 0000000000000001  ", "index  ", "meta  "):
        assert f"\n{key}" in page
