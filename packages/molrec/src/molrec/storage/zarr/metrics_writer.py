"""`MetricsWriter`: log numbers into a record while a program runs (``docs/spec/metrics.md``).

Each event is one line of the log, there for readers as soon as `log` returns and whatever becomes of the process.
Closing turns the log into arrays.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from molrec.errors import SchemaError
from molrec.model.metrics import MetricEvent, SeriesBuilder
from molrec.model.timestamps import now
from molrec.storage.zarr.files import sync_directory, write_document
from molrec.storage.zarr.layout import group_document
from molrec.storage.zarr.lock import WriterLock
from molrec.storage.zarr.metrics_dense import check_key, replace_dense
from molrec.storage.zarr.metrics_group import MetricsReader, read_metrics
from molrec.storage.zarr.metrics_log import LOG, METRICS, MetricsLog
from molrec.storage.zarr.root import create_root, prepare_document, read_meta, require_root
from molrec.storage.zarr.sources import DirectorySource

__all__ = ["MetricsWriter"]

_STATUS = "status"
#: Writers of this process. The lock of a record may be shared with a trajectory's writer, not with one of these.
_writers: WeakSet[MetricsWriter] = WeakSet()


class MetricsWriter:
    """Log metrics into a record folder, new or already there, event by event.

    Use it as a context manager: leaving the block closes the section durably, also after an exception. A process may
    have this writer and a `TrajectoryWriter` open on one record; the trajectory's is opened first.

    Args:
        path: Record folder; one that is not there becomes a record of ``meta`` and ``status``.
        meta: Meta document of a new record.
        status: Status document of a new record. The one made when None is given says ``running`` and is brought up to
            date on closing: ``succeeded``, or ``failed`` with the exception that ended the block. One that is given,
            or that a record already has, is left to the caller (`set_status`).

    Raises:
        SchemaError: Another writer has the record (``reject-second-writer``), a packed record
            (``reject-append-not-a-directory``), documents for a record that is there (``reject-existing-path``), or a
            log that no longer holds what its arrays do (``reject-metrics-log-lost``).
        FormatError: Not a record, or its metrics break the format.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        meta: Mapping[str, Any] | None = None,
        status: Mapping[str, Any] | None = None,
    ) -> None:
        root = Path(path)
        self.path = root
        #: The status document to bring up to date on closing, None where somebody else's.
        self._own_status: dict[str, Any] | None = None
        if root.suffix == ".zip" or root.is_file():
            raise SchemaError(
                f"{root} is packed; metrics are logged into a folder (unpack it first, or choose a new name)",
                "reject-append-not-a-directory",
            )
        if not root.exists():
            self._create(meta, status)
        elif meta is not None or status is not None:
            raise SchemaError(
                f"{root} exists; meta and status are for a new record (leave them out, or set_status afterwards)",
                "reject-existing-path",
            )
        self._source = DirectorySource(root)
        require_root(self._source)
        read_meta(self._source)
        self._lock = self._take()
        try:
            self._open()
        except BaseException:
            self._release()
            raise

    def _create(self, meta: Mapping[str, Any] | None, status: Mapping[str, Any] | None) -> None:
        if status is None:
            moment = now()
            status = self._own_status = {"state": "running", "started_at": moment, "updated_at": moment}
        create_root(self.path, meta, {}, {_STATUS: status})

    def _take(self) -> WriterLock:
        for writer in _writers:
            if writer.is_open and writer.path.exists() and os.path.samefile(writer.path, self.path):
                raise SchemaError(
                    f"{self.path}: its metrics are being logged by another MetricsWriter of this process; close that "
                    "one, or use it",
                    "reject-second-writer",
                )
        return WriterLock.joining(self.path)

    def _open(self) -> None:
        self._log: MetricsLog | None = None
        found = read_metrics(self._source)
        if found is not None and not found.log_holds_everything():
            raise SchemaError(
                f"{self.path}: {LOG} no longer holds the {found.catalog.mark.lines} lines ({found.catalog.mark.size} "
                f"bytes) its {len(found.catalog.series)} series were made of, so nothing can follow them; write the "
                "record again with molrec.write(metrics=molrec.open(path).metrics)",
                "reject-metrics-log-lost",
            )
        #: What every event of a key agrees with.
        self._series: dict[str, SeriesBuilder] = {}
        for key in found or ():
            assert found is not None
            series = found[key]
            self._series[key] = SeriesBuilder(key, series.type, series.steps is not None)
        if not (self.path / METRICS / "zarr.json").exists():
            write_document(self.path / METRICS, group_document({}), durable=True)
            sync_directory(self.path / METRICS)
            sync_directory(self.path)
        self._log = MetricsLog(self.path)
        _writers.add(self)

    # -- logging ----------------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether events may be logged."""
        return self._log is not None and self._log.is_open and self._lock.is_held

    def _require_open(self) -> MetricsLog:
        if not self.is_open or self._log is None:
            raise SchemaError(
                f"{self.path}: this MetricsWriter is closed, has failed, or belongs to another process; open a new one",
                "reject-writer-closed",
            )
        return self._log

    def log(
        self,
        key: str,
        value: float,
        step: int | None = None,
        wall_time: str | datetime | None = None,
        tags: Any = None,
        type: str = "scalar",  # noqa: A002 - the word of the format
    ) -> None:
        """Log one number; a later one of the same key and step replaces it in the series.

        Args:
            key: What is measured, such as ``train/loss``.
            value: A binary64 number, NaN and infinities included.
            step: Step it belongs to; given for every event of a key or for none.
            wall_time: RFC 3339 date and time with its offset, or an aware `datetime`; now when None.
            tags: A list or object of the caller's, finite JSON; kept in the log.
            type: A word for what the numbers of this key are, the same for all of them.

        Raises:
            SchemaError: The event is inadmissible (``reject-metrics-event``, ``reject-bad-name``, a rule of typed
                JSON) or the writer closed (``reject-writer-closed``). Nothing was logged.
            OSError: It cannot be written. Nothing was logged.
        """
        log = self._require_open()
        event = MetricEvent.admit(key, value, step, now() if wall_time is None else wall_time, tags, type)
        series = self._series.get(key)
        if series is None:
            check_key(key)
            series = SeriesBuilder(key, event.type, event.step is not None)
        series.check(event, "metrics")
        log.append(event.to_line())
        self._series[key] = series

    def flush(self) -> None:
        """Force every event logged so far to the device; it then survives a power loss."""
        self._require_open().sync()

    def set_status(self, status: Mapping[str, Any]) -> None:
        """Replace the status document, which is then the caller's to keep up to date.

        Raises:
            SchemaError: The document breaks a rule of status documents, or the writer is closed.
        """
        self._require_open()
        self._write_status(prepare_document(_STATUS, status))
        self._own_status = None

    def _write_status(self, document: dict[str, Any]) -> None:
        write_document(self.path / _STATUS, group_document(document), durable=True)
        sync_directory(self.path / _STATUS)

    # -- closing ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Turn the log into arrays and give the record free; safe to call twice.

        Raises:
            OSError: The arrays cannot be written. Everything logged stays in the log and is read from there.
        """
        self._finish({"state": "succeeded"})

    def _finish(self, outcome: Mapping[str, Any]) -> None:
        if not self.is_open:
            self._release()
            return
        try:
            self._densify()
            if self._own_status is not None:
                moment = now()
                ended = {**self._own_status, **outcome, "updated_at": moment, "finished_at": moment}
                self._write_status(prepare_document(_STATUS, ended))
        finally:
            self._release()

    def _densify(self) -> None:
        log = self._require_open()
        log.sync()
        reader = read_metrics(self._source)
        assert reader is not None
        if reader.is_dense and reader.mark == reader.catalog.mark:
            return
        replace_dense(self._source, self.path / METRICS, reader.attributes, _read_all(reader), reader.mark)

    def _release(self) -> None:
        if self._log is not None:
            self._log.close()
        self._source.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or kind is None:
            self.close()
            return
        told = "".join(traceback.format_exception(kind, error, trace))
        reason = {"message": _readable(str(error)), "type": kind.__name__, "traceback": _readable(told)}
        self._finish({"state": "failed", "error": reason})


def _read_all(reader: MetricsReader) -> dict[str, Any]:
    return {key: reader[key] for key in reader}


def _readable(text: str) -> str:
    """Return a text as valid Unicode; a message may quote a file name that is none."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
