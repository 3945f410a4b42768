"""The pair styles of a LAMMPS include file: one style where LAMMPS has one that fits, else a hybrid/overlay.

Under ``hybrid/overlay`` LAMMPS does not mix a pair that is named, so every pair of atom types is written out there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from molrec.formats.forcefield_lammps_names import checked_name, numbers_of
from molrec.formats.forcefield_lammps_pairs import mixed
from molrec.formats.forcefield_lammps_styles import (
    COULOMB_CONSTANTS,
    OWN_CUTOFF,
    PAIR_LAYOUTS,
    PairLayout,
    own_cutoff_expression,
)
from molrec.formats.forcefield_rows import note_annotations, number_text
from molrec.formats.forcefield_source import not_in_target
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField, Style
from molrec.model.forcefield_section import ANNOTATION_COLUMNS

__all__ = ["pair_lines"]

_TARGET = "LAMMPS"
_COULOMB = ("coul/cut", "coul/long/pme")
_DEFAULT_EXPONENTS = {"n": 12.0, "m": 6.0}


def pair_lines(forcefield: ForceField, units: str, notes: Notes) -> list[str]:
    """Return the lines of the pair styles; with none, those of pair style zero.

    Args:
        forcefield: The force field.
        units: Its unit style.
        notes: Told what LAMMPS has no place for.

    Raises:
        SchemaError: LAMMPS has no word for something (``reject-ff-target``).
    """
    styles = forcefield.of_category("pair")
    dispersion = [style for style in styles if style.name not in _COULOMB]
    coulomb = [style for style in styles if style.name in _COULOMB]
    for style in styles:
        if style.expression is not None and not _own_cutoffs(style):
            raise not_in_target(
                _TARGET, f"pair style {style.name!r}", f"it has no style of energy {style.expression!r}"
            )
    if len(coulomb) > 1:
        raise not_in_target(_TARGET, "two Coulomb styles", "it has one")
    found = list(_coulomb_settings(coulomb[0], units)) if coulomb else []
    found += _shift(styles)
    if not dispersion and not coulomb:
        # LAMMPS wants a pair style in every run; this one has no energy, and its cutoff decides nothing
        return ["pair_style zero 10.0 nocoeff", "pair_coeff * *"]
    if len(dispersion) <= 1:
        layout = _combined(dispersion[0] if dispersion else None, coulomb[0] if coulomb else None)
        if layout is not None:
            return found + list(_plain_lines(layout, dispersion, coulomb, forcefield, notes))
    return found + list(_overlay_lines(dispersion, coulomb, forcefield, notes))


def _coulomb_settings(style: Style, units: str) -> Iterator[str]:
    """Yield the dielectric command, which also carries a Coulomb constant that is not LAMMPS' own."""
    own = COULOMB_CONSTANTS[units]
    unknown = set(style.params) - {"cutoff", "coulomb", "dielectric", "special"}
    if unknown or len(style):
        raise not_in_target(_TARGET, f"pair style {style.name!r}", f"it has no {', '.join(sorted(unknown)) or 'rows'}")
    stated = float(style.params.get("coulomb", own))
    dielectric = float(style.params.get("dielectric", 1.0)) * (own / stated)
    if dielectric != 1.0:
        yield f"dielectric {number_text(dielectric)}"


def _shift(styles: Iterable[Style]) -> list[str]:
    stated = [float(style.params.get("shift", 0.0)) for style in styles if style.name not in _COULOMB]
    if any(one not in (0.0, 1.0) for one in stated) or len(set(stated)) > 1:
        raise not_in_target(_TARGET, "a shift of some pair styles", "it shifts all of them or none")
    return ["pair_modify shift yes"] if 1.0 in stated else []


def _own_cutoffs(style: Style) -> bool:
    """Tell whether every pair of a style has a cutoff of its own."""
    name = style.name.removesuffix(OWN_CUTOFF)
    return name != style.name and style.expression == own_cutoff_expression(name)


def _layout_of(style: Style | None) -> PairLayout | None:
    """Return LAMMPS' style of a stored one without Coulomb part."""
    if style is None:
        return None
    wanted = "mie/cut" if style.name == "lj/cut" and _has_exponents(style) else style.name
    wanted = wanted.removesuffix(OWN_CUTOFF)
    found = PAIR_LAYOUTS.get(wanted)
    if found is None or found.style is None:
        raise not_in_target(_TARGET, f"pair style {style.name!r}", "it has no style of that energy")
    return found


def _has_exponents(style: Style) -> bool:
    return any(style.params.get(key, value) != value for key, value in _DEFAULT_EXPONENTS.items())


def _combined(dispersion: Style | None, coulomb: Style | None) -> PairLayout | None:
    """Return the one style of LAMMPS that is both, None where there is none."""
    own = _layout_of(dispersion)
    if coulomb is None:
        return own
    if coulomb.name == "coul/cut" and dispersion is not None and _own_cutoffs(dispersion):
        return None  # a cutoff of a pair would be that of its Coulomb energy, too
    coulomb_name = "coul/cut" if coulomb.name == "coul/cut" else "coul/long"
    return PAIR_LAYOUTS.get(coulomb_name if own is None else f"{own.lammps}/{coulomb_name}")


def _plain_lines(
    layout: PairLayout, dispersion: list[Style], coulomb: list[Style], forcefield: ForceField, notes: Notes
) -> Iterator[str]:
    cutoffs = [_cutoff(style) for style in (*dispersion, *coulomb)]
    if layout.coulomb == "coul/cut" and len(cutoffs) == 2 and cutoffs[0] == cutoffs[1]:
        cutoffs.pop()
    yield f"pair_style {layout.lammps} {' '.join(map(number_text, cutoffs))}"
    for style in dispersion:
        rule = style.params.get("mixing")
        if rule is None:
            _every_pair(style, forcefield)
        elif layout.mixes == "":
            raise not_in_target(_TARGET, f"pair style {style.name!r} with mixing", f"{layout.lammps!r} never mixes")
        elif layout.mixes == "sixthpower" and rule != "sixthpower":
            raise not_in_target(
                _TARGET, f"{rule} mixing of {style.name!r}", "LAMMPS mixes this style by sixthpower only"
            )
        elif layout.mixes != "sixthpower":
            yield f"pair_modify mix {rule}"
        yield from (f"pair_coeff {ends} {words}" for ends, words in _rows(style, layout, notes))
    if not dispersion:
        yield "pair_coeff * *"


def _overlay_lines(
    dispersion: list[Style], coulomb: list[Style], forcefield: ForceField, notes: Notes
) -> Iterator[str]:
    parts = []
    for style in dispersion:
        layout = _layout_of(style)
        assert layout is not None
        parts.append((style, layout))
    settings = [f"{layout.lammps} {number_text(_cutoff(style))}" for style, layout in parts]
    name = ""
    if coulomb:
        name = "coul/cut" if coulomb[0].name == "coul/cut" else "coul/long"
        settings.append(f"{name} {number_text(_cutoff(coulomb[0]))}")
    yield f"pair_style hybrid/overlay {' '.join(settings)}"
    if name:
        yield f"pair_coeff * * {name}"
    for style, layout in parts:
        yield from (f"pair_coeff {ends} {layout.lammps} {words}" for ends, words in _rows(style, layout, notes))
        for first, second in _missing(style, forcefield):
            rule = style.params.get("mixing")
            own, other = _self_row(style, first), _self_row(style, second)
            if rule is None or own is None or other is None:
                raise _unpriced(style, first, second)
            both = mixed(str(rule), own, other)
            values = numbers_of({**style.params, **both}, [one.name for one in layout.coefficients], "a mixed pair")
            words = " ".join(map(number_text, values))
            yield f"pair_coeff {first} {second} {layout.lammps} {words}"


def _self_row(style: Style, name: str) -> dict[str, float] | None:
    for row in style:
        if row.endpoints == (name, name):
            return {key: float(row[key]) for key in ("epsilon", "sigma")}
    return None


def _cutoff(style: Style) -> float:
    cutoff = style.params.get("cutoff")
    if cutoff is None:
        raise not_in_target(_TARGET, f"pair style {style.name!r} without cutoff", "its styles have one; state 'cutoff'")
    unknown = set(style.params) - {"cutoff", "mixing", "special", "coulomb", "dielectric", "shift", "n", "m"}
    if unknown:
        raise not_in_target(_TARGET, f"pair style {style.name!r}", f"it has no {', '.join(sorted(unknown))}")
    return float(cutoff)


def _rows(style: Style, layout: PairLayout, notes: Notes) -> Iterator[tuple[str, str]]:
    """Yield the types and the coefficients of each row."""
    names = [one.name for one in layout.coefficients] + (["rcut"] if _own_cutoffs(style) else [])
    for row in style:
        what = f"row {row.name!r} of pair {style.name!r}"
        ends = [checked_name(end, what) if end else "*" for end in row.endpoints]
        values = numbers_of({**_DEFAULT_EXPONENTS, **style.params, **row}, names, what)
        extra = [key for key in row if key not in ("epsilon", "sigma", *names) and key not in ANNOTATION_COLUMNS]
        extra += [key for key in _DEFAULT_EXPONENTS if key in row]
        if extra:
            raise not_in_target(_TARGET, what, f"it has no coefficient {', '.join(extra)}")
        note_annotations(style, row, [key for key in row if key not in ANNOTATION_COLUMNS], _TARGET, notes)
        yield " ".join(ends), " ".join(map(number_text, values))


def _missing(style: Style, forcefield: ForceField) -> list[tuple[str, str]]:
    """Return the pairs of atom types no row names."""
    atoms = [row.name for one in forcefield.of_category("atom") for row in one]
    named = {frozenset(row.endpoints) for row in style}
    if frozenset(("",)) in named:
        return []
    return [
        (first, second)
        for position, first in enumerate(atoms)
        for second in atoms[position:]
        if frozenset((first, second)) not in named
    ]


def _every_pair(style: Style, forcefield: ForceField) -> None:
    missing = _missing(style, forcefield)
    if missing:
        raise _unpriced(style, *missing[0])


def _unpriced(style: Style, first: str, second: str) -> Exception:
    return not_in_target(
        _TARGET, f"pair style {style.name!r}", f"the pair {first} {second} has no row, and no mixing rule gives it one"
    )
