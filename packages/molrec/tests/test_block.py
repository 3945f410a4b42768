"""Blocks: columns of one row count, and the tables that follow them (spec: frame, blocks)."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import molrec as mr

from .refusals import refused
from .strategies import DTYPES, blocks, content, exact, plain_block, stored_array

BAD_NAMES: list[Any] = [
    "", ".", "..", "...", "a/b", "/", "/a", "a/", "a\0b", "__a", "__", "zarr.json", "x" * 256, "é" * 128, "\ud800",
    "a\\b", None, 3, b"a", ("a",),
]  # fmt: skip


def full_block() -> mr.Block:
    """Return a block that uses every table."""
    block = mr.Block(
        {"x": [0.1, 0.2, 0.3, 0.4], "ref": np.arange(4, dtype=np.uint64), "label": ["a", "b", "c", "d"]},
        structural_shape=(2, 2),
    )
    block.set_validity("x", [True, False, True, True])
    block.set_validity("label", [False, True, True, True])
    block.set_precision("x", 1e-3)
    block.set_target("ref", "atoms")
    block.attributes["note"] = {"a": 1}
    block.column_attributes("x")["unit"] = "nm"
    return block


# -- the mapping ----------------------------------------------------------------------------------------------------


def test_a_block_is_a_mapping_of_columns_whose_length_is_its_rows() -> None:
    block = mr.Block({"x": [1.0, 2.0], "element": ["O", "H"]})
    assert len(block) == block.rows == 2
    assert block.columns == ("x", "element")
    assert list(block) == ["x", "element"]
    assert list(block.keys()) == ["x", "element"]
    assert [name for name, _ in block.items()] == ["x", "element"]
    assert "x" in block
    assert "y" not in block
    assert block.dtype("x") == "f64"
    assert block.dtype("element") == "string"
    del block["x"]
    assert list(block) == ["element"]
    with pytest.raises(KeyError, match="'x'"):
        block["x"]
    with pytest.raises(KeyError, match="'x'"):
        del block["x"]


def test_an_empty_block_is_true_and_has_no_rows() -> None:
    assert mr.Block()
    assert len(mr.Block()) == 0
    assert mr.Block({"x": []})
    assert len(mr.Block(rows=5)) == 5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("trailing", [(), (3,), (0,), (2, 2)])
def test_any_column_is_kept_exactly_and_without_a_copy(dtype: str, trailing: tuple[int, ...]) -> None:
    values = content(dtype, (5, *trailing), 7)
    block = mr.Block({"a": values})
    assert block["a"] is values
    assert block.dtype("a") == dtype


def test_the_callers_arrays_are_never_changed() -> None:
    values = np.array([0.1, 0.2])
    mask = np.array([True, False])
    block = mr.Block({"x": values})
    block.set_precision("x", 0.5)
    block.set_validity("x", mask)
    mask[:] = True
    assert values.tolist() == [0.1, 0.2]
    assert values.flags.writeable
    found = block.validity("x")
    assert found is not None
    assert found.tolist() == [True, False]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_the_store_cannot_hold_is_refused(name: Any) -> None:
    block = mr.Block({"x": [1.0]})
    with refused("reject-bad-name"):
        block[name] = [1.0]
    if isinstance(name, str):
        with refused("reject-bad-name"):
            block.rename("x", name)
    assert block.columns == ("x",)


def test_the_reserved_column_is_refused() -> None:
    with refused("reject-reserved-name", "'_validity'"):
        mr.Block({"_validity": [True]})
    block = mr.Block({"x": [1.0]})
    with refused("reject-reserved-name", "'_validity'"):
        block.rename("x", "_validity")
    for name in ("offset", "step_index", "count", "_validity_", "validity"):
        block[name] = [1.0]


@pytest.mark.parametrize("values", [1.0, "a", np.float64(2.0), np.array(3)])
def test_a_scalar_is_no_column(values: Any) -> None:
    with refused("reject-row-count", "'a'"):
        mr.Block({"a": values})


def test_columns_of_another_length_are_refused() -> None:
    block = mr.Block({"x": [1.0, 2.0]})
    for values in ([1.0], [1.0, 2.0, 3.0], []):
        with refused("reject-row-count", "'y'", "2"):
            block["y"] = values
    assert block.columns == ("x",)
    with refused("reject-row-count", "'x'", "3"):
        mr.Block({"x": [1.0]}, rows=3)


@pytest.mark.parametrize("rows", [-1, 1.0, True, "3", None.__class__])
def test_a_row_count_is_a_non_negative_integer(rows: Any) -> None:
    with refused("reject-row-count"):
        mr.Block(rows=rows)


def test_the_last_column_may_be_replaced_by_one_of_another_length() -> None:
    block = mr.Block({"x": [1.0, 2.0]})
    block.set_validity("x", [True, False])
    block["x"] = [1.0, 2.0, 3.0]
    assert len(block) == 3
    assert block.validity("x") is None


def test_a_grid_keeps_its_row_count() -> None:
    block = mr.Block({"rho": np.zeros(8)}, structural_shape=(2, 2, 2))
    with refused("reject-structural-shape|reject-row-count", "5"):
        block["rho"] = np.zeros(5)
    assert block.structural_shape == (2, 2, 2)
    assert len(block) == 8


# -- masks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mask",
    [
        [1, 0, 1],
        np.ones(3, np.uint8),
        [True, False],
        [True] * 4,
        np.ones((3, 1), bool),
        True,
        ["a", "b", "c"],
        [1.0, 0.0, 1.0],
        [],
        [True, None, False],
    ],
)
def test_a_mask_is_one_bool_per_row(mask: Any) -> None:
    block = mr.Block({"x": [1.0, 2.0, 3.0], "v": np.zeros((3, 2))})
    for column in ("x", "v"):
        with refused("reject-validity-mask", repr(column), "3"):
            block.set_validity(column, mask)
        assert block.validity(column) is None


def test_a_mask_needs_its_column() -> None:
    block = mr.Block({"x": [1.0]})
    with refused("reject-validity-mask", "'y'"):
        block.set_validity("y", [True])
    with pytest.raises(KeyError, match="'y'"):
        block.validity("y")


def test_an_all_true_mask_is_no_mask() -> None:
    block = mr.Block({"x": [1.0, 2.0]})
    block.set_validity("x", [True, True])
    assert block.validity("x") is None
    block.set_validity("x", [True, False])
    block.set_validity("x", None)
    assert block.validity("x") is None
    empty = mr.Block({"x": []})
    empty.set_validity("x", np.empty(0, bool))
    assert empty.validity("x") is None


def test_the_value_under_a_null_is_kept() -> None:
    block = mr.Block({"x": [1.0, 2.0]})
    block.set_validity("x", [False, True])
    assert block["x"].tolist() == [1.0, 2.0]


# -- precision ------------------------------------------------------------------------------------------------------


def test_a_declared_precision_rounds_now_and_later_values() -> None:
    block = mr.Block({"x": [0.0014, 2.0]})
    block.set_precision("x", 1e-3)
    assert block.precision("x") == 1e-3
    assert block["x"].tolist() == [2.0**-10, 2.0]
    block["x"] = [0.0014, 0.0006]
    assert block["x"].tolist() == [2.0**-10, 2.0**-10]
    block.set_precision("x", None)
    assert block.precision("x") is None
    block["x"] = [0.0014, 0.0006]
    assert block["x"].tolist() == [0.0014, 0.0006]


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "f64"])
def test_only_f64_declares_a_precision(dtype: str) -> None:
    block = mr.Block({"a": content(dtype, (3,), 1)})
    with refused("reject-precision-on-non-f64", "'a'", dtype):
        block.set_precision("a", 1e-3)
    assert block.precision("a") is None


def test_a_precision_goes_with_a_column_that_is_no_longer_f64() -> None:
    block = mr.Block({"a": [0.3, 0.4]})
    block.set_precision("a", 0.5)
    block["a"] = [1, 2]
    assert block.precision("a") is None


@given(blocks())
def test_columns_of_a_precision_hold_stored_values(block: mr.Block) -> None:
    for name in block.columns:
        precision = block.precision(name)
        if precision is not None:
            assert exact(block[name]) == exact(stored_array(block[name], precision))
            assert mr.on_grid(block[name], precision)


# -- targets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["atoms", "/system/atoms", "/frame/a b", "meta", "/system/box"])
def test_a_target_names_a_block_here_or_in_a_section(target: str) -> None:
    block = mr.Block({"ref": np.zeros(2, np.uint64)})
    block.set_target("ref", target)
    assert block.targets == {"ref": target}
    block.targets.clear()
    assert block.targets == {"ref": target}
    block.set_target("ref", None)
    assert block.targets == {}


@pytest.mark.parametrize(
    "target", ["", "/", "//", "/system", "/system/", "a/b", "system/atoms", "/a/b/c", "//a", 3, ["a"]]
)
def test_a_malformed_target_is_refused(target: Any) -> None:
    block = mr.Block({"ref": np.zeros(2, np.uint64)})
    with refused("reject-target-malformed", "'ref'"):
        block.set_target("ref", target)
    assert block.targets == {}


def test_a_target_into_the_trajectory_is_refused() -> None:
    block = mr.Block({"ref": np.zeros(2, np.uint64)})
    with refused("reject-target-into-trajectory", "'ref'", "/trajectory/atoms"):
        block.set_target("ref", "/trajectory/atoms")


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "u64"])
def test_a_target_needs_a_u64_column(dtype: str) -> None:
    block = mr.Block({"a": content(dtype, (3,), 1)})
    with refused("reject-target-not-u64", "'a'", dtype):
        block.set_target("a", "atoms")
    with refused("reject-target-not-u64", "'b'"):
        block.set_target("b", "atoms")


def test_a_target_goes_with_a_column_that_is_no_longer_u64() -> None:
    block = mr.Block({"ref": np.zeros(2, np.uint64)})
    block.set_target("ref", "atoms")
    block["ref"] = [1.0, 2.0]
    assert block.targets == {}


# -- structural shape -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (0,), (-2, -3), (2, 0), (6.0,), (True, 6), ("6",), "6", (2, 3, None), 6])
def test_a_malformed_grid_is_refused(shape: Any) -> None:
    with refused("reject-structural-shape"):
        mr.Block({"a": np.zeros(6)}, structural_shape=shape)
    block = mr.Block({"a": np.zeros(6)})
    with refused("reject-structural-shape"):
        block.structural_shape = shape
    assert block.structural_shape is None


def test_a_grid_of_another_size_is_refused() -> None:
    with refused("reject-structural-shape", "8", "6"):
        mr.Block({"a": np.zeros(6)}, structural_shape=(2, 2, 2))


def test_a_grid_is_a_tuple_of_ints_and_can_be_withdrawn() -> None:
    block = mr.Block({"a": np.zeros(6)}, structural_shape=[np.int64(2), np.int32(3)])  # type: ignore[list-item]
    assert block.structural_shape == (2, 3)
    assert all(type(extent) is int for extent in block.structural_shape)
    block.structural_shape = None
    assert block.structural_shape is None
    assert mr.Block(structural_shape=(2, 3)).rows == 6


# -- side tables follow ---------------------------------------------------------------------------------------------


def test_rename_takes_every_table_along() -> None:
    block = full_block()
    block.rename("x", "moved")
    block.rename("ref", "pointer")
    assert block.columns == ("moved", "pointer", "label")
    mask = block.validity("moved")
    assert mask is not None
    assert mask.tolist() == [True, False, True, True]
    assert block.precision("moved") == 1e-3
    assert block.targets == {"pointer": "atoms"}
    assert block.column_attributes("moved") == {"unit": "nm"}
    block["x"] = np.full(4, 0.3)
    assert block.validity("x") is None
    assert block.precision("x") is None
    assert block.column_attributes("x") == {}
    assert block["x"].tolist() == [0.3] * 4


def test_delete_takes_every_table_along() -> None:
    block = full_block()
    for name in block.columns:
        del block[name]
    assert block.targets == {}
    assert len(block) == 4
    for name in ("x", "label"):
        block[name] = np.zeros(4)
        assert block.validity(name) is None
        assert block.precision(name) is None
        assert block.column_attributes(name) == {}


def test_replacing_keeps_what_still_applies() -> None:
    block = full_block()
    block["x"] = [0.5, 0.6, 0.7, 0.8]
    assert block.precision("x") == 1e-3
    assert block.validity("x") is not None
    assert mr.on_grid(block["x"], 1e-3)
    block["ref"] = np.ones(4, np.uint64)
    assert block.targets == {"ref": "atoms"}


def test_rename_refuses_a_name_that_is_taken_and_ignores_its_own() -> None:
    block = full_block()
    before = plain_block(block)
    with refused("reject-duplicate-name", "'x'", "'label'"):
        block.rename("x", "label")
    with pytest.raises(KeyError, match="'nothing'"):
        block.rename("nothing", "y")
    block.rename("x", "x")
    assert plain_block(block) == before


# -- whole blocks ---------------------------------------------------------------------------------------------------


@given(blocks())
def test_a_copy_is_equal_and_independent(block: mr.Block) -> None:
    before = plain_block(block)
    copied = block.copy()
    assert plain_block(copied) == before
    assert copied == block
    for name in copied.columns:
        copied[name][...] = "changed" if copied.dtype(name) == "string" else 1
    copied.attributes["changed"] = True
    for name in copied.columns:
        copied.column_attributes(name)["changed"] = True
    copied.structural_shape = None
    assert plain_block(block) == before


@given(blocks())
def test_a_block_survives_pickling(block: mr.Block) -> None:
    assert plain_block(pickle.loads(pickle.dumps(block))) == plain_block(block)


@given(blocks(), blocks())
@settings(max_examples=settings.default.max_examples // 2 if settings.default else 30)
def test_equal_means_the_same_content(first: mr.Block, second: mr.Block) -> None:
    def content_of(block: mr.Block) -> dict[str, Any]:
        told = plain_block(block)
        return {key: value for key, value in told.items() if "attributes" not in key}

    assert (first == second) is (content_of(first) == content_of(second))
    assert first != object()


def test_equality_sees_every_table() -> None:
    def changed(change: Any) -> mr.Block:
        block = full_block()
        change(block)
        return block

    assert full_block() == full_block()
    changes = [
        lambda block: block.set_validity("x", None),
        lambda block: block.set_precision("x", None),
        lambda block: block.set_precision("x", 1.1e-3),
        lambda block: block.set_target("ref", None),
        lambda block: block.set_target("ref", "beads"),
        lambda block: setattr(block, "structural_shape", (4,)),
        lambda block: block.rename("label", "labels"),
        lambda block: block.__setitem__("label", ["a", "b", "c", "e"]),
        lambda block: block.__delitem__("label"),
    ]
    for change in changes:
        assert changed(change) != full_block()


def test_order_of_columns_means_nothing() -> None:
    assert mr.Block({"a": [1.0], "b": [2.0]}) == mr.Block({"b": [2.0], "a": [1.0]})


def test_a_block_is_not_hashable() -> None:
    with pytest.raises(TypeError):
        hash(mr.Block())


@given(st.integers(0, 5), st.sampled_from(DTYPES))
def test_repr_names_rows_and_columns(rows: int, dtype: str) -> None:
    text = repr(mr.Block({"some name": content(dtype, (rows, 2), 1)}))
    assert f"{rows} rows" in text
    assert f"some name: {dtype}[2]" in text
