"""A box as an object of a frame-bytes header; defaults are left out (``docs/spec/lmdb.md``, frame bytes)."""

from __future__ import annotations

from typing import Any

import numpy as np

from molrec import typedjson
from molrec.errors import FormatError, SchemaError
from molrec.model.box import Box

__all__ = ["box_document", "read_box"]


def box_document(box: Box) -> dict[str, Any]:
    """Return the JSON object of a box."""
    document: dict[str, Any] = {
        "vectors": [typedjson.encode("f64x3", row) for row in box.vectors.tolist()],
    }
    if box.origin.tobytes().strip(b"\0"):
        document["origin"] = typedjson.encode("f64x3", box.origin.tolist())
    if not box.cell_defined or not box.boundary.all():
        document["boundary"] = box.boundary.tolist()
    if not box.cell_defined:
        document["cell_defined"] = False
    return document


def read_box(document: Any, where: str) -> Box:
    """Return the box an object stands for.

    Raises:
        FormatError: It is no such object, or its parts make no box.
    """
    if not isinstance(document, dict):
        raise FormatError(f"{where}: box is an object, found {document!r}", "reject-box-shape")
    defined = document.get("cell_defined", True)
    vectors = document.get("vectors")
    if not isinstance(defined, bool) or (vectors is None and defined):
        raise FormatError(f"{where}: a defined cell needs its vectors", "reject-box-shape")
    try:
        return Box(
            _floats(vectors, (3, 3)),
            _floats(document.get("origin"), (3,)),
            _flags(document.get("boundary")),
            cell_defined=defined,
        )
    except SchemaError as error:
        raise FormatError(f"{where}: {error.message}", error.rule) from error


def _floats(stated: Any, shape: tuple[int, ...]) -> Any:
    if stated is None:
        return None
    rows = stated if len(shape) == 2 else [stated]
    if not isinstance(rows, list) or len(rows) != (3 if len(shape) == 2 else 1):
        raise SchemaError(f"box: found {stated!r} for numbers of shape {list(shape)}", "reject-box-shape")
    try:
        return np.array([typedjson.decode("f64x3", row, "box") for row in rows]).reshape(shape)
    except FormatError as error:
        raise SchemaError(error.message, "reject-box-shape") from error


def _flags(stated: Any) -> Any:
    if stated is None:
        return None
    if not isinstance(stated, list) or len(stated) != 3 or not all(isinstance(flag, bool) for flag in stated):
        raise SchemaError(f"box boundary is three bools, found {stated!r}", "reject-box-shape")
    return np.array(stated)
