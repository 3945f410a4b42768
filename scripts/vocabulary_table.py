"""Write the tables of docs/spec/vocabulary.md from the code that holds them; a test fails when they are stale."""

from __future__ import annotations

from pathlib import Path

from molrec.model.relations import RELATIONS
from molrec.vocabulary import VOCABULARY

PAGE = Path(__file__).resolve().parents[1] / "docs" / "spec" / "vocabulary.md"


def vocabulary_table() -> str:
    """Return the canonical columns."""
    rows = [
        f"| `{name}` | `{column.dtype}` | {column.dimension or 'none'} | {column.doc} |"
        for name, column in VOCABULARY.items()
    ]
    return "\n".join(["| Name | dtype | Dimension | Meaning |", "|---|---|---|---|", *rows])


def relations_table() -> str:
    """Return the relation blocks."""
    rows = []
    for name, relation in RELATIONS.items():
        endpoints = ", ".join(
            f"`{column}` (nullable)" if column in relation.nullable else f"`{column}`" for column in relation.endpoints
        )
        optional = ", ".join(f"`{column}`" for column in relation.optional) or "none"
        rows.append(f"| `{name}` | {endpoints} | {optional} | {relation.doc} |")
    return "\n".join(["| Block | Endpoints | Optional | Holds |", "|---|---|---|---|", *rows])


def with_table(text: str, name: str, table: str) -> str:
    """Return a page with the table between its two markers replaced."""
    before, rest = text.split(f"<!-- {name} -->")
    return f"{before}<!-- {name} -->\n\n{table}\n\n<!-- /{name} -->{rest.split(f'<!-- /{name} -->')[1]}"


if __name__ == "__main__":
    page = with_table(PAGE.read_text(), "vocabulary-table", vocabulary_table())
    PAGE.write_text(with_table(page, "relations-table", relations_table()))
