"""Cases of force fields: the document and the tables (``docs/spec/forcefield.md``)."""

from __future__ import annotations

import dataclasses

from molrec.conformance import looks
from molrec.conformance.case import Case, Example
from molrec.conformance.making import block, f64, i64, strings, u64
from molrec.conformance.sample_forcefields import (
    BOND,
    MINIMAL,
    ROUND_TRIP,
    bond_of,
    forcefield,
    single,
    style_entry,
    table,
)

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    Case(
        "ff-minimal",
        "forcefield.md#the-section",
        "a document with a style, and its table",
        (
            Example(
                "",
                MINIMAL,
                looks=(
                    looks.AttributeIs("forcefield", "name", "case"),
                    looks.AttributeIs("forcefield/bond.harmonic", "count", 2),
                    looks.NoAttribute("forcefield", "_meta_types"),
                    looks.AttributeIs("meta", "modules/forcefield/version", [1, 0]),
                ),
            ),
        ),
    ),
    Case(
        "ff-round-trip",
        "forcefield.md#tables",
        "styles in order, tables with rows in order, parameters to the bit",
        (Example("", ROUND_TRIP),),
    ),
    Case(
        "ff-wildcard-endpoints",
        "forcefield.md#tables",
        "an empty endpoint stands for any, and is no null",
        (
            Example(
                "",
                single(
                    "dihedral",
                    "periodic",
                    "dihedral.periodic",
                    table("x", "*", "CT", "CT", "*", k=f64(0.2), periodicity=f64(3.0), phase=f64(0.0)),
                ),
            ),
        ),
    ),
    Case(
        "ff-absent-params",
        "forcefield.md#tables",
        "a parameter a row lacks is null, which is not zero",
        (
            Example(
                "",
                single(
                    "bond",
                    "harmonic",
                    "bond.harmonic",
                    table("a b", "CT CT", "CT HC", k=f64(536.0, 0.0, validity=[True, False]), r0=f64(0.0, 1.1)),
                ),
            ),
        ),
    ),
    Case(
        "ff-string-params",
        "forcefield.md#tables",
        "parameters are numbers or strings, in rows as in styles",
        (
            Example(
                "",
                single(
                    "bond",
                    "tabulated",
                    "bond.tabulated",
                    bond_of(file=strings("bond table.txt"), points=f64(1000.0)),
                    params={"interpolation": "spline", "n": 1000.0},
                ),
            ),
        ),
    ),
    Case(
        "ff-style-name-encoding",
        "forcefield.md#tables",
        "a table's name has every byte of the style's that is no letter, digit, hyphen or underscore as %XX",
        (
            Example(
                "",
                single("pair", "lj/cut é.x", "pair.lj%2Fcut%20%C3%A9%2Ex", table("a", "CT", "CT", epsilon=f64(1.0))),
                looks=(looks.AttributeIs("forcefield/pair.lj%2Fcut%20%C3%A9%2Ex", "count", 1),),
            ),
        ),
    ),
    Case(
        "ff-hybrid-styles",
        "forcefield.md#styles",
        "a category has any number of styles, in order",
        (
            Example(
                "",
                forcefield(
                    [style_entry("bond", "morse"), style_entry("bond", "harmonic")],
                    {
                        "bond.harmonic": BOND,
                        "bond.morse": bond_of(D=f64(100.0), alpha=f64(2.0), r0=f64(1.1)),
                    },
                ),
            ),
        ),
    ),
    Case(
        "ff-per-instance-style",
        "forcefield.md#tables",
        "a table without rows says that parameters stand with the instances",
        (
            Example(
                "",
                single(
                    "bond",
                    "harmonic",
                    "bond.harmonic",
                    block({"name": strings(), "itom": strings(), "jtom": strings()}),
                ),
            ),
        ),
    ),
    Case(
        "ff-unknown-style-with-expression",
        "forcefield.md#expressions",
        "a style nobody knows is kept, its expression byte for byte",
        (
            Example(
                "",
                single(
                    "bond",
                    "fene",
                    "bond.fene",
                    bond_of(k=f64(30.0), r0=f64(1.5)),
                    expression=" -0.5*k*r0^2*log(1-(r/r0)^2) ;  a=1\t",
                ),
            ),
        ),
    ),
    Case(
        "ff-unknown-category",
        "forcefield.md#tables",
        "a category nobody knows is kept, with the endpoints its table has",
        (
            Example(
                "",
                single(
                    "cmap",
                    "charmm",
                    "cmap.charmm",
                    table("c", "C", "N", "CA", "C", grid=strings("0.1 0.2 0.3"), resolution=f64(24.0)),
                ),
            ),
        ),
    ),
    Case(
        "ff-units-preserved",
        "forcefield.md#units",
        "numbers are never converted",
        (
            Example(
                "",
                single(
                    "bond",
                    "harmonic",
                    "bond.harmonic",
                    bond_of(k=f64(284512.0), r0=f64(0.1090)),
                    units={"length": "nm", "energy": "kJ/mol", "angle": "radian"},
                ),
            ),
            Example(
                "beside a preset",
                single(
                    "bond", "harmonic", "bond.harmonic", BOND, units={"preset": "metal", "length": "Å", "energy": "eV"}
                ),
            ),
        ),
    ),
    Case(
        "ff-lj-preset",
        "forcefield.md#units",
        "reduced units are a preset",
        (Example("", dataclasses.replace(MINIMAL, document={**MINIMAL.document, "units": {"preset": "lj"}})),),
    ),
    Case(
        "ff-smirks-keyed",
        "forcefield.md#tables",
        "rows found by pattern have a smirks and no endpoints",
        (
            Example(
                "",
                single(
                    "bond",
                    "harmonic",
                    "bond.harmonic",
                    block(
                        {"name": strings("b1"), "smirks": strings("[#6X4:1]-[#6X4:2]"), "k": f64(530.0), "r0": f64(1.5)}
                    ),
                    endpoint_key="smirks",
                ),
            ),
        ),
    ),
    Case(
        "ff-without-special-bonds",
        "forcefield.md#the-document",
        "no special bonds are none, and no default",
        (Example("", MINIMAL, looks=(looks.NoAttribute("forcefield", "special_bonds"),)),),
    ),
    Case(
        "ff-document-keys-preserved",
        "forcefield.md#the-document",
        "keys nobody knows are kept, and tables no style names",
        (
            Example(
                "",
                forcefield(
                    [style_entry("bond", "harmonic", note={"a": [1, None]})],
                    {"bond.harmonic": BOND, "notes": block({"name": strings("n"), "v": i64(1)})},
                    author="somebody",
                    extra={"list": [1, 2.5, None, True], "empty": {}},
                ),
            ),
        ),
    ),
    Case(
        "ff-canonical-columns",
        "forcefield.md#tables",
        "a canonical name keeps its own dtype in a table",
        (Example("", single("atom", "full", "atom.full", table("C H", mass=f64(12.0, 1.0), atomic_number=u64(6, 1)))),),
    ),
)
