"""The frames of a run put together again for LAMMPS' writers: what is static joined with what moves.

A record keeps apart what a file has in one place. Here each frame gets back the columns of the system, loses the
columns and meta keys that only fill gaps, and states its step and time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from molrec import typedjson
from molrec.formats.images import Images
from molrec.formats.notes import Notes
from molrec.formats.survey import STEP_KEYS
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.meta import Meta

__all__ = ["filled", "whole_frames"]


def whole_frames(images: Images) -> Iterator[Frame]:
    """Yield each frame with all its blocks, columns and meta keys.

    Column attributes of the declaration stand on the columns. ``step``, unless the steps just count the frames, and
    ``time`` are the run's.
    """
    system = Frame() if images.system is None else images.system
    fills = {key: found.fill for key, found in images.schema.meta.items() if found.has_fill} if images.schema else {}
    for position, frame in enumerate(images.frames):
        names = dict.fromkeys((*system.blocks, *frame.blocks))
        blocks = {name: _joined(name, system, frame, images) for name in names}
        meta = Meta()
        for source in (system.meta, frame.meta):
            for key, value in source.items():
                tag = source.tag(key)
                if value is not None and not (key in fills and _same(tag, value, fills[key])):
                    meta.set(key, value, tag=tag)
        if images.steps is not None and not images.numbered and not STEP_KEYS & meta.keys():
            meta["step"] = int(images.steps[position])
        if images.times is not None:
            meta.set("time", float(images.times[position]), tag="f64")
        yield Frame(blocks, meta=meta, box=frame.box or system.box)


def _same(tag: str, first: Any, second: Any) -> bool:
    return typedjson.dump_json(typedjson.encode(tag, first)) == typedjson.dump_json(typedjson.encode(tag, second))


def _joined(name: str, system: Frame, frame: Frame, images: Images) -> Block:
    """Return one block with its static and its moving columns; a column whose every row is null is left out."""
    parts = [part[name] for part in (system, frame) if name in part]
    declared = images.schema.blocks[name].columns if images.schema and name in images.schema.blocks else {}
    joined = Block(rows=parts[-1].rows)
    for part in parts:
        for column, values in part.items():
            mask = part.validity(column)
            if mask is not None and not mask.any() and part.rows:
                continue
            joined[column] = values
            joined.set_validity(column, mask)
            joined.column_attributes(column).update(part.column_attributes(column))
            if column in declared:
                joined.column_attributes(column).update(declared[column].extra)
            if column in part.targets:
                joined.set_target(column, part.targets[column])
        joined.attributes |= part.attributes
    return joined


def filled(block: Block, name: str, notes: Notes) -> np.ndarray[Any, Any]:
    """Return a column without its mask: a null real is NaN, any other null keeps what lies under it, which is noted."""
    values, mask = block[name], block.validity(name)
    if mask is None:
        return values
    if values.dtype.kind == "f":
        notes.changed(f"column {name!r}", "has rows without a value; they are written as nan")
        return np.where(mask, values, np.nan)
    notes.lost(f"column {name!r}", "has rows without a value, which the file cannot say; what lies there is written")
    return values
