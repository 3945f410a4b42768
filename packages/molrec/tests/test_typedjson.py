"""Typed JSON: sixteen tags, each encoded, decoded, coerced and inferred exactly (spec: typed-json)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec import typedjson
from molrec.typedjson import coerce, decode, dump_json, encode, infer_json_tag, infer_tag, parse_json

from .refusals import refused
from .strategies import TAGS, exact, json_documents, meta_values

MISMATCH = "reject-meta-tag-mismatch"
OUT_OF_RANGE = "reject-meta-out-of-range"
NAN, INF = math.nan, math.inf


@st.composite
def tagged(draw: st.DrawFn) -> tuple[str, Any]:
    tag = draw(st.sampled_from(TAGS))
    return tag, draw(meta_values(tag))


def strict(text: str) -> Any:
    """Parse JSON with the standard parser, refusing its extensions."""

    def refuse(literal: str) -> Any:
        raise AssertionError(f"{literal} is not JSON")

    return json.loads(text, parse_constant=refuse)


# -- round trip -----------------------------------------------------------------------------------------------------


def test_there_are_sixteen_tags() -> None:
    assert set(typedjson.TAGS) == set(TAGS)
    assert len(typedjson.TAGS) == 16


@given(tagged())
def test_any_value_of_any_tag_survives_json_text(pair: tuple[str, Any]) -> None:
    tag, value = pair
    text = dump_json(encode(tag, value))
    assert exact(decode(tag, strict(text))) == exact(value)
    assert exact(decode(tag, parse_json(text, "here"))) == exact(value)
    assert exact(decode(tag, parse_json(text.encode(), "here"))) == exact(value)


@given(tagged())
def test_coercing_an_exact_value_changes_nothing(pair: tuple[str, Any]) -> None:
    tag, value = pair
    assert exact(coerce(tag, value)) == exact(value)


@pytest.mark.parametrize(
    ("tag", "value", "form"),
    [
        ("bool", True, True),
        ("i32", -(2**31), -(2**31)),
        ("i64", 2**53, 2**53),
        ("i64", 2**53 + 1, "9007199254740993"),
        ("i64", -(2**53), -(2**53)),
        ("i64", -(2**53) - 1, "-9007199254740993"),
        ("i64", -(2**63), "-9223372036854775808"),
        ("u64", 2**64 - 1, "18446744073709551615"),
        ("u64", 0, 0),
        ("f64", 1.0, 1.0),
        ("f64", 3, 3.0),
        ("f64", NAN, "NaN"),
        ("f64", INF, "Infinity"),
        ("f64", -INF, "-Infinity"),
        ("string", "NaN", "NaN"),
        ("json", {"a": [None, True, 1, 2.5, "x"]}, {"a": [None, True, 1, 2.5, "x"]}),
        ("json", None, None),
        ("bool3", (True, False, True), [True, False, True]),
        ("i64x3", (1, 2**53 + 1, -1), [1, "9007199254740993", -1]),
        ("u64x3", (0, 1, 2**64 - 1), [0, 1, "18446744073709551615"]),
        ("f64x3", (1.0, NAN, -INF), [1.0, "NaN", "-Infinity"]),
        ("f64x6", (0.0,) * 6, [0.0] * 6),
        ("f64x9", (0.5,) * 9, [0.5] * 9),
    ],
)
def test_the_json_form_of_a_value(tag: str, value: Any, form: Any) -> None:
    found = encode(tag, value)
    assert exact(found) == exact(form)
    assert type(found) is type(form)


def test_an_f64_keeps_its_sign_and_its_last_digit() -> None:
    for value in (-0.0, 0.1, 5e-324, 1.7976931348623157e308, 1e22, 2.0**53 + 2, 1.0000000000000002):
        text = dump_json(encode("f64", value))
        assert exact(decode("f64", strict(text))) == exact(value)
        assert infer_json_tag(strict(text)) == "f64"


def test_a_document_is_copied_not_shared() -> None:
    document = {"a": [1, {"b": 2}]}
    kept = coerce("json", document)
    document["a"].append(3)
    assert kept == {"a": [1, {"b": 2}]}


# -- decoding: what a reader refuses --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "form"),
    [
        ("bool", 1),
        ("bool", 0),
        ("bool", "true"),
        ("bool", None),
        ("i32", 1.5),
        ("i32", 1.0),
        ("i32", True),
        ("i32", None),
        ("i32", "5"),
        ("i32", [1]),
        ("i64", 5.0),
        ("i64", "+5"),
        ("i64", "12"),
        ("i64", "-12"),
        ("i64", ""),
        ("i64", "-"),
        ("i64", "9007199254740992"),
        ("i64", "+9007199254740993"),
        ("i64", " 9007199254740993"),
        ("i64", "9007199254740993 "),
        ("i64", "9_007_199_254_740_993"),
        ("i64", "09007199254740993"),
        ("i64", "00009007199254740993"),
        ("i64", "-09007199254740993"),
        ("i64", "--9007199254740993"),
        ("i64", "9007199254740993.0"),
        ("i64", "9.007199254740993e15"),
        ("i64", "0x20000000000001"),
        ("i64", "\u0669007199254740993"),
        ("u64", {"a": 1}),
        ("u64", "NaN"),
        ("f64", "nan"),
        ("f64", "inf"),
        ("f64", "+Infinity"),
        ("f64", "infinity"),
        ("f64", "1.5"),
        ("f64", "1"),
        ("f64", ""),
        ("f64", None),
        ("f64", True),
        ("f64", [1.0]),
        ("string", 1),
        ("string", None),
        ("string", ["a"]),
        ("f64x3", [1.0, 2.0]),
        ("f64x3", [1.0, 2.0, 3.0, 4.0]),
        ("f64x3", 1.0),
        ("f64x3", "abc"),
        ("f64x3", {"0": 1.0}),
        ("f64x3", None),
        ("f64x3", [1.0, 2.0, None]),
        ("f64x3", [1.0, 2.0, "nan"]),
        ("f64x6", [0.0] * 9),
        ("f64x9", [[0.0] * 3] * 3),
        ("bool3", [True, False, 1]),
        ("bool3", [True, False]),
        ("i32x3", [1, 2, 3.0]),
        ("u32x3", [1, 2, True]),
        ("i64x3", [1, 2, "3"]),
    ],
)
def test_another_form_is_refused(tag: str, form: Any) -> None:
    with refused(MISMATCH, "my key", tag, kind=mr.FormatError):
        decode(tag, form, "my key")


@pytest.mark.parametrize(
    ("tag", "form"),
    [
        ("i32", 2**31),
        ("i32", -(2**31) - 1),
        ("i32", 1099511627776),
        ("u32", -1),
        ("u32", 2**32),
        ("i64", 2**63),
        ("i64", "9223372036854775808"),
        ("i64", "-9223372036854775809"),
        ("u64", -1),
        ("u64", 2**64),
        ("u64", "18446744073709551616"),
        ("u64", "-9007199254740993"),
        ("f64", 10**400),
        ("i32x3", [0, 0, 2**31]),
        ("u64x3", [0, -1, 0]),
        ("f64x3", [0.0, 0.0, -(10**400)]),
    ],
)
def test_a_number_beyond_its_tag_is_refused(tag: str, form: Any) -> None:
    with refused(OUT_OF_RANGE, "my key", kind=mr.FormatError):
        decode(tag, form, "my key")


@pytest.mark.parametrize(
    ("tag", "form", "value"),
    [
        ("i64", 2**53 + 1, 2**53 + 1),
        ("u64", 2**64 - 1, 2**64 - 1),
        ("i64", -(2**63), -(2**63)),
        ("u64x3", [2**64 - 1, "18446744073709551615", 0], (2**64 - 1, 2**64 - 1, 0)),
        ("f64", 1, 1.0),
        ("f64", 2**53 + 1, 2.0**53),
        ("f64", 10**22 + 1, 1e22),
    ],
)
def test_plain_integers_are_read(tag: str, form: Any, value: Any) -> None:
    assert exact(decode(tag, form)) == exact(value)


@pytest.mark.parametrize("tag", ["", "f32", "i128", "f64x2", "json3", "bool6", "F64", "f64x", "string3", None, 3, []])
def test_an_unknown_tag_is_refused(tag: Any) -> None:
    with refused("reject-meta-unknown-tag", "my key", kind=mr.FormatError):
        decode(tag, 1, "my key")
    with refused("reject-meta-unknown-tag", "my key"):
        encode(tag, 1, "my key")
    with refused("reject-meta-unknown-tag", "my key"):
        coerce(tag, 1, "my key")
    with refused("reject-meta-unknown-tag", "my key"):
        typedjson.series_column(tag, "my key")


def test_a_lone_surrogate_is_refused() -> None:
    for tag, form in (("string", "\ud800"), ("json", ["\udfff"]), ("json", {"\ud800": 1})):
        with refused("reject-invalid-string", "my key", kind=mr.FormatError):
            decode(tag, form, "my key")
        with refused("reject-invalid-string", "my key"):
            coerce(tag, form, "my key")


# -- coercion: what a writer takes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "value", "kept"),
    [
        ("bool", np.bool_(True), True),
        ("i32", np.int64(5), 5),
        ("u64", np.uint64(2**64 - 1), 2**64 - 1),
        ("i64", np.uint8(7), 7),
        ("f64", np.float64(0.5), 0.5),
        ("f64", 2**53, 2.0**53),
        ("f64", 2**60, 2.0**60),
        ("f64", np.int32(-3), -3.0),
        ("string", np.str_("a"), "a"),
        ("bool3", np.array([True, False, True]), (True, False, True)),
        ("i32x3", [1, np.int16(2), 3], (1, 2, 3)),
        ("u32x3", np.arange(3, dtype=np.int64), (0, 1, 2)),
        ("f64x3", np.array([1.0, 2.0, np.nan]), (1.0, 2.0, NAN)),
        ("f64x3", [1, 2, 3], (1.0, 2.0, 3.0)),
        ("f64x9", np.arange(9.0), tuple(float(i) for i in range(9))),
        ("json", (1, (2, 3)), [1, [2, 3]]),
        ("json", {"n": np.int64(3), "x": np.float64(0.5), "b": np.bool_(False)}, {"n": 3, "x": 0.5, "b": False}),
    ],
)
def test_a_value_is_coerced_exactly(tag: str, value: Any, kept: Any) -> None:
    found = coerce(tag, value)
    assert exact(found) == exact(kept)
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("bool", 1),
        ("bool", 0.0),
        ("bool", "true"),
        ("bool", None),
        ("i32", 1.0),
        ("i32", np.float64(1.0)),
        ("i32", True),
        ("i32", np.bool_(True)),
        ("i32", "1"),
        ("i32", None),
        ("i64", 1 + 0j),
        ("f64", True),
        ("f64", np.float32(0.1)),
        ("f64", "1.0"),
        ("f64", None),
        ("f64", 2**53 + 1),
        ("f64", 10**400),
        ("f64", 1j),
        ("string", 1),
        ("string", b"a"),
        ("string", None),
        ("json", b"a"),
        ("json", {1: 2}),
        ("json", {"a": {1, 2}}),
        ("json", np.zeros(3)),
        ("json", 1j),
        ("bool3", (1, 0, 1)),
        ("bool3", (True, False)),
        ("f64x3", 1.0),
        ("f64x3", "abc"),
        ("f64x3", (1.0, 2.0)),
        ("f64x3", np.zeros((3, 1))),
        ("f64x3", np.zeros(3, np.float32)),
        ("f64x3", {1.0, 2.0, 3.0}),
        ("f64x3", {"a": 1.0, "b": 2.0, "c": 3.0}),
        ("f64x3", np.array(3.0)),
        ("f64x9", np.eye(3)),
        ("i32x3", (1, 2, 3.0)),
        ("i32x3", np.zeros(3)),
        ("f64x3", (True, False, True)),
    ],
)
def test_another_kind_is_refused(tag: str, value: Any) -> None:
    with refused(MISMATCH, "my key"):
        coerce(tag, value, "my key")
    with refused(MISMATCH, "my key"):
        encode(tag, value, "my key")


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("i32", 2**31),
        ("u32", -1),
        ("i64", 2**63),
        ("i64", np.uint64(2**63)),
        ("u64", -1),
        ("u64", 2**64),
        ("u64x3", (0, 0, 2**64)),
        ("i32x3", np.array([0, 0, 2**40])),
    ],
)
def test_an_integer_beyond_its_tag_is_refused(tag: str, value: Any) -> None:
    with refused(OUT_OF_RANGE, "my key"):
        coerce(tag, value, "my key")


@pytest.mark.parametrize("value", [NAN, INF, [1, -INF], {"a": {"b": [NAN]}}, np.float64(NAN)])
def test_a_document_with_a_non_finite_number_is_refused(value: Any) -> None:
    with refused("reject-json-meta-non-finite", "my key"):
        coerce("json", value, "my key")
    with refused("reject-json-meta-non-finite", "my key", kind=mr.FormatError):
        decode("json", value, "my key")


def nested(depth: int) -> Any:
    document: Any = []
    for _ in range(depth):
        document = [document]
    return document


def test_a_document_nested_beyond_all_reason_is_handled_or_refused() -> None:
    assert exact(decode("json", strict(dump_json(encode("json", nested(100)))))) == exact(nested(100))
    attempts: list[Callable[[], Any]] = [
        lambda: coerce("json", nested(100_000)),
        lambda: decode("json", nested(100_000)),
        lambda: parse_json("[" * 100_000 + "]" * 100_000, "here"),
    ]
    for attempt in attempts:
        try:
            attempt()
        except mr.MolrecError as error:
            assert error.rule in {MISMATCH, "reject-malformed-json"}  # noqa: PT017 - reading it is as good


# -- inference ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("true", "bool"),
        ("0", "i64"),
        ("-9223372036854775808", "i64"),
        ("9223372036854775807", "i64"),
        ("9223372036854775808", "u64"),
        ("18446744073709551615", "u64"),
        ("18446744073709551616", "f64"),
        ("-9223372036854775809", "f64"),
        ("1.0", "f64"),
        ("1e3", "f64"),
        ("-0.0", "f64"),
        ('"NaN"', "string"),
        ('"5"', "string"),
        ("[1, 2, 3]", "json"),
        ("[1.0, 2.0, 3.0]", "json"),
        ("[]", "json"),
        ("{}", "json"),
        ("null", "json"),
    ],
)
def test_the_tag_of_an_untagged_json_value(text: str, tag: str) -> None:
    assert infer_json_tag(parse_json(text, "here")) == tag


@given(json_documents())
def test_every_finite_json_value_has_a_tag_that_reads_it(document: Any) -> None:
    tag = infer_json_tag(document)
    assert tag in {"bool", "i64", "u64", "f64", "string", "json"}
    value = decode(tag, document)
    assert value == document or (tag == "f64" and value == float(document))


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        (True, "bool"),
        (np.bool_(False), "bool"),
        (3, "i64"),
        (2**63, "u64"),
        (1.0, "f64"),
        (NAN, "f64"),
        ("a", "string"),
        (np.str_("a"), "string"),
        (None, "json"),
        ([1, 2, 3], "json"),
        ((1.0, 2.0, 3.0), "json"),
        ({"a": 1}, "json"),
        (np.int32(1), "i32"),
        (np.int64(1), "i64"),
        (np.uint32(1), "u32"),
        (np.uint64(1), "u64"),
        (np.int8(1), "i64"),
        (np.uint16(1), "i64"),
        (np.float64(1), "f64"),
        (np.zeros(3, bool), "bool3"),
        (np.zeros(3, np.int32), "i32x3"),
        (np.zeros(3, np.int64), "i64x3"),
        (np.zeros(3, np.uint32), "u32x3"),
        (np.zeros(3, np.uint64), "u64x3"),
        (np.zeros(3), "f64x3"),
        (np.zeros(6), "f64x6"),
        (np.zeros(9), "f64x9"),
    ],
)
def test_the_tag_of_a_python_value(value: Any, tag: str) -> None:
    assert infer_tag(value) == tag
    coerce(tag, value)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**400])
def test_an_integer_no_tag_can_hold_is_refused(value: int) -> None:
    with refused(OUT_OF_RANGE, "my key"):
        infer_tag(value, "my key")


@pytest.mark.parametrize(
    "value", [np.zeros(2), np.zeros((3, 3)), np.zeros(3, np.float32), np.zeros(3, np.int8), np.zeros(0), np.array("a")]
)
def test_an_array_no_tag_can_hold_is_refused(value: Any) -> None:
    with refused(MISMATCH, "my key"):
        infer_tag(value, "my key")


# -- JSON text ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nul",
        "NaN",
        "Infinity",
        "-Infinity",
        '{"a": NaN}',
        "[1, Infinity]",
        "1e400",
        '{"a": -1e400}',
        '{"a": 1, "a": 2}',
        '{"b": {"a": 1, "a": 1}}',
        "{} {}",
        "{'a': 1}",
        "[1,]",
        "01",
        "+1",
        b"\xff\xfe",
        b'"\xff"',
        b'"\xed\xa0\x80"',
        '{"a": 1}'.encode("utf-16"),
    ],
)
def test_text_that_is_not_strict_json_is_refused(text: str | bytes) -> None:
    with refused("reject-malformed-json", "my file", kind=mr.FormatError):
        parse_json(text, "my file")


def test_text_without_surprises_is_read() -> None:
    assert parse_json('{"a": [1, 2.5, null, true, "\\u00e9"], "b": {}}', "here") == {
        "a": [1, 2.5, None, True, "é"],
        "b": {},
    }


def test_json_is_written_without_extensions() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_json({"a": NAN})
    assert dump_json({"é": [1, 2.0, None]}) == '{"é":[1,2.0,null]}'


@pytest.mark.parametrize(
    ("tag", "column"),
    [
        ("bool", ("bool", ())),
        ("i32", ("i32", ())),
        ("u64", ("u64", ())),
        ("string", ("string", ())),
        ("json", ("string", ())),
        ("bool3", ("bool", (3,))),
        ("i64x3", ("i64", (3,))),
        ("f64x6", ("f64", (6,))),
        ("f64x9", ("f64", (9,))),
    ],
)
def test_the_column_a_series_is_stored_as(tag: str, column: tuple[str, tuple[int, ...]]) -> None:
    assert typedjson.series_column(tag) == column
