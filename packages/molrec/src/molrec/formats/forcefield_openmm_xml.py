"""Force-field XML as a tree whose elements know their lines, with included files in place."""

from __future__ import annotations

import xml.parsers.expat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from molrec.formats.forcefield_source import SourceLine

__all__ = ["Element", "read_tree"]


@dataclass(slots=True)
class Element:
    """One element.

    Attributes:
        tag: Its name.
        attributes: Its attributes.
        place: Where it begins.
        children: Elements in it.
        text: Its text.
    """

    tag: str
    attributes: dict[str, str]
    place: SourceLine
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> Iterator[Element]:
        """Yield the children of one name."""
        return (child for child in self.children if child.tag == tag)

    def get(self, key: str) -> str:
        """Return an attribute that must be there.

        Raises:
            SchemaError: It is not (``reject-ff-source-malformed``).
        """
        if key not in self.attributes:
            raise self.place.malformed(f"<{self.tag}> has no attribute {key!r}")
        return self.attributes[key]

    def number(self, key: str) -> float:
        """Return an attribute as a number.

        Raises:
            SchemaError: It is missing or no number (``reject-ff-source-malformed``).
        """
        return self.place.numbers([self.get(key)], f"<{self.tag}> {key}")[0]


def read_tree(path: Path) -> list[Element]:
    """Return the ``ForceField`` elements of a file and of the files it includes, included ones first.

    Raises:
        SchemaError: A file is missing, is no XML, or is no force field (``reject-ff-source-malformed``).
    """
    return list(_trees(path, SourceLine(str(path), 1), ()))


def _trees(path: Path, place: SourceLine, above: tuple[Path, ...]) -> Iterator[Element]:
    if path.resolve() in above:
        raise place.malformed(f"{path} includes itself")
    if not path.is_file():
        raise place.malformed(f"the included file {path} is not there")
    root = _parsed(path)
    if root.tag != "ForceField":
        raise root.place.malformed(f"a force field begins with <ForceField>, found <{root.tag}>")
    for include in root.all("Include"):
        yield from _trees(path.parent / include.get("file"), include.place, (*above, path.resolve()))
    yield root


def _parsed(path: Path) -> Element:
    """Return the outermost element of a file."""
    parser = xml.parsers.expat.ParserCreate()
    parser.buffer_text = True
    holder = Element("", {}, SourceLine(str(path), 1))
    stack = [holder]

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, SourceLine(str(path), parser.CurrentLineNumber))
        stack[-1].children.append(element)
        stack.append(element)

    def text(characters: str) -> None:
        stack[-1].text += characters

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.CharacterDataHandler = text
    try:
        parser.Parse(path.read_bytes(), True)
    except xml.parsers.expat.ExpatError as error:
        raise SourceLine(str(path), error.lineno).malformed(f"the file is no XML: {error}") from error
    return holder.children[0]
