"""AMBER topologies (prmtop): force field and system.

Units are kcal/mol, angstrom and radian. Extra points, CHAMBER files, 10-12 and 12-6-4 terms and correction
maps are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING
from molrec.forcefield.near_pairs import graph_distances
from molrec.formats.forcefield_amber_sections import Section, read_sections
from molrec.formats.forcefield_amber_writer import write_amber
from molrec.formats.forcefield_rows import free_name
from molrec.formats.forcefield_source import ForceFieldContent, ForceFieldFormat, SourceLine
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame
from molrec.model.relations import ENDPOINTS

__all__ = ["COULOMB", "FORMAT", "read_amber"]

type Integers = npt.NDArray[np.int64]
type Floats = npt.NDArray[np.float64]

#: Charges stand in the file in units that make Coulomb energies kcal/mol at distances in angstrom.
CHARGE_UNIT = 18.2223
#: AMBER's Coulomb constant in kcal angstrom / (mol e^2): its charge unit squared.
COULOMB = CHARGE_UNIT**2
#: Weights of files older than the sections that state them.
_DEFAULT_SCEE, _DEFAULT_SCNB = 1.2, 2.0
#: Coefficients have eight digits; pairs that differ less from what mixing gives are mixed.
_MIXED_WITHIN = 1e-6
_REFUSED = {
    "CTITLE": "a CHAMBER file of CHARMM",
    "CMAP_COUNT": "correction maps (CMAP)",
    "LENNARD_JONES_CCOEF": "12-6-4 terms",
    "POLARIZABILITY": "polarizabilities",
    "FORCE_FIELD_TYPE": "a CHAMBER file of CHARMM",
    "AMOEBA_FORCEFIELD": "an AMOEBA file",
}
_LEFT_OUT = ("BOX_DIMENSIONS", "CAP_INFO", "CAP_INFO2", "TREE_CHAIN_CLASSIFICATION", "RADIUS_SET")
_ARITY = {"BONDS": 2, "ANGLES": 3, "DIHEDRALS": 4}


def read_amber(path: Path, notes: Notes, units: str | None = None) -> ForceFieldContent:
    """Read a prmtop.

    Args:
        path: The file.
        notes: Told what has no place, such as the box, which belongs to the coordinates.
        units: Must be None; the format has units of its own.

    Raises:
        SchemaError: See `molrec.formats.forcefield_source.read_forcefield`.
    """
    place = SourceLine(str(path), 1)
    if units is not None:
        raise place.malformed("a prmtop is in kcal/mol and angstrom; state no units")
    return _Reader(read_sections(path), path, notes).content()


class _Reader:
    """Makes force field and system of the sections of one file."""

    def __init__(self, sections: dict[str, Section], path: Path, notes: Notes) -> None:
        self._sections = sections
        self._place = SourceLine(str(path), 1)
        self._notes = notes
        for name, what in _REFUSED.items():
            if name in sections:
                raise sections[name].place.unsupported(f"%FLAG {name}: {what} is not stored")
        for name in _LEFT_OUT:
            if name in sections:
                notes.lost(f"%FLAG {name}", "is left out")
        self._count = int(self._integers("POINTERS", 2)[0])
        source = {"format": "amber-prmtop", "uri": path.name}
        self._forcefield = ForceField(path.stem, "real", None, source)
        self._blocks: dict[str, Block] = {}

    def _section(self, name: str, count: int | None = None) -> list[Any]:
        found = self._sections.get(name)
        if found is None:
            raise self._place.malformed(f"the file has no section %FLAG {name}; it is cut short, or no prmtop")
        if count is not None and len(found.values) < count:
            raise found.place.malformed(f"%FLAG {name} has {len(found.values)} values, but {count} are needed")
        return found.values if count is None else found.values[:count]

    def _integers(self, name: str, count: int | None = None) -> Integers:
        return np.array(self._section(name, count), dtype=np.int64)

    def _reals(self, name: str, count: int | None = None) -> Floats:
        return np.array(self._section(name, count), dtype=np.float64)

    def content(self) -> ForceFieldContent:
        """Return what was read."""
        names = self._atoms()
        self._lennard_jones(names)
        self._forcefield.define_style("pair", "coul/cut", {"coulomb": COULOMB, "dielectric": 1.0})
        self._harmonic("BOND", "BONDS", "bond", "r0")
        self._harmonic("ANGLE", "ANGLES", "angle", "theta0")
        listed = self._torsions()
        self._near_pairs(listed)
        frame = Frame(self._blocks)
        frame.meta.set("units", {"preset": "real"}, tag="json")
        if "TITLE" in self._sections and (title := " ".join(self._sections["TITLE"].values).strip()):
            frame.meta["title"] = title
        return ForceFieldContent(self._forcefield, frame)

    # -- atoms ------------------------------------------------------------------------------------------------------

    def _atoms(self) -> list[str]:
        """Add the atoms and their types; return the name of each type's row, by its number."""
        count = self._count
        if count == 0:
            raise self._place.malformed("the file has no atoms")
        labels = [str(one).strip() for one in self._section("AMBER_ATOM_TYPE", count)]
        masses = self._reals("MASS", count)
        wells = self._integers("ATOM_TYPE_INDEX", count)
        numbers = self._integers("ATOMIC_NUMBER", count) if "ATOMIC_NUMBER" in self._sections else None
        if "EP" in labels or (numbers is not None and (numbers == 0).any()):
            raise self._place.unsupported("the file has extra points, whose frames it does not say")
        keys = list(zip(labels, wells.tolist(), masses.tolist(), strict=True))
        style = self._forcefield.define_style("atom", "full")
        rows: dict[tuple[str, int, float], str] = {}
        for place, key in enumerate(keys):
            if key not in rows:
                number = None if numbers is None or numbers[place] < 0 else int(numbers[place])
                rows[key] = free_name(style, key[0])
                style.add(rows[key], mass=key[2], atomic_number=number)
        self._wells = {name: key[1] for key, name in rows.items()}
        atoms = Block(
            {
                "id": np.arange(1, count + 1, dtype=np.uint64),
                "type": np.array([rows[key] for key in keys], dtype=STRING),
                "name": np.array([str(one).strip() for one in self._section("ATOM_NAME", count)], dtype=STRING),
                "charge": self._reals("CHARGE", count) / CHARGE_UNIT,
                "mass": masses,
            }
        )
        if numbers is not None and (numbers >= 0).all():
            atoms["atomic_number"] = numbers.astype(np.uint64)
        self._residues(atoms)
        for name in ("RADII", "SCREEN"):
            if name in self._sections:
                atoms[f"gb_{name.lower()}"] = self._reals(name, count)
        self._blocks["atoms"] = atoms
        return list(rows.values())

    def _residues(self, atoms: Block) -> None:
        labels = [str(one).strip() for one in self._section("RESIDUE_LABEL")]
        starts = self._integers("RESIDUE_POINTER", len(labels)) - 1
        sizes = np.diff(np.append(starts, self._count))
        if len(starts) == 0 or starts[0] != 0 or (sizes < 0).any():
            raise self._place.malformed("%FLAG RESIDUE_POINTER does not number the first atoms of residues in order")
        atoms["res_id"] = np.repeat(np.arange(1, len(labels) + 1, dtype=np.uint64), sizes)
        atoms["res_name"] = np.repeat(np.array(labels, dtype=STRING), sizes)
        if "ATOMS_PER_MOLECULE" in self._sections:
            molecules = self._integers("ATOMS_PER_MOLECULE")
            if molecules.sum() == self._count:
                atoms["mol_id"] = np.repeat(np.arange(1, len(molecules) + 1, dtype=np.uint64), molecules)

    # -- pairs of types ---------------------------------------------------------------------------------------------

    def _lennard_jones(self, names: Sequence[str]) -> None:
        size = int(self._integers("POINTERS", 2)[1])
        index = self._integers("NONBONDED_PARM_INDEX", size * size).reshape(size, size)
        count = size * (size + 1) // 2
        repulsion, attraction = self._reals("LENNARD_JONES_ACOEF", count), self._reals("LENNARD_JONES_BCOEF", count)
        if (index < 0).any():
            others = np.concatenate([self._reals("HBOND_ACOEF"), self._reals("HBOND_BCOEF")])
            if others.any():
                raise self._place.unsupported("the file has 10-12 hydrogen bond terms, which are not stored")
        if index.max(initial=0) > count:
            raise self._place.malformed("%FLAG NONBONDED_PARM_INDEX names pairs beyond the coefficients")
        a = np.where(index > 0, repulsion[np.maximum(index, 1) - 1], 0.0)
        b = np.where(index > 0, attraction[np.maximum(index, 1) - 1], 0.0)
        if ((a == 0.0) != (b == 0.0)).any():
            raise self._place.unsupported(
                "a pair of types repels or attracts only, which is no well of epsilon and sigma"
            )
        nothing = a == 0.0
        sigma = np.where(nothing, 1.0, np.divide(a, b, out=np.ones_like(a), where=~nothing) ** (1.0 / 6.0))
        epsilon = np.divide(b * b, 4.0 * a, out=np.zeros_like(a), where=~nothing)
        style = self._forcefield.define_style("pair", "lj/cut", {"mixing": "arithmetic"})
        for name in names:
            own = self._wells[name] - 1
            style.add(name, (name, name), sigma=float(sigma[own, own]), epsilon=float(epsilon[own, own]))
        crosses = self._unmixed(a, b, np.diag(sigma), np.diag(epsilon))
        for place, first in enumerate(names):
            for second in names[place + 1 :]:
                pair = self._wells[first] - 1, self._wells[second] - 1
                if crosses[pair]:
                    style.add(
                        free_name(style, f"{first}-{second}"),
                        (first, second),
                        sigma=float(sigma[pair]),
                        epsilon=float(epsilon[pair]),
                    )

    @staticmethod
    def _unmixed(a: Floats, b: Floats, sigma: Floats, epsilon: Floats) -> npt.NDArray[np.bool_]:
        """Return which pairs of types are not what arithmetic mixing gives."""
        sizes = 0.5 * (sigma[:, None] + sigma[None, :])
        depths = np.sqrt(epsilon[:, None] * epsilon[None, :])
        sixth = sizes**6
        return ~(
            np.isclose(a, 4.0 * depths * sixth * sixth, rtol=_MIXED_WITHIN, atol=0.0)
            & np.isclose(b, 4.0 * depths * sixth, rtol=_MIXED_WITHIN, atol=0.0)
        )

    # -- bonded terms -----------------------------------------------------------------------------------------------

    def _terms(self, name: str) -> tuple[Integers, Integers]:
        """Return atoms (terms, arity), signs kept, and the type of each term, from 1."""
        width = _ARITY[name] + 1
        found = [self._integers(f"{name}_{which}_HYDROGEN") for which in ("INC", "WITHOUT")]
        if any(len(one) % width for one in found):
            raise self._place.malformed(f"%FLAG {name}_INC_HYDROGEN or its other half is cut short")
        rows = np.concatenate([one.reshape(-1, width) for one in found])
        atoms = rows[:, :-1]
        if (np.abs(atoms) % 3).any() or (np.abs(atoms) // 3 >= self._count).any():
            raise self._place.malformed(f"%FLAG {name}_INC_HYDROGEN or its other half names an atom that is not there")
        return atoms, rows[:, -1]

    def _relation(self, block: str, style: str, atoms: Integers, types: Integers) -> Block:
        made = Block(rows=len(atoms))
        for place in range(atoms.shape[1]):
            made[ENDPOINTS[place]] = atoms[:, place].astype(np.uint64)
        made["type"] = np.array([str(number) for number in types.tolist()], dtype=STRING)
        made["style"] = np.full(len(atoms), style, dtype=STRING)
        self._blocks[block] = made
        return made

    def _harmonic(self, prefix: str, name: str, category: str, reference: str) -> None:
        forces = self._reals(f"{prefix}_FORCE_CONSTANT")
        values = self._reals(f"{prefix}_EQUIL_VALUE", len(forces))
        if not len(forces):
            return
        style = self._forcefield.define_style(category, "harmonic")
        wildcards = ("",) * _ARITY[name]
        for number, (force, value) in enumerate(zip(forces.tolist(), values.tolist(), strict=True), 1):
            style.add(str(number), wildcards, **{"k": 2.0 * force, reference: value})
        atoms, types = self._terms(name)
        self._relation(f"{category}s", "harmonic", atoms // 3, self._checked(types, len(forces), name))

    def _checked(self, types: Integers, count: int, name: str) -> Integers:
        if len(types) and (types.min() < 1 or types.max() > count):
            raise self._place.malformed(f"{name}: a term is of a type beyond the {count} there are")
        return types

    def _torsions(self) -> Integers:
        """Add proper and improper torsions; return the 1-4 pairs, lower atom first."""
        forces = self._reals("DIHEDRAL_FORCE_CONSTANT")
        count = len(forces)
        periodicities = np.abs(self._reals("DIHEDRAL_PERIODICITY", count))
        phases = self._reals("DIHEDRAL_PHASE", count)
        atoms, types = self._terms("DIHEDRALS")
        self._checked(types, count, "DIHEDRALS")
        improper = atoms[:, 3] < 0
        silent = (atoms[:, 2] < 0) | improper
        rows = np.abs(atoms) // 3
        for category, chosen in (("dihedral", ~improper), ("improper", improper)):
            if not chosen.any():
                continue
            style = self._forcefield.define_style(category, "periodic")
            for number in np.unique(types[chosen]).tolist():
                values = (float(column[number - 1]) for column in (forces, periodicities, phases))
                style.add(str(number), ("",) * 4, **dict(zip(("k", "periodicity", "phase"), values, strict=True)))
            block = self._relation(f"{category}s", "periodic", rows[chosen], types[chosen])
            block["exclude_14"] = silent[chosen]
        self._weights(types[~silent], count)
        ends = np.sort(rows[~silent][:, [0, 3]], axis=1)
        return np.unique(ends, axis=0) if len(ends) else ends

    def _weights(self, types: Integers, count: int) -> None:
        """Set the special bonds from the scale factors of the torsions that carry 1-4 pairs."""
        found = {}
        for key, name, default in (
            ("lj", "SCNB_SCALE_FACTOR", _DEFAULT_SCNB),
            ("coul", "SCEE_SCALE_FACTOR", _DEFAULT_SCEE),
        ):
            stated = self._reals(name, count) if name in self._sections else np.full(count, default)
            used = np.unique(stated[types - 1]) if len(types) else np.array([default])
            if len(used) > 1:
                raise self._place.unsupported(
                    f"%FLAG {name} has {used.tolist()}, but special bonds have one weight for all 1-4 pairs"
                )
            found[key] = 0.0 if used[0] == 0.0 else 1.0 / float(used[0])
        self._forcefield.special_bonds = {key: (0.0, 0.0, weight) for key, weight in found.items()}

    # -- near pairs -------------------------------------------------------------------------------------------------

    def _near_pairs(self, listed: Integers) -> None:
        """List 1-4 pairs, and what is excluded beyond bonds and angles of the bond graph."""
        count = self._count
        numbers = self._integers("NUMBER_EXCLUDED_ATOMS", count)
        partners = self._integers("EXCLUDED_ATOMS_LIST", int(numbers.sum()))
        owners = np.repeat(np.arange(count), numbers)
        real = partners > 0
        excluded = owners[real] * count + partners[real] - 1
        listed_codes = listed[:, 0] * count + listed[:, 1] if len(listed) else np.zeros(0, dtype=np.int64)
        if not np.isin(listed_codes, excluded).all():
            raise self._place.unsupported("a 1-4 pair of a torsion is not excluded and would interact twice")
        if len(listed):
            pairs = Block({"atomi": listed[:, 0].astype(np.uint64), "atomj": listed[:, 1].astype(np.uint64)})
            pairs["is_14"] = np.ones(len(listed), dtype=np.bool_)
            self._blocks["pairs"] = pairs
        bonds = self._blocks.get("bonds")
        ends = (
            np.zeros((0, 2), dtype=np.int64)
            if bonds is None
            else np.stack([bonds[end].astype(np.int64) for end in ENDPOINTS[:2]], axis=1)
        )
        one, two, three = graph_distances(ends, count)
        near = np.concatenate([one, two])
        if not np.isin(np.concatenate([near, three]), excluded).all():
            raise self._place.unsupported("pairs up to three bonds apart interact in full, which special bonds exclude")
        explicit = np.setdiff1d(excluded, np.concatenate([near, listed_codes]))
        if len(explicit):
            first, second = np.divmod(explicit, count)
            self._blocks["exclusions"] = Block({"atomi": first.astype(np.uint64), "atomj": second.astype(np.uint64)})


def _recognizes(head: bytes) -> bool:
    return re.match(rb"\s*%VERSION", head) is not None or b"%FLAG POINTERS" in head


FORMAT = ForceFieldFormat("amber-prmtop", (".prmtop", ".parm7"), _recognizes, read_amber, write_amber)
