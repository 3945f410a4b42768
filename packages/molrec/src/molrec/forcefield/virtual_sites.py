"""Sites without mass: where they stand, and who feels the forces on them (``docs/spec/forcefield.md``, registry)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.forms import Floats
from molrec.forcefield.geometry import scatter
from molrec.forcefield.linking import LinkedStyle
from molrec.forcefield.periodic import Periodicity
from molrec.forcefield.tables import Integers

__all__ = ["VirtualSites"]

#: Style -> the atoms it builds from, and its parameters.
_STYLES: dict[str, tuple[int, tuple[str, ...]]] = {
    "average2": (2, ("w1", "w2")),
    "average3": (3, ("w1", "w2", "w3")),
    "outofplane3": (3, ("w12", "w13", "wcross")),
}


class VirtualSites:
    """The virtual sites of a system.

    Args:
        linked: The terms of every ``virtual_site`` style.
        cell: The periodic directions; atoms a site is built from are taken at their images nearest to the first.

    Raises:
        SchemaError: A style nobody has registered (``reject-ff-unpriced``), a parameter or an atom that is missing
            (``reject-ff-missing-parameter``), or a site that is built twice or from sites
            (``reject-ff-nested-sites``).
    """

    __slots__ = ("_cell", "_linked")

    def __init__(self, linked: Sequence[LinkedStyle], cell: Periodicity) -> None:
        self._linked = linked
        self._cell = cell
        sites: list[Integers] = []
        parents: list[Integers] = []
        for one in linked:
            if one.style not in _STYLES:
                raise SchemaError(
                    f"the style {one.label} is not registered; sites are built by {', '.join(_STYLES)}",
                    "reject-ff-unpriced",
                )
            count, names = _STYLES[one.style]
            absent = (one.atoms[:, : count + 1] < 0).any(axis=1)
            for name in names:
                absent |= np.isnan(one.parameters[name]) if name in one.parameters else True
            if absent.any():
                raise SchemaError(
                    f"virtual_sites row {int(one.rows[np.argmax(absent)])} of style {one.label} needs {count} atoms to "
                    f"be built from and {', '.join(names)}",
                    "reject-ff-missing-parameter",
                )
            sites.append(one.atoms[:, 0])
            parents.append(one.atoms[:, 1 : count + 1].reshape(-1))
        if linked:
            every, times = np.unique(np.concatenate(sites), return_counts=True)
            wrong = np.concatenate([every[times > 1], np.intersect1d(every, np.concatenate(parents))])
            if len(wrong):
                raise SchemaError(
                    f"the atom {int(wrong[0])} is a virtual site that is built twice, or that another site is built "
                    "from; a site is built once, from atoms",
                    "reject-ff-nested-sites",
                )

    def placed(self, positions: Floats) -> Floats:
        """Return positions with every site where its atoms put it; the input itself where there is no site."""
        if not self._linked:
            return positions
        built = positions.copy()
        for one in self._linked:
            origin = positions[one.atoms[:, 1]]
            arms = self._arms(one, positions)
            of = {name: values[:, None] for name, values in one.parameters.items()}
            match one.style:
                case "average2":
                    offset = of["w2"] * arms[0]
                    weight = of["w1"] + of["w2"]
                case "average3":
                    offset = of["w2"] * arms[0] + of["w3"] * arms[1]
                    weight = of["w1"] + of["w2"] + of["w3"]
                case _:
                    offset = of["w12"] * arms[0] + of["w13"] * arms[1] + of["wcross"] * np.cross(arms[0], arms[1])
                    weight = np.ones((len(origin), 1))
            built[one.atoms[:, 0]] = weight * origin + offset
        return built

    def _arms(self, one: LinkedStyle, positions: Floats) -> list[Floats]:
        count, _ = _STYLES[one.style]
        origin = positions[one.atoms[:, 1]]
        return [self._cell.nearest(positions[one.atoms[:, place]] - origin) for place in range(2, count + 1)]

    def spread(self, forces: Floats, positions: Floats) -> None:
        """Hand the forces on sites to the atoms they are built from, in place; a site keeps none.

        Args:
            forces: Float64 ``(atoms, 3)``, of the system with its sites placed.
            positions: Float64 ``(atoms, 3)``, those the sites were placed from.
        """
        for one in self._linked:
            site = one.atoms[:, 0]
            force = forces[site]
            of = {name: values[:, None] for name, values in one.parameters.items()}
            match one.style:
                case "average2":
                    shares = [of["w1"] * force, of["w2"] * force]
                case "average3":
                    shares = [of["w1"] * force, of["w2"] * force, of["w3"] * force]
                case _:
                    arms = self._arms(one, positions)
                    second = of["w12"] * force + of["wcross"] * np.cross(arms[1], force)
                    third = of["w13"] * force + of["wcross"] * np.cross(force, arms[0])
                    shares = [force - second - third, second, third]
            for place, share in enumerate(shares, start=1):
                scatter(forces, one.atoms[:, place], share)
            forces[site] = 0.0
