"""Points in time as documents state them: RFC 3339 with the offset from UTC (``docs/spec/status-and-method.md``)."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["TIMESTAMP_PATTERN", "is_timestamp", "now"]

#: The form; the second capturing group is the seconds. That such a day exists is another matter.
TIMESTAMP_PATTERN = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]([01][0-9]|2[0-3]):[0-9]{2}:([0-9]{2})(\.[0-9]+)?"
    r"([Zz]|[+-]([01][0-9]|2[0-3]):[0-9]{2})"
)
_FORM = re.compile(TIMESTAMP_PATTERN)


def is_timestamp(text: object) -> bool:
    """Tell whether a value is a date and time in the form of RFC 3339, its offset from UTC stated."""
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return False
    stated = match[0]
    if match[2] == "60":  # a leap second, which Python's clock does not have
        stated = f"{stated[: match.start(2)]}59{stated[match.end(2) :]}"
    try:
        datetime.fromisoformat(stated.upper())
    except ValueError:
        return False
    return True


def now() -> str:
    """Return the present moment, to the microsecond, in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
