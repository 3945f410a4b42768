"""What a validator finds in the records of a collection's file, value by value and record by record.

`collection_validation` asks here; a finding is a tuple of rule, place, severity and message. What a reader would refuse
is found by asking the very functions that read; the clauses stand in ``docs/spec/collection.md`` and ``lmdb.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.checks.collection_header_findings import box_form_findings, tag_findings
from molrec.checks.content_findings import (
    Found,
    TypeNames,
    image_findings,
    loose_endpoint_findings,
    off_grid_findings,
    off_grid_rows,
    word_findings,
)
from molrec.checks.frame_findings import composition_findings, flat_cell_findings
from molrec.errors import FormatError, MolrecError
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.collection import check_joined, check_record_meta, joined_frame
from molrec.model.frame import Frame
from molrec.model.record_run import section_rows
from molrec.model.relations import same_container_references
from molrec.model.resolved import check_frame
from molrec.model.schema import SequenceSchema
from molrec.storage.lmdb import names
from molrec.storage.lmdb.environment import Values
from molrec.storage.lmdb.frame_bytes import decode_frame
from molrec.storage.lmdb.layout import HeaderReader
from molrec.storage.lmdb.stored_run import Declared, StoredRun
from molrec.storage.lmdb.update_bytes import StoredUpdate

__all__ = ["RecordChecker", "RecordSpan", "error_found"]

_ATOMS = "atoms"
_WORDS = {"bond_type", "bond_number"}
_MISSING = "reject-missing-key"
#: Missing frames of one record after which the rest of it is given up: an index may count what nobody can store.
_MOST_MISSING = 100


@dataclass(frozen=True, slots=True)
class RecordSpan:
    """A record as the index has it."""

    number: int
    first_frame: int
    n_frames: int
    n_atoms: int
    has_trajectory: bool

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"record {self.number}"


@dataclass(slots=True)
class _Run:
    """What the values of one record's frames have been found to be."""

    is_whole: bool = True
    atoms: int | None = None


@dataclass(slots=True)
class RecordChecker:
    """Checks records one after the other.

    Attributes:
        declared: The declaration of the collection.
        values: The values of its file.
        has_times: Whether a frame with a time has been seen.
        system_columns: Columns that systems have been seen to have.
        type_names: Types that systems have been seen to name, by block; a dict to fill.
    """

    declared: Declared
    values: Values
    has_times: bool = False
    system_columns: set[str] = field(default_factory=set)
    type_names: dict[str, TypeNames] = field(default_factory=dict)
    _headers: HeaderReader = field(default_factory=HeaderReader)
    _has_flags: bool = field(init=False)
    _has_endpoints: bool = field(init=False)
    #: Blocks with numbers that are words of a vocabulary.
    _worded: set[str] = field(init=False)

    def __post_init__(self) -> None:
        columns = [column for block in self.declared.schema.blocks.values() for column in block.columns.values()]
        self._has_flags = any(column.nullable or column.dtype == "bool" for column in columns)
        self._has_endpoints = _has_loose_endpoints(self.declared.schema)
        self._worded = {name for name, block in self.declared.schema.blocks.items() if block.columns.keys() & _WORDS}

    def check(self, span: RecordSpan) -> Iterator[Found]:
        """Yield what is wrong with one record; nothing where all of it can be read."""
        system, has_system = None, False
        found: list[Found] = []
        value = self.values.get(names.system_key(span.number))
        if value is not None:
            has_system = True
            system = _attempt(found, f"{span.where}, system", lambda: self._system(value, f"{span.where}, system"))
        found += self._meta_findings(span, system)
        run = _Run()
        if span.has_trajectory:
            found += self._frames_findings(span, system, run)
        elif not has_system:
            found.append(("reject-empty-record", span.where, "error", "the record has neither system nor trajectory"))
        whole = run.is_whole and (system is not None or not has_system)
        if whole and span.has_trajectory and span.n_frames:
            found += self._run_findings(span, system)
        yield from found
        if system is not None:
            yield from self._of_system(system, value, f"{span.where}, system")
        if whole:
            atoms = system[_ATOMS].rows if system is not None and _ATOMS in system else run.atoms or 0
            if atoms != span.n_atoms:
                message = (
                    f"n_atoms is {span.n_atoms}, but the record has {atoms} atoms; a reader chooses by a wrong number"
                )
                yield "reject-row-count", f"index, {span.where}", "error", message

    # -- meta and system --------------------------------------------------------------------------------------------

    def _meta_findings(self, span: RecordSpan, system: Frame | None) -> Iterator[Found]:
        where = f"{span.where}, meta"
        value = self.values.get(names.meta_key(span.number))
        if value is None:
            yield _MISSING, where, "error", "the index counts the record, but its meta is not there"
            return
        yield from self.meta_findings(value, where, system)

    @staticmethod
    def meta_findings(value: Any, where: str, system: Frame | None = None) -> Iterator[Found]:
        """Yield what is wrong with the stored meta of a record."""
        try:
            document = typedjson.parse_json(bytes(value), where)
            if not isinstance(document, dict):
                raise FormatError(f"the meta of a record is an object, found {document!r}", "reject-malformed-json")
            check_record_meta(document, system)
        except MolrecError as error:
            yield error_found(error, where)

    def _system(self, value: Any, where: str) -> Frame:
        frame = decode_frame(value, where, self._headers)
        check_frame(frame, section_rows(frame), where)
        return frame

    def system_findings(self, value: Any, where: str) -> Iterator[Found]:
        """Yield what is wrong with a stored system, whatever record it is of."""
        found: list[Found] = []
        _attempt(found, where, lambda: self._system(value, where))
        yield from found

    def _of_system(self, system: Frame, value: Any, where: str) -> Iterator[Found]:
        _, header, _ = self._headers.read(value, where)
        yield from tag_findings(where, header)
        yield from composition_findings(where, system.meta.tags)
        yield from loose_endpoint_findings(where, system)
        for name, block in system.items():
            self.system_columns.update(block.columns)
            if "type" in block:
                self.type_names.setdefault(name, TypeNames(name)).add_block(block)
            yield from _block_findings(block, f"{where}/{name}")
        if system.box is not None:
            yield from _box_findings(header["box"], system.box, f"{where}, box")

    # -- frames -----------------------------------------------------------------------------------------------------

    def frame_findings(self, value: Any, where: str) -> Iterator[Found]:
        """Yield what is wrong with a stored frame, whatever record it is of."""
        found: list[Found] = []
        _attempt(found, where, lambda: self._update(value, where))
        yield from found

    def _update(self, value: Any, where: str) -> tuple[StoredUpdate, Box | None]:
        update = self.declared.decoder.read(value, where)
        if self._has_flags:
            update.blocks()
        return update, update.read_box()

    def _frames_findings(self, span: RecordSpan, system: Frame | None, run: _Run) -> list[Found]:
        """Decode every frame by itself and hold it to the system."""
        found: list[Found] = []
        missing = 0
        for ordinal in range(span.n_frames):
            where = f"{span.where}, frame {ordinal}"
            value = self.values.get(names.frame_key(span.first_frame + ordinal))
            if value is None:
                found.append((_MISSING, where, "error", "the index counts the frame, but it is not there"))
                run.is_whole = False
                missing += 1
                if missing >= _MOST_MISSING:
                    message = f"{missing} frames are not there; the other frames of the record are not looked at"
                    found.append((_MISSING, span.where, "error", message))
                    break
                continue
            try:
                update, box = self._update(value, where)
            except MolrecError as error:
                found.append(error_found(error, where))
                run.is_whole = False
                continue
            self.has_times |= update.time is not None
            if box is not None:
                found += _box_findings(update.box, box, f"{where}, box")
            if run.atoms is None and _ATOMS in update.layout.blocks:
                run.atoms = update.layout.blocks[_ATOMS].rows
            for name in self._worded & update.layout.blocks.keys():
                found += word_findings(f"{where}/{name}", update.block(name))
            if system is not None:
                found += _beside_system(update, system, where)
        return found

    def _run_findings(self, span: RecordSpan, system: Frame | None) -> Iterator[Found]:
        """Look at what holds between the frames of a record, and between the blocks of one."""
        if span.n_frames == 1 and not self.declared.ties and not self._has_endpoints:
            return
        found: list[Found] = []
        sections = section_rows(system)
        run = StoredRun(self.declared, self.values, span.first_frame, span.n_frames, sections, span.where)
        times = _attempt(found, span.where, lambda: run.times)
        if times is not None and (falls := np.flatnonzero(times[1:] < times[:-1])).size:
            place = int(falls[0]) + 1
            message = f"{falls.size} frames are earlier than the one before, the first {place}: {times[place]!r}"
            found.append(("time-not-ascending", span.where, "warning", message))
        if self.declared.ties:
            _attempt(found, span.where, lambda: sum(1 for _ in run))
        yield from found
        if self._has_endpoints and not any(severity == "error" for _, _, severity, _ in found):
            for ordinal, frame in enumerate(run):
                yield from loose_endpoint_findings(f"{span.where}, frame {ordinal}", joined_frame(system, frame))


def error_found(error: MolrecError, where: str) -> Found:
    """Return a refusal as a finding; the place it names is said once."""
    return error.rule, where, "error", error.message.removeprefix(f"{where}: ")


def _attempt[T](found: list[Found], where: str, read: Callable[[], T]) -> T | None:
    try:
        return read()
    except MolrecError as error:
        found.append(error_found(error, where))
        return None


def _beside_system(update: StoredUpdate, system: Frame, where: str) -> Iterator[Found]:
    for name, block in update.layout.blocks.items():
        if name in system:
            try:
                check_joined(name, system[name], block.columns, block.rows)
            except MolrecError as error:
                yield error_found(error, where)


def _has_loose_endpoints(schema: SequenceSchema) -> bool:
    """Tell whether a block has endpoints that it does not declare as row references."""
    return any(
        same_container_references({name: column.dtype for name, column in block.columns.items()}, block.targets).keys()
        - block.targets.keys()
        for block in schema.blocks.values()
    )


def _box_findings(stated: Any, box: Box, where: str) -> Iterator[Found]:
    yield from flat_cell_findings(where, [box])
    yield from box_form_findings(where, stated, box)


def _block_findings(block: Block, where: str) -> Iterator[Found]:
    yield from image_findings(where, block.columns)
    yield from word_findings(where, block)
    for column in block.columns:
        precision = block.precision(column)
        if precision is not None:
            rows = np.flatnonzero(off_grid_rows(block[column], precision, block.validity(column)))
            yield from off_grid_findings(f"{where}/{column}", precision, rows.size, int(rows[0]) if rows.size else 0)
