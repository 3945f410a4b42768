"""Every case can fail: a case that cannot is a defect.

Whatever a case compares is changed leaf by leaf; every look is held against a store that shows something else; every
refusal is asked of an implementation that never refuses, and of one that only ever crashes.
"""

from __future__ import annotations

import dataclasses
import math
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from molrec.conformance import (
    Case,
    CollectionAdapter,
    ConformanceSuite,
    Direction,
    Example,
    ForceFieldAdapter,
    FrameAdapter,
    Implementation,
    RecordAdapter,
    TrajectoryAdapter,
    Verdict,
    first_difference,
    looks,
    making,
    reference,
    tamper,
)
from molrec.conformance.catalogue import CASES
from molrec.conformance.comparison import UNTOLD
from molrec.conformance.content import (
    BlockDeclaration,
    Collection,
    Content,
    ForceField,
    Frame,
    Record,
    Run,
    Schema,
    Trajectory,
)
from molrec.conformance.expectation import expected_content
from molrec.conformance.tamper_collection import header, lose, put_in

from .conformance_breaking import STORES

ACCEPTED = [(case, example) for case in CASES for example in case.examples if not example.refused]
LOOKS = [(case, example, look) for case, example in ACCEPTED for look in example.looks]
#: Leaves looked at of one content: all of a small one, some of a large one.
MOST_LEAVES = 60


def name_of(given: Any) -> str:
    return given.id if isinstance(given, Case) else getattr(given, "name", type(given).__name__) or "-"


# -- content ----------------------------------------------------------------------------------------------------------


def changes(value: Any) -> Iterator[Any]:
    """Give copies of a value with one leaf changed, each leaf once."""
    if isinstance(value, np.ndarray):
        for index in {0, value.size - 1} if value.size else ():
            other = value.copy()
            other.reshape(-1)[index] = _other(value.ravel().tolist()[index])
            yield other
        yield value.reshape((1, *value.shape))
        if value.dtype.kind not in "TU":
            yield np.zeros(value.shape, "u1" if value.dtype != np.uint8 else "i1")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for one in dataclasses.fields(value):
            if (type(value), one.name) in UNTOLD and not getattr(value, one.name):
                continue
            for changed in changes(getattr(value, one.name)):
                if changed is None and (type(value), one.name) in UNTOLD:
                    continue
                yield dataclasses.replace(value, **{one.name: changed})
    elif isinstance(value, dict):
        for key, held in value.items():
            yield {name: other for name, other in value.items() if name != key}
            for changed in changes(held):
                yield {**value, key: changed}
        yield {**value, "another": 1}
    elif isinstance(value, (list, tuple)):
        for place, held in enumerate(value):
            for changed in changes(held):
                yield type(value)([*value[:place], changed, *value[place + 1 :]])
        yield type(value)([*value, 0])
    else:
        yield _other(value)


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return (
            1.0 if math.isnan(value) else -value if value == 0 or math.isinf(value) else math.nextafter(value, math.inf)
        )
    if isinstance(value, int):
        return value + 1 if value < 2 else value - 1
    if isinstance(value, complex):
        return 17.0j
    return value + "x" if isinstance(value, str) else "something"


@pytest.mark.parametrize(("case", "example"), ACCEPTED, ids=name_of)
def test_every_leaf_of_what_is_compared_counts(case: Case, example: Example) -> None:
    expected = expected_content(example.content if example.expected is None else example.expected)
    assert first_difference(expected, expected) is None
    found = list(changes(expected))
    for changed in found[:: max(1, len(found) // MOST_LEAVES)]:
        difference = first_difference(expected, changed)
        assert difference is not None, f"{case.id} does not see the change to {changed}"
        assert str(difference)


# -- implementations that are wrong altogether ------------------------------------------------------------------------


class _Elsewhere:
    """Writes and reads something else than it is asked for."""

    sound: Any

    def write(self, path: Path, content: Any) -> None:
        self.sound.write(path, something_else(content))

    def append(self, path: Path, content: Run) -> None:
        self.sound.append(path, dataclasses.replace(content, frames=content.frames[:-1]))

    def link(self, path: Path, frame: Frame) -> None:
        raise ValueError("nothing can be linked")

    def read(self, path: Path) -> Any:
        return something_else(self.sound.read(path))


def something_else(content: Content) -> Content:
    match content:
        case Frame():
            return dataclasses.replace(content, blocks={**content.blocks, "strange": making.block(rows=1)})
        case Run() | Trajectory():
            schema = content.schema or Schema()
            blocks = {**schema.blocks, "strange": BlockDeclaration()}
            return dataclasses.replace(content, schema=dataclasses.replace(schema, blocks=blocks))
        case ForceField():
            return dataclasses.replace(content, document={**content.document, "strange": 1})
        case Record() | Collection():
            return dataclasses.replace(content, meta={**content.meta, "strange": 1})


class _Deaf:
    """Refuses nothing: what the reference refuses, it takes."""

    sound: Any

    def write(self, path: Path, content: Any) -> None:
        try:
            self.sound.write(path, content)
        except self.sound.refusals:
            path.touch()

    def read(self, path: Path) -> Any:
        try:
            return self.sound.read(path)
        except self.sound.refusals:
            return None

    def link(self, path: Path, frame: Frame) -> None:
        """Take whatever comes."""


class _Crashing(_Deaf):
    """Crashes where it should refuse."""

    def write(self, path: Path, content: Any) -> None:
        try:
            self.sound.write(path, content)
        except self.sound.refusals as error:
            raise RuntimeError("crashed") from error

    def read(self, path: Path) -> Any:
        try:
            return self.sound.read(path)
        except self.sound.refusals as error:
            raise RuntimeError("crashed") from error

    def link(self, path: Path, frame: Frame) -> None:
        try:
            self.sound.link(path, frame)
        except self.sound.refusals as error:
            raise RuntimeError("crashed") from error


KINDS: dict[str, type] = {
    "frame": FrameAdapter,
    "record": RecordAdapter,
    "trajectory": TrajectoryAdapter,
    "forcefield": ForceFieldAdapter,
    "collection": CollectionAdapter,
}


def wrong(behaviour: type) -> Implementation:
    adapters = {}
    for name, kind in KINDS.items():
        sound = getattr(reference.molrec, name)
        members = {"suffix": sound.suffix, "refusals": sound.refusals, "sound": sound}
        adapters[name] = type(behaviour.__name__, (behaviour, kind), members)()
    return Implementation(behaviour.__name__, "0", **adapters)


def test_every_case_of_content_fails_an_implementation_that_does_something_else() -> None:
    suite = ConformanceSuite(wrong(_Elsewhere), folder=STORES)
    for case in CASES:
        failed: dict[Direction, bool] = defaultdict(bool)
        for outcome in suite.outcomes(case):
            if not case.id.startswith("reject-"):
                failed[outcome.direction] |= not outcome.fine
        assert all(failed.values()), f"{case.id}: {dict(failed)}"


@pytest.mark.parametrize(("behaviour", "verdict"), [(_Deaf, Verdict.NOT_REFUSED), (_Crashing, Verdict.ERROR)])
def test_every_refusal_fails_an_implementation_that_does_not_refuse(behaviour: type, verdict: Verdict) -> None:
    suite = ConformanceSuite(wrong(behaviour), folder=STORES)
    for case in CASES:
        refused = [example for example in case.examples if example.refused]
        if refused:
            only = dataclasses.replace(case, examples=tuple(refused))
            verdicts = {str(outcome): outcome.verdict for outcome in suite.outcomes(only)}
            assert set(verdicts.values()) == {verdict}, verdicts


def test_a_store_that_does_not_read_before_the_edit_is_no_refusal() -> None:
    """A reader that refuses everything must not pass the cases of refusals."""

    class Shy(FrameAdapter):
        refusals = (ValueError,)

        def write(self, path: Path, content: Frame) -> None:
            raise ValueError("no")

        def read(self, path: Path) -> Frame:
            raise ValueError("no")

    shy = Implementation("shy", "0", frame=Shy())
    report = ConformanceSuite(shy, folder=STORES).only("reject-corrupt-chunk").run()
    (outcome,) = report.outcomes
    assert outcome.verdict is Verdict.REFUSED
    assert "before the edit" in outcome.detail


# -- looks ------------------------------------------------------------------------------------------------------------


def spoiling(look: Any) -> tuple[tamper.Edit, ...]:
    """Return edits after which a look has something to say."""
    match look:
        case looks.AttributeIs() | looks.NoAttribute():
            return (tamper.attribute(look.node, look.name, ["something", "else"]),)
        case looks.NoNode():
            return (tamper.group(look.node),)
        case looks.ArrayHolds():
            dtype = look.values.dtype.str.lstrip("<|") if look.values.dtype.kind != "b" else "bool"
            return (tamper.array(look.node, dtype, next(changes(look.values))),)
        case looks.Decodable():
            return (tamper.array(look.node, "f8", [1.0], codec="blosc"),)
        case looks.UpdatesAre():
            return (tamper.attribute("trajectory", "nstep", max(look.ordinals)),)
        case looks.ValueHolds():
            return (put_in(look.name, next(iter(look.entries)), "something else"),)
        case looks.HeaderHolds():
            return (header(look.name, next(iter(look.entries)), "something else"),)
        case looks.KeysAre():
            return (lose(look.names[-1]),)
    raise AssertionError(f"{look} has no falsification")


@pytest.mark.parametrize(
    ("case", "example", "look"), [one for one in LOOKS if one[2] != looks.PackedForm()], ids=name_of
)
def test_every_look_sees_a_store_that_shows_something_else(
    case: Case, example: Example, look: looks.Look, tmp_path: Path
) -> None:
    adapter = reference.molrec.adapter(example.content)
    assert adapter is not None
    store = tmp_path / f"good{adapter.suffix}"
    content = example.content
    adapter.write(store, dataclasses.replace(content, continued_at=None) if isinstance(content, Run) else content)
    assert look(store) is None
    spoilt = tmp_path / f"bad{adapter.suffix}"
    tamper.spoilt_copy(store, spoilt, spoiling(look))
    assert look(spoilt), case.id


def test_the_look_at_a_packed_record_sees_compression_and_bad_names(tmp_path: Path) -> None:
    look = looks.PackedForm()
    assert look(tmp_path) is None
    for name, method in (
        ("a", zipfile.ZIP_DEFLATED),
        ("a/", zipfile.ZIP_STORED),
        ("../a", zipfile.ZIP_STORED),
        ("/a", 0),
    ):
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr(name, "")
        assert look(path)
