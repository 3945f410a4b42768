"""Atom ids and types of LAMMPS' files as rows and columns: ids to row indices, numbers or labels to types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.formats.lammps_table import Field, Place

__all__ = ["AtomIndex", "TypeNames", "as_unsigned", "check_label"]

type Integers = npt.NDArray[np.int64]


class AtomIndex:
    """Which row an atom id stands in.

    Args:
        ids: Id of each row.
        place: Where the first row stands in the file.

    Raises:
        FormatError: An id is negative or stands in two rows.
    """

    def __init__(self, ids: Integers, place: Place) -> None:
        as_unsigned(ids, "atom id", place)
        self._order = np.argsort(ids, kind="stable")
        self._sorted = ids[self._order]
        repeated = np.flatnonzero(self._sorted[1:] == self._sorted[:-1]) + 1
        if len(repeated):
            # of the later rows of any pair, the one a reader of the file meets first
            row = int(self._order[repeated].min())
            raise place.error(row, f"atom id {int(ids[row])} is in an earlier row already; ids must be unique")

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """The rows by ascending id."""
        return self._order

    def rows_of(self, ids: Integers, what: str, place: Place) -> npt.NDArray[np.uint64]:
        """Return the row of each id.

        Raises:
            FormatError: There is no atom of an id; `what` says whose it is.
        """
        position = np.searchsorted(self._sorted, ids)
        inside = np.minimum(position, max(len(self._sorted) - 1, 0))
        found = self._sorted[inside] == ids if len(self._sorted) else np.zeros(len(ids), dtype=np.bool_)
        if not found.all():
            row = int(np.flatnonzero(~found)[0])
            raise place.error(row, f"{what} names atom {int(ids[row])}, which the file does not have")
        rows: npt.NDArray[np.uint64] = self._order[inside].astype(np.uint64)
        return rows


def as_unsigned(values: Integers, what: str, place: Place) -> npt.NDArray[np.uint64]:
    """Return integers as u64.

    Raises:
        FormatError: One is negative.
    """
    if values.size and values.min() < 0:
        row = int(np.flatnonzero(values < 0)[0])
        raise place.error(row, f"{what} {int(values[row])} is negative; a record counts from 0 upwards")
    return values.astype(np.uint64)


def check_label(label: str) -> str | None:
    """Return what keeps a text from being a type label of LAMMPS, or None."""
    if not label:
        return "is empty"
    if label[0].isdigit() or label[0] in "*#":
        return "begins with a digit, * or #"
    if any(character.isspace() for character in label) or not label.isascii():
        return "has a blank or a character beyond ASCII"
    return None


class TypeNames:
    """The types of one kind (atom, bond, ...): how many the header states, and their labels.

    Args:
        kind: Such as ``atom``.
        count: Number of types, None when the file states none.
        labels: Number to label; empty when the file has none.
    """

    def __init__(self, kind: str, count: int | None, labels: Mapping[int, str]) -> None:
        self.kind = kind
        self.count = count
        self.labels = dict(labels)
        self._numbers = {label: number for number, label in labels.items()}

    @property
    def field(self) -> Field:
        """The field of a type: text where a label may stand for the number."""
        return Field("type_id", "text" if self.labels else "integer")

    def columns(self, values: Array, place: Place) -> dict[str, Array]:
        """Return the columns ``type_id`` and, where there are labels, ``type``.

        Args:
            values: What stands in the file: int64, or strings where there are labels.
            place: Where the first row stands.

        Raises:
            FormatError: A type is not one of those the header states, or a label is not declared.
        """
        numbers = self._resolve(values, place) if values.dtype == STRING else values
        if numbers.size:
            highest = self.count if self.count is not None else np.iinfo(np.int64).max
            wrong = (numbers < 1) | (numbers > highest)
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                stated = "" if self.count is None else f"; the header states {self.count} {self.kind} types"
                raise place.error(row, f"{self.kind} type {int(numbers[row])} does not exist{stated}")
        columns: dict[str, Array] = {"type_id": numbers.astype(np.uint64)}
        if self.labels:
            known, inverse = np.unique(numbers, return_inverse=True)
            texts = np.array([self.labels.get(int(number), "") for number in known], dtype=STRING)
            columns["type"] = texts[inverse]
        return columns

    def _resolve(self, tokens: Array, place: Place) -> Integers:
        """Return the numbers of types given by number or label."""
        known, first, inverse = np.unique(tokens, return_index=True, return_inverse=True)
        numbers = np.zeros(len(known), dtype=np.int64)
        for position, token in enumerate(known.tolist()):
            if token in self._numbers:
                numbers[position] = self._numbers[token]
            elif token.isdecimal():
                numbers[position] = int(token)
            else:
                raise place.error(
                    int(first[position]),
                    f"{self.kind} type {token!r} is neither a number nor one of the labels "
                    f"{_listing(list(self._numbers))}",
                )
        return numbers[inverse]


def _listing(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
