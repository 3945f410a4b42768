"""Systems made up here, priced by LAMMPS and OpenMM and by us: skewed and narrow cells, class 2 cross terms, sites."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr
from molrec.forcefield import energy

from .lammps_engine import gathered, lammps_engine

pytestmark = pytest.mark.engines

_ENDS = ("atomi", "atomj", "atomk", "atoml")
_COULOMB = 332.06371


def _relation(atoms: list[tuple[int, ...]], names: list[str]) -> mr.Block:
    ends = np.array(atoms, dtype=np.uint64)
    return mr.Block({**{_ENDS[place]: ends[:, place].copy() for place in range(ends.shape[1])}, "type": names})


def _frame(positions: Any, charges: Any, types: list[str], box: mr.Box | None, **blocks: mr.Block) -> mr.Frame:
    atoms = mr.Block({axis: positions[:, place].copy() for place, axis in enumerate("xyz")})
    atoms["type"] = types
    atoms["charge"] = charges
    return mr.Frame({"atoms": atoms, **blocks}, {"units": {"preset": "real"}}, box)


def _run(tmp_path: Path, frame: mr.Frame, commands: list[str], boundary: str) -> tuple[dict[str, float], Any]:
    """Return what LAMMPS says of a frame whose type names are its type numbers: energies and forces."""
    data = tmp_path / "system.data"
    data.write_text(_data_file(frame), encoding="utf-8")
    engine = lammps_engine()
    bonded = [f"{kind}_style none" for kind in ("bond", "angle", "dihedral") if f"{kind}s" not in frame]
    styles = [command for command in commands if command.split()[0].endswith("_style")]
    rest = [command for command in commands if command not in styles]
    for command in [
        "units real", "atom_style full", f"boundary {boundary}", *bonded, *styles, f"read_data {data}", *rest, "run 0"
    ]:  # fmt: skip
        engine.command(command)
    keys = {"pe": "total", "ebond": "bond", "eangle": "angle", "edihed": "dihedral", "evdwl": "vdw", "ecoul": "coul"}
    found = {name: float(engine.get_thermo(key)) for key, name in keys.items()}
    forces = gathered(engine, "f", 1)
    engine.close()
    return found, forces


def _data_file(frame: mr.Frame) -> str:
    atoms = frame["atoms"]
    kinds = [kind for kind in ("bond", "angle", "dihedral") if f"{kind}s" in frame]
    lines = ["made by a test", "", f"{atoms.rows} atoms", "2 atom types"]
    lines += [f"{frame[f'{kind}s'].rows} {kind}s\n1 {kind} types" for kind in kinds]
    assert frame.box is not None
    vectors = frame.box.vectors
    lines += [f"0 {vectors[place, place]!r} {axis}lo {axis}hi" for place, axis in enumerate("xyz")]
    if np.triu(vectors, 1).any():
        lines.append(f"{vectors[0, 1]!r} {vectors[0, 2]!r} {vectors[1, 2]!r} xy xz yz")
    lines += ["", "Masses", "", "1 12.0", "2 16.0", "", "Atoms # full", ""]
    columns = [atoms[name].tolist() for name in ("type", "charge", "x", "y", "z")]
    for row, values in enumerate(zip(*columns, strict=True), start=1):
        lines.append(f"{row} 1 {' '.join(map(str, values))}")
    for kind in kinds:
        block = frame[f"{kind}s"]
        ends = [block[end].tolist() for end in _ENDS if end in block]
        lines += ["", f"{kind.title()}s", ""]
        for row, values in enumerate(zip(*ends, strict=True), start=1):
            lines.append(f"{row} 1 {' '.join(str(value + 1) for value in values)}")
    return "\n".join(lines).replace("np.float64(", "").replace(")", "") + "\n"


def _chain(random: np.random.Generator, count: int) -> Any:
    steps = np.stack([np.ones(count), np.arange(count) % 2, np.arange(count) % 3], axis=1) * [1.1, 0.9, 0.5]
    return np.cumsum(steps * [1.0, 0.0, 0.0], axis=0) + steps * [0.0, 1.0, 1.0] + random.uniform(-0.2, 0.2, (count, 3))


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("cutoff", [3.9, 7.1])
def test_pairs_in_narrow_and_skewed_cells(tmp_path: Path, skewed: bool, cutoff: float) -> None:
    random = np.random.default_rng(11)
    positions = _chain(random, 6) + np.array([0.3, 0.4, 0.5])
    vectors = np.diag([8.5, 6.0, 6.5])
    if skewed:
        vectors[0, 1], vectors[0, 2], vectors[1, 2] = 3.1, -2.2, 1.4
    types = ["1", "2", "1", "1", "2", "2"]
    charges = random.uniform(-0.5, 0.5, 6)
    bonds = _relation([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], ["1"] * 5)
    frame = _frame(positions, charges, types, mr.Box(vectors), bonds=bonds)
    field = mr.ForceField("test", "real", {"lj": [0.01, 0.2, 0.5], "coul": [0.1, 0.3, 0.8]})
    pairs = field.define_style("pair", "lj/cut", {"cutoff": cutoff, "mixing": "arithmetic"})
    pairs.add("1", ("1", "1"), epsilon=0.1, sigma=2.0)
    pairs.add("2", ("2", "2"), epsilon=0.2, sigma=1.5)
    field.define_style("pair", "coul/cut", {"cutoff": cutoff, "coulomb": _COULOMB})
    field.define_style("bond", "harmonic").add("1", ("", ""), k=200.0, r0=1.4)
    commands = [
        f"pair_style lj/cut/coul/cut {cutoff}", "bond_style harmonic", "pair_modify mix arithmetic",
        "special_bonds lj 0.01 0.2 0.5 coul 0.1 0.3 0.8", "pair_coeff 1 1 0.1 2.0", "pair_coeff 2 2 0.2 1.5",
        "bond_coeff 1 100.0 1.4",
    ]  # fmt: skip
    wanted, forces = _run(tmp_path, frame, commands, "p p p")
    found = energy(frame, field)
    assert found.styles["bond.harmonic"] == pytest.approx(wanted["bond"], rel=1e-9)
    assert found.styles["pair.lj/cut"] == pytest.approx(wanted["vdw"], rel=1e-9)
    assert found.styles["pair.coul/cut"] == pytest.approx(wanted["coul"], rel=1e-9)
    assert found.forces is not None
    assert np.abs(found.forces - forces).max() < 1e-9 * np.abs(forces).max()


@pytest.mark.parametrize(
    ("style", "params", "style_params", "command", "coefficients"),
    [
        ("lj/class2", {"epsilon": 0.3, "sigma": 1.9}, {}, "lj/class2 6.0", "0.3 1.9"),
        ("lj/cut", {"epsilon": 0.3, "sigma": 1.9}, {"n": 10.0, "m": 5.0}, "mie/cut 6.0", "0.3 1.9 10 5"),
        ("lj/cut", {"epsilon": 0.3, "sigma": 1.9}, {"shift": 1.0}, "lj/cut 6.0", "0.3 1.9"),
        ("buck", {"a": 900.0, "rho": 0.4, "c": 12.0}, {}, "buck 6.0", "900.0 0.4 12.0"),
        ("morse", {"d0": 0.7, "alpha": 1.3, "r0": 2.1}, {}, "morse 6.0", "0.7 1.3 2.1"),
    ],
)
def test_pair_styles(
    tmp_path: Path,
    style: str,
    params: dict[str, float],
    style_params: dict[str, float],
    command: str,
    coefficients: str,
) -> None:
    positions = _chain(np.random.default_rng(12), 6) + 1.0
    frame = _frame(positions, np.zeros(6), ["1", "2"] * 3, mr.Box(np.eye(3) * 40.0, boundary=np.zeros(3, bool)))
    field = mr.ForceField("test", "real")
    field.define_style("pair", style, {"cutoff": 6.0, **style_params}).add("any", ("", ""), **params)
    shift = ["pair_modify shift yes"] if "shift" in style_params else []
    wanted, forces = _run(tmp_path, frame, [f"pair_style {command}", *shift, f"pair_coeff * * {coefficients}"], "f f f")
    found = energy(frame, field)
    assert found.total == pytest.approx(wanted["vdw"], rel=1e-9)
    assert found.forces is not None
    assert np.abs(found.forces - forces).max() < 1e-9 * np.abs(forces).max()


_CLASS2 = {
    "mbt": "1.1 -0.7 0.4 1.35",
    "ebt": "0.3 0.6 -0.2 0.5 -0.4 0.7 1.2 1.45",
    "at": "0.8 -0.5 0.3 -0.6 0.2 0.9 109.0 115.0",
    "aat": "-12.0 111.0 107.0",
    "bb13": "6.5 1.3 1.5",
}
_CLASS2_NAMES = {
    "mbt": "k1 k2 k3 r2",
    "ebt": "b1 b2 b3 c1 c2 c3 r1 r3",
    "at": "d1 d2 d3 e1 e2 e3 theta1 theta2",
    "aat": "k theta1 theta2",
    "bb13": "k r1 r3",
}


@pytest.mark.parametrize("present", [(), *((one,) for one in _CLASS2), tuple(_CLASS2)])
def test_class_2_torsions_with_their_cross_terms(tmp_path: Path, present: tuple[str, ...]) -> None:
    positions = _chain(np.random.default_rng(13), 8) + 1.0
    dihedrals = _relation([(n, n + 1, n + 2, n + 3) for n in range(5)], ["1"] * 5)
    box = mr.Box(np.eye(3) * 40.0, boundary=np.zeros(3, bool))
    frame = _frame(positions, np.zeros(8), ["1", "2"] * 4, box, dihedrals=dihedrals)
    params = {"k1": 1.3, "phi1": math.radians(20.0), "k2": -0.4, "phi2": math.radians(75.0), "k3": 0.8}
    params["phi3"] = math.radians(-40.0)
    commands = ["pair_style zero 10.0", "dihedral_style class2", "pair_coeff * *",
                "dihedral_coeff 1 1.3 20.0 -0.4 75.0 0.8 -40.0"]  # fmt: skip
    for group, names in _CLASS2_NAMES.items():
        blank = " ".join("0.0" if name[0] not in "rt" else "1.0" for name in names.split())
        numbers = _CLASS2[group] if group in present else blank
        commands.append(f"dihedral_coeff 1 {group} {numbers}")
        if group in present:
            for name, number in zip(names.split(), numbers.split(), strict=True):
                angle = name.startswith("theta")
                params[f"{group}_{name}"] = math.radians(float(number)) if angle else float(number)
    field = mr.ForceField("test", "real")
    field.define_style("dihedral", "class2").add("1", ("",) * 4, **params)
    wanted, forces = _run(tmp_path, frame, commands, "f f f")
    found = energy(frame, field)
    assert found.total == pytest.approx(wanted["dihedral"], rel=1e-9)
    assert found.forces is not None
    assert np.abs(found.forces - forces).max() < 1e-8 * np.abs(forces).max()


@pytest.mark.parametrize("style", ["average2", "average3", "outofplane3"])
def test_virtual_sites_as_openmm_has_them(style: str) -> None:
    openmm = pytest.importorskip("openmm")
    random = np.random.default_rng(14)
    positions = random.uniform(0.0, 0.6, (6, 3)) + np.arange(6)[:, None] * 0.1
    params = {
        "average2": {"w1": 0.3, "w2": 0.7},
        "average3": {"w1": 0.2, "w2": 0.3, "w3": 0.5},
        "outofplane3": {"w12": 0.3, "w13": 0.2, "wcross": 0.6},
    }[style]
    made = {
        "average2": lambda: openmm.TwoParticleAverageSite(0, 1, *params.values()),
        "average3": lambda: openmm.ThreeParticleAverageSite(0, 1, 2, *params.values()),
        "outofplane3": lambda: openmm.OutOfPlaneSite(0, 1, 2, *params.values()),
    }[style]()
    charges = random.uniform(-0.5, 0.5, 6)
    system, force = openmm.System(), openmm.NonbondedForce()
    for atom in range(6):
        system.addParticle(0.0 if atom == 5 else 12.0)
        force.addParticle(charges[atom], 0.3, 0.5)
    system.setVirtualSite(5, made)
    system.addForce(force)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions)
    context.computeVirtualSites()
    state = context.getState(energy=True, forces=True)
    sites = _relation([(5, 0, 1, 2)], ["site"])
    frame = _frame(positions, charges, ["A"] * 6, None, virtual_sites=sites)
    frame.meta["units"] = {"length": "nm"}
    field = mr.ForceField("test", {"length": "nm", "energy": "kJ/mol"})
    field.define_style("pair", "lj/cut").add("A", ("A", "A"), epsilon=0.5, sigma=0.3)
    field.define_style("pair", "coul/cut", {"coulomb": 138.93545764438198})
    field.define_style("virtual_site", style).add("site", (), **params)
    found = energy(frame, field)
    unit = openmm.unit.kilojoule_per_mole
    assert found.total == pytest.approx(state.getPotentialEnergy().value_in_unit(unit), rel=1e-9)
    forces = np.array(state.getForces(asNumpy=True).value_in_unit(unit / openmm.unit.nanometer))
    assert found.forces is not None
    # the engine reports the force on a site beside having passed it on
    assert np.abs(found.forces[:5] - forces[:5]).max() < 1e-8 * np.abs(forces).max()
