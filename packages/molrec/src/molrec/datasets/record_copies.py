"""Records into a collection: those of other collections as they are, those of their own store or of foreign files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from molrec.conversion import is_record
from molrec.errors import FormatError, SchemaError
from molrec.formats.notes import Notes
from molrec.formats.registry import formats
from molrec.formats.series import Progress, ScannedSeries, TimedFrame
from molrec.interop.label_places import LABELS
from molrec.interop.labelled_records import index_of_labels
from molrec.model.collection import INDEX_COLUMNS, UNITS
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.storage.lmdb.collection_writer import CollectionWriter
from molrec.storage.lmdb.opening import open_collection
from molrec.storage.zarr.record import Record, open_record

if TYPE_CHECKING:
    from molrec.model.collection import RunLike
    from molrec.model.forcefield_section import ForceFieldSection

__all__ = ["CopyJob", "chosen", "copy_collections", "copy_records"]

_CARRIED = frozenset({"meta", "system", "trajectory", "frame", "forcefield"})
_MIXED = "reject-mixed-inputs"


def chosen(count: int, select: slice, indices: Iterable[int] | None, where: str) -> Sequence[int]:
    """Return the numbers of the records to take.

    Raises:
        SchemaError: An index is none, or both a slice and indices are given (``reject-frame-selection``).
    """
    if indices is None:
        return range(count)[select]
    if select != slice(None):
        raise SchemaError("records are chosen by a slice or by indices, not by both", "reject-frame-selection")
    numbers = [int(number) for number in indices]
    for number in numbers:
        if not 0 <= number < count:
            raise SchemaError(f"{where} has {count} records, none of number {number}", "reject-frame-selection")
    return numbers


# -- of collections ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CopyJob:
    """Where records go, and which of them.

    Attributes:
        target: The collection to create.
        units: Quantity to unit, where the records do not say.
        index: Keys that become columns of the index.
        select: Which records to take.
        indices: Which records to take, in this order.
        overwrite: Whether a collection that is there is replaced.
        notes: Told what is left out.
        progress: Called with records done and records in all.
    """

    target: Path
    units: Mapping[str, str] | None
    index: Sequence[str] | None
    select: slice
    indices: Iterable[int] | None
    overwrite: bool
    notes: Notes
    progress: Progress


def copy_collections(paths: Sequence[str | Path], job: CopyJob) -> int:
    """Copy records of collections, one after the other, to a new one; return how many.

    Units, labels and force field are those all of them state. Columns of the index come along, or are looked up anew
    where the job names them.

    Raises:
        SchemaError: The collections do not agree (``reject-mixed-inputs``), or a choice is none.
        FormatError: One is damaged.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(open_collection(path)) for path in paths]
        first = opened[0]
        for other in opened[1:]:
            for what in (UNITS, LABELS):
                if first.meta.get(what) != other.meta.get(what):
                    raise SchemaError(
                        f"{first.path} and {other.path} state different {what}; convert them to collections of their "
                        "own",
                        _MIXED,
                    )
            if first.forcefield_section != other.forcefield_section:
                raise SchemaError(f"{first.path} and {other.path} have different force fields", _MIXED)
        if job.units is not None and dict(job.units) != first.meta[UNITS]:
            raise SchemaError(f"{first.path} states its units: {first.units}; leave --units out", _MIXED)
        starts = [0]
        for collection in opened:
            starts.append(starts[-1] + len(collection))
        numbers = chosen(starts[-1], job.select, job.indices, str(first.path))
        meta = {key: value for key, value in first.meta.items() if key not in (UNITS, "molrec_version", "sources")}
        own = [name for name in first.index.columns if name not in INDEX_COLUMNS]
        own = [name for name in own if all(name in collection.index for collection in opened)]
        for collection in opened:
            for name in collection.index.columns:
                if name not in INDEX_COLUMNS and name not in own and job.index is None:
                    job.notes.lost(f"index column {name!r}", "is left out; not every collection has it")
        with CollectionWriter(
            job.target,
            first.meta[UNITS],
            forcefield=first.forcefield_section,
            index=dict.fromkeys(own) if job.index is None else index_of_labels(job.index),
            meta=meta,
            overwrite=job.overwrite,
        ) as writer:
            for number in numbers:
                place = next(place for place in range(len(opened)) if number < starts[place + 1])
                collection, row = opened[place], number - starts[place]
                values = {name: _value(collection.index, name, row) for name in own} if job.index is None else None
                writer.append(collection[row], index=values)
                job.progress(len(writer), len(numbers))
            return len(writer)


def _value(index: Any, name: str, row: int) -> Any:
    mask = index.validity(name)
    return None if mask is not None and not mask[row] else index[name][row]


# -- of their own -----------------------------------------------------------------------------------------------------


def copy_records(paths: Sequence[str | Path], job: CopyJob, source_format: str | None = None) -> int:
    """Write records, or foreign files as records, to a new collection; return how many.

    The units are those the records state, which all have to agree; a force field is carried where all have the same.

    Raises:
        SchemaError: No units are stated (``reject-no-units``), or records do not agree (``reject-mixed-inputs``).
        FormatError: One is damaged.
    """
    numbers = chosen(len(paths), job.select, job.indices, f"the list of {len(paths)} inputs")
    taken = [paths[number] for number in numbers]
    if not taken:
        raise FormatError("no record is left to convert", "reject-no-frames")
    stated, section = _common(taken, job.units, source_format, job.notes)
    with CollectionWriter(
        job.target,
        stated,
        forcefield=section,
        index=None if job.index is None else index_of_labels(job.index),
        meta={"sources": [{"file": Path(str(path)).name, "records": 1} for path in taken]},
        overwrite=job.overwrite,
    ) as writer:
        for path in taken:
            with ExitStack() as stack:
                part = _part(path, source_format, stack, job.notes)
                if part.run is None:
                    writer.append(None, meta=part.meta, system=part.system)
                elif isinstance(part.run, _Unzipped):
                    run = part.run
                    writer.append(
                        run.frames(),
                        meta=part.meta,
                        system=part.system,
                        step=run.steps(),
                        time=run.times() if run.has_times else None,
                    )
                else:
                    writer.append(part)
            job.progress(len(writer), len(taken))
        return len(writer)


class _Part:
    """What of a record goes into a collection, and the units it states."""

    def __init__(
        self, meta: Mapping[str, Any], system: Frame | None, run: RunLike | _Unzipped | None, units: Any, section: Any
    ) -> None:
        self.meta = dict(meta)
        self.system = system
        self.run = run
        self.units = units
        self.section = section

    @property
    def trajectory(self) -> Any:
        """The run, as a collection asks for it."""
        return self.run


class _Unzipped:
    """Frames with steps and times as three streams that keep pace."""

    def __init__(self, frames: Iterable[TimedFrame]) -> None:
        self._frames = iter(frames)
        self._now = next(self._frames, None)
        self.has_times = self._now is not None and self._now.time is not None

    def frames(self) -> Iterator[Frame]:
        """Yield the frames."""
        while self._now is not None:
            yield self._now.frame
            self._now = next(self._frames, None)

    def steps(self) -> Iterator[int]:
        """Yield the step of the frame just taken."""
        while self._now is not None:
            yield self._now.step

    def times(self) -> Iterator[Any]:
        """Yield the time of the frame just taken."""
        while self._now is not None:
            yield self._now.time


def _part(path: str | Path, source_format: str | None, stack: ExitStack, notes: Notes) -> _Part:
    if source_format is None and is_record(path):
        return _part_of_record(stack.enter_context(open_record(path)), notes)
    found = formats().for_reading(Path(path), source_format)
    assert found.open_source is not None
    series = ScannedSeries([found.open_source(Path(path))], notes=notes)
    system, units = _without_units(series.system())
    return _Part({}, system, _Unzipped(series), units, None)


def _part_of_record(record: Record, notes: Notes) -> _Part:
    for name in set(record.sections) - _CARRIED:
        notes.lost(f"section {name!r} of {record.source.name}", "is left out; a collection has no place for it")
    system, units = _without_units(record.system)
    run: RunLike | _Unzipped | None = record.trajectory
    if record.frame is not None:
        frame, own = _without_units(record.frame)
        if run is None and frame is not None:
            run, units = _Unzipped([TimedFrame(frame, 0, None)]), units or own
        else:
            notes.lost(f"section 'frame' of {record.source.name}", "is left out; its trajectory is taken")
    return _Part(record.meta, system, run, units, record.forcefield_section)


def _without_units(frame: Frame | None) -> tuple[Frame | None, Any]:
    """Return a system without its units, and those; None where nothing is left."""
    if frame is None or UNITS not in frame.meta:
        return frame, None
    meta = Meta()
    for key in frame.meta:
        if key != UNITS:
            meta.set(key, frame.meta[key], tag=frame.meta.tag(key))
    units = frame.meta[UNITS]
    rest = Frame(dict(frame.items()), meta=meta, box=frame.box)
    return (rest if rest.blocks or meta or frame.box is not None else None), units


def _common(
    paths: Sequence[str | Path], units: Mapping[str, str] | None, source_format: str | None, notes: Notes
) -> tuple[Mapping[str, str], ForceFieldSection | None]:
    """Return the units all records state, or those given, and the force field all of them have."""
    stated, sections = units, []
    quiet = Notes()
    for path in paths:
        with ExitStack() as stack:
            part = _part(path, source_format, stack, quiet)
            sections.append(part.section)
            if part.units is None and units is None:
                raise SchemaError(
                    f"{path} does not say what units it is in, and a collection states them: give --units",
                    "reject-no-units",
                )
            if part.units is not None:
                if stated is not None and dict(part.units) != dict(stated):
                    raise SchemaError(
                        f"{path} is in {dict(part.units)}, not in {dict(stated)} as those before it, or as asked for",
                        _MIXED,
                    )
                stated = part.units
    assert stated is not None
    if all(section == sections[0] for section in sections):
        return stated, sections[0]
    notes.lost("force field", "is left out; the records have different ones, and a collection has one")
    return stated, None
