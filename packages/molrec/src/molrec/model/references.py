"""Row references: the spelling of a target (``docs/spec/frame.md``, row references).

A target is the name of a block of the same container, or ``/<section>/<block>`` for one elsewhere in the record.
"""

from __future__ import annotations

import re

from molrec.errors import SchemaError

__all__ = ["check_target"]

_TARGET = re.compile(r"/[^/]+/[^/]+|[^/]+")


def check_target(target: object, where: str) -> str:
    """Return a well-formed target.

    Raises:
        SchemaError: Not a string of one of the two spellings (``reject-target-malformed``), or the target names a
            trajectory block by an absolute path, whose row count is not fixed (``reject-target-into-trajectory``).
    """
    if not isinstance(target, str) or not _TARGET.fullmatch(target):
        raise SchemaError(
            f"{where}: the row-reference target {target!r} is neither '<block>' nor '/<section>/<block>'",
            "reject-target-malformed",
        )
    if target.startswith("/trajectory/"):
        raise SchemaError(
            f"{where}: the target {target!r} names a trajectory block, whose row count is not fixed; "
            "name the block alone to mean the same resolved frame",
            "reject-target-into-trajectory",
        )
    return target
