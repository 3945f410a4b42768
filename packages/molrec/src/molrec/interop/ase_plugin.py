"""Records as a file format of ASE's own: ``ase.io.read("run.mrec", ":")``.

ASE learns of it through `ase_molrec`, the entry point, and imports this module when a record is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ase import Atoms

__all__ = ["is_record_folder", "read_mrec"]


def is_record_folder(path: str) -> bool:
    """Tell whether a folder is a record: a Zarr root."""
    return (Path(path) / "zarr.json").is_file()


def read_mrec(filename: str, index: int | slice = -1) -> Iterator[Atoms]:
    """Yield the `ase.Atoms` of a record's run, or of its frame where it has no run.

    Args:
        filename: A record folder or packed record.
        index: Which frames; the last one by default, as with all of ASE's readers.

    Raises:
        FormatError: The record is damaged.
        SchemaError: Its frames are no atoms, or in units other than ASE's.
    """
    from molrec.formats.ase import LazyAtoms
    from molrec.formats.notes import Notes
    from molrec.record_series import images_of
    from molrec.storage.zarr.record import open_record

    notes = Notes()
    with open_record(filename) as record:
        atoms: Any = LazyAtoms(images_of([record]), notes)
        chosen = range(len(atoms))[index] if isinstance(index, slice) else [range(len(atoms))[index]]
        for position in chosen:
            yield atoms[position]
    notes.warn()
