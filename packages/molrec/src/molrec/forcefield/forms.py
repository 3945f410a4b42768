"""Energy of one term and its derivative, for every registered functional form (``docs/spec/forcefield.md``, registry).

A form takes the values of its variables and its parameters, all arrays of one term each, and returns the energies and
the derivatives by each variable. Lengths, energies and charges are in whatever units the parameters are in; angles are
radians.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

__all__ = [
    "Floats",
    "Form",
    "buckingham_pair",
    "class2_angle",
    "class2_bond",
    "class2_dihedral",
    "class2_pair",
    "coulomb_pair",
    "fourier_dihedral",
    "harmonic_angle",
    "harmonic_bond",
    "harmonic_drude",
    "harmonic_improper",
    "lennard_jones_pair",
    "morse_bond",
    "morse_pair",
    "opls_dihedral",
    "periodic_torsion",
    "polynomial_dihedral",
    "ryckaert_bellemans_dihedral",
    "series_indices",
    "signed_cosine",
]

type Floats = npt.NDArray[np.float64]
#: Variables and parameters, by name, to energies and their derivatives by variable.
type Form = Callable[[Mapping[str, Floats], Mapping[str, Floats]], tuple[Floats, dict[str, Floats]]]


def harmonic_bond(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``1/2 k (r - r0)^2``."""
    stretch = at["r"] - of["r0"]
    return 0.5 * of["k"] * stretch**2, {"r": of["k"] * stretch}


def morse_bond(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``D (1 - exp(-alpha (r - r0)))^2``."""
    decay = np.exp(-of["alpha"] * (at["r"] - of["r0"]))
    return of["D"] * (1.0 - decay) ** 2, {"r": 2.0 * of["D"] * of["alpha"] * (1.0 - decay) * decay}


def _quartic(delta: Floats, of: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    energy = delta**2 * (of["k2"] + delta * (of["k3"] + delta * of["k4"]))
    return energy, delta * (2.0 * of["k2"] + delta * (3.0 * of["k3"] + delta * 4.0 * of["k4"]))


def class2_bond(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``k2 d^2 + k3 d^3 + k4 d^4`` with ``d = r - r0``."""
    energy, slope = _quartic(at["r"] - of["r0"], of)
    return energy, {"r": slope}


def harmonic_angle(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``1/2 k (theta - theta0)^2``."""
    bend = at["theta"] - of["theta0"]
    return 0.5 * of["k"] * bend**2, {"theta": of["k"] * bend}


def class2_angle(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``k2 d^2 + k3 d^3 + k4 d^4`` with ``d = theta - theta0``, and the cross terms where rows have them.

    Bond-bond ``bb_m (r12 - bb_r1) (r23 - bb_r2)`` and bond-angle ``(ba_n1 (r12 - ba_r1) + ba_n2 (r23 - ba_r2)) d``;
    ``r12`` is the first bond of the row, ``r23`` the second.
    """
    bend = at["theta"] - of["theta0"]
    energy, slope = _quartic(bend, of)
    slopes = {"theta": slope}
    if "bb_m" in of:
        first, second = at["r12"] - of["bb_r1"], at["r23"] - of["bb_r2"]
        energy = energy + of["bb_m"] * first * second
        slopes["r12"], slopes["r23"] = of["bb_m"] * second, of["bb_m"] * first
    if "ba_n1" in of:
        pull = of["ba_n1"] * (at["r12"] - of["ba_r1"]) + of["ba_n2"] * (at["r23"] - of["ba_r2"])
        energy = energy + pull * bend
        slopes["theta"] = slopes["theta"] + pull
        slopes["r12"] = slopes.get("r12", 0.0) + of["ba_n1"] * bend
        slopes["r23"] = slopes.get("r23", 0.0) + of["ba_n2"] * bend
    return energy, slopes


def series_indices(names: Mapping[str, object] | frozenset[str] | set[str]) -> tuple[str, ...]:
    """Return the suffixes of the cosine terms that parameters name: ``""`` for a single one, then ``1``, ``2``, ..."""
    numbers = sorted(int(name[1:]) for name in names if name[:1] == "k" and name[1:].isdecimal())
    return (*([""] if "k" in names else []), *(str(number) for number in numbers))


def periodic_torsion(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``sum_m k_m (1 + cos(n_m phi - gamma_m))``."""
    phi = at["phi"]
    energy, slope = np.zeros_like(phi), np.zeros_like(phi)
    for suffix in series_indices(of):
        k, n = of[f"k{suffix}"], of[f"periodicity{suffix}"]
        argument = n * phi - of[f"phase{suffix}"]
        energy += k * (1.0 + np.cos(argument))
        slope -= k * n * np.sin(argument)
    return energy, {"phi": slope}


def opls_dihedral(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``1/2 (k1 (1 + cos phi) + k2 (1 - cos 2 phi) + k3 (1 + cos 3 phi) + k4 (1 - cos 4 phi))``."""
    phi = at["phi"]
    energy, slope = np.zeros_like(phi), np.zeros_like(phi)
    for n, sign in ((1, 1.0), (2, -1.0), (3, 1.0), (4, -1.0)):
        half = 0.5 * of[f"k{n}"]
        energy += half * (1.0 + sign * np.cos(n * phi))
        slope -= half * sign * n * np.sin(n * phi)
    return energy, {"phi": slope}


def _power_series(cosine: Floats, coefficients: list[Floats]) -> tuple[Floats, Floats]:
    """Return a polynomial and its derivative, coefficients from the constant upwards."""
    value, slope = np.zeros_like(cosine), np.zeros_like(cosine)
    for coefficient in reversed(coefficients):
        slope = slope * cosine + value
        value = value * cosine + coefficient
    return value, slope


def ryckaert_bellemans_dihedral(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``sum_n c_n cos^n(phi - pi)``, n from 0 to 5."""
    energy, slope = _power_series(-np.cos(at["phi"]), [of[f"c{n}"] for n in range(6)])
    return energy, {"phi": slope * np.sin(at["phi"])}


def polynomial_dihedral(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``sum_n a_n cos^(n-1) phi``, n from 1 to 5."""
    energy, slope = _power_series(np.cos(at["phi"]), [of[f"a{n}"] for n in range(1, 6)])
    return energy, {"phi": -slope * np.sin(at["phi"])}


def fourier_dihedral(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``k (1 + cos(n phi - gamma))``."""
    argument = of["periodicity"] * at["phi"] - of["phase"]
    return of["k"] * (1.0 + np.cos(argument)), {"phi": -of["k"] * of["periodicity"] * np.sin(argument)}


def _cosines(phi: Floats, of: Mapping[str, Floats], stem: str) -> tuple[Floats, Floats]:
    """Return ``sum_n c_n cos(n phi)``, n from 1 to 3, and its derivative."""
    value, slope = np.zeros_like(phi), np.zeros_like(phi)
    for n in (1, 2, 3):
        value += of[f"{stem}{n}"] * np.cos(n * phi)
        slope -= of[f"{stem}{n}"] * n * np.sin(n * phi)
    return value, slope


#: Cross terms of a torsion with one other variable: a deviation times cosines. Variable, reference, coefficients.
_TORSION_CROSS = (
    ("r23", "mbt_r2", "mbt_k"),
    ("r12", "ebt_r1", "ebt_b"),
    ("r34", "ebt_r3", "ebt_c"),
    ("theta123", "at_theta1", "at_d"),
    ("theta234", "at_theta2", "at_e"),
)


def class2_dihedral(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``sum_n k_n (1 - cos(n phi - phi_n))``, n from 1 to 3, and the cross terms where rows have them.

    ``mbt``, ``ebt`` and ``at``: the deviation of the middle bond, an end bond or an angle times ``sum_n c_n
    cos(n phi)``; ``aat``: both angles' deviations times ``aat_k cos phi``; ``bb13``: both end bonds' times ``bb13_k``.
    """
    phi = at["phi"]
    energy, slope = np.zeros_like(phi), np.zeros_like(phi)
    for n in (1, 2, 3):
        argument = n * phi - of[f"phi{n}"]
        energy += of[f"k{n}"] * (1.0 - np.cos(argument))
        slope += of[f"k{n}"] * n * np.sin(argument)
    slopes = {"phi": slope}

    def add(variable: str, value: Floats) -> None:
        slopes[variable] = slopes.get(variable, 0.0) + value

    for variable, reference, stem in _TORSION_CROSS:
        if reference in of:
            deviation = at[variable] - of[reference]
            cosines, turn = _cosines(phi, of, stem)
            energy += deviation * cosines
            add("phi", deviation * turn)
            add(variable, cosines)
    if "aat_k" in of:
        first, second = at["theta123"] - of["aat_theta1"], at["theta234"] - of["aat_theta2"]
        cosine = of["aat_k"] * np.cos(phi)
        energy += first * second * cosine
        add("phi", -of["aat_k"] * first * second * np.sin(phi))
        add("theta123", second * cosine)
        add("theta234", first * cosine)
    if "bb13_k" in of:
        first, second = at["r12"] - of["bb13_r1"], at["r34"] - of["bb13_r3"]
        energy += of["bb13_k"] * first * second
        add("r12", of["bb13_k"] * second)
        add("r34", of["bb13_k"] * first)
    return energy, slopes


def signed_cosine(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``k (1 + sign cos(n x))``, of a dihedral's ``phi`` or an improper's ``chi``."""
    ((name, angle),) = at.items()
    n = of["periodicity"]
    energy = of["k"] * (1.0 + of["sign"] * np.cos(n * angle))
    return energy, {name: -of["k"] * of["sign"] * n * np.sin(n * angle)}


def harmonic_improper(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``k (chi - chi0)^2``, without a half."""
    tilt = at["chi"] - of["chi0"]
    return of["k"] * tilt**2, {"chi": 2.0 * of["k"] * tilt}


def harmonic_drude(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``1/2 k r^2``."""
    return 0.5 * of["k"] * at["r"] ** 2, {"r": of["k"] * at["r"]}


def _mie(r: Floats, of: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    n, m = of["n"], of["m"]
    ratio = of["sigma"] / r
    if np.all(n == 12.0) and np.all(m == 6.0):
        attraction = ratio * ratio * ratio
        attraction = attraction * attraction
        scale = 4.0 * of["epsilon"]
        repulsion = attraction * attraction
    else:
        scale = of["epsilon"] * n / (n - m) * (n / m) ** (m / (n - m))
        attraction, repulsion = ratio**m, ratio**n
    return scale * (repulsion - attraction), scale * (m * attraction - n * repulsion) / r


def lennard_jones_pair(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``C epsilon ((sigma/r)^n - (sigma/r)^m)``; with a non-zero `shift`, zero at the cutoff.

    ``C = n/(n-m) (n/m)^(m/(n-m))``, which is 4 for the exponents 12 and 6.
    """
    energy, slope = _mie(at["r"], of)
    if "cutoff" in of and np.any(of["shift"] != 0.0):
        edge, _ = _mie(np.broadcast_to(of["cutoff"], at["r"].shape).astype(np.float64), of)
        energy = energy - edge
    return energy, {"r": slope}


def class2_pair(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``epsilon (2 (sigma/r)^9 - 3 (sigma/r)^6)``."""
    cube = (of["sigma"] / at["r"]) ** 3
    energy = of["epsilon"] * cube**2 * (2.0 * cube - 3.0)
    return energy, {"r": 18.0 * of["epsilon"] * cube**2 * (1.0 - cube) / at["r"]}


def buckingham_pair(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``a exp(-r/rho) - c/r^6``."""
    repulsion, attraction = of["a"] * np.exp(-at["r"] / of["rho"]), of["c"] / at["r"] ** 6
    return repulsion - attraction, {"r": 6.0 * attraction / at["r"] - repulsion / of["rho"]}


def morse_pair(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``d0 ((1 - exp(-alpha (r - r0)))^2 - 1)``."""
    decay = np.exp(-of["alpha"] * (at["r"] - of["r0"]))
    return of["d0"] * decay * (decay - 2.0), {"r": 2.0 * of["d0"] * of["alpha"] * (1.0 - decay) * decay}


def coulomb_pair(at: Mapping[str, Floats], of: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """``coulomb q1 q2 / (dielectric (r + delta))``."""
    distance = at["r"] + of["delta"]
    energy = of["coulomb"] / of["dielectric"] * of["q1"] * of["q2"] / distance
    return energy, {"r": -energy / distance}
