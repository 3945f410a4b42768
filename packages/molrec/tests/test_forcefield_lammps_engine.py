"""LAMMPS itself runs what was read and written again: the same energies and forces as before."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from molrec.forcefield.energies import energy as priced
from molrec.formats.forcefield_lammps import read_lammps
from molrec.formats.forcefield_lammps_styles import COULOMB_CONSTANTS
from molrec.formats.forcefield_lammps_writer import write_lammps
from molrec.formats.notes import Notes

from . import forcefield_golden as golden
from .lammps_engine import gathered, lammps_engine

pytestmark = pytest.mark.engines

PARTS = {
    "total": "pe", "bond": "ebond", "angle": "eangle", "dihedral": "edihed", "improper": "eimp", "vdw": "evdwl",
    "coul": "ecoul",
}  # fmt: skip


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str = "in.lammps") -> tuple[dict[str, float], Any]:
    monkeypatch.chdir(folder)
    engine = lammps_engine()
    try:
        engine.file(script)
        energies = {part: engine.get_thermo(key) for part, key in PARTS.items()}
        return energies, gathered(engine, "f", 1)
    finally:
        engine.close()


@pytest.mark.parametrize("case", golden.names("lammps"))
def test_a_case_written_again_has_the_engines_own_energies(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(golden.case(case), tmp_path / case)
    forcefield = read_lammps(folder / "in.lammps", Notes()).forcefield
    write_lammps(folder / "forcefield.in", forcefield, None, Notes(strict=True))
    energies, forces = run(folder, monkeypatch)
    expected = golden.load(case)
    for part, energy in expected["energies"].items():
        assert energies[part] == pytest.approx(energy, rel=1e-9, abs=1e-9)
    reference = np.array(expected["forces"])
    assert np.abs(forces - reference).max() <= 1e-9 * max(np.abs(reference).max(), 1.0)


#: Styles beyond the golden cases: what stands after ``read_data`` of a case's data file.
SCRIPTS = {
    "a hybrid pair style that mixes": (
        "pair_lj_cut_arithmetic",
        (
            "pair_style hybrid lj/cut 7 buck 6\npair_modify mix arithmetic\npair_coeff CT CT lj/cut 0.1 3\n"
            "pair_coeff HC HC lj/cut 0.2 2.5\npair_coeff * O buck 1000 0.3 20\n"
        ),
    ),
    "an overlay without mixing": (
        "special_bonds_chain",
        (
            "pair_style hybrid/overlay lj/cut 7 coul/cut 6\npair_coeff * * coul/cut\npair_coeff 1 1 lj/cut 0.1 3\n"
            "pair_coeff 2 2 lj/cut 0.2 2.5\nspecial_bonds lj 0.1 0.2 0.3\nbond_style zero\nbond_coeff * 1.5\n"
            "angle_style zero\nangle_coeff *\n"
        ),
    ),
    "cutoffs of single pairs": (
        "pair_lj_cut_arithmetic",
        (
            "pair_style lj/cut 7\npair_modify mix sixthpower\npair_coeff CT CT 0.1 3 4.5\npair_coeff HC HC 0.2 2.5\n"
            "pair_coeff O O 0.05 2.7 6\npair_coeff CT O 0.3 2.2 5.5\n"
        ),
    ),
    "cutoffs of single pairs beside Coulomb energies": (
        "special_bonds_chain",
        (
            "pair_style hybrid/overlay lj/cut 7 coul/cut 6\npair_coeff * * coul/cut\npair_coeff 1 1 lj/cut 0.1 3 5\n"
            "pair_coeff 2 2 lj/cut 0.2 2.5\nspecial_bonds lj 0.1 0.2 0.3\nbond_style zero\nbond_coeff * 1.5\n"
            "angle_style zero\nangle_coeff *\n"
        ),
    ),
    "mie and a shift": (
        "pair_lj_cut_arithmetic",
        (
            "pair_style mie/cut 7\npair_modify mix arithmetic shift yes\npair_coeff CT CT 0.1 3 14 7\n"
            "pair_coeff HC HC 0.2 2.5 14 7\npair_coeff O O 0.05 2.7 14 7\n"
        ),
    ),
    "class2 pairs with charges": (
        "special_bonds_chain",
        (
            "dielectric 1.5\npair_style lj/class2/coul/cut 7 6\npair_coeff 1 1 0.1 3\npair_coeff 2 2 0.2 2.5\n"
            "special_bonds lj/coul 0.1 0.2 0.3\nbond_style zero\nbond_coeff *\nangle_style zero\nangle_coeff * 90\n"
        ),
    ),
    "bonds of own expressions": (
        "bond_morse",
        (
            "pair_style zero 10\npair_coeff * *\nbond_style hybrid gromos fene\nbond_coeff 1 gromos 20 1.1\n"
            "bond_coeff 2 fene 30 4.5 1 1\n"
        ),
    ),
    "Urey-Bradley springs": (
        "angle_harmonic",
        (
            "pair_style zero 10\npair_coeff * *\nangle_style hybrid charmm harmonic\n"
            "angle_coeff * charmm 30 110 5 2.2\nangle_coeff 1 harmonic 20 100\n"
        ),
    ),
    "class2 dihedrals": (
        "dihedral_opls",
        (
            "pair_style zero 10\npair_coeff * *\ndihedral_style class2\ndihedral_coeff * 1 10 2 20 3 30\n"
            "dihedral_coeff * mbt 0 0 0 1\ndihedral_coeff * ebt 0 0 0 0 0 0 1 1\n"
            "dihedral_coeff * at 0 0 0 0 0 0 90 90\ndihedral_coeff * aat 0 90 90\ndihedral_coeff * bb13 0 1 1\n"
        ),
    ),
    "hybrid dihedrals": (
        "dihedral_opls",
        (
            "pair_style zero 10\npair_coeff * *\ndihedral_style hybrid opls harmonic charmm\n"
            "dihedral_coeff * opls 1 2 3 4\ndihedral_coeff 2 harmonic 1 -1 2\ndihedral_coeff 3 charmm 1 3 60 0\n"
        ),
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_other_styles_written_again_have_the_same_energies(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, text = SCRIPTS[name]
    folder = shutil.copytree(golden.case(case), tmp_path / case)
    (folder / "forcefield.in").write_text(text)
    before, forces_before = run(folder, monkeypatch)
    forcefield, system = read_lammps(folder / "in.lammps", Notes())
    write_lammps(folder / "forcefield.in", forcefield, None, Notes(strict=True))
    after, forces_after = run(folder, monkeypatch)
    assert system is not None
    assert priced(system, forcefield).total == pytest.approx(before["total"], rel=1e-9)
    assert before["total"] != 0.0
    assert after == pytest.approx(before, rel=1e-12, abs=1e-12)
    assert np.allclose(forces_after, forces_before, rtol=1e-12, atol=1e-12)


def test_the_coulomb_constants_are_the_engines_own() -> None:
    engine = lammps_engine()
    try:
        for units, constant in COULOMB_CONSTANTS.items():
            engine.command("clear")
            engine.command(f"units {units}")
            assert engine.extract_global("qqr2e") == pytest.approx(constant, rel=1e-15)
    finally:
        engine.close()
