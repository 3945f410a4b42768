"""OpenMM itself, for the tests that let it price and run systems, and the systems they give it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import molrec as mr
from molrec.forcefield import energy

__all__ = ["SKEWED", "check", "cluster", "frame_of", "kinds", "positions_of", "priced", "relation", "tip3p", "water",
           "water_record"]  # fmt: skip

#: A skewed cell in angstrom, lattice vectors as columns.
SKEWED = np.array([[6.5, 1.0, -2.0], [0.0, 6.5, 1.5], [0.0, 0.0, 6.5]])
_ENDS = ("atomi", "atomj", "atomk", "atoml")


def positions_of(frame: mr.Frame) -> Any:
    return np.stack([frame["atoms"][axis] for axis in "xyz"], axis=1)


def priced(system: Any, positions: Any, name: str = "Reference") -> tuple[float, Any]:
    """Return energy and forces of a platform, in kJ/mol and nm, at positions in nm."""
    openmm = pytest.importorskip("openmm")
    platform = openmm.Platform.getPlatformByName(name)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions)
    context.computeVirtualSites()
    state = context.getState(energy=True, forces=True)
    kilojoule = openmm.unit.kilojoule_per_mole
    forces = np.array(state.getForces(asNumpy=True).value_in_unit(kilojoule / openmm.unit.nanometer))
    return float(state.getPotentialEnergy().value_in_unit(kilojoule)), forces


def check(frame: mr.Frame, field: mr.ForceField, tolerance: float = 1e-9, **options: Any) -> tuple[float, Any, Any]:
    """Compare OpenMM with `energy`; return OpenMM's energy and forces in the force field's units, and the system."""
    from molrec.interop.openmm import to_openmm
    from molrec.interop.openmm_units import OpenMMUnits

    if "mass" not in frame["atoms"]:
        frame["atoms"]["mass"] = np.full(frame["atoms"].rows, 12.0)
    units = OpenMMUnits(field.units)
    system = to_openmm(frame, field, **options)
    total, forces = priced(system, positions_of(frame) * units.factor("length"))
    total, forces = total / units.factor("energy"), forces / units.factor("energy/length")
    own = energy(frame, field)
    assert total == pytest.approx(own.total, rel=tolerance, abs=tolerance)
    assert own.forces is not None
    sites = [atom for atom in range(system.getNumParticles()) if system.isVirtualSite(atom)]
    # the engine reports the force on a site beside having passed it on
    rows = np.setdiff1d(np.arange(len(forces)), sites)
    assert np.abs(own.forces - forces)[rows].max() <= 10.0 * tolerance * max(1.0, np.abs(forces).max())
    return total, forces, system


def kinds(system: Any) -> list[str]:
    return [type(force).__name__ for force in system.getForces()]


def relation(*atoms: tuple[int, ...], **columns: Any) -> mr.Block:
    ends = np.array(atoms, dtype=np.uint64)
    return mr.Block({**{_ENDS[place]: ends[:, place].copy() for place in range(ends.shape[1])}, **columns})


def frame_of(positions: Any, box: mr.Box | None = None, **blocks: mr.Block) -> mr.Frame:
    points = np.asarray(positions, dtype=float)
    atoms = mr.Block({axis: points[:, place].copy() for place, axis in enumerate("xyz")})
    atoms["type"] = ["A", "B"] * (len(points) // 2) + ["A"] * (len(points) % 2)
    atoms["charge"] = np.where(np.arange(len(points)) % 3 == 0, 0.4, -0.3)
    return mr.Frame({"atoms": atoms, **blocks}, box=box)


def cluster(random: np.random.Generator) -> Any:
    """Return eight points in ångström, none close to another."""
    grid = np.stack(np.meshgrid(*[np.arange(2)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return grid * 1.5 + random.uniform(-0.3, 0.3, (8, 3))


def water(count: int) -> tuple[Any, Any]:
    """Return topology and positions, in nm, of a cubic box of TIP3P water on a lattice."""
    openmm = pytest.importorskip("openmm")
    from openmm import app

    edge = 0.31 * count
    topology = app.Topology()
    chain = topology.addChain()
    oxygen, hydrogen = (app.Element.getBySymbol(symbol) for symbol in "OH")
    for _ in range(count**3):
        residue = topology.addResidue("HOH", chain)
        atoms = [topology.addAtom(name, element, residue) for name, element in
                 (("O", oxygen), ("H1", hydrogen), ("H2", hydrogen))]  # fmt: skip
        topology.addBond(atoms[0], atoms[1])
        topology.addBond(atoms[0], atoms[2])
    topology.setUnitCellDimensions(openmm.Vec3(edge, edge, edge))
    grid = np.stack(np.meshgrid(*[np.arange(count)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3) * 0.31
    shape = np.array([[0.0, 0.0, 0.0], [0.09572, 0.0, 0.0], [-0.0239987, 0.0926627, 0.0]])
    # a lattice of parallel molecules is no liquid: every other one is turned
    turned = np.where(np.arange(count**3)[:, None, None] % 2 == 0, shape, shape[:, [2, 0, 1]])
    return topology, (grid + turned + 0.05).reshape(-1, 3)


def tip3p(topology: Any) -> Any:
    from openmm import app

    return app.ForceField("amber14/tip3p.xml").createSystem(
        topology, nonbondedMethod=app.PME, nonbondedCutoff=0.8, rigidWater=False, constraints=None
    )


def water_record(topology: Any, positions: Any, coulomb: str) -> tuple[mr.Frame, mr.ForceField]:
    frame = mr.Frame(box=mr.Box(np.eye(3) * topology.getUnitCellDimensions()[0]._value))
    count = len(positions)
    atoms = mr.Block({axis: positions[:, place].copy() for place, axis in enumerate("xyz")})
    atoms["type"] = ["O", "H", "H"] * (count // 3)
    frame["atoms"] = atoms
    first = np.arange(0, count, 3, dtype=np.uint64)
    frame["bonds"] = mr.Block(
        {"atomi": np.repeat(first, 2), "atomj": np.stack([first + 1, first + 2], axis=1).reshape(-1)}
    )
    frame["bonds"]["type"] = ["O-H"] * (2 * len(first))
    frame["angles"] = mr.Block({"atomi": first + 1, "atomj": first, "atomk": first + 2})
    frame["angles"]["type"] = ["H-O-H"] * len(first)
    field = mr.ForceField(
        "tip3p", {"length": "nm", "energy": "kJ/mol"}, {"lj": [0.0, 0.0, 0.0], "coul": [0.0, 0.0, 0.0]}
    )
    masses = field.define_style("atom", "full")
    masses.add("O", (), mass=15.99943, charge=-0.834)
    masses.add("H", (), mass=1.007947, charge=0.417)
    field.define_style("bond", "harmonic").add("O-H", ("", ""), k=462750.4, r0=0.09572)
    field.define_style("angle", "harmonic").add("H-O-H", ("", "", ""), k=836.8, theta0=1.82421813418)
    pairs = field.define_style("pair", "lj/cut", {"mixing": "arithmetic", "cutoff": 0.8})
    pairs.add("O", ("O", "O"), epsilon=0.635968, sigma=0.31507524065751241)
    pairs.add("H", ("H", "H"), epsilon=0.0, sigma=1.0)
    field.define_style("pair", coulomb, {"cutoff": 0.8, "coulomb": 138.93545764438198})
    return frame, field
