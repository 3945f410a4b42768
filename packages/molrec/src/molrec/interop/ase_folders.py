"""What ASE asks for when it finds a folder: a record, or else a bundle of ASE's own (see `ase_molrec`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ase.io import bundletrajectory

from molrec.interop.ase_plugin import is_record_folder, read_mrec

if TYPE_CHECKING:
    from ase import Atoms

__all__ = ["read_bundletrajectory", "write_bundletrajectory"]


def read_bundletrajectory(filename: str, index: int | slice = -1) -> Iterator[Atoms]:
    """Yield the images of a folder."""
    if is_record_folder(filename):
        yield from read_mrec(filename, index)
        return
    found: Any = bundletrajectory.read_bundletrajectory(filename, index)
    yield from [found] if isinstance(index, int) else found


def write_bundletrajectory(filename: str, images: Sequence[Atoms], append: bool = False) -> None:
    """Write a bundle, as ASE does."""
    bundletrajectory.write_bundletrajectory(filename, images, append=append)
