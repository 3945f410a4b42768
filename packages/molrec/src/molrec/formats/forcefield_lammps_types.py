"""The types of one kind in a LAMMPS script: numbers, labels, ranges, and the names they are stored by."""

from __future__ import annotations

from molrec.formats.forcefield_source import SourceLine

__all__ = ["TypeNumbers"]


class TypeNumbers:
    """Types of a kind, as far as they are known.

    Args:
        kind: ``atom``, ``bond``, ...
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        #: How many there are, None while nothing has said so.
        self.count: int | None = None
        self._labels: dict[int, str] = {}
        self._numbers: dict[str, int] = {}

    def set_label(self, number: int, label: str, place: SourceLine) -> None:
        """Give a type a label.

        Raises:
            SchemaError: The label stands for another type (``reject-ff-source-malformed``).
        """
        if self._numbers.get(label, number) != number:
            raise place.malformed(
                f"the {self.kind} type label {label!r} stands for type {self._numbers[label]} already"
            )
        self._labels[number] = label
        self._numbers[label] = number

    def name(self, number: int) -> str:
        """Return the name a type is stored by: its label, else its number."""
        return self._labels.get(number, str(number))

    @property
    def names(self) -> list[str]:
        """Names of all types; empty while their number is unknown."""
        return [self.name(number) for number in range(1, (self.count or 0) + 1)]

    def position(self, name: str) -> tuple[int, str]:
        """Return what orders names the way LAMMPS orders types: by number, names without one behind."""
        number = self._numbers.get(name, int(name) if name.isdecimal() else None)
        return (number, "") if number is not None else (2**62, name)

    def resolve(self, token: str, place: SourceLine) -> list[str] | None:
        """Return the names a word stands for, None for all types while their number is unknown.

        Raises:
            SchemaError: No such type, or a range whose end is unknown (``reject-ff-source-malformed``).
        """
        if token in self._numbers:
            return [token]
        if "*" in token:
            return self._range(token, place)
        if token.isdecimal():
            self._check(int(token), place)
            return [self.name(int(token))]
        if self._labels or token[0].isdigit():
            raise place.malformed(f"{self.kind} type {token!r} is neither a number nor a label that was declared")
        return [token]

    def _range(self, token: str, place: SourceLine) -> list[str] | None:
        first, _, last = token.partition("*")
        if any(part and not part.isdecimal() for part in (first, last)):
            raise place.malformed(f"{token!r} is no range of {self.kind} types")
        if self.count is None and not last:
            if first in ("", "1"):
                return None
            raise place.malformed(
                f"{token!r} has no end, since nothing says how many {self.kind} types there are; read the script that "
                "has read_data"
            )
        end = int(last) if last else self.count
        assert end is not None
        self._check(end, place)
        return [self.name(number) for number in range(int(first or 1), end + 1)]

    def _check(self, number: int, place: SourceLine) -> None:
        if number < 1 or (self.count is not None and number > self.count):
            raise place.malformed(f"{self.kind} type {number} does not exist; there are {self.count}")
