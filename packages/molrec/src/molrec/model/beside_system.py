"""A trajectory's block and the system's block of its name (``docs/spec/trajectory.md``, beside a system)."""

from __future__ import annotations

from collections.abc import Container, Iterable

from molrec.errors import SchemaError

__all__ = ["check_other_columns", "check_same_rows"]


def check_same_rows(name: str, rows: int, system_rows: int) -> None:
    """Check that an update has the row count of the system's block.

    Raises:
        SchemaError: It has not (``reject-system-row-count``).
    """
    if rows != system_rows:
        raise SchemaError(
            f"block {name!r} has {rows} rows but the system's block of that name has {system_rows}; side by side they "
            "share one row count",
            "reject-system-row-count",
        )


def check_other_columns(
    name: str, columns: Iterable[str], system_columns: Container[str], *, may_share: Container[str] = ()
) -> None:
    """Check that no column stands in both blocks.

    Args:
        name: Block name.
        columns: The columns of the trajectory's block.
        system_columns: Those of the system's.
        may_share: Columns that may stand in both.

    Raises:
        SchemaError: One does (``reject-system-shared-column``).
    """
    shared = [column for column in columns if column in system_columns and column not in may_share]
    if shared:
        raise SchemaError(
            f"block {name!r}: system and trajectory both hold {', '.join(sorted(shared))}; a column stands in one of "
            "them",
            "reject-system-shared-column",
        )
