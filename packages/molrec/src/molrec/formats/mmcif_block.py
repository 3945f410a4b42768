"""One data block of an mmCIF file as frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.formats import mmcif_tags as tags
from molrec.formats.macromolecule import (
    MODEL_KEY,
    SPACE_GROUP_KEY,
    TITLE_KEY,
    Z_VALUE_KEY,
    box_of_cell,
    element_symbols,
    first_duplicate,
    malformed,
)
from molrec.formats.mmcif_bonds import Connections
from molrec.formats.mmcif_category import Category
from molrec.formats.notes import Notes
from molrec.formats.residue_numbers import ResidueNumbers
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.vocabulary import CANONICAL_COLUMNS

if TYPE_CHECKING:
    import gemmi

__all__ = ["DataBlock", "fractional_matrix"]

_HETATM, _ATOM = "HETATM", "ATOM"
_MATRIX_TOLERANCE = 1e-5
#: Tags of atom_site_anisotrop that say again which atom a row is about.
_REPEATED = ("id", "type_symbol", "pdbx_label_", "pdbx_auth_", "pdbx_PDB_")

Mask = npt.NDArray[np.bool_]


class DataBlock:
    """A data block with atoms.

    Args:
        path: The file, for messages.
        block: The block; what has a place of its own in a frame is taken out of it.
        notes: Told about what is lost or changed.
    """

    def __init__(self, path: Path, block: gemmi.cif.Block, notes: Notes) -> None:
        self._path = path
        self._block = block
        self._notes = notes
        self._sites = Category(path, block, tags.ATOM_SITE)
        self._columns: dict[str, tuple[Array, Mask | None]] = {}
        self._read_atoms()
        self._read_displacements()
        self._bonds = Connections(Category(path, block, tags.STRUCT_CONN), self._sites, notes)
        self._meta = Meta()
        self._box = self._take_cell()
        self._take_title()
        for name in (tags.ATOM_SITE, tags.ATOM_SITE_ANISOTROP, tags.STRUCT_CONN):
            _erase(block, name)

    def frames(self) -> Iterator[Frame]:
        """Yield a frame for each model, in the order the models begin in.

        Raises:
            FormatError: An id occurs twice in a model, or a connection is between atoms no model has.
        """
        categories = self._block.as_string()
        for position, (number, rows) in enumerate(self._models()):
            atoms = Block(rows=len(rows))
            for name, (values, known) in self._columns.items():
                atoms[name] = values[rows]
                atoms.set_validity(name, None if known is None else known[rows])
            if "id" in atoms:
                self._check_ids(atoms["id"], rows)
            blocks = {"atoms": atoms}
            if len(self._bonds):
                blocks["bonds"] = self._bonds.among(rows)
            meta = Meta(self._meta)
            if number is not None:
                meta.set(MODEL_KEY, number, tag="i64")
            if not position:
                meta.set(tags.CATEGORIES_KEY, categories, tag="string")
            yield Frame(blocks, meta=meta, box=self._box)
        self._bonds.check_all_found()

    def _models(self) -> Iterator[tuple[int | None, npt.NDArray[np.intp]]]:
        if tags.MODEL not in self._sites:
            yield None, np.arange(len(self._sites))
            return
        numbers, absent = self._sites.integers(tags.MODEL)
        if absent.any():
            raise self._sites.error(int(absent.argmax()), f"{tags.MODEL} is missing, other atoms have it")
        found, first = np.unique(numbers, return_index=True)
        for number in found[np.argsort(first)].tolist():
            yield number, np.flatnonzero(numbers == number)

    def _check_ids(self, ids: npt.NDArray[np.uint64], rows: npt.NDArray[np.intp]) -> None:
        again = first_duplicate(ids)
        if again is not None:
            raise self._sites.error(
                int(rows[again[1]]), f"the id {ids[again[1]]} occurs twice in one model; number the atoms"
            )

    # -- atoms --------------------------------------------------------------------------------------------------------

    def _read_atoms(self) -> None:
        sites, columns = self._sites, self._columns
        for tag, name in tags.COORDINATES.items():
            if tag not in sites:
                raise sites.error(0, f"{tag} is missing; Cartesian coordinates are needed")
            values, absent = sites.reals(tag)
            if absent.any():
                raise sites.error(int(absent.argmax()), f"{tag} has no value; every atom needs a position")
            columns[name] = values, None
        taken = {*tags.COORDINATES, tags.MODEL}
        if "id" in sites:
            ids, absent = sites.integers("id")
            if absent.any() or (ids < 0).any():
                raise sites.error(int((absent | (ids < 0)).argmax()), "the id is missing or negative; number the atoms")
            columns["id"] = ids.astype(np.uint64), None
        if "group_PDB" in sites:
            columns["hetatm"] = self._hetero(), None
        if "type_symbol" in sites:
            symbols, absent = sites.labels("type_symbol"), sites.nulls("type_symbol")
            columns["element"] = element_symbols(symbols), ~absent
        for tag, name in tags.REALS.items():
            if tag in sites:
                values, absent = sites.reals(tag)
                columns[name] = values, ~absent
        if "pdbx_formal_charge" in sites:
            charges, absent = sites.integers("pdbx_formal_charge")
            columns["formal_charge"] = charges, ~absent
        taken |= {"id", "group_PDB", "type_symbol", *tags.REALS, "pdbx_formal_charge", "label_seq_id", "auth_seq_id"}
        taken |= self._read_labels()
        self._read_residues()
        for tag in sites.tags:
            if tag not in taken:
                values, absent = sites.texts(tag)
                name = tag if tag not in CANONICAL_COLUMNS and tag not in columns else f"atom_site.{tag}"
                columns[name] = values, ~absent

    def _hetero(self) -> Mask:
        groups = self._sites.labels("group_PDB")
        other = (groups != _ATOM) & (groups != _HETATM)
        if other.any():
            row = int(other.argmax())
            raise self._sites.error(row, f"group_PDB is {groups[row]!r}, where {_ATOM} or {_HETATM} is expected")
        hetero: Mask = groups == _HETATM
        return hetero

    def _read_labels(self) -> set[str]:
        taken = set()
        for name, (own, author) in tags.LABELS.items():
            if own in self._sites:
                self._columns[name] = self._sites.labels(own), None
                taken.add(own)
            elif author is not None and author in self._sites:
                self._columns[name] = self._sites.labels(author), None
                self._notes.changed(f"column {name!r}", f"is {author}; the file has no {own}")
        return taken

    def _read_residues(self) -> None:
        sites = self._sites
        author: npt.NDArray[np.int64] | None = None
        unknown = np.ones(len(sites), dtype=np.bool_)
        if "auth_seq_id" in sites:
            author, unknown = sites.integers("auth_seq_id")
            self._columns["auth_seq_id"] = author, ~unknown
        known = np.zeros(len(sites), dtype=np.bool_)
        numbers = np.zeros(len(sites), dtype=np.int64)
        if "label_seq_id" in sites:
            numbers, absent = sites.integers("label_seq_id")
            known = ~absent
        elif author is None:
            return
        if not known.all() or (numbers < 0).any():
            self._columns["label_seq_id"] = numbers.copy(), known
        if author is not None:
            known, numbers = known | ~unknown, np.where(known, numbers, author)
        chain = self._columns["chain"][0] if "chain" in self._columns else np.full(len(sites), "", dtype="T")
        self._columns["res_id"] = ResidueNumbers().unsigned(chain, numbers, self._notes), known

    def _read_displacements(self) -> None:
        given = Category(self._path, self._block, tags.ATOM_SITE_ANISOTROP)
        if not len(given):
            return
        missing = [tag for tag in ("id", *tags.ANISOTROPIC) if tag not in given]
        if missing or "id" not in self._sites:
            self._notes.lost("atom_site_anisotrop", f"is left out; it has no {', '.join(missing) or 'ids to refer to'}")
            return
        for tag in given.tags:
            if tag not in tags.ANISOTROPIC and not tag.startswith(_REPEATED):
                self._notes.lost(f"atom_site_anisotrop.{tag}", "is left out; a record has no place for it")
        sites = self._columns["id"][0].astype(np.int64)
        ids, _ = given.integers("id")
        order = np.argsort(sites, kind="stable")
        rows = order[np.minimum(np.searchsorted(sites[order], ids), len(sites) - 1)]
        strange = sites[rows] != ids
        if strange.any():
            row = int(strange.argmax())
            raise given.error(row, f"there is no atom with the id {ids[row]}; the file is cut short or edited")
        values = np.zeros((len(sites), len(tags.ANISOTROPIC)))
        known = np.zeros(len(sites), dtype=np.bool_)
        for column, tag in enumerate(tags.ANISOTROPIC):
            numbers, absent = given.reals(tag)
            if absent.any():
                raise given.error(int(absent.argmax()), f"{tag} has no value")
            values[rows, column] = numbers
        known[rows] = True
        self._columns["u_aniso"] = values, known

    # -- what is not atoms --------------------------------------------------------------------------------------------

    def _take_cell(self) -> Box | None:
        """Return the box; the tags of a cell that is one are taken out of the block."""
        given = [_pair(self._block, tag) for tag in tags.CELL]
        if any(value is None for value in given):
            return None
        line = self._block.find_pair_item(tags.CELL[0]).line_number
        try:
            parameters = [float(value) for value in given if value is not None]
            box = box_of_cell(parameters, fractional_matrix(self._block), _MATRIX_TOLERANCE)
        except ValueError as error:
            raise malformed(self._path, line, f"_cell: {error}; correct or remove the cell") from error
        if box is None:
            return None
        for tag in tags.CELL:
            self._block.find_pair_item(tag).erase()
        group = next((tag for tag in tags.SPACE_GROUPS if _pair(self._block, tag)), None)
        if group is not None:
            self._meta[SPACE_GROUP_KEY] = _pair(self._block, group)
            self._block.find_pair_item(group).erase()
        count = _pair(self._block, tags.Z_VALUE)
        if count is not None and count.isdigit():
            self._meta.set(Z_VALUE_KEY, int(count), tag="i64")
            self._block.find_pair_item(tags.Z_VALUE).erase()
        return box

    def _take_title(self) -> None:
        title = _pair(self._block, tags.TITLE)
        if title is not None:
            self._meta[TITLE_KEY] = title
            self._block.find_pair_item(tags.TITLE).erase()


def fractional_matrix(block: gemmi.cif.Block) -> npt.NDArray[np.float64] | None:
    """Return the matrix from Cartesian to fractional coordinates a block states, or None.

    Raises:
        ValueError: One of its numbers is none.
    """
    given = [[_pair(block, tag) for tag in row] for row in tags.FRACTIONAL]
    if any(value is None for row in given for value in row):
        return None
    return np.array([[float(value or 0) for value in row] for row in given])


def _pair(block: gemmi.cif.Block, tag: str) -> str | None:
    """Return a single value, None where there is none."""
    import gemmi

    found: Any = block.find_pair(tag)
    if found is None or gemmi.cif.is_null(found[1]):
        return None
    return str(gemmi.cif.as_string(found[1]))


def _erase(block: gemmi.cif.Block, name: str) -> None:
    table = block.find_mmcif_category(name)
    if table.width():
        table.erase()
