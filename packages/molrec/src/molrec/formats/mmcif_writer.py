"""Frames as an mmCIF file: one data block, a row of atom_site for each atom of each frame, every digit.

The categories a frame brings along (``mmcif_categories``) begin a data block of their own, so what came from
several blocks is several blocks again. A block has one cell, one title and one set of connections: those of its
first frame.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING
from molrec.errors import SchemaError
from molrec.formats import mmcif_tags as tags
from molrec.formats.compressed import open_binary
from molrec.formats.gemmi_import import require_gemmi
from molrec.formats.images import Images
from molrec.formats.macromolecule import (
    MODEL_KEY,
    SPACE_GROUP_KEY,
    TITLE_KEY,
    Z_VALUE_KEY,
    box_of_cell,
    cell_of_box,
    in_standard_orientation,
)
from molrec.formats.macromolecule_frames import UNWRITABLE, WholeFrame, note_columns, note_meta, whole_frames
from molrec.formats.mmcif_block import fractional_matrix
from molrec.formats.mmcif_sites import TAG, Sites, loop, quoted, rows_of, with_nulls
from molrec.formats.notes import Notes
from molrec.formats.series import Progress
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.vocabulary import CANONICAL_COLUMNS

if TYPE_CHECKING:
    import gemmi

__all__ = ["write_mmcif"]

_TARGET = "mmCIF"
_HELD_META = frozenset((MODEL_KEY, TITLE_KEY, SPACE_GROUP_KEY, Z_VALUE_KEY, tags.CATEGORIES_KEY))
_HELD_BONDS = frozenset(("atomi", "atomj", "type", "bond_type", "conn_id"))
_DEFAULT_NAME, _DEFAULT_CONNECTION = "molrec", "covale"
_ORDER_NAMES = {order: name for name, order in tags.BOND_ORDERS.items()}
_SAME_CELL = 1e-9

Mask = npt.NDArray[np.bool_]


def write_mmcif(path: Path, images: Images, notes: Notes, progress: Progress | None) -> None:
    """Write frames to an mmCIF file, one at a time; it is there complete or not at all.

    Args:
        path: The file; one that is there is replaced. A suffix such as ``.gz`` compresses it.
        images: The frames.
        notes: Told about what the format does not hold.
        progress: Called with frames done and frames in all.

    Raises:
        SchemaError: Something has no form in CIF, or frames of one block have other columns
            (``reject-foreign-write``), a frame has no atoms, or the numbers are not in angstrom.
        ImportError: gemmi is not installed.
    """
    require_gemmi()
    temporary = path.with_name(f".{uuid.uuid4().hex}.{path.name}")
    try:
        with open_binary(temporary, "wb") as file:
            names: set[str] = set()
            block: _Writer | None = None
            for frame in whole_frames(images, notes, _TARGET):
                if block is None or tags.CATEGORIES_KEY in frame.meta:
                    if block is not None:
                        block.finish()
                    block = _Writer(file, frame, names, notes, numbered=len(images.frames) > 1)
                block.write(frame)
                if progress is not None:
                    progress(frame.position + 1, len(images.frames))
            if block is not None:
                block.finish()
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


class _Writer:
    """One data block under way."""

    def __init__(self, file: IO[bytes], first: WholeFrame, names: set[str], notes: Notes, *, numbered: bool) -> None:
        self._file = file
        self._first = first
        self._notes = notes
        self._numbered = numbered or MODEL_KEY in first.meta
        self._models: set[int] = set()
        self._displacements: list[str] = []
        self._tags: list[str] = []
        block = _block(first, names, notes)
        file.write(block.as_string().encode("ascii"))

    def write(self, frame: WholeFrame) -> None:
        note_meta(frame, _HELD_META, _TARGET, self._notes)
        if frame.box is None and frame.meta.keys() & {SPACE_GROUP_KEY, Z_VALUE_KEY}:
            self._notes.lost("space group", "is left out; there is no cell")
        sites = Sites(frame, self._notes, self._model(frame))
        columns = sites.columns()
        ordered = [tag for tag in tags.ORDER if tag in columns] + [tag for tag in columns if tag not in tags.ORDER]
        if not self._tags:
            self._tags = ordered
            self._file.write(loop(tags.ATOM_SITE, ordered).encode())
        elif ordered != self._tags:
            raise SchemaError(
                f"frame {frame.position}: its atoms have {', '.join(ordered)}, those of frame {self._first.position} "
                f"{', '.join(self._tags)}; one table holds both, so they need the same columns",
                UNWRITABLE,
            )
        self._file.write(rows_of([columns[tag] for tag in ordered]).encode())
        self._displacements.extend(sites.displacements())
        self._compare(frame)

    def _model(self, frame: WholeFrame) -> int | None:
        if not self._numbered:
            return None
        number = int(frame.meta.get(MODEL_KEY, frame.position + 1))
        if number in self._models:
            self._notes.lost("model numbers", "occur twice; the models are numbered on")
            number = max(self._models) + 1
        self._models.add(number)
        return number

    def _compare(self, frame: WholeFrame) -> None:
        """Note what differs from the first frame and has one place in a block."""
        first = self._first
        for key in (TITLE_KEY, SPACE_GROUP_KEY, Z_VALUE_KEY):
            if frame.meta.get(key) != first.meta.get(key):
                self._notes.lost(f"meta {key!r}", "changes; mmCIF has one for all models, the first is written")
        if frame.box != first.box:
            self._notes.lost("cell", "changes; mmCIF has one for all models, the first is written")
        if not _same_bonds(frame.bonds, first.bonds):
            self._notes.lost("bonds", "change; mmCIF has them once for all models, the first are written")

    def finish(self) -> None:
        """Write what stands behind the atoms."""
        if self._displacements:
            header = loop(tags.ATOM_SITE_ANISOTROP, ["id", *tags.ANISOTROPIC])
            self._file.write((header + "".join(self._displacements)).encode())
        if self._first.bonds is not None and self._first.bonds.rows:
            columns = _connections(self._first, self._notes)
            self._file.write((loop(tags.STRUCT_CONN, list(columns)) + rows_of(list(columns.values()))).encode())
        self._file.write(b"#\n")


# -- categories -------------------------------------------------------------------------------------------------------


def _block(frame: WholeFrame, names: set[str], notes: Notes) -> gemmi.cif.Block:
    """Return the data block of a frame without its atoms and bonds."""
    import gemmi

    text = frame.meta.get(tags.CATEGORIES_KEY)
    if text is None:
        block = gemmi.cif.Block(_DEFAULT_NAME)
        block.set_pair("_entry.id", _DEFAULT_NAME)
    else:
        try:
            block = gemmi.cif.read_string(str(text)).sole_block()
        except (ValueError, RuntimeError) as error:
            raise SchemaError(
                f"frame {frame.position}: meta {tags.CATEGORIES_KEY!r} is not the CIF text of one data block ({error})",
                UNWRITABLE,
            ) from error
    if block.name in names:
        fresh = next(name for n in range(2, len(names) + 3) if (name := f"{block.name}_{n}") not in names)
        notes.changed(f"data block {block.name!r}", f"is called {fresh!r}; there is one of its name")
        block.name = fresh
    names.add(block.name)
    title = frame.meta.get(TITLE_KEY)
    if title is not None:
        block.set_pair(tags.TITLE, _value(str(title), TITLE_KEY))
    if frame.box is not None:
        _set_cell(block, frame, frame.box)
    return block


def _value(text: str, key: str) -> str:
    return quoted(np.array([text], dtype=STRING), None, "?", f"meta {key!r}")[0].strip("\n")


def _set_cell(block: gemmi.cif.Block, frame: WholeFrame, box: Box) -> None:
    parameters = cell_of_box(box)
    for tag, number in zip(tags.CELL, parameters.tolist(), strict=True):
        block.set_pair(tag, repr(number))
    group, count = frame.meta.get(SPACE_GROUP_KEY), frame.meta.get(Z_VALUE_KEY)
    if group is not None:
        block.set_pair(tags.SPACE_GROUPS[0], _value(str(group), SPACE_GROUP_KEY))
    if count is not None:
        block.set_pair(tags.Z_VALUE, str(int(count)))
    understood = box_of_cell(parameters, fractional_matrix(block), 1e-5)
    if understood is None:
        raise SchemaError(
            f"frame {frame.position}: the cell is one of three ones, which stands for no cell", UNWRITABLE
        )
    scale = float(np.abs(box.vectors).max())
    if not in_standard_orientation(box) or not np.allclose(understood.vectors, box.vectors, 0, _SAME_CELL * scale):
        for names, row in zip(tags.FRACTIONAL, np.linalg.inv(box.vectors).tolist(), strict=True):
            for tag, number in zip(names, row, strict=True):
                block.set_pair(tag, repr(number + 0.0))


def _same_bonds(first: Block | None, second: Block | None) -> bool:
    if first is None or second is None:
        return first is None and second is None
    return first is second or first == second


def _connections(frame: WholeFrame, notes: Notes) -> dict[str, list[str]]:
    """Return the columns of struct_conn."""
    bonds, atoms = frame.bonds, frame.atoms
    assert bonds is not None
    count = bonds.rows
    found = {"id": [f"bond{number}" for number in range(1, count + 1)], "conn_type_id": [_DEFAULT_CONNECTION] * count}
    if "conn_id" in bonds:
        found["id"] = quoted(bonds["conn_id"], bonds.validity("conn_id"), "?", "column 'conn_id'")
    if "type" in bonds:
        found["conn_type_id"] = quoted(bonds["type"], bonds.validity("type"), "?", "column 'type'")
    else:
        notes.changed("bonds", f"state no type; conn_type_id is {_DEFAULT_CONNECTION}")
    sites = Sites(frame, Notes(), None).columns()
    for partner, end in ((1, "atomi"), (2, "atomj")):
        rows = bonds[end].astype(np.int64)
        if int(rows.max()) >= atoms.rows:
            raise SchemaError(
                f"frame {frame.position}: a bond is to atom {rows.max()} of {atoms.rows}", "reject-dangling-reference"
            )
        for tag, own in tags.partner_tags(partner).items():
            if own in sites:
                found[tag] = [sites[own][row] for row in rows.tolist()]
    if "bond_type" in bonds:
        found["pdbx_value_order"] = _orders(bonds, notes)
    held = set(_HELD_BONDS)
    for name in bonds.columns:
        if bonds[name].dtype.kind == "T" and name not in held and name not in CANONICAL_COLUMNS and TAG.fullmatch(name):
            found[name] = quoted(bonds[name], bonds.validity(name), None, f"column {name!r}")
            held.add(name)
    note_columns(bonds, held, "the bonds", _TARGET, notes)
    return found


def _orders(bonds: Block, notes: Notes) -> list[str]:
    known: Any = bonds.validity("bond_type")
    kinds = bonds["bond_type"].tolist()
    for kind in sorted({kind for kind in kinds if kind and kind not in _ORDER_NAMES}):
        notes.lost(f"bond_type {kind}", "has no name in mmCIF and is left out")
    return with_nulls([_ORDER_NAMES.get(kind, "?") for kind in kinds], known, "?")
