"""Declared precision, against its formula in exact rationals (spec: frame, declared precision)."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr

from .refusals import refused
from .strategies import F64_EDGES, precisions, stored_array, stored_value

LOWEST, HIGHEST = 2.0**-1000, 2.0**1000


def bits(values: npt.ArrayLike) -> list[int]:
    """Return the bit pattern of every value."""
    found: list[int] = np.asarray(values, dtype=np.float64).reshape(-1).view(np.uint64).tolist()
    return found


def from_bits(pattern: int) -> float:
    value: float = struct.unpack(">d", pattern.to_bytes(8, "big"))[0]
    return value


@st.composite
def near_the_grid(draw: st.DrawFn) -> tuple[float, float]:
    """Return a precision and a value within a few quanta, ties and their neighbours most of all."""
    precision = draw(precisions())
    _, exponent = math.frexp(precision)
    halves = draw(st.integers(-(2**54), 2**54) | st.integers(-20, 20))
    try:
        value = float(Fraction(halves, 2) * Fraction(2) ** (exponent - 1))
    except OverflowError:
        value = math.inf
    return precision, math.nextafter(value, draw(st.sampled_from([value, -math.inf, math.inf])))


# -- the quantum ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("precision", "quantum"),
    [
        (1e-3, 2.0**-10),
        (1e-2, 2.0**-7),
        (0.5, 0.5),
        (1.0, 1.0),
        (math.nextafter(1.0, 0.0), 0.5),
        (math.nextafter(1.0, 2.0), 1.0),
        (1, 1.0),
        (3, 2.0),
        (1000.0, 512.0),
        (LOWEST, LOWEST),
        (HIGHEST, HIGHEST),
        (np.float64(1e-3), 2.0**-10),
        (np.float32(0.5), 0.5),
        (np.int64(5), 4.0),
    ],
)
def test_quantum_is_the_largest_power_of_two_not_above_the_precision(precision: float, quantum: float) -> None:
    found = mr.quantum(precision)
    assert type(found) is float
    assert found == quantum


@given(precisions())
def test_quantum_bounds_the_precision(precision: float) -> None:
    quantum = Fraction(mr.quantum(precision))
    assert quantum <= Fraction(precision) < 2 * quantum
    assert quantum.numerator == 1 or quantum.denominator == 1
    assert math.frexp(float(quantum))[0] == 0.5


@pytest.mark.parametrize(
    "precision",
    [
        0.0,
        -0.0,
        -1.0,
        math.nan,
        math.inf,
        -math.inf,
        5e-324,
        math.nextafter(LOWEST, 0.0),
        math.nextafter(HIGHEST, math.inf),
        10**400,
        True,
        None,
        "1e-3",
        1e-3j,
        [1e-3],
        np.bool_(True),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_inadmissible_precision_is_refused_everywhere(precision: Any) -> None:
    rule = "reject-precision-out-of-bounds"
    with refused(rule):
        mr.quantum(precision)
    with refused(rule):
        mr.quantize([1.0], precision)
    with refused(rule):
        mr.on_grid([1.0], precision)
    schema = mr.SequenceSchema().declare_column("atoms", "x", "f64")
    with refused(rule, "'atoms'", "'x'"):
        schema.declare_precision("atoms", "x", precision)
    assert schema.blocks["atoms"].columns["x"].precision is None
    if precision is not None:
        block = mr.Block({"x": [0.3]})
        with refused(rule, "'x'"):
            block.set_precision("x", precision)
        assert block.precision("x") is None
        assert block["x"].tolist() == [0.3]


# -- rounding -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("precision", "value", "stored"),
    [
        (1e-3, 0.0014, 0.0009765625),
        (0.5, 1.25, 1.0),  # 2.5 q goes to the even 2 q
        (0.5, 1.75, 2.0),  # 3.5 q goes to the even 4 q
        (0.5, -1.25, -1.0),
        (0.5, 0.25, 0.0),
        (0.5, -0.25, -0.0),
        (0.5, math.nextafter(0.25, 1.0), 0.5),
        (0.5, -0.0, -0.0),
        (0.5, -1e-300, -0.0),
        (0.5, 1e-300, 0.0),
        (1.0, 2.0**52 - 0.5, 2.0**52),
        (1.0, 2.0**52 + 1.0, 2.0**52 + 1.0),
        (1.0, 2.0**53, 2.0**53),
        (1.0, math.inf, math.inf),
        (1.0, -math.inf, -math.inf),
        (1.0, 1.7976931348623157e308, 1.7976931348623157e308),
        (LOWEST, 5e-324, 0.0),
        (LOWEST, -5e-324, -0.0),
        (LOWEST, 1.0, 1.0),
        (HIGHEST, 1.0, 0.0),
        (HIGHEST, -(2.0**999), -0.0),
        (HIGHEST, 1.5 * 2.0**1000, 2.0**1001),
        (HIGHEST, 2.5 * 2.0**1000, 2.0**1001),
        (HIGHEST, 1.7976931348623157e308, math.inf),  # rounds up to 2^1024
        (2.0**972, -1.7976931348623157e308, -math.inf),  # a tie
        (2.0**972, math.nextafter(1.7976931348623157e308, 0.0), 1.7976931348623155e308),
        (2.0**971, 1.7976931348623157e308, 1.7976931348623157e308),
    ],
)
def test_stored_value(precision: float, value: float, stored: float) -> None:
    assert bits(mr.quantize([value], precision)) == bits([stored])
    assert bits([stored_value(value, precision)]) == bits([stored])


@given(precisions(), st.lists(st.floats(), max_size=20))
def test_any_value_is_stored_by_the_formula(precision: float, values: list[float]) -> None:
    given_values = np.array(values, dtype=np.float64)
    assert bits(mr.quantize(given_values, precision)) == bits(stored_array(given_values, precision))


@given(near_the_grid())
def test_ties_and_their_neighbours_are_stored_by_the_formula(pair: tuple[float, float]) -> None:
    precision, value = pair
    assert bits(mr.quantize([value], precision)) == bits([stored_value(value, precision)])


@given(near_the_grid())
def test_a_stored_value_is_a_near_multiple_and_stays_put(pair: tuple[float, float]) -> None:
    precision, value = pair
    quantum = Fraction(mr.quantum(precision))
    stored = float(mr.quantize([value], precision)[0])
    assert bits(mr.quantize([stored], precision)) == bits([stored])
    assert mr.on_grid([stored], precision)
    if math.isfinite(stored):
        assert (Fraction(stored) / quantum).denominator == 1
        assert abs(Fraction(value) - Fraction(stored)) <= quantum / 2
        assert math.copysign(1.0, stored) == math.copysign(1.0, value)


@pytest.mark.parametrize("pattern", [0x7FF8DEADBEEF0001, 0xFFF8000000000001, 0x7FF0000000000001, 0xFFF4000000000007])
@pytest.mark.parametrize("precision", [1e-3, LOWEST, HIGHEST])
def test_nan_keeps_its_payload(pattern: int, precision: float) -> None:
    values = np.array([0x3FF199999999999A, pattern], dtype=np.uint64).view(np.float64)
    assert bits(mr.quantize(values, precision))[1] == pattern


def test_one_exempt_value_does_not_exempt_its_neighbours() -> None:
    edges = np.concatenate([F64_EDGES, [0.0014, 1.0001]])
    for precision in (1e-3, 0.5, LOWEST, 1e300):
        assert bits(mr.quantize(edges, precision)) == bits(stored_array(edges, precision))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (3, 0), (2, 3), (2, 3, 4)])
def test_the_shape_is_kept_and_the_result_is_new_and_contiguous(shape: tuple[int, ...]) -> None:
    values = np.full(shape, 0.3)
    before = values.copy()
    stored = mr.quantize(values, 0.5)
    assert isinstance(stored, np.ndarray)
    assert stored.dtype == np.float64
    assert stored.shape == shape
    assert stored.flags.c_contiguous
    assert not np.shares_memory(stored, values)
    assert (stored == 0.5).all()
    assert bits(values) == bits(before)


def test_a_single_number_can_be_rounded() -> None:
    assert float(mr.quantize(0.0014, 1e-3)) == 2.0**-10


def test_strided_and_foreign_endian_input_is_rounded_in_c_order() -> None:
    values = np.arange(12.0).reshape(3, 4) / 7.0
    expected = bits(stored_array(values, 1e-2))
    for same in (np.asfortranarray(values), values.astype(">f8"), np.repeat(values, 2, axis=1)[:, ::2]):
        stored = mr.quantize(same, 1e-2)
        assert stored.flags.c_contiguous
        assert stored.dtype == np.dtype(np.float64)
        assert bits(stored) == expected


def test_read_only_input_is_left_alone() -> None:
    values = np.array([0.3, 1.2])
    values.flags.writeable = False
    assert mr.quantize(values, 0.5).flags.writeable
    assert values.tolist() == [0.3, 1.2]


# -- the grid -------------------------------------------------------------------------------------------------------


@given(precisions(), st.lists(st.floats(), max_size=8))
def test_on_grid_means_that_rounding_changes_nothing(precision: float, values: list[float]) -> None:
    expected = all(stored_value(value, precision) == value for value in values if math.isfinite(value))
    assert mr.on_grid(values, precision) is expected


def test_on_grid_asks_nothing_of_what_is_not_finite() -> None:
    assert mr.on_grid([math.nan, math.inf, -math.inf, 0.5], 0.5)
    assert not mr.on_grid([math.nan, 0.3], 0.5)
    assert mr.on_grid([], 0.5)
    assert mr.on_grid([from_bits(0x8000000000000000)], 0.5)
