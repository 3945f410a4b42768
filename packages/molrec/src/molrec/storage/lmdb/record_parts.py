"""What is appended to a collection, taken apart: a record of any storage, or frames with their steps and times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any

from molrec.errors import SchemaError
from molrec.model.collection import RecordLike
from molrec.model.frame import Frame
from molrec.model.schema import SequenceSchema

__all__ = ["NumberedFrames", "numbered_frames", "parts_of"]

#: Frames with step, time, and whether it is known that none follows.
type NumberedFrames = Iterator[tuple[Frame, int | None, float | None, bool]]

#: The sections a record of a collection has room for.
_SECTIONS = frozenset({"meta", "system", "trajectory"})


def parts_of(
    record: RecordLike,
) -> tuple[
    Mapping[str, Any],
    Frame | None,
    NumberedFrames | None,
    SequenceSchema | None,
]:
    """Return meta, system, numbered frames and declaration of a record.

    Raises:
        SchemaError: It has sections a collection has no room for (``reject-record-section``).
    """
    sections = getattr(record, "sections", ())
    lost = [name for name in sections if name not in _SECTIONS]
    if lost:
        raise SchemaError(
            f"the record has {', '.join(lost)}; a record of a collection has meta, system and trajectory, and the "
            "force field is the collection's: append its frames with meta= and system= to leave the rest out",
            "reject-record-section",
        )
    run = record.trajectory
    if run is None:
        return record.meta, record.system, None, None
    steps = [int(step) for step in run.steps]
    times = repeat(None) if run.times is None else (float(time) for time in run.times)
    final = len(steps) - 1
    frames = (
        (run[ordinal], step, moment, ordinal == final)
        for (ordinal, step), moment in zip(enumerate(steps), times, strict=False)
    )
    return record.meta, record.system, frames, run.schema


def numbered_frames(
    frames: Frame | Iterable[Frame] | None, step: int | Iterable[int] | None, time: float | Iterable[float] | None
) -> NumberedFrames | None:
    """Return frames with step, time, and whether it is known that none follows."""
    if frames is None:
        return None
    if isinstance(frames, Frame):
        single: Any = (frames, step, time, True)
        return iter([single])
    if not isinstance(frames, Iterable):
        raise SchemaError(
            f"a record is a record, a Frame, frames, or None, found {type(frames).__name__}", "reject-record-parts"
        )
    return _beside(frames, step, time)


def _beside(frames: Iterable[Frame], step: Any, time: Any) -> Iterator[tuple[Frame, Any, Any, bool]]:
    for what, given in (("step", step), ("time", time)):
        if given is not None and not isinstance(given, Iterable):
            raise SchemaError(f"{what} is one value per frame, found {given!r}", "reject-record-parts")
    steps = repeat(None) if step is None else iter(step)
    times = repeat(None) if time is None else iter(time)
    missing = object()
    for ordinal, frame in enumerate(frames):
        stamp, moment = next(steps, missing), next(times, missing)
        if stamp is missing or moment is missing:
            raise SchemaError(f"frame {ordinal} has no step or time; give one for every frame", "reject-record-parts")
        yield frame, stamp, moment, False
