"""Writing LAMMPS molecule files in either form: one frame, its topology, and what the readers kept in the meta."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from molrec.dtypes import Array
from molrec.errors import SchemaError
from molrec.formats.compressed import replacing
from molrec.formats.images import Images
from molrec.formats.lammps_data_writer import note_leftovers, relation_columns
from molrec.formats.lammps_header import TITLE, unit_style_of, write_title
from molrec.formats.lammps_ids import check_label
from molrec.formats.lammps_molecule import ATOM_SECTIONS
from molrec.formats.lammps_molecule_json import JSON_COLUMNS, JSON_WHOLE
from molrec.formats.lammps_names import HEADER, MOLECULE, MOLECULE_JSON, RELATION_SECTIONS, SECTIONS
from molrec.formats.lammps_table import rows_of_text
from molrec.formats.lammps_whole import filled, whole_frames
from molrec.formats.lammps_written_types import UNWRITABLE
from molrec.formats.notes import Notes
from molrec.formats.series import Progress
from molrec.formats.survey import STEP_KEYS
from molrec.model.block import Block
from molrec.model.frame import Frame

__all__ = ["write_molecule", "write_molecule_json"]

_META_NATIVE = frozenset((TITLE, "units", MOLECULE, SECTIONS, HEADER)) | STEP_KEYS
_META_JSON = frozenset((TITLE, "units", MOLECULE, MOLECULE_JSON))


def write_molecule(path: Path, images: Images, notes: Notes, progress: Progress | None = None) -> None:
    """Write a frame to a molecule file in native form; it is there complete or not at all.

    Args:
        path: The file; one that is there is replaced. A suffix of a compression compresses it.
        images: One frame.
        notes: Told about what a molecule file does not hold.
        progress: Called with frames done and frames in all.

    Raises:
        SchemaError: There is not exactly one frame (``reject-single-frame``), or it has no atoms
            (``reject-foreign-write``).
    """
    frame = _single(path, images)
    _put(path, "".join(_native_parts(frame, notes)), progress)


def write_molecule_json(path: Path, images: Images, notes: Notes, progress: Progress | None = None) -> None:
    """Write a frame to a molecule file in JSON form; otherwise like `write_molecule`."""
    frame = _single(path, images)
    _put(path, json.dumps(_json_document(frame, notes), indent=1, ensure_ascii=False) + "\n", progress)


def _single(path: Path, images: Images) -> Frame:
    if len(images.frames) != 1:
        raise SchemaError(
            f"{path}: a LAMMPS molecule file holds one frame, there are {len(images.frames)}; choose one with --frames",
            "reject-single-frame",
        )
    frame = next(whole_frames(images))
    if "atoms" not in frame:
        raise SchemaError("the frame has no block 'atoms'; a molecule file is made of atoms", UNWRITABLE)
    return frame


def _put(path: Path, text: str, progress: Progress | None) -> None:
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
    if progress is not None:
        progress(1, 1)


def _native_parts(frame: Frame, notes: Notes) -> Iterator[str]:
    meta = frame.meta
    _note_lost(frame, _META_NATIVE, notes)
    step = next((meta[key] for key in STEP_KEYS if isinstance(meta.get(key), int)), None)
    sections = list(_sections(frame, notes))
    counts = {"Coords": len(frame["atoms"])} | {
        name: len(columns[0]) for name, columns in sections if name in RELATION_SECTIONS
    }
    lines = [write_title(str(meta.get(TITLE, "")), unit_style_of(meta.get("units"), notes), step), ""]
    lines += [f"{count} {RELATION_SECTIONS.get(name, ('atoms',))[0]}" for name, count in counts.items()]
    for keyword, values in (meta.get(MOLECULE) or {}).items():
        numbers = values if isinstance(values, list) else [values]
        lines.append(f"{' '.join(repr(float(number)) for number in numbers)} {keyword}")
    lines += [f"{' '.join(values)} {keyword}" for keyword, values in (meta.get(HEADER) or {}).items()]
    yield "\n".join(lines) + "\n"
    for name, columns in sections:
        yield f"\n{name}\n\n{rows_of_text(columns)}"
    for name, kept in (meta.get(SECTIONS) or {}).items():
        hint = f" # {kept['style']}" if kept["style"] else ""
        yield f"\n{name}{hint}\n\n" + "".join(" ".join(row) + "\n" for row in kept["rows"])


def _json_document(frame: Frame, notes: Notes) -> dict[str, Any]:
    meta = frame.meta
    _note_lost(frame, _META_JSON, notes)
    document: dict[str, Any] = {"application": "LAMMPS", "format": "molecule", "revision": 1}
    document["title"] = str(meta.get(TITLE, "")) or "molecule written by molrec"
    units = unit_style_of(meta.get("units"), notes)
    if units is not None:
        document["units"] = units
    for name, columns in _sections(frame, notes):
        shown, names = JSON_COLUMNS[name]
        # rows of a relation have no numbers there
        lists = [values.tolist() for values in (columns[1:] if name in RELATION_SECTIONS else columns)]
        if name in RELATION_SECTIONS and columns[0].tolist() != list(range(1, len(columns[0]) + 1)):
            notes.lost(f"column 'id' of block {shown!r}", "is left out; a JSON molecule file does not number its rows")
        document[shown] = {"format": list(names), "data": [list(row) for row in zip(*lists, strict=True)]}
    for keyword, values in (meta.get(MOLECULE) or {}).items():
        document[JSON_WHOLE[keyword]] = values
    return document | dict(meta.get(MOLECULE_JSON) or {})


def _sections(frame: Frame, notes: Notes) -> Iterator[tuple[str, list[Array]]]:
    """Yield the native name and the columns of each section; the first column numbers the rows."""
    atoms = frame["atoms"]
    ids: Array = np.arange(1, atoms.rows + 1, dtype=np.uint64)
    used = {"id"}
    if "id" in atoms and not np.array_equal(atoms["id"], ids):
        notes.changed("column 'id'", "is written anew; the atoms of a molecule file are numbered 1, 2, ...")
    for section, names in ATOM_SECTIONS.items():
        if section == "Types":
            types = _types(atoms, "atoms", used, notes)
            columns = [] if types is None else [types]
        else:
            columns = _values(atoms, names, used, notes)
        if columns:
            yield section, [ids, *columns]
    note_leftovers(atoms, used, "a molecule file", notes)
    for section, (name, _) in RELATION_SECTIONS.items():
        if name not in frame or not frame[name].rows:
            continue
        source: set[str] = set()
        types = _types(frame[name], name, source, notes)
        if types is None:
            notes.changed(f"block {name!r}", "has no types; every row is written with type 1")
            types = np.ones(frame[name].rows, dtype=np.int64)
        yield section, relation_columns(frame[name], name, types, tuple(source), ids, notes)


def _note_lost(frame: Frame, meta_keys: Collection[str], notes: Notes) -> None:
    known = {"atoms", *(block for block, _ in RELATION_SECTIONS.values())}
    for name, block in frame.items():
        if name not in known and block.rows:
            notes.lost(f"block {name!r}", "is left out; a molecule file has atoms and their topology only")
    for key in frame.meta:
        if key not in meta_keys:
            notes.lost(f"meta {key!r}", "is left out; a molecule file has no place for it")
    if frame.box is not None and frame.box.cell_defined:
        notes.lost("cell", "is left out; a molecule file has none")


def _values(atoms: Block, names: tuple[str, ...], used: set[str], notes: Notes) -> list[Array]:
    if not all(name in atoms for name in names):
        return []
    used.update(names)
    return [filled(atoms, name, notes) for name in names]


def _types(block: Block, name: str, used: set[str], notes: Notes) -> Array | None:
    """Return types as numbers, else as labels, else None."""
    whole = [column for column in ("type_id", "type") if column in block and block.validity(column) is None]
    if whole == ["type_id", "type"]:
        used.add("type")
        if not bool((block["type"] == block["type_id"].astype(block["type"].dtype)).all()):
            notes.lost(f"column 'type' of block {name!r}", "is left out; the types are written as numbers")
    if "type_id" in whole:
        used.add("type_id")
        if block.rows and int(block["type_id"].min()) < 1:
            raise SchemaError(f"block {name!r} has a type_id of 0; LAMMPS counts types from 1", UNWRITABLE)
        return block["type_id"]
    if "type" in whole:
        used.add("type")
        for label in np.unique(block["type"]).tolist():
            why = None if label.isdecimal() else check_label(label)
            if why is not None:
                raise SchemaError(f"block {name!r}: type {label!r} {why}; LAMMPS takes no such label", UNWRITABLE)
        return block["type"]
    return None
