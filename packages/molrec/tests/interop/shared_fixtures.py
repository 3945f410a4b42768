"""Where the interoperability fixtures lie, and how they are unpacked.

The folder is ``$MOLREC_SHARED/fixtures/molrs-0.19``; without the variable, ``shared`` beside the repository is tried.
Tests that need it skip where it is absent.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

_REPOSITORY = Path(__file__).resolve().parents[4]


def folder() -> Path | None:
    """Return the fixture folder, or None where there is none."""
    shared = Path(os.environ.get("MOLREC_SHARED") or _REPOSITORY.parent / "shared")
    candidate = shared / "fixtures" / "molrs-0.19"
    return candidate if candidate.is_dir() else None


def names() -> list[str]:
    """Return the names of all fixtures, sorted; empty without the folder."""
    root = folder()
    return [] if root is None else sorted(path.name.removesuffix(".mrec.zip") for path in root.glob("*.mrec.zip"))


def refusals() -> dict[str, Any]:
    """Return ``refusals.json``, with empty lists without the folder."""
    root = folder()
    if root is None:
        return {"api": [], "tampered": []}
    document: dict[str, Any] = json.loads((root / "refusals.json").read_text(encoding="utf-8"))
    return document


def packed(name: str) -> Path:
    """Return the path of a packed fixture; skip the running test without the folder."""
    return _require() / f"{name}.mrec.zip"


def document(name: str) -> Path:
    """Return the path of the JSON document of a fixture; skip the running test without the folder."""
    return _require() / f"{name}.json"


def unpack(name: str, target: Path) -> Path:
    """Extract a fixture under ``target`` and return its root directory."""
    root = target / f"{name}.mrec"
    with zipfile.ZipFile(packed(name)) as archive:
        archive.extractall(root)
    return root


def _require() -> Path:
    root = folder()
    if root is None:
        pytest.skip("no interoperability fixtures: set MOLREC_SHARED")
    return root
