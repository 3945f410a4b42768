"""How values on the command line are spelled, parsed in one place."""

from __future__ import annotations

import typer

__all__ = ["parse_frames", "parse_keys", "parse_precision", "parse_units"]

_POSITIONS = ("x", "y", "z")


def parse_precision(text: str | None) -> dict[str, float]:
    """Return column to precision of ``1e-3`` (positions) or ``x,y,z=1e-3,vx=1e-4``.

    Names before an equals sign share the number after it.

    Raises:
        typer.BadParameter: The text is neither.
    """
    if text is None:
        return {}
    if "=" not in text:
        return dict.fromkeys(_POSITIONS, _number(text, text))
    found: dict[str, float] = {}
    waiting: list[str] = []
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not name.strip():
            raise typer.BadParameter(f"a column name is missing in {text!r}")
        waiting.append(name.strip())
        if equals:
            number = _number(value, text)
            if repeated := found.keys() & set(waiting):
                raise typer.BadParameter(f"{', '.join(sorted(repeated))} is given twice in {text!r}")
            found |= dict.fromkeys(waiting, number)
            waiting = []
    if waiting:
        raise typer.BadParameter(f"{', '.join(waiting)} has no precision in {text!r}; write {waiting[-1]}=1e-3")
    return found


def _number(value: str, text: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise typer.BadParameter(
            f"{value!r} in {text!r} is no number; write 1e-3 for positions, or x,y,z=1e-3,vx=1e-4"
        ) from None


def parse_frames(text: str | None) -> slice:
    """Return the slice of ``START:STOP:STEP`` (each may be left out), or of one position.

    Raises:
        typer.BadParameter: The text is neither.
    """
    if text is None:
        return slice(None)
    try:
        bounds = [int(part) if part.strip() else None for part in text.split(":")]
    except ValueError:
        bounds = []
    if len(bounds) == 1 and bounds[0] is not None:
        return slice(bounds[0], bounds[0] + 1 or None)
    if len(bounds) not in (2, 3) or (len(bounds) == 3 and bounds[2] is not None and bounds[2] < 1):
        raise typer.BadParameter(f"{text!r} is no selection; write START:STOP, START:STOP:STEP, or one number")
    return slice(*bounds)


def parse_units(text: str | None) -> dict[str, str] | None:
    """Return quantity to unit of ``length=angstrom,energy=eV``, or of ``ase``, which stands for ASE's units.

    Raises:
        typer.BadParameter: The text is neither.
    """
    if text is None:
        return None
    if text == "ase":
        from molrec.formats.ase_atoms import UNITS

        return dict(UNITS)
    return parse_keys(text.split(","), "length=angstrom,energy=eV,force=eV/angstrom, or ase")


def parse_keys(texts: list[str] | None, example: str) -> dict[str, str]:
    """Return name to value of texts like ``name=value``.

    Raises:
        typer.BadParameter: A text is none, or names what another names.
    """
    found: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise typer.BadParameter(f"{text!r} is no pair; write {example}")
        if name in found:
            raise typer.BadParameter(f"{name} is given twice")
        found[name] = value
    return found
