"""Cases of whole records: sections side by side, documents, the version, references across (``record.md``)."""

from __future__ import annotations

import dataclasses
from typing import Any

from molrec.conformance import looks, tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.content import ForceField, Frame, Record, Run
from molrec.conformance.making import aligned, block, declared, f64, frame, meta, run, strings, u64
from molrec.conformance.sample_forcefields import MINIMAL, ROUND_TRIP
from molrec.conformance.values import META

__all__ = ["CASES"]

_SYSTEM = frame({"atoms": block({"element": strings("O", "H", "H"), "mass": f64(16.0, 1.0, 1.0)})})
_MOVES = [frame({"atoms": block({"x": f64(0.0 + k, 1.0, 2.0)})}) for k in range(3)]
_RUN = run(_MOVES, steps=[0, 5, 10], times=[0.0, 0.5, 1.0])


def _pointing(target: str, *rows: int) -> Frame:
    return frame({"beads": block({"ibead": u64(*rows)}, targets={"ibead": target})})


_STATUS: dict[str, Any] = {"state": "running", "stage": "equilibration", "global_step": 500, "custom": [1, None]}
_METHOD: dict[str, Any] = {
    "type": "classical",
    "description": "NVT",
    "engine": {"name": "an engine", "version": "1.2"},
    "thermostat": {"kind": "Langevin", "temperature": 300.0},
}


def _run_with(*frames: Frame) -> Record:
    return Record(system=_SYSTEM, run=run(list(frames)))


def _atoms(count: int, **columns: Any) -> Frame:
    return frame({"atoms": block({"x": f64(*range(count)), **columns})})


_NAMED = frame({"atoms": block({"id": u64(1, 2, 3)})})
_ALIGNED: Run = dataclasses.replace(
    run([frame({"sites": block({"x": f64(0.0)}), "atoms": block({"type": strings("a")})})]),
    schema=aligned(
        declared([frame({"sites": block({"x": f64(0.0)}), "atoms": block({"type": strings("a")})})]), "atoms", "sites"
    ),
)


def _forcefield(content: ForceField) -> Record:
    return Record(forcefield=content)


CASES: tuple[Case, ...] = (
    Case(
        "sections-side-by-side",
        "record.md#sections",
        "sections stand beside each other, none lost",
        (
            Example(
                "",
                Record(
                    meta={"title": "all", "author": {"name": "A"}},
                    frame=_atoms(2),
                    system=_SYSTEM,
                    run=_RUN,
                    forcefield=MINIMAL,
                    status=_STATUS,
                    method=_METHOD,
                ),
                looks=(looks.PackedForm(),),
            ),
        ),
    ),
    Case(
        "meta-document",
        "record.md#the-meta-document",
        "the meta document is plain JSON, kept with its types and unknown keys",
        (
            Example(
                "",
                Record(
                    meta={"n": 3, "x": 1.5, "one": 1.0, "none": None, "deep": {"a": [True, {}]}, "é": "🧪"},
                    system=_SYSTEM,
                ),
            ),
            Example(
                "missing",
                Record(system=_SYSTEM),
                edits=(tamper.delete("meta"),),
            ),
        ),
    ),
    Case(
        "version-stamp",
        "record.md#version",
        "a writer stamps version 1; a reader takes a record without it",
        (
            Example("", Record(system=_SYSTEM), looks=(looks.AttributeIs("meta", "molrec_version", 1),)),
            Example(
                "absent",
                Record(system=_SYSTEM),
                edits=(tamper.attribute("meta", "title", "x"), tamper.drop("meta", "molrec_version")),
                expected=Record(meta={"title": "x"}, system=_SYSTEM),
            ),
        ),
    ),
    Case(
        "system-typed-meta",
        "frame.md#typed-meta",
        "the system has typed meta as a frame has",
        (
            Example(
                "",
                Record(
                    system=frame(
                        _SYSTEM.blocks,
                        meta={"total_charge": meta("i64", -1), "spin": meta("i64", 1), "smiles": meta("string", "O")}
                        | {f"m_{tag}": meta(tag, value) for tag, value in META.items()},
                    )
                ),
                looks=(looks.AttributeIs("system", "total_charge", -1),),
            ),
        ),
    ),
    Case(
        "status-only-record",
        "record.md#sections",
        "a record of a job that has not begun holds its status",
        (Example("", Record(meta={"title": "queued"}, status={"state": "pending"})),),
    ),
    Case(
        "targets-absolute",
        "frame.md#row-references",
        "a reference may reach into another section, and is held to it",
        (
            Example(
                "",
                Record(system=_SYSTEM, frame=_pointing("/system/atoms", 0, 2)),
                looks=(looks.AttributeIs("frame/beads", "targets", {"ibead": "/system/atoms"}),),
            ),
            Example("from a run", Record(system=_SYSTEM, run=run([_pointing("/system/atoms", 0, 2)]))),
            Example("section not there", Record(frame=_pointing("/system/atoms", 0, 99))),
            Example("out of range", Record(system=_SYSTEM, frame=_pointing("/system/atoms", 0, 3)), refused=True),
        ),
    ),
    Case(
        "reject-target-into-trajectory",
        "frame.md#row-references",
        "no reference reaches into the trajectory from without",
        (
            Example("", Record(frame=_pointing("/trajectory/atoms", 0), run=_RUN), refused=True),
            Example(
                "stored",
                Record(system=_SYSTEM, frame=_pointing("/system/atoms", 0)),
                edits=(tamper.attribute("frame/beads", "targets", {"ibead": "/trajectory/atoms"}),),
                refused=True,
            ),
        ),
    ),
    Case(
        "record-with-forcefield",
        "forcefield.md#the-section",
        "a force field stands beside the system whose types it names",
        (
            Example(
                "",
                Record(
                    system=frame({"atoms": block({"type": strings("CT", "CT", "HC"), "x": f64(0.0, 1.0, 2.0)})}),
                    forcefield=ROUND_TRIP,
                ),
            ),
        ),
    ),
    Case(
        "forcefield-only-record",
        "forcefield.md#the-section",
        "a record may hold a force field and nothing else",
        (
            Example(
                "",
                _forcefield(ROUND_TRIP),
                looks=(
                    looks.AttributeIs("meta", "modules/forcefield/version", [1, 0]),
                    looks.NoNode("system"),
                ),
            ),
        ),
    ),
    Case(
        "unknown-sections",
        "record.md#unknown-content",
        "sections, groups and keys nobody knows do not stand in the way",
        (
            Example(
                "",
                Record(system=_SYSTEM, run=_RUN),
                edits=(
                    tamper.group("strange"),
                    tamper.array("strange/a", "f4", [1.0]),
                    tamper.array("system/loose", "i8", [1]),
                    tamper.attribute("", "key", "value"),
                ),
            ),
        ),
    ),
    Case(
        "reject-empty-record",
        "record.md#sections",
        "a record has something beside its meta document",
        (Example("", Record(meta={"title": "nothing"}), refused=True),),
    ),
    Case(
        "reject-molrec-version",
        "record.md#version",
        "a version is an integer that the reader knows",
        (
            *(
                Example(
                    f"stored {value!r}",
                    Record(system=_SYSTEM),
                    edits=(tamper.attribute("meta", "molrec_version", value),),
                    refused=True,
                )
                for value in (None, 0, 1.0, True, "1", 2)
            ),
            Example("", Record(meta={"molrec_version": 2}, system=_SYSTEM), refused=True),
        ),
    ),
    Case(
        "reject-not-a-record",
        "record.md#the-root",
        "a store without a group at its root is no record",
        (Example("", Record(system=_SYSTEM), edits=(tamper.delete("zarr.json"),), refused=True),),
    ),
    Case(
        "reject-system-id",
        "trajectory.md#beside-a-system",
        "where system and run both have `id`, the values are equal",
        (Example("", Record(system=_NAMED, run=run([_atoms(3, id=u64(1, 2, 4))])), refused=True),),
    ),
)
SYSTEM_ROWS: tuple[Example, ...] = (
    Example("record", _run_with(_atoms(2)), refused=True),
    Example("record, later", _run_with(_atoms(3), _atoms(4)), refused=True),
)
SYSTEM_ALIGNED = Example("record", Record(system=_SYSTEM, run=_ALIGNED), refused=True)
