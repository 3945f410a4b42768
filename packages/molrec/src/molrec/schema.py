"""The machine-readable side of the specification: ``python -m molrec.schema [FOLDER]`` writes it.

``core/vocabulary.json`` maps each canonical column to its dtype, for other implementations to compare their own tables
with (``docs/spec/vocabulary.md``). The JSON Schemas are those of the documents a store holds (``schema/README.md`` says
which); what a schema cannot say, such as the tables a force field's styles must have, the chapters of the
specification do.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from molrec.json_schemas.collection_documents import collection_documents
from molrec.json_schemas.forms import DRAFT
from molrec.json_schemas.record_documents import record_documents
from molrec.model.forcefield_document import ForceFieldDocument
from molrec.model.method import MethodDocument
from molrec.model.status import StatusDocument
from molrec.vocabulary import CANONICAL_COLUMNS

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["SUFFIX", "documents", "export"]

#: Ending of the files that are JSON Schemas.
SUFFIX = ".schema.json"


def documents() -> dict[str, Any]:
    """Return every exported document by its path below the folder."""
    schemas = {
        "core/forcefield": _schema_of(ForceFieldDocument),
        "core/method": _schema_of(MethodDocument),
        "core/status": _schema_of(StatusDocument),
        **record_documents(),
        **collection_documents(),
    }
    written = {f"{name}{SUFFIX}": schema for name, schema in schemas.items()}
    return {**written, "core/vocabulary.json": dict(sorted(CANONICAL_COLUMNS.items()))}


def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    return {"$schema": DRAFT, **model.model_json_schema(mode="validation")}


def export(folder: Path) -> list[Path]:
    """Write every document below a folder and return the files; those already there are replaced."""
    written = []
    for path, document in documents().items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        written.append(file)
    return written


if __name__ == "__main__":
    for file in export(Path(sys.argv[1] if len(sys.argv) > 1 else "schema")):
        sys.stdout.write(f"{file}\n")
