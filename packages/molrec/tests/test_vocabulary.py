"""Canonical names: their dtypes, what is widened and what is refused (spec: vocabulary)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec import vocabulary

from .refusals import refused
from .strategies import DTYPES, NUMPY_DTYPES, content, exact

RULE = "reject-canonical-dtype"

EXPECTED = {
    "f64": "x y z vx vy vz fx fy fz charge mass quatw quati quatj quatk mux muy muz axis_x axis_y axis_z occupancy "
    "b_factor",
    "u64": "id atomic_number type_id mol_id res_id atom_map atomi atomj atomk atoml ibead bond_type bond_number",
    "i64": "formal_charge",
    "i32": "ix iy iz",
    "bool": "free is_14 exclude_14",
    "string": "element type name res_name bead_type chain icode altloc style",
}


def test_the_table_is_the_one_of_the_format() -> None:
    expected = {name: dtype for dtype, names in EXPECTED.items() for name in names.split()}
    assert expected == mr.CANONICAL_COLUMNS
    assert {name: column.dtype for name, column in vocabulary.VOCABULARY.items()} == expected


def test_identifiers_are_the_keys_a_reader_must_refuse() -> None:
    identifiers = "id atomic_number type_id mol_id res_id atomi atomj atomk atoml ibead bond_type bond_number"
    assert frozenset(identifiers.split()) == vocabulary.IDENTIFIER_COLUMNS


def test_per_step_keys_are_f64() -> None:
    assert dict.fromkeys(["pe", "ke", "etotal", "temp", "press", "volume"], "f64") == vocabulary.PER_STEP_KEYS


# -- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(mr.CANONICAL_COLUMNS))
def test_a_canonical_column_takes_its_dtype_as_it_is(name: str) -> None:
    values = content(mr.CANONICAL_COLUMNS[name], (4,), 3)
    block = mr.Block({name: values})
    assert block[name] is values
    schema = mr.SequenceSchema().declare_column("b", name, mr.CANONICAL_COLUMNS[name])
    assert schema.blocks["b"].columns[name].dtype == mr.CANONICAL_COLUMNS[name]


@pytest.mark.parametrize("name", sorted(mr.CANONICAL_COLUMNS))
def test_a_canonical_column_holds_one_value_per_row(name: str) -> None:
    dtype = mr.CANONICAL_COLUMNS[name]
    for trailing in ((1,), (3,), (0,), (2, 2)):
        with refused(RULE, repr(name), dtype):
            mr.Block({name: content(dtype, (4, *trailing), 1)})
        with refused(RULE, repr(name), dtype, "'b'"):
            mr.SequenceSchema().declare_column("b", name, dtype, trailing)


@pytest.mark.parametrize("name", ["x", "id", "formal_charge", "ix", "free", "element"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_canonical_column_is_declared_at_no_other_dtype(name: str, dtype: str) -> None:
    if dtype == mr.CANONICAL_COLUMNS[name]:
        return
    with refused(RULE, repr(name), mr.CANONICAL_COLUMNS[name], dtype):
        mr.SequenceSchema().declare_column("b", name, dtype)


INTEGER_TYPES = [name for name in DTYPES if NUMPY_DTYPES[name].kind in "iu"]


@given(
    st.sampled_from(["x", "id", "formal_charge", "ix"]),
    st.sampled_from(INTEGER_TYPES),
    st.lists(
        st.integers(-(2**63), 2**64 - 1)
        | st.sampled_from([0, 1, -1, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]),
        max_size=4,
    ),
)
def test_integers_are_widened_only_where_every_value_stays_exact(name: str, given_as: str, values: list[int]) -> None:
    limits = np.iinfo(NUMPY_DTYPES[given_as])
    fitting = [value for value in values if int(limits.min) <= value <= int(limits.max)]
    array = np.array(fitting, dtype=NUMPY_DTYPES[given_as])
    wanted = mr.CANONICAL_COLUMNS[name]
    if wanted == "f64":
        exact_values = all(abs(value) <= 2**53 for value in fitting)
    else:
        target = np.iinfo(NUMPY_DTYPES[wanted])
        exact_values = all(int(target.min) <= value <= int(target.max) for value in fitting)
    if exact_values:
        block = mr.Block({name: array})
        assert block.dtype(name) == wanted
        assert [int(value) for value in block[name].tolist()] == fitting
    elif wanted != "f64":
        with refused(RULE, repr(name), wanted, given_as):
            mr.Block({name: array})
    else:
        try:
            block = mr.Block({name: array})
        except mr.SchemaError as error:
            assert error.rule == RULE  # noqa: PT017 - a writer may widen beyond 2**53, where the value stays exact
        else:
            assert [int(value) for value in block[name].tolist()] == fitting


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", np.array([1.0, 2.0])),
        ("id", np.array([True, False])),
        ("id", np.array(["1"])),
        ("id", np.array([1 + 0j])),
        ("ix", np.array([0.0])),
        ("formal_charge", np.array([1.0])),
        ("x", np.array([True])),
        ("x", np.array(["0.5"])),
        ("x", np.array([1 + 0j])),
        ("free", np.array([1, 0])),
        ("free", np.array([1.0])),
        ("element", np.array([1])),
        ("element", np.array([True])),
        ("type", np.array([1.5])),
    ],
)
def test_another_kind_is_refused(name: str, values: Any) -> None:
    with refused(RULE, repr(name), mr.CANONICAL_COLUMNS[name]):
        mr.Block({name: values})


def test_a_narrow_float_stays_a_narrow_float() -> None:
    with refused("reject-narrow-float", "'x'"):
        mr.Block({"x": np.zeros(3, np.float32)})


@pytest.mark.parametrize("name", ["x", "id", "formal_charge", "ix", "free", "element"])
def test_an_empty_list_makes_an_empty_column_of_the_right_dtype(name: str) -> None:
    block = mr.Block({name: []})
    assert block.dtype(name) == mr.CANONICAL_COLUMNS[name]
    assert len(block) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_names_outside_the_table_are_free(dtype: str) -> None:
    for name in ("X", "x ", "ids", "chi", "energy", "atomI"):
        values = content(dtype, (3, 2), 2)
        assert exact(mr.Block({name: values})[name]) == exact(values)


def test_renaming_onto_a_canonical_name_keeps_the_rule() -> None:
    block = mr.Block({"a": np.array([1, 2], np.int8), "b": np.array([0.5, 1.5])})
    block.rename("a", "id")
    assert block.dtype("id") == "u64"
    with refused(RULE, "'mol_id'"):
        block.rename("b", "mol_id")
    assert block.columns == ("id", "b")
