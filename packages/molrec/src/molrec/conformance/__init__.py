"""The conformance suite: does an implementation write what others read, read what others write, and refuse the rest?

An implementation is judged through adapters (`FrameAdapter` and the like) that speak plain content
(`molrec.conformance.content`), case by case, in both directions, against this library.
``docs/spec/conformance.md`` shows how to write one; ``molrec conformance module:name`` runs it.
"""

from __future__ import annotations

from molrec.conformance.adapters import (
    Adapter,
    CollectionAdapter,
    ForceFieldAdapter,
    FrameAdapter,
    Implementation,
    RecordAdapter,
    TrajectoryAdapter,
)
from molrec.conformance.case import Case, Example
from molrec.conformance.comparison import Difference, first_difference
from molrec.conformance.report import Direction, Outcome, Report, Verdict
from molrec.conformance.suite import ConformanceSuite

__all__ = [
    "Adapter",
    "Case",
    "CollectionAdapter",
    "ConformanceSuite",
    "Difference",
    "Direction",
    "Example",
    "ForceFieldAdapter",
    "FrameAdapter",
    "Implementation",
    "Outcome",
    "RecordAdapter",
    "Report",
    "TrajectoryAdapter",
    "Verdict",
    "first_difference",
]
