"""What reader and writer of force-field XML agree on: units, constants, and how an energy is spelled on either side."""

from __future__ import annotations

import re

__all__ = [
    "ABSOLUTE_TORSION",
    "COULOMB",
    "RB_IMPROPER",
    "SIGNED_TORSION",
    "UNITS",
    "openmm_expression",
    "stored_expression",
]

#: Units of every number in the files.
UNITS = {"length": "nm", "energy": "kJ/mol", "angle": "radian", "charge": "e", "mass": "dalton", "time": "ps"}
#: OpenMM's Coulomb constant in kJ nm / (mol e^2): Avogadro e^2 / (4 pi epsilon0) of CODATA 2018.
COULOMB = 138.93545764438198
#: CHARMM's impropers in OpenMM; with a reference of 0 they are improper.harmonic.
SIGNED_TORSION = "k*(theta-theta0)^2"
#: improper.harmonic of any reference, as OpenMM can compute it.
ABSOLUTE_TORSION = "k*(abs(theta)-theta0)^2"

#: Ryckaert-Bellemans terms of an improper, which the registry has for dihedrals only.
RB_IMPROPER = "c0-c1*cos(phi)+c2*cos(phi)^2-c3*cos(phi)^3+c4*cos(phi)^4-c5*cos(phi)^5"

_TORSIONS = ("dihedral", "improper")


def stored_expression(category: str, energy: str) -> str:
    """Return a custom force's energy with the variable's stored name; OpenMM calls a dihedral angle theta."""
    if category not in _TORSIONS:
        return energy
    absolute = re.sub(r"\babs\(theta\)", "chi", energy) if category == "improper" else energy
    return re.sub(r"\btheta\b", "phi", absolute)


def openmm_expression(category: str, expression: str) -> str:
    """Return an expression with the variables OpenMM gives a custom force."""
    if category not in _TORSIONS:
        return expression
    return re.sub(r"\bchi\b", "abs(theta)", re.sub(r"\bphi\b", "theta", expression))
