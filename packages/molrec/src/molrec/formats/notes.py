"""Notes of a conversion: what could not be carried and what was changed on the way, each said once.

A format module never drops anything in silence. It tells a `Notes` what is lost, and the notes either collect it or,
when they are strict, refuse it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from molrec.errors import SchemaError

__all__ = ["ConversionWarning", "Note", "Notes"]

_RULE = "reject-lossy-conversion"


class ConversionWarning(UserWarning):
    """Something of a source has no place in what it was converted to."""


@dataclass(slots=True)
class Note:
    """One remark.

    Attributes:
        subject: What it is about, such as ``info 'spacegroup'``.
        message: What became of it.
        lost: Whether content was lost; otherwise it is kept in another form.
        count: How many times it was said: frames, as a rule.
    """

    subject: str
    message: str
    lost: bool
    count: int = 1

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.subject}: {self.message}{times}"


class Notes:
    """Collects notes; equal ones are counted, not repeated.

    Args:
        strict: Refuse the first loss instead of noting it.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self._notes: dict[tuple[str, str], Note] = {}

    def lost(self, subject: str, message: str) -> None:
        """Note content that cannot be carried.

        Raises:
            SchemaError: The notes are strict (``reject-lossy-conversion``).
        """
        if self.strict:
            raise SchemaError(
                f"{subject}: {message}; convert without strict to go on without it, or remove it from the source",
                _RULE,
            )
        self._add(subject, message, lost=True)

    def changed(self, subject: str, message: str) -> None:
        """Note content that is kept, exactly, in another form than the source's."""
        self._add(subject, message, lost=False)

    def _add(self, subject: str, message: str, *, lost: bool) -> None:
        found = self._notes.get((subject, message))
        if found is None:
            self._notes[subject, message] = Note(subject, message, lost)
        else:
            found.count += 1

    def __iter__(self) -> Iterator[Note]:
        return iter(self._notes.values())

    def __len__(self) -> int:
        return len(self._notes)

    def warn(self) -> None:
        """Issue a `ConversionWarning` for each loss, for callers who were given no notes to look at."""
        for note in self:
            if note.lost:
                warnings.warn(str(note), ConversionWarning, stacklevel=3)
