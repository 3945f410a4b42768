"""What a peer is: it writes a run, opens what it wrote, and reads it frame by frame or whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from workload import Floats, Size, Walk

__all__ = ["Peer", "Positions", "Reader"]

#: x, y and z: ``(atoms,)`` each for a frame, ``(frames, atoms)`` each for a run; views count.
type Positions = tuple[Floats, Floats, Floats]


class Reader(ABC):
    """An open trajectory, in its library's own units."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of frames."""

    @abstractmethod
    def frame(self, index: int) -> Positions:
        """Return one frame, through what the library offers for a single frame."""

    @abstractmethod
    def bulk(self) -> Positions:
        """Return the whole run as arrays, by the fastest way the library documents; called on a fresh reader."""

    @abstractmethod
    def close(self) -> None:
        """Release the file."""

    def frames(self) -> Iterator[Positions]:
        """Yield every frame in order."""
        for index in range(len(self)):
            yield self.frame(index)


class Peer(ABC):
    """A library with one choice of options."""

    #: Name on disk, with the ending the library expects.
    filename: ClassVar[str]
    #: Angstrom per unit of length of the library.
    unit: ClassVar[float] = 1.0
    #: Distributions whose versions belong beside the numbers.
    distributions: ClassVar[tuple[str, ...]]

    #: Stable name in the JSON output, and the one in tables.
    key: str
    label: str
    #: Largest error of a coordinate the format may make, in Angstrom.
    tolerance: float
    #: Key of the peer its times are compared with.
    baseline: str = "molrs-1e-3"

    @abstractmethod
    def writer(self, run: Walk) -> Callable[[Path], None]:
        """Make the library's own frames of a run and return the call that writes them; that call is timed."""

    @abstractmethod
    def open(self, path: Path) -> Reader:
        """Open what was written."""

    def frame_limit(self, size: Size) -> int:
        """Return how many frames of a run this peer is given; all of them unless it is very slow."""
        return size.frames
