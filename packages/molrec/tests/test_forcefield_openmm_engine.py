"""OpenMM itself: its shipped files are read without loss, and what is written again has the same energies."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from molrec.forcefield.energies import energy as priced
from molrec.forcefield.linking import link
from molrec.formats.forcefield_openmm import COULOMB, read_openmm
from molrec.formats.forcefield_openmm_writer import write_openmm
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField

from . import forcefield_golden as golden
from .forcefield_openmm_frames import case_frame

pytestmark = pytest.mark.engines

app = pytest.importorskip("openmm.app")
import openmm  # noqa: E402

DATA = Path(app.__file__).parent / "data"
TEMPLATES = frozenset(("Residues", "Patches", "InitializationScript"))


def parts(name: str | Path) -> list[Path]:
    """Return a force-field file and those it includes."""
    path = Path(name) if Path(name).is_absolute() else DATA / name
    root = ET.parse(path).getroot()
    return [part for include in root.findall("Include") for part in parts(path.parent / include.attrib["file"])] + [
        path
    ]


def elements(path: str | Path) -> Counter[str]:
    """Count the elements below each force of a file and its parts, by a parser of its own."""
    found: Counter[str] = Counter()
    for part in parts(path):
        for force in ET.parse(part).getroot():
            if force.tag not in TEMPLATES:
                found.update(f"{force.tag}/{child.tag}" for child in force)
    return found


def templates(path: str | Path, folder: Path) -> list[str]:
    """Write the residue templates of a file and its parts, without forces and types."""
    written: list[str] = []
    for part in parts(path):
        tree = ET.parse(part)
        root = tree.getroot()
        for child in list(root):
            if child.tag not in TEMPLATES:
                root.remove(child)
        target = folder / f"templates-{len(written)}.xml"
        tree.write(target)
        written.append(str(target))
    return written


def energy(files: list[str], pdb: Path) -> float:
    structure = app.PDBFile(str(pdb))
    system = app.ForceField(*files).createSystem(
        structure.topology, nonbondedMethod=app.NoCutoff, constraints=None, rigidWater=False, removeCMMotion=False
    )
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(structure.positions)
    value: Any = context.getState(getEnergy=True).getPotentialEnergy()
    return float(value.value_in_unit(openmm.unit.kilojoule_per_mole))


def count(forcefield: ForceField, category: str, *styles: str) -> int:
    return sum(len(style) for style in forcefield.of_category(category) if not styles or style.name in styles)


@pytest.mark.parametrize("name", ["amber14-all.xml", "charmm36.xml", "amber14/tip3p.xml", "amber99sbildn.xml"])
def test_shipped_files_are_read_without_loss(name: str, tmp_path: Path) -> None:
    notes = Notes()
    forcefield = read_openmm(DATA / name, notes).forcefield
    expected = elements(name)
    assert count(forcefield, "atom") == expected["AtomTypes/Type"]
    assert count(forcefield, "bond") == expected["HarmonicBondForce/Bond"]
    assert count(forcefield, "angle") == expected["HarmonicAngleForce/Angle"]
    assert count(forcefield, "urey_bradley") == expected["AmoebaUreyBradleyForce/UreyBradley"]
    assert count(forcefield, "dihedral") == expected["PeriodicTorsionForce/Proper"]
    assert count(forcefield, "improper", "periodic") == expected["PeriodicTorsionForce/Improper"]
    assert count(forcefield, "improper", "harmonic", "custom1") == expected["CustomTorsionForce/Improper"]
    assert count(forcefield, "cmap") == expected["CMAPTorsionForce/Torsion"]
    pairs = expected["LennardJonesForce/Atom"] or expected["NonbondedForce/Atom"]
    assert count(forcefield, "pair", "lj/cut") == pairs + expected["LennardJonesForce/NBFixPair"]
    assert {note.subject for note in notes if note.lost} <= {
        "<Residues>",
        "<Patches>",
        "<Info>",
        "<InitializationScript>",
    }
    written = tmp_path / "written.xml"
    write_openmm(written, forcefield, None, Notes(strict=True))
    again = read_openmm(written, Notes(strict=True)).forcefield
    again.source = forcefield.source
    assert again == forcefield


def test_a_parameter_set_by_hand_from_charmm36_is_what_is_stored() -> None:
    forcefield = read_openmm(DATA / "charmm36.xml", Notes()).forcefield
    assert dict(forcefield.style("bond", "harmonic")["NH2-CT1"]) == {"k": 200831.99999999997, "r0": 0.14550000000000002}
    assert dict(forcefield.style("pair14", "lj/cut")["CT2"]) == {"epsilon": 0.04184, "sigma": 0.3385415128933289}
    assert dict(forcefield.style("pair", "lj/cut")["MG-SO"])["epsilon"] == 0.8631592000000001
    grids = [str(row["grid"]).split() for row in forcefield.style("cmap", "charmm")]
    assert [len(grid) for grid in grids] == [24 * 24] * 8


@pytest.mark.parametrize("case", golden.names("openmm"))
def test_a_case_written_again_has_the_engines_own_energy(case: str, tmp_path: Path) -> None:
    files = golden.load(case)["files"]
    sources = [golden.case(case) / name for name in files.get("xml", [])] or files["xml_shipped_with_openmm"]
    written = []
    for number, source in enumerate(sources):
        forcefield = read_openmm(source if isinstance(source, Path) else DATA / source, Notes()).forcefield
        target = tmp_path / f"written-{number}.xml"
        write_openmm(target, forcefield, None, Notes(strict=True))
        folder = tmp_path / str(number)
        folder.mkdir()
        written += [str(target), *templates(source, folder)]
    found = energy(written, golden.case(case) / files["pdb"])
    assert found == pytest.approx(golden.load(case)["energies"]["total"], rel=1e-10)


def test_the_coulomb_constant_is_the_engines_own() -> None:
    system = openmm.System()
    force = openmm.NonbondedForce()
    for charge in (1.0, 1.0):
        system.addParticle(1.0)
        force.addParticle(charge, 1.0, 0.0)
    system.addForce(force)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions([(0, 0, 0), (1, 0, 0)])
    value: Any = context.getState(getEnergy=True).getPotentialEnergy()
    assert value.value_in_unit(openmm.unit.kilojoule_per_mole) == pytest.approx(COULOMB, rel=1e-14)


@pytest.mark.parametrize("case", golden.names("openmm"))
def test_a_case_read_is_priced_as_openmm_priced_it(case: str) -> None:
    expected = golden.load(case)
    files = expected["files"]
    source = golden.case(case) / files["xml"][0] if "xml" in files else DATA / files["xml_shipped_with_openmm"][0]
    forcefield = read_openmm(source, Notes()).forcefield
    frame = case_frame(case, forcefield)
    found = priced(frame, forcefield, linked=link(frame, forcefield, by_endpoints=True))
    # maps are kept, not priced
    without_maps = expected["energies"]["total"] - expected["energies"].get("cmap", 0.0)
    assert found.total == pytest.approx(without_maps, rel=1e-9)
    if "cmap" not in expected["energies"]:
        forces = np.array(expected["forces"])
        assert found.forces is not None
        assert np.abs(found.forces - forces).max() < 1e-8 * np.abs(forces).max()
