"""What collections must have in common to be the shards of one (``docs/spec/collection.md``, shards).

Knows nothing of files: a shard is what it says of itself, and the name messages give it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import Array, dtype_name
from molrec.errors import FormatError, SchemaError
from molrec.model.block import Block
from molrec.model.collection import INDEX_COLUMNS, UNITS, units_with_defaults
from molrec.model.collection_declaration import united_declaration
from molrec.model.schema import SequenceSchema
from molrec.model.versions import forcefield_version

__all__ = ["Shard", "agreed_meta", "check_forcefields", "check_units", "joined_index", "one_declaration"]

_INDEX = "reject-shard-index"


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard, as it stands.

    Attributes:
        where: Its name.
        meta: Its meta document, with its units.
        schema: Its declaration.
        index: Its index.
        forcefield: Its force field as it is stored, None without one.
    """

    where: str
    meta: Mapping[str, Any]
    schema: SequenceSchema
    index: Block
    forcefield: bytes | None


def check_units(shards: Sequence[Shard]) -> None:
    """Check that all state the same units, defaults included.

    Raises:
        FormatError: Two differ (``reject-shard-units``).
    """
    first = shards[0]
    there = units_with_defaults(first.meta[UNITS])
    for shard in shards[1:]:
        here = units_with_defaults(shard.meta[UNITS])
        for quantity in {**there, **here}:
            if here.get(quantity) != there.get(quantity):
                raise FormatError(
                    f"{shard.where}: the unit of {quantity} is {here.get(quantity)!r}, in {first.where} it is "
                    f"{there.get(quantity)!r}; shards of one collection state the same units",
                    "reject-shard-units",
                )


def check_forcefields(shards: Sequence[Shard]) -> None:
    """Check that all hold the same force field, byte for byte and with the same meaning, or none.

    Raises:
        FormatError: Two differ (``reject-shard-forcefield``).
    """
    first = shards[0]
    for shard in shards[1:]:
        difference = _forcefield_difference(shard, first)
        if difference is not None:
            raise FormatError(
                f"{difference}; a collection has one force field, the same in every shard", "reject-shard-forcefield"
            )


def _forcefield_difference(shard: Shard, first: Shard) -> str | None:
    mine, theirs = shard.forcefield, first.forcefield
    if mine is None or theirs is None:
        if mine is theirs:
            return None
        having, other = (first, shard) if mine is None else (shard, first)
        return f"{having.where} has a force field, {other.where} has none"
    if mine != theirs:
        length = min(len(mine), len(theirs))
        differing = np.flatnonzero(np.frombuffer(mine, np.uint8, length) != np.frombuffer(theirs, np.uint8, length))
        place = int(differing[0]) if differing.size else length
        return f"the force fields of {shard.where} and {first.where} differ from byte {place} on"
    meanings = [forcefield_version(one.meta) for one in (shard, first)]
    if meanings[0] != meanings[1]:
        return (
            f"{shard.where} states version {meanings[0]} of the meaning of its force field, {first.where} version "
            f"{meanings[1]}"
        )
    return None


def one_declaration(shards: Sequence[Shard]) -> SequenceSchema:
    """Return what all declare together, in the order of the first: a column is nullable where it is so in any.

    Raises:
        FormatError: Two declare something else (``reject-schema-differs``).
    """
    first = shards[0]
    united = first.schema
    for shard in shards[1:]:
        try:
            united = united_declaration(united, shard.schema)
        except SchemaError as error:
            raise FormatError(
                f"{shard.where} declares something else than {first.where}, which comes before it: {error.message}",
                error.rule,
            ) from error
    return united


def agreed_meta(shards: Sequence[Shard]) -> dict[str, Any]:
    """Return what the meta documents of all state alike, and the units of the first."""
    agreed: dict[str, Any] = {}
    for key, value in shards[0].meta.items():
        text = typedjson.dump_json(value)
        if key == UNITS or all(key in shard.meta and typedjson.dump_json(shard.meta[key]) == text for shard in shards):
            agreed[key] = value
    return agreed


def joined_index(shards: Sequence[Shard]) -> Block:
    """Return the index of all records, `first_frame` counted through; its arrays are new and read-only.

    A column of which a shard has only nulls is there of the dtype it has in the others.

    Raises:
        FormatError: Two have other columns, or one of another dtype (``reject-shard-index``).
    """
    _check_index_names(shards)
    joined = Block(rows=sum(shard.index.rows for shard in shards))
    frames = np.array([shard.index["n_frames"].sum() for shard in shards], dtype=np.uint64)
    starts = np.cumsum(frames) - frames
    for name in shards[0].index.columns:
        pieces = [shard.index[name] for shard in shards]
        if name == "first_frame":
            pieces = [piece + start for piece, start in zip(pieces, starts, strict=True)]
        elif name not in INDEX_COLUMNS:
            pieces = _of_one_dtype(name, shards)
        values = np.concatenate(pieces)
        values.flags.writeable = False
        joined[name] = values
        masks = [_mask(shard.index, name) for shard in shards]
        valid = np.concatenate(masks)
        valid.flags.writeable = False
        joined.set_validity(name, valid)
    return joined


def _check_index_names(shards: Sequence[Shard]) -> None:
    first = shards[0]
    for shard in shards[1:]:
        differing = first.index.keys() ^ shard.index.keys()
        if differing:
            name = min(differing)
            having, other = (first, shard) if name in first.index else (shard, first)
            raise FormatError(
                f"{having.where} has an index column {name!r}, {other.where} has none; write both with the same "
                "columns",
                _INDEX,
            )


def _of_one_dtype(name: str, shards: Sequence[Shard]) -> list[Array]:
    """Return the pieces of a column at one dtype; where no row has a value, the dtype stored says nothing."""
    telling = [shard for shard in shards if _mask(shard.index, name).any()]
    model = (telling or shards)[0]
    dtype, trailing = _kind(model.index[name])
    for shard in telling:
        found = _kind(shard.index[name])
        if found != (dtype, trailing):
            raise FormatError(
                f"{shard.where}: the index column {name!r} is {dtype_name(found[0])} with row shape {list(found[1])}, "
                f"in {model.where} it is {dtype_name(dtype)} with {list(trailing)}; write both alike",
                _INDEX,
            )
    columns = [shard.index[name] for shard in shards]
    return [
        values if _kind(values) == (dtype, trailing) else np.zeros((len(values), *trailing), dtype)
        for values in columns
    ]


def _kind(values: Array) -> tuple[np.dtype[Any], tuple[int, ...]]:
    return values.dtype, values.shape[1:]


def _mask(index: Block, name: str) -> Array:
    mask = index.validity(name)
    return np.ones(index.rows, dtype=np.bool_) if mask is None else mask
