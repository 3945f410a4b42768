"""`RecordReporter`: an OpenMM simulation streamed into a record while it runs."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np

import molrec
from molrec.errors import SchemaError
from molrec.interop.openmm_import import require_openmm
from molrec.interop.openmm_topology import from_openmm_topology
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta
from molrec.model.schema import SequenceSchema
from molrec.storage.zarr.trajectory_writer import TrajectoryWriter

__all__ = ["RecordReporter"]

_POSITIONS, _VELOCITIES, _FORCES = ("x", "y", "z"), ("vx", "vy", "vz"), ("fx", "fy", "fz")
_ENERGIES = ("pe", "ke", "etotal", "temp", "volume")


class RecordReporter:
    """Streams an `openmm.app.Simulation` into a new record; one of its ``reporters``.

    The system holds what the topology says, names, elements, residues, chains and bonds, and the masses. Every frame
    has the positions, in nm, the box, the step, and the time in ps. Energies are in kJ/mol, temperatures in K, volumes
    in nm^3, velocities in nm/ps, forces in kJ/(mol nm); the units stand in the system's meta document.

    The record begins when the simulation first asks for it. Frames are committed every few megabytes, or every
    `flush_every`; close the reporter, or leave its ``with`` block, to commit the rest. A run stopped by Ctrl-C closes
    it the same way; one that is killed keeps what was committed.

    ```python
    with RecordReporter("run.mrec", 1000, precision=1e-3) as reporter:
        simulation.reporters.append(reporter)
        simulation.step(1_000_000)
    ```

    Args:
        path: Record folder to create.
        interval: Steps between frames.
        precision: Precision of positions in nm, or column to precision; None keeps every bit.
        velocities: Whether velocities are stored.
        forces: Whether forces are stored.
        energies: Which of ``pe ke etotal temp volume`` are stored per step; True for all that the system has, a volume
            being that of a periodic box.
        wrapped: Whether OpenMM puts molecules into the box; positions are stored as they are integrated when False.
        append: Continue the record that is there after its last frame, rather than create one.
        meta: Entries of the record's meta document, beside what is known of the run.
        flush_every: Frames per automatic commit; every few megabytes when None.
        compression: As for `TrajectoryWriter`.
        profile: As for `TrajectoryWriter`.

    Raises:
        SchemaError: The interval is no positive number of steps (``reject-report-interval``), or an energy is none of
            these (``reject-undeclared``).
        ImportError: OpenMM is not installed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        interval: int,
        *,
        precision: float | Mapping[str, float] | None = 1e-4,
        velocities: bool = False,
        forces: bool = False,
        energies: bool | Iterable[str] = True,
        wrapped: bool = False,
        append: bool = False,
        meta: Mapping[str, Any] | None = None,
        flush_every: int | None = None,
        compression: str | None = None,
        profile: str = "live",
    ) -> None:
        require_openmm()
        if isinstance(interval, bool) or not isinstance(interval, (int, np.integer)) or interval < 1:
            raise SchemaError(
                f"the interval is a positive number of steps, found {interval!r}", "reject-report-interval"
            )
        self.path = Path(path)
        self._interval = int(interval)
        self._precision = precision if isinstance(precision, Mapping) else dict.fromkeys(_POSITIONS, precision)
        self._velocities, self._forces = velocities, forces
        self._all_energies = energies is True
        self._energies = _chosen(energies)
        self._wrapped, self._append = wrapped, append
        self._meta = dict(meta or {})
        self._options: dict[str, Any] = {"flush_every": flush_every, "compression": compression, "profile": profile}
        self._writer: TrajectoryWriter | None = None
        self._close: weakref.finalize[..., Any] | None = None
        self._freedom = 0
        self._periodic = False

    @property
    def frames(self) -> int:
        """Frames the record has with what waits for the next commit, those it was continued from included."""
        return 0 if self._writer is None else self._writer.nstep

    # -- what OpenMM calls --------------------------------------------------------------------------------------------

    def describeNextReport(self, simulation: Any) -> tuple[int, bool, bool, bool, bool, bool]:  # noqa: N802
        """Say when the next frame is due and what it needs; begins the record.

        Raises:
            SchemaError: The record cannot be written, such as where the path exists.
        """
        if self._writer is None:
            self._begin(simulation)
        due = self._interval - simulation.currentStep % self._interval
        return due, True, self._velocities, self._forces, bool(self._energies), self._wrapped

    def report(self, simulation: Any, state: Any) -> None:
        """Append the state of a simulation.

        Raises:
            SchemaError: The step does not increase, such as after a checkpoint was loaded
                (``reject-step-not-increasing``), or a position is not finite.
        """
        if self._writer is None:
            self._begin(simulation)
        assert self._writer is not None
        from openmm import unit

        nanometre, picosecond = unit.nanometer, unit.picosecond
        kilojoule = unit.kilojoule_per_mole
        block = Block()
        _put(block, _POSITIONS, state.getPositions(asNumpy=True).value_in_unit(nanometre))
        if self._velocities:
            _put(block, _VELOCITIES, state.getVelocities(asNumpy=True).value_in_unit(nanometre / picosecond))
        if self._forces:
            _put(block, _FORCES, state.getForces(asNumpy=True).value_in_unit(kilojoule / nanometre))
        box = None
        if self._periodic:
            vectors = np.array(state.getPeriodicBoxVectors(asNumpy=True).value_in_unit(nanometre), dtype=np.float64)
            box = Box(vectors.T)
        self._writer.append(
            Frame({"atoms": block}, meta=self._values(simulation, state), box=box),
            step=int(simulation.currentStep),
            time=float(state.getTime().value_in_unit(picosecond)),
        )

    def _values(self, simulation: Any, state: Any) -> Meta:
        from openmm import unit

        values: dict[str, float] = {}
        if {"pe", "ke", "etotal", "temp"} & set(self._energies):
            kinetic, potential = state.getKineticEnergy(), state.getPotentialEnergy()
            kilojoule = unit.kilojoule_per_mole
            values |= {
                "pe": potential.value_in_unit(kilojoule),
                "ke": kinetic.value_in_unit(kilojoule),
                "etotal": (kinetic + potential).value_in_unit(kilojoule),
            }
        if "temp" in self._energies:
            values["temp"] = self._temperature(simulation, state)
        if "volume" in self._energies:
            values["volume"] = state.getPeriodicBoxVolume().value_in_unit(unit.nanometer**3)
        meta = Meta()
        for key in self._energies:
            meta.set(key, float(values[key]), tag="f64")
        return meta

    def _temperature(self, simulation: Any, state: Any) -> float:
        """Return the temperature in K; NaN for a system that nothing can move in."""
        from openmm import unit

        integrator = simulation.context.getIntegrator()
        if hasattr(integrator, "computeSystemTemperature"):
            # an integrator that knows parts of the system at temperatures of their own
            return float(integrator.computeSystemTemperature().value_in_unit(unit.kelvin))
        if self._freedom <= 0:
            return float("nan")
        temperature = 2 * state.getKineticEnergy() / (self._freedom * unit.MOLAR_GAS_CONSTANT_R)
        return float(temperature.value_in_unit(unit.kelvin))

    # -- the record ---------------------------------------------------------------------------------------------------

    def _begin(self, simulation: Any) -> None:
        system = simulation.system
        self._periodic = bool(system.usesPeriodicBoundaryConditions())
        if not self._periodic:
            if "volume" in self._energies and not self._all_energies:
                raise SchemaError(
                    "volume is asked for, and the system has no periodic box; take it out of energies",
                    "reject-undeclared",
                )
            self._energies = tuple(key for key in self._energies if key != "volume")
        self._freedom = _degrees_of_freedom(system)
        if self._append:
            self._writer = TrajectoryWriter.reopen(self.path, self._options["flush_every"])
        else:
            self._writer = TrajectoryWriter(
                self.path,
                self._declared(system.getNumParticles()),
                meta=self._run_meta(simulation) | self._meta,
                system=from_openmm_topology(simulation.topology, system),
                **self._options,
            )
        # scripts seldom close reporters: the rest is committed when the reporter goes, at the latest with the process
        self._close = weakref.finalize(self, self._writer.close)

    def _declared(self, atoms: int) -> SequenceSchema:
        schema = SequenceSchema().declare_block("atoms", rows=atoms)
        for name in (*_POSITIONS, *(_VELOCITIES if self._velocities else ()), *(_FORCES if self._forces else ())):
            schema.declare_column("atoms", name, "f64")
        for name, precision in self._precision.items():
            if precision is not None:
                schema.declare_precision("atoms", name, precision)
        for key in self._energies:
            schema.declare_meta(key, "f64")
        return schema

    def _run_meta(self, simulation: Any) -> dict[str, Any]:
        integrator = simulation.integrator
        return {
            "creator": {"name": "molrec", "version": molrec.__version__},
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "source": {
                "engine": "openmm",
                "version": require_openmm().version.short_version,
                "platform": simulation.context.getPlatform().getName(),
                "integrator": type(integrator).__name__,
            },
        }

    def flush(self) -> None:
        """Commit what was appended, durably; nothing before the record has begun."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Commit the rest and close the record; safe to call twice."""
        if self._close is not None:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._writer is not None and self._close is not None:
            self._close.detach()
            self._writer.__exit__(kind, error, trace)


def _chosen(energies: bool | Iterable[str]) -> tuple[str, ...]:
    if isinstance(energies, bool):
        return _ENERGIES if energies else ()
    asked = (energies,) if isinstance(energies, str) else tuple(energies)
    unknown = [key for key in asked if key not in _ENERGIES]
    if unknown:
        raise SchemaError(
            f"energies are {', '.join(_ENERGIES)}, found {', '.join(map(repr, unknown))}", "reject-undeclared"
        )
    return asked


def _put(block: Block, names: tuple[str, ...], values: Any) -> None:
    table = np.asarray(values, dtype=np.float64)
    for place, name in enumerate(names):
        block[name] = table[:, place]


def _degrees_of_freedom(system: Any) -> int:
    """Return what a temperature is the kinetic energy by: three for each mass, less constraints and common motion."""
    openmm = require_openmm()
    dalton = openmm.unit.dalton
    massive = [system.getParticleMass(atom) > 0 * dalton for atom in range(system.getNumParticles())]
    count = 3 * sum(massive)
    for place in range(system.getNumConstraints()):
        first, second, _ = system.getConstraintParameters(place)
        count -= massive[first] or massive[second]
    if any(isinstance(force, openmm.CMMotionRemover) for force in system.getForces()):
        count -= 3
    return int(count)
