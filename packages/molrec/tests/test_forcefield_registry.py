"""What a registered style means: its energy, the derivative, and the expression that says the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from molrec.forcefield import REGISTRY, RegisteredStyle, parse_expression, registered
from molrec.forcefield.registry import special_class
from molrec.model.forcefield_document import CATEGORY_ARITY

_PRICED = [style for style in REGISTRY.values() if style.form is not None]
_SERIES = ("k1", "periodicity1", "phase1", "k2", "periodicity2", "phase2")


def _label(style: RegisteredStyle) -> str:
    return f"{style.category}.{style.style}"


def _of(style: RegisteredStyle, draw: st.DataObject, *, cross: bool = True) -> dict[str, Any]:
    """Return made-up parameters, those of whole numbers being whole."""
    parameters = style.parameters_of(_SERIES if style.numbered else ())
    number = st.floats(0.5, 2.0)
    of: dict[str, Any] = {}
    for one in parameters:
        if one.priced and (cross or one.group is None or style.numbered):
            of[one.name] = np.array([draw.draw(number)])
        if one.name.startswith("periodicity"):
            of[one.name] = np.array([float(draw.draw(st.integers(1, 6)))])
    for one in style.style_parameters:
        of[one.name] = np.array([draw.draw(number) if one.default is None else one.default])
    return of


def _at(style: RegisteredStyle, draw: st.DataObject) -> dict[str, Any]:
    ranges = {"r": (0.6, 3.0), "t": (0.3, 2.8), "c": (0.1, 3.0), "p": (-3.0, 3.0)}
    at = {name: np.array([draw.draw(st.floats(*ranges[name[0]]))]) for name in style.variables}
    return at | {charge: np.array([draw.draw(st.floats(-1.0, 1.0))]) for charge in ("q1", "q2")}


@pytest.mark.parametrize("style", _PRICED, ids=_label)
@given(draw=st.data())
def test_the_derivative_is_that_of_the_energy(style: RegisteredStyle, draw: st.DataObject) -> None:
    of, at = _of(style, draw), _at(style, draw)
    assert style.form is not None
    variables = {name: at[name] for name in style.variables}
    energy, slopes = style.form(variables, {**of, **at})
    step = 1e-6
    for name, slope in slopes.items():
        ahead, behind = ({**variables, name: at[name] + sign * step} for sign in (1.0, -1.0))
        change = style.form(ahead, {**of, **at, **ahead})[0] - style.form(behind, {**of, **at, **behind})[0]
        scale = abs(float(energy[0])) + abs(float(slope[0])) + 1.0
        assert abs(float(change[0]) / (2.0 * step) - float(slope[0])) < 1e-6 * max(scale, 1.0)


@pytest.mark.parametrize("style", _PRICED, ids=_label)
@given(draw=st.data())
def test_the_expression_says_the_same(style: RegisteredStyle, draw: st.DataObject) -> None:
    of, at = _of(style, draw, cross=False), _at(style, draw)
    text = style.expression(of)
    assert text is not None
    assert style.form is not None
    variable = style.variables[0]
    energy, slopes = style.form({variable: at[variable]}, {**of, **at})
    expression = parse_expression(text)
    assert expression.names <= {*of, *at}
    value, slope = expression.evaluate({**of, **at}, variable)
    assert value == pytest.approx(energy, rel=1e-9, abs=1e-9)
    assert slope == pytest.approx(slopes[variable], rel=1e-9, abs=1e-9)


def test_the_styles_are_those_of_the_format() -> None:
    stated = {
        "atom": {"full"},
        "bond": {"harmonic", "morse", "class2"},
        "angle": {"harmonic", "class2"},
        "dihedral": {"periodic", "opls", "rb", "charmm", "harmonic", "multi/harmonic", "class2"},
        "improper": {"harmonic", "periodic", "cvff", "trefoil"},
        "pair": {"lj/cut", "lj/class2", "buck", "morse", "coul/cut", "coul/long/pme"},
        "pair14": {"lj/cut"},
        "constraint": {"fixed"},
        "virtual_site": {"average2", "average3", "outofplane3"},
        "drude": {"harmonic"},
    }
    assert REGISTRY.keys() == {(category, style) for category, styles in stated.items() for style in styles}
    assert {style.category for style in REGISTRY.values()} <= CATEGORY_ARITY.keys()


def test_harmonic_impropers_have_no_half() -> None:
    style = registered("improper", "harmonic")
    assert style is not None
    assert style.form is not None
    of = {"k": np.array([20.0]), "chi0": np.array([0.5])}
    energy, _ = style.form({"chi": np.array([1.5])}, of)
    assert energy.tolist() == [20.0]


def test_other_exponents_keep_the_depth_of_the_well() -> None:
    style = registered("pair", "lj/cut")
    assert style is not None
    assert style.form is not None
    for n, m in ((12.0, 6.0), (9.0, 6.0), (14.0, 7.0)):
        of = {name: np.array([value]) for name, value in (("epsilon", 0.3), ("sigma", 1.1), ("n", n), ("m", m))}
        energies, _ = style.form({"r": np.linspace(1.0, 2.0, 200001)}, {**of, "shift": np.zeros(1)})
        assert energies.min() == pytest.approx(-0.3, rel=1e-9)


def test_a_shifted_pair_ends_at_zero() -> None:
    style = registered("pair", "lj/cut")
    assert style is not None
    assert style.form is not None
    of = {"epsilon": 0.3, "sigma": 1.1, "n": 12.0, "m": 6.0, "shift": 1.0, "cutoff": 2.5}
    energy, _ = style.form({"r": np.array([2.5])}, {name: np.asarray(value) for name, value in of.items()})
    assert energy[0] == pytest.approx(0.0, abs=1e-15)


def test_which_names_are_parameters() -> None:
    periodic, opls = registered("dihedral", "periodic"), registered("dihedral", "opls")
    assert periodic is not None
    assert opls is not None
    assert all(periodic.knows(name) for name in ("k", "k12", "phase3", "periodicity"))
    assert not any(periodic.knows(name) for name in ("k1x", "penalty", "kk"))
    assert opls.knows("k4")
    assert not opls.knows("k5")
    assert [one.name for one in periodic.parameters_of(["k10", "k2"])] == [
        "k2", "periodicity2", "phase2", "k10", "periodicity10", "phase10"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("style", "stated", "weights"),
    [("lj/cut", None, "lj"), ("coul/cut", "lj", "coul"), ("born", None, "lj"), ("born", "coul", "coul")],
)
def test_which_special_weights_a_pair_style_takes(style: str, stated: object, weights: str) -> None:
    assert special_class(style, stated) == weights
