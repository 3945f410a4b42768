"""Interactions between pairs as forces of an OpenMM system.

`openmm.NonbondedForce` takes what it computes exactly as the force field says: the 12-6 potential where all unlike
pairs are arithmetic mixtures, and Coulomb energies that have no cutoff or are summed by PME. Everything else is a
`CustomNonbondedForce` over tables of pairs of types, cut where the style says. OpenMM's reaction field is never used:
with a cutoff, ``pair.coul/cut`` just ends there.

Near pairs are excluded from all of these. What they have of their own is an exception of the NonbondedForce, where that
knows its form and no cutoff ends it, and otherwise a term of a `CustomBondForce`.

The Coulomb constant is the force field's. A NonbondedForce has OpenMM's, so the charges in it are scaled by the root of
the ratio of the two, and by the dielectric constant; custom forces have the constant in their expression.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.forms import Floats
from molrec.forcefield.linking import Linked
from molrec.forcefield.near_pairs import near_pairs
from molrec.interop.openmm_expressions import guarded
from molrec.interop.openmm_import import require_openmm
from molrec.interop.openmm_near_pairs import NearTerms, near_terms
from molrec.interop.openmm_pair_styles import PairStyle, charges_of, check_every_pair_held, pair_styles
from molrec.interop.openmm_units import OpenMMUnits
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame

__all__ = ["add_pairs"]

#: Helpers of an expression; the prefix keeps them out of the way of a force field's own names.
_TYPE, _TABLE, _PRICED, _WEIGHT = "molrec_type", "molrec_of_", "molrec_priced", "molrec_weight"
_TYPES = f"({_TYPE}1,{_TYPE}2)"


def add_pairs(
    system: Any, frame: Frame, ff: ForceField, linked: Linked, units: OpenMMUnits, nonbonded: str, *, periodic: bool
) -> None:
    """Add all interactions between pairs to a system.

    Args:
        system: An `openmm.System` with its particles and its box.
        frame: The system as a frame.
        ff: The force field.
        linked: Both, linked.
        units: Conversion of the force field's units.
        nonbonded: ``stated`` or ``pme``, as for `to_openmm`.
        periodic: Whether the box is.

    Raises:
        SchemaError: Pairs that cannot be priced, or that OpenMM cannot compute; see `to_openmm`.
    """
    styles = pair_styles(linked, ff.units, units, coulomb_by_pme=nonbonded == "pme")
    if not styles:
        return
    near = near_pairs(frame, ff, linked.explicit_pairs)
    pairs = [one for one in styles if one.table.table.style.category == "pair"]
    check_every_pair_held(pairs, linked, near)
    _check_cutoffs(pairs, system, periodic=periodic)
    charged = any(one.form.charged for one in styles)
    charges = charges_of(linked) if charged else np.zeros(linked.atoms.count)
    terms = list(near_terms(styles, near, linked.explicit_pairs))
    # every force between pairs has a cutoff or none has: in company of an endless one, a cut one ends by itself
    endless = not all(math.isfinite(one.cutoff) for one in pairs)
    force = _NonbondedForce(pairs, charges, periodic=periodic, endless=endless)
    ends = near.atoms.tolist()
    for one in pairs:
        if one not in force.styles:
            system.addForce(_custom(one, charges, ends, periodic=periodic, endless=endless))
    if force.styles:
        terms = force.exceptions(ends, terms)
        system.addForce(force.force)
    for near_term in terms:
        if len(near_term.places):
            system.addForce(_near(near_term, near.atoms[near_term.places], charges, periodic=periodic))


def _check_cutoffs(pairs: list[PairStyle], system: Any, *, periodic: bool) -> None:
    """Refuse what OpenMM cannot do: pairs without end in a periodic box, and more than one image of an atom."""
    nanometre = require_openmm().unit.nanometer
    widths = [
        float(vector[place].value_in_unit(nanometre))
        for place, vector in enumerate(system.getDefaultPeriodicBoxVectors())
    ]
    for one in pairs:
        if one.reciprocal and not periodic:
            raise SchemaError(
                f"{one.label} is summed over all images by PME, and the frame has no periodic box; give it one, or "
                "take nonbonded='stated' and pair.coul/cut",
                "reject-ff-openmm-box",
            )
        if not periodic:
            continue
        if not math.isfinite(one.cutoff):
            raise SchemaError(
                f"{one.label} has no cutoff, and the box is periodic; state `cutoff` in the style's params",
                "reject-ff-no-cutoff",
            )
        if one.cutoff > 0.5 * min(widths):
            raise SchemaError(
                f"the cutoff of {one.label} is {one.cutoff:.6g} nm, more than half of the box, which is "
                f"{' x '.join(f'{width:.6g}' for width in widths)} nm wide; OpenMM takes the nearest image only, so "
                "replicate the system or shorten the cutoff",
                "reject-ff-openmm-cutoff",
            )


class _NonbondedForce:
    """OpenMM's own force with what it can take of some styles.

    Args:
        pairs: The ``pair`` styles of a system.
        charges: Charges of the atoms in the force field's unit.
        periodic: Whether the box is periodic.
        endless: Whether some style has no cutoff.

    Attributes:
        force: The `openmm.NonbondedForce`.
        styles: Those whose ordinary pairs it has.
    """

    def __init__(self, pairs: list[PairStyle], charges: Floats, *, periodic: bool, endless: bool) -> None:
        openmm = require_openmm()
        self.force = openmm.NonbondedForce()
        self.force.setUseDispersionCorrection(False)
        self.force.setUseSwitchingFunction(False)
        self.force.setExceptionsUsePeriodicBoundaryConditions(periodic)
        self.coulomb = next((one for one in pairs if one.reciprocal), None)
        if self.coulomb is None and not periodic:
            self.coulomb = next((one for one in pairs if one.plain_coulomb and not math.isfinite(one.cutoff)), None)
        cutoff = math.inf if endless else None if self.coulomb is None else self.coulomb.cutoff
        sizes = None
        lennard_jones = None
        for one in pairs:
            if one.label == "pair.lj/cut" and one.plain_lennard_jones and cutoff in (None, one.cutoff):
                sizes = one.mixes_arithmetically()
                lennard_jones, cutoff = (one, one.cutoff) if sizes is not None else (None, cutoff)
        self.styles = [one for one in (self.coulomb, lennard_jones) if one is not None]
        if not self.styles:
            return
        self._set_method(openmm.NonbondedForce, math.inf if cutoff is None else cutoff, periodic=periodic)
        self._charges = np.zeros_like(charges) if self.coulomb is None else self.coulomb.openmm_charges(charges)
        sigma, epsilon = (np.ones_like(charges), np.zeros_like(charges)) if sizes is None else sizes
        for values in zip(self._charges.tolist(), sigma.tolist(), epsilon.tolist(), strict=True):
            self.force.addParticle(*values)

    def _set_method(self, methods: Any, cutoff: float, *, periodic: bool) -> None:
        if self.coulomb is not None and self.coulomb.reciprocal:
            self.force.setNonbondedMethod(methods.PME)
            if self.coulomb.mesh is not None:
                self.force.setPMEParameters(*self.coulomb.mesh)
        elif math.isfinite(cutoff):
            self.force.setNonbondedMethod(methods.CutoffPeriodic if periodic else methods.CutoffNonPeriodic)
        else:
            self.force.setNonbondedMethod(methods.NoCutoff)
        if math.isfinite(cutoff):
            self.force.setCutoffDistance(cutoff)

    def exceptions(self, ends: list[list[int]], terms: list[NearTerms]) -> list[NearTerms]:
        """Make every near pair an exception; return the terms that have no place in them."""
        products, sigma, epsilon = np.zeros(len(ends)), np.ones(len(ends)), np.zeros(len(ends))
        filled = np.zeros(len(ends), dtype=np.bool_)
        pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
        left = []
        for one in terms:
            style, places = one.style, one.places
            endless = not math.isfinite(style.cutoff)
            if style is self.coulomb:
                scaled = self._charges[pairs[places]]
                products[places] = one.weights * scaled[:, 0] * scaled[:, 1]
            elif endless and style.plain_lennard_jones and not filled[places].any():
                sigma[places], epsilon[places] = one.by_pair["sigma"], one.weights * one.by_pair["epsilon"]
                filled[places] = True
            else:
                left.append(one)
        for (first, second), *values in zip(ends, products.tolist(), sigma.tolist(), epsilon.tolist(), strict=True):
            self.force.addException(first, second, *values)
        return left


def _custom(one: PairStyle, charges: Floats, ends: list[list[int]], *, periodic: bool, endless: bool) -> Any:
    """Return the ordinary pairs of one style as a force."""
    openmm = require_openmm()
    tables, priced = one.of_types()
    _, shared = one.parameters({name: np.zeros(0) for name in tables}, 0)
    text = one.expression(tables, shared)
    by_type = {_TABLE + name: values for name, values in tables.items()} if one.by_rows else {}
    conditions = []
    if one.by_rows and not priced.all():
        conditions.append(_PRICED + _TYPES)
        by_type[_PRICED] = priced.astype(np.float64)
    if endless and math.isfinite(one.cutoff):
        conditions.append(_within(one))
    if conditions:
        text = guarded(text, "*".join(conditions))
    text = "; ".join([text, *(f"{name}={_TABLE}{name}{_TYPES}" for name in tables)])
    force = openmm.CustomNonbondedForce(text)
    force.setName(one.label)
    columns: list[Floats] = []
    if one.form.charged:
        force.addPerParticleParameter("q")
        columns.append(one.charges(charges))
    if by_type:
        force.addPerParticleParameter(_TYPE)
        columns.append(np.where(one.labels < 0, len(priced) - 1, one.labels).astype(np.float64))
        for name, values in by_type.items():
            force.addTabulatedFunction(
                name, openmm.Discrete2DFunction(*values.shape, values.reshape(-1, order="F").tolist())
            )
    table = np.stack(columns, axis=1) if columns else np.zeros((len(charges), 0))
    for values_of_atom in table.tolist():
        force.addParticle(values_of_atom)
    for first, second in ends:
        force.addExclusion(first, second)
    if endless:
        force.setNonbondedMethod(force.NoCutoff)
    else:
        force.setCutoffDistance(one.cutoff)
        force.setNonbondedMethod(force.CutoffPeriodic if periodic else force.CutoffNonPeriodic)
    return force


def _within(style: PairStyle) -> str:
    """Return the condition that a pair is within a style's cutoff."""
    return f"step({style.cutoff!r}-r)"


def _near(terms: NearTerms, atoms: Any, charges: Floats, *, periodic: bool) -> Any:
    """Return near pairs of one style as a force."""
    style = terms.style
    text = style.expression(terms.by_pair, terms.shared)
    if math.isfinite(style.cutoff):
        text = guarded(text, _within(style))
    first, separator, rest = text.partition(";")
    force = require_openmm().CustomBondForce(f"{_WEIGHT}*({first}){separator}{rest}")
    force.setName(f"{style.label} of near pairs")
    force.setUsesPeriodicBoundaryConditions(periodic)
    columns: Mapping[str, Floats] = {_WEIGHT: terms.weights, **terms.by_pair}
    if style.form.charged:
        own = style.charges(charges)[atoms]
        columns = {**columns, "q1": own[:, 0], "q2": own[:, 1]}
    for name in columns:
        force.addPerBondParameter(name)
    for row, values in zip(atoms.tolist(), np.stack(list(columns.values()), axis=1).tolist(), strict=True):
        force.addBond(*row, values)
    return force
