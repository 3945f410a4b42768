"""``molrec pack``, ``unpack`` and ``repair``: a record as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from molrec.cli.console import errors_in_one_line, human_bytes, progress_bar, stdout

__all__ = ["pack", "repair", "unpack"]


@errors_in_one_line
def pack(
    path: Annotated[Path, typer.Argument(help="Record folder.")],
    output: Annotated[Path | None, typer.Argument(help="Zip to write; beside the folder when left out.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a zip that is there.")] = False,
) -> None:
    """Pack a closed record folder into one file; the folder stays."""
    import molrec

    with progress_bar("packing") as update:
        written = molrec.pack(
            path, output, overwrite=overwrite, progress=lambda done, total: update("packing", done, total)
        )
    stdout().print(f"{written}: {human_bytes(written.stat().st_size)}", markup=False)


@errors_in_one_line
def unpack(
    path: Annotated[Path, typer.Argument(help="Packed record.")],
    output: Annotated[
        Path | None, typer.Argument(help="Folder to create; the zip's name without .zip if not given.")
    ] = None,
) -> None:
    """Unpack a packed record into a folder; the zip stays."""
    import molrec

    with progress_bar("unpacking") as update:
        written = molrec.unpack(path, output, progress=lambda done, total: update("unpacking", done, total))
    stdout().print(f"{written}", markup=False)


@errors_in_one_line
def repair(path: Annotated[Path, typer.Argument(help="Record folder.")]) -> None:
    """Close a record whose writer died, restoring what the crash left torn.

    The record could be opened before, too; repair puts it in order for every reader, and for packing.
    """
    import molrec

    done = molrec.repair(path)
    console = stdout()
    for line in done:
        console.print(line, markup=False)
    if not done:
        console.print(f"{path}: nothing to repair", markup=False)
