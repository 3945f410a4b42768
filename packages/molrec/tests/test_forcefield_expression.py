"""Expressions: the syntax, the values, the derivatives, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from molrec.forcefield import parse_expression
from molrec.forcefield.expression import FUNCTIONS

from .refusals import refused


def _value(text: str, **names: Any) -> float:
    value, _ = parse_expression(text).evaluate({"x": 0.0, **names}, "x")
    return float(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1+2*3", 7.0),
        ("(1+2)*3", 9.0),
        ("8-3-2", 3.0),
        ("8/4/2", 1.0),
        ("2^3^2", 512.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("-2*-3", 6.0),
        ("1.5e1+.5", 15.5),
        ("min(2,3)+max(2,3)*10", 32.0),
        ("abs(-2)+sqrt(9)+exp(0)+log(1)", 6.0),
        ("step(0)+step(-1)*10+step(1)*100", 101.0),
        ("delta(0)+delta(2)*10", 1.0),
        ("select(0,1,2)*10+select(5,1,2)", 21.0),
        ("a*b; a=b+1; b=2", 6.0),
        ("sin(0)+cos(0)+tan(0)+asin(0)+acos(1)+atan(0)", 1.0),
        (" 1 +\t2 ", 3.0),
        ("(-2)^3", -8.0),
        ("4^0.5", 2.0),
    ],
)
def test_values(text: str, value: float) -> None:
    assert _value(text) == pytest.approx(value)


def test_columns_and_numbers_are_broadcast() -> None:
    expression = parse_expression("0.5*k*(r-r0)^2")
    assert expression.names == {"k", "r", "r0"}
    assert expression.text == "0.5*k*(r-r0)^2"
    value, slope = expression.evaluate({"k": np.array([2.0, 4.0]), "r": np.array([1.0, 2.0]), "r0": 0.5}, "r")
    assert value.tolist() == [0.25, 4.5]
    assert slope.tolist() == [1.0, 6.0]


def test_a_constant_has_no_slope() -> None:
    value, slope = parse_expression("3").evaluate({"r": np.ones(4)}, "r")
    assert value.tolist() == [3.0] * 4
    assert slope.tolist() == [0.0] * 4


def test_the_branch_not_taken_does_not_matter() -> None:
    value, slope = parse_expression("select(step(r-1),r,log(r))").evaluate({"r": np.array([2.0, 0.0])}, "r")
    assert value[0] == 2.0
    assert slope[0] == 1.0
    assert not np.isfinite(value[1])


def test_the_nearest_turn_of_an_angle_is_smooth_at_its_reference() -> None:
    for text in ("(2*atan(tan(0.5*(phi-phi0))))^2", "acos(cos(phi-phi0))^2"):
        value, slope = parse_expression(text).evaluate(
            {"phi": np.array([0.3, -3.0]), "phi0": np.array([0.3, 3.0])}, "phi"
        )
        assert value == pytest.approx([0.0, (2.0 * math.pi - 6.0) ** 2], abs=1e-12)
        assert slope == pytest.approx([0.0, 2.0 * (2.0 * math.pi - 6.0)], abs=1e-9)


# -- any expression ---------------------------------------------------------------------------------------------------

_SMOOTH = {"exp": math.exp, "sin": math.sin, "cos": math.cos, "atan": math.atan}


def _pair(children: st.SearchStrategy[tuple[str, Any]]) -> st.SearchStrategy[tuple[str, Any]]:
    def joined(one: tuple[str, Any], sign: str, other: tuple[str, Any]) -> tuple[str, Any]:
        first, second = one[1], other[1]
        functions = {"+": lambda x: first(x) + second(x), "-": lambda x: first(x) - second(x),
                     "*": lambda x: first(x) * second(x)}  # fmt: skip
        return f"({one[0]}{sign}{other[0]})", functions[sign]

    def called(name: str, one: tuple[str, Any]) -> tuple[str, Any]:
        return f"{name}({one[0]})", lambda x: _SMOOTH[name](one[1](x))

    def raised(one: tuple[str, Any], power: int) -> tuple[str, Any]:
        return f"({one[0]})^{power}", lambda x: one[1](x) ** power

    return st.one_of(
        st.builds(joined, children, st.sampled_from("+-*"), children),
        st.builds(called, st.sampled_from(sorted(_SMOOTH)), children),
        st.builds(raised, children, st.integers(0, 4)),
        st.builds(lambda one: (f"-{one[0]}", lambda x: -one[1](x)), children),
    )


def _constant(value: float) -> tuple[str, Any]:
    return repr(value), lambda _x: value


_ANY = st.recursive(st.one_of(st.just(("x", lambda x: x)), st.floats(0.1, 3.0).map(_constant)), _pair, max_leaves=8)


@given(case=_ANY, x=st.floats(0.2, 2.0))
def test_any_expression_has_its_value_and_its_slope(case: tuple[str, Any], x: float) -> None:
    text, function = case
    try:
        wanted, ahead, behind = function(x), function(x + 1e-6), function(x - 1e-6)
    except OverflowError:
        assume(False)
    assume(abs(wanted) < 1e6)
    # a minus before a power is outside of it, in the text as in the syntax
    value, slope = parse_expression(text).evaluate({"x": np.array([x])}, "x")
    assert value[0] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    curve = abs(ahead - 2 * wanted + behind) / 1e-12
    assume(curve < 1e6)
    assert slope[0] == pytest.approx((ahead - behind) / 2e-6, rel=1e-4, abs=1e-3)


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mention"),
    [
        ("", "the end"),
        ("1+", "the end"),
        ("(1", "')'"),
        ("1)", "')'"),
        ("1 2", "'2'"),
        ("+1", "'+'"),
        ("__import__('os')", "'"),
        ("x.y", ".y"),
        ("open(x)", "open"),
        ("sinh(x)", "no function"),
        ("min(x)", "','"),
        ("a;b=c;c=b", "use each other"),
        ("a;a=1;a=2", "a new name"),
        ("a;1=2", "a new name"),
        ("x=3", "'='"),
        ("sin", "sin"),
        ("(" * 300 + "1" + ")" * 300, "deep"),
    ],
)
def test_what_is_not_in_the_syntax_is_refused(text: str, mention: str) -> None:
    with refused("reject-ff-expression", mention):
        _value(text)


def test_a_name_without_a_value_is_refused_by_name() -> None:
    with refused("reject-ff-expression", "rho", "known are"):
        parse_expression("a*exp(-r/rho)").evaluate({"a": 1.0, "r": np.ones(3)}, "r")


@given(text=st.text(alphabet="xyk019.+-*/^(),;= \n'[]{}:exp_sin", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    from molrec import SchemaError

    try:
        parse_expression(text)
    except SchemaError as error:
        assert error.rule == "reject-ff-expression"  # noqa: PT017 - either outcome is right


def test_long_sums_need_no_deep_stack() -> None:
    assert _value("+".join(["1"] * 20000)) == 20000.0


def test_every_function_is_documented_with_its_arguments() -> None:
    one = {"exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "abs", "step", "delta"}
    assert dict.fromkeys(one, 1) | {"min": 2, "max": 2, "select": 3} == FUNCTIONS
