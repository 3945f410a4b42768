"""The files of one record, opened for reading by name, and nothing outside it.

A name is a path below the record's root. Names that climb out, hidden names (a writer's temporary files and its
journal) and links are refused: each folder on the way is opened by itself, without following a link, so that nothing
can be swapped in between a check and its use. What the bytes mean is the reader's affair.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["PackedFile", "RecordFolder", "safe_parts"]

_METADATA = "zarr.json"


def safe_parts(name: str) -> tuple[str, ...] | None:
    """Return the parts of a name below a root, or None where it could lead elsewhere or is hidden."""
    parts = tuple(name.split("/"))
    if any(not part or part.startswith(".") or "\\" in part or "\0" in part for part in parts):
        return None
    return parts


class RecordFolder:
    """A record in its live form: a folder, read while a writer may be appending to it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def open(self, name: str) -> BinaryIO | None:
        """Open a file below the root for reading; None where there is none that may be read."""
        parts = safe_parts(name)
        if parts is None:
            return None
        try:
            folder = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            for part in parts[:-1]:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                os.close(folder)
                folder = inner
            # O_NONBLOCK: a pipe somebody put there must not hold the server up
            found = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except (OSError, ValueError):
            return None
        finally:
            os.close(folder)
        return _regular(found)

    def nodes(self) -> list[str]:
        """Return the paths of the record's groups and arrays, sorted; the root is the empty path."""
        return sorted(self._nodes(self._root, ""))

    def _nodes(self, folder: Path, path: str) -> Iterator[str]:
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except FileNotFoundError:
            return  # a writer took it away in the meantime
        if any(entry.name == _METADATA and entry.is_file(follow_symlinks=False) for entry in entries):
            yield path
            if _is_array(folder / _METADATA):
                return  # below it there are chunks only
        for entry in entries:
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                yield from self._nodes(Path(entry.path), f"{path}/{entry.name}" if path else entry.name)


class PackedFile:
    """A record in its packed form: one file, handed out as it is."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self) -> BinaryIO | None:
        """Open the file for reading; None where it is gone."""
        try:
            found = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        return _regular(found)


def _is_array(metadata: Path) -> bool:
    try:
        document = json.loads(metadata.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("node_type") == "array"


def _regular(descriptor: int) -> BinaryIO | None:
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    return None
