"""Frame bytes: any frame comes back, every refusal, and mutated values that are refused or read as they stand."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.model.record_run import FrameUpdate, RecordRun
from molrec.storage.lmdb.frame_bytes import decode_blocks, decode_frame, encode_blocks, encode_frame
from molrec.storage.lmdb.update_bytes import UpdateDecoder, UpdateEncoder

from .refusals import refused
from .strategies import frames, plain_frame

#: Values spoiled in all.
MUTATIONS = 20_000


def value(header: Any, payload: bytes = b"", *, magic: bytes = b"MRF1") -> bytes:
    """Return frame bytes put together by hand."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    start = magic + struct.pack("<I", len(text)) + text
    return start + bytes(-len(start) % 8) + payload


def column(dtype: str = "f64", shape: tuple[int, ...] = (2,), **entries: Any) -> dict[str, Any]:
    stated = {"dtype": dtype, "shape": list(shape), **entries}
    if dtype != "string" and "offset" not in entries:
        stated["offset"] = 0
    return stated


def header(columns: dict[str, Any] | None = None, **entries: Any) -> dict[str, Any]:
    """Return a header with one block of two rows."""
    block = {"count": 2, "structural_shape": None, "columns": {"q": column()} if columns is None else columns}
    return {"blocks": {"b": block | entries}, "meta": {}, "meta_types": {}}


TWO = np.array([1.0, 2.0]).tobytes()


def test_the_bytes_of_a_small_frame_are_those_of_the_specification() -> None:
    block = mr.Block({"q": [1.0, 2.0], "ok": np.array([True, False]), "s": ["O", "H"]})
    block.set_validity("ok", np.array([True, False]))
    frame = mr.Frame({"b": block}, meta={"n": 3})
    text = (
        b'{"blocks":{"b":{"count":2,"structural_shape":null,"columns":{"q":{"dtype":"f64","shape":[2],"offset":0},'
        b'"ok":{"dtype":"bool","shape":[2],"offset":16,"validity":24},"s":{"dtype":"string","shape":[2],"values":'
        b'["O","H"]}}}},"meta":{"n":3},"meta_types":{"n":"i64"}}'
    )
    head = b"MRF1" + struct.pack("<I", len(text)) + text
    expected = head + bytes(-len(head) % 8) + TWO + b"\1\0" + bytes(6) + b"\1\0" + bytes(6)
    assert encode_frame(frame) == expected


@given(frames())
def test_any_frame_comes_back(frame: mr.Frame) -> None:
    stored = encode_frame(frame)
    found = decode_frame(stored, "value")
    assert plain_frame(found) == plain_frame(frame)
    assert encode_frame(found) == stored
    arrays = [found[name][column] for name in found for column in found[name]]
    assert not any(values.flags.writeable for values in arrays)
    assert all(values.flags.aligned for values in arrays)


@given(frames())
def test_numpy_and_json_alone_read_any_frame(frame: mr.Frame) -> None:
    document, blocks = naive(encode_frame(frame))
    assert blocks.keys() == frame.keys()
    for name, block in frame.items():
        for column, values in block.items():
            if block.dtype(column) == "string":
                assert blocks[name][column] == values.ravel().tolist()
            else:
                assert blocks[name][column] == values.tobytes()
    assert document["meta"].keys() == frame.meta.keys()


def test_a_table_comes_back_with_its_document() -> None:
    table = mr.Block({"name": ["a", "b"], "k": [1.0, 2.0]})
    table.set_validity("k", np.array([True, False]))
    document = {"name": "f", "units": {"preset": "real"}, "_meta_types": {"kept": 1}, "x": [1, None]}
    tables, found = decode_blocks(encode_blocks({"bond.harmonic": table}, document), "ff")
    assert tables == {"bond.harmonic": table}
    assert found == document


# -- refusals ---------------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "nothing": ("reject-bad-magic", lambda: b""),
    "a few bytes": ("reject-bad-magic", lambda: b"MRF1abc"),
    "magic": ("reject-bad-magic", lambda: value(header(), TWO, magic=b"MRF2")),
    "header past the value": ("reject-buffer-past-value", lambda: b"MRF1" + struct.pack("<I", 10**6) + b"{}"),
    "header no JSON": ("reject-malformed-json", lambda: value(b'{"blocks":')),
    "header not UTF-8": ("reject-malformed-json", lambda: value(b'{"blocks":{"\xff":1}}')),
    "header NaN": ("reject-malformed-json", lambda: value(b'{"blocks":{},"meta":{"a":NaN}}')),
    "header key twice": ("reject-malformed-json", lambda: value(b'{"blocks":{},"meta":{},"blocks":{}}')),
    "header a list": ("reject-malformed-header", lambda: value([])),
    "no blocks": ("reject-malformed-header", lambda: value({"meta": {}})),
    "block no object": ("reject-malformed-header", lambda: value({"blocks": {"b": 1}})),
    "block named box": ("reject-reserved-name", lambda: value({"blocks": {"box": {"count": 0}}})),
    "block named badly": ("reject-bad-name", lambda: value({"blocks": {"a/b": {"count": 0}}})),
    "column named badly": ("reject-bad-name", lambda: value(header({"__x": column()}), TWO)),
    "column reserved": ("reject-reserved-name", lambda: value(header({"_validity": column()}), TWO)),
    "no count": ("reject-row-count", lambda: value({"blocks": {"b": {}}})),
    "count negative": ("reject-row-count", lambda: value(header(count=-1), TWO)),
    "count a bool": ("reject-row-count", lambda: value(header(count=True), TWO)),
    "count unlike a column": ("reject-row-count", lambda: value(header(count=3), TWO)),
    "strings unlike the shape": ("reject-row-count", lambda: value(header({"s": column("string", values=["a"])}))),
    "strings no strings": ("reject-malformed-header", lambda: value(header({"s": column("string", values=[1, 2])}))),
    "no strings": ("reject-malformed-header", lambda: value(header({"s": column("string")}))),
    "dtype unknown": ("reject-unknown-dtype", lambda: value(header({"q": column("f128")}), TWO)),
    "dtype a list": ("reject-unknown-dtype", lambda: value(header({"q": {**column(), "dtype": ["f64"]}}), TWO)),
    "dtype json": ("reject-unknown-dtype", lambda: value(header({"q": column("json")}), TWO)),
    "dtype narrow": ("reject-narrow-float", lambda: value(header({"q": column("f32")}), TWO)),
    "dtype canonical": ("reject-canonical-dtype", lambda: value(header({"x": column("i64")}), TWO)),
    "shape missing": ("reject-malformed-header", lambda: value(header({"q": {"dtype": "f64", "offset": 0}}), TWO)),
    "shape negative": ("reject-malformed-header", lambda: value(header({"q": column(shape=(2, -1))}), TWO)),
    "shape beyond reason": ("reject-malformed-header", lambda: value(header({"q": column(shape=(2, 2**62, 0))}), TWO)),
    "shape of many axes": (
        "reject-malformed-header",
        lambda: value(header({"q": column(shape=(2,) + (1,) * 40)}), TWO),
    ),
    "offset missing": ("reject-malformed-header", lambda: value(header({"q": column(offset=None)}), TWO)),
    "offset negative": ("reject-malformed-header", lambda: value(header({"q": column(offset=-8)}), TWO)),
    "offset misaligned": ("reject-misaligned-offset", lambda: value(header({"q": column(offset=4)}), TWO * 2)),
    "buffer past the value": ("reject-buffer-past-value", lambda: value(header({"q": column(offset=8)}), TWO)),
    "buffer cut short": ("reject-buffer-past-value", lambda: value(header(), TWO)[:-1]),
    "mask misaligned": ("reject-misaligned-offset", lambda: value(header({"q": column(validity=1)}), TWO)),
    "mask past the value": ("reject-buffer-past-value", lambda: value(header({"q": column(validity=16)}), TWO)),
    "mask no flags": ("reject-bool-byte", lambda: value(header({"q": column(validity=16)}), TWO + b"\1\2")),
    "bool no flag": ("reject-bool-byte", lambda: value(header({"q": column("bool")}), b"\3\0")),
    "precision of an integer": (
        "reject-precision-on-non-f64",
        lambda: value(header({"q": column("i64", precision=1.0)}), TWO),
    ),
    "precision no precision": (
        "reject-precision-out-of-bounds",
        lambda: value(header({"q": column(precision=-1.0)}), TWO),
    ),
    "structural shape": ("reject-structural-shape", lambda: value(header(structural_shape=[3]), TWO)),
    "structural shape a number": ("reject-structural-shape", lambda: value(header(structural_shape=2), TWO)),
    "target not u64": ("reject-target-not-u64", lambda: value(header(targets={"q": "b"}), TWO)),
    "target of no column": ("reject-target-not-u64", lambda: value(header(targets={"w": "b"}), TWO)),
    "target malformed": (
        "reject-target-malformed",
        lambda: value(header({"q": column("u64")}, targets={"q": "/a"}), TWO),
    ),
    "targets no object": ("reject-malformed-header", lambda: value(header(targets=[]), TWO)),
    "attributes no object": ("reject-malformed-header", lambda: value(header(attributes=1), TWO)),
    "meta no object": ("reject-malformed-header", lambda: value({"blocks": {}, "meta": []})),
    "meta of another tag": (
        "reject-meta-tag-mismatch",
        lambda: value({"blocks": {}, "meta": {"a": 1.5}, "meta_types": {"a": "i32"}}),
    ),
    "meta tags no object": ("reject-meta-unknown-tag", lambda: value({"blocks": {}, "meta": {}, "meta_types": 3})),
    "box no object": ("reject-box-shape", lambda: value({"blocks": {}, "meta": {}, "box": 1})),
    "box without vectors": ("reject-box-shape", lambda: value({"blocks": {}, "meta": {}, "box": {}})),
    "box of another shape": ("reject-box-shape", lambda: value({"blocks": {}, "meta": {}, "box": {"vectors": [1.0]}})),
    "box not finite": (
        "reject-box-not-finite",
        lambda: value({"blocks": {}, "meta": {}, "box": {"vectors": [[1.0, 0.0, "NaN"]] * 3}}),
    ),
    "box undefined and periodic": (
        "reject-undefined-cell-periodic",
        lambda: value({"blocks": {}, "meta": {}, "box": {"cell_defined": False, "boundary": [True] * 3}}),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_value_is_refused(case: str) -> None:
    rule, make = REFUSED[case]
    with refused(rule, "the value", kind=mr.FormatError):
        decode_frame(make(), "the value")


def test_the_value_the_refusals_differ_from_is_read() -> None:
    frame = decode_frame(value(header(), TWO), "value")
    assert frame["b"]["q"].tolist() == [1.0, 2.0]


# -- frames of trajectories -------------------------------------------------------------------------------------------


def declared() -> mr.SequenceSchema:
    schema = mr.SequenceSchema().declare_column("b", "q", "f64").declare_column("b", "u", "u64", nullable=True)
    return schema.declare_precision("b", "q", 0.5).declare_meta("e", "f64").declare_meta("n", "i64")


def update(**entries: Any) -> dict[str, Any]:
    block = {"count": 2, "structural_shape": None, "columns": {"q": column(), "u": column("u64")}}
    return {"blocks": {"b": block}, "meta": {"e": 1.5, "n": 2}, "step": 0} | entries


def with_block(**entries: Any) -> dict[str, Any]:
    document = update()
    document["blocks"]["b"] |= entries
    return document


REFUSED_UPDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "block not declared": ("reject-undeclared", update(blocks={"c": {"count": 0}})),
    "column missing": ("reject-missing-column", with_block(columns={"q": column()})),
    "column not declared": (
        "reject-undeclared",
        with_block(columns={"q": column(), "u": column("u64"), "w": column()}),
    ),
    "dtype differs": ("reject-column-disagrees", with_block(columns={"q": column("i64"), "u": column("u64")})),
    "row shape differs": (
        "reject-column-disagrees",
        with_block(columns={"q": column(shape=(2, 1)), "u": column("u64")}),
    ),
    "mask not declared": (
        "reject-mask-not-declared",
        with_block(columns={"q": column(validity=0), "u": column("u64")}),
    ),
    "precision differs": (
        "reject-frame-precision-disagrees",
        with_block(columns={"q": column(precision=0.25), "u": column("u64")}),
    ),
    "targets differ": ("reject-frame-target-disagrees", with_block(targets={"u": "b"})),
    "grid not declared": ("reject-structural-shape", with_block(structural_shape=[2])),
    "no meta": ("reject-malformed-header", {"blocks": {}, "step": 0}),
    "key missing": ("reject-missing-meta-key", update(meta={"e": 1.5})),
    "key not declared": ("reject-undeclared", update(meta={"e": 1.5, "n": 2, "m": 3})),
    "key of another tag": ("reject-meta-tag-mismatch", update(meta={"e": "x", "n": 2})),
    "key out of range": ("reject-meta-out-of-range", update(meta={"e": 1.5, "n": 2**63})),
    "no step": ("reject-meta-tag-mismatch", {"blocks": {}, "meta": {"e": 1.5, "n": 2}}),
    "step no integer": ("reject-meta-tag-mismatch", update(step=1.0)),
    "step a bool": ("reject-meta-tag-mismatch", update(step=True)),
    "step out of range": ("reject-meta-out-of-range", update(step=2**63)),
    "time no number": ("reject-meta-tag-mismatch", update(time="soon")),
}


@pytest.mark.parametrize("case", REFUSED_UPDATES)
@pytest.mark.parametrize("warm", [False, True])
def test_a_frame_of_a_trajectory_is_refused(case: str, warm: bool) -> None:
    rule, document = REFUSED_UPDATES[case]
    decoder = UpdateDecoder(declared())
    if warm:
        assert decoder.read(value(update(), TWO), "w").meta == {"e": 1.5, "n": 2}
    with refused(rule, "record 3", kind=mr.FormatError):
        decoder.read(value(document, TWO), "record 3")


def test_a_kept_layout_does_not_hide_what_follows_it() -> None:
    decoder = UpdateDecoder(declared())
    encoder = UpdateEncoder(declared())
    block = mr.Block({"q": [1.0, 2.0], "u": np.array([1, 2], np.uint64)})
    frame = mr.Frame({"b": block}, meta={"e": 1.0, "n": 2})
    first = encoder.encode(RecordRun(declared(), {}).take(frame, 0, None))
    assert decoder.read(first, "a").block("b")["q"].tolist() == [1.0, 2.0]
    for text, rule in (
        (b',"blocks":{}}', "reject-malformed-json"),
        (b',"step":1}', "reject-malformed-json"),
        (b'} {"a":1}', "reject-malformed-json"),
        (b',"x":NaN}', "reject-malformed-json"),
        (b',"x":1e999}', "reject-malformed-json"),
        (b',"x":"\\ud800"}', "reject-malformed-json"),
    ):
        length = struct.unpack_from("<I", first, 4)[0]
        spoiled = value(first[8 : 8 + length][:-1] + text, first[8 + length + -(8 + length) % 8 :])
        with refused(rule, kind=mr.FormatError):
            decoder.read(spoiled, "b")
    shorter = first[:-8]
    with refused("reject-buffer-past-value", kind=mr.FormatError):
        decoder.read(shorter, "c")


def test_meta_typed_exactly_in_a_frame() -> None:
    schema = mr.SequenceSchema()
    given_values = {"f": ("f64", float("nan")), "v": ("f64x3", (1.0, float("inf"), -0.0)), "u": ("u64", 2**64 - 1)}
    for key, (tag, _) in given_values.items():
        schema.declare_meta(key, tag)
    stored = UpdateEncoder(schema).encode(
        FrameUpdate({}, {key: found for key, (_, found) in given_values.items()}, 2**62, float("-inf"), None)
    )
    found = UpdateDecoder(schema).read(stored, "w")
    assert found.meta["u"] == 2**64 - 1
    assert str(found.meta["f"]) == "nan"
    assert str(found.meta["v"]) == "(1.0, inf, -0.0)"
    assert (found.step, found.time) == (2**62, float("-inf"))


# -- mutated values ---------------------------------------------------------------------------------------------------


def naive(stored: bytes) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Read frame bytes with struct and json alone: the header, and every column's bytes or strings."""
    magic, length = struct.unpack_from("<4sI", stored)
    assert magic == b"MRF1"
    document = json.loads(stored[8 : 8 + length])
    base = 8 + length + -(8 + length) % 8
    widths = {"f64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "bool": 1}
    widths |= {"c64": 8, "c128": 16}
    blocks: dict[str, dict[str, Any]] = {}
    for name, block in document["blocks"].items():
        blocks[name] = {}
        for column, stated in block.get("columns", {}).items():
            if stated["dtype"] == "string":
                blocks[name][column] = stated["values"]
                continue
            size = widths[stated["dtype"]]
            for extent in stated["shape"]:
                size *= extent
            content = stored[base + stated["offset"] :][:size]
            assert len(content) == size
            blocks[name][column] = content
    return document, blocks


def mutated(stored: bytes, rng: random.Random) -> bytes:
    """Return frame bytes with something changed: bits, bytes, digits of the header, the end."""
    content = bytearray(stored)
    length = struct.unpack_from("<I", stored, 4)[0]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        kind = rng.randrange(6)
        place = rng.randrange(len(content))
        if kind == 0:
            content[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            content[place] = rng.randrange(256)
        elif kind == 2:
            content[8 + rng.randrange(max(1, min(length, len(content) - 8)))] = rng.choice(b'0123456789"{}[],:-. tfn\\')
        elif kind == 3:
            del content[place:]
        elif kind == 4:
            del content[place : place + rng.randrange(1, 9)]
        else:
            content[place:place] = rng.randbytes(rng.randrange(1, 9))
        if len(content) < 9:
            break
    return bytes(content)


def seeds() -> list[bytes]:
    block = mr.Block({"q": [1.0, 2.0], "n": np.array([1, 2], np.int16), "s": ["O", "µ"], "ok": np.array([True, False])})
    block.set_validity("n", np.array([True, False]))
    block.set_precision("q", 0.5)
    block["r"] = np.array([0, 1], np.uint64)
    block.set_target("r", "grid")
    grid = mr.Block({"rho": np.arange(8.0), "v": np.zeros((8, 3))}, structural_shape=(2, 2, 2))
    rich = mr.Frame({"b": block, "grid": grid}, meta={"e": 1.5, "n": 2, "j": {"a": [1, None]}}, box=mr.Box(np.eye(3)))
    return [encode_frame(rich), encode_frame(mr.Frame({"b": mr.Block()})), value(header(), TWO)]


@pytest.mark.parametrize("start", range(3))
def test_a_mutated_value_is_refused_or_read_as_it_stands(start: int) -> None:
    rng = random.Random(start)
    read = 0
    originals = seeds()
    for _ in range(MUTATIONS // 4):
        stored = mutated(rng.choice(originals), rng)
        try:
            frame = decode_frame(stored, "value")
        except mr.FormatError:
            continue
        read += 1
        document, blocks = naive(stored)
        assert frame.keys() == blocks.keys()
        for name, block in frame.items():
            assert block.columns == tuple(blocks[name])
            for column, values in block.items():
                kept = blocks[name][column]
                assert (values.ravel().tolist() if block.dtype(column) == "string" else values.tobytes()) == kept
        assert frame.meta.keys() == document.get("meta", {}).keys()
    assert read


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_refused_or_read(content: bytes, framed: bool) -> None:
    stored = value(content) if framed else content
    with suppress(mr.FormatError):
        decode_frame(stored, "value")


def test_mutated_frames_of_a_trajectory_are_refused_or_read_as_they_stand() -> None:
    rng = random.Random(7)
    decoder = UpdateDecoder(declared())
    original = value(update(), TWO)
    assert decoder.read(original, "w").step == 0
    read = 0
    for _ in range(MUTATIONS // 4):
        stored = mutated(original, rng)
        try:
            found = decoder.read(stored, "w")
            blocks = found.blocks()
        except mr.FormatError:
            continue
        read += 1
        document, expected = naive(stored)
        assert {name: {c: v.tobytes() for c, v in block.items()} for name, block in blocks.items()} == expected
        assert found.step == document["step"]
        assert found.meta == document["meta"]
    assert read
