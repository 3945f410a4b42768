"""``molrec stats``."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from molrec.cli.console import errors_in_one_line, print_json, progress_bar, stderr, stdout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from molrec.datasets.running_statistics import Spread
    from molrec.datasets.statistics import Statistics

__all__ = ["stats"]

_MOST_LISTED, _NAME_WIDTH = 12, 22


@errors_in_one_line
def stats(
    path: Annotated[str, typer.Argument(help="Collection, or folder or pattern of shards.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, histograms too.")] = False,
    plot: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw histograms.")] = None,
    indices: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only the records of an index file, one number to a line.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a PNG that is there.")] = False,
) -> None:
    """Summarize the labelled structures of a collection: elements, energies, forces, reference energies, cells."""
    from molrec.datasets.split import read_indices
    from molrec.datasets.statistics import collect_statistics
    from molrec.storage.lmdb.opening import open_collection
    from molrec.storage.zarr.root import refuse_existing

    if plot is not None and not overwrite:
        refuse_existing(plot)
    with open_collection(path) as collection, progress_bar("reading records") as update:
        chosen = None if indices is None else read_indices(indices, len(collection))
        found = collect_statistics(collection, chosen, lambda done, total: update("reading records", done, total))
    if as_json:
        print_json({"path": path, **_document(found)})
    else:
        _print(path, found)
    if plot is not None:
        from molrec.datasets.plotting import plot_histograms

        drawn = plot_histograms(found, plot, Path(path).name, overwrite=overwrite)
        (stderr() if as_json else stdout()).print(f"{plot}: {', '.join(drawn)}", markup=False)


def _document(value: Any) -> Any:
    """Return a finite JSON document of dataclasses, mappings, arrays and numbers."""
    from molrec import typedjson

    if is_dataclass(value) and not isinstance(value, type):
        return _document(asdict(value))
    if isinstance(value, dict):
        return {key: _document(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_document(entry) for entry in value]
    if isinstance(value, float):
        return typedjson.encode("f64", value)
    return _document(value.tolist()) if hasattr(value, "tolist") else value


def _print(path: str, found: Statistics) -> None:
    console = stdout()
    in_records = f" in {found.records:,} records" if found.records != found.structures else ""
    console.print(f"{path}: {found.structures:,} structures{in_records}, {found.atoms:,} atoms", markup=False)
    for name, text in _lines(found):
        console.print(f"{name:<{_NAME_WIDTH}}{text}", markup=False)


def _lines(found: Statistics) -> Iterator[tuple[str, str]]:
    energy, force = found.units.get("energy", ""), found.units.get("force", "")
    if found.atoms_per_structure is not None:
        yield "atoms per structure", _spread(found.atoms_per_structure)
    if found.elements is not None:
        counts = {name: f"{count.atoms:,} in {count.structures:,}" for name, count in found.elements.items()}
        yield "elements", f"{_listed(counts)} (atoms in structures)"
    for name, counted in (("config types", found.config_types), ("heads", found.heads), ("periodic", found.cells)):
        yield name, _listed({word: f"{count:,}" for word, count in counted.items()})
    labels = {name: _share(label.present, found.structures) for name, label in found.labels.items()}
    yield "labels", "; ".join(f"{name} in {share}" for name, share in labels.items())
    if found.energy_per_atom is not None:
        yield "energy per atom", _with_unit(_spread(found.energy_per_atom), energy)
    if found.forces is not None:
        by_element = {name: f"{rms:.4g}" for name, rms in found.forces.rms_by_element.items()}
        text = f"rms {found.forces.rms:.4g}, largest {found.forces.largest:.4g}"
        yield "forces", _with_unit(text, force) + (f"; rms of {_listed(by_element)}" if by_element else "")
    if found.isolated_atoms:
        yield "isolated atoms", _with_unit(_listed({n: _numbers(e) for n, e in found.isolated_atoms.items()}), energy)
    fit = found.reference_energies
    if fit is not None:
        energies = _with_unit(_listed({name: f"{value:.8g}" for name, value in fit.energies.items()}), energy)
        yield "E0, least squares", f"{energies}; leaves rms {fit.rms_error:.4g} per structure"
        if not fit.is_unique:
            yield (
                "",
                (
                    f"not unique: compositions of rank {fit.rank} for {len(fit.energies)} elements leave open "
                    f"{', '.join(fit.undetermined)}; these are the energies of least norm"
                ),
            )


def _spread(spread: Spread) -> str:
    return f"{spread.least:.6g} to {spread.most:.6g}, mean {spread.mean:.6g}, deviation {spread.std:.4g}"


def _listed(entries: Mapping[str, str]) -> str:
    shown = [f"{name} {text}" for name, text in list(entries.items())[:_MOST_LISTED]]
    more = len(entries) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _share(present: int, total: int) -> str:
    return "all" if total and present == total else f"{present:,} of {total:,}"


def _numbers(energies: list[float]) -> str:
    return " and ".join(f"{energy:.8g}" for energy in energies) or "without energy"


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}".rstrip()
