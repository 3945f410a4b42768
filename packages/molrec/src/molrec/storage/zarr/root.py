"""The record root: its own group, the meta document and its version, the sections (``docs/spec/record.md``)."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from molrec import typedjson
from molrec.errors import FormatError, SchemaError
from molrec.model.frame import Frame
from molrec.model.resolved import check_frame
from molrec.model.versions import MOLREC_VERSION, VERSION_KEY, check_version
from molrec.storage.zarr.files import sync_directory, sync_tree, write_document
from molrec.storage.zarr.forcefield_group import FORCEFIELD, write_forcefield_group
from molrec.storage.zarr.frame_group import group_attributes, write_frame_group
from molrec.storage.zarr.layout import group_document
from molrec.storage.zarr.metrics_group import check_metrics, write_metrics
from molrec.storage.zarr.observables_group import OBSERVABLES, check_observables, write_observables
from molrec.storage.zarr.sources import Source, read_document

if TYPE_CHECKING:
    from molrec.model.forcefield_section import ForceFieldSection
    from molrec.model.metrics import MetricSeries
    from molrec.model.observable import Observable

__all__ = [
    "create_root",
    "list_sections",
    "prepare_document",
    "read_meta",
    "read_section_document",
    "require_root",
    "stamp_meta",
]


def stamp_meta(meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the meta document to write: a copy, finite JSON, stamped with the version.

    Raises:
        SchemaError: Not finite JSON (``reject-json-meta-non-finite``, ``reject-meta-tag-mismatch``), or it states a
            version of its own that no reader accepts (``reject-molrec-version``).
    """
    document: dict[str, Any] = typedjson.coerce("json", dict(meta or {}), "meta")
    check_version(document, "meta", SchemaError)
    return {VERSION_KEY: MOLREC_VERSION, **document}


def check_document(name: str, document: Mapping[str, Any], where: str) -> None:
    """Check the ``status`` or ``method`` document of a record.

    Raises:
        SchemaError: It breaks a rule of its section (``docs/spec/status-and-method.md``).
    """
    if name == "status":
        from molrec.model.status import check_status

        check_status(document, where)
    elif name == "method":
        from molrec.model.method import check_method

        check_method(document, where)


def prepare_document(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a section to write: a copy, finite JSON, by the rules of its section.

    Raises:
        SchemaError: Not finite JSON (``reject-json-meta-non-finite``, ``reject-meta-tag-mismatch``), or it breaks a
            rule of its section.
    """
    prepared: dict[str, Any] = typedjson.coerce("json", dict(document), name)
    check_document(name, prepared, name)
    return prepared


def read_section_document(source: Source, name: str) -> dict[str, Any] | None:
    """Return the document of ``status`` or ``method``, or None when the section is not there.

    Raises:
        FormatError: It breaks a rule of its section.
    """
    document = read_document(source, name)
    if document is None:
        return None
    where = f"{source.name}: {name}"
    attributes = dict(group_attributes(document, where))
    try:
        check_document(name, attributes, where)
    except SchemaError as error:
        raise FormatError(error.message, error.rule) from error
    return attributes


def refuse_existing(path: Path) -> None:
    """Refuse to write where something lies already.

    Raises:
        SchemaError: The path exists (``reject-existing-path``).
    """
    if path.exists() or path.is_symlink():
        raise SchemaError(
            f"{path} exists; nothing is overwritten unless asked (choose another path, or overwrite=True)",
            "reject-existing-path",
        )


def create_root(
    path: Path,
    meta: Mapping[str, Any] | None,
    frames: Mapping[str, Frame],
    documents: Mapping[str, Mapping[str, Any]] | None = None,
    forcefield: ForceFieldSection | None = None,
    observables: Mapping[str, Observable] | None = None,
    metrics: Mapping[str, MetricSeries] | None = None,
) -> None:
    """Create a record folder with its meta document and every section but a trajectory, in one step.

    A force-field section is one that was checked.

    Raises:
        SchemaError: The path exists or names a packed record, or the meta document is inadmissible.
    """
    refuse_existing(path)
    if path.suffix == ".zip":
        raise SchemaError(
            f"{path} names a packed record; a trajectory is written to a folder and packed afterwards (molrec.pack)",
            "reject-append-not-a-directory",
        )
    stamped = stamp_meta(meta)
    rows = {name: {inner: block.rows for inner, block in frame.items()} for name, frame in frames.items()}
    for name, frame in frames.items():
        check_frame(frame, rows, f"/{name}")
    attributes = {name: prepare_document(name, document) for name, document in (documents or {}).items()}
    check_observables(observables or {}, {"system": None, "frame": None, **rows})
    check_metrics(metrics or {})
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_document(temporary, group_document({}))
        write_document(temporary / "meta", group_document(stamped))
        for name, document in attributes.items():
            write_document(temporary / name, group_document(document))
        for name, frame in frames.items():
            write_frame_group(temporary / name, frame)
        if forcefield is not None:
            write_forcefield_group(temporary / FORCEFIELD, forcefield)
        if observables is not None:
            write_observables(temporary / OBSERVABLES, observables)
        if metrics is not None:
            write_metrics(temporary, metrics)
        sync_tree(temporary)
        refuse_existing(path)
        os.rename(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sync_directory(path.parent)


def require_root(source: Source) -> None:
    """Check that a source holds a record.

    Raises:
        FormatError: No root group (``reject-not-a-record``).
    """
    document = read_document(source, "")
    if document is None:
        raise FormatError(f"{source.name} is not a record: it has no root zarr.json", "reject-not-a-record")
    group_attributes(document, f"{source.name}: /")


def read_meta(source: Source) -> dict[str, Any]:
    """Return the meta document, empty when the record has none.

    Raises:
        FormatError: The version is not one this library reads (``reject-molrec-version``).
    """
    document = read_document(source, "meta")
    attributes = {} if document is None else dict(group_attributes(document, f"{source.name}: meta"))
    check_version(attributes, f"{source.name}: meta")
    return attributes


def list_sections(source: Source) -> tuple[str, ...]:
    """Return the names of the nodes below the root, known or not, sorted."""
    return tuple(name for name in source.children("") if source.get(f"{name}/zarr.json") is not None)
