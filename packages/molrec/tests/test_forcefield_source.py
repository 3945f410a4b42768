"""Foreign force fields through the one interface: which format a file is in, what is refused, what is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import molrec as mr
from molrec.formats.forcefield_source import forcefield_formats, read_forcefield, write_forcefield
from molrec.formats.notes import ConversionWarning, Notes
from molrec.model.forcefield import ForceField

from . import forcefield_golden as golden
from .refusals import refused

UNKNOWN = "reject-ff-source-unknown"
XML = '<ForceField><AtomTypes><Type name="A" class="A" mass="1.0"/></AtomTypes></ForceField>'
TOP = "[ defaults ]\n1 2 yes 0.5 0.5\n[ atomtypes ]\nA 6 12.0 0.0 A 0.3 0.4\n"
SCRIPT = "units real\nbond_style harmonic\nbond_coeff 1 1 1\n"


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [(XML, "a.txt", "openmm-xml"), (TOP, "a.txt", "gromacs"), (SCRIPT, "a.txt", "lammps"), (TOP, "a.xml", "gromacs")],
)
def test_content_decides_before_the_suffix(tmp_path: Path, text: str, name: str, expected: str) -> None:
    (tmp_path / name).write_text(text)
    source = read_forcefield(tmp_path / name, notes=Notes()).forcefield.source
    assert source is not None
    assert (source["format"], source["uri"]) == (expected, name)


@pytest.mark.parametrize(
    ("case", "file", "expected"),
    [
        ("bond_harmonic", "in.lammps", "lammps"),
        ("bond_harmonic", "forcefield.in", "lammps"),
        ("bond_harmonic", "system.data", "lammps"),
        ("gromacs_butane_opls", "topol.top", "gromacs"),
        ("gromacs_butane_opls", "forcefield.itp", "gromacs"),
        ("openmm_xml_nma", "forcefield.xml", "openmm-xml"),
    ],
)
def test_golden_files_are_recognized(case: str, file: str, expected: str) -> None:
    units = "real" if file in ("forcefield.in", "system.data") else None
    forcefield, system = read_forcefield(golden.case(case) / file, units=units, notes=Notes())
    assert forcefield.source is not None
    assert forcefield.source["format"] == expected
    assert (system is not None) == (file in ("in.lammps", "system.data", "topol.top"))


def test_a_loss_is_a_warning_where_no_notes_are_given(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(XML.replace("</ForceField>", "<Residues/></ForceField>"))
    with pytest.warns(ConversionWarning, match="Residues"):
        read_forcefield(tmp_path / "a.xml")
    with refused("reject-lossy-conversion", "<Residues>"):
        read_forcefield(tmp_path / "a.xml", notes=Notes(strict=True))


def test_the_suffix_decides_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.top").write_text(TOP)
    forcefield = read_forcefield(tmp_path / "a.top").forcefield
    for name in ("out.xml", "out.itp"):
        write_forcefield(tmp_path / name, forcefield, notes=Notes())
        again = read_forcefield(tmp_path / name, notes=Notes()).forcefield
        assert dict(again.style("pair", "lj/cut")["A"]) == {"sigma": 0.3, "epsilon": 0.4}
        assert again.special_bonds == forcefield.special_bonds
    write_forcefield(tmp_path / "named", forcefield, format_name="gromacs")
    assert (tmp_path / "named").read_bytes() == (tmp_path / "out.itp").read_bytes()


def test_a_lammps_system_becomes_a_gromacs_one_only_after_its_units_are_converted(tmp_path: Path) -> None:
    forcefield, system = read_forcefield(golden.case("butane_oplsaa") / "in.lammps", notes=Notes())
    with refused("reject-ff-target", "angstrom"):
        write_forcefield(tmp_path / "a.top", forcefield, system)
    assert not (tmp_path / "a.top").exists()


def test_terms_typed_by_name_carry_their_parameters_into_a_topology(tmp_path: Path) -> None:
    forcefield = ForceField("made", {"length": "nm", "energy": "kJ/mol"}, {"lj": (0, 0, 0.5), "coul": (0, 0, 0.5)})
    atoms = forcefield.define_style("atom", "full")
    pairs = forcefield.define_style("pair", "lj/cut", {"mixing": "geometric"})
    for name in "AB":
        atoms.add(name, mass=12.0, charge=0.25)
        pairs.add(name, (name, name), sigma=0.3, epsilon=0.4)
    forcefield.define_style("pair", "coul/cut")
    bonds = forcefield.define_style("bond", "harmonic")
    bonds.add("1", ("", ""), k=5.0, r0=0.125)
    system = mr.Frame({"atoms": mr.Block({"type": ["A", "B", "A", "B"], "res_id": np.ones(4, dtype=np.uint64)})})
    chain = np.arange(3, dtype=np.uint64)
    system["bonds"] = mr.Block({"atomi": chain, "atomj": chain + 1, "type": ["1"] * 3})
    write_forcefield(tmp_path / "a.top", forcefield, system)
    again, found = read_forcefield(tmp_path / "a.top")
    assert found is not None
    assert found["bonds"]["k"].tolist() == [5.0] * 3
    assert found["pairs"]["atomi"].tolist() == [0]
    assert found["atoms"]["charge"].tolist() == [0.25] * 4
    assert again.special_bonds == forcefield.special_bonds


def test_unknown_files_formats_and_names_are_refused(tmp_path: Path) -> None:
    assert list(forcefield_formats()) == ["openmm-xml", "amber-prmtop", "gromacs", "lammps"]
    (tmp_path / "a.txt").write_text("nothing of the kind\n")
    forcefield = ForceField("x", "real")
    with refused(UNKNOWN, "a.txt", "gromacs"):
        read_forcefield(tmp_path / "a.txt")
    with refused("reject-no-such-file", "none.top"):
        read_forcefield(tmp_path / "none.top")
    with refused(UNKNOWN, "'charmm'", "lammps"):
        read_forcefield(tmp_path / "a.txt", format_name="charmm")
    with refused(UNKNOWN, "a.txt", "lammps"):
        write_forcefield(tmp_path / "a.txt", forcefield)
    assert (tmp_path / "a.txt").read_text() == "nothing of the kind\n"


def test_numbers_of_another_meaning_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "a.top").write_text(TOP)
    forcefield = read_forcefield(tmp_path / "a.top").forcefield
    forcefield.version = None
    with refused("reject-ff-other-meaning", "no version"):
        write_forcefield(tmp_path / "out.itp", forcefield)
    assert not (tmp_path / "out.itp").exists()
