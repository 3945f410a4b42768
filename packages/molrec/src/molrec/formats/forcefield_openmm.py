"""Force-field XML of OpenMM and foyer: types, bonded terms, non-bonded parameters. Residue templates are left out.

Units are nm, kJ/mol, radian. What OpenMM computes and no registered style means is kept exactly under a style of its
own with an `expression` (custom forces, Urey-Bradley springs) or as a table (CMAP); other forces are refused by name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from molrec.forcefield.registry import REGISTRY
from molrec.formats.forcefield_openmm_atoms import AtomClasses, Endpoints, endpoint_key_of
from molrec.formats.forcefield_openmm_names import (
    ABSOLUTE_TORSION,
    COULOMB,
    RB_IMPROPER,
    SIGNED_TORSION,
    UNITS,
    stored_expression,
)
from molrec.formats.forcefield_openmm_nonbonded import Nonbonded
from molrec.formats.forcefield_openmm_writer import write_openmm
from molrec.formats.forcefield_openmm_xml import Element, read_tree
from molrec.formats.forcefield_rows import UREY_BRADLEY, TorsionTerm, free_name, torsion_parameters
from molrec.formats.forcefield_source import ForceFieldContent, ForceFieldFormat
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField
from molrec.model.forcefield_document import CATEGORY_ARITY

__all__ = ["COULOMB", "FORMAT", "read_openmm"]

#: Attributes of an atom type that are columns; ``def`` is foyer's word for SMARTS.
_ANNOTATIONS = {"def": "smarts"} | {key: key for key in ("class", "element", "desc", "doi", "overrides")}
_NO_ENERGY = {"Include", "AtomTypes"}
_LEFT_OUT = {
    "Residues": "residue templates are no part of a force field here",
    "Patches": "residue patches are no part of a force field here",
    "Info": "remarks of the file are left out",
    "InitializationScript": "scripts are not run",
}
_CUSTOM = {
    "CustomBondForce": (("Bond", "bond"),),
    "CustomAngleForce": (("Angle", "angle"),),
    "CustomTorsionForce": (("Proper", "dihedral"), ("Improper", "improper")),
}
_PARAMETER = {
    "CustomBondForce": "PerBondParameter",
    "CustomAngleForce": "PerAngleParameter",
    "CustomTorsionForce": "PerTorsionParameter",
}
_RB_TERMS = 6

type Row = tuple[Element, Endpoints]


def read_openmm(path: Path, notes: Notes, units: str | None = None) -> ForceFieldContent:
    """Read a force-field XML file and the files it includes.

    Args:
        path: The file.
        notes: Told that residue templates and remarks are left out.
        units: Must be None; the format has units of its own.

    Raises:
        SchemaError: See `molrec.formats.forcefield_source.read_forcefield`.
    """
    roots = read_tree(path)
    if units is not None:
        raise roots[-1].place.malformed("force-field XML is in nm, kJ/mol and radian; state no units")
    return ForceFieldContent(_Reader(path, roots, notes).forcefield(), None)


class _Reader:
    """Makes a force field of the elements of one or several files."""

    def __init__(self, path: Path, roots: Sequence[Element], notes: Notes) -> None:
        self._roots = roots
        self._notes = notes
        self._classes = AtomClasses()
        top = roots[-1].attributes
        source = {"format": "openmm-xml", "uri": path.name}
        self._forcefield = ForceField(top.get("name", path.stem), UNITS, None, source)
        if "version" in top:
            self._forcefield.extra["version"] = top["version"]
        self._nonbonded = Nonbonded(self._classes)
        self._forces: dict[str, Callable[[Sequence[Element]], None]] = {
            "HarmonicBondForce": self._harmonic_bonds,
            "HarmonicAngleForce": self._harmonic_angles,
            "AmoebaUreyBradleyForce": self._urey_bradley,
            "PeriodicTorsionForce": self._periodic_torsions,
            "RBTorsionForce": self._ryckaert_bellemans,
            "CMAPTorsionForce": self._cmap,
            "NonbondedForce": self._nonbonded.take_nonbonded,
            "LennardJonesForce": self._nonbonded.take_lennard_jones,
        }

    def forcefield(self) -> ForceField:
        """Return the force field.

        Raises:
            SchemaError: The file is damaged or holds what has no exact words.
        """
        self._atom_types()
        found: dict[str, list[Element]] = {}
        for root in self._roots:
            for element in root.children:
                if element.tag in _LEFT_OUT:
                    self._notes.lost(f"<{element.tag}>", _LEFT_OUT[element.tag])
                elif element.tag in self._forces or element.tag in _CUSTOM:
                    found.setdefault(element.tag, []).append(element)
                elif element.tag not in _NO_ENERGY:
                    raise element.place.unsupported(f"<{element.tag}> adds terms that are not stored")
        self._keep_settings(found)
        for tag, elements in found.items():
            if tag in _CUSTOM:
                for element in elements:
                    self._custom(element)
            else:
                self._forces[tag](elements)
        self._nonbonded.add_to(self._forcefield, self._roots[-1])
        for name in sorted(self._classes.empty):
            self._notes.lost(f"class {name!r}", "is one no type is of; its rows are left out")
        if self._classes.undeclared:
            self._notes.changed(
                f"types {', '.join(sorted(self._classes.undeclared))}",
                "are named but not declared; their rows are kept",
            )
        return self._forcefield

    def _keep_settings(self, found: Mapping[str, Sequence[Element]]) -> None:
        """Keep attributes of the non-bonded forces that are settings of a run."""
        kept = {
            tag: {key: value for force in found[tag] for key, value in force.attributes.items() if "14scale" not in key}
            for tag in ("NonbondedForce", "LennardJonesForce")
            if tag in found
        }
        if any(kept.values()):
            self._forcefield.extra["openmm"] = {tag: values for tag, values in kept.items() if values}

    # -- atom types -------------------------------------------------------------------------------------------------

    def _atom_types(self) -> None:
        types = [
            element for root in self._roots for section in root.all("AtomTypes") for element in section.all("Type")
        ]
        style = self._forcefield.define_style("atom", "full")
        charges = self._nonbonded.charges(self._roots)
        for element in types:
            name = element.get("name")
            if name in style:
                raise element.place.malformed(f"the atom type {name!r} is declared twice")
            self._classes.add(name, element.attributes.get("class"))
            annotations = {
                column: element.attributes[key] for key, column in _ANNOTATIONS.items() if element.attributes.get(key)
            }
            mass = element.number("mass") if "mass" in element.attributes else None
            style.add(name, mass=mass, charge=charges.get(name), **annotations)

    # -- bonded terms -----------------------------------------------------------------------------------------------

    def _rows(self, elements: Sequence[Element], tag: str, count: int) -> list[Row]:
        return [(element, self._classes.endpoints(element, count)) for force in elements for element in force.all(tag)]

    def _add(
        self,
        category: str,
        name: str,
        rows: Sequence[Row],
        params: Callable[[Element], dict[str, float | str]],
        expression: str | None = None,
        settings: dict[str, float | str] | None = None,
    ) -> None:
        """Add a style with a row for each element; nothing for no elements."""
        if not rows:
            return
        key = endpoint_key_of(rows)
        if any(one.name == name for one in self._forcefield.of_category(category)):
            raise rows[0][0].place.unsupported(f"two forces are stored as {category} {name!r}; a table holds one")
        style = self._forcefield.define_style(category, name, settings, expression, key or "type")
        for element, endpoints in rows:
            values = params(element)
            remark = {key: element.attributes[key] for key in ("smirks", "desc", "doi") if element.attributes.get(key)}
            for ends in [endpoints.names] if key is not None else self._classes.spelled_out(endpoints):
                row_name = free_name(style, "-".join(end or "*" for end in ends))
                style.add(row_name, ends, **values, **remark)

    def _harmonic_bonds(self, forces: Sequence[Element]) -> None:
        rows = self._rows(forces, "Bond", 2)
        self._add("bond", "harmonic", rows, lambda one: {"k": one.number("k"), "r0": one.number("length")})

    def _harmonic_angles(self, forces: Sequence[Element]) -> None:
        rows = self._rows(forces, "Angle", 3)
        self._add("angle", "harmonic", rows, lambda one: {"k": one.number("k"), "theta0": one.number("angle")})

    def _urey_bradley(self, forces: Sequence[Element]) -> None:
        # the force's energy is k (r - d)^2, without the half of the stored spring
        self._add(
            "urey_bradley",
            "harmonic",
            self._rows(forces, "UreyBradley", 3),
            lambda one: {"k": 2.0 * one.number("k"), "r0": one.number("d")},
            UREY_BRADLEY,
        )

    def _periodic_torsions(self, forces: Sequence[Element]) -> None:
        for tag, category in (("Proper", "dihedral"), ("Improper", "improper")):
            settings = self._ordering(forces) if tag == "Improper" else None
            self._add(category, "periodic", self._rows(forces, tag, 4), _torsion, settings=settings)

    def _ordering(self, forces: Sequence[Element]) -> dict[str, float | str]:
        """Return how the file orders the atoms of its impropers, which tells a typing program what to do."""
        stated = {force.attributes.get("ordering", "default") for force in forces if any(force.all("Improper"))}
        if len(stated) > 1:
            raise forces[-1].place.unsupported(f"impropers of several orderings, {', '.join(sorted(stated))}")
        ordering = stated.pop() if stated else "default"
        return {} if ordering == "default" else {"ordering": ordering}

    def _ryckaert_bellemans(self, forces: Sequence[Element]) -> None:
        def powers(element: Element) -> dict[str, float | str]:
            return {f"c{power}": element.number(f"c{power}") for power in range(_RB_TERMS)}

        self._add("dihedral", "rb", self._rows(forces, "Proper", 4), powers)
        self._add("improper", "rb", self._rows(forces, "Improper", 4), powers, RB_IMPROPER)

    def _cmap(self, forces: Sequence[Element]) -> None:
        grids: dict[int, str] = {}
        first: dict[int, int] = {}
        for force in forces:
            first[id(force)] = len(grids)
            for element in force.all("Map"):
                values = element.place.numbers(element.text.split(), "<Map>")
                if math.isqrt(len(values)) ** 2 != len(values):
                    raise element.place.malformed(f"a map has as many columns as rows, found {len(values)} values")
                grids[len(grids)] = " ".join(map(repr, values))
        rows = [(force, element) for force in forces for element in force.all("Torsion")]
        if not rows:
            return
        found = [(element, self._classes.endpoints(element, 5)) for _, element in rows]
        key = endpoint_key_of(found)
        style = self._forcefield.define_style("cmap", "charmm", endpoint_key=key or "type")
        for (force, _), (element, endpoints) in zip(rows, found, strict=True):
            grid = grids.get(first[id(force)] + int(element.number("map")))
            if grid is None:
                raise element.place.malformed(f"there is no map {element.get('map')}")
            for ends in [endpoints.names] if key is not None else self._classes.spelled_out(endpoints):
                name = free_name(style, "-".join(end or "*" for end in ends))
                style.add(name, ends[:4], mtom=ends[4], grid=grid)

    # -- custom forces ----------------------------------------------------------------------------------------------

    def _custom(self, force: Element) -> None:
        names = [one.get("name") for one in force.all(_PARAMETER[force.tag])]
        shared: dict[str, float | str] = {
            one.get("name"): one.number("defaultValue") for one in force.all("GlobalParameter")
        }
        if others := {child.tag for child in force.children} - {
            _PARAMETER[force.tag],
            "GlobalParameter",
            *(tag for tag, _ in _CUSTOM[force.tag]),
        }:
            raise force.place.unsupported(f"<{force.tag}> has {', '.join(sorted(others))}, which is not stored")
        for tag, category in _CUSTOM[force.tag]:
            rows = self._rows([force], tag, CATEGORY_ARITY[category])
            settings = dict(shared)
            if category == "improper" and "ordering" in force.attributes:
                settings["ordering"] = force.attributes["ordering"]
            self._add_custom(category, force.get("energy"), names, rows, settings, force.attributes.get("name"))

    def _add_custom(
        self,
        category: str,
        energy: str,
        names: list[str],
        rows: list[Row],
        settings: dict[str, float | str],
        stated_name: str | None,
    ) -> None:
        def params(element: Element) -> dict[str, float | str]:
            return {name: element.number(name) for name in names}

        compact = re.sub(r"\s+", "", energy)
        if category == "improper" and names == ["k", "theta0"] and compact in (SIGNED_TORSION, ABSOLUTE_TORSION):
            # a reference of 0 does not tell the sign of the angle, any other does
            plain = [row for row in rows if compact == ABSOLUTE_TORSION or row[0].number("theta0") == 0.0]
            kept = {id(element) for element, _ in plain}
            self._add(
                "improper",
                "harmonic",
                plain,
                lambda one: {"k": one.number("k"), "chi0": one.number("theta0")},
                settings=settings,
            )
            rows = [row for row in rows if id(row[0]) not in kept]
        known = [
            one.style
            for one in REGISTRY.values()
            if one.category == category and one.formula and stored_expression(category, compact) == one.formula
        ]
        expression = stored_expression(category, energy)
        if known and set(names) <= {one.name for one in REGISTRY[category, known[0]].parameters}:
            self._add(category, known[0], rows, params, settings=settings)
        elif rows:
            self._add(category, self._free_style(category, stated_name), rows, params, expression, settings)

    def _free_style(self, category: str, stated: str | None) -> str:
        if stated is not None:
            return stated
        taken = {style.name for style in self._forcefield.of_category(category)}
        return next(name for number in range(1, len(taken) + 2) if (name := f"custom{number}") not in taken)


def _torsion(element: Element) -> dict[str, float | str]:
    terms: list[TorsionTerm] = []
    while f"k{len(terms) + 1}" in element.attributes or f"phase{len(terms) + 1}" in element.attributes:
        number = len(terms) + 1
        terms.append(TorsionTerm(*(element.number(f"{key}{number}") for key in TorsionTerm._fields)))
    if not terms:
        raise element.place.malformed(f"<{element.tag}> has no term k1, periodicity1, phase1")
    return dict(torsion_parameters(terms))


def _recognizes(head: bytes) -> bool:
    return re.search(rb"<ForceField[\s>]", head) is not None


FORMAT = ForceFieldFormat("openmm-xml", (".xml", ".ffxml"), _recognizes, read_openmm, write_openmm)
