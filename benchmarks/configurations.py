"""Configurations from extended XYZ: structures a second with ASE, with the C parser, and of plain ``ase.io.read``.

``python benchmarks/configurations.py [--frames N] [--repetitions N] [FILE]``
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import ase.io
from rich import box
from rich.console import Console
from rich.table import Table

from mace_core.data import KeySpecification, iter_configurations
from mace_core.data.extxyz_parser import column_parser
from mace_core.data.frame_text import split_frames

__all__ = ["FAST", "REFERENCE", "WANTED", "Speed", "rows", "run"]

_ROOT = Path(__file__).resolve().parent.parent
_SHARED = Path(os.environ.get("MOLREC_SHARED") or _ROOT.parent / "shared")
_SOURCE = _SHARED / "data" / "mace-tutorials" / "solvent_train.xyz"
_FRAMES, _REPETITIONS = 20_000, 3
_SPEC = KeySpecification.from_defaults().update(graph_keys={"energy": "energy"}, atom_keys={"forces": "forces"})
REFERENCE, FAST = "read_configurations, ASE", "read_configurations, C parser"
#: How many times as fast as ASE the C parser is meant to be.
WANTED = 6.0


@dataclass(frozen=True, slots=True)
class Speed:
    """Structures a second of one reader, repetition by repetition."""

    label: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median over the repetitions."""
        return statistics.median(self.values)

    def times(self, other: Speed) -> float:
        """Return how many times as fast as another: the median of the repetitions' own ratios."""
        return statistics.median(mine / theirs for mine, theirs in zip(self.values, other.values, strict=True))


def run(
    frames: int = _FRAMES, repetitions: int = _REPETITIONS, console: Console | None = None, source: Path = _SOURCE
) -> list[Speed]:
    """Read a file of many small structures with each reader, taking turns, and print one table.

    Args:
        frames: How many frames the source is repeated to.
        repetitions: Timed repetitions of each reader.
        console: Where the table goes.
        source: An extended-XYZ file with the keys ``energy`` and ``forces``; nothing is measured where it is absent.

    Returns:
        What was measured, empty where nothing was.
    """
    console = console or Console()
    if not source.is_file():
        console.print(f"not measured: {source} is not there", style="yellow", highlight=False, markup=False)
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "structures.xyz"
        atoms = _repeat(source, frames, path)
        readers = _readers(path)
        taken: dict[str, list[float]] = {label: [] for label in readers}
        with _quiet():
            for _ in range(repetitions):
                for label, read in readers.items():
                    taken[label].append(frames / _seconds(read, frames))
    speeds = [Speed(label, tuple(values)) for label, values in taken.items()]
    _show(speeds, console, f"{frames} structures of {atoms / frames:.0f} atoms, {source.name}")
    return speeds


@contextmanager
def _quiet() -> Iterator[None]:
    """Do without the warning that the keys are literal."""
    logger = logging.getLogger("mace_core")
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)


def _repeat(source: Path, frames: int, path: Path) -> int:
    """Write the frames of a file over and over; return the number of atoms."""
    chosen = list(islice(cycle(split_frames(str(source))), frames))
    path.write_text("".join(frame.text() for frame in chosen), encoding="utf-8")
    return sum(frame.natoms for frame in chosen)


def _readers(path: Path) -> dict[str, Callable[[], Sequence[object]]]:
    readers: dict[str, Callable[[], Sequence[object]]] = {
        "ase.io.read": lambda: ase.io.read(path, ":"),
        REFERENCE: lambda: list(iter_configurations(path, _SPEC, parser="ase")),
    }
    if column_parser() is not None:
        readers[FAST] = lambda: list(iter_configurations(path, _SPEC, parser="extxyz"))
    return readers


def _seconds(read: Callable[[], Sequence[object]], frames: int) -> float:
    gc.collect()
    start = time.perf_counter()
    found = read()
    seconds = time.perf_counter() - start
    assert len(found) == frames
    return seconds


def rows(speeds: Iterable[Speed]) -> list[tuple[str, ...]]:
    """Return the table, headings first."""
    by_label = {speed.label: speed for speed in speeds}
    table: list[tuple[str, ...]] = [("reader", "structures/s", "× ASE path", "× ase.io.read")]
    for speed in by_label.values():
        against = [speed.times(by_label[label]) for label in (REFERENCE, "ase.io.read")]
        table.append((speed.label, f"{speed.median:,.0f}", *(f"{times:.1f}" for times in against)))
    return table


def _show(speeds: Sequence[Speed], console: Console, title: str) -> None:
    headings, *content = rows(speeds)
    table = Table(*headings, box=box.SIMPLE_HEAD, title=title)
    for row in content:
        table.add_row(*row)
    for column in table.columns[1:]:
        column.justify = "right"
    console.print(table)
    by_label = {speed.label: speed for speed in speeds}
    fast = by_label.get(FAST)
    if fast is None:
        console.print(
            "not measured: the C parser (pip install 'mace-core[fast]')", style="yellow", highlight=False, markup=False
        )
    else:
        times = fast.times(by_label[REFERENCE])
        console.print(
            f"target: {WANTED:g} × ASE {'met' if times >= WANTED else 'missed'} ({times:.1f})", highlight=False
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/configurations.py", description=__doc__.partition("\n")[0])
    parser.add_argument("source", nargs="?", type=Path, default=_SOURCE, metavar="FILE", help="with energy and forces")
    parser.add_argument("--frames", type=int, default=_FRAMES, metavar="N", help=f"({_FRAMES})")
    parser.add_argument("--repetitions", type=int, default=_REPETITIONS, metavar="N", help=f"({_REPETITIONS})")
    arguments = parser.parse_args()
    run(arguments.frames, arguments.repetitions, source=arguments.source)


if __name__ == "__main__":
    main()
