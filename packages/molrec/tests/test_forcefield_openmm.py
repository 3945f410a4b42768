"""Force-field XML of OpenMM and foyer: what is read exactly, what is kept under its own word, what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from molrec.forcefield.energies import energy
from molrec.forcefield.linking import link
from molrec.formats.forcefield_openmm import COULOMB, read_openmm
from molrec.formats.forcefield_openmm_writer import write_openmm
from molrec.formats.forcefield_rows import TorsionTerm, torsion_parameters
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField

from . import forcefield_golden as golden
from .forcefield_openmm_frames import case_frame
from .refusals import refused

UNSUPPORTED = "reject-ff-source-unsupported"
MALFORMED = "reject-ff-source-malformed"
TARGET = "reject-ff-target"

TYPES = (
    '<AtomTypes><Type name="A1" class="A" element="C" mass="12"/><Type name="A2" class="A" element="C" mass="12"/>'
    '<Type name="B" class="B" element="O" mass="16"/></AtomTypes>'
)


def xml(tmp_path: Path, body: str, top: str = "", notes: Notes | None = None, types: str = TYPES) -> ForceField:
    path = tmp_path / "ff.xml"
    path.write_text(f"<ForceField{top}>\n{types}\n{body}\n</ForceField>")
    return read_openmm(path, Notes(strict=True) if notes is None else notes).forcefield


def rewritten(forcefield: ForceField, tmp_path: Path) -> ForceField:
    path = tmp_path / "written.xml"
    write_openmm(path, forcefield, None, Notes(strict=True))
    return read_openmm(path, Notes(strict=True)).forcefield


def same(first: ForceField, second: ForceField) -> bool:
    first.source = second.source = None
    return first == second


def test_the_hand_written_case_is_read_whole(tmp_path: Path) -> None:
    notes = Notes()
    forcefield = read_openmm(golden.case("openmm_xml_nma") / "forcefield.xml", notes).forcefield
    assert [note.subject for note in notes] == ["<Residues>"]
    assert forcefield.units["length"] == "nm"
    assert forcefield.special_bonds == {"lj": (0.0, 0.0, 0.5), "coul": (0.0, 0.0, 0.833333)}
    atoms = forcefield.style("atom", "full")
    assert {row.name: row["class"] for row in atoms}["CTN"] == "CT"
    # one bond names types, the others classes: all are written out as types
    bonds = {row.endpoints: dict(row) for row in forcefield.style("bond", "harmonic")}
    assert forcefield.style("bond", "harmonic").endpoint_key == "type"
    assert bonds["CTN", "N"] == {"k": 282001.6, "r0": 0.1449}
    assert bonds["CT3", "H1"] == {"k": 284512.0, "r0": 0.109}
    angles = forcefield.style("angle", "harmonic")
    assert angles.endpoint_key == "class"
    assert len(angles) == 9
    torsions = forcefield.style("dihedral", "periodic")
    assert dict(torsions["HC-CT-C-O"]) == {
        "k1": 3.3472, "periodicity1": 1, "phase1": 0.0, "k2": 0.33472, "periodicity2": 3, "phase2": math.pi
    }  # fmt: skip
    assert torsions["*-C-N-*"].endpoints == ("", "C", "N", "")
    assert dict(forcefield.style("dihedral", "rb")["HC-CT-C-N"])["c3"] == -3.2
    assert len(forcefield.style("improper", "periodic")) == 2
    pairs = forcefield.style("pair", "lj/cut")
    assert pairs.params == {"mixing": "arithmetic"}
    assert dict(pairs["O"]) == {"sigma": 0.295992, "epsilon": 0.87864}
    assert forcefield.style("pair", "coul/cut").params == {"coulomb": COULOMB, "dielectric": 1.0}
    assert same(rewritten(forcefield, tmp_path), forcefield)


def test_foyer_attributes_are_annotations(tmp_path: Path) -> None:
    types = (
        '<AtomTypes><Type name="opls_135" class="CT" element="C" mass="12.01" def="[C;X4](H)(H)H" desc="CH3"'
        ' doi="10.1/x" overrides="opls_136"/></AtomTypes>'
    )
    forcefield = xml(
        tmp_path,
        '<NonbondedForce coulomb14scale="0.5" lj14scale="0.5">'
        '<Atom type="opls_135" charge="-0.18" sigma="0.35" epsilon="0.276144"/></NonbondedForce>',
        ' name="OPLS-AA" version="0.1" combining_rule="geometric"',
        types=types,
    )
    assert dict(forcefield.style("atom", "full")["opls_135"]) == {
        "mass": 12.01, "class": "CT", "element": "C", "smarts": "[C;X4](H)(H)H", "desc": "CH3", "doi": "10.1/x",
        "overrides": "opls_136", "charge": -0.18,
    }  # fmt: skip
    assert forcefield.name == "OPLS-AA"
    assert forcefield.style("pair", "lj/cut").params["mixing"] == "geometric"
    written = rewritten(forcefield, tmp_path)
    assert dict(written.style("atom", "full")["opls_135"]) == dict(forcefield.style("atom", "full")["opls_135"])
    assert written.extra == {"version": "0.1"}


CHARMM = (
    '<AmoebaUreyBradleyForce><UreyBradley type1="A1" type2="B" type3="A1" d="0.2" k="8368.0"/>'
    "</AmoebaUreyBradleyForce>"
    '<CustomTorsionForce energy="k*(theta-theta0)^2"><PerTorsionParameter name="k"/>'
    '<PerTorsionParameter name="theta0"/>'
    '<Improper type1="A1" type2="" type3="" type4="B" k="502.08" theta0="0.0"/>'
    '<Improper type1="A2" type2="" type3="" type4="B" k="58.0" theta0="3.141592653589793"/></CustomTorsionForce>'
    "<CMAPTorsionForce><Map>1.5 2 3 4</Map><Map>0 0 0 1e-3</Map>"
    '<Torsion map="1" type1="A1" type2="A2" type3="B" type4="A1" type5="A2"/></CMAPTorsionForce>'
    '<NonbondedForce coulomb14scale="1.0" lj14scale="1.0" useDispersionCorrection="False">'
    '<UseAttributeFromResidue name="charge"/>'
    '<Atom type="A1" sigma="1.0" epsilon="0.0"/><Atom type="A2" sigma="1.0" epsilon="0.0"/>'
    '<Atom type="B" sigma="1.0" epsilon="0.0"/></NonbondedForce>'
    '<LennardJonesForce lj14scale="1.0" useDispersionCorrection="False">'
    '<Atom type="A1" sigma="0.35" epsilon="0.2" sigma14="0.33" epsilon14="0.04"/>'
    '<Atom type="A2" sigma="0.36" epsilon="0.3"/><Atom type="B" sigma="0.3" epsilon="0.5"/>'
    '<NBFixPair type1="A1" type2="B" sigma="0.31" epsilon="0.25"/></LennardJonesForce>'
)


def test_charmm_terms_stand_under_words_of_their_own(tmp_path: Path) -> None:
    forcefield = xml(tmp_path, CHARMM)
    springs = forcefield.style("urey_bradley", "harmonic")
    assert springs.expression == "0.5*k*(r-r0)^2"
    assert dict(springs["A1-B-A1"]) == {"k": 16736.0, "r0": 0.2}
    # a reference of 0 does not need the sign of the angle; any other does, and keeps it
    assert dict(forcefield.style("improper", "harmonic")["A1-*-*-B"]) == {"k": 502.08, "chi0": 0.0}
    signed = forcefield.style("improper", "custom1")
    assert signed.expression == "k*(phi-theta0)^2"
    assert dict(signed["A2-*-*-B"]) == {"k": 58.0, "theta0": math.pi}
    (torsion,) = forcefield.style("cmap", "charmm")
    assert torsion.endpoints == ("A1", "A2", "B", "A1")
    assert dict(torsion) == {"mtom": "A2", "grid": "0.0 0.0 0.0 0.001"}
    assert forcefield.special_bonds == {"lj": (0.0, 0.0, 0.0), "coul": (0.0, 0.0, 1.0)}
    assert dict(forcefield.style("pair", "lj/cut")["A1-B"]) == {"sigma": 0.31, "epsilon": 0.25}
    near = forcefield.style("pair14", "lj/cut")
    assert dict(near["A1"]) == {"sigma": 0.33, "epsilon": 0.04}
    assert dict(near["A2"]) == {"sigma": 0.36, "epsilon": 0.3}
    assert dict(near["A1-B"]) == {"sigma": 0.31, "epsilon": 0.25}


def test_charmm_terms_come_back_but_for_a_map_no_torsion_uses(tmp_path: Path) -> None:
    forcefield = xml(tmp_path, CHARMM)
    assert same(rewritten(forcefield, tmp_path), forcefield)


def test_custom_forces_become_the_registered_style_of_their_formula_or_carry_it(tmp_path: Path) -> None:
    forcefield = xml(
        tmp_path,
        '<CustomBondForce energy="D*(1-exp(-alpha*(r-r0)))^2"><PerBondParameter name="D"/>'
        '<PerBondParameter name="alpha"/><PerBondParameter name="r0"/>'
        '<Bond class1="A" class2="B" D="400" alpha="20" r0="0.1"/></CustomBondForce>'
        '<CustomAngleForce energy="scale*k*(cos(theta)-c)^2" name="cosine"><GlobalParameter name="scale"'
        ' defaultValue="2"/><PerAngleParameter name="k"/><PerAngleParameter name="c"/>'
        '<Angle class1="A" class2="B" class3="A" k="1" c="0.5"/></CustomAngleForce>',
    )
    assert dict(forcefield.style("bond", "morse")["A-B"]) == {"D": 400.0, "alpha": 20.0, "r0": 0.1}
    cosine = forcefield.style("angle", "cosine")
    assert cosine.expression == "scale*k*(cos(theta)-c)^2"
    assert cosine.params == {"scale": 2.0}
    assert same(rewritten(forcefield, tmp_path), forcefield)


@pytest.mark.parametrize(
    ("category", "style", "params"),
    [
        ("bond", "class2", {"r0": 0.1, "k2": 1.0, "k3": 2.0, "k4": 3.0}),
        ("angle", "class2", {"theta0": 2.0, "k2": 1.0, "k3": 2.0, "k4": 3.0}),
        ("dihedral", "opls", {"k1": 1.0, "k2": 2.0, "k3": 3.0, "k4": 4.0}),
        ("dihedral", "charmm", {"k": 1.0, "periodicity": 2, "phase": 0.5}),
        ("dihedral", "harmonic", {"k": 1.0, "sign": -1, "periodicity": 2}),
        ("dihedral", "multi/harmonic", {f"a{number}": float(number) for number in range(1, 6)}),
        ("improper", "cvff", {"k": 1.0, "sign": -1, "periodicity": 2}),
        ("improper", "harmonic", {"k": 1.0, "chi0": 0.3}),
        ("improper", "rb", {f"c{number}": float(number) for number in range(6)}),
    ],
)
def test_registered_styles_are_written_as_custom_forces_and_come_back(
    tmp_path: Path, category: str, style: str, params: dict[str, float]
) -> None:
    forcefield = xml(tmp_path, "")
    expression = "c0-c1*cos(phi)+c2*cos(phi)^2-c3*cos(phi)^3+c4*cos(phi)^4-c5*cos(phi)^5" if style == "rb" else None
    ends = ["A1"] * {"bond": 2, "angle": 3}.get(category, 4)
    forcefield.define_style(category, style, expression=expression).add("-".join(ends), ends, **params)
    assert same(rewritten(forcefield, tmp_path), forcefield)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(k=NUMBERS, length=NUMBERS,
       torsion=st.lists(st.tuples(NUMBERS, st.integers(0, 12), NUMBERS), min_size=1, max_size=6),
       wells=st.tuples(*[NUMBERS] * 6), scales=st.tuples(NUMBERS, NUMBERS))  # fmt: skip
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_number_comes_back_bit_for_bit(
    tmp_path: Path,
    k: float,
    length: float,
    torsion: list[tuple[float, int, float]],
    wells: tuple[float, ...],
    scales: tuple[float, float],
) -> None:
    forcefield = xml(tmp_path, "")
    forcefield.special_bonds = {"lj": (0.0, 0.0, scales[0]), "coul": (0.0, 0.0, scales[1])}
    forcefield.define_style("bond", "harmonic", endpoint_key="class").add("A-B", ["A", "B"], k=k, r0=length)
    forcefield.define_style("angle", "harmonic").add("A1-*-B", ["A1", "", "B"], k=k, theta0=length)
    terms = torsion_parameters([TorsionTerm(*term) for term in torsion])
    forcefield.define_style("dihedral", "periodic").add("*-A1-A2-*", ["", "A1", "A2", ""], **terms)
    pairs = forcefield.define_style("pair", "lj/cut", {"mixing": "arithmetic"})
    for number, name in enumerate(("A1", "A2", "B")):
        pairs.add(name, (name, name), sigma=wells[2 * number], epsilon=wells[2 * number + 1])
    pairs.add("A1-B", ("A1", "B"), sigma=k, epsilon=length)
    forcefield.define_style("pair", "coul/cut", {"coulomb": COULOMB, "dielectric": 1.0})
    assert same(rewritten(forcefield, tmp_path), forcefield)


def test_geometric_mixing_is_written_pair_by_pair(tmp_path: Path) -> None:
    forcefield = xml(
        tmp_path,
        '<NonbondedForce coulomb14scale="0.5" lj14scale="0.5"><Atom type="A1" sigma="0.4" epsilon="1"/>'
        '<Atom type="B" sigma="0.1" epsilon="4"/></NonbondedForce>',
        ' combining_rule="geometric"',
    )
    written = rewritten(forcefield, tmp_path)
    assert dict(written.style("pair", "lj/cut")["A1-B"]) == {"epsilon": 2.0, "sigma": 0.2}
    assert written.special_bonds == forcefield.special_bonds


def test_rows_of_a_class_no_type_is_of_are_left_out_and_told(tmp_path: Path) -> None:
    notes = Notes()
    forcefield = xml(
        tmp_path,
        '<NonbondedForce coulomb14scale="1" lj14scale="1"><Atom class="A" sigma="0.3" epsilon="0.5"/>'
        '<Atom class="Z" sigma="0.3" epsilon="0.5"/></NonbondedForce>',
        notes=notes,
    )
    assert [row.name for row in forcefield.style("pair", "lj/cut")] == ["A1", "A2"]
    assert [(note.subject, note.lost) for note in notes] == [("class 'Z'", True)]


def test_maps_of_types_and_classes_are_written_out_by_type(tmp_path: Path) -> None:
    forcefield = xml(
        tmp_path,
        "<CMAPTorsionForce><Map>1 2 3 4</Map><Torsion map='0' class1='A' type2='B' type3='B' type4='B' class5='A'/>"
        "</CMAPTorsionForce>",
    )
    assert [(row.endpoints[0], row["mtom"]) for row in forcefield.style("cmap", "charmm")] == [
        ("A1", "A1"), ("A1", "A2"), ("A2", "A1"), ("A2", "A2")
    ]  # fmt: skip


def test_included_files_come_first_and_share_their_types(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "types.xml").write_text(f"<ForceField>{TYPES}</ForceField>")
    forcefield = xml(
        tmp_path,
        '<Include file="parts/types.xml"/><HarmonicBondForce><Bond type1="A1" type2="B" k="1" length="2"/>'
        "</HarmonicBondForce>",
        types="",
    )
    assert len(forcefield.style("atom", "full")) == 3
    assert dict(forcefield.style("bond", "harmonic")["A1-B"]) == {"k": 1.0, "r0": 2.0}


@pytest.mark.parametrize(
    ("body", "rule", "mentions"),
    [
        ("<GBSAOBCForce/>", UNSUPPORTED, ("ff.xml:3", "GBSAOBCForce")),
        ("<Script>x</Script>", UNSUPPORTED, ("Script",)),
        ("<CustomNonbondedForce energy='r' bondCutoff='3'/>", UNSUPPORTED, ("CustomNonbondedForce",)),
        ("<HarmonicBondForce><Bond type1='A1' k='1' length='1'/></HarmonicBondForce>", MALFORMED, ("endpoint 2",)),
        (
            "<HarmonicBondForce><Bond type1='A1' class1='A' type2='B' k='1' length='1'/></HarmonicBondForce>",
            MALFORMED, ("twice",),
        ),
        ("<HarmonicBondForce>\n<Bond type1='A1' type2='B' k='1'/></HarmonicBondForce>", MALFORMED, (":4", "length")),
        ("<HarmonicBondForce><Bond type1='A1' type2='B' k='x' length='1'/></HarmonicBondForce>", MALFORMED, ("'x'",)),
        (
            "<PeriodicTorsionForce><Proper type1='' type2='A1' type3='B' type4=''/></PeriodicTorsionForce>",
            MALFORMED, ("k1",),
        ),
        ("<CMAPTorsionForce><Map>1 2 3</Map></CMAPTorsionForce>", MALFORMED, ("3 values",)),
        (
            (
                "<NonbondedForce coulomb14scale='1' lj14scale='1'><Atom type='A1' sigma='1' epsilon='1'/>"
                "<Atom class='A' sigma='1' epsilon='1'/></NonbondedForce>"
            ),
            MALFORMED, ("'A1' twice",),
        ),
        (
            (
                "<NonbondedForce coulomb14scale='1' lj14scale='1'><Atom type='A1' sigma='1' epsilon='1'/>"
                "</NonbondedForce>"
                "<LennardJonesForce lj14scale='1'><Atom type='A1' sigma='1' epsilon='1'/></LennardJonesForce>"
            ),
            UNSUPPORTED, ("both",),
        ),
        ("<AtomTypes><Type name='A1' mass='1'/></AtomTypes>", MALFORMED, ("'A1' is declared twice",)),
        ("<Include file='none.xml'/>", MALFORMED, ("none.xml",)),
        ("<Include file='ff.xml'/>", MALFORMED, ("itself",)),
        ("<unclosed>", MALFORMED, ("no XML",)),
    ],
)  # fmt: skip
def test_damaged_and_foreign_elements_are_refused_with_their_line(
    tmp_path: Path, body: str, rule: str, mentions: tuple[str, ...]
) -> None:
    with refused(rule, *mentions):
        xml(tmp_path, body)


def test_what_openmm_cannot_compute_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.xml"

    def write(forcefield: ForceField) -> None:
        write_openmm(path, forcefield, None, Notes())

    def made(**settings: object) -> ForceField:
        forcefield = ForceField("made", {"length": "nm", "energy": "kJ/mol"}, {"lj": (0, 0, 1), "coul": (0, 0, 1)})
        forcefield.define_style("atom", "full").add("A", mass=1.0)
        for key, value in settings.items():
            setattr(forcefield, key, value)
        return forcefield

    with refused(TARGET, "angstrom"):
        write(ForceField("real", "real"))
    cases = (
        ("bond", "harmonic", 2, {"k": 1.0}, "'r0'"),
        ("constraint", "fixed", 2, {"r0": 1.0}, "constraint"),
        ("angle", "class2", 3, {"theta0": 1.0, "k2": 1.0, "k3": 1.0, "k4": 1.0, "bb_m": 1.0}, "formula"),
        ("dihedral", "charmm", 4, {"k": 1.0, "periodicity": 1, "phase": 1.0, "w": 0.5}, "'w'"),
        ("improper", "trefoil", 4, {"k": 1.0, "periodicity": 1, "phase": 1.0}, "formula"),
        ("pair", "buck", 2, {"a": 1.0, "rho": 1.0, "c": 1.0}, "buck"),
    )
    for category, style, count, params, mention in cases:
        forcefield = made()
        forcefield.define_style(category, style).add("A", ["A"] * count, **params)
        with refused(TARGET, mention):
            write(forcefield)
    forcefield = made()
    forcefield.define_style("pair", "coul/cut", {"coulomb": 138.0})
    with refused(TARGET, "coulomb 138.0"):
        write(forcefield)
    forcefield = made(special_bonds=None)
    forcefield.define_style("pair", "coul/cut")
    with refused(TARGET, "special_bonds"):
        write(forcefield)
    forcefield.special_bonds = {"lj": (0.0, 0.5, 1.0), "coul": (0.0, 0.0, 1.0)}
    with refused(TARGET, "excluded"):
        write(forcefield)
    forcefield = made()
    forcefield.define_style("bond", "harmonic")
    with refused(TARGET, "no rows"):
        write(forcefield)
    assert not path.exists()


def test_the_hand_written_case_is_priced_as_openmm_priced_it() -> None:
    forcefield = read_openmm(golden.case("openmm_xml_nma") / "forcefield.xml", Notes()).forcefield
    frame = case_frame("openmm_xml_nma", forcefield)
    found = energy(frame, forcefield, linked=link(frame, forcefield, by_endpoints=True))
    expected = golden.load("openmm_xml_nma")
    assert found.total == pytest.approx(expected["energies"]["total"], rel=1e-10)
    assert found.styles["dihedral.rb"] == pytest.approx(expected["energies"]["dihedral_rb"], rel=1e-10)
    forces = np.array(expected["forces"])
    assert found.forces is not None
    assert np.abs(found.forces - forces).max() < 1e-9 * np.abs(forces).max()
