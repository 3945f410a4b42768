"""``molrec conformance``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from molrec.cli.console import EXIT_FINDINGS, errors_in_one_line, fail, progress_bar

if TYPE_CHECKING:
    from molrec.conformance import ConformanceSuite, Implementation

__all__ = ["conformance"]

_REFERENCE = "molrec.conformance.reference:molrec"


@errors_in_one_line
def conformance(
    implementation: Annotated[
        str, typer.Argument(help="What to judge, as module:name of an Implementation; packed records: ...:packed.")
    ] = _REFERENCE,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the report as JSON to this file.")] = None,
    junit_file: Annotated[Path | None, typer.Option("--junit", help="Write it as JUnit XML to this file.")] = None,
    only: Annotated[str, typer.Option("--only", help="Run the cases whose id fits this pattern.")] = "*",
    as_list: Annotated[bool, typer.Option("--list", help="List the cases and what each asks; run none.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name the passed cases as well.")] = False,
) -> None:
    """Judge an implementation of the format by every case of the specification; exit code 1 when one fails."""
    from molrec.conformance import ConformanceSuite

    suite = ConformanceSuite(_load(implementation)).only(only)
    if not suite.cases:
        fail(f"no case fits {only!r}; `molrec conformance --list` names them")
    if as_list:
        _list(suite)
        return
    with progress_bar("judging") as update:
        report = suite.run(lambda _, done, total: update("judging", done, total))
    for file, content in ((json_file, report.json), (junit_file, report.junit)):
        if file is not None:
            file.write_text(content(), encoding="utf-8")
    typer.echo(report.text(verbose=verbose), nl=False)
    if not report.passed:
        raise typer.Exit(EXIT_FINDINGS)


def _list(suite: ConformanceSuite) -> None:
    width = max(len(case.id) for case in suite.cases)
    for case in suite.cases:
        typer.echo(f"{case.id:{width}}  {case.title} ({case.clause})")


def _load(name: str) -> Implementation:
    """Return the object named; modules of the working folder are found as well."""
    from molrec.conformance import Implementation

    module, colon, attribute = name.partition(":")
    if not colon:
        fail(f"{name!r} is no implementation; name one as module:name, such as {_REFERENCE}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    finally:
        sys.path.remove(str(Path.cwd()))
    if not isinstance(found, Implementation):
        fail(f"{name} is {type(found).__name__}; an Implementation of molrec.conformance is asked for")
    return found
