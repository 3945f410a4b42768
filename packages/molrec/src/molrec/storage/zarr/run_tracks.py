"""Everything a run being written consists of: its blocks, series and cells, as arrays and attributes to commit.

The tracks take checked values frame by frame; a commit asks them for the arrays in the order it lands them, and for the
attributes of the groups. They are made for a new run, or restored from a stored one at its last committed frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from molrec import typedjson
from molrec.dtypes import row_bytes
from molrec.model.box import Box
from molrec.model.presentation import Presentation
from molrec.model.progression import StepProgression, TimeProgression
from molrec.model.schema import BlockSchema, SequenceSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.block_reader import BlockReader
from molrec.storage.zarr.block_track import BlockTrack
from molrec.storage.zarr.box_reader import BoxSeries
from molrec.storage.zarr.box_track import BoxTrack
from molrec.storage.zarr.extents import Storage, block_chunk_rows
from molrec.storage.zarr.layout import ArrayLayout
from molrec.storage.zarr.reopen import Restorer
from molrec.storage.zarr.series_tracks import MetaTrack, ProgressionTrack
from molrec.storage.zarr.shard_appender import ShardAppender
from molrec.storage.zarr.trajectory_reader import TrajectoryReader

__all__ = ["RunTracks"]

_FLUSH_BYTES = 4 * 2**20
_MOST_FLUSH_FRAMES = 4096


class RunTracks:
    """The arrays and attributes of one run (``docs/spec/trajectory.md``).

    Args:
        root: Folder of the record.
        schema: The pinned declaration.
        storage: Extents and codecs of arrays to be made.
    """

    def __init__(self, root: Path, schema: SequenceSchema, storage: Storage) -> None:
        self._root = root
        self._schema = schema
        self._storage = storage
        self._blocks: dict[str, BlockTrack] = {}
        self._box = BoxTrack(self._dense)
        self._steps = ProgressionTrack(StepProgression, self._dense(names.STEP, "i64", ()))
        self._times = ProgressionTrack(TimeProgression, self._dense(names.TIME, "f64", ()))
        self._meta = {key: self._make_meta(key, declared.tag) for key, declared in schema.meta.items()}
        #: Attributes a producer gave the groups that otherwise have none, by path.
        self._kept_attributes: dict[str, dict[str, Any]] = {}

    @classmethod
    def restore(
        cls,
        root: Path,
        reader: TrajectoryReader,
        storage: Storage,
        restorer: Restorer,
        kept_attributes: dict[str, dict[str, Any]],
    ) -> Self:
        """Take up the tracks of a stored run of at least one frame; `restorer` collects their appenders."""
        tracks = cls(root, reader.schema, storage)
        tracks._kept_attributes = kept_attributes
        tracks._restore_series(reader, restorer)
        for name in tracks._schema.blocks:
            tracks._blocks[name] = tracks._restored_block(reader.block_reader(name), restorer)
        tracks._box = tracks._restored_box(reader.box_series, restorer)
        return tracks

    # -- a stored run -----------------------------------------------------------------------------------------------

    def _restore_series(self, reader: TrajectoryReader, restorer: Restorer) -> None:
        frames = len(reader)
        steps, step_array = restorer.stamps(StepProgression, reader.attributes, names.STEP)
        times, time_array = restorer.stamps(TimeProgression, reader.attributes, names.TIME)
        self._steps = ProgressionTrack(StepProgression, step_array or self._dense(names.STEP, "i64", ()), steps, frames)
        self._times = ProgressionTrack(
            TimeProgression,
            time_array or self._dense(names.TIME, "f64", ()),
            times,
            frames if reader.times is not None else 0,
        )
        self._meta = {
            key: MetaTrack(declared.tag, restorer.array(f"{names.SERIES_META}/{key}", frames))
            for key, declared in self._schema.meta.items()
        }

    def _restored_block(self, reader: BlockReader, restorer: Restorer) -> BlockTrack:
        columns, masks, extra = restorer.block(reader)
        indexed = not reader.index.is_regular

        def make_dense(path: str) -> ShardAppender:
            return restorer.index_array(reader, path) if indexed else self._dense_u64(path)

        track = BlockTrack(
            reader.name, reader.declared, columns, masks, make_dense, reader.index, restorer.latest(reader), extra
        )
        track.largest = reader.index.largest
        return track

    def _restored_box(self, cells: BoxSeries, restorer: Restorer) -> BoxTrack:
        extra = restorer.boxes(cells)
        stored = {f"{names.BOX}/{part}": restorer.array(f"{names.BOX}/{part}", cells.count) for part in cells.arrays}
        return BoxTrack(
            lambda path, dtype, trailing: stored.get(path) or self._dense(path, dtype, trailing),
            cells.fixed,
            cells.latest,
            cells.count,
            cells.arrays,
            extra,
        )

    # -- making arrays ----------------------------------------------------------------------------------------------

    def _dense(self, path: str, dtype: str, trailing: tuple[int, ...]) -> ShardAppender:
        return ShardAppender(self._root, path, self._storage.dense(dtype, trailing, known_rows=None))

    def _dense_u64(self, path: str) -> ShardAppender:
        return self._dense(path, "u64", ())

    def _make_meta(self, key: str, tag: str) -> MetaTrack:
        appender = self._dense(f"{names.SERIES_META}/{key}", *typedjson.series_column(tag))
        appender.layout.attributes[names.META_DTYPE] = tag
        return MetaTrack(tag, appender)

    def _make_block(self, name: str) -> BlockTrack:
        """Make the arrays of a block; extents are provisional until the first commit shows how large frames are."""
        declared = self._schema.blocks[name]
        columns, masks = {}, {}
        for column, pinned in declared.columns.items():
            columns[column] = ShardAppender(
                self._root, names.column_path(name, column), self._column_layout(declared, column, declared.rows or 0)
            )
            if pinned.nullable:
                masks[column] = ShardAppender(
                    self._root, names.mask_path(name, column), self._mask_layout(declared, declared.rows or 0)
                )
        return BlockTrack(name, declared, columns, masks, self._dense_u64)

    def _column_layout(self, declared: BlockSchema, column: str, rows: int, known: int | None = None) -> ArrayLayout:
        pinned = declared.columns[column]
        return self._storage.column(
            pinned.dtype,
            pinned.trailing,
            block_chunk_rows(declared, rows, self._storage.profile),
            precision=pinned.precision is not None,
            known_rows=known,
            aligned=declared.aligned_with is not None,
        )

    def _mask_layout(self, declared: BlockSchema, rows: int, known: int | None = None) -> ArrayLayout:
        chunk_rows = block_chunk_rows(declared, rows, self._storage.profile)
        aligned = declared.aligned_with is not None
        return self._storage.column("bool", (), chunk_rows, precision=False, known_rows=known, aligned=aligned)

    def choose_extents(self, appenders: Sequence[ShardAppender], *, fit: bool) -> None:
        """Settle the extents of arrays about to be created, which are frozen from then on.

        Blocks go by their largest frame so far. With `fit` the run ends here, so every length is known and shards are
        made to measure.
        """
        for block in self._blocks.values():
            rows = max(block.largest, block.declared.rows or 0)
            for column, appender in block.columns.items():
                known = appender.total_rows if fit else None
                appender.set_layout(self._column_layout(block.declared, column, rows, known))
            for appender in block.masks.values():
                appender.set_layout(self._mask_layout(block.declared, rows, appender.total_rows if fit else None))
        if fit:
            rowed = {id(appender) for block in self._blocks.values() for appender in block.row_appenders()}
            for appender in appenders:
                if id(appender) not in rowed:
                    layout = appender.layout
                    fitted = self._storage.dense(layout.dtype, layout.trailing, known_rows=appender.total_rows)
                    fitted.attributes = layout.attributes
                    appender.set_layout(fitted)

    # -- taking frames ----------------------------------------------------------------------------------------------

    @property
    def latest(self) -> dict[str, Presentation]:
        """The last update of every block that has one."""
        return {name: track.latest for name, track in self._blocks.items() if track.latest is not None}

    def check_box(self, box: Box | None) -> None:
        """Refuse a cell the run cannot hold.

        Raises:
            SchemaError: ``reject-mixed-cells``.
        """
        self._box.check(box)

    def add(
        self,
        ordinal: int,
        step: int,
        time: float | None,
        meta: Mapping[str, Any],
        box: Box | None,
        presented: Mapping[str, Presentation],
    ) -> None:
        """Take one frame, every part of which is checked."""
        self._steps.add(step)
        if time is not None:
            self._times.add(time)
        for key, value in meta.items():
            self._meta[key].add(value)
        self._box.add(ordinal, box)
        for name, presentation in presented.items():
            if name not in self._blocks:
                self._blocks[name] = self._make_block(name)
            self._blocks[name].add(ordinal, presentation)

    def automatic_interval(self) -> int:
        """Return the frames of about 4 MiB, in whole chunks of the largest block."""
        total, largest, frames_per_chunk = 0, 0, 1
        for track in self._blocks.values():
            declared = track.declared
            rows = max(track.largest, declared.rows or 0)
            size = rows * sum(row_bytes(column.dtype, column.trailing) for column in declared.columns.values())
            total += size
            if rows and size > largest:
                largest = size
                frames_per_chunk = max(1, block_chunk_rows(declared, rows, self._storage.profile) // rows)
        frames = -(-_FLUSH_BYTES // max(1, total))
        return max(1, min(_MOST_FLUSH_FRAMES, frames_per_chunk * -(-frames // frames_per_chunk)))

    # -- what a commit lands ----------------------------------------------------------------------------------------

    def make_every_block(self) -> None:
        """Make the arrays of the declared blocks no frame has shown yet."""
        for name in self._schema.blocks.keys() - self._blocks.keys():
            self._blocks[name] = self._make_block(name)

    def index_appenders(self) -> list[ShardAppender]:
        """Return the arrays that must be committed first: index arrays of blocks, and cells."""
        indexes = [appender for block in self._blocks.values() for appender in block.index_appenders()]
        return indexes + self._box.appenders()

    def row_appenders(self) -> list[ShardAppender]:
        """Return all other arrays in use, with what the series collected handed over to them."""
        rows = [appender for block in self._blocks.values() for appender in block.row_appenders()]
        stamps = [self._steps.hand_over(), self._times.hand_over()]
        rows += [appender for appender in stamps if appender is not None]
        return rows + [track.hand_over() for track in self._meta.values()]

    def progressions(self) -> dict[str, Any]:
        """Return the progression attributes of the trajectory group."""
        return {**self._steps.attributes(), **self._times.attributes()}

    def group_attributes(self) -> dict[str, dict[str, Any]]:
        """Return the attributes of every group below the trajectory, by path."""
        blocks = self._blocks.values()
        groups = {f"{names.TRAJECTORY}/{block.name}": block.attributes() for block in blocks}
        plain = [f"{names.TRAJECTORY}/{block.name}/{names.VALIDITY}" for block in blocks if block.masks]
        plain += [names.SERIES_META] if self._meta else []
        groups |= {path: self._kept_attributes.get(path, {}) for path in plain}
        box = self._box.attributes()
        return groups if box is None else {**groups, names.BOX: box}

    def close(self) -> None:
        """Close the files of the blocks."""
        for track in self._blocks.values():
            for appender in (*track.index_appenders(), *track.row_appenders()):
                appender.close()
