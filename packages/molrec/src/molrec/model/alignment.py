"""Aligned blocks: one block's rows are another's, at every resolved frame (``docs/spec/trajectory.md``, alignment).

One rule, asked by the writer for the frame at hand and by the reader once for a whole run, from its indexes alone.
"""

from __future__ import annotations

import numpy as np

from molrec.errors import SchemaError
from molrec.model.block import Block
from molrec.model.carry_forward import UpdateIndex
from molrec.model.schema import SequenceSchema

__all__ = ["aligned_pairs", "check_counts", "check_run", "check_system_names", "join_columns"]


def aligned_pairs(schema: SequenceSchema) -> list[tuple[str, str]]:
    """Return (aligned block, target) of every declared alignment."""
    return [
        (name, declared.aligned_with) for name, declared in schema.blocks.items() if declared.aligned_with is not None
    ]


def check_counts(
    name: str, target: str, rows: int | None, target_rows: int | None, ordinal: int, *, restated: bool
) -> None:
    """Check one aligned block at one resolved frame; None stands for an absent block.

    Raises:
        SchemaError: The target is absent (``reject-aligned-target-absent``), the counts differ although the frame
            restates the aligned block (``reject-aligned-count-mismatch``), or because it does not
            (``reject-aligned-not-restated``).
    """
    if rows is None or rows == target_rows:
        return
    where = f"trajectory/{name}, frame {ordinal}"
    if target_rows is None:
        raise SchemaError(
            f"{where}: the block has {rows} rows but {target!r}, which it is aligned with, is absent; "
            "present the target first",
            "reject-aligned-target-absent",
        )
    if restated:
        raise SchemaError(
            f"{where}: the block has {rows} rows but {target!r}, which it is aligned with, has {target_rows}",
            "reject-aligned-count-mismatch",
        )
    raise SchemaError(
        f"{where}: {target!r} has {target_rows} rows but {name!r}, aligned with it, still shows {rows} and is not "
        "restated; append both blocks together",
        "reject-aligned-not-restated",
    )


def check_run(name: str, target: str, aligned: UpdateIndex, reference: UpdateIndex) -> None:
    """Check an aligned block over a whole run, vectorized over the ordinals at which either block changes.

    Raises:
        SchemaError: As `check_counts`, at the first ordinal that breaks the rule.
    """
    ordinals = np.union1d(aligned.ordinals(), reference.ordinals())
    mine, theirs = aligned.updates_at(ordinals), reference.updates_at(ordinals)
    begins, ends = aligned.spans(mine)
    target_begins, target_ends = reference.spans(theirs)
    bad = (mine >= 0) & ((theirs < 0) | (ends - begins != target_ends - target_begins))
    if not bad.any():
        return
    first = int(np.flatnonzero(bad)[0])
    ordinal = int(ordinals[first])
    check_counts(
        name,
        target,
        int(ends[first] - begins[first]),
        int(target_ends[first] - target_begins[first]) if theirs[first] >= 0 else None,
        ordinal,
        restated=aligned.ordinal_of(int(mine[first])) == ordinal,
    )


def join_columns(block: Block, aligned: Block) -> Block:
    """Return one block with the columns of two whose rows correspond; arrays are shared."""
    both = (block, aligned)
    return Block._trusted(
        {name: values for part in both for name, values in part.items()},
        block.rows,
        {name: mask for part in both for name in part.columns if (mask := part.validity(name)) is not None},
        {name: found for part in both for name in part.columns if (found := part.precision(name)) is not None},
        {**block.targets, **aligned.targets},
        block.structural_shape,
    )


def check_system_names(schema: SequenceSchema, system: set[str]) -> None:
    """Refuse an aligned block that shares its name with a block of the system.

    Raises:
        SchemaError: ``reject-aligned-shares-system-name``.
    """
    for name, _ in aligned_pairs(schema):
        if name in system:
            raise SchemaError(
                f"block {name!r} is aligned and shares its name with a block of the system; rename one",
                "reject-aligned-shares-system-name",
            )
