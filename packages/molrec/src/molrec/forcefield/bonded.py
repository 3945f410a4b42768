"""Energies and forces of the bonded styles: bonds, angles, torsions, Drude springs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.agreement import check_agreement
from molrec.forcefield.forms import Floats
from molrec.forcefield.geometry import scatter, variables
from molrec.forcefield.linking import LinkedStyle
from molrec.forcefield.periodic import Periodicity
from molrec.forcefield.registry import VARIABLES
from molrec.forcefield.terms import TermForm

__all__ = ["bonded_energies"]

#: Atoms a term of a category takes its variable from.
_ARITY = {"r": 2, "theta": 3, "phi": 4, "chi": 4}


def bonded_energies(
    linked: LinkedStyle, positions: Floats, cell: Periodicity, units: Mapping[str, str], forces: Floats | None
) -> Floats:
    """Return the energy of every term of one style; add its forces where an array for them is given.

    Args:
        linked: The terms and their parameters.
        positions: Float64 ``(atoms, 3)``.
        cell: The periodic directions.
        units: The units of the force field.
        forces: Float64 ``(atoms, 3)``, changed in place, or None.

    Raises:
        SchemaError: A style that is not priced (``reject-ff-unpriced``), a term without a parameter
            (``reject-ff-missing-parameter``), or one that has no energy or force where its atoms are
            (``reject-ff-not-finite``).
    """
    check_agreement(linked.table, units)
    form = TermForm(linked.table, units)
    arity = _ARITY[VARIABLES[linked.category]]
    row_atoms = linked.atoms
    if linked.category == "urey_bradley":
        row_atoms = row_atoms[:, [0, -1]]
    if row_atoms.shape[1] != arity:
        raise SchemaError(
            f"terms of {linked.label} are between {arity} atoms, the block {linked.block!r} has "
            f"{linked.atoms.shape[1]} endpoints",
            "reject-ff-endpoints",
        )
    of = form.prepared(linked.parameters, len(linked.rows), f"block {linked.block!r}")
    known = linked.table.known
    orderings = known.orderings if known is not None and known.orderings else (tuple(range(arity)),)
    total = np.zeros(len(linked.rows))
    share = 1.0 / len(orderings)
    for order in orderings:
        atoms = row_atoms[:, list(order)]
        at = variables(form.variables, positions, atoms, cell)
        energy, slopes = form.evaluate({name: one.values for name, one in at.items()}, of)
        _refuse_infinite(linked, energy, "energy")
        total += share * energy
        if forces is None:
            continue
        for name, slope in slopes.items():
            _refuse_infinite(linked, slope, f"derivative by {name}")
        for name, slope in slopes.items():
            for place, gradient in zip(at[name].places, at[name].gradients, strict=True):
                scatter(forces, atoms[:, place], (-share * slope)[:, None] * gradient)
    return total


def _refuse_infinite(linked: LinkedStyle, values: Floats, what: str) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        place = int(np.argmin(finite))
        raise SchemaError(
            f"block {linked.block!r}, row {int(linked.rows[place])}: a term of {linked.label} has the {what} "
            f"{values[place]} where its atoms {linked.atoms[place].tolist()} are",
            "reject-ff-not-finite",
        )
