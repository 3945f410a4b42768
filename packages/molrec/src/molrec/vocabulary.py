"""The canonical names: what a column of a well-known name is stored as, and what it means.

One table serves blocks, both storages, the validator and the generated ``schema/core/vocabulary.json``
(``docs/spec/vocabulary.md``). A canonical column holds one value per row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from molrec.dtypes import Array, dtype_name, numpy_dtype
from molrec.errors import SchemaError

__all__ = [
    "CANONICAL_COLUMNS",
    "IDENTIFIER_COLUMNS",
    "PER_STEP_KEYS",
    "VOCABULARY",
    "CanonicalColumn",
    "canonical_array",
    "check_canonical_declaration",
]


class CanonicalColumn(NamedTuple):
    """One canonical column: its dtype, physical dimension (None for labels, ids and flags) and meaning."""

    dtype: str
    dimension: str | None
    doc: str


def _group(dtype: str, dimension: str | None, docs: dict[str, str]) -> dict[str, CanonicalColumn]:
    return {name: CanonicalColumn(dtype, dimension, doc) for name, doc in docs.items()}


VOCABULARY: dict[str, CanonicalColumn] = {
    **_group("f64", "length", {axis: f"position, {axis} component" for axis in "xyz"}),
    **_group("f64", "length/time", {f"v{axis}": f"velocity, {axis} component" for axis in "xyz"}),
    **_group("f64", "force", {f"f{axis}": f"force, {axis} component" for axis in "xyz"}),
    "charge": CanonicalColumn("f64", "charge", "partial charge, in e"),
    "mass": CanonicalColumn("f64", "mass", "mass, in amu"),
    **_group("f64", "dimensionless", {f"quat{part}": f"orientation quaternion, {part} part" for part in "wijk"}),
    **_group("f64", "charge*length", {f"mu{axis}": f"dipole moment, {axis} component" for axis in "xyz"}),
    **_group("f64", "length", {f"axis_{axis}": f"axis of a coarse-grained site, {axis} component" for axis in "xyz"}),
    "occupancy": CanonicalColumn("f64", "dimensionless", "crystallographic occupancy"),
    "b_factor": CanonicalColumn("f64", "length^2", "isotropic displacement (B) factor"),
    **_group(
        "u64",
        None,
        {
            "id": "identifier of the row, stable across frames",
            "atomic_number": "atomic number",
            "type_id": "number of the type in the source",
            "mol_id": "number of the molecule",
            "res_id": "number of the residue",
            "atom_map": "atom map number of the mapped SMILES",
            "atomi": "first endpoint: row index",
            "atomj": "second endpoint: row index",
            "atomk": "third endpoint: row index",
            "atoml": "fourth endpoint: row index",
            "ibead": "bead the row belongs to: row index",
            "bond_type": "0 unknown, 1 single, 2 double, 3 triple, 4 aromatic",
            "bond_number": "Kekule bond number, 0 to 4",
        },
    ),
    "formal_charge": CanonicalColumn("i64", "charge", "formal charge, in e"),
    **_group(
        "i32",
        None,
        {f"i{axis}": f"periodic image along lattice vector {n}" for axis, n in zip("xyz", "123", strict=True)},
    ),
    **_group(
        "bool",
        None,
        {
            "free": "the atom may move",
            "is_14": "the pair is a 1-4 pair",
            "exclude_14": "the torsion's 1-4 non-bonded term is suppressed",
        },
    ),
    **_group(
        "string",
        None,
        {
            "element": "element symbol",
            "type": "name of the type in the force field",
            "name": "atom name",
            "res_name": "residue name",
            "bead_type": "name of the bead type",
            "chain": "chain identifier",
            "icode": "residue insertion code",
            "altloc": "alternate location indicator",
            "style": "force-field style the row's type belongs to",
        },
    ),
}

#: Canonical name -> dtype name.
CANONICAL_COLUMNS: dict[str, str] = {name: column.dtype for name, column in VOCABULARY.items()}

#: Keys a reader must refuse at any other dtype: a wrong width here silently points at other rows.
IDENTIFIER_COLUMNS: frozenset[str] = frozenset(
    (
        "id", "atomic_number", "type_id", "mol_id", "res_id", "atomi", "atomj", "atomk", "atoml", "ibead",
        "bond_type", "bond_number",
    )
)  # fmt: skip

#: Per-step scalars with a fixed tag.
PER_STEP_KEYS: dict[str, str] = dict.fromkeys(("pe", "ke", "etotal", "temp", "press", "volume"), "f64")

_RULE = "reject-canonical-dtype"
_LARGEST_EXACT = 2**53


def canonical_array(name: str, values: Array, where: str) -> Array:
    """Return an admitted array at the dtype its name prescribes, widened only where every value stays exact.

    Names outside the vocabulary pass through. Integers may become `f64` (within 2**53) and integers may change
    width or signedness when every value fits; nothing else is converted.

    Raises:
        SchemaError: Another dtype, an inexact value, or more than one value per row (``reject-canonical-dtype``).
    """
    wanted = CANONICAL_COLUMNS.get(name)
    if wanted is None:
        return values
    if values.ndim != 1:
        raise SchemaError(
            f"{where}: the canonical column {name!r} holds one {wanted} per row, found shape {values.shape}", _RULE
        )
    found = dtype_name(values.dtype, where)
    if found == wanted:
        return values
    if values.size == 0 and found == "f64":
        return values.astype(numpy_dtype(wanted))  # numpy makes an empty list float64
    if values.dtype.kind in "iu" and _holds(wanted, values):
        return values.astype(numpy_dtype(wanted))
    raise SchemaError(
        f"{where}: the canonical column {name!r} is stored as {wanted}, found {found}"
        + (" with values that do not fit" if values.dtype.kind in "iu" else "")
        + "; convert it, or choose a name outside the vocabulary",
        _RULE,
    )


def _holds(wanted: str, values: Array) -> bool:
    if values.size == 0:
        return wanted not in ("string", "bool")
    low, high = int(values.min()), int(values.max())
    if wanted == "f64":
        return low >= -_LARGEST_EXACT and high <= _LARGEST_EXACT
    target: np.dtype[Any] = numpy_dtype(wanted)
    if target.kind not in "iu":
        return False
    limits = np.iinfo(target)
    return int(limits.min) <= low and high <= int(limits.max)


def check_canonical_declaration(name: str, dtype: str, trailing: tuple[int, ...], where: str) -> None:
    """Refuse a declaration or stored column that contradicts the vocabulary.

    Raises:
        SchemaError: The canonical name has another dtype or a trailing shape (``reject-canonical-dtype``).
    """
    wanted = CANONICAL_COLUMNS.get(name)
    if wanted is not None and (dtype != wanted or trailing):
        raise SchemaError(
            f"{where}: the canonical column {name!r} is {wanted} with one value per row, "
            f"found {dtype} with trailing shape {list(trailing)}",
            _RULE,
        )
