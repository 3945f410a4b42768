"""The atoms of a frame as a force field sees them: their type, their class, and what their atom table gives them."""

from __future__ import annotations

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.forms import Floats
from molrec.forcefield.tables import Names, StyleTable, block_of, name_column, numbers
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame

__all__ = ["AtomTypes"]


class AtomTypes:
    """Types of the atoms of a frame, linked by name to the atom tables of a force field.

    Args:
        frame: Its block ``atoms`` may have the column ``type``.
        field: The force field.

    Attributes:
        count: Number of atoms.
        types: The type of every atom.
        unresolved: Codes of types that no table has a row for; -1 where atoms have none beside others that do.
    """

    __slots__ = ("_classes", "_parameters", "_tables", "count", "types", "unresolved")

    def __init__(self, frame: Frame, field: ForceField) -> None:
        atoms = block_of(frame, "atoms")
        self.count = 0 if atoms is None else atoms.rows
        named = None if atoms is None else name_column(atoms, "type")
        self.types = Names(np.full(self.count, -1, dtype=np.int64), []) if named is None else named
        self._tables = [StyleTable(style) for style in field.of_category("atom")]
        if not self._tables and any(style.endpoint_key == "smirks" for style in field.styles):
            # without an atom table, atoms name the rows of pair tables found by SMIRKS
            by_pattern = [style for style in field.of_category("pair") if style.endpoint_key == "smirks"]
            known = {row.name for style in by_pattern for row in style}
        else:
            known = {name for table in self._tables for name in table.rows}
        self.unresolved = [
            code for code, name in enumerate(self.types.distinct) if known and name not in known and name != ""
        ]
        if known and named is not None and (self.types.codes < 0).any():
            self.unresolved.append(-1)
        self._classes: Names | None = None
        self._parameters: dict[str, Floats] = {}
        if atoms is not None:
            for name in ("charge", "mass"):
                if name in atoms and (given := numbers(atoms, name)) is not None:
                    self._parameters[name] = given

    def labels(self, endpoint_key: str) -> Names:
        """Return what the endpoints of a style with this key name: the types or the classes of the atoms."""
        if endpoint_key != "class":
            return self.types
        if self._classes is None:
            class_of: dict[str, str] = {}
            for table in self._tables:
                if "class" in table.block:
                    column, mask = table.block["class"].tolist(), table.block.validity("class")
                    class_of |= {name: column[row] for name, row in table.rows.items() if mask is None or mask[row]}
            distinct = list(dict.fromkeys(class_of.values()))
            number = {name: code for code, name in enumerate(distinct)}
            of_type = [number.get(class_of.get(name, ""), -1) for name in self.types.distinct]
            codes = np.array([*of_type, -1], dtype=np.int64)[self.types.codes]
            self._classes = Names(codes, distinct)
        return self._classes

    def parameter(self, name: str) -> Floats:
        """Return a parameter of every atom, ``charge`` or ``mass``: its own column first, else its type's.

        Returns:
            Float64 ``(atoms,)``, NaN where neither says.

        Raises:
            SchemaError: Two atom tables give one type different values (``reject-ff-atom-conflict``).
        """
        of_type = np.full(len(self.types.distinct) + 1, np.nan)
        for table in self._tables:
            if name not in table.numbers:
                continue
            for code, type_name in enumerate(self.types.distinct):
                row = table.rows.get(type_name)
                value = np.nan if row is None else table.numbers[name][row]
                if np.isnan(value):
                    continue
                if not np.isnan(of_type[code]) and of_type[code] != value:
                    raise SchemaError(
                        f"the atom type {type_name!r} has the {name} {of_type[code]} in one atom table and {value} in "
                        f"{table.label}; a type has one, or the atoms state their own in a column {name!r}",
                        "reject-ff-atom-conflict",
                    )
                of_type[code] = value
        values: Floats = of_type[self.types.codes]
        own = self._parameters.get(name)
        return values if own is None else np.where(np.isnan(own), values, own)
