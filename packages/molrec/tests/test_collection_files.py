"""Collections: one file, there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import molrec as mr
from molrec.storage.lmdb import key_appender

from .collections_made import (
    UNITS,
    frame,
    write,
)
from .refusals import refused

resource: Any = pytest.importorskip("resource") if os.name == "posix" else None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a test may write its collection."""
    return tmp_path / "set.mrec.lmdb"


# -- files and processes ----------------------------------------------------------------------------------------------


def test_nothing_is_there_before_the_end_or_after_an_error(path: Path) -> None:
    writer = mr.CollectionWriter(path, units=UNITS)

    def fail() -> None:
        with writer:
            writer.append(frame())
            assert not path.exists()
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        fail()
    assert list(path.parent.iterdir()) == []
    with refused("reject-writer-closed"):
        writer.append(frame())
    writer.close()
    writer.abort()


def test_a_file_holds_nothing_of_its_writers_memory_and_is_the_same_each_time(tmp_path: Path) -> None:
    contents = []
    for name in ("one.mrec.lmdb", "two.mrec.lmdb"):
        passwords = [b"PASSWORD" * 500 for _ in range(200 * len(name))]
        del passwords
        write(tmp_path / name, *(frame(9, i) for i in range(300)))
        contents.append((tmp_path / name).read_bytes())
    assert b"PASSWORD" not in contents[0] + contents[1]
    assert contents[0] == contents[1]


def test_an_existing_file_is_replaced_only_when_asked_and_whole(path: Path) -> None:
    write(path, frame(3))
    before = path.read_bytes()
    with refused("reject-existing-path"):
        mr.CollectionWriter(path, units=UNITS)
    reader = mr.open_collection(path)
    with mr.CollectionWriter(path, units=UNITS, overwrite=True) as writer:
        writer.append(frame(7))
        assert path.read_bytes() == before
    assert reader.frames(0) == [frame(3)], "a reader keeps the file it opened"
    assert mr.open_collection(path).frames(0) == [frame(7)]
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_reject_second_writer(path: Path) -> None:
    with mr.CollectionWriter(path, units=UNITS) as writer:
        with refused("reject-second-writer"):
            mr.CollectionWriter(path, units=UNITS)
        writer.append(frame())
    assert len(mr.open_collection(path)) == 1


@pytest.mark.skipif(resource is None, reason="no limit to set")
@pytest.mark.parametrize("closing", [False, True])
def test_a_full_disk_is_an_oserror_and_leaves_what_was_there(path: Path, closing: bool) -> None:
    write(path, frame(3))
    writer = mr.CollectionWriter(path, units=UNITS, overwrite=True)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, limits[1]))

    def fill() -> None:
        for _ in range(10 if closing else 10_000):
            writer.append(frame(500))
        writer.close()

    try:
        with pytest.raises(OSError, match=path.name):
            fill()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer.abort()
    assert mr.open_collection(path).frames(0) == [frame(3)]
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_the_map_grows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_appender, "_FIRST_MAP", 64 * 1024)
    monkeypatch.setattr(key_appender, "_BATCH_BYTES", 16 * 1024)
    monkeypatch.setattr(key_appender, "_SPOOL_BYTES", 1024)
    system = mr.Frame({"atoms": mr.Block({"element": ["O"] * 50})})
    write(path, *({"record": frame(50, i), "system": system, "meta": {"i": i}} for i in range(300)))
    collection = mr.open_collection(path)
    assert all(collection.frames(i) == [frame(50, i)] and collection[i].meta == {"i": i} for i in range(300))
    assert all(record.system == system for record in collection)


def test_a_writer_interrupted_in_the_middle_of_a_record_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = mr.CollectionWriter(path, units=UNITS)
    writer.append(frame())

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writer._index, "add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        writer.append(frame())
    with refused("reject-writer-closed", "interrupted"):
        writer.append(frame())
    with refused("reject-writer-closed", "interrupted"):
        writer.close()
    assert list(path.parent.iterdir()) == []


def test_frames_that_cannot_be_read_leave_the_writer_sound(path: Path) -> None:
    def broken() -> Any:
        yield frame(3)
        raise RuntimeError("no more")

    with mr.CollectionWriter(path, units=UNITS) as writer:
        with pytest.raises(RuntimeError, match="no more"):
            writer.append(broken())
        writer.append(frame(2, pe=1.0))
    collection = mr.open_collection(path)
    assert collection.n_frames == 1
    assert collection.frames(0) == [frame(2, pe=1.0)]
