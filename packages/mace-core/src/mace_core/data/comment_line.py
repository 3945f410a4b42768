"""The comment line of a frame as ASE understands it, without ASE's pace.

Most comment lines are plain: words, numbers and double-quoted numbers. Those are read here, with the values and types
ASE would give them. Any other line is left to ASE, so that no second grammar has to be kept equal to its own.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from ase.io.extxyz import key_val_str_to_dict

from mace_core.data.ase_reader import read_atoms
from mace_core.data.raw_frame import GRAPH_RESULTS, RESULTS_OF_ANY_TYPE, three_bools

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CommentLine", "parse_comment_line", "truth_spelling"]

# An entry is a word, or a word, an equals sign and a word or a text in double quotes; no character of it has a meaning
# of its own to ASE. A number beyond 18 digits may or may not fit 64 bits.
_WORD = r"""[^\s="'{}\[\]\\]++"""
_ENTRY = re.compile(rf'({_WORD})(?:=(?:"([^"\\]++)"|({_WORD})))?+(?!\S)|(\S)')
_INTEGERS = re.compile(r"[+-]?[0-9]{1,18}(?:\s+[+-]?[0-9]{1,18})*+")
_NUMBER = r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
_NUMBERS = re.compile(rf"{_NUMBER}(?:\s+{_NUMBER})*+")
_FLOAT_MARK = re.compile(r"[.eE]")
_NAME = re.compile(r"(?!nan|inf)[a-z][a-z0-9_-]*+", re.ASCII | re.IGNORECASE)
_TRUTHS = {
    **dict.fromkeys(("T", "true", "True", "TRUE"), True),
    **dict.fromkeys(("F", "false", "False", "FALSE"), False),
}
_BARE = "T"
"""What ASE reads for a word without a value."""

_JSON = "_JSON "
_UNPROCESSED = "uid"
_MATRICES = frozenset({"stress", "virial"})
_STRESS_ORDER = [0, 4, 8, 7, 6, 3]
"""Places of xx, yy, zz, yz, xz, xy among nine numbers in column-major order."""


@dataclass(slots=True, eq=False)
class CommentLine:
    """What a comment line says.

    Attributes:
        properties: Text that describes the columns; None if the line does not say.
        cell: ``(3, 3)`` of ``float64``, in Ang, rows are vectors; zeros without a lattice.
        pbc: Whether each cell vector repeats.
        graph: Entries that ASE keeps with the atoms, at least those that were asked for.
        graph_results: Entries that ASE keeps in the calculator, all of them.
    """

    properties: str | None
    cell: NDArray[Any]
    pbc: tuple[bool, bool, bool]
    graph: dict[str, Any]
    graph_results: dict[str, Any]


class _NotPlain(Exception):  # noqa: N818 - it says where to go on, not what went wrong
    """A value that is left to ASE."""


def parse_comment_line(line: str, wanted: Container[str]) -> CommentLine | None:
    """Parse a comment line.

    Args:
        line: The line, as it stands in the file.
        wanted: Keys that must be in the answer if the line has them.

    Returns:
        What the line says; None if ASE refuses it, for a reason that only reading the frame with ASE tells.
    """
    texts = _plain_texts(line)
    if texts is None:
        return _left_to_ase(line)
    try:
        return _from_plain_texts(texts, wanted)
    except _NotPlain:
        return _left_to_ase(line)


def truth_spelling(line: str, key: str) -> str | None:
    """Return how a truth value is spelled in a comment line; None if the line lacks it, or is too involved to tell."""
    texts = _plain_texts(line)
    return None if texts is None else texts.get(key)


def _plain_texts(line: str) -> dict[str, str] | None:
    """Split a plain line into key and text; None if it is not plain, or has a key twice: ASE looks at both."""
    texts: dict[str, str] = {}
    for key, quoted, bare, other in _ENTRY.findall(line):
        if other or key in texts:
            return None
        texts[key] = quoted or bare or _BARE
    return texts


def _from_plain_texts(texts: dict[str, str], wanted: Container[str]) -> CommentLine:
    lattice = texts.pop("Lattice", None)
    pbc = texts.pop("pbc", None)
    properties = texts.pop("Properties", None)
    graph = {}
    graph_results = {}
    for key, text in texts.items():
        if text.startswith(_JSON):
            raise _NotPlain
        if key in GRAPH_RESULTS:
            value = _matrix(text) if key in _MATRICES else _value(text)
            graph_results[key] = _result(key, value)
        elif key in _MATRICES:
            graph[key] = _matrix(text).reshape((3, 3), order="F")
        elif key in wanted:
            if key.lower() == _UNPROCESSED:
                raise _NotPlain
            graph[key] = _value(text)
    return CommentLine(
        properties=properties,
        cell=np.zeros((3, 3)) if lattice is None else _cell(lattice).copy(),
        pbc=_pbc(pbc) if pbc is not None else (lattice is not None,) * 3,
        graph=graph,
        graph_results=graph_results,
    )


def _value(text: str) -> Any:
    """Convert the text of an entry as ASE does."""
    if text in _TRUTHS:
        return _TRUTHS[text]
    if _NAME.fullmatch(text):
        return text
    if _INTEGERS.fullmatch(text):
        integers = [int(part) for part in text.split()]
        return np.int64(integers[0]) if len(integers) == 1 else np.array(integers)
    if _NUMBERS.fullmatch(text) and _FLOAT_MARK.search(text):
        floats = [float(part) for part in text.split()]
        return np.float64(floats[0]) if len(floats) == 1 else np.array(floats)
    raise _NotPlain


def _matrix(text: str) -> NDArray[Any]:
    """Convert the nine numbers of a matrix."""
    value = _value(text)
    if not isinstance(value, np.ndarray) or value.shape != (9,):
        raise _NotPlain
    return value


def _result(key: str, value: Any) -> Any:
    """Convert a value as ASE's calculator does."""
    if key in RESULTS_OF_ANY_TYPE:
        return value
    if isinstance(value, str | bool):
        raise _NotPlain
    return np.array(value[_STRESS_ORDER] if key in _MATRICES else value, dtype=float)


@lru_cache(maxsize=256)
def _cell(text: str) -> NDArray[Any]:
    return _matrix(text).astype(float).reshape((3, 3))


@lru_cache(maxsize=256)
def _pbc(text: str) -> tuple[bool, bool, bool]:
    try:
        return three_bools(Atoms(pbc=key_val_str_to_dict(f'pbc="{text}"')["pbc"]).pbc)
    except (ValueError, TypeError):
        raise _NotPlain from None


def _left_to_ase(line: str) -> CommentLine | None:
    """Have ASE read a frame that has this comment line and no atoms."""
    try:
        read = read_atoms(f"0\n{line}")
    except Exception:  # noqa: BLE001 - the caller reads the whole frame with ASE and reports what ASE says of it
        return None
    return CommentLine(
        properties=read.entries.get("Properties"),
        cell=np.array(read.atoms.cell, dtype=float),
        pbc=three_bools(read.atoms.pbc),
        graph=read.atoms.info,
        graph_results=read.graph_results,
    )
