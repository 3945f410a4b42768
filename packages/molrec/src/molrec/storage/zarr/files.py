"""The few file operations a writer is built from, so that order and durability are visible in one place.

Every write, rename and fsync of a record passes through here; `os` is looked up at call time, which lets a test fail
any single one of them. ``docs/spec/commit.md`` states the order in which writers use them.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from molrec import typedjson

__all__ = [
    "TEMPORARY",
    "append_bytes",
    "open_shard",
    "remove_array",
    "replace_file",
    "sync_directory",
    "sync_file",
    "sync_path",
    "sync_tree",
    "write_at",
    "write_document",
    "write_new_file",
]

#: Ending of a file that is about to replace another.
TEMPORARY = ".tmp"


def write_at(file: int, data: bytes, offset: int) -> None:
    """Write all of `data` at a position."""
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written


def append_bytes(file: int, data: bytes) -> None:
    """Write all of `data` at the end of a file opened for appending."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def open_shard(path: Path) -> int:
    """Open a shard for positional writing, creating it and its folders when missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)


def sync_file(file: int) -> None:
    """Force a file's content to the device."""
    os.fsync(file)


def sync_directory(path: Path) -> None:
    """Force a folder's entries to the device."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_path(path: Path) -> None:
    """Force a closed file's content to the device."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_tree(root: Path) -> None:
    """Force every file and folder below a root to the device."""
    for folder, _, files in os.walk(root):
        for name in files:
            sync_path(Path(folder) / name)
        sync_directory(Path(folder))


def replace_file(path: Path, data: bytes, *, durable: bool) -> None:
    """Replace a file in one step: a reader sees the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            append_bytes(file, data)
            if durable:
                os.fsync(file)
        finally:
            os.close(file)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_new_file(path: Path, data: bytes) -> None:
    """Write a file of a section nobody reads yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        append_bytes(file, data)
    finally:
        os.close(file)


def write_document(folder: Path, document: dict[str, Any], *, durable: bool = False) -> None:
    """Replace the ``zarr.json`` of a node, creating its folder when missing."""
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / "zarr.json", typedjson.dump_json(document).encode(), durable=durable)


def remove_array(folder: Path) -> None:
    """Remove an array; its ``zarr.json`` goes first, so that no reader finds the array without its chunks."""
    (folder / "zarr.json").unlink(missing_ok=True)
    shutil.rmtree(folder)
