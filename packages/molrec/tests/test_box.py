"""The simulation cell (spec: frame, box)."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import molrec as mr

from .refusals import refused
from .strategies import boxes, plain_box, undefined_boxes

CELL = np.array([[10.0, 1.0, 2.0], [0.0, 11.0, 3.0], [0.0, 0.0, 12.0]])


def test_defaults_are_zero_origin_and_periodic_everywhere() -> None:
    box = mr.Box(CELL)
    assert box.vectors.tolist() == CELL.tolist()
    assert box.origin.tolist() == [0.0, 0.0, 0.0]
    assert box.boundary.tolist() == [True, True, True]
    assert box.cell_defined is True
    assert [part.dtype.name for part in (box.vectors, box.origin, box.boundary)] == ["float64", "float64", "bool"]


def test_parts_are_kept_exactly() -> None:
    box = mr.Box(CELL, origin=[-0.0, 1.5, -2.0], boundary=[True, False, True])
    assert math.copysign(1.0, box.origin[0]) == -1.0
    assert box.boundary.tolist() == [True, False, True]


def test_an_undefined_cell_is_the_identity_and_periodic_nowhere() -> None:
    for box in (
        mr.Box(cell_defined=False),
        mr.Box(CELL, cell_defined=False),
        mr.Box(np.zeros((3, 3)), cell_defined=False),
    ):
        assert box.vectors.tolist() == np.eye(3).tolist()
        assert box.boundary.tolist() == [False, False, False]
        assert box.cell_defined is False


@pytest.mark.parametrize("boundary", [[True, False, False], [True] * 3, np.array([False, False, True])])
def test_an_undefined_cell_with_a_periodic_direction_is_refused(boundary: Any) -> None:
    with refused("reject-undefined-cell-periodic"):
        mr.Box(boundary=boundary, cell_defined=False)


@pytest.mark.parametrize(
    "vectors",
    [
        None,
        [10.0, 10.0, 10.0],
        np.zeros(9),
        np.eye(2),
        np.eye(4),
        np.zeros((1, 3, 3)),
        10.0,
        np.eye(3, dtype=bool),
        np.eye(3, dtype=complex),
        [["a"] * 3] * 3,
        np.eye(3).astype(str),
    ],
)
def test_vectors_of_another_shape_or_kind_are_refused(vectors: Any) -> None:
    with refused("reject-box-shape"):
        mr.Box(vectors)


@pytest.mark.parametrize("origin", [0.0, [0.0, 0.0], [0.0] * 4, [[0.0] * 3], [True] * 3, ["0"] * 3, [0j] * 3])
def test_an_origin_of_another_shape_or_kind_is_refused(origin: Any) -> None:
    with refused("reject-box-shape"):
        mr.Box(CELL, origin=origin)


@pytest.mark.parametrize(
    "boundary", [True, [True, True], [1, 1, 1], [1.0] * 3, ["p", "p", "p"], [[True] * 3], [None] * 3]
)
def test_a_boundary_that_is_not_three_bools_is_refused(boundary: Any) -> None:
    with refused("reject-box-shape"):
        mr.Box(CELL, boundary=boundary)
    with refused("reject-box-shape"):
        mr.Box(boundary=boundary, cell_defined=False)


def test_narrow_floats_are_refused() -> None:
    with refused("reject-narrow-float"):
        mr.Box(CELL.astype(np.float32))
    with refused("reject-narrow-float"):
        mr.Box(CELL, origin=np.zeros(3, np.float32))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_vectors_that_are_not_finite_are_refused(value: float) -> None:
    vectors = CELL.copy()
    vectors[2, 1] = value
    with refused("reject-box-not-finite"):
        mr.Box(vectors)


@pytest.mark.parametrize("vectors", [np.zeros((3, 3)), np.ones((3, 3)), np.diag([10.0, 10.0, 0.0])])
def test_a_cell_without_volume_is_kept(vectors: Any) -> None:
    assert mr.Box(vectors).vectors.tolist() == vectors.tolist()


@pytest.mark.parametrize("scale", [1e-150, 1e-300, 1e150, 1e300, -1.0])
def test_a_cell_of_any_size_and_handedness_is_legal(scale: float) -> None:
    box = mr.Box(np.eye(3) * scale)
    assert box.vectors.tolist() == (np.eye(3) * scale).tolist()
    assert mr.Box(np.diag([1e-150, 1.0, 1e150])).cell_defined


@given(boxes())
def test_any_cell_is_accepted_and_is_its_own_twin(box: mr.Box) -> None:
    twin = mr.Box(box.vectors, box.origin, box.boundary)
    assert twin == box
    assert plain_box(twin) == plain_box(box)
    assert plain_box(pickle.loads(pickle.dumps(box))) == plain_box(box)


@given(undefined_boxes())
def test_any_undefined_cell_survives_pickling(box: mr.Box) -> None:
    assert plain_box(pickle.loads(pickle.dumps(box))) == plain_box(box)


def test_a_box_shares_nothing_and_cannot_be_changed() -> None:
    vectors, origin, boundary = CELL.copy(), np.zeros(3), np.ones(3, bool)
    box = mr.Box(vectors, origin, boundary)
    vectors[0, 0], origin[0], boundary[0] = 99.0, 99.0, False
    assert box.vectors[0, 0] == 10.0
    assert box.origin[0] == 0.0
    assert box.boundary[0]
    assert vectors.flags.writeable
    for part in (box.vectors, box.origin, box.boundary):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 0
    with pytest.raises(AttributeError):
        box.vectors = CELL  # type: ignore[misc]


def test_integers_are_taken_as_the_numbers_they_are() -> None:
    assert mr.Box(np.eye(3, dtype=np.int64) * 10).vectors.dtype == np.float64


def test_equality_is_to_the_bit() -> None:
    box = mr.Box(CELL, [0.0, 0.0, 0.0])
    assert box == mr.Box(CELL)
    assert box != mr.Box(CELL, [-0.0, 0.0, 0.0])
    assert box != mr.Box(CELL, boundary=[True, True, False])
    assert box != mr.Box(cell_defined=False)
    assert mr.Box(np.eye(3), boundary=[False] * 3) != mr.Box(cell_defined=False)
    assert box != "box"
    with pytest.raises(TypeError):
        hash(box)
