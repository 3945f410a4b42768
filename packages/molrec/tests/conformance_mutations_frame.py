"""Breaks in frames: rounding, columns, masks, boxes, typed meta; and in the sections of a record."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from molrec.conformance.content import (
    STRING,
    Block,
    Box,
    Column,
    ColumnDeclaration,
    Frame,
    Record,
)
from molrec.errors import FormatError

from .conformance_breaking import Mutation, Patch, each, meta, values

replace = dataclasses.replace


def rounding(rule: Callable[[Any, float], Any]) -> tuple[Patch, ...]:
    """Return patches that round by another rule, given values and quantum."""

    def make(original: Any) -> Any:
        from molrec.precision import quantum

        def quantize(given: Any, precision: float) -> Any:
            if isinstance(given, list):
                return [quantize(one, precision) for one in given]
            given = np.asarray(given, np.float64)
            with np.errstate(all="ignore"):
                found = np.array(rule(given, quantum(precision)))
            kept = ~np.isfinite(given)
            if getattr(rule, "keeps_non_finite", True):
                found[kept] = given[kept]
            return found

        return quantize

    return (Patch("molrec.precision:quantize", make),)


def _half_away(x: Any, q: float) -> Any:
    stored = np.copysign(np.floor(np.abs(x) / q + 0.5) * q, x)
    return np.where(np.abs(x) < 2.0**52 * q, stored, x)


def _on_grid(x: Any, q: float) -> Any:
    return np.where(np.abs(x) < 2.0**52 * q, np.copysign(np.rint(x / q) * q, x), x)


def _nan_to_zero(x: Any, q: float) -> Any:
    return np.where(np.isnan(x), 0.0, _on_grid(x, q))


_nan_to_zero.keeps_non_finite = False  # type: ignore[attr-defined]


def _no_precision(original: Any) -> Any:
    def write(path: Any, stored: Any, precision: float | None = None, attributes: Any = None) -> Any:
        return original(path, stored, attributes=attributes)

    return write


PRECISION = (
    Mutation("halves are rounded away from zero", "precision-edge-values", rounding(_half_away)),
    Mutation("-0.0 is lost in rounding", "precision-edge-values", rounding(lambda x, q: _on_grid(x, q) + 0.0)),
    Mutation("NaN is put on the grid", "precision-edge-values", rounding(_nan_to_zero)),
    Mutation(
        "rounding has no limit",
        "precision-edge-values",
        rounding(lambda x, q: np.copysign(np.rint(x * (1 / q)) * q, x)),
    ),
    Mutation("the grid is decimal", "precision-rounds-on-write", rounding(lambda x, q: np.rint(x / 1e-3) * 1e-3)),
    Mutation("values are cut, not rounded", "precision-rounds-on-write", rounding(lambda x, q: np.trunc(x / q) * q)),
    Mutation("rounding is left out", "precision-rounds-on-write", rounding(lambda x, q: x)),
    Mutation(
        "the attribute precision is dropped",
        "precision-declaration-survives",
        (Patch("molrec.storage.zarr.fixed_array:write_fixed_array", _no_precision),),
    ),
    Mutation(
        "the precision read is the quantum",
        "precision-declaration-survives",
        returned=each(
            Column,
            lambda one: (
                one if one.precision is None else replace(one, precision=2.0 ** (math.frexp(one.precision)[1] - 1))
            ),
        ),
    ),
    Mutation(
        "the declaration leaves precisions out",
        "precision-in-sequence-schema",
        written=each(ColumnDeclaration, lambda one: replace(one, precision=None)),
    ),
)


def _pointless(one: Column) -> Any:
    if one.validity is None:
        return one.values
    found = np.array(one.values)
    found[~np.asarray(one.validity)] = "" if one.dtype == "string" else 0
    return found


COLUMNS = (
    Mutation(
        "strings are trimmed",
        "column-strings",
        returned=values(lambda one: np.strings.strip(one.values), "string"),
    ),
    Mutation(
        "strings end at NUL",
        "column-strings",
        written=values(
            lambda one: np.array([text.rstrip("\0") for text in one.values.ravel()], STRING).reshape(one.values.shape),
            "string",
        ),
    ),
    Mutation(
        "a bool is read as u8",
        "column-dtypes",
        returned=each(Column, lambda one: Column("u8", one.values.astype("u1")) if one.dtype == "bool" else one),
    ),
    Mutation(
        "u16 is widened to i64",
        "column-dtypes",
        returned=each(Column, lambda one: Column("i64", one.values.astype("i8")) if one.dtype == "u16" else one),
    ),
    Mutation(
        "c64 is read as c128",
        "column-dtypes",
        returned=each(Column, lambda one: Column("c128", one.values.astype("c16")) if one.dtype == "c64" else one),
    ),
    Mutation(
        "u64 goes through i64",
        "column-dtypes",
        returned=values(lambda one: np.where(one.values > 2**63, np.uint64(0), one.values), "u64"),
    ),
    Mutation(
        "trailing axes are in Fortran order",
        "column-trailing-axes",
        written=values(
            lambda one: (
                np.array(one.values).reshape(one.values.shape, order="F")
                if one.values.ndim < 3
                else np.asarray(one.values).ravel("F").reshape(one.values.shape)
            )
        ),
    ),
    Mutation(
        "the structural shape is lost",
        "structural-shape",
        written=each(Block, lambda one: replace(one, structural_shape=None)),
    ),
    Mutation(
        "masks are inverted",
        "nullable-columns",
        returned=each(Column, lambda one: one if one.validity is None else replace(one, validity=~one.validity)),
    ),
    Mutation("what stands under a null is cleared", "nullable-columns", written=values(_pointless)),
    Mutation(
        "a block without rows is left out",
        "block-rows",
        written=each(Frame, lambda one: replace(one, blocks={k: b for k, b in one.blocks.items() if b.rows})),
    ),
    Mutation("targets are dropped", "targets-declared", written=each(Block, lambda one: replace(one, targets={}))),
    Mutation("vectors are rows", "box-parts", written=each(Box, lambda one: replace(one, vectors=one.vectors.T))),
    Mutation("the origin is lost", "box-parts", written=each(Box, lambda one: replace(one, origin=np.zeros(3)))),
    Mutation(
        "boundary flags are swapped",
        "box-parts",
        returned=each(Box, lambda one: replace(one, boundary=one.boundary[::-1])),
    ),
    Mutation(
        "an undefined cell is written as a defined one",
        "box-undefined",
        written=each(Box, lambda one: replace(one, cell_defined=True)),
    ),
)


def _untagged(original: Any) -> Any:
    def to_attributes(self: Any) -> Any:
        return {key: value for key, value in original(self).items() if key != "_meta_types"}

    return to_attributes


def _plain_integers(original: Any) -> Any:
    def encode(tag: str, value: Any, where: str = "meta") -> Any:
        return value if isinstance(value, int) else original(tag, value, where)

    return encode


def _strict_tags(original: Any) -> Any:
    def from_attributes(cls: Any, attributes: Any, where: str) -> Any:
        if set(attributes.get("_meta_types", {})) - set(attributes):
            raise FormatError("a tag without a value", "reject-meta-stale-tag")
        return original(cls, attributes, where)

    return from_attributes


def _as_float(value: Any) -> Any:
    return int(float(value))


def _integral(value: Any) -> Any:
    return int(value) if math.isfinite(value) and value == int(value) else value


META = (
    Mutation("tags are dropped", "typed-meta-every-tag", (Patch("molrec.model.meta:Meta.to_attributes", _untagged),)),
    Mutation("i64 goes through a float", "typed-meta-wide-integers", returned=meta(_as_float, "i64")),
    Mutation(
        "u64 wraps to negative",
        "typed-meta-wide-integers",
        returned=meta(lambda value: value - 2**64 if value >= 2**63 else value, "u64"),
    ),
    Mutation(
        "wide integers are written as numbers",
        "typed-meta-wide-integers",
        (Patch("molrec.typedjson:encode", _plain_integers),),
    ),
    Mutation("an integral float becomes an integer", "typed-meta-integral-float", returned=meta(_integral, "f64")),
    Mutation(
        "NaN becomes null",
        "typed-meta-non-finite",
        returned=meta(lambda value: None if math.isnan(value) else value, "f64"),
    ),
    Mutation(
        "an untagged number is a float",
        "untyped-meta-infers",
        (
            Patch(
                "molrec.typedjson:infer_json_tag",
                lambda original: lambda form: "f64" if type(form) is int else original(form),
            ),
        ),
    ),
    Mutation(
        "a stale tag is refused",
        "stale-meta-tag-ignored",
        (Patch("molrec.model.meta:Meta.from_attributes", _strict_tags),),
    ),
    Mutation("-0.0 in meta is read as 0.0", "typed-meta-every-tag", returned=meta(lambda v: v + 0.0, "f64")),
)

RECORD = (
    Mutation(
        "no version is stamped",
        "version-stamp",
        (
            Patch(
                "molrec.storage.zarr.root:stamp_meta",
                lambda original: (
                    lambda given: {key: value for key, value in original(given).items() if key != "molrec_version"}
                ),
            ),
        ),
    ),
    Mutation(
        "1.0 in a document becomes 1",
        "meta-document",
        returned=each(Record, lambda one: replace(one, meta=each(float, _integral)(one.meta))),
    ),
    Mutation(
        "unknown keys of a document are dropped",
        "meta-document",
        written=each(Record, lambda one: replace(one, meta={k: v for k, v in one.meta.items() if k == "title"})),
    ),
    Mutation(
        "the method is dropped", "sections-side-by-side", written=each(Record, lambda one: replace(one, method=None))
    ),
    Mutation(
        "an absolute target loses its section",
        "targets-absolute",
        returned=each(
            Block, lambda one: replace(one, targets={k: t.rpartition("/")[2] for k, t in one.targets.items()})
        ),
    ),
    Mutation(
        "a system has no typed meta",
        "system-typed-meta",
        returned=each(
            Record, lambda one: one if one.system is None else replace(one, system=replace(one.system, meta={}))
        ),
    ),
)
