"""Style tables and name columns as arrays: what linking looks names up in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.forcefield.expression import parse_expression
from molrec.forcefield.forms import Floats
from molrec.forcefield.registry import VARIABLES, RegisteredStyle, registered
from molrec.model.block import Block
from molrec.model.forcefield import Style
from molrec.model.forcefield_section import endpoint_columns
from molrec.model.frame import Frame

__all__ = ["Names", "StyleTable", "block_of", "factorize", "name_column", "numbers", "taken"]

type Integers = npt.NDArray[np.int64]
type Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Names:
    """A column of names as numbers.

    Attributes:
        codes: Int64, one for each row: the place in `distinct`, or -1 for a null.
        distinct: The names that occur, in order of first appearance.
    """

    codes: Integers
    distinct: list[str]


class _Numbering(dict[str, int]):
    """Gives every new name the next number."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number


def factorize(column: Array, mask: Flags | None = None) -> Names:
    """Return a string column as numbers, each distinct name being hashed and compared once for each row."""
    numbering = _Numbering()
    codes = np.fromiter(map(numbering.__getitem__, column.tolist()), dtype=np.int64, count=len(column))
    if mask is not None:
        codes[~mask] = -1
    return Names(codes, list(numbering))


def name_column(block: Block, column: str) -> Names | None:
    """Return a column of names as numbers, a null and ``""`` naming nothing; None without the column."""
    if column not in block:
        return None
    found = factorize(block[column], block.validity(column))
    if "" in found.distinct:
        found.codes[found.codes == found.distinct.index("")] = -1
    return found


def numbers(block: Block, name: str) -> Floats | None:
    """Return a numeric column as float64 with NaN under its nulls; None for a column that holds no real numbers."""
    values = block[name]
    if values.dtype.kind not in "iuf" or values.ndim != 1:
        return None
    floats = values.astype(np.float64)
    mask = block.validity(name)
    if mask is not None:
        floats[~mask] = np.nan
    return floats


def taken(column: Floats, rows: Integers) -> Floats:
    """Return the entries of a column at rows, NaN where a row is -1."""
    return np.append(column, np.nan)[rows]


def block_of(frame: Frame, name: str) -> Block | None:
    """Return a block of a frame, or None."""
    return frame[name] if name in frame else None  # noqa: SIM401 - a frame has no `get`


class StyleTable:
    """One style with its rows as arrays.

    Args:
        style: The style.

    Attributes:
        style: As given.
        known: What is registered for it, or None.
        rows: Name of a row to its number.
        endpoints: One tuple of names for each row.
        numbers: Parameter to float64, one for each row, NaN where the row has none.
        block: The table itself.
    """

    __slots__ = ("block", "endpoints", "known", "numbers", "rows", "style")

    def __init__(self, style: Style) -> None:
        self.style = style
        self.known: RegisteredStyle | None = registered(style.category, style.name)
        self.block = style.table()
        self.rows = {name: row for row, name in enumerate(self.block["name"].tolist())}
        ends = endpoint_columns(self.block)
        self.endpoints: list[tuple[str, ...]] = list(
            zip(*(self.block[end].tolist() for end in ends), strict=True) if ends else [()] * len(self.rows)
        )
        found = {name: numbers(self.block, name) for name in self.block.columns if name != "name" and name not in ends}
        self.numbers: dict[str, Floats] = {name: values for name, values in found.items() if values is not None}

    @property
    def label(self) -> str:
        """Category and style, as messages and results name it."""
        return f"{self.style.category}.{self.style.name}"

    def has_parameter(self, name: str) -> bool:
        """Tell whether a relation column of this name is a parameter of this style."""
        if self.known is not None and self.known.knows(name):
            return True
        return name in self.numbers or name in self.expression_names()

    def expression_names(self) -> frozenset[str]:
        """Return the names the expression takes from rows: all but variables, charges and the style's parameters."""
        if self.known is not None or self.style.expression is None:
            return frozenset()
        variable = {VARIABLES.get(self.style.category, "")} | ({"phi"} if self.style.category == "improper" else set())
        charges = {"q1", "q2"} if self.style.category in ("pair", "pair14") else set()
        return parse_expression(self.style.expression).names - variable - charges - self.style.params.keys()

    def complete(self, columns: dict[str, Floats], count: int) -> Flags:
        """Tell for which of `count` rows these columns alone state every parameter a term needs."""
        if self.known is not None:
            parameters = self.known.parameters_of(columns)
            groups: dict[str | None, list[str]] = {}
            for one in parameters:
                if one.priced and one.default is None:
                    groups.setdefault(one.group, []).append(one.name)
            if self.known.numbered:
                whole = [_all_stated(names, columns, count) for names in groups.values()]
                return np.logical_or.reduce(whole) if whole else np.zeros(count, dtype=np.bool_)
            return _all_stated(groups.get(None, []), columns, count)
        return _all_stated(sorted(self.expression_names()), columns, count)


def _all_stated(names: Sequence[str], columns: dict[str, Floats], count: int) -> Flags:
    stated = np.ones(count, dtype=np.bool_)
    for name in names:
        stated &= ~np.isnan(columns[name]) if name in columns else False
    return stated
