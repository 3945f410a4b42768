"""From a parsed frame to a configuration: keys become property names here, and nowhere else.

It knows weights, config types and what is checked about a value; it does not know how a frame was parsed, nor what the
other frames hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mace_core.data.comment_line import truth_spelling
from mace_core.data.configuration import Configuration
from mace_core.data.errors import DataError
from mace_core.data.raw_frame import RawFrame
from mace_core.data.resolved_keys import CONFIG_TYPE, CONFIG_WEIGHT, ResolvedKeys

__all__ = ["ConfigurationBuilder"]

_DEFAULT_CONFIG_TYPE = "Default"


class ConfigurationBuilder:
    """Builds the configurations of one file.

    Args:
        path: The file, for messages.
        keys: Where each property is found.
        head_name: The head of every configuration, written over what the file has.
        config_type_weights: Weight by config type, 1.0 for those it does not name; copied.

    Raises:
        ValueError: The head name or a config type is no text, or a weight no number.
    """

    def __init__(
        self, path: str, keys: ResolvedKeys, head_name: str, config_type_weights: Mapping[str, float] | None
    ) -> None:
        self._path = path
        self._keys = keys
        if not isinstance(head_name, str):
            raise ValueError(f"head_name is text, not {head_name!r}")  # noqa: TRY004 - one class for arguments
        self._head_name = head_name
        self._type_weights: dict[str, float] = {}
        for config_type, weight in (config_type_weights or {}).items():
            number = _number(weight)
            if not isinstance(config_type, str) or number is None:
                raise ValueError(f"config_type_weights: text to number, not {config_type!r} to {weight!r}")
            self._type_weights[config_type] = number
        self._no_properties: dict[str, Any] = dict.fromkeys(keys.names)
        self._no_weights = dict.fromkeys(keys.names, 0.0)

    def build(self, raw: RawFrame) -> Configuration:
        """Make the configuration of a frame; the frame's arrays become its own.

        Raises:
            DataError: A weight is no number, or forces are not three numbers for each atom.
        """
        keys = self._keys
        graph = raw.graph
        if keys.head_key is not None:
            graph[keys.head_key] = self._head_name
        properties, weights = self._no_properties.copy(), self._no_weights.copy()
        for values, names_by_key in (
            (raw.graph_results, keys.graph_results),
            (graph, keys.graph),
            (raw.atom_results, keys.atom_results),
            (raw.atom, keys.atom),
        ):
            for key, value in values.items():
                if value is not None:
                    for name in names_by_key.get(key, ()):
                        properties[name] = value
                        weights[name] = 1.0
        for key in graph:
            weighed = keys.weights.get(key)
            if weighed is not None and properties[weighed] is not None:
                weights[weighed] = self._weight(raw, key)
        self._check_forces(raw, properties.get("forces"))
        config_type = self._config_type(raw)
        weight = self._weight(raw, CONFIG_WEIGHT) if CONFIG_WEIGHT in graph else 1.0
        return Configuration(
            atomic_numbers=raw.numbers,
            positions=raw.positions,
            properties=properties,
            property_weights=weights,
            cell=raw.cell,
            pbc=raw.pbc,
            weight=weight * self._type_weights.get(config_type, 1.0),
            config_type=config_type,
            head=self._head_name,
        )

    def _config_type(self, raw: RawFrame) -> str:
        value = raw.graph.get(CONFIG_TYPE, _DEFAULT_CONFIG_TYPE)
        if isinstance(value, bool):
            return truth_spelling(raw.comment, CONFIG_TYPE) or str(value)
        return str(value)

    def _weight(self, raw: RawFrame, key: str) -> float:
        number = _number(raw.graph[key])
        if number is None:
            raise DataError(f"a weight is a number, not {raw.graph[key]!r}", self._path, raw.frame_number, key)
        return number

    def _check_forces(self, raw: RawFrame, forces: Any) -> None:
        expected = (len(raw.numbers), 3)
        if forces is not None and np.shape(forces) != expected:
            raise DataError(
                f"forces are of shape {expected}, three for each atom, not {np.shape(forces)}",
                self._path,
                raw.frame_number,
                self._keys.key("forces"),
            )


def _number(value: Any) -> float | None:
    """Return a weight as a float; None if it is no number."""
    if not isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        return None
    number = float(value)
    return None if math.isnan(number) else number
