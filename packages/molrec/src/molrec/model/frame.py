"""`Frame`: a snapshot of named blocks, a typed meta document and an optional box. Knows nothing of files."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from molrec.errors import SchemaError
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.meta import Meta
from molrec.model.names import FRAME_RESERVED_BLOCKS, check_name, check_reserved

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Frame"]


class Frame:
    """Named blocks with independent row counts, `meta`, and an optional `box` (``docs/spec/frame.md``).

    Args:
        blocks: Name to `Block`; kept as given, not copied.
        meta: Key to value; tags are inferred, or carried from a `Meta`.
        box: The simulation cell, or None.

    Raises:
        SchemaError: A block name the layout cannot hold (``reject-bad-name``, ``reject-reserved-name``).
    """

    __slots__ = ("_blocks", "_box", "_meta")

    def __init__(
        self, blocks: Mapping[str, Block] | None = None, meta: Mapping[str, Any] | None = None, box: Box | None = None
    ) -> None:
        self._blocks: dict[str, Block] = {}
        self._meta: Meta | Callable[[], Meta] = Meta(meta)
        self._box: Box | None = None
        for name, block in (blocks or {}).items():
            self[name] = block
        self.box = box

    @classmethod
    def _trusted(cls, blocks: dict[str, Block], meta: Meta | Callable[[], Meta], box: Box | None) -> Frame:
        """Build from parts a reader has checked; `meta` may be a function that reads it on first use."""
        frame = cls.__new__(cls)
        frame._blocks = blocks
        frame._meta = meta
        frame._box = box
        return frame

    def __getitem__(self, name: str) -> Block:
        try:
            return self._blocks[name]
        except KeyError:
            raise KeyError(f"no block {name!r}; the blocks are {', '.join(self._blocks) or '(none)'}") from None

    def __setitem__(self, name: str, block: Block) -> None:
        where = f"block {name!r}"
        check_name(name, where)
        check_reserved(name, FRAME_RESERVED_BLOCKS, where)
        if not isinstance(block, Block):
            raise SchemaError(f"{where}: give a Block, found {type(block).__name__}", "reject-not-a-block")
        self._blocks[name] = block

    def __delitem__(self, name: str) -> None:
        self[name]
        del self._blocks[name]

    def __contains__(self, name: object) -> bool:
        return name in self._blocks

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._blocks)

    def __bool__(self) -> bool:
        return True

    def keys(self) -> KeysView[str]:
        """Return the block names."""
        return self._blocks.keys()

    def items(self) -> ItemsView[str, Block]:
        """Return the (name, block) pairs."""
        return self._blocks.items()

    @property
    def blocks(self) -> tuple[str, ...]:
        """Block names, in the order they were added."""
        return tuple(self._blocks)

    @property
    def meta(self) -> Meta:
        """The typed meta document."""
        if not isinstance(self._meta, Meta):
            self._meta = self._meta()
        return self._meta

    @meta.setter
    def meta(self, values: Mapping[str, Any]) -> None:
        self._meta = Meta(values)

    @property
    def units(self) -> dict[str, str] | None:
        """The unit system the frame's numbers are in, such as ``{"preset": "real"}``; None when it states none.

        The meta key ``units``; a string there is read as a preset (``docs/spec/frame.md``, typed meta).

        Raises:
            SchemaError: The key holds something other than an object of strings or a string (``reject-units``).
        """
        if "units" not in self.meta:
            return None
        stated = self.meta["units"]
        if isinstance(stated, str):
            return {"preset": stated}
        if not isinstance(stated, dict) or not all(isinstance(unit, str) for unit in stated.values()):
            raise SchemaError(
                f'meta key \'units\' is an object such as {{"preset": "real"}} or {{"length": "nm"}}, found {stated!r}',
                "reject-units",
            )
        return dict(stated)

    @property
    def box(self) -> Box | None:
        """The simulation cell, or None."""
        return self._box

    @box.setter
    def box(self, box: Box | None) -> None:
        if box is not None and not isinstance(box, Box):
            raise SchemaError(f"box: give a Box or None, found {type(box).__name__}", "reject-box-shape")
        self._box = box

    def copy(self) -> Frame:
        """Return an independent frame: blocks, arrays and meta are copied."""
        return Frame._trusted({name: block.copy() for name, block in self._blocks.items()}, Meta(self.meta), self._box)

    # -- choosing, repeating and joining rows -----------------------------------------------------------------------

    def subset(self, rows: npt.ArrayLike | slice, block: str = "atoms", aligned: Sequence[str] = ()) -> Frame:
        """Return a new frame with some rows of a block, in the order given, and the relations among them.

        Same-container references are renumbered, absolute ones are left alone (``docs/spec/frame.md``, row
        references). A row of another block that references a row which is gone goes too, and so does what references
        that one; a reference of a chosen row itself becomes null. Masks, precisions, targets, meta and box are
        carried; a block loses its structural shape when it loses rows.

        Args:
            rows: One bool for each row, indices (negative ones count from the end) without repetition, or a slice.
            block: The block they are rows of.
            aligned: Blocks whose rows are those of `block`, cut alike.

        Raises:
            KeyError: A block is not there.
            SchemaError: Rows that are no choice (``reject-subset-rows``), a reference out of range, or an aligned
                block of another row count (``reject-aligned-count-mismatch``).
        """
        from molrec.model.renumbering import subset

        return subset(self, rows, block, aligned)

    def replicate(self, count: int) -> Frame:
        """Return a new frame with `count` copies of every block's rows, each with relations of its own.

        Copy ``c`` of row ``r`` is row ``c * rows + r``. Identifiers are copied, not made anew; meta and box are
        carried as they are; absolute references are left alone.

        Raises:
            SchemaError: Not a count (``reject-replicate-count``) or a reference out of range.
        """
        from molrec.model.renumbering import replicate

        return replicate(self, count)

    @staticmethod
    def concat(frames: Sequence[Frame]) -> Frame:
        """Return a new frame with the rows of several, end to end, block by block.

        A column that some frames lack is null in their rows. Meta and box are those of the first frame.

        Raises:
            SchemaError: Frames disagree about a column's dtype, row shape, precision or target
                (``reject-concat-disagrees``), or a reference is out of range.
        """
        from molrec.model.renumbering import concat

        return concat(frames)

    def __eq__(self, other: object) -> bool:
        """Compare exactly, bit for bit; the order of blocks and columns means nothing."""
        if not isinstance(other, Frame):
            return NotImplemented
        return self._blocks == other._blocks and self._box == other._box and self.meta == other.meta

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[..., Frame], tuple[Any, ...]]:
        return (Frame._trusted, (self._blocks, self.meta, self._box))

    def __repr__(self) -> str:
        blocks = ", ".join(f"{name}[{block.rows}]" for name, block in self._blocks.items())
        return f"<Frame: {blocks or 'no blocks'}; {len(self.meta)} meta keys; {'box' if self._box else 'no box'}>"
