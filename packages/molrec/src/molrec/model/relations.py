"""The relation blocks: their endpoint columns, and what an endpoint references (``docs/spec/vocabulary.md``).

One table serves renumbering, the validator and the readers of foreign files. Which block a relation stands in is a
recommendation; that an endpoint references `atoms` unless the block says otherwise is the rule.
"""

from __future__ import annotations

from typing import NamedTuple

from molrec.model.references import is_absolute

__all__ = ["DEFAULT_TARGET", "ENDPOINTS", "RELATIONS", "Relation", "same_container_references"]

#: The endpoint columns, in order of position.
ENDPOINTS: tuple[str, ...] = ("atomi", "atomj", "atomk", "atoml")
#: The block an endpoint references where the block declares nothing else.
DEFAULT_TARGET = "atoms"

_TYPED = ("type", "type_id", "style")


class Relation(NamedTuple):
    """One relation block: its endpoint columns, the ones a row may leave null, its optional columns, its meaning."""

    endpoints: tuple[str, ...]
    nullable: tuple[str, ...]
    optional: tuple[str, ...]
    doc: str


RELATIONS: dict[str, Relation] = {
    "bonds": Relation(ENDPOINTS[:2], (), (*_TYPED, "bond_type", "bond_number"), "bonded pairs"),
    "angles": Relation(ENDPOINTS[:3], (), _TYPED, "angles; the vertex is `atomj`"),
    "dihedrals": Relation(ENDPOINTS, (), (*_TYPED, "exclude_14"), "proper torsions"),
    "impropers": Relation(ENDPOINTS, (), (*_TYPED, "exclude_14"), "improper torsions"),
    "pairs": Relation(ENDPOINTS[:2], (), (*_TYPED, "is_14"), "pairs with a non-bonded term of their own"),
    "exclusions": Relation(ENDPOINTS[:2], (), (), "pairs without non-bonded interaction"),
    "constraints": Relation(ENDPOINTS[:2], (), _TYPED, "pairs held at a distance"),
    "virtual_sites": Relation(
        ENDPOINTS, ("atomk", "atoml"), _TYPED, "the site `atomi` and the atoms it is built from; fewer leave nulls"
    ),
    "drudes": Relation(ENDPOINTS[:2], (), _TYPED, "the core `atomi` and its Drude particle `atomj`"),
    "members": Relation(("ibead",), (), ("atom",), "a bead and one of its atoms; both references are declared"),
}


def same_container_references(columns: dict[str, str], targets: dict[str, str]) -> dict[str, str]:
    """Return the columns of one block that hold row indices into a block of the same container.

    Args:
        columns: Column name to dtype name.
        targets: Declared references, column to target.

    Returns:
        Column to the name of the block it references: what is declared, and `atoms` for an endpoint without
        declaration. Any other `u64` column is a plain number.
    """
    found = {name: DEFAULT_TARGET for name in ENDPOINTS if columns.get(name) == "u64"}
    found |= targets
    return {name: target for name, target in found.items() if not is_absolute(target)}
