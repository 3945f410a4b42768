"""Breaks by which something is not refused, or refused that should not be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from molrec.conformance.content import (
    Frame,
    Run,
)
from molrec.errors import FormatError, SchemaError

from .conformance_breaking import Mutation, Patch, always, each, first_argument

replace = dataclasses.replace


def _unchecked(target: str) -> Patch:
    return Patch(target, always(None))


def _any_step(_original: Any) -> Any:
    return lambda step, last: (0 if last is None else last + 1) if step is None else int(step)


def _checks_only(rules: tuple[str, ...]) -> Callable[[Any], Any]:
    """Return a maker of a function that keeps what the original refuses by some rules to itself."""

    def make(original: Any) -> Any:
        def lenient(*args: Any, **options: Any) -> Any:
            try:
                return original(*args, **options)
            except (SchemaError, FormatError) as error:
                if error.rule in rules:
                    return None
                raise

        return lenient

    return make


def _lenient(target: str, *rules: str) -> tuple[Patch, ...]:
    return (Patch(target, _checks_only(rules)),)


def _from_anywhere(original: Any) -> Any:
    def from_arrays(cls: Any, step_index: Any, offset: Any, nstep: int, where: str) -> Any:
        begun = np.array(offset)
        begun[:1] = 0
        index = original(cls, step_index, begun, nstep, where)
        return cls(index.count, 0, index.ordinals(), np.array(offset[: index.count + 1], np.int64))

    return from_arrays


_SECTION = "molrec.model.forcefield_section:"
NOT_REFUSED = (
    Mutation("reserved names are taken", "reject-reserved-name", (_unchecked("molrec.model.names:check_reserved"),)),
    Mutation(
        "the key _meta_types is taken",
        "reject-meta-reserved-key",
        (Patch("molrec.model.meta:META_TYPES", always("")("")),),
    ),
    Mutation(
        "any precision is taken",
        "reject-precision-out-of-bounds",
        (Patch("molrec.precision:check_precision", first_argument),),
    ),
    Mutation(
        "canonical names are not looked at",
        "reject-canonical-dtype",
        (
            _unchecked("molrec.vocabulary:check_canonical_declaration"),
            Patch("molrec.vocabulary:canonical_array", lambda _: lambda _name, given, _where: given),
        ),
    ),
    Mutation(
        "a meta value is taken as it comes",
        "reject-meta-tag-mismatch",
        (Patch("molrec.typedjson:decode", lambda _: lambda _tag, form, *_: form),),
    ),
    Mutation(
        "ranges of integers are not looked at",
        "reject-meta-out-of-range",
        (Patch("molrec.typedjson:_check_range", lambda _: lambda _element, value, _where: value),),
    ),
    Mutation(
        "references are not looked at", "reject-target-out-of-range", (_unchecked("molrec.model.resolved:check_frame"),)
    ),
    Mutation(
        "a target may reach into the trajectory",
        "reject-target-into-trajectory",
        (Patch("molrec.model.references:check_target", first_argument),),
    ),
    Mutation(
        "checksums are not compared",
        "reject-corrupt-chunk",
        (Patch("molrec.storage.zarr.codecs:_open", lambda _: lambda stored, _where: bytes(stored[:-4])),),
    ),
    Mutation(
        "steps may stand still",
        "reject-step-not-increasing",
        (Patch("molrec.model.presentation:next_step", _any_step),),
    ),
    Mutation(
        "times may begin late",
        "reject-time-gained",
        (Patch("molrec.model.presentation:next_time", lambda _: lambda time, _had: time),),
    ),
    Mutation(
        "undeclared blocks are passed over",
        "reject-undeclared",
        written=each(
            Run,
            lambda one: replace(
                one,
                frames=[
                    replace(
                        f,
                        frame=Frame(
                            {n: b for n, b in f.frame.blocks.items() if n in one.schema.blocks},
                            f.frame.box,
                            f.frame.meta,
                        ),
                    )
                    for f in one.frames
                ],
            ),
        ),
    ),
    Mutation("cells may be mixed", "reject-mixed-cells", (_unchecked("molrec.storage.zarr.box_track:BoxTrack.check"),)),
    Mutation(
        "alignment is not looked at in writing",
        "reject-aligned-not-restated",
        (_unchecked("molrec.model.resolved:ResolvedRules.check_change"),),
    ),
    Mutation(
        "alignment is not looked at in reading",
        "reject-aligned-count-mismatch",
        (_unchecked("molrec.storage.zarr.trajectory_reader:TrajectoryReader._check_alignment"),),
    ),
    Mutation(
        "a system's rows are not looked at",
        "reject-system-row-count",
        (
            Patch(
                "molrec.model.presentation:FrameChecker.__init__",
                lambda original: lambda self, schema, *_: original(self, schema, {}),
            ),
        ),
    ),
    Mutation("any version is read", "reject-molrec-version", (_unchecked("molrec.model.versions:check_version"),)),
    Mutation(
        "offsets need not begin at 0",
        "reject-offset-not-monotonic",
        (Patch("molrec.model.carry_forward:UpdateIndex.from_arrays", _from_anywhere),),
    ),
    Mutation(
        "one marker is enough",
        "reject-elision-marker-alone",
        (
            Patch(
                "molrec.storage.zarr.block_reader:BlockReader._read_markers",
                lambda _: lambda self: self.attributes.get("uniform_rows"),
            ),
        ),
    ),
    Mutation("units are not looked at", "reject-no-units", (_unchecked("molrec.model.collection:check_units"),)),
    Mutation(
        "counts of the index are not looked at",
        "reject-prefix-sums",
        (_unchecked("molrec.model.collection:check_prefix_sums"),),
    ),
    Mutation(
        "every record has its own declaration",
        "reject-schema-differs",
        (Patch("molrec.model.collection_declaration:extend_by_declaration", lambda _: lambda old, new, **_o: new),),
    ),
    Mutation("tables are not looked at", "reject-ff-wrong-arity", (_unchecked(_SECTION + "_check_table"),)),
    Mutation(
        "a style without a table is passed over",
        "reject-ff-missing-table",
        _lenient(_SECTION + "ForceFieldSection.check", "reject-ff-missing-table"),
    ),
    Mutation(
        "units of a preset are not compared",
        "reject-ff-units-conflict",
        (Patch("molrec.model.forcefield_document:_same_unit", always(value=True)),),
    ),
    Mutation(
        "everything is refused that is not known",
        "unknown-sections",
        (
            Patch(
                "molrec.storage.zarr.root:list_sections",
                lambda original: (
                    lambda source: (
                        (_ for _ in ()).throw(FormatError("unknown section", "reject-not-a-record"))
                        if "strange" in original(source)
                        else original(source)
                    )
                ),
            ),
        ),
    ),
)
