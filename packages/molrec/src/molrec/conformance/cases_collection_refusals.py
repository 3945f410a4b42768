"""Cases of collections that are refused (``docs/spec/collection.md``, ``docs/spec/lmdb.md``)."""

from __future__ import annotations

import dataclasses

from molrec.conformance import tamper_collection
from molrec.conformance.case import Case, Example
from molrec.conformance.cases_record import SYSTEM_ALIGNED, SYSTEM_ROWS
from molrec.conformance.content import Collection, CollectionRecord
from molrec.conformance.making import block, f64, frame, i64, run
from molrec.conformance.sample_collections import (
    SYSTEM,
    TWO,
    aligned_run,
    atoms,
    both,
    collection,
    labelled,
)
from molrec.conformance.tamper_collection import header, key, lose, overwrite, payload, put_in, take_from

__all__ = ["CASES"]


def _refused(name: str, content: Collection) -> Example:
    return Example(name, content, refused=True)


def _stored(name: str, *edits: tamper_collection.Edit) -> Example:
    return Example(name, TWO, edits=edits, refused=True)


_X = "/blocks/atoms/columns/x"

CASES: tuple[Case, ...] = (
    Case(
        "reject-aligned-shares-system-name",
        "trajectory.md#aligned-blocks",
        "an aligned block has not the name of a block of the system",
        (
            SYSTEM_ALIGNED,
            _refused(
                "collection",
                collection(
                    CollectionRecord({}, frame({"types": block({"charge": f64(0.0)})}), aligned_run(both(1, "a")))
                ),
            ),
        ),
    ),
    Case(
        "reject-schema-differs",
        "collection.md#one-declaration",
        "every record is declared as the collection is",
        (
            _refused(
                "dtype",
                collection(
                    CollectionRecord({}, None, run([frame({"g": block({"v": f64(1.0)})})])),
                    CollectionRecord({}, None, run([frame({"g": block({"v": i64(1)})})])),
                ),
            ),
            _refused(
                "column",
                collection(
                    CollectionRecord({}, None, run([frame({"g": block({"v": f64(1.0)})})])),
                    CollectionRecord({}, None, run([frame({"g": block({"v": f64(1.0), "w": f64(1.0)})})])),
                ),
            ),
            _refused(
                "per-step key",
                collection(labelled(1), CollectionRecord({}, None, run([atoms(1, energy=None)]))),
            ),
        ),
    ),
    Case(
        "reject-system-row-count",
        "trajectory.md#beside-a-system",
        "a block in system and trajectory has one row count",
        (*SYSTEM_ROWS, _refused("collection", collection(CollectionRecord({}, SYSTEM, run([atoms(2)]))))),
    ),
    Case(
        "reject-system-shared-column",
        "collection.md#system-and-trajectory",
        "in a collection no column is in both halves of a block",
        (_refused("", collection(CollectionRecord({}, atoms(2, energy=None), run([atoms(2)])))),),
    ),
    Case(
        "reject-no-units",
        "collection.md#units",
        "a collection states its units",
        (
            _refused("", dataclasses.replace(TWO, units={})),
            _stored("stored", take_from(b"meta", "/collection/units")),
        ),
    ),
    Case(
        "reject-units",
        "collection.md#units",
        "a unit is one, and of its quantity",
        (
            _refused("no unit", dataclasses.replace(TWO, units={"length": "parsnip"})),
            _refused("of another quantity", dataclasses.replace(TWO, units={"energy": "angstrom"})),
        ),
    ),
    Case(
        "reject-record-units",
        "collection.md#records",
        "a record of a collection states no units",
        (_refused("", collection(CollectionRecord({"units": {"length": "nm"}}, SYSTEM))),),
    ),
    Case(
        "reject-prefix-sums",
        "collection.md#index",
        "the counts of the index add up",
        (
            _stored("first_frame", payload(b"index", 8, b"\2")),
            _stored("n_frames", put_in(b"meta", "/n_frames", 3)),
        ),
    ),
    Case(
        "reject-not-a-collection",
        "lmdb.md#the-file",
        "a file whose meta is not there was never completed",
        (_stored("no meta", lose(b"meta")), _stored("layout", put_in(b"meta", "/layout", "other"))),
    ),
    Case(
        "reject-layout-version",
        "lmdb.md#meta",
        "a layout of another version is refused",
        (_stored("", put_in(b"meta", "/layout_version", 2)),),
    ),
    Case(
        "reject-missing-key",
        "lmdb.md#keys",
        "a value the index counts is there",
        (_stored("frame", lose(key("f", 1))), _stored("record", lose(key("r", 1)))),
    ),
    Case(
        "reject-bad-magic",
        "lmdb.md#frame-bytes",
        "frame bytes begin with MRF1",
        (_stored("", overwrite(key("f", 1), 0, b"MRF2")),),
    ),
    Case(
        "reject-misaligned-offset",
        "lmdb.md#frame-bytes",
        "buffers begin at multiples of 8",
        (_stored("", header(key("f", 1), f"{_X}/offset", 4)),),
    ),
    Case(
        "reject-buffer-past-value",
        "lmdb.md#frame-bytes",
        "no buffer ends past its value",
        (_stored("", header(key("f", 1), f"{_X}/offset", 4096)),),
    ),
    Case(
        "reject-malformed-header",
        "lmdb.md#frame-bytes",
        "a header says of every column what it must",
        (_stored("", header(key("f", 1), f"{_X}/offset", "none")),),
    ),
)
