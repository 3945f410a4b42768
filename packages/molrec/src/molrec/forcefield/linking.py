"""Linking by name: which parameters every term of a system has (``docs/spec/forcefield.md``, linking a system).

A relation row names, by ``type`` and where it has one by ``style``, rows of style tables; what several tables hold
under one name adds up. Its own parameter columns override the table. A name that resolves to nothing is reported, never
refused here; only pricing refuses it. Pairs are resolved through atom types, when they are priced. Not here: finding
types by SMARTS or SMIRKS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from molrec.forcefield.atom_types import AtomTypes
from molrec.forcefield.endpoints import rows_by_endpoints
from molrec.forcefield.forms import Floats
from molrec.forcefield.pair_tables import PairTable
from molrec.forcefield.relations import BLOCK_OF_CATEGORY, RelationRows
from molrec.forcefield.tables import Flags, Integers, StyleTable, block_of, taken
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame

__all__ = ["Linked", "LinkedStyle", "Unresolved", "link"]

#: Categories whose tables are resolved through atom types rather than by the names of relation rows.
_BY_TYPES = ("pair", "pair14")


@dataclass(frozen=True, slots=True)
class LinkedStyle:
    """The terms of one style.

    Attributes:
        table: The style with its rows.
        block: Name of the relation block.
        rows: Int64 ``(terms,)``: the row of the relation block each term comes from.
        atoms: Int64 ``(terms, arity)``: rows of ``atoms``; -1 for an endpoint a virtual site does without.
        parameters: Parameter to float64 ``(terms,)``, in the units of the force field, NaN where absent.
    """

    table: StyleTable
    block: str
    rows: Integers
    atoms: Integers
    parameters: dict[str, Floats]

    @property
    def category(self) -> str:
        """Category of the style."""
        return self.table.style.category

    @property
    def style(self) -> str:
        """Name of the style."""
        return self.table.style.name

    @property
    def label(self) -> str:
        """Category and style, such as ``bond.harmonic``."""
        return self.table.label


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A name that no table holds.

    Attributes:
        block: Block of the frame.
        name: What its rows name; ``""`` for rows that name nothing.
        style: The style they ask for; ``""`` for any.
        count: Number of rows.
        first: The first of them.
    """

    block: str
    name: str
    style: str
    count: int
    first: int

    def __str__(self) -> str:
        named = f"type {self.name!r}" if self.name else "no type"
        style = f" of style {self.style!r}" if self.style else ""
        return f"{self.block}: {named}{style} in {self.count} rows from row {self.first}"


@dataclass(frozen=True, slots=True)
class Linked:
    """A system and the parameters its terms have.

    Attributes:
        atoms: The types of the atoms.
        styles: The terms of each style that has some, in the order of the force field.
        pairs: Tables of the ``pair`` and ``pair14`` styles, to be asked for two types.
        explicit_pairs: Rows of the frame's ``pairs`` block, or None.
        unresolved: Names no table holds.
    """

    atoms: AtomTypes
    styles: tuple[LinkedStyle, ...]
    pairs: tuple[PairTable, ...]
    explicit_pairs: RelationRows | None
    unresolved: tuple[Unresolved, ...]

    def style(self, category: str, style: str) -> LinkedStyle:
        """Return the terms of one style.

        Raises:
            KeyError: It has none.
        """
        for one in self.styles:
            if (one.category, one.style) == (category, style):
                return one
        raise KeyError(f"no terms of style {category} {style!r}; there are {[one.label for one in self.styles]}")


def link(frame: Frame, ff: ForceField, *, by_endpoints: bool = False) -> Linked:
    """Find the parameters of every term of a system.

    Args:
        frame: The system: ``atoms`` with ``type``, and relation blocks with ``type`` and maybe ``style``.
        ff: The force field.
        by_endpoints: Whether rows whose name resolves to nothing are typed by the types or classes of their atoms.

    Raises:
        SchemaError: Rows of a pair table that price one pair differently (``reject-ff-pair-conflict``), or endpoints
            that are no atoms (``reject-ff-endpoints``).
    """
    atoms = AtomTypes(frame, ff)
    unresolved = [
        _unresolved("atoms", atoms.types.codes == code, name=atoms.types.distinct[code] if code >= 0 else "", style="")
        for code in atoms.unresolved
    ]
    found: dict[str, LinkedStyle] = {}
    categories = dict.fromkeys([*BLOCK_OF_CATEGORY, *(style.category for style in ff.styles)])
    for category in categories:
        name = BLOCK_OF_CATEGORY.get(category, f"{category}s")
        block = block_of(frame, name)
        if category in ("atom", *_BY_TYPES) or block is None:
            continue
        relation = RelationRows(name, block, atoms.count)
        tables = [StyleTable(style) for style in ff.of_category(category)]
        resolved = np.zeros(len(relation), dtype=np.bool_)
        for table in tables:
            linked, selected = _linked(table, relation, atoms, by_endpoints=by_endpoints)
            resolved |= selected
            if len(linked.rows):
                found[table.label] = linked
        if tables or relation.types is not None:
            unresolved += _without_table(relation, ~resolved)
    pairs = tuple(
        PairTable(StyleTable(style), atoms.labels(style.endpoint_key).distinct)
        for style in ff.styles
        if style.category in _BY_TYPES
    )
    explicit = block_of(frame, "pairs")
    return Linked(
        atoms,
        tuple(found[label] for style in ff.styles if (label := f"{style.category}.{style.name}") in found),
        pairs,
        None if explicit is None else RelationRows("pairs", explicit, atoms.count),
        tuple(unresolved),
    )


def _linked(
    table: StyleTable, relation: RelationRows, atoms: AtomTypes, *, by_endpoints: bool
) -> tuple[LinkedStyle, Flags]:
    """Return the terms a style has in a relation, and which rows of it those are."""
    asked, may = _asked(table, relation)
    rows = np.full(len(relation), -1, dtype=np.int64)
    if relation.types is not None:
        of_name = np.array([*(table.rows.get(name, -1) for name in relation.types.distinct), -1], dtype=np.int64)
        rows = of_name[relation.types.codes]
        if may is not None:
            rows[~may] = -1
    if by_endpoints and table.style.endpoint_key != "smirks" and table.rows:
        open_rows = np.flatnonzero(rows < 0 if may is None else (rows < 0) & may)
        labels = atoms.labels(table.style.endpoint_key)
        rows[open_rows] = rows_by_endpoints(table, labels, relation.atoms[open_rows])
    columns = {name: values for name, values in relation.columns.items() if _overrides(table, name)}
    selected = rows >= 0
    by_itself = asked if table.rows else np.ones(len(relation), dtype=np.bool_) if may is None else may
    if by_itself is not None and not selected.all():
        selected |= by_itself & table.complete(columns, len(relation))
    if selected.all():
        return LinkedStyle(
            table, relation.name, np.arange(len(relation)), relation.atoms, _parameters(table, rows, columns, None)
        ), selected
    chosen = np.flatnonzero(selected)
    parameters = _parameters(table, rows[chosen], columns, chosen)
    return LinkedStyle(table, relation.name, chosen, relation.atoms[chosen], parameters), selected


def _asked(table: StyleTable, relation: RelationRows) -> tuple[Flags | None, Flags | None]:
    """Return which rows ask for this style by name, and which may be of it; None for none and for all."""
    styles = relation.styles
    if styles is None:
        return None, None
    own = styles.distinct.index(table.style.name) if table.style.name in styles.distinct else -2
    asked = styles.codes == own
    return asked, asked | (styles.codes == -1)


def _overrides(table: StyleTable, name: str) -> bool:
    if table.has_parameter(name):
        return True
    # a style of instances that nobody has registered, and that states no expression, may mean any column
    return table.known is None and not table.rows and table.style.expression is None


def _parameters(
    table: StyleTable, rows: Integers, columns: dict[str, Floats], chosen: Integers | None
) -> dict[str, Floats]:
    parameters = {name: taken(values, rows) for name, values in table.numbers.items()}
    for name, values in columns.items():
        own = values if chosen is None else values[chosen]
        base = parameters.get(name)
        parameters[name] = own.copy() if base is None else np.where(np.isnan(own), base, own)
    return parameters


def _without_table(relation: RelationRows, open_rows: Flags) -> list[Unresolved]:
    """Report the rows of a relation that nothing prices, by what they name."""
    if not open_rows.any():
        return []
    types = relation.type_codes()
    styles = np.full(len(relation), -1, dtype=np.int64) if relation.styles is None else relation.styles.codes
    width = 1 + (0 if relation.styles is None else len(relation.styles.distinct))
    key = (types + 1) * width + styles + 1
    reports = []
    for value in np.unique(key[open_rows]).tolist():
        type_code, style_code = divmod(value, width)
        name = "" if type_code == 0 or relation.types is None else relation.types.distinct[type_code - 1]
        style = "" if style_code == 0 or relation.styles is None else relation.styles.distinct[style_code - 1]
        reports.append(_unresolved(relation.name, open_rows & (key == value), name=name, style=style))
    return reports


def _unresolved(block: str, rows: Flags, *, name: str, style: str) -> Unresolved:
    return Unresolved(block, name, style, int(rows.sum()), int(np.argmax(rows)))
