"""An expression beside a registered style has to say the same; it is held against the registry at sample points."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.expression import parse_expression
from molrec.forcefield.forms import Floats
from molrec.forcefield.tables import StyleTable
from molrec.forcefield.units import coulomb_constant

__all__ = ["check_agreement"]

_POINTS = 64
#: Constants are often typed with six or seven digits.
_TOLERANCE = 1e-6


def check_agreement(table: StyleTable, units: Mapping[str, str]) -> None:
    """Hold the expression of a registered style against the registry; other styles pass.

    Parameters are taken from the style's own rows where it has some and made up where it has none, so that a number
    written into the expression counts as what it is in these rows.

    Args:
        table: The style.
        units: The units of the force field.

    Raises:
        SchemaError: They disagree, or the expression depends on other names (``reject-ff-expression-disagrees``).
    """
    known, text = table.known, table.style.expression
    if known is None or known.form is None or text is None:
        return
    expression = parse_expression(text)
    random = np.random.default_rng(20)
    variable = known.variables[0]
    constants = {name: value for name, value in table.style.params.items() if not isinstance(value, str)}
    of: dict[str, Floats] = {}
    for one in known.style_parameters:
        value = constants.get(one.name, one.default)
        if one.name == "coulomb" and value is None:
            value = coulomb_constant(units)
        of[one.name] = np.full(_POINTS, np.nan if value is None else value)
    # cutoff and shift are no part of an expression
    of["shift"] = np.zeros(_POINTS)
    rows = random.integers(0, max(1, len(table.rows)), _POINTS)
    for one in known.parameters_of(table.numbers):
        column = table.numbers.get(one.name)
        of[one.name] = random.uniform(0.5, 2.0, _POINTS) if column is None or not table.rows else column[rows]
        if one.group is not None or one.default is not None:
            of[one.name] = np.nan_to_num(of[one.name])
    at = {"q1": random.uniform(-1.0, 1.0, _POINTS), "q2": random.uniform(-1.0, 1.0, _POINTS)}
    if variable == "r":
        length = of.get("r0", of.get("sigma", np.ones(_POINTS)))
        at["r"] = random.uniform(0.7, 2.5, _POINTS) * np.where(length > 0.0, length, 1.0)
    else:
        at[variable] = random.uniform(0.1, 3.0, _POINTS) * (
            random.choice([-1.0, 1.0], _POINTS) if variable == "phi" else 1
        )
    stray = sorted(expression.names - of.keys() - at.keys() - constants.keys())
    if stray:
        raise _disagreement(table, text, f"it depends on {', '.join(stray)}, which that energy does not")
    # an expression knows one variable; the cross terms, which take more, are left out of both sides
    cross_terms = {one.name for one in known.parameters if one.group is not None}
    plain = {name: values for name, values in of.items() if name not in cross_terms}
    with np.errstate(all="ignore"):
        stated, _ = expression.evaluate({**constants, **plain, **at}, variable)
        meant, _ = known.form({variable: at[variable]}, {**plain, **at})
    scale = float(np.nanmax(np.abs(meant), initial=0.0))
    apart = ~(np.abs(stated - meant) <= _TOLERANCE * scale) & np.isfinite(meant)
    if apart.any():
        place = int(np.argmax(apart))
        raise _disagreement(
            table,
            text,
            f"at {variable} = {at[variable][place]:.6g} it gives {stated[place]:.9g}, not {meant[place]:.9g}",
        )


def _disagreement(table: StyleTable, text: str, what: str) -> SchemaError:
    own = table.known.expression(table.numbers) if table.known is not None else None
    return SchemaError(
        f"the expression {text!r} of {table.label} is not the energy registered under that name"
        + (f", {own!r}" if own else "")
        + f": {what}; correct it, or give the style a name of its own",
        "reject-ff-expression-disagrees",
    )
