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

from mace_core.data.comment_line import CommentLine, parse_comment_line
from mace_core.data.extxyz_parser import ColumnParser, letters
from mace_core.data.frame_text import FrameText
from mace_core.data.raw_frame import DEFAULT_PROPERTIES, RESULTS_OF_ANY_TYPE, RawFrame

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
    kind: str
    count: int

    @property
    def ase_name(self) -> str:
        return str(REV_PROPERTY_NAME_MAP.get(self.name, self.name))

    @property
    def in_calculator(self) -> bool:
        return self.ase_name in all_properties


_PLACES = (_Column("species", "S", 1), _Column("pos", "R", 3))


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
        described = _described(text)
        if described is None:
            continue
        lines = _lines([frames[position] for position, _ in members])
        natoms = sum(frames[position].natoms for position, _ in members)
        columns = parser(lines, natoms, tuple((column.name, column.kind, column.count) for column in described))
        numbers = None if columns is None else _numbers(columns["species"])
        if columns is None or numbers is None:
            continue
        wanted = [column for column in described if column not in _PLACES and column.ase_name in atom_keys]
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
        elif column.ase_name in RESULTS_OF_ANY_TYPE:
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
def _described(text: str) -> tuple[_Column, ...] | None:
    """Understand a description of columns; None if ASE makes more of it than arrays of these names."""
    if _DESCRIPTION.fullmatch(text) is None:
        return None
    try:
        parse_properties(text)
    except ValueError:
        return None
    fields = text.split(":")
    columns = tuple(
        _Column(name, kind, int(count))
        for name, kind, count in zip(fields[::3], fields[1::3], fields[2::3], strict=True)
    )
    others = [column for column in columns if column not in _PLACES]
    if (
        len(columns) - len(others) != len(_PLACES)
        or len({column.ase_name for column in columns}) < len(columns)
        or any(column.ase_name in _SET_OTHERWISE for column in others)
        or any(column.in_calculator and column.kind == "S" for column in others)
        or any(not column.count for column in others)
    ):
        return None
    return columns


def _numbers(species: NDArray[Any]) -> NDArray[Any] | None:
    """Look up the atomic numbers of symbols; None if one of them is no symbol."""
    codes = letters(species)
    if codes[:, 2:].any():
        return None
    second = codes[:, 1] if codes.shape[1] > 1 else np.zeros_like(codes[:, 0])
    numbers: NDArray[Any] = _number_table()[codes[:, 0], second]
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
