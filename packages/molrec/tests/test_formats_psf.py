"""PSF files: every column and relation in, and a line number for everything that is no PSF file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import molrec as mr
from molrec.conversion import convert
from molrec.formats.notes import Notes
from molrec.formats.psf import PsfSource
from molrec.formats.registry import formats

PSF = """\
PSF

       1 !NTITLE
 REMARKS two of one kind

       3 !NATOM
       1 A    -1   WAT  OH2  OT     -0.834000       15.9994           0
       2 A    -1   WAT  H1   HT      0.417000        1.0080           0
       3 B    5    WAT  H2   HT      0.417000        1.0080           0

       2 !NBOND: bonds
       1       2       1       3

       1 !NTHETA: angles
       2       1       3

       0 !NPHI: dihedrals


       0 !NIMPHI: impropers

"""


def read(tmp_path: Path, text: str | bytes, notes: Notes | None = None) -> mr.Frame:
    path = tmp_path / "water.psf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (frame,) = PsfSource(path).frames(Notes(strict=True) if notes is None else notes)
    return frame


def test_every_column_of_a_psf_is_in_the_frame(tmp_path: Path) -> None:
    notes = Notes()
    frame = read(tmp_path, PSF, notes)
    atoms = frame["atoms"]
    assert atoms["charge"].tolist() == [-0.834, 0.417, 0.417]
    assert atoms["mass"].tolist() == [15.9994, 1.008, 1.008]
    assert atoms["id"].tolist() == [1, 2, 3]
    assert atoms["type"].tolist() == ["OT", "HT", "HT"]
    assert atoms["chain"].tolist() == ["A", "A", "B"]
    assert atoms["res_id"].tolist() == [1, 1, 5]
    assert atoms["res_seq"].tolist() == [-1, -1, 5]
    assert frame["bonds"]["atomj"].tolist() == [1, 2]
    assert frame["angles"]["atomj"].tolist() == [0]
    assert "dihedrals" not in frame
    assert frame.meta == {"title": "REMARKS two of one kind"}
    assert not any(note.lost for note in notes)


def test_carriage_returns_are_accepted(tmp_path: Path) -> None:
    assert read(tmp_path, PSF.replace("\n", "\r\n")) == read(tmp_path, PSF)


def test_tabs_compression_and_files_without_segments_are_accepted(tmp_path: Path) -> None:
    import gzip

    assert read(tmp_path, PSF.replace("   WAT  ", "\tWAT\t")) == read(tmp_path, PSF)
    (tmp_path / "water.psf.gz").write_bytes(gzip.compress(PSF.encode()))
    assert next(PsfSource(tmp_path / "water.psf.gz").frames(Notes())) == read(tmp_path, PSF)
    assert formats().for_reading(tmp_path / "water.psf.gz").name == "psf"
    bare = read(tmp_path, PSF.replace(" A  ", "    ").replace(" B  ", "    "))
    assert "chain" not in bare["atoms"]
    assert bare["atoms"]["res_name"].tolist() == ["WAT"] * 3


def test_insertion_codes_and_later_columns_are_kept(tmp_path: Path) -> None:
    text = PSF.replace(" A    -1   WAT", " A    52A  WAT").replace("9994           0", "9994           1   0.5  0.25")
    atoms = read(tmp_path, text.replace("1.0080           0", "1.0080           0   0.5  0.5"))["atoms"]
    assert atoms["icode"].tolist() == ["A", "A", ""]
    assert atoms["res_id"].tolist() == [52, 52, 5]
    assert atoms["imove"].tolist() == [1, 0, 0]
    assert atoms["eha"].tolist() == [0.25, 0.5, 0.5]
    drude = read(
        tmp_path, text.replace("1.0080           0", "1.0080           0   0.5  0.5").replace("PSF\n", "PSF DRUDE\n")
    )
    assert drude["atoms"]["thole"].tolist() == [0.25, 0.5, 0.5]


MORE = """
       1 !NDON: donors
       1       2

       2 !NACC: acceptors
       1       0       3       2

       3 !NNB

       2       3       3
       2       3       3

       1       0 !NGRP NST2
       0       1       0

       1 !MOLNT
       1       1       1

       1 !NCRTERM: cross-terms
       1       2       3       1       2       3       1       2
"""


def test_the_other_sections_become_blocks(tmp_path: Path) -> None:
    frame = read(tmp_path, PSF + MORE)
    assert frame["donors"]["atomj"].tolist() == [1]
    mask = frame["acceptors"].validity("atomj")
    assert mask is not None
    assert mask.tolist() == [False, True]
    pairs = np.column_stack([frame["exclusions"]["atomi"], frame["exclusions"]["atomj"]])
    assert pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert frame["groups"].targets == {"first": "atoms"}
    assert frame["atoms"]["mol_id"].tolist() == [1, 1, 1]
    assert frame["cmaps"].columns == tuple(f"atom{letter}" for letter in "ijklmnop")
    assert frame["cmaps"]["atomp"].tolist() == [1]


def test_lone_pairs_are_named_and_refused_when_strict(tmp_path: Path) -> None:
    text = PSF + "\n       1       3 !NUMLP NUMLPH\n       3       1   F  0.1  0.2  0.3\n"
    with pytest.raises(mr.SchemaError, match="!NUMLP") as caught:
        read(tmp_path, text)
    assert caught.value.rule == "reject-lossy-conversion"
    notes = Notes()
    read(tmp_path, text, notes)
    assert {note.lost for note in notes} == {True, False}


DAMAGED = {
    "empty": (PSF, "", 1, "empty"),
    "not a psf": ("PSF\n", "PDB\n", 1, "begins with PSF"),
    "no atoms": ("!NATOM", "!NATUM", 1, "!NATOM"),
    "bond to an atom that is not there": (
        "       1       3\n\n",
        "       1       4\n\n",
        12,
        r"\[1, 4\], and there are 3",
    ),
    "bond to atom 0": ("       1       3\n\n", "       0       3\n\n", 12, r"\[0, 3\]"),
    "angle with a missing atom": (": angles\n       2", ": angles\n       9", 15, "!NTHETA"),
    "an atom number twice": ("       3 B ", "       2 B ", 9, "atom number 2"),
    "too many atoms said": ("       3 !NATOM", "       4 !NATOM", 10, "an atom is expected"),
    "too few atoms said": ("       3 !NATOM", "       2 !NATOM", 9, "text after the 2 atoms"),
    "too few bonds": ("       2 !NBOND", "       3 !NBOND", 12, "4 numbers, and its header asks for 6"),
    "too many bonds": ("       2 !NBOND", "       1 !NBOND", 12, "4 numbers, and its header asks for 2"),
    "a word among the bonds": ("       1       3\n\n", "       1      3x\n\n", 12, "whole numbers"),
    "no charge": ("OT     -0.834000", "OT     -0.8e3x00", 7, "could not convert"),
    "no residue": ("A    -1   WAT  OH2", "A     x   WAT  OH2", 7, "residue"),
    "not ASCII": ("OH2  OT", "ÖH2  OT", 7, "ASCII"),
    "text before the sections": ("       1 !NTITLE", "  hello", 3, "header of a section"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_is_refused_with_its_line(tmp_path: Path, case: str) -> None:
    old, new, line, what = DAMAGED[case]
    assert old in PSF
    with pytest.raises(mr.FormatError, match=what) as caught:
        read(tmp_path, PSF.replace(old, new))
    assert caught.value.rule == "reject-malformed-source"
    assert caught.value.message.startswith(f"{tmp_path / 'water.psf'}:{line}: ")


@pytest.mark.parametrize("last", ["       2 A", "       3 B", "       2 !NBOND: bonds\n", "       1 !NTHETA: angles\n"])
def test_a_file_cut_short_is_refused(tmp_path: Path, last: str) -> None:
    with pytest.raises(mr.FormatError) as caught:
        read(tmp_path, PSF[: PSF.index(last) + len(last)])
    assert caught.value.rule == "reject-malformed-source"


def test_a_topology_alone_becomes_a_system(tmp_path: Path) -> None:
    (tmp_path / "water.psf").write_text(PSF)
    convert([tmp_path / "water.psf"], tmp_path / "run.mrec", strict=True)
    record = mr.open(tmp_path / "run.mrec")
    assert record.system is not None
    assert record.system["atoms"]["name"].tolist() == ["OH2", "H1", "H2"]
    assert record.system["bonds"]["atomj"].tolist() == [1, 2]
    assert record.system.meta["units"] == {"mass": "amu", "charge": "e"}
    assert mr.validate(tmp_path / "run.mrec") == []
