"""Residue numbers of foreign files, which may be negative, as the unsigned ``res_id`` of a record."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from molrec.formats.notes import Notes
from molrec.model.block import Block

__all__ = ["SIGNED_RESIDUES", "set_residue_numbers"]

#: The column that keeps the file's own numbers where some of them are negative, int64.
SIGNED_RESIDUES = "resid"


def set_residue_numbers(block: Block, numbers: npt.NDArray[np.int64], notes: Notes) -> None:
    """Set ``res_id`` of a block of atoms.

    Negative numbers take, in ascending order, the numbers after the largest one, so that residues stay apart; the
    file's own numbers are then kept in the column ``resid``.

    Args:
        block: The atoms.
        numbers: The file's residue number of each atom, ``(atoms,)``.
        notes: Told when numbers change.
    """
    negative = numbers < 0
    if not negative.any():
        block["res_id"] = numbers.astype(np.uint64)
        return
    distinct, places = np.unique(numbers[negative], return_inverse=True)
    renumbered = numbers.copy()
    renumbered[negative] = max(int(numbers.max()), 0) + 1 + places
    block["res_id"] = renumbered.astype(np.uint64)
    block[SIGNED_RESIDUES] = numbers
    notes.changed(
        "residue numbers",
        f"{len(distinct)} below zero come after the largest in 'res_id'; {SIGNED_RESIDUES!r} keeps the file's own",
    )
