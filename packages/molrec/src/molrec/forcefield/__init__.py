"""Force fields at work: which parameters a system's terms have, and what they cost. Knows nothing of files.

The names below are the room's public API; each loads its module on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from molrec.forcefield.energies import Energies, energy
    from molrec.forcefield.expression import Expression, parse_expression
    from molrec.forcefield.linking import Linked, LinkedStyle, link
    from molrec.forcefield.registry import REGISTRY, Parameter, RegisteredStyle, registered

_PUBLIC: dict[str, str] = {
    "REGISTRY": "registry",
    "Energies": "energies",
    "Expression": "expression",
    "Linked": "linking",
    "LinkedStyle": "linking",
    "Parameter": "registry",
    "RegisteredStyle": "registry",
    "energy": "energies",
    "link": "linking",
    "parse_expression": "expression",
    "registered": "registry",
}

__all__ = [
    "REGISTRY",
    "Energies",
    "Expression",
    "Linked",
    "LinkedStyle",
    "Parameter",
    "RegisteredStyle",
    "energy",
    "link",
    "parse_expression",
    "registered",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'molrec.forcefield' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"molrec.forcefield.{_PUBLIC[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
