"""What ASE loads when it lists its formats: the name of the record format, and where its reader is.

It stands outside the package so that a program which only imports ASE does not import `molrec`. ASE takes every folder
for its bundle format before it looks at a name; the reader of that format is therefore stood in for by one that hands
every folder which is no record on (`molrec.interop.ase_folders`).
"""

from __future__ import annotations

from ase.io import formats as _formats
from ase.utils.plugins import ExternalIOFormat

__all__ = ["mrec"]

mrec = ExternalIOFormat(
    desc="molrec record",
    code="+S",
    module="molrec.interop.ase_plugin",
    glob=["*.mrec", "*.mrec.zip"],
)

_FOLDERS = "bundletrajectory"
if _FOLDERS in _formats.ioformats:
    _formats.ioformats[_FOLDERS].module_name = "molrec.interop.ase_folders"
