"""What holds for a collection and each of its records (``docs/spec/collection.md``). Knows nothing of files.

A collection is a sequence of small records under one declaration, one statement of units and at most one force field.
The rules of a single run (`FrameChecker`, `ResolvedRules`, carry-forward) hold for every record by itself; here stand
the rules that reach across records, or that tie a record's system to its trajectory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from molrec import typedjson
from molrec.errors import FormatError, SchemaError
from molrec.model.beside_system import check_other_columns, check_same_rows
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.names import check_name, check_reserved
from molrec.model.schema import SequenceSchema
from molrec.model.unit_words import is_plain_unit
from molrec.model.versions import MOLREC_VERSION, VERSION_KEY, check_version, with_forcefield_version

__all__ = [
    "INDEX_COLUMNS",
    "QUANTITIES",
    "UNITS",
    "RecordLike",
    "RunLike",
    "check_index_name",
    "check_joined",
    "check_prefix_sums",
    "check_record_meta",
    "check_units",
    "collection_meta",
    "joined_frame",
    "read_collection_meta",
    "same_unit",
    "units_with_defaults",
]

UNITS = "units"
#: Quantity -> dimension of its unit, as pint spells dimensions; amounts of substance are divided out.
QUANTITIES: dict[str, str] = {
    "length": "[length]",
    "energy": "[length] ** 2 * [mass] / [time] ** 2",
    "force": "[length] * [mass] / [time] ** 2",
    "charge": "[current] * [time]",
    "mass": "[mass]",
    "time": "[time]",
}
_DEFAULT_UNITS = {"mass": "amu", "charge": "e"}
#: The columns every index has, in order; a collection's own columns have other names.
INDEX_COLUMNS: dict[str, str] = {"first_frame": "u64", "n_frames": "u64", "n_atoms": "u64", "has_trajectory": "bool"}


class RunLike(Protocol):
    """A trajectory a record brings along: frames with their declaration, steps and times."""

    @property
    def schema(self) -> SequenceSchema:
        """The declaration of its frames."""

    @property
    def steps(self) -> Any:
        """Integration step of every frame."""

    @property
    def times(self) -> Any:
        """Time of every frame, or None."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Frame: ...


class RecordLike(Protocol):
    """A record as a collection takes it, wherever it is stored."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """The meta document."""

    @property
    def system(self) -> Frame | None:
        """What does not change."""

    @property
    def trajectory(self) -> RunLike | None:
        """The run."""


# -- the meta document ------------------------------------------------------------------------------------------------


def collection_meta(
    units: Mapping[str, str] | None, meta: Mapping[str, Any] | None, version: tuple[int, int] | None
) -> dict[str, Any]:
    """Return the meta document of a collection to write: stamped, with its units.

    Args:
        units: Quantity to unit.
        meta: Further keys.
        version: Version of the meaning of its force field, None without one.

    Raises:
        SchemaError: No units (``reject-no-units``), units that are none (``reject-units``), a version no reader accepts
            (``reject-molrec-version``), or a document that is no finite JSON.
    """
    stated = dict(meta or {})
    given = stated.pop(UNITS, None) if units is None else units
    if units is not None and UNITS in stated:
        raise SchemaError("units are stated twice, in meta and by themselves; state them once", "reject-units")
    check_units(given, "meta")
    stated = with_forcefield_version(stated, version)
    document: dict[str, Any] = {VERSION_KEY: MOLREC_VERSION, UNITS: dict(given or {}), **stated}
    check_version(document, "meta", SchemaError)
    exact: dict[str, Any] = typedjson.coerce("json", document, "meta")
    return exact


def read_collection_meta(document: Any, where: str) -> dict[str, Any]:
    """Return a stored meta document after a look at its version and at the form of its units.

    Raises:
        FormatError: Not an object (``reject-malformed-json``), a version beyond this library
            (``reject-molrec-version``), or no units (``reject-no-units``, ``reject-units``).
    """
    if not isinstance(document, dict):
        raise FormatError(
            f"{where}: the meta of a collection is an object, found {document!r}", "reject-malformed-json"
        )
    check_version(document, where)
    try:
        _check_units_form(document.get(UNITS), where)
    except SchemaError as error:
        raise FormatError(error.message, error.rule) from error
    return document


def units_with_defaults(units: Mapping[str, str]) -> dict[str, str]:
    """Return every unit that is stated, and amu and e for mass and charge where they are not."""
    return {**_DEFAULT_UNITS, **units}


def check_units(units: object, where: str) -> None:
    """Check that units are stated and that each is a unit of its quantity.

    Raises:
        SchemaError: None stated (``reject-no-units``), or one that is no such unit (``reject-units``).
    """
    for quantity, unit in _check_units_form(units, where).items():
        _check_unit(quantity, unit, where)


def _check_units_form(units: object, where: str) -> Mapping[str, str]:
    if units is None or (isinstance(units, Mapping) and not units):
        raise SchemaError(
            f'{where}: a collection states its units, such as units={{"length": "angstrom", "energy": "eV"}}; '
            f"the quantities are {', '.join(QUANTITIES)}",
            "reject-no-units",
        )
    if not isinstance(units, Mapping) or not all(
        isinstance(word, str) and word for pair in units.items() for word in pair
    ):
        raise SchemaError(f"{where}: units map a quantity to a unit, both words, found {units!r}", "reject-units")
    return units


def _check_unit(quantity: str, unit: str, where: str) -> None:
    from tokenize import TokenError

    from pint.errors import PintError

    if not is_plain_unit(unit):
        raise SchemaError(
            f"{where}: the unit of {quantity} is {unit!r}, which is not built like a unit; write 'kcal/mol/angstrom'",
            "reject-units",
        )
    registry = _unit_registry()
    try:
        parsed = registry.parse_units(unit)
        dimension = parsed.dimensionality
    except (PintError, ArithmeticError, ValueError, TypeError, AttributeError, SyntaxError, TokenError) as error:
        raise SchemaError(
            f"{where}: the unit of {quantity} is {unit!r}, which pint does not know", "reject-units"
        ) from (error)
    wanted = QUANTITIES.get(quantity)
    if wanted is None:
        return
    plain = {name: power for name, power in dimension.items() if name != "[substance]"}
    if plain != dict(registry.get_dimensionality(wanted)):
        raise SchemaError(f"{where}: {unit!r} is no unit of {quantity} ({wanted})", "reject-units")


def same_unit(first: str, second: str) -> bool:
    """Whether two texts stand for one unit, such as ``angstrom`` and ``Å``."""
    registry = _unit_registry()
    return bool(registry.parse_units(first) == registry.parse_units(second))


@cache
def _unit_registry() -> Any:
    import pint

    return pint.UnitRegistry()


# -- one record -------------------------------------------------------------------------------------------------------


def check_record_meta(meta: Mapping[str, Any], system: Frame | None) -> dict[str, Any]:
    """Return a record's meta document, as exact JSON.

    Raises:
        SchemaError: The record states units of its own (``reject-record-units``), a version no reader accepts
            (``reject-molrec-version``), or is no finite JSON.
    """
    if UNITS in meta or (system is not None and UNITS in system.meta):
        place = "meta" if UNITS in meta else "system"
        raise SchemaError(
            f"the record's {place} states units; a collection states them once, for all records: delete the key",
            "reject-record-units",
        )
    check_version(meta, "meta", SchemaError)
    exact: dict[str, Any] = typedjson.coerce("json", dict(meta), "meta")
    return exact


def check_joined(name: str, system: Block, columns: Iterable[str], rows: int) -> None:
    """Check a trajectory block against the block of its name in the record's system: together they are one block.

    Args:
        name: Block name.
        system: The system's block.
        columns: Columns the trajectory's block has.
        rows: Its row count.

    Raises:
        SchemaError: Another row count (``reject-system-row-count``), or a column in both
            (``reject-system-shared-column``).
    """
    check_same_rows(name, rows, system.rows)
    check_other_columns(name, columns, system)


def joined_frame(system: Frame | None, frame: Frame) -> Frame:
    """Return the union view of a record's system and one of its resolved frames; arrays are shared.

    A block in both has the columns of both. Meta keys of the frame stand before those of the system; the frame's box
    does, where it has one.

    Raises:
        SchemaError: See `check_joined`.
    """
    if system is None:
        return frame
    from molrec.model.alignment import join_columns

    blocks = dict(system.items())
    for name, block in frame.items():
        if name in blocks:
            check_joined(name, blocks[name], block.columns, block.rows)
            blocks[name] = join_columns(blocks[name], block)
        else:
            blocks[name] = block
    joined = Frame._trusted(blocks, frame.meta, system.box if frame.box is None else frame.box)
    if system.meta:
        meta = type(frame.meta)(system.meta)
        for key in frame.meta:
            meta.set(key, frame.meta[key], tag=frame.meta.tag(key))
        joined._meta = meta
    return joined


# -- the index --------------------------------------------------------------------------------------------------------


def check_index_name(name: str) -> None:
    """Check the name of a column of the index.

    Raises:
        SchemaError: One of the four every index has (``reject-reserved-name``), or no name (``reject-bad-name``).
    """
    where = f"index column {name!r}"
    check_name(name, where)
    check_reserved(name, frozenset(INDEX_COLUMNS), where)


def check_prefix_sums(index: Block, n_records: int, n_frames: int, where: str) -> None:
    """Check a stored index against the counts a collection states.

    Raises:
        FormatError: A column is missing or of another dtype (``reject-malformed-index``), has a null, or the counts
            disagree (``reject-prefix-sums``, ``reject-row-count``).
    """
    import numpy as np

    for name, dtype in INDEX_COLUMNS.items():
        if name not in index or index.dtype(name) != dtype or index[name].ndim != 1 or index.validity(name) is not None:
            raise FormatError(
                f"{where}: column {name!r} is {dtype}, one value per record and none null", "reject-malformed-index"
            )
    if index.rows != n_records:
        raise FormatError(f"{where} has {index.rows} rows for {n_records} records", "reject-row-count")
    counts = index["n_frames"]
    if (counts > np.uint64(n_frames)).any():
        row = int(np.flatnonzero(counts > np.uint64(n_frames))[0])
        raise FormatError(f"{where}: record {row} has {counts[row]} frames of {n_frames} in all", "reject-prefix-sums")
    ends = np.cumsum(counts, dtype=np.uint64)
    starts = ends - counts
    bad = np.flatnonzero(index["first_frame"] != starts)
    if bad.size:
        row = int(bad[0])
        raise FormatError(
            f"{where}: first_frame of record {row} is {index['first_frame'][row]}, but {starts[row]} frames precede it",
            "reject-prefix-sums",
        )
    total = int(ends[-1]) if n_records else 0
    if total != n_frames:
        raise FormatError(f"{where}: the records have {total} frames, stated are {n_frames}", "reject-prefix-sums")
    idle = np.flatnonzero(~index["has_trajectory"] & (counts > 0))
    if idle.size:
        raise FormatError(
            f"{where}: record {int(idle[0])} has {counts[idle[0]]} frames and no trajectory", "reject-prefix-sums"
        )
