"""`ForceField`: styles with their rows, to build, to ask and to store (``docs/spec/forcefield.md``).

The object and the section hold the same: `to_section` and `from_section` undo each other, exactly. What the object has
no word for, unknown keys of the document and tables no style names, it carries along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from molrec.dtypes import Array, numpy_dtype
from molrec.errors import SchemaError
from molrec.model.block import Block
from molrec.model.forcefield_document import (
    CATEGORY_ARITY,
    FORCEFIELD_VERSION,
    SpecialBonds,
    StyleEntry,
    style_block_name,
)
from molrec.model.forcefield_section import (
    ANNOTATION_COLUMNS,
    ENDPOINT_COLUMNS,
    ForceFieldSection,
    endpoint_columns,
)
from molrec.vocabulary import CANONICAL_COLUMNS

__all__ = ["ForceField", "Style", "StyleRow"]

_ENTRY_KEYS = frozenset(("category", "style", "params", "expression", "endpoint_key"))
_DOCUMENT_KEYS = frozenset(("name", "units", "source", "special_bonds", "styles"))
_RULE = "reject-ff-parameter"


class StyleRow(Mapping[str, Any]):
    """One row of a style: its name, its endpoints, and the parameters it has, as a mapping."""

    __slots__ = ("_params", "endpoints", "name")

    def __init__(self, name: str, endpoints: tuple[str, ...], params: dict[str, float | str | int]) -> None:
        self.name = name
        self.endpoints = endpoints
        self._params = params

    def __getitem__(self, key: str) -> float | str | int:
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __repr__(self) -> str:
        ends = "-".join(end or "*" for end in self.endpoints)
        return f"<{self.name}{f' {ends}' if ends else ''}: {self._params}>"


class Style:
    """One functional form of a category, and its rows in the order they were added.

    Made by `ForceField.define_style`.
    """

    def __init__(
        self,
        category: str,
        name: str,
        params: Mapping[str, float | str] | None = None,
        expression: str | None = None,
        endpoint_key: str = "type",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.category = category
        self.name = name
        self.params: dict[str, float | str] = dict(params or {})
        self.expression = expression
        self.endpoint_key = endpoint_key
        #: Keys of the style's entry in the document that the format does not know.
        self.extra: dict[str, Any] = dict(extra or {})
        self._rows: dict[str, StyleRow] = {}
        #: Parameter -> dtype name; a parameter is a number in every row or a string in every row.
        self._dtypes: dict[str, str] = {}
        self._attributes: dict[str, Any] = {}
        #: Columns of a table of another meaning that rows have no word for: more than one value a row.
        self._kept: dict[str, tuple[Array, Array | None]] = {}
        self._arity: int | None = CATEGORY_ARITY.get(category)
        if endpoint_key == "smirks":
            self._arity = 0

    @property
    def block(self) -> str:
        """Name of the style's table in the section."""
        return style_block_name(self.category, self.name)

    def add(self, name: str, endpoints: Sequence[str] = (), **params: float | str | None) -> StyleRow:
        """Add a row.

        Args:
            name: Name of the type, unique within the style.
            endpoints: Names of its endpoints, as many as the category has; ``""`` stands for any.
            **params: Parameters, in the units of the force field; None leaves one out.

        Raises:
            SchemaError: The name is taken (``reject-ff-duplicate-type-name``), another number of endpoints
                (``reject-ff-wrong-arity``), or a parameter that cannot be held (``reject-ff-parameter``).
        """
        ends = (endpoints,) if isinstance(endpoints, str) else tuple(endpoints)
        where = f"style {self.category} {self.name!r}, row {name!r}"
        if not isinstance(name, str) or name in self._rows:
            raise SchemaError(f"{where}: the name is taken; a name is one row", "reject-ff-duplicate-type-name")
        self._check_arity(ends, where)
        row = StyleRow(name, ends, {})
        for key, value in params.items():
            if value is not None:
                row._params[key] = self._checked(key, value, where)
        self._rows[name] = row
        return row

    def _check_arity(self, ends: tuple[str, ...], where: str) -> None:
        if self._arity is None and not self._rows:
            self._arity = len(ends)
        if len(ends) != self._arity or not all(isinstance(end, str) for end in ends):
            raise SchemaError(
                f"{where}: {self._arity} endpoint names are needed, found {list(ends)}", "reject-ff-wrong-arity"
            )

    def _checked(self, key: str, value: Any, where: str) -> float | str | int:
        """Return a parameter at the dtype of its column, which the first row decides."""
        if key == "name" or key in ENDPOINT_COLUMNS:
            raise SchemaError(f"{where}: {key!r} is no name for a parameter; the table has it", _RULE)
        found = _dtype_of(key, value, where)
        stated = self._dtypes.setdefault(key, found)
        if stated != found:
            raise SchemaError(
                f"{where}: the parameter {key!r} is {found} here and {stated} in other rows; make it one of them", _RULE
            )
        return str(value) if found == "string" else (int(value) if found != "f64" else float(value))

    def __getitem__(self, name: str) -> StyleRow:
        try:
            return self._rows[name]
        except KeyError:
            raise KeyError(f"style {self.category} {self.name!r} has no row {name!r}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[StyleRow]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters and annotations of the rows, sorted bytewise."""
        return tuple(sorted(self._dtypes, key=lambda key: key.encode("utf-8")))

    def table(self) -> Block:
        """Return the style's table: names, endpoints, then parameters sorted bytewise; what a row lacks is null."""
        rows = list(self._rows.values())
        table = Block(rows=len(rows))
        table["name"] = _strings(row.name for row in rows)
        for place, column in enumerate(ENDPOINT_COLUMNS[: self._arity or 0]):
            table[column] = _strings(row.endpoints[place] for row in rows)
        for key in self.parameters:
            dtype = self._dtypes[key]
            blank: Any = "" if dtype == "string" else 0
            has = np.array([key in row for row in rows], dtype=np.bool_)
            table[key] = np.array([row.get(key, blank) for row in rows], dtype=numpy_dtype(dtype))
            table.set_validity(key, has)
        for key, (values, mask) in self._kept.items():
            table[key] = values
            table.set_validity(key, mask)
        table.attributes = dict(self._attributes)
        return table

    @classmethod
    def _of_table(cls, entry: StyleEntry, table: Block) -> Style:
        extra = {key: value for key, value in (entry.model_extra or {}).items() if key not in _ENTRY_KEYS}
        style = cls(entry.category, entry.style, entry.params, entry.expression, entry.endpoint_key, extra)
        ends = endpoint_columns(table)
        style._arity = len(ends)
        keys = [key for key in table.columns if key != "name" and key not in ends and table[key].ndim == 1]
        style._kept = {key: (table[key], table.validity(key)) for key in table.columns if table[key].ndim > 1}
        style._dtypes = {key: table.dtype(key) for key in keys}
        style._attributes = dict(table.attributes)
        names = table["name"].tolist()
        endpoints = list(zip(*(table[end].tolist() for end in ends), strict=True)) if ends else [()] * len(names)
        columns = {key: (table[key].tolist(), table.validity(key)) for key in keys}
        for place, name in enumerate(names):
            params = {key: values[place] for key, (values, mask) in columns.items() if mask is None or mask[place]}
            style._rows[name] = StyleRow(name, tuple(endpoints[place]), params)
        return style

    def entry(self) -> dict[str, Any]:
        """Return the style's entry in the document."""
        entry: dict[str, Any] = {"category": self.category, "style": self.name}
        if self.params:
            entry["params"] = dict(self.params)
        if self.expression is not None:
            entry["expression"] = self.expression
        if self.endpoint_key != "type":
            entry["endpoint_key"] = self.endpoint_key
        return entry | self.extra

    def __repr__(self) -> str:
        parameters = ", ".join(self.parameters) or "no parameters"
        return f"<Style {self.category} {self.name!r}: {len(self)} rows of {parameters}>"


class ForceField:
    """Named parameters of a molecular system in stated units.

    Args:
        name: What it is called.
        units: A preset's name, or an object of quantities: ``{"length": "nm", "energy": "kJ/mol", "angle": "radian"}``.
        special_bonds: Weights of near pairs, ``{"lj": (w12, w13, w14), "coul": (...)}``; None states none.
        source: Where it came from: ``format``, ``uri``, ``sha256``.
    """

    def __init__(
        self,
        name: str,
        units: str | Mapping[str, str],
        special_bonds: Mapping[str, Sequence[float]] | None = None,
        source: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.units: dict[str, str] = {"preset": units} if isinstance(units, str) else dict(units)
        self.special_bonds = None if special_bonds is None else _weights(special_bonds)
        self.source: dict[str, Any] | None = None if source is None else dict(source)
        #: Version of the meaning of its numbers, None where the record it comes from states none.
        self.version: tuple[int, int] | None = FORCEFIELD_VERSION
        #: Keys of the document the format does not know.
        self.extra: dict[str, Any] = {}
        #: Tables no style names.
        self.other_tables: dict[str, Block] = {}
        self._styles: dict[tuple[str, str], Style] = {}

    # -- styles -----------------------------------------------------------------------------------------------------

    def define_style(
        self,
        category: str,
        style: str,
        params: Mapping[str, float | str] | None = None,
        expression: str | None = None,
        endpoint_key: str = "type",
    ) -> Style:
        """Define a style and return it, without rows.

        Args:
            category: ``atom``, ``bond``, ``angle``, ``dihedral``, ``improper``, ``pair``, or another word.
            style: Name of the functional form, such as ``harmonic``.
            params: What holds for all rows, such as ``mixing`` or ``cutoff``.
            expression: The energy of one term, for a form that is not registered.
            endpoint_key: What endpoints name: ``type``, ``class``, or ``smirks`` for rows found by pattern.

        Raises:
            SchemaError: The style is there (``reject-ff-duplicate-style``) or a word is out of form
                (``reject-ff-malformed-document``).
        """
        if (category, style) in self._styles:
            raise SchemaError(
                f"force field {self.name!r} has a style {category} {style!r} already", "reject-ff-duplicate-style"
            )
        style_block_name(category, style)
        made = Style(category, style, params, expression, endpoint_key)
        self._styles[category, style] = made
        return made

    @property
    def styles(self) -> tuple[Style, ...]:
        """The styles, in the order they were defined."""
        return tuple(self._styles.values())

    def of_category(self, category: str) -> tuple[Style, ...]:
        """Return the styles of a category, in order."""
        return tuple(style for style in self._styles.values() if style.category == category)

    def style(self, category: str, style: str) -> Style:
        """Return a style.

        Raises:
            KeyError: It is not defined.
        """
        try:
            return self._styles[category, style]
        except KeyError:
            known = ", ".join(f"{one.category} {one.name}" for one in self._styles.values()) or "(none)"
            raise KeyError(f"no style {category} {style!r}; defined are {known}") from None

    # -- the section ------------------------------------------------------------------------------------------------

    def to_section(self) -> ForceFieldSection:
        """Return the section that holds this force field.

        Styles and rows keep their order. A table has the columns ``name``, the endpoints, and the parameters sorted by
        name: numbers as `f64`, texts as `string`, canonical names at their own dtype, null in a row that lacks one.

        Raises:
            SchemaError: It breaks a rule of the format (the ``reject-ff-`` ids).
        """
        document: dict[str, Any] = {"name": self.name, "units": dict(self.units)}
        if self.source is not None:
            document["source"] = dict(self.source)
        if self.special_bonds is not None:
            document["special_bonds"] = {key: list(weights) for key, weights in self.special_bonds.items()}
        document["styles"] = [style.entry() for style in self._styles.values()]
        document |= self.extra
        tables = {style.block: style.table() for style in self._styles.values()}
        tables |= {name: block.copy() for name, block in self.other_tables.items()}
        section = ForceFieldSection(document, tables, self.version)
        section.check(f"force field {self.name!r}")
        return section

    def require_understood(self) -> None:
        """Refuse numbers whose meaning is not the one of this version of the format.

        Raises:
            SchemaError: The record the force field comes from states no version, or another one
                (``reject-ff-other-meaning``).
        """
        if self.version is None or self.version[0] != FORCEFIELD_VERSION[0]:
            stated = "no version" if self.version is None else f"version {self.version[0]}.{self.version[1]}"
            raise SchemaError(
                f"force field {self.name!r} comes from a record that states {stated} of the force-field section; its "
                "constants may be halved, its angles degrees, so it is not priced. If they mean what "
                f"version {FORCEFIELD_VERSION[0]} says, set .version to {FORCEFIELD_VERSION}",
                "reject-ff-other-meaning",
            )

    @classmethod
    def from_section(cls, section: ForceFieldSection) -> ForceField:
        """Return the force field a section holds.

        Raises:
            SchemaError: The section breaks a rule of the format (the ``reject-ff-`` ids).
        """
        checked = section.check()
        document = section.document
        field = cls(document["name"], document["units"], document.get("special_bonds"), document.get("source"))
        field.version = section.version
        field.extra = {key: value for key, value in document.items() if key not in _DOCUMENT_KEYS}
        for entry in checked.styles:
            field._styles[entry.category, entry.style] = Style._of_table(entry, section.tables[entry.block])
        named = {entry.block for entry in checked.styles}
        field.other_tables = {name: block.copy() for name, block in section.tables.items() if name not in named}
        return field

    def __eq__(self, other: object) -> bool:
        """Compare exactly: everything that would be stored, the order of styles and rows included."""
        if not isinstance(other, ForceField):
            return NotImplemented
        return self.to_section() == other.to_section()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        styles = ", ".join(f"{style.category} {style.name}[{len(style)}]" for style in self.styles)
        return f"<ForceField {self.name!r} in {self.units}: {styles or 'no styles'}>"


def _weights(stated: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    try:
        checked = SpecialBonds.model_validate(dict(stated))
    except ValueError as error:
        raise SchemaError(
            f"special_bonds are three weights each for 'lj' and 'coul', found {stated!r}",
            "reject-ff-malformed-document",
        ) from error
    return {"lj": checked.lj, "coul": checked.coul}


def _strings(values: Iterable[str]) -> Any:
    return np.array(list(values), dtype=np.dtypes.StringDType())


def _dtype_of(key: str, value: Any, where: str) -> str:
    """Return the dtype a parameter of this name and value is stored at."""
    canonical = CANONICAL_COLUMNS.get(key)
    if isinstance(value, str):
        found = "string"
    elif isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise SchemaError(f"{where}: the parameter {key!r} is a number or a string, found {value!r}", _RULE)
    else:
        found = "f64" if canonical in (None, "f64", "string") else canonical
    wanted = "string" if key in ANNOTATION_COLUMNS else canonical
    if wanted not in (None, found):
        raise SchemaError(f"{where}: {key!r} is stored as {wanted}, found {value!r}", _RULE)
    if found in ("u64", "i64", "i32") and (value != int(value) or (found == "u64" and value < 0)):
        raise SchemaError(
            f"{where}: {key!r} is a whole number{' from 0' if found == 'u64' else ''}, found {value!r}", _RULE
        )
    return found
