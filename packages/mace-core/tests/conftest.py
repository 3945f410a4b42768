"""What several test modules share: both readers, and where golden cases and shared data lie, which may be absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parents[3]
_SHARED = Path(os.environ.get("MOLREC_SHARED") or _REPOSITORY.parent / "shared")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for `golden_folder` every folder of golden cases; it is skipped where there is none."""
    if "golden_folder" in metafunc.fixturenames:
        folders = sorted(settings.parent for settings in _SHARED.glob("golden/xyz/*/settings.json"))
        metafunc.parametrize("golden_folder", folders, ids=[folder.name for folder in folders])


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
    folder = _SHARED / "data" / "mace-tutorials"
    if not folder.is_dir():
        pytest.skip("the shared data are not beside the repository")
    return sorted(folder.glob("*.xyz"))
