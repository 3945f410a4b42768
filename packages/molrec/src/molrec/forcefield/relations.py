"""The rows of one relation block as terms: their atoms, what they are called, the parameters they bring along."""

from __future__ import annotations

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.forms import Floats
from molrec.forcefield.tables import Integers, name_column, numbers
from molrec.model.block import Block
from molrec.model.relations import DEFAULT_TARGET, ENDPOINTS, RELATIONS
from molrec.vocabulary import CANONICAL_COLUMNS

__all__ = ["BLOCK_OF_CATEGORY", "RelationRows"]

#: Category of a force field -> the block of a frame whose rows its tables price; others take the plural of their name.
BLOCK_OF_CATEGORY: dict[str, str] = {
    "bond": "bonds",
    "angle": "angles",
    "dihedral": "dihedrals",
    "improper": "impropers",
    "pair": "pairs",
    "pair14": "pairs",
    "constraint": "constraints",
    "virtual_site": "virtual_sites",
    "drude": "drudes",
    "urey_bradley": "urey_bradleys",
}


class RelationRows:
    """The rows of a relation block.

    Args:
        name: Name of the block.
        block: The block.
        atom_count: Rows of ``atoms``, which endpoints reference.

    Attributes:
        name: As given.
        atoms: Int64 ``(rows, arity)``: rows of ``atoms``; -1 where an endpoint that may be null is.
        types: What the rows call their type, or None without the column; a null and ``""`` say nothing.
        styles: Which style the rows name, or None without the column.
        columns: Numeric columns that may override parameters, float64 with NaN where they say nothing.

    Raises:
        SchemaError: Endpoints are missing, null, reference another block, or are out of range
            (``reject-ff-endpoints``).
    """

    __slots__ = ("atoms", "columns", "name", "styles", "types")

    def __init__(self, name: str, block: Block, atom_count: int) -> None:
        self.name = name
        relation = RELATIONS.get(name)
        present = tuple(end for end in ENDPOINTS if end in block)
        ends = present if relation is None else relation.endpoints
        nullable = () if relation is None else relation.nullable
        self.atoms: Integers = np.empty((block.rows, len(ends)), dtype=np.int64)
        for place, end in enumerate(ends):
            self.atoms[:, place] = _endpoint(name, block, end, atom_count, may_be_null=end in nullable)
        self.types = name_column(block, "type")
        self.styles = name_column(block, "style")
        self.columns: dict[str, Floats] = {}
        for column in block.columns:
            if column in ENDPOINTS or CANONICAL_COLUMNS.get(column, "f64") != "f64":
                continue
            found = numbers(block, column)
            if found is not None:
                self.columns[column] = found

    def __len__(self) -> int:
        return len(self.atoms)

    def type_codes(self) -> Integers:
        """Return the type of each row as a number, -1 for none."""
        return np.full(len(self), -1, dtype=np.int64) if self.types is None else self.types.codes


def _endpoint(name: str, block: Block, end: str, atom_count: int, *, may_be_null: bool) -> Integers:
    where = f"block {name!r}, endpoint {end!r}"
    if end not in block:
        if may_be_null:
            return np.full(block.rows, -1, dtype=np.int64)
        raise SchemaError(
            f"{where} is missing; its terms cannot be priced without all of their atoms", "reject-ff-endpoints"
        )
    target = block.targets.get(end, DEFAULT_TARGET)
    if target != DEFAULT_TARGET:
        raise SchemaError(
            f"{where} references {target!r}; terms are priced between rows of 'atoms'", "reject-ff-endpoints"
        )
    given, mask = block[end], block.validity(end)
    if mask is not None and not may_be_null:
        raise SchemaError(
            f"{where} is null in row {int(np.argmin(mask))}; a term has all of its atoms", "reject-ff-endpoints"
        )
    outside = given >= atom_count
    if mask is not None:
        outside &= mask
    if outside.any():
        row = int(np.argmax(outside))
        raise SchemaError(
            f"{where} is {int(given[row])} in row {row}; there are {atom_count} atoms, numbered from 0",
            "reject-ff-endpoints",
        )
    rows: Integers = given.astype(np.int64)
    if mask is not None:
        rows[~mask] = -1
    return rows
