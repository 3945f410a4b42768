"""The reference reader: one frame through ASE's extended-XYZ reader.

What a file means is what ASE makes of it. ASE raises whatever its parsing runs into; here that becomes one error that
says where, and in what of the common cases it lies: a row that is too short, a value that is none, an unknown element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from ase.constraints import FixAtoms, FixCartesian
from ase.data import atomic_numbers
from ase.io.extxyz import key_val_str_to_dict, parse_properties

from mace_core.data.ase_reader import read_atoms
from mace_core.data.errors import DataError
from mace_core.data.frame_text import FrameText
from mace_core.data.raw_frame import DEFAULT_PROPERTIES, GRAPH_RESULTS, RESULTS_OF_ANY_TYPE, RawFrame, three_bools

if TYPE_CHECKING:
    from ase import Atoms
    from numpy.typing import NDArray

__all__ = ["move_mask_of", "read_with_ase"]


def read_with_ase(frame: FrameText, path: str) -> RawFrame:
    """Parse one frame with ASE.

    Args:
        frame: The lines of the frame.
        path: The file it is from, for messages.

    Raises:
        DataError: ASE cannot read the frame.
    """
    try:
        atoms, _, graph_results, atom_results = read_atoms(frame.text())
    except Exception as error:
        # a parser of someone else's text may raise anything; nothing is swallowed
        problem, key = _diagnosis(frame, error)
        raise DataError(problem, path, frame.frame_number, key) from error
    return RawFrame(
        frame_number=frame.frame_number,
        comment=frame.comment,
        numbers=np.array(atoms.numbers, dtype=np.int64),
        positions=atoms.get_positions(),
        cell=np.array(atoms.cell, dtype=float),
        pbc=three_bools(atoms.pbc),
        graph=atoms.info,
        graph_results=graph_results,
        atom=atoms.arrays,
        atom_results={name: np.asarray(value, order="C") for name, value in atom_results.items()},
        move_mask=move_mask_of(atoms),
    )


def move_mask_of(atoms: Atoms) -> NDArray[Any] | None:
    """Return which atoms, ``(n_atoms,)``, or coordinates, ``(n_atoms, 3)``, may move; None without such constraints."""
    mask = np.ones((len(atoms), 3), dtype=bool)
    whole, found = True, False
    for constraint in atoms.constraints:
        if isinstance(constraint, FixAtoms):
            mask[constraint.index] = False
        elif isinstance(constraint, FixCartesian):
            mask[constraint.index] &= ~np.asarray(constraint.mask, dtype=bool)
            whole = False
        else:
            continue
        found = True
    if not found:
        return None
    return mask[:, 0].copy() if whole else mask


def _diagnosis(frame: FrameText, error: Exception) -> tuple[str, str | None]:
    """Say what is wrong with a frame that ASE refused, and with which key, as far as it can be told."""
    comment = "" if frame.vectors else frame.comment.strip()
    try:
        info = key_val_str_to_dict(comment) if comment else {}
    except (ValueError, TypeError) as comment_error:
        key = next((name for name in ("stress", "virial", "Lattice") if f" {name}, " in str(comment_error)), None)
        return f"the comment line cannot be read: {comment_error}", key
    try:
        properties, names, _, converters = parse_properties(info.get("Properties", DEFAULT_PROPERTIES))
    except (ValueError, AttributeError) as columns_error:
        return f"does not describe columns: {columns_error}", "Properties"
    columns = [name for name in names for _ in range(properties[name][1])]
    for number, row in enumerate(frame.rows):
        where = f"atom {number} (line {frame.line + 2 + number})"
        values = row.split()
        for name, convert, value in zip(columns, converters, values, strict=False):
            if not _fits(name, convert, value):
                expected = "the symbol of an element" if name == "species" else "a value of that column"
                return f"{where}: {value!r} is not {expected}", name
        if len(values) < len(columns):
            problem = f"{where} has {len(values)} values, not the {len(columns)} of `Properties`; is the count right?"
            return problem, columns[len(values)]
    for name, value in info.items():
        if name in GRAPH_RESULTS - RESULTS_OF_ANY_TYPE and np.asarray(value).dtype.kind not in "iufb":
            return f"{value!r} is no number", name
    return f"ASE cannot read the frame: {type(error).__name__}: {error}", None


def _fits(column: str, convert: Callable[[str], Any], value: str) -> bool:
    """Whether a text can be a value of a column."""
    if column == "species":
        return value.capitalize() in atomic_numbers
    try:
        np.array(convert(value), dtype=np.int32 if convert is int else None)
    except (ValueError, OverflowError):
        return False
    return True
