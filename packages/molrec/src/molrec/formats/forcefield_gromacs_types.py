"""The parameter tables of a GROMACS topology: bonded types, and which of them a quadruple of atoms finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from molrec.formats.forcefield_gromacs_functions import FUNCTIONS, Function, improper_style
from molrec.formats.forcefield_gromacs_lines import Row
from molrec.formats.forcefield_rows import UREY_BRADLEY, TorsionTerm, define, free_name, torsion_parameters
from molrec.formats.forcefield_source import SourceLine
from molrec.model.forcefield import ForceField

__all__ = ["ANY", "BondedTypes", "FoundType", "bonded_function", "parsed_parameters"]

#: GROMACS' wildcard of dihedral types.
ANY = "X"
#: Dihedral functions that look their types up among those of another number.
_SAME_TYPES = {9: 1}
_COUNTS = {"bonds": 2, "angles": 3, "dihedrals": 4, "constraints": 2}


@dataclass(slots=True)
class FoundType:
    """A row of a type section.

    Attributes:
        function: Its function.
        ends: Names of its endpoints, ``X`` for any.
        params: Stored parameters of each term; several for periodic dihedrals.
        place: Where it stands.
        name: What its row in the force field is called, once it has one.
    """

    function: Function
    ends: tuple[str, ...]
    params: list[dict[str, float]]
    place: SourceLine
    name: str = ""


def bonded_function(row: Row, section: str, number: int) -> Function:
    """Return the function of a row.

    Raises:
        SchemaError: It has no exact words (``reject-ff-source-unsupported``).
    """
    found = FUNCTIONS.get((section, number))
    if found is None:
        raise row.place.unsupported(f"[ {row.section} ] with function {number} is not stored exactly")
    return found


def parsed_parameters(row: Row, function: Function, first: int) -> tuple[Function, dict[str, float], bool]:
    """Return function and stored parameters of a row, and whether it also has those of a second (B) state.

    Args:
        row: The row.
        function: Its function; an improper with a reference off 0 and 180 degrees gets another.
        first: Position of the first parameter.

    Raises:
        SchemaError: There are more or fewer parameters (``reject-ff-source-malformed``).
    """
    numbers = row.numbers(first)
    count = len(function.parameters)
    if function.style == "rb" and len(numbers) == count - 1:
        numbers.append(0.0)
    if function.style == "opls" and len(numbers) == count + 1 and numbers[-1] == 0.0:
        numbers.pop()
    # a second state repeats all parameters, but a multiplicity only once or twice
    if len(numbers) not in (count, 2 * count, *((2 * count - 1,) if function.names[-1:] == ("periodicity",) else ())):
        raise row.place.malformed(
            f"[ {row.section} ] with function {function.number} takes {count} parameters "
            f"({' '.join(function.names)}), found {len(numbers)}"
        )
    if function.category == "improper" and function.style == "harmonic":
        function = improper_style(abs(numbers[0]) if abs(numbers[0]) == 180.0 else numbers[0])
        numbers[0] = 180.0 if numbers[0] == -180.0 else numbers[0]
    return function, function.stored(numbers[:count]), len(numbers) > count and numbers[count:] != numbers[:count]


@dataclass(slots=True)
class BondedTypes:
    """All rows of the bonded type sections, by section and function number."""

    _exact: dict[tuple[str, int], dict[tuple[str, ...], FoundType]] = field(default_factory=dict)
    _wild: dict[tuple[str, int], list[FoundType]] = field(default_factory=dict)
    _last: FoundType | None = None

    def add(self, row: Row, section: str) -> bool:
        """Take a row of a type section; return whether it has parameters of a second state too.

        Raises:
            SchemaError: It is damaged, or has no exact words.
        """
        count = _COUNTS[section]
        ends, number_at = _ends_of(row, section, count)
        number = row.integer(number_at)
        function, params, second = parsed_parameters(row, bonded_function(row, section, number), number_at + 1)
        found = FoundType(function, ends, [params], row.place)
        last, self._last = self._last, found
        key = (section, _SAME_TYPES.get(number, number))
        known = self._exact.setdefault(key, {})
        if section == "dihedrals" and number == 9 and ends in known:
            # rows of function 9 add up while they follow one another
            if last is None or last.ends != ends:
                raise row.place.unsupported(
                    f"the rows of {' '.join(ends)} do not follow one another; put them together"
                )
            known[ends].params.append(params)
            return second
        known.pop(ends[::-1], None)
        known[ends] = found
        if ANY in ends:
            wild = self._wild.setdefault(key, [])
            wild[:] = [one for one in wild if one.ends not in (ends, ends[::-1])] + [found]
        return second

    def find(self, section: str, number: int, ends: tuple[str, ...]) -> FoundType | None:
        """Return the row that holds for bonded types: an exact one, else the first with the fewest wildcards."""
        key = (section, _SAME_TYPES.get(number, number))
        known = self._exact.get(key, {})
        found = known.get(ends) or known.get(ends[::-1])
        if found is not None:
            return found
        fitting = [one for one in self._wild.get(key, ()) if _fits(one.ends, ends) or _fits(one.ends, ends[::-1])]
        return min(fitting, key=lambda one: one.ends.count(ANY), default=None)

    def holds(self, section: str, number: int, ends: tuple[str, ...]) -> bool:
        """Tell whether there is a row for just these endpoints, in either order."""
        known = self._exact.get((section, _SAME_TYPES.get(number, number)), {})
        return ends in known or ends[::-1] in known

    def name_last(self, name: str) -> None:
        """Give the row added last its name in the force field."""
        if self._last is not None:
            found = self.find(self._last.function.section, self._last.function.number, self._last.ends)
            if found is not None:
                found.name = name

    def __iter__(self) -> Iterator[FoundType]:
        for known in self._exact.values():
            yield from known.values()

    def add_to(self, forcefield: ForceField) -> None:
        """Add a row for each type; endpoints are classes, the bonded types of GROMACS."""
        for found in self:
            if found.function.style == "urey-bradley":
                _add_urey_bradley(forcefield, found)
                continue
            style = define(forcefield, found.function.category, found.function.style, found.function.expression)
            style.endpoint_key = "class"
            ends = tuple("" if end == ANY else end for end in found.ends)
            found.name = free_name(style, "-".join(end or "*" for end in ends))
            style.add(found.name, ends, **_row_parameters(found))


def _row_parameters(found: FoundType) -> dict[str, float]:
    if found.function.style != "periodic":
        return found.params[0]
    return torsion_parameters([TorsionTerm(**one) for one in found.params])


def _add_urey_bradley(forcefield: ForceField, found: FoundType) -> None:
    """Add the angle and the spring of function 5, under one name."""
    values = found.params[0]
    angle = define(forcefield, "angle", "harmonic")
    spring = define(forcefield, "urey_bradley", "harmonic", UREY_BRADLEY)
    angle.endpoint_key = spring.endpoint_key = "class"
    found.name = free_name(angle, "-".join(found.ends))
    angle.add(found.name, found.ends, theta0=values["theta0"], k=values["k"])
    spring.add(found.name, found.ends, r0=values["r13"], k=values["kub"])


def _fits(pattern: tuple[str, ...], ends: tuple[str, ...]) -> bool:
    return all(one in (ANY, end) for one, end in zip(pattern, ends, strict=True))


def _ends_of(row: Row, section: str, count: int) -> tuple[tuple[str, ...], int]:
    """Return the endpoints of a row of a type section and the position of its function number."""
    words = row.words
    if section == "dihedrals" and len(words) > 2 and words[2].isdecimal():
        # two names: the inner atoms of a proper torsion, the outer ones of an improper
        first, second = words[:2]
        improper = words[2] in ("2", "4")
        return ((first, ANY, ANY, second) if improper else (ANY, first, second, ANY)), 2
    if len(words) <= count:
        raise row.place.malformed(f"[ {row.section} ] has {count} names and a function number, found {list(words)}")
    return words[:count], count
