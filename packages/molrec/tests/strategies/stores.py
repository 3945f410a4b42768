"""The same record as other stores, and folders for examples of a property test."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync
from zarr.storage import MemoryStore


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield an empty folder that is gone afterwards; in memory where the system has such a place."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="molrec-", dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


def files(root: Path) -> dict[str, bytes]:
    """Return every file below a folder by its relative path."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def memory_store(root: Path) -> MemoryStore:
    """Return a record folder as a Zarr store in memory."""
    buffer = default_buffer_prototype().buffer
    store = MemoryStore()
    for name, content in files(root).items():
        sync(store.set(name, buffer.from_bytes(content)))
    return store
