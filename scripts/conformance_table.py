"""Write the table of docs/spec/conformance.md from the cases; a test fails when it is stale."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from molrec.conformance.catalogue import CASES
from molrec.conformance.suite import group_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "spec" / "conformance.md"
BEGIN, END = "<!-- cases-table -->", "<!-- /cases-table -->"


def cases_table() -> str:
    """Return a table of every case for each chapter that states its clause."""
    parts = []
    chapters = sorted(CASES, key=lambda case: case.clause.partition("#")[0])
    for chapter, cases in groupby(chapters, key=lambda case: case.clause.partition("#")[0]):
        rows = []
        for case in cases:
            groups = ", ".join(sorted({group_of(example) for example in case.examples}))
            rows.append(f"| `{case.id}` | [{case.title}]({case.clause}) | {groups} |")
        title = chapter.removesuffix(".md").replace("-", " ").capitalize()
        parts.append("\n".join([f"### Of {title}", "", "| Id | Clause | Adapter |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{cases_table()}\n\n{END}{after}", encoding="utf-8")
