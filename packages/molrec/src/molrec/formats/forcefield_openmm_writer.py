"""Force-field XML from a force field, to the same energies in OpenMM, without residue templates.

Registered styles OpenMM has no force for are written as custom forces of their formula. What OpenMM cannot compute is
refused by name; what it has no place for is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

from molrec.forcefield.registry import registered
from molrec.formats.forcefield_openmm_names import (
    ABSOLUTE_TORSION,
    RB_IMPROPER,
    SIGNED_TORSION,
    UNITS,
    openmm_expression,
)
from molrec.formats.forcefield_openmm_nonbonded_writer import nonbonded_lines
from molrec.formats.forcefield_rows import UREY_BRADLEY, number_text, torsion_terms, whole
from molrec.formats.forcefield_source import not_in_target
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField, Style, StyleRow
from molrec.model.forcefield_document import ForceFieldUnits
from molrec.model.forcefield_section import ANNOTATION_COLUMNS
from molrec.model.frame import Frame

__all__ = ["write_openmm"]

_TARGET = "OpenMM"
_ANNOTATIONS = {"smarts": "def"} | {key: key for key in ("class", "element", "desc", "doi", "overrides")}
_REMARKS = ("smirks", "desc", "doi")
_CUSTOM = {
    "bond": ("CustomBondForce", "PerBondParameter", "Bond"),
    "angle": ("CustomAngleForce", "PerAngleParameter", "Angle"),
    "dihedral": ("CustomTorsionForce", "PerTorsionParameter", "Proper"),
    "improper": ("CustomTorsionForce", "PerTorsionParameter", "Improper"),
}
_NONBONDED = ("pair", "pair14")

type Attributes = dict[str, str]


def write_openmm(path: Path, forcefield: ForceField, system: Frame | None, notes: Notes) -> None:
    """Write a force-field XML file; nothing is written when anything is refused.

    Args:
        path: The file.
        forcefield: In nm and kJ/mol.
        system: Left out, which is noted; the format describes none.
        notes: Told what OpenMM has no place for.

    Raises:
        SchemaError: OpenMM cannot compute something the force field holds (``reject-ff-target``).
    """
    if system is not None:
        notes.lost("system", "is left out; force-field XML describes no system")
    path.write_text("".join(f"{line}\n" for line in _lines(forcefield, notes)), encoding="utf-8")


def _lines(forcefield: ForceField, notes: Notes) -> Iterator[str]:
    stated = ForceFieldUnits.model_validate(forcefield.units).resolved()
    for quantity in ("length", "energy"):
        if stated.get(quantity) != UNITS[quantity]:
            raise not_in_target(
                _TARGET, f"{quantity} in {stated.get(quantity)!r}", f"the format has {UNITS[quantity]!r}; convert first"
            )
    top = {"name": forcefield.name} | (
        {"version": str(forcefield.extra["version"])} if "version" in forcefield.extra else {}
    )
    yield _tag("ForceField", top, closed=False, depth=0)
    yield from _atom_types(forcefield, notes)
    for style in forcefield.styles:
        if style.category in (*_NONBONDED, "atom"):
            continue
        if style.endpoint_key == "smirks" or not len(style):
            why = "its rows are found by SMIRKS" if len(style) else "it has no rows, and OpenMM none by instance"
            raise not_in_target(_TARGET, f"style {style.category} {style.name!r}", why)
        yield from _force(style)
    yield from nonbonded_lines(forcefield)
    yield "</ForceField>"


def _tag(tag: str, attributes: Mapping[str, str], *, closed: bool = True, depth: int = 2) -> str:
    words = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    return f"{' ' * depth}<{tag}{words}{'/' if closed else ''}>"


def _block(tag: str, attributes: Mapping[str, str], children: Iterable[str]) -> Iterator[str]:
    yield _tag(tag, attributes, closed=False, depth=1)
    yield from children
    yield f" </{tag}>"


def _atom_types(forcefield: ForceField, notes: Notes) -> Iterator[str]:
    lines = []
    for style in forcefield.of_category("atom"):
        if style.name != "full":
            raise not_in_target(_TARGET, f"style atom {style.name!r}", "only atom 'full' has a counterpart")
        for row in style:
            if "mass" not in row:
                raise not_in_target(_TARGET, f"atom type {row.name!r} without mass", "its types have one")
            known = {key: str(row[column]) for column, key in _ANNOTATIONS.items() if column in row}
            if "class" not in known:
                notes.changed("atom types without class", "get their own name as class, since OpenMM wants one")
                known = {"class": row.name} | known
            lines.append(_tag("Type", {"name": row.name, **known, "mass": number_text(float(row["mass"]))}))
            for key in set(row) - {"mass", "charge", *_ANNOTATIONS}:
                notes.lost(f"atom 'full', {key!r}", f"is left out; {_TARGET} has no place for it")
    yield from _block("AtomTypes", {}, lines)


# -- bonded forces ----------------------------------------------------------------------------------------------------


def _force(style: Style) -> Iterator[str]:
    """Yield the force of one bonded style."""
    what = f"style {style.category} {style.name!r}"
    makers: dict[tuple[str, str, str | None], Callable[[Style, str], Iterator[str]]] = {
        ("bond", "harmonic", None): lambda style, what: _simple(
            style, what, "HarmonicBondForce", "Bond", {"length": "r0", "k": "k"}
        ),
        ("angle", "harmonic", None): lambda style, what: _simple(
            style, what, "HarmonicAngleForce", "Angle", {"angle": "theta0", "k": "k"}
        ),
        ("dihedral", "periodic", None): _periodic,
        ("improper", "periodic", None): _periodic,
        ("dihedral", "rb", None): _ryckaert_bellemans,
        ("improper", "rb", RB_IMPROPER): _ryckaert_bellemans,
        ("improper", "harmonic", None): _harmonic_impropers,
        ("urey_bradley", "harmonic", UREY_BRADLEY): _urey_bradley,
        ("cmap", "charmm", None): _cmap,
    }
    key = (style.category, style.name, style.expression)
    yield from makers[key](style, what) if key in makers else _custom(style, what)


def _endpoints(style: Style, row: StyleRow) -> Attributes:
    return {f"{style.endpoint_key}{number}": end for number, end in enumerate(row.endpoints, 1)}


def _remarks(row: StyleRow) -> Attributes:
    return {key: str(row[key]) for key in _REMARKS if key in row}


def _numbers(row: StyleRow, names: Iterable[str], what: str) -> list[float]:
    found = []
    for name in names:
        value = row.get(name)
        if value is None or isinstance(value, str):
            raise not_in_target(_TARGET, f"row {row.name!r} of {what}", f"it needs a number {name!r}, found {value!r}")
        found.append(float(value))
    return found


def _only(row: StyleRow, names: Iterable[str], what: str) -> None:
    extra = set(row) - set(names) - ANNOTATION_COLUMNS
    if extra:
        raise not_in_target(_TARGET, f"row {row.name!r} of {what}", f"it has no parameter {', '.join(sorted(extra))}")


def _simple(style: Style, what: str, tag: str, child: str, columns: Mapping[str, str]) -> Iterator[str]:
    lines = []
    for row in style:
        _only(row, columns.values(), what)
        numbers = map(number_text, _numbers(row, columns.values(), what))
        lines.append(
            _tag(child, {**_endpoints(style, row), **dict(zip(columns, numbers, strict=True)), **_remarks(row)})
        )
    yield from _block(tag, {}, lines)


def _settings(style: Style) -> Attributes:
    return {"ordering": str(style.params["ordering"])} if "ordering" in style.params else {}


def _periodic(style: Style, what: str) -> Iterator[str]:
    lines = []
    for row in style:
        terms = torsion_terms(row, f"row {row.name!r} of {what}")
        attributes = _endpoints(style, row)
        for number, term in enumerate(terms, 1):
            attributes[f"periodicity{number}"] = str(whole(term.periodicity, f"{what}, row {row.name!r}: periodicity"))
            attributes[f"phase{number}"] = number_text(term.phase)
            attributes[f"k{number}"] = number_text(term.k)
        known = {
            f"{key}{number}" for number in ("", *range(1, len(terms) + 1)) for key in ("k", "periodicity", "phase")
        }
        _only(row, known, what)
        lines.append(_tag(_CUSTOM[style.category][2], attributes | _remarks(row)))
    yield from _block("PeriodicTorsionForce", _settings(style), lines)


def _ryckaert_bellemans(style: Style, what: str) -> Iterator[str]:
    names = [f"c{power}" for power in range(6)]
    yield from _simple(style, what, "RBTorsionForce", _CUSTOM[style.category][2], dict(zip(names, names, strict=True)))


def _harmonic_impropers(style: Style, what: str) -> Iterator[str]:
    references = {reference for row in style for reference in _numbers(row, ["chi0"], what)}
    energy = SIGNED_TORSION if references == {0.0} else ABSOLUTE_TORSION
    lines = [_tag("PerTorsionParameter", {"name": name}) for name in ("k", "theta0")]
    lines += list(_simple(style, what, "", "Improper", {"k": "k", "theta0": "chi0"}))[1:-1]
    yield from _block("CustomTorsionForce", {"energy": energy, **_settings(style)}, lines)


def _urey_bradley(style: Style, what: str) -> Iterator[str]:
    lines = []
    for row in style:
        _only(row, ("k", "r0"), what)
        k, r0 = _numbers(row, ("k", "r0"), what)
        lines.append(_tag("UreyBradley", {**_endpoints(style, row), "k": number_text(k / 2.0), "d": number_text(r0)}))
    yield from _block("AmoebaUreyBradleyForce", {}, lines)


def _cmap(style: Style, what: str) -> Iterator[str]:
    grids: dict[str, int] = {}
    torsions = []
    for row in style:
        _only(row, ("grid", "mtom"), what)
        if "grid" not in row or "mtom" not in row:
            raise not_in_target(_TARGET, f"row {row.name!r} of {what}", "it needs a grid and a fifth endpoint, 'mtom'")
        number = grids.setdefault(str(row["grid"]), len(grids))
        ends = {**_endpoints(style, row), f"{style.endpoint_key}5": str(row["mtom"])}
        torsions.append(_tag("Torsion", {"map": str(number), **ends}))
    yield from _block("CMAPTorsionForce", {}, [*(f"  <Map>{grid}</Map>" for grid in grids), *torsions])


def _custom(style: Style, what: str) -> Iterator[str]:
    """Yield a custom force of a style's energy."""
    if style.category not in _CUSTOM:
        raise not_in_target(_TARGET, what, "it has no such terms in force-field XML")
    known = registered(style.category, style.name)
    columns = {key for row in style for key in row} - ANNOTATION_COLUMNS
    if style.expression is not None:
        energy, names = style.expression, sorted(columns)
    elif known is not None and not known.orderings and (formula := known.expression(columns)):
        energy, names = formula, [one.name for one in known.parameters if one.priced and one.group is None]
    else:
        raise not_in_target(_TARGET, what, "its energy is not a formula of one variable")
    tag, parameter, child = _CUSTOM[style.category]
    lines = [_tag(parameter, {"name": name}) for name in names]
    for key, value in style.params.items():
        if key != "ordering":
            lines.append(_tag("GlobalParameter", {"name": key, "defaultValue": number_text(float(value))}))
    for row in style:
        if row.get("w"):
            raise not_in_target(_TARGET, f"row {row.name!r} of {what}", "a torsion has no 1-4 weight 'w' there")
        _only(row, (*names, "w"), what)
        numbers = map(number_text, _numbers(row, names, what))
        lines.append(_tag(child, {**_endpoints(style, row), **dict(zip(names, numbers, strict=True)), **_remarks(row)}))
    attributes = {"name": style.name, "energy": openmm_expression(style.category, energy), **_settings(style)}
    yield from _block(tag, attributes, lines)
