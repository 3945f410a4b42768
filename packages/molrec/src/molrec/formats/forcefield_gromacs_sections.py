"""The molecule sections of a GROMACS topology: rows of atoms, bonded terms, pairs, sites become those of a molecule.

A term without parameters of its own names the row of the force field it finds by its atoms' bonded types, the way
GROMACS looks it up; parameters in the row stay with the term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from molrec.formats.forcefield_gromacs_cmap import CmapTypes
from molrec.formats.forcefield_gromacs_functions import Function
from molrec.formats.forcefield_gromacs_lines import Row
from molrec.formats.forcefield_gromacs_molecules import MoleculeType
from molrec.formats.forcefield_gromacs_types import BondedTypes, bonded_function, parsed_parameters
from molrec.formats.notes import Notes

__all__ = ["MoleculeSections"]

_COUNTS = {"bonds": 2, "angles": 3, "dihedrals": 4, "constraints": 2}
#: Bond functions that are chemical bonds, so that pairs are excluded along them; others are springs only.
_CHEMICAL = frozenset((1, 2, 3, 4, 5, 7))
_BLOCKS = {
    "bond": "bonds",
    "angle": "angles",
    "dihedral": "dihedrals",
    "improper": "impropers",
    "constraint": "constraints",
}


class MoleculeSections:
    """Takes the rows of molecule sections.

    Args:
        types: The bonded types.
        cmaps: The correction maps.
        atom_types: Name of an atom type to its bonded type, charge and mass.
        well: Makes sigma and epsilon of the two numbers of a pair.
        notes: Told about parameters of a second state.
    """

    def __init__(
        self,
        types: BondedTypes,
        cmaps: CmapTypes,
        atom_types: Mapping[str, Mapping[str, str | float]],
        well: Callable[[Row, int], dict[str, float]],
        notes: Notes,
    ) -> None:
        self._types = types
        self._cmaps = cmaps
        self._atom_types = atom_types
        self._well = well
        self._notes = notes
        #: Functions of terms that bring their parameters along.
        self.own: dict[tuple[str, str], Function] = {}
        self._takers: dict[str, Callable[[MoleculeType, Row], None]] = {
            "atoms": self._atom,
            "bonds": self._bonded,
            "angles": self._bonded,
            "dihedrals": self._bonded,
            "constraints": self._bonded,
            "pairs": self._pair,
            "cmap": self._cmap,
            "exclusions": self._exclusion,
            "settles": self._settle,
            "virtual_sites2": self._site,
            "virtual_sites3": self._site,
        }

    @property
    def names(self) -> frozenset[str]:
        """Names of the sections taken here."""
        return frozenset(self._takers)

    def take(self, molecule: MoleculeType, row: Row) -> None:
        """Take a row.

        Raises:
            SchemaError: It is damaged, names what is not there (``reject-ff-source-malformed``), or has no exact
                words (``reject-ff-source-unsupported``).
        """
        self._takers[row.section](molecule, row)

    def _second_state(self, row: Row) -> None:
        self._notes.lost(f"[ {row.section} ]", "has parameters of a second (B) state, which are left out")

    def _atom(self, molecule: MoleculeType, row: Row) -> None:
        words = row.words
        if len(words) < 5 or row.integer(0) != molecule.count + 1:
            raise row.place.malformed(
                f"[ atoms ] has number, type, residue number, residue, name; the next number is {molecule.count + 1}"
            )
        known = self._atom_types.get(words[1])
        if known is None:
            raise row.place.malformed(f"the atom type {words[1]!r} is in no [ atomtypes ]")
        numbers = row.place.numbers(words[6:8], "[ atoms ]")
        if len(words) > 8:
            self._second_state(row)
        group = row.integer(5) if len(words) > 5 else molecule.count + 1
        residue = row.integer(2)
        if residue < 0:
            raise row.place.unsupported(f"residue number {residue}; a record counts residues from 0 upwards")
        values: dict[str, str | float | int] = {
            "type": words[1],
            "name": words[4],
            "res_name": words[3],
            "res_id": residue,
            "charge": numbers[0] if numbers else known["charge"],
            "mass": numbers[1] if len(numbers) > 1 else known["mass"],
            "charge_group": group,
        }
        for column, value in values.items():
            molecule.atoms.setdefault(column, []).append(value)

    def _ends(self, molecule: MoleculeType, row: Row, count: int) -> list[int]:
        ends = [row.integer(place) - 1 for place in range(count)]
        outside = [end + 1 for end in ends if not 0 <= end < molecule.count]
        if outside:
            raise row.place.malformed(
                f"[ {row.section} ] names atom {outside[0]}, but {molecule.name!r} has {molecule.count} atoms"
            )
        return ends

    def _bonded(self, molecule: MoleculeType, row: Row) -> None:
        count = _COUNTS[row.section]
        ends = self._ends(molecule, row, count)
        number = row.integer(count)
        function = bonded_function(row, row.section, number)
        if (row.section == "bonds" and number in _CHEMICAL) or (row.section == "constraints" and number == 1):
            molecule.links.append((ends[0], ends[1]))
        if len(row.words) > count + 1:
            function, params, second = parsed_parameters(row, function, count + 1)
            if second:
                self._second_state(row)
            self._add(molecule, function, ends, "", params)
            return
        if not function.parameters:
            self._add(molecule, function, ends, "", {})
            return
        classes = tuple(str(self._atom_types[str(molecule.atoms["type"][end])]["class"]) for end in ends)
        found = self._types.find(row.section, number, classes)
        if found is None:
            raise row.place.malformed(
                f"[ {row.section} ] has no parameters here, and function {number} none for {' '.join(classes)}"
            )
        self._add(molecule, found.function, ends, found.name, {})

    def _add(
        self, molecule: MoleculeType, function: Function, ends: list[int], name: str, params: dict[str, float]
    ) -> None:
        if function.style == "urey-bradley":
            angle: dict[str, float] = {key: params[key] for key in ("theta0", "k") if key in params}
            spring = {"r0": params["r13"], "k": params["kub"]} if params else {}
            molecule.terms("angles").add(ends, name, "harmonic", angle)
            molecule.terms("urey_bradleys").add(ends, name, "harmonic", spring)
        else:
            molecule.terms(_BLOCKS[function.category]).add(ends, name, function.style, params)
        if not name:
            self.own[function.category, function.style] = function

    def _pair(self, molecule: MoleculeType, row: Row) -> None:
        ends = self._ends(molecule, row, 2)
        if row.integer(2) != 1:
            raise row.place.unsupported(f"[ pairs ] with function {row.words[2]} is not stored exactly")
        own = self._well(row, 3) if len(row.words) > 3 else {}
        molecule.terms("pairs").add(ends, "", "", own)

    def _cmap(self, molecule: MoleculeType, row: Row) -> None:
        ends = self._ends(molecule, row, 5)
        classes = tuple(str(self._atom_types[str(molecule.atoms["type"][end])]["class"]) for end in ends)
        molecule.terms("cmaps").add(ends, self._cmaps.find(row, classes), "charmm", {})

    def _exclusion(self, molecule: MoleculeType, row: Row) -> None:
        first, *others = self._ends(molecule, row, len(row.words))
        molecule.exclusions |= {(min(first, other), max(first, other)) for other in others if other != first}

    def _settle(self, molecule: MoleculeType, row: Row) -> None:
        oxygen = self._ends(molecule, row, 1)[0]
        if oxygen + 2 >= molecule.count or row.integer(1) != 1:
            raise row.place.malformed("[ settles ] has the number of an atom with two more behind it, and 1")
        arms, base = row.numbers(2)[:2]
        for first, second, length in ((0, 1, arms), (0, 2, arms), (1, 2, base)):
            ends = (oxygen + first, oxygen + second)
            molecule.links.append(ends)
            molecule.terms("constraints").add(ends, "", "fixed", {"r0": length})

    def _site(self, molecule: MoleculeType, row: Row) -> None:
        count = 3 if row.section == "virtual_sites2" else 4
        ends = self._ends(molecule, row, count)
        numbers = row.numbers(count + 1)
        kind = (count - 1, row.integer(count))
        if kind == (2, 1) and len(numbers) == 1:
            style, params = "average2", {"w1": 1.0 - numbers[0], "w2": numbers[0]}
        elif kind == (3, 1) and len(numbers) == 2:
            style, params = "average3", {"w1": 1.0 - numbers[0] - numbers[1], "w2": numbers[0], "w3": numbers[1]}
        elif kind == (3, 4) and len(numbers) == 3:
            style, params = "outofplane3", dict(zip(("w12", "w13", "wcross"), numbers, strict=True))
        else:
            raise row.place.unsupported(
                f"[ {row.section} ] with function {kind[1]} and {len(numbers)} numbers is not stored exactly"
            )
        molecule.terms("virtual_sites").add(ends, "", style, params)
