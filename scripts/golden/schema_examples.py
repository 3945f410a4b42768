"""Examples for the JSON Schemas: documents that are as they must be, and documents with one thing wrong.

An invalid one is called ``<rule>--<what>``, after the rule a reader or writer of this library refuses it by;
``advice--<what>`` breaks a recommendation, which the schema states and nobody enforces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.golden.collection_examples import COLLECTION_EXAMPLES
from scripts.golden.record_examples import RECORD_EXAMPLES

if TYPE_CHECKING:
    from scripts.golden.example_parts import Examples

__all__ = ["EXAMPLES"]

#: Schema, by its path without suffix, to its examples.
EXAMPLES: dict[str, Examples] = {**RECORD_EXAMPLES, **COLLECTION_EXAMPLES}
