"""Collections side by side: labelled structures, read at random.

``python benchmarks/collection.py [--structures N] [--repetitions N] [--only TEXT]``
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import importlib.util
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import collection_epoch
from collection_peers import Peer, Store, load
from collection_workload import BATCH, Structure, check_batch, check_single, make

__all__ = ["ATOMPACK", "BATCH", "MOLREC", "REFERENCE", "Collections", "Result", "rows", "run"]

MOLREC, ATOMPACK, REFERENCE = "molrec collection", "atompack", "aselmdb, get_atoms"
_STRUCTURES, _REPETITIONS, _CHECKED = 100_000, 3, 200
_WIDEST = 200
#: Reads of one repetition: of single structures, and in batches. Fewer where a structure takes long.
_SINGLES, _BATCHED = 10_000, 50_048
_LONG_READ = 1e-4
#: Writing that takes longer is timed once; a file that takes longer to open stays open.
_LONG_WRITE, _LONG_OPEN = 6.0, 1.0


@dataclass(slots=True)
class Result:
    """What one way of reading one format took: seconds per structure (`open`: per file), repetition by repetition."""

    label: str
    structures: int
    bytes_per_atom: float
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, what: str, seconds: float) -> None:
        """Take one repetition."""
        self.values.setdefault(what, []).append(seconds)

    def median(self, what: str) -> float | None:
        """Return the median over the repetitions, None for what was not measured."""
        return statistics.median(self.values[what]) if what in self.values else None


@dataclass(slots=True)
class Collections:
    """All formats on the same structures."""

    structures: int
    atoms: int
    results: dict[str, Result]
    missing: list[str]
    versions: list[str]

    def times_as_fast(self, what: str, other: str) -> float | None:
        """Return how many times as fast as another the collection is, repetition by repetition where it can be."""
        mine, theirs = (
            self.results[label].values.get(what, []) if label in self.results else [] for label in (MOLREC, other)
        )
        if not mine or not theirs:
            return None
        if len(mine) != len(theirs):
            return statistics.median(theirs) / statistics.median(mine)
        return statistics.median(there / here for here, there in zip(mine, theirs, strict=True))


class _Bench:
    """One peer with its file."""

    def __init__(self, peer: Peer, structures: Sequence[Structure], folder: Path) -> None:
        self.peer = peer
        self.structures = structures[: peer.limit]
        self._atoms = sum(len(one.numbers) for one in self.structures)
        self.results = {name: Result(name, len(self.structures), 0.0) for name in peer.stores}
        self._store: Store | None = None
        self._slow = False
        self.path = folder / peer.filename

    def write(self, repetitions: int) -> None:
        """Write the file, again and again where that is quick; the last one stays."""
        objects = self.peer.prepare(self.structures)
        gc.collect()
        gc.freeze()
        taken = []
        for _ in range(repetitions):
            self.path.unlink(missing_ok=True)
            taken.append(_seconds(lambda: self.peer.write(self.path, objects)))
            if taken[-1] > _LONG_WRITE:
                break
        for result in self.results.values():
            result.bytes_per_atom = self.path.stat().st_size / self._atoms
            result.values["write"] = [seconds / len(self.structures) for seconds in taken]

    def check(self) -> None:
        """See that every way of reading returns the structures."""
        chosen = np.random.default_rng(2).permutation(len(self.structures))[:_CHECKED].tolist()
        for name in self.peer.stores:
            store = self._opened(name)
            for index in chosen:
                check_single(store.single(index), self.structures[index])
            check_batch(store.batch(chosen), [self.structures[index] for index in chosen])

    def _opened(self, name: str) -> Store:
        """Open the file anew, unless that takes long; LMDB opens a file once in a process."""
        if self._store is not None:
            if self._slow:
                return self._store
            self.close()
        begun = time.perf_counter()
        self._store = self.peer.stores[name](self.path)
        seconds = time.perf_counter() - begun
        self._slow = seconds > _LONG_OPEN
        self.results[name].add("open", seconds)
        return self._store

    def read(self, name: str, seed: int) -> None:
        """Take one repetition of reading: single structures and batches, in an order drawn anew, then batches again."""
        store, result = self._opened(name), self.results[name]
        order = np.random.default_rng(seed).permutation(len(self.structures)).tolist()
        glance = _seconds(lambda: _singles(store, order[:BATCH])) / BATCH
        share = max(1, round(glance / _LONG_READ))
        singles, batched = order[: _SINGLES // share], order[: _BATCHED // share]
        result.add("single", _seconds(lambda: _singles(store, singles)) / len(singles))
        result.add("batch", _seconds(lambda: _batches(store, batched)) / len(batched))
        again = np.random.default_rng(seed + 1).permutation(batched).tolist()
        result.add("again", _seconds(lambda: _batches(store, again)) / len(again))

    def close(self) -> None:
        """Let go of what is open."""
        if self._store is not None:
            self._store.close()
        self._store = None


def _singles(store: Store, order: Sequence[int]) -> None:
    for index in order:
        store.single(index)


def _batches(store: Store, order: Sequence[int]) -> None:
    for start in range(0, len(order), BATCH):
        store.batch(order[start : start + BATCH])


def _seconds(action: Callable[[], object]) -> float:
    gc.collect()
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def run(
    structures: int = _STRUCTURES,
    repetitions: int = _REPETITIONS,
    console: Console | None = None,
    only: str | None = None,
) -> Collections:
    """Write and read the same structures in every format, reading taking turns, and print one table.

    Args:
        structures: How many.
        repetitions: Timed repetitions; writing that takes long is timed once.
        console: Where the table goes.
        only: Measure the formats whose name has this in it.
    """
    console = console or Console()
    peers, missing = load()
    peers = [peer for peer in peers if only is None or only in peer.label]
    made = make(structures)
    gc.collect()
    gc.freeze()  # or every peer would be timed with the collector going over the structures
    with tempfile.TemporaryDirectory() as folder:
        benches = [_Bench(peer, made, Path(folder)) for peer in peers]
        for bench in benches:
            bench.write(repetitions)
            bench.check()
        turns = [(bench, name) for bench in benches for name in bench.results]
        for repetition in range(repetitions):
            random.Random(repetition).shuffle(turns)
            for bench, name in turns:
                bench.read(name, repetition)
        for bench in benches:
            bench.close()
        results = {name: result for bench in benches for name, result in bench.results.items()}
        paths = {bench.peer.label: bench.path for bench in benches}
        missing += _epochs(results, paths, repetitions)
    gc.unfreeze()
    atoms = sum(len(one.numbers) for one in made)
    found = Collections(structures, atoms, results, missing, _versions(peers))
    _show(found, console)
    return found


def _epochs(results: dict[str, Result], paths: dict[str, Path], repetitions: int) -> list[str]:
    """Measure a shuffled epoch of the formats there is a dataset for; return what is missing."""
    wanted = {label: path for label, path in ((MOLREC, paths.get(MOLREC)), (REFERENCE, paths.get("aselmdb"))) if path}
    if not wanted:
        return []
    if importlib.util.find_spec("torch") is None:
        return ["an epoch through a DataLoader (pip install torch)"]
    for label, path in wanted.items():
        results[label].values["epoch"] = collection_epoch.measure(path, repetitions)
    return []


def _versions(peers: Iterable[Peer]) -> list[str]:
    """Return the libraries that took part, with their versions."""
    names = {"lmdb": None, **{name: None for peer in peers for name in peer.requires.values()}}
    if importlib.util.find_spec("torch") is not None:
        names["torch"] = None
    return [f"{name} {importlib.metadata.version(name)}" for name in names]


# -- as a table -------------------------------------------------------------------------------------------------------

_HEADINGS = (
    "",
    "structures",
    "B/atom",
    "write/s",
    "open ms",
    "single reads/s",
    f"in batches of {BATCH}, /s",
    "read again, /s",
    "DataLoader epoch, /s",
)


def rows(found: Collections) -> list[tuple[str, ...]]:
    """Return the table, headings first; a number of structures a second is the median over the repetitions."""
    table: list[tuple[str, ...]] = [_HEADINGS]
    for result in found.results.values():
        opened = result.median("open")
        table.append(
            (
                result.label,
                str(result.structures),
                f"{result.bytes_per_atom:.1f}",
                _rate(result.median("write")),
                "" if opened is None else f"{1e3 * opened:,.1f}",
                *(_rate(result.median(what)) for what in ("single", "batch", "again", "epoch")),
            )
        )
    return table


def _rate(seconds: float | None) -> str:
    """Write a rate with three digits at most."""
    if seconds is None:
        return ""
    rate = 1 / seconds
    return f"{float(f'{rate:.3g}'):,.0f}"


def _show(found: Collections, console: Console) -> None:
    headings, *content = rows(found)
    title = f"{found.structures} structures, {found.atoms} atoms"
    table = Table(*headings, box=box.SIMPLE_HEAD, title=title)
    for row in content:
        table.add_row(*row)
    for column in table.columns[1:]:
        column.justify = "right"
    usual = console.width
    console.width = max(usual, console.measure(table, options=console.options.update(width=_WIDEST)).maximum)
    console.print(table)
    console.width = usual
    for absent in found.missing:
        console.print(f"not measured: {absent}", style="yellow", highlight=False, markup=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/collection.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--structures", type=int, default=_STRUCTURES, metavar="N", help=f"({_STRUCTURES})")
    parser.add_argument("--repetitions", type=int, default=_REPETITIONS, metavar="N", help=f"({_REPETITIONS})")
    parser.add_argument("--only", metavar="TEXT", help="the formats whose name has this in it")
    arguments = parser.parse_args()
    run(arguments.structures, arguments.repetitions, only=arguments.only)


if __name__ == "__main__":
    main()
