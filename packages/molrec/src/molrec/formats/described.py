"""Frames of any source with the atoms of a system that came with a force field.

A topology with parameters says what the atoms are and how they are bonded; the structure or trajectory given after it
says where they are. What does not move is taken from the topology, the rest from the frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from molrec.dtypes import STRING
from molrec.formats.notes import Notes
from molrec.formats.pairing import PairedSource, Topology, UniformPairedSource
from molrec.formats.series import FrameSource, UniformSource
from molrec.model.frame import Frame

__all__ = ["HeldFrame", "NumberedTypes", "described"]


class HeldFrame:
    """One frame in memory as a source.

    Args:
        name: What to call it in messages.
        frame: The frame.
        units: Units of its numbers, where the frame itself states none.
    """

    def __init__(self, name: str, frame: Frame, units: Mapping[str, str] | None) -> None:
        self.name = name
        self.units: Mapping[str, str] | None = frame.units or units
        self._frame = frame

    def count(self) -> int | None:
        """Return 1."""
        return 1

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frame."""
        del notes
        yield self._frame


def described(system: FrameSource, sources: list[FrameSource]) -> list[FrameSource]:
    """Return the sources with the atoms of a system, or the system by itself where there are none."""
    if not sources:
        return [system]
    topology = Topology(system)
    return [
        UniformPairedSource(topology, source) if isinstance(source, UniformSource) else PairedSource(topology, source)
        for source in sources
    ]


class NumberedTypes:
    """Frames whose types have numbers and no names, with the numbers for names, as LAMMPS' force fields call them.

    Args:
        source: The frames.
    """

    def __init__(self, source: FrameSource) -> None:
        self.name = source.name
        self.units = source.units
        self._source = source

    def count(self) -> int | None:
        """Return the number of frames where that is known without reading them."""
        return self._source.count()

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frames from the first one on.

        Raises:
            FormatError: The file is damaged.
        """
        for frame in self._source.frames(notes):
            for name in frame:
                block = frame[name]
                if "type_id" in block and "type" not in block:
                    numbers, inverse = np.unique(block["type_id"], return_inverse=True)
                    block["type"] = np.array([str(number) for number in numbers.tolist()], dtype=STRING)[inverse]
                    block.set_validity("type", block.validity("type_id"))
            yield frame
