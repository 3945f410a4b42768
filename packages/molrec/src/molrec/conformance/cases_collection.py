"""Cases of collections (``docs/spec/collection.md``, ``docs/spec/lmdb.md``)."""

from __future__ import annotations

import dataclasses
import math

from molrec.conformance import looks, making
from molrec.conformance.case import Case, Example
from molrec.conformance.content import CollectionRecord, Frame
from molrec.conformance.making import block, column, declared, f64, frame, meta, run, strings, u64
from molrec.conformance.sample_collections import (
    SYSTEM,
    TWO,
    UNITS,
    aligned_run,
    atoms,
    both,
    collection,
    labelled,
)
from molrec.conformance.sample_forcefields import ROUND_TRIP
from molrec.conformance.tamper_collection import key
from molrec.conformance.values import META

__all__ = ["CASES"]

_FRAMES = [
    frame({"atoms": block({"x": f64(0.0 + k, 1.0, 2.0)}), "bonds": block({"atomi": u64(0), "atomj": u64(1)})})
    for k in range(3)
]
_PRECISE = [
    frame({"atoms": block({"x": f64(0.0014 + k, 1.0, precision=1e-3), "s": strings("a", "é\0")})}) for k in range(2)
]
_OWN_SCHEMA = declared(_FRAMES)


CASES: tuple[Case, ...] = (
    Case(
        "collection-labelled",
        "collection.md#parts",
        "labelled structures of different size, with their meta",
        (
            Example(
                "",
                TWO,
                looks=(
                    looks.KeysAre((b"meta", b"index", key("r", 0), key("r", 1), key("f", 0), key("f", 1))),
                    looks.ValueHolds(
                        b"meta",
                        {
                            "/layout": "mrec-lmdb",
                            "/layout_version": 1,
                            "/n_records": 2,
                            "/n_frames": 2,
                            "/collection/molrec_version": 1,
                            "/collection/units/energy": "eV",
                        },
                    ),
                    looks.ValueHolds(key("r", 1), {"/config_type": "bulk"}),
                    looks.HeaderHolds(
                        key("f", 1),
                        {
                            "/blocks/atoms/count": 2,
                            "/blocks/atoms/columns/x/dtype": "f64",
                            "/blocks/atoms/columns/x/shape": [2],
                            "/meta/pe": -2.5,
                            "/step": 0,
                        },
                    ),
                ),
            ),
            Example("no records", collection(schema=declared([atoms(1)]))),
        ),
    ),
    Case(
        "collection-columns",
        "lmdb.md#frame-bytes",
        "masks, strings, bools, complex numbers and row vectors lie in frame bytes",
        (
            Example(
                "",
                collection(
                    CollectionRecord(
                        {},
                        frame(
                            {
                                "extra": block(
                                    {"s": strings("a", "", validity=[True, False]), "b": column("bool", [True, False])}
                                )
                            }
                        ),
                        run(
                            [
                                frame(
                                    {
                                        "g": block(
                                            {
                                                "q": f64(-0.0, math.nan, validity=[False, True]),
                                                "v": column("i32", [[1, 2, 3], [4, 5, -6]]),
                                                "c": column("c64", [1 + 2j, -0.0 - 1j]),
                                                "b": column("bool", [False, True]),
                                                "w": column("u8", [255, 0]),
                                                "s": strings("🧪", "nul\0"),
                                            }
                                        )
                                    },
                                    cell=making.box(9.0, (1.0, 0.0, 0.0), (True, True, False)),
                                )
                            ]
                        ),
                    )
                ),
            ),
        ),
    ),
    Case(
        "collection-carry-forward",
        "collection.md#frames-within-a-record",
        "what a frame omits carries forward within its record, and not into the next",
        (
            Example(
                "",
                collection(
                    CollectionRecord(
                        {}, None, run([_FRAMES[0], frame({"atoms": _FRAMES[1].blocks["atoms"]}), frame()], _OWN_SCHEMA)
                    ),
                    CollectionRecord(
                        {}, None, run([frame({"atoms": _FRAMES[1].blocks["atoms"]}), _FRAMES[2]], _OWN_SCHEMA)
                    ),
                ),
                looks=(looks.HeaderHolds(key("f", 2), {"/blocks": {}}),),
            ),
            Example(
                "cells, steps and times",
                collection(
                    CollectionRecord(
                        {},
                        None,
                        run(
                            [Frame(_FRAMES[0].blocks, making.box(5.0), {}), _FRAMES[1]],
                            steps=[3, 9],
                            times=[0.5, math.nan],
                        ),
                    ),
                    CollectionRecord({}, None, run([_FRAMES[0]], steps=[1])),
                ),
            ),
        ),
    ),
    Case(
        "collection-units-defaults",
        "collection.md#units",
        "mass and charge are amu and e unless stated",
        (
            Example("", collection(labelled(1))),
            Example(
                "stated",
                dataclasses.replace(
                    collection(labelled(1)), units={**UNITS, "mass": "kg", "charge": "C", "dipole": "debye"}
                ),
            ),
        ),
    ),
    Case(
        "collection-index",
        "collection.md#index",
        "the index counts frames and atoms of every record, and returns own columns as written",
        (
            Example(
                "",
                collection(
                    *(
                        dataclasses.replace(one, index={"molecule_id": name, "score": score})
                        for one, name, score in (
                            (labelled(3), "a", 0.5),
                            (labelled(2), "b", None),
                            (labelled(4), "a", -0.0),
                        )
                    )
                ),
            ),
        ),
    ),
    Case(
        "collection-fills",
        "collection.md#one-declaration",
        "per-step keys take their fills, of every tag",
        (
            Example(
                "",
                collection(
                    CollectionRecord(
                        {},
                        None,
                        run(
                            [atoms(1, energy=None)],
                            declared([atoms(1, energy=None)], **{f"m_{t}": meta(t, v) for t, v in META.items()}),
                        ),
                    )
                ),
            ),
        ),
    ),
    Case(
        "collection-record-meta",
        "collection.md#records",
        "every record has its own meta document",
        (
            Example(
                "",
                collection(
                    CollectionRecord({"a": 1, "deep": {"x": [1.0, None]}}, SYSTEM),
                    CollectionRecord({}, SYSTEM),
                    CollectionRecord({"a": "two"}, SYSTEM),
                    meta={"title": "some", "n": 1.0},
                ),
            ),
        ),
    ),
    Case(
        "precision-in-collection",
        "lmdb.md#frames",
        "the precision of frames stands in the declaration alone, that of a system with its column",
        (
            Example(
                "",
                collection(
                    CollectionRecord({}, frame({"sites": block({"w": f64(0.3, precision=0.25)})}), run(_PRECISE)),
                ),
                looks=(
                    looks.ValueHolds(b"meta", {"/sequence_schema/blocks/atoms/columns/x/precision": 1e-3}),
                    looks.HeaderHolds(key("f", 0), {"/blocks/atoms/columns/x/precision": None}),
                    looks.HeaderHolds(key("s", 0), {"/blocks/sites/columns/w/precision": 0.25}),
                ),
            ),
        ),
    ),
    Case(
        "collection-forcefield",
        "collection.md#parts",
        "one force field stands for all records",
        (
            Example(
                "",
                collection(labelled(2), forcefield=ROUND_TRIP),
                looks=(looks.HeaderHolds(b"ff", {"/meta/name": "case"}),),
            ),
        ),
    ),
    Case(
        "system-typed-meta-lmdb",
        "lmdb.md#frame-bytes",
        "a system in a collection keeps every tag",
        (
            Example(
                "",
                collection(
                    CollectionRecord(
                        {}, frame(SYSTEM.blocks, meta={f"m_{tag}": meta(tag, value) for tag, value in META.items()})
                    )
                ),
                looks=(looks.HeaderHolds(key("s", 0), {"/meta_types/m_u64": "u64", "/meta/m_u64": str(2**64 - 1)}),),
            ),
        ),
    ),
    Case(
        "aligned-in-collection",
        "collection.md#frames-within-a-record",
        "alignment holds within each record, and begins anew with the next",
        (
            Example(
                "",
                collection(
                    CollectionRecord({}, None, aligned_run(both(2, "ab"), both(3, "abc"))),
                    CollectionRecord({}, None, aligned_run(both(4, None), both(1, "a"))),
                ),
            ),
            Example(
                "not restated",
                collection(CollectionRecord({}, None, aligned_run(both(2, "ab"), both(3, None)))),
                refused=True,
            ),
        ),
    ),
    Case(
        "no-system",
        "collection.md#records",
        "a record may have no system",
        (Example("", collection(labelled(2)), looks=(looks.KeysAre((b"meta", b"index", key("r", 0), key("f", 0))),)),),
    ),
    Case(
        "no-trajectory",
        "collection.md#records",
        "a record may have no trajectory",
        (
            Example(
                "",
                collection(CollectionRecord({}, SYSTEM)),
                looks=(looks.KeysAre((b"meta", b"index", key("r", 0), key("s", 0))),),
            ),
        ),
    ),
    Case(
        "zero-frame-trajectory",
        "collection.md#records",
        "a trajectory without frames is there, which is not the same as none",
        (Example("", collection(CollectionRecord({}, SYSTEM, run([], declared([atoms(1)]))), labelled(1))),),
    ),
    Case(
        "subset-of-declaration",
        "collection.md#one-declaration",
        "a frame presents a subset of what is declared; a block it has not is absent",
        (
            Example(
                "",
                collection(
                    CollectionRecord({}, None, run([frame({"atoms": _FRAMES[0].blocks["atoms"]})], _OWN_SCHEMA)),
                    CollectionRecord(
                        {}, None, run([frame({"bonds": _FRAMES[0].blocks["bonds"]}), _FRAMES[1]], _OWN_SCHEMA)
                    ),
                    schema=_OWN_SCHEMA,
                ),
            ),
        ),
    ),
    Case(
        "system-beside-trajectory",
        "collection.md#system-and-trajectory",
        "blocks of one name in system and trajectory are two halves of one",
        (Example("", collection(CollectionRecord({}, SYSTEM, run([atoms(3)])))),),
    ),
)
