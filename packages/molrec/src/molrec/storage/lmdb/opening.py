"""`open_collection`: one file, or shards as one (``docs/spec/lmdb.md``)."""

from __future__ import annotations

import os
from pathlib import Path

from molrec.storage.lmdb.collection_reader import Collection
from molrec.storage.lmdb.shard_names import shard_paths
from molrec.storage.lmdb.sharded_collection import ShardedCollection

__all__ = ["open_collection"]


def open_collection(path: str | os.PathLike[str]) -> Collection:
    """Open a collection for reading: one file ``*.mrec.lmdb``, or a folder or pattern of shards.

    Opening reads `meta` and index; records are read when they are asked for. Any number of readers, threads and
    processes may have one file open, before and after a fork; a collection can be pickled and opens its files anew
    where it arrives.

    A folder stands for the ``*.mrec.lmdb`` in it, a pattern such as ``data/train-*.mrec.lmdb`` for what it matches. The
    records of shards follow one another in the order of their names.

    Raises:
        FormatError: Not a collection, of a version this library does not read, or with an index that does not add up;
            no shards (``reject-no-shards``), or shards that make no collection together (see `ShardedCollection`).
    """
    place = Path(path)
    shards = shard_paths(place)
    return Collection(place) if shards is None else ShardedCollection(place, shards)
