"""Files and arguments nobody should give: each refused with where and what, none read in part."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mace_core.data import (
    Configuration,
    ConfigurationList,
    DataError,
    KeySpecification,
    iter_configurations,
    read_configurations,
)

pytestmark = pytest.mark.usefixtures("reader")

_COMMENT = "Properties=species:S:1:pos:R:3:REF_forces:R:3 REF_energy=-1.5"
_FRAME = f"2\n{_COMMENT}\nH 0 0 0 1 2 3\nO 0 0 1 4 5 6\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "train.xyz"


def _read(path: Path, text: str, **options: Any) -> ConfigurationList:
    path.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    return read_configurations(path, KeySpecification.from_defaults(), **options)


def _refused(path: Path, text: str, frame: int | None, key: str | None, *mentions: str, **options: Any) -> None:
    with pytest.raises(DataError) as caught:
        _read(path, text, **options)
    error = caught.value
    assert (error.path, error.frame, error.key) == (str(path), frame, key)
    where = "".join([str(path), "" if frame is None else f", frame {frame}", "" if key is None else f", key {key!r}"])
    assert str(error).startswith(f"{where}: ")
    for mention in mentions:
        assert mention in str(error)


def test_a_missing_file_is_the_systems_own_error(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"train\.xyz"):
        read_configurations(path, KeySpecification.from_defaults())


@pytest.mark.parametrize("text", ["", "\n", "  \n\n\n"])
def test_an_empty_file(path: Path, text: str) -> None:
    _refused(path, text, None, None, "the file holds no frame", no_data_ok=True)


def test_a_truncated_frame(path: Path) -> None:
    _refused(path, _FRAME + f"3\n{_COMMENT}\nH 0 0 0 1 2 3\n", 1, None, "the file ends after 1 of 3 atoms")


def test_a_frame_of_fewer_atoms_than_its_count_says(path: Path) -> None:
    text = _FRAME + _FRAME.replace("2\n", "3\n", 1) + _FRAME
    _refused(path, text, 1, "species", "atom 2 (line 9): '2' is not the symbol of an element")


def test_a_frame_of_more_atoms_than_its_count_says(path: Path) -> None:
    text = _FRAME + _FRAME.replace("2\n", "1\n", 1) + _FRAME
    _refused(
        path, text, 2, None, "line 8 ought to be an atom count, not 'O 0 0 1 4 5 6'", "does frame 1 have more atoms"
    )


@pytest.mark.parametrize("count", ["two", "-1", "2.0", "99999999999999999999999"])
def test_an_atom_count_that_is_none(path: Path, count: str) -> None:
    with pytest.raises(DataError, match=r"frame 0: (line 1 ought to be an atom count|the file ends after 2 of 9)"):
        _read(path, _FRAME.replace("2\n", f"{count}\n", 1))


def test_a_line_that_is_too_short(path: Path) -> None:
    text = _FRAME + _FRAME.replace("4 5 6", "4 5")
    _refused(path, text, 1, "REF_forces", "atom 1 (line 8) has 6 values, not the 7 of `Properties`")


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_forces_column_of_the_wrong_width(path: Path, width: int) -> None:
    rows = "".join(f"H 0 0 {atom} {'1 ' * width}\n" for atom in range(2))
    text = _FRAME + f"2\n{_COMMENT.replace('REF_forces:R:3', f'REF_forces:R:{width}')}\n{rows}"
    _refused(path, text, 1, "REF_forces", "forces are of shape (2, 3), three for each atom, not (2,")


def test_an_unknown_element(path: Path) -> None:
    _refused(path, _FRAME + _FRAME.replace("O ", "Qq "), 1, "species", "atom 1 (line 8): 'Qq' is not the symbol")


def test_a_value_that_is_no_number(path: Path) -> None:
    _refused(path, _FRAME.replace("4 5 6", "4 five 6"), 0, "REF_forces", "atom 1 (line 4): 'five' is not a value")


def test_an_integer_beyond_32_bits(path: Path) -> None:
    text = "1\nProperties=species:S:1:pos:R:3:molID:I:1 REF_energy=1\nH 0 0 0 2147483648\n"
    _refused(path, text, 0, "molID", "'2147483648' is not a value of that column")


@pytest.mark.parametrize("key", ["config_weight", "config_energy_weight", "config_forces_weight"])
@pytest.mark.parametrize("value", ["heavy", '"1 2"', "nan", '"_JSON {}"'])
def test_a_weight_that_is_no_number(path: Path, key: str, value: str) -> None:
    _refused(path, _FRAME + _FRAME.replace("REF_energy", f"{key}={value} REF_energy"), 1, key, "a weight is a number")


def test_a_weight_of_what_is_absent_does_not_matter(path: Path) -> None:
    (configuration,) = _read(path, _FRAME.replace("REF_energy", "config_stress_weight=heavy REF_energy"))
    assert configuration.property_weights["stress"] == 0.0


@pytest.mark.parametrize("weights", [{"bulk": "heavy"}, {"bulk": None}, {"bulk": float("nan")}, {3: 1.0}])
def test_a_type_weight_that_is_no_number(path: Path, weights: Any) -> None:
    with pytest.raises(ValueError, match="config_type_weights: text to number"):
        _read(path, _FRAME, config_type_weights=weights)


def test_labels_that_are_not_finite_are_kept_with_a_warning(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = _FRAME + _FRAME.replace("-1.5", "nan").replace("4 5 6", "4 inf 6") + _FRAME.replace("1 2 3", "nan 2 3")
    configurations = _read(path, text)
    assert np.isnan(configurations[1].properties["energy"])
    assert configurations[1].properties["forces"].tolist() == [[1, 2, 3], [4, np.inf, 6]]
    assert configurations[1].property_weights["energy"] == 1.0
    assert f"{path}: energy under 'REF_energy' is not finite in 1 of 3 frames, first in frame 1" in caplog.text
    assert f"{path}: forces under 'REF_forces' is not finite in 2 of 3 frames, first in frame 1" in caplog.text


def test_a_key_given_twice_has_its_last_value(path: Path) -> None:
    (configuration,) = _read(path, _FRAME.replace("REF_energy", "REF_energy=7 REF_energy"))
    assert configuration.properties["energy"] == -1.5


@pytest.mark.parametrize("description", ["species:S:1:pos:R:3:q:R:1:q:R:1", "species:S:1:pos:Q:3", "3", "pos:R:x"])
def test_columns_that_are_not_described(path: Path, description: str) -> None:
    text = f"1\nProperties={description} REF_energy=1\nH 0 0 0 1 2\n"
    _refused(path, text, 0, "Properties", "does not describe columns")


@pytest.mark.parametrize("value", ["strong", "T strong", '"_JSON {}"'])
def test_a_dipole_that_is_no_number(path: Path, value: str) -> None:
    value = value if value.startswith('"') else f'"{value}"'
    _refused(path, _FRAME.replace("REF_energy", f"dipole={value} REF_energy"), 0, "dipole", "is no number")


def test_periodicity_that_is_none(path: Path) -> None:
    _refused(
        path, _FRAME.replace("REF_energy", 'pbc="T T" REF_energy'), 0, None, "ASE cannot read the frame: ValueError"
    )


@pytest.mark.parametrize("key", ["stress", "virial"])
def test_a_matrix_of_six_numbers_under_a_name_of_ases(path: Path, key: str) -> None:
    text = _FRAME.replace("REF_energy", f'{key}="1 2 3 4 5 6" REF_energy')
    _refused(path, text, 0, key, "the comment line cannot be read")


def test_a_lattice_of_three_numbers(path: Path) -> None:
    _refused(path, _FRAME.replace("REF_energy", 'Lattice="5 5 5" REF_energy'), 0, "Lattice")


def test_an_energy_of_an_isolated_atom_that_is_no_number(path: Path) -> None:
    text = _FRAME + "1\nREF_energy=low config_type=IsolatedAtom\nH 0 0 0\n"
    _refused(path, text, 1, "REF_energy", "is a number, not 'low'", extract_isolated_atoms=True)
    assert len(_read(path, text)) == 2


def test_something_after_a_blank_line(path: Path) -> None:
    _refused(path, f"{_FRAME}\n{_FRAME}", 1, None, "line 5 is blank, yet line 6 has '2'")
    assert len(_read(path, f"{_FRAME}\n \n\n")) == 1


def test_more_than_three_vectors(path: Path) -> None:
    vectors = "".join(f"VEC{number} 1 0 0\n" for number in range(1, 5))
    _refused(path, f"1\n\nH 0 0 0\n{vectors}", 0, None, "more than 3 VEC lines")


def test_bytes_that_are_no_text(path: Path) -> None:
    _refused(path, _FRAME + _FRAME.replace("O ", "\udcff "), 1, None, "line 8 is not UTF-8 text")


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_a_compressed_file_that_is_damaged(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    whole = compress((_FRAME * 1000).encode())
    middle = len(whole) // 2
    path = tmp_path / f"train.xyz{suffix}"
    damaged = {
        "the compressed file is damaged": [whole[:middle], b"not compressed at all"],
        "": [whole[:middle] + b"damaged" + whole[middle + 7 :]],  # noticed in the text or by the checksum
    }
    for problem, contents in damaged.items():
        for content in contents:
            path.write_bytes(content)
            with pytest.raises(DataError, match=rf"train.xyz{suffix}, frame \d+.*: {problem}"):
                read_configurations(path, KeySpecification.from_defaults())


@pytest.mark.parametrize("head", [None, 3])
def test_a_head_that_is_no_text(path: Path, head: Any) -> None:
    with pytest.raises(ValueError, match="head_name is text, not"):
        _read(path, _FRAME, head_name=head)


def test_what_came_before_the_error_is_not_returned_but_was_streamed(path: Path) -> None:
    path.write_text(_FRAME * 3 + "junk\n", encoding="utf-8")
    stream = iter_configurations(path, KeySpecification.from_defaults())
    read: list[Configuration] = []
    with pytest.raises(DataError, match="frame 3: line 13 ought to be an atom count"):
        deque(map(read.append, stream), maxlen=0)
    assert len(read) == 3
    assert list(stream) == []


def test_the_error_travels_between_processes() -> None:
    error = DataError("it is broken", "train.xyz", 3, "REF_energy")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "train.xyz, frame 3, key 'REF_energy': it is broken"
    assert (again.path, again.frame, again.key) == ("train.xyz", 3, "REF_energy")
    assert isinstance(error, ValueError)
