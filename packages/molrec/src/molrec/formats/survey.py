"""What the frames of a file have in common: the first of two passes, from which a run is declared.

One frame after the other is added; only the first value of a column that has not changed yet is kept.

* A column is **static** when it is in every frame with the same bits and mask, unless it is part of the state of
  motion (`STATE_COLUMNS`). Where row counts or one of `IDENTITY_COLUMNS` change, no column of the block is static.
* A column missing from some frames is nullable; those frames have it with every row null.
* A block missing from some frames has no rows there, once it has been seen.
* Integers and binary64 in one column make it binary64, integers of several widths the widest; nothing else mixes.
* A meta key missing from some frames gets a fill: NaN for binary64, the empty string, null for a document. A key that
  has no value to spare, that is an integer or bool, or that changes its type becomes a document (``json``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import Array, identical, numpy_dtype
from molrec.errors import SchemaError
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.schema import SequenceSchema
from molrec.vocabulary import PER_STEP_KEYS

__all__ = ["IDENTITY_COLUMNS", "STATE_COLUMNS", "STEP_KEYS", "BlockSurvey", "MetaSurvey", "ResolvedMeta", "Survey"]

#: The state of motion belongs to the trajectory even where a file repeats it.
STATE_COLUMNS = frozenset(("x", "y", "z", "vx", "vy", "vz", "fx", "fy", "fz"))
#: Where one of these changes, the rows are other things than before.
IDENTITY_COLUMNS = frozenset(("element", "atomic_number", "id"))
#: Per-step keys that count the steps of a run, the first of them before the others.
STEP_KEYS = {"step": None, "timestep": None}.keys()

_TIME_KEY = "time"
_INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


class ColumnSurvey:
    """One column over the frames seen so far."""

    __slots__ = ("attributes", "constant", "dtype", "mask", "masked", "precision", "seen", "trailing", "values")

    def __init__(self, block: Block, name: str) -> None:
        self.dtype = block.dtype(name)
        self.trailing: tuple[int, ...] = block[name].shape[1:]
        self.precision = block.precision(name)
        self.attributes = dict(block.column_attributes(name))
        self.seen = 1
        self.masked = block.validity(name) is not None
        self.constant = True
        self.values: Array | None = block[name].copy()
        self.mask = block.validity(name)

    def add(self, block: Block, name: str, where: str, notes: Notes) -> None:
        """Take the column of one more frame.

        Raises:
            SchemaError: Its dtype, row shape or precision contradicts the earlier frames (``reject-schema-conflict``).
        """
        values, mask = block[name], block.validity(name)
        found = block.dtype(name)
        if found != self.dtype:
            self.dtype = _joint_dtype(self.dtype, found, f"{where}: column {name!r}")
            notes.changed(f"column {name!r}", f"has several number types; stored as {self.dtype}")
        if values.shape[1:] != self.trailing:
            raise SchemaError(
                f"{where}: a row of column {name!r} has shape {list(values.shape[1:])}, in earlier frames "
                f"{list(self.trailing)}; a run has one shape per column",
                "reject-schema-conflict",
            )
        if block.precision(name) != self.precision:
            raise SchemaError(
                f"{where}: column {name!r} declares precision {block.precision(name)}, in earlier frames "
                f"{self.precision}; a run has one precision per column",
                "reject-schema-conflict",
            )
        if block.column_attributes(name) != self.attributes:
            notes.lost(f"column {name!r}", "comes from different places in different frames; the first is remembered")
        self.seen += 1
        self.masked = self.masked or mask is not None
        if self.constant and not self._same(values, mask):
            self.constant, self.values, self.mask = False, None, None

    def _same(self, values: Array, mask: Array | None) -> bool:
        if self.values is None or not identical(values, self.values) or (mask is None) != (self.mask is None):
            return False
        return mask is None or self.mask is None or identical(mask, self.mask)

    def arranged(self, values: Array, where: str) -> Array:
        """Return a frame's values at the dtype of the whole run.

        Raises:
            SchemaError: An integer has no exact binary64 (``reject-schema-conflict``).
        """
        target = numpy_dtype(self.dtype)
        if values.dtype == target:
            return values
        converted = values.astype(target)
        if not np.array_equal(converted.astype(values.dtype), values):
            raise SchemaError(
                f"{where} holds integers that {self.dtype} cannot, and other frames need {self.dtype}",
                "reject-schema-conflict",
            )
        return converted


def _joint_dtype(first: str, second: str, where: str) -> str:
    """Return the dtype that holds two number types."""
    both = {first, second}
    if both <= {*_INTEGERS, "f64"}:
        if "f64" in both:
            return "f64"
        joint = np.promote_types(numpy_dtype(first), numpy_dtype(second))
        if joint.kind in "iu":
            return f"{joint.kind}{8 * joint.itemsize}"
    raise SchemaError(
        f"{where} is {second}, in earlier frames {first}; a run has one dtype per column", "reject-schema-conflict"
    )


class BlockSurvey:
    """One block over the frames seen so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.columns: dict[str, ColumnSurvey] = {}
        self.frames = 0
        self.everywhere = True
        #: Columns of the system and of the trajectory, once settled.
        self.static: tuple[str, ...] = ()
        self.varying: tuple[str, ...] = ()
        self._rows: int | None = None
        self._largest = 0
        self._same_rows = True
        self._shape: tuple[int, ...] | None = None
        self._targets: dict[str, str] = {}

    def add(self, block: Block, where: str, notes: Notes) -> None:
        """Take the block of one more frame."""
        self._same_rows = self._same_rows and self._rows in (None, block.rows)
        self._rows = block.rows
        self._largest = max(self._largest, block.rows)
        self._shape = block.structural_shape
        self._targets |= block.targets
        for name in block.columns:
            if name in self.columns:
                self.columns[name].add(block, name, where, notes)
            else:
                self.columns[name] = ColumnSurvey(block, name)
        self.frames += 1

    def settle(self) -> None:
        """Decide, after the last frame, what is static."""
        static = self._static()
        self.static = tuple(name for name in self.columns if name in static)
        self.varying = tuple(name for name in self.columns if name not in static)

    def _static(self) -> set[str]:
        if not self._same_rows or not self.everywhere:
            return set()
        always = {name for name, column in self.columns.items() if column.constant and column.seen == self.frames}
        if (self.columns.keys() & IDENTITY_COLUMNS) - always:
            return set()
        return always - STATE_COLUMNS

    def static_block(self) -> Block:
        """Return the static columns as a block of the system."""
        block = Block(rows=self._rows or 0)
        for name in self.static:
            column = self.columns[name]
            assert column.values is not None
            block[name] = column.values
            block.set_validity(name, column.mask)
            block.set_precision(name, column.precision)
            block.column_attributes(name).update(column.attributes)
            if name in self._targets:
                block.set_target(name, self._targets[name])
        if self._shape is not None:
            block.structural_shape = self._shape
        return block

    def declare(self, schema: SequenceSchema) -> None:
        """Declare the varying columns."""
        schema.declare_block(self.name, rows=self._largest)
        for name in self.varying:
            column = self.columns[name]
            nullable = column.masked or column.seen < self.frames
            schema.declare_column(self.name, name, column.dtype, column.trailing, nullable=nullable)
            schema.blocks[self.name].columns[name].extra |= column.attributes
            if column.precision is not None:
                schema.declare_precision(self.name, name, column.precision)
            if name in self._targets:
                schema.declare_target(self.name, name, self._targets[name])
        if self._shape is not None:
            schema.declare_structural_shape(self.name, self._shape)

    def arrange(self, block: Block | None, where: str) -> Block:
        """Return the varying columns of one frame's block; without rows where the frame has no such block."""
        rows = 0 if block is None else block.rows
        arranged = Block(rows=rows)
        for name in self.varying:
            column = self.columns[name]
            if block is not None and name in block:
                arranged[name] = column.arranged(block[name], f"{where}: column {name!r}")
                arranged.set_validity(name, block.validity(name))
            else:
                arranged[name] = np.zeros((rows, *column.trailing), dtype=numpy_dtype(column.dtype))
                arranged.set_validity(name, np.zeros(rows, dtype=np.bool_))
        return arranged


@dataclass(frozen=True, slots=True)
class ResolvedMeta:
    """How one key is declared."""

    tag: str
    fill: Any = None
    has_fill: bool = False


class MetaSurvey:
    """One meta key over the frames seen so far."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._tags: set[str] = set()
        self._seen = 0
        self._says_fill = False

    def add(self, tag: str, value: Any) -> None:
        """Take the value of one more frame."""
        self._tags.add(tag)
        self._seen += 1
        self._says_fill = self._says_fill or value == "" or _is_nan(value)

    def resolve(self, frames: int) -> ResolvedMeta:
        """Return the declaration that holds every value seen, and says which frames had none."""
        missing = self._seen < frames
        if len(self._tags) > 1:
            return ResolvedMeta("json", None, missing)
        (tag,) = self._tags
        if not missing or tag == "json":
            return ResolvedMeta(tag, None, missing)
        element, width = typedjson.element_and_width(tag)
        if element == "f64" and (self.key in PER_STEP_KEYS or not self._says_fill):
            return ResolvedMeta(tag, math.nan if width is None else (math.nan,) * width, has_fill=True)
        if element == "string" and not self._says_fill:
            return ResolvedMeta(tag, "", has_fill=True)
        return ResolvedMeta("json", None, has_fill=True)


def _is_nan(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_nan(item) for item in value)
    return isinstance(value, float) and math.isnan(value)


class Survey:
    """Everything the first pass finds out.

    Args:
        notes: Told about columns that change their type.
    """

    def __init__(self, notes: Notes) -> None:
        self.frames = 0
        self.blocks: dict[str, BlockSurvey] = {}
        self.meta: dict[str, MetaSurvey] = {}
        self._notes = notes
        #: The first frame with a cell and the first without.
        self._cells: dict[bool, str] = {}
        #: Step key -> the last value, while it increases in every frame.
        self._steps: dict[str, int] = {}
        self._timed = True

    def add(self, frame: Frame, where: str) -> None:
        """Take one more frame; `where` is what to call it.

        Raises:
            SchemaError: The frame cannot be of one run with the earlier ones.
        """
        for name, block in frame.items():
            if name not in self.blocks:
                self.blocks[name] = BlockSurvey(name)
                self.blocks[name].everywhere = not self.frames
            self.blocks[name].add(block, where, self._notes)
        for name, survey in self.blocks.items():
            survey.everywhere = survey.everywhere and name in frame
        for key, tag in frame.meta.tags.items():
            self.meta.setdefault(key, MetaSurvey(key)).add(tag, frame.meta[key])
        self._add_cell(frame, where)
        self._add_stamps(frame)
        self.frames += 1

    def _add_cell(self, frame: Frame, where: str) -> None:
        self._cells.setdefault(frame.box is not None and frame.box.cell_defined, where)
        if len(self._cells) > 1:
            raise SchemaError(
                f"{self._cells[True]} has a cell and {self._cells[False]} has none; one flag covers a run, so "
                "convert frames with and without a cell separately (--frames START:STOP selects them)",
                "reject-mixed-cells",
            )

    def _add_stamps(self, frame: Frame) -> None:
        for key in STEP_KEYS:
            value = frame.meta.get(key)
            known = self._steps.get(key)
            follows = not self.frames if known is None else isinstance(value, int) and value > known
            if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63 and follows:
                self._steps[key] = value
            else:
                self._steps.pop(key, None)
        self._timed = self._timed and type(frame.meta.get(_TIME_KEY)) in (int, float)

    def add_step(self, step: int | None) -> None:
        """Take one more frame that is like the first ones but for its step."""
        for key, known in list(self._steps.items()):
            if step is None or step <= known:
                del self._steps[key]
            else:
                self._steps[key] = step

    def step_key(self) -> str | None:
        """Return the meta key that counts the steps of the run, None when the frames are just numbered."""
        return next((key for key in STEP_KEYS if key in self._steps), None)

    def has_times(self) -> bool:
        """Tell whether every frame has a ``time``."""
        return self._timed and self.frames > 0
