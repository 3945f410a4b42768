"""struct_conn of an mmCIF file: its connections found among the atoms of each model."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.formats.mmcif_category import Category
from molrec.formats.mmcif_tags import BOND_ORDERS, partner_tags
from molrec.formats.notes import Notes
from molrec.model.block import Block

__all__ = ["Connections"]

_ALTLOC = "label_alt_id"


class Connections:
    """The connections of one data block.

    Args:
        given: Category ``struct_conn``; it may be empty.
        atoms: Category ``atom_site`` of the same block.
        notes: Told about connections that do not say which alternate location they mean.
    """

    def __init__(self, given: Category, atoms: Category, notes: Notes) -> None:
        self._given = given
        self._notes = notes
        self._found = np.zeros(len(given), dtype=np.bool_)
        self._sites: dict[str, list[tuple[int, str]]] = {}
        self._ends: list[tuple[list[str], list[str]]] = []
        if len(given):
            self._identify(atoms)
            self._columns = self._other_columns()

    def __len__(self) -> int:
        return len(self._given)

    def _identify(self, atoms: Category) -> None:
        """Find every row of atom_site a partner may be; rows are looked at one by one only where a partner is."""
        altlocs = atoms.labels(_ALTLOC) if _ALTLOC in atoms else np.full(len(atoms), "", dtype=STRING)
        for partner in (1, 2):
            tags = {
                theirs: own for theirs, own in partner_tags(partner).items() if theirs in self._given and own in atoms
            }
            alternate = next((theirs for theirs, own in tags.items() if own == _ALTLOC), None)
            used = {theirs: own for theirs, own in tags.items() if theirs != alternate}
            if not any(own.endswith("_atom_id") for own in used.values()):
                raise self._given.error(0, f"ptnr{partner}_label_atom_id is missing; which atom is meant is not clear")
            keys = _joined([self._given.labels(theirs) for theirs in used])
            sites = _joined([atoms.labels(own) for own in used.values()])
            # by number: numpy compares strings of any length pair by pair
            _, codes = np.unique(np.concatenate([keys, sites]), return_inverse=True)
            wanted = np.flatnonzero(np.isin(codes[len(keys) :], codes[: len(keys)]))
            for row, site, altloc in zip(
                wanted.tolist(), sites[wanted].tolist(), altlocs[wanted].tolist(), strict=True
            ):
                self._sites.setdefault(f"{partner} {site}", []).append((row, altloc))
            alternates = [""] * len(self) if alternate is None else self._given.labels(alternate).tolist()
            self._ends.append(([f"{partner} {key}" for key in keys.tolist()], alternates))

    def _other_columns(self) -> dict[str, tuple[Array, npt.NDArray[np.bool_]]]:
        """Return the columns of the block that are no ends, with their masks."""
        identifying = {*partner_tags(1), *partner_tags(2)}
        columns = {}
        for tag in self._given.tags:
            values, absent = self._given.texts(tag)
            if tag in identifying or absent.all():
                continue
            if tag == "pdbx_value_order":
                orders = [BOND_ORDERS.get(value.lower(), 0) for value in values.tolist()]
                other = np.array([not order for order in orders]) & ~absent
                if other.any():
                    self._notes.lost("pdbx_value_order", f"{values[other.argmax()]!r} has no bond_type and becomes 0")
                columns["bond_type"] = np.array(orders, dtype=np.uint64), ~absent
            elif tag == "conn_type_id":
                columns["type"] = self._given.labels(tag), np.ones(len(self), dtype=np.bool_)
            else:
                columns["conn_id" if tag == "id" else tag] = values, ~absent
        return columns

    def among(self, rows: npt.NDArray[np.intp]) -> Block:
        """Return the connections between atoms of one model as a block ``bonds``.

        Args:
            rows: Which rows of atom_site the model's atoms are, ascending.
        """
        ends = np.array([self._rows_of(partner, rows) for partner in (0, 1)]).reshape(2, -1)
        present = np.flatnonzero((ends >= 0).all(axis=0))
        self._found[present] = True
        block = Block({"atomi": ends[0, present].astype(np.uint64), "atomj": ends[1, present].astype(np.uint64)})
        for name, (values, known) in self._columns.items():
            block[name] = values[present]
            block.set_validity(name, known[present])
        return block

    def _rows_of(self, partner: int, rows: npt.NDArray[np.intp]) -> list[int]:
        """Return the atom of each connection's partner, -1 where the model has none."""
        ends = []
        for key, altloc in zip(*self._ends[partner], strict=True):
            candidates = [(int(np.searchsorted(rows, row)), label, row) for row, label in self._sites.get(key, ())]
            here = [(place, label) for place, label, row in candidates if place < len(rows) and rows[place] == row]
            fitting = [place for place, label in here if label == altloc]
            if not fitting and not altloc and here:
                self._notes.changed(
                    "struct_conn", "names atoms without their alternate location; the first one is taken"
                )
                fitting = [here[0][0]]
            ends.append(fitting[0] if fitting else -1)
        return ends

    def check_all_found(self) -> None:
        """Refuse a connection whose ends are in no model.

        Raises:
            FormatError: There is one.
        """
        if not self._found.all():
            row = int(self._found.argmin())
            which = " and ".join(" ".join(ends[0][row].split("\t"))[2:] for ends in self._ends)
            raise self._given.error(
                row,
                f"the connection is between {which}, and no model has both; the file is cut short or edited, get it "
                "again or remove the row",
            )


def _joined(labels: list[Array]) -> Array:
    """Return one string per row that tells rows apart as all the labels together do."""
    joined = labels[0]
    for label in labels[1:]:
        joined = np.strings.add(np.strings.add(joined, "\t"), label)
    return joined
