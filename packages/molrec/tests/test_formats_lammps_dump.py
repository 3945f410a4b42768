"""LAMMPS dump files: any columns, order, number of atoms and cell; damaged ones refused by line."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.conversion import convert
from molrec.formats.compressed import open_binary
from molrec.formats.images import Images
from molrec.formats.lammps_dump import DumpSource
from molrec.formats.lammps_dump_writer import write_dump
from molrec.formats.notes import Notes
from molrec.formats.registry import formats

from .lammps_engine import gathered, lammps_engine

engines = pytest.mark.engines

BOUNDS = "ITEM: BOX BOUNDS pp pp pp\n0 10\n0 20\n-5 25\n"


def frame_text(
    rows: str, columns: str = "id type x y z", *, step: int = 0, bounds: str = BOUNDS, count: int | None = None
) -> str:
    number = len(rows.splitlines()) if count is None else count
    return f"ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{number}\n{bounds}ITEM: ATOMS {columns}\n{rows}"


TWO = (
    frame_text("2 1 1.5 2 3\n1 2 0.1 0.2 0.30000000000000004\n", step=10)
    + frame_text("1 2 0.5 0.2 0.3\n2 1 1.5 2 3\n", step=20, bounds=BOUNDS.replace("0 10", "0 11"))
)  # fmt: skip


def read(path: Path, notes: Notes | None = None) -> list[mr.Frame]:
    return list(DumpSource(path).frames(Notes(strict=True) if notes is None else notes))


def read_text(tmp_path: Path, text: str, notes: Notes | None = None) -> list[mr.Frame]:
    (tmp_path / "some.dump").write_bytes(text.encode())
    return read(tmp_path / "some.dump", notes)


def read_one(tmp_path: Path, text: str, notes: Notes | None = None) -> mr.Frame:
    (frame,) = read_text(tmp_path, text, notes)
    return frame


def box_of(frame: mr.Frame) -> mr.Box:
    assert frame.box is not None
    return frame.box


# -- reading ----------------------------------------------------------------------------------------------------------


def test_rows_are_the_same_atoms_in_every_frame(tmp_path: Path) -> None:
    first, second = read_text(tmp_path, TWO)
    assert first["atoms"]["id"].tolist() == second["atoms"]["id"].tolist() == [1, 2]
    assert first["atoms"]["type_id"].tolist() == [2, 1]
    assert first["atoms"]["z"].tolist() == [0.30000000000000004, 3.0]
    assert [frame.meta["step"] for frame in (first, second)] == [10, 20]
    assert box_of(first).vectors.tolist() == np.diag([10.0, 20.0, 30.0]).tolist()
    assert box_of(first).origin.tolist() == [0.0, 0.0, -5.0]
    assert box_of(second).vectors[0, 0] == 11.0
    assert DumpSource(tmp_path / "some.dump").units is None
    assert DumpSource(tmp_path / "some.dump").count() is None


def test_columns_take_their_canonical_names(tmp_path: Path) -> None:
    columns = "id mol type typelabel element mass q x y z vx fy mux ix iy iz proc c_pe[1] i_flag d_w v_word"
    row = "7 3 2 CT C 12.011 -0.5 1 2 3 4 5 6 0 -1 2 5 0.25 9 1 yes\n"
    atoms = read_one(tmp_path, frame_text(row, columns))["atoms"]
    assert {name: (atoms.dtype(name), atoms[name].tolist()[0]) for name in atoms.columns} == {
        "id": ("u64", 7),
        "mol_id": ("u64", 3),
        "type_id": ("u64", 2),
        "type": ("string", "CT"),
        "element": ("string", "C"),
        "mass": ("f64", 12.011),
        "charge": ("f64", -0.5),
        "x": ("f64", 1.0),
        "y": ("f64", 2.0),
        "z": ("f64", 3.0),
        "vx": ("f64", 4.0),
        "fy": ("f64", 5.0),
        "mux": ("f64", 6.0),
        "ix": ("i32", 0),
        "iy": ("i32", -1),
        "iz": ("i32", 2),
        "proc": ("i64", 5),
        "c_pe[1]": ("f64", 0.25),
        "i_flag": ("i64", 9),
        "d_w": ("f64", 1.0),
        "v_word": ("string", "yes"),
    }


def test_a_type_that_holds_labels_is_one(tmp_path: Path) -> None:
    atoms = read_one(tmp_path, frame_text("1 OW 0 0 0\n2 HW 0 0 0\n"))["atoms"]
    assert atoms["type"].tolist() == ["OW", "HW"]
    assert "type_id" not in atoms


def test_scaled_positions_become_cartesian(tmp_path: Path) -> None:
    bounds = "ITEM: BOX BOUNDS xy xz yz pp pp ff\n-1 12 2\n0 20.5 -1\n0 30 0.5\n"
    notes = Notes(strict=True)
    frame = read_one(tmp_path, frame_text("1 1 0.5 0.25 1.5\n", "id type xs ys zs", bounds=bounds), notes)
    box = box_of(frame)
    assert box.vectors.tolist() == [[10.0, 2.0, -1.0], [0.0, 20.0, 0.5], [0.0, 0.0, 30.0]]
    assert box.origin.tolist() == [0.0, 0.0, 0.0]
    assert box.boundary.tolist() == [True, True, False]
    assert frame.meta["lammps.boundary"] == "pp pp ff"
    expected = box.origin + box.vectors @ [0.5, 0.25, 1.5]
    assert [frame["atoms"][axis][0] for axis in "xyz"] == expected.tolist()
    assert set(frame["atoms"].columns) == {"id", "type_id", "x", "y", "z"}
    assert [note.subject for note in notes] == ["columns xs ys zs"]


def test_general_triclinic_cells(tmp_path: Path) -> None:
    bounds = "ITEM: BOX BOUNDS abc origin pp fs pp\n1 2 3 -1\n-3 1 0 0\n0.25 0 5 2\n"
    frame = read_one(tmp_path, frame_text("1 1 0.5 0.25 0.125\n", bounds=bounds))
    assert box_of(frame).vectors.T.tolist() == [[1, 2, 3], [-3, 1, 0], [0.25, 0, 5]]
    assert box_of(frame).origin.tolist() == [-1, 0, 2]
    assert box_of(frame).boundary.tolist() == [True, False, True]


def test_other_forms_of_positions_stay_beside_wrapped_ones(tmp_path: Path) -> None:
    atoms = read_one(tmp_path, frame_text("1 1 2 3 0.1 0.2 0.3 11 2 3\n", "id x y z xs ys zs xu yu zu"))["atoms"]
    assert atoms.columns == ("id", "x", "y", "z", "xs", "ys", "zs", "xu", "yu", "zu")


def test_unwrapped_positions_alone_are_marked(tmp_path: Path) -> None:
    notes = Notes(strict=True)
    frame = read_one(tmp_path, frame_text("1 21 2 3\n", "id xu yu zu"), notes)
    assert frame["atoms"]["x"].tolist() == [21.0]
    assert frame["atoms"].column_attributes("x") == {"lammps.unwrapped": "xu"}
    assert [note.subject for note in notes] == ["columns xu yu zu"]
    scaled = read_one(tmp_path, frame_text("1 2.1 0.1 0.5\n", "id xsu ysu zsu"))
    assert [scaled["atoms"][axis][0] for axis in "xyz"] == [21.0, 2.0, 10.0]
    assert scaled["atoms"].column_attributes("x") == {"lammps.unwrapped": "xsu"}


def test_unwrapped_positions_with_image_flags_are_wrapped_by_them(tmp_path: Path) -> None:
    atoms = read_one(tmp_path, frame_text("1 21.5 2 -28 2 0 -1\n", "id xu yu zu ix iy iz"))["atoms"]
    assert [atoms[axis][0] for axis in "xyz"] == [1.5, 2.0, 2.0]
    assert [atoms[axis][0] for axis in ("xu", "yu", "zu")] == [21.5, 2.0, -28.0]
    assert atoms["ix"].tolist() == [2]


def test_times_and_units(tmp_path: Path) -> None:
    text = "ITEM: UNITS\nmetal\nITEM: TIME\n0.25\n" + frame_text("1 1 0 0 0\n") + "ITEM: TIME\n0.5\n"
    frames = read_text(tmp_path, text + frame_text("1 1 0 0 0\n", step=1))
    assert [frame.meta["time"] for frame in frames] == [0.25, 0.5]
    assert DumpSource(tmp_path / "some.dump").units == {"preset": "metal"}


def test_numbers_of_atoms_and_columns_may_change(tmp_path: Path) -> None:
    text = frame_text("") + frame_text("1 1 0 0 0\n3 1 0 0 0\n", step=1) + frame_text("3 5\n", "id q", step=2)
    frames = read_text(tmp_path, text)
    assert [len(frame["atoms"]) for frame in frames] == [0, 2, 1]
    assert frames[0]["atoms"].dtype("x") == "f64"
    assert frames[2]["atoms"]["charge"].tolist() == [5.0]


def test_line_ends_tabs_and_blank_lines_at_the_end_mean_nothing(tmp_path: Path) -> None:
    plain = read_text(tmp_path, TWO)
    assert read_text(tmp_path, TWO.replace("\n", "\r\n")) == plain
    assert read_text(tmp_path, TWO.replace("2 1 1.5 2 3", "2\t1  1.5\t2 3 ")) == plain
    assert read_text(tmp_path, TWO + "\n\n") == plain
    assert read_text(tmp_path, TWO.rstrip("\n")) == plain
    labels = frame_text("1 OW 0 0 0\n2 HW 0 0 0\n")
    assert read_text(tmp_path, labels.replace("\n", "\r\n")) == read_text(tmp_path, labels)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files(tmp_path: Path, suffix: str) -> None:
    plain = read_text(tmp_path, TWO * 200)
    path = tmp_path / f"some.dump{suffix}"
    with open_binary(path, "wb") as file:
        file.write((TWO * 200).encode())
    assert read(path) == plain
    assert formats().for_reading(path).name == "lammps-dump"
    # what is appended is a compressed stream of its own
    path.write_bytes(path.read_bytes() * 2)
    assert len(read(path)) == 2 * len(plain)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(mr.FormatError, match=r"some\.dump\.\w+: the file does not decompress") as refused:
        read(path)
    assert refused.value.rule == "reject-malformed-source"


def test_a_cell_of_zero_size_is_none(tmp_path: Path) -> None:
    notes = Notes(strict=True)
    bounds = "ITEM: BOX BOUNDS ff ff ff\n0 0\n0 0\n0 0\n"
    assert not box_of(read_one(tmp_path, frame_text("1 1 0 0 0\n", bounds=bounds), notes)).cell_defined


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_a_file_cut_short_says_how_many_frames_are_whole(tmp_path: Path) -> None:
    rows = TWO.splitlines(keepends=True)
    for length in range(12, len(rows)):
        text = "".join(rows[:length])
        with pytest.raises(mr.FormatError) as refused:
            read_text(tmp_path, text)
        assert refused.value.rule == "reject-malformed-source"
        assert refused.value.message.startswith(f"{tmp_path / 'some.dump'}:{length + 1}: the file ends within frame 1")
        assert "1 whole frames precede it" in refused.value.message
    frames = DumpSource(tmp_path / "some.dump").frames(Notes())
    assert next(frames).meta["step"] == 10


@pytest.mark.parametrize(
    ("found", "put", "line", "why"),
    [
        ("2 1 1.5 2 3\n1 2 0.1", "2 1 1.5 2 3\n2 2 0.1", 11, "atom id 2 is in an earlier row already"),
        ("2 1 1.5 2 3\n1 2", "2 1 1.5 2 3\n-1 2", 11, "id -1 is negative"),
        ("2 1 1.5 2 3", "2 1 1.5 2", 10, "4 fields where 5 are expected (id type x y z)"),
        ("2 1 1.5 2 3", "2 1 1.5 2 3 4", 10, "6 fields where 5 are expected"),
        ("2 1 1.5 2 3", "2 1 one 2 3", 10, "field 'x' holds a number, found 'one'"),
        ("2 1 1.5 2 3", "2.0 1 1.5 2 3", 10, "field 'id' holds an integer, found '2.0'"),
        ("2 1 1.5 2 3", "2 1 1.5 2 3é", 10, "holds the byte 0xc3, which is not ASCII"),
        ("2 1 1.5 2 3", "", 10, "0 fields where 5 are expected"),
        ("ATOMS\n2", "ATOMS\n3", 12, "the frame ends after 2 of 3 atoms"),
        ("ATOMS\n2", "ATOMS\n1", 11, "a line 'ITEM: ...' is expected"),
        ("ATOMS\n2", "ATOMS\ntwo", 4, "field 'number' holds an integer, found 'two'"),
        ("ATOMS\n2", "ATOMS\n-2", 4, "-2 is no number of atoms"),
        ("TIMESTEP\n10", "TIMESTEP\n1.5", 2, "field 'number' holds an integer, found '1.5'"),
        ("pp pp pp", "pp pp", 5, "three boundaries such as 'pp ff ss' are expected"),
        ("0 10\n", "0 10 1\n", 6, "2 numbers are expected, found '0 10 1'"),
        ("0 10\n", "10 0\n", 6, "the bounds 10.0 0.0 are in the wrong order"),
        ("BOUNDS pp pp pp\n0 10", "BOUNDS xy xz yz pp pp pp\n0 10", 6, "3 numbers are expected"),
        ("ITEM: ATOMS id type x y z", "ITEM: ATOMS", 9, "names no columns"),
        ("ITEM: ATOMS id type x y z", "ITEM: ATOMS id id x y z", 9, "a column is there twice"),
        ("ITEM: ATOMS id type x y z", "ITEM: ENTRIES id type x y z", 9, "'ITEM: ENTRIES id type x y z' is not known"),
        ("ITEM: TIMESTEP\n10\n", "", 7, "no 'ITEM: TIMESTEP' precedes the atoms of frame 0"),
        (BOUNDS, "", 5, "no 'ITEM: BOX BOUNDS' precedes the atoms"),
        ("ITEM: TIMESTEP\n10", "ITEM: UNITS\nimperial\nITEM: TIMESTEP\n10", 2, "'imperial' is no unit style"),
    ],
)
def test_a_damaged_file_is_refused_by_line(tmp_path: Path, found: str, put: str, line: int, why: str) -> None:
    assert found in TWO
    with pytest.raises(mr.FormatError) as refused:
        read_text(tmp_path, TWO.replace(found, put, 1))
    assert refused.value.rule == "reject-malformed-source"
    assert refused.value.message.startswith(f"{tmp_path / 'some.dump'}:{line}: ")
    assert why in refused.value.message


def test_units_that_change_are_refused(tmp_path: Path) -> None:
    text = "ITEM: UNITS\nmetal\n" + frame_text("1 1 0 0 0\n") + "ITEM: UNITS\nreal\n" + frame_text("1 1 0 0 0\n")
    with pytest.raises(mr.FormatError, match=r"some\.dump:14: units 'real', but 'metal'") as refused:
        read_text(tmp_path, text)
    assert refused.value.rule == "reject-units-disagree"


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_frames_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(mr.FormatError, match=r"some\.dump:1: file: holds no frame") as refused:
        read_text(tmp_path, text)
    assert refused.value.rule == "reject-malformed-source"


def test_two_names_of_one_column_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mr.FormatError, match=r"some\.dump:9: .*the columns of 'charge' stand there twice"):
        read_text(tmp_path, frame_text("1 1 0\n", "id q charge"))


# -- writing ----------------------------------------------------------------------------------------------------------


def test_frames_come_back_through_the_writer(tmp_path: Path) -> None:
    frames = read_text(tmp_path, TWO)
    seen: list[tuple[int, int | None]] = []
    write_dump(tmp_path / "out.dump", Images(frames), Notes(strict=True), lambda *done: seen.append(done))
    assert read(tmp_path / "out.dump") == frames
    assert seen == [(1, 2), (2, 2)]
    write_dump(tmp_path / "out.dump.zst", Images(frames), Notes(strict=True))
    assert read(tmp_path / "out.dump.zst") == frames


def test_frames_come_back_through_a_record(tmp_path: Path) -> None:
    bounds = "ITEM: BOX BOUNDS xy xz yz pp pp fs\n0 14 2\n0 20.5 2\n0 30 0.5\n"
    columns = "id type element q x y z ix iy iz c_pe"
    text = "ITEM: UNITS\nreal\n"
    for step in range(3):
        rows = f"2 1 H 0.5 {step} 2 3 0 0 1 {step / 7!r}\n1 2 O -1 0.1 0.2 0.3 0 0 0 5.5\n"
        text += f"ITEM: TIME\n{step * 0.5}\n" + frame_text(rows, columns, step=step * 100, bounds=bounds)
    (tmp_path / "run.dump").write_text(text)
    done = convert([tmp_path / "run.dump"], tmp_path / "run.mrec", strict=True)
    assert done.frames == 3
    assert mr.validate(tmp_path / "run.mrec") == []
    with mr.open(tmp_path / "run.mrec") as record:
        assert record.system is not None
        assert set(record.system["atoms"].columns) == {"id", "type_id", "element", "charge", "ix", "iy", "iz"}
        assert record.system.meta["units"] == {"preset": "real"}
        assert record.trajectory is not None
        assert record.trajectory.steps.tolist() == [0, 100, 200]
        assert record.trajectory.times is not None
        assert record.trajectory.times.tolist() == [0.0, 0.5, 1.0]
    convert([tmp_path / "run.mrec"], tmp_path / "back.dump.gz", strict=True)
    assert read(tmp_path / "back.dump.gz") == read(tmp_path / "run.dump")
    assert DumpSource(tmp_path / "back.dump.gz").units == {"preset": "real"}
    assert [frame.meta["lammps.boundary"] for frame in read(tmp_path / "back.dump.gz")] == ["pp pp fs"] * 3


def test_unwrapped_positions_come_back_as_such(tmp_path: Path) -> None:
    (tmp_path / "u.dump").write_text(frame_text("1 21 2 3\n", "id xu yu zu") + frame_text("1 22 2 3\n", "id xu yu zu"))
    convert([tmp_path / "u.dump"], tmp_path / "run.mrec", strict=True)
    convert([tmp_path / "run.mrec"], tmp_path / "back.dump", strict=True)
    assert "ITEM: ATOMS id xu yu zu\n1 22.0 2.0 3.0\n" in (tmp_path / "back.dump").read_text()


def test_several_dumps_are_one_run(tmp_path: Path) -> None:
    (tmp_path / "a.dump").write_text(TWO)
    (tmp_path / "b.dump").write_text(frame_text("1 2 9 0.2 0.3\n2 1 1.5 2 3\n", step=30))
    assert convert([tmp_path / "a.dump", tmp_path / "b.dump"], tmp_path / "run.mrec", strict=True).frames == 3
    with mr.open(tmp_path / "run.mrec") as record:
        assert record.trajectory is not None
        assert record.trajectory.steps.tolist() == [10, 20, 30]


def test_a_dump_appended_to_by_a_restarted_run(tmp_path: Path) -> None:
    (tmp_path / "a.dump").write_text(TWO + TWO)
    convert([tmp_path / "a.dump"], tmp_path / "run.mrec", strict=True)
    convert([tmp_path / "run.mrec"], tmp_path / "back.dump", strict=True)
    assert read(tmp_path / "back.dump") == read(tmp_path / "a.dump")


def test_frames_that_differ_in_columns_atoms_and_stamps_come_back_through_a_record(tmp_path: Path) -> None:
    text = (
        frame_text("1 1 0 0 0\n2 1 1 1 1\n", step=1)
        + "ITEM: TIME\n0.5\n"
        + frame_text("1 1 0 0 0 -0.5 a\n", "id type x y z q v_word", step=2)
        + frame_text("5 2 3 3 3 9\n", "id type x y z i_mark", step=3)
    )
    (tmp_path / "run.dump").write_text(text)
    convert([tmp_path / "run.dump"], tmp_path / "run.mrec", strict=True)
    assert {finding.rule for finding in mr.validate(tmp_path / "run.mrec")} == {"unit-not-stated"}
    convert([tmp_path / "run.mrec"], tmp_path / "back.dump", strict=True)
    assert read(tmp_path / "back.dump") == read(tmp_path / "run.dump")


def test_one_frame_of_a_run_becomes_a_data_file(tmp_path: Path) -> None:
    from molrec.formats.lammps_data import DataSource

    (tmp_path / "run.dump").write_text("ITEM: UNITS\nmetal\n" + TWO)
    convert([tmp_path / "run.dump"], tmp_path / "run.mrec")
    with pytest.raises(mr.SchemaError) as refused:
        convert([tmp_path / "run.mrec"], tmp_path / "all.data")
    assert refused.value.rule == "reject-single-frame"
    convert([tmp_path / "run.mrec"], tmp_path / "last.data", select=slice(-1, None), strict=True)
    (frame,) = DataSource(tmp_path / "last.data").frames(Notes(strict=True))
    last = read(tmp_path / "run.dump")[-1]
    assert frame["atoms"] == last["atoms"]
    assert frame.box == last.box
    assert frame.meta["step"] == 20
    assert DataSource(tmp_path / "last.data").units == {"preset": "metal"}


def test_frames_without_steps_are_numbered(tmp_path: Path) -> None:
    block = mr.Block({"x": [0.5], "y": [1.0], "z": [2.0]})
    box = mr.Box(np.eye(3))
    write_dump(tmp_path / "out.dump", Images([mr.Frame({"atoms": block}, box=box)] * 2), Notes(strict=True))
    assert [frame.meta["step"] for frame in read(tmp_path / "out.dump")] == [0, 1]


def test_what_a_dump_does_not_hold_is_named(tmp_path: Path) -> None:
    block = mr.Block({"x": [0.5, 1.5], "icode": ["", "A"], "wave": np.ones(2, np.complex128), "two words": [1.0, 2.0]})
    block["grid"] = np.arange(4.0).reshape(2, 2)
    block["free"] = [True, False]
    block["n"] = [1, 2]
    block.set_validity("n", [True, False])
    block["w"] = [1.5, 2.5]
    block.set_validity("w", [True, False])
    frame = mr.Frame(
        {"atoms": block, "bonds": mr.Block({"atomi": [0], "atomj": [1]})},
        meta={"pe": -1.0, "units": {"length": "nm"}},
    )
    notes = Notes()
    write_dump(tmp_path / "out.dump", Images([frame]), notes)
    assert [note.subject for note in notes if note.lost] == [
        "block 'bonds'",
        "meta 'pe'",
        "units",
        "cell",
        "column 'icode'",
        "column 'wave'",
        "column 'two words'",
        "column 'n'",
    ]
    assert [note.subject for note in notes if not note.lost] == ["column 'grid'", "column 'free'", "column 'w'"]
    back = read_one(tmp_path, (tmp_path / "out.dump").read_text())["atoms"]
    assert back["grid[2]"].tolist() == [1.0, 3.0]
    assert back["free"].tolist() == [True, False]
    assert np.isnan(back["w"][1])
    with pytest.raises(mr.SchemaError) as refused:
        write_dump(tmp_path / "strict.dump", Images([frame]), Notes(strict=True))
    assert refused.value.rule == "reject-lossy-conversion"
    assert not (tmp_path / "strict.dump").exists()


def test_frames_without_atoms_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mr.SchemaError, match="no block 'atoms'") as refused:
        write_dump(tmp_path / "out.dump", Images([mr.Frame()]), Notes())
    assert refused.value.rule == "reject-foreign-write"
    assert list(tmp_path.iterdir()) == []


# -- universal rules --------------------------------------------------------------------------------------------------


@st.composite
def _frames(draw: st.DrawFn) -> mr.Frame:
    count = draw(st.integers(0, 5))
    real = st.floats(allow_nan=False)

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    columns: dict[str, Any] = {}
    if draw(st.booleans()):
        columns["id"] = sorted(draw(st.lists(st.integers(0, 2**63 - 1), min_size=count, max_size=count, unique=True)))
    word = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=6)
    for names, values in (
        (("x", "y", "z"), real),
        (("vx", "vy", "vz"), real),
        (("xu",), real),
        (("charge",), real),
        (("mol_id",), st.integers(0, 2**63 - 1)),
        (("type_id",), st.integers(0, 9)),
        (("type",), word),
        (("element",), st.sampled_from(["C", "Cl"])),
        (("ix", "iy", "iz"), st.integers(-(2**31), 2**31 - 1)),
        (("i_mark",), st.integers(-(2**63), 2**63 - 1)),
        (("c_1[2]",), real | st.just(float("nan"))),
    ):
        if draw(st.booleans()):
            columns |= {name: column(values) for name in names}
    columns = columns or {"x": [0.0] * count}
    typed = {
        name: np.array(values, dtype=np.int64 if name == "i_mark" else None) if values else np.zeros(0)
        for name, values in columns.items()
        if name not in ("type", "element")
    }
    block = mr.Block(rows=count)
    for name, values in columns.items():
        if name in typed:
            block[name] = typed[name].astype(np.int64) if name == "i_mark" else typed[name]
        else:
            block[name] = np.array(values, dtype=np.dtypes.StringDType())
    meta: dict[str, Any] = {"step": draw(st.integers(0, 2**60))}
    if draw(st.booleans()):
        meta["time"] = draw(st.floats(allow_nan=False))
    vectors = np.diag(draw(st.tuples(*(st.integers(1, 50),) * 3))).astype(float)
    vectors[0, 1:] = draw(st.tuples(st.integers(-9, 9), st.integers(-9, 9)))
    vectors[1, 2] = draw(st.integers(-9, 9))
    vectors[2, 0] = draw(st.sampled_from([0.0, 0.5]))
    return mr.Frame({"atoms": block}, meta=meta, box=mr.Box(vectors, origin=[1.0, -2.0, 0.5]))


@given(frames=st.lists(_frames(), min_size=1, max_size=3))
def test_any_frames_come_back(frames: list[mr.Frame], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("any") / "any.dump"
    write_dump(path, Images(frames), Notes(strict=True))
    back = read(path, Notes())
    for found, frame in zip(back, frames, strict=True):
        assert found.box == frame.box
        assert found.meta["step"] == frame.meta["step"]
        assert found.meta.get("time") == frame.meta.get("time")
        assert found["atoms"] == frame["atoms"]


@given(order=st.permutations(range(5)))
def test_the_order_of_rows_means_nothing(order: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("order")
    rows = [f"{number * 3 + 1} {number + 1} {number / 7!r} 0 {number}\n" for number in range(5)]
    assert read_text(folder, frame_text("".join(rows[position] for position in order))) == read_text(
        folder, frame_text("".join(rows))
    )


# -- recognizing ------------------------------------------------------------------------------------------------------


def test_dumps_are_known_by_content_and_suffix(tmp_path: Path) -> None:
    registry = formats()
    for name in ("nameless", "x.dump", "x.lammpstrj", "dump.melt"):
        (tmp_path / name).write_text(TWO)
        assert registry.for_reading(tmp_path / name).name == "lammps-dump"
    (tmp_path / "broken.dump").write_text("nothing\n")
    with pytest.raises(mr.FormatError, match="does not begin like it"):
        registry.for_reading(tmp_path / "broken.dump")
    assert registry.for_writing(tmp_path / "out.lammpstrj").name == "lammps-dump"


# -- witnesses --------------------------------------------------------------------------------------------------------

WITNESSED = "".join(
    frame_text(
        "".join(
            f"{atom} {atom % 3 + 1} {atom * 0.37 + step!r} {atom * 1.1!r} {step}.5 {-atom}.25 0 1\n"
            for atom in (2, 3, 1)
        ),
        "id type x y z vx vy vz",
        step=step,
        bounds="ITEM: BOX BOUNDS xy xz yz pp pp pp\n0 12 2\n0 20.5 0\n0 30 0.5\n",
    )
    for step in (5, 6)
)


def test_ase_reads_the_same(tmp_path: Path) -> None:
    pytest.importorskip("ase")
    from ase.io import read as ase_read

    frames = read_text(tmp_path, WITNESSED)
    write_dump(tmp_path / "out.dump", Images(frames), Notes(strict=True))
    for name in ("some.dump", "out.dump"):
        images = ase_read(tmp_path / name, ":", format="lammps-dump-text", units="metal")
        for atoms, frame in zip(images, frames, strict=True):
            block = frame["atoms"]
            np.testing.assert_allclose(atoms.cell.array.T, box_of(frame).vectors, rtol=1e-15)
            for axis, column in enumerate("xyz"):
                np.testing.assert_array_equal(atoms.positions[:, axis], block[column])


def test_molrs_reads_the_same_canonical_columns(tmp_path: Path) -> None:
    io = pytest.importorskip("molrs.io")
    frames = read_text(tmp_path, WITNESSED)
    write_dump(tmp_path / "out.dump", Images(frames), Notes(strict=True))
    for name in ("some.dump", "out.dump"):
        with io.lammps.LammpsDumpReader(tmp_path / name) as reader:
            for other, frame in zip(list(reader), frames, strict=True):
                assert set(other["atoms"].keys()) == set(frame["atoms"].columns)
                # molrs keeps the order of the file
                order = np.argsort(np.asarray(other["atoms"]["id"]))
                for column in frame["atoms"].columns:
                    found = np.asarray(other["atoms"][column])[order]
                    assert found.tolist() == frame["atoms"][column].tolist(), column
                np.testing.assert_allclose(np.asarray(other.box.matrix), box_of(frame).vectors, rtol=1e-15)


@engines
def test_lammps_writes_what_is_read_and_reads_what_is_written(tmp_path: Path) -> None:
    lammps = lammps_engine()
    lammps.commands_string(
        f"""units lj
        atom_style charge
        boundary p p p
        region b prism 0 12 0 11 0 10 1.5 -0.5 0.25
        create_box 2 b
        labelmap atom 1 A 2 B
        create_atoms 1 random 40 3 b
        create_atoms 2 random 30 4 b
        mass * 1.5
        set type 2 charge 0.25
        pair_style soft 2.5
        pair_coeff * * 10
        velocity all create 3.0 8
        fix 1 all nve
        compute pe all pe/atom
        dump 1 all custom 10 {tmp_path / "all.dump"} id type q x y z ix iy iz vx vy vz fx fy fz c_pe
        dump_modify 1 units yes time yes format float %.17g
        dump 2 all custom 10 {tmp_path / "scaled.dump"} id typelabel xs ys zs
        dump_modify 2 format float %.17g
        dump 3 all custom 10 {tmp_path / "unwrapped.dump"} id xu yu zu
        dump_modify 3 format float %.17g
        dump 4 all custom/gz 10 {tmp_path / "all.dump.gz"} id type x y z
        run 50"""
    )
    positions = gathered(lammps, "x", 1)
    images = gathered(lammps, "image", 0)
    lammps.close()
    frames = read(tmp_path / "all.dump")
    assert [frame.meta["step"] for frame in frames] == [0, 10, 20, 30, 40, 50]
    assert DumpSource(tmp_path / "all.dump").units == {"preset": "lj"}
    last = frames[-1]["atoms"]
    assert last["id"].tolist() == list(range(1, len(positions) + 1))
    np.testing.assert_allclose(np.column_stack([last[axis] for axis in "xyz"]), positions, rtol=1e-15)
    assert np.column_stack([last[axis] for axis in ("ix", "iy", "iz")]).tolist() == images.tolist()
    assert images.any()
    scaled = read(tmp_path / "scaled.dump", Notes())
    unwrapped = read(tmp_path / "unwrapped.dump", Notes())
    for frame, other, free in zip(frames, scaled, unwrapped, strict=True):
        assert other.box == frame.box
        shift = box_of(frame).vectors @ np.stack([frame["atoms"][axis] for axis in ("ix", "iy", "iz")])
        for at, axis in enumerate("xyz"):
            np.testing.assert_allclose(other["atoms"][axis], frame["atoms"][axis], atol=1e-12)
            np.testing.assert_allclose(free["atoms"][axis], frame["atoms"][axis] + shift[at], atol=1e-12)
        assert set(other["atoms"]["type"].tolist()) == {"A", "B"}
    packed = read(tmp_path / "all.dump.gz")
    assert len(packed) == len(frames)
    np.testing.assert_allclose(packed[-1]["atoms"]["x"], last["x"], rtol=1e-5, atol=1e-5)

    write_dump(tmp_path / "out.dump", Images(frames), Notes())
    assert read(tmp_path / "out.dump") == frames
    again = lammps_engine()
    again.commands_string(
        f"""units lj
        atom_style charge
        boundary p p p
        region b prism 0 12 0 11 0 10 1.5 -0.5 0.25
        create_box 2 b
        mass * 1.5
        pair_style soft 2.5
        pair_coeff * * 10
        read_dump {tmp_path / "out.dump"} 50 x y z ix iy iz vx vy vz box yes add yes
        run 0"""
    )
    back, again_images = gathered(again, "x", 1), gathered(again, "image", 0)
    again.close()
    np.testing.assert_allclose(back, positions, rtol=1e-13, atol=1e-13)
    assert again_images.tolist() == images.tolist()


MDANALYSIS_FILES = [
    "LAMMPSDUMP", "LAMMPSDUMP_additional_columns", "LAMMPSDUMP_allcoords", "LAMMPSDUMP_allinfo", "LAMMPSDUMP_chain1",
    "LAMMPSDUMP_chain2", "LAMMPSDUMP_image_vf", "LAMMPSDUMP_nomass_elemx", "LAMMPSDUMP_non_linear",
    "LAMMPSDUMP_triclinic", "WIN_LAMMPSDUMP",
]  # fmt: skip


def _mdanalysis_file(name: str) -> Path:
    if importlib.util.find_spec("MDAnalysisTests") is None:
        pytest.skip("no MDAnalysisTests")
    from MDAnalysisTests import datafiles

    return Path(getattr(datafiles, name))


@engines
@pytest.mark.parametrize("name", MDANALYSIS_FILES)
@pytest.mark.filterwarnings("ignore")
def test_the_files_of_mdanalysis_read_as_it_reads_them(tmp_path: Path, name: str) -> None:
    path = _mdanalysis_file(name)
    from MDAnalysis.coordinates.LAMMPS import DumpReader

    notes = Notes()
    frames = read(path, notes)
    scaled = "columns xs ys zs" in {note.subject for note in notes}
    reader = DumpReader(str(path))
    assert len(reader) == len(frames)
    for step, frame in zip(reader, frames, strict=True):
        assert step.data["step"] == frame.meta["step"]
        atoms = frame["atoms"]
        # MDAnalysis holds binary32 and puts the cell's origin at zero, which it does twice where positions are scaled
        origin = box_of(frame).origin * (2 if scaled else 1)
        for axis, column in enumerate("xyz"):
            np.testing.assert_allclose(step.positions[:, axis], atoms[column] - origin[axis], rtol=1e-5, atol=2e-5)
        from MDAnalysis.lib.mdamath import triclinic_vectors

        # and gives cells by lengths and angles, so that roundings are left
        np.testing.assert_allclose(triclinic_vectors(step.dimensions).T, box_of(frame).vectors, atol=1e-4)
        if "vx" in atoms:
            np.testing.assert_allclose(step.velocities[:, 0], atoms["vx"], rtol=1e-6)
    write_dump(tmp_path / "out.dump", Images(frames), Notes())
    for found, frame in zip(read(tmp_path / "out.dump", Notes()), frames, strict=True):
        for column in frame["atoms"].columns:
            assert found["atoms"][column].tolist() == frame["atoms"][column].tolist()


@engines
@pytest.mark.parametrize(("name", "line"), [("LAMMPSDUMP_long", 10), ("LAMMPSDUMP_nocoords", 42)])
def test_files_of_mdanalysis_whose_rows_do_not_fit_their_columns_are_refused(name: str, line: int) -> None:
    path = _mdanalysis_file(name)
    with pytest.raises(mr.FormatError, match=rf"{path.name}:{line}: .*fields where"):
        read(path)


@engines
@pytest.mark.filterwarnings("ignore")
def test_reading_is_not_slower_than_mdanalysis(tmp_path: Path) -> None:
    pytest.importorskip("MDAnalysis")
    from MDAnalysis.coordinates.LAMMPS import DumpReader

    values = np.random.default_rng(1).random((100_000, 6)) * 100
    rows = "".join(
        f"{number + 1} 1 {' '.join(format(value, '.6g') for value in row)}\n" for number, row in enumerate(values)
    )
    path = tmp_path / "big.dump"
    path.write_text("".join(frame_text(rows, "id type x y z vx vy vz", step=step) for step in range(3)))
    started = time.perf_counter()
    assert len(read(path)) == 3
    ours = time.perf_counter() - started
    started = time.perf_counter()
    assert sum(1 for _ in DumpReader(str(path))) == 3
    assert ours <= time.perf_counter() - started
