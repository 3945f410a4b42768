"""GROMACS topologies from a force field and, where there is one, the system it belongs to.

Terms whose row GROMACS would find by the types of their atoms are written bare; others carry their parameters. Cutoffs
and the treatment of Coulomb energies are settings of a run there and are noted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from molrec.formats.forcefield_gromacs_cmap import cmap_type_lines
from molrec.formats.forcefield_gromacs_functions import COULOMB
from molrec.formats.forcefield_gromacs_system_writer import system_lines
from molrec.formats.forcefield_gromacs_type_writer import TypeWriter
from molrec.formats.forcefield_lammps_pairs import mixed
from molrec.formats.forcefield_rows import number_text
from molrec.formats.forcefield_source import not_in_target
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField, Style
from molrec.model.forcefield_document import ForceFieldUnits
from molrec.model.forcefield_section import ANNOTATION_COLUMNS
from molrec.model.frame import Frame

__all__ = ["write_gromacs"]

_TARGET = "GROMACS"
_UNITS = {"length": "nm", "energy": "kJ/mol"}
_RULES = {"arithmetic": 2, "geometric": 3}
_CATEGORIES = frozenset(
    (
        "atom",
        "pair",
        "pair14",
        "bond",
        "angle",
        "dihedral",
        "improper",
        "constraint",
        "virtual_site",
        "urey_bradley",
        "cmap",
    )
)
_COULOMB = ("coul/cut", "coul/long/pme")
#: How far another Coulomb constant may be from GROMACS' own, which cannot be chosen.
_SAME_CONSTANT = 1e-9

type Well = dict[str, float]


def write_gromacs(path: Path, forcefield: ForceField, system: Frame | None, notes: Notes) -> None:
    """Write a topology; nothing is written when anything is refused.

    Args:
        path: The file.
        forcefield: In nm and kJ/mol.
        system: Its molecules; without, the file holds parameters only.
        notes: Told what GROMACS has no place for.

    Raises:
        SchemaError: GROMACS has no word for something that decides an energy (``reject-ff-target``).
    """
    path.write_text("".join(f"{line}\n" for line in _lines(forcefield, system, notes)), encoding="utf-8")


def _lines(forcefield: ForceField, system: Frame | None, notes: Notes) -> Iterator[str]:
    stated = ForceFieldUnits.model_validate(forcefield.units).resolved()
    for quantity, unit in _UNITS.items():
        if stated.get(quantity) != unit:
            raise not_in_target(_TARGET, f"{quantity} in {stated.get(quantity)!r}", f"it has {unit!r}; convert first")
    for style in forcefield.styles:
        if style.category not in _CATEGORIES or style.endpoint_key == "smirks":
            raise not_in_target(_TARGET, f"style {style.category} {style.name!r}", "it has no such terms")
    types = TypeWriter(forcefield, notes)
    yield f"; force field {' '.join(forcefield.name.split())}"
    yield from _nonbonded(forcefield, types, notes)
    yield from types.lines()
    for style in forcefield.of_category("cmap"):
        if style.name != "charmm" or (len(style) and (style.endpoint_key == "class") != types.by_class):
            raise not_in_target(_TARGET, f"style cmap {style.name!r}", "its maps are 'charmm', by bonded types")
        yield from cmap_type_lines(style)
    if system is not None:
        yield from system_lines(forcefield, system, types, notes)


def _nonbonded(forcefield: ForceField, types: TypeWriter, notes: Notes) -> Iterator[str]:
    """Yield the sections of defaults, atom types and pairs of types."""
    pairs = {style.name: style for style in forcefield.of_category("pair")}
    near = {style.name: style for style in forcefield.of_category("pair14")}
    for name, style in (pairs | near).items():
        if name not in ("lj/cut", *_COULOMB) or style.expression is not None or style.endpoint_key != "type":
            raise not_in_target(_TARGET, f"pair style {name!r}", "its pairs are lj/cut and Coulomb, by type")
    if not pairs and not near:
        yield from types.atom_lines({})
        return
    if "lj/cut" not in pairs or not any(name in pairs for name in _COULOMB):
        raise not_in_target(_TARGET, "pair styles without lj/cut or without Coulomb", "it computes both, always")
    for name in _COULOMB:
        _check_coulomb(pairs.get(name), notes)
    rule = pairs["lj/cut"].params.get("mixing")
    if rule not in _RULES:
        raise not_in_target(_TARGET, f"mixing {rule!r}", f"it mixes by {' or '.join(_RULES)}")
    weights = forcefield.special_bonds
    if weights is None:
        raise not_in_target(
            _TARGET, "a force field without special_bonds", "[ defaults ] states the weights of 1-4 pairs"
        )
    generate = forcefield.extra.get("gromacs", {}).get("gen-pairs", "yes")
    yield "[ defaults ]"
    yield f"1 {_RULES[str(rule)]} {generate} {number_text(weights['lj'][2])} {number_text(weights['coul'][2])}"
    wells = _wells(pairs["lj/cut"], notes)
    yield from types.atom_lines({first: well for (first, second), well in wells.items() if first == second})
    yield from _pair_section("nonbond_params", {ends: well for ends, well in wells.items() if ends[0] != ends[1]})
    if "lj/cut" in near:
        yield from _pair_section("pairtypes", _near_wells(near["lj/cut"], notes))


def _check_coulomb(style: Style | None, notes: Notes) -> None:
    for key, value in style.params.items() if style is not None else ():
        if key == "coulomb" and math.isclose(float(value), COULOMB, rel_tol=_SAME_CONSTANT):
            continue
        if (key, value) in (("dielectric", 1.0), ("delta", 0.0), ("special", "coul")):
            continue
        if key in ("coulomb", "dielectric", "delta", "special"):
            raise not_in_target(_TARGET, f"Coulomb energies with {key} {value!r}", f"its constant is {COULOMB}")
        notes.lost(f"pair 'coul', {key!r}", "is left out; it is a setting of a run in GROMACS")


def _wells(style: Style, notes: Notes) -> dict[tuple[str, str], Well]:
    for key, value in style.params.items():
        if key == "cutoff":
            notes.lost("pair 'lj/cut', 'cutoff'", "is left out; it is a setting of a run in GROMACS")
        elif key not in ("mixing", "special") and (key, value) not in (("n", 12.0), ("m", 6.0), ("shift", 0.0)):
            raise not_in_target(_TARGET, f"pair style 'lj/cut' with {key} {value!r}", "its form is 12-6, not shifted")
    found: dict[tuple[str, str], Well] = {}
    for row in style:
        if set(row) - ANNOTATION_COLUMNS != {"sigma", "epsilon"} or "" in row.endpoints:
            what = f"row {row.name!r} of {style.category} {style.name!r}"
            raise not_in_target(_TARGET, what, "it takes sigma and epsilon of two named types")
        found[row.endpoints[0], row.endpoints[1]] = {key: float(row[key]) for key in ("sigma", "epsilon")}
    return found


def _near_wells(style: Style, notes: Notes) -> dict[tuple[str, str], Well]:
    """Return the 1-4 parameters of pairs of types, those that are mixed written out."""
    wells = _wells(style, notes)
    rule = style.params.get("mixing")
    if rule is None:
        return wells
    named = {frozenset(ends) for ends in wells}
    selves = [first for first, second in wells if first == second]
    every = dict(wells)
    for position, first in enumerate(selves):
        for second in selves[position + 1 :]:
            if frozenset((first, second)) not in named:
                every[first, second] = mixed(str(rule), wells[first, first], wells[second, second])
    return every


def _pair_section(name: str, wells: dict[tuple[str, str], Well]) -> Iterator[str]:
    if wells:
        yield f"[ {name} ]"
    for (first, second), well in wells.items():
        yield f"{first} {second} 1 {number_text(well['sigma'])} {number_text(well['epsilon'])}"
