"""`Meta`: a frame's meta document, every value at its tag (``docs/spec/frame.md``, typed meta)."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping, MutableMapping
from typing import Any

from molrec import typedjson
from molrec.errors import FormatError, SchemaError
from molrec.model.names import META_TYPES

__all__ = ["Meta"]


class Meta(MutableMapping[str, Any]):
    """A mapping of key to value in which every key also has one of the sixteen tags.

    Values are exact: bool, int, float, str, a tuple for a vector tag, a plain document for ``json``. Plain assignment
    infers the tag (``typedjson.infer_tag``); `set` states it.

    Raises:
        SchemaError: A value does not fit its tag, or the key is reserved (``reject-meta-reserved-key``).
    """

    __slots__ = ("_tags", "_values")

    def __init__(self, values: Mapping[str, Any] | None = None, tags: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, Any] = {}
        self._tags: dict[str, str] = {}
        stated = dict(tags or {})
        if isinstance(values, Meta):
            stated = values._tags | stated
        for key, value in (values or {}).items():
            self.set(key, value, tag=stated.pop(key, None))
        if stated:
            raise SchemaError(
                f"meta: tags are given for keys without a value: {', '.join(sorted(stated))}", "reject-meta-stale-tag"
            )

    @classmethod
    def _trusted(cls, values: dict[str, Any], tags: dict[str, str]) -> Meta:
        """Build from values a reader decoded under their tags already."""
        meta = cls.__new__(cls)
        meta._values = values
        meta._tags = tags
        return meta

    def set(self, key: str, value: Any, tag: str | None = None) -> None:
        """Set a key under a tag, inferred from the value when None; the value must fit the tag exactly."""
        if not isinstance(key, str):
            raise SchemaError(f"meta: a key is a string, found {key!r}", "reject-meta-reserved-key")
        if key == META_TYPES:
            raise SchemaError(
                f"meta: {META_TYPES!r} holds the tags of the document and cannot be a key", "reject-meta-reserved-key"
            )
        where = f"meta key {key!r}"
        chosen = typedjson.infer_tag(value, where) if tag is None else tag
        self._values[key] = typedjson.coerce(chosen, value, where)
        self._tags[key] = chosen

    def tag(self, key: str) -> str:
        """Return the tag of a key.

        Raises:
            KeyError: The document has no such key.
        """
        return self._tags[key]

    @property
    def tags(self) -> dict[str, str]:
        """Every key's tag, in document order (a copy)."""
        return self._tags.copy()

    def to_attributes(self) -> dict[str, Any]:
        """Return the group attributes of this document: typed JSON values plus ``_meta_types`` unless empty."""
        if not self._values:
            return {}
        document = {key: typedjson.encode(self._tags[key], value, key) for key, value in self._values.items()}
        return {**document, META_TYPES: self._tags.copy()}

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, Any], where: str) -> Meta:
        """Read a document back: tagged keys under their tag, others inferred, stale tags ignored.

        Raises:
            FormatError: ``_meta_types`` is not an object of tags, or a value is not its tag's form.
        """
        tags = attributes.get(META_TYPES, {})
        if not isinstance(tags, dict) or not all(isinstance(tag, str) for tag in tags.values()):
            raise FormatError(
                f"{where}: {META_TYPES} maps each meta key to its tag, found {tags!r}", "reject-meta-unknown-tag"
            )
        values: dict[str, Any] = {}
        kept: dict[str, str] = {}
        for key, form in attributes.items():
            if key == META_TYPES:
                continue
            kept[key] = tags[key] if key in tags else typedjson.infer_json_tag(form)
            values[key] = typedjson.decode(kept[key], form, f"{where}: meta key {key!r}")
        return cls._trusted(values, kept)

    def keys(self) -> KeysView[str]:
        """Return the keys."""
        return self._values.keys()

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        del self._tags[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        """Compare values and tags exactly; NaN equals NaN. Against a plain mapping, values alone are compared."""
        if isinstance(other, Meta):
            return self._tags == other._tags and _forms(self) == _forms(other)
        if isinstance(other, Mapping):
            return self._values == dict(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Meta({self._values!r})"


def _forms(meta: Meta) -> dict[str, str]:
    # JSON text keeps -0.0 apart from 0.0 and gives NaN one spelling.
    return {key: typedjson.dump_json(typedjson.encode(meta.tag(key), value)) for key, value in meta.items()}
