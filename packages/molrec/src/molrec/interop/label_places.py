"""Where a collection keeps each label of a structure (``docs/spec/labelled-structures.md``).

| label | place |
|---|---|
| atomic numbers, positions | block ``atoms``: ``atomic_number``, ``x y z`` |
| property ``energy`` | per-step meta ``pe`` |
| property ``forces`` | ``fx fy fz`` |
| property ``charges``, one number for each atom | ``charge`` |
| mask of atoms that may move | ``free`` |
| another label of atoms | a column of its property's name, else of its key |
| a number or vector that is a property or a weight, or that every structure has | per-step meta, likewise |
| any other label of a structure | record meta, likewise |

A name that is taken, or that means something else in a record, is written ``xyz.`` and the percent-encoded key. Where
a value is not what the place holds (an integer among reals, a label that is missing) the record's meta says so under
``as_read``. The collection's meta holds the whole table under ``labels``, so that a reader needs no guess.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from molrec.dtypes import numpy_dtype
from molrec.errors import FormatError, SchemaError
from molrec.interop.label_survey import MOVE_MASK, OTHER, Label, LabelSurvey, Seen
from molrec.model.names import SERIES_RESERVED_COLUMNS, check_name
from molrec.model.schema import SequenceSchema
from molrec.vocabulary import CANONICAL_COLUMNS, PER_STEP_KEYS

if TYPE_CHECKING:
    from mace_core.data import KeySpecification

__all__ = ["AS_READ", "CONFIGURATION", "LABELS", "ColumnPlace", "DocumentPlace", "LabelTable", "StepPlace"]

#: Keys of the collection's meta (the table) and of a record's (exact values, what a configuration says otherwise).
LABELS, AS_READ, CONFIGURATION = "labels", "as_read", "configuration"

_BLOCK = "atoms"
_RULE = "reject-labels"
_PREFIX = "xyz."
_LONGEST_NAME = 200
_FORCES = ("fx", "fy", "fz")
#: Columns with a meaning that only the table above gives.
_OWN_COLUMNS = frozenset(
    {"atomic_number", "element", "x", "y", "z", *_FORCES, "charge", "free", "vx", "vy", "vz", "mass"}
)
_OWN_KEYS = frozenset({"units", "molrec_version", "modules", AS_READ, CONFIGURATION, LABELS})
#: Per-step tags by numbers of values.
_FLOAT_TAGS = {1: "f64", 3: "f64x3", 6: "f64x6", 9: "f64x9"}
_INTEGER_TAGS = {1: "i64", 3: "i64x3"}
#: Record dtype by the dtype of a file's column.
_COLUMN_DTYPES = {
    "str": "string",
    "bool": "bool",
    "float64": "f64",
    "float32": "f64",
    **{f"{kind}{bits}": f"{kind[0]}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}
#: Dtypes of files whose every value a column of reals holds.
_EXACT_IN_F64 = frozenset({"float64", "float32", "int8", "int16", "int32", "uint8", "uint16", "uint32"})


@dataclass(frozen=True, slots=True)
class StepPlace:
    """Per-step meta.

    Attributes:
        key: Its key there.
        tag: Its tag.
        shape: Shape of the value in a structure.
    """

    key: str
    tag: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ColumnPlace:
    """Columns of the block ``atoms``: one, or one for each component.

    Attributes:
        columns: Their names.
        dtype: Their dtype.
        file_dtype: NumPy's name of the dtype in a structure, ``str`` for texts.
        shape: Shape of one atom's value in a structure.
        nullable: Whether some structure lacks it.
    """

    columns: tuple[str, ...]
    dtype: str
    file_dtype: str
    shape: tuple[int, ...]
    nullable: bool


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """The record's meta document.

    Attributes:
        key: Its key there.
    """

    key: str


@dataclass(frozen=True, slots=True)
class LabelTable:
    """The place of every label.

    Attributes:
        graph_keys: Property name to key, of structures.
        atom_keys: Property name to key, of atoms.
        steps: Labels in per-step meta.
        documents: Labels in the record's meta.
        columns: Labels in columns.
    """

    graph_keys: Mapping[str, str]
    atom_keys: Mapping[str, str]
    steps: Mapping[Label, StepPlace]
    documents: Mapping[Label, DocumentPlace]
    columns: Mapping[Label, ColumnPlace]

    @classmethod
    def from_survey(cls, survey: LabelSurvey, key_spec: KeySpecification) -> LabelTable:
        """Give every label of a survey its place.

        Args:
            survey: What the structures have.
            key_spec: Which key is which property.
        """
        from mace_core.data.resolved_keys import ResolvedKeys

        return _Placing(survey, ResolvedKeys(key_spec), key_spec).table()

    def schema(self, rows: int | None = None) -> SequenceSchema:
        """Return the declaration of a collection of such structures."""
        schema = SequenceSchema().declare_block(_BLOCK, rows=rows)
        schema.declare_column(_BLOCK, "atomic_number", "u64")
        for name in "xyz":
            schema.declare_column(_BLOCK, name, "f64")
        for place in self.columns.values():
            trailing = () if len(place.columns) > 1 else place.shape
            for name in place.columns:
                schema.declare_column(_BLOCK, name, place.dtype, trailing, nullable=place.nullable)
        for step in self.steps.values():
            schema.declare_meta(step.key, step.tag)
        return schema

    def to_document(self) -> dict[str, Any]:
        """Return the table as JSON, as it stands in a collection's meta."""
        return {
            "graph_keys": dict(self.graph_keys),
            "atom_keys": dict(self.atom_keys),
            "steps": [
                {"part": label.part, "key": label.key, "meta": place.key, "tag": place.tag, "shape": list(place.shape)}
                for label, place in self.steps.items()
            ],
            "documents": [
                {"part": label.part, "key": label.key, "meta": place.key} for label, place in self.documents.items()
            ],
            "columns": [
                {
                    "part": label.part,
                    "key": label.key,
                    "columns": list(place.columns),
                    "dtype": place.file_dtype,
                    "shape": list(place.shape),
                }
                for label, place in self.columns.items()
            ],
        }

    @classmethod
    def from_document(cls, document: Any, schema: SequenceSchema, where: str) -> LabelTable:
        """Return the table a collection's meta holds.

        Raises:
            FormatError: It is no such table, or names what the collection does not declare (``reject-labels``).
        """
        try:
            return _parsed(cls, document, schema)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(
                f"{where}: {LABELS} is no table of labels ({type(error).__name__}: {error})", _RULE
            ) from error


def _parsed(kind: type[LabelTable], document: Any, schema: SequenceSchema) -> LabelTable:
    declared = schema.blocks[_BLOCK].columns
    columns = {}
    for item in document["columns"]:
        names = tuple(item["columns"])
        found = declared[names[0]]
        place = ColumnPlace(names, found.dtype, str(item["dtype"]), _shape(item["shape"]), found.nullable)
        if any(declared[name].dtype != found.dtype for name in names) or place.file_dtype not in _COLUMN_DTYPES:
            raise ValueError(f"columns {', '.join(names)} do not belong together")
        columns[Label(str(item["part"]), str(item["key"]))] = place
    steps = {}
    for item in document["steps"]:
        tag = schema.meta[item["meta"]].tag
        if tag != item["tag"]:
            raise ValueError(f"{item['meta']!r} is declared {tag}")
        steps[Label(str(item["part"]), str(item["key"]))] = StepPlace(str(item["meta"]), tag, _shape(item["shape"]))
    documents = {
        Label(str(item["part"]), str(item["key"])): DocumentPlace(str(item["meta"])) for item in document["documents"]
    }
    graph_keys, atom_keys = (
        {str(name): str(key) for name, key in document[half].items()} for half in ("graph_keys", "atom_keys")
    )
    return kind(graph_keys, atom_keys, steps, documents, columns)


def _shape(extents: Any) -> tuple[int, ...]:
    shape = tuple(extents)
    if not all(type(extent) is int and extent >= 0 for extent in shape):
        raise ValueError(f"{extents!r} is no shape")
    return shape


class _Placing:
    """Gives places away, each once."""

    def __init__(self, survey: LabelSurvey, keys: Any, key_spec: KeySpecification) -> None:
        self._survey = survey
        self._keys = keys
        self._key_spec = key_spec
        self._taken_columns: set[str] = set()
        self._taken_keys: set[str] = set()

    def table(self) -> LabelTable:
        steps: dict[Label, StepPlace] = {}
        documents: dict[Label, DocumentPlace] = {}
        columns: dict[Label, ColumnPlace] = {}
        # properties choose their names first
        for label in sorted(self._survey.entries, key=lambda label: self._property(label) is None):
            seen = self._survey.entries[label]
            place = self._place_of_value(label, seen)
            if isinstance(place, StepPlace):
                steps[label] = place
            else:
                documents[label] = place
        for label in sorted(self._survey.columns, key=lambda label: self._property(label) is None):
            columns[label] = self._place_of_column(label, self._survey.columns[label])
        return LabelTable(dict(self._key_spec.graph_keys), dict(self._key_spec.atom_keys), steps, documents, columns)

    def _property(self, label: Label) -> str | None:
        names: Any = getattr(self._keys, label.part).get(label.key, ())
        return str(names[0]) if names else None

    def _place_of_value(self, label: Label, seen: Seen) -> StepPlace | DocumentPlace:
        from mace_core.data.resolved_keys import CONFIG_TYPE, CONFIG_WEIGHT

        name = self._property(label)
        wanted = name or label.key
        if name == "energy" and _step_tag(seen, "pe") == "f64":
            wanted = "pe"
        tag = None if label.key == CONFIG_TYPE else _step_tag(seen, wanted)
        weighs = label.key == CONFIG_WEIGHT or label.key in self._keys.weights
        if tag is None or not (name is not None or weighs or seen.count == self._survey.frames):
            return DocumentPlace(self._free_key(wanted, label.key))
        return StepPlace(self._free_key(wanted, label.key, canonical=name == "energy"), tag, seen.shape)

    def _place_of_column(self, label: Label, seen: Seen) -> ColumnPlace:
        shape = seen.shape
        dtypes = seen.dtypes(shape)
        file_dtype = _common_dtype(list(dtypes), min(dtypes, key=lambda dtype: (-dtypes[dtype], dtype)))
        dtype = _COLUMN_DTYPES.get(file_dtype)
        if dtype is None:
            raise SchemaError(
                f"labels {label.key!r} of atoms are {file_dtype}, which a column does not hold", "reject-labels"
            )
        name = self._property(label)
        columns: tuple[str, ...]
        if name == "forces" and shape == (3,) and numpy_dtype(dtype).kind in "fiu" and self._free(_FORCES):
            columns, dtype = _FORCES, "f64"
        elif name == "charges" and shape == () and numpy_dtype(dtype).kind in "fiu" and self._free(("charge",)):
            columns, dtype = ("charge",), "f64"
        elif label == MOVE_MASK and shape == () and self._free(("free",)):
            columns = ("free",)
        else:
            columns = (self._free_column(name or label.key, label.key, dtype, shape),)
        self._taken_columns.update(columns)
        nullable = seen.count < self._survey.frames or not _all_held(seen, shape, dtype)
        return ColumnPlace(columns, dtype, file_dtype, shape, nullable)

    def _free(self, columns: tuple[str, ...]) -> bool:
        return self._taken_columns.isdisjoint(columns)

    def _free_column(self, wanted: str, key: str, dtype: str, shape: tuple[int, ...]) -> str:
        canonical = CANONICAL_COLUMNS.get(wanted)
        taken = (
            wanted in _OWN_COLUMNS
            or wanted in SERIES_RESERVED_COLUMNS
            or wanted in self._taken_columns
            or wanted.startswith(_PREFIX)
            or (canonical is not None and (canonical != dtype or shape != ()))
        )
        return self._escaped(key, self._taken_columns) if taken or not _is_name(wanted) else wanted

    def _free_key(self, wanted: str, key: str, canonical: bool = False) -> str:
        taken = (
            wanted in _OWN_KEYS
            or wanted in self._taken_keys
            or wanted.startswith(_PREFIX)
            or (wanted in PER_STEP_KEYS and not canonical)
        )
        free = self._escaped(key, self._taken_keys) if taken or not _is_name(wanted) else wanted
        self._taken_keys.add(free)
        return free

    @staticmethod
    def _escaped(key: str, taken: set[str]) -> str:
        escaped = _PREFIX + quote(key, safe="")
        if len(escaped) > _LONGEST_NAME:
            # the table holds the key itself
            digest = hashlib.sha256(key.encode()).hexdigest()[:16]
            escaped = f"{escaped[:_LONGEST_NAME]}.{digest}"
        while escaped in taken:
            escaped += "'"
        return escaped


def _is_name(name: str) -> bool:
    try:
        check_name(name, "name")
    except SchemaError:
        return False
    return True


def _step_tag(seen: Seen, key: str) -> str | None:
    """Return the tag that holds every value in the shape most have; None where they are not all numbers of a size."""
    dtypes = {kind.dtype for kind in seen.kinds}
    if OTHER in dtypes:
        return None
    size = 1
    for extent in seen.shape:
        size *= extent
    whole = _INTEGER_TAGS.get(size)
    if dtypes == {"int64"} and whole is not None and key not in PER_STEP_KEYS:
        return whole
    return _FLOAT_TAGS.get(size)


def _all_held(seen: Seen, shape: tuple[int, ...], dtype: str) -> bool:
    """Whether a column holds whatever was seen, as far as the kinds tell."""
    if dtype != "f64":
        return len(seen.kinds) == 1
    return all(kind.shape == shape and kind.dtype in _EXACT_IN_F64 for kind in seen.kinds)


def _common_dtype(found: list[str], most: str) -> str:
    """Return the dtype of a column that holds numbers of several, else the one most structures have."""
    numeric = [name for name in found if name.startswith(("float", "int", "uint"))]
    if len(found) > 1 and len(numeric) == len(found):
        return "float64"
    return most
