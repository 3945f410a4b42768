"""``molrec forcefield`` and ``molrec convert --forcefield``: a system and what prices it, into one record and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import molrec as mr
from molrec.cli.app import app
from molrec.conversion import convert
from molrec.forcefield import energy
from molrec.forcefield_conversion import convert_forcefield, load_forcefield

from .refusals import refused

INCLUDE = """\
# ethane's carbons
units real
atom_style full
bond_style harmonic
pair_style lj/cut 10.0
special_bonds lj 0.0 0.0 0.5
pair_coeff 1 1 0.066 3.5
bond_coeff 1 268.0 1.529
"""

DATA = """\
two carbons

2 atoms
1 bonds
1 atom types
1 bond types

0 20 xlo xhi
0 20 ylo yhi
0 20 zlo zhi

Masses

1 12.011

Atoms # full

1 1 1 0.0 5.0 5.0 5.0
2 1 1 0.0 6.6 5.0 5.0

Bonds

1 1 1 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ff.in").write_text(INCLUDE)
    (tmp_path / "ethane.data").write_text(DATA)
    return tmp_path


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_force_field_becomes_a_record_and_a_file_again(folder: Path) -> None:
    done = convert_forcefield(folder / "ff.in", folder / "ff.mrec")
    assert done.styles["bond.harmonic"] == 1
    with mr.open(folder / "ff.mrec") as record:
        assert record.sections == ("forcefield", "meta")
        assert record.forcefield is not None
        assert dict(next(iter(record.forcefield.style("bond", "harmonic")))) == {"k": 536.0, "r0": 1.529}
    convert_forcefield(folder / "ff.mrec", folder / "again.in", target_format="lammps")
    again = load_forcefield(folder / "again.in", source_format="lammps").forcefield
    first = load_forcefield(folder / "ff.mrec").forcefield
    assert [(style.block, [dict(row) for row in style]) for style in again.styles] == [
        (style.block, [dict(row) for row in style]) for style in first.styles
    ]


def test_a_system_and_its_force_field_become_one_record(folder: Path) -> None:
    convert([folder / "ff.in", folder / "ethane.data"], folder / "ethane.mrec", forcefield=True)
    with mr.open(folder / "ethane.mrec") as record:
        assert record.system is not None
        assert record.system["bonds"]["atomj"].tolist() == [1]
        assert record.forcefield is not None
        assert record.forcefield.style("pair", "lj/cut").params["cutoff"] == 10.0
        assert record.meta["modules"] == {"forcefield": {"version": [1, 0]}}


def test_the_record_of_a_system_is_priced_whole(folder: Path) -> None:
    convert([folder / "ff.in", folder / "ethane.data"], folder / "ethane.mrec", forcefield=True)
    with mr.open(folder / "ethane.mrec") as record:
        whole = record.joined()
        assert {"x", "type", "mass", "id"} <= set(whole["atoms"].columns)
        assert record.forcefield is not None
        found = energy(whole, record.forcefield)
    assert found.styles["bond.harmonic"] == pytest.approx(268.0 * (1.6 - 1.529) ** 2, rel=1e-12)
    assert found.total == pytest.approx(found.styles["bond.harmonic"], rel=1e-12)


def test_the_commands_print_what_they_did(folder: Path) -> None:
    assert "bond.harmonic 1" in run("forcefield", "convert", folder / "ff.in", folder / "ff.mrec")
    shown = run("forcefield", "show", folder / "ff.mrec")
    assert "bond harmonic: 1 rows" in shown
    assert "1.529" in shown
    facts = json.loads(run("forcefield", "show", folder / "ff.mrec", "--json"))
    assert facts["units"] == {"preset": "real"}
    assert [style["category"] for style in facts["styles"]].count("bond") == 1
    assert "1 frame" in run("convert", folder / "ff.in", folder / "ethane.data", folder / "e.mrec", "--forcefield")


def test_what_has_no_force_field_is_refused(folder: Path) -> None:
    mr.write(folder / "a.mrec", frame=mr.Frame({"atoms": mr.Block({"x": [0.0]})}))
    with refused("reject-ff-none", "a.mrec"):
        load_forcefield(folder / "a.mrec")
    with refused("reject-no-frames", "ff.in"):
        convert([folder / "ff.in"], folder / "b.mrec", forcefield=True)
    assert not (folder / "b.mrec").exists()


def test_an_output_that_is_there_is_not_replaced_unasked(folder: Path) -> None:
    (folder / "out.in").write_text("mine")
    with refused("reject-existing-path", "out.in"):
        convert_forcefield(folder / "ff.in", folder / "out.in")
    assert (folder / "out.in").read_text() == "mine"
    convert_forcefield(folder / "ff.in", folder / "out.in", overwrite=True)
    assert "bond_coeff" in (folder / "out.in").read_text()
