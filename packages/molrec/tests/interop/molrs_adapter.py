"""Both directions of the exchange with ``molrs``: ``molrec`` objects handed to its writers, records read with it.

Importing this module needs the ``molcrafts-molrs`` wheel; tests reach it behind ``pytest.importorskip``. How it is
spoken to stands in `molrs_implementation`, the adapter of the conformance suite.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from molrs.io import write_mrec
from packages.molrec.tests import molrs_implementation

import molrec as mr

from . import molrec_adapter, neutral
from .exchange_cases import Entry


def write_record(
    path: Path, *, frame: mr.Frame | None = None, system: mr.Frame | None = None, meta: dict[str, Any] | None = None
) -> None:
    """Write a directory record without a run."""
    write_mrec(
        path,
        meta=meta or {},
        frame=None if frame is None else molrs_implementation.to_frame(molrec_adapter.frame(frame)),
        system=None if system is None else molrs_implementation.to_frame(molrec_adapter.frame(system)),
    )


def write_run(path: Path, entries: Iterable[Entry], schema: mr.SequenceSchema, **options: Any) -> None:
    """Write a directory record that holds a run; options are those of `molrs_implementation.write_run`."""
    molrs_implementation.write_run(path, _run(entries, schema), **options)


def continue_run(path: Path, entries: Iterable[Entry]) -> None:
    """Append to a run that exists."""
    molrs_implementation.continue_run(path, _run(entries, mr.SequenceSchema()))


def _run(entries: Iterable[Entry], schema: mr.SequenceSchema) -> neutral.Run:
    presented = [neutral.Presented(step, time, molrec_adapter.frame(frame)) for step, time, frame in entries]
    return neutral.Run(neutral.schema_from_document(schema.to_document()), presented)


def record(path: Path) -> neutral.Record:
    """Read a record, packed or a directory; its force field is left aside."""
    return molrs_implementation.read_record(path, forcefield=False)
