"""The one place that knows whether gemmi is installed; it is imported when it is used, never before."""

from __future__ import annotations

__all__ = ["require_gemmi"]


def require_gemmi() -> None:
    """Import gemmi.

    Raises:
        ImportError: It is not installed; the message names the extra.
    """
    try:
        import gemmi  # noqa: F401
    except ImportError as error:
        raise ImportError("this needs gemmi, in the extra molrec[formats]: pip install 'molrec[formats]'") from error
