"""The types of atoms and relations as LAMMPS numbers them, from the columns ``type_id`` and ``type`` of a block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.errors import SchemaError
from molrec.formats.lammps_ids import check_label
from molrec.formats.notes import Notes
from molrec.model.block import Block

__all__ = ["UNWRITABLE", "WrittenTypes", "types_of"]

UNWRITABLE = "reject-foreign-write"


@dataclass(frozen=True, slots=True)
class WrittenTypes:
    """The types of one block.

    Attributes:
        numbers: Type of each row, from 1.
        count: Number of types, unused ones included.
        labels: Label of each type, empty when the types have none.
        source: Columns the types come from.
    """

    numbers: npt.NDArray[np.int64]
    count: int
    labels: tuple[str, ...]
    source: tuple[str, ...]


def types_of(block: Block, name: str, kind: str, stated: Mapping[str, Any], notes: Notes) -> WrittenTypes:
    """Return the types of a block's rows.

    Args:
        block: Rows with ``type_id``, ``type`` or both; atoms may have ``element`` instead.
        name: The block's name, for messages.
        kind: Such as ``atom``.
        stated: ``count`` and ``labels`` a LAMMPS file stated for this kind, unused types included; or nothing.
        notes: Told about labels that LAMMPS does not take, and about types that are made up.

    Raises:
        SchemaError: A type number is 0, or atoms have none of the columns (``reject-foreign-write``).
    """
    if _whole(block, "type_id"):
        return _numbered(block, name, kind, stated, notes)
    for column in ("type", "element") if kind == "atom" else ("type",):
        if _whole(block, column):
            if column == "element":
                notes.changed("column 'element'", "becomes the types of the atoms, with labels")
            return _labelled(block[column], column, name, stated, notes)
    if kind == "atom":
        raise SchemaError(
            "the atoms have neither 'type_id' nor 'type' nor 'element' in every row; LAMMPS needs a type of each atom",
            UNWRITABLE,
        )
    notes.changed(f"block {name!r}", "has no types; every row is written with type 1")
    return WrittenTypes(np.ones(block.rows, dtype=np.int64), max(1, int(stated.get("count", 1))), (), ())


def _whole(block: Block, column: str) -> bool:
    return column in block and block.validity(column) is None


def _numbered(block: Block, name: str, kind: str, stated: Mapping[str, Any], notes: Notes) -> WrittenTypes:
    numbers = block["type_id"].astype(np.int64)
    if numbers.size and int(numbers.min()) < 1:
        row = int(np.argmin(numbers))
        raise SchemaError(
            f"block {name!r}, row {row}: type_id {int(numbers[row])}; LAMMPS counts {kind} types from 1", UNWRITABLE
        )
    count = max(int(numbers.max(initial=0)), int(stated.get("count", 0)))
    if not _whole(block, "type"):
        return WrittenTypes(numbers, count, (), ("type_id",))
    labels, reason = _labels_by_number(numbers, block["type"])
    if reason is None and labels and all(label == str(number) for number, label in labels.items()):
        return WrittenTypes(numbers, count, (), ("type_id", "type"))
    reason = reason or next((f"{label!r} {why}" for label in labels.values() if (why := check_label(label))), None)
    if reason is not None:
        notes.lost(f"column 'type' of block {name!r}", f"is left out: {reason}, so the types have no labels")
        return WrittenTypes(numbers, count, (), ("type_id", "type"))
    return WrittenTypes(numbers, count, _complete(labels, count, stated) if labels else (), ("type_id", "type"))


def _labels_by_number(numbers: npt.NDArray[np.int64], types: Array) -> tuple[dict[int, str], str | None]:
    """Return the label of each type number, and what is wrong when numbers and labels do not belong together."""
    known, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    texts = types[first]
    if np.any(texts[inverse] != types):
        row = int(np.flatnonzero(texts[inverse] != types)[0])
        return {}, f"type {int(numbers[row])} is called {str(texts[inverse[row]])!r} and {str(types[row])!r}"
    labels = dict(zip(known.tolist(), texts.tolist(), strict=True))
    if len(set(labels.values())) < len(labels):
        repeated = next(label for label in labels.values() if list(labels.values()).count(label) > 1)
        return labels, f"several types are called {repeated!r}"
    return labels, None


def _complete(labels: Mapping[int, str], count: int, stated: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a label for every type: LAMMPS wants one of unused types as well."""
    taken = set(labels.values())
    known = dict(enumerate(stated.get("labels", ()), start=1))
    complete = []
    for number in range(1, count + 1):
        label = labels.get(number) or known.get(number, "")
        if not label or (number not in labels and label in taken):
            label = f"unused-{number}"
        complete.append(label)
    return tuple(complete)


def _labelled(types: Array, column: str, name: str, stated: Mapping[str, Any], notes: Notes) -> WrittenTypes:
    """Number types that have labels only: as the file did that declared them, else in alphabetical order."""
    texts, inverse = np.unique(types, return_inverse=True)
    used = [str(text) for text in texts.tolist()]
    if used and all(text.isdecimal() and int(text) > 0 for text in used):
        numbers = np.array([int(text) for text in used], dtype=np.int64)[inverse]
        return WrittenTypes(numbers, max(int(numbers.max()), int(stated.get("count", 0))), (), (column,))
    known = [str(label) for label in stated.get("labels", ())]
    order = known if set(used) <= set(known) else used
    numbers = np.array([order.index(text) + 1 for text in used], dtype=np.int64)[inverse]
    bad = next((f"{label!r} {why}" for label in order if (why := check_label(label))), None)
    if bad is not None:
        notes.lost(f"column {column!r} of block {name!r}", f"is left out: {bad}; the types are numbered {order}")
        return WrittenTypes(numbers, len(order), (), (column,))
    return WrittenTypes(numbers, len(order), tuple(order), (column,))
