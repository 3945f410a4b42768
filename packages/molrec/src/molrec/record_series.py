"""Records as a run to write from: one record, or several that continue each other, some frames or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from molrec.errors import FormatError, SchemaError
from molrec.formats.images import Images
from molrec.formats.series import Progress, TimedFrame
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.schema import SequenceSchema
from molrec.precision import check_precision
from molrec.storage.zarr.record import Record
from molrec.storage.zarr.trajectory_reader import TrajectoryReader

__all__ = ["RecordSeries", "images_of"]


class RecordSeries:
    """The trajectories of one or more records, one after the other, as a `molrec.formats.series.FrameSeries`.

    Args:
        records: Open records with equal declarations and systems.
        precision: Column of the block ``atoms`` to the precision it is to have; coarser than the present one.
        select: Which frames to take, counted over all records.
        progress: Called with frames done and frames in all.

    Raises:
        FormatError: A record has no trajectory (``reject-no-trajectory``).
        SchemaError: The records do not continue each other (``reject-schema-conflict``), a precision names no column
            of the trajectory (``reject-undeclared``) or claims more than the record holds (``reject-finer-precision``),
            or no frame is left (``reject-no-frames``).
    """

    def __init__(
        self,
        records: Sequence[Record],
        *,
        precision: Mapping[str, float] | None = None,
        select: slice = slice(None),
        progress: Progress | None = None,
    ) -> None:
        self._progress = progress
        trajectories = [_trajectory(record) for record in records]
        self._check_alike(records, trajectories)
        self._frames = _Joined(trajectories)
        self._ordinals = range(len(self._frames))[select]
        if select.step is not None and select.step < 1:
            raise SchemaError(f"frames are taken forwards, found the stride {select.step}", "reject-frame-selection")
        if not self._ordinals:
            raise SchemaError(f"no frame is left of {len(self._frames)}", "reject-no-frames")
        self._system = records[0].system
        self._schema = trajectories[0].schema
        self._coarsened = self._declare_precision(dict(precision or {}))
        self._steps: npt.NDArray[np.int64] = np.concatenate([trajectory.steps for trajectory in trajectories])
        times = [trajectory.times for trajectory in trajectories if trajectory.times is not None]
        if times and len(times) < len(trajectories):
            raise SchemaError(
                "some of the records have times and some have none; they do not continue each other",
                "reject-schema-conflict",
            )
        self._times: npt.NDArray[np.float64] | None = np.concatenate(times) if times else None

    @staticmethod
    def _check_alike(records: Sequence[Record], trajectories: Sequence[TrajectoryReader]) -> None:
        for record, trajectory in zip(records[1:], trajectories[1:], strict=True):
            what = "declares other columns or meta" if trajectory.schema != trajectories[0].schema else None
            if record.system != records[0].system:
                what = "has another system"
            if what is not None:
                raise SchemaError(
                    f"{record.source.name} {what} than {records[0].source.name}; only records that continue each "
                    "other become one",
                    "reject-schema-conflict",
                )

    def _declare_precision(self, precision: dict[str, float]) -> list[str]:
        declared = self._schema.blocks["atoms"].columns if "atoms" in self._schema.blocks else {}
        for column, value in precision.items():
            if column not in declared:
                raise SchemaError(
                    f"a precision is given for {column!r}; the atoms of the trajectory have {', '.join(declared)}",
                    "reject-undeclared",
                )
            present = declared[column].precision
            if present is not None and check_precision(value) < present:
                raise SchemaError(
                    f"column {column!r} was stored to {present!r}; it cannot become good to {value!r}",
                    "reject-finer-precision",
                )
            declared[column].precision = None
            self._schema.declare_precision("atoms", column, value)
        return list(precision)

    def schema(self) -> SequenceSchema:
        """Return the declaration (a copy)."""
        return self._schema.copy()

    def system(self) -> Frame | None:
        """Return the first record's system."""
        return self._system

    def __len__(self) -> int:
        return len(self._ordinals)

    def __iter__(self) -> Iterator[TimedFrame]:
        for done, ordinal in enumerate(self._ordinals):
            frame = self._frames[ordinal]
            if self._coarsened and "atoms" in frame:
                blocks = {name: block for name, block in frame.items() if name != "atoms"}
                blocks["atoms"] = _without_precision(frame["atoms"], self._coarsened)
                frame = Frame(blocks, meta=frame.meta, box=frame.box)
            yield TimedFrame(frame, int(self._steps[ordinal]), self._time(ordinal))
            if self._progress is not None:
                self._progress(done + 1, len(self))

    def _time(self, ordinal: int) -> float | None:
        return None if self._times is None else float(self._times[ordinal])

    def images(self) -> Images:
        """Return the frames for a writer of foreign files."""
        chosen = list(self._ordinals)
        return Images(
            _Chosen(self._frames, self._ordinals),
            self._system,
            self._schema,
            self._steps[chosen],
            None if self._times is None else self._times[chosen],
        )


def images_of(records: Sequence[Record], select: slice = slice(None)) -> Images:
    """Return what records hold for a writer of foreign files: the run, else the one frame, else the system alone.

    Raises:
        FormatError: The record has none of these, or several records are not all runs (``reject-no-trajectory``).
        SchemaError: The records do not continue each other.
    """
    if len(records) > 1 or records[0].trajectory is not None:
        return RecordSeries(records, select=select).images()
    single, system = records[0].frame, records[0].system
    frames = [single if single is not None else Frame()] if single is not None or system is not None else []
    if not frames[select]:
        raise FormatError(f"{records[0].source.name} has no frame to write", "reject-no-trajectory")
    return Images(frames, system)


def _trajectory(record: Record) -> TrajectoryReader:
    if record.trajectory is None:
        raise FormatError(f"{record.source.name} has no trajectory", "reject-no-trajectory")
    return record.trajectory


def _without_precision(block: Block, columns: Sequence[str]) -> Block:
    """Return a block that states no precision for some columns; arrays are shared."""
    plain = Block(rows=block.rows)
    for name, values in block.items():
        plain[name] = values
        plain.set_validity(name, block.validity(name))
        if name not in columns:
            plain.set_precision(name, block.precision(name))
    for name, target in block.targets.items():
        plain.set_target(name, target)
    plain.structural_shape = block.structural_shape
    return plain


class _Joined(Sequence[Frame]):
    """Frames of several runs under one numbering."""

    def __init__(self, parts: Sequence[TrajectoryReader]) -> None:
        self._parts = parts
        self._ends = np.cumsum([len(part) for part in parts])

    def __len__(self) -> int:
        return int(self._ends[-1])

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> list[Frame]: ...
    def __getitem__(self, index: int | slice) -> Frame | list[Frame]:
        if isinstance(index, slice):
            return [self[position] for position in range(len(self))[index]]
        ordinal = range(len(self))[index]
        part = int(np.searchsorted(self._ends, ordinal, side="right"))
        return self._parts[part][ordinal - (int(self._ends[part - 1]) if part else 0)]


class _Chosen(Sequence[Frame]):
    """Some frames of a sequence, read when they are asked for."""

    def __init__(self, frames: Sequence[Frame], ordinals: range) -> None:
        self._frames = frames
        self._ordinals = ordinals

    def __len__(self) -> int:
        return len(self._ordinals)

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Frame]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _Chosen(self._frames, self._ordinals[index])
        return self._frames[self._ordinals[index]]
