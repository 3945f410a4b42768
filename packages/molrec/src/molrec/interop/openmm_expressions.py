"""Energies of single terms as OpenMM's custom forces take them.

OpenMM reads the same Lepton syntax as a force field's `expression`, with variables of its own names, and wants
definitions after what uses them. Parameters of a registered style are converted one by one. What the parameters of an
unregistered one measure nobody knows, so they stay as they are: the variable is converted to the force field's unit
instead, and the energy back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from molrec.forcefield.expression import parse_expression

__all__ = ["class2_angle", "class2_dihedral", "foreign", "guarded", "native", "openmm_names", "renamed", "with_values"]

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
#: What OpenMM calls the angle of a torsion; a parameter of that name has to give way.
_TORSION = {"phi": "theta", "chi": "abs(theta)"}
_OUT_OF_THE_WAY = "molrec_theta"


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return an expression with other names; all are replaced at once."""
    return _NAME.sub(lambda match: names.get(match[0], match[0]), text)


def openmm_names(variable: str) -> dict[str, str]:
    """Return the names to replace in an expression of a variable, and in the parameters it takes."""
    return {variable: _TORSION[variable], "theta": _OUT_OF_THE_WAY} if variable in _TORSION else {}


def native(text: str, variable: str) -> str:
    """Return the formula of a registered style over OpenMM's variable; its parameters are to be in OpenMM's units."""
    return renamed(text, openmm_names(variable))


def foreign(text: str, variable: str, length: float, energy: float) -> str:
    """Return the expression of an unregistered style, its parameters being in the force field's units.

    Args:
        text: The expression, its definitions in any order.
        variable: ``r``, ``theta``, ``phi`` or ``chi``.
        length: Nanometres in the force field's unit of length.
        energy: kJ/mol in its unit of energy.
    """
    distance = variable == "r"
    first, rest = _parts(renamed(text, {"r": "molrec_r"} if distance else openmm_names(variable)))
    scale = [f"molrec_r=r/{length!r}"] if distance else []
    return "; ".join([f"{energy!r}*molrec_energy", f"molrec_energy={first}", *rest, *scale])


def with_values(text: str, values: Mapping[str, float]) -> str:
    """Return an expression with the names it takes from `values` defined; names it does not use are left out."""
    used = parse_expression(text).names
    return "; ".join([text, *(f"{name}={value!r}" for name, value in values.items() if name in used)])


def guarded(text: str, condition: str) -> str:
    """Return an expression that is zero where a condition is zero, whatever it would be there."""
    first, rest = _parts(text)
    return "; ".join([f"select({condition}, molrec_guarded, 0)", f"molrec_guarded={first}", *rest])


def _parts(text: str) -> tuple[str, list[str]]:
    """Return the formula and its definitions, each before those it uses, which is the order OpenMM reads."""
    first, *rest = (part.strip() for part in text.split(";"))
    waiting = {name.strip(): formula.strip() for name, _, formula in (part.partition("=") for part in rest if part)}
    uses = {name: parse_expression(formula).names & waiting.keys() for name, formula in waiting.items()}
    ordered: list[str] = []
    while len(ordered) < len(waiting):
        # no circle: the parser has refused those
        ordered += [name for name, used in uses.items() if name not in ordered and used <= set(ordered)]
    return first, [f"{name}={waiting[name]}" for name in reversed(ordered)]


# -- terms of more than one variable ----------------------------------------------------------------------------------

_ANGLE_CROSS = {
    "bb_m": "bb_m*(r12-bb_r1)*(r23-bb_r2)",
    "ba_n1": "(ba_n1*(r12-ba_r1)+ba_n2*(r23-ba_r2))*(theta-theta0)",
}
_DIHEDRAL_CROSS = {
    "mbt_k1": "(r23-mbt_r2)*(mbt_k1*cos(phi)+mbt_k2*cos(2*phi)+mbt_k3*cos(3*phi))",
    "ebt_b1": (
        "(r12-ebt_r1)*(ebt_b1*cos(phi)+ebt_b2*cos(2*phi)+ebt_b3*cos(3*phi))"
        "+(r34-ebt_r3)*(ebt_c1*cos(phi)+ebt_c2*cos(2*phi)+ebt_c3*cos(3*phi))"
    ),
    "at_d1": (
        "(theta123-at_theta1)*(at_d1*cos(phi)+at_d2*cos(2*phi)+at_d3*cos(3*phi))"
        "+(theta234-at_theta2)*(at_e1*cos(phi)+at_e2*cos(2*phi)+at_e3*cos(3*phi))"
    ),
    "aat_k": "aat_k*(theta123-aat_theta1)*(theta234-aat_theta2)*cos(phi)",
    "bb13_k": "bb13_k*(r12-bb13_r1)*(r34-bb13_r3)",
}
_VARIABLES = {
    "theta": "angle(p1,p2,p3)",
    "theta123": "angle(p1,p2,p3)",
    "theta234": "angle(p2,p3,p4)",
    "phi": "dihedral(p1,p2,p3,p4)",
    "r12": "distance(p1,p2)",
    "r23": "distance(p2,p3)",
    "r34": "distance(p3,p4)",
}


def class2_angle(formula: str, parameters: Mapping[str, object]) -> str:
    """Return a class 2 angle with the cross terms its parameters have, over the points ``p1`` to ``p3``."""
    return _crossed(formula, _ANGLE_CROSS, parameters)


def class2_dihedral(formula: str, parameters: Mapping[str, object]) -> str:
    """Return a class 2 torsion with the cross terms its parameters have, over the points ``p1`` to ``p4``."""
    return _crossed(formula, _DIHEDRAL_CROSS, parameters)


def _crossed(formula: str, cross: Mapping[str, str], parameters: Mapping[str, object]) -> str:
    whole = "+".join([formula, *(term for key, term in cross.items() if key in parameters)])
    used = parse_expression(whole).names
    return "; ".join([whole, *(f"{name}={value}" for name, value in _VARIABLES.items() if name in used)])
