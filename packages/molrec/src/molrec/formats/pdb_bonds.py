"""CONECT records: bonds by serial number, found again in each model, and printed."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from molrec.errors import FormatError
from molrec.formats.macromolecule import MALFORMED, malformed
from molrec.formats.notes import Notes
from molrec.formats.pdb_columns import LineFields, line_matrix, print_integers
from molrec.formats.pdb_records import BONDED, CONECT_END, Outline
from molrec.model.block import Block

__all__ = ["Connections", "print_connections"]

_LARGEST_ORDER = 3
_PARTNERS = 4


class Connections:
    """The bonds of a file.

    Args:
        path: The file, for messages.
        pairs: Serial numbers ``(bonds, 2)``, each pair once, the smaller first.
        orders: How often a bond's partner is named.
        numbers: The line a bond is first given in.
    """

    def __init__(
        self,
        path: str,
        pairs: npt.NDArray[np.int64],
        orders: npt.NDArray[np.int64],
        numbers: npt.NDArray[np.int64],
    ) -> None:
        self._path = path
        self._pairs = pairs
        self._orders = orders
        self._numbers = numbers
        self._found = np.zeros(len(pairs), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self._pairs)

    @classmethod
    def parse(cls, path: str, stated: Outline, notes: Notes) -> Self:
        """Read the CONECT records of a file.

        Raises:
            FormatError: A serial number is none, or an atom is bonded to itself.
        """
        lines = stated.lines.get(b"CONECT", [])
        numbers = np.array(stated.numbers.get(b"CONECT", []), dtype=np.int64)
        if not lines:
            return cls(path, np.zeros((0, 2), np.int64), np.zeros(0, np.int64), numbers)
        for number, line in zip(numbers, lines, strict=True):
            if not line.isascii():
                raise malformed(path, int(number), "the CONECT record is not ASCII; the file is damaged")
        fields = LineFields(path, line_matrix(b"\n".join(lines))[0], numbers, MALFORMED)
        if (fields.matrix[:, CONECT_END:] != ord(" ")).any():
            notes.lost("CONECT records", "hold hydrogen bonds or salt bridges (columns 32 to 61), which are left out")
        serials = [fields.integers(field) for field in BONDED]
        sources, no_source = serials[0]
        ends, rows = [], []
        for partners, absent in serials[1:]:
            kept = np.flatnonzero(~absent & ~no_source)
            ends.append(np.column_stack([sources[kept], partners[kept]]))
            rows.append(kept)
        directed, given = np.concatenate(ends), np.concatenate(rows)
        itself = np.flatnonzero(directed[:, 0] == directed[:, 1])
        if itself.size:
            row = int(given[itself].min())
            raise fields.error(row, "the CONECT record bonds an atom to itself; correct or remove it")
        pairs, orders, lines_of = _counted(directed, numbers[given])
        if (orders > _LARGEST_ORDER).any():
            notes.changed("CONECT records", "name a partner more than three times; bond_type 0 (unknown) stands for it")
            orders[orders > _LARGEST_ORDER] = 0
        return cls(path, pairs, orders, lines_of)

    def among(self, ids: npt.NDArray[np.uint64]) -> Block:
        """Return the bonds between atoms of one model as a block ``bonds``.

        Args:
            ids: Serial number of each atom, each once.
        """
        ascending = bool((ids[1:] > ids[:-1]).all())
        order = np.arange(len(ids)) if ascending else np.argsort(ids)
        ordered = ids[order].astype(np.int64)
        places = np.minimum(np.searchsorted(ordered, self._pairs), len(ordered) - 1)
        present = (ordered[places] == self._pairs).all(axis=1)
        self._found |= present
        rows = np.sort(order[places[present]], axis=1)
        kept = np.lexsort((rows[:, 1], rows[:, 0]))
        return Block(
            {
                "atomi": rows[kept, 0].astype(np.uint64),
                "atomj": rows[kept, 1].astype(np.uint64),
                "bond_type": self._orders[present][kept].astype(np.uint64),
            }
        )

    def refuse(self, why: str) -> FormatError:
        """Return the refusal of the first bond."""
        return malformed(self._path, int(self._numbers.min()), why)

    def check_all_found(self) -> None:
        """Refuse a bond both ends of which are in no model.

        Raises:
            FormatError: There is one.
        """
        missing = np.flatnonzero(~self._found)
        if missing.size:
            first = missing[self._numbers[missing].argmin()]
            ends = self._pairs[first]
            raise malformed(
                self._path,
                int(self._numbers[first]),
                f"the CONECT record bonds the atoms {ends[0]} and {ends[1]}, and no model has both; the file is cut "
                "short or edited, get it again or remove the record",
            )


def _counted(
    directed: npt.NDArray[np.int64], lines: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return each pair once, how often it is given (in the direction that says it more often), and its first line."""
    ways, way, repeats = np.unique(directed, axis=0, return_inverse=True, return_counts=True)
    pairs, pair = np.unique(np.sort(ways, axis=1), axis=0, return_inverse=True)
    orders = np.zeros(len(pairs), dtype=np.int64)
    np.maximum.at(orders, pair.reshape(-1), repeats)
    first = np.full(len(pairs), np.iinfo(np.int64).max)
    np.minimum.at(first, pair.reshape(-1)[way.reshape(-1)], lines)
    return pairs, orders, first


def print_connections(pairs: npt.NDArray[np.int64], orders: npt.NDArray[np.int64]) -> bytes:
    """Return CONECT records: every bond from both its ends, as often as its order says, four partners in a line.

    Args:
        pairs: Serial numbers ``(bonds, 2)``.
        orders: Number of times a partner is named.
    """
    if not len(pairs):
        return b""
    directed = np.repeat(np.concatenate([pairs, pairs[:, ::-1]]), np.concatenate([orders, orders]), axis=0)
    directed = directed[np.lexsort((directed[:, 1], directed[:, 0]))]
    sources = directed[:, 0]
    begins = np.concatenate([[True], sources[1:] != sources[:-1]])
    starts = np.flatnonzero(begins)
    within = np.arange(len(sources)) - starts[np.cumsum(begins) - 1]
    lines = np.cumsum(within % _PARTNERS == 0) - 1
    matrix = np.full((int(lines[-1]) + 1, CONECT_END + 1), ord(" "), dtype=np.uint8)
    matrix[:, :6] = np.frombuffer(b"CONECT", dtype=np.uint8)
    matrix[:, CONECT_END] = ord("\n")
    matrix[lines, 6:11] = print_integers(sources, 5)[0]
    columns = BONDED[1].start + 5 * (within % _PARTNERS)
    matrix[lines[:, np.newaxis], columns[:, np.newaxis] + np.arange(5)] = print_integers(directed[:, 1], 5)[0]
    return matrix.tobytes()
