"""What the coefficients of LAMMPS' styles mean: their order in the file, and the stored parameters they become.

One table serves reader and writer. A stored number is the file's times a factor (harmonic bonds and angles:
``k = 2 K``; harmonic impropers: ``k = K``), an angle in degrees becomes radians. Styles the format has no registered
word for keep LAMMPS' name and carry an `expression`; styles that are not here are refused by name.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from molrec.forcefield.registry import registered

__all__ = [
    "COULOMB_CONSTANTS",
    "CROSS_TERMS",
    "IGNORED_STYLES",
    "LAYOUTS",
    "OWN_CUTOFF",
    "PAIR_LAYOUTS",
    "STORED_LAYOUTS",
    "Coefficient",
    "Layout",
    "PairLayout",
    "own_cutoff_expression",
]


class Coefficient(NamedTuple):
    """One coefficient.

    Attributes:
        name: The stored parameter.
        factor: What the file's number is multiplied with.
        degrees: Whether the file has degrees where radians are stored.
        integer: Whether LAMMPS takes whole numbers only.
    """

    name: str
    factor: float = 1.0
    degrees: bool = False
    integer: bool = False

    def stored(self, value: float) -> float:
        """Return the stored number of a number of the file."""
        return math.radians(value) if self.degrees else self.factor * value


class Layout(NamedTuple):
    """One bonded style.

    Attributes:
        lammps: Its name in LAMMPS.
        style: The stored style's name.
        coefficients: In the order of the file.
        expression: The energy, for a style that is not registered.
    """

    lammps: str
    style: str
    coefficients: tuple[Coefficient, ...]
    expression: str | None = None


class PairLayout(NamedTuple):
    """One pair style, which may be two stored ones: a dispersion part and a Coulomb part.

    Attributes:
        lammps: Its name in LAMMPS.
        style: Stored style of the parameters by pair of types, None for a Coulomb style alone.
        coefficients: In the order of the file.
        coulomb: Stored style of the Coulomb part, or None.
        mixes: How pairs without coefficients get them: as ``pair_modify`` says, always by one rule, or never ("").
    """

    lammps: str
    style: str | None
    coefficients: tuple[Coefficient, ...]
    coulomb: str | None
    mixes: str


def _plain(names: str) -> tuple[Coefficient, ...]:
    """Return coefficients by name; ``:deg`` marks degrees, ``:2`` a factor, ``:int`` whole numbers."""
    found = []
    for word in names.split():
        name, _, mark = word.partition(":")
        found.append(
            Coefficient(name, float(mark) if mark.isdecimal() else 1.0, degrees=mark == "deg", integer=mark == "int")
        )
    return tuple(found)


def _layout(lammps: str, names: str, style: str | None = None, expression: str | None = None) -> Layout:
    return Layout(lammps, style or lammps, _plain(names), expression)


_FENE = "-0.5*k*rmax^2*log(1-(r/rmax)^2)+step(2^(1/6)*sigma-r)*(4*epsilon*((sigma/r)^12-(sigma/r)^6)+epsilon)"

#: Kind -> LAMMPS' style -> layout. The dihedral styles fourier and nharmonic have lists of terms and stand beside.
LAYOUTS: dict[str, dict[str, Layout]] = {
    kind: {layout.lammps: layout for layout in layouts}
    for kind, layouts in {
        "bond": (
            _layout("harmonic", "k:2 r0"),
            _layout("morse", "D alpha r0"),
            _layout("class2", "r0 k2 k3 k4"),
            _layout("zero", "", None, "0*r"),
            _layout("gromos", "k r0", None, "k*(r^2-r0^2)^2"),
            _layout("fene", "k rmax epsilon sigma", None, _FENE),
        ),
        "angle": (
            _layout("harmonic", "k:2 theta0:deg"),
            _layout("class2", "theta0:deg k2 k3 k4"),
            _layout("zero", "", None, "0*theta"),
            _layout("cosine", "k", None, "k*(1+cos(theta))"),
            _layout("cosine/squared", "k theta0:deg", None, "k*(cos(theta)-cos(theta0))^2"),
            _layout(
                "quartic",
                "theta0:deg k2 k3 k4",
                None,
                "k2*(theta-theta0)^2+k3*(theta-theta0)^3+k4*(theta-theta0)^4",
            ),
        ),
        "dihedral": (
            _layout("harmonic", "k sign:int periodicity:int"),
            _layout("charmm", "k periodicity:int phase:deg w"),
            _layout("zero", "", None, "0*phi"),
            _layout("opls", "k1 k2 k3 k4"),
            _layout("multi/harmonic", "a1 a2 a3 a4 a5"),
            _layout("class2", "k1 phi1:deg k2 phi2:deg k3 phi3:deg"),
        ),
        "improper": (
            _layout("harmonic", "k chi0:deg"),
            _layout("zero", "", None, "0*chi"),
            _layout("cvff", "k sign:int periodicity:int"),
        ),
    }.items()
}

#: Kind -> stored style -> layout.
STORED_LAYOUTS: dict[str, dict[str, Layout]] = {
    kind: {layout.style: layout for layout in layouts.values()} for kind, layouts in LAYOUTS.items()
}

#: (kind, keyword of a script) -> (section of a data file, coefficients): the cross terms of class 2 styles.
CROSS_TERMS: dict[tuple[str, str], tuple[str, tuple[Coefficient, ...]]] = {
    ("angle", "bb"): ("BondBond Coeffs", _plain("bb_m bb_r1 bb_r2")),
    ("angle", "ba"): ("BondAngle Coeffs", _plain("ba_n1 ba_n2 ba_r1 ba_r2")),
    ("dihedral", "mbt"): ("MiddleBondTorsion Coeffs", _plain("mbt_k1 mbt_k2 mbt_k3 mbt_r2")),
    ("dihedral", "ebt"): (
        "EndBondTorsion Coeffs",
        _plain("ebt_b1 ebt_b2 ebt_b3 ebt_c1 ebt_c2 ebt_c3 ebt_r1 ebt_r3"),
    ),
    ("dihedral", "at"): (
        "AngleTorsion Coeffs",
        _plain("at_d1 at_d2 at_d3 at_e1 at_e2 at_e3 at_theta1:deg at_theta2:deg"),
    ),
    ("dihedral", "aat"): ("AngleAngleTorsion Coeffs", _plain("aat_k aat_theta1:deg aat_theta2:deg")),
    ("dihedral", "bb13"): ("BondBond13 Coeffs", _plain("bb13_k bb13_r1 bb13_r3")),
}

#: Pair styles that give no energy; of bonded ones, ``none`` means that there are no such terms at all.
IGNORED_STYLES = frozenset(("none", "zero"))

_LJ = _plain("epsilon sigma")
_STATED = "as stated"

PAIR_LAYOUTS: dict[str, PairLayout] = {
    layout.lammps: layout
    for layout in (
        PairLayout("lj/cut", "lj/cut", _LJ, None, _STATED),
        PairLayout("lj/cut/coul/cut", "lj/cut", _LJ, "coul/cut", _STATED),
        PairLayout("lj/cut/coul/long", "lj/cut", _LJ, "coul/long/pme", _STATED),
        PairLayout("mie/cut", "lj/cut", _plain("epsilon sigma n m"), None, _STATED),
        PairLayout("lj/class2", "lj/class2", _LJ, None, "sixthpower"),
        PairLayout("lj/class2/coul/cut", "lj/class2", _LJ, "coul/cut", "sixthpower"),
        PairLayout("lj/class2/coul/long", "lj/class2", _LJ, "coul/long/pme", "sixthpower"),
        PairLayout("buck", "buck", _plain("a rho c"), None, ""),
        PairLayout("buck/coul/cut", "buck", _plain("a rho c"), "coul/cut", ""),
        PairLayout("buck/coul/long", "buck", _plain("a rho c"), "coul/long/pme", ""),
        PairLayout("morse", "morse", _plain("d0 alpha r0"), None, ""),
        PairLayout("coul/cut", None, (), "coul/cut", _STATED),
        PairLayout("coul/long", None, (), "coul/long/pme", _STATED),
    )
}

#: Ending of the name of a stored pair style whose pairs of types have cutoffs of their own, `rcut`.
OWN_CUTOFF = "/own-cutoff"


def own_cutoff_expression(style: str) -> str | None:
    """Return the energy of a pair style of which every pair has a cutoff of its own, None for an unknown style."""
    known = registered("pair", style)
    return None if known is None or not known.formula else f"({known.formula})*step(rcut-r)"


#: Unit style -> the Coulomb constant LAMMPS uses, in energy times length over charge squared.
COULOMB_CONSTANTS: dict[str, float] = {
    "lj": 1.0,
    "real": 332.06371,
    "metal": 14.399645,
    "si": 8.9876e9,
    "cgs": 1.0,
    "electron": 1.0,
    "micro": 8.987556e6,
    "nano": 230.7078669,
}
