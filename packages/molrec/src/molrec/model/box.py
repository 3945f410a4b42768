"""`Box`: the simulation cell (``docs/spec/frame.md``, box). Knows nothing of files."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import admit_array, identical
from molrec.errors import SchemaError

__all__ = ["Box", "check_cell_kind"]


class Box:
    """A parallelepiped with an origin and a periodicity flag per lattice direction. Immutable.

    Args:
        vectors: Float64 ``(3, 3)``; the **columns** are the lattice vectors, in the frame's length unit.
        origin: Float64 ``(3,)``; zero when None.
        boundary: Bool ``(3,)``, True for a periodic direction; all True when None, all False for an undefined cell.
        cell_defined: False when the system has no cell; the vectors are then the identity and nothing is periodic.

    Raises:
        SchemaError: Wrong shape or dtype (``reject-box-shape``), non-finite vectors (``reject-box-not-finite``), or an
            undefined cell with a periodic direction (``reject-undefined-cell-periodic``).
    """

    __slots__ = ("_boundary", "_cell_defined", "_origin", "_vectors")

    def __init__(
        self,
        vectors: npt.ArrayLike | None = None,
        origin: npt.ArrayLike | None = None,
        boundary: npt.ArrayLike | None = None,
        cell_defined: bool = True,
    ) -> None:
        self._cell_defined = bool(cell_defined)
        if not self._cell_defined or vectors is None:
            if self._cell_defined:
                raise SchemaError("box: a defined cell needs its vectors, (3, 3)", "reject-box-shape")
            vectors = np.eye(3)
        self._vectors = _floats(vectors, (3, 3), "vectors")
        self._origin = _floats(np.zeros(3) if origin is None else origin, (3,), "origin")
        self._boundary = self._flags(boundary)
        for array in (self._vectors, self._origin, self._boundary):
            array.flags.writeable = False

    def _flags(self, boundary: npt.ArrayLike | None) -> npt.NDArray[np.bool_]:
        if boundary is None:
            return np.full(3, self._cell_defined)
        flags = np.array(boundary)
        if flags.dtype != np.bool_ or flags.shape != (3,):
            raise SchemaError(
                f"box boundary is three bools, found {flags.dtype} with shape {flags.shape}", "reject-box-shape"
            )
        if not self._cell_defined and flags.any():
            raise SchemaError(
                f"box: an undefined cell is periodic in no direction, found boundary {flags.tolist()}",
                "reject-undefined-cell-periodic",
            )
        return flags

    @property
    def vectors(self) -> npt.NDArray[np.float64]:
        """Lattice vectors as columns, read-only float64 ``(3, 3)``."""
        return self._vectors

    @property
    def origin(self) -> npt.NDArray[np.float64]:
        """Origin, read-only float64 ``(3,)``."""
        return self._origin

    @property
    def boundary(self) -> npt.NDArray[np.bool_]:
        """Periodic directions, read-only bool ``(3,)``."""
        return self._boundary

    @property
    def cell_defined(self) -> bool:
        """Whether there is a cell at all."""
        return self._cell_defined

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Box):
            return NotImplemented
        return (
            self._cell_defined == other._cell_defined
            and identical(self._vectors, other._vectors)
            and identical(self._origin, other._origin)
            and identical(self._boundary, other._boundary)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Box], tuple[Any, ...]]:
        return (Box, (self._vectors, self._origin, self._boundary, self._cell_defined))

    def __repr__(self) -> str:
        if not self._cell_defined:
            return "Box(cell_defined=False)"
        return f"Box(vectors={self._vectors.tolist()}, boundary={self._boundary.tolist()})"


def check_cell_kind(box: Box | None, before: Box | None) -> None:
    """Check that a cell is defined where an earlier one of its run is, and undefined where that is.

    Raises:
        SchemaError: One is and the other is not (``reject-mixed-cells``).
    """
    if box is not None and before is not None and box.cell_defined != before.cell_defined:
        kinds = {True: "defined", False: "undefined"}
        raise SchemaError(
            f"box: this frame's cell is {kinds[box.cell_defined]} but the run's is {kinds[before.cell_defined]}; one "
            "flag covers a run, write two records",
            "reject-mixed-cells",
        )


def _floats(values: npt.ArrayLike, shape: tuple[int, ...], what: str) -> npt.NDArray[np.float64]:
    array = admit_array(values, f"box {what}")
    if array.shape != shape or array.dtype.kind not in "fiu":
        raise SchemaError(
            f"box {what} is float64 with shape {shape}, found {array.dtype} with shape {array.shape}",
            "reject-box-shape",
        )
    exact = np.array(array, dtype=np.float64)
    if what == "vectors" and not np.isfinite(exact).all():
        raise SchemaError(f"box vectors are finite, found {exact.tolist()}", "reject-box-not-finite")
    return exact
