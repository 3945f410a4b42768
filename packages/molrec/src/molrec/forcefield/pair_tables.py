"""Parameters of pairs of atom types: rows in either order, wildcards, cross rows, mixing."""

from __future__ import annotations

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.forms import Floats
from molrec.forcefield.tables import Flags, Integers, StyleTable, taken
from molrec.model.block import Block
from molrec.model.forcefield_section import ANNOTATION_COLUMNS, ENDPOINT_COLUMNS

__all__ = ["PairTable", "mixed"]


class PairTable:
    """One ``pair`` or ``pair14`` style, to be asked for the parameters of two labels.

    Args:
        table: The style with its rows.
        labels: Names the endpoints may have: the types or the classes of the atoms, whichever the style names.

    Raises:
        SchemaError: Two rows price one pair differently (``reject-ff-pair-conflict``).
    """

    __slots__ = ("_first_row", "_keys", "_width", "labels", "table")

    def __init__(self, table: StyleTable, labels: list[str]) -> None:
        self.table = table
        self.labels = labels
        self._width = len(labels) + 1
        if table.style.endpoint_key == "smirks":
            ends = [(name, name) for name in table.rows]
        else:
            ends = [(first, second) for first, second in table.endpoints]
        _refuse_conflicts(table, ends)
        code = {name: number for number, name in enumerate(labels)} | {"": len(labels)}
        rows: dict[int, int] = {}
        for row, (first, second) in enumerate(ends):
            if first in code and second in code:
                low, high = sorted((code[first], code[second]))
                rows.setdefault(low * self._width + high, row)
        self._keys = np.array(sorted(rows), dtype=np.int64)
        self._first_row = np.array([rows[key] for key in sorted(rows)], dtype=np.int64)

    @property
    def applies_to_all(self) -> bool:
        """Whether a term takes nothing from rows, so that the style prices every pair alike."""
        if self.table.known is not None:
            return not self.table.known.parameters
        return not self.table.rows and self.table.style.expression is not None and not self.table.expression_names()

    def _find(self, first: Integers, second: Integers) -> Integers:
        if not len(self._keys):
            return np.full(len(first), -1, dtype=np.int64)
        keys = np.minimum(first, second) * self._width + np.maximum(first, second)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where((self._keys[places] == keys) & (first >= 0) & (second >= 0), self._first_row[places], -1)

    def rows(self, first: Integers, second: Integers) -> Integers:
        """Return the row of each pair of labels, or -1: an exact one, else one with fewer wildcards, else the first."""
        found = self._find(first, second)
        wildcard = np.full(len(first), len(self.labels), dtype=np.int64)
        half = np.stack([self._find(first, wildcard), self._find(second, wildcard)])
        either = np.where(half.min(axis=0) >= 0, half.min(axis=0), half.max(axis=0))
        found = np.where(found >= 0, found, either)
        named = (first >= 0) & (second >= 0)
        return np.where((found >= 0) | ~named, found, self._find(wildcard, wildcard))

    def parameters(self, first: Integers, second: Integers) -> tuple[dict[str, Floats], Flags]:
        """Return the parameters of pairs of labels.

        Args:
            first: Int64 ``(n,)``, numbers of labels; -1 for an atom without one.
            second: The same.

        Returns:
            Parameter to float64 ``(n,)``, NaN where there is none; and which pairs the table prices, by a row or by
            mixing two of them.
        """
        rows = self.rows(first, second)
        values = {name: taken(column, rows) for name, column in self.table.numbers.items()}
        priced = rows >= 0
        rule = self.table.style.params.get("mixing")
        if isinstance(rule, str) and {"epsilon", "sigma"} <= values.keys():
            left, right = self._find(first, first), self._find(second, second)
            mixable = ~priced & (left >= 0) & (right >= 0)
            epsilon, sigma = self.table.numbers["epsilon"], self.table.numbers["sigma"]
            energies, sizes = mixed(
                rule, taken(epsilon, left), taken(epsilon, right), taken(sigma, left), taken(sigma, right)
            )
            values["epsilon"] = np.where(mixable, energies, values["epsilon"])
            values["sigma"] = np.where(mixable, sizes, values["sigma"])
            priced |= mixable
        return values, priced | self.applies_to_all


def mixed(rule: str, epsilon1: Floats, epsilon2: Floats, sigma1: Floats, sigma2: Floats) -> tuple[Floats, Floats]:
    """Return well depth and size of unlike pairs.

    Args:
        rule: ``arithmetic``, ``geometric`` or ``sixthpower``.
        epsilon1: Well depths of one partner, float64 ``(n,)``.
        epsilon2: Well depths of the other.
        sigma1: Sizes of one partner.
        sigma2: Sizes of the other.

    Raises:
        SchemaError: No such rule (``reject-ff-malformed-document``).
    """
    with np.errstate(invalid="ignore"):  # rows may lack numbers, and then so do their mixtures
        depth: Floats = np.sqrt(epsilon1 * epsilon2)
    match rule:
        case "arithmetic":
            return depth, 0.5 * (sigma1 + sigma2)
        case "geometric":
            return depth, np.sqrt(sigma1 * sigma2)
        case "sixthpower":
            sixth = sigma1**6 + sigma2**6
            cubes = sigma1**3 * sigma2**3
            shape = np.divide(2.0 * cubes, sixth, out=np.zeros_like(sixth), where=sixth != 0.0)
            return depth * shape, (0.5 * sixth) ** (1.0 / 6.0)
    raise SchemaError(f"mixing is arithmetic, geometric or sixthpower, found {rule!r}", "reject-ff-malformed-document")


def _refuse_conflicts(table: StyleTable, ends: list[tuple[str, str]]) -> None:
    seen: dict[tuple[str, ...], int] = {}
    for row, pair in enumerate(ends):
        first = seen.setdefault(tuple(sorted(pair)), row)
        if first != row and (name := _differing(table.block, first, row)) is not None:
            names = table.block["name"].tolist()
            raise SchemaError(
                f"style {table.label}: the rows {names[first]!r} and {names[row]!r} both price the pair "
                f"{pair[0]!r}-{pair[1]!r}, and their {name!r} differs; keep one of them",
                "reject-ff-pair-conflict",
            )


def _differing(block: Block, first: int, second: int) -> str | None:
    """Return the first parameter two rows differ in, nulls being equal to nulls only; None where they agree."""
    for name in block.columns:
        if name == "name" or name in ENDPOINT_COLUMNS or name in ANNOTATION_COLUMNS:
            continue
        mask, values = block.validity(name), block[name]
        stated = (True, True) if mask is None else (bool(mask[first]), bool(mask[second]))
        if stated[0] != stated[1] or (stated[0] and values[first] != values[second]):
            return name
    return None
