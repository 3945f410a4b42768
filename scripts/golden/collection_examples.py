"""Examples for the schemas of the documents in a collection, headers of frame bytes included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.golden.example_parts import RUN, VECTORS, VERSION_RULE, Documents, Examples, changed

__all__ = ["COLLECTION_EXAMPLES"]

_X = {"dtype": "f64", "shape": [2], "offset": 0}
_UNITS = {"units": {"length": "angstrom", "energy": "eV"}}
_FILE: dict[str, Any] = {
    "layout": "mrec-lmdb",
    "layout_version": 1,
    "collection": {"molrec_version": 1, **_UNITS},
    "sequence_schema": RUN,
    "n_records": 1,
    "n_frames": 1,
}


def _header(**entries: Any) -> dict[str, Any]:
    """Return a header of one block of two rows and one column, with entries of the block changed."""
    return {"blocks": {"atoms": changed({"count": 2, "structural_shape": None, "columns": {"x": _X}}, **entries)}}


def _with_column(**entries: Any) -> dict[str, Any]:
    return _header(columns={"x": changed(_X, **entries)})


def _malformed_headers(rest: Callable[[dict[str, Any]], dict[str, Any]]) -> Documents:
    """Return what no header of frame bytes may say of its blocks."""
    header = "reject-malformed-header"
    documents: Documents = {
        f"{header}--blocks-list": {"blocks": []},
        "reject-row-count--missing": _header(count=None),
        "reject-row-count--negative": _header(count=-2),
        "reject-structural-shape--zero": _header(structural_shape=[0]),
        f"{header}--without-offset": _with_column(offset=None),
        f"{header}--negative-offset": _with_column(offset=-8),
        "reject-misaligned-offset--four": _with_column(offset=4),
        "reject-misaligned-offset--validity": _with_column(validity=3),
        "reject-unknown-dtype--f128": _with_column(dtype="f128"),
        f"{header}--without-shape": _with_column(shape=None),
        f"{header}--no-axis": _with_column(shape=[]),
        "reject-canonical-dtype--x": _with_column(dtype="i64"),
        f"{header}--strings-without-values": _header(columns={"s": {"dtype": "string", "shape": [2]}}),
        "reject-reserved-name--validity": _header(columns={"_validity": _X}),
        "reject-reserved-name--box": {"blocks": {"box": {"count": 0, "columns": {}}}},
        "reject-precision-out-of-bounds--zero": _with_column(precision=0),
    }
    return {name: rest(document) for name, document in documents.items()}


def _as_system(header: dict[str, Any]) -> dict[str, Any]:
    return {**header, "meta": {}, "meta_types": {}}


def _as_frame(header: dict[str, Any]) -> dict[str, Any]:
    return {**header, "meta": {"pe": 0.5}, "step": 0}


def _as_forcefield(header: dict[str, Any]) -> dict[str, Any]:
    return {**header, "meta": {"name": "toy", "units": {"preset": "real"}}}


_BOX = {"vectors": VECTORS, "origin": [0.5, 0.0, 0.0], "boundary": [True, False, True]}
_INDEX_COLUMNS: dict[str, Any] = {
    "first_frame": {"dtype": "u64", "shape": [1], "offset": 0},
    "n_frames": {"dtype": "u64", "shape": [1], "offset": 8},
    "n_atoms": {"dtype": "u64", "shape": [1], "offset": 16},
    "has_trajectory": {"dtype": "bool", "shape": [1], "offset": 24},
}


def _index(**entries: Any) -> dict[str, Any]:
    columns = changed(_INDEX_COLUMNS, **entries)
    return {"blocks": {"records": {"count": 1, "structural_shape": None, "columns": columns}}, "meta": {}}


_MALFORMED_INDEX = "reject-malformed-index"
COLLECTION_EXAMPLES: dict[str, Examples] = {
    "collection/file": Examples(
        {"file": _FILE, "unknown-content": _FILE | {"kept": None}},
        {
            "reject-not-a-collection--layout": _FILE | {"layout": "other"},
            "reject-layout-version--newer": _FILE | {"layout_version": 2},
            "reject-no-units--missing": _FILE | {"collection": {"molrec_version": 1}},
            "reject-malformed-schema--missing": changed(_FILE, sequence_schema=None),
            "reject-row-count--negative": _FILE | {"n_records": -1},
            "reject-row-count--missing": changed(_FILE, n_frames=None),
        },
    ),
    "collection/meta": Examples(
        {
            "minimal": _UNITS,
            "everything": {
                "molrec_version": 1,
                "units": {"length": "nm", "energy": "kJ/mol", "pressure": "bar"},
                "creator": {"name": "program"},
                "kept": None,
            },
        },
        {
            "reject-no-units--missing": {"molrec_version": 1},
            "reject-no-units--empty": {"units": {}},
            "reject-units--list": {"units": ["nm"]},
            "reject-units--number": {"units": {"length": 1}},
            "reject-units--empty-word": {"units": {"length": ""}},
            f"{VERSION_RULE}--newer": {"molrec_version": 2, **_UNITS},
        },
    ),
    "collection/record": Examples(
        {"empty": {}, "some": {"molecule_id": "water", "kept": None, "source": "a file"}},
        {"reject-record-units--stated": _UNITS, f"{VERSION_RULE}--zero": {"molrec_version": 0}},
    ),
    "collection/index": Examples(
        {
            "minimal": _index(),
            "own-column": _index(split={"dtype": "string", "shape": [1], "values": ["train"], "validity": 32}),
        },
        {
            f"{_MALFORMED_INDEX}--without-column": _index(n_atoms=None),
            f"{_MALFORMED_INDEX}--dtype": _index(n_frames={"dtype": "i64", "shape": [1], "offset": 8}),
            f"{_MALFORMED_INDEX}--two-axes": _index(n_atoms={"dtype": "u64", "shape": [1, 1], "offset": 16}),
            f"{_MALFORMED_INDEX}--null": _index(n_atoms={"dtype": "u64", "shape": [1], "offset": 16, "validity": 32}),
            f"{_MALFORMED_INDEX}--another-block": {"blocks": {"others": {"count": 1, "columns": _INDEX_COLUMNS}}},
            "reject-misaligned-offset--one": _index(n_atoms={"dtype": "u64", "shape": [1], "offset": 1}),
        },
    ),
    "collection/system": Examples(
        {
            "minimal": {"blocks": {}},
            "everything": {
                **_header(
                    targets={"ref": "atoms"},
                    attributes={"kept": None},
                    columns={
                        "x": _X | {"precision": 0.5, "validity": 24, "attributes": {"kept": None}},
                        "ref": {"dtype": "u64", "shape": [2], "offset": 16},
                        "s": {"dtype": "string", "shape": [2], "values": ["", "b"]},
                    },
                ),
                "meta": {"wide": "18446744073709551615"},
                "meta_types": {"wide": "u64"},
                "box": _BOX,
                "kept": None,
            },
        },
        {
            **_malformed_headers(_as_system),
            "reject-meta-unknown-tag--i128": {**_as_system(_header()), "meta_types": {"a": "i128"}, "meta": {"a": 1}},
            "reject-malformed-header--meta-list": {**_as_system(_header()), "meta": []},
            "reject-box-shape--without-vectors": {**_as_system(_header()), "box": {"origin": [0.0, 0.0, 0.0]}},
            "reject-undefined-cell-periodic--one": {
                **_as_system(_header()),
                "box": {"vectors": VECTORS, "boundary": [True, False, False], "cell_defined": False},
            },
        },
    ),
    "collection/frame": Examples(
        {
            "minimal": {"blocks": {}, "meta": {"pe": "NaN"}, "step": 0},
            "everything": {
                **_header(),
                "meta": {"pe": 1},
                "step": "-9007199254740993",
                "time": "Infinity",
                "box": _BOX,
                "kept": None,
            },
        },
        {
            **_malformed_headers(_as_frame),
            "reject-malformed-header--without-meta": {**_header(), "step": 0},
            "reject-meta-tag-mismatch--without-step": {**_header(), "meta": {"pe": 0.5}},
            "reject-meta-tag-mismatch--real-step": {**_header(), "meta": {"pe": 0.5}, "step": 1.5},
            "reject-meta-tag-mismatch--time-word": {**_as_frame(_header()), "time": "soon"},
            "reject-box-shape--two-rows": {**_as_frame(_header()), "box": {"vectors": VECTORS[:2]}},
        },
    ),
    "collection/forcefield": Examples(
        {"minimal": _as_forcefield({"blocks": {}}), "table": _as_forcefield(_header(columns={}))},
        {
            **_malformed_headers(_as_forcefield),
            "reject-malformed-header--meta-list": {"blocks": {}, "meta": []},
        },
    ),
}
