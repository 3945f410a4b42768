"""GROMACS topologies: golden cases read to the assigned parameters, priced, written, and everything inexact refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import molrec as mr
from molrec.forcefield.energies import energy
from molrec.forcefield.linking import link
from molrec.formats.forcefield_gromacs import read_gromacs
from molrec.formats.forcefield_gromacs_writer import write_gromacs
from molrec.formats.forcefield_rows import TorsionTerm, torsion_parameters
from molrec.formats.gro import GroSource
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField

from . import forcefield_golden as golden
from .refusals import refused

UNSUPPORTED = "reject-ff-source-unsupported"
MALFORMED = "reject-ff-source-malformed"
TARGET = "reject-ff-target"

HEAD = "[ defaults ]\n1 2 yes 0.5 0.8333\n[ atomtypes ]\nA CA 6 12.0 0.1 A 0.3 0.4\nB CB 8 16.0 -0.1 A 0.2 0.9\n"
MOLECULE = (
    "[ moleculetype ]\nM 3\n[ atoms ]\n1 A 1 RES A1 1\n2 B 1 RES B2 2 -0.5 16.5\n3 A 2 RES A3 3\n4 B 2 RES B4 4\n"
)
TAIL = "[ system ]\na title\n[ molecules ]\nM 2\n"


def top(tmp_path: Path, text: str, notes: Notes | None = None, **options: Any) -> tuple[ForceField, mr.Frame | None]:
    path = tmp_path / "topol.top"
    path.write_text(text)
    return read_gromacs(path, Notes(strict=True) if notes is None else notes, **options)


def whole(
    tmp_path: Path, sections: str, parameters: str = "", notes: Notes | None = None
) -> tuple[ForceField, mr.Frame]:
    forcefield, system = top(tmp_path, HEAD + parameters + MOLECULE + sections + TAIL, notes)
    assert system is not None
    return forcefield, system


def rewritten(tmp_path: Path, forcefield: ForceField, system: mr.Frame | None) -> tuple[ForceField, mr.Frame | None]:
    path = tmp_path / "written.top"
    write_gromacs(path, forcefield, system, Notes(strict=True))
    return read_gromacs(path, Notes(strict=True))


def same(first: ForceField, second: ForceField) -> bool:
    for one in (first, second):
        one.name, one.source = "", None
    return first == second


def case_of(name: str) -> tuple[ForceField, mr.Frame]:
    forcefield, system = read_gromacs(golden.case(name) / "topol.top", Notes(strict=True))
    assert system is not None
    (structure,) = GroSource(golden.case(name) / "conf.gro").frames(Notes())
    for axis in "xyz":
        system["atoms"][axis] = structure["atoms"][axis]
    return forcefield, system


# -- the golden cases -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", golden.names("gromacs"))
def test_terms_have_the_parameters_gromacs_assigned(case: str) -> None:
    forcefield, system = case_of(case)
    linked = link(system, forcefield)
    assert linked.unresolved == ()
    assigned = golden.load(case)["assigned"]
    for key, (category, style) in {"bonds": ("bond", "harmonic"), "angles": ("angle", "harmonic")}.items():
        if key in assigned:
            check_terms(linked.style(category, style), assigned[key])
    if "dihedrals_rb" in assigned:
        rb = [
            {"atoms": one["atoms"]} | {f"c{n}": c for n, c in enumerate(one["c"])} for one in assigned["dihedrals_rb"]
        ]
        check_terms(linked.style("dihedral", "rb"), rb)


def check_terms(found: Any, expected: list[dict[str, Any]]) -> None:
    names = [name for name in expected[0] if name != "atoms"]
    rows = {
        tuple(atoms): [float(found.parameters[name][place]) for name in names]
        for place, atoms in enumerate(found.atoms.tolist())
    }
    assert rows == {tuple(one["atoms"]): [one[name] for name in names] for one in expected}


@pytest.mark.parametrize("case", golden.names("gromacs"))
def test_a_case_read_is_priced_as_gromacs_priced_it(case: str) -> None:
    forcefield, system = case_of(case)
    expected = golden.load(case)
    found = energy(system, forcefield)
    assert found.total == pytest.approx(expected["energies"]["total"], rel=1e-8, abs=1e-7)
    assert found.forces is not None
    assert np.abs(found.forces - np.array(expected["forces"])).max() < 1e-3


@pytest.mark.parametrize("case", golden.names("gromacs"))
def test_writing_a_case_and_reading_it_again_is_the_identity(case: str, tmp_path: Path) -> None:
    forcefield, system = read_gromacs(golden.case(case) / "topol.top", Notes(strict=True))
    again, system_again = rewritten(tmp_path, forcefield, system)
    assert same(again, forcefield)
    assert system_again == system


def test_pair_types_and_replaced_pairs_of_the_mixed_case() -> None:
    forcefield, _ = case_of("gromacs_nma_mixed")
    pairs = {row.endpoints: dict(row) for row in forcefield.style("pair", "lj/cut")}
    (stored,) = golden.load("gromacs_nma_mixed")["stored"]
    for one in stored["pairs"]:
        assert pairs[tuple(one["types"])] == one["params"]
    for one in stored["types"]:
        if one["type"] != "O":  # the like pair of O is replaced; O still mixes what [ atomtypes ] says
            assert pairs[one["type"], one["type"]] == one["params"]
    assert pairs["O", "C"]["sigma"] == 0.5 * (0.295992 + 0.339967)
    assert {row.name: row["class"] for row in forcefield.style("atom", "full")}["CTN"] == "CT"


def test_a_signed_improper_keeps_its_sign() -> None:
    forcefield, system = case_of("gromacs_improper_sign")
    assert [style.name for style in forcefield.of_category("improper")] == ["signed"]
    terms = energy(system, forcefield).terms["improper.signed"]
    values = golden.load("gromacs_improper_sign")["improper_values"]
    assert terms == pytest.approx([one["energy_signed"] for one in values], rel=1e-9)


# -- sections ---------------------------------------------------------------------------------------------------------


def test_system_columns_come_from_rows_and_types(tmp_path: Path) -> None:
    forcefield, system = whole(tmp_path, "")
    atoms = system["atoms"]
    assert atoms["type"].tolist() == ["A", "B", "A", "B"] * 2
    assert atoms["charge"].tolist() == [0.1, -0.5, 0.1, -0.1] * 2
    assert atoms["mass"].tolist() == [12.0, 16.5, 12.0, 16.0] * 2
    assert atoms["res_id"].tolist() == [1, 1, 2, 2] * 2
    assert atoms["mol_id"].tolist() == [1] * 4 + [2] * 4
    assert atoms["atomic_number"].tolist() == [6, 8, 6, 8] * 2
    assert system.meta["title"] == "a title"
    assert forcefield.special_bonds == {"lj": (0.0, 0.0, 0.5), "coul": (0.0, 0.0, 0.8333)}


def test_conditions_macros_and_includes(tmp_path: Path) -> None:
    (tmp_path / "bonds.itp").write_text(
        "#ifdef STIFF\n[ bonds ]\n1 2 1 gb\n#else\n[ bonds ]\n1 2 1 0.2 \\\n  7.0\n#endif\n"
    )
    text = HEAD + "#define gb 0.1 5.0 ; a macro\n" + MOLECULE + '#include "bonds.itp"\n' + TAIL
    system = top(tmp_path, text)[1]
    assert system is not None
    assert system["bonds"]["k"].tolist() == [7.0, 7.0]
    system = top(tmp_path, text, defines=("STIFF",))[1]
    assert system is not None
    assert system["bonds"]["r0"].tolist() == [0.1, 0.1]


FUNCTIONS = [
    ("bonds", "1 2", "1 0.1 500.0", "bond", "harmonic", {"r0": 0.1, "k": 500.0}),
    ("bonds", "1 2", "2 0.1 500.0", "bond", "g96", {"r0": 0.1, "k": 500.0}),
    ("bonds", "1 2", "3 0.1 400.0 20.0", "bond", "morse", {"r0": 0.1, "D": 400.0, "alpha": 20.0}),
    ("bonds", "1 2", "4 0.1 500.0 2.0", "bond", "cubic", {"r0": 0.1, "k": 500.0, "kc": 2.0}),
    ("bonds", "1 2", "7 0.9 500.0", "bond", "fene", {"rmax": 0.9, "k": 500.0}),
    ("angles", "1 2 3", "1 90.0 5.0", "angle", "harmonic", {"theta0": math.pi / 2, "k": 5.0}),
    ("angles", "1 2 3", "2 90.0 5.0", "angle", "g96", {"theta0": math.pi / 2, "k": 5.0}),
    ("angles", "1 2 3", "6 90.0 1.0 2.0 3.0 4.0 5.0", "angle", "quartic", {"theta0": math.pi / 2, "c4": 5.0}),
    ("angles", "1 2 3", "10 90.0 5.0", "angle", "restricted", {"k": 5.0}),
    ("dihedrals", "1 2 3 4", "1 180.0 5.0 2", "dihedral", "periodic", {"phase": math.pi, "k": 5.0, "periodicity": 2.0}),
    ("dihedrals", "1 2 3 4", "2 0.0 5.0", "improper", "harmonic", {"chi0": 0.0, "k": 2.5}),
    ("dihedrals", "1 2 3 4", "2 180.0 5.0", "improper", "harmonic", {"chi0": math.pi, "k": 2.5}),
    ("dihedrals", "1 2 3 4", "2 -180.0 5.0", "improper", "harmonic", {"chi0": math.pi, "k": 2.5}),
    ("dihedrals", "1 2 3 4", "2 -90.0 5.0", "improper", "signed", {"xi0": -math.pi / 2, "k": 5.0}),
    ("dihedrals", "1 2 3 4", "3 1.0 2.0 3.0 4.0 5.0 6.0", "dihedral", "rb", {"c0": 1.0, "c5": 6.0}),
    ("dihedrals", "1 2 3 4", "4 180.0 5.0 2", "improper", "periodic", {"phase": math.pi, "k": 5.0}),
    ("dihedrals", "1 2 3 4", "5 1.0 2.0 3.0 4.0", "dihedral", "opls", {"k1": 1.0, "k4": 4.0}),
    ("dihedrals", "1 2 3 4", "9 180.0 5.0 2", "dihedral", "periodic", {"k": 5.0}),
    ("dihedrals", "1 2 3 4", "10 60.0 5.0", "dihedral", "restricted", {"k": 5.0}),
    ("constraints", "1 2", "1 0.15", "constraint", "fixed", {"r0": 0.15}),
]


@pytest.mark.parametrize(("section", "atoms", "words", "category", "style", "params"), FUNCTIONS)
def test_functions_by_type_and_in_line(
    tmp_path: Path, section: str, atoms: str, words: str, category: str, style: str, params: dict[str, float]
) -> None:
    kind = {
        "bonds": "bondtypes",
        "angles": "angletypes",
        "dihedrals": "dihedraltypes",
        "constraints": "constrainttypes",
    }
    classes = " ".join({"1": "CA", "2": "CB", "3": "CA", "4": "CB"}[atom] for atom in atoms.split())
    number = words.split(maxsplit=1)[0]
    by_type, typed = whole(tmp_path, f"[ {section} ]\n{atoms} {number}\n", f"[ {kind[section]} ]\n{classes} {words}\n")
    row = by_type.style(category, style)[classes.replace(" ", "-")]
    assert {name: row[name] for name in params} == pytest.approx(params, rel=1e-15)
    own, in_line = whole(tmp_path, f"[ {section} ]\n{atoms} {words}\n")
    block = {"bond": "bonds", "angle": "angles", "dihedral": "dihedrals", "improper": "impropers"}.get(
        category, "constraints"
    )
    assert len(own.style(category, style)) == 0
    assert {name: in_line[block][name][1] for name in params} == pytest.approx(params, rel=1e-15)
    assert typed[block]["style"].tolist() == in_line[block]["style"].tolist() == [style] * 2
    for forcefield, system in ((by_type, typed), (own, in_line)):
        again, system_again = rewritten(tmp_path, forcefield, system)
        assert same(again, forcefield)
        assert system_again == system


def test_urey_bradley_angles_are_an_angle_and_a_spring(tmp_path: Path) -> None:
    forcefield, system = whole(tmp_path, "[ angles ]\n1 2 3 5\n", "[ angletypes ]\nCA CB CA 5 90.0 4.0 0.2 8.0\n")
    assert dict(forcefield.style("angle", "harmonic")["CA-CB-CA"]) == {"theta0": math.pi / 2, "k": 4.0}
    assert dict(forcefield.style("urey_bradley", "harmonic")["CA-CB-CA"]) == {"r0": 0.2, "k": 8.0}
    assert system["urey_bradleys"]["atomk"].tolist() == [2, 6]
    again, system_again = rewritten(tmp_path, forcefield, system)
    assert same(again, forcefield)
    assert system_again == system


def test_connections_are_bonds_without_energy(tmp_path: Path) -> None:
    forcefield, system = whole(tmp_path, "[ bonds ]\n1 2 5\n2 3 1 0.1 500.0\n")
    assert forcefield.style("bond", "connection").expression == "0*r"
    for number, axis in enumerate("xyz"):
        system["atoms"][axis] = np.arange(8) * 0.3 + number
    found = energy(system, forcefield)
    assert found.styles["bond.connection"] == 0.0
    assert found.styles["bond.harmonic"] > 0.0
    again, system_again = rewritten(tmp_path, forcefield, system)
    assert same(again, forcefield)
    assert system_again is not None
    assert system_again["bonds"] == system["bonds"]


def test_rows_of_function_9_add_up_and_the_fewest_wildcards_win(tmp_path: Path) -> None:
    types = "[ dihedraltypes ]\nX CB CA X 9 0 1.0 1\nX CB CA CB 9 0 2.0 1\nX CB CA CB 9 180 3.0 2\nCB CA 1 0.0 9.0 3\n"
    forcefield, system = whole(tmp_path, "[ dihedrals ]\n1 2 3 4 9\n", types)
    assert system["dihedrals"]["type"].tolist() == ["*-CB-CA-CB"] * 2
    assert dict(forcefield.style("dihedral", "periodic")["*-CB-CA-CB"])["k2"] == 3.0
    assert forcefield.style("dihedral", "periodic")["*-CB-CA-*"]["k"] == 9.0  # the later row of the same types holds


def test_combination_rule_1_becomes_wells(tmp_path: Path) -> None:
    notes = Notes()
    forcefield = top(
        tmp_path, "[ defaults ]\n1 1\n[ atomtypes ]\nA 6 12.0 0.0 A 0.004 1e-06\nB 1 1.0 0.0 A 0 0\n", notes
    )[0]
    assert [note.lost for note in notes] == [False]
    well = forcefield.style("pair", "lj/cut")["A"]
    assert well["sigma"] == (1e-06 / 0.004) ** (1 / 6)
    assert well["epsilon"] == 0.004**2 / 4e-06
    assert forcefield.style("pair", "lj/cut").params["mixing"] == "geometric"
    assert forcefield.style("pair", "lj/cut")["B"]["epsilon"] == 0.0


def test_near_pairs_are_what_gromacs_lists_and_excludes(tmp_path: Path) -> None:
    sections = "[ bonds ]\n1 2 1 0.1 1.0\n2 3 1 0.1 1.0\n3 4 1 0.1 1.0\n[ pairs ]\n1 4 1 0.25 0.75\n[ exclusions ]\n"
    forcefield, system = whole(tmp_path, sections)
    assert system["pairs"]["is_14"].all()
    assert system["pairs"]["sigma"].tolist() == [0.25, 0.25]
    assert len(forcefield.style("pair14", "lj/cut")) == 0
    assert "exclusions" not in system
    unlisted = whole(tmp_path, sections.replace("[ pairs ]\n1 4 1 0.25 0.75\n", ""))[1]
    assert (unlisted["exclusions"]["atomi"].tolist(), unlisted["exclusions"]["atomj"].tolist()) == ([0, 4], [3, 7])


def test_molecules_that_exclude_less_are_told_apart(tmp_path: Path) -> None:
    bonds = "[ bonds ]\n1 2 1 0.1 1.0\n2 3 1 0.1 1.0\n3 4 1 0.1 1.0\n"
    second = MOLECULE.replace("M 3", "N 1").replace("M", "M") + bonds
    text = HEAD + MOLECULE + bonds + second + "[ system ]\nx\n[ molecules ]\nM 1\nN 1\n"
    forcefield, system = top(tmp_path, text.replace("yes 0.5 0.8333", "yes 1.0 1.0"))
    assert system is not None
    assert forcefield.special_bonds == {"lj": (0.0, 1.0, 1.0), "coul": (0.0, 1.0, 1.0)}
    pairs = list(zip(system["exclusions"]["atomi"].tolist(), system["exclusions"]["atomj"].tolist(), strict=True))
    assert pairs == [(0, 2), (0, 3), (1, 3)]


def test_settles_are_three_constraints_and_exclude(tmp_path: Path) -> None:
    forcefield, system = whole(tmp_path, "[ settles ]\n1 1 0.1 0.16\n")
    assert system["constraints"]["r0"].tolist() == [0.1, 0.1, 0.16] * 2
    assert system["exclusions"].rows == 6
    again, system_again = rewritten(tmp_path, forcefield, system)
    assert same(again, forcefield)
    assert system_again == system


@pytest.mark.parametrize(
    ("section", "words", "style", "weights"),
    [
        ("virtual_sites2", "4 1 2 1 0.25", "average2", {"w1": 0.75, "w2": 0.25}),
        ("virtual_sites3", "4 1 2 3 1 0.25 0.5", "average3", {"w1": 0.25, "w2": 0.25, "w3": 0.5}),
        ("virtual_sites3", "4 1 2 3 4 0.25 0.5 3.0", "outofplane3", {"w12": 0.25, "w13": 0.5, "wcross": 3.0}),
    ],
)
def test_virtual_sites(tmp_path: Path, section: str, words: str, style: str, weights: dict[str, float]) -> None:
    forcefield, system = whole(tmp_path, f"[ {section} ]\n{words}\n")
    assert forcefield.style("virtual_site", style) is not None
    assert {name: system["virtual_sites"][name][1] for name in weights} == weights
    again, system_again = rewritten(tmp_path, forcefield, system)
    assert same(again, forcefield)
    assert system_again == system


def test_correction_maps_are_turned_to_one_convention_and_back(tmp_path: Path) -> None:
    values = " ".join(f"{number}.5" for number in range(16))
    forcefield, system = whole(
        tmp_path, "[ cmap ]\n1 2 3 4 1 1\n", f"[ cmaptypes ]\nCA CB CA CB CA 1 4 4\\\n{values}\n"
    )
    (row,) = forcefield.style("cmap", "charmm")
    assert (row.endpoints, row["mtom"]) == (("CA", "CB", "CA", "CB"), "CA")
    grid = np.array(str(row["grid"]).split(), dtype=float).reshape(4, 4)
    # GROMACS: phi from -180 in the rows, psi in the columns; stored: phi from 0 running fastest
    assert grid[0, 0] == 10.5
    assert grid[0, 1] == 14.5
    assert grid[1, 0] == 11.5
    assert system["cmaps"]["atomm"].tolist() == [0, 4]
    assert system["cmaps"]["type"].tolist() == [row.name] * 2
    again, system_again = rewritten(tmp_path, forcefield, system)
    assert same(again, forcefield)
    assert system_again == system


def test_a_second_state_is_noted(tmp_path: Path) -> None:
    notes = Notes()
    whole(tmp_path, "[ bonds ]\n1 2 1 0.1 1.0 0.2 2.0\n", notes=notes)
    assert [note.subject for note in notes] == ["[ bonds ]"]


#: Halving one of these is exact.
NUMBERS = st.floats(-1e9, 1e9).filter(lambda value: value == 0 or abs(value) > 1e-290)
ANGLES = st.integers(-719, 720).map(lambda whole: math.radians(whole / 4))


@given(bond=st.tuples(NUMBERS, NUMBERS), angle=st.tuples(NUMBERS, ANGLES), powers=st.tuples(*[NUMBERS] * 6),
       torsion=st.lists(st.tuples(NUMBERS, st.integers(0, 12), ANGLES), min_size=1, max_size=6),
       well=st.tuples(NUMBERS, NUMBERS), weights=st.tuples(NUMBERS, NUMBERS))  # fmt: skip
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_number_comes_back_bit_for_bit(
    tmp_path: Path,
    bond: tuple[float, float],
    angle: tuple[float, float],
    powers: tuple[float, ...],
    torsion: list[tuple[float, int, float]],
    well: tuple[float, float],
    weights: tuple[float, float],
) -> None:
    forcefield = top(tmp_path, HEAD)[0]
    forcefield.special_bonds = {"lj": (0.0, 0.0, weights[0]), "coul": (0.0, 0.0, weights[1])}
    forcefield.style("pair", "lj/cut").add("A-B", ("A", "B"), sigma=well[0], epsilon=well[1])

    def add(category: str, style: str, count: int, **params: float) -> None:
        ends = ["CA", "CB", "CA", "CB"][:count]
        forcefield.define_style(category, style, endpoint_key="class").add("-".join(ends), ends, **params)

    add("bond", "harmonic", 2, k=bond[0], r0=bond[1])
    add("angle", "harmonic", 3, k=angle[0], theta0=angle[1])
    add("dihedral", "periodic", 4, **torsion_parameters([TorsionTerm(*term) for term in torsion]))
    add("dihedral", "rb", 4, **{f"c{number}": value for number, value in enumerate(powers)})
    assert same(rewritten(tmp_path, forcefield, None)[0], forcefield)


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sections", "rule", "mentions"),
    [
        ("[ bonds ]\n1 2 6 0.1 1.0\n", UNSUPPORTED, ("topol.top:14", "function 6")),
        ("[ bonds ]\n1 2 1\n", MALFORMED, ("CA CB",)),
        ("[ bonds ]\n1 9 1 0.1 1.0\n", MALFORMED, ("atom 9",)),
        ("[ bonds ]\n1 2 1 0.1\n", MALFORMED, ("2 parameters (r0 k)",)),
        ("[ bonds ]\n1 2 x 0.1 1.0\n", MALFORMED, ("'x'",)),
        ("[ bonds ]\n1 2 1 0.1 gb_7\n", MALFORMED, ("'gb_7'",)),
        ("[ angles ]\n1 2 3 3 0.1 0.1 1.0\n", UNSUPPORTED, ("function 3",)),
        ("[ dihedrals ]\n1 2 3 4 8 1 1.0\n", UNSUPPORTED, ("function 8",)),
        ("[ pairs ]\n1 4 2 1.0\n", UNSUPPORTED, ("function 2",)),
        ("[ pairs ]\n1 4 1\n", UNSUPPORTED, ("twice",)),
        ("[ position_restraints ]\n1 1 9 9 9\n", UNSUPPORTED, ("position_restraints",)),
        ("[ cmap ]\n1 2 3 4 4 1\n", MALFORMED, ("CA CB CA CB CB",)),
        ("[ virtual_sites3 ]\n4 1 2 3 2 0.1 0.2\n", UNSUPPORTED, ("function 2",)),
        ("[ settles ]\n3 1 0.1 0.16\n", MALFORMED, ("settles",)),
        ("[ bondtypes ]\nA A 1 1 1\n", MALFORMED, ("behind",)),
        ("[ atoms ]\n7 A 1 RES X 7\n", MALFORMED, ("next number is 5",)),
        ("[ atoms ]\n5 Z 1 RES X 5\n", MALFORMED, ("'Z'",)),
        ("[ moleculetype ]\nM 3\n", MALFORMED, ("'M'",)),
        ("#include \"none.itp\"\n", MALFORMED, ("none.itp",)),
        ("#include \"topol.top\"\n", MALFORMED, ("itself",)),
        ("#ifdef X\n", MALFORMED, ("#endif",)),
        ("#endif\n", MALFORMED, ("without",)),
        ("#pragma\n", MALFORMED, ("#pragma",)),
    ],
)  # fmt: skip
def test_damaged_and_foreign_rows_are_refused_with_their_line(
    tmp_path: Path, sections: str, rule: str, mentions: tuple[str, ...]
) -> None:
    with refused(rule, *mentions):
        whole(tmp_path, sections)


@pytest.mark.parametrize(
    ("text", "rule", "mention"),
    [
        ("[ defaults ]\n2 1\n", UNSUPPORTED, "Lennard-Jones"),
        ("[ defaults ]\n1 1\n[ atomtypes ]\nA 6 12.0 0.0 A 0.0 1e-06\n", UNSUPPORTED, "C6 0.0"),
        ("[ atomtypes ]\nA 6 12.0 0.0\n", MALFORMED, "particle type"),
        ("A 6 12.0\n", MALFORMED, "before the first section"),
        (HEAD + "[ nonbond_params ]\nA Z 1 0.1 0.1\n", MALFORMED, "'Z'"),
        (HEAD + "[ nonbond_params ]\nA B 2 0.1 0.1 0.1\n", UNSUPPORTED, "function 2"),
        (HEAD + "[ dihedraltypes ]\nX A A X 9 0 1 1\nX B B X 9 0 1 1\nX A A X 9 0 1 2\n", UNSUPPORTED, "follow"),
        (
            HEAD.replace("yes", "no") + MOLECULE + "[ bonds ]\n1 2 1 1 1\n[ pairs ]\n1 2 1\n" + TAIL,
            MALFORMED,
            "pairtypes",
        ),
        (HEAD + MOLECULE + "[ system ]\nx\n[ molecules ]\nQ 1\n", MALFORMED, "'Q'"),
    ],
)
def test_damaged_parameters_are_refused(tmp_path: Path, text: str, rule: str, mention: str) -> None:
    with refused(rule, mention):
        top(tmp_path, text)


def test_what_gromacs_has_no_word_for_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.top"

    def made() -> ForceField:
        forcefield = top(tmp_path, HEAD)[0]
        forcefield.extra.clear()
        return forcefield

    def write(forcefield: ForceField, system: mr.Frame | None = None) -> None:
        write_gromacs(path, forcefield, system, Notes())

    with refused(TARGET, "angstrom"):
        write(ForceField("real", "real"))
    for category, style, ends, params, mention in (
        ("bond", "class2", 2, {"r0": 1.0, "k2": 1.0, "k3": 1.0, "k4": 1.0}, "class2"),
        ("bond", "harmonic", 2, {"k": 1.0}, "r0 k"),
        ("improper", "harmonic", 4, {"k": 1.0, "chi0": 1.0}, ""),
        ("drude", "harmonic", 2, {"k": 1.0}, "drude"),
        ("pair", "buck", 2, {"a": 1.0, "rho": 1.0, "c": 1.0}, "buck"),
    ):
        forcefield = made()
        forcefield.define_style(category, style, endpoint_key="class").add("row", ["CA"] * ends, **params)
        if mention:
            with refused(TARGET, mention):
                write(forcefield)
    forcefield = made()
    forcefield.style("pair", "coul/cut").params["dielectric"] = 2.0
    with refused(TARGET, "dielectric 2.0"):
        write(forcefield)
    forcefield = made()
    forcefield.style("pair", "lj/cut").params["mixing"] = "sixthpower"
    with refused(TARGET, "sixthpower"):
        write(forcefield)
    forcefield = made()
    forcefield.special_bonds = None
    with refused(TARGET, "special_bonds"):
        write(forcefield)
    frame = mr.Frame({"atoms": mr.Block({"type": ["A", "Z"]})})
    with refused(TARGET, "'Z'"):
        write(made(), frame)
    assert not path.exists()
