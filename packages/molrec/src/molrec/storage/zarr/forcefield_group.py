"""The ``forcefield`` section on Zarr: document as attributes, a block group per table (``docs/spec/forcefield.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from molrec import typedjson
from molrec.errors import FormatError, SchemaError
from molrec.model.versions import forcefield_version
from molrec.storage.zarr.files import write_document
from molrec.storage.zarr.frame_group import group_attributes, read_block_groups, write_block_groups
from molrec.storage.zarr.layout import group_document
from molrec.storage.zarr.sources import Source, read_document

if TYPE_CHECKING:
    from molrec.model.forcefield_section import ForceFieldSection

__all__ = ["FORCEFIELD", "read_forcefield_group", "write_forcefield_group"]

FORCEFIELD = "forcefield"


def write_forcefield_group(folder: Path, section: ForceFieldSection) -> None:
    """Write a checked section below a folder that does not exist yet; its own ``zarr.json`` comes last."""
    write_block_groups(folder, section.tables)
    attributes: dict[str, Any] = typedjson.coerce("json", section.document, FORCEFIELD)
    write_document(folder, group_document(attributes))


def read_forcefield_group(source: Source, meta: Mapping[str, Any]) -> ForceFieldSection | None:
    """Read the section as it lies there, or return None when it is not there; numbers are never converted.

    Args:
        source: The record.
        meta: Its meta document, which states the version of the section's meaning.

    Raises:
        FormatError: A table breaks the format, or the section one of the ``reject-ff-`` rules.
    """
    from molrec.model.forcefield_section import ForceFieldSection

    document = read_document(source, FORCEFIELD)
    if document is None:
        return None
    where = f"{source.name}: {FORCEFIELD}"
    attributes = dict(group_attributes(document, where))
    section = ForceFieldSection(attributes, read_block_groups(source, FORCEFIELD), forcefield_version(meta))
    try:
        section.check(where)
    except SchemaError as error:
        raise FormatError(error.message, error.rule) from error
    return section
