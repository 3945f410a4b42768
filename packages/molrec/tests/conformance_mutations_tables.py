"""Breaks in force fields and collections."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import numpy as np

from molrec.conformance.content import (
    Block,
    Collection,
    CollectionRecord,
    Column,
    ForceField,
    Frame,
    Trajectory,
)

from .conformance_breaking import Change, Mutation, Patch, always, each

replace = dataclasses.replace


def _tables(change: Callable[[dict[str, Block]], dict[str, Block]]) -> Change:
    return each(ForceField, lambda one: replace(one, tables=change(one.tables)))


def _document(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Change:
    return each(ForceField, lambda one: replace(one, document=change(one.document)))


def _in_columns(change: Callable[[str, Any], Any]) -> Change:
    def changed(tables: dict[str, Block]) -> dict[str, Block]:
        return {
            name: replace(one, columns={key: change(key, held) for key, held in one.columns.items()})
            for name, one in tables.items()
        }

    return _tables(changed)


def _known_styles(document: dict[str, Any]) -> dict[str, Any]:
    known = {"atom", "bond", "angle", "dihedral", "improper", "pair"}
    return {**document, "styles": [one for one in document["styles"] if one["category"] in known]}


def _sorted(one: Block) -> Block:
    if "name" not in one.columns:
        return one
    order = np.argsort(np.asarray(one.columns["name"].values, dtype=object), kind="stable")
    return replace(
        one,
        columns={
            key: replace(held, values=held.values[order])
            for key, held in one.columns.items()
            if isinstance(held.values, np.ndarray)
        },
    )


FORCEFIELD = (
    Mutation(
        "special bonds have a default",
        "ff-without-special-bonds",
        returned=_document(lambda one: {"special_bonds": {"lj": [0.0, 0.0, 0.5], "coul": [0.0, 0.0, 0.8333]}} | one),
    ),
    Mutation(
        "an absent parameter is 0", "ff-absent-params", returned=_in_columns(lambda _, one: replace(one, validity=None))
    ),
    Mutation(
        "style names are not decoded",
        "ff-style-name-encoding",
        returned=_tables(lambda one: {unquote(name): table for name, table in one.items()}),
    ),
    Mutation("an unknown category is dropped", "ff-unknown-category", returned=_document(_known_styles)),
    Mutation(
        "unknown keys of the document are dropped",
        "ff-document-keys-preserved",
        written=_document(lambda one: {key: value for key, value in one.items() if key in ("name", "units", "styles")}),
    ),
    Mutation(
        "tables no style names are dropped",
        "ff-document-keys-preserved",
        returned=_tables(lambda one: {name: table for name, table in one.items() if "." in name}),
    ),
    Mutation(
        "a wildcard is a null",
        "ff-wildcard-endpoints",
        returned=_in_columns(
            lambda key, one: (
                replace(one, validity=one.values != "") if key == "itom" and (one.values == "").any() else one
            )
        ),
    ),
    Mutation(
        "expressions are trimmed",
        "ff-unknown-style-with-expression",
        written=_document(
            lambda one: {
                **one,
                "styles": [
                    {**style, "expression": style["expression"].strip()} if "expression" in style else style
                    for style in one["styles"]
                ],
            }
        ),
    ),
    Mutation(
        "numbers are converted to angstrom",
        "ff-units-preserved",
        returned=_in_columns(lambda key, one: replace(one, values=one.values * 10.0) if key == "r0" else one),
    ),
    Mutation(
        "rows are sorted by name",
        "ff-round-trip",
        written=_tables(lambda one: {name: _sorted(table) for name, table in one.items()}),
    ),
    Mutation(
        "styles are sorted",
        "ff-hybrid-styles",
        written=_document(lambda one: {**one, "styles": sorted(one["styles"], key=lambda style: style["style"])}),
    ),
    Mutation(
        "a style without rows is dropped",
        "ff-per-instance-style",
        returned=_tables(lambda one: {name: table for name, table in one.items() if table.rows}),
    ),
    Mutation(
        "pairs are not compared",
        "reject-ff-pair-conflict",
        (Patch("molrec.forcefield.pair_tables:PairTable", always(None)),),
    ),
)


def _index(change: Callable[[dict[str, Column]], dict[str, Column]]) -> Change:
    return each(
        Collection,
        lambda one: (
            one
            if one.index is None
            else replace(one, index=replace(one.index, columns=change(dict(one.index.columns))))
        ),
    )


def _inclusive(columns: dict[str, Column]) -> dict[str, Column]:
    return columns | {
        "first_frame": Column("u64", np.asarray(columns["first_frame"].values) + columns["n_frames"].values)
    }


def _records(change: Callable[[list[CollectionRecord]], list[CollectionRecord]]) -> Change:
    return each(Collection, lambda one: replace(one, records=change(one.records)))


def _carried_over(records: list[CollectionRecord]) -> list[CollectionRecord]:
    held: dict[str, Block] = {}
    found = []
    for record in records:
        run = record.trajectory
        if isinstance(run, Trajectory):
            steps = []
            for step in run.frames:
                held = held | step.frame.blocks
                steps.append(replace(step, frame=replace(step.frame, blocks=dict(held))))
            run = replace(run, frames=steps)
        found.append(replace(record, trajectory=run))
    return found


def _filled(one: Collection) -> Collection:
    assert one.schema is not None
    names = list(one.schema.blocks)

    def fill(frame: Frame) -> Frame:
        return replace(frame, blocks={name: Block(0) for name in names} | frame.blocks)

    return replace(one, records=[replace(r, trajectory=each(Frame, fill)(r.trajectory)) for r in one.records])


COLLECTION = (
    Mutation("prefix sums are inclusive", "collection-index", returned=_index(_inclusive)),
    Mutation(
        "nulls of own index columns are blanks",
        "collection-index",
        returned=_index(lambda columns: {name: replace(one, validity=None) for name, one in columns.items()}),
    ),
    Mutation(
        "own index columns are dropped",
        "collection-index",
        returned=_index(lambda columns: dict(list(columns.items())[:4])),
    ),
    Mutation("absent blocks are filled", "subset-of-declaration", returned=each(Collection, _filled)),
    Mutation(
        "blocks carry forward from record to record", "collection-carry-forward", returned=_records(_carried_over)
    ),
    Mutation(
        "records share the first one's meta",
        "collection-record-meta",
        returned=_records(lambda records: [replace(one, meta=records[0].meta) for one in records]),
    ),
    Mutation(
        "units have no defaults",
        "collection-units-defaults",
        (Patch("molrec.model.collection:units_with_defaults", lambda original: dict),),
    ),
    Mutation(
        "a trajectory without frames is none",
        "zero-frame-trajectory",
        returned=_records(
            lambda records: [
                replace(one, trajectory=one.trajectory if one.trajectory and one.trajectory.frames else None)
                for one in records
            ]
        ),
    ),
    Mutation(
        "a precision stands in frame bytes too",
        "precision-in-collection",
        (
            Patch(
                "molrec.storage.lmdb.frame_bytes:column_entry",
                lambda original: lambda *given: {**original(*given), "precision": 1e-3},
            ),
        ),
    ),
    Mutation(
        "the force field is dropped",
        "collection-forcefield",
        written=each(Collection, lambda one: replace(one, forcefield=None)),
    ),
)
