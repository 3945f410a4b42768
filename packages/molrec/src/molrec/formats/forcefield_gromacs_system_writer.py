"""The molecules of a GROMACS topology: the system cut along ``mol_id``, equal neighbours counted, terms with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from molrec.forcefield.linking import LinkedStyle, link
from molrec.forcefield.near_pairs import graph_distances, near_pairs
from molrec.forcefield.tables import Flags, Integers, block_of
from molrec.formats.forcefield_gromacs_type_writer import TypeWriter
from molrec.formats.forcefield_near_pairs import near_classes
from molrec.formats.forcefield_rows import number_text
from molrec.formats.forcefield_source import not_in_target
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.forcefield import ForceField, Style
from molrec.model.frame import Frame
from molrec.model.relations import ENDPOINTS, RELATIONS

__all__ = ["system_lines"]

_TARGET = "GROMACS"
_BLOCKS = {
    "bonds": "bond",
    "constraints": "constraint",
    "angles": "angle",
    "dihedrals": "dihedral",
    "impropers": "improper",
}
_FILE_SECTIONS = {"impropers": "dihedrals"}
_SITES = {
    "average2": (2, 1, ("w2",)),
    "average3": (3, 1, ("w2", "w3")),
    "outofplane3": (3, 4, ("w12", "w13", "wcross")),
}


def system_lines(forcefield: ForceField, system: Frame, types: TypeWriter, notes: Notes) -> Iterator[str]:
    """Yield the molecule types, the title and the list of molecules.

    Args:
        forcefield: The force field.
        system: The system, its types named by ``type``.
        types: The type sections written before.
        notes: Told what GROMACS has no place for.

    Raises:
        SchemaError: GROMACS has no word for something (``reject-ff-target``).
    """
    writer = _SystemWriter(forcefield, system, types, notes)
    texts = writer.molecules()
    names: dict[tuple[str, ...], str] = {}
    counts: list[tuple[str, int]] = []
    for text, wanted in texts:
        name = names.get(text)
        if name is None:
            name = names[text] = wanted if wanted not in names.values() else f"{wanted}_{len(names) + 1}"
            yield "[ moleculetype ]"
            yield f"{name} {writer.excluded_bonds}"
            yield from text
        if counts and counts[-1][0] == name:
            counts[-1] = (name, counts[-1][1] + 1)
        else:
            counts.append((name, 1))
    yield "[ system ]"
    yield str(system.meta.get("title", forcefield.name) or "system")
    yield "[ molecules ]"
    yield from (f"{name} {count}" for name, count in counts)


class _SystemWriter:
    """Cuts a system into molecules and writes their sections."""

    def __init__(self, forcefield: ForceField, system: Frame, types: TypeWriter, notes: Notes) -> None:
        self._forcefield = forcefield
        self._system = system
        self._types = types
        self._notes = notes
        self._linked = link(system, forcefield)
        if self._linked.unresolved:
            raise not_in_target(_TARGET, str(self._linked.unresolved[0]), "no row of the force field has that name")
        self._atoms = system["atoms"]
        if "type" not in self._atoms:
            raise not_in_target(_TARGET, "a system whose atoms have no types", "an atom has one")
        self._near = near_pairs(system, forcefield, self._linked.explicit_pairs) if self._linked.pairs else None
        self._starts = self._molecule_starts()
        #: Section -> atoms of each row and what follows them.
        self._rows: list[tuple[str, Integers, list[str]]] = []
        self.excluded_bonds = 3
        for block in _BLOCKS:
            if block in system:
                self._terms(block)
        self._pairs()
        self._maps()
        self._sites()

    def molecules(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the lines of each molecule's sections and a name for it."""
        count = len(self._starts) - 1
        lines: list[list[str]] = [[] for _ in range(count)]
        for molecule, text in enumerate(self._atom_lines()):
            lines[molecule] += ["[ atoms ]", *text]
        for section, atoms, tails in self._rows:
            self._spread(lines, section, atoms, tails)
        residues = self._atoms["res_name"].tolist() if "res_name" in self._atoms else None
        for molecule, text in enumerate(lines):
            start = int(self._starts[molecule])
            name = "".join(residues[start].split()) if residues is not None and residues[start].strip() else "MOL"
            yield tuple(text), name

    def _molecule_starts(self) -> Integers:
        """Return the first atom of each molecule, and the number of atoms behind them."""
        count = self._atoms.rows
        if "mol_id" not in self._atoms or not count:
            return np.array([0, count] if count else [0])
        numbers = self._atoms["mol_id"]
        starts = np.concatenate([[0], np.flatnonzero(numbers[1:] != numbers[:-1]) + 1, [count]]).astype(np.int64)
        if len(starts) - 1 != len(np.unique(numbers)):
            return np.array([0, count])  # a molecule in pieces; all of them together are one
        for name, relation in RELATIONS.items():
            ends = [end for end in relation.endpoints if name in self._system and end in self._system[name]]
            if not ends or name == "members":
                continue
            block = self._system[name]
            found = []
            for end in ends:
                mask = block.validity(end)
                owner = np.searchsorted(starts, block[end].astype(np.int64), side="right")
                first = np.searchsorted(starts, block[ends[0]].astype(np.int64), side="right")
                found.append(owner == first if mask is None else (owner == first) | ~mask)
            if not np.logical_and.reduce(found).all():
                return np.array([0, count])
        return starts

    def _atom_lines(self) -> Iterator[list[str]]:
        atoms, count = self._atoms, self._atoms.rows
        charges = self._linked.atoms.parameter("charge")
        masses = self._linked.atoms.parameter("mass")
        for name, values in (("charge", charges), ("mass", masses)):
            if np.isnan(values).any():
                row = int(np.argmax(np.isnan(values)))
                raise not_in_target(_TARGET, f"atom {row} without {name}", "every atom has one")
        types = atoms["type"].tolist()
        names = atoms["name"].tolist() if "name" in atoms else types
        residues = atoms["res_name"].tolist() if "res_name" in atoms else ["MOL"] * count
        numbers = atoms["res_id"].tolist() if "res_id" in atoms else [1] * count
        groups = atoms["charge_group"].tolist() if "charge_group" in atoms else None
        for start, stop in zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True):
            yield [
                f"{row - start + 1} {types[row]} {numbers[row]} {residues[row] or 'MOL'} {names[row] or types[row]} "
                f"{row - start + 1 if groups is None else groups[row]} {float(charges[row])!r} {float(masses[row])!r}"
                for row in range(start, stop)
            ]

    def _spread(self, lines: list[list[str]], section: str, atoms: Integers, tails: Sequence[str]) -> None:
        """Append rows of a section to the molecules they belong to, numbered within them."""
        if not len(atoms):
            return
        owners = np.searchsorted(self._starts, atoms[:, 0], side="right") - 1
        local = atoms - self._starts[owners][:, None] + 1
        last = -1
        order = np.argsort(owners, kind="stable").tolist()
        numbers, owner_of = local.tolist(), owners.tolist()
        for row in order:
            if owner_of[row] != last:
                last = owner_of[row]
                lines[last].append(f"[ {section} ]")
            lines[last].append(f"{' '.join(map(str, numbers[row]))} {tails[row]}".rstrip())

    # -- terms ------------------------------------------------------------------------------------------------------

    def _terms(self, block: str) -> None:
        own = self._own_columns(self._system[block])
        rows, atoms, tails = [], [], []
        for one in self._linked.styles:
            if one.block != block or not len(one.rows):
                continue
            texts, kind = self._distinct_tails(one, own[one.rows])
            counts = np.array([len(text) for text in texts])[kind]
            rows.append(np.repeat(one.rows, counts))
            atoms.append(np.repeat(one.atoms, counts, axis=0))
            tails += [tail for number in kind.tolist() for tail in texts[number]]
        if rows:
            order = np.argsort(np.concatenate(rows), kind="stable")
            section = _FILE_SECTIONS.get(block, block)
            self._rows.append((section, np.concatenate(atoms)[order], [tails[place] for place in order.tolist()]))

    def _distinct_tails(self, one: LinkedStyle, own: Flags) -> tuple[list[list[str]], Integers]:
        """Return what follows the atoms of each kind of term, and the kind of every term.

        Terms of one kind name the same row, are between atoms of the same types and have the same parameters.
        """
        style = self._forcefield.style(one.category, one.style)
        block = self._system[one.block]
        names = block["type"][one.rows].tolist() if "type" in block else [""] * len(one.rows)
        known = {name: number for number, name in enumerate(dict.fromkeys(names))}
        codes = np.array([known[name] for name in names], dtype=np.int64)
        types = self._linked.atoms.types
        parameters = list(one.parameters)
        bits = [np.ascontiguousarray(one.parameters[name]).view(np.int64) for name in parameters]
        keys = np.column_stack([codes, own, types.codes[one.atoms], *bits])
        _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        texts = []
        for place in first.tolist():
            params = {name: float(one.parameters[name][place]) for name in parameters}
            stated = {name: value for name, value in params.items() if not np.isnan(value)}
            atom_types = tuple(types.distinct[code] for code in types.codes[one.atoms[place]].tolist())
            texts.append(self._tails(style, names[place], stated, atom_types, bare=not own[place]))
        return texts, kind.ravel()

    def _own_columns(self, block: Block) -> Flags:
        """Return which rows of a relation bring parameters along."""
        found = np.zeros(block.rows, dtype=np.bool_)
        known = {
            "atomi",
            "atomj",
            "atomk",
            "atoml",
            "type",
            "style",
            "type_id",
            "id",
            "bond_type",
            "bond_number",
            "exclude_14",
        }
        for column in block.columns:
            if column not in known and block[column].dtype.kind == "f":
                mask = block.validity(column)
                found |= True if mask is None else mask
        return found

    def _tails(
        self, style: Style, name: str, params: dict[str, float], atom_types: tuple[str, ...], *, bare: bool
    ) -> list[str]:
        """Return what follows the atoms of a term, one text for each row it takes."""
        function = self._types.function(style)
        function, joined = self._types.with_spring(style, function, name, params)
        if bare and name and self._types.finds(function, atom_types) == name:
            return [str(function.number)]
        what = f"a term of {style.category} {style.name!r} between {' '.join(atom_types)}"
        if not function.parameters:
            return [str(function.number)]
        return [f"{function.number} {text}" for text in self._types.parameter_words(function, joined, what)]

    # -- pairs and sites --------------------------------------------------------------------------------------------

    def _pairs(self) -> None:
        if self._near is None or self._forcefield.special_bonds is None:
            return
        near = self._near
        listed, dropped = near_classes(_TARGET, near, self._forcefield)
        tails = self._pair_tails(near.row)
        order = np.flatnonzero(listed)
        order = order[np.argsort(np.where(near.row[order] >= 0, near.row[order], len(near.row)), kind="stable")]
        pairs = near.atoms[order]
        explicit = block_of(self._system, "pairs")
        if explicit is not None:
            rows = near.row[order]
            as_listed = np.stack([explicit[end].astype(np.int64) for end in ("atomi", "atomj")], axis=1)
            pairs = np.where((rows >= 0)[:, None], as_listed[rows], pairs)
        self._rows.append(("pairs", pairs, [tails[place] for place in order.tolist()]))
        self._exclusions(near.atoms[listed | dropped])

    def _pair_tails(self, rows: Integers) -> list[str]:
        tails = ["1"] * len(rows)
        block = block_of(self._system, "pairs")
        if block is None or "sigma" not in block or "epsilon" not in block:
            return tails
        mask = block.validity("sigma")
        stated = np.ones(block.rows, dtype=np.bool_) if mask is None else mask
        for place, row in enumerate(rows.tolist()):
            if row >= 0 and stated[row]:
                tails[place] = f"1 {number_text(block['sigma'][row])} {number_text(block['epsilon'][row])}"
        return tails

    def _exclusions(self, excluded: Integers) -> None:
        """List the excluded pairs that the number of bonds does not exclude."""
        count = self._atoms.rows
        bonds = block_of(self._system, "bonds")
        ends = (
            np.zeros((0, 2), dtype=np.int64)
            if bonds is None
            else np.stack([bonds[end].astype(np.int64) for end in ("atomi", "atomj")], axis=1)
        )
        by_bonds = np.concatenate(graph_distances(ends, count))
        codes = excluded[:, 0] * count + excluded[:, 1]
        if not np.isin(by_bonds, codes).all():
            self.excluded_bonds = 0
            by_bonds = by_bonds[:0]
        remaining = excluded[~np.isin(codes, by_bonds)]
        self._rows.append(("exclusions", remaining, [""] * len(remaining)))

    def _maps(self) -> None:
        """Write the terms of correction maps, whose types GROMACS finds by the atoms' own."""
        block = block_of(self._system, "cmaps")
        if block is None:
            return
        if "atomm" not in block:
            raise not_in_target(_TARGET, "block 'cmaps' without 'atomm'", "a map has five atoms")
        rows = {row.name: row for style in self._forcefield.of_category("cmap") for row in style}
        ends = np.stack([block[end].astype(np.int64) for end in (*ENDPOINTS, "atomm")], axis=1)
        types = self._atoms["type"].tolist()
        for name, atoms in zip(block["type"].tolist(), ends.tolist(), strict=True):
            found = tuple(self._types.class_of.get(types[atom], types[atom]) for atom in atoms)
            if name not in rows or (*rows[name].endpoints, rows[name].get("mtom")) != found:
                raise not_in_target(
                    _TARGET, f"a term of cmap {name!r}", f"the types {' '.join(found)} find another map"
                )
        self._rows.append(("cmap", ends, ["1"] * len(ends)))

    def _sites(self) -> None:
        for one in self._linked.styles:
            if one.category != "virtual_site":
                continue
            if one.style not in _SITES:
                raise not_in_target(_TARGET, f"virtual_site {one.style!r}", "it has no such site")
            parents, number, names = _SITES[one.style]
            weights = [one.parameters[name] for name in names]
            if one.style != "outofplane3" and not np.allclose(
                one.parameters["w1"], 1.0 - np.sum(weights, axis=0), 0, 1e-15
            ):
                raise not_in_target(_TARGET, f"virtual_site {one.style!r}", "its weights add up to 1")
            tails = [
                f"{number} {' '.join(number_text(values[place]) for values in weights)}"
                for place in range(len(one.rows))
            ]
            self._rows.append((f"virtual_sites{parents}", one.atoms[:, : parents + 1], tails))
