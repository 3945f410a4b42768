"""OpenMM's topology beside the system of a record: atoms, residues, chains, bonds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from molrec.dtypes import STRING
from molrec.errors import SchemaError
from molrec.forcefield.relations import RelationRows
from molrec.formats.elements import SYMBOLS, symbols_of
from molrec.formats.forcefield_openmm_names import UNITS
from molrec.formats.notes import Notes
from molrec.formats.residue_numbers import SIGNED_RESIDUES, set_residue_numbers
from molrec.interop.openmm_import import require_openmm
from molrec.interop.openmm_system import box_vectors
from molrec.interop.openmm_units import OpenMMUnits
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.meta import Meta

__all__ = ["from_openmm_topology", "to_openmm_topology"]

#: Columns that tell one residue from the next.
_RESIDUE = ("chain", "res_id", "icode", "res_name", "mol_id")
#: OpenMM's words for bonds -> ``bond_type``; the bond it calls amide is a single one.
_BOND_TYPES = {"Single": 1, "Double": 2, "Triple": 3, "Aromatic": 4, "Amide": 1}
_BOND_NAMES = {1: "Single", 2: "Double", 3: "Triple", 4: "Aromatic"}


def to_openmm_topology(frame: Frame, units: Mapping[str, str] | None = None) -> Any:
    """Return the `openmm.app.Topology` of a frame.

    A residue ends where chain, number, insertion code, name or molecule change from one atom to the next; a chain where
    its name does. What the frame does not say is empty.

    Args:
        frame: ``atoms`` with any of ``name element atomic_number res_name res_id icode chain mol_id``, and ``bonds``.
        units: Units of the box, those the frame states when None.

    Raises:
        SchemaError: A periodic box in no known unit (``reject-ff-openmm-units``) or of another form than OpenMM's
            (``reject-ff-openmm-box``), an element nobody knows (``reject-ff-openmm-element``), or bonds between atoms
            that are not there (``reject-ff-endpoints``).
        ImportError: OpenMM is not installed.
    """
    require_openmm()
    from openmm import Vec3, app, unit

    topology = app.Topology()
    atoms = frame["atoms"]
    elements = _elements(atoms)
    names = _strings(atoms, "name")
    labels = {column: _strings(atoms, column) for column in _RESIDUE}
    numbers = _strings(atoms, SIGNED_RESIDUES if SIGNED_RESIDUES in atoms else "res_id")
    made: list[Any] = []
    chain = residue = None
    chain_label: str | None = None
    before: tuple[str, ...] | None = None
    for row in range(atoms.rows):
        own = tuple(labels[column][row] for column in _RESIDUE)
        if chain is None or own[0] != chain_label:
            chain_label, chain = own[0], topology.addChain(own[0] or None)
            before = None
        if own != before:
            residue = topology.addResidue(labels["res_name"][row], chain, numbers[row] or None, labels["icode"][row])
            before = own
        made.append(topology.addAtom(names[row], elements[row], residue))
    if "bonds" in frame:
        ends = RelationRows("bonds", frame["bonds"], atoms.rows).atoms.tolist()
        kinds = frame["bonds"]["bond_type"].tolist() if "bond_type" in frame["bonds"] else [0] * len(ends)
        for (first, second), kind in zip(ends, kinds, strict=True):
            word = _BOND_NAMES.get(kind)
            topology.addBond(made[first], made[second], None if word is None else getattr(app.topology, word))
    if frame.box is not None and frame.box.boundary.any():
        length = OpenMMUnits(units or frame.units or {"angle": "radian"}).factor("length")
        vectors = box_vectors(frame, length)
        assert vectors is not None
        topology.setPeriodicBoxVectors([Vec3(*row) for row in vectors.tolist()] * unit.nanometer)
    return topology


def _strings(atoms: Block, column: str) -> list[str]:
    """Return a column as strings; a null, and a column that is not there, is empty."""
    if column not in atoms:
        return [""] * atoms.rows
    mask = atoms.validity(column)
    values = [str(value) for value in atoms[column].tolist()]
    return values if mask is None else [value if there else "" for value, there in zip(values, mask, strict=True)]


def _elements(atoms: Block) -> list[Any]:
    from openmm import app

    symbols = _strings(atoms, "element")
    if "element" not in atoms and "atomic_number" in atoms:
        symbols = symbols_of(atoms["atomic_number"].astype(np.int64)).tolist()
    unknown = sorted(set(symbols) - {""} - set(SYMBOLS))
    if unknown:
        raise SchemaError(
            f"the elements {', '.join(map(repr, unknown))} are none; `element` is a symbol such as 'Na', or empty",
            "reject-ff-openmm-element",
        )
    made = {symbol: app.Element.getBySymbol(symbol) for symbol in set(symbols) if symbol}
    return [made.get(symbol) for symbol in symbols]


def from_openmm_topology(topology: Any, system: Any = None) -> Frame:
    """Return the static part of an OpenMM simulation as a frame: ``atoms`` and ``bonds``, units in the meta document.

    Args:
        topology: An `openmm.app.Topology`.
        system: The `openmm.System`, for the masses.

    Raises:
        SchemaError: Topology and system have different numbers of atoms (``reject-topology-mismatch``).
    """
    rows = list(topology.atoms())
    atoms = Block(rows=len(rows))
    atoms["name"] = _column(atom.name for atom in rows)
    atoms["element"] = _column("" if atom.element is None else atom.element.symbol for atom in rows)
    atoms["res_name"] = _column(atom.residue.name for atom in rows)
    chains = _column(atom.residue.chain.id for atom in rows)
    atoms["chain"] = chains
    if any((atom.residue.insertionCode or "").strip() for atom in rows):
        atoms["icode"] = _column((atom.residue.insertionCode or "").strip() for atom in rows)
    _set_residues(atoms, rows, chains)
    if system is not None:
        atoms["mass"] = _masses(system, len(rows))
    blocks = {"atoms": atoms}
    bonds = list(topology.bonds())
    if bonds:
        blocks["bonds"] = _bonds(bonds)
    return Frame(blocks, meta=Meta({"units": UNITS}))


def _column(values: Any) -> Any:
    return np.array(["" if value is None else str(value) for value in values], dtype=STRING)


def _set_residues(atoms: Block, rows: list[Any], chains: Any) -> None:
    """Set ``res_id``: the residues' ids where those are numbers, otherwise their places in the topology, from 1.

    Negative numbers are moved, chain by chain, and kept in ``res_seq``; ids that are no numbers in ``res_label``.
    """
    ids = [str(atom.residue.id).strip() for atom in rows]
    if all(text.removeprefix("-").isdecimal() for text in ids):
        set_residue_numbers(atoms, np.array([int(text) for text in ids], dtype=np.int64), Notes(), chains)
        return
    atoms["res_id"] = np.array([atom.residue.index + 1 for atom in rows], dtype=np.uint64)
    atoms["res_label"] = _column(ids)


def _masses(system: Any, count: int) -> Any:
    if system.getNumParticles() != count:
        raise SchemaError(
            f"the topology has {count} atoms and the system {system.getNumParticles()} particles; give the topology "
            "the system was made of",
            "reject-topology-mismatch",
        )
    dalton = require_openmm().unit.dalton
    return np.array([system.getParticleMass(atom).value_in_unit(dalton) for atom in range(count)], dtype=np.float64)


def _bonds(bonds: list[Any]) -> Block:
    block = Block(
        {
            "atomi": np.array([bond.atom1.index for bond in bonds], dtype=np.uint64),
            "atomj": np.array([bond.atom2.index for bond in bonds], dtype=np.uint64),
        }
    )
    kinds = np.array([_BOND_TYPES.get(str(bond.type), 0) for bond in bonds], dtype=np.uint64)
    if kinds.any():
        block["bond_type"] = kinds
    return block
