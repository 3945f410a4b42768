"""Reading one by one: in constant memory, with the whole file's business at its end."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mace_core.data import ConfigurationStream, DataError, KeySpecification, iter_configurations, read_configurations

pytestmark = pytest.mark.usefixtures("reader")

_FRAME = "2\nProperties=species:S:1:pos:R:3:REF_forces:R:3 REF_energy={}\nH 0 0 0 1 2 3\nO 0 0 1 4 5 6\n"
_ATOM = "1\nREF_energy=-13.5 config_type=IsolatedAtom\nH 0 0 0\n"


def _stream(path: Path | str, **options: Any) -> ConfigurationStream:
    return iter_configurations(path, KeySpecification.from_defaults(), **options)


def test_gives_what_reading_whole_gives(tmp_path: Path) -> None:
    path = tmp_path / "train.xyz"
    path.write_text(_ATOM + "".join(map(_FRAME.format, range(200))), encoding="utf-8")
    stream = _stream(path, extract_isolated_atoms=True)
    first = next(stream)
    assert stream.atomic_energies == {}
    energies = [first.properties["energy"], *(configuration.properties["energy"] for configuration in stream)]
    whole = read_configurations(path, KeySpecification.from_defaults(), extract_isolated_atoms=True)
    assert energies == [configuration.properties["energy"] for configuration in whole] == list(range(200))
    assert stream.atomic_energies == whole.atomic_energies == {1: -13.5}


def test_says_at_the_end_that_there_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "train.xyz"
    path.write_text("1\n\nH 0 0 0\n", encoding="utf-8")
    stream = _stream(path)
    assert next(stream).positions.tolist() == [[0, 0, 0]]
    with pytest.raises(DataError, match="no frame has a value"):
        next(stream)


def test_can_be_left_early(tmp_path: Path) -> None:
    path = tmp_path / "train.xyz"
    path.write_text(_FRAME.format(1) * 10, encoding="utf-8")
    stream = _stream(path)
    next(stream)
    stream.close()
    assert list(stream) == []


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(frames: int) -> int:
        path = tmp_path / f"{frames}.xyz"
        path.write_text("".join(map(_FRAME.format, range(frames))), encoding="utf-8")
        for _ in _stream(path):  # what is imported and cached does not count
            break
        tracemalloc.start()
        assert sum(1 for _ in _stream(path)) == frames
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return found

    small, large = peak(100), peak(3000)
    assert large < 1.5 * small + 100_000


def test_a_specification_changed_meanwhile_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "train.xyz"
    path.write_text(_FRAME.format(1) * 200, encoding="utf-8")
    spec = KeySpecification.from_defaults()
    stream = iter_configurations(path, spec)
    next(stream)
    spec.update(graph_keys={"energy": "other"})
    assert all(configuration.properties["energy"] == 1 for configuration in stream)


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_compressed_files(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"train.xyz{suffix}"
    path.write_bytes(compress((_FRAME.format(2) * 3).encode()))
    assert [configuration.properties["energy"] for configuration in _stream(path)] == [2, 2, 2]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_line_ends(tmp_path: Path, line_end: str) -> None:
    path = tmp_path / "train.xyz"
    path.write_bytes((_FRAME.format(2) * 3).replace("\n", line_end).encode())
    assert [configuration.properties["energy"] for configuration in _stream(str(path))] == [2, 2, 2]
