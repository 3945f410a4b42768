"""An OpenMM simulation streamed into a record while it runs."""

from __future__ import annotations

import gc
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr
from molrec.forcefield import energy

from .openmm_engine import water, water_record
from .refusals import refused, untouched

pytestmark = pytest.mark.engines

openmm = pytest.importorskip("openmm")

from openmm import app, unit  # noqa: E402

from molrec.interop.openmm import RecordReporter, from_openmm_topology, to_openmm, to_openmm_topology  # noqa: E402


class Witness:
    """Keeps what OpenMM says of every report, as plain arrays."""

    def __init__(self, interval: int, wrapped: bool = False) -> None:
        self.interval, self.wrapped = interval, wrapped
        self.positions: list[Any] = []
        self.velocities: list[Any] = []
        self.forces: list[Any] = []
        self.boxes: list[Any] = []
        self.times: list[float] = []

    def describeNextReport(self, simulation: Any) -> tuple[Any, ...]:  # noqa: N802
        return self.interval - simulation.currentStep % self.interval, True, True, True, True, self.wrapped

    def report(self, simulation: Any, state: Any) -> None:
        kilojoule = unit.kilojoule_per_mole
        self.positions.append(np.array(state.getPositions(asNumpy=True).value_in_unit(unit.nanometer)))
        velocities = state.getVelocities(asNumpy=True).value_in_unit(unit.nanometer / unit.picosecond)
        self.velocities.append(np.array(velocities))
        self.forces.append(np.array(state.getForces(asNumpy=True).value_in_unit(kilojoule / unit.nanometer)))
        self.boxes.append(np.array(state.getPeriodicBoxVectors(asNumpy=True).value_in_unit(unit.nanometer)))
        self.times.append(state.getTime().value_in_unit(unit.picosecond))


def simulation_of(platform: str = "Reference", barostat: bool = False) -> Any:
    """Return a small flexible water box in motion."""
    topology, positions = water(3)
    system = app.ForceField("amber14/tip3p.xml").createSystem(
        topology, nonbondedMethod=app.CutoffPeriodic, nonbondedCutoff=0.4, rigidWater=False, constraints=None
    )
    if barostat:
        force = openmm.MonteCarloBarostat(500.0 * unit.bar, 300.0 * unit.kelvin, 2)
        force.setRandomNumberSeed(2)
        system.addForce(force)
    integrator = openmm.LangevinMiddleIntegrator(300.0, 1.0, 0.0005)
    integrator.setRandomNumberSeed(1)
    made = app.Simulation(topology, system, integrator, openmm.Platform.getPlatformByName(platform))
    made.context.setPositions(positions)
    made.context.setVelocitiesToTemperature(300.0, 3)
    return made


def table(frame: mr.Frame, names: str) -> Any:
    return np.stack([frame["atoms"][name] for name in names.split()], axis=1)


def run_of(path: Path) -> tuple[mr.Frame, mr.TrajectoryReader]:
    record = mr.open(path)
    assert record.system is not None
    assert record.trajectory is not None
    return record.system, record.trajectory


@pytest.mark.parametrize("platform", ["Reference", "CPU"])
def test_a_run_is_what_openmm_said(tmp_path: Path, platform: str) -> None:
    simulation = simulation_of(platform)
    witness, log = Witness(2), io.StringIO()
    state = app.StateDataReporter(
        log, 2, step=True, time=True, potentialEnergy=True, kineticEnergy=True, totalEnergy=True, temperature=True,
        volume=True,
    )  # fmt: skip
    path = tmp_path / "run.mrec"
    with RecordReporter(path, 2, precision=None, velocities=True, forces=True) as reporter:
        simulation.reporters += [reporter, witness, state]
        simulation.step(9)
        assert reporter.frames == 4
    _, trajectory = run_of(path)
    rows = np.genfromtxt(io.StringIO(log.getvalue()), delimiter=",", skip_header=1)
    assert trajectory.steps.tolist() == rows[:, 0].tolist() == [2, 4, 6, 8]
    assert trajectory.times is not None
    assert trajectory.times.tolist() == witness.times
    for frame, positions, velocities, forces, box in zip(
        trajectory, witness.positions, witness.velocities, witness.forces, witness.boxes, strict=True
    ):
        assert np.array_equal(table(frame, "x y z"), positions)
        assert np.array_equal(table(frame, "vx vy vz"), velocities)
        assert np.array_equal(table(frame, "fx fy fz"), forces)
        assert frame.box is not None
        assert np.array_equal(frame.box.vectors.T, box)
    for column, key in enumerate(("pe", "ke", "etotal", "temp", "volume"), start=2):
        assert trajectory.meta[key].tolist() == rows[:, column].tolist(), key
    assert mr.validate(path) == []


def test_positions_are_rounded_to_the_precision(tmp_path: Path) -> None:
    simulation = simulation_of()
    witness = Witness(3, wrapped=True)
    with RecordReporter(tmp_path / "run.mrec", 3, precision=1e-3, energies=False, wrapped=True) as reporter:
        simulation.reporters += [reporter, witness]
        simulation.step(6)
    _, trajectory = run_of(tmp_path / "run.mrec")
    assert set(trajectory.meta) == set()
    for frame, positions in zip(trajectory, witness.positions, strict=True):
        assert np.array_equal(table(frame, "x y z"), mr.quantize(positions, 1e-3))
        assert set(frame["atoms"].columns) == {"x", "y", "z"}


def test_the_box_of_every_frame_is_its_own(tmp_path: Path) -> None:
    simulation = simulation_of(barostat=True)
    witness = Witness(4)
    with RecordReporter(tmp_path / "run.mrec", 4, energies=["volume"]) as reporter:
        simulation.reporters += [reporter, witness]
        simulation.step(20)
    _, trajectory = run_of(tmp_path / "run.mrec")
    volumes = [np.linalg.det(box) for box in witness.boxes]
    assert len(set(volumes)) > 1
    assert trajectory.meta["volume"] == pytest.approx(volumes, rel=1e-12)
    for frame, box in zip(trajectory, witness.boxes, strict=True):
        assert frame.box is not None
        assert np.array_equal(frame.box.vectors.T, box)


def test_the_system_is_the_topology_s(tmp_path: Path) -> None:
    simulation = simulation_of()
    with RecordReporter(tmp_path / "run.mrec", 1, meta={"title": "water"}) as reporter:
        simulation.reporters.append(reporter)
        simulation.step(1)
    system, _ = run_of(tmp_path / "run.mrec")
    atoms = system["atoms"]
    assert atoms["name"][:3].tolist() == ["O", "H1", "H2"]
    assert atoms["element"][:3].tolist() == ["O", "H", "H"]
    assert atoms["res_name"].tolist() == ["HOH"] * 81
    assert atoms["res_id"].tolist() == [1 + atom // 3 for atom in range(81)]
    assert atoms["chain"].tolist() == ["1"] * 81
    assert atoms["mass"][0] == simulation.system.getParticleMass(0).value_in_unit(unit.dalton)
    assert table_of_bonds(system) == [(bond.atom1.index, bond.atom2.index) for bond in simulation.topology.bonds()]
    assert system.meta["units"] == {
        "length": "nm", "energy": "kJ/mol", "angle": "radian", "charge": "e", "mass": "dalton", "time": "ps",
    }  # fmt: skip
    with mr.open(tmp_path / "run.mrec") as record:
        assert record.meta["title"] == "water"
        assert record.meta["source"]["integrator"] == "LangevinMiddleIntegrator"
    back = to_openmm_topology(system)
    assert [(one.name, one.element) for one in back.atoms()] == [
        (one.name, one.element) for one in simulation.topology.atoms()
    ]
    assert back.getNumResidues() == 27


def table_of_bonds(system: mr.Frame) -> list[tuple[int, int]]:
    return list(zip(system["bonds"]["atomi"].tolist(), system["bonds"]["atomj"].tolist(), strict=True))


def test_residues_of_any_name_and_bonds_of_any_kind() -> None:
    topology = app.Topology()
    chain = topology.addChain("A")
    carbon = app.Element.getBySymbol("C")
    ids = (("-1", ""), ("2", "B"), ("2", ""))
    residues = [topology.addResidue("ALA", chain, number, code) for number, code in ids]
    atoms = [topology.addAtom("C", carbon if place else None, one) for place, one in enumerate(residues)]
    topology.addBond(atoms[0], atoms[1], app.topology.Aromatic)
    topology.addBond(atoms[1], atoms[2], app.topology.Amide)
    frame = from_openmm_topology(topology)
    assert frame["atoms"]["res_id"].tolist() == [1, 4, 4]
    assert frame["atoms"]["res_seq"].tolist() == [-1, 2, 2]
    assert frame["atoms"]["icode"].tolist() == ["", "B", ""]
    assert frame["atoms"]["element"].tolist() == ["", "C", "C"]
    assert frame["bonds"]["bond_type"].tolist() == [4, 1]
    back = to_openmm_topology(frame)
    assert [(one.id, one.insertionCode) for one in back.residues()] == list(ids)
    topology.addResidue("ALA", chain, "x7")
    topology.addAtom("C", carbon, list(topology.residues())[-1])
    frame = from_openmm_topology(topology)
    assert frame["atoms"]["res_id"].tolist() == [1, 2, 3, 4]
    assert frame["atoms"]["res_label"].tolist() == ["-1", "2", "2", "x7"]


def test_a_system_without_a_box_has_no_volume(tmp_path: Path) -> None:
    topology, positions = water(1)
    topology.setPeriodicBoxVectors(None)
    system = app.ForceField("amber14/tip3p.xml").createSystem(topology, nonbondedMethod=app.NoCutoff)
    simulation = app.Simulation(topology, system, openmm.VerletIntegrator(0.001))
    simulation.context.setPositions(positions)
    with RecordReporter(tmp_path / "run.mrec", 1) as reporter:
        simulation.reporters.append(reporter)
        simulation.step(2)
    _, trajectory = run_of(tmp_path / "run.mrec")
    assert set(trajectory.meta) == {"pe", "ke", "etotal", "temp"}
    assert trajectory[1].box is None
    simulation.reporters[:] = [RecordReporter(tmp_path / "other.mrec", 1, energies=["volume"])]
    with refused("reject-undeclared", "volume", "no periodic box"):
        simulation.step(1)
    assert not (tmp_path / "other.mrec").exists()


def test_an_interrupted_run_keeps_its_frames(tmp_path: Path) -> None:
    simulation = simulation_of()
    path = tmp_path / "run.mrec"

    class Interrupt(Witness):
        def report(self, simulation: Any, state: Any) -> None:
            if simulation.currentStep == 6:
                raise KeyboardInterrupt

    def run() -> None:
        with RecordReporter(path, 2) as reporter:
            simulation.reporters += [reporter, Interrupt(2)]
            simulation.step(20)

    with pytest.raises(KeyboardInterrupt):
        run()
    _, trajectory = run_of(path)
    assert trajectory.steps.tolist() == [2, 4, 6]
    assert mr.validate(path) == []


_INTERRUPTED = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[2])
from packages.molrec.tests.test_interop_openmm_reporter import simulation_of, RecordReporter, Witness

class Press(Witness):
    def report(self, simulation, state):
        if simulation.currentStep == 6:
            signal.raise_signal(signal.SIGINT)

simulation = simulation_of()
simulation.reporters += [RecordReporter(sys.argv[1], 2), Press(2)]
simulation.step(10_000_000)
"""


def test_ctrl_c_keeps_the_frames_of_a_reporter_nobody_closes(tmp_path: Path) -> None:
    path = tmp_path / "run.mrec"
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, str(path), str(root)], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert done.stderr.rstrip().endswith("KeyboardInterrupt"), done.stderr
    _, trajectory = run_of(path)
    assert trajectory.steps.tolist() == [2, 4, 6]
    assert mr.validate(path) == []


def test_a_record_becomes_a_run_and_the_run_a_record(tmp_path: Path) -> None:
    topology, positions = water(6)
    frame, field = water_record(topology, positions, "coul/cut")
    made = to_openmm_topology(frame, field.units)
    integrator = openmm.VerletIntegrator(0.0005)
    simulation = app.Simulation(made, to_openmm(frame, field), integrator)
    simulation.context.setPositions(positions)
    with RecordReporter(tmp_path / "run.mrec", 5, precision=None, forces=True) as reporter:
        simulation.reporters.append(reporter)
        simulation.step(10)
    system, trajectory = run_of(tmp_path / "run.mrec")
    assert table_of_bonds(system) == table_of_bonds(frame)
    last = trajectory[1]
    again = frame.copy()
    for axis in "xyz":
        again["atoms"][axis] = last["atoms"][axis]
    found = energy(again, field)
    assert last.meta["pe"] == pytest.approx(found.total, rel=1e-5)
    assert found.forces is not None
    assert np.abs(table(last, "fx fy fz") - found.forces).max() < 1e-4 * np.abs(found.forces).max()


def test_a_reporter_nobody_closes_commits_when_it_goes(tmp_path: Path) -> None:
    simulation = simulation_of()
    path = tmp_path / "run.mrec"
    simulation.reporters.append(RecordReporter(path, 2, flush_every=2))
    simulation.step(6)
    _, trajectory = run_of(path)
    assert len(trajectory) == 2
    simulation.reporters.clear()
    gc.collect()
    _, trajectory = run_of(path)
    assert len(trajectory) == 3
    assert mr.validate(path) == []


def test_a_run_is_continued(tmp_path: Path) -> None:
    simulation = simulation_of()
    path = tmp_path / "run.mrec"
    for append in (False, True):
        with RecordReporter(path, 2, append=append) as reporter:
            simulation.reporters[:] = [reporter]
            simulation.step(4)
            reporter.flush()
            assert reporter.frames == (4 if append else 2)
        reporter.close()
    _, trajectory = run_of(path)
    assert trajectory.steps.tolist() == [2, 4, 6, 8]


def test_a_path_that_exists_is_refused_before_the_first_step(tmp_path: Path) -> None:
    simulation = simulation_of()
    path = tmp_path / "run.mrec"
    with RecordReporter(path, 2) as reporter:
        simulation.reporters.append(reporter)
        simulation.step(2)
    simulation.reporters[:] = [RecordReporter(path, 2)]
    with untouched(path), refused("reject-existing-path", "run.mrec"):
        simulation.step(2)
    assert simulation.currentStep == 2


def test_what_cannot_be_reported_is_refused(tmp_path: Path) -> None:
    for interval in (0, -1, 2.5, True):
        with refused("reject-report-interval", repr(interval)):
            RecordReporter(tmp_path / "run.mrec", interval)  # type: ignore[arg-type]
    with refused("reject-undeclared", "'pressure'"):
        RecordReporter(tmp_path / "run.mrec", 1, energies=["pe", "pressure"])
    topology, _ = water(2)
    with refused("reject-topology-mismatch", "24", "81"):
        from_openmm_topology(topology, simulation_of().system)
    assert not list(tmp_path.iterdir())
