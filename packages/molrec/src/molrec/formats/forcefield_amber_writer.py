"""AMBER topologies (prmtop) from a force field and a system, written section by section.

Numbers have all their digits (``3E24.16``), which the programs that read the stated format of a section accept. The box
belongs to the coordinates and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.forcefield.linking import Linked, LinkedStyle, link
from molrec.forcefield.near_pairs import near_pairs
from molrec.formats.forcefield_amber_sections import write_sections
from molrec.formats.forcefield_near_pairs import near_classes
from molrec.formats.forcefield_rows import TorsionTerm, preset_of
from molrec.formats.forcefield_source import not_in_target
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame

__all__ = ["write_amber"]

type Integers = npt.NDArray[np.int64]
type Floats = npt.NDArray[np.float64]

_TARGET = "AMBER"
_CHARGE_UNIT = 18.2223
_COULOMB = _CHARGE_UNIT**2
_SAME_CONSTANT = 1e-9
_REALS = "3E24.16"
_KNOWN = {
    ("atom", "full"), ("bond", "harmonic"), ("angle", "harmonic"), ("dihedral", "periodic"), ("improper", "periodic"),
    ("pair", "lj/cut"), ("pair", "coul/cut"), ("pair", "coul/long/pme"),
}  # fmt: skip
_HEAVIEST_HYDROGEN = 3.5
_LABEL_WIDTH = 4
_TERM = re.compile(r"k\d*$")
_NO_FLAGS = np.zeros(0, dtype=np.bool_)


def write_amber(path: Path, forcefield: ForceField, system: Frame | None, notes: Notes) -> None:
    """Write a prmtop; nothing is written when anything is refused.

    Args:
        path: The file.
        forcefield: In kcal/mol and angstrom.
        system: The system; a prmtop is one.
        notes: Told what AMBER has no place for.

    Raises:
        SchemaError: AMBER has no word for something that decides an energy (``reject-ff-target``).
    """
    if system is None:
        raise not_in_target(_TARGET, "a force field without system", "a prmtop describes one")
    sections = _Writer(forcefield, system, notes).sections()
    write_sections(path, sections)


class _Writer:
    """Makes the sections of a prmtop."""

    def __init__(self, forcefield: ForceField, system: Frame, notes: Notes) -> None:
        self._forcefield = forcefield
        self._notes = notes
        self._system = system
        self._check(forcefield)
        self._linked: Linked = link(system, forcefield)
        if self._linked.unresolved:
            raise not_in_target(_TARGET, str(self._linked.unresolved[0]), "no row of the force field has that name")
        self._atoms = system["atoms"]
        self._count = self._atoms.rows
        self._near = near_pairs(system, forcefield, self._linked.explicit_pairs)
        self._listed, self._dropped = near_classes(_TARGET, self._near, forcefield)
        self._hydrogen = self._hydrogens()
        if "mol_id" in self._atoms:
            notes.lost("column 'mol_id'", "is left out; molecules go by bonds in AMBER")
        if system.box is not None:
            notes.lost("box", "is left out; AMBER has it with the coordinates")

    def _check(self, forcefield: ForceField) -> None:
        if preset_of(forcefield, ("real",)) is None:
            raise not_in_target(_TARGET, f"units {forcefield.units}", "it has kcal/mol and angstrom; convert first")
        for style in forcefield.styles:
            if (style.category, style.name) not in _KNOWN or style.expression is not None:
                raise not_in_target(_TARGET, f"style {style.category} {style.name!r}", "it has no such terms")
            for key, value in style.params.items():
                same = key == "coulomb" and np.isclose(float(value), _COULOMB, rtol=_SAME_CONSTANT, atol=0.0)
                if same or key in ("mixing", "special", "ordering"):
                    continue
                if key == "cutoff":
                    self._notes.lost(f"{style.category} {style.name!r}, 'cutoff'", "is a setting of a run in AMBER")
                elif (key, value) not in (("dielectric", 1.0), ("delta", 0.0), ("shift", 0.0), ("n", 12.0), ("m", 6.0)):
                    raise not_in_target(
                        _TARGET, f"style {style.category} {style.name!r}", f"{key} {value!r} is not its own"
                    )
        names = {style.name for style in forcefield.of_category("pair")}
        if "lj/cut" not in names or len(names) < 2:
            raise not_in_target(_TARGET, "pair styles without lj/cut or without Coulomb", "it computes both, always")

    def sections(self) -> list[tuple[str, str, Any]]:
        """Return name, format and values of each section, in order."""
        bonds = self._harmonic("bond", "r0")
        angles = self._harmonic("angle", "theta0")
        torsions = self._torsions()
        numbers, partners = self._excluded()
        types = self._linked.atoms.types
        index, repulsion, attraction = self._coefficients()
        residues, starts = self._residues()
        parts = [self._halves(rows) for rows in (bonds[0], angles[0], torsions[0])]
        counts = [[len(half) for half in halves] for halves in parts]
        kinds = [len(bonds[1]), len(angles[1]), len(torsions[1])]
        pointers = [
            self._count, len(types.distinct), *counts[0], *counts[1], *counts[2], 0, 0, len(partners), len(residues),
            counts[0][1], counts[1][1], counts[2][1], *kinds, len(types.distinct), 0, 0, 0, 0, 0, 0, 0, 0, 0,
            int(np.diff(np.append(starts, self._count + 1)).max(initial=0)), 0, 0,
        ]  # fmt: skip
        atoms = self._atoms
        names = atoms["name"].tolist() if "name" in atoms else ["X"] * self._count
        scales = [1.0 / weight if weight else 0.0 for weight in (self._weight("coul"), self._weight("lj"))]
        halves = ("INC", "WITHOUT")
        return [
            ("TITLE", "20a4", [self._forcefield.name or "molrec"]),
            ("POINTERS", "10I8", pointers),
            ("ATOM_NAME", "20a4", [self._label(name, "atom name") for name in names]),
            ("CHARGE", _REALS, [_CHARGE_UNIT * charge for charge in self._parameter("charge")]),
            ("ATOMIC_NUMBER", "10I8", self._atomic_numbers()),
            ("MASS", _REALS, self._parameter("mass")),
            ("ATOM_TYPE_INDEX", "10I8", (types.codes + 1).tolist()),
            ("NUMBER_EXCLUDED_ATOMS", "10I8", numbers.tolist()),
            ("NONBONDED_PARM_INDEX", "10I8", index.tolist()),
            ("RESIDUE_LABEL", "20a4", residues),
            ("RESIDUE_POINTER", "10I8", starts.tolist()),
            ("BOND_FORCE_CONSTANT", _REALS, (bonds[1][:, 0] / 2.0).tolist()),
            ("BOND_EQUIL_VALUE", _REALS, bonds[1][:, 1].tolist()),
            ("ANGLE_FORCE_CONSTANT", _REALS, (angles[1][:, 0] / 2.0).tolist()),
            ("ANGLE_EQUIL_VALUE", _REALS, angles[1][:, 1].tolist()),
            ("DIHEDRAL_FORCE_CONSTANT", _REALS, torsions[1][:, 0].tolist()),
            ("DIHEDRAL_PERIODICITY", _REALS, torsions[1][:, 1].tolist()),
            ("DIHEDRAL_PHASE", _REALS, torsions[1][:, 2].tolist()),
            ("SCEE_SCALE_FACTOR", _REALS, [scales[0]] * kinds[2]),
            ("SCNB_SCALE_FACTOR", _REALS, [scales[1]] * kinds[2]),
            ("SOLTY", _REALS, [0.0] * len(types.distinct)),
            ("LENNARD_JONES_ACOEF", _REALS, repulsion.tolist()),
            ("LENNARD_JONES_BCOEF", _REALS, attraction.tolist()),
            *(
                (f"{name}_{half}_HYDROGEN", "10I8", rows.ravel().tolist())
                for name, both in zip(("BONDS", "ANGLES", "DIHEDRALS"), parts, strict=True)
                for half, rows in zip(halves, both, strict=True)
            ),
            ("EXCLUDED_ATOMS_LIST", "10I8", partners.tolist()),
            *((name, _REALS, []) for name in ("HBOND_ACOEF", "HBOND_BCOEF", "HBCUT")),
            ("AMBER_ATOM_TYPE", "20a4", self._type_labels()),
            ("TREE_CHAIN_CLASSIFICATION", "20a4", ["BLA"] * self._count),
            ("JOIN_ARRAY", "10I8", [0] * self._count),
            ("IROTAT", "10I8", [0] * self._count),
            ("RADIUS_SET", "1a80", ["stated by atom"]),
            ("RADII", _REALS, self._own("gb_radii")),
            ("SCREEN", _REALS, self._own("gb_screen")),
            ("IPOL", "1I8", [0]),
        ]

    # -- atoms ------------------------------------------------------------------------------------------------------

    def _weight(self, key: str) -> float:
        special = self._forcefield.special_bonds
        return 0.0 if special is None else special[key][2]

    def _parameter(self, name: str) -> list[float]:
        values = self._linked.atoms.parameter(name)
        if np.isnan(values).any():
            raise not_in_target(
                _TARGET, f"atom {int(np.argmax(np.isnan(values)))} without {name}", "every atom has one"
            )
        return [float(value) for value in values]

    def _own(self, column: str) -> list[float]:
        """Return a column of the atoms that decides nothing here, 0 without it."""
        return self._atoms[column].tolist() if column in self._atoms else [0.0] * self._count

    def _label(self, text: str, what: str) -> str:
        if len(text) > _LABEL_WIDTH:
            self._notes.lost(f"{what} {text!r}", f"is cut to {_LABEL_WIDTH} characters")
        return text[:_LABEL_WIDTH]

    def _type_labels(self) -> list[str]:
        types = self._linked.atoms.types
        # what tells equal labels apart again is their number among the coefficients and their mass
        labels = [self._label(name.partition("#")[0], "atom type") for name in types.distinct]
        return [labels[code] for code in types.codes.tolist()]

    def _atomic_numbers(self) -> list[int]:
        if "atomic_number" in self._atoms:
            return [int(number) for number in self._atoms["atomic_number"].tolist()]
        return [-1] * self._count

    def _hydrogens(self) -> npt.NDArray[np.bool_]:
        """Return which atoms are hydrogens; AMBER lists their terms apart, which decides no energy."""
        if "atomic_number" in self._atoms:
            found: npt.NDArray[np.bool_] = self._atoms["atomic_number"] == 1
            return found
        return np.array(self._parameter("mass")) < _HEAVIEST_HYDROGEN

    def _residues(self) -> tuple[list[str], Integers]:
        atoms = self._atoms
        if "res_id" not in atoms:
            return ["MOL"], np.array([1])
        keys = atoms["res_id"]
        starts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1]).astype(np.int64)
        names = atoms["res_name"].tolist() if "res_name" in atoms else ["MOL"] * self._count
        return [self._label(names[start] or "MOL", "residue name") for start in starts.tolist()], starts + 1

    # -- terms ------------------------------------------------------------------------------------------------------

    def _linked_styles(self, category: str) -> list[LinkedStyle]:
        return [one for one in self._linked.styles if one.category == category]

    def _stated(self, one: LinkedStyle, name: str) -> Floats:
        values = one.parameters.get(name)
        if values is None or np.isnan(values).any():
            raise not_in_target(_TARGET, f"a term of {one.label} without {name!r}", "every term has one")
        return values

    def _harmonic(self, category: str, reference: str) -> tuple[Integers, Floats]:
        """Return rows of three times the atoms and the type, and the parameters of each type."""
        names = ("k", reference)
        types = _Types(self._forcefield, (category,), names)
        rows = [np.zeros((0, 3 if category == "bond" else 4), dtype=np.int64)]
        for one in self._linked_styles(category):
            params = np.stack([self._stated(one, name) for name in names], axis=1)
            numbers = types.numbers(category, self._type_names(one), params)
            rows.append(np.concatenate([one.atoms * 3, numbers[:, None]], axis=1))
        return np.concatenate(rows), types.parameters()

    def _type_names(self, one: LinkedStyle) -> list[str]:
        block = self._system[one.block]
        return block["type"][one.rows].tolist() if "type" in block else [""] * len(one.rows)

    def _torsions(self) -> tuple[Integers, Floats]:
        """Return rows of torsions, their signs saying what is improper and what carries no 1-4 pair."""
        types = _Types(self._forcefield, ("dihedral", "improper"), TorsionTerm._fields)
        atoms, numbers, improper = [np.zeros((0, 4), dtype=np.int64)], [np.zeros(0, dtype=np.int64)], [_NO_FLAGS]
        for category in ("dihedral", "improper"):
            for one in self._linked_styles(category):
                names = np.array(self._type_names(one), dtype=object)
                for suffix in sorted({name[1:] for name in one.parameters if _TERM.match(name)}):
                    held = ~np.isnan(one.parameters[f"k{suffix}"])
                    columns = [one.parameters[f"{name}{suffix}"][held] for name in TorsionTerm._fields]
                    atoms.append(one.atoms[held])
                    numbers.append(types.numbers(category, names[held].tolist(), np.stack(columns, axis=1)))
                    improper.append(np.full(int(held.sum()), category == "improper"))
        rows, is_improper = np.concatenate(atoms), np.concatenate(improper)
        # an atom with number 0 has no sign to turn; read from the other end a torsion is the same
        turned = (rows[:, 2] == 0) | (rows[:, 3] == 0)
        rows[turned] = rows[turned][:, ::-1]
        silent = is_improper | ~self._carriers(rows, is_improper)
        signed = rows * 3
        signed[silent, 2] *= -1
        signed[is_improper, 3] *= -1
        return np.concatenate([signed, np.concatenate(numbers)[:, None]], axis=1), types.parameters()

    def _carriers(self, rows: Integers, improper: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which torsions carry the 1-4 pair of their ends: the first for each pair that is one."""
        wanted = self._near.atoms[self._listed]
        codes = wanted[:, 0] * self._count + wanted[:, 1]
        ends = np.sort(rows[:, [0, 3]], axis=1)
        own = ends[:, 0] * self._count + ends[:, 1]
        candidates = np.flatnonzero(np.isin(own, codes) & ~improper)
        found, first = np.unique(own[candidates], return_index=True)
        if len(found) < len(codes):
            missing = np.setdiff1d(codes, found)[0]
            raise not_in_target(
                _TARGET,
                f"the 1-4 pair of atoms {divmod(int(missing), self._count)}",
                "no torsion ends in it to carry it",
            )
        carriers = np.zeros(len(rows), dtype=np.bool_)
        carriers[candidates[first]] = True
        return carriers

    def _halves(self, rows: Integers) -> tuple[Integers, Integers]:
        """Return the terms with and without hydrogens."""
        with_hydrogen = self._hydrogen[np.abs(rows[:, :-1]) // 3].any(axis=1)
        return rows[with_hydrogen], rows[~with_hydrogen]

    # -- pairs ------------------------------------------------------------------------------------------------------

    def _excluded(self) -> tuple[Integers, Integers]:
        pairs = self._near.atoms[self._listed | self._dropped]
        numbers = np.bincount(pairs[:, 0], minlength=self._count)
        # an atom without partners has one entry, 0
        owners = np.concatenate([pairs[:, 0], np.flatnonzero(numbers == 0)])
        partners = np.concatenate([pairs[:, 1] + 1, np.zeros(int((numbers == 0).sum()), dtype=np.int64)])
        order = np.lexsort((partners, owners))
        return np.maximum(numbers, 1), partners[order]

    def _coefficients(self) -> tuple[Integers, Floats, Floats]:
        """Return the number of each pair of types and the coefficients of each number."""
        (table,) = [one for one in self._linked.pairs if one.table.style.name == "lj/cut"]
        names = self._linked.atoms.types.distinct
        size = len(names)
        first, second = np.tril_indices(size)
        values, priced = table.parameters(first, second)
        if not priced.all():
            place = int(np.argmin(priced))
            raise not_in_target(_TARGET, f"the types {names[first[place]]} {names[second[place]]}", "they have no row")
        sixth = values["sigma"] ** 6
        index = np.zeros((size, size), dtype=np.int64)
        index[first, second] = index[second, first] = np.arange(1, len(first) + 1)
        return index.ravel(), 4.0 * values["epsilon"] * sixth * sixth, 4.0 * values["epsilon"] * sixth


class _Types:
    """The numbered parameters of one kind of term: rows of tables keep a number each, terms of their own get more.

    Args:
        forcefield: The force field.
        categories: The categories that share the numbers.
        names: Parameters of a type.
    """

    def __init__(self, forcefield: ForceField, categories: Sequence[str], names: Sequence[str]) -> None:
        self._rows: list[tuple[float, ...]] = []
        self._of_name: dict[tuple[str, str], int] = {}
        self._of_values: dict[tuple[float, ...], int] = {}
        found = [
            (category, row.name, tuple(float(row[name]) for name in names))
            for category in categories
            for style in forcefield.of_category(category)
            for row in style
            if all(name in row for name in names)
        ]
        if all(name.isdecimal() for _, name, _ in found):
            found.sort(key=lambda one: int(one[1]))  # the numbers the rows had in a prmtop
        numbers: dict[tuple[str, tuple[float, ...]], int] = {}
        for category, name, values in found:
            if (name, values) not in numbers:
                self._rows.append(values)
                numbers[name, values] = len(self._rows)
            self._of_name[category, name] = numbers[name, values]
            self._of_values.setdefault(values, numbers[name, values])

    def numbers(self, category: str, names: Sequence[str], params: Floats) -> Integers:
        """Return the number of the type of each term.

        Args:
            category: Category of the terms.
            names: Row each term names.
            params: Parameters of each term, ``(terms, parameters)``.
        """
        found = np.empty(len(names), dtype=np.int64)
        for place, (name, row) in enumerate(zip(names, params.tolist(), strict=True)):
            values = tuple(row)
            number = self._of_name.get((category, name))
            if number is None or self._rows[number - 1] != values:
                number = self._of_values.get(values)
            if number is None:
                self._rows.append(values)
                number = self._of_values[values] = len(self._rows)
            found[place] = number
        return found

    def parameters(self) -> Floats:
        """Return the parameters of every type, ``(types, parameters)``."""
        width = len(self._rows[0]) if self._rows else 3
        return np.array(self._rows, dtype=np.float64).reshape(-1, width)
