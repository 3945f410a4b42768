"""The labelled structures of a collection, each made when it is asked for.

A collection converted from labelled structures says in its meta where each label is. Any other collection with atoms
can be read too: every frame of its trajectories is a structure, by canonical names (`plain_structures`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec.errors import FormatError, SchemaError
from molrec.formats.notes import Notes
from molrec.interop.label_places import LABELS, LabelTable
from molrec.interop.labelled_records import StructureOfRecord
from molrec.interop.plain_structures import structure_of_frame

if TYPE_CHECKING:
    from mace_core.data import KeySpecification
    from mace_core.data.raw_frame import RawFrame
    from molrec.model.frame import Frame

__all__ = ["Structures", "require_units"]


class Structures:
    """The structures of a collection by number.

    Args:
        collection: An open collection, or several presented as one.
        notes: Told what structures have no place for, in collections that say nothing of labels.

    Raises:
        SchemaError: It has no frames, so no structures (``reject-not-atoms``).
        FormatError: Its table of labels is damaged (``reject-labels``).
    """

    def __init__(self, collection: Any, notes: Notes | None = None) -> None:
        self.collection = collection
        self.where = str(collection.path)
        self._notes = Notes() if notes is None else notes
        document = collection.meta.get(LABELS)
        self.table: LabelTable | None = None
        if document is not None:
            self.table = LabelTable.from_document(document, collection.schema, f"{self.where}: meta")
            self._make = StructureOfRecord(self.table)
        elif len(collection) and not collection.n_frames:
            raise SchemaError(
                f"{self.where}: no record has a frame; a structure is a frame with atoms", "reject-not-atoms"
            )
        #: Signed, since a search for an integer among unsigned ones goes through reals.
        self._first_frame = collection.index["first_frame"].astype(np.int64)

    @property
    def key_spec(self) -> KeySpecification:
        """Which key is which property, as the collection says, or by default."""
        from mace_core.data import KeySpecification

        if self.table is None:
            return KeySpecification.from_defaults()
        return KeySpecification(dict(self.table.graph_keys), dict(self.table.atom_keys))

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
            FormatError: Its record is damaged, or is no structure (``reject-labels``).
        """
        record, ordinal = self.record(number)
        return self.of(record, ordinal, number)

    def of(self, record: Any, ordinal: int, number: int) -> RawFrame:
        """Return the structure of a record's frame."""
        where = f"{self.where}: record {record.number}"
        frame: Frame = record.joined(ordinal)
        if self.table is not None:
            return self._make(frame, record.meta, number, where)
        run = record.trajectory
        place: dict[str, Any] = {} if run.times is None else {"time": np.float64(run.times[ordinal])}
        if int(run.steps[ordinal]) != ordinal:
            place["step"] = np.int64(run.steps[ordinal])
        return structure_of_frame(frame, record.meta, number, place, self._notes, f"{where}, frame {ordinal}")

    def __iter__(self) -> Iterator[RawFrame]:
        return self.some(range(len(self)))

    def some(self, numbers: Iterable[int]) -> Iterator[RawFrame]:
        """Yield some structures in the order asked for."""
        return (self[number] for number in numbers)


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
