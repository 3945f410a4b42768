"""Several files as one collection, record after record (``docs/spec/lmdb.md``, shards)."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec.errors import FormatError
from molrec.model.collection_shards import (
    Shard,
    agreed_meta,
    check_forcefields,
    check_units,
    joined_index,
    one_declaration,
)
from molrec.storage.lmdb import names
from molrec.storage.lmdb.batch import Part
from molrec.storage.lmdb.collection_reader import Collection, CollectionRecord
from molrec.storage.lmdb.layout import HeaderReader
from molrec.storage.lmdb.stored_run import Declared

if TYPE_CHECKING:
    from molrec.model.forcefield_section import ForceFieldSection

__all__ = ["ShardedCollection"]


class ShardedCollection(Collection):
    """Shards read as one `Collection`: the records of the first, then those of the second, and so on.

    All shards have one declaration, in which a column is nullable where it is in any of them, the same units and the
    same force field. `meta` has what all of them state alike. A message of one record names its shard and its number
    there.

    Args:
        path: What was opened, a folder or a pattern.
        shards: The files, in order.

    Raises:
        FormatError: A shard is refused, or two do not agree: in units (``reject-shard-units``), declaration
            (``reject-schema-differs``), force field (``reject-shard-forcefield``), or the columns of their index
            (``reject-shard-index``).
    """

    def __init__(self, path: Path, shards: Sequence[Path]) -> None:
        if not shards:
            raise FormatError(f"{path}: a collection has at least one shard", "reject-no-shards")
        self.path = path
        self._shards = [Collection(shard) for shard in shards]
        self._closed = False
        facts = [_facts(shard) for shard in self._shards]
        check_units(facts)
        check_forcefields(facts)
        self._declared = Declared(one_declaration(facts))
        self._system_headers = HeaderReader()
        for shard in self._shards:
            # One declaration, and one memory of how headers look.
            shard._declared, shard._system_headers = self._declared, self._system_headers
        self._meta = agreed_meta(facts)
        #: The number of each shard's first record, and of all records.
        self._starts = [0, *accumulate(len(shard) for shard in self._shards)]
        self._n_records = self._starts[-1]
        self.n_frames = sum(shard.n_frames for shard in self._shards)
        self._index = joined_index(facts)
        self._first_frame = self._index["first_frame"]
        self._n_frames = self._index["n_frames"]
        self._has_trajectory = self._index["has_trajectory"]

    @property
    def shards(self) -> tuple[Path, ...]:
        """The files, in order."""
        return tuple(shard.path for shard in self._shards)

    @cached_property
    def forcefield_section(self) -> ForceFieldSection | None:
        """The force field as it lies in every shard: a document and its tables; None without one.

        Raises:
            FormatError: A table is damaged, or the section breaks a ``reject-ff-`` rule.
        """
        self._check_open()
        return self._shards[0].forcefield_section

    # -- records ----------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"{self.path}: this collection is closed; open it again with open_collection")

    def _place(self, number: int) -> tuple[Collection, int]:
        """Return the shard a record lies in, and its number there."""
        found = bisect_right(self._starts, number) - 1
        return self._shards[found], number - self._starts[found]

    def __getitem__(self, index: int) -> CollectionRecord:
        """Return one record; nothing of it is read yet. What it hands out stays good when the collection is closed."""
        number = self._number(index)
        self._check_open()
        shard, key = self._place(number)
        return CollectionRecord(shard, key, shard._source(), (self, number))

    @contextmanager
    def view(self, index: int) -> Iterator[CollectionRecord]:
        """Yield a record whose arrays are views of its shard, where their place allows it (see `Collection.view`)."""
        number = self._number(index)
        self._check_open()
        shard, key = self._place(number)
        with shard._view(key, (self, number)) as record:
            yield record

    @property
    def _places(self) -> None:
        """What is remembered of frames is that of one file."""

    def _parts(self, numbers: list[int], transactions: ExitStack) -> Iterable[Part]:
        self._check_open()
        wanted = np.array(numbers, dtype=np.int64)
        places = np.searchsorted(self._starts, wanted, side="right") - 1
        sources: list[Any] = [None] * len(self._shards)
        first_frames = np.zeros(len(self._shards), dtype=np.uint64)
        for place in np.unique(places).tolist():
            shard = self._shards[place]
            transaction = transactions.enter_context(shard._require_open().begin())
            sources[place] = (transaction.get, str(shard.path))
            first_frames[place] = self._first_frame[self._starts[place]]
        keys = (wanted - np.array(self._starts)[places]).tolist()
        first = (self._first_frame[wanted] - first_frames[places]).tolist()
        count = self._n_frames[wanted].tolist()
        return (
            (*sources[place], key, start, frames)
            for place, key, start, frames in zip(places.tolist(), keys, first, count, strict=True)
        )

    # -- life -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the files. Records and arrays handed out stay good; new ones cannot be asked for."""
        self._closed = True
        for shard in self._shards:
            shard.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # By file, so that a shard that appears meanwhile changes nothing.
        shards = [Path(os.path.abspath(shard)) for shard in self.shards]
        return (ShardedCollection, (Path(os.path.abspath(self.path)), shards))

    def __repr__(self) -> str:
        return (
            f"<ShardedCollection {self.path}: {len(self._shards)} shards, {self._n_records} records, "
            f"{self.n_frames} frames>"
        )


def _facts(shard: Collection) -> Shard:
    forcefield = shard._source().get(names.FORCEFIELD)
    return Shard(str(shard.path), shard._meta, shard._declared.schema, shard.index, forcefield)
