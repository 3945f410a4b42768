"""Names of shards, and which files a folder or pattern stands for (``docs/spec/lmdb.md``, shards)."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path

from molrec.errors import FormatError

__all__ = ["SUFFIX", "shard_name", "shard_paths"]

SUFFIX = ".mrec.lmdb"
_DIGITS = 5
#: What counts, the number of a shard, how many there are.
_NUMBERED = re.compile(rf"(?P<stem>.*)-(?P<number>\d+)-of-(?P<count>\d+){re.escape(SUFFIX)}", re.DOTALL)
_NONE = "reject-no-shards"


def shard_name(number: int, count: int) -> str:
    """Return the file name of one shard of several; names sort as numbers do."""
    return f"shard-{number:0{_DIGITS}d}-of-{count:0{_DIGITS}d}{SUFFIX}"


def shard_paths(path: Path) -> list[Path] | None:
    """Return the shards a path stands for, by name; None where it is the path of one file.

    A folder stands for the ``*.mrec.lmdb`` in it, a path with one of ``*?[`` for what it matches as a pattern, unless a
    file bears that very name. Hidden names are left out.

    Raises:
        FormatError: No shard (``reject-no-shards``), or a folder lacks one of the shards its names count
            (``reject-missing-shard``).
    """
    if path.is_dir():
        found = sorted(name for name in os.listdir(path) if name.endswith(SUFFIX) and not name.startswith("."))
        if not found:
            raise FormatError(f"{path} is a folder without a shard *{SUFFIX}", _NONE)
        _check_whole(path, found)
        return [path / name for name in found]
    if not glob.has_magic(str(path)) or os.path.lexists(path):
        return None
    matched = sorted(glob.glob(str(path), recursive=True))
    shards = [Path(name) for name in matched if not os.path.basename(name).startswith(".")]
    if not shards:
        raise FormatError(f"{path}: no file matches this pattern", _NONE)
    return shards


def _check_whole(folder: Path, found: Iterable[str]) -> None:
    """Refuse a folder that lacks a shard the names of the others speak of, as a copy cut short does."""
    numbers: dict[tuple[str, int], set[int]] = {}
    for name in found:
        numbered = _NUMBERED.fullmatch(name)
        if numbered is not None:
            numbers.setdefault((numbered["stem"], int(numbered["count"])), set()).add(int(numbered["number"]))
    for (stem, count), present in numbers.items():
        missing = next((number for number in range(count) if number not in present), None)
        if missing is not None:
            raise FormatError(
                f"{folder}: shard {missing} of the {count} called {stem} is not there; copy it to its place, or open a "
                f"pattern ({folder / f'*{SUFFIX}'}) to do without",
                "reject-missing-shard",
            )
