"""Every style as a force of OpenMM: its energy and forces beside ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import molrec as mr
from molrec.forcefield import REGISTRY, RegisteredStyle
from molrec.forcefield.expression import parse_expression

from .openmm_engine import SKEWED, check, cluster, frame_of, kinds, positions_of, priced, relation

pytestmark = pytest.mark.engines

openmm = pytest.importorskip("openmm")

from molrec.interop.openmm import to_openmm  # noqa: E402
from molrec.interop.openmm_expressions import foreign, guarded  # noqa: E402

_SPECIAL = {"lj": [0.1, 0.2, 0.5], "coul": [0.3, 0.4, 0.8]}
_ARITY = {"bond": 2, "angle": 3, "dihedral": 4, "improper": 4, "drude": 2, "urey_bradley": 3}
_PRICED = [style for style in REGISTRY.values() if style.form is not None]


def params_of(style: RegisteredStyle, random: np.random.Generator, rows: int) -> dict[str, Any]:
    names = ("k1", "k2", "k3") if style.numbered else ()
    of: dict[str, Any] = {one.name: random.uniform(0.5, 1.5, rows) for one in style.parameters_of(names)}
    for name in of:
        if name.startswith("periodicity"):
            of[name] = random.integers(1, 5, rows).astype(float)
        if name == "sign":
            of[name] = random.choice([-1.0, 1.0], rows)
        if name == "w":
            of[name] = np.zeros(rows)
    return of


@pytest.mark.parametrize(
    "style",
    [style for style in _PRICED if not style.category.startswith("pair")],
    ids=lambda style: f"{style.category}.{style.style}",
)
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 10_000), periodic=st.booleans())
def test_bonded_styles(style: RegisteredStyle, seed: int, periodic: bool) -> None:
    random = np.random.default_rng(seed)
    # OpenMM finds the nearest image of what is nearer than half a box
    box = mr.Box(2.0 * SKEWED) if periodic else None
    positions: Any = cluster(random)
    if box is not None and style.category != "drude":  # a Drude particle stays beside its core
        positions = positions + random.integers(-1, 2, (8, 3)) @ box.vectors.T
    atoms = [tuple(random.permutation(8)[: _ARITY[style.category]].tolist()) for _ in range(6)]
    if style.category == "drude":
        atoms = [(0, 1), (2, 3), (4, 5)]
    frame = frame_of(positions, box)
    frame[f"{style.category}s"] = relation(*atoms, **params_of(style, random, len(atoms)))
    field = mr.ForceField("test", "real")
    field.define_style(style.category, style.style)
    check(frame, field)


@pytest.mark.parametrize("group", ["bb_", "ba_", "mbt_", "ebt_", "at_", "aat_", "bb13_"])
def test_each_cross_term_of_class_2(group: str) -> None:
    random = np.random.default_rng(4)
    style = REGISTRY["angle" if group in ("bb_", "ba_") else "dihedral", "class2"]
    own = params_of(style, random, 2)
    crossed = {one.name for one in style.parameters if one.group is not None and not one.name.startswith(group)}
    atoms = [(0, 1, 3, 2)[: _ARITY[style.category]], (4, 5, 7, 6)[: _ARITY[style.category]]]
    frame = frame_of(cluster(random))
    frame[f"{style.category}s"] = relation(*atoms, **{name: own[name] for name in own if name not in crossed})
    field = mr.ForceField("test", "real")
    field.define_style(style.category, "class2")
    _, _, system = check(frame, field)
    assert kinds(system) == ["CustomCompoundBondForce"]


def test_rows_lack_sets_of_cosines_and_multiplicities_need_not_be_whole() -> None:
    block = relation((0, 1, 3, 2), (4, 5, 7, 6), k1=[1.0, 0.5], periodicity1=[2.0, 3.0], phase1=[0.3, 0.1])
    for name, value in (("k2", 0.7), ("periodicity2", 3.0), ("phase2", 0.2)):
        block[name] = np.array([value, 0.0])
        block.set_validity(name, [True, False])
    frame = frame_of(cluster(np.random.default_rng(5)), dihedrals=block)
    field = mr.ForceField("test", "real")
    field.define_style("dihedral", "periodic")
    _, _, system = check(frame, field)
    assert kinds(system) == ["PeriodicTorsionForce"]
    assert system.getForce(0).getNumTorsions() == 3
    block["periodicity1"] = np.array([1.5, 3.0])
    _, _, system = check(frame, field)
    assert kinds(system) == ["CustomTorsionForce"]


@pytest.mark.parametrize(("periodic", "cutoff"), [(False, None), (False, 2.6), (True, 2.6)])
@pytest.mark.parametrize("style", [one for one in _PRICED if one.category == "pair"], ids=lambda style: style.style)
def test_pair_styles(style: RegisteredStyle, periodic: bool, cutoff: float | None) -> None:
    random = np.random.default_rng(6)
    box = mr.Box(SKEWED) if periodic else None
    frame = frame_of(cluster(random), box, bonds=relation((0, 1), (1, 3), (3, 2), (2, 6)))
    field = mr.ForceField("test", "real", _SPECIAL)
    made = field.define_style("pair", style.style, {} if cutoff is None else {"cutoff": cutoff})
    if style.style == "coul/cut":
        made.params |= {"delta": 0.2, "dielectric": 2.0, "coulomb": 330.0}
    for ends in (("A", "A"), ("A", "B"), ("B", "B")):
        if style.parameters:
            made.add("-".join(ends), ends, **{one.name: random.uniform(0.5, 1.5) for one in style.parameters})
    check(frame, field)


@pytest.mark.parametrize("extra", [{"n": 10.0, "m": 5.0}, {"shift": 1.0}, {"n": 9.0, "shift": 1.0}, {}])
@pytest.mark.parametrize("mixing", ["arithmetic", "geometric", "sixthpower"])
def test_mixing_cross_rows_exponents_and_shifts(mixing: str, extra: dict[str, float]) -> None:
    frame = frame_of(cluster(np.random.default_rng(7)), bonds=relation((0, 1), (1, 3), (3, 2), (2, 6)))
    frame["atoms"]["type"] = ["A", "B", "C", "A", "B", "C", "A", "B"]
    field = mr.ForceField("test", "real", _SPECIAL)
    pairs = field.define_style("pair", "lj/cut", {"mixing": mixing, "cutoff": 2.6, **extra})
    for name, epsilon, sigma in (("A", 0.2, 0.9), ("B", 0.1, 1.2), ("C", 0.3, 0.7)):
        pairs.add(name, (name, name), epsilon=epsilon, sigma=sigma)
    field.define_style("pair", "coul/cut", {"cutoff": 2.9})
    _, _, system = check(frame, field)
    native = mixing == "arithmetic" and not extra
    assert ("NonbondedForce" in kinds(system)) is native
    pairs.add("A-C", ("C", "A"), epsilon=0.15, sigma=1.0)
    _, _, system = check(frame, field)
    assert "NonbondedForce" not in kinds(system)


def hybrid() -> tuple[mr.Frame, mr.ForceField]:
    """Return a system of two pair styles that each price some of the pairs, listed pairs and a 1-4 style."""
    bonds = relation((0, 1), (1, 3), (3, 2), (2, 6))
    pairs = relation((0, 2), (1, 6), (4, 7), (0, 7), is_14=[True, True, False, False])
    pairs["epsilon"], pairs["sigma"] = np.array([0.3, 0.0, 0.9, 0.0]), np.array([0.8, 0.0, 1.1, 0.0])
    for name in ("epsilon", "sigma"):
        pairs.set_validity(name, [True, False, True, False])
    frame = frame_of(cluster(np.random.default_rng(8)), bonds=bonds, pairs=pairs, exclusions=relation((4, 5)))
    field = mr.ForceField("test", "real", _SPECIAL)
    lj = field.define_style("pair", "lj/cut", {"mixing": "arithmetic"})
    lj.add("A", ("A", "A"), epsilon=0.2, sigma=0.9)
    lj.add("B", ("B", "B"), epsilon=0.1, sigma=1.2)
    morse = field.define_style("pair", "morse", {"cutoff": 2.2})
    morse.add("A-B", ("A", "B"), d0=0.4, alpha=1.1, r0=1.6)
    field.define_style("pair", "coul/cut")
    field.define_style("pair14", "lj/cut").add("A-B", ("A", "B"), epsilon=0.05, sigma=1.0)
    return frame, field


def test_hybrid_styles_listed_pairs_and_1_4_pairs() -> None:
    frame, field = hybrid()
    _, _, system = check(frame, field)
    assert set(kinds(system)) == {"NonbondedForce", "CustomNonbondedForce", "CustomBondForce"}
    (force,) = (one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
    # four bonded pairs, three two bonds apart, two three bonds apart of which one is listed, an exclusion, listed ones
    assert force.getNumExceptions() == len({(0, 1), (1, 3), (2, 3), (2, 6), (0, 3), (1, 2), (3, 6), (0, 2), (1, 6),
                                            (4, 5), (4, 7), (0, 7)})  # fmt: skip


@pytest.mark.parametrize("cutoffs", [(None, None), (2.2, None), (None, 2.4), (2.2, 2.4)])
def test_other_platforms_take_any_mixture_of_cutoffs(cutoffs: tuple[float | None, float | None]) -> None:
    frame, field = hybrid()
    for name, cutoff in (("morse", cutoffs[0]), ("lj/cut", cutoffs[1]), ("coul/cut", cutoffs[1])):
        field.style("pair", name).params.pop("cutoff", None)
        if cutoff is not None:
            field.style("pair", name).params["cutoff"] = cutoff
    _, _, system = check(frame, field)
    wanted, forces = priced(system, positions_of(frame) * 0.1)
    found, own = priced(system, positions_of(frame) * 0.1, "CPU")
    assert found == pytest.approx(wanted, rel=1e-5)
    assert np.abs(own - forces).max() < 1e-5 * np.abs(forces).max()


def test_what_was_given_is_not_changed() -> None:
    frame, field = hybrid()
    frame["atoms"]["mass"] = np.full(8, 12.0)
    before, stored = frame.copy(), field.to_section()
    to_openmm(frame, field)
    assert frame == before
    assert field.to_section() == stored


# -- expressions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "expression"),
    [
        ("bond", "k*d^2+log(r)*theta; d=r-0.7*one; one=1.0"),
        ("urey_bradley", "0.5*k*(r-theta)^2"),
        ("angle", "k*(cos(theta)-0.3)^2+r; r=0.1*k*theta"),
        ("dihedral", "k*sin(phi)^3+a; a=b^2; b=phi*theta"),
        ("dihedral", "b*k+a; b=a+1; a=theta*cos(phi)"),
        ("improper", "k*(chi-0.3)^4+phi; phi=theta*chi"),
        ("improper", "k*(2*atan(tan(0.5*(phi-0.4))))^2*theta"),
        ("drude", "k*r^4*theta"),
    ],
)
def test_styles_by_expression(category: str, expression: str) -> None:
    random = np.random.default_rng(9)
    atoms = [tuple(random.permutation(8)[: _ARITY[category]].tolist()) for _ in range(4)]
    frame = frame_of(cluster(random))
    columns = {"k": random.uniform(1.0, 2.0, 4)}
    shared = {} if category == "angle" else {"theta": 0.8}
    frame[f"{category}s"] = relation(*atoms, **columns)
    field = mr.ForceField("test", "real")
    field.define_style(category, "own", shared, expression)
    check(frame, field)


@pytest.mark.parametrize("cutoff", [{}, {"cutoff": 2.4}])
def test_pair_styles_by_expression(cutoff: dict[str, float]) -> None:
    frame = frame_of(cluster(np.random.default_rng(10)), bonds=relation((0, 1), (1, 3), (3, 2)))
    field = mr.ForceField("test", "real", _SPECIAL)
    style = field.define_style("pair", "own", {"b": 0.5, **cutoff}, "a*e+coulomb*q1*q2/r; e=exp(-b*r)")
    style.add("A-A", ("A", "A"), a=3.0)
    style.add("any", ("", ""), a=2.0)
    field.define_style("pair", "inverse", {"special": "coul", **cutoff}, "1/r^3")
    field.define_style("pair14", "own", {}, "c*r").add("any", ("", ""), c=0.4)
    check(frame, field)


def test_definitions_come_after_what_uses_them() -> None:
    text = foreign("b*k; b=a+1; c=2; a=c*phi", "phi", 0.1, 4.184)
    assert text == "4.184*molrec_energy; molrec_energy=b*k; b=a+1; a=c*theta; c=2"
    assert guarded("a; a=b; b=r", "step(1-r)") == "select(step(1-r), molrec_guarded, 0); molrec_guarded=a; a=b; b=r"
    assert parse_expression("a; a=b; b=r").names == {"r"}
