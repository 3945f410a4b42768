"""Bonded styles of a LAMMPS script: what is declared, coefficients by type, and the stored styles of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from molrec.formats.forcefield_lammps_script import Command
from molrec.formats.forcefield_lammps_styles import CROSS_TERMS, LAYOUTS, Coefficient, Layout
from molrec.formats.forcefield_lammps_types import TypeNumbers
from molrec.formats.forcefield_rows import UREY_BRADLEY, TorsionTerm, define, torsion_parameters
from molrec.formats.forcefield_source import SourceLine
from molrec.model.forcefield import ForceField
from molrec.model.forcefield_document import CATEGORY_ARITY

__all__ = ["BondedStyles"]

_FOURIER = Layout("fourier", "periodic", ())
_NHARMONIC = Layout("nharmonic", "rb", ())
#: A harmonic angle and a Urey-Bradley spring between its outer atoms, of which one may have no strength.
_CHARMM_ANGLE = Layout("charmm", "harmonic", LAYOUTS["angle"]["harmonic"].coefficients)
_SPRING = (Coefficient("k", factor=2.0), Coefficient("r0"))
_RB_TERMS = 6


@dataclass(slots=True)
class _Row:
    """The coefficients of one type: parameters, and those of cross terms, which may come first."""

    layout: Layout | None = None
    params: dict[str, float] = field(default_factory=dict)
    cross: dict[str, float] = field(default_factory=dict)
    place: SourceLine | None = None


class BondedStyles:
    """The styles of one kind and the coefficients of its types.

    Args:
        kind: ``bond``, ``angle``, ``dihedral`` or ``improper``.
        types: The types of this kind.
    """

    def __init__(self, kind: str, types: TypeNumbers) -> None:
        self.kind = kind
        self.types = types
        self._layouts: dict[str, Layout | None] = {}
        self._hybrid = False
        self._rows: dict[str, _Row] = {}
        #: Angle types that have a Urey-Bradley spring.
        self.springs: set[str] = set()

    def declare(self, command: Command) -> None:
        """Take a ``bond_style`` or the like.

        Raises:
            SchemaError: A style without exact words (``reject-ff-source-unsupported``).
        """
        names = list(command.arguments(1))
        hybrid = names[0] == "hybrid"
        layouts = {name: self._layout(name, command.place) for name in (names[1:] if hybrid else names[:1])}
        if layouts.keys() != self._layouts.keys() or hybrid != self._hybrid:
            self._rows.clear()
        self._layouts, self._hybrid = layouts, hybrid

    def declare_hint(self, hint: str, place: SourceLine) -> None:
        """Take the style a section of a data file names behind its title, where no script has declared one."""
        words = hint.split()
        if self._layouts:
            return
        if not words or words[0] == "hybrid":
            self._hybrid = bool(words)
        else:
            self._layouts = {words[0]: self._layout(words[0], place)}

    def _layout(self, name: str, place: SourceLine) -> Layout | None:
        if name == "none":
            return None
        if self.kind == "dihedral" and name in ("fourier", "nharmonic"):
            return _FOURIER if name == "fourier" else _NHARMONIC
        if self.kind == "angle" and name == "charmm":
            return _CHARMM_ANGLE
        found = LAYOUTS[self.kind].get(name)
        if found is None:
            raise place.unsupported(
                f"{self.kind}_style {name!r} has no exact counterpart; known are {', '.join(LAYOUTS[self.kind])}"
            )
        return found

    def coefficients(self, token: str, words: Sequence[str], place: SourceLine) -> None:
        """Take the coefficients of a type or a range of types.

        Args:
            token: The type: a number, a label, a range.
            words: What follows it.
            place: The line.

        Raises:
            SchemaError: No style is declared, the words do not fit it (``reject-ff-source-malformed``).
        """
        names = self.types.resolve(token, place)
        if names is None:
            raise place.malformed(
                f"{token!r} stands for all {self.kind} types, but nothing says how many there are; read the script "
                "that has read_data"
            )
        layout, rest = self._chosen(words, place)
        if layout is None:
            for name in names:
                self._rows.pop(name, None)
            return
        params, cross = self._parsed(layout, rest, place)
        for name in names:
            row = self._rows.setdefault(name, _Row())
            if layout is not row.layout and row.layout is not None:
                row = self._rows[name] = _Row()
            row.layout, row.place = layout, place
            row.params |= params
            row.cross |= cross

    def _chosen(self, words: Sequence[str], place: SourceLine) -> tuple[Layout | None, Sequence[str]]:
        if not self._hybrid:
            if not self._layouts:
                raise place.malformed(f"coefficients of {self.kind} types before a {self.kind}_style")
            return next(iter(self._layouts.values())), words
        if not words:
            raise place.malformed(f"a hybrid {self.kind} style needs the sub-style's name before the coefficients")
        if words[0] not in self._layouts and words[0] != "none":
            if self._layouts:
                raise place.malformed(f"{words[0]!r} is none of the declared styles {', '.join(self._layouts)}")
            return self._layout(words[0], place), words[1:]
        return self._layouts.get(words[0]), words[1:]

    def _parsed(
        self, layout: Layout, words: Sequence[str], place: SourceLine
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return parameters and cross-term parameters of one line."""
        if layout.lammps == "zero":
            return {}, {}  # what stands there is an equilibrium value that decides nothing
        if layout is _FOURIER:
            return _fourier(words, place), {}
        if layout is _NHARMONIC:
            return _nharmonic(words, place), {}
        if layout is _CHARMM_ANGLE:
            what = "angle style 'charmm'"
            if len(words) != 4:
                raise place.malformed(f"{what} takes 4 coefficients (k theta0 k_ub r_ub), found {len(words)}")
            return _stored(layout.coefficients, words[:2], what, place), _stored(_SPRING, words[2:], what, place)
        if layout.lammps == "class2" and words and (self.kind, words[0]) in CROSS_TERMS:
            _, coefficients = CROSS_TERMS[self.kind, words[0]]
            return {}, _stored(coefficients, words[1:], f"{self.kind} style 'class2' {words[0]}", place)
        return _stored(layout.coefficients, words, f"{self.kind} style {layout.lammps!r}", place), {}

    def cross_terms(self, keyword: str, token: str, words: Sequence[str], place: SourceLine) -> None:
        """Take a row of a cross-term section of a data file; ``skip`` in it stands for none.

        Raises:
            SchemaError: The words do not fit (``reject-ff-source-malformed``).
        """
        if words and words[0] in ("skip", "none"):
            return
        rest = words[1:] if words and words[0] == "class2" else words
        _, coefficients = CROSS_TERMS[self.kind, keyword]
        for name in self.types.resolve(token, place) or ():
            row = self._rows.setdefault(name, _Row())
            row.cross |= _stored(coefficients, rest, f"section {keyword!r}", place)
            row.place = place

    def add_to(self, forcefield: ForceField) -> None:
        """Define the styles and add a row for each type that has coefficients.

        Raises:
            SchemaError: A type has cross terms without its own coefficients (``reject-ff-source-malformed``).
        """
        for layout in self._layouts.values():
            if layout is not None:
                define(forcefield, self.kind, layout.style, layout.expression)
        wildcards = ("",) * CATEGORY_ARITY[self.kind]
        for name, row in self._rows.items():
            assert row.place is not None
            if row.layout is None or (row.cross and not row.params):
                raise row.place.malformed(f"{self.kind} type {name!r} has cross terms but no coefficients of its own")
            style = define(forcefield, self.kind, row.layout.style, row.layout.expression)
            cross = row.cross
            if row.layout is _CHARMM_ANGLE:
                if cross["k"] != 0.0:
                    spring = define(forcefield, "urey_bradley", "harmonic", UREY_BRADLEY)
                    spring.add(name, wildcards, **cross)
                    self.springs.add(name)
                cross = {}
            if self.kind == "dihedral" and cross:
                _check_no_energy(cross, name, row.place)
                cross = {}
            style.add(name, wildcards, **row.params, **cross)


def _check_no_energy(cross: Mapping[str, float], name: str, place: SourceLine) -> None:
    """Refuse cross terms of a dihedral unless all their strengths are zero, as where only the form needs them."""
    for key, value in cross.items():
        reference = key.rpartition("_")[2].rstrip("0123456789") in ("r", "theta")
        if value and not reference:
            raise place.unsupported(
                f"dihedral type {name!r} has class2 cross terms ({key} = {value}), which are not stored"
            )


def _stored(
    coefficients: Sequence[Coefficient], words: Sequence[str], what: str, place: SourceLine
) -> dict[str, float]:
    if len(words) != len(coefficients):
        names = " ".join(coefficient.name for coefficient in coefficients)
        raise place.malformed(f"{what} takes {len(coefficients)} coefficients ({names}), found {len(words)}")
    numbers = place.numbers(list(words), what)
    return {
        coefficient.name: coefficient.stored(number) for coefficient, number in zip(coefficients, numbers, strict=True)
    }


def _fourier(words: Sequence[str], place: SourceLine) -> dict[str, float]:
    numbers = place.numbers(list(words), "dihedral style 'fourier'")
    if not numbers or len(numbers) != 1 + 3 * int(numbers[0]) or numbers[0] < 1:
        raise place.malformed(f"dihedral style 'fourier' takes m and m times K n d, found {' '.join(words)!r}")
    phase = Coefficient("phase", degrees=True)
    terms = [
        TorsionTerm(numbers[first], numbers[first + 1], phase.stored(numbers[first + 2]))
        for first in range(1, len(numbers), 3)
    ]
    return torsion_parameters(terms)


def _nharmonic(words: Sequence[str], place: SourceLine) -> dict[str, float]:
    numbers = place.numbers(list(words), "dihedral style 'nharmonic'")
    if not numbers or len(numbers) != 1 + int(numbers[0]):
        raise place.malformed(f"dihedral style 'nharmonic' takes n and n coefficients, found {' '.join(words)!r}")
    if len(numbers) - 1 > _RB_TERMS:
        raise place.unsupported(f"dihedral style 'nharmonic' with {len(numbers) - 1} terms; {_RB_TERMS} are stored")
    # A power of cos(phi) is one of cos(phi - pi) with the sign of odd powers turned; adding 0 makes -0 plain.
    powers = numbers[1:] + [0.0] * (_RB_TERMS + 1 - len(numbers))
    return {f"c{power}": (-value if power % 2 else value) + 0.0 for power, value in enumerate(powers)}
