"""Pair styles of a LAMMPS script: sub-styles, cutoffs, coefficients by pair of types, mixing, and the stored styles.

A plain style becomes one stored style, or two where it has a Coulomb part, with its mixing rule. Under a hybrid style
LAMMPS does not mix a pair that any line names; there every pair of types gets a row of its own, mixed where LAMMPS
would mix and of zero strength where LAMMPS has no such term.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from molrec.formats.forcefield_lammps_script import Command
from molrec.formats.forcefield_lammps_styles import (
    COULOMB_CONSTANTS,
    IGNORED_STYLES,
    OWN_CUTOFF,
    PAIR_LAYOUTS,
    PairLayout,
    own_cutoff_expression,
)
from molrec.formats.forcefield_lammps_types import TypeNumbers
from molrec.formats.forcefield_rows import free_name
from molrec.formats.forcefield_source import SourceLine
from molrec.model.forcefield import ForceField, Style

__all__ = ["PairStyles", "mixed"]

#: Name of all types while their number is unknown; as an endpoint it stands for any.
_ANY = ""
#: Parameters of a row without energy, where a hybrid style has no term for a pair.
_NO_ENERGY = {
    "epsilon": 0.0, "sigma": 1.0, "a": 0.0, "rho": 1.0, "c": 0.0, "d0": 0.0, "alpha": 1.0, "r0": 1.0
}  # fmt: skip

type Pair = tuple[str, str]


@dataclass(slots=True)
class _SubStyle:
    layout: PairLayout | None
    cutoff: float | None = None
    coulomb_cutoff: float | None = None
    rows: dict[Pair, dict[str, float]] = field(default_factory=dict)


class PairStyles:
    """The pair styles of a script and the coefficients of its pairs of types.

    Args:
        types: The atom types.
    """

    def __init__(self, types: TypeNumbers) -> None:
        self.types = types
        #: The rule of ``pair_modify mix``; None while no script has been read, which would have LAMMPS' default.
        self.mixing: str | None = None
        #: Whether energies are shifted to zero at the cutoff.
        self.shifted = False
        #: The dielectric constant, None where no script states it or leaves it at its default.
        self.dielectric: float | None = None
        self._styles: dict[str, _SubStyle] = {}
        self._hybrid = ""
        self._named: dict[Pair, set[str]] = {}
        self._place: SourceLine | None = None

    # -- what the script says ---------------------------------------------------------------------------------------

    def declare(self, command: Command) -> None:
        """Take a ``pair_style``.

        Raises:
            SchemaError: A style without exact words (``reject-ff-source-unsupported``) or wrong arguments
                (``reject-ff-source-malformed``).
        """
        words = list(command.arguments(1))
        hybrid = words[0] if words[0].startswith("hybrid") else ""
        if hybrid not in ("", "hybrid", "hybrid/overlay"):
            raise command.place.unsupported(f"pair_style {hybrid!r} is not read")
        groups = _grouped(words[1:], command.place) if hybrid else [words]
        old = self._styles if hybrid == self._hybrid else {}
        self._styles, self._hybrid, self._place = {}, hybrid, command.place
        for name, *arguments in groups:
            if name in self._styles:
                raise command.place.unsupported(
                    f"pair_style {hybrid!r} has {name!r} twice; one table holds a style once"
                )
            style = self._sub_style(name, arguments, command.place)
            style.rows = old[name].rows if name in old else {}
            self._styles[name] = style
        if old.keys() != self._styles.keys():
            self._named.clear()

    def declare_hint(self, hint: str, place: SourceLine) -> None:
        """Take the style a section of a data file names behind its title, where no script has declared one."""
        words = hint.split()
        if self._styles:
            return
        if not words:
            raise place.malformed("the section does not say its pair style; write it as in 'Pair Coeffs # lj/cut'")
        if words[0].startswith("hybrid"):
            raise place.unsupported("coefficients of a hybrid pair style are read with the script that declares it")
        self._styles = {words[0]: self._sub_style(words[0], None, place)}
        self._place = place

    def _sub_style(self, name: str, arguments: Sequence[str] | None, place: SourceLine) -> _SubStyle:
        if name in IGNORED_STYLES:
            return _SubStyle(None)
        layout = PAIR_LAYOUTS.get(name)
        if layout is None:
            raise place.unsupported(
                f"pair_style {name!r} has no exact counterpart; known are {', '.join(PAIR_LAYOUTS)}"
            )
        if arguments is None:
            return _SubStyle(layout)
        both = layout.style is not None and layout.coulomb is not None
        if not 1 <= len(arguments) <= (2 if both else 1):
            raise place.malformed(
                f"pair_style {name!r} takes {'one or two cutoffs' if both else 'one cutoff'}, found {list(arguments)}"
            )
        cutoffs = place.numbers(list(arguments), f"pair_style {name!r}")
        return _SubStyle(layout, cutoffs[0], cutoffs[-1] if layout.coulomb else None)

    def coefficients(self, first: str, second: str, words: Sequence[str], place: SourceLine) -> None:
        """Take the coefficients of pairs of types.

        Raises:
            SchemaError: The words do not fit the style (``reject-ff-source-malformed``), or a pair has a cutoff of its
                own (``reject-ff-source-unsupported``).
        """
        if not self._styles:
            raise place.malformed("pair coefficients before a pair_style")
        name = next(iter(self._styles))
        if self._hybrid:
            if not words:
                raise place.malformed("a hybrid pair style needs the sub-style's name before the coefficients")
            name, words = words[0], words[1:]
            if name not in self._styles and name != "none":
                raise place.malformed(f"{name!r} is none of the declared pair styles {', '.join(self._styles)}")
        style = self._styles.get(name, _SubStyle(None))
        params = {} if style.layout is None else _parameters(style, style.layout, words, place)
        for pair in self._pairs(first, second, place):
            if self._hybrid != "hybrid/overlay" or name == "none":
                for other in self._styles.values():
                    other.rows.pop(pair, None) if other is not style else None
                self._named[pair] = set()
            self._named.setdefault(pair, set()).add(name)
            style.rows[pair] = params

    def _pairs(self, first: str, second: str, place: SourceLine) -> list[Pair]:
        ones, others = self.types.resolve(first, place), self.types.resolve(second, place)
        if ones is None or others is None:
            if ones is not others:
                raise place.malformed(
                    f"'{first} {second}' stands for all atom types, but nothing says how many there are; read the "
                    "script that has read_data"
                )
            return [(_ANY, _ANY)]
        ranged = "*" in first or "*" in second
        pairs = [(one, other) for one in ones for other in others]
        ordered = [self._ordered(*pair) for pair in pairs]
        # of a range LAMMPS takes the pairs whose first type is not behind the second
        return [pair for pair, key in zip(pairs, ordered, strict=True) if pair == key] if ranged else ordered

    def _ordered(self, first: str, second: str) -> Pair:
        if self.types.position(first) > self.types.position(second):
            return second, first
        return first, second

    # -- what is stored ---------------------------------------------------------------------------------------------

    def add_to(self, forcefield: ForceField, units: str) -> None:
        """Define the stored styles with their rows.

        Args:
            forcefield: Gets the styles.
            units: Its unit style, which decides the Coulomb constant.

        Raises:
            SchemaError: A hybrid style has something tables cannot say (``reject-ff-source-unsupported``).
        """
        for name, style in self._styles.items():
            if style.layout is not None and style.layout.style is not None:
                self._add_dispersion(forcefield, name, style, style.layout.style)
        coulomb = [(name, style) for name, style in self._styles.items() if style.layout and style.layout.coulomb]
        if len(coulomb) > 1:
            assert self._place is not None
            raise self._place.unsupported(
                f"two Coulomb styles side by side, {' and '.join(name for name, _ in coulomb)}"
            )
        for name, style in coulomb:
            self._add_coulomb(forcefield, name, style, units)

    def _add_dispersion(self, forcefield: ForceField, name: str, style: _SubStyle, stored: str) -> None:
        assert style.layout is not None
        assert self._place is not None
        if any(found.name == stored for found in forcefield.of_category("pair")):
            raise self._place.unsupported(
                f"two of the pair styles are stored as {stored!r}; one table holds a style once"
            )
        rule = self._rule(style.layout)
        if any("rcut" in params for params in style.rows.values()):
            self._add_own_cutoffs(forcefield, style, stored, rule)
            return
        made = forcefield.define_style("pair", stored)
        rows = self._every_pair(style, rule) if self._hybrid else style.rows
        if not self._hybrid and rule is not None:
            made.params["mixing"] = rule
        if style.cutoff is not None:
            made.params["cutoff"] = style.cutoff
        if self.shifted:
            if stored != "lj/cut":
                raise self._place.unsupported(f"pair_modify shift with pair_style {name!r} is not stored")
            made.params["shift"] = 1.0
        made.params |= self._exponents(style)
        for (first, second), params in rows.items():
            own = {key: value for key, value in params.items() if key not in ("n", "m")}
            _add_pair(made, first, second, own)

    def _add_own_cutoffs(self, forcefield: ForceField, style: _SubStyle, stored: str, rule: str | None) -> None:
        """Define a style of which every pair of types has a row with its cutoff."""
        assert self._place is not None
        rows = self._every_pair(style, rule)
        if self.shifted or any("n" in params for params in rows.values()):
            raise self._place.unsupported("cutoffs of single pairs with a shift or exponents are not stored")
        cutoffs = [params["rcut"] for params in rows.values()]
        made = forcefield.define_style(
            "pair",
            stored + OWN_CUTOFF,
            {"cutoff": max(cutoffs), "special": "lj"},
            expression=own_cutoff_expression(stored),
        )
        for (first, second), params in rows.items():
            _add_pair(made, first, second, params)

    def _rule(self, layout: PairLayout) -> str | None:
        if not layout.mixes:
            return None
        return layout.mixes if layout.mixes == "sixthpower" else self.mixing

    def _exponents(self, style: _SubStyle) -> dict[str, float]:
        """Return the exponents of a style that states them, which hold for all of its pairs."""
        found = {(params["n"], params["m"]) for params in style.rows.values() if "n" in params}
        if len(found) > 1:
            assert self._place is not None
            raise self._place.unsupported("pair_style 'mie/cut' with several pairs of exponents; a style has one")
        return dict(zip(("n", "m"), found.pop(), strict=True)) if found else {}

    def _every_pair(self, style: _SubStyle, rule: str | None) -> dict[Pair, dict[str, float]]:
        """Return parameters for every pair of types under a hybrid style."""
        assert style.layout is not None
        seen = dict.fromkeys(one for pair in self._named for one in pair)
        if _ANY in seen:
            assert self._place is not None
            raise self._place.malformed(
                "a hybrid pair style with '* *' needs to know the atom types; read the script that has read_data"
            )
        names = self.types.names or sorted(seen, key=self.types.position)
        blank = {one.name: _NO_ENERGY[one.name] for one in style.layout.coefficients if one.name in _NO_ENERGY}
        found: dict[Pair, dict[str, float]] = {}
        for position, first in enumerate(names):
            for second in names[position:]:
                pair = (first, second)
                own, other = style.rows.get((first, first)), style.rows.get((second, second))
                if pair in style.rows:
                    found[pair] = style.rows[pair]
                elif pair in self._named or not own or not other or rule is None:
                    self._check_hybrid(pair)
                    found[pair] = blank
                else:
                    found[pair] = mixed(rule, own, other)
                    cutoffs = [one.get("rcut", style.cutoff) for one in (own, other)]
                    if cutoffs != [style.cutoff] * 2:
                        found[pair]["rcut"] = _mixed_size(rule, *(float(one or 0.0) for one in cutoffs))
        if not any("rcut" in params for params in found.values()):
            return found
        assert style.cutoff is not None
        return {pair: {"rcut": style.cutoff, **params} for pair, params in found.items()}

    def _check_hybrid(self, pair: Pair) -> None:
        """Refuse a pair of types without coefficients where only a hybrid style may leave it out."""
        if not self._hybrid:
            assert self._place is not None
            raise self._place.malformed(f"the pair of types {pair[0]} {pair[1]} has no coefficients")

    def _add_coulomb(self, forcefield: ForceField, name: str, style: _SubStyle, units: str) -> None:
        assert style.layout is not None
        assert style.layout.coulomb is not None
        if self._hybrid:
            missing = [pair for pair, names in self._named.items() if name not in names]
            if missing:
                assert self._place is not None
                raise self._place.unsupported(
                    f"{name!r} acts on some pairs of types only, not on {missing[0][0]} {missing[0][1]}; a Coulomb "
                    "style holds for all"
                )
        made = forcefield.define_style("pair", style.layout.coulomb)
        if style.coulomb_cutoff is not None:
            made.params["cutoff"] = style.coulomb_cutoff
        made.params["coulomb"] = COULOMB_CONSTANTS[units]
        if self.dielectric is not None:
            made.params["dielectric"] = self.dielectric


def mixed(rule: str, first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """Return ``epsilon`` and ``sigma`` of a pair of types from those of the two.

    Args:
        rule: ``arithmetic``, ``geometric`` or ``sixthpower``.
        first: Parameters of one.
        second: Parameters of the other.
    """
    strength = math.sqrt(first["epsilon"] * second["epsilon"])
    one, other = first["sigma"], second["sigma"]
    if rule == "sixthpower":
        strength *= 2.0 * one**3 * other**3 / (one**6 + other**6)
    return {"epsilon": strength, "sigma": _mixed_size(rule, one, other)}


def _mixed_size(rule: str, one: float, other: float) -> float:
    if rule == "arithmetic":
        return 0.5 * (one + other)
    if rule == "geometric":
        return math.sqrt(one * other)
    return float((0.5 * (one**6 + other**6)) ** (1.0 / 6.0))


def _add_pair(style: Style, first: str, second: str, params: Mapping[str, float]) -> None:
    name = first if first == second else f"{first}-{second}"
    style.add(free_name(style, name or "*"), (first, second), **params)


def _grouped(words: Sequence[str], place: SourceLine) -> list[list[str]]:
    """Return the sub-styles of a hybrid style, each with its arguments."""
    groups: list[list[str]] = []
    for word in words:
        if word in PAIR_LAYOUTS or word in IGNORED_STYLES:
            groups.append([word])
        elif groups and _is_number(word):
            groups[-1].append(word)
        else:
            raise place.unsupported(
                f"pair_style {word!r} has no exact counterpart; known are {', '.join(PAIR_LAYOUTS)}"
            )
    return groups


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _parameters(style: _SubStyle, layout: PairLayout, words: Sequence[str], place: SourceLine) -> dict[str, float]:
    what = f"pair style {layout.lammps!r}"
    count = len(layout.coefficients)
    cut = layout.coulomb == "coul/cut"
    allowed = (1 if layout.style is not None else 0) + (1 if cut else 0)
    if not count <= len(words) <= count + allowed:
        names = " ".join(coefficient.name for coefficient in layout.coefficients) or "none"
        raise place.malformed(
            f"{what} takes {count} coefficients ({names}) and {allowed} cutoffs at most, found {len(words)}"
        )
    numbers = place.numbers(list(words), what)
    own = numbers[count:]
    if own:
        stated = [style.cutoff] + ([style.coulomb_cutoff] if cut and layout.style is not None else [])
        same = (own * len(stated))[: len(stated)] == stated or own == stated
        if not same and not cut and style.cutoff is not None and layout.style is not None:
            values = dict(zip((one.name for one in layout.coefficients), numbers, strict=False))
            return values | {"rcut": own[0]}
        if not same:
            raise place.unsupported(
                f"{what}: a cutoff of this pair's own, {own}, beside {stated} of the style; a style has one"
            )
    return {one.name: one.stored(number) for one, number in zip(layout.coefficients, numbers, strict=False)}
