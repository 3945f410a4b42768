"""What several test modules share: both readers, and the folder of golden cases and shared data."""

from __future__ import annotations

from pathlib import Path

import pytest

from .shared_folder import SHARED


@pytest.fixture(params=["ase", "fast"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have everything read by ASE alone, then with the C parser where it can."""
    name: str = request.param
    if name == "ase":
        monkeypatch.setattr("mace_core.data.frames.column_parser", lambda: None)
    else:
        pytest.importorskip("extxyz")
    return name


@pytest.fixture
def solvents() -> list[Path]:
    """Return the files of real training data."""
    folder = SHARED / "data" / "mace-tutorials"
    if not folder.is_dir():
        pytest.skip("the shared data are not beside the repository")
    return sorted(folder.glob("*.xyz"))
