"""Labelled structures in collections: every label comes back as it was, whatever it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import molrec as mr

pytest.importorskip("mace_core")

from mace_core.data import KeySpecification
from mace_core.data.extxyz_writer import first_difference
from molrec import typedjson
from molrec.interop.label_places import LABELS, LabelTable
from molrec.interop.label_survey import Label, LabelSurvey
from molrec.interop.labelled_records import RecordOfStructure, index_of_labels
from molrec.interop.labelled_sources import LabelledSource
from molrec.interop.structures import Structures

from .collections_made import document_changed
from .refusals import refused
from .structures_made import UNITS, golden_files, raw_frames, real_files, structure


def table_of(structures: list[Any], key_spec: KeySpecification | None = None) -> LabelTable:
    survey = LabelSurvey()
    for raw in structures:
        survey.add(raw)
    return LabelTable.from_survey(survey, key_spec or KeySpecification.from_defaults())


def write(path: Path, structures: list[Any], key_spec: KeySpecification | None = None) -> LabelTable:
    table = table_of(structures, key_spec)
    record_of = RecordOfStructure(table)
    with mr.CollectionWriter(
        path,
        UNITS,
        schema=table.schema(),
        meta={LABELS: table.to_document()},
        index=index_of_labels(["config_type"]),
        overwrite=True,
    ) as writer:
        for raw in structures:
            frame, meta = record_of(raw)
            writer.append(frame, meta=meta)
    return table


def differences(path: Path, structures: list[Any]) -> list[str]:
    with mr.open_collection(path) as collection:
        found = list(Structures(collection))
    pairs = zip(structures, found, strict=True)
    return [str(difference) for raw, back in pairs if (difference := first_difference(raw, back)) is not None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "set.mrec.lmdb"


@given(st.lists(raw_frames(), min_size=1, max_size=4))
@settings(max_examples=60)
def test_any_structures_come_back(tmp_path_factory: pytest.TempPathFactory, structures: list[Any]) -> None:
    path = tmp_path_factory.mktemp("set") / "set.mrec.lmdb"
    write(path, structures)
    assert differences(path, structures) == []
    assert [finding for finding in mr.validate(path) if finding.severity == "error"] == []


@pytest.mark.parametrize("source", [*golden_files(), *real_files()], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_come_back(path: Path, source: Path) -> None:
    structures = list(LabelledSource(source, "extxyz").structures())
    write(path, structures)
    assert differences(path, structures) == []


def test_labels_stand_under_canonical_names(path: Path) -> None:
    labelled = structure(
        graph={"REF_energy": np.float64(-3.5), "REF_stress": np.arange(6.0), "smiles": "O", "run": np.int64(7)},
        atom={"REF_forces": np.arange(6.0).reshape(2, 3), "REF_charges": np.array([0.5, -0.5])},
        atom_results={"forces": np.ones((2, 3))},
        cell=np.diag([3.0, 4.0, 5.0]),
        pbc=(True, True, False),
    )
    write(path, [labelled])
    record = mr.open_collection(path)[0]
    assert record.trajectory is not None
    frame = record.trajectory[0]
    assert record.meta == {"smiles": "O"}
    assert dict(frame.meta) == {"pe": -3.5, "stress": (0.0, 1.0, 2.0, 3.0, 4.0, 5.0), "run": 7}
    assert set(frame["atoms"].columns) == {
        *("atomic_number", "x", "y", "z", "fx", "fy", "fz", "charge"),
        "forces",
    }
    assert frame["atoms"]["fz"].tolist() == [2.0, 5.0]
    assert frame.box is not None
    assert np.diag(frame.box.vectors).tolist() == [3.0, 4.0, 5.0]
    assert frame.box.boundary.tolist() == [True, True, False]


def test_a_missing_label_is_null_or_nan_and_said_so(path: Path) -> None:
    labelled = structure(graph={"REF_energy": np.float64(1.0)}, atom={"REF_forces": np.ones((2, 3))})
    write(path, [labelled, structure(1)])
    collection = mr.open_collection(path)
    batch = collection.batch([0, 1])
    assert batch["meta/pe"][0] == 1.0
    assert np.isnan(batch["meta/pe"][1])
    assert batch["atoms/fx/validity"].tolist() == [True, True, False]
    assert collection[1].meta == {"as_read": {"graph/REF_energy": None}}


def test_an_integer_among_reals_is_a_real_in_the_column_and_an_integer_again(path: Path) -> None:
    structures = [structure(graph={"REF_energy": np.float64(1.5)}), structure(graph={"REF_energy": np.int64(-5)})]
    write(path, structures)
    assert mr.open_collection(path).batch([0, 1])["meta/pe"].tolist() == [1.5, -5.0]
    assert differences(path, structures) == []


def test_names_that_are_taken_are_escaped() -> None:
    labelled = structure(
        graph={"units": "eV", "pe": np.float64(1.0), "REF_energy": np.float64(2.0)},
        atom={"mass": np.array([1, 2], dtype=np.int32), "x": np.zeros(2), "a/b": np.zeros(2)},
    )
    table = table_of([labelled])
    assert table.documents[Label("graph", "units")].key == "xyz.units"
    assert table.steps[Label("graph", "REF_energy")].key == "pe"
    assert table.steps[Label("graph", "pe")].key == "xyz.pe"
    assert [place.columns for place in table.columns.values()] == [("xyz.mass",), ("xyz.x",), ("xyz.a%2Fb",)]


def test_a_table_survives_its_document(path: Path) -> None:
    table = write(
        path, [structure(graph={"REF_energy": np.float64(1.0), "note": "é"}, atom={"REF_forces": np.ones((2, 3))})]
    )
    with mr.open_collection(path) as collection:
        assert LabelTable.from_document(collection.meta[LABELS], collection.schema, "here") == table


def test_merged_surveys_are_one_survey() -> None:
    structures = [structure(1, graph={"a": np.float64(1.0)}), structure(3, graph={"a": "text"}), structure(2)]
    whole, first, second = LabelSurvey(), LabelSurvey(), LabelSurvey()
    for raw in structures:
        whole.add(raw)
    first.add(structures[0])
    for raw in structures[1:]:
        second.add(raw)
    first.merge(second)
    assert (first.frames, first.atoms, first.most_atoms) == (3, 6, 3)
    assert first.entries == whole.entries
    assert first.columns == whole.columns


def test_a_structure_with_a_label_that_was_not_surveyed_is_refused() -> None:
    record_of = RecordOfStructure(table_of([structure()]))
    with refused("reject-labels", "'smiles'", "survey"):
        record_of(structure(graph={"smiles": "O"}))
    with refused("reject-labels", "'tags'", "survey"):
        record_of(structure(atom={"tags": np.zeros(2)}))


def test_a_value_without_a_json_form_is_refused() -> None:
    odd = structure(graph={"thing": object()})
    with refused("reject-labels", "'thing'", "no JSON form"):
        RecordOfStructure(table_of([odd]))(odd)


_NO_SUCH_KEY = {"graph_keys": {}, "atom_keys": {}, "steps": [{"meta": "no"}], "documents": [], "columns": []}


@pytest.mark.parametrize("labels", [[], {"steps": []}, _NO_SUCH_KEY])
def test_a_damaged_table_is_refused(path: Path, labels: Any) -> None:
    write(path, [structure()])
    with mr.open_collection(path) as collection:
        meta = {**collection.meta, LABELS: labels}
    spoiled = document_changed(path, collection=meta)
    with refused("reject-labels", "meta: labels is no table", kind=mr.FormatError):
        Structures(mr.open_collection(spoiled))


def test_a_record_that_holds_something_else_is_refused(path: Path) -> None:
    table = table_of([structure(graph={"note": "text"})])
    with mr.CollectionWriter(path, UNITS, schema=table.schema(), meta={LABELS: table.to_document()}) as writer:
        frame, _ = RecordOfStructure(table)(structure())
        writer.append(frame, meta={"as_read": {"cell": {"__ndarray__": [[3, 3], "float64", [0.0] * 9]}}})
    with refused("reject-labels", "record 0 does not hold", kind=mr.FormatError):
        Structures(mr.open_collection(path))[0]


def test_any_collection_of_atoms_is_one_of_structures(path: Path) -> None:
    atoms = mr.Block(
        {"x": [0.0, 1.0], "y": [0.0, 0.0], "z": [0.0, 0.0], "fx": [1.0, 2.0], "fy": [0.0, 0.0], "fz": [0.0, 0.0]}
    )
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H"], "charge": [0.5, -0.5]})})
    with mr.CollectionWriter(path, UNITS) as writer:
        writer.append([mr.Frame({"atoms": atoms}, meta={"pe": energy}) for energy in (1.0, 2.0)], system=system)
        writer.append(None, system=system)
    structures = Structures(mr.open_collection(path))
    assert len(structures) == 2
    assert structures[1].graph == {"REF_energy": 2.0}
    assert structures[1].numbers.tolist() == [8, 1]
    assert structures[1].atom["REF_forces"][:, 0].tolist() == [1.0, 2.0]
    with pytest.raises(IndexError, match="structure 2 of 2"):
        structures[2]


def test_what_has_no_atoms_is_refused(path: Path) -> None:
    with mr.CollectionWriter(path, UNITS) as writer:
        writer.append(mr.Frame({"beads": mr.Block({"x": [0.0]})}))
    with refused("reject-labels", "record 0, frame 0", "no block 'atoms'", kind=mr.FormatError):
        Structures(mr.open_collection(path))[0]


def test_the_document_is_plain_json(path: Path) -> None:
    table = write(path, [structure(graph={"REF_energy": np.float64(1.0)})])
    assert typedjson.parse_json(typedjson.dump_json(table.to_document()), "labels") == table.to_document()
