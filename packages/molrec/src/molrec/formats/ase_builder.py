"""`AtomsBuilder`: frames of a record to `ase.Atoms`, by the table of `ase_names`; the way back of `ase_atoms`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import Array
from molrec.errors import SchemaError
from molrec.formats import ase_names
from molrec.formats.ase_atoms import UNITS
from molrec.formats.ase_import import require_ase
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.schema import SequenceSchema
from molrec.vocabulary import CANONICAL_COLUMNS

if TYPE_CHECKING:
    from ase import Atoms

__all__ = ["AtomsBuilder"]

_BLOCK = "atoms"
_RULE = "reject-not-atoms"
_POSITIONS, _VELOCITIES, _FORCES = ("x", "y", "z"), ("vx", "vy", "vz"), ("fx", "fy", "fz")
_RESULT_OF = {key: name for name, key in ase_names.PER_CONFIG_RESULTS.items()}


class AtomsBuilder:
    """Makes an `ase.Atoms` of each frame of one run.

    Args:
        system: Static part: its atoms' columns and its meta join those of each frame.
        schema: Declaration of the run; says which values are fills, that is, not there, and where columns come from.
        notes: Told about what ASE has no place for.

    Raises:
        SchemaError: The system states units other than ASE's (``reject-units-disagree``).
        ImportError: ASE is not installed.
    """

    def __init__(self, system: Frame | None, schema: SequenceSchema | None, notes: Notes) -> None:
        require_ase()
        self._notes = notes
        self._system = Frame() if system is None else system
        self._static = self._system[_BLOCK] if _BLOCK in self._system else Block()
        self._check_units(self._system)
        self._places = self._stated_places(schema)
        self._fills = {key: meta.fill for key, meta in schema.meta.items() if meta.has_fill} if schema else {}
        self._numbers: tuple[Array, Array] | None = None
        self._note_blocks(self._system)

    def _stated_places(self, schema: SequenceSchema | None) -> dict[str, Any]:
        places = {name: self._static.column_attributes(name).get(ase_names.PLACE) for name in self._static.columns}
        if schema is not None and _BLOCK in schema.blocks:
            places |= {name: found.extra.get(ase_names.PLACE) for name, found in schema.blocks[_BLOCK].columns.items()}
        return places

    def _check_units(self, frame: Frame) -> None:
        """Refuse units other than ASE's: nothing is converted."""
        stated = frame.meta.get("units")
        if stated is None:
            return
        if stated == UNITS:
            return
        given = stated if isinstance(stated, Mapping) else {"preset": stated}
        other = {
            quantity: unit
            for quantity, unit in given.items()
            if quantity == "preset" or (quantity in UNITS and not _same_unit(unit, UNITS[quantity]))
        }
        if other:
            raise SchemaError(
                f"the numbers are in {other}, ASE's are in {UNITS}; convert them first, nothing is converted here",
                "reject-units-disagree",
            )

    def _note_blocks(self, frame: Frame) -> None:
        for name in frame:
            if name != _BLOCK:
                self._notes.lost(f"block {name!r}", "is left out; ASE has atoms only")

    def build(self, frame: Frame, extra_info: Mapping[str, Any] | None = None) -> Atoms:
        """Return the atoms of one frame, a `SinglePointCalculator` holding its results.

        Args:
            frame: One frame; the system is added to it.
            extra_info: Entries of ``atoms.info`` the frame's own meta takes precedence over.

        Raises:
            SchemaError: No atoms, no elements or no positions (``reject-not-atoms``), an element ASE does not know, or
                units other than ASE's.
        """
        from ase import Atoms

        self._check_units(frame)
        self._note_blocks(frame)
        columns = _Columns(self._static, frame[_BLOCK] if _BLOCK in frame else Block(), self._places, self._notes)
        atoms = Atoms(
            numbers=self._atomic_numbers(columns),
            positions=columns.take_vector(_POSITIONS, required=True),
        )
        results, info, special = self._split_meta(frame)
        _set_cell(atoms, frame.box or self._system.box, special)
        self._set_arrays(atoms, columns, results)
        atoms.info = info | {key: value for key, value in (extra_info or {}).items() if key not in info}
        if results:
            _set_calculator(atoms, results, special.get(ase_names.CALCULATOR))
        return atoms

    def _atomic_numbers(self, columns: _Columns) -> Array:
        from ase.data import atomic_numbers

        numbers = columns.take("atomic_number") if "element" not in columns else None
        if numbers is not None:
            return numbers.astype(np.int64)
        symbols = columns.take("element")
        if symbols is None:
            raise SchemaError("the atoms have neither 'element' nor 'atomic_number'; ASE needs one", _RULE)
        if self._numbers is None or self._numbers[0] is not symbols:
            unknown = sorted({symbol for symbol in symbols.tolist() if symbol not in atomic_numbers})
            if unknown:
                raise SchemaError(f"no elements: {', '.join(map(repr, unknown))}; ASE knows X and H to Og", _RULE)
            self._numbers = symbols, np.array([atomic_numbers[symbol] for symbol in symbols.tolist()], dtype=np.int64)
        return self._numbers[1]

    def _split_meta(self, frame: Frame) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Return the calculator's results, the info, and what `ase_names` has keys of its own for."""
        results: dict[str, Any] = {}
        info: dict[str, Any] = {}
        special: dict[str, Any] = {}
        for meta in (self._system.meta, frame.meta):
            for key, value in meta.items():
                tag = meta.tag(key)
                if key == "units" or value is None or (key in self._fills and _same(tag, value, self._fills[key])):
                    continue
                name, entry = ase_names.info_of_meta(key, value, tag)
                if key in (ase_names.CELL, ase_names.PBC, ase_names.CALCULATOR):
                    special[key] = entry
                elif key in _RESULT_OF:
                    results[_RESULT_OF[key]] = entry
                else:
                    info[name] = entry
        return results, info, special

    def _set_arrays(self, atoms: Atoms, columns: _Columns, results: dict[str, Any]) -> None:
        from ase.constraints import FixAtoms
        from ase.units import fs

        masses = columns.take("mass")
        if masses is not None:
            atoms.set_masses(masses)
        velocities = columns.take_vector(_VELOCITIES)
        if velocities is not None:
            atoms.set_array("momenta", velocities / fs * atoms.get_masses()[:, np.newaxis], float, (3,))
        free = columns.take("free")
        if free is not None and not free.all():
            atoms.set_constraint(FixAtoms(mask=~free))
        place = columns.place("charge")
        charges = columns.take("charge")
        if charges is not None and place == "charges":
            results["charges"] = charges
        elif charges is not None:
            atoms.set_initial_charges(charges)
        place = columns.place("fx")
        forces = columns.take_vector(_FORCES)
        if forces is not None and place == "forces":
            atoms.set_array("forces", forces)
        elif forces is not None:
            results["forces"] = forces
        for name in columns.rest():
            place = columns.place(name)
            values = columns.take(name)
            if values is None:
                continue
            if name in ase_names.PER_ATOM_RESULTS:
                results[name] = values
            else:
                atoms.set_array(ase_names.array_of_column(name, place), _as_ase(name, values))


class _Columns:
    """The columns of the atoms of one frame, each taken once; a column whose every row is null is not there."""

    def __init__(self, static: Block, moving: Block, places: Mapping[str, Any], notes: Notes) -> None:
        self._blocks = {name: block for block in (static, moving) for name in block.columns}
        self._places = {
            name: block.column_attributes(name).get(ase_names.PLACE) or places.get(name)
            for name, block in self._blocks.items()
        }
        self._notes = notes

    def __contains__(self, name: str) -> bool:
        if name not in self._blocks:
            return False
        mask = self._blocks[name].validity(name)
        return mask is None or bool(mask.any())

    def place(self, name: str) -> Any:
        """Return where in ASE a column comes from, None for the place its name says."""
        return self._places.get(name)

    def rest(self) -> list[str]:
        """Return the columns not taken yet."""
        return list(self._blocks)

    def take(self, name: str) -> Array | None:
        """Return a column and strike it off the list."""
        present = name in self
        block = self._blocks.pop(name, None)
        if block is None or not present:
            return None
        values, mask = block[name], block.validity(name)
        if mask is None:
            return values
        if values.dtype.kind == "f":
            self._notes.changed(f"column {name!r}", "has rows without a value; they are NaN in ASE")
            return np.where(mask.reshape(-1, *(1,) * (values.ndim - 1)), values, np.nan)
        self._notes.lost(f"column {name!r}", "has rows without a value, which ASE cannot say; what lies there is kept")
        return values

    def take_vector(self, names: tuple[str, ...], *, required: bool = False) -> Array | None:
        """Return three columns side by side, float64 ``(atoms, 3)``; all or none of them must be there.

        Raises:
            SchemaError: Some are missing (``reject-not-atoms``).
        """
        missing = [name for name in names if name not in self]
        if missing and (required or len(missing) < len(names)):
            raise SchemaError(f"the atoms have no {', '.join(missing)}; ASE needs {', '.join(names)}", _RULE)
        found = [self.take(name) for name in names]
        parts = [part for part in found if part is not None]
        return np.column_stack(parts) if parts else None


def _as_ase(name: str, values: Array) -> Array:
    """Return a column as ASE writes such arrays: strings as objects, canonical counts as signed integers."""
    if values.dtype.kind == "T":
        return values.astype(object)
    if CANONICAL_COLUMNS.get(name) == "u64" and (not values.size or int(values.max()) < 2**63):
        return values.astype(np.int64)
    return values


def _same(tag: str, value: Any, fill: Any) -> bool:
    return typedjson.dump_json(typedjson.encode(tag, value)) == typedjson.dump_json(typedjson.encode(tag, fill))


@cache
def _unit_registry() -> Any:
    import pint

    return pint.UnitRegistry()


def _same_unit(unit: Any, own: str) -> bool:
    if unit == own:
        return True
    import pint

    registry = _unit_registry()
    try:
        return bool(registry.Unit(str(unit)) == registry.Unit(own))
    except pint.UndefinedUnitError:
        return False


def _set_cell(atoms: Atoms, box: Box | None, special: Mapping[str, Any]) -> None:
    cell, boundary = special.get(ase_names.CELL), special.get(ase_names.PBC)
    if box is None:
        return
    if box.cell_defined:
        atoms.set_cell(box.vectors.T if cell is None else cell)
    atoms.set_pbc(box.boundary if boundary is None else boundary)
    if box.origin.any():
        atoms.set_celldisp(box.origin)


def _set_calculator(atoms: Atoms, results: dict[str, Any], described: Any) -> None:
    from ase.calculators.singlepoint import SinglePointCalculator

    calculator = SinglePointCalculator(atoms, **results)
    if isinstance(described, Mapping):
        calculator.name = described.get("name")
        calculator.parameters.update(described.get("parameters") or {})
    atoms.calc = calculator
