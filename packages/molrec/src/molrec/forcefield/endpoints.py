"""Rows found by their endpoints rather than by name: what typing does when it is asked for.

A row fits a tuple of atoms when its endpoints are theirs, forward or backward (an improper: forward only), ``""``
fitting any. Of those that fit, the one with the fewest wildcards wins, then the first in the table
(``docs/spec/forcefield.md``, endpoints).
"""

from __future__ import annotations

import numpy as np

from molrec.forcefield.tables import Integers, Names, StyleTable

__all__ = ["rows_by_endpoints"]

#: Comparisons made at once, so that many types times many rows stay within memory.
_AT_ONCE = 2**22
_ANY = -2


def rows_by_endpoints(table: StyleTable, labels: Names, atoms: Integers) -> Integers:
    """Return the row of a table that fits each term, or -1.

    Args:
        table: A table with endpoint columns.
        labels: Type or class of every atom, whichever the style's endpoints name.
        atoms: Int64 ``(terms, arity)``.
    """
    codes = labels.codes[atoms]
    if not table.endpoints or len(table.endpoints[0]) != atoms.shape[1]:
        return np.full(len(atoms), -1, dtype=np.int64)
    code_of = {name: code for code, name in enumerate(labels.distinct)} | {"": _ANY}
    # a name no atom bears is -3: unlike the -1 of an atom without a name, it fits nothing
    rows = np.array([[code_of.get(name, -3) for name in ends] for ends in table.endpoints], dtype=np.int64)
    order = np.argsort((rows == _ANY).sum(axis=1), kind="stable")
    tuples, which = _distinct_rows(codes, len(labels.distinct))
    found = np.full(len(tuples), -1, dtype=np.int64)
    step = max(1, _AT_ONCE // max(1, rows.size))
    for start in range(0, len(tuples), step):
        part = tuples[start : start + step]
        fits = _fits(part, rows[order])
        if table.style.category != "improper":
            fits |= _fits(part[:, ::-1], rows[order])
        first = fits.argmax(axis=1)
        some = fits[np.arange(len(part)), first]
        found[start : start + step] = np.where(some, order[first], -1)
    return found[which]


def _fits(tuples: Integers, rows: Integers) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    fits = np.ones((len(tuples), len(rows)), dtype=np.bool_)
    for place in range(rows.shape[1]):
        end = rows[None, :, place]
        fits &= (end == _ANY) | (end == tuples[:, place, None])
    return fits


def _distinct_rows(codes: Integers, count: int) -> tuple[Integers, Integers]:
    """Return distinct rows of small numbers from -1, and where each row is among them."""
    base = count + 1
    if base ** codes.shape[1] < 2**62:
        key = np.zeros(len(codes), dtype=np.int64)
        for place in range(codes.shape[1]):
            key = key * base + codes[:, place] + 1
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        return codes[first], which
    distinct, which = np.unique(codes, axis=0, return_inverse=True)
    return distinct, which.reshape(-1)
