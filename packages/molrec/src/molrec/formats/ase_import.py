"""The one place that knows whether ASE is installed; it is imported when it is used, never before."""

from __future__ import annotations

__all__ = ["require_ase"]


def require_ase() -> None:
    """Import ASE.

    Raises:
        ImportError: It is not installed; the message names the extra.
    """
    try:
        import ase  # noqa: F401
    except ImportError as error:
        raise ImportError("this needs ASE, the extra molrec[ase]: pip install 'molrec[ase]'") from error
