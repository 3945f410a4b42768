"""Factors from the units of a force field to those OpenMM calculates in: nm, kJ/mol, elementary charges, dalton."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from molrec.errors import SchemaError
from molrec.forcefield.expression import parse_expression
from molrec.formats.forcefield_openmm_names import UNITS
from molrec.model.forcefield_document import ForceFieldUnits

__all__ = ["OpenMMUnits"]

_RULE = "reject-ff-openmm-units"
#: Units of quantities a force field says nothing about (``docs/spec/vocabulary.md``).
_ASSUMED = {"charge": "e", "mass": "dalton", "angle": "radian"}


class OpenMMUnits:
    """Conversion of a force field's numbers.

    Energies by molecule and by mole are told apart by their unit, and so are masses. A quantity without a unit is
    refused once something asks for it.

    Args:
        units: The units of a force field or of a frame.

    Raises:
        SchemaError: The angle is another unit than the radian (``reject-ff-openmm-units``).
    """

    __slots__ = ("_factors", "_stated")

    def __init__(self, units: Mapping[str, str]) -> None:
        stated = ForceFieldUnits.model_validate(dict(units)).resolved()
        self._stated = _ASSUMED | stated
        self._factors: dict[str, float] = {}
        if abs(self.factor("angle") - 1.0) > 1e-12:
            raise SchemaError(
                f"angles are in {self._stated['angle']!r}; energies are functions of radians, so convert the angles "
                "and what is by angle, and state radian",
                _RULE,
            )

    def factor(self, dimension: str) -> float:
        """Return what a number of a dimension is multiplied by.

        Args:
            dimension: Such as ``energy/length^2``, made of ``length energy charge mass angle``, or ``1``.

        Raises:
            SchemaError: A quantity without a unit, or with one that is none of its kind (``reject-ff-openmm-units``).
        """
        if dimension not in self._factors:
            parsed = parse_expression(dimension)
            quantities = {name: self._quantity(name) for name in parsed.names}
            value, _ = parsed.evaluate(quantities, "")
            self._factors[dimension] = float(value)
        return self._factors[dimension]

    def _quantity(self, name: str) -> float:
        unit = self._stated.get(name)
        if unit is None:
            raise SchemaError(
                f"the units state no {name}, and OpenMM counts in {UNITS[name]}; state it, as in "
                f'{{"{name}": "{UNITS[name]}"}} for numbers that are in OpenMM\'s own unit',
                _RULE,
            )
        return _converted(unit, UNITS[name], name)


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()


@cache
def _converted(unit: str, wanted: str, name: str) -> float:
    import pint

    registry = _registry()
    try:
        given, target = registry.Quantity(1.0, unit), registry.Quantity(1.0, wanted)
        moles = given.dimensionality.get("[substance]", 0) - target.dimensionality.get("[substance]", 0)
        if name == "mass" and moles:
            # where energies are in kJ/mol a mass counts by mole; measured by atom the two differ in the ninth digit
            target, moles = registry.Quantity(1.0, "g/mol"), moles + 1
        # an amount by mole is Avogadro's number times smaller than the same by molecule
        given *= registry.Quantity(1.0, "avogadro_constant") ** moles
        factor = float(given.to(target.units).magnitude)
    except (pint.DimensionalityError, pint.UndefinedUnitError) as error:
        raise SchemaError(
            f"the {name} is in {unit!r}, which does not convert to OpenMM's {wanted} ({error}); convert the force "
            "field's numbers to units that do",
            _RULE,
        ) from error
    # a tenth is to be a tenth: what chains of prefixes leave in the last digit is rounding
    return float(f"{factor:.15g}")
