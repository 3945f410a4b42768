"""Bonded terms of a force field as forces of an OpenMM system.

Where OpenMM has a force of the same energy it is taken; every other style becomes a custom force with the registry's
expression, or with the one the style carries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.agreement import check_agreement
from molrec.forcefield.forms import Floats, series_indices
from molrec.forcefield.linking import LinkedStyle
from molrec.forcefield.registry import VARIABLES
from molrec.forcefield.tables import Integers
from molrec.forcefield.terms import TermForm
from molrec.interop.openmm_expressions import (
    class2_angle,
    class2_dihedral,
    foreign,
    native,
    openmm_names,
    with_values,
)
from molrec.interop.openmm_import import require_openmm
from molrec.interop.openmm_units import OpenMMUnits

__all__ = ["BondedForces", "converted", "expression_of"]

_ARITY = {"r": 2, "theta": 3, "phi": 4, "chi": 4}
_CUSTOM = {"r": ("CustomBondForce", "addBond"), "theta": ("CustomAngleForce", "addAngle")}
_CUSTOM_TORSION = ("CustomTorsionForce", "addTorsion")
_CROSSED = {"angle.class2": class2_angle, "dihedral.class2": class2_dihedral}


def converted(form: TermForm, of: Mapping[str, Floats], units: OpenMMUnits) -> dict[str, Floats]:
    """Return prepared parameters in OpenMM's units; those of an unregistered style stay as they are.

    Args:
        form: The style.
        of: What `TermForm.prepared` returned.
        units: The units of the force field.
    """
    known = form.table.known
    if known is None:
        return dict(of)
    dimensions = {one.name: one.dimension for one in (*known.style_parameters, *known.parameters_of(of))}
    return {name: values * units.factor(dimensions[name]) for name, values in of.items()}


def expression_of(form: TermForm, of: Mapping[str, Floats], units: OpenMMUnits) -> str:
    """Return the energy of one term over OpenMM's variable.

    Args:
        form: The style, whose term depends on one variable.
        of: What `TermForm.prepared` returned.
        units: The units of the force field.
    """
    (variable, *_) = form.variables
    known = form.table.known
    if known is None:
        text = form.table.style.expression
        assert text is not None
        return foreign(text, variable, units.factor("length"), units.factor("energy"))
    formula = known.expression(of)
    assert formula is not None
    return native(formula, variable)


class BondedForces:
    """Adds the terms of bonded styles to a system.

    Args:
        system: An `openmm.System` with its particles; forces are added to it.
        field_units: The units of the force field, which say the Coulomb constant where an expression takes it.
        units: Their conversion.
        periodic: Whether bonds are taken at their nearest images.
    """

    def __init__(self, system: Any, field_units: Mapping[str, str], units: OpenMMUnits, *, periodic: bool) -> None:
        self._openmm = require_openmm()
        self._system = system
        self._field_units = field_units
        self._units = units
        self._periodic = periodic

    def add(self, linked: LinkedStyle) -> None:
        """Add the terms of one style.

        Raises:
            SchemaError: A style nothing prices (``reject-ff-unpriced``), a term that lacks a parameter
                (``reject-ff-missing-parameter``), or terms between another number of atoms
                (``reject-ff-endpoints``).
        """
        check_agreement(linked.table, self._field_units)
        form = TermForm(linked.table, self._field_units)
        atoms = _atoms(linked)
        prepared = form.prepared(linked.parameters, len(linked.rows), f"block {linked.block!r}")
        of = converted(form, prepared, self._units)
        match linked.label:
            case "bond.harmonic":
                self._native("HarmonicBondForce", "addBond", linked, atoms, [of["r0"], of["k"]])
            case "angle.harmonic":
                self._native("HarmonicAngleForce", "addAngle", linked, atoms, [of["theta0"], of["k"]])
            case "dihedral.rb":
                self._native("RBTorsionForce", "addTorsion", linked, atoms, [of[f"c{power}"] for power in range(6)])
            case "dihedral.periodic" | "dihedral.charmm" | "improper.periodic" | "improper.trefoil":
                self._cosines(linked, form, of, atoms)
            case "angle.class2" | "dihedral.class2":
                self._class2(linked, form, of, atoms)
            case _:
                self._custom(linked, form, of, atoms)

    def _native(self, kind: str, method: str, linked: LinkedStyle, atoms: Integers, columns: list[Floats]) -> None:
        force = self._started(getattr(self._openmm, kind)(), linked)
        add = getattr(force, method)
        for row, values in zip(atoms.tolist(), np.stack(columns, axis=1).tolist(), strict=True):
            add(*row, *values)

    def _started(self, force: Any, linked: LinkedStyle) -> Any:
        force.setName(linked.label)
        force.setUsesPeriodicBoundaryConditions(self._periodic)
        self._system.addForce(force)
        return force

    def _cosines(self, linked: LinkedStyle, form: TermForm, of: dict[str, Floats], atoms: Integers) -> None:
        """Add sums of cosines, as OpenMM's own torsions where every multiplicity is a positive integer."""
        suffixes = series_indices(of)
        # a set of parameters that a row does not have was filled with zeros
        present = {suffix: of[f"k{suffix}"] != 0.0 for suffix in suffixes}
        for suffix in suffixes:
            n = of[f"periodicity{suffix}"][present[suffix]]
            if ((n < 1.0) | (n != np.rint(n))).any():
                self._custom(linked, form, of, atoms)
                return
        force = self._started(self._openmm.PeriodicTorsionForce(), linked)
        orders = _orders(linked, atoms.shape[1])
        for suffix in suffixes:
            chosen = present[suffix]
            n = of[f"periodicity{suffix}"][chosen].astype(np.int64).tolist()
            phase, k = of[f"phase{suffix}"][chosen].tolist(), (of[f"k{suffix}"][chosen] / len(orders)).tolist()
            for order in orders:
                for row, *values in zip(atoms[chosen][:, list(order)].tolist(), n, phase, k, strict=True):
                    force.addTorsion(*row, *values)

    def _class2(self, linked: LinkedStyle, form: TermForm, of: dict[str, Floats], atoms: Integers) -> None:
        known = form.table.known
        assert known is not None
        if known.expression(of) is not None:
            self._custom(linked, form, of, atoms)
            return
        text = _CROSSED[linked.label](known.formula, of)
        force = self._started(self._openmm.CustomCompoundBondForce(atoms.shape[1], text), linked)
        for name in of:
            force.addPerBondParameter(name)
        for row, values in zip(atoms.tolist(), np.stack(list(of.values()), axis=1).tolist(), strict=True):
            force.addBond(row, values)

    def _custom(self, linked: LinkedStyle, form: TermForm, of: dict[str, Floats], atoms: Integers) -> None:
        """Add a custom force; what holds for all terms is written into its expression."""
        variable = form.variables[0]
        names = openmm_names(variable) if form.table.known is None else {}
        by_term = {names.get(name, name): values for name, values in of.items() if values.ndim}
        shared = {names.get(name, name): float(values) for name, values in of.items() if not values.ndim}
        text = with_values(expression_of(form, of, self._units), shared)
        orders = _orders(linked, atoms.shape[1])
        if len(orders) > 1:
            first, separator, rest = text.partition(";")
            text = f"({first})/{len(orders)}{separator}{rest}"
        kind, method = _CUSTOM.get(variable, _CUSTOM_TORSION)
        force = self._started(getattr(self._openmm, kind)(text), linked)
        for name in by_term:
            getattr(force, f"addPer{method.removeprefix('add')}Parameter")(name)
        table = np.stack(list(by_term.values()), axis=1) if by_term else np.zeros((len(atoms), 0))
        add = getattr(force, method)
        for order in orders:
            for row, values in zip(atoms[:, list(order)].tolist(), table.tolist(), strict=True):
                add(*row, values)


def _orders(linked: LinkedStyle, arity: int) -> tuple[tuple[int, ...], ...]:
    """Return the orders of a term's atoms that its energy is the mean over."""
    known = linked.table.known
    return known.orderings if known is not None and known.orderings else (tuple(range(arity)),)


def _atoms(linked: LinkedStyle) -> Integers:
    """Return the atoms a style's terms take their variables from."""
    arity = _ARITY[VARIABLES[linked.category]]
    atoms = linked.atoms[:, [0, -1]] if linked.category == "urey_bradley" else linked.atoms
    if atoms.shape[1] != arity:
        raise SchemaError(
            f"terms of {linked.label} are between {arity} atoms, the block {linked.block!r} has "
            f"{linked.atoms.shape[1]} endpoints",
            "reject-ff-endpoints",
        )
    return atoms
