"""The elements a model knows, in order, and their places in that order.

It does not know which elements exist, nor files: any ordered list of atomic numbers makes a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["AtomicNumberTable", "get_atomic_number_table_from_zs"]


class AtomicNumberTable:
    """Atomic numbers in a fixed order; the place of each is the index a model uses.

    The order is the caller's: nothing is sorted and nothing dropped here, since models are also built from a list that
    is ordered already. `get_atomic_number_table_from_zs` sorts and drops duplicates.

    Attributes:
        zs: The atomic numbers in order, as plain integers; a copy of what was given.
    """

    def __init__(self, zs: Sequence[int]) -> None:
        self.zs = [int(z) for z in zs]

    def __len__(self) -> int:
        return len(self.zs)

    def __str__(self) -> str:
        return f"AtomicNumberTable: {tuple(self.zs)}"

    def __repr__(self) -> str:
        return f"AtomicNumberTable({self.zs})"

    def index_to_z(self, index: int) -> int:
        """Return the atomic number at a place.

        Args:
            index: Place in the table, from 0.

        Raises:
            IndexError: The table has no such place.
        """
        if not 0 <= index < len(self.zs):
            raise IndexError(f"index {index} is outside {self}, which has {len(self.zs)} entries")
        return self.zs[index]

    def z_to_index(self, atomic_number: int) -> int:
        """Return the place of an atomic number, the first one if it stands there twice.

        Args:
            atomic_number: The number to look for.

        Raises:
            ValueError: The table does not hold it.
        """
        try:
            return self.zs.index(atomic_number)
        except ValueError:
            raise ValueError(f"atomic number {atomic_number} is not in {self}") from None


def get_atomic_number_table_from_zs(zs: Iterable[int]) -> AtomicNumberTable:
    """Make a table of the distinct atomic numbers, in ascending order.

    Args:
        zs: Atomic numbers in any order and number, for instance those of every atom of a data set.
    """
    return AtomicNumberTable(sorted({int(z) for z in zs}))
