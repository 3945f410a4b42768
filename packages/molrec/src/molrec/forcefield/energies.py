"""What a system costs under a force field: energies by style, and the forces on its atoms.

Everything is in the units of the force field; angles are radians. Not priced: reciprocal-space sums, tables such as
``cmap``, and the 1-4 interaction that the weight ``w`` of ``dihedral.charmm`` asks for, which ``pairs`` and ``pair14``
styles state. A style nobody can price is refused by name; nothing counts as zero because it is not understood.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.bonded import bonded_energies
from molrec.forcefield.forms import Floats
from molrec.forcefield.linking import Linked, LinkedStyle, link
from molrec.forcefield.near_pairs import near_pairs
from molrec.forcefield.nonbonded import PairPricing
from molrec.forcefield.periodic import Periodicity
from molrec.forcefield.registry import VARIABLES
from molrec.forcefield.units import check_same_length
from molrec.forcefield.virtual_sites import VirtualSites
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame

__all__ = ["Energies", "energy"]


@dataclass(frozen=True, slots=True)
class Energies:
    """Energies of a system, in the energy unit of the force field.

    Attributes:
        styles: Category and style, such as ``pair.lj/cut``, to its energy.
        forces: Float64 ``(atoms, 3)``, in energy by length; None when they were not asked for.
        terms: Category and style of a bonded style to the energy of each of its terms, float64 in the order of the
            relation block's rows.
    """

    styles: dict[str, float]
    forces: Floats | None = None
    terms: dict[str, Floats] = field(default_factory=dict)

    @property
    def categories(self) -> dict[str, float]:
        """Category, such as ``bond``, to the sum of its styles."""
        sums: dict[str, float] = {}
        for label, value in self.styles.items():
            category = label.partition(".")[0]
            sums[category] = sums.get(category, 0.0) + value
        return sums

    @property
    def total(self) -> float:
        """The sum of everything."""
        return sum(self.styles.values())


def energy(frame: Frame, ff: ForceField, forces: bool = True, linked: Linked | None = None) -> Energies:
    """Return energies and forces of a system.

    Args:
        frame: ``atoms`` with ``x``, ``y``, ``z`` in the length unit of the force field and, linked by name, all that
            `link` reads; a box with periodic directions makes the system periodic.
        ff: The force field.
        forces: Whether to compute forces.
        linked: What `link` gave for the same topology, such as for another frame of a run; linked anew when None.

    Raises:
        SchemaError: Names no table holds (``reject-ff-unresolved``), a style nothing prices (``reject-ff-unpriced``),
            parameters that are missing (``reject-ff-missing-parameter``), near pairs nothing is said of
            (``reject-ff-no-special-bonds``), positions in other units (``reject-ff-units-differ``) or where a term has
            no finite energy (``reject-ff-not-finite``), an expression that contradicts the registry
            (``reject-ff-expression-disagrees``), or the refusals of `link`.
    """
    ff.require_understood()
    check_same_length(frame.units, ff.units)
    linked = link(frame, ff) if linked is None else linked
    _refuse_unresolved(linked)
    given = _positions(frame)
    if len(given) != linked.atoms.count:
        raise SchemaError(
            f"the frame has {len(given)} atoms, and what was linked had {linked.atoms.count}; link this frame",
            "reject-ff-endpoints",
        )
    cell = Periodicity(frame.box)
    sites = VirtualSites([one for one in linked.styles if one.category == "virtual_site"], cell)
    positions = sites.placed(given)
    pushed = np.zeros_like(positions) if forces else None
    styles: dict[str, float] = {}
    terms: dict[str, Floats] = {}
    for one in linked.styles:
        if one.category == "virtual_site" or _without_energy(one):
            continue
        _refuse_weighted(one, linked)
        terms[one.label] = bonded_energies(one, positions, cell, ff.units, pushed)
        styles[one.label] = float(terms[one.label].sum())
    if linked.pairs:
        near = near_pairs(frame, ff, linked.explicit_pairs)
        pairs = PairPricing(linked, near, positions, frame.box, ff.units, pushed)
        pairs.run()
        styles |= pairs.energies
    if pushed is not None:
        sites.spread(pushed, given)
    return Energies(styles, pushed, terms)


def _positions(frame: Frame) -> Floats:
    if "atoms" not in frame or not {"x", "y", "z"} <= set(frame["atoms"].columns):
        raise SchemaError(
            "the frame has no block 'atoms' with the columns x, y and z; a system is priced where its atoms are",
            "reject-ff-missing-parameter",
        )
    positions: Floats = np.empty((frame["atoms"].rows, 3))
    for place, axis in enumerate("xyz"):
        positions[:, place] = frame["atoms"][axis]
        mask = frame["atoms"].validity(axis)
        if mask is not None:
            positions[~mask, place] = np.nan
    if not np.isfinite(positions).all():
        row = int(np.argmin(np.isfinite(positions).all(axis=1)))
        raise SchemaError(
            f"atom {row} is at {positions[row].tolist()}; every atom has a finite position", "reject-ff-not-finite"
        )
    return positions


def _without_energy(one: LinkedStyle) -> bool:
    """Tell whether a style's terms have no energy by definition; refuse categories that nobody can price."""
    if one.category == "constraint" and one.style == "fixed":
        return True
    if one.category not in VARIABLES or one.category in ("pair", "pair14"):
        raise SchemaError(
            f"block {one.block!r} has {len(one.rows)} terms of {one.label}, a category without a registered energy; "
            "take the block out to price the rest",
            "reject-ff-unpriced",
        )
    return False


def _refuse_unresolved(linked: Linked) -> None:
    if linked.unresolved:
        shown = [str(one) for one in linked.unresolved[:8]]
        more = len(linked.unresolved) - len(shown)
        raise SchemaError(
            f"no table holds what these rows name: {'; '.join(shown)}{f'; and {more} more' if more else ''}; add rows "
            "to the force field, or link(..., by_endpoints=True) and pass the result",
            "reject-ff-unresolved",
        )


def _refuse_weighted(one: LinkedStyle, linked: Linked) -> None:
    """Refuse the 1-4 weights of CHARMM torsions where nothing prices the pairs they weigh."""
    if one.label != "dihedral.charmm" or "w" not in one.parameters:
        return
    weighted = np.nan_to_num(one.parameters["w"]) != 0.0
    if weighted.any() and not any(table.table.style.category == "pair14" for table in linked.pairs):
        raise SchemaError(
            f"{int(weighted.sum())} terms of dihedral.charmm weigh their 1-4 pair (w is not 0), which is no part of "
            "the term; state those pairs in `pairs` with `is_14` and a pair14 style, or set w to 0",
            "reject-ff-unpriced",
        )
