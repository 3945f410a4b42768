"""What a record says of its configuration beyond the labels: the key ``configuration`` of its meta.

A configuration read from a file follows from the file's labels. One made by hand may say more: a weight for a label it
does not have, no cell at all, a property that stands in no keys. Such differences are stated with the record and laid
over what the labels give, so that every configuration comes back as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from molrec.errors import FormatError, SchemaError
from molrec.formats.documents import NotADocumentError, from_document, to_document
from molrec.interop.label_places import CONFIGURATION

if TYPE_CHECKING:
    from mace_core.data import Configuration

__all__ = ["apply_stated", "differences", "stated_head"]

_HEAD, _PROPERTIES, _WEIGHTS = "head", "properties", "property_weights"
_FIELDS = ("cell", "pbc", "weight", "config_type", "atomic_numbers", "positions")


def stated_head(meta: Mapping[str, Any]) -> str | None:
    """Return the head a record states, None where it states none."""
    stated = meta.get(CONFIGURATION)
    head = stated.get(_HEAD) if isinstance(stated, dict) else None
    return head if isinstance(head, str) else None


def apply_stated(configuration: Configuration, meta: Mapping[str, Any]) -> Configuration:
    """Return a configuration with what the record states of it; the one given is changed and returned.

    Raises:
        FormatError: What is stated is of another form (``reject-labels``).
    """
    stated = meta.get(CONFIGURATION)
    if stated is None:
        return configuration
    try:
        for field in _FIELDS:
            if field in stated:
                value = from_document(stated[field])
                setattr(configuration, field, tuple(value) if field == "pbc" and value is not None else value)
        if _PROPERTIES in stated:
            given = {name: from_document(value) for name, value in stated[_PROPERTIES]["values"].items()}
            found = {**configuration.properties, **given}
            configuration.properties = {name: found[name] for name in stated[_PROPERTIES]["names"]}
        if _WEIGHTS in stated:
            configuration.property_weights = {name: from_document(weight) for name, weight in stated[_WEIGHTS].items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise FormatError(
            f"the record's {CONFIGURATION} is no statement of differences ({type(error).__name__}: {error})",
            "reject-labels",
        ) from error
    return configuration


def differences(wanted: Configuration, built: Configuration) -> dict[str, Any]:
    """Return what to state with a record so that the configuration built of it becomes the wanted one.

    Raises:
        SchemaError: A value has no JSON form (``reject-labels``).
    """
    from mace_core.data.same_values import same_value

    stated: dict[str, Any] = {}
    if wanted.head != built.head:
        stated[_HEAD] = wanted.head
    for field in _FIELDS:
        value = getattr(wanted, field)
        if not same_value(value, getattr(built, field)):
            stated[field] = _document(list(value) if field == "pbc" and value is not None else value, field)
    given = {
        name: _document(value, name)
        for name, value in wanted.properties.items()
        if name not in built.properties or not same_value(value, built.properties[name])
    }
    if given or list(wanted.properties) != list(built.properties):
        stated[_PROPERTIES] = {"names": list(wanted.properties), "values": given}
    if list(wanted.property_weights.items()) != list(built.property_weights.items()):
        stated[_WEIGHTS] = {name: _document(weight, name) for name, weight in wanted.property_weights.items()}
    return stated


def _document(value: Any, name: str) -> Any:
    try:
        return to_document(value)
    except NotADocumentError as error:
        raise SchemaError(
            f"{name!r} of a configuration holds {error}, which has no JSON form", "reject-labels"
        ) from error
