"""LAMMPS data files: read without losing anything, written so that they come back, refused by line when damaged."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.conversion import convert
from molrec.formats.images import Images
from molrec.formats.lammps_box import bounds_of, dump_bounds, tilted_box, tilted_box_of_dump
from molrec.formats.lammps_data import DataSource
from molrec.formats.lammps_data_writer import write_data
from molrec.formats.lammps_styles import style_of
from molrec.formats.notes import Notes
from molrec.formats.registry import formats

from .lammps_engine import gathered, lammps_engine

engines = pytest.mark.engines

FULL = """\
water, timestep = 7, units = real

3 atoms
2 bonds
1 angles
2 atom types
1 bond types
1 angle types

-1.5 8.5 xlo xhi
0 10 ylo yhi
0 10 zlo zhi
1.0 0.5 0.25 xy xz yz

Atom Type Labels

1 OW
2 HW

Masses

1 15.9994 # oxygen
2 1.008

Pair Coeffs # lj/cut

1 0.1 3.0
2 0.00 0 # none

Bond Coeffs # harmonic

1 450 0.9572

Atoms # full

30 1 OW -0.8 1.0000000000000002 1 1 0 -1 2
10 1 2 0.4 2 1 1 0 0 0
20 1 HW 0.4 1 2 1e-3 0 0 0

Velocities

10 0.1 0.2 0.3
20 -0.1 0 0
30 1 2 3

Bonds

1 1 30 10
2 1 30 20

Angles

1 1 10 30 20
"""


def read(path: Path, notes: Notes | None = None) -> mr.Frame:
    (frame,) = DataSource(path).frames(Notes(strict=True) if notes is None else notes)
    return frame


def read_text(tmp_path: Path, text: str, notes: Notes | None = None) -> mr.Frame:
    (tmp_path / "some.data").write_bytes(text.encode())
    return read(tmp_path / "some.data", notes)


def with_units(frame: mr.Frame, units: Any) -> mr.Frame:
    copy = frame.copy()
    if units is not None:
        copy.meta.set("units", dict(units), tag="json")
    return copy


def written(tmp_path: Path, frame: mr.Frame, notes: Notes | None = None) -> str:
    write_data(tmp_path / "written.data", Images([frame]), Notes(strict=True) if notes is None else notes)
    return (tmp_path / "written.data").read_text()


def simple(rows: str, style: str = "", header: str = "", sections: str = "", count: int | None = None) -> str:
    """Return a file of some rows of Atoms."""
    number = len(rows.strip().splitlines()) if count is None else count
    return (
        f"title\n\n{number} atoms\n3 atom types\n{header}\n0 10 xlo xhi\n0 10 ylo yhi\n0 10 zlo zhi\n"
        f"\nAtoms{' # ' if style else ''}{style}\n\n{rows}{sections}"
    )


# -- reading ----------------------------------------------------------------------------------------------------------


def test_every_part_of_a_file_has_its_place(tmp_path: Path) -> None:
    frame = read_text(tmp_path, FULL)
    atoms = frame["atoms"]
    assert atoms["id"].tolist() == [30, 10, 20]  # the file's order
    assert atoms["type_id"].tolist() == [1, 2, 2]
    assert atoms["type"].tolist() == ["OW", "HW", "HW"]
    assert atoms["mol_id"].tolist() == [1, 1, 1]
    assert atoms["charge"].tolist() == [-0.8, 0.4, 0.4]
    assert atoms["x"].tolist() == [1.0000000000000002, 2.0, 1.0]
    assert atoms["z"].tolist() == [1.0, 1.0, 1e-3]
    assert [atoms[name].tolist() for name in ("ix", "iy", "iz")] == [[0, 0, 0], [-1, 0, 0], [2, 0, 0]]
    assert atoms["mass"].tolist() == [15.9994, 1.008, 1.008]
    assert atoms["vx"].tolist() == [1.0, 0.1, -0.1]
    assert frame["bonds"]["atomi"].tolist() == [0, 0]
    assert frame["bonds"]["atomj"].tolist() == [1, 2]
    assert frame["bonds"]["type_id"].tolist() == [1, 1]
    assert [frame["angles"][name].tolist() for name in ("atomi", "atomj", "atomk")] == [[1], [0], [2]]
    assert {name: atoms.dtype(name) for name in ("id", "type_id", "type", "ix", "x")} == {
        "id": "u64",
        "type_id": "u64",
        "type": "string",
        "ix": "i32",
        "x": "f64",
    }
    assert frame.box is not None
    assert frame.box.vectors.tolist() == [[10.0, 1.0, 0.5], [0.0, 10.0, 0.25], [0.0, 0.0, 10.0]]
    assert frame.box.origin.tolist() == [-1.5, 0.0, 0.0]
    assert frame.box.boundary.all()
    assert frame.meta["title"] == "water"
    assert frame.meta["step"] == 7
    assert frame.meta["lammps.atom_style"] == "full"
    assert frame.meta["lammps.coefficients"] == {
        "Pair Coeffs": {"style": "lj/cut", "rows": [["1", "0.1", "3.0"], ["2", "0.00", "0", "# none"]]},
        "Bond Coeffs": {"style": "harmonic", "rows": [["1", "450", "0.9572"]]},
    }
    assert frame.meta["lammps.types"]["atom"] == {
        "count": 2,
        "labels": ["OW", "HW"],
        "masses": [15.9994, 1.008],
        "comments": ["# oxygen", ""],
    }
    assert DataSource(tmp_path / "some.data").units == {"preset": "real"}
    assert DataSource(tmp_path / "some.data").count() == 1


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("atomic", "id type_id x y z"),
        ("charge", "id type_id charge x y z"),
        ("bond", "id mol_id type_id x y z"),
        ("angle", "id mol_id type_id x y z"),
        ("molecular", "id mol_id type_id x y z"),
        ("full", "id mol_id type_id charge x y z"),
        ("full/kk", "id mol_id type_id charge x y z"),
        ("sphere", "id type_id diameter density x y z"),
        ("ellipsoid", "id type_id ellipsoidflag density x y z"),
        ("dipole", "id type_id charge x y z mux muy muz"),
        ("hybrid sphere charge", "id type_id x y z diameter density charge"),
        ("hybrid dipole full", "id type_id x y z charge mux muy muz mol_id"),
    ],
)
@pytest.mark.parametrize("images", [False, True])
def test_the_columns_of_each_atom_style(tmp_path: Path, name: str, row: str, images: bool) -> None:
    columns = [*row.split(), *(("ix", "iy", "iz") if images else ())]
    integers = ("id", "mol_id", "type_id", "ix", "iy", "iz")
    values = {column: 1 if column in integers else position + 0.5 for position, column in enumerate(columns)}
    if "ellipsoidflag" in values:
        values["ellipsoidflag"] = 0
    atoms = read_text(tmp_path, simple(" ".join(str(value) for value in values.values()) + "\n", name))["atoms"]
    assert {column: atoms[column].tolist() for column in columns} == {key: [value] for key, value in values.items()}
    frame = read(tmp_path / "some.data")
    assert frame == read_text(tmp_path, written(tmp_path, frame))


@pytest.mark.parametrize(
    ("rows", "header", "style"),
    [
        ("1 1 0 0 0\n", "", "atomic"),
        ("1 1 0 0 0 0 0 -1\n", "", "atomic"),
        ("1 1 -0.5 0 0 0\n", "", "charge"),
        ("1 1 1 0 0 0\n", "2 bond types\n", "molecular"),
        ("1 1 1 0 0 0 0\n", "2 bond types\n", "full"),
        ("1 1 1 0 0 0 0 0 0 0\n", "2 bond types\n", "full"),
    ],
)
def test_a_style_that_is_not_stated_is_taken_where_only_one_fits(
    tmp_path: Path, rows: str, header: str, style: str
) -> None:
    assert read_text(tmp_path, simple(rows, header=header)).meta["lammps.atom_style"] == style


@pytest.mark.parametrize(
    ("rows", "style", "why"),
    [
        ("1 1 1 0 0 0\n", "", "fit charge, molecular; write the style"),
        ("1 1 1 0 0 0 0\n", "", "fit full, sphere; write the style"),
        ("1 1 0 0\n", "", "fit none of the common ones"),
        ("1 1 0 0 0\n", "template", "'template' is not read; its bonds stand in molecule templates"),
        ("1 1 0 0 0\n", "hybrid", "does not say known sub-styles"),
        ("1 1 0 0 0\n", "full", "5 fields where atom style 'full' has 7"),
    ],
)
def test_a_style_that_is_not_clear_is_asked_for(tmp_path: Path, rows: str, style: str, why: str) -> None:
    with pytest.raises(mr.FormatError, match=rf"some.data:\d+: .*{why}") as refused:
        read_text(tmp_path, simple(rows, style))
    assert refused.value.rule == "reject-malformed-source"


def test_ellipsoids_have_shape_and_orientation_where_they_are_some(tmp_path: Path) -> None:
    text = simple(
        "5 1 1 2.5 0 0 0\n4 1 0 1.0 1 1 1\n",
        "ellipsoid",
        "1 ellipsoids\n",
        "\nVelocities\n\n4 1 2 3 4 5 6\n5 0 0 0 0 0 0\n\nEllipsoids\n\n5 1 2 3 0.5 0.5 0.5 0.5\n",
    )
    frame = read_text(tmp_path, text)
    atoms = frame["atoms"]
    assert atoms["quatw"].tolist()[0] == 0.5
    mask = atoms.validity("quatw")
    assert mask is not None
    assert mask.tolist() == [True, False]
    assert atoms["angmomz"].tolist() == [0.0, 6.0]
    assert read_text(tmp_path, written(tmp_path, frame)) == frame


def test_general_triclinic_cells_keep_their_axes(tmp_path: Path) -> None:
    text = (
        "title\n\n1 atoms\n1 atom types\n\n1 2 3 avec\n-3 1 0 bvec\n0.25 0 5 cvec\n-1 0 2 abc origin\n"
        "\nAtoms # atomic\n\n1 1 0.5 0.25 0.125\n"
    )
    frame = read_text(tmp_path, text)
    assert frame.box is not None
    assert frame.box.vectors.T.tolist() == [[1, 2, 3], [-3, 1, 0], [0.25, 0, 5]]
    assert frame.box.origin.tolist() == [-1, 0, 2]
    assert read_text(tmp_path, written(tmp_path, frame)) == frame


def test_sections_without_a_block_are_kept_and_written_back(tmp_path: Path) -> None:
    text = simple(
        "1 1 0 0 0\n2 1 0 0 1\n",
        "atomic",
        "1 crossterms\n2 extra bond per atom\n",
        "\nCMAP\n\n1 1 1 2 1 2 1\n\nBondBond Coeffs # class2\n\n",
    )
    frame = read_text(tmp_path, text)
    assert frame.meta["lammps.header"] == {"crossterms": ["1"], "extra bond per atom": ["2"]}
    assert frame.meta["lammps.sections"] == {"CMAP": {"style": "", "rows": [["1", "1", "1", "2", "1", "2", "1"]]}}
    assert frame.meta["lammps.coefficients"] == {"BondBond Coeffs": {"style": "class2", "rows": []}}
    assert read_text(tmp_path, written(tmp_path, frame)) == frame


def test_comments_behind_rows_are_named(tmp_path: Path) -> None:
    text = simple("1 1 0 0 0 # here\n", "atomic")
    notes = Notes()
    read_text(tmp_path, text, notes)
    assert [note.subject for note in notes] == ["section 'Atoms'"]
    with pytest.raises(mr.SchemaError) as refused:
        read_text(tmp_path, text)
    assert refused.value.rule == "reject-lossy-conversion"


def test_line_ends_tabs_blanks_and_a_missing_last_line_end_mean_nothing(tmp_path: Path) -> None:
    plain = read_text(tmp_path, FULL)
    assert read_text(tmp_path, FULL.replace("\n", "\r\n")) == plain
    assert read_text(tmp_path, FULL.replace(" 1 OW -0.8", "\t1\t OW  -0.8")) == plain
    assert read_text(tmp_path, FULL.rstrip("\n")) == plain
    assert read_text(tmp_path, FULL + "\n\n") == plain


def test_type_labels_and_numbers_mean_the_same(tmp_path: Path) -> None:
    plain = read_text(tmp_path, FULL)
    assert read_text(tmp_path, FULL.replace("30 1 OW", "30 1 1").replace("20 1 HW", "20 1 2")) == plain
    labelled = FULL.replace("Masses", "Bond Type Labels\n\n1 OW-HW\n\nMasses").replace("1 1 30 10", "1 OW-HW 30 10")
    assert read_text(tmp_path, labelled)["bonds"]["type"].tolist() == ["OW-HW", "OW-HW"]


def test_masses_by_type_are_not_needed_for_unused_types(tmp_path: Path) -> None:
    text = simple("1 2 0 0 0\n", "atomic", sections="\nMasses\n\n3 5.0\n2 12.0\n1 1.0\n")
    frame = read_text(tmp_path, text)
    assert frame["atoms"]["mass"].tolist() == [12.0]
    assert frame.meta["lammps.types"] == {"atom": {"count": 3, "masses": [1.0, 12.0, 5.0]}}
    assert read_text(tmp_path, written(tmp_path, frame)) == frame


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mr.FormatError, match=r"some.data:3: header: states no number of atoms"):
        read_text(tmp_path, "title\n\n0 1 xlo xhi\n")


def test_without_atoms(tmp_path: Path) -> None:
    frame = read_text(tmp_path, "title\n\n0 atoms\n\n0 1 xlo xhi\n")
    assert len(frame["atoms"]) == 0
    assert frame.box is not None
    assert frame.box.vectors.tolist() == np.eye(3).tolist()


# -- refusals ---------------------------------------------------------------------------------------------------------


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("found", "put", "line", "why"),
    [
        ("20 1 HW", "10 1 HW", "20 1 HW", "atom id 10 is in an earlier row already"),
        ("1 1 30 10", "1 1 30 11", "1 1 30 10", "bond names atom 11, which the file does not have"),
        ("1 1 10 30 20", "1 1 10 30 21", "1 1 10 30 20", "angle names atom 21, which the file does not have"),
        ("20 -0.1 0 0\n", "", "30 1 2 3", "section 'Velocities': ends after 2 rows; by the header it has 3"),
        ("3 atoms", "4 atoms", "\nVelocities", "section 'Atoms': ends after 3 rows; by the header it has 4"),
        ("3 atoms", "2 atoms", "20 1 HW", "section 'Atoms': has more rows than the 2 of the header"),
        ("2 bonds", "3 bonds", "\nAngles", "section 'Bonds': ends after 2 rows"),
        ("30 10\n2 1 30 20", "30 10\n2 1 30 20 1", "2 1 30 20", "5 fields where 4 are expected"),
        ("30 10\n2 1 30 20", "30 10\n2 1 30", "2 1 30 20", "3 fields where 4 are expected"),
        ("30 10\n2 1 30 20", "30 10\n2 2 30 20", "2 1 30 20", "bond type 2 does not exist"),
        ("10 1 2 0.4", "10 1 3 0.4", "10 1 2 0.4", "atom type 3 does not exist; the header states 2"),
        ("10 1 2 0.4", "10 1 XX 0.4", "10 1 2 0.4", "atom type 'XX' is neither a number nor one of the labels OW, HW"),
        ("10 1 2 0.4", "10 1 2 zero", "10 1 2 0.4", "field 'charge' holds a number, found 'zero'"),
        ("10 1 2 0.4", "10 -1 2 0.4", "10 1 2 0.4", "mol_id -1 is negative"),
        ("10 1 2 0.4", "10 1.5 2 0.4", "10 1 2 0.4", "field 'mol_id' holds an integer, found '1.5'"),
        ("10 1 2 0.4", "10 1 2 0.4é", "10 1 2 0.4", "holds the byte 0xc3, which is not ASCII"),
        ("30 1 2 3", "31 1 2 3", "30 1 2 3", "the row names atom 31, which the file does not have"),
        ("\n2 1.008", "\n1 1.008", "2 1.008", "atom type 1 has a mass already"),
        ("2 HW\n", "1 HW\n", "2 HW\n", "atom type 1, label 'HW'"),
        ("2 bonds", "two bonds", "1 angles", "section 'two bonds'"),
        ("2 bonds", "2.5 bonds", "2 bonds", "'bonds' is preceded by one count"),
        ("-1.5 8.5 xlo", "8.5 -1.5 xlo", "-1.5 8.5 xlo", "xlo xhi is 8.5 -1.5; the first must be the smaller"),
        ("-1.5 8.5 xlo", "8.5 xlo", "-1.5 8.5 xlo", "'xlo xhi' is preceded by 2 numbers"),
        ("1.0 0.5 0.25 xy xz yz", "1 0 0 avec", "-1.5 8.5 xlo", "the cell is stated by avec and by xlo xhi"),
        ("units = real", "units = imperial", "water", "units = 'imperial' is no unit style"),
        ("Velocities\n\n", "Velocities\n", "\n10 0.1", "an empty line must follow the name"),
        ("Velocities", "Atoms", "Velocities", "a section 'Atoms' has been there before"),
        ("3 atoms\n", "", "\n30 1 OW", "section 'Atoms': has more rows than the 0 of the header"),
    ],
)
def test_a_damaged_file_is_refused_by_line(tmp_path: Path, found: str, put: str, line: str, why: str) -> None:
    assert FULL.count(found) >= 1
    text = FULL.replace(found, put, 1)
    with pytest.raises(mr.FormatError) as refused:
        read_text(tmp_path, text)
    assert refused.value.rule == "reject-malformed-source"
    assert why in refused.value.message
    assert refused.value.message.startswith(f"{tmp_path / 'some.data'}:{line_of(FULL, line)}:")


@pytest.mark.parametrize("section", ["Atoms", "Bonds", "Angles"])
def test_a_file_cut_short_before_a_section_is_refused(tmp_path: Path, section: str) -> None:
    text = FULL[: FULL.index(f"{section}{' # full' if section == 'Atoms' else ''}\n")]
    with pytest.raises(mr.FormatError, match=rf"some.data:\d+: file: ends without a section '{section}'") as refused:
        read_text(tmp_path, text)
    assert refused.value.rule == "reject-malformed-source"


@given(length=st.integers(0, len(FULL) - 2))
def test_a_file_cut_short_anywhere_is_refused_or_lacks_digits_of_its_last_number(
    length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    with pytest.raises(mr.FormatError) as refused:
        read_text(folder, FULL[:length])
    assert refused.value.rule == "reject-malformed-source"


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mr.FormatError, match=r"some\.data:1: file: is empty"):
        read_text(tmp_path, "")


# -- writing ----------------------------------------------------------------------------------------------------------


def test_a_file_comes_back_through_the_writer(tmp_path: Path) -> None:
    frame = read_text(tmp_path, FULL)
    text = written(tmp_path, with_units(frame, {"preset": "real"}))
    assert text.startswith("water, timestep = 7, units = real\n\n3 atoms\n2 bonds\n1 angles\n")
    assert "2 1.008\n" in text
    assert "1 15.9994 # oxygen\n" in text
    assert read_text(tmp_path, text) == frame


def test_a_file_comes_back_through_a_record(tmp_path: Path) -> None:
    (tmp_path / "in.data").write_text(FULL)
    done = convert([tmp_path / "in.data"], tmp_path / "run.mrec", strict=True)
    assert done.notes == ()
    assert mr.validate(tmp_path / "run.mrec") == []
    with mr.open(tmp_path / "run.mrec") as record:
        assert record.system is not None
        assert record.system.meta["units"] == {"preset": "real"}
        assert record.system["bonds"]["atomj"].tolist() == [1, 2]
        assert record.trajectory is not None
        assert record.trajectory.steps.tolist() == [7]
    convert([tmp_path / "run.mrec"], tmp_path / "out.data", strict=True)
    assert read(tmp_path / "out.data") == read(tmp_path / "in.data")
    assert DataSource(tmp_path / "out.data").units == {"preset": "real"}
    convert([tmp_path / "run.mrec"], tmp_path / "out.data.gz", strict=True)
    assert read(tmp_path / "out.data.gz") == read(tmp_path / "in.data")


def bare_atoms(**columns: Any) -> mr.Block:
    return mr.Block({"x": [0.0, 1.0], "y": [0.0, 1.0], "z": [0.0, 1.0], **columns})


BOX = mr.Box(np.diag([9.0, 8.0, 7.0]), origin=[-1.0, 0.0, 0.5])


@pytest.mark.parametrize(
    ("columns", "style"),
    [
        ({"type_id": [1, 2]}, "atomic"),
        ({"type": ["A", "B"], "charge": [0.5, -0.5]}, "charge"),
        ({"type_id": [1, 2], "mol_id": [1, 1]}, "molecular"),
        ({"type_id": [1, 2], "mol_id": [1, 1], "charge": [0.5, -0.5]}, "full"),
        (
            {"type_id": [1, 1], "charge": [0.0, 1.0], "mux": [1.0, 0], "muy": [0.0, 1], "muz": [0.0, 0]},
            "dipole",
        ),
        ({"type_id": [1, 1], "diameter": [1.0, 2.0], "density": [3.0, 4.0]}, "sphere"),
        (
            {"type_id": [1, 1], "charge": [0.0, 1.0], "diameter": [1.0, 2.0], "density": [3.0, 4.0]},
            "hybrid charge sphere",
        ),
    ],
)
def test_the_plainest_style_that_holds_the_columns_is_chosen(
    tmp_path: Path, columns: dict[str, Any], style: str
) -> None:
    frame = mr.Frame({"atoms": bare_atoms(**columns)}, box=BOX)
    back = read_text(tmp_path, written(tmp_path, frame))
    assert back.meta["lammps.atom_style"] == style
    for name, values in columns.items():
        assert back["atoms"][name].tolist() == values
    assert back.box == BOX


def test_labels_alone_become_numbered_types(tmp_path: Path) -> None:
    frame = mr.Frame(
        {
            "atoms": bare_atoms(type=["HW", "OW"]),
            "bonds": mr.Block({"atomi": [0], "atomj": [1], "type": ["OW-HW"]}),
        },
        box=BOX,
    )
    notes = Notes()
    back = read_text(tmp_path, written(tmp_path, frame, notes))
    assert back["atoms"]["type"].tolist() == ["HW", "OW"]
    assert back["atoms"]["type_id"].tolist() == [1, 2]
    assert back["bonds"]["type"].tolist() == ["OW-HW"]
    assert [str(note) for note in notes] == ["column 'mol_id': is not there; 0 is written for every atom"]


@pytest.mark.parametrize(
    ("types", "why"),
    [
        (["a", "b"], "type 1 is called 'a' and 'b'"),
        (["1a", "1a"], "begins with a digit"),
        (["a b", "a b"], "has a blank"),
    ],
)
def test_labels_that_lammps_does_not_take_are_named(tmp_path: Path, types: list[str], why: str) -> None:
    frame = mr.Frame({"atoms": bare_atoms(type_id=[1, 1], type=types)}, box=BOX)
    notes = Notes()
    written(tmp_path, frame, notes)
    (note,) = notes
    assert note.lost
    assert why in note.message


def test_what_a_data_file_does_not_hold_is_named(tmp_path: Path) -> None:
    atoms = bare_atoms(element=["O", "H"], res_name=["HOH", "HOH"], mass=[1.0, 2.0], type_id=[1, 1])
    frame = mr.Frame(
        {"atoms": atoms, "exclusions": mr.Block({"atomi": [0], "atomj": [1]})},
        meta={"pe": -1.0, "units": {"length": "nm"}},
        box=mr.Box(np.eye(3), boundary=[True, False, True]),
    )
    notes = Notes()
    written(tmp_path, frame, notes)
    assert [note.subject for note in notes if note.lost] == [
        "column 'mass'",
        "units",
        "boundary",
        "column 'element'",
        "column 'res_name'",
        "block 'exclusions'",
        "meta 'pe'",
    ]
    with pytest.raises(mr.SchemaError) as refused:
        write_data(tmp_path / "strict.data", Images([frame]), Notes(strict=True))
    assert refused.value.rule == "reject-lossy-conversion"
    assert not (tmp_path / "strict.data").exists()


@pytest.mark.parametrize(
    ("blocks", "box", "why"),
    [
        ({}, BOX, "no block 'atoms'"),
        ({"atoms": bare_atoms()}, BOX, "neither 'type_id' nor 'type'"),
        ({"atoms": mr.Block({"x": [0.0], "type_id": [1]})}, BOX, "no y, z"),
        ({"atoms": bare_atoms(type_id=[0, 1])}, BOX, "counts atom types from 1"),
        ({"atoms": bare_atoms(type_id=[1, 1], id=[4, 4])}, BOX, "atom id 4 stands in several rows"),
        (
            {"atoms": bare_atoms(type_id=[1, 1], mol_id=[1, 1]), "bonds": mr.Block({"atomi": [0], "atomj": [2]})},
            BOX,
            "references something else",
        ),
        ({"atoms": bare_atoms(type_id=[1, 1])}, mr.Box(np.diag([1.0, 1.0, -1.0])), "left-handed"),
    ],
)
def test_frames_without_what_lammps_needs_are_refused(tmp_path: Path, blocks: Any, box: mr.Box, why: str) -> None:
    with pytest.raises(mr.SchemaError, match=why) as refused:
        written(tmp_path, mr.Frame(blocks, box=box), Notes())
    assert refused.value.rule == "reject-foreign-write"
    assert list(tmp_path.iterdir()) == []


def test_several_frames_are_refused(tmp_path: Path) -> None:
    frame = mr.Frame({"atoms": bare_atoms(type_id=[1, 1])}, box=BOX)
    with pytest.raises(mr.SchemaError, match="holds one frame, there are 2") as refused:
        write_data(tmp_path / "two.data", Images([frame, frame]), Notes())
    assert refused.value.rule == "reject-single-frame"


def test_atoms_without_a_cell_get_bounds(tmp_path: Path) -> None:
    notes = Notes()
    text = written(tmp_path, mr.Frame({"atoms": bare_atoms(type_id=[1, 1])}), notes)
    assert "-1.0 2.0 xlo xhi\n" in text
    assert [note.subject for note in notes] == ["cell"]


# -- universal rules --------------------------------------------------------------------------------------------------

_reals = st.floats(-1e6, 1e6)
_lengths = st.floats(1e-3, 1e6)


@given(low=st.tuples(_reals, _reals, _reals), length=st.tuples(_lengths, _lengths, _lengths), data=st.data())
def test_any_restricted_cell_comes_back(low: tuple[float, ...], length: tuple[float, ...], data: st.DataObject) -> None:
    tilt = data.draw(st.one_of(st.just((0.0, 0.0, 0.0)), st.tuples(_reals, _reals, _reals)))
    box = tilted_box(low, [a + b for a, b in zip(low, length, strict=True)], tilt, (True, True, True))
    bounds = bounds_of(box)
    again = tilted_box(bounds.low, bounds.high, bounds.tilt or (0, 0, 0), (True, True, True))
    assert again == box
    through = dump_bounds(bounds)
    dumped = tilted_box_of_dump(through.low, through.high, through.tilt or (0, 0, 0), (True, True, True))
    scale = max(map(abs, (*low, *length, *tilt)))
    np.testing.assert_allclose(dumped.vectors, box.vectors, atol=1e-14 * scale * 4)


@st.composite
def _frames(draw: st.DrawFn) -> mr.Frame:
    count = draw(st.integers(1, 5))
    any_real = st.floats(allow_nan=False, allow_infinity=False)

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    columns: dict[str, Any] = {axis: column(any_real) for axis in "xyz"}
    columns["id"] = draw(st.lists(st.integers(1, 2**62), min_size=count, max_size=count, unique=True))
    columns["type_id"] = column(st.integers(1, 3))
    for name, values in (("charge", any_real), ("mol_id", st.integers(0, 9))):
        if draw(st.booleans()):
            columns[name] = column(values)
    if draw(st.booleans()):
        columns |= {name: column(st.integers(-(2**31), 2**31 - 1)) for name in ("ix", "iy", "iz")}
    if draw(st.booleans()):
        columns |= {name: column(any_real) for name in ("vx", "vy", "vz")}
    if draw(st.booleans()):
        columns["mass"] = [float(number) / 3 for number in columns["type_id"]]
    if draw(st.booleans()):
        columns["type"] = [("A", "B-1", "C[x]")[number - 1] for number in columns["type_id"]]
    blocks = {"atoms": mr.Block(columns)}
    for name, endpoints in (("bonds", 2), ("angles", 3), ("dihedrals", 4), ("impropers", 4)):
        rows = draw(st.integers(0, 3))
        if rows and {"mol_id", "charge"} <= columns.keys():
            index = st.lists(st.integers(0, count - 1), min_size=rows, max_size=rows)
            ends = ("atomi", "atomj", "atomk", "atoml")[:endpoints]
            blocks[name] = mr.Block({end: draw(index) for end in ends} | {"type_id": draw(index.map(_one_up))})
    return mr.Frame(blocks, box=BOX)


def _one_up(numbers: list[int]) -> list[int]:
    return [number + 1 for number in numbers]


@given(frame=_frames())
def test_any_frame_comes_back(frame: mr.Frame, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("any")
    write_data(folder / "any.data", Images([frame]), Notes(strict=True))
    back = read(folder / "any.data")
    assert back["atoms"] == frame["atoms"]
    assert back.box == frame.box
    for name in frame.blocks:
        assert back[name] == frame[name]


# -- recognizing ------------------------------------------------------------------------------------------------------


def test_data_files_are_known_by_content_and_suffix(tmp_path: Path) -> None:
    registry = formats()
    for name in ("nameless", "x.data", "x.lmp", "data.water"):
        (tmp_path / name).write_text(FULL)
        assert registry.for_reading(tmp_path / name).name == "lammps-data"
    (tmp_path / "broken.data").write_text("nothing\n")
    assert registry.for_reading(tmp_path / "broken.data").name == "lammps-data"
    assert registry.for_writing(tmp_path / "out.data").name == "lammps-data"
    (tmp_path / "input.data").write_text("begin\natom 0 0 0 H 0 0 0 0 0\nend\n")
    assert registry.for_reading(tmp_path / "input.data").name == "runnerdata"


def test_styles_that_are_not_known_are_none() -> None:
    assert style_of("nonsense") is None
    assert style_of("") is None
    assert style_of("full charge") is None
    assert style_of("hybrid nonsense") is None


# -- witnesses --------------------------------------------------------------------------------------------------------


def test_ase_reads_what_is_written(tmp_path: Path) -> None:
    pytest.importorskip("ase")
    from ase.io import read as ase_read

    frame = read_text(tmp_path, FULL)
    # ASE knows no labels, and unwraps positions by the image flags
    atoms_alone = _without(frame["atoms"], "type", "ix", "iy", "iz")
    plain = mr.Frame({**frame, "atoms": atoms_alone}, meta={"lammps.atom_style": "full"}, box=frame.box)
    written(tmp_path, plain, Notes())
    atoms = ase_read(tmp_path / "written.data", format="lammps-data", units="metal", sort_by_id=False)
    block = frame["atoms"]
    for axis, name in enumerate("xyz"):
        # ASE rotates a tilted cell, by nothing here but roundings
        np.testing.assert_allclose(atoms.positions[:, axis], block[name], rtol=1e-15)
    np.testing.assert_array_equal(atoms.arrays["id"], block["id"])
    np.testing.assert_array_equal(atoms.arrays["type"], block["type_id"])
    np.testing.assert_array_equal(atoms.get_initial_charges(), block["charge"])
    np.testing.assert_allclose(atoms.get_masses(), block["mass"])


def _without(block: mr.Block, *columns: str) -> mr.Block:
    copy = block.copy()
    for column in columns:
        del copy[column]
    return copy


def test_molrs_reads_the_same_canonical_columns(tmp_path: Path) -> None:
    io = pytest.importorskip("molrs.io")
    frame = read_text(tmp_path, FULL)
    other = io.read_lammps_data(tmp_path / "some.data")
    for name in ("atoms", "bonds", "angles"):
        assert set(other[name].keys()) == set(frame[name].columns) | (set() if name == "atoms" else {"type"})
        for column in frame[name].columns:
            assert np.asarray(other[name][column]).tolist() == frame[name][column].tolist(), (name, column)
    # without labels molrs spells the number as a label
    assert np.asarray(other["bonds"]["type"]).tolist() == ["1", "1"]
    assert other.meta["lammps_units"] == "real"
    np.testing.assert_array_equal(np.asarray(other.box.matrix), np.asarray(frame.box.vectors))  # type: ignore[union-attr]


def _assert_close(found: Any, expected: Any) -> None:
    """Compare columns; LAMMPS moves atoms by a rounding when it wraps them, with each file it writes or reads."""
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)
    else:
        assert found.tolist() == expected.tolist()


SETUP = """
units real
atom_style full
boundary p p p
region b prism -5 25 0 30 0 30 1 0.5 0.25
create_box 2 b bond/types 1 angle/types 1 extra/bond/per/atom 2 extra/angle/per/atom 2 extra/special/per/atom 4
labelmap atom 1 OW 2 HW
labelmap bond 1 OW-HW
labelmap angle 1 HW-OW-HW
create_atoms 1 single 1 1 1
create_atoms 2 single 2 1 1
create_atoms 2 single 1 2 1
mass 1 15.9994
mass 2 1.008
set atom 1 charge -0.8
set atom 2*3 charge 0.4
set atom 2 image 1 -1 2
pair_style lj/cut 8
pair_coeff * * 0.1 3
bond_style harmonic
bond_coeff 1 450 0.9572
angle_style harmonic
angle_coeff 1 55 104.52
create_bonds single/bond 1 1 2
create_bonds single/bond 1 1 3
create_bonds single/angle 1 2 1 3
velocity all create 300 1
run 1
"""


@engines
def test_lammps_writes_what_is_read_and_reads_what_is_written(tmp_path: Path) -> None:
    lammps = lammps_engine()
    lammps.commands_string(SETUP)
    variants = {"plain": "", "labels": "types labels", "pairs": "pair ij", "bare": "nocoeff"}
    for name, options in variants.items():
        lammps.commands_string(f"write_data {tmp_path / name}.data {options}")
    frame = read(tmp_path / "plain.data")
    for name in ("labels", "pairs", "bare"):
        other = read(tmp_path / f"{name}.data")
        for block in frame.blocks:
            for column in frame[block].columns:
                _assert_close(other[block][column], frame[block][column])
        assert other.box == frame.box
    order = np.argsort(frame["atoms"]["id"])
    positions = gathered(lammps, "x", 1)
    for axis, name in enumerate("xyz"):
        _assert_close(frame["atoms"][name][order], positions[:, axis])
    images = gathered(lammps, "image", 0)
    np.testing.assert_array_equal(frame["atoms"]["iy"][order], images[:, 1])
    lammps.close()

    out = tmp_path / "out.data"
    write_data(out, Images([with_units(frame, {"preset": "real"})]), Notes(strict=True))
    again = lammps_engine()
    again.commands_string(
        f"""units real
        atom_style full
        bond_style harmonic
        angle_style harmonic
        pair_style lj/cut 8
        read_data {out} extra/bond/per/atom 2
        run 0
        write_data {tmp_path / "again.data"}"""
    )
    back = read(tmp_path / "again.data")
    again.close()
    for name in ("atoms", "bonds", "angles"):
        for column in frame[name].columns:
            _assert_close(back[name][column], frame[name][column])
    assert back.box == frame.box
    assert back.meta["lammps.coefficients"] == frame.meta["lammps.coefficients"]


@engines
def test_lammps_general_triclinic_data_comes_back(tmp_path: Path) -> None:

    def read_hybrid(path: Path) -> mr.Frame:
        path.write_text(path.read_text().replace("Atoms # hybrid\n", "Atoms # hybrid charge sphere\n"))
        return read(path)

    lammps = lammps_engine()
    lammps.commands_string(
        f"""units metal
        atom_style hybrid charge sphere
        lattice custom 3.5 a1 1 0 0.2 a2 0.1 1 0 a3 0 0 1.1 basis 0 0 0 basis 0.5 0.5 0.1 triclinic/general
        create_box 1 NULL 0 2 0 2 0 2
        create_atoms 1 box
        mass 1 12
        pair_style zero 2
        pair_coeff * *
        run 0
        write_data {tmp_path / "general.data"} triclinic/general"""
    )
    lammps.close()
    with pytest.raises(mr.FormatError, match="does not say known sub-styles"):
        read(tmp_path / "general.data")
    frame = read_hybrid(tmp_path / "general.data")
    assert frame.box is not None
    assert frame.box.vectors[2, 0] != 0
    assert frame.meta["lammps.atom_style"] == "hybrid charge sphere"
    write_data(tmp_path / "out.data", Images([with_units(frame, {"preset": "metal"})]), Notes(strict=True))
    assert read(tmp_path / "out.data") == frame
    again = lammps_engine()
    again.commands_string(
        f"""units metal
        atom_style hybrid charge sphere
        pair_style zero 2
        read_data {tmp_path / "out.data"}
        pair_coeff * *
        run 0
        write_data {tmp_path / "again.data"} triclinic/general"""
    )
    again.close()
    back = read_hybrid(tmp_path / "again.data")
    order, other = np.argsort(frame["atoms"]["id"]), np.argsort(back["atoms"]["id"])
    for name in ("x", "y", "z", "density", "mass"):
        np.testing.assert_allclose(back["atoms"][name][other], frame["atoms"][name][order], atol=1e-12)


MDANALYSIS_FILES = [
    "LAMMPS_chain", "LAMMPS_image_vf", "LAMMPScnt", "LAMMPScnt2", "LAMMPSdata", "LAMMPSdata2", "LAMMPSdata_PairIJ",
    "LAMMPSdata_additional_columns", "LAMMPSdata_deletedatoms", "LAMMPSdata_many_bonds", "LAMMPSdata_mini",
    "LAMMPSdata_triclinic", "LAMMPShyd", "LAMMPShyd2",
]  # fmt: skip


@engines
@pytest.mark.parametrize("name", MDANALYSIS_FILES)
@pytest.mark.filterwarnings("ignore")
def test_the_files_of_mdanalysis_read_as_it_reads_them(tmp_path: Path, name: str) -> None:
    if importlib.util.find_spec("MDAnalysisTests") is None:
        pytest.skip("no MDAnalysisTests")
    import MDAnalysis
    from MDAnalysisTests import datafiles

    path = Path(getattr(datafiles, name))
    frame = read(path, Notes())
    style = "id type x y z" if name == "LAMMPSdata_triclinic" else "id resid type charge x y z"
    if name == "LAMMPSdata_PairIJ":
        style = "id resid type x y z"
    universe = MDAnalysis.Universe(str(path), topology_format="DATA", format="DATA", atom_style=style)
    order = np.argsort(frame["atoms"]["id"], kind="stable")
    atoms = frame["atoms"]
    np.testing.assert_array_equal(universe.atoms.ids, atoms["id"][order])
    np.testing.assert_array_equal(universe.atoms.types.astype(int), atoms["type_id"][order])
    np.testing.assert_array_equal(universe.atoms.masses, atoms["mass"][order])
    for axis, column in enumerate("xyz"):
        # MDAnalysis holds positions and charges as binary32
        np.testing.assert_array_equal(universe.atoms.positions[:, axis], atoms[column][order].astype(np.float32))
    if "charge" in atoms:
        np.testing.assert_array_equal(
            universe.atoms.charges.astype(np.float32), atoms["charge"][order].astype(np.float32)
        )
    rank = np.argsort(order)
    for block, ends in (("bonds", "ij"), ("angles", "ijk"), ("dihedrals", "ijkl"), ("impropers", "ijkl")):
        if block not in frame:
            continue
        rows = rank[np.stack([frame[block][f"atom{end}"] for end in ends], axis=1).astype(int)]
        flipped = np.where((rows[:, :1] > rows[:, -1:]), rows[:, ::-1], rows)
        known = {tuple(row) for row in getattr(universe, block).indices.tolist()}
        assert {tuple(row) for row in flipped.tolist()} == known
    write_data(tmp_path / "out.data", Images([frame]), Notes(strict=True))
    assert read(tmp_path / "out.data") == frame
