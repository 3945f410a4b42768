"""Frames as text that is equal exactly where the values are: one spelling for those of the page and those of `molrec`.

A float is the hexadecimal of its bits, so that NaN, -0.0 and the last bit count.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

import molrec as mr

#: A JavaScript function of what reads a frame and how many there are: a promise of the spelled frames.
READ_FRAMES = """
async (read, count) => {
  const hex = (values) =>
    Array.from(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), (byte) =>
      byte.toString(16).padStart(2, "0")).join("");
  const column = (values) => (Array.isArray(values) ? values : hex(values));
  const value = (each) =>
    each === undefined ? null
    : typeof each === "bigint" ? each.toString()
    : typeof each === "number" ? hex(new Float64Array([each]))
    : Array.isArray(each) ? each.map(value) : each;
  const entries = (object, spell) =>
    Object.fromEntries(Object.entries(object).map(([key, each]) => [key, spell(each)]));
  const block = ({ rows, columns, validity }) =>
    ({ rows, columns: entries(columns, column), validity: entries(validity, (mask) => Array.from(mask, Boolean)) });
  const found = [];
  for (let ordinal = 0; ordinal < count; ordinal += 1) {
    const frame = await read(ordinal);
    found.push({
      step: value(frame.step), time: value(frame.time), blocks: entries(frame.blocks, block),
      meta: entries(frame.meta ?? {}, value),
      box: frame.box
        ? { vectors: frame.box.vectors.map(value), origin: frame.box.origin.map(value), boundary: frame.box.boundary }
        : null,
    });
  }
  return found;
}
"""


def spelled_run(record: mr.Record) -> list[dict[str, Any]]:
    """Return every frame of a record's trajectory, spelled as the page's script spells it."""
    run = record.trajectory
    assert run is not None
    times = run.times
    return [
        _spelled(frame, run.steps[ordinal], None if times is None else times[ordinal])
        for ordinal, frame in enumerate(run)
    ]


def parsed(frames: list[dict[str, Any]], schema: mr.SequenceSchema) -> list[dict[str, Any]]:
    """Return frames of the page with the values of `json` keys, which are texts in the store, parsed."""
    for key, declared in schema.meta.items():
        for frame in frames if declared.tag == "json" else ():
            frame["meta"][key] = json.loads(frame["meta"][key])
    return frames


def spelled_frame(frame: mr.Frame) -> dict[str, Any]:
    """Return a frame outside a trajectory, whose meta document the page does not offer."""
    return _spelled(mr.Frame({name: frame[name] for name in frame}, box=frame.box), None, None)


def _spelled(frame: mr.Frame, step: Any, time: Any) -> dict[str, Any]:
    box = frame.box
    return {
        "step": None if step is None else _step(int(step)),
        "time": None if time is None else _float(time),
        "blocks": {name: _block(frame[name]) for name in frame},
        "meta": {key: _value(frame.meta[key], frame.meta.tag(key)) for key in frame.meta},
        "box": None
        if box is None
        else {
            "vectors": [_float(value) for value in box.vectors.ravel()],
            "origin": [_float(value) for value in box.origin],
            "boundary": [bool(flag) for flag in box.boundary],
        },
    }


def _block(block: mr.Block) -> dict[str, Any]:
    masks = {name: block.validity(name) for name in block.columns}
    return {
        "rows": block.rows,
        "columns": {
            name: list(block[name].ravel()) if block.dtype(name) == "string" else block[name].tobytes().hex()
            for name in block.columns
        },
        "validity": {name: mask.tolist() for name, mask in masks.items() if mask is not None},
    }


def _value(value: Any, tag: str) -> Any:
    if tag == "json":
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_value(each, tag.partition("x")[0].removesuffix("3")) for each in value]
    if tag.startswith(("i64", "u64")):
        return str(int(value))
    return value if tag in ("string", "bool") else _float(value)


def _step(step: int) -> str:
    return _float(step) if abs(step) < 2**53 else str(step)  # a number in JavaScript, then a big one


def _float(value: Any) -> str:
    return struct.pack("<d", float(value)).hex()
