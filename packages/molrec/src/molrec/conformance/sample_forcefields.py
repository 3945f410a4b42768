"""Force fields that several modules of cases use, and short ways to say others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from molrec.conformance.content import Block, Column, ForceField
from molrec.conformance.making import block, f64, strings

__all__ = ["BOND", "MINIMAL", "ROUND_TRIP", "bond_of", "forcefield", "single", "style_entry", "table"]

_ENDPOINTS = ("itom", "jtom", "ktom", "ltom")


def table(names: str, *ends: str, **columns: Column) -> Block:
    """Return a style table; names and each row's place of endpoints are separated by blanks, ``*`` stands for any."""
    held = {"name": strings(*names.split())}
    for key, words in zip(_ENDPOINTS, ends, strict=False):
        held[key] = strings(*("" if word == "*" else word for word in words.split()))
    return block({**held, **columns})


def style_entry(category: str, style: str, **entries: Any) -> dict[str, Any]:
    """Return an entry of the list of styles."""
    return {"category": category, "style": style, **entries}


def forcefield(
    styles: list[dict[str, Any]], tables: Mapping[str, Block], units: Any = None, **entries: Any
) -> ForceField:
    """Return a force field in the units of `real` where none are given."""
    stated = {"preset": "real"} if units is None else units
    return ForceField({"name": "case", "units": stated, "styles": styles, **entries}, dict(tables))


BOND = table("CT-CT CT-HC", "CT CT", "CT HC", k=f64(536.0, 680.0), r0=f64(1.529, 1.09))

#: The smallest force field with a row.
MINIMAL = forcefield([style_entry("bond", "harmonic")], {"bond.harmonic": BOND})

#: One of everything that usual force fields have.
ROUND_TRIP = forcefield(
    [
        style_entry("atom", "full"),
        style_entry("bond", "harmonic"),
        style_entry("angle", "harmonic"),
        style_entry("dihedral", "periodic"),
        style_entry("improper", "harmonic"),
        style_entry("pair", "lj/cut", params={"mixing": "geometric", "cutoff": 10.0}),
        style_entry("pair", "coul/long/pme", params={"cutoff": 10.0}),
    ],
    {
        "atom.full": table(
            "CT HC", mass=f64(12.011, 1.008), charge=f64(-0.18, 0.06), element=strings("C", "H"),
            **{"class": strings("CT", "HC")},
        ),
        "bond.harmonic": BOND,
        "angle.harmonic": table("a", "HC", "CT", "HC", k=f64(66.0), theta0=f64(math.radians(107.8))),
        "dihedral.periodic": table(
            "d", "HC", "CT", "CT", "HC",
            k1=f64(0.2), periodicity1=f64(3.0), phase1=f64(0.0),
            k2=f64(0.1), periodicity2=f64(2.0), phase2=f64(math.pi),
        ),
        "improper.harmonic": table("i", "CT", "HC", "HC", "HC", k=f64(10.0), chi0=f64(0.0)),
        "pair.lj%2Fcut": table(
            "CT HC CT-HC", "CT HC CT", "CT HC HC", epsilon=f64(0.066, 0.03, 0.05), sigma=f64(3.5, 2.5, 2.9)
        ),
        "pair.coul%2Flong%2Fpme": block({"name": strings(), "itom": strings(), "jtom": strings()}),
    },
    special_bonds={"lj": [0.0, 0.0, 0.5], "coul": [0.0, 0.0, 0.8333]},
    source={"format": "lammps", "uri": "case.in", "sha256": "0" * 64},
)  # fmt: skip


def single(category: str, style: str, table: str, content: Block, units: Any = None, **entry: Any) -> ForceField:
    """Return a force field of one style, given its block name and table."""
    return forcefield([style_entry(category, style, **entry)], {table: content}, units)


def bond_of(**columns: Column) -> Block:
    """Return a table of one bond."""
    return table("b", "CT", "CT", **columns)
