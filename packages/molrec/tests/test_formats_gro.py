"""GRO files: every digit in, every digit out, and a line number for everything that is no GRO file."""

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
from molrec.formats.gro import GroSource
from molrec.formats.gro_writer import write_gro
from molrec.formats.images import Images
from molrec.formats.notes import Notes
from molrec.formats.registry import formats

WATERS = """\
MD of 2 waters, t= 1.5 step= 300
    6
    1WATER  OW1    1   0.126   1.624   1.679  0.1227 -0.0580  0.0434
    1WATER  HW2    2   0.190   1.661   1.747  0.8085  0.3191 -0.7791
    1WATER  HW3    3   0.177   1.568   1.613 -0.9045 -2.6469  1.3180
    2WATER  OW1    4   1.275   0.053   0.622  0.2519  0.3140 -0.1734
    2WATER  HW2    5   1.337   0.002   0.680 -1.0641 -1.1349  0.0257
    2WATER  HW3    6   1.326   0.120   0.568  1.9427 -0.8216 -0.0244
   1.82060   1.82060   1.82060
"""


def source(tmp_path: Path, text: str | bytes, name: str = "conf.gro") -> GroSource:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return GroSource(path)


def frames(tmp_path: Path, text: str | bytes, notes: Notes | None = None) -> list[mr.Frame]:
    return list(source(tmp_path, text).frames(Notes(strict=True) if notes is None else notes))


def written(tmp_path: Path, parts: list[mr.Frame], notes: Notes | None = None, **images: Any) -> str:
    path = tmp_path / "out.gro"
    write_gro(path, Images(parts, **images), Notes(strict=True) if notes is None else notes, None)
    return path.read_text()


def atoms(count: int = 1, **columns: Any) -> mr.Block:
    return mr.Block({name: np.arange(count) / 8 for name in "xyz"} | columns)


# -- reading ----------------------------------------------------------------------------------------------------------


def test_every_column_of_a_file_is_in_the_frame(tmp_path: Path) -> None:
    (frame,) = frames(tmp_path, WATERS)
    block = frame["atoms"]
    assert block["res_id"].tolist() == [1, 1, 1, 2, 2, 2]
    assert block["res_name"].tolist() == ["WATER"] * 6
    assert block["name"].tolist() == ["OW1", "HW2", "HW3"] * 2
    assert block["id"].tolist() == [1, 2, 3, 4, 5, 6]
    assert block["x"].tolist() == [0.126, 0.190, 0.177, 1.275, 1.337, 1.326]
    assert block["vy"].tolist() == [-0.0580, 0.3191, -2.6469, 0.3140, -1.1349, -0.8216]
    assert frame.meta == {"title": "MD of 2 waters,", "time": 1.5, "step": 300}
    assert frame.box == mr.Box(np.eye(3) * 1.8206)
    assert GroSource(tmp_path / "conf.gro").units == {"length": "nm", "time": "ps"}


@pytest.mark.parametrize("decimals", [1, 3, 5, 9])
def test_the_decimal_points_tell_the_columns(tmp_path: Path, decimals: int) -> None:
    width = decimals + 5
    numbers = "".join(f"{value:{width}.{decimals}f}" for value in (-123.4567891234, 0.0, 9999.5))
    fast = "".join(f"{value:{width}.{decimals + 1}f}" for value in (-1.25, 2.5, 0.0))
    (frame,) = frames(tmp_path, f"t\n1\n    1SOL     OW    1{numbers}{fast}\n 1.0 2.0 3.0\n")
    assert frame["atoms"]["x"][0] == round(-123.4567891234, decimals)
    assert frame["atoms"]["z"][0] == float(f"{9999.5:.{decimals}f}")
    assert frame["atoms"]["vx"][0] == float(f"{-1.25:.{decimals + 1}f}")


def test_nine_numbers_are_a_triclinic_box_with_vectors_as_columns(tmp_path: Path) -> None:
    (frame,) = frames(tmp_path, "t\n0\n 1.0 2.0 3.0 0.0 0.0 0.4 0.0 0.5 0.6\n")
    assert frame.box is not None
    assert frame.box.vectors.tolist() == [[1.0, 0.4, 0.5], [0.0, 2.0, 0.6], [0.0, 0.0, 3.0]]


def test_a_box_of_zeros_is_no_cell_and_one_zero_no_period(tmp_path: Path) -> None:
    notes = Notes()
    none, slab = frames(tmp_path, "t\n0\n 0.0 0.0 0.0\nt\n0\n 4.0 5.0 0.0\n", notes)
    assert none.box == mr.Box(cell_defined=False)
    assert slab.box == mr.Box(np.diag([4.0, 5.0, 1.0]), boundary=[True, True, False])
    assert [note.subject for note in notes] == ["box"]


def test_touching_box_columns_are_told_apart(tmp_path: Path) -> None:
    (frame,) = frames(tmp_path, "t\n0\n40000.0000040000.0000040000.00000\n")
    assert frame.box == mr.Box(np.eye(3) * 40000.0)


def test_an_atom_without_velocity_has_a_null_one(tmp_path: Path) -> None:
    lines = WATERS.splitlines()
    lines[3] = lines[3][:44]
    (frame,) = frames(tmp_path, "\n".join(lines))
    mask = frame["atoms"].validity("vx")
    assert mask is not None
    assert mask.tolist() == [True, False, True, True, True, True]
    assert frame["atoms"]["vx"][2] == -0.9045


def test_carriage_returns_blank_tails_and_tabs_beside_free_numbers_are_fine(tmp_path: Path) -> None:
    plain = frames(tmp_path, WATERS)
    tabs = WATERS.replace("    6\n", "\t6\n").replace("   1.82060   1.82060   1.82060", "\t1.82060\t1.82060\t1.82060")
    assert frames(tmp_path, tabs.replace("\n", "\r\n") + "\r\n\r\n") == plain


def test_several_frames_and_compressed_files(tmp_path: Path) -> None:
    second = WATERS.replace("t= 1.5 step= 300", "t= 2.5 step= 400").replace("0.126", "0.127")
    compressed = source(tmp_path, gzip.compress((WATERS + second).encode()), "conf.gro.gz")
    found = list(compressed.frames(Notes()))
    assert [frame.meta["step"] for frame in found] == [300, 400]
    assert found[1]["atoms"]["x"][0] == 0.127
    assert formats().for_reading(tmp_path / "conf.gro.gz").name == "gro"


def test_numbers_go_on_past_99999(tmp_path: Path) -> None:
    rows = "".join(f"    1SOL     OW{number % 100000:5d}   0.000   0.000   0.000\n" for number in range(99998, 100003))
    (frame,) = frames(tmp_path, f"t\n5\n{rows} 1.0 1.0 1.0\n")
    assert frame["atoms"]["id"].tolist() == [99998, 99999, 100000, 100001, 100002]


def test_negative_residue_numbers_move_and_stay_beside(tmp_path: Path) -> None:
    notes = Notes()
    text = WATERS.replace("    1WATER", "   -1WATER")
    (frame,) = frames(tmp_path, text, notes)
    assert frame["atoms"]["res_id"].tolist() == [1, 1, 1, 4, 4, 4]
    assert frame["atoms"]["res_seq"].tolist() == [-1, -1, -1, 2, 2, 2]
    assert [note.subject for note in notes] == ["residue numbers"]
    assert written(tmp_path, [frame]) == text


def test_a_title_that_is_a_number_is_no_xyz_file(tmp_path: Path) -> None:
    path = tmp_path / "216"
    path.write_text(WATERS.replace("MD of 2 waters, t= 1.5 step= 300", "216"))
    assert formats().for_reading(path).name == "gro"


@pytest.mark.parametrize(
    "text", ["2\n\nH 0.0 0.0 0.0\nH 0.0 0.0 1.0\n", "1\n1\nH 0.0 0.0 0.0\n", "ITEM: TIMESTEP\n0\nITEM\n"]
)
def test_other_files_are_not_claimed(tmp_path: Path, text: str) -> None:
    from molrec.formats.gro import GroFamily

    assert GroFamily().by_content(text.encode()) is None


# -- refusals ---------------------------------------------------------------------------------------------------------


ATOM = "    1WATER  OW1    1   0.126   1.624   1.679\n"
DAMAGED: dict[str, tuple[str | bytes, int, str]] = {
    "empty": ("", 1, "empty"),
    "no count": ("title\n", 1, "count of atoms"),
    "count that is none": ("title\nsix\n", 2, "count of atoms"),
    "truncated among the atoms": ("".join(WATERS.splitlines(keepends=True)[:5]), 5, "3 of 6 atoms"),
    "truncated before the box": ("".join(WATERS.splitlines(keepends=True)[:8]), 8, "without the line of the box"),
    "count too small": (WATERS.replace("    6\n", "    5\n"), 8, "after 5 atoms the box is expected"),
    "count too large": (WATERS.replace("    6\n", "    7\n"), 9, "6 of 7|residue number|found"),
    "count too large by two frames": ((WATERS * 2).replace("    6\n", "    7\n", 1), 9, "residue number"),
    "not ASCII": (WATERS.replace("2WATER  OW1", "2WATER  ÅW1"), 6, "ASCII"),
    "title that is not UTF-8": (b"caf\xe9\n0\n 1.0 1.0 1.0\n", 1, "UTF-8"),
    "tab in a column": (WATERS.replace("2WATER  OW1 ", "2WATER\tOW1 "), 6, "tab"),
    "coordinate that is no number": (WATERS.replace("   1.275", "   1.2x5"), 6, "x is no number"),
    "number that is none": (WATERS.replace("OW1    4", "OW1    q"), 6, "atom number"),
    "half a velocity": (WATERS.replace("  0.2519  0.3140 -0.1734", "  0.2519"), 6, "vy is no number"),
    "no coordinates": ("t\n1\n    1WATER  OW1    1\n 1.0 1.0 1.0\n", 3, "three coordinates"),
    "short row": (f"t\n2\n{ATOM}    1WATER  OW1    2   0.126\n 1.0 1.0 1.0\n", 4, "y is no number"),
    "box of two numbers": (f"t\n1\n{ATOM} 1.0 1.0\n", 4, "3 or 9 numbers"),
    "flat box": (f"t\n1\n{ATOM} 1.0 1.0 0.0 0 0 0 0 1.0 1.0\n", 4, "spans no volume"),
    "box that is not finite": (f"t\n1\n{ATOM} nan 1.0 1.0\n", 4, "3 or 9 numbers"),
    "text after blank lines": (WATERS + "\n\nmore\n", 12, "blank lines"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_is_refused_with_its_line(tmp_path: Path, case: str) -> None:
    text, line, what = DAMAGED[case]
    with pytest.raises(mr.FormatError, match=what) as caught:
        frames(tmp_path, text)
    assert caught.value.rule == "reject-malformed-source"
    assert caught.value.message.startswith(f"{tmp_path / 'conf.gro'}:{line}: ")


def test_repeated_numbers_are_left_out_with_the_line_and_refused_when_strict(tmp_path: Path) -> None:
    text = WATERS.replace("OW1    4", "OW1    1")
    with pytest.raises(mr.SchemaError, match=r"conf\.gro:6: the atom number 1") as caught:
        frames(tmp_path, text)
    assert caught.value.rule == "reject-lossy-conversion"
    notes = Notes()
    (frame,) = frames(tmp_path, text, notes)
    assert "id" not in frame["atoms"]
    assert [note.subject for note in notes if note.lost] == ["atom numbers"]


def test_a_compressed_file_cut_short_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(WATERS.encode() * 50)
    with pytest.raises(mr.FormatError) as caught:
        list(source(tmp_path, whole[: len(whole) // 2], "conf.gro.gz").frames(Notes()))
    assert caught.value.rule == "reject-malformed-source"
    assert "conf.gro.gz" in caught.value.message


# -- writing ----------------------------------------------------------------------------------------------------------


def test_a_file_comes_back_byte_for_byte(tmp_path: Path) -> None:
    assert written(tmp_path, frames(tmp_path, WATERS)) == WATERS


def test_a_run_goes_through_a_record_and_back(tmp_path: Path) -> None:
    second = WATERS.replace("t= 1.5 step= 300", "t= 2.5 step= 400").replace("0.126", "0.127")
    (tmp_path / "run.gro").write_text(WATERS + second)
    convert([tmp_path / "run.gro"], tmp_path / "run.mrec", strict=True)
    record = mr.open(tmp_path / "run.mrec")
    assert record.trajectory is not None
    assert record.trajectory.steps.tolist() == [300, 400]
    assert record.system is not None
    assert set(record.system["atoms"].columns) == {"res_id", "res_name", "name", "id"}
    assert record.system.meta["units"] == {"length": "nm", "time": "ps"}
    convert([tmp_path / "run.mrec"], tmp_path / "back.gro", strict=True)
    assert (tmp_path / "back.gro").read_text() == WATERS + second


finite = st.floats(-999, 9999, allow_nan=False)


@given(
    st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=6),
    st.integers(3, 9),
    st.lists(st.floats(0.001, 20000).map(lambda value: round(value, 5)), min_size=3, max_size=3),
)
def test_decimals_of_any_count_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, ...]], decimals: int, lengths: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("gro")
    positions = np.round(np.array(rows), decimals)
    block = mr.Block(dict(zip("xyz", positions.T, strict=True)))
    text = written(folder, [mr.Frame({"atoms": block}, box=mr.Box(np.diag(lengths)))], Notes())
    (frame,) = frames(folder, text)
    for axis, name in enumerate("xyz"):
        assert frame["atoms"][name].tolist() == positions[:, axis].tolist()
    assert frame.box is not None
    assert np.diag(frame.box.vectors).tolist() == lengths


def test_a_declared_precision_says_how_many_decimals(tmp_path: Path) -> None:
    block = atoms(2)
    block["x"] = [1 / 3, 2 / 3]
    for name in "xyz":
        block.set_precision(name, 1e-4)
    text = written(tmp_path, [mr.Frame({"atoms": block})], Notes())
    assert text.splitlines()[2][20:] == "   0.3333   0.0000   0.0000"


def test_finer_numbers_are_rounded_and_said_to_be(tmp_path: Path) -> None:
    frame = mr.Frame({"atoms": atoms(1, x=[1 / 3])})
    with pytest.raises(mr.SchemaError, match="rounded to 9 decimals"):
        written(tmp_path, [frame])
    notes = Notes()
    assert "   0.333333333" in written(tmp_path, [frame], notes)


def test_everything_a_file_has_no_place_for_is_named(tmp_path: Path) -> None:
    block = atoms(2, mass=[1.0, 1.0], element=["H", "H"], name=["H", "toolong"], res_id=[1, 123456])
    frame = mr.Frame(
        {"atoms": block, "bonds": mr.Block({"atomi": np.array([0], np.uint64), "atomj": np.array([1], np.uint64)})},
        meta={"pe": 1.0, "title": "a\nb"},
        box=mr.Box(np.eye(3), origin=[1.0, 0.0, 0.0], boundary=[True, False, True]),
    )
    notes = Notes()
    text = written(tmp_path, [frame], notes)
    assert {note.subject for note in notes if note.lost} == {
        "column 'mass'", "column 'element'", "name", "res_id", "block 'bonds'", "meta key 'pe'", "title", "box origin",
        "box boundary",
    }  # fmt: skip
    assert {note.subject for note in notes if not note.lost} == {"res_name"}
    assert text.splitlines()[3][:20] == "23456     toolo    2"


def test_other_units_are_converted(tmp_path: Path) -> None:
    block = atoms(1, x=[12.345], vx=[0.002], vy=[0.0], vz=[0.0])
    frame = mr.Frame({"atoms": block}, meta={"units": {"length": "angstrom", "time": "fs"}}, box=mr.Box(np.eye(3) * 25))
    notes = Notes()
    text = written(tmp_path, [frame], notes, times=np.array([1500.0]))
    (back,) = frames(tmp_path, text)
    assert back["atoms"]["x"].tolist() == [1.2345]
    assert back["atoms"]["vx"].tolist() == [0.2]
    assert back.meta["time"] == 1.5
    assert back.box == mr.Box(np.eye(3) * 2.5)
    assert not any(note.lost for note in notes)


@pytest.mark.parametrize(
    ("frame", "rule", "what"),
    [
        (mr.Frame(), "reject-foreign-write", "x, y and z"),
        (mr.Frame({"atoms": atoms(1, x=[1e5])}), "reject-foreign-write", "8 characters"),
        (mr.Frame({"atoms": atoms(1, x=[np.nan])}), "reject-foreign-write", "finite"),
        (mr.Frame({"atoms": atoms(1, name=["å"])}), "reject-foreign-write", "ASCII"),
        (mr.Frame({"atoms": atoms(1)}, meta={"units": "lj"}), "reject-units-disagree", "lj"),
        (mr.Frame({"atoms": atoms(1)}, meta={"units": {"length": "second"}}), "reject-units-disagree", "second"),
    ],
)
def test_what_no_gro_file_can_hold_is_refused_and_leaves_nothing(
    tmp_path: Path, frame: mr.Frame, rule: str, what: str
) -> None:
    with pytest.raises(mr.SchemaError, match=what) as caught:
        written(tmp_path, [frame], Notes())
    assert caught.value.rule == rule
    assert list(tmp_path.iterdir()) == []


def test_ase_reads_what_is_written(tmp_path: Path) -> None:
    ase_io = pytest.importorskip("ase.io")
    text = WATERS.replace("WATER", "SOL  ")
    (tmp_path / "ase.gro").write_text(written(tmp_path, frames(tmp_path, text)))
    found = ase_io.read(tmp_path / "ase.gro", format="gromacs")
    np.testing.assert_allclose(found.positions[:, 0], np.array([0.126, 0.190, 0.177, 1.275, 1.337, 1.326]) * 10)
