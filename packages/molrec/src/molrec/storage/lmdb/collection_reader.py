"""`Collection`: records of one LMDB file, one by one or in batches (``docs/spec/lmdb.md``)."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import lmdb
import numpy as np

from molrec import typedjson
from molrec.errors import FormatError, SchemaError
from molrec.model.block import Block
from molrec.model.collection import (
    check_prefix_sums,
    joined_frame,
    read_collection_meta,
    units_with_defaults,
)
from molrec.model.frame import Frame
from molrec.model.record_run import section_rows
from molrec.model.resolved import check_frame
from molrec.model.schema import SequenceSchema
from molrec.model.versions import forcefield_version
from molrec.storage.lmdb import names
from molrec.storage.lmdb.batch import BatchReader, Part
from molrec.storage.lmdb.environment import CopiedValues, Environment, MappedValues, Values, damaged, open_environment
from molrec.storage.lmdb.frame_bytes import decode_blocks, decode_frame
from molrec.storage.lmdb.frame_places import FramePlaces
from molrec.storage.lmdb.layout import HeaderReader
from molrec.storage.lmdb.stored_run import Declared, StoredRun

if TYPE_CHECKING:
    from molrec.model.forcefield import ForceField
    from molrec.model.forcefield_section import ForceFieldSection

__all__ = ["Collection", "CollectionRecord"]


class CollectionRecord:
    """One record of a collection; its parts are read when they are asked for. Arrays are read-only.

    Args:
        collection: The file it lies in.
        key: Its number there.
        values: Where its values come from.
        of: The collection it was asked of and its number there, where that is not the file.
    """

    def __init__(
        self, collection: Collection, key: int, values: Values, of: tuple[Collection, int] | None = None
    ) -> None:
        self._collection = collection
        self._values = values
        self._key = key
        self._of = (collection, key) if of is None else of
        self.number = self._of[1]
        self._where = f"{collection.path}: record {key}"

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The record's meta document.

        Raises:
            FormatError: It is missing (``reject-missing-key``) or no JSON object.
        """
        value = self._values.get(names.meta_key(self._key))
        if value is None:
            raise FormatError(f"{self._where}: its meta is not there", "reject-missing-key")
        document = typedjson.parse_json(bytes(value), f"{self._where}, meta")
        if not isinstance(document, dict):
            raise FormatError(f"{self._where}: its meta is no object", "reject-malformed-json")
        return document

    @cached_property
    def system(self) -> Frame | None:
        """What does not change, None where the record has no system."""
        value = self._values.get(names.system_key(self._key))
        if value is None:
            return None
        frame = decode_frame(value, f"{self._where}, system", self._collection._system_headers)
        try:
            check_frame(frame, section_rows(frame), f"{self._where}, system")
        except SchemaError as error:
            raise FormatError(error.message, error.rule) from error
        return frame

    @cached_property
    def trajectory(self) -> StoredRun | None:
        """The frames, None where the record has no trajectory."""
        first, count, has_trajectory = self._collection._span(self._key)
        if not has_trajectory:
            return None
        sections = section_rows(self.system) if self._collection._declared.ties else {}
        return StoredRun(self._collection._declared, self._values, first, count, sections, self._where)

    def joined(self, ordinal: int = 0) -> Frame:
        """Return the union view of the system and one resolved frame: a block in both has the columns of both.

        A record without trajectory shows its system.

        Raises:
            IndexError: No such frame.
            FormatError: The two make no block together (``reject-system-row-count``, ``reject-system-shared-column``).
        """
        run, system = self.trajectory, self.system
        if run is None:
            if system is None:
                raise FormatError(f"{self._where} has neither system nor trajectory", "reject-empty-record")
            return system
        try:
            return joined_frame(system, run[ordinal])
        except SchemaError as error:
            raise FormatError(f"{self._where}, frame {ordinal}: {error.message}", error.rule) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return (operator.getitem, self._of)

    def __repr__(self) -> str:
        _, count, has_trajectory = self._collection._span(self._key)
        return f"<CollectionRecord {self.number}: {f'{count} frames' if has_trajectory else 'no trajectory'}>"


class Collection:
    """An open collection: ``len(c)``, ``c[i]``, `frames`, `batch`, `view`, `index`, `units`, `schema`, `forcefield`.

    Args:
        path: The file.

    Raises:
        FormatError: See `open_collection`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._environment: Environment | None = open_environment(path)
        self._values = CopiedValues(self._environment)
        self._system_headers = HeaderReader()
        document = self._read_document()
        where = f"{path}: meta"
        self._meta = read_collection_meta(document.get(names.COLLECTION), where)
        if names.SEQUENCE_SCHEMA not in document:
            raise FormatError(f"{where}: no {names.SEQUENCE_SCHEMA}", "reject-malformed-schema")
        self._declared = Declared(SequenceSchema.from_document(document[names.SEQUENCE_SCHEMA], where))
        self._n_records, self.n_frames = (_count(document, key, where) for key in (names.N_RECORDS, names.N_FRAMES))
        self._index = self._read_index()
        self._first_frame = self._index["first_frame"]
        self._n_frames = self._index["n_frames"]
        self._has_trajectory = self._index["has_trajectory"]

    def _read_document(self) -> dict[str, Any]:
        value = self._values.get(names.META)
        if value is None:
            raise FormatError(
                f"{self.path} is not a collection: it has no meta, its writer did not finish", "reject-not-a-collection"
            )
        document = typedjson.parse_json(value, f"{self.path}: meta")
        if not isinstance(document, dict) or document.get(names.LAYOUT) != names.LAYOUT_NAME:
            raise FormatError(
                f"{self.path} is not a collection of layout {names.LAYOUT_NAME}", "reject-not-a-collection"
            )
        version = document.get(names.VERSION)
        if type(version) is not int or version != names.LAYOUT_VERSION:
            raise FormatError(
                f"{self.path}: {names.VERSION} is {version!r}; this library reads {names.LAYOUT_VERSION}",
                "reject-layout-version",
            )
        return document

    def _read_index(self) -> Block:
        value = self._values.get(names.INDEX)
        where = f"{self.path}: index"
        if value is None:
            raise FormatError(f"{where} is not there", "reject-missing-key")
        frame = decode_frame(value, where)
        if names.INDEX_BLOCK not in frame:
            raise FormatError(f"{where} has no block {names.INDEX_BLOCK!r}", "reject-malformed-index")
        index = frame[names.INDEX_BLOCK]
        check_prefix_sums(index, self._n_records, self.n_frames, where)
        return index

    # -- what the collection says -----------------------------------------------------------------------------------

    @property
    def meta(self) -> dict[str, Any]:
        """The meta document of the collection (a copy)."""
        return dict(self._meta)

    @property
    def units(self) -> dict[str, str]:
        """Quantity to unit; mass and charge are amu and e where nothing else is stated."""
        return units_with_defaults(self._meta["units"])

    @property
    def schema(self) -> SequenceSchema:
        """The declaration of every record's frames (a copy)."""
        return self._declared.schema.copy()

    @property
    def index(self) -> Block:
        """One row per record: `first_frame`, `n_frames`, `n_atoms`, `has_trajectory`, and the collection's own columns.

        Arrays are read-only.
        """
        return self._index

    @cached_property
    def forcefield_section(self) -> ForceFieldSection | None:
        """The force field as it lies in the file: a document and its tables; None without one.

        Raises:
            FormatError: A table is damaged, or the section breaks a ``reject-ff-`` rule.
        """
        from molrec.model.forcefield_section import ForceFieldSection

        value = self._source().get(names.FORCEFIELD)
        if value is None:
            return None
        where = f"{self.path}: ff"
        tables, document = decode_blocks(value, where)
        section = ForceFieldSection(document, tables, forcefield_version(self._meta))
        try:
            section.check(where)
        except SchemaError as error:
            raise FormatError(error.message, error.rule) from error
        return section

    @cached_property
    def forcefield(self) -> ForceField | None:
        """The force field of every record as an object; None without one."""
        from molrec.model.forcefield import ForceField

        section = self.forcefield_section
        return None if section is None else ForceField.from_section(section)

    # -- records ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._n_records

    def _number(self, index: int) -> int:
        position = operator.index(index)
        number = position + self._n_records if position < 0 else position
        if not 0 <= number < self._n_records:
            raise IndexError(f"record {position} of a collection of {self._n_records}")
        return number

    def _numbers(self, indices: Iterable[int]) -> list[int]:
        given = list(indices)
        found = np.array(given) if given else np.zeros(0, np.int64)
        if found.dtype.kind == "i" and found.ndim == 1:
            found[found < 0] += self._n_records
            if ((found >= 0) & (found < self._n_records)).all():
                numbers: list[int] = found.tolist()
                return numbers
        return [self._number(index) for index in given]

    def _span(self, number: int) -> tuple[int, int, bool]:
        return (
            self._first_frame.item(number),
            self._n_frames.item(number),
            self._has_trajectory.item(number),
        )

    def _require_open(self) -> Environment:
        if self._environment is None:
            raise ValueError(f"{self.path}: this collection is closed; open it again with open_collection")
        return self._environment

    def _source(self) -> CopiedValues:
        self._require_open()
        return self._values

    def __getitem__(self, index: int) -> CollectionRecord:
        """Return one record; nothing of it is read yet. What it hands out stays good when the collection is closed."""
        return CollectionRecord(self, self._number(index), self._source())

    def __iter__(self) -> Iterator[CollectionRecord]:
        return (self[number] for number in range(self._n_records))

    def frames(self, index: int) -> list[Frame]:
        """Return every resolved frame of a record's trajectory; empty for a record without frames."""
        run = self[index].trajectory
        return [] if run is None else list(run)

    @contextmanager
    def view(self, index: int) -> Iterator[CollectionRecord]:
        """Yield a record whose arrays are views of the file, where their place allows it; nothing is copied.

        LMDB aligns to 8 bytes only what takes more than about half a page; smaller values are copied. An array that is
        used after the block still shows the file.

        Example:
            >>> with c.view(5) as record:
            ...     x = record.trajectory[0]["atoms"]["x"].sum()
        """
        with self._view(self._number(index)) as record:
            yield record

    @contextmanager
    def _view(self, number: int, of: tuple[Collection, int] | None = None) -> Iterator[CollectionRecord]:
        environment = self._require_open()
        with environment.begin() as transaction:
            yield CollectionRecord(self, number, MappedValues(environment, transaction), of)

    def batch(
        self,
        indices: Iterable[int],
        columns: Sequence[str] | None = None,
        meta: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Return columns of many records end to end, straight from the file, without building records or frames.

        Args:
            indices: Records, in any order, repeated as you like. All frames of each are read, in order.
            columns: Names ``"block/column"`` of trajectory or system; every declared trajectory column when None.
            meta: Per-step keys; every declared one when None.

        Returns:
            ``"block/column"`` to the array ``(rows, *trailing)``, strings included; ``"block"`` to the int64
            ``(frames + 1,)`` row pointers of its frames (no rows where a block is absent); for a nullable column
            ``"block/column/validity"`` to its bool mask; ``"meta/key"`` to ``(frames,)`` or ``(frames, width)``, a list
            for ``json``; ``"/"`` to the int64 ``(records + 1,)`` frame pointers. Arrays are the caller's.

        Raises:
            KeyError: A column or key that is not there.
            IndexError: No such record.
            FormatError: A value is refused.
        """
        numbers = self._numbers(indices)
        found = self._remembered(numbers, columns, meta)
        if found is not None:
            return found
        with ExitStack() as transactions:
            parts = self._parts(numbers, transactions)
            return BatchReader(self._declared, self._system_headers, columns, meta, str(self.path)).read(parts)

    def _remembered(
        self, numbers: list[int], columns: Sequence[str] | None, meta: Sequence[str] | None
    ) -> dict[str, Any] | None:
        """Return a batch of records of one frame each from what is known of them; None where that is no way."""
        places = self._places
        if places is None or not numbers or (self._n_frames[numbers] != 1).any():
            return None
        environment = self._require_open()
        frames = self._first_frame[numbers].astype(np.int64)
        try:
            with environment.begin() as transaction:
                return places.batch(numbers, frames, columns, meta, environment.handle, transaction)
        except lmdb.Error as error:
            raise damaged(self.path, error) from error

    @cached_property
    def _places(self) -> FramePlaces | None:
        return FramePlaces(self._declared, self.n_frames, str(self.path))

    def _parts(self, numbers: list[int], transactions: ExitStack) -> Iterable[Part]:
        """Return where records lie, for a batch, in transactions that are left to the stack to end."""
        transaction = transactions.enter_context(self._require_open().begin())
        first, count = self._first_frame[numbers].tolist(), self._n_frames[numbers].tolist()
        return zip(repeat(transaction.get), repeat(str(self.path)), numbers, first, count, strict=False)

    # -- life -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the file. Records and arrays handed out stay good; new ones cannot be asked for."""
        self._environment = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Collection, (Path(os.path.abspath(self.path)),))

    def __repr__(self) -> str:
        return f"<Collection {self.path}: {self._n_records} records, {self.n_frames} frames>"


def _count(document: dict[str, Any], key: str, where: str) -> int:
    value = document.get(key)
    if type(value) is not int or not 0 <= value < 2**63:
        raise FormatError(f"{where}: {key} is a count, found {value!r}", "reject-row-count")
    return value
