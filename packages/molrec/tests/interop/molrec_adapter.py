"""What ``molrec`` reads, as neutral content; every public accessor of a frame and a run is exercised here."""

from __future__ import annotations

import molrec as mr
from molrec.conformance.objects import block_content as block
from molrec.conformance.objects import box_content as box
from molrec.conformance.objects import frame_content as frame
from molrec.conformance.objects import trajectory_content as trajectory

from . import neutral

__all__ = ["block", "box", "frame", "record", "trajectory"]


def record(source: mr.Record) -> neutral.Record:
    """Content of an open record: meta, frame, system and trajectory; other sections are left aside."""
    return neutral.Record(
        sections=sorted(source.sections),
        meta=neutral.plain_json(source.meta),
        frame=None if source.frame is None else frame(source.frame),
        system=None if source.system is None else frame(source.system),
        trajectory=None if source.trajectory is None else trajectory(source.trajectory),
    )
