"""Files of collections whose pages were changed: examined before LMDB follows them anywhere (``docs/spec/lmdb.md``)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import lmdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import molrec as mr
from molrec.storage.lmdb.page_check import check_head, check_pages

from .collections_made import UNITS
from .refusals import refused

_PAGE = 4096
#: Where in the first two pages the later transaction's root, and the last page, are stated.
_ROOT, _LAST = 16 + 24 + 48 + 40, 16 + 24 + 96


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A collection of several levels, with values too large for a leaf."""
    target = tmp_path / "a.mrec.lmdb"
    rng = np.random.default_rng(1)
    with mr.CollectionWriter(target, units=UNITS) as writer:
        for number in range(400):
            rows = 900 if number % 100 == 0 else 1 + number % 5
            writer.append(mr.Frame({"atoms": mr.Block({"x": rng.normal(size=rows)})}))
    return target


def changed(path: Path, change: Callable[[bytearray], None]) -> Path:
    raw = bytearray(path.read_bytes())
    change(raw)
    target = path.with_name("bad.mrec.lmdb")
    target.write_bytes(raw)
    return target


def pages_of(path: Path, kind: int) -> list[int]:
    raw = path.read_bytes()
    head = check_head(path)
    return [
        number
        for number in range(2, head.last_page + 1)
        if struct.unpack_from("<QHH", raw, number * _PAGE)[::2] == (number, kind)
    ]


def check_refused(path: Path, mentions: str) -> None:
    with refused("reject-damaged-collection", mentions, kind=mr.FormatError):
        check_pages(path)
    assert [finding.rule for finding in mr.validate(path)] == ["reject-damaged-collection"]


def test_sound_files_pass(path: Path, tmp_path: Path) -> None:
    check_pages(path)
    head = check_head(path)
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as file:
        stat = file.stat()
        assert (head.depth, head.entries, head.page_size) == (stat["depth"], stat["entries"], stat["psize"])
        assert head.last_page == file.info()["last_pgno"]
    assert head.depth > 1
    for count in (0, 1, 2):
        small = tmp_path / f"{count}.mrec.lmdb"
        with mr.CollectionWriter(small, units=UNITS) as writer:
            for _ in range(count):
                writer.append(mr.Frame({"a": mr.Block({"v": [1.0]})}))
        check_pages(small)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.binary(min_size=1, max_size=40), st.binary(max_size=6000), max_size=60), st.booleans())
def test_whatever_lmdb_writes_passes(tmp_path: Path, content: dict[bytes, bytes], delete: bool) -> None:
    target = tmp_path / "any.lmdb"
    target.unlink(missing_ok=True)
    with lmdb.open(str(target), map_size=2**24, subdir=False, lock=False, sync=False) as file:
        for part in (content, dict(list(content.items())[::2]) if delete else {}):
            with file.begin(write=True) as transaction:
                for key, value in part.items():
                    if part is content:
                        transaction.put(key, value)
                    else:
                        transaction.delete(key)
    check_pages(target)


def test_no_lmdb_file_and_files_cut_short(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "x.mrec.lmdb"
    for content in (b"", b"x" * 100, b"x" * 10_000):
        other.write_bytes(content)
        with refused("reject-not-a-collection", "x.mrec.lmdb", kind=mr.FormatError):
            mr.open_collection(other)
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 2 * _PAGE, _PAGE + 10):
        other.write_bytes(whole[:size])
        with refused("reject-truncated-collection", "cut short", kind=mr.FormatError):
            mr.open_collection(other)


@pytest.mark.parametrize("place", [0, _PAGE])
def test_meta_pages_that_make_no_sense_are_refused_on_opening(place: int, path: Path) -> None:
    last = struct.unpack_from("<Q", path.read_bytes(), place + _LAST)[0]
    for where, value in ((_ROOT, 1), (_ROOT, last + 1), (_ROOT, 2**62)):
        bad = changed(path, lambda raw, where=where, value=value: struct.pack_into("<Q", raw, place + where, value))  # type: ignore[misc]
        with refused("reject-damaged-collection", "root", kind=mr.FormatError):
            mr.open_collection(bad)
        bad.unlink()


def test_a_branch_that_leads_out_of_the_file(path: Path) -> None:
    branch = check_head(path).root or 0

    def far(raw: bytearray) -> None:
        pointer = struct.unpack_from("<H", raw, branch * _PAGE + 16)[0]
        struct.pack_into("<HHH", raw, branch * _PAGE + pointer, 0xFFFF, 0xFFFF, 0)

    check_refused(changed(path, far), "a branch leads there")


def test_a_branch_that_leads_back_to_itself(path: Path) -> None:
    branch = check_head(path).root or 0

    def loop(raw: bytearray) -> None:
        pointer = struct.unpack_from("<H", raw, branch * _PAGE + 18)[0]
        struct.pack_into("<HHH", raw, branch * _PAGE + pointer, branch & 0xFFFF, branch >> 16, 0)

    check_refused(changed(path, loop), "in two ways")


@pytest.mark.parametrize(
    ("offset", "form", "value", "mentions"),
    [
        (0, "<Q", 1, "is no leaf"),
        (10, "<H", 0x08, "is no leaf"),
        (12, "<H", 17, "is no leaf"),
        (14, "<H", 5000, "is no leaf"),
        (12, "<H", 16, "is no leaf"),
        (16, "<H", 3, "outside"),
        (16, "<H", 4095, "outside"),
    ],
)
def test_leaves_out_of_form(offset: int, form: str, value: int, mentions: str, path: Path) -> None:
    leaf = pages_of(path, 2)[0]
    check_refused(changed(path, lambda raw: struct.pack_into(form, raw, leaf * _PAGE + offset, value)), mentions)


@pytest.mark.parametrize(
    ("offset", "form", "value", "mentions"),
    [
        (0, "<I", 2**31, "does not fit"),
        (6, "<H", 600, "does not fit"),
        (6, "<H", 0, "does not fit"),
        (4, "<H", 0x04, "of a kind"),
        (8, "<B", 0xFF, "out of order"),
    ],
)
def test_nodes_out_of_form(offset: int, form: str, value: int, mentions: str, path: Path) -> None:
    leaf = pages_of(path, 2)[0]

    def spoil(raw: bytearray) -> None:
        pointer = struct.unpack_from("<H", raw, leaf * _PAGE + 18)[0]
        struct.pack_into(form, raw, leaf * _PAGE + pointer + offset, value)

    check_refused(changed(path, spoil), mentions)


def test_large_values_that_lie_elsewhere(path: Path) -> None:
    overflow = pages_of(path, 4)[0]
    for offset, form, value in ((0, "<Q", 1), (10, "<H", 2), (12, "<I", 0), (12, "<I", 2**30)):
        bad = changed(path, lambda raw, o=offset, f=form, v=value: struct.pack_into(f, raw, overflow * _PAGE + o, v))  # type: ignore[misc]
        check_refused(bad, "large value")
        bad.unlink()


def test_a_separator_that_hides_keys(path: Path) -> None:
    """Without it the key is not found, and a system that is there would read as none."""
    branch = check_head(path).root or 0

    def hide(raw: bytearray) -> None:
        pointer = struct.unpack_from("<H", raw, branch * _PAGE + 18)[0]
        raw[branch * _PAGE + pointer + 8] = 0

    check_refused(changed(path, hide), "out of order")
