"""What must hold between the blocks of one resolved frame: row references and alignment (``docs/spec/trajectory.md``).

The writer asks before it takes a frame, the reader before it hands one out. Blocks are `Presentation`s, whatever
storage they came from; row counts of the record's other sections come with the rules.
"""

from __future__ import annotations

from collections.abc import Mapping

from molrec.model.alignment import aligned_pairs, check_counts, check_system_names
from molrec.model.frame import Frame
from molrec.model.presentation import Presentation, as_presented
from molrec.model.references import check_rows, is_absolute, split_absolute
from molrec.model.schema import SequenceSchema

__all__ = ["ResolvedRules", "SectionRows", "check_frame", "check_reference", "target_rows"]

#: Section name -> row counts of its blocks, or None when the record has no such section.
type SectionRows = Mapping[str, Mapping[str, int] | None]

#: Row count of a target in a section the record does not have.
_UNCHECKED = -1


class ResolvedRules:
    """The rules between blocks for one trajectory.

    Raises:
        SchemaError: An aligned block shares its name with a block of the system
            (``reject-aligned-shares-system-name``).
    """

    def __init__(self, schema: SequenceSchema, sections: SectionRows) -> None:
        self._sections = sections
        self._aligned = aligned_pairs(schema)
        self._targets = {name: declared.targets for name, declared in schema.blocks.items() if declared.targets}
        check_system_names(schema, set(sections.get("system") or ()))

    @property
    def referencing(self) -> tuple[str, ...]:
        """Blocks with declared row references."""
        return tuple(self._targets)

    def check_change(
        self, ordinal: int, presented: Mapping[str, Presentation], before: Mapping[str, Presentation]
    ) -> None:
        """Check the frame that results when `presented` blocks are laid over what held `before`.

        What carries forward was checked when it was presented, so only its targets' sizes are looked at again.

        Raises:
            SchemaError: A reference has no row (`check_rows`) or an alignment is broken (`check_counts`).
        """
        after = {**before, **presented}
        for name, targets in self._targets.items():
            if name not in after:
                continue
            for column, target in targets.items():
                rows = self.target_rows(target, after)
                if name in presented or rows != self.target_rows(target, before):
                    check_reference(name, column, target, rows, after[name], f"frame {ordinal}")
        for name, target in self._aligned:
            counts = [after[block].rows if block in after else None for block in (name, target)]
            check_counts(name, target, counts[0], counts[1], ordinal, restated=name in presented)

    def references(self, name: str) -> Mapping[str, str]:
        """Return the declared references of a block, column to target."""
        return self._targets.get(name, {})

    def target_rows(self, target: str, blocks: Mapping[str, Presentation]) -> int | None:
        """Return the row count of a target among these blocks (see the function of that name)."""
        return target_rows(target, blocks, self._sections)


def target_rows(target: str, blocks: Mapping[str, Presentation], sections: SectionRows) -> int | None:
    """Return the row count of a target: None when it is missing, -1 when its section is not in the record."""
    if not is_absolute(target):
        return blocks[target].rows if target in blocks else None
    section, block = split_absolute(target)
    counts = sections.get(section)
    return _UNCHECKED if counts is None else counts.get(block)


def check_reference(name: str, column: str, target: str, rows: int | None, block: Presentation, where: str) -> None:
    """Check one referencing column against a target's row count, as `target_rows` gave it.

    Raises:
        SchemaError: See `check_rows`.
    """
    if rows != _UNCHECKED:
        place = f"{where}: block {name!r}, column {column!r}"
        check_rows(block.columns[column], block.masks.get(column), target, rows, place)


def check_frame(frame: Frame, sections: SectionRows, where: str) -> None:
    """Check every declared row reference of one frame.

    Raises:
        SchemaError: A target is missing or a value is out of its range (`check_rows`).
    """
    shown = {name: as_presented(block) for name, block in frame.items()}
    for name, block in frame.items():
        for column, target in block.targets.items():
            rows = target_rows(target, shown, sections)
            check_reference(name, column, target, rows, shown[name], where)
