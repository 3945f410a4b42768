"""Energies and forces between pairs: every two atoms within the cutoffs, and the near pairs that differ.

Ordinary pairs come from the neighbour list without the near ones; near pairs are few, and are priced one by one with
their weights, their 1-4 styles and what their rows in ``pairs`` say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.agreement import check_agreement
from molrec.forcefield.forms import Floats
from molrec.forcefield.geometry import norms, scatter
from molrec.forcefield.linking import Linked
from molrec.forcefield.near_pairs import NearPairs
from molrec.forcefield.neighbours import Neighbours, neighbours
from molrec.forcefield.pair_tables import PairTable
from molrec.forcefield.periodic import Periodicity
from molrec.forcefield.relations import RelationRows
from molrec.forcefield.tables import Flags, Integers, taken
from molrec.forcefield.terms import TermForm
from molrec.model.box import Box

__all__ = ["PairPricing"]

#: Nearest images found twice, by the list and by themselves, agree to this part of their length, or of what positions
#: are known to.
_SAME = 1e-9
_ROUNDING = 64 * np.finfo(np.float64).eps
#: Up to so many pairs of types, the parameters of all of them are looked up once.
_DENSE = 2**20


class _PairStyle:
    """One pair style at work on the atoms of a system."""

    def __init__(self, table: PairTable, labels: Integers, units: Mapping[str, str]) -> None:
        check_agreement(table.table, units)
        self.table = table
        self.form = TermForm(table.table, units)
        self.labels = labels
        self.label = table.table.label
        self._width = len(table.labels) + 1
        self._combined: tuple[dict[str, Floats], Flags] | None = None

    @property
    def by_rows(self) -> bool:
        return not self.table.applies_to_all

    def parameters(self, first: Integers, second: Integers) -> tuple[dict[str, Floats], Flags]:
        """Return the parameters of pairs of atoms and which of them the style has any for."""
        low, high = self.labels[first], self.labels[second]
        if self._width**2 > _DENSE:
            return self.table.parameters(low, high)
        if self._combined is None:
            every = np.arange(-1, self._width - 1)
            self._combined = self.table.parameters(np.repeat(every, self._width), np.tile(every, self._width))
        key = (low + 1) * self._width + high + 1
        parameters, priced = self._combined
        return {name: values[key] for name, values in parameters.items()}, priced[key]


class PairPricing:
    """The pair energies of one system.

    Args:
        linked: The system.
        near: Its near pairs.
        positions: Float64 ``(atoms, 3)``.
        box: The cell, or None.
        units: The units of the force field.
        forces: Float64 ``(atoms, 3)``, changed in place, or None.

    Attributes:
        energies: Label of a style to its energy.

    Raises:
        SchemaError: A style that is not priced (``reject-ff-unpriced``), a charge that is missing
            (``reject-ff-missing-parameter``), a pair of types nothing prices (``reject-ff-unresolved``), or atoms in
            one place (``reject-ff-not-finite``).
    """

    def __init__(
        self,
        linked: Linked,
        near: NearPairs,
        positions: Floats,
        box: Box | None,
        units: Mapping[str, str],
        forces: Floats | None,
    ) -> None:
        self._linked = linked
        self._near = near
        self._positions = positions
        self._box = box
        self._forces = forces
        styles = [
            _PairStyle(table, linked.atoms.labels(table.table.style.endpoint_key).codes, units)
            for table in linked.pairs
        ]
        self._pairs = [one for one in styles if one.table.table.style.category == "pair"]
        self._fourteen = [one for one in styles if one.table.table.style.category == "pair14"]
        self.energies: dict[str, float] = dict.fromkeys((one.label for one in styles), 0.0)
        self._charges = self._checked_charges() if any(one.form.charged for one in styles) else np.zeros(0)
        cell = Periodicity(box)
        self._near_displacements = cell.nearest(positions[near.atoms[:, 1]] - positions[near.atoms[:, 0]])

    def _checked_charges(self) -> Floats:
        charges = self._linked.atoms.parameter("charge")
        if np.isnan(charges).any():
            raise SchemaError(
                f"{int(np.isnan(charges).sum())} atoms have no charge, the first of them atom "
                f"{int(np.argmax(np.isnan(charges)))}; give atoms a column `charge`, or their types one in an atom "
                "table",
                "reject-ff-missing-parameter",
            )
        return charges

    def run(self) -> None:
        """Add up energies and forces."""
        if not self._pairs and not self._fourteen:
            return
        if self._pairs:
            self._ordinary()
        if len(self._near):
            self._near_ones()

    # -- ordinary pairs -----------------------------------------------------------------------------------------------

    def _ordinary(self) -> None:
        cutoff = max(one.form.cutoff for one in self._pairs)
        for pairs in self._without_near(neighbours(self._positions, self._box, cutoff)):
            distances = np.sqrt(pairs.squared)
            slopes = np.zeros(len(distances))
            held = np.zeros(len(distances), dtype=np.bool_)
            parameters = []
            for one in self._pairs:
                of, priced = one.parameters(pairs.first, pairs.second)
                parameters.append((one, of, priced))
                held |= priced & one.by_rows
            self._refuse_unheld(held, pairs)
            for one, of, priced in parameters:
                chosen: Flags | None = priced & (distances < one.form.cutoff)
                if chosen is not None and chosen.all():
                    chosen = None
                self._add(one, of, pairs, distances, chosen, slopes)
            self._push(pairs, slopes, distances)

    def _refuse_unheld(self, held: Flags, pairs: Neighbours) -> None:
        """Refuse pairs of types that no style with rows prices, where there is such a style."""
        if not any(one.by_rows for one in self._pairs) or held.all():
            return
        place = int(np.argmin(held))
        types = self._linked.atoms.types
        names = [
            types.distinct[code] if code >= 0 else "(none)"
            for code in types.codes[[pairs.first[place], pairs.second[place]]].tolist()
        ]
        raise SchemaError(
            f"no row and no mixing rule of {', '.join(one.label for one in self._pairs if one.by_rows)} prices the "
            f"types {names[0]!r} and {names[1]!r}, of the atoms {int(pairs.first[place])} and "
            f"{int(pairs.second[place])}; add a row, or state `mixing`",
            "reject-ff-unresolved",
        )

    def _add(
        self,
        one: _PairStyle,
        of: dict[str, Floats],
        pairs: Neighbours,
        distances: Floats,
        chosen: Flags | None,
        slopes: Floats,
    ) -> None:
        first, second = pairs.first, pairs.second
        if chosen is not None:
            if not chosen.any():
                return
            first, second, distances = first[chosen], second[chosen], distances[chosen]
            of = {name: values[chosen] for name, values in of.items()}
        energy, slope = self._evaluated(one, of, first, second, distances)
        self.energies[one.label] += float(energy.sum())
        if chosen is None:
            slopes += slope
        else:
            slopes[chosen] += slope

    def _evaluated(
        self, one: _PairStyle, of: dict[str, Floats], first: Integers, second: Integers, distances: Floats
    ) -> tuple[Floats, Floats]:
        at = {"r": distances}
        if one.form.charged:
            at |= {"q1": self._charges[first], "q2": self._charges[second]}
        energy, slopes = one.form.evaluate(at, one.form.prepared(of, len(distances), "pairs"))
        finite = np.isfinite(energy) & np.isfinite(slopes["r"])
        if not finite.all():
            place = int(np.argmin(finite))
            raise SchemaError(
                f"the atoms {int(first[place])} and {int(second[place])} are {distances[place]} apart, where "
                f"{one.label} has the energy {energy[place]}",
                "reject-ff-not-finite",
            )
        return energy, slopes["r"]

    def _push(self, pairs: Neighbours, slopes: Floats, distances: Floats) -> None:
        """Turn derivatives by distance into forces; atoms in one place push each other nowhere."""
        if self._forces is not None:
            strengths = np.divide(slopes, distances, out=np.zeros_like(slopes), where=distances > 0.0)
            pushes = strengths[:, None] * pairs.displacements
            scatter(self._forces, pairs.first, pushes)
            scatter(self._forces, pairs.second, -pushes)

    def _without_near(self, found: Iterator[Neighbours]) -> Iterator[Neighbours]:
        """Take near pairs out of the list, each once, through its nearest image."""
        near, count = self._near, len(self._positions)
        codes = near.atoms[:, 0] * count + near.atoms[:, 1]
        squared = np.einsum("ij,ij->i", self._near_displacements, self._near_displacements)
        blur = _ROUNDING * (
            float(np.abs(self._positions).max(initial=0.0))
            + (0.0 if self._box is None else float(np.abs(self._box.vectors).max()))
        )
        tolerance = _SAME * squared + blur * (np.sqrt(squared) + blur)
        longest = float((squared + tolerance).max(initial=-1.0))
        waiting = np.ones(len(codes), dtype=np.bool_)
        for pairs in found:
            close = np.flatnonzero(pairs.squared <= longest)
            if not len(close):
                yield pairs
                continue
            low = np.minimum(pairs.first[close], pairs.second[close])
            own = low * count + np.maximum(pairs.first[close], pairs.second[close])
            places = np.minimum(np.searchsorted(codes, own), len(codes) - 1)
            same = (codes[places] == own) & waiting[places]
            same &= np.abs(pairs.squared[close] - squared[places]) <= tolerance[places]
            _, first = np.unique(places[same], return_index=True)
            taken_out = np.flatnonzero(same)[first]
            waiting[places[taken_out]] = False
            keep = np.ones(len(pairs.first), dtype=np.bool_)
            keep[close[taken_out]] = False
            yield pairs.chosen(keep)

    # -- near pairs ---------------------------------------------------------------------------------------------------

    def _near_ones(self) -> None:
        near = self._near
        distances = norms(self._near_displacements)
        slopes = np.zeros(len(near))
        pairs = Neighbours(near.atoms[:, 0], near.atoms[:, 1], self._near_displacements, distances**2)
        replaced: dict[str, Flags] = {}
        overridden = np.zeros(len(near), dtype=np.bool_)
        for one in self._fourteen:
            of, held = self._own_parameters(one, near.is_14)
            replaced[one.table.table.style.name] = held
            overridden |= held
            self._add(one, of, pairs, distances, held & (distances < one.form.cutoff), slopes)
        held_at_all = overridden.copy()
        work = []
        for one in self._pairs:
            of, held = self._own_parameters(one, ~overridden)
            held_at_all |= held & one.by_rows
            weight = near.weights[one.form.special]
            held = held & (weight != 0.0) & ~replaced.get(one.table.table.style.name, np.zeros(len(near), np.bool_))
            work.append((one, of, held & (distances < one.form.cutoff), weight))
        self._refuse_unheld(held_at_all | (near.weights["lj"] == 0.0), pairs)
        for one, of, chosen, weight in work:
            if not chosen.any():
                continue
            energy, slope = self._evaluated(
                one,
                {name: values[chosen] for name, values in of.items()},
                pairs.first[chosen],
                pairs.second[chosen],
                distances[chosen],
            )
            self.energies[one.label] += float((weight[chosen] * energy).sum())
            slopes[chosen] += weight[chosen] * slope
        self._push(pairs, slopes, distances)

    def _own_parameters(self, one: _PairStyle, may: Flags) -> tuple[dict[str, Floats], Flags]:
        """Return the parameters of near pairs, those of their rows in ``pairs`` first, and which have all they need."""
        near, rows = self._near, self._linked.explicit_pairs
        of, held = one.parameters(near.atoms[:, 0], near.atoms[:, 1])
        if rows is not None and len(rows):
            of, held = self._overridden(one, rows, of, held, may)
        if one.table.table.style.category == "pair14":
            held = held & may
        return of, held

    def _overridden(
        self, one: _PairStyle, rows: RelationRows, of: dict[str, Floats], held: Flags, may: Flags
    ) -> tuple[dict[str, Floats], Flags]:
        table = one.table.table
        listed = (self._near.row >= 0) & may
        if rows.styles is not None:
            asked = [*(name == table.style.name for name in rows.styles.distinct), True]
            listed &= np.array(asked)[rows.styles.codes[self._near.row]]
        row = np.where(listed, self._near.row, -1)
        made = dict(of)
        if rows.types is not None:
            of_name = np.array([*(table.rows.get(name, -1) for name in rows.types.distinct), -1], dtype=np.int64)
            named = np.where(listed, of_name[rows.types.codes[row]], -1)
            for name, values in table.numbers.items():
                made[name] = np.where(named >= 0, taken(values, named), made[name])
            held = held | (named >= 0)
        own = {name: taken(values, row) for name, values in rows.columns.items() if table.has_parameter(name)}
        for name, values in own.items():
            made[name] = np.where(np.isnan(values), made.get(name, values), values)
        if own:
            held = held | (listed & table.complete(made, len(row)))
        return made, held
