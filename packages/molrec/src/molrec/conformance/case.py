"""A case: one clause of the specification under an id, with the content and edits that show whether it is kept."""

from __future__ import annotations

from dataclasses import dataclass

from molrec.conformance.content import Content, Frame
from molrec.conformance.looks import Look
from molrec.conformance.tamper import Edit

__all__ = ["Case", "Example"]


@dataclass(frozen=True, slots=True)
class Example:
    """One content that is accepted, or refused, in writing or in reading.

    | ``edits`` | ``refused`` | Asks for |
    |---|---|---|
    | none | False | content written by either side reads back at the other |
    | some | False | the reference's store, edited, reads as ``expected`` |
    | none | True | a writer refuses the content |
    | some | True | the reference's store reads well, and once edited is refused |

    Attributes:
        name: Tells the examples of a case apart; empty for the only one.
        content: What is written.
        expected: The content whose store the edited one must read like; None for ``content``.
        edits: What is done to the store behind the back of every library.
        refused: Whether a refusal is asked for.
        looks: What the bytes that the implementation wrote must show.
        linked: A frame to link with the stored force field: the refusal is that of linking.
    """

    name: str
    content: Content
    expected: Content | None = None
    edits: tuple[Edit, ...] = ()
    refused: bool = False
    looks: tuple[Look, ...] = ()
    linked: Frame | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One clause and its examples.

    Attributes:
        id: Its id, which never changes. That of a case of refusals is the rule it enforces.
        clause: Where the specification states it: a chapter and an anchor, such as ``frame.md#box``.
        title: The clause in one line.
        examples: What shows it.
    """

    id: str
    clause: str
    title: str
    examples: tuple[Example, ...]
