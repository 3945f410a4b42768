"""The labelled structures of a collection, each made when it is asked for.

A collection converted from labelled structures says in its meta where each label is. Any other collection with atoms
can be read too: every frame of its trajectories is a structure, ``pe`` and the forces are its labels under the default
keys of `mace_core`, and what has no such name keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec.errors import FormatError, SchemaError
from molrec.interop.label_places import LABELS, ColumnPlace, LabelTable, StepPlace
from molrec.interop.label_survey import Label
from molrec.interop.labelled_records import StructureOfRecord
from molrec.model.schema import SequenceSchema

if TYPE_CHECKING:
    from mace_core.data.raw_frame import RawFrame
    from molrec.model.frame import Frame

__all__ = ["Structures", "default_table"]

_BLOCK = "atoms"
_SHAPES = {"f64": (), "i64": (), "f64x3": (3,), "i64x3": (3,), "f64x6": (6,), "f64x9": (3, 3)}
_DTYPES = {"string": "str", "bool": "bool", "f64": "float64"} | {
    f"{letter}{bits}": f"{'int' if letter == 'i' else 'uint'}{bits}" for letter in "iu" for bits in (8, 16, 32, 64)
}
#: Columns that are the structure and no labels of it.
_STRUCTURE = frozenset({"x", "y", "z", "atomic_number", "element"})


class Structures:
    """The structures of a collection by number.

    Args:
        collection: An open collection, or several presented as one.

    Raises:
        SchemaError: It has no block ``atoms`` with positions (``reject-not-atoms``).
        FormatError: Its table of labels is damaged (``reject-labels``).
    """

    def __init__(self, collection: Any) -> None:
        self.collection = collection
        self.where = str(collection.path)
        schema: SequenceSchema = collection.schema
        document = collection.meta.get(LABELS)
        if _BLOCK not in schema.blocks or any(axis not in schema.blocks[_BLOCK].columns for axis in "xyz"):
            raise SchemaError(
                f"{self.where}: frames have no block {_BLOCK!r} with x, y and z; these are no structures",
                "reject-not-atoms",
            )
        if document is None:
            self.table = default_table(schema)
        else:
            self.table = LabelTable.from_document(document, schema, f"{self.where}: meta")
        self._make = StructureOfRecord(self.table)
        #: Signed, since a search for an integer among unsigned ones goes through reals.
        self._first_frame = collection.index["first_frame"].astype(np.int64)

    def __len__(self) -> int:
        return int(self.collection.n_frames)

    def record(self, number: int) -> tuple[Any, int]:
        """Return the record a structure belongs to, and its place among the record's frames."""
        if not 0 <= number < len(self):
            raise IndexError(f"structure {number} of {len(self)}")
        record = int(np.searchsorted(self._first_frame, number, side="right")) - 1
        return self.collection[record], number - int(self._first_frame[record])

    def __getitem__(self, number: int) -> RawFrame:
        """Return a structure; its arrays are its own.

        Raises:
            IndexError: No such structure.
            FormatError: Its record is damaged.
        """
        record, ordinal = self.record(number)
        return self.of(record, record.joined(ordinal), number)

    def of(self, record: Any, frame: Frame, number: int) -> RawFrame:
        """Return the structure of a record's frame."""
        return self._make(frame, record.meta, number, f"{self.where}: record {record.number}")

    def __iter__(self) -> Iterator[RawFrame]:
        return self.some(range(len(self)))

    def some(self, numbers: Iterable[int]) -> Iterator[RawFrame]:
        """Yield some structures in the order asked for."""
        return (self[number] for number in numbers)


def default_table(schema: SequenceSchema) -> LabelTable:
    """Return the table of a collection that states none: canonical names, else the default keys, else its own names."""
    from mace_core.data import DefaultKeys, KeySpecification

    spec = KeySpecification.from_defaults()
    steps: dict[Label, StepPlace] = {}
    for key, declared in schema.meta.items():
        name = "energy" if key == "pe" else key
        if declared.tag in _SHAPES:
            label = Label("graph", spec.graph_keys.get(name, key))
            steps[label] = StepPlace(key, declared.tag, _SHAPES[declared.tag])
    columns: dict[Label, ColumnPlace] = {}
    own = dict(schema.blocks[_BLOCK].columns)
    for name in _STRUCTURE:
        own.pop(name, None)
    forces = [own.pop(name) for name in ("fx", "fy", "fz")] if {"fx", "fy", "fz"} <= own.keys() else []
    if forces:
        nullable = any(column.nullable for column in forces)
        columns[Label("atom", DefaultKeys.FORCES.value)] = ColumnPlace(
            ("fx", "fy", "fz"), "f64", "float64", (3,), nullable
        )
    for name, column in own.items():
        dtype = _DTYPES.get(column.dtype)
        if dtype is not None:
            key = spec.atom_keys.get("charges" if name == "charge" else name, name)
            columns[Label("atom", key)] = ColumnPlace((name,), column.dtype, dtype, column.trailing, column.nullable)
    return LabelTable(spec.graph_keys, spec.atom_keys, steps, {}, columns)


def require_units(units: dict[str, str], where: str) -> None:
    """Refuse a collection that is not in the units of configurations: ångström, eV, eV/ångström.

    Raises:
        FormatError: Another unit of length, energy or force is stated (``reject-units``).
    """
    from molrec.model.collection import same_unit

    for quantity, expected in (("length", "angstrom"), ("energy", "eV"), ("force", "eV/angstrom")):
        stated = units.get(quantity)
        if stated is not None and not same_unit(stated, expected):
            raise FormatError(
                f"{where}: {quantity} is in {stated}; configurations are in {expected}, convert the collection first",
                "reject-units",
            )
