"""mmCIF files as records and back: every column and category, and a word about everything that does not fit."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.conversion import convert
from molrec.formats.images import Images
from molrec.formats.macromolecule import box_of_cell, cell_of_box
from molrec.formats.mmcif import MmcifFamily, MmcifSource
from molrec.formats.mmcif_writer import write_mmcif
from molrec.formats.notes import Notes
from molrec.formats.pdb import PdbSource
from molrec.formats.pdb_writer import write_pdb
from molrec.formats.registry import formats

gemmi = pytest.importorskip("gemmi")

ROWS = """\
ATOM   1 N  N     A MET A 1 1 ? 11.104 6.134 -6.50412 0.50 12.34 1  -1 MET A N     1
ATOM   2 C  CA    . MET A 1 2 ? 11.639 6.071 -5.147 0.50 13.45 ?   0 MET A CA    1
ATOM   3 S  "SG'" . CYS A 1 3 B 12.639 6.071 -5.147 1.00 13.45 ?   0 CYS A "SG'" 1
HETATM 4 FE FE    . HEM B 2 . ? 12.000 7.000 8.000  1.00 ?     -2 101 HEM A FE   1
HETATM 5 O  O     . HOH C 3 . ? 13.000 7.000 8.000  1.00 20.1  ? 102 HOH A O     1
HETATM 6 O  O     . HOH C 3 . ? 14.000 7.000 8.000  1.00 20.2  ? 103 HOH A O     1
"""
TAGS = """\
loop_
_atom_site.group_PDB
_atom_site.id
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_alt_id
_atom_site.label_comp_id
_atom_site.label_asym_id
_atom_site.label_entity_id
_atom_site.label_seq_id
_atom_site.pdbx_PDB_ins_code
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
_atom_site.occupancy
_atom_site.B_iso_or_equiv
_atom_site.pdbx_formal_charge
_atom_site.auth_seq_id
_atom_site.auth_comp_id
_atom_site.auth_asym_id
_atom_site.auth_atom_id
_atom_site.pdbx_PDB_model_num
"""
HEAD = """\
data_1ABC
_entry.id 1ABC
_struct.entry_id 1ABC
_struct.title 'A small file'
_cell.entry_id 1ABC
_cell.length_a 50.123
_cell.length_b 60.0
_cell.length_c 70.0
_cell.angle_alpha 90
_cell.angle_beta 90
_cell.angle_gamma 120
_cell.Z_PDB 4
_symmetry.space_group_name_H-M 'P 21 21 21'
loop_
_citation.id
_citation.title
primary
;A title
on two lines
;
2 ?
"""
TAIL = """\
loop_
_atom_site_anisotrop.id
_atom_site_anisotrop.type_symbol
_atom_site_anisotrop.U[1][1]
_atom_site_anisotrop.U[2][2]
_atom_site_anisotrop.U[3][3]
_atom_site_anisotrop.U[1][2]
_atom_site_anisotrop.U[1][3]
_atom_site_anisotrop.U[2][3]
2 C 0.0688 0.1234 0.0806 -0.0019 -0.0049 0.0178
loop_
_struct_conn.id
_struct_conn.conn_type_id
_struct_conn.ptnr1_label_asym_id
_struct_conn.ptnr1_label_comp_id
_struct_conn.ptnr1_label_seq_id
_struct_conn.ptnr1_label_atom_id
_struct_conn.ptnr1_auth_seq_id
_struct_conn.ptnr2_label_asym_id
_struct_conn.ptnr2_label_comp_id
_struct_conn.ptnr2_label_seq_id
_struct_conn.ptnr2_label_atom_id
_struct_conn.ptnr2_auth_seq_id
_struct_conn.ptnr2_symmetry
_struct_conn.details
_struct_conn.pdbx_value_order
metalc1 metalc A CYS 3 "SG'" 0 B HEM . FE 101 1_555 ? sing
hydrog1 hydrog B HEM . FE 101 C HOH . O 103 2_655 ? ?
"""
SMALL = HEAD + TAGS + ROWS + TAIL
PLAIN = "data_x\n" + TAGS + ROWS


def written(folder: Path, text: str | bytes, name: str = "file.cif") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def frames_of(path: Path, notes: Notes | None = None) -> list[mr.Frame]:
    return list(MmcifSource(path).frames(Notes(strict=True) if notes is None else notes))


def frame_of(folder: Path, text: str, notes: Notes | None = None) -> mr.Frame:
    (frame,) = frames_of(written(folder, text), notes)
    return frame


def rewritten(path: Path, frames: list[mr.Frame], notes: Notes | None = None) -> list[mr.Frame]:
    write_mmcif(path, Images(frames), Notes(strict=True) if notes is None else notes, None)
    return frames_of(path)


def values(block: mr.Block, *names: str) -> dict[str, list[Any]]:
    return {name: block[name].tolist() for name in names or block.columns}


def mask(block: mr.Block, name: str) -> list[bool] | None:
    found = block.validity(name)
    return None if found is None else found.tolist()


# -- reading ----------------------------------------------------------------------------------------------------------


def test_every_tag_has_its_column(tmp_path: Path) -> None:
    frame = frame_of(tmp_path, SMALL)
    atoms = frame["atoms"]
    null = [0.0] * 6
    assert values(atoms) == {
        "x": [11.104, 11.639, 12.639, 12.0, 13.0, 14.0],
        "y": [6.134, 6.071, 6.071, 7.0, 7.0, 7.0],
        "z": [-6.50412, -5.147, -5.147, 8.0, 8.0, 8.0],
        "id": [1, 2, 3, 4, 5, 6],
        "hetatm": [False, False, False, True, True, True],
        "element": ["N", "C", "S", "Fe", "O", "O"],
        "occupancy": [0.5, 0.5, 1.0, 1.0, 1.0, 1.0],
        "b_factor": [12.34, 13.45, 13.45, 0.0, 20.1, 20.2],
        "formal_charge": [1, 0, 0, -2, 0, 0],
        "name": ["N", "CA", "SG'", "FE", "O", "O"],
        "altloc": ["A", "", "", "", "", ""],
        "res_name": ["MET", "MET", "CYS", "HEM", "HOH", "HOH"],
        "chain": ["A", "A", "A", "B", "C", "C"],
        "icode": ["", "", "B", "", "", ""],
        "res_id": [1, 2, 3, 101, 102, 103],
        "label_seq_id": [1, 2, 3, 0, 0, 0],
        "auth_seq_id": [-1, 0, 0, 101, 102, 103],
        "label_entity_id": ["1", "1", "1", "2", "3", "3"],
        "auth_comp_id": ["MET", "MET", "CYS", "HEM", "HOH", "HOH"],
        "auth_asym_id": ["A"] * 6,
        "auth_atom_id": ["N", "CA", "SG'", "FE", "O", "O"],
        "u_aniso": [null, [0.0688, 0.1234, 0.0806, -0.0019, -0.0049, 0.0178], null, null, null, null],
    }
    assert mask(atoms, "label_seq_id") == [True, True, True, False, False, False]
    assert mask(atoms, "b_factor") == [True, True, True, False, True, True]
    assert mask(atoms, "formal_charge") == [True, False, False, True, False, False]
    assert mask(atoms, "u_aniso") == [False, True, False, False, False, False]
    assert values(frame["bonds"]) == {
        "atomi": [2, 3],
        "atomj": [3, 5],
        "conn_id": ["metalc1", "hydrog1"],
        "type": ["metalc", "hydrog"],
        "ptnr2_symmetry": ["1_555", "2_655"],
        "bond_type": [1, 0],
    }
    assert mask(frame["bonds"], "bond_type") == [True, False]
    meta = dict(frame.meta)
    categories = gemmi.cif.read_string(meta.pop("mmcif_categories")).sole_block()
    assert meta == {"title": "A small file", "space_group": "P 21 21 21", "z_value": 4, "model": 1}
    assert categories.name == "1ABC"
    assert categories.find_value("_cell.entry_id") == "1ABC"
    assert gemmi.cif.as_string(categories.find_values("_citation.title")[0]) == "A title\non two lines"
    assert set(categories.get_mmcif_category_names()) == {"_entry.", "_struct.", "_cell.", "_citation."}
    assert frame.box is not None
    assert np.array_equal(frame.box.vectors, gemmi.UnitCell(50.123, 60, 70, 90, 90, 120).orth.mat.tolist())
    assert MmcifSource.units == {"length": "angstrom"}


def test_a_file_comes_back(tmp_path: Path) -> None:
    frame = frame_of(tmp_path, SMALL)
    assert rewritten(tmp_path / "back.cif", [frame]) == [frame]
    before, after = (gemmi.cif.read(str(tmp_path / name)).sole_block() for name in ("file.cif", "back.cif"))
    assert set(before.get_mmcif_category_names()) == set(after.get_mmcif_category_names())
    for name in ("_citation.", "_entry.", "_struct."):
        assert before.get_mmcif_category(name) == after.get_mmcif_category(name)
    sites = before.get_mmcif_category("_atom_site."), after.get_mmcif_category("_atom_site.")
    assert list(sites[0]) == list(sites[1])
    for tag in ("id", "label_atom_id", "label_seq_id", "label_alt_id", "auth_seq_id", "pdbx_formal_charge"):
        assert sites[0][tag] == sites[1][tag], tag


def test_through_a_record_and_back(tmp_path: Path) -> None:
    source = written(tmp_path, SMALL)
    done = convert([source], tmp_path / "run.mrec", strict=True)
    assert done.notes == ()
    assert mr.validate(done.output) == []
    with mr.open(done.output) as record:
        assert record.system is not None
        assert record.system.meta["units"] == {"length": "angstrom"}
        assert record.meta["source"]["format"] == ["mmcif"]
    assert convert([done.output], tmp_path / "back.mmcif", strict=True).notes == ()
    assert frames_of(tmp_path / "back.mmcif") == frames_of(source)


@pytest.mark.parametrize("change", ["crlf", "tabs", "no last newline", "gz"])
def test_other_blanks_mean_the_same(tmp_path: Path, change: str) -> None:
    expected = frame_of(tmp_path, PLAIN)
    text = {
        "crlf": PLAIN.replace("\n", "\r\n"),
        "tabs": PLAIN.replace(" ", "\t"),
        "no last newline": PLAIN.rstrip("\n"),
        "gz": PLAIN,
    }[change]
    path = written(
        tmp_path, gzip.compress(text.encode()) if change == "gz" else text, "f.cif.gz" if change == "gz" else "f.cif"
    )
    assert formats().for_reading(path).name == "mmcif"
    assert frames_of(path) == [expected]


def test_one_atom_without_a_loop(tmp_path: Path) -> None:
    text = "data_x\n_atom_site.id 7\n_atom_site.Cartn_x 1.5\n_atom_site.Cartn_y 2\n_atom_site.Cartn_z -3e0\n"
    frame = frame_of(tmp_path, text)
    assert values(frame["atoms"]) == {"x": [1.5], "y": [2.0], "z": [-3.0], "id": [7]}
    assert rewritten(tmp_path / "back.cif", [frame]) == [frame]


def test_authors_labels_stand_in_for_others(tmp_path: Path) -> None:
    text = (
        "data_x\nloop_\n_atom_site.id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n"
        "_atom_site.auth_asym_id\n_atom_site.auth_seq_id\n_atom_site.auth_atom_id\n1 0 0 0 B -3 CA\n2 0 0 0 B 4 CB\n"
    )
    notes = Notes(strict=True)
    frame = frame_of(tmp_path, text, notes)
    assert values(frame["atoms"], "chain", "res_id", "auth_seq_id", "name") == {
        "chain": ["B", "B"],
        "res_id": [1, 8],
        "auth_seq_id": [-3, 4],
        "name": ["CA", "CB"],
    }
    assert {note.subject for note in notes} == {"column 'name'", "column 'chain'", "residue numbers of chain 'B'"}
    assert rewritten(tmp_path / "back.cif", [frame])[0]["atoms"] == frame["atoms"]


def test_other_tags_keep_their_names_and_their_kind_of_nothing(tmp_path: Path) -> None:
    text = PLAIN.replace("_atom_site.label_entity_id", "_atom_site.mine.charge[1]")
    text = text.replace(" A 1 2 ?", " A . 2 ?").replace(" A 1 3 B", " A ? 3 B").replace(" B 2 . ?", " B '?' . ?")
    frame = frame_of(tmp_path, text)
    assert frame["atoms"]["mine.charge[1]"].tolist() == ["1", ".", "?", "?", "3", "3"]
    assert mask(frame["atoms"], "mine.charge[1]") == [True, False, False, True, True, True]
    assert rewritten(tmp_path / "back.cif", [frame]) == [frame]


# -- models, blocks, cells --------------------------------------------------------------------------------------------


def test_models_are_a_trajectory(tmp_path: Path) -> None:
    second = "".join(
        f"{row[:-1]}4\n".replace("11.639", "15.639").replace(f" {n} ", f" {n + 6} ", 1)
        for n, row in enumerate(ROWS.splitlines(), 1)
    )
    source = written(tmp_path, HEAD + TAGS + ROWS + second + TAIL)
    frames = frames_of(source)
    assert [frame.meta["model"] for frame in frames] == [1, 4]
    assert [frame["atoms"]["x"][1] for frame in frames] == [11.639, 15.639]
    assert [frame["atoms"]["id"][0] for frame in frames] == [1, 7]
    assert [frame["bonds"].rows for frame in frames] == [2, 2]
    assert ["mmcif_categories" in frame.meta for frame in frames] == [True, False]
    convert([source], tmp_path / "run.mrec", strict=True)
    convert([tmp_path / "run.mrec"], tmp_path / "back.mmcif", strict=True)
    assert frames_of(tmp_path / "back.mmcif") == frames


def test_data_blocks_come_back_as_blocks(tmp_path: Path) -> None:
    text = SMALL + SMALL.replace("data_1ABC", "data_other").replace("50.123", "51")
    frames = frames_of(written(tmp_path, text))
    assert rewritten(tmp_path / "back.cif", frames) == frames
    assert [block.name for block in gemmi.cif.read(str(tmp_path / "back.cif"))] == ["1ABC", "other"]
    notes = Notes(strict=True)
    write_mmcif(tmp_path / "twice.cif", Images([frames[0], frames[0]]), notes, None)
    assert [block.name for block in gemmi.cif.read(str(tmp_path / "twice.cif"))] == ["1ABC", "1ABC_2"]
    assert [note.subject for note in notes] == ["data block '1ABC'"]
    notes = Notes()
    assert frame_of(tmp_path, PLAIN + "data_more\n_a.b 1\n", notes)["atoms"].rows == 6
    assert [note.subject for note in notes if note.lost] == ["data block 'more'"]


@pytest.mark.parametrize("numbers", [(1, 1, 1), (0, 0, 0), ("?", "?", "?")])
def test_a_cell_of_ones_is_none(tmp_path: Path, numbers: tuple[Any, ...]) -> None:
    text = SMALL
    for name, old, new in zip("abc", ("50.123", "60.0", "70.0"), numbers, strict=True):
        text = text.replace(f"length_{name} {old}", f"length_{name} {new}")
    frame = frame_of(tmp_path, text)
    assert frame.box is None
    assert rewritten(tmp_path / "back.cif", [frame]) == [frame]


def test_a_cell_in_another_orientation_is_kept_by_its_matrix(tmp_path: Path) -> None:
    vectors = np.array([[0.0, 0.0, 70.0], [50.0, 0.0, 0.0], [0.0, 60.0, 0.0]])
    frame = mr.Frame({"atoms": frame_of(tmp_path, PLAIN)["atoms"]}, box=mr.Box(vectors))
    (back,) = rewritten(tmp_path / "back.cif", [frame])
    assert back.box is not None
    np.testing.assert_allclose(back.box.vectors, vectors, atol=1e-12)


@given(
    lengths=st.tuples(*[st.floats(2.0, 500.0)] * 3),
    angles=st.tuples(*[st.floats(60.0, 110.0)] * 3),
)
def test_every_cell_comes_back_to_the_last_digits(lengths: tuple[float, ...], angles: tuple[float, ...]) -> None:
    box = box_of_cell([*lengths, *angles], None, 0.0)
    assert box is not None
    again = box_of_cell(cell_of_box(box), None, 0.0)
    assert again is not None
    np.testing.assert_allclose(again.vectors, box.vectors, rtol=0, atol=1e-11)


def test_what_has_one_place_for_all_models_is_named(tmp_path: Path) -> None:
    first = frame_of(tmp_path, SMALL)
    second = first.copy()
    del second.meta["mmcif_categories"]
    second.meta["title"], second.meta["model"] = "Another", 1
    second.box = None
    del second["bonds"]
    notes = Notes()
    write_mmcif(tmp_path / "out.cif", Images([first, second]), notes, None)
    assert sorted(note.subject for note in notes) == [
        "bonds", "cell", "meta 'title'", "model numbers", "space group",
    ]  # fmt: skip
    assert [frame.meta["model"] for frame in frames_of(tmp_path / "out.cif")] == [1, 2]


# -- connections ------------------------------------------------------------------------------------------------------


def test_a_connection_to_a_missing_atom_is_refused(tmp_path: Path) -> None:
    text = SMALL.replace("hydrog1 hydrog B HEM . FE 101 C HOH . O 103", "hydrog1 hydrog B HEM . FE 101 C HOH . O 104")
    line = text.splitlines().index(next(row for row in text.splitlines() if row.startswith("hydrog1"))) + 1
    with pytest.raises(mr.FormatError, match=rf"file.cif:{line}: .*C HOH  O 104.*no model has both") as refused:
        frame_of(tmp_path, text)
    assert refused.value.rule == "reject-malformed-source"


def test_a_connection_may_name_one_of_several_locations(tmp_path: Path) -> None:
    rows = (
        ROWS.replace("2 C  CA    .", "2 C  CA    A")
        + ROWS.splitlines()[1].replace("2 C  CA    .", "7 C  CA    B")
        + "\n"
    )
    tags = TAIL.replace("_struct_conn.id\n", "_struct_conn.id\n_struct_conn.pdbx_ptnr1_label_alt_id\n")
    tags = tags.replace('metalc1 metalc A CYS 3 "SG\'" 0', "metalc1 B metalc A MET 2 CA 0").replace(
        "hydrog1 ", "hydrog1 ? "
    )
    frame = frame_of(tmp_path, HEAD + TAGS + rows + tags)
    assert frame["bonds"]["atomi"].tolist() == [6, 3]
    assert rewritten(tmp_path / "back.cif", [frame]) == [frame]
    notes = Notes(strict=True)
    frame = frame_of(tmp_path, HEAD + TAGS + rows + tags.replace("metalc1 B", "metalc1 ?"), notes)
    assert frame["bonds"]["atomi"].tolist() == [1, 3]
    assert [note.subject for note in notes] == ["struct_conn"]


# -- refusals ---------------------------------------------------------------------------------------------------------

FIRST = 3 + TAGS.count("\n") - 1  # line of the first atom in PLAIN
DISPLACED = SMALL[: SMALL.index("2 C 0.0688")].count("\n") + 1


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (PLAIN + "ATOM 7 N N\n", 2, "Wrong number of values in loop"),
        (PLAIN[:-30], 2, "Wrong number of values in loop"),
        ("data_x\n_a.b 'open\n", 2, "unterminated"),
        ("data_x\n_a.b\n_c.d 1\n", 2, "has no value"),
        ("no CIF at all\n", 1, "this is no CIF"),
        ("data_x\n_a.b 1\n", 1, "no data block has the category _atom_site"),
        (PLAIN.replace("11.639", "11.6x9"), FIRST + 1, "Cartn_x is '11.6x9', where a number is expected"),
        (PLAIN.replace("11.639", "11.639(3)"), FIRST + 1, "Cartn_x is"),
        (PLAIN.replace("11.639", "nan"), FIRST + 1, "Cartn_x is 'nan'"),
        (PLAIN.replace("11.639", "?"), FIRST + 1, "Cartn_x has no value"),
        (PLAIN.replace("_atom_site.Cartn_x", "_atom_site.fract_x"), FIRST, "Cartn_x is missing"),
        (PLAIN.replace("HETATM 4", "HETATM 1"), FIRST + 3, "the id 1 occurs twice in one model"),
        (PLAIN.replace("HETATM 4", "HETATM ?"), FIRST + 3, "the id is missing"),
        (PLAIN.replace("HETATM 4", "HETATM 4a"), FIRST + 3, "id is '4a', where an integer"),
        (PLAIN.replace("HETATM 4", "WRONG 4"), FIRST + 3, "group_PDB is 'WRONG'"),
        (PLAIN.replace(" 101 HEM", " 101X HEM"), FIRST + 3, "auth_seq_id is '101X'"),
        (PLAIN.replace("FE   1\n", "FE   ?\n"), FIRST + 3, "pdbx_PDB_model_num is missing"),
        (PLAIN.replace("HEM", "HÉM"), FIRST + 3, "0xc3 is not ASCII"),
        (SMALL.replace("50.123", "50,123"), 6, "_cell"),
        (SMALL.replace("_cell.angle_alpha 90", "_cell.angle_alpha 190"), 6, "that none can have"),
        (SMALL.replace("2 C 0.0688", "9 C 0.0688"), DISPLACED, "no atom with the id 9"),
        (SMALL.replace("0.0688", "?"), DISPLACED, r"U\[1\]\[1\] has no value"),
    ],
)
def test_a_damaged_file_is_refused_by_file_and_line(tmp_path: Path, text: str, line: int, why: str) -> None:
    path = written(tmp_path, text, "bad.cif")
    with pytest.raises(mr.FormatError, match=rf"bad.cif:{line}: .*{why}") as refused:
        frames_of(path, Notes())
    assert refused.value.rule == "reject-malformed-source"
    with pytest.raises(mr.FormatError, match=why):
        convert([path], tmp_path / "run.mrec", source_format="mmcif")
    assert [found.name for found in tmp_path.iterdir()] == ["bad.cif"]


def test_the_line_is_right_where_rows_take_several(tmp_path: Path) -> None:
    text = (
        PLAIN.replace(" 12.34", "\n# a comment 1 2 3\n 12.34")
        .replace('"SG\'" .', "\n;SG\n;\n.")
        .replace("13.000", "13x")
    )
    with pytest.raises(mr.FormatError, match=rf"bad.cif:{FIRST + 4 + 2 + 3}: "):
        frames_of(written(tmp_path, text, "bad.cif"))


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mr.FormatError, match="is empty"):
        convert([written(tmp_path, "")], tmp_path / "run.mrec")


# -- writing ----------------------------------------------------------------------------------------------------------


def plain_frame(**columns: Any) -> mr.Frame:
    given: dict[str, Any] = {"x": [1.0], "y": [2.0], "z": [3.0], "name": ["CA"], "element": ["C"]} | columns
    return mr.Frame({"atoms": mr.Block({name: np.asarray(values) for name, values in given.items()})})


@pytest.mark.parametrize(
    ("columns", "why"),
    [({"x": [np.nan]}, "x is nan"), ({"occupancy": [np.inf]}, "occupancy is inf"), ({"name": ["Ü"]}, "ASCII")],
)
def test_what_has_no_form_in_cif_is_refused(tmp_path: Path, columns: dict[str, Any], why: str) -> None:
    with pytest.raises(mr.SchemaError, match=why) as refused:
        write_mmcif(tmp_path / "out.cif", Images([plain_frame(**columns)]), Notes(), None)
    assert refused.value.rule == "reject-foreign-write"
    assert list(tmp_path.iterdir()) == []


def test_what_mmcif_does_not_hold_is_named(tmp_path: Path) -> None:
    frame = plain_frame(charge=[0.5], mine=[1.5], text=["kept"])
    frame.meta["pe"] = 1.0
    frame["pairs"] = mr.Block({"atomi": np.array([0], dtype=np.uint64)})
    notes = Notes()
    write_mmcif(tmp_path / "out.cif", Images([frame], times=np.array([1.0])), notes, None)
    assert sorted(note.subject for note in notes) == [
        "block 'pairs'", "column 'charge' of the atoms", "column 'mine' of the atoms", "meta 'pe'", "times",
    ]  # fmt: skip
    assert frames_of(tmp_path / "out.cif")[0]["atoms"]["text"].tolist() == ["kept"]
    with pytest.raises(mr.SchemaError) as refused:
        write_mmcif(tmp_path / "strict.cif", Images([frame]), Notes(strict=True), None)
    assert refused.value.rule == "reject-lossy-conversion"
    assert [path.name for path in tmp_path.iterdir()] == ["out.cif"]


TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=6) | st.sampled_from(
    ("?", ".", "a\nb", "data_")
)


@given(data=st.data())
def test_any_text_and_every_digit_come_back(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    count = data.draw(st.integers(1, 4))
    numbers = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=count, max_size=count)
    atoms = mr.Block({axis: np.array(data.draw(numbers)) for axis in "xyz"})
    atoms["id"] = np.arange(count, dtype=np.uint64)
    atoms["element"] = ["C"] * count
    for name in ("b_factor", "occupancy"):
        atoms[name] = np.array(data.draw(numbers))
    for name in ("name", "res_name", "chain", "mine"):
        texts = data.draw(st.lists(TEXT, min_size=count, max_size=count))
        atoms[name] = np.array(texts, dtype=np.dtypes.StringDType())
    frame = mr.Frame({"atoms": atoms})
    (back,) = rewritten(tmp_path_factory.mktemp("cif") / "file.cif", [frame])
    assert back["atoms"] == atoms


# -- the other format, and witnesses ----------------------------------------------------------------------------------


def test_mmcif_becomes_pdb_with_the_authors_numbers(tmp_path: Path) -> None:
    frame = frame_of(tmp_path, SMALL.replace(" -6.50412 ", " -6.504 "))
    notes = Notes()
    write_pdb(tmp_path / "out.pdb", Images([frame]), notes, None)
    subjects = {note.subject for note in notes if note.lost}
    assert {"column 'chain'", "column 'res_id'", "meta 'mmcif_categories'"} <= subjects
    (back,) = PdbSource(tmp_path / "out.pdb").frames(Notes())
    assert back["atoms"]["chain"].tolist() == frame["atoms"]["auth_asym_id"].tolist()
    assert back["atoms"]["res_seq"].tolist() == frame["atoms"]["auth_seq_id"].tolist()
    for name in ("x", "y", "z", "element", "name", "res_name", "occupancy", "b_factor", "formal_charge", "u_aniso"):
        assert back["atoms"][name].tolist() == frame["atoms"][name].tolist(), name
    assert back["bonds"]["atomj"].tolist() == [3, 5]
    write_mmcif(tmp_path / "back.cif", Images([back]), Notes(), None)
    assert gemmi.read_structure(str(tmp_path / "back.cif"))[0].count_atom_sites() == 6


def gemmi_rows(path: Path) -> list[tuple[Any, ...]]:
    """Return what gemmi reads of the first model, by id."""
    rows = []
    for site in gemmi.read_structure(str(path))[0].all():
        atom, residue = site.atom, site.residue
        rows.append(
            (
                atom.serial, atom.name, atom.altloc.strip("\0"), residue.name, residue.subchain,
                residue.seqid.num, residue.seqid.icode.strip(), residue.label_seq, residue.het_flag == "H",
                atom.element.name, *atom.pos.tolist(), atom.charge, residue.entity_id,
            )
        )  # fmt: skip
    return sorted(rows)


def our_rows(frame: mr.Frame) -> list[tuple[Any, ...]]:
    atoms = frame["atoms"]
    number = "auth_seq_id" if "auth_seq_id" in atoms else "res_id"
    names = ("id", "name", "altloc", "res_name", "chain", number, "icode")
    columns = [atoms[name].tolist() for name in names]
    known = atoms.validity("label_seq_id") if "label_seq_id" in atoms else None
    sequence = atoms["label_seq_id"] if "label_seq_id" in atoms else atoms["res_id"]
    columns.append(
        [
            n if has else None
            for n, has in zip(sequence.tolist(), np.ones(atoms.rows, bool) if known is None else known, strict=True)
        ]
    )
    columns += [
        atoms[name].tolist() for name in ("hetatm", "element", "x", "y", "z", "formal_charge", "label_entity_id")
    ]
    return sorted(zip(*columns, strict=True))


def test_gemmi_reads_the_same_and_reads_what_is_written(tmp_path: Path) -> None:
    frame = frame_of(tmp_path, SMALL)
    rewritten(tmp_path / "back.cif", [frame])
    assert gemmi_rows(tmp_path / "file.cif") == gemmi_rows(tmp_path / "back.cif") == our_rows(frame)
    structure = gemmi.read_structure(str(tmp_path / "back.cif"))
    assert structure.cell.parameters == (50.123, 60, 70, 90, 90, 120)
    assert [connection.type.name for connection in structure.connections] == ["MetalC", "Hydrog"]


def test_molrs_reads_the_same_columns(tmp_path: Path) -> None:
    molrs_io = pytest.importorskip("molrs.io")
    frame = frame_of(tmp_path, SMALL)
    rewritten(tmp_path / "back.cif", [frame])
    block = molrs_io.read_cif(tmp_path / "back.cif")["atoms"]
    atoms = frame["atoms"]
    for name in ("id", "name", "res_name", "chain", "icode", "altloc"):
        assert block[name].tolist() == atoms[name].tolist(), name
    # elements stand there in capitals, and a residue without label_seq_id is 0
    assert [name.capitalize() for name in block["element"].tolist()] == atoms["element"].tolist()
    assert block["res_id"].tolist() == [1, 2, 3, 0, 0, 0]
    for name in ("x", "y", "z", "occupancy"):
        np.testing.assert_allclose(block[name], atoms[name], rtol=1e-7)


# -- recognizing ------------------------------------------------------------------------------------------------------


def test_the_content_tells_mmcif_from_small_molecules(tmp_path: Path) -> None:
    pytest.importorskip("ase")
    registry = formats()
    for name in ("a.cif", "a.mmcif", "a.pdbx", "nameless"):
        assert registry.for_reading(written(tmp_path, "# comment\n" + SMALL, name)).name == "mmcif"
    small = "data_x\n_cell_length_a 1\nloop_\n_atom_site_label\n_atom_site_fract_x\nO1 0\n"
    assert registry.for_reading(written(tmp_path, small, "b.cif")).name == "cif"
    assert registry.for_writing(tmp_path / "out.mmcif").name == "mmcif"
    assert registry.for_writing(tmp_path / "out.cif").name == "cif"
    assert MmcifFamily().by_content(b"data_x\n_cell.length_a 1\n_atom_site_moment.label O\n") is None


# -- real files -------------------------------------------------------------------------------------------------------

REAL = (
    "1YJP.cif",
    "1BD2.cif.gz",
    "3KPR.cif.gz",
    "3PWP.cif.gz",
    "5PTI.cif.gz",
    "7ETN.cif.gz",
    "multimodel_warning.cif.gz",
)


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REAL)
def test_real_files_are_what_gemmi_reads_and_come_back(tmp_path: Path, name: str) -> None:
    tests = pytest.importorskip("MDAnalysisTests")
    source = Path(tests.__file__).parent / "data" / "mmcif" / name
    frames = frames_of(source)
    assert rewritten(tmp_path / "back.cif", frames) == frames
    assert gemmi_rows(source) == gemmi_rows(tmp_path / "back.cif") == our_rows(frames[0])
    structure = gemmi.read_structure(str(source))
    assert len(structure) == len(frames)
    bonds = frames[0]["bonds"].rows if "bonds" in frames[0] else 0
    assert len(structure.connections) == bonds
    convert([source], tmp_path / "run.mrec", strict=True)
    convert([tmp_path / "run.mrec"], tmp_path / "again.mmcif", strict=True)
    assert frames_of(tmp_path / "again.mmcif") == frames


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["1BD2", "3KPR", "3PWP"])
def test_one_entry_in_both_formats_is_the_same(name: str) -> None:
    tests = pytest.importorskip("MDAnalysisTests")
    folder = Path(tests.__file__).parent / "data" / "mmcif"
    (ours,) = frames_of(folder / f"{name}.cif.gz")
    (other,) = PdbSource(folder / f"{name}.pdb.gz").frames(Notes())
    first, second = ours["atoms"], other["atoms"]
    for column in ("x", "y", "z", "occupancy", "b_factor", "element", "name", "altloc", "res_name", "icode", "hetatm"):
        assert first[column].tolist() == second[column].tolist(), column
    assert first["auth_asym_id"].tolist() == second["chain"].tolist()
    numbers = second["res_seq"] if "res_seq" in second else second["res_id"]
    assert first["auth_seq_id"].tolist() == numbers.tolist()
    assert ours.box == other.box
