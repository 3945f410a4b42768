"""Cases of typed meta (``docs/spec/frame.md``, typed meta; ``docs/spec/typed-json.md``)."""

from __future__ import annotations

import math
from typing import Any

from molrec.conformance import looks, tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.content import Frame, MetaValue
from molrec.conformance.making import block, f64, frame, meta
from molrec.conformance.values import META

__all__ = ["CASES"]


def _with(**values: MetaValue) -> Frame:
    return frame({"atoms": block({"x": f64(0.0)})}, meta=values)


def _form(**forms: Any) -> tuple[looks.Look, ...]:
    return tuple(looks.AttributeIs("frame", key, form) for key, form in forms.items())


_NON_FINITE = {
    "nan": meta("f64", math.nan),
    "up": meta("f64", math.inf),
    "down": meta("f64", -math.inf),
    "vector": meta("f64x3", (1.0, math.nan, -math.inf)),
    "six": meta("f64x6", (1.0, 2.0, 3.0, math.inf, 5.0, 6.0)),
}
_WIDE = {
    "u": meta("u64", 2**64 - 1),
    "low": meta("i64", -(2**63)),
    "past": meta("i64", 2**53 + 1),
    "edge": meta("i64", 2**53),
    "v": meta("u64x3", (0, 2**53 + 1, 2**64 - 1)),
}
_JSON: tuple[Any, ...] = (None, 3, 2.5, True, "t", [], {})
_ONE = _with(v=meta("f64", 1.0))


def _stored(name: str, good: MetaValue, form: Any, tag: str | None = None) -> Example:
    edits = [tamper.attribute("frame", "v", form)]
    if tag is not None:
        edits.append(tamper.field("frame", "/attributes/_meta_types/v", tag))
    return Example(name, _with(v=good), edits=tuple(edits), refused=True)


CASES: tuple[Case, ...] = (
    Case(
        "typed-meta-every-tag",
        "frame.md#typed-meta",
        "every tag comes back with its value, and the tags stand beside the document",
        (
            Example(
                "",
                _with(**{f"m_{tag}": meta(tag, value) for tag, value in META.items()}),
                looks=_form(_meta_types={f"m_{tag}": tag for tag in META}, m_i32x3=[1, -2, 2**31 - 1]),
            ),
            Example("no meta", _with(), looks=(looks.NoAttribute("frame", "_meta_types"),)),
            Example(
                "json values",
                _with(**{f"j{place}": meta("json", value) for place, value in enumerate(_JSON)}),
            ),
        ),
    ),
    Case(
        "typed-meta-non-finite",
        "typed-json.md#element-forms",
        "NaN and the infinities are spelled as strings and come back as numbers",
        (
            Example(
                "",
                _with(**_NON_FINITE),
                looks=_form(nan="NaN", up="Infinity", down="-Infinity", vector=[1.0, "NaN", "-Infinity"]),
            ),
        ),
    ),
    Case(
        "typed-meta-wide-integers",
        "typed-json.md#element-forms",
        "integers past 2^53 are spelled as decimal strings and come back exactly",
        (
            Example(
                "",
                _with(**_WIDE),
                looks=_form(u=str(2**64 - 1), low=str(-(2**63)), past=str(2**53 + 1), edge=2**53),
            ),
            Example(
                "stored as a number",
                _with(v=meta("u64", 2**64 - 1)),
                edits=(tamper.attribute("frame", "v", 2**64 - 1),),
            ),
        ),
    ),
    Case(
        "typed-meta-integral-float",
        "frame.md#typed-meta",
        "1.0 is a float however its JSON is spelled, 1 an integer",
        (
            Example("", _with(a=meta("f64", 1.0), b=meta("i64", 1), c=meta("f64x3", (0.0, -2.0, 1e22)))),
            Example("stored as 1", _ONE, edits=(tamper.attribute("frame", "v", 1),)),
        ),
    ),
    Case(
        "untyped-meta-infers",
        "typed-json.md#inference",
        "a key without a tag is inferred from its JSON",
        (
            Example(
                "",
                _with(),
                expected=_with(
                    i=meta("i64", 3),
                    r=meta("f64", 2.5),
                    b=meta("bool", True),
                    s=meta("string", "NaN"),
                    j=meta("json", {"a": 1}),
                ),
                edits=(
                    tamper.attribute("frame", "i", 3),
                    tamper.attribute("frame", "r", 2.5),
                    tamper.attribute("frame", "b", value=True),
                    tamper.attribute("frame", "s", "NaN"),
                    tamper.attribute("frame", "j", {"a": 1}),
                ),
            ),
        ),
    ),
    Case(
        "stale-meta-tag-ignored",
        "frame.md#typed-meta",
        "a tag for a key that is gone says nothing",
        (
            Example(
                "",
                _with(v=meta("f64", 1.5), gone=meta("i32", 2)),
                expected=_with(v=meta("f64", 1.5)),
                edits=(tamper.drop("frame", "gone"),),
            ),
        ),
    ),
    Case(
        "reject-meta-tag-mismatch",
        "typed-json.md#reading-a-tagged-value",
        "a value has its tag's form, kind and width",
        (
            Example("i32 of 1.5", _with(v=meta("i32", 1.5)), refused=True),
            Example("i64 of true", _with(v=meta("i64", value=True)), refused=True),
            Example("f64x3 of two", _with(v=meta("f64x3", (1.0, 2.0))), refused=True),
            Example("string of 3", _with(v=meta("string", 3)), refused=True),
            _stored("stored i32 of 1.5", meta("i32", 1), 1.5),
            _stored("stored i64 of true", meta("i64", 1), True),
            _stored("stored f64 of null", meta("f64", 1.0), None),
            _stored("stored f64 of a string", meta("f64", 1.0), "inf"),
            _stored("stored string of 3", meta("string", "a"), 3),
            _stored("stored f64x3 of two", meta("f64x3", (1.0, 2.0, 3.0)), [1.0, 2.0]),
        ),
    ),
    Case(
        "reject-meta-out-of-range",
        "typed-json.md#reading-a-tagged-value",
        "an integer fits its tag",
        (
            Example("i32 of 2^40", _with(v=meta("i32", 2**40)), refused=True),
            Example("u32 of -1", _with(v=meta("u32", -1)), refused=True),
            Example("u64 of 2^64", _with(v=meta("u64", 2**64)), refused=True),
            _stored("stored i32 of 2^40", meta("i32", 1), 2**40),
            _stored("stored u64 of -1", meta("u64", 1), -1),
        ),
    ),
    Case(
        "reject-meta-unknown-tag",
        "typed-json.md#the-tags",
        "there are sixteen tags",
        (
            Example("", _with(v=meta("f32", 1.0)), refused=True),
            _stored("stored", meta("f64", 1.0), 1.0, "f32"),
        ),
    ),
    Case(
        "reject-meta-reserved-key",
        "frame.md#typed-meta",
        "`_meta_types` is no key of a document",
        (Example("", _with(_meta_types=meta("json", {"a": "f64"})), refused=True),),
    ),
    Case(
        "reject-json-meta-non-finite",
        "typed-json.md#accepting-a-value-for-a-tag",
        "a JSON document holds finite numbers only",
        (
            Example("nan", _with(v=meta("json", {"a": [math.nan]})), refused=True),
            Example("infinity", _with(v=meta("json", -math.inf)), refused=True),
        ),
    ),
)
