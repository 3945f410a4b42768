"""Writing LAMMPS data files: one frame, its topology, and what `lammps_data` kept in the meta."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from molrec.dtypes import Array
from molrec.errors import SchemaError
from molrec.formats.compressed import replacing
from molrec.formats.images import Images
from molrec.formats.lammps_box import bounds_of, is_restricted
from molrec.formats.lammps_header import TITLE, unit_style_of, write_title
from molrec.formats.lammps_names import (
    ATOM_STYLE,
    COEFFICIENTS,
    HEADER,
    KINDS,
    RELATION_SECTIONS,
    SECTIONS,
    TYPES,
    coefficient_kind,
    endpoints_of,
)
from molrec.formats.lammps_styles import AtomStyle, style_of
from molrec.formats.lammps_table import rows_of_text
from molrec.formats.lammps_whole import filled, whole_frames
from molrec.formats.lammps_written_types import UNWRITABLE, WrittenTypes, types_of
from molrec.formats.notes import Notes
from molrec.formats.series import Progress
from molrec.formats.survey import STEP_KEYS
from molrec.model.block import Block
from molrec.model.frame import Frame

__all__ = ["atom_ids", "note_leftovers", "positions_of", "relation_columns", "write_data"]

_IMAGES = ("ix", "iy", "iz")
_POSITIONS = ("x", "y", "z")
_VELOCITIES = ("vx", "vy", "vz")
_DIPOLE = ("mux", "muy", "muz")
_SHAPE = ("shapex", "shapey", "shapez", "quatw", "quati", "quatj", "quatk")
#: Columns a style may need that frames often have not: what is written then.
_NEUTRAL: dict[str, Any] = {"mol_id": np.uint64(0), "charge": 0.0}
_META = frozenset((TITLE, "units", ATOM_STYLE, TYPES, COEFFICIENTS, SECTIONS, HEADER)) | STEP_KEYS


def write_data(path: Path, images: Images, notes: Notes, progress: Progress | None = None) -> None:
    """Write a frame to a data file; it is there complete or not at all.

    Args:
        path: The file; one that is there is replaced. A suffix of a compression compresses it.
        images: One frame.
        notes: Told about what a data file does not hold.
        progress: Called with frames done and frames in all.

    Raises:
        SchemaError: There is not exactly one frame (``reject-single-frame``), or it lacks what LAMMPS needs
            (``reject-foreign-write``).
    """
    if len(images.frames) != 1:
        raise SchemaError(
            f"{path}: a LAMMPS data file holds one frame, there are {len(images.frames)}; choose one with --frames",
            "reject-single-frame",
        )
    parts = list(_DataWriter(next(whole_frames(images)), notes).parts())
    with replacing(path) as file:
        file.writelines(part.encode("utf-8") for part in parts)
    if progress is not None:
        progress(1, 1)


class _DataWriter:
    """Makes the text of one frame; what is used is struck off, what is left over is noted."""

    def __init__(self, frame: Frame, notes: Notes) -> None:
        if "atoms" not in frame:
            raise SchemaError("the frame has no block 'atoms'; a data file is made of atoms", UNWRITABLE)
        self._frame = frame
        self._notes = notes
        self._atoms = frame["atoms"]
        self._stated: Mapping[str, Any] = frame.meta.get(TYPES) or {}
        self._relations = {
            block: frame[block] for block, _ in RELATION_SECTIONS.values() if block in frame and frame[block].rows
        }
        self._types = self._all_types()
        self._style = self._choose_style()
        self._used: set[str] = {"id", *self._types["atom"].source, *_POSITIONS}
        self._ids = atom_ids(self._atoms, notes)

    def parts(self) -> Iterator[str]:
        """Yield the text of the file."""
        sections = list(self._sections())
        yield self._header()
        yield from sections
        note_leftovers(self._atoms, self._used, f"a data file of atom style {self._style.name!r}", self._notes)
        known = {"atoms", *(block for block, _ in RELATION_SECTIONS.values())}
        for name, block in self._frame.items():
            if name not in known and block.rows:
                self._notes.lost(f"block {name!r}", "is left out; a data file has atoms and their topology only")
        for key in self._frame.meta:
            if key not in _META:
                self._notes.lost(f"meta {key!r}", "is left out; a data file has no place for it")

    def _sections(self) -> Iterator[str]:
        yield from self._labels()
        yield self._masses()
        yield from self._documents(COEFFICIENTS)
        yield _section("Atoms", self._style.name, rows_of_text(self._atom_columns()))
        yield self._velocities()
        yield self._ellipsoids()
        for section, (block, kind) in RELATION_SECTIONS.items():
            if block in self._relations:
                types = self._types[kind]
                columns = relation_columns(
                    self._relations[block], block, types.numbers, types.source, self._ids, self._notes
                )
                yield _section(section, "", rows_of_text(columns))
        yield from self._documents(SECTIONS)

    # -- header -----------------------------------------------------------------------------------------------------

    def _header(self) -> str:
        meta = self._frame.meta
        step = next((meta[key] for key in STEP_KEYS if isinstance(meta.get(key), int)), None)
        units = unit_style_of(meta.get("units"), self._notes)
        lines = [write_title(str(meta.get(TITLE, "")), units, step), "", f"{self._atoms.rows} atoms"]
        lines += [f"{block.rows} {name}" for name, block in self._relations.items()]
        lines += [f"{types.count} {kind} types" for kind, types in self._types.items() if types.count]
        if "ellipsoidflag" in self._used:
            lines.append(f"{int(np.count_nonzero(self._atoms['ellipsoidflag']))} ellipsoids")
        lines += [f"{' '.join(values)} {keyword}" for keyword, values in (meta.get(HEADER) or {}).items()]
        return "\n".join([*lines, "", *self._cell()]) + "\n"

    def _cell(self) -> list[str]:
        box = self._frame.box
        if box is None or not box.cell_defined:
            self._notes.lost("cell", "there is none; bounds one length unit around the atoms are written")
            positions = positions_of(self._atoms)
            low = [float(values.min()) - 1.0 if values.size else -1.0 for values in positions]
            high = [float(values.max()) + 1.0 if values.size else 1.0 for values in positions]
            return [
                f"{lower!r} {upper!r} {axis}lo {axis}hi" for lower, upper, axis in zip(low, high, "xyz", strict=True)
            ]
        if not box.boundary.all():
            self._notes.lost("boundary", "is left out; a data file counts as periodic, the input script says otherwise")
        if is_restricted(box):
            bounds = bounds_of(box)
            lines = [
                f"{lower!r} {upper!r} {axis}lo {axis}hi"
                for lower, upper, axis in zip(bounds.low, bounds.high, "xyz", strict=True)
            ]
            return lines if bounds.tilt is None else [*lines, f"{' '.join(map(repr, bounds.tilt))} xy xz yz"]
        if np.linalg.det(box.vectors) <= 0:
            raise SchemaError(
                f"the cell {box.vectors.T.tolist()} is left-handed or flat; LAMMPS takes right-handed cells", UNWRITABLE
            )
        edges = [f"{' '.join(map(repr, box.vectors[:, axis].tolist()))} {'abc'[axis]}vec" for axis in range(3)]
        return [*edges, f"{' '.join(map(repr, box.origin.tolist()))} abc origin"]

    # -- types ------------------------------------------------------------------------------------------------------

    def _all_types(self) -> dict[str, WrittenTypes]:
        found = {"atom": types_of(self._atoms, "atoms", "atom", self._stated.get("atom", {}), self._notes)}
        for block, kind in RELATION_SECTIONS.values():
            stated = self._stated.get(kind, {})
            if block in self._relations:
                found[kind] = types_of(self._relations[block], block, kind, stated, self._notes)
            else:
                labels = tuple(stated.get("labels", ()))
                found[kind] = WrittenTypes(np.zeros(0, dtype=np.int64), int(stated.get("count", 0)), labels, ())
        return found

    def _labels(self) -> Iterator[str]:
        for kind in KINDS:
            labels = self._types[kind].labels
            if labels:
                rows = "".join(f"{number} {label}\n" for number, label in enumerate(labels, start=1))
                yield _section(f"{kind.capitalize()} Type Labels", "", rows)

    def _masses(self) -> str:
        """Return the section Masses, empty when the atoms have no mass of their type."""
        names = {field.name for field in self._style.fields}
        # a style with densities takes no masses by type, unless it is a hybrid with one that does
        by_density = "density" in names and not self._style.name.startswith("hybrid")
        if "mass" not in self._atoms or "mass" in names or by_density:
            return ""
        types = self._types["atom"]
        known, first, inverse = np.unique(types.numbers, return_index=True, return_inverse=True)
        masses = filled(self._atoms, "mass", self._notes)
        self._used.add("mass")
        if np.any(masses[first][inverse] != masses):
            self._notes.lost("column 'mass'", "is left out; atoms of one type have several masses")
            return ""
        stated = self._stated.get("atom", {})
        by_type = dict(enumerate(stated.get("masses", ()), start=1)) | dict(
            zip(known.tolist(), masses[first].tolist(), strict=True)
        )
        comments = stated.get("comments", ())
        rows = []
        for number in range(1, types.count + 1):
            if number not in by_type:
                self._notes.changed("types", "that no atom has are written with mass 1")
            comment = f" {comments[number - 1]}" if number <= len(comments) and comments[number - 1] else ""
            rows.append(f"{number} {float(by_type.get(number, 1.0))!r}{comment}\n")
        return _section("Masses", "", "".join(rows))

    # -- atoms ------------------------------------------------------------------------------------------------------

    def _choose_style(self) -> AtomStyle:
        """Return the style the file was in where the columns are still there, else the plainest that holds them."""
        stated = style_of(str(self._frame.meta.get(ATOM_STYLE, "")))
        given = {"id", "type_id", *self._atoms.columns}
        if stated is not None and {field.name for field in stated.fields} <= given:
            return stated
        molecular = bool(self._relations) or "mol_id" in given
        charged = "charge" in given
        base = ("full" if charged else "molecular") if molecular else ("charge" if charged else "atomic")
        special = [
            name
            for name, needed in (
                ("dipole", set(_DIPOLE)),
                ("sphere", {"diameter", "density"}),
                ("ellipsoid", {"ellipsoidflag", "density"}),
            )
            if needed <= given
        ]
        if special == ["dipole"] and not molecular:
            name = "dipole"
        elif len(special) == 1 and base == "atomic":
            name = special[0]
        elif special:
            name = " ".join(("hybrid", *(() if base == "atomic" else (base,)), *special))
        else:
            name = base
        style = style_of(name)
        assert style is not None
        return style

    def _atom_columns(self) -> list[Array]:
        positions = dict(zip(_POSITIONS, positions_of(self._atoms), strict=True))
        columns: list[Array] = []
        for name, _ in self._style.fields:
            if name == "id":
                columns.append(self._ids)
            elif name == "type_id":
                columns.append(self._types["atom"].numbers)
            elif name in positions:
                columns.append(positions[name])
            else:
                columns.append(self._column(name, _NEUTRAL.get(name, 0.0)))
        if all(name in self._atoms for name in _IMAGES):
            columns += [self._column(name, 0) for name in _IMAGES]
        return columns

    def _column(self, name: str, neutral: Any) -> Array:
        """Return a column of the atoms, or a neutral value in every row with a note."""
        if name not in self._atoms:
            self._notes.changed(f"column {name!r}", f"is not there; {neutral} is written for every atom")
            return np.full(self._atoms.rows, neutral)
        self._used.add(name)
        return filled(self._atoms, name, self._notes)

    def _velocities(self) -> str:
        if not all(name in self._atoms for name in _VELOCITIES):
            return ""
        names = [field.name for field in self._style.velocities[1:]]
        return _section("Velocities", "", rows_of_text([self._ids, *(self._column(name, 0.0) for name in names)]))

    def _ellipsoids(self) -> str:
        if "ellipsoidflag" not in self._used:
            return ""
        flagged = self._atoms["ellipsoidflag"] != 0
        if not flagged.any():
            return ""
        columns: list[Array] = [self._ids[flagged]]
        for name in _SHAPE:
            mask = self._atoms.validity(name) if name in self._atoms else np.zeros(self._atoms.rows, dtype=np.bool_)
            if mask is not None and not mask[flagged].all():
                raise SchemaError(
                    f"column {name!r} has no value for an atom whose ellipsoidflag is set; an ellipsoid has a shape "
                    "and an orientation",
                    UNWRITABLE,
                )
            self._used.add(name)
            columns.append(self._atoms[name][flagged])
        return _section("Ellipsoids", "", rows_of_text(columns))

    # -- the rest ---------------------------------------------------------------------------------------------------

    def _documents(self, key: str) -> Iterator[str]:
        """Yield the sections kept as they were; coefficients whose number of types changed are left out."""
        for name, section in (self._frame.meta.get(key) or {}).items():
            rows: Sequence[Sequence[str]] = section["rows"]
            kind = coefficient_kind(name)
            if kind is not None:
                count = self._types["atom" if kind == "pair" else kind].count
                if len(rows) != (count * (count + 1) // 2 if kind == "pair" else count):
                    self._notes.lost(
                        f"section {name!r}", f"is left out; it is not made for the {count} types there are"
                    )
                    continue
            yield _section(name, section["style"], "".join(" ".join(row) + "\n" for row in rows))


def _section(name: str, hint: str, rows: str) -> str:
    return f"\n{name}{' # ' if hint else ''}{hint}\n\n{rows}"


def positions_of(atoms: Block) -> list[Array]:
    """Return x, y and z.

    Raises:
        SchemaError: One is missing, or has rows without a value (``reject-foreign-write``).
    """
    missing = [name for name in _POSITIONS if name not in atoms or atoms.validity(name) is not None]
    if missing:
        raise SchemaError(f"the atoms have no {', '.join(missing)} in every row; LAMMPS needs x, y, z", UNWRITABLE)
    return [atoms[name] for name in _POSITIONS]


def atom_ids(atoms: Block, notes: Notes) -> Array:
    """Return the ids of the atoms, u64; 1, 2, ... where they have none.

    Raises:
        SchemaError: Two atoms have the same (``reject-foreign-write``).
    """
    if "id" not in atoms or atoms.validity("id") is not None:
        if "id" in atoms:
            notes.lost("column 'id'", "has rows without a value; the atoms are numbered anew")
        return np.arange(1, atoms.rows + 1, dtype=np.uint64)
    ids = atoms["id"]
    known, counts = np.unique(ids, return_counts=True)
    if len(known) < len(ids):
        raise SchemaError(
            f"atom id {int(known[counts > 1][0])} stands in several rows; LAMMPS tells atoms apart by their ids",
            UNWRITABLE,
        )
    return ids


def relation_columns(
    block: Block, name: str, types: Array, type_columns: Sequence[str], ids: Array, notes: Notes
) -> list[Array]:
    """Return the columns of a relation section: number, type, atom ids.

    Args:
        block: The relation.
        name: Its name.
        types: Type of each row as it is to be written.
        type_columns: The columns the types come from.
        ids: Id of each atom.
        notes: Told about columns that are left out.

    Raises:
        SchemaError: An endpoint is missing, null or no row of the atoms (``reject-foreign-write``).
    """
    columns: list[Array] = [block["id"] if "id" in block else np.arange(1, block.rows + 1), types]
    for endpoint in endpoints_of(name):
        if endpoint not in block or block.validity(endpoint) is not None:
            raise SchemaError(f"block {name!r} has no {endpoint!r} in every row", UNWRITABLE)
        rows = block[endpoint]
        if block.targets.get(endpoint, "atoms") != "atoms" or (rows.size and int(rows.max()) >= len(ids)):
            raise SchemaError(
                f"block {name!r}: column {endpoint!r} references something else than the atoms", UNWRITABLE
            )
        columns.append(ids[rows])
    used = {"id", *type_columns, *endpoints_of(name)}
    for column in block.columns:
        if column not in used:
            notes.lost(f"column {column!r} of block {name!r}", "is left out; a LAMMPS file has no place for it")
    return columns


def note_leftovers(atoms: Block, used: set[str], where: str, notes: Notes) -> None:
    """Note the columns of the atoms that have not been used."""
    for name in atoms.columns:
        if name not in used:
            notes.lost(f"column {name!r}", f"is left out; {where} has no place for it")
