"""The pages of the documentation as the site has them: anchors and links, by the Markdown the site is made with."""

from __future__ import annotations

import html
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import markdown  # type: ignore[import-untyped]

__all__ = ["ROOT", "Page", "broken_links", "read_pages", "whole_docs"]

ROOT = Path(__file__).resolve().parents[3]

#: Those of zensical.toml that make anchors, or keep links out of code.
_EXTENSIONS = ["attr_list", "def_list", "footnotes", "md_in_html", "tables", "toc", "pymdownx.superfences"]
_OUTSIDE = re.compile(r"^[a-z]+:")


@dataclass(frozen=True, slots=True)
class Page:
    """One page: where it is, its anchors, and the links it has."""

    path: Path
    anchors: frozenset[str]
    links: tuple[str, ...]


def whole_docs(folder: Path) -> Path:
    """Return a copy of ``docs`` that also has the pages made for the site."""
    from scripts.make_reference import make

    copied = folder / "docs"
    shutil.copytree(ROOT / "docs", copied)
    make(copied / "reference")
    return copied


def read_pages(folder: Path) -> dict[Path, Page]:
    """Return every page below a folder."""
    return {path: read_page(path) for path in sorted(folder.rglob("*.md"))}


def read_page(path: Path) -> Page:
    """Return a page as it is rendered."""
    text = markdown.Markdown(extensions=_EXTENSIONS).convert(path.read_text(encoding="utf-8"))
    anchors = re.findall(r'\sid="([^"]+)"', text)
    links = re.findall(r'<(?:a|img)\s[^>]*?(?:href|src)="([^"]+)"', text)
    return Page(path, frozenset(map(html.unescape, anchors)), tuple(map(html.unescape, links)))


def broken_links(pages: dict[Path, Page]) -> list[str]:
    """Return the links that lead to no file, or to no anchor of a page; those that leave the repository aside."""
    broken = []
    for page in pages.values():
        for link in page.links:
            if _OUTSIDE.match(link):
                continue
            target, _, anchor = link.partition("#")
            path = (page.path.parent / target).resolve() if target else page.path
            if not path.exists():
                broken.append(f"{page.path.name}: {link} leads nowhere")
            elif anchor and path.suffix == ".md":
                found = pages[path] if path in pages else read_page(path)
                if anchor not in found.anchors:
                    broken.append(f"{page.path.name}: {link} leads to no heading")
    return broken
