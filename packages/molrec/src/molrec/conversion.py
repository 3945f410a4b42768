"""Files to records, records to files, records to records: what ``molrec convert`` does, as one function.

The place where foreign formats and storage meet. An output is there complete or not at all, also when the conversion
is interrupted.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import molrec
from molrec.errors import SchemaError
from molrec.formats.notes import Note, Notes
from molrec.formats.pairing import pair
from molrec.formats.registry import Format, formats
from molrec.formats.series import FrameSeries, Progress, ScannedSeries
from molrec.model.versions import with_forcefield_version
from molrec.record_series import RecordSeries, images_of
from molrec.storage.zarr.record import Record, open_record, open_source, put_in_place
from molrec.storage.zarr.repack import repack
from molrec.storage.zarr.root import create_root, refuse_existing, require_root
from molrec.storage.zarr.sources import Source
from molrec.storage.zarr.trajectory_writer import TrajectoryWriter

if TYPE_CHECKING:
    from molrec.model.forcefield import ForceField

__all__ = ["Conversion", "RecordOutput", "convert", "is_record", "names_record", "stored_bytes"]

#: Called with what is going on, steps done and steps in all (None: not known). The steps are frames, or bytes.
type Report = Callable[[str, int, int | None], None]

_ZIP_MAGIC = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a conversion did.

    Attributes:
        output: What was written.
        frames: Frames written, 0 where a record without a trajectory was copied.
        stored_bytes: Size of the output.
        notes: What was lost or changed on the way.
    """

    output: Path
    frames: int
    stored_bytes: int
    notes: tuple[Note, ...]


def convert(
    inputs: Sequence[str | Path],
    output: str | Path,
    *,
    precision: Mapping[str, float] | None = None,
    profile: str = "archive",
    compression: str | None = None,
    select: slice = slice(None),
    overwrite: bool = False,
    strict: bool = False,
    source_format: str | None = None,
    target_format: str | None = None,
    forcefield: bool = False,
    units: str | None = None,
    report: Report | None = None,
) -> Conversion:
    """Convert files or records; several inputs are read one after the other, as one run.

    A topology or structure followed by trajectories that say where atoms are but not what they are gives the frames of
    the trajectories with its atoms and bonds (`molrec.formats.pairing`).

    The output is a record where its name ends in ``.mrec`` or ``.zip``, else a file in the format its suffix stands
    for. One record to a record, all of it, at no new precision, is repacked: every node is carried over as it is.

    Args:
        inputs: Foreign files, or records (folder, packed, URL); not both.
        output: The record or file to write.
        precision: Column of the block ``atoms`` to its precision, in the column's unit.
        profile: Storage profile of a record.
        compression: Compressor of a record's float columns, as for `TrajectoryWriter`.
        select: Which frames to take, over all inputs.
        overwrite: Whether an output that is there is replaced.
        strict: Refuse what cannot be carried instead of noting it.
        source_format: Format of the foreign files, where content and suffix do not tell.
        target_format: Format of a foreign output, where its suffix does not tell.
        forcefield: Whether the first input is read for its force field, which the record then holds. Where that file
            describes a system, the inputs after it say where its atoms are.
        units: Unit preset of such a file that states none.
        report: Told about the progress.

    Raises:
        FormatError: An input is damaged or in no known format.
        SchemaError: The output exists, or the input does not fit it; the rule says why. Nothing is left behind.
        ImportError: The format needs a library that is not installed; the message names the extra.
    """
    job = RecordOutput(Path(output), Notes(strict=strict), overwrite=overwrite, report=report)
    records = [is_record(path) for path in inputs]
    _check_request(inputs, records, job.target, source_format, target_format)
    job.check_target()
    if forcefield:
        return _with_forcefield(job, [Path(path) for path in inputs], source_format, units, precision, select, profile)
    if not all(records):
        sources = [formats().for_reading(Path(path), source_format) for path in inputs]
        series = partial(_scanned, sources, [Path(path) for path in inputs], precision, select)
        return job.write_new(series, _meta(inputs, sources), profile, compression)
    with ExitStack() as stack:
        opened = [stack.enter_context(open_record(path)) for path in inputs]
        if not names_record(job.target):
            return job.write_foreign(formats().for_writing(job.target, target_format), opened, precision, select)
        if len(opened) == 1 and not precision and select == slice(None):
            return job.repack(opened[0], profile, compression)
        return job.rewrite(opened, precision, select, profile, compression)


def is_record(location: str | Path) -> bool:
    """Tell whether a URL, a folder or a file is, or is meant to be, a record: a Zarr root or a ZIP archive."""
    if "://" in str(location):
        return True
    path = Path(location)
    if path.is_dir():
        return (path / "zarr.json").exists() or path.suffix == ".mrec"
    if not path.is_file():
        return names_record(path)
    with path.open("rb") as file:
        return file.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC or names_record(path)


def names_record(path: Path) -> bool:
    """Tell whether a name is that of a record."""
    return path.suffix in (".mrec", ".zip")


def stored_bytes(path: Path) -> int:
    """Return the size of a file, or of all files in a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _check_request(
    inputs: Sequence[str | Path],
    records: Sequence[bool],
    target: Path,
    source_format: str | None,
    target_format: str | None,
) -> None:
    """Refuse what is asked for before anything is opened."""
    for path in inputs:
        if "://" not in str(path) and Path(path).resolve() == target.resolve():
            raise SchemaError(f"{target} is both input and output; choose another output", "reject-existing-path")
    if any(records) and not all(records):
        raise SchemaError(
            "records and other files are not read as one run; convert the files to a record first",
            "reject-mixed-inputs",
        )
    if all(records) and source_format is not None:
        raise SchemaError(
            f"the input is a record; the format {source_format!r} does not apply", "reject-unknown-format"
        )
    if names_record(target) and target_format is not None:
        raise SchemaError(
            f"{target} names a record; the format {target_format!r} does not apply", "reject-unknown-format"
        )
    if not all(records) and not names_record(target):
        raise SchemaError(
            f"{target} is no record, nor is the input; convert to a record (*.mrec, *.mrec.zip) first",
            "reject-mixed-inputs",
        )


def _scanned(
    sources: Sequence[Format],
    paths: Sequence[Path],
    precision: Mapping[str, float] | None,
    select: slice,
    notes: Notes,
    progress: Progress | None,
) -> ScannedSeries:
    opened = [found.open_source(path) for found, path in zip(sources, paths, strict=True) if found.open_source]
    return ScannedSeries(pair(sources, opened), precision=precision, select=select, notes=notes, progress=progress)


def _with_forcefield(
    job: RecordOutput,
    inputs: Sequence[Path],
    source_format: str | None,
    units: str | None,
    precision: Mapping[str, float] | None,
    select: slice,
    profile: str,
) -> Conversion:
    from molrec.formats.described import HeldFrame, NumberedTypes, described
    from molrec.formats.forcefield_source import read_forcefield

    first, *others = inputs
    content = read_forcefield(first, units=units, notes=job.notes)
    found = [formats().for_reading(path, source_format) for path in others]
    opened = [one.open_source(path) for one, path in zip(found, others, strict=True) if one.open_source]
    if content.system is None and (content.forcefield.source or {}).get("format") == "lammps":
        opened = [NumberedTypes(source) for source in opened]
    if content.system is not None:
        opened = described(HeldFrame(str(first), content.system, content.forcefield.units), opened)
    if not opened:
        raise SchemaError(
            f"{first} describes no system; give a structure after it, or use `molrec forcefield convert`",
            "reject-no-frames",
        )

    def series(notes: Notes, progress: Progress | None) -> ScannedSeries:
        return ScannedSeries(opened, precision=precision, select=select, notes=notes, progress=progress)

    return job.write_new(series, _meta(inputs, found), profile, None, content.forcefield)


def _meta(inputs: Sequence[str | Path], sources: Sequence[Format]) -> dict[str, Any]:
    """Return the meta document of a record made from files; equal inputs give equal documents."""
    return {
        "creator": {"name": "molrec", "version": molrec.__version__},
        "source": {
            "files": [Path(path).name for path in inputs],
            "format": sorted({found.name for found in sources}),
        },
    }


class RecordOutput:
    """One conversion under way: where to, what is told, what is noted."""

    def __init__(self, target: Path, notes: Notes, *, overwrite: bool, report: Report | None) -> None:
        self.target = target
        self.notes = notes
        self._overwrite = overwrite
        self._report = report

    def check_target(self) -> None:
        """Refuse an output that may not be replaced, before the work and not after it."""
        if not self._overwrite:
            refuse_existing(self.target)
        elif self.target.exists() and names_record(self.target):
            source = open_source(self.target)
            require_root(source)
            source.close()

    def write_new(
        self,
        make_series: Callable[[Notes, Progress | None], FrameSeries],
        meta: Mapping[str, Any],
        profile: str,
        compression: str | None,
        forcefield: ForceField | None = None,
    ) -> Conversion:
        """Write a run into a record of its own, beside a force field where there is one."""
        stage = _Stage(self._report, "surveying")
        series = make_series(self.notes, stage)
        stage.name = "writing"
        with self._temporary() as temporary:
            system = series.system()
            section = None if forcefield is None else forcefield.to_section()
            stated = meta if section is None else with_forcefield_version(meta, section.version)
            create_root(temporary, stated, {} if system is None else {"system": system}, forcefield=section)
            self._write_run(temporary, series, profile, compression)
            self._put(temporary)
        return self._done(len(series))

    def rewrite(
        self,
        records: Sequence[Record],
        precision: Mapping[str, float] | None,
        select: slice,
        profile: str,
        compression: str | None,
    ) -> Conversion:
        """Write the runs of records frame by frame; everything else comes from the first record as it is."""
        series = RecordSeries(records, precision=precision, select=select, progress=_Stage(self._report, "writing"))
        for record in records[1:]:
            for name in set(record.sections) - {"meta", "system", "trajectory"}:
                self.notes.lost(f"section {name!r} of {record.source.name}", "is left out; the first record's counts")
        self._note_undeclared(records[0])
        with self._temporary() as temporary:
            _copy_nodes(records[0].source, "", temporary)
            self._write_run(temporary, series, profile, compression)
            self._put(temporary)
        return self._done(len(series))

    def repack(self, record: Record, profile: str, compression: str | None) -> Conversion:
        """Write a record again at another profile, node by node."""
        with self._temporary() as temporary:
            stage = _Stage(self._report, "repacking")
            repack(record.source, temporary, profile=profile, compression=compression, progress=stage)
            self._put(temporary)
        return self._done(0 if record.trajectory is None else len(record.trajectory))

    def write_foreign(
        self, target: Format, records: Sequence[Record], precision: Mapping[str, float] | None, select: slice
    ) -> Conversion:
        """Write what records hold as a foreign file."""
        if precision:
            raise SchemaError(
                f"a precision is declared in records; {self.target} is none", "reject-precision-on-foreign-file"
            )
        for record in records:
            for name in set(record.sections) - {"meta", "system", "frame", "trajectory"}:
                self.notes.lost(f"section {name!r}", f"is left out; a {target.name} file has no place for it")
        images = images_of(records, select)
        assert target.write is not None
        self.target.parent.mkdir(parents=True, exist_ok=True)
        target.write(self.target, images, self.notes, _Stage(self._report, "writing"))
        return self._done(len(images.frames))

    # -- the steps they share ---------------------------------------------------------------------------------------

    @contextmanager
    def _temporary(self) -> Iterator[Path]:
        """Give a name beside the target that is gone afterwards."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.target.with_name(f".{self.target.name}.{uuid.uuid4().hex}.tmp")
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    @staticmethod
    def _write_run(root: Path, series: FrameSeries, profile: str, compression: str | None) -> None:
        with TrajectoryWriter.in_record(root, series.schema(), compression=compression, profile=profile) as writer:
            for frame, step, time in series:
                writer.append(frame, step=step, time=time)

    def _put(self, temporary: Path) -> None:
        put_in_place(temporary, self.target, self._overwrite)

    def _note_undeclared(self, record: Record) -> None:
        trajectory = record.trajectory
        known = {*(trajectory.schema.blocks if trajectory is not None else ()), "step", "time", "meta", "box"}
        for name in record.source.children("trajectory"):
            if name not in known and record.source.get(f"trajectory/{name}/zarr.json") is not None:
                self.notes.lost(f"trajectory/{name}", "is left out; the trajectory does not declare it")

    def _done(self, frames: int) -> Conversion:
        return Conversion(self.target, frames, stored_bytes(self.target), tuple(self.notes))


class _Stage:
    """A progress callback under a name."""

    def __init__(self, report: Report | None, name: str) -> None:
        self.name = name
        self._report = report

    def __call__(self, done: int, total: int | None) -> None:
        if self._report is not None:
            self._report(self.name, done, total)


def _copy_nodes(source: Source, path: str, folder: Path) -> None:
    """Copy every object of a record but its trajectory."""
    for name in source.children(path):
        inner = f"{path}/{name}" if path else name
        if inner == "trajectory" or name.endswith(".tmp"):
            continue
        content = source.get(inner)
        if content is None:
            _copy_nodes(source, inner, folder)
            continue
        file = folder / inner
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
