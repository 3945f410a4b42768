"""The names of ASE beside the names of a record, and the values of ``atoms.info`` beside typed meta.

| ASE | record |
|---|---|
| ``numbers`` | ``element`` |
| ``positions`` | ``x y z`` |
| ``momenta`` | ``vx vy vz`` (velocities) |
| ``masses``, where they are not ASE's own for the element | ``mass`` |
| ``initial_charges``, else the calculator's ``charges`` | ``charge`` |
| the calculator's ``forces``, else an array of that name | ``fx fy fz`` |
| `FixAtoms` | ``free`` |
| an array ``resname`` or ``residuenames`` of strings | ``res_name`` |
| the calculator's ``energy`` | meta ``pe`` |
| its other results, other arrays, other ``info`` | under their own names |

``stress`` is six numbers in ASE's (Voigt) order ``xx yy zz yz xz xy``. Where an own name is taken in the table, or is
none a record can hold, ``ase.`` and the percent-encoded name stand for it. Where a column comes from another place
than its name says, the column attribute ``ase`` names the place.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from molrec import typedjson
from molrec.dtypes import Array, admit_array, numpy_dtype
from molrec.errors import SchemaError
from molrec.formats.documents import NotADocumentError, from_document, to_document
from molrec.formats.notes import Notes
from molrec.formats.survey import STATE_COLUMNS
from molrec.model.meta import Meta
from molrec.model.names import META_TYPES, SERIES_RESERVED_COLUMNS, check_name
from molrec.vocabulary import PER_STEP_KEYS, canonical_array

__all__ = [
    "CALCULATOR",
    "CELL",
    "MAPPED_COLUMNS",
    "PBC",
    "PER_ATOM_RESULTS",
    "PER_CONFIG_RESULTS",
    "PLACE",
    "RENAMED",
    "add_info",
    "array_of_column",
    "column_of_array",
    "info_of_meta",
    "renamed_column",
]

#: Column attribute naming the ASE place a column comes from, where the table above would name another.
PLACE = "ase"
#: Meta keys for what the record has no name for: a calculator's name and parameters, a cell that spans no volume.
CALCULATOR, CELL, PBC = "ase.calculator", "ase.cell", "ase.pbc"

#: Columns the table maps.
MAPPED_COLUMNS = frozenset((*STATE_COLUMNS, "element", "mass", "charge", "free"))

#: Calculator results, by ASE's name, and the meta key or column that holds them.
PER_CONFIG_RESULTS: dict[str, str] = {
    "energy": "pe",
    **{name: name for name in ("free_energy", "stress", "dipole", "magmom", "dielectric_tensor", "polarization")},
}
PER_ATOM_RESULTS = ("forces", "charges", "magmoms", "energies", "stresses", "born_effective_charges")

#: Arrays by other programs' names, and their canonical columns; the attribute `PLACE` remembers which it was.
RENAMED: dict[str, str] = {"resname": "res_name", "residuenames": "res_name"}

_PREFIX = "ase."
_RESERVED_KEYS = frozenset((*PER_CONFIG_RESULTS.values(), "units", META_TYPES))
#: Arrays by (dtype, shape) to the tag that holds them; a 3x3 matrix goes row by row.
_VECTOR_TAGS = {("float64", (3,)): "f64x3", ("float64", (6,)): "f64x6", ("float64", (3, 3)): "f64x9"} | {
    (name, (3,)): tag
    for name, tag in {"bool": "bool3", "int32": "i32x3", "int64": "i64x3", "uint32": "u32x3", "uint64": "u64x3"}.items()
}
#: Tags a plain Python number would not come back at.
_NUMPY_SCALARS: dict[str, type[np.integer[Any]]] = {"i32": np.int32, "u32": np.uint32, "u64": np.uint64}


def _escaped(name: str) -> str:
    return _PREFIX + quote(name, safe="")


def _unescaped(name: str) -> str:
    return unquote(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else name


def _is_node_name(name: str) -> bool:
    try:
        check_name(name, "name")
    except SchemaError:
        return False
    return True


def column_of_array(name: str, values: Array) -> str:
    """Return the column an array that is not in the table goes to."""
    taken = name in MAPPED_COLUMNS or name in PER_ATOM_RESULTS or name in SERIES_RESERVED_COLUMNS
    free = not taken and not name.startswith(_PREFIX) and _is_node_name(name) and _is_canonical(name, values)
    return name if free else _escaped(name)


def _is_canonical(name: str, values: Array) -> bool:
    """Tell whether the vocabulary, if it knows the name, means values like these."""
    try:
        canonical_array(name, admit_array(values), name)
    except SchemaError:
        return False
    return True


def renamed_column(name: str, values: Array, arrays: Container[str]) -> str | None:
    """Return the canonical column for an array of another program's name, None where it has none or it is taken."""
    column = RENAMED.get(name)
    others = [other for other, same in RENAMED.items() if same == column and other != name]
    taken = column is None or column in arrays or any(other in arrays for other in others)
    return None if taken or column is None or not _is_canonical(column, values) else column


def array_of_column(column: str, place: str | None = None) -> str:
    """Return the array a column that is not in the table came from; `place` is what its attribute says."""
    return place if place is not None and RENAMED.get(place) == column else _unescaped(column)


# -- info -----------------------------------------------------------------------------------------------------------


def add_info(meta: Meta, info: dict[Any, Any], notes: Notes) -> None:
    """Add the entries of ``atoms.info`` to a meta document, each under its own tag."""
    for name, value in info.items():
        subject = f"info {name!r}"
        if not isinstance(name, str):
            notes.lost(subject, "is left out; a meta key is a string")
            continue
        free = name not in _RESERVED_KEYS and not name.startswith(_PREFIX) and _is_node_name(name)
        key = name if free else _escaped(name)
        if not _is_node_name(key):
            notes.lost(subject, "is left out; its name is too long")
            continue
        try:
            exact, tag = _tagged(key, value, subject, notes)
            meta.set(key, exact, tag=tag)
        except NotADocumentError as error:
            notes.lost(subject, f"is left out; it holds {error}, which has no JSON form")


def _tagged(key: str, value: Any, subject: str, notes: Notes) -> tuple[Any, str]:
    """Return a value with the tag that holds it exactly."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if type(value).__module__.startswith("ase.spacegroup"):
        notes.lost(subject, "is kept as its symbol, without its setting")
        return str(value.symbol), "string"
    if isinstance(value, np.ndarray):
        tag = _VECTOR_TAGS.get((value.dtype.name, value.shape))
        return (to_document(value), "json") if tag is None else (value.reshape(-1), tag)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return _tagged_integer(key, value, subject)
    if isinstance(value, np.floating) and value.dtype.itemsize < 8:
        notes.changed(subject, f"is {value.dtype}; stored as binary64, which holds it exactly")
        return float(value), "f64"
    if isinstance(value, (bool, np.bool_, float)):
        return value, typedjson.infer_tag(value, subject)
    return to_document(value), "string" if isinstance(value, str) else "json"


def _tagged_integer(key: str, value: int | np.integer[Any], subject: str) -> tuple[Any, str]:
    if key in PER_STEP_KEYS:
        return int(value), PER_STEP_KEYS[key]
    if isinstance(value, np.integer) and value.dtype.itemsize < 4:
        return to_document(value), "json"
    return value, typedjson.infer_tag(value, subject) if -(2**63) <= value < 2**64 else "json"


def info_of_meta(key: str, value: Any, tag: str) -> tuple[str, Any]:
    """Return the ``atoms.info`` entry of a meta value."""
    name = _unescaped(key)
    if tag == "json":
        return name, from_document(value)
    if tag == "f64x9":
        return name, np.array(value).reshape(3, 3)
    if isinstance(value, tuple):
        return name, np.array(value, dtype=numpy_dtype(typedjson.series_column(tag)[0]))
    return name, _NUMPY_SCALARS[tag](value) if tag in _NUMPY_SCALARS else value
