"""The registered styles: what each means, exactly (``docs/spec/forcefield.md``, registry).

A style that stands here has this energy and these parameters and no other; one that does not is priced by the
`expression` it carries, or not at all. Not here: reciprocal-space sums. ``pair.coul/long/pme`` is known, so that its
parameters have names and its special class is known, but it has no energy of one pair.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from molrec.forcefield import forms
from molrec.forcefield.forms import Form

__all__ = ["REGISTRY", "VARIABLES", "Parameter", "RegisteredStyle", "registered", "special_class"]

#: The variable of one term, by category; `chi` is the absolute value of `phi`. The spring of a `urey_bradley` term is
#: between the first and the last of its atoms, the outer ones of an angle.
VARIABLES: dict[str, str] = {
    "bond": "r",
    "angle": "theta",
    "dihedral": "phi",
    "improper": "chi",
    "pair": "r",
    "pair14": "r",
    "constraint": "r",
    "drude": "r",
    "urey_bradley": "r",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a style.

    Attributes:
        name: Its column in the table, or its key among the style's parameters.
        dimension: What it is made of: energy, length, angle, charge, mass; ``1`` for a number.
        default: Its value where nothing is stated; None where it has to be stated.
        group: Parameters of one group stand in a row together or not at all; without them, their part of the energy
            is not there.
        priced: Whether the energy of the term depends on it.
    """

    name: str
    dimension: str
    default: float | None = None
    group: str | None = None
    priced: bool = True


@dataclass(frozen=True, slots=True)
class RegisteredStyle:
    """One functional form.

    Attributes:
        category: Such as ``bond``.
        style: Such as ``harmonic``.
        parameters: What each row has.
        style_parameters: What holds for all rows.
        form: Energy and derivatives; None for a style that has no energy of one term.
        variables: Names of the variables the form takes; the first is the one of the category's expressions.
        formula: The energy of one term in Lepton syntax, cutoff and shift left out; empty where it depends on the
            columns a table has (see `expression`) or where there is none.
        special: ``lj`` or ``coul``: the weights of near pairs a pair style takes.
        numbered: Whether the parameters may carry numbers, one set for each summand.
        orderings: Orders of the atoms of a row, over which the energy is averaged.
        priced: False for a style whose energy is not a sum over terms.
    """

    category: str
    style: str
    parameters: tuple[Parameter, ...] = ()
    style_parameters: tuple[Parameter, ...] = ()
    form: Form | None = None
    variables: tuple[str, ...] = ()
    formula: str = ""
    special: str | None = None
    numbered: bool = False
    orderings: tuple[tuple[int, ...], ...] = ()
    priced: bool = True

    def parameters_of(self, names: Iterable[str]) -> tuple[Parameter, ...]:
        """Return the parameters a table with these columns has, numbered ones included."""
        if not self.numbered:
            return self.parameters
        suffixes = forms.series_indices(set(names)) or ("",)
        return tuple(
            Parameter(f"{one.name}{suffix}", one.dimension, group=f"{self.parameters[0].name}{suffix}")
            for suffix in suffixes
            for one in self.parameters
        )

    def knows(self, name: str) -> bool:
        """Tell whether a name is one of this style's parameters."""
        stem = re.sub(r"[0-9]+$", "", name) if self.numbered else name
        return any(stem == one.name for one in self.parameters)

    def expression(self, names: Iterable[str] = ()) -> str | None:
        """Return the energy of one term in Lepton syntax, written out for a table with these columns.

        Cutoff, shift and special-bond weights are no part of it. None where there is no such expression: the style has
        no energy, or its term depends on more than the category's variable.
        """
        columns = set(names)
        if self.numbered:
            suffixes = forms.series_indices(columns) or ("",)
            return "+".join(f"k{one}*(1+cos(periodicity{one}*phi-phase{one}))" for one in suffixes)
        if columns & {one.name for one in self.parameters if one.group is not None}:
            return None
        if self.form is forms.lennard_jones_pair and columns & {"n", "m"}:
            return "epsilon*n/(n-m)*(n/m)^(m/(n-m))*((sigma/r)^n-(sigma/r)^m)"
        return self.formula or None


def _energy(*names: str, per: str = "") -> tuple[Parameter, ...]:
    return tuple(Parameter(name, f"energy{per}") for name in names)


def _number(name: str, default: float | None = None) -> Parameter:
    return Parameter(name, "1", default)


_LENGTH0 = Parameter("r0", "length")
_THETA0 = Parameter("theta0", "angle")
_ALPHA = Parameter("alpha", "1/length")
_CUTOFF = Parameter("cutoff", "length", math.inf)
_WELL = (Parameter("epsilon", "energy"), Parameter("sigma", "length"))
_TORSION = (Parameter("k", "energy"), _number("periodicity"), Parameter("phase", "angle"))
_SIGNED = (Parameter("k", "energy"), _number("sign"), _number("periodicity"))
_EXPONENTS = (_number("n", 12.0), _number("m", 6.0))
_CROSS = (
    Parameter("bb_m", "energy/length^2", group="bond-bond"),
    Parameter("bb_r1", "length", group="bond-bond"),
    Parameter("bb_r2", "length", group="bond-bond"),
    Parameter("ba_n1", "energy/(length*angle)", group="bond-angle"),
    Parameter("ba_n2", "energy/(length*angle)", group="bond-angle"),
    Parameter("ba_r1", "length", group="bond-angle"),
    Parameter("ba_r2", "length", group="bond-angle"),
)


def _torsion_cross(group: str, *names: str) -> tuple[Parameter, ...]:
    """Return the parameters of one cross term of class 2 torsions: references by their name, the rest energies."""
    strength = {"mbt": "energy/length", "ebt": "energy/length", "at": "energy/angle", "aat": "energy/angle^2"}
    kinds = {"r": "length", "t": "angle"}
    return tuple(
        Parameter(f"{group}_{name}", kinds.get(name[0], strength.get(group, "energy/length^2")), group=group)
        for name in names
    )


_TORSION_CROSS = (
    *_torsion_cross("mbt", "k1", "k2", "k3", "r2"),
    *_torsion_cross("ebt", "b1", "b2", "b3", "c1", "c2", "c3", "r1", "r3"),
    *_torsion_cross("at", "d1", "d2", "d3", "e1", "e2", "e3", "theta1", "theta2"),
    *_torsion_cross("aat", "k", "theta1", "theta2"),
    *_torsion_cross("bb13", "k", "r1", "r3"),
)
_LENNARD_JONES = "4*epsilon*((sigma/r)^12-(sigma/r)^6)"
_QUARTIC = (Parameter("k2", "energy/length^2"), Parameter("k3", "energy/length^3"), Parameter("k4", "energy/length^4"))
_QUARTIC_ANGLE = (
    Parameter("k2", "energy/angle^2"),
    Parameter("k3", "energy/angle^3"),
    Parameter("k4", "energy/angle^4"),
)
_COULOMB = Parameter("coulomb", "energy*length/charge^2")

_STYLES = (
    RegisteredStyle("atom", "full", (Parameter("mass", "mass"), Parameter("charge", "charge"))),
    # -- bonds and angles ---------------------------------------------------------------------------------------------
    RegisteredStyle(
        "bond",
        "harmonic",
        (Parameter("k", "energy/length^2"), _LENGTH0),
        form=forms.harmonic_bond,
        variables=("r",),
        formula="0.5*k*(r-r0)^2",
    ),
    RegisteredStyle(
        "bond",
        "morse",
        (Parameter("D", "energy"), _ALPHA, _LENGTH0),
        form=forms.morse_bond,
        variables=("r",),
        formula="D*(1-exp(-alpha*(r-r0)))^2",
    ),
    RegisteredStyle(
        "bond",
        "class2",
        (_LENGTH0, *_QUARTIC),
        form=forms.class2_bond,
        variables=("r",),
        formula="k2*(r-r0)^2+k3*(r-r0)^3+k4*(r-r0)^4",
    ),
    RegisteredStyle(
        "angle",
        "harmonic",
        (Parameter("k", "energy/angle^2"), _THETA0),
        form=forms.harmonic_angle,
        variables=("theta",),
        formula="0.5*k*(theta-theta0)^2",
    ),
    RegisteredStyle(
        "angle",
        "class2",
        (_THETA0, *_QUARTIC_ANGLE, *_CROSS),
        form=forms.class2_angle,
        variables=("theta", "r12", "r23"),
        formula="k2*(theta-theta0)^2+k3*(theta-theta0)^3+k4*(theta-theta0)^4",
    ),
    # -- torsions -----------------------------------------------------------------------------------------------------
    RegisteredStyle("dihedral", "periodic", _TORSION, form=forms.periodic_torsion, variables=("phi",), numbered=True),
    RegisteredStyle(
        "dihedral",
        "opls",
        _energy("k1", "k2", "k3", "k4"),
        form=forms.opls_dihedral,
        variables=("phi",),
        formula="0.5*(k1*(1+cos(phi))+k2*(1-cos(2*phi))+k3*(1+cos(3*phi))+k4*(1-cos(4*phi)))",
    ),
    RegisteredStyle(
        "dihedral",
        "rb",
        _energy("c0", "c1", "c2", "c3", "c4", "c5"),
        form=forms.ryckaert_bellemans_dihedral,
        variables=("phi",),
        formula="c0-c1*cos(phi)+c2*cos(phi)^2-c3*cos(phi)^3+c4*cos(phi)^4-c5*cos(phi)^5",
    ),
    RegisteredStyle(
        "dihedral",
        "charmm",
        (*_TORSION, Parameter("w", "1", default=0.0, priced=False)),
        form=forms.fourier_dihedral,
        variables=("phi",),
        formula="k*(1+cos(periodicity*phi-phase))",
    ),
    RegisteredStyle(
        "dihedral",
        "harmonic",
        _SIGNED,
        form=forms.signed_cosine,
        variables=("phi",),
        formula="k*(1+sign*cos(periodicity*phi))",
    ),
    RegisteredStyle(
        "dihedral",
        "multi/harmonic",
        _energy("a1", "a2", "a3", "a4", "a5"),
        form=forms.polynomial_dihedral,
        variables=("phi",),
        formula="a1+a2*cos(phi)+a3*cos(phi)^2+a4*cos(phi)^3+a5*cos(phi)^4",
    ),
    RegisteredStyle(
        "dihedral",
        "class2",
        (
            *(one for n in "123" for one in (Parameter(f"k{n}", "energy"), Parameter(f"phi{n}", "angle"))),
            *_TORSION_CROSS,
        ),
        form=forms.class2_dihedral,
        variables=("phi", "r12", "r23", "r34", "theta123", "theta234"),
        formula="k1*(1-cos(phi-phi1))+k2*(1-cos(2*phi-phi2))+k3*(1-cos(3*phi-phi3))",
    ),
    RegisteredStyle(
        "improper",
        "harmonic",
        (Parameter("k", "energy/angle^2"), Parameter("chi0", "angle")),
        form=forms.harmonic_improper,
        variables=("chi",),
        formula="k*(chi-chi0)^2",
    ),
    RegisteredStyle("improper", "periodic", _TORSION, form=forms.periodic_torsion, variables=("phi",), numbered=True),
    RegisteredStyle(
        "improper",
        "cvff",
        _SIGNED,
        form=forms.signed_cosine,
        variables=("chi",),
        formula="k*(1+sign*cos(periodicity*chi))",
    ),
    RegisteredStyle(
        "improper",
        "trefoil",
        _TORSION,
        form=forms.periodic_torsion,
        variables=("phi",),
        numbered=True,
        # the three cyclic orders of the outer atoms, which share one handedness, about the central second atom
        orderings=((0, 1, 2, 3), (2, 1, 3, 0), (3, 1, 0, 2)),
    ),
    # -- pairs --------------------------------------------------------------------------------------------------------
    RegisteredStyle(
        "pair",
        "lj/cut",
        _WELL,
        (_CUTOFF, *_EXPONENTS, _number("shift", 0.0)),
        forms.lennard_jones_pair,
        ("r",),
        _LENNARD_JONES,
        "lj",
    ),
    RegisteredStyle(
        "pair",
        "lj/class2",
        _WELL,
        (_CUTOFF,),
        forms.class2_pair,
        ("r",),
        "epsilon*(2*(sigma/r)^9-3*(sigma/r)^6)",
        "lj",
    ),
    RegisteredStyle(
        "pair",
        "buck",
        (Parameter("a", "energy"), Parameter("rho", "length"), Parameter("c", "energy*length^6")),
        (_CUTOFF,),
        forms.buckingham_pair,
        ("r",),
        "a*exp(-r/rho)-c/r^6",
        "lj",
    ),
    RegisteredStyle(
        "pair",
        "morse",
        (Parameter("d0", "energy"), _ALPHA, _LENGTH0),
        (_CUTOFF,),
        forms.morse_pair,
        ("r",),
        "d0*((1-exp(-alpha*(r-r0)))^2-1)",
        "lj",
    ),
    RegisteredStyle(
        "pair",
        "coul/cut",
        (),
        (_COULOMB, _number("dielectric", 1.0), Parameter("delta", "length", 0.0), _CUTOFF),
        forms.coulomb_pair,
        ("r",),
        "coulomb*q1*q2/(dielectric*(r+delta))",
        "coul",
    ),
    RegisteredStyle(
        "pair",
        "coul/long/pme",
        (),
        (_COULOMB, _CUTOFF, _ALPHA, *(_number(name) for name in ("order", "grid_x", "grid_y", "grid_z"))),
        special="coul",
        priced=False,
    ),
    RegisteredStyle(
        "pair14",
        "lj/cut",
        _WELL,
        (_CUTOFF, *_EXPONENTS, _number("shift", 0.0)),
        forms.lennard_jones_pair,
        ("r",),
        _LENNARD_JONES,
    ),
    # -- constraints, built sites, Drude particles --------------------------------------------------------------------
    RegisteredStyle("constraint", "fixed", (_LENGTH0,)),
    RegisteredStyle("virtual_site", "average2", (_number("w1"), _number("w2"))),
    RegisteredStyle("virtual_site", "average3", (_number("w1"), _number("w2"), _number("w3"))),
    RegisteredStyle("virtual_site", "outofplane3", (_number("w12"), _number("w13"), Parameter("wcross", "1/length"))),
    RegisteredStyle(
        "drude",
        "harmonic",
        (
            Parameter("k", "energy/length^2"),
            Parameter("alpha", "length^3", priced=False),
            Parameter("thole", "1", priced=False),
        ),
        form=forms.harmonic_drude,
        variables=("r",),
        formula="0.5*k*r^2",
    ),
)

#: (category, style) -> what is registered.
REGISTRY: dict[tuple[str, str], RegisteredStyle] = {(one.category, one.style): one for one in _STYLES}


def registered(category: str, style: str) -> RegisteredStyle | None:
    """Return what is registered for a style, or None."""
    return REGISTRY.get((category, style))


def special_class(style: str, stated: object = None) -> str:
    """Return which special-bond weights a pair style takes: ``lj`` or ``coul``.

    Args:
        style: Name of the pair style.
        stated: Its parameter ``special``, which counts for styles that are not registered; ``lj`` without it.
    """
    known = registered("pair", style)
    if known is not None and known.special is not None:
        return known.special
    return "coul" if stated == "coul" else "lj"
