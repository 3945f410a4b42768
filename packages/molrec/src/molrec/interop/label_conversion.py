"""Files of labelled structures to a collection, in two passes: survey every structure, then write each as a record.

The first pass decides where each label goes (`label_places`); the second finds it decided, so that parts of the work
can be done elsewhere (`LabelShard`) and come out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from molrec.errors import FormatError, SchemaError
from molrec.formats.notes import Notes
from molrec.interop.label_places import CONFIGURATION, LABELS, LabelTable
from molrec.interop.label_survey import Label, LabelSurvey
from molrec.interop.labelled_records import RecordOfStructure, index_of_labels
from molrec.interop.labelled_sources import LabelledSource
from molrec.storage.lmdb.collection_writer import CollectionWriter

if TYPE_CHECKING:
    from mace_core.data import KeySpecification
    from mace_core.data.raw_frame import RawFrame

__all__ = ["LabelPlan", "LabelShard", "expecting", "plan_labels", "selected", "survey_source"]

#: Called with structures done and structures in all, None while that is not known.
type Progress = Callable[[int, int | None], None]

_CHANGED = "reject-source-changed"
_HEAD = "head"


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """How structures are to be written; it can be pickled.

    Attributes:
        table: Place of every label.
        units: Quantity to unit.
        meta: Meta of the collection.
        index: Columns of the index, and the keys of meta they hold.
        head: Head stated with every record, or None.
        most_atoms: Atoms of the largest structure.
        precision: Column of the block ``atoms`` to its precision.
    """

    table: LabelTable
    units: Mapping[str, str]
    meta: Mapping[str, Any]
    index: Mapping[str, str]
    head: str | None
    most_atoms: int
    precision: Mapping[str, float] = field(default_factory=dict)

    def write(self, path: Path, structures: Iterator[RawFrame], *, overwrite: bool, progress: Progress) -> int:
        """Write structures to a collection, whole or not at all, and return how many.

        Raises:
            SchemaError: A structure has what the survey did not see, or the collection cannot be created.
            FormatError: The source is damaged.
        """
        schema = self.table.schema(self.most_atoms)
        for column, precision in self.precision.items():
            schema.declare_precision("atoms", column, precision)
        record_of = RecordOfStructure(self.table)
        with CollectionWriter(
            path,
            self.units,
            schema=schema,
            index=index_of_labels(self.index),
            meta=self.meta,
            overwrite=overwrite,
        ) as writer:
            for raw in structures:
                frame, meta = record_of(raw)
                if self.head is not None:
                    meta[CONFIGURATION] = {_HEAD: self.head}
                writer.append(frame, meta=meta)
                progress(len(writer), None)
            return len(writer)


@dataclass(frozen=True, slots=True)
class LabelShard:
    """One shard of a collection: some of the files, written by whoever has time (`dask_shards.ShardTask`).

    Attributes:
        number: Number of the shard.
        sources: The files.
        plan: How to write them.
        expected: Structures the survey found in them.
    """

    number: int
    sources: tuple[LabelledSource, ...]
    plan: LabelPlan
    expected: int

    @property
    def inputs(self) -> Sequence[Path]:
        """The files, for messages."""
        return [source.path for source in self.sources]

    def write(self, path: Path) -> int:
        """Write the shard and return how many structures it has.

        Raises:
            FormatError: The files changed since they were surveyed (``reject-source-changed``).
        """
        structures = chain.from_iterable(source.structures() for source in self.sources)
        return self.plan.write(path, expecting(structures, self.expected), overwrite=False, progress=lambda *_: None)


def expecting(structures: Iterator[RawFrame], expected: int) -> Iterator[RawFrame]:
    """Yield structures, and refuse in the end if there were not as many as the survey has seen.

    Raises:
        FormatError: There are more or fewer (``reject-source-changed``).
    """
    count = 0
    for raw in structures:
        count += 1
        yield raw
    if count != expected:
        raise FormatError(
            f"{count} structures were read, but {expected} when they were surveyed; convert the files again", _CHANGED
        )


def survey_source(source: LabelledSource) -> LabelSurvey:
    """Return what the structures of one file look like."""
    survey = LabelSurvey()
    for raw in source.structures():
        survey.add(raw)
    return survey


def selected(sources: Sequence[LabelledSource], select: slice) -> Iterator[RawFrame]:
    """Yield some of the structures of files read one after the other; bounds count from the first one."""
    structures = chain.from_iterable(source.structures() for source in sources)
    yield from islice(structures, select.start, select.stop, select.step)


def plan_labels(
    survey: LabelSurvey,
    key_spec: KeySpecification,
    units: Mapping[str, str],
    *,
    meta: Mapping[str, Any],
    index: Sequence[str] | None,
    head: str | None,
    precision: Mapping[str, float] | None,
    notes: Notes,
) -> LabelPlan:
    """Decide where everything goes, and note how many structures have each property.

    Args:
        survey: What the structures have.
        key_spec: Which key is which property.
        units: Quantity to unit.
        meta: Meta of the collection, beside the table of labels.
        index: Keys that become columns of the index; when None the config type, and the head and ``molecule_id`` where
            structures have one.
        head: Head to state with every record.
        precision: Column of the block ``atoms`` to its precision.
        notes: Told what was found.

    Raises:
        SchemaError: A label cannot be held, or a precision names no column of reals.
    """
    table = LabelTable.from_survey(survey, key_spec)
    places = {label.key: document.key for label, document in table.documents.items()}
    places |= {label.key: step.key for label, step in table.steps.items()}
    columns_of_index = _columns_of_index(index, places, head)
    _note_properties(survey, key_spec, notes)
    columns = {name: place.dtype for place in table.columns.values() for name in place.columns}
    for column in precision or {}:
        if columns.get(column, "f64" if column in ("x", "y", "z") else None) != "f64":
            raise SchemaError(
                f"a precision is given for {column!r}, which is no column of reals; there are x, y, z, "
                f"{', '.join(name for name, dtype in columns.items() if dtype == 'f64')}",
                "reject-undeclared",
            )
    return LabelPlan(
        table,
        units,
        {LABELS: table.to_document(), **meta},
        columns_of_index,
        head,
        survey.most_atoms,
        dict(precision or {}),
    )


def _columns_of_index(index: Sequence[str] | None, places: Mapping[str, str], head: str | None) -> dict[str, str]:
    """Return the columns of the index and the keys of meta they hold; a column may be named by a file's key, too."""
    own = set(places.values())
    always = {"config_type", *([_HEAD] if head else [])}
    if index is None:
        return {name: name for name in ("config_type", _HEAD, "molecule_id") if name in own or name in always}
    columns: dict[str, str] = {}
    for name in index:
        if name not in own and name not in always and name not in places:
            raise SchemaError(
                f"no structure has {name!r}, which is to be a column of the index; there are "
                f"{', '.join(sorted({*own, *places}))}",
                "reject-index-column",
            )
        columns[name] = name if name in own or name in always else places[name]
    return columns


def _note_properties(survey: LabelSurvey, key_spec: KeySpecification, notes: Notes) -> None:
    from mace_core.data.resolved_keys import ResolvedKeys

    keys = ResolvedKeys(key_spec)
    counts: dict[str, int] = {}
    for label, seen in (*survey.entries.items(), *survey.columns.items()):
        for name in getattr(keys, label.part).get(label.key, ()):
            counts[name] = max(counts.get(name, 0), seen.count)
    for name, count in counts.items():
        notes.changed(name, f"{count:,} of {survey.frames:,} structures have it, under {keys.key(name)!r}")
    own = {"energy": Label("graph_results", "energy"), "forces": Label("atom_results", "forces")}
    for name, label in own.items():
        seen_otherwise = {**survey.entries, **survey.columns}.get(label)
        if name not in counts and name in keys.names:
            hint = f"; the files have {name!r}: --{name}-key {name} takes it" if seen_otherwise else ""
            notes.changed(name, f"no structure has it under {keys.key(name)!r}{hint}")
