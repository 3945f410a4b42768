"""The sign conventions, shown on potentials that know nothing of this package, by central finite differences.

The docstring of each test is the convention, word for word; `mace_core.units` repeats it as a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator

type Floats = NDArray[np.float64]

_STEP = 1e-5
_TOLERANCE = 1e-7


def _copper() -> Atoms:
    return bulk("Cu", cubic=True) * (2, 1, 1)


def _argon() -> Atoms:
    return bulk("Ar", "fcc", a=5.2, cubic=True)


def _triclinic(atoms: Atoms) -> Atoms:
    shear = np.array([[1.0, 0.04, -0.03], [0.02, 0.97, 0.05], [-0.01, 0.03, 1.02]])
    return _strained(atoms, shear - np.eye(3))


def _left_handed(atoms: Atoms) -> Atoms:
    swapped = _triclinic(atoms)
    swapped.set_cell(swapped.cell.array[[1, 0, 2]])
    return swapped


def _strained(atoms: Atoms, strain: Floats) -> Atoms:
    """Deform cell and positions alike."""
    strained = atoms.copy()
    strained.set_cell(atoms.cell.array @ (np.eye(3) + strain).T, scale_atoms=True)
    return strained


@pytest.fixture(params=[lambda atoms: atoms, _triclinic, _left_handed], ids=["cubic", "triclinic", "left-handed"])
def shape(request: pytest.FixtureRequest) -> Callable[[Atoms], Atoms]:
    function: Callable[[Atoms], Atoms] = request.param
    return function


@pytest.fixture(params=["EMT", "Lennard-Jones"])
def atoms(request: pytest.FixtureRequest, shape: Callable[[Atoms], Atoms]) -> Atoms:
    """Return a periodic structure off its minimum, with a potential."""
    emt = request.param == "EMT"
    structure = shape(_copper() if emt else _argon())
    structure.rattle(0.05, seed=3)
    structure.calc = EMT() if emt else LennardJones(sigma=3.4, epsilon=0.0104, rc=8.0, ro=6.5, smooth=True)
    return structure


def _energy(calculator: Calculator, atoms: Atoms) -> float:
    moved = atoms.copy()
    moved.calc = calculator
    return float(moved.get_potential_energy())


def _gradient(function: Callable[[Floats], float], shape: tuple[int, ...]) -> Floats:
    """Differentiate by central differences around zero."""
    gradient = np.zeros(shape)
    for index in np.ndindex(shape):
        step = np.zeros(shape)
        step[index] = _STEP
        gradient[index] = (function(step) - function(-step)) / (2 * _STEP)
    return gradient


def _strain_derivative(atoms: Atoms) -> Floats:
    """Return dE/d(strain), ``(3, 3)``, in eV; of a symmetric strain, as the energy is blind to rotations."""
    return _gradient(
        lambda strain: _energy(atoms.calc, _strained(atoms, (strain + strain.T) / 2)),
        (3, 3),
    )


def test_forces(atoms: Atoms) -> None:
    """forces = -dE/d(positions), in eV/Ang."""

    def energy(displacement: Floats) -> float:
        moved = atoms.copy()
        moved.positions += displacement
        return _energy(atoms.calc, moved)

    forces = atoms.get_forces()
    assert np.abs(forces).max() > 1e-3
    np.testing.assert_allclose(forces, -_gradient(energy, (len(atoms), 3)), atol=_TOLERANCE)


def test_stress(atoms: Atoms) -> None:
    """stress = (1/V) dE/d(strain), in eV/Ang^3, with V = |det(cell)|."""
    volume = abs(np.linalg.det(atoms.cell.array))
    stress = atoms.get_stress(voigt=False)
    assert np.abs(stress).max() > 1e-4
    np.testing.assert_allclose(stress, _strain_derivative(atoms) / volume, atol=_TOLERANCE)


def test_virials(atoms: Atoms) -> None:
    """virials = -stress * V = -dE/d(strain), in eV."""
    virials = -atoms.get_stress(voigt=False) * abs(np.linalg.det(atoms.cell.array))
    assert np.abs(virials).max() > 1e-2
    np.testing.assert_allclose(virials, -_strain_derivative(atoms), atol=1e-5)


def test_a_compressed_crystal_has_negative_stress_and_positive_virials() -> None:
    compressed = _strained(_copper(), -0.05 * np.eye(3))
    compressed.calc = EMT()
    stress = compressed.get_stress(voigt=False)
    assert np.trace(stress) < 0
    assert np.trace(-stress * compressed.get_volume()) > 0


_COUPLING = np.array([[0.0, 0.3, -0.1], [0.3, 0.0, 0.2], [-0.1, 0.2, 0.0]])
_FIELD = np.array([0.0, 0.05, -0.4])
_STIFFNESS, _MOMENT = 0.7, 1.5


def _spin_energy(moments: Floats) -> float:
    """Return the energy of three coupled spins of soft length in a field."""
    lengths = np.sum(moments**2, axis=1)
    exchange = -0.5 * np.einsum("ij,ik,jk", _COUPLING, moments, moments)
    return float(exchange + _STIFFNESS * np.sum((lengths - _MOMENT**2) ** 2) - np.sum(moments @ _FIELD))


def test_magforces() -> None:
    """magforces = -dE/d(magmom)."""
    moments = np.array([[0.1, -0.4, 1.3], [1.1, 0.2, -0.3], [-0.6, 0.9, 0.7]])
    excess = np.sum(moments**2, axis=1, keepdims=True) - _MOMENT**2
    magforces = _COUPLING @ moments - 4 * _STIFFNESS * excess * moments + _FIELD
    gradient = _gradient(lambda change: _spin_energy(moments + change), moments.shape)
    np.testing.assert_allclose(magforces, -gradient, atol=_TOLERANCE)
    assert _spin_energy(moments + 1e-3 * magforces) < _spin_energy(moments)
