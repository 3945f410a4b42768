"""Collections on the command line: info, validate, split, stats."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import molrec as mr
from molrec.cli.app import app
from molrec.datasets.files import collection_files, is_collection, stored_bytes
from molrec.datasets.inspection import inspect_collection
from molrec.datasets.split import read_indices

from .collections_made import UNITS, atoms, forcefield, frame, key, tampered, write
from .labelled_structures import collection, isolated, structure


def invoke(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write forty labelled structures of ten molecules and two isolated atoms."""
    rng = np.random.default_rng(0)
    records = []
    for number in range(40):
        symbols = ["O", "H", "H", *"C" * (number % 4)]
        forces = rng.normal(size=(len(symbols), 3)) if number % 10 else None
        box = mr.Box(np.eye(3) * 9) if number % 2 else None
        labelled = structure(symbols, -10.0 * len(symbols) + rng.normal(), forces, box=box)
        records.append((labelled, {"config_type": "a", "molecule": number // 4}))
    for symbol, energy in (("H", -13.5), ("O", -2042.0)):
        atom, meta = isolated(symbol, energy)
        records.append((atom, {**meta, "molecule": None}))
    target = tmp_path / "data.mrec.lmdb"
    collection(target, records, index=["molecule"], meta={"source": "tests"})
    return target


# -- what is a collection ---------------------------------------------------------------------------------------------


def test_collections_are_told_from_records_by_content_then_by_name(tmp_path: Path, path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_bytes(path.read_bytes())
    (tmp_path / "text.mrec.lmdb").write_bytes(b"no collection")
    (tmp_path / "text").write_bytes(b"no collection")
    mr.write(tmp_path / "run.mrec", frame=frame())
    (tmp_path / "run.mrec" / "beside.mrec.lmdb").write_bytes(path.read_bytes())
    folder = tmp_path / "shards"
    folder.mkdir()
    assert not is_collection(folder)
    (folder / "a.mrec.lmdb").write_bytes(path.read_bytes())
    for place in (path, str(path), bare, tmp_path / "text.mrec.lmdb", tmp_path / "none.mrec.lmdb", folder):
        assert is_collection(place), place
    assert is_collection(folder / "*.lmdb")
    others: list[Any] = [
        tmp_path / "text",
        tmp_path / "run.mrec",
        tmp_path / "none",
        {},
        "https://host/run.mrec",
        "*.xyz",
    ]
    for other in others:
        assert not is_collection(other), other
    assert collection_files(folder) == [folder / "a.mrec.lmdb"]
    assert stored_bytes(folder) == path.stat().st_size
    # an LMDB file of another program
    foreign = tampered(bare, lambda file: file.delete(b"meta"))
    assert not is_collection(foreign)


# -- info -------------------------------------------------------------------------------------------------------------


def test_info_shows_what_a_collection_holds(path: Path) -> None:
    lines = invoke("info", path).stdout.splitlines()
    size = path.stat().st_size
    assert lines[0].startswith(f"{path}  collection, ")
    assert f"42 records, 42 frames, 182 atoms, {size / 182:.1f} bytes per atom" in lines[1]
    text = "\n".join(lines)
    for words in (
        "units  mass amu, charge e, length angstrom, energy eV, force eV/angstrom",
        'source = "tests"',
        "fx f64  null in 16 rows",
        "x f64\n",
        "atomic_number u64",
        "molecule i64  10 distinct, 2 null",
        "config_type  in all records",
    ):
        assert words in text
    assert re.search(r"pe f64  -2042 to -\d+", text)
    assert "force field" not in text


def test_info_as_json(path: Path) -> None:
    facts = json.loads(invoke("info", path, "--json").stdout)
    assert facts == inspect_collection(path)
    assert facts["form"] == "collection"
    assert facts["files"] == [{"path": str(path), "bytes": path.stat().st_size}]
    assert (facts["records"], facts["frames"], facts["atoms"]) == (42, 42, 182)
    assert facts["blocks"]["atoms"]["columns"]["fx"] == {
        "dtype": "f64", "trailing": [], "nullable": True, "precision": None, "null_rows": 16,
    }  # fmt: skip
    assert facts["per_step"]["pe"]["tag"] == "f64"
    assert (facts["per_step"]["pe"]["present"], facts["per_step"]["pe"]["absent"]) == (42, 0)
    assert facts["index"]["molecule"] == {"dtype": "i64", "nulls": 2, "distinct": 10}
    assert facts["record_meta"] == {"config_type": 42, "molecule": 42}
    assert facts["system"] is facts["forcefield"] is None


def test_info_of_systems_force_fields_precision_and_missing_values(tmp_path: Path) -> None:
    precise = atoms(2)
    precise.set_precision("x", 0.25)
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H"]})})
    run = [mr.Frame({"atoms": precise}, meta={"pe": energy, "note": "a"}) for energy in (np.nan, -1.5, 2.0)]
    path = tmp_path / "a.mrec.lmdb"
    write(path, {"record": run, "system": system}, {"record": None, "system": system}, forcefield=forcefield())
    read: list[tuple[int, int]] = []
    facts = inspect_collection(path, lambda *now: read.append(now))
    assert read == [(2, 2)]
    assert facts["atoms"] == 6
    assert facts["per_step"]["pe"] == {"tag": "f64", "present": 2, "absent": 1, "least": -1.5, "most": 2.0}
    assert facts["per_step"]["note"] == {"tag": "string", "present": 3, "absent": 0}
    assert facts["system"]["blocks"]["atoms"] == {"rows": 2, "columns": {"element": {"dtype": "string"}}}
    assert facts["forcefield"]["tables"] == {"bond.harmonic": 1}
    text = invoke("info", path).stdout
    for words in ("x f64  precision 0.25", "pe f64  -1.5 to 2, in 2 of 3 frames", "force field  toy", "element string"):
        assert words in text


def test_info_of_shards_and_of_nothing(tmp_path: Path, path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.mrec.lmdb").write_bytes(path.read_bytes())
    facts = json.loads(invoke("info", folder, "--json").stdout)
    assert (facts["form"], facts["records"], facts["bytes"]) == ("shards", 84, 2 * path.stat().st_size)
    assert "collection of 2 shards" in invoke("info", folder).stdout
    write(tmp_path / "empty.mrec.lmdb")
    assert "0 records, 0 frames, 0 atoms" in invoke("info", tmp_path / "empty.mrec.lmdb").stdout


def test_what_is_no_collection_is_told_in_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mrec.lmdb"
    broken.write_bytes(b"text")
    for arguments in (
        ("info", broken),
        ("stats", broken),
        ("split", broken, "--fraction", 0.1, "--seed", 0),
        ("stats", tmp_path / "none.mrec.lmdb"),
        ("stats", tmp_path / "*.mrec.lmdb.none"),
    ):
        result = invoke(*arguments, code=2)
        assert result.stdout == ""
        (line,) = result.stderr.splitlines()
        assert re.fullmatch(r"error: .*\[reject-(not-a-collection|no-shards)\]", line)


# -- validate ---------------------------------------------------------------------------------------------------------


def test_validate_lists_the_findings_of_a_collection(path: Path) -> None:
    assert invoke("validate", path).stdout == f"{path}: no findings\n"
    tampered(path, lambda file: (file.put(key("r", 3), b"{"), file.delete(key("f", 7)), file.put(b"other", b"")))
    result = invoke("validate", path, code=1)
    assert "record 3, meta" in result.stdout
    assert "[reject-malformed-json]" in result.stdout
    assert "record 7, frame 0" in result.stdout
    assert "[unknown-key]" in result.stdout
    document = json.loads(invoke("validate", path, "--json", code=1).stdout)
    assert document["valid"] is False
    assert [found["rule"] for found in document["findings"]] == [
        "reject-malformed-json", "reject-missing-key", "unknown-key",
    ]  # fmt: skip


def test_a_warning_about_a_collection_leaves_the_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "a.mrec.lmdb"
    with mr.CollectionWriter(path, units={"energy": "eV"}) as writer:
        writer.append(frame())
    assert "[unit-not-stated]" in invoke("validate", path).stdout


# -- split ------------------------------------------------------------------------------------------------------------


def test_split_writes_index_files(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    lines = invoke("split", path, "--fraction", 0.25, "--seed", 42, "--output", folder).stdout.splitlines()
    assert lines == [
        f"{path}: 42 records",
        "2 isolated atoms stay in train, whatever the fractions",
        f"train  32 (76.2 %)  {folder / 'train_indices_42.txt'}",
        f"valid  10 (23.8 %)  {folder / 'valid_indices_42.txt'}",
    ]
    train, valid = (read_indices(folder / f"{name}_indices_42.txt", 42) for name in ("train", "valid"))
    assert train[:2].tolist() == [40, 41]
    assert sorted([*train, *valid]) == list(range(42))
    order = np.arange(40)
    np.random.default_rng(42).shuffle(order)
    assert valid.tolist() == order[-10:].tolist()


def test_split_by_a_column_as_json(path: Path, tmp_path: Path) -> None:
    arguments = ("--fractions", "train=0.6, valid=0.2,test=0.1", "--seed", 1, "--by", "molecule", "--prefix", "set")
    document = json.loads(invoke("split", path, *arguments, "--output", tmp_path, "--json").stdout)
    assert (document["records"], document["groups"], document["by"]) == (42, 10, "molecule")
    assert document["isolated_atoms"] == [40, 41]
    assert document["unused"] == 4
    parts = {name: read_indices(part["file"]) for name, part in document["parts"].items()}
    assert {name: part.size for name, part in parts.items()} == {"train": 26, "valid": 8, "test": 4}
    assert Path(document["parts"]["test"]["file"]).name == "set_test_indices_1.txt"
    molecules = [{number // 4 for number in part.tolist() if number < 40} for part in parts.values()]
    assert sum(map(len, molecules)) == len(set.union(*molecules)) == 9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "say one of"),
        (("--fraction", 0.1, "--fractions", "valid=0.1"), "say one of"),
        (("--fractions", "valid"), "PART=FRACTION"),
        (("--fractions", "valid=0.1,valid=0.2"), "PART=FRACTION"),
        (("--fractions", "valid=much"), "'much' is no number"),
        (("--fraction", 1.5), "[reject-split-fractions]"),
        (("--fraction", 0.1, "--by", "smiles"), "[reject-split-column]"),
        (("--fractions", "a=0.01,b=0.01,c=0.97"), "[reject-split-empty]"),
        (("--fraction", 0.1, "--seed", -1), "Invalid value for '--seed'"),
    ],
)
def test_splits_that_are_refused(path: Path, tmp_path: Path, options: tuple[object, ...], words: str) -> None:
    seed = () if "--seed" in options else ("--seed", 0)
    folder = tmp_path / "parts"
    if words == "[reject-split-empty]":
        options = (*options, "--by", "config_type")
    result = invoke("split", path, *seed, *options, "--output", folder, code=2)
    assert words in " ".join(re.sub("[│╭╰─╮╯]", " ", result.stderr).split())
    assert not folder.exists()


def test_split_replaces_nothing_unless_asked(path: Path, tmp_path: Path) -> None:
    arguments = ("split", path, "--fraction", 0.1, "--seed", 0, "--output", tmp_path)
    invoke(*arguments)
    assert "[reject-existing-path]" in invoke(*arguments, code=2).stderr
    invoke(*arguments, "--overwrite")


# -- stats ------------------------------------------------------------------------------------------------------------


def test_stats_in_words(path: Path) -> None:
    text = invoke("stats", path).stdout
    for words in (
        f"{path}: 42 structures, 182 atoms\n",
        "atoms per structure   1 to 6, mean 4.33333",
        "H 81 in 41, C 60 in 30, O 41 in 41 (atoms in structures)",
        "a 40, IsolatedAtom 2",
        "no cell 22, abc 20",
        "pe in all; fx fy fz in 38 of 42; stress in 0 of 42",
        "H -13.5, O -2042 eV",
        "eV/angstrom; rms of ",
        "not unique: compositions of rank 2 for 3 elements leave open H, O",
    ):
        assert words in text, text


def test_stats_as_json_with_histograms(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = invoke("stats", path, "--json", "--plot", tmp_path / "a.png")
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["elements"]["C"] == {"atoms": 60, "structures": 30}
    assert document["units"] == {"mass": "amu", "charge": "e", **UNITS}
    assert document["energy_per_atom"]["count"] == 40
    assert document["reference_energies"]["rank"] == 2
    assert sum(document["histograms"]["atoms_per_structure"]["counts"]) == 42
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "a.png" in result.stderr
    assert "[reject-existing-path]" in invoke("stats", path, "--plot", tmp_path / "a.png", code=2).stderr
    invoke("stats", path, "--plot", tmp_path / "a.png", "--overwrite")


def test_stats_of_the_records_of_an_index_file(path: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen.txt"
    chosen.write_text("41\n0\n1\n")
    text = invoke("stats", path, "--indices", chosen).stdout
    assert "3 structures, 8 atoms" in text
    assert "O -2042 eV" in text
    chosen.write_text("41\n42\n")
    assert "line 2" in invoke("stats", path, "--indices", chosen, code=2).stderr
    assert "No such file" in invoke("stats", path, "--indices", tmp_path / "none", code=2).stderr


def test_stats_of_structures_in_several_frames_and_of_none(tmp_path: Path) -> None:
    path = tmp_path / "a.mrec.lmdb"
    collection(path, [([frame(2), frame(2)], {}), ([frame(2)], {})])
    text = invoke("stats", path).stdout
    assert "3 structures in 2 records, 6 atoms" in text
    assert "elements" not in text
    collection(path, [])
    assert "0 structures, 0 atoms" in invoke("stats", path).stdout
