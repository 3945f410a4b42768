"""Damaged files and archives: every flipped byte and every cut is found, nothing leaves an archive."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import molrec as mr

from .good_records import write_frame, write_run
from .refusals import read_everything, refused, untouched
from .strategies import files

# -- damage ---------------------------------------------------------------------------------------------------


def test_every_flipped_byte_of_a_run_is_an_error_that_names_its_place(record: Path) -> None:
    write_run(record, 4)
    shards = [path for path in sorted(record.rglob("*")) if path.is_file() and path.name.isdigit()]
    assert len(shards) >= 12
    for shard in shards:
        content = shard.read_bytes()
        node = shard.relative_to(record).as_posix().partition("/c/")[0]
        chunks = 16 * 256 + 4 if len(content) < 16 * 4096 else 16 * 4096 + 4
        places = {0, 8, 17, chunks - 1, len(content) - 1, (chunks + len(content)) // 2}
        if len(content) > chunks:
            places.add(chunks)
        for place in sorted(places):
            damaged = bytearray(content)
            damaged[place] ^= 0x10
            shard.write_bytes(damaged)
            with refused("reject-corrupt-chunk|reject-corrupt-index", node, kind=mr.FormatError):
                read_everything(record)
        shard.write_bytes(content)
    read_everything(record)


def test_damage_is_found_in_a_packed_record_too(record: Path) -> None:
    packed = mr.pack(write_run(record))
    with zipfile.ZipFile(packed) as archive:
        info = archive.getinfo("trajectory/atoms/x/c/0")
    content = bytearray(packed.read_bytes())
    content[info.header_offset + 30 + len(info.filename) + info.file_size - 1] ^= 1
    packed.write_bytes(content)
    with refused("reject-corrupt-chunk", "trajectory/atoms/x", kind=mr.FormatError):
        read_everything(packed)
    with refused("reject-corrupt-chunk", "trajectory/atoms/x", kind=mr.FormatError):
        mr.unpack(packed, record.with_name("again.mrec"))
    assert not record.with_name("again.mrec").exists()


# -- packed records -------------------------------------------------------------------------------------------


def test_a_truncated_archive_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    packed = mr.pack(write_frame(tmp_path / "run.mrec"))
    content = packed.read_bytes()
    cut = tmp_path / "cut.mrec.zip"
    for length in [0, 1, 4, 30, 100, *range(200, len(content), len(content) // 40), len(content) - 1]:
        cut.write_bytes(content[:length])
        with refused("reject-malformed-zip", "cut.mrec.zip", kind=mr.FormatError):
            mr.open(cut)
        with refused("reject-malformed-zip", "cut.mrec.zip", kind=mr.FormatError):
            mr.unpack(cut)
    assert not (tmp_path / "cut.mrec").exists()


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    for name, content in (("a.zip", b""), ("b.mrec.zip", b"not a zip"), ("c.mrec", b"\x89HDF\r\n\x1a\n" * 100)):
        (tmp_path / name).write_bytes(content)
        with refused("reject-malformed-zip|reject-not-a-record", name, kind=mr.FormatError):
            mr.open(tmp_path / name)


def repacked(packed: Path, target: Path, change: Callable[[zipfile.ZipFile, dict[str, bytes]], None]) -> Path:
    """Write an archive's entries again, letting `change` add to them or take some over itself."""
    with zipfile.ZipFile(packed) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        change(archive, entries)
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return target


def test_a_compressed_entry_is_refused(tmp_path: Path) -> None:
    def compress(archive: zipfile.ZipFile, entries: dict[str, bytes]) -> None:
        archive.writestr("frame/atoms/x/zarr.json", entries.pop("frame/atoms/x/zarr.json"), zipfile.ZIP_DEFLATED)

    bad = repacked(mr.pack(write_frame(tmp_path / "run.mrec")), tmp_path / "bad.mrec.zip", compress)
    for refuse in (mr.open, mr.unpack):
        with refused("reject-compressed-zip-entry", "frame/atoms/x/zarr.json", kind=mr.FormatError):
            refuse(bad)
    assert not (tmp_path / "bad.mrec").exists()


def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    packed = mr.pack(write_frame(tmp_path / "run.mrec"))
    content = bytearray(packed.read_bytes())
    place = content.index(b"PK\x01\x02")
    struct.pack_into("<H", content, place + 8, 1)
    packed.write_bytes(content)
    with refused("reject-compressed-zip-entry", kind=mr.FormatError):
        mr.open(packed)


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/evil", "a/../../evil", "a//b", "./a", "a/./b", "..", "a\\b", "C:\\evil", "a/"]
)
def test_an_entry_name_that_leaves_the_archive_is_refused(name: str, tmp_path: Path) -> None:
    def add(archive: zipfile.ZipFile, _: dict[str, bytes]) -> None:
        entry = zipfile.ZipInfo("placeholder")
        entry.filename = name
        archive.writestr(entry, b"" if name.endswith("/") else b"evil")

    folder = tmp_path / "inner"
    folder.mkdir()
    bad = repacked(mr.pack(write_frame(folder / "run.mrec")), folder / "bad.mrec.zip", add)
    if name == "a/":
        read_everything(bad)  # a directory entry is ignored
        return
    for refuse in (mr.open, mr.unpack):
        with refused("reject-zip-entry-name", repr(name)[1:-1], kind=mr.FormatError):
            refuse(bad)
    assert not (folder / "bad.mrec").exists()
    assert not (tmp_path / "evil").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_repeated_entry_is_refused(tmp_path: Path) -> None:
    def repeat(archive: zipfile.ZipFile, entries: dict[str, bytes]) -> None:
        archive.writestr("meta/zarr.json", entries["meta/zarr.json"])

    bad = repacked(mr.pack(write_frame(tmp_path / "run.mrec")), tmp_path / "bad.mrec.zip", repeat)
    with refused("reject-zip-entry-name", "meta/zarr.json", kind=mr.FormatError):
        mr.open(bad)


def test_an_entry_that_reaches_outside_the_archive_is_refused(tmp_path: Path) -> None:
    packed = mr.pack(write_frame(tmp_path / "run.mrec"))
    content = bytearray(packed.read_bytes())
    place = content.rindex(b"PK\x01\x02")
    size = struct.unpack_from("<I", content, place + 24)[0] + len(content)
    struct.pack_into("<II", content, place + 20, size, size)
    packed.write_bytes(content)
    with refused("reject-malformed-zip", kind=mr.FormatError):
        read_everything(packed)


def test_an_archive_of_something_else_is_no_record(tmp_path: Path) -> None:
    target = tmp_path / "other.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("hello.txt", "hello")
    with refused("reject-not-a-record", "other.zip", kind=mr.FormatError):
        mr.open(target)


def test_an_archive_states_what_the_specification_asks(record: Path) -> None:
    packed = mr.pack(write_run(record))
    with zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        assert names == sorted(names)
        assert set(names) == set(files(record))
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        assert len({info.date_time for info in archive.infolist()}) == 1
        for info in archive.infolist():
            assert zlib.crc32(archive.read(info)) == info.CRC
    before = packed.read_bytes()
    assert mr.pack(record, overwrite=True).read_bytes() == before
    assert zipfile.ZipFile(io.BytesIO(before)).testzip() is None


def test_no_name_is_packed_that_cannot_be_unpacked(tmp_path: Path) -> None:
    record = tmp_path / "run.mrec"
    write_frame(record)
    (record / "notes\\of mine.txt").write_text("mine")
    with untouched(record):
        try:
            packed = mr.pack(record)
        except mr.MolrecError as error:
            assert error.rule == "reject-zip-entry-name"  # noqa: PT017 - a refusal is as good
        else:
            read_everything(packed)
            assert mr.open(packed).meta == {"molrec_version": 1}
