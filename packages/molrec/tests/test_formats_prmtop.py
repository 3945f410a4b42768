"""AMBER topologies: every column, relation and sign in, and a line number for everything that is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import molrec as mr
from molrec.conversion import convert
from molrec.formats.notes import Notes
from molrec.formats.prmtop import PrmtopSource
from molrec.formats.registry import formats


def section(name: str, layout: str, *rows: str) -> str:
    return "\n".join([f"%FLAG {name:<74}", f"%FORMAT({layout})", *rows, ""])


def integers(*values: int) -> str:
    return "".join(f"{value:8d}" for value in values)


def reals(*values: float) -> str:
    return "".join(f"{value:16.8E}" for value in values)


#: Five atoms in two residues; the counts of POINTERS begin with atoms, types, bonds with and without hydrogen ...
PARTS = {
    "TITLE": section("TITLE", "20a4", "five atoms"),
    "POINTERS": section(
        "POINTERS", "10I8", integers(5, 2, 2, 2, 1, 1, 1, 2, 0, 0), integers(5, 2, 2, 1, 2, 0, 0, 0, 0, 0)
    ),
    "ATOM_NAME": section("ATOM_NAME", "20a4", "HA  CA  N1  O'5'EP"),
    "CHARGE": section("CHARGE", "5E16.8", reals(18.2223, -9.11115, 0.0, 1.82223, 0.0)),
    "ATOMIC_NUMBER": section("ATOMIC_NUMBER", "10I8", integers(1, 6, 7, 8, -1)),
    "MASS": section("MASS", "5E16.8", reals(1.008, 12.01, 14.01, 16.0, 0.0)),
    "ATOM_TYPE_INDEX": section("ATOM_TYPE_INDEX", "10I8", integers(1, 2, 2, 2, 1)),
    "NUMBER_EXCLUDED_ATOMS": section("NUMBER_EXCLUDED_ATOMS", "10I8", integers(2, 1, 1, 0, 1)),
    "RESIDUE_LABEL": section("RESIDUE_LABEL", "20a4", "ONE TWO"),
    "RESIDUE_POINTER": section("RESIDUE_POINTER", "10I8", integers(1, 4)),
    "BOND_EQUIL_VALUE": section("BOND_EQUIL_VALUE", "5E16.8", reals(1.0)),
    "BONDS_INC_HYDROGEN": section("BONDS_INC_HYDROGEN", "10I8", integers(0, 3, 1, 3, 12, 2)),
    "BONDS_WITHOUT_HYDROGEN": section("BONDS_WITHOUT_HYDROGEN", "10I8", integers(3, 6, 3, 6, 9, 1)),
    "ANGLES_INC_HYDROGEN": section("ANGLES_INC_HYDROGEN", "10I8", integers(0, 3, 6, 1)),
    "ANGLES_WITHOUT_HYDROGEN": section("ANGLES_WITHOUT_HYDROGEN", "10I8", integers(3, 6, 9, 2)),
    "DIHEDRALS_INC_HYDROGEN": section("DIHEDRALS_INC_HYDROGEN", "10I8", integers(0, 3, 6, 9, 1)),
    "DIHEDRALS_WITHOUT_HYDROGEN": section(
        "DIHEDRALS_WITHOUT_HYDROGEN", "10I8", integers(0, 3, -6, 9, 2, 0, 3, -6, -9, 3)
    ),
    "EXCLUDED_ATOMS_LIST": section("EXCLUDED_ATOMS_LIST", "10I8", integers(2, 3, 3, 4, 0)),
    "AMBER_ATOM_TYPE": section("AMBER_ATOM_TYPE", "20a4", "H1  CT  N   O   EP"),
    "RADII": section("RADII", "5E16.8", reals(1.3, 1.7, 1.55, 1.5, 0.0)),
}
VERSION = "%VERSION  VERSION_STAMP = V0001.000  DATE = 09/08/18  15:36:17\n"


def text(**changed: str) -> str:
    return VERSION + "".join({**PARTS, **changed}.values())


def read(tmp_path: Path, content: str | bytes, notes: Notes | None = None) -> mr.Frame:
    path = tmp_path / "five.prmtop"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (frame,) = PrmtopSource(path).frames(Notes() if notes is None else notes)
    return frame


def rows(block: mr.Block, width: int) -> list[list[int]]:
    found: list[list[int]] = np.column_stack([block[f"atom{letter}"] for letter in "ijkl"[:width]]).tolist()
    return found


def test_every_column_and_relation_is_in_the_frame(tmp_path: Path) -> None:
    notes = Notes()
    frame = read(tmp_path, text(), notes)
    atoms = frame["atoms"]
    assert atoms["name"].tolist() == ["HA", "CA", "N1", "O'5'", "EP"]
    assert atoms["type"].tolist() == ["H1", "CT", "N", "O", "EP"]
    assert atoms["type_id"].tolist() == [1, 2, 2, 2, 1]
    assert atoms["charge"].tolist() == [1.0, -0.5, 0.0, 1.82223 / 18.2223, 0.0]
    assert atoms["mass"].tolist() == [1.008, 12.01, 14.01, 16.0, 0.0]
    assert atoms["element"].tolist() == ["H", "C", "N", "O", ""]
    mask = atoms.validity("atomic_number")
    assert mask is not None
    assert mask.tolist() == [True, True, True, True, False]
    assert atoms["res_name"].tolist() == ["ONE"] * 3 + ["TWO"] * 2
    assert atoms["res_id"].tolist() == [1, 1, 1, 2, 2]
    assert atoms["radius"][2] == 1.55
    assert rows(frame["bonds"], 2) == [[0, 1], [1, 4], [1, 2], [2, 3]]
    assert frame["bonds"]["type_id"].tolist() == [1, 2, 3, 1]
    assert rows(frame["angles"], 3) == [[0, 1, 2], [1, 2, 3]]
    assert rows(frame["dihedrals"], 4) == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert frame["dihedrals"]["exclude_14"].tolist() == [False, True]
    assert rows(frame["impropers"], 4) == [[0, 1, 2, 3]]
    assert frame["impropers"]["exclude_14"].tolist() == [True]
    assert rows(frame["exclusions"], 2) == [[0, 1], [0, 2], [1, 2], [2, 3]]
    assert frame.meta == {"title": "five atoms"}
    assert [note.message for note in notes if note.lost] == [
        "the sections BOND_EQUIL_VALUE are left out: force-field parameters and the like"
    ]


def test_charmm_counts_its_atoms_from_one(tmp_path: Path) -> None:
    parts = {
        "TITLE": section("CTITLE", "20a4", "chamber"),
        "POINTERS": PARTS["POINTERS"].replace(integers(1, 1, 1, 2, 0, 0), integers(1, 1, 1, 0, 0, 0)),
        "DIHEDRALS_WITHOUT_HYDROGEN": section("DIHEDRALS_WITHOUT_HYDROGEN", "10I8"),
        "UREY": section("CHARMM_UREY_BRADLEY", "10I8", integers(1, 3, 1)),
        "IMPROPERS": section("CHARMM_IMPROPERS", "10I8", integers(1, 2, 3, 5, 2)),
    }
    frame = read(tmp_path, text(**parts))
    assert rows(frame["ureybradleys"], 2) == [[0, 2]]
    assert rows(frame["impropers"], 4) == [[0, 1, 2, 4]]
    assert frame["atoms"]["charge"][0] == 18.2223 / np.sqrt(332.0716)


def test_a_file_is_recognized_and_becomes_a_system(tmp_path: Path) -> None:
    (tmp_path / "five.top").write_text(text().replace("\n", "\r\n"))
    assert formats().for_reading(tmp_path / "five.top").name == "prmtop"
    convert([tmp_path / "five.top"], tmp_path / "run.mrec")
    record = mr.open(tmp_path / "run.mrec")
    assert record.system is not None
    assert record.system["dihedrals"]["exclude_14"].tolist() == [False, True]
    assert record.system["atoms"]["name"].tolist() == ["HA", "CA", "N1", "O'5'", "EP"]
    assert mr.validate(tmp_path / "run.mrec") == []


DAMAGED = {
    "empty": ("", 1, "empty"),
    "no section": (VERSION, 1, "no %FLAG"),
    "not ASCII": (text().replace("ONE TWO", "ÖNE TWO"), 29, "ASCII"),
    "tab": (text().replace("ONE TWO", "ONE\tTWO"), 29, "tab"),
    "bond to a missing atom": (text().replace(integers(6, 9, 1), integers(6, 15, 1)), 41, r"\[3, 6\], and there are 5"),
    "torsion of a missing atom": (text().replace(integers(-6, -9), integers(-6, -90)), 53, r"\[1, 2, 3, 31\]"),
    "too many atoms said": (text().replace(integers(5, 2, 2, 2), integers(6, 2, 2, 2)), 23, "5 values are there, 6"),
    "too few bonds": (text().replace(integers(0, 3, 1, 3, 12, 2), integers(0, 3, 1)), 38, "3 values are there, 6"),
    "a word for a number": (text().replace(integers(1, 6, 7), integers(1, 6) + "    x   "), 17, "is no number"),
    "a long line": (text().replace(integers(1, 4), integers(1, 4) * 6), 32, "80 characters"),
    "residues out of order": (text().replace(integers(1, 4), integers(2, 4)), 30, "residues do not divide"),
    "another format": (text(MASS=PARTS["MASS"].replace("5E16.8", "10I8")), 18, "%FORMAT"),
    "exclusions of another count": (text().replace(integers(2, 1, 1, 0, 1), integers(3, 1, 1, 0, 1)), 54, "counts say"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_is_refused_with_its_line(tmp_path: Path, case: str) -> None:
    content, line, what = DAMAGED[case]
    with pytest.raises(mr.FormatError, match=what) as caught:
        read(tmp_path, content)
    assert caught.value.rule == "reject-malformed-source"
    assert caught.value.message.startswith(f"{tmp_path / 'five.prmtop'}:{line}: ")


@pytest.mark.parametrize("name", [name for name in PARTS if name not in {"TITLE", "BOND_EQUIL_VALUE"}])
def test_a_file_cut_at_any_section_is_refused(tmp_path: Path, name: str) -> None:
    whole = text()
    cut = whole[: whole.index(f"%FLAG {name} ")]
    if name in {"AMBER_ATOM_TYPE", "RADII"}:
        # what older programs do not write
        assert "bonds" in read(tmp_path, cut)
        return
    if name == "EXCLUDED_ATOMS_LIST":
        assert "exclusions" not in read(tmp_path, cut)
        return
    with pytest.raises(mr.FormatError) as caught:
        read(tmp_path, cut)
    assert caught.value.rule == "reject-malformed-source"
