"""The application: every command under its name, and ``--version``."""

from __future__ import annotations

from typing import Annotated

import typer

import molrec
from molrec.cli import conformance, convert, forcefield, info, packing, plot, split, stats, validate, view

__all__ = ["app"]

app = typer.Typer(
    name="molrec",
    help="Records of molecular simulations: convert, look into, check, pack.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("convert")(convert.convert)
app.command("info")(info.info)
app.command("validate")(validate.validate)
app.command("conformance")(conformance.conformance)
app.command("pack")(packing.pack)
app.command("unpack")(packing.unpack)
app.command("repair")(packing.repair)
app.command("plot")(plot.plot)
app.command("view")(view.view)
app.command("split")(split.split)
app.command("stats")(stats.stats)
app.add_typer(forcefield.forcefield)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"molrec {molrec.__version__}")
        raise typer.Exit


@app.callback()
def _molrec(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Records of molecular simulations: convert, look into, check, pack."""
