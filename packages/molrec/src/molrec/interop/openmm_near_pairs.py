"""What near pairs cost, pair by pair, ready to become exceptions or bonds of an OpenMM system.

The rules are those of `molrec.forcefield.near_pairs` and of pricing: a ``pair14`` style replaces the ``pair`` style of
its name, rows of ``pairs`` come before tables, and what is left is weighted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.forms import Floats
from molrec.forcefield.near_pairs import NearPairs
from molrec.forcefield.relations import RelationRows
from molrec.forcefield.tables import Flags, Integers
from molrec.interop.openmm_pair_styles import PairStyle

__all__ = ["NearTerms", "near_terms"]


class NearTerms(NamedTuple):
    """The near pairs one style prices.

    Attributes:
        style: The style.
        places: Int64 ``(n,)``, places among the near pairs.
        weights: Float64 ``(n,)``, none of them zero.
        by_pair: Parameter to float64 ``(n,)``, in OpenMM's units.
        shared: Parameters all pairs share.
    """

    style: PairStyle
    places: Integers
    weights: Floats
    by_pair: dict[str, Floats]
    shared: dict[str, float]


def near_terms(styles: list[PairStyle], near: NearPairs, listed: RelationRows | None) -> Iterator[NearTerms]:
    """Yield what each style makes of the near pairs.

    Args:
        styles: The ``pair`` and ``pair14`` styles of a system.
        near: Its near pairs.
        listed: Rows of its ``pairs`` block, or None.

    Raises:
        SchemaError: A weighted pair that nothing prices (``reject-ff-unresolved``), or one that lacks a parameter
            (``reject-ff-missing-parameter``).
    """
    replaced: dict[str, Flags] = {}
    overridden = np.zeros(len(near), dtype=np.bool_)
    for one in styles:
        if one.table.table.style.category == "pair14":
            of, held = _parameters(one, near, listed, near.is_14)
            held &= near.is_14
            replaced[one.name] = held
            overridden |= held
            yield _terms(one, of, held, np.ones(len(near)))
    priced = overridden | (near.weights["lj"] == 0.0)
    by_rows = [one for one in styles if one.table.table.style.category == "pair" and one.by_rows]
    for one in styles:
        if one.table.table.style.category == "pair":
            of, held = _parameters(one, near, listed, ~overridden)
            if one.by_rows:
                priced |= held
            weight = near.weights[one.form.special]
            chosen = held & (weight != 0.0) & ~replaced.get(one.name, np.zeros(len(near), dtype=np.bool_))
            yield _terms(one, of, chosen, weight)
    if by_rows and not priced.all():
        first, second = near.atoms[int(np.argmin(priced))].tolist()
        raise SchemaError(
            f"no row and no mixing rule of {', '.join(one.label for one in by_rows)} prices the near pair of the atoms "
            f"{first} and {second}, whose weight is not 0; add a row, or state `mixing`",
            "reject-ff-unresolved",
        )


def _terms(one: PairStyle, of: dict[str, Floats], chosen: Flags, weights: Floats) -> NearTerms:
    by_pair, shared = one.parameters({name: values[chosen] for name, values in of.items()}, int(chosen.sum()))
    return NearTerms(one, np.flatnonzero(chosen), weights[chosen], by_pair, shared)


def _parameters(
    one: PairStyle, near: NearPairs, listed: RelationRows | None, may: Flags
) -> tuple[dict[str, Floats], Flags]:
    """Return a style's parameters of the near pairs, and which of them it prices; `may`: whose own rows count."""
    of, held = one.table.parameters(one.labels[near.atoms[:, 0]], one.labels[near.atoms[:, 1]])
    if listed is None:
        return of, held
    table = one.table.table
    row = np.where(may, near.row, -1)
    if listed.styles is not None:
        asked = np.array([*(name in ("", table.style.name) for name in listed.styles.distinct), True])
        row[~asked[listed.styles.codes[row]] & (row >= 0)] = -1
    if listed.types is not None:
        of_name = np.array([*(table.rows.get(name, -1) for name in listed.types.distinct), -1], dtype=np.int64)
        named = np.where(row >= 0, of_name[listed.types.codes[row]], -1)
        of |= {
            name: np.where(named >= 0, np.append(values, np.nan)[named], of[name])
            for name, values in table.numbers.items()
        }
        held = held | (named >= 0)
    own = {name: np.append(values, np.nan)[row] for name, values in listed.columns.items() if table.has_parameter(name)}
    for name, values in own.items():
        of[name] = np.where(np.isnan(values), of.get(name, np.nan), values)
    if own:
        held = held | ((row >= 0) & table.complete(of, len(row)))
    return of, held
