"""Taking a trajectory up again where its last commit left it (``docs/spec/commit.md``, reopen).

Everything is bounded by the committed frame count first: indexes are cleaned, arrays and shapes an interrupted commit
left behind are cut back. What a crash tore is restored from the journal before it is replaced.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from molrec.errors import FormatError, SchemaError
from molrec.model.presentation import Presentation
from molrec.model.progression import StepProgression, TimeProgression, read_progression
from molrec.model.schema import SequenceSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.array_reader import ArrayReader, open_array
from molrec.storage.zarr.block_reader import BlockReader
from molrec.storage.zarr.box_reader import BoxSeries
from molrec.storage.zarr.codecs import CHECKSUM_BYTES, checksum
from molrec.storage.zarr.files import TEMPORARY, remove_array, write_document
from molrec.storage.zarr.frame_group import group_attributes
from molrec.storage.zarr.journal import EMPTY_ENTRY, JOURNAL_NAME
from molrec.storage.zarr.shard_appender import ShardAppender
from molrec.storage.zarr.sources import DirectorySource, read_document

__all__ = ["Restorer", "remove_leftovers", "restored_group_attributes"]

_BLOCK_KEYS = frozenset((names.UNIFORM_ROWS, names.DENSE_UPDATES, names.STRUCTURAL_SHAPE))
_BOX_KEYS = frozenset(("cell_defined", "vectors", "origin", "boundary"))


class Restorer:
    """Builds the appenders of a stored run and puts the store into its committed shape.

    Raises:
        SchemaError: An array lies in a layout that cannot be appended to (``reject-reopen-layout``).
    """

    def __init__(self, root: Path, source: DirectorySource, nstep: int) -> None:
        self._root = root
        self._source = source
        self._nstep = nstep
        self.appenders: list[ShardAppender] = []
        self._longer: list[ShardAppender] = []
        self._excess: list[Path] = []

    def array(self, path: str, rows: int) -> ShardAppender:
        """Return the appender of a stored array at its committed length."""
        reader = open_array(self._source, path)
        if reader is None:
            raise FormatError(f"{self._source.name}: {path} is not there", "reject-array-missing")
        layout = reader.layout
        if not layout.simple or not layout.chunks_per_shard or not layout.index_at_start or layout.separator != "/":
            raise SchemaError(
                f"{self._source.name}: {path} is not sharded with its index first, which appending needs; "
                "rewrite the record with `molrec convert`",
                "reject-reopen-layout",
            )
        appender = self._appender(reader, rows)
        self.appenders.append(appender)
        if layout.rows != rows:
            self._longer.append(appender)
        layout.shape = (rows, *layout.trailing)
        self._excess += self._shards_past(path, appender, rows)
        return appender

    def _appender(self, reader: ArrayReader, rows: int) -> ShardAppender:
        layout = reader.layout
        chunks = -(-rows // layout.chunk_rows)
        if not chunks:
            return ShardAppender(self._root, reader.path, layout, on_disk=True)
        shard, last = divmod(chunks - 1, layout.chunks_per_shard)
        found = reader.shard_index(shard)
        index = np.full((layout.chunks_per_shard, 2), EMPTY_ENTRY, dtype="<u8")
        index[: min(len(found), last + 1)] = found[: last + 1]
        left = rows % layout.chunk_rows
        tail = reader.chunk(chunks - 1)[:left].copy() if left else None
        raw = self._source.get_range(f"{reader.path}/{layout.chunk_path(shard)}", 0, index.nbytes + CHECKSUM_BYTES)
        in_place = np.frombuffer(bytes(raw or b"")[: index.nbytes].ljust(index.nbytes, b"\0"), dtype="<u8")
        stale = np.flatnonzero((in_place.reshape(index.shape) != index).any(axis=1))
        if not stale.size and bytes(raw or b"")[index.nbytes :] != checksum(index.tobytes()).to_bytes(4, "little"):
            stale = np.array([last])  # every slot arrived, their checksum did not
        return ShardAppender(
            self._root, reader.path, layout, rows, tail, index, on_disk=True, stale=tuple(stale.tolist())
        )

    def _shards_past(self, path: str, appender: ShardAppender, rows: int) -> list[Path]:
        layout = appender.layout
        kept = -(-rows // (layout.chunk_rows * layout.chunks_per_shard))
        folder = self._root / path / "c"
        entries = folder.iterdir() if folder.is_dir() else ()
        return [entry for entry in entries if entry.name.isdigit() and int(entry.name) >= kept]

    def cut_back_shapes(self) -> None:
        """Put the committed shapes on disk, before any journal states the indexes that go with them.

        A shape past its index would promise chunks that are gone.
        """
        for appender in self._longer:
            write_document(self._root / appender.path, appender.layout.to_document(), durable=True)

    def cut_back_indexes(self) -> None:
        """Put the cleaned indexes on disk and remove shards past them; the journal must hold this state already."""
        for appender in self.appenders:
            appender.rewrite_index()
        for entry in self._excess:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def drop(self, path: str) -> None:
        """Remove an array an interrupted commit left behind, which is not in force."""
        if (self._root / path).exists():
            remove_array(self._root / path)

    # -- parts of a run ---------------------------------------------------------------------------------------------

    def stamps(
        self, kind: type[StepProgression | TimeProgression], attributes: dict[str, Any], path: str
    ) -> tuple[StepProgression | TimeProgression | None, ShardAppender | None]:
        """Return the progression in force, or else the appender of the array."""
        if kind.key in attributes:
            self.drop(path)
            where = f"{self._source.name}: {names.TRAJECTORY}"
            return read_progression(kind, attributes[kind.key], self._nstep, where), None
        if self._source.get(f"{path}/zarr.json") is None:
            return None, None
        return None, self.array(path, self._nstep)

    def latest(self, reader: BlockReader) -> Presentation | None:
        """Return the last committed update of a block."""
        if not reader.index.count:
            return None
        start, stop = reader.index.span(reader.index.count - 1)
        return Presentation(
            stop - start,
            {name: column.read(start, stop).copy() for name, column in reader.columns.items()},
            {name: mask.read(start, stop).copy() for name, mask in reader.masks.items()},
        )

    def block(self, reader: BlockReader) -> tuple[dict[str, ShardAppender], dict[str, ShardAppender], dict[str, Any]]:
        """Return the appenders of a block's columns and masks, and the attributes a producer added."""
        rows = reader.index.rows
        columns = {name: self.array(names.column_path(reader.name, name), rows) for name in reader.columns}
        masks = {name: self.array(names.mask_path(reader.name, name), rows) for name in reader.masks}
        if reader.index.is_regular:
            for name in (names.OFFSET, names.STEP_INDEX):
                self.drop(f"{names.TRAJECTORY}/{reader.name}/{name}")
        return columns, masks, {key: value for key, value in reader.attributes.items() if key not in _BLOCK_KEYS}

    def index_array(self, reader: BlockReader, path: str) -> ShardAppender:
        """Return the appender of a block's ``offset`` or ``step_index``."""
        return self.array(path, reader.index.count + (1 if path.endswith(names.OFFSET) else 0))

    def boxes(self, series: BoxSeries) -> dict[str, Any]:
        """Return the box attributes a producer added, after dropping arrays that are not in force."""
        if not series.arrays:
            for name in ("vectors", "origin", "boundary", names.STEP_INDEX):
                self.drop(f"{names.BOX}/{name}")
        return {key: value for key, value in series.attributes.items() if key not in _BOX_KEYS}


def remove_leftovers(root: Path) -> None:
    """Remove files that were about to replace another when their writer died."""
    for name in ("zarr.json", JOURNAL_NAME):
        for leftover in (root / names.TRAJECTORY).rglob(f".{name}{TEMPORARY}"):
            leftover.unlink()


def restored_group_attributes(source: DirectorySource, schema: SequenceSchema) -> dict[str, dict[str, Any]]:
    """Return the attributes of the groups the layout itself gives none: ``meta`` and each ``_validity``."""
    found = {}
    for path in (names.SERIES_META, *(f"{names.TRAJECTORY}/{name}/{names.VALIDITY}" for name in schema.blocks)):
        document = read_document(source, path)
        if document is not None:
            found[path] = group_attributes(document, f"{source.name}: {path}")
    return found
