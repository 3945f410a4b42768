"""Nested values of foreign files as JSON documents, exactly.

A ``json`` meta value holds finite numbers, strings, lists and objects. Foreign files also nest arrays and numbers that
are not finite; here these take the spelling ASE gives arrays in its own JSON files, so that they come back as they
were: ``{"__ndarray__": [shape, dtype, flat values]}``. A number that is not finite is such an array without axes; its
text is ``"NaN"``, ``"Infinity"`` or ``"-Infinity"``, as in typed JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from molrec import typedjson

__all__ = ["NotADocumentError", "from_document", "to_document"]

_ARRAY = "__ndarray__"
_NAMES = frozenset(("str", "bool", "float16", "float32", "float64")) | {
    f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)
}


class NotADocumentError(ValueError):
    """A value, or something inside it, has no JSON form; the message says what."""


def to_document(value: Any) -> Any:
    """Return the JSON document of a Python or numpy value; tuples become lists.

    Raises:
        NotADocumentError: An object of another kind, a key that is no string, or a string that is not Unicode.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return _text(value) if isinstance(value, str) else value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _array_document(np.asarray(float(value)))
    if isinstance(value, (np.ndarray, np.generic)):
        return _array_document(np.asarray(value))
    if isinstance(value, (list, tuple)):
        return [to_document(item) for item in value]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise NotADocumentError(f"the key {key!r} is no string")
        return {_text(key): to_document(item) for key, item in value.items()}
    raise NotADocumentError(f"an object of type {type(value).__name__}")


def _text(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise NotADocumentError(f"a string that is not Unicode ({error})") from error
    return str(text)


def _array_document(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.dtype.kind in "UT":
        return {_ARRAY: [list(array.shape), "str", [_text(str(item)) for item in array.flat]]}
    if array.dtype.kind in "biu":
        return {_ARRAY: [list(array.shape), array.dtype.name, array.reshape(-1).tolist()]}
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        # binary64 holds every narrower float, so the decimal text of one brings the other back
        flat = [typedjson.encode("f64", float(item)) for item in array.reshape(-1)]
        return {_ARRAY: [list(array.shape), array.dtype.name, flat]}
    raise NotADocumentError(f"an array of {array.dtype}")


def from_document(document: Any) -> Any:
    """Return the value a document stands for: arrays as arrays, everything else as it is (a copy)."""
    if isinstance(document, list):
        return [from_document(item) for item in document]
    if not isinstance(document, dict):
        return document
    if document.keys() != {_ARRAY}:
        return {key: from_document(item) for key, item in document.items()}
    array = _array_of(document[_ARRAY])
    return {_ARRAY: from_document(document[_ARRAY])} if array is None else array


def _array_of(form: Any) -> Any:
    """Return the array of a well-formed description, None for anything else: the key may be someone's own."""
    match form:
        case [list(shape), str(name), list(flat)] if name in _NAMES and all(type(extent) is int for extent in shape):
            try:
                items = [typedjson.decode("f64", item) for item in flat] if name.startswith("float") else flat
                array = np.array(items, dtype=np.dtype(name)).reshape(shape)
            except (ValueError, TypeError, OverflowError):
                return None
            # a number by itself comes back as the number it was
            return array if shape else float(array) if name == "float64" else array[()]
    return None
