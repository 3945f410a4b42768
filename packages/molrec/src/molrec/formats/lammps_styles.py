"""The columns of the section Atoms for each atom style, and which style a section without a name can be.

Names are canonical where the vocabulary has one; else they are the names LAMMPS uses for the same quantity in dumps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from molrec.formats.lammps_sections import Section
from molrec.formats.lammps_table import Field

__all__ = ["IMAGES", "TEMPLATED", "AtomStyle", "Clues", "style_of", "style_of_section"]

#: The image flags a row may end with.
IMAGES: tuple[Field, ...] = tuple(Field(name, "integer") for name in ("ix", "iy", "iz"))

#: Styles whose rows cannot be read from the file alone, and why.
TEMPLATED = {
    "template": "its bonds stand in molecule templates, outside of the file",
    "tdpd": "its number of columns is stated in the input script, not in the file",
}

_INTEGERS = frozenset(("id", "mol_id", "type_id", "ellipsoidflag", "lineflag", "triangleflag", "bodyflag", "etag"))
#: What hybrid styles list first, before the columns of their sub-styles.
_COMMON = ("id", "type_id", "x", "y", "z")

_POSITION = "x y z"
_LAYOUTS: dict[str, str] = {
    "atomic": f"id type_id {_POSITION}",
    "charge": f"id type_id charge {_POSITION}",
    "bond": f"id mol_id type_id {_POSITION}",
    "angle": f"id mol_id type_id {_POSITION}",
    "molecular": f"id mol_id type_id {_POSITION}",
    "full": f"id mol_id type_id charge {_POSITION}",
    "sphere": f"id type_id diameter density {_POSITION}",
    "ellipsoid": f"id type_id ellipsoidflag density {_POSITION}",
    "dipole": f"id type_id charge {_POSITION} mux muy muz",
    "bpm/sphere": f"id mol_id type_id diameter density {_POSITION}",
    "line": f"id mol_id type_id lineflag density {_POSITION}",
    "tri": f"id mol_id type_id triangleflag density {_POSITION}",
    "body": f"id type_id bodyflag mass {_POSITION}",
    "peri": f"id type_id volume density {_POSITION}",
    "electron": f"id type_id charge espin eradius {_POSITION}",
    "wavepacket": f"id type_id charge espin eradius etag cs_re cs_im {_POSITION}",
    "dpd": f"id type_id theta {_POSITION}",
    "edpd": f"id type_id edpd_temp edpd_cv {_POSITION}",
    "mdpd": f"id type_id rho {_POSITION}",
    "sph": f"id type_id rho esph cv {_POSITION}",
    "smd": f"id type_id mol_id volume mass kradius cradius x0 y0 z0 {_POSITION}",
    "spin": f"id type_id {_POSITION} spx spy spz sp",
    "dielectric": f"id type_id charge {_POSITION} mux muy muz area ed em epsilon curvature",
}

#: Columns a row of the section Velocities has after id, vx, vy, vz.
_MORE_VELOCITIES: dict[str, tuple[str, ...]] = {
    "electron": ("ervel",),
    "wavepacket": ("ervel",),
    "ellipsoid": ("angmomx", "angmomy", "angmomz"),
    "line": ("omegax", "omegay", "omegaz"),
    "tri": ("angmomx", "angmomy", "angmomz"),
    "body": ("angmomx", "angmomy", "angmomz"),
    "sphere": ("omegax", "omegay", "omegaz"),
    "bpm/sphere": ("omegax", "omegay", "omegaz"),
}

#: The styles a section without a name is tried as; the rarer ones must be named.
_COMMON_STYLES = ("atomic", "charge", "molecular", "full", "sphere", "ellipsoid", "dipole")
_WITH_TOPOLOGY = ("molecular", "full")
_WITH_MASS_PER_ATOM = ("sphere", "ellipsoid")


class AtomStyle(NamedTuple):
    """One atom style.

    Attributes:
        name: As ``atom_style`` takes it, sub-styles of a hybrid included.
        fields: Fields of a row of the section Atoms, image flags left out.
        velocities: Fields of a row of the section Velocities.
    """

    name: str
    fields: tuple[Field, ...]
    velocities: tuple[Field, ...]


def style_of(name: str) -> AtomStyle | None:
    """Return a style by name, such as ``full`` or ``hybrid sphere charge``, or None when it is not known.

    Suffixes of accelerated variants (``full/kk``) are ignored, as LAMMPS does.
    """
    words = [_plain(word) for word in name.split()]
    if not words:
        return None
    if words[0] != "hybrid":
        layout = _LAYOUTS.get(words[0])
        if layout is None or len(words) > 1:
            return None
        return _style(words[0], layout.split(), _MORE_VELOCITIES.get(words[0], ()))
    parts = [_LAYOUTS.get(word) for word in words[1:]]
    if not parts or None in parts:
        return None
    columns = [*_COMMON, *(column for part in parts if part is not None for column in part.split())]
    more = [column for word in words[1:] for column in _MORE_VELOCITIES.get(word, ())]
    # a column several sub-styles share stands where the first of them has it
    return _style(" ".join(words), list(dict.fromkeys(columns)), tuple(dict.fromkeys(more)))


def _plain(word: str) -> str:
    return word if word in _LAYOUTS else word.removesuffix("/kk").removesuffix("/omp")


def _style(name: str, columns: Sequence[str], more: Sequence[str]) -> AtomStyle:
    return AtomStyle(
        name,
        tuple(Field(column, "integer" if column in _INTEGERS else "real") for column in columns),
        (Field("id", "integer"), *(Field(column, "real") for column in ("vx", "vy", "vz", *more))),
    )


class Clues(NamedTuple):
    """What a file shows of its atom style besides the rows.

    Attributes:
        topology: Whether it has bonds, angles, dihedrals or impropers, or types of them.
        masses: Whether it has masses by type.
        ellipsoids: Whether it has ellipsoids.
        labels: Labels of the atom types.
    """

    topology: bool
    masses: bool
    ellipsoids: bool
    labels: frozenset[str]


def style_of_section(section: Section, rows: Sequence[bytes], clues: Clues) -> tuple[AtomStyle, bool]:
    """Return the style of a section Atoms, and whether its rows end with image flags.

    The comment behind the section's name says the style. Without it, the columns and the clues must leave one choice.

    Raises:
        FormatError: The style is not read, does not fit the columns, or is not clear.
    """
    width = len(rows[0].split()) if rows else 0
    words = section.hint.split()
    if words and words[0] in TEMPLATED:
        raise section.place.error(-2, f"atom style {words[0]!r} is not read; {TEMPLATED[words[0]]}")
    style = style_of(section.hint)
    if style is None and words and words[0] == "hybrid":
        raise section.place.error(
            -2, f"{section.hint!r} does not say known sub-styles; write 'Atoms # hybrid sphere charge' for example"
        )
    if style is None:
        return _only_candidate(section, rows, width, clues)
    if rows and width not in (len(style.fields), len(style.fields) + len(IMAGES)):
        names = " ".join(field.name for field in style.fields)
        raise section.place.error(
            0, f"{width} fields where atom style {style.name!r} has {len(style.fields)} ({names}), or 3 more"
        )
    return style, width > len(style.fields)


def _only_candidate(section: Section, rows: Sequence[bytes], width: int, clues: Clues) -> tuple[AtomStyle, bool]:
    tokens = [row.split() for row in rows]
    found = list(_candidates(tokens, width, clues))
    if len(found) == 1:
        return found[0]
    fitting = ", ".join(dict.fromkeys(style.name for style, _ in found)) or "none of the common ones"
    raise section.place.error(
        -2,
        f"the atom style is not stated, and its {width} columns fit {fitting}; write the style behind the section's "
        "name, as in 'Atoms # full'",
    )


def _candidates(tokens: Sequence[Sequence[bytes]], width: int, clues: Clues) -> Iterator[tuple[AtomStyle, bool]]:
    """Yield the common styles a section can be in, each with whether rows end with image flags."""
    labels = {label.encode() for label in clues.labels}
    for name in _COMMON_STYLES:
        style = style_of(name)
        assert style is not None
        if (
            (clues.topology and name not in _WITH_TOPOLOGY)
            or (clues.masses and name in _WITH_MASS_PER_ATOM)
            or clues.ellipsoids != (name == "ellipsoid")
        ):
            continue
        for fields, images in ((style.fields, False), ((*style.fields, *IMAGES), True)):
            integers = {position: field.name for position, field in enumerate(fields) if field.kind == "integer"}
            if len(fields) == width and all(
                _all_integers(tokens, position, labels if column == "type_id" else set())
                for position, column in integers.items()
            ):
                yield style, images


def _all_integers(tokens: Sequence[Sequence[bytes]], position: int, others: Collection[bytes]) -> bool:
    """Tell whether every row has an integer, or one of some other tokens, in a column."""
    return all(
        position < len(row) and (row[position].lstrip(b"+-").isdigit() or row[position] in others) for row in tokens
    )
