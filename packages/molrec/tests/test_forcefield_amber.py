"""AMBER topologies of MDAnalysisTests: read without loss, priced as OpenMM does, written to the same energies."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr
from molrec.forcefield.energies import energy
from molrec.formats.forcefield_amber import COULOMB, read_amber
from molrec.formats.forcefield_amber_writer import write_amber
from molrec.formats.forcefield_openmm_names import COULOMB as OPENMM_COULOMB
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField

from .refusals import refused

pytestmark = pytest.mark.engines

parmed = pytest.importorskip("parmed")
datafiles = pytest.importorskip("MDAnalysisTests.datafiles")

AMBER = Path(datafiles.__file__).parent / "data" / "Amber"
FILES = ("capped-ala.prmtop", "ache.prmtop", "parmed_ala2_solv.parm7", "bala.prmtop", "anti.top", "ace_tip3p.parm7",
         "posfor.top", "cpptraj_traj.prmtop")  # fmt: skip
UNSUPPORTED = "reject-ff-source-unsupported"
MALFORMED = "reject-ff-source-malformed"
TARGET = "reject-ff-target"
#: Kilocalories for the energies of OpenMM, kJ nm for its constant.
KCAL = 4.184


def read(name: str) -> tuple[ForceField, mr.Frame]:
    forcefield, system = read_amber(AMBER / name, Notes())
    assert system is not None
    return forcefield, system


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_without_loss(name: str) -> None:
    forcefield, system = read(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        witness = parmed.amber.LoadParm(str(AMBER / name))
    atoms = system["atoms"]
    assert atoms.rows == len(witness.atoms)
    assert atoms["name"].tolist() == [atom.name for atom in witness.atoms]
    assert atoms["res_name"].tolist() == [atom.residue.name for atom in witness.atoms]
    assert atoms["charge"].tolist() == pytest.approx([atom.charge for atom in witness.atoms], rel=1e-15)
    assert system["bonds"].rows == len(witness.bonds)
    assert system["angles"].rows == len(witness.angles)
    assert system["dihedrals"].rows == sum(not one.improper for one in witness.dihedrals)
    improper = sum(one.improper for one in witness.dihedrals)
    assert (system["impropers"].rows if "impropers" in system else 0) == improper
    assert len(forcefield.style("bond", "harmonic")) == len(witness.bond_types)
    assert len(forcefield.style("angle", "harmonic")) == len(witness.angle_types)
    keys = {(one.atom1.idx, one.atom2.idx): (2.0 * one.type.k, one.type.req) for one in witness.bonds}
    rows = forcefield.style("bond", "harmonic")
    ends = zip(system["bonds"]["atomi"].tolist(), system["bonds"]["atomj"].tolist(), strict=True)
    found = {
        pair: tuple(rows[name].values()) for pair, name in zip(ends, system["bonds"]["type"].tolist(), strict=True)
    }
    assert {frozenset(pair): values for pair, values in found.items()} == {
        frozenset(pair): values for pair, values in keys.items()
    }
    depths = {row.name: (row["epsilon"], row["sigma"]) for row in forcefield.style("pair", "lj/cut")}
    for atom, type_name in zip(witness.atoms, atoms["type"].tolist(), strict=True):
        epsilon, sigma = depths[type_name]
        assert epsilon == pytest.approx(atom.epsilon, rel=1e-9)
        assert epsilon == 0.0 or sigma == pytest.approx(atom.sigma, rel=1e-9)


@pytest.mark.parametrize("name", FILES)
def test_writing_a_file_and_reading_it_again_gives_the_same(name: str, tmp_path: Path) -> None:
    forcefield, system = read(name)
    notes = Notes()
    path = tmp_path / "written.prmtop"
    write_amber(path, forcefield, system, notes)
    assert {note.subject for note in notes} <= {"column 'mol_id'"}
    again, system_again = read_amber(path, Notes())
    assert system_again is not None
    if "mol_id" in system["atoms"]:
        del system["atoms"]["mol_id"]
    for block in system:
        if block != "atoms":
            assert system_again[block] == system[block]
    for column in system["atoms"].columns:
        given, found = system["atoms"][column], system_again["atoms"][column]
        assert np.allclose(found, given, rtol=1e-15) if given.dtype.kind == "f" else (found == given).all()
    assert again.special_bonds == forcefield.special_bonds
    for style in forcefield.styles:
        rows = {row.name: dict(row) for row in again.style(style.category, style.name)}
        for row in style:
            assert rows[row.name] == pytest.approx(dict(row), rel=1e-14)


def openmm_energies(path: Path, positions: Any) -> dict[str, float]:
    """Return OpenMM's energies by force in kcal/mol, all pairs."""
    app, openmm = pytest.importorskip("openmm.app"), pytest.importorskip("openmm")
    topology = app.AmberPrmtopFile(str(path))
    system = topology.createSystem(
        nonbondedMethod=app.NoCutoff, constraints=None, rigidWater=False, removeCMMotion=False
    )
    for group, force in enumerate(system.getForces()):
        force.setForceGroup(group)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions / 10.0)
    return {
        force.getName(): context.getState(getEnergy=True, groups={group}).getPotentialEnergy()._value / KCAL
        for group, force in enumerate(system.getForces())
    }


def test_a_solvated_peptide_is_priced_as_openmm_prices_it(tmp_path: Path) -> None:
    forcefield, system = read("parmed_ala2_solv.parm7")
    positions = parmed.load_file(str(AMBER / "parmed_ala2_solv.rst7")).coordinates[0]
    for number, axis in enumerate("xyz"):
        system["atoms"][axis] = positions[:, number].copy()
    own = energy(system, forcefield, forces=False).styles
    engine = openmm_energies(AMBER / "parmed_ala2_solv.parm7", positions)
    assert own["bond.harmonic"] == pytest.approx(engine["HarmonicBondForce"], rel=1e-9)
    assert own["angle.harmonic"] == pytest.approx(engine["HarmonicAngleForce"], rel=1e-9)
    torsions = own["dihedral.periodic"] + own["improper.periodic"]
    assert torsions == pytest.approx(engine["PeriodicTorsionForce"], rel=1e-9)
    # OpenMM has a Coulomb constant of its own
    ratio = OPENMM_COULOMB * 10.0 / KCAL / COULOMB
    assert own["pair.lj/cut"] + ratio * own["pair.coul/cut"] == pytest.approx(engine["NonbondedForce"], rel=1e-9)
    path = tmp_path / "written.prmtop"
    write_amber(path, forcefield, system, Notes())
    assert openmm_energies(path, positions) == pytest.approx(engine, rel=1e-9)


def test_files_that_are_not_stored_exactly_are_refused() -> None:
    with refused(UNSUPPORTED, "CHAMBER"):
        read("parmed_fad.prmtop")
    with refused(UNSUPPORTED, "SCNB_SCALE_FACTOR"):
        read("chitosan.prmtop")
    with refused(MALFORMED, "state no units"):
        read_amber(AMBER / "ache.prmtop", Notes(), "real")


@pytest.mark.parametrize(
    ("old", "new", "mention"),
    [
        ("%FLAG MASS", "%FLAG MESS", "MASS"),
        ("%FLAG BONDS_INC_HYDROGEN", "%FLAG BENDS_INC_HYDROGEN", "BONDS_INC"),
        ("%FLAG LENNARD_JONES_ACOEF", "%FLAG LENNARD_JONES_XCOEF", "LENNARD_JONES_ACOEF"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, old: str, new: str, mention: str) -> None:
    path = tmp_path / "damaged.prmtop"
    path.write_text((AMBER / "ace_mbondi3.parm7").read_text().replace(old, new))
    with refused(MALFORMED, "damaged.prmtop", mention):
        read_amber(path, Notes())


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "short.prmtop"
    text = (AMBER / "ace_mbondi3.parm7").read_text()
    # what follows these sections older files do not have
    for length in range(100, text.index("%FLAG TREE_CHAIN") - 300, 97):
        path.write_text(text[:length])
        with refused(f"{MALFORMED}|{UNSUPPORTED}", "short.prmtop"):
            read_amber(path, Notes())


def test_what_amber_has_no_word_for_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.prmtop"
    forcefield, system = read("ace_mbondi3.parm7")
    with refused(TARGET, "without system"):
        write_amber(path, forcefield, None, Notes())
    with refused(TARGET, "nm"):
        write_amber(path, ForceField("x", {"length": "nm", "energy": "kJ/mol"}), system, Notes())
    forcefield.style("pair", "coul/cut").params["coulomb"] = 332.06371
    with refused(TARGET, "coulomb 332.06371"):
        write_amber(path, forcefield, system, Notes())
    forcefield, system = read("ace_mbondi3.parm7")
    forcefield.define_style("bond", "morse")
    with refused(TARGET, "morse"):
        write_amber(path, forcefield, system, Notes())
    forcefield, system = read("ace_mbondi3.parm7")
    forcefield.special_bonds = {"lj": (0.5, 0.0, 0.5), "coul": (0.0, 0.0, 0.5)}
    with refused(TARGET, "weight"):
        write_amber(path, forcefield, system, Notes())
    assert not path.exists()


def test_pairs_that_are_not_mixed_come_back_as_rows_of_their_own(tmp_path: Path) -> None:
    forcefield, system = read("ace_mbondi3.parm7")
    pairs = forcefield.style("pair", "lj/cut")
    first, second = [row.name for row in pairs][:2]
    pairs.add("cross", (first, second), epsilon=0.125, sigma=2.5)
    write_amber(tmp_path / "out.prmtop", forcefield, system, Notes())
    again, _ = read_amber(tmp_path / "out.prmtop", Notes())
    crosses = [row for row in again.style("pair", "lj/cut") if row.endpoints[0] != row.endpoints[1]]
    assert [set(row.endpoints) for row in crosses] == [{first, second}]
    assert dict(crosses[0]) == pytest.approx({"epsilon": 0.125, "sigma": 2.5}, rel=1e-14)


def test_extra_points_and_hydrogen_bond_terms_are_refused(tmp_path: Path) -> None:
    forcefield, system = read("ace_mbondi3.parm7")
    path = tmp_path / "out.prmtop"
    write_amber(path, forcefield, system, Notes())
    text = path.read_text()
    start = text.index("%FLAG AMBER_ATOM_TYPE")
    path.write_text(text[:start] + text[start:].replace("HC  ", "EP  ", 1))
    with refused(UNSUPPORTED, "extra points"):
        read_amber(path, Notes())
    index = text.index("%FLAG NONBONDED_PARM_INDEX")
    changed = text[index:].replace("       1", "      -1", 1)
    terms = "%FLAG HBOND_ACOEF\n%FORMAT(3E24.16)\n"
    path.write_text((text[:index] + changed).replace(terms, f"{terms}{5.0:24.16E}"))
    with refused(UNSUPPORTED, "10-12"):
        read_amber(path, Notes())
