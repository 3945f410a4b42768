"""Residue numbers of foreign files, which may be negative, as the unsigned ``res_id`` of a record."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.formats.notes import Notes
from molrec.model.block import Block

__all__ = ["SIGNED_RESIDUES", "set_residue_numbers"]

#: The column that keeps the file's own numbers where some of them are negative, int64.
SIGNED_RESIDUES = "res_seq"


def set_residue_numbers(block: Block, numbers: npt.NDArray[np.int64], notes: Notes, chain: Array | None = None) -> None:
    """Set ``res_id`` of a block of atoms.

    Where a chain has negative numbers all of its numbers are moved by one constant, so that the smallest becomes 1;
    the file's own numbers are then kept in the column ``res_seq``.

    Args:
        block: The atoms.
        numbers: The file's residue number of each atom, ``(atoms,)``.
        notes: Told when numbers change.
        chain: The chain of each atom, None where there is one only.
    """
    negative = numbers < 0
    if not negative.any():
        block["res_id"] = numbers.astype(np.uint64)
        return
    moved = numbers.copy()
    for name in [None] if chain is None else np.unique(chain[negative]).tolist():
        rows: Any = slice(None) if chain is None else chain == name
        moved[rows] += 1 - numbers[rows].min()
    block["res_id"] = moved.astype(np.uint64)
    block[SIGNED_RESIDUES] = numbers
    notes.changed(
        "residue numbers",
        f"below zero are moved above it in 'res_id', with all of their chain; {SIGNED_RESIDUES!r} has the file's own",
    )
