"""The front door to one record: open it lazily, or write one whole (``docs/spec/record.md``)."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from molrec.errors import FormatError, SchemaError
from molrec.model.frame import Frame
from molrec.model.schema import SequenceSchema
from molrec.model.versions import with_forcefield_version
from molrec.storage.zarr import names
from molrec.storage.zarr.files import TEMPORARY, sync_directory
from molrec.storage.zarr.forcefield_group import read_forcefield_group
from molrec.storage.zarr.frame_group import read_frame_group
from molrec.storage.zarr.lock import WriterLock
from molrec.storage.zarr.metrics_group import MetricsReader, read_metrics
from molrec.storage.zarr.observables_group import ObservablesReader, read_observables
from molrec.storage.zarr.packing import pack
from molrec.storage.zarr.root import (
    create_root,
    list_sections,
    read_meta,
    read_section_document,
    refuse_existing,
    require_root,
)
from molrec.storage.zarr.sources import DirectorySource, Source, StoreSource, ZipSource, read_document
from molrec.storage.zarr.trajectory_reader import TrajectoryReader, TrajectoryView
from molrec.storage.zarr.trajectory_writer import TrajectoryWriter

if TYPE_CHECKING:
    from molrec.model.forcefield import ForceField
    from molrec.model.forcefield_section import ForceFieldSection
    from molrec.model.metrics import MetricSeries
    from molrec.model.observable import Observable

__all__ = ["SECTIONS", "Record", "open_record", "open_source", "put_in_place", "write_record"]

#: Every section the format knows, in the order trees are drawn.
SECTIONS: tuple[str, ...] = (
    "meta", "system", "frame", "trajectory", "forcefield", "observables", "method", "status", "metrics",
)  # fmt: skip
#: A record has at least one of these beside `meta`.
_SUBSTANTIVE = ("frame", "system", "trajectory", "forcefield", "status")


def open_source(location: Any) -> Source:
    """Return the source behind a folder, a packed record, a URL, or a Zarr store.

    Raises:
        FormatError: Nothing there (``reject-not-a-record``), or a damaged zip.
    """
    if isinstance(location, str) and "://" in location and not location.startswith("file://"):
        return _remote(location)
    if not isinstance(location, (str, os.PathLike)):
        return StoreSource(location)
    path = Path(os.fspath(location).removeprefix("file://"))
    if path.is_dir():
        return DirectorySource(path)
    if path.is_file():
        return ZipSource(path)
    raise FormatError(f"{path}: neither a record folder nor a packed record is there", "reject-not-a-record")


def _remote(url: str) -> Source:
    try:
        from obstore.store import from_url
    except ImportError as error:
        raise ImportError(f"opening {url} needs the extra molrec[remote] (pip install 'molrec[remote]')") from error
    from zarr.storage import ObjectStore

    return StoreSource(ObjectStore(from_url(url), read_only=True), name=url)


def open_record(location: Any) -> Record:
    """Open a record: a folder ``*.mrec``, a packed ``*.mrec.zip``, a URL, or any Zarr store holding one.

    Opening reads the root and the meta document; sections are read when they are asked for.

    Raises:
        FormatError: Not a record, or of a version this library does not read.
    """
    return Record(open_source(location))


class Record:
    """An open record. Sections that are not there are None; `close` (or a ``with`` block) releases files.

    Raises:
        FormatError: Not a record (``reject-not-a-record``), or a version beyond this library
            (``reject-molrec-version``).
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        require_root(source)
        self._meta = read_meta(source)

    @property
    def meta(self) -> dict[str, Any]:
        """The meta document (a copy)."""
        return dict(self._meta)

    @cached_property
    def sections(self) -> tuple[str, ...]:
        """Names of the nodes below the root, unknown ones included, sorted."""
        return list_sections(self.source)

    @cached_property
    def frame(self) -> Frame | None:
        """The ``frame`` section."""
        return read_frame_group(self.source, "frame")

    @cached_property
    def system(self) -> Frame | None:
        """The ``system`` section."""
        return read_frame_group(self.source, "system")

    @cached_property
    def trajectory(self) -> TrajectoryReader | None:
        """The ``trajectory`` section, at the frame count committed when it was first asked for."""
        document = read_document(self.source, names.TRAJECTORY)
        return None if document is None else TrajectoryReader(self.source, document)

    def joined(self, index: int = 0) -> Frame:
        """Return the whole of one frame: the blocks of the system and of a frame of the trajectory, as one frame.

        Without a trajectory it is the ``frame`` section; arrays are shared and read-only. This is what a force field
        prices.

        Args:
            index: Frame of the trajectory.

        Raises:
            SchemaError: The record has neither a trajectory nor a frame (``reject-no-frames``).
        """
        from molrec.model.collection import joined_frame

        trajectory = self.trajectory
        if trajectory is not None:
            return joined_frame(self.system, _without_shared_ids(trajectory[index], self.system))
        found = self.frame if self.frame is not None else self.system
        if found is None:
            raise SchemaError(f"{self.source.name} has no trajectory, frame or system", "reject-no-frames")
        return found

    @cached_property
    def forcefield(self) -> ForceField | None:
        """The ``forcefield`` section as an object; its numbers are those stored, in the units it states.

        Raises:
            FormatError: The section breaks the format (``docs/spec/forcefield.md``).
        """
        from molrec.model.forcefield import ForceField

        section = self.forcefield_section
        return None if section is None else ForceField.from_section(section)

    @cached_property
    def forcefield_section(self) -> ForceFieldSection | None:
        """The ``forcefield`` section as it lies in the record: a document and its tables."""
        return read_forcefield_group(self.source, self._meta)

    @cached_property
    def status(self) -> dict[str, Any] | None:
        """The ``status`` document.

        Raises:
            FormatError: It breaks a rule (``docs/spec/status-and-method.md``).
        """
        return read_section_document(self.source, "status")

    @cached_property
    def method(self) -> dict[str, Any] | None:
        """The ``method`` document.

        Raises:
            FormatError: It breaks a rule (``docs/spec/status-and-method.md``).
        """
        return read_section_document(self.source, "method")

    @cached_property
    def observables(self) -> ObservablesReader | None:
        """The ``observables`` section: a mapping from name to `Observable`; values are read when one is looked up.

        Raises:
            FormatError: The section breaks the format (``docs/spec/observables.md``).
        """
        return read_observables(self.source)

    @cached_property
    def metrics(self) -> MetricsReader | None:
        """The ``metrics`` section, as it was when first asked for: a mapping from key to series.

        A series has ``values`` (f64), ``steps`` (i64 or None) and ``wall_time`` (strings).

        Raises:
            FormatError: The section breaks the format (``docs/spec/metrics.md``).
        """
        return read_metrics(self.source)

    def close(self) -> None:
        """Release files; arrays already handed out stay valid."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Record {self.source.name}: {', '.join(self.sections)}>"


def _without_shared_ids(frame: Frame, system: Frame | None) -> Frame:
    """Leave out the identifiers a frame repeats from the system, with which they agree."""
    shared = [
        name for name in frame if system is not None and name in system and "id" in frame[name] and "id" in system[name]
    ]
    if not shared:
        return frame
    blocks = {name: block.copy() if name in shared else block for name, block in frame.items()}
    for name in shared:
        del blocks[name]["id"]
    return Frame._trusted(blocks, frame.meta, frame.box)


# -- writing --------------------------------------------------------------------------------------------------------


def write_record(
    path: str | os.PathLike[str],
    frame: Frame | None = None,
    system: Frame | None = None,
    trajectory: Iterable[Frame] | None = None,
    forcefield: ForceField | ForceFieldSection | None = None,
    observables: Mapping[str, Observable] | None = None,
    status: Mapping[str, Any] | None = None,
    method: Mapping[str, Any] | None = None,
    metrics: Mapping[str, MetricSeries] | None = None,
    meta: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = False,
    profile: str = "live",
    compression: str | None = None,
) -> Path:
    """Write a whole record, in one step: it is there complete or not at all.

    Args:
        path: Folder ``*.mrec``, or ``*.zip`` for a packed record.
        frame: A snapshot.
        system: The static part of the system.
        trajectory: Frames; a trajectory reader or view brings its steps, times and declaration along.
        forcefield: A force field, as an object or a section.
        observables: Observables by name.
        status: Status document.
        method: Method document.
        metrics: Series by key, as `Record.metrics` gives them.
        meta: Meta document; ``molrec_version`` is stamped.
        overwrite: Replace the known sections of a record that is there; its unknown nodes and foreign files stay.
        profile: ``live`` or ``archive`` extents for the trajectory.
        compression: Compressor of float columns, as for `TrajectoryWriter`.

    Raises:
        SchemaError: No substantive section (``reject-empty-record``), the path exists (``reject-existing-path``), or
            a part is inadmissible.
    """
    target = Path(path)
    given = {
        "frame": frame,
        "system": system,
        "trajectory": trajectory,
        "forcefield": forcefield,
        "status": status,
        "method": method,
    }
    if all(given[name] is None for name in given if name in _SUBSTANTIVE):
        raise SchemaError(
            f"{target}: a record holds at least one of {', '.join(_SUBSTANTIVE)} beside meta", "reject-empty-record"
        )
    if not overwrite:
        refuse_existing(target)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}{TEMPORARY}")
    frames = {name: part for name, part in (("frame", frame), ("system", system)) if part is not None}
    documents = {name: part for name, part in (("status", status), ("method", method)) if part is not None}
    section = None if forcefield is None else _section_of(forcefield)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        stated = meta if section is None else with_forcefield_version(meta, section.version)
        create_root(temporary, stated, frames, documents, section, observables, metrics)
        if trajectory is not None:
            _write_trajectory(temporary, trajectory, profile, compression)
        put_in_place(temporary, target, overwrite)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _section_of(forcefield: ForceField | ForceFieldSection) -> ForceFieldSection:
    """Return a checked section."""
    from molrec.model.forcefield import ForceField

    if isinstance(forcefield, ForceField):
        return forcefield.to_section()
    forcefield.check()
    return forcefield


def _write_trajectory(root: Path, trajectory: Iterable[Frame], profile: str, compression: str | None) -> None:
    if isinstance(trajectory, (TrajectoryReader, TrajectoryView)):
        frames: Sequence[Frame] = trajectory
        schema, steps, times = trajectory.schema, trajectory.steps.tolist(), trajectory.times
    else:
        frames = list(trajectory)
        schema, steps, times = SequenceSchema.from_frames(frames), list(range(len(frames))), None
    with TrajectoryWriter.in_record(root, schema, compression=compression, profile=profile) as writer:
        for position, frame in enumerate(frames):
            writer.append(frame, step=steps[position], time=None if times is None else float(times[position]))


def put_in_place(temporary: Path, target: Path, overwrite: bool) -> None:
    """Move a finished record to its path, carrying over what the record there holds beyond the known sections."""
    if target.suffix == ".zip":
        if target.exists():
            _carry_over(ZipSource(target), temporary)
        pack(temporary, target, overwrite=overwrite)
        return
    if not target.exists():
        os.rename(temporary, target)
        sync_directory(target.parent)
        return
    old = DirectorySource(target)
    require_root(old)
    with WriterLock(target):
        _carry_over(old, temporary)
        aside = target.with_name(f".{target.name}.{uuid.uuid4().hex}.old{TEMPORARY}")
        os.rename(target, aside)
        os.rename(temporary, target)
        sync_directory(target.parent)
        shutil.rmtree(aside)


def _carry_over(old: Source, temporary: Path) -> None:
    """Copy the nodes and files of a record that are not its known sections."""

    def copy(path: str) -> None:
        content = old.get(path)
        if content is None:
            for name in old.children(path):
                copy(f"{path}/{name}")
            return
        file = temporary / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    for name in old.children(""):
        if name not in SECTIONS and name != "zarr.json":
            copy(name)
    root = old.get("zarr.json")
    if root is not None:
        (temporary / "zarr.json").write_bytes(root)
