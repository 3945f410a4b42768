"""Any trajectory, written in any rhythm and read through any store, against a naive model of carry-forward."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import obstore.store
import pytest
import zarr.storage
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import molrec as mr
from molrec.storage.zarr.record import open_source
from molrec.storage.zarr.repack import repack

from .strategies import (
    NUMPY_DTYPES,
    BlockShape,
    ColumnShape,
    Presentation,
    Run,
    RunShape,
    exact,
    files,
    memory_store,
    plain_box,
    plain_frame,
    presentations,
    run_shapes,
    runs,
    scratch,
    stored_array,
)

STORAGES: list[dict[str, Any]] = [
    {},
    {"flush_every": 1},
    {"flush_every": 3},
    {"profile": "archive"},
    {"profile": "archive", "compression": "zstd:1", "flush_every": 2},
    {"compression": "gzip"},
    {"compression": "zstd"},
]


# -- the model ------------------------------------------------------------------------------------------------------


@dataclass
class Update:
    """What a frame wrote of a block: rows as stored, masks of nullable columns."""

    ordinal: int
    rows: int
    columns: dict[str, np.ndarray[Any, Any]]
    masks: dict[str, np.ndarray[Any, Any]]


@dataclass
class Model:
    """A trajectory as the specification tells it: every frame resolved when it is appended."""

    shape: RunShape
    frames: list[dict[str, Update]] = field(default_factory=list)
    boxes: list[mr.Box | None] = field(default_factory=list)
    metas: list[dict[str, Any]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def append(self, presented: Presentation) -> None:
        ordinal = len(self.frames)
        resolved = dict(self.frames[-1]) if ordinal else {}
        for name in presented.frame.blocks:
            update = self._update(ordinal, name, presented.frame[name])
            if name not in resolved or not _same(resolved[name], update):
                resolved[name] = update
        self.frames.append(resolved)
        self.boxes.append(presented.frame.box or (self.boxes[-1] if ordinal else None))
        self.metas.append(
            {
                key: presented.frame.meta[key] if key in presented.frame.meta else self.shape.fills[key]
                for key in self.shape.meta
            }
        )
        self.steps.append(presented.step if presented.step is not None else self.steps[-1] + 1 if ordinal else 0)
        if presented.time is not None:
            self.times.append(presented.time)

    def _update(self, ordinal: int, name: str, block: mr.Block) -> Update:
        columns, masks = {}, {}
        for column, declared in self.shape.blocks[name].columns.items():
            columns[column] = stored_array(block[column], declared.precision)
            if declared.nullable:
                mask = block.validity(column)
                masks[column] = np.ones(len(block), np.bool_) if mask is None else mask.copy()
        return Update(ordinal, len(block), columns, masks)

    def cut(self, count: int) -> None:
        """Forget everything from frame `count` on."""
        for history in (self.frames, self.boxes, self.metas, self.steps, self.times):
            del history[count:]

    def plain_frame(self, ordinal: int) -> dict[str, Any]:
        """Return what a reader must show at a frame, in the form of `strategies.plain_frame`."""
        blocks = {}
        for name, update in self.frames[ordinal].items():
            shape = self.shape.blocks[name]
            blocks[name] = {
                "rows": update.rows,
                "columns": {column: exact(values) for column, values in update.columns.items()},
                "validity": {column: exact(mask) for column, mask in update.masks.items() if not mask.all()},
                "precision": {
                    column: declared.precision
                    for column, declared in shape.columns.items()
                    if declared.precision is not None
                },
                "targets": {} if shape.target is None else {shape.target: name},
                "structural_shape": shape.structural_shape,
                "attributes": {},
                "column attributes": {},
            }
        return {
            "blocks": blocks,
            "meta": [(key, self.shape.meta[key], exact(value)) for key, value in self.metas[ordinal].items()],
            "box": plain_box(self.boxes[ordinal]),
        }


def _same(first: Update, second: Update) -> bool:
    return (
        first.rows == second.rows
        and exact(first.columns) == exact(second.columns)
        and exact(first.masks) == exact(second.masks)
    )


# -- writing --------------------------------------------------------------------------------------------------------


def scribble(frame: mr.Frame) -> None:
    """Overwrite every array of a frame, as a simulation does that reuses its buffers."""
    for name in frame.blocks:
        block = frame[name]
        for column in block.columns:
            block[column][...] = "scribbled" if block.dtype(column) == "string" else 1
            mask = block.validity(column)
            if mask is not None:
                mask[...] = ~mask


def abandon(writer: mr.TrajectoryWriter) -> None:
    """Leave a writer the way its process would in a crash between two calls: nothing is committed or cleaned up."""
    writer._release()


@contextmanager
def failing_rename(number: int) -> Iterator[None]:
    """Let the system refuse one rename, the last step by which a document of a store is replaced."""
    rename, left = os.replace, [number]

    def counted(source: Any, target: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)
        rename(source, target)

    with mock.patch("os.replace", counted):
        yield


def write(path: Path, run: Run, between: Sequence[str], storage: dict[str, Any]) -> Model:
    """Write a run, doing what `between` says before each frame, and return what must be read."""
    model = Model(run.shape)
    writer = mr.TrajectoryWriter(path, run.shape.schema(), **storage)
    for presented, action in zip(run.presented, between, strict=True):
        if action == "flush":
            writer.flush()
        elif action == "reopen":
            writer.close()
            writer = mr.TrajectoryWriter.reopen(path, flush_every=storage.get("flush_every"))
        elif action == "flush and crash":
            writer.flush()
            abandon(writer)
            writer = mr.TrajectoryWriter.reopen(path)
        model.append(presented)
        writer.append(presented.frame, step=presented.step, time=presented.time)
        scribble(presented.frame)
        assert writer.nstep == len(model.frames)
    writer.close()
    return model


# -- checking -------------------------------------------------------------------------------------------------------


def check(trajectory: mr.TrajectoryReader | None, model: Model) -> None:
    """Compare everything a reader says with the model."""
    assert trajectory is not None
    assert len(trajectory) == len(model.frames)
    assert trajectory.schema.to_document() == model.shape.schema().to_document()
    assert exact(trajectory.steps) == exact(np.array(model.steps, np.int64))
    check_times(trajectory, model)
    for ordinal in range(len(model.frames)):
        assert plain_frame(trajectory[ordinal]) == model.plain_frame(ordinal), f"frame {ordinal}"
        assert plain_box(trajectory.box_at(ordinal)) == plain_box(model.boxes[ordinal]), f"frame {ordinal}"
        for name in model.shape.blocks:
            update = model.frames[ordinal].get(name)
            expected = None if update is None else update.ordinal
            assert trajectory.update_ordinal(name, ordinal) == expected, f"block {name!r}, frame {ordinal}"
    check_series(trajectory, model)
    for frames in (slice(None), slice(1, None, 2), slice(None, None, -1), slice(0, 0)):
        check_bulk_read(trajectory, model, frames)


def check_times(trajectory: mr.TrajectoryReader, model: Model) -> None:
    if not model.times:
        assert trajectory.times is None
    else:
        assert trajectory.times is not None
        assert [exact(time) for time in trajectory.times.tolist()] == [exact(time) for time in model.times]


def check_series(trajectory: mr.TrajectoryReader, model: Model) -> None:
    assert list(trajectory.meta) == list(model.shape.meta)
    for key, tag in model.shape.meta.items():
        series = trajectory.meta[key]
        values = [meta[key] for meta in model.metas]
        if tag == "json":
            assert exact(list(series)) == exact(values)
            continue
        element, _, width = ("bool", "x", "3") if tag == "bool3" else tag.partition("x")
        assert series.dtype == NUMPY_DTYPES[element]
        assert series.shape == (len(values), int(width)) if width else (len(values),)
        assert [exact(value) for value in series.tolist()] == [
            exact(list(value) if width else value) for value in values
        ]


def check_bulk_read(trajectory: mr.TrajectoryReader, model: Model, frames: slice) -> None:
    """Compare `read` with the frames one by one."""
    chosen = model.frames[frames]
    for name, shape in model.shape.blocks.items():
        counts = [resolved[name].rows if name in resolved else 0 for resolved in chosen]
        found = trajectory.read(name, frames=frames)
        ragged = len(set(counts)) > 1
        assert set(found) == {*shape.columns, *(["offsets"] if ragged else [])}, f"block {name!r}, {frames}"
        for column, declared in shape.columns.items():
            pieces = [resolved[name].columns[column] for resolved in chosen if name in resolved]
            flat = np.concatenate([np.empty((0, *declared.trailing), NUMPY_DTYPES[declared.dtype]), *pieces])
            if not ragged:
                flat = flat.reshape(len(chosen), counts[0] if counts else 0, *declared.trailing)
            assert exact(found[column]) == exact(flat), f"block {name!r}, column {column!r}, {frames}"
        if ragged:
            assert exact(found["offsets"]) == exact(np.cumsum([0, *counts], dtype=np.int64))


@st.composite
def rhythms(draw: st.DrawFn) -> tuple[Run, list[str]]:
    """Return a run and what happens before each of its frames."""
    run = draw(runs())
    action = st.sampled_from(["", "", "flush", "reopen", "flush and crash"])
    return run, [draw(action) for _ in run.presented]


# -- tests ----------------------------------------------------------------------------------------------------------


@given(rhythms(), st.sampled_from(STORAGES))
def test_any_run_reads_back_from_its_folder(rhythm: tuple[Run, list[str]], storage: dict[str, Any]) -> None:
    run, between = rhythm
    with scratch() as folder:
        model = write(folder / "run.mrec", run, between, storage)
        with mr.open(folder / "run.mrec") as record:
            check(record.trajectory, model)


@given(rhythms(), st.sampled_from(STORAGES))
@settings(max_examples=settings.default.max_examples // 2 if settings.default else 30)
def test_any_run_reads_back_from_every_other_form(rhythm: tuple[Run, list[str]], storage: dict[str, Any]) -> None:
    run, between = rhythm
    with scratch() as folder:
        path = folder / "run.mrec"
        model = write(path, run, between, storage)
        before = files(path)
        packed = mr.pack(path)
        check(mr.open(packed).trajectory, model)
        check(mr.open(mr.unpack(packed, folder / "unpacked.mrec")).trajectory, model)
        check(mr.open(memory_store(path)).trajectory, model)
        for profile in ("archive", "live"):
            check(mr.open(repack(open_source(path), folder / f"{profile}.mrec", profile=profile)).trajectory, model)
        check(mr.open(repack(open_source(packed), folder / "again.mrec.zip")).trajectory, model)
        assert files(path) == before


@given(rhythms())
@settings(max_examples=settings.default.max_examples // 4 if settings.default else 15)
def test_any_run_reads_back_through_an_object_store(rhythm: tuple[Run, list[str]]) -> None:
    run, between = rhythm
    nodes = [
        *run.shape.meta,
        *run.shape.blocks,
        *(name for block in run.shape.blocks.values() for name in block.columns),
    ]
    assume(all(name.isprintable() for name in nodes))  # object stores take no control characters
    with scratch() as folder:
        model = write(folder / "run.mrec", run, between, {})
        inside = obstore.store.MemoryStore()
        for name, content in files(folder / "run.mrec").items():
            inside.put(name, content)
        check(mr.open(zarr.storage.ObjectStore(inside, read_only=True)).trajectory, model)


@given(rhythms(), st.booleans())
@settings(max_examples=settings.default.max_examples // 2 if settings.default else 30)
def test_a_trajectory_read_is_written_again_whole(rhythm: tuple[Run, list[str]], packed: bool) -> None:
    run, between = rhythm
    with scratch() as folder:
        model = write(folder / "run.mrec", run, between, {})
        target = folder / ("copy.mrec.zip" if packed else "copy.mrec")
        mr.write(target, trajectory=mr.open(folder / "run.mrec").trajectory)
        check(mr.open(target).trajectory, model)


@given(rhythms())
@settings(max_examples=settings.default.max_examples // 2 if settings.default else 30)
def test_every_array_of_a_run_opens_in_zarr_python(rhythm: tuple[Run, list[str]]) -> None:
    run, between = rhythm
    with scratch() as folder:
        model = write(folder / "run.mrec", run, between, {})
        group = zarr.open_group(folder / "run.mrec" / "trajectory", mode="r")
        arrays = {path: node for path, node in group.members(max_depth=None) if isinstance(node, zarr.Array)}
        for array in arrays.values():
            array[...]
        if not model.frames:
            return
        for name, shape in model.shape.blocks.items():
            updates = {
                update.ordinal: update for resolved in model.frames for key, update in resolved.items() if key == name
            }
            rows = [updates[ordinal] for ordinal in sorted(updates)]
            for column, declared in shape.columns.items():
                empty = np.empty((0, *declared.trailing), NUMPY_DTYPES[declared.dtype])
                expected = np.concatenate([empty, *(update.columns[column] for update in rows)])
                assert exact(np.asarray(arrays[f"{name}/{column}"][...])) == exact(expected), f"{name!r}/{column!r}"
                if declared.nullable:
                    flags = np.concatenate([np.empty(0, np.bool_), *(update.masks[column] for update in rows)])
                    assert exact(np.asarray(arrays[f"{name}/_validity/{column}"][...])) == exact(flags)
            if f"{name}/step_index" in arrays:
                assert np.asarray(arrays[f"{name}/step_index"][...]).tolist() == sorted(updates)
                counts = [update.rows for update in rows]
                assert np.asarray(arrays[f"{name}/offset"][...]).tolist() == np.cumsum([0, *counts]).tolist()
            else:
                assert sorted(updates) == list(range(len(updates)))


# -- the writer, driven by machine ----------------------------------------------------------------------------------


class WriterMachine(RuleBasedStateMachine):
    """Append, flush, close and reopen, crash and reopen, read beside the writer: in any order, against a list."""

    def __init__(self) -> None:
        super().__init__()
        self._scratch = scratch()
        self.path = self._scratch.__enter__() / "run.mrec"
        self.writer: mr.TrajectoryWriter | None = None

    @initialize(shape=run_shapes(), storage=st.sampled_from(STORAGES))
    def begin(self, shape: RunShape, storage: dict[str, Any]) -> None:
        self.model = Model(shape)
        self.flush_every = storage.get("flush_every")
        #: Frames an explicit flush or a close has promised.
        self.promised = 0
        self.writer = mr.TrajectoryWriter(self.path, shape.schema(), **storage)

    @property
    def open_writer(self) -> mr.TrajectoryWriter:
        assert self.writer is not None
        return self.writer

    @precondition(lambda self: self.writer is not None)
    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        last = self.model.steps[-1] if self.model.steps else None
        presented = data.draw(presentations(self.model.shape, len(self.model.frames), last))
        self.model.append(presented)
        self.open_writer.append(presented.frame, step=presented.step, time=presented.time)
        scribble(presented.frame)

    @precondition(lambda self: self.writer is not None and self.model.frames)
    @rule(distance=st.integers(0, 5))
    def refuse_a_step_that_does_not_increase(self, distance: int) -> None:
        last = self.model.steps[-1]
        with pytest.raises(mr.SchemaError) as refusal:
            self.open_writer.append(mr.Frame(), step=max(-(2**63), last - distance))
        assert refusal.value.rule in {"reject-step-not-increasing", "reject-missing-meta-key", "reject-time-dropped"}

    @precondition(lambda self: self.writer is not None)
    @rule()
    def refuse_an_undeclared_block(self) -> None:
        time = None if self.model.shape.times[0] == "none" else 0.0
        with pytest.raises(mr.SchemaError) as refusal:
            self.open_writer.append(mr.Frame({"nowhere declared": mr.Block({"x": [1.0]})}), time=time)
        assert refusal.value.rule == "reject-undeclared"

    @precondition(lambda self: self.writer is not None)
    @rule()
    def flush(self) -> None:
        self.open_writer.flush()
        self.promised = len(self.model.frames)
        assert self.open_writer.committed == self.promised

    @precondition(lambda self: self.writer is not None)
    @rule()
    def close(self) -> None:
        self.open_writer.close()
        self.writer = None
        self.promised = len(self.model.frames)
        assert not (self.path / "trajectory" / ".journal").exists()

    @precondition(lambda self: self.writer is not None)
    @rule()
    def crash(self) -> None:
        committed = self.open_writer.committed
        assert committed >= self.promised
        abandon(self.open_writer)
        self.writer = None
        self.model.cut(committed)
        self.promised = committed

    @precondition(lambda self: self.writer is not None)
    @rule(rename=st.integers(1, 20))
    def fail_a_flush(self, rename: int) -> None:
        """Let one rename of a flush fail; what was committed is there, and the flush may be tried again."""
        with failing_rename(rename), suppress(OSError):
            self.open_writer.flush()
        self.read()

    @precondition(lambda self: self.writer is None)
    @rule()
    def reopen(self) -> None:
        self.writer = mr.TrajectoryWriter.reopen(self.path, flush_every=self.flush_every)
        assert self.writer.nstep == len(self.model.frames)

    @precondition(lambda self: self.writer is None)
    @rule()
    def repair(self) -> None:
        mr.repair(self.path)
        assert mr.repair(self.path) == []

    @precondition(lambda self: self.writer is None)
    @rule()
    def pack(self) -> None:
        crashed = (self.path / "trajectory" / ".journal").exists()
        target = self.path.with_name("packed.mrec.zip")
        if crashed:
            with pytest.raises(mr.SchemaError) as refusal:
                mr.pack(self.path, target, overwrite=True)
            assert refusal.value.rule == "reject-pack-open"
        else:
            mr.pack(self.path, target, overwrite=True)
            check(mr.open(target).trajectory, self.model)

    @precondition(lambda self: self.writer is not None)
    @rule()
    def refuse_a_second_writer(self) -> None:
        with pytest.raises(mr.SchemaError) as refusal:
            mr.TrajectoryWriter.reopen(self.path)
        assert refusal.value.rule == "reject-second-writer"

    @rule()
    def read(self) -> None:
        if self.writer is None:
            check(mr.open(self.path).trajectory, self.model)
            return
        committed = Model(self.model.shape)
        for history in ("frames", "boxes", "metas", "steps", "times"):
            setattr(committed, history, getattr(self.model, history)[: self.open_writer.committed])
        check(mr.open(self.path).trajectory, committed)

    @invariant()
    def counts_agree(self) -> None:
        if self.writer is not None:
            assert self.writer.nstep == len(self.model.frames)
            assert self.promised <= self.writer.committed <= self.writer.nstep

    def teardown(self) -> None:
        try:
            if self.writer is not None:
                self.writer.close()
            if hasattr(self, "model"):
                check(mr.open(self.path).trajectory, self.model)
        finally:
            self._scratch.__exit__(None, None, None)


def _rows(count: int) -> mr.Block:
    return mr.Block({"x": np.arange(float(count))})


#: What the second frame brings that the first does not prepare for: (frame, step, time) twice.
TURNS: dict[str, tuple[Presentation, Presentation]] = {
    "a block appears": (Presentation(mr.Frame(), 0, 0.0), Presentation(mr.Frame({"a": _rows(2)}), 1, 1.0)),
    "a block grows": (Presentation(mr.Frame({"a": _rows(2)}), 0, 0.0), Presentation(mr.Frame({"a": _rows(3)}), 1, 1.0)),
    "a block empties": (
        Presentation(mr.Frame({"a": _rows(2)}), 0, 0.0),
        Presentation(mr.Frame({"a": _rows(0)}), 1, 1.0),
    ),
    "steps turn irregular": (Presentation(mr.Frame(), 0, 0.0), Presentation(mr.Frame(), 2**53 + 1, 1.0)),
    "times turn irregular": (Presentation(mr.Frame(), 0, 0.0), Presentation(mr.Frame(), 1, math.nan)),
    "a cell appears": (Presentation(mr.Frame(), 0, 0.0), Presentation(mr.Frame(box=mr.Box(np.eye(3))), 1, 1.0)),
    "the cell changes": (
        Presentation(mr.Frame(box=mr.Box(np.eye(3))), 0, 0.0),
        Presentation(mr.Frame(box=mr.Box(np.eye(3) * 2.0, origin=[1.0, 0.0, 0.0])), 1, 1.0),
    ),
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("then", ["tried again", "given up"])
def test_a_flush_that_breaks_off_where_a_run_turns_loses_nothing(turn: str, then: str) -> None:
    column = ColumnShape("f64", (), nullable=False, precision=None)
    block = BlockShape({"x": column}, structural_shape=None, target=None, growth="any", rows=2)
    shape = RunShape({"a": block}, {}, {}, "some", ("free", 0, 1), ("free", 0.0, 1.0))
    first, second = TURNS[turn]
    with scratch() as folder:
        for rename in range(1, 12):
            path = folder / f"{rename}.mrec"
            one, both = Model(shape), Model(shape)
            one.append(first)
            both.append(first)
            both.append(second)
            writer = mr.TrajectoryWriter(path, shape.schema())
            writer.append(first.frame, step=first.step, time=first.time)
            writer.flush()
            writer.append(second.frame, step=second.step, time=second.time)
            with failing_rename(rename), suppress(OSError):
                writer.flush()
            check(mr.open(path).trajectory, both if writer.committed == 2 else one)
            if then == "given up":
                abandon(writer)
                writer = mr.TrajectoryWriter.reopen(path)
                if writer.nstep == 1:
                    writer.append(second.frame, step=second.step, time=second.time)
            writer.close()
            check(mr.open(path).trajectory, both)


@pytest.mark.parametrize("step", [0, 2**53 + 1])
def test_a_first_flush_that_breaks_off_leaves_a_run_without_frames(step: int, tmp_path: Path) -> None:
    schema = mr.SequenceSchema().declare_column("atoms", "x", "f64", nullable=True).declare_column("atoms", "y", "f64")
    schema.declare_column("late", "k", "i64").declare_block("counted").declare_meta("pe", "f64")
    for rename in range(1, 16):
        path = tmp_path / f"{rename}.mrec"
        writer = mr.TrajectoryWriter(path, schema)
        frame = mr.Frame({"atoms": mr.Block({"x": [1.0], "y": [2.0]}), "counted": mr.Block(rows=2)}, meta={"pe": 1.0})
        writer.append(frame, step=step)
        with failing_rename(rename), suppress(OSError):
            writer.flush()
        trajectory = mr.open(path).trajectory
        assert trajectory is not None
        assert len(trajectory) == writer.committed
        for name in ("atoms", "late", "counted"):
            assert all(len(values) == writer.committed for values in trajectory.read(name).values()), f"rename {rename}"
        writer.close()
        trajectory = mr.open(path).trajectory
        assert trajectory is not None
        assert trajectory[0]["atoms"] == frame["atoms"]


@pytest.mark.parametrize("name", ["a.tmp", ".a.tmp", ".zarr.json.tmp", "zarr.json.tmp", ".journal.tmp"])
def test_names_like_those_of_temporary_files_lose_nothing(name: str, tmp_path: Path) -> None:
    try:
        schema = mr.SequenceSchema().declare_column(name, name, "f64", nullable=True).declare_meta(name, "f64")
    except mr.SchemaError as error:
        assert error.rule in {"reject-bad-name", "reject-reserved-name"}  # noqa: PT017 - a refusal loses nothing either
        return
    block = mr.Block({name: [1.0, 2.0]})
    block.set_validity(name, [True, False])
    path = tmp_path / "run.mrec"
    writer = mr.TrajectoryWriter(path, schema, system=mr.Frame({name: mr.Block(rows=2)}))
    for ordinal in range(3):
        writer.append(mr.Frame({name: block}, meta={name: 0.5}))
        writer.close()
        writer = mr.TrajectoryWriter.reopen(path)
        assert writer.nstep == ordinal + 1
    writer.close()
    places: list[Path] = [path, mr.pack(path), mr.unpack(tmp_path / "run.mrec.zip", tmp_path / "again.mrec")]
    places.append(repack(open_source(path), tmp_path / "archive.mrec"))
    for place in places:
        record = mr.open(place)
        assert record.system is not None
        assert record.system.blocks == (name,)
        assert record.trajectory is not None
        for frame in record.trajectory:
            assert frame[name] == block
            assert frame.meta[name] == 0.5


def test_writer_machine() -> None:
    run_state_machine_as_test(WriterMachine)
