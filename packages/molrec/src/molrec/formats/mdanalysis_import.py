"""The one place that imports MDAnalysis for the formats, and what its failures become."""

from __future__ import annotations

import warnings
from types import TracebackType

from molrec.errors import FormatError
from molrec.formats.cells import FlatCellError
from molrec.formats.notes import Notes

__all__ = ["Reading", "require_mdanalysis"]

_MALFORMED = "reject-malformed-source"


def require_mdanalysis() -> None:
    """Import MDAnalysis.

    Raises:
        ImportError: It is not installed; the message names the extra.
    """
    try:
        with warnings.catch_warnings():
            # its dependencies announce their own deprecations on import
            warnings.simplefilter("ignore", DeprecationWarning)
            import MDAnalysis  # noqa: F401
    except ImportError as error:
        raise ImportError("this needs MDAnalysis, the extra molrec[formats]: pip install 'molrec[formats]'") from error


class Reading:
    """While MDAnalysis reads: its exceptions, of many kinds, become one that names the file; its warnings, notes.

    Args:
        name: The file.
        what: What is read of it.
        notes: Told what MDAnalysis warns of.
    """

    def __init__(self, name: str, what: str, notes: Notes) -> None:
        self._name = name
        self._what = what
        self._notes = notes
        self._catcher = warnings.catch_warnings(record=True)

    def __enter__(self) -> None:
        self._caught = self._catcher.__enter__()
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._catcher.__exit__(kind, error, trace)
        for warning in self._caught or ():
            self._notes.changed(f"{self._name} ({self._what})", f"MDAnalysis says: {warning.message}")
        if isinstance(error, FlatCellError):
            raise FormatError(f"{self._name}, {self._what}: {error}", _MALFORMED) from error
        ours = (FormatError, ImportError, MemoryError, FileNotFoundError, PermissionError)
        if isinstance(error, Exception) and not isinstance(error, ours):
            why = str(error) or type(error).__name__
            raise FormatError(
                f"{self._name}, {self._what}: damaged or cut short, or in another format than its name says ({why}); "
                "copy it again, or name its format with --from",
                _MALFORMED,
            ) from error
