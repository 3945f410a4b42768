"""Names a record may give to blocks, columns and sections, and the few it keeps for itself.

The rules come from the store (a name is a folder) and from the layout (``docs/spec/frame.md`` and
``docs/spec/trajectory.md``, reserved names). Knows nothing of files.
"""

from __future__ import annotations

from molrec.errors import SchemaError

__all__ = [
    "FRAME_RESERVED_BLOCKS",
    "LONGEST_NAME",
    "META_TYPES",
    "RESERVED_COLUMNS",
    "SERIES_RESERVED_BLOCKS",
    "SERIES_RESERVED_COLUMNS",
    "STORE_NAMES",
    "check_name",
    "check_reserved",
]

#: The attribute beside a frame's meta document that maps each key to its tag.
META_TYPES = "_meta_types"

FRAME_RESERVED_BLOCKS = frozenset({"box"})
RESERVED_COLUMNS = frozenset({"_validity"})
SERIES_RESERVED_BLOCKS = frozenset({"step", "time", "meta", "box", ".journal"})
SERIES_RESERVED_COLUMNS = frozenset({"offset", "step_index", "_validity"})

#: Bytes of UTF-8.
LONGEST_NAME = 255
#: Names the store itself uses.
STORE_NAMES = frozenset({"zarr.json", ".zarr.json.tmp"})


def check_name(name: object, where: str) -> str:
    """Return `name` when it can name a node of a record.

    Raises:
        SchemaError: Empty, not a string, contains ``/``, a backslash or NUL, consists of periods, is
            ``zarr.json`` or another name the store uses, starts with ``__``, is not Unicode, or is longer than 255
            bytes (``reject-bad-name``).
    """
    if not isinstance(name, str):
        raise SchemaError(f"{where}: a name is a string, found {name!r}", "reject-bad-name")
    reason = None
    try:
        encoded = name.encode("utf-8")
    except UnicodeEncodeError:
        encoded, reason = b"", "is not valid Unicode"
    if reason is None and (not name.strip(".") or name in STORE_NAMES or name.startswith("__")):
        reason = "is reserved by the store"
    elif any(character in name for character in "/\\\0"):
        reason = "contains '/', a backslash or NUL"
    elif len(encoded) > LONGEST_NAME:
        reason = f"is longer than {LONGEST_NAME} bytes"
    if reason is not None:
        raise SchemaError(f"{where}: the name {name!r} {reason}; choose another", "reject-bad-name")
    return name


def check_reserved(name: str, reserved: frozenset[str], where: str) -> None:
    """Refuse a name the layout keeps for itself.

    Raises:
        SchemaError: The name is in `reserved` (``reject-reserved-name``).
    """
    if name in reserved:
        raise SchemaError(
            f"{where}: {name!r} is reserved by the record layout (reserved here: {', '.join(sorted(reserved))})",
            "reject-reserved-name",
        )
