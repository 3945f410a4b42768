"""What an implementation gives to be judged: two methods for each thing it can write and read.

An adapter turns `molrec.conformance.content` into what its library takes, and what its library returns into content. It
has no opinion: it neither checks nor repairs, and where its library refuses, it lets the exception through.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from molrec.conformance.content import Collection, Content, ForceField, Frame, Record, Run, Trajectory

__all__ = [
    "Adapter",
    "CollectionAdapter",
    "ForceFieldAdapter",
    "FrameAdapter",
    "Implementation",
    "RecordAdapter",
    "TrajectoryAdapter",
]


class Adapter[Written, Read](ABC):
    """Writes and reads one kind of content.

    Attributes:
        suffix: How the name of a store ends: ``.mrec`` for a folder, ``.mrec.zip`` for a packed record.
        refusals: The exceptions with which the implementation refuses. Any other exception is an error of its own.
    """

    suffix: ClassVar[str] = ".mrec"
    refusals: ClassVar[tuple[type[BaseException], ...]] = (ValueError,)

    @abstractmethod
    def write(self, path: Path, content: Written) -> None:
        """Write a new store at ``path``, where nothing is. What was handed to the library is not to be changed."""

    @abstractmethod
    def read(self, path: Path) -> Read:
        """Read everything the store at ``path`` holds, so that whatever is wrong with it comes to light."""


class FrameAdapter(Adapter[Frame, Frame]):
    """A record whose only section beside ``meta`` is ``frame``."""


class TrajectoryAdapter(Adapter[Run, Trajectory]):
    """A record whose only section beside ``meta`` is ``trajectory``."""

    def append(self, path: Path, content: Run) -> None:
        """Continue the run at ``path`` after its last committed frame. An implementation without this leaves it out."""
        raise NotImplementedError("runs cannot be continued")


class RecordAdapter(Adapter[Record, Record]):
    """A record with any of the sections of `Record`."""


class ForceFieldAdapter(Adapter[ForceField, ForceField]):
    """A record whose only section beside ``meta`` is ``forcefield``."""

    def link(self, path: Path, frame: Frame) -> None:
        """Find the parameters of a frame's atoms and terms in the stored section.

        An implementation that only stores force fields leaves this out.
        """
        raise NotImplementedError("force fields cannot be linked")


class CollectionAdapter(Adapter[Collection, Collection]):
    """A collection in one LMDB file."""

    suffix = ".mrec.lmdb"


@dataclass(frozen=True, slots=True)
class Implementation:
    """An implementation of the format.

    Attributes:
        name: What it is called.
        version: Its version.
        frame: Its adapter of frames; None for one that has none, as of the others.
        record: Its adapter of records.
        trajectory: Its adapter of runs.
        forcefield: Its adapter of force fields.
        collection: Its adapter of collections.
        skips: Case id to the reason why the implementation does not do what the case asks for. Such a case is reported
            as not supported; it is never counted as passed.
    """

    name: str
    version: str
    frame: FrameAdapter | None = None
    record: RecordAdapter | None = None
    trajectory: TrajectoryAdapter | None = None
    forcefield: ForceFieldAdapter | None = None
    collection: CollectionAdapter | None = None
    skips: Mapping[str, str] = field(default_factory=dict)

    def adapter(self, content: Content) -> Adapter[Any, Any] | None:
        """Return the adapter of a kind of content, None where there is none."""
        adapters: dict[type, Adapter[Any, Any] | None] = {
            Frame: self.frame,
            Run: self.trajectory,
            Record: self.record,
            ForceField: self.forcefield,
            Collection: self.collection,
        }
        return adapters[type(content)]
