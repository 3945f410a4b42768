"""What the labelled structures of a collection are: counts, elements, energies, forces, cells (``docs/guide/cli.md``).

Nothing is converted: numbers are in the units of the collection. What is kept while reading grows with the number of
structures by a few bytes each, never with that of atoms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.datasets.chunks import ENERGY, FORCES, Chunk, count_present, read_chunks
from molrec.datasets.reference_energies import ReferenceEnergies, ReferenceEnergyFit
from molrec.datasets.running_statistics import Histogram, RunningHistogram, Spread, histogram, spread
from molrec.datasets.stated_words import ISOLATED_ATOM
from molrec.dtypes import Array
from molrec.formats.elements import SYMBOLS
from molrec.storage.lmdb.collection_reader import Collection

__all__ = ["ElementCount", "ForceStatistics", "Labelled", "Statistics", "collect_statistics"]

type Floats = npt.NDArray[np.float64]
type Flags = npt.NDArray[np.bool_]
type Numbers = npt.NDArray[np.int64]
type Progress = Callable[[int, int], None]

_STRESS, _FORCE_LABEL = "stress", " ".join(FORCES)
#: Where a record's meta, or an atom's symbol, does not say.
_UNSTATED = "(none)"


@dataclass(frozen=True, slots=True)
class ElementCount:
    """How often an element is there: its atoms, and the structures with one or more."""

    atoms: int
    structures: int


@dataclass(frozen=True, slots=True)
class Labelled:
    """Structures with and without a label."""

    present: int
    absent: int


@dataclass(frozen=True, slots=True)
class ForceStatistics:
    """Forces, in the unit of force.

    Attributes:
        atoms: Atoms with a force.
        rms: Root mean square over all components.
        largest: The greatest norm.
        rms_by_element: Element to the root mean square over the components of its atoms; empty without elements.
    """

    atoms: int
    rms: float
    largest: float
    rms_by_element: dict[str, float]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a collection, or some records of it, holds.

    `energy_per_atom`, `forces` and `reference_energies` leave out isolated atoms (one atom, config type
    ``IsolatedAtom``); counts and labels are those of all structures.

    Attributes:
        units: Quantity to unit.
        records: Records looked at.
        structures: Their frames.
        atoms: Atoms of all structures.
        atoms_per_structure: None without structures.
        elements: Element to its counts, by atomic number; None where no atom has an `atomic_number` or `element`.
        config_types: Config type to structures.
        heads: Head to structures.
        labels: `pe`, ``fx fy fz`` (a force on one atom at least), `stress`, and every other per-step key, to structures
            with and without; a value is none where it is null, or NaN in any component.
        energy_per_atom: None where no structure has an energy.
        forces: None where no atom has a force.
        isolated_atoms: Element to the different energies its isolated atoms state; none of them may.
        reference_energies: Energies of the elements by least squares; None where there is nothing to fit.
        cells: Directions a structure is periodic in, such as ``abc``, ``none``, or ``no cell``, to structures.
        histograms: `energy_per_atom`, `force_norm` and `atoms_per_structure`, where there are any.
    """

    units: dict[str, str]
    records: int
    structures: int
    atoms: int
    atoms_per_structure: Spread | None
    elements: dict[str, ElementCount] | None
    config_types: dict[str, int]
    heads: dict[str, int]
    labels: dict[str, Labelled]
    energy_per_atom: Spread | None
    forces: ForceStatistics | None
    isolated_atoms: dict[str, list[float]]
    reference_energies: ReferenceEnergies | None
    cells: dict[str, int]
    histograms: dict[str, Histogram]


def collect_statistics(
    collection: Collection, indices: Sequence[int] | Numbers | None = None, progress: Progress | None = None
) -> Statistics:
    """Read a collection once and return what is in it.

    Args:
        collection: An open collection.
        indices: Records to look at; all of them when None.
        progress: Called with records read and records in all.

    Raises:
        FormatError: A value is refused.
        IndexError: No such record.
    """
    numbers = np.arange(len(collection)) if indices is None else np.asarray(indices, dtype=np.int64)
    gathering = _Gathering()
    for chunk in read_chunks(collection, numbers, progress):
        gathering.add(chunk)
    return gathering.result(numbers.size, collection.units, list(collection.schema.meta))


class _Elements:
    """Numbers of elements, given as they come, and how often each is there."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self._atoms: Counter[int] = Counter()
        self._structures: Counter[int] = Counter()

    def coded(self, species: Array) -> Numbers:
        """Return the number of each atom's element, from atomic numbers or symbols."""
        if species.dtype.kind == "T":
            symbols = species.tolist()
            known = {symbol: self._code(symbol or _UNSTATED) for symbol in dict.fromkeys(symbols)}
            return np.array([known[symbol] for symbol in symbols], dtype=np.int64)
        found, places = np.unique(species, return_inverse=True)
        names = [SYMBOLS[z] if 0 < z < len(SYMBOLS) else f"atomic number {z}" for z in found.tolist()]
        return np.array([self._code(name) for name in names], dtype=np.int64)[places]

    def _code(self, name: str) -> int:
        return self.codes.setdefault(name, len(self.codes))

    def composition(self, structure_of: Numbers, codes: Numbers, structures: int) -> Numbers:
        """Count atoms by element and return each structure's, int64 ``(structures, elements)``."""
        elements = max(1, len(self.codes))
        flat = np.bincount(structure_of * elements + codes, minlength=structures * elements)
        found: Numbers = flat.reshape(structures, elements).astype(np.int64)
        self._atoms.update(dict(enumerate(found.sum(axis=0).tolist())))
        self._structures.update(dict(enumerate((found > 0).sum(axis=0).tolist())))
        return found

    def counts(self) -> dict[str, ElementCount]:
        """Return the counts of each element, by atomic number."""
        order = {symbol: number for number, symbol in enumerate(SYMBOLS)}
        return {
            name: ElementCount(self._atoms[code], self._structures[code])
            for name, code in sorted(self.codes.items(), key=lambda one: (order.get(one[0], len(order)), one[0]))
        }


@dataclass(slots=True)
class _ForceSums:
    """Sums over atoms with a force, by element."""

    squares: Floats = field(default_factory=lambda: np.zeros(0))
    counts: Floats = field(default_factory=lambda: np.zeros(0))
    largest: float = 0.0
    norms: RunningHistogram = field(default_factory=RunningHistogram)

    def add(self, forces: Floats, codes: Numbers, elements: int) -> None:
        """Take the forces of atoms ``(n, 3)`` and the numbers of their elements."""
        squared = np.einsum("ij,ij->i", forces, forces)
        norms = np.sqrt(squared)
        self.largest = max(self.largest, float(norms.max(initial=0.0)))
        self.norms.add(norms)
        squares = np.bincount(codes, weights=squared, minlength=elements).astype(np.float64)
        counts = np.bincount(codes, minlength=elements).astype(np.float64)
        squares[: self.squares.size] += self.squares
        counts[: self.counts.size] += self.counts
        self.squares, self.counts = squares, counts

    def result(self, elements: Mapping[str, int]) -> ForceStatistics | None:
        """Return what the sums come to."""
        atoms = float(self.counts.sum())
        if not atoms:
            return None
        by_element = {
            name: float(np.sqrt(self.squares[code] / (3 * self.counts[code])))
            for name, code in elements.items()
            if code < self.counts.size and self.counts[code]
        }
        rms = float(np.sqrt(self.squares.sum() / (3 * atoms)))
        return ForceStatistics(int(atoms), rms, self.largest, by_element)


class _Gathering:
    """The sums over the records so far."""

    def __init__(self) -> None:
        self._elements = _Elements()
        self._config_types: Counter[str] = Counter()
        self._heads: Counter[str] = Counter()
        self._cells: Counter[str] = Counter()
        self._present: Counter[str] = Counter()
        self._sizes: list[Numbers] = []
        self._energies: list[Floats] = []
        self._isolated: dict[str, list[float]] = {}
        self._forces = _ForceSums()
        self._fit = ReferenceEnergyFit()

    def add(self, chunk: Chunk) -> None:
        """Take some records."""
        for counter, words in ((self._config_types, chunk.config_types), (self._heads, chunk.heads)):
            for word, frames in zip(words, chunk.frames.tolist(), strict=True):
                counter[_UNSTATED if word is None else str(word)] += frames
        self._cells.update(chunk.cells)
        self._sizes.append(chunk.sizes)
        self._count_labels(chunk)
        codes = np.zeros(chunk.structure_of.size, dtype=np.int64)
        composition = None
        if chunk.species is not None:
            codes = self._elements.coded(chunk.species)
            composition = self._elements.composition(chunk.structure_of, codes, chunk.sizes.size)
        marked = np.array([word == ISOLATED_ATOM for word in chunk.config_types], dtype=np.bool_)
        isolated = np.repeat(marked, chunk.frames) & (chunk.sizes == 1)
        energies = chunk.meta.get(ENERGY)
        if isinstance(energies, np.ndarray) and energies.dtype.kind == "f":
            self._add_energies(energies, chunk.sizes, composition, isolated)
        if chunk.forces is not None:
            ordinary = chunk.has_force & ~isolated[chunk.structure_of]
            self._forces.add(chunk.forces[ordinary], codes[ordinary], max(1, len(self._elements.codes)))

    def _count_labels(self, chunk: Chunk) -> None:
        self._present[_FORCE_LABEL] += np.unique(chunk.structure_of[chunk.has_force]).size
        for key, values in chunk.meta.items():
            self._present[key] += count_present(values)

    def _add_energies(self, energies: Floats, sizes: Numbers, composition: Numbers | None, isolated: Flags) -> None:
        labelled = ~np.isnan(energies) & (sizes > 0)
        ordinary = labelled & ~isolated
        self._energies.append(energies[ordinary] / sizes[ordinary])
        if composition is None:
            return
        self._fit.add(composition[ordinary].astype(np.float64), energies[ordinary])
        names = list(self._elements.codes)
        for place in np.flatnonzero(isolated).tolist():
            stated = self._isolated.setdefault(names[int(composition[place].argmax())], [])
            if labelled[place] and float(energies[place]) not in stated:
                stated.append(float(energies[place]))

    def result(self, records: int, units: dict[str, str], keys: list[str]) -> Statistics:
        """Return what the sums come to."""
        sizes = np.concatenate([np.zeros(0, dtype=np.int64), *self._sizes])
        energies = np.concatenate([np.zeros(0), *self._energies])
        histograms: dict[str, Any] = {
            "energy_per_atom": histogram(energies),
            "force_norm": self._forces.norms.result(),
            "atoms_per_structure": histogram(sizes.astype(np.float64), whole=True),
        }
        return Statistics(
            units=units,
            records=records,
            structures=sizes.size,
            atoms=int(sizes.sum()),
            atoms_per_structure=spread(sizes.astype(np.float64)),
            elements=self._elements.counts() or None,
            config_types=_by_count(self._config_types),
            heads=_by_count(self._heads),
            labels={
                name: Labelled(self._present[name], sizes.size - self._present[name])
                for name in dict.fromkeys((ENERGY, _FORCE_LABEL, _STRESS, *keys))
            },
            energy_per_atom=spread(energies),
            forces=self._forces.result(self._elements.codes),
            isolated_atoms=self._isolated,
            reference_energies=self._fit.result(list(self._elements.codes)),
            cells=_by_count(self._cells),
            histograms={name: found for name, found in histograms.items() if found is not None},
        )


def _by_count(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(((name, count) for name, count in counts.items() if count), key=lambda one: (-one[1], one[0])))
