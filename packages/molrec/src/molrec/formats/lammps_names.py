"""Names shared by LAMMPS' formats: its sections and their blocks, its per-atom attributes, keys of a frame's meta."""

from __future__ import annotations

from molrec.model.relations import RELATIONS

__all__ = [
    "ATOM_STYLE",
    "BOUNDARY",
    "CANONICAL_OF",
    "COEFFICIENTS",
    "HEADER",
    "KINDS",
    "LAMMPS_OF",
    "MOLECULE",
    "MOLECULE_JSON",
    "RELATION_SECTIONS",
    "SECTIONS",
    "TYPES",
    "UNWRAPPED",
    "coefficient_kind",
    "endpoints_of",
]

#: Meta: the atom style a data file is in.
ATOM_STYLE = "lammps.atom_style"
#: Meta: kind of type to ``{"count": ..., "labels": ..., "masses": ...}``, unused types included.
TYPES = "lammps.types"
#: Meta: force-field section to ``{"style": ..., "rows": [[field, ...], ...]}``, every field as its text.
COEFFICIENTS = "lammps.coefficients"
#: Meta: any other section without a place in the blocks, in the same form.
SECTIONS = "lammps.sections"
#: Meta: header keyword without a place elsewhere to its numbers, as text.
HEADER = "lammps.header"
#: Meta: ``mass``, ``com``, ``inertia`` of a molecule file.
MOLECULE = "lammps.molecule"
#: Meta: the keys of a JSON molecule file without a place elsewhere, such as ``special`` and ``shake``.
MOLECULE_JSON = "lammps.molecule_json"
#: Meta: the boundary flags of a dump where not every direction is periodic, such as ``pp ff ss``.
BOUNDARY = "lammps.boundary"
#: Attribute of a position column that holds unwrapped coordinates: what the dump calls it.
UNWRAPPED = "lammps.unwrapped"

#: Section -> block and kind of its types.
RELATION_SECTIONS: dict[str, tuple[str, str]] = {
    "Bonds": ("bonds", "bond"),
    "Angles": ("angles", "angle"),
    "Dihedrals": ("dihedrals", "dihedral"),
    "Impropers": ("impropers", "improper"),
}

#: The kinds of types a data file counts.
KINDS = ("atom", *(kind for _, kind in RELATION_SECTIONS.values()))

#: Class 2 sections -> kind of the types whose coefficients they hold.
_CROSS_TERMS = {
    "BondBond": "angle",
    "BondAngle": "angle",
    "MiddleBondTorsion": "dihedral",
    "EndBondTorsion": "dihedral",
    "AngleTorsion": "dihedral",
    "AngleAngleTorsion": "dihedral",
    "BondBond13": "dihedral",
    "AngleAngle": "improper",
}

#: Per-atom attribute of a dump -> canonical column, where the names differ.
CANONICAL_OF: dict[str, str] = {"q": "charge", "mol": "mol_id", "typelabel": "type"}
#: Canonical column -> per-atom attribute of a dump, where the names differ.
LAMMPS_OF: dict[str, str] = {
    "type_id": "type",
    **{canonical: attribute for attribute, canonical in CANONICAL_OF.items()},
}


def endpoints_of(block: str) -> tuple[str, ...]:
    """Return the endpoint columns of a relation block."""
    return RELATIONS[block].endpoints


def coefficient_kind(section: str) -> str | None:
    """Return the kind of types a ``... Coeffs`` section has a row for, or None for any other section.

    ``PairIJ Coeffs``, with a row for every pair of atom types, is of the kind ``pair``.
    """
    first = section.removesuffix(" Coeffs")
    if first == section:
        return None
    if first == "Pair":
        return "atom"
    if first == "PairIJ":
        return "pair"
    if first in _CROSS_TERMS:
        return _CROSS_TERMS[first]
    return first.lower() if first.lower() in KINDS and first.lower() != "atom" else None
