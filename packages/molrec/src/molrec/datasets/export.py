"""Collections to files: labelled structures as extended XYZ, exactly; one record as a record of its own.

What is written as extended XYZ is read back and compared with what was to be written, value for value; where the format
has no text for something, that is noted, or refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from molrec.conversion import Conversion, RecordOutput, Report, names_record
from molrec.conversion import stored_bytes as record_bytes
from molrec.datasets.conversion import stage
from molrec.datasets.files import stored_bytes
from molrec.datasets.record_copies import chosen
from molrec.errors import SchemaError
from molrec.formats.compressed import open_binary
from molrec.formats.notes import Notes
from molrec.formats.registry import formats
from molrec.formats.series import Progress, TimedFrame
from molrec.interop.labelled_sources import LabelledSource
from molrec.interop.structures import Structures, require_units
from molrec.model.collection import UNITS
from molrec.model.frame import Frame
from molrec.model.schema import SequenceSchema
from molrec.storage.lmdb.opening import open_collection
from molrec.storage.zarr.record import write_record

__all__ = ["export_collection"]

_RULE = "reject-mixed-inputs"


def export_collection(
    inputs: Sequence[str | Path],
    output: str | Path,
    *,
    select: slice = slice(None),
    indices: Iterable[int] | None = None,
    overwrite: bool = False,
    strict: bool = False,
    target_format: str | None = None,
    report: Report | None = None,
) -> Conversion:
    """Write records of a collection as extended XYZ, or one of them as a record.

    Args:
        inputs: One collection.
        output: A file for extended XYZ (``.xyz``, ``.extxyz``, perhaps compressed), or a record (``.mrec``,
            ``.mrec.zip``), which holds one record.
        select: Which records to take.
        indices: Which records to take, in this order.
        overwrite: Whether an output that is there is replaced.
        strict: Refuse what cannot be carried instead of noting it.
        target_format: Format of the output, where its suffix does not tell.
        report: Told about the progress.

    Returns:
        What was done; `Conversion.frames` counts structures.

    Raises:
        FormatError: The collection is damaged.
        SchemaError: The output exists, or cannot hold what is asked for. Nothing is left behind.
    """
    target = Path(output)
    if len(inputs) != 1:
        raise SchemaError(
            f"{len(inputs)} collections are not written as one file; convert them to one collection first", _RULE
        )
    if not overwrite and target.exists():
        raise SchemaError(f"{target} exists; choose another name or overwrite it", "reject-existing-path")
    notes = Notes(strict=strict)
    with open_collection(inputs[0]) as collection:
        numbers = chosen(len(collection), select, indices, str(collection.path))
        if names_record(target):
            return _record(collection, numbers, target, notes, overwrite=overwrite, report=report)
        found = formats().for_writing(target, target_format)
        if found.name != "extxyz":
            raise SchemaError(
                f"{target}: a collection is written as extended XYZ, not as {found.name}; name it *.xyz",
                "reject-unknown-format",
            )
        structures = Structures(collection, notes)
        if structures.table is None:
            require_units(collection.units, structures.where)
        frames = _frames(collection, numbers, notes)
        count = _extended_xyz(structures, frames, target, notes, report)
    return Conversion(target, count, stored_bytes(target), tuple(notes))


def _frames(collection: Any, numbers: Sequence[int], notes: Notes) -> list[int]:
    """Return the numbers of the frames of records; a record without frames has none to give."""
    firsts, counts = collection.index["first_frame"], collection.index["n_frames"]
    for number in numbers:
        if not counts[number]:
            notes.lost("record without frames", "is left out; a structure is a frame")
    return [
        frame for number in numbers for frame in range(int(firsts[number]), int(firsts[number]) + int(counts[number]))
    ]


def _extended_xyz(
    structures: Structures, numbers: Sequence[int], target: Path, notes: Notes, report: Report | None
) -> int:
    from mace_core.data.extxyz_writer import frame_text

    # the suffix stays last, where it chooses the compression
    temporary = target.with_name(f".{uuid.uuid4().hex}.tmp.{target.name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    progress = stage(report, "writing")
    try:
        with open_binary(temporary, "wb") as file:
            for done, raw in enumerate(structures.some(numbers), start=1):
                file.write(frame_text(raw, lambda name, what: _note_unsayable(notes, name, what)).encode())
                progress(done, len(numbers))
        # what structures have no place for was noted while they were written
        _compare(Structures(structures.collection), numbers, temporary, notes, report)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return len(numbers)


def _note_unsayable(notes: Notes, name: str, what: str) -> None:
    notes.lost(f"label {name!r}", f"is left out; extended XYZ has no text for a {what}")


def _compare(structures: Structures, numbers: Sequence[int], path: Path, notes: Notes, report: Report | None) -> None:
    """Read a file back and note what did not come through, each label once with the first structure it is seen in."""
    from mace_core.data.extxyz_writer import first_difference

    progress = stage(report, "comparing")
    found: Iterator[Any] = LabelledSource(path, "extxyz").structures() if numbers else iter(())
    unsayable = {note.subject.removeprefix("label ") for note in notes if note.subject.startswith("label ")}
    seen: set[str] = set()
    for done, (raw, back) in enumerate(zip(structures.some(numbers), found, strict=True), start=1):
        difference = first_difference(raw, back, besides=seen | unsayable)
        while difference is not None:
            seen.add(difference.what)
            notes.lost(f"label {difference.what}", f"{difference.how}, first in structure {done - 1}")
            difference = first_difference(raw, back, besides=seen | unsayable)
        progress(done, len(numbers))


def _record(
    collection: Any, numbers: Sequence[int], target: Path, notes: Notes, *, overwrite: bool, report: Report | None
) -> Conversion:
    """Write one record of a collection as a record of its own, with the collection's units and force field."""
    if len(numbers) != 1:
        raise SchemaError(
            f"{target} holds one record, and {len(numbers)} are chosen; choose one, or name the output *.mrec.lmdb",
            "reject-frame-selection",
        )
    record = collection[numbers[0]]
    if record.trajectory is not None:
        job = RecordOutput(target, notes, overwrite=overwrite, report=report)
        job.check_target()
        series = partial(_Series, collection, record)
        return job.write_new(series, record.meta, "archive", None, collection.forcefield)
    write_record(
        target,
        system=_system(collection, record),
        forcefield=collection.forcefield_section,
        meta=record.meta,
        overwrite=overwrite,
    )
    return Conversion(target, 0, record_bytes(target), tuple(notes))


def _system(collection: Any, record: Any) -> Frame:
    """Return a record's system with the units of the collection."""
    system = Frame() if record.system is None else record.system.copy()
    system.meta.set(UNITS, collection.units, tag="json")
    return system


class _Series:
    """The run of a record as the writer of records takes it."""

    def __init__(self, collection: Any, record: Any, _notes: Notes, progress: Progress | None) -> None:
        self._run = record.trajectory
        self._system = _system(collection, record)
        self._schema = collection.schema
        self._progress = progress

    def schema(self) -> SequenceSchema:
        """Return the declaration of the collection."""
        schema: SequenceSchema = self._schema
        return schema

    def system(self) -> Frame:
        """Return the system, units included."""
        return self._system

    def __len__(self) -> int:
        return len(self._run)

    def __iter__(self) -> Iterator[TimedFrame]:
        times = repeat(None) if self._run.times is None else self._run.times.tolist()
        for done, (frame, step, time) in enumerate(zip(self._run, self._run.steps.tolist(), times, strict=False), 1):
            yield TimedFrame(frame, step, time)
            if self._progress is not None:
                self._progress(done, len(self))
