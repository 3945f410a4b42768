"""Examples for the schemas of the documents in a record."""

from __future__ import annotations

from typing import Any

from scripts.golden.example_parts import RUN, VECTORS, VERSION_RULE, Examples, changed

__all__ = ["RECORD_EXAMPLES"]

# -- core -------------------------------------------------------------------------------------------------------------

_META = Examples(
    {
        "empty": {},
        "everything": {
            "molrec_version": 1,
            "creator": {"name": "program", "version": "1.0"},
            "author": {"name": "Ada", "email": "ada@example.org"},
            "created_at": "2026-01-31T13:00:00.25+01:00",
            "source": {"file": "a.pdb"},
            "record_id": "a",
            "content_hash": "sha256:0",
            "modules": {"forcefield": {"version": [1, 0]}},
            "kept": None,
        },
    },
    {
        f"{VERSION_RULE}--zero": {"molrec_version": 0},
        f"{VERSION_RULE}--newer": {"molrec_version": 2},
        f"{VERSION_RULE}--null": {"molrec_version": None},
        f"{VERSION_RULE}--string": {"molrec_version": "1"},
        f"{VERSION_RULE}--bool": {"molrec_version": True},
        "advice--time-without-offset": {"created_at": "2026-01-31T12:00:00"},
        "advice--module-without-minor": {"modules": {"a": {"version": [1]}}},
    },
)

_FAILED = {"state": "failed", "error": {"message": "diverged", "type": "ValueError", "traceback": None}}
_STATUS = Examples(
    {
        "minimal": {"state": "running"},
        "own-state": {"state": "waiting for a licence", "kept": [None]},
        "failed": _FAILED,
        "everything": {
            "state": "succeeded",
            "stage": "production",
            "epoch": 3,
            "global_step": 0,
            "message": None,
            "started_at": "2026-01-31T12:00:00Z",
            "updated_at": "2026-01-31T13:00:00.25+01:00",
            "finished_at": None,
            "progress": {"done": 1.0},
        },
    },
    {
        "reject-status-state--missing": {"stage": "production"},
        "reject-status-state--empty": {"state": ""},
        "reject-status-counter--negative": {"state": "running", "epoch": -1},
        "reject-status-counter--real": {"state": "running", "global_step": 1.5},
        "reject-status-timestamp--without-offset": {"state": "running", "started_at": "2026-01-31T12:00:00"},
        "reject-status-timestamp--date": {"state": "running", "updated_at": "2026-01-31"},
        "reject-status-error--failed-without": {"state": "failed"},
        "reject-status-error--without-message": {"state": "failed", "error": {"type": "ValueError"}},
        "reject-status-malformed--stage-number": {"state": "running", "stage": 1},
    },
)

_CLASSICAL = {"type": "classical", "description": "molecular dynamics", "engine": {"name": "program", "version": "1"}}
_WORKFLOW = _CLASSICAL | {"type": "workflow", "order": ["a", "b"], "stages": {"a": {}, "b": {"type": "ml"}}}
_METHOD = Examples(
    {"classical": _CLASSICAL, "workflow": _WORKFLOW, "own": _CLASSICAL | {"type": "guess", "order": 3, "kept": None}},
    {
        "reject-method-type--missing": changed(_CLASSICAL, type=None),
        "reject-method-description--number": _CLASSICAL | {"description": 3},
        "reject-method-engine--without-name": _CLASSICAL | {"engine": {"version": "1"}},
        "reject-method-engine--missing": changed(_CLASSICAL, engine=None),
        "reject-method-workflow--without-stages": changed(_WORKFLOW, stages=None),
        "reject-method-workflow--order-twice": _WORKFLOW | {"order": ["a", "b", "a"]},
        "reject-method-workflow--stage-number": _WORKFLOW | {"stages": {"a": 1, "b": {}}},
    },
)

_FIELD: dict[str, Any] = {"name": "toy", "units": {"preset": "real"}, "styles": []}
_BOND: dict[str, Any] = {"category": "bond", "style": "harmonic"}
_MALFORMED_FIELD = "reject-ff-malformed-document"
_FORCEFIELD = Examples(
    {
        "minimal": {"name": "toy", "units": {"preset": "lj"}},
        "everything": {
            "name": "toy",
            "units": {"length": "nm", "energy": "kJ/mol", "angle": "radian"},
            "source": {"format": "made up", "uri": "a.ff", "sha256": "0" * 64},
            "special_bonds": {"lj": [0.0, 0.0, 0.5], "coul": [0, 0, 0.8333]},
            "styles": [_BOND | {"params": {"cutoff": 1.0, "note": "x"}, "expression": "k*r^2", "kept": None}],
            "kept": None,
        },
    },
    {
        "reject-ff-no-units--missing": changed(_FIELD, units=None),
        "reject-ff-no-units--nothing-stated": _FIELD | {"units": {}},
        f"{_MALFORMED_FIELD}--without-name": changed(_FIELD, name=None),
        f"{_MALFORMED_FIELD}--unknown-preset": _FIELD | {"units": {"preset": "imperial"}},
        f"{_MALFORMED_FIELD}--two-weights": _FIELD | {"special_bonds": {"lj": [0, 0], "coul": [0, 0, 0]}},
        f"{_MALFORMED_FIELD}--category-upper-case": _FIELD | {"styles": [_BOND | {"category": "Bond"}]},
        f"{_MALFORMED_FIELD}--style-empty": _FIELD | {"styles": [_BOND | {"style": ""}]},
        f"{_MALFORMED_FIELD}--endpoint-key": _FIELD | {"styles": [_BOND | {"endpoint_key": "element"}]},
        f"{_MALFORMED_FIELD}--mixing": _FIELD | {"styles": [_BOND | {"params": {"mixing": "mean"}}]},
        f"{_MALFORMED_FIELD}--param-list": _FIELD | {"styles": [_BOND | {"params": {"cutoff": [1.0]}}]},
        f"{_MALFORMED_FIELD}--sha256": _FIELD | {"source": {"format": "x", "sha256": "ABC"}},
    },
)

# -- frame-shaped sections --------------------------------------------------------------------------------------------

_FRAME: dict[str, Examples] = {
    "frame/section": Examples(
        {
            "empty": {},
            "tagged": {
                "smiles": "O",
                "wide": "18446744073709551615",
                "_meta_types": {"smiles": "string", "wide": "u64"},
            },
            "untagged": {"a": 1, "b": [1, None]},
            "stale-tag": {"_meta_types": {"gone": "f64x3"}},
        },
        {
            "reject-meta-unknown-tag--i128": {"a": 1, "_meta_types": {"a": "i128"}},
            "reject-meta-unknown-tag--number": {"a": 1, "_meta_types": {"a": 64}},
            "reject-meta-unknown-tag--list": {"a": 1, "_meta_types": ["i64"]},
        },
    ),
    "frame/block": Examples(
        {
            "count": {"count": 2},
            "grid": {"count": 2, "structural_shape": [1, 2, 1]},
            "targets": {"count": 2, "targets": {"ref": "atoms"}, "kept": None},
            "absolute-target": {"count": 2, "targets": {"ref": "/system/atoms"}},
        },
        {
            "reject-row-count--missing": {},
            "reject-row-count--negative": {"count": -1},
            "reject-row-count--string": {"count": "2"},
            "reject-structural-shape--empty": {"count": 2, "structural_shape": []},
            "reject-structural-shape--zero": {"count": 2, "structural_shape": [0, 2]},
            "reject-target-malformed--list": {"count": 2, "targets": ["atoms"]},
            "reject-target-malformed--empty": {"count": 2, "targets": {"ref": ""}},
            "reject-target-malformed--three-parts": {"count": 2, "targets": {"ref": "/system/atoms/x"}},
            "reject-target-into-trajectory--absolute": {"count": 2, "targets": {"ref": "/trajectory/atoms"}},
        },
    ),
    "frame/column": Examples(
        {"none": {}, "precision": {"precision": 0.001}, "whole": {"precision": 1, "kept": None}},
        {
            "reject-precision-out-of-bounds--zero": {"precision": 0},
            "reject-precision-out-of-bounds--negative": {"precision": -0.5},
            "reject-precision-out-of-bounds--too-small": {"precision": 1e-302},
            "reject-precision-out-of-bounds--string": {"precision": "0.5"},
        },
    ),
    "frame/box": Examples(
        {"none": {}, "undefined": {"cell_defined": False}, "defined": {"cell_defined": True, "kept": 1}},
        {"reject-box-shape--word": {"cell_defined": "false"}, "reject-box-shape--number": {"cell_defined": 0}},
    ),
}

# -- trajectory -------------------------------------------------------------------------------------------------------


def _declaring(**entries: Any) -> dict[str, Any]:
    """Return a declaration of one block with entries of it changed."""
    return {"blocks": {"atoms": {"columns": {"a": {"dtype": "f64", "trailing": []}}, **entries}}, "meta": {}}


def _column(**entry: Any) -> dict[str, Any]:
    return _declaring(columns={"a": {"dtype": "f64", "trailing": [], **entry}})


def _named(name: str, **entry: Any) -> dict[str, Any]:
    return _declaring(columns={name: {"dtype": "f64", "trailing": [], **entry}})


def _key(**entry: Any) -> dict[str, Any]:
    return {"blocks": {}, "meta": {"key": entry}}


_SERIES = Examples(
    {
        "empty": {"blocks": {}, "meta": {}},
        "bare": {},
        "everything": {
            "blocks": {
                "atoms": {
                    "columns": {
                        "x": {"dtype": "f64", "trailing": [], "nullable": True, "precision": 0.001, "kept": None},
                        "ref": {"dtype": "u64", "trailing": []},
                        "tensor": {"dtype": "c128", "trailing": [3, 0]},
                    },
                    "targets": {"ref": "/system/atoms"},
                },
                "types": {"columns": {"type": {"dtype": "string", "trailing": []}}, "aligned_with": "atoms"},
                "grid": {"columns": {}, "structural_shape": [2, 3], "kept": None},
            },
            "meta": {
                "pe": {"dtype": "f64", "fill": "NaN"},
                "count": {"dtype": "u64", "fill": "18446744073709551615"},
                "field": {"dtype": "f64x3", "fill": [0.0, "-Infinity", 1]},
                "note": {"dtype": "json", "fill": None},
                "flag": {"dtype": "bool3", "fill": [True, False, True]},
            },
            "kept": None,
        },
    },
    {
        "reject-unknown-dtype--f128": _column(dtype="f128"),
        "reject-unknown-dtype--f32": _column(dtype="f32"),
        "reject-unknown-dtype--json": _column(dtype="json"),
        "reject-trailing-shape--negative": _column(trailing=[-1]),
        "reject-trailing-shape--number": _column(trailing=3),
        "reject-malformed-schema--nullable": _column(nullable="yes"),
        "reject-malformed-schema--blocks-list": {"blocks": [], "meta": {}},
        "reject-precision-on-non-f64--i32": _column(dtype="i32", precision=0.5),
        "reject-precision-out-of-bounds--zero": _column(precision=0),
        "reject-canonical-dtype--x": _named("x", dtype="i32"),
        "reject-canonical-dtype--rows-of-three": _named("mass", trailing=[3]),
        "reject-reserved-name--column": _named("offset"),
        "reject-reserved-name--block": {"blocks": {"box": {"columns": {}}}, "meta": {}},
        "reject-bad-name--slash": _named("a/b"),
        "reject-bad-name--periods": _named(".."),
        "reject-bad-name--underscores": _named("__a"),
        "reject-structural-shape--zero": _declaring(structural_shape=[0]),
        "reject-target-malformed--slash": _declaring(
            columns={"a": {"dtype": "u64", "trailing": []}}, targets={"a": "a/b"}
        ),
        "reject-meta-unknown-tag--f32": _key(dtype="f32"),
        "reject-meta-tag-mismatch--fill-null": _key(dtype="f64", fill=None),
        "reject-meta-tag-mismatch--fill-real": _key(dtype="i64", fill=1.5),
        "reject-meta-tag-mismatch--fill-width": _key(dtype="f64x3", fill=[0.0, 1.0]),
        "reject-meta-tag-mismatch--fill-word": _key(dtype="f64", fill="nan"),
        "reject-meta-out-of-range--i32": _key(dtype="i32", fill=2**40),
        "reject-aligned-shape--grid": {
            "blocks": {
                "atoms": {"columns": {"a": {"dtype": "f64", "trailing": []}}},
                "b": {"columns": {}, "structural_shape": [1], "aligned_with": "atoms"},
            },
            "meta": {},
        },
    },
)

_GROUP: dict[str, Any] = {"sequence_schema": RUN, "nstep": 2, "step_progression": {"start": 0, "stride": 1}}
_PROGRESSION = "reject-malformed-progression"
_TRAJECTORY: dict[str, Examples] = {
    "trajectory/sequence-schema": _SERIES,
    "trajectory/group": Examples(
        {
            "steps": _GROUP,
            "steps-and-times": _GROUP | {"time_progression": {"start": 0.5, "stride": -0.25}, "kept": None},
        },
        {
            "reject-malformed-schema--missing": changed(_GROUP, sequence_schema=None),
            "reject-malformed-nstep--negative": _GROUP | {"nstep": -1},
            "reject-malformed-nstep--string": _GROUP | {"nstep": "2"},
            "reject-progression-without-nstep--steps": changed(_GROUP, nstep=None),
            f"{_PROGRESSION}--without-start": _GROUP | {"step_progression": {"stride": 1}},
            f"{_PROGRESSION}--stride-zero": _GROUP | {"step_progression": {"start": 0, "stride": 0}},
            f"{_PROGRESSION}--real-step": _GROUP | {"step_progression": {"start": 0.5, "stride": 1}},
            f"{_PROGRESSION}--list": _GROUP | {"step_progression": [0, 1]},
            f"{_PROGRESSION}--time-not-finite": _GROUP | {"time_progression": {"start": "NaN", "stride": 1.0}},
        },
    ),
    "trajectory/block": Examples(
        {
            "regular": {"uniform_rows": 1, "dense_updates": True},
            "ended": {"uniform_rows": 2, "dense_updates": True, "kept": None},
        },
        {
            "reject-elision-marker-alone--rows": {"uniform_rows": 1},
            "reject-elision-marker-alone--dense": {"dense_updates": True},
            "reject-elision-marker-alone--false": {"uniform_rows": 1, "dense_updates": False},
            "reject-uniform-rows--zero": {"uniform_rows": 0, "dense_updates": True},
            "reject-uniform-rows--string": {"uniform_rows": "1", "dense_updates": True},
        },
    ),
    "trajectory/box": Examples(
        {
            "vectors": {"vectors": VECTORS},
            "everything": {"vectors": VECTORS, "origin": [0, 0.5, -1], "boundary": [True, True, False]},
            "undefined": {"cell_defined": False, "boundary": [False, False, False]},
        },
        {
            "reject-box-shape--two-rows": {"vectors": VECTORS[:2]},
            "reject-box-shape--flat": {"vectors": [9.0, 9.0, 9.0]},
            "reject-box-shape--origin-word": {"vectors": VECTORS, "origin": ["NaN", 0.0, 0.0]},
            "reject-box-shape--boundary-numbers": {"vectors": VECTORS, "boundary": [1, 1, 0]},
            "reject-box-shape--cell-defined": {"vectors": VECTORS, "cell_defined": 1},
            "reject-undefined-cell-periodic--one": {"cell_defined": False, "boundary": [False, False, True]},
        },
    ),
    "trajectory/per-step-key": Examples(
        {"f64": {"meta_dtype": "f64"}, "unknown-content": {"meta_dtype": "f64", "kept": None}},
        {"reject-array-disagrees--missing": {}, "reject-array-disagrees--f32": {"meta_dtype": "f32"}},
    ),
}

# -- observables and metrics ------------------------------------------------------------------------------------------

_RDF: dict[str, Any] = {"kind": "scalar", "description": "a number", "time_dependent": False}
_LINE, _CATALOG_RULE = "reject-metrics-line", "reject-metrics-catalog"
_CATALOG: dict[str, Any] = {
    "wal": {"lines": 1, "bytes": 64},
    "series": {
        "a": {"type": "scalar", "count": 1, "latest_step": 3, "latest_timestamp": "2026-01-31T12:00:00Z"},
    },
}
_RESULTS: dict[str, Examples] = {
    "observables/description": Examples(
        {
            "minimal": _RDF,
            "everything": _RDF
            | {"unit": "nm", "axes": ["r"], "sampling": {"every": 10}, "domain": "all", "target": None, "kept": None},
            "nulls": _RDF | {"unit": None, "axes": None},
        },
        {
            "reject-observable-document--without-kind": changed(_RDF, kind=None),
            "reject-observable-document--kind-empty": _RDF | {"kind": ""},
            "reject-observable-document--without-description": changed(_RDF, description=None),
            "reject-observable-document--time-dependent": _RDF | {"time_dependent": "no"},
            "reject-observable-document--unit": _RDF | {"unit": 1},
            "reject-observable-document--axes": _RDF | {"axes": [1]},
        },
    ),
    "metrics/event": Examples(
        {
            "minimal": {"k": "loss", "v": 0.5},
            "everything": {
                "t": "scalar",
                "k": "loss",
                "s": "9007199254740993",
                "w": "2026-01-31T12:00:00Z",
                "v": "-Infinity",
                "tags": {"a": None},
                "kept": 1,
            },
            "nulls": {"k": "loss", "v": 1, "s": None, "w": None, "t": None, "tags": None},
        },
        {
            f"{_LINE}--without-key": {"v": 0.5},
            f"{_LINE}--key-empty": {"k": "", "v": 0.5},
            f"{_LINE}--without-value": {"k": "loss"},
            f"{_LINE}--value-null": {"k": "loss", "v": None},
            f"{_LINE}--value-word": {"k": "loss", "v": "nan"},
            f"{_LINE}--real-step": {"k": "loss", "v": 0.5, "s": 1.5},
            f"{_LINE}--tags-word": {"k": "loss", "v": 0.5, "tags": "a"},
            f"{_LINE}--list": ["loss", 0.5],
        },
    ),
    "metrics/catalog": Examples(
        {"none": {}, "closed": _CATALOG, "unknown-content": _CATALOG | {"kept": None}},
        {
            f"{_CATALOG_RULE}--without-wal": changed(_CATALOG, wal=None),
            f"{_CATALOG_RULE}--without-series": changed(_CATALOG, series=None),
            f"{_CATALOG_RULE}--negative": _CATALOG | {"wal": {"lines": -1, "bytes": 64}},
            f"{_CATALOG_RULE}--without-bytes": _CATALOG | {"wal": {"lines": 1}},
            f"{_CATALOG_RULE}--series-list": _CATALOG | {"series": []},
            f"{_CATALOG_RULE}--without-count": _CATALOG | {"series": {"a": {"type": "scalar"}}},
        },
    ),
}

RECORD_EXAMPLES: dict[str, Examples] = {
    "core/meta": _META,
    "core/status": _STATUS,
    "core/method": _METHOD,
    "core/forcefield": _FORCEFIELD,
    **_FRAME,
    **_TRAJECTORY,
    **_RESULTS,
}
