"""Archives put together byte by byte, so that their parts may contradict each other (and APPNOTE's rules)."""

from __future__ import annotations

import dataclasses
import random
import struct
import zlib
from collections.abc import Callable

from .record_mutations import Files, damage_bytes

_UTF8, _ENCRYPTED, _STREAMED = 0x800, 0x1, 0x8
_SYMLINK = 0o120777 << 16
_FAR = 0xFFFFFFFF


@dataclasses.dataclass
class Entry:
    """One entry: what its local header and what the directory say may differ."""

    name: bytes
    content: bytes
    local_name: bytes | None = None
    method: int = 0
    flags: int = _UTF8
    crc: int | None = None
    size: int | None = None
    stored: int | None = None
    offset: int | None = None
    #: Sizes and offset go into a ZIP64 field, each as given.
    wide: tuple[int, int, int] | None = None
    mode: int = 0o644 << 16
    extra: bytes = b""


def build(entries: list[Entry], *, tail: bytes = b"", count: int | None = None, directory_shift: int = 0) -> bytes:
    """Return an archive of these entries.

    Args:
        entries: In order.
        tail: What follows the end record.
        count: Number of entries the end record states.
        directory_shift: By how much the stated place of the directory is wrong.
    """
    pieces: list[bytes] = []
    directory: list[bytes] = []
    place = 0
    for entry in entries:
        crc = zlib.crc32(entry.content) if entry.crc is None else entry.crc
        size = len(entry.content) if entry.size is None else entry.size
        stored = len(entry.content) if entry.stored is None else entry.stored
        name = entry.name if entry.local_name is None else entry.local_name
        offset = place if entry.offset is None else entry.offset
        head = struct.pack(
            "<4sHHHHHIIIHH", b"PK\3\4", 20, entry.flags, entry.method, 0, 33, crc & _FAR, min(stored, _FAR),
            min(size, _FAR), len(name), len(entry.extra),
        )  # fmt: skip
        pieces.append(head + name + entry.extra + entry.content)
        place += len(pieces[-1])
        extra = entry.extra
        if entry.wide is not None:
            extra += struct.pack("<HHQQQ", 1, 24, *entry.wide)
            size = stored = offset = _FAR
        record = struct.pack(
            "<4sHHHHHHIIIHHHHHII", b"PK\1\2", 3 << 8 | 20, 20, entry.flags, entry.method, 0, 33, crc & _FAR,
            min(stored, _FAR), min(size, _FAR), len(entry.name), len(extra), 0, 0, 0, entry.mode, min(offset, _FAR),
        )  # fmt: skip
        directory.append(record + entry.name + extra)
    body = b"".join(directory)
    number = min(0xFFFF, len(entries) if count is None else count)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, number, number, len(body), max(0, place + directory_shift), 0)
    return b"".join(pieces) + body + end + tail


def pack_files(files: Files) -> bytes:
    """Return a sound archive of files."""
    return build([Entry(name.encode(), content) for name, content in sorted(files.items())])


def hostile(files: Files, rng: random.Random) -> tuple[str, bytes]:
    """Return the kind of trick and an archive of these files that plays it."""
    entries = [Entry(name.encode(), content) for name, content in sorted(files.items())]
    kind, trick = rng.choice(_TRICKS)
    made = trick(entries, rng)
    return kind, build(entries) if made is None else made


def _some(entries: list[Entry], rng: random.Random) -> Entry:
    return rng.choice(entries)


def _claims(entries: list[Entry], rng: random.Random) -> None:
    entry = _some(entries, rng)
    entry.size = rng.choice((0, 1, 2**30, 2**31, 2**32 - 2, len(entry.content) + 1))
    entry.stored = rng.choice((entry.size, len(entry.content), 2**31))


def _wide(entries: list[Entry], rng: random.Random) -> None:
    entry = _some(entries, rng)
    sizes = (0, 1, len(entry.content), 2**40, 2**62, 2**63, 2**64 - 1)
    size = rng.choice(sizes)
    entry.wide = (size, rng.choice((size, size, *sizes)), rng.choice((0, 1, 10**6, 2**40, 2**63, 2**64 - 1)))


def _deflated(entries: list[Entry], rng: random.Random) -> None:
    entry = _some(entries, rng)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = bytes(2_000_000)
    entry.size, entry.crc = len(bomb), zlib.crc32(bomb)
    entry.content = packer.compress(bomb) + packer.flush()
    entry.method = rng.choice((8, 8, 9, 12, 14, 93, 99, 0))


def _overlapping(entries: list[Entry], rng: random.Random) -> None:
    """Let many entries share the bytes of one."""
    first = entries[0]
    for number in range(rng.choice((1, 5, 400))):
        entries.append(
            Entry(b"bomb/%d" % number, b"", size=len(first.content), crc=zlib.crc32(first.content), offset=0)
        )
        entries[-1].stored = entries[-1].size
        entries[-1].local_name = rng.choice((None, first.name))


def _enclosing(entries: list[Entry], rng: random.Random) -> None:
    """Let an entry hold the headers of those behind it, as archives that contain themselves do."""
    place = rng.randrange(len(entries))
    inside = sum(30 + len(other.name) + len(other.content) for other in entries[place + 1 :])
    entries[place].size = entries[place].stored = len(entries[place].content) + inside


def _name(entries: list[Entry], rng: random.Random) -> None:
    entry = _some(entries, rng)
    own = entry.name
    entry.name = rng.choice(
        (b"../" + own, b"/" + own, b"../../../../../../tmp/molrec-escape", b"/tmp/molrec-escape", b"a/../../" + own,
         own.replace(b"/", b"\\"), b"C:\\molrec-escape", b"C:/molrec-escape", b"..\\..\\molrec-escape", b"./" + own,
         b"", b"meta//zarr.json", b"..", b".", b"/", b"meta/\0zarr.json", own + b"\0x", b"n" * 300, b"d/" * 200 + b"x",
         own + b"/x", own.rpartition(b"/")[0] or b"x", b"\xff\xfe" + own, own.upper(), b"aux.txt ", own + b"/")
    )  # fmt: skip
    entry.flags = rng.choice((_UTF8, _UTF8, 0))
    if rng.random() < 0.3:
        entry.local_name = own


def _repeated(entries: list[Entry], rng: random.Random) -> None:
    entry = _some(entries, rng)
    content = rng.choice((entry.content, b"{}", b""))
    entries.insert(rng.randrange(len(entries) + 1), Entry(rng.choice((entry.name, entry.name.upper())), content))


def _symlink(entries: list[Entry], rng: random.Random) -> None:
    entries.insert(0, Entry(rng.choice((b"link", b"meta", b"frame")), b"/tmp", mode=_SYMLINK))
    entries.append(Entry(b"link/molrec-escape", b"x"))
    if rng.random() < 0.5:
        _some(entries, rng).mode = _SYMLINK


def _crc(entries: list[Entry], rng: random.Random) -> None:
    entry = _some(entries, rng)
    entry.crc = zlib.crc32(entry.content) ^ rng.choice((1, 0xFFFFFFFF, 0x80000000))


def _disagreeing(entries: list[Entry], rng: random.Random) -> None:
    one, other = _some(entries, rng), _some(entries, rng)
    choice = rng.randrange(3)
    if choice == 0:
        one.local_name, other.local_name = other.name, one.name
    elif choice == 1:
        one.local_name = rng.choice((b"", b"../x", b"x" * len(one.name), one.name + b"x"))
    else:
        one.offset = rng.choice((0, 1, 30, 2**31, 2**32 - 2))


def _encrypted(entries: list[Entry], rng: random.Random) -> None:
    for entry in entries if rng.random() < 0.3 else [_some(entries, rng)]:
        entry.flags |= rng.choice((_ENCRYPTED, _STREAMED, 0x2000, 0x40, _ENCRYPTED | _STREAMED))


def _extra(entries: list[Entry], rng: random.Random) -> None:
    _some(entries, rng).extra = rng.choice(
        (b"\1\0", b"\1\0\x10\0" + bytes(4), b"\1\0\xff\xff", rng.randbytes(20), struct.pack("<HH", 0x7075, 0))
    )


def _directory(entries: list[Entry], rng: random.Random) -> bytes:
    return build(
        entries,
        tail=rng.choice((b"", b"garbage", bytes(70_000), b"PK\5\6" + bytes(18), rng.randbytes(22))),
        count=rng.choice((None, 0, 1, 0xFFFF, len(entries) + 1)),
        directory_shift=rng.choice((0, 0, 1, -1, -50, 10**6, -(10**6))),
    )


def _prefixed(entries: list[Entry], rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice((1, 20, 1000))) + build(entries)


def _bytes(entries: list[Entry], rng: random.Random) -> bytes:
    return damage_bytes(build(entries), rng)


def _tail_bytes(entries: list[Entry], rng: random.Random) -> bytes:
    """Damage the directory."""
    whole = build(entries)
    start = whole.rindex(b"PK\5\6") - rng.choice((0, 100, 1000))
    return whole[: max(0, start)] + damage_bytes(whole[max(0, start) :], rng)


_TRICKS: tuple[tuple[str, Callable[[list[Entry], random.Random], bytes | None]], ...] = (
    ("sizes claimed", _claims),
    ("ZIP64 sizes claimed", _wide),
    ("entries compressed", _deflated),
    ("entries overlapping", _overlapping),
    ("entries enclosing others", _enclosing),
    ("entry names", _name),
    ("entry names", _name),
    ("entries repeated", _repeated),
    ("symbolic links", _symlink),
    ("CRC-32 wrong", _crc),
    ("headers disagreeing", _disagreeing),
    ("entries encrypted or streamed", _encrypted),
    ("extra fields", _extra),
    ("directory misplaced", _directory),
    ("something in front", _prefixed),
    ("archive bytes", _bytes),
    ("archive bytes", _bytes),
    ("directory bytes", _tail_bytes),
)
#: Tricks after which whatever still reads reads as before.
COVERED = frozenset(("archive bytes", "CRC-32 wrong", "sizes claimed", "headers disagreeing", "something in front"))
