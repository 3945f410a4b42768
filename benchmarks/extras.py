"""Numbers of this project alone: import time, opening a long run, the weight of a small record."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import molrec
from measure import stored_bytes

__all__ = ["Extras", "measure_extras"]

_IMPORTS = 7
_OPENS = 15
_LONG_ATOMS = 10
_SMALL_ATOMS, _SMALL_FRAMES = 20, 10
_IMPORT_SCRIPT = "import time; start = time.perf_counter(); import molrec{use}; print(time.perf_counter() - start)"
#: Touches every name, so that all of the library is imported.
_USE_ALL = "; [getattr(molrec, name) for name in molrec.__all__]"


@dataclass(frozen=True, slots=True)
class Extras:
    """Seconds and bytes, with the frames of the long run."""

    import_seconds: float
    import_all_seconds: float
    long_frames: int
    long_open_seconds: float
    small_archive_bytes: int
    small_live_bytes: int


def _import_seconds(use: str) -> float:
    command = [sys.executable, "-c", _IMPORT_SCRIPT.format(use=use)]
    taken = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(_IMPORTS)]
    return statistics.median(float(text) for text in taken)


def _long_open_seconds(folder: Path, frames: int) -> float:
    """Return the median time to open and count a live run with a cell and energies."""
    path = folder / "long.mrec"
    generator = np.random.default_rng(1)
    schema = molrec.SequenceSchema().declare_meta("pe", "f64").declare_block("atoms", rows=_LONG_ATOMS)
    for column in "xyz":
        schema.declare_column("atoms", column, "f64").declare_precision("atoms", column, 1e-3)
    box = molrec.Box(np.eye(3) * 10.0)
    positions = generator.uniform(0.0, 10.0, (frames, 3, _LONG_ATOMS))
    with molrec.TrajectoryWriter(path, schema) as writer:
        for ordinal, (x, y, z) in enumerate(positions):
            block = molrec.Block({"x": x, "y": y, "z": z})
            writer.append(molrec.Frame({"atoms": block}, {"pe": float(x[0])}, box), step=ordinal, time=0.5 * ordinal)
    taken = []
    for _ in range(_OPENS):
        start = time.perf_counter()
        with molrec.open(path) as record:
            trajectory = record.trajectory
            assert trajectory is not None
            assert len(trajectory) == frames
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def _small_bytes(folder: Path, profile: str) -> int:
    """Return the size of a packed record of 10 frames of 20 atoms: positions, elements, energies, a cell."""
    path = folder / f"small-{profile}.mrec"
    generator = np.random.default_rng(2)
    positions = generator.uniform(0.0, 10.0, (3, _SMALL_ATOMS))
    schema = molrec.SequenceSchema().declare_meta("pe", "f64").declare_block("atoms", rows=_SMALL_ATOMS)
    for column in "xyz":
        schema.declare_column("atoms", column, "f64")
    schema.declare_column("atoms", "element", "string")
    elements = np.array(["O", "H", "H", "C"] * (_SMALL_ATOMS // 4), dtype=np.dtypes.StringDType())
    box = molrec.Box(np.eye(3) * 10.0)
    with molrec.TrajectoryWriter(path, schema, profile=profile) as writer:
        for ordinal in range(_SMALL_FRAMES):
            positions = positions + generator.normal(0.0, 0.05, positions.shape)
            x, y, z = positions
            block = molrec.Block({"x": x, "y": y, "z": z, "element": elements})
            writer.append(molrec.Frame({"atoms": block}, {"pe": float(x[0])}, box), step=ordinal, time=0.5 * ordinal)
    return stored_bytes(molrec.pack(path))


def measure_extras(folder: Path, frames: int, tick: Callable[[str], None]) -> Extras:
    """Measure all of them; `tick` is called once."""
    tick("import, opening, small records")
    folder.mkdir(parents=True, exist_ok=True)
    return Extras(
        import_seconds=_import_seconds(""),
        import_all_seconds=_import_seconds(_USE_ALL),
        long_frames=frames,
        long_open_seconds=_long_open_seconds(folder, frames),
        small_archive_bytes=_small_bytes(folder, "archive"),
        small_live_bytes=_small_bytes(folder, "live"),
    )
