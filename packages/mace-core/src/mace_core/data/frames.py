"""The frames of a file, parsed by the fastest reader that reads them as ASE does."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Literal, Protocol

from mace_core.data.ase_frames import read_with_ase
from mace_core.data.errors import DataError
from mace_core.data.extxyz_frames import read_with_extxyz
from mace_core.data.extxyz_parser import ColumnParser, column_parser
from mace_core.data.frame_text import FrameText, split_frames
from mace_core.data.raw_frame import RawFrame

__all__ = ["EVERYTHING", "ParserName", "Wanted", "chosen_parser", "iter_raw_frames"]

ParserName = Literal["auto", "ase", "extxyz"]

# What is held at a time: enough for a call to the C parser to be worth it, little enough for a processor's cache.
_WINDOW_FRAMES = 64
_WINDOW_ATOMS = 2048

_ALWAYS_THERE = frozenset({"numbers", "positions"})
"""Arrays every structure of ASE has; only ASE's own reader hands them out under a key."""


def chosen_parser(name: ParserName = "auto") -> ColumnParser | None:
    """Return the C parser to use; None for ASE alone.

    Args:
        name: ``auto`` for the C parser where it is installed, ``ase`` for ASE alone, ``extxyz`` to insist on the C
            parser being there.

    Raises:
        ImportError: The C parser was insisted on and is not there.
        ValueError: There is no parser of that name.
    """
    if name not in ("auto", "ase", "extxyz"):
        raise ValueError(f"parser is 'auto', 'ase' or 'extxyz', not {name!r}")
    found = None if name == "ase" else column_parser()
    if found is None and name == "extxyz":
        raise ImportError("the C parser `extxyz` is not usable here; pip install 'mace-core[fast]'")
    return found


class Wanted(Protocol):
    """Which entries and columns of a frame are looked at."""

    @property
    def wanted_graph(self) -> Container[str]:
        """Comment-line entries."""

    @property
    def wanted_atom(self) -> Container[str]:
        """Columns, under the names ASE gives them."""


class _Everything(Container[str]):
    """Everything a frame has, but the arrays it has in any case."""

    def __contains__(self, name: object) -> bool:
        return name not in _ALWAYS_THERE

    @property
    def wanted_graph(self) -> Container[str]:
        return self

    @property
    def wanted_atom(self) -> Container[str]:
        return self


EVERYTHING: Wanted = _Everything()
"""For those who keep a file whole, whatever its keys mean."""


def iter_raw_frames(path: str, keys: Wanted, parser: ColumnParser | None) -> Iterator[RawFrame]:
    """Yield the frames of a file in order, holding a few dozen at a time.

    Args:
        path: The file.
        keys: Which entries and columns are wanted; `EVERYTHING` for all.
        parser: The C parser, used for what it reads as ASE does; None for ASE alone.

    Raises:
        OSError: The file cannot be opened.
        DataError: It cannot be read.
    """
    frames = split_frames(path)
    if parser is None or any(name in keys.wanted_atom for name in _ALWAYS_THERE):
        for frame in frames:
            yield read_with_ase(frame, path)
        return
    for window in _windows(frames):
        raw_frames = read_with_extxyz(window, parser, keys.wanted_graph, keys.wanted_atom)
        for frame, raw in zip(window, raw_frames, strict=True):
            yield read_with_ase(frame, path) if raw is None else raw


def _windows(frames: Iterable[FrameText]) -> Iterator[list[FrameText]]:
    """Gather frames; those before a broken one still come out."""
    window: list[FrameText] = []
    atoms = 0
    broken: DataError | None = None
    try:
        for frame in frames:
            window.append(frame)
            atoms += frame.natoms
            if len(window) >= _WINDOW_FRAMES or atoms >= _WINDOW_ATOMS:
                yield window
                window, atoms = [], 0
    except DataError as error:
        broken = error
    if window:
        yield window
    if broken is not None:
        raise broken
