"""Where each property is looked up: a key specification, settled for one call.

ASE keeps entries and columns named like one of its calculator properties in a calculator, so that a key of such a name
finds nothing with the atoms. Two rules follow, and they stand here alone:

* the properties ``energy``, ``forces`` and ``stress`` whose key is literally ``energy``, ``forces``, ``stress`` are
  what the calculator holds; the key stands for ``REF_energy``, ``REF_forces``, ``REF_stress`` during the call, and
  those three keys find nothing in any other way;
* any other key is looked up with the atoms, then in the calculator: a graph key among what came from the comment line,
  an atom key among what came from columns.

The specification itself is read once and never changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from ase.io.extxyz import REV_PROPERTY_NAME_MAP

from mace_core.data.keys import DefaultKeys, KeySpecification

__all__ = ["CONFIG_TYPE", "CONFIG_WEIGHT", "ResolvedKeys"]

CONFIG_TYPE = "config_type"
CONFIG_WEIGHT = "config_weight"

_LITERALS = {name: DefaultKeys[name.upper()].value for name in ("energy", "forces", "stress")}
_FALLBACKS = {name: _LITERALS.get(name, f"REF_{name}") for name in ("energy", "forces", "dipole")}
"""Where the presence check looks for a property that the specification does not have."""


class ResolvedKeys:
    """Property names by where they are found. Nothing here is changed after it was made.

    Attributes:
        literals: Property to the name its key stands for, of the properties that are taken from the calculator.
        graph: Property names by comment-line entry kept with the atoms.
        graph_results: Property names by comment-line entry kept in the calculator.
        atom: Property names by column kept with the atoms.
        atom_results: Property names by column kept in the calculator.
        weights: Property name by the comment-line entry that is its weight.
        head_key: Entry that the head name is written over; None if the specification has no head.
        fallbacks: Entry or column by property of the presence check that the specification does not have.
        names: All property names, those of the structure first.
        per_atom: Those that have a value for each atom.
        wanted_graph: All comment-line entries that are looked at.
        wanted_atom: All columns that are looked at, under the names ASE gives them.
    """

    def __init__(self, key_spec: KeySpecification) -> None:
        key_spec.check()
        graph_keys, atom_keys = dict(key_spec.graph_keys), dict(key_spec.atom_keys)
        self._keys = graph_keys | atom_keys
        in_graph = [name for name in ("energy", "stress") if graph_keys.get(name) == name]
        in_atom = [name for name in ("forces",) if atom_keys.get(name) == name]
        self.literals = {name: _LITERALS[name] for name in _LITERALS if name in {*in_graph, *in_atom}}

        ordinary_graph = {name: key for name, key in graph_keys.items() if key not in _LITERALS}
        ordinary_atom = {name: key for name, key in atom_keys.items() if key not in _LITERALS}
        self.graph = _inverted(ordinary_graph)
        self.graph_results = self.graph | {name: [name] for name in in_graph}
        self.atom = _inverted(ordinary_atom)
        self.atom_results = _inverted(
            {name: REV_PROPERTY_NAME_MAP.get(key, key) for name, key in ordinary_atom.items()}
        ) | {name: [name] for name in in_atom}

        self.names = (*graph_keys, *atom_keys)
        self.per_atom = frozenset(atom_keys)
        self.weights = {f"config_{name}_weight": name for name in self.names}
        self.head_key = graph_keys.get("head")
        self.fallbacks = {name: key for name, key in _FALLBACKS.items() if name not in self._keys}
        self.wanted_graph = frozenset(
            {*self.graph, *self.weights, *self.fallbacks.values(), CONFIG_TYPE, CONFIG_WEIGHT}
        )
        self.wanted_atom = frozenset({*self.atom, *self.atom_results, *self.fallbacks.values()})

    def key(self, name: str) -> str:
        """Return the file key of a property, or where the presence check looks for it."""
        return self._keys.get(name) or self.fallbacks[name]

    def described(self, name: str) -> str:
        """Return the file key of a property for a message, with the name it stands for."""
        literal = self.literals.get(name)
        return repr(self.key(name)) if literal is None else f"{self.key(name)!r} ({literal})"


def _inverted(keys: Mapping[str, str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, key in keys.items():
        names.setdefault(key, []).append(name)
    return names
