"""What a validator finds in the content of frames, whatever they are stored in: units, type names, grids, endpoints.

Records and collections are judged by the same functions. A finding is a tuple of rule, place, severity and message; the
clauses stand in ``docs/spec/frame.md``, ``vocabulary.md`` and ``forcefield.md``, the table of all findings in
``docs/spec/validation.md``. Knows nothing of files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.errors import SchemaError
from molrec.forcefield.pair_tables import PairTable
from molrec.forcefield.registry import registered
from molrec.forcefield.relations import BLOCK_OF_CATEGORY
from molrec.forcefield.tables import Flags, StyleTable, numbers
from molrec.model.block import Block
from molrec.model.collection import check_units
from molrec.model.forcefield import ForceField
from molrec.model.forcefield_document import CATEGORY_ARITY, UNIT_PRESETS
from molrec.model.frame import Frame
from molrec.model.references import check_rows
from molrec.model.relations import ENDPOINTS, same_container_references
from molrec.precision import quantize
from molrec.vocabulary import CANONICAL_COLUMNS, VOCABULARY

__all__ = [
    "Found",
    "TypeNames",
    "image_findings",
    "loose_endpoint_findings",
    "off_grid_findings",
    "off_grid_rows",
    "pair_findings",
    "quantities_of",
    "style_findings",
    "unit_findings",
    "unknown_unit_findings",
    "unresolved_findings",
    "word_findings",
]

#: Rule, place, severity, message.
type Found = tuple[str, str, Literal["error", "warning", "info"], str]

#: Columns whose numbers stand for something, and the greatest that does (``docs/spec/vocabulary.md``).
_MOST_OF_WORDS = {"bond_type": 4, "bond_number": 4}

# -- units ------------------------------------------------------------------------------------------------------------

#: Dimension of a canonical column -> the quantity whose unit its numbers are in. Charge and mass have a unit of their
#: own (e, amu) where none is stated; what is dimensionless needs none.
_QUANTITY_OF = {
    "length": "length",
    "length/time": "velocity",
    "force": "force",
    "charge*length": "length",
    "length^2": "length",
}
_QUANTITY_OF_KEY = {"pe": "energy", "ke": "energy", "etotal": "energy", "volume": "length"}
#: What tells a unit that is not stated: a force is an energy over a length, a velocity a length over a time.
_DERIVED = {"force": ("energy", "length"), "velocity": ("length", "time")}
#: Units that are those of their quantity for certain, so that the parser of units need not be loaded for them.
_USUAL: dict[str, set[str]] = {"force": {"eV/angstrom", "kcal/mol/angstrom", "kJ/mol/nm"}, "mass": {"amu"}}
for _preset in UNIT_PRESETS.values():
    for _quantity, _unit in _preset.items():
        _USUAL.setdefault(_quantity, set()).add(_unit)


def quantities_of(
    columns: Iterable[str], keys: Iterable[str] = (), *, has_times: bool = False
) -> dict[str, tuple[str, ...]]:
    """Return the quantities whose unit has to be stated, and what is given in it.

    Args:
        columns: Names of columns, of any number of blocks.
        keys: Names of per-step keys.
        has_times: Whether frames have times.

    Returns:
        ``length``, ``velocity``, ``force``, ``energy`` and ``time`` to the names that need it.
    """
    found: dict[str, dict[str, None]] = {}
    for name in columns:
        dimension = VOCABULARY[name].dimension if name in VOCABULARY else None
        if dimension in _QUANTITY_OF:
            found.setdefault(_QUANTITY_OF[dimension], {})[name] = None
    for key in keys:
        if key in _QUANTITY_OF_KEY:
            found.setdefault(_QUANTITY_OF_KEY[key], {})[key] = None
    if has_times:
        found.setdefault("time", {})["the times of frames"] = None
    return {quantity: tuple(names) for quantity, names in found.items()}


def unit_findings(
    where: str, units: Mapping[str, str] | None, quantities: Mapping[str, tuple[str, ...]], *, derive: bool = True
) -> Iterator[Found]:
    """Yield ``unit-not-stated`` for quantities that are there in a unit nobody states.

    Args:
        where: The place the numbers are in.
        units: What is stated for it, None for nothing. The preset ``lj`` states that all of it is reduced.
        quantities: As `quantities_of` gives them.
        derive: Whether a force counts as stated by energy and length, and a velocity by length and time.
    """
    preset = (units or {}).get("preset")
    if preset == "lj":
        return
    stated = {*(units or {}), *UNIT_PRESETS.get(preset or "", {})}
    missing = {
        quantity: names
        for quantity, names in quantities.items()
        if quantity not in stated
        and not ((derive or quantity == "velocity") and stated.issuperset(_DERIVED.get(quantity, (quantity,))))
    }
    if missing:
        listed = "; ".join(f"{quantity} ({_some(names)})" for quantity, names in missing.items())
        yield (
            "unit-not-stated",
            where,
            "warning",
            f"no unit is stated for {listed}; state it in the key 'units', as in {{'length': 'angstrom'}}",
        )


def unknown_unit_findings(where: str, units: Mapping[str, str] | None) -> Iterator[Found]:
    """Yield ``unknown-unit`` for every stated unit that is none, or none of its quantity."""
    for quantity, unit in (units or {}).items():
        if quantity == "preset":
            if unit not in UNIT_PRESETS:
                yield "unknown-unit", where, "warning", f"{unit!r} is no preset; they are {', '.join(UNIT_PRESETS)}"
        elif unit not in _USUAL.get(quantity, ()):
            try:
                check_units({quantity: unit}, where)
            except SchemaError as error:
                yield "unknown-unit", where, "warning", error.message


def _some(names: tuple[str, ...], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# -- declared precision -----------------------------------------------------------------------------------------------


def off_grid_rows(values: Array, precision: float, validity: npt.NDArray[np.bool_] | None = None) -> Flags:
    """Return, for each row, whether a value of it is off the grid of a precision; a null never is.

    Args:
        values: Float64 ``(rows, ...)``.
        precision: Declared precision of the column.
        validity: The column's mask ``(rows,)``, or None.
    """
    with np.errstate(invalid="ignore"):
        off = (quantize(values, precision) != values) & ~np.isnan(values)
    rows: Flags = off.any(axis=tuple(range(1, off.ndim)))
    return rows if validity is None else rows & validity


def off_grid_findings(where: str, precision: float, rows: int, first: int) -> Iterator[Found]:
    """Yield ``off-grid-value`` for a column with a number of rows off the grid, the first of them given."""
    if rows:
        message = (
            f"declares precision {precision!r} but holds values off its grid in {rows} row{'' if rows == 1 else 's'}, "
            f"the first {first}; the writer did not round them"
        )
        yield "off-grid-value", where, "warning", message


# -- references, images, words ----------------------------------------------------------------------------------------


def loose_endpoint_findings(where: str, frame: Frame, only: str | None = None) -> Iterator[Found]:
    """Yield ``loose-endpoint`` for endpoints that no declaration holds to anything and that reference no row.

    Args:
        where: The place the frame is in.
        frame: A frame, resolved.
        only: Look at this block alone.
    """
    for name, block in frame.items():
        if only not in (None, name):
            continue
        dtypes = {column: block.dtype(column) for column in block.columns}
        for column, target in same_container_references(dtypes, block.targets).items():
            if column in block.targets:
                continue
            rows = frame[target].rows if target in frame else None
            try:
                check_rows(block[column], block.validity(column), target, rows, f"{where}: {name}/{column}")
            except SchemaError as error:
                yield "loose-endpoint", f"{where}/{name}", "warning", error.message


def image_findings(where: str, columns: Iterable[str]) -> Iterator[Found]:
    """Yield ``image-flags-in-part`` for a block that has some of the image flags ``ix iy iz`` and not all."""
    present = [name for name in ("ix", "iy", "iz") if name in set(columns)]
    if len(present) in (1, 2):
        yield "image-flags-in-part", where, "error", f"has {', '.join(present)}; ix, iy and iz stand or fall together"


def word_findings(where: str, block: Block) -> Iterator[Found]:
    """Yield ``unknown-word`` for numbers of a vocabulary that stand for nothing in it."""
    for column, most in _MOST_OF_WORDS.items():
        if column not in block:
            continue
        beyond = block[column] > np.uint64(most)
        if (validity := block.validity(column)) is not None:
            beyond &= validity
        if beyond.any():
            row = int(np.argmax(beyond))
            message = f"{int(beyond.sum())} numbers are beyond {most}, the first {block[column][row]} in row {row}"
            yield "unknown-word", f"{where}/{column}", "warning", message


# -- names of types ---------------------------------------------------------------------------------------------------


class TypeNames:
    """The types the rows of one block name, each with its style, counted; columns may come piece by piece.

    Args:
        block: Name of the block.
    """

    def __init__(self, block: str) -> None:
        self.block = block
        #: (type, style) -> rows; ``""`` for a type or style that is null or not stated.
        self.counts: Counter[tuple[str, str]] = Counter()
        #: (type, style) -> the first row that names it.
        self.first: dict[tuple[str, str], int] = {}
        self._rows = 0

    def add(
        self,
        types: Array,
        styles: Array | None = None,
        type_validity: npt.NDArray[np.bool_] | None = None,
        style_validity: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Take the next rows.

        Args:
            types: Strings ``(rows,)``.
            styles: Strings ``(rows,)``, or None without the column.
            type_validity: Mask of `types`, or None.
            style_validity: Mask of `styles`, or None.
        """
        named = _listed(types, type_validity)
        asked = [""] * len(named) if styles is None else _listed(styles, style_validity)
        pairs = list(zip(named, asked, strict=True))
        fresh = Counter(pairs)
        for pair in fresh.keys() - self.counts.keys():
            self.first[pair] = self._rows + pairs.index(pair)
        self.counts.update(fresh)
        self._rows += len(pairs)

    def add_block(self, block: Block) -> None:
        """Take the rows of a whole block; nothing without the column `type`."""
        if "type" in block:
            styles = block["style"] if "style" in block else None  # noqa: SIM401 - a block has no `get`
            self.add(block["type"], styles, block.validity("type"), None if styles is None else block.validity("style"))


def _listed(column: Array, validity: npt.NDArray[np.bool_] | None) -> list[str]:
    texts: list[str] = column.tolist()
    if validity is not None:
        for row in np.flatnonzero(~validity).tolist():
            texts[row] = ""
    return texts


def unresolved_findings(
    where: str, names: TypeNames, forcefield: ForceField, own: Block | None = None
) -> Iterator[Found]:
    """Yield ``unresolved-type`` for every name of a block that no table of the force field holds.

    The table asked is that of the row's style, where it names one, and any of the category otherwise
    (``docs/spec/forcefield.md``, linking a system).

    Args:
        where: The place of the block.
        names: What its rows name.
        forcefield: The force field of the record or collection.
        own: The block itself, where its rows may state parameters of their own and so need no table. Without it, a
            row that names nothing is not reported.
    """
    tables = _tables_of(names.block, forcefield)
    if not tables:
        return
    by_style = {table.style.name: table for table in tables}
    known = {name for table in tables for name in table.rows}
    excused = _self_sufficient(tables, own)
    for (name, style), count in names.counts.items():
        if not name or (style and _holds(by_style.get(style), name)) or (not style and name in known):
            continue
        first = names.first[name, style]
        if excused is not None and own is not None and excused[_rows_naming(own, name, style)].all():
            continue
        asked = f" of style {style!r}" if style else ""
        message = (
            f"no table of the force field holds the type {name!r}{asked}, which {count} row{'' if count == 1 else 's'} "
            f"name{'s' if count == 1 else ''}, the first {first}"
        )
        yield "unresolved-type", where, "warning", message


def _tables_of(block: str, forcefield: ForceField) -> list[StyleTable]:
    """Return the tables whose rows the types of a block name."""
    if block == "atoms":
        styles = list(forcefield.of_category("atom"))
        if not styles and any(style.endpoint_key == "smirks" for style in forcefield.styles):
            # Without an atom table, atoms name the rows of pair tables found by SMIRKS.
            styles = [style for style in forcefield.of_category("pair") if style.endpoint_key == "smirks"]
    else:
        styles = [
            style
            for style in forcefield.styles
            if style.category != "atom" and BLOCK_OF_CATEGORY.get(style.category, f"{style.category}s") == block
        ]
    return [StyleTable(style) for style in styles]


def _holds(table: StyleTable | None, name: str) -> bool:
    return table is not None and name in table.rows


def _self_sufficient(tables: list[StyleTable], own: Block | None) -> Flags | None:
    """Return which rows state every parameter of a style themselves; None where no row can."""
    if own is None:
        return None
    columns = {
        name: values
        for name in own.columns
        if name not in ENDPOINTS
        and CANONICAL_COLUMNS.get(name, "f64") == "f64"
        and (values := numbers(own, name)) is not None
    }
    if not columns:
        return None
    whole: Flags = np.zeros(own.rows, dtype=np.bool_)
    for table in tables:
        parameters = {name: values for name, values in columns.items() if table.has_parameter(name)}
        whole |= table.complete(parameters, own.rows)
    return whole


def _rows_naming(block: Block, name: str, style: str) -> Flags:
    named: Flags = np.array(_listed(block["type"], block.validity("type")), dtype=object) == name
    if "style" in block:
        named &= np.array(_listed(block["style"], block.validity("style")), dtype=object) == style
    return named


def pair_findings(where: str, forcefield: ForceField) -> Iterator[Found]:
    """Yield ``reject-ff-pair-conflict`` for pair tables that price one pair differently."""
    for style in forcefield.styles:
        if style.category in ("pair", "pair14"):
            try:
                PairTable(StyleTable(style), [])
            except SchemaError as error:
                yield error.rule, f"{where}/{style.block}", "error", error.message


def style_findings(where: str, forcefield: ForceField) -> Iterator[Found]:
    """Yield ``unknown-style`` for styles whose energy nothing says: neither registered nor with an expression."""
    for style in forcefield.styles:
        if registered(style.category, style.name) is None and style.expression is None:
            severity: Any = "warning" if style.category in CATEGORY_ARITY else "info"
            message = (
                f"the style {style.category} {style.name!r} is not registered and states no expression; it is kept, "
                "and nobody can price it"
            )
            yield "unknown-style", f"{where}/{style.block}", severity, message
