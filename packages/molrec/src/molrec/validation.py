"""Judging a record: every rule, not just those a reader meets on its way (``docs/spec/rules.md``).

`validate` reads a record section by section, chunk by chunk, and reports what is wrong as findings: an ``error`` is a
store a reader refuses or reads wrong, a ``warning`` breaks a SHOULD, ``info`` is worth knowing. It never raises for
the record's faults and never changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import starmap
from typing import Any, Literal

import numpy as np

from molrec.errors import FormatError, SchemaError
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.references import check_rows, is_absolute
from molrec.model.relations import same_container_references
from molrec.model.schema import BlockSchema
from molrec.precision import on_grid
from molrec.section_findings import document_findings, metrics_findings, observables_findings
from molrec.storage.zarr import names
from molrec.storage.zarr.array_reader import ArrayReader
from molrec.storage.zarr.block_reader import BlockReader
from molrec.storage.zarr.forcefield_group import FORCEFIELD, read_forcefield_group
from molrec.storage.zarr.frame_group import read_frame_group
from molrec.storage.zarr.journal import JOURNAL_NAME
from molrec.storage.zarr.metrics_log import METRICS
from molrec.storage.zarr.observables_group import OBSERVABLES
from molrec.storage.zarr.record import SECTIONS, open_source
from molrec.storage.zarr.root import list_sections, read_meta, require_root
from molrec.storage.zarr.sources import Source, read_document
from molrec.storage.zarr.trajectory_reader import TrajectoryReader

__all__ = ["Finding", "Severity", "validate"]

type Severity = Literal["error", "warning", "info"]
type Progress = Callable[[int, int], None]

#: Rows of a column looked at in one go.
_ROWS_AT_ONCE = 2**20
_SUBSTANTIVE = ("frame", "system", "trajectory", "forcefield", "status")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a record does that a rule forbids or advises against.

    Attributes:
        rule: Id of the clause (``docs/spec/rules.md``).
        where: The place: section, block, column, ordinal.
        severity: ``error``, ``warning`` or ``info``.
        message: What was found and what is expected.
    """

    rule: str
    where: str
    severity: Severity
    message: str


def validate(location: Any, *, progress: Progress | None = None) -> list[Finding]:
    """Check a whole record and return its findings, errors first; an empty list is a record without fault.

    Args:
        location: Folder, packed record, URL or Zarr store.
        progress: Called with rows checked and rows in all.

    Raises:
        OSError: The record cannot be read at all.
    """
    try:
        source = open_source(location)
    except FormatError as error:
        return [Finding(error.rule, str(location), "error", error.message)]
    try:
        findings = list(_Validation(source, progress).run())
    finally:
        source.close()
    order = ("error", "warning", "info")
    return sorted(findings, key=lambda finding: order.index(finding.severity))


class _Validation:
    """One pass over one record."""

    def __init__(self, source: Source, progress: Progress | None) -> None:
        self._source = source
        self._progress = progress

    def run(self) -> Iterator[Finding]:
        """Yield the findings of every section."""
        try:
            require_root(self._source)
        except FormatError as error:
            yield Finding(error.rule, "/", "error", error.message)
            return
        yield from self._attempt("meta", lambda: read_meta(self._source))
        sections = self._sections()
        if isinstance(sections, Finding):
            yield sections
            return
        if "meta" not in sections:
            yield Finding("no-meta-section", "/", "warning", "the record has no meta section; it reads as an empty one")
        if not set(sections) & set(_SUBSTANTIVE):
            yield Finding(
                "reject-empty-record", "/", "error", f"the record holds none of {', '.join(_SUBSTANTIVE)} beside meta"
            )
        for name in sections:
            if name not in SECTIONS:
                yield Finding("unknown-section", name, "info", "an unknown section; it is preserved")
        for name in ("system", "frame"):
            if name in sections:
                yield from self._check_frame(name)
        if FORCEFIELD in sections:
            yield from self._attempt(FORCEFIELD, lambda: read_forcefield_group(self._source, read_meta(self._source)))
        if names.TRAJECTORY in sections:
            yield from self._check_trajectory()
        for name in ("method", "status"):
            if name in sections:
                yield from starmap(Finding, document_findings(self._source, name))
        if OBSERVABLES in sections:
            yield from starmap(Finding, observables_findings(self._source))
        if METRICS in sections:
            yield from starmap(Finding, metrics_findings(self._source))

    def _sections(self) -> tuple[str, ...] | Finding:
        try:
            return list_sections(self._source)
        except FormatError as error:
            return Finding(error.rule, "/", "error", error.message)

    @staticmethod
    def _attempt(where: str, check: Callable[[], object]) -> Iterator[Finding]:
        try:
            check()
        except FormatError as error:
            yield Finding(error.rule, where, "error", error.message)

    # -- frame-shaped sections --------------------------------------------------------------------------------------

    def _check_frame(self, name: str) -> Iterator[Finding]:
        try:
            frame = read_frame_group(self._source, name)
        except FormatError as error:
            yield Finding(error.rule, name, "error", error.message)
            return
        if frame is not None:
            yield from _loose_endpoints(name, frame)
            yield from _off_grid_columns(name, frame)
            yield from _flat_cells(f"{name}/box", [frame.box] if frame.box is not None else [])

    # -- the trajectory ---------------------------------------------------------------------------------------------

    def _check_trajectory(self) -> Iterator[Finding]:
        if self._source.get(f"{names.TRAJECTORY}/{JOURNAL_NAME}") is not None:
            yield Finding(
                "open-journal",
                names.TRAJECTORY,
                "info",
                "a writer has the record open or did not close it; `molrec repair` closes it",
            )
        try:
            reader = TrajectoryReader(self._source)
        except FormatError as error:
            yield Finding(error.rule, names.TRAJECTORY, "error", error.message)
            return
        yield from self._attempt(names.STEP, lambda: reader.steps)
        yield from self._attempt(names.TIME, lambda: reader.times)
        for key in reader.schema.meta:
            yield from self._attempt(f"{names.SERIES_META}/{key}", lambda key=key: reader.meta[key])  # type: ignore[misc]
        yield from self._check_cells(reader)
        blocks: list[BlockReader] = []
        for name in reader.schema.blocks:
            try:
                blocks.append(reader.block_reader(name))
            except FormatError as error:
                yield Finding(error.rule, f"{names.TRAJECTORY}/{name}", "error", error.message)
        total = sum(block.index.rows * (len(block.columns) + len(block.masks)) for block in blocks)
        done = 0
        for block in blocks:
            for array, precision in _arrays(block):
                yield from self._check_rows(array, block.index.rows, precision, done, total)
                done += block.index.rows
        yield from self._check_references(reader)
        yield from self._check_beside_system(reader)
        yield from self._check_undeclared(reader)

    def _check_references(self, reader: TrajectoryReader) -> Iterator[Finding]:
        """Look at a frame of every combination of a referencing update and its target's row count."""
        for name, declared in reader.schema.blocks.items():
            targets = {target for target in declared.targets.values() if not is_absolute(target)}
            endpoints = same_container_references(
                {column: pinned.dtype for column, pinned in declared.columns.items()}, declared.targets
            )
            for target in sorted({*targets, *endpoints.values()} & reader.schema.blocks.keys()):
                try:
                    ordinals = _distinct_pairs(reader, name, target)
                    for ordinal in ordinals:
                        frame = reader[ordinal]
                        yield from _loose_endpoints(f"{names.TRAJECTORY}, frame {ordinal}", frame, only=name)
                except FormatError as error:
                    yield Finding(error.rule, f"{names.TRAJECTORY}/{name}", "error", error.message)
            absolute = [target for target in declared.targets.values() if is_absolute(target)]
            if absolute:
                yield from self._attempt(
                    f"{names.TRAJECTORY}/{name}",
                    lambda name=name: _read_each_update(reader, name),  # type: ignore[misc]
                )

    def _check_cells(self, reader: TrajectoryReader) -> Iterator[Finding]:
        try:
            cells = reader.box_series
        except FormatError as error:
            yield Finding(error.rule, names.BOX, "error", error.message)
            return
        try:
            yield from _flat_cells(names.BOX, cells)
        except FormatError as error:
            yield Finding(error.rule, names.BOX, "error", error.message)

    def _check_rows(
        self, array: ArrayReader, rows: int, precision: float | None, done: int, total: int
    ) -> Iterator[Finding]:
        off_grid = False
        step = array.layout.chunk_rows * max(1, _ROWS_AT_ONCE // array.layout.chunk_rows)
        for start in range(0, rows, step):
            stop = min(rows, start + step)
            try:
                values = array.read(start, stop)
            except FormatError as error:
                yield Finding(error.rule, array.path, "error", error.message)
                return
            off_grid = off_grid or (precision is not None and not on_grid(values, precision))
            if self._progress is not None:
                self._progress(done + stop, total)
        if off_grid:
            yield _off_grid(array.path, precision)

    def _check_beside_system(self, reader: TrajectoryReader) -> Iterator[Finding]:
        """Check blocks of one name in system and trajectory: one row count, row by row, at every update."""
        try:
            system = read_frame_group(self._source, "system")
        except FormatError:
            return  # reported with the section itself
        for name in reader.schema.blocks if system is not None else ():
            if system is not None and name in system:
                yield from _check_shared_block(name, system, reader)

    def _check_undeclared(self, reader: TrajectoryReader) -> Iterator[Finding]:
        known = {*reader.schema.blocks, "step", "time", "meta", "box", "zarr.json", JOURNAL_NAME}
        for name in self._source.children(names.TRAJECTORY):
            if name not in known and read_document(self._source, f"{names.TRAJECTORY}/{name}") is not None:
                yield Finding(
                    "unknown-node", f"{names.TRAJECTORY}/{name}", "info", "not declared; it is preserved and not read"
                )
        for name, declared in reader.schema.blocks.items():
            yield from self._undeclared_columns(name, declared)

    def _undeclared_columns(self, name: str, declared: BlockSchema) -> Iterator[Finding]:
        known = {*declared.columns, names.OFFSET, names.STEP_INDEX, names.VALIDITY, "zarr.json"}
        path = f"{names.TRAJECTORY}/{name}"
        for child in self._source.children(path):
            if child not in known and read_document(self._source, f"{path}/{child}") is not None:
                yield Finding("unknown-node", f"{path}/{child}", "info", "not declared; it is preserved and not read")


def _distinct_pairs(reader: TrajectoryReader, name: str, target: str) -> list[int]:
    """Return an ordinal for every pair of an update of one block and a row count of another."""
    if not len(reader):
        return []
    ordinals = np.arange(len(reader))
    updates = reader.block_reader(name).index.updates_at(ordinals)
    shown = reader.block_reader(target).index
    target_updates = shown.updates_at(ordinals)
    starts, stops = shown.spans(np.maximum(target_updates, 0)) if shown.count else (ordinals * 0, ordinals * 0)
    rows = np.where(target_updates < 0, -1, stops - starts)
    _, first = np.unique(np.stack([updates, rows], axis=1), axis=0, return_index=True)
    return sorted(first.tolist())


def _read_each_update(reader: TrajectoryReader, name: str) -> None:
    for ordinal in reader.block_reader(name).index.ordinals().tolist():
        reader[ordinal]  # reading a frame checks its references


def _loose_endpoints(where: str, frame: Frame, only: str | None = None) -> Iterator[Finding]:
    """Report endpoints that no declaration holds to anything and that reference rows which are not there."""
    for name, block in frame.items():
        if only not in (None, name):
            continue
        dtypes = {column: block.dtype(column) for column in block.columns}
        for column, target in same_container_references(dtypes, block.targets).items():
            if column in block.targets:
                continue
            rows = frame[target].rows if target in frame else None
            try:
                check_rows(block[column], block.validity(column), target, rows, f"{where}: {name}/{column}")
            except SchemaError as error:
                yield Finding("loose-endpoint", f"{where}/{name}", "warning", error.message)


def _arrays(block: BlockReader) -> Iterator[tuple[ArrayReader, float | None]]:
    for name, array in block.columns.items():
        yield array, block.precision.get(name)
    for array in block.masks.values():
        yield array, None


def _off_grid_columns(section: str, frame: Frame) -> Iterator[Finding]:
    for name, block in frame.items():
        for column in block.columns:
            precision = block.precision(column)
            if precision is not None and not on_grid(block[column], precision):
                yield _off_grid(f"{section}/{name}/{column}", precision)


def _flat_cells(where: str, cells: Iterable[Box]) -> Iterator[Finding]:
    for cell in cells:
        if cell.cell_defined and np.linalg.det(cell.vectors) == 0.0:
            yield Finding(
                "singular-cell", where, "warning", "a cell without volume; other readers of the format may refuse it"
            )
            return


def _off_grid(where: str, precision: float | None) -> Finding:
    return Finding(
        "off-grid-value",
        where,
        "warning",
        f"declares precision {precision!r} but holds values off its grid; the writer did not round them",
    )


def _check_shared_block(name: str, system: Frame, reader: TrajectoryReader) -> Iterator[Finding]:
    where = f"{names.TRAJECTORY}/{name}"
    try:
        block = reader.block_reader(name)
        counts = np.diff(block.index.offsets())
        rows = system[name].rows
        if (counts != rows).any():
            yield Finding(
                "reject-system-row-count",
                where,
                "error",
                f"system/{name} has {rows} rows but an update has {int(counts[counts != rows][0])}; side by side they "
                "share one row count",
            )
        columns = set(block.declared.columns) & set(system[name].columns)
        if columns - {"id"}:
            listed = ", ".join(sorted(columns - {"id"}))
            yield Finding("reject-system-shared-column", where, "error", f"system and trajectory both hold {listed}")
        if "id" in columns and not (counts != rows).any():
            stored = block.columns["id"].read(0, block.index.rows).reshape(-1, max(1, rows))
            if (stored != system[name]["id"]).any():
                yield Finding("reject-system-id", where, "error", "an update's id values differ from the system's")
    except FormatError:
        return  # reported with the block itself
