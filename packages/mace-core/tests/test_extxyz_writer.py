"""Frames written as extended XYZ read back as they were, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mace_core.data.errors import DataError
from mace_core.data.extxyz_writer import first_difference, frame_text
from mace_core.data.frames import EVERYTHING, chosen_parser, iter_raw_frames
from mace_core.data.raw_frame import RawFrame
from mace_core.data.same_values import same_value


def _read(path: Path) -> list[RawFrame]:
    return list(iter_raw_frames(str(path), EVERYTHING, chosen_parser()))


def _raw(count: int = 2, **parts: Any) -> RawFrame:
    fields: dict[str, Any] = {
        "frame_number": 0,
        "comment": "",
        "numbers": np.full(count, 8, dtype=np.int64),
        "positions": np.arange(3.0 * count).reshape(count, 3) / 7,
        "cell": np.zeros((3, 3)),
        "pbc": (False, False, False),
        "graph": {},
        "graph_results": {},
        "atom": {},
        "atom_results": {},
    }
    return RawFrame(**{**fields, **parts})


def _written(tmp_path: Path, raw: RawFrame) -> RawFrame:
    path = tmp_path / "out.xyz"
    path.write_text(frame_text(raw), encoding="utf-8")
    (back,) = _read(path)
    return back


@pytest.mark.usefixtures("reader")
def test_golden_files_come_back(golden_folder: Path, tmp_path: Path) -> None:
    try:
        frames = _read(golden_folder / "input.xyz")
    except DataError:
        pytest.skip("the case is a file that cannot be read")
    out = tmp_path / "out.xyz"
    out.write_text("".join(map(frame_text, frames)), encoding="utf-8")
    assert [first_difference(*pair) for pair in zip(frames, _read(out), strict=True)] == [None] * len(frames)


def test_real_files_come_back(solvents: list[Path], tmp_path: Path) -> None:
    for path in solvents:
        frames = _read(path)
        out = tmp_path / path.name
        out.write_text("".join(map(frame_text, frames)), encoding="utf-8")
        assert [first_difference(*pair) for pair in zip(frames, _read(out), strict=True)] == [None] * len(frames)


_FLOATS = st.floats()
_INTEGERS = st.integers(-(2**63), 2**63 - 1).map(np.int64)
_NUMBERS = st.one_of(_FLOATS.map(np.float64), _INTEGERS)
_TEXTS = st.text(max_size=8)
_VALUES = st.one_of(
    _NUMBERS,
    _TEXTS,
    st.booleans(),
    st.lists(st.booleans(), min_size=2, max_size=4),
    st.lists(_FLOATS, min_size=2, max_size=5).map(np.array),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=5).map(np.array),
    st.lists(st.lists(_FLOATS, min_size=2, max_size=2), min_size=1, max_size=3).map(np.array),
    st.dictionaries(_TEXTS, st.one_of(st.none(), st.integers(0, 9), _TEXTS), max_size=2),
)
#: Names that mean nothing to ASE; what does is in the golden files.
_KEYS = st.from_regex(r"label_[a-z0-9_]{0,6}", fullmatch=True)


@given(st.dictionaries(_KEYS, _VALUES, max_size=4))
def test_any_value_of_a_comment_line_comes_back(
    tmp_path_factory: pytest.TempPathFactory, graph: dict[str, Any]
) -> None:
    raw = _raw(graph=graph)
    assert first_difference(raw, _written(tmp_path_factory.mktemp("xyz"), raw)) is None


@given(st.data(), st.integers(1, 4))
def test_any_column_comes_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, count: int) -> None:
    words = st.text("abcXYZ019._-+", min_size=1, max_size=5)
    column = st.one_of(
        st.lists(_FLOATS, min_size=count, max_size=count).map(np.array),
        st.lists(st.lists(_FLOATS, min_size=3, max_size=3), min_size=count, max_size=count).map(np.array),
        st.lists(st.integers(-(2**31), 2**31 - 1), min_size=count, max_size=count).map(
            lambda values: np.array(values, dtype=np.int32)
        ),
        st.lists(st.booleans(), min_size=count, max_size=count).map(np.array),
        st.lists(words, min_size=count, max_size=count).map(lambda texts: np.array(texts, dtype=object)),
    )
    raw = _raw(count, atom=data.draw(st.dictionaries(_KEYS, column, max_size=3)))
    assert first_difference(raw, _written(tmp_path_factory.mktemp("xyz"), raw)) is None


def test_what_the_calculator_holds_and_what_is_fixed_come_back(tmp_path: Path) -> None:
    raw = _raw(
        graph_results={
            "energy": np.float64(-1 / 3),
            "stress": np.arange(6) / 7,
            "dipole": np.array([1.0, 2.0, 1e-300]),
        },
        atom_results={"forces": np.arange(6.0).reshape(2, 3) / 3, "charges": np.array([-0.5, 0.1])},
        move_mask=np.array([[True, False, True], [True, True, True]]),
        cell=np.diag([3.0, 4.0, 5.0]) + 0.1,
        pbc=(True, False, True),
    )
    assert first_difference(raw, _written(tmp_path, raw)) is None


def test_a_difference_names_the_label_and_both_values(tmp_path: Path) -> None:
    raw = _raw(atom={"tags": np.array([1, 2], dtype=np.int64)})
    difference = first_difference(raw, _written(tmp_path, raw))
    assert difference == ("'tags'", "was int64 [1, 2] and reads back as int32 [1, 2]")
    assert first_difference(raw, _written(tmp_path, raw), besides={"'tags'"}) is None


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        ({"atom": {"names": np.array(["a b", "c"], dtype=object)}}, "names"),
        ({"atom": {"cube": np.zeros((2, 2, 2))}}, "cube"),
        ({"graph": {"thing": object()}}, "thing"),
    ],
)
def test_what_has_no_text_is_refused(parts: dict[str, Any], key: str) -> None:
    with pytest.raises(DataError, match=f"structure, frame 0, key '{key}': extended XYZ has no text"):
        frame_text(_raw(**parts))


def test_what_has_no_text_may_be_left_out(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    raw = _raw(atom={"cube": np.zeros((2, 2, 2)), "tags": np.array([1, 2], dtype=np.int32)})
    path = tmp_path / "out.xyz"
    path.write_text(frame_text(raw, lambda *what: told.append(what)))
    assert told == [("cube", "3-dimensional array of float64")]
    assert _read(path)[0].atom["tags"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (1.0, np.float64(1.0), True),
        (0.0, -0.0, False),
        (np.nan, np.nan, True),
        (1, 1.0, False),
        (np.array(["a"]), np.array(["a"], dtype=object), True),
        ([1, 2], np.array([1, 2]), False),
        (None, 0.0, False),
        ("1", 1, False),
        ({"a": [1, np.nan]}, {"a": [1, np.nan]}, True),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 1}, {"b": 1}, False),
    ],
)
def test_same_values(first: Any, second: Any, same: bool) -> None:
    assert same_value(first, second) is same
