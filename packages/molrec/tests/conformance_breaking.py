"""An implementation that is the reference but for one small break, for asking whether the conformance suite notices.

A break either stands in a function of the library, replaced while the broken implementation writes or reads and at no
other time, or changes the content on its way in or out.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import molrec
from molrec.conformance import (
    Adapter,
    CollectionAdapter,
    ForceFieldAdapter,
    FrameAdapter,
    Implementation,
    RecordAdapter,
    TrajectoryAdapter,
    reference,
)
from molrec.conformance.content import Column, Frame, MetaValue, Run, Trajectory

#: Where stores are made: in memory where that can be had, since flushing to disk takes most of the time otherwise.
STORES = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None

type Change = Callable[[Any], Any]


def load_everything() -> None:
    """Import every module of the library, so that none is first imported while something in it is replaced."""
    for room in ("model", "storage", "forcefield", "conformance"):
        package = importlib.import_module(f"molrec.{room}")
        for found in pkgutil.walk_packages(package.__path__, f"molrec.{room}."):
            importlib.import_module(found.name)
    for name in molrec.__all__:
        getattr(molrec, name)


@dataclass(frozen=True, slots=True)
class Patch:
    """A function, method or constant of the library and what takes its place, wherever it is known by that name.

    Attributes:
        target: ``module:name`` or ``module:Class.name``.
        make: Given the original, returns its replacement.
    """

    target: str
    make: Callable[[Any], Any]

    @contextmanager
    def active(self) -> Iterator[None]:
        module_name, _, path = self.target.partition(":")
        owner: Any = sys.modules[module_name]
        *parents, name = path.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        original = vars(owner)[name]
        plain = original.__func__ if isinstance(original, staticmethod | classmethod) else original
        replacement = self.make(plain)
        if isinstance(original, staticmethod | classmethod):
            replacement = type(original)(replacement)
        with ExitStack() as stack:
            if parents:
                stack.enter_context(mock.patch.object(owner, name, replacement))
            else:
                for one in [m for key, m in sys.modules.items() if key.partition(".")[0] == "molrec"]:
                    if vars(one).get(name) is original:
                        stack.enter_context(mock.patch.object(one, name, replacement))
            yield


@dataclass(frozen=True, slots=True)
class Mutation:
    """One break.

    Attributes:
        name: What is wrong, in words.
        case: The case that must notice.
        patches: What is replaced in the library.
        written: Changes content before it is written.
        returned: Changes content after it was read.
    """

    name: str
    case: str
    patches: tuple[Patch, ...] = ()
    written: Change | None = None
    returned: Change | None = None


def broken(mutation: Mutation) -> Implementation:
    """Return the reference with a break in it."""
    sound = reference.molrec
    return dataclasses.replace(
        sound,
        name=f"molrec, but {mutation.name}",
        frame=_broken(FrameAdapter, sound.frame, mutation),
        record=_broken(RecordAdapter, sound.record, mutation),
        trajectory=_broken(TrajectoryAdapter, sound.trajectory, mutation),
        forcefield=_broken(ForceFieldAdapter, sound.forcefield, mutation),
        collection=_broken(CollectionAdapter, sound.collection, mutation),
    )


class _Broken:
    sound: Any
    mutation: Mutation

    @contextmanager
    def _active(self) -> Iterator[None]:
        with ExitStack() as stack:
            for patch in self.mutation.patches:
                stack.enter_context(patch.active())
            yield

    def _changed(self, content: Any) -> Any:
        return content if self.mutation.written is None else self.mutation.written(content)

    def write(self, path: Path, content: Any) -> None:
        with self._active():
            self.sound.write(path, self._changed(content))

    def append(self, path: Path, content: Run) -> None:
        with self._active():
            self.sound.append(path, self._changed(content))

    def link(self, path: Path, frame: Frame) -> None:
        with self._active():
            self.sound.link(path, frame)

    def read(self, path: Path) -> Any:
        with self._active():
            found = self.sound.read(path)
        return found if self.mutation.returned is None else self.mutation.returned(found)


def _broken[A: Adapter[Any, Any]](kind: type, sound: A | None, mutation: Mutation) -> A:
    assert sound is not None
    members = {"suffix": sound.suffix, "refusals": sound.refusals, "sound": sound, "mutation": mutation}
    made: A = type(f"Broken{kind.__name__}", (_Broken, kind), members)()
    return made


def each(kind: type, change: Change) -> Change:
    """Return a change of every part of content that is of a kind, innermost first."""

    def apply(content: Any) -> Any:
        if dataclasses.is_dataclass(content) and not isinstance(content, type):
            fields = {one.name: apply(getattr(content, one.name)) for one in dataclasses.fields(content)}
            content = dataclasses.replace(content, **fields)
        elif isinstance(content, dict):
            content = {key: apply(value) for key, value in content.items()}
        elif isinstance(content, list | tuple):
            content = type(content)(apply(value) for value in content)
        return change(content) if isinstance(content, kind) else content

    return apply


def always(value: Any) -> Callable[[Any], Any]:
    """Return a maker of a function that takes anything and returns one value."""
    return lambda _original: lambda *_args, **_options: value


def first_argument(_original: Any) -> Any:
    """Make a function that returns what it is given first."""
    return lambda value, *_args, **_options: value


def values(change: Callable[[Any], Any], *dtypes: str) -> Change:
    """Return a change of the values of columns of some dtypes, of all without any."""

    def changed(column: Column) -> Column:
        return dataclasses.replace(column, values=change(column)) if not dtypes or column.dtype in dtypes else column

    return each(Column, changed)


def meta(change: Callable[[Any], Any], *tags: str) -> Change:
    """Return a change of the meta values of some tags."""
    return each(MetaValue, lambda one: dataclasses.replace(one, value=change(one.value)) if one.tag in tags else one)


def frames(change: Callable[[Trajectory], Trajectory]) -> Change:
    """Return a change of runs as they are read."""
    return each(Trajectory, change)
