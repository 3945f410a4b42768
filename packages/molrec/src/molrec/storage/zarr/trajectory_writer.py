"""`TrajectoryWriter`: stream frames into a record, committed flush by flush (``docs/spec/commit.md``).

A frame is checked whole before anything of it is taken, collected in memory, and landed by `flush`: chunks, journal,
indexes, array metadata, and last the frame count. A process killed at any moment leaves the last committed count.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from molrec.errors import MolrecError, SchemaError
from molrec.model.alignment import check_system_names
from molrec.model.beside_system import check_other_columns
from molrec.model.frame import Frame
from molrec.model.presentation import FrameChecker, next_step, next_time
from molrec.model.progression import StepProgression, TimeProgression
from molrec.model.resolved import ResolvedRules
from molrec.model.schema import SequenceSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.array_reader import open_array
from molrec.storage.zarr.commit import Committer
from molrec.storage.zarr.extents import Storage
from molrec.storage.zarr.files import remove_array
from molrec.storage.zarr.frame_group import read_section_rows
from molrec.storage.zarr.lock import WriterLock
from molrec.storage.zarr.recovery import recover
from molrec.storage.zarr.reopen import Restorer, remove_leftovers, restored_group_attributes
from molrec.storage.zarr.root import create_root, read_meta, require_root
from molrec.storage.zarr.run_tracks import RunTracks
from molrec.storage.zarr.shard_appender import ShardAppender
from molrec.storage.zarr.sources import DirectorySource
from molrec.storage.zarr.trajectory_reader import TrajectoryReader

__all__ = ["TrajectoryWriter"]


class TrajectoryWriter:
    """Write a new record ``<stem>.mrec`` holding a trajectory, frame by frame.

    Use it as a context manager: leaving the block closes the record durably, also after an exception, with every
    frame appended so far.

    Args:
        path: Folder to create; it must not exist.
        schema: What every frame may hold; pinned for the life of the trajectory (a copy is taken).
        meta: Record meta document; ``molrec_version`` is stamped.
        system: Static part of the system, stored as the ``system`` section.
        flush_every: Frames per automatic flush; about 4 MiB of frames when None.
        compression: Compressor of float columns, None, ``gzip[:level]`` or ``zstd[:level]``; a column with a
            precision keeps its shuffle.
        profile: ``live`` for the reference extents, ``archive`` for deep chunks.

    Raises:
        SchemaError: The path exists (``reject-existing-path``) or is a packed name, or a part is inadmissible.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: SequenceSchema,
        meta: Mapping[str, Any] | None = None,
        system: Frame | None = None,
        flush_every: int | None = None,
        compression: str | None = None,
        profile: str = "live",
    ) -> None:
        self._check_arguments(schema, flush_every)
        self._check_system(schema, system)
        storage = Storage(profile, compression)
        root = Path(path)
        create_root(root, meta, {} if system is None else {"system": system})
        try:
            self._begin(root, schema, storage, flush_every, fit=storage.profile == "archive")
        except BaseException:
            # Nothing was committed and nobody else has seen it: the way is free for another try.
            shutil.rmtree(root, ignore_errors=True)
            raise

    @classmethod
    def in_record(
        cls, root: Path, schema: SequenceSchema, *, compression: str | None = None, profile: str = "live"
    ) -> Self:
        """Begin the trajectory of a record whose other sections are written; a run that fits one flush is fitted."""
        writer = cls.__new__(cls)
        writer._begin(root, schema, Storage(profile, compression), None, fit=True)
        return writer

    def _begin(
        self, root: Path, schema: SequenceSchema, storage: Storage, flush_every: int | None, *, fit: bool
    ) -> None:
        self.path = root
        self._storage = storage
        self._schema = schema.copy()
        #: Whether a run that ends with its first commit gets shards made to measure.
        self._fit = fit
        self._flush_every = flush_every
        self._nstep = 0
        self._last_step: int | None = None
        self._has_times: bool | None = None
        self._hold_against(root)
        self._unsound = False
        self._lock: WriterLock | None = WriterLock(root)
        self._committer = Committer(root, {names.SEQUENCE_SCHEMA: self._schema.to_document()})
        self._tracks = RunTracks(root, self._schema, storage)
        try:
            self._committer.create()
        except BaseException:
            self._release()
            raise

    def _hold_against(self, root: Path) -> None:
        """Prepare the checks every frame passes, given the record's other sections."""
        source = DirectorySource(root)
        try:
            sections = read_section_rows(source)
            shared = [
                name
                for name, declared in self._schema.blocks.items()
                if "id" in declared.columns and name in (sections["system"] or {})
            ]
            ids = {name: array.read() for name in shared if (array := open_array(source, f"system/{name}/id"))}
        finally:
            source.close()
        self._checker = FrameChecker(self._schema, sections["system"] or {}, ids)
        self._rules = ResolvedRules(self._schema, sections)

    @classmethod
    def reopen(cls, path: str | os.PathLike[str], flush_every: int | None = None) -> Self:
        """Continue a trajectory after its last committed frame; declaration, extents and codecs stay as created.

        Whatever an interrupted commit left behind is cut back first, and a torn index is restored from the journal.

        Raises:
            SchemaError: Packed or remote (``reject-append-not-a-directory``), held by another writer
                (``reject-second-writer``), or in a layout that cannot grow (``reject-reopen-layout``).
            FormatError: The record is damaged in what was committed.
        """
        root = Path(path)
        if not root.is_dir():
            raise SchemaError(
                f"{path} is not a record folder; a packed or remote record cannot be appended to "
                "(molrec.unpack it first)",
                "reject-append-not-a-directory",
            )
        source = DirectorySource(root)
        require_root(source)
        read_meta(source)
        writer = cls.__new__(cls)
        writer.path, writer._flush_every, writer._fit = root, flush_every, False
        writer._unsound = False
        writer._lock = WriterLock(root)
        try:
            recover(root)
            writer._restore(source)
        except BaseException:
            writer._lock.release()
            raise
        finally:
            source.close()
        return writer

    def _restore(self, source: DirectorySource) -> None:
        self._storage = Storage()
        remove_leftovers(self.path)
        reader = TrajectoryReader(source)
        self._schema, self._nstep = reader.schema, len(reader)
        self._hold_against(self.path)
        fixed = {
            key: value
            for key, value in reader.attributes.items()
            if key not in (names.NSTEP, StepProgression.key, TimeProgression.key)
        }
        self._committer = Committer(self.path, fixed, self._nstep)
        self._last_step = int(reader.steps[-1]) if self._nstep else None
        self._has_times = reader.times is not None if self._nstep else None
        if not self._nstep:
            self._clear_uncommitted()
            self._tracks = RunTracks(self.path, self._schema, self._storage)
            self._committer.create()
            return
        restorer = Restorer(self.path, source, self._nstep)
        kept = restored_group_attributes(source, self._schema)
        self._tracks = RunTracks.restore(self.path, reader, self._storage, restorer, kept)
        restorer.cut_back_shapes()
        self._committer.adopt(restorer.appenders, self._tracks.progressions(), self._tracks.group_attributes())
        restorer.cut_back_indexes()

    def _clear_uncommitted(self) -> None:
        """Remove the arrays a first commit that never finished left below the trajectory."""
        for folder in sorted((self.path / names.TRAJECTORY).rglob("*")):
            if folder.is_dir() and names.is_layout_array(folder.relative_to(self.path).as_posix(), self._schema):
                remove_array(folder)

    @staticmethod
    def _check_arguments(schema: SequenceSchema, flush_every: int | None) -> None:
        if not isinstance(schema, SequenceSchema):
            raise SchemaError(
                f"schema is a SequenceSchema, found {type(schema).__name__}; "
                "make one with SequenceSchema.from_frames([first_frame])",
                "reject-malformed-schema",
            )
        if flush_every is not None and (
            isinstance(flush_every, bool) or not isinstance(flush_every, (int, np.integer)) or flush_every < 1
        ):
            raise SchemaError(
                f"flush_every is a positive number of frames or None, found {flush_every!r}", "reject-flush-every"
            )

    @staticmethod
    def _check_system(schema: SequenceSchema, system: Frame | None) -> None:
        if system is None:
            return
        check_system_names(schema, set(system))
        for name, block in schema.blocks.items():
            if name in system:
                check_other_columns(name, block.columns, system[name], may_share=("id",))

    # -- appending --------------------------------------------------------------------------------------------------

    @property
    def nstep(self) -> int:
        """Frames appended so far, committed or waiting for the next flush."""
        return self._nstep

    @property
    def committed(self) -> int:
        """Frames a reader would find now."""
        return self._committer.nstep

    @property
    def schema(self) -> SequenceSchema:
        """The pinned declaration (a copy)."""
        return self._schema.copy()

    def append(self, frame: Frame, step: int | None = None, time: float | None = None) -> None:
        """Take one frame after the last one.

        The frame is read, never changed and never kept; its arrays may be reused at once. Blocks the frame omits, and
        blocks equal to their previous update after rounding, carry forward.

        Args:
            frame: Blocks the schema declares, each whole; every declared meta key without a fill.
            step: Integration step, greater than the last one; one more than it when None (0 at first).
            time: Simulation time; given for every frame of a run or for none.

        Raises:
            SchemaError: The frame breaks the declaration; ``.rule`` names the clause and nothing was taken.
            OSError: The automatic flush failed; the frame is taken and `flush` may be tried again.
        """
        self._require_open()
        ordinal = self._nstep
        where = f"trajectory frame {ordinal}"
        try:
            stamp = next_step(step, self._last_step)
            moment = next_time(time, self._has_times)
            presented = self._checker.blocks(frame)
            values = self._checker.meta(frame)
            self._tracks.check_box(frame.box)
            self._rules.check_change(ordinal, presented, self._tracks.latest)
        except SchemaError as error:
            raise SchemaError(f"{where}: {error.message}", error.rule) from error
        self._unsound = True
        self._tracks.add(ordinal, stamp, moment, values, frame.box, presented)
        self._last_step = stamp
        self._has_times = moment is not None
        self._nstep += 1
        self._unsound = False
        if self._nstep - self.committed >= self._flush_interval():
            self._commit(durable=self._committer.journal_is_long)

    def _flush_interval(self) -> int:
        if self._flush_every is None:
            self._flush_every = self._tracks.automatic_interval()
        return self._flush_every

    # -- committing -------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Commit every appended frame durably: it survives a power loss once this returns.

        Raises:
            OSError: A file operation failed (a full disk, say); the committed frames are untouched, the waiting ones
                stay in memory, and `flush` may be tried again.
        """
        self._require_open()
        self._commit(durable=True)

    def _commit(self, *, durable: bool, final: bool = False) -> None:
        self._unsound = True
        tracks = self._tracks
        first: list[ShardAppender] = []
        rest: list[ShardAppender] = []
        groups: dict[str, dict[str, Any]] = {}
        if self._nstep:
            tracks.make_every_block()
            first, rest, groups = tracks.index_appenders(), tracks.row_appenders(), tracks.group_attributes()
        if not self.committed:
            tracks.choose_extents(first + rest, fit=final and self._fit)
        self._unsound = False
        self._committer.commit(self._nstep, tracks.progressions(), first, groups, rest, durable=durable)

    def close(self) -> None:
        """Commit what waits, durably, and give the record free; safe to call twice.

        Raises:
            OSError: The last commit failed; the record keeps its last committed frames.
        """
        if self._lock is None:
            return
        try:
            self._require_open()
            self._commit(durable=True, final=True)
            self._committer.finish()
        finally:
            self._release()

    def _release(self) -> None:
        self._tracks.close()
        self._committer.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _require_open(self) -> None:
        if self._lock is None:
            raise SchemaError(
                f"{self.path}: this writer is closed; continue with TrajectoryWriter.reopen", "reject-writer-closed"
            )
        if self._unsound or self._committer.unsound:
            raise SchemaError(
                f"{self.path}: the writer was interrupted while it took a frame and holds a part of it; close it and "
                "continue with TrajectoryWriter.reopen after the last committed frame",
                "reject-writer-closed",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except (OSError, MolrecError) as second:
            # The first error is the one to see; what was committed before is intact.
            error.add_note(f"closing {self.path} failed as well: {second}")
