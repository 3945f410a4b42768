"""The one place that knows whether OpenMM is installed; it is imported when it is used, never before."""

from __future__ import annotations

from typing import Any

__all__ = ["require_openmm"]


def require_openmm() -> Any:
    """Import OpenMM and return it.

    Raises:
        ImportError: It is not installed; the message names the extra.
    """
    try:
        import openmm
    except ImportError as error:
        raise ImportError("this needs OpenMM, the extra molrec[openmm]: pip install 'molrec[openmm]'") from error
    return openmm
