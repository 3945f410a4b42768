"""Conformance ids of collections that no other module has a test for, and the check that none is without one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import molrec as mr

from .collections_made import UNITS, atoms, frame, keys, run_of, system_of, write
from .robustness.runs import content

#: The ids of the specification's collection cases.
IDS = (
    "precision-in-collection", "collection-forcefield", "system-typed-meta-lmdb", "aligned-in-collection",
    "reject-aligned-shares-system-name", "no-system", "no-trajectory", "zero-frame-trajectory",
    "subset-of-declaration", "reject-schema-differs", "reject-system-row-count", "reject-no-units",
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "set.mrec.lmdb"


def document(value: bytes) -> dict[str, object]:
    """Return the header of frame bytes, read by plain JSON."""
    assert value[:4] == b"MRF1"
    found: dict[str, object] = json.loads(value[8 : 8 + int.from_bytes(value[4:8], "little")])
    return found


def test_no_system(path: Path) -> None:
    """A record of a trajectory alone: no key, None, and frames that are all there is."""
    write(path, [frame(2), frame(2, 5.0)], frame(3))
    with mr.open_collection(path) as collection:
        for number, count in enumerate((2, 1)):
            record = collection[number]
            assert record.system is None
            assert len(run_of(record)) == count
            assert record.joined() == run_of(record)[0]
        assert collection.index["n_atoms"].tolist() == [2, 3]
        assert [content(found) for found in collection.frames(0)] == [content(frame(2)), content(frame(2, 5.0))]
    assert not [key for key in keys(path) if key[:1] == b"s"]


def test_no_trajectory(path: Path) -> None:
    """A record of a system alone, between others: no frame of its own, and no trajectory rather than an empty one."""
    system = mr.Frame({"atoms": atoms(4)}, meta={"smiles": "O"}, box=mr.Box(np.eye(3) * 9))
    write(path, frame(2), {"record": None, "system": system}, frame(3))
    with mr.open_collection(path) as collection:
        record = collection[1]
        assert record.trajectory is None
        assert collection.frames(1) == []
        assert content(system_of(record)) == content(system)
        assert content(record.joined()) == content(system)
        assert collection.index["n_frames"].tolist() == [1, 0, 1]
        assert collection.index["has_trajectory"].tolist() == [True, False, True]
        assert collection.index["n_atoms"].tolist() == [2, 4, 3]
        assert collection.batch([1])["/"].tolist() == [0, 0]
    stored = keys(path)
    assert sorted(key for key in stored if key[:1] == b"f") == [b"f" + number.to_bytes(8, "big") for number in (0, 1)]
    assert document(stored[b"s" + (1).to_bytes(8, "big")])["meta_types"] == {"smiles": "string"}


def test_zero_frame_trajectory(path: Path) -> None:
    """A trajectory without frames is one all the same, with a system and without."""
    write(path, [], {"record": [], "system": mr.Frame({"atoms": atoms(2)})}, frame(1))
    with mr.open_collection(path) as collection:
        for number in (0, 1):
            run = run_of(collection[number])
            assert (len(run), list(run), run.steps.tolist(), run.times) == (0, [], [], None)
            assert run.meta == {} or all(len(values) == 0 for values in run.meta.values())
        assert collection.index["n_frames"].tolist() == [0, 0, 1]
        assert collection.index["has_trajectory"].tolist() == [True, True, True]
        assert collection.index["first_frame"].tolist() == [0, 0, 0]
        assert collection.index["n_atoms"].tolist() == [0, 2, 1]
        with pytest.raises(IndexError):
            run_of(collection[0])[0]
    assert [finding for finding in mr.validate(path) if finding.severity == "error"] == []


def test_units_are_stated_once(path: Path) -> None:
    write(path, frame(1))
    assert json.loads(keys(path)[b"meta"])["collection"]["units"] == UNITS


def test_every_id_is_a_test_by_its_name() -> None:
    tests = "\n".join(page.read_text() for page in Path(__file__).parent.glob("test_collection*.py"))
    named = set(re.findall(r"^def test_(\w+)\(", tests, flags=re.MULTILINE))
    assert {identifier.replace("-", "_") for identifier in IDS} - named == set()
