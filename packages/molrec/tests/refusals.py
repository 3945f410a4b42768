"""What every test of a refusal checks: the class, the rule, the place named, and that nothing stored has moved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import molrec as mr

from .strategies import files


@contextmanager
def refused(rule: str, *mentions: str, kind: type[mr.MolrecError] = mr.SchemaError) -> Iterator[None]:
    """Expect a refusal.

    Args:
        rule: Id of the rule; several it may be, separated by ``|``, where a call breaks more than one.
        mentions: What the message must name: block, column, ordinal, values.
        kind: `SchemaError` for a call at fault, `FormatError` for a store at fault.
    """
    with pytest.raises(kind) as caught:
        yield
    assert type(caught.value) is kind
    assert caught.value.rule in rule.split("|"), str(caught.value)
    for mention in mentions:
        assert mention in str(caught.value), f"the message does not name {mention!r}: {caught.value}"


@contextmanager
def untouched(root: Path) -> Iterator[None]:
    """Expect every file below a folder to be byte for byte the same afterwards."""
    before = files(root)
    yield
    after = files(root)
    assert before.keys() == after.keys()
    changed = [name for name, content in before.items() if after[name] != content]
    assert not changed


def read_everything(location: Path) -> None:
    """Read all a record holds, the way a careful user does: every section, frame, series and bulk column."""
    with mr.open(location) as record:
        for section in (record.meta, record.sections, record.frame, record.system, record.status, record.method):
            repr(section)
        for mapping in (record.observables, record.metrics):
            for name in mapping or ():
                repr(mapping and mapping[name])
        trajectory = record.trajectory
        if trajectory is None:
            return
        repr(trajectory.steps)
        repr(trajectory.times)
        for key in trajectory.meta:
            repr(trajectory.meta[key])
        for ordinal in range(len(trajectory)):
            repr(trajectory[ordinal].meta)
            trajectory.box_at(ordinal)
        for name in trajectory.schema.blocks:
            trajectory.read(name)
