"""Fixtures of collections: many small records in one LMDB file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scripts.golden.content import (
    NUMPY_DTYPES,
    Block,
    Box,
    Collection,
    CollectionRecord,
    Column,
    Frame,
    Run,
    block,
    column,
    declared,
    undefined_cell,
)
from scripts.golden.fields import small_forcefield
from scripts.golden.frames import edge_values

__all__ = ["collection_fixtures"]


def collection_fixtures() -> list[Collection]:
    """Return every fixture that is a collection."""
    return [_minimal(), _everything()]


def _minimal() -> Collection:
    def record(symbols: list[str], energy: float) -> CollectionRecord:
        atoms = {axis: column("f64", np.arange(len(symbols)) + shift) for shift, axis in enumerate("xyz")}
        atoms["element"] = column("string", symbols)
        frame = Frame({"atoms": block(atoms)}, {"pe": ("f64", energy)})
        return CollectionRecord({}, run=Run(declaration, [frame], [0]))

    columns = {axis: declared("f64") for axis in "xyz"} | {"element": declared("string")}
    declaration = {"blocks": {"atoms": {"columns": columns}}, "meta": {"pe": {"dtype": "f64"}}}
    return Collection(
        "collection-minimal",
        "Three labelled structures of different size. Begin here.",
        ["collection", "frame bytes"],
        {"units": {"length": "angstrom", "energy": "eV"}},
        declaration,
        [record(["O", "H", "H"], -14.25), record(["He"], -0.5), record(["N", "N"], -9.0)],
    )


def _declaration() -> dict[str, Any]:
    every = {dtype: declared(dtype) for dtype in NUMPY_DTYPES}
    for dtype in ("f64", "string", "u8"):
        every[dtype]["nullable"] = True
    return {
        "blocks": {
            "atoms": {"columns": {axis: declared("f64", precision=1e-3) for axis in "xyz"}},
            "atom_types": {"columns": {"type": declared("string")}, "aligned_with": "atoms"},
            "bonds": {
                "columns": {"atomi": declared("u64"), "atomj": declared("u64")},
                "targets": {"atomi": "atoms", "atomj": "/system/atoms"},
            },
            "grid": {"columns": {"rho": declared("f64", [2])}, "structural_shape": [1, 2]},
            "every": {"columns": every},
        },
        "meta": {
            "pe": {"dtype": "f64"},
            "dipole": {"dtype": "f64x3", "fill": ["NaN", 0.0, 0.0]},
            "count": {"dtype": "u64", "fill": str(2**64 - 1)},
            "note": {"dtype": "json", "fill": None},
        },
    }


def _everything() -> Collection:
    declaration = _declaration()

    def atoms(count: int, shift: float) -> Block:
        return block({axis: column("f64", np.arange(count) / 7 + shift + place) for place, axis in enumerate("xyz")})

    def types(*words: str) -> Block:
        return block({"type": column("string", list(words))})

    def frame(blocks: dict[str, Block], energy: float, box: Box | None = None, **meta: tuple[str, Any]) -> Frame:
        return Frame(blocks, {"pe": ("f64", energy), **meta}, box)

    def every(mask: list[bool]) -> Block:
        columns = {dtype: Column(dtype, edge_values(dtype, 3)) for dtype in NUMPY_DTYPES}
        for name in ("f64", "string", "u8"):
            columns[name].mask = mask
        return Block(columns, 3)

    grid = Block({"rho": column("f64", [[0.0, -0.0], [1.0, math.inf]])}, 2, structural_shape=[1, 2])
    bonds = block(
        {"atomi": column("u64", [0, 0]), "atomj": column("u64", [1, 2])},
        targets={"atomi": "atoms", "atomj": "/system/atoms"},
    )
    water = {
        "element": column("string", ["O", "H", "H"]),
        "mass": column("f64", [15.999, 1.008, 1.008]),
        "charge": column("f64", [-0.834, 0.417, 0.0], mask=[True, True, False]),
    }
    system = Frame(
        {"atoms": block(water)},
        {"smiles": ("string", "O"), "spin": ("u32", 1), "field": ("f64x3", (math.nan, -math.inf, 0.0))},
        Box([[20.0, 0.0, 0.0], [0.0, 20.0, 0.0], [0.0, 0.0, 20.0]]),
    )
    cell = Box([[9.0, 1.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]], [0.5, 0.0, 0.0], [True, False, True])
    whole = Run(
        declaration,
        [
            frame({"atoms": atoms(3, 0.0), "bonds": bonds, "atom_types": types("OW", "HW", "HW")}, -14.25, cell),
            frame({"atoms": atoms(3, 0.0001)}, -14.5, count=("u64", 2**53 + 1), note=("json", {"a": [None]})),
            frame({"atoms": atoms(3, 0.5), "atom_types": types("OH", "HO", "HW")}, math.nan),
        ],
        [0, 5, 2**53 + 1],
        [0.0, 0.5, math.inf],
    )
    growing = Run(
        declaration,
        [
            frame({"atoms": atoms(2, 1.0), "grid": grid}, 0.5, undefined_cell(), dipole=("f64x3", (1.0, -0.0, 0.1))),
            frame({"atoms": atoms(0, 0.0), "every": every([True, False, True])}, -0.0),
            frame({"every": every([True, True, True])}, math.inf),
        ],
        [-3, -2, 7],
    )
    alone = Frame({"atoms": block({"id": column("u64", [7]), "x": column("f64", [0.0014], precision=1e-3)})})
    alone.blocks["atoms"].attributes = {"kept": [1, None]}
    return Collection(
        "collection",
        "Records of every kind: a system with a run of three frames beside it (same atoms, other columns), a run whose "
        "rows change, a system alone, a run without frames. Precision, references, aligned blocks, masks, every dtype, "
        "a grid, cells, fills, own columns of the index, and a force field.",
        ["collection", "frame bytes", "precision", "typed meta", "targets", "aligned blocks", "forcefield", "index"],
        {
            "units": {"length": "angstrom", "energy": "kcal/mol", "force": "kcal/mol/angstrom", "charge": "e"},
            "modules": {"forcefield": {"version": [1, 0]}},
            "source": "made up",
            "kept": None,
        },
        declaration,
        [
            CollectionRecord({"molecule_id": "water", "kept": None}, system, whole, {"split": "train", "score": 0.5}),
            CollectionRecord({}, None, growing, {"split": "test", "score": -0.0}),
            CollectionRecord({"molecule_id": "alone"}, alone, None, {"split": "train"}),
            CollectionRecord({}, None, Run(declaration, [], []), {"score": math.nan}),
        ],
        {"split": "string", "score": "f64"},
        small_forcefield(),
    )
