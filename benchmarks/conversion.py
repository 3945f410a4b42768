"""Conversion beside reading alone: a 100,000-atom XTC and a LAMMPS dump, into a record, against MDAnalysis.

``python benchmarks/conversion.py [--frames N] [--atoms N]``
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from molrec.conversion import convert
from molrec.formats.notes import Notes
from molrec.formats.registry import formats

_ATOMS, _XTC_FRAMES, _DUMP_FRAMES, _REPETITIONS = 100_000, 40, 8, 3


def write_xtc(path: Path, atoms: int, frames: int) -> None:
    """Write atoms that jitter in a cube of 10 nm."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    rng = np.random.default_rng(1)
    positions = rng.uniform(0, 10, (atoms, 3))
    with XTCFile(str(path), "w") as file:
        for frame in range(frames):
            positions += rng.normal(0, 0.005, positions.shape)
            file.write(positions.astype(np.float32), np.eye(3, dtype=np.float32) * 10, 100 * frame, 0.2 * frame, 1000.0)


def write_dump(path: Path, atoms: int, frames: int) -> None:
    """Write atoms that jitter, as LAMMPS' ``dump custom`` does."""
    rng = np.random.default_rng(1)
    positions = rng.uniform(0, 100, (atoms, 3))
    with path.open("w") as file:
        for frame in range(frames):
            positions += rng.normal(0, 0.05, positions.shape)
            file.write(f"ITEM: TIMESTEP\n{100 * frame}\nITEM: NUMBER OF ATOMS\n{atoms}\nITEM: BOX BOUNDS pp pp pp\n")
            file.write("0 100\n0 100\n0 100\nITEM: ATOMS id type x y z\n")
            for number, (x, y, z) in enumerate(positions, start=1):
                file.write(f"{number} {1 + number % 3} {x:.6g} {y:.6g} {z:.6g}\n")


def mdanalysis_reads(path: Path, atoms: int, **options: str) -> None:
    """Go through a trajectory with MDAnalysis, looking at every position."""
    import MDAnalysis

    universe = MDAnalysis.Universe.empty(atoms, trajectory=False)
    universe.load_new(str(path), **options)
    for step in universe.trajectory:
        step.positions  # noqa: B018 - asked for, as a user would


def we_read(path: Path) -> None:
    """Go through the frames of a foreign file."""
    found = formats().for_reading(path)
    assert found.open_source is not None
    for frame in found.open_source(path).frames(Notes()):
        frame["atoms"]["x"]


def run(
    atoms: int = _ATOMS, xtc_frames: int = _XTC_FRAMES, console: Console | None = None
) -> list[tuple[str, str, str, str]]:
    """Measure both files, print one table and return its rows, headings first; none where MDAnalysis is not there."""
    console = console or Console()
    if importlib.util.find_spec("MDAnalysis") is None:
        console.print(
            "not measured: MDAnalysis (pip install 'molrec[formats]')", style="yellow", highlight=False, markup=False
        )
        return []
    rows = [("file", "what", "ms/frame", "× MDAnalysis reading")]
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        xtc, dump = folder / "run.xtc", folder / "run.lammpstrj"
        write_xtc(xtc, atoms, xtc_frames)
        write_dump(dump, atoms, _DUMP_FRAMES)
        files: list[tuple[Path, int, dict[str, str]]] = [
            (xtc, xtc_frames, {}),
            (dump, _DUMP_FRAMES, {"format": "LAMMPSDUMP"}),
        ]
        for path, frames, options in files:
            precision = dict.fromkeys("xyz", 1e-3)
            live = partial(convert, [path], folder / "a.mrec", profile="live", overwrite=True)
            jobs: dict[str, Callable[[], object]] = {
                "MDAnalysis reads": partial(mdanalysis_reads, path, atoms, **options),
                "molrec reads": partial(we_read, path),
                "to a live record": live,
                "to a live record, 1e-3": partial(live, precision=precision),
                "to an archive, 1e-3": partial(live, precision=precision, profile="archive"),
            }
            taken: dict[str, list[float]] = {label: [] for label in jobs}
            for _ in range(_REPETITIONS):
                for label, job in jobs.items():
                    start = time.perf_counter()
                    job()
                    taken[label].append((time.perf_counter() - start) / frames)
            reference = taken["MDAnalysis reads"]
            for label, times in taken.items():
                ratio = statistics.median(mine / theirs for mine, theirs in zip(times, reference, strict=True))
                rows.append((path.suffix[1:], label, f"{1e3 * statistics.median(times):.1f}", f"{ratio:.2f}"))
    table = Table(*rows[0], box=box.SIMPLE_HEAD, title=f"{atoms} atoms")
    for row in rows[1:]:
        table.add_row(*row)
    for column in table.columns[2:]:
        column.justify = "right"
    console.print(table)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/conversion.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--atoms", type=int, default=_ATOMS, metavar="N", help=f"({_ATOMS})")
    parser.add_argument("--frames", type=int, default=_XTC_FRAMES, metavar="N", help=f"of the XTC ({_XTC_FRAMES})")
    arguments = parser.parse_args()
    run(arguments.atoms, arguments.frames)


if __name__ == "__main__":
    main()
