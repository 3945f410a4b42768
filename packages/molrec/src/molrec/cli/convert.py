"""``molrec convert``."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from molrec.cli.console import (
    errors_in_one_line,
    human_bytes,
    print_json,
    print_notes,
    progress_bar,
    stdout,
)
from molrec.cli.options import parse_frames, parse_precision

__all__ = ["convert"]


@errors_in_one_line
def convert(
    paths: Annotated[
        list[str], typer.Argument(metavar="IN... OUT", help="Files or records to read; last, the output.")
    ],
    precision: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="1e-3 for positions, or x,y,z=1e-3,vx=1e-4; in the column's unit."),
    ] = None,
    profile: Annotated[str, typer.Option(help="Storage of a record: archive (small) or live (quick at random).")] = (
        "archive"
    ),
    compression: Annotated[
        str | None, typer.Option(help="Compressor of float columns: none, gzip[:LEVEL] or zstd[:LEVEL].")
    ] = None,
    frames: Annotated[str | None, typer.Option(metavar="START:STOP:STEP", help="Which frames to take.")] = None,
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of the inputs, if it is not recognized.")
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Format of the output, if its suffix does not tell.")
    ] = None,
    forcefield: Annotated[
        bool, typer.Option("--forcefield", help="Read the first input for its force field, which the record holds.")
    ] = False,
    units: Annotated[
        str | None, typer.Option(metavar="PRESET", help="Units of a force field whose file states none.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that is there.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail rather than leave anything out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Convert files to a record, a record to a file, or a record to another profile.

    The output is a record where its name ends in .mrec (a folder) or .mrec.zip (one file), and otherwise in the format
    of its suffix. Several inputs are read one after the other as one run; a topology before trajectories that have
    coordinates only says what their atoms are, as in: molrec convert topol.tpr traj.xtc run.mrec
    """
    if len(paths) < 2:
        raise typer.BadParameter("give at least one input, and the output last", param_hint="IN... OUT")
    from molrec.conversion import convert as run

    *inputs, output = paths
    started = time.perf_counter()
    with progress_bar("reading") as update:
        done = run(
            inputs,
            output,
            precision=parse_precision(precision),
            profile=profile,
            compression=None if compression == "none" else compression,
            select=parse_frames(frames),
            overwrite=overwrite,
            strict=strict,
            source_format=source_format,
            target_format=target_format,
            forcefield=forcefield,
            units=units,
            report=update,
        )
    seconds = time.perf_counter() - started
    print_notes(done.notes)
    if as_json:
        print_json(
            {
                "output": str(done.output),
                "frames": done.frames,
                "bytes": done.stored_bytes,
                "seconds": round(seconds, 3),
                "notes": [
                    {"subject": note.subject, "message": note.message, "lost": note.lost, "count": note.count}
                    for note in done.notes
                ],
            }
        )
        return
    counted = "1 frame" if done.frames == 1 else f"{done.frames:,} frames"
    stdout().print(f"{done.output}: {counted}, {human_bytes(done.stored_bytes)}, {seconds:.1f} s", markup=False)
