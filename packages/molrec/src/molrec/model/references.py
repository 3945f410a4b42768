"""Row references: how a target is spelled, and that what is referenced exists (``docs/spec/frame.md``, row references).

A target is the name of a block of the same container, or ``/<section>/<block>`` for one elsewhere in the record.
Every null row references nothing. The rules here serve frames, resolved frames of a run, and both storages.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.errors import SchemaError

__all__ = ["TARGET_PATTERN", "check_rows", "check_target", "is_absolute", "split_absolute"]

#: Both spellings of a target.
TARGET_PATTERN = r"/[^/]+/[^/]+|[^/]+"


def check_target(target: object, where: str) -> str:
    """Return a well-formed target.

    Raises:
        SchemaError: Not a string of one of the two spellings (``reject-target-malformed``), or the target names a
            trajectory block by an absolute path, whose row count is not fixed (``reject-target-into-trajectory``).
    """
    if not isinstance(target, str) or not re.fullmatch(TARGET_PATTERN, target):
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


def is_absolute(target: str) -> bool:
    """Tell whether a target lies in another section."""
    return target.startswith("/")


def split_absolute(target: str) -> tuple[str, str]:
    """Return section and block of an absolute target."""
    _, section, block = target.split("/")
    return section, block


def check_rows(
    values: Array, validity: npt.NDArray[np.bool_] | None, target: str, target_rows: int | None, where: str
) -> None:
    """Check that every value that is not null is a row of the target.

    Args:
        values: The referencing column, u64 ``(rows, *trailing)``.
        validity: Its mask, or None.
        target: The target, for messages.
        target_rows: Row count of the target, None when it is not there.
        where: Names block and column, for messages.

    Raises:
        SchemaError: The target is missing while the block has rows (``reject-target-missing-block``), or a value
            is not below its row count (``reject-target-out-of-range``).
    """
    if not len(values):
        return
    if target_rows is None:
        raise SchemaError(f"{where} references {target!r}, which is not there", "reject-target-missing-block")
    beyond = values >= np.uint64(target_rows)
    if validity is not None:
        beyond &= validity.reshape(-1, *(1 for _ in values.shape[1:]))
    if beyond.any():
        place = tuple(np.argwhere(beyond)[0].tolist())
        raise SchemaError(
            f"{where}: row {place[0]} references row {values[place]} of {target!r}, which has {target_rows} rows",
            "reject-target-out-of-range",
        )
