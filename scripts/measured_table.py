"""Put the rows of the home page's table in from docs/design/benchmarks.md; a test fails when they differ.

``python -m scripts.measured_table``
"""

from __future__ import annotations

import re
from pathlib import Path

from scripts.vocabulary_table import with_table

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "index.md"

_CASE = "**3000 atoms × 400 frames**"
#: The row of the benchmark and what the home page calls it.
_ROWS = {
    "molrec live, 1e-3": "molrec, while a run goes on",
    "molrec archive, 1e-3": "molrec, archived",
    "XTC, 0.01 Å": "XTC (ten times as coarse)",
    "GSD, float32": "GSD, float32",
    "HDF5, 1e-3": "HDF5, shuffle and gzip",
}


def measured_table() -> str:
    """Return the table of the home page."""
    page = (DOCS / "design" / "benchmarks.md").read_text(encoding="utf-8")
    case = page.split(f"| {_CASE} |")[1].split("| **")[0]
    rows = {row[0]: row for row in (_cells(line) for line in case.splitlines()[1:]) if row}
    lines = ["|  | bytes per atom and frame | write, µs a frame | read any frame, µs |", "|---|---:|---:|---:|"]
    for name, shown in _ROWS.items():
        _, _, size, write, _, random, *_ = rows[name]
        lines.append(f"| {shown} | {size} | {_bracketed(write)} | {_bracketed(random)} |")
    return "\n".join(lines)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def _bracketed(cell: str) -> str:
    return re.sub(r" (×[\d.]+)$", r" (\1)", cell)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), "measured", measured_table()), encoding="utf-8")
