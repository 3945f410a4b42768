"""What the labels of many structures look like: which there are, how often, of which kinds.

A label stands in one of four parts of a structure, as ASE keeps them (`mace_core.data.raw_frame.RawFrame`): ``graph``
and ``graph_results`` have one value for the structure, ``atom`` and ``atom_results`` one for each atom. Surveys of
several files can be merged, whoever made them; nothing of the structures is kept.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from mace_core.data.raw_frame import RawFrame

__all__ = [
    "ALWAYS_THERE",
    "ATOM_PARTS",
    "GRAPH_PARTS",
    "MOVE_MASK",
    "Label",
    "LabelSurvey",
    "ValueKind",
    "kind_of_value",
]

GRAPH_PARTS = ("graph", "graph_results")
ATOM_PARTS = ("atom", "atom_results")
#: Arrays every structure has; they are no labels.
ALWAYS_THERE = frozenset({"numbers", "positions"})

#: What is neither reals nor integers: texts, truth values, nested documents.
OTHER = "other"


class Label(NamedTuple):
    """Where a label stands in a structure, and the key it has there."""

    part: str
    key: str


#: The column of a file that says which atoms may move.
MOVE_MASK = Label("atom", "move_mask")


class ValueKind(NamedTuple):
    """What a value is: its dtype's name (or `OTHER`) and its shape, of one atom for a column."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(slots=True)
class Seen:
    """How often a label was there, by kind."""

    kinds: Counter[ValueKind] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        """Structures that have it."""
        return self.kinds.total()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape most of its values have; of equally many, the first in order."""
        shapes: Counter[tuple[int, ...]] = Counter()
        for kind, count in self.kinds.items():
            shapes[kind.shape] += count
        return min(shapes, key=lambda shape: (-shapes[shape], shape))

    def dtypes(self, shape: tuple[int, ...]) -> Counter[str]:
        """Return how often values of a shape have each dtype."""
        return Counter({kind.dtype: count for kind, count in self.kinds.items() if kind.shape == shape})


class LabelSurvey:
    """Collects what structures have.

    Attributes:
        frames: Structures surveyed.
        atoms: Their atoms.
        most_atoms: Atoms of the largest.
        entries: Labels of structures.
        columns: Labels of atoms, the mask of atoms that may move among them.
    """

    def __init__(self) -> None:
        self.frames = self.atoms = self.most_atoms = 0
        self.entries: dict[Label, Seen] = {}
        self.columns: dict[Label, Seen] = {}

    def add(self, raw: RawFrame) -> None:
        """Take one structure."""
        count = len(raw.numbers)
        self.frames += 1
        self.atoms += count
        self.most_atoms = max(self.most_atoms, count)
        for label, value in graph_labels(raw):
            self._seen(self.entries, label).kinds[kind_of_value(value)] += 1
        for label, array in atom_labels(raw):
            self._seen(self.columns, label).kinds[kind_of_column(array)] += 1

    def merge(self, other: LabelSurvey) -> None:
        """Take what another survey has seen, as if its structures came after."""
        self.frames += other.frames
        self.atoms += other.atoms
        self.most_atoms = max(self.most_atoms, other.most_atoms)
        for mine, theirs in ((self.entries, other.entries), (self.columns, other.columns)):
            for label, seen in theirs.items():
                self._seen(mine, label).kinds.update(seen.kinds)

    @staticmethod
    def _seen(labels: dict[Label, Seen], label: Label) -> Seen:
        found = labels.get(label)
        if found is None:
            found = labels[label] = Seen()
        return found


def graph_labels(raw: RawFrame) -> list[tuple[Label, Any]]:
    """Return the labels of a structure that have one value, those that are None left out."""
    return [
        (Label(part, key), value)
        for part in GRAPH_PARTS
        for key, value in getattr(raw, part).items()
        if value is not None
    ]


def atom_labels(raw: RawFrame) -> list[tuple[Label, Any]]:
    """Return the labels of a structure that have one value for each atom."""
    found = [
        (Label(part, key), np.asarray(array))
        for part in ATOM_PARTS
        for key, array in getattr(raw, part).items()
        if key not in ALWAYS_THERE
    ]
    return found if raw.move_mask is None else [*found, (MOVE_MASK, raw.move_mask)]


def kind_of_value(value: Any) -> ValueKind:
    """Return what a value of a structure is; reals are ``float64``, integers ``int64``, all else is `OTHER`."""
    if isinstance(value, (bool, np.bool_, str)):
        return ValueKind(OTHER, ())
    if isinstance(value, (int, np.integer)):
        return ValueKind("int64" if -(2**63) <= value < 2**63 else OTHER, ())
    if isinstance(value, float):
        return ValueKind("float64", ())
    if isinstance(value, np.ndarray) and value.dtype in (np.float64, np.int64):
        return ValueKind(value.dtype.name, value.shape)
    return ValueKind(OTHER, ())


def kind_of_column(array: np.ndarray[Any, Any]) -> ValueKind:
    """Return what a column is: the name of its dtype, ``str`` for texts, and the shape of one atom's value."""
    return ValueKind("str" if array.dtype.kind in "OUT" else array.dtype.name, array.shape[1:])
