"""Systems and force fields as OpenMM systems: the engine's energies and forces beside the golden ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import molrec as mr

from . import forcefield_cases as cases
from .openmm_engine import check, cluster, frame_of, kinds, priced, relation, tip3p, water, water_record
from .refusals import refused

pytestmark = pytest.mark.engines

openmm = pytest.importorskip("openmm")

from molrec.interop.openmm import to_openmm, to_openmm_topology  # noqa: E402
from molrec.interop.openmm_units import OpenMMUnits  # noqa: E402

# -- golden cases -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cases.names("lammps"))
def test_lammps_cases(name: str) -> None:
    frame, field = cases.lammps(name)
    total, forces, _ = check(frame, field)
    case = cases.expected(name)
    wanted = np.array(case["forces"])
    assert total == pytest.approx(case["energies"]["total"], rel=1e-6)
    assert np.abs(forces - wanted).max() <= 1e-6 * np.abs(wanted).max()


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("name", cases.names("openmm"))
def test_openmm_cases(name: str, listed: bool) -> None:
    frame, field = cases.assigned(name, listed=listed)
    total, forces, system = check(frame, field)
    case = cases.expected(name)
    parts = case["energies"]
    assert total == pytest.approx(parts["total"] - parts.get("cmap", 0.0), rel=1e-6)
    if "cmap" not in parts:  # the forces of a case include those of its maps
        wanted = np.array(case["forces"])
        assert np.abs(forces - wanted).max() <= 1e-6 * np.abs(wanted).max()
    # the engine's own forces wherever they are the same
    assert "NonbondedForce" in kinds(system)
    assert "CustomNonbondedForce" not in kinds(system)


@pytest.mark.parametrize("name", cases.names("gromacs"))
def test_gromacs_cases(name: str) -> None:
    frame, field = cases.assigned(name)
    total, forces, _ = check(frame, field)
    case = cases.expected(name)
    wanted = np.array(case["forces"])
    assert total == pytest.approx(case["energies"]["total"], rel=1e-6)
    assert np.abs(forces - wanted).max() <= 1e-6 * np.abs(wanted).max()


# -- sites, constraints, masses, units --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "params"),
    [
        ("average2", {"w1": 0.3, "w2": 0.7}),
        ("average3", {"w1": 0.2, "w2": 0.3, "w3": 0.5}),
        ("outofplane3", {"w12": 0.3, "w13": 0.2, "wcross": 0.6}),
    ],
)
def test_virtual_sites(style: str, params: dict[str, float]) -> None:
    frame = frame_of(cluster(np.random.default_rng(11)), virtual_sites=relation((7, 0, 1, 2)))
    frame["virtual_sites"]["type"] = ["site"]
    frame["atoms"]["mass"] = np.array([12.0] * 7 + [0.0])
    field = mr.ForceField("test", "real")
    lj = field.define_style("pair", "lj/cut", {"mixing": "arithmetic"})
    lj.add("A", ("A", "A"), epsilon=0.2, sigma=0.9)
    lj.add("B", ("B", "B"), epsilon=0.1, sigma=1.2)
    field.define_style("pair", "coul/cut")
    field.define_style("virtual_site", style).add("site", (), **params)
    _, _, system = check(frame, field)
    assert system.isVirtualSite(7)
    frame["atoms"]["mass"] = np.full(8, 12.0)
    with refused("reject-ff-missing-parameter", "atom 7", "12.0", "virtual site"):
        to_openmm(frame, field)


def test_constraints_and_masses_are_converted() -> None:
    frame = frame_of(np.eye(3), constraints=relation((0, 1), (1, 2)))
    frame["constraints"]["type"] = ["short", "long"]
    frame["atoms"]["mass"] = np.array([0.0, 18.0, 0.0])
    frame["atoms"].set_validity("mass", [False, True, False])
    units = {"length": "angstrom", "energy": "eV", "mass": "g/mol"}
    field = mr.ForceField("test", units)
    types = field.define_style("atom", "full")
    types.add("A", (), mass=12.0)
    types.add("B", (), mass=14.0)
    fixed = field.define_style("constraint", "fixed")
    fixed.add("short", ("", ""), r0=1.1)
    fixed.add("long", ("", ""), r0=2.2)
    system = to_openmm(frame, field)
    nanometre, dalton = openmm.unit.nanometer, openmm.unit.dalton
    lengths = [system.getConstraintParameters(place)[2].value_in_unit(nanometre) for place in range(2)]
    assert lengths == pytest.approx([0.11, 0.22], rel=1e-15)
    masses = [system.getParticleMass(atom).value_in_unit(dalton) for atom in range(3)]
    assert masses == pytest.approx([12.0, 18.0, 12.0], rel=1e-15)


@pytest.mark.parametrize(
    ("units", "dimension", "wanted"),
    [
        ("real", "energy/length^2", 418.4),
        ("real", "energy/(length*angle)", 41.84),
        ("metal", "energy", 96.48533212331),
        ("si", "energy*length/charge^2", 1.5458654465e-08),
        ("si", "mass", 6.02214076e26),
        ("real", "1", 1.0),
        ({"length": "bohr", "energy": "hartree"}, "energy", 2625.4996394799),
        ({"mass": "g/mol"}, "mass", 1.0),
    ],
)
def test_factors(units: Any, dimension: str, wanted: float) -> None:
    found = OpenMMUnits(mr.ForceField("test", units).units).factor(dimension)
    assert found == pytest.approx(wanted, rel=1e-8)


# -- PME --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coulomb", "nonbonded"), [("coul/cut", "pme"), ("coul/long/pme", "stated")])
def test_pme_is_openmm_s_own(coulomb: str, nonbonded: Any) -> None:
    topology, positions = water(6)
    reference = tip3p(topology)
    for force in reference.getForces():
        if isinstance(force, openmm.NonbondedForce):
            force.setUseDispersionCorrection(False)
    frame, field = water_record(topology, positions, coulomb)
    system = to_openmm(frame, field, nonbonded=nonbonded)
    wanted, forces = priced(reference, positions)
    found, own = priced(system, positions)
    assert found == pytest.approx(wanted, rel=1e-6)
    assert np.abs(own - forces).max() < 1e-6 * np.abs(forces).max()
    assert [type(one).__name__ for one in system.getForces()].count("NonbondedForce") == 1


def test_the_mesh_is_the_one_that_is_stated() -> None:
    topology, positions = water(6)
    frame, field = water_record(topology, positions, "coul/long/pme")
    style = field.style("pair", "coul/long/pme")
    style.params |= {"alpha": 3.4, "grid_x": 24.0, "grid_y": 25.0, "grid_z": 27.0}
    system = to_openmm(frame, field)
    (force,) = (one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
    alpha, *grid = force.getPMEParameters()
    assert (alpha.value_in_unit(openmm.unit.nanometer**-1), grid) == (3.4, [24, 25, 27])


def test_a_cut_water_box_is_priced_as_here() -> None:
    topology, positions = water(6)
    frame, field = water_record(topology, positions, "coul/cut")
    check(frame, field)


# -- topology ---------------------------------------------------------------------------------------------------------


def test_a_topology_of_a_frame() -> None:
    frame = frame_of(np.eye(4, 3), mr.Box(np.diag([20.0, 30.0, 40.0])), bonds=relation((0, 1), (1, 2)))
    atoms = frame["atoms"]
    atoms["name"] = ["N", "CA", "C", "NA"]
    atoms["element"] = ["N", "C", "C", "Na"]
    atoms["res_name"], atoms["res_id"] = ["ALA", "ALA", "GLY", "NA"], np.array([3, 3, 4, 4])
    atoms["chain"] = ["A", "A", "A", "B"]
    frame["bonds"]["bond_type"] = np.array([1, 2])
    topology = to_openmm_topology(frame, {"length": "angstrom"})
    assert [(atom.name, atom.element.symbol) for atom in topology.atoms()] == [
        ("N", "N"), ("CA", "C"), ("C", "C"), ("NA", "Na"),
    ]  # fmt: skip
    assert [(one.name, one.id, one.chain.id) for one in topology.residues()] == [
        ("ALA", "3", "A"), ("GLY", "4", "A"), ("NA", "4", "B"),
    ]  # fmt: skip
    assert [(bond.atom1.index, bond.atom2.index, str(bond.type)) for bond in topology.bonds()] == [
        (0, 1, "Single"), (1, 2, "Double"),
    ]  # fmt: skip
    assert topology.getUnitCellDimensions().value_in_unit(openmm.unit.nanometer) == openmm.Vec3(2.0, 3.0, 4.0)
    with refused("reject-ff-openmm-units", "length"):
        to_openmm_topology(frame)
    atoms["element"] = ["N", "C", "C", "Xx"]
    with refused("reject-ff-openmm-element", "'Xx'"):
        to_openmm_topology(frame)
