"""Edits behind the library's back that make a good record a bad one, and the check that it is refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import molrec as mr
from molrec.conformance import tamper
from molrec.conformance.tamper import Edit, array, attribute, delete, drop, field, put, text, truncate

from .refusals import read_everything, refused, untouched

__all__ = [
    "GROUP",
    "BadStore",
    "Edit",
    "array",
    "attribute",
    "bad",
    "delete",
    "drop",
    "each",
    "field",
    "put",
    "text",
    "truncate",
]

GROUP = '{"zarr_format": 3, "node_type": "group", "attributes": {}}'


@dataclass(frozen=True, slots=True)
class BadStore:
    """Edits that spoil a good store, the rules they break (one may be named), and what the message must mention."""

    rule: str
    mentions: tuple[str, ...]
    edits: tuple[Edit, ...]

    def spoil(self, root: Path) -> None:
        """Make the edits."""
        tamper.apply(root, self.edits)

    def check_refused(self, root: Path) -> None:
        """Expect the spoilt store to be refused by a reader, reported by a validator, and changed by neither."""
        with untouched(root):
            with refused(self.rule, *self.mentions, kind=mr.FormatError):
                read_everything(root)
            found = {finding.rule for finding in mr.validate(root) if finding.severity == "error"}
            assert found & set(self.rule.split("|")), found


def bad(rule: str, mentions: str, *edits: Edit) -> BadStore:
    """Return a bad store; `mentions` are words of the message."""
    return BadStore(rule, tuple(mentions.split()), edits)


def each(what: str, rule: str, mentions: str, node: str, name: str, values: list[Any]) -> dict[str, BadStore]:
    """Return a bad store for each value an attribute may not have."""
    return {f"{what} {value!r}": bad(rule, mentions, attribute(node, name, value)) for value in values}
