"""Files to collections and back: extended XYZ exactly, databases of ASE, records, shards."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr

pytest.importorskip("mace_core")
pytest.importorskip("ase")

from ase import Atoms
from ase.calculators.singlepoint import SinglePointCalculator
from ase.constraints import FixAtoms
from ase.db import connect

from mace_core.data import KeySpecification
from mace_core.data.extxyz_writer import first_difference, frame_text
from molrec.datasets.conversion import convert_to_collection
from molrec.datasets.export import export_collection
from molrec.interop.labelled_sources import LabelledSource
from molrec.interop.mace import read_configurations
from molrec.interop.structures import Structures

from .refusals import refused
from .structures_made import UNITS, golden_files, real_files, structure
from .test_cli import invoke

_LITERAL = KeySpecification({"energy": "energy"}, {"forces": "forces"})


def structures(count: int, start: int = 0) -> list[Any]:
    return [
        structure(
            1 + place % 3,
            graph={"REF_energy": np.float64(-place / 3), "molecule_id": np.int64(place // 2), "smiles": f"C{place}"},
            atom={"REF_forces": np.full((1 + place % 3, 3), place / 7)},
        )
        for place in range(start, start + count)
    ]


def write_xyz(path: Path, made: list[Any]) -> Path:
    path.write_text("".join(map(frame_text, made)), encoding="utf-8")
    return path


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_xyz(tmp_path / "train.xyz", structures(5))


@pytest.fixture
def valid(tmp_path: Path) -> Path:
    return write_xyz(tmp_path / "valid.xyz", structures(3, 5))


def differences(first: list[Any], second: list[Any]) -> list[str]:
    pairs = zip(first, second, strict=True)
    return [str(found) for raw, back in pairs if (found := first_difference(raw, back)) is not None]


def read(path: Path) -> list[Any]:
    return list(LabelledSource(path, "extxyz").structures())


# -- extended XYZ -----------------------------------------------------------------------------------------------------


def test_files_become_one_collection_and_a_file_again(train: Path, valid: Path, tmp_path: Path) -> None:
    out = tmp_path / "data.mrec.lmdb"
    result = invoke("convert", train, valid, out, "--units", "ase")
    assert "8 records" in result.output
    assert "energy: 8 of 8 structures have it, under 'REF_energy'" in result.output
    collection = mr.open_collection(out)
    assert collection.units["energy"] == "eV"
    assert collection.index["config_type"].tolist() == ["Default"] * 8
    assert collection.index["molecule_id"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert collection.meta["sources"] == [{"file": "train.xyz", "records": 5}, {"file": "valid.xyz", "records": 3}]
    assert "8 frames" in invoke("convert", out, tmp_path / "back.xyz").output
    assert differences(structures(8), read(tmp_path / "back.xyz")) == []


@pytest.mark.parametrize("source", [*golden_files(), *real_files()], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_shared_files_come_back_exactly(source: Path, tmp_path: Path) -> None:
    convert_to_collection([source], tmp_path / "data.mrec.lmdb", units=UNITS)
    done = export_collection([tmp_path / "data.mrec.lmdb"], tmp_path / "back.xyz", strict=True)
    assert done.notes == ()
    assert differences(read(source), read(tmp_path / "back.xyz")) == []


def test_compressed_files_are_read_and_written(train: Path, tmp_path: Path) -> None:
    packed = tmp_path / "train.extxyz.gz"
    packed.write_bytes(gzip.compress(train.read_bytes()))
    invoke("convert", packed, tmp_path / "data.mrec.lmdb", "--units", "ase")
    invoke("convert", tmp_path / "data.mrec.lmdb", tmp_path / "back.xyz.gz")
    assert gzip.decompress((tmp_path / "back.xyz.gz").read_bytes()).decode() == train.read_text()


def test_structures_and_records_are_chosen(train: Path, valid: Path, tmp_path: Path) -> None:
    out = tmp_path / "data.mrec.lmdb"
    convert_to_collection([train, valid], out, units=UNITS, select=slice(1, 8, 2))
    assert differences(structures(8)[1:8:2], list(Structures(mr.open_collection(out)))) == []
    numbers = tmp_path / "numbers.txt"
    numbers.write_text("3\n0\n")
    invoke("convert", out, tmp_path / "back.xyz", "--indices", numbers)
    assert differences([structures(8)[7], structures(8)[1]], read(tmp_path / "back.xyz")) == []
    invoke("convert", out, tmp_path / "less.mrec.lmdb", "--frames", "1:3")
    assert mr.open_collection(tmp_path / "less.mrec.lmdb").index["molecule_id"].tolist() == [1, 2]


def test_keys_heads_index_and_precision_are_taken(train: Path, tmp_path: Path) -> None:
    out = tmp_path / "data.mrec.lmdb"
    options = ["--graph-key", "name=smiles", "--head", "dft", "--index", "name", "--precision", "fx=1e-3"]
    invoke("convert", train, out, "--units", "ase", *options)
    collection = mr.open_collection(out)
    assert collection.index["name"].tolist() == [f"C{place}" for place in range(5)]
    assert collection.schema.blocks["atoms"].columns["fx"].precision == 1e-3
    assert {configuration.head for configuration in read_configurations(out)} == {"dft"}
    invoke("convert", out, tmp_path / "back.xyz")
    assert all(raw.graph["head"] == "dft" for raw in read(tmp_path / "back.xyz"))


def test_a_key_of_another_name_is_pointed_out(tmp_path: Path) -> None:
    source = tmp_path / "in.xyz"
    source.write_text("1\nProperties=species:S:1:pos:R:3:forces:R:3 energy=1.0\nH 0 0 0 1 2 3\n")
    result = invoke("convert", source, tmp_path / "data.mrec.lmdb", "--units", "ase")
    assert "the files have 'energy': --energy-key energy takes it" in " ".join(result.output.split())
    options = ("--units", "ase", "--energy-key", "energy", "--forces-key", "forces", "--overwrite")
    result = invoke("convert", source, tmp_path / "data.mrec.lmdb", *options)
    assert "energy: 1 of 1 structures have it, under 'energy'" in result.output
    assert mr.open_collection(tmp_path / "data.mrec.lmdb").batch([0])["meta/pe"].tolist() == [1.0]


def test_the_result_is_printed_as_json(train: Path, tmp_path: Path) -> None:
    result = invoke("convert", train, tmp_path / "data.mrec.lmdb", "--units", "length=nm,energy=kJ/mol", "--json")
    facts = json.loads(result.stdout)
    assert facts["records"] == 5
    assert mr.open_collection(tmp_path / "data.mrec.lmdb").units["length"] == "nm"


# -- ASE --------------------------------------------------------------------------------------------------------------


def atoms_of(place: int) -> Atoms:
    atoms = Atoms("OH", positions=[[0.0, 0.0, place / 3], [0.0, 0.1, 1.0]], cell=[4.0, 5.0, 6.0], pbc=True)
    atoms.info["label"] = "one"
    atoms.set_tags([place, 1])
    atoms.set_constraint(FixAtoms([1]))
    atoms.calc = SinglePointCalculator(atoms, energy=-place / 7, forces=np.full((2, 3), place / 9))
    return atoms


@pytest.mark.parametrize("suffix", [".db", ".aselmdb"])
def test_a_database_of_ase_becomes_a_collection(suffix: str, tmp_path: Path) -> None:
    if suffix == ".aselmdb":
        pytest.importorskip("ase_db_backends")
    source = tmp_path / f"set{suffix}"
    with connect(str(source)) as database:
        for place in range(3):
            database.write(atoms_of(place), relaxed=bool(place), name=f"m{place}", data={"curve": np.arange(3.0)})
    out = tmp_path / "data.mrec.lmdb"
    done = convert_to_collection([source], out, key_spec=_LITERAL, index=["name"])
    assert done.frames == 3
    collection = mr.open_collection(out)
    assert collection.units["length"] == "angstrom"
    assert collection.index["name"].tolist() == ["m0", "m1", "m2"]
    batch = collection.batch([0, 1, 2])
    assert batch["meta/pe"].tolist() == [-place / 7 for place in range(3)]
    assert batch["atoms/fy"].tolist() == [place / 9 for place in range(3) for _ in range(2)]
    assert batch["atoms/free"].tolist() == [True, False] * 3
    found = Structures(collection)[2]
    assert found.graph["relaxed"] == True  # noqa: E712 - a database may hold it as an integer
    assert found.graph["curve"].tolist() == [0.0, 1.0, 2.0]
    assert found.atom["tags"].tolist() == [2, 1]


def test_a_trajectory_of_ase_becomes_a_collection(tmp_path: Path) -> None:
    from ase.io import write

    write(tmp_path / "run.traj", [atoms_of(place) for place in range(3)])
    convert_to_collection([tmp_path / "run.traj"], tmp_path / "data.mrec.lmdb", key_spec=_LITERAL)
    configurations = read_configurations(tmp_path / "data.mrec.lmdb")
    assert [configuration.properties["energy"] for configuration in configurations] == [0.0, -1 / 7, -2 / 7]


def test_what_extended_xyz_has_no_text_for_is_noted_or_refused(tmp_path: Path) -> None:
    with connect(str(tmp_path / "set.db")) as database:
        database.write(atoms_of(1))
    out = tmp_path / "data.mrec.lmdb"
    convert_to_collection([tmp_path / "set.db"], out)
    done = export_collection([out], tmp_path / "back.xyz")
    assert [str(note) for note in done.notes] == [
        "label 'tags': was int64 [1, 1] and reads back as int32 [1, 1], first in structure 0"
    ]
    with refused("reject-lossy-conversion", "'tags'"):
        export_collection([out], tmp_path / "strict.xyz", strict=True)
    assert not (tmp_path / "strict.xyz").exists()


def test_a_label_without_a_text_is_left_out_and_noted_once(tmp_path: Path) -> None:
    from ase.io import write

    images = [atoms_of(place) for place in range(3)]
    for image in images:
        image.calc.results["born_effective_charges"] = np.zeros((2, 3, 3))
    write(tmp_path / "run.traj", images)
    out = tmp_path / "data.mrec.lmdb"
    convert_to_collection([tmp_path / "run.traj"], out, key_spec=_LITERAL)
    done = export_collection([out], tmp_path / "back.xyz")
    no_text = "extended XYZ has no text for a 3-dimensional array of float64"
    assert [str(note) for note in done.notes] == [
        f"label 'born_effective_charges': is left out; {no_text} (3 times)",
        "label 'tags': was int64 [0, 1] and reads back as int32 [0, 1], first in structure 0",
    ]
    assert [raw.graph_results["energy"] for raw in read(tmp_path / "back.xyz")] == [0.0, -1 / 7, -2 / 7]


# -- collections that say nothing of labels ---------------------------------------------------------------------------


def write_plain(path: Path, **meta: Any) -> Path:
    atoms = mr.Block({"x": [0.0, 1.0], "y": [0.0, 0.0], "z": [0.0, 0.0], "q": [1.0, 2.0], "k": [1, 2]})
    atoms.set_validity("q", [True, False])
    atoms.set_validity("k", [True, False])
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H"], "charge": [0.5, -0.5]}), "bonds": mr.Block(rows=0)})
    box = mr.Box(np.eye(3) * 9, origin=[1.0, 2.0, 3.0])
    frames = [mr.Frame({"atoms": atoms}, meta={"pe": energy, **meta}, box=box) for energy in (1.0, 2.0)]
    with mr.CollectionWriter(path, UNITS) as writer:
        writer.append(frames, meta={"note": "first", "molrec_version": 1}, system=system, time=[0.0, 0.5], step=[0, 5])
        writer.append(None, system=system)
    return path


def test_what_a_plain_collection_loses_as_extended_xyz_is_noted(tmp_path: Path) -> None:
    source = write_plain(tmp_path / "own.mrec.lmdb", REF_energy=7.0)
    done = export_collection([source], tmp_path / "own.xyz")
    assert {note.subject for note in done.notes} == {
        "record without frames",
        "block 'bonds'",
        "origin of the box",
        "column 'k'",
        "column 'q'",
        "per-step 'REF_energy'",
    }
    first, second = read(tmp_path / "own.xyz")
    assert first.graph == {"REF_energy": 1.0, "note": "first", "time": 0.0}
    assert (second.graph["step"], second.graph["time"]) == (5, 0.5)
    assert first.atom["REF_charges"].tolist() == [0.5, -0.5]
    assert first.atom["q"][0] == 1.0
    assert np.isnan(first.atom["q"][1])
    with refused("reject-lossy-conversion", "without frames"):
        export_collection([source], tmp_path / "strict.xyz", strict=True)


def test_a_plain_collection_in_other_units_is_refused(tmp_path: Path) -> None:
    with mr.CollectionWriter(tmp_path / "own.mrec.lmdb", {"length": "nm"}) as writer:
        writer.append(mr.Frame({"atoms": mr.Block({"x": [0.0], "y": [0.0], "z": [0.0], "element": ["H"]})}))
    with refused("reject-units", "length is in nm", kind=mr.FormatError):
        export_collection([tmp_path / "own.mrec.lmdb"], tmp_path / "own.xyz")


def test_atoms_without_elements_are_no_structure(tmp_path: Path) -> None:
    with mr.CollectionWriter(tmp_path / "own.mrec.lmdb", UNITS) as writer:
        writer.append(mr.Frame({"atoms": mr.Block({"x": [0.0], "y": [0.0], "z": [0.0]})}))
    with refused("reject-labels", "record 0, frame 0", "atomic_number", kind=mr.FormatError):
        export_collection([tmp_path / "own.mrec.lmdb"], tmp_path / "own.xyz")


def test_an_output_in_the_folder_of_the_inputs_is_no_input(tmp_path: Path) -> None:
    write_record(tmp_path / "a.mrec", 1.0)
    convert_to_collection([tmp_path], tmp_path / "out.mrec.lmdb")
    write_record(tmp_path / "b.mrec", 2.0)
    assert convert_to_collection([tmp_path], tmp_path / "out.mrec.lmdb", overwrite=True).frames == 2
    with refused("reject-mixed-inputs", "records and collections"):
        convert_to_collection([tmp_path], tmp_path / "other.mrec.lmdb")


def test_odd_files_are_converted(tmp_path: Path) -> None:
    (tmp_path / "flat.xyz").write_text(
        '1\nLattice="1 0 0 2 0 0 0 0 0" Properties=species:S:1:pos:R:3 REF_energy=1\nH 0 0 0\n'
    )
    (tmp_path / "long.xyz").write_text(f"1\nnote={'x' * 60_000} {'k' * 300}=1\nH 0 0 0\n")
    for name in ("flat.xyz", "long.xyz"):
        convert_to_collection([tmp_path / name], tmp_path / "data.mrec.lmdb", units=UNITS, overwrite=True)
        assert (
            differences(read(tmp_path / name), list(Structures(mr.open_collection(tmp_path / "data.mrec.lmdb")))) == []
        )


def test_an_index_column_may_be_named_by_the_files_key(train: Path, tmp_path: Path) -> None:
    convert_to_collection([train], tmp_path / "data.mrec.lmdb", units=UNITS, index=["REF_energy"])
    assert mr.open_collection(tmp_path / "data.mrec.lmdb").index["REF_energy"].tolist() == [-p / 3 for p in range(5)]


# -- records ----------------------------------------------------------------------------------------------------------


def write_record(path: Path, shift: float, **options: Any) -> Path:
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H"]})}, meta={"units": UNITS})
    run = [mr.Frame({"atoms": mr.Block({"x": [shift, step]})}, meta={"pe": shift + step}) for step in (0.0, 1.0)]
    return mr.write(path, **{"system": system, "trajectory": run, "meta": {"note": path.name}, **options})


def test_a_folder_of_records_becomes_a_collection_and_a_record_again(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    write_record(folder / "b.mrec.zip", 2.0)
    write_record(folder / "a.mrec", 1.0)
    out = tmp_path / "data.mrec.lmdb"
    assert "2 records" in invoke("convert", folder, out, "--index", "note").output
    collection = mr.open_collection(out)
    assert collection.units["force"] == "eV/angstrom"
    assert collection.index["note"].tolist() == ["a.mrec", "b.mrec.zip"]
    assert [frame["atoms"]["x"].tolist() for frame in collection.frames(1)] == [[2.0, 0.0], [2.0, 1.0]]
    invoke("convert", out, tmp_path / "one.mrec", "--frames", "1")
    with mr.open(tmp_path / "one.mrec") as record, mr.open(folder / "b.mrec.zip") as original:
        assert record.trajectory is not None
        assert original.trajectory is not None
        assert list(record.trajectory) == list(original.trajectory)
        assert record.trajectory.steps.tolist() == original.trajectory.steps.tolist()
        assert record.system is not None
        assert record.system["atoms"]["element"].tolist() == ["O", "H"]
        assert dict(record.system.meta["units"]).items() >= UNITS.items()
        assert record.meta["note"] == "b.mrec.zip"


def test_frames_and_systems_alone_become_records(tmp_path: Path) -> None:
    frame = mr.Frame({"atoms": mr.Block({"x": [1.0]})}, meta={"pe": 2.0, "units": UNITS})
    mr.write(tmp_path / "a.mrec", frame=frame)
    mr.write(tmp_path / "b.mrec", system=mr.Frame({"atoms": mr.Block({"element": ["H"]})}, meta={"units": UNITS}))
    convert_to_collection([tmp_path / "a.mrec", tmp_path / "b.mrec"], tmp_path / "data.mrec.lmdb")
    collection = mr.open_collection(tmp_path / "data.mrec.lmdb")
    assert collection.index["has_trajectory"].tolist() == [True, False]
    assert collection.frames(0)[0].meta["pe"] == 2.0
    invoke("convert", tmp_path / "data.mrec.lmdb", tmp_path / "b2.mrec", "--frames", "1")
    with mr.open(tmp_path / "b2.mrec") as record:
        assert record.trajectory is None
        assert record.system is not None
        assert record.system["atoms"]["element"].tolist() == ["H"]


def test_foreign_files_become_records_with_their_steps(tmp_path: Path) -> None:
    dump = (
        "ITEM: TIMESTEP\n{}\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS pp pp pp\n0 1\n0 1\n0 1\n"
        "ITEM: ATOMS id type x y z\n1 1 {} 0 0\n"
    )
    for name in ("a.lammpstrj", "b.lammpstrj"):
        (tmp_path / name).write_text("".join(dump.format(step, step / 4) for step in (5, 9)))
    out = tmp_path / "data.mrec.lmdb"
    with refused("reject-no-units", "a.lammpstrj"):
        convert_to_collection([tmp_path / "a.lammpstrj", tmp_path / "b.lammpstrj"], out)
    convert_to_collection([tmp_path / "a.lammpstrj", tmp_path / "b.lammpstrj"], out, units={"length": "angstrom"})
    run = mr.open_collection(out)[1].trajectory
    assert run is not None
    assert run.steps.tolist() == [5, 9]
    assert run[1]["atoms"]["x"].tolist() == [2.25]


def test_records_that_do_not_agree_are_refused(tmp_path: Path) -> None:
    write_record(tmp_path / "a.mrec", 1.0)
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H"]})}, meta={"units": {"length": "nm"}})
    write_record(tmp_path / "b.mrec", 1.0, system=system)
    with refused("reject-mixed-inputs", "b.mrec", "nm"):
        convert_to_collection([tmp_path / "a.mrec", tmp_path / "b.mrec"], tmp_path / "data.mrec.lmdb")
    assert not (tmp_path / "data.mrec.lmdb").exists()


def test_sections_without_a_place_are_noted(tmp_path: Path) -> None:
    write_record(tmp_path / "a.mrec", 1.0, status={"state": "succeeded"})
    done = convert_to_collection([tmp_path / "a.mrec"], tmp_path / "data.mrec.lmdb")
    assert [note.subject for note in done.notes] == ["section 'status' of " + str(tmp_path / "a.mrec")]


# -- collections ------------------------------------------------------------------------------------------------------


def test_collections_are_put_together(train: Path, valid: Path, tmp_path: Path) -> None:
    for source in (train, valid):
        convert_to_collection([source], source.with_suffix(".mrec.lmdb"), units=UNITS)
    out = tmp_path / "data.mrec.lmdb"
    convert_to_collection([train.with_suffix(".mrec.lmdb"), valid.with_suffix(".mrec.lmdb")], out)
    assert differences(structures(8), list(Structures(mr.open_collection(out)))) == []
    assert mr.open_collection(out).index["molecule_id"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_collections_that_do_not_agree_are_refused(train: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.mrec.lmdb", tmp_path / "b.mrec.lmdb"
    convert_to_collection([train], first, units=UNITS)
    convert_to_collection([train], second, units={"length": "nm"})
    with refused("reject-mixed-inputs", "a.mrec.lmdb", "b.mrec.lmdb", "units"):
        convert_to_collection([first, second], tmp_path / "data.mrec.lmdb")
    convert_to_collection([train], second, units=UNITS, key_spec=_LITERAL, overwrite=True)
    with refused("reject-mixed-inputs", "labels"):
        convert_to_collection([first, second], tmp_path / "data.mrec.lmdb")


# -- shards -----------------------------------------------------------------------------------------------------------


def test_shards_are_the_collection(train: Path, valid: Path, tmp_path: Path) -> None:
    more = write_xyz(tmp_path / "more.xyz", structures(2, 8))
    out = tmp_path / "data"
    assert "10 records" in invoke("convert", train, valid, more, out, "--shards", "2", "--units", "ase").output
    assert [path.name for path in sorted(out.iterdir())] == [
        "shard-00000-of-00002.mrec.lmdb",
        "shard-00001-of-00002.mrec.lmdb",
    ]
    assert [len(mr.open_collection(path)) for path in sorted(out.iterdir())] == [5, 5]
    assert differences(structures(10), list(Structures(mr.open_collection(out)))) == []
    invoke("convert", out, tmp_path / "back.xyz")
    assert differences(structures(10), read(tmp_path / "back.xyz")) == []


def test_shards_of_labels_that_only_some_files_have_are_one_declaration(train: Path, tmp_path: Path) -> None:
    plain = write_xyz(tmp_path / "plain.xyz", [structure(2)])
    convert_to_collection([train, plain], tmp_path / "data", units=UNITS, shards=2)
    collection = mr.open_collection(tmp_path / "data")
    assert collection.batch([5])["atoms/fx/validity"].tolist() == [False, False]
    assert differences([*structures(5), structure(2)], list(Structures(collection))) == []


@pytest.mark.parametrize("shards", [0, 3])
def test_a_number_of_shards_that_files_do_not_make_is_refused(
    train: Path, valid: Path, tmp_path: Path, shards: int
) -> None:
    with refused("reject-mixed-inputs", f"{shards} shards of 2 files"):
        convert_to_collection([train, valid], tmp_path / "data", units=UNITS, shards=shards)
    assert not (tmp_path / "data").exists()


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_units_have_to_be_stated(train: Path, tmp_path: Path) -> None:
    with refused("reject-no-units", "train.xyz", "--units"):
        convert_to_collection([train], tmp_path / "data.mrec.lmdb")


def test_what_is_there_stays(train: Path, tmp_path: Path) -> None:
    out = tmp_path / "data.mrec.lmdb"
    convert_to_collection([train], out, units=UNITS)
    content = out.read_bytes()
    with refused("reject-existing-path", "data.mrec.lmdb"):
        convert_to_collection([train], out, units=UNITS)
    assert out.read_bytes() == content
    (tmp_path / "back.xyz").write_text("mine")
    with refused("reject-existing-path", "back.xyz"):
        export_collection([out], tmp_path / "back.xyz")
    assert (tmp_path / "back.xyz").read_text() == "mine"


def test_inputs_of_two_kinds_are_refused(train: Path, tmp_path: Path) -> None:
    write_record(tmp_path / "a.mrec", 1.0)
    with refused("reject-mixed-inputs", "labelled structures and records"):
        convert_to_collection([train, tmp_path / "a.mrec"], tmp_path / "data.mrec.lmdb", units=UNITS)


def test_a_damaged_file_is_refused_and_nothing_is_left(train: Path, tmp_path: Path) -> None:
    train.write_text(train.read_text() + "3\nno more\n")
    with refused("reject-malformed-source", "train.xyz", "frame 5", kind=mr.FormatError):
        convert_to_collection([train], tmp_path / "data.mrec.lmdb", units=UNITS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.xyz"]


def test_an_index_column_nobody_has_is_refused(train: Path, tmp_path: Path) -> None:
    with refused("reject-index-column", "'charge_state'", "smiles"):
        convert_to_collection([train], tmp_path / "data.mrec.lmdb", units=UNITS, index=["charge_state"])


def test_a_precision_of_no_column_is_refused(train: Path, tmp_path: Path) -> None:
    with refused("reject-undeclared", "'q'"):
        convert_to_collection([train], tmp_path / "data.mrec.lmdb", units=UNITS, precision={"q": 1e-3})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"select": slice(-2, None)}, "forwards"),
        ({"indices": [9]}, "none of number 9"),
        ({"indices": [0], "select": slice(1, 2)}, "not by both"),
    ],
)
def test_a_choice_that_is_none_is_refused(train: Path, tmp_path: Path, options: dict[str, Any], words: str) -> None:
    convert_to_collection([train], tmp_path / "data.mrec.lmdb", units=UNITS)
    with refused("reject-frame-selection", words):
        convert_to_collection([tmp_path / "data.mrec.lmdb"], tmp_path / "other.mrec.lmdb", **options)


def test_a_collection_is_written_as_extended_xyz_or_one_record(train: Path, tmp_path: Path) -> None:
    out = tmp_path / "data.mrec.lmdb"
    convert_to_collection([train], out, units=UNITS)
    with refused("reject-unknown-format", "extended XYZ"):
        export_collection([out], tmp_path / "back.traj")
    with refused("reject-frame-selection", "5 are chosen"):
        export_collection([out], tmp_path / "back.mrec")
    with refused("reject-mixed-inputs", "2 collections"):
        export_collection([out, out], tmp_path / "back.xyz")


def test_an_option_that_means_nothing_is_refused(train: Path, tmp_path: Path) -> None:
    result = invoke("convert", train, tmp_path / "data.mrec.lmdb", "--profile", "live", code=2)
    assert "--profile" in result.output
    result = invoke("convert", train, tmp_path / "run.mrec", "--energy-key", "e", code=2)
    assert "--energy-key" in result.output
    result = invoke("convert", train, tmp_path / "data.mrec.lmdb", "--units", "length", code=2)
    assert "length=angstrom" in result.output


def test_workers_survey_and_write_the_same_shards(train: Path, valid: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    for scheduler, name in ((None, "here"), ("local", "there")):
        convert_to_collection([train, valid], tmp_path / name, units=UNITS, shards=2, scheduler=scheduler)
    for shard in sorted(path.name for path in (tmp_path / "here").iterdir()):
        assert (tmp_path / "there" / shard).read_bytes() == (tmp_path / "here" / shard).read_bytes()


def test_a_damaged_file_is_named_by_whoever_surveys_it(train: Path, valid: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    valid.write_text(valid.read_text() + "3\nno more\n")
    with refused("reject-malformed-source", "valid.xyz", "frame 3", kind=mr.FormatError):
        convert_to_collection([train, valid], tmp_path / "data", units=UNITS, scheduler="local")
    assert not (tmp_path / "data").exists()
