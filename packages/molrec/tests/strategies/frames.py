"""Blocks, boxes, meta documents and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import molrec as mr

from .values import (
    CANONICAL_NAMES,
    DTYPES,
    TAGS,
    content,
    contents,
    json_documents,
    masks,
    meta_values,
    names,
    precisions,
    texts,
    trailings,
)

_BLOCK_KEYS = frozenset({"count", "structural_shape", "targets"})
#: Attributes of an array that belong to the format or to a binding.
_COLUMN_KEYS = frozenset({"precision", "_molrec", "_zarrs"})


def _attributes(reserved: frozenset[str]) -> st.SearchStrategy[dict[str, Any]]:
    keys = texts(4).filter(lambda key: key not in reserved)
    return st.one_of(st.just({}), st.dictionaries(keys, json_documents(), max_size=2))


def structural_shapes(rows: int) -> st.SearchStrategy[tuple[int, ...] | None]:
    """Return grids of a row count, or None; always None for no rows."""
    if not rows:
        return st.none()
    factors = [factor for factor in range(1, rows + 1) if rows % factor == 0]
    pairs = st.sampled_from(factors).map(lambda factor: (factor, rows // factor))
    return st.one_of(st.none(), st.none(), st.just((rows,)), pairs, st.just((1, rows, 1)))


@st.composite
def blocks(draw: st.DrawFn, max_columns: int = 4) -> mr.Block:
    """Return any block: any rows, columns, masks, precisions, grid and free attributes."""
    rows = draw(st.sampled_from([0, 1, 2, 3, 4, 6, 8]))
    block = mr.Block(rows=rows)
    found = draw(
        st.lists(names(*CANONICAL_NAMES, reserved=frozenset({"_validity"})), max_size=max_columns, unique=True)
    )
    for name in found:
        canonical = mr.CANONICAL_COLUMNS.get(name)
        dtype = canonical or draw(st.sampled_from(DTYPES))
        trailing = () if canonical else draw(trailings())
        block[name] = draw(contents(dtype, (rows, *trailing)))
        block.set_validity(name, draw(masks(rows)))
        if dtype == "f64":
            block.set_precision(name, draw(st.one_of(st.none(), precisions())))
        block.column_attributes(name).update(draw(_attributes(_COLUMN_KEYS)))
    block.structural_shape = draw(structural_shapes(rows))
    block.attributes = draw(_attributes(_BLOCK_KEYS))
    return block


#: A key is an attribute, not a node: any text but the reserved one will do.
_META_KEYS = st.one_of(names("", "units", "a/b", "meta_types"), texts()).filter(lambda key: key != "_meta_types")
_FINITE = st.floats(-1e6, 1e6)


@st.composite
def boxes(draw: st.DrawFn) -> mr.Box:
    """Return any defined cell: triangular or permuted, of either handedness, tiny or huge."""
    lengths = draw(st.tuples(*[st.floats(0.5, 1e3)] * 3))
    tilts = draw(st.tuples(*[st.one_of(st.just(0.0), st.floats(-10.0, 10.0))] * 3))
    vectors = np.diag(np.array(lengths))
    vectors[0, 1], vectors[0, 2], vectors[1, 2] = tilts
    vectors = vectors[:, draw(st.permutations(range(3)))] * draw(st.sampled_from([1.0, -1.0, 2.0**-40, 2.0**40]))
    origin = draw(st.one_of(st.none(), st.tuples(*[st.one_of(st.sampled_from([0.0, -0.0]), _FINITE)] * 3)))
    boundary = draw(st.one_of(st.none(), st.tuples(*[st.booleans()] * 3)))
    return mr.Box(vectors, origin, boundary)


@st.composite
def undefined_boxes(draw: st.DrawFn) -> mr.Box:
    """Return boxes that say there is no cell."""
    origin = draw(st.one_of(st.none(), st.tuples(*[_FINITE] * 3)))
    return mr.Box(origin=origin, boundary=draw(st.sampled_from([None, (False,) * 3])), cell_defined=False)


@st.composite
def metas(draw: st.DrawFn) -> mr.Meta:
    """Return any meta document; a key is any text but the reserved one."""
    meta = mr.Meta()
    for key in draw(st.lists(_META_KEYS, max_size=4, unique=True)):
        tag = draw(st.sampled_from(TAGS))
        meta.set(key, draw(meta_values(tag)), tag=tag)
    return meta


@st.composite
def frames(draw: st.DrawFn) -> mr.Frame:
    """Return any frame; row references stay within the rows of their target."""
    found = draw(
        st.lists(names("atoms", "meta", "step", "_validity", reserved=frozenset({"box"})), max_size=3, unique=True)
    )
    frame = mr.Frame({name: draw(blocks()) for name in found}, meta=draw(metas()))
    for name in frame.blocks:
        if draw(st.booleans()):
            _refer(frame[name], draw(st.sampled_from(frame.blocks)), frame)
    frame.box = draw(st.one_of(st.none(), boxes(), undefined_boxes()))
    return frame


def _refer(block: mr.Block, target: str, frame: mr.Frame) -> None:
    """Let the u64 columns of a block point at rows of a target that has some."""
    rows = frame[target].rows
    for column in block.columns:
        if block.dtype(column) == "u64" and column not in mr.CANONICAL_COLUMNS and rows:
            block[column] = content("u64", block[column].shape, 3) % np.uint64(rows)
            block.set_target(column, target)
