"""LAMMPS force fields: golden cases read to the stored parameters, scripts resolved, everything inexact refused."""

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
from molrec.formats.forcefield_lammps import read_lammps
from molrec.formats.forcefield_lammps_writer import write_lammps
from molrec.formats.forcefield_rows import TorsionTerm, degrees_of, torsion_parameters
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField

from . import forcefield_golden as golden
from .refusals import refused

UNSUPPORTED = "reject-ff-source-unsupported"
MALFORMED = "reject-ff-source-malformed"
TARGET = "reject-ff-target"


def read(path: Path, units: str | None = None) -> tuple[ForceField, mr.Frame | None]:
    return read_lammps(path, Notes(), units)


def script(tmp_path: Path, text: str, name: str = "ff.in", units: str | None = "real") -> ForceField:
    path = tmp_path / name
    path.write_text(text)
    return read(path, units)[0]


def without_origin(forcefield: ForceField) -> ForceField:
    forcefield.name, forcefield.source = "", None
    return forcefield


def rewritten(forcefield: ForceField, tmp_path: Path) -> ForceField:
    path = tmp_path / "written.in"
    write_lammps(path, forcefield, None, Notes(strict=True))
    return read(path)[0]


# -- the golden cases -------------------------------------------------------------------------------------------------


def check_stored(forcefield: ForceField, case: str, *, scripted: bool = True) -> None:
    expected = golden.load(case)
    for stored in expected["stored"]:
        category, _, name = stored["style"].partition(".")
        style = forcefield.style(category, name)
        if category == "pair":
            check_pairs(forcefield, style.name, stored, scripted=scripted)
            continue
        rows = {row.name: dict(row) for row in style}
        assert rows == {
            term.get("label", str(term["type"])): golden.registered_params(stored["style"], term["params"])
            for term in stored["terms"]
        }
    assert {f"{style.category}.{style.name}" for style in forcefield.styles} == {
        "atom.full",
        *(stored["style"] for stored in expected["stored"]),
    }
    if scripted:
        assert forcefield.special_bonds == {
            "lj": tuple(expected["special"]["lj"]),
            "coul": tuple(expected["special"]["coul"]),
        }


def check_pairs(forcefield: ForceField, name: str, stored: dict[str, Any], *, scripted: bool) -> None:
    style = forcefield.style("pair", name)
    for key in ("cutoff", "mixing", "dielectric") if scripted else ():
        assert style.params.get(key) == stored.get(key)
    assert style.params.get("coulomb") == stored.get("coulomb")
    labels = [row.name for row in forcefield.style("atom", "full")]
    rows = {row.endpoints: dict(row) for row in style}
    selves = {(labels[one["type"] - 1],) * 2: one["params"] for one in stored.get("types", ())}
    pairs = {tuple(labels[one - 1] for one in two["types"]): two["params"] for two in stored.get("pairs", ())}
    assert rows == selves | pairs


@pytest.mark.parametrize("case", golden.names("lammps"))
def test_a_case_read_from_its_script_gives_the_stored_parameters(case: str) -> None:
    forcefield, system = read(golden.case(case) / "in.lammps")
    check_stored(forcefield, case)
    expected = golden.load(case)
    assert system is not None
    assert system["atoms"].rows == expected["natoms"]
    assert system.units == {"preset": expected["units"]["style"]} == forcefield.units
    assert system.box is not None
    assert system.box.boundary.all() == expected.get("periodic", True)
    names = {row.name for row in forcefield.style("atom", "full")}
    assert set(system["atoms"]["type"].tolist()) <= names


@pytest.mark.parametrize("case", golden.names("lammps"))
def test_every_type_a_case_names_is_a_row(case: str) -> None:
    forcefield, system = read(golden.case(case) / "in.lammps")
    assert system is not None
    for block, category in (
        ("bonds", "bond"),
        ("angles", "angle"),
        ("dihedrals", "dihedral"),
        ("impropers", "improper"),
    ):
        if block in system:
            rows = {row.name for style in forcefield.of_category(category) for row in style}
            assert set(system[block]["type"].tolist()) <= rows


@pytest.mark.parametrize("case", golden.names("lammps"))
def test_the_include_file_and_the_data_file_alone_say_the_same(case: str) -> None:
    folder = golden.case(case)
    units = golden.load(case)["units"]["style"]
    whole = read(folder / "in.lammps")[0]
    included = read(folder / "forcefield.in", units)[0]
    for style in included.styles:
        # an include file may name types by number that have labels in the data file
        assert [dict(row) for row in style] == [dict(row) for row in whole.style(style.category, style.name)]
    if "data" in golden.load(case).get("coefficient_routes", ()):
        check_stored(read(folder / "system.data", units)[0], case, scripted=False)


@pytest.mark.parametrize("case", golden.names("lammps"))
def test_writing_a_case_and_reading_it_again_is_the_identity(case: str, tmp_path: Path) -> None:
    forcefield, _ = read(golden.case(case) / "in.lammps")
    assert without_origin(rewritten(forcefield, tmp_path)) == without_origin(forcefield)


@pytest.mark.parametrize("case", golden.names("lammps"))
def test_a_case_read_is_priced_as_lammps_priced_it(case: str) -> None:
    forcefield, system = read(golden.case(case) / "in.lammps")
    assert system is not None
    expected = golden.load(case)
    found = energy(system, forcefield)
    assert found.total == pytest.approx(expected["energies"]["total"], rel=1e-9)
    categories = found.categories
    for part in ("bond", "angle", "dihedral", "improper"):
        assert categories.get(part, 0.0) == pytest.approx(expected["energies"][part], rel=1e-9, abs=1e-12)
    forces = np.array(expected["forces"])
    assert found.forces is not None
    assert np.abs(found.forces - forces).max() <= 1e-9 * max(np.abs(forces).max(), 1e-6)


def test_improper_harmonic_is_not_doubled_and_bonds_and_angles_are(tmp_path: Path) -> None:
    forcefield = script(
        tmp_path,
        "bond_style harmonic\nangle_style harmonic\nimproper_style harmonic\n"
        "bond_coeff 1 10 1.5\nangle_coeff 1 10 180\nimproper_coeff 1 10 90\n",
    )
    assert dict(forcefield.style("bond", "harmonic")["1"]) == {"k": 20.0, "r0": 1.5}
    assert dict(forcefield.style("angle", "harmonic")["1"]) == {"k": 20.0, "theta0": math.pi}
    assert dict(forcefield.style("improper", "harmonic")["1"]) == {"k": 10.0, "chi0": math.pi / 2}
    path = tmp_path / "out.in"
    forcefield.special_bonds = {"lj": (0.0, 0.0, 0.0), "coul": (0.0, 0.0, 0.0)}
    write_lammps(path, forcefield, None, Notes())
    assert {"bond_coeff 1 10.0 1.5", "angle_coeff 1 10.0 180.0", "improper_coeff 1 10.0 90.0"} <= set(
        path.read_text().splitlines()
    )


@given(st.floats(-720, 720))
def test_degrees_of_a_file_come_back(degrees: float) -> None:
    assert math.radians(degrees_of(math.radians(degrees))) == math.radians(degrees)


#: Halving one of these is exact.
NUMBERS = st.floats(-1e9, 1e9).filter(lambda value: value == 0 or abs(value) > 1e-290)
DEGREES = st.integers(-720, 720).map(lambda whole: math.radians(whole / 4))


@given(
    bond=st.tuples(NUMBERS, NUMBERS),
    angle=st.tuples(NUMBERS, DEGREES),
    torsion=st.lists(st.tuples(NUMBERS, st.integers(0, 12), DEGREES), min_size=1, max_size=6),
    powers=st.tuples(*[NUMBERS] * 6),
    well=st.tuples(NUMBERS, NUMBERS, st.floats(0.1, 100.0)),
    weights=st.tuples(*[st.floats(0, 1)] * 6),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_number_comes_back_bit_for_bit(
    tmp_path: Path,
    bond: tuple[float, float],
    angle: tuple[float, float],
    torsion: list[tuple[float, int, float]],
    powers: tuple[float, ...],
    well: tuple[float, float, float],
    weights: tuple[float, ...],
) -> None:
    forcefield = built(special_bonds={"lj": weights[:3], "coul": weights[3:]})
    forcefield.define_style("bond", "harmonic").add("1", ["", ""], k=bond[0], r0=bond[1])
    forcefield.define_style("angle", "harmonic").add("1", [""] * 3, k=angle[0], theta0=angle[1])
    terms = torsion_parameters([TorsionTerm(*term) for term in torsion])
    forcefield.define_style("dihedral", "periodic").add("1", [""] * 4, **terms)
    rb = {f"c{number}": value + 0.0 for number, value in enumerate(powers)}
    forcefield.define_style("dihedral", "rb").add("2", [""] * 4, **rb)
    forcefield.define_style("improper", "harmonic").add("1", [""] * 4, k=bond[0], chi0=angle[1])
    style = forcefield.define_style("pair", "lj/cut", {"mixing": "sixthpower", "cutoff": well[2]})
    style.add("A", ["A", "A"], epsilon=well[0], sigma=well[1])
    assert without_origin(rewritten(forcefield, tmp_path)) == without_origin(forcefield)


# -- scripts ----------------------------------------------------------------------------------------------------------


def test_comments_continued_lines_quotes_and_labels(tmp_path: Path) -> None:
    forcefield = script(
        tmp_path,
        "units metal # here\nlabelmap bond 1 C-C 2 'C#N'\nbond_style &\n  harmonic   # not this\n"
        'bond_coeff "C-C" 1 &\n 2\nbond_coeff 2 3 4\nprint """several\nlines # of ${text}"""\n',
        units=None,
    )
    assert forcefield.units == {"preset": "metal"}
    assert [row.name for row in forcefield.style("bond", "harmonic")] == ["C-C", "C#N"]


def test_ranges_and_later_lines_for_the_same_type(tmp_path: Path) -> None:
    forcefield = script(
        tmp_path,
        "create_box 3 box\npair_style lj/cut 8\npair_coeff * * 1 2\n"
        "pair_coeff 2*3 3 5 6\npair_coeff 3 1 7 8\nmass * 12\n",
    )
    rows = {row.endpoints: (row["epsilon"], row["sigma"]) for row in forcefield.style("pair", "lj/cut")}
    assert rows == {
        ("1", "1"): (1, 2), ("1", "2"): (1, 2), ("1", "3"): (7, 8), ("2", "2"): (1, 2), ("2", "3"): (5, 6),
        ("3", "3"): (5, 6),
    }  # fmt: skip
    assert [row["mass"] for row in forcefield.style("atom", "full")] == [12.0] * 3


def test_a_range_of_unknown_end_is_the_wildcard_of_pairs_only(tmp_path: Path) -> None:
    (row,) = script(tmp_path, "pair_style lj/cut 8\npair_coeff * * 1 2\n").style("pair", "lj/cut")
    assert row.endpoints == ("", "")
    with refused(MALFORMED, "ff.in:2", "how many"):
        script(tmp_path, "bond_style harmonic\nbond_coeff * 1 2\n")


def test_hybrid_bonded_styles_are_several_tables(tmp_path: Path) -> None:
    forcefield = script(
        tmp_path,
        "bond_style hybrid harmonic morse\nbond_coeff 1 harmonic 1 2\nbond_coeff 2 morse 3 4 5\n"
        "bond_coeff 1 morse 6 7 8\n"
        "dihedral_style hybrid charmm opls\ndihedral_coeff 1 charmm 1 2 180 0.5\n",
    )
    assert len(forcefield.style("bond", "harmonic")) == 0
    assert dict(forcefield.style("bond", "morse")["1"]) == {"D": 6, "alpha": 7, "r0": 8}
    assert dict(forcefield.style("dihedral", "charmm")["1"]) == {
        "k": 1, "periodicity": 2, "phase": math.pi, "w": 0.5,
    }  # fmt: skip


def test_a_hybrid_overlay_has_no_mixing_but_a_row_for_every_pair(tmp_path: Path) -> None:
    forcefield = script(
        tmp_path,
        "create_box 2 box\npair_style hybrid/overlay lj/cut 8 coul/cut 9\npair_coeff * * coul/cut\n"
        "pair_coeff 1 1 lj/cut 1 2\npair_coeff 2 2 lj/cut 4 3\n",
    )
    style = forcefield.style("pair", "lj/cut")
    assert "mixing" not in style.params
    assert dict(style["1-2"]) == {"epsilon": 0.0, "sigma": 1.0}
    assert forcefield.style("pair", "coul/cut").params["cutoff"] == 9.0


def test_a_hybrid_style_mixes_pairs_no_line_names(tmp_path: Path) -> None:
    forcefield = script(
        tmp_path,
        "create_box 3 box\npair_style hybrid lj/cut 8 buck 9\npair_modify mix arithmetic\npair_coeff 1 1 lj/cut 1 2\n"
        "pair_coeff 2 2 lj/cut 4 3\npair_coeff * 3 buck 5 6 7\n",
    )
    lennard_jones = forcefield.style("pair", "lj/cut")
    assert dict(lennard_jones["1-2"]) == {"epsilon": 2.0, "sigma": 2.5}
    assert lennard_jones["1-3"]["epsilon"] == 0.0
    assert forcefield.style("pair", "buck")["1-2"]["a"] == 0.0
    assert dict(forcefield.style("pair", "buck")["2-3"]) == {"a": 5.0, "rho": 6.0, "c": 7.0}


def test_styles_without_a_registered_word_carry_their_energy(tmp_path: Path) -> None:
    forcefield = script(
        tmp_path,
        "bond_style fene\nbond_coeff 1 30 1.5 1 1\nangle_style hybrid cosine quartic\nangle_coeff 1 cosine 3\n"
        "angle_coeff 2 quartic 90 1 2 3\n",
    )
    assert "log(1-(r/rmax)^2)" in (forcefield.style("bond", "fene").expression or "")
    assert forcefield.style("angle", "cosine").expression == "k*(1+cos(theta))"
    assert without_origin(rewritten(forcefield, tmp_path)) == without_origin(forcefield)


def test_pairs_with_cutoffs_of_their_own_are_a_style_that_says_so(tmp_path: Path) -> None:
    forcefield = script(
        tmp_path,
        "create_box 2 b\npair_style lj/cut 8\npair_modify mix arithmetic\npair_coeff 1 1 1 2 6\npair_coeff 2 2 4 3\n",
    )
    (style,) = forcefield.of_category("pair")
    assert style.name == "lj/cut/own-cutoff"
    assert style.expression == "(4*epsilon*((sigma/r)^12-(sigma/r)^6))*step(rcut-r)"
    assert style.params == {"cutoff": 8.0, "special": "lj"}
    assert {row.name: dict(row) for row in style} == {
        "1": {"epsilon": 1.0, "sigma": 2.0, "rcut": 6.0},
        "1-2": {"epsilon": 2.0, "sigma": 2.5, "rcut": 7.0},
        "2": {"epsilon": 4.0, "sigma": 3.0, "rcut": 8.0},
    }


def test_charmm_angles_are_an_angle_and_a_spring(tmp_path: Path) -> None:
    forcefield = script(tmp_path, "angle_style charmm\nangle_coeff 1 10 90 5 2.5\nangle_coeff 2 10 90 0 0\n")
    assert dict(forcefield.style("angle", "harmonic")["1"]) == {"k": 20.0, "theta0": math.pi / 2}
    (spring,) = forcefield.style("urey_bradley", "harmonic")
    assert (spring.name, dict(spring)) == ("1", {"k": 10.0, "r0": 2.5})
    assert without_origin(rewritten(forcefield, tmp_path)) == without_origin(forcefield)


def test_mie_exponents_shift_and_sixthpower_are_settings_of_the_style(tmp_path: Path) -> None:
    mie = script(
        tmp_path, "pair_style mie/cut 8\npair_modify shift yes mix arithmetic\npair_coeff 1 1 1 2 14 7\nmass 1 1\n"
    ).style("pair", "lj/cut")
    assert mie.params == {"cutoff": 8.0, "mixing": "arithmetic", "shift": 1.0, "n": 14.0, "m": 7.0}
    class2 = script(tmp_path, "pair_style lj/class2/coul/long 8\npair_coeff 1 1 1 2\n")
    assert class2.style("pair", "lj/class2").params["mixing"] == "sixthpower"
    assert class2.style("pair", "coul/long/pme").params["cutoff"] == 8.0


def test_special_bonds_add_up_as_in_lammps(tmp_path: Path) -> None:
    assert script(tmp_path, "special_bonds lj 0.1 0.2 0.3\nspecial_bonds coul 0 0 1 angle no\n").special_bonds == {
        "lj": (0.1, 0.2, 0.3), "coul": (0.0, 0.0, 1.0)
    }  # fmt: skip
    assert script(tmp_path, "special_bonds amber\n").special_bonds == {
        "lj": (0.0, 0.0, 0.5), "coul": (0.0, 0.0, 5.0 / 6.0)
    }  # fmt: skip


def test_a_data_file_alone_states_neither_mixing_nor_special_bonds(tmp_path: Path) -> None:
    text = (
        "title, units = metal\n\n1 atoms\n1 atom types\n1 bond types\n0 5 xlo xhi\n0 5 ylo yhi\n0 5 zlo zhi\n\n"
        "Masses\n\n1 12.5\n\nPair Coeffs # lj/cut\n\n1 0.5 3.0\n\nBond Coeffs # harmonic\n\n1 5 1.5\n\n"
        "Atoms # atomic\n\n1 1 0 0 0\n"
    )
    forcefield = script(tmp_path, text, "system.data", units=None)
    assert forcefield.units == {"preset": "metal"}
    assert forcefield.special_bonds is None
    assert forcefield.style("pair", "lj/cut").params == {}
    assert dict(forcefield.style("bond", "harmonic")["1"]) == {"k": 10.0, "r0": 1.5}


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rule", "mentions"),
    [
        ("bond_style harmonic\nbond_coeff 1 ${k} 2\n", UNSUPPORTED, ("ff.in:2", "'k'", "variable")),
        ("pair_style lj/cut $c\n", UNSUPPORTED, ("ff.in:1", "'c'")),
        ("bond_style harmonic\nbond_coeff 1 v_k 2\n", UNSUPPORTED, ("ff.in:2", "'k'")),
        ("if 1 then quit\n", UNSUPPORTED, ("ff.in:1", "'if'")),
        ("bond_style quartic\n", UNSUPPORTED, ("'quartic'",)),
        ("angle_style dipole\n", UNSUPPORTED, ("'dipole'",)),
        ("angle_style charmm\nangle_coeff 1 1 90\n", MALFORMED, ("k_ub r_ub",)),
        ("pair_style lj/charmm/coul/charmm 8 10\n", UNSUPPORTED, ("lj/charmm/coul/charmm",)),
        ("pair_style hybrid lj/cut 8 reaxff NULL\n", UNSUPPORTED, ("'reaxff'",)),
        ("pair_style hybrid lj/cut 8 lj/cut 9\n", UNSUPPORTED, ("twice",)),
        ("pair_style lj/cut/coul/cut 8\npair_coeff 1 1 1 2 9\n", UNSUPPORTED, ("ff.in:2", "cutoff")),
        ("pair_style mie/cut 8\npair_coeff 1 1 1 2 12 6 9\n", UNSUPPORTED, ("exponents",)),
        ("create_box 2 b\npair_style buck 8\npair_coeff 1 1 1 2 3 9\n", MALFORMED, ("1 2",)),
        ("pair_modify tail yes\n", UNSUPPORTED, ("tail",)),
        ("special_bonds angle yes\n", UNSUPPORTED, ("angle",)),
        ("fix 1 all cmap charmm36.cmap\n", UNSUPPORTED, ("cmap",)),
        ("dihedral_style nharmonic\ndihedral_coeff 1 7 1 1 1 1 1 1 1\n", UNSUPPORTED, ("7 terms",)),
        (
            "dihedral_style class2\ndihedral_coeff 1 1 0 1 0 1 0\ndihedral_coeff 1 mbt 1 1 1 1\n",
            UNSUPPORTED,
            ("mbt_k1",),
        ),
        ("bond_style harmonic\nbond_coeff 1 10\n", MALFORMED, ("ff.in:2", "2 coefficients (k r0)")),
        ("bond_style harmonic\nbond_coeff 1 ten 2\n", MALFORMED, ("'ten'",)),
        ("bond_coeff 1 10 2\n", MALFORMED, ("before a bond_style",)),
        ("dihedral_style fourier\ndihedral_coeff 1 2 1 1 1\n", MALFORMED, ("m times K n d",)),
        ("labelmap atom 1 C\npair_style lj/cut 8\npair_coeff X X 1 2\n", MALFORMED, ("'X'", "label")),
        ("create_box 2 b\nmass 3 1\n", MALFORMED, ("type 3",)),
        ("units real &\n", MALFORMED, ("past the end",)),
        ("include missing.in\n", MALFORMED, ("missing.in",)),
        ("include ff.in\n", MALFORMED, ("itself",)),
        ("angle_style class2\nangle_coeff 1 bb 1 2 3\n", MALFORMED, ("no coefficients of its own",)),
    ],
)
def test_what_a_script_cannot_be_read_for_is_refused_with_its_line(
    tmp_path: Path, text: str, rule: str, mentions: tuple[str, ...]
) -> None:
    with refused(rule, *mentions):
        script(tmp_path, text)


def test_a_file_without_units_is_refused(tmp_path: Path) -> None:
    with refused("reject-ff-no-units", "ff.in"):
        script(tmp_path, "bond_style harmonic\nbond_coeff 1 1 1\n", units=None)


def test_commands_that_change_the_system_are_refused_once_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_text("t\n\n0 atoms\n0 atom types\n")
    with refused(UNSUPPORTED, "in.txt:2", "replicate"):
        script(tmp_path, "read_data a.data\nreplicate 2 2 2\n", "in.txt")


def built(**params: Any) -> ForceField:
    forcefield = ForceField("made", "real", {"lj": (0, 0, 0), "coul": (0, 0, 0)})
    forcefield.define_style("atom", "full").add("A", mass=1.0)
    for key, value in params.items():
        setattr(forcefield, key, value)
    return forcefield


def test_what_lammps_has_no_word_for_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.in"

    def write(forcefield: ForceField) -> None:
        write_lammps(path, forcefield, None, Notes())

    with refused(TARGET, "kJ/mol"):
        write(built(units={"length": "nm", "energy": "kJ/mol"}))
    with refused(TARGET, "special_bonds"):
        write(built(special_bonds=None))
    for category, style, ends, params, mention in (
        ("bond", "ub", 2, {"k": 1.0}, "'ub'"),
        ("bond", "harmonic", 2, {"k": 1.0}, "'r0'"),
        ("pair14", "lj/cut", 2, {"epsilon": 1.0, "sigma": 1.0}, "pair14"),
        ("dihedral", "charmm", 4, {"k": 1.0, "periodicity": 1, "phase": 0.5, "w": 0.0}, "whole degrees"),
        ("improper", "periodic", 4, {"k": 1.0, "periodicity": 1, "phase": 0.5}, "phase 0 or pi"),
        ("dihedral", "periodic", 4, {"k": 1.0, "periodicity": 1.5, "phase": 0.5}, "whole number"),
        ("pair", "lj/cut", 2, {"epsilon": 1.0, "sigma": 1.0}, "cutoff"),
    ):
        forcefield = built()
        forcefield.define_style(category, style).add("A", ["A"] * ends, **params)
        with refused(TARGET, mention):
            write(forcefield)
    forcefield = built()
    forcefield.define_style("bond", "harmonic").add("2-A", ["A", "A"], k=1.0, r0=1.0)
    with refused(TARGET, "'2-A'"):
        write(forcefield)
    forcefield = built()
    forcefield.define_style("bond", "harmonic")
    with refused(TARGET, "without rows"):
        write(forcefield)
    forcefield = built()
    forcefield.style("atom", "full").add("B", mass=1.0)
    forcefield.define_style("pair", "lj/cut", {"cutoff": 9.0}).add("A", ["A", "A"], epsilon=1.0, sigma=1.0)
    with refused(TARGET, "A B"):
        write(forcefield)
    assert not path.exists()


def test_annotations_and_endpoints_are_noted(tmp_path: Path) -> None:
    forcefield = built()
    forcefield.define_style("bond", "harmonic").add("A-A", ["A", "A"], k=1.0, r0=1.0, desc="a bond")
    notes = Notes()
    write_lammps(tmp_path / "out.in", forcefield, None, notes)
    assert {note.subject for note in notes} == {"bond 'harmonic', endpoints", "bond 'harmonic', 'desc'"}


def test_a_periodic_improper_of_phase_pi_is_a_cvff_one(tmp_path: Path) -> None:
    forcefield = built()
    forcefield.define_style("improper", "periodic").add("A", [""] * 4, k=1.5, periodicity=2, phase=math.pi)
    assert dict(rewritten(forcefield, tmp_path).style("improper", "cvff")["A"]) == {
        "k": 1.5, "sign": -1, "periodicity": 2
    }  # fmt: skip


def test_another_coulomb_constant_is_carried_by_the_dielectric(tmp_path: Path) -> None:
    forcefield = built()
    forcefield.define_style("pair", "coul/cut", {"cutoff": 9.0, "coulomb": 332.0637133, "dielectric": 2.0})
    params = rewritten(forcefield, tmp_path).style("pair", "coul/cut").params
    assert float(params["coulomb"]) / float(params["dielectric"]) == pytest.approx(332.0637133 / 2.0, rel=1e-15)


def test_units_stated_by_quantity_are_a_unit_style_where_there_is_one(tmp_path: Path) -> None:
    forcefield = built(units={"length": "angstrom", "energy": "kcal/mol"})
    assert rewritten(forcefield, tmp_path).units == {"preset": "real"}


def test_a_system_that_comes_with_an_include_file_is_noted(tmp_path: Path) -> None:
    notes = Notes()
    write_lammps(tmp_path / "out.in", built(), mr.Frame(), notes)
    assert [note.subject for note in notes] == ["system"]
