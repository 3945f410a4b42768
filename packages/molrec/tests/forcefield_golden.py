"""The force-field cases computed by real engines, ``$MOLREC_SHARED/golden/forcefield``; without it, tests skip.

The keys of `expected.json` are the set's own; here they become the names of the registry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

_REPOSITORY = Path(__file__).resolve().parents[3]

#: (style, key of the set) -> registered name, where they differ.
_NAMES = {
    ("bond.morse", "d"): "D",
    ("dihedral.charmm", "n"): "periodicity",
    ("dihedral.charmm", "weight"): "w",
    ("dihedral.harmonic", "n"): "periodicity",
    ("improper.cvff", "n"): "periodicity",
}


def folder() -> Path | None:
    """Return the folder of the cases, or None where there is none."""
    shared = Path(os.environ.get("MOLREC_SHARED") or _REPOSITORY.parent / "shared")
    candidate = shared / "golden" / "forcefield"
    return candidate if candidate.is_dir() else None


def names(engine: str) -> list[str]:
    """Return the names of an engine's cases, sorted; empty without the folder."""
    root = folder()
    if root is None:
        return []
    return sorted(
        path.parent.name for path in root.glob("*/expected.json") if load(path.parent.name)["engine"] == engine
    )


def case(name: str) -> Path:
    """Return the folder of a case; skip the running test without it."""
    root = folder()
    if root is None:
        pytest.skip("no force-field cases: set MOLREC_SHARED")
    return root / name


def load(name: str) -> dict[str, Any]:
    """Return ``expected.json`` of a case."""
    document: dict[str, Any] = json.loads((case(name) / "expected.json").read_text(encoding="utf-8"))
    return document


def registered_params(style: str, params: Mapping[str, Any]) -> dict[str, float]:
    """Return parameters by their registered names."""
    found: dict[str, float] = {}
    terms = params.get("terms")
    if terms is not None:
        for number, term in enumerate(terms, 1):
            suffix = "" if len(terms) == 1 else str(number)
            found |= {f"k{suffix}": term["k"], f"periodicity{suffix}": term["n"], f"phase{suffix}": term["phase"]}
        return found
    for key, value in params.items():
        if key in ("bond_bond", "bond_angle"):
            prefix = "bb" if key == "bond_bond" else "ba"
            found |= {f"{prefix}_{name}": number for name, number in value.items()}
        else:
            found[_NAMES.get((style, key), key)] = value
    return found
