"""Fixtures of the robustness tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .stores import scratch_folder


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder whose fsync is quick, for tests that make thousands of stores."""
    with scratch_folder(tmp_path) as folder:
        yield folder
