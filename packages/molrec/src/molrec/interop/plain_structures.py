"""Frames of any collection as labelled structures, by canonical names (``docs/spec/labelled-structures.md``).

`molrec.interop.structures` comes here for collections that say nothing of labels. ``pe``, forces and charges take the
default keys of `mace_core`; everything else that a structure can hold keeps its own name; what it cannot hold is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import STRING, Array, numpy_dtype
from molrec.errors import FormatError
from molrec.formats.documents import from_document
from molrec.formats.notes import Notes
from molrec.interop.cells import cell_of_box
from molrec.model.block import Block
from molrec.model.frame import Frame

if TYPE_CHECKING:
    from mace_core.data.raw_frame import RawFrame

__all__ = ["structure_of_frame"]

_BLOCK = "atoms"
_POSITIONS, _FORCES = ("x", "y", "z"), ("fx", "fy", "fz")
#: What of a record's meta speaks of the record, not of the structure.
_OF_THE_RECORD = frozenset({"molrec_version", "modules", "creator"})


def structure_of_frame(
    frame: Frame, meta: Mapping[str, Any], number: int, place: Mapping[str, Any], notes: Notes, where: str
) -> RawFrame:
    """Return the structure of a frame, all of whose arrays are its own.

    Args:
        frame: The frame, its record's system joined to it.
        meta: The record's meta document.
        number: What to number the structure.
        place: Its step and time, as far as they say something.
        notes: Told what a structure has no place for.
        where: What to call the frame in messages.

    Raises:
        FormatError: It has no atoms with positions and elements (``reject-labels``).
    """
    from mace_core.data.raw_frame import RawFrame

    if _BLOCK not in frame or any(axis not in frame[_BLOCK] for axis in _POSITIONS):
        raise FormatError(f"{where} has no block {_BLOCK!r} with x, y and z; it is no structure", "reject-labels")
    block = frame[_BLOCK]
    for name in frame:
        if name != _BLOCK:
            notes.lost(f"block {name!r}", "is left out; a structure has atoms only")
    numbers = _numbers(block, where)
    positions = np.column_stack([block[axis] for axis in _POSITIONS]).reshape(-1, 3)
    atom, move_mask = _atom(block, notes)
    if frame.box is not None and frame.box.origin.any():
        notes.lost("origin of the box", "is left out; a structure's cell begins at 0")
    cell, pbc = cell_of_box(frame.box)
    return RawFrame(
        frame_number=number,
        comment="",
        numbers=numbers,
        positions=positions,
        cell=cell,
        pbc=pbc,
        graph=_graph(frame, meta, place, notes),
        graph_results={},
        atom={**atom, "numbers": numbers, "positions": positions},
        atom_results={},
        move_mask=move_mask,
    )


def _numbers(block: Block, where: str) -> Array:
    if "atomic_number" in block:
        return block["atomic_number"].astype(np.int64)
    if "element" not in block:
        raise FormatError(
            f"{where}: the atoms have neither atomic_number nor element; nothing says what they are", "reject-labels"
        )
    from ase.data import atomic_numbers

    symbols = block["element"].tolist()
    unknown = next((symbol for symbol in symbols if symbol not in atomic_numbers), None)
    if unknown is not None:
        raise FormatError(f"{where}: {unknown!r} is no element", "reject-labels")
    return np.array([atomic_numbers[symbol] for symbol in symbols], dtype=np.int64)


def _graph(frame: Frame, meta: Mapping[str, Any], place: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    from mace_core.data import KeySpecification

    keys = KeySpecification.from_defaults().graph_keys
    graph: dict[str, Any] = {}
    stated = {keys.get("energy" if key == "pe" else key, key): key for key in sorted(frame.meta, key=_last_if_own)}
    for key in frame.meta:
        name = keys.get("energy" if key == "pe" else key, key)
        if stated[name] != key:
            notes.lost(f"per-step {key!r}", f"is left out; {stated[name]!r} takes its name {name!r}")
        elif key != "units":
            graph[name] = _value(frame.meta[key], frame.meta.tag(key))
    for source in (meta, place):
        for key, value in source.items():
            if key in _OF_THE_RECORD:
                continue
            if key in graph:
                notes.lost(f"{key!r} of the record", "is left out; the frame has another of that name")
            else:
                graph[key] = value if source is place else from_document(value)
    return graph


def _last_if_own(key: str) -> bool:
    """Put canonical keys behind the others, so that theirs are the names both want."""
    from mace_core.data import DefaultKeys

    return key == "pe" or key.upper() in DefaultKeys.__members__


def _value(value: Any, tag: str) -> Any:
    if tag == "json":
        return from_document(value)
    if tag in ("string", "bool"):
        return value
    dtype, trailing = typedjson.series_column(tag)
    array = np.array(value, dtype=numpy_dtype(dtype))
    if tag == "f64x9":
        return array.reshape(3, 3)
    return array if trailing else np.float64(value) if tag == "f64" else np.int64(value) if value < 2**63 else value


def _atom(block: Block, notes: Notes) -> tuple[dict[str, Array], Array | None]:
    from mace_core.data import DefaultKeys

    atom: dict[str, Array] = {}
    columns = [name for name in block.columns if name not in (*_POSITIONS, "element", "atomic_number")]
    if all(name in block and block[name].ndim == 1 for name in _FORCES):
        columns = [name for name in columns if name not in _FORCES]
        parts = [_column(block, name, notes) for name in _FORCES]
        if all(part is not None for part in parts):
            atom[DefaultKeys.FORCES.value] = np.column_stack(parts).reshape(-1, 3)  # type: ignore[arg-type]
    move_mask = None
    for column in sorted(columns, key=lambda name: name not in ("charge", "free")):
        values = _column(block, column, notes)
        name = DefaultKeys.CHARGES.value if column == "charge" else column
        if values is None:
            continue
        if column == "free":
            move_mask = values
        elif name in atom:
            notes.lost(f"column {column!r}", f"is left out; another column takes the name {name!r}")
        else:
            atom[name] = values
    return atom, move_mask


def _column(block: Block, name: str, notes: Notes) -> Array | None:
    """Return a column as a structure holds it, None where it does not: all null, or null in part and no reals."""
    values: Array = block[name]
    mask = block.validity(name)
    if values.dtype == STRING:
        texts = np.empty(values.shape, dtype=object)
        texts[...] = values.tolist()
        values = texts
    if mask is None or mask.all():
        return values.copy()
    if not mask.any():
        return None
    if values.dtype.kind != "f":
        notes.lost(f"column {name!r}", "is left out where it is null in part; a structure has no nulls")
        return None
    notes.changed(f"column {name!r}", "is NaN where it is null; a structure has no nulls")
    filled = values.copy()
    filled[~mask] = np.nan
    return filled
