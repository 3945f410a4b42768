"""Standing between the library and `os`: every call that touches one folder is seen, and may be failed or recorded.

All else runs for real. `Interposer` follows descriptors and paths; what happens at a call is a subclass's business:
`FaultInjector` fails one of them, `disk.DiskRecorder` remembers what reached the device.
"""

from __future__ import annotations

import errno
import functools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Self

import pytest

__all__ = ["DAMAGING", "Death", "FaultInjector", "Interposer", "Mode", "unpatched"]

#: Calls that change a store or make it durable.
DAMAGING = ("open", "write", "pwrite", "replace", "rename", "fsync", "unlink", "mkdir", "rmdir")
_OF_TWO_PATHS = frozenset({"replace", "rename", "link"})
_FOLLOWED = (*DAMAGING, "close", "remove", "fdatasync", "truncate", "ftruncate", "link", "symlink")


class Interposer:
    """Sees every call of `os` on paths below a folder, and on descriptors opened there, while it is entered."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._top = str(root)
        self._prefix = f"{root}{os.sep}"
        #: Open descriptors and their paths.
        self.descriptors: dict[int, str] = {}
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Self:
        for name in _FOLLOWED:
            self._patch.setattr(os, name, self._wrap(name, getattr(os, name)))
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def close_all(self) -> None:
        """Close every descriptor that is still open, as the end of a process does; its locks go with it."""
        for descriptor in list(self.descriptors):
            del self.descriptors[descriptor]
            os.close(descriptor)

    def _wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def call(*args: Any, **kwargs: Any) -> Any:
            places = self._places(name, args, kwargs)
            if not places:
                return real(*args, **kwargs)
            result = self.on_call(name, places, args, lambda: real(*args, **kwargs))
            if name == "open":
                self.descriptors[result] = places[0]
            elif name == "close":
                self.descriptors.pop(args[0], None)
            return result

        return call

    def _places(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
        """Return the paths below the folder a call is about."""
        if isinstance(args[0], int):
            return [self.descriptors[args[0]]] if args[0] in self.descriptors else []
        paths = [os.fsdecode(path) for path in args[: 2 if name in _OF_TWO_PATHS else 1]]
        if kwargs.get("dir_fd") is not None:
            folder = self.descriptors.get(kwargs["dir_fd"])
            return [] if folder is None else [f"{folder}{os.sep}{path}" for path in paths]
        return paths if any(path.startswith(self._prefix) or path == self._top for path in paths) else []

    def on_call(self, name: str, places: list[str], args: tuple[Any, ...], real: Callable[[], Any]) -> Any:
        """Do what is to be done at a call; `real` performs it."""
        raise NotImplementedError


class Death(BaseException):
    """The process ends here: nothing below catches this, and no later call has an effect."""


type Mode = Literal["error", "death", "interrupt", "interrupt-after"]


class FaultInjector(Interposer):
    """Fails one damaging call, by number.

    ``error``: the call raises; a write has written half its bytes, or none when `halves` is False. ``death``: the
    same, but nothing after it has an effect. ``interrupt``: SIGINT arrives just before the call, ``interrupt-after``:
    just after.

    Args:
        root: Folder whose calls count.
        target: Number of the call to fail, from 0; None counts only.
        mode: How it fails.
        halves: Whether a failing write gets half its bytes out.
    """

    def __init__(self, root: Path, target: int | None = None, mode: Mode = "error", *, halves: bool = False) -> None:
        super().__init__(root)
        self.target = target
        self.mode = mode
        self.halves = halves
        #: Name and file of every call made, in order.
        self.made: list[tuple[str, str]] = []
        #: Whether each of them changes what lies on the disk.
        self.changes: list[bool] = []
        #: Number, name and file of the call that failed.
        self.struck: tuple[int, str, str] | None = None
        self._dead = False

    def on_call(self, name: str, places: list[str], args: tuple[Any, ...], real: Callable[[], Any]) -> Any:
        if self._dead and name != "close":
            raise Death
        if name not in DAMAGING or (name == "mkdir" and Path(places[0]).exists()):
            return real()
        number = len(self.made)
        self.made.append((name, places[-1].removeprefix(self._prefix)))
        self.changes.append(name != "fsync" and (name != "open" or bool(args[1] & (os.O_CREAT | os.O_TRUNC))))
        if number != self.target:
            return real()
        self.struck = (number, *self.made[-1])
        if self.mode.startswith("interrupt"):
            return self._interrupt(name, real)
        if self.halves and name in ("write", "pwrite"):
            half = memoryview(args[1])[: len(args[1]) // 2]
            unpatched(name)(args[0], half, *args[2:])
        if self.mode == "death":
            self._dead = True
            raise Death
        raise OSError(*_reason(name, number), places[-1])

    def _interrupt(self, name: str, real: Callable[[], Any]) -> Any:
        if self.mode == "interrupt":
            signal.raise_signal(signal.SIGINT)
            return real()
        try:
            result = real()
            if name == "open":
                # No statement can close a descriptor that was never assigned; only the end of the process does.
                os.close(result)
        finally:
            signal.raise_signal(signal.SIGINT)


def unpatched(name: str) -> Callable[..., Any]:
    """Return a function of `os` as it is without an interposer."""
    return getattr(os, name).__wrapped__  # type: ignore[no-any-return]


def _reason(name: str, number: int) -> tuple[int, str]:
    code = errno.EIO if name == "fsync" or number % 2 else errno.ENOSPC
    return code, os.strerror(code)
