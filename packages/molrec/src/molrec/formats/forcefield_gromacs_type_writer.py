"""The type sections of a GROMACS topology, and which row a term of given atoms would find in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from molrec.formats.forcefield_gromacs_functions import FUNCTIONS, Function, function_of
from molrec.formats.forcefield_gromacs_lines import Row
from molrec.formats.forcefield_gromacs_types import ANY, BondedTypes
from molrec.formats.forcefield_rows import note_annotations, number_text, torsion_terms, whole
from molrec.formats.forcefield_source import SourceLine, not_in_target
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField, Style, StyleRow
from molrec.model.forcefield_section import ANNOTATION_COLUMNS

__all__ = ["TypeWriter"]

_TARGET = "GROMACS"
_SECTIONS = {
    "bonds": "bondtypes",
    "angles": "angletypes",
    "dihedrals": "dihedraltypes",
    "constraints": "constrainttypes",
}
_BONDED = ("bond", "constraint", "angle", "dihedral", "improper")
_UREY_BRADLEY = FUNCTIONS["angles", 5]
_PROPER = FUNCTIONS["dihedrals", 9]
#: The constraint that is no bond: what is excluded along it is listed.
_CONSTRAINT = FUNCTIONS["constraints", 2]

type Params = Mapping[str, float | str | int]


class TypeWriter:
    """Writes the types of a force field.

    Args:
        forcefield: The force field.
        notes: Told what GROMACS has no place for.

    Raises:
        SchemaError: Endpoints are types in one style and classes in another (``reject-ff-target``).
    """

    def __init__(self, forcefield: ForceField, notes: Notes) -> None:
        self._forcefield = forcefield
        self._notes = notes
        keys = {style.endpoint_key for category in _BONDED for style in forcefield.of_category(category) if len(style)}
        if len(keys) > 1:
            raise not_in_target(
                _TARGET, "endpoints that are types and classes", "its bonded types are one or the other"
            )
        self.by_class = "type" not in keys
        self._springs = {row.name: row for style in forcefield.of_category("urey_bradley") for row in style}
        #: Atom type to the name its bonded terms are looked up by.
        self.class_of: dict[str, str] = {}
        self._types = BondedTypes()
        self._written: list[tuple[str, str]] = []
        self._collect()

    def function(self, style: Style) -> Function:
        """Return the function of a style.

        Raises:
            SchemaError: GROMACS has none of its energy (``reject-ff-target``).
        """
        if (style.category, style.name, style.expression) == ("dihedral", "periodic", None):
            return _PROPER
        if (style.category, style.name, style.expression) == ("constraint", "fixed", None):
            return _CONSTRAINT
        found = function_of(style.category, style.name, style.expression)
        if found is None:
            raise not_in_target(_TARGET, f"style {style.category} {style.name!r}", "it has no function of that energy")
        return found

    def finds(self, function: Function, atom_types: tuple[str, ...]) -> str:
        """Return the row a term of atoms of these types finds, or ``""``."""
        classes = tuple(self.class_of.get(name, name) for name in atom_types)
        found = self._types.find(function.section, function.number, classes)
        return "" if found is None else found.name

    def parameter_words(self, function: Function, params: Params, what: str) -> list[str]:
        """Return the parameters of a term as words, one text for each row it takes.

        Raises:
            SchemaError: One is missing, or there are others (``reject-ff-target``).
        """
        numeric = {
            key: float(value) for key, value in params.items() if key not in ANNOTATION_COLUMNS and value is not None
        }
        if function.style == "periodic":
            terms = [term._asdict() for term in torsion_terms(numeric, what)]
            for term in terms:
                whole(term["periodicity"], f"{what}: periodicity")
            if not terms or (len(terms) > 1 and function is not _PROPER):
                raise not_in_target(_TARGET, what, "function 4 has one term")
            return [self._words(function, term) for term in terms]
        if set(numeric) != set(function.names):
            raise not_in_target(
                _TARGET, what, f"function {function.number} takes {' '.join(function.names)}, found {' '.join(numeric)}"
            )
        return [self._words(function, numeric)]

    @staticmethod
    def _words(function: Function, params: dict[str, float]) -> str:
        numbers = zip(function.names, function.written(params), strict=True)
        return " ".join(str(round(value)) if name == "periodicity" else number_text(value) for name, value in numbers)

    def atom_lines(self, wells: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
        """Yield the section of atom types.

        Args:
            wells: sigma and epsilon of each type.

        Raises:
            SchemaError: A type has no mass or no pair parameters (``reject-ff-target``).
        """
        rows = [row for style in self._forcefield.of_category("atom") for row in style]
        if rows and wells:
            yield "[ atomtypes ]"
        for row in rows if wells else ():
            if "mass" not in row or row.name not in wells:
                raise not_in_target(_TARGET, f"atom type {row.name!r}", "a type has a mass, sigma and epsilon")
            well = wells[row.name]
            numbers = [number_text(float(value)) for value in (row["mass"], row.get("charge", 0.0))]
            yield " ".join(
                (
                    row.name,
                    self.class_of[row.name],
                    str(row.get("atomic_number", -1)),
                    *numbers,
                    str(row.get("ptype", "A")),
                    number_text(well["sigma"]),
                    number_text(well["epsilon"]),
                )
            )

    def lines(self) -> Iterator[str]:
        """Yield the sections of bonded types."""
        last = ""
        for section, line in self._written:
            if section != last:
                yield f"[ {section} ]"
            last = section
            yield line

    def _collect(self) -> None:
        for style in self._forcefield.of_category("atom"):
            for row in style:
                self.class_of[row.name] = str(row.get("class", row.name)) if self.by_class else row.name
                written = ["mass", "charge", "atomic_number", "ptype", *(["class"] if self.by_class else [])]
                note_annotations(style, row, written, _TARGET, self._notes)
        for category in _BONDED:
            for style in self._forcefield.of_category(category):
                function = self.function(style)
                for row in style:
                    self._collect_row(style, function, row)
        if self._springs:
            angles = {
                row.name for style in self._forcefield.of_category("angle") if style.name == "harmonic" for row in style
            }
            if missing := set(self._springs) - angles:
                raise not_in_target(
                    _TARGET, f"urey_bradley {min(missing)!r}", "it stands with an angle of the same name"
                )

    def _collect_row(self, style: Style, function: Function, row: StyleRow) -> None:
        what = f"row {row.name!r} of {style.category} {style.name!r}"
        function, params = self.with_spring(style, function, row.name, dict(row))
        texts = self.parameter_words(function, params, what)
        note_annotations(style, row, [key for key in row if key not in ANNOTATION_COLUMNS], _TARGET, self._notes)
        ends = tuple(end or ANY for end in row.endpoints)
        unusable = ANY in ends if function.section != "dihedrals" else set(ends) == {ANY}
        if unusable or not function.parameters or self._types.holds(function.section, function.number, ends):
            return  # its terms carry the parameters
        section = _SECTIONS[function.section]
        for text in texts:
            words = (*ends, str(function.number), *text.split())
            self._types.add(Row(section, words, " ".join(words), SourceLine("", 0)), function.section)
            self._written.append((section, " ".join(words)))
        self._types.name_last(row.name)

    def with_spring(
        self, style: Style, function: Function, name: str, params: Params
    ) -> tuple[Function, dict[str, float | str | int]]:
        """Return function and parameters of a term, joined with the Urey-Bradley spring of the same name."""
        spring = self._springs.get(name) if (style.category, style.name) == ("angle", "harmonic") else None
        if spring is None:
            return function, dict(params)
        return _UREY_BRADLEY, {**params, "r13": spring["r0"], "kub": spring["k"]}
