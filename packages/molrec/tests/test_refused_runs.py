"""Runs that break the format: each is refused under its rule, before a value is returned from the place at fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr

from .good_records import write_run
from .interop import tamper
from .refusals import read_everything
from .spoiling import GROUP, BadStore, array, attribute, bad, delete, drop, each, field, text, truncate
from .strategies import plain_frame

BLOCKS = "/attributes/sequence_schema/blocks"
KEYS = "/attributes/sequence_schema/meta"

# The first tables spoil a run whose steps and times are arrays and whose cell changes.

BAD_SERIES: dict[str, BadStore] = {
    **each(
        "nstep",
        "reject-malformed-nstep",
        "trajectory nstep",
        "trajectory",
        "nstep",
        [-1, 1.5, 4.0, True, "4", [4], None, {}],
    ),
    "nstep past the steps": bad("reject-array-short", "trajectory/step 4 5", attribute("trajectory", "nstep", 5)),
    "progression without nstep": bad(
        "reject-progression-without-nstep",
        "trajectory step_progression nstep",
        drop("trajectory", "nstep"),
        attribute("trajectory", "step_progression", {"start": 0, "stride": 1}),
    ),
    "time progression without nstep": bad(
        "reject-progression-without-nstep",
        "trajectory time_progression nstep",
        drop("trajectory", "nstep"),
        attribute("trajectory", "time_progression", {"start": 0.0}),
    ),
    "no schema": bad("reject-malformed-schema", "trajectory sequence_schema", drop("trajectory", "sequence_schema")),
    "schema null": bad("reject-malformed-schema", "trajectory", attribute("trajectory", "sequence_schema", None)),
    "schema with another dtype": bad(
        "reject-array-disagrees",
        "trajectory/bonds/order i32 i64",
        field("trajectory", f"{BLOCKS}/bonds/columns/order/dtype", "i64"),
    ),
    "schema with another row shape": bad(
        "reject-array-disagrees",
        "trajectory/bonds/order",
        field("trajectory", f"{BLOCKS}/bonds/columns/order/trailing", [3]),
    ),
    "schema with another column": bad(
        "reject-array-missing",
        "trajectory/atoms/charge",
        field("trajectory", f"{BLOCKS}/atoms/columns/charge", {"dtype": "f64", "trailing": []}),
    ),
    "schema with another block": bad(
        "reject-array-missing", "trajectory/water", field("trajectory", f"{BLOCKS}/water", {"columns": {}})
    ),
    "schema with another key": bad(
        "reject-array-missing",
        "trajectory/meta/ke",
        field("trajectory", f"{KEYS}/ke", {"dtype": "f64"}),
    ),
    "schema with another nullable column": bad(
        "reject-array-missing",
        "trajectory/atoms/_validity/x",
        field("trajectory", f"{BLOCKS}/atoms/columns/x/nullable", True),
    ),
    "schema with another tag": bad(
        "reject-array-disagrees",
        "trajectory/meta/pe",
        field("trajectory", f"{KEYS}/pe/dtype", "i64"),
    ),
    "schema with another grid": bad(
        "reject-structural-shape|reject-array-disagrees",
        "trajectory/grid",
        field("trajectory", f"{BLOCKS}/grid/structural_shape", [3]),
    ),
    "schema with a canonical name at another dtype": bad(
        "reject-canonical-dtype|reject-precision-on-non-f64",
        "'x'",
        field("trajectory", f"{BLOCKS}/atoms/columns/x/dtype", "i64"),
    ),
    "no steps": bad("reject-no-steps", "trajectory 4", delete("trajectory/step")),
    "steps short": bad("reject-array-short", "trajectory/step 3 4", array("trajectory/step", "int64", [0, 11, 24])),
    "steps repeat": bad(
        "reject-step-not-increasing", "trajectory/step", array("trajectory/step", "int64", [0, 11, 11, 39])
    ),
    "steps descend": bad(
        "reject-step-not-increasing", "trajectory/step", array("trajectory/step", "int64", [0, 11, 5, 39])
    ),
    "steps of another dtype": bad(
        "reject-array-disagrees", "trajectory/step i32", array("trajectory/step", "int32", [0, 1, 2, 3])
    ),
    "steps as floats": bad(
        "reject-array-disagrees", "trajectory/step f64", array("trajectory/step", "float64", [0, 1, 2, 3])
    ),
    "steps in a table": bad(
        "reject-array-disagrees", "trajectory/step", array("trajectory/step", "int64", [[0], [1], [2], [3]])
    ),
    "times short": bad("reject-array-short", "trajectory/time 2 4", array("trajectory/time", "float64", [0.0, 1.0])),
    "times as integers": bad(
        "reject-array-disagrees", "trajectory/time i64", array("trajectory/time", "int64", [0, 1, 2, 3])
    ),
    "times as narrow floats": bad(
        "reject-narrow-float", "trajectory/time float32", array("trajectory/time", "float32", [0, 1, 2, 3])
    ),
    "a series is missing": bad("reject-array-missing", "trajectory/meta/pe", delete("trajectory/meta/pe")),
    "all series are missing": bad("reject-array-missing", "trajectory/meta/", delete("trajectory/meta")),
    "a series is short": bad(
        "reject-array-short",
        "trajectory/meta/pe 3 4",
        array("trajectory/meta/pe", "float64", [0, 1, 2], {"meta_dtype": "f64"}),
    ),
    "a series of another dtype": bad(
        "reject-array-disagrees",
        "trajectory/meta/pe i64",
        array("trajectory/meta/pe", "int64", [0, 1, 2, 3], {"meta_dtype": "f64"}),
    ),
    "a series of another width": bad(
        "reject-array-disagrees",
        "trajectory/meta/dip",
        array("trajectory/meta/dip", "float64", np.zeros((4, 2)), {"meta_dtype": "f64x3"}),
    ),
    "a series without its tag": bad(
        "reject-array-disagrees", "trajectory/meta/pe meta_dtype", drop("trajectory/meta/pe", "meta_dtype")
    ),
    "a series with another tag": bad(
        "reject-array-disagrees",
        "trajectory/meta/pe meta_dtype 'i64'",
        attribute("trajectory/meta/pe", "meta_dtype", "i64"),
    ),
    "a series that is not JSON": bad(
        "reject-malformed-json",
        "trajectory/meta/note",
        array("trajectory/meta/note", "string", ["null", "{", "1", "2"], {"meta_dtype": "json"}),
    ),
    "a series with a NaN in JSON": bad(
        "reject-malformed-json",
        "trajectory/meta/note",
        array("trajectory/meta/note", "string", ["[NaN]"] * 4, {"meta_dtype": "json"}),
    ),
}

BAD_BLOCKS: dict[str, BadStore] = {
    "a block is missing": bad("reject-array-missing", "trajectory/atoms", delete("trajectory/atoms")),
    "a block lost its document": bad("reject-array-missing", "trajectory/atoms", delete("trajectory/atoms/zarr.json")),
    "a column is missing": bad("reject-array-missing", "trajectory/atoms/id", delete("trajectory/atoms/id")),
    "a column lost its document": bad(
        "reject-array-missing", "trajectory/atoms/id", delete("trajectory/atoms/id/zarr.json")
    ),
    "a mask is missing": bad(
        "reject-array-missing", "_validity/b_factor", delete("trajectory/atoms/_validity/b_factor")
    ),
    "a column of another dtype": bad(
        "reject-array-disagrees",
        "trajectory/bonds/order i64",
        array("trajectory/bonds/order", "int64", np.zeros((4, 2))),
    ),
    "a column of narrow floats": bad(
        "reject-narrow-float", "trajectory/atoms/x float32", array("trajectory/atoms/x", "float32", np.zeros(12))
    ),
    "identifiers as signed integers": bad(
        "reject-array-disagrees|reject-canonical-dtype",
        "trajectory/atoms/id i64",
        array("trajectory/atoms/id", "int64", np.zeros(12)),
    ),
    "a column of another row shape": bad(
        "reject-array-disagrees", "trajectory/bonds/order", array("trajectory/bonds/order", "int32", np.zeros((4, 3)))
    ),
    "a regular column short": bad(
        "reject-array-short|reject-uniform-rows",
        "trajectory/atoms",
        array("trajectory/atoms/id", "uint64", np.zeros(9)),
    ),
    "a regular column short of whole updates": bad(
        "reject-array-short|reject-uniform-rows",
        "trajectory/atoms",
        array("trajectory/atoms/id", "uint64", np.zeros(10)),
    ),
    "a regular mask short": bad(
        "reject-array-short|reject-uniform-rows",
        "trajectory/atoms",
        array("trajectory/atoms/_validity/b_factor", "bool", np.ones(9)),
    ),
    "a ragged column short": bad(
        "reject-array-short", "trajectory/bonds/order 3 4", array("trajectory/bonds/order", "int32", np.zeros((3, 2)))
    ),
    "a mask that is not bool": bad(
        "reject-array-disagrees|reject-validity-mask",
        "_validity/b_factor",
        array("trajectory/atoms/_validity/b_factor", "uint8", np.ones(12)),
    ),
    "a mask of more than one flag per row": bad(
        "reject-array-disagrees|reject-validity-mask",
        "_validity/b_factor",
        array("trajectory/atoms/_validity/b_factor", "bool", np.ones((12, 1))),
    ),
    "a mask on a column that is not nullable": bad(
        "reject-mask-not-declared", "trajectory/atoms x", array("trajectory/atoms/_validity/x", "bool", np.zeros(12))
    ),
}

BAD_INDEXES: dict[str, BadStore] = {
    "uniform_rows alone": bad(
        "reject-elision-marker-alone", "trajectory/atoms uniform_rows", drop("trajectory/atoms", "dense_updates")
    ),
    "dense_updates alone": bad(
        "reject-elision-marker-alone", "trajectory/atoms dense_updates", drop("trajectory/atoms", "uniform_rows")
    ),
    **each(
        "dense_updates",
        "reject-elision-marker-alone",
        "trajectory/atoms dense_updates",
        "trajectory/atoms",
        "dense_updates",
        [False, None, 1, "true"],
    ),
    **each(
        "uniform_rows",
        "reject-uniform-rows",
        "trajectory/atoms uniform_rows",
        "trajectory/atoms",
        "uniform_rows",
        [0, -3, 3.0, "3", True, [3], 5, 24],
    ),
    "uniform_rows null": bad(
        "reject-uniform-rows|reject-elision-marker-alone",
        "trajectory/atoms",
        attribute("trajectory/atoms", "uniform_rows", None),
    ),
    "no markers and no index": bad(
        "reject-index-missing",
        "trajectory/atoms",
        drop("trajectory/atoms", "uniform_rows"),
        drop("trajectory/atoms", "dense_updates"),
    ),
    "markers on a block without columns": bad(
        "reject-elision-without-columns",
        "trajectory/counted",
        delete("trajectory/counted/offset"),
        delete("trajectory/counted/step_index"),
        attribute("trajectory/counted", "uniform_rows", 1),
        attribute("trajectory/counted", "dense_updates", True),
    ),
    "no step_index": bad("reject-index-missing", "trajectory/bonds step_index", delete("trajectory/bonds/step_index")),
    "no offset": bad("reject-index-missing", "trajectory/bonds offset", delete("trajectory/bonds/offset")),
    "step_index repeats": bad(
        "reject-step-index-not-ascending",
        "trajectory/bonds/step_index",
        array("trajectory/bonds/step_index", "uint64", [0, 0]),
    ),
    "step_index descends": bad(
        "reject-step-index-not-ascending",
        "trajectory/bonds/step_index",
        array("trajectory/bonds/step_index", "uint64", [2, 0]),
    ),
    "step_index of another dtype": bad(
        "reject-array-disagrees", "trajectory/bonds/step_index", array("trajectory/bonds/step_index", "int64", [0, 2])
    ),
    "offset descends": bad(
        "reject-offset-not-monotonic", "trajectory/bonds/offset", array("trajectory/bonds/offset", "uint64", [0, 4, 1])
    ),
    "offset begins past 0": bad(
        "reject-offset-not-monotonic", "trajectory/bonds/offset", array("trajectory/bonds/offset", "uint64", [1, 2, 4])
    ),
    "offset past the rows": bad(
        "reject-array-short", "trajectory/bonds/", array("trajectory/bonds/offset", "uint64", [0, 1, 5])
    ),
    "offset beyond all reason": bad(
        "reject-array-short|reject-offset-not-monotonic",
        "trajectory/bonds/",
        array("trajectory/bonds/offset", "uint64", [0, 1, 2**64 - 1]),
    ),
    "offset short": bad(
        "reject-array-short", "trajectory/bonds/offset", array("trajectory/bonds/offset", "uint64", [0, 1])
    ),
    "offset of another dtype": bad(
        "reject-array-disagrees", "trajectory/bonds/offset", array("trajectory/bonds/offset", "int64", [0, 1, 4])
    ),
    "offset in a table": bad(
        "reject-array-disagrees", "trajectory/bonds/offset", array("trajectory/bonds/offset", "uint64", [[0], [1], [4]])
    ),
}

BAD_CELLS: dict[str, BadStore] = {
    "cell without step_index": bad("reject-index-missing", "trajectory/box", delete("trajectory/box/step_index")),
    "cell without vectors": bad(
        "reject-index-missing|reject-array-missing", "trajectory/box", delete("trajectory/box/vectors")
    ),
    "cell vectors short": bad(
        "reject-array-short",
        "trajectory/box/vectors",
        array("trajectory/box/vectors", "float64", np.ones((2, 1, 1)) * np.eye(3)),
    ),
    "cell vectors flat": bad(
        "reject-array-disagrees", "trajectory/box/vectors", array("trajectory/box/vectors", "float64", np.ones((4, 9)))
    ),
    "cell vectors of integers": bad(
        "reject-array-disagrees",
        "trajectory/box/vectors",
        array("trajectory/box/vectors", "int64", np.ones((4, 1, 1)) * np.eye(3)),
    ),
    "cell vectors not finite": bad(
        "reject-box-not-finite",
        "trajectory/box",
        array("trajectory/box/vectors", "float64", np.full((4, 3, 3), np.nan)),
    ),
    "cell updates repeat": bad(
        "reject-step-index-not-ascending",
        "trajectory/box/step_index",
        array("trajectory/box/step_index", "uint64", [0, 1, 1, 3]),
    ),
    "cell boundary as numbers": bad(
        "reject-array-disagrees|reject-box-shape",
        "trajectory/box/boundary",
        array("trajectory/box/boundary", "uint8", np.ones((4, 3))),
    ),
    "cell origin short": bad(
        "reject-array-short", "trajectory/box/origin", array("trajectory/box/origin", "float64", np.ones((3, 3)))
    ),
    **each(
        "cell_defined",
        "reject-box-shape",
        "trajectory/box cell_defined",
        "trajectory/box",
        "cell_defined",
        [None, 1, "false"],
    ),
    "undefined cell that is periodic": bad(
        "reject-undefined-cell-periodic",
        "trajectory/box",
        attribute("trajectory/box", "cell_defined", False),
        array("trajectory/box/boundary", "bool", np.ones((4, 3))),
    ),
}

BAD_NODES: dict[str, BadStore] = {
    "no JSON": bad("reject-malformed-json", "trajectory", text("trajectory/zarr.json", "{")),
    "an array document that is no JSON": bad(
        "reject-malformed-json", "trajectory/atoms/x", text("trajectory/atoms/x/zarr.json", "")
    ),
    "a document that is no object": bad(
        "reject-malformed-json|reject-malformed-metadata", "trajectory/atoms", text("trajectory/atoms/zarr.json", "[]")
    ),
    "a repeated key": bad(
        "reject-malformed-json",
        "trajectory/atoms",
        text("trajectory/atoms/zarr.json", GROUP.replace('"attributes"', '"zarr_format": 3, "attributes"')),
    ),
    "a group of Zarr V2": bad("reject-malformed-metadata", "trajectory", field("trajectory", "/zarr_format", 2)),
    "attributes that are no object": bad(
        "reject-malformed-metadata", "trajectory/atoms", field("trajectory/atoms", "/attributes", [])
    ),
    "a group where an array belongs": bad(
        "reject-malformed-metadata", "trajectory/atoms/x", text("trajectory/atoms/x/zarr.json", GROUP)
    ),
    "an array where a group belongs": bad(
        "reject-malformed-metadata", "trajectory/atoms", array("trajectory/atoms", "float64", [1.0])
    ),
    "an unknown field": bad(
        "reject-malformed-metadata", "trajectory/atoms/x 'extra'", field("trajectory/atoms/x", "/extra", 1)
    ),
    "an unknown field that must be understood": bad(
        "reject-malformed-metadata",
        "trajectory/atoms/x",
        field("trajectory/atoms/x", "/extra", {"must_understand": True}),
    ),
    "an unknown codec": bad(
        "reject-unsupported-codec",
        "trajectory/grid/rho blosc",
        array("trajectory/grid/rho", "float64", np.zeros(16), codec="blosc"),
    ),
    "no codecs": bad(
        "reject-unsupported-codec|reject-malformed-metadata",
        "trajectory/atoms/x",
        field("trajectory/atoms/x", "/codecs", []),
    ),
    "codecs that are no list": bad(
        "reject-unsupported-codec|reject-malformed-metadata",
        "trajectory/atoms/x",
        field("trajectory/atoms/x", "/codecs", {"name": "bytes"}),
    ),
    "a codec without a name": bad(
        "reject-unsupported-codec|reject-malformed-metadata",
        "trajectory/atoms/x",
        field("trajectory/atoms/x", "/codecs", [{}]),
    ),
    "a negative shape": bad(
        "reject-malformed-metadata", "trajectory/atoms/x", field("trajectory/atoms/x", "/shape", [-12])
    ),
    "a chunk of no rows": bad(
        "reject-malformed-metadata",
        "trajectory/atoms/x",
        field("trajectory/atoms/x", "/chunk_grid/configuration/chunk_shape", [0]),
    ),
    "a chunk of another rank": bad(
        "reject-malformed-metadata",
        "trajectory/atoms/x",
        field("trajectory/atoms/x", "/chunk_grid/configuration/chunk_shape", [4, 4]),
    ),
    "a dtype outside the thirteen": bad(
        "reject-unknown-dtype", "trajectory/atoms/x", field("trajectory/atoms/x", "/data_type", "complex32")
    ),
    "a dtype that is an object": bad(
        "reject-unknown-dtype",
        "trajectory/atoms/x",
        field("trajectory/atoms/x", "/data_type", {"name": "numpy.datetime64", "configuration": {"unit": "s"}}),
    ),
    "a lost shard": bad("reject-corrupt-chunk", "trajectory/atoms/x", delete("trajectory/atoms/x/c/0")),
    "a lost series": bad("reject-corrupt-chunk", "trajectory/meta/pe", delete("trajectory/meta/pe/c/0")),
    "an empty shard": bad(
        "reject-corrupt-index|reject-corrupt-chunk", "trajectory/atoms/x", truncate("trajectory/atoms/x/c/0", 0)
    ),
    "a shard cut within its index": bad(
        "reject-corrupt-index", "trajectory/atoms/x", truncate("trajectory/atoms/x/c/0", 1000)
    ),
    "a shard cut within its chunks": bad(
        "reject-corrupt-chunk", "trajectory/atoms/x chunk", truncate("trajectory/atoms/x/c/0", -1)
    ),
}

#: On a run whose steps and times are progressions and whose cell is fixed.
BAD_REGULAR_RUNS: dict[str, BadStore] = {
    "nstep removed": bad("reject-progression-without-nstep", "trajectory nstep", drop("trajectory", "nstep")),
    "nstep null": bad(
        "reject-malformed-nstep|reject-progression-without-nstep", "nstep", attribute("trajectory", "nstep", None)
    ),
    "nstep past the series": bad("reject-array-short", "trajectory/meta/", attribute("trajectory", "nstep", 5)),
    "no steps": bad("reject-no-steps", "trajectory 4", drop("trajectory", "step_progression")),
    **each(
        "step progression",
        "reject-malformed-progression",
        "trajectory step_progression",
        "trajectory",
        "step_progression",
        [
            None,
            [],
            {},
            {"start": 0},
            {"stride": 1},
            {"start": 0, "stride": 0},
            {"start": 0, "stride": -1},
            {"start": 0.0, "stride": 1},
            {"start": 0, "stride": 1.5},
            {"start": 2**63 - 2, "stride": 1},
        ],
    ),
    **each(
        "time progression",
        "reject-malformed-progression",
        "trajectory time_progression",
        "trajectory",
        "time_progression",
        [None, [], {}, {"start": 0.0}, {"start": "NaN", "stride": 1.0}, {"start": 0.0, "stride": None}],
    ),
    **each(
        "fixed vectors",
        "reject-box-shape",
        "trajectory/box vectors",
        "trajectory/box",
        "vectors",
        [
            None,
            3.0,
            [1.0, 1.0, 1.0],
            [[1.0, 0.0], [0.0, 1.0]],
            [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]],
            [[True, False, False], [False, True, False], [False, False, True]],
            [[1, 0, 0], [0, 1, 0], [0, 0]],
        ],
    ),
    "fixed vectors with a null": bad(
        "reject-box-shape|reject-box-not-finite",
        "trajectory/box",
        attribute("trajectory/box", "vectors", [[None, 0, 0], [0, 1, 0], [0, 0, 1]]),
    ),
    **each(
        "fixed origin",
        "reject-box-shape",
        "trajectory/box origin",
        "trajectory/box",
        "origin",
        [None, 0.0, [0.0, 0.0], [None, 0.0, 0.0], ["0", "0", "0"], [True, False, False]],
    ),
    **each(
        "fixed boundary",
        "reject-box-shape",
        "trajectory/box boundary",
        "trajectory/box",
        "boundary",
        [None, True, [True, True], [1, 1, 1], ["true", "true", "true"]],
    ),
    "no cell where one is promised": bad(
        "reject-index-missing|reject-array-missing|reject-box-shape",
        "trajectory/box",
        drop("trajectory/box", "vectors"),
        array("trajectory/box/step_index", "uint64", [0]),
    ),
    "undefined cell that is periodic": bad(
        "reject-undefined-cell-periodic",
        "trajectory/box",
        attribute("trajectory/box", "cell_defined", False),
        attribute("trajectory/box", "boundary", [False, True, False]),
    ),
}


@pytest.mark.parametrize("name", BAD_RUNS := {**BAD_SERIES, **BAD_BLOCKS, **BAD_INDEXES, **BAD_CELLS, **BAD_NODES})
def test_a_run_that_breaks_the_format_is_refused(name: str, record: Path) -> None:
    write_run(record)
    read_everything(record)
    BAD_RUNS[name].spoil(record)
    BAD_RUNS[name].check_refused(record)


@pytest.mark.parametrize("name", BAD_REGULAR_RUNS)
def test_a_regular_run_that_breaks_the_format_is_refused(name: str, record: Path) -> None:
    write_run(record, regular=True, cell="fixed")
    read_everything(record)
    BAD_REGULAR_RUNS[name].spoil(record)
    BAD_REGULAR_RUNS[name].check_refused(record)


def test_an_undefined_fixed_cell_that_is_periodic_is_refused(record: Path) -> None:
    write_run(record, cell="undefined")
    case = bad("reject-undefined-cell-periodic", "trajectory/box", attribute("trajectory/box", "boundary", [True] * 3))
    case.spoil(record)
    case.check_refused(record)


LEGAL: dict[str, list[dict[str, Any]]] = {
    "nstep removed from a run with steps": [drop("trajectory", "nstep")],
    "unknown nodes and attributes": [
        attribute("trajectory", "later", {"a": None}),
        attribute("trajectory/atoms", "later", [1]),
        array("trajectory/atoms/undeclared", "float32", [1.0]),
        array("trajectory/undeclared", "float32", [1.0]),
        {"op": "group", "path": "trajectory/more"},
        {"op": "group", "path": "later"},
        text("notes.txt", "mine"),
    ],
    "a field that need not be understood": [field("trajectory/atoms/x", "/extra", {"must_understand": False})],
    "dimension names": [field("trajectory/atoms/x", "/dimension_names", ["row"])],
    "an uncommitted tail": [
        array("trajectory/step", "int64", [0, 11, 24, 39, 0]),
        array("trajectory/bonds/step_index", "uint64", [0, 2, 4, 1]),
        array("trajectory/bonds/offset", "uint64", [0, 1, 4, 2]),
        array("trajectory/bonds/ref", "uint64", np.zeros(9)),
    ],
}


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_unknown_or_uncommitted_is_no_reason_to_refuse(name: str, record: Path) -> None:
    write_run(record)
    trajectory = mr.open(record).trajectory
    assert trajectory is not None
    before = [plain_frame(frame) for frame in trajectory]
    tamper.apply(record, LEGAL[name])
    read_everything(record)
    trajectory = mr.open(record).trajectory
    assert trajectory is not None
    assert [plain_frame(frame) for frame in trajectory] == before
    assert trajectory.steps.tolist() == [0, 11, 24, 39]
