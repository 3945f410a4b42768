"""Residue numbers of foreign files, which may be negative, as the unsigned ``res_id`` of a record."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.formats.notes import Notes
from molrec.model.block import Block

__all__ = ["SIGNED_RESIDUES", "ResidueNumbers", "set_residue_numbers"]

#: The column that keeps the file's own numbers where some of them are negative, int64.
SIGNED_RESIDUES = "res_seq"


class ResidueNumbers:
    """Residue numbers of one file, made unsigned chain by chain; a chain keeps its constant from frame to frame.

    Where a chain has negative numbers all of its numbers are moved by one constant, so that the smallest becomes 1.
    """

    def __init__(self) -> None:
        self._moves: dict[str, int] = {}

    def unsigned(self, chain: Array, numbers: npt.NDArray[np.int64], notes: Notes) -> npt.NDArray[np.uint64]:
        """Return ``res_id`` of one frame's atoms.

        Args:
            chain: Chain of each atom, strings.
            numbers: The file's residue number of each atom.
            notes: Told which chains were renumbered.
        """
        moved = numbers.copy()
        negative = numbers < 0
        for name in {*np.unique(chain[negative]).tolist(), *self._moves} if negative.any() or self._moves else ():
            rows = np.flatnonzero(chain == name)
            if not rows.size:
                continue
            needed = 1 - int(numbers[rows].min())
            move = self._moves[name] if self._moves.get(name, -1) >= needed - 1 else needed
            self._moves[name] = move
            moved[rows] += move
            notes.changed(
                f"residue numbers of chain {name!r}" if name else "residue numbers",
                f"are moved by {move}, since some are negative; the file's own are kept beside them",
            )
        return moved.astype(np.uint64)


def set_residue_numbers(block: Block, numbers: npt.NDArray[np.int64], notes: Notes, chain: Array | None = None) -> None:
    """Set ``res_id`` of a block of atoms, and ``res_seq``, the file's own numbers, where these are not the same.

    Args:
        block: The atoms.
        numbers: The file's residue number of each atom, ``(atoms,)``.
        notes: Told when numbers change (`ResidueNumbers`).
        chain: The chain of each atom, None where there is one only.
    """
    chains = np.full(len(numbers), "", dtype=STRING) if chain is None else chain
    block["res_id"] = ResidueNumbers().unsigned(chains, numbers, notes)
    if (numbers < 0).any():
        block[SIGNED_RESIDUES] = numbers
