"""The HTTP ``Range`` header: which bytes of a file a request asks for (RFC 9110, range requests)."""

from __future__ import annotations

import re

__all__ = ["UnsatisfiableRangeError", "requested_range"]

_ONE_RANGE = re.compile(r"bytes\s*=\s*(\d{0,19})\s*-\s*(\d{0,19})\s*", re.ASCII | re.IGNORECASE)


class UnsatisfiableRangeError(ValueError):
    """A range that lies outside the file."""


def requested_range(header: str | None, size: int) -> range | None:
    """Return the bytes asked for, or None for all of them.

    A header of another form, of another unit or of several ranges is ignored, as the standard allows.

    Args:
        header: Value of the ``Range`` header, None where there is none.
        size: Bytes in the file.

    Raises:
        UnsatisfiableRangeError: The range begins past the end, or is an empty suffix.
    """
    found = None if header is None else _ONE_RANGE.fullmatch(header.strip())
    if found is None or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if not first:
        start, stop = max(0, size - int(last)), size
    elif last and int(last) < int(first):
        return None
    else:
        start, stop = int(first), min(int(last) + 1, size) if last else size
    if start >= stop:
        raise UnsatisfiableRangeError(f"bytes {start} to {stop} of {size}")
    return range(start, stop)
