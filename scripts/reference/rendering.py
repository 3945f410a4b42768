"""Docstrings in Google's form as Markdown, with links between the pages and into docs/spec."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scripts.reference.sources import Documented

__all__ = ["Links", "markdown", "member_anchor", "rendered"]

_SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Example")
_SECTION = re.compile(rf"^({'|'.join(_SECTIONS)}):[ \t]*\n((?:[ \t]+\S.*\n?|[ \t]*\n)*)", flags=re.MULTILINE)
_ENTRY = re.compile(r"^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*):\s")
_CODE = re.compile(r"^```\w*\n.*?^```$|``(.+?)``|`([^`\n]+)`", flags=re.DOTALL | re.MULTILINE)
_PAGE = re.compile(r"^docs/([\w/-]+\.md)$")


@dataclass(frozen=True, slots=True)
class Links:
    """Where names are explained.

    Attributes:
        pages: Name, such as ``Block`` or ``Block.rows``, to ``page.md#anchor``.
        here: The page that is written; links to it leave its name out.
    """

    pages: Mapping[str, str]
    here: str

    def target(self, word: str, inside: str) -> str | None:
        """Return where a word in the docstring of `inside` leads, or None."""
        found = self.pages.get(f"{inside}.{word}") or self.pages.get(word)
        return found.removeprefix(self.here) if found else None


def rendered(thing: Documented, anchor: str, links: Links, level: int = 2) -> str:
    """Return the section of one public thing, its members included."""
    owner = thing.name.rpartition(".")[0] or thing.name
    parts = [
        f"{'#' * level} `{thing.name if level == 2 else thing.name.rpartition('.')[2]}` {{ #{anchor} }}",
        f"```python\n{thing.signature}\n```",
        _docstring(thing, owner, links),
    ]
    parts += [rendered(member, member_anchor(anchor, member), links, level + 1) for member in thing.members]
    return "\n\n".join(part for part in parts if part)


def member_anchor(owner: str, member: Documented) -> str:
    """Return the anchor of a member; underscores at its ends would be taken for emphasis."""
    return f"{owner}.{member.name.rpartition('.')[2].strip('_')}"


def markdown(text: str, inside: str, links: Links, parameters: tuple[str, ...] = ()) -> str:
    """Return prose of a docstring as Markdown: code, links for single backticks, nothing taken for HTML."""
    pieces: list[str] = []
    end = 0
    for match in _CODE.finditer(text):
        pieces += [html.escape(text[end : match.start()], quote=False), _code(match, inside, links, parameters)]
        end = match.end()
    return "".join([*pieces, html.escape(text[end:], quote=False)])


def _code(match: re.Match[str], inside: str, links: Links, parameters: tuple[str, ...]) -> str:
    literal, role = match.groups()
    if literal is None and role is None:
        return match[0]
    if literal is not None:
        page = _PAGE.match(literal)
        return f"[{page[1].removesuffix('.md')}](../{page[1]})" if page else f"`{' '.join(literal.split())}`"
    target = None if role in parameters else links.target(role.removesuffix("()"), inside)
    return f"[`{role}`]({target})" if target else f"`{role}`"


def _docstring(thing: Documented, owner: str, links: Links) -> str:
    text = f"{thing.doc}\n"
    parts: list[str] = []
    end = 0
    for match in _SECTION.finditer(text):
        parts.append(markdown(text[end : match.start()].strip(), owner, links, thing.parameters))
        parts.append(_section(match[1], match[2], thing, owner, links))
        end = match.end()
    parts.append(markdown(text[end:].strip(), owner, links, thing.parameters))
    return "\n\n".join(part for part in parts if part)


def _section(title: str, body: str, thing: Documented, owner: str, links: Links) -> str:
    lines = _dedented(body)
    if title == "Example":
        return "**Example**\n\n```pycon\n" + "\n".join(lines) + "\n```"
    if title in {"Returns", "Yields"}:
        return f"**{title}** " + markdown(" ".join(line.strip() for line in lines), owner, links, thing.parameters)
    items = [_item(entry, title, thing, owner, links) for entry in _entries(lines)]
    return f"**{title}**\n\n" + "\n".join(items)


def _item(entry: str, title: str, thing: Documented, owner: str, links: Links) -> str:
    match = _ENTRY.match(entry)
    if match is None:
        raise ValueError(f"{thing.name}: {entry!r} under {title} is no 'name: text'")
    names = [part.strip() for part in match[1].split(",")]
    shown = [markdown(f"`{name}`", owner, links, () if title == "Raises" else tuple(names)) for name in names]
    return f"* {', '.join(shown)}: {markdown(entry[match.end() :].strip(), owner, links, thing.parameters)}"


def _dedented(body: str) -> list[str]:
    lines = body.rstrip().splitlines()
    width = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[width:] for line in lines]


def _entries(lines: list[str]) -> Iterator[str]:
    entry: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith(" ") and entry:
            yield " ".join(entry)
            entry = []
        if line.strip():
            entry.append(line.strip())
    if entry:
        yield " ".join(entry)
