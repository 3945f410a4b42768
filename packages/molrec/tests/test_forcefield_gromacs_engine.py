"""Written GROMACS topologies in OpenMM's reader, and a real GROMOS topology of MDAnalysisTests."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from molrec.formats.forcefield_gromacs import read_gromacs
from molrec.formats.forcefield_gromacs_writer import write_gromacs
from molrec.formats.gro import GroSource
from molrec.formats.notes import Notes

from . import forcefield_golden as golden

pytestmark = pytest.mark.engines


def openmm_energy(topology: Path, positions: Any) -> float:
    """Return the energy of OpenMM's own reader, all pairs, in kJ/mol."""
    app, openmm = pytest.importorskip("openmm.app"), pytest.importorskip("openmm")
    system = app.GromacsTopFile(str(topology)).createSystem(
        nonbondedMethod=app.NoCutoff, constraints=None, rigidWater=False, removeCMMotion=False
    )
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions)
    return float(context.getState(getEnergy=True).getPotentialEnergy()._value)


# OpenMM's reader leaves its files open
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("case", golden.names("gromacs"))
def test_a_case_written_again_has_the_energy_gromacs_gave(case: str, tmp_path: Path) -> None:
    forcefield, system = read_gromacs(golden.case(case) / "topol.top", Notes())
    path = tmp_path / "written.top"
    write_gromacs(path, forcefield, system, Notes(strict=True))
    (structure,) = GroSource(golden.case(case) / "conf.gro").frames(Notes())
    positions = np.stack([structure["atoms"][axis] for axis in "xyz"], axis=1)
    expected = golden.load(case)["energies"]["total"]
    assert openmm_energy(path, positions) == pytest.approx(expected, abs=2e-7)


def test_a_gromos_topology_is_read_without_loss(tmp_path: Path) -> None:
    mdanalysis = pytest.importorskip("MDAnalysis")
    datafiles = pytest.importorskip("MDAnalysisTests.datafiles")
    data = Path(datafiles.__file__).parent / "data"
    shutil.copytree(data / "gromacs" / "gromos54a7_edited.ff", tmp_path / "gromos54a7_edited.ff")
    for name in ("gromacs_ala10.top", "gromacs_ala10.itp"):
        shutil.copy(data / name, tmp_path)
    forcefield, system = read_gromacs(tmp_path / "gromacs_ala10.top", Notes(strict=True))
    assert system is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        witness = mdanalysis.Universe(str(tmp_path / "gromacs_ala10.top"), topology_format="ITP", infer_system=True)
    atoms = system["atoms"]
    assert atoms["name"].tolist() == witness.atoms.names.tolist()
    assert atoms["type"].tolist() == witness.atoms.types.tolist()
    assert atoms["charge"].astype(np.float32).tolist() == witness.atoms.charges.tolist()
    assert system["angles"].rows == len(witness.angles)
    # MDAnalysis counts four atoms once, however many rows they have
    quadruples = np.stack([system["dihedrals"][end] for end in ("atomi", "atomj", "atomk", "atoml")], axis=1)
    assert len(np.unique(quadruples, axis=0)) == len(witness.dihedrals)
    assert system["impropers"].rows == len(witness.impropers)
    assert len(forcefield.style("atom", "full")) == 57
    # two rows of [ nonbond_params ] and [ pairtypes ] for one pair are one row here, the later one
    assert len(forcefield.style("pair14", "lj/cut")) == 1540
    path = tmp_path / "written.top"
    write_gromacs(path, forcefield, system, Notes())
    again, system_again = read_gromacs(path, Notes())
    assert system_again == system
    for style in forcefield.styles:
        assert len(again.style(style.category, style.name)) == len(style)
