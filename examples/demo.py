"""A real run, streamed into a record while it goes on: ``make demo``, about twenty seconds.

256 copper atoms melt under ASE's effective-medium potential and a Langevin thermostat. Every second step becomes a
frame of ``build/demo/run.mrec``; the same frames go to ASE's own ``.traj`` as the judge of what was simulated. Then the
run is archived, packed, validated, drawn, and read back.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from ase import units
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.io import iread
from ase.io import write as write_ase
from ase.io.trajectory import Trajectory
from ase.md.langevin import Langevin
from ase.md.velocitydistribution import MaxwellBoltzmannDistribution
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import molrec as mr
from molrec.interop.ase import stream_to_record, to_atoms

OUT = Path(__file__).resolve().parents[1] / "build" / "demo"
STEPS, EVERY, STEP_FS = 300, 2, 4.0
PRECISION = 1e-3
MOLREC = Path(sys.executable).with_name("molrec")
console = Console(highlight=False)


def main() -> None:
    """Run every act of the demonstration, one after the other."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    started = time.perf_counter()
    console.rule("A run, streamed live")
    simulate()
    console.rule("Archived, packed, checked, drawn")
    finish()
    console.rule("The same run in other files")
    compare_sizes()
    console.rule("Read back from the packed archive")
    read_back()
    console.print(f"\nEverything is in [bold]{OUT}[/]; it took {time.perf_counter() - started:.0f} s.")


def melt() -> Any:
    """Return a dynamics that melts a copper crystal."""
    generator = np.random.default_rng(2024)
    atoms = bulk("Cu", cubic=True) * (4, 4, 4)
    atoms.calc = EMT()
    MaxwellBoltzmannDistribution(atoms, temperature_K=3000, rng=generator)
    return Langevin(atoms, STEP_FS * units.fs, temperature_K=2000, friction=0.01 / units.fs, rng=generator)


def simulate() -> None:
    """Integrate, streaming every frame; a second reader looks in half way, while the writer is at work."""
    dynamics = melt()
    reference = Trajectory(OUT / "run.traj", "w", dynamics.atoms, properties=["energy", "forces"])
    dynamics.attach(reference, interval=EVERY)
    with (
        stream_to_record(dynamics, OUT / "run.mrec", interval=EVERY, precision=PRECISION) as run,
        Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
        ) as bar,
    ):
        task = bar.add_task("steps", total=STEPS)
        for _ in dynamics.irun(STEPS // 2):
            bar.update(task, completed=dynamics.nsteps)
        before = time.perf_counter()
        run.flush()
        with mr.open(run.path) as record:
            committed = len(trajectory_of(record))
        spent = time.perf_counter() - before
        for _ in dynamics.irun(STEPS - STEPS // 2):
            bar.update(task, completed=dynamics.nsteps)
        frames = run.frames
    reference.close()
    atoms = len(dynamics.atoms)
    console.print(f"{atoms} Cu atoms, {STEPS} steps of {STEP_FS:g} fs: {frames} frames with x v F, pe ke etotal temp")
    console.print(f"half way, another reader saw {committed} committed frames ({1000 * spent:.0f} ms with the flush)")


def trajectory_of(record: mr.Record) -> mr.TrajectoryReader:
    """Return the trajectory of a record that has one."""
    assert record.trajectory is not None
    return record.trajectory


def molrec(*arguments: str | Path) -> None:
    """Run a command as a user would."""
    line = " ".join(str(argument) for argument in arguments)
    console.print(f"[dim]$ molrec {line.replace(f'{OUT}/', '')}[/]")
    done = subprocess.run([MOLREC, *arguments], check=True, capture_output=True, text=True)
    console.print(f"  {done.stdout.strip().replace(f'{OUT}/', '')}", markup=False)


def finish() -> None:
    """Archive, pack, validate and plot."""
    molrec("convert", OUT / "run.mrec", OUT / "archive.mrec", "--profile", "archive")
    molrec("pack", OUT / "archive.mrec")
    molrec("validate", OUT / "archive.mrec.zip")
    molrec("plot", OUT / "archive.mrec.zip", OUT / "run.png")
    coarse = "x,y,z=1e-3,vx,vy,vz=1e-6,fx,fy,fz=1e-4"
    molrec("convert", OUT / "run.mrec", OUT / "coarse.mrec.zip", "--precision", coarse)


def compare_sizes() -> None:
    """Print what the same frames take in each file, and what each file holds of them."""
    with mr.open(OUT / "run.mrec") as record:
        trajectory = trajectory_of(record)
        meta = {key: trajectory.meta[key].copy() for key in ("ke", "etotal", "temp")}
        meta["time"] = trajectory.times
        shown = sum(len(frame["atoms"]) for frame in trajectory)
    images = list(iread(OUT / "run.traj", ":"))
    for position, atoms in enumerate(images):
        atoms.info |= {key: float(values[position]) for key, values in meta.items()}
    write_ase(OUT / "run.xyz", images)
    table = Table("file", box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("size", justify="right")
    table.add_column("B/atom/frame", justify="right")
    table.add_column("positions / velocities / forces")
    for name, holds in (
        ("run.xyz", "8 decimals each"),
        ("run.traj", "exact; pe alone, no time"),
        ("run.mrec", "1e-3 / exact / exact"),
        ("archive.mrec", "1e-3 / exact / exact"),
        ("archive.mrec.zip", "1e-3 / exact / exact"),
        ("coarse.mrec.zip", "1e-3 / 1e-6 / 1e-4"),
    ):
        path = OUT / name
        size = sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())
        table.add_row(name, f"{size / 1e6:.2f} MB", f"{size / shown:.1f}", holds)
    console.print(table)
    console.print(
        "In Å, Å/fs, eV/Å (momenta in .xyz and .traj); with pe ke etotal temp and time where nothing else is said. "
        "run.mrec keeps 64 KiB of index per array, so that it can grow to any length.",
        style="dim",
    )


def read_back() -> None:
    """Compare one frame, and then all of them, with what ASE itself wrote down."""
    with mr.open(OUT / "archive.mrec.zip") as record:
        trajectory, system = trajectory_of(record), record.system
        chosen = len(trajectory) * 2 // 3
        before = time.perf_counter()
        frame = trajectory[chosen]
        elapsed = time.perf_counter() - before
        atoms = to_atoms(frame, system)
        console.print(
            f"frame {chosen} (step {trajectory.steps[chosen]}, {frame.meta['temp']:.0f} K) in "
            f"{1000 * elapsed:.1f} ms: {atoms.get_chemical_formula()}, pe {frame.meta['pe']:.3f} eV"
        )
        positions = np.stack([trajectory.read("atoms", axis)[axis] for axis in "xyz"], axis=-1)
        forces = np.stack([trajectory.read("atoms", axis)[axis] for axis in ("fx", "fy", "fz")], axis=-1)
        energies = trajectory.meta["pe"].copy()
    simulated = list(iread(OUT / "run.traj", ":"))
    furthest = max(np.abs(positions[i] - atoms.positions).max() for i, atoms in enumerate(simulated))
    exact = all(
        np.array_equal(forces[i], atoms.get_forces()) and energies[i] == atoms.get_potential_energy()
        for i, atoms in enumerate(simulated)
    )
    console.print(
        f"all {len(simulated)} frames: positions within {furthest:.2e} Å of the simulation "
        f"(at most {PRECISION / 2:g}), forces and energies {'equal bit for bit' if exact else 'DIFFERENT'}"
    )
    if not exact or furthest > PRECISION / 2:
        sys.exit("the record does not hold what was simulated")


if __name__ == "__main__":
    # of this ASE with this numpy, about ASE's own code
    warnings.simplefilter("ignore", DeprecationWarning)
    warnings.simplefilter("ignore", FutureWarning)
    main()
