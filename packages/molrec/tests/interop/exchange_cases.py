"""Frames and runs made up to be exchanged between implementations, with the content a reader must return.

A case is built from ``molrec`` objects. What must be read back is worked out by `molrec.conformance.expectation`, which
knows nothing of the library under test, so that its mistakes cannot hide in the expectation.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import molrec as mr
from molrec.conformance import expectation
from molrec.conformance.expectation import stored_values

from . import molrec_adapter, neutral

F8_EDGES = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, -1e-300, 0.1, 2.0**52 + 0.5]
TEXTS = ["", "a", "longer text with spaces", "é", "🧪", "line\nbreak", "tab\t", '"quoted\\"', "NaN", "x" * 300]

META: dict[str, list[Any]] = {
    "bool": [True, False],
    "i32": [-(2**31), 2**31 - 1, 0],
    "i64": [-(2**63), 2**63 - 1, 2**53, 2**53 + 1, -(2**53), -(2**53) - 1, 0],
    "u32": [0, 2**32 - 1],
    "u64": [0, 2**64 - 1, 2**53, 2**53 + 1],
    "f64": [*F8_EDGES, 3.0, 1e22, -(2.0**60)],
    "string": TEXTS,
    "json": [
        None,
        {"a": [1, 2.5, None, True, "x"], "b": {}},
        [1, 2],
        "text",
        3,
        2.5,
        False,
        [],
        {},
        {"big": 2**53 + 1},
    ],
    "bool3": [(True, False, True)],
    "i32x3": [(1, -2, 2**31 - 1)],
    "i64x3": [(1, -(2**63), 2**63 - 1)],
    "u32x3": [(0, 1, 2**32 - 1)],
    "u64x3": [(0, 2**53 + 1, 2**64 - 1)],
    "f64x3": [(1.0, math.nan, -math.inf), (0.0, -0.0, 1e-300)],
    "f64x6": [(1.0, 2.0, 3.0, math.inf, 5.0, 6.0)],
    "f64x9": [tuple(i / 3 for i in range(9))],
}
"""Values of every meta tag: limits, non-finite numbers, integers past 2^53."""


type Entry = tuple[int, float | None, mr.Frame]


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """A run to write: what is presented at each step, and the declaration it is written under."""

    frames: list[mr.Frame]
    schema: mr.SequenceSchema
    steps: list[int] | None = None
    times: list[float] | None = None
    flush_every: int | None = None

    def entries(self) -> list[Entry]:
        """Return step, time and frame of every append."""
        steps = range(len(self.frames)) if self.steps is None else self.steps
        times = [None] * len(self.frames) if self.times is None else self.times
        return list(zip(steps, times, self.frames, strict=True))

    def head(self, count: int) -> Run:
        """Return the run of the first ``count`` frames."""
        steps = None if self.steps is None else self.steps[:count]
        times = None if self.times is None else self.times[:count]
        return dataclasses.replace(self, frames=self.frames[:count], steps=steps, times=times)

    def content(self) -> neutral.Trajectory:
        """Return what a reader must return for the run."""
        return resolve(self)


def edge_values(dtype: str, shape: Sequence[int], seed: int = 0) -> neutral.AnyArray:
    """Return values of a dtype that include its limits."""
    size = math.prod(shape)
    rng = np.random.default_rng([seed, size])
    if dtype == "string":
        return np.array([TEXTS[i % len(TEXTS)] for i in range(size)], neutral.STRING).reshape(shape)
    kind = neutral.NUMPY_DTYPES[dtype]
    if dtype == "bool":
        return (rng.random(shape) < 0.5).astype(kind)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        values = rng.integers(0, 100, size).astype(kind)
        values[: min(size, 3)] = np.array([limits.min, limits.max, 0], kind)[: min(size, 3)]
        return values.reshape(shape)
    count = size * (2 if kind.kind == "c" else 1)
    floats = rng.normal(size=count)
    floats[: min(count, len(F8_EDGES))] = F8_EDGES[: min(count, len(F8_EDGES))]
    if kind.kind == "f":
        return floats.reshape(shape)
    with np.errstate(over="ignore", under="ignore"):
        parts = floats.astype("<f4" if dtype == "c64" else "<f8")
    return parts.view(kind).reshape(shape)


DTYPES = [*neutral.NUMPY_DTYPES, "string"]


def resolve(run: Run) -> neutral.Trajectory:
    """Apply rounding, change detection, carry-forward and fills to what a run presents."""
    presented = [neutral.Presented(step, time, molrec_adapter.frame(frame)) for step, time, frame in run.entries()]
    return expectation.resolved(neutral.Run(neutral.schema_from_document(run.schema.to_document()), presented))


# --- single frames ---


def _dtypes() -> mr.Frame:
    flat = mr.Block({f"c_{dtype}": edge_values(dtype, (10,)) for dtype in DTYPES})
    ranked = mr.Block(
        {
            f"m{len(shape)}_{dtype}": edge_values(dtype, (4, *shape), 1)
            for dtype in neutral.NUMPY_DTYPES
            for shape in ((1,), (3,), (2, 2), (2, 1, 3))
        }
    )
    grid = mr.Block(
        {
            "density": edge_values("f64", (24,), 2),
            "vec": edge_values("f64", (24, 3), 3),
            "flag": edge_values("bool", (24,)),
        },
        structural_shape=(2, 3, 4),
    )
    empty = mr.Block({f"c_{dtype}": edge_values(dtype, (0,)) for dtype in DTYPES})
    return mr.Frame({"flat": flat, "ranked": ranked, "grid": grid, "empty": empty, "bare": mr.Block(rows=3)})


def _precision() -> mr.Frame:
    values = np.array([0.0, -0.0, 1e-4, -1e-4, 5e-4, 0.1, -0.1, 123.456, 1e300, 2.0**52, 5e-324, math.nan, math.inf])
    ties = np.arange(-8, 5) * 0.5 * 2.0**-10
    block = mr.Block(
        {"x": values, "y": ties, "z": values[::-1].copy(), "vec": np.stack([values, ties], 1), "raw": values}
    )
    for name, precision in {"x": 1e-3, "y": 1e-3, "z": 0.5, "vec": 3.0}.items():
        block.set_precision(name, precision)
    block.set_validity("z", np.arange(13) % 3 != 0)
    return mr.Frame({"atoms": block})


def _meta() -> mr.Frame:
    frame = mr.Frame()
    for tag, values in META.items():
        for index, value in enumerate(values):
            frame.meta.set(f"{tag}_{index}", value, tag=tag)
    for key in ("a/b", "", "count", "box", "_x", "é"):
        frame.meta.set(key, "awkward key", tag="string")
    return frame


def _masks() -> mr.Frame:
    block = mr.Block({f"c_{dtype}": edge_values(dtype, (12,)) for dtype in DTYPES})
    for shift, name in enumerate(block.columns):
        block.set_validity(name, (np.arange(12) + shift) % 3 != 0)
    wide = mr.Block({"vec": edge_values("f64", (5, 3)), "id": np.arange(5, dtype=np.uint64)})
    wide.set_validity("vec", np.array([True, False, True, True, False]))
    nothing = mr.Block({"q": np.zeros(3), "s": np.array(["", "", ""], neutral.STRING)})
    nothing.set_validity("q", np.zeros(3, np.bool_))
    nothing.set_validity("s", np.zeros(3, np.bool_))
    return mr.Frame({"flat": block, "wide": wide, "nothing": nothing})


def _targets() -> mr.Frame:
    members = mr.Block({"ibead": np.array([0, 0, 1, 2], np.uint64), "weight": np.array([0.25, 0.5, 0.75, 1.0])})
    members.set_target("ibead", "atoms")
    pairs = mr.Block({"ab": np.array([[0, 1], [1, 2], [2, 0]], np.uint64), "opt": np.array([0, 99, 1], np.uint64)})
    pairs.set_validity("opt", np.array([True, False, True]))
    pairs.set_target("ab", "atoms")
    pairs.set_target("opt", "atoms")
    return mr.Frame({"atoms": mr.Block({"x": np.arange(3.0)}), "members": members, "pairs": pairs})


def _names() -> mr.Frame:
    names = ["a b", "ünï", "a.b", "A", "count", "meta", "step", "c", "a%2Fb", "x" * 60]
    return mr.Frame({name: mr.Block({other: np.arange(2.0) for other in names}) for name in names})


def _large() -> mr.Frame:
    rng = np.random.default_rng(1)
    rows = 300_000
    block = mr.Block(
        {
            "x": rng.normal(0, 10, rows),
            "q": rng.normal(0, 1, rows),
            "vec": rng.normal(0, 1, (rows, 3)),
            "id": np.arange(rows, dtype=np.uint64),
            "flag": rng.random(rows) < 0.5,
            "element": np.array([TEXTS[i % 7] for i in range(rows)], neutral.STRING),
        }
    )
    block.set_precision("x", 1e-3)
    block.set_validity("q", rng.random(rows) < 0.9)
    return mr.Frame({"atoms": block, "edge": mr.Block({"v": np.arange(65536 * 4.0), "w": np.zeros(65536 * 4)})})


def _boxed(box: mr.Box) -> mr.Frame:
    return mr.Frame({"atoms": mr.Block({"x": np.arange(2.0)})}, box=box)


TRICLINIC = np.array([[10.0, 1.5, -2.25], [0.0, 9.0, 0.125], [0.0, 0.0, 11.0]])
SLANTED = np.array([[0.0, 9.0, 0.1], [10.0, 0.5, 0.2], [0.3, 0.0, 12.0]])

FRAMES: dict[str, Callable[[], mr.Frame]] = {
    "dtypes": _dtypes,
    "precision": _precision,
    "meta": _meta,
    "masks": _masks,
    "targets": _targets,
    "names": _names,
    "large": _large,
    "empty": mr.Frame,
    "box_cube": lambda: _boxed(mr.Box(np.eye(3) * 10.0)),
    "box_triclinic": lambda: _boxed(mr.Box(TRICLINIC, origin=np.array([1.0, -2.0, 3.5]))),
    "box_slanted": lambda: _boxed(mr.Box(SLANTED, boundary=np.array([False, False, False]))),
    "box_slab": lambda: _boxed(mr.Box(np.eye(3) * 7.0, boundary=np.array([True, True, False]))),
    "box_undefined": lambda: _boxed(mr.Box(None, origin=np.array([1.0, 2.0, -0.0]), cell_defined=False)),
}


# --- runs ---


def _atoms(rng: np.random.Generator, rows: int, **columns: neutral.AnyArray) -> mr.Block:
    return mr.Block({"x": rng.normal(0, 5, rows), "y": rng.normal(0, 5, rows), "z": rng.normal(0, 5, rows)} | columns)


def _regular() -> Run:
    rng = np.random.default_rng(2)
    frames = [mr.Frame({"atoms": _atoms(rng, 7)}, box=mr.Box(np.eye(3) * 9.0)) for _ in range(12)]
    return Run(
        frames, mr.SequenceSchema.from_frames(frames), [5 + 10 * i for i in range(12)], [0.5 * i for i in range(12)]
    )


def _regular_then_still() -> Run:
    """Updates stop before the run does: still regular, the last one carries forward."""
    rng = np.random.default_rng(3)
    moving = [mr.Frame({"atoms": _atoms(rng, 3)}) for _ in range(4)]
    return Run(moving + [mr.Frame()] * 3, mr.SequenceSchema.from_frames(moving))


def _gap() -> Run:
    """Regular until a frame states nothing and a later one moves again."""
    rng = np.random.default_rng(4)
    frames = [mr.Frame({"atoms": _atoms(rng, 3)}) for _ in range(8)]
    schema = mr.SequenceSchema.from_frames(frames)
    frames[4] = mr.Frame()
    frames[6] = frames[5]
    return Run(frames, schema, flush_every=2)


def _ragged() -> Run:
    rng = np.random.default_rng(5)
    frames = []
    for ordinal, rows in enumerate([4, 4, 6, 0, 0, 3, 9, 1]):
        atoms = _atoms(rng, rows, type=np.array([TEXTS[i % 5] for i in range(rows)], neutral.STRING))
        frame = mr.Frame({"atoms": atoms})
        if ordinal in {2, 3, 6}:
            frame["late"] = mr.Block({"q": rng.integers(0, 9, ordinal).astype(np.int64)})
        frames.append(frame)
    schema = mr.SequenceSchema.from_frames(frames)
    schema.declare_block("never").declare_column("never", "v", "f64", (3,)).declare_column("never", "s", "string")
    return Run([*frames, mr.Frame(), frames[-1]], schema, flush_every=3)


def _precision_run() -> Run:
    rng = np.random.default_rng(6)
    x = rng.normal(0, 5, 40)
    x[:4] = [math.nan, math.inf, -0.0, 1e300]
    frames = []
    for ordinal in range(30):
        x = x + rng.normal(0, 0.05, 40) if ordinal % 3 else stored_values(x, 0.001) + 2.0 ** (-13)
        frames.append(mr.Frame({"atoms": mr.Block({"x": x.copy(), "v": np.stack([x, -x], 1)})}))
    schema = mr.SequenceSchema.from_frames(frames)
    schema.declare_precision("atoms", "x", 1e-3).declare_precision("atoms", "v", 0.25)
    return Run(frames, schema, flush_every=7)


def _strings_nullable() -> Run:
    rng = np.random.default_rng(7)
    frames = []
    for ordinal in range(9):
        rows = 4 if ordinal < 5 else 4 + ordinal % 3
        block = mr.Block({f"c_{dtype}": edge_values(dtype, (rows,), ordinal // 2) for dtype in DTYPES})
        for name in block.columns[:: 1 + ordinal % 2]:
            block.set_validity(name, rng.random(rows) < 0.6)
        frames.append(mr.Frame({"g": block}))
    schema = mr.SequenceSchema.from_frames(frames)
    for name in frames[0]["g"].columns:
        schema.declare_nullable("g", name)
    return Run(frames, schema, flush_every=4)


def _dtypes_run() -> Run:
    frames = []
    for ordinal in range(6):
        columns = {f"c_{dtype}": edge_values(dtype, (5,), ordinal) for dtype in DTYPES}
        ranked = {f"m_{dtype}": edge_values(dtype, (5, 2, 3), ordinal) for dtype in neutral.NUMPY_DTYPES}
        frames.append(mr.Frame({"flat": mr.Block(columns), "ranked": mr.Block(ranked)}))
    return Run(frames, mr.SequenceSchema.from_frames(frames))


def _step_meta() -> Run:
    rng = np.random.default_rng(8)
    schema = mr.SequenceSchema()
    schema.declare_column("atoms", "x", "f64").declare_meta("required", "i64")
    for tag, values in META.items():
        fill = values[0] if tag != "json" else values[1]
        schema.declare_meta(f"m_{tag}", tag, fill=fill)
    frames = []
    for ordinal in range(12):
        frame = mr.Frame({"atoms": mr.Block({"x": rng.normal(0, 1, 2)})})
        frame.meta.set("required", ordinal * 2**55, tag="i64")
        for tag, values in META.items():
            if (ordinal + len(tag)) % 3:
                frame.meta.set(f"m_{tag}", values[ordinal % len(values)], tag=tag)
        frames.append(frame)
    return Run(frames, schema, flush_every=5)


def _irregular_labels() -> Run:
    rng = np.random.default_rng(9)
    frames = [mr.Frame({"atoms": _atoms(rng, 2)}) for _ in range(6)]
    times = [0.0, 0.1, 0.30000000000000004, 0.3, math.nan, -math.inf]
    return Run(frames, mr.SequenceSchema.from_frames(frames), [-(2**63), -5, 0, 1, 7, 2**63 - 1], times, 2)


def _late_labels() -> Run:
    """Steps and times keep to a progression for a while."""
    rng = np.random.default_rng(10)
    frames = [mr.Frame({"atoms": _atoms(rng, 2)}) for _ in range(9)]
    steps = [*range(0, 60, 10), 61, 70, 80]
    times = [*(i * 0.1 for i in range(5)), 0.6, 0.7, 0.8, 0.9]
    return Run(frames, mr.SequenceSchema.from_frames(frames), steps, times, 2)


def _rounded_times() -> Run:
    """Times that a fused multiply-add would reproduce differently."""
    rng = np.random.default_rng(11)
    frames = [mr.Frame({"atoms": _atoms(rng, 1)}) for _ in range(40)]
    stride = (0.3 + 0.1) - 0.3
    return Run(frames, mr.SequenceSchema.from_frames(frames), None, [0.3 + float(i) * stride for i in range(40)])


def _cells() -> Run:
    rng = np.random.default_rng(12)
    boxes: list[mr.Box | None] = [
        None,
        mr.Box(np.eye(3) * 5.0),
        None,
        mr.Box(np.eye(3) * 5.0),
        mr.Box(TRICLINIC, origin=np.array([0.5, 0.0, -0.0])),
        mr.Box(TRICLINIC, boundary=np.array([True, False, True])),
        None,
        mr.Box(SLANTED),
    ]
    frames = [mr.Frame({"atoms": _atoms(rng, 2)}, box=box) for box in boxes]
    return Run(frames, mr.SequenceSchema.from_frames(frames), flush_every=3)


def _cell_then_others() -> Run:
    """A fixed cell that changes after the first commits, in the vectors, then in nothing, then in the flags."""
    rng = np.random.default_rng(13)
    boxes = [*[mr.Box(np.eye(3) * 5.0)] * 4, mr.Box(np.eye(3) * 6.0), mr.Box(np.eye(3) * 6.0)]
    boxes.append(mr.Box(np.eye(3) * 6.0, boundary=np.array([False, True, True])))
    frames = [mr.Frame({"atoms": _atoms(rng, 2)}, box=box) for box in boxes]
    return Run(frames, mr.SequenceSchema.from_frames(frames), flush_every=2)


def _cell_fixed(box: mr.Box) -> Run:
    rng = np.random.default_rng(14)
    frames = [mr.Frame({"atoms": _atoms(rng, 2)}, box=box) for _ in range(3)]
    return Run(frames, mr.SequenceSchema.from_frames(frames))


def _aligned() -> Run:
    rng = np.random.default_rng(15)
    frames = []
    for ordinal, rows in enumerate([3, 3, 3, 4, 4, 0, 2]):
        frame = mr.Frame({"atoms": _atoms(rng, rows)})
        if ordinal in {0, 3, 4, 5, 6}:
            frame["labels"] = mr.Block({"type_id": np.arange(rows, dtype=np.uint64) + ordinal})
        frames.append(frame)
    schema = mr.SequenceSchema.from_frames(frames).declare_aligned("labels", "atoms")
    return Run(frames, schema, flush_every=2)


def _targets_run() -> Run:
    rng = np.random.default_rng(16)
    frames = []
    for rows in (4, 5, 5, 3):
        links = mr.Block({"to": rng.integers(0, rows, 3).astype(np.uint64)})
        links.set_target("to", "atoms")
        frames.append(mr.Frame({"atoms": _atoms(rng, rows), "links": links}))
    return Run(frames, mr.SequenceSchema.from_frames(frames))


def _grid() -> Run:
    rng = np.random.default_rng(17)
    frames = [
        mr.Frame({"grid": mr.Block({"rho": rng.random(24), "g": rng.random((24, 3))}, structural_shape=(2, 3, 4))})
        for _ in range(5)
    ]
    return Run(frames, mr.SequenceSchema.from_frames(frames))


def _bare() -> Run:
    schema = mr.SequenceSchema().declare_block("sites").declare_block("other")
    frames = [mr.Frame({"sites": mr.Block(rows=rows)}) for rows in (2, 2, 3, 0)]
    return Run(frames, schema)


def _zero_frames() -> Run:
    schema = mr.SequenceSchema().declare_column("atoms", "x", "f64").declare_column("atoms", "s", "string")
    return Run([], schema.declare_precision("atoms", "x", 1e-3).declare_meta("pe", "f64"))


def _one_frame() -> Run:
    frame = mr.Frame({"atoms": _atoms(np.random.default_rng(18), 3)}, meta={"pe": -1.5}, box=mr.Box(np.eye(3)))
    return Run([frame], mr.SequenceSchema.from_frames([frame]), [7], [0.25])


def _many_frames() -> Run:
    """Several chunks of every array, flushes that end inside a chunk."""
    rng = np.random.default_rng(19)
    x = rng.normal(0, 5, (3, 60))
    frames = []
    for ordinal in range(1200):
        x = x + rng.normal(0, 0.02, x.shape)
        atoms = mr.Block(
            {"x": x[0].copy(), "y": x[1].copy(), "z": x[2].copy(), "image": rng.integers(-1, 2, (60, 3), np.int32)}
        )
        frame = mr.Frame({"atoms": atoms}, meta={"pe": float(rng.normal())})
        if ordinal % 50 == 0:
            frame.box = mr.Box(np.eye(3) * (9.0 + ordinal / 1000))
        if ordinal % 3 == 0:
            rows = int(rng.integers(0, 6))
            frame["contacts"] = mr.Block({"pair": rng.integers(0, 60, (rows, 2)).astype(np.uint64)})
        frames.append(frame)
    schema = mr.SequenceSchema.from_frames(frames)
    for name in "xyz":
        schema.declare_precision("atoms", name, 1e-3)
    steps = [2 * i for i in range(1199)] + [5000]
    return Run(frames, schema, steps, [0.002 * i for i in range(1200)], flush_every=97)


def random_run(seed: int) -> Run:
    """Return a run drawn from everything the other cases hold, in one declaration."""
    rng = np.random.default_rng([20, seed])
    schema = mr.SequenceSchema()
    names = [f"b{i}" for i in range(rng.integers(1, 4))]
    for name in names:
        for index in range(rng.integers(1, 4)):
            dtype = DTYPES[rng.integers(len(DTYPES))]
            trailing = (
                ()
                if dtype == "string" or rng.random() < 0.6
                else tuple(rng.integers(1, 4, rng.integers(1, 3)).tolist())
            )
            schema.declare_column(name, f"c{index}", dtype, trailing)
            if dtype == "f64" and rng.random() < 0.5:
                schema.declare_precision(name, f"c{index}", float(10.0 ** rng.integers(-4, 2)))
            if rng.random() < 0.4:
                schema.declare_nullable(name, f"c{index}")
    schema.declare_meta("pe", "f64", fill=math.nan)
    content = neutral.schema_from_document(schema.to_document())
    steady = {name: bool(rng.random() < 0.5) for name in names}
    frames: list[mr.Frame] = []
    for ordinal in range(rng.integers(0, 25)):
        frame = mr.Frame()
        for name in names:
            if steady[name] or rng.random() < 0.5:
                rows = 3 if steady[name] else int(rng.integers(0, 5))
                frame[name] = _random_block(rng, content.blocks[name], rows, ordinal)
        if frames and rng.random() < 0.2:
            frame = mr.Frame({name: frames[-1][name] for name in frames[-1].blocks})
        if rng.random() < 0.5:
            frame.meta.set("pe", float(rng.normal()), tag="f64")
        if rng.random() < 0.3:
            frame.box = mr.Box(np.diag(rng.random(3) + 1.0))
        frames.append(frame)
    steps = np.cumsum(rng.integers(1, 3, len(frames))).tolist() if rng.random() < 0.5 else None
    times = [float(i) * 0.5 for i in range(len(frames))] if rng.random() < 0.5 else None
    return Run(frames, schema, steps, times, int(rng.integers(1, 8)))


def _random_block(rng: np.random.Generator, declared: neutral.BlockDeclaration, rows: int, seed: int) -> mr.Block:
    block = mr.Block(
        {name: edge_values(entry.dtype, (rows, *entry.trailing), seed) for name, entry in declared.columns.items()}
    )
    for name, entry in declared.columns.items():
        if entry.nullable and rng.random() < 0.5:
            block.set_validity(name, rng.random(rows) < 0.7)
    return block


RUNS: dict[str, Callable[[], Run]] = {
    "regular": _regular,
    "regular_then_still": _regular_then_still,
    "gap": _gap,
    "ragged": _ragged,
    "precision": _precision_run,
    "strings_nullable": _strings_nullable,
    "dtypes": _dtypes_run,
    "step_meta": _step_meta,
    "irregular_labels": _irregular_labels,
    "late_labels": _late_labels,
    "rounded_times": _rounded_times,
    "cells": _cells,
    "cell_then_others": _cell_then_others,
    "cell_fixed": lambda: _cell_fixed(mr.Box(TRICLINIC, origin=np.array([1.0, 0.0, 0.0]))),
    "cell_slab": lambda: _cell_fixed(mr.Box(np.eye(3) * 4.0, boundary=np.array([True, True, False]))),
    "cell_undefined": lambda: _cell_fixed(mr.Box(None, cell_defined=False)),
    "aligned": _aligned,
    "targets": _targets_run,
    "grid": _grid,
    "bare": _bare,
    "zero_frames": _zero_frames,
    "one_frame": _one_frame,
    "many_frames": _many_frames,
    **{f"random_{seed}": functools.partial(random_run, seed) for seed in range(12)},
}
