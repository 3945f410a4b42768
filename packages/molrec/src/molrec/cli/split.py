"""``molrec split``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from molrec.cli.console import errors_in_one_line, print_json, progress_bar, stdout

if TYPE_CHECKING:
    from molrec.datasets.split import Split

__all__ = ["parse_fractions", "split"]


@errors_in_one_line
def split(
    path: Annotated[str, typer.Argument(help="Collection, or folder or pattern of shards.")],
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")],
    fraction: Annotated[
        float | None, typer.Option(metavar="FRACTION", help="Part to hold out for validation, such as 0.1.")
    ] = None,
    fractions: Annotated[
        str | None,
        typer.Option(metavar="PART=FRACTION,...", help="Several parts, such as train=0.8,valid=0.1,test=0.1."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Keep together what agrees in an index column or a key of record meta."),
    ] = None,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the index files go.")] = Path(),
    prefix: Annotated[str | None, typer.Option(help="What the names of index files begin with.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace index files that are there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Divide a collection at random into parts, and write the records of each to an index file."""
    from molrec.datasets.split import split_collection, write_split
    from molrec.storage.lmdb.opening import open_collection

    shares = parse_fractions(fraction, fractions)
    with open_collection(path) as collection, progress_bar("reading records") as update:
        found = split_collection(
            collection, shares, seed=seed, by=by, progress=lambda done, total: update("reading records", done, total)
        )
        records = len(collection)
    paths = write_split(found, output, seed=seed, prefix=prefix, overwrite=overwrite)
    if as_json:
        print_json(
            {
                "path": path,
                "records": records,
                "seed": seed,
                "by": by,
                "groups": found.groups,
                "isolated_atoms": found.isolated.tolist(),
                "parts": {
                    name: {"records": numbers.size, "file": str(paths[name])} for name, numbers in found.parts.items()
                },
                "unused": found.unused.size,
            }
        )
    else:
        _print(path, records, by, found, paths)


def parse_fractions(fraction: float | None, fractions: str | None) -> dict[str, float]:
    """Return parts with their fractions from the two options of the command line.

    Raises:
        typer.BadParameter: Neither or both are given, or a text that does not spell parts.
    """
    if (fraction is None) == (fractions is None):
        raise typer.BadParameter("say one of --fraction 0.1 and --fractions train=0.8,valid=0.1,test=0.1")
    if fraction is not None:
        return {"valid": fraction}
    found: dict[str, float] = {}
    for entry in (fractions or "").split(","):
        name, equals, number = (word.strip() for word in entry.partition("="))
        if not equals or name in found:
            raise typer.BadParameter(f"--fractions is PART=FRACTION,... with each part once; found {entry!r}")
        try:
            found[name] = float(number)
        except ValueError:
            raise typer.BadParameter(f"--fractions: {number!r} is no number") from None
    return found


def _print(path: str, records: int, by: str | None, found: Split, paths: Mapping[str, Path]) -> None:
    console = stdout()
    groups = "" if found.groups is None else f" in {found.groups:,} groups by {by}"
    console.print(f"{path}: {records:,} records{groups}", markup=False)
    if found.isolated.size:
        one = found.isolated.size == 1
        console.print(
            f"{found.isolated.size:,} isolated atom{' stays' if one else 's stay'} in train, whatever the fractions",
            markup=False,
        )
    width = max(len(name) for name in found.parts)
    for name, numbers in found.parts.items():
        share = f"{numbers.size:,} ({100 * numbers.size / records:.1f} %)"
        console.print(f"{name:<{width}}  {share}  {paths[name]}", markup=False)
    if found.unused.size:
        console.print(f"{found.unused.size:,} records are in no part", markup=False)
