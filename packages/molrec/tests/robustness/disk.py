"""A disk that can lose power: what a program did to a folder, and what of it may be there after the lights went out.

`DiskRecorder` remembers every operation below a folder. A `Disk` replays them up to a moment and then keeps what was
synchronized (a file's bytes by fsync of the file, a folder's entries by fsync of the folder) and any subset of the
rest: single sectors of writes, single renames. This is more than a real file system loses, and nothing less than what
it may.
"""

from __future__ import annotations

import dataclasses
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .syscalls import Interposer

__all__ = ["DiskRecorder", "File", "Folder"]

SECTOR = 512


class File:
    """A file, known by identity; its name may change."""

    def __init__(self, content: bytes = b"") -> None:
        #: Content when the recording began.
        self.content = content


class Folder:
    """A folder: the entries a running program sees, and those that were there when the recording began."""

    def __init__(self) -> None:
        self.entries: dict[str, File | Folder] = {}
        self.content: dict[str, File | Folder] = {}


@dataclasses.dataclass(frozen=True)
class _Change:
    """One change of a folder, in one step: names that lead somewhere else now, or nowhere."""

    folder: Folder
    names: dict[str, File | Folder | None]


@dataclasses.dataclass(frozen=True)
class _Write:
    file: File
    offset: int
    data: bytes


@dataclasses.dataclass(frozen=True)
class _Truncation:
    file: File
    size: int


@dataclasses.dataclass(frozen=True)
class _Sync:
    node: File | Folder


@dataclasses.dataclass(frozen=True)
class _Pause:
    """So much time that everything reached the device by itself."""


type _Operation = _Pause | _Change | _Write | _Truncation | _Sync


class DiskRecorder(Interposer):
    """Records the operations below a folder. What the folder holds when the recording begins counts as safe.

    Args:
        root: Folder to watch.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.log: list[_Operation] = []
        self.top = _adopt(root)
        self._opened: dict[int, File | Folder] = {}

    def pause(self) -> None:
        """Let so much time pass that everything done so far is safe."""
        self.log.append(_Pause())

    def on_call(self, name: str, places: list[str], args: tuple[Any, ...], real: Callable[[], Any]) -> Any:
        handler = getattr(self, f"_{name}", None)
        if handler is None:
            if name != "close":
                raise NotImplementedError(name)
            return real()
        paths = [Path(place) for place in places]
        before = self._find(paths[0])
        result = real()
        handler(before, paths, args, result)
        return result

    def _find(self, path: Path) -> File | Folder | None:
        node: File | Folder | None = self.top
        for part in path.relative_to(self.root).parts:
            node = node.entries.get(part) if isinstance(node, Folder) else None
        return node

    def _change(self, folder: Path, names: dict[str, File | Folder | None]) -> None:
        node = self._find(folder)
        assert isinstance(node, Folder)
        for name, target in names.items():
            if target is None:
                del node.entries[name]
            else:
                node.entries[name] = target
        self.log.append(_Change(node, names))

    # -- one method per call, by its name ---------------------------------------------------------------------------

    def _open(self, before: File | Folder | None, places: list[Path], args: tuple[Any, ...], result: int) -> None:
        if before is None:
            before = File()
            self._change(places[0].parent, {places[0].name: before})
        elif args[1] & os.O_TRUNC:
            assert isinstance(before, File)
            self.log.append(_Truncation(before, 0))
        self._opened[result] = before

    def _write(self, _: object, __: object, args: tuple[Any, ...], result: int) -> None:
        end = os.lseek(args[0], 0, os.SEEK_CUR)
        self._pwrite(None, None, (args[0], args[1], end - result), result)

    def _pwrite(self, _: object, __: object, args: tuple[Any, ...], result: int) -> None:
        file = self._opened[args[0]]
        assert isinstance(file, File)
        self.log.append(_Write(file, args[2], bytes(args[1])[:result]))

    def _ftruncate(self, _: object, __: object, args: tuple[Any, ...], ___: object) -> None:
        file = self._opened[args[0]]
        assert isinstance(file, File)
        self.log.append(_Truncation(file, args[1]))

    def _fsync(self, _: object, __: object, args: tuple[Any, ...], ___: object) -> None:
        self.log.append(_Sync(self._opened[args[0]]))

    _fdatasync = _fsync

    def _replace(self, before: File | Folder | None, places: list[Path], _: object, __: object) -> None:
        source, target = places
        if source.parent == target.parent:
            self._change(source.parent, {source.name: None, target.name: before})
        else:
            self._change(target.parent, {target.name: before})
            self._change(source.parent, {source.name: None})

    _rename = _replace

    def _unlink(self, _: object, places: list[Path], __: object, ___: object) -> None:
        self._change(places[0].parent, {places[0].name: None})

    _rmdir = _remove = _unlink

    def _mkdir(self, _: object, places: list[Path], __: object, ___: object) -> None:
        self._change(places[0].parent, {places[0].name: Folder()})

    # -- the lights go out ------------------------------------------------------------------------------------------

    def lose_power(self, moment: int, target: Path, rng: random.Random) -> None:
        """Write what may be left after the first `moment` operations into a new folder."""
        disk = _Disk(rng)
        for operation in self.log[:moment]:
            disk.do(operation)
        disk.write_out(self.top, target)


def _adopt(path: Path) -> Folder:
    folder = Folder()
    for entry in path.iterdir():
        folder.entries[entry.name] = _adopt(entry) if entry.is_dir() else File(entry.read_bytes())
    folder.content = dict(folder.entries)
    return folder


class _Disk:
    """What is on the device for certain, and what is on its way there."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._files: dict[File, bytearray] = {}
        self._folders: dict[Folder, dict[str, File | Folder]] = {}
        self._waiting: dict[File | Folder, list[_Operation]] = {}
        self._mood = rng.choice(("mixed", "names first", "bytes first", "nearly all", "all but one", "all but one"))

    def do(self, operation: _Operation) -> None:
        if isinstance(operation, _Pause):
            for pending in self._waiting.values():
                for waiting in pending:
                    self._land(waiting)
            self._waiting = {}
        elif isinstance(operation, _Sync):
            for waiting in self._waiting.pop(operation.node, []):
                self._land(waiting)
        else:
            node = operation.folder if isinstance(operation, _Change) else operation.file
            self._waiting.setdefault(node, []).append(operation)

    def _land(self, operation: _Operation) -> None:
        if isinstance(operation, _Change):
            entries = self._entries(operation.folder)
            for name, node in operation.names.items():
                if node is None:
                    entries.pop(name, None)
                else:
                    entries[name] = node
        elif isinstance(operation, _Write):
            content = self._content(operation.file)
            end = operation.offset + len(operation.data)
            content.extend(bytes(max(0, end - len(content))))
            content[operation.offset : end] = operation.data
        elif isinstance(operation, _Truncation):
            content = self._content(operation.file)
            del content[operation.size :]
            content.extend(bytes(operation.size - len(content)))

    def _entries(self, folder: Folder) -> dict[str, File | Folder]:
        return self._folders.setdefault(folder, dict(folder.content))

    def _content(self, file: File) -> bytearray:
        return self._files.setdefault(file, bytearray(file.content))

    def write_out(self, top: Folder, target: Path) -> None:
        """Let some of what waits land, and write the rest of the story to a real folder."""
        lost = self._rng.choice(list(self._waiting) or [None])
        for node, waiting in self._waiting.items():
            chance = float(node is not lost) if self._mood == "all but one" else self._chance(node)
            for operation in waiting:
                for piece in _pieces(operation):
                    if self._rng.random() < chance:
                        self._land(piece)
        self._write_folder(top, target)

    def _chance(self, node: File | Folder) -> float:
        """Return how likely it is that what waits for a node has landed, in part or in whole."""
        if self._mood == "names first":
            return 1.0 if isinstance(node, Folder) else self._rng.choice((0.0, 0.0, 0.5))
        if self._mood == "bytes first":
            return 1.0 if isinstance(node, File) else self._rng.choice((0.0, 0.0, 0.5))
        if self._mood == "nearly all":
            return 0.97
        return self._rng.choice((0.0, 0.5, 0.9, 1.0))

    def _write_folder(self, folder: Folder, target: Path) -> None:
        target.mkdir()
        for name, node in self._entries(folder).items():
            if isinstance(node, Folder):
                self._write_folder(node, target / name)
            else:
                (target / name).write_bytes(self._content(node))


def _pieces(operation: _Operation) -> Iterator[_Operation]:
    """Cut a write where sectors end; each piece lands or not."""
    if not isinstance(operation, _Write):
        yield operation
        return
    start, data = operation.offset, operation.data
    while data:
        size = SECTOR - start % SECTOR
        yield _Write(operation.file, start, data[:size])
        start, data = start + size, data[size:]
