"""What goes through MDAnalysis, the extra ``molrec[formats]``: topologies and trajectories; XTC and TRR both ways.

A trajectory that says where atoms are but not what they are (XTC, TRR, DCD, AMBER's two) converts by itself, or after a
topology (`pairing`). `mdanalysis_trajectory`, `mdanalysis_netcdf` and `mdanalysis_structure` read, `mdanalysis_writer`
writes; this module tells the files apart and imports nothing of MDAnalysis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from molrec.errors import FormatError
from molrec.formats.compressed import OPENERS
from molrec.formats.mdanalysis_netcdf import NetcdfSource
from molrec.formats.mdanalysis_structure import STRUCTURES, StructureSource
from molrec.formats.mdanalysis_trajectory import AmberTextSource, DcdSource, TrrSource, XtcSource
from molrec.formats.mdanalysis_writer import write_trr, write_xtc
from molrec.formats.registry import Format
from molrec.formats.series import FrameSource

__all__ = ["MDAnalysisFamily"]

#: Name -> description, suffixes, source.
_TRAJECTORIES: dict[str, tuple[str, tuple[str, ...], Callable[[Path], FrameSource]]] = {
    "xtc": ("GROMACS trajectory, compressed", (".xtc",), XtcSource),
    "trr": ("GROMACS trajectory", (".trr",), TrrSource),
    "dcd": ("CHARMM or NAMD trajectory", (".dcd",), DcdSource),
    "amber-netcdf": ("AMBER trajectory, NetCDF", (".ncdf",), NetcdfSource),
    "mdcrd": ("AMBER trajectory, text", (".mdcrd", ".crdbox"), AmberTextSource),
}
_WRITERS = {"xtc": write_xtc, "trr": write_trr}
_BINARY = frozenset(("xtc", "trr", "dcd", "tpr"))

_DCD = re.compile(rb"\x54\0\0\0(\0\0\0\0)?CORD|(\0\0\0\0)?\0\0\0\x54CORD")
_TPR = re.compile(rb"\0\0..\0\0..VERSION ", re.DOTALL)
_ITP = re.compile(rb"^[ \t]*\[[ \t]*(moleculetype|atoms|atomtypes|defaults|system)[ \t]*\]", re.MULTILINE)
_CARD = re.compile(rb"(\*[^\n]*\n)+[ \t]*\d+([ \t]+EXT)?[ \t]*\r?\n[ \t]*\d+[ \t]+\d+[ \t]+\S+[ \t]+\S+[ \t]+-?[\d.]+")
_AMBER_TEXT = re.compile(rb"[^\n]*\n([ ]*-?\d+\.\d{3}){10}[ ]*\r?\n([ ]*-?\d+\.\d{3}){1,10}[ ]*\r?\n")
_ATOM = re.compile(rb"^(?:ATOM|HETATM)[^\n]*", re.MULTILINE)


class MDAnalysisFamily:
    """The formats read through MDAnalysis."""

    def names(self) -> Sequence[str]:
        """Return their names."""
        return [*_TRAJECTORIES, *STRUCTURES]

    def get(self, name: str) -> Format | None:
        """Return a format by name, or None."""
        if name in _TRAJECTORIES:
            description, _, source = _TRAJECTORIES[name]
            return Format(name, description, partial(_plain, source), _WRITERS.get(name), coordinates_only=True)
        if name in STRUCTURES:
            structure = STRUCTURES[name]
            return Format(
                name,
                structure.description,
                partial(_plain, partial(StructureSource, structure=structure)),
                None,
                single=name != "mol2",
                topology=True,
            )
        return None

    def by_content(self, head: bytes) -> str | None:
        """Return the format of a file by its first bytes, or None."""
        return _binary(head) or _text(head)

    def by_name(self, path: Path) -> str | None:
        """Return the format of a suffix, or None; ``.top``, ``.crd`` and ``.nc`` have several, told by content."""
        suffix = path.suffix.lower()
        for name, (_, suffixes, _) in _TRAJECTORIES.items():
            if suffix in suffixes:
                return name
        return next((name for name, structure in STRUCTURES.items() if suffix in structure.suffixes), None)

    def always_recognized(self, name: str) -> bool:
        """Tell whether `by_content` recognizes every file of a format."""
        return name in _BINARY


def _plain(source: Callable[[Path], FrameSource], path: Path) -> FrameSource:
    """Return the source of a file, which MDAnalysis' decoders read as it lies on disk.

    Raises:
        FormatError: The file is compressed (``reject-malformed-source``).
    """
    if path.suffix in OPENERS:
        raise FormatError(
            f"{path}: a file of this format is not read compressed; decompress it first", "reject-malformed-source"
        )
    return source(path)


def _binary(head: bytes) -> str | None:
    if head.startswith(b"\x00\x00\x07\xcb"):
        return "xtc"
    if head.startswith(b"\x00\x00\x07\xc9") and b"GMX_trn_file" in head[:24]:
        return "trr"
    if _DCD.match(head):
        return "dcd"
    if _TPR.match(head):
        return "tpr"
    # AMBER names its convention; restart files have another one, and ASE has trajectories in NetCDF too
    if head.startswith(b"CDF") and re.search(rb"Conventions\0.{8}AMBER\0", head, re.DOTALL):
        return "amber-netcdf"
    return None


def _text(head: bytes) -> str | None:
    if b"@<TRIPOS>MOLECULE" in head:
        return "mol2"
    if _ITP.search(head):
        return "itp"
    if _CARD.match(head):
        return "charmm-crd"
    if _looks_like_pqr(head):
        return "pqr"
    return "mdcrd" if _AMBER_TEXT.match(head) else None


def _looks_like_pqr(head: bytes) -> bool:
    """Tell whether the first atom ends with a charge and a radius where a PDB has occupancy and B factor."""
    found = _ATOM.search(head)
    if found is None:
        return False
    line = found[0].rstrip()
    words = line.split()
    if not 10 <= len(words) <= 11 or (len(line) > 57 and line[57:58] == b"." and line[63:64] == b"."):
        return False
    try:
        numbers = [float(word) for word in words[-5:]]
    except ValueError:
        return False
    return len(numbers) == 5
