"""Frames to extended XYZ, digit for digit: what is written here reads back as the same frame.

ASE's writer prints reals with eight decimals; here every number has as many digits as it needs. What the file format
cannot say of a frame, such as an array of ``int64``, shows when it is read back; `first_difference` tells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from ase.data import chemical_symbols
from ase.io.extxyz import PROPERTY_NAME_MAP, SPECIAL_3_3_KEYS, UNPROCESSED_KEYS, key_val_str_to_dict

from mace_core.data.errors import DataError
from mace_core.data.raw_frame import RawFrame
from mace_core.data.same_values import same_value

__all__ = ["Difference", "first_difference", "frame_text"]

_LETTERS = {"f": "R", "i": "I", "u": "I", "b": "L", "U": "S", "O": "S", "T": "S"}
_NEEDS_QUOTES = frozenset(" \t\"'{}[]=,\\")
_VOIGT = ((0, 5, 4), (5, 1, 3), (4, 3, 2))
"""Place of each element of a symmetric matrix among xx, yy, zz, yz, xz, xy."""
_PROVIDED = frozenset({"numbers", "positions"})


def frame_text(raw: RawFrame, unsayable: Callable[[str, str], None] | None = None) -> str:
    """Return a frame as lines of an extended-XYZ file.

    Args:
        raw: The frame. Its `comment` is not looked at.
        unsayable: Told of a label the format has no text for, by name and kind, which is then left out.

    Raises:
        DataError: A value is of a kind the format has no text for, and nobody is to be told.
    """
    names, columns = ["species:S:1", "pos:R:3"], [_symbols(raw), *_texts(raw.positions)]
    arrays = {**raw.atom, **raw.atom_results}
    if raw.move_mask is not None:
        arrays["move_mask"] = raw.move_mask
    for name, values in arrays.items():
        if name in _PROVIDED:
            continue
        array = np.asarray(values)
        with _left_out(raw, name, unsayable):
            texts = _texts(array)
            letter, count = _LETTERS[array.dtype.kind], array.shape[1] if array.ndim == 2 else 1
            names.append(f"{PROPERTY_NAME_MAP.get(name, name)}:{letter}:{count}")
            columns += texts
    entries = [] if not raw.cell.any() else [f'Lattice="{" ".join(map(_number, raw.cell.reshape(-1).tolist()))}"']
    entries.append(f"Properties={':'.join(names)}")
    for key, value in (*raw.graph.items(), *raw.graph_results.items()):
        with _left_out(raw, key, unsayable):
            entries.append(f"{_quoted(key)}={_quoted(_value(key, value))}")
    if raw.cell.any() or any(raw.pbc):
        entries.append(f'pbc="{" ".join("T" if periodic else "F" for periodic in raw.pbc)}"')
    rows = "\n".join(map(" ".join, zip(*columns, strict=True)))
    return f"{len(raw.numbers)}\n{' '.join(entries)}\n{rows}\n" if rows else f"0\n{' '.join(entries)}\n"


class _NoText(Exception):  # noqa: N818 - it says where to go on
    """A value of a kind the format has no text for."""


@contextmanager
def _left_out(raw: RawFrame, name: str, unsayable: Callable[[str, str], None] | None) -> Iterator[None]:
    """Leave a label out that has no text, and tell; or refuse the frame."""
    try:
        yield
    except _NoText as error:
        what = str(error)
        if unsayable is None:
            problem = f"extended XYZ has no text for a {what}; leave it out"
            raise DataError(problem, "structure", raw.frame_number, name) from error
        unsayable(name, what)


def _symbols(raw: RawFrame) -> list[str]:
    try:
        return [chemical_symbols[number] for number in raw.numbers.tolist()]
    except IndexError as error:
        problem = f"{int(raw.numbers.max())} is the atomic number of no element"
        raise DataError(problem, "structure", raw.frame_number, "numbers") from error


def _texts(values: Any) -> list[list[str]]:
    """Return the texts of an array, one list for each of its columns."""
    array = np.asarray(values)
    if array.ndim not in (1, 2) or array.dtype.kind not in _LETTERS:
        raise _NoText(f"{array.ndim}-dimensional array of {array.dtype}")
    texts = []
    for column in [array] if array.ndim == 1 else list(array.T):
        if array.dtype.kind in "fiu":
            texts.append(list(map(_number, column.tolist())))
        elif array.dtype.kind == "b":
            texts.append(["T" if flag else "F" for flag in column.tolist()])
        else:
            words = list(map(str, column.tolist()))
            for word in words:
                if not word or any(map(str.isspace, word)):
                    raise _NoText(f"text like {word!r} in a column")
            texts.append(words)
    return texts


_number = repr
"""The shortest text that reads back as the same number."""


def _quoted(text: str) -> str:
    if text and _NEEDS_QUOTES.isdisjoint(text) and text.isprintable():
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _value(key: str, value: Any) -> str:
    """Return the text that ASE reads as a value of the comment line."""
    if key in SPECIAL_3_3_KEYS:
        matrix = np.asarray(value)
        if matrix.shape == (6,):
            matrix = matrix[np.array(_VOIGT)]
        return " ".join(map(_number, matrix.reshape(-1, order="F").tolist()))
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        return "T" if value else "F"
    if isinstance(value, (int, float, np.integer, np.floating)):
        return _number(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 1 and value.dtype.kind in "fiu":
        return " ".join(map(_number, value.tolist()))
    if isinstance(value, list) and len(value) > 1 and all(type(item) is bool for item in value):
        return " ".join("T" if item else "F" for item in value)
    if isinstance(value, str) and (key.lower() in UNPROCESSED_KEYS or _stays_text(value)):
        return value
    try:
        return f"_JSON {json.dumps(value.tolist() if isinstance(value, np.ndarray) else value)}"
    except TypeError as error:
        raise _NoText(f"value of type {type(value).__name__}") from error


def _stays_text(text: str) -> bool:
    """Whether ASE reads a text as that text, not as a number, truth values or JSON; lines would end the comment."""
    if not text or text != text.strip() or not text.isprintable():
        return False
    return bool(key_val_str_to_dict(f"key={_quoted(text)}").get("key") == text)


class Difference(NamedTuple):
    """A part of a frame that is not what it was.

    Attributes:
        what: The part: a quoted label, or ``numbers``, ``positions``, ``cell``, ``pbc``, ``move_mask``.
        how: What became of it.
    """

    what: str
    how: str


def first_difference(expected: RawFrame, found: RawFrame, besides: Container[str] = ()) -> Difference | None:
    """Return which part of a frame is not what it was; None if all of it is, bit for bit.

    A Python number, a NumPy scalar and an array without axes count the same. Comments are not compared.

    Args:
        expected: The frame as it was.
        found: The frame as it is.
        besides: Parts that are not looked at, as `Difference.what` names them.
    """
    pairs: list[tuple[str, Any, Any]] = [
        ("numbers", expected.numbers, found.numbers),
        ("positions", expected.positions, found.positions),
        ("cell", expected.cell, found.cell),
        ("pbc", list(expected.pbc), list(found.pbc)),
        ("move_mask", expected.move_mask, found.move_mask),
    ]
    for part in ("graph", "graph_results", "atom", "atom_results"):
        before, after = getattr(expected, part), getattr(found, part)
        labels = (name for name in {**before, **after} if name not in _PROVIDED)
        pairs += [(repr(name), before.get(name, _ABSENT), after.get(name, _ABSENT)) for name in labels]
    for what, before, after in pairs:
        if what in besides:
            continue
        if before is _ABSENT or after is _ABSENT:
            return Difference(what, "appears where it was not" if before is _ABSENT else "is not there when read back")
        if not same_value(before, after):
            return Difference(what, f"was {_shown(before)} and reads back as {_shown(after)}")
    return None


_ABSENT = object()


def _shown(value: Any) -> str:
    text = f"{value!r}" if not isinstance(value, np.ndarray) else f"{value.dtype} {value.tolist()!r}"
    return text if len(text) <= 80 else f"{text[:77]}..."
