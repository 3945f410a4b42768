"""``molrec plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from molrec.cli.console import errors_in_one_line, stdout

__all__ = ["plot"]


@errors_in_one_line
def plot(
    path: Annotated[str, typer.Argument(help="Record: folder, packed, or URL.")],
    output: Annotated[
        Path | None, typer.Argument(help="PNG to write; the record's name with .png if not given.")
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(metavar="KEY,KEY", help="Per-step keys, metrics, observables; all per-step scalars if not given."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a PNG that is there.")] = False,
) -> None:
    """Draw per-step scalars, such as energies and the temperature, metrics, or observables, over time or step."""
    from molrec.plotting import plot_series

    target = Path(f"{Path(path).name.removesuffix('.zip').removesuffix('.mrec')}.png") if output is None else output
    chosen = None if keys is None else [key.strip() for key in keys.split(",")]
    drawn = plot_series(path, target, chosen, overwrite=overwrite)
    stdout().print(f"{target}: {', '.join(drawn)}", markup=False)
