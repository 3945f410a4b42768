"""The first line of LAMMPS' data and molecule files: a title, and what LAMMPS itself states there.

LAMMPS writes ``LAMMPS data file via write_data, version ..., timestep = 5, units = real``. Step and unit style are
taken out of the line and put back when it is written; the rest is the title.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from molrec.formats.lammps_table import Place
from molrec.formats.notes import Notes

__all__ = ["TITLE", "UNIT_STYLES", "Title", "read_title", "unit_style_of", "write_title"]

#: LAMMPS' unit styles; a frame says ``{"preset": <style>}``.
UNIT_STYLES = ("lj", "real", "metal", "si", "cgs", "electron", "micro", "nano")

#: Meta key of the title.
TITLE = "title"

_STEP = re.compile(r",?\s*\btimestep\s*=\s*(-?\d+)(?=\s|,|$)")
_UNITS = re.compile(r",?\s*\bunits\s*=\s*([^\s,]+)")


class Title(NamedTuple):
    """What a first line says: the title, the unit style and the step, None where it does not say."""

    text: str
    units: str | None
    step: int | None


def read_title(line: bytes, place: Place) -> Title:
    """Read a first line; it is the one line that may hold text beyond ASCII.

    Raises:
        FormatError: It is not UTF-8, or names a unit style LAMMPS does not have (``reject-malformed-source``).
    """
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise place.error(0, "is neither ASCII nor UTF-8; write it again in UTF-8") from error
    units = _UNITS.search(text)
    step = _STEP.search(text)
    if units is not None and units[1] not in UNIT_STYLES:
        raise place.error(0, f"units = {units[1]!r} is no unit style of LAMMPS ({', '.join(UNIT_STYLES)})")
    bare = _STEP.sub("", _UNITS.sub("", text)).strip()
    return Title(bare, units[1] if units else None, int(step[1]) if step else None)


def write_title(text: str, units: str | None, step: int | None) -> str:
    """Return a first line of a title, a step and a unit style."""
    parts = [" ".join(text.split()) or "LAMMPS file written by molrec"]
    if step is not None:
        parts.append(f"timestep = {step}")
    if units is not None:
        parts.append(f"units = {units}")
    return ", ".join(parts)


def unit_style_of(stated: Any, notes: Notes) -> str | None:
    """Return the unit style a ``units`` value of a frame stands for; a note says when it is none of LAMMPS'."""
    if stated is None:
        return None
    preset = stated.get("preset") if isinstance(stated, Mapping) else stated
    if preset in UNIT_STYLES and (not isinstance(stated, Mapping) or len(stated) == 1):
        return str(preset)
    notes.lost("units", f"are left out: {stated!r} is no unit style of LAMMPS ({', '.join(UNIT_STYLES)})")
    return None
