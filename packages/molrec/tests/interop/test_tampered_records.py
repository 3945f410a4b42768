"""Records edited behind the format's back are read as what their bytes say, or refused; never read wrong.

``refusals.json`` lists edits of three base records together with what ``molcrafts-molrs`` 0.19.0 made of each. What
``molrec`` must make of them is `VERDICTS`, decided by the specification; where it allows more than one answer, the
table pins the answer given here.
"""

from __future__ import annotations

import copy
import enum
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import molrec as mr

from . import fixture_json, molrec_adapter, molrs_adapter, neutral, shared_fixtures, tamper

CASES: dict[str, dict[str, Any]] = {case["id"]: case for case in shared_fixtures.refusals()["tampered"]}
if not CASES:
    pytest.skip("no interoperability fixtures: set MOLREC_SHARED", allow_module_level=True)


class Verdict(enum.Enum):
    """What reading an edited record must give."""

    BASE = "the content of the untouched record"
    CHANGED = "the changed content that refusals.json lists under `reads`"
    REFUSED = "a FormatError; whatever part still reads is the untouched content"
    REFUSED_PARTLY = "a FormatError; parts that still read may hold the changed content"


BASE, CHANGED, REFUSED, REFUSED_PARTLY = Verdict

VERDICTS: dict[str, Verdict] = {
    # The record root and its meta document.
    "no_meta_group": CHANGED,
    "no_root_group": REFUSED,
    "root_attributes": BASE,
    "molrec_version": REFUSED,
    "unknown_section": CHANGED,
    # Typed frame meta: exactly the forms of the tag.
    "meta_tag_f64_as_i64": REFUSED,
    "meta_tag_string_as_f64": REFUSED,
    "meta_tag_i64_as_f64": CHANGED,
    "meta_tag_i64_as_bool": REFUSED,
    "meta_i32_range": REFUSED,
    "meta_unknown_tag": REFUSED,
    "meta_tag_missing": BASE,
    "meta_tag_extra": BASE,
    "meta_types_missing": BASE,
    "meta_types_list": REFUSED,
    "meta_int_string_small": REFUSED,
    "meta_int_string_plus": REFUSED,
    "meta_int_float": REFUSED,
    "meta_int_big_number": CHANGED,
    "meta_f64_NaN": CHANGED,
    "meta_f64_-Infinity": CHANGED,
    "meta_f64_inf": REFUSED,
    "meta_f64_nan": REFUSED,
    "meta_f64_1.5": REFUSED,
    "meta_vector_short": REFUSED,
    # Row counts, shapes, references, precision.
    "count_wrong": REFUSED,
    "count_missing": REFUSED,
    "count_negative": REFUSED,
    "shape_wrong": REFUSED,
    "target_no_column": REFUSED,
    "target_i64": REFUSED,
    "target_malformed": REFUSED,
    "target_absent": REFUSED,
    "target_out_of_range": REFUSED,
    "precision_i64": REFUSED,
    "precision_zero": REFUSED,
    "precision_string": REFUSED,
    "precision_off_grid": CHANGED,
    # Column arrays: dtypes, ranks, codecs, chunkings.
    "f32_column": REFUSED,
    "f32_other_column": REFUSED,
    "i64_canonical": REFUSED,
    "x_short": REFUSED,
    "x_rank2": REFUSED,
    "codec_zstd": CHANGED,
    "codec_gzip": CHANGED,
    "codec_blosc": REFUSED,
    "codec_big": CHANGED,
    "codec_none": CHANGED,
    "codec_sharded": CHANGED,
    "codec_chunks": CHANGED,
    "string_column": CHANGED,
    "mask_short": REFUSED,
    "mask_long": REFUSED,
    "mask_u8": REFUSED,
    "mask_no_column": REFUSED,
    "mask_all_true": CHANGED,
    # Damaged bytes and metadata. A missing chunk is the fill value, by the rules of Zarr.
    "crc_x": REFUSED,
    "crc_mask": REFUSED,
    "crc_box": REFUSED,
    "crc_sharded_frame": REFUSED,
    "chunk_short": REFUSED,
    "chunk_missing": CHANGED,
    "column_metadata_missing": REFUSED,
    "metadata_broken": REFUSED,
    "unknown_codec": REFUSED,
    "must_understand": REFUSED,
    # Foreign nodes: a child group of a frame is a block, anything else is carried along.
    "group_without_count": REFUSED,
    "array_in_frame": BASE,
    "group_in_block": BASE,
    # Cells. A singular cell is a cell: the format states no lower bound on its volume.
    "box_no_vectors": REFUSED,
    "box_singular": CHANGED,
    "box_shape": REFUSED,
    "box_f32": REFUSED,
    "box_undefined_periodic": CHANGED,
    "box_boundary_u8": REFUSED,
    # A regular run: commit marker, schema, progressions, markers, fixed cell.
    "regular_nstep_larger": REFUSED,
    "regular_nstep_smaller": CHANGED,
    "regular_nstep_missing": REFUSED,
    "regular_nstep_negative": REFUSED,
    "regular_schema_missing": REFUSED,
    "regular_schema_dtype_differs": REFUSED,
    "regular_schema_dtype_unknown": REFUSED,
    "regular_schema_meta_dtype": REFUSED,
    "regular_schema_precision_i64": REFUSED,
    "regular_schema_aligned": REFUSED,
    "regular_schema_target_i64": REFUSED,
    "regular_schema_extra": BASE,
    "regular_no_steps": REFUSED,
    "regular_no_times": CHANGED,
    "regular_step_array_too": BASE,
    "regular_stride_zero": REFUSED,
    "regular_stride_missing": REFUSED,
    "regular_stride_float": REFUSED,
    "regular_start_overflow": REFUSED,
    "regular_uniform_wrong": REFUSED,
    "regular_uniform_zero": REFUSED,
    "regular_uniform_alone": REFUSED,
    "regular_dense_alone": REFUSED,
    "regular_dense_false": REFUSED,
    "regular_box_shape": REFUSED,
    "regular_box_singular": CHANGED,
    "regular_crc_f64": REFUSED,
    "regular_crc_i64": REFUSED,
    "regular_crc_index": REFUSED,
    "regular_shard_missing": CHANGED,
    # A ragged run: index arrays, step and time arrays, per-step meta, changing cell.
    "ragged_nstep_larger": REFUSED,
    "ragged_offset_decreasing": REFUSED,
    "ragged_offset_start": REFUSED,
    "ragged_offset_past_end": REFUSED,
    "ragged_offset_i64": REFUSED,
    "ragged_offset_short": REFUSED,
    "ragged_offset_missing": REFUSED,
    "ragged_step_index_decreasing": REFUSED,
    "ragged_step_index_past_end": CHANGED,
    "ragged_step_index_missing": REFUSED,
    "ragged_step_decreasing": REFUSED,
    "ragged_step_short": REFUSED,
    "ragged_time_short": REFUSED,
    "ragged_time_f32": REFUSED,
    "ragged_meta_short": REFUSED,
    "ragged_meta_missing": REFUSED,
    "ragged_meta_dtype_attribute": REFUSED,
    "ragged_x_short": REFUSED_PARTLY,
    "ragged_x_long": CHANGED,
    "ragged_x_f32": REFUSED,
    "ragged_x_missing": REFUSED,
    "ragged_block_missing": REFUSED,
    "ragged_block_extra": BASE,
    "ragged_column_extra": BASE,
    "ragged_box_step_index_missing": REFUSED,
    "ragged_box_vectors_short": REFUSED,
    "ragged_no_meta_group": CHANGED,
}

RULES: dict[str, str] = {
    "molrec_version": "reject-molrec-version",
    "meta_tag_f64_as_i64": "reject-meta-tag-mismatch",
    "meta_i32_range": "reject-meta-out-of-range",
    "precision_i64": "reject-precision-on-non-f64",
    "precision_zero": "reject-precision-out-of-bounds",
    "target_i64": "reject-target-not-u64",
    "target_absent": "reject-target-missing-block",
    "target_out_of_range": "reject-target-out-of-range",
    "regular_uniform_wrong": "reject-uniform-rows",
    "regular_schema_precision_i64": "reject-precision-on-non-f64",
    "regular_schema_target_i64": "reject-target-not-u64",
    "regular_schema_aligned": "reject-aligned-count-mismatch",
}
"""The rule a refusal names, where the specification gives the clause an id of its own."""

UPDATES: dict[str, dict[str, list[int]]] = {
    "ragged_step_index_past_end": {"atoms": [0, 1, 2, 3, 3]},
}
"""Where the updates of a run were written, for the cases whose edit moves them; `reads` does not list it."""


EXTRA_CHANGES: dict[str, dict[str, Any]] = {
    "box_singular": {"frame/box/vectors": [[0.0] * 3] * 3},
    "regular_box_singular": {
        f"reader[{ordinal}]/box/vectors": [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] for ordinal in range(5)
    },
}
"""What the edited bytes say in the cases that ``molrs`` refuses and the format does not."""


def base_document(case: dict[str, Any]) -> dict[str, Any]:
    """Return the document of the record a case starts from."""
    return fixture_json.load(shared_fixtures.document(case["base"]))


def changed_document(case: dict[str, Any]) -> dict[str, Any]:
    """Return the document of the base record with the changes listed under ``reads`` made."""
    document = copy.deepcopy(base_document(case))
    changes = {path: after for path, (_, after) in case.get("reads", {}).items()}
    for path, after in (changes | EXTRA_CHANGES.get(case["id"], {})).items():
        _change(document, path, after)
    for name, ordinals in UPDATES.get(case["id"], {}).items():
        for entry, ordinal in zip(document["trajectory"]["frames"], ordinals, strict=True):
            entry["block_update_frame"][name] = ordinal
    return document


def _change(document: dict[str, Any], path: str, after: Any) -> None:
    """Make one change: ``reads`` names a frame of the run ``reader[i]`` and its series ``len``, ``step``, ``time``."""
    run = document["trajectory"]
    head, *rest = path.split("/")
    if head == "len":
        run["nstep"] = after
        del run["frames"][after:]
    elif head in {"step", "time"}:
        run[f"{head}s"] = after
        for ordinal, entry in enumerate(run["frames"]):
            entry[head] = after[ordinal] if after is not None and ordinal < len(after) else None
    else:
        node: Any = document
        keys: list[Any] = [head, *rest]
        if head.startswith("reader["):
            node, keys = run["frames"], [int(head.removeprefix("reader[").removesuffix("]")), *rest]
        for key in keys[:-1]:
            node = node[key]
        if after == "(absent)":
            del node[keys[-1]]
        else:
            node[keys[-1]] = after


def parts(record: neutral.Record) -> dict[str, Any]:
    """Split content into the parts that can be read one without the other."""
    found: dict[str, Any] = {
        "sections": record.sections,
        "meta": record.meta,
        "frame": record.frame,
        "system": record.system,
    }
    if record.trajectory is not None:
        found |= {"steps": record.trajectory.steps, "times": record.trajectory.times}
        for ordinal, step in enumerate(record.trajectory.frames):
            found[f"reader[{ordinal}]"] = step.frame
            found[f"updates[{ordinal}]"] = step.updates
            found[f"box_at({ordinal})"] = step.frame.box
    return found


class Reading:
    """Everything that can be read of a record, part by part, with the refusals met on the way."""

    def __init__(self, root: Path) -> None:
        self.parts: dict[str, Any] = {}
        self.refusals: list[mr.FormatError] = []
        record = self._attempt(lambda: mr.open(root))
        if record is not None:
            self._read("sections", lambda: sorted(record.sections))
            self._read("meta", lambda: neutral.plain_json(record.meta))
            self._read("frame", lambda: _optional(record.frame, molrec_adapter.frame))
            self._read("system", lambda: _optional(record.system, molrec_adapter.frame))
            run = self._attempt(lambda: record.trajectory)
            if run is not None:
                self._read_run(run)

    def _read_run(self, run: mr.TrajectoryReader) -> None:
        self._read("steps", lambda: run.steps.tolist())  # noqa: PLW0108 - reading happens in the call
        self._read("times", lambda: None if run.times is None else run.times.tolist())
        blocks = self._attempt(lambda: list(run.schema.to_document()["blocks"])) or []
        for ordinal in range(len(run)):
            self._read(f"reader[{ordinal}]", functools.partial(_frame_at, run, ordinal))
            self._read(f"box_at({ordinal})", functools.partial(_box_at, run, ordinal))
            self._read(f"updates[{ordinal}]", functools.partial(_updates_at, run, ordinal, blocks))

    def _attempt[T](self, read: Callable[[], T]) -> T | None:
        """Return what ``read`` returns; a refusal is noted, any other exception is a failure of the reader."""
        try:
            return read()
        except mr.FormatError as error:
            self.refusals.append(error)
            return None

    def _read(self, part: str, read: Callable[[], Any]) -> None:
        refused = len(self.refusals)
        value = self._attempt(read)
        if len(self.refusals) == refused:
            self.parts[part] = value


def _optional[T](value: T | None, convert: Callable[[T], Any]) -> Any:
    return None if value is None else convert(value)


def _frame_at(run: mr.TrajectoryReader, ordinal: int) -> neutral.Frame:
    return molrec_adapter.frame(run[ordinal])


def _box_at(run: mr.TrajectoryReader, ordinal: int) -> neutral.Box | None:
    box = run.box_at(ordinal)
    return None if box is None else molrec_adapter.box(box)


def _updates_at(run: mr.TrajectoryReader, ordinal: int, blocks: Sequence[str]) -> dict[str, int]:
    return neutral.present({name: run.update_ordinal(name, ordinal) for name in blocks})


def test_every_case_has_a_verdict() -> None:
    assert set(VERDICTS) == set(CASES)


@pytest.mark.parametrize("name", VERDICTS)
def test_edited_record(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    verdict = VERDICTS[name]
    root = shared_fixtures.unpack(case["base"], tmp_path)
    tamper.apply(root, case["ops"])
    reading = Reading(root)

    allowed = [parts(fixture_json.record(base_document(case)))]
    if verdict in {CHANGED, REFUSED_PARTLY}:
        allowed.append(parts(fixture_json.record(changed_document(case))))
    if verdict in {BASE, CHANGED}:
        assert not reading.refusals, [str(refusal) for refusal in reading.refusals]
        assert neutral.first_difference(allowed[-1], reading.parts) is None
        return
    assert reading.refusals, f"read without a refusal; molrs: {case['outcome']}"
    for refusal in reading.refusals:
        assert refusal.rule
        assert len(str(refusal)) > len(refusal.rule)
    assert RULES.get(name) in {None, *(refusal.rule for refusal in reading.refusals)}
    for part, value in reading.parts.items():
        if part in {"sections", "meta", "steps", "times"}:
            continue
        differences = [neutral.first_difference(content.get(part, "(absent)"), value, part) for content in allowed]
        assert None in differences, "; ".join(map(str, differences))


@pytest.mark.parametrize("name", VERDICTS)
def test_the_edit_is_the_recorded_one(name: str, tmp_path: Path) -> None:
    """``molrs`` makes of the edited record what ``refusals.json`` says, so the edit was replayed faithfully."""
    pytest.importorskip("molrs.io.mrec")
    from . import molrs_adapter

    case = CASES[name]
    root = shared_fixtures.unpack(case["base"], tmp_path)
    tamper.apply(root, case["ops"])
    try:
        found = molrs_adapter.record(root)
    except ValueError:
        outcome = "refused"
    except BaseException as error:  # a Rust panic is no Exception
        if type(error).__name__ != "PanicException":
            raise
        outcome = "panic"
    else:
        base = fixture_json.record(base_document(case))
        same = neutral.record_difference(base, found) is None
        outcome = "accepted, reads as before" if same else "accepted, reads differently"
    assert outcome == case["outcome"]


def _longer(path: str, shape: list[int]) -> dict[str, Any]:
    return {"op": "json_set", "path": f"{path}/zarr.json", "pointer": "/shape", "value": shape}


def _array(path: str, values: list[int]) -> dict[str, Any]:
    return {"op": "array", "path": path, "dtype": "u8", "shape": [len(values)], "values": values}


TAILS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "column_of_a_regular_block": (
        "base_regular",
        [_longer("trajectory/atoms/x", [13])],
    ),
    "column_of_a_ragged_block": (
        "base_ragged",
        [_longer("trajectory/atoms/x", [13])],
    ),
    "steps_and_times": (
        "base_ragged",
        [_longer("trajectory/step", [7]), _longer("trajectory/time", [6])],
    ),
    "step_meta": (
        "base_ragged",
        [_longer("trajectory/meta/t", [9]), _longer("trajectory/meta/k", [6])],
    ),
    "step_meta_of_a_regular_run": (
        "base_regular",
        [_longer("trajectory/meta/t", [9])],
    ),
    "cells": (
        "base_ragged",
        [_longer("trajectory/box/vectors", [4, 3, 3])],
    ),
    "updates_past_the_last_step": (
        "base_ragged",
        [
            _longer("trajectory/atoms/x", [15]),
            _array("trajectory/atoms/step_index", [0, 1, 2, 3, 4, 5, 8]),
            _array("trajectory/atoms/offset", [0, 2, 5, 7, 10, 12, 13, 15]),
        ],
    ),
    "offsets_without_their_updates": (
        "base_ragged",
        [_array("trajectory/atoms/offset", [0, 2, 5, 7, 10, 12, 13, 15])],
    ),
    "updates_without_their_offsets": (
        "base_ragged",
        [_array("trajectory/atoms/step_index", [0, 1, 2, 3, 4, 5, 8])],
    ),
    "cells_past_the_last_step": (
        "base_ragged",
        [_longer("trajectory/box/vectors", [4, 3, 3]), _array("trajectory/box/step_index", [0, 2, 4, 5])],
    ),
    "index_arrays_beside_markers": (
        "base_regular",
        [
            _longer("trajectory/atoms/x", [13]),
            _array("trajectory/atoms/step_index", [0, 1, 2, 3, 4, 5]),
            _array("trajectory/atoms/offset", [0, 2, 4, 6, 8, 10, 13]),
        ],
    ),
    "offsets_beside_markers": (
        "base_regular",
        [_array("trajectory/atoms/offset", [0, 2, 4, 6, 8, 10, 13])],
    ),
    "empty_index_arrays_beside_markers": (
        "base_regular",
        [_array("trajectory/atoms/step_index", []), _array("trajectory/atoms/offset", [])],
    ),
    "offsets_and_empty_updates_beside_markers": (
        "base_regular",
        [
            _longer("trajectory/atoms/x", [13]),
            _array("trajectory/atoms/offset", [0, 2, 4, 6, 8, 10]),
            _array("trajectory/atoms/step_index", []),
        ],
    ),
    "steps_beside_their_progression": (
        "base_regular",
        [{"op": "array", "path": "trajectory/step", "dtype": "i8", "shape": [6], "values": [0, 3, 6, 9, 12, 14]}],
    ),
    "times_beside_their_progression": (
        "base_regular",
        [{"op": "array", "path": "trajectory/time", "dtype": "f8", "shape": [6], "values": [0, 0.5, 1, 1.5, 2, 2.2]}],
    ),
    "cells_beside_the_fixed_cell": (
        "base_regular",
        [
            {"op": "array", "path": "trajectory/box/vectors", "dtype": "f8", "shape": [1, 3, 3], "values": [9.0] * 9},
        ],
    ),
}
"""What a writer that dies inside a flush leaves behind: arrays ahead of the commit marker, in one order or another."""


@pytest.mark.parametrize("name", TAILS)
def test_what_lies_past_the_commit_marker_is_ignored(name: str, tmp_path: Path) -> None:
    base, edits = TAILS[name]
    root = shared_fixtures.unpack(base, tmp_path)
    tamper.apply(root, edits)
    expected = fixture_json.record(fixture_json.load(shared_fixtures.document(base)))
    assert neutral.record_difference(expected, molrec_adapter.record(mr.open(root))) is None


BROKEN_RULES: dict[str, tuple[str, list[dict[str, Any]], set[str]]] = {
    "reference_out_of_range_in_a_run": (
        "record_traj_targets",
        [_array("trajectory/members/ibead", [0, 0, 1, 3, 1, 0])],
        {"reject-target-out-of-range"},
    ),
    "reference_out_of_range_after_carry_forward": (
        "record_traj_targets",
        [_array("trajectory/atoms/offset", [0, 2, 5, 7])],
        {"reject-target-out-of-range"},
    ),
    "reference_into_the_system_out_of_range_in_a_run": (
        "record_traj_targets",
        [_array("trajectory/members/atom", [0, 1, 2, 0, 1, 99])],
        {"reject-target-out-of-range"},
    ),
    "reference_into_the_frame_out_of_range": (
        "record_targets",
        [_array("system/map/bead", [0, 0, 1, 3])],
        {"reject-target-out-of-range"},
    ),
    "aligned_block_of_other_row_count": (
        "traj_aligned",
        [_array("trajectory/vel/offset", [0, 1, 5, 8, 8])],
        {"reject-aligned-count-mismatch"},
    ),
    "aligned_block_not_restated": (
        "traj_aligned",
        [_array("trajectory/vel/step_index", [1, 4, 5, 6])],
        {"reject-aligned-not-restated", "reject-aligned-count-mismatch"},
    ),
    "aligned_block_before_its_target": (
        "traj_aligned",
        [_array("trajectory/atoms/step_index", [2, 3, 4, 5, 6])],
        {"reject-aligned-target-absent", "reject-aligned-count-mismatch"},
    ),
}
"""Edits that leave every array well formed and break a rule that spans blocks: base, edits, and the rules that fit."""


@pytest.mark.parametrize("name", BROKEN_RULES)
def test_a_rule_that_spans_blocks_is_checked_on_reading(name: str, tmp_path: Path) -> None:
    base, edits, rules = BROKEN_RULES[name]
    root = shared_fixtures.unpack(base, tmp_path)
    tamper.apply(root, edits)
    assert {refusal.rule for refusal in Reading(root).refusals} & rules


def test_a_mask_that_is_true_everywhere_reads_as_no_mask(tmp_path: Path) -> None:
    case = CASES["mask_all_true"]
    root = shared_fixtures.unpack(case["base"], tmp_path)
    tamper.apply(root, case["ops"])
    frame = mr.open(root).frame
    assert frame is not None
    assert frame["atoms"].validity("q") is None


#: molrs 0.19 checks a run's references into its own blocks, not those into another section.
MOLRS_READS = frozenset(("reference_into_the_system_out_of_range_in_a_run",))


@pytest.mark.parametrize("name", BROKEN_RULES)
def test_molrs_refuses_what_breaks_a_rule_that_spans_blocks(name: str, tmp_path: Path) -> None:
    base, edits, _ = BROKEN_RULES[name]
    root = shared_fixtures.unpack(base, tmp_path)
    tamper.apply(root, edits)
    if name in MOLRS_READS:
        molrs_adapter.record(root)
        return
    with pytest.raises(ValueError, match=r"row|absent"):
        molrs_adapter.record(root)
