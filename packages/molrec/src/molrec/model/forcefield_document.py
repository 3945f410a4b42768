"""The force-field document: name, units, source, special bonds, and the list of styles (``docs/spec/forcefield.md``).

The models check the document by itself; `forcefield_section` holds it against its tables. Keys nobody here knows are
kept. Numbers are what they are in the units the document states, and are never converted.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote_to_bytes

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from molrec.errors import SchemaError
from molrec.model.unit_words import is_plain_unit

__all__ = [
    "CATEGORY_ARITY",
    "FORCEFIELD_VERSION",
    "UNIT_PRESETS",
    "ForceFieldDocument",
    "ForceFieldSource",
    "ForceFieldUnits",
    "SpecialBonds",
    "StyleEntry",
    "parse_style_block_name",
    "read_document",
    "style_block_name",
]

#: Endpoints of a row, by category; a category that is not here has as many as its table shows.
CATEGORY_ARITY: dict[str, int] = {
    "atom": 0,
    "bond": 2,
    "angle": 3,
    "dihedral": 4,
    "improper": 4,
    "pair": 2,
    "pair14": 2,
    "constraint": 2,
    "virtual_site": 0,
    "drude": 2,
}

QUANTITIES = ("length", "energy", "angle", "charge", "mass", "time")

#: What a preset stands for; `lj` is reduced and states angles only.
UNIT_PRESETS: dict[str, dict[str, str]] = {
    name: dict(zip(QUANTITIES, units, strict=True)) if len(units) > 1 else {"angle": units[0]}
    for name, units in {
        "real": ("angstrom", "kcal/mol", "radian", "e", "dalton", "fs"),
        "metal": ("angstrom", "eV", "radian", "e", "dalton", "ps"),
        "si": ("m", "J", "radian", "C", "kg", "s"),
        "cgs": ("cm", "erg", "radian", "statcoulomb", "g", "s"),
        "electron": ("bohr", "hartree", "radian", "e", "dalton", "fs"),
        "micro": (
            "micrometer",
            "picogram * micrometer**2 / microsecond**2",
            "radian",
            "picocoulomb",
            "picogram",
            "microsecond",
        ),
        "nano": ("nm", "attogram * nm**2 / ns**2", "radian", "e", "attogram", "ns"),
        "lj": ("radian",),
    }.items()
}

#: Version of the meaning of every number, as `meta.modules.forcefield.version` of a record states it.
FORCEFIELD_VERSION: tuple[int, int] = (1, 0)

_NO_UNITS, _CONFLICT = "reject-ff-no-units", "reject-ff-units-conflict"
_NAME_SAFE = "-_"
_OPEN = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

type Finite = Annotated[float, Field(allow_inf_nan=False)]
type ParamValue = Finite | str


def style_block_name(category: str, style: str) -> str:
    """Return the name of a style's table: the category, a dot, and the percent-encoded style.

    Raises:
        SchemaError: The category is no lower-case word, or the style is empty (``reject-ff-malformed-document``).
    """
    if not category or not style or not category.replace("_", "a").isalnum() or category != category.lower():
        raise SchemaError(
            f"a style is a category such as 'bond' and a name such as 'harmonic', found {category!r} and {style!r}",
            "reject-ff-malformed-document",
        )
    return f"{category}.{''.join(_encoded(byte) for byte in style.encode('utf-8'))}"


def _encoded(byte: int) -> str:
    character = chr(byte)
    safe = byte < 128 and (character.isalnum() or character in _NAME_SAFE)
    return character if safe else f"%{byte:02X}"


def parse_style_block_name(name: str) -> tuple[str, str]:
    """Return category and style of a table's name.

    Raises:
        SchemaError: Not a name that `style_block_name` gives (``reject-ff-table-name``).
    """
    category, dot, encoded = name.partition(".")
    style = unquote_to_bytes(encoded).decode("utf-8", errors="replace")
    try:
        well_formed = bool(dot) and style_block_name(category, style) == name
    except SchemaError:
        well_formed = False
    if not well_formed:
        raise SchemaError(
            f"{name!r} is no style table's name; that is '<category>.<percent-encoded style>', "
            f"such as 'bond.harmonic' or 'pair.{quote('lj/cut', safe='')}'",
            "reject-ff-table-name",
        )
    return category, style


#: The first rule `ForceFieldUnits` enforces across keys, as JSON Schema has it.
_STATES_SOMETHING: dict[str, Any] = {
    "anyOf": [{"properties": {key: {"type": "string"}}, "required": [key]} for key in ("preset", *QUANTITIES)]
}

_SPECIAL_CLASSES = ("lj", "coul")
_MIXING_RULES = ("arithmetic", "geometric", "sixthpower")
#: The rule `StyleEntry` enforces on known style parameters, as JSON Schema has it.
_KNOWN_PARAMS: dict[str, Any] = {
    "properties": {"special": {"enum": list(_SPECIAL_CLASSES)}, "mixing": {"enum": list(_MIXING_RULES)}}
}


class ForceFieldUnits(BaseModel):
    """The unit system of every number: a preset, single quantities, or both where they agree."""

    model_config = ConfigDict(**_OPEN, json_schema_extra=_STATES_SOMETHING)
    preset: Literal["real", "metal", "si", "cgs", "electron", "micro", "nano", "lj"] | None = None
    """A unit system by name; angles are radians in each."""
    length: str | None = None
    """Unit of lengths."""
    energy: str | None = None
    """Unit of energies."""
    angle: str | None = None
    """Unit of angles."""
    charge: str | None = None
    """Unit of charges."""
    mass: str | None = None
    """Unit of masses."""
    time: str | None = None
    """Unit of times."""

    @model_validator(mode="after")
    def _agree(self, info: ValidationInfo) -> ForceFieldUnits:
        stated = {name: unit for name in QUANTITIES if (unit := getattr(self, name)) is not None}
        if self.preset is None and not stated:
            raise ValueError(f"{_NO_UNITS}: units state a preset or at least one quantity")
        for quantity, unit in stated.items():
            own = UNIT_PRESETS[self.preset].get(quantity) if self.preset is not None else None
            if quantity == "angle" and (info.context or {}).get("other_meaning"):
                continue
            if own is not None and not _same_unit(unit, own):
                raise ValueError(
                    f"{_CONFLICT}: {quantity} is stated as {unit!r}, but {own!r} is what the preset "
                    f"{self.preset!r} stands for"
                )
        return self

    def resolved(self) -> dict[str, str]:
        """Return the unit of every quantity that is stated, by itself or through the preset."""
        stated = {name: unit for name in QUANTITIES if (unit := getattr(self, name)) is not None}
        return {**(UNIT_PRESETS[self.preset] if self.preset is not None else {}), **stated}


@cache
def _same_unit(unit: str, other: str) -> bool:
    if unit == other:
        return True
    if not is_plain_unit(unit):
        raise ValueError(f"{_CONFLICT}: {unit!r} is not built like a unit")
    try:
        ratio = (_unit_registry().Quantity(1.0, unit) / _unit_registry().Quantity(1.0, other)).to_base_units()
    except Exception as error:
        raise ValueError(f"{_CONFLICT}: {unit!r} is no unit that is known ({error})") from error
    return bool(ratio.dimensionless) and math.isclose(ratio.magnitude, 1.0, rel_tol=1e-9)


@cache
def _unit_registry() -> Any:
    import pint

    return pint.UnitRegistry()


class ForceFieldSource(BaseModel):
    """Where a force field was read from."""

    model_config = _OPEN
    format: str
    """Name of the format it was read from."""
    uri: str | None = None
    """Where that lies."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """SHA-256 of its bytes, in lower-case hexadecimal."""


class SpecialBonds(BaseModel):
    """Weights of the pairs one, two and three bonds apart."""

    model_config = _OPEN
    lj: tuple[Finite, Finite, Finite]
    """Weights of dispersion and repulsion."""
    coul: tuple[Finite, Finite, Finite]
    """Weights of Coulomb energies."""


class StyleEntry(BaseModel):
    """One style: a functional form and what holds for all of its rows."""

    model_config = _OPEN
    category: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", examples=list(CATEGORY_ARITY))]
    """What its rows are about."""
    style: Annotated[str, Field(min_length=1)]
    """Name of the functional form."""
    params: Annotated[dict[str, ParamValue], Field(json_schema_extra=_KNOWN_PARAMS)] = Field(default_factory=dict)
    """What holds for all rows, such as `cutoff`, `mixing`, `special`."""
    expression: str | None = None
    """Energy of one term, for a form that is not registered."""
    endpoint_key: Literal["type", "class", "smirks"] = "type"
    """What endpoints name."""

    @model_validator(mode="after")
    def _known_words(self) -> StyleEntry:
        for key, words in (("special", _SPECIAL_CLASSES), ("mixing", _MIXING_RULES)):
            if key in self.params and self.params[key] not in words:
                raise ValueError(f"{key} is one of {', '.join(words)}, found {self.params[key]!r}")
        return self

    @property
    def block(self) -> str:
        """Name of the style's table."""
        return style_block_name(self.category, self.style)

    @property
    def arity(self) -> int | None:
        """Endpoints of a row; None for a category the format does not know."""
        return CATEGORY_ARITY.get(self.category)


class ForceFieldDocument(BaseModel):
    """Everything a force field says beside its tables."""

    model_config = _OPEN
    name: str
    """What the force field is called."""
    units: ForceFieldUnits
    """The units of every number."""
    source: ForceFieldSource | None = None
    """Where it was read from."""
    special_bonds: SpecialBonds | None = None
    """Weights of near pairs; absent where none are stated."""
    styles: list[StyleEntry] = Field(default_factory=list)
    """The styles, in order; each has a table."""


def read_document(document: dict[str, Any], where: str, *, other_meaning: bool = False) -> ForceFieldDocument:
    """Return a checked document.

    Args:
        document: The JSON object.
        where: What to call it.
        other_meaning: Whether its numbers may mean something else than in version 1, where angles are radians.

    Raises:
        SchemaError: No units (``reject-ff-no-units``), units that contradict their preset
            (``reject-ff-units-conflict``), or anything else out of form (``reject-ff-malformed-document``).
    """
    if "units" not in document:
        raise SchemaError(f"{where} states no units; give a preset such as 'real', or quantities", _NO_UNITS)
    try:
        return ForceFieldDocument.model_validate(document, context={"other_meaning": other_meaning})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        message = str(first["msg"]).removeprefix("Value error, ")
        rule, colon, rest = message.partition(": ")
        if colon and rule.startswith("reject-"):
            raise SchemaError(f"{where}, {place}: {rest}", rule) from error
        raise SchemaError(f"{where}, {place or 'document'}: {message}", "reject-ff-malformed-document") from error
