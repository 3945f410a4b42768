"""What the units of a force field say: whether positions are in them, and the Coulomb constant they imply."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from molrec.errors import SchemaError
from molrec.model.forcefield_document import ForceFieldUnits

__all__ = ["check_same_length", "coulomb_constant"]


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()


@cache
def _coulomb(length: str, energy: str, charge: str) -> float:
    import pint

    registry = _registry()
    try:
        one_charge = registry.Quantity(1.0, charge)
        target = registry.Quantity(1.0, energy) * registry.Quantity(1.0, length) / one_charge**2
        # in Gaussian units charges are measured by the force between them
        gaussian = "[current]" not in one_charge.dimensionality
        constant = 1.0 if gaussian else 1.0 / (4.0 * math.pi * registry.Quantity(1.0, "vacuum_permittivity"))
        if target.dimensionality.get("[substance]", 0) == -1:
            constant *= registry.Quantity(1.0, "avogadro_constant")
        return float((constant / target).to("dimensionless").magnitude)
    except (pint.DimensionalityError, pint.UndefinedUnitError) as error:
        raise SchemaError(
            f"the units of the force field, {energy!r}, {length!r} and {charge!r}, say no Coulomb constant ({error}); "
            "state `coulomb` in the params of the style",
            "reject-ff-missing-parameter",
        ) from error


def coulomb_constant(units: Mapping[str, str]) -> float | None:
    """Return ``1/(4 pi epsilon_0)`` in the units of a force field, in energy times length by charge squared.

    Charges are in elementary charges where the units do not say (``docs/spec/vocabulary.md``). In reduced units the
    constant is one. CODATA's value: engines use their own, a few parts in 10^8 away, which a style states as
    ``coulomb``.

    Returns:
        None where the units state no length or no energy.

    Raises:
        SchemaError: They are no units of length, energy and charge (``reject-ff-missing-parameter``).
    """
    if units.get("preset") == "lj":
        return 1.0
    stated = ForceFieldUnits.model_validate(dict(units)).resolved()
    if "length" not in stated or "energy" not in stated:
        return None
    return _coulomb(stated["length"], stated["energy"], stated.get("charge", "e"))


def check_same_length(frame_units: Mapping[str, str] | None, field_units: Mapping[str, str]) -> None:
    """Refuse positions in another length unit than the force field's; nothing is checked where one states none.

    Raises:
        SchemaError: The units differ (``reject-ff-units-differ``).
    """
    if frame_units is None:
        return
    own = ForceFieldUnits.model_validate(dict(frame_units)).resolved().get("length")
    wanted = ForceFieldUnits.model_validate(dict(field_units)).resolved().get("length")
    if own is None or wanted is None or own == wanted:
        return
    registry = _registry()
    if not math.isclose(registry.Quantity(1.0, own).to(wanted).magnitude, 1.0, rel_tol=1e-9):
        raise SchemaError(
            f"positions are in {own} and the force field is in {wanted}; convert the positions, and the frame's units "
            "with them",
            "reject-ff-units-differ",
        )
