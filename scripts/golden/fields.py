"""The force-field fixture: styles of every kind, and tables nobody here has a word for."""

from __future__ import annotations

from typing import Any

from scripts.golden.content import Block, Column, ForceField, Record, block, column

__all__ = ["forcefield_record", "small_forcefield"]


def _words(*values: str, mask: list[bool] | None = None) -> Column:
    return column("string", list(values), mask=mask)


def _numbers(*values: float, mask: list[bool] | None = None) -> Column:
    return column("f64", list(values), mask=mask)


def _ends(*rows: tuple[str, ...]) -> dict[str, Column]:
    names = ("itom", "jtom", "ktom", "ltom")[: len(rows[0])]
    return {name: _words(*(row[place] for row in rows)) for place, name in enumerate(names)}


def small_forcefield() -> ForceField:
    """Return a force field of one style, for collections."""
    table = {"name": _words("a-b"), **_ends(("a", "b")), "k": _numbers(300.0), "r0": _numbers(1.5)}
    document = {
        "name": "small",
        "units": {"preset": "metal"},
        "styles": [{"category": "bond", "style": "harmonic"}],
        "kept": [1, None],
    }
    return ForceField(document, {"bond.harmonic": block(table)})


def forcefield_record() -> Record:
    """Return the fixture of a record that holds a force field and nothing else."""
    document: dict[str, Any] = {
        "name": "everything",
        "units": {"length": "nm", "energy": "kJ/mol", "angle": "radian", "charge": "e", "mass": "dalton"},
        "source": {"format": "made up", "uri": "file:everything.ff", "sha256": "0" * 64},
        "special_bonds": {"lj": [0.0, 0.0, 0.5], "coul": [0.0, 0.0, 0.8333]},
        "styles": [
            {"category": "atom", "style": "full"},
            {"category": "bond", "style": "harmonic", "endpoint_key": "class"},
            {"category": "bond", "style": "fene", "expression": "-0.5*k*R0^2*log(1-(r/R0)^2)"},
            {"category": "angle", "style": "harmonic"},
            {"category": "dihedral", "style": "periodic"},
            {"category": "improper", "style": "harmonic"},
            {"category": "pair", "style": "lj/cut", "params": {"cutoff": 1.0, "mixing": "geometric"}},
            {"category": "pair", "style": "coul/long/pme", "params": {"order": 4.0}},
            {"category": "cmap", "style": "charmm", "kept": {"resolution": 24}},
            {"category": "proper", "style": "found by pattern", "endpoint_key": "smirks"},
        ],
        "comment": {"kept": None},
    }
    tables: dict[str, Block] = {
        "atom.full": block(
            {
                "name": _words("CT", "HC", "OH"),
                "mass": _numbers(12.011, 1.008, 15.999),
                "charge": _numbers(-0.18, 0.06, 0.0, mask=[True, True, False]),
                "class": _words("CT", "HC", "OH"),
                "element": _words("C", "H", "O"),
                "atomic_number": column("u64", [6, 1, 8]),
                "desc": _words("alkane C", "", "", mask=[True, False, False]),
            }
        ),
        "bond.harmonic": block(
            {
                "name": _words("CT-HC", "CT-any"),
                **_ends(("CT", "HC"), ("CT", "")),
                "r0": _numbers(0.1090, 0.15),
                "k": _numbers(284512.0, 0.0, mask=[True, False]),
            }
        ),
        "bond.fene": block(
            {"name": _words("bead"), **_ends(("B", "B")), "k": _numbers(30.0), "R0": _numbers(1.5), "note": _words("x")}
        ),
        "angle.harmonic": block(
            {
                "name": _words("HC-CT-HC"),
                **_ends(("HC", "CT", "HC")),
                "theta0": _numbers(1.9111355),
                "k": _numbers(276.144),
            }
        ),
        "dihedral.periodic": block(
            {
                "name": _words("X-CT-CT-X", "HC-CT-CT-HC"),
                **_ends(("", "CT", "CT", ""), ("HC", "CT", "CT", "HC")),
                "k1": _numbers(0.6508, 0.5),
                "periodicity1": _numbers(3.0, 3.0),
                "phase1": _numbers(0.0, 0.0),
                "k2": _numbers(0.0, 0.25, mask=[False, True]),
                "periodicity2": _numbers(0.0, 1.0, mask=[False, True]),
                "phase2": _numbers(0.0, 3.141592653589793, mask=[False, True]),
            }
        ),
        "improper.harmonic": block(
            {
                "name": _words("planar"),
                **_ends(("CT", "CT", "CT", "OH")),
                "chi0": _numbers(0.0),
                "k": _numbers(43.932),
            }
        ),
        "pair.lj%2Fcut": block(
            {
                "name": _words("CT", "HC", "cross"),
                **_ends(("CT", "CT"), ("HC", "HC"), ("CT", "HC")),
                "epsilon": _numbers(0.276144, 0.12552, 0.2),
                "sigma": _numbers(0.35, 0.25, 0.3),
            }
        ),
        "pair.coul%2Flong%2Fpme": Block({"name": _words(), "itom": _words(), "jtom": _words()}, 0),
        "cmap.charmm": block(
            {
                "name": _words("ala"),
                **_ends(("C", "N", "CA", "C")),
                "mtom": _words("N"),
                "grid": _words("0 1 2 3"),
                "n": _numbers(2.0),
            }
        ),
        "proper.found%20by%20pattern": block(
            {"name": _words("t1"), "smirks": _words("[*:1]-[#6X4:2]-[#6X4:3]-[*:4]"), "k": _numbers(0.5)}
        ),
        "bond.unlisted": block({"name": _words("kept"), **_ends(("a", "b")), "anything": _numbers(1.0)}),
    }
    return Record(
        "forcefield",
        "A force field by itself: numbers in nm, kJ/mol and radian that nobody may convert, wildcard and class "
        "endpoints, null parameters, a cross row, encoded style names, a style without rows, an unregistered style "
        "with its expression, categories and keys the format does not know, a table no style names.",
        ["forcefield", "unknown content"],
        meta={"modules": {"forcefield": {"version": [1, 0]}}},
        forcefield=ForceField(document, tables),
    )
