"""Make ``fixtures/`` from the content in `scripts.golden`: ``python -m scripts.make_fixtures [FOLDER]``.

Nothing depends on time or chance, so that the same versions of zarr, numcodecs and lmdb give the same bytes; a test
compares the committed files with what this makes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from scripts.golden.annotated_bytes import frame_bytes_fixtures
from scripts.golden.collections import collection_fixtures
from scripts.golden.fields import forcefield_record
from scripts.golden.frames import frame_records
from scripts.golden.neutral_json import collection_document, record_document, text_of
from scripts.golden.runs import run_records
from scripts.golden.schema_examples import EXAMPLES
from scripts.golden.special import special_records
from scripts.golden.storing import store_collection, store_record

FOLDER = Path(__file__).resolve().parents[1] / "fixtures"
FRAME_BYTES = "frame-bytes"


def make(folder: Path) -> None:
    """Write every fixture into a folder; files of the same names are replaced."""
    (folder / FRAME_BYTES).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        for record in [*frame_records(), forcefield_record(), *run_records()]:
            store_record(record, folder, _fresh(scratch / record.name))
            _write(folder, record_document(record))
        for document in special_records(folder, _fresh(scratch / "special")):
            _write(folder, document)
        for collection in collection_fixtures():
            store_collection(collection, folder, _fresh(scratch / collection.name))
            _write(folder, collection_document(collection))
    for value, document in frame_bytes_fixtures():
        (folder / FRAME_BYTES / f"{document['name']}.bin").write_bytes(value)
        _write(folder / FRAME_BYTES, document)
    _write_schema_examples(folder / "schemas")


def _write_schema_examples(folder: Path) -> None:
    for schema, examples in EXAMPLES.items():
        for kind, documents in (("valid", examples.valid), ("invalid", examples.invalid)):
            place = folder / schema / kind
            place.mkdir(parents=True, exist_ok=True)
            for name, document in documents.items():
                (place / f"{name}.json").write_text(text_of(document), encoding="utf-8")


def _fresh(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _write(folder: Path, document: dict[str, Any]) -> None:
    (folder / f"{document['name']}.json").write_text(text_of(document), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
