"""Frames on their way to a foreign file: a record's run, seen as a sequence to write from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from molrec.model.frame import Frame
from molrec.model.schema import SequenceSchema

__all__ = ["Images"]


@dataclass(frozen=True, slots=True)
class Images:
    """The frames to write, read one by one when they are needed.

    Attributes:
        frames: The frames.
        system: What they have in common, or None.
        schema: Their declaration, or None for a frame outside a run.
        steps: Step of each frame, int64, or None.
        times: Time of each frame, float64 in the run's unit, or None.
    """

    frames: Sequence[Frame]
    system: Frame | None = None
    schema: SequenceSchema | None = None
    steps: npt.NDArray[np.int64] | None = None
    times: npt.NDArray[np.float64] | None = None

    @property
    def numbered(self) -> bool:
        """Whether the steps say no more than the frames' positions."""
        return self.steps is None or np.array_equal(self.steps, np.arange(len(self.steps)))
