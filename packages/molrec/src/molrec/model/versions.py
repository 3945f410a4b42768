"""What a meta document states of versions: of the format, and of the meaning of a force field.

The rules are those of ``docs/spec/record.md`` (version) and ``docs/spec/forcefield.md`` (which meaning); they hold for
records and collections alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from molrec.errors import FormatError, MolrecError

__all__ = ["MOLREC_VERSION", "VERSION_KEY", "check_version", "forcefield_version", "with_forcefield_version"]

#: The newest version of the format; writers stamp it, readers accept 1 up to it.
MOLREC_VERSION = 1
VERSION_KEY = "molrec_version"


def check_version(document: Mapping[str, Any], where: str, kind: type[MolrecError] = FormatError) -> None:
    """Check the version a meta document states, where it states one.

    Args:
        document: The document.
        where: What to call it.
        kind: `SchemaError` where it is to be written.

    Raises:
        MolrecError: It is not an integer this library reads (``reject-molrec-version``), as `kind`.
    """
    version = document.get(VERSION_KEY, MOLREC_VERSION)
    if type(version) is not int or not 1 <= version <= MOLREC_VERSION:
        raise kind(
            f"{where}: {VERSION_KEY} is {version!r}; this library reads versions 1 to {MOLREC_VERSION} (what is newer "
            "needs a newer molrec)",
            "reject-molrec-version",
        )


def forcefield_version(meta: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the version of the meaning of the force field, as a meta document states it."""
    match meta.get("modules"):
        case {"forcefield": {"version": [int(major), int(minor)]}}:
            return major, minor
    return None


def with_forcefield_version(meta: Mapping[str, Any] | None, version: tuple[int, int] | None) -> dict[str, Any]:
    """Return a copy of a meta document that states the version of the force field; its own statement stays."""
    document = dict(meta or {})
    modules = document.get("modules", {})
    if version is None or not isinstance(modules, dict):
        return document
    return {**document, "modules": {"forcefield": {"version": list(version)}, **modules}}
