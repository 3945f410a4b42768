"""Every golden case, read by ASE and by the fast reader: compared exactly with what it must give."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mace_core.data import (
    Configuration,
    ConfigurationList,
    KeySpecification,
    random_train_valid_split,
    read_configurations,
    test_config_types,
)

_EXCEPTIONS: dict[str, type[Exception]] = {"ValueError": ValueError, "AssertionError": AssertionError}
_NOT_FINITE = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def test_golden_case(golden_folder: Path, reader: str, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    _GoldenCase(golden_folder).check(caplog, tmp_path)


class _GoldenCase:
    """One folder of golden cases."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "input.xyz"
        self.settings: dict[str, Any] = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
        self.expected: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        self.key_spec = KeySpecification()

    def check(self, caplog: pytest.LogCaptureFixture, work_dir: Path) -> None:
        """Do what the case says and compare everything it states."""
        said: list[str] = []
        with _expected_exception(self.expected["exception"], self.path):
            with caplog.at_level(logging.WARNING), warnings.catch_warnings(record=True) as caught:
                configurations = self._read()
            said = [record.getMessage() for record in caplog.records] + [str(warning.message) for warning in caught]
        assert _keys(self.key_spec) == self.expected["key_spec_after"]
        if self.expected["exception"] is not None:
            return
        for words in self.expected["warnings"]:
            assert any(all(word in text.lower() for word in words) for text in said), (words, said)
        energies = {str(number): energy for number, energy in configurations.atomic_energies.items()}
        assert energies == self.expected["atomic_energies"]
        getattr(self, f"_check_{self.settings['operation']}")(configurations, work_dir)

    def _read(self) -> ConfigurationList:
        keys = self.settings["key_spec"]
        if keys["base"] == "defaults":
            self.key_spec = KeySpecification.from_defaults()
        self.key_spec.update(graph_keys=keys["graph_keys"], atom_keys=keys["atom_keys"])
        self.key_spec.add_embedding_specs(keys["embedding_specs"])
        names = ("head_name", "config_type_weights", "extract_isolated_atoms", "keep_isolated_atoms", "no_data_ok")
        options = {name: self.settings[name] for name in names if self.settings[name] is not None}
        return read_configurations(self.path, self.key_spec, **options)

    def _check_read(self, configurations: list[Configuration], _: Path) -> None:
        assert len(configurations) == len(self.expected["configurations"])
        for configuration, expected in zip(configurations, self.expected["configurations"], strict=True):
            fields = {name: value for name, value in expected.items() if name != "alternatives"}
            choices = [fields, *({**fields, **other} for other in expected.get("alternatives", []))]
            differences = [_difference(configuration, choice) for choice in choices]
            assert None in differences, differences

    def _check_group(self, configurations: list[Configuration], _: Path) -> None:
        assert len(configurations) == self.expected["configuration_count"]
        for configuration, head in zip(configurations, self.settings["heads"], strict=True):
            configuration.head = head
        groups = test_config_types(configurations)
        found = [[name, [configurations.index(member) for member in members]] for name, members in groups]
        assert found == self.expected["groups"]
        choices = [self.expected["heads_after"], *self.expected["alternatives"]["heads_after"]]
        assert [configuration.head for configuration in configurations] in choices

    def _check_split(self, configurations: list[Configuration], work_dir: Path) -> None:
        assert len(configurations) == self.expected["configuration_count"]
        for number, (run, expected) in enumerate(zip(self.settings["runs"], self.expected["runs"], strict=True)):
            folder = work_dir / str(number)
            folder.mkdir()
            items: list[Any] = configurations if run["items"] == "frames" else list(range(run["items"]))
            options = {"prefix": run["prefix"]} if "prefix" in run else {}
            with _expected_exception(expected["exception"], self.path):
                train, valid = random_train_valid_split(items, run["valid_fraction"], run["seed"], folder, **options)
            if expected["exception"] is not None:
                continue
            assert [items.index(item) for item in train] == expected["train"]
            assert [items.index(item) for item in valid] == expected["valid"]
            files = [{"name": file.name, "content": file.read_text(encoding="utf-8")} for file in folder.iterdir()]
            assert files == ([] if expected["index_file"] is None else [expected["index_file"]])


@contextmanager
def _expected_exception(expected: dict[str, Any] | None, path: Path) -> Iterator[None]:
    if expected is None:
        yield
        return
    types = tuple(_EXCEPTIONS[name] for name in [expected["type"], *expected.get("also_accepted", [])])
    with pytest.raises(types) as caught:
        yield
    message = str(caught.value)
    for mention in expected.get("mentions", []):
        choices = mention if isinstance(mention, list) else [mention]
        assert any(choice.replace("{path}", str(path)) in message for choice in choices), (mention, message)
    elsewhere = message.replace(str(path), "")
    for word in expected.get("words", []):
        assert re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-]|\.\d)", elsewhere), (word, message)


def _keys(key_spec: KeySpecification) -> dict[str, dict[str, str]]:
    return {"graph_keys": key_spec.graph_keys, "atom_keys": key_spec.atom_keys}


def _difference(configuration: Configuration, expected: dict[str, Any]) -> str | None:
    """Say where a configuration is not what is expected; None if it is."""
    for name in ("atomic_numbers", "positions", "cell"):
        if not _matches(getattr(configuration, name), expected[name]):
            return f"{name}: {getattr(configuration, name)!r} is not {expected[name]}"
    for name in ("weight", "config_type", "head"):
        if getattr(configuration, name) != expected[name]:
            return f"{name}: {getattr(configuration, name)!r} is not {expected[name]!r}"
    if configuration.pbc is None or list(configuration.pbc) != expected["pbc"]:
        return f"pbc: {configuration.pbc} is not {expected['pbc']}"
    if configuration.property_weights != expected["property_weights"]:
        return f"property_weights: {configuration.property_weights} is not {expected['property_weights']}"
    if configuration.properties.keys() != expected["properties"].keys():
        return f"properties: {list(configuration.properties)} is not {list(expected['properties'])}"
    for name, value in expected["properties"].items():
        if not _matches(configuration.properties[name], value):
            return f"{name}: {configuration.properties[name]!r} is not {value}"
    return None


def _matches(value: Any, expected: dict[str, Any] | None) -> bool:
    if expected is None or value is None:
        return expected is None and value is None
    array = np.asarray(value)
    dtype = "str" if array.dtype.kind == "U" else array.dtype.name
    if dtype != expected["dtype"] or list(array.shape) != expected["shape"]:
        return False
    listed = np.array(expected["values"], dtype=object).ravel().tolist()
    if array.dtype.kind == "f":
        listed = [_NOT_FINITE.get(entry, entry) if isinstance(entry, str) else entry for entry in listed]
        return all(
            mine == theirs or (np.isnan(mine) and np.isnan(theirs))
            for mine, theirs in zip(array.ravel().tolist(), listed, strict=True)
        )
    return bool(array.ravel().tolist() == listed)
