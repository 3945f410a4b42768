"""`UpdateIndex` against a naive model of carry-forward (spec: trajectory, finding an update)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import molrec as mr
from molrec.model.carry_forward import UpdateIndex

from .refusals import refused


@dataclass
class Naive:
    """Updates as a list of (ordinal, first row, end row)."""

    updates: list[tuple[int, int, int]]
    nstep: int

    def at(self, ordinal: int) -> int:
        found = -1
        for number, (written, _, _) in enumerate(self.updates):
            if written <= ordinal:
                found = number
        return found


def check(index: UpdateIndex, naive: Naive) -> None:
    """Compare every answer of an index."""
    assert index.count == len(naive.updates)
    assert index.rows == (naive.updates[-1][2] if naive.updates else 0)
    assert index.largest == max((stop - start for _, start, stop in naive.updates), default=0)
    assert index.ordinals().tolist() == [ordinal for ordinal, _, _ in naive.updates]
    assert index.offsets().tolist() == [0, *(stop for _, _, stop in naive.updates)]
    for ordinal in range(naive.nstep):
        assert index.update_at(ordinal) == naive.at(ordinal)
    for number, (ordinal, start, stop) in enumerate(naive.updates):
        assert index.ordinal_of(number) == ordinal
        assert index.span(number) == (start, stop)
    every = np.arange(naive.nstep, dtype=np.int64)
    for ordinals in (every, every[::-1], every[:0], np.repeat(every, 2)):
        updates = index.updates_at(ordinals)
        assert updates.tolist() == [naive.at(ordinal) for ordinal in ordinals.tolist()]
        starts, stops = index.spans(updates)
        spans = [(naive.updates[update][1:] if update >= 0 else None) for update in updates.tolist()]
        for start, stop, expected in zip(starts.tolist(), stops.tolist(), spans, strict=True):
            assert stop - start == 0 if expected is None else (start, stop) == expected


@st.composite
def ragged(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Return update ordinals, row counts and a frame count that may lie anywhere among them."""
    gaps = draw(st.lists(st.integers(1, 4), max_size=8))
    first = draw(st.integers(0, 3))
    ordinals = [first + sum(gaps[:number]) for number in range(len(gaps) + 1)][: draw(st.integers(0, 9))]
    counts = [draw(st.sampled_from([0, 0, 1, 2, 5])) for _ in ordinals]
    return ordinals, counts, draw(st.integers(0, 20))


@given(ragged(), st.integers(0, 3))
def test_ragged_updates_resolve_like_the_model(run: tuple[list[int], list[int], int], longer: int) -> None:
    ordinals, counts, nstep = run
    offsets = np.cumsum([0, *counts], dtype=np.uint64)
    committed = [ordinal for ordinal in ordinals if ordinal < nstep]
    naive = Naive(
        [(ordinal, int(offsets[i]), int(offsets[i + 1])) for i, ordinal in enumerate(committed)],
        nstep,
    )
    # Whatever follows the committed part is a tail of an interrupted commit.
    offset = np.concatenate([offsets, np.zeros(longer, np.uint64)]) if len(committed) < len(ordinals) else offsets
    check(UpdateIndex.from_arrays(np.array(ordinals, np.uint64), offset, nstep, "here"), naive)


@given(st.integers(1, 5), st.integers(0, 8), st.integers(0, 8))
def test_regular_updates_resolve_like_the_model(rows: int, stored: int, nstep: int) -> None:
    index = UpdateIndex.regular(rows, rows * stored, nstep)
    count = min(stored, nstep)
    assert index.is_regular is True
    check(index, Naive([(i, i * rows, (i + 1) * rows) for i in range(count)], nstep))


@given(st.integers(1, 5), st.integers(1, 8), st.integers(0, 8))
def test_both_forms_of_a_regular_block_agree(rows: int, count: int, beyond: int) -> None:
    nstep = count + beyond
    regular = UpdateIndex.regular(rows, rows * count, nstep)
    arrays = UpdateIndex.from_arrays(
        regular.ordinals().astype(np.uint64), regular.offsets().astype(np.uint64), nstep, "x"
    )
    assert arrays.is_regular is False
    for ordinal in range(nstep):
        assert regular.update_at(ordinal) == arrays.update_at(ordinal)
    assert regular.rows == arrays.rows
    assert regular.largest == arrays.largest


def test_the_example_of_the_specification() -> None:
    index = UpdateIndex.from_arrays(np.array([1, 2, 5], np.uint64), np.array([0, 3, 3, 7], np.uint64), 7, "here")
    assert [index.update_at(ordinal) for ordinal in range(7)] == [-1, 0, 1, 1, 1, 2, 2]
    assert [index.span(update) for update in range(3)] == [(0, 3), (3, 3), (3, 7)]


def test_nothing_is_absent_everywhere() -> None:
    for index in (
        UpdateIndex.from_arrays(np.empty(0, np.uint64), np.empty(0, np.uint64), 5, "here"),
        UpdateIndex.from_arrays(np.empty(0, np.uint64), np.zeros(1, np.uint64), 5, "here"),
        UpdateIndex(0, 0, None, None),
    ):
        assert [index.update_at(ordinal) for ordinal in range(5)] == [-1] * 5
        assert (index.count, index.rows, index.largest) == (0, 0, 0)


# -- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step_index", "nstep"),
    [([0, 0], 5), ([1, 0], 5), ([0, 2, 2], 5), ([0, 3, 1], 5), ([4, 4], 5), ([0, 1, 1, 9], 5), ([0, 2, 1], 3)],
)
def test_ordinals_that_do_not_ascend_are_refused(step_index: list[int], nstep: int) -> None:
    offset = np.arange(len(step_index) + 1, dtype=np.uint64)
    with refused("reject-step-index-not-ascending", "my block", kind=mr.FormatError):
        UpdateIndex.from_arrays(np.array(step_index, np.uint64), offset, nstep, "my block")


@pytest.mark.parametrize(
    ("step_index", "nstep", "committed"),
    [([0, 5, 3], 4, 1), ([0, 1, 7, 7], 5, 2), ([9, 0], 5, 0), ([0, 2**63, 1], 5, 1), ([0, 2**64 - 1], 5, 1)],
)
def test_a_tail_may_hold_anything(step_index: list[int], nstep: int, committed: int) -> None:
    offset = np.arange(len(step_index) + 1, dtype=np.uint64)
    index = UpdateIndex.from_arrays(np.array(step_index, np.uint64), offset, nstep, "here")
    assert index.count == committed
    assert index.ordinals().tolist() == step_index[:committed]


@pytest.mark.parametrize(
    "offset",
    [[1, 2, 3], [0, 3, 2], [0, 0, 2**64 - 1], [0, 2**63, 2**63 + 1], [5, 5, 5], [0, 2, 1, 4], [2**64 - 1, 0, 0]],
)
def test_offsets_that_descend_or_begin_elsewhere_are_refused(offset: list[int]) -> None:
    with refused("reject-offset-not-monotonic", "my block", kind=mr.FormatError):
        UpdateIndex.from_arrays(np.array([0, 1], np.uint64), np.array(offset, np.uint64), 5, "my block")


@pytest.mark.parametrize("offset", [[], [0], [0, 2]])
def test_offsets_shorter_than_the_updates_are_refused(offset: list[int]) -> None:
    with refused("reject-array-short", "my block", kind=mr.FormatError):
        UpdateIndex.from_arrays(np.array([0, 1], np.uint64), np.array(offset, np.uint64), 5, "my block")


@given(st.lists(st.integers(0, 6), max_size=5), st.lists(st.integers(0, 6), max_size=6), st.integers(0, 7))
@example([0, 2], [0, 1, 1], 3)
def test_any_arrays_resolve_like_the_model_or_are_refused(step_index: list[int], offset: list[int], nstep: int) -> None:
    committed = []
    for ordinal in step_index:
        if ordinal >= nstep:
            break
        committed.append(ordinal)
    ascending = all(one < other for one, other in pairwise(committed))
    bounds = offset[: len(committed) + 1]
    monotonic = bounds == sorted(bounds) and bounds[:1] == [0]
    sound = ascending and (not committed or (len(bounds) == len(committed) + 1 and monotonic))
    arrays = np.array(step_index, np.uint64), np.array(offset, np.uint64)
    if sound and (committed or offset[:1] in ([], [0])):
        spans = [(written, bounds[i], bounds[i + 1]) for i, written in enumerate(committed)]
        check(UpdateIndex.from_arrays(*arrays, nstep, "here"), Naive(spans, nstep))
    elif not sound:
        with pytest.raises(mr.FormatError):
            UpdateIndex.from_arrays(*arrays, nstep, "here")
