"""Units and sign conventions of everything in this package; the only place that states them.

Energies are in eV, lengths in Ang. The constants are those of ``ase.units``, under its names: a number times a unit is
the number in eV and Ang, so ``5 * GPa`` is a stress in eV/Ang^3. The conventions are the docstrings of the tests that
show them to hold, by finite differences of potentials that know nothing of this package.
"""

from __future__ import annotations

from typing import Final

from ase import units as _ase

__all__ = [
    "FORCES_SIGN_CONVENTION",
    "MAGFORCES_SIGN_CONVENTION",
    "STRESS_SIGN_CONVENTION",
    "VIRIALS_SIGN_CONVENTION",
    "Ang",
    "Angstrom",
    "Bohr",
    "Debye",
    "GPa",
    "Hartree",
    "Rydberg",
    "eV",
    "fs",
    "kB",
    "kJ",
    "kcal",
    "mol",
    "nm",
]

eV: Final[float] = _ase.eV  # noqa: N816 - the names are those of ase.units
"""Electronvolt, the unit of energy: 1."""
kJ: Final[float] = _ase.kJ  # noqa: N816
"""Kilojoule in eV."""
kcal: Final[float] = _ase.kcal
"""Kilocalorie in eV."""
mol: Final[float] = _ase.mol
"""Avogadro's number, so that `kJ / mol` is an energy in eV."""
Hartree: Final[float] = _ase.Hartree
"""Hartree energy in eV."""
Rydberg: Final[float] = _ase.Rydberg
"""Rydberg energy in eV."""
kB: Final[float] = _ase.kB  # noqa: N816
"""Boltzmann constant in eV/K."""

Ang: Final[float] = _ase.Ang
"""Ångström, the unit of length: 1."""
Angstrom: Final[float] = _ase.Angstrom
"""Ångström, the unit of length: 1."""
nm: Final[float] = _ase.nm
"""Nanometre in Ang."""
Bohr: Final[float] = _ase.Bohr
"""Bohr radius in Ang."""
Debye: Final[float] = _ase.Debye
"""Dipole moment in e Ang."""

fs: Final[float] = _ase.fs
"""Femtosecond in the unit of time of eV, Ang and atomic mass units."""
GPa: Final[float] = _ase.GPa
"""Gigapascal in eV/Ang^3."""

# --8<-- [start:conventions]
FORCES_SIGN_CONVENTION: Final = "forces = -dE/d(positions), in eV/Ang."
STRESS_SIGN_CONVENTION: Final = "stress = (1/V) dE/d(strain), in eV/Ang^3, with V = |det(cell)|."
VIRIALS_SIGN_CONVENTION: Final = "virials = -stress * V = -dE/d(strain), in eV."
MAGFORCES_SIGN_CONVENTION: Final = "magforces = -dE/d(magmom)."
# --8<-- [end:conventions]
