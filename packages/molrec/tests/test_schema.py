"""The declaration of a trajectory (spec: trajectory, the sequence schema)."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import molrec as mr

from .refusals import refused
from .strategies import DTYPES, RunShape, content, run_shapes

BAD_NAMES: list[Any] = ["", ".", "..", "...", "a/b", "a\0", "__a", "zarr.json", "x" * 256, "\ud800", "a\\b", None, 3]


def base() -> mr.SequenceSchema:
    """Return a small declaration with one of everything."""
    schema = mr.SequenceSchema()
    schema.declare_column("atoms", "x", "f64").declare_column("atoms", "b_factor", "f64", nullable=True)
    schema.declare_precision("atoms", "x", 1e-3)
    schema.declare_column("bonds", "ref", "u64").declare_target("bonds", "ref", "atoms")
    schema.declare_column("atom_types", "type", "string").declare_aligned("atom_types", "atoms")
    schema.declare_column("density", "rho", "f64").declare_structural_shape("density", (4, 4, 4))
    schema.declare_column("tensors", "sigma", "c64", (3, 3))
    schema.declare_block("empty")
    schema.declare_meta("pe", "f64").declare_meta("note", "json", fill=None).declare_meta(
        "dip", "f64x3", fill=(0, 0, math.nan)
    )
    return schema


DOCUMENT: dict[str, Any] = {
    "blocks": {
        "atoms": {
            "columns": {
                "x": {"dtype": "f64", "trailing": [], "precision": 0.001},
                "b_factor": {"dtype": "f64", "trailing": [], "nullable": True},
            }
        },
        "bonds": {"columns": {"ref": {"dtype": "u64", "trailing": []}}, "targets": {"ref": "atoms"}},
        "atom_types": {"columns": {"type": {"dtype": "string", "trailing": []}}, "aligned_with": "atoms"},
        "density": {"columns": {"rho": {"dtype": "f64", "trailing": []}}, "structural_shape": [4, 4, 4]},
        "tensors": {"columns": {"sigma": {"dtype": "c64", "trailing": [3, 3]}}},
        "empty": {"columns": {}},
    },
    "meta": {
        "pe": {"dtype": "f64"},
        "note": {"dtype": "json", "fill": None},
        "dip": {"dtype": "f64x3", "fill": [0.0, 0.0, "NaN"]},
    },
}


# -- the document ---------------------------------------------------------------------------------------------------


def test_the_document_of_a_declaration() -> None:
    assert base().to_document() == DOCUMENT
    assert mr.SequenceSchema().to_document() == {"blocks": {}, "meta": {}}


def test_a_document_is_read_back() -> None:
    schema = mr.SequenceSchema.from_document(json.loads(json.dumps(DOCUMENT)), "here")
    assert schema == base()
    assert schema.to_document() == DOCUMENT


@given(run_shapes())
def test_any_declaration_survives_its_document(shape: RunShape) -> None:
    schema = shape.schema()
    document = json.loads(json.dumps(schema.to_document(), allow_nan=False))
    found = mr.SequenceSchema.from_document(document, "here")
    assert found == schema
    assert json.dumps(found.to_document()) == json.dumps(document)
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert schema.copy() == schema


def test_unknown_keys_are_carried_through() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["later"] = {"a": None}
    document["blocks"]["atoms"]["later"] = [1]
    document["blocks"]["atoms"]["columns"]["x"]["unit"] = "angstrom"
    document["meta"]["pe"]["unit"] = "eV"
    given_document = copy.deepcopy(document)
    assert mr.SequenceSchema.from_document(document, "here").to_document() == document
    assert document == given_document


def test_reading_does_not_change_the_document() -> None:
    document = copy.deepcopy(DOCUMENT)
    mr.SequenceSchema.from_document(document, "here")
    assert document == DOCUMENT


MALFORMED: list[tuple[str, list[str], Any]] = [
    ("reject-malformed-schema", [], None),
    ("reject-malformed-schema", [], []),
    ("reject-malformed-schema", [], "schema"),
    ("reject-malformed-schema", ["blocks"], []),
    ("reject-malformed-schema", ["blocks"], None),
    ("reject-malformed-schema", ["meta"], []),
    ("reject-malformed-schema", ["blocks", "atoms"], []),
    ("reject-malformed-schema", ["blocks", "atoms"], None),
    ("reject-malformed-schema", ["blocks", "atoms", "columns"], []),
    ("reject-malformed-schema", ["blocks", "atoms", "columns", "x"], "f64"),
    ("reject-trailing-shape", ["blocks", "atoms", "columns", "x", "trailing"], 3),
    ("reject-trailing-shape", ["blocks", "atoms", "columns", "x", "trailing"], "33"),
    ("reject-trailing-shape", ["blocks", "tensors", "columns", "sigma", "trailing"], [3.0]),
    ("reject-trailing-shape", ["blocks", "tensors", "columns", "sigma", "trailing"], [-1]),
    ("reject-trailing-shape", ["blocks", "tensors", "columns", "sigma", "trailing"], [True]),
    ("reject-canonical-dtype", ["blocks", "atoms", "columns", "x", "trailing"], [3]),
    ("reject-canonical-dtype", ["blocks", "atoms", "columns", "x", "dtype"], "i64"),
    ("reject-unknown-dtype|reject-narrow-float", ["blocks", "tensors", "columns", "sigma", "dtype"], "f32"),
    ("reject-unknown-dtype", ["blocks", "tensors", "columns", "sigma", "dtype"], None),
    ("reject-unknown-dtype", ["blocks", "tensors", "columns", "sigma", "dtype"], ["f64"]),
    ("reject-unknown-dtype", ["blocks", "tensors", "columns", "sigma", "dtype"], "json"),
    ("reject-malformed-schema", ["blocks", "atoms", "columns", "x", "nullable"], 1),
    ("reject-malformed-schema", ["blocks", "atoms", "columns", "x", "nullable"], None),
    ("reject-malformed-schema", ["blocks", "atoms", "columns", "x", "nullable"], "true"),
    ("reject-precision-out-of-bounds", ["blocks", "atoms", "columns", "x", "precision"], 0),
    ("reject-precision-out-of-bounds", ["blocks", "atoms", "columns", "x", "precision"], "1e-3"),
    ("reject-precision-out-of-bounds", ["blocks", "atoms", "columns", "x", "precision"], True),
    ("reject-precision-out-of-bounds", ["blocks", "atoms", "columns", "x", "precision"], [1]),
    ("reject-precision-on-non-f64", ["blocks", "bonds", "columns", "ref", "precision"], 1.0),
    ("reject-target-not-u64", ["blocks", "atoms", "targets"], {"x": "atoms"}),
    ("reject-undeclared|reject-target-not-u64", ["blocks", "atoms", "targets"], {"nothing": "atoms"}),
    ("reject-malformed-schema|reject-target-malformed", ["blocks", "bonds", "targets"], ["atoms"]),
    ("reject-target-malformed", ["blocks", "bonds", "targets", "ref"], 3),
    ("reject-target-malformed", ["blocks", "bonds", "targets", "ref"], "a/b"),
    ("reject-target-into-trajectory", ["blocks", "bonds", "targets", "ref"], "/trajectory/atoms"),
    ("reject-structural-shape", ["blocks", "density", "structural_shape"], 64),
    ("reject-structural-shape", ["blocks", "density", "structural_shape"], []),
    ("reject-structural-shape", ["blocks", "density", "structural_shape"], [4, 0, 4]),
    ("reject-structural-shape", ["blocks", "density", "structural_shape"], [4, 4.0, 4]),
    ("reject-structural-shape", ["blocks", "density", "structural_shape"], "444"),
    ("reject-aligned-target-undeclared", ["blocks", "atom_types", "aligned_with"], "nothing"),
    ("reject-aligned-target-undeclared|reject-malformed-schema", ["blocks", "atom_types", "aligned_with"], 3),
    ("reject-aligned-target-undeclared|reject-malformed-schema", ["blocks", "atom_types", "aligned_with"], ["atoms"]),
    ("reject-aligned-chain", ["blocks", "atom_types", "aligned_with"], "atom_types"),
    ("reject-aligned-chain", ["blocks", "atoms", "aligned_with"], "density"),
    ("reject-aligned-shape", ["blocks", "atom_types", "structural_shape"], [4]),
    ("reject-aligned-shared-column", ["blocks", "atom_types", "columns", "x"], {"dtype": "f64", "trailing": []}),
    ("reject-meta-unknown-tag", ["meta", "pe", "dtype"], "f32"),
    ("reject-meta-unknown-tag", ["meta", "pe", "dtype"], None),
    ("reject-meta-unknown-tag", ["meta", "pe", "dtype"], ["f64"]),
    ("reject-malformed-schema", ["meta", "pe"], "f64"),
    ("reject-meta-tag-mismatch", ["meta", "pe", "fill"], None),
    ("reject-meta-tag-mismatch", ["meta", "pe", "fill"], "nan"),
    ("reject-meta-tag-mismatch", ["meta", "dip", "fill"], [0.0, 0.0]),
    ("reject-reserved-name", ["blocks", "time"], {"columns": {}}),
    ("reject-reserved-name", ["blocks", "empty", "columns", "offset"], {"dtype": "f64", "trailing": []}),
    ("reject-bad-name", ["blocks", "a/b"], {"columns": {}}),
    ("reject-bad-name", ["blocks", "empty", "columns", ".."], {"dtype": "f64", "trailing": []}),
    ("reject-bad-name", ["meta", ""], {"dtype": "f64"}),
]


@pytest.mark.parametrize(("rule", "place", "value"), MALFORMED, ids=lambda value: repr(value)[:60])
def test_a_malformed_document_is_refused(rule: str, place: list[str], value: Any) -> None:
    document: Any = copy.deepcopy(DOCUMENT)
    if not place:
        document = value
    else:
        node = document
        for key in place[:-1]:
            node = node[key]
        node[place[-1]] = value
    with refused(rule, "my store", kind=mr.FormatError):
        mr.SequenceSchema.from_document(document, "my store")


def test_a_document_may_leave_out_its_halves() -> None:
    assert mr.SequenceSchema.from_document({}, "here") == mr.SequenceSchema()
    assert mr.SequenceSchema.from_document({"blocks": {"a": {}}}, "here").blocks.keys() == {"a"}


# -- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_the_store_cannot_hold_is_refused(name: Any) -> None:
    schema = mr.SequenceSchema()
    with refused("reject-bad-name"):
        schema.declare_block(name)
    with refused("reject-bad-name"):
        schema.declare_column("atoms", name, "f64")
    with refused("reject-bad-name"):
        schema.declare_meta(name, "f64")
    assert not schema.meta
    assert not any(block.columns for block in schema.blocks.values())


@pytest.mark.parametrize("name", ["step", "time", "meta", "box", ".journal"])
def test_reserved_block_names_are_refused(name: str) -> None:
    schema = mr.SequenceSchema()
    with refused("reject-reserved-name", repr(name)):
        schema.declare_block(name)
    with refused("reject-reserved-name", repr(name)):
        schema.declare_column(name, "x", "f64")
    with refused("reject-reserved-name", repr(name)):
        schema.declare_structural_shape(name, (2,))
    with refused("reject-reserved-name|reject-bad-name", repr(name)):
        mr.SequenceSchema.from_frames([mr.Frame({name: mr.Block()})] if name != "box" else [_frame_with_a_box_block()])
    assert not schema.blocks


def _frame_with_a_box_block() -> mr.Frame:
    return mr.Frame({"box": mr.Block()})


@pytest.mark.parametrize("name", ["offset", "step_index", "_validity"])
def test_reserved_column_names_are_refused(name: str) -> None:
    schema = mr.SequenceSchema()
    with refused("reject-reserved-name", repr(name), "'atoms'"):
        schema.declare_column("atoms", name, "u64")
    if name != "_validity":
        frame = mr.Frame({"atoms": mr.Block({name: np.zeros(2, np.uint64)})})
        with refused("reject-reserved-name", repr(name)):
            mr.SequenceSchema.from_frames([frame])


def test_names_that_only_look_reserved_are_free() -> None:
    schema = mr.SequenceSchema()
    for name in ("steps", "Box", "offset", "step_index", "_validity", "nstep"):
        schema.declare_column(name, "step", "f64").declare_column(name, "time", "f64").declare_column(
            name, "box", "f64"
        )
    for key in ("step", "time", "offset", "_validity", "meta"):
        schema.declare_meta(key, "f64")
    assert len(schema.blocks) == 6
    assert len(schema.meta) == 5


# -- declarations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_can_be_declared(dtype: str) -> None:
    schema = mr.SequenceSchema().declare_column("a", "c", dtype, (2, 0))
    assert schema.to_document()["blocks"]["a"]["columns"]["c"] == {"dtype": dtype, "trailing": [2, 0]}


@pytest.mark.parametrize("dtype", ["f32", "f16", "float64", "", "json", None, 3, [], np.float64])
def test_another_dtype_is_refused(dtype: Any) -> None:
    with refused("reject-unknown-dtype|reject-narrow-float", "'a'", "'c'"):
        mr.SequenceSchema().declare_column("a", "c", dtype)


@pytest.mark.parametrize("trailing", [(-1,), (1.0,), (True,), ("3",), "3", (None,), 3, (3, -1)])
def test_a_trailing_shape_is_a_list_of_non_negative_integers(trailing: Any) -> None:
    with refused("reject-trailing-shape", "'a'", "'c'"):
        mr.SequenceSchema().declare_column("a", "c", "f64", trailing)


@pytest.mark.parametrize("rows", [-1, 1.5, True, "3"])
def test_a_row_hint_is_a_non_negative_integer(rows: Any) -> None:
    with refused("reject-row-count", "'a'"):
        mr.SequenceSchema().declare_block("a", rows=rows)


def test_a_row_hint_is_no_part_of_the_declaration() -> None:
    assert mr.SequenceSchema().declare_block("a", rows=5) == mr.SequenceSchema().declare_block("a")


CONFLICTS: list[tuple[str, Callable[[mr.SequenceSchema], Any]]] = [
    ("a column at another dtype", lambda s: s.declare_column("bonds", "ref", "i64")),
    ("a column with another row shape", lambda s: s.declare_column("tensors", "sigma", "c64", (9,))),
    ("another precision", lambda s: s.declare_precision("atoms", "x", 2e-3)),
    ("another target", lambda s: s.declare_target("bonds", "ref", "beads")),
    ("another grid", lambda s: s.declare_structural_shape("density", (8, 8))),
    ("another alignment", lambda s: s.declare_aligned("atom_types", "bonds")),
    ("another tag", lambda s: s.declare_meta("pe", "i64")),
    ("another fill", lambda s: s.declare_meta("dip", "f64x3", fill=(0, 0, 0))),
    ("a fill of another sign", lambda s: s.declare_meta("dip", "f64x3", fill=(-0.0, 0.0, math.nan))),
]


@pytest.mark.parametrize(("what", "declare"), CONFLICTS, ids=[what for what, _ in CONFLICTS])
def test_two_declarations_that_differ_are_refused(what: str, declare: Callable[[mr.SequenceSchema], Any]) -> None:
    schema = base()
    with refused("reject-schema-conflict"):
        declare(schema)
    assert schema.to_document() == DOCUMENT, what


def test_the_same_declaration_again_changes_nothing() -> None:
    schema = base()
    schema.declare_column("atoms", "x", "f64").declare_precision("atoms", "x", 1e-3).declare_block("atoms")
    schema.declare_column("atoms", "b_factor", "f64").declare_nullable("atoms", "b_factor")
    schema.declare_target("bonds", "ref", "atoms").declare_structural_shape("density", [4, 4, 4])
    schema.declare_aligned("atom_types", "atoms")
    schema.declare_meta("pe", "f64").declare_meta("note", "json", fill=None).declare_meta("note", "json")
    schema.declare_meta("dip", "f64x3", fill=(0.0, 0.0, math.nan)).declare_meta("dip", "f64x3")
    assert schema.to_document() == DOCUMENT


def test_a_fill_and_nullability_may_be_added() -> None:
    schema = base().declare_meta("pe", "f64", fill=1).declare_nullable("atoms", "x")
    assert schema.to_document()["meta"]["pe"] == {"dtype": "f64", "fill": 1.0}
    assert schema.to_document()["blocks"]["atoms"]["columns"]["x"]["nullable"] is True


UNDECLARED: list[Callable[[mr.SequenceSchema], Any]] = [
    lambda s: s.declare_precision("nothing", "x", 1e-3),
    lambda s: s.declare_precision("atoms", "nothing", 1e-3),
    lambda s: s.declare_nullable("atoms", "nothing"),
    lambda s: s.declare_target("atoms", "nothing", "atoms"),
    lambda s: s.declare_target("nothing", "x", "atoms"),
]


@pytest.mark.parametrize("declare", UNDECLARED)
def test_what_is_not_declared_cannot_be_described(declare: Callable[[mr.SequenceSchema], Any]) -> None:
    schema = base()
    with refused("reject-undeclared", "'nothing'"):
        declare(schema)
    assert schema.to_document() == DOCUMENT


def test_precision_and_target_need_their_dtype() -> None:
    schema = base()
    with refused("reject-precision-on-non-f64", "'bonds'", "'ref'", "u64"):
        schema.declare_precision("bonds", "ref", 1e-3)
    with refused("reject-target-not-u64", "'atoms'", "'x'", "f64"):
        schema.declare_target("atoms", "x", "atoms")
    with refused("reject-target-into-trajectory", "'bonds'", "'ref'"):
        schema.declare_target("bonds", "ref", "/trajectory/atoms")
    with refused("reject-target-malformed", "'bonds'", "'ref'"):
        schema.declare_target("bonds", "ref", "/")
    assert schema.to_document() == DOCUMENT


def test_alignment_names_another_declared_block_and_does_not_chain() -> None:
    schema = base()
    schema.declare_column("more", "m", "f64")
    document = schema.to_document()
    for rule, block, target in (
        ("reject-aligned-target-undeclared", "more", "nothing"),
        ("reject-aligned-target-undeclared", "nothing", "atoms"),
        ("reject-aligned-chain", "more", "more"),
        ("reject-aligned-chain", "more", "atom_types"),
        ("reject-aligned-chain", "atoms", "bonds"),
        ("reject-aligned-shape", "density", "atoms"),
    ):
        with refused(rule, repr(block)):
            schema.declare_aligned(block, target)
    schema.declare_column("twin", "x", "f64")
    with refused("reject-aligned-shared-column", "'twin'", "'atoms'", "x"):
        schema.declare_aligned("twin", "atoms")
    with refused("reject-aligned-shared-column", "'atom_types'", "'x'"):
        schema.declare_column("atom_types", "x", "f64")
    with refused("reject-aligned-shared-column", "'atoms'", "'type'"):
        schema.declare_column("atoms", "type", "string")
    with refused("reject-aligned-shape", "'atom_types'"):
        schema.declare_structural_shape("atom_types", (2,))
    del schema.blocks["twin"]
    assert schema.to_document() == document


def test_a_fill_fits_its_tag() -> None:
    for tag, fill, rule in (
        ("f64", None, "reject-meta-tag-mismatch"),
        ("string", None, "reject-meta-tag-mismatch"),
        ("i32", 2**31, "reject-meta-out-of-range"),
        ("i32", 1.5, "reject-meta-tag-mismatch"),
        ("f64x3", (1.0, 2.0), "reject-meta-tag-mismatch"),
        ("json", [math.inf], "reject-json-meta-non-finite"),
        ("f32", 1.0, "reject-meta-unknown-tag"),
    ):
        schema = mr.SequenceSchema()
        with refused(rule, "'key'"):
            schema.declare_meta("key", tag, fill=fill)
        assert not schema.meta
    assert mr.SequenceSchema().declare_meta("key", "json", fill=None).to_document()["meta"] == {
        "key": {"dtype": "json", "fill": None}
    }


# -- from frames ----------------------------------------------------------------------------------------------------


def test_frames_are_declared_as_their_union() -> None:
    one = mr.Frame({"atoms": mr.Block({"x": [0.0, 1.0]}), "grid": mr.Block({"v": np.zeros(4)}, (2, 2))}, {"pe": 1.0})
    two = mr.Frame(
        {"atoms": mr.Block({"x": [0.5]}), "bonds": mr.Block({"r": np.zeros(1, np.uint64)})}, {"n": np.int32(1)}
    )
    two["atoms"].set_validity("x", [False])
    two["atoms"].set_precision("x", 1e-3)
    two["bonds"].set_target("r", "atoms")
    schema = mr.SequenceSchema.from_frames(iter([one, two]))
    assert schema.to_document() == {
        "blocks": {
            "atoms": {"columns": {"x": {"dtype": "f64", "trailing": [], "nullable": True, "precision": 0.001}}},
            "grid": {"columns": {"v": {"dtype": "f64", "trailing": []}}, "structural_shape": [2, 2]},
            "bonds": {"columns": {"r": {"dtype": "u64", "trailing": []}}, "targets": {"r": "atoms"}},
        },
        "meta": {"pe": {"dtype": "f64"}, "n": {"dtype": "i32"}},
    }
    assert schema.blocks["atoms"].rows == 2


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "f64"])
def test_frames_that_disagree_are_refused(dtype: str) -> None:
    frames = [mr.Frame({"a": mr.Block({"c": content(kind, (2,), 1)})}) for kind in ("f64", dtype)]
    with refused("reject-schema-conflict", "'a'", "'c'"):
        mr.SequenceSchema.from_frames(frames)


def test_a_copy_is_independent() -> None:
    schema = base()
    twin = schema.copy()
    twin.declare_column("atoms", "y", "f64").declare_meta("ke", "f64")
    assert schema.to_document() == DOCUMENT
    assert twin != schema
    with pytest.raises(TypeError):
        hash(schema)
