"""Packed records: one zip, every entry stored as it is (``docs/spec/commit.md``, packing)."""

from __future__ import annotations

import os
import shutil
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from molrec.errors import FormatError, SchemaError
from molrec.storage.zarr import names
from molrec.storage.zarr.files import TEMPORARY, sync_directory
from molrec.storage.zarr.journal import JOURNAL_NAME
from molrec.storage.zarr.lock import WriterLock
from molrec.storage.zarr.root import read_meta, refuse_existing, require_root
from molrec.storage.zarr.sources import DirectorySource, ZipSource

__all__ = ["pack", "packed_name", "unpack"]

type Progress = Callable[[int, int], None]

_EPOCH = (1980, 1, 1, 0, 0, 0)
_COPY_BYTES = 2**20
_ZIP64_FROM = 2**31


def packed_name(path: Path) -> Path:
    """Return where a record folder is packed to: ``<stem>.mrec.zip`` beside it."""
    return path.with_name(f"{path.name}.zip" if path.suffix == ".mrec" else f"{path.name}.mrec.zip")


def pack(
    path: str | os.PathLike[str],
    destination: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Pack a closed record folder into one zip file and return its path; the folder stays.

    Args:
        path: Record folder.
        destination: Zip to write; ``<stem>.mrec.zip`` beside the folder when None.
        overwrite: Whether an existing destination is replaced.
        progress: Called with bytes done and bytes in all.

    Raises:
        SchemaError: The destination exists (``reject-existing-path``), a writer has the record open or left it
            unfinished (``reject-pack-open``).
        FormatError: The folder holds no record (``reject-not-a-record``).
    """
    root = Path(path)
    target = packed_name(root) if destination is None else Path(destination)
    if not overwrite:
        refuse_existing(target)
    if not root.is_dir():
        raise FormatError(f"{root} is not a record folder", "reject-not-a-record")
    source = DirectorySource(root)
    require_root(source)
    source.close()
    try:
        lock = WriterLock(root)
    except SchemaError as error:
        raise SchemaError(f"cannot pack: {error.message}", "reject-pack-open") from error
    with lock:
        if (root / names.TRAJECTORY / JOURNAL_NAME).exists():
            raise SchemaError(
                f"cannot pack {root}: its last writer did not close it; run `molrec repair` (or reopen and close it)",
                "reject-pack-open",
            )
        _write_zip(root, target, progress)
    return target


def _write_zip(root: Path, target: Path, progress: Progress | None) -> None:
    files = sorted(_record_files(root), key=lambda file: file.relative_to(root).as_posix())
    for file in files:
        if "\\" in file.name:
            raise SchemaError(
                f"cannot pack {file}: a backslash cannot be told from a separator in a zip; rename the file",
                "reject-zip-entry-name",
            )
    total = sum(file.stat().st_size for file in files)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}{TEMPORARY}")
    done = 0
    try:
        with temporary.open("xb") as output:
            with zipfile.ZipFile(output, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                for file in files:
                    entry = zipfile.ZipInfo(file.relative_to(root).as_posix(), _EPOCH)
                    entry.external_attr = 0o644 << 16
                    size = file.stat().st_size
                    with file.open("rb") as content, archive.open(entry, "w", force_zip64=size >= _ZIP64_FROM) as sink:
                        while piece := content.read(_COPY_BYTES):
                            sink.write(piece)
                            done += len(piece)
                            if progress is not None:
                                progress(done, total)
            output.flush()
            os.fsync(output.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(target.parent)


def _record_files(root: Path) -> Iterator[Path]:
    for folder, _, files in os.walk(root):
        for name in files:
            if not (name.startswith(".") and name.endswith(TEMPORARY)):
                yield Path(folder) / name


def unpack(
    path: str | os.PathLike[str],
    destination: str | os.PathLike[str] | None = None,
    *,
    progress: Progress | None = None,
) -> Path:
    """Unpack a packed record into a folder and return it; the zip stays.

    Args:
        path: Packed record.
        destination: Folder to create; the zip's name without ``.zip`` when None.
        progress: Called with bytes done and bytes in all.

    Raises:
        SchemaError: The destination exists (``reject-existing-path``).
        FormatError: Not a packed record (``reject-malformed-zip``, ``reject-zip-entry-name`` and their kin).
    """
    archive = Path(path)
    target = archive.with_suffix("") if destination is None else Path(destination)
    refuse_existing(target)
    source = ZipSource(archive)
    require_root(source)
    read_meta(source)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}{TEMPORARY}")
    try:
        _extract(source, temporary, progress)
        refuse_existing(target)
        os.rename(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sync_directory(target.parent)
    return target


def _extract(source: ZipSource, folder: Path, progress: Progress | None) -> None:
    total, done = sum(source.sizes().values()), 0
    for name, size in source.sizes().items():
        content = source.get(name)
        assert content is not None
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as output:
            output.write(content)
            output.flush()
            os.fsync(output.fileno())
        done += size
        if progress is not None:
            progress(done, total)
