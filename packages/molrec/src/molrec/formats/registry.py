"""Which format a foreign file is in: one registry, content first, then the name.

Content is what a format recognizes in the first bytes of a file, decompressed. When content and suffix say different
things, or neither says anything, the file is refused with the names the registry knows; nothing is tried out. A name
given by the caller overrides both. This module knows no format itself: `formats` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from molrec.errors import FormatError, SchemaError
from molrec.formats.compressed import OPENERS, damage, open_binary
from molrec.formats.images import Images
from molrec.formats.notes import Notes
from molrec.formats.series import FrameSource, Progress

__all__ = ["Family", "Format", "Registry", "formats"]

_UNKNOWN = "reject-unknown-format"
_DISAGREE = "reject-format-disagrees"
_HEAD_BYTES = 50_000


@dataclass(frozen=True, slots=True)
class Format:
    """One foreign format.

    Attributes:
        name: What the caller may call it.
        description: What it is, in a few words.
        open_source: Opens a file for reading; None where it cannot be read.
        write: Writes frames to a path that does not exist yet; None where it cannot be written.
        single: Whether a file holds one frame only.
        topology: Whether a file, given before trajectories, may say what their atoms are (`pairing`).
        coordinates_only: Whether a file says where the atoms are but not what they are.
    """

    name: str
    description: str
    open_source: Callable[[Path], FrameSource] | None
    write: Callable[[Path, Images, Notes, Progress | None], None] | None
    single: bool = False
    topology: bool = False
    coordinates_only: bool = False


class Family(Protocol):
    """One or more formats that one module reads and writes."""

    def names(self) -> Sequence[str]:
        """Return the names of its formats, most used first."""

    def get(self, name: str) -> Format | None:
        """Return a format by name, or None."""

    def by_content(self, head: bytes) -> str | None:
        """Return the format whose files begin like this, or None."""

    def by_name(self, path: Path) -> str | None:
        """Return the format a file name (without the suffix of a compression) stands for, or None."""

    def always_recognized(self, name: str) -> bool:
        """Tell whether every file of a format is recognized by its content."""


class Registry:
    """Formats by content, by suffix and by name; earlier families come first."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = tuple(families)

    def names(self) -> list[str]:
        """Return the names of all formats."""
        return [name for family in self._families for name in family.names()]

    def get(self, name: str) -> Format:
        """Return a format by its name.

        Raises:
            SchemaError: No such format (``reject-unknown-format``).
        """
        for family in self._families:
            found = family.get(name)
            if found is not None:
                return found
        raise SchemaError(f"there is no format {name!r}; known are {self._listing()}", _UNKNOWN)

    def for_reading(self, path: Path, name: str | None = None) -> Format:
        """Return the format to read a file with.

        Args:
            path: An existing file or, for the few formats that are one, a folder.
            name: The format's name when the caller knows better.

        Raises:
            FormatError: The file is empty, is in no known format (``reject-unknown-format``), or content and suffix
                disagree (``reject-format-disagrees``).
            SchemaError: The format cannot be read, or there is none of that name.
        """
        if not path.exists():
            raise FormatError(f"{path}: there is no such file", "reject-no-such-file")
        found = self.get(self._recognize(path) if name is None else name)
        if found.open_source is None:
            raise SchemaError(f"{path}: files in the format {found.name!r} are written, never read", _UNKNOWN)
        return found

    def for_writing(self, path: Path, name: str | None = None) -> Format:
        """Return the format to write a file in, by its name.

        Raises:
            SchemaError: The suffix stands for no format, or for one that cannot be written (``reject-unknown-format``).
        """
        chosen = self._by_name(path) if name is None else name
        if chosen is None:
            raise SchemaError(
                f"{path}: the suffix stands for no format; give one of {self._listing()} with --to, or a name ending "
                "in .mrec or .mrec.zip for a record",
                _UNKNOWN,
            )
        found = self.get(chosen)
        if found.write is None:
            raise SchemaError(f"{path}: files in the format {found.name!r} are read, never written", _UNKNOWN)
        return found

    def _recognize(self, path: Path) -> str:
        names = self._by_name_all(path)
        by_name = names[0] if names else None
        if path.is_dir():
            content = None
        else:
            head = _head(path)
            if not head:
                raise FormatError(f"{path} is empty", _UNKNOWN)
            content = self._by_content(head)
        if content is None and by_name is None:
            raise FormatError(
                f"{path}: neither its content nor its suffix is known; name its format with --from, one of "
                f"{self._listing()}",
                _UNKNOWN,
            )
        if content is None and by_name is not None:
            if any(family.always_recognized(by_name) for family in self._families if family.get(by_name)):
                raise FormatError(
                    f"{path}: the suffix says {by_name!r} but the content does not begin like it; name its format "
                    "with --from",
                    _DISAGREE,
                )
            return by_name
        if content is not None and by_name is not None and content not in names:
            raise FormatError(
                f"{path}: the content says {content!r} but the suffix says {by_name!r}; choose with --from", _DISAGREE
            )
        assert content is not None
        return content

    def _by_content(self, head: bytes) -> str | None:
        return next((name for family in self._families if (name := family.by_content(head)) is not None), None)

    def _by_name(self, path: Path) -> str | None:
        return next(iter(self._by_name_all(path)), None)

    def _by_name_all(self, path: Path) -> list[str]:
        """Return what a suffix may stand for, the first family's format first; the content may decide among them."""
        plain = path.with_suffix("") if path.suffix in OPENERS else path
        return [name for family in self._families if (name := family.by_name(plain)) is not None]

    def _listing(self) -> str:
        return ", ".join(self.names())


def _head(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed when its suffix says so."""
    if path.suffix not in OPENERS:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    try:
        with open_binary(path) as compressed:
            return compressed.read(_HEAD_BYTES)
    except damage() as error:
        raise FormatError(
            f"{path}: the suffix says {path.suffix[1:]}, but it does not decompress ({error})", _DISAGREE
        ) from error


@cache
def formats() -> Registry:
    """Return the registry of every format this library knows."""
    from molrec.formats.ase import AseFamily
    from molrec.formats.gro import GroFamily
    from molrec.formats.lammps import LammpsFamily
    from molrec.formats.mdanalysis import MDAnalysisFamily
    from molrec.formats.mmcif import MmcifFamily
    from molrec.formats.pdb import PdbFamily
    from molrec.formats.prmtop import PrmtopFamily
    from molrec.formats.psf import PsfFamily

    return Registry(
        [
            GroFamily(),
            LammpsFamily(),
            PrmtopFamily(),
            PsfFamily(),
            MDAnalysisFamily(),
            PdbFamily(),
            AseFamily(),
            # behind ASE, whose small-molecule CIF has the suffix .cif too; the content tells them apart
            MmcifFamily(),
        ]
    )
