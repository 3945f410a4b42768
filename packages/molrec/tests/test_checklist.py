"""The checklist and every other page: questions have answers, links lead somewhere, examples are what is written."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import google_crc32c
import numpy as np
import pytest

import molrec as mr

pytest.importorskip("markdown")
pytest.importorskip("pymdownx")

from .site_pages import ROOT, Page, broken_links, read_page, read_pages, whole_docs

if not (ROOT / "docs").is_dir():
    pytest.skip("the documentation is not beside the package", allow_module_level=True)

_QUESTION = re.compile(
    r"^(?P<question>\S[^\n]*\?)\n:   (?P<answer>.*?)(?=\n\n|\n\Z|\Z)", flags=re.DOTALL | re.MULTILINE
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    return read_pages(whole_docs(tmp_path_factory.mktemp("site")))


def questions() -> list[tuple[str, str]]:
    text = (ROOT / "docs" / "spec" / "checklist.md").read_text(encoding="utf-8")
    return [(match["question"], match["answer"]) for match in _QUESTION.finditer(text)]


def test_forty_questions_are_asked_each_once() -> None:
    asked = [question for question, _ in questions()]
    assert len(asked) >= 40
    assert len(set(asked)) == len(asked)
    text = (ROOT / "docs" / "spec" / "checklist.md").read_text(encoding="utf-8")
    assert text.count("\n:   ") == len(asked)


@pytest.mark.parametrize(("question", "answer"), questions())
def test_an_answer_names_the_section_that_has_the_whole_of_it(question: str, answer: str) -> None:
    targets = re.findall(r"\]\(([\w-]+\.md)#[\w-]+\)", answer)
    assert targets, question
    assert answer.rstrip().endswith(")"), question


def test_every_link_of_the_site_leads_to_a_page_and_a_heading(pages: dict[Path, Page]) -> None:
    assert broken_links(pages) == []


def test_the_links_between_the_other_texts_of_the_repository_lead_somewhere() -> None:
    texts = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    texts += [path for path in (ROOT / "fixtures" / "README.md",) if path.is_file()]
    links = broken_links({path: read_page(path) for path in texts})
    made_for_the_site = "docs/reference/"
    assert [link for link in links if made_for_the_site not in link] == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One head\n\n[good](b.md#two) [bad](b.md#three) [gone](c.md) [own](#one-head)\n")
    (tmp_path / "b.md").write_text("# Two\n\n```text\n[not a link](nowhere.md)\n```\n")
    assert broken_links(read_pages(tmp_path)) == ["a.md: b.md#three leads to no heading", "a.md: c.md leads nowhere"]


def test_every_page_is_in_the_navigation_once() -> None:
    listed = re.findall(r'"([\w/-]+\.md)"', (ROOT / "zensical.toml").read_text(encoding="utf-8"))
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    from scripts.make_reference import PAGES

    assert sorted(listed) == sorted(there | {f"reference/{page.name}" for page in PAGES})


def test_the_array_shown_in_the_zarr_chapter_is_written_so_and_read_by_its_steps(tmp_path: Path) -> None:
    chapter = (ROOT / "docs" / "spec" / "zarr.md").read_text(encoding="utf-8")
    section = chapter.split("### A chunk, step by step")[1]
    shown = json.loads(section.split("```json\n")[1].split("```")[0])

    schema = mr.SequenceSchema().declare_block("atoms", rows=3).declare_column("atoms", "x", "f64")
    schema.declare_precision("atoms", "x", 1e-3)
    values = np.arange(12) / 4
    with mr.TrajectoryWriter(tmp_path / "run.mrec", schema) as writer:
        for i in range(4):
            writer.append(mr.Frame({"atoms": mr.Block({"x": values[3 * i : 3 * i + 3]})}))
    array = tmp_path / "run.mrec" / "trajectory" / "atoms" / "x"
    assert json.loads((array / "zarr.json").read_text()) == shown

    shard = (array / "c" / "0").read_bytes()
    index = shard[:65540]
    assert struct.unpack("<I", index[-4:])[0] == google_crc32c.value(index[:-4])
    offset, length = struct.unpack("<QQ", index[:16])
    chunk = shard[offset : offset + length]
    assert struct.unpack("<I", chunk[-4:])[0] == google_crc32c.value(chunk[:-4])
    zstandard = pytest.importorskip("zstandard")
    planes = zstandard.ZstdDecompressor().decompressobj().decompress(chunk[:-4])
    assert len(planes) == 16392
    elements = np.frombuffer(planes, np.uint8).reshape(8, 2049).T.tobytes()
    assert np.array_equal(np.frombuffer(elements, "<f8")[:12], values)
