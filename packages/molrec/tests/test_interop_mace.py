"""Configurations of collections are those of the files they came from, and survive a collection unchanged."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import molrec as mr

pytest.importorskip("mace_core")

from mace_core.data import Configuration, ConfigurationList, DataError, KeySpecification
from mace_core.data import read_configurations as read_file
from mace_core.data.same_values import same_value
from molrec.datasets.conversion import convert_to_collection
from molrec.interop.mace import Configurations, read_configurations, write_configurations

from .refusals import refused
from .structures_made import UNITS, golden_files, real_files

_FIELDS = ("atomic_numbers", "positions", "cell", "pbc", "weight", "config_type", "head")
_LITERAL = KeySpecification({"energy": "energy", "stress": "stress"}, {"forces": "forces"})
_OTHERS = KeySpecification(
    {"energy": "REF_energy", "charge": "total_charge"}, {"site": "REF_charges", "where": "positions"}
)


def difference(first: Configuration, second: Configuration) -> str | None:
    """Return the first field that differs, None where none does."""
    for field in _FIELDS:
        before, after = getattr(first, field), getattr(second, field)
        if not same_value(
            list(before) if isinstance(before, tuple) else before, list(after) if isinstance(after, tuple) else after
        ):
            return f"{field}: {before!r}, {after!r}"
    for field in ("properties", "property_weights"):
        before, after = getattr(first, field), getattr(second, field)
        if list(before) != list(after):
            return f"{field}: {list(before)}, {list(after)}"
        for name in before:
            if not same_value(before[name], after[name]):
                return f"{field}[{name!r}]: {before[name]!r}, {after[name]!r}"
    return None


def differences(first: Sequence[Configuration], second: Sequence[Configuration]) -> list[str]:
    return [found for pair in zip(first, second, strict=True) if (found := difference(*pair)) is not None]


def attempt(source: Path, spec: KeySpecification, **options: Any) -> tuple[ConfigurationList | None, str]:
    """Return the configurations of a file, or what is wrong with it."""
    try:
        return read_file(source, spec, **options), ""
    except DataError as error:
        return None, str(error)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "set.mrec.lmdb"


@pytest.mark.parametrize("source", [*golden_files(), *real_files()], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_they_are_those_of_the_file(path: Path, source: Path) -> None:
    convert_to_collection([source], path, units=UNITS)
    for spec in (KeySpecification.from_defaults(), _LITERAL, _OTHERS):
        options: dict[str, Any] = {"head_name": "a head", "config_type_weights": {"Default": 3.0}}
        expected, error = attempt(source, spec, **options)
        if expected is None:
            with pytest.raises(DataError) as caught:
                read_configurations(path, spec, **options)
            assert str(caught.value) == error.replace(str(source), str(path))
        else:
            assert differences(expected, read_configurations(path, spec, **options)) == []


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("source", [*golden_files(), *real_files()], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_isolated_atoms_are_those_of_the_file(path: Path, source: Path, keep: bool) -> None:
    options: dict[str, Any] = {"extract_isolated_atoms": True, "keep_isolated_atoms": keep, "no_data_ok": True}
    convert_to_collection([source], path, units=UNITS, key_spec=_LITERAL)
    expected, error = attempt(source, _LITERAL, **options)
    if expected is None:
        assert "isolated atoms" in error
        with pytest.raises(DataError, match="isolated atoms"):
            read_configurations(path, **options)
        return
    found = read_configurations(path, **options)
    assert found.atomic_energies == expected.atomic_energies
    assert differences(expected, found) == []


@pytest.mark.parametrize("source", [*golden_files(), *real_files()], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_configurations_survive_a_collection(path: Path, source: Path) -> None:
    configurations = read_file(source, KeySpecification.from_defaults(), no_data_ok=True)
    for place, configuration in enumerate(configurations):
        configuration.head = ["Default", "other"][place % 2]
    assert write_configurations(path, configurations) == len(configurations)
    assert differences(configurations, Configurations(path)) == []


_ARRAYS = st.lists(st.floats(), min_size=6, max_size=6).map(lambda values: np.array(values).reshape(2, 3))
_WEIGHTS = st.floats(allow_nan=False)


@st.composite
def _configurations(draw: st.DrawFn) -> Configuration:
    names = draw(
        st.lists(st.sampled_from(["energy", "forces", "stress", "charges", "head", "total_spin"]), unique=True)
    )
    values = {
        "energy": st.none() | st.floats() | st.integers(-5, 5).map(np.int64),
        "forces": st.none() | _ARRAYS,
        "stress": st.none() | _ARRAYS,
        "charges": st.none() | st.lists(st.floats(), min_size=2, max_size=2).map(np.array),
        "head": st.none() | st.text(max_size=3),
        "total_spin": st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=3),
    }
    names = draw(st.lists(st.sampled_from([*values]), unique=True))
    weighed = draw(st.lists(st.sampled_from([*values]), unique=True))
    return Configuration(
        atomic_numbers=np.array([8, 1], dtype=draw(st.sampled_from([np.int64, np.int32]))),
        positions=draw(_ARRAYS).astype(draw(st.sampled_from([np.float64, np.float64, np.float32]))),
        properties={name: draw(values[name]) for name in names},
        property_weights={name: draw(_WEIGHTS) for name in weighed},
        cell=draw(st.none() | st.just(np.eye(3)) | st.just(np.zeros((3, 3)))),
        pbc=draw(st.none() | st.tuples(st.booleans(), st.booleans(), st.booleans())),
        weight=draw(_WEIGHTS),
        config_type=draw(st.text(max_size=4)),
        head=draw(st.text(max_size=3)),
    )


@given(st.lists(_configurations(), min_size=1, max_size=3))
@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_any_configurations_survive_a_collection(
    tmp_path_factory: pytest.TempPathFactory, configurations: list[Configuration]
) -> None:
    path = tmp_path_factory.mktemp("set") / "set.mrec.lmdb"
    given_ones = copy.deepcopy(configurations)
    write_configurations(path, configurations)
    assert differences(given_ones, configurations) == []
    assert differences(configurations, Configurations(path)) == []


def water(**changes: Any) -> Configuration:
    fields: dict[str, Any] = {
        "atomic_numbers": np.array([8, 1, 1]),
        "positions": np.arange(9.0).reshape(3, 3),
        "properties": {"energy": -3.0, "forces": np.ones((3, 3))},
        "property_weights": {"energy": 1.0, "forces": 1.0},
    }
    return Configuration(**{**fields, **changes})


def test_it_is_a_sequence(path: Path) -> None:
    write_configurations(path, [water(weight=float(number)) for number in range(5)])
    lazy = Configurations(path)
    assert len(lazy) == 5
    assert [configuration.weight for configuration in lazy] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert lazy[-1].weight == 4.0
    assert [configuration.weight for configuration in lazy[1:4:2]] == [1.0, 3.0]
    with pytest.raises(IndexError):
        lazy[5]
    assert pickle.loads(pickle.dumps(lazy))[3].weight == 3.0
    chosen = read_configurations(path, indices=[3, 1])
    assert [configuration.weight for configuration in chosen] == [3.0, 1.0]


def test_the_stored_head_is_the_head_unless_another_is_asked_for(path: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.xyz"
    source.write_text("1\nProperties=species:S:1:pos:R:3 REF_energy=1.0 head=of_the_file\nH 0 0 0\n")
    convert_to_collection([source], path, units=UNITS)
    assert Configurations(path)[0].head == "Default"
    convert_to_collection([source], path, units=UNITS, head="dft", overwrite=True)
    assert Configurations(path)[0].head == Configurations(path)[0].properties["head"] == "dft"
    assert Configurations(path, head_name="mp2")[0].head == "mp2"
    assert mr.open_collection(path).index["head"].tolist() == ["dft"]


def test_a_collection_in_other_units_is_refused(path: Path) -> None:
    write_configurations(path, [water()], units={"length": "nm", "energy": "eV"})
    with refused("reject-units", "length is in nm", kind=mr.FormatError):
        Configurations(path)


def test_units_in_other_words_are_the_same_units(path: Path) -> None:
    write_configurations(path, [water()], units={"length": "Å", "energy": "electron_volt", "force": "eV/Å"})
    assert len(Configurations(path)) == 1


def test_a_property_without_a_key_is_refused(path: Path) -> None:
    with refused("reject-labels", "configuration 1", "'spin'", "graph_keys"):
        write_configurations(path, [water(), water(properties={"spin": 1.0})])
    assert not path.exists()


def test_a_property_of_other_atoms_is_refused(path: Path) -> None:
    with refused("reject-labels", "configuration 0", "'forces'", "(2, 3)"):
        write_configurations(path, [water(properties={"forces": np.ones((2, 3))})])


def test_forces_of_another_shape_in_the_collection_are_refused(path: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.xyz"
    source.write_text("1\nProperties=species:S:1:pos:R:3:f:R:2 REF_energy=1.0\nH 0 0 0 1 2\n")
    convert_to_collection([source], path, units=UNITS)
    spec = KeySpecification.from_defaults().update(atom_keys={"forces": "f"})
    with refused("reject-malformed-source", "forces are of shape", kind=mr.FormatError):
        Configurations(path, spec)[0]


def test_damaged_differences_are_refused(path: Path) -> None:
    write_configurations(path, [water()])
    with (
        mr.open_collection(path) as collection,
        mr.CollectionWriter(
            path.with_name("other.mrec.lmdb"),
            UNITS,
            schema=collection.schema,
            meta={"labels": collection.meta["labels"]},
        ) as writer,
    ):
        assert collection[0].trajectory is not None
        writer.append(collection.frames(0)[0], meta={"configuration": {"properties": 3}})
    with refused("reject-labels", "no statement of differences", kind=mr.FormatError):
        Configurations(path.with_name("other.mrec.lmdb"))[0]
