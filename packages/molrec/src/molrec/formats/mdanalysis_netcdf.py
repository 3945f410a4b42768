"""AMBER trajectories in NetCDF 3, read with the SciPy that comes with MDAnalysis.

Positions, velocities, forces, times and cells are the file's own numbers at their own width, widened exactly; a scale
factor of the file, as AMBER gives velocities, is applied in binary64. The units are those of AMBER's convention; other
ones are refused. NetCDF 4 (HDF5) is not read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.errors import FormatError
from molrec.formats.cells import box_of_vectors, vectors_of_lengths
from molrec.formats.mdanalysis_import import Reading
from molrec.formats.mdanalysis_trajectory import AMBER_UNITS, atoms_block
from molrec.formats.notes import Notes
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta

__all__ = ["NetcdfSource"]

_MALFORMED = "reject-malformed-source"
_UNITS = {
    "time": "picosecond",
    "coordinates": "angstrom",
    "velocities": "angstrom/picosecond",
    "forces": "kilocalorie/mole/angstrom",
    "cell_lengths": "angstrom",
    "cell_angles": "degree",
}
#: Variables that say what the others are.
_LABELS = frozenset(("spatial", "cell_spatial", "cell_angular"))
#: Spellings AMBER programs use for the same units.
_ALIKE = {"degrees": "degree", "kilocalorie/(mole*angstrom)": "kilocalorie/mole/angstrom"}


class NetcdfSource:
    """One AMBER trajectory, in ångström, ps and kcal/(mol ångström)."""

    units: Mapping[str, str] | None = AMBER_UNITS

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def count(self) -> int | None:
        """Return the number of frames, from the header.

        Raises:
            FormatError: The file is damaged (``reject-malformed-source``).
        """
        with Reading(self.name, "the header", Notes()):
            file = _open(self.name)
            try:
                return int(self._variables(file, Notes())["coordinates"].shape[0])
            finally:
                _close(file)

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frames from the first one on.

        Raises:
            FormatError: The file is damaged, or in other units than AMBER's (``reject-malformed-source``).
            ImportError: SciPy is not installed.
        """
        with Reading(self.name, "the header", notes):
            file = _open(self.name)
        variables: dict[str, Any] = {}
        try:
            variables = self._variables(file, notes)
            for position in range(int(variables["coordinates"].shape[0])):
                with Reading(self.name, f"frame {position}", notes):
                    frame = _frame(variables, position, notes)
                yield frame
        finally:
            variables = {}
            _close(file)

    def _variables(self, file: Any, notes: Notes) -> dict[str, Any]:
        """Return the variables of AMBER's convention.

        Raises:
            FormatError: There are no coordinates, or a unit is not AMBER's.
        """
        found = dict(file.variables)
        if "coordinates" not in found:
            raise FormatError(f"{self.name}: a NetCDF file without coordinates is no trajectory", _MALFORMED)
        for name in found.keys() - _UNITS.keys() - _LABELS:
            notes.lost(f"variable {name!r}", "is left out; AMBER's convention for trajectories has none of that name")
        known = {name: variable for name, variable in found.items() if name in _UNITS}
        for name, variable in known.items():
            unit = getattr(variable, "units", b"").decode("ascii", errors="replace")
            if _ALIKE.get(unit, unit) != _UNITS[name]:
                raise FormatError(
                    f"{self.name}: {name} are in {unit!r}, by AMBER's convention in {_UNITS[name]!r}", _MALFORMED
                )
        return known


def _open(name: str) -> Any:
    try:
        from scipy.io import netcdf_file
    except ImportError as error:
        raise ImportError("this needs SciPy, in the extra molrec[formats]: pip install 'molrec[formats]'") from error
    file = Path(name).open("rb")  # noqa: SIM115 - closed with the NetCDF file
    try:
        # mapped: a frame is copied from the file when it is asked for
        return netcdf_file(file, mode="r", mmap=True)
    except BaseException:
        file.close()
        raise


def _close(file: Any) -> None:
    with warnings.catch_warnings():
        # where an error still refers to a variable, the map goes with the error
        warnings.simplefilter("ignore", RuntimeWarning)
        file.close()


def _values(variables: Mapping[str, Any], name: str, position: int) -> npt.NDArray[np.float64] | None:
    variable = variables.get(name)
    if variable is None:
        return None
    values = np.array(variable[position], dtype=np.float64)
    scale = getattr(variable, "scale_factor", None)
    return values if scale is None else values * float(scale)


def _frame(variables: Mapping[str, Any], position: int, notes: Notes) -> Frame:
    meta = Meta()
    time = _values(variables, "time", position)
    if time is not None:
        meta.set("time", float(time), tag="f64")
    atoms = atoms_block(*(_values(variables, name, position) for name in ("coordinates", "velocities", "forces")))
    lengths, angles = (_values(variables, name, position) for name in ("cell_lengths", "cell_angles"))
    if lengths is None or angles is None:
        return Frame({"atoms": atoms}, meta=meta, box=Box(cell_defined=False))
    vectors = vectors_of_lengths(lengths, np.sin(np.deg2rad(90.0 - angles)))
    return Frame({"atoms": atoms}, meta=meta, box=box_of_vectors(vectors, notes))
