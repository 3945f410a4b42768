"""Write the vocabulary table of docs/spec/vocabulary.md from the vocabulary itself; a test fails when it is stale."""

from __future__ import annotations

from pathlib import Path

from molrec.vocabulary import VOCABULARY

PAGE = Path(__file__).resolve().parents[1] / "docs" / "spec" / "vocabulary.md"
BEGIN, END = "<!-- vocabulary-table -->", "<!-- /vocabulary-table -->"

if __name__ == "__main__":
    rows = [
        f"| `{name}` | `{column.dtype}` | {column.dimension or 'none'} | {column.doc} |"
        for name, column in VOCABULARY.items()
    ]
    table = "\n".join(["| Name | dtype | Dimension | Meaning |", "|---|---|---|---|", *rows])
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}")
