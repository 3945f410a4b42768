"""Every golden case, read by ASE and by the fast reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from .golden import GoldenCase
from .shared_folder import SHARED

_FOLDERS = sorted(SHARED.glob("golden/xyz/*/settings.json"))

if not _FOLDERS:
    pytest.skip("the golden cases are not beside the repository", allow_module_level=True)


@pytest.mark.parametrize("folder", [settings.parent for settings in _FOLDERS], ids=lambda folder: str(folder.name))
def test_golden_case(folder: Path, reader: str, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    GoldenCase(folder).check(caplog, tmp_path)


def test_all_golden_cases_are_there() -> None:
    assert len(_FOLDERS) >= 32
