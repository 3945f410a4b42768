"""One observable: values computed from a record, and what they are (``docs/spec/observables.md``).

Values are an array of any record dtype, or a frame for what has blocks of its own. What they are is a JSON document of
which the format knows a few keys and keeps the others. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, override

from molrec import typedjson
from molrec.dtypes import Array, admit_array, identical
from molrec.errors import SchemaError
from molrec.model.frame import Frame
from molrec.model.names import check_name, check_reserved

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["RESERVED_NAMES", "Observable", "check_observable_name"]

#: Name below ``observables`` that the layout keeps for itself.
RESERVED_NAMES = frozenset({"meta"})

_DOCUMENT = "reject-observable-document"
_SHAPE = "reject-observable-shape"


def check_observable_name(name: object, where: str = "observables") -> str:
    """Return `name` when an observable may have it.

    Raises:
        SchemaError: No name of a node (``reject-bad-name``), or ``meta`` (``reject-reserved-name``).
    """
    checked = check_name(name, where)
    check_reserved(checked, RESERVED_NAMES, where)
    return checked


class Observable:
    """Values and their description.

    The values given are copied; `values` of an observable read from a record may be read-only.

    Args:
        values: Array of any record dtype and shape, or a `Frame`.
        kind: ``scalar``, ``vector``, or a word of the producer's.
        description: What the values are, in words.
        time_dependent: Whether the leading axis follows the frames of the trajectory.
        unit: Unit of the values.
        axes: What each axis is called.
        sampling: How the values were sampled along the run; free form.
        domain: What the values were computed over; free form.
        target: What the values belong to; free form.
        **extra: Further keys of the description, None included; JSON values.

    Raises:
        SchemaError: Values no array of the format holds (``reject-unknown-dtype``, ``reject-narrow-float``), a
            description out of form (``reject-observable-document``), or a time-dependent single value
            (``reject-observable-shape``).
    """

    __slots__ = ("_document", "attributes", "values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        values: npt.ArrayLike | Frame,
        kind: str,
        description: str,
        time_dependent: bool,
        unit: str | None = None,
        axes: list[str] | tuple[str, ...] | None = None,
        sampling: Any = None,
        domain: Any = None,
        target: Any = None,
        **extra: Any,
    ) -> None:
        document: dict[str, Any] = {"kind": kind, "description": description, "time_dependent": time_dependent}
        optional = {"unit": unit, "axes": axes, "sampling": sampling, "domain": domain, "target": target}
        document |= {key: value for key, value in optional.items() if value is not None}
        self._fill(
            values.copy() if isinstance(values, Frame) else admit_array(values, "values of an observable").copy(),
            typedjson.coerce("json", document | extra, "observable"),
            "observable",
        )
        #: Attributes a producer added to the stored array.
        self.attributes: dict[str, Any] = {}

    @classmethod
    def from_document(
        cls,
        values: Array | Frame,
        document: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
        where: str = "observable",
    ) -> Self:
        """Return an observable of values, which are kept and not copied, and a stored description.

        Raises:
            SchemaError: As for a new observable.
        """
        observable = cls.__new__(cls)
        observable._fill(values, dict(document), where)
        observable.attributes = dict(attributes or {})
        return observable

    def _fill(self, values: Array | Frame, document: dict[str, Any], where: str) -> None:
        check_description(document, where)
        if document["time_dependent"] and not isinstance(values, Frame) and not values.ndim:
            raise SchemaError(
                f"{where}: time_dependent says that the leading axis follows the trajectory, but the values are a "
                "single one; give an axis or time_dependent=False",
                _SHAPE,
            )
        self.values: Array | Frame = values
        self._document = document

    @property
    def kind(self) -> str:
        """``scalar``, ``vector``, or a word of the producer's."""
        return str(self._document["kind"])

    @property
    def description(self) -> str:
        """What the values are, in words."""
        return str(self._document["description"])

    @property
    def time_dependent(self) -> bool:
        """Whether the leading axis follows the frames of the trajectory."""
        return bool(self._document["time_dependent"])

    @property
    def unit(self) -> str | None:
        """Unit of the values."""
        unit: str | None = self._document.get("unit")
        return unit

    @property
    def axes(self) -> list[str] | None:
        """What each axis is called."""
        axes = self._document.get("axes")
        return None if axes is None else list(axes)

    @property
    def sampling(self) -> Any:
        """How the values were sampled along the run."""
        return self._document.get("sampling")

    @property
    def domain(self) -> Any:
        """What the values were computed over."""
        return self._document.get("domain")

    @property
    def target(self) -> Any:
        """What the values belong to."""
        return self._document.get("target")

    @property
    def extra(self) -> dict[str, Any]:
        """Keys of the description that the format does not know."""
        return {key: value for key, value in self._document.items() if key not in _KNOWN}

    def to_document(self) -> dict[str, Any]:
        """Return the description as it is stored (a copy)."""
        document: dict[str, Any] = typedjson.coerce("json", self._document, "observable")
        return document

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Observable):
            return NotImplemented
        if typedjson.dump_json(self._document) != typedjson.dump_json(other._document):
            return False
        if isinstance(self.values, Frame) or isinstance(other.values, Frame):
            return self.values is other.values or (
                isinstance(self.values, Frame) and isinstance(other.values, Frame) and self.values == other.values
            )
        return identical(self.values, other.values)

    @override
    def __repr__(self) -> str:
        shape = "frame" if isinstance(self.values, Frame) else f"{self.values.dtype} {self.values.shape}"
        return f"<Observable {self.kind}, {shape}: {self.description}>"


_KNOWN = frozenset({"kind", "description", "time_dependent", "unit", "axes", "sampling", "domain", "target"})


def check_description(document: Mapping[str, Any], where: str) -> None:
    """Check the description of an observable.

    Raises:
        SchemaError: A required key is missing, or a known one has another type (``reject-observable-document``).
    """
    kind, axes = document.get("kind"), document.get("axes")
    listed = isinstance(axes, list) and all(isinstance(name, str) for name in axes)
    for key, fits, allowed in (
        ("kind", isinstance(kind, str) and bool(kind), "a word such as 'scalar' or 'vector'"),
        ("description", isinstance(document.get("description"), str), "a string"),
        ("time_dependent", isinstance(document.get("time_dependent"), bool), "true or false"),
        ("unit", document.get("unit") is None or isinstance(document["unit"], str), "a string"),
        ("axes", axes is None or listed, "a list of strings"),
    ):
        if not fits:
            found = f"found {document[key]!r}" if key in document else "which is missing"
            raise SchemaError(f"{where}: an observable states {key}, {allowed}; {found}", _DOCUMENT)
