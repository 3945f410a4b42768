"""GROMACS' interaction functions: the stored style of each, and its parameters in the order of the file.

One table serves reader and writer. Angles are degrees in the file and radians where they are stored. Functions that are
not here are refused by name.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from molrec.formats.forcefield_rows import degrees_of

__all__ = ["COULOMB", "FUNCTIONS", "SIGNED_IMPROPER", "Function", "function_of", "improper_style"]

#: GROMACS' Coulomb constant in kJ nm / (mol e^2).
COULOMB = 138.93545764438198

_TURN = 2.0 * math.pi
#: Half a spring on the signed dihedral angle, by the nearest image of its distance from the reference.
SIGNED_IMPROPER = f"0.5*k*(phi-xi0-{_TURN!r}*step(phi-xi0-{math.pi!r})+{_TURN!r}*step(-{math.pi!r}-phi+xi0))^2"


class Function(NamedTuple):
    """One function.

    Attributes:
        section: The section whose rows have it: ``bonds``, ``angles``, ``dihedrals``.
        number: Its number there.
        category: Category of the stored style.
        style: The stored style.
        parameters: In the order of the file; ``*`` marks an angle, ``/`` one stored as half of what the file has.
        expression: The energy, for a style that is not registered.
    """

    section: str
    number: int
    category: str
    style: str
    parameters: tuple[str, ...]
    expression: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the stored parameters."""
        return tuple(one.rstrip("*/") for one in self.parameters)

    def stored(self, numbers: list[float]) -> dict[str, float]:
        """Return stored parameters of the file's numbers."""
        return {
            one.rstrip("*/"): math.radians(value) if one.endswith("*") else (value / 2 if one.endswith("/") else value)
            for one, value in zip(self.parameters, numbers, strict=True)
        }

    def written(self, params: dict[str, float]) -> list[float]:
        """Return the file's numbers of stored parameters."""
        return [
            degrees_of(params[name]) if one.endswith("*") else (2 * params[name] if one.endswith("/") else params[name])
            for one, name in zip(self.parameters, self.names, strict=True)
        ]


def _function(section: str, number: int, style: str, parameters: str, expression: str | None = None) -> Function:
    category = {"bonds": "bond", "angles": "angle", "dihedrals": "dihedral", "constraints": "constraint"}[section]
    if section == "dihedrals" and number in (2, 4):
        category = "improper"
    return Function(section, number, category, style, tuple(parameters.split()), expression)


_ALL = (
    _function("bonds", 1, "harmonic", "r0 k"),
    _function("bonds", 2, "g96", "r0 k", "0.25*k*(r^2-r0^2)^2"),
    _function("bonds", 3, "morse", "r0 D alpha"),
    _function("bonds", 4, "cubic", "r0 k kc", "k*(r-r0)^2+k*kc*(r-r0)^3"),
    _function("bonds", 5, "connection", "", "0*r"),
    _function("bonds", 7, "fene", "rmax k", "-0.5*k*rmax^2*log(1-(r/rmax)^2)"),
    _function("constraints", 1, "fixed", "r0"),
    _function("constraints", 2, "fixed", "r0"),
    _function("angles", 1, "harmonic", "theta0* k"),
    _function("angles", 2, "g96", "theta0* k", "0.5*k*(cos(theta)-cos(theta0))^2"),
    _function("angles", 5, "urey-bradley", "theta0* k r13 kub"),
    _function(
        "angles",
        6,
        "quartic",
        "theta0* c0 c1 c2 c3 c4",
        "c0+c1*(theta-theta0)+c2*(theta-theta0)^2+c3*(theta-theta0)^3+c4*(theta-theta0)^4",
    ),
    _function("angles", 10, "restricted", "theta0* k", "0.5*k*(cos(theta)-cos(theta0))^2/sin(theta)^2"),
    _function("dihedrals", 1, "periodic", "phase* k periodicity"),
    _function("dihedrals", 2, "harmonic", "chi0* k/"),
    _function("dihedrals", 3, "rb", "c0 c1 c2 c3 c4 c5"),
    _function("dihedrals", 4, "periodic", "phase* k periodicity"),
    _function("dihedrals", 5, "opls", "k1 k2 k3 k4"),
    _function("dihedrals", 9, "periodic", "phase* k periodicity"),
    _function("dihedrals", 10, "restricted", "phi0* k", "0.5*k*(cos(phi)-cos(phi0))^2/sin(phi)^2"),
)

#: (section, number) -> the function.
FUNCTIONS: dict[tuple[str, int], Function] = {(one.section, one.number): one for one in _ALL}

#: Harmonic improper whose reference is neither 0 nor 180 degrees: the sign of the angle counts.
_SIGNED = Function("dihedrals", 2, "improper", "signed", ("xi0*", "k"), SIGNED_IMPROPER)


def function_of(category: str, style: str, expression: str | None) -> Function | None:
    """Return the function that has a stored style's energy, or None."""
    for one in (*_ALL, _SIGNED):
        if (one.category, one.style, one.expression) == (category, style, expression):
            return one
    return None


def improper_style(reference: float) -> Function:
    """Return the function a harmonic improper of a reference in degrees is stored as."""
    # |phi| is as far from 0 or pi as phi is from its nearest image; from any other angle it is not
    return FUNCTIONS["dihedrals", 2] if reference in (0.0, 180.0) else _SIGNED
