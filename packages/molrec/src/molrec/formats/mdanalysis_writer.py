"""Frames to GROMACS trajectories, XTC and TRR, with MDAnalysis' encoders.

Lengths and times in other units are converted to nm and ps. Both hold binary32, XTC besides rounded: to the declared
precision of the positions, else to 0.001 nm, as GROMACS does. Neither says what the atoms are.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from molrec.errors import SchemaError
from molrec.formats.images import Images
from molrec.formats.mdanalysis_import import require_mdanalysis
from molrec.formats.nanometres import FORCES, POSITIONS, VELOCITIES, Scale, WholeAtoms, stated_units
from molrec.formats.notes import Notes
from molrec.formats.series import Progress
from molrec.formats.survey import STEP_KEYS
from molrec.model.frame import Frame

__all__ = ["write_trr", "write_xtc"]

_RULE = "reject-foreign-write"
_FORCE_UNIT = "kJ/mol/nm"
_LARGEST_STEP = 2**31 - 1
_GROMACS_PRECISION = 1e-3
#: Up to so many atoms an XTC file holds as they are.
_WHOLE_ATOMS = 9
#: Roundings of binary32 that going through the file's integers takes.
_FEW_ULPS = 4 * np.finfo(np.float32).eps

type _Vectors = npt.NDArray[np.float32] | None


class _Image(NamedTuple):
    """One frame as the encoders take it: arrays ``(atoms, 3)`` in nm and ps, the box with vectors as rows."""

    positions: _Vectors
    velocities: _Vectors
    forces: _Vectors
    box: npt.NDArray[np.float32]
    step: int
    time: float
    coupling: float
    atoms: int


def write_xtc(path: Path, images: Images, notes: Notes, progress: Progress | None) -> None:
    """Write frames to an XTC file; it is there complete or not at all.

    Args:
        path: The file; one that is there is replaced.
        images: The frames.
        notes: Told about what the format does not hold.
        progress: Called with frames done and frames in all.

    Raises:
        SchemaError: A frame without positions or of another number of atoms, or a step too large
            (``reject-foreign-write``); units that are no lengths and times (``reject-units-disagree``).
        ImportError: MDAnalysis is not installed.
    """
    require_mdanalysis()
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    precision = _declared_precision(images)

    def put(file: Any, image: _Image, scale: Scale, where: str) -> None:
        if image.positions is None:
            raise SchemaError(f"{where}: an XTC file needs x, y and z of every atom", _RULE)
        for name, values in (("velocities", image.velocities), ("forces", image.forces)):
            if values is not None:
                notes.lost(name, "are left out; an XTC file has positions only")
        step = _GROMACS_PRECISION if precision is None else scale.length_of(precision)
        rounded = np.round(image.positions / step) * step
        lossy = image.atoms > _WHOLE_ATOMS
        if lossy and (np.abs(rounded - image.positions) > _FEW_ULPS * np.abs(image.positions) + _FEW_ULPS * step).any():
            notes.lost("positions", f"are rounded to {step:g} nm; declare a precision to choose another one")
        file.write(image.positions, image.box, image.step, image.time, 1 / step)

    _write(path, images, notes, progress, partial(XTCFile, mode="w"), put, frozenset())


def write_trr(path: Path, images: Images, notes: Notes, progress: Progress | None) -> None:
    """Write frames to a TRR file; it is there complete or not at all.

    Positions, velocities and forces are each written where a frame has them, forces only in kJ/(mol nm).

    Args:
        path: The file; one that is there is replaced.
        images: The frames.
        notes: Told about what the format does not hold.
        progress: Called with frames done and frames in all.

    Raises:
        SchemaError: A frame of another number of atoms, or a step too large (``reject-foreign-write``); units that are
            no lengths and times (``reject-units-disagree``).
        ImportError: MDAnalysis is not installed.
    """
    require_mdanalysis()
    from MDAnalysis.lib.formats.libmdaxdr import TRRFile

    def put(file: Any, image: _Image, scale: Scale, where: str) -> None:
        del scale, where
        file.write(*image[:6], image.coupling, image.atoms)

    _write(path, images, notes, progress, partial(TRRFile, mode="w"), put, frozenset(("lambda",)))


def _declared_precision(images: Images) -> float | None:
    """Return the finest declared precision of the positions, in the record's unit, or None unless all declare one."""
    if images.schema is None or "atoms" not in images.schema.blocks:
        return None
    columns = images.schema.blocks["atoms"].columns
    stated = [columns[name].precision for name in POSITIONS if name in columns]
    found = [precision for precision in stated if precision is not None]
    return min(found) if len(found) == 3 else None


def _write(
    path: Path,
    images: Images,
    notes: Notes,
    progress: Progress | None,
    open_file: Callable[[str], Any],
    put: Callable[[Any, _Image, Scale, str], None],
    keys: frozenset[str],
) -> None:
    """Write every frame to a file that takes its place once it is complete."""
    system = Frame() if images.system is None else images.system
    _note_rest(system, notes, keys)
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp{path.suffix}")
    atoms: int | None = None
    try:
        file = open_file(str(temporary))
        try:
            for position in range(len(images.frames)):
                frame, where = images.frames[position], f"{path}, frame {position}"
                _note_rest(frame, notes, keys)
                units = {**stated_units(system), **stated_units(frame)}
                scale = Scale(units, notes if not position else None)
                image = _image(images, system, frame, position, scale, units, notes, where)
                if atoms is not None and image.atoms != atoms:
                    raise SchemaError(
                        f"{where} has {image.atoms} atoms and earlier ones {atoms}; the file holds one number", _RULE
                    )
                atoms = image.atoms
                put(file, image, scale, where)
                if progress is not None:
                    progress(position + 1, len(images.frames))
        finally:
            file.close()
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _image(
    images: Images,
    system: Frame,
    frame: Frame,
    position: int,
    scale: Scale,
    units: Mapping[str, str],
    notes: Notes,
    where: str,
) -> _Image:
    columns = WholeAtoms(system, frame)
    step = position if images.steps is None else int(images.steps[position])
    if not 0 <= step <= _LARGEST_STEP:
        raise SchemaError(f"{where}: the step {step} does not fit the file's 32 bits", _RULE)
    if images.times is None:
        notes.changed("time", "is not there; 0 is written")
    time = 0.0 if images.times is None else scale.time(float(images.times[position]))
    forces = columns.vector(FORCES)
    if forces is not None and units.get("force") != _FORCE_UNIT:
        notes.lost("forces", f"are left out; the file has them in {_FORCE_UNIT}, which the units do not state")
        forces = None
    box = frame.box or system.box
    vectors = np.zeros((3, 3))
    if box is not None and box.cell_defined:
        vectors = scale.length(box.vectors).T
        if box.origin.any():
            notes.lost("box origin", "is left out; the file has none")
        if not box.boundary.all():
            notes.lost("box boundary", "is left out; the file does not say which directions are periodic")
    return _Image(
        _single("positions", columns.vector(POSITIONS), scale.length, notes),
        _single("velocities", columns.vector(VELOCITIES), scale.velocity, notes),
        _single("forces", forces, lambda values: values, notes),
        vectors.astype(np.float32),
        step,
        time,
        float(frame.meta.get("lambda", 0.0)),
        columns.rows,
    )


def _single(
    what: str,
    found: tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None,
    convert: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    notes: Notes,
) -> _Vectors:
    """Return vectors in binary32, or None unless every atom has one."""
    if found is None:
        return None
    values, present = found
    if not present.all():
        notes.lost(what, "of frames in which some atoms have none are left out")
        return None
    converted = convert(values)
    narrow: npt.NDArray[np.float32] = np.ascontiguousarray(converted, dtype=np.float32)
    if not np.array_equal(narrow, converted, equal_nan=True):
        notes.changed(what, "are rounded to binary32, which is what the file holds")
    return narrow


def _note_rest(frame: Frame, notes: Notes, keys: frozenset[str]) -> None:
    for name, block in frame.items():
        if name != "atoms":
            notes.lost(f"block {name!r}", "is left out; the file has coordinates only")
            continue
        for column in block.columns:
            mask = block.validity(column)
            if column not in {*POSITIONS, *VELOCITIES, *FORCES} and (mask is None or mask.any()):
                notes.lost(f"column {column!r}", "is left out; the file has coordinates only")
    for key in frame.meta:
        if key not in {"time", "units", *STEP_KEYS, *keys}:
            notes.lost(f"meta key {key!r}", "is left out; the file has no place for it")
