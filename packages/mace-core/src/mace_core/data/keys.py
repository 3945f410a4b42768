"""Property names and the keys under which a file holds them.

This is the one place where file keys live: a `KeySpecification` maps each property name to the key of a file, and
nothing that comes after reading sees a key again. The two halves bear the words a user writes in ``per:``: a graph
key is an entry of the comment line (one value for a structure), an atom key a column (one value for an atom).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from logging import getLogger
from typing import Any, Self

__all__ = ["DefaultKeys", "KeySpecification", "update_keyspec_from_kwargs"]

_LOG = getLogger(__name__)
_KEY_SUFFIX = "_key"


class DefaultKeys(Enum):
    """The default file key of each property; the member's name in lower case is the property's name."""

    ENERGY = "REF_energy"
    FORCES = "REF_forces"
    STRESS = "REF_stress"
    VIRIALS = "REF_virials"
    DIPOLE = "dipole"
    POLARIZABILITY = "polarizability"
    HEAD = "head"
    CHARGES = "REF_charges"
    TOTAL_CHARGE = "total_charge"
    TOTAL_SPIN = "total_spin"
    ELEC_TEMP = "elec_temp"
    MAGMOM = "REF_magmom"
    MAGFORCES = "REF_magforces"

    @classmethod
    def keydict(cls) -> dict[str, str]:
        """The defaults as command-line style options: ``<name>_key`` to file key."""
        return {f"{name}{_KEY_SUFFIX}": key for name, key in _DEFAULTS.items()}


_DEFAULTS = {member.name.lower(): member.value for member in DefaultKeys}
_PER_ATOM = frozenset({"forces", "charges", "magmom", "magforces"})


@dataclass(slots=True)
class KeySpecification:
    """Which key of a file holds which property.

    No name stands in both halves. The mappings given are copied; every change is made whole or not at all.

    Attributes:
        graph_keys: Property name to entry of the comment line: one value for a structure.
        atom_keys: Property name to column: one value for an atom.

    Raises:
        ValueError: A name stands in both halves, or a name or key is no text.
    """

    graph_keys: dict[str, str] = field(default_factory=dict)
    atom_keys: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.graph_keys = dict(self.graph_keys)
        self.atom_keys = dict(self.atom_keys)
        self.check()

    @classmethod
    def from_defaults(cls) -> Self:
        """Make the specification of the thirteen default keys."""
        return cls(
            graph_keys={name: key for name, key in _DEFAULTS.items() if name not in _PER_ATOM},
            atom_keys={name: key for name, key in _DEFAULTS.items() if name in _PER_ATOM},
        )

    def check(self) -> None:
        """Raise ValueError if a name stands in both halves or anything is no text, say after editing a half by hand."""
        _check(self.graph_keys, self.atom_keys)

    def update(self, graph_keys: Mapping[str, str] | None = None, atom_keys: Mapping[str, str] | None = None) -> Self:
        """Add or replace keys in place.

        Args:
            graph_keys: Property name to entry of the comment line.
            atom_keys: Property name to column.

        Returns:
            This specification, so that calls can be chained.

        Raises:
            ValueError: A name would stand in both halves, or a name or key is no text; nothing is changed.
        """
        new_graph_keys = {**self.graph_keys, **(graph_keys or {})}
        new_atom_keys = {**self.atom_keys, **(atom_keys or {})}
        _check(new_graph_keys, new_atom_keys)
        self.graph_keys, self.atom_keys = new_graph_keys, new_atom_keys
        return self

    def add_embedding_specs(self, specs: Mapping[str, Mapping[str, Any]]) -> Self:
        """Register input features in place.

        A feature may bear the name of a default property (``total_charge``) if it states its key; that the property
        is read from there from now on is logged as a warning.

        Args:
            specs: Feature name to its description, of which ``per`` (``atom`` or ``graph``) and ``key`` (the feature's
                name if absent) are looked at.

        Returns:
            This specification, so that calls can be chained.

        Raises:
            ValueError: ``per`` is anything else, a feature without ``key`` would hide a default property, a name would
                stand in both halves, or a key is no text; nothing is changed.
        """
        halves: dict[str, dict[str, str]] = {"graph": {}, "atom": {}}
        moved = []
        for name, spec in specs.items():
            per = spec.get("per") if isinstance(spec, Mapping) else None
            if per not in ("graph", "atom"):
                raise ValueError(f"embedding feature {name!r}: `per` is 'atom' or 'graph', not {per!r}")
            key = spec.get("key", name)
            old = self.graph_keys.get(name, self.atom_keys.get(name))
            if name in _DEFAULTS and old not in (None, key):
                if "key" not in spec:
                    raise ValueError(
                        f"embedding feature {name!r} would hide the property of that name, which is read from {old!r}; "
                        "state its `key`, or give it another name"
                    )
                moved.append((name, old, key))
            halves[per][name] = key
        self.update(graph_keys=halves["graph"], atom_keys=halves["atom"])
        for name, old, key in moved:
            _LOG.warning("embedding feature %r: the property is now read from %r instead of %r", name, key, old)
        return self


def update_keyspec_from_kwargs(key_spec: KeySpecification, options: Mapping[str, Any]) -> KeySpecification:
    """Apply command-line style options to a specification in place.

    Args:
        key_spec: The specification to change.
        options: ``<name>_key`` to file key, for a default property or one the specification has, and
            ``embedding_specs`` (see `KeySpecification.add_embedding_specs`). A None counts as not given; options that
            are neither are someone else's and passed over, so that ``vars(arguments)`` can be given.

    Returns:
        The same specification.

    Raises:
        ValueError: An option ends in ``_key`` but names no property known, or a value is not what it ought to be;
            nothing is changed.
    """
    halves: dict[bool, dict[str, str]] = {False: {}, True: {}}
    for option, key in options.items():
        if not option.endswith(_KEY_SUFFIX) or key is None:
            continue
        name = option.removesuffix(_KEY_SUFFIX)
        if name not in _DEFAULTS and name not in key_spec.graph_keys and name not in key_spec.atom_keys:
            known = ", ".join(_names({**_DEFAULTS, **key_spec.graph_keys, **key_spec.atom_keys}))
            raise ValueError(f"option {option!r} names no property; those known are {known}")
        per_atom = name in key_spec.atom_keys or (name in _PER_ATOM and name not in key_spec.graph_keys)
        halves[per_atom][name] = key
    changed = KeySpecification(key_spec.graph_keys, key_spec.atom_keys)
    changed.update(graph_keys=halves[False], atom_keys=halves[True])
    changed.add_embedding_specs(options.get("embedding_specs") or {})
    return key_spec.update(graph_keys=changed.graph_keys, atom_keys=changed.atom_keys)


def _names(names: Iterable[str]) -> list[str]:
    return [repr(name) for name in names]


def _check(graph_keys: Mapping[str, str], atom_keys: Mapping[str, str]) -> None:
    for half, keys in (("graph", graph_keys), ("atom", atom_keys)):
        for name, key in keys.items():
            if not (isinstance(name, str) and isinstance(key, str) and name and key):
                raise ValueError(f"{half} key of {name!r}: name and key are text and not empty, not {key!r}")
    both = _names(name for name in graph_keys if name in atom_keys)
    if both:
        raise ValueError(
            f"{', '.join(both)} is both a graph key and an atom key; a property is one value for the structure "
            "or one for each atom"
        )
