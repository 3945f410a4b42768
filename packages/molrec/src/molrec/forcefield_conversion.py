"""Force fields from anywhere to anywhere: foreign files, records, and back; what ``molrec forcefield`` does."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

from molrec.conversion import is_record, names_record
from molrec.errors import SchemaError
from molrec.formats.forcefield_source import ForceFieldContent, read_forcefield, write_forcefield
from molrec.formats.notes import Note, Notes
from molrec.storage.zarr.record import open_record, write_record
from molrec.storage.zarr.root import refuse_existing

__all__ = ["ForceFieldConversion", "convert_forcefield", "load_forcefield"]


@dataclass(frozen=True, slots=True)
class ForceFieldConversion:
    """What a conversion did.

    Attributes:
        output: What was written.
        styles: Rows of every style, by the name of its table.
        notes: What was lost or changed on the way.
    """

    output: Path
    styles: dict[str, int]
    notes: tuple[Note, ...]


def load_forcefield(
    location: str | Path, *, source_format: str | None = None, units: str | None = None, notes: Notes | None = None
) -> ForceFieldContent:
    """Return the force field of a record or a foreign file, with the system whose types it names.

    Args:
        location: A record (folder, packed, URL) or a foreign file.
        source_format: Format of a foreign file, where content and suffix do not tell.
        units: Unit preset of a foreign file that states none.
        notes: Told what has no place in a force field.

    Raises:
        SchemaError: The record has no force field (``reject-ff-none``), or the file cannot be read as one.
        FormatError: The record is damaged.
    """
    if not is_record(location):
        return read_forcefield(Path(location), format_name=source_format, units=units, notes=notes)
    with open_record(location) as record:
        found, system = record.forcefield, record.system
    if found is None:
        raise SchemaError(f"{location} has no force field", "reject-ff-none")
    return ForceFieldContent(found, system)


def convert_forcefield(
    source: str | Path,
    output: str | Path,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    units: str | None = None,
    overwrite: bool = False,
    strict: bool = False,
) -> ForceFieldConversion:
    """Convert a force field, with the system it comes with, from one place to another.

    Args:
        source: A record or a foreign file.
        output: A record (``*.mrec``, ``*.mrec.zip``) or a foreign file.
        source_format: Format of a foreign source, where content and suffix do not tell.
        target_format: Format of a foreign output, where its suffix does not tell.
        units: Unit preset of a source that states none.
        overwrite: Whether an output that is there is replaced.
        strict: Refuse what cannot be carried instead of noting it.

    Raises:
        SchemaError: The output exists (``reject-existing-path``), or the force field does not fit it. Nothing is left
            behind.
    """
    target, notes = Path(output), Notes(strict=strict)
    if not overwrite:
        refuse_existing(target)
    content = load_forcefield(source, source_format=source_format, units=units, notes=notes)
    if names_record(target):
        write_record(target, system=content.system, forcefield=content.forcefield, overwrite=overwrite)
    else:
        temporary = target.with_name(f".{uuid.uuid4().hex}.{target.name}")
        try:
            write_forcefield(temporary, content.forcefield, content.system, format_name=target_format, notes=notes)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    styles = {style.block: len(style) for style in content.forcefield.styles}
    return ForceFieldConversion(target, styles, tuple(notes))
