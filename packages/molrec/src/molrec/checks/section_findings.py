"""What a validator finds in observables, metrics and the documents of status and method.

`molrec.checks.validation` asks here; a finding is a tuple of rule, place, severity and message. The clauses stand in
``docs/spec/observables.md``, ``metrics.md`` and ``status-and-method.md``.
"""

from __future__ import annotations

from collections.abc import Iterator

from molrec.checks.content_findings import Found, unknown_unit_findings
from molrec.checks.store_findings import unknown_findings
from molrec.dtypes import identical
from molrec.errors import FormatError, SchemaError
from molrec.model.metrics import MetricSeries, build_series
from molrec.model.timestamps import is_timestamp
from molrec.storage.zarr import names
from molrec.storage.zarr.metrics_group import MetricsReader, read_metrics
from molrec.storage.zarr.metrics_log import LOG, METRICS, Watermark, read_events, read_lines_from
from molrec.storage.zarr.observables_group import OBSERVABLES, ObservablesReader, read_observables
from molrec.storage.zarr.root import read_section_document
from molrec.storage.zarr.sources import Source, read_document
from molrec.storage.zarr.trajectory_reader import TrajectoryReader

__all__ = ["document_findings", "metrics_findings", "observables_findings"]


def document_findings(source: Source, name: str) -> Iterator[Found]:
    """Yield what is wrong with a document section."""
    try:
        read_section_document(source, name)
    except FormatError as error:
        yield error.rule, name, "error", error.message


# -- observables ----------------------------------------------------------------------------------------------------


def observables_findings(source: Source) -> Iterator[Found]:
    """Yield what is wrong with the observables; every value is read."""
    try:
        reader = read_observables(source)
    except FormatError as error:
        yield error.rule, OBSERVABLES, "error", error.message
        return
    if reader is None:
        return
    for name in reader:
        try:
            reader[name]
        except FormatError as error:
            yield error.rule, f"{OBSERVABLES}/{name}", "error", error.message
    yield from _axes(reader)
    for name in reader:
        unit = reader.describe(name).get("unit")
        if unit:
            yield from unknown_unit_findings(f"{OBSERVABLES}/{name}", {"values": unit})
    yield from _lengths(source, reader)
    yield from unknown_findings(source, OBSERVABLES, {"meta", *reader})


def _axes(reader: ObservablesReader) -> Iterator[Found]:
    for name in reader:
        array, axes = reader.array(name), reader.describe(name).get("axes")
        if array is not None and axes is not None and len(axes) != len(array.layout.shape):
            yield (
                "observable-axes",
                f"{OBSERVABLES}/{name}",
                "warning",
                f"names {len(axes)} axes, but the array has {len(array.layout.shape)}",
            )


def _lengths(source: Source, reader: ObservablesReader) -> Iterator[Found]:
    try:
        frames = len(TrajectoryReader(source)) if read_document(source, names.TRAJECTORY) is not None else None
    except FormatError:
        return  # reported with the trajectory itself
    for name in reader if frames is not None else ():
        array, stated = reader.array(name), reader.describe(name)
        if (
            array is None
            or not stated["time_dependent"]
            or not array.layout.shape
            or stated.get("sampling") is not None
        ):
            continue
        if array.layout.rows != frames:
            yield (
                "observable-length",
                f"{OBSERVABLES}/{name}",
                "warning",
                f"is time-dependent with {array.layout.rows} entries beside {frames} frames, and states no sampling",
            )


# -- metrics --------------------------------------------------------------------------------------------------------


def metrics_findings(source: Source) -> Iterator[Found]:
    """Yield what is wrong with the metrics; every series and every line of the log is read."""
    try:
        reader = read_metrics(source)
    except FormatError as error:
        yield error.rule, METRICS, "error", error.message
        return
    if reader is None:
        return
    sound: dict[str, MetricSeries] = {}
    for key in reader:
        try:
            sound[key] = reader[key]
        except FormatError as error:
            yield error.rule, f"{METRICS}, {key!r}", "error", error.message
    for key, series in sound.items():
        unlike = [text for text in series.wall_time.tolist() if text and not is_timestamp(text)]
        if unlike:
            yield (
                "metrics-wall-time",
                f"{METRICS}, {key!r}",
                "warning",
                f"{len(unlike)} wall times are not RFC 3339 with their offset, the first {unlike[0]!r}",
            )
    if reader.mark != reader.catalog.mark or not reader.is_dense:
        yield "open-metrics", METRICS, "info", "events stand in the log only: a writer is at work or did not close it"
    if reader.is_dense:
        try:
            yield from _log_against_arrays(source, reader, sound)
        except FormatError as error:
            yield error.rule, LOG, "error", error.message


def _log_against_arrays(source: Source, reader: MetricsReader, sound: dict[str, MetricSeries]) -> Iterator[Found]:
    mark = reader.catalog.mark
    if not reader.log_holds_everything():
        yield (
            "metrics-log-short",
            LOG,
            "warning",
            f"lacks lines of the {mark.lines} ({mark.size} bytes) its series were made of; no writer can go on",
        )
        return
    try:
        from_log = build_series(read_events(read_lines_from(source, Watermark()), 0, source.name))
    except (FormatError, SchemaError) as error:
        yield "metrics-log-disagrees", LOG, "warning", f"the arrays are in force, but {error.message}"
        return
    for key, series in sound.items():
        if key not in from_log or not _same_numbers(series, from_log[key]):
            yield (
                "metrics-log-disagrees",
                f"{METRICS}, {key!r}",
                "warning",
                "the arrays, which are in force, hold another series than the log",
            )


def _same_numbers(one: MetricSeries, other: MetricSeries) -> bool:
    if (one.steps is None) != (other.steps is None) or len(one) != len(other):
        return False
    if one.steps is not None and other.steps is not None and not identical(one.steps, other.steps):
        return False
    # JSON has one NaN, an array many.
    return bool(((one.values == other.values) | ((one.values != one.values) & (other.values != other.values))).all())
