"""The one error of this package: a file or a frame that cannot become configurations.

It knows how a message says where: file, frame (counted from 0 over the whole file) and key. It does not know what can
go wrong; that is said where it is found. A wrong argument is a plain ``ValueError``, a missing file the operating
system's own error.
"""

from __future__ import annotations

__all__ = ["DataError"]


class DataError(ValueError):
    """A file, or a frame of it, that cannot be read as configurations.

    Attributes:
        path: The file, as the caller named it; None where no file is involved.
        frame: Number of the frame, from 0 over the whole file; None where the whole file is meant.
        key: The entry of the comment line or the column in question; None where there is none.
    """

    def __init__(self, problem: str, path: str | None = None, frame: int | None = None, key: str | None = None) -> None:
        self.path = path
        self.frame = frame
        self.key = key
        where = [] if path is None else [path]
        if frame is not None:
            where.append(f"frame {frame}")
        if key is not None:
            where.append(f"key {key!r}")
        super().__init__(f"{', '.join(where)}: {problem}" if where else problem)
