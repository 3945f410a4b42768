"""Typed JSON values: the sixteen meta tags and their exact JSON forms (``docs/spec/typed-json.md``).

Four verbs, each for one direction: `encode` writes a value under its tag, `decode` reads one back and refuses any
other form, `coerce` admits what a caller gives for a tag, `infer_json_tag` and `infer_tag` name the tag of an
untagged JSON value or Python value. In memory a vector value is a tuple, a `json` value a plain document.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import numpy as np

from molrec.errors import FormatError, MolrecError, SchemaError

__all__ = [
    "TAGS",
    "coerce",
    "decode",
    "dump_json",
    "element_and_width",
    "encode",
    "infer_json_tag",
    "infer_tag",
    "parse_json",
    "series_column",
]

TAGS: tuple[str, ...] = (
    "bool", "i32", "i64", "u32", "u64", "f64", "string", "json",
    "bool3", "i32x3", "i64x3", "u32x3", "u64x3", "f64x3", "f64x6", "f64x9",
)  # fmt: skip

_RANGES: dict[str, tuple[int, int]] = {
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "u32": (0, 2**32 - 1),
    "u64": (0, 2**64 - 1),
}
#: Integers beyond this magnitude are written as decimal strings: a JSON reader may hold numbers as binary64.
_SAFE_INTEGER = 2**53
_MOST_DIGITS = 20
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_SCALAR_TAGS = {"bool": "bool", "int32": "i32", "int64": "i64", "uint32": "u32", "uint64": "u64", "float64": "f64"}
_VECTOR_TAGS = {
    ("bool", 3): "bool3",
    ("int32", 3): "i32x3",
    ("int64", 3): "i64x3",
    ("uint32", 3): "u32x3",
    ("uint64", 3): "u64x3",
    ("float64", 3): "f64x3",
    ("float64", 6): "f64x6",
    ("float64", 9): "f64x9",
}
_MISMATCH = "reject-meta-tag-mismatch"


def element_and_width(tag: str, where: str = "meta") -> tuple[str, int | None]:
    """Return a tag's element (`f64` of `f64x3`) and its vector width, None for a scalar.

    Raises:
        SchemaError: The tag is not one of the sixteen (``reject-meta-unknown-tag``).
    """
    if tag not in TAGS:
        raise SchemaError(
            f"{where}: unknown meta tag {tag!r}; the tags are {', '.join(TAGS)}", "reject-meta-unknown-tag"
        )
    if tag == "bool3":
        return "bool", 3
    element, cross, width = tag.partition("x")
    return element, int(width) if cross else None


def series_column(tag: str, where: str = "meta") -> tuple[str, tuple[int, ...]]:
    """Return the (dtype name, trailing shape) a per-step series of a tag is stored as; `json` is stored as text."""
    element, width = element_and_width(tag, where)
    return ("string" if element == "json" else element), (() if width is None else (width,))


def coerce(tag: str, value: Any, where: str = "meta") -> Any:
    """Return `value` as the exact in-memory value of a tag: bool, int, float, str, a tuple of these, or a document.

    An integer is admitted for `f64` when the conversion is exact; nothing else changes kind.

    Raises:
        SchemaError: Wrong kind or width (``reject-meta-tag-mismatch``), out of range (``reject-meta-out-of-range``),
            not finite inside `json` (``reject-json-meta-non-finite``), unknown tag (``reject-meta-unknown-tag``).
    """
    element, width = element_and_width(tag, where)
    if width is None:
        return _coerce_element(element, value, where, tag)
    if isinstance(value, np.ndarray):
        items = list(value) if value.ndim == 1 else None
    else:
        items = list(value) if isinstance(value, (list, tuple)) else None
    if items is None or len(items) != width:
        _refuse(where, f"{tag} holds {width} values, found {value!r}")
    return tuple(_coerce_element(element, item, where, tag) for item in items)


def _coerce_element(element: str, value: Any, where: str, tag: str) -> Any:
    if element == "json":
        try:
            return _coerce_document(value, where)
        except RecursionError:
            _refuse(where, "the document is nested too deeply")
    if element == "bool":
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        _refuse(where, f"{tag} takes True or False, found {value!r}")
    if element == "string":
        if isinstance(value, str):
            return _check_unicode(str(value), where)
        _refuse(where, f"{tag} takes a string, found {value!r}")
    if isinstance(value, (bool, np.bool_)):
        _refuse(where, f"{tag} takes a number, found {value!r}")
    if element == "f64":
        if isinstance(value, (float, np.float64)):
            return float(value)
        if isinstance(value, (int, np.integer)) and _exact_in_f64(int(value)):
            return float(value)
        _refuse(where, f"{tag} takes a binary64 number, found {value!r}")
    if isinstance(value, (int, np.integer)):
        return _check_range(element, int(value), where)
    _refuse(where, f"{tag} takes an integer, found {value!r}")


def _exact_in_f64(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _nearest_f64(value: int, where: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise SchemaError(f"{where}: {value} is out of range for f64", "reject-meta-out-of-range") from None


def _check_range(element: str, value: int, where: str) -> int:
    low, high = _RANGES[element]
    if not low <= value <= high:
        raise SchemaError(
            f"{where}: {value} is out of range for {element} ({low} to {high})", "reject-meta-out-of-range"
        )
    return value


def _check_unicode(text: str, where: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SchemaError(f"{where}: a string is not valid Unicode ({error})", "reject-invalid-string") from error
    return text


def _coerce_document(value: Any, where: str) -> Any:
    """Return a deep copy of a finite JSON document, numpy scalars unwrapped and tuples as lists."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return _check_unicode(str(value), where)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.float64)):
        if not math.isfinite(value):
            raise SchemaError(
                f"{where}: a json document holds finite numbers only, found {float(value)!r}; "
                "store the value under an f64 tag",
                "reject-json-meta-non-finite",
            )
        return float(value)
    if isinstance(value, (list, tuple)):
        return [_coerce_document(item, where) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                _refuse(where, f"a json document has string keys, found {key!r}")
        return {_check_unicode(key, where): _coerce_document(item, f"{where}.{key}") for key, item in value.items()}
    _refuse(where, f"{value!r} of type {type(value).__name__} is not JSON")


def _refuse(where: str, what: str) -> NoReturn:
    raise SchemaError(f"{where}: {what}", _MISMATCH)


def encode(tag: str, value: Any, where: str = "meta") -> Any:
    """Return the JSON form of a value under its tag, after `coerce` (whose refusals apply)."""
    element, width = element_and_width(tag, where)
    exact = coerce(tag, value, where)
    if width is None:
        return _encode_element(element, exact)
    return [_encode_element(element, item) for item in exact]


def _encode_element(element: str, value: Any) -> Any:
    if element == "f64" and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if element in _RANGES and abs(value) > _SAFE_INTEGER:
        return str(value)
    return value


def decode(tag: str, form: Any, where: str = "meta") -> Any:
    """Return the value a JSON form stands for under its tag.

    Raises:
        FormatError: The form is not one the tag has (``reject-meta-tag-mismatch``, ``reject-meta-out-of-range``,
            ``reject-meta-unknown-tag``).
    """
    try:
        element, width = element_and_width(tag, where)
        if width is None:
            return _decode_element(element, form, where, tag)
        if not isinstance(form, list) or len(form) != width:
            _refuse(where, f"{tag} is an array of {width}, found {form!r}")
        return tuple(_decode_element(element, item, where, tag) for item in form)
    except SchemaError as error:
        raise FormatError(error.message, error.rule) from None


def _decode_element(element: str, form: Any, where: str, tag: str) -> Any:
    if element == "f64" and isinstance(form, str):
        if form in _NON_FINITE:
            return _NON_FINITE[form]
        _refuse(where, f'{tag} is a number or "NaN", "Infinity", "-Infinity", found {form!r}')
    if element == "f64" and type(form) is int:
        # Other writers spell large binary64 values as integers of shortest digits, which need not be exact.
        return _nearest_f64(form, where)
    if element in _RANGES and isinstance(form, str):
        digits = form.removeprefix("-")
        plain = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and digits[0] != "0"
        if plain and abs(int(form)) > _SAFE_INTEGER:
            return _check_range(element, int(form), where)
        _refuse(where, f"{tag} is an integer, or beyond 2**53 its decimal digits in a string, found {form!r}")
    return _coerce_element(element, form, where, tag)


def infer_json_tag(form: Any) -> str:
    """Return the tag an untagged JSON value reads back as (the rule for documents without `_meta_types`)."""
    if isinstance(form, bool):
        return "bool"
    if isinstance(form, int):
        if _RANGES["i64"][0] <= form <= _RANGES["i64"][1]:
            return "i64"
        return "u64" if 0 <= form <= _RANGES["u64"][1] else "f64"
    if isinstance(form, float):
        return "f64"
    return "string" if isinstance(form, str) else "json"


def infer_tag(value: Any, where: str = "meta") -> str:
    """Return the tag of a Python or numpy value given without one.

    Numpy scalars and 1-D arrays keep their own width (`numpy.int32` is `i32`, a float64 array of 3 is `f64x3`);
    everything else follows `infer_json_tag`.

    Raises:
        SchemaError: An integer beyond u64 (``reject-meta-out-of-range``) or an array no tag can hold
            (``reject-meta-tag-mismatch``).
    """
    if isinstance(value, np.ndarray):
        tag = _VECTOR_TAGS.get((value.dtype.name, value.size)) if value.ndim == 1 else None
        if tag is None:
            _refuse(
                where, f"no meta tag holds an array of {value.dtype} with shape {value.shape}; give a list for json"
            )
        return tag
    if isinstance(value, np.generic) and value.dtype.name in _SCALAR_TAGS:
        return _SCALAR_TAGS[value.dtype.name]
    if isinstance(value, np.integer):
        value = int(value)
    tag = infer_json_tag(value)
    if tag == "f64" and isinstance(value, int):
        raise SchemaError(f"{where}: {value} fits neither i64 nor u64", "reject-meta-out-of-range")
    return tag


def dump_json(document: Any) -> str:
    """Return compact JSON text; NaN and infinity literals are never written."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def parse_json(text: str | bytes, where: str) -> Any:
    """Parse JSON text strictly: no NaN or infinity literals, no duplicate keys.

    Raises:
        FormatError: The text is not such JSON (``reject-malformed-json``).
    """

    def refuse_literal(literal: str) -> NoReturn:
        raise FormatError(f"{where}: {literal} is not JSON", "reject-malformed-json")

    def finite(digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            raise FormatError(f"{where}: {digits} is beyond binary64", "reject-malformed-json")
        return value

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        document = dict(pairs)
        if len(document) != len(pairs):
            raise FormatError(f"{where}: a JSON object repeats a key", "reject-malformed-json")
        return document

    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        parsed = json.loads(decoded, parse_constant=refuse_literal, parse_float=finite, object_pairs_hook=unique)
        if "\\u" in decoded:
            dump_json(parsed).encode("utf-8")  # an escape may spell half a character
        return parsed
    except MolrecError:
        raise
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not JSON ({error})", "reject-malformed-json") from error
