"""Files, records and collections to a collection: what ``molrec convert ... data.mrec.lmdb`` does, as one function.

Three kinds of input, one kind at a time: labelled structures (extended XYZ, databases of ASE, whatever ASE reads as
atoms), one record each; records and other foreign files, one record each; collections, copied record by record. The
output is there complete or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import molrec
from molrec.conversion import Conversion, Report, is_record
from molrec.datasets.files import is_collection, stored_bytes
from molrec.datasets.record_copies import CopyJob, copy_collections, copy_records
from molrec.errors import FormatError, SchemaError
from molrec.formats.notes import Notes
from molrec.interop.label_conversion import LabelShard, expecting, plan_labels, selected, survey_source
from molrec.interop.label_survey import LabelSurvey
from molrec.interop.labelled_sources import LabelledSource, is_database, labelled_source
from molrec.storage.lmdb.shard_names import SUFFIX

if TYPE_CHECKING:
    from mace_core.data import KeySpecification

__all__ = ["convert_to_collection", "names_collection", "stage"]

_MIXED = "reject-mixed-inputs"


def names_collection(path: str | Path) -> bool:
    """Tell whether a name is that of a collection."""
    return Path(path).name.endswith(SUFFIX)


def convert_to_collection(
    inputs: Sequence[str | Path],
    output: str | Path,
    *,
    units: Mapping[str, str] | None = None,
    key_spec: KeySpecification | None = None,
    head: str | None = None,
    index: Sequence[str] | None = None,
    select: slice = slice(None),
    indices: Iterable[int] | None = None,
    precision: Mapping[str, float] | None = None,
    overwrite: bool = False,
    strict: bool = False,
    source_format: str | None = None,
    shards: int | None = None,
    scheduler: str | None = None,
    report: Report | None = None,
) -> Conversion:
    """Convert files to a collection.

    Args:
        inputs: Files of labelled structures; or records, folders of records and other foreign files; or collections.
        output: The collection ``*.mrec.lmdb``; with `shards` or `scheduler`, the folder of its shards.
        units: Quantity to unit. Needed for text; files of ASE's own formats are in ASE's, records and collections say.
        key_spec: Which key of labelled structures is which property; the default keys of `mace_core` when None.
        head: Head of every structure.
        index: Keys that become columns of the index.
        select: Which structures, or records, to take, over all inputs; forwards.
        indices: Which records of collections to take, in this order.
        precision: Column of the block ``atoms`` to its precision, for labelled structures.
        overwrite: Whether an output that is there is replaced.
        strict: Refuse what cannot be carried instead of noting it.
        source_format: Format of the files, where content and suffix do not tell.
        shards: Number of files to write; the files of labelled structures are dealt out to them in order.
        scheduler: Who writes the shards: a Dask scheduler's address, or ``local`` for one process for each core.
        report: Told about the progress.

    Returns:
        What was done; `Conversion.frames` counts records.

    Raises:
        FormatError: An input is damaged or in no known format.
        SchemaError: The output exists, units are not stated (``reject-no-units``), or the inputs are of several kinds
            (``reject-mixed-inputs``). Nothing is left behind.
        ImportError: An input needs a library that is not installed; the message names the extra.
    """
    target = Path(output)
    notes = Notes(strict=strict)
    select = _forwards(select)
    paths = list(_with_folders(inputs, target))
    if not paths:
        raise FormatError(f"{', '.join(map(str, inputs))}: there is no record in it", "reject-no-frames")
    kinds = {_kind(path, source_format) for path in paths}
    if len(kinds) > 1:
        raise SchemaError(
            f"the inputs are {' and '.join(sorted(kinds))}; a collection is made of one kind at a time", _MIXED
        )
    if not overwrite and target.exists():
        raise SchemaError(f"{target} exists; choose another name or overwrite it", "reject-existing-path")
    sharded = shards is not None or scheduler is not None
    if kinds != {_LABELS}:
        if sharded or precision or key_spec is not None or head is not None:
            raise SchemaError(
                "keys, heads, precisions and shards are for files of labelled structures; these are "
                f"{next(iter(kinds))}, which are copied as they are into one file",
                _MIXED,
            )
        job = CopyJob(target, units, index, select, indices, overwrite, notes, stage(report, "writing"))
        collections = kinds == {_COLLECTIONS}
        count = copy_collections(paths, job) if collections else copy_records(paths, job, source_format)
        return Conversion(target, count, stored_bytes(target), tuple(notes))
    if indices is not None:
        raise SchemaError("indices choose records of a collection; choose structures with a slice", _MIXED)
    key_spec = _key_spec() if key_spec is None else key_spec
    sources = _sources(paths, source_format, {} if head is None else {key_spec.graph_keys.get("head", "head"): head})
    stated = _units(units, sources)
    labelled = _Labelled(sources, target, notes, select, overwrite=overwrite, scheduler=scheduler, report=report)
    labelled.plan(stated, key_spec, head=head, index=index, precision=precision)
    count = labelled.write_shards(shards) if sharded else labelled.write()
    return Conversion(target, count, stored_bytes(target), tuple(notes))


def stage(report: Report | None, name: str) -> Any:
    """Return a callback of one stage: structures done, structures in all."""
    return lambda done, total: None if report is None else report(name, done, total)


# -- the inputs -------------------------------------------------------------------------------------------------------

_LABELS, _RECORDS, _COLLECTIONS = "labelled structures", "records", "collections"


def _with_folders(inputs: Sequence[str | Path], target: Path) -> Iterator[str | Path]:
    """Yield the inputs, the records in a folder that is none in its place; an output in the folder is no input."""
    for given in inputs:
        path = Path(given)
        if "://" in str(given) or not path.is_dir() or is_record(path):
            yield given
            continue
        inside = sorted(
            entry for entry in path.iterdir() if not entry.name.startswith(".") and entry.resolve() != target.resolve()
        )
        records = [entry for entry in inside if entry.name.endswith((".mrec", ".mrec.zip"))]
        collections = [entry for entry in inside if entry.name.endswith(SUFFIX)]
        if records and collections:
            raise SchemaError(
                f"{path} holds records and collections, {records[0].name} and {collections[0].name} among them; name "
                "the ones to convert",
                _MIXED,
            )
        if records or not collections:
            yield from records
        else:
            yield given


def _kind(path: str | Path, source_format: str | None) -> str:
    if "://" in str(path):
        return _RECORDS
    if source_format is None and not is_database(Path(path)):
        if is_collection(path):
            return _COLLECTIONS
        if is_record(path):
            return _RECORDS
    return _RECORDS if labelled_source(Path(path), source_format) is None else _LABELS


def _key_spec() -> KeySpecification:
    from mace_core.data import KeySpecification

    return KeySpecification.from_defaults()


def _forwards(select: slice) -> slice:
    if any(bound is not None and bound < 0 for bound in (select.start, select.stop)) or (select.step or 1) < 1:
        raise SchemaError(
            "structures and records are taken forwards, counted from the first one; found "
            f"{select.start}:{select.stop}:{select.step}",
            "reject-frame-selection",
        )
    return select


def _sources(paths: Sequence[str | Path], source_format: str | None, stamp: Mapping[str, str]) -> list[LabelledSource]:
    found = (labelled_source(Path(path), source_format) for path in paths)
    return [replace(source, stamp=stamp) for source in found if source is not None]


def _units(units: Mapping[str, str] | None, sources: Sequence[LabelledSource]) -> Mapping[str, str]:
    from molrec.formats.ase_atoms import UNITS

    if units is not None:
        return units
    unknown = next((source for source in sources if not source.is_in_ase_units), None)
    if unknown is not None:
        raise SchemaError(
            f"{unknown.path} does not say what units it is in, and a collection states them: --units ase (angstrom, "
            "eV), or --units length=angstrom,energy=eV,force=eV/angstrom",
            "reject-no-units",
        )
    return UNITS


# -- labelled structures ----------------------------------------------------------------------------------------------


class _Labelled:
    """Files of labelled structures on their way into a collection."""

    def __init__(
        self,
        sources: Sequence[LabelledSource],
        target: Path,
        notes: Notes,
        select: slice,
        *,
        overwrite: bool,
        scheduler: str | None,
        report: Report | None,
    ) -> None:
        self._sources = sources
        self._target = target
        self._notes = notes
        self._select = select
        self._overwrite = overwrite
        self._scheduler = scheduler
        self._report = report
        self._counts: list[int] = []
        self._survey = self._surveyed()

    def _surveyed(self) -> LabelSurvey:
        """Survey everything; of files taken whole, each by itself."""
        progress = stage(self._report, "surveying")
        whole = LabelSurvey()
        if self._select == slice(None):
            for survey in self._surveys(progress):
                self._counts.append(survey.frames)
                whole.merge(survey)
                progress(whole.frames, None)
        else:
            for raw in selected(self._sources, self._select):
                whole.add(raw)
                progress(whole.frames, None)
        if not whole.frames:
            names = ", ".join(str(source.path) for source in self._sources)
            raise FormatError(f"{names}: no structure is left to convert", "reject-no-frames")
        return whole

    def _surveys(self, progress: Any) -> Iterable[LabelSurvey]:
        if self._scheduler is None:
            return (survey_source(source) for source in self._sources)
        from molrec.interop.dask_surveys import survey_sources

        return survey_sources(self._sources, self._scheduler, progress)

    def plan(
        self,
        units: Mapping[str, str],
        key_spec: KeySpecification,
        *,
        head: str | None,
        index: Sequence[str] | None,
        precision: Mapping[str, float] | None,
    ) -> None:
        """Decide where everything goes."""
        meta: dict[str, Any] = {"creator": {"name": "molrec", "version": molrec.__version__}}
        names = [source.path.name for source in self._sources]
        if self._counts:
            meta["sources"] = [
                {"file": name, "records": count} for name, count in zip(names, self._counts, strict=True)
            ]
        else:
            meta["sources"] = [{"file": name} for name in names]
        self._plan = plan_labels(
            self._survey,
            key_spec,
            units,
            meta=meta,
            index=index,
            head=head,
            precision=precision,
            notes=self._notes,
        )

    def write(self) -> int:
        """Write one file."""
        progress, total = stage(self._report, "writing"), self._survey.frames
        return self._plan.write(
            self._target,
            expecting(selected(self._sources, self._select), total),
            overwrite=self._overwrite,
            progress=lambda done, _: progress(done, total),
        )

    def write_shards(self, shards: int | None) -> int:
        """Write several files, each a run of the inputs, balanced by structures."""
        from molrec.interop.dask_shards import write_shards

        if not self._counts:
            raise SchemaError("shards are made of whole files; select structures when one file is written", _MIXED)
        parts = _dealt(self._counts, len(self._sources) if shards is None else shards)
        tasks = [
            LabelShard(number, tuple(self._sources[part]), self._plan, sum(self._counts[part]))
            for number, part in enumerate(parts)
        ]
        written = stage(self._report, "writing shards")
        write_shards(tasks, self._target, scheduler=self._scheduler, overwrite=self._overwrite, progress=written)
        return self._survey.frames


def _dealt(counts: Sequence[int], shards: int) -> list[slice]:
    """Deal files out to shards in order, each shard some and as evenly as whole files allow."""
    if not 1 <= shards <= len(counts):
        raise SchemaError(
            f"{shards} shards of {len(counts)} files; a shard is made of whole files, at least one", _MIXED
        )
    parts, start, left = [], 0, sum(counts)
    for remaining in range(shards, 0, -1):
        goal, taken, stop = left / remaining, 0, start
        while stop < len(counts) - (remaining - 1) and (
            stop == start or abs(taken + counts[stop] - goal) <= abs(taken - goal) or remaining == 1
        ):
            taken += counts[stop]
            stop += 1
        parts.append(slice(start, stop))
        start, left = stop, left - taken
    return parts
