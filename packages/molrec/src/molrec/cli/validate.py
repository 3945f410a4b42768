"""``molrec validate``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from molrec.cli.console import EXIT_FINDINGS, errors_in_one_line, print_json, progress_bar, stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from molrec.validation import Finding

__all__ = ["validate"]

_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


@errors_in_one_line
def validate(
    path: Annotated[str, typer.Argument(help="Record: folder, packed, or URL.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check a record against every rule and list the findings; exit code 1 when one is an error."""
    import molrec

    with progress_bar("validating") as update:
        findings = molrec.validate(path, progress=lambda done, total: update("validating", done, total))
    errors = sum(finding.severity == "error" for finding in findings)
    if as_json:
        print_json({"path": path, "valid": not errors, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(path, findings)
    if errors:
        raise typer.Exit(EXIT_FINDINGS)


def _print(path: str, findings: Sequence[Finding]) -> None:
    from rich.text import Text

    console = stdout()
    for finding in findings:
        line = Text(f"{finding.severity}: ", style=_STYLES[finding.severity])
        line.append(f"{finding.where}: ", style="bold").append(finding.message).append(
            f" [{finding.rule}]", style="dim"
        )
        console.print(line, soft_wrap=True)
    counts = [
        f"{count} {severity}{'' if severity == 'info' or count == 1 else 's'}"
        for severity in _STYLES
        if (count := sum(finding.severity == severity for finding in findings))
    ]
    console.print(f"{path}: {', '.join(counts) or 'no findings'}", markup=False, soft_wrap=True)
