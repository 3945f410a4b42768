"""PDB files as records and back: every column, every digit, and a word about everything that does not fit."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.conversion import convert
from molrec.formats.images import Images
from molrec.formats.macromolecule import cell_of_box
from molrec.formats.notes import Notes
from molrec.formats.pdb import PdbFamily, PdbSource
from molrec.formats.pdb_columns import Field, LineFields, print_integers
from molrec.formats.pdb_writer import write_pdb
from molrec.formats.registry import formats
from molrec.formats.residue_numbers import ResidueNumbers

gemmi = pytest.importorskip("gemmi")

SMALL = """\
HEADER    TEST                                    01-JAN-26   1ABC
TITLE     A SMALL FILE WITH A TITLE THAT IS LONG ENOUGH TO NEED A SECOND LINE,
TITLE    2 AND WITH EVERYTHING ELSE A LINE MAY SAY
REMARK   2 RESOLUTION.    1.00 ANGSTROMS.
CRYST1   50.000   60.000   70.000  90.00  90.00 120.00 P 21 21 21    4
ATOM      1  N  AMET A   1      11.104   6.134  -6.504  0.50 12.34      SEGA N1+
ANISOU    1  N  AMET A   1      688   1234    806    -19    -49    178  SEGA N1+
ATOM      2  CA BMET A   1A     11.639   6.071  -5.147  0.50 13.45      SEGA C
TER       3      MET A   1A
HETATM    4 FE   HEM B 101      12.000   7.000   8.000  1.00 20.00          FE2-
HETATM    5  O   HOH B 102      13.000   7.000   8.000  1.00                 O
CONECT    4    5    5
CONECT    5    4    4
END
"""
ATOM = "ATOM      1  N   ALA A   1      11.104   6.134  -6.504  1.00 12.34           N\n"
SECOND = ATOM.replace("     1  N ", "     2  CA")
CELL = "CRYST1   50.000   60.000   70.000  90.00  90.00  90.00 P 1           1\n"
SCALE = "SCALE1      0.020000  0.000000  0.000000        0.50000\n"
SCALES = (
    SCALE
    + "SCALE2      0.000000  0.016667  0.000000        0.00000\n"
    + "SCALE3      0.000000  0.000000  0.014286        0.00000\n"
)


def written(folder: Path, text: str | bytes, name: str = "file.pdb") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def frames_of(path: Path, notes: Notes | None = None) -> list[mr.Frame]:
    return list(PdbSource(path).frames(Notes(strict=True) if notes is None else notes))


def frame_of(folder: Path, text: str, notes: Notes | None = None) -> mr.Frame:
    (frame,) = frames_of(written(folder, text), notes)
    return frame


def rewritten(path: Path, frames: list[mr.Frame], notes: Notes | None = None) -> list[mr.Frame]:
    write_pdb(path, Images(frames), Notes(strict=True) if notes is None else notes, None)
    return frames_of(path)


# -- reading ----------------------------------------------------------------------------------------------------------


def test_every_field_has_its_column(tmp_path: Path) -> None:
    frame = frame_of(tmp_path, SMALL)
    atoms = frame["atoms"]
    assert {name: atoms[name].tolist() for name in atoms.columns} == {
        "x": [11.104, 11.639, 12.0, 13.0],
        "y": [6.134, 6.071, 7.0, 7.0],
        "z": [-6.504, -5.147, 8.0, 8.0],
        "id": [1, 2, 4, 5],
        "hetatm": [False, False, True, True],
        "name": ["N", "CA", "FE", "O"],
        "altloc": ["A", "B", "", ""],
        "res_name": ["MET", "MET", "HEM", "HOH"],
        "chain": ["A", "A", "B", "B"],
        "icode": ["", "A", "", ""],
        "res_id": [1, 1, 101, 102],
        "occupancy": [0.5, 0.5, 1.0, 1.0],
        "b_factor": [12.34, 13.45, 20.0, 0.0],
        "segment": ["SEGA", "SEGA", "", ""],
        "element": ["N", "C", "Fe", "O"],
        "formal_charge": [1, 0, -2, 0],
        "ter": [False, True, False, False],
        "u_aniso": [[0.0688, 0.1234, 0.0806, -0.0019, -0.0049, 0.0178], *[[0.0] * 6] * 3],
    }
    masks = {name: atoms.validity(name) for name in ("b_factor", "formal_charge", "u_aniso", "occupancy")}
    assert {name: None if mask is None else mask.tolist() for name, mask in masks.items()} == {
        "b_factor": [True, True, True, False],
        "formal_charge": [True, False, True, False],
        "u_aniso": [True, False, False, False],
        "occupancy": None,
    }
    assert {name: frame["bonds"][name].tolist() for name in frame["bonds"].columns} == {
        "atomi": [2],
        "atomj": [3],
        "bond_type": [2],
    }
    assert dict(frame.meta) == {
        "title": "A SMALL FILE WITH A TITLE THAT IS LONG ENOUGH TO NEED A SECOND LINE, AND WITH EVERYTHING ELSE A LINE "
        "MAY SAY",
        "space_group": "P 21 21 21",
        "z_value": 4,
        "pdb_header": [SMALL.splitlines()[0], SMALL.splitlines()[3]],
    }
    assert frame.box is not None
    expected = np.array(gemmi.UnitCell(50, 60, 70, 90, 90, 120).orth.mat.tolist())
    assert np.array_equal(frame.box.vectors, expected)
    assert PdbSource.units == {"length": "angstrom"}


def test_a_file_comes_back_byte_for_byte_but_for_the_place_of_its_title(tmp_path: Path) -> None:
    frame = frame_of(tmp_path, SMALL)
    assert rewritten(tmp_path / "back.pdb", [frame]) == [frame]
    lines = [line.rstrip() for line in (tmp_path / "back.pdb").read_text().splitlines()]
    assert sorted(lines) == sorted(SMALL.splitlines())
    assert lines[3:] == SMALL.splitlines()[3:]


def test_through_a_record_and_back(tmp_path: Path) -> None:
    source = written(tmp_path, SMALL)
    done = convert([source], tmp_path / "run.mrec", strict=True)
    assert done.notes == ()
    assert mr.validate(done.output) == []
    with mr.open(done.output) as record:
        assert record.system is not None
        assert record.system.meta["units"] == {"length": "angstrom"}
        assert "res_name" in record.system["atoms"]
        assert record.trajectory is not None
        assert "pdb_header" in record.trajectory.schema.meta
    assert convert([done.output], tmp_path / "back.pdb", strict=True).notes == ()
    assert frames_of(tmp_path / "back.pdb") == frames_of(source)


@pytest.mark.parametrize("change", ["crlf", "no last newline", "gz", "bare", "trailing blanks"])
def test_other_ends_of_lines_mean_the_same(tmp_path: Path, change: str) -> None:
    expected = frame_of(tmp_path, SMALL)
    text = {
        "crlf": SMALL.replace("\n", "\r\n"),
        "no last newline": SMALL.rstrip("\n"),
        "gz": SMALL,
        "bare": SMALL.removesuffix("END\n"),
        "trailing blanks": "".join(f"{line:80}\n" for line in SMALL.splitlines()),
    }[change]
    if change == "gz":
        path = written(tmp_path, gzip.compress(text.encode()), "file.pdb.gz")
        assert formats().for_reading(path).name == "pdb"
    else:
        path = written(tmp_path, text, "other.pdb")
    assert frames_of(path) == [expected]


def test_a_column_empty_everywhere_is_none(tmp_path: Path) -> None:
    atoms = frame_of(tmp_path, ATOM[:54] + "\n")["atoms"]
    assert not {"occupancy", "b_factor", "element", "formal_charge", "segment", "ter"} & set(atoms.columns)
    blank = ATOM[:6] + "     " + ATOM[11:22] + "     " + ATOM[27:]
    assert not {"id", "res_id"} & set(frame_of(tmp_path, blank)["atoms"].columns)


def test_elements_are_not_inferred_from_names(tmp_path: Path) -> None:
    # a carbon alpha placed like calcium, as some programs do
    frame = frame_of(tmp_path, "ATOM      1 CA   ALA A   1      11.104   6.134  -6.504  1.00 12.34\n")
    assert "element" not in frame["atoms"]


def test_residue_names_of_four_letters_and_numbers_of_five_digits(tmp_path: Path) -> None:
    text = "ATOM  5      OH2 TIP3 10000    -50.081 -29.767  34.409  1.00  0.00      TIP3\n"
    atoms = frame_of(tmp_path, text)["atoms"]
    assert (atoms["res_name"].tolist(), atoms["res_id"].tolist(), atoms["icode"].tolist()) == (["TIP3"], [10000], [""])
    assert atoms["id"].tolist() == [5]


def test_serial_numbers_that_start_again_are_counted_on(tmp_path: Path) -> None:
    text = "".join(ATOM.replace("     1  N", f"{number:6d}  N") for number in (99998, 99999, 0, 1))
    notes = Notes(strict=True)
    assert frame_of(tmp_path, text, notes)["atoms"]["id"].tolist() == [99998, 99999, 100000, 100001]
    assert [note.subject for note in notes] == ["serial numbers"]
    with pytest.raises(mr.FormatError, match=r"file.pdb:5: .*start again after 99999") as refused:
        frame_of(tmp_path, text + "CONECT    0    1\n")
    assert refused.value.rule == "reject-malformed-source"


def test_serial_numbers_of_asterisks_are_named_as_lost(tmp_path: Path) -> None:
    notes = Notes()
    frame = frame_of(tmp_path, ATOM + SECOND.replace("     2", " *****"), notes)
    assert "id" not in frame["atoms"]
    assert [note.lost for note in notes] == [True]
    with pytest.raises(mr.SchemaError, match="serial numbers"):
        frame_of(tmp_path, ATOM + SECOND.replace("     2", " *****"))


@pytest.mark.parametrize(
    ("lines", "subject"),
    [
        (ATOM + "SIGATM    1  N   ALA A   1       0.040   0.030   0.030  0.00  0.00           N\n", "SIGATM records"),
        (ATOM[:66] + "ABC   " + ATOM[72:], "columns 67 to 72 of the atoms"),
        (ATOM[:11] + "7" + ATOM[12:], "column 12 of the atoms"),
        (ATOM.rstrip("\n").ljust(80) + "MORE\n", "columns of atoms after 80"),
        (ATOM + "REMARK  AFTER THE ATOMS\n", "REMARK record"),
        (ATOM + "ENDMDL\nREMARK  AFTER THE ATOMS\n", "REMARK record"),
        (ATOM[:72] + "1CRN  70\n", "columns 77 to 80"),
        (ATOM + SECOND + "CONECT    1    2" + " " * 20 + "    2\n", "CONECT records"),
        (SCALE + ATOM, "SCALE records"),
        (CELL + SCALE + ATOM, "SCALE records"),
        (CELL + SCALES + ATOM, "SCALE records"),
    ],
)
def test_what_is_left_out_is_named(tmp_path: Path, lines: str, subject: str) -> None:
    notes = Notes()
    frame_of(tmp_path, lines, notes)
    assert {note.subject for note in notes if note.lost} == {subject}
    with pytest.raises(mr.SchemaError, match=subject) as refused:
        frame_of(tmp_path, lines)
    assert refused.value.rule == "reject-lossy-conversion"


# -- residue numbers --------------------------------------------------------------------------------------------------


def numbered(*numbers: tuple[str, int, str]) -> str:
    return "".join(
        f"ATOM  {serial:5d}  CA  ALA {chain}{number:4d}{icode or ' '}      0.000   0.000   0.000\n"
        for serial, (chain, number, icode) in enumerate(numbers, 1)
    )


def test_negative_residue_numbers_are_moved_and_come_back(tmp_path: Path) -> None:
    text = numbered(("A", -2, ""), ("A", -1, "B"), ("A", 0, ""), ("A", 5, ""), ("B", 0, ""), ("B", 1, ""))
    notes = Notes(strict=True)
    frame = frame_of(tmp_path, text, notes)
    assert frame["atoms"]["res_id"].tolist() == [1, 2, 3, 8, 0, 1]
    assert frame["atoms"]["res_seq"].tolist() == [-2, -1, 0, 5, 0, 1]
    assert [note.subject for note in notes] == ["residue numbers of chain 'A'"]
    assert rewritten(tmp_path / "back.pdb", [frame]) == [frame]
    assert (tmp_path / "back.pdb").read_text().count("A  -2") == 1


def test_residue_numbers_that_start_again_are_counted_on(tmp_path: Path) -> None:
    chains = (
        ("A", 9998),
        ("A", 9999),
        ("A", 0),
        ("A", 1),
        ("B", 5),
        ("B", 9999),
        ("B", 1),
        ("B", 9999),
        ("B", 0),
        ("C", 0),
    )
    notes = Notes(strict=True)
    frame = frame_of(tmp_path, numbered(*((chain, number, "") for chain, number in chains)), notes)
    assert frame["atoms"]["res_id"].tolist() == [9998, 9999, 10000, 10001, 5, 9999, 1, 9999, 10000, 0]
    assert [note.subject for note in notes] == ["residue numbers"]
    assert rewritten(tmp_path / "back.pdb", [frame]) == [frame]


def test_a_chain_is_moved_alike_in_every_model(tmp_path: Path) -> None:
    models = (numbered(("A", -2, ""), ("A", 3, "")), numbered(("A", 3, "")), numbered(("A", -1, ""), ("A", 3, "")))
    text = "".join(f"MODEL     {n:4d}\n{model}ENDMDL\n" for n, model in enumerate(models, 1))
    found = [frame["atoms"]["res_id"].tolist() for frame in frames_of(written(tmp_path, text))]
    assert found == [[1, 6], [6], [2, 6]]


@given(st.lists(st.tuples(st.sampled_from("AB"), st.integers(-999, 9999)), min_size=1, max_size=20))
def test_moving_keeps_order_and_identity(residues: list[tuple[str, int]]) -> None:
    chain = np.array([name for name, _ in residues], dtype=np.dtypes.StringDType())
    numbers = np.array([number for _, number in residues], dtype=np.int64)
    moved = ResidueNumbers().unsigned(chain, numbers, Notes(strict=True)).astype(np.int64)
    for name in "AB":
        rows = chain == name
        if rows.any():
            assert len({*(moved[rows] - numbers[rows]).tolist()}) == 1
            assert moved[rows].min() == (1 if numbers[rows].min() < 0 else numbers[rows].min())


# -- hybrid-36 --------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-9999, 87_440_031), min_size=1, max_size=9))
def test_every_integer_that_fits_five_columns_reads_back(numbers: list[int]) -> None:
    columns, fits = print_integers(np.array(numbers), 5)
    assert fits.all()
    matrix = np.full((len(numbers), 80), ord(" "), dtype=np.uint8)
    matrix[:, :5] = columns
    lines = LineFields("file", matrix, np.arange(len(numbers)), "rule")
    assert lines.integers(Field("number", 0, 5))[0].tolist() == numbers


@given(
    st.lists(
        st.integers(-999_999, 9_999_999).map(lambda n: f"{n / 1000:8.3f}")
        | st.from_regex(r"[ +.0-9-]{8}", fullmatch=True)
        | st.just("  -0.000"),
        min_size=1,
        max_size=4,
    )
)
def test_a_real_field_is_what_python_reads(texts: list[str]) -> None:
    matrix = np.frombuffer("".join(text.ljust(80) for text in texts).encode(), dtype=np.uint8).reshape(-1, 80)
    lines = LineFields("file", matrix, np.arange(1, len(texts) + 1), "rule")
    try:
        expected = [float(text) if text.strip() else 0.0 for text in texts]
    except ValueError:
        with pytest.raises(mr.FormatError, match="file:"):
            lines.reals(Field("x", 0, 8, 3))
    else:
        found, blank = lines.reals(Field("x", 0, 8, 3))
        assert list(map(repr, found.tolist())) == list(map(repr, expected))
        assert blank.tolist() == [not text.strip() for text in texts]


def test_hybrid_36_is_what_gemmi_reads(tmp_path: Path) -> None:
    ids = [1, 99_999, 100_000, 100_035, 100_036, 43_770_015, 43_770_016, 87_440_031]
    residues = [1, 9_999, 10_000, 10_035, 466_655, 1_223_055, 1_223_056, 2_436_111]
    atoms = mr.Block({axis: np.zeros(8) for axis in "xyz"})
    atoms["id"], atoms["res_id"] = np.array(ids), np.array(residues)
    atoms["name"], atoms["element"] = ["C"] * 8, ["C"] * 8
    bonds = mr.Block({"atomi": np.array([0, 2]), "atomj": np.array([7, 5]), "bond_type": np.array([1, 3])})
    frame = mr.Frame({"atoms": atoms, "bonds": bonds})
    (back,) = rewritten(tmp_path / "file.pdb", [frame])
    assert back["atoms"]["id"].tolist() == ids
    assert back["atoms"]["res_id"].tolist() == residues
    assert back["bonds"] == bonds
    structure = gemmi.read_pdb(str(tmp_path / "file.pdb"))
    found = sorted((site.atom.serial, site.residue.seqid.num) for site in structure[0].all())
    # gemmi takes lower-case digits for upper-case ones
    assert sorted(set(found)) == list(zip(ids[:6], residues[:6], strict=True))


# -- models, cells, bonds ---------------------------------------------------------------------------------------------


def test_models_are_a_trajectory(tmp_path: Path) -> None:
    models = [ATOM + SECOND, ATOM.replace("11.104", "12.104") + SECOND]
    text = "TITLE     TWO\n" + "".join(
        f"MODEL     {n:4d}\n{m}TER\nENDMDL\n" for n, m in zip((1, 7), models, strict=True)
    )
    source = written(tmp_path, text + "CONECT    1    2\nCONECT    2    1\nEND\n")
    done = convert([source], tmp_path / "run.mrec", strict=True)
    with mr.open(done.output) as record:
        assert record.trajectory is not None
        assert record.system is not None
        assert record.trajectory.meta["model"].tolist() == [1, 7]
        assert record.trajectory.read("atoms", "x")["x"].tolist() == [[11.104, 11.104], [12.104, 11.104]]
        assert record.system["bonds"]["atomj"].tolist() == [1]
        assert record.system["atoms"]["name"].tolist() == ["N", "CA"]
    convert([done.output], tmp_path / "back.pdb", strict=True)
    assert frames_of(tmp_path / "back.pdb") == frames_of(source)
    assert (tmp_path / "back.pdb").read_text().count("CONECT") == 2


def test_models_of_other_atoms_are_frames_of_their_own(tmp_path: Path) -> None:
    text = f"MODEL        1\n{ATOM}{SECOND}ENDMDL\nMODEL        2\n{SECOND}ENDMDL\nCONECT    1    2\n"
    source = written(tmp_path, text)
    frames = frames_of(source)
    assert [frame["atoms"].rows for frame in frames] == [2, 1]
    assert [frame["bonds"].rows for frame in frames] == [1, 0]
    assert rewritten(tmp_path / "back.pdb", frames) == frames
    convert([source], tmp_path / "run.mrec", strict=True)
    convert([tmp_path / "run.mrec"], tmp_path / "again.pdb", strict=True)
    assert frames_of(tmp_path / "again.pdb") == frames


def test_frames_that_end_in_end_are_frames(tmp_path: Path) -> None:
    assert len(frames_of(written(tmp_path, f"{ATOM}END\n{ATOM}END\n"))) == 2


def test_the_cell_of_each_model_is_the_last_one_given(tmp_path: Path) -> None:
    cell = "CRYST1   50.000   60.000   70.000  90.00  90.00  90.00 P 1           1\n"
    other = cell.replace("50.000", "51.000")
    text = f"{cell}MODEL        1\n{ATOM}ENDMDL\nMODEL        2\n{ATOM}ENDMDL\n{other}MODEL        3\n{ATOM}ENDMDL\n"
    frames = frames_of(written(tmp_path, text))
    assert [frame.box.vectors[0, 0] for frame in frames if frame.box is not None] == [50.0, 50.0, 51.0]
    assert rewritten(tmp_path / "back.pdb", frames) == frames
    assert (tmp_path / "back.pdb").read_text().count("CRYST1") == 2


@given(
    title=st.text(st.sampled_from("AB  -"), min_size=1, max_size=300).map(str.strip).filter(bool),
    other=st.sampled_from(("OTHER", None)),
)
def test_titles_come_back(title: str, other: str | None, tmp_path_factory: pytest.TempPathFactory) -> None:
    frames = [plain_frame(), plain_frame()]
    frames[0].meta["title"] = title
    if other is not None:
        frames[1].meta["title"] = other
    back = rewritten(tmp_path_factory.mktemp("title") / "file.pdb", frames)
    assert [frame.meta.get("title") for frame in back] == [title, other]


def test_a_title_of_several_lines_is_refused(tmp_path: Path) -> None:
    frame = plain_frame()
    frame.meta["title"] = "ONE\nTWO"
    with pytest.raises(mr.SchemaError, match="is none") as refused:
        write_pdb(tmp_path / "out.pdb", Images([frame]), Notes(), None)
    assert refused.value.rule == "reject-foreign-write"


@pytest.mark.parametrize("numbers", ["    1.000    1.000    1.000  90.00", "    0.000    0.000    0.000  90.00"])
def test_a_cell_of_ones_is_none(tmp_path: Path, numbers: str) -> None:
    frame = frame_of(tmp_path, f"CRYST1{numbers}  90.00  90.00 P 1           1\n{ATOM}")
    assert frame.box is None
    assert not frame.meta


def test_a_cell_in_another_orientation_is_kept_by_scale(tmp_path: Path) -> None:
    vectors = np.array([[0.0, 0.0, 70.0], [50.0, 0.0, 0.0], [0.0, 60.0, 0.0]])
    frame = mr.Frame({"atoms": frame_of(tmp_path, ATOM)["atoms"]}, box=mr.Box(vectors))
    notes = Notes()
    (back,) = rewritten(tmp_path / "back.pdb", [frame], notes)
    assert [note.subject for note in notes] == ["orientation of the cell"]
    assert back.box is not None
    np.testing.assert_allclose(back.box.vectors, vectors, atol=1e-2)


@given(
    st.tuples(*[st.integers(2_000, 999_999)] * 3, *[st.integers(6_000, 11_000)] * 3),
)
def test_every_cell_gives_its_six_numbers_back(numbers: tuple[int, ...]) -> None:
    from molrec.formats.macromolecule import box_of_cell

    parameters = [*(n / 1000 for n in numbers[:3]), *(n / 100 for n in numbers[3:])]
    box = box_of_cell(parameters, None, 0.0)
    assert box is not None
    assert cell_of_box(box, (3, 2)).tolist() == parameters


def test_bond_orders_are_how_often_a_partner_is_named(tmp_path: Path) -> None:
    atoms = "".join(ATOM.replace("     1  N", f"{n:6d}  N") for n in range(1, 9))
    text = (
        atoms
        + "CONECT    1    2    3    4    5\nCONECT    1    6    7    7\nCONECT    7    8    8    8\nCONECT    8    7\n"
    )
    bonds = frame_of(tmp_path, text)["bonds"]
    found = list(zip(*(bonds[name].tolist() for name in ("atomi", "atomj", "bond_type")), strict=True))
    assert found == [(0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 4, 1), (0, 5, 1), (0, 6, 2), (6, 7, 3)]
    frame = frame_of(tmp_path, text)
    assert rewritten(tmp_path / "back.pdb", [frame]) == [frame]
    notes = Notes(strict=True)
    bonds = frame_of(tmp_path, atoms + "CONECT    1    2    2    2    2\n", notes)["bonds"]
    assert bonds["bond_type"].tolist() == [0]
    assert [note.subject for note in notes] == ["CONECT records"]


# -- refusals ---------------------------------------------------------------------------------------------------------

MODEL = f"MODEL        1\n{ATOM}ENDMDL\n"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (ATOM + SECOND[:45] + "\n", 2, "ends after 45 columns"),
        (ATOM + SECOND[:40], 2, "ends after 40 columns"),
        (MODEL + "MODEL        2\n" + ATOM, 4, "has no ENDMDL"),
        ("MODEL        1\n" + ATOM + MODEL, 1, "has no ENDMDL"),
        ("MODEL        1\nENDMDL\n", 1, "has no atoms"),
        ("MODEL        X\n" + ATOM + "ENDMDL\n", 1, "'X'"),
        (ATOM + SECOND.replace("11.104", "11.1O4"), 2, r"x \(columns 31 to 38\) holds '  11.1O4'"),
        (ATOM + SECOND.replace(" 11.104", "********"[:7]), 2, "a number is expected"),
        (ATOM + SECOND.replace("  11.104", "11.1 1.0"), 2, "a number is expected"),
        (ATOM + SECOND.replace("  11.104", "     nan"), 2, "a number is expected"),
        (ATOM + SECOND.replace("  11.104", "        "), 2, "is empty"),
        (ATOM + SECOND.replace("12.34", "12,34"), 2, "the B factor"),
        (ATOM + SECOND.replace("     2 ", "    2X "), 2, "the serial number"),
        (ATOM + SECOND.replace("     2 ", "    -2 "), 2, "negative"),
        (ATOM + SECOND.replace("     2 ", "       "), 2, "is empty, others are not"),
        (ATOM + SECOND.replace("A   1", "A  1X"), 2, "the residue number"),
        (ATOM + SECOND.rstrip("\n") + "++\n", 2, "the charge"),
        (ATOM + ATOM, 2, "the serial number 1 occurs twice, first in line 1"),
        (ATOM + SECOND + "CONECT    1    3\n", 3, "bonds the atoms 1 and 3, and no model has both"),
        (ATOM + "CONECT    1    1\n", 2, "to itself"),
        (ATOM + "CONECT    1    ?\n", 2, "a serial number"),
        (ATOM[:6] + "     " + ATOM[11:] + "CONECT    1    2\n", 2, "which they do not have"),
        (ATOM + "MASTER        0    0    0    0    0    0    0    0    2    0    0    0\n", 2, "MASTER counts 2 atoms"),
        ("NUMMDL    2\n" + MODEL, 1, "NUMMDL says 2 models"),
        (ATOM + SECOND.replace("ALA", "ÄLA"), 2, "0xc3 is not ASCII"),
        (f"REMARK  Müller\n{ATOM}", 1, "is not ASCII"),
        (ATOM + "\0" * 20, 2, "0x00 is not ASCII"),
        (ATOM + SECOND.replace("  CA  ", "\tCA  "), 2, "a tab"),
        (CELL.replace("50.000", "50.x00") + ATOM, 1, r"a \(columns 7 to 15\)"),
        (CELL.replace("  90.00", "   0.00", 1) + ATOM, 1, "that none can have"),
        (CELL.replace("  90.00  90.00  90.00", " 170.00  10.00  10.00") + ATOM, 1, "no volume"),
        (CELL.replace("  1\n", "  X\n") + ATOM, 1, "Z is 'X'"),
        (CELL + SCALES.replace("0.016667", "0.0x6667") + ATOM, 3, "SCALE2 holds no four numbers"),
        (CELL + SCALES.replace("0.016667", "0.000000") + ATOM, 1, "CRYST1: Singular matrix"),
        (ATOM + SMALL.splitlines()[6].replace("MET", "ALA") + "\n", 2, "about another atom"),
        ("REMARK  NOTHING\n", 1, "no ATOM or HETATM record"),
    ],
)
def test_a_damaged_file_is_refused_by_file_and_line(tmp_path: Path, text: str, line: int, why: str) -> None:
    path = written(tmp_path, text, "bad.pdb")
    with pytest.raises(mr.FormatError, match=rf"bad.pdb:{line}: .*{why}") as refused:
        frames_of(path, Notes())
    assert refused.value.rule == "reject-malformed-source"
    with pytest.raises(mr.FormatError, match=why):
        convert([path], tmp_path / "run.mrec", source_format="pdb")
    assert [found.name for found in tmp_path.iterdir()] == ["bad.pdb"]


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mr.FormatError, match="is empty"):
        convert([written(tmp_path, "")], tmp_path / "run.mrec")
    with pytest.raises(mr.FormatError, match=r"file\.pdb:1: there is no ATOM"):
        frames_of(tmp_path / "file.pdb")


def test_lines_are_counted_over_models(tmp_path: Path) -> None:
    text = "REMARK  ONE\r\n" + (MODEL * 3).replace("\n", "\r\n") + ATOM.replace("11.104", "11.1x4")
    with pytest.raises(mr.FormatError, match=r"bad\.pdb:11: "):
        frames_of(written(tmp_path, text, "bad.pdb"))


def test_a_file_cut_short_in_its_compression_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress((SMALL * 500).encode())
    path = written(tmp_path, whole[: len(whole) // 2], "cut.pdb.gz")
    with pytest.raises(mr.FormatError, match=r"cut\.pdb\.gz"):
        frames_of(path)


# -- writing ----------------------------------------------------------------------------------------------------------


def plain_frame(**columns: Any) -> mr.Frame:
    given: dict[str, Any] = {"x": [1.0], "y": [2.0], "z": [3.0], "name": ["CA"], "element": ["C"]} | columns
    return mr.Frame({"atoms": mr.Block({name: np.asarray(values) for name, values in given.items()})})


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"x": [10000.0]}, "x is 10000.0"),
        ({"y": [-1000.0]}, "y is -1000.0"),
        ({"z": [9999.9996]}, "z is 9999.9996"),
        ({"x": [np.nan]}, "x is nan"),
        ({"b_factor": [1000.0]}, "the B factor is 1000.0"),
        ({"name": ["LONGNAME"]}, "the atom name is 'LONGNAME'"),
        ({"name": ["Ü"]}, "the atom name is 'Ü'"),
        ({"name": ["A\n"]}, "the atom name is"),
        ({"res_name": ["ABCDE"]}, "the residue name is 'ABCDE'"),
        ({"chain": ["AB"]}, "the chain is 'AB'"),
        ({"element": ["Xyz"]}, "the element is 'XYZ'"),
        ({"formal_charge": [10]}, "the charge is 10"),
        ({"res_seq": [-1000]}, "the residue number is -1000"),
    ],
)
def test_what_does_not_fit_its_field_names_atom_and_field(tmp_path: Path, columns: dict[str, Any], why: str) -> None:
    with pytest.raises(mr.SchemaError, match=rf"frame 0, atom 0.*: {why}") as refused:
        write_pdb(tmp_path / "out.pdb", Images([plain_frame(**columns)]), Notes(), None)
    assert refused.value.rule == "reject-foreign-write"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("columns", "subject"),
    [
        ({"x": [1.00001]}, "column 'x'"),
        ({"occupancy": [0.333]}, "column 'occupancy'"),
        ({"charge": [0.5]}, "column 'charge' of the atoms"),
        ({"u_aniso": [[1e-5, 0, 0, 0, 0, 0]]}, "column 'u_aniso'"),
    ],
)
def test_what_pdb_does_not_hold_is_named(tmp_path: Path, columns: dict[str, Any], subject: str) -> None:
    notes = Notes()
    write_pdb(tmp_path / "out.pdb", Images([plain_frame(**columns)]), notes, None)
    assert [note.subject for note in notes if note.lost] == [subject]
    with pytest.raises(mr.SchemaError, match=subject) as refused:
        write_pdb(tmp_path / "strict.pdb", Images([plain_frame(**columns)]), Notes(strict=True), None)
    assert refused.value.rule == "reject-lossy-conversion"
    assert [path.name for path in tmp_path.iterdir()] == ["out.pdb"]


def test_blocks_meta_steps_and_partial_cells_are_named(tmp_path: Path) -> None:
    frame = plain_frame()
    frame["angles"] = mr.Block({"atomi": np.array([0], dtype=np.uint64)})
    frame.meta["pe"] = 1.0
    frame.box = mr.Box(np.eye(3) * 12.34567, origin=[1.0, 0, 0], boundary=[True, True, False])
    notes = Notes()
    images = Images([frame], steps=np.array([5]), times=np.array([0.5]))
    write_pdb(tmp_path / "out.pdb", images, notes, None)
    assert sorted(note.subject for note in notes) == [
        "block 'angles'", "cell", "meta 'pe'", "origin of the cell", "periodicity", "steps", "times",
    ]  # fmt: skip


def test_lengths_in_other_units_are_converted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    angstrom = frame_of(tmp_path, CELL + ATOM * 1)
    numbers = rng.integers(-99_999, 999_999, 300) / 1000
    atoms = mr.Block(dict.fromkeys("xyz", numbers))
    atoms["b_factor"] = np.abs(rng.integers(0, 9_999, 300)) / 100
    frame = mr.Frame({"atoms": atoms}, box=angstrom.box)
    (expected,) = rewritten(tmp_path / "angstrom.pdb", [frame])
    assert angstrom.box is not None
    scaled = mr.Block(dict.fromkeys("xyz", numbers / 10) | {"b_factor": atoms["b_factor"] / 100})
    other = mr.Frame({"atoms": scaled}, box=mr.Box(angstrom.box.vectors / 10))
    notes = Notes(strict=True)
    write_pdb(tmp_path / "nm.pdb", Images([other], mr.Frame(meta={"units": {"length": "nm"}})), notes, None)
    assert [note.subject for note in notes] == ["lengths"]
    assert frames_of(tmp_path / "nm.pdb") == [expected]
    other.meta["units"] = "real"
    write_pdb(tmp_path / "real.pdb", Images([other]), Notes(), None)
    assert frames_of(tmp_path / "real.pdb")[0]["atoms"]["x"][0] == float(f"{numbers[0] / 10:.3f}")


def test_unknown_units_and_no_atoms_are_refused(tmp_path: Path) -> None:
    for units in ({"length": "furlong_or_so"}, {"length": "kg"}, "lj"):
        frame = plain_frame()
        frame.meta["units"] = units
        with pytest.raises(mr.SchemaError) as refused:
            write_pdb(tmp_path / "out.pdb", Images([frame]), Notes(), None)
        assert refused.value.rule == "reject-units-disagree"
    for empty in (mr.Frame(), mr.Frame({"atoms": mr.Block({"x": [1.0], "y": [1.0]})})):
        with pytest.raises(mr.SchemaError) as refused:
            write_pdb(tmp_path / "out.pdb", Images([empty]), Notes(), None)
        assert refused.value.rule == "reject-not-atoms"


TEXT = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'*", min_size=1)


@st.composite
def pdb_frames(draw: st.DrawFn) -> mr.Frame:
    """Draw a frame whose values PDB holds."""
    count = draw(st.integers(1, 6))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    atoms = mr.Block({axis: np.array(column(st.integers(-999_999, 9_999_999))) / 1000 for axis in "xyz"})
    atoms["id"] = np.array(
        draw(st.lists(st.integers(0, 87_440_031), min_size=count, max_size=count, unique=True)), dtype=np.uint64
    )
    atoms["hetatm"] = np.array(column(st.booleans()))
    atoms["name"] = column(TEXT.filter(lambda text: len(text) <= 4))
    atoms["altloc"] = column(st.sampled_from(("", "A", "1")))
    atoms["res_name"] = column(TEXT.filter(lambda text: len(text) <= 4))
    atoms["chain"] = column(st.sampled_from(("", "A", "b", "3")))
    atoms["icode"] = column(st.sampled_from(("", "A", "z")))
    atoms["res_id"] = np.array(column(st.integers(0, 2_436_111)), dtype=np.uint64)
    for name in ("occupancy", "b_factor"):
        if draw(st.booleans()):
            atoms[name] = np.array(column(st.integers(-9_999, 99_999))) / 100
    if draw(st.booleans()):
        atoms["element"] = column(st.sampled_from(("C", "Fe", "H", "X")))
    if draw(st.booleans()):
        atoms["formal_charge"] = np.array(column(st.integers(-9, 9)))
    frame = mr.Frame({"atoms": atoms})
    if count > 1 and draw(st.booleans()):
        pairs = draw(st.sets(st.tuples(st.integers(0, count - 2), st.integers(0, count - 1)), min_size=1))
        chosen = sorted((first, second) for first, second in pairs if first < second)
        if chosen:
            ends = np.array(chosen, dtype=np.uint64)
            orders = draw(st.lists(st.integers(1, 3), min_size=len(chosen), max_size=len(chosen)))
            frame["bonds"] = mr.Block(
                {"atomi": ends[:, 0], "atomj": ends[:, 1], "bond_type": np.array(orders, dtype=np.uint64)}
            )
    return frame


@given(frame=pdb_frames())
def test_any_frame_that_fits_comes_back(frame: mr.Frame, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("pdb") / "file.pdb"
    notes = Notes()
    back = rewritten(path, [frame], notes)
    assert len(notes) or back == [frame]
    assert {note.subject for note in notes} <= {"ids", "residue numbers"}


def test_numbers_that_would_be_counted_on_are_named(tmp_path: Path) -> None:
    frame = frame_of(tmp_path, ATOM + SECOND)
    for column, subject in (("id", "ids"), ("res_id", "residue numbers")):
        other = frame.copy()
        other["atoms"][column] = np.array([99999, 0] if column == "id" else [9999, 0])
        with pytest.raises(mr.SchemaError, match=subject):
            rewritten(tmp_path / "out.pdb", [other])


# -- witnesses --------------------------------------------------------------------------------------------------------


def gemmi_rows(path: Path) -> list[tuple[Any, ...]]:
    """Return what gemmi reads of the first model, by serial number."""
    rows = []
    for site in gemmi.read_structure(str(path))[0].all():
        atom, residue = site.atom, site.residue
        rows.append(
            (
                atom.serial, atom.name, atom.altloc.strip("\0"), residue.name, site.chain.name.strip(),
                residue.seqid.num, residue.seqid.icode.strip(), residue.het_flag == "H", *atom.pos.tolist(),
                np.float32(atom.occ), atom.charge,
            )
        )  # fmt: skip
    return sorted(rows)


def our_rows(frame: mr.Frame) -> list[tuple[Any, ...]]:
    atoms = frame["atoms"]
    charge = atoms["formal_charge"] if "formal_charge" in atoms else np.zeros(atoms.rows, dtype=int)
    number = atoms["res_seq"] if "res_seq" in atoms else atoms["res_id"]
    columns = [atoms[name].tolist() for name in ("id", "name", "altloc", "res_name", "chain")]
    columns += [number.tolist(), atoms["icode"].tolist(), atoms["hetatm"].tolist()]
    columns += [atoms[axis].tolist() for axis in "xyz"]
    columns += [list(atoms["occupancy"].astype(np.float32)), charge.tolist()]
    return sorted(zip(*columns, strict=True))


def test_gemmi_reads_the_same_and_reads_what_is_written(tmp_path: Path) -> None:
    source = written(tmp_path, SMALL)
    frame = frame_of(tmp_path, SMALL)
    rewritten(tmp_path / "back.pdb", [frame])
    assert gemmi_rows(source) == gemmi_rows(tmp_path / "back.pdb") == our_rows(frame)
    structure = gemmi.read_structure(str(tmp_path / "back.pdb"))
    assert structure.spacegroup_hm == "P 21 21 21"
    assert structure.cell.parameters == (50, 60, 70, 90, 90, 120)


def test_ase_reads_the_same(tmp_path: Path) -> None:
    pytest.importorskip("ase")
    from ase.io.proteindatabank import read_proteindatabank

    frame = frame_of(tmp_path, SMALL)
    rewritten(tmp_path / "back.pdb", [frame])
    atoms = read_proteindatabank(str(tmp_path / "back.pdb"), index=0)
    assert atoms.get_chemical_symbols() == frame["atoms"]["element"].tolist()
    assert np.array_equal(atoms.positions, np.column_stack([frame["atoms"][axis] for axis in "xyz"]))
    assert frame.box is not None
    np.testing.assert_allclose(atoms.cell.array.T, frame.box.vectors, atol=1e-12)


def test_molrs_reads_the_same_columns(tmp_path: Path) -> None:
    molrs_io = pytest.importorskip("molrs.io")
    frame = frame_of(tmp_path, SMALL)
    rewritten(tmp_path / "back.pdb", [frame])
    found = molrs_io.read_pdb(tmp_path / "back.pdb")
    block = found["atoms"]
    for name in ("id", "element", "name", "res_name", "res_id", "chain", "icode", "altloc"):
        assert block[name].tolist() == frame["atoms"][name].tolist(), name
    for name in ("x", "y", "z", "occupancy", "b_factor"):  # binary32 on the way; an empty B factor is 0
        assert block[name].astype(np.float32).tolist() == frame["atoms"][name].astype(np.float32).tolist(), name
    assert (found["bonds"]["atomi"].tolist(), found["bonds"]["atomj"].tolist()) == ([2], [3])


# -- recognizing ------------------------------------------------------------------------------------------------------


def test_a_pdb_file_is_known_by_content(tmp_path: Path) -> None:
    for name in ("file.pdb", "file.ent", "nameless"):
        assert formats().for_reading(written(tmp_path, SMALL, name)).name == "pdb"
    assert formats().for_writing(tmp_path / "out.pdb").name == "pdb"
    family = PdbFamily()
    header = "HEADER    TEST\n" + "REMARK 500 TEXT\n" * 5000
    assert family.by_content(header.encode()[:50_000]) == "pdb"
    pqr = "ATOM      1  N   ASN A   1      -9.112   3.321   1.212 -0.3000 1.8240\n"
    pdbqt = "ATOM      1  N   ALA A   1      11.104   6.134  -6.504  1.00 12.34    -0.350 N \n"
    for other in (
        pqr,
        pdbqt,
        "ROOT\n" + ATOM,
        "2\ncomment\nH 0 0 0\n",
        "data_x\n",
        "END\n",
        "ATOM 1 N 1.0 2.0 3.0\n",
        "",
    ):
        assert family.by_content(other.encode()) is None, other


def test_without_gemmi_the_extra_is_named(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['gemmi'] = None\n"
        "from pathlib import Path\n"
        "from molrec.formats.registry import formats\n"
        "from molrec.conversion import convert\n"
        f"try: convert([Path({str(written(tmp_path, SMALL))!r})], {str(tmp_path / 'run.mrec')!r})\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'molrec[formats]'" in done.stdout


# -- real files -------------------------------------------------------------------------------------------------------

REAL = [
    "adk_open.pdb",
    "1hvr.pdb",
    "4E43.pdb",
    "5a7u.pdb",
    "19hc.pdb.gz",
    "1a28.pdb.gz",
    "1osm.pdb.gz",
    "6msm.pdb.bz2",
    "A6PA6_alpha.pdb",
    "adk_oplsaa.pdb",
    "charges.pdb",
    "cobrotoxin.pdb",
    "cryst_then_model.pdb",
    "elements.pdb",
    "nmr_neopetrosiamide.pdb",
    "namd_cgenff.pdb",
    "nucl_res.pdb",
    "unordered_res.pdb",
    "water_methane_acetic-acid_ammonia.pdb",
    "windows/WIN_nmr_neopetrosiamide.pdb",
    "merge/2zmm/protein.pdb",
    "capping/maestro_aaqaa_capped.pdb",
]


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REAL)
def test_real_files_are_what_mdanalysis_reads_and_come_back(tmp_path: Path, name: str) -> None:
    tests = pytest.importorskip("MDAnalysisTests")
    mda = pytest.importorskip("MDAnalysis")
    source = Path(tests.__file__).parent / "data" / name
    frames = frames_of(source, Notes())
    back = rewritten(tmp_path / "back.pdb", frames, Notes())
    assert back == frames
    universe = mda.Universe(str(source))
    assert len(universe.trajectory) == len(frames)
    for step, frame in zip(universe.trajectory, frames, strict=True):
        positions = np.column_stack([frame["atoms"][axis] for axis in "xyz"])
        assert np.array_equal(step.positions, positions.astype(np.float32))
        if frame.box is not None:
            np.testing.assert_allclose(step.dimensions, cell_of_box(frame.box, (3, 2)), rtol=1e-6)
    atoms = frames[0]["atoms"]
    assert universe.atoms.names.tolist() == atoms["name"].tolist()
    assert universe.atoms.resnames.tolist() == atoms["res_name"].tolist()
    assert universe.atoms.ids.tolist() == atoms["id"].tolist()
    numbers = atoms["res_seq"] if "res_seq" in atoms else atoms["res_id"]
    assert universe.atoms.resids.tolist() == numbers.tolist()
    if "bonds" in frames[0]:
        ours = {
            tuple(pair) for pair in zip(*(frames[0]["bonds"][end].tolist() for end in ("atomi", "atomj")), strict=True)
        }
        assert {tuple(sorted(bond.indices.tolist())) for bond in universe.bonds} == ours
