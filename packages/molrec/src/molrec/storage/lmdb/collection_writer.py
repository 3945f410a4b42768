"""`CollectionWriter`: stream records into one LMDB file, which is there whole or not at all (``docs/spec/lmdb.md``)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from molrec import typedjson
from molrec.errors import SchemaError
from molrec.model.collection import (
    RecordLike,
    check_joined,
    check_record_meta,
    collection_meta,
)
from molrec.model.collection_declaration import extend_by_declaration, extend_by_frame
from molrec.model.frame import Frame
from molrec.model.record_run import FrameUpdate, RecordRun, section_rows
from molrec.model.resolved import check_frame
from molrec.model.schema import SequenceSchema
from molrec.storage.lmdb import names
from molrec.storage.lmdb.frame_bytes import encode_blocks, encode_frame
from molrec.storage.lmdb.index_columns import IndexColumns, IndexSpec, WrittenRecord
from molrec.storage.lmdb.key_appender import KeyAppender, Spool
from molrec.storage.lmdb.partial_file import PartialFile
from molrec.storage.lmdb.record_parts import NumberedFrames, numbered_frames, parts_of
from molrec.storage.lmdb.update_bytes import UpdateEncoder

if TYPE_CHECKING:
    from molrec.model.forcefield import ForceField
    from molrec.model.forcefield_section import ForceFieldSection

__all__ = ["CollectionWriter"]


class CollectionWriter:
    """Write a new collection ``*.mrec.lmdb``, record by record.

    Use it as a context manager: leaving the block puts the file in its place, whole; leaving it by an exception leaves
    whatever was there before. Memory stays bounded however many records there are.

    Without `schema` the declaration is that of the records: the union of their blocks, with the per-step keys of the
    first frame. A block may come with any record; what is declared of it stays, but that a column may get nulls later.
    With `schema`, records present what it declares and nothing else.

    Args:
        path: The file to create.
        units: Quantity (length, energy, force, charge, mass, time, or another) to a unit pint knows.
        schema: What frames may hold (a copy is taken); derived from the records when None.
        forcefield: The force field of every record, as an object or a section.
        index: Own columns of the index: names, looked up in each record's meta, its system's and its first frame's, or
            a mapping of names to functions of a `WrittenRecord`; a function may return None for a null.
        meta: Further keys of the collection's meta document.
        overwrite: Take the place of a file that is there, once the new one is whole.

    Raises:
        SchemaError: No units (``reject-no-units``), the path exists (``reject-existing-path``), another writer is at
            work (``reject-second-writer``), or a part is inadmissible.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        units: Mapping[str, str] | None = None,
        schema: SequenceSchema | None = None,
        forcefield: ForceField | ForceFieldSection | None = None,
        index: IndexSpec | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        section = None if forcefield is None else _section_of(forcefield)
        self._forcefield = None if section is None else encode_blocks(section.tables, section.document)
        self._meta = collection_meta(units, meta, None if section is None else section.version)
        self._schema, self._pinned = _schema_copy(schema)
        #: Whether the per-step keys are settled.
        self._keys_known = self._pinned
        self._index = IndexColumns(index)
        self._encoder = UpdateEncoder(self._schema)
        #: Takes the frames of records without a system.
        self._run = RecordRun(self._schema, section_rows(None))
        self._n_records = self._n_frames = 0
        self._interrupted = False
        self.path = Path(path)
        self._partial = PartialFile(self.path, overwrite=overwrite)
        try:
            self._keys: KeyAppender | None = KeyAppender(self._partial.path)
            self._metas, self._systems = Spool(self.path.parent), Spool(self.path.parent)
        except BaseException:
            self._partial.discard()
            raise

    def __len__(self) -> int:
        """Return the records appended so far."""
        return self._n_records

    @property
    def schema(self) -> SequenceSchema:
        """The declaration so far (a copy)."""
        return self._schema.copy()

    # -- appending --------------------------------------------------------------------------------------------------

    def append(
        self,
        record: RecordLike | Frame | Iterable[Frame] | None,
        *,
        meta: Mapping[str, Any] | None = None,
        system: Frame | None = None,
        step: int | Iterable[int] | None = None,
        time: float | Iterable[float] | None = None,
        index: Mapping[str, Any] | None = None,
    ) -> int:
        """Take one record after the last one.

        Args:
            record: A record, of a file or of another collection; or its frames: one `Frame`, any number of them, or
                None for a record without trajectory. Nothing of it is changed or kept.
            meta: Its meta document, where `record` is frames.
            system: Its system, where `record` is frames.
            step: Step of the one frame, or of each; counted from 0 when None.
            time: Time of the one frame, or of each; no times when None.
            index: Values of index columns.

        Returns:
            The number of the record.

        Raises:
            SchemaError: The record breaks a rule; nothing of it was taken and the writer goes on.
            OSError: Writing failed (a full disk, say).
        """
        keys = self._require_open()
        where = f"record {self._n_records}"
        before = (self._schema, self._keys_known, self._n_frames)
        try:
            if not isinstance(record, Frame) and hasattr(record, "trajectory"):
                if not (meta is None and system is None and step is None and time is None):
                    raise SchemaError("meta, system, step and time come with the record", "reject-record-parts")
                meta, system, frames, run_schema = parts_of(cast("RecordLike", record))
                if run_schema is not None:
                    grown = extend_by_declaration(
                        self._schema, run_schema, first=not self._keys_known, pinned=self._pinned
                    )
                    if grown is not self._schema:
                        self._declare(grown)
                    self._keys_known = True
            else:
                frames = numbered_frames(record, step, time)
                run_schema = None
            return self._append(meta or {}, system, frames, index, own_schema=run_schema is not None)
        except BaseException as error:
            self._take_back(keys, *before)
            if isinstance(error, SchemaError):
                raise SchemaError(f"{where}: {error.message}", error.rule) from error
            raise

    def _append(
        self,
        meta: Mapping[str, Any],
        system: Frame | None,
        frames: NumberedFrames | None,
        index: Mapping[str, Any] | None,
        *,
        own_schema: bool,
    ) -> int:
        if frames is None and system is None:
            raise SchemaError("a record has a system, a trajectory, or both", "reject-empty-record")
        document = check_record_meta(meta, system)
        rows = section_rows(system)
        if system is not None:
            check_frame(system, rows, "system")
        first_frame, first, atoms = self._n_frames, None, _atoms(system)
        if frames is not None:
            run = self._run if system is None else RecordRun(self._schema, rows)
            run.restart()
            for frame, step, time, last in frames:
                _check_frame_of_record(frame, system)
                if not self._keys_known:
                    self._extend(run, frame)
                try:
                    update = run.take(frame, step, time, last=last)
                except SchemaError:
                    if own_schema or self._pinned or not self._extend(run, frame):
                        raise
                    update = run.take(frame, step, time, last=last)
                atoms = _rows_of_atoms(update) if atoms is None else atoms
                first = frame if first is None else first
                self._write_frame(update)
        written = WrittenRecord(document, system, first, self._n_frames - first_frame, atoms or 0)
        row = self._index.row(written, first_frame, frames is not None, index)
        text = typedjson.dump_json(document).encode() if document else b"{}"
        stored = None if system is None else encode_frame(system)
        self._interrupted = True
        self._metas.add(self._n_records, text)
        if stored is not None:
            self._systems.add(self._n_records, stored)
        self._index.add(row)
        self._n_records += 1
        self._interrupted = False
        return self._n_records - 1

    def _write_frame(self, update: FrameUpdate) -> None:
        keys = self._require_open()
        if keys.is_full:
            keys.flush()
        keys.append(names.frame_key(self._n_frames), self._encoder.encode(update))
        self._n_frames += 1

    def _extend(self, run: RecordRun, frame: Frame) -> bool:
        """Let the declaration grow by a frame; return whether it did."""
        grown = extend_by_frame(self._schema, frame, first=not self._keys_known)
        self._keys_known = True
        if grown is self._schema:
            return False
        self._declare(grown)
        run.declare(grown)
        return True

    def _declare(self, schema: SequenceSchema) -> None:
        self._schema = schema
        self._encoder.declare(schema)
        self._run.declare(schema)

    def _take_back(self, keys: KeyAppender, schema: SequenceSchema, keys_known: bool, n_frames: int) -> None:
        """Undo what a refused record has done so far."""
        if self._schema is not schema:
            self._declare(schema)
        self._keys_known = keys_known
        if self._n_frames != n_frames:
            sound, self._interrupted = not self._interrupted, True
            keys.cut_back(names.frame_key(n_frames))
            self._n_frames = n_frames
            self._interrupted = not sound

    def _require_open(self) -> KeyAppender:
        if self._keys is None:
            raise SchemaError(f"{self.path}: this writer is closed", "reject-writer-closed")
        if self._interrupted:
            raise SchemaError(
                f"{self.path}: the writer was interrupted while it took a record and holds a part of it; abort it and "
                "write the collection again",
                "reject-writer-closed",
            )
        return self._keys

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Finish the collection and put it in its place, durably; safe to call twice.

        Raises:
            OSError: Writing failed; nothing is in place but what was there before.
        """
        if self._keys is None:
            return
        try:
            self._finish(self._require_open())
        except BaseException:
            self.abort()
            raise
        self._keys = None

    def _finish(self, keys: KeyAppender) -> None:
        if self._forcefield is not None:
            keys.append(names.FORCEFIELD, self._forcefield)
        keys.append(names.INDEX, encode_frame(Frame({names.INDEX_BLOCK: self._index.block()})))
        for key, spool in ((names.meta_key, self._metas), (names.system_key, self._systems)):
            for number, value in spool:
                keys.append(key(number), value)
                if keys.is_full:
                    keys.flush()
            spool.close()
        document = {
            names.LAYOUT: names.LAYOUT_NAME,
            names.VERSION: names.LAYOUT_VERSION,
            names.COLLECTION: self._meta,
            names.SEQUENCE_SCHEMA: self._schema.to_document(),
            names.N_RECORDS: self._n_records,
            names.N_FRAMES: self._n_frames,
        }
        keys.put_last(names.META, typedjson.dump_json(document).encode())
        keys.close(sync=True)
        self._partial.finish()

    def abort(self) -> None:
        """Give up: nothing is in place but what was there before. Safe to call twice."""
        if self._keys is None:
            return
        keys, self._keys = self._keys, None
        keys.close(sync=False)
        self._metas.close()
        self._systems.close()
        self._partial.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __repr__(self) -> str:
        return f"<CollectionWriter {self.path}: {self._n_records} records, {self._n_frames} frames>"


def _section_of(forcefield: ForceField | ForceFieldSection) -> ForceFieldSection:
    """Return a checked section."""
    from molrec.model.forcefield import ForceField

    if isinstance(forcefield, ForceField):
        return forcefield.to_section()
    forcefield.check()
    return forcefield


def _schema_copy(schema: SequenceSchema | None) -> tuple[SequenceSchema, bool]:
    if schema is None:
        return SequenceSchema(), False
    if not isinstance(schema, SequenceSchema):
        raise SchemaError(
            f"schema is a SequenceSchema or None, found {type(schema).__name__}", "reject-malformed-schema"
        )
    return schema.copy(), True


def _check_frame_of_record(frame: Frame, system: Frame | None) -> None:
    if not isinstance(frame, Frame):
        raise SchemaError(f"a trajectory holds frames, found {type(frame).__name__}", "reject-not-a-block")
    if "units" in frame.meta:
        raise SchemaError("a frame states units; a collection states them once: delete the key", "reject-record-units")
    if system is not None:
        for name, block in frame.items():
            if name in system:
                check_joined(name, system[name], block.columns, block.rows)


def _atoms(system: Frame | None) -> int | None:
    return system["atoms"].rows if system is not None and "atoms" in system else None


def _rows_of_atoms(update: FrameUpdate) -> int | None:
    return update.blocks["atoms"].rows if "atoms" in update.blocks else None
