"""`ConformanceSuite`: judge an implementation case by case, in both directions, against the reference."""

from __future__ import annotations

import copy
import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from molrec.conformance.adapters import Adapter, ForceFieldAdapter, Implementation, TrajectoryAdapter
from molrec.conformance.case import Case, Example
from molrec.conformance.comparison import first_difference
from molrec.conformance.content import Collection, Content, ForceField, Frame, Record, Run
from molrec.conformance.expectation import expected_content, without_stamps
from molrec.conformance.looks import Look
from molrec.conformance.report import Direction, Outcome, Report, Verdict
from molrec.conformance.tamper import spoilt_copy

__all__ = ["ConformanceSuite", "group_of"]

#: Told after each case: its id, cases done, cases in all.
type Progress = Callable[[str, int, int], None]

type _AnyAdapter = Adapter[Any, Any]

_GROUPS: dict[type, str] = {
    Frame: "frame",
    Run: "trajectory",
    Record: "record",
    ForceField: "forcefield",
    Collection: "collection",
}


def group_of(example: Example) -> str:
    """Return which adapter an example asks for."""
    return _GROUPS[type(example.content)]


@dataclass(frozen=True, slots=True)
class _Failed:
    """What an exception said; it is not kept itself, since it holds on to the objects of the implementation.

    Attributes:
        text: Its type and message.
        refusal: Whether it is one of the declared refusals.
        reason: The message, where it says that the implementation does not do this at all.
    """

    text: str
    refusal: bool
    reason: str | None = None


class ConformanceSuite:
    """Judges one implementation.

    Args:
        implementation: What is judged.
        reference: What writes for it and reads what it wrote; `molrec.conformance.reference.molrec` when None.
        cases: What is asked; every case of the specification when None.
        folder: Where stores are made, each gone once it is judged; the system's temporary folder when None.
    """

    def __init__(
        self,
        implementation: Implementation,
        reference: Implementation | None = None,
        cases: Sequence[Case] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.implementation = implementation
        self.reference = _default_reference() if reference is None else reference
        self.cases = _all_cases() if cases is None else tuple(cases)
        self.folder = folder

    def only(self, pattern: str) -> ConformanceSuite:
        """Return a suite of the cases whose id fits a pattern such as ``typed-meta-*``."""
        chosen = [case for case in self.cases if fnmatchcase(case.id, pattern)]
        return ConformanceSuite(self.implementation, self.reference, chosen, self.folder)

    def run(self, progress: Progress | None = None) -> Report:
        """Run every case.

        Args:
            progress: Told after each case.
        """
        outcomes = []
        for number, case in enumerate(self.cases, start=1):
            outcomes += list(self.outcomes(case))
            if progress is not None:
                progress(case.id, number, len(self.cases))
        one, other = self.implementation, self.reference
        return Report(f"{one.name} {one.version}", f"{other.name} {other.version}", tuple(outcomes))

    def outcomes(self, case: Case) -> Iterator[Outcome]:
        """Run one case; give its outcomes as they come."""
        for example in case.examples:
            adapter = self.implementation.adapter(example.content)
            reason = self.implementation.skips.get(case.id)
            if adapter is None and reason is None:
                reason = f"no adapter for {group_of(example)}"
            with tempfile.TemporaryDirectory(prefix="molrec-conformance-", dir=self.folder) as folder:
                bench = _Bench(case, example, adapter, self.reference, Path(folder))
                for direction, judge in bench.trials():
                    verdict = Outcome(
                        case.id, group_of(example), example.name, direction, Verdict.NOT_SUPPORTED, reason or ""
                    )
                    yield verdict if reason is not None else judge()


def _default_reference() -> Implementation:
    from molrec.conformance.reference import molrec

    return molrec


def _all_cases() -> tuple[Case, ...]:
    from molrec.conformance.catalogue import CASES

    return CASES


class _Bench:
    """One example under way: where its stores are, and who writes and reads them."""

    def __init__(
        self, case: Case, example: Example, adapter: _AnyAdapter | None, reference: Implementation, folder: Path
    ) -> None:
        self._case = case
        self._example = example
        self._folder = folder
        self._numbers = count()
        judge = reference.adapter(example.content)
        assert judge is not None, f"the reference has no adapter for {group_of(example)}"
        self._reference = judge
        #: Without an adapter nothing is tried; the trials there would be are told all the same.
        self._adapter = adapter if adapter is not None else judge

    @cached_property
    def _expected(self) -> Content:
        """What the specification makes of the content; content to be refused has nothing."""
        example = self._example
        return expected_content(example.content if example.expected is None else example.expected)

    def trials(self) -> Iterator[tuple[Direction, Callable[[], Outcome]]]:
        """Give what there is to try."""
        example = self._example
        continued = isinstance(example.content, Run) and example.content.continued_at is not None
        if example.linked is not None:
            yield Direction.LINK, self._try_link
        elif example.edits and continued:
            yield Direction.APPEND, self._try_append
        elif example.edits:
            yield Direction.READ, self._try_refused_read if example.refused else self._try_read
        elif example.refused:
            yield Direction.WRITE, self._try_refused_write
        else:
            yield Direction.WRITE, self._try_write
            yield Direction.READ, self._try_read
            if continued:
                yield Direction.APPEND, self._try_append

    # -- good content -----------------------------------------------------------------------------------------------

    def _try_write(self) -> Outcome:
        path = self._path()
        failed = self._attempt(lambda: self._write(self._adapter, path), self._adapter)
        if failed is not None:
            return self._unexpected(Direction.WRITE, failed)
        for look in self._example.looks:
            wrong = _seen(look, path)
            if wrong is not None:
                return self._outcome(Direction.WRITE, Verdict.LOOKS_WRONG, wrong)
        return self._compare(Direction.WRITE, self._reference, path, "the reference")

    def _try_read(self) -> Outcome:
        store = self._stored()
        return self._compare(Direction.READ, self._adapter, self._spoilt(store), "")

    def _try_append(self) -> Outcome:
        run = self._handed_out()
        assert isinstance(run, Run)
        assert isinstance(self._adapter, TrajectoryAdapter)
        first, rest = _sessions(run)
        path = self._path()
        self._reference.write(path, first)
        path = self._spoilt(path)
        adapter = self._adapter
        failed = self._attempt(lambda: adapter.append(path, rest), self._adapter)
        if failed is not None:
            return self._unexpected(Direction.APPEND, failed)
        return self._compare(Direction.APPEND, self._reference, path, "the reference")

    def _try_link(self) -> Outcome:
        frame = self._example.linked
        assert frame is not None
        assert isinstance(self._adapter, ForceFieldAdapter)
        store, adapter = self._stored(), self._adapter
        before = self._compare(Direction.LINK, self._adapter, store, "before linking")
        if self._example.refused and before.verdict is Verdict.REFUSED:
            # Reading refuses already what linking must.
            return self._outcome(Direction.LINK, Verdict.PASSED)
        if before.verdict is not Verdict.PASSED:
            return before
        failed = self._attempt(lambda: adapter.link(store, frame), self._adapter)
        if self._example.refused:
            return self._wanted(Direction.LINK, failed, "the frame was linked")
        return before if failed is None else self._unexpected(Direction.LINK, failed)

    # -- what is to be refused --------------------------------------------------------------------------------------

    def _try_refused_write(self) -> Outcome:
        path = self._path()
        failed = self._attempt(lambda: self._write(self._adapter, path), self._adapter)
        return self._wanted(Direction.WRITE, failed, "it was written")

    def _try_refused_read(self) -> Outcome:
        store = self._stored()
        before = self._compare(Direction.READ, self._adapter, store, "before the edit")
        if before.verdict is not Verdict.PASSED:
            return before
        spoilt = self._spoilt(store)
        failed = self._attempt(lambda: self._adapter.read(spoilt), self._adapter)
        return self._wanted(Direction.READ, failed, "the edited store was read")

    # -- steps ------------------------------------------------------------------------------------------------------

    def _handed_out(self) -> Content:
        """Return the content to hand to an adapter: a copy, so that nobody can change what he is judged by."""
        return copy.deepcopy(self._example.content)

    def _path(self) -> Path:
        return self._folder / f"store-{next(self._numbers)}{self._adapter.suffix}"

    def _stored(self) -> Path:
        """Return a store the reference wrote, in the form the implementation reads."""
        path = self._path()
        self._write(self._reference, path)
        return path

    def _spoilt(self, store: Path) -> Path:
        if not self._example.edits:
            return store
        path = self._path()
        spoilt_copy(store, path, self._example.edits)
        return path

    def _write(self, adapter: _AnyAdapter, path: Path) -> None:
        content = self._handed_out()
        packed = path.suffix == ".zip"
        if not isinstance(content, Run) or content.continued_at is None or packed:
            adapter.write(path, content)
            return
        assert isinstance(adapter, TrajectoryAdapter)
        first, rest = _sessions(content)
        adapter.write(path, first)
        adapter.append(path, rest)

    def _compare(self, direction: Direction, adapter: _AnyAdapter, path: Path, who: str) -> Outcome:
        found: list[Content] = []
        failed = self._attempt(lambda: found.append(adapter.read(path)), adapter)
        if failed is not None:
            return self._unexpected(direction, failed, who)
        difference = first_difference(self._expected, self._comparable(found[0]))
        if difference is None:
            return self._outcome(direction, Verdict.PASSED)
        prefix = f"{who}: " if who else ""
        outcome = self._outcome(direction, Verdict.DIFFERS, f"{prefix}{difference}")
        return dataclasses.replace(outcome, difference=difference)

    def _comparable(self, found: Content) -> Content:
        """Return what was read without what writers stamp of their own."""
        written = self._expected
        if isinstance(found, (Record, Collection)) and type(written) is type(found):
            return dataclasses.replace(found, meta=without_stamps(found.meta, written.meta))
        return found

    @staticmethod
    def _attempt(action: Callable[[], object], adapter: _AnyAdapter) -> _Failed | None:
        """Return the exception an action ends in, None where it ends well."""
        try:
            action()
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of an extension module is no Exception, and is a verdict
            text = f"{type(error).__name__}: {error}"
            if isinstance(error, NotImplementedError):
                return _Failed(text, refusal=False, reason=str(error))
            return _Failed(text, isinstance(error, adapter.refusals))
        return None

    def _unexpected(self, direction: Direction, failed: _Failed, who: str = "") -> Outcome:
        if failed.reason is not None:
            return self._outcome(direction, Verdict.NOT_SUPPORTED, failed.reason)
        prefix = f"{who}: " if who else ""
        return self._outcome(direction, Verdict.REFUSED if failed.refusal else Verdict.ERROR, f"{prefix}{failed.text}")

    def _wanted(self, direction: Direction, failed: _Failed | None, otherwise: str) -> Outcome:
        if failed is None:
            return self._outcome(direction, Verdict.NOT_REFUSED, otherwise)
        if failed.refusal:
            return self._outcome(direction, Verdict.PASSED)
        return self._unexpected(direction, failed)

    def _outcome(self, direction: Direction, verdict: Verdict, detail: str = "") -> Outcome:
        where = detail.replace(f"{self._folder}/", "")
        return Outcome(self._case.id, group_of(self._example), self._example.name, direction, verdict, where)


def _seen(look: Look, path: Path) -> str | None:
    try:
        return look(path)
    except Exception as error:  # noqa: BLE001 - whatever zarr-python or LMDB cannot make of a store is what is wrong with it
        return f"{type(error).__name__}: {error}"


def _sessions(run: Run) -> tuple[Run, Run]:
    """Return the two runs of a run that is continued."""
    cut = run.continued_at
    assert cut is not None
    return (
        dataclasses.replace(run, frames=run.frames[:cut], continued_at=None),
        dataclasses.replace(run, frames=run.frames[cut:], continued_at=None),
    )
