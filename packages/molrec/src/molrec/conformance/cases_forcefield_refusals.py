"""Cases of force fields that are refused (``docs/spec/forcefield.md``)."""

from __future__ import annotations

import dataclasses
from typing import Any

from molrec.conformance import tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.content import ForceField, Frame
from molrec.conformance.making import block, column, f64, frame, i64, strings
from molrec.conformance.sample_forcefields import (
    BOND,
    MINIMAL,
    bond_of,
    forcefield,
    single,
    style_entry,
    table,
)

__all__ = ["CASES"]


def _document(**entries: Any) -> ForceField:
    return dataclasses.replace(MINIMAL, document={**MINIMAL.document, **entries})


def _without(key: str) -> ForceField:
    kept = {name: value for name, value in MINIMAL.document.items() if name != key}
    return dataclasses.replace(MINIMAL, document=kept)


def _refused(name: str, content: ForceField) -> Example:
    return Example(name, content, refused=True)


def _stored(name: str, *edits: tamper.Edit, content: ForceField = MINIMAL) -> Example:
    return Example(name, content, edits=edits, refused=True)


_HARMONIC = "forcefield/bond.harmonic"
_CLASSES = [style_entry("atom", "full"), style_entry("bond", "harmonic", endpoint_key="class")]

_SYSTEM: Frame = frame(
    {
        "atoms": block({"x": f64(0.0, 3.0), "y": f64(0.0, 0.0), "z": f64(0.0, 0.0), "type": strings("A", "B")}),
    }
)


def _pairs(epsilon: float) -> ForceField:
    return forcefield(
        [style_entry("atom", "full"), style_entry("pair", "lj/cut", params={"cutoff": 10.0})],
        {
            "atom.full": table("A B", mass=f64(1.0, 2.0), charge=f64(0.0, 0.0)),
            "pair.lj%2Fcut": table(
                "A B AB BA", "A B A B", "A B B A", epsilon=f64(0.1, 0.2, 0.15, epsilon), sigma=f64(1.0, 1.0, 1.0, 1.0)
            ),
        },
    )


CASES: tuple[Case, ...] = (
    Case(
        "reject-ff-no-units",
        "forcefield.md#units",
        "a force field states its units",
        (
            _refused("", _without("units")),
            _refused("empty", _document(units={})),
            _stored("stored", tamper.drop("forcefield", "units")),
        ),
    ),
    Case(
        "reject-ff-units-conflict",
        "forcefield.md#units",
        "a quantity beside a preset is the unit the preset stands for",
        (
            _refused("", _document(units={"preset": "real", "energy": "kJ/mol"})),
            _refused("no unit", _document(units={"preset": "real", "length": "parsnip"})),
            _stored("stored", tamper.attribute("forcefield", "units", {"preset": "real", "length": "nm"})),
        ),
    ),
    Case(
        "reject-ff-duplicate-style",
        "forcefield.md#styles",
        "a category and style stand in the list once",
        (
            _refused("", _document(styles=[style_entry("bond", "harmonic")] * 2)),
            _stored("stored", tamper.attribute("forcefield", "styles", [style_entry("bond", "harmonic")] * 2)),
        ),
    ),
    Case(
        "reject-ff-missing-table",
        "forcefield.md#tables",
        "every style has a table",
        (_refused("", dataclasses.replace(MINIMAL, tables={})), _stored("stored", tamper.delete(_HARMONIC))),
    ),
    Case(
        "reject-ff-null-name",
        "forcefield.md#tables",
        "every row has a name",
        (
            _refused(
                "null",
                single(
                    "bond",
                    "harmonic",
                    "bond.harmonic",
                    block(
                        {
                            "name": strings("a", "", validity=[True, False]),
                            "itom": strings("C", "C"),
                            "jtom": strings("C", "H"),
                        }
                    ),
                ),
            ),
            _refused(
                "no column",
                single("bond", "harmonic", "bond.harmonic", block({"itom": strings("C"), "jtom": strings("C")})),
            ),
            _stored("stored", tamper.delete(f"{_HARMONIC}/name")),
        ),
    ),
    Case(
        "reject-ff-duplicate-type-name",
        "forcefield.md#tables",
        "a name is one row of its table",
        (
            _refused("", single("bond", "harmonic", "bond.harmonic", table("a a", "C C", "C H", k=f64(1.0, 2.0)))),
            _stored("stored", tamper.array(f"{_HARMONIC}/name", "string", ["a", "a"])),
        ),
    ),
    Case(
        "reject-ff-wrong-arity",
        "forcefield.md#tables",
        "a row has the endpoints its category has, none null",
        (
            _refused("few", single("angle", "harmonic", "angle.harmonic", table("a", "C", "C", k=f64(1.0)))),
            _refused("many", single("bond", "harmonic", "bond.harmonic", table("a", "C", "C", "C", k=f64(1.0)))),
            _refused(
                "null",
                single(
                    "bond",
                    "harmonic",
                    "bond.harmonic",
                    block({"name": strings("a"), "itom": strings("", validity=[False]), "jtom": strings("C")}),
                ),
            ),
            _stored("stored", tamper.delete(f"{_HARMONIC}/jtom")),
        ),
    ),
    Case(
        "reject-ff-param-dtype",
        "forcefield.md#tables",
        "a parameter is one f64 or string for each row, without a precision",
        (
            _refused("i64", single("bond", "harmonic", "bond.harmonic", bond_of(k=i64(1)))),
            _refused("vector", single("bond", "harmonic", "bond.harmonic", bond_of(k=column("f64", [[1.0, 2.0]])))),
            _refused("precision", single("bond", "harmonic", "bond.harmonic", bond_of(k=f64(1.0, precision=1e-3)))),
            _stored("stored", tamper.array(f"{_HARMONIC}/k", "i8", [1, 2])),
        ),
    ),
    Case(
        "reject-ff-class-key-without-class",
        "forcefield.md#tables",
        "endpoints by class need the classes of the atom types",
        (
            _refused("", forcefield(_CLASSES, {"atom.full": table("C", mass=f64(12.0)), "bond.harmonic": BOND})),
            _stored(
                "stored",
                tamper.delete("forcefield/atom.full/class"),
                content=forcefield(
                    _CLASSES,
                    {"atom.full": table("C", mass=f64(12.0), **{"class": strings("C")}), "bond.harmonic": BOND},
                ),
            ),
        ),
    ),
    Case(
        "reject-ff-pair-conflict",
        "forcefield.md#linking-a-system",
        "rows that price one pair of types differently are refused when a system is linked",
        (
            Example("", _pairs(0.25), refused=True, linked=_SYSTEM),
            Example("restated alike", _pairs(0.15), linked=_SYSTEM),
        ),
    ),
)
