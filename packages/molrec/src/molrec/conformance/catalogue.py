"""Every case, in the order of the specification's chapters."""

from __future__ import annotations

from molrec.conformance import (
    cases_aligned,
    cases_collection,
    cases_collection_refusals,
    cases_forcefield,
    cases_forcefield_refusals,
    cases_frame,
    cases_meta,
    cases_precision,
    cases_record,
    cases_references,
    cases_series,
    cases_storage,
    cases_trajectory,
    cases_trajectory_refusals,
)
from molrec.conformance.case import Case

__all__ = ["CASES"]

#: Every case, in order; ids are unique.
CASES: tuple[Case, ...] = (
    *cases_frame.CASES,
    *cases_precision.CASES,
    *cases_references.CASES,
    *cases_meta.CASES,
    *cases_record.CASES,
    *cases_trajectory.CASES,
    *cases_trajectory_refusals.CASES,
    *cases_storage.CASES,
    *cases_series.CASES,
    *cases_aligned.CASES,
    *cases_forcefield.CASES,
    *cases_forcefield_refusals.CASES,
    *cases_collection.CASES,
    *cases_collection_refusals.CASES,
)
