"""Force fields in foreign files: one interface to read and to write them, whatever program they belong to.

A source gives a `ForceField` and, where the file also describes a system, the `Frame` whose types it names. Numbers
stay in the units of the source, angles become radians. Residue templates and run parameters are out of scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

from molrec.errors import SchemaError
from molrec.formats.notes import Notes
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame

__all__ = [
    "MALFORMED",
    "TARGET",
    "UNKNOWN",
    "UNSUPPORTED",
    "ForceFieldContent",
    "ForceFieldFormat",
    "SourceLine",
    "forcefield_formats",
    "not_in_target",
    "read_forcefield",
    "write_forcefield",
]

#: A source is damaged or not what it says it is.
MALFORMED = "reject-ff-source-malformed"
#: A source holds something that a force field of this format has no exact word for.
UNSUPPORTED = "reject-ff-source-unsupported"
#: A target has no word for something the force field holds.
TARGET = "reject-ff-target"
#: No force-field format fits a file or a name.
UNKNOWN = "reject-ff-source-unknown"

_HEAD_BYTES = 1 << 16


class ForceFieldContent(NamedTuple):
    """What a source holds: the force field and the system whose types it names, None where there is none."""

    forcefield: ForceField
    system: Frame | None


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source, for messages.

    Attributes:
        path: The file, as the user called it.
        number: Line number, from 1.
    """

    path: str
    number: int

    def malformed(self, why: str) -> SchemaError:
        """Return the refusal of a damaged line."""
        return SchemaError(f"{self.path}:{self.number}: {why}", MALFORMED)

    def unsupported(self, why: str) -> SchemaError:
        """Return the refusal of something that cannot be stored exactly."""
        return SchemaError(f"{self.path}:{self.number}: {why}", UNSUPPORTED)

    def numbers(self, words: tuple[str, ...] | list[str], what: str) -> list[float]:
        """Return words as numbers.

        Raises:
            SchemaError: One is no number (``reject-ff-source-malformed``).
        """
        found = []
        for word in words:
            try:
                found.append(float(word))
            except ValueError as error:
                raise self.malformed(f"{what} takes numbers, found {word!r}") from error
        return found


def not_in_target(target: str, what: str, why: str) -> SchemaError:
    """Return the refusal of something a target format has no word for."""
    return SchemaError(f"{what} cannot be written for {target}: {why}", TARGET)


class ForceFieldReader(Protocol):
    """Reads a file; ``units`` is a preset for files that do not state their own."""

    def __call__(self, path: Path, notes: Notes, units: str | None) -> ForceFieldContent: ...


class ForceFieldWriter(Protocol):
    """Writes a force field, with the system it belongs to where the target describes one."""

    def __call__(self, path: Path, forcefield: ForceField, system: Frame | None, notes: Notes) -> None: ...


@dataclass(frozen=True, slots=True)
class ForceFieldFormat:
    """One foreign force-field format.

    Attributes:
        name: What it is called on the command line.
        suffixes: Suffixes of its files, lower case.
        recognizes: Tells by the first bytes of a file whether it is in this format.
        read: The reader.
        write: The writer, or None for a format that is only read.
    """

    name: str
    suffixes: tuple[str, ...]
    recognizes: Callable[[bytes], bool]
    read: ForceFieldReader
    write: ForceFieldWriter | None


@cache
def forcefield_formats() -> Mapping[str, ForceFieldFormat]:
    """Return the force-field formats by name, in the order their content is tried."""
    from molrec.formats import forcefield_amber, forcefield_gromacs, forcefield_lammps, forcefield_openmm

    found = (
        forcefield_openmm.FORMAT,
        forcefield_amber.FORMAT,
        forcefield_gromacs.FORMAT,
        forcefield_lammps.FORMAT,
    )
    return {one.name: one for one in found}


def read_forcefield(
    path: str | Path, *, format_name: str | None = None, units: str | None = None, notes: Notes | None = None
) -> ForceFieldContent:
    """Read a foreign force field.

    Args:
        path: The file; files it includes are read with it.
        format_name: The format when the caller knows it; else content decides, then the suffix.
        units: The unit preset of a file that does not state one.
        notes: Told what has no place in a force field; without, a `ConversionWarning` is issued for each loss.

    Raises:
        SchemaError: No such file, no format fits (``reject-ff-source-unknown``), the file is damaged
            (``reject-ff-source-malformed``), holds what cannot be stored exactly (``reject-ff-source-unsupported``), or
            states no units (``reject-ff-no-units``).
    """
    path = Path(path)
    own = Notes() if notes is None else notes
    found = _recognized(path) if format_name is None else _named(format_name)
    content = found.read(path, own, units)
    if notes is None:
        own.warn()
    return content


def write_forcefield(
    path: str | Path,
    forcefield: ForceField,
    system: Frame | None = None,
    *,
    format_name: str | None = None,
    notes: Notes | None = None,
) -> None:
    """Write a force field in a foreign format.

    Args:
        path: The file.
        forcefield: The force field; it is checked first.
        system: The system it belongs to; topologies of GROMACS and AMBER need it.
        format_name: The format; else the suffix decides.
        notes: Told what is left out; without, a `ConversionWarning` is issued for each loss.

    Raises:
        SchemaError: No format fits (``reject-ff-source-unknown``), or the format has no word for something that
            decides an energy (``reject-ff-target``), or the numbers have another meaning than version 1 gives them
            (``reject-ff-other-meaning``). Nothing is written then.
    """
    path = Path(path)
    own = Notes() if notes is None else notes
    if format_name is None:
        fitting = [one for one in forcefield_formats().values() if path.suffix.lower() in one.suffixes and one.write]
        if not fitting:
            raise SchemaError(
                f"{path}: the suffix stands for no force-field format that is written; name one of {_listing()}",
                UNKNOWN,
            )
        found = fitting[0]
    else:
        found = _named(format_name)
    if found.write is None:
        raise SchemaError(f"{path}: files in the format {found.name!r} are read, never written", UNKNOWN)
    forcefield.require_understood()
    forcefield.to_section()
    found.write(path, forcefield, system, own)
    if notes is None:
        own.warn()


def _recognized(path: Path) -> ForceFieldFormat:
    if not path.is_file():
        raise SchemaError(f"{path}: there is no such file", "reject-no-such-file")
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    for one in forcefield_formats().values():
        if one.recognizes(head):
            return one
    for one in forcefield_formats().values():
        if path.suffix.lower() in one.suffixes:
            return one
    raise SchemaError(f"{path}: neither content nor suffix is a force field's; name one of {_listing()}", UNKNOWN)


def _named(name: str) -> ForceFieldFormat:
    found = forcefield_formats().get(name)
    if found is None:
        raise SchemaError(f"there is no force-field format {name!r}; known are {_listing()}", UNKNOWN)
    return found


def _listing() -> str:
    return ", ".join(forcefield_formats())
