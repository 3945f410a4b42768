"""Frames and their typed meta document (spec: frame)."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import molrec as mr

from .refusals import refused
from .strategies import TAGS, exact, frames, meta_values, metas, plain_frame

# -- meta -----------------------------------------------------------------------------------------------------------


def test_assignment_infers_a_tag_and_set_states_one() -> None:
    meta = mr.Meta({"smiles": "O", "n": 3, "t": 1.5, "ok": True, "doc": {"a": 1}})
    assert meta.tags == {"smiles": "string", "n": "i64", "t": "f64", "ok": "bool", "doc": "json"}
    meta.set("n", 3, tag="i32")
    assert meta.tag("n") == "i32"
    meta["n"] = 4
    assert meta.tag("n") == "i64"
    meta["dipole"] = np.array([0.0, 1.0, np.nan])
    assert meta.tag("dipole") == "f64x3"
    assert type(meta["dipole"]) is tuple
    del meta["dipole"]
    assert "dipole" not in meta
    assert list(meta) == ["smiles", "n", "t", "ok", "doc"]
    with pytest.raises(KeyError):
        meta.tag("dipole")


def test_tags_may_be_given_beside_the_values() -> None:
    meta = mr.Meta({"n": 3, "v": [1, 2, 3]}, tags={"n": "u32", "v": "i32x3"})
    assert (meta.tag("n"), meta["n"]) == ("u32", 3)
    assert (meta.tag("v"), meta["v"]) == ("i32x3", (1, 2, 3))
    assert mr.Meta(meta).tags == meta.tags


@pytest.mark.parametrize("key", ["_meta_types", None, 3, ("a",)])
def test_a_reserved_or_foreign_key_is_refused(key: Any) -> None:
    meta = mr.Meta({"a": 1})
    with refused("reject-meta-reserved-key"):
        meta[key] = {}
    with refused("reject-meta-reserved-key"):
        mr.Frame(meta={key: 1})
    assert list(meta) == ["a"]


def test_a_tag_without_a_value_is_refused() -> None:
    with refused("reject-meta-stale-tag", "b"):
        mr.Meta({"a": 1}, tags={"b": "i64"})


def test_a_value_that_does_not_fit_leaves_the_document_as_it_was() -> None:
    meta = mr.Meta({"a": 1})
    for value, tag, rule in (
        (1.5, "i32", "reject-meta-tag-mismatch"),
        (2**40, "i32", "reject-meta-out-of-range"),
        (1, "i128", "reject-meta-unknown-tag"),
        ([math.nan], "json", "reject-json-meta-non-finite"),
        ("\ud800", "string", "reject-invalid-string"),
    ):
        with refused(rule, "'a'"):
            meta.set("a", value, tag=tag)
        assert (meta["a"], meta.tag("a")) == (1, "i64")


@given(metas())
def test_a_document_survives_its_attributes(meta: mr.Meta) -> None:
    attributes = json.loads(json.dumps(meta.to_attributes(), allow_nan=False))
    assert ("_meta_types" in attributes) is bool(len(meta))
    found = mr.Meta.from_attributes(attributes, "here")
    assert [(key, found.tag(key), exact(found[key])) for key in found] == [
        (key, meta.tag(key), exact(meta[key])) for key in meta
    ]
    assert found == meta


def test_an_untagged_document_is_inferred_and_a_stale_tag_ignored() -> None:
    attributes = {"n": 1, "x": 1.0, "s": "NaN", "d": [1, 2, 3], "u": 2**63, "_meta_types": {"gone": "f64", "x": "f64"}}
    meta = mr.Meta.from_attributes(attributes, "here")
    assert meta.tags == {"n": "i64", "x": "f64", "s": "string", "d": "json", "u": "u64"}
    assert "_meta_types" not in meta
    assert "gone" not in meta


@pytest.mark.parametrize("types", [None, [], "f64", 3, {"a": None}, {"a": 3}, {"a": "i128"}, {"a": ["f64"]}])
def test_meta_types_that_are_no_object_of_tags_are_refused(types: Any) -> None:
    with refused("reject-meta-unknown-tag", "frame", kind=mr.FormatError):
        mr.Meta.from_attributes({"a": 1, "_meta_types": types}, "frame")


@pytest.mark.parametrize(("tag", "form"), [("i32", 1.5), ("i64", "12"), ("f64", None), ("f64x3", [1.0]), ("bool", 1)])
def test_a_stored_value_of_another_form_is_refused(tag: str, form: Any) -> None:
    with refused("reject-meta-tag-mismatch", "frame", "'a'", kind=mr.FormatError):
        mr.Meta.from_attributes({"a": form, "_meta_types": {"a": tag}}, "frame")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 1.0}),
        ({"a": 0.0}, {"a": -0.0}),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"b": 1}),
        ({"a": [1]}, {"a": [1.0]}),
        ({"a": [1]}, {"a": [True]}),
        ({"a": {"b": 0.0}}, {"a": {"b": -0.0}}),
        ({"a": "1"}, {"a": 1}),
    ],
)
def test_equal_documents_agree_in_type_and_sign(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert mr.Meta(one) != mr.Meta(other)
    assert mr.Meta(one) == mr.Meta(one)


def test_nan_equals_nan_in_a_document() -> None:
    assert mr.Meta({"a": math.nan}) == mr.Meta({"a": float("nan")})
    vector = (1.0, math.nan, 2.0)
    assert mr.Meta({"a": vector}, {"a": "f64x3"}) == mr.Meta({"a": vector}, {"a": "f64x3"})


def test_a_plain_mapping_is_compared_by_values() -> None:
    assert mr.Meta({"a": 1, "b": "x"}) == {"a": 1, "b": "x"}
    assert mr.Meta({"a": 1}) != {"a": 2}
    assert mr.Meta({"a": 1}) != {}


@given(st.sampled_from(TAGS).flatmap(lambda tag: st.tuples(st.just(tag), meta_values(tag))))
def test_every_tag_is_kept_by_copying_and_pickling(pair: tuple[str, Any]) -> None:
    tag, value = pair
    meta = mr.Meta()
    meta.set("key", value, tag=tag)
    for twin in (
        mr.Meta(meta),
        pickle.loads(pickle.dumps(meta)),
        mr.Frame(meta=meta).meta,
        mr.Frame(meta=meta).copy().meta,
    ):
        assert twin.tag("key") == tag
        assert exact(twin["key"]) == exact(value)


def test_documents_in_meta_are_not_shared_with_the_caller() -> None:
    document = {"a": [1]}
    meta = mr.Meta({"doc": document})
    document["a"].append(2)
    assert meta["doc"] == {"a": [1]}


# -- frames ---------------------------------------------------------------------------------------------------------


def test_a_frame_is_a_mapping_of_blocks_with_meta_and_box() -> None:
    atoms, bonds = mr.Block({"x": [1.0]}), mr.Block({"k": [1.0, 2.0]})
    frame = mr.Frame({"atoms": atoms}, meta={"smiles": "O"}, box=mr.Box(np.eye(3)))
    frame["bonds"] = bonds
    assert frame["atoms"] is atoms
    assert frame.blocks == ("atoms", "bonds")
    assert list(frame) == list(frame.keys()) == ["atoms", "bonds"]
    assert dict(frame.items()) == {"atoms": atoms, "bonds": bonds}
    assert len(frame) == 2
    assert "atoms" in frame
    del frame["atoms"]
    assert "atoms" not in frame
    assert frame.meta["smiles"] == "O"
    assert frame.meta.tag("smiles") == "string"
    frame.box = None
    assert frame.box is None
    with pytest.raises(KeyError, match="'atoms'"):
        frame["atoms"]
    assert mr.Frame()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "....", "a/b", "a\0", "__x", "zarr.json", "x" * 256, "a\\b", "\ud800", None, 3]
)
def test_a_block_name_the_store_cannot_hold_is_refused(name: Any) -> None:
    with refused("reject-bad-name"):
        mr.Frame({name: mr.Block()})


def test_box_is_the_one_reserved_block_name() -> None:
    with refused("reject-reserved-name", "'box'"):
        mr.Frame({"box": mr.Block()})
    assert mr.Frame({name: mr.Block() for name in ("meta", "step", "time", "Box", "boxes", "_validity")})


@pytest.mark.parametrize("block", [{"x": [1.0]}, None, np.zeros(3), mr.Frame(), "x"])
def test_only_a_block_is_a_block(block: Any) -> None:
    frame = mr.Frame()
    with refused("reject-not-a-block", "'atoms'"):
        frame["atoms"] = block
    assert "atoms" not in frame


@pytest.mark.parametrize("box", [np.eye(3), [10.0, 10.0, 10.0], "box", mr.Block()])
def test_only_a_box_is_a_box(box: Any) -> None:
    with refused("reject-box-shape"):
        mr.Frame(box=box)


@given(frames())
def test_a_frame_is_equal_to_its_copy_and_its_pickle(frame: mr.Frame) -> None:
    before = plain_frame(frame)
    copied = frame.copy()
    for twin in (copied, pickle.loads(pickle.dumps(frame))):
        assert plain_frame(twin) == before
        assert twin == frame
    for name in copied.blocks:
        for column in copied[name].columns:
            copied[name][column][...] = "changed" if copied[name].dtype(column) == "string" else 1
    copied.meta["changed"] = 1
    copied["changed"] = mr.Block()
    copied.box = None
    assert plain_frame(frame) == before


@given(frames(), frames())
@settings(max_examples=settings.default.max_examples // 2 if settings.default else 30)
def test_frames_are_equal_when_their_parts_are(first: mr.Frame, second: mr.Frame) -> None:
    def told(frame: mr.Frame) -> Any:
        plain = plain_frame(frame)
        for block in plain["blocks"].values():
            del block["attributes"], block["column attributes"]
        return plain["blocks"], sorted(plain["meta"], key=lambda entry: entry[0]), plain["box"]

    assert (first == second) is (told(first) == told(second))
    assert first != 3


def test_repr_counts_what_is_there() -> None:
    text = repr(mr.Frame({"atoms": mr.Block({"x": [1.0, 2.0]})}, meta={"a": 1}))
    assert "atoms[2]" in text
    assert "1 meta key" in text
    assert "no box" in text
