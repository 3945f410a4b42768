"""Points in time as documents state them: RFC 3339 with the offset from UTC (``docs/spec/status-and-method.md``)."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["is_timestamp", "now"]

_FORM = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]([01][0-9]|2[0-3]):[0-9]{2}:(?P<second>[0-9]{2})(\.[0-9]+)?"
    r"([Zz]|[+-]([01][0-9]|2[0-3]):[0-9]{2})"
)


def is_timestamp(text: object) -> bool:
    """Tell whether a value is a date and time in the form of RFC 3339, its offset from UTC stated."""
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return False
    stated = match[0]
    if match["second"] == "60":  # a leap second, which Python's clock does not have
        stated = f"{stated[: match.start('second')]}59{stated[match.end('second') :]}"
    try:
        datetime.fromisoformat(stated.upper())
    except ValueError:
        return False
    return True


def now() -> str:
    """Return the present moment, to the microsecond, in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
