"""LAMMPS include files from a force field: the styles and coefficients a script reads after its data file.

Types go by their names, numbers or labels; the data file must have the same ones. Everything that decides an energy is
written exactly or refused by name; what LAMMPS has no place for, such as endpoints and annotations, is noted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from molrec.formats.forcefield_lammps_names import checked_name, number_of, numbers_of
from molrec.formats.forcefield_lammps_pair_writer import pair_lines
from molrec.formats.forcefield_lammps_styles import COULOMB_CONSTANTS, CROSS_TERMS, STORED_LAYOUTS, Coefficient
from molrec.formats.forcefield_rows import (
    UREY_BRADLEY,
    degrees_of,
    note_annotations,
    number_text,
    preset_of,
    torsion_terms,
    whole,
)
from molrec.formats.forcefield_source import not_in_target
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField, Style, StyleRow
from molrec.model.forcefield_section import ANNOTATION_COLUMNS
from molrec.model.frame import Frame

__all__ = ["write_lammps"]

_TARGET = "LAMMPS"
_BONDED = ("bond", "angle", "dihedral", "improper")
#: Categories that LAMMPS takes in an include file.
_WRITTEN = frozenset((*_BONDED, "atom", "pair"))
#: LAMMPS takes the phase of dihedral style charmm as a whole number of degrees.
_DEGREE_SLACK = 1e-9


def write_lammps(path: Path, forcefield: ForceField, system: Frame | None, notes: Notes) -> None:
    """Write an include file; nothing is written when anything is refused.

    Args:
        path: The file.
        forcefield: In units LAMMPS has a style for.
        system: Left out, which is noted; its data file is written by itself.
        notes: Told what LAMMPS has no place for.

    Raises:
        SchemaError: LAMMPS has no word for something that decides an energy (``reject-ff-target``).
    """
    if system is not None:
        notes.lost("system", "is left out; an include file holds parameters; `molrec convert` writes the data file")
    path.write_text("".join(f"{line}\n" for line in _lines(forcefield, notes)), encoding="utf-8")


def _lines(forcefield: ForceField, notes: Notes) -> list[str]:
    units = preset_of(forcefield, COULOMB_CONSTANTS)
    if units is None:
        raise not_in_target(
            _TARGET, f"units {forcefield.units}", "they are none of its unit styles; convert them first"
        )
    for style in forcefield.styles:
        spring = (style.category, style.name, style.expression) == ("urey_bradley", "harmonic", UREY_BRADLEY)
        if style.category not in _WRITTEN and not spring:
            raise not_in_target(_TARGET, f"style {style.category} {style.name!r}", "it has no such terms")
    if forcefield.special_bonds is None:
        raise not_in_target(
            _TARGET, "a force field without special_bonds", "it weighs near pairs always; state the weights"
        )
    weights = forcefield.special_bonds
    special = " ".join(f"{key} {' '.join(number_text(one) for one in weights[key])}" for key in ("lj", "coul"))
    # LAMMPS does not take units once there is a box, so they stand in a comment, as in the title of its data files
    lines = [f"# force field {' '.join(forcefield.name.split())}, units = {units}"]
    lines += [f"special_bonds {special}"]
    masses = list(_masses(forcefield, notes))
    pairs = pair_lines(forcefield, units, notes)
    springs = {row.name: row for style in forcefield.of_category("urey_bradley") for row in style}
    angles = {row.name for style in forcefield.of_category("angle") if style.name == "harmonic" for row in style}
    if springs.keys() - angles:
        raise not_in_target(
            _TARGET, f"urey_bradley {min(springs.keys() - angles)!r}", "it stands with a harmonic angle"
        )
    bonded = [
        line
        for kind in _BONDED
        for line in _kind_lines(kind, forcefield.of_category(kind), springs if kind == "angle" else {}, notes)
    ]
    styles = [line for line in (*pairs, *bonded) if line.split()[0].endswith("_style")]
    return lines + styles + masses + [line for line in (*pairs, *bonded) if line not in styles]


def _masses(forcefield: ForceField, notes: Notes) -> Iterator[str]:
    for style in forcefield.of_category("atom"):
        if style.name != "full":
            raise not_in_target(_TARGET, f"style atom {style.name!r}", "only atom 'full' has a counterpart")
        for row in style:
            name = checked_name(row.name, f"atom type {row.name!r}")
            if "mass" in row:
                yield f"mass {name} {number_text(float(row['mass']))}"
            note_annotations(style, row, ("mass",), _TARGET, notes)


def _kind_lines(kind: str, styles: Iterable[Style], springs: Mapping[str, StyleRow], notes: Notes) -> Iterator[str]:
    styles = list(styles)
    for style in styles:
        if not len(style):
            raise not_in_target(_TARGET, f"style {kind} {style.name!r} without rows", "its coefficients go by type")
        if style.endpoint_key == "smirks":
            raise not_in_target(_TARGET, f"style {kind} {style.name!r}", "its rows are found by SMIRKS")
    lines: dict[str, list[str]] = {}
    owners: dict[str, str] = {}
    names = []
    for style in styles:
        for row in style:
            what = f"row {row.name!r} of {kind} {style.name!r}"
            name = checked_name(row.name, what)
            lammps, words = _coefficients(kind, style, row, what)
            if style.name == "harmonic" and row.name in springs:
                k, r0 = numbers_of(springs[row.name], ("k", "r0"), what)
                lammps, words = "charmm", [f"{words[0]} {number_text(k / 2.0)} {number_text(r0)}"]
            if owners.setdefault(name, style.name) != style.name:
                raise not_in_target(_TARGET, what, f"{owners[name]!r} has a row of that name, and a type has one style")
            if lammps not in names:
                names.append(lammps)
            lines.setdefault(lammps, []).extend(f"{name}\0{line}" for line in words)
            if any(row.endpoints):
                notes.lost(f"{kind} {style.name!r}, endpoints", f"are left out; {_TARGET} has no place for them")
            note_annotations(style, row, [key for key in row if key not in ANNOTATION_COLUMNS], _TARGET, notes)
    if not names:
        return
    hybrid = len(names) > 1
    yield f"{kind}_style {'hybrid ' if hybrid else ''}{' '.join(names)}"
    for lammps in names:
        for line in lines[lammps]:
            name, _, coefficients = line.partition("\0")
            yield f"{kind}_coeff {name} {lammps + ' ' if hybrid else ''}{coefficients}"


def _coefficients(kind: str, style: Style, row: StyleRow, what: str) -> tuple[str, list[str]]:
    """Return LAMMPS' style of a row and its lines of coefficients."""
    numeric = {key: value for key, value in row.items() if key not in ANNOTATION_COLUMNS}
    layout = STORED_LAYOUTS[kind].get(style.name)
    found: tuple[str, list[str]]
    if layout is not None and layout.expression == style.expression:
        words = [_word(one, numeric.pop(one.name, None), what) for one in layout.coefficients]
        if layout.lammps == "charmm":
            words[2] = _whole_degrees(words[2], what)
        lines = [" ".join(words)]
        if layout.lammps == "class2":
            lines += _cross_lines(kind, numeric, what)
        found = layout.lammps, lines
    elif style.expression is not None:
        raise not_in_target(_TARGET, f"style {kind} {style.name!r}", f"it has no style of energy {style.expression!r}")
    elif style.name == "periodic":
        found = _periodic(kind, numeric, what)
    elif (kind, style.name) == ("dihedral", "rb"):
        powers = [number_of(numeric.pop(f"c{power}", None), f"c{power}", what) for power in range(6)]
        texts = [number_text((-value if power % 2 else value) + 0.0) for power, value in enumerate(powers)]
        found = "nharmonic", [f"{len(powers)} {' '.join(texts)}"]
    else:
        raise not_in_target(_TARGET, f"style {kind} {style.name!r}", "it has no style of that energy")
    if numeric:
        raise not_in_target(_TARGET, what, f"it has no coefficient {', '.join(numeric)}")
    return found


def _cross_lines(kind: str, numeric: dict[str, float | str | int], what: str) -> Iterator[str]:
    """Yield the lines of the cross terms; LAMMPS wants all of them, so one that is not there is written as zeros."""
    for (of, keyword), (_, coefficients) in CROSS_TERMS.items():
        if of == kind:
            absent = None if any(one.name in numeric for one in coefficients) else 0.0
            words = [_word(one, numeric.pop(one.name, absent), what) for one in coefficients]
            yield f"{keyword} {' '.join(words)}"


def _periodic(kind: str, numeric: dict[str, float | str | int], what: str) -> tuple[str, list[str]]:
    terms = torsion_terms(numeric, what)
    numeric.clear()
    for term in terms:
        whole(term.periodicity, f"{what}: the periodicity")
    if kind == "dihedral":
        texts = [
            f"{number_text(term.k)} {round(term.periodicity)} {number_text(degrees_of(term.phase))}" for term in terms
        ]
        return "fourier", [f"{len(terms)} {' '.join(texts)}"]
    phases = {0.0: 1, math.pi: -1, -math.pi: -1}
    if len(terms) != 1 or terms[0].phase not in phases:
        raise not_in_target(_TARGET, what, "improper style cvff has one term, of phase 0 or pi")
    return "cvff", [f"{number_text(terms[0].k)} {phases[terms[0].phase]} {round(terms[0].periodicity)}"]


def _whole_degrees(text: str, what: str) -> str:
    if abs(float(text) - round(float(text))) > _DEGREE_SLACK:
        raise not_in_target(_TARGET, what, f"dihedral style charmm has phases of whole degrees, found {text}")
    return str(round(float(text)))


def _word(coefficient: Coefficient, value: float | str | None, what: str) -> str:
    number = number_of(value, coefficient.name, what)
    if coefficient.integer:
        return str(whole(number, f"{what}: {coefficient.name}"))
    return number_text(degrees_of(number) if coefficient.degrees else number / coefficient.factor)
