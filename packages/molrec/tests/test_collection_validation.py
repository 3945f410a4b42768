"""A validator of collections: it finds what is wrong with each value, all at once, and nothing in what is right."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import molrec as mr
from molrec.checks import collection_validation
from molrec.storage.lmdb.frame_bytes import encode_frame

from .collections_made import UNITS, atoms, document_changed, forcefield, frame, key, tampered, write

_SPEC = Path(__file__).resolve().parents[3] / "docs" / "spec"

type Change = Callable[[Any], object]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a test may write its collection."""
    return tmp_path / "set.mrec.lmdb"


def rules(path: Path, severity: str = "error") -> list[str]:
    return [finding.rule for finding in mr.validate(path) if finding.severity == severity]


def written(path: Path) -> Path:
    """Write three records: one frame, three frames beside a system, a system alone."""
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H"]})})
    records: list[Any] = [
        {"record": frame(3, pe=-1.0), "meta": {"config_type": "a"}},
        {"record": [frame(2, float(n), pe=float(n)) for n in range(3)], "system": system, "time": [0.0, 1.0, 2.0]},
        {"record": None, "system": system},
    ]
    with mr.CollectionWriter(path, units={**UNITS, "time": "fs"}, overwrite=True) as writer:
        for record in records:
            writer.append(**record)
    return path


def masked() -> mr.Frame:
    block = mr.Block({"q": [1.0, 2.0, 3.0], "free": np.array([True, False, True])})
    block.set_validity("q", np.array([True, False, True]))
    return mr.Frame({"atoms": block})


def everything() -> list[Any]:
    """Return a record for each thing a collection can hold."""
    precise = atoms(4, 0.5)
    precise.set_precision("x", 1e-3)
    grid = mr.Block({"rho": np.arange(8.0), "name": ["a"] * 8}, structural_shape=(2, 2, 2))
    bonds = mr.Block({"atomi": np.array([0, 1], np.uint64), "atomj": np.array([1, 3], np.uint64)})
    bonds.set_target("atomi", "atoms")
    angles = mr.Block({name: np.array([0], np.uint64) for name in ("atomi", "atomj", "atomk")})
    whole = mr.Frame({"atoms": precise, "grid": grid, "bonds": bonds, "angles": angles, "none": mr.Block()})
    whole.box = mr.Box(np.eye(3))
    return [whole, {"record": [whole, whole]}, {"record": [], "meta": {"a": 1}}]


@pytest.mark.parametrize("shards", [False, True])
def test_nothing_is_found_in_what_is_right(path: Path, tmp_path: Path, shards: bool) -> None:
    read: list[tuple[int, int]] = []
    places = [tmp_path / "shards" / f"{number}.mrec.lmdb" for number in range(2)] if shards else [path]
    (tmp_path / "shards").mkdir()
    for place in places:
        write(place, *everything())
    assert mr.validate(tmp_path / "shards" if shards else path, progress=lambda *now: read.append(now)) == []
    assert read == [(3, 3)] * len(places)
    assert mr.validate(written(path)) == []
    write(tmp_path / "empty.mrec.lmdb")
    assert mr.validate(tmp_path / "empty.mrec.lmdb") == []
    write(tmp_path / "masked.mrec.lmdb", masked())
    assert mr.validate(tmp_path / "masked.mrec.lmdb") == []


# -- one value spoilt -------------------------------------------------------------------------------------------------


def header(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """Return what changes the header of frame bytes."""

    def changed(value: bytes) -> bytes:
        length = int.from_bytes(value[4:8], "little")
        document = json.loads(value[8 : 8 + length])
        change(document)
        text = json.dumps(document).encode()
        payload = value[8 + length + -length % 8 :]
        return b"MRF1" + len(text).to_bytes(4, "little") + text + bytes(-len(text) % 8) + payload

    return changed


def put(name: bytes, changed: Callable[[bytes], bytes]) -> Change:
    return lambda file: file.put(name, changed(file.get(name)))


def meta(document: Any) -> Callable[[bytes], bytes]:
    return lambda _: json.dumps(document).encode()


def framed(given: mr.Frame) -> Callable[[bytes], bytes]:
    return lambda _: encode_frame(given)


REFERENCE = mr.Block({"atomi": np.array([7], np.uint64)})
REFERENCE.set_target("atomi", "atoms")

SPOILT: dict[str, tuple[Change, str, str]] = {
    "no record meta": (lambda file: file.delete(key("r", 1)), "reject-missing-key", "record 1, meta"),
    "meta no JSON": (put(key("r", 0), lambda _: b"{"), "reject-malformed-json", "record 0, meta"),
    "meta no object": (put(key("r", 0), meta([1])), "reject-malformed-json", "record 0, meta"),
    "meta with units": (put(key("r", 2), meta({"units": {}})), "reject-record-units", "record 2, meta"),
    "meta of the future": (put(key("r", 0), meta({"molrec_version": 2})), "reject-molrec-version", "record 0, meta"),
    "system with units": (
        put(key("s", 1), framed(mr.Frame({"atoms": mr.Block({"element": ["O", "H"]})}, meta={"units": "real"}))),
        "reject-record-units",
        "record 1, meta",
    ),
    "system damaged": (put(key("s", 1), lambda _: b"MRF0"), "reject-bad-magic", "record 1, system"),
    "system of other rows": (
        put(key("s", 1), framed(mr.Frame({"atoms": mr.Block({"element": ["O"]})}))),
        "reject-system-row-count",
        "record 1, frame 0",
    ),
    "system of the same column": (
        put(key("s", 1), framed(mr.Frame({"atoms": mr.Block({"x": [1.0, 2.0]})}))),
        "reject-system-shared-column",
        "record 1, frame 0",
    ),
    "system reference": (
        put(key("s", 2), framed(mr.Frame({"bonds": REFERENCE, "atoms": mr.Block({"element": ["O", "H"]})}))),
        "reject-target-out-of-range",
        "record 2, system",
    ),
    "no part at all": (lambda file: file.delete(key("s", 2)), "reject-empty-record", "record 2"),
    "no frame": (lambda file: file.delete(key("f", 2)), "reject-missing-key", "record 1, frame 1"),
    "frame cut": (put(key("f", 0), lambda value: value[:-8]), "reject-buffer-past-value", "record 0, frame 0"),
    "frame of another block": (
        put(key("f", 0), header(lambda document: document["blocks"].update(other={"count": 0}))),
        "reject-undeclared",
        "record 0, frame 0",
    ),
    "frame without its key": (
        put(key("f", 1), header(lambda document: document["meta"].clear())),
        "reject-missing-meta-key",
        "record 1, frame 0",
    ),
    "frame out of step": (
        put(key("f", 2), header(lambda document: document.update(step=0))),
        "reject-step-not-increasing",
        "record 1",
    ),
    "frame without time": (
        put(key("f", 2), header(lambda document: document.pop("time"))),
        "reject-time-dropped",
        "record 1",
    ),
    "frame with half a box": (
        put(key("f", 0), header(lambda document: document.update(box={"vectors": [1.0]}))),
        "reject-box-shape",
        "record 0, frame 0",
    ),
    "frames of two kinds of cells": (
        lambda file: [
            put(key("f", 1), header(lambda document: document.update(box={"vectors": np.eye(3).tolist()})))(file),
            put(
                key("f", 2),
                header(lambda document: document.update(box={"cell_defined": False, "boundary": [False] * 3})),
            )(file),
        ],
        "reject-mixed-cells",
        "record 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SPOILT)
def test_a_spoilt_value_is_found_and_told_by_its_place(path: Path, what: str) -> None:
    change, rule, where = SPOILT[what]
    tampered(written(path), change)
    errors = {(finding.rule, finding.where) for finding in mr.validate(path) if finding.severity == "error"}
    assert (rule, where) in errors
    assert {place.partition(",")[0] for _, place in errors} <= {where.partition(",")[0], "index"}


def test_everything_that_is_wrong_is_found_at_once(path: Path) -> None:
    changes = ("meta no JSON", "frame cut", "no frame", "no part at all")

    def change(file: Any) -> None:
        for what in changes:
            SPOILT[what][0](file)

    tampered(written(path), change)
    found = {(finding.rule, finding.where) for finding in mr.validate(path)}
    assert {SPOILT[what][1:] for what in changes} <= found


def test_frames_that_disagree_with_one_another(path: Path) -> None:
    aligned = mr.SequenceSchema.from_frames([frame(3)])
    aligned.declare_column("kinds", "n", "i64").declare_aligned("kinds", "atoms")
    kinds = mr.Block({"n": np.array([1, 2, 3])})
    given = mr.Frame({"atoms": atoms(3), "kinds": kinds})
    write(path, {"record": [given, given]}, schema=aligned)
    assert mr.validate(path) == []

    def shrunk(document: dict[str, Any]) -> None:
        document["blocks"]["kinds"]["count"] = 2
        document["blocks"]["kinds"]["columns"]["n"]["shape"] = [2]

    tampered(path, put(key("f", 0), header(shrunk)))
    assert set(rules(path)) <= {"reject-aligned-count-mismatch", "reject-aligned-not-restated"}
    assert rules(path)


def test_references_are_followed(path: Path) -> None:
    good = mr.Block({"atomi": np.array([2], np.uint64)})
    good.set_target("atomi", "atoms")
    write(path, mr.Frame({"atoms": atoms(3), "bonds": good}))
    assert mr.validate(path) == []
    tampered(path, put(key("f", 0), lambda value: value[:-8] + (3).to_bytes(8, "little")))
    assert rules(path) == ["reject-target-out-of-range"]
    loose = mr.Block({"atomi": np.array([3], np.uint64)})
    write(path, mr.Frame({"atoms": atoms(3), "bonds": loose}), overwrite=True)
    assert rules(path, "warning") == ["loose-endpoint"]


def test_a_flag_that_is_none(path: Path) -> None:
    write(path, masked())
    tampered(path, put(key("f", 0), lambda value: value[:-8] + b"\x02" + value[-7:]))
    assert set(rules(path)) == {"reject-bool-byte"}


def read_whole(path: Path) -> None:
    """Read all a collection holds, the way a careful user does."""
    opened = mr.open_collection(path)
    repr(opened.forcefield)
    for record in opened:
        repr((record.meta, record.system))
        if record.trajectory is not None:
            repr((record.trajectory.steps, len(list(record.trajectory))))
            for ordinal in range(len(record.trajectory)):
                record.joined(ordinal)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_what_a_reader_refuses_a_validator_finds(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("spoilt") / "set.mrec.lmdb"
    if data.draw(st.booleans()):
        written(path)
    else:
        write(path, *everything(), forcefield=forcefield())

    def change(file: Any) -> None:
        name = data.draw(st.sampled_from(list(file.cursor().iternext(values=False))))
        value = bytearray(file.get(name))
        for _ in range(data.draw(st.integers(1, 3)) if value else 0):
            value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
        file.put(name, bytes(value[: data.draw(st.integers(0, 2 * len(value)))]))

    tampered(path, change)
    refusal = None
    try:
        read_whole(path)
    except mr.FormatError as error:
        refusal = error
    assert refusal is None or "error" in {finding.severity for finding in mr.validate(path)}, refusal
    mr.validate(path)


# -- index and meta ---------------------------------------------------------------------------------------------------


def with_index(path: Path, **columns: Any) -> Path:
    index = mr.Block({name: array.copy() for name, array in mr.open_collection(path).index.items()})
    for name, values in columns.items():
        index[name] = np.array(values, dtype=index[name].dtype)
    return tampered(path, lambda file: file.put(b"index", encode_frame(mr.Frame({"records": index}))))


def test_a_wrong_number_of_atoms(path: Path) -> None:
    with_index(written(path), n_atoms=[3, 2, 5])
    (finding,) = mr.validate(path)
    assert (finding.rule, finding.where, finding.severity) == ("reject-row-count", "index, record 2", "error")
    assert "5" in finding.message
    assert "2 atoms" in finding.message


def test_an_index_that_does_not_add_up_hides_nothing_else(path: Path) -> None:
    with_index(written(path), first_frame=[0, 2, 4])
    tampered(path, SPOILT["frame cut"][0])
    tampered(path, SPOILT["meta no JSON"][0])
    tampered(path, SPOILT["system damaged"][0])
    found = {finding.rule: finding.where for finding in mr.validate(path)}
    assert found == {
        "reject-prefix-sums": "index",
        "reject-buffer-past-value": "frame 0 of all",
        "reject-malformed-json": "record 0, meta",
        "reject-bad-magic": "record 1, system",
    }


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ({"layout": "other"}, {"reject-not-a-collection"}),
        ({"layout_version": 2}, {"reject-layout-version"}),
        ({"collection": {}}, {"reject-no-units"}),
        ({"collection": {"units": UNITS, "molrec_version": 9}}, {"reject-molrec-version"}),
        ({"sequence_schema": None}, {"reject-malformed-schema"}),
        ({"n_records": 4}, {"reject-row-count"}),
        ({"n_frames": 5}, {"reject-prefix-sums"}),
        ({"n_frames": "x"}, {"reject-row-count"}),
        ({"n_frames": 5, "collection": {}}, {"reject-no-units", "reject-prefix-sums"}),
        ({"collection": {"units": {**UNITS, "time": "furlongs per x"}}}, {"no-version", "reject-units"}),
        ({"collection": {"units": {"mass": "eV"}, "molrec_version": 1}}, {"reject-units"}),
    ],
)
def test_a_meta_document_that_is_wrong(path: Path, entries: dict[str, Any], found: set[str]) -> None:
    document_changed(written(path), **entries)
    assert set(rules(path)) == found


def test_an_index_that_is_missing(path: Path) -> None:
    tampered(written(path), lambda file: file.delete(b"index"))
    assert set(rules(path)) == {"reject-missing-key"}
    tampered(path, lambda file: file.put(b"index", encode_frame(mr.Frame())))
    assert set(rules(path)) == {"reject-malformed-index"}


def test_an_index_cannot_keep_the_validator_counting_for_ever(path: Path) -> None:
    document_changed(written(path), n_frames=2**40)
    index = mr.Block(
        {
            "first_frame": np.array([0, 2**39, 2**40], np.uint64),
            "n_frames": np.array([2**39, 2**39, 0], np.uint64),
            "n_atoms": np.array([3, 2, 2], np.uint64),
            "has_trajectory": np.array([True, True, False]),
        }
    )
    tampered(path, lambda file: file.put(b"index", encode_frame(mr.Frame({"records": index}))))
    assert Counter(rules(path))["reject-missing-key"] == 202


def test_a_force_field_that_is_wrong(path: Path) -> None:
    write(path, frame(), forcefield=forcefield())
    assert mr.validate(path) == []
    tampered(path, lambda file: file.put(b"ff", file.get(b"ff").replace(b"harmonic", b"harmonie", 1)))
    (finding,) = [finding for finding in mr.validate(path) if finding.severity == "error"]
    assert finding.rule.startswith("reject-ff-")
    assert finding.where == "ff"


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "reject-not-a-collection"),
        (b"text\n" * 3000, "reject-not-a-collection"),
        (None, "reject-not-a-collection"),
    ],
)
def test_a_file_that_is_none(path: Path, content: bytes | None, rule: str) -> None:
    if content is not None:
        path.write_bytes(content)
    (finding,) = mr.validate(path)
    assert (finding.rule, finding.severity) == (rule, "error")


def test_a_file_cut_short(path: Path) -> None:
    write(path, *[frame(50, i) for i in range(40)])
    path.write_bytes(path.read_bytes()[:-4096])
    assert rules(path) == ["reject-truncated-collection"]


# -- what a reader takes and should not have to -----------------------------------------------------------------------


def test_values_off_their_grid(path: Path) -> None:
    write(path, *[frame(3, float(n)) for n in range(4)])
    schema = mr.open_collection(path).schema.declare_precision("atoms", "x", 1.0).declare_precision("atoms", "y", 0.25)
    document_changed(path, sequence_schema=schema.to_document())
    assert mr.validate(path) == []
    x = np.array([0.0, np.nan, 1.3])
    tampered(path, put(key("f", 2), lambda value: value.replace(np.arange(2.0, 5.0).tobytes(), x.tobytes(), 1)))
    (finding,) = mr.validate(path)
    assert (finding.rule, finding.where, finding.severity) == ("off-grid-value", "frames/atoms/x", "warning")
    assert "1 values" in finding.message
    assert "record 2" in finding.message
    system = atoms(2)
    system.set_precision("y", 0.5)
    write(path, {"record": None, "system": mr.Frame({"atoms": system})}, overwrite=True)
    tampered(path, put(key("s", 0), lambda value: value.replace(np.float64(2.0).tobytes(), np.float64(2.1).tobytes())))
    assert [(found.rule, found.where) for found in mr.validate(path)] == [
        ("off-grid-value", "record 0, system/atoms/y")
    ]


def test_quantities_without_a_unit(path: Path) -> None:
    labelled = mr.Frame({"atoms": atoms(2, fx=np.zeros(2), mass=np.ones(2), vx=np.zeros(2))}, meta={"pe": 1.0})
    with mr.CollectionWriter(path, units={"length": "angstrom"}) as writer:
        writer.append(labelled, time=0.5)
    (finding,) = mr.validate(path)
    assert (finding.rule, finding.severity) == ("unit-not-stated", "warning")
    for word in ("energy (pe)", "force (fx)", "velocity (vx)", "time"):
        assert word in finding.message
    assert "mass" not in finding.message
    with mr.CollectionWriter(path, units={**UNITS, "time": "fs"}, overwrite=True) as writer:
        writer.append(labelled, time=0.5)
    assert mr.validate(path) == []


def test_keys_nobody_counts(path: Path) -> None:
    def change(file: Any) -> None:
        for name in (key("r", 3), key("s", 7), key("f", 4), key("f", 9), b"mine", b"rx"):
            file.put(name, b"?")

    tampered(written(path), change)
    found = [(finding.rule, finding.where, finding.severity) for finding in mr.validate(path)]
    assert found == [
        ("orphaned-key", "keys 'r'", "warning"),
        ("orphaned-key", "keys 's'", "warning"),
        ("orphaned-key", "keys 'f'", "warning"),
        ("unknown-key", "keys", "info"),
    ]


def test_flat_cells(path: Path) -> None:
    write(path, mr.Frame({"atoms": atoms(2)}, box=mr.Box(np.diag([1.0, 1.0, 0.0]))), frame(2))
    (finding,) = mr.validate(path)
    assert (finding.rule, finding.where, finding.severity) == ("singular-cell", "record 0, frame 0, box", "warning")


def test_times_tags_and_words_that_mean_nothing(path: Path) -> None:
    bonds = mr.Block({"bond_type": np.array([1, 5], np.uint64)})
    given = mr.Frame({"atoms": atoms(2), "bonds": bonds}, meta={"pe": 1})
    with mr.CollectionWriter(path, units={**UNITS, "time": "fs"}) as writer:
        writer.append([given, given], time=[1.0, 0.5])
        writer.append(None, system=mr.Frame({"bonds": bonds}))
    assert {(finding.rule, finding.where, finding.severity) for finding in mr.validate(path)} == {
        ("per-step-tag", "sequence_schema, meta key 'pe'", "error"),
        ("time-not-ascending", "record 0", "warning"),
        ("unknown-word", "record 0, frame 0/bonds/bond_type", "warning"),
        ("unknown-word", "record 1, system/bonds/bond_type", "warning"),
    }


def test_headers_that_a_reader_copes_with(path: Path) -> None:
    system = mr.Frame({"atoms": mr.Block({"ix": np.zeros(2, np.int32)})}, meta={"spin": 1.0, "smiles": "O"})
    boxed = frame(2)
    boxed.box = mr.Box(np.eye(3) * 2)
    write(path, {"record": boxed, "system": system}, mr.Frame(box=mr.Box(cell_defined=False)))

    def change(file: Any) -> None:
        needless = {"origin": [0.0] * 3, "boundary": [True] * 3, "cell_defined": True}
        put(key("f", 0), header(lambda document: document["box"].update(needless)))(file)
        put(key("f", 1), header(lambda document: document["box"].pop("vectors")))(file)
        put(key("s", 0), header(lambda document: document["meta_types"].pop("smiles")))(file)

    assert {finding.rule for finding in mr.validate(path)} == {"composition-key", "image-flags-in-part"}
    tampered(path, change)
    document_changed(path, collection={"units": UNITS})
    assert {(finding.rule, finding.where, finding.severity) for finding in mr.validate(path)} == {
        ("no-version", "meta", "error"),
        ("composition-key", "record 0, system", "warning"),
        ("untyped-meta", "record 0, system", "error"),
        ("image-flags-in-part", "record 0, system/atoms", "error"),
        ("default-written", "record 0, frame 0, box", "warning"),
        ("undefined-cell-form", "record 1, frame 0, box", "error"),
    }


def test_types_the_force_field_does_not_have(path: Path) -> None:
    typed = mr.Frame({"atoms": atoms(2), "bonds": mr.Block({"type": ["a-b", "b-c"]})})
    system = mr.Frame({"bonds": mr.Block({"type": ["x-y"]})})
    write(path, typed, {"record": None, "system": system}, forcefield=forcefield())
    found = {(finding.rule, finding.where): finding.message for finding in mr.validate(path)}
    assert found.keys() == {("unresolved-type", "frames/bonds"), ("unresolved-type", "system/bonds")}
    assert "'b-c'" in found["unresolved-type", "frames/bonds"]
    assert "'x-y'" in found["unresolved-type", "system/bonds"]


# -- many findings, many files ----------------------------------------------------------------------------------------


def test_a_rule_that_is_broken_everywhere_is_told_so_often_and_counted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_validation, "_MOST_OF_A_RULE", 3)
    write(path, *[frame(2, float(n)) for n in range(8)])
    tampered(path, lambda file: [file.put(key("r", n), b"[]") for n in range(8)])
    found = mr.validate(path)
    assert [finding.where for finding in found] == [*(f"record {n}, meta" for n in range(3)), str(path)]
    assert "5 more" in found[-1].message


def test_shards_are_named_and_held_to_one_another(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    write(folder / "a.mrec.lmdb", frame(2))
    write(folder / "b.mrec.lmdb", frame(2))
    assert mr.validate(folder) == mr.validate(folder / "*.mrec.lmdb") == []
    with mr.CollectionWriter(folder / "c.mrec.lmdb", units={"length": "nm"}) as writer:
        writer.append(frame(2))
    assert rules(folder) == ["reject-shard-units"]
    shutil.copy(folder / "a.mrec.lmdb", folder / "c.mrec.lmdb")
    tampered(folder / "b.mrec.lmdb", lambda file: file.delete(key("r", 0)))
    (finding,) = mr.validate(folder)
    assert (finding.rule, finding.where) == ("reject-missing-key", "b.mrec.lmdb: record 0, meta")
    for place in (tmp_path / "nothing-*.mrec.lmdb", tmp_path / "*.lmdb"):
        (finding,) = mr.validate(place)
        assert finding.rule == "reject-no-shards"


def test_validating_changes_nothing(path: Path) -> None:
    content = written(path).read_bytes()
    mr.validate(path)
    assert path.read_bytes() == content
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(not _SPEC.is_dir(), reason="the documentation is not beside the package")
def test_every_finding_is_documented() -> None:
    folder = Path(collection_validation.__file__).parent
    used: set[tuple[str, str]] = set()
    for page in ("collection_validation", "collection_record_findings", "collection_header_findings"):
        code = (folder / f"{page}.py").read_text()
        used |= set(re.findall(r'yield "([a-z-]+)"|\("([a-z-]+)", (?:where|span|f")', code))
    rules = {word for pair in used for word in pair if word}
    assert {"orphaned-key", "untyped-meta", "time-not-ascending"} <= rules
    for page in ("validation.md", "rules.md"):
        assert rules - set(re.findall(r"`([a-z-]+)`", (_SPEC / page).read_text())) == set(), page
