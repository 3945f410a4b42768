"""Atom types of force-field XML, and what endpoints of other elements name: types, classes, or both mixed.

A table's endpoints are all types or all classes. Where a force of the file mixes them, classes are written out as the
types they hold, which says the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal, NamedTuple

from molrec.formats.forcefield_openmm_xml import Element

__all__ = ["AtomClasses", "Endpoints", "endpoint_key_of"]

#: More rows than this from one force are a mistake rather than a table.
_MOST_ROWS = 1_000_000

type Key = Literal["type", "class"]


class Endpoints(NamedTuple):
    """The endpoints of one element: names, and what each of them names; ``""`` is any."""

    names: tuple[str, ...]
    keys: tuple[Key, ...]


class AtomClasses:
    """The atom types of a force field and their classes."""

    def __init__(self) -> None:
        self._of_class: dict[str, list[str]] = {}
        self._types: set[str] = set()
        #: Types that endpoints name and no file declares; OpenMM passes over them, here they stay in their rows.
        self.undeclared: set[str] = set()
        #: Classes of no type that had to be written out; rows of theirs are left out, as OpenMM does.
        self.empty: set[str] = set()

    def add(self, name: str, atom_class: str | None) -> None:
        """Take an atom type."""
        self._types.add(name)
        if atom_class is not None:
            self._of_class.setdefault(atom_class, []).append(name)

    def endpoints(self, element: Element, count: int) -> Endpoints:
        """Return the endpoints of an element.

        Args:
            element: With attributes ``type1`` or ``class1`` and so on; without numbers for one endpoint.
            count: How many it has.

        Raises:
            SchemaError: One is missing or given twice (``reject-ff-source-malformed``).
        """
        names, keys = [], []
        for number in range(1, count + 1):
            suffix = "" if count == 1 else str(number)
            stated: list[Key] = [key for key in ("type", "class") if f"{key}{suffix}" in element.attributes]
            if len(stated) != 1:
                raise element.place.malformed(
                    f"<{element.tag}> gives endpoint {number} {'twice' if stated else 'not at all'}; it needs "
                    f"type{suffix} or class{suffix}"
                )
            name = element.attributes[f"{stated[0]}{suffix}"]
            if name and stated[0] == "type" and name not in self._types:
                self.undeclared.add(name)
            names.append(name)
            keys.append(stated[0])
        return Endpoints(tuple(names), tuple(keys))

    def spelled_out(self, endpoints: Endpoints) -> list[tuple[str, ...]]:
        """Return endpoints as types, one tuple for each combination of the classes' types.

        A class that no type is of has none, so that nothing comes of it, as in OpenMM.
        """
        choices = []
        for name, key in zip(endpoints.names, endpoints.keys, strict=True):
            if key == "class" and name and name not in self._of_class:
                self.empty.add(name)
            choices.append(self._of_class.get(name, []) if key == "class" and name else [name])
        return list(itertools.product(*choices))


def endpoint_key_of(found: Sequence[tuple[Element, Endpoints]]) -> Key | None:
    """Return what the endpoints of a force's elements name, None where some name types and others classes.

    Raises:
        SchemaError: The force has more elements than a table takes (``reject-ff-source-malformed``).
    """
    if len(found) > _MOST_ROWS:
        raise found[0][0].place.malformed(f"{len(found)} rows of one force")
    keys = {key for _, endpoints in found for name, key in zip(endpoints.names, endpoints.keys, strict=True) if name}
    if len(keys) > 1:
        return None
    return keys.pop() if keys else "type"
