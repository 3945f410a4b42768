"""The columns of the section Atoms for each atom style, and which style a section without a name can be.

Names are canonical where the vocabulary has one; else they are the names LAMMPS uses for the same quantity in dumps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from molrec.formats.lammps_table import Field

__all__ = ["IMAGES", "TEMPLATED", "AtomStyle", "Evidence", "candidates", "style_of"]

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


class Evidence(NamedTuple):
    """What a file shows of its style besides the rows.

    Attributes:
        width: Number of fields of a row.
        topology: Whether it has bonds, angles, dihedrals or impropers, or types of them.
        masses: Whether it has masses by type.
        ellipsoids: Whether it has ellipsoids.
        integral: Tells of a column by position whether every row has an integer there.
        typed: Tells of a column by position whether every row has the number or label of a type there.
    """

    width: int
    topology: bool
    masses: bool
    ellipsoids: bool
    integral: Callable[[int], bool]
    typed: Callable[[int], bool]


def candidates(evidence: Evidence) -> list[tuple[AtomStyle, bool]]:
    """Return the common styles a section without a name can be in, each with whether rows end with image flags."""
    found = []
    for name in _COMMON_STYLES:
        style = style_of(name)
        assert style is not None
        if (
            (evidence.topology and name not in _WITH_TOPOLOGY)
            or (evidence.masses and name in _WITH_MASS_PER_ATOM)
            or evidence.ellipsoids != (name == "ellipsoid")
        ):
            continue
        for fields, images in ((style.fields, False), ((*style.fields, *IMAGES), True)):
            if len(fields) == evidence.width and all(
                evidence.typed(position) if field.name == "type_id" else evidence.integral(position)
                for position, field in enumerate(fields)
                if field.kind == "integer"
            ):
                found.append((style, images))
    return found
