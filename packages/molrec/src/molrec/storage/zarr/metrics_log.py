"""The live log of a ``metrics`` section: one JSON object a line, appended as it happens (``docs/spec/metrics.md``).

A line counts once its newline is there. What follows the last newline is the torn end of a writer that was killed: a
reader ignores it, a writer that comes back cuts it off.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from molrec.errors import FormatError
from molrec.model.metrics import MetricEvent
from molrec.storage.zarr.files import append_bytes, sync_directory, sync_file
from molrec.storage.zarr.sources import Source

__all__ = ["LOG", "METRICS", "MetricsLog", "Watermark", "read_events", "read_lines_from"]

METRICS = "metrics"
LOG = f"{METRICS}/metrics.jsonl"

_CATALOG = "reject-metrics-catalog"
_PIECE_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Watermark:
    """How much of the log the series hold: complete lines (blank ones too), and their size in bytes."""

    lines: int = 0
    size: int = 0

    def after(self, lines: bytes) -> Watermark:
        """Return the watermark after further complete lines."""
        return Watermark(self.lines + lines.count(b"\n"), self.size + len(lines))


def read_lines_from(source: Source, mark: Watermark) -> bytes:
    """Return the complete lines past a watermark; none when the log is not there or ends before it.

    Raises:
        FormatError: The watermark is not at the end of a line (``reject-metrics-catalog``).
    """
    if not mark.size:
        raw = bytes(source.get(LOG) or b"")
    else:
        raw = _read_from(source, mark.size - 1)
        if raw and raw[:1] != b"\n":
            raise FormatError(
                f"{source.name}: {LOG}: the catalog's watermark of {mark.size} bytes lies within a line", _CATALOG
            )
        raw = raw[1:]
    return raw[: raw.rfind(b"\n") + 1]


def _read_from(source: Source, start: int) -> bytes:
    """Return the bytes of the log from a position on; a store is asked for no range that begins past the end."""
    pieces: list[bytes] = []
    while True:
        again = 1 if pieces else 0
        piece = bytes(source.get_range(LOG, start - again, _PIECE_BYTES + again) or b"")
        pieces.append(piece[again:])
        start += len(piece) - again
        if len(piece) < _PIECE_BYTES + again:
            return b"".join(pieces)


def read_events(lines: bytes, first_line: int, name: str) -> Iterator[tuple[str, MetricEvent]]:
    """Yield each event of complete lines with what to call its place; blank lines are passed over.

    Args:
        lines: Complete lines.
        first_line: Lines of the log before them.
        name: What to call the record.

    Raises:
        FormatError: A line is no event (``reject-metrics-line``).
    """
    for number, line in enumerate(lines.split(b"\n")[:-1], first_line + 1):
        if line.strip():
            where = f"{name}: {LOG}, line {number}"
            yield where, MetricEvent.from_line(line, where)


class MetricsLog:
    """The log of one section, opened for appending; a torn end is cut off. Its folder must be there."""

    def __init__(self, root: Path) -> None:
        path = root / LOG
        created = not path.exists()
        self._file: int | None = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o666
        )
        try:
            if created:
                sync_file(self._file)
                sync_directory(path.parent)
            lines, size = _measure(self._file)
            if size < os.fstat(self._file).st_size:
                os.ftruncate(self._file, size)
                sync_file(self._file)
        except BaseException:
            self.close()
            raise
        #: What of the log is complete.
        self.mark = Watermark(lines, size)

    @property
    def is_open(self) -> bool:
        """Whether events may be appended."""
        return self._file is not None

    def append(self, line: bytes) -> None:
        """Append one line in one write: a process killed afterwards has left it complete.

        Raises:
            OSError: It cannot be written; what was written of it is cut off again.
        """
        assert self._file is not None
        try:
            append_bytes(self._file, line)
        except BaseException:
            self._cut_off()
            raise
        self.mark = self.mark.after(line)

    def _cut_off(self) -> None:
        """Undo a write in part; a log that cannot be mended is closed, so that nothing lands behind the torn line."""
        assert self._file is not None
        try:
            os.ftruncate(self._file, self.mark.size)
        except OSError:
            self.close()
            raise

    def sync(self) -> None:
        """Force every line to the device."""
        assert self._file is not None
        sync_file(self._file)

    def close(self) -> None:
        """Release the file; safe to call twice."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)


def _measure(file: int) -> tuple[int, int]:
    """Return the complete lines of a file and their bytes."""
    lines = size = position = 0
    while piece := os.pread(file, _PIECE_BYTES, position):
        found = piece.count(b"\n")
        if found:
            lines, size = lines + found, position + piece.rfind(b"\n") + 1
        position += len(piece)
    return lines, size
