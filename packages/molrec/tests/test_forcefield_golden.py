"""Our energies and forces beside those of LAMMPS, OpenMM and GROMACS, case by case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from molrec.forcefield import energy, link

from . import forcefield_cases as cases

pytestmark = pytest.mark.skipif(cases.folder() is None, reason="no golden cases: set MOLREC_SHARED")

_LAMMPS_PARTS = {"bond": "bond", "angle": "angle", "dihedral": "dihedral", "improper": "improper"}


def _forces_agree(found: np.ndarray[Any, Any], case: dict[str, Any], tolerance: float) -> None:
    forces = np.array(case["forces"])
    assert np.abs(found - forces).max() <= tolerance * np.abs(forces).max()


@pytest.mark.parametrize("name", cases.names("lammps"))
def test_lammps(name: str) -> None:
    frame, field = cases.lammps(name)
    case = cases.expected(name)
    found = energy(frame, field)
    parts = case["energies"]
    for category, key in _LAMMPS_PARTS.items():
        assert found.categories.get(category, 0.0) == pytest.approx(parts[key], rel=1e-9, abs=1e-10)
    coul = found.styles.get("pair.coul/cut", 0.0)
    assert coul == pytest.approx(parts["coul"], rel=1e-9, abs=1e-10)
    assert found.categories.get("pair", 0.0) - coul == pytest.approx(parts["vdw"], rel=1e-9, abs=1e-9)
    assert found.total == pytest.approx(parts["total"], rel=1e-9)
    assert found.forces is not None
    _forces_agree(found.forces, case, 1e-8)


@pytest.mark.parametrize("name", cases.names("lammps"))
def test_lammps_term_by_term(name: str) -> None:
    frame, field = cases.lammps(name)
    case = cases.expected(name)
    found = energy(frame, field, forces=False)
    assert found.forces is None
    for category in ("bond", "angle"):
        listed = [one["energy"] for one in case["per_term"].get(category, ())]
        own = [values for label, values in found.terms.items() if label.startswith(f"{category}.")]
        assert np.allclose(np.concatenate([np.zeros(0), *own]), listed, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in cases.names("lammps") if "pair_table" in str(cases.expected(name))])
def test_mixed_pair_tables(name: str) -> None:
    frame, field = cases.lammps(name)
    stored = next(one for one in cases.expected(name)["stored"] if "pair_table" in one)
    (table,) = (one for one in link(frame, field).pairs if one.table.label == stored["style"])
    label = {one["type"]: str(one.get("label", one["type"])) for one in stored["types"]}
    for row in stored["pair_table"]:
        first, second = (np.array([table.labels.index(label[kind])]) for kind in row["types"])
        parameters, priced = table.parameters(second, first)
        assert priced.all()
        assert parameters["epsilon"][0] == pytest.approx(row["params"]["epsilon"], rel=1e-12)
        assert parameters["sigma"][0] == pytest.approx(row["params"]["sigma"], rel=1e-12)


def _openmm_parts(found: dict[str, float]) -> dict[str, float]:
    own = dict.fromkeys(("bond", "urey_bradley", "angle", "dihedral", "dihedral_rb", "improper"), 0.0)
    own |= {
        "bond": found.get("bond.harmonic", 0.0),
        "urey_bradley": found.get("urey_bradley.harmonic", 0.0),
        "angle": found.get("angle.harmonic", 0.0),
        "dihedral": found.get("dihedral.periodic", 0.0),
        "dihedral_rb": found.get("dihedral.rb", 0.0),
        "improper": found.get("improper.periodic", 0.0),
        "improper_periodic": found.get("improper.periodic", 0.0),
        "improper_harmonic": found.get("improper.harmonic", 0.0) + found.get("improper.signed", 0.0),
    }
    return own


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("name", cases.names("openmm"))
def test_openmm(name: str, listed: bool) -> None:
    frame, field = cases.assigned(name, listed=listed)
    case = cases.expected(name)
    found = energy(frame, field)
    parts = case["energies"]
    own = _openmm_parts(found.styles)
    for key, value in own.items():
        if key in parts:
            assert value == pytest.approx(parts[key], rel=1e-9, abs=1e-9), key
    lj = found.styles["pair.lj/cut"] + found.styles.get("pair14.lj/cut", 0.0)
    assert lj == pytest.approx(parts["lj"] + parts["lj14"], rel=1e-9)
    assert found.styles["pair.coul/cut"] == pytest.approx(parts["coul"] + parts["coul14"], rel=1e-9)
    if listed and parts["lj14"]:
        assert found.styles["pair14.lj/cut"] == pytest.approx(parts["lj14"], rel=1e-9)
    assert found.total == pytest.approx(parts["total"] - parts.get("cmap", 0.0), rel=1e-9)
    if "cmap" not in parts:  # the forces of a case include those of its maps
        assert found.forces is not None
        _forces_agree(found.forces, case, 1e-8)


@pytest.mark.parametrize("name", cases.names("gromacs"))
def test_gromacs(name: str) -> None:
    frame, field = cases.assigned(name)
    case = cases.expected(name)
    found = energy(frame, field)
    parts = case["energies"]
    for key, value in _openmm_parts(found.styles).items():
        if key in parts:
            assert value == pytest.approx(parts[key], rel=1e-9, abs=1e-9), key
    assert found.styles["pair.lj/cut"] == pytest.approx(parts["lj"], rel=1e-7)
    assert found.styles.get("pair14.lj/cut", 0.0) == pytest.approx(parts.get("lj14", 0.0), rel=1e-7)
    assert found.styles["pair.coul/cut"] == pytest.approx(parts["coul"] + parts.get("coul14", 0.0), rel=1e-7)
    assert found.total == pytest.approx(parts["total"], rel=1e-8)
    assert found.forces is not None
    _forces_agree(found.forces, case, 1e-6)
