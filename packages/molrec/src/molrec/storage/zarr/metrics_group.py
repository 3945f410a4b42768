"""The ``metrics`` section as a whole: series from arrays up to the watermark, then from the log.

``docs/spec/metrics.md``. A section reads the same before it is closed, when all is in the log, and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, override

from molrec.errors import FormatError, SchemaError
from molrec.model.metrics import MetricEvent, MetricSeries, build_series
from molrec.storage.zarr.files import write_document, write_new_file
from molrec.storage.zarr.frame_group import group_attributes
from molrec.storage.zarr.layout import group_document
from molrec.storage.zarr.metrics_dense import Catalog, check_key, read_catalog, read_dense, replace_dense
from molrec.storage.zarr.metrics_log import LOG, METRICS, Watermark, read_events, read_lines_from
from molrec.storage.zarr.sources import DirectorySource, Source, read_document

__all__ = ["MetricsReader", "check_metrics", "read_metrics", "write_metrics"]


def read_metrics(source: Source) -> MetricsReader | None:
    """Open the section, or return None when it is not there.

    Raises:
        FormatError: The section breaks the format.
    """
    document = read_document(source, METRICS)
    if document is None and source.get(LOG) is None:
        return None
    where = f"{source.name}: {METRICS}"
    return MetricsReader(source, {} if document is None else dict(group_attributes(document, where)))


class MetricsReader(Mapping[str, MetricSeries]):
    """Series by key, as they were when the section was opened; arrays are read when a key is looked up.

    Raises:
        FormatError: The catalog is malformed (``reject-metrics-catalog``), a line of the log past it is no event
            (``reject-metrics-line``) or unlike its series (``reject-metrics-event``).
    """

    def __init__(self, source: Source, attributes: dict[str, Any]) -> None:
        self._source = source
        self._where = f"{source.name}: {METRICS}"
        #: Attributes of the section: the catalog, and what a producer added.
        self.attributes = attributes
        stated = read_catalog(attributes, self._where)
        #: Whether the section was closed: its series are arrays.
        self.is_dense = stated is not None
        self.catalog = Catalog() if stated is None else stated
        lines = read_lines_from(source, self.catalog.mark)
        #: How far the log goes.
        self.mark: Watermark = self.catalog.mark.after(lines)
        try:
            self._later = build_series(read_events(lines, self.catalog.mark.lines, source.name))
        except SchemaError as error:
            raise FormatError(error.message, error.rule) from error
        self._read: dict[str, MetricSeries] = {}

    @override
    def __getitem__(self, key: str) -> MetricSeries:
        """Return the series of a key.

        Raises:
            KeyError: No such series.
            FormatError: Its arrays are damaged, or unlike the catalog or the log.
        """
        found = self._read.get(key)
        if found is None:
            found = self._read[key] = self._merge(key)
        return found

    def _merge(self, key: str) -> MetricSeries:
        entry = self.catalog.series.get(key)
        if entry is None:
            return self._later[key]
        dense = read_dense(self._source, key, entry)
        later = self._later.get(key)
        return dense if later is None else dense.followed_by(later, f"{self._where}, {key!r}")

    def events(self) -> Iterator[MetricEvent]:
        """Yield every event of the log in the order logged, those that were replaced and their tags included.

        Raises:
            FormatError: A line is no event (``reject-metrics-line``).
        """
        for _, event in read_events(self.log(), 0, self._source.name):
            yield event

    def log(self) -> bytes:
        """Return the complete lines of the log."""
        return read_lines_from(self._source, Watermark())

    def log_holds_everything(self) -> bool:
        """Tell whether the log still has every line the catalog counts, so that series can be made from it again."""
        mark = self.catalog.mark
        if self.catalog.series and not mark.lines:
            return False
        prefix = self.log()[: mark.size]
        return len(prefix) == mark.size and prefix.count(b"\n") == mark.lines

    @override
    def __iter__(self) -> Iterator[str]:
        yield from self.catalog.series
        yield from (key for key in self._later if key not in self.catalog.series)

    @override
    def __len__(self) -> int:
        return len(self.catalog.series.keys() | self._later.keys())

    def __repr__(self) -> str:
        return f"<Metrics: {', '.join(self) or 'none'}>"


def check_metrics(metrics: Mapping[str, MetricSeries]) -> None:
    """Check series before any of them is written.

    Raises:
        SchemaError: A key that cannot name arrays (``reject-bad-name``), or something else than a series
            (``reject-metrics-event``).
    """
    for key, series in metrics.items():
        MetricEvent.admit(key, 0.0, None, "1970-01-01T00:00:00Z", None, "scalar")
        check_key(key)
        if not isinstance(series, MetricSeries):
            raise SchemaError(
                f"metrics, {key!r}: a MetricSeries belongs here, as Record.metrics gives them, "
                f"found {type(series).__name__}",
                "reject-metrics-event",
            )


def write_metrics(root: Path, metrics: Mapping[str, MetricSeries]) -> None:
    """Write checked series into a record that has no such section: as arrays, and as a log that holds the same."""
    folder = root / METRICS
    log: bytes | None = None
    attributes: dict[str, Any] = {}
    if isinstance(metrics, MetricsReader):
        attributes = {**metrics.attributes}
        log = metrics.log() if metrics.log_holds_everything() else None
    series = {key: one.settled() for key, one in metrics.items()}
    if log is None:
        log = b"".join(event.to_line() for key, one in series.items() for event in one.to_events(key))
    write_document(folder, group_document({}))
    write_new_file(root / LOG, log)
    source = DirectorySource(root)
    try:
        replace_dense(source, folder, attributes, series, Watermark().after(log))
    finally:
        source.close()
