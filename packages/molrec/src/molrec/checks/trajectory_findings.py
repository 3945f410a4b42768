"""What a validator finds in a trajectory: every chunk of every array, every update's references, units and names.

Columns are read span by span, so that memory does not grow with the run. The clauses stand in
``docs/spec/trajectory.md``, the table of all findings in ``docs/spec/validation.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from molrec.checks.content_findings import (
    Found,
    TypeNames,
    image_findings,
    loose_endpoint_findings,
    off_grid_findings,
    off_grid_rows,
    quantities_of,
    unit_findings,
    unknown_unit_findings,
    unresolved_findings,
)
from molrec.checks.frame_findings import Units, flat_cell_findings, read_or_find
from molrec.checks.store_findings import row_spans, unknown_findings
from molrec.errors import FormatError, SchemaError
from molrec.model.alignment import check_system_names
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame
from molrec.model.progression import TimeProgression
from molrec.model.references import is_absolute
from molrec.model.relations import same_container_references
from molrec.model.schema import BlockSchema, SequenceSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.array_reader import ArrayReader
from molrec.storage.zarr.block_reader import BlockReader
from molrec.storage.zarr.box_reader import BoxSeries
from molrec.storage.zarr.chunk_cache import ChunkCache
from molrec.storage.zarr.frame_group import boundary_is_default, group_attributes, origin_is_default
from molrec.storage.zarr.journal import JOURNAL_NAME
from molrec.storage.zarr.sources import Source, read_document
from molrec.storage.zarr.trajectory_reader import TrajectoryReader
from molrec.vocabulary import PER_STEP_KEYS

__all__ = ["trajectory_findings"]

type Progress = Callable[[int, int], None]

#: Cells looked at together.
_CELLS_AT_ONCE = 4096


def trajectory_findings(
    source: Source,
    system: Frame | None,
    forcefield: ForceField | None,
    *,
    units: Units,
    progress: Progress | None = None,
) -> Iterator[Found]:
    """Yield what is wrong with the trajectory.

    Args:
        source: The record, which has one.
        system: The system of the record, where it has a sound one.
        forcefield: The record's force field, where it has a sound one.
        units: What the record states elsewhere, where the frames state none.
        progress: Called with rows checked and rows in all.
    """
    if source.get(f"{names.TRAJECTORY}/{JOURNAL_NAME}") is not None:
        message = "a writer has the record open or did not close it; `molrec repair` closes it"
        yield "open-journal", names.TRAJECTORY, "info", message
    try:
        reader = TrajectoryReader(source)
    except FormatError as error:
        yield error.rule, names.TRAJECTORY, "error", error.message
        yield from _refused_run_findings(source, error.rule)
        return
    yield from _RunFindings(source, reader, system, forcefield, units=units, progress=progress).run()


def _refused_run_findings(source: Source, told: str) -> Iterator[Found]:
    """Yield what else is wrong with a run that a reader refuses as a whole: each block and the cell by itself."""
    found: list[Found] = []
    document = read_or_find(found, names.TRAJECTORY, lambda: read_document(source, names.TRAJECTORY))
    attributes = read_or_find(found, names.TRAJECTORY, lambda: group_attributes(document or {}, names.TRAJECTORY))
    nstep = (attributes or {}).get(names.NSTEP)
    stated = (attributes or {}).get(names.SEQUENCE_SCHEMA)
    schema = read_or_find(found, names.TRAJECTORY, lambda: SequenceSchema.from_document(stated, names.TRAJECTORY))
    if schema is not None and type(nstep) is int and 0 <= nstep < 2**63:
        read_or_find(found, names.BOX, lambda: BoxSeries(source, nstep))
        for name, declared in schema.blocks.items():
            read_or_find(
                found,
                f"{names.TRAJECTORY}/{name}",
                lambda name=name, declared=declared: BlockReader(source, name, declared, nstep, ChunkCache()),  # type: ignore[misc]
            )
    yield from (one for one in found if one[0] != told)


class _RunFindings:
    """One pass over a run that opens."""

    def __init__(
        self,
        source: Source,
        reader: TrajectoryReader,
        system: Frame | None,
        forcefield: ForceField | None,
        *,
        units: Units,
        progress: Progress | None,
    ) -> None:
        self._source = source
        self._reader = reader
        self._schema = reader.schema
        self._system = system
        self._forcefield = forcefield
        self._units = units
        self._progress = progress

    def run(self) -> Iterator[Found]:
        """Yield the findings of every part."""
        yield from self._stamps()
        yield from self._series()
        yield from self._cells()
        blocks: dict[str, BlockReader] = {}
        for name in self._schema.blocks:
            found: list[Found] = []
            block = read_or_find(found, f"{names.TRAJECTORY}/{name}", lambda name=name: self._reader.block_reader(name))  # type: ignore[misc]
            if block is not None:
                blocks[name] = block
            yield from found
        sound = set(blocks)
        for finding in self._columns(blocks):
            if finding[2] == "error":
                sound.discard(finding[1].split("/")[1])
            yield finding
        yield from self._references(sound)
        yield from self._beside_system(sound)
        yield from self._declared()
        yield from self._undeclared()

    # -- series -----------------------------------------------------------------------------------------------------

    def _stamps(self) -> Iterator[Found]:
        found: list[Found] = []
        read_or_find(found, names.STEP, lambda: self._reader.steps)
        times = read_or_find(found, names.TIME, lambda: self._reader.times)
        yield from found
        if times is not None:
            falls = np.flatnonzero(times[1:] < times[:-1])
            if falls.size:
                place = int(falls[0]) + 1
                message = f"{falls.size} frames are earlier than the one before, the first {place}: {times[place]!r}"
                yield "time-not-ascending", names.TIME, "warning", message

    def _series(self) -> Iterator[Found]:
        for key, declared in self._schema.meta.items():
            where = f"{names.SERIES_META}/{key}"
            found: list[Found] = []
            values = read_or_find(found, where, lambda key=key: self._reader.meta[key])  # type: ignore[misc]
            if key in PER_STEP_KEYS and declared.tag != PER_STEP_KEYS[key]:
                message = f"is declared {declared.tag}, but {key!r} is {PER_STEP_KEYS[key]} in every record"
                found.append(("per-step-tag", where, "error", message))
            if key == "units" and values is not None and len(values):
                found += self._units_of_frames(values)
            yield from found

    def _units_of_frames(self, values: Any) -> Iterator[Found]:
        """Yield what is wrong with units that stand in the meta of frames; all distinct ones are looked at."""
        for stated in {repr(value): value for value in values}.values():
            try:
                units = Frame(meta={"units": stated if isinstance(stated, (str, dict)) else 0}).units
            except SchemaError as error:
                yield error.rule, f"{names.SERIES_META}/units", "error", error.message
            else:
                yield from unknown_unit_findings(f"{names.SERIES_META}/units", units)

    def _cells(self) -> Iterator[Found]:
        found: list[Found] = []
        cells = read_or_find(found, names.BOX, lambda: self._reader.box_series)
        yield from found
        if cells is None:
            return
        yield from _needless_findings(cells)
        kept: list[Box] = []
        told = False
        try:
            for cell in cells:
                kept.append(cell)
                if len(kept) == _CELLS_AT_ONCE:
                    flat = list(flat_cell_findings(names.BOX, kept))
                    yield from () if told else flat
                    told, kept = told or bool(flat), []
        except FormatError as error:
            yield error.rule, names.BOX, "error", error.message
        yield from () if told else flat_cell_findings(names.BOX, kept)

    # -- columns ----------------------------------------------------------------------------------------------------

    def _columns(self, blocks: Mapping[str, BlockReader]) -> Iterator[Found]:
        total = sum(block.index.rows * (len(block.columns) + len(block.masks)) for block in blocks.values())
        done = 0
        for name, block in blocks.items():
            yield from image_findings(f"{names.TRAJECTORY}/{name}", block.columns)
            rows = block.index.rows
            for column, array in block.columns.items():
                yield from self._column(array, block.masks.get(column), rows, block.precision.get(column), done, total)
                done += rows * (2 if column in block.masks else 1)
            yield from self._type_names(name, block)
            yield from _tail_findings(block)

    def _column(
        self, array: ArrayReader, mask: ArrayReader | None, rows: int, precision: float | None, done: int, total: int
    ) -> Iterator[Found]:
        """Read a column and its mask, and look at each value where a precision is declared."""
        off, first = 0, 0
        found: list[Found] = []
        for start, stop in row_spans(array, rows):
            values = read_or_find(found, array.path, lambda start=start, stop=stop: array.read(start, stop))  # type: ignore[misc]
            valid = None
            if mask is not None and values is not None:
                valid = read_or_find(found, mask.path, lambda start=start, stop=stop: mask.read(start, stop))  # type: ignore[misc]
            if found:
                yield from found
                return
            if precision is not None and values is not None:
                wrong = np.flatnonzero(off_grid_rows(values, precision, valid))
                first = start + int(wrong[0]) if wrong.size and not off else first
                off += wrong.size
            if self._progress is not None:
                self._progress(done + stop * (1 if mask is None else 2), total)
        if precision is not None:
            yield from off_grid_findings(array.path, precision, off, first)

    def _type_names(self, name: str, block: BlockReader) -> Iterator[Found]:
        """Look up the types that rows name in the force field."""
        if self._forcefield is None or "type" not in block.columns or not block.index.rows:
            return
        named = TypeNames(name)
        try:
            for start, stop in row_spans(block.columns["type"], block.index.rows):
                parts = [
                    reader.read(start, stop) if reader is not None else None
                    for reader in (
                        block.columns["type"],
                        block.columns.get("style"),
                        block.masks.get("type"),
                        block.masks.get("style"),
                    )
                ]
                named.add(parts[0], *parts[1:])  # type: ignore[arg-type]
        except FormatError:
            return  # reported with the column itself
        own = self._only_update(name, block)
        yield from unresolved_findings(f"{names.TRAJECTORY}/{name}", named, self._forcefield, own)

    def _only_update(self, name: str, block: BlockReader) -> Block | None:
        """Return a block that never changes, whose rows may state parameters of their own."""
        if block.index.count != 1 or not any(column not in ("type", "style") for column in block.columns):
            return None
        try:
            return self._reader[block.index.ordinal_of(0)][name]
        except FormatError:
            return None  # reported with the references of the frame

    # -- what holds between blocks ----------------------------------------------------------------------------------

    def _references(self, sound: set[str]) -> Iterator[Found]:
        """Look at a frame of every combination of a referencing update and its target's row count."""
        for name, declared in self._schema.blocks.items():
            endpoints = same_container_references(
                {column: pinned.dtype for column, pinned in declared.columns.items()}, declared.targets
            )
            targets = {*endpoints.values()} & self._schema.blocks.keys()
            if name not in sound or not targets <= sound:
                continue
            missing = {*endpoints.values()} - self._schema.blocks.keys()
            ordinals = {ordinal for target in targets for ordinal in self._distinct_pairs(name, target)}
            if missing or any(is_absolute(target) for target in declared.targets.values()):
                ordinals |= set(self._reader.block_reader(name).index.ordinals().tolist())
            told: set[tuple[str, str]] = set()
            for ordinal in sorted(ordinals):
                for finding in self._frame_references(name, ordinal):
                    if (finding[0], finding[1]) not in told or finding[2] != "error":
                        yield finding
                    told.add((finding[0], finding[1]))

    def _frame_references(self, name: str, ordinal: int) -> Iterator[Found]:
        try:
            frame = self._reader[ordinal]  # reading a frame checks its references
        except FormatError as error:
            yield error.rule, f"{names.TRAJECTORY}/{name}", "error", error.message
        else:
            yield from loose_endpoint_findings(f"{names.TRAJECTORY}, frame {ordinal}", frame, only=name)

    def _distinct_pairs(self, name: str, target: str) -> list[int]:
        """Return an ordinal for every pair of an update of one block and a row count of another."""
        referencing = self._reader.block_reader(name).index
        shown = self._reader.block_reader(target).index
        ordinals = np.union1d(referencing.ordinals(), shown.ordinals())
        updates = referencing.updates_at(ordinals)
        starts, stops = shown.spans(shown.updates_at(ordinals))
        rows = np.where(shown.updates_at(ordinals) < 0, -1, stops - starts)
        present = updates >= 0
        _, first = np.unique(np.stack([updates, rows], axis=1)[present], axis=0, return_index=True)
        return sorted(ordinals[present][first].tolist())

    def _beside_system(self, sound: set[str]) -> Iterator[Found]:
        """Check blocks of one name in system and trajectory: one row count, row by row, at every update."""
        system = self._system
        if system is None:
            return
        try:
            check_system_names(self._schema, set(system.blocks))
        except SchemaError as error:
            yield error.rule, names.TRAJECTORY, "error", error.message
        for name in self._schema.blocks:
            if name in system and name in sound:
                yield from _shared_block_findings(name, system, self._reader.block_reader(name))

    # -- what the declaration says ----------------------------------------------------------------------------------

    def _declared(self) -> Iterator[Found]:
        """Yield quantities of the frames in a unit nobody states."""
        if "units" in self._schema.meta or not len(self._reader):
            return
        columns = dict.fromkeys(column for block in self._schema.blocks.values() for column in block.columns)
        has_times = TimeProgression.key in self._reader.attributes or self._source.get(f"{names.TIME}/zarr.json")
        needed = quantities_of(columns, self._schema.meta, has_times=bool(has_times))
        yield from unit_findings(names.TRAJECTORY, self._units, needed)

    def _undeclared(self) -> Iterator[Found]:
        known = {*self._schema.blocks, "step", "time", "meta", "box", JOURNAL_NAME}
        yield from unknown_findings(self._source, names.TRAJECTORY, known)
        for name, declared in self._schema.blocks.items():
            yield from self._undeclared_columns(name, declared)
        yield from unknown_findings(self._source, names.SERIES_META, set(self._schema.meta))

    def _undeclared_columns(self, name: str, declared: BlockSchema) -> Iterator[Found]:
        known = {*declared.columns, names.OFFSET, names.STEP_INDEX, names.VALIDITY}
        yield from unknown_findings(self._source, f"{names.TRAJECTORY}/{name}", known)


def _needless_findings(cells: BoxSeries) -> Iterator[Found]:
    """Yield attributes of a fixed cell that state the default."""
    attributes, fixed = cells.attributes, cells.fixed
    needless = ["cell_defined"] if attributes.get("cell_defined") is True else []
    if fixed is not None:
        needless += ["origin"] if "origin" in attributes and origin_is_default(fixed) else []
        needless += ["boundary"] if "boundary" in attributes and boundary_is_default(fixed) else []
    if needless:
        message = f"{', '.join(needless)} states the default; a writer leaves it out"
        yield "default-written", names.BOX, "warning", message


def _tail_findings(block: BlockReader) -> Iterator[Found]:
    """Yield ``uncommitted-tail`` for columns that hold more rows than frames show."""
    readers = (*block.columns.values(), *block.masks.values())
    longer = [reader.path for reader in readers if reader.layout.rows > block.index.rows]
    if longer:
        message = f"{len(longer)} arrays hold rows of frames that were never committed; they are not read"
        yield "uncommitted-tail", f"{names.TRAJECTORY}/{block.name}", "info", message


def _shared_block_findings(name: str, system: Frame, block: BlockReader) -> Iterator[Found]:
    where = f"{names.TRAJECTORY}/{name}"
    counts, rows = np.diff(block.index.offsets()), system[name].rows
    if (counts != rows).any():
        message = (
            f"system/{name} has {rows} rows but an update has {int(counts[counts != rows][0])}; side by side they "
            "share one row count"
        )
        yield "reject-system-row-count", where, "error", message
    columns = set(block.declared.columns) & set(system[name].columns)
    if columns - {"id"}:
        listed = ", ".join(sorted(columns - {"id"}))
        yield "reject-system-shared-column", where, "error", f"system and trajectory both hold {listed}"
    if "id" in columns and rows and not (counts != rows).any():
        identifiers = system[name]["id"]
        array = block.columns["id"]
        try:
            for start, stop in row_spans(array, block.index.rows):
                expected = identifiers[np.arange(start, stop) % rows]
                if (array.read(start, stop) != expected).any():
                    message = "an update's id values differ from the system's"
                    yield "reject-system-id", where, "error", message
                    return
        except FormatError:
            return  # reported with the column itself
