"""The thirteen dtypes and what is admitted to them (spec: frame, columns)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from molrec import dtypes
from molrec.dtypes import admit_array, dtype_name, identical, numpy_dtype, row_bytes, zarr_data_type

from .refusals import refused
from .strategies import DTYPES, F64_EDGES, NUMPY_DTYPES, TEXTS, content, exact, texts

ZARR_NAMES = {
    "f64": "float64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "bool": "bool",
    "string": "string",
    "c64": "complex64",
    "c128": "complex128",
}


def test_there_are_thirteen_dtypes() -> None:
    assert set(dtypes.DTYPES) == set(ZARR_NAMES)
    assert len(dtypes.DTYPES) == 13
    assert frozenset({"f64", "c64", "c128"}) == dtypes.FLOAT_DTYPES


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_has_one_numpy_and_one_zarr_form(name: str) -> None:
    assert numpy_dtype(name) == NUMPY_DTYPES[name]
    assert dtype_name(NUMPY_DTYPES[name]) == name
    assert zarr_data_type(name) == ZARR_NAMES[name]


@pytest.mark.parametrize("name", ["f32", "f16", "float64", "", "json", "i128", "F64", None, 3, ["f64"], {}])
def test_another_name_is_refused(name: Any) -> None:
    with refused("reject-unknown-dtype|reject-narrow-float", "my column"):
        numpy_dtype(name, "my column")


# -- admission ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (3, 2), (2, 0), ()])
def test_an_array_that_fits_is_returned_itself(name: str, shape: tuple[int, ...]) -> None:
    values = content(name, shape, 3)
    assert admit_array(values) is values


@pytest.mark.parametrize("name", [name for name in DTYPES if NUMPY_DTYPES[name].itemsize > 1 and name != "string"])
def test_big_endian_becomes_native_without_changing_a_bit(name: str) -> None:
    values = content(name, (7, 2), 4)
    swapped = values.astype(values.dtype.newbyteorder(">"))
    admitted = admit_array(swapped)
    assert admitted.dtype == values.dtype
    assert admitted.dtype.isnative
    assert exact(admitted) == exact(values)


@pytest.mark.parametrize("name", DTYPES)
def test_strided_input_becomes_c_order(name: str) -> None:
    values = content(name, (4, 6), 5)
    for view in (values[:, ::2], values[::-1], values.T, np.asfortranarray(values)):
        admitted = admit_array(view)
        assert admitted.flags.c_contiguous
        assert exact(admitted) == exact(np.ascontiguousarray(view))


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(2, np.float32),
        np.zeros(2, np.float16),
        np.zeros(2, ">f4"),
        np.zeros(2, ">f2"),
        np.zeros((0, 3), np.float32),
        np.float32(1.0),
    ],
)
def test_narrow_floats_are_never_widened(values: Any) -> None:
    with refused("reject-narrow-float", "my column", "float64"):
        admit_array(values, "my column")


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(2, np.longdouble),
        np.zeros(2, np.clongdouble),
        np.array(["2020-01-01"], "M8[D]"),
        np.zeros(2, "m8[s]"),
        np.array([b"bytes"]),
        np.zeros(2, [("x", "f8")]),
        np.zeros(2, "V4"),
        np.array([{}, None], dtype=object),
        np.array(["a", None], dtype=object),
        np.array(["a", 1.5], dtype=object),
        np.array([2**70, 1], dtype=object),
        [[1, 2], [3]],
        ["a", None],
    ],
)
def test_anything_else_is_refused(values: Any) -> None:
    with refused("reject-unknown-dtype", "my column"):
        admit_array(values, "my column")


@pytest.mark.parametrize("values", [["a", 1], ["a", True], [1.5, "a"], [["a"], [2]]])
def test_a_list_that_mixes_strings_with_numbers_is_refused_not_guessed(values: Any) -> None:
    with refused("reject-unknown-dtype", "my column"):
        admit_array(values, "my column")


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_string_array_with_missing_values_is_refused_not_spelled_out(missing: Any) -> None:
    values = np.array(["a", missing], dtype=np.dtypes.StringDType(na_object=missing))
    with refused("reject-unknown-dtype", "my column"):
        admit_array(values, "my column")
    whole = np.array(["a", "b"], dtype=np.dtypes.StringDType(na_object=missing))
    assert exact(admit_array(whole)) == exact(np.array(["a", "b"], dtype=NUMPY_DTYPES["string"]))


# -- strings --------------------------------------------------------------------------------------------------------


@given(st.lists(texts() | st.sampled_from(TEXTS), max_size=5))
@example(["a\0", "b"])
@example(["\0"])
def test_strings_are_kept_to_the_character(values: list[str]) -> None:
    expected = np.array(values, dtype=NUMPY_DTYPES["string"])
    assert exact(admit_array(values or expected)) == exact(expected)
    assert exact(admit_array(np.array(values, dtype=object))) == exact(expected)


def test_a_fixed_width_string_array_is_admitted() -> None:
    assert admit_array(np.array([["a", "bc"], ["", "é"]])).tolist() == [["a", "bc"], ["", "é"]]


@pytest.mark.parametrize("values", [["\ud800"], np.array(["\ud800"]), np.array(["a", "\udfff"], dtype=object)])
def test_a_lone_surrogate_is_refused(values: Any) -> None:
    with refused("reject-invalid-string", "my column"):
        admit_array(values, "my column")


# -- sizes and equality ---------------------------------------------------------------------------------------------


def test_row_bytes_counts_a_string_as_sixteen() -> None:
    assert row_bytes("f64", ()) == 8
    assert row_bytes("f64", (3, 3)) == 72
    assert row_bytes("string", ()) == 16
    assert row_bytes("string", (2,)) == 32
    assert row_bytes("bool", (0,)) == 0


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (3, 2), (2, 0)])
def test_an_array_is_identical_to_its_copy(name: str, shape: tuple[int, ...]) -> None:
    values = content(name, shape, 6)
    assert identical(values, values)
    assert identical(values, values.copy())


@given(st.sampled_from(DTYPES), st.integers(0, 4), st.integers(0, 4))
def test_identical_means_the_same_bits(name: str, one: int, other: int) -> None:
    first, second = content(name, (3, 2), one), content(name, (3, 2), other)
    assert identical(first, second) is (exact(first) == exact(second))


def test_identical_looks_past_numeric_equality() -> None:
    zeros = np.array([0.0, 1.0])
    assert not identical(zeros, np.array([-0.0, 1.0]))
    assert not identical(zeros, zeros.reshape(2, 1))
    assert not identical(np.zeros(2, np.int32), np.zeros(2, np.int64))
    assert not identical(np.zeros(2, np.uint64), np.zeros(2))
    quiet, other = F64_EDGES[10:11], F64_EDGES[12:13]
    assert np.isnan(quiet).all()
    assert np.isnan(other).all()
    assert not identical(quiet, other)
    assert identical(other, other.copy())


def test_identical_strings_differ_by_a_trailing_nul() -> None:
    string = NUMPY_DTYPES["string"]
    assert not identical(np.array(["a"], dtype=string), np.array(["a\0"], dtype=string))
    assert identical(np.array(TEXTS, dtype=string), np.array(TEXTS, dtype=string))
