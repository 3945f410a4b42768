"""The conformance suite notices every break (`conformance_mutations.MUTATIONS`), in the case that is there for it."""

from __future__ import annotations

import pytest

from molrec.conformance import ConformanceSuite, Verdict
from molrec.conformance.catalogue import CASES

from .conformance_breaking import STORES, Mutation, broken, load_everything
from .conformance_mutations import MUTATIONS

BY_ID = {case.id: case for case in CASES}


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    load_everything()


def test_there_are_many_different_breaks() -> None:
    names = [mutation.name for mutation in MUTATIONS]
    assert len(set(names)) == len(names) >= 40
    assert {mutation.case for mutation in MUTATIONS} <= set(BY_ID)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_break_is_noticed(mutation: Mutation) -> None:
    outcomes = list(ConformanceSuite(broken(mutation), folder=STORES).outcomes(BY_ID[mutation.case]))
    # An exception of another kind would be a break that does not work, not one that is noticed.
    caught = [outcome for outcome in outcomes if not outcome.fine and outcome.verdict is not Verdict.ERROR]
    assert caught, f"{mutation.case} does not notice that {mutation.name}"
    print(f"{mutation.name}: {caught[0]}")
