"""Cases of frames: columns, blocks, masks and the box (``docs/spec/frame.md``)."""

from __future__ import annotations

import math

import numpy as np

from molrec.conformance import looks, making, tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.content import Block, Box, Column, Frame
from molrec.conformance.making import block, column, f64, frame, i64, strings, u64
from molrec.conformance.values import DTYPES, TEXTS, edges

__all__ = ["CASES"]

_TRICLINIC = [[10.0, 1.5, -2.25], [0.0, 9.0, 0.125], [0.0, 0.0, 11.0]]


def _atoms(**columns: Column) -> Frame:
    return frame({"atoms": block(columns)})


def _columns_of(rows: int, trailing: tuple[int, ...] = ()) -> Block:
    names = [dtype for dtype in DTYPES if dtype != "string" or not trailing]
    return block({f"c_{name}": Column(name, edges(name, rows, trailing)) for name in names}, rows=rows)


_COLUMNS = (
    Case(
        "column-dtypes",
        "frame.md#columns",
        "every dtype, with its limits, comes back at its width and to the bit",
        (Example("", frame({"all": _columns_of(10)}), looks=(looks.PackedForm(),)),),
    ),
    Case(
        "column-trailing-axes",
        "frame.md#columns",
        "columns have any number of trailing axes, in C order",
        tuple(
            Example("x".join(map(str, shape)), frame({"all": _columns_of(4, shape)}))
            for shape in ((1,), (3,), (2, 3), (2, 1, 3))
        ),
    ),
    Case(
        "column-strings",
        "frame.md#columns",
        "strings are Unicode of any length, kept whole",
        (Example("", _atoms(label=strings(*TEXTS, "x" * 300))),),
    ),
    Case(
        "block-rows",
        "frame.md#blocks",
        "a block may have no rows, or no columns and yet a row count; counts are independent",
        (
            Example("no rows", frame({"none": _columns_of(0)})),
            Example("no columns", frame({"bare": block(rows=3), "other": block({"v": f64(1.0)})})),
            Example("no blocks", frame()),
        ),
    ),
    Case(
        "block-names",
        "frame.md#names",
        "a name is any text the store can hold, `meta` among them, compared byte for byte",
        (
            Example(
                "",
                frame({name: block({name: f64(1.0, 2.0)}) for name in ("a b", "ünï", "a.b", "A", "count", "meta")}),
            ),
        ),
    ),
    Case(
        "structural-shape",
        "frame.md#structural-shape",
        "a block on a grid states its shape",
        (Example("", frame({"grid": block({"rho": f64(*range(24))}, shape=(2, 3, 4))})),),
    ),
    Case(
        "nullable-columns",
        "frame.md#nullable-columns",
        "a mask has a flag per row, and what stands under a null is kept",
        (
            Example(
                "",
                _atoms(
                    q=f64(1.0, math.nan, -0.0, 7.0, validity=[True, False, False, True]),
                    v=column("i32", [[1, 2], [3, 4], [5, 6], [7, 8]], validity=[False, True, True, True]),
                    s=strings("a", "b", "", "d", validity=[False] * 4),
                ),
            ),
            Example(
                "all true",
                _atoms(q=f64(1.0, 2.0, validity=[True, True])),
                looks=(looks.NoNode("frame/atoms/_validity/q"),),
            ),
        ),
    ),
)


def _boxed(cell: Box) -> Frame:
    return frame({"atoms": block({"x": f64(0.0, 1.0)})}, cell=cell)


_BOX = (
    Case(
        "box-parts",
        "frame.md#box",
        "vectors are columns; origin and boundary are kept, their defaults filled in",
        (
            Example("defaults", _boxed(making.box(10.0)), looks=(looks.NoAttribute("frame/box", "cell_defined"),)),
            Example("triclinic", _boxed(making.box(_TRICLINIC, origin=(1.0, -2.0, 3.5)))),
            Example("slab", _boxed(making.box(7.0, boundary=(True, True, False)))),
            Example("open", _boxed(making.box(7.0, boundary=(False, False, False)))),
            Example("left-handed", _boxed(making.box([[0.0, 9.0, 0.1], [10.0, 0.5, 0.2], [0.3, 0.0, 12.0]]))),
            Example(
                "stored without origin",
                _boxed(making.box(7.0, origin=(1.0, 0.0, 0.0), boundary=(True, True, False))),
                expected=_boxed(making.box(7.0)),
                edits=(tamper.delete("frame/box/origin"), tamper.delete("frame/box/boundary")),
            ),
        ),
    ),
    Case(
        "box-undefined",
        "frame.md#box",
        "an undefined cell has identity vectors, is not periodic, and says so",
        (
            Example(
                "",
                _boxed(making.undefined_box((1.0, 2.0, -0.0))),
                looks=(
                    looks.AttributeIs("frame/box", "cell_defined", value=False),
                    looks.ArrayHolds("frame/box/boundary", np.zeros(3, np.bool_)),
                ),
            ),
            Example(
                "stored vectors are ignored",
                _boxed(making.undefined_box()),
                edits=(tamper.array("frame/box/vectors", "f8", np.diag([5.0, 6.0, 7.0])),),
            ),
        ),
    ),
    Case(
        "reject-undefined-cell-periodic",
        "frame.md#box",
        "an undefined cell is periodic in no direction",
        (
            Example(
                "",
                _boxed(Box(np.eye(3), np.zeros(3), (True, False, False), cell_defined=False)),
                refused=True,
            ),
            Example(
                "stored",
                _boxed(making.undefined_box()),
                edits=(tamper.array("frame/box/boundary", "bool", [True, False, False]),),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-box-shape",
        "frame.md#box",
        "vectors are f64[3][3]",
        (
            Example(
                "stored f32",
                _boxed(making.box(5.0)),
                edits=(tamper.array("frame/box/vectors", "f4", np.eye(3)),),
                refused=True,
            ),
            Example(
                "stored shape",
                _boxed(making.box(5.0)),
                edits=(tamper.array("frame/box/vectors", "f8", np.eye(2)),),
                refused=True,
            ),
        ),
    ),
)

_GOOD = _atoms(x=f64(0.1, 0.2, 0.3), n=i64(1, 2, 3), s=strings("a", "b", "c", validity=[True, False, True]))

_REFUSALS = (
    Case(
        "reject-narrow-float",
        "frame.md#columns",
        "a float narrower than f64 is never written, nor read by widening it",
        (
            Example("f4", _atoms(v=column("f4", [1.0, 2.0])), refused=True),
            Example("stored f4", _GOOD, edits=(tamper.array("frame/atoms/x", "f4", [1, 2, 3]),), refused=True),
            Example("stored f2", _GOOD, edits=(tamper.array("frame/atoms/x", "f2", [1, 2, 3]),), refused=True),
        ),
    ),
    Case(
        "reject-canonical-dtype",
        "vocabulary.md",
        "a canonical column is not stored at another dtype or shape",
        (
            Example("string for x", _atoms(x=strings("1", "2")), refused=True),
            Example("vector id", _atoms(id=column("u64", [[1, 2]])), refused=True),
            Example(
                "stored i64 id",
                _atoms(id=u64(1, 2)),
                edits=(tamper.array("frame/atoms/id", "i8", [1, 2]),),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-row-count",
        "frame.md#blocks",
        "every column has as many rows as its block counts",
        (
            Example("", frame({"atoms": Block(2, None, {"x": f64(1.0, 2.0), "y": f64(1.0)}, {})}), refused=True),
            Example("stored count", _GOOD, edits=(tamper.attribute("frame/atoms", "count", 4),), refused=True),
            Example("no count", _GOOD, edits=(tamper.drop("frame/atoms", "count"),), refused=True),
        ),
    ),
    Case(
        "reject-structural-shape",
        "frame.md#structural-shape",
        "the product of a structural shape is the row count",
        (
            Example("", frame({"grid": block({"v": f64(1.0, 2.0, 3.0)}, shape=(2, 2))}), refused=True),
            Example(
                "stored", _GOOD, edits=(tamper.attribute("frame/atoms", "structural_shape", [2, 2]),), refused=True
            ),
        ),
    ),
    Case(
        "reject-validity-mask",
        "frame.md#nullable-columns",
        "a mask is one bool per row of a column that is there",
        (
            Example("short", _atoms(x=f64(1.0, 2.0, validity=[False])), refused=True),
            Example(
                "stored u8",
                _GOOD,
                edits=(tamper.array("frame/atoms/_validity/s", "u1", [1, 0, 1]),),
                refused=True,
            ),
            Example(
                "stored short",
                _GOOD,
                edits=(tamper.array("frame/atoms/_validity/s", "bool", [True, False]),),
                refused=True,
            ),
            Example(
                "stored for no column",
                _GOOD,
                edits=(tamper.array("frame/atoms/_validity/z", "bool", [True, False, True]),),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-unsupported-codec",
        "zarr.md#codecs",
        "an array that needs an unknown codec is refused, not passed over",
        (
            Example(
                "",
                _GOOD,
                edits=(
                    tamper.field(
                        "frame/atoms/x",
                        "/codecs",
                        [
                            {"name": "bytes", "configuration": {"endian": "little"}},
                            {"name": "unheard-of", "configuration": {}},
                        ],
                    ),
                ),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-corrupt-chunk",
        "zarr.md#checksums",
        "a chunk that fails its checksum is refused",
        (Example("", _GOOD, edits=(tamper.flip("frame/atoms/x/c/0", 0),), refused=True),),
    ),
)

CASES: tuple[Case, ...] = (*_COLUMNS, *_BOX, *_REFUSALS)
