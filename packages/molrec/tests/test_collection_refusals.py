"""Collections: what a writer refuses of records and a reader of files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr
from molrec.storage.lmdb import key_appender
from molrec.storage.lmdb.frame_bytes import encode_frame

from .collections_made import (
    UNITS,
    document_changed,
    forcefield,
    frame,
    key,
    keys,
    tampered,
    write,
)
from .refusals import refused


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a test may write its collection."""
    return tmp_path / "set.mrec.lmdb"


# -- the declaration --------------------------------------------------------------------------------------------------


def test_a_derived_declaration_grows(path: Path) -> None:
    masked = mr.Block({"q": [1.0, 2.0]})
    masked.set_validity("q", np.array([True, False]))
    write(path, mr.Frame({"a": mr.Block({"q": [1.0]})}), mr.Frame({"a": masked, "b": mr.Block({"n": np.array([1])})}))
    collection = mr.open_collection(path)
    assert collection.schema.blocks["a"].columns["q"].nullable
    assert list(collection.schema.blocks) == ["a", "b"]
    mask = collection.frames(1)[0]["a"].validity("q")
    assert mask is not None
    assert mask.tolist() == [True, False]
    assert collection.batch([0, 1], ["a/q"])["a/q/validity"].tolist() == [True, True, False]


def other_records() -> dict[str, mr.Frame]:
    precise = frame(1, pe=0.0)
    precise["atoms"].set_precision("x", 0.5)
    wide = frame(1, pe=0.0)
    wide["atoms"]["extra"] = np.zeros(1)
    narrow = mr.Frame({"atoms": mr.Block({"x": [1.0]})}, meta={"pe": 0.0})
    integer = frame(1, pe=0.0)
    integer["atoms"] = mr.Block({"x": [1.0], "y": [1.0], "z": [1.0], "q": np.array([1])})
    return {
        "another key": frame(1, ke=0.0),
        "no key": frame(1),
        "another tag": frame(1, pe="low"),
        "a precision": precise,
        "another column": wide,
        "a column less": narrow,
        "another dtype": integer,
        "a grid": mr.Frame({"atoms": mr.Block({n: [1.0] for n in "xyz"}, structural_shape=(1,))}, meta={"pe": 0.0}),
    }


@pytest.mark.parametrize("what", other_records())
def test_reject_schema_differs(path: Path, what: str) -> None:
    good = frame(2, pe=1.0)
    with mr.CollectionWriter(path, units=UNITS) as writer:
        writer.append(good)
        with refused("reject-schema-differs", "record 1"):
            writer.append(other_records()[what])
        writer.append(good)
    collection = mr.open_collection(path)
    assert [collection.frames(i) for i in range(2)] == [[good], [good]]
    assert collection.schema == mr.SequenceSchema.from_frames([good])


@pytest.mark.parametrize("pinned", [False, True])
def test_reject_schema_differs_of_records_that_bring_a_declaration(path: Path, tmp_path: Path, pinned: bool) -> None:
    schemas = {
        "good": mr.SequenceSchema().declare_column("atoms", "x", "f64"),
        "dtype": mr.SequenceSchema().declare_column("atoms", "q", "f64"),
        "meta": mr.SequenceSchema().declare_column("atoms", "x", "f64").declare_meta("pe", "f64"),
        "precision": mr.SequenceSchema().declare_column("atoms", "x", "f64").declare_precision("atoms", "x", 0.5),
    }
    for name, schema in schemas.items():
        mr.TrajectoryWriter(tmp_path / name, schema).close()
    with mr.CollectionWriter(path, units=UNITS, schema=schemas["good"] if pinned else None) as writer:
        writer.append(mr.open(tmp_path / "good"))
        for name in ("dtype", "meta", "precision"):
            with refused("reject-schema-differs"):
                writer.append(mr.open(tmp_path / name))
    assert len(mr.open_collection(path)) == 1


def test_a_given_schema_takes_nothing_else(path: Path) -> None:
    schema = mr.SequenceSchema.from_frames([frame(1, pe=1.0)])
    with mr.CollectionWriter(path, units=UNITS, schema=schema) as writer:
        for given_frame, rule in (
            (mr.Frame({"other": mr.Block()}, meta={"pe": 1.0}), "reject-undeclared"),
            (frame(1, ke=1.0), "reject-undeclared"),
            (frame(1), "reject-missing-meta-key"),
            (mr.Frame({"atoms": mr.Block({"x": [1.0]})}, meta={"pe": 1.0}), "reject-missing-column"),
        ):
            with refused(rule, "record 0"):
                writer.append(given_frame)


# -- records that are refused -----------------------------------------------------------------------------------------


def test_reject_system_row_count(path: Path) -> None:
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H"]})})
    with mr.CollectionWriter(path, units=UNITS) as writer:
        with refused("reject-system-row-count", "record 0", "atoms", "3", "2"):
            writer.append([frame(2), frame(3)], system=system)
        writer.append(frame(2), system=system)
    tampered(path, lambda file: file.put(key("s", 0), encode_frame(mr.Frame({"atoms": mr.Block({"element": ["O"]})}))))
    collection = mr.open_collection(path)
    with refused("reject-system-row-count", kind=mr.FormatError):
        collection[0].joined()
    with refused("reject-system-row-count", kind=mr.FormatError):
        collection.batch([0], ["atoms/x", "atoms/element"])


def test_reject_system_shared_column(path: Path) -> None:
    with mr.CollectionWriter(path, units=UNITS) as writer, refused("reject-system-shared-column", "atoms", "x"):
        writer.append(frame(2), system=frame(2))


def test_reject_no_units(path: Path) -> None:
    nothing: list[Any] = [None, {}]
    for units in nothing:
        with refused("reject-no-units"):
            mr.CollectionWriter(path, units=units)
    wrong: list[Any] = [{"length": "parsec per furlong of x"}, {"length": "eV"}, {"energy": ""}, {"energy": 1}]
    for units in wrong:
        with refused("reject-units"):
            mr.CollectionWriter(path, units=units)
    mr.CollectionWriter(path, units={"energy": "kcal/mol", "force": "hartree/bohr", "dipole": "debye"}).abort()
    assert not list(path.parent.iterdir())
    write(path)
    document_changed(path, collection={"molrec_version": 1})
    with refused("reject-no-units", kind=mr.FormatError):
        mr.open_collection(path)


def test_records_a_collection_has_no_room_for(path: Path, tmp_path: Path) -> None:
    mr.write(tmp_path / "a.mrec", frame=frame(), trajectory=[frame()])
    with mr.CollectionWriter(path, units=UNITS) as writer:
        with refused("reject-record-section", "frame"):
            writer.append(mr.open(tmp_path / "a.mrec"))
        with refused("reject-empty-record"):
            writer.append(None)
        parts: list[dict[str, Any]] = [{"meta": {"units": {}}}, {"system": mr.Frame(meta={"units": "real"})}]
        for stated in parts:
            with refused("reject-record-units"):
                writer.append(frame(), **stated)
        with refused("reject-record-units"):
            writer.append(frame(units="real"))
        for record, step, time in (([frame(), frame()], [1], None), ([frame()], None, 1.0), (3, None, None)):
            with refused("reject-record-parts"):
                writer.append(record, step=step, time=time)  # type: ignore[arg-type]
        with refused("reject-not-a-block"):
            writer.append([1])  # type: ignore[list-item]
        broken: list[tuple[dict[str, Any], str]] = [
            ({"step": [1, 1]}, "reject-step-not-increasing"),
            ({"time": [1.0, None]}, "reject-time-dropped"),
            ({"meta": {"a": float("nan")}}, "reject-json-meta-non-finite"),
            ({"meta": {"molrec_version": 2}}, "reject-molrec-version"),
        ]
        for arguments, rule in broken:
            with refused(rule, "record 0"):
                writer.append([frame(), frame(3, 1.0)], **arguments)
        with refused("reject-mixed-cells"):
            writer.append([mr.Frame(box=mr.Box(np.eye(3))), mr.Frame(box=mr.Box(cell_defined=False))])
    assert len(mr.open_collection(path)) == 0


def test_a_refused_record_leaves_nothing_of_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_appender, "_BATCH_BYTES", 500)
    with mr.CollectionWriter(path, units=UNITS) as writer:
        writer.append([frame(3, i) for i in range(5)])
        with refused("reject-schema-differs", "record 1"):
            writer.append([*(frame(3, i) for i in range(7)), frame(1, pe=1.0)])
        writer.append([frame(2, i) for i in range(3)], meta={"after": True})
    collection = mr.open_collection(path)
    assert collection.n_frames == 8
    assert [len(collection.frames(i)) for i in range(2)] == [5, 3]
    assert collection[1].meta == {"after": True}
    assert [k for k in keys(path) if k[:1] == b"f"] == [key("f", i) for i in range(8)]


# -- the index --------------------------------------------------------------------------------------------------------


def test_index_columns(path: Path) -> None:
    spec = {
        "name": None,
        "split": None,
        "half": lambda r: r.n_atoms / 2,
        "odd": lambda r: r.n_atoms if r.n_atoms % 2 else None,
    }
    with mr.CollectionWriter(path, units=UNITS, index=spec) as writer:
        writer.append(frame(3), meta={"name": "a"}, index={"split": "train"})
        writer.append(frame(4), system=mr.Frame(meta={"name": "b"}), index={"split": "test"})
        for values in ({"split": 3}, {"split": ["x"]}, {"other": 1}, {}):
            with refused("reject-index-column", "record 2"):
                writer.append(frame(5), meta={"name": "c"}, index=values)
        with refused("reject-index-column", "name"):
            writer.append(frame(5), index={"split": "a"})
    index = mr.open_collection(path).index
    assert index["name"].tolist() == ["a", "b"]
    assert index["split"].tolist() == ["train", "test"]
    assert index["half"].tolist() == [1.5, 2.0]
    mask = index.validity("odd")
    assert mask is not None
    assert mask.tolist() == [True, False]
    assert index.dtype("odd") == "i64"


@pytest.mark.parametrize("name", ["first_frame", "n_frames", "n_atoms", "has_trajectory"])
def test_reserved_index_names(path: Path, name: str) -> None:
    with refused("reject-reserved-name", name):
        mr.CollectionWriter(path, units=UNITS, index=[name])


@pytest.mark.parametrize(
    ("column", "values", "rule"),
    [
        ("first_frame", np.array([0, 2], np.uint64), "reject-prefix-sums"),
        ("n_frames", np.array([1, 2], np.uint64), "reject-prefix-sums"),
        ("n_frames", np.array([1, 2**64 - 1], np.uint64), "reject-prefix-sums"),
        ("n_frames", np.array([1, 1]), "reject-malformed-index"),
        ("has_trajectory", np.array([True, False]), "reject-prefix-sums"),
        ("n_atoms", None, "reject-malformed-index"),
    ],
)
def test_a_broken_index_is_refused(path: Path, column: str, values: Any, rule: str) -> None:
    write(path, frame(), frame())
    index = mr.Block({name: array.copy() for name, array in mr.open_collection(path).index.items()})
    if values is None:
        del index[column]
    else:
        index[column] = values
    tampered(path, lambda file: file.put(b"index", encode_frame(mr.Frame({"records": index}))))
    with refused(rule, "index", kind=mr.FormatError):
        mr.open_collection(path)


# -- files that are refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "rule"),
    [
        ({"layout": "other"}, "reject-not-a-collection"),
        ({"layout": None}, "reject-not-a-collection"),
        ({"layout_version": 2}, "reject-layout-version"),
        ({"layout_version": 1.0}, "reject-layout-version"),
        ({"collection": None}, "reject-malformed-json"),
        ({"collection": {"molrec_version": 2, "units": UNITS}}, "reject-molrec-version"),
        ({"collection": {"units": {"length": 1}}}, "reject-units"),
        ({"sequence_schema": None}, "reject-malformed-schema"),
        ({"n_records": 3}, "reject-row-count"),
        ({"n_records": None}, "reject-row-count"),
        ({"n_frames": 3}, "reject-prefix-sums"),
        ({"n_frames": -1}, "reject-row-count"),
    ],
)
def test_a_meta_document_is_refused(path: Path, entries: dict[str, Any], rule: str) -> None:
    write(path, frame(), frame())
    document_changed(path, **entries)
    with refused(rule, kind=mr.FormatError):
        mr.open_collection(path)


def test_files_that_are_no_collections(path: Path, tmp_path: Path) -> None:
    write(path, *[frame(50, i) for i in range(40)])
    content = path.read_bytes()
    for name, data in {
        "empty": b"", "text": b"hello\n" * 3000, "cut": content[: len(content) // 2], "head": content[:5000],
        "zeros": bytes(len(content)),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
        with refused("reject-not-a-collection|reject-truncated-collection", name, kind=mr.FormatError):
            mr.open_collection(tmp_path / name)
    with refused("reject-not-a-collection", "nothing", kind=mr.FormatError):
        mr.open_collection(tmp_path / "nothing")


@pytest.mark.parametrize("name", [b"meta", b"index", key("r", 1), key("f", 1)])
def test_a_missing_key_is_refused(path: Path, name: bytes) -> None:
    write(path, frame(), frame())
    tampered(path, lambda file: file.delete(name))
    rule = "reject-not-a-collection" if name == b"meta" else "reject-missing-key"

    def read() -> None:
        collection = mr.open_collection(path)
        collection.frames(1)
        collection[1].meta  # noqa: B018

    with refused(rule, kind=mr.FormatError):
        read()


def test_values_spoiled_in_a_file_are_refused(path: Path) -> None:
    write(path, {"record": frame(), "system": mr.Frame()}, forcefield=forcefield())
    for name in (key("f", 0), key("s", 0), key("r", 0), b"ff", b"index", b"meta"):
        spoiled = path.with_name("spoiled")
        shutil.copy(path, spoiled)
        tampered(spoiled, lambda file, name=name: file.put(name, b"MRF1spoiled"))  # type: ignore[misc]

        def read(spoiled: Path = spoiled) -> None:
            collection = mr.open_collection(spoiled)
            record = collection[0]
            repr((collection.frames(0), record.system, record.meta, collection.forcefield))

        with pytest.raises(mr.FormatError):
            read()
