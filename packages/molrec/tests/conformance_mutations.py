"""The breaks that the conformance suite must notice, each with the case that does."""

from __future__ import annotations

from .conformance_breaking import Mutation
from .conformance_mutations_frame import COLUMNS, META, PRECISION, RECORD
from .conformance_mutations_refusals import NOT_REFUSED
from .conformance_mutations_run import TRAJECTORY
from .conformance_mutations_tables import COLLECTION, FORCEFIELD

__all__ = ["MUTATIONS"]

MUTATIONS: tuple[Mutation, ...] = (
    *PRECISION,
    *COLUMNS,
    *META,
    *RECORD,
    *TRAJECTORY,
    *FORCEFIELD,
    *COLLECTION,
    *NOT_REFUSED,
)
