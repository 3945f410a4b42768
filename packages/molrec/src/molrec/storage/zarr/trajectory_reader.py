"""`TrajectoryReader`: any frame of a stored run, or whole columns without frames (``docs/spec/trajectory.md``).

The reader stands at the frame count it found when it was opened. Blocks, series and cells are opened when first
needed; every chunk read is verified.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from molrec import typedjson
from molrec.dtypes import Array, numpy_dtype
from molrec.errors import FormatError, SchemaError
from molrec.model.alignment import aligned_pairs, check_run, join_columns
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.model.presentation import as_presented
from molrec.model.progression import StepProgression, TimeProgression, read_progression
from molrec.model.resolved import ResolvedRules, check_reference
from molrec.model.schema import SequenceSchema
from molrec.storage.zarr import names
from molrec.storage.zarr.arrival import check_arrival
from molrec.storage.zarr.block_reader import BlockReader, check_ascending, read_dense
from molrec.storage.zarr.box_reader import BoxSeries
from molrec.storage.zarr.bulk_read import read_columns
from molrec.storage.zarr.chunk_cache import ChunkCache
from molrec.storage.zarr.frame_group import group_attributes, read_section_rows
from molrec.storage.zarr.journal import JOURNAL_NAME, read_lines
from molrec.storage.zarr.memory import require_memory
from molrec.storage.zarr.sources import Source, read_document

__all__ = ["TrajectoryReader", "TrajectoryView"]

_MOST_FRAMES = 2**63
#: What working out the step or time of a frame takes, at most.
_STAMP_BYTES = 32


class SeriesMeta(Mapping[str, Any]):
    """The per-step meta of a run: each declared key as one array over the frames.

    A vector tag gives ``(frames, width)``; a ``json`` key gives a list of documents.
    """

    def __init__(self, source: Source, schema: SequenceSchema, nstep: int) -> None:
        self._source = source
        self._schema = schema
        self._nstep = nstep
        self._values: dict[str, Any] = {}
        self._readers = {key: self._open(key) for key in schema.meta} if nstep else {}

    def _open(self, key: str) -> Any:
        path = f"{names.SERIES_META}/{key}"
        tag = self._schema.meta[key].tag
        reader = read_dense(self._source, path, *typedjson.series_column(tag), least=self._nstep)
        if reader is None:
            raise FormatError(f"{self._source.name}: {path} is declared but not there", "reject-array-missing")
        stated = reader.layout.attributes.get(names.META_DTYPE)
        if stated != tag:
            raise FormatError(
                f"{self._source.name}: {path} states {names.META_DTYPE} {stated!r} but is declared {tag!r}",
                "reject-array-disagrees",
            )
        return reader

    def __getitem__(self, key: str) -> Any:
        if key not in self._values:
            tag = self._schema.meta[key].tag
            dtype, trailing = typedjson.series_column(tag)
            raw = self._readers[key].read(0, self._nstep) if self._nstep else _empty(dtype, trailing)
            if tag == "json":
                where = f"{self._source.name}: {names.SERIES_META}/{key}"
                self._values[key] = [typedjson.parse_json(text, f"{where}[{i}]") for i, text in enumerate(raw.tolist())]
            else:
                raw.flags.writeable = False
                self._values[key] = raw
        return self._values[key]

    def at(self, ordinal: int) -> Meta:
        """Return the meta of one frame."""
        values = {}
        for key, declared in self._schema.meta.items():
            value = self._readers[key].row(ordinal)
            if declared.tag == "json":
                where = f"{self._source.name}: {names.SERIES_META}/{key}[{ordinal}]"
                values[key] = typedjson.parse_json(str(value), where)
            elif isinstance(value, np.ndarray):
                values[key] = tuple(value.tolist())
            else:
                values[key] = value.item() if isinstance(value, np.generic) else value
        return Meta._trusted(values, {key: declared.tag for key, declared in self._schema.meta.items()})

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema.meta)

    def __len__(self) -> int:
        return len(self._schema.meta)


def _empty(dtype: str, trailing: tuple[int, ...]) -> Array:
    return np.empty((0, *trailing), dtype=numpy_dtype(dtype))


class TrajectoryReader(Sequence[Frame]):
    """A stored trajectory: ``len(t)``, ``t[i]``, ``t[a:b]``, iteration, `read`.

    Raises:
        FormatError: The trajectory breaks the format; the rule says how and the message where.
    """

    def __init__(self, source: Source, document: dict[str, Any] | None = None) -> None:
        self._source = source
        where = f"{source.name}: {names.TRAJECTORY}"
        found = read_document(source, names.TRAJECTORY) if document is None else document
        if found is None:
            raise FormatError(f"{source.name} has no trajectory section", "reject-no-trajectory")
        self.attributes = group_attributes(found, where)
        if names.SEQUENCE_SCHEMA not in self.attributes:
            raise FormatError(f"{where} pins no {names.SEQUENCE_SCHEMA}", "reject-malformed-schema")
        self._schema = SequenceSchema.from_document(self.attributes[names.SEQUENCE_SCHEMA], where)
        self._nstep = self._read_nstep(where)
        self._where = where
        self._cache = ChunkCache()
        self._readers: dict[str, BlockReader] = {}
        if self._nstep:
            if source.live:
                journal = source.get(f"{names.TRAJECTORY}/{JOURNAL_NAME}")
                check_arrival(source, read_lines(journal), self._nstep)
            self._check_stamps()
            self.meta  # noqa: B018 - opened now, so that short series are refused here
            self._check_alignment()
        self._referencing = [name for name, declared in self._schema.blocks.items() if declared.targets]
        self._references_checked: set[tuple[str, int, str, int | None]] = set()

    def _read_nstep(self, where: str) -> int:
        stated = self.attributes.get(names.NSTEP)
        if names.NSTEP not in self.attributes:
            present = [key for key in (StepProgression.key, TimeProgression.key) if key in self.attributes]
            if present:
                raise FormatError(
                    f"{where} carries {present[0]} without {names.NSTEP}", "reject-progression-without-nstep"
                )
            steps = read_dense(self._source, names.STEP, "i64", (), least=0)
            return 0 if steps is None else steps.layout.rows
        if type(stated) is not int or not 0 <= stated < _MOST_FRAMES:
            raise FormatError(
                f"{where}: {names.NSTEP} is a non-negative integer, found {stated!r}", "reject-malformed-nstep"
            )
        return stated

    def _check_stamps(self) -> None:
        if StepProgression.key in self.attributes:
            read_progression(StepProgression, self.attributes[StepProgression.key], self._nstep, self._where)
        else:
            steps = read_dense(self._source, names.STEP, "i64", (), least=self._nstep)
            if steps is None:
                raise FormatError(f"{self._where} counts {self._nstep} frames but holds no steps", "reject-no-steps")
        if TimeProgression.key in self.attributes:
            read_progression(TimeProgression, self.attributes[TimeProgression.key], self._nstep, self._where)
        else:
            read_dense(self._source, names.TIME, "f64", (), least=self._nstep)

    def _check_alignment(self) -> None:
        for name, target in aligned_pairs(self._schema):
            try:
                check_run(name, target, self.block_reader(name).index, self.block_reader(target).index)
            except SchemaError as error:
                raise FormatError(f"{self._source.name}: {error.message}", error.rule) from error

    @cached_property
    def _rules(self) -> ResolvedRules:
        return ResolvedRules(self._schema, read_section_rows(self._source))

    def _check_references(self, ordinal: int, blocks: dict[str, Block]) -> None:
        """Check the row references of a resolved frame, each pair of update and target size once."""
        shown = {name: as_presented(block) for name, block in blocks.items()}
        for name in self._referencing:
            if name not in shown:
                continue
            update = self.block_reader(name).index.update_at(ordinal)
            for column, target in self._rules.references(name).items():
                rows = self._rules.target_rows(target, shown)
                key = (name, update, column, rows)
                if key in self._references_checked:
                    continue
                where = f"{self._where}, frame {ordinal}"
                try:
                    check_reference(name, column, target, rows, shown[name], where)
                except SchemaError as error:
                    raise FormatError(error.message, error.rule) from error
                self._references_checked.add(key)

    # -- what the run says ------------------------------------------------------------------------------------------

    @property
    def schema(self) -> SequenceSchema:
        """The pinned declaration (a copy)."""
        return self._schema.copy()

    @cached_property
    def steps(self) -> npt.NDArray[np.int64]:
        """Integration step of every frame, int64 ``(frames,)``, read-only."""
        require_memory(_STAMP_BYTES * self._nstep, f"{self._where}: {self._nstep} steps")
        if StepProgression.key in self.attributes and self._nstep:
            document = self.attributes[StepProgression.key]
            steps = read_progression(StepProgression, document, self._nstep, self._where).values(self._nstep)
        else:
            reader = read_dense(self._source, names.STEP, "i64", (), least=self._nstep) if self._nstep else None
            steps = np.empty(0, dtype=np.int64) if reader is None else reader.read(0, self._nstep)
            check_ascending(steps, f"{self._source.name}: {names.STEP}", "reject-step-not-increasing")
        steps.flags.writeable = False
        return steps

    @cached_property
    def times(self) -> npt.NDArray[np.float64] | None:
        """Time of every frame in the frames' unit, float64 ``(frames,)``, read-only; None for a run without times."""
        if not self._nstep:
            return None
        require_memory(_STAMP_BYTES * self._nstep, f"{self._where}: {self._nstep} times")
        if TimeProgression.key in self.attributes:
            document = self.attributes[TimeProgression.key]
            times = read_progression(TimeProgression, document, self._nstep, self._where).values(self._nstep)
        else:
            reader = read_dense(self._source, names.TIME, "f64", (), least=self._nstep)
            if reader is None:
                return None
            times = reader.read(0, self._nstep)
        times.flags.writeable = False
        return times

    @cached_property
    def meta(self) -> SeriesMeta:
        """Per-step meta: ``t.meta["pe"]`` is the key's array over all frames."""
        return SeriesMeta(self._source, self._schema, self._nstep)

    @cached_property
    def box_series(self) -> BoxSeries:
        """The cells of the run."""
        return BoxSeries(self._source, self._nstep)

    def block_reader(self, name: str) -> BlockReader:
        """Return the reader of a declared block, opened on first use."""
        reader = self._readers.get(name)
        if reader is None:
            if name not in self._schema.blocks:
                raise KeyError(f"no block {name!r}; declared are {', '.join(self._schema.blocks) or '(none)'}")
            reader = BlockReader(self._source, name, self._schema.blocks[name], self._nstep, self._cache)
            self._readers[name] = reader
        return reader

    def box_at(self, index: int) -> Box | None:
        """Return the cell of a frame, or None before the first cell of the run.

        Raises:
            IndexError: No such frame.
        """
        return self.box_series.at(self._ordinal(index))

    def update_ordinal(self, block: str, index: int) -> int | None:
        """Return the ordinal of the frame that wrote what `block` shows at a frame, or None while it is absent.

        Raises:
            KeyError: The block is not declared.
            IndexError: No such frame.
        """
        found = self.block_reader(block).index
        update = found.update_at(self._ordinal(index))
        return None if update < 0 else found.ordinal_of(update)

    # -- frames -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._nstep

    def _ordinal(self, index: int) -> int:
        position = operator.index(index)
        ordinal = position + self._nstep if position < 0 else position
        if not 0 <= ordinal < self._nstep:
            raise IndexError(f"frame {position} of a trajectory of {self._nstep} frames")
        return ordinal

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> TrajectoryView: ...
    def __getitem__(self, index: int | slice) -> Frame | TrajectoryView:
        """Return one resolved frame (its arrays are read-only), or a lazy view of a slice.

        Raises:
            IndexError: No such frame.
            FormatError: What the frame shows is damaged or breaks a rule; nothing of the frame is returned.
        """
        if isinstance(index, slice):
            return TrajectoryView(self, range(self._nstep)[index])
        ordinal = self._ordinal(index)
        blocks: dict[str, Block] = {}
        for name in self._schema.blocks:
            reader = self._readers.get(name) or self.block_reader(name)
            update = reader.index.update_at(ordinal)
            if update < 0:
                continue
            start, stop = reader.index.span(update)
            declared = reader.declared
            blocks[name] = Block._trusted(
                reader.rows(start, stop),
                stop - start,
                reader.valid(start, stop),
                reader.precision,
                declared.targets,
                declared.structural_shape,
            )
        if self._referencing:
            self._check_references(ordinal, blocks)
        return Frame._trusted(blocks, lambda: self.meta.at(ordinal), self.box_series.at(ordinal))

    def joined(self, block: str, index: int) -> Block:
        """Return a block of one frame together with the columns of the blocks aligned with it.

        Their rows are the same, one for one (``docs/spec/trajectory.md``, alignment). An aligned block that is absent
        at that frame adds nothing. Arrays are read-only.

        Raises:
            KeyError: The block is not declared, or absent at that frame.
        """
        if block not in self._schema.blocks:
            raise KeyError(f"no block {block!r}; declared are {', '.join(self._schema.blocks) or '(none)'}")
        frame = self[index]
        joined = frame[block]
        for name, target in aligned_pairs(self._schema):
            if target == block and name in frame:
                joined = join_columns(joined, frame[name])
        return joined

    def __iter__(self) -> Iterator[Frame]:
        return (self[ordinal] for ordinal in range(self._nstep))

    def read(
        self, block: str, columns: Sequence[str] | str | None = None, frames: slice = slice(None)
    ) -> dict[str, Array]:
        """Return columns of a block over many frames, without building frames.

        Args:
            block: Block name.
            columns: Column names; all of them when None.
            frames: Which frames, in ascending or descending order.

        Returns:
            Column to array ``(frames, rows, *trailing)`` when every chosen frame shows the same row count. Otherwise
            the frames' rows end to end, ``(total, *trailing)``, and under ``"offsets"`` the int64 ``(frames + 1,)``
            row pointers; a frame in which the block is absent contributes no rows.

        Raises:
            KeyError: The block or a column is not declared.
            FormatError: A chunk is damaged.
        """
        reader = self.block_reader(block)
        chosen = list(reader.columns or reader.declared.columns) if columns is None else columns
        chosen = [chosen] if isinstance(chosen, str) else list(chosen)
        for column in chosen:
            if column not in reader.declared.columns:
                raise KeyError(
                    f"block {block!r} has no column {column!r}; declared are {', '.join(reader.declared.columns)}"
                )
        return read_columns(reader, chosen, np.arange(self._nstep, dtype=np.int64)[frames])

    def __repr__(self) -> str:
        return f"<TrajectoryReader: {self._nstep} frames of {', '.join(self._schema.blocks) or 'no blocks'}>"


class TrajectoryView(Sequence[Frame]):
    """Some frames of a trajectory, read when they are asked for."""

    def __init__(self, trajectory: TrajectoryReader, ordinals: range) -> None:
        self._trajectory = trajectory
        self._ordinals = ordinals

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> TrajectoryView: ...
    def __getitem__(self, index: int | slice) -> Frame | TrajectoryView:
        if isinstance(index, slice):
            return TrajectoryView(self._trajectory, self._ordinals[index])
        return self._trajectory[self._ordinals[index]]

    def __len__(self) -> int:
        return len(self._ordinals)

    @property
    def schema(self) -> SequenceSchema:
        """The trajectory's declaration (a copy)."""
        return self._trajectory.schema

    @property
    def steps(self) -> npt.NDArray[np.int64]:
        """Steps of these frames."""
        return self._trajectory.steps[list(self._ordinals)]

    @property
    def times(self) -> npt.NDArray[np.float64] | None:
        """Times of these frames, or None."""
        times = self._trajectory.times
        return None if times is None else times[list(self._ordinals)]

    def __repr__(self) -> str:
        return f"<TrajectoryView: {len(self)} of {len(self._trajectory)} frames>"
