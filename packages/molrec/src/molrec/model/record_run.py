"""One record's run as it is written: which blocks of each frame are updates (``docs/spec/collection.md``).

A storage that keeps frame after frame hands each one here and writes what comes back: the blocks that changed, every
per-step value, step and time, and the box where it changed. Nothing carries over from one record to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from molrec.errors import SchemaError
from molrec.model.box import Box, check_cell_kind
from molrec.model.frame import Frame
from molrec.model.presentation import FrameChecker, Presentation, next_step, next_time
from molrec.model.resolved import ResolvedRules, SectionRows
from molrec.model.schema import SequenceSchema

__all__ = ["FrameUpdate", "RecordRun"]


@dataclass(frozen=True, slots=True)
class FrameUpdate:
    """What a frame adds to its run: only blocks and box that changed, every declared meta key."""

    blocks: dict[str, Presentation]
    meta: dict[str, Any]
    step: int
    time: float | None
    box: Box | None


class RecordRun:
    """Takes the frames of one record in order.

    Args:
        schema: What every frame may hold.
        sections: Row counts of the record's other sections, for row references.

    Raises:
        SchemaError: An aligned block bears the name of a block of the system (``reject-aligned-shares-system-name``).
    """

    def __init__(self, schema: SequenceSchema, sections: SectionRows) -> None:
        self._sections = sections
        self.restart()
        self.declare(schema)

    def restart(self) -> None:
        """Begin with the next record, whose other sections are like this one's."""
        self._latest: dict[str, Presentation] = {}
        self._box: Box | None = None
        self._step: int | None = None
        self._has_times: bool | None = None
        #: Frames taken so far.
        self.frames = 0

    def declare(self, schema: SequenceSchema) -> None:
        """Go on under a declaration that has grown."""
        self._checker = FrameChecker(schema, self._sections.get("system") or {})
        self._rules = ResolvedRules(schema, self._sections)

    def take(self, frame: Frame, step: int | None, time: float | None, *, last: bool = False) -> FrameUpdate:
        """Check the next frame and return what it changes.

        Args:
            frame: Read, never changed; its arrays may be reused once the update has been written.
            step: Its step; one more than the last when None.
            time: Its time; given for every frame of the run or for none.
            last: Whether no frame follows, so that nothing of it need be kept.

        Raises:
            SchemaError: The frame breaks a rule of its declaration or of the run; nothing was taken.
        """
        try:
            stamp = next_step(step, self._step)
            moment = next_time(time, self._has_times)
            presented = self._checker.blocks(frame)
            values = self._checker.meta(frame)
            box = self._changed_box(frame.box)
            self._rules.check_change(self.frames, presented, self._latest)
        except SchemaError as error:
            raise SchemaError(f"frame {self.frames}: {error.message}", error.rule) from error
        if self.frames:
            presented = {
                name: block
                for name, block in presented.items()
                if name not in self._latest or not block.equals(self._latest[name])
            }
        if not last:
            self._latest |= {name: _owned(block) for name, block in presented.items()}
        self._box = self._box if box is None else box
        self._step = stamp
        self._has_times = moment is not None
        self.frames += 1
        return FrameUpdate(presented, values, stamp, moment, box)

    def _changed_box(self, box: Box | None) -> Box | None:
        if box is None or self._box is None:
            return box
        check_cell_kind(box, self._box)
        return None if box == self._box else box


def _owned(block: Presentation) -> Presentation:
    return Presentation(
        block.rows,
        {name: values.copy() for name, values in block.columns.items()},
        {name: mask.copy() for name, mask in block.masks.items()},
    )


def section_rows(system: Frame | None) -> Mapping[str, Mapping[str, int] | None]:
    """Return the row counts of a record's sections beside its trajectory, None for one it has not."""
    return {"system": None if system is None else {name: block.rows for name, block in system.items()}, "frame": None}
