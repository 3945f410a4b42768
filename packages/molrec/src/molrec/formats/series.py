"""Foreign files as one run: what a trajectory is declared with, and its frames.

Three things meet here. A `FrameSource` is one foreign file: frames from the start, as often as asked. A `FrameSeries`
is what a record's writer needs: a schema, a system, frames with step and time. `ScannedSeries` makes the second of the
first in two passes: it surveys every frame (`survey`), then hands them out arranged as declared. A format module only
ever writes a `FrameSource`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from molrec import typedjson
from molrec.dtypes import numpy_dtype
from molrec.errors import FormatError, SchemaError
from molrec.formats.documents import to_document
from molrec.formats.notes import Notes
from molrec.formats.survey import Survey
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.model.schema import SequenceSchema

__all__ = ["FrameSeries", "FrameSource", "Progress", "ScannedSeries", "TimedFrame", "UniformSource"]

_NO_FRAMES = "reject-no-frames"
_CHANGED = "reject-source-changed"

#: Called with frames done and frames in all, None while that is not known.
type Progress = Callable[[int, int | None], None]


class FrameSource(Protocol):
    """One foreign file, or several read as one.

    Its frames hold everything a frame of the file says, static or not, under canonical names. The per-step keys
    ``step`` or ``timestep`` and ``time`` are taken for the run's steps and times where every frame has them.
    """

    @property
    def name(self) -> str:
        """What to call the source in messages."""

    @property
    def units(self) -> Mapping[str, str] | None:
        """The ``units`` object of its frames, or None when the file does not say."""

    def count(self) -> int | None:
        """Return the number of frames where that is known without reading them, else None."""

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frames from the first one on; may be called again.

        Raises:
            FormatError: The file is damaged (``reject-malformed-source``).
            SchemaError: The notes are strict and something cannot be held.
        """


@runtime_checkable
class UniformSource(FrameSource, Protocol):
    """A source whose frames are all alike, so that one of them tells what the others hold.

    Every frame has the blocks, rows, columns and meta keys of the first, and a cell where that has one. Nothing but
    positions, velocities, forces, cell and per-step values differs between them.
    """

    def steps(self) -> Iterator[int | None]:
        """Yield the step of every frame, without decoding the frames; None where a frame has none."""


class TimedFrame(NamedTuple):
    """One frame of a run with its place in it."""

    frame: Frame
    step: int
    time: float | None


class FrameSeries(Protocol):
    """A run ready to be written."""

    def schema(self) -> SequenceSchema:
        """Return the declaration every frame keeps to."""

    def system(self) -> Frame | None:
        """Return what does not change, or None."""

    def __len__(self) -> int:
        """Return the number of frames."""

    def __iter__(self) -> Iterator[TimedFrame]:
        """Yield the frames with their steps, in ascending order, and times, for all frames or for none."""


class ScannedSeries:
    """The frames of one or more sources, surveyed once and then streamed; one frame is in memory at a time.

    Columns that are the same in every frame go to the system, the others to the trajectory; where the composition
    changes, everything goes to the trajectory. A column missing from some frames is nullable, a meta key missing from
    some frames gets a fill (`survey` says which).

    Args:
        sources: Foreign files, read one after the other.
        precision: Column of the block ``atoms`` to its precision, in the column's unit.
        select: Which frames to take, with a positive stride.
        notes: Told about what is lost or changed.
        progress: Called during both passes.

    Raises:
        FormatError: A source is damaged or no frame is selected.
        SchemaError: The frames do not make one run, or a precision names no suitable column.
    """

    def __init__(
        self,
        sources: Sequence[FrameSource],
        *,
        precision: Mapping[str, float] | None = None,
        select: slice = slice(None),
        notes: Notes | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._sources = sources
        self._notes = Notes() if notes is None else notes
        self._progress = progress
        self._select = self._absolute(select)
        self._length = 0
        self._survey = self._scan()
        self._blocks = {name: block for name, block in self._survey.blocks.items() if block.varying}
        self._metas = {key: meta.resolve(self._survey.frames) for key, meta in self._survey.meta.items()}
        self._system = self._make_system()
        self._schema = self._make_schema()
        self._declare_precision(dict(precision or {}))

    # -- the first pass ---------------------------------------------------------------------------------------------

    def _scan(self) -> Survey:
        survey = Survey(self._notes)
        counts = [source.count() for source in self._sources]
        known = [count for count in counts if count is not None]
        total = len(range(sum(known))[self._select]) if len(known) == len(counts) else None
        if all(isinstance(source, UniformSource) for source in self._sources):
            self._survey_alike(survey)
        else:
            for where, frame in self._selected(self._notes):
                survey.add(frame, where)
                self._length += 1
                if self._progress is not None:
                    self._progress(self._length, total)
        if not survey.frames:
            raise FormatError(
                f"{', '.join(source.name for source in self._sources)}: no frame is left to convert", _NO_FRAMES
            )
        for block in survey.blocks.values():
            block.settle()
        return survey

    def _survey_alike(self, survey: Survey) -> None:
        """Survey uniform sources: one frame of each, and the steps of the others."""
        surveyed: set[int] = set()
        steps = (
            (number, step)
            for number, source in enumerate(self._sources)
            if isinstance(source, UniformSource)
            for step in source.steps()
        )
        for number, step in islice(steps, self._select.start, self._select.stop, self._select.step):
            if number not in surveyed:
                surveyed.add(number)
                source = self._sources[number]
                survey.add(_at_step(next(iter(source.frames(self._notes))), step), f"{source.name}, frame 0")
            else:
                survey.add_step(step)
            self._length += 1

    def _absolute(self, select: slice) -> slice:
        """Return the selection with bounds counted from the first frame, which a stream can follow."""
        if select.step is not None and select.step < 1:
            raise SchemaError(f"frames are taken forwards, found the stride {select.step}", "reject-frame-selection")
        if all(bound is None or bound >= 0 for bound in (select.start, select.stop)):
            return select
        counts = [source.count() for source in self._sources]
        total = sum(
            sum(1 for _ in source.frames(Notes())) if count is None else count
            for source, count in zip(self._sources, counts, strict=True)
        )
        return slice(*select.indices(total))

    def _selected(self, notes: Notes) -> Iterator[tuple[str, Frame]]:
        """Yield each selected frame with the name its source and position give it."""
        frames = self._all(notes)
        try:
            yield from islice(frames, self._select.start, self._select.stop, self._select.step)
        finally:
            frames.close()

    def _all(self, notes: Notes) -> Generator[tuple[str, Frame]]:
        for source in self._sources:
            for position, frame in enumerate(source.frames(notes)):
                yield f"{source.name}, frame {position}", frame

    def _make_system(self) -> Frame | None:
        blocks = {}
        for name, survey in self._survey.blocks.items():
            if survey.static:
                blocks[name] = survey.static_block()
        units = [source.units for source in self._sources]
        if any(unit != units[0] for unit in units):
            raise SchemaError(
                f"the sources are in different units: "
                f"{'; '.join(f'{source.name} {source.units}' for source in self._sources)}; convert them separately",
                "reject-units-disagree",
            )
        meta = Meta()
        if units and units[0] is not None:
            meta.set("units", dict(units[0]), tag="json")
        return Frame(blocks, meta=meta) if blocks or meta else None

    def _make_schema(self) -> SequenceSchema:
        schema = SequenceSchema()
        for survey in self._blocks.values():
            survey.declare(schema)
        for key, resolved in self._metas.items():
            if resolved.has_fill:
                schema.declare_meta(key, resolved.tag, fill=resolved.fill)
            else:
                schema.declare_meta(key, resolved.tag)
        return schema

    def _declare_precision(self, precision: dict[str, float]) -> None:
        for column, value in precision.items():
            if "atoms" in self._schema.blocks and column in self._schema.blocks["atoms"].columns:
                self._schema.declare_precision("atoms", column, value)
            elif self._system is not None and "atoms" in self._system and column in self._system["atoms"]:
                self._system["atoms"].set_precision(column, value)
            else:
                found = [*(self._survey.blocks["atoms"].columns if "atoms" in self._survey.blocks else ())]
                raise SchemaError(
                    f"a precision is given for {column!r}, which no atom has; the columns are {', '.join(found)}",
                    "reject-undeclared",
                )

    # -- the second pass --------------------------------------------------------------------------------------------

    def schema(self) -> SequenceSchema:
        """Return the declaration (a copy)."""
        return self._schema.copy()

    def system(self) -> Frame | None:
        """Return the static part; None when there is none."""
        return self._system

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[TimedFrame]:
        step_key, has_times = self._survey.step_key(), self._survey.has_times()
        shown: set[str] = set()
        done = 0
        # everything was noted in the first pass
        for where, frame in self._selected(Notes()):
            if done == len(self):
                raise FormatError(f"{where}: the file grew while it was read; convert it again", _CHANGED)
            shown.update(name for name in self._blocks if name in frame)
            blocks = {
                name: survey.arrange(_block(frame, name), where)
                for name, survey in self._blocks.items()
                if name in shown
            }
            step = done if step_key is None else int(frame.meta[step_key])
            time = float(frame.meta["time"]) if has_times else None
            yield TimedFrame(Frame(blocks, meta=self._arrange_meta(frame.meta), box=frame.box), step, time)
            done += 1
            if self._progress is not None:
                self._progress(done, len(self))
        if done < len(self):
            names = ", ".join(source.name for source in self._sources)
            raise FormatError(f"{names}: the file shrank while it was read; convert it again", _CHANGED)

    def _arrange_meta(self, meta: Meta) -> Meta:
        arranged = Meta()
        for key, resolved in self._metas.items():
            if key in meta:
                tag = meta.tag(key)
                as_document = resolved.tag == "json" and tag != "json"
                arranged.set(key, _document_of(meta[key], tag) if as_document else meta[key], tag=resolved.tag)
        return arranged


def _at_step(frame: Frame, step: int | None) -> Frame:
    """Return a frame as if it were at another step; its blocks are shared."""
    meta = Meta(frame.meta)
    if step is not None and "step" in meta:
        meta.set("step", step, tag=meta.tag("step"))
    return Frame._trusted(dict(frame.items()), meta, frame.box)


def _block(frame: Frame, name: str) -> Block | None:
    return frame[name] if name in frame else None  # noqa: SIM401 - a frame has no get


def _document_of(value: Any, tag: str) -> Any:
    """Return a tagged value as a document; a vector is an array there, nine numbers are a matrix."""
    dtype, trailing = typedjson.series_column(tag)
    if not trailing:
        return to_document(value)
    array = np.array(value, dtype=numpy_dtype(dtype))
    return to_document(array.reshape(3, 3) if tag == "f64x9" else array)
