"""Pair styles as OpenMM needs them: parameters of every two types of a system, in OpenMM's units.

Reciprocal-space sums are OpenMM's own (`PairStyle.reciprocal`); what a near pair has under such a style is plain
Coulomb energy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.agreement import check_agreement
from molrec.forcefield.forms import Floats
from molrec.forcefield.linking import Linked
from molrec.forcefield.near_pairs import NearPairs
from molrec.forcefield.pair_tables import PairTable
from molrec.forcefield.tables import Flags, Integers, StyleTable
from molrec.forcefield.terms import TermForm
from molrec.formats.forcefield_openmm_names import COULOMB
from molrec.interop.openmm_bonded import converted, expression_of
from molrec.interop.openmm_expressions import native, renamed, with_values
from molrec.interop.openmm_units import OpenMMUnits
from molrec.model.forcefield import Style

__all__ = ["PairStyle", "charges_of", "check_every_pair_held", "pair_styles"]

#: Relative difference below which two parameters are the same, mixed here or by OpenMM.
_SAME = 1e-12


class PairStyle:
    """One ``pair`` or ``pair14`` style and the types of a system.

    Args:
        table: The style with its rows.
        labels: Types, or classes, of the atoms.
        field_units: The units of the force field.
        units: Their conversion.
        reciprocal: Whether its energy is a sum over all images, which OpenMM computes by PME.

    Attributes:
        form: How one pair is priced.
        labels: Int64 ``(atoms,)``; -1 for an atom without one.
        cutoff: In nanometres, infinite without one.
        reciprocal: As given.
        mesh: Splitting parameter in 1/nm and grid of PME, or None to leave them to OpenMM.
    """

    def __init__(
        self,
        table: PairTable,
        labels: Integers,
        field_units: Mapping[str, str],
        units: OpenMMUnits,
        *,
        reciprocal: bool = False,
    ) -> None:
        check_agreement(table.table, field_units)
        self.table = table
        self.form = TermForm(table.table, field_units)
        self.labels = labels
        self.reciprocal = reciprocal
        self.mesh: tuple[float, int, int, int] | None = None
        self.cutoff = self.form.cutoff * units.factor("length") if math.isfinite(self.form.cutoff) else math.inf
        self._units = units
        if reciprocal and (not math.isfinite(self.cutoff) or self.constant("delta") != 0.0):
            raise SchemaError(
                f"{self.label} by PME needs a finite cutoff, where the sum in space ends, and no delta; state `cutoff`",
                "reject-ff-no-cutoff",
            )

    @property
    def label(self) -> str:
        """Category and style, such as ``pair.lj/cut``."""
        return self.table.table.label

    @property
    def name(self) -> str:
        """Name of the style."""
        return self.table.table.style.name

    @property
    def by_rows(self) -> bool:
        """Whether its parameters come from rows."""
        return not self.table.applies_to_all

    @property
    def plain_lennard_jones(self) -> bool:
        """Whether it is the 12-6 potential without a shift, which `openmm.NonbondedForce` has."""
        if self.name != "lj/cut":
            return False
        unshifted = self.constant("shift") == 0.0 or not math.isfinite(self.cutoff)
        return unshifted and (self.constant("n"), self.constant("m")) == (12.0, 6.0)

    @property
    def plain_coulomb(self) -> bool:
        """Whether it is Coulomb's potential, which `openmm.NonbondedForce` has once charges are scaled."""
        return self.label == "pair.coul/cut" and self.constant("delta") == 0.0 and self.coulomb > 0.0

    @property
    def coulomb(self) -> float:
        """The Coulomb constant over the dielectric one, in kJ nm / (mol e^2)."""
        scale = self._units.factor("energy*length/charge^2")
        return self.constant("coulomb") * scale / self.constant("dielectric")

    def constant(self, name: str) -> float:
        """Return a parameter that holds for all rows, in the units of the force field."""
        (value,) = self._prepared({}, 0)[name].reshape(-1)
        return float(value)

    def _prepared(self, of: Mapping[str, Floats], count: int) -> dict[str, Floats]:
        known = self.table.table.known
        if count == 0 and known is not None:
            of = {one.name: np.zeros(0) for one in known.parameters}
        return self.form.prepared(of, count, "pairs")

    def parameters(self, of: Mapping[str, Floats], count: int) -> tuple[dict[str, Floats], dict[str, float]]:
        """Return parameters in OpenMM's units: those of single pairs, and those all share.

        Args:
            of: Parameter to float64 ``(count,)``, as the style's table gives them.
            count: Number of pairs.

        Raises:
            SchemaError: A pair lacks a parameter (``reject-ff-missing-parameter``).
        """
        ready = converted(self.form, self._prepared(of, count), self._units)
        by_pair = {name: values for name, values in ready.items() if values.ndim}
        return by_pair, {name: float(values) for name, values in ready.items() if not values.ndim}

    def of_types(self) -> tuple[dict[str, Floats], Flags]:
        """Return parameters of every two labels in OpenMM's units, ``(n + 1, n + 1)``, and which pairs are priced.

        The last row and column stand for atoms without a label. Parameters of pairs that are not priced are 1.
        """
        width = len(self.table.labels) + 1
        every = np.concatenate([np.arange(width - 1), [-1]])
        of, priced = self.table.parameters(np.repeat(every, width), np.tile(every, width))
        by_pair, _ = self.parameters({name: values[priced] for name, values in of.items()}, int(priced.sum()))
        tables = {}
        for name, values in by_pair.items():
            filled = np.ones(width * width)
            filled[priced] = values
            tables[name] = filled.reshape(width, width)
        return tables, priced.reshape(width, width)

    def expression(self, names: Mapping[str, Any], shared: Mapping[str, float]) -> str:
        """Return the energy of a pair over ``r`` and, where it takes them, ``q1`` and ``q2``.

        Args:
            names: Parameters that single pairs have.
            shared: Parameters all pairs share, written into the expression.
        """
        known = self.table.table.known
        if known is None:
            return with_values(expression_of(self.form, {}, self._units), shared)
        formula = known.expression({*names, *self._stated_exponents()})
        assert formula is not None
        text = native(formula, "r")
        if self.name == "lj/cut" and shared["shift"] != 0.0 and math.isfinite(self.cutoff):
            text = f"({text})-({renamed(text, {'r': 'cutoff'})})"
        return with_values(text, shared)

    def _stated_exponents(self) -> set[str]:
        return {"n", "m"} & self.table.table.style.params.keys()

    def charges(self, charges: Floats) -> Floats:
        """Return charges, given in the force field's unit, as this style's expression takes them."""
        return charges if self.table.table.known is None else charges * self._units.factor("charge")

    def openmm_charges(self, charges: Floats) -> Floats:
        """Return charges, given in the force field's unit, that make OpenMM's Coulomb energy this style's."""
        return charges * self._units.factor("charge") * math.sqrt(self.coulomb / COULOMB)

    def mixes_arithmetically(self) -> tuple[Floats, Floats] | None:
        """Return size and depth of every atom, if the energies of all two are what `openmm.NonbondedForce` mixes."""
        tables, priced = self.of_types()
        last = len(priced) - 1
        codes = np.where(self.labels < 0, last, self.labels)
        present = np.unique(codes)
        sigma, epsilon = (tables[name][np.ix_(present, present)] for name in ("sigma", "epsilon"))
        if not priced[np.ix_(present, present)].all() or (epsilon.diagonal() < 0.0).any():
            return None
        depth = np.sqrt(np.outer(epsilon.diagonal(), epsilon.diagonal()))
        size = 0.5 * np.add.outer(sigma.diagonal(), sigma.diagonal())
        alike = np.isclose(epsilon, depth, rtol=_SAME, atol=0.0)
        alike &= np.isclose(sigma, size, rtol=_SAME, atol=0.0) | (epsilon == 0.0)
        return (tables["sigma"][codes, codes], tables["epsilon"][codes, codes]) if alike.all() else None


def pair_styles(
    linked: Linked, field_units: Mapping[str, str], units: OpenMMUnits, *, coulomb_by_pme: bool
) -> list[PairStyle]:
    """Return the pair styles of a system.

    Args:
        linked: The system.
        field_units: The units of the force field.
        units: Their conversion.
        coulomb_by_pme: Whether ``pair.coul/cut`` is summed over all images instead of ending at its cutoff.
    """
    styles = []
    for table in linked.pairs:
        labels = linked.atoms.labels(table.table.style.endpoint_key).codes
        if table.table.label == "pair.coul/long/pme":
            plain = PairTable(StyleTable(Style("pair", "coul/cut", _real_space(table.table.style))), [])
            made = PairStyle(plain, labels, field_units, units, reciprocal=True)
            made.mesh = _mesh(table.table.style, units)
            styles.append(made)
        else:
            reciprocal = coulomb_by_pme and table.table.label == "pair.coul/cut"
            styles.append(PairStyle(table, labels, field_units, units, reciprocal=reciprocal))
    return styles


def _real_space(style: Style) -> dict[str, float | str]:
    return {name: style.params[name] for name in ("coulomb", "cutoff") if name in style.params}


def _mesh(style: Style, units: OpenMMUnits) -> tuple[float, int, int, int] | None:
    names = ("alpha", "grid_x", "grid_y", "grid_z")
    alpha, *grid = (float(style.params.get(name, 0.0)) for name in names)
    if not alpha or not all(grid):
        return None
    x, y, z = (int(count) for count in grid)
    return alpha * units.factor("1/length"), x, y, z


def charges_of(linked: Linked) -> Floats:
    """Return the charge of every atom in the force field's unit, float64 ``(atoms,)``.

    Raises:
        SchemaError: An atom has none (``reject-ff-missing-parameter``).
    """
    charges = linked.atoms.parameter("charge")
    missing = np.isnan(charges)
    if missing.any():
        raise SchemaError(
            f"{int(missing.sum())} atoms have no charge, the first of them atom {int(np.argmax(missing))}; give atoms "
            "a column `charge`, or their types one in an atom table",
            "reject-ff-missing-parameter",
        )
    return charges


def check_every_pair_held(styles: list[PairStyle], linked: Linked, near: NearPairs) -> None:
    """Refuse two atoms that no style with rows prices, where there is such a style; near pairs are left out.

    Raises:
        SchemaError: There are some (``reject-ff-unresolved``).
    """
    by_rows = [one for one in styles if one.by_rows]
    if not by_rows or not linked.atoms.count:
        return
    types = linked.atoms.types
    width = len(types.distinct) + 1
    codes = np.where(types.codes < 0, width - 1, types.codes)
    counts = np.bincount(codes, minlength=width)
    pairs = np.multiply.outer(counts, counts)
    pairs[np.diag_indices(width)] = counts * (counts - 1) // 2
    low, high = np.sort(codes[near.atoms], axis=1).T
    taken_out = np.bincount(low * width + high, minlength=width * width).reshape(width, width)
    pairs = np.triu(pairs) - taken_out
    held = np.zeros((width, width), dtype=np.bool_)
    # a type has one label in every style: that of any of its atoms
    example = np.zeros(width, dtype=np.int64)
    example[codes] = np.arange(len(codes))
    for one in by_rows:
        _, priced = one.of_types()
        label = np.where(one.labels[example] < 0, len(priced) - 1, one.labels[example])
        held |= priced[np.ix_(label, label)]
    left = np.argwhere((pairs > 0) & ~held)
    if len(left):
        first, second = ([*types.distinct, "(none)"][code] for code in left[0].tolist())
        raise SchemaError(
            f"no row and no mixing rule of {', '.join(one.label for one in by_rows)} prices the types {first!r} and "
            f"{second!r}, and {int(pairs[tuple(left[0])])} pairs of atoms are of them; add a row, or state `mixing`",
            "reject-ff-unresolved",
        )
