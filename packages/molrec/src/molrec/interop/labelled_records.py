"""One labelled structure as a record of a collection, and back, exactly (``docs/spec/labelled-structures.md``).

The places come from a `LabelTable`; what a place does not hold as it was stands in the record's meta under ``as_read``,
by part and key: a document of the value, None for a label that is missing, the name of a dtype for a column that only
has another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec.dtypes import STRING, Array, numpy_dtype
from molrec.errors import FormatError, SchemaError
from molrec.formats.documents import NotADocumentError, from_document, to_document
from molrec.interop.cells import box_of_cell, cell_of_box
from molrec.interop.label_places import AS_READ, ColumnPlace, LabelTable, StepPlace
from molrec.interop.label_survey import Label, atom_labels, graph_labels
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame

if TYPE_CHECKING:
    from mace_core.data.raw_frame import RawFrame
    from molrec.storage.lmdb.index_columns import WrittenRecord

__all__ = ["RecordOfStructure", "StructureOfRecord", "index_of_labels"]

_BLOCK = "atoms"
_RULE = "reject-labels"
_CONFIG_TYPE = Label("graph", "config_type")
_CELL, _PBC = "cell", "pbc"


class RecordOfStructure:
    """Makes records: a frame and a meta document of each structure.

    Args:
        table: Place of every label.
    """

    def __init__(self, table: LabelTable) -> None:
        self._table = table

    def __call__(self, raw: RawFrame) -> tuple[Frame, dict[str, Any]]:
        """Return the frame and the record meta of a structure.

        Raises:
            SchemaError: It has a label that is in no place of the table, or a value that has no JSON form
                (``reject-labels``).
        """
        meta: dict[str, Any] = {}
        as_read: dict[str, Any] = {}
        steps = self._values(raw, meta, as_read)
        block = self._block(raw, as_read)
        box = _box(raw, as_read)
        if as_read:
            meta[AS_READ] = as_read
        return Frame({_BLOCK: block}, meta=steps, box=box), meta

    # -- values of the structure ------------------------------------------------------------------------------------

    def _values(self, raw: RawFrame, meta: dict[str, Any], as_read: dict[str, Any]) -> dict[str, Any]:
        table = self._table
        found = dict(graph_labels(raw))
        steps: dict[str, Any] = {}
        for label, place in table.steps.items():
            value = found.pop(label, None)
            exact, steps[place.key] = _held(value, place)
            if not exact:
                as_read["/".join(label)] = None if value is None else _document(value, label)
        for label, value in found.items():
            document = table.documents.get(label)
            if document is None:
                raise SchemaError(f"label {label.key!r} has no place; survey every structure first", _RULE)
            if label == _CONFIG_TYPE and not isinstance(value, str):
                meta[document.key] = _spelled(raw, value)
                as_read["/".join(label)] = _document(value, label)
            else:
                meta[document.key] = _plain(value, label)
        return steps

    # -- values of atoms --------------------------------------------------------------------------------------------

    def _block(self, raw: RawFrame, as_read: dict[str, Any]) -> Block:
        positions = np.ascontiguousarray(raw.positions.T)
        columns: dict[str, Array] = {"atomic_number": raw.numbers.astype(np.uint64)}
        columns.update(zip("xyz", positions, strict=True))
        missing: list[str] = []
        found = dict(atom_labels(raw))
        for label, place in self._table.columns.items():
            array = found.pop(label, None)
            held = None if array is None else _held_column(array, place)
            if held is None:
                # without rows, a mask cannot tell that a label is missing
                if array is not None or not len(raw.numbers):
                    as_read["/".join(label)] = None if array is None else _document(array, label)
                held = np.zeros((len(raw.numbers), *place.shape), dtype=numpy_dtype(place.dtype))
                missing += place.columns
            elif array is not None and _dtype_name(array) != place.file_dtype:
                as_read["/".join(label)] = array.dtype.name
            if len(place.columns) == 1:
                columns[place.columns[0]] = held
            else:
                columns.update(zip(place.columns, np.ascontiguousarray(held.T), strict=True))
        for label in found:
            raise SchemaError(f"label {label.key!r} of atoms has no place; survey every structure first", _RULE)
        block = Block(columns, rows=len(raw.numbers))
        for name in missing:
            block.set_validity(name, np.zeros(block.rows, dtype=np.bool_))
        return block


def _held(value: Any, place: StepPlace) -> tuple[bool, Any]:
    """Return whether a place holds a value as it is, and what it holds."""
    wide = bool(place.shape)
    real = place.tag.startswith("f64")
    if value is None:
        filler = np.full(place.shape, np.nan if real else 0, dtype=np.float64 if real else np.int64)
        return False, filler.reshape(-1) if wide else filler[()]
    array = np.asarray(value)
    if array.shape != place.shape:
        if array.size != int(np.prod(place.shape)):
            return False, _held(None, place)[1]
        reshaped = array.reshape(place.shape)
        return False, _held(reshaped, place)[1]
    if array.dtype != (np.float64 if real else np.int64):
        array = array.astype(np.float64 if real else np.int64)
        return False, array.reshape(-1) if wide else array[()]
    return True, array.reshape(-1) if wide else array[()]


def _held_column(array: Array, place: ColumnPlace) -> Array | None:
    """Return an array as the column holds it, None where it does not."""
    if array.shape[1:] != place.shape:
        return None
    if place.dtype == "string":
        return np.array(array.tolist(), dtype=STRING).reshape(array.shape) if array.dtype.kind in "OUT" else None
    dtype = numpy_dtype(place.dtype)
    if array.dtype == dtype:
        return array
    if array.dtype.kind not in "fiu" or dtype.kind != "f":
        return None
    held: Array = array.astype(dtype)
    return held if array.dtype.kind == "f" or _exact_in_f64(array) else None


def _exact_in_f64(integers: Array) -> bool:
    least, most = (integers.min(), integers.max()) if integers.size else (0, 0)
    return int(least) >= -(2**53) and int(most) <= 2**53


def _dtype_name(array: Array) -> str:
    return "str" if array.dtype.kind in "OUT" else array.dtype.name


def _plain(value: Any, label: Label) -> Any:
    """Return a value as JSON that says it plainly; an integer is an integer, a real a real."""
    if isinstance(value, np.generic) and not isinstance(value, np.str_):
        value = value.item()
    return _document(value, label)


def _document(value: Any, label: Label) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == object and all(isinstance(item, str) for item in value.flat):
        value = np.array(value.tolist(), dtype=STRING).reshape(value.shape)
    try:
        return to_document(value)
    except NotADocumentError as error:
        raise SchemaError(f"label {label.key!r} holds {error}, which has no JSON form; leave it out", _RULE) from error


def _spelled(raw: RawFrame, value: Any) -> str:
    from mace_core.data.comment_line import truth_spelling

    return (truth_spelling(raw.comment, _CONFIG_TYPE.key) if isinstance(value, bool) else None) or str(value)


def _box(raw: RawFrame, as_read: dict[str, Any]) -> Box | None:
    """Return the box; what a box cannot say of the cell, or of its periodicity, is noted."""
    box, is_exact = box_of_cell(raw.cell, raw.pbc)
    if not is_exact:
        as_read[_CELL], as_read[_PBC] = to_document(np.asarray(raw.cell, dtype=np.float64)), list(raw.pbc)
    return box


class StructureOfRecord:
    """Makes structures of a collection's records.

    Args:
        table: Place of every label.
    """

    def __init__(self, table: LabelTable) -> None:
        self._table = table

    def __call__(self, frame: Frame, meta: Mapping[str, Any], number: int, where: str) -> RawFrame:
        """Return the structure of a frame, all of whose arrays are its own.

        Args:
            frame: The frame, its record's system joined to it.
            meta: The record's meta document.
            number: What to number the structure.
            where: What to call the record in messages.

        Raises:
            FormatError: The record does not hold what the table says (``reject-labels``).
        """
        try:
            return self._structure(frame, meta, number)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, SchemaError):
                raise
            raise FormatError(
                f"{where} does not hold what the collection's labels say ({type(error).__name__}: {error})", _RULE
            ) from error

    def _structure(self, frame: Frame, meta: Mapping[str, Any], number: int) -> RawFrame:
        from mace_core.data.raw_frame import RawFrame

        as_read: Mapping[str, Any] = meta.get(AS_READ, {})
        block = frame[_BLOCK]
        parts: dict[str, dict[str, Any]] = {"graph": {}, "graph_results": {}, "atom": {}, "atom_results": {}}
        for label, place in self._table.steps.items():
            value = _read_value(label, as_read, lambda place=place: _from_step(frame.meta[place.key], place))
            if value is not None:
                parts[label.part][label.key] = value
        comment = ""
        for label, document in self._table.documents.items():
            if document.key in meta:
                stated = meta[document.key]
                value = _read_value(label, as_read, lambda stated=stated: _from_plain(stated))
                if label == _CONFIG_TYPE and isinstance(value, bool):
                    comment = f"config_type={stated}"
                parts[label.part][label.key] = value
        move_mask = None
        for label, column in self._table.columns.items():
            array = _read_column(block, label, column, as_read)
            if array is None:
                continue
            if label.key == "move_mask" and label.part == "atom":
                move_mask = array
            else:
                parts[label.part][label.key] = array
        numbers = block["atomic_number"].astype(np.int64)
        positions = np.column_stack([block[axis] for axis in "xyz"])
        # some key may ask for them
        parts["atom"].update(numbers=numbers, positions=positions)
        cell, pbc = _cell(frame.box, as_read)
        return RawFrame(
            frame_number=number,
            comment=comment,
            numbers=numbers,
            positions=positions,
            cell=cell,
            pbc=pbc,
            graph=parts["graph"],
            graph_results=parts["graph_results"],
            atom=parts["atom"],
            atom_results=parts["atom_results"],
            move_mask=move_mask,
        )


def _read_value(label: Label, as_read: Mapping[str, Any], stored: Any) -> Any:
    key = "/".join(label)
    return from_document(as_read[key]) if key in as_read else stored()


def _from_step(value: Any, place: StepPlace) -> Any:
    if not place.shape:
        return np.float64(value) if place.tag == "f64" else np.int64(value)
    return np.array(value, dtype=np.float64 if place.tag.startswith("f64") else np.int64).reshape(place.shape)


def _from_plain(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return from_document(value)
    if isinstance(value, float):
        return np.float64(value)
    return np.int64(value) if -(2**63) <= value < 2**63 else value


def _read_column(block: Block, label: Label, place: ColumnPlace, as_read: Mapping[str, Any]) -> Array | None:
    key = "/".join(label)
    dtype = place.file_dtype
    if key in as_read:
        stated = as_read[key]
        if isinstance(stated, dict):
            return _array_of_document(stated)
        if stated is None:
            return None
        dtype = stated
    mask = block.validity(place.columns[0])
    if mask is not None and mask.size and not mask.any():
        return None
    if len(place.columns) > 1:
        values: Array = np.column_stack([block[name] for name in place.columns])
    else:
        values = block[place.columns[0]]
    if dtype == "str":
        texts = np.empty(values.shape, dtype=object)
        texts[...] = values.tolist()
        return texts
    return values.astype(np.dtype(dtype))


def _array_of_document(document: dict[str, Any]) -> Array:
    match document:
        case {"__ndarray__": [list(shape), "str", list(texts)]}:
            # an array of NumPy's own texts would lose NULs at their ends
            found = np.empty(len(texts), dtype=object)
            found[:] = texts
            return found.reshape(shape)
    array: Array = from_document(document)
    return array


def _cell(box: Box | None, as_read: Mapping[str, Any]) -> tuple[Array, tuple[bool, bool, bool]]:
    if _CELL in as_read:
        first, second, third = (bool(flag) for flag in as_read[_PBC])
        cell: Array = from_document(as_read[_CELL])
        return cell, (first, second, third)
    return cell_of_box(box)


def index_of_labels(keys: Iterable[str] | Mapping[str, str]) -> dict[str, Callable[[WrittenRecord], Any]]:
    """Return index columns that look a key up in each record's meta, then in its frame's; null where it is in neither.

    A structure without a config type is of the type ``Default``.

    Args:
        keys: Keys, which name the columns too, or a mapping of columns to keys.
    """
    named = keys if isinstance(keys, Mapping) else {key: key for key in keys}
    return {name: partial(_indexed, key) for name, key in named.items()}


def _indexed(key: str, record: WrittenRecord) -> Any:
    value = record.meta.get(key)
    if value is None and record.frame is not None:
        value = record.frame.meta.get(key)
    return "Default" if value is None and key == _CONFIG_TYPE.key else value
