"""Frames and roots that break the format: each is refused under its rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import zarr

import molrec as mr

from .good_records import write_frame
from .interop import tamper
from .refusals import read_everything, refused, untouched
from .spoiling import BadStore, array, attribute, bad, delete, drop, each, field, put, text, truncate

FLIP = {"op": "flip", "path": "frame/atoms/label/c/0", "offset": 12, "mask": 1}

BAD_FRAMES: dict[str, BadStore] = {
    **each("count", "reject-row-count", "frame/atoms count", "frame/atoms", "count", [None, -1, 3.0, "3", True, [3]]),
    "count missing": bad("reject-row-count", "frame/atoms count", drop("frame/atoms", "count")),
    "count unlike the columns": bad("reject-row-count", "frame/atoms 4", attribute("frame/atoms", "count", 4)),
    "a column longer than the others": bad(
        "reject-row-count", "frame/atoms 'n'", array("frame/atoms/n", "int32", [1, 2, 3, 4])
    ),
    "a narrow float": bad("reject-narrow-float", "frame/atoms/n float32", array("frame/atoms/n", "float32", [1, 2, 3])),
    "a half float": bad("reject-narrow-float", "frame/atoms/n float16", array("frame/atoms/n", "float16", [1, 2, 3])),
    "identifiers as signed integers": bad(
        "reject-canonical-dtype", "frame/atoms 'id' i64", array("frame/atoms/id", "int64", [1, 2, 3])
    ),
    "identifiers as narrow integers": bad(
        "reject-canonical-dtype", "frame/atoms 'id' u32", array("frame/atoms/id", "uint32", [1, 2, 3])
    ),
    "identifiers in a table": bad(
        "reject-canonical-dtype", "frame/atoms 'id'", array("frame/atoms/id", "uint64", [[1], [2], [3]])
    ),
    "positions as integers": bad(
        "reject-canonical-dtype", "frame/atoms 'x'", array("frame/atoms/x", "int64", [1, 2, 3])
    ),
    "precision on integers": bad(
        "reject-precision-on-non-f64", "frame/atoms 'n'", attribute("frame/atoms/n", "precision", 1.0)
    ),
    **each(
        "precision",
        "reject-precision-out-of-bounds",
        "frame/atoms 'x'",
        "frame/atoms/x",
        "precision",
        [0, -1.0, "1e-3", True, [0.001], 1e-305],
    ),
    "a mask that is not bool": bad(
        "reject-validity-mask", "frame/atoms label", array("frame/atoms/_validity/label", "uint8", [1, 0, 1])
    ),
    "a mask that is short": bad(
        "reject-validity-mask", "frame/atoms label", array("frame/atoms/_validity/label", "bool", [True, False])
    ),
    "a mask of more than one flag per row": bad(
        "reject-validity-mask", "frame/atoms label", array("frame/atoms/_validity/label", "bool", np.ones((3, 1)))
    ),
    "a mask without a column": bad(
        "reject-validity-mask", "frame/atoms 'y'", array("frame/atoms/_validity/y", "bool", [True, False, True])
    ),
    "a grid of another size": bad(
        "reject-structural-shape", "frame/grid 6", attribute("frame/grid", "structural_shape", [2, 2])
    ),
    **each(
        "grid",
        "reject-structural-shape",
        "frame/grid",
        "frame/grid",
        "structural_shape",
        [[], 6, "23", [2, 3.0], [2, -3], {"0": 6}, [True, 6]],
    ),
    "targets that are no object": bad(
        "reject-target-malformed", "frame/bonds", attribute("frame/bonds", "targets", ["ref"])
    ),
    "a target that is no text": bad(
        "reject-target-malformed", "frame/bonds 'ref'", attribute("frame/bonds", "targets", {"ref": 3})
    ),
    "a target of no column": bad(
        "reject-target-not-u64", "frame/bonds 'other'", attribute("frame/bonds", "targets", {"other": "atoms"})
    ),
    "a target into the trajectory": bad(
        "reject-target-into-trajectory",
        "frame/bonds 'ref'",
        attribute("frame/bonds", "targets", {"ref": "/trajectory/atoms"}),
    ),
    "a target on a column that is not u64": bad(
        "reject-target-not-u64", "frame/atoms 'n'", attribute("frame/atoms", "targets", {"n": "atoms"})
    ),
    "a column that lost its document": bad(
        "reject-node-without-metadata", "frame/atoms/n", delete("frame/atoms/n/zarr.json")
    ),
    "a mask that lost its document": bad(
        "reject-node-without-metadata", "frame/atoms/_validity/label", delete("frame/atoms/_validity/label/zarr.json")
    ),
    "a block that lost its document": bad(
        "reject-node-without-metadata", "frame/atoms holds", delete("frame/atoms/zarr.json")
    ),
    "a box that lost its document": bad(
        "reject-node-without-metadata", "frame/box holds", delete("frame/box/zarr.json")
    ),
    "box without vectors": bad(
        "reject-box-shape|reject-array-missing", "frame/box vectors", delete("frame/box/vectors")
    ),
    "box vectors of another shape": bad(
        "reject-box-shape", "frame/box/vectors", array("frame/box/vectors", "float64", np.ones(9))
    ),
    "box vectors of integers": bad(
        "reject-box-shape", "frame/box/vectors", array("frame/box/vectors", "int64", np.eye(3))
    ),
    "box vectors of narrow floats": bad(
        "reject-narrow-float", "frame/box/vectors", array("frame/box/vectors", "float32", np.eye(3))
    ),
    "box vectors not finite": bad(
        "reject-box-not-finite", "frame/box", array("frame/box/vectors", "float64", np.full((3, 3), np.inf))
    ),
    "box origin of another shape": bad(
        "reject-box-shape", "frame/box/origin", array("frame/box/origin", "float64", [0.0, 0.0])
    ),
    "box boundary as numbers": bad(
        "reject-box-shape", "frame/box/boundary", array("frame/box/boundary", "uint8", [1, 1, 1])
    ),
    "box flag that is no flag": bad(
        "reject-box-shape", "frame/box cell_defined", attribute("frame/box", "cell_defined", 0)
    ),
    "undefined box that is periodic": bad(
        "reject-undefined-cell-periodic", "frame/box", attribute("frame/box", "cell_defined", False)
    ),
    "meta types that are no object": bad(
        "reject-meta-unknown-tag", "frame _meta_types", attribute("frame", "_meta_types", [])
    ),
    "an unknown tag": bad("reject-meta-unknown-tag", "frame 't'", attribute("frame", "_meta_types", {"t": "f32"})),
    "a value of another tag": bad(
        "reject-meta-tag-mismatch", "frame 't'", attribute("frame", "_meta_types", {"t": "i32"})
    ),
    "a value beyond its tag": bad("reject-meta-out-of-range", "frame 'n'", attribute("frame", "n", 2**40)),
    "a null for a number": bad("reject-meta-tag-mismatch", "frame 't'", attribute("frame", "t", None)),
    "an unknown codec": bad(
        "reject-unsupported-codec", "frame/atoms/n blosc", array("frame/atoms/n", "int32", [1, 2, 3], codec="blosc")
    ),
    "a lost chunk": bad("reject-corrupt-chunk", "frame/atoms/n", delete("frame/atoms/n/c/0")),
    "a chunk cut short": bad("reject-corrupt-chunk", "frame/atoms/n chunk", truncate("frame/atoms/n/c/0", -1)),
    "an empty chunk": bad("reject-corrupt-chunk", "frame/atoms/n", truncate("frame/atoms/n/c/0", 0)),
    "a chunk of strings flipped": bad("reject-corrupt-chunk", "frame/atoms/label", FLIP),
    "a group that is no group": bad("reject-malformed-metadata", "frame", field("frame", "/zarr_format", 2)),
    "no JSON": bad("reject-malformed-json", "frame", text("frame/zarr.json", '{"attributes": NaN}')),
    "a version of null": bad("reject-molrec-version", "meta None", attribute("meta", "molrec_version", None)),
    **each(
        "version",
        "reject-molrec-version",
        "meta molrec_version",
        "meta",
        "molrec_version",
        [0, -1, 2, 1.0, True, "1", [1], {}],
    ),
    "a root that is no group": bad(
        "reject-malformed-metadata|reject-not-a-record", "", put("zarr.json", "/node_type", "array")
    ),
    "no root": bad("reject-not-a-record", "run.mrec", delete("zarr.json")),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_a_frame_that_breaks_the_format_is_refused(name: str, record: Path) -> None:
    write_frame(record)
    read_everything(record)
    BAD_FRAMES[name].spoil(record)
    BAD_FRAMES[name].check_refused(record)


def test_a_column_without_rows_is_refused(record: Path) -> None:
    write_frame(record)
    tamper.apply(record, [delete("frame/atoms/n")])
    zarr.create_array(record, name="frame/atoms/n", shape=(), dtype="int32")[...] = 3
    with untouched(record), refused("reject-row-count", "frame/atoms", "'n'", kind=mr.FormatError):
        read_everything(record)


def test_a_record_without_meta_or_version_is_read(record: Path) -> None:
    write_frame(record)
    tamper.apply(record, [drop("meta", "molrec_version")])
    assert mr.open(record).meta == {}
    tamper.apply(record, [delete("meta")])
    assert mr.open(record).meta == {}
    assert mr.open(record).frame is not None


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("nothing", "empty", "nothing.mrec.zip"):
        with refused("reject-not-a-record", name, kind=mr.FormatError):
            mr.open(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]
