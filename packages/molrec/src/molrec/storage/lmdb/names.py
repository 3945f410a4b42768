"""The keys of a collection's file and the words of its `meta` document (``docs/spec/lmdb.md``, keys)."""

from __future__ import annotations

__all__ = [
    "COLLECTION",
    "FORCEFIELD",
    "INDEX",
    "INDEX_BLOCK",
    "LAYOUT",
    "LAYOUT_NAME",
    "LAYOUT_VERSION",
    "META",
    "N_FRAMES",
    "N_RECORDS",
    "SEQUENCE_SCHEMA",
    "VERSION",
    "frame_key",
    "meta_key",
    "system_key",
]

META = b"meta"
INDEX = b"index"
FORCEFIELD = b"ff"

LAYOUT, LAYOUT_NAME = "layout", "mrec-lmdb"
VERSION, LAYOUT_VERSION = "layout_version", 1
COLLECTION = "collection"
SEQUENCE_SCHEMA = "sequence_schema"
N_RECORDS, N_FRAMES = "n_records", "n_frames"
#: The one block of the index.
INDEX_BLOCK = "records"


def frame_key(ordinal: int) -> bytes:
    """Return the key of a frame by its ordinal among all frames of the collection."""
    return b"f" + ordinal.to_bytes(8, "big")


def meta_key(record: int) -> bytes:
    """Return the key of a record's meta document."""
    return b"r" + record.to_bytes(8, "big")


def system_key(record: int) -> bytes:
    """Return the key of a record's system."""
    return b"s" + record.to_bytes(8, "big")
