"""LAMMPS molecule files: every section kept, numbers and labels as types, damaged files refused by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.conversion import convert
from molrec.formats.images import Images
from molrec.formats.lammps_molecule import MoleculeSource
from molrec.formats.lammps_molecule_json import MoleculeJsonSource
from molrec.formats.lammps_molecule_writer import write_molecule, write_molecule_json
from molrec.formats.notes import Notes
from molrec.formats.registry import formats

from .lammps_engine import lammps_engine

WATER = """\
water of a model, units = real

3 atoms
2 bonds
1 angles
1 fragments
18.015 mass
0.1 0.2 0.3 com
1 2 3 0.5 0.25 0.125 inertia

Coords

2 0.9584 0.0 0
1 0 0 0.1
3 -0.23996 0.92787 0

Types

1 OW
2 HW
3 HW

Charges

1 -1.1128
2 0.5564
3 0.5564

Molecules

1 1
2 1
3 1

Masses

1 15.9994
2 1.008
3 1.008

Diameters

1 3.0
2 1.0
3 1.0

Fragments

left 1 2

Bonds

1 OW-HW 1 2
2 OW-HW 1 3

Angles

1 HW-OW-HW 2 1 3

Special Bond Counts

1 2 0 0
2 1 1 0
3 1 1 0

Special Bonds

1 2 3
2 1 3
3 1 2
"""


def read(path: Path, notes: Notes | None = None) -> mr.Frame:
    (frame,) = MoleculeSource(path).frames(Notes(strict=True) if notes is None else notes)
    return frame


def read_text(tmp_path: Path, text: str, notes: Notes | None = None) -> mr.Frame:
    (tmp_path / "some.lammpsmol").write_bytes(text.encode())
    return read(tmp_path / "some.lammpsmol", notes)


def written(tmp_path: Path, frame: mr.Frame, notes: Notes | None = None) -> str:
    path = tmp_path / "written.lammpsmol"
    write_molecule(path, Images([frame]), Notes(strict=True) if notes is None else notes)
    return path.read_text()


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


# -- reading ----------------------------------------------------------------------------------------------------------


def test_every_part_of_a_file_has_its_place(tmp_path: Path) -> None:
    frame = read_text(tmp_path, WATER)
    atoms = frame["atoms"]
    assert atoms["id"].tolist() == [1, 2, 3]
    assert atoms["x"].tolist() == [0.0, 0.9584, -0.23996]
    assert atoms["z"].tolist() == [0.1, 0.0, 0.0]
    assert atoms["type"].tolist() == ["OW", "HW", "HW"]
    assert "type_id" not in atoms
    assert atoms["charge"].tolist() == [-1.1128, 0.5564, 0.5564]
    assert atoms["mol_id"].tolist() == [1, 1, 1]
    assert atoms["mass"].tolist() == [15.9994, 1.008, 1.008]
    assert atoms["diameter"].tolist() == [3.0, 1.0, 1.0]
    assert frame["bonds"]["atomi"].tolist() == [0, 0]
    assert frame["bonds"]["atomj"].tolist() == [1, 2]
    assert frame["bonds"]["type"].tolist() == ["OW-HW", "OW-HW"]
    assert [frame["angles"][name].tolist() for name in ("atomi", "atomj", "atomk")] == [[1], [0], [2]]
    assert frame.box is None
    assert frame.meta["title"] == "water of a model"
    assert frame.meta["lammps.molecule"] == {
        "mass": 18.015,
        "com": [0.1, 0.2, 0.3],
        "inertia": [1.0, 2.0, 3.0, 0.5, 0.25, 0.125],
    }
    assert frame.meta["lammps.header"] == {"fragments": ["1"]}
    assert frame.meta["lammps.sections"]["Fragments"]["rows"] == [["left", "1", "2"]]
    assert frame.meta["lammps.sections"]["Special Bonds"]["rows"] == [["1", "2", "3"], ["2", "1", "3"], ["3", "1", "2"]]
    assert MoleculeSource(tmp_path / "some.lammpsmol").units == {"preset": "real"}


def test_types_may_be_numbers(tmp_path: Path) -> None:
    text = WATER.replace("OW-HW", "1").replace("HW-1", "2").replace("OW", "1").replace("HW", "2")
    frame = read_text(tmp_path, text)
    assert frame["atoms"]["type_id"].tolist() == [1, 2, 2]
    assert "type" not in frame["atoms"]
    assert frame["bonds"]["type_id"].tolist() == [1, 1]
    assert read_text(tmp_path, written(tmp_path, frame)) == frame


def test_dipoles(tmp_path: Path) -> None:
    frame = read_text(tmp_path, "title\n\n1 atoms\n\nCoords\n\n1 0 0 0\n\nDipoles\n\n1 0.5 -0.5 2\n")
    assert [frame["atoms"][name].tolist() for name in ("mux", "muy", "muz")] == [[0.5], [-0.5], [2.0]]
    assert read_text(tmp_path, written(tmp_path, frame)) == frame


def test_line_ends_tabs_and_comments(tmp_path: Path) -> None:
    plain = read_text(tmp_path, WATER)
    assert read_text(tmp_path, WATER.replace("\n", "\r\n")) == plain
    assert read_text(tmp_path, WATER.replace("1 0 0 0.1", "\t1\t0  0 0.1")) == plain
    notes = Notes()
    assert read_text(tmp_path, WATER.replace("1 0 0 0.1", "1 0 0 0.1 # oxygen"), notes) == plain
    assert [note.subject for note in notes] == ["section 'Coords'"]


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "put", "line", "why"),
    [
        ("1 OW-HW 1 2", "1 OW-HW 1 4", "1 OW-HW 1 2", "bond names atom 4, which the file does not have"),
        ("2 HW\n3 HW", "2 HW\n2 HW", "3 HW", "atom id 2 is in an earlier row already"),
        ("2 0.5564", "4 0.5564", "2 0.5564", "the row names atom 4, which the file does not have"),
        ("2 0.5564", "2 much", "2 0.5564", "field 'charge' holds a number, found 'much'"),
        ("2 0.5564", "2 0.5564 1", "2 0.5564", "3 fields where 2 are expected"),
        ("2 0.5564", "2 0.5564é", "2 0.5564", "not ASCII"),
        ("3 -0.23996 0.92787 0\n", "", "\nTypes", "section 'Coords': ends after 2 rows; by the header it has 3"),
        ("3 -0.23996", "4 0 0 0\n3 -0.23996", "3 -0.23996", ""),
        ("3 1\n\nMasses", "3 -1\n\nMasses", "3 1\n\nMasses", "mol_id -1 is negative"),
        ("Charges\n", "Colours\n", "Charges\n", "a molecule file has no such section"),
        ("0.1 0.2 0.3 com", "0.1 0.2 com", "0.1 0.2 0.3 com", "'com' is preceded by 3 numbers"),
        ("units = real", "units = none", "water", "'none' is no unit style"),
    ],
)
def test_a_damaged_file_is_refused_by_line(tmp_path: Path, found: str, put: str, line: str, why: str) -> None:
    assert found in WATER
    with pytest.raises(mr.FormatError) as refused:
        read_text(tmp_path, WATER.replace(found, put, 1))
    assert refused.value.rule == "reject-malformed-source"
    assert why in refused.value.message
    shift = {"3 -0.23996 0.92787 0\n": -1, "3 -0.23996": 1}.get(found, 0)
    assert refused.value.message.startswith(f"{tmp_path / 'some.lammpsmol'}:{line_of(WATER, line) + shift}: ")


@given(length=st.integers(0, WATER.index("\nSpecial Bond Counts") - 2))
def test_a_file_cut_short_before_its_optional_sections_is_refused(
    length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    with pytest.raises(mr.FormatError) as refused:
        read_text(folder, WATER[:length])
    assert refused.value.rule == "reject-malformed-source"


def test_files_without_atoms_or_content_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mr.FormatError, match=r"some\.lammpsmol:1: file: is empty"):
        read_text(tmp_path, "")
    with pytest.raises(mr.FormatError, match=r"some\.lammpsmol:\d: header: states no number of atoms"):
        read_text(tmp_path, "title\n\n2 bonds\n")


# -- writing ----------------------------------------------------------------------------------------------------------


def test_a_file_comes_back_through_the_writer(tmp_path: Path) -> None:
    frame = read_text(tmp_path, WATER)
    assert read_text(tmp_path, written(tmp_path, frame)) == frame


def test_a_file_comes_back_through_a_record(tmp_path: Path) -> None:
    (tmp_path / "in.lammpsmol").write_text(WATER)
    convert([tmp_path / "in.lammpsmol"], tmp_path / "run.mrec", strict=True)
    assert mr.validate(tmp_path / "run.mrec") == []
    with mr.open(tmp_path / "run.mrec") as record:
        assert record.system is not None
        assert record.system.meta["units"] == {"preset": "real"}
    convert([tmp_path / "run.mrec"], tmp_path / "out.lammpsmol", strict=True)
    assert read(tmp_path / "out.lammpsmol") == read(tmp_path / "in.lammpsmol")
    assert MoleculeSource(tmp_path / "out.lammpsmol").units == {"preset": "real"}
    convert([tmp_path / "run.mrec"], tmp_path / "out.mol", target_format="lammps-molecule", strict=True)
    assert read(tmp_path / "out.mol") == read(tmp_path / "in.lammpsmol")


def test_a_units_value_that_is_a_string_is_a_preset(tmp_path: Path) -> None:
    frame = read_text(tmp_path, WATER)
    frame.meta["units"] = "metal"
    assert written(tmp_path, frame).splitlines()[0] == "water of a model, units = metal"


def test_what_a_molecule_file_does_not_hold_is_named(tmp_path: Path) -> None:
    atoms = mr.Block({"x": [0.0], "y": [0.0], "z": [0.0], "id": [7], "type_id": [1], "type": ["C"], "vx": [1.0]})
    frame = mr.Frame({"atoms": atoms, "pairs": mr.Block({"atomi": [0], "atomj": [0]})}, {"pe": 1.0}, mr.Box(np.eye(3)))
    notes = Notes()
    assert "1 atoms\n" in written(tmp_path, frame, notes)
    assert [note.subject for note in notes if note.lost] == [
        "block 'pairs'",
        "meta 'pe'",
        "cell",
        "column 'type' of block 'atoms'",
        "column 'vx'",
    ]
    assert [note.subject for note in notes if not note.lost] == ["column 'id'"]
    with pytest.raises(mr.SchemaError) as refused:
        written(tmp_path, frame)
    assert refused.value.rule == "reject-lossy-conversion"


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        ({}, "no block 'atoms'"),
        ({"atoms": mr.Block({"type": ["1x"]})}, "type '1x' begins with a digit"),
        ({"atoms": mr.Block({"type_id": [0]})}, "type_id of 0"),
        ({"atoms": mr.Block({"x": [0.0]}), "bonds": mr.Block({"atomi": [0], "type_id": [1]})}, "no 'atomj'"),
    ],
)
def test_frames_a_molecule_file_cannot_hold_are_refused(tmp_path: Path, blocks: Any, why: str) -> None:
    with pytest.raises(mr.SchemaError, match=why) as refused:
        written(tmp_path, mr.Frame(blocks), Notes())
    assert refused.value.rule == "reject-foreign-write"
    assert list(tmp_path.iterdir()) == []


def test_several_frames_are_refused(tmp_path: Path) -> None:
    frame = mr.Frame({"atoms": mr.Block({"type_id": [1]})})
    with pytest.raises(mr.SchemaError, match="holds one frame, there are 2") as refused:
        write_molecule(tmp_path / "two.lammpsmol", Images([frame, frame]), Notes())
    assert refused.value.rule == "reject-single-frame"


@given(
    positions=st.lists(st.tuples(*(st.floats(allow_nan=False, allow_infinity=False),) * 3), min_size=1, max_size=4),
    data=st.data(),
)
def test_any_molecule_comes_back(
    positions: list[tuple[float, ...]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    count = len(positions)
    block = mr.Block({"id": np.arange(1, count + 1, dtype=np.uint64)})
    for axis, values in zip("xyz", zip(*positions, strict=True), strict=True):
        block[axis] = np.array(values)
    types: dict[str, Any] = data.draw(st.sampled_from([{"type_id": [3] * count}, {"type": ["C-x"] * count}, {}]))
    for name, values in types.items():
        block[name] = values
    ends = data.draw(st.lists(st.tuples(*(st.integers(0, count - 1),) * 4), max_size=3))
    blocks = {"atoms": block}
    if ends:
        columns = np.array(ends, dtype=np.uint64).T
        names = ("atomi", "atomj", "atomk", "atoml")
        blocks["impropers"] = mr.Block(
            {name: columns[at].copy() for at, name in enumerate(names)} | {"type_id": [2] * len(ends)}
        )
    frame = mr.Frame(blocks)
    folder = tmp_path_factory.mktemp("any")
    back = read_text(folder, written(folder, frame))
    assert dict(back.items()) == dict(frame.items())


# -- recognizing ------------------------------------------------------------------------------------------------------


def test_molecule_files_are_known_by_content_and_suffix(tmp_path: Path) -> None:
    for name in ("molecule.water", "water.lammpsmol", "nameless"):
        (tmp_path / name).write_text(WATER)
        assert formats().for_reading(tmp_path / name).name == "lammps-molecule"
    # the suffix belongs to another format
    (tmp_path / "water.mol").write_text(WATER)
    with pytest.raises(mr.FormatError, match="the content says 'lammps-molecule' but the suffix says 'mol'"):
        formats().for_reading(tmp_path / "water.mol")
    assert formats().for_reading(tmp_path / "water.mol", "lammps-molecule").name == "lammps-molecule"


# -- witnesses --------------------------------------------------------------------------------------------------------


def test_molrs_reads_the_same_canonical_columns(tmp_path: Path) -> None:
    io = pytest.importorskip("molrs.io")
    # molrs takes rows in the order of the file, and no fragments
    text = WATER.replace("2 0.9584 0.0 0\n1 0 0 0.1\n", "1 0 0 0.1\n2 0.9584 0.0 0\n")
    text = text.replace("1 fragments\n", "").replace("Fragments\n\nleft 1 2\n\n", "")
    frame = read_text(tmp_path, text)
    written(tmp_path, frame)
    for name in ("some.lammpsmol", "written.lammpsmol"):
        other = io.read_lammps_molecule(tmp_path / name)
        for block in ("atoms", "bonds", "angles"):
            for column in frame[block].columns:
                assert np.asarray(other[block][column]).tolist() == frame[block][column].tolist(), column


@pytest.mark.engines
def test_lammps_reads_what_is_written(tmp_path: Path) -> None:
    frame = read_text(tmp_path, WATER)
    written(tmp_path, frame)
    lammps = lammps_engine()
    lammps.commands_string(
        f"""units real
        atom_style full
        region b block 0 20 0 20 0 20
        create_box 2 b bond/types 1 angle/types 1 extra/bond/per/atom 2 extra/angle/per/atom 1 extra/special/per/atom 2
        labelmap atom 1 OW 2 HW
        labelmap bond 1 OW-HW
        labelmap angle 1 HW-OW-HW
        molecule water {tmp_path / "written.lammpsmol"}
        create_atoms 0 single 10 10 10 mol water 7
        mass * 1
        write_data {tmp_path / "out.data"} nocoeff"""
    )
    lammps.close()
    from molrec.formats.lammps_data import DataSource

    (back,) = DataSource(tmp_path / "out.data").frames(Notes())
    order = np.argsort(back["atoms"]["id"])
    assert back["atoms"]["type"][order].tolist() == ["OW", "HW", "HW"]
    assert back["atoms"]["charge"][order].tolist() == [-1.1128, 0.5564, 0.5564]
    assert {name: len(back[name]) for name in ("bonds", "angles")} == {"bonds": 2, "angles": 1}
    first = np.column_stack([back["atoms"][axis][order] for axis in "xyz"])
    second = np.column_stack([frame["atoms"][axis] for axis in "xyz"])
    gaps = [np.linalg.norm(places[:, None] - places[None], axis=-1) for places in (first, second)]
    np.testing.assert_allclose(gaps[0], gaps[1], atol=1e-12)


# -- the JSON form ----------------------------------------------------------------------------------------------------

DOCUMENT: dict[str, Any] = {
    "application": "LAMMPS",
    "format": "molecule",
    "revision": 1,
    "title": "water",
    "units": "real",
    "masstotal": 18.015,
    "com": [0.1, 0.2, 0.3],
    "types": {"format": ["atom-id", "type"], "data": [[1, "OW"], [2, "HW"], [3, "HW"]]},
    "coords": {
        "format": ["x", "atom-id", "y", "z"],
        "data": [[0.9584, 2, 0, 0], [0, 1, 0, 0], [-0.23996, 3, 0.92787, 1e-3]],
    },
    "charges": {"format": ["atom-id", "charge"], "data": [[1, -1.1128], [2, 0.5564], [3, 0.5564]]},
    "bonds": {"format": ["bond-type", "atom1", "atom2"], "data": [["OW-HW", 1, 2], ["OW-HW", 1, 3]]},
    "angles": {"format": ["angle-type", "atom1", "atom2", "atom3"], "data": [[1, 2, 1, 3]]},
    "special": {"counts": {"format": ["atom-id", "n12", "n13", "n14"], "data": [[1, 2, 0, 0]]}},
}


def read_json(tmp_path: Path, document: Any) -> mr.Frame:
    path = tmp_path / "some.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=1))
    (frame,) = MoleculeJsonSource(path).frames(Notes(strict=True))
    return frame


def written_json(tmp_path: Path, frame: mr.Frame, notes: Notes | None = None) -> Any:
    path = tmp_path / "written.json"
    write_molecule_json(path, Images([frame]), Notes(strict=True) if notes is None else notes)
    return json.loads(path.read_text())


def test_the_json_form_holds_the_same(tmp_path: Path) -> None:
    frame = read_json(tmp_path, DOCUMENT)
    assert frame["atoms"]["x"].tolist() == [0.0, 0.9584, -0.23996]
    assert frame["atoms"]["type"].tolist() == ["OW", "HW", "HW"]
    assert frame["bonds"]["type"].tolist() == ["OW-HW", "OW-HW"]
    assert frame["angles"]["type_id"].tolist() == [1]
    assert frame["angles"]["atomj"].tolist() == [0]
    assert frame.meta["title"] == "water"
    assert frame.meta["lammps.molecule"] == {"mass": 18.015, "com": [0.1, 0.2, 0.3]}
    assert frame.meta["lammps.molecule_json"] == {"special": DOCUMENT["special"]}
    assert MoleculeJsonSource(tmp_path / "some.json").units == {"preset": "real"}
    document = written_json(tmp_path, frame)
    assert read_json(tmp_path, document) == frame
    native = frame.copy()
    del native.meta["lammps.molecule_json"]
    assert read_text(tmp_path, written(tmp_path, native)) == native


def test_the_json_form_comes_back_through_a_record(tmp_path: Path) -> None:
    path = tmp_path / "molecule.water"
    path.write_text(json.dumps(DOCUMENT))
    assert formats().for_reading(path).name == "lammps-molecule-json"
    convert([path], tmp_path / "run.mrec", strict=True)
    convert([tmp_path / "run.mrec"], tmp_path / "back", target_format="lammps-molecule-json", strict=True)
    first, second = MoleculeJsonSource(path), MoleculeJsonSource(tmp_path / "back")
    assert list(first.frames(Notes())) == list(second.frames(Notes()))
    assert second.units == {"preset": "real"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"units": "imperial"}, "'units': 'imperial' is no unit style"),
        ({"format": "other"}, "is no molecule of LAMMPS"),
        ({"coords": {"format": ["atom-id", "x"], "data": []}}, "section 'coords': its 'format' names"),
        ({"coords": [1]}, "section 'coords': is no object with 'format' and 'data'"),
        ({"charges": {"format": ["atom-id", "charge"], "data": [[1, 0.5]]}}, "has 1 rows, another section 3"),
        ({"charges": {"format": ["atom-id", "charge"], "data": [[1, 0], [1, 0], [2, 0]]}}, "row 2: atom id 1"),
        ({"charges": {"format": ["atom-id", "charge"], "data": [[1, 0], [2, None], [3, 0]]}}, "row 2: null is neither"),
        ({"charges": {"format": ["atom-id", "charge"], "data": [[1, 0], [2], [3, 0]]}}, "row 2: [2] does not hold 2"),
        ({"angles": {**DOCUMENT["angles"], "data": [[1, 2, 1, 4]]}}, "row 1: angle names atom 4"),
        ({"com": [1, "x", 2]}, "'com' holds numbers"),
        ({"coords": None, "types": None, "charges": None}, "is no object"),
    ],
)
def test_a_damaged_json_file_is_refused_by_section_and_row(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    with pytest.raises(mr.FormatError) as refused:
        read_json(tmp_path, DOCUMENT | change)
    assert refused.value.rule == "reject-malformed-source"
    assert refused.value.message.startswith(f"{tmp_path / 'some.json'}:")
    assert why in refused.value.message


@given(length=st.integers(0, len(json.dumps(DOCUMENT, indent=1)) - 1))
def test_a_json_file_cut_short_is_refused_by_line(length: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("cut")
    with pytest.raises(mr.FormatError, match=r"some\.json:\d+: file: is not JSON"):
        read_json(folder, json.dumps(DOCUMENT, indent=1)[:length])


def test_molrs_reads_the_json_form(tmp_path: Path) -> None:
    io = pytest.importorskip("molrs.io")
    document = {key: value for key, value in DOCUMENT.items() if key != "special"}
    frame = read_json(tmp_path, document)
    written_json(tmp_path, frame)
    other = io.read_lammps_molecule_json(tmp_path / "written.json")
    for column in ("id", "type", "x", "y", "z", "charge"):
        assert np.asarray(other["atoms"][column]).tolist() == frame["atoms"][column].tolist(), column
    for column in ("atomi", "atomj", "type"):
        assert np.asarray(other["bonds"][column]).tolist() == frame["bonds"][column].tolist(), column


@pytest.mark.engines
def test_lammps_reads_the_json_form(tmp_path: Path) -> None:
    frame = read_text(tmp_path, WATER)
    for key in ("lammps.sections", "lammps.header"):
        del frame.meta[key]
    written_json(tmp_path, frame)
    lammps = lammps_engine()
    lammps.commands_string(
        f"""units real
        atom_style full
        region b block 0 20 0 20 0 20
        create_box 2 b bond/types 1 angle/types 1 extra/bond/per/atom 2 extra/angle/per/atom 1 extra/special/per/atom 2
        labelmap atom 1 OW 2 HW
        labelmap bond 1 OW-HW
        labelmap angle 1 HW-OW-HW
        molecule water {tmp_path / "written.json"}
        create_atoms 0 single 10 10 10 mol water 7"""
    )
    assert lammps.get_natoms() == 3
    charges = np.array(lammps.gather_atoms("q", 1, 1))
    assert charges.tolist() == [-1.1128, 0.5564, 0.5564]
    assert lammps.extract_global("nbonds") == 2
    lammps.close()
