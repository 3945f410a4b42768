"""The ``forcefield`` section: a document and one table for each style, held together (``docs/spec/forcefield.md``).

A section is what lies in a record, verbatim. `ForceField` is the same as an object to build and to ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.errors import SchemaError
from molrec.model.block import Block
from molrec.model.forcefield_document import FORCEFIELD_VERSION, ForceFieldDocument, StyleEntry, read_document
from molrec.vocabulary import CANONICAL_COLUMNS

__all__ = ["ANNOTATION_COLUMNS", "ENDPOINT_COLUMNS", "ForceFieldSection", "endpoint_columns"]

#: Endpoint columns of a table, in order of position.
ENDPOINT_COLUMNS: tuple[str, ...] = ("itom", "jtom", "ktom", "ltom")
#: Columns that say something about a row and are no parameters: strings, nullable.
ANNOTATION_COLUMNS = frozenset(("class", "element", "smarts", "smirks", "overrides", "desc", "doi"))


@dataclass(slots=True)
class ForceFieldSection:
    """A force field as a record holds it.

    Attributes:
        document: The document, a JSON object; keys nobody knows included.
        tables: Block name (`style_block_name`) to the style's table; tables no style names are kept.
        version: Version of the meaning of its numbers, None where the record states none; no part of its content.
    """

    document: dict[str, Any]
    tables: dict[str, Block] = field(default_factory=dict)
    version: tuple[int, int] | None = FORCEFIELD_VERSION

    @property
    def is_understood(self) -> bool:
        """Whether its numbers are known to mean what this version of the format says."""
        return self.version is not None and self.version[0] == FORCEFIELD_VERSION[0]

    def check(self, where: str = "forcefield") -> ForceFieldDocument:
        """Hold document and tables against the rules; return the document as a model.

        Of a section of another meaning no more is asked than that it can be shown.

        Raises:
            SchemaError: The rule broken is one of the ``reject-ff-`` ids of ``docs/spec/forcefield.md``.
        """
        stated = typedjson.coerce("json", self.document, where)
        document = read_document(stated, where, other_meaning=not self.is_understood)
        seen: set[tuple[str, str]] = set()
        for style in document.styles:
            if (style.category, style.style) in seen:
                raise SchemaError(
                    f"{where}: the style {style.category} {style.style!r} is listed twice; it has one table",
                    "reject-ff-duplicate-style",
                )
            seen.add((style.category, style.style))
            if style.block not in self.tables:
                raise SchemaError(
                    f"{where}: the style {style.category} {style.style!r} has no table {style.block!r}; give "
                    "one, without rows if parameters stand with the instances",
                    "reject-ff-missing-table",
                )
            if self.is_understood:
                _check_table(style, self.tables[style.block], f"{where}/{style.block}")
            else:
                _check_names(self.tables[style.block], f"{where}/{style.block}")
        self._check_classes(document, where)
        return document

    def _check_classes(self, document: ForceFieldDocument, where: str) -> None:
        by_class = [style.block for style in document.styles if style.endpoint_key == "class"]
        for style in document.styles:
            if by_class and style.category == "atom" and "class" not in self.tables[style.block]:
                raise SchemaError(
                    f"{where}/{style.block} has no column 'class', which the endpoints of {by_class[0]} are given by",
                    "reject-ff-class-key-without-class",
                )

    def __eq__(self, other: object) -> bool:
        """Compare exactly; the order of styles counts, that of tables and columns does not."""
        if not isinstance(other, ForceFieldSection):
            return NotImplemented
        return self.document == other.document and self.tables == other.tables

    __hash__ = None  # type: ignore[assignment]


def endpoint_columns(columns: Mapping[str, Any] | Block) -> tuple[str, ...]:
    """Return the endpoint columns a table has, in order of position."""
    return tuple(name for name in ENDPOINT_COLUMNS if name in columns)


def _check_table(style: StyleEntry, table: Block, where: str) -> None:
    if table.structural_shape is not None:
        raise SchemaError(f"{where}: a style table is no grid", "reject-ff-param-dtype")
    _check_names(table, where)
    _check_endpoints(style, table, where)
    for column in table.columns:
        if column == "name" or column in ENDPOINT_COLUMNS:
            continue
        _check_parameter(table, column, where)


def _check_names(table: Block, where: str) -> None:
    if "name" not in table or table.dtype("name") != "string" or table.validity("name") is not None:
        raise SchemaError(
            f"{where}: every row has a name, in a string column 'name' without nulls", "reject-ff-null-name"
        )
    names, times = np.unique(table["name"].astype(object), return_counts=True)
    if (times > 1).any():
        raise SchemaError(
            f"{where}: two rows bear the name {names[times > 1][0]!r}; a name is one row of its table",
            "reject-ff-duplicate-type-name",
        )


def _check_endpoints(style: StyleEntry, table: Block, where: str) -> None:
    found = endpoint_columns(table)
    if style.endpoint_key == "smirks":
        if found or "smirks" not in table or table.validity("smirks") is not None:
            raise SchemaError(
                f"{where}: rows found by SMIRKS have a column 'smirks' without nulls and no endpoint columns",
                "reject-ff-wrong-arity",
            )
        return
    arity = style.arity
    wanted = ENDPOINT_COLUMNS[: len(found) if arity is None else arity]
    if found != wanted:
        raise SchemaError(
            f"{where}: a row of the category {style.category!r} has the endpoints {', '.join(wanted) or '(none)'}, "
            f"the table has {', '.join(found) or '(none)'}",
            "reject-ff-wrong-arity",
        )
    for column in found:
        if table.dtype(column) != "string" or table.validity(column) is not None or table[column].ndim != 1:
            raise SchemaError(
                f'{where}: the endpoint column {column!r} holds names, "" for any, and no nulls',
                "reject-ff-wrong-arity",
            )


def _check_parameter(table: Block, column: str, where: str) -> None:
    dtype = table.dtype(column)
    allowed = {"string"} if column in ANNOTATION_COLUMNS else {"f64", "string", CANONICAL_COLUMNS.get(column, "f64")}
    if dtype not in allowed or table[column].ndim != 1 or table.precision(column) is not None:
        raise SchemaError(
            f"{where}: column {column!r} is {dtype} of shape {list(table[column].shape)}"
            + (", with a precision" if table.precision(column) is not None else "")
            + f"; it holds one {' or '.join(sorted(allowed))} for each row, exactly",
            "reject-ff-param-dtype",
        )
