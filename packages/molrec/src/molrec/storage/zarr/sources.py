"""Where a record's bytes come from: a directory, a packed zip, or any Zarr store.

A `Source` answers paths relative to the record root with bytes. Readers above it never know which kind they hold.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
import struct
import zipfile
import zlib
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, override

from molrec import typedjson
from molrec.errors import FormatError
from molrec.storage.zarr.codecs import Buffer

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["DirectorySource", "Source", "StoreSource", "ZipSource", "read_document"]

_MOST_OPEN_FILES = 64
#: Bit of an entry's flags that says that its name is UTF-8.
_UTF8_NAME = 0x800
#: Ranges up to here are read without a look at the size of the file.
_LITTLE = 2**28


class Source(Protocol):
    """Read-only access to the objects of one record."""

    #: What to call the record in messages.
    name: str
    #: Whether a writer may be at work on it, or may have died over it, so that there may be a journal.
    live: bool = False

    def get(self, path: str) -> Buffer | None:
        """Return a whole object, or None when there is none."""

    def get_range(self, path: str, start: int, length: int) -> Buffer | None:
        """Return up to `length` bytes from `start`, fewer at the end of the object; None when there is none."""

    def get_suffix(self, path: str, length: int) -> Buffer | None:
        """Return up to the last `length` bytes, or None."""

    def children(self, path: str) -> list[str]:
        """Return the names directly below a path, sorted; objects and folders alike."""

    def zarr_store(self) -> Store:
        """Return a Zarr store over the same objects, for layouts the row reader leaves to zarr-python."""

    def close(self) -> None:
        """Release files; safe to call twice."""


def read_document(source: Source, path: str) -> dict[str, Any] | None:
    """Return the ``zarr.json`` of a node as an object, or None when the node has none.

    Raises:
        FormatError: Not a JSON object (``reject-malformed-json``).
    """
    raw = source.get(f"{path}/zarr.json" if path else "zarr.json")
    if raw is None:
        return None
    document = typedjson.parse_json(bytes(raw), f"{source.name}: {path or '/'}/zarr.json")
    if not isinstance(document, dict):
        raise FormatError(f"{source.name}: {path or '/'}/zarr.json is not an object", "reject-malformed-json")
    return document


class DirectorySource(Source):
    """A live record: a directory. Ranges are read positionally, never through the whole file."""

    live = True

    def __init__(self, root: Path) -> None:
        self.root = root
        self.name = str(root)
        #: Joining texts takes a tenth of joining paths, and a record has many small files.
        self._prefix = os.path.join(os.fspath(root), "")
        self._files: OrderedDict[str, int] = OrderedDict()

    @override
    def get(self, path: str) -> Buffer | None:
        file = _open_regular(self._prefix + path)
        if file is None:
            return None
        try:
            with open(file, "rb", closefd=False) as opened:
                return opened.read()
        finally:
            os.close(file)

    @override
    def get_range(self, path: str, start: int, length: int) -> Buffer | None:
        file = self._open(path)
        if file is None:
            return None
        if length > _LITTLE or start > _LITTLE:
            # What a damaged index asks for may be more than can be asked for.
            size = os.fstat(file).st_size
            start, length = min(start, size), min(length, size)
        return os.pread(file, length, start)

    @override
    def get_suffix(self, path: str, length: int) -> Buffer | None:
        file = self._open(path)
        if file is None:
            return None
        size = os.fstat(file).st_size
        return os.pread(file, min(length, size), max(0, size - length))

    def _open(self, path: str) -> int | None:
        file = self._files.get(path)
        if file is not None:
            return file
        file = _open_regular(self._prefix + path)
        if file is None:
            return None
        self._files[path] = file
        if len(self._files) > _MOST_OPEN_FILES:
            os.close(self._files.popitem(last=False)[1])
        return file

    @override
    def children(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self._prefix + path))
        except (FileNotFoundError, NotADirectoryError):
            return []

    @override
    def zarr_store(self) -> Store:
        from zarr.storage import LocalStore

        return LocalStore(self.root, read_only=True)

    @override
    def close(self) -> None:
        while self._files:
            os.close(self._files.popitem()[1])

    def __del__(self) -> None:
        self.close()


def _open_regular(path: str) -> int | None:
    """Open a file for reading; None where there is none, or something else, such as a folder or a pipe."""
    try:
        # A pipe would keep a reader waiting for its writer.
        file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        # No file has so long a name, and a socket cannot be opened.
        if error.errno in (errno.ENAMETOOLONG, errno.ENXIO):
            return None
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        return None
    return file


class ZipSource(Source):
    """A packed record: a zip of stored entries, mapped into memory.

    Raises:
        FormatError: Not a readable zip, or one whose entries overlap or are not what its directory says
            (``reject-malformed-zip``), an entry that is compressed or encrypted (``reject-compressed-zip-entry``), or
            an unsafe or repeated name (``reject-zip-entry-name``).
    """

    #: Signature, method, sizes of the name and of the extra field.
    _LOCAL_HEADER = struct.Struct("<4s4xH16xHH")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self._entries: dict[str, zipfile.ZipInfo] = {}
        self._children: dict[str, set[str]] = {"": set()}
        try:
            with path.open("rb") as file:
                with zipfile.ZipFile(file) as archive:
                    for info in archive.infolist():
                        self._add(info)
                    directory = archive.start_dir
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(
                f"{path} is not a readable packed record: {error}; it may be cut short", "reject-malformed-zip"
            ) from error
        self._view = memoryview(self._map)
        self._starts = self._find_contents(directory)

    def _add(self, info: zipfile.ZipInfo) -> None:
        name = info.filename
        if name.endswith("/"):
            return
        parts = name.split("/")
        unsafe = "\\" in name or "\0" in info.orig_filename or any(part in ("", ".", "..") for part in parts)
        if name in self._entries or unsafe:
            raise FormatError(f"{self.path}: unsafe or repeated entry name {name!r}", "reject-zip-entry-name")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1 or info.compress_size != info.file_size:
            raise FormatError(
                f"{self.path}: entry {name!r} is compressed or encrypted; a packed record stores its entries as they "
                "are (pack it again with `molrec pack`)",
                "reject-compressed-zip-entry",
            )
        self._entries[name] = info
        for depth in range(len(parts)):
            self._children.setdefault("/".join(parts[:depth]), set()).add(parts[depth])

    def entries(self) -> list[zipfile.ZipInfo]:
        """Return what the directory says of every entry, in its order."""
        return list(self._entries.values())

    def sizes(self) -> dict[str, int]:
        """Return every entry's name and size."""
        return {name: info.file_size for name, info in self._entries.items()}

    def _find_contents(self, directory: int) -> dict[str, int]:
        """Return where the content of each entry begins; entries lie one after another, before the directory.

        Bytes that belong to several entries would unpack to any multiple of the archive.
        """
        starts: dict[str, int] = {}
        end = 0
        for name, info in sorted(self._entries.items(), key=lambda item: item[1].header_offset):
            if name in self._children:
                raise FormatError(f"{self.path}: {name!r} is an entry and a folder", "reject-zip-entry-name")
            if info.header_offset < end:
                raise FormatError(f"{self.path}: entry {name!r} overlaps another", "reject-malformed-zip")
            starts[name] = self._start_of(name, info)
            end = starts[name] + info.file_size
            if end > directory:
                raise FormatError(
                    f"{self.path}: entry {name!r} of {info.file_size} bytes lies past the end", "reject-malformed-zip"
                )
        return starts

    def _start_of(self, name: str, info: zipfile.ZipInfo) -> int:
        """Return where the content of an entry begins, behind a header that says what the directory says."""
        place = info.header_offset + self._LOCAL_HEADER.size
        if place > len(self._view):
            raise FormatError(f"{self.path}: entry {name!r} lies past the end", "reject-malformed-zip")
        signature, method, name_length, extra_length = self._LOCAL_HEADER.unpack_from(self._view, info.header_offset)
        stated = bytes(self._view[place : place + name_length])
        own = info.orig_filename.encode("utf-8" if info.flag_bits & _UTF8_NAME else "cp437")
        if signature != b"PK\x03\x04" or stated != own or method != zipfile.ZIP_STORED:
            raise FormatError(
                f"{self.path}: the header of entry {name!r} is not what the directory says", "reject-malformed-zip"
            )
        return int(place + name_length + extra_length)

    def _span(self, path: str) -> tuple[int, int] | None:
        info = self._entries.get(path)
        return None if info is None else (self._starts[path], info.file_size)

    @override
    def get(self, path: str) -> Buffer | None:
        span = self._span(path)
        if span is None:
            return None
        content = self._view[span[0] : span[0] + span[1]]
        if zlib.crc32(content) != self._entries[path].CRC:
            raise FormatError(f"{self.path}: entry {path!r} does not match its checksum", "reject-corrupt-chunk")
        return content

    @override
    def get_range(self, path: str, start: int, length: int) -> Buffer | None:
        span = self._span(path)
        if span is None:
            return None
        first = min(start, span[1])
        return self._view[span[0] + first : span[0] + min(span[1], start + length)]

    @override
    def get_suffix(self, path: str, length: int) -> Buffer | None:
        span = self._span(path)
        if span is None:
            return None
        return self._view[span[0] + max(0, span[1] - length) : span[0] + span[1]]

    @override
    def children(self, path: str) -> list[str]:
        return sorted(self._children.get(path, ()))

    @override
    def zarr_store(self) -> Store:
        from zarr.storage import ZipStore

        return ZipStore(self.path, mode="r", read_only=True)

    @override
    def close(self) -> None:
        """Keep the map: arrays handed out look into it, and it goes with the last of them."""


class StoreSource(Source):
    """Any Zarr store: memory, an object store read by range, and so on."""

    def __init__(self, store: Store, name: str | None = None) -> None:
        self._store = store
        self.name = name or str(store)

    def _read(self, path: str, byte_range: Any) -> Buffer | None:
        from zarr.core.buffer import default_buffer_prototype
        from zarr.core.sync import sync

        found = sync(self._store.get(path, default_buffer_prototype(), byte_range))
        return None if found is None else found.to_bytes()

    @override
    def get(self, path: str) -> Buffer | None:
        return self._read(path, None)

    @override
    def get_range(self, path: str, start: int, length: int) -> Buffer | None:
        from zarr.abc.store import RangeByteRequest

        return self._read(path, RangeByteRequest(start, start + length))

    @override
    def get_suffix(self, path: str, length: int) -> Buffer | None:
        from zarr.abc.store import SuffixByteRequest

        return self._read(path, SuffixByteRequest(length))

    @override
    def children(self, path: str) -> list[str]:
        from zarr.core.sync import sync

        async def listing() -> list[str]:
            return [name async for name in self._store.list_dir(path)]

        return sorted(name.rstrip("/").rpartition("/")[2] for name in sync(listing()))

    @override
    def zarr_store(self) -> Store:
        return self._store

    @override
    def close(self) -> None:
        """Leave the store to its owner."""
