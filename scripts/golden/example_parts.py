"""What the examples of several schemas share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["RUN", "VECTORS", "VERSION_RULE", "Documents", "Examples", "changed"]

type Documents = dict[str, Any]

VERSION_RULE = "reject-molrec-version"
#: The declaration of a run of one column and one per-step key.
RUN: dict[str, Any] = {
    "blocks": {"atoms": {"columns": {"x": {"dtype": "f64", "trailing": []}}}},
    "meta": {"pe": {"dtype": "f64"}},
}
VECTORS = [[9.0, 1.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]]


@dataclass(frozen=True)
class Examples:
    """Examples of one schema by name.

    Attributes:
        valid: Documents that are as they must be.
        invalid: Documents with one thing wrong, named ``<rule>--<what>``.
    """

    valid: Documents
    invalid: Documents


def changed(base: dict[str, Any], **entries: Any) -> dict[str, Any]:
    """Return a document with entries changed; None takes one away."""
    return {key: value for key, value in (base | entries).items() if value is not None}
