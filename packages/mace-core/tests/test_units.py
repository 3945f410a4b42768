"""Units are ASE's; conventions are the docstrings of the tests that show them, and are stated nowhere else."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import ase.units
import pytest
from ase import Atoms

from mace_core import units

_TESTS = Path(__file__).resolve().parent
_SOURCES = Path(units.__file__).resolve().parent
_DOCS = _TESTS.parents[2] / "docs"

_CONVENTIONS = {
    "test_forces": units.FORCES_SIGN_CONVENTION,
    "test_stress": units.STRESS_SIGN_CONVENTION,
    "test_virials": units.VIRIALS_SIGN_CONVENTION,
    "test_magforces": units.MAGFORCES_SIGN_CONVENTION,
}
_RESTATED = re.compile(r"dE\s*/\s*d|∂E|\(1/V\)|-\s*stress\s*\*|−\s*stress")


def test_the_conventions_are_these_words() -> None:
    assert list(_CONVENTIONS.values()) == [
        "forces = -dE/d(positions), in eV/Ang.",
        "stress = (1/V) dE/d(strain), in eV/Ang^3, with V = |det(cell)|.",
        "virials = -stress * V = -dE/d(strain), in eV.",
        "magforces = -dE/d(magmom).",
    ]


@pytest.mark.parametrize("test", _CONVENTIONS)
def test_a_convention_is_the_docstring_of_the_test_that_shows_it(test: str) -> None:
    module = ast.parse((_TESTS / "test_sign_conventions.py").read_text(encoding="utf-8"))
    docstrings = {node.name: ast.get_docstring(node) for node in module.body if isinstance(node, ast.FunctionDef)}
    assert _CONVENTIONS[test] == docstrings[test]


def test_every_convention_is_shown() -> None:
    stated = {value for name, value in vars(units).items() if name.endswith("_CONVENTION")}
    assert stated == set(_CONVENTIONS.values())


def test_no_other_module_restates_them() -> None:
    modules = sorted(_SOURCES.rglob("*.py"))
    assert _SOURCES / "units.py" in modules
    restating = [path.name for path in modules if _RESTATED.search(path.read_text(encoding="utf-8"))]
    assert restating == ["units.py"]


@pytest.mark.skipif(not _DOCS.is_dir(), reason="the documentation is not beside the package")
def test_the_guide_includes_them_instead_of_restating_them() -> None:
    page = (_DOCS / "guide" / "from-file-to-configuration.md").read_text(encoding="utf-8")
    assert not _RESTATED.search(page)
    assert '--8<-- "packages/mace-core/src/mace_core/units.py:conventions"' in page


def test_the_constants_are_ases() -> None:
    names = [name for name in units.__all__ if not name.endswith("_CONVENTION")]
    assert len(names) >= 14
    assert {name: getattr(units, name) for name in names} == {name: getattr(ase.units, name) for name in names}


def test_the_base_units_are_ev_and_angstrom() -> None:
    assert units.eV == units.Ang == units.Angstrom == 1.0
    assert units.nm == 10.0


def test_the_constants_agree_with_values_from_elsewhere() -> None:
    # CODATA 2018; ASE's own are of 2014, so some digits less agree
    assert pytest.approx(27.211386245988, rel=1e-7) == units.Hartree
    assert pytest.approx(0.529177210903, rel=1e-7) == units.Bohr
    assert pytest.approx(units.Hartree / 2) == units.Rydberg
    assert pytest.approx(96.48533212, rel=1e-7) == 1 / (units.kJ / units.mol)
    assert pytest.approx(8.617333262e-5, rel=1e-6) == units.kB
    assert pytest.approx(160.2176634, rel=1e-7) == 1 / units.GPa
    assert pytest.approx(0.2081943, rel=1e-6) == units.Debye
    assert pytest.approx(4.184, rel=1e-9) == units.kcal / units.kJ


def test_a_frame_of_ase_is_in_these_units() -> None:
    atoms = Atoms("H", cell=[units.nm] * 3, pbc=True)
    assert atoms.get_volume() == pytest.approx(1000 * units.Ang**3)
