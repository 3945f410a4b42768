"""Judging a record: every rule, not just those a reader meets on its way (``docs/spec/validation.md``).

`validate` reads a record section by section, chunk by chunk, and reports what is wrong as findings: an ``error`` breaks
a MUST, a ``warning`` a SHOULD, ``info`` is worth knowing. It never raises for the record's faults and never changes it.
What is looked for stands in the modules named ``..._findings``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import starmap
from typing import Any, Literal

from molrec.checks.content_findings import Found, TypeNames, pair_findings, style_findings, unresolved_findings
from molrec.checks.frame_findings import Units, broken_frame_findings, frame_findings, read_or_find
from molrec.checks.meta_findings import meta_findings, version_findings
from molrec.checks.section_findings import document_findings, metrics_findings, observables_findings
from molrec.checks.store_findings import archive_findings, array_findings
from molrec.checks.trajectory_findings import trajectory_findings
from molrec.datasets.files import is_collection
from molrec.errors import FormatError, SchemaError
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame
from molrec.storage.zarr import names
from molrec.storage.zarr.forcefield_group import FORCEFIELD, read_forcefield_group
from molrec.storage.zarr.frame_group import read_frame_group
from molrec.storage.zarr.metrics_log import METRICS
from molrec.storage.zarr.observables_group import OBSERVABLES
from molrec.storage.zarr.record import SECTIONS, open_source
from molrec.storage.zarr.root import list_sections, read_meta, require_root
from molrec.storage.zarr.sources import Source

__all__ = ["Finding", "Severity", "validate"]

type Severity = Literal["error", "warning", "info"]
type Progress = Callable[[int, int], None]

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
    """Check a whole record or collection and return its findings, errors first; an empty list is one without fault.

    Args:
        location: Folder, packed record, URL or Zarr store; or a collection, or a folder or pattern of its shards.
        progress: Called with rows checked and rows in all; of a collection, with records.

    Raises:
        OSError: The record cannot be read at all.
    """
    if is_collection(location):
        from molrec.checks.collection_validation import collection_findings

        return _in_order(starmap(Finding, collection_findings(location, progress)))
    try:
        source = open_source(location)
    except FormatError as error:
        return [Finding(error.rule, str(location), "error", error.message.removeprefix(f"{location}: "))]
    try:
        return _in_order(_Validation(source, progress).run())
    finally:
        source.close()


def _in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with the gravest first, otherwise as they came."""
    order = ("error", "warning", "info")
    return sorted(findings, key=lambda finding: order.index(finding.severity))


class _Validation:
    """One pass over one record."""

    def __init__(self, source: Source, progress: Progress | None) -> None:
        self._source = source
        self._progress = progress

    def run(self) -> Iterator[Finding]:
        """Yield the findings of every section; what a finding says begins with neither the record nor the place."""
        for rule, where, severity, message in self._findings():
            short = message.removeprefix(f"{self._source.name}: ").removeprefix(f"{where}: ")
            yield Finding(rule, where, severity, short)

    def _findings(self) -> Iterator[Found]:
        found: list[Found] = []
        read_or_find(found, "/", lambda: require_root(self._source))
        sections = read_or_find(found, "/", lambda: list_sections(self._source)) if not found else None
        yield from found
        if sections is None:
            return
        yield from meta_findings(self._source)
        yield from _section_findings(sections)
        forcefield = None
        if FORCEFIELD in sections:
            own: list[Found] = []
            forcefield = self._forcefield(own)
            yield from own
        frames: dict[str, Frame] = {}
        for name in ("system", "frame"):
            try:
                frame = read_frame_group(self._source, name)
            except FormatError as error:
                yield from broken_frame_findings(self._source, name, error)
            else:
                frames |= {} if frame is None else {name: frame}
        units = _units_of(frames.values())
        for name, frame in frames.items():
            yield from frame_findings(self._source, name, frame, units=units)
            yield from _type_findings(name, frame, forcefield)
        if names.TRAJECTORY in sections:
            yield from trajectory_findings(
                self._source, frames.get("system"), forcefield, units=units, progress=self._progress
            )
        for name in ("method", "status"):
            if name in sections:
                yield from document_findings(self._source, name)
        if OBSERVABLES in sections:
            yield from observables_findings(self._source)
        if METRICS in sections:
            yield from metrics_findings(self._source)
        yield from array_findings(self._source)
        yield from archive_findings(self._source)

    def _forcefield(self, found: list[Found]) -> ForceField | None:
        """Return the force field where it is sound, and note what is wrong with it."""
        meta = read_or_find([], "meta", lambda: read_meta(self._source))
        section = read_or_find(found, FORCEFIELD, lambda: read_forcefield_group(self._source, meta or {}))
        if section is None:
            return None
        found += version_findings(section)
        if not section.is_understood:
            return None
        forcefield = read_or_find(found, FORCEFIELD, lambda: ForceField.from_section(section))
        if forcefield is not None:
            found += style_findings(FORCEFIELD, forcefield)
            found += pair_findings(FORCEFIELD, forcefield)
        return forcefield


def _units_of(frames: Iterable[Frame]) -> Units:
    """Return the units the first of some frames states, which hold for what states none of its own."""
    for frame in frames:
        try:
            if frame.units is not None:
                return frame.units
        except SchemaError:
            continue  # reported with its section
    return None


def _type_findings(section: str, frame: Frame, forcefield: ForceField | None) -> Iterator[Found]:
    if forcefield is None:
        return
    for name, block in frame.items():
        if "type" in block:
            named = TypeNames(name)
            named.add_block(block)
            yield from unresolved_findings(f"{section}/{name}", named, forcefield, block)


def _section_findings(sections: Iterable[str]) -> Iterator[Found]:
    found = set(sections)
    if "meta" not in found:
        yield "no-meta-section", "/", "warning", "the record has no meta section; it reads as an empty one"
    if not found & set(_SUBSTANTIVE):
        message = f"the record holds none of {', '.join(_SUBSTANTIVE)} beside meta"
        yield "reject-empty-record", "/", "error", message
    for name in sections:
        if name not in SECTIONS:
            yield "unknown-section", name, "info", "an unknown section; it is preserved"
