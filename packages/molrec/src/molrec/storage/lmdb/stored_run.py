"""The trajectory of one record of a collection, resolved by carry-forward within the record (``docs/spec/lmdb.md``)."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from molrec import typedjson
from molrec.dtypes import numpy_dtype
from molrec.errors import FormatError, SchemaError
from molrec.model.alignment import aligned_pairs, check_run
from molrec.model.block import Block
from molrec.model.box import Box, check_cell_kind
from molrec.model.carry_forward import UpdateIndex
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.model.presentation import as_presented
from molrec.model.resolved import ResolvedRules, SectionRows, check_reference
from molrec.model.schema import SequenceSchema
from molrec.storage.lmdb import names
from molrec.storage.lmdb.environment import Values
from molrec.storage.lmdb.update_bytes import StoredUpdate, UpdateDecoder

__all__ = ["Declared", "StoredRun"]


class Declared:
    """The declaration of a collection, and what reading its frames needs of it."""

    def __init__(self, schema: SequenceSchema) -> None:
        self.schema = schema
        self.decoder = UpdateDecoder(schema)
        self.tags = self.decoder.tags
        #: What batches have found out about layouts, by the columns they ask for.
        self.batch_plans: dict[tuple[str, ...], dict[int, Any]] = {}
        #: Whether anything holds between blocks: most collections declare no references and no alignment.
        self.ties = bool(aligned_pairs(schema)) or any(block.targets for block in schema.blocks.values())


@dataclass(slots=True)
class _Scan:
    """What the headers of a whole run say."""

    indexes: dict[str, UpdateIndex]
    steps: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64] | None
    meta: dict[str, list[Any]]
    boxes: tuple[list[int], list[Box]]


class StoredRun(Sequence[Frame]):
    """The frames of one record: ``len(run)``, ``run[i]``, iteration, `steps`, `times`, `meta`.

    Arrays are read-only. A frame is the latest update of every block, at or before it, within this record.
    """

    def __init__(
        self, declared: Declared, values: Values, first: int, count: int, sections: SectionRows, where: str
    ) -> None:
        self._declared = declared
        self._values = values
        self._first = first
        self._count = count
        self._sections = sections
        self._where = where

    def __len__(self) -> int:
        return self._count

    @property
    def schema(self) -> SequenceSchema:
        """The declaration of the collection (a copy)."""
        return self._declared.schema.copy()

    def update(self, ordinal: int) -> StoredUpdate:
        """Return what is stored for one frame."""
        where = f"{self._where}, frame {ordinal}"
        value = self._values.get(names.frame_key(self._first + ordinal))
        if value is None:
            raise FormatError(f"{where}: the index counts it but it is not there", "reject-missing-key")
        return self._declared.decoder.read(value, where)

    # -- one frame --------------------------------------------------------------------------------------------------

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> list[Frame]: ...
    def __getitem__(self, index: int | slice) -> Frame | list[Frame]:
        """Return one resolved frame, or those of a slice."""
        if isinstance(index, slice):
            return [self[ordinal] for ordinal in range(self._count)[index]]
        position = operator.index(index)
        ordinal = position + self._count if position < 0 else position
        if not 0 <= ordinal < self._count:
            raise IndexError(f"frame {position} of a run of {self._count} frames")
        update = self.update(ordinal)
        blocks = update.blocks()
        box = update.read_box()
        if ordinal:
            blocks = self._carried(ordinal, blocks)
            box = self._box_at(ordinal) if box is None else box
        if self._declared.ties:
            self._check_ties(ordinal, blocks)
        return Frame._trusted(blocks, Meta._trusted({**update.meta}, {**self._declared.tags}), box)

    def _carried(self, ordinal: int, own: dict[str, Block]) -> dict[str, Block]:
        """Return the blocks of a frame, those it does not update read where they were last updated."""
        blocks: dict[str, Block] = {}
        updates: dict[int, StoredUpdate] = {}
        for name in self._declared.schema.blocks:
            if name in own:
                blocks[name] = own[name]
                continue
            index = self._scan.indexes[name]
            found = index.update_at(ordinal)
            if found >= 0:
                place = index.ordinal_of(found)
                if place not in updates:
                    updates[place] = self.update(place)
                blocks[name] = updates[place].block(name)
        return blocks

    def _box_at(self, ordinal: int) -> Box | None:
        ordinals, boxes = self._scan.boxes
        found = bisect_right(ordinals, ordinal) - 1
        return boxes[found] if found >= 0 else None

    @cached_property
    def _rules(self) -> ResolvedRules:
        try:
            return ResolvedRules(self._declared.schema, self._sections)
        except SchemaError as error:
            raise FormatError(f"{self._where}: {error.message}", error.rule) from error

    def _check_ties(self, ordinal: int, blocks: Mapping[str, Block]) -> None:
        """Check the references of one resolved frame, and its alignments as those of the run."""
        shown = {name: as_presented(block) for name, block in blocks.items()}
        try:
            for name in self._rules.referencing:
                if name in shown:
                    for column, target in self._rules.references(name).items():
                        rows = self._rules.target_rows(target, shown)
                        check_reference(name, column, target, rows, shown[name], f"frame {ordinal}")
            if not ordinal:
                self._rules.check_change(0, shown, {})
        except SchemaError as error:
            raise FormatError(f"{self._where}: {error.message}", error.rule) from error
        if ordinal:
            self._scan  # noqa: B018 - checks every alignment once

    # -- all frames -------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Frame]:
        """Yield every frame, each value read once."""
        blocks: dict[str, Block] = {}
        box: Box | None = None
        for ordinal in range(self._count):
            update = self.update(ordinal)
            own = update.blocks()
            if self._declared.ties:
                before = {name: as_presented(block) for name, block in blocks.items()}
                try:
                    presented = {name: as_presented(block) for name, block in own.items()}
                    self._rules.check_change(ordinal, presented, before)
                except SchemaError as error:
                    raise FormatError(f"{self._where}: {error.message}", error.rule) from error
            blocks = {**blocks, **own}
            box = update.read_box() or box
            yield Frame._trusted(dict(blocks), Meta._trusted({**update.meta}, {**self._declared.tags}), box)

    @cached_property
    def _scan(self) -> _Scan:
        ordinals: dict[str, list[int]] = {name: [] for name in self._declared.schema.blocks}
        rows: dict[str, list[int]] = {name: [0] for name in ordinals}
        steps: list[int] = []
        times: list[float] = []
        meta: dict[str, list[Any]] = {key: [] for key in self._declared.tags}
        boxes: tuple[list[int], list[Box]] = ([], [])
        for ordinal in range(self._count):
            update = self.update(ordinal)
            for name, layout in update.layout.blocks.items():
                ordinals[name].append(ordinal)
                rows[name].append(rows[name][-1] + layout.rows)
            if steps and update.step <= steps[-1]:
                raise FormatError(
                    f"{update.where}: step {update.step} follows step {steps[-1]}; steps increase strictly",
                    "reject-step-not-increasing",
                )
            steps.append(update.step)
            times += () if update.time is None else (update.time,)
            for key, value in update.meta.items():
                meta[key].append(value)
            box = update.read_box()
            if box is not None:
                boxes[0].append(ordinal)
                boxes[1].append(box)
        if len(times) not in (0, self._count):
            raise FormatError(f"{self._where}: {len(times)} of {self._count} frames have a time", "reject-time-dropped")
        indexes = {
            name: UpdateIndex(len(found), 0, np.array(found, np.int64), np.array(rows[name], np.int64))
            for name, found in ordinals.items()
        }
        self._check_run(indexes, boxes[1])
        stamps = np.array(steps, dtype=np.int64)
        moments = np.array(times) if times else None
        for array in (stamps, moments):
            if array is not None:
                array.flags.writeable = False
        return _Scan(indexes, stamps, moments, meta, boxes)

    def _check_run(self, indexes: Mapping[str, UpdateIndex], boxes: Sequence[Box]) -> None:
        try:
            for name, target in aligned_pairs(self._declared.schema):
                check_run(name, target, indexes[name], indexes[target])
            for box in boxes:
                check_cell_kind(box, boxes[0])
        except SchemaError as error:
            raise FormatError(f"{self._where}: {error.message}", error.rule) from error

    @property
    def steps(self) -> npt.NDArray[np.int64]:
        """Integration step of every frame, int64 ``(frames,)``, read-only."""
        return self._scan.steps

    @property
    def times(self) -> npt.NDArray[np.float64] | None:
        """Time of every frame, float64 ``(frames,)``, read-only; None for a run without times."""
        return self._scan.times

    @property
    def meta(self) -> dict[str, Any]:
        """Per-step meta: each key's values over the frames, as an array, or a list for ``json``."""
        series: dict[str, Any] = {}
        for key, values in self._scan.meta.items():
            tag = self._declared.tags[key]
            series[key] = values if tag == "json" else series_array(tag, values)
        return series

    def box_at(self, index: int) -> Box | None:
        """Return the cell of a frame, or None before the first cell of the run."""
        ordinal = operator.index(index)
        if not -self._count <= ordinal < self._count:
            raise IndexError(f"frame {ordinal} of a run of {self._count} frames")
        return self._box_at(ordinal % self._count)

    def update_ordinal(self, block: str, index: int) -> int | None:
        """Return the ordinal of the frame that wrote what `block` shows at a frame, or None while it is absent."""
        if block not in self._declared.schema.blocks:
            raise KeyError(f"no block {block!r}; declared are {', '.join(self._declared.schema.blocks) or '(none)'}")
        found = self._scan.indexes[block]
        update = found.update_at(operator.index(index) % max(1, self._count))
        return None if update < 0 else found.ordinal_of(update)

    def __repr__(self) -> str:
        return f"<StoredRun: {self._count} frames>"


def series_array(tag: str, values: Sequence[Any]) -> npt.NDArray[Any]:
    """Return per-step values of a tag other than ``json`` as one array ``(frames,)`` or ``(frames, width)``."""
    dtype, trailing = typedjson.series_column(tag)
    return np.array(values, dtype=numpy_dtype(dtype)).reshape(len(values), *trailing)
