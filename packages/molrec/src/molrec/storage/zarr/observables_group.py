"""The ``observables`` section on Zarr: an array (or frame) for each, its description beside it.

``docs/spec/observables.md``. Descriptions are read when the section is opened, values when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, override

from molrec.errors import FormatError, SchemaError
from molrec.model.frame import Frame
from molrec.model.observable import Observable, check_description, check_observable_name
from molrec.model.resolved import check_frame
from molrec.storage.zarr.array_reader import ArrayReader
from molrec.storage.zarr.files import write_document
from molrec.storage.zarr.fixed_array import write_fixed_array
from molrec.storage.zarr.frame_group import group_attributes, read_frame_group, write_frame_group
from molrec.storage.zarr.layout import group_document, read_array_layout
from molrec.storage.zarr.sources import Source, read_document

__all__ = ["OBSERVABLES", "ObservablesReader", "check_observables", "read_observables", "write_observables"]

OBSERVABLES = "observables"
_META = f"{OBSERVABLES}/meta"
_UNPAIRED = "reject-observable-unpaired"


def check_observables(observables: Mapping[str, Observable], rows: Mapping[str, Mapping[str, int] | None]) -> None:
    """Check observables before any of them is written.

    Args:
        observables: Observables by name.
        rows: Row counts of the record's frame-shaped sections, for the references of frame-shaped ones.

    Raises:
        SchemaError: A name (``reject-bad-name``, ``reject-reserved-name``), something else than an observable
            (``reject-not-an-observable``), or a frame that breaks a rule.
    """
    for name, observable in observables.items():
        check_observable_name(name)
        if not isinstance(observable, Observable):
            raise SchemaError(
                f"{OBSERVABLES}/{name}: an Observable belongs here (values, kind, description, time_dependent), "
                f"found {type(observable).__name__}",
                "reject-not-an-observable",
            )
        if isinstance(observable.values, Frame):
            check_frame(observable.values, rows, f"/{OBSERVABLES}/{name}")


def write_observables(folder: Path, observables: Mapping[str, Observable]) -> None:
    """Write checked observables below a folder that does not exist yet; its own ``zarr.json`` comes last."""
    for name, observable in observables.items():
        if isinstance(observable.values, Frame):
            write_frame_group(folder / name, observable.values)
        else:
            write_fixed_array(folder / name, observable.values, attributes=observable.attributes)
        write_document(folder / "meta" / name, group_document(observable.to_document()))
    write_document(folder / "meta", group_document({}))
    kept = observables.attributes if isinstance(observables, ObservablesReader) else {}
    write_document(folder, group_document(kept))


def read_observables(source: Source) -> ObservablesReader | None:
    """Open the section, or return None when it is not there.

    Raises:
        FormatError: The section breaks the format.
    """
    document = read_document(source, OBSERVABLES)
    if document is None:
        return None
    return ObservablesReader(source, dict(group_attributes(document, f"{source.name}: {OBSERVABLES}")))


class ObservablesReader(Mapping[str, Observable]):
    """Observables by name, sorted; each look-up reads the values.

    Raises:
        FormatError: Values without a description or the reverse (``reject-observable-unpaired``), or a description out
            of form (``reject-observable-document``).
    """

    def __init__(self, source: Source, attributes: dict[str, Any]) -> None:
        self._source = source
        #: Attributes a producer added to the section.
        self.attributes = attributes
        self._documents = self._read_descriptions()
        self._arrays: dict[str, ArrayReader | None] = {}
        for name, node in self._read_nodes():
            self._pair(name, node)
        alone = sorted(self._documents.keys() - self._arrays.keys())
        if alone:
            raise FormatError(
                f"{self.where(alone[0])} is described in {_META}/{alone[0]} but holds no values; an observable has "
                "both",
                _UNPAIRED,
            )

    def where(self, name: str) -> str:
        """Return how to call an observable in a message."""
        return f"{self._source.name}: {OBSERVABLES}/{name}"

    def _read_descriptions(self) -> dict[str, dict[str, Any]]:
        found = {}
        for name in self._source.children(_META):
            document = read_document(self._source, f"{_META}/{name}")
            if document is None:
                continue
            where = f"{self._source.name}: {_META}/{name}"
            attributes = dict(group_attributes(document, where))
            try:
                check_observable_name(name, where)
                check_description(attributes, where)
            except SchemaError as error:
                raise FormatError(error.message, error.rule) from error
            found[name] = attributes
        return found

    def _read_nodes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for name in self._source.children(OBSERVABLES):
            document = read_document(self._source, f"{OBSERVABLES}/{name}") if name != "meta" else None
            if document is not None:
                yield name, document

    def _pair(self, name: str, node: dict[str, Any]) -> None:
        is_array = node.get("node_type") == "array"
        if name in self._documents:
            array = None
            if is_array:
                array = ArrayReader(self._source, f"{OBSERVABLES}/{name}", read_array_layout(node, self.where(name)))
            self._arrays[name] = array
        elif is_array:
            raise FormatError(
                f"{self.where(name)} holds values but {_META}/{name} does not describe them; an observable has both",
                _UNPAIRED,
            )

    @override
    def __getitem__(self, name: str) -> Observable:
        """Return an observable with its values.

        Raises:
            KeyError: No observable of this name.
            FormatError: Its values are damaged or break the format.
        """
        document = self._documents[name]
        array = self._arrays[name]
        try:
            if array is not None:
                return Observable.from_document(array.read(), document, array.layout.free_attributes, self.where(name))
            frame = read_frame_group(self._source, f"{OBSERVABLES}/{name}")
            assert frame is not None
            return Observable.from_document(frame, document, None, self.where(name))
        except SchemaError as error:
            raise FormatError(error.message, error.rule) from error

    def array(self, name: str) -> ArrayReader | None:
        """Return the stored array of an observable, None for one that is frame-shaped."""
        return self._arrays[name]

    def describe(self, name: str) -> dict[str, Any]:
        """Return the description of an observable (a copy), without reading its values."""
        return dict(self._documents[name])

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    @override
    def __len__(self) -> int:
        return len(self._documents)

    def __repr__(self) -> str:
        return f"<Observables: {', '.join(self) or 'none'}>"
