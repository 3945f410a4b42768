"""Trajectories through MDAnalysis: XTC, TRR and DCD by its decoders, AMBER's text by its reader, frame by frame.

The numbers are the file's own, in the file's own units, which the record states: nothing is converted. XTC, TRR and
DCD hold binary32, which binary64 holds exactly. The decoders are used without MDAnalysis' readers, which would convert
to ångström in binary32, reduce the cell to lengths and angles and leave an index file beside the trajectory.

| file | record |
|---|---|
| XTC, TRR: step, time, box | ``step``, ``time``, box; a zero box is no cell |
| TRR: positions, velocities, forces; each may be missing from a frame | ``x y z``, ``vx vy vz``, ``fx fy fz`` |
| TRR: lambda | meta ``lambda`` |
| DCD: first step, steps between frames, time step | ``step``, ``time``; not where the header leaves them zero |
| DCD: cell | box, from lengths and angles, their cosines, or CHARMM's symmetric matrix |
| AMBER text: positions and lengths of the cell | ``x y z``, box; the file has no angles |

Limits: the precision an XTC was written with is not kept; TRR files in double precision are read in single.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from molrec.errors import FormatError
from molrec.formats.cells import box_of_vectors, vectors_of_lengths
from molrec.formats.mdanalysis_import import Reading, require_mdanalysis
from molrec.formats.mdanalysis_topology import shortest_decimals
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta

__all__ = ["AMBER_UNITS", "GROMACS_UNITS", "AmberTextSource", "DcdSource", "TrrSource", "XtcSource", "atoms_block"]

GROMACS_UNITS = {"length": "nm", "time": "ps", "energy": "kJ/mol", "force": "kJ/mol/nm"}
AMBER_UNITS = {"length": "angstrom", "time": "ps", "energy": "kcal/mol", "force": "kcal/mol/angstrom"}

_MALFORMED = "reject-malformed-source"
#: Magic number, atoms, step.
_XTC_HEADER = struct.Struct(">3i")
_TRR_SIZES = struct.Struct(">24x10i")
_SMALLEST_DOUBLE_BOX = 72


def atoms_block(
    positions: npt.ArrayLike | None, velocities: npt.ArrayLike | None = None, forces: npt.ArrayLike | None = None
) -> Block:
    """Return a block of atoms from arrays ``(atoms, 3)`` of any float dtype, widened exactly; None is left out."""
    block = Block()
    for prefix, values in (("", positions), ("v", velocities), ("f", forces)):
        if values is not None:
            columns = np.asarray(values).T.astype(np.float64, order="C")
            for axis, column in zip("xyz", columns, strict=True):
                block[prefix + axis] = column
    return block


class _File(Protocol):
    def read(self) -> Any: ...
    def close(self) -> None: ...
    def __len__(self) -> int: ...


def _next(file: _File) -> Any:
    """Return the next frame of a decoder, or None at the end."""
    try:
        return file.read()
    except StopIteration:
        return None


class _DecodedSource:
    """What XTC, TRR and DCD have in common: a decoder that reads one frame after the other."""

    units: Mapping[str, str] | None = None

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def count(self) -> int | None:
        """Return the number of frames, from the headers of the frames.

        Raises:
            FormatError: The file is damaged (``reject-malformed-source``).
        """
        with Reading(self.name, "the header", Notes()):
            file = self._open()
            try:
                return len(file)
            finally:
                file.close()

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frames from the first one on.

        Raises:
            FormatError: The file is damaged or cut short (``reject-malformed-source``).
            ImportError: MDAnalysis is not installed.
        """
        require_mdanalysis()
        with Reading(self.name, "the header", notes):
            file = self._open()
        try:
            self._check(file, notes)
            position = 0
            while True:
                with Reading(self.name, f"frame {position}", notes):
                    decoded = _next(file)
                    frame = None if decoded is None else self._frame(decoded, position, notes)
                if frame is None:
                    break
                yield frame
                position += 1
        finally:
            file.close()

    def _open(self) -> _File:
        raise NotImplementedError

    def _check(self, file: _File, notes: Notes) -> None:
        """Look at a file before its frames are read."""

    def _frame(self, decoded: Any, position: int, notes: Notes) -> Frame:
        raise NotImplementedError


def _stamped(step: int, time: float) -> Meta:
    meta = Meta()
    meta.set("step", step, tag="i64")
    meta.set("time", time, tag="f64")
    return meta


class XtcSource(_DecodedSource):
    """One XTC trajectory, in nm and ps."""

    units: Mapping[str, str] | None = GROMACS_UNITS

    def _open(self) -> _File:
        require_mdanalysis()
        from MDAnalysis.lib.formats.libmdaxdr import XTCFile

        file: _File = XTCFile(self.name)
        return file

    def _frame(self, decoded: Any, position: int, notes: Notes) -> Frame:
        del position
        box = box_of_vectors(decoded.box.T, notes)
        return Frame({"atoms": atoms_block(decoded.x)}, meta=_stamped(decoded.step, decoded.time), box=box)

    def steps(self) -> Iterator[int | None]:
        """Yield the step of every frame, from the frames' headers.

        Raises:
            FormatError: The file is damaged (``reject-malformed-source``).
        """
        with Reading(self.name, "the frames' headers", Notes()):
            file: Any = self._open()
            try:
                offsets = file.offsets.tolist()
            finally:
                file.close()
            with self._path.open("rb") as raw:
                steps = []
                for offset in offsets:
                    raw.seek(offset)
                    steps.append(int(_XTC_HEADER.unpack(raw.read(_XTC_HEADER.size))[2]))
        yield from steps


class TrrSource(_DecodedSource):
    """One TRR trajectory, in nm, ps and kJ/(mol nm)."""

    units: Mapping[str, str] | None = GROMACS_UNITS

    def _open(self) -> _File:
        require_mdanalysis()
        from MDAnalysis.lib.formats.libmdaxdr import TRRFile

        file: _File = TRRFile(self.name)
        return file

    def _check(self, file: _File, notes: Notes) -> None:
        del file
        with self._path.open("rb") as raw:
            header = raw.read(_TRR_SIZES.size)
        if len(header) == _TRR_SIZES.size and _TRR_SIZES.unpack(header)[2] >= _SMALLEST_DOUBLE_BOX:
            notes.lost("double precision", f"of {self.name} is rounded to single; MDAnalysis reads no more")

    def _frame(self, decoded: Any, position: int, notes: Notes) -> Frame:
        del position
        box = box_of_vectors(decoded.box.T, notes)
        atoms = atoms_block(
            decoded.x if decoded.hasx else None,
            decoded.v if decoded.hasv else None,
            decoded.f if decoded.hasf else None,
        )
        meta = _stamped(decoded.step, decoded.time)
        meta.set("lambda", float(decoded.lmbda), tag="f64")
        return Frame({"atoms": atoms} if atoms.columns else {}, meta=meta, box=box)


class DcdSource(_DecodedSource):
    """One DCD trajectory as CHARMM and NAMD write it, in ångström.

    The header's time step is in AKMA units, by the format, and becomes ps. LAMMPS writes its own there: where those
    are not AKMA units, the times are not ps.
    """

    units: Mapping[str, str] | None = {"length": "angstrom", "time": "ps"}

    def _open(self) -> _File:
        require_mdanalysis()
        from MDAnalysis.lib.formats.libdcd import DCDFile

        file: _File = DCDFile(self.name)
        return file

    def _check(self, file: Any, notes: Notes) -> None:
        """Refuse a file that ends within a frame, which the decoder takes for the end."""
        del notes
        from MDAnalysis.units import convert

        self._header = file.header
        self._periodic = bool(self._header["is_periodic"])
        self._step_time = float(convert(self._header["delta"], "AKMA", "ps"))
        size = self._path.stat().st_size
        rest = size - file._header_size - file._firstframesize
        if rest < 0 or (file._framesize and rest % file._framesize):
            raise FormatError(
                f"{self.name}, frame {len(file)}: the file ends within this frame; it was cut short, copy it again",
                _MALFORMED,
            )

    def steps(self) -> Iterator[int | None]:
        """Yield the step of every frame, from the header.

        Raises:
            FormatError: The file is damaged (``reject-malformed-source``).
        """
        with Reading(self.name, "the header", Notes()):
            file = self._open()
            try:
                self._check(file, Notes())
                frames = len(file)
            finally:
                file.close()
        yield from (self._step(position) for position in range(frames))

    def _step(self, position: int) -> int | None:
        interval = int(self._header["nsavc"])
        return int(self._header["istart"]) + position * interval if interval > 0 else None

    def _frame(self, decoded: Any, position: int, notes: Notes) -> Frame:
        meta = Meta()
        step = self._step(position)
        if step is not None:
            meta.set("step", step, tag="i64")
            if self._step_time:
                meta.set("time", step * self._step_time, tag="f64")
        box = box_of_vectors(_dcd_vectors(decoded.unitcell), notes) if self._periodic else Box(cell_defined=False)
        return Frame({"atoms": atoms_block(decoded.xyz)}, meta=meta, box=box)


def _dcd_vectors(cell: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the lattice vectors, as columns, of the six numbers of a DCD frame.

    Programs write three things there, told apart by their range: cosines of angles, degrees, or the lower triangle of
    a symmetric matrix of vectors.
    """
    lengths, angles = cell[[0, 2, 5]], cell[[4, 3, 1]]
    if (np.abs(angles) <= 1).all():
        return vectors_of_lengths(lengths, angles)
    if (cell < 0).any() or (angles > 180).any():
        return cell[[[0, 1, 3], [1, 2, 4], [3, 4, 5]]]
    # exact for right angles, which a cosine of pi/2 is not
    return vectors_of_lengths(lengths, np.sin(np.deg2rad(90.0 - angles)))


class AmberTextSource:
    """One AMBER trajectory in text (mdcrd), in ångström; it does not say how many atoms it has.

    Args:
        path: The file.
        atoms: How many atoms a frame has; None is refused when frames are read.
    """

    units: Mapping[str, str] | None = AMBER_UNITS

    def __init__(self, path: Path, atoms: int | None = None) -> None:
        self.name = str(path)
        self._path = path
        self._atoms = atoms

    def count(self) -> int | None:
        """Return None: it takes reading the file to know."""
        return None

    def with_atoms(self, atoms: int) -> AmberTextSource:
        """Return the same file with a number of atoms."""
        return AmberTextSource(self._path, atoms)

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frames from the first one on.

        Raises:
            FormatError: The file is damaged (``reject-malformed-source``), or the number of atoms is not known
                (``reject-topology-mismatch``).
        """
        require_mdanalysis()
        from MDAnalysis.coordinates.TRJ import TRJReader

        if self._atoms is None:
            raise FormatError(
                f"{self.name}: an AMBER text trajectory does not say how many atoms it has; give a topology before it",
                "reject-topology-mismatch",
            )
        with Reading(self.name, "the first frame", notes):
            reader = TRJReader(self.name, n_atoms=self._atoms, convert_units=False)
        try:
            for position in range(reader.n_frames):
                with Reading(self.name, f"frame {position}", notes):
                    found = reader[position] if not position else reader.next()
                    positions = shortest_decimals(found.positions.astype(np.float64).reshape(-1)).reshape(-1, 3)
                    box = self._box(found.dimensions, notes)
                yield Frame({"atoms": atoms_block(positions)}, box=box)
        finally:
            reader.close()

    @staticmethod
    def _box(dimensions: npt.NDArray[np.float32] | None, notes: Notes) -> Box:
        if dimensions is None:
            return Box(cell_defined=False)
        notes.changed("box", "has lengths only; a trajectory in AMBER text has no angles, 90 degrees are taken")
        return box_of_vectors(np.diag(shortest_decimals(dimensions[:3].astype(np.float64))), notes)
