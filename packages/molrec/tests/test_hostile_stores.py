"""Records and archives made to harm whoever reads them: refused, within bounds, and reported by the validator."""

from __future__ import annotations

import gzip
import json
import os
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest
import zstandard

import molrec as mr
from molrec.model.collection import check_units
from molrec.model.unit_words import is_plain_unit
from molrec.storage.zarr.journal import encode_lines, read_lines
from molrec.storage.zarr.sources import DirectorySource

from .good_records import write_frame, write_run
from .interop import tamper
from .refusals import read_everything, refused
from .spoiling import attribute, field, put

_HUGE = 10**15


def closed(body: bytes) -> bytes:
    """Return bytes with the crc32c a chunk ends with."""
    return body + int(google_crc32c.value(body)).to_bytes(4, "little")


def is_found(path: Path, rule: str) -> bool:
    return rule in {finding.rule for finding in mr.validate(path) if finding.severity == "error"}


def check_refused(path: Path, rule: str, *mentions: str) -> None:
    with refused(rule, *mentions, kind=mr.FormatError):
        read_everything(path)
    assert is_found(path, rule)


# -- what metadata may claim ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extents", [[2**63], [2**40, 2**40], [1] * 40])
def test_extents_no_array_has(extents: list[int], tmp_path: Path) -> None:
    path = write_frame(tmp_path / "a.mrec")
    node = "frame/atoms/id"
    edits = [field(node, "/shape", extents), field(node, "/chunk_grid/configuration/chunk_shape", [1] * len(extents))]
    tamper.apply(path, edits)
    check_refused(path, "reject-malformed-metadata", node)


def test_an_array_without_a_chunk_that_claims_more_than_any_memory(tmp_path: Path) -> None:
    path = write_frame(tmp_path / "a.mrec")
    node = path / "frame" / "atoms" / "id"
    (node / "c" / "0").unlink()
    tamper.apply(path, [field("frame/atoms/id", "/shape", [_HUGE]), attribute("frame/atoms/id", "_molrec", {})])
    for name in ("x", "label", "n"):
        tamper.apply(path, [{"op": "delete", "path": f"frame/atoms/{name}"}])
    tamper.apply(path, [{"op": "delete", "path": "frame/atoms/_validity"}, attribute("frame/atoms", "count", _HUGE)])
    check_refused(path, "reject-array-too-large", "frame/atoms/id")


def test_a_run_that_claims_more_frames_than_any_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.mrec"
    with mr.TrajectoryWriter(path, mr.SequenceSchema().declare_column("a", "v", "f64")) as writer:
        for value in (1.0, 2.0):
            writer.append(mr.Frame({"a": mr.Block({"v": [value]})}))
    tamper.apply(path, [attribute("trajectory", "nstep", _HUGE)])
    with mr.open(path) as record:
        assert record.trajectory is not None
        assert len(record.trajectory) == _HUGE
        assert record.trajectory[-1]["a"]["v"].tolist() == [2.0]
        with refused("reject-array-too-large", "steps", kind=mr.FormatError):
            record.trajectory.steps  # noqa: B018 - refused when asked for
    assert is_found(path, "reject-array-too-large")
    tamper.apply(path, [attribute("trajectory", "nstep", 2**63)])
    check_refused(path, "reject-malformed-nstep")


def test_an_index_of_updates_that_goes_on_as_fill_values(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.mrec")
    node = "trajectory/bonds/step_index"
    for chunk in (path / node / "c").iterdir():
        chunk.unlink()
    tamper.apply(path, [field(node, "/shape", [_HUGE]), attribute(node, "_molrec", {})])
    check_refused(path, "reject-step-index-not-ascending", node)


def test_a_shard_index_that_sends_the_reader_far_away(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.mrec")
    shard = path / "trajectory" / "atoms" / "x" / "c" / "0"
    raw = bytearray(shard.read_bytes())
    size = 16 * 4096
    for offset, length in ((10**6, 2**50), (2**61, 2**61), (2**63, 8), (2**64 - 2, 2**64 - 1)):
        raw[:16] = struct.pack("<QQ", offset, length)
        raw[size : size + 4] = google_crc32c.value(bytes(raw[:size])).to_bytes(4, "little")
        shard.write_bytes(raw)
        check_refused(path, "reject-corrupt-chunk", "trajectory/atoms/x")


@pytest.mark.parametrize("configuration", [{}, {"level": "high"}, {"level": 1.5}])
def test_codecs_out_of_form(configuration: dict[str, Any], tmp_path: Path) -> None:
    path = write_frame(tmp_path / "a.mrec")
    codec = {"name": "gzip", "configuration": configuration}
    tamper.apply(path, [field("frame/atoms/id", "/codecs/1", codec)])
    check_refused(path, "reject-unsupported-codec", "frame/atoms/id")


def test_a_group_with_a_field_that_must_be_understood(tmp_path: Path) -> None:
    path = write_frame(tmp_path / "a.mrec")
    tamper.apply(path, [put("frame/zarr.json", "/future", {"must_understand": False})])
    read_everything(path)
    tamper.apply(path, [put("frame/zarr.json", "/future", {"must_understand": True})])
    check_refused(path, "reject-malformed-metadata", "future")


# -- what chunks may hold ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bomb", ["gzip", "zstd", "zstd without size"])
@pytest.mark.parametrize("column", ["id", "x"])
def test_a_chunk_that_decompresses_to_far_more_than_its_grid(bomb: str, column: str, tmp_path: Path) -> None:
    """A hundred megabytes of zeros in some kilobytes, with a right checksum."""
    path = write_frame(tmp_path / "a.mrec")
    zeros = bytes(100 * 2**20)
    if bomb == "gzip":
        body, codec = gzip.compress(zeros, 1), {"name": "gzip", "configuration": {"level": 1}}
    else:
        packer = zstandard.ZstdCompressor(write_content_size=bomb == "zstd").compressobj(
            size=len(zeros) if bomb == "zstd" else -1
        )
        body = packer.compress(zeros) + packer.flush()
        codec = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
    del zeros
    node = f"frame/atoms/{column}"
    tamper.apply(
        path,
        [field(node, "/codecs", [{"name": "bytes", "configuration": {"endian": "little"}}, codec, {"name": "crc32c"}])],
    )
    (path / node / "c" / "0").write_bytes(closed(body))
    tracemalloc.start()
    check_refused(path, "reject-corrupt-chunk", node)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 16 * 2**20


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    path = write_frame(tmp_path / "a.mrec")
    for name in ("frame/atoms/id/c/0", "frame/atoms/n/zarr.json"):
        (path / name).unlink()
        os.mkfifo(path / name)
    source = DirectorySource(path)
    assert source.get("frame/atoms/id/c/0") is None
    assert source.get_range("frame/atoms/id/c/0", 0, 4) is None
    assert source.get("n" * 300) is None
    with pytest.raises(mr.FormatError):
        read_everything(path)


# -- journals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        [],
        {"kind": "other", "nstep": 1, "shards": [], "documents": {}},
        {"kind": "base", "nstep": "1", "shards": [], "documents": {}},
        {"kind": "base", "nstep": 1, "shards": [["a", 0, [[0, 1]], 3]], "documents": {}},
        {"kind": "base", "nstep": 1, "shards": [["a", 0, [[0, 1, 2**70]], 3]], "documents": {}},
        {"kind": "base", "nstep": 1, "shards": {}, "documents": {}},
        {"kind": "redo", "nstep": 1, "shards": [], "groups": {}},
        {"kind": "redo", "nstep": 1, "shards": [], "rows": {"a": None}, "groups": {}},
        {"kind": "redo", "nstep": 1, "shards": [], "rows": {}, "groups": {"a": 3}},
    ],
)
def test_a_journal_line_with_a_right_checksum_and_no_sense_ends_the_journal(line: Any) -> None:
    good = {"kind": "base", "nstep": 1, "shards": [["a", 1, [[0, 1, 2]], 3]], "documents": {"trajectory": {}}}
    assert read_lines(encode_lines([good])) == [good]
    assert read_lines(encode_lines([good, line, good])) == [good]


def test_a_journal_beside_metadata_out_of_form(tmp_path: Path) -> None:
    path = tmp_path / "a.mrec"
    writer = mr.TrajectoryWriter(path, mr.SequenceSchema().declare_column("a", "v", "f64"), flush_every=1)
    for value in range(3):
        writer.append(mr.Frame({"a": mr.Block({"v": [float(value)]})}))
    copy = tmp_path / "b.mrec"
    edits: list[tuple[str, str, Any]] = [
        ("trajectory/a/v", "/shape", 3),
        ("trajectory/a/v", "/shape", [{}]),
        ("trajectory/a", "/attributes", "x"),
    ]
    for node, pointer, value in edits:
        tamper_copy(path, copy, node, pointer, value)
        with pytest.raises(mr.FormatError):
            read_everything(copy)
        assert [finding for finding in mr.validate(copy) if finding.severity == "error"]
    writer.close()


def tamper_copy(path: Path, copy: Path, node: str, pointer: str, value: Any) -> None:
    import shutil

    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy)
    tamper.apply(copy, [field(node, pointer, value)])


# -- archives ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    return mr.pack(write_frame(tmp_path / "a.mrec"))


def edited(packed: Path, change: Any) -> Path:
    """Return a copy of an archive whose bytes were changed."""
    raw = bytearray(packed.read_bytes())
    change(raw)
    target = packed.with_name("bad.mrec.zip")
    target.write_bytes(raw)
    return target


def directory_entry(raw: bytearray, name: bytes) -> int:
    place = raw.rindex(name) - 46
    assert raw[place : place + 4] == b"PK\1\2"
    return place


def check_not_opened(path: Path, rule: str, mentions: str) -> None:
    for act in (mr.open, mr.unpack):
        with refused(rule, mentions, kind=mr.FormatError):
            act(path)
    assert is_found(path, rule)
    assert not path.with_suffix("").exists()


def test_entries_that_share_their_bytes_are_refused(packed: Path) -> None:
    """An archive of a megabyte would unpack to any size."""

    def overlap(raw: bytearray) -> None:
        first, second = (
            directory_entry(raw, b"frame/atoms/id/zarr.json"),
            directory_entry(raw, b"frame/atoms/n/zarr.json"),
        )
        raw[second + 42 : second + 46] = raw[first + 42 : first + 46]

    check_not_opened(edited(packed, overlap), "reject-malformed-zip", "overlaps")


def test_an_entry_that_encloses_the_next_is_refused(packed: Path) -> None:
    def enclose(raw: bytearray) -> None:
        place = directory_entry(raw, b"frame/atoms/id/zarr.json")
        size = struct.unpack_from("<I", raw, place + 24)[0] + 40
        struct.pack_into("<II", raw, place + 20, size, size)

    check_not_opened(edited(packed, enclose), "reject-malformed-zip", "overlaps")


def test_a_header_of_another_name_is_refused(packed: Path) -> None:
    def rename(raw: bytearray) -> None:
        place = directory_entry(raw, b"frame/atoms/id/zarr.json")
        raw[place + 46 : place + 46 + 24] = b"frame/atoms/xx/zarr.json"

    check_not_opened(edited(packed, rename), "reject-malformed-zip", "header")


def test_a_name_that_is_a_file_and_a_folder_is_refused(packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("frame/atoms", b"x")
    check_not_opened(packed.rename(tmp_path / "b.mrec.zip"), "reject-zip-entry-name", "frame/atoms")


def test_a_name_with_a_nul_is_refused(packed: Path) -> None:
    def cut(raw: bytearray) -> None:
        for place in (raw.index(b"frame/atoms/id/zarr.json"), raw.rindex(b"frame/atoms/id/zarr.json")):
            raw[place + 14] = 0

    check_not_opened(edited(packed, cut), "reject-zip-entry-name", "frame/atoms/id")


def test_a_log_that_does_not_match_its_checksum_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "a.mrec"
    mr.write(path, status={"state": "running"})
    with mr.MetricsWriter(path) as writer:
        writer.log("loss", 1.0, step=0)
    packed = mr.pack(path)
    raw = packed.read_bytes()
    line = (path / "metrics" / "metrics.jsonl").read_bytes()
    place = raw.index(line)
    packed.write_bytes(raw[:place] + line.replace(b"loss", b"lass") + raw[place + len(line) :])
    assert zlib.crc32(line)
    assert is_found(packed, "reject-corrupt-chunk")


# -- units ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unit",
    [
        "kcal/mol/angstrom",
        "picogram * micrometer**2 / microsecond**2",
        "1/ps",
        "m^-2",
        "(m/s)**2",
        "Å",
        "mol**0.5",
        "%",
    ],
)
def test_units_are_plain(unit: str) -> None:
    assert is_plain_unit(unit)
    check_units({"own": unit}, "meta")


@pytest.mark.parametrize(
    "unit", ["9**9**9", "m**9**9", "m**1e9", "(9)**64", "((9**2)**3)", "m**(9**9)", "x\0", "'m'", "m" * 300]
)
def test_texts_that_would_keep_a_parser_of_units_busy(unit: str, tmp_path: Path) -> None:
    assert not is_plain_unit(unit)
    with refused("reject-units", "own"):
        check_units({"own": unit}, "meta")
    with refused("reject-ff-units-conflict"):
        mr.ForceFieldSection({"name": "x", "units": {"preset": "real", "length": unit}, "styles": []}).check()


def test_what_is_not_declared_and_cannot_be_read_is_no_error(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.mrec")
    (path / "trajectory" / "atoms" / "mine").mkdir()
    (path / "trajectory" / "atoms" / "mine" / "zarr.json").write_bytes(b"\xff no JSON")
    read_everything(path)
    assert [f.rule for f in mr.validate(path) if f.severity == "error"] == []
    assert json.loads((path / "zarr.json").read_bytes())["node_type"] == "group"
    assert np.array(mr.open(path).trajectory.steps).size == 4  # type: ignore[union-attr]
