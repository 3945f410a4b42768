"""Whether everything that a frame count promises is there (``docs/spec/commit.md``, going back after a power loss).

A power loss keeps some of the files written since the last durable commit and not others. A count that arrived without
the length of an index array would show what carries forward in place of the frame that came; the journal's lines say
which lengths and group attributes belong to a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from molrec.errors import FormatError
from molrec.storage.zarr.journal import lines_up_to
from molrec.storage.zarr.sources import Source, read_document

__all__ = ["check_arrival", "groups_made", "rows_made"]


def check_arrival(source: Source, lines: Sequence[dict[str, Any]], nstep: int) -> None:
    """Refuse a frame count whose commits are not all there, by the documents alone.

    Args:
        source: A live record.
        lines: The valid lines of its journal.
        nstep: The frame count found in the record before the journal was read.

    Raises:
        FormatError: The count, a length or a group is not what the journal says (``reject-torn-commit``).
    """
    if not lines or lines[0]["kind"] != "base" or nstep <= lines[0]["nstep"]:
        return
    made = lines_up_to(lines, nstep)
    if not made:
        raise _torn(source, f"no commit of {nstep} frames is in the journal")
    for path, count in rows_made(made).items():
        shape = (read_document(source, path) or {}).get("shape")
        rows = shape[0] if isinstance(shape, list) and shape and type(shape[0]) is int else 0
        if rows < count:
            raise _torn(source, f"{path} has {rows} rows, {nstep} frames have {count}")
    for path, expected in groups_made(made).items():
        document = read_document(source, path)
        # Attributes only ever go: a later commit gives up an elided form, none takes it up.
        attributes = {} if document is None else document.get("attributes", {})
        if document is None or not isinstance(attributes, dict) or not attributes.items() <= expected.items():
            raise _torn(source, f"{path} is not the group of {nstep} frames")


def rows_made(lines: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the length of every array that the commits of a journal extended."""
    return {path: count for line in lines[1:] for path, count in line["rows"].items()}


def groups_made(lines: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the attributes of every group that the commits of a journal changed."""
    return {path: attributes for line in lines[1:] for path, attributes in line["groups"].items()}


def _torn(source: Source, what: str) -> FormatError:
    return FormatError(
        f"{source.name}: trajectory: its last commits were lost in part ({what}); `molrec repair` goes back to the "
        "last frames that are safe",
        "reject-torn-commit",
    )
