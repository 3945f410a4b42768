"""Fixtures of single frames: values, precision, typed meta, topology, and records without a run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scripts.golden.content import (
    NUMPY_DTYPES,
    Array,
    Block,
    Box,
    Column,
    Frame,
    Observable,
    Record,
    block,
    column,
    undefined_cell,
)

__all__ = ["TEXTS", "edge_values", "frame_records"]

TEXTS = ["", "a", "longer text with spaces", "é", "🧪", "line\nbreak", "tab\t", '"quoted\\"', "NaN", "end with NUL\0"]
FLOATS = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 0.1, -1e-300, 2.0**53 + 2.0]

_INTEGERS = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}


def edge_values(dtype: str, count: int) -> Array:
    """Return `count` values of a dtype that begin with its limits."""
    if dtype == "string":
        return np.array([TEXTS[place % len(TEXTS)] for place in range(count)], dtype=NUMPY_DTYPES["string"])
    kind = NUMPY_DTYPES[dtype]
    if dtype == "bool":
        return np.array([place % 3 == 0 for place in range(count)], dtype=np.bool_)
    if dtype in _INTEGERS:
        limits = np.iinfo(kind)
        ends = [int(limits.min), int(limits.max), 0, int(limits.max) // 3]
        return np.array([ends[place % len(ends)] for place in range(count)], dtype=kind)
    if dtype == "f64":
        return np.array([FLOATS[place % len(FLOATS)] for place in range(count)])
    parts = [FLOATS[place % 5] if place < 10 else place / 8 for place in range(2 * count)]
    return np.array(parts, dtype=np.float32 if dtype == "c64" else np.float64).view(kind)


def frame_records() -> list[Record]:
    """Return every fixture that holds frames and documents and no run."""
    return [_minimal(), _dtypes(), _precision_edges(), _typed_meta(), _topology(), _cells(), _run_record()]


def _minimal() -> Record:
    atoms = block({"x": column("f64", [0.0, 1.5])})
    return Record(
        "frame-minimal",
        "One frame: one block of one column. Begin here.",
        ["frame", "block", "column"],
        frame=Frame({"atoms": atoms}),
        profile="live",
    )


def _dtypes() -> Record:
    every = Block({dtype: Column(dtype, edge_values(dtype, 10)) for dtype in NUMPY_DTYPES}, 10)
    masked = Block(
        {
            "f64": Column("f64", edge_values("f64", 4), [True, False, True, True]),
            "u16": Column("u16", edge_values("u16", 4), [False, False, False, False]),
            "string": Column("string", edge_values("string", 4), [True, True, False, True]),
            "tensor": Column("f64", np.arange(36.0).reshape(4, 3, 3), [True, True, True, False]),
            "all_true": Column("i32", edge_values("i32", 4), [True, True, True, True]),
        },
        4,
    )
    shaped = Block(
        {
            "dipole": Column("f64", np.arange(18.0).reshape(6, 3) / 4),
            "wave": Column("c128", np.arange(24.0).view(np.complex128).reshape(6, 2)),
            "nothing": Column("f64", np.zeros((6, 0))),
        },
        6,
        structural_shape=[1, 2, 3],
    )
    blocks = {
        "every": every,
        "masked": masked,
        "grid": shaped,
        "empty": Block({"x": column("f64", []), "name": column("string", [])}, 0),
        "counted": Block({}, 3),
        "meta": Block({"n": column("i64", [1])}, 1),
    }
    return Record(
        "frame-dtypes",
        "The thirteen dtypes with their limits, masks, trailing axes, a grid, a block without rows, one without "
        "columns, and a block that is called meta.",
        ["dtypes", "validity", "structural_shape", "block names"],
        frame=Frame(blocks),
    )


def _precision_edges() -> Record:
    half = [1.25, 1.75, -1.25, -1.75, 0.2, -0.2, 0.0, -0.0, 0.25, -0.25, math.nan, math.inf, -math.inf]
    half += [2.0**51 - 0.5, 2.0**51, 2.0**51 + 0.5, -(2.0**52) - 1.0, 5e-324, 1e300, 0.74999]
    fine = [0.0014, 1.0004, -0.00048828125, 0.00146484375, 123.4567, -0.0004, 2.0**42, 2.0**42 + 0.0009765625, 1e-320]
    edges = {
        "half": column("f64", half, precision=0.5),
        "masked": column("f64", half, mask=[place % 4 != 0 for place in range(len(half))], precision=0.5),
        "as_given": column("f64", half),
    }
    bounds = {
        "smallest": column("f64", [2.0**-1001, 3 * 2.0**-1001, -(2.0**-1002), 1.0, 5e-324], precision=2.0**-1000),
        "largest": column("f64", [2.0**1000, 2.0**999, -1.0, 1.7e308, 3 * 2.0**999], precision=2.0**1000),
        "thousandth": column("f64", fine[:5], precision=1e-3),
        "pair": column("f64", [[0.0014, -0.0014]] * 5, precision=1e-3),
    }
    return Record(
        "precision-edges",
        "Declared precision at its limits: ties, signed zeros, what is not finite, values too large to round, the "
        "smallest and the largest precision. Values of the JSON are the stored ones, rounded.",
        ["precision"],
        frame=Frame(
            {
                "edges": block(edges),
                "bounds": block(bounds),
                "fine": block({"x": column("f64", fine, precision=1e-3)}),
            }
        ),
    )


def _typed_meta() -> Record:
    values: dict[str, tuple[str, Any]] = {
        "a_bool": ("bool", True),
        "an_i32": ("i32", -(2**31)),
        "an_i64": ("i64", -(2**63)),
        "a_u32": ("u32", 2**32 - 1),
        "a_u64": ("u64", 2**64 - 1),
        "an_f64": ("f64", 0.1),
        "a_string": ("string", "NaN"),
        "a_json": ("json", {"list": [1, 2.5, None, True, "x"], "empty": {}, "null": None}),
        "a_bool3": ("bool3", (True, False, True)),
        "an_i32x3": ("i32x3", (1, -2, 2**31 - 1)),
        "an_i64x3": ("i64x3", (2**53, 2**53 + 1, -(2**63))),
        "a_u32x3": ("u32x3", (0, 1, 2**32 - 1)),
        "a_u64x3": ("u64x3", (0, 2**53 + 1, 2**64 - 1)),
        "an_f64x3": ("f64x3", (math.nan, math.inf, -math.inf)),
        "an_f64x6": ("f64x6", (1.0, -0.0, 0.1, 1e22, 5e-324, 2.0**53)),
        "an_f64x9": ("f64x9", tuple(place / 3 for place in range(9))),
        "integral_f64": ("f64", 1.0),
        "negative_zero": ("f64", -0.0),
        "not_a_number": ("f64", math.nan),
        "infinite": ("f64", -math.inf),
        "at_2_53": ("i64", 2**53),
        "past_2_53": ("i64", 2**53 + 1),
        "json_null": ("json", None),
        "json_number": ("json", 3),
        "": ("string", "a key may be empty"),
        "smiles": ("string", "O"),
        "total_charge": ("i64", 0),
        "units": ("json", {"preset": "real"}),
    }
    plain = {"spin": ("i64", 1), "mapped_smiles": ("string", "[OH2:1]")}
    return Record(
        "typed-meta",
        "Every meta tag with its limits, in the frame and in the system.",
        ["typed meta", "typed JSON"],
        meta={
            "creator": {"name": "golden fixtures", "version": "1"},
            "author": {"name": "Ada", "email": "ada@example.org"},
            "created_at": "2026-01-31T12:00:00+01:00",
            "source": "made up",
            "record_id": "typed-meta",
            "content_hash": "sha256:0",
            "modules": {"example": {"version": [1, 0]}},
            "kept": None,
        },
        frame=Frame({}, values),
        system=Frame({}, plain),
    )


def _topology() -> Record:
    def ends(*rows: tuple[int, ...]) -> dict[str, Column]:
        names = ("atomi", "atomj", "atomk", "atoml")[: len(rows[0])]
        return {name: column("u64", [row[place] for row in rows]) for place, name in enumerate(names)}

    words = ["OW", "HW", "HW", "MW", "CT", "CT"]
    atoms = {
        "id": column("u64", [10, 11, 12, 13, 20, 21]),
        "element": column("string", ["O", "H", "H", "", "C", "C"]),
        "type": column("string", words),
        "charge": column("f64", [0.0, 0.52, 0.52, -1.04, 0.0, 0.0]),
        "mass": column("f64", [15.999, 1.008, 1.008, 0.0, 12.011, 12.011]),
        "mol_id": column("u64", [1, 1, 1, 1, 2, 2]),
        "res_name": column("string", ["HOH"] * 4 + ["ETH"] * 2),
        "formal_charge": column("i64", [0, 0, 0, 0, -1, 1]),
        **{flag: column("i32", [0, 0, 0, 0, -1, place]) for place, flag in enumerate(("ix", "iy", "iz"))},
        "free": column("bool", [True] * 5 + [False]),
    }
    sites = ends((3, 0, 1, 2), (3, 0, 1, 0))
    sites["atoml"] = column("u64", [2, 0], mask=[True, False])
    system = {
        "atoms": block(atoms),
        "bonds": block(
            ends((0, 1), (0, 2), (4, 5))
            | {"bond_type": column("u64", [1, 1, 0]), "bond_number": column("u64", [1, 1, 1], mask=[True, True, False])}
        ),
        "angles": block(ends((1, 0, 2)) | {"type": column("string", ["HW-OW-HW"])}),
        "dihedrals": block(ends((1, 0, 4, 5)) | {"exclude_14": column("bool", [True])}),
        "impropers": block(ends((0, 1, 2, 3))),
        "pairs": block(ends((1, 5)) | {"is_14": column("bool", [True])}),
        "virtual_sites": block(sites),
    }
    beads = block({"x": column("f64", [0.5, 4.0]), "bead_type": column("string", ["W", "C1"])})
    members = block(
        {"ibead": column("u64", [0, 0, 0, 1, 1]), "atom": column("u64", [0, 1, 2, 4, 5])},
        targets={"ibead": "beads", "atom": "/system/atoms"},
    )
    chosen = block(
        {"row": column("u64", [1, 99], mask=[True, False]), "plain": column("u64", [7, 10**19])},
        targets={"row": "beads"},
    )
    return Record(
        "topology",
        "Relations between atoms, a virtual site of two atoms (null atoml), and a coarse-grained frame whose members "
        "refer to beads of the frame and to atoms of the system; a null reference may be any number, and a u64 column "
        "that is not declared is one.",
        ["vocabulary", "relations", "targets", "system and frame"],
        frame=Frame({"beads": beads, "members": members, "chosen": chosen}),
        system=Frame(system, {"smiles": ("string", "O.[CH2-][CH2+]")}),
    )


def _cells() -> Record:
    tilted = Box([[10.0, 2.0, -1.0], [0.0, 9.0, 0.5], [0.0, 0.0, 8.0]], [-5.0, 0.0, 1e-3], [True, True, False])
    atoms = block({"x": column("f64", [1.0])})
    return Record(
        "frame-cells",
        "A tilted cell with an origin, periodic along two of its three vectors, which are the columns of the matrix; "
        "and a system that has no cell.",
        ["box"],
        frame=Frame({"atoms": atoms}, box=tilted),
        system=Frame({"atoms": atoms}, box=undefined_cell()),
    )


def _run_record() -> Record:
    atoms = block({"element": column("string", ["Ar", "Ar"]), "mass": column("f64", [39.948, 39.948])})
    state = block({"x": column("f64", [0.0, 3.8]), "y": column("f64", [0.0, 0.0]), "z": column("f64", [0.0, 0.0])})
    histogram = Frame({"bins": block({"r": column("f64", [0.5, 1.5]), "n": column("i64", [0, 3])})})
    observables = {
        "rdf": Observable(
            column("f64", [[0.5, 0.0], [1.5, math.nan]]),
            {
                "kind": "vector",
                "description": "pair distribution",
                "time_dependent": False,
                "unit": "angstrom",
                "axes": ["r", "quantity"],
                "domain": {"elements": ["Ar"]},
                "kept": None,
            },
        ),
        "energy": Observable(
            Column("f64", np.array(-0.25)),
            {"kind": "scalar", "description": "interaction energy", "time_dependent": False, "unit": "kcal/mol"},
        ),
        "labels": Observable(
            column("string", ["near", "far"]),
            {"kind": "word", "description": "a kind of the producer's own", "time_dependent": False, "target": "atoms"},
        ),
        "histogram": Observable(
            histogram, {"kind": "vector", "description": "a quantity of several columns", "time_dependent": False}
        ),
    }
    moment = "2026-01-31T12:00:0{}Z"
    events: list[tuple[str, float, int | None, str, Any]] = [
        ("train/loss", 1.0, 0, moment.format(0), None),
        ("train/loss", 0.5, 1, moment.format(1), ["note"]),
        ("rate", 12.5, None, moment.format(2), None),
        ("train/loss", math.nan, 2, moment.format(3), None),
        ("rate", 12.5, None, moment.format(4), {"host": "a"}),
        ("train/loss", 0.25, 1, moment.format(5), None),
        ("train/loss", math.inf, 2**53 + 1, moment.format(6), None),
    ]
    return Record(
        "run-record",
        "What a program leaves beside its results: status, method, observables and metrics. In the metrics a step is "
        "logged twice (the later event wins), values are not finite, and one series has no steps.",
        ["status", "method", "observables", "metrics"],
        frame=Frame({"atoms": state}),
        system=Frame({"atoms": atoms}),
        observables=observables,
        status={
            "state": "failed",
            "stage": "production",
            "epoch": 0,
            "global_step": 2,
            "message": None,
            "started_at": "2026-01-31T12:00:00Z",
            "updated_at": "2026-01-31T13:00:00.25+01:00",
            "error": {"message": "diverged", "type": "FloatingPointError"},
            "progress": {"done": 0.5},
            "kept": [1, None],
        },
        method={
            "type": "workflow",
            "description": "equilibration, then production",
            "engine": {"name": "example", "version": "1.0"},
            "order": ["equilibration", "production"],
            "stages": {"production": {"type": "classical"}, "equilibration": {}},
        },
        events=events,
    )
