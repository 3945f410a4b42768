"""``molrec forcefield show`` and ``molrec forcefield convert``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from molrec.cli.console import errors_in_one_line, print_json, print_notes, stdout

if TYPE_CHECKING:
    from molrec.model.forcefield import ForceField, Style

__all__ = ["forcefield"]

forcefield = typer.Typer(name="forcefield", help="Force fields: show and convert.", no_args_is_help=True)

_From = Annotated[str | None, typer.Option("--from", metavar="FORMAT", help="Format, if it is not recognized.")]
_Units = Annotated[str | None, typer.Option("--units", metavar="PRESET", help="Units of a file that states none.")]


@forcefield.command("show")
@errors_in_one_line
def show(
    path: Annotated[str, typer.Argument(help="Record or foreign force-field file.")],
    source_format: _From = None,
    units: _Units = None,
    rows: Annotated[int, typer.Option(help="Rows of each style to print.")] = 8,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show what a force field holds: units, weights, and the rows of each style."""
    from molrec.forcefield_conversion import load_forcefield
    from molrec.formats.notes import Notes

    notes = Notes()
    field = load_forcefield(path, source_format=source_format, units=units, notes=notes).forcefield
    print_notes(tuple(notes))
    if as_json:
        print_json(_facts(field))
        return
    console = stdout()
    stated = ", ".join(f"{key} {value}" for key, value in field.units.items())
    console.print(f"{field.name}: {stated}", markup=False, soft_wrap=True)
    for kind, weights in (field.special_bonds or {}).items():
        console.print(f"special {kind}: {', '.join(f'{weight:g}' for weight in weights)}", markup=False)
    for style in field.styles:
        console.print(_table(style, rows))


@forcefield.command("convert")
@errors_in_one_line
def convert(
    source: Annotated[str, typer.Argument(help="Record or foreign force-field file.")],
    output: Annotated[str, typer.Argument(help="Record (.mrec, .mrec.zip) or foreign file.")],
    source_format: _From = None,
    target_format: Annotated[str | None, typer.Option("--to", metavar="FORMAT", help="Format of the output.")] = None,
    units: _Units = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that is there.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail rather than leave anything out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Convert a force field, and the system it comes with, to a record or to another program's file."""
    from molrec.forcefield_conversion import convert_forcefield

    done = convert_forcefield(
        source,
        output,
        source_format=source_format,
        target_format=target_format,
        units=units,
        overwrite=overwrite,
        strict=strict,
    )
    print_notes(done.notes)
    if as_json:
        print_json({"output": str(done.output), "styles": done.styles})
        return
    listed = ", ".join(f"{name} {count}" for name, count in done.styles.items()) or "no styles"
    stdout().print(f"{done.output}: {listed}", markup=False, soft_wrap=True)


def _facts(field: ForceField) -> dict[str, Any]:
    return {
        "name": field.name,
        "units": field.units,
        "special_bonds": field.special_bonds,
        "source": field.source,
        "styles": [
            {
                **style.entry(),
                "rows": [{"name": row.name, "endpoints": list(row.endpoints), "params": dict(row)} for row in style],
            }
            for style in field.styles
        ],
    }


def _table(style: Style, most: int) -> Any:
    from rich import box
    from rich.table import Table

    params = "".join(f", {key} {value}" for key, value in style.params.items())
    table = Table(box=box.SIMPLE_HEAD, title=f"{style.category} {style.name}: {len(style)} rows{params}")
    table.title_justify = "left"
    for heading in ("name", "endpoints", *style.parameters):
        table.add_column(heading, overflow="fold")
    for number, row in enumerate(style):
        if number == most:
            table.add_row("...")
            break
        values = [
            f"{row[key]:g}" if isinstance(row.get(key), float) else str(row.get(key, "")) for key in style.parameters
        ]
        table.add_row(row.name, " ".join(end or "*" for end in row.endpoints), *values)
    return table
