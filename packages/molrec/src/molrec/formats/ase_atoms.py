"""`ase.Atoms` to frames (`frame_of_atoms`) and back (`AtomsBuilder`), by the table of `ase_names`.

Numbers keep ASE's units (`UNITS`): ångström, eV, eV/ångström, dalton, elementary charges. Only velocities are made from
something else: ASE holds momenta, and counts time in ångström sqrt(dalton/eV), so they become ångström/fs and come back
as momenta within two roundings. Arrays of binary32 are widened, which is exact; everything else keeps its dtype.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec.dtypes import STRING, Array, identical
from molrec.errors import SchemaError
from molrec.formats import ase_names
from molrec.formats.ase_import import require_ase
from molrec.formats.documents import NotADocumentError, to_document
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta

if TYPE_CHECKING:
    from ase import Atoms

__all__ = ["UNITS", "array_columns", "box_of_atoms", "frame_of_atoms", "free_flags", "velocities"]

#: What ASE's numbers are in, and the record's beside them, as the ``units`` object of a frame.
UNITS: dict[str, str] = {
    "length": "angstrom",
    "energy": "eV",
    "force": "eV/angstrom",
    "mass": "dalton",
    "charge": "e",
    "time": "fs",
    "temperature": "kelvin",
}

#: A column: name, values ``(atoms, ...)``, and its place in ASE where the table names another.
type _Column = tuple[str, Array, str | None]

_RULE = "reject-not-atoms"


def frame_of_atoms(atoms: Atoms, notes: Notes) -> Frame:
    """Return the frame of an `ase.Atoms`: block ``atoms``, meta, box.

    Results of its calculator are taken as far as they are there and belong to these positions; nothing is computed.
    The atoms are read, never changed, and share no memory with the frame.

    Raises:
        SchemaError: Not an `ase.Atoms` (``reject-not-atoms``), or the notes are strict and something cannot be held.
        ImportError: ASE is not installed.
    """
    require_ase()
    from ase import Atoms as AseAtoms

    if not isinstance(atoms, AseAtoms):
        raise SchemaError(f"an ase.Atoms is needed, found {type(atoms).__name__}", _RULE)
    meta = Meta()
    results = _results(atoms, notes)
    for name, key in ase_names.PER_CONFIG_RESULTS.items():
        if name in results:
            _add_result(meta, key, results[name])
    ase_names.add_info(meta, atoms.info, notes)
    _add_calculator(meta, atoms, results, notes)
    box = box_of_atoms(atoms, meta)
    block = Block(rows=len(atoms))
    for name, values, place in _all_columns(atoms, results, notes):
        block[name] = values
        if place is not None:
            block.column_attributes(name)[ase_names.PLACE] = place
    free = free_flags(atoms, notes)
    if free is not None:
        block["free"] = free
    return Frame({"atoms": block}, meta=meta, box=box)


# -- columns --------------------------------------------------------------------------------------------------------


def array_columns(atoms: Atoms, arrays: Mapping[str, Array], notes: Notes) -> dict[str, Array]:
    """Return the columns of some of the atoms' arrays, by name, without looking at a calculator."""
    columns: list[_Column] = []
    for name, array in arrays.items():
        columns += _array_columns(atoms, name, array, notes, forces=False)
    return {name: values for name, values, _ in columns}


def _all_columns(atoms: Atoms, results: Mapping[str, Any], notes: Notes) -> list[_Column]:
    columns: list[_Column] = []
    for name, array in atoms.arrays.items():
        columns += _array_columns(atoms, name, array, notes, forces="forces" not in results)
    for name in ase_names.PER_ATOM_RESULTS:
        if name not in results:
            continue
        values = np.array(results[name], dtype=np.float64)
        if name == "forces":
            columns += _components("f", values)
        elif name == "charges" and not atoms.has("initial_charges"):
            columns.append(("charge", values, "charges"))
        else:
            columns.append((name, values, None))
    return columns


def _array_columns(atoms: Atoms, name: str, array: Array, notes: Notes, *, forces: bool) -> list[_Column]:
    """Return the columns of one array; `forces` says whether one of that name is the atoms' forces."""
    if name == "numbers":
        return [("element", _symbols(array), None)]
    if name == "positions":
        return _components("", np.array(array, dtype=np.float64))
    if name == "momenta":
        return _components("v", velocities(atoms, notes))
    if name == "masses":
        return [] if _are_default_masses(atoms) else [("mass", np.array(array, dtype=np.float64), None)]
    if name == "initial_charges":
        return [("charge", np.array(array, dtype=np.float64), None)]
    if name == "forces" and forces and array.shape == (len(atoms), 3) and array.dtype.kind == "f":
        return _components("f", np.array(array, dtype=np.float64), "forces")
    values = _held(array, f"array {name!r}", notes)
    if values is None:
        return []
    renamed = ase_names.renamed_column(name, values, atoms.arrays)
    column = ase_names.column_of_array(name, values) if renamed is None else renamed
    return [(column, values, None if renamed is None else name)]


def _components(prefix: str, values: Array, place: str | None = None) -> list[_Column]:
    return [(f"{prefix}{axis}", values[:, column].copy(), place) for column, axis in enumerate("xyz")]


def velocities(atoms: Atoms, notes: Notes) -> Array:
    """Return the velocities, float64 ``(atoms, 3)`` in ångström/fs; an atom without mass has none."""
    from ase.units import fs

    momenta = np.asarray(atoms.get_momenta(), dtype=np.float64)
    masses = np.asarray(atoms.get_masses(), dtype=np.float64)[:, np.newaxis]
    if np.any((masses == 0) & (momenta != 0)):
        notes.lost("momenta", "of atoms without mass are left out")
    velocity: Array = np.divide(momenta, masses, out=np.zeros_like(momenta), where=masses != 0) * fs
    return velocity


@cache
def _symbol_table() -> Array:
    from ase.data import chemical_symbols

    return np.array(chemical_symbols, dtype=STRING)


def _symbols(numbers: Array) -> Array:
    table = _symbol_table()
    if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(table):
        raise SchemaError(
            f"atomic numbers from {numbers.min()} to {numbers.max()}; elements reach from 0 (X) to {len(table) - 1}",
            _RULE,
        )
    return table[numbers]


def _are_default_masses(atoms: Atoms) -> bool:
    from ase.data import atomic_masses

    return identical(np.asarray(atoms.arrays["masses"], dtype=np.float64), atomic_masses[atoms.arrays["numbers"]])


def _held(array: Array, subject: str, notes: Notes) -> Array | None:
    """Return an array at one of the record's dtypes, or None after a note."""
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        notes.changed(subject, f"is {array.dtype}; stored as binary64, which holds it exactly")
        return array.astype(np.float64)
    if array.dtype.kind in "fc" and array.dtype not in (np.float64, np.complex64, np.complex128):
        notes.lost(subject, f"is left out; {array.dtype} does not fit a column")
        return None
    if array.dtype.kind == "S":
        notes.changed(subject, "holds bytes; stored as text")
        return np.char.decode(array, "ascii").astype(STRING)
    if array.dtype.kind == "O" and not all(isinstance(item, str) for item in array.flat):
        notes.lost(subject, "is left out; it holds objects that are no strings")
        return None
    if array.dtype.kind not in "biufcUOT":
        notes.lost(subject, f"is left out; {array.dtype} is no dtype of a column")
        return None
    return array.copy()


def free_flags(atoms: Atoms, notes: Notes) -> Array | None:
    """Return one bool per atom, false where `FixAtoms` holds it, or None when no constraint does."""
    from ase.constraints import FixAtoms

    free = None
    for constraint in atoms.constraints:
        if isinstance(constraint, FixAtoms):
            free = np.ones(len(atoms), dtype=np.bool_) if free is None else free
            free[constraint.index] = False
        else:
            notes.lost(f"constraint {type(constraint).__name__}", "is left out; a record has free and fixed atoms only")
    return free


# -- cell -----------------------------------------------------------------------------------------------------------


def box_of_atoms(atoms: Atoms, meta: Meta) -> Box:
    """Return the box; what a box cannot say of the cell goes to `meta`.

    A box has no cell or three independent vectors. Missing ones are completed by ASE's rule (unit vectors at right
    angles), are not periodic, and the cell as it was stands in the key ``ase.cell``; the flags of a periodic direction
    without a vector in ``ase.pbc``.
    """
    vectors = np.array(atoms.cell.array, dtype=np.float64)
    boundary = np.array(atoms.pbc, dtype=np.bool_)
    origin = np.array(atoms.get_celldisp(), dtype=np.float64).reshape(3)
    present = vectors.any(axis=1)
    if not present.all():
        if (boundary & ~present).any():
            meta.set(ase_names.PBC, boundary, tag="bool3")
        if not present.any():
            return Box(origin=origin, cell_defined=False)
        meta.set(ase_names.CELL, vectors.reshape(-1), tag="f64x9")
        boundary = boundary & present
        vectors = np.array(atoms.cell.complete().array)
    if np.isfinite(vectors).all() and np.linalg.matrix_rank(vectors) < 3:
        raise SchemaError(
            f"the cell {vectors.tolist()} has vectors in one plane; it spans no volume", "reject-box-singular"
        )
    return Box(vectors.T, origin=origin, boundary=boundary)


# -- calculators ----------------------------------------------------------------------------------------------------


def _results(atoms: Atoms, notes: Notes) -> dict[str, Any]:
    """Return the calculator's results for these positions, None values left out."""
    calculator = atoms.calc
    if calculator is None:
        return {}
    results = getattr(calculator, "results", None)
    if not isinstance(results, Mapping):
        notes.lost(f"calculator {type(calculator).__name__}", "is left out; it shows no results")
        return {}
    check = getattr(calculator, "check_state", None)
    if check is not None and check(atoms):
        return {}  # of other positions
    known = {}
    for name, value in results.items():
        if name not in ase_names.PER_CONFIG_RESULTS and name not in ase_names.PER_ATOM_RESULTS:
            notes.lost(f"result {name!r}", "is left out; ASE does not say whether it belongs to atoms or frame")
        elif value is not None:
            known[name] = value
    return known


def _add_result(meta: Meta, key: str, value: Any) -> None:
    array = np.asarray(value, dtype=np.float64)
    if not array.ndim:
        meta.set(key, float(array), tag="f64")
        return
    tag = {3: "f64x3", 6: "f64x6", 9: "f64x9"}.get(array.size)
    meta.set(key, array.reshape(-1) if tag else to_document(array), tag=tag or "json")


def _add_calculator(meta: Meta, atoms: Atoms, results: Mapping[str, Any], notes: Notes) -> None:
    """Add the name and parameters of a calculator that has results and a name."""
    name = getattr(atoms.calc, "name", None)
    if not results or not isinstance(name, str) or name == "unknown":
        return
    document: dict[str, Any] = {"name": name}
    parameters = dict(getattr(atoms.calc, "parameters", None) or {})
    if parameters:
        try:
            document["parameters"] = to_document(parameters)
        except NotADocumentError as error:
            notes.lost("calculator parameters", f"are left out; they hold {error}")
    meta.set(ase_names.CALCULATOR, document, tag="json")
