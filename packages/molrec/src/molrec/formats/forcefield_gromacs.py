"""GROMACS topologies: parameters, molecule types and the system they make.

Units are nm, kJ/mol, degrees in the file and radians where they are stored. Bonded types are the classes of atom types.
Combination rule 1 has C6 and C12, which become epsilon and sigma; their geometric mixing is the same. Positions stand
in other files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from molrec.formats.forcefield_gromacs_cmap import CmapTypes
from molrec.formats.forcefield_gromacs_exclusions import near_pairs_of
from molrec.formats.forcefield_gromacs_functions import COULOMB
from molrec.formats.forcefield_gromacs_lines import Row, rows_of
from molrec.formats.forcefield_gromacs_molecules import MoleculeType, assembled
from molrec.formats.forcefield_gromacs_sections import MoleculeSections
from molrec.formats.forcefield_gromacs_types import BondedTypes
from molrec.formats.forcefield_gromacs_writer import write_gromacs
from molrec.formats.forcefield_lammps_pairs import mixed
from molrec.formats.forcefield_rows import UREY_BRADLEY, define, free_name
from molrec.formats.forcefield_source import ForceFieldContent, ForceFieldFormat, SourceLine
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame

__all__ = ["FORMAT", "read_gromacs"]

_UNITS = {"length": "nm", "energy": "kJ/mol", "angle": "radian", "charge": "e", "mass": "dalton", "time": "ps"}
_MIXING = {1: "geometric", 2: "arithmetic", 3: "geometric"}
_TYPE_SECTIONS = {
    "bondtypes": "bonds",
    "angletypes": "angles",
    "dihedraltypes": "dihedrals",
    "constrainttypes": "constraints",
}
_PARAMETER_SECTIONS = frozenset(("defaults", "atomtypes", "nonbond_params", "pairtypes", "cmaptypes", *_TYPE_SECTIONS))
_PARTICLES = frozenset("AVSDBN")
_LEFT_OUT = {
    "implicit_genborn_params": "implicit solvent is no part of a force field here",
    "implicit_surface_params": "implicit solvent is no part of a force field here",
    "implicit_genborn": "implicit solvent is no part of a force field here",
}


def read_gromacs(path: Path, notes: Notes, units: str | None = None, defines: Sequence[str] = ()) -> ForceFieldContent:
    """Read a topology or an include file.

    Args:
        path: The file; files it includes are read with it.
        notes: Told what has no place, such as parameters of a second state.
        units: Must be None; the format has units of its own.
        defines: Names that count as defined, as with ``define = -DNAME`` of a run.

    Returns:
        The force field; the system where the file has ``[ molecules ]``, without positions.

    Raises:
        SchemaError: See `molrec.formats.forcefield_source.read_forcefield`.
    """
    reader = _Reader(path, notes)
    for row in rows_of(path, defines):
        if units is not None:
            raise row.place.malformed("a topology is in nm, kJ/mol and degrees; state no units")
        reader.take(row)
    return reader.content()


class _Reader:
    """Takes the rows of a topology, then makes force field and system of them."""

    def __init__(self, path: Path, notes: Notes) -> None:
        self._path = path
        self._notes = notes
        self._rule = 0
        self._generate = False
        self._fudge = {"lj": 1.0, "coul": 1.0}
        self._atom_types: dict[str, dict[str, str | float]] = {}
        self._atom_rows: dict[str, Row] = {}
        self._cross: dict[tuple[str, str], dict[str, float]] = {}
        self._near: dict[tuple[str, str], dict[str, float]] = {}
        self._bonded = BondedTypes()
        self._cmaps = CmapTypes()
        self._molecules: dict[str, MoleculeType] = {}
        self._current: MoleculeType | None = None
        self._named = False
        self._title: list[str] = []
        self._parts: list[tuple[MoleculeType, int]] = []
        self._forcefield: ForceField | None = None
        self._sections = MoleculeSections(self._bonded, self._cmaps, self._atom_types, self._well, notes)
        self._takers: dict[str, Callable[[Row], None]] = {
            "defaults": self._defaults,
            "atomtypes": self._atom_type,
            "nonbond_params": lambda row: self._pair_type(row, self._cross),
            "pairtypes": lambda row: self._pair_type(row, self._near),
            "cmaptypes": self._cmaps.add,
            "moleculetype": self._molecule_type,
            "system": lambda row: self._title.append(row.text),
            "molecules": self._molecule_count,
        }

    def take(self, row: Row) -> None:
        """Take a row.

        Raises:
            SchemaError: It is damaged or has no exact words.
        """
        section = row.section
        if section in _LEFT_OUT:
            self._notes.lost(f"[ {section} ]", _LEFT_OUT[section])
        elif row.words and self._named and section in _PARAMETER_SECTIONS:
            raise row.place.malformed(f"[ {section} ] stands behind the first molecule; parameters come before")
        elif section in self._takers:
            if row.words:
                self._takers[section](row)
        elif section in _TYPE_SECTIONS:
            if row.words and self._bonded.add(row, _TYPE_SECTIONS[section]):
                self._notes.lost(f"[ {section} ]", "has parameters of a second (B) state, which are left out")
        elif section not in self._sections.names:
            if row.words:
                raise row.place.unsupported(f"[ {section} ] adds terms that are not stored")
        elif row.words:
            if self._current is None:
                raise row.place.malformed(f"[ {section} ] stands before any [ moleculetype ]")
            self._name_types()
            self._sections.take(self._current, row)

    # -- parameters -------------------------------------------------------------------------------------------------

    def _defaults(self, row: Row) -> None:
        if self._rule:
            raise row.place.malformed("[ defaults ] stands there twice")
        function, self._rule = row.integer(0), row.integer(1)
        if function != 1 or self._rule not in _MIXING:
            raise row.place.unsupported(
                f"[ defaults ] {' '.join(row.words)}: Lennard-Jones (1) with combination rules 1, 2 and 3 is stored"
            )
        self._generate = len(row.words) > 2 and row.words[2].lower() == "yes"
        numbers = row.numbers(3)
        self._fudge |= dict(zip(("lj", "coul"), numbers[:2], strict=False))

    def _atom_type(self, row: Row) -> None:
        words = row.words
        # particle type, then two numbers, end a row; what stands before mass and charge is optional
        if len(words) < 6 or words[-3] not in _PARTICLES:
            raise row.place.malformed(
                "[ atomtypes ] has name, [bonded type], [atomic number], mass, charge, particle type, two parameters; "
                f"found {len(words)} words"
            )
        between = list(words[1:-5])
        mass, charge = row.place.numbers(words[-5:-3], "[ atomtypes ]")
        entry: dict[str, str | float] = {"mass": mass, "charge": charge, "class": words[0]}
        # a number has no letter in front; a bonded type has one
        if (between and not between[0][0].isdigit()) or len(between) == 2:
            entry["class"] = between.pop(0)
        if between:
            if not between[0].lstrip("-").isdecimal():
                raise row.place.malformed(f"[ atomtypes ] has an atomic number, found {between[0]!r}")
            if int(between[0]) >= 0:
                entry["atomic_number"] = int(between[0])
        if words[-3] != "A":
            entry["ptype"] = words[-3]
        self._atom_types[words[0]] = entry
        self._atom_rows[words[0]] = row

    def _well(self, row: Row, first: int) -> dict[str, float]:
        """Return epsilon and sigma of the two numbers from a position on."""
        numbers = row.numbers(first)
        if len(numbers) not in (2, 4):
            raise row.place.malformed(f"[ {row.section} ] has two parameters, found {len(numbers)}")
        if numbers[2:] not in ([], numbers[:2]):
            self._notes.lost(f"[ {row.section} ]", "has parameters of a second (B) state, which are left out")
        if not self._rule:
            raise row.place.malformed(f"[ {row.section} ] has parameters before [ defaults ] says what they mean")
        first_number, second_number = numbers[:2]
        if self._rule != 1:
            return {"sigma": first_number, "epsilon": second_number}
        if first_number == 0.0 and second_number == 0.0:
            return {"sigma": 1.0, "epsilon": 0.0}
        if first_number <= 0.0 or second_number <= 0.0:
            raise row.place.unsupported(
                f"C6 {first_number} and C12 {second_number} are no well of epsilon and sigma, which is what is stored"
            )
        return {
            "sigma": (second_number / first_number) ** (1.0 / 6.0),
            "epsilon": first_number**2 / (4.0 * second_number),
        }

    def _pair_type(self, row: Row, found: dict[tuple[str, str], dict[str, float]]) -> None:
        first, second = row.words[:2]
        if row.integer(2) != 1:
            raise row.place.unsupported(f"[ {row.section} ] with function {row.words[2]} is not stored exactly")
        found.pop((second, first), None)
        found[first, second] = self._well(row, 3)

    # -- molecules --------------------------------------------------------------------------------------------------

    def _molecule_type(self, row: Row) -> None:
        name = row.words[0]
        if name in self._molecules:
            raise row.place.malformed(f"the molecule type {name!r} is there already")
        self._current = self._molecules[name] = MoleculeType(name, row.integer(1), row.place)

    def _molecule_count(self, row: Row) -> None:
        molecule = self._molecules.get(row.words[0])
        if molecule is None:
            raise row.place.malformed(
                f"[ molecules ] names {row.words[0]!r}; the molecule types are {', '.join(self._molecules) or '(none)'}"
            )
        self._parts.append((molecule, row.integer(1)))

    def _name_types(self) -> None:
        """Add the bonded types to the force field, which gives them their names, once molecules ask for them."""
        if not self._named:
            self._named = True
            self._forcefield = self._parameters()
            self._bonded.add_to(self._forcefield)
            self._cmaps.add_to(self._forcefield)

    # -- results ----------------------------------------------------------------------------------------------------

    def content(self) -> ForceFieldContent:
        """Return what was read."""
        self._name_types()
        assert self._forcefield is not None
        forcefield = self._forcefield
        self._add_styles_of_terms(forcefield)
        if self._rule:
            forcefield.special_bonds = {key: (0.0, 0.0, weight) for key, weight in self._fudge.items()}
        return ForceFieldContent(forcefield, self._system(forcefield) if self._parts else None)

    def _add_styles_of_terms(self, forcefield: ForceField) -> None:
        """Define the styles of terms that bring their parameters along."""
        for (category, style), function in self._sections.own.items():
            if style == "urey-bradley":
                define(forcefield, "angle", "harmonic").endpoint_key = "class"
                define(forcefield, "urey_bradley", "harmonic", UREY_BRADLEY).endpoint_key = "class"
            else:
                define(forcefield, category, style, function.expression).endpoint_key = "class"
        relations = [molecule.relations for molecule in self._molecules.values()]
        for found in relations:
            for style in found["virtual_sites"].styles if "virtual_sites" in found else ():
                define(forcefield, "virtual_site", style)
        if any("constraints" in found for found in relations):
            define(forcefield, "constraint", "fixed").endpoint_key = "class"
        if any("sigma" in params for found in relations if "pairs" in found for params in found["pairs"].params):
            define(forcefield, "pair14", "lj/cut")

    def _parameters(self) -> ForceField:
        source = {"format": "gromacs", "uri": self._path.name}
        forcefield = ForceField(self._path.stem, _UNITS, None, source)
        if self._atom_types:
            atoms = forcefield.define_style("atom", "full")
            for name, entry in self._atom_types.items():
                atoms.add(name, **entry)  # type: ignore[arg-type]
        if not self._rule:
            return forcefield
        forcefield.extra["gromacs"] = {"gen-pairs": "yes" if self._generate else "no"}
        if self._rule == 1:
            self._notes.changed("combination rule 1", "has C6 and C12; they are kept as epsilon and sigma")
        pairs = forcefield.define_style("pair", "lj/cut", {"mixing": _MIXING[self._rule]})
        wells = {name: self._well(row, len(row.words) - 2) for name, row in self._atom_rows.items()}
        for name, well in wells.items():
            pairs.add(name, (name, name), **self._cross.get((name, name), well))
        for (first, second), well in (self._cross | self._mixed_with_replaced(wells)).items():
            if first != second:
                pairs.add(free_name(pairs, f"{first}-{second}"), (first, second), **well)
        if self._near:
            near = forcefield.define_style("pair14", "lj/cut")
            for (first, second), well in self._near.items():
                near.add(free_name(near, first if first == second else f"{first}-{second}"), (first, second), **well)
        forcefield.define_style("pair", "coul/cut", {"coulomb": COULOMB, "dielectric": 1.0})
        return forcefield

    def _mixed_with_replaced(self, wells: Mapping[str, dict[str, float]]) -> dict[tuple[str, str], dict[str, float]]:
        """Return rows for the pairs of types whose like pairs are replaced: they still mix what [ atomtypes ] says."""
        self._check_types()
        replaced = [first for first, second in self._cross if first == second]
        rule = _MIXING[self._rule]
        return {
            (name, other): mixed(rule, wells[name], wells[other])
            for number, name in enumerate(replaced)
            for other in wells
            if other not in replaced[: number + 1]
            and (name, other) not in self._cross
            and (other, name) not in self._cross
        }

    def _check_types(self) -> None:
        """Refuse pairs of types that are not declared."""
        for found, section in ((self._cross, "nonbond_params"), (self._near, "pairtypes")):
            for name in (name for pair in found for name in pair):
                if name not in self._atom_types:
                    raise SourceLine(str(self._path), 1).malformed(
                        f"[ {section} ] names the atom type {name!r}, which is in no [ atomtypes ]"
                    )

    def _system(self, forcefield: ForceField) -> Frame:
        near_pairs_of(
            [molecule for molecule, times in self._parts if times], forcefield, self._near, generated=self._generate
        )
        frame = Frame(assembled([(molecule, times) for molecule, times in self._parts if times]))
        frame.meta.set("units", dict(_UNITS), tag="json")
        if self._title:
            frame.meta["title"] = " ".join(self._title)
        atoms = frame["atoms"]
        numbers = {name: entry.get("atomic_number") for name, entry in self._atom_types.items()}
        distinct, inverse = np.unique(atoms["type"].astype(object), return_inverse=True)
        of_type = [numbers[str(name)] for name in distinct]
        if atoms.rows and all(number is not None for number in of_type):
            atoms["atomic_number"] = np.array([int(number or 0) for number in of_type], dtype=np.uint64)[inverse]
        return frame


def _recognizes(head: bytes) -> bool:
    section = (
        rb"^\s*\[\s*(defaults|atomtypes|bondtypes|angletypes|dihedraltypes|moleculetype|molecules|nonbond_params)\s*\]"
    )
    return re.search(section, head, re.MULTILINE) is not None


FORMAT = ForceFieldFormat("gromacs", (".top", ".itp"), _recognizes, read_gromacs, write_gromacs)
