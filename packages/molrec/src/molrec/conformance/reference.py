"""The reference: this library, seen through adapters over its public functions.

`molrec` reads and writes record folders and collections, `packed` packed records (``*.mrec.zip``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import molrec as mr
from molrec.conformance import content as plain
from molrec.conformance.adapters import (
    CollectionAdapter,
    ForceFieldAdapter,
    FrameAdapter,
    Implementation,
    RecordAdapter,
    TrajectoryAdapter,
)
from molrec.conformance.documents import plain_json, schema_from_document
from molrec.conformance.objects import (
    block_content,
    forcefield_content,
    frame_content,
    optional_frame,
    record_content,
    to_frame,
    to_schema,
    to_section,
    trajectory_content,
)

__all__ = ["Collections", "ForceFields", "Frames", "Records", "Trajectories", "molrec", "packed"]

_REFUSALS = (mr.SchemaError, mr.FormatError)


# -- adapters ---------------------------------------------------------------------------------------------------------


@contextmanager
def _folder_for(path: Path) -> Iterator[Path]:
    """Give the folder to write to: the path itself, or one that is packed to it afterwards."""
    if path.suffix != ".zip":
        yield path
        return
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        folder = Path(scratch) / path.name.removesuffix(".zip")
        yield folder
        mr.pack(folder, path)


class Frames(FrameAdapter):
    """Frames in record folders."""

    refusals = _REFUSALS

    def write(self, path: Path, content: plain.Frame) -> None:
        """Write the section ``frame``."""
        mr.write(path, frame=to_frame(content))

    def read(self, path: Path) -> plain.Frame:
        """Read the section ``frame``."""
        with mr.open(path) as record:
            assert record.frame is not None
            return frame_content(record.frame)


class Trajectories(TrajectoryAdapter):
    """Runs in record folders."""

    refusals = _REFUSALS

    def write(self, path: Path, content: plain.Run) -> None:
        """Write the section ``trajectory``."""
        with _folder_for(path) as folder:
            write_run(folder, content)

    def append(self, path: Path, content: plain.Run) -> None:
        """Continue a run."""
        with mr.TrajectoryWriter.reopen(path) as writer:
            _append(writer, content)

    def read(self, path: Path) -> plain.Trajectory:
        """Read the section ``trajectory``."""
        with mr.open(path) as record:
            assert record.trajectory is not None
            return trajectory_content(record.trajectory)


def write_run(
    folder: Path, run: plain.Run, meta: Mapping[str, Any] | None = None, system: plain.Frame | None = None
) -> None:
    """Write a run into a new record folder, beside a system where there is one."""
    with mr.TrajectoryWriter(folder, to_schema(run.schema), meta=meta, system=optional_frame(system)) as writer:
        _append(writer, run)


def _append(writer: mr.TrajectoryWriter, run: plain.Run) -> None:
    for presented in run.frames:
        writer.append(to_frame(presented.frame), step=presented.step, time=presented.time)


class Records(RecordAdapter):
    """Record folders."""

    refusals = _REFUSALS

    def write(self, path: Path, content: plain.Record) -> None:
        """Write every section that is there."""
        run = content.run
        others = (content.frame, content.forcefield, content.status, content.method)
        if run is not None and others == (None,) * 4:
            with _folder_for(path) as folder:
                write_run(folder, run, content.meta, content.system)
            return
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            trajectory = None
            if run is not None:
                write_run(Path(scratch) / "run.mrec", run, None, content.system)
                trajectory = mr.open(Path(scratch) / "run.mrec").trajectory
            mr.write(
                path,
                frame=optional_frame(content.frame),
                system=optional_frame(content.system),
                trajectory=trajectory,
                forcefield=None if content.forcefield is None else to_section(content.forcefield),
                status=content.status,
                method=content.method,
                meta=content.meta,
            )

    def read(self, path: Path) -> plain.Record:
        """Read every section."""
        with mr.open(path) as record:
            return record_content(record)


class ForceFields(ForceFieldAdapter):
    """Force fields in record folders."""

    refusals = _REFUSALS

    def write(self, path: Path, content: plain.ForceField) -> None:
        """Write the section ``forcefield``."""
        mr.write(path, forcefield=to_section(content))

    def read(self, path: Path) -> plain.ForceField:
        """Read the section ``forcefield``."""
        with mr.open(path) as record:
            section = record.forcefield_section
            assert section is not None
            return forcefield_content(section)

    def link(self, path: Path, frame: plain.Frame) -> None:
        """Link a frame with the stored force field."""
        from molrec.forcefield import link

        with mr.open(path) as record:
            assert record.forcefield is not None
            link(to_frame(frame), record.forcefield)


@dataclass(frozen=True, slots=True)
class _RunOfRecord(Sequence[mr.Frame]):
    """A run as a collection takes it: frames with declaration, steps and times."""

    frames: tuple[mr.Frame, ...]
    schema: mr.SequenceSchema
    steps: list[int]
    times: list[float] | None

    def __len__(self) -> int:
        return len(self.frames)

    @overload
    def __getitem__(self, index: int) -> mr.Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[mr.Frame]: ...
    def __getitem__(self, index: int | slice) -> mr.Frame | Sequence[mr.Frame]:
        return self.frames[index]


@dataclass(frozen=True, slots=True)
class _RecordOfCollection:
    """A record as a collection takes it."""

    meta: dict[str, Any]
    system: mr.Frame | None
    trajectory: _RunOfRecord | None


class Collections(CollectionAdapter):
    """Collections in LMDB files."""

    refusals = _REFUSALS

    def write(self, path: Path, content: plain.Collection) -> None:
        """Write a collection."""
        names = list(dict.fromkeys(name for record in content.records for name in record.index))
        with mr.CollectionWriter(
            path,
            units=content.units,
            schema=None if content.schema is None else to_schema(content.schema),
            forcefield=None if content.forcefield is None else to_section(content.forcefield),
            index=dict.fromkeys(names, _not_derived) or None,
            meta=content.meta,
        ) as writer:
            for record in content.records:
                writer.append(_record_of(record), index=record.index or None)

    def read(self, path: Path) -> plain.Collection:
        """Read a collection."""
        with mr.open_collection(path) as collection:
            section = collection.forcefield_section
            return plain.Collection(
                units=collection.units,
                records=[_record_content(collection[number]) for number in range(len(collection))],
                schema=schema_from_document(collection.schema.to_document()),
                forcefield=None if section is None else forcefield_content(section),
                index=block_content(collection.index),
                meta={key: plain_json(value) for key, value in collection.meta.items() if key != "units"},
            )


def _not_derived(_record: object) -> None:
    """Derive nothing: a case states every value of its index columns."""


def _record_of(record: plain.CollectionRecord) -> Any:
    run = record.run
    trajectory = None
    if run is not None:
        times = [presented.time for presented in run.frames if presented.time is not None]
        trajectory = _RunOfRecord(
            tuple(to_frame(presented.frame) for presented in run.frames),
            to_schema(run.schema),
            [presented.step for presented in run.frames],
            times or None,
        )
    return _RecordOfCollection(record.meta, optional_frame(record.system), trajectory)


def _record_content(record: Any) -> plain.CollectionRecord:
    run = record.trajectory
    trajectory = None
    if run is not None:
        found = trajectory_content(run)
        trajectory = plain.Trajectory(found.steps, found.times, None, found.frames)
    system = None if record.system is None else frame_content(record.system)
    return plain.CollectionRecord(plain_json(record.meta), system, trajectory=trajectory)


# -- implementations --------------------------------------------------------------------------------------------------


class _PackedFrames(Frames):
    suffix = ".mrec.zip"


class _PackedTrajectories(Trajectories):
    suffix = ".mrec.zip"

    def append(self, path: Path, content: plain.Run) -> None:
        raise NotImplementedError("a packed record is closed: it is unpacked to be continued")


class _PackedRecords(Records):
    suffix = ".mrec.zip"


class _PackedForceFields(ForceFields):
    suffix = ".mrec.zip"


#: Record folders, and collections.
molrec = Implementation("molrec", mr.__version__, Frames(), Records(), Trajectories(), ForceFields(), Collections())
#: Packed records.
packed = Implementation(
    "molrec, packed", mr.__version__, _PackedFrames(), _PackedRecords(), _PackedTrajectories(), _PackedForceFields()
)
