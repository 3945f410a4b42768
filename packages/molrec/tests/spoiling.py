"""Edits behind the library's back that make a good record a bad one, and the check that it is refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import molrec as mr

from .interop import tamper
from .refusals import read_everything, refused, untouched

type Edit = dict[str, Any]

GROUP = '{"zarr_format": 3, "node_type": "group", "attributes": {}}'


@dataclass(frozen=True, slots=True)
class BadStore:
    """Edits that spoil a good store, the rules they break (one may be named), and what the message must mention."""

    rule: str
    mentions: tuple[str, ...]
    edits: tuple[Edit, ...]

    def spoil(self, root: Path) -> None:
        """Make the edits."""
        tamper.apply(root, [_sized(root, edit) for edit in self.edits])

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


def _sized(root: Path, edit: Edit) -> Edit:
    """Return an edit whose negative byte count is taken from the end of the file."""
    if edit["op"] != "truncate" or edit["bytes"] >= 0:
        return edit
    return {**edit, "bytes": (root / edit["path"]).stat().st_size + edit["bytes"]}


def put(path: str, pointer: str, value: Any) -> Edit:
    """Set a value in a JSON file."""
    return {"op": "json_set", "path": path, "pointer": pointer, "value": value}


def field(node: str, pointer: str, value: Any) -> Edit:
    """Set a value in the document of a node."""
    return put(f"{node}/zarr.json", pointer, value)


def attribute(node: str, name: str, value: Any) -> Edit:
    """Set an attribute of a node."""
    return field(node, f"/attributes/{name}", value)


def drop(node: str, name: str) -> Edit:
    """Remove an attribute of a node."""
    return {"op": "json_remove", "path": f"{node}/zarr.json", "pointer": f"/attributes/{name}"}


def delete(path: str) -> Edit:
    """Remove a file or a folder."""
    return {"op": "delete", "path": path}


def array(path: str, dtype: str, values: Any, attributes: dict[str, Any] | None = None, codec: str = "zstd") -> Edit:
    """Put another array in place of one, written by zarr-python."""
    found = np.array(values, dtype=np.dtypes.StringDType() if dtype == "string" else dtype)
    edit = {"op": "array", "path": path, "dtype": dtype, "shape": list(found.shape), "values": found, "codec": codec}
    return {**edit, "attributes": attributes or {}}


def text(path: str, content: str) -> Edit:
    """Write a file."""
    return {"op": "write_text", "path": path, "text": content}


def truncate(path: str, length: int) -> Edit:
    """Cut a file to a length, or by a negative one."""
    return {"op": "truncate", "path": path, "bytes": length}
