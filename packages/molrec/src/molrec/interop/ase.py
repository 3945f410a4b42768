"""ASE beside a record: `Atoms` to frames and back, and a running dynamics streamed into a record.

```python
from molrec.interop.ase import stream_to_record

with stream_to_record(dynamics, "run.mrec", interval=10, precision=1e-3):
    dynamics.run(10_000)
```

The names of columns and keys are those of `molrec.formats.ase_names`; lengths are in ångström, energies in eV, times in
femtoseconds, velocities in ångström/fs. Needs the extra ``molrec[ase]``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import molrec
from molrec.dtypes import Array, identical
from molrec.errors import SchemaError
from molrec.formats.ase_atoms import UNITS, array_columns, box_of_atoms, frame_of_atoms, free_flags, velocities
from molrec.formats.ase_builder import AtomsBuilder
from molrec.formats.ase_import import require_ase
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.model.schema import SequenceSchema
from molrec.storage.zarr.trajectory_writer import TrajectoryWriter

if TYPE_CHECKING:
    from ase import Atoms

__all__ = ["RecordObserver", "from_atoms", "stream_to_record", "to_atoms"]

_POSITIONS, _VELOCITIES, _FORCES = ("x", "y", "z"), ("vx", "vy", "vz"), ("fx", "fy", "fz")


def from_atoms(atoms: Atoms, *, strict: bool = False) -> Frame:
    """Return a frame of an `ase.Atoms`: block ``atoms``, meta and box; nothing is computed.

    Args:
        atoms: Read, never changed; nothing is shared with it.
        strict: Refuse what a frame cannot hold; otherwise each loss is a `molrec.formats.notes.ConversionWarning`.

    Raises:
        SchemaError: Not an `ase.Atoms` (``reject-not-atoms``), or strict and something is lost
            (``reject-lossy-conversion``).
        ImportError: ASE is not installed.
    """
    notes = Notes(strict=strict)
    frame = frame_of_atoms(atoms, notes)
    notes.warn()
    return frame


def to_atoms(
    frame: Frame, system: Frame | None = None, *, schema: SequenceSchema | None = None, strict: bool = False
) -> Atoms:
    """Return the `ase.Atoms` of a frame, its results in a `SinglePointCalculator`.

    Args:
        frame: One frame, of a run or by itself.
        system: The record's system; its columns, meta and box join the frame's.
        schema: The run's declaration; a value that is only a fill is then left out.
        strict: Refuse what ASE has no place for; otherwise each loss is a warning.

    Raises:
        SchemaError: No atoms, elements or positions (``reject-not-atoms``), units other than ASE's
            (``reject-units-disagree``), or strict and something is lost (``reject-lossy-conversion``).
        ImportError: ASE is not installed.
    """
    notes = Notes(strict=strict)
    atoms = AtomsBuilder(system, schema, notes).build(frame)
    notes.warn()
    return atoms


class RecordObserver:
    """Streams an `ase.Atoms` into a new record, one frame a call; an observer for ASE's dynamics.

    What moves goes to the trajectory: positions, velocities where the atoms have momenta, forces; per step ``pe`` and,
    with velocities, ``ke etotal temp``; the cell when it changes. Everything else (elements, masses, tags, charges,
    fixed atoms, other arrays) goes to the system once and must not change, unless `track` names it.

    Forces are those of the potential, constraints aside. Asking for them or the energy runs the calculator only when
    it has not run for these positions, so that after a step of a dynamics nothing is computed twice.

    Args:
        path: Record folder to create.
        atoms: The atoms to watch.
        dynamics: Gives step (``nsteps``) and, for molecular dynamics, time; without one the calls are counted.
        precision: Precision of positions in ångström, or column to precision; None keeps every bit.
        forces: Whether forces are stored.
        velocities: Whether velocities are stored, with ``ke etotal temp``; None: where the atoms have momenta.
        stress: Whether the stress is stored per step, six numbers ``xx yy zz yz xz xy`` in eV/Å^3.
        track: Names of other arrays of the atoms that change and are stored with every frame.
        meta: Entries of the record's meta document, beside what is known of the run.
        flush_every: Frames per automatic commit; every few megabytes when None.
        compression: As for `TrajectoryWriter`.
        profile: As for `TrajectoryWriter`.

    Raises:
        SchemaError: The path exists, an array to track is not there, or something is inadmissible.
        ImportError: ASE is not installed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        atoms: Atoms,
        dynamics: Any = None,
        *,
        precision: float | Mapping[str, float] | None = 1e-3,
        forces: bool = True,
        velocities: bool | None = None,
        stress: bool = False,
        track: Sequence[str] = (),
        meta: Mapping[str, Any] | None = None,
        flush_every: int | None = None,
        compression: str | None = None,
        profile: str = "live",
    ) -> None:
        require_ase()
        self.atoms = atoms
        self.dynamics = dynamics
        self._forces = forces
        self._velocities = bool(atoms.has("momenta")) if velocities is None else velocities
        self._stress = stress
        missing = [name for name in track if name not in atoms.arrays]
        if missing:
            raise SchemaError(
                f"the atoms have no array {', '.join(missing)} to track; they have {', '.join(atoms.arrays)}",
                "reject-undeclared",
            )
        self._track = tuple(track)
        #: What the system holds, as it was: the record says it does not change.
        self._fixed = {name: array.copy() for name, array in self._untracked().items()}
        notes = Notes()
        static = Block(array_columns(atoms, self._fixed, notes), rows=len(atoms))
        self._free = free_flags(atoms, notes)
        if self._free is not None:
            static["free"] = self._free
        notes.warn()
        system = Frame({"atoms": static}, meta=Meta({"units": UNITS}))
        self._writer = TrajectoryWriter(
            path,
            self._declare(precision),
            meta=self._run_meta() | dict(meta or {}),
            system=system,
            flush_every=flush_every,
            compression=compression,
            profile=profile,
        )

    def _untracked(self) -> dict[str, Array]:
        moving = ("positions", "momenta", *self._track)
        return {name: array for name, array in self.atoms.arrays.items() if name not in moving}

    def _tracked(self) -> dict[str, Array]:
        return array_columns(self.atoms, {name: self.atoms.arrays[name] for name in self._track}, Notes())

    def _declare(self, precision: float | Mapping[str, float] | None) -> SequenceSchema:
        schema = SequenceSchema().declare_block("atoms", rows=len(self.atoms))
        for name in (*_POSITIONS, *(_VELOCITIES if self._velocities else ()), *(_FORCES if self._forces else ())):
            schema.declare_column("atoms", name, "f64")
        schema.include_block("atoms", Block(self._tracked(), rows=len(self.atoms)))
        chosen = precision if isinstance(precision, Mapping) else dict.fromkeys(_POSITIONS, precision)
        for name, value in chosen.items():
            if value is not None:
                schema.declare_precision("atoms", name, value)
        for key in ("pe", *(("ke", "etotal", "temp") if self._velocities else ())):
            schema.declare_meta(key, "f64")
        if self._stress:
            schema.declare_meta("stress", "f64x6")
        return schema

    def _run_meta(self) -> dict[str, Any]:
        import ase

        source: dict[str, Any] = {"engine": "ase", "version": ase.__version__}
        if self.dynamics is not None:
            source["dynamics"] = type(self.dynamics).__name__
        if self.atoms.calc is not None:
            source["calculator"] = type(self.atoms.calc).__name__
        return {
            "creator": {"name": "molrec", "version": molrec.__version__},
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "source": source,
        }

    # -- appending --------------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """The record folder."""
        return self._writer.path

    @property
    def frames(self) -> int:
        """Frames appended so far."""
        return self._writer.nstep

    def __call__(self) -> None:
        """Append the present state at the dynamics' step and time."""
        if self.dynamics is None:
            self.append()
        else:
            self.append(step=int(self.dynamics.nsteps), time=self._time())

    #: ASE attaches an object by this method, too.
    write = __call__

    def _time(self) -> float | None:
        if not hasattr(self.dynamics, "get_time"):
            return None  # a relaxation has steps and no time
        from ase.units import fs

        return float(self.dynamics.get_time() / fs)

    def append(self, step: int | None = None, time: float | None = None) -> None:
        """Append the present state of the atoms.

        Args:
            step: Step; the one after the last when None.
            time: Time in femtoseconds; for every frame of a run or for none.

        Raises:
            SchemaError: The step does not increase, or something the system holds has changed
                (``reject-static-changed``).
        """
        self._check_static()
        atoms = self.atoms
        block = Block()
        self._put(block, _POSITIONS, np.array(atoms.positions, dtype=np.float64))
        # the calculator first: what it computes is then there for everything below
        potential = float(atoms.get_potential_energy())
        meta = Meta()
        meta.set("pe", potential, tag="f64")
        if self._velocities:
            kinetic = float(atoms.get_kinetic_energy())
            meta.set("ke", kinetic, tag="f64")
            meta.set("etotal", potential + kinetic, tag="f64")
            meta.set("temp", float(atoms.get_temperature()), tag="f64")
            self._put(block, _VELOCITIES, velocities(atoms, Notes()))
        if self._forces:
            self._put(block, _FORCES, np.array(atoms.get_forces(apply_constraint=False), dtype=np.float64))
        if self._stress:
            meta.set("stress", np.array(atoms.get_stress(apply_constraint=False), dtype=np.float64), tag="f64x6")
        for name, values in self._tracked().items():
            block[name] = values
        extra = Meta()
        box = box_of_atoms(atoms, extra)
        if extra:
            raise SchemaError(
                f"the cell {atoms.cell.tolist()} with pbc {atoms.pbc.tolist()} spans no volume; give three cell "
                "vectors, or none and no periodic direction",
                "reject-box-singular",
            )
        self._writer.append(Frame({"atoms": block}, meta=meta, box=box), step=step, time=time)

    @staticmethod
    def _put(block: Block, names: Sequence[str], values: Array) -> None:
        for column, name in enumerate(names):
            block[name] = values[:, column]

    def _check_static(self) -> None:
        found = self._untracked()
        changed = sorted(found.keys() ^ self._fixed.keys()) or [
            name for name, array in found.items() if not _same(array, self._fixed[name])
        ]
        free = free_flags(self.atoms, Notes())
        if not np.array_equal(_flags(free), _flags(self._free)):
            changed.append("constraints")
        if changed:
            raise SchemaError(
                f"{', '.join(changed)} changed during the run, and the record holds them once for all frames; name "
                "arrays that change in track, or start another record",
                "reject-static-changed",
            )

    def flush(self) -> None:
        """Commit what was appended, durably."""
        self._writer.flush()

    def close(self) -> None:
        """Commit the rest and close the record; safe to call twice."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # also after an error or an interrupt every frame appended so far is committed
        self._writer.__exit__(kind, error, trace)


def stream_to_record(
    dynamics: Any, path: str | os.PathLike[str], *, interval: int = 1, **options: Any
) -> RecordObserver:
    """Attach a record to an ASE dynamics or optimizer; close what is returned when the run is over.

    Args:
        dynamics: An ASE molecular dynamics or optimizer, with ``atoms`` that have a calculator.
        path: Record folder to create.
        interval: Steps between frames.
        **options: As for `RecordObserver`.

    Raises:
        SchemaError: `dynamics` is nothing to attach to (``reject-not-a-dynamics``), or as `RecordObserver`.
    """
    require_ase()
    from ase import Atoms as AseAtoms

    watched = getattr(dynamics, "atoms", None)
    # a relaxation of the cell sees the atoms through a filter
    atoms = watched if isinstance(watched, AseAtoms) else getattr(watched, "atoms", None)
    if not isinstance(atoms, AseAtoms) or not hasattr(dynamics, "attach"):
        raise SchemaError(
            f"a dynamics with atoms is needed, found {type(dynamics).__name__}; for bare atoms make a RecordObserver "
            "and call it yourself",
            "reject-not-a-dynamics",
        )
    observer = RecordObserver(path, atoms, dynamics, **options)
    dynamics.attach(observer, interval=interval)
    return observer


def _same(first: Array, second: Array) -> bool:
    """Compare bits where an array has any of its own."""
    return np.array_equal(first, second) if first.dtype.kind == "O" else identical(first, second)


def _flags(free: Array | None) -> Array:
    return np.empty(0, dtype=np.bool_) if free is None else free
