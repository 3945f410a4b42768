"""Progressions of steps and times (spec: trajectory, progressions)."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.model.progression import StepProgression, TimeProgression, read_progression

from .refusals import refused
from .strategies import exact, scratch

STEPS: st.SearchStrategy[int] = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(
    [0, 1, 2**53, 2**53 + 1, -(2**53), 2**63 - 1, -(2**63)]
)
TIMES: st.SearchStrategy[float] = st.floats() | st.sampled_from([0.0, -0.0, 0.1, 0.5, 1e300, 5e-324])


def feed(kind: Any, values: list[Any]) -> Any:
    """Return the progression of the leading values it admits, and how many those are."""
    if not values or not kind.admits_start(values[0]):
        return None, 0
    progression = kind(values[0])
    for position, value in enumerate(values[1:], start=1):
        if not progression.admits(position, value):
            return progression, position
        progression.learn(position, value)
    return progression, len(values)


@st.composite
def nearly_regular(draw: st.DrawFn) -> list[float]:
    """Return times that follow a progression as another program would compute it, and stray perhaps."""
    start, stride = draw(TIMES), draw(TIMES)
    count = draw(st.integers(0, 8))
    products, strays = draw(st.booleans()), draw(st.booleans())
    if products:
        times = [start + i * stride for i in range(count)]
    else:
        times = [start]
        for _ in range(count):
            times.append(times[-1] + stride)
    if times and strays:
        times[draw(st.integers(0, len(times) - 1))] = draw(TIMES)
    return times


@given(nearly_regular() | st.lists(TIMES, max_size=5))
def test_admitted_times_are_reproduced_bit_for_bit(times: list[float]) -> None:
    progression, count = feed(TimeProgression, times)
    if not count:
        assert not times or not math.isfinite(times[0]) or math.copysign(1.0, times[0]) < 0
        return
    found = progression.values(count)
    assert found.dtype == np.float64
    assert [exact(time) for time in found.tolist()] == [exact(time) for time in times[:count]]
    assert math.isfinite(progression.start)
    assert progression.stride is None or math.isfinite(progression.stride)
    if count < len(times) and count >= 2:
        following = progression.start + float(count) * progression.stride
        assert exact(following) != exact(times[count]) or not math.isfinite(times[count])


@given(st.lists(STEPS, min_size=1, max_size=6, unique=True).map(sorted))
def test_admitted_steps_are_reproduced_exactly(steps: list[int]) -> None:
    progression, count = feed(StepProgression, steps)
    if not count:
        assert abs(steps[0]) > 2**53
        return
    assert progression.values(count).tolist() == steps[:count]
    assert progression.values(count).dtype == np.int64
    assert abs(progression.start) <= 2**53
    assert progression.stride is None or 1 <= progression.stride <= 2**53


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0])
def test_no_time_progression_begins_at(value: float) -> None:
    assert not TimeProgression.admits_start(value)


def test_a_product_and_a_sum_are_rounded_apart() -> None:
    progression = TimeProgression(0.1, 0.1)
    fused = [float(np.longdouble(0.1) + np.longdouble(i) * np.longdouble(0.1)) for i in range(1000)]
    plain = [0.1 + float(i) * 0.1 for i in range(1000)]
    assert progression.values(1000).tolist() == plain
    assert plain != fused


def test_a_run_of_one_frame_has_no_stride() -> None:
    assert StepProgression(7).values(1).tolist() == [7]
    assert TimeProgression(0.5).values(1).tolist() == [0.5]
    assert StepProgression(7).values(0).dtype == np.int64
    assert TimeProgression(0.5).values(0).dtype == np.float64


# -- stored progressions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "count", "steps"),
    [
        ({"start": 0}, 1, [0]),
        ({"start": 0, "stride": 5}, 1, [0]),
        ({"start": -3, "stride": 2}, 3, [-3, -1, 1]),
        ({"start": 2**63 - 3, "stride": 1}, 3, [2**63 - 3, 2**63 - 2, 2**63 - 1]),
        ({"start": "9223372036854775805", "stride": 1}, 2, [2**63 - 3, 2**63 - 2]),
        ({"start": -(2**63), "stride": 2**62}, 3, [-(2**63), -(2**62), 0]),
        ({"start": 0, "stride": 1, "later": None}, 2, [0, 1]),
    ],
)
def test_a_stored_step_progression(document: Any, count: int, steps: list[int]) -> None:
    assert read_progression(StepProgression, document, count, "here").values(count).tolist() == steps


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        3,
        "0",
        {},
        {"stride": 1},
        {"start": 0},
        {"start": 0, "stride": 0},
        {"start": 0, "stride": -1},
        {"start": 0, "stride": 1.0},
        {"start": 0.0, "stride": 1},
        {"start": 0, "stride": None},
        {"start": None, "stride": 1},
        {"start": True, "stride": 1},
        {"start": "0", "stride": 1},
        {"start": 0, "stride": "1"},
        {"start": 2**63, "stride": 1},
        {"start": 2**63 - 2, "stride": 1},
        {"start": 0, "stride": 2**62},
        {"start": -(2**63) - 1, "stride": 1},
    ],
)
def test_a_malformed_step_progression_is_refused(document: Any) -> None:
    with refused("reject-malformed-progression", "my store", kind=mr.FormatError):
        read_progression(StepProgression, document, 3, "my store")


@pytest.mark.parametrize(
    ("document", "count", "times"),
    [
        ({"start": 0.5}, 1, [0.5]),
        ({"start": 0, "stride": 1}, 2, [0.0, 1.0]),
        ({"start": 1.0, "stride": -0.5}, 4, [1.0, 0.5, 0.0, -0.5]),
        ({"start": 1.0, "stride": 0.0}, 2, [1.0, 1.0]),
    ],
)
def test_a_stored_time_progression(document: Any, count: int, times: list[float]) -> None:
    assert read_progression(TimeProgression, document, count, "here").values(count).tolist() == times


@pytest.mark.parametrize(
    "document",
    [
        None,
        [0.0, 1.0],
        {},
        {"stride": 1.0},
        {"start": 0.0},
        {"start": 0.0, "stride": None},
        {"start": "0.0", "stride": 1.0},
        {"start": "NaN", "stride": 1.0},
        {"start": 0.0, "stride": "Infinity"},
        {"start": "-Infinity", "stride": 0.0},
        {"start": True, "stride": 1.0},
    ],
)
def test_a_malformed_time_progression_is_refused(document: Any) -> None:
    with refused("reject-malformed-progression", "my store", kind=mr.FormatError):
        read_progression(TimeProgression, document, 3, "my store")


# -- in a store -----------------------------------------------------------------------------------------------------


def stored(steps: list[int | None], times: list[float | None]) -> tuple[dict[str, Any], set[str]]:
    """Write a run without blocks, one flush per frame; return its attributes and which arrays there are."""
    with scratch() as folder:
        path = folder / "run.mrec"
        with mr.TrajectoryWriter(path, mr.SequenceSchema(), flush_every=1) as writer:
            for step, time in zip(steps, times, strict=True):
                writer.append(mr.Frame(), step=step, time=time)
        trajectory = mr.open(path).trajectory
        assert trajectory is not None
        last = -1
        for found, step in zip(trajectory.steps.tolist(), steps, strict=True):
            last = last + 1 if step is None else step
            assert found == last
        group = json.loads((path / "trajectory" / "zarr.json").read_bytes())["attributes"]
        arrays = {name for name in ("step", "time") if (path / "trajectory" / name / "zarr.json").exists()}
        return group, arrays


def test_a_regular_run_stores_two_numbers_instead_of_arrays() -> None:
    attributes, arrays = stored([10, 30, 50], [0.5, 0.75, 1.0])
    assert attributes["step_progression"] == {"start": 10, "stride": 20}
    assert attributes["time_progression"] == {"start": 0.5, "stride": 0.25}
    assert attributes["nstep"] == 3
    assert not arrays


def test_one_frame_stores_a_start() -> None:
    attributes, _ = stored([7], [0.5])
    assert attributes["step_progression"] == {"start": 7}
    assert attributes["time_progression"] == {"start": 0.5}


def test_steps_count_up_by_themselves() -> None:
    attributes, _ = stored([None, None, None], [None] * 3)
    assert attributes["step_progression"] == {"start": 0, "stride": 1}
    assert "time_progression" not in attributes


@pytest.mark.parametrize(
    "steps",
    [[0, 1, 3], [0, 2**53 + 1], [2**53 + 1], [2**53 + 1, 2**53 + 2], [-(2**53) - 1, 0], [0, 1, 2, 3, 5, 6, 7]],
)
def test_steps_that_do_not_fit_become_an_array_for_good(steps: list[int]) -> None:
    attributes, arrays = stored(list(steps), [None] * len(steps))
    assert "step_progression" not in attributes
    assert "step" in arrays


@pytest.mark.parametrize(
    "times",
    [
        [math.nan],
        [0.0, math.nan],
        [0.0, 1.0, math.inf],
        [-0.0],
        [-0.0, 1.0],
        [0.0, 1.0, 3.0],
        [0.0, 1e308, -1e308],
        [-1e308, 1e308],
        [0.1, 0.2, 0.3],
    ],
)
def test_times_that_do_not_fit_become_an_array_for_good(times: list[float]) -> None:
    if times == [0.1, 0.2, 0.3]:
        assert 0.1 + 2.0 * (0.2 - 0.1) != 0.3
    attributes, arrays = stored([None] * len(times), list(times))
    assert "time_progression" not in attributes
    assert "time" in arrays


def test_the_last_step_of_i64_is_reached_and_not_passed() -> None:
    with scratch() as folder:
        path = folder / "run.mrec"
        with mr.TrajectoryWriter(path, mr.SequenceSchema()) as writer:
            writer.append(mr.Frame(), step=-(2**63))
            writer.append(mr.Frame(), step=2**63 - 2)
            writer.append(mr.Frame())
            with refused("reject-step-out-of-range", "frame 3"):
                writer.append(mr.Frame())
            with refused("reject-step-out-of-range", "frame 3"):
                writer.append(mr.Frame(), step=2**63)
        trajectory = mr.open(path).trajectory
        assert trajectory is not None
        assert trajectory.steps.tolist() == [-(2**63), 2**63 - 2, 2**63 - 1]
