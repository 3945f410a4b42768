"""Where ``molcrafts-molrs`` 0.19.0 departs from the specification, case by case, and why."""

from __future__ import annotations

__all__ = ["DEVIATIONS", "VERSION"]

#: The version the list is of; with another one it is to be looked through anew.
VERSION = "0.19.0"

_NUL = "Its Python door takes and gives strings as fixed-width numpy arrays, which end at a NUL. Others are exact."
_MODULES = (
    "It writes the meta document as it is given, without the version of the meaning of a force field. Its records are "
    "shown and kept, and not priced."
)

DEVIATIONS: dict[str, str] = {
    "column-dtypes": _NUL,
    "column-strings": _NUL,
    "reject-narrow-float": "An array of 32-bit floats is widened on the way in. One that is stored is refused.",
    "reject-target-not-u64": "A target for a column that is not there ends in a KeyError, which is no refusal of its.",
    "reject-meta-tag-mismatch": "A bool is taken for an integer when it is handed in. One that is stored is refused.",
    "version-stamp": "It writes the meta document as it is given, without a version.",
    "forcefield-only-record": _MODULES,
    "ff-minimal": _MODULES,
    "reject-molrec-version": "It neither looks at the version of a record it reads nor at one it is given to write.",
    "reject-mask-not-declared": "A mask that the declaration does not announce is passed over.",
    "reject-malformed-schema": "A run without its declaration is read with what its arrays say.",
    "reject-array-disagrees": "A column of another dtype than declared is read. One of another row shape is refused.",
    "reject-array-short": "A column shorter than its index says ends in a panic.",
    "reject-uniform-rows": "It does not hold uniform_rows against the length of the columns.",
    "reject-index-missing": "Offsets without update ordinals are read. Ordinals without offsets are refused.",
    "reject-step-index-not-ascending": "It does not look whether update ordinals ascend.",
    "reject-offset-not-monotonic": "It does not look whether offsets begin at 0. Descending ones are refused.",
    "half-way-to-ragged": "Update ordinals without offsets, which a killed writer may leave, are refused.",
    "reject-step-not-increasing": "Stored steps are not looked at. Those it is given to write are refused.",
    "reject-malformed-progression": "A stride of 0 is read; other malformed progressions are refused.",
    "reopen": "It forgets the masks of the last update when it reopens a run, so that an equal update is stored again.",
    "per-step-fill": "Its Python door cannot say null as a fill: None means that there is none.",
    "reject-mixed-cells": "A run that mixes defined and undefined cells is written.",
    "ff-unknown-category": "It knows the category cmap, with five endpoints, where this specification leaves it open.",
    "ff-units-preserved": "Units beside a preset are compared letter by letter: Å is not angstrom.",
    "reject-ff-param-dtype": "A parameter of several values a row is taken.",
}
