"""Judging a collection: every rule, not just those a reader meets on its way (``docs/spec/collection.md``).

Every value of every file is read, record by record in key order, and what is wrong is reported as findings. Numbers are
looked at a few thousand records at a time.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lmdb
import numpy as np

from molrec import typedjson
from molrec.checks.collection_record_findings import RecordChecker, RecordSpan, error_found
from molrec.checks.content_findings import (
    Found,
    TypeNames,
    image_findings,
    off_grid_rows,
    pair_findings,
    quantities_of,
    style_findings,
    unit_findings,
    unresolved_findings,
)
from molrec.checks.frame_findings import composition_findings
from molrec.checks.meta_findings import version_findings
from molrec.datasets.files import collection_files
from molrec.errors import FormatError, MolrecError
from molrec.model.collection import QUANTITIES, UNITS, check_prefix_sums, check_units, read_collection_meta
from molrec.model.forcefield import ForceField
from molrec.model.schema import SequenceSchema
from molrec.storage.lmdb import names
from molrec.storage.lmdb.collection_reader import Collection
from molrec.storage.lmdb.environment import damaged, open_environment
from molrec.storage.lmdb.frame_bytes import decode_frame
from molrec.storage.lmdb.opening import open_collection
from molrec.storage.lmdb.page_check import check_pages
from molrec.storage.lmdb.stored_run import Declared
from molrec.vocabulary import PER_STEP_KEYS

__all__ = ["collection_findings"]

type Progress = Callable[[int, int], None]

_AT_ONCE = 2048
#: Findings of one rule that are told one by one; what follows is counted.
_MOST_OF_A_RULE = 1000
_NUMBER_BYTES = 8
#: What leaves nothing else to look at.
_UNREADABLE = ("reject-not-a-collection", "reject-layout-version")


def collection_findings(location: str | os.PathLike[str], progress: Progress | None = None) -> Iterator[Found]:
    """Yield what is wrong with a collection, or with shards and with what they make together.

    Of one rule a thousand findings are told, and how many more there are. Never raises for the collection's faults.

    Args:
        location: A collection, or a folder or pattern of shards.
        progress: Called with records checked and records in all.

    Raises:
        OSError: A file cannot be read at all.
    """
    counts: Counter[tuple[str, Any]] = Counter()
    for found in _all_findings(location, progress):
        counts[found[0], found[2]] += 1
        if counts[found[0], found[2]] <= _MOST_OF_A_RULE:
            yield found
    for (rule, severity), count in counts.items():
        if count > _MOST_OF_A_RULE:
            yield rule, str(location), severity, f"{count - _MOST_OF_A_RULE} more findings of this rule"


def _all_findings(location: str | os.PathLike[str], progress: Progress | None) -> Iterator[Found]:
    try:
        files = collection_files(location)
    except FormatError as error:
        yield error_found(error, str(location))
        return
    is_sharded = files != [Path(location)]
    sound = True
    for path in files:
        for rule, where, severity, message in _file_findings(path, progress):
            sound = sound and severity != "error"
            yield rule, f"{path.name}: {where}" if is_sharded else where, severity, message
    if is_sharded and sound:
        try:
            open_collection(location).close()
        except FormatError as error:
            yield error_found(error, str(location))


def _file_findings(path: Path, progress: Progress | None) -> Iterator[Found]:
    try:
        environment = open_environment(path)
        # LMDB follows whatever it finds; a page that would lead it out of the file ends the process.
        check_pages(path)
        with environment.handle.begin() as transaction:
            yield from _FileValidation(path, transaction, progress).run()
    except FormatError as error:
        yield error_found(error, str(path))
    except lmdb.Error as error:
        yield error_found(damaged(path, error), str(path))


class _FileValidation:
    """One pass over one file."""

    def __init__(self, path: Path, transaction: lmdb.Transaction[bytes], progress: Progress | None) -> None:
        self._path = path
        self._values = transaction
        self._progress = progress

    def run(self) -> Iterator[Found]:
        """Yield the findings of every part."""
        try:
            collection = Collection(self._path)
        except FormatError as error:
            found = [_at_path(error, self._path)]
            if error.rule not in _UNREADABLE:
                parts = list(self._parts_alone())
                found = parts if error.rule in {part[0] for part in parts} else found + parts
            yield from found
            return
        yield from self._checked_meta(collection)
        yield from self._forcefield(collection)
        checker = RecordChecker(Declared(collection.schema), self._values)
        types = {name: TypeNames(name) for name, block in collection.schema.blocks.items() if "type" in block.columns}
        yield from self._records(collection, checker, types)
        yield from self._contents(collection, checker, types)
        yield from self._keys(len(collection), collection.n_frames)

    # -- a file that cannot be opened -------------------------------------------------------------------------------

    def _parts_alone(self) -> Iterator[Found]:
        """Look at each part of a file whose meta or index is refused, and at each value by itself."""
        try:
            document: Any = typedjson.parse_json(self._values.get(names.META) or b"", "meta")
        except FormatError as error:
            yield error_found(error, "meta")
            return
        schema = None
        try:
            read_collection_meta(document.get(names.COLLECTION), "meta")
        except FormatError as error:
            yield error_found(error, "meta")
        try:
            schema = SequenceSchema.from_document(document.get(names.SEQUENCE_SCHEMA), "meta")
        except FormatError as error:
            yield error_found(error, "meta")
        yield from self._index_alone(document)
        checker = RecordChecker(Declared(SequenceSchema() if schema is None else schema), self._values)
        for key, value in self._values.cursor():
            number = int.from_bytes(key[1:], "big")
            if len(key) != 1 + _NUMBER_BYTES:
                continue
            if key[:1] == b"r":
                yield from checker.meta_findings(value, f"record {number}, meta")
            elif key[:1] == b"s":
                yield from checker.system_findings(value, f"record {number}, system")
            elif key[:1] == b"f" and schema is not None:
                yield from checker.frame_findings(value, f"frame {number} of all")

    def _index_alone(self, document: dict[str, Any]) -> Iterator[Found]:
        value = self._values.get(names.INDEX)
        if value is None:
            yield "reject-missing-key", "index", "error", "the index is not there"
            return
        n_records, n_frames = document.get(names.N_RECORDS), document.get(names.N_FRAMES)
        try:
            frame = decode_frame(value, "index")
            if names.INDEX_BLOCK not in frame:
                raise FormatError(f"has no block {names.INDEX_BLOCK!r}", "reject-malformed-index")
            if isinstance(n_records, int) and isinstance(n_frames, int) and n_frames >= 0:
                check_prefix_sums(frame[names.INDEX_BLOCK], n_records, n_frames, "index")
        except FormatError as error:
            yield error_found(error, "index")

    # -- a file that can --------------------------------------------------------------------------------------------

    def _checked_meta(self, collection: Collection) -> Iterator[Found]:
        for quantity, unit in collection.meta[UNITS].items():
            try:
                check_units({quantity: unit}, "meta")
            except MolrecError as error:
                yield error_found(error, "meta")
        if "molrec_version" not in collection.meta:
            message = "states no molrec_version; it is read by the rules of version 1"
            yield "no-version", "meta", "error", message
        tags = {key: declared.tag for key, declared in collection.schema.meta.items()}
        yield from composition_findings("sequence_schema", tags)
        if UNITS in collection.schema.meta:
            message = "frames state units; a collection states them once, for all records"
            yield "reject-record-units", f"sequence_schema, meta key {UNITS!r}", "error", message
        for key, declared in collection.schema.meta.items():
            if declared.tag != PER_STEP_KEYS.get(key, declared.tag):
                message = f"is declared {declared.tag}, but {key!r} is {PER_STEP_KEYS[key]} everywhere"
                yield "per-step-tag", f"sequence_schema, meta key {key!r}", "error", message
        for name, block in collection.schema.blocks.items():
            yield from image_findings(f"frames/{name}", block.columns)

    def _forcefield(self, collection: Collection) -> Iterator[Found]:
        try:
            section = collection.forcefield_section
            if section is not None:
                yield from version_findings(section)
                forcefield = ForceField.from_section(section)
                yield from style_findings("ff", forcefield)
                yield from pair_findings("ff", forcefield)
        except MolrecError as error:
            yield _at_path(error, self._path)

    def _records(self, collection: Collection, checker: RecordChecker, types: dict[str, TypeNames]) -> Iterator[Found]:
        off_grid = _OffGrid(collection)
        index = collection.index
        columns = [index[name].tolist() for name in ("first_frame", "n_frames", "n_atoms", "has_trajectory")]
        total = len(collection)
        for start in range(0, total, _AT_ONCE):
            sound = []
            stop = min(total, start + _AT_ONCE)
            for number in range(start, stop):
                findings = list(checker.check(RecordSpan(number, *(column[number] for column in columns))))
                if not any(severity == "error" for _, _, severity, _ in findings):
                    sound.append(number)
                yield from findings
            off_grid.add(sound)
            _add_types(collection, sound, types)
            if self._progress is not None:
                self._progress(stop, total)
        yield from off_grid.findings()

    def _contents(self, collection: Collection, checker: RecordChecker, types: dict[str, TypeNames]) -> Iterator[Found]:
        """Yield what the numbers lack: units, and types the force field has."""
        schema = collection.schema
        declared = {column for block in schema.blocks.values() for column in block.columns}
        needed = quantities_of(
            sorted(declared | checker.system_columns), sorted(schema.meta), has_times=checker.has_times
        )
        known = {quantity: where for quantity, where in needed.items() if quantity in (*QUANTITIES, "velocity")}
        yield from unit_findings("meta", collection.meta[UNITS], known)
        try:
            forcefield = collection.forcefield
        except MolrecError:
            return  # reported with the force field itself
        if forcefield is not None:
            for place, found in (("system", checker.type_names), ("frames", types)):
                for name, named in found.items():
                    yield from unresolved_findings(f"{place}/{name}", named, forcefield)

    def _keys(self, n_records: int, n_frames: int) -> Iterator[Found]:
        """Yield keys that no record counts, and keys this version does not know."""
        bounds = {b"r": n_records, b"s": n_records, b"f": n_frames}
        beyond: Counter[bytes] = Counter()
        first: dict[bytes, int] = {}
        unknown, first_unknown = 0, b""
        for key in self._values.cursor().iternext(keys=True, values=False):
            letter = key[:1]
            if len(key) == 1 + _NUMBER_BYTES and letter in bounds:
                number = int.from_bytes(key[1:], "big")
                if number >= bounds[letter]:
                    beyond[letter] += 1
                    first.setdefault(letter, number)
            elif key not in (names.META, names.INDEX, names.FORCEFIELD):
                unknown += 1
                first_unknown = first_unknown or key
        for letter, kind in ((b"r", "metas"), (b"s", "systems"), (b"f", "frames")):
            if beyond[letter]:
                message = (
                    f"{beyond[letter]} {kind} no record counts, the first of number {first[letter]}; nobody reads it"
                )
                yield "orphaned-key", f"keys {letter.decode()!r}", "warning", message
        if unknown:
            yield (
                "unknown-key",
                "keys",
                "info",
                f"{unknown} unknown keys, the first {first_unknown!r}; they are not read",
            )


class _OffGrid:
    """Looks for values off the grid of their declared precision, and remembers the first of each column."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._precisions = {
            f"{name}/{column}": declared.precision
            for name, block in collection.schema.blocks.items()
            for column, declared in block.columns.items()
            if declared.precision is not None
        }
        self._found: dict[str, tuple[int, int]] = {}

    def add(self, records: list[int]) -> None:
        """Look at some records that can be read."""
        if not self._precisions or not records:
            return
        batch = self._collection.batch(records, list(self._precisions), [])
        for column, precision in self._precisions.items():
            off = np.flatnonzero(off_grid_rows(batch[column], precision, batch.get(f"{column}/validity")))
            if off.size:
                frame = np.searchsorted(batch[column.partition("/")[0]], off[0], side="right") - 1
                record = records[int(np.searchsorted(batch["/"], frame, side="right")) - 1]
                count, first = self._found.get(column, (0, record))
                self._found[column] = (count + off.size, first)

    def findings(self) -> Iterator[Found]:
        """Yield one finding for each column."""
        for column, (count, record) in self._found.items():
            message = (
                f"declares precision {self._precisions[column]!r} but holds {count} values off its grid, the first in "
                f"record {record}; the writer did not round them"
            )
            yield "off-grid-value", f"frames/{column}", "warning", message


def _add_types(collection: Collection, records: list[int], types: dict[str, TypeNames]) -> None:
    for name, found in types.items():
        columns = collection.schema.blocks[name].columns
        batch = collection.batch(records, [f"{name}/{key}" for key in ("type", "style") if key in columns], [])
        found.add(
            batch[f"{name}/type"],
            batch.get(f"{name}/style"),
            batch.get(f"{name}/type/validity"),
            batch.get(f"{name}/style/validity"),
        )


def _at_path(error: MolrecError, path: Path) -> Found:
    """Return a refusal whose message begins with the file as a finding at the part it names."""
    message = error.message.removeprefix(f"{path}: ")
    part, colon, rest = message.partition(": ")
    if colon and part in ("meta", "index", "ff"):
        return error.rule, part, "error", rest
    return error.rule, str(path), "error", message
