"""Effort of the property tests, and what several test modules share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Examples work on files, so none is judged by the clock and slow generation is no failure.
settings.register_profile(
    "dev", max_examples=60, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.register_profile("thorough", settings.get_profile("dev"), max_examples=3000, stateful_step_count=60)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Return where a test may write its record."""
    return tmp_path / "run.mrec"
