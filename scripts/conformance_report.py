"""Write the page about another implementation's conformance, from its report and the list of its deviations.

``python scripts/conformance_report.py`` in the root of the repository writes ``docs/design/conformance-molrs.md``; with
``--print`` it prints it instead.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "design" / "conformance-molrs.md"
#: A folder in memory, where there is one; the suite makes a folder of its own in it.
MEMORY = "/dev/shm"  # noqa: S108 - nothing is expected there, and nothing is left
IMPLEMENTATION = "packages.molrec.tests.molrs_implementation:molrs"

sys.path.insert(0, str(ROOT))

from packages.molrec.tests.molrs_deviations import DEVIATIONS  # noqa: E402 - found in the folder put in front above

HEAD = """# Conformance of molrs

`molcrafts-molrs` is an implementation of its own, in Rust. It shares the layout of records on Zarr, and the
[conformance suite](../spec/conformance.md) judges it through an adapter over its public Python doors
(`packages/molrec/tests/molrs_implementation.py`). What it reads of ours and we of its is compared value by value
besides, in `packages/molrec/tests/interop`.

```sh
molrec conformance packages.molrec.tests.molrs_implementation:molrs
```

This page is written by `scripts/conformance_report.py`; a test fails when it is not what the suite finds.
"""


def judged() -> dict[str, Any]:
    """Return the report of the suite, made in a process of its own: a panic there ends nothing here."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "molrec", "conformance", IMPLEMENTATION, "--json", str(report)]
        # Stores are flushed to disk, which takes most of the time where the temporary folder is on one.
        memory = {"TMPDIR": MEMORY} if os.access(MEMORY, os.W_OK) else {}
        subprocess.run(command, check=False, cwd=ROOT, capture_output=True, env=os.environ | memory)
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found


def failures(report: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the outcomes that are failures, by case."""
    found: dict[str, list[dict[str, Any]]] = {}
    for outcome in report["outcomes"]:
        if outcome["verdict"] not in ("passed", "not supported"):
            found.setdefault(outcome["case"], []).append(outcome)
    return found


def page(report: dict[str, Any]) -> str:
    """Return the page."""
    counts = report["counts"]
    cases = {outcome["case"] for outcome in report["outcomes"]}
    failed = failures(report)
    lines = [HEAD, f"## {report['implementation']}", ""]
    lines.append(
        f"{len(cases)} cases in {len(report['outcomes'])} trials: "
        + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        + f". {len(cases) - len(failed) - len(_unsupported(report))} cases pass in full."
    )
    lines += ["", "## Deviations", "", "| Case | Trials | Deviation |", "|---|---|---|"]
    for case in failed:
        trials = "; ".join(_trial(outcome) for outcome in failed[case])
        lines.append(f"| `{case}` | {trials} | {DEVIATIONS.get(case, 'not explained')} |")
    lines += ["", "## Not supported", "", "| Reason | Cases |", "|---|---|"]
    for reason, names in _reasons(report).items():
        lines.append(f"| {reason} | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(lines) + "\n"


def _trial(outcome: dict[str, Any]) -> str:
    example = f"{outcome['example']}, " if outcome["example"] else ""
    return f"{example}{outcome['direction']}: {outcome['verdict']}".replace("|", "\\|")


def _reasons(report: dict[str, Any]) -> dict[str, list[str]]:
    reasons: dict[str, dict[str, None]] = {}
    for outcome in report["outcomes"]:
        if outcome["verdict"] == "not supported":
            reasons.setdefault(outcome["detail"], {})[outcome["case"]] = None
    return {reason: list(names) for reason, names in reasons.items()}


def _unsupported(report: dict[str, Any]) -> set[str]:
    failed = failures(report)
    return {name for names in _reasons(report).values() for name in names} - set(failed)


if __name__ == "__main__":
    text = page(judged())
    if "--print" in sys.argv[1:]:
        print(text, end="")
    else:
        PAGE.write_text(text, encoding="utf-8")
