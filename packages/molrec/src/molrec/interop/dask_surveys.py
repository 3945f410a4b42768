"""Files of labelled structures surveyed by many workers: each file by one of them, the results in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from molrec.interop.dask_shards import check_scheduler, dask_client, require_distributed
from molrec.interop.label_conversion import survey_source
from molrec.interop.label_survey import LabelSurvey
from molrec.interop.labelled_sources import LabelledSource

__all__ = ["survey_sources"]


def survey_sources(
    sources: Sequence[LabelledSource], scheduler: str, progress: Callable[[int, int | None], None]
) -> list[LabelSurvey]:
    """Survey files by workers of Dask.

    Args:
        sources: The files; workers see them under the same names.
        scheduler: Address of a scheduler, or ``local``, as for `dask_shards.write_shards`.
        progress: Called with the structures surveyed so far.

    Returns:
        A survey of each file, in order.

    Raises:
        SchemaError: The scheduler is none (``reject-scheduler``).
        FormatError: A file is damaged.
        ImportError: Dask is not installed.
    """
    check_scheduler(scheduler, None)
    surveyed = 0
    with dask_client(scheduler, min(len(sources), os.cpu_count() or 1)) as client:
        futures = client.map(survey_source, sources, pure=False)
        for _, survey in require_distributed().as_completed(futures, loop=client.loop, with_results=True):
            surveyed += survey.frames
            progress(surveyed, None)
        surveys: list[LabelSurvey] = client.gather(futures)
    return surveys
