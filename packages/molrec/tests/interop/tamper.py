"""The edits of the conformance suite, under the name the tests of refusals know them by."""

from __future__ import annotations

from molrec.conformance.tamper import Edit, apply

__all__ = ["Edit", "apply"]
