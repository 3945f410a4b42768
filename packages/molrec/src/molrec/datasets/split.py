"""Dividing the records of a collection into parts for training, validation and testing, and files of indices.

Records are drawn at random, or in groups that stay together, such as all structures of one molecule. The plain split of
two is that of `mace_core.data.random_train_valid_split`, number for number. Index files hold one number to a line.
"""

from __future__ import annotations

import math
import os
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec import typedjson
from molrec.datasets.group_drawing import closest_draw
from molrec.datasets.stated_words import CONFIG_TYPE, ISOLATED_ATOM, StatedWords
from molrec.errors import FormatError, SchemaError
from molrec.storage.lmdb.collection_reader import Collection
from molrec.storage.zarr.root import refuse_existing

__all__ = ["TRAIN", "Split", "isolated_atoms", "read_indices", "split_collection", "write_split"]

type Indices = npt.NDArray[np.int64]
type Progress = Callable[[int, int], None]

#: The part that takes what no other is given.
TRAIN = "train"

_FRACTIONS, _COLUMN, _EMPTY = "reject-split-fractions", "reject-split-column", "reject-split-empty"
_FILE = "reject-index-file"
_PART_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LINE = re.compile(r"[0-9]{1,18}")
#: How much the sum of fractions that are written in decimal may exceed 1.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Split:
    """Records by part, int64 ``(n,)`` each.

    Attributes:
        parts: Name to records; `train` comes first and begins with the isolated atoms.
        isolated: The isolated atoms, in order.
        unused: Records of no part, where the fractions leave some over.
        groups: How many groups there were to divide, None where records were drawn one by one.
    """

    parts: dict[str, Indices]
    isolated: Indices
    unused: Indices
    groups: int | None


def split_collection(
    collection: Collection,
    fractions: Mapping[str, float],
    *,
    seed: int,
    by: str | None = None,
    progress: Progress | None = None,
) -> Split:
    """Divide the records of a collection, the same way for the same seed.

    Isolated atoms, records of one atom that state the config type ``IsolatedAtom``, always are in `train`, beside its
    share; fractions are of the other records. The part `train` may be left out of `fractions` and takes what
    remains. Where it is given and the sum stays below 1, the rest is in no part.

    Without `by` the numbers of the records are shuffled by ``numpy.random.default_rng(seed)``. What takes the rest has
    the beginning of them, the other parts have ``max(int(fraction * n), 1)`` each from there to the end, in the order
    given.

    With `by` records that agree in it stay together; a null, a NaN or a missing key is a group of its own. The groups,
    sorted by value, are shuffled by the same generator. Then each part, that with the smallest share first, takes
    groups in shuffled order so that its size comes as close to its share as whole groups allow (`closest_draw`).
    Isolated atoms belong to no group.

    Args:
        collection: An open collection.
        fractions: Part to its share of the records, greater than 0 and up to 1.
        seed: Seed of the random numbers, not negative.
        by: A column of the index, or else a key of the records' meta.
        progress: Called with records read and records in all.

    Raises:
        SchemaError: Fractions that are none or sum to more than 1 (``reject-split-fractions``), a column that is not
            there (``reject-split-column``), or fewer records or groups than parts (``reject-split-empty``).
    """
    shares = _checked_fractions(fractions)
    isolated = isolated_atoms(collection)
    mobile = np.ones(len(collection), dtype=np.bool_)
    mobile[isolated] = False
    candidates = np.flatnonzero(mobile).astype(np.int64)
    generator = np.random.default_rng(seed)
    rest = None if TRAIN in shares and not _sums_to_one(shares) else TRAIN
    drawn = {name: share for name, share in shares.items() if name != rest}
    if by is None:
        _require_enough(candidates.size, drawn, rest, "records besides isolated atoms")
        found, groups = _draw_records(candidates, drawn, rest, generator), None
    else:
        members = _groups(_labels(collection, by, progress)[candidates], candidates)
        _require_enough(len(members), drawn, rest, f"groups by {by!r}")
        found, groups = _draw_groups(members, drawn, rest, generator), len(members)
    unused = np.sort(found.pop("", np.zeros(0, dtype=np.int64)))
    parts = {TRAIN: np.concatenate([isolated, found.pop(TRAIN)]), **found}
    for name, records in parts.items():
        if not records.size:
            raise SchemaError(f"the part {name!r} would be empty; give it a larger share", _EMPTY)
    return Split(parts, isolated, unused, groups)


def isolated_atoms(collection: Collection) -> Indices:
    """Return the records of one atom that state the config type ``IsolatedAtom``, in order, int64 ``(n,)``."""
    words = StatedWords(CONFIG_TYPE, collection.index)
    single = np.flatnonzero(collection.index["n_atoms"] == 1).tolist()
    found = [number for number in single if words.of(number, collection[number].meta) == ISOLATED_ATOM]
    return np.array(found, dtype=np.int64)


# -- shares -----------------------------------------------------------------------------------------------------------


def _checked_fractions(fractions: Mapping[str, float]) -> dict[str, float]:
    for name, share in fractions.items():
        if not isinstance(name, str) or not _PART_NAME.fullmatch(name):
            raise SchemaError(
                f"a part is named by letters, digits, '.', '_' and '-', since files are named after it; found {name!r}",
                _FRACTIONS,
            )
        if not 0.0 < share <= 1.0:
            raise SchemaError(f"the fraction of {name!r} is greater than 0 and up to 1, found {share!r}", _FRACTIONS)
    total = math.fsum(fractions.values())
    if total > 1.0 + _ROUNDING:
        raise SchemaError(f"the fractions sum to {total:.6g}; they may sum to 1 at most", _FRACTIONS)
    if not fractions.keys() - {TRAIN} or (TRAIN not in fractions and _sums_to_one(fractions)):
        stated = ", ".join(f"{name}={share:g}" for name, share in fractions.items()) or "no fraction"
        raise SchemaError(
            f"a split has {TRAIN!r}, with something left for it, and at least one other part; found {stated}",
            _FRACTIONS,
        )
    return dict(fractions)


def _sums_to_one(fractions: Mapping[str, float]) -> bool:
    return abs(math.fsum(fractions.values()) - 1.0) <= _ROUNDING


def _require_enough(count: int, drawn: Mapping[str, float], rest: str | None, what: str) -> None:
    parts = len(drawn) + (rest is not None)
    if count < parts:
        raise SchemaError(
            f"{what}: {count}, too few for {parts} parts; ask for fewer parts, or give more records", _EMPTY
        )


# -- one by one -------------------------------------------------------------------------------------------------------


def _draw_records(
    candidates: Indices, drawn: Mapping[str, float], rest: str | None, generator: np.random.Generator
) -> dict[str, Indices]:
    order = candidates.copy()
    generator.shuffle(order)
    sizes = [max(int(share * order.size), 1) for share in drawn.values()]
    remaining = order.size - sum(sizes)
    if remaining < (rest is not None):
        listed = ", ".join(f"{name} {size}" for name, size in zip(drawn, sizes, strict=True))
        raise SchemaError(
            f"{order.size} records do not do for {listed}{'' if rest is None else f' and at least one of {rest}'}; ask "
            "for fewer parts, or give more records",
            _EMPTY,
        )
    pieces = np.split(order, remaining + np.cumsum([0, *sizes[:-1]], dtype=np.int64))
    return {rest or "": pieces[0], **dict(zip(drawn, pieces[1:], strict=True))}


# -- in groups --------------------------------------------------------------------------------------------------------


def _labels(collection: Collection, by: str, progress: Progress | None) -> Indices:
    """Return the number of each record's group; groups are numbered in the order of their values, nulls last."""
    index = collection.index
    if by in index:
        values, valid = index[by], index.validity(by)
        if values.ndim != 1:
            raise SchemaError(f"the index column {by!r} has several values for a record; choose another", _COLUMN)
        present = np.ones(index.rows, dtype=np.bool_) if valid is None else valid.copy()
        if values.dtype.kind in "fc":
            present &= ~np.isnan(values)
        labels = np.zeros(index.rows, dtype=np.int64)
        _, labels[present] = np.unique(values[present], return_inverse=True)
        return _with_lone(labels, present)
    texts, keys = _meta_values(collection, by, progress)
    if not any(text is not None for text in texts) and len(texts):
        raise SchemaError(
            f"no index column and no key of the records' meta is called {by!r}; columns are "
            f"{', '.join(index.columns)}; keys are {', '.join(sorted(keys)) or '(none)'}",
            _COLUMN,
        )
    ranks = {text: rank for rank, text in enumerate(sorted({text for text in texts if text is not None}))}
    labels = np.array([0 if text is None else ranks[text] for text in texts], dtype=np.int64)
    return _with_lone(labels, np.array([text is not None for text in texts], dtype=np.bool_))


def _meta_values(collection: Collection, key: str, progress: Progress | None) -> tuple[list[str | None], set[str]]:
    """Return the value of a meta key in every record as JSON, None for null or where it is missing, and all keys."""
    texts: list[str | None] = []
    keys: set[str] = set()
    total = len(collection)
    for number, record in enumerate(collection, start=1):
        value = record.meta.get(key)
        keys.update(record.meta)
        texts.append(None if value is None else typedjson.dump_json(_sorted(value)))
        if progress is not None and (number % 1024 == 0 or number == total):
            progress(number, total)
    return texts, keys


def _sorted(value: Any) -> Any:
    """Return a JSON value with the keys of its objects sorted, so that equal values have equal texts."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(entry) for entry in value] if isinstance(value, list) else value


def _with_lone(labels: Indices, present: npt.NDArray[np.bool_]) -> Indices:
    labels[~present] = labels.max(initial=-1) + 1 + np.arange(np.count_nonzero(~present))
    return labels


def _groups(labels: Indices, candidates: Indices) -> list[Indices]:
    """Return the records of each group, in order; groups in the order of their labels."""
    if not labels.size:
        return []
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(candidates[order], ends)


def _draw_groups(
    members: list[Indices], drawn: Mapping[str, float], rest: str | None, generator: np.random.Generator
) -> dict[str, Indices]:
    remaining = generator.permutation(len(members)).tolist()
    total = sum(group.size for group in members)
    found: dict[str, list[int]] = {}
    waiting = len(drawn) + (rest is not None)
    for name in sorted(drawn, key=lambda name: drawn[name]):
        waiting -= 1
        sizes = [members[group].size for group in remaining]
        chosen = set(closest_draw(sizes, drawn[name] * total, keep=waiting))
        found[name] = [group for place, group in enumerate(remaining) if place in chosen]
        remaining = [group for place, group in enumerate(remaining) if place not in chosen]
    found[rest or ""] = remaining
    ordered = {name: found[name] for name in (rest or "", *drawn)}
    empty = np.zeros(0, dtype=np.int64)
    return {name: np.concatenate([empty, *(members[group] for group in groups)]) for name, groups in ordered.items()}


# -- index files ------------------------------------------------------------------------------------------------------


def write_split(
    split: Split,
    folder: str | os.PathLike[str],
    *,
    seed: int,
    prefix: str | None = None,
    overwrite: bool = False,
) -> dict[str, Path]:
    """Write the records of each part, one number to a line, to ``<prefix>_<part>_indices_<seed>.txt``.

    Without prefix the name begins with the part, as in ``valid_indices_42.txt``: the names and lines of
    `mace_core.data.random_train_valid_split`, which writes validation sets of ten or more. The folder is made where
    it is not there.

    Raises:
        SchemaError: A file exists and `overwrite` is not set (``reject-existing-path``); nothing is written.
        OSError: A file cannot be written.
    """
    place = Path(folder)
    beginning = f"{prefix}_" if prefix else ""
    paths = {name: place / f"{beginning}{name}_indices_{seed}.txt" for name in split.parts}
    for path in paths.values() if not overwrite else ():
        refuse_existing(path)
    place.mkdir(parents=True, exist_ok=True)
    for name, path in paths.items():
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            lines = "".join(f"{number}\n" for number in split.parts[name].tolist())
            temporary.write_text(lines, encoding="utf-8", newline="\n")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    return paths


def read_indices(path: str | os.PathLike[str], count: int | None = None) -> Indices:
    """Return the numbers of an index file, int64 ``(n,)``, in its order.

    Args:
        path: A text file with one number, counted from 0, to a line.
        count: Records there are; every number is below.

    Raises:
        FormatError: No number in it, or a line that holds no number, one beyond the records, or one that an earlier
            line holds (``reject-index-file``); the message has the line.
        OSError: The file cannot be read.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is no text file of one number to a line: {error}", _FILE) from error
    if not lines:
        raise FormatError(f"{path} holds no number; an index file has one to a line", _FILE)
    seen: dict[int, int] = {}
    for line, text in enumerate(lines, start=1):
        if not _LINE.fullmatch(text.strip()):
            raise FormatError(f"{path}, line {line}: one number, counted from 0, found {text!r}", _FILE)
        number = int(text)
        if count is not None and number >= count:
            raise FormatError(f"{path}, line {line}: record {number} of a collection of {count}", _FILE)
        earlier = seen.setdefault(number, line)
        if earlier != line:
            raise FormatError(f"{path}, line {line}: record {number} is in line {earlier} already", _FILE)
    return np.fromiter(seen, dtype=np.int64, count=len(seen))
