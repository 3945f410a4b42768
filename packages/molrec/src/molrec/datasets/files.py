"""Which locations are collections, and how many bytes they take (``docs/spec/lmdb.md``, the file)."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from molrec.errors import FormatError
from molrec.storage.lmdb import names
from molrec.storage.lmdb.shard_names import SUFFIX, shard_paths

__all__ = ["collection_files", "is_collection", "stored_bytes"]

#: LMDB's magic number, little- and big-endian, and where a file has it: behind the header of its first page.
_MAGIC = (b"\xde\xc0\xef\xbe", b"\xbe\xef\xc0\xde")
_MAGIC_AT = 16


def is_collection(location: Any) -> bool:
    """Tell whether a location is to be read as a collection, and not as a record; a path may lead to nothing yet.

    A file is one by its content, then by its name ``*.mrec.lmdb``; a folder by the ``*.mrec.lmdb`` in it, unless it is
    the root of a record; a pattern of shards by its end.
    """
    if not isinstance(location, (str, os.PathLike)):
        return False
    path = Path(location)
    if path.is_dir():
        inside = (entry.name for entry in path.iterdir() if not entry.name.startswith("."))
        return not (path / "zarr.json").exists() and any(name.endswith(SUFFIX) for name in inside)
    if path.name.endswith(SUFFIX):
        return True
    if not path.is_file():
        return glob.has_magic(path.name) and path.name.endswith(".lmdb")
    with path.open("rb") as file:
        is_lmdb = file.read(_MAGIC_AT + 4)[_MAGIC_AT:] in _MAGIC
    return is_lmdb and _states_layout(path)


def _states_layout(path: Path) -> bool:
    """Tell whether the `meta` of an LMDB file is that of a collection: other programs use such files too."""
    import lmdb

    from molrec.storage.lmdb.environment import open_environment
    from molrec.storage.lmdb.page_check import check_pages

    try:
        check_pages(path)  # a file that nobody calls a collection is not followed blindly
        with open_environment(path).begin() as transaction:
            return names.LAYOUT_NAME.encode() in bytes(transaction.get(names.META) or b"")
    except (FormatError, lmdb.Error):
        return False


def collection_files(location: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a collection: the one, or its shards in order.

    Raises:
        FormatError: A folder or pattern without shards (``reject-no-shards``).
    """
    path = Path(location)
    shards = shard_paths(path)
    return [path] if shards is None else shards


def stored_bytes(location: str | os.PathLike[str]) -> int:
    """Return the bytes of all files of a collection."""
    return sum(path.stat().st_size for path in collection_files(location))
