"""``molrec convert``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from molrec.cli.console import (
    errors_in_one_line,
    human_bytes,
    print_json,
    print_notes,
    progress_bar,
    stdout,
)
from molrec.cli.options import parse_frames, parse_keys, parse_precision, parse_units

if TYPE_CHECKING:
    from mace_core.data import KeySpecification
    from molrec.conversion import Conversion, Report

__all__ = ["convert"]

_RECORDS, _FORCEFIELDS, _LABELS, _SHARDS = "Records", "Force fields", "Labelled structures and collections", "Shards"


@errors_in_one_line
def convert(
    paths: Annotated[
        list[str], typer.Argument(metavar="IN... OUT", help="Files, records or collections to read; last, the output.")
    ],
    frames: Annotated[
        str | None,
        typer.Option(metavar="START:STOP:STEP", help="Which frames to take; which records, of or to a collection."),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="1e-3 for positions, or x,y,z=1e-3,vx=1e-4; in the column's unit."),
    ] = None,
    units: Annotated[
        str | None,
        typer.Option(
            metavar="UNITS",
            help="Of a collection: ase, or length=angstrom,energy=eV,... Of a force field that states none: a preset.",
        ),
    ] = None,
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of the inputs, if it is not recognized.")
    ] = None,
    target_format: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Format of the output, if its suffix does not tell.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that is there.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail rather than leave anything out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    profile: Annotated[
        str | None,
        typer.Option(help="Storage: archive (small, the default) or live (quick at random).", rich_help_panel=_RECORDS),
    ] = None,
    compression: Annotated[
        str | None,
        typer.Option(help="Compressor of float columns: none, gzip[:LEVEL] or zstd[:LEVEL].", rich_help_panel=_RECORDS),
    ] = None,
    forcefield: Annotated[
        bool,
        typer.Option(
            "--forcefield",
            help="Read the first input for its force field, which the record holds.",
            rich_help_panel=_FORCEFIELDS,
        ),
    ] = False,
    energy_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Entry that is the energy.", rich_help_panel=_LABELS)
    ] = None,
    forces_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Column that is the forces.", rich_help_panel=_LABELS)
    ] = None,
    stress_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Entry that is the stress.", rich_help_panel=_LABELS)
    ] = None,
    graph_key: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=KEY", help="Entry that is another property; repeat.", rich_help_panel=_LABELS),
    ] = None,
    atom_key: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=KEY", help="Column that is another property; repeat.", rich_help_panel=_LABELS),
    ] = None,
    head: Annotated[
        str | None, typer.Option(metavar="NAME", help="Head of every structure.", rich_help_panel=_LABELS)
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="Key that becomes a column of the index; repeat. Otherwise config_type, head, molecule_id.",
            rich_help_panel=_LABELS,
        ),
    ] = None,
    indices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Records of a collection to take: one number a line.", rich_help_panel=_LABELS
        ),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(metavar="N", help="Write a folder of N collections, read as one.", rich_help_panel=_SHARDS),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Dask scheduler whose workers write the shards, or local for this machine's cores.",
            rich_help_panel=_SHARDS,
        ),
    ] = None,
) -> None:
    """Convert files to a record or a collection, records and collections to files, or to another profile.

    The output is a record where its name ends in .mrec (a folder) or .mrec.zip (one file), a collection where it ends
    in .mrec.lmdb, and otherwise in the format of its suffix. Several inputs are read one after the other: as one run
    of a record, where a topology before trajectories that have coordinates only says what their atoms are, as in
    molrec convert topol.tpr traj.xtc run.mrec; or as records of a collection, one for each labelled structure, as in
    molrec convert train.xyz valid.xyz data.mrec.lmdb --units ase --energy-key energy
    """
    if len(paths) < 2:
        raise typer.BadParameter("give at least one input, and the output last", param_hint="IN... OUT")
    from molrec.datasets.conversion import names_collection
    from molrec.datasets.files import is_collection
    from molrec.interop.labelled_sources import is_database

    *inputs, output = paths
    given = {
        "--profile": profile,
        "--compression": compression,
        "--forcefield": forcefield or None,
        "--to": target_format,
        "--precision": precision,
        "--energy-key": energy_key,
        "--forces-key": forces_key,
        "--stress-key": stress_key,
        "--graph-key": graph_key or None,
        "--atom-key": atom_key or None,
        "--head": head,
        "--index": index or None,
        "--indices": indices,
        "--shards": shards,
        "--scheduler": scheduler,
    }
    selection = parse_frames(frames)

    def to_collection(report: Report) -> Conversion:
        from molrec.datasets.conversion import convert_to_collection

        _refuse(given, "a collection", "--profile", "--compression", "--forcefield", "--to")
        return convert_to_collection(
            inputs,
            output,
            units=parse_units(units),
            key_spec=_key_spec(energy_key, forces_key, stress_key, graph_key, atom_key),
            head=head,
            index=index or None,
            select=selection,
            indices=_indices(indices),
            precision=parse_precision(precision),
            overwrite=overwrite,
            strict=strict,
            source_format=source_format,
            shards=shards,
            scheduler=scheduler,
            report=report,
        )

    def from_collection(report: Report) -> Conversion:
        from molrec.datasets.export import export_collection

        _refuse(given, "what comes out of a collection", *(name for name in given if name not in ("--indices", "--to")))
        return export_collection(
            inputs,
            output,
            select=selection,
            indices=_indices(indices),
            overwrite=overwrite,
            strict=strict,
            target_format=target_format,
            report=report,
        )

    def to_record(report: Report) -> Conversion:
        from molrec.conversion import convert as run

        _refuse(given, "a record or a file", *list(given)[5:])
        return run(
            inputs,
            output,
            precision=parse_precision(precision),
            profile=profile or "archive",
            compression=None if compression == "none" else compression,
            select=selection,
            overwrite=overwrite,
            strict=strict,
            source_format=source_format,
            target_format=target_format,
            forcefield=forcefield,
            units=units,
            report=report,
        )

    if names_collection(output) or shards is not None or scheduler is not None:
        work, what = to_collection, "record"
    elif is_collection(inputs[0]) and not is_database(Path(inputs[0])):
        work, what = from_collection, "frame"
    else:
        work, what = to_record, "frame"
    started = time.perf_counter()
    with progress_bar("reading") as update:
        done = work(update)
    _print(done, what, time.perf_counter() - started, as_json=as_json)


def _refuse(given: dict[str, Any], what: str, *names: str) -> None:
    """Refuse options that mean nothing for an output, rather than passing over them."""
    for name in names:
        if given[name] is not None:
            raise typer.BadParameter(f"it means nothing for {what}; leave it out", param_hint=name)


def _key_spec(
    energy: str | None, forces: str | None, stress: str | None, graph: list[str] | None, atom: list[str] | None
) -> KeySpecification | None:
    """Return the default keys with those asked for, None where none is."""
    graph_keys = {name: key for name, key in (("energy", energy), ("stress", stress)) if key is not None}
    graph_keys |= parse_keys(graph, "virials=REF_virials")
    atom_keys = parse_keys(atom, "charges=REF_charges") | ({} if forces is None else {"forces": forces})
    if not graph_keys and not atom_keys:
        return None
    from mace_core.data import KeySpecification

    try:
        return KeySpecification.from_defaults().update(graph_keys=graph_keys, atom_keys=atom_keys)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _indices(path: Path | None) -> list[int] | None:
    if path is None:
        return None
    from molrec.datasets.split import read_indices

    return [int(index) for index in read_indices(path)]


def _print(done: Conversion, what: str, seconds: float, *, as_json: bool) -> None:
    print_notes(done.notes)
    if as_json:
        print_json(
            {
                "output": str(done.output),
                f"{what}s": done.frames,
                "bytes": done.stored_bytes,
                "seconds": round(seconds, 3),
                "notes": [
                    {"subject": note.subject, "message": note.message, "lost": note.lost, "count": note.count}
                    for note in done.notes
                ],
            }
        )
        return
    counted = f"1 {what}" if done.frames == 1 else f"{done.frames:,} {what}s"
    stdout().print(f"{done.output}: {counted}, {human_bytes(done.stored_bytes)}, {seconds:.1f} s", markup=False)
