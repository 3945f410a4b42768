"""Everything ASE reads and writes: extended XYZ and ``.traj`` by their own content, the rest by ASE's own rules.

ASE keeps names and values; what they become in a frame is said in `ase_names`. Nothing is imported from ASE before a
file is to be recognized, read or written.

Limits of the files themselves: extended XYZ prints reals with eight decimals; a ``.traj`` has no per-atom arrays but
ASE's own; what other formats keep is up to ASE.
"""

from __future__ import annotations

import re
import shutil
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from molrec.errors import FormatError, SchemaError
from molrec.formats.ase_atoms import UNITS, frame_of_atoms
from molrec.formats.ase_builder import AtomsBuilder
from molrec.formats.ase_import import require_ase
from molrec.formats.images import Images
from molrec.formats.notes import Notes
from molrec.formats.registry import Format
from molrec.formats.series import Progress
from molrec.formats.survey import STEP_KEYS
from molrec.model.frame import Frame

if TYPE_CHECKING:
    from ase import Atoms

__all__ = ["AseFamily", "AseSource", "LazyAtoms", "write_images"]

EXTXYZ, TRAJ = "extxyz", "traj"

_MALFORMED = "reject-malformed-source"
_TRAJ_MAGIC = (b"- of UlmASE-Trajectory", b"AFFormatASE-Trajectory")
#: Bytes of a second line after which a file that begins with a count is taken for XYZ.
_LONG_COMMENT = 4096
_XYZ_ATOM = re.compile(rb"\s*[A-Za-z0-9]+(\s+[-+0-9.eE]+){3}")
#: What ASE knows of records through this library (`ase_molrec`).
_OUR_PLUGIN = "mrec"
#: Written from an iterator, one frame in memory at a time; the others are given a list.
_STREAMED = (EXTXYZ, "xyz", TRAJ)
#: Arrays a .traj file holds.
_TRAJ_ARRAYS = frozenset(("numbers", "positions", "momenta", "masses", "tags", "initial_magmoms", "initial_charges"))


class AseFamily:
    """ASE's formats under ASE's names."""

    def names(self) -> Sequence[str]:
        """Return ASE's names, the two of this module first."""
        require_ase()
        from ase.io.formats import ioformats

        return [EXTXYZ, TRAJ, *sorted(ioformats.keys() - {EXTXYZ, TRAJ, _OUR_PLUGIN})]

    def get(self, name: str) -> Format | None:
        """Return a format of ASE's by name, or None."""
        require_ase()
        from ase.io.formats import ioformats

        found = ioformats.get(name)
        if found is None or name == _OUR_PLUGIN:
            return None
        return Format(
            name,
            found.description,
            partial(AseSource, name=name) if found.can_read else None,
            partial(write_images, name=name) if found.can_write else None,
            bool(found.single),
        )

    def by_content(self, head: bytes) -> str | None:
        """Return the format of a file by its first bytes, or None."""
        if head.startswith(_TRAJ_MAGIC):
            return TRAJ
        if _looks_like_xyz(head):
            return EXTXYZ
        require_ase()
        from ase.io.formats import UnknownFileTypeError, match_magic

        try:
            return str(match_magic(head).name)
        except UnknownFileTypeError:
            return None

    def by_name(self, path: Path) -> str | None:
        """Return the format a file name stands for, or None."""
        suffix = path.suffix.removeprefix(".").lower()
        if suffix in (EXTXYZ, "xyz"):
            return EXTXYZ
        require_ase()
        from ase.io.formats import extension2format, ioformats

        for found in ioformats.values():
            if found.match_name(path.name):
                return str(found.name)
        by_extension = extension2format.get(suffix)
        if by_extension is not None:
            return str(by_extension.name)
        return suffix if suffix in ioformats else None

    def always_recognized(self, name: str) -> bool:
        """Tell whether `by_content` recognizes every file of a format."""
        return name in (EXTXYZ, TRAJ)


def _looks_like_xyz(head: bytes) -> bool:
    """Tell whether a file begins as XYZ: a count, a comment, and, unless the count is 0, an atom with three numbers."""
    lines = head.split(b"\n", 3)
    if not lines[0].strip().isdigit() or len(lines) < 2:
        return False
    if int(lines[0]) == 0 or b"Properties=" in lines[1]:
        return True
    # a comment may be longer than what is looked at
    return bool(_XYZ_ATOM.match(lines[2])) if len(lines) > 2 else len(lines[1]) >= _LONG_COMMENT


# -- reading --------------------------------------------------------------------------------------------------------


class AseSource:
    """One file as ASE reads it."""

    units: Mapping[str, str] | None = UNITS

    def __init__(self, path: Path, name: str) -> None:
        if path.suffix == ".zst":
            raise FormatError(
                f"{path}: ASE, which reads {name!r}, does not decompress .zst; decompress it first (zstd -d)",
                "reject-unknown-format",
            )
        self.name = str(path)
        self._path = path
        self._format = name

    def count(self) -> int | None:
        """Return the number of frames of an extended XYZ or .traj file, None for others.

        Raises:
            FormatError: The file is cut short or has text between its frames (``reject-malformed-source``).
        """
        if self._format == EXTXYZ:
            return self._count_xyz()
        if self._format == TRAJ:
            from ase.io.trajectory import TrajectoryReader

            with self._reading("the header"), TrajectoryReader(self.name) as file:
                return len(file)
        return None

    def _count_xyz(self) -> int:
        """Count the frames of an XYZ file by its counts of atoms; ASE stops at a blank line without a word."""
        from ase.io.formats import open_with_compression

        frames = 0
        with self._reading("the counts of atoms"), open_with_compression(self.name) as file:
            while line := file.readline():
                if line.lstrip().startswith("VEC") and frames:
                    continue
                if not line.strip():
                    if rest := next((text for text in file if text.strip()), None):
                        raise self._malformed(f"frame {frames}", f"an empty line, and later {rest.strip()[:40]!r}")
                    break
                if not line.strip().isdigit():
                    raise self._malformed(
                        f"frame {frames}", f"a count of atoms is expected, found {line.strip()[:40]!r}"
                    )
                atoms = int(line)
                if not file.readline() or sum(1 for _ in zip(range(atoms), file, strict=False)) < atoms:
                    raise self._malformed(f"frame {frames}", f"the file ends within its {atoms} atoms")
                frames += 1
        return frames

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frames from the first one on.

        Raises:
            FormatError: ASE cannot read the file (``reject-malformed-source``).
            SchemaError: A frame cannot be held.
        """
        self.count()
        require_ase()
        from ase.io import iread

        images = iread(self.name, index=slice(None), format=self._format, do_not_split_by_at_sign=True)
        position = 0
        while True:
            with self._reading(f"frame {position}"):
                atoms = next(images, None)
            if atoms is None:
                break
            try:
                yield frame_of_atoms(atoms, notes)
            except SchemaError as error:
                raise SchemaError(f"{self.name}, frame {position}: {error.message}", error.rule) from error
            position += 1

    def _reading(self, what: str) -> _Reading:
        return _Reading(self, what)

    def _malformed(self, what: str, why: object) -> FormatError:
        return FormatError(f"{self.name}, {what}: not readable as {self._format}: {why}", _MALFORMED)


class _Reading:
    """Turns whatever ASE raises over a file into one error that names the file; ASE raises errors of many kinds."""

    def __init__(self, source: AseSource, what: str) -> None:
        self._source = source
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, (FormatError, ImportError, MemoryError)):
            why = f"{error}" if str(error) else type(error).__name__
            raise self._source._malformed(self._what, why) from error


# -- writing --------------------------------------------------------------------------------------------------------


class LazyAtoms(Sequence[Any]):
    """The `ase.Atoms` of a run, each built when it is asked for.

    Args:
        images: The frames; their steps, unless they just count, and times join ``atoms.info``.
        notes: Told about what ASE does not hold.
        progress: Called with frames built and frames in all.
        target: The format they are for, whose own limits are noted too.
    """

    def __init__(
        self, images: Images, notes: Notes, progress: Progress | None = None, *, target: str | None = None
    ) -> None:
        self._images = images
        self._numbered = images.numbered
        self._notes = notes
        self._builder = AtomsBuilder(images.system, images.schema, notes)
        self._progress = progress
        self._target = target

    def __len__(self) -> int:
        return len(self._images.frames)

    @overload
    def __getitem__(self, index: int) -> Atoms: ...
    @overload
    def __getitem__(self, index: slice) -> list[Atoms]: ...
    def __getitem__(self, index: int | slice) -> Atoms | list[Atoms]:
        if isinstance(index, slice):
            return [self[position] for position in range(len(self))[index]]
        position = range(len(self))[index]
        frame = self._images.frames[position]
        info: dict[str, Any] = {}
        if self._images.steps is not None and not self._numbered and not STEP_KEYS & frame.meta.keys():
            info["step"] = int(self._images.steps[position])
        if self._images.times is not None:
            info["time"] = float(self._images.times[position])
        atoms = self._builder.build(frame, info)
        if self._target is not None:
            _note_limits(atoms, self._target, self._notes)
        if self._progress is not None:
            self._progress(position + 1, len(self))
        return atoms


def write_images(path: Path, images: Images, notes: Notes, progress: Progress | None, name: str) -> None:
    """Write frames to a file in one of ASE's formats; it is there complete or not at all.

    Args:
        path: The file; one that is there is replaced.
        images: The frames.
        notes: Told about what ASE, or the format, does not hold.
        progress: Called with frames done and frames in all.
        name: ASE's name of the format.

    Raises:
        SchemaError: The format holds one frame and there are more (``reject-single-frame``), ASE cannot write them
            (``reject-foreign-write``), or the frames are no atoms.
    """
    require_ase()
    from ase.io import write
    from ase.io.formats import ioformats

    atoms = LazyAtoms(images, notes, progress, target=name)
    if ioformats[name].single and len(atoms) != 1:
        raise SchemaError(
            f"{path}: a file in the format {name!r} holds one frame, there are {len(atoms)}; choose one with --frames",
            "reject-single-frame",
        )
    # some of ASE's writers write several files, or a folder; all of it appears at once
    folder = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    folder.mkdir(parents=True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            try:
                write(str(folder / path.name), atoms if name in _STREAMED else list(atoms), format=name)
            except (FormatError, SchemaError, OSError):
                raise
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                raise SchemaError(f"{path}: ASE cannot write it as {name} ({why})", "reject-foreign-write") from error
        for warning in caught:
            notes.lost(f"{name} file", str(warning.message))
        for written in sorted(folder.iterdir()):
            written.replace(path.with_name(written.name))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _note_limits(atoms: Atoms, target: str, notes: Notes) -> None:
    """Note what a format does not hold of an `ase.Atoms`; of most formats only ASE's writer knows."""
    extra = atoms.arrays.keys() - _TRAJ_ARRAYS
    if target == TRAJ:
        for name in sorted(extra):
            notes.lost(f"array {name!r}", "is left out; a .traj file has no arrays but ASE's own")
    elif target not in _STREAMED:
        results = () if atoms.calc is None else atoms.calc.results
        found = [*sorted(extra), *results, *atoms.info]
        if found:
            notes.changed(f"{target} file", f"holds of {', '.join(found)} what ASE's writer keeps; read it back to see")
    elif target == "xyz":
        notes.changed("xyz file", "holds elements and positions only; extxyz holds everything")
