"""The names of mmCIF beside those of a record."""

from __future__ import annotations

__all__ = [
    "ANISOTROPIC",
    "ATOM_SITE",
    "ATOM_SITE_ANISOTROP",
    "BOND_ORDERS",
    "CATEGORIES_KEY",
    "CELL",
    "COORDINATES",
    "FRACTIONAL",
    "LABELS",
    "MODEL",
    "ORDER",
    "REALS",
    "SPACE_GROUPS",
    "STRUCT_CONN",
    "TITLE",
    "Z_VALUE",
    "partner_tags",
]

#: Frame meta: the other categories of a data block as CIF text, on the first frame of the block.
CATEGORIES_KEY = "mmcif_categories"

ATOM_SITE, ATOM_SITE_ANISOTROP, STRUCT_CONN = "_atom_site.", "_atom_site_anisotrop.", "_struct_conn."
CELL = tuple(
    f"_cell.{name}" for name in ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
)
Z_VALUE = "_cell.Z_PDB"
SPACE_GROUPS = ("_symmetry.space_group_name_H-M", "_space_group.name_H-M_alt")
TITLE = "_struct.title"
FRACTIONAL = tuple(tuple(f"_atom_sites.fract_transf_matrix[{i}][{j}]" for j in (1, 2, 3)) for i in (1, 2, 3))

MODEL = "pdbx_PDB_model_num"
COORDINATES = {"Cartn_x": "x", "Cartn_y": "y", "Cartn_z": "z"}
REALS = {"occupancy": "occupancy", "B_iso_or_equiv": "b_factor"}
#: Strings, by column: the tag, and the author's one that stands for it where a file has no other.
LABELS = {
    "name": ("label_atom_id", "auth_atom_id"),
    "altloc": ("label_alt_id", None),
    "res_name": ("label_comp_id", "auth_comp_id"),
    "chain": ("label_asym_id", "auth_asym_id"),
    "icode": ("pdbx_PDB_ins_code", None),
}
#: Tags of atom_site in the order they are written; others follow.
ORDER = [
    "group_PDB",
    "id",
    "type_symbol",
    "label_atom_id",
    "label_alt_id",
    "label_comp_id",
    "label_asym_id",
    "label_entity_id",
    "label_seq_id",
    "pdbx_PDB_ins_code",
    "Cartn_x",
    "Cartn_y",
    "Cartn_z",
    "occupancy",
    "B_iso_or_equiv",
    "pdbx_formal_charge",
    "auth_seq_id",
    "auth_comp_id",
    "auth_asym_id",
    "auth_atom_id",
    "pdbx_PDB_model_num",
]
ANISOTROPIC = tuple(f"U[{index}]" for index in ("1][1", "2][2", "3][3", "1][2", "1][3", "2][3"))
BOND_ORDERS = {"sing": 1, "doub": 2, "trip": 3}


def partner_tags(partner: int) -> dict[str, str]:
    """Return the tags of struct_conn that say which atom a partner (1 or 2) is, and atom_site's for the same."""
    return {
        f"ptnr{partner}_label_asym_id": "label_asym_id",
        f"ptnr{partner}_label_comp_id": "label_comp_id",
        f"ptnr{partner}_label_seq_id": "label_seq_id",
        f"ptnr{partner}_label_atom_id": "label_atom_id",
        f"pdbx_ptnr{partner}_PDB_ins_code": "pdbx_PDB_ins_code",
        f"ptnr{partner}_auth_asym_id": "auth_asym_id",
        f"ptnr{partner}_auth_comp_id": "auth_comp_id",
        f"ptnr{partner}_auth_seq_id": "auth_seq_id",
        f"pdbx_ptnr{partner}_label_alt_id": "label_alt_id",
    }
