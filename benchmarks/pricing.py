"""Force fields at work: linking a million bonded terms, and a water box of 30,000 atoms priced beside OpenMM.

``python benchmarks/pricing.py [--waters N] [--terms N]``
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import molrec as mr
from molrec.forcefield import energy, link

_WATERS, _TERMS, _REPETITIONS = 10_000, 1_000_000, 3
_CUTOFF = 9.0


def water_field() -> mr.ForceField:
    """Return a flexible three-site water, truncated at 9 Å."""
    field = mr.ForceField("flexible water", "real", special_bonds={"lj": (0.0, 0.0, 0.0), "coul": (0.0, 0.0, 0.0)})
    atoms = field.define_style("atom", "full")
    atoms.add("OW", mass=15.9994, charge=-0.82)
    atoms.add("HW", mass=1.008, charge=0.41)
    field.define_style("bond", "harmonic").add("OH", ("OW", "HW"), k=1059.162, r0=1.012)
    field.define_style("angle", "harmonic").add("HOH", ("HW", "OW", "HW"), k=75.90, theta0=np.deg2rad(113.24))
    pairs = field.define_style("pair", "lj/cut", {"mixing": "arithmetic", "cutoff": _CUTOFF})
    pairs.add("OW", ("OW", "OW"), epsilon=0.1554253, sigma=3.165492)
    pairs.add("HW", ("HW", "HW"), epsilon=0.0, sigma=1.0)
    field.define_style("pair", "coul/cut", {"cutoff": _CUTOFF})
    return field


def water_box(waters: int) -> mr.Frame:
    """Return water molecules turned at random on a lattice of liquid density."""
    rng = np.random.default_rng(11)
    side = int(np.ceil(waters ** (1 / 3)))
    spacing = 3.105
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:waters] * spacing
    half = np.deg2rad(113.24) / 2
    shape = np.array([[0.0, 0.0, 0.0], [np.sin(half), np.cos(half), 0.0], [-np.sin(half), np.cos(half), 0.0]]) * 1.012
    turns, _ = np.linalg.qr(rng.normal(size=(waters, 3, 3)))
    positions = (grid[:, np.newaxis] + np.einsum("wij,aj->wai", turns, shape)).reshape(-1, 3)
    oxygen = 3 * np.arange(waters)
    bonds = np.stack([np.repeat(oxygen, 2), (oxygen[:, np.newaxis] + [1, 2]).reshape(-1)])
    atoms = mr.Block(dict(zip("xyz", positions.T.copy(), strict=True)))
    atoms["type"] = np.tile(np.array(["OW", "HW", "HW"], dtype=np.dtypes.StringDType()), waters)
    atoms["charge"] = np.tile([-0.82, 0.41, 0.41], waters)
    atoms["mass"] = np.tile([15.9994, 1.008, 1.008], waters)
    names = {"bonds": "OH", "angles": "HOH"}
    ends: dict[str, list[Any]] = {"bonds": [bonds[0], bonds[1]], "angles": [oxygen + 1, oxygen, oxygen + 2]}
    blocks = {"atoms": atoms}
    for name, columns in ends.items():
        block = mr.Block({f"atom{letter}": column for letter, column in zip("ijk", columns, strict=False)})
        block["type"] = np.full(len(columns[0]), names[name], dtype=np.dtypes.StringDType())
        blocks[name] = block
    return mr.Frame(blocks, meta={"units": {"preset": "real"}}, box=mr.Box(np.eye(3) * spacing * side))


def openmm_energy(frame: mr.Frame, field: mr.ForceField) -> Callable[[], object] | None:
    """Return what evaluates energy and forces with OpenMM's CPU platform, None where it is not installed."""
    if importlib.util.find_spec("openmm") is None or importlib.util.find_spec("molrec.interop.openmm") is None:
        return None
    import openmm

    from molrec.interop.openmm import to_openmm

    context = openmm.Context(
        to_openmm(frame, field), openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("CPU")
    )
    atoms = frame["atoms"]
    context.setPositions(np.stack([atoms[axis] for axis in "xyz"], axis=1) * 0.1)
    return lambda: context.getState(getEnergy=True, getForces=True).getForces(asNumpy=True)


def seconds(job: Callable[[], object], repetitions: int = _REPETITIONS) -> float:
    """Return the median time of a job."""
    job()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def run(waters: int = _WATERS, terms: int = _TERMS, console: Console | None = None) -> list[tuple[str, str]]:
    """Measure, print one table and return its rows, headings first."""
    console = console or Console()
    field = water_field()
    many = water_box(terms // 3)
    rows = [("operation", "s"), (f"link {many['bonds'].rows + many['angles'].rows:,} terms", "")]
    rows[1] = (rows[1][0], f"{seconds(lambda: link(many, field)):.2f}")
    frame = water_box(waters)
    ours = seconds(lambda: energy(frame, field))
    rows.append((f"energy and forces of {frame['atoms'].rows:,} atoms", f"{ours:.2f}"))
    theirs = openmm_energy(frame, field)
    if theirs is None:
        console.print(
            "not measured: OpenMM (pip install 'molrec[openmm]')", style="yellow", highlight=False, markup=False
        )
    else:
        taken = seconds(theirs)
        rows.append(("the same, OpenMM on its CPU platform", f"{taken:.2f}"))
        rows.append(("times as long as OpenMM", f"{ours / taken:.1f}"))
    table = Table(*rows[0], box=box.SIMPLE_HEAD, title="force fields")
    table.columns[1].justify = "right"
    for row in rows[1:]:
        table.add_row(*row)
    console.print(table)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/pricing.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--waters", type=int, default=_WATERS, metavar="N", help=f"({_WATERS})")
    parser.add_argument("--terms", type=int, default=_TERMS, metavar="N", help=f"({_TERMS})")
    arguments = parser.parse_args()
    run(arguments.waters, arguments.terms)


if __name__ == "__main__":
    main()
