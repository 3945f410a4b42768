"""What a validator finds in the meta document of a record (``docs/spec/record.md``, the meta document)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from molrec.checks.content_findings import Found
from molrec.errors import FormatError
from molrec.model.forcefield_section import ForceFieldSection
from molrec.model.timestamps import is_timestamp
from molrec.storage.zarr.frame_group import group_attributes
from molrec.storage.zarr.root import read_meta
from molrec.storage.zarr.sources import Source, read_document

__all__ = ["meta_findings", "version_findings"]


def _is_person(value: Any) -> bool:
    return _is_program(value) and isinstance(value.get("email", ""), str)


def _is_program(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_hash(value: Any) -> bool:
    """Tell whether a hash says by which algorithm it was made; what it is made of is the producer's to say."""
    if isinstance(value, dict):
        return bool(value) and all(isinstance(part, str) for part in value.values())
    algorithm, colon, digits = value.partition(":") if isinstance(value, str) else ("", "", "")
    return bool(algorithm and colon and digits)


def _are_modules(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    versions = [entry.get("version") if isinstance(entry, Mapping) else None for entry in value.values()]
    return all(
        isinstance(version, list) and len(version) == 2 and all(type(part) is int and part >= 0 for part in version)
        for version in versions
    )


#: Recommended key -> whether a value is of its form, and the form in words.
_FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "creator": (_is_program, "an object with the name of the program"),
    "author": (_is_person, "an object with a name"),
    "created_at": (is_timestamp, "an RFC 3339 date and time with its offset from UTC"),
    "source": (lambda value: isinstance(value, (str, dict)), "a text or an object"),
    "record_id": (_is_word, "a text"),
    "content_hash": (_is_hash, "a text '<algorithm>:<digits>', or an object that names the algorithm"),
    "modules": (_are_modules, 'an object from name to {"version": [major, minor]}'),
}


def meta_findings(source: Source) -> Iterator[Found]:
    """Yield what is wrong with the meta document: its version, and recommended keys out of their form."""
    try:
        meta = read_meta(source)
    except FormatError as error:
        yield error.rule, "meta", "error", error.message
        try:
            document = read_document(source, "meta")
            meta = group_attributes(document or {}, "meta")
        except FormatError:
            return
    else:
        if "molrec_version" not in meta and source.get("meta/zarr.json") is not None:
            yield "no-version", "meta", "error", "states no molrec_version; it is read by the rules of version 1"
    for key, (is_of_form, form) in _FORMS.items():
        if key in meta and not is_of_form(meta[key]):
            yield "meta-form", f"meta, key {key!r}", "warning", f"is {form}, found {meta[key]!r}"


def version_findings(section: ForceFieldSection) -> Iterator[Found]:
    """Yield what is wrong with the statement of what the numbers of a force field mean."""
    if section.version is None:
        message = "modules.forcefield.version is not stated, so that nobody may price by these numbers"
        yield "ff-version", "meta", "error", message
    elif not section.is_understood:
        message = f"the force field is of version {list(section.version)}, which is kept and shown, and not priced"
        yield "ff-version", "meta", "info", message
