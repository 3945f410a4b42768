"""Energies and forces: every style against finite differences, what moves nothing, what is refused."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import molrec as mr
from molrec.forcefield import REGISTRY, RegisteredStyle, energy, link
from molrec.forcefield.forms import series_indices
from molrec.forcefield.units import coulomb_constant

from .refusals import refused

_ENDS = ("atomi", "atomj", "atomk", "atoml")
_ARITY = {"bond": 2, "angle": 3, "dihedral": 4, "improper": 4, "drude": 2, "pair": 2, "pair14": 2}
_SPECIAL = {"lj": [0.1, 0.2, 0.5], "coul": [0.3, 0.4, 0.8]}
_PRICED = [style for style in REGISTRY.values() if style.form is not None]
_BONDED = [style for style in _PRICED if not style.category.startswith("pair")]
_PAIRS = [style for style in _PRICED if style.category == "pair"]


def _relation(*atoms: tuple[int, ...], **columns: Any) -> mr.Block:
    ends = np.array(atoms, dtype=np.uint64)
    return mr.Block({**{_ENDS[place]: ends[:, place].copy() for place in range(ends.shape[1])}, **columns})


def _frame(positions: Any, box: mr.Box | None = None, **blocks: mr.Block) -> mr.Frame:
    points = np.asarray(positions, dtype=float)
    atoms = mr.Block({axis: points[:, place].copy() for place, axis in enumerate("xyz")})
    atoms["type"] = ["A", "B"] * (len(points) // 2) + ["A"] * (len(points) % 2)
    atoms["charge"] = np.where(np.arange(len(points)) % 3 == 0, 0.4, -0.3)
    return mr.Frame({"atoms": atoms, **blocks}, box=box)


def _positions(frame: mr.Frame) -> Any:
    return np.stack([frame["atoms"][axis] for axis in "xyz"], axis=1)


def _moved(frame: mr.Frame, positions: Any) -> mr.Frame:
    moved = frame.copy()
    for place, axis in enumerate("xyz"):
        moved["atoms"][axis] = positions[:, place].copy()
    return moved


def _check_forces(frame: mr.Frame, field: mr.ForceField, free: Any = slice(None)) -> None:
    """Compare forces with central differences of the energy."""
    found = energy(frame, field)
    assert found.forces is not None
    assert found.total == pytest.approx(energy(frame, field, forces=False).total, rel=1e-14)
    start = _positions(frame)
    step = 1e-5
    numeric = np.zeros_like(start)
    for atom in np.arange(len(start))[free]:
        for axis in range(3):
            values = []
            for sign in (1.0, -1.0):
                positions = start.copy()
                positions[atom, axis] += sign * step
                values.append(energy(_moved(frame, positions), field, forces=False).total)
            numeric[atom, axis] = (values[1] - values[0]) / (2.0 * step)
    scale = max(1.0, float(np.abs(numeric).max()))
    assert np.abs(found.forces - numeric)[free].max() < 1e-6 * scale


def _params(style: RegisteredStyle, random: np.random.Generator, rows: int) -> dict[str, Any]:
    names = ("k1", "k2", "k3") if style.numbered else ()
    of: dict[str, Any] = {}
    for one in style.parameters_of(names):
        of[one.name] = random.uniform(0.5, 1.5, rows)
        if one.name.startswith("periodicity"):
            of[one.name] = random.integers(1, 5, rows).astype(float)
        if one.name == "sign":
            of[one.name] = random.choice([-1.0, 1.0], rows)
        if one.name == "w":
            of[one.name] = np.zeros(rows)
    return of


def _bend(positions: Any, atoms: tuple[int, ...]) -> float:
    """Return the smallest sine of the angles along some atoms, in any order."""
    sines = [1.0]
    for one, vertex, other in itertools.permutations(atoms, 3):
        first, second = positions[one] - positions[vertex], positions[other] - positions[vertex]
        area = np.linalg.norm(np.cross(first, second))
        sines.append(float(area / (np.linalg.norm(first) * np.linalg.norm(second))))
    return min(sines)


# -- every style ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", _BONDED, ids=lambda style: f"{style.category}.{style.style}")
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10_000), periodic=st.booleans())
def test_forces_of_bonded_styles(style: RegisteredStyle, seed: int, periodic: bool) -> None:
    random = np.random.default_rng(seed)
    positions = random.uniform(0.0, 3.0, (6, 3))
    box = mr.Box(np.array([[6.5, 1.0, -2.0], [0.0, 6.5, 1.5], [0.0, 0.0, 6.5]])) if periodic else None
    atoms = [tuple(random.permutation(6)[: _ARITY[style.category]].tolist()) for _ in range(4)]
    # near a straight line differences over steps say little about a torsion
    assume(all(_bend(positions, term) > 0.2 for term in atoms))
    if box is not None:
        positions += random.integers(-1, 2, (6, 3)) @ box.vectors.T
    block = {"drude": "drudes"}.get(style.category, f"{style.category}s")
    frame = _frame(positions, box)
    frame[block] = _relation(*atoms, **_params(style, random, 4))
    field = mr.ForceField("test", "real")
    field.define_style(style.category, style.style)
    _check_forces(frame, field)


@pytest.mark.parametrize("style", _PAIRS, ids=lambda style: style.style)
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 10_000))
def test_forces_of_pair_styles(style: RegisteredStyle, seed: int) -> None:
    random = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[np.arange(2)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    frame = _frame(grid * 1.5 + random.uniform(-0.3, 0.3, (8, 3)), bonds=_relation((0, 1), (1, 2), (2, 3), (3, 4)))
    field = mr.ForceField("test", "real", _SPECIAL)
    made = field.define_style("pair", style.style)
    if style.style == "lj/cut":
        made.params |= {"n": 10.0, "m": 5.0}
    if style.style == "coul/cut":
        made.params |= {"delta": 0.2, "dielectric": 2.0}
    for ends in (("A", "A"), ("A", "B"), ("B", "B")):
        if style.parameters:
            made.add("-".join(ends), ends, **{one.name: random.uniform(0.5, 1.5) for one in style.parameters})
    _check_forces(frame, field)


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_forces_of_1_4_styles(seed: int) -> None:
    random = np.random.default_rng(seed)
    frame = _frame(random.uniform(0.0, 1.0, (5, 3)) + np.arange(5)[:, None], bonds=_relation((0, 1), (1, 2), (2, 3)))
    field = _pair_field()
    style = field.define_style("pair14", "lj/cut")
    style.add("A-B", ("A", "B"), epsilon=0.7, sigma=1.1)
    assert energy(frame, field).styles["pair14.lj/cut"] != 0.0
    _check_forces(frame, field)


@pytest.mark.parametrize(
    ("category", "expression"),
    [
        ("bond", "k*(r-0.7)^2+log(r)"),
        ("angle", "k*(cos(theta)-0.3)^2"),
        ("dihedral", "k*sin(phi)^3+phi^2"),
        ("improper", "k*(chi-0.3)^4"),
        ("improper", "k*(2*atan(tan(0.5*(phi-0.4))))^2"),
    ],
)
def test_forces_of_expressions(category: str, expression: str) -> None:
    random = np.random.default_rng(5)
    atoms = [tuple(random.permutation(6)[: _ARITY[category]].tolist()) for _ in range(4)]
    frame = _frame(random.uniform(0.0, 3.0, (6, 3)))
    frame[f"{category}s"] = _relation(*atoms, k=random.uniform(1, 2, 4))
    field = mr.ForceField("test", "real")
    field.define_style(category, "own", expression=expression)
    _check_forces(frame, field)


def test_pair_expressions_take_charges_and_parameters_of_types() -> None:
    frame = _frame(np.random.default_rng(2).uniform(0.0, 3.0, (6, 3)))
    field = mr.ForceField("test", "real", _SPECIAL)
    style = field.define_style("pair", "own", {"b": 0.5, "cutoff": 2.5}, "a*exp(-b*r)+coulomb*q1*q2/r")
    style.add("any", ("", ""), a=3.0)
    _check_forces(frame, field)
    positions, charges = _positions(frame), frame["atoms"]["charge"]
    wanted = 0.0
    for one in range(6):
        for other in range(one + 1, 6):
            r = float(np.linalg.norm(positions[one] - positions[other]))
            if r < 2.5:
                wanted += 3.0 * math.exp(-0.5 * r) + 332.0637130744615 * charges[one] * charges[other] / r
    assert energy(frame, field).styles == {"pair.own": pytest.approx(wanted, rel=1e-9)}


def test_a_urey_bradley_spring_is_between_the_outer_atoms() -> None:
    frame = _frame([[0, 0, 0], [1, 0, 0], [1, 1, 0]], urey_bradleys=_relation((0, 1, 2), k=[2.0], r0=[1.0]))
    field = mr.ForceField("test", "real")
    field.define_style("urey_bradley", "harmonic", expression="0.5*k*(r-r0)^2")
    assert energy(frame, field).total == pytest.approx((math.sqrt(2.0) - 1.0) ** 2)
    _check_forces(frame, field)


def test_a_trefoil_is_the_mean_of_three_torsions() -> None:
    random = np.random.default_rng(8)
    positions = random.uniform(0.0, 2.0, (4, 3))
    params = {"k": [2.0], "periodicity": [2.0], "phase": [0.7]}
    found = []
    for style, atoms in (
        ("trefoil", (0, 1, 2, 3)),
        *(("periodic", order) for order in ((0, 1, 2, 3), (2, 1, 3, 0), (3, 1, 0, 2))),
    ):
        field = mr.ForceField("test", "real")
        field.define_style("improper", style)
        found.append(energy(_frame(positions, impropers=_relation(atoms, **params)), field).total)
    assert found[0] == pytest.approx(sum(found[1:]) / 3.0)


# -- what moves nothing -----------------------------------------------------------------------------------------------


def _pair_field() -> mr.ForceField:
    field = mr.ForceField("test", "real", _SPECIAL)
    style = field.define_style("pair", "lj/cut", {"cutoff": 3.1, "mixing": "arithmetic"})
    style.add("A", ("A", "A"), epsilon=0.2, sigma=0.9)
    style.add("B", ("B", "B"), epsilon=0.1, sigma=0.7)
    field.define_style("pair", "coul/cut", {"cutoff": 3.1})
    return field


def _molecule(seed: int, box: mr.Box | None = None) -> tuple[mr.Frame, mr.ForceField]:
    """Return a molecule with one style of every kind."""
    random = np.random.default_rng(seed)
    chain = np.stack([np.arange(6.0), np.arange(6) % 2, np.zeros(6)], axis=1) + random.uniform(-0.2, 0.2, (6, 3))
    field = _pair_field()
    blocks: dict[str, mr.Block] = {}
    for category, name in (
        ("bond", "class2"), ("angle", "class2"), ("dihedral", "class2"), ("improper", "harmonic"),
    ):  # fmt: skip
        arity = _ARITY[category]
        atoms = [tuple(range(start, start + arity)) for start in range(7 - arity)]
        field.define_style(category, name)
        blocks[f"{category}s"] = _relation(*atoms, **_params(REGISTRY[category, name], random, len(atoms)))
    blocks["dihedrals"]["style"] = ["class2"] * 3
    blocks["pairs"] = _relation((0, 3), is_14=[True], epsilon=[0.3], sigma=[0.8])
    field.define_style("pair14", "lj/cut")
    return _frame(chain, box, **blocks), field


def test_forces_of_everything_at_once() -> None:
    _check_forces(*_molecule(0))
    _check_forces(*_molecule(1, mr.Box(np.array([[9.0, 3.0, 0.0], [0.0, 8.0, -4.0], [0.0, 0.0, 7.0]]))))


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    shift=st.tuples(*[st.floats(-50.0, 50.0)] * 3),
    turn=st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: sum(x * x for x in q) > 0.1),
)
def test_moving_and_turning_a_molecule_costs_nothing(seed: int, shift: Any, turn: Any) -> None:
    frame, field = _molecule(seed)
    w, x, y, z = np.array(turn) / np.linalg.norm(turn)
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    here = energy(frame, field)
    there = energy(_moved(frame, _positions(frame) @ rotation.T + np.array(shift)), field)
    assert here.forces is not None
    assert there.forces is not None
    for label, value in here.styles.items():
        assert there.styles[label] == pytest.approx(value, rel=1e-9, abs=1e-9)
    scale = np.abs(here.forces).max()
    assert np.abs(there.forces - here.forces @ rotation.T).max() < 1e-9 * scale
    assert np.abs(here.forces.sum(axis=0)).max() < 1e-10 * scale
    assert np.abs(np.cross(_positions(frame), here.forces).sum(axis=0)).max() < 1e-9 * scale


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), steps=st.lists(st.integers(-3, 3), min_size=18, max_size=18))
def test_images_of_atoms_are_the_same_atoms(seed: int, steps: list[int]) -> None:
    box = mr.Box(np.array([[9.0, 3.0, 0.0], [0.0, 8.0, -4.0], [0.0, 0.0, 7.0]]))
    frame, field = _molecule(seed, box)
    moved = _positions(frame) + np.array(steps).reshape(6, 3) @ box.vectors.T
    here, there = energy(frame, field), energy(_moved(frame, moved), field)
    for label, value in here.styles.items():
        assert there.styles[label] == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert here.forces is not None
    assert there.forces is not None
    assert np.abs(here.forces - there.forces).max() < 1e-9 * np.abs(here.forces).max()


def test_the_caller_keeps_what_was_given() -> None:
    frame, field = _molecule(3)
    before, stored = frame.copy(), field.to_section()
    energy(frame, field)
    assert frame == before
    assert field.to_section() == stored


def test_a_link_serves_other_frames_of_the_run() -> None:
    frame, field = _molecule(4)
    linked = link(frame, field)
    other = _moved(frame, _positions(frame) * 1.01)
    assert energy(other, field, linked=linked).total == energy(other, field).total
    with refused("reject-ff-endpoints", "had 6", "link this frame"):
        energy(_frame(np.eye(3)), field, linked=linked)


def test_sums_by_category_and_by_term() -> None:
    found = energy(*_molecule(5))
    assert found.categories["pair"] == found.styles["pair.lj/cut"] + found.styles["pair.coul/cut"]
    assert found.total == pytest.approx(sum(found.categories.values()))
    for label, terms in found.terms.items():
        assert terms.sum() == pytest.approx(found.styles[label])


# -- near pairs and images --------------------------------------------------------------------------------------------


def test_weights_act_on_the_nearest_image_only() -> None:
    box = mr.Box(np.eye(3) * 3.0)
    field = mr.ForceField("test", "real", {"lj": [0.0, 0.0, 0.0], "coul": [0.0, 0.0, 0.0]})
    field.define_style("pair", "inverse", {"cutoff": 4.4}, "1/r")
    positions = np.array([[0.2, 0.1, 0.0], [2.9, 0.3, 0.1]])
    frame = _frame(positions, box, bonds=_relation((0, 1)))
    wanted = 0.0
    shifts = np.array([[a, b, c] for a in range(-2, 3) for b in range(-2, 3) for c in range(-2, 3)]) * 3.0
    between = np.sort(np.linalg.norm(positions[1] - positions[0] + shifts, axis=1))
    wanted = (1.0 / between[1:][between[1:] < 4.4]).sum()
    own = np.linalg.norm(shifts, axis=1)
    wanted += (1.0 / own[(own > 0.0) & (own < 4.4)]).sum()
    assert energy(frame, field).total == pytest.approx(wanted)


def test_a_pair14_row_replaces_the_scaled_pair() -> None:
    frame = _frame([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], bonds=_relation((0, 1), (1, 2), (2, 3)))
    field = mr.ForceField("test", "real", {"lj": [0.0, 0.0, 0.5], "coul": [0.0, 0.0, 0.5]})
    pairs = field.define_style("pair", "lj/cut", {"mixing": "arithmetic"})
    pairs.add("A", ("A", "A"), epsilon=0.2, sigma=0.9)
    pairs.add("B", ("B", "B"), epsilon=0.2, sigma=0.9)
    scaled = energy(frame, field).styles["pair.lj/cut"]
    style = field.define_style("pair14", "lj/cut")
    style.add("other", ("A", "A"), epsilon=1.0, sigma=0.9)
    assert energy(frame, field).styles == {"pair.lj/cut": scaled, "pair14.lj/cut": 0.0}
    style.add("A-B", ("B", "A"), epsilon=0.2, sigma=0.9)
    assert energy(frame, field).styles == {"pair.lj/cut": 0.0, "pair14.lj/cut": pytest.approx(2.0 * scaled)}
    frame["pairs"] = _relation((0, 2), is_14=[True], epsilon=[0.0], sigma=[1.0])
    # listed: the graph's own 1-4 pair is scaled again, the listed one has the parameters of its row
    assert energy(frame, field).styles == {"pair.lj/cut": pytest.approx(scaled), "pair14.lj/cut": 0.0}


def test_1_4_rows_are_mixed_where_their_style_says_so() -> None:
    frame = _frame([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], bonds=_relation((0, 1), (1, 2), (2, 3)))
    field = mr.ForceField("test", "real", {"lj": [0.0, 0.0, 0.0], "coul": [0.0, 0.0, 0.5]})
    for category in ("pair", "pair14"):
        style = field.define_style(category, "lj/cut", {"mixing": "geometric"})
        style.add("A", ("A", "A"), epsilon=0.1, sigma=1.0)
        style.add("B", ("B", "B"), epsilon=0.4, sigma=1.0)
    inverse = 1.0 / math.sqrt(3.0) ** 6
    assert energy(frame, field).styles["pair14.lj/cut"] == pytest.approx(4.0 * 0.2 * (inverse**2 - inverse))


def test_a_row_of_pairs_may_name_a_row_of_a_style() -> None:
    field = mr.ForceField("test", "real", {"lj": [0.0, 0.0, 0.0], "coul": [0.0, 0.0, 0.0]})
    for style in ("lj/cut", "lj/class2"):
        made = field.define_style("pair", style)
        made.add("any", ("", ""), epsilon=0.0, sigma=1.0)
        made.add("own", ("nobody", "nobody"), epsilon=0.5, sigma=1.0)
    frame = _frame([[0, 0, 0], [1.2, 0, 0]])
    frame["pairs"] = _relation((0, 1), type=["own"])
    both = energy(frame, field).styles
    assert all(value != 0.0 for value in both.values())
    frame["pairs"]["style"] = ["lj/class2"]
    assert energy(frame, field).styles == {"pair.lj/cut": 0.0, "pair.lj/class2": both["pair.lj/class2"]}


def test_a_style_may_hold_more_types_than_a_table_of_all_pairs_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(4)
    frame = _frame(random.uniform(0.0, 30.0, (1200, 3)), mr.Box(np.eye(3) * 30.0))
    frame["atoms"]["type"] = [f"t{number}" for number in range(1200)]
    field = mr.ForceField("test", "real", _SPECIAL)
    style = field.define_style("pair", "lj/cut", {"cutoff": 5.0, "mixing": "geometric"})
    for number in range(1200):
        style.add(f"t{number}", (f"t{number}",) * 2, epsilon=0.1 + number * 1e-4, sigma=0.5)
    many = energy(frame, field)
    monkeypatch.setattr("molrec.forcefield.nonbonded._DENSE", 2**30)
    assert many.total == pytest.approx(energy(frame, field).total, rel=1e-12)


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_excluded_atoms_in_one_place_do_not_meet(far: float) -> None:
    positions = np.array([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [2.0, 2.0, 2.0]]) + far / 3.0
    box = mr.Box(np.array([[9.0, 3.0, 0.0], [0.0, 8.0, -4.0], [0.0, 0.0, 7.0]]) / 1.1)
    field = mr.ForceField("test", "real", _SPECIAL)
    field.define_style("pair", "coul/cut", {"cutoff": 3.4, "coulomb": 1.0})
    frame = _frame(positions, box, exclusions=_relation((0, 1)))
    found = energy(frame, field)
    wanted = 0.4 * -0.3 / np.linalg.norm([1.9, 1.8, 1.7]) + 0.09 / np.linalg.norm([1.9, 1.8, 1.7])
    assert found.total == pytest.approx(wanted, rel=1e-8)


def test_a_row_of_pairs_overrides_what_its_types_have() -> None:
    field = _pair_field()
    frame = _frame([[0, 0, 0], [1, 0, 0]])
    plain = energy(frame, field).styles["pair.lj/cut"]
    frame["pairs"] = _relation((1, 0), epsilon=[0.3])
    assert energy(frame, field).styles["pair.lj/cut"] == pytest.approx(plain * 0.3 / math.sqrt(0.2 * 0.1))


def test_a_block_of_pairs_may_be_empty() -> None:
    frame = _frame([[0, 0, 0], [1, 0, 0]], bonds=_relation((0, 1)))
    wanted = energy(frame, _pair_field()).styles
    frame["pairs"] = mr.Block(
        {**dict.fromkeys(_ENDS[:2], np.zeros(0, np.uint64)), "type": [], "style": [], "epsilon": []}
    )
    assert energy(frame, _pair_field()).styles == wanted


def test_a_style_that_does_not_hold_a_pair_leaves_it_to_one_that_does() -> None:
    field = mr.ForceField("test", "real", _SPECIAL)
    field.define_style("pair", "lj/cut").add("A", ("A", "A"), epsilon=0.2, sigma=0.9)
    buck = field.define_style("pair", "buck")
    buck.add("A-B", ("A", "B"), a=1.0, rho=1.0, c=0.0)
    frame = _frame([[0, 0, 0], [1, 0, 0]])
    assert energy(frame, field).styles == {"pair.lj/cut": 0.0, "pair.buck": pytest.approx(math.exp(-1.0))}


# -- sites, springs, constraints --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "params", "count"),
    [
        ("average2", {"w1": 0.3, "w2": 0.7}, 2),
        ("average3", {"w1": 0.2, "w2": 0.3, "w3": 0.5}, 3),
        ("outofplane3", {"w12": 0.3, "w13": 0.2, "wcross": 0.6}, 3),
    ],
)
@pytest.mark.parametrize("periodic", [False, True])
def test_forces_on_virtual_sites_go_to_their_atoms(
    style: str, params: dict[str, float], count: int, periodic: bool
) -> None:
    box = mr.Box(np.eye(3) * 7.0) if periodic else None
    positions = np.random.default_rng(6).uniform(0.0, 3.0, (6, 3))
    if periodic:
        positions[1] += [7.0, 0.0, -14.0]
    sites = _relation((5, 0, 1, 2), type=["m"])
    sites.set_validity("atoml", np.array([count == 3]))
    frame = _frame(positions, box, virtual_sites=sites, exclusions=_relation((5, 0), (5, 1), (5, 2)))
    field = _pair_field()
    field.define_style("virtual_site", style).add("m", (), **params)
    found = energy(frame, field)
    assert found.forces is not None
    assert found.forces[5].tolist() == [0.0, 0.0, 0.0]
    assert np.abs(found.forces.sum(axis=0)).max() < 1e-9 * np.abs(found.forces).max()
    # where a site is said to be does not matter: its atoms put it where it is
    moved = _moved(frame, np.vstack([positions[:5], [[90.0, 90.0, 90.0]]]))
    assert energy(moved, field).total == found.total
    _check_forces(frame, field, free=slice(0, 5))


def test_a_site_of_a_site_is_refused() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("virtual_site", "average2").add("m", w1=0.5, w2=0.5)
    sites = _relation((3, 0, 1), (4, 3, 1), type=["m", "m"])
    with refused("reject-ff-nested-sites", "atom 3"):
        energy(_frame(np.eye(5)[:, :3], virtual_sites=sites), field)


def test_a_site_needs_its_atoms_and_parameters() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("virtual_site", "average3").add("m", w1=0.5, w2=0.5)
    with refused("reject-ff-missing-parameter", "row 0", "w3"):
        energy(_frame(np.eye(5)[:, :3], virtual_sites=_relation((3, 0, 1, 2), type=["m"])), field)


def test_drude_springs_and_constraints() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("drude", "harmonic").add("d", ("A", "B"), k=4.0, alpha=1.0, thole=1.3)
    field.define_style("constraint", "fixed").add("c", ("A", "B"), r0=0.3)
    frame = _frame([[0, 0, 0], [0, 0, 0.5]], drudes=_relation((0, 1), type=["d"]))
    frame["constraints"] = _relation((0, 1), type=["c"])
    found = energy(frame, field)
    assert found.styles == {"drude.harmonic": 0.5}
    _check_forces(frame, field)


def test_a_straight_angle_at_its_reference_has_no_force() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("angle", "harmonic")
    frame = _frame([[-1, 0, 0], [0, 0, 0], [1, 0, 0]], angles=_relation((0, 1, 2), k=[5.0], theta0=[math.pi]))
    found = energy(frame, field)
    assert found.total == 0.0
    assert found.forces is not None
    assert not found.forces.any()


def test_a_frame_without_atoms_costs_nothing() -> None:
    assert energy(_frame(np.zeros((0, 3))), _pair_field()).total == 0.0


# -- units ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "constant"),
    [
        ({"preset": "real"}, 332.06371),
        ({"preset": "metal"}, 14.399645),
        ({"preset": "si"}, 8.9876e9),
        ({"preset": "cgs"}, 1.0),
        ({"preset": "electron"}, 1.0),
        ({"preset": "micro"}, 8.987556e6),
        ({"preset": "nano"}, 230.7078669),
        ({"preset": "lj"}, 1.0),
        ({"length": "nm", "energy": "kJ/mol"}, 138.935457644),
        ({"length": "nm", "energy": "kJ/mol", "charge": "e"}, 138.935457644),
    ],
)
def test_the_coulomb_constant_of_units(units: dict[str, str], constant: float) -> None:
    assert coulomb_constant(units) == pytest.approx(constant, rel=1e-5)


def test_units_that_say_no_coulomb_constant_are_refused_and_a_stated_one_counts() -> None:
    frame = _frame([[0, 0, 0], [2, 0, 0]])
    field = mr.ForceField("test", {"energy": "eV"}, _SPECIAL)
    style = field.define_style("pair", "coul/cut")
    with refused("reject-ff-missing-parameter", "coulomb", "pair.coul/cut"):
        energy(frame, field)
    style.params["coulomb"] = 10.0
    assert energy(frame, field).total == pytest.approx(10.0 * 0.4 * -0.3 / 2.0)


def test_units_that_make_no_energy_are_refused() -> None:
    with refused("reject-ff-missing-parameter", "'nm'", "state `coulomb`"):
        coulomb_constant({"length": "nm", "energy": "nm"})


def test_positions_in_other_units_are_refused() -> None:
    field = mr.ForceField("test", {"length": "nm", "energy": "kJ/mol"})
    frame = _frame(np.eye(3))
    frame.meta["units"] = {"preset": "real"}
    with refused("reject-ff-units-differ", "angstrom", "nm"):
        energy(frame, field)
    frame.meta["units"] = {"length": "nanometer"}
    assert energy(frame, field).total == 0.0


# -- expressions beside the registry ----------------------------------------------------------------------------------


def test_an_expression_that_agrees_with_the_registry_is_accepted() -> None:
    for text in ("0.5*k*(r-r0)^2", "k/2*(r*r-2*r*r0+r0*r0)"):
        field = mr.ForceField("test", "real")
        field.define_style("bond", "harmonic", expression=text).add("b", ("A", "B"), k=3.0, r0=1.0)
        frame = _frame([[0, 0, 0], [2, 0, 0]], bonds=_relation((0, 1), type=["b"]))
        assert energy(frame, field).total == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("category", "style", "text"),
    [
        ("bond", "harmonic", "k*(r-r0)^2"),
        ("bond", "harmonic", "0.5*k*(r-r0)^2+c"),
        ("improper", "harmonic", "0.5*k*(chi-chi0)^2"),
        ("dihedral", "opls", "k1*(1+cos(phi))"),
    ],
)
def test_an_expression_that_contradicts_the_registry_is_refused(category: str, style: str, text: str) -> None:
    field = mr.ForceField("test", "real")
    field.define_style(category, style, expression=text)
    known = REGISTRY[category, style]
    atoms = tuple(range(_ARITY[category]))
    params = {one.name: [1.0] for one in known.parameters}
    frame = _frame(np.random.default_rng(1).uniform(0, 2, (4, 3)))
    frame[f"{category}s"] = _relation(atoms, **params)
    with refused("reject-ff-expression-disagrees", f"{category}.{style}", text):
        energy(frame, field)


def test_a_coulomb_expression_may_have_its_constant_typed_in() -> None:
    field = mr.ForceField("test", {"length": "nm", "energy": "kJ/mol"}, _SPECIAL)
    field.define_style("pair", "coul/cut", {"coulomb": 138.935457644}, "138.935456*q1*q2/r")
    assert energy(_frame([[0, 0, 0], [1, 0, 0]]), field).total == pytest.approx(138.935457644 * -0.12)


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_names_no_table_holds_are_refused_when_priced() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("bond", "harmonic").add("b", ("A", "B"), k=3.0, r0=1.0)
    frame = _frame([[0, 0, 0], [2, 0, 0]], bonds=_relation((0, 1), type=["x"]))
    with refused("reject-ff-unresolved", "bonds", "'x'", "row 0"):
        energy(frame, field)
    assert energy(frame, field, linked=link(frame, field, by_endpoints=True)).total == pytest.approx(1.5)


@pytest.mark.parametrize("style", ["own", "coul/long/pme"])
def test_a_style_nothing_prices_is_refused_by_name(style: str) -> None:
    field = mr.ForceField("test", "real", _SPECIAL)
    field.define_style("pair", style)
    with refused("reject-ff-unpriced", f"pair.{style}"):
        energy(_frame([[0, 0, 0], [2, 0, 0]]), field)


def test_terms_of_a_category_nobody_prices_are_refused() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("cmap", "charmm").add("m", ("A",) * 4, grid="0 0 0 0")
    frame = _frame(np.eye(4)[:, :3], cmaps=_relation((0, 1, 2, 3), type=["m"]))
    with refused("reject-ff-unpriced", "cmap.charmm", "'cmaps'"):
        energy(frame, field)
    del frame["cmaps"]
    assert energy(frame, field).total == 0.0


def test_a_parameter_that_is_missing_is_refused() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("bond", "harmonic").add("b", ("A", "B"), k=3.0)
    with refused("reject-ff-missing-parameter", "'r0'", "bond.harmonic", "1 terms"):
        energy(_frame([[0, 0, 0], [2, 0, 0]], bonds=_relation((0, 1), type=["b"])), field)


def test_half_a_cosine_term_is_refused_and_none_is_none() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("dihedral", "periodic")
    style.add("two", ("",) * 4, k1=1.0, periodicity1=1.0, phase1=0.0, k2=1.0, periodicity2=2.0, phase2=0.0)
    style.add("one", ("",) * 4, k1=1.0, periodicity1=1.0, phase1=0.0)
    positions = np.random.default_rng(1).uniform(0, 2, (4, 3))
    dihedrals = _relation((0, 1, 2, 3), (0, 1, 2, 3), type=["two", "one"])
    frame = _frame(positions, dihedrals=dihedrals)
    two, one = energy(frame, field).terms["dihedral.periodic"]
    assert two > one > 0.0
    style.add("half", ("",) * 4, k1=1.0, periodicity1=1.0, phase1=0.0, k2=1.0, phase2=0.0)
    frame["dihedrals"]["type"] = ["half", "one"]
    with refused("reject-ff-missing-parameter", "'periodicity2'"):
        energy(frame, field)


def test_half_a_cross_term_is_refused() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("angle", "class2")
    style.add("a", ("",) * 3, theta0=1.0, k2=1.0, k3=0.0, k4=0.0, bb_m=1.0, bb_r1=1.0)
    frame = _frame(np.random.default_rng(1).uniform(0, 2, (3, 3)), angles=_relation((0, 1, 2), type=["a"]))
    with refused("reject-ff-missing-parameter", "'bb_r2'"):
        energy(frame, field)


def test_a_pair_of_types_nothing_prices_is_refused() -> None:
    field = mr.ForceField("test", "real", _SPECIAL)
    field.define_style("pair", "lj/cut").add("A", ("A", "A"), epsilon=0.2, sigma=0.9)
    with refused("reject-ff-unresolved", "'A'", "'B'", "pair.lj/cut", "atoms 0 and 1"):
        energy(_frame([[0, 0, 0], [2, 0, 0]]), field)


def test_atoms_without_a_charge_are_refused() -> None:
    frame = _frame([[0, 0, 0], [2, 0, 0]])
    del frame["atoms"]["charge"]
    field = mr.ForceField("test", "real", _SPECIAL)
    field.define_style("pair", "coul/cut")
    with refused("reject-ff-missing-parameter", "2 atoms", "charge"):
        energy(frame, field)


def test_atoms_in_one_place_are_refused() -> None:
    with refused("reject-ff-not-finite", "atoms 0 and 1"):
        energy(_frame([[0, 0, 0], [0, 0, 0]]), _pair_field())


def test_a_torsion_along_a_line_is_refused() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("dihedral", "harmonic")
    straight = np.arange(4.0)[:, None] * np.ones(3)
    frame = _frame(straight, dihedrals=_relation((0, 1, 2, 3), k=[1.0], sign=[1.0], periodicity=[1.0]))
    with refused("reject-ff-not-finite", "dihedral.harmonic"):
        energy(frame, field, forces=False)


def test_a_term_that_is_not_defined_where_its_atoms_are_is_refused() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("bond", "own", expression="log(1-r)")
    with refused("reject-ff-not-finite", "bond.own", "'bonds'"):
        energy(_frame([[0, 0, 0], [2, 0, 0]], bonds=_relation((0, 1))), field)


def test_a_term_without_a_finite_force_is_refused() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("bond", "own", expression="sqrt(r-2)")
    frame = _frame([[0, 0, 0], [2, 0, 0]], bonds=_relation((0, 1)))
    assert energy(frame, field, forces=False).total == 0.0
    with refused("reject-ff-not-finite", "bond.own", "row 0", "derivative by r"):
        energy(frame, field)


def test_a_parameter_of_the_style_counts_where_a_row_has_none() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("bond", "own", {"k": 2.0}, "k*r")
    style.add("a", ("A", "B"), k=5.0)
    style.add("b", ("A", "B"))
    bonds = _relation((0, 1), (0, 1), type=["a", "b"])
    assert energy(_frame([[0, 0, 0], [2, 0, 0]], bonds=bonds), field).terms["bond.own"].tolist() == [10.0, 4.0]


def test_an_expression_with_both_names_of_an_improper_is_refused() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("improper", "own", expression="phi*chi")
    frame = _frame(np.random.default_rng(1).uniform(0, 2, (4, 3)), impropers=_relation((0, 1, 2, 3)))
    with refused("reject-ff-expression", "both phi and chi"):
        energy(frame, field)


def test_a_position_that_is_null_is_refused() -> None:
    frame = _frame([[0, 0, 0], [1, 0, 0]])
    frame["atoms"].set_validity("y", np.array([True, False]))
    with refused("reject-ff-not-finite", "atom 1"):
        energy(frame, _pair_field())


def test_positions_that_are_missing_are_refused() -> None:
    with refused("reject-ff-missing-parameter", "x, y and z"):
        energy(mr.Frame({"atoms": mr.Block({"type": ["A"]})}), _pair_field())
    with refused("reject-ff-not-finite", "atom 1"):
        energy(_frame([[0, 0, 0], [np.nan, 0, 0]]), _pair_field())


def test_weighted_torsions_need_someone_to_price_their_pairs() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("dihedral", "charmm")
    style.add("d", ("",) * 4, k=1.0, periodicity=1.0, phase=0.0, w=0.5)
    positions = np.random.default_rng(1).uniform(0, 2, (4, 3))
    frame = _frame(positions, dihedrals=_relation((0, 1, 2, 3), type=["d"]))
    with refused("reject-ff-unpriced", "dihedral.charmm", "w is not 0"):
        energy(frame, field)
    frame["dihedrals"]["w"] = [0.0]
    assert energy(frame, field).styles.keys() == {"dihedral.charmm"}


def test_an_expression_whose_variable_is_a_parameter_is_refused() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("bond", "own", expression="k*r").add("b", ("A", "B"), k=3.0, r=1.0)
    with refused("reject-ff-expression", "'r'", "bond.own"):
        energy(_frame([[0, 0, 0], [2, 0, 0]], bonds=_relation((0, 1), type=["b"])), field)


def test_series_are_found_by_their_coefficients() -> None:
    assert series_indices({"k2", "k10", "k", "kx", "phase1"}) == ("", "2", "10")


def test_numbers_of_another_meaning_are_not_priced() -> None:
    field = mr.ForceField("later", "real")
    field.version = None
    with refused("reject-ff-other-meaning", "'later'", "no version"):
        energy(mr.Frame({"atoms": mr.Block({"x": [0.0], "y": [0.0], "z": [0.0]})}), field)
