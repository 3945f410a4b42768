"""Frame bytes put together by hand, and an account of each of their bytes (``docs/spec/lmdb.md``, frame bytes).

Nothing here comes from the library: buffers are packed by `struct`, offsets are counted, headers are written out.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import Any

from scripts.golden.content import Block, Box, Column, Frame, block, column
from scripts.golden.neutral_json import frame_form

__all__ = ["BYTES_FORMAT", "frame_bytes_fixtures"]

BYTES_FORMAT = "molrec-frame-bytes-1"
_PACKED = {
    "f64": "<d",
    "i32": "<i",
    "u64": "<Q",
    "bool": "<?",
    "u8": "<B",
    "c64": "<2f",
    "c128": "<2d",
}


@dataclass
class _Value:
    """A value as it grows, with what each run of its bytes means."""

    raw: bytes = b""
    parts: list[dict[str, Any]] = field(default_factory=list)
    payload: int | None = None

    def add(self, raw: bytes, meaning: str, text: str | None = None) -> None:
        """Append bytes."""
        part: dict[str, Any] = {"at": len(self.raw), "bytes": len(raw)}
        if self.payload is not None:
            part["in_payload"] = len(self.raw) - self.payload
        part |= {"hex": raw.hex(" ")} if text is None else {"text": text}
        self.parts.append(part | {"meaning": meaning})
        self.raw += raw

    def pad(self) -> None:
        """Append zeros up to a multiple of 8."""
        missing = -len(self.raw) % 8
        if missing:
            self.add(bytes(missing), "zeros up to a multiple of 8")

    def begin(self, header: str) -> None:
        """Append magic, header length, header and its padding."""
        text = header.encode("utf-8")
        self.add(b"MRF1", "magic")
        self.add(struct.pack("<I", len(text)), f"header length: {len(text)}, u32 little-endian")
        self.add(text, "header, JSON in UTF-8", header)
        self.pad()
        self.payload = len(self.raw)

    def buffer(self, name: str, one: Column) -> None:
        """Append the elements of a column, one part each."""
        for place, value in enumerate(one.values.ravel().tolist()):
            items = (value.real, value.imag) if isinstance(value, complex) else (value,)
            self.add(struct.pack(_PACKED[one.dtype], *items), f"{name}, element {place}: {value}")
        self.pad()

    def mask(self, name: str, flags: list[bool]) -> None:
        """Append a validity mask, one byte a row."""
        for place, flag in enumerate(flags):
            self.add(bytes([flag]), f"validity of {name}, row {place}: {'has a value' if flag else 'null'}")
        self.pad()


def _document(name: str, description: str, holds: str, value: _Value, frame: Frame, **more: Any) -> dict[str, Any]:
    return {
        "format": BYTES_FORMAT,
        "name": name,
        "description": description,
        "holds": holds,
        "size": len(value.raw),
        "parts": value.parts,
        "content": frame_form(frame),
        **more,
    }


def frame_bytes_fixtures() -> list[tuple[bytes, dict[str, Any]]]:
    """Return every value with its account."""
    return [_minimal(), _strings_and_masks(), _typed_meta(), _complex_and_bool(), _update(), _foreign()]


def _minimal() -> tuple[bytes, dict[str, Any]]:
    x = column("f64", [0.0, 1.5])
    value = _Value()
    value.begin(
        '{"blocks":{"atoms":{"count":2,"structural_shape":null,"columns":{"x":{"dtype":"f64","shape":[2],"offset":0}}}},'
        '"meta":{},"meta_types":{}}'
    )
    value.buffer("x", x)
    frame = Frame({"atoms": block({"x": x})})
    return value.raw, _document("minimal", "One block of one column: a system.", "system", value, frame)


def _strings_and_masks() -> tuple[bytes, dict[str, Any]]:
    columns = {
        "n": column("i32", [7, -1, 3], mask=[True, False, True]),
        "name": column("string", ["", "é", '"'], mask=[True, True, False]),
        "x": column("f64", [0.5, -0.0, 2.0], precision=0.5),
        "ref": column("u64", [2, 0, 1]),
    }
    value = _Value()
    value.begin(
        '{"blocks":{"atoms":{"count":3,"structural_shape":[3,1],"targets":{"ref":"atoms"},'
        '"attributes":{"kept":null},"columns":{'
        '"n":{"dtype":"i32","shape":[3],"offset":0,"validity":16},'
        '"name":{"dtype":"string","shape":[3],"values":["","é","\\""],"validity":24},'
        '"x":{"dtype":"f64","shape":[3],"offset":32,"precision":0.5},'
        '"ref":{"dtype":"u64","shape":[3],"offset":56}}}},'
        '"meta":{},"meta_types":{}}'
    )
    value.buffer("n", columns["n"])
    value.mask("n", [True, False, True])
    value.mask("name", [True, True, False])
    value.buffer("x", columns["x"])
    value.buffer("ref", columns["ref"])
    atoms = Block(columns, 3, [3, 1], {"ref": "atoms"}, {"kept": None})
    description = "Strings in the header, masks of a numeric and of a string column, a grid, a precision, a reference."
    return value.raw, _document("strings-and-masks", description, "system", value, Frame({"atoms": atoms}))


def _typed_meta() -> tuple[bytes, dict[str, Any]]:
    meta: dict[str, tuple[str, Any]] = {
        "smiles": ("string", "O"),
        "wide": ("u64", 2**64 - 1),
        "small": ("i32", -5),
        "real": ("f64", 1.0),
        "nothing": ("f64", float("nan")),
        "field": ("f64x3", (float("-inf"), -0.0, 0.1)),
        "flags": ("bool3", (True, False, True)),
        "note": ("json", {"a": [1, None]}),
    }
    value = _Value()
    value.begin(
        '{"blocks":{},"meta":{"smiles":"O","wide":"18446744073709551615","small":-5,"real":1.0,"nothing":"NaN",'
        '"field":["-Infinity",-0.0,0.1],"flags":[true,false,true],"note":{"a":[1,null]}},'
        '"meta_types":{"smiles":"string","wide":"u64","small":"i32","real":"f64","nothing":"f64","field":"f64x3",'
        '"flags":"bool3","note":"json"},'
        '"box":{"vectors":[[9.0,1.0,0.0],[0.0,8.0,0.0],[0.0,0.0,7.0]],"origin":[0.5,0.0,0.0],'
        '"boundary":[true,true,false]}}'
    )
    box = Box([[9.0, 1.0, 0.0], [0.0, 8.0, 0.0], [0.0, 0.0, 7.0]], [0.5, 0.0, 0.0], [True, True, False])
    description = "A system without blocks: meta values with their tags, and a cell; there is no payload."
    return value.raw, _document("typed-meta", description, "system", value, Frame({}, meta, box))


def _complex_and_bool() -> tuple[bytes, dict[str, Any]]:
    columns = {
        "free": column("bool", [True, False, True]),
        "single": column("c64", [1.5 - 2j, 0.1 + 0j, complex(0.0, -0.5)]),
        "wave": Column("c128", column("c128", [0.1 + 0.2j, 3 + 0j, 0j]).values.reshape(3, 1)),
        "byte": column("u8", [0, 255, 7]),
        "nothing": Column("f64", column("f64", []).values.reshape(3, 0)),
    }
    value = _Value()
    value.begin(
        '{"blocks":{"atoms":{"count":3,"structural_shape":null,"columns":{'
        '"free":{"dtype":"bool","shape":[3],"offset":0},'
        '"single":{"dtype":"c64","shape":[3],"offset":8},'
        '"wave":{"dtype":"c128","shape":[3,1],"offset":32},'
        '"byte":{"dtype":"u8","shape":[3],"offset":80},'
        '"nothing":{"dtype":"f64","shape":[3,0],"offset":88}}}},'
        '"meta":{},"meta_types":{}}'
    )
    for name, one in columns.items():
        value.buffer(name, one)
    description = "Flags of one byte, complex numbers as real and imaginary part, a buffer of no bytes."
    return value.raw, _document("complex-and-bool", description, "system", value, Frame({"atoms": block(columns)}))


def _update() -> tuple[bytes, dict[str, Any]]:
    x = column("f64", [0.25, -1.0])
    value = _Value()
    value.begin(
        '{"blocks":{"atoms":{"count":2,"structural_shape":null,"columns":{"x":{"dtype":"f64","shape":[2],"offset":0}}}},'
        '"meta":{"pe":"Infinity","count":"9007199254740993"},"step":"-9007199254740993","time":0.1,'
        '"box":{"vectors":[[1.0,0.0,0.0],[0.0,1.0,0.0],[0.0,0.0,1.0]],"boundary":[false,false,false],'
        '"cell_defined":false}}'
    )
    value.buffer("x", x)
    box = Box(boundary=[False, False, False], cell_defined=False)
    meta: dict[str, tuple[str, Any]] = {"pe": ("f64", float("inf")), "count": ("u64", 2**53 + 1)}
    schema = {
        "blocks": {"atoms": {"columns": {"x": {"dtype": "f64", "trailing": []}}}},
        "meta": {"pe": {"dtype": "f64"}, "count": {"dtype": "u64"}},
    }
    return value.raw, _document(
        "update",
        "A frame of a trajectory: tags and precisions stand in the schema, step and time in the header.",
        "frame",
        value,
        Frame({"atoms": block({"x": x})}, meta, box),
        schema=schema,
        step=str(-(2**53) - 1),
        time=0.1,
    )


def _foreign() -> tuple[bytes, dict[str, Any]]:
    """Return what another program may write: other order, blanks, unknown entries, gaps."""
    header = {
        "unknown": [1],
        "meta_types": {"n": "i32"},
        "meta": {"n": 3, "m": 4},
        "blocks": {
            "atoms": {
                "columns": {
                    "late": {"offset": 24, "dtype": "f64", "shape": [1], "unknown": None},
                    "early": {"shape": [1], "offset": 0, "dtype": "f64"},
                },
                "count": 1,
            }
        },
    }
    value = _Value()
    value.begin(json.dumps(header, indent=1))
    early, late = column("f64", [1.0]), column("f64", [2.0])
    value.buffer("early", early)
    value.add(b"\xff" * 16, "a gap that no entry names")
    value.buffer("late", late)
    value.add(b"\x00" * 8, "bytes after the last buffer")
    frame = Frame({"atoms": block({"late": late, "early": early})}, {"n": ("i32", 3), "m": ("i64", 4)})
    description = (
        "Legal, and not as this library writes it: a header with blanks and its entries in another order, unknown "
        "entries, a key without a tag, no structural_shape, buffers in another order than columns, bytes nobody names."
    )
    return value.raw, _document("foreign", description, "system", value, frame, foreign=True)
