"""What a run of the suite found: one outcome per example and direction, as text, JSON and JUnit XML."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from xml.etree import ElementTree as ET

from molrec.conformance.comparison import Difference

__all__ = ["Direction", "Outcome", "Report", "Verdict"]


class Direction(StrEnum):
    """Which side does what."""

    WRITE = "write"
    """The implementation writes, the reference reads."""
    READ = "read"
    """The reference writes, the implementation reads."""
    APPEND = "append"
    """The reference writes, the implementation continues, the reference reads."""
    LINK = "link"
    """The reference writes, the implementation links a frame."""


class Verdict(StrEnum):
    """How an example went."""

    PASSED = "passed"
    DIFFERS = "differs"
    """What was read is not what was written."""
    LOOKS_WRONG = "looks wrong"
    """The bytes do not show what the specification asks for."""
    REFUSED = "refused wrongly"
    NOT_REFUSED = "not refused"
    ERROR = "error"
    """An exception that is no refusal."""
    NOT_SUPPORTED = "not supported"
    """The implementation states that it does not do this."""


_FINE = frozenset({Verdict.PASSED, Verdict.NOT_SUPPORTED})


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one example went in one direction.

    Attributes:
        case: Id of the case.
        group: ``frame``, ``trajectory``, ``record``, ``forcefield`` or ``collection``: the adapter that was used.
        example: Name of the example, empty for the only one of its case.
        direction: Which side did what.
        verdict: How it went.
        detail: What happened, in a line; the reason where it is not supported.
        difference: The first difference, where contents differ.
    """

    case: str
    group: str
    example: str
    direction: Direction
    verdict: Verdict
    detail: str = ""
    difference: Difference | None = None

    @property
    def fine(self) -> bool:
        """Whether this is no failure."""
        return self.verdict in _FINE

    @property
    def label(self) -> str:
        """Case, example and direction, in words."""
        example = f" [{self.example}]" if self.example else ""
        return f"{self.case}{example}, {self.direction}"

    def __str__(self) -> str:
        return f"{self.label}: {self.verdict}" + (f": {self.detail}" if self.detail else "")

    def document(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        difference = None
        if self.difference is not None:
            difference = {
                "path": self.difference.path,
                "expected": repr(self.difference.expected),
                "found": repr(self.difference.found),
            }
        return {
            "case": self.case,
            "group": self.group,
            "example": self.example,
            "direction": str(self.direction),
            "verdict": str(self.verdict),
            "detail": self.detail,
            "difference": difference,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Every outcome of a run.

    Attributes:
        implementation: Name and version of what was judged.
        reference: Name and version of what it was judged against.
        outcomes: In the order of the cases.
    """

    implementation: str
    reference: str
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing failed; what is not supported is no failure, and is shown."""
        return all(outcome.fine for outcome in self.outcomes)

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The outcomes that are failures."""
        return tuple(outcome for outcome in self.outcomes if not outcome.fine)

    @property
    def counts(self) -> dict[str, int]:
        """Verdict to number of outcomes, verdicts without any left out."""
        counted = Counter(outcome.verdict for outcome in self.outcomes)
        return {str(verdict): counted[verdict] for verdict in Verdict if counted[verdict]}

    def by_case(self) -> Iterator[tuple[str, tuple[Outcome, ...]]]:
        """Give every case with its outcomes."""
        cases: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            cases.setdefault(outcome.case, []).append(outcome)
        for name, found in cases.items():
            yield name, tuple(found)

    def text(self, *, verbose: bool = False) -> str:
        """Return the report for people: what failed, what is not supported and why, and the counts.

        Args:
            verbose: Name the passed cases as well.
        """
        lines = [f"{self.implementation}, judged against {self.reference}", ""]
        for name, outcomes in self.by_case():
            failures = [outcome for outcome in outcomes if not outcome.fine]
            if failures:
                lines += [f"failed {name}", *(f"    {_about(outcome)}" for outcome in failures)]
            elif verbose and all(outcome.verdict is Verdict.PASSED for outcome in outcomes):
                lines.append(f"passed {name}")
        for reason, cases in self._not_supported().items():
            lines += [
                f"not supported: {reason}",
                *textwrap.wrap(
                    ", ".join(cases), 116, break_on_hyphens=False, initial_indent="    ", subsequent_indent="    "
                ),
            ]
        lines += [""] * (len(lines) > 2)
        number = len({outcome.case for outcome in self.outcomes})
        counted = [f"{count} {verdict}" for verdict, count in self.counts.items()]
        lines.append(f"{number} cases, {len(self.outcomes)} trials: {', '.join(counted) or 'none run'}")
        return "\n".join(lines) + "\n"

    def _not_supported(self) -> dict[str, list[str]]:
        """Return each reason with the cases it stands for."""
        reasons: dict[str, dict[str, None]] = {}
        for outcome in self.outcomes:
            if outcome.verdict is Verdict.NOT_SUPPORTED:
                reasons.setdefault(outcome.detail, {})[outcome.case] = None
        return {reason: list(cases) for reason, cases in reasons.items()}

    def json(self) -> str:
        """Return the report as a JSON document."""
        document = {
            "implementation": self.implementation,
            "reference": self.reference,
            "passed": self.passed,
            "counts": self.counts,
            "outcomes": [outcome.document() for outcome in self.outcomes],
        }
        return json.dumps(document, indent=1, ensure_ascii=True) + "\n"

    def junit(self) -> str:
        """Return the report as JUnit XML, one test case per outcome."""
        errors = sum(outcome.verdict is Verdict.ERROR for outcome in self.outcomes)
        suite = ET.Element(
            "testsuite",
            name=f"conformance of {self.implementation}",
            tests=str(len(self.outcomes)),
            failures=str(len(self.failures) - errors),
            errors=str(errors),
            skipped=str(self.counts.get(str(Verdict.NOT_SUPPORTED), 0)),
        )
        for outcome in self.outcomes:
            case = ET.SubElement(suite, "testcase", classname=outcome.group, name=outcome.label)
            if outcome.verdict is Verdict.PASSED:
                continue
            kind = {Verdict.ERROR: "error", Verdict.NOT_SUPPORTED: "skipped"}.get(outcome.verdict, "failure")
            ET.SubElement(case, kind, message=_printable(f"{outcome.verdict}: {outcome.detail}"))
        return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _about(outcome: Outcome) -> str:
    example = f"[{outcome.example}] " if outcome.example else ""
    return f"{example}{outcome.direction}: {outcome.verdict}" + (f": {outcome.detail}" if outcome.detail else "")


def _printable(text: str) -> str:
    """Return a text without characters that XML has no place for."""
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text)
