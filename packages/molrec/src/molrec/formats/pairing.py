"""A topology and trajectories that say where atoms are but not what they are, read as one run.

The frames are those of the trajectories. Each gets the columns of the topology's first frame that do not move, and its
relation blocks; of what moves (positions, velocities, forces, image flags), of the box and of the meta of the topology
nothing is taken. Where the two state different units of length, the topology's columns of a length are converted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from molrec.errors import FormatError, SchemaError
from molrec.formats.notes import Notes
from molrec.formats.registry import Format
from molrec.formats.series import FrameSource, UniformSource
from molrec.formats.survey import STATE_COLUMNS
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.vocabulary import VOCABULARY

__all__ = ["NeedsAtomCount", "PairedSource", "Topology", "pair"]

_MISMATCH = "reject-topology-mismatch"
_MOVING = STATE_COLUMNS | {"ix", "iy", "iz"}
#: What a topology's units say of its static columns.
_STATIC_UNITS = ("mass", "charge")
#: Dimension of a canonical column to the power of length in it.
_LENGTH_POWERS = {"length": 1, "length^2": 2, "charge*length": 1}


@runtime_checkable
class NeedsAtomCount(Protocol):
    """A source whose file does not say how many atoms it has."""

    def with_atoms(self, atoms: int) -> FrameSource:
        """Return the same file with a number of atoms."""


def pair(formats: Sequence[Format], sources: Sequence[FrameSource]) -> list[FrameSource]:
    """Return the sources to read as one run: trajectories with the topology before them, or the sources as they are.

    Args:
        formats: Format of each source.
        sources: Files in the order they were given.

    Raises:
        SchemaError: A trajectory without names stands among other files, but no topology before it
            (``reject-mixed-inputs``).
    """
    bare = [found.coordinates_only for found in formats]
    if len(sources) < 2 or not any(bare) or all(bare):
        return list(sources)
    if not formats[0].topology or not all(bare[1:]):
        trajectory = sources[bare.index(True)].name
        raise SchemaError(
            f"{trajectory} has coordinates only; give one topology or structure first and then trajectories like it, "
            "or convert it by itself",
            "reject-mixed-inputs",
        )
    topology = Topology(sources[0])
    return [_paired(topology, source) for source in sources[1:]]


def _paired(topology: Topology, source: FrameSource) -> PairedSource:
    if isinstance(source, UniformSource):
        return UniformPairedSource(topology, source)
    return PairedSource(topology, source)


class Topology:
    """What the first frame of a source says its atoms are, read once.

    Args:
        source: Any source of frames with the block ``atoms``.
    """

    def __init__(self, source: FrameSource) -> None:
        self.name = source.name
        self.units = dict(source.units or {})
        self._source = source
        self._frame: Frame | None = None

    def frame(self, notes: Notes) -> Frame:
        """Return the first frame.

        Raises:
            FormatError: The file is damaged, or has no frame or atoms (``reject-malformed-source``).
        """
        if self._frame is None:
            self._frame = next(iter(self._source.frames(notes)), None)
            if self._frame is None or "atoms" not in self._frame:
                raise FormatError(
                    f"{self.name}: there are no atoms in it, as a topology has", "reject-malformed-source"
                )
        return self._frame

    def static_blocks(self, notes: Notes, length: str | None) -> dict[str, Block]:
        """Return the blocks with the columns that do not move, lengths in the given unit where both units are known."""
        frame = self.frame(notes)
        left_out = [name for name in frame["atoms"].columns if name in _MOVING]
        left_out += ["box"] if frame.box is not None and frame.box.cell_defined else []
        left_out += list(frame.meta)
        if left_out:
            notes.changed(
                self.name,
                f"says what the atoms are; {', '.join(left_out)} are not taken, the frames are those after it",
            )
        atoms = _static(frame["atoms"])
        own = self.units.get("length")
        if own is not None and length is not None and own != length:
            _convert(atoms, own, length, notes)
        return {**dict(frame.items()), "atoms": atoms}


class PairedSource:
    """The frames of one trajectory with the atoms of a topology.

    Args:
        topology: Shared by the trajectories of a run.
        trajectory: A source whose frames hold coordinates only.
    """

    def __init__(self, topology: Topology, trajectory: FrameSource) -> None:
        self.name = trajectory.name
        self._topology = topology
        self._trajectory = trajectory
        self._sized: FrameSource | None = None if isinstance(trajectory, NeedsAtomCount) else trajectory
        static = {quantity: topology.units[quantity] for quantity in _STATIC_UNITS if quantity in topology.units}
        units = {**static, **(trajectory.units or {})}
        self.units: Mapping[str, str] | None = units or None

    def count(self) -> int | None:
        """Return the number of frames of the trajectory where that is known without reading them."""
        return self._trajectory.count()

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frames of the trajectory from the first one on.

        Raises:
            FormatError: A file is damaged, or the two have different numbers of atoms (``reject-topology-mismatch``).
        """
        blocks = self._topology.static_blocks(notes, (self.units or {}).get("length"))
        static = blocks["atoms"]
        if self._sized is None:
            assert isinstance(self._trajectory, NeedsAtomCount)
            self._sized = self._trajectory.with_atoms(static.rows)
        for position, frame in enumerate(self._sized.frames(notes)):
            atoms = frame["atoms"] if "atoms" in frame else Block(rows=static.rows)
            if atoms.rows != static.rows:
                raise FormatError(
                    f"{self._topology.name} has {static.rows} atoms, but frame {position} of {self.name} has "
                    f"{atoms.rows}; a topology and its trajectories have the same atoms in the same order",
                    _MISMATCH,
                )
            yield Frame({**blocks, "atoms": _joined(static, atoms)}, meta=frame.meta, box=frame.box)


class UniformPairedSource(PairedSource):
    """The frames of a trajectory that are all alike, with the atoms of a topology.

    Args:
        topology: Shared by the trajectories of a run.
        trajectory: The trajectory.
    """

    def __init__(self, topology: Topology, trajectory: UniformSource) -> None:
        super().__init__(topology, trajectory)
        self._uniform = trajectory

    def steps(self) -> Iterator[int | None]:
        """Yield the step of every frame of the trajectory, without decoding the frames."""
        return self._uniform.steps()


def _static(atoms: Block) -> Block:
    static = Block(rows=atoms.rows)
    for name in atoms.columns:
        if name not in _MOVING:
            _copy(atoms, name, static)
    return static


def _joined(static: Block, moving: Block) -> Block:
    """Return the columns of both, what does not move from the first where it has it; arrays are shared."""
    joined = Block(rows=static.rows)
    for name in static.columns:
        _copy(static, name, joined)
    for name in moving.columns:
        if name in _MOVING or name not in static:
            _copy(moving, name, joined)
    return joined


def _copy(source: Block, name: str, target: Block) -> None:
    target[name] = source[name]
    target.set_validity(name, source.validity(name))
    target.set_precision(name, source.precision(name))
    target.set_target(name, source.targets.get(name))
    if attributes := source.column_attributes(name):
        target.column_attributes(name).update(attributes)


def _convert(atoms: Block, unit: str, target: str, notes: Notes) -> None:
    """Convert the canonical columns of a length in place, and say so."""
    for name in atoms.columns:
        dimension = VOCABULARY[name].dimension if name in VOCABULARY else None
        power = _LENGTH_POWERS.get(dimension or "", 0)
        if power:
            precision = atoms.precision(name)
            atoms.set_precision(name, None)
            factor = float(_unit_registry().Quantity(1.0, unit).to(target).magnitude) ** power
            atoms[name] = np.asarray(atoms[name], dtype=np.float64) * factor
            if precision is not None:
                atoms.set_precision(name, precision * factor)
            notes.changed(f"column {name!r}", f"of the topology is converted from {unit} to {target}, to the {power}")


@cache
def _unit_registry() -> Any:
    import pint

    return pint.UnitRegistry()
