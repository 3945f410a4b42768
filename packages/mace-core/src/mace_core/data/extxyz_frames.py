"""The fast reader: many frames at a time, their columns through the libAtoms C parser.

Frames that share a description of their columns are parsed as if they were one. A frame that cannot be read here just
as ASE reads it is left out; the caller gives it to ASE.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from ase.calculators.calculator import all_properties
from ase.data import atomic_numbers
from ase.io.extxyz import REV_PROPERTY_NAME_MAP, parse_properties

from mace_core.data.comment_line import OF_ANY_TYPE, CommentLine, parse_comment_line
from mace_core.data.extxyz_parser import ColumnParser
from mace_core.data.frame_text import FrameText
from mace_core.data.raw_frame import DEFAULT_PROPERTIES, RawFrame

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_with_extxyz"]

_DESCRIPTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*:[RILS]:[0-9]+(?::[A-Za-z_][A-Za-z0-9_]*:[RILS]:[0-9]+)*+")
_SET_OTHERWISE = frozenset({"numbers", "symbols", "positions", "initial_charges", "move_mask"})
"""Columns that ASE makes something else of than an array of that name."""

_LONGEST_LINE = 1024
"""The C parser makes every text of a column as long as the longest one, so a long line would need much memory."""


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    ase_name: str
    kind: str
    in_calculator: bool


@dataclass(frozen=True, slots=True)
class _Description:
    columns: tuple[_Column, ...]
    kinds: str


def read_with_extxyz(
    frames: Sequence[FrameText], parser: ColumnParser, graph_keys: Container[str], atom_keys: Container[str]
) -> list[RawFrame | None]:
    """Parse frames.

    Args:
        frames: The frames, a moderate number of them: their columns are held together.
        parser: The C parser.
        graph_keys: Comment-line entries that are wanted.
        atom_keys: Columns that are wanted, by the name ASE gives them.

    Returns:
        What each frame holds, with what is wanted; None for a frame that must be read by ASE.
    """
    raw_frames: list[RawFrame | None] = [None] * len(frames)
    groups: dict[str, list[tuple[int, CommentLine]]] = {}
    for position, frame in enumerate(frames):
        if not frame.natoms or frame.vectors or max(map(len, frame.rows)) > _LONGEST_LINE:
            continue
        comment = parse_comment_line(frame.comment, graph_keys)
        if comment is not None:
            groups.setdefault(comment.properties or DEFAULT_PROPERTIES, []).append((position, comment))
    for text, members in groups.items():
        description = _description(text)
        if description is None:
            continue
        lines = _lines([frames[position] for position, _ in members])
        natoms = sum(frames[position].natoms for position, _ in members)
        columns = parser(lines, natoms, text, description.kinds)
        numbers = None if columns is None else _numbers(columns["species"])
        if columns is None or numbers is None:
            continue
        wanted = [column for column in description.columns if column.ase_name in atom_keys]
        finite = all(np.isfinite(columns[column.name]).all() for column in wanted if column.kind == "R")
        end = 0
        for position, comment in members:
            start, end = end, end + frames[position].natoms
            raw = _raw_frame(frames[position], comment, numbers, columns, wanted, slice(start, end))
            raw.columns_finite = finite
            raw_frames[position] = raw
    return raw_frames


def _lines(frames: list[FrameText]) -> str:
    """Join the atom lines; only the last line of a file may lack a line end."""
    lines = "".join([row for frame in frames for row in frame.rows])
    return lines if lines.endswith("\n") else lines + "\n"


def _raw_frame(
    frame: FrameText,
    comment: CommentLine,
    numbers: NDArray[Any],
    columns: dict[str, NDArray[Any]],
    wanted: list[_Column],
    rows: slice,
) -> RawFrame:
    atom: dict[str, NDArray[Any]] = {}
    atom_results: dict[str, Any] = {}
    for column in wanted:
        if column.ase_name in comment.graph_results:
            continue  # ASE keeps one value of a name, and takes the comment line's
        values = columns[column.name][rows]
        if not column.in_calculator:
            atom[column.ase_name] = values.astype(object) if column.kind == "S" else values.copy()
        elif column.ase_name in OF_ANY_TYPE:
            atom_results[column.ase_name] = values.copy()
        else:
            atom_results[column.ase_name] = values.astype(float)
    return RawFrame(
        frame_number=frame.frame_number,
        comment=frame.comment,
        numbers=numbers[rows].copy(),
        positions=columns["pos"][rows].copy(),
        cell=comment.cell,
        pbc=comment.pbc,
        graph=comment.graph,
        graph_results=comment.graph_results,
        atom=atom,
        atom_results=atom_results,
    )


@lru_cache(maxsize=256)
def _description(text: str) -> _Description | None:
    """Understand a description of columns; None if ASE makes more of it than arrays of these names."""
    if _DESCRIPTION.fullmatch(text) is None:
        return None
    try:
        properties, _, _, _ = parse_properties(text)
    except ValueError:
        return None
    fields = text.split(":")
    columns = tuple(
        _Column(
            name, REV_PROPERTY_NAME_MAP.get(name, name), kind, REV_PROPERTY_NAME_MAP.get(name, name) in all_properties
        )
        for name, kind in zip(fields[::3], fields[1::3], strict=True)
    )
    shapes = {(column.name, column.kind, properties[column.name][1]) for column in columns}
    others = [column for column in columns if column.name not in {"species", "pos"}]
    if (
        len({column.ase_name for column in columns}) < len(columns)
        or not {("species", "S", 1), ("pos", "R", 3)} <= shapes
        or any(column.ase_name in _SET_OTHERWISE for column in others)
        or any(column.in_calculator and column.kind == "S" for column in others)
        or any(count == 0 for _, _, count in shapes)
    ):
        return None
    return _Description(tuple(others), "".join({column.kind for column in columns}))


def _numbers(species: NDArray[Any]) -> NDArray[Any] | None:
    """Look up the atomic numbers of symbols; None if one of them is no symbol."""
    letters = np.ascontiguousarray(species).view(np.uint32).reshape(len(species), -1)
    if letters[:, 2:].any() or letters.max(initial=0) >= 128:
        return None
    second = letters[:, 1] if letters.shape[1] > 1 else np.zeros_like(letters[:, 0])
    numbers: NDArray[Any] = _number_table()[letters[:, 0], second]
    return None if (numbers < 0).any() else numbers


@cache
def _number_table() -> NDArray[Any]:
    """Atomic number by first and second letter, in any case; -1 where no element has that name."""
    table = np.full((128, 128), -1, dtype=np.int64)
    for symbol, number in atomic_numbers.items():
        first, second = symbol[0], symbol[1:]
        for one in {first.upper(), first.lower()}:
            for two in {second.upper(), second.lower()}:
                table[ord(one), ord(two or "\0")] = number
    return table
