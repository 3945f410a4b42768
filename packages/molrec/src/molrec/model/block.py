"""`Block`: named columns that share one row count, with their masks, precisions and references.

A block knows the rules of a single block (``docs/spec/frame.md``): dtypes, canonical names, validity masks, declared
precision, row references, structural shape. It knows nothing of other blocks and nothing of files.
"""

from __future__ import annotations

import math
from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array, admit_array, dtype_name, identical
from molrec.errors import SchemaError
from molrec.model.names import RESERVED_COLUMNS, check_name, check_reserved
from molrec.model.references import check_target
from molrec.precision import check_precision, quantize
from molrec.vocabulary import canonical_array

__all__ = ["Block"]


class Block:
    """Named columns of one row count: a mapping of name to array whose length is its rows.

    Columns are C-order arrays ``(rows, *trailing)`` of the thirteen dtypes; strings are numpy's variable-width
    strings. An array that already fits is kept as it is, not copied; one that needs conversion is converted into a
    new array, and a column with a declared precision holds a rounded copy. The caller's array is never changed.

    Args:
        columns: Name to array-like; every array has the same first axis.
        structural_shape: Shape of a volumetric grid whose product is the row count.
        rows: Row count of a block without columns; checked against the columns otherwise.

    Raises:
        SchemaError: A column cannot be admitted; see `__setitem__`.
    """

    __slots__ = (
        "_column_attributes",
        "_columns",
        "_precision",
        "_rows",
        "_structural_shape",
        "_targets",
        "_validity",
        "attributes",
    )

    def __init__(
        self,
        columns: Mapping[str, npt.ArrayLike] | None = None,
        structural_shape: Sequence[int] | None = None,
        *,
        rows: int | None = None,
    ) -> None:
        self._columns: dict[str, Array] = {}
        self._rows: int | None = None if rows is None else _check_count(rows)
        self._validity: dict[str, npt.NDArray[np.bool_]] = {}
        self._precision: dict[str, float] = {}
        self._targets: dict[str, str] = {}
        self._structural_shape: tuple[int, ...] | None = None
        self._column_attributes: dict[str, dict[str, Any]] = {}
        #: Free attributes of the block, carried through storage.
        self.attributes: dict[str, Any] = {}
        for name, values in (columns or {}).items():
            self[name] = values
        if structural_shape is not None:
            self.structural_shape = structural_shape

    @classmethod
    def _trusted(
        cls,
        columns: dict[str, Array],
        rows: int,
        validity: dict[str, npt.NDArray[np.bool_]],
        precision: dict[str, float],
        targets: dict[str, str],
        structural_shape: tuple[int, ...] | None,
    ) -> Block:
        """Build a block from parts a reader has checked already; the side tables are copied, the arrays shared."""
        block = cls.__new__(cls)
        block._columns = columns
        block._rows = rows
        block._validity = validity
        block._precision = precision.copy()
        block._targets = targets.copy()
        block._structural_shape = structural_shape
        block._column_attributes = {}
        block.attributes = {}
        return block

    # -- the mapping ------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Array:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"no column {name!r}; the columns are {', '.join(self._columns) or '(none)'}") from None

    def __setitem__(self, name: str, values: npt.ArrayLike) -> None:
        """Add or replace a column.

        A replaced column keeps its mask, precision and target while they still apply: a precision goes with a column
        that is no longer `f64`, a target with one that is no longer `u64`.

        Raises:
            SchemaError: A name the store cannot hold (``reject-bad-name``, ``reject-reserved-name``), a dtype outside
                the set (``reject-narrow-float``, ``reject-unknown-dtype``), a canonical name at another dtype
                (``reject-canonical-dtype``), or another row count (``reject-row-count``).
        """
        where = f"column {name!r}"
        check_name(name, where)
        check_reserved(name, RESERVED_COLUMNS, where)
        array = canonical_array(name, admit_array(values, where), where)
        if array.ndim == 0:
            raise SchemaError(f"{where}: a column has one entry per row, found a scalar", "reject-row-count")
        others = [column for column in self._columns if column != name]
        if array.shape[0] != self._rows and self._rows is not None and (others or not self._columns):
            raise SchemaError(
                f"{where} has {array.shape[0]} rows but the block has {self._rows}; "
                "all columns of a block share one row count",
                "reject-row-count",
            )
        if self._structural_shape is not None and math.prod(self._structural_shape) != array.shape[0]:
            raise SchemaError(
                f"{where} has {array.shape[0]} rows but the block is a grid of {list(self._structural_shape)}; "
                "set structural_shape to None first",
                "reject-row-count",
            )
        if name in self._precision:
            if array.dtype == np.float64:
                array = quantize(array, self._precision[name])
            else:
                del self._precision[name]
        if name in self._targets and array.dtype != np.uint64:
            del self._targets[name]
        if name in self._validity and len(self._validity[name]) != array.shape[0]:
            del self._validity[name]
        self._columns[name] = array
        self._rows = int(array.shape[0])

    def __delitem__(self, name: str) -> None:
        self[name]
        del self._columns[name]
        for table in (self._validity, self._precision, self._targets, self._column_attributes):
            table.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Return the row count."""
        return self._rows or 0

    def __bool__(self) -> bool:
        # A block of zero rows is a block: "empty" and "absent" are different states of a trajectory.
        return True

    def keys(self) -> KeysView[str]:
        """Return the column names."""
        return self._columns.keys()

    def items(self) -> ItemsView[str, Array]:
        """Return the (name, array) pairs."""
        return self._columns.items()

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names, in the order they were added."""
        return tuple(self._columns)

    @property
    def rows(self) -> int:
        """The row count."""
        return self._rows or 0

    def dtype(self, name: str) -> str:
        """Return the dtype name of a column, such as ``f64`` or ``string``."""
        return dtype_name(self[name].dtype)

    def rename(self, old: str, new: str) -> None:
        """Rename a column in place of order; its mask, precision, target and attributes follow.

        Raises:
            SchemaError: The new name is taken (``reject-duplicate-name``) or cannot be a column (see `__setitem__`).
        """
        values = self[old]
        if new == old:
            return
        if new in self._columns:
            raise SchemaError(f"column {old!r} cannot become {new!r}: that column exists", "reject-duplicate-name")
        check_name(new, f"column {new!r}")
        check_reserved(new, RESERVED_COLUMNS, f"column {new!r}")
        admitted = canonical_array(new, values, f"column {new!r}")
        self._columns = {
            (new if name == old else name): (admitted if name == old else array)
            for name, array in self._columns.items()
        }
        for table in (self._validity, self._precision, self._targets, self._column_attributes):
            if old in table:
                table[new] = table.pop(old)  # type: ignore[assignment]
        if admitted.dtype != np.float64:
            self._precision.pop(new, None)
        if admitted.dtype != np.uint64:
            self._targets.pop(new, None)

    # -- side tables ------------------------------------------------------------------------------------------------

    def validity(self, name: str) -> npt.NDArray[np.bool_] | None:
        """Return the mask of a column, one bool per row with True for a value, or None when every row has one."""
        self[name]
        return self._validity.get(name)

    def set_validity(self, name: str, mask: npt.ArrayLike | None) -> None:
        """Attach a validity mask (copied); None or an all-true mask means every row has a value.

        Raises:
            SchemaError: The mask is not bool, not one flag per row, or names no column (``reject-validity-mask``).
        """
        if name not in self._columns:
            raise SchemaError(
                f"validity mask names column {name!r}, which is not in the block ({', '.join(self._columns)})",
                "reject-validity-mask",
            )
        if mask is None:
            self._validity.pop(name, None)
            return
        flags = np.array(mask)
        if flags.dtype != np.bool_ or flags.shape != (self.rows,):
            raise SchemaError(
                f"column {name!r}: a validity mask is one bool per row, shape ({self.rows},); "
                f"found {flags.dtype} with shape {flags.shape}",
                "reject-validity-mask",
            )
        if flags.all():
            self._validity.pop(name, None)
        else:
            self._validity[name] = flags

    def precision(self, name: str) -> float | None:
        """Return the declared precision of a column in its own units, or None."""
        self[name]
        return self._precision.get(name)

    def set_precision(self, name: str, precision: float | None) -> None:
        """Declare a precision; the block then holds a rounded copy of the column (``docs/spec/frame.md``).

        Raises:
            SchemaError: Not an `f64` column (``reject-precision-on-non-f64``) or out of bounds
                (``reject-precision-out-of-bounds``).
        """
        values = self[name]
        if precision is None:
            self._precision.pop(name, None)
            return
        if values.dtype != np.float64:
            raise SchemaError(
                f"column {name!r} is {self.dtype(name)}; only an f64 column declares a precision",
                "reject-precision-on-non-f64",
            )
        checked = check_precision(precision, f"column {name!r}")
        self._columns[name] = quantize(values, checked)
        self._precision[name] = checked

    @property
    def targets(self) -> dict[str, str]:
        """Declared row references, column to target block (a copy)."""
        return self._targets.copy()

    def set_target(self, name: str, target: str | None) -> None:
        """Declare which block's rows a `u64` column holds indices of; None withdraws the declaration.

        Raises:
            SchemaError: Not a column of the block or not `u64` (``reject-target-not-u64``), or a malformed target
                (``reject-target-malformed``).
        """
        if target is None:
            self._targets.pop(name, None)
            return
        if name not in self._columns or self._columns[name].dtype != np.uint64:
            found = f"is {self.dtype(name)}" if name in self._columns else "is not in the block"
            raise SchemaError(f"column {name!r} {found}; a row reference is a u64 column", "reject-target-not-u64")
        self._targets[name] = check_target(target, f"column {name!r}")

    @property
    def structural_shape(self) -> tuple[int, ...] | None:
        """Shape of the grid the rows lie on (row-major), or None."""
        return self._structural_shape

    @structural_shape.setter
    def structural_shape(self, shape: Sequence[int] | None) -> None:
        if shape is None:
            self._structural_shape = None
            return
        checked = check_structural_shape(shape, "structural_shape")
        product = math.prod(checked)
        if self._rows is None:
            self._rows = product
        if product != self.rows:
            raise SchemaError(
                f"structural_shape {list(checked)} has {product} points but the block has {self.rows} rows",
                "reject-structural-shape",
            )
        self._structural_shape = checked

    def column_attributes(self, name: str) -> dict[str, Any]:
        """Return the free attributes of a column, a mutable JSON document carried through storage."""
        self[name]
        return self._column_attributes.setdefault(name, {})

    # -- whole blocks -----------------------------------------------------------------------------------------------

    def copy(self) -> Block:
        """Return an independent block: arrays and side tables are copied."""
        block = Block._trusted(
            {name: array.copy() for name, array in self._columns.items()},
            self.rows,
            {name: mask.copy() for name, mask in self._validity.items()},
            self._precision,
            self._targets,
            self._structural_shape,
        )
        block._rows = self._rows
        block._column_attributes = {name: dict(found) for name, found in self._column_attributes.items()}
        block.attributes = dict(self.attributes)
        return block

    def __eq__(self, other: object) -> bool:
        """Compare exactly: same columns (in any order), dtypes, bits, masks, precisions, targets and shape."""
        if not isinstance(other, Block):
            return NotImplemented
        return (
            self._columns.keys() == other._columns.keys()
            and self.rows == other.rows
            and self._structural_shape == other._structural_shape
            and self._precision == other._precision
            and self._targets == other._targets
            and self._validity.keys() == other._validity.keys()
            and all(identical(array, other._columns[name]) for name, array in self._columns.items())
            and all(identical(mask, other._validity[name]) for name, mask in self._validity.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        columns = ", ".join(
            f"{name}: {self.dtype(name)}{list(array.shape[1:]) if array.ndim > 1 else ''}"
            for name, array in self._columns.items()
        )
        return f"<Block of {self.rows} rows: {columns or 'no columns'}>"


def _check_count(rows: object) -> int:
    if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 0:
        raise SchemaError(f"a row count is a non-negative integer, found {rows!r}", "reject-row-count")
    return int(rows)


def check_structural_shape(shape: Sequence[int], where: str) -> tuple[int, ...]:
    """Return a structural shape as a tuple of positive integers.

    Raises:
        SchemaError: Empty, or an extent is not a positive integer (``reject-structural-shape``).
    """
    extents = tuple(shape) if isinstance(shape, (Sequence, np.ndarray)) else ()
    bad = [n for n in extents if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1]
    if not extents or bad:
        raise SchemaError(
            f"{where}: a structural shape is a list of positive integers, found {shape!r}",
            "reject-structural-shape",
        )
    return tuple(int(extent) for extent in extents)
