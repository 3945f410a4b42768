"""The golden fixtures: what the library reads of them, what other readers do, and that they are what is made now.

Every fixture is read three ways: by the library, by zarr-python or lmdb with the rules of ``docs/spec`` alone, and by
``molcrafts-molrs`` where it can. All are compared, to the bit, with the JSON beside the store.
"""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import pytest
import zarr

import molrec as mr
from molrec.model.schema import SequenceSchema
from molrec.storage.lmdb.frame_bytes import decode_frame, encode_frame
from molrec.storage.lmdb.update_bytes import UpdateDecoder

from . import fixture_documents as documents
from . import plain_lmdb_reader as plain_lmdb
from . import plain_zarr_reader as plain_zarr
from .fixture_documents import FOLDER
from .interop import molrec_adapter, neutral

if not FOLDER.is_dir():
    pytest.skip("the fixtures are not beside the package", allow_module_level=True)

RECORDS = documents.names(".mrec.zip")
COLLECTIONS = documents.names(".mrec.lmdb")
VALUES = sorted(path.stem for path in (FOLDER / "frame-bytes").glob("*.bin"))

#: What a validator says of most: their numbers are made up and have no unit.
UNIT = "unit-not-stated"
#: What it says of the fixtures that no writer of this format leaves behind, and of unknown arrays.
FINDINGS: dict[str, set[str]] = {
    "bare": {
        *("array-without-checksum", "chunks-not-vouched", "default-written", "no-meta-section"),
        *("undefined-cell-form", "untyped-meta"),
    },
    "layouts": {"array-without-checksum", "chunks-not-vouched"},
}


def packed(name: str) -> Path:
    return FOLDER / f"{name}.mrec.zip"


def stated(name: str) -> documents.Parts:
    return documents.record_of(documents.load(FOLDER / f"{name}.json"))


# -- records ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDS)
def test_the_library_reads_what_the_document_says(name: str) -> None:
    with mr.open(packed(name)) as record:
        assert documents.difference(stated(name), documents.read_record(record)) is None


@pytest.mark.parametrize("name", RECORDS)
def test_zarr_and_the_specification_alone_read_what_the_document_says(name: str) -> None:
    assert documents.difference(stated(name), plain_zarr.read_record(packed(name))) is None


@pytest.mark.parametrize("name", RECORDS)
def test_an_independent_implementation_reads_what_the_document_says(name: str) -> None:
    pytest.importorskip("molrs.io.mrec", reason="molcrafts-molrs is not installed")
    from .interop import molrs_adapter

    expected = stated(name).core
    _drop_final_nuls(expected)
    assert documents.core_difference(expected, documents.core_of(molrs_adapter.record(packed(name)))) is None


def _drop_final_nuls(core: documents.Core) -> None:
    """Drop NULs at the end of strings: molrs hands strings out in numpy's fixed width, which cannot have them."""
    frames = [frame for frame in (core.frame, core.system) if frame is not None]
    frames += [] if core.trajectory is None else [step.frame for step in core.trajectory.frames]
    for column in (column for frame in frames for block in frame.blocks.values() for column in block.columns.values()):
        if column.dtype == "string" and isinstance(column.values, np.ndarray):
            column.values[...] = [text.rstrip("\0") for text in column.values.tolist()]


@pytest.mark.parametrize("name", RECORDS)
def test_a_fixture_has_no_fault_but_those_it_is_for(name: str) -> None:
    findings = {one.rule: one for one in mr.validate(packed(name)) if one.severity != "info"}
    assert findings.keys() - {UNIT} == FINDINGS.get(name, set()), findings
    assert name != "precision" or UNIT not in findings


@pytest.mark.parametrize("name", RECORDS)
def test_what_is_read_can_be_written_again(name: str, tmp_path: Path) -> None:
    with mr.open(packed(name)) as record:
        copy = mr.write(
            tmp_path / "copy.mrec",
            frame=record.frame,
            system=record.system,
            trajectory=record.trajectory,
            forcefield=record.forcefield_section,
            observables=record.observables,
            status=record.status,
            method=record.method,
            metrics=record.metrics,
            meta=record.meta,
        )
    expected = stated(name)
    expected.core.sections[:] = sorted({*expected.core.sections, "meta"} - {"analysis"})
    expected.core.meta.setdefault("molrec_version", 1)
    with mr.open(copy) as again:
        assert documents.difference(expected, documents.read_record(again)) is None


def test_unknown_content_is_where_the_document_says(tmp_path: Path) -> None:
    document = documents.load(FOLDER / "unknown-content.json")
    unknown, atoms = document["unknown"], document["frame"]["blocks"]["atoms"]
    root = mr.unpack(packed("unknown-content"), tmp_path / "a.mrec")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr-python's, about files that are no nodes
        store = zarr.open_group(root, mode="r")
        for path, attributes in unknown["attributes"].items():
            assert dict(store[path].attrs) == attributes
        for path, entry in unknown["arrays"].items():
            values = neutral.array_of(entry["dtype"], list(map(float, entry["values"])), entry["shape"])
            assert neutral.first_difference(values, np.asarray(store[path])) is None
    for path, text in unknown["files"].items():
        assert (root / path).read_text(encoding="utf-8") == text
    with mr.open(root) as record:
        assert record.frame is not None
        assert record.trajectory is not None
        assert record.frame["atoms"].attributes == atoms["attributes"]
        assert record.frame["atoms"].column_attributes("x") == atoms["columns"]["x"]["attributes"]
        assert record.trajectory.schema.to_document() == unknown["sequence_schema"]


# -- collections ------------------------------------------------------------------------------------------------------


def stated_collection(name: str) -> documents.CollectionParts:
    return documents.collection_of(documents.load(FOLDER / f"{name}.json"))


@pytest.mark.parametrize("name", COLLECTIONS)
def test_the_library_reads_what_the_document_of_a_collection_says(name: str) -> None:
    with mr.open_collection(FOLDER / f"{name}.mrec.lmdb") as collection:
        assert documents.difference(stated_collection(name), documents.read_collection(collection)) is None


@pytest.mark.parametrize("name", COLLECTIONS)
def test_lmdb_and_the_specification_alone_read_what_the_document_of_a_collection_says(name: str) -> None:
    found = plain_lmdb.read_collection(FOLDER / f"{name}.mrec.lmdb")
    assert documents.difference(stated_collection(name), found) is None


@pytest.mark.parametrize("name", COLLECTIONS)
def test_a_collection_reads_alike_in_any_order(name: str) -> None:
    expected = stated_collection(name).records
    with mr.open_collection(FOLDER / f"{name}.mrec.lmdb") as collection:
        for number in reversed(range(len(expected))):
            steps, run = expected[number].frames, collection[number].trajectory
            for ordinal in reversed(range(len(steps or []))):
                assert steps is not None
                assert run is not None
                found = molrec_adapter.frame(run[ordinal])
                assert neutral.first_difference(steps[ordinal].frame, found, f"[{number}][{ordinal}]") is None


# -- frame bytes ------------------------------------------------------------------------------------------------------


def account(name: str) -> tuple[bytes, dict[str, Any]]:
    """Return a value and the document that accounts for its bytes."""
    folder = FOLDER / "frame-bytes"
    return (folder / f"{name}.bin").read_bytes(), documents.load(folder / f"{name}.json", documents.BYTES_FORMAT)


@pytest.mark.parametrize("name", VALUES)
def test_every_byte_is_accounted_for_once(name: str) -> None:
    value, document = account(name)
    assert len(value) == document["size"]
    position = 0
    payload = next((part["at"] - part["in_payload"] for part in document["parts"] if "in_payload" in part), len(value))
    for part in document["parts"]:
        raw = part["text"].encode("utf-8") if "text" in part else bytes.fromhex(part["hex"])
        assert (part["at"], part["bytes"]) == (position, len(raw))
        assert part.get("in_payload", position - payload) == position - payload
        assert value[position : position + len(raw)] == raw
        position += len(raw)
    assert position == len(value)
    assert payload % 8 == 0


@pytest.mark.parametrize("name", VALUES)
def test_the_library_reads_the_bytes(name: str) -> None:
    value, document = account(name)
    expected = documents.frame_of(document["content"])
    if document["holds"] == "system":
        assert neutral.first_difference(expected, molrec_adapter.frame(decode_frame(value, name))) is None
        return
    update = UpdateDecoder(SequenceSchema.from_document(document["schema"], name)).read(value, name)
    found = mr.Frame(update.blocks(), box=update.read_box())
    for key, entry in document["schema"]["meta"].items():
        found.meta.set(key, update.meta[key], tag=entry["dtype"])
    assert neutral.first_difference(expected, molrec_adapter.frame(found)) is None
    assert (update.step, update.time) == (int(document["step"]), document["time"])


@pytest.mark.parametrize("name", [name for name in VALUES if account(name)[1]["holds"] == "system"])
def test_json_and_the_specification_alone_read_the_bytes(name: str) -> None:
    value, document = account(name)
    expected = documents.frame_of(document["content"])
    assert neutral.first_difference(expected, plain_lmdb.system_of(value)) is None


@pytest.mark.parametrize("name", [name for name in VALUES if not account(name)[1].get("foreign", False)])
def test_the_library_writes_the_bytes(name: str, tmp_path: Path) -> None:
    value, document = account(name)
    if document["holds"] == "system":
        assert encode_frame(decode_frame(value, name)) == value
        return
    schema = SequenceSchema.from_document(document["schema"], name)
    update = UpdateDecoder(schema).read(value, name)
    frame = mr.Frame(update.blocks(), box=update.read_box())
    for key, entry in document["schema"]["meta"].items():
        frame.meta.set(key, update.meta[key], tag=entry["dtype"])
    path = tmp_path / "a.mrec.lmdb"
    with mr.CollectionWriter(path, units={"length": "nm"}, schema=schema) as writer:
        writer.append([frame], step=[int(document["step"])], time=[document["time"]])
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as file, file.begin() as transaction:
        assert transaction.get(b"f" + bytes(8)) == value


# -- the folder -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made_now(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the fixtures as the script makes them now."""
    if not (FOLDER.parent / "scripts" / "make_fixtures.py").is_file():
        pytest.skip("the script that makes the fixtures is not beside the package")
    from scripts.make_fixtures import make

    folder = tmp_path_factory.mktemp("fixtures")
    make(folder)
    return folder


def test_the_committed_files_are_those_the_script_makes(made_now: Path) -> None:
    made = {path.relative_to(made_now).as_posix() for path in made_now.rglob("*") if path.is_file()}
    kept = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    by_hand = {name for name in kept if name.startswith("sources/") or name == "README.md"}
    assert made == kept - by_hand
    for name in sorted(made):
        if name.endswith((".json", ".bin")):
            assert (made_now / name).read_bytes() == (FOLDER / name).read_bytes(), f"{name}: run scripts.make_fixtures"


@pytest.mark.parametrize("name", RECORDS)
def test_a_committed_record_holds_what_the_script_makes(name: str, made_now: Path) -> None:
    """Chunks are compared decoded: another build of zlib or zstd may give other bytes."""
    old, new = (zipfile.ZipFile(folder / f"{name}.mrec.zip") for folder in (FOLDER, made_now))
    with old, new:
        assert old.namelist() == new.namelist()
        for entry in old.namelist():
            if entry.endswith("zarr.json"):
                assert old.read(entry) == new.read(entry), f"{name}: {entry}"
    kept, made = (plain_zarr.read_record(folder / f"{name}.mrec.zip") for folder in (FOLDER, made_now))
    assert documents.difference(kept, made) is None


@pytest.mark.parametrize("name", COLLECTIONS)
def test_a_committed_collection_holds_what_the_script_makes(name: str, made_now: Path) -> None:
    def pairs(folder: Path) -> dict[bytes, bytes]:
        path = folder / f"{name}.mrec.lmdb"
        with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as file, file.begin() as transaction:
            return dict(transaction.cursor())

    assert pairs(FOLDER) == pairs(made_now)


def test_the_script_makes_the_same_bytes_again(made_now: Path, tmp_path: Path) -> None:
    from scripts.make_fixtures import make

    make(tmp_path)
    for path in made_now.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / path.relative_to(made_now)).read_bytes(), path.name


def test_the_folder_is_small_and_its_readme_lists_every_fixture() -> None:
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 2**20
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in [*RECORDS, *COLLECTIONS, *VALUES]:
        assert f"`{name}`" in readme, f"README.md does not list {name}"


def test_zips_are_what_the_specification_asks_of_packed_records() -> None:
    for name in RECORDS:
        with zipfile.ZipFile(packed(name)) as archive:
            entries = archive.infolist()
        assert all(entry.compress_type == zipfile.ZIP_STORED and not entry.is_dir() for entry in entries)
        assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
        assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
