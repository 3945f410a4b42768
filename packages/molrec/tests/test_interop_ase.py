"""A dynamics streamed into a record while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr

pytest.importorskip("ase")

from ase import Atoms, units
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.constraints import FixAtoms
from ase.filters import FrechetCellFilter
from ase.io import read
from ase.io.trajectory import Trajectory
from ase.md.velocitydistribution import Stationary
from ase.md.verlet import VelocityVerlet
from ase.optimize import BFGS

from molrec.conversion import convert
from molrec.interop.ase import RecordObserver, stream_to_record, to_atoms


def copper() -> Any:
    """Four copper atoms in motion."""
    atoms = bulk("Cu", cubic=True)
    atoms.calc = EMT()
    generator = np.random.default_rng(1)
    atoms.set_momenta(generator.normal(0.0, 3.0, (4, 3)))
    Stationary(atoms)
    return atoms


def dynamics_of(atoms: Any) -> Any:
    return VelocityVerlet(atoms, 5 * units.fs)


def run_of(path: Path) -> tuple[mr.Frame, mr.TrajectoryReader]:
    record = mr.open(path)
    assert record.system is not None
    assert record.trajectory is not None
    return record.system, record.trajectory


def test_a_run_is_what_ase_wrote_down(tmp_path: Path) -> None:
    dynamics = dynamics_of(copper())
    reference = Trajectory(tmp_path / "run.traj", "w", dynamics.atoms, properties=["energy", "forces"])
    dynamics.attach(reference, interval=2)
    with stream_to_record(dynamics, tmp_path / "run.mrec", interval=2, precision=1e-3) as run:
        dynamics.run(10)
        assert run.frames == 6
    reference.close()
    system, trajectory = run_of(tmp_path / "run.mrec")
    assert set(system["atoms"].columns) == {"element"}
    assert system.meta["units"]["time"] == "fs"
    assert trajectory.steps.tolist() == [0, 2, 4, 6, 8, 10]
    assert trajectory.times is not None
    np.testing.assert_allclose(trajectory.times, [0, 10, 20, 30, 40, 50], rtol=1e-12)
    for frame, atoms in zip(trajectory, read(tmp_path / "run.traj", ":"), strict=True):
        block = frame["atoms"]
        assert np.array_equal(block["x"], mr.quantize(atoms.positions[:, 0], 1e-3))
        assert np.array_equal(block["fz"], atoms.get_forces()[:, 2])
        np.testing.assert_allclose(block["vy"], atoms.get_velocities()[:, 1] * units.fs, rtol=1e-14)
        assert frame.meta["pe"] == atoms.get_potential_energy()
        assert frame.meta["ke"] == atoms.get_kinetic_energy()
        assert frame.meta["etotal"] == frame.meta["pe"] + frame.meta["ke"]
        assert frame.meta["temp"] == pytest.approx(atoms.get_temperature(), rel=1e-12)
        back = to_atoms(frame, system)
        assert back.get_potential_energy() == atoms.get_potential_energy()
        assert np.array_equal(back.cell.array, atoms.cell.array)
    assert mr.validate(tmp_path / "run.mrec") == []
    assert np.ptp(trajectory.meta["etotal"]) < 0.01  # the energies belong to the frames: the total one is conserved


def test_the_run_is_open_to_readers_and_survives_an_error(tmp_path: Path) -> None:
    dynamics = dynamics_of(copper())

    def fail() -> None:
        raise RuntimeError("the node went down")

    def simulate() -> None:
        with stream_to_record(dynamics, tmp_path / "run.mrec", flush_every=1) as run:
            dynamics.run(2)
            assert len(run_of(run.path)[1]) == 3
            dynamics.attach(fail)
            dynamics.run(5)

    with pytest.raises(RuntimeError):
        simulate()
    assert len(run_of(tmp_path / "run.mrec")[1]) == 4
    assert mr.validate(tmp_path / "run.mrec") == []


def test_options(tmp_path: Path) -> None:
    atoms = copper()
    atoms.set_tags([1, 2, 3, 4])
    atoms.set_initial_charges([0.1, 0.2, -0.1, -0.2])
    atoms.set_constraint(FixAtoms([0]))
    dynamics = dynamics_of(atoms)
    with stream_to_record(
        dynamics,
        tmp_path / "run.mrec",
        precision={"x": 1e-2, "vx": 1e-5},
        stress=True,
        track=("tags",),
        meta={"author": {"name": "someone"}},
        profile="archive",
    ):
        dynamics.run(1)
        atoms.set_tags([4, 3, 2, 1])
        dynamics.run(1)
    system, trajectory = run_of(tmp_path / "run.mrec")
    assert system["atoms"]["free"].tolist() == [False, True, True, True]
    assert system["atoms"]["charge"].tolist() == [0.1, 0.2, -0.1, -0.2]
    columns = trajectory.schema.blocks["atoms"].columns
    assert {name: column.precision for name, column in columns.items() if column.precision} == {"x": 1e-2, "vx": 1e-5}
    assert [frame["atoms"]["tags"].tolist() for frame in trajectory] == [[1, 2, 3, 4]] * 2 + [[4, 3, 2, 1]]
    assert trajectory.schema.meta["stress"].tag == "f64x6"
    # forces are the potential's, also on an atom that is held
    assert np.abs(trajectory[-1]["atoms"]["fx"][0]) > 0
    assert mr.open(tmp_path / "run.mrec").meta["author"] == {"name": "someone"}
    convert([tmp_path / "run.mrec"], tmp_path / "back.traj")
    assert read(tmp_path / "back.traj").get_tags().tolist() == [4, 3, 2, 1]


def test_a_relaxation_has_steps_and_no_times(tmp_path: Path) -> None:
    atoms = copper()
    atoms.set_array("momenta", None)
    atoms.rattle(0.1, seed=3)
    atoms.set_cell(atoms.cell * 1.05, scale_atoms=True)
    optimizer = BFGS(FrechetCellFilter(atoms), logfile=None)
    with stream_to_record(optimizer, tmp_path / "run.mrec"):
        optimizer.run(steps=3)
    _, trajectory = run_of(tmp_path / "run.mrec")
    assert trajectory.times is None
    assert set(trajectory.schema.meta) == {"pe"}
    assert trajectory.box_at(0) != trajectory.box_at(3)


def test_bare_atoms_are_appended_by_hand(tmp_path: Path) -> None:
    atoms = copper()
    with RecordObserver(tmp_path / "run.mrec", atoms, precision=None, forces=False, velocities=False) as run:
        run()
        atoms.positions += 0.125
        run.append(step=7)
    _, trajectory = run_of(tmp_path / "run.mrec")
    assert trajectory.steps.tolist() == [0, 7]
    assert set(trajectory.schema.blocks["atoms"].columns) == {"x", "y", "z"}
    assert np.array_equal(trajectory[1]["atoms"]["x"], atoms.positions[:, 0])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda atoms: atoms.set_tags([1, 2, 3, 4]), "tags"),
        (lambda atoms: atoms.symbols.__setitem__(0, "Ag"), "numbers"),
        (lambda atoms: atoms.set_constraint(FixAtoms([1])), "constraints"),
    ],
)
def test_what_the_system_holds_may_not_change(tmp_path: Path, change: Any, what: str) -> None:
    atoms = copper()
    with RecordObserver(tmp_path / "run.mrec", atoms) as run:
        run()
        change(atoms)
        with pytest.raises(mr.SchemaError, match=f"{what} changed during the run") as refused:
            run()
    assert refused.value.rule == "reject-static-changed"
    assert len(run_of(tmp_path / "run.mrec")[1]) == 1


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(mr.SchemaError, match="a dynamics with atoms is needed, found Atoms"):
        stream_to_record(copper(), tmp_path / "run.mrec")
    with pytest.raises(mr.SchemaError, match="no array colour to track"):
        RecordObserver(tmp_path / "run.mrec", copper(), track=("colour",))
    assert not (tmp_path / "run.mrec").exists()
    slab = Atoms("Cu", cell=[2.0, 2.0, 0.0], pbc=(True, True, False))
    slab.calc = EMT()
    with RecordObserver(tmp_path / "slab.mrec", slab) as run, pytest.raises(mr.SchemaError, match="spans no volume"):
        run()
