"""Near pairs the way GROMACS and AMBER know them: excluded ones, 1-4 pairs of one weight, and all others in full."""

from __future__ import annotations

import numpy as np

from molrec.forcefield.near_pairs import NearPairs
from molrec.forcefield.tables import Flags
from molrec.formats.forcefield_source import not_in_target
from molrec.model.forcefield import ForceField

__all__ = ["near_classes"]


def near_classes(target: str, near: NearPairs, forcefield: ForceField) -> tuple[Flags, Flags]:
    """Return which near pairs are 1-4 pairs and which are excluded; the others interact in full.

    Args:
        target: What the target format is called.
        near: The near pairs.
        forcefield: The force field they are of.

    Raises:
        SchemaError: A pair has another weight (``reject-ff-target``).
    """
    special = forcefield.special_bonds or {"lj": (0.0, 0.0, 0.0), "coul": (0.0, 0.0, 0.0)}
    lj, coul = near.weights["lj"], near.weights["coul"]
    by_style = bool(forcefield.of_category("pair14"))
    listed = near.is_14 & ((lj != 0.0) | (coul != 0.0) | by_style | (near.row >= 0))
    dropped = ~listed & (lj == 0.0) & (coul == 0.0)
    plain = ~listed & (lj == 1.0) & (coul == 1.0)
    odd = ~(listed | dropped | plain) | (listed & ((lj != special["lj"][2]) | (coul != special["coul"][2])))
    if odd.any():
        first, second = near.atoms[int(np.argmax(odd))].tolist()
        raise not_in_target(
            target, f"the pair of atoms {first} and {second}", "its weight is neither 0, 1 nor that of 1-4 pairs"
        )
    return listed, dropped
