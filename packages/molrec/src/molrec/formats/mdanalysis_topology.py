"""MDAnalysis topologies as blocks of a record: what atoms are, and what joins them.

| MDAnalysis | record |
|---|---|
| ``names``, ``types``, ``elements``, ``masses``, ``charges``, ``formalcharges`` | ``name``, ``type``, ... |
| ``resids``, ``resnames``, ``icodes``, ``altLocs`` | ``res_id``, ``res_name``, ``icode``, ``altloc`` |
| ``chainIDs`` | ``chain`` |
| ``segids`` | ``segment`` where there are chains too, else ``chain`` |
| ``occupancies``, ``tempfactors`` | ``occupancy``, ``b_factor`` |
| ``molnums``, ``type_indices`` | ``mol_id``, ``type_id`` |
| ``ids`` | ``id``; not where they are row numbers MDAnalysis made up |
| other attributes | a column of MDAnalysis' name for one of them, such as ``radius`` or ``moltype`` |
| ``bonds``, ``angles``, ``dihedrals``, ``impropers`` | relation blocks, in ascending order |
| ``ureybradleys``, ``cmaps`` | blocks of these names; the fifth atom of a cmap is ``atomm`` |
| bond orders | ``bond_type``, the file's own text in ``order`` |

A number MDAnalysis does not find in the file is null. Nothing it guesses is taken, nor the segment ``SYSTEM`` it gives
atoms without one. It reads charges, radii and displacement factors of text files as binary32; the shortest decimal that
stands for such a number is taken, which is the file's own of up to six digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.errors import FormatError
from molrec.formats.notes import Notes
from molrec.formats.residue_numbers import set_residue_numbers
from molrec.model.block import Block
from molrec.model.relations import ENDPOINTS
from molrec.vocabulary import CANONICAL_COLUMNS

__all__ = ["blocks_of_topology", "shortest_decimals"]

_MALFORMED = "reject-malformed-source"
_COLUMNS = {
    "names": "name",
    "types": "type",
    "elements": "element",
    "masses": "mass",
    "charges": "charge",
    "formalcharges": "formal_charge",
    "ids": "id",
    "resnames": "res_name",
    "icodes": "icode",
    "altLocs": "altloc",
    "chainIDs": "chain",
    "occupancies": "occupancy",
    "tempfactors": "b_factor",
    "molnums": "mol_id",
    "type_indices": "type_id",
}
_RELATIONS = {"bonds": 2, "angles": 3, "dihedrals": 4, "impropers": 4, "ureybradleys": 2, "cmaps": 5}
_MANY_ENDPOINTS = (*ENDPOINTS, "atomm")
#: MOL2's bond labels that a bond type says as much as.
_BOND_TYPES = {"1": 1, "2": 2, "3": 3, "ar": 4}
#: The segment MDAnalysis gives atoms of a file that names none.
_NO_SEGMENT = "SYSTEM"


def blocks_of_topology(
    topology: Any, name: str, notes: Notes, *, text: bool, segments: bool = True
) -> dict[str, Block]:
    """Return the blocks of an `MDAnalysis.core.topology.Topology`: ``atoms`` and the relations it has.

    Args:
        topology: What a parser of MDAnalysis returned.
        name: The file, for messages.
        notes: Told about negative residue numbers.
        text: Whether the file holds decimal text.
        segments: Whether the segments are the file's and not MDAnalysis' name for something else.

    Raises:
        FormatError: A relation joins an atom that is not there, or atoms share a number (``reject-malformed-source``).
    """
    atoms = Block(rows=topology.n_atoms)
    found = {attribute.attrname: attribute for attribute in topology.attrs if hasattr(attribute, "values")}
    relations = {key: found.pop(key) for key in _RELATIONS if key in found}
    for key, attribute in found.items():
        if attribute.is_guessed:
            continue
        values = _per_atom(topology, attribute, key)
        if key == "resids":
            chain = next((_per_atom(topology, found[of], of) for of in ("chainIDs", "segids") if of in found), None)
            set_residue_numbers(atoms, values.astype(np.int64), notes, chain)
        elif key == "ids":
            _put_ids(atoms, values.astype(np.int64), name)
        elif key == "segids":
            if segments:
                _put_segments(atoms, values, chains="chainIDs" in found)
        elif key != "resnums" or not np.array_equal(values, _per_atom(topology, found["resids"], "resids")):
            _put(atoms, _COLUMNS.get(key, attribute.singular), values, text=text)
    blocks = {"atoms": atoms}
    for key, attribute in relations.items():
        block = _relation(key, attribute, topology.n_atoms, name)
        if block.rows:
            blocks[key] = block
    return blocks


def _per_atom(topology: Any, attribute: Any, key: str) -> Array:
    """Return an attribute of atoms, residues or segments for every atom."""
    from MDAnalysis.core.topologyattrs import ResidueAttr, SegmentAttr

    values = np.asarray(attribute.values)
    rows = np.arange(topology.n_atoms)
    if values.dtype.kind in {"O", "U"}:
        values = values.astype("U").astype(STRING)
    if isinstance(attribute, ResidueAttr):
        values = values[topology.tt.atoms2residues(rows)]
    elif isinstance(attribute, SegmentAttr):
        values = values[topology.tt.atoms2segments(rows)]
    if len(values) != topology.n_atoms:
        raise FormatError(f"{key} of {len(values)} atoms are there, of {topology.n_atoms}", _MALFORMED)
    return values


def _put(atoms: Block, column: str, values: Array, *, text: bool) -> None:
    if values.dtype.kind == "f":
        wide = values.astype(np.float64)
        known = ~np.isnan(wide)
        if known.any():
            atoms[column] = shortest_decimals(wide) if text else wide
            atoms.set_validity(column, known)
    elif CANONICAL_COLUMNS.get(column) == "u64" and values.size and int(values.min()) < 0:
        atoms[f"signed_{column}"] = values.astype(np.int64)
    else:
        atoms[column] = values
    if column == "radius" and column in atoms:
        # the record has no radius; the unit would be lost beside a trajectory in nm
        atoms.column_attributes(column)["unit"] = "angstrom"


def shortest_decimals(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return numbers that are all binary32 as what the shortest decimals that stand for them are; others as they are.

    A decimal of up to six digits that went through binary32 comes back as it was.
    """
    narrow = values.astype(np.float32)
    if not np.array_equal(narrow.astype(np.float64), values, equal_nan=True):
        return values
    decimals: npt.NDArray[np.float64] = narrow.astype("U").astype(np.float64)
    return decimals


def _put_ids(atoms: Block, numbers: npt.NDArray[np.int64], name: str) -> None:
    if np.array_equal(numbers, np.arange(len(numbers))):
        return  # MDAnalysis' own row numbers
    distinct, counts = np.unique(numbers, return_counts=True)
    if (counts > 1).any():
        raise FormatError(
            f"{name}: the atom number {distinct[counts > 1][0]} stands on {counts.max()} atoms; number them apart",
            _MALFORMED,
        )
    if numbers.min() < 0:
        raise FormatError(f"{name}: the atom number {numbers.min()} is below zero; number the atoms from 1", _MALFORMED)
    atoms["id"] = numbers.astype(np.uint64)


def _put_segments(atoms: Block, values: Array, *, chains: bool) -> None:
    names = set(values.tolist())
    if names <= {_NO_SEGMENT} or names <= {""}:
        return
    atoms["segment" if chains else "chain"] = values


# -- relations ------------------------------------------------------------------------------------------------------


def _relation(key: str, attribute: Any, atoms: int, name: str) -> Block:
    taken = [row for row, guessed in enumerate(attribute._guessed or ()) if not guessed]
    width = _RELATIONS[key]
    members = [attribute.values[row] for row in taken]
    if any(len(tuple_) != width for tuple_ in members):
        raise FormatError(f"{name}: one of the {key} does not join {width} atoms", _MALFORMED)
    rows = np.array(members, dtype=np.int64).reshape(-1, width)
    wrong = np.flatnonzero(((rows < 0) | (rows >= atoms)).any(axis=1))
    if len(wrong):
        raise FormatError(
            f"{name}: one of the {key} joins the atoms {(rows[wrong[0]] + 1).tolist()}, counted from 1, and there are "
            f"{atoms}; correct it or remove it",
            _MALFORMED,
        )
    order = np.lexsort(rows.T[::-1])
    block = Block(rows=len(rows))
    for column, endpoint in zip(rows[order].T, _MANY_ENDPOINTS, strict=False):
        block[endpoint] = column.astype(np.uint64)
        if endpoint not in ENDPOINTS:
            block.set_target(endpoint, "atoms")
    _put_labels(block, attribute, [taken[row] for row in order.tolist()])
    return block


def _put_labels(block: Block, attribute: Any, rows: list[int]) -> None:
    """Add the orders and types of a relation where the file has any."""
    orders, types = attribute.order or (), attribute.types or ()
    labels = [orders[row] for row in rows] if len(orders) else []
    if any(label is not None for label in labels):
        block["order"] = np.array(["" if label is None else str(label) for label in labels], dtype=STRING)
        block["bond_type"] = np.array([_BOND_TYPES.get(str(label).lower(), 0) for label in labels], dtype=np.uint64)
    kinds = [types[row] for row in rows] if len(types) else []
    if any(kind is not None for kind in kinds):
        # GROMACS' number of a functional form; of a torsion of several terms, all of them
        block["funct"] = np.array([_functions(kind) for kind in kinds], dtype=STRING)


def _functions(kind: Any) -> str:
    if kind is None:
        return ""
    return " ".join(str(part) for part in kind) if isinstance(kind, (tuple, list)) else str(kind)
