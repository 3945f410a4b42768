"""Metrics: numbers a program logs while it runs, as single events and as series (``docs/spec/metrics.md``).

An event is one number under a key. The events of a key make a series, in which a later event of a step replaces the
earlier one. Knows the rules of both and nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, override

import numpy as np

from molrec import typedjson
from molrec.dtypes import STRING, Array
from molrec.errors import FormatError, MolrecError, SchemaError
from molrec.model.timestamps import is_timestamp

__all__ = ["MetricEvent", "MetricSeries", "SeriesBuilder", "build_series"]

_EVENT = "reject-metrics-event"
_LINE = "reject-metrics-line"


@dataclass(frozen=True, slots=True)
class MetricEvent:
    """One number that was logged.

    Attributes:
        key: What was measured.
        value: The number.
        step: Step it belongs to, None for a series without steps.
        wall_time: RFC 3339 date and time; empty where none was recorded.
        tags: List or object of the producer's, None for none.
        type: A word for what the numbers of the series are.
    """

    key: str
    value: float
    step: int | None = None
    wall_time: str = ""
    tags: Any = None
    type: str = "scalar"

    @classmethod
    def admit(cls, key: Any, value: Any, step: Any, wall_time: Any, tags: Any, type: Any) -> MetricEvent:  # noqa: A002
        """Return the event of what a caller gives.

        Raises:
            SchemaError: A part is inadmissible (``reject-metrics-event``, or a rule of typed JSON).
        """
        if not isinstance(key, str) or not key:
            raise SchemaError(f"metrics: a key is a string that is not empty, found {key!r}", "reject-bad-name")
        where = f"metrics, {key!r}"
        if isinstance(value, np.floating) and value.itemsize < 8:
            value = float(value)
        number = typedjson.coerce("f64", value, f"{where}, value")
        count = None if step is None else typedjson.coerce("i64", step, f"{where}, step")
        if isinstance(wall_time, datetime):
            wall_time = wall_time.isoformat()
        if not is_timestamp(wall_time):
            raise SchemaError(
                f"{where}: wall_time is RFC 3339 with its offset from UTC, such as '2026-01-31T12:00:00Z', "
                f"found {wall_time!r}",
                _EVENT,
            )
        if not isinstance(type, str) or not type:
            raise SchemaError(f"{where}: type is a word such as 'scalar', found {type!r}", _EVENT)
        if tags is not None and not isinstance(tags, (list, tuple, Mapping)):
            raise SchemaError(f"{where}: tags are a list or an object, found {tags!r}", _EVENT)
        kept = None if tags is None else typedjson.coerce("json", _plain(tags), f"{where}, tags")
        typedjson.coerce("string", type, f"{where}, type")
        typedjson.coerce("string", key, f"{where}, key")
        return cls(key, number, count, wall_time, kept, type)

    def to_line(self) -> bytes:
        """Return the event as one line of the log."""
        row: dict[str, Any] = {"t": self.type, "k": self.key}
        if self.step is not None:
            row["s"] = typedjson.encode("i64", self.step)
        if self.wall_time:
            row["w"] = self.wall_time
        row["v"] = typedjson.encode("f64", self.value)
        if self.tags is not None:
            row["tags"] = self.tags
        return typedjson.dump_json(row).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes, where: str) -> MetricEvent:
        """Return the event a line of the log holds.

        Raises:
            FormatError: The line is no event (``reject-metrics-line``).
        """
        try:
            row = typedjson.parse_json(line, where)
            if not isinstance(row, dict):
                raise FormatError(f"{where}: an event is an object, found {row!r}", _LINE)
            if "v" not in row:
                raise FormatError(f"{where}: an event has a value, v", _LINE)
            value, step = row["v"], row.get("s")
            return cls(
                _text(row, "k", None, where),
                value if type(value) is float else typedjson.decode("f64", value, f"{where}, v"),
                None if step is None else typedjson.decode("i64", step, f"{where}, s"),
                _text(row, "w", "", where),
                _tags(row, where),
                _text(row, "t", "scalar", where),
            )
        except MolrecError as error:
            raise FormatError(error.message, _LINE) from error


def _plain(tags: Any) -> Any:
    return dict(tags) if isinstance(tags, Mapping) else list(tags)


def _text(row: Mapping[str, Any], key: str, default: str | None, where: str) -> str:
    found = row.get(key)
    if found is None and default is not None:
        return default
    if not isinstance(found, str) or not found:
        raise FormatError(f"{where}: {key} is a string that is not empty, found {found!r}", _LINE)
    return found


def _tags(row: Mapping[str, Any], where: str) -> Any:
    found = row.get("tags")
    if found is not None and not isinstance(found, (list, dict)):
        raise FormatError(f"{where}: tags are a list or an object, found {found!r}", _LINE)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class MetricSeries:
    """The events of one key, one entry for each step.

    Attributes:
        values: f64 ``(n,)``.
        steps: i64 ``(n,)``, or None for a series without steps.
        wall_time: String ``(n,)``, RFC 3339; empty where none was recorded.
        type: A word for what the numbers are.
    """

    values: Array
    steps: Array | None = None
    wall_time: Array = field(default_factory=lambda: np.empty(0, dtype=STRING))
    type: str = "scalar"

    def __post_init__(self) -> None:
        if not len(self.wall_time) and len(self.values):
            object.__setattr__(self, "wall_time", np.full(len(self.values), "", dtype=STRING))
        shapes = {
            self.values.shape,
            self.wall_time.shape,
            self.values.shape if self.steps is None else self.steps.shape,
        }
        kinds = (self.values.dtype.name, "int64" if self.steps is None else self.steps.dtype.name)
        if len(shapes) != 1 or self.values.ndim != 1 or kinds != ("float64", "int64") or self.wall_time.dtype != STRING:
            raise SchemaError(
                f"a series has values f64 (n,), steps i64 (n,) or None, wall_time string (n,); found values "
                f"{self.values.dtype} {self.values.shape}, wall_time {self.wall_time.dtype} {self.wall_time.shape}"
                + ("" if self.steps is None else f", steps {self.steps.dtype} {self.steps.shape}"),
                _EVENT,
            )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def latest(self) -> int:
        """Position of the entry of the greatest step, or of the last one where there are no steps."""
        return len(self) - 1 if self.steps is None else int(np.argmax(self.steps))

    def settled(self) -> MetricSeries:
        """Return the series with one entry for each step: the last of them, in the place of the first."""
        if self.steps is None or len(self) < 2:
            return self
        _, first = np.unique(self.steps, return_index=True)
        if len(first) == len(self):
            return self
        _, from_end = np.unique(self.steps[::-1], return_index=True)
        order = (len(self) - 1 - from_end)[np.argsort(first)]
        return MetricSeries(self.values[order], self.steps[order], self.wall_time[order], self.type)

    def followed_by(self, later: MetricSeries, where: str) -> MetricSeries:
        """Return this series with later entries; those of a step it has replace its own.

        Raises:
            FormatError: The later part has another type, or steps where this has none (``reject-metrics-event``).
        """
        if (self.steps is None) != (later.steps is None) or self.type != later.type:
            raise FormatError(
                f"{where}: the log continues a series of type {self.type!r} {_with(self.steps)} with type "
                f"{later.type!r} {_with(later.steps)}",
                _EVENT,
            )
        steps = None if self.steps is None or later.steps is None else np.concatenate([self.steps, later.steps])
        values = np.concatenate([self.values, later.values])
        return MetricSeries(values, steps, np.concatenate([self.wall_time, later.wall_time]), self.type).settled()

    def to_events(self, key: str) -> Iterable[MetricEvent]:
        """Yield every entry as an event."""
        steps: Sequence[int | None] = [None] * len(self) if self.steps is None else self.steps.tolist()
        for value, step, wall_time in zip(self.values.tolist(), steps, self.wall_time.tolist(), strict=True):
            yield MetricEvent(key, value, step, wall_time, None, self.type)

    @override
    def __repr__(self) -> str:
        return f"<MetricSeries {self.type}, {len(self)} entries {_with(self.steps)}>"


def _with(steps: Array | None) -> str:
    return "without steps" if steps is None else "with steps"


@dataclass(slots=True)
class SeriesBuilder:
    """Gathers the events of one key; all have a step or none has, and all have one type."""

    key: str
    type: str
    has_steps: bool
    values: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    wall_times: list[str] = field(default_factory=list)

    def check(self, event: MetricEvent, where: str) -> None:
        """Refuse an event unlike its series.

        Raises:
            SchemaError: Another type, or a step where the others have none and the reverse
                (``reject-metrics-event``).
        """
        if event.type != self.type:
            raise SchemaError(
                f"{where}: {self.key!r} is a series of type {self.type!r}, found an event of type {event.type!r}; "
                "log it under another key",
                _EVENT,
            )
        if (event.step is not None) != self.has_steps:
            raise SchemaError(
                f"{where}: {self.key!r} is a series {'with' if self.has_steps else 'without'} steps, found an event "
                f"{'with' if event.step is not None else 'without'} one; a series has a step in every event or in none",
                _EVENT,
            )

    def add(self, event: MetricEvent) -> None:
        """Take a checked event."""
        self.values.append(event.value)
        self.wall_times.append(event.wall_time)
        if event.step is not None:
            self.steps.append(event.step)

    def build(self) -> MetricSeries:
        """Return the series of the events taken."""
        return MetricSeries(
            np.array(self.values, dtype=np.float64),
            np.array(self.steps, dtype=np.int64) if self.has_steps else None,
            np.array(self.wall_times, dtype=STRING),
            self.type,
        ).settled()


def build_series(events: Iterable[tuple[str, MetricEvent]]) -> dict[str, MetricSeries]:
    """Return the series of events, each with what to call it, by key in order of first appearance.

    Raises:
        SchemaError: An event unlike its series (``reject-metrics-event``).
    """
    builders: dict[str, SeriesBuilder] = {}
    for where, event in events:
        builder = builders.get(event.key)
        if builder is None:
            builder = builders[event.key] = SeriesBuilder(event.key, event.type, event.step is not None)
        builder.check(event, where)
        builder.add(event)
    return {key: builder.build() for key, builder in builders.items()}
