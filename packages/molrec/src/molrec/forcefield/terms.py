"""How the terms of one style are priced: by what is registered, or by the expression the style carries."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.expression import Expression, parse_expression
from molrec.forcefield.forms import Floats
from molrec.forcefield.registry import VARIABLES, Parameter, special_class
from molrec.forcefield.tables import Flags, StyleTable
from molrec.forcefield.units import coulomb_constant

__all__ = ["TermForm"]

_MISSING = "reject-ff-missing-parameter"


class TermForm:
    """The energy of one term of a style.

    Args:
        table: The style.
        units: The units of the force field, which say the Coulomb constant where the style states none.

    Attributes:
        variables: Names of the variables a term depends on.
        cutoff: Where its pairs end, infinite without one.
        special: ``lj`` or ``coul``: the weights a pair style takes.
        charged: Whether a pair's energy takes the charges ``q1`` and ``q2``.

    Raises:
        SchemaError: Nothing says what the style's terms cost (``reject-ff-unpriced``), or it states no number that it
            needs (``reject-ff-missing-parameter``).
    """

    __slots__ = ("_constants", "_expression", "charged", "cutoff", "special", "table", "variables")

    def __init__(self, table: StyleTable, units: Mapping[str, str]) -> None:
        self.table = table
        style, known = table.style, table.known
        self._constants: dict[str, Floats] = {
            name: np.asarray(float(value)) for name, value in style.params.items() if not isinstance(value, str)
        }
        self._expression: Expression | None = None
        if known is not None:
            if known.form is None:
                raise SchemaError(
                    f"the style {table.label} is known, but its energy is no sum over terms, and is not priced "
                    "here; give a style whose energy is, such as pair.coul/cut, or leave it out",
                    "reject-ff-unpriced",
                )
            self.variables = known.variables
            self._fill_style_parameters(known.style_parameters, units)
            self.charged = known.special == "coul"
        elif style.expression is not None:
            self._expression = parse_expression(style.expression)
            self.variables = (self._variable(self._expression),)
            self.charged = style.category in ("pair", "pair14") and bool(self._expression.names & {"q1", "q2"})
            if "coulomb" in self._expression.names:
                self._fill_style_parameters((Parameter("coulomb", "energy*length/charge^2"),), units)
        else:
            raise SchemaError(
                f"the style {table.label} is not registered and carries no expression, so that nothing says what its "
                "terms cost; give it an expression",
                "reject-ff-unpriced",
            )
        self.cutoff = float(self._constants.get("cutoff", math.inf))
        self.special = special_class(style.name, style.params.get("special"))

    def _fill_style_parameters(self, parameters: tuple[Parameter, ...], units: Mapping[str, str]) -> None:
        for one in parameters:
            if one.name in self._constants:
                continue
            value = coulomb_constant(units) if one.name == "coulomb" else one.default
            if value is not None:
                self._constants[one.name] = np.asarray(value)
            else:
                raise SchemaError(
                    f"the style {self.table.label} states no {one.name!r}, and the units of the force field do not "
                    "say it either; state it in the style's params",
                    _MISSING,
                )

    def _variable(self, expression: Expression) -> str:
        """Return the variable an expression depends on; an improper's may be the signed `phi` as well."""
        category = self.table.style.category
        variable = VARIABLES.get(category)
        if variable is None:
            raise SchemaError(
                f"the style {self.table.label} is of a category whose terms have no variable, so that its expression "
                "cannot be evaluated",
                "reject-ff-unpriced",
            )
        taken = self.table.numbers.keys() | self._constants.keys()
        if variable in taken:
            raise SchemaError(
                f"the style {self.table.label} has a parameter {variable!r}, which is the variable of its terms; "
                "rename it",
                "reject-ff-expression",
            )
        if category == "improper" and "phi" in expression.names - taken:
            if "chi" in expression.names:
                raise SchemaError(
                    f"the expression of {self.table.label} uses both phi and chi; chi is the absolute value of phi",
                    "reject-ff-expression",
                )
            return "phi"
        return variable

    def prepared(self, parameters: Mapping[str, Floats], count: int, where: str) -> dict[str, Floats]:
        """Return what `evaluate` takes: every parameter of every term.

        Args:
            parameters: Parameter to float64 ``(count,)`` with NaN where absent.
            count: Number of terms.
            where: What the terms are, for messages.

        Raises:
            SchemaError: A term lacks a parameter (``reject-ff-missing-parameter``).
        """
        known = self.table.known
        if known is None:
            assert self._expression is not None
            free = self._expression.names - {*self.variables, "q1", "q2"}
            columns = {name: column for name, column in parameters.items() if name in free}
            for name, column in columns.items():
                if name not in self._constants:
                    self._refuse_missing(np.isnan(column), name, where)
            constants = {name: value for name, value in self._constants.items() if name in free}
            # a row's own value counts before the style's
            for name, value in constants.items():
                if name in columns:
                    columns[name] = np.where(np.isnan(columns[name]), value, columns[name])
            return constants | columns
        values = {one.name: self._constants[one.name] for one in known.style_parameters}
        groups: dict[str, list[Parameter]] = {}
        for one in known.parameters_of(parameters):
            if not one.priced:
                continue
            if one.group is not None:
                groups.setdefault(one.group, []).append(one)
                continue
            column = parameters.get(one.name, np.full(count, np.nan))
            missing = np.isnan(column)
            if one.default is None:
                self._refuse_missing(missing, one.name, where)
                values[one.name] = column
            else:
                values[one.name] = np.where(missing, one.default, column)
        some = np.zeros(count, dtype=np.bool_)
        for members in groups.values():
            some |= self._fill_group(members, parameters, values, where)
        if known.numbered:
            self._refuse_missing(~some, known.parameters[0].name, where)
        return values

    def _fill_group(
        self, members: list[Parameter], parameters: Mapping[str, Floats], values: dict[str, Floats], where: str
    ) -> Flags:
        """Fill in parameters that stand together; return the terms that have them, the others getting zeros."""
        columns = {one.name: parameters[one.name] for one in members if one.name in parameters}
        if not columns:
            return np.zeros(1, dtype=np.bool_)
        stated = {name: ~np.isnan(column) for name, column in columns.items()}
        some: Flags = np.logical_or.reduce(list(stated.values()))
        for one in members:
            self._refuse_missing(some & ~stated.get(one.name, np.zeros(len(some), dtype=np.bool_)), one.name, where)
            if some.any():
                values[one.name] = np.where(some, columns[one.name], 0.0)
        return some

    def _refuse_missing(self, missing: Flags, name: str, where: str) -> None:
        if missing.any():
            raise SchemaError(
                f"{where}: {int(missing.sum())} terms of {self.table.label} have no {name!r}, the first of them "
                f"term {int(np.argmax(missing))}; give it in the style's table or with the terms",
                _MISSING,
            )

    def evaluate(self, at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
        """Return energies of terms and their derivatives by variable.

        Args:
            at: Variable to float64 ``(n,)``; the charges of charged pairs too.
            of: What `prepared` returned, of the same terms.
        """
        known = self.table.known
        if known is not None and known.form is not None:
            with np.errstate(all="ignore"):
                return known.form({name: at[name] for name in self.variables}, {**of, **at})
        assert self._expression is not None
        (variable,) = self.variables
        energy, slope = self._expression.evaluate({**of, **at}, variable)
        return energy, {variable: slope}
