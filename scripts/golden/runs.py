"""Fixtures of trajectories: what changes, what carries forward, and what is left out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scripts.golden.content import (
    NUMPY_DTYPES,
    Block,
    Box,
    Column,
    Frame,
    Record,
    Run,
    block,
    column,
    declared,
    undefined_cell,
)
from scripts.golden.frames import edge_values

__all__ = ["run_records"]

_ASPIRIN = Path(__file__).resolve().parents[2] / "fixtures" / "sources" / "aspirin.json"


def run_records() -> list[Record]:
    """Return every fixture that holds a run and is written the usual way."""
    return [
        _precision(),
        _ragged(),
        _aligned(),
        _regular(),
        _ended_elision(),
        _fills(),
        _cell_changing(),
        _cell_fixed(),
        _cell_undefined(),
        _no_frames(),
        _references(),
    ]


def _precision() -> Record:
    source = json.loads(_ASPIRIN.read_text(encoding="utf-8"))
    positions = np.array(source["positions"])
    bonds = np.array(source["bonds"], dtype=np.uint64)
    relation = block(
        {
            "atomi": Column("u64", bonds[:, 0].copy()),
            "atomj": Column("u64", bonds[:, 1].copy()),
            "bond_number": Column("u64", bonds[:, 2].copy()),
        }
    )
    frames = []
    for ordinal, one in enumerate(positions):
        atoms = {axis: Column("f64", one[:, place].copy()) for place, axis in enumerate("xyz")}
        atoms["element"] = column("string", source["element"])
        energies = {"pe": source["potential_energy"][ordinal], "ke": source["kinetic_energy"][ordinal]}
        frames.append(Frame({"atoms": block(atoms)}, {key: ("f64", value) for key, value in energies.items()}))
    frames[0].blocks["bonds"] = relation
    declaration = {
        "blocks": {
            "atoms": {
                "columns": {axis: declared("f64", precision=1e-3) for axis in "xyz"} | {"element": declared("string")}
            },
            "bonds": {"columns": {name: declared("u64") for name in relation.columns}},
        },
        "meta": {"pe": declared_tag("f64"), "ke": declared_tag("f64")},
    }
    interval = source["steps_between_frames"]
    between = source["time_step"] * interval
    return Record(
        "precision",
        "Aspirin at 300 K: 21 atoms with elements and bonds, 25 frames, positions in angstrom at a precision of 1e-3, "
        "energies in kcal/mol, times in ps. Bonds are stored once.",
        ["precision", "trajectory", "carry forward", "step_progression", "time_progression"],
        meta={"source": "acetylsalicylic acid, MMFF94, velocity Verlet at 0.5 fs"},
        system=Frame({}, {"units": ("json", source["units"]), "smiles": ("string", source["smiles"])}),
        run=Run(
            declaration,
            frames,
            [interval * ordinal for ordinal in range(len(frames))],
            [ordinal * between for ordinal in range(len(frames))],
        ),
    )


def declared_tag(tag: str, *fill: Any) -> dict[str, Any]:
    """Return a per-step key's entry of a ``sequence_schema``, with its fill where one is given."""
    return {"dtype": tag, **({"fill": fill[0]} if fill else {})}


def _every(count: int, start: int) -> Block:
    """Return a block with a column of each dtype whose values depend on `start`."""
    columns = {}
    for dtype in NUMPY_DTYPES:
        values = edge_values(dtype, count + start)[start:]
        mask = [(place + start) % 2 == 0 for place in range(count)] if dtype in ("f64", "string", "i16") else None
        columns[dtype] = Column(dtype, values, mask)
    columns["pair"] = Column("f64", (np.arange(2.0 * count) + start).reshape(count, 2))
    return Block(columns, count)


def _ragged() -> Record:
    columns = {dtype: declared(dtype) for dtype in NUMPY_DTYPES}
    for dtype in ("f64", "string", "i16"):
        columns[dtype]["nullable"] = True
    declaration = {
        "blocks": {
            "every": {"columns": {**columns, "pair": declared("f64", [2])}},
            "late": {"columns": {"label": declared("string")}},
            "grid": {"columns": {"rho": declared("f64")}, "structural_shape": [2, 1, 2]},
            "counted": {"columns": {}},
            "never": {"columns": {"x": declared("f64")}},
        },
        "meta": {},
    }

    def grid(value: float) -> Block:
        return Block({"rho": column("f64", [value, 0.0, -value, 1.0])}, 4, structural_shape=[2, 1, 2])

    def late(*words: str) -> Block:
        return block({"label": column("string", list(words))})

    frames = [
        Frame({"every": _every(3, 0), "grid": grid(1.0), "counted": Block({}, 2)}),
        Frame({"every": _every(4, 1), "late": late("first", "é")}),
        Frame({"every": _every(0, 0), "late": late()}),
        Frame({"grid": grid(1.0), "counted": Block({}, 0)}),
        Frame({"every": _every(2, 2), "late": late(), "counted": Block({}, 0)}),
        Frame({"every": _every(2, 2), "late": late("last"), "grid": grid(-0.0)}),
        Frame({"grid": grid(0.0)}),
        Frame({}),
    ]
    # The sixth frame states a mask of nothing but true where the one before it had nulls.
    for name in ("f64", "string", "i16"):
        frames[5].blocks["every"].columns[name].mask = [True, True]
    return Record(
        "ragged",
        "Row counts that change, blocks that are absent, present and empty, one that never comes; columns of every "
        "dtype, nulls, strings, a grid, a block without columns; frames that omit a block, restate it unchanged, "
        "change the sign of a zero, or change nothing but a mask.",
        ["trajectory", "three states", "ragged form", "dtypes", "validity", "structural_shape", "strings"],
        run=Run(declaration, frames, [0, 1, 2, 5, 7, 11, 100, 2**53 + 1]),
    )


def _aligned() -> Record:
    declaration = {
        "blocks": {
            "atoms": {"columns": {"x": declared("f64"), "y": declared("f64")}},
            "atom_types": {"columns": {"type": declared("string"), "charge": declared("f64")}, "aligned_with": "atoms"},
            "sites": {"columns": {"q": declared("i64")}, "aligned_with": "atoms"},
        },
        "meta": {},
    }

    def atoms(count: int, shift: float) -> Block:
        return block({"x": column("f64", np.arange(count) + shift), "y": column("f64", np.arange(count) * shift)})

    def types(*words: str) -> Block:
        return block({"type": column("string", list(words)), "charge": column("f64", [len(one) / 4 for one in words])})

    def sites(*values: int) -> Block:
        return block({"q": column("i64", list(values))})

    frames = [
        Frame({"atoms": atoms(3, 0.0), "atom_types": types("OW", "HW", "HW")}),
        Frame({"atoms": atoms(3, 0.25), "sites": sites(1, 2, 3)}),
        Frame({"atoms": atoms(3, 0.5)}),
        Frame({"atoms": atoms(3, 0.75), "atom_types": types("OH", "HO", "HW")}),
        Frame({"atoms": atoms(4, 1.0), "atom_types": types("OH", "HO", "HW", "HW"), "sites": sites(1, 2, 3, 4)}),
        Frame({"atoms": atoms(0, 0.0), "atom_types": types(), "sites": sites()}),
        Frame({"atoms": atoms(1, 2.0), "atom_types": types("Na"), "sites": sites(9)}),
    ]
    return Record(
        "aligned",
        "Types aligned with atoms: stated where they change, carried forward between, restated where the number of "
        "atoms changes, also to none; a second aligned block is absent at first.",
        ["aligned blocks", "carry forward"],
        run=Run(declaration, frames, list(range(len(frames))), [0.5 * ordinal for ordinal in range(len(frames))]),
    )


def _regular() -> Record:
    declaration = {
        "blocks": {
            "atoms": {"columns": {"x": declared("f64"), "n": declared("i32")}},
            "cooled": {"columns": {"x": declared("f64", precision=0.5)}},
        },
        "meta": {"temp": declared_tag("f64")},
    }
    frames = []
    for ordinal in range(8):
        atoms = {"x": column("f64", [ordinal / 4, -ordinal / 8]), "n": column("i32", [ordinal, -ordinal])}
        blocks = {"atoms": block(atoms)}
        # Half a quantum and less is no change: from the fourth frame on this block carries forward.
        blocks["cooled"] = block({"x": column("f64", [min(ordinal, 3) + ordinal / 64, 1.0])})
        frames.append(Frame(blocks, {"temp": ("f64", 300.0 - ordinal)}))
    return Record(
        "regular",
        "The regular form: uniform_rows and dense_updates instead of index arrays, in a block that changes at every "
        "frame and in one whose changes end before the run does; steps and times are progressions.",
        ["regular form", "step_progression", "time_progression", "precision"],
        run=Run(declaration, frames, [1000 + 50 * n for n in range(8)], [0.1 * n for n in range(8)]),
    )


def _ended_elision() -> Record:
    declaration = {"blocks": {"atoms": {"columns": {"x": declared("f64")}}}, "meta": {}}
    counts = [2, 2, 2, 3, 2]
    frames = [Frame({"atoms": block({"x": column("f64", np.arange(n) + place)})}) for place, n in enumerate(counts)]
    return Record(
        "ended-elision",
        "A run that begins regular and does not stay so: the block gets index arrays, steps and times become arrays. "
        "One time is NaN, one is -0.0, and the first three times are no progression in binary64.",
        ["ragged form", "step", "time"],
        run=Run(declaration, frames, [-10, 0, 10, 25, 2**62], [0.1, 0.2, 0.3, math.nan, -0.0]),
    )


def _fills() -> Record:
    fills: dict[str, tuple[str, Any]] = {
        "f64_nan": ("f64", "NaN"),
        "f64_inf": ("f64", "-Infinity"),
        "f64_number": ("f64", 0.5),
        "bool_fill": ("bool", True),
        "i32_fill": ("i32", -1),
        "i64_wide": ("i64", str(-(2**63))),
        "u32_fill": ("u32", 2**32 - 1),
        "u64_wide": ("u64", str(2**64 - 1)),
        "string_fill": ("string", "NaN"),
        "json_null": ("json", None),
        "json_fill": ("json", {"a": [1, None]}),
        "bool3_fill": ("bool3", [True, False, True]),
        "i32x3_fill": ("i32x3", [1, 2, 3]),
        "i64x3_fill": ("i64x3", [str(2**53 + 1), 0, -1]),
        "u32x3_fill": ("u32x3", [1, 2, 3]),
        "u64x3_fill": ("u64x3", [str(2**64 - 1), 0, 1]),
        "f64x3_fill": ("f64x3", ["NaN", 0.5, 1.0]),
        "f64x6_fill": ("f64x6", [0.0, 1.0, 2.0, 3.0, 4.0, "Infinity"]),
        "f64x9_fill": ("f64x9", [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]),
    }
    given: dict[str, Any] = {
        "f64_nan": 1.0,
        "f64_inf": -0.0,
        "f64_number": math.nan,
        "bool_fill": False,
        "i32_fill": 2**31 - 1,
        "i64_wide": 2**53 + 1,
        "u32_fill": 0,
        "u64_wide": 2**53,
        "string_fill": "",
        "json_null": [1, {"b": None}],
        "json_fill": "text",
        "bool3_fill": (False, False, True),
        "i32x3_fill": (0, -1, -(2**31)),
        "i64x3_fill": (-(2**63), 2**63 - 1, 0),
        "u32x3_fill": (0, 0, 2**32 - 1),
        "u64x3_fill": (0, 2**53 + 1, 1),
        "f64x3_fill": (1.0, math.inf, -0.0),
        "f64x6_fill": (0.1,) * 6,
        "f64x9_fill": tuple(float(place) for place in range(9)),
    }
    declaration = {
        "blocks": {"atoms": {"columns": {"x": declared("f64")}}},
        "meta": {"pe": declared_tag("f64"), **{key: declared_tag(*fill) for key, fill in fills.items()}},
    }
    frames = []
    for ordinal in range(4):
        meta: dict[str, tuple[str, Any]] = {"pe": ("f64", -1.5 * ordinal)}
        if ordinal in (1, 3):
            meta |= {key: (fill[0], given[key]) for key, fill in fills.items()}
        frames.append(Frame({"atoms": block({"x": column("f64", [float(ordinal)])})}, meta))
    return Record(
        "fills",
        "Per-step values of every tag, each with a fill that frames 0 and 2 leave to it, and one key without a fill.",
        ["per-step meta", "fills", "typed JSON"],
        run=Run(declaration, frames, list(range(4))),
    )


def _with_cells(name: str, description: str, boxes: list[Box | None], *more: str) -> Record:
    declaration = {"blocks": {"atoms": {"columns": {"x": declared("f64")}}}, "meta": {}}
    frames = [
        Frame({"atoms": block({"x": column("f64", [float(ordinal)])})}, box=box) for ordinal, box in enumerate(boxes)
    ]
    return Record(name, description, ["box", *more], run=Run(declaration, frames, list(range(len(frames)))))


def _cube(edge: float, **more: Any) -> Box:
    return Box([[edge, 0.0, 0.0], [0.0, edge, 0.0], [0.0, 0.0, edge]], **more)


def _cell_changing() -> Record:
    return _with_cells(
        "cell-changing",
        "A cell that comes at the second frame, is omitted (and so carries forward), changes, is restated unchanged, "
        "gets an origin, and ceases to be periodic along its third vector.",
        [
            None,
            _cube(9.0),
            None,
            Box([[9.0, 1.0, 0.5], [0.0, 8.0, 0.25], [0.0, 0.0, 7.0]]),
            Box([[9.0, 1.0, 0.5], [0.0, 8.0, 0.25], [0.0, 0.0, 7.0]]),
            _cube(9.0, origin=[-4.5, 0.0, 1.0]),
            _cube(9.0, origin=[-4.5, 0.0, 1.0], boundary=[True, True, False]),
            None,
        ],
        "carry forward",
    )


def _cell_fixed() -> Record:
    box = _cube(12.0, origin=[0.0, 0.0, -6.0], boundary=[True, True, False])
    return _with_cells("cell-fixed", "One cell for the whole run, periodic in two directions.", [box, None, box])


def _cell_undefined() -> Record:
    return _with_cells("cell-undefined", "A run that says it has no cell.", [undefined_cell(), None, undefined_cell()])


def _no_frames() -> Record:
    declaration = {
        "blocks": {"atoms": {"columns": {"x": declared("f64", precision=0.5)}}},
        "meta": {"pe": declared_tag("f64"), "note": declared_tag("json", None)},
    }
    return Record(
        "no-frames",
        "A run that was declared and has no frame.",
        ["trajectory", "sequence_schema"],
        run=Run(declaration, [], []),
    )


def _references() -> Record:
    declaration = {
        "blocks": {
            "atoms": {"columns": {"id": declared("u64"), "x": declared("f64")}},
            "contacts": {
                "columns": {"first": declared("u64"), "fixed": declared("u64", nullable=True), "d": declared("f64")},
                "targets": {"first": "atoms", "fixed": "/system/wall"},
            },
        },
        "meta": {},
    }
    system = Frame(
        {
            "atoms": block({"id": column("u64", [5, 7, 9]), "element": column("string", ["C", "N", "O"])}),
            "wall": block({"x": column("f64", [0.0, 1.0])}),
        },
        {"spin": ("i64", 1)},
    )

    def frame(ordinal: int, first: list[int], fixed: list[int], mask: list[bool] | None = None) -> Frame:
        atoms = {"id": column("u64", [5, 7, 9]), "x": column("f64", [0.0, 1.0, 2.0 + ordinal])}
        contacts = {
            "first": column("u64", first),
            "fixed": column("u64", fixed, mask=mask),
            "d": column("f64", [0.5] * len(first)),
        }
        return Frame({"atoms": block(atoms), "contacts": block(contacts)})

    frames = [frame(0, [0, 2], [1, 77], [True, False]), frame(1, [1], [0]), frame(2, [1], [0])]
    return Record(
        "references",
        "A run beside a system: atoms in both are the same rows, with equal ids; contacts refer to atoms of the same "
        "resolved frame and to rows of the system, one of them null.",
        ["targets", "system and trajectory", "validity"],
        system=system,
        run=Run(declaration, frames, [0, 10, 20]),
    )
