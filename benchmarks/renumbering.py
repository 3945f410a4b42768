"""Renumbering: `Frame.subset` of a million atoms with bonds, whole and piecewise.

``python benchmarks/renumbering.py [--atoms N]``
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import molrec as mr

_ATOMS, _REPETITIONS = 1_000_000, 5


def chain(atoms: int) -> mr.Frame:
    """Return molecules of three atoms in a row: positions, names, bonds and angles."""
    rows = np.arange(atoms)
    inner = rows[1:-1][rows[1:-1] % 3 == 1]
    bonds = np.stack([rows[:-1], rows[1:]])[:, rows[:-1] % 3 != 2]
    return mr.Frame(
        {
            "atoms": mr.Block(
                {"x": rows * 0.5, "y": rows * 0.25, "z": rows * 0.125, "id": rows + 1, "mol_id": rows // 3}
            ),
            "bonds": mr.Block({"atomi": bonds[0], "atomj": bonds[1]}),
            "angles": mr.Block({"atomi": inner - 1, "atomj": inner, "atomk": inner + 1}),
        }
    )


def run(atoms: int = _ATOMS, console: Console | None = None) -> dict[str, float]:
    """Time each operation and print one table; return seconds by operation."""
    console = console or Console()
    frame = chain(atoms)
    molecule = frame["atoms"]["mol_id"]
    rng = np.random.default_rng(5)
    shuffled = rng.permutation(atoms)
    operations: dict[str, Callable[[], mr.Frame]] = {
        "subset, every second molecule": lambda: frame.subset(molecule % 2 == 0),
        "subset, one molecule": lambda: frame.subset(molecule == 7),
        "subset, all atoms in another order": lambda: frame.subset(shuffled),
        "replicate, twice": lambda: frame.replicate(2),
        "concat with itself": lambda: mr.Frame.concat([frame, frame]),
    }
    found = {}
    for label, operation in operations.items():
        times = []
        for _ in range(_REPETITIONS):
            start = time.perf_counter()
            operation()
            times.append(time.perf_counter() - start)
        found[label] = statistics.median(times)
    table = Table("operation", "ms", box=box.SIMPLE_HEAD, title=f"renumbering {atoms} atoms with bonds and angles")
    table.columns[1].justify = "right"
    for label, seconds in found.items():
        table.add_row(label, f"{1e3 * seconds:.0f}")
    console.print(table)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/renumbering.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--atoms", type=int, default=_ATOMS, metavar="N", help=f"({_ATOMS})")
    run(parser.parse_args().atoms)


if __name__ == "__main__":
    main()
