"""Looking at a store on disk with other eyes: plain JSON and struct, zarr-python, molrs; and scratch copies of it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from molrec.storage.zarr.array_reader import open_array
from molrec.storage.zarr.sources import DirectorySource

from .runs import Run

EMPTY = 2**64 - 1


@contextlib.contextmanager
def scratch_folder(fallback: Path) -> Iterator[Path]:
    """Give a folder in memory where there is one, since thousands of fsync calls take their time on a device."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**29:
        folder = Path(tempfile.mkdtemp(prefix="molrec-", dir=memory))
    else:
        folder = fallback / "scratch"
        folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclasses.dataclass(frozen=True)
class ShardFile:
    """Where things lie in one stored object of an array: its index, and its chunks in force."""

    array: str
    file: str
    index: range
    chunks: list[range]


def array_documents(root: Path) -> dict[str, dict[str, Any]]:
    """Return the ``zarr.json`` of every array, by its path below the root."""
    found = {}
    for metadata in sorted(root.rglob("zarr.json")):
        document = json.loads(metadata.read_bytes())
        if document["node_type"] == "array":
            found[metadata.parent.relative_to(root).as_posix()] = document
    return found


def shard_files(root: Path) -> list[ShardFile]:
    """Return every stored object of every array of a closed record."""
    found = []
    for array, document in array_documents(root).items():
        sharding = document["codecs"][0] if document["codecs"][0]["name"] == "sharding_indexed" else None
        for path in sorted((root / array).rglob("*")):
            if path.is_dir() or path.name == "zarr.json":
                continue
            name, size = path.relative_to(root).as_posix(), path.stat().st_size
            if sharding is None:
                found.append(ShardFile(array, name, range(0), [range(size)]))
                continue
            inner = sharding["configuration"]["chunk_shape"]
            outer = document["chunk_grid"]["configuration"]["chunk_shape"]
            length = 16 * math.prod(big // small for big, small in zip(outer, inner, strict=True)) + 4
            start = 0 if sharding["configuration"]["index_location"] == "start" else size - length
            raw = path.read_bytes()[start : start + length - 4]
            spans = struct.iter_unpack("<QQ", raw)
            chunks = [range(offset, offset + count) for offset, count in spans if offset != EMPTY]
            found.append(ShardFile(array, name, range(start, start + length), chunks))
    return found


def index_length(document: dict[str, Any]) -> int:
    """Return the bytes the index of each shard of an array takes."""
    inner: int = document["codecs"][0]["configuration"]["chunk_shape"][0]
    outer: int = document["chunk_grid"]["configuration"]["chunk_shape"][0]
    return 16 * (outer // inner) + 4


def check_with_zarr(path: Path, *, whole: bool = True) -> None:
    """Assert that zarr-python opens every array and reads the same bits as ours, of all rows or of the last one."""
    import zarr

    source = DirectorySource(path)
    store = zarr.storage.LocalStore(path, read_only=True)
    for array in array_documents(path):
        reader = open_array(source, array)
        theirs = zarr.open_array(store, path=array, mode="r")
        assert reader is not None
        assert reader.layout.shape == theirs.shape, array
        start = 0 if whole or not reader.layout.rows else reader.layout.rows - 1
        ours = reader.read(start)
        found: Any = theirs[start:] if theirs.shape else theirs[()]
        if ours.dtype.kind == "T":
            assert ours.tolist() == np.asarray(found, dtype=ours.dtype).tolist(), array
        else:
            assert ours.tobytes() == found.tobytes(), array
    source.close()


def check_with_molrs(path: Path, run: Run, count: int) -> None:
    """Assert that the independent implementation, where it is installed, finds the first frames of a run."""
    try:
        from molrs.io.mrec import MrecReader
    except ImportError:
        return
    reader = MrecReader(path)
    assert len(reader) == count
    assert list(reader.step) == run.steps[:count]
    for ordinal in range(count):
        frame, expected = reader[ordinal], run.expected[ordinal]
        assert set(frame.keys()) == set(expected["blocks"])
        for name, block in expected["blocks"].items():
            assert frame[name].n_rows == block["rows"]
            for column, (dtype, shape, raw, mask) in block["columns"].items():
                values, flags = frame[name][column], frame[name].validity(column)
                assert values.shape == shape
                assert (values.tolist() if dtype == "string" else values.tobytes()) == raw
                assert (None if flags is None or all(flags) else list(flags)) == mask
        assert (None if frame.box is None else np.asarray(frame.box.matrix).tobytes()) == expected["box"][0]


def leftovers(folder: Path) -> list[str]:
    """Return the files of a writer that a closed record does not have: temporary ones and journals."""
    found = [path for path in folder.rglob("*") if path.name.endswith(".tmp") or path.name == ".journal"]
    return [path.relative_to(folder).as_posix() for path in found]
