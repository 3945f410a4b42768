"""The writer's journal: what is needed to restore a shard index torn while it was rewritten (``docs/spec/commit.md``).

A shard's index is the one thing rewritten in place. Beside it, ``trajectory/.journal`` holds a ``base`` line with the
state after the last durable commit and a ``redo`` line before every later rewrite. A torn index is what lies in place,
emptied past the used slots and overlaid with the recorded entries; the newest candidate whose checksum matches is the
index. This module knows the lines and that rule; the writer decides when to append, the reader when to ask.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.dtypes import Array
from molrec.storage.zarr.codecs import Buffer, checksum

__all__ = [
    "EMPTY_ENTRY",
    "JOURNAL_NAME",
    "ShardState",
    "encode_line",
    "encode_lines",
    "lines_up_to",
    "read_lines",
    "recover_index",
    "shard_states",
]

JOURNAL_NAME = ".journal"
#: Both words of the index entry of a chunk that is not there.
EMPTY_ENTRY = 2**64 - 1


@dataclass(frozen=True, slots=True)
class ShardState:
    """The index of one shard at one commit, as far as a tear can change it.

    `entries` are the (slot, offset, length) that changed; slots from `used` on are empty; `crc` is of the whole index.
    """

    path: str
    used: int
    entries: tuple[tuple[int, int, int], ...]
    crc: int

    def to_json(self) -> list[Any]:
        """Return the state as it stands in a journal line."""
        return [self.path, self.used, [list(entry) for entry in self.entries], self.crc]


def encode_line(kind: str, nstep: int, shards: Sequence[ShardState], **content: Any) -> bytes:
    """Return one journal line: the checksum of the JSON text, the text, a newline.

    Args:
        kind: ``base`` or ``redo``.
        nstep: Frames committed, or about to be.
        shards: States of the shards concerned.
        **content: ``documents`` of a base; ``rows`` and ``groups`` of a redo.
    """
    return encode_lines([{"kind": kind, "nstep": nstep, "shards": [shard.to_json() for shard in shards], **content}])


def encode_lines(lines: Sequence[dict[str, Any]]) -> bytes:
    """Return a journal of the lines `read_lines` gives."""
    texts = [typedjson.dump_json(line).encode() for line in lines]
    return b"".join(b"%08x %s\n" % (checksum(text), text) for text in texts)


def read_lines(raw: Buffer | None) -> list[dict[str, Any]]:
    """Return the valid lines of a journal; a torn or damaged line ends it."""
    lines: list[dict[str, Any]] = []
    for line in bytes(raw or b"").split(b"\n")[:-1]:
        stated, _, text = line.partition(b" ")
        document = _parsed(text) if stated == b"%08x" % checksum(text) else None
        if document is None:
            break
        lines.append(document)
    return lines


def _parsed(text: bytes) -> dict[str, Any] | None:
    """Return a line that is of the form a writer gives it, else None."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("kind") not in ("base", "redo"):
        return None
    shards, nodes = document.get("shards"), "documents" if document["kind"] == "base" else "groups"
    rows = document.get("rows", {})
    whole = (
        _is_count(document.get("nstep"))
        and isinstance(shards, list)
        and all(map(_is_state, shards))
        and isinstance(rows, dict)
        and all(map(_is_count, rows.values()))
        and (document["kind"] == "base" or "rows" in document)
        and isinstance(document.get(nodes), dict)
        and all(isinstance(node, dict) for node in document[nodes].values())
    )
    return document if whole else None


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_state(state: Any) -> bool:
    match state:
        case [str(), used, list(entries), crc]:
            return _is_count(used) and _is_count(crc) and all(map(_is_entry, entries))
    return False


def _is_entry(entry: Any) -> bool:
    """Tell whether this is slot, offset and length; a slot may be emptied."""
    if not isinstance(entry, list) or len(entry) != 3 or not _is_count(entry[0]):
        return False
    return all(type(word) is int and 0 <= word <= EMPTY_ENTRY for word in entry[1:])


def lines_up_to(lines: Sequence[dict[str, Any]], nstep: int) -> list[dict[str, Any]]:
    """Return the base line and the redo lines that led to a frame count; none when no line states it.

    What follows the last line of that count belongs to commits that did not get through.
    """
    stating = [number for number, line in enumerate(lines) if line["nstep"] == nstep]
    return list(lines[: stating[-1] + 1]) if stating else []


def shard_states(lines: Sequence[dict[str, Any]], path: str) -> list[ShardState]:
    """Return the states of one shard, oldest first."""
    return [
        ShardState(path, used, tuple((slot, offset, length) for slot, offset, length in entries), crc)
        for line in lines
        for shard_path, used, entries, crc in line["shards"]
        if shard_path == path
    ]


def recover_index(in_place: Buffer, chunks: int, states: Sequence[ShardState]) -> Array | None:
    """Return the newest index ``(chunks, 2)`` of u64 the journal can prove, or None.

    Args:
        in_place: The bytes where the index lies; short bytes count as empty slots.
        chunks: Slots of the index.
        states: The shard's states, oldest first, the first of them `base`.
    """
    size = 16 * chunks
    torn = bytes(in_place[:size]).ljust(size, b"\xff")
    for newest in range(len(states) - 1, -1, -1):
        index = np.frombuffer(torn, dtype="<u8").reshape(chunks, 2).copy()
        index[states[newest].used :] = EMPTY_ENTRY
        for state in states[: newest + 1]:
            for slot, offset, length in state.entries:
                if slot < chunks:
                    index[slot] = (offset, length)
        if checksum(index.tobytes()) == states[newest].crc:
            return index
    return None
