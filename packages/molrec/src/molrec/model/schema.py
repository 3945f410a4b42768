"""`SequenceSchema`: what every frame of a trajectory may hold, declared once (``docs/spec/trajectory.md``).

A schema lists blocks with their columns (dtype, trailing shape, nullability, precision), row references, alignment
and structural shape, and the per-step meta keys with tag and fill. It is pinned when a trajectory is created. This
module knows declarations only: no frames in flight, no files.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from molrec import typedjson
from molrec.dtypes import numpy_dtype
from molrec.errors import FormatError, MolrecError, SchemaError
from molrec.model.block import Block, check_structural_shape
from molrec.model.frame import Frame
from molrec.model.names import SERIES_RESERVED_BLOCKS, SERIES_RESERVED_COLUMNS, check_name, check_reserved
from molrec.model.references import check_target
from molrec.precision import check_precision
from molrec.vocabulary import check_canonical_declaration

__all__ = ["BlockSchema", "ColumnSchema", "MetaSchema", "SequenceSchema"]

_CONFLICT = "reject-schema-conflict"
_UNDECLARED = "reject-undeclared"


class _NotGiven:
    """Marks a fill that was not given, because None is a legal fill of a json key."""

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN = _NotGiven()


@dataclass(slots=True)
class ColumnSchema:
    """One declared column; `trailing` is the shape of a row, `precision` in the column's own units."""

    dtype: str
    trailing: tuple[int, ...] = ()
    nullable: bool = False
    precision: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON object of this entry; defaults are left out."""
        document: dict[str, Any] = {"dtype": self.dtype, "trailing": list(self.trailing), **self.extra}
        if self.nullable:
            document["nullable"] = True
        if self.precision is not None:
            document["precision"] = self.precision
        return document


@dataclass(slots=True)
class BlockSchema:
    """One declared block; `rows` is a hint for storage extents and is not part of the stored declaration."""

    columns: dict[str, ColumnSchema] = field(default_factory=dict)
    structural_shape: tuple[int, ...] | None = None
    targets: dict[str, str] = field(default_factory=dict)
    aligned_with: str | None = None
    rows: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def precisions(self) -> dict[str, float]:
        """Column to declared precision, for the columns that have one."""
        return {name: column.precision for name, column in self.columns.items() if column.precision is not None}

    def to_document(self) -> dict[str, Any]:
        """Return the JSON object of this entry; defaults are left out."""
        document: dict[str, Any] = {
            "columns": {name: column.to_document() for name, column in self.columns.items()},
            **self.extra,
        }
        if self.structural_shape is not None:
            document["structural_shape"] = list(self.structural_shape)
        if self.targets:
            document["targets"] = dict(self.targets)
        if self.aligned_with is not None:
            document["aligned_with"] = self.aligned_with
        return document


@dataclass(slots=True)
class MetaSchema:
    """One declared per-step key; `fill` stands in for a frame that omits the key, when `has_fill`."""

    tag: str
    fill: Any = None
    has_fill: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON object of this entry; defaults are left out."""
        document: dict[str, Any] = {"dtype": self.tag, **self.extra}
        if self.has_fill:
            document["fill"] = typedjson.encode(self.tag, self.fill)
        return document


class SequenceSchema:
    """The declaration of a trajectory. Every ``declare_*`` returns the schema, so calls chain.

    Raises:
        SchemaError: Two declarations disagree (``reject-schema-conflict``), something undeclared is named
            (``reject-undeclared``), or a name, dtype, precision, target or tag is not admissible; the rule says which.
    """

    __slots__ = ("blocks", "extra", "meta")

    def __init__(self) -> None:
        self.blocks: dict[str, BlockSchema] = {}
        self.meta: dict[str, MetaSchema] = {}
        #: Unknown keys of a stored declaration, carried through.
        self.extra: dict[str, Any] = {}

    # -- declarations -----------------------------------------------------------------------------------------------

    def declare_block(self, name: str, rows: int | None = None) -> Self:
        """Declare a block.

        Args:
            name: Name of the block.
            rows: Row count of a representative (largest) frame, which storage extents are chosen by; not stored.

        Raises:
            SchemaError: A name the layout cannot hold (``reject-bad-name``, ``reject-reserved-name``), or `rows` that
                is no count (``reject-row-count``).
        """
        where = f"block {name!r}"
        check_name(name, where)
        check_reserved(name, SERIES_RESERVED_BLOCKS, where)
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 0):
            raise SchemaError(f"{where}: rows is a non-negative integer or None, found {rows!r}", "reject-row-count")
        declared = self.blocks.setdefault(name, BlockSchema())
        if rows is not None:
            declared.rows = max(int(rows), declared.rows or 0)
        return self

    def declare_column(
        self, block: str, name: str, dtype: str, trailing: Sequence[int] = (), nullable: bool = False
    ) -> Self:
        """Declare a column; its block is declared if it is not yet.

        Args:
            block: Name of the block.
            name: Name of the column.
            dtype: One of the thirteen dtypes, such as ``f64`` or ``string``.
            trailing: Shape of one row; the column is ``(rows, *trailing)``.
            nullable: Whether it may carry a validity mask ``(rows,)``.

        Raises:
            SchemaError: A name (``reject-bad-name``, ``reject-reserved-name``), dtype (``reject-unknown-dtype``,
                ``reject-narrow-float``) or row shape (``reject-trailing-shape``) that cannot be, a canonical name at
                another dtype (``reject-canonical-dtype``), or a declaration that differs (``reject-schema-conflict``).
        """
        where = f"block {block!r}, column {name!r}"
        check_name(name, where)
        check_reserved(name, SERIES_RESERVED_COLUMNS, where)
        numpy_dtype(dtype, where)
        row_shape = _check_trailing(trailing, where)
        check_canonical_declaration(name, dtype, row_shape, where)
        self.declare_block(block)
        declared = self.blocks[block]
        existing = declared.columns.get(name)
        if existing is None:
            self._check_disjoint(block, name)
            declared.columns[name] = ColumnSchema(dtype, row_shape, bool(nullable))
        elif (existing.dtype, existing.trailing) != (dtype, row_shape):
            raise SchemaError(
                f"{where} is declared {existing.dtype} with trailing shape {list(existing.trailing)} and again "
                f"{dtype} with {list(row_shape)}; a trajectory holds one declaration",
                _CONFLICT,
            )
        else:
            existing.nullable = existing.nullable or bool(nullable)
        return self

    def declare_precision(self, block: str, column: str, precision: float) -> Self:
        """Declare the precision of an `f64` column, in the column's own units.

        Raises:
            SchemaError: Not declared (``reject-undeclared``), not `f64` (``reject-precision-on-non-f64``), out of
                bounds (``reject-precision-out-of-bounds``), or another than before (``reject-schema-conflict``).
        """
        where = f"block {block!r}, column {column!r}"
        declared = self._column(block, column, where)
        if declared.dtype != "f64":
            raise SchemaError(
                f"{where} is {declared.dtype}; only an f64 column declares a precision", "reject-precision-on-non-f64"
            )
        checked = check_precision(precision, where)
        if declared.precision is not None and declared.precision != checked:
            raise SchemaError(f"{where} declares precision {declared.precision!r} and {checked!r}", _CONFLICT)
        declared.precision = checked
        return self

    def declare_nullable(self, block: str, column: str) -> Self:
        """Let a column carry a validity mask, one bool for each row.

        Raises:
            SchemaError: The column is not declared (``reject-undeclared``).
        """
        self._column(block, column, f"block {block!r}, column {column!r}").nullable = True
        return self

    def declare_target(self, block: str, column: str, target: str) -> Self:
        """Declare which block's rows a `u64` column references.

        Args:
            block: Name of the block.
            column: Name of the column; a null in it references nothing.
            target: ``<block>`` of the same frame, or ``/<section>/<block>`` of the record.

        Raises:
            SchemaError: Not declared (``reject-undeclared``), not `u64` (``reject-target-not-u64``), a target of
                neither spelling (``reject-target-malformed``) or into the trajectory
                (``reject-target-into-trajectory``), or another than before (``reject-schema-conflict``).
        """
        where = f"block {block!r}, column {column!r}"
        declared = self._column(block, column, where)
        if declared.dtype != "u64":
            raise SchemaError(f"{where} is {declared.dtype}; a row reference is a u64 column", "reject-target-not-u64")
        checked = check_target(target, where)
        if self.blocks[block].targets.setdefault(column, checked) != checked:
            raise SchemaError(f"{where} references {self.blocks[block].targets[column]!r} and {checked!r}", _CONFLICT)
        return self

    def declare_structural_shape(self, block: str, shape: Sequence[int]) -> Self:
        """Declare the grid a block's rows lie on, in C order; every update then has exactly that many rows.

        Raises:
            SchemaError: No list of positive integers (``reject-structural-shape``), an aligned block
                (``reject-aligned-shape``), or another shape than before (``reject-schema-conflict``).
        """
        where = f"block {block!r}"
        checked = check_structural_shape(shape, where)
        self.declare_block(block, rows=math.prod(checked))
        declared = self.blocks[block]
        if declared.aligned_with is not None:
            raise SchemaError(f"{where} is aligned; an aligned block has no structural shape", "reject-aligned-shape")
        if declared.structural_shape not in (None, checked):
            raise SchemaError(f"{where} declares shapes {declared.structural_shape} and {checked}", _CONFLICT)
        declared.structural_shape = checked
        return self

    def declare_aligned(self, block: str, target: str) -> Self:
        """Declare that a block's rows are another block's rows, one for one, at every frame.

        Args:
            block: The block that changes rarely.
            target: The block whose rows they are; neither aligned itself nor the block itself.

        Raises:
            SchemaError: A block that is not declared (``reject-aligned-target-undeclared``), a chain
                (``reject-aligned-chain``), a column in both (``reject-aligned-shared-column``), a structural shape
                (``reject-aligned-shape``), or another target than before (``reject-schema-conflict``).
        """
        for name in (block, target):
            if not isinstance(name, str) or name not in self.blocks:
                raise SchemaError(
                    f"cannot align {block!r} with {target!r}: block {name!r} is not declared",
                    "reject-aligned-target-undeclared",
                )
        aligned, reference = self.blocks[block], self.blocks[target]
        if block == target or reference.aligned_with is not None or block in self._alignment_targets():
            raise SchemaError(
                f"cannot align {block!r} with {target!r}: an alignment names another block and does not chain",
                "reject-aligned-chain",
            )
        if aligned.structural_shape is not None:
            raise SchemaError(
                f"cannot align {block!r} with {target!r}: {block!r} has a structural shape", "reject-aligned-shape"
            )
        shared = sorted(aligned.columns.keys() & reference.columns.keys())
        if shared:
            raise SchemaError(
                f"cannot align {block!r} with {target!r}: both declare {', '.join(shared)}; their columns are disjoint",
                "reject-aligned-shared-column",
            )
        if aligned.aligned_with not in (None, target):
            raise SchemaError(f"block {block!r} is aligned with {aligned.aligned_with!r} and {target!r}", _CONFLICT)
        aligned.aligned_with = target
        return self

    def declare_meta(self, key: str, tag: str, fill: Any = NOT_GIVEN) -> Self:
        """Declare a per-step meta key.

        Args:
            key: Name of the key.
            tag: One of the sixteen tags, such as ``f64`` or ``f64x3``.
            fill: Value of a frame that omits the key; without one every frame has to give it. None is a value of
                ``json`` alone.

        Raises:
            SchemaError: A name (``reject-bad-name``), tag (``reject-meta-unknown-tag``) or fill
                (``reject-meta-tag-mismatch``, ``reject-meta-out-of-range``) that cannot be, or a declaration that
                differs (``reject-schema-conflict``).
        """
        where = f"meta key {key!r}"
        check_name(key, where)
        typedjson.element_and_width(tag, where)
        has_fill = not isinstance(fill, _NotGiven)
        declared = MetaSchema(tag, typedjson.coerce(tag, fill, where) if has_fill else None, has_fill)
        existing = self.meta.get(key)
        if existing is not None and (existing.tag != tag or (has_fill and existing.has_fill)):
            # As text, so that 0.0 and -0.0 differ.
            if typedjson.dump_json(existing.to_document()) != typedjson.dump_json(declared.to_document()):
                raise SchemaError(
                    f"{where} is declared {existing.to_document()} and again {declared.to_document()}", _CONFLICT
                )
        elif existing is None or has_fill:
            self.meta[key] = declared
        return self

    def _column(self, block: str, column: str, where: str) -> ColumnSchema:
        if block not in self.blocks or column not in self.blocks[block].columns:
            raise SchemaError(f"{where} is not declared; call declare_column first", _UNDECLARED)
        return self.blocks[block].columns[column]

    def _alignment_targets(self) -> set[str]:
        return {block.aligned_with for block in self.blocks.values() if block.aligned_with is not None}

    def _check_disjoint(self, block: str, column: str) -> None:
        """Refuse a new column that an aligned partner has already."""
        for name, declared in self.blocks.items():
            if declared.aligned_with is not None and block in (name, declared.aligned_with):
                partner = declared.aligned_with if block == name else name
                if column in self.blocks[partner].columns:
                    raise SchemaError(
                        f"block {block!r}, column {column!r}: its aligned partner {partner!r} declares that column",
                        "reject-aligned-shared-column",
                    )

    # -- from frames ------------------------------------------------------------------------------------------------

    @classmethod
    def from_frames(cls, frames: Iterable[Frame]) -> Self:
        """Declare what the frames hold: the union of their blocks and meta keys, nullable where a mask was seen.

        Meta keys are declared without a fill; the largest row count of a block becomes its hint.
        """
        schema = cls()
        for frame in frames:
            for name, block in frame.items():
                schema.include_block(name, block)
            for key, tag in frame.meta.tags.items():
                schema.declare_meta(key, tag)
        return schema

    def include_block(self, name: str, block: Block) -> Self:
        """Declare one block as a frame presents it."""
        self.declare_block(name, rows=block.rows)
        for column, values in block.items():
            nullable = block.validity(column) is not None
            self.declare_column(name, column, block.dtype(column), values.shape[1:], nullable=nullable)
            precision = block.precision(column)
            if precision is not None:
                self.declare_precision(name, column, precision)
        if block.structural_shape is not None:
            self.declare_structural_shape(name, block.structural_shape)
        for column, target in block.targets.items():
            self.declare_target(name, column, target)
        return self

    # -- the stored document ----------------------------------------------------------------------------------------

    def to_document(self) -> dict[str, Any]:
        """Return the ``sequence_schema`` JSON document; defaults are left out."""
        return {
            "blocks": {name: block.to_document() for name, block in self.blocks.items()},
            "meta": {key: declared.to_document() for key, declared in self.meta.items()},
            **copy.deepcopy(self.extra),
        }

    @classmethod
    def from_document(cls, document: Any, where: str) -> Self:
        """Read a stored declaration back, unknown keys included.

        Raises:
            FormatError: The document is not a declaration; the rule is that of the `SchemaError` it breaks, or
                ``reject-malformed-schema``.
        """
        try:
            return cls._from_document(document)
        except MolrecError as error:
            raise FormatError(f"{where}: {error.message}", error.rule) from error

    @classmethod
    def _from_document(cls, document: Any) -> Self:
        schema = cls()
        top = _object(document, "sequence_schema")
        blocks = {name: _object(entry, f"block {name!r}") for name, entry in _take(top, "blocks").items()}
        for name, entry in blocks.items():
            schema._read_block(name, entry)
        for name, entry in blocks.items():
            aligned = entry.pop("aligned_with", None)
            if aligned is not None:
                schema.declare_aligned(name, aligned)
            schema.blocks[name].extra = entry
        for key, entry in _take(top, "meta").items():
            schema._read_meta(key, _object(entry, f"meta key {key!r}"))
        schema.extra = top
        return schema

    def _read_block(self, name: str, entry: dict[str, Any]) -> None:
        self.declare_block(name)
        for column, stored in _take(entry, "columns").items():
            where = f"block {name!r}, column {column!r}"
            declared = _object(stored, where)
            nullable = declared.pop("nullable", False)
            if not isinstance(nullable, bool):
                raise SchemaError(f"{where}: nullable is true or false, found {nullable!r}", "reject-malformed-schema")
            trailing = declared.pop("trailing", [])
            if not isinstance(trailing, list):
                raise SchemaError(f"{where}: trailing is a list, found {trailing!r}", "reject-trailing-shape")
            self.declare_column(name, column, declared.pop("dtype", None), trailing, nullable)
            precision = declared.pop("precision", None)
            if precision is not None:
                self.declare_precision(name, column, precision)
            self.blocks[name].columns[column].extra = declared
        shape = entry.pop("structural_shape", None)
        if shape is not None:
            if not isinstance(shape, list):
                raise SchemaError(f"block {name!r}: structural_shape is a list", "reject-structural-shape")
            self.declare_structural_shape(name, shape)
        for column, target in _take(entry, "targets").items():
            self.declare_target(name, column, target)

    def _read_meta(self, key: str, entry: dict[str, Any]) -> None:
        tag = entry.pop("dtype", None)
        where = f"meta key {key!r}"
        typedjson.element_and_width(tag, where)
        if "fill" in entry:
            self.declare_meta(key, tag, fill=typedjson.decode(tag, entry.pop("fill"), f"{where}, fill"))
        else:
            self.declare_meta(key, tag)
        self.meta[key].extra = entry

    def copy(self) -> Self:
        """Return an independent copy, row hints included."""
        return copy.deepcopy(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequenceSchema):
            return NotImplemented
        return self.to_document() == other.to_document()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        blocks = ", ".join(f"{name}({', '.join(block.columns)})" for name, block in self.blocks.items())
        return f"<SequenceSchema: {blocks or 'no blocks'}; meta {', '.join(self.meta) or 'none'}>"


def _check_trailing(trailing: Sequence[int], where: str) -> tuple[int, ...]:
    extents = tuple(trailing) if isinstance(trailing, (Sequence, np.ndarray)) else (trailing,)
    if not isinstance(trailing, (Sequence, np.ndarray)) or any(
        isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in extents
    ):
        raise SchemaError(
            f"{where}: a trailing shape is a list of non-negative integers, found {list(extents)!r}",
            "reject-trailing-shape",
        )
    return tuple(int(extent) for extent in extents)


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise SchemaError(f"{where} is a JSON object, found {value!r}", "reject-malformed-schema")
    return dict(value)


def _take(parent: dict[str, Any], key: str) -> dict[str, Any]:
    return _object(parent.pop(key, {}), key)
