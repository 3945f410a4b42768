"""``molrec validate``."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from molrec.cli.console import EXIT_ERROR, EXIT_FINDINGS, errors_in_one_line, print_json, progress_bar, stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from molrec.checks.validation import Finding

__all__ = ["Severity", "validate"]

_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
#: Findings of one kind that are printed one by one.
_MOST_ALIKE = 3
#: Rules that leave nothing to judge: there is no record or collection to be opened.
_NOTHING_THERE = frozenset(
    ("reject-not-a-record", "reject-malformed-zip", "reject-not-a-collection", "reject-no-shards")
)


class Severity(StrEnum):
    """The severities, gravest first."""

    error = "error"
    warning = "warning"
    info = "info"


@errors_in_one_line
def validate(
    path: Annotated[str, typer.Argument(help="Record (folder, packed, or URL) or collection (file, folder, pattern).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    severity: Annotated[
        Severity, typer.Option("--severity", help="Least severity of the findings that are printed.")
    ] = Severity.info,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings count like errors for the exit code.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Print every finding, however many are alike.")] = False,
) -> None:
    """Check a record or collection against every rule and list the findings.

    The exit code is 0 without errors, 1 with one (with --strict: or a warning), 2 where nothing can be opened.
    """
    import molrec
    from molrec.datasets.files import is_collection

    stage = "validating records" if is_collection(path) else "validating"
    with progress_bar(stage) as update:
        findings = molrec.validate(path, progress=lambda done, total: update(stage, done, total))
    counts: Counter[str] = Counter(finding.severity for finding in findings)
    shown = [finding for finding in findings if list(_STYLES).index(finding.severity) <= list(_STYLES).index(severity)]
    if as_json:
        print_json(
            {
                "path": path,
                "valid": not counts["error"],
                "counts": {name: counts[name] for name in _STYLES},
                "findings": [asdict(finding) for finding in shown],
            }
        )
    else:
        _print(path, shown, counts, every=every)
    if any(finding.rule in _NOTHING_THERE and finding.severity == "error" for finding in findings):
        raise typer.Exit(EXIT_ERROR)
    if counts["error"] or (strict and counts["warning"]):
        raise typer.Exit(EXIT_FINDINGS)


def _print(path: str, findings: Sequence[Finding], counts: Counter[str], *, every: bool) -> None:
    console = stdout()
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        # Places that differ in numbers alone are of one kind: records, frames, updates.
        place = re.sub(r"[0-9]+", "0", finding.where)
        kinds.setdefault((finding.severity, finding.rule, place), []).append(finding)
    for alike in kinds.values():
        most = len(alike) if every or len(alike) == _MOST_ALIKE + 1 else _MOST_ALIKE
        for finding in alike[:most]:
            _print_one(console, finding)
        if len(alike) > most:
            console.print(f"  and {len(alike) - most:,} more like this", style="dim", markup=False)
    told = [
        f"{counts[severity]:,} {severity}{'' if severity == 'info' or counts[severity] == 1 else 's'}"
        for severity in _STYLES
        if counts[severity]
    ]
    console.print(f"{path}: {', '.join(told) or 'no findings'}", markup=False, soft_wrap=True)


def _print_one(console: Console, finding: Finding) -> None:
    from rich.text import Text

    line = Text(f"{finding.severity}: ", style=_STYLES[finding.severity])
    line.append(f"{finding.where}: ", style="bold").append(finding.message).append(f" [{finding.rule}]", style="dim")
    console.print(line, soft_wrap=True)
