"""Names of types and numbers of rows as LAMMPS takes them; anything else is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from molrec.formats.forcefield_source import not_in_target
from molrec.formats.lammps_ids import check_label

__all__ = ["checked_name", "number_of", "numbers_of"]

_TARGET = "LAMMPS"


def checked_name(name: str, what: str) -> str:
    """Return a type's name if LAMMPS takes it as a number or a label.

    Raises:
        SchemaError: It does not (``reject-ff-target``).
    """
    wrong = None if name.isdecimal() else check_label(name)
    if wrong is None and not name.isdecimal() and (name[0] in "#*&$" or "*" in name or '"' in name or "'" in name):
        wrong = "has a character with a meaning in scripts"
    if wrong is not None:
        raise not_in_target(_TARGET, what, f"{name!r} is neither the number of a type nor a label: it {wrong}")
    return name


def number_of(value: float | str | None, name: str, what: str) -> float:
    """Return a parameter as a number.

    Raises:
        SchemaError: It is missing or a string (``reject-ff-target``).
    """
    if value is None or isinstance(value, str):
        raise not_in_target(_TARGET, what, f"it needs a number {name!r}, found {value!r}")
    return float(value)


def numbers_of(row: Mapping[str, float | str | int], names: Iterable[str], what: str) -> list[float]:
    """Return parameters of a row as numbers.

    Raises:
        SchemaError: One is missing (``reject-ff-target``).
    """
    return [number_of(row.get(name), name, what) for name in names]
